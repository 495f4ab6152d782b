"""What is said of a service that was watched: whether its memory grew, and by how much."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

MOST_GROWTH: Final = 0.05
"""Of the median of the second quarter of a run, which the first one has warmed up."""
FEWEST_SAMPLES: Final = 24
"""Of fewer, six of each quarter, nothing is said."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The service at one moment."""

    at_s: float
    """Since the work began."""
    rss_bytes: int
    descriptors: int
    threads: int


def quarters(samples: Sequence[Sample]) -> list[float]:
    """Return the median memory of each quarter of a run, in MiB."""
    size = len(samples) // 4
    return [
        round(statistics.median(one.rss_bytes for one in samples[part * size : (part + 1) * size]) / (1 << 20), 1)
        for part in range(4)
    ]


def grown(samples: Sequence[Sample]) -> list[str]:
    """Say what grew from the second quarter of the run to the last one."""
    if len(samples) < FEWEST_SAMPLES:
        return [f"{len(samples)} samples say nothing: at least {FEWEST_SAMPLES} are needed, so let it run longer"]
    _, before, _, after = quarters(samples)
    found = []
    if after > before * (1 + MOST_GROWTH):
        found.append(f"the service's memory grew from {before} to {after} MiB; at most {MOST_GROWTH:.0%} are allowed")
    size = len(samples) // 4
    for name in ("descriptors", "threads"):
        first, last = (
            statistics.median(getattr(one, name) for one in part)
            for part in (samples[size : 2 * size], samples[3 * size :])
        )
        if last > first * (1 + MOST_GROWTH) + 4:
            found.append(f"the service's {name} grew from {first:.0f} to {last:.0f}")
    return found
