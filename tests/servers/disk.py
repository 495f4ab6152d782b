"""A small file system of its own, which a test fills."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def mounted(folder: Path, size: str) -> Iterator[Path]:
    """Mount a file system of this size at `folder`, which is made, for the block."""
    if os.geteuid() != 0:
        pytest.skip("only the root account may mount")
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def fill(path: Path) -> None:
    """Write until nothing fits any more."""
    with path.open("wb", buffering=0) as file:
        for size in (1 << 20, 4096, 1):
            try:
                while file.write(b"\0" * size):
                    pass
            except OSError:
                continue
