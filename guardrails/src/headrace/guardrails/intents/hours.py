"""Hours of the day in which alone a transfer may run: when they open next, and when they close."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Final, Self
from zoneinfo import ZoneInfo

_DAY: Final = timedelta(days=1)
_DAYS_LOOKED_AT: Final = 4
"""Hours of every day open within two days, also where a change of clocks leaves one of them out."""
_MAX_SPANS: Final = 2 * 10 + 4
_DAYS_COUNTED: Final = 10
"""Days that are gone through one by one."""
_MOST_DAYS: Final = 36_500
_SOME_DAY: Final = date(2026, 1, 1)


@dataclass(frozen=True, slots=True)
class OpenHours:
    """From `opens` until `closes` by the clocks of `zone`, over midnight when `closes` is the earlier one."""

    opens: time
    closes: time
    zone: str

    @classmethod
    def of(cls, window: tuple[str, str], zone: str) -> Self:
        """Read two clock times. Raises ValueError (`ZoneInfoNotFoundError` is a KeyError)."""
        opens, closes = map(time.fromisoformat, window)
        if opens == closes:
            message = "hours that begin and end at one time have no length"
            raise ValueError(message)
        return cls(opens, closes, ZoneInfo(zone).key)

    @classmethod
    def read(cls, body: object) -> Self | None:
        """Read its form in sealed plans; `None` where a plan names none. Raises ValueError and KeyError."""
        if body is None:
            return None
        if not isinstance(body, Mapping):
            raise ValueError(body)  # noqa: TRY004 - what is sealed is no argument
        return cls.of((str(body["opens"]), str(body["closes"])), str(body["zone"]))

    def to_body(self) -> dict[str, str]:
        """Its form in sealed plans."""
        return {"opens": f"{self.opens:%H:%M}", "closes": f"{self.closes:%H:%M}", "zone": self.zone}

    def __str__(self) -> str:
        """Say them to people."""
        return f"{self.opens:%H:%M}–{self.closes:%H:%M} ({self.zone})"  # noqa: RUF001 - a range

    def opening(self, at: datetime) -> datetime:
        """Return when they are open first, from `at` on: `at` itself while they are."""
        opens, _ = next(self._spans(at))
        return max(opens, at)

    def closing(self, at: datetime) -> datetime:
        """Return when those close that are open at `at`, or that open next."""
        return next(self._spans(at))[1]

    def after(self, begins: datetime, work: timedelta) -> datetime:
        """Return when work is done that begins at `begins` and is done in these hours alone.

        Beyond ten days whole days are counted at once, where changes of clocks are left out: right to an hour or two.
        """
        each = (datetime.combine(_SOME_DAY, self.closes) - datetime.combine(_SOME_DAY, self.opens)) % _DAY
        days = min(max(0, work // each - _DAYS_COUNTED), _MOST_DAYS)
        end, work = begins + days * _DAY, work - days * each
        for _ in range(_MAX_SPANS):
            opens = self.opening(end)
            closes = self.closing(opens)
            if opens + work <= closes:
                return opens + work
            work -= closes - opens
            end = closes
        return end + work

    def _spans(self, at: datetime) -> Iterator[tuple[datetime, datetime]]:
        """Go through what is not over at `at`; each span ends before the next begins."""
        zone = ZoneInfo(self.zone)
        day = at.astimezone(zone).date() - _DAY
        for _ in range(_DAYS_LOOKED_AT):
            until = day + _DAY if self.closes < self.opens else day
            opens = datetime.combine(day, self.opens, zone).astimezone(UTC)
            closes = datetime.combine(until, self.closes, zone).astimezone(UTC)
            if at < closes and opens < closes:
                yield opens, closes
            day += _DAY
