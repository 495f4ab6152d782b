"""What moved second by second, and how it is rolled up: pure rules of `throughput`."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

KEPT: Final[Mapping[int, timedelta]] = {1: timedelta(hours=1), 10: timedelta(days=1), 300: timedelta(days=366)}
"""How long samples are kept, by their seconds."""
_SHOWN: Final = (1, 10, 300, 3600, 86_400)
"""Seconds that a sample of an answer may have: beyond 300, those of 300 are added up."""
MOST_POINTS: Final = 1000
"""Samples in one answer."""
_LONGEST_S: Final = 60
"""Over how much time at most is spread what came between two reports."""
_MOST_COUNT: Final = (1 << 62) - 1


@dataclass(slots=True)
class Amount:
    """What moved."""

    bytes: int = 0
    files: int = 0

    def add(self, bytes_: int, files: int) -> None:
        """Add to it; never more than the store takes, whatever nodes say."""
        self.bytes = min(self.bytes + bytes_, _MOST_COUNT)
        self.files = min(self.files + files, _MOST_COUNT)


Seconds = dict[int, Amount]
"""Amounts by second since 1970."""


def spread(begin: datetime, end: datetime, amount: int) -> Iterator[tuple[int, int]]:
    """Share an amount among the seconds from `begin` to `end` by how much of each lies between; the sum stays exact."""
    last = end.timestamp()
    first = min(last, max(begin.timestamp(), last - _LONGEST_S))
    length, given = last - first, 0
    for second in range(int(first), int(last)):
        until = round(amount * (second + 1 - first) / length)
        yield second, until - given
        given = until
    yield int(last), amount - given


def rolled_up(seconds: Seconds, step_s: int) -> Seconds:
    """Add seconds up to samples of `step_s`."""
    found: Seconds = {}
    for second, amount in seconds.items():
        found.setdefault(second - second % step_s, Amount()).add(amount.bytes, amount.files)
    return found


def step_of(since: datetime, until: datetime, now: datetime) -> int:
    """Return the seconds of the finest samples that are kept since then, and that one answer can hold."""
    length_s = (until - since).total_seconds()
    for step in _SHOWN:
        kept = KEPT[max(stored for stored in KEPT if stored <= step)]
        # One sample more: a range begins and ends inside of samples.
        if now - since <= kept and length_s / step <= MOST_POINTS - 1:
            return step
    return _SHOWN[-1]
