"""The service's clock, passed in so that tests decide the time."""

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]
"""Returns the current time as an aware UTC datetime."""


def utc_now() -> datetime:
    """Return the current time in UTC, cut to milliseconds (the precision that is stored and sealed)."""
    now = datetime.now(UTC)
    return now.replace(microsecond=now.microsecond // 1000 * 1000)
