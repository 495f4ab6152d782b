"""The work that is measured."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Case:
    """One kind of work: how to lay it out, and its size."""

    name: str
    files: int
    size_bytes: int
    lay_out: Callable[[Path], None]


def _one_large(folder: Path) -> None:
    numbers = random.Random(1)  # noqa: S311 (reproducible, nothing secret)
    with (folder / "large.bin").open("wb") as file:
        for _ in range(1024):
            file.write(numbers.randbytes(MIB))


def _many_small(folder: Path) -> None:
    numbers = random.Random(2)  # noqa: S311 (reproducible, nothing secret)
    for index in range(10_000):
        shelf = folder / f"{index // 1000}"
        shelf.mkdir(exist_ok=True)
        (shelf / f"{index:05}.dat").write_bytes(numbers.randbytes(1024))


CASES = (
    Case("1 GiB file", 1, 1 << 30, _one_large),
    Case("10,000 x 1 KiB", 10_000, 10_000 * 1024, _many_small),
)
