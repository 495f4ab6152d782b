"""How long a transfer still takes: by what is measured of it now, and at first by what was expected of it.

What was expected says how bytes and files count against each other, so that a part of the work is known to be done; and
it is believed until the transfer itself has run for long enough to say more.
"""

import math
from dataclasses import dataclass
from typing import Final

from headrace.api.transfers.samples import Between, Sample
from headrace.client import models as m

_LEAST_S: Final = 1.0
"""The shortest time whose rates say something."""
_AROUND: Final = 1.25
"""The range is at least this much around the likeliest; twice it before anything is measured."""
_MOST_S: Final = (1 << 53) - 1
_SMALL_BYTES: Final = 256 * 1024
"""Up to this mean size it is their number that costs; the largest go first, so larger ones say little of others."""
_FILE_S: Final = 1e-3
"""What a file costs on usual storage, where those that went before were too large to say."""
_SLOW_FILE_S: Final = 1e-2
"""And on slow storage."""
_BEGINS_S: Final = 10.0
"""So long nothing need arrive at first."""
_BELIEVED_S: Final = 3.0
"""What was expected counts as much as so many seconds of the transfer itself: the first ones say little, since it
begins with a wait and a burst,"""
_BELIEVED: Final = 0.05
"""and this part of the time that was expected."""
_AT_CEILING: Final = 1.1
"""Nothing runs at its ceiling all the time."""
_BESIDE_S: Final = 1.0
"""What a transfer begins and ends with, beyond its content."""


@dataclass(frozen=True, slots=True)
class Remaining:
    """Seconds: a range, and the likeliest."""

    low_s: int
    likely_s: int
    high_s: int


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a transfer may take, whatever it took so far."""

    ceiling_bps: int | None = None
    """Its own ceiling."""
    entitled_bps: int | None = None
    """Its share of links: what it takes above it, others may want back."""
    kept_within_s: float | None = None
    """Within which it gets enough of links, by a promise that is kept later than now."""


def remaining(
    now: Sample,
    rate_bps: int,
    files_failed: int,
    *seen: Between,
    expected: m.Estimate | None = None,
    bounds: Bounds | None = None,
) -> Remaining | None:
    """Return how long what is left takes, at what the nodes say and by the first of `seen`; nothing when none moves.

    `seen`: the last seconds, then the whole attempt; the range spans both. Deletes come last: once they go on, only
    they are left.
    """
    deletes = _deletes(now, seen[0]) if seen else None
    if deletes is not None:
        return deletes
    left = _Left(max(0, now.bytes_total - now.arrived), max(0, now.files_total - now.files_done - files_failed))
    moving = rate_bps > 0 or bool(seen and seen[0].moved)
    if not left.bytes and now.bytes_total and (rate_bps <= 0 or not left.files):
        return _last(now, seen[-1]) if moving and seen else None
    passed_s = seen[-1].seconds if seen else 0.0
    if not moving and (expected is None or passed_s >= _BEGINS_S or bool(seen and seen[-1].moved)):
        return None
    rate_bps = rate_bps or (seen[0].rate_bps if moving else 0)
    found = _measured(left, rate_bps, seen) if expected is None else _blended(now, left, expected, rate_bps, seen)
    return _bounded(found, left.bytes * 8, bounds or Bounds())


@dataclass(frozen=True, slots=True)
class _Left:
    bytes: int
    files: int


@dataclass(frozen=True, slots=True)
class _Range:
    low: float
    likely: float
    high: float


def _measured(left: _Left, rate_bps: int, seen: tuple[Between, ...]) -> _Range:
    """Go by what is measured alone: the slower of bytes and files counts."""
    long = [one for one in seen if one.seconds >= _LEAST_S and one.arrived]
    each = [max(_at(left.bytes, one.arrived, one.seconds), _by_files(left.files, one, _FILE_S)) for one in long]
    by_files = [_by_files(left.files, one, _FILE_S) for one in seen[:1] if one.seconds >= _LEAST_S]
    slow = [_by_files(left.files, one, _SLOW_FILE_S) for one in long]
    likely = max([left.bytes * 8 / max(1, rate_bps), *by_files])
    around = _AROUND if each else _AROUND * 2
    return _Range(min([likely / around, *each]), likely, max([likely * around, *each, *slow]))


def _by_files(left: int, seen: Between, most_s: float) -> float:
    """Return how long files take by their number; where those before were large, `most_s` for each at most."""
    by_number = _at(left, seen.files, seen.seconds)
    small = seen.files and max(seen.arrived, seen.durable) / seen.files <= _SMALL_BYTES
    return by_number if small else min(by_number, left * most_s)


def _blended(now: Sample, left: _Left, expected: m.Estimate, rate_bps: int, seen: tuple[Between, ...]) -> _Range:
    """Go by what was expected, and the more by what is measured the longer that is known."""
    whole_s = max(0.0, expected.likely_s - expected.deletes_s)
    part = _part(now, left, expected)
    by_expected = whole_s * part

    def at_speed_of(one: Between) -> float | None:
        """Return what is left at the speed of then: by the part of all the work that was done in that time."""
        before = _Left(
            max(0, now.bytes_total - one.before.arrived_of(now.bytes_total)),
            max(0, now.files_total - one.before.files_done),
        )
        done = _part(now, before, expected) - part
        return one.seconds * part / done if one.seconds >= _BELIEVED_S and done > 0 else None

    measured = [found for one in seen if (found := at_speed_of(one)) is not None]
    passed_s = seen[-1].seconds if seen else 0.0
    believed_s = _BELIEVED_S + _BELIEVED * whole_s
    weight = believed_s / (believed_s + passed_s) if measured and by_expected else 1.0
    likely = by_expected
    if measured and weight < 1:
        likely = by_expected**weight * max(measured[0], 1e-3) ** (1 - weight)
    elif not by_expected and rate_bps:
        likely = left.bytes * 8 / rate_bps
    low, high = (_ratio(end, expected.likely_s) for end in (expected.low_s, expected.high_s))
    return _Range(
        min([likely * low**weight / _AROUND ** (1 - weight), *measured]) - _BESIDE_S,
        likely,
        max([likely * high**weight * _AROUND ** (1 - weight), *measured]) + _BESIDE_S,
    )


def _ratio(end_s: int, likely_s: int) -> float:
    return max(0.5, end_s) / max(1, likely_s)


def _part(now: Sample, left: _Left, expected: m.Estimate) -> float:
    """Return which part of all the work this is, by what bytes and files were expected to cost."""
    of_bytes = left.bytes / now.bytes_total if now.bytes_total else 0.0
    of_files = min(1.0, left.files / now.files_total) if now.files_total else 0.0
    whole = expected.bytes_s + expected.files_s
    if whole <= 0:
        return of_bytes if now.bytes_total else of_files
    return (expected.bytes_s * of_bytes + expected.files_s * of_files) / whole


def _last(now: Sample, whole: Between) -> Remaining:
    """Return how long it takes until what has arrived is durable, and all is said of it."""
    likely = _at(max(0, now.bytes_total - now.bytes_durable), whole.durable, whole.seconds)
    return _range(0, likely, likely * 2 * _AROUND + _BESIDE_S)


def _bounded(found: _Range, left_bits: int, bounds: Bounds) -> Remaining:
    """Keep what is sure: no ceiling is exceeded, and a promise that is kept later is kept."""
    least = left_bits / bounds.ceiling_bps if bounds.ceiling_bps else 0.0
    high = max(found.high, left_bits / bounds.entitled_bps) if bounds.entitled_bps else found.high
    ends = [found.low, found.likely, high]
    if bounds.kept_within_s is not None:
        ends = [min(one, bounds.kept_within_s) for one in ends]
    low, likely, high = (max(least, one) for one in ends)
    return _range(low, likely, max(high, least * _AT_CEILING))


def _deletes(now: Sample, recent: Between) -> Remaining | None:
    """Return how long the names take that are still to be deleted; nothing before deleting begins."""
    if not recent.deleted or recent.seconds < _LEAST_S or recent.moved:
        return None
    likely = _at(max(0, now.to_delete - now.deleted), recent.deleted, recent.seconds)
    return _range(likely / _AROUND, likely, likely * _AROUND)


def _range(low: float, likely: float, high: float) -> Remaining:
    """Return whole seconds; a range always, since nobody knows it to the second."""
    least, middle = (max(0, min(_MOST_S - 1, int(one))) for one in (low, likely))
    return Remaining(min(least, middle), middle, max(min(_MOST_S, math.ceil(high)), middle, least + 1))


def _at(left: int, done: int, seconds: float) -> float:
    return left / done * seconds if done else 0.0
