"""What is done to the hosts of one run: devices, processors, memory and settings, and how it is taken back."""

import contextlib
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_GROUPS: Final = Path("/sys/fs/cgroup")
_PERIOD_US: Final = 250_000
_MIN_QUOTA_US: Final = 1000
_SOCKET_BYTES: Final = 1 << 32
"""More than the sockets of a node ever hold. Only those made under a limit count, so that there always is one."""


def run(*words: str, limit_s: float = 60) -> str:
    """Run a command that has to work."""
    return subprocess.run(words, check=True, capture_output=True, text=True, timeout=limit_s).stdout


@dataclass(frozen=True, slots=True)
class Device:
    """An ext4 file system on a loop device, whose rate the kernel limits (blk-throttle)."""

    device: str
    folder: Path

    @property
    def number(self) -> str:
        """Major and minor number."""
        status = Path(self.device).stat().st_rdev
        return f"{os.major(status)}:{os.minor(status)}"

    def limit(self, direction: str, bytes_s: int) -> None:
        """Let so many bytes a second through, 0 for all; `direction` is `read` or `write`."""
        file = _GROUPS / "blkio" / f"blkio.throttle.{direction}_bps_device"
        file.write_text(f"{self.number} {bytes_s}", encoding="ascii")

    def forget_cache(self) -> None:
        """Let what is read come from the device."""
        run("sync", "--file-system", str(self.folder))
        for path in self.folder.rglob("*"):
            if path.is_file():
                with path.open("rb") as file:
                    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


@contextmanager
def device(image: Path, size_bytes: int, folder: Path) -> Iterator[Device]:
    """Make a file system of this size, and mount it there."""
    with image.open("wb") as file:
        file.truncate(size_bytes)
    made = run("losetup", "--find", "--show", str(image)).strip()
    try:
        # No features whose background work would be measured.
        run("mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", "-N", "200000", made)
        folder.mkdir(parents=True, exist_ok=True)
        run("mount", made, str(folder))
        found = Device(made, folder)
        try:
            yield found
        finally:
            for direction in ("read", "write"):
                found.limit(direction, 0)
            with contextlib.suppress(subprocess.CalledProcessError):
                run("umount", str(folder))
    finally:
        run("losetup", "--detach", made)
        image.unlink()


@contextmanager
def every_congestion_control() -> Iterator[None]:
    """Let hosts of the lab use what the kernel has, as the first host may anyway."""
    folder = Path("/proc/sys/net/ipv4")
    allowed = folder / "tcp_allowed_congestion_control"
    before = allowed.read_text(encoding="ascii")
    allowed.write_text((folder / "tcp_available_congestion_control").read_text(encoding="ascii"), encoding="ascii")
    try:
        yield
    finally:
        allowed.write_text(before, encoding="ascii")


@dataclass(frozen=True, slots=True)
class Group:
    """The control groups (version 1) of one node, for its processor time and the memory of its sockets."""

    name: str

    @property
    def words(self) -> tuple[str, ...]:
        """Words before a command that put it there."""
        enter = "; ".join(f"echo $$ > {folder / 'cgroup.procs'}" for folder in self.folders)
        return ("sh", "-c", f'{enter}; exec "$@"', "sh")

    @property
    def folders(self) -> tuple[Path, ...]:
        """Where the kernel shows it."""
        return _GROUPS / "cpu" / self.name, _GROUPS / "memory" / self.name

    def cpus(self, count: float) -> None:
        """Give it so many processors, 0 for all."""
        quota = max(_MIN_QUOTA_US, int(count * _PERIOD_US)) if count else -1
        (_GROUPS / "cpu" / self.name / "cpu.cfs_quota_us").write_text(str(quota), encoding="ascii")

    def sockets(self, size_bytes: int) -> None:
        """Let all its TCP sockets hold so much memory, 0 for as much as they want."""
        file = _GROUPS / "memory" / self.name / "memory.kmem.tcp.limit_in_bytes"
        file.write_text(str(size_bytes or _SOCKET_BYTES), encoding="ascii")


@contextmanager
def group(name: str) -> Iterator[Group]:
    """Make a node's groups; they are removed once the node has ended."""
    made = Group(name)
    for folder in made.folders:
        folder.mkdir()
    try:
        (_GROUPS / "cpu" / name / "cpu.cfs_period_us").write_text(str(_PERIOD_US), encoding="ascii")
        made.sockets(0)
        yield made
    finally:
        for folder in made.folders:
            with contextlib.suppress(OSError):
                folder.rmdir()
