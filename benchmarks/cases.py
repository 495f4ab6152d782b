"""The work that is measured, and the paths and places that it is measured on."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

MIB = 1 << 20
SHELF = 1000


@dataclass(frozen=True, slots=True)
class Case:
    """One kind of work: how to lay it out, and its size."""

    key: str
    name: str
    files: int
    size_bytes: int
    lay_out: Callable[[Path], None]
    counts_files: bool
    """Whether its speed is files a second; else bits."""

    @property
    def reads(self) -> str:
        """The name of its only file, or nothing."""
        return "large.bin" if self.files == 1 else ""


@dataclass(frozen=True, slots=True)
class Line:
    """A path between two hosts."""

    round_trip_ms: float
    loss_percent: float = 0.0
    rate: str = ""
    """As `headrace lab` reads it; empty: what the machine can."""

    @property
    def name(self) -> str:
        """For tables."""
        parts = [f"{self.round_trip_ms:g} ms", f"{self.loss_percent:g} % loss" if self.loss_percent else "", self.rate]
        return ", ".join(part for part in parts if part)

    @property
    def host(self) -> str:
        """The far host, as `headrace lab` reads it."""
        options = [f"rtt={self.round_trip_ms:g}ms"]
        options += [f"loss={self.loss_percent:g}%"] if self.loss_percent else []
        options += [f"rate={self.rate}"] if self.rate else []
        return f"far:{','.join(options)}"

    @classmethod
    def read(cls, text: str) -> "Line":
        """Read `RTT_MS[:LOSS%][:RATE]`, for example `50:0.1%` or `100:1Gb/s`."""
        first, *rest = text.split(":")
        loss = next((float(part[:-1]) for part in rest if part.endswith("%")), 0.0)
        return cls(float(first), loss, next((part for part in rest if not part.endswith("%")), ""))


def _large(size_bytes: int) -> Callable[[Path], None]:
    def lay_out(folder: Path) -> None:
        numbers = random.Random(1)  # noqa: S311 (reproducible, nothing secret)
        piece = numbers.randbytes(64 * MIB)
        with (folder / "large.bin").open("wb") as file:
            for at in range(0, size_bytes, len(piece)):
                # No two pieces are the same.
                file.write((at.to_bytes(8, "little") + piece)[: min(len(piece), size_bytes - at)])

    return lay_out


def _many(count: int, size_bytes: int) -> Callable[[Path], None]:
    def lay_out(folder: Path) -> None:
        numbers = random.Random(2)  # noqa: S311 (reproducible, nothing secret)
        for index in range(count):
            shelf = folder / f"{index // SHELF:04}"
            if index % SHELF == 0:
                shelf.mkdir()
            (shelf / f"{index:07}.dat").write_bytes(numbers.randbytes(size_bytes))

    return lay_out


LARGE = Case("large", "1 GiB file", 1, 1 << 30, _large(1 << 30), counts_files=False)
HUGE = Case("huge", "8 GiB file", 1, 8 << 30, _large(8 << 30), counts_files=False)
SMALL = Case("small", "10,000 x 1 KiB", 10_000, 10_000 << 10, _many(10_000, 1 << 10), counts_files=True)
TINY = Case("tiny", "1,000,000 x 4 B", 1_000_000, 4_000_000, _many(1_000_000, 4), counts_files=True)
SET = Case("set", "64 x 16 MiB", 64, 1 << 30, _many(64, 16 * MIB), counts_files=False)
CASES = {case.key: case for case in (LARGE, HUGE, SMALL, TINY, SET)}

GIGABIT = "1Gb/s"
MATRIX = (
    *(("memory", Line(trip), case) for trip in (0, 50, 100) for case in (LARGE, SMALL)),
    *(("memory", Line(50, 0.1), case) for case in (LARGE, SMALL)),
    *(("memory", Line(trip, 0, GIGABIT), SET) for trip in (0, 50, 100)),
    *(("disk", Line(0), case) for case in (LARGE, SMALL)),
)
"""What `make bench` measures between two hosts."""
