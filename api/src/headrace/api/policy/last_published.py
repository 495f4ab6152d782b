"""Which version of the policy was published last, in a file of the data folder.

The store says that, too; but whoever writes to it could name an older version, which a signed statement covers as well.
"""

# While another version is being published, the file names both: which of them the store keeps is not known yet.

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from headrace.api.durable import replace_file
from headrace.api.errors import CannotStart


@dataclass(frozen=True, slots=True)
class LastPublished:
    """The file: a line `NUMBER DIGEST` for each version that may decide; none before the first start that keeps it."""

    path: Path
    require: Callable[[], None] = lambda: None
    """Raises `OSError` where the folder is not the one that the file lies in."""

    def read(self) -> dict[int, str] | None:
        """Return digests by number; nothing where there is no file. Raises `CannotStart` for one that can't be read."""
        try:
            lines = self.path.read_text(encoding="ascii").splitlines()
            return {int(number): digest for number, digest in (line.split() for line in lines)}
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            message = f"`{self.path}` can't be read as versions of the policy: {error}; put it back from a backup"
            raise CannotStart(message) from error

    def write(self, versions: Mapping[int, str]) -> None:
        """Keep versions, as a whole and durably; raises `OSError`."""
        lines = "".join(f"{number} {digest}\n" for number, digest in versions.items())
        self.require()
        replace_file(self.path, lines.encode("ascii"))
