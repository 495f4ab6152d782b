"""Where a host is read from: itself, or what a node said of its own."""

import os
import resource
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Protocol

from headrace.cli.doctor import kernel
from headrace.cli.doctor.host import Folder
from headrace.cli.doctor.storage import of_folder
from headrace.client import models as m

_TOOL_S: Final = 5
"""How long one look by `ip`, `tc` or `ss` may take."""
_INTERFACES: Final = Path("/sys/class/net")
_BEFORE: Final = "the node is of a release that does not tell it: run `headrace doctor` on its host"


class Sight(Protocol):
    """A host to look at. Every method raises OSError, and `tool` SubprocessError, for what can't be read."""

    page_bytes: int
    usable_processors: frozenset[int]
    descriptors: tuple[int | None, int | None]
    """How many files a process may open: soft and hard limit; none where there is no limit."""

    def text(self, path: Path) -> str:
        """Return what a file of /proc or /sys holds."""
        ...

    def exists(self, path: Path) -> bool:
        """Say whether a file or folder is there."""
        ...

    def each(self, folder: Path, begins: str) -> list[Path]:
        """Return what is in a folder by names of this word and a number."""
        ...

    def tool(self, words: Sequence[str]) -> str:
        """Return what a program of iproute2 prints."""
        ...

    def ring_sizes(self, interface: str) -> tuple[int, int]:
        """Return how many received packets a card's ring holds, and how many it could hold."""
        ...

    def offloads_off(self, interface: str) -> tuple[str, ...]:
        """Return which of the offloads that matter is turned off."""
        ...

    def clock_is_synchronised(self) -> bool:
        """Say whether something keeps the clock right."""
        ...

    def folder(self, path: Path) -> Folder:
        """Return what is known of a folder's file system."""
        ...


class Here:
    """The host that this runs on."""

    def __init__(self) -> None:
        """Read what holds for this process."""
        self.page_bytes = os.sysconf("SC_PAGESIZE")
        self.usable_processors = frozenset(os.sched_getaffinity(0))
        soft, hard = (
            None if one == resource.RLIM_INFINITY else one for one in resource.getrlimit(resource.RLIMIT_NOFILE)
        )
        self.descriptors = (soft, hard)

    def text(self, path: Path) -> str:
        """As in the protocol."""
        return path.read_text(encoding="utf-8", errors="replace")

    def exists(self, path: Path) -> bool:
        """As in the protocol."""
        return path.exists()

    def each(self, folder: Path, begins: str) -> list[Path]:
        """As in the protocol."""
        return sorted(folder.glob(f"{begins}[0-9]*"))

    def tool(self, words: Sequence[str]) -> str:
        """As in the protocol."""
        done = subprocess.run(words, capture_output=True, timeout=_TOOL_S, check=True)  # noqa: S603 - fixed programs
        return done.stdout.decode("utf-8", "replace")

    def ring_sizes(self, interface: str) -> tuple[int, int]:
        """As in the protocol."""
        return kernel.ring_sizes(interface)

    def offloads_off(self, interface: str) -> tuple[str, ...]:
        """As in the protocol."""
        return kernel.offloads_off(interface)

    def clock_is_synchronised(self) -> bool:
        """As in the protocol."""
        return kernel.clock_is_synchronised()

    def folder(self, path: Path) -> Folder:
        """As in the protocol."""
        return of_folder(path)


class Told:
    """The host of a node, as it says."""

    def __init__(self, host: m.NodeHost) -> None:
        """Look at what was said."""
        self._host = host
        self._files = {Path(name): text for name, text in host.files.items()}
        cards = {_INTERFACES / name / "device" for name, one in (host.interfaces or {}).items() if one.card}
        self._folders = {above for path in self._files for above in path.parents} | cards
        self.page_bytes = host.page_bytes
        self.usable_processors = frozenset(host.usable_processors)
        self.descriptors = (host.descriptors.soft, host.descriptors.hard)

    def text(self, path: Path) -> str:
        """As in the protocol."""
        if path not in self._files:
            raise OSError(self._host.unread.get(str(path), "the node does not tell it"))
        return self._files[path]

    def exists(self, path: Path) -> bool:
        """As in the protocol."""
        return path in self._files or path in self._folders

    def each(self, folder: Path, begins: str) -> list[Path]:
        """As in the protocol."""
        found = {one for one in self._folders if one.parent == folder}
        return sorted(one for one in found if one.name.removeprefix(begins).isdecimal())

    def tool(self, words: Sequence[str]) -> str:
        """As in the protocol."""
        said = " ".join(words)
        if said not in self._host.tools:
            raise OSError(self._host.unread.get(said, "the node does not tell it"))
        return self._host.tools[said]

    def ring_sizes(self, interface: str) -> tuple[int, int]:
        """As in the protocol."""
        seen = self._interface(interface)
        if seen.rx_ring is None or seen.max_rx_ring is None:
            raise OSError(self._why(f"rings of {interface}"))
        return seen.rx_ring, seen.max_rx_ring

    def offloads_off(self, interface: str) -> tuple[str, ...]:
        """As in the protocol."""
        seen = self._interface(interface)
        if seen.offloads_off is None:
            raise OSError(self._why(f"offloads of {interface}"))
        return tuple(seen.offloads_off)

    def clock_is_synchronised(self) -> bool:
        """As in the protocol."""
        if self._host.interfaces is None:
            raise OSError(_BEFORE)
        if self._host.clock_synchronised is None:
            raise OSError(self._why("clock"))
        return self._host.clock_synchronised

    def _interface(self, name: str) -> m.HostInterface:
        if self._host.interfaces is None:
            raise OSError(_BEFORE)
        if name not in self._host.interfaces:
            message = "the node names no such interface"
            raise OSError(message)
        return self._host.interfaces[name]

    def _why(self, what: str) -> str:
        return f"not readable here: {self._host.unread.get(what, 'the node does not say why')}"

    def folder(self, path: Path) -> Folder:
        """Return what the node says of the root of this name."""
        root = next((one for one in self._host.roots if one.name == str(path)), None)
        if root is None:
            message = "the node exports no such root"
            raise OSError(message)
        if not root.total_bytes:
            message = "the node can't look at its file system"
            raise OSError(message)
        return Folder(
            path=root.name,
            file_system=root.file_system,
            options=frozenset(root.options),
            free=root.free_bytes,
            size=root.total_bytes,
            free_inodes=root.free_inodes,
            inodes=root.inodes,
        )
