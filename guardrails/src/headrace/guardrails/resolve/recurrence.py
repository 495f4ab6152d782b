"""Hours and repetitions: two clock times, an RRULE."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from headrace.guardrails.intents.draft import Doubt, Hours, Repeat, When

if TYPE_CHECKING:
    from headrace.guardrails.intents.draft import Clock

RRULE_DAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")

_MIDNIGHT = 24
_FREQUENCIES = "MINUTELY|HOURLY|DAILY|WEEKLY|MONTHLY|YEARLY"
_PARTS = {
    "FREQ": re.compile(_FREQUENCIES),
    "INTERVAL": re.compile(r"[1-9]\d{0,2}"),
    "BYHOUR": re.compile(r"(?:1?\d|2[0-3])(?:,(?:1?\d|2[0-3]))*"),
    "BYMINUTE": re.compile(r"[1-5]?\d(?:,[1-5]?\d)*"),
    "BYSECOND": re.compile(r"0"),
    "BYDAY": re.compile(r"(?:-?[1-4])?(?:MO|TU|WE|TH|FR|SA|SU)(?:,(?:-?[1-4])?(?:MO|TU|WE|TH|FR|SA|SU))*"),
    "BYMONTHDAY": re.compile(r"(?:-1|[1-9]|[12]\d|3[01])(?:,(?:-1|[1-9]|[12]\d|3[01]))*"),
    "WKST": re.compile(r"MO|SU"),
}
_NEEDS_CLOCK = frozenset({"DAILY", "WEEKLY", "MONTHLY", "YEARLY"})
_FITS = {"morning": range(12), "afternoon": range(12, 19), "evening": range(16, 24)}


def check_rrule(rule: str) -> str | Doubt:
    """Check an RRULE part by part; COUNT, UNTIL and the rarer parts are not planned."""
    seen: set[str] = set()
    for part in rule.upper().removeprefix("RRULE:").split(";"):
        name, _, value = part.partition("=")
        pattern = _PARTS.get(name)
        if pattern is None or name in seen or pattern.fullmatch(value) is None:
            return Doubt(f"`{part}` is not a part of a repetition that can be planned")
        seen.add(name)
    if "FREQ" not in seen:
        return Doubt("a repetition needs FREQ")
    frequency = next(part[5:] for part in rule.upper().removeprefix("RRULE:").split(";") if part.startswith("FREQ="))
    if frequency in _NEEDS_CLOCK and "BYHOUR" not in seen:
        return Doubt("say at what time of day")
    return rule.upper().removeprefix("RRULE:")


def resolve_repeat(repeat: Repeat, clock: When | None) -> str | Doubt:  # noqa: C901, PLR0911, PLR0912
    """Give the RRULE; `clock` is a time of day named elsewhere in the sentence."""
    if repeat.doubt:
        return Doubt(f"`{repeat.words}`: {repeat.doubt}")
    if repeat.rule is not None:
        return check_rrule(repeat.rule)
    parts = [f"FREQ={repeat.freq}"]
    if repeat.interval > 1:
        parts.append(f"INTERVAL={repeat.interval}")
    days = repeat.days
    if repeat.times > 1:
        several = _by_clocks(repeat)
        return several if isinstance(several, Doubt) else ";".join([*parts, *several])
    when = repeat.clock or clock
    if when is not None:
        problem = _clock_problem(when, repeat)
        if problem:
            return Doubt(f"`{repeat.words}`: {problem}")
    if repeat.freq in ("WEEKLY", "MONTHLY") and not days and not repeat.monthdays:
        return Doubt(f"`{repeat.words}`: say on which day")
    if days:
        parts.append(f"BYDAY={','.join(days)}")
    if repeat.monthdays:
        parts.append(f"BYMONTHDAY={','.join(str(day) for day in repeat.monthdays)}")
    if repeat.freq == "YEARLY":
        return Doubt(f"`{repeat.words}`: yearly repetitions are not planned")
    if repeat.freq in _NEEDS_CLOCK:
        if when is None or when.clock is None:
            return Doubt(f"`{repeat.words}`: say at what time of day")
        parts += _by_clock(when.clock)
    elif when is not None:
        return Doubt(f"`{repeat.words}`: it has a time of day, too")
    return ";".join(parts)


def _by_clocks(repeat: Repeat) -> list[str] | Doubt:
    """Give the hours of "twice a day, at 06:00 and 18:00": as many as said, at the same minute."""
    problems = [problem for when in repeat.clocks if (problem := _clock_problem(when, repeat))]
    if problems:
        return Doubt(f"`{repeat.words}`: {problems[0]}")
    clocks = {(when.clock.hour % _MIDNIGHT, when.clock.minute) for when in repeat.clocks if when.clock}
    minutes = {minute for _, minute in clocks}
    if len(clocks) != repeat.times or len(minutes) != 1:
        return Doubt(f"`{repeat.words}`: say {repeat.times} times of day, at the same minute of the hour")
    hours = ",".join(str(hour) for hour, _ in sorted(clocks))
    return [f"BYHOUR={hours}", f"BYMINUTE={minutes.pop()}"]


def _by_clock(clock: Clock) -> list[str]:
    return [f"BYHOUR={clock.hour % _MIDNIGHT}", f"BYMINUTE={clock.minute}"]


def _clock_problem(when: When, repeat: Repeat) -> str | None:  # noqa: PLR0911
    if when.doubt or when.ahead or when.ago:
        return "its time of day is not exact"
    if when.clock is None:
        return "say at what time of day"
    if when.clock.doubt or when.clock.second:
        return when.clock.doubt or "its time of day has seconds"
    if when.zone is not None and (when.zone.tz is not None or when.zone.doubt):
        return "repetitions follow the local clock: leave the time zone out"
    if when.day is not None:
        return "it names a single day, too"
    fits = _FITS.get(repeat.part or "")
    if fits is not None and when.clock.hour not in fits:
        return "its time of day does not fit"
    return None


def resolve_hours(hours: Hours) -> tuple[str, str] | Doubt:
    """Give the two clock times of a window as HH:MM."""
    clocks = []
    # "between 22:00 and 5:00": one end that only a 24-hour clock has settles the other.
    on_24_hours = any(
        when.clock is not None and when.clock.hour > 12 and not when.clock.half  # noqa: PLR2004
        for when in (hours.opens, hours.closes)
    )
    for when in (hours.opens, hours.closes):
        clock = when.clock
        if when.doubt or clock is None or when.day or when.ahead or when.ago or clock.second:
            return Doubt(f"`{hours.words}`: say the hours as two clock times")
        if when.zone is not None and (when.zone.tz is not None or when.zone.doubt):
            return Doubt(f"`{hours.words}`: hours follow the local clock, leave the time zone out")
        if clock.doubt and not (clock.bare and on_24_hours):
            return Doubt(f"`{hours.words}`: {clock.doubt}")
        clocks.append(f"{clock.hour % _MIDNIGHT:02}:{clock.minute:02}")
    if clocks[0] == clocks[1]:
        return Doubt(f"`{hours.words}`: it opens and closes at the same time")
    return clocks[0], clocks[1]


def with_day(repeat: Repeat, when: When | None) -> Repeat:
    """Add a time to a repetition: "weekly" takes a weekday, "monthly" a day of the month."""
    if when is None:
        return repeat
    day = when.day
    if day is None:
        return replace(repeat, clock=when)
    clock = replace(when, day=None) if when.clock is not None else None
    plain = not (day.which or day.doubt or when.doubt)
    if plain and repeat.freq == "WEEKLY" and day.weekday is not None:
        return replace(repeat, days=(RRULE_DAYS[day.weekday],), clock=clock)
    if plain and repeat.freq == "MONTHLY" and day.monthday is not None:
        return replace(repeat, monthdays=(day.monthday,), clock=clock)
    return replace(repeat, doubt="its days can't be made out")


def days_between(first: int, last: int) -> tuple[str, ...]:
    """Give the days from one weekday to another: from Saturday to Monday are three."""
    return tuple(RRULE_DAYS[(first + day) % 7] for day in range((last - first) % 7 + 1))


def repeat_on(words: str, whens: list[When], interval: int = 1) -> Repeat:
    """Make the weekly (or monthly) repetition of some days."""
    weekdays = [when.day.weekday for when in whens if when.day and when.day.weekday is not None]
    monthdays = [when.day.monthday for when in whens if when.day and when.day.monthday is not None]
    clocks = [when for when in whens if when.clock is not None]
    clock = replace(clocks[-1], day=None) if clocks else None
    doubt = None if len(clocks) <= 1 else "it has more than one time of day"
    strange = any(
        when.doubt or (when.day and (when.day.which or when.day.doubt)) or (when.part and when.clock is None)
        for when in whens
    )
    if strange or len(weekdays) + len(monthdays) < len([when for when in whens if when.day or not when.clock]) - (
        0 if weekdays or monthdays else 1
    ):
        doubt = "its days can't be made out"
    if monthdays and not weekdays:
        return Repeat(words, "MONTHLY", interval, monthdays=tuple(monthdays), clock=clock, doubt=doubt)
    if monthdays:
        doubt = "it mixes days of the week and of the month"
    if not weekdays and len(whens) == 1:
        # "Every three days from now": a day that there is once says no repetition.
        doubt = "its days can't be made out" if whens[0].day else doubt
        return Repeat(words, "DAILY", interval, clock=clock, doubt=doubt)
    codes = tuple(RRULE_DAYS[day] for day in sorted(set(weekdays)))
    return Repeat(words, "WEEKLY", interval, codes, clock=clock, doubt=doubt)
