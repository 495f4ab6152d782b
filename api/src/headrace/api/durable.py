"""Making files and names durable: a synced file can still be gone after a loss of power if its folder was not."""

import errno
import os
from contextlib import suppress
from pathlib import Path


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


def in_words(error: OSError) -> str:
    """Say what the system says; of a full disk also that what was to be replaced is as it was."""
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return f"{error}; nothing has changed: make room, and run it again"
    return str(error)


def sync_folder(folder: Path) -> None:
    """Make the names in `folder` durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
