"""Making files and names durable: a synced file can still be gone after a loss of power if its folder was not."""

import os
from pathlib import Path


def write_whole(descriptor: int, content: bytes) -> None:
    """Write all of `content` (a write may stop in the middle, where a disk is full) and make it durable."""
    while content:
        content = content[os.write(descriptor, content) :]
    os.fsync(descriptor)


def sync_folder(folder: Path) -> None:
    """Make the names in `folder` durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
