"""Making files and names durable: a synced file can still be gone after a loss of power if its folder was not."""

import errno
import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Final

UNFINISHED: Final = ".new"
"""How the name of a file ends that is being written, before it takes the place of another."""
_REMEDY: Final = {
    errno.ENOSPC: "make room on that disk",
    errno.EDQUOT: "make room there, or give this account more",
    errno.EROFS: "mount that file system so that it can be written",
    errno.EACCES: "let this account read and write there",
    errno.EPERM: "let this account read and write there",
    errno.ENOENT: "see that it is there, and its file system mounted",
    errno.ENOTCONN: "see that its file system is mounted",
    errno.ESTALE: "mount its file system again",
    errno.EIO: "look at that disk",
}
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})


def write_whole(descriptor: int, content: bytes) -> None:
    """Write all of `content` (a write may stop in the middle, where a disk is full) and make it durable.

    An `OSError` names the file.
    """
    try:
        while content:
            content = content[os.write(descriptor, content) :]
        os.fsync(descriptor)
    except OSError as error:
        if error.filename is None:
            with suppress(OSError):
                error.filename = str(Path(f"/proc/self/fd/{descriptor}").readlink())
        raise


def replace_file(path: Path, content: bytes) -> None:
    """Put `content` at `path` as a whole and durably, for this account only.

    Raises `OSError`: `path` is as it was then, or holds all of `content` where only its folder could not be synced.
    What is being written has a name of its own: processes that share the folder may write the same file at once.
    """
    fresh = path.with_name(f"{path.name}.{secrets.token_hex(4)}{UNFINISHED}")
    try:
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            write_whole(descriptor, content)
        finally:
            os.close(descriptor)
        fresh.replace(path)
        sync_folder(path.parent)
    except BaseException as error:
        fresh.unlink(missing_ok=True)
        if isinstance(error, OSError):
            error.filename = os.fspath(path)
        raise


def remedy_of(number: int | None) -> str:
    """Say what to do about what the system says by this number; nothing where that is not known."""
    return _REMEDY.get(number or 0, "")


def place_in_words(error: OSError, folder: Path | None = None) -> str:
    """Say which file or folder of which host can't be used, why, and what to do.

    `folder` is where the file lies, for an error of a disk that names no file.
    """
    said = error.strerror or str(error) or type(error).__name__
    host = f"on the host `{os.uname().nodename}`"
    name = error.filename if isinstance(error.filename, str | bytes | os.PathLike) else None
    if name is None and error.errno in _REMEDY:
        name = folder
    what = f"`{os.fsdecode(name)}` {host} can't be used: {said}" if name is not None else f"{said} ({host})"
    remedy = remedy_of(error.errno)
    return f"{what}; {remedy}" if remedy else what


def in_words(error: OSError) -> str:
    """Say what the system says; of a full disk also that what was to be replaced is as it was."""
    said = file_in_words(error)
    return f"{said}; nothing has changed: make room, and run it again" if error.errno in _FULL else said


def file_in_words(error: OSError) -> str:
    """Say what the system did not allow with a file, without its numbers; messages of our own stay as they are."""
    if error.errno is None:
        return str(error)
    said = (error.strerror or str(error)).lower()
    if error.filename is None:
        return said
    name = os.fsdecode(error.filename)
    if error.errno in _FULL:
        return f"`{name}`: {said}"
    if error.errno == errno.ENOENT:
        folder = Path(name).parent
        return (
            f"there is no `{name}`" if folder.is_dir() else f"there is no folder `{folder}`: make it, or name another"
        )
    return f"`{name}`: {said}; give another file, or let this account use it"


def sync_folder(folder: Path) -> None:
    """Make the names in `folder` durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
