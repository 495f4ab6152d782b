"""How long a transfer still takes, by what was measured of it: the last seconds, and all of its attempt."""

import math
from dataclasses import dataclass
from typing import Final

from headrace.api.transfers.samples import Between, Sample

_LEAST_S: Final = 1.0
"""The shortest time whose rates say something."""
_AROUND: Final = 1.25
"""The range is at least this much around the likeliest; twice it before anything is measured."""
_MOST_S: Final = (1 << 53) - 1


@dataclass(frozen=True, slots=True)
class Remaining:
    """Seconds: a range, and the likeliest."""

    low_s: int
    likely_s: int
    high_s: int


def remaining(now: Sample, rate_bps: int, files_failed: int, *seen: Between) -> Remaining | None:
    """Return how long what is left takes, at what the nodes say and by the first of `seen`; nothing when none moves.

    Files cost time whatever their size, and largest go first: the slower of bytes and files counts. The range spans
    all of `seen`. Deletes come last: once they go on, only they are left.
    """
    deletes = _deletes(now, seen[0]) if seen else None
    if deletes is not None:
        return deletes
    if rate_bps <= 0:
        return None
    left_bytes = max(0, now.bytes_total - now.bytes_durable)
    left_files = max(0, now.files_total - now.files_done - files_failed)
    told = left_bytes * 8 / rate_bps
    measured = [
        max(_at(left_bytes, one.durable, one.seconds), _at(left_files, one.files, one.seconds))
        for one in seen
        if one.seconds >= _LEAST_S and one.durable
    ]
    recent = seen[:1]
    by_files = [_at(left_files, one.files, one.seconds) for one in recent if one.seconds >= _LEAST_S]
    likely = max([told, *by_files])
    around = _AROUND if measured else _AROUND * 2
    return _range(min([likely / around, *measured]), likely, max([likely * around, *measured]))


def _deletes(now: Sample, recent: Between) -> Remaining | None:
    """Return how long the names take that are still to be deleted; nothing before deleting begins."""
    if not recent.deleted or recent.seconds < _LEAST_S or recent.moved:
        return None
    likely = _at(max(0, now.to_delete - now.deleted), recent.deleted, recent.seconds)
    return _range(likely / _AROUND, likely, likely * _AROUND)


def _range(low: float, likely: float, high: float) -> Remaining:
    return Remaining(min(_MOST_S, int(low)), min(_MOST_S, int(likely)), min(_MOST_S, math.ceil(high)))


def _at(left: int, done: int, seconds: float) -> float:
    return left / done * seconds if done else 0.0
