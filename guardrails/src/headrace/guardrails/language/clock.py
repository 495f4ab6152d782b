"""Points in time: days, clock times, zones, and their combinations in any order."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from headrace.guardrails.intents.draft import Clock, Day, When
from headrace.guardrails.language.days import day_at, goes_on_behind_a_stop
from headrace.guardrails.language.lengths import length_at
from headrace.guardrails.language.phrases import listed, phrase_at, table, text_of, word_at
from headrace.guardrails.language.zones import zone_at, zone_of_suffix

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.guardrails.language.phrases import Item

_NOON, _MIDNIGHT, _HOUR = 12, 24, 60
_TIME = re.compile(
    r"(?P<hour>\d{1,2})(?::(?P<minute>\d{2})(?::(?P<second>\d{2})(?:\.\d{1,9})?)?)?"
    r"(?P<half>am|pm|a\.m\.?|p\.m\.?)?(?P<zone>z|[+-]\d{2}:?\d{2})?",
    re.ASCII | re.IGNORECASE,
)
_MOMENT = re.compile(r"(\d{4}-\d{2}-\d{2})[T_](\d{2}:\d{2}.*)", re.ASCII | re.IGNORECASE)
_MILITARY = re.compile(r"(0\d)([0-5]\d)", re.ASCII)
_WITH_AN_H = re.compile(r"(\d{1,2})h([0-5]\d)", re.ASCII | re.IGNORECASE)
_DOTTED = re.compile(r"\d{1,2}\.\d{2}(am|pm)?", re.ASCII | re.IGNORECASE)
# Which hours of a 12-hour clock a part of the day settles, what to add to them, and which of 24 fit it.
_PARTS = {
    "morning": (range(1, 12), 0, range(12)),
    "afternoon": (range(1, 7), 12, range(12, 19)),
    "evening": (range(4, 12), 12, range(16, 24)),
    "night": (range(7, 12), 12, range(18, 24)),
}


def when_at(items: Sequence[Item], at: int) -> tuple[int, When] | None:
    """Read a point in time that starts here."""
    if whole := _end_of_day(items, at, at) or _relative(items, at):
        return whole
    width, found = _grown(items, at, at, When(""))
    if not width:
        return None
    return _end_of_day(items, at, at + width) or (width, found)


def _grown(items: Sequence[Item], at: int, end: int, found: When) -> tuple[int, When]:
    """Add every part of a point in time that follows `end`: how many items it takes from `at`, and the time."""
    while (step := _grow(items, end, found)) is not None:
        end, found = step
    # The stop of "10 p.m. and 5 a.m." ends no sentence.
    end += end > at and goes_on_behind_a_stop(items, end) and word_at(items, end + 1) in listed("behind_a_stop")
    return end - at, settled(replace(found, words=text_of(items, at, end)))


def _end_of_day(items: Sequence[Item], at: int, begins: int) -> tuple[int, When] | None:
    """Read "end of day" with the days beside it; it has no time of day."""
    width = phrase_at(items, begins, "end_of_day")[0]
    joins = phrase_at(items, begins + width, "joins_days" if width else "end_of")[0]
    day = day_at(items, begins + width + joins)
    if not width and (day is None or not joins):
        return None
    end = begins + width + (joins + day[0] if day else 0)
    words = text_of(items, at, end)
    return end - at, When(words, doubt=f"`{words}` has no one time of day")


def _relative(items: Sequence[Item], at: int) -> tuple[int, When] | None:
    if (length := length_at(items, at)) is None:
        return None
    end = at + length[0]
    ago, ahead = (phrase_at(items, end, one)[0] for one in ("since_then", "from_now"))
    if days := _days_away(items, at):
        # A time of day beside it makes it a moment of that day: "three days from now at 06:00".
        moment = _grown(items, at, at + days[0], When("", day=days[1]))
        if moment[1].clock or moment[1].part or not (ago or ahead):
            return moment
    words = text_of(items, at, end + ago + ahead)
    when = When(words, ago=length[1]) if ago else When(words, ahead=length[1])
    return (end + ago + ahead - at, when) if ago or ahead else None


def _days_away(items: Sequence[Item], at: int) -> tuple[int, Day] | None:
    """Read a day by how far it is away: "three days from now", "two weeks ago", "a week from tomorrow"."""
    if at >= len(items) or (found := length_at(items, at)) is None or found[1].exact is not None:
        return None
    end, length = at + found[0], found[1]
    ago, ahead = (phrase_at(items, end, one)[0] for one in ("since_then", "from_now"))
    joins = 0 if ago or ahead else phrase_at(items, end, "from_a_day")[0]
    day = day_at(items, end + joins) if joins else None
    if not ago and not ahead and day is None:
        return None
    end += ago + ahead + (joins + day[0] if day else 0)
    if length.doubt:
        return end - at, Day(doubt=length.doubt)
    if day and day[1].offset is None:
        return end - at, Day(doubt=f"`{text_of(items, at, end)}`: write the date, as YYYY-MM-DD")
    offset = day[1].offset or 0 if day else 0
    return end - at, Day(offset=offset - length.days if ago else offset + length.days)


def _grow(items: Sequence[Item], at: int, found: When) -> tuple[int, When] | None:
    """Add the next part, after at most one joining word, if it is of a kind not seen yet."""
    at += found != When("") and goes_on_behind_a_stop(items, at)
    joins = phrase_at(items, at, "joins_times")[0] if found != When("") else 0
    return _part(items, at, found) or (_part(items, at + joins, found) if joins else None)


def _part(items: Sequence[Item], at: int, found: When) -> tuple[int, When] | None:  # noqa: PLR0911
    if at >= len(items):
        return None
    if found == When("") and (moment := _MOMENT.fullmatch(word_at(items, at))):
        return _moment(items, at, moment)
    if found.part is None and (part := _part_of_day(items, at, found)):
        return part
    if found.clock is None and (clock := clock_at(items, at, found.part)):
        zone = zone_of_suffix(clock[2]) if clock[2] else found.zone
        return at + clock[0], replace(found, clock=clock[1], zone=zone)
    if found.day is None and (day := day_at(items, at) or (_days_away(items, at) if found.clock else None)):
        return at + day[0], replace(found, day=day[1])
    # A zone belongs to a clock time; a word such as "local" means nothing on its own.
    opens = items[at].symbol == "<open>"
    if found.clock is not None and found.zone is None and (zoned := zone_at(items, at + opens)):
        end = at + opens + zoned[0]
        closes = items[end : end + 1] and items[end].symbol == "<close>"
        return (end + opens, replace(found, zone=zoned[1])) if closes or not opens else None
    return None


def _moment(items: Sequence[Item], at: int, moment: re.Match[str]) -> tuple[int, When] | None:
    """Read an ISO moment written as one word."""
    day, clock = (replace(items[at], text=text.upper(), symbol=text) for text in moment.groups())
    found_day, found_clock = day_at((day,), 0), clock_at((clock,), 0)
    if found_day is None or found_clock is None:
        return at + 1, When("", doubt=f"`{items[at].text}` is not a time of day")
    zone = zone_of_suffix(found_clock[2]) if found_clock[2] else None
    return at + 1, When("", day=found_day[1], clock=found_clock[1], zone=zone)


def _part_of_day(items: Sequence[Item], at: int, found: When) -> tuple[int, When] | None:
    width, said = phrase_at(items, at, "day_and_part")
    if width and found.day is None:
        offset, _, part = said.partition("/")
        return at + width, replace(found, day=Day(offset=int(offset)), part=part)
    groups = (("day_part", found.day), ("part_behind", found.clock))
    for width, part in (phrase_at(items, at, group) for group, needed in groups if needed is not None):
        if width:
            return at + width, replace(found, part=part)
    return None


def clock_at(items: Sequence[Item], at: int, part: str | None = None) -> tuple[int, Clock, str] | None:
    """Read a clock time: how many items, the time, and a zone that clings to it ("02:00Z")."""
    width, hour = phrase_at(items, at, "named_hour")
    if width:
        return width, Clock(int(hour)), ""
    text = items[at].text if items[at].value is None else ""
    if match := _MILITARY.fullmatch(text):
        return 1, _checked(int(match[1]), int(match[2]), 0), ""
    half = phrase_at(items, at + 1, "half")[0]
    if match := _WITH_AN_H.fullmatch(text):
        return 1, _checked(int(match[1]), int(match[2]), 0), ""
    if _DOTTED.fullmatch(text) and (text[-1] in "mM" or half):
        return 1 if text[-1] in "mM" else 1 + half, Clock(0, doubt=f"`{text}` is not written as hours:minutes"), ""
    match = _TIME.fullmatch(text)
    return _digital(match, items, at, part) if match else _spoken(items, at)


def _spoken(items: Sequence[Item], at: int) -> tuple[int, Clock, str] | None:
    """Read "half past seven", "a quarter to 9 pm", "ten thirty pm"; without "am" or "pm" it is a bare hour."""
    width, said = phrase_at(items, at, "minutes")
    link, told = word_at(items, at + width) if width else "", False
    if (way := table("minutes_of").get(link)) and (said, way) != ("30", "to"):
        told = way == "past" or said == "15"
        hour, minute = _hour(items, at + width + 1), int(said) if way == "past" else -int(said)
        width += 2
    else:
        hour, (more, said) = _hour(items, at), phrase_at(items, at + 1, "minutes")
        minute = int(said) if more and word_at(items, at + 1) in table("number") else 0
        width = 2 if minute else 1
    if hour is None:
        return None
    hour, minute = (hour, minute) if minute >= 0 else ((hour - 2) % _NOON + 1, _HOUR + minute)
    half, which = phrase_at(items, at + width, "half")
    if half:
        return width + half, _twelve_hour(hour, minute, 0, which, ""), ""
    if oclock := phrase_at(items, at + width, "oclock")[0]:
        return width + oclock, Clock(hour, bare=True), ""
    told = told or (not minute and _is_in_a_part(items, at + width))
    # "five to ten" may be an amount.
    return (width, Clock(hour, minute, bare=True), "") if told else None


def _is_in_a_part(items: Sequence[Item], at: int) -> bool:
    """Say whether a part of a day follows, which makes a number an hour: "four in the morning", "six tonight"."""
    day = day_at(items, at)
    return any(phrase_at(items, at, group)[0] for group in ("part_behind", "day_and_part")) or bool(
        day is not None and phrase_at(items, at + day[0], "day_part")[0]
    )


def _hour(items: Sequence[Item], at: int) -> int | None:
    word = word_at(items, at)
    hour = int(table("number").get(word, word if word.isdecimal() else 0))
    return hour if 1 <= hour <= _NOON else None


def _digital(match: re.Match[str], items: Sequence[Item], at: int, part: str | None) -> tuple[int, Clock, str] | None:
    hour, minute, second = (int(match[name] or 0) for name in ("hour", "minute", "second"))
    zone, (half, which) = match["zone"] or "", phrase_at(items, at + 1, "half")
    if match["half"]:
        half, which = 0, table("half")[match["half"].lower()]
    if which:
        return 1 + half, _twelve_hour(hour, minute, second, which, match[0]), zone
    oclock = phrase_at(items, at + 1, "oclock")[0]
    if match["minute"] is None:
        settled = part is not None or _is_in_a_part(items, at + 1)
        whole = replace(_checked(hour, 0, 0), bare=hour <= _NOON)
        return (1 + oclock, whole, "") if settled or oclock else None
    clock = _checked(hour, minute, second)
    if len(match["hour"]) == 1 and 1 <= hour <= _NOON and not zone:
        clock = replace(clock, bare=True, dated=not oclock)
    return 1 + phrase_at(items, at + 1, "hours_behind")[0], clock, zone


def _checked(hour: int, minute: int, second: int) -> Clock:
    if hour >= _MIDNIGHT or max(minute, second) >= _HOUR:
        return Clock(0, doubt=f"`{hour}:{minute:02}` is not a time of day")
    return Clock(hour, minute, second)


def _twelve_hour(hour: int, minute: int, second: int, half: str, text: str) -> Clock:
    if not 1 <= hour <= _NOON or max(minute, second) >= _HOUR:
        return Clock(0, doubt=f"`{text}` is not a time of day")
    return Clock(hour % _NOON + (_NOON if half == "pm" else 0), minute, second, half=True)


def settled(when: When) -> When:
    """Settle a bare hour by the part of the day; doubt what still has two readings."""
    clock = when.clock
    if clock is None or clock.doubt:
        return when
    if when.part is not None:
        hours, add, fits = _PARTS[when.part]
        if clock.bare and clock.hour in hours:
            return replace(when, clock=replace(clock, hour=clock.hour + add, bare=False))
        if clock.bare or (clock.hour not in fits and clock.hour != _MIDNIGHT):
            return replace(when, clock=replace(clock, doubt=f"`{when.words}` has more than one reading"))
    elif clock.bare and clock.dated and when.day is not None and when.day.offset != 0:
        # People write 9:00 as they write 10:00. Today, nine in the evening may be the only one that is left.
        return replace(when, clock=replace(clock, bare=False))
    elif clock.bare:
        return replace(when, clock=replace(clock, doubt=f"`{when.words}` can be morning or evening"))
    return when
