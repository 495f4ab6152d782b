"""The service's clocks, passed in so that tests decide the time."""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

Clock = Callable[[], datetime]
"""Returns the current time as an aware UTC datetime."""


def utc_now() -> datetime:
    """Return the current time in UTC, cut to milliseconds (the precision that is stored and sealed)."""
    return _cut(datetime.now(UTC))


def full_minute(moment: datetime) -> datetime:
    """Return the full minute from `moment` on: what is done at 14:05:40 can't be promised by 14:05."""
    return (moment + timedelta(minutes=1, microseconds=-1)).replace(second=0, microsecond=0)


def steady(clock: Clock) -> Clock:
    """Return a clock that begins at the time of `clock` and goes on evenly, however that one is set.

    Waits are measured by it: a clock that is set forward ends none of them, and one that is set back prolongs none.
    """
    began, counted_from = clock(), time.monotonic()
    return lambda: _cut(began + timedelta(seconds=time.monotonic() - counted_from))


def _cut(at: datetime) -> datetime:
    return at.replace(microsecond=at.microsecond // 1000 * 1000)
