"""Look at a folder's file system; on request, try how fast its storage is, in a folder of its own that is removed."""

import mmap
import os
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Final

from headrace.cli.doctor.host import Folder, Probe

_LARGE_BYTES: Final = 256 * 2**20
_BLOCK_BYTES: Final = 2**20
_SMALL_FILES: Final = 500
_SMALL_BYTES: Final = 1024
_MOST_S: Final = 5.0
"""How long each part of a trial may take."""


def of_folder(path: Path) -> Folder:
    """Return what the kernel says of a folder. Raises OSError."""
    whole = path.resolve(strict=True)
    stat = os.statvfs(whole)
    point, kind, options = _mount(whole)
    return Folder(
        path=str(path),
        file_system=kind,
        options=options,
        mount_point=point,
        free=stat.f_bavail * stat.f_frsize,
        size=stat.f_blocks * stat.f_frsize,
        free_inodes=stat.f_favail,
        inodes=stat.f_files,
    )


def tried(folder: Folder) -> Folder:
    """Add what a trial of at most 256 MiB and 500 small files, 15 s in all, measures. Raises OSError."""
    with tempfile.TemporaryDirectory(prefix=".headrace-doctor-", dir=folder.path) as name:
        written, read = _large(Path(name, "large"))
        return replace(folder, probe=Probe(write_bytes_s=written, read_bytes_s=read, files_s=_small(Path(name))))


def _large(path: Path) -> tuple[float, float | None]:
    block = mmap.mmap(-1, _BLOCK_BYTES)  # pages of their own: direct I/O wants aligned memory
    block.write(os.urandom(_BLOCK_BYTES))
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL
    try:
        opened, direct = os.open(path, flags | os.O_DIRECT, 0o600), True
    except OSError:
        path.unlink(missing_ok=True)  # some file systems make the file and then refuse
        opened, direct = os.open(path, flags, 0o600), False
    try:
        begun, size = time.monotonic(), 0
        while size < _LARGE_BYTES and time.monotonic() - begun < _MOST_S:
            size += os.write(opened, block)
        os.fdatasync(opened)
        written = size / max(1e-9, time.monotonic() - begun)
        if not direct:
            return written, None
        begun, got = time.monotonic(), 0
        while got < size and time.monotonic() - begun < _MOST_S:
            got += os.preadv(opened, [block], got)
        return written, got / max(1e-9, time.monotonic() - begun)
    finally:
        os.close(opened)
        block.close()


def _small(folder: Path) -> float:
    content, begun, count = os.urandom(_SMALL_BYTES), time.monotonic(), 0
    while count < _SMALL_FILES and time.monotonic() - begun < _MOST_S:
        opened = os.open(folder / str(count), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            os.write(opened, content)
            os.fsync(opened)
        finally:
            os.close(opened)
        count += 1
    return count / max(1e-9, time.monotonic() - begun)


def _mount(whole: Path) -> tuple[str, str, frozenset[str]]:
    """Return where the file system that a folder is on is mounted, its kind and its options."""
    best, found = -1, ("", "", frozenset[str]())
    for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape").splitlines():
        before, _, after = line.partition(" - ")
        fields = before.split()
        point = Path(fields[4].encode("latin-1", "replace").decode("unicode_escape"))
        if whole.is_relative_to(point) and len(point.parts) >= best:
            kind, _, options = after.split(" ", 2)
            best, found = len(point.parts), (str(point), kind, frozenset(f"{fields[5]},{options}".split(",")))
    return found
