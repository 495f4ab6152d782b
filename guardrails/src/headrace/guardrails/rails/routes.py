"""Where data is: endpoints that names were resolved to, and the route between two of them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from headrace.guardrails.intents.text import folded, path_text
from headrace.guardrails.seal.execution import Filters

Access = Literal["read", "write", "delete"]

TRASH: Final = ".headrace-trash"
"""The folder below a root that holds what transfers deleted there, each in a folder of its own."""
PART_PREFIX: Final = ".headrace-part-"
"""Start of the names of files that are on their way."""

_SHORT: Final = re.compile(r"(headra|he[0-9a-f]{4})~[0-9]|headr~[0-9]{2}", re.ASCII | re.IGNORECASE)
"""Short names by which FAT, or a share of Windows, may find one of these."""


def is_kept(path: Sequence[str]) -> bool:
    """Whether a path leads through a name that nodes keep for themselves."""
    return any(name == TRASH or name.startswith(PART_PREFIX) for name in path)


def is_disguised(name: str) -> bool:
    """Whether a name is another spelling of one that nodes keep for themselves: storage may find theirs by it."""
    if _SHORT.fullmatch(name.rstrip(". ")):
        return True
    plain = folded(name)
    return (plain == TRASH or plain.startswith(PART_PREFIX)) and name != TRASH and not name.startswith(PART_PREFIX)


def place_before(path: tuple[str, ...]) -> tuple[str, ...]:
    """Return where what lies in a trash was before it was deleted; any other path as it is.

    `/.headrace-trash/2026-12-27-tr_1/raw/phi` was `/raw/phi`.
    """
    while TRASH in path:
        at = path.index(TRASH)
        path = path[:at] + path[at + 2 :]
    return path


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedEndpoint:
    """A folder or file below a root: what `endpoint:/path` stands for.

    `path` holds escaped components below the root. `into` says that the path was written with a trailing slash
    ("into this folder"; the root itself always counts as such). `access` is the most that the root allows.
    """

    endpoint: str
    node: str
    root: str
    path: tuple[str, ...]
    into: bool = False
    access: Access = "read"
    kind: str = "posix"
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels of the endpoint."""
    folder_labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Labels of folders of the endpoint, by path (`/raw/phi`)."""

    @property
    def text(self) -> str:
        """`endpoint:/path`, escaped."""
        return f"{self.endpoint}:{path_text(self.path)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """From where to where; both paths are exact. Make it with `settle`. The filters say which files take part."""

    source: ResolvedEndpoint
    destination: ResolvedEndpoint
    filters: Filters = field(default_factory=Filters)

    def taking(self, filters: Filters) -> "Route":
        """Take only some of the files."""
        return replace(self, filters=filters)


def settle(source: ResolvedEndpoint, destination: ResolvedEndpoint) -> Route:
    """Apply the "into a folder" rule, which is about how the paths were written and nothing else.

    A destination written with a trailing slash and a source without one gets the source's last name appended:
    `/raw/run42` to `/2026/` goes to `/2026/run42`, and `/raw/run42/` to `/2026/` goes to `/2026`.
    """
    into = destination.into or not destination.path
    if into and source.path and not source.into:
        destination = replace(destination, path=(*destination.path, source.path[-1]))
    return Route(source=replace(source, into=False), destination=replace(destination, into=False))
