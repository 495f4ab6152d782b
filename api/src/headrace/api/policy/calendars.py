"""Calendars of classes, and hours that hold together: when all are open, and how long that is."""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Final, Protocol
from zoneinfo import ZoneInfo

from headrace.client import models as m

_DAY: Final = timedelta(days=1)
_DAYS_LOOKED_AT: Final = 420
"""More than may be closed in one calendar: what does not open within them never does."""
_MOST_AHEAD: Final = timedelta(days=3660)
_MOST_SPANS: Final = 2000
"""Spans of hours that a sum goes through."""
_WEEK: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


class Hours(Protocol):
    """Something that opens and closes."""

    def opening(self, at: datetime) -> datetime | None:
        """Return when it is open first, from `at` on; nothing when it never is."""
        ...

    def closing(self, at: datetime) -> datetime:
        """Return when those hours end that are open at `at`, or open next."""
        ...


@dataclass(frozen=True, slots=True)
class Calendar:
    """Weekly hours in a zone, without those of the days that are closed."""

    name: str
    of: m.QosCalendar

    def __str__(self) -> str:
        """Say it to people."""
        return f"the calendar `{self.name}`"

    def opening(self, at: datetime) -> datetime | None:
        """Return when it is open first, from `at` on; nothing when it never is."""
        span = next(self._spans(at), None)
        return None if span is None else max(span[0], at)

    def closing(self, at: datetime) -> datetime:
        """Return when those hours end that are open at `at`, or open next."""
        span = next(self._spans(at), None)
        return at if span is None else span[1]

    def _spans(self, at: datetime) -> Iterator[tuple[datetime, datetime]]:
        """Go through what is not over at `at`; hours that touch are one span."""
        current: tuple[datetime, datetime] | None = None
        first = at.astimezone(ZoneInfo(self.of.zone)).date() - _DAY
        for opens, closes in (span for number in range(_DAYS_LOOKED_AT) for span in self._day(first + number * _DAY)):
            if current is not None and opens <= current[1]:
                current = (current[0], max(current[1], closes))
                continue
            if current is not None and at < current[1]:
                yield current
            current = (opens, closes)
        if current is not None and at < current[1]:
            yield current

    def _day(self, day: date) -> list[tuple[datetime, datetime]]:
        if day in self.of.closed:
            return []
        spans = (
            (self._at(day, one.opens), self._at(day if one.opens < one.closes else day + _DAY, one.closes))
            for one in self.of.hours
            if _WEEK[day.weekday()] in one.days
        )
        return sorted((opens, closes) for opens, closes in spans if opens < closes)

    def _at(self, day: date, clock: str) -> datetime:
        whole = clock == "24:00"
        at = datetime.combine(day + _DAY if whole else day, time() if whole else time.fromisoformat(clock))
        return at.replace(tzinfo=ZoneInfo(self.of.zone)).astimezone(UTC)


@dataclass(frozen=True, slots=True)
class Together:
    """Hours that must all be open."""

    parts: tuple[Hours, ...]

    def opening(self, at: datetime) -> datetime | None:
        """Return when all are open first, from `at` on; nothing when they never are."""
        moment, last = at, at + _DAYS_LOOKED_AT * _DAY
        for _ in range(_MOST_SPANS):
            if moment > last:
                return None
            openings = [part.opening(moment) for part in self.parts]
            known = [one for one in openings if one is not None]
            if len(known) < len(openings):
                return None
            latest = max(known, default=moment)
            if latest == moment:
                return moment
            moment = latest
        return None

    def closing(self, at: datetime) -> datetime:
        """Return when the first of them ends that are open at `at`."""
        return min((part.closing(at) for part in self.parts), default=datetime.max.replace(tzinfo=UTC))

    def spans(self, begins: datetime, ends: datetime) -> Iterator[tuple[datetime, datetime]]:
        """Go through the hours in which all are open between two moments, 2,000 spans at most."""
        at: datetime | None = begins
        for _ in range(_MOST_SPANS):
            at = self.opening(at) if at is not None else None
            if at is None or at >= ends:
                return
            closes = min(self.closing(at), ends)
            yield at, closes
            at = closes

    def after(self, begins: datetime, work: timedelta) -> datetime | None:
        """Return when work is done that begins at `begins`; nothing beyond ten years, or 2,000 spans."""
        for opens, closes in self.spans(begins, begins + _MOST_AHEAD):
            if opens + work <= closes:
                return opens + work
            work -= closes - opens
        return None

    def seconds(self, begins: datetime, ends: datetime) -> float:
        """Return for how long all are open between two moments."""
        return sum((closes - opens).total_seconds() for opens, closes in self.spans(begins, ends))


class Timeline:
    """The open hours from one moment on, each looked up once: questions about them are answered by bisection."""

    def __init__(self, hours: Hours, begins: datetime, ends: datetime) -> None:
        """Look no further than `ends`, and at 2,000 spans at most."""
        self._ends = ends
        self._further = Together((hours,)).spans(begins, ends)
        self._spans = list[tuple[datetime, datetime]]()
        self._opens = list[datetime]()
        self._seconds = [0.0]
        self._whole = False

    @property
    def looked_until(self) -> datetime | None:
        """Up to when was looked; `None` where they never open."""
        return self._spans[-1][1] if len(self._spans) >= _MOST_SPANS else self._ends if self._spans else None

    def spans(self) -> Iterator[tuple[datetime, datetime]]:
        """Go through them."""
        number = 0
        while number < len(self._spans) or self._look():
            yield self._spans[number]
            number += 1

    def is_open(self, moment: datetime) -> bool:
        """Whether they are open at a moment."""
        while (not self._spans or self._spans[-1][1] <= moment) and self._look():
            pass
        number = bisect_right(self._opens, moment)
        return number > 0 and moment < self._spans[number - 1][1]

    def changes(self, begins: datetime, ends: datetime, most: int) -> set[datetime] | None:
        """Return when they open and close between two moments; nothing where that is more often than `most`."""
        self._before(ends)
        first = max(0, bisect_right(self._opens, begins) - 1)
        last = bisect_right(self._opens, ends)
        if 2 * (last - first) > most:
            return None
        return {at for span in self._spans[first:last] for at in span if begins < at < ends}

    def seconds(self, begins: datetime, ends: datetime) -> float:
        """Return for how long they are open between two moments, as far as was looked."""
        return self._before(ends) - self._before(begins) if begins < ends else 0.0

    def _before(self, moment: datetime) -> float:
        """Return for how long they are open up to a moment."""
        while (not self._spans or self._spans[-1][1] < moment) and self._look():
            pass
        number = bisect_right(self._opens, moment)
        if not number:
            return 0.0
        opens, closes = self._spans[number - 1]
        return self._seconds[number - 1] + (min(moment, closes) - opens).total_seconds()

    def _look(self) -> bool:
        """Look for one more; returns whether there is one."""
        span = None if self._whole else next(self._further, None)
        if span is None:
            self._whole = True
            return False
        self._spans.append(span)
        self._opens.append(span[0])
        self._seconds.append(self._seconds[-1] + (span[1] - span[0]).total_seconds())
        return True
