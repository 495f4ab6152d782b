"""Points in time: a day, a clock and a zone become one instant, or a doubt.

Times that a clock change skips or repeats are doubts, and so is everything without a time of day.
"""

from __future__ import annotations

from calendar import monthrange
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import TYPE_CHECKING

from headrace.guardrails.intents.answer import Choice
from headrace.guardrails.intents.draft import Clock, Day, Doubt, Length, When

if TYPE_CHECKING:
    from headrace.guardrails.intents.context import Context

_MIDNIGHT = 24
_HALF = 12
_WEEK = 7
_EVENING, _MORNING = 18, 6


@dataclass(frozen=True, slots=True)
class _Days:
    """The dates that a day may be, seen from a zone's today."""

    context: Context
    today: date

    def ahead(self, day: Day) -> date | Doubt:
        """Give the coming one of a day."""
        return _falling(day, self._ahead(day))

    def _ahead(self, day: Day) -> date | Doubt:  # noqa: PLR0911
        if day.doubt:
            return Doubt(day.doubt)
        if day.exact:
            return day.exact
        if day.offset is not None:
            return self.today + timedelta(days=day.offset)
        if day.weekday is not None:
            return self._coming_weekday(day.weekday, day.which)
        if day.yearless is not None:
            return self._coming_date(*day.yearless)
        if day.monthday is not None:
            return self._coming_monthday(day.monthday)
        return Doubt("a week is not one day: name the day, such as Monday")

    def past(self, day: Day) -> date | Doubt:
        """Give the latest one of a day that is not in the future."""
        if day.weekday is not None:
            return self._latest_weekday(day.weekday, day.which)
        if day.yearless is not None:
            return _falling(day, self._latest_date(*day.yearless))
        if day.monthday is not None:
            if day.monthday <= self.today.day:
                return self.today.replace(day=day.monthday)
            return Doubt("say of which month, such as the 3rd of December")
        return self.ahead(day)

    def _week_start(self) -> date:
        first = 0 if self.context.week_starts == "monday" else 6
        return self.today - timedelta(days=(self.today.weekday() - first) % _WEEK)

    def week(self, count: int) -> tuple[date, date]:
        """Give the first day of a week and of the one after it; 0 is this week."""
        start = self._week_start() + timedelta(days=_WEEK * count)
        return start, start + timedelta(days=_WEEK)

    def _in_this_week(self, weekday: int) -> date:
        start = self._week_start()
        return start + timedelta(days=(weekday - start.weekday()) % _WEEK)

    def _coming_weekday(self, weekday: int, which: str | None) -> date | Doubt:
        here = self._in_this_week(weekday)
        steps = (weekday - self.today.weekday()) % _WEEK
        coming = self.today + timedelta(days=steps)
        if which == "last":
            return Doubt("that day is past: name a day ahead, as YYYY-MM-DD")
        if which == "this":
            return (
                here
                if here >= self.today
                else Doubt("that day of this week is past: say next week, or write the date as YYYY-MM-DD")
            )
        if which == "next":
            if here > self.today:
                return self._either(here, here + timedelta(days=_WEEK))
            return here + timedelta(days=_WEEK)
        if steps == 0:
            return self._either(self.today, self.today + timedelta(days=_WEEK))
        return coming

    def _either(self, first: date, second: date) -> Doubt:
        """Doubt between two days, each of which can be chosen."""
        named = "today" if first == self.today else str(first)
        return Doubt(f"say {named} or {second}", tuple(Choice(str(day), f"{day:%A, %d %B}") for day in (first, second)))

    def _latest_weekday(self, weekday: int, which: str | None) -> date | Doubt:
        here = self._in_this_week(weekday)
        if which == "next":
            return Doubt("that day is not past: name a day before today, as YYYY-MM-DD")
        if which == "this":
            return here if here <= self.today else Doubt("that day is not past: name a day before today, as YYYY-MM-DD")
        latest = self.today - timedelta(days=(self.today.weekday() - weekday) % _WEEK)
        if which == "last":
            if here < self.today:
                return Doubt(f"say {here} or {here - timedelta(days=_WEEK)}")
            return here - timedelta(days=_WEEK)
        if latest == self.today:
            return Doubt(f"say today or {self.today - timedelta(days=_WEEK)}")
        return latest

    def _coming_date(self, month: int, day: int) -> date | Doubt:
        for year in (self.today.year, self.today.year + 1):
            found = _date(year, month, day)
            if found is not None and found >= self.today:
                return found
        return Doubt("say of which year: write the date as YYYY-MM-DD")

    def _latest_date(self, month: int, day: int) -> date | Doubt:
        for year in (self.today.year, self.today.year - 1):
            found = _date(year, month, day)
            if found is not None and found <= self.today:
                return found
        return Doubt("say of which year: write the date as YYYY-MM-DD")

    def _coming_monthday(self, day: int) -> date | Doubt:
        year, month = self.today.year, self.today.month
        if day < self.today.day:
            year, month = (year + 1, 1) if month == 12 else (year, month + 1)  # noqa: PLR2004
        found = _date(year, month, day)
        return (
            Doubt("say of which month, such as the 3rd of December")
            if found is None or day == self.today.day
            else found
        )


def _date(year: int, month: int, day: int) -> date | None:
    if not 1 <= day <= monthrange(year, month)[1]:
        return None
    return date(year, month, day)


def at(day: date, clock: time, zone: tzinfo) -> datetime | Doubt:
    """Put a wall clock time into a zone, unless a clock change skips or repeats it."""
    moment = datetime.combine(day, clock, zone)
    back = moment.astimezone(UTC).astimezone(zone)
    if back.replace(tzinfo=None) != moment.replace(tzinfo=None):
        return Doubt(f"{day} {clock:%H:%M} does not exist, because the clocks go forward over it: choose another time")
    if moment.utcoffset() != moment.replace(fold=1).utcoffset():
        return Doubt(
            f"{day} {clock:%H:%M} happens twice, because the clocks go back over it: write its offset from UTC"
        )
    return moment


def _zone_of(when: When, context: Context) -> tzinfo | Doubt:
    if when.zone is None or (when.zone.tz is None and when.zone.doubt is None):
        return context.zone
    return Doubt(when.zone.doubt or "") if when.zone.tz is None else when.zone.tz


def _moved(length: Length, context: Context, sign: int) -> datetime | Doubt:
    """Go a length of time from now: hours exactly, days by the wall clock."""
    if length.doubt:
        return Doubt(length.doubt)
    if length.exact is not None:
        return (context.now + sign * length.exact).astimezone(context.zone)
    local = context.now.astimezone(context.zone)
    there = local.date() + timedelta(days=sign * length.days)
    return at(there, local.time(), context.zone)


def _clock_time(clock: Clock) -> time:
    return time(clock.hour % _MIDNIGHT, clock.minute, clock.second)


def coming(when: When, context: Context) -> datetime | Doubt:  # noqa: PLR0911
    """Give the instant ahead that the words mean (a start or a deadline)."""
    if when.doubt:
        return Doubt(when.doubt)
    if when.ahead is not None:
        if when.ahead.exact is None and not when.ahead.doubt:
            return Doubt(f"`{when.words}` has no time of day: add one, such as 14:30")
        return _moved(when.ahead, context, 1)
    if when.ago is not None:
        return Doubt(f"`{when.words}` is past: name a time ahead")
    if when.clock is None:
        return Doubt(f"`{when.words}` has no time of day: add one, such as 14:30")
    if when.clock.doubt:
        return Doubt(when.clock.doubt, _halves(when, context))
    zone = _zone_of(when, context)
    if isinstance(zone, Doubt):
        return zone
    moment = _on_day(when, when.clock, context, zone)
    if isinstance(moment, datetime) and moment <= context.now:
        return Doubt(f"{moment:%Y-%m-%d %H:%M} is past: name a time ahead")
    return moment


def _halves(when: When, context: Context) -> tuple[Choice, ...]:
    """Give both readings of an hour that may be morning or evening."""
    clock = when.clock
    if clock is None or not clock.bare or when.part is not None or when.zone is not None:
        return ()
    early = replace(clock, hour=clock.hour % _HALF, bare=False, doubt=None)
    moments = [coming(replace(when, clock=replace(early, hour=early.hour + add)), context) for add in (0, _HALF)]
    certain = sorted(moment for moment in moments if isinstance(moment, datetime))
    return tuple(Choice(f"{moment:%Y-%m-%d %H:%M}", f"{moment:%A at %H:%M}") for moment in certain)


def _on_day(when: When, clock: Clock, context: Context, zone: tzinfo) -> datetime | Doubt:
    now = context.now.astimezone(zone)
    if when.day is None:
        moment = at(now.date(), _clock_time(clock), zone)
        if isinstance(moment, Doubt) or moment > context.now:
            return moment
        return at(now.date() + timedelta(days=1), _clock_time(clock), zone)
    if clock.hour == _MIDNIGHT:
        if when.day.offset != 0:
            return Doubt(f"`{when.words}` can be the night before or after: write 00:00 and the day")
        return at(now.date() + timedelta(days=1), time(0), zone)
    day = _Days(context, now.date()).ahead(when.day)
    here = _Days(context, context.now.astimezone(context.zone).date()).ahead(when.day)
    if _depends_on_today(when.day) and day != here:
        return Doubt(f"`{when.words}`: it is another day there already, so write the date")
    return _with_clock(day, when, clock) if isinstance(day, Doubt) else at(day, _clock_time(clock), zone)


def _with_clock(doubt: Doubt, when: When, clock: Clock) -> Doubt:
    """Give each day that can be chosen its time of day; one with a zone of its own is written out by the person."""
    if when.zone is not None:
        return replace(doubt, choices=())
    at_time = f"{_clock_time(clock):%H:%M}"
    return replace(doubt, choices=tuple(replace(one, value=f"{one.value} {at_time}") for one in doubt.choices))


def _falling(day: Day, found: date | Doubt) -> date | Doubt:
    """Doubt a date that does not fall on the weekday beside it."""
    if isinstance(found, Doubt) or day.falls_on in (None, found.weekday()):
        return found
    return Doubt(f"{found:%d %B %Y} is a {found:%A}: say which day it is")


def _depends_on_today(day: Day) -> bool:
    return day.exact is None and day.yearless is None


def within(length: Length, context: Context) -> datetime | Doubt:
    """Give the instant that ends a length of time from now ("within 2 days")."""
    return _moved(length, context, 1)


def since(when: When, context: Context) -> datetime | Doubt:
    """Give the instant behind that the words mean; a day without a clock starts at midnight."""
    if when.doubt or (when.clock and when.clock.doubt):
        return Doubt(when.doubt or (when.clock.doubt if when.clock and when.clock.doubt else ""))
    if when.ago is not None:
        return _moved(when.ago, context, -1)
    if when.ahead is not None:
        return Doubt(f"`{when.words}` is not past: name a time before now")
    zone = _zone_of(when, context)
    if isinstance(zone, Doubt):
        return zone
    moment = _behind(when, context, zone)
    if isinstance(moment, datetime) and moment > context.now:
        return Doubt(f"{moment:%Y-%m-%d %H:%M} is not past: name a time before now")
    return moment


def _behind(when: When, context: Context, zone: tzinfo) -> datetime | Doubt:  # noqa: PLR0911
    today = context.now.astimezone(zone).date()
    days = _Days(context, today)
    if when.part is not None and when.clock is None:
        return Doubt(f"`{when.words}` has no time of day: add one, such as 14:30")
    clock = _clock_time(when.clock) if when.clock else time(0)
    if when.clock and when.clock.hour == _MIDNIGHT and when.day is not None:
        return Doubt(f"`{when.words}` can be the night before or after: write 00:00 and the day")
    if when.day is None:
        moment = at(today, clock, zone)
        if isinstance(moment, Doubt) or moment <= context.now:
            return moment
        return at(today - timedelta(days=1), clock, zone)
    if when.day.week is not None:
        if when.day.week != 0:
            return Doubt(
                f"`{when.words}` can be a calendar week or seven days: write the first day of it, as YYYY-MM-DD"
            )
        return at(days.week(0)[0], clock, zone)
    day = days.past(when.day)
    return day if isinstance(day, Doubt) else at(day, clock, zone)


def span_of(when: When, context: Context) -> tuple[datetime | Doubt, datetime | Doubt]:  # noqa: PLR0911
    """Give the start and end of a day in the past, or of last night (18:00 to 06:00)."""
    whole = Doubt(f"`{when.words}` is not one day: write the day, as YYYY-MM-DD, or an age, such as newer than 7 days")
    if when.doubt or when.ago or when.ahead or when.day is None or when.clock is not None:
        return (Doubt(when.doubt), Doubt(when.doubt)) if when.doubt else (whole, whole)
    zone = context.zone
    today = context.now.astimezone(zone).date()
    if when.part is not None:
        if (when.day.offset, when.part) != (-1, "night"):
            return whole, whole
        yesterday = today - timedelta(days=1)
        return at(yesterday, time(_EVENING), zone), at(today, time(_MORNING), zone)
    if when.day.week is not None:
        return whole, whole
    day = _Days(context, today).past(when.day)
    if isinstance(day, Doubt):
        return day, day
    if day > today:
        ahead = Doubt(f"{day} is not past: name a day before today")
        return ahead, ahead
    end = at(day + timedelta(days=1), time(0), zone)
    if day == today:
        end = Doubt("say whether files that change until the transfer runs belong to it")
    return at(day, time(0), zone), end
