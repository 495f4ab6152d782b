"""Points in time: days, clock times, zones, and their combinations in any order."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from headrace.guardrails.intents.draft import Clock, Day, When
from headrace.guardrails.language.days import WEEKDAYS, day_at, split_moment, word_at
from headrace.guardrails.language.lengths import length_at
from headrace.guardrails.language.numbers import WORDS
from headrace.guardrails.language.zones import zone_at, zone_of_suffix

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.guardrails.language.phrases import Item

_NOON = 12
_MIDNIGHT = 24
_TIME = re.compile(
    r"(?P<hour>\d{1,2})(?::(?P<minute>\d{2})(?::(?P<second>\d{2})(?:\.\d{1,9})?)?)?"
    r"(?P<half>am|pm|a\.m\.?|p\.m\.?)?(?P<zone>z|[+-]\d{2}:?\d{2})?",
    re.ASCII | re.IGNORECASE,
)
_MILITARY = re.compile(r"0\d[0-5]\d", re.ASCII)
_DOTTED = re.compile(r"\d{1,2}\.\d{2}(am|pm)?", re.ASCII | re.IGNORECASE)
_BARE = re.compile(r"\d{1,2}", re.ASCII)
_HALVES = {"am": "am", "a.m": "am", "a.m.": "am", "pm": "pm", "p.m": "pm", "p.m.": "pm"}
# Which hours of a 12-hour clock a part of the day settles, and what to add to them.
_PARTS = {
    "morning": (range(1, 12), 0),
    "afternoon": (range(1, 7), 12),
    "evening": (range(4, 12), 12),
    "night": (range(7, 12), 12),
}
_FITS = {
    "morning": range(12),
    "afternoon": range(12, 19),
    "evening": range(16, 24),
    "night": range(18, 24),
}
_MINUTES = {
    **{word: value for word, value in WORDS.items() if value in (5, 10, 20, 25, 15, 30, 40, 45, 50)},
    "quarter": 15,
    "half": 30,
}
_HOURS = {word: value for word, value in WORDS.items() if value <= _NOON}
_DAYS_BEFORE_PART = frozenset({"today", "tomorrow", "yesterday", "this", *WEEKDAYS})
_JOINERS = ({"at"}, {"on"}, {"of"}, {",", "at"}, {","}, {"the"})
_ENDS = (
    ("end", "of", "the", "day"),
    ("end", "of", "the", "week"),
    ("end", "of", "the", "month"),
    ("end", "of", "the", "year"),
    ("end", "of", "day"),
    ("end", "of", "week"),
    ("end", "of", "month"),
    ("end", "of", "business"),
    ("close", "of", "business"),
    ("start", "of", "business"),
    ("eod",),
    ("cob",),
    ("eow",),
)
CLOCK_WORDS = frozenset(
    ["am", "pm", "noon", "midday", "midnight", "morning", "afternoon", "evening", "night", "tonight"]
    + ["ago", "from", "now", "o'clock", "oclock", "this", "last"]
    + [word for phrase in _ENDS for word in phrase]
)  # fmt: skip


def when_at(items: Sequence[Item], at: int) -> tuple[int, When] | None:
    """Read a point in time that starts here."""
    for phrase in _ENDS:
        if [word_at(items, at + step) for step in range(len(phrase))] == list(phrase):
            return _end_of_day(items, at, at + len(phrase))
    if relative := _relative(items, at):
        return relative
    first = at + (1 if word_at(items, at) == "the" else 0)
    if [word_at(items, first), word_at(items, first + 1)] == ["end", "of"] and (day := _day_here(items, first + 2)):
        return _end_of_day(items, at, first + 2 + day)
    found = When("")
    end = at
    while (step := _grow(items, end, found)) is not None:
        end, found = step
    if found == When(""):
        return None
    for phrase in _ENDS:
        if [word_at(items, end + step) for step in range(len(phrase))] == list(phrase):
            return _end_of_day(items, at, end + len(phrase))
    return end - at, _settled(replace(found, words=_words(items, at, end)))


def _end_of_day(items: Sequence[Item], at: int, end: int) -> tuple[int, When]:
    """Read "end of day" with the day that may follow it; it has no time of day."""
    step = end + (1 if word_at(items, end) in ("on", "of", ",") else 0)
    if step < len(items) and (day := day_at(items, step)):
        end = step + day[0]
    words = _words(items, at, end)
    return end - at, When(words, doubt=f"`{words}` has no one time of day")


def _day_here(items: Sequence[Item], at: int) -> int:
    """Say how many items a day takes that stands here; none is 0."""
    day = day_at(items, at) if at < len(items) else None
    return day[0] if day else 0


def _relative(items: Sequence[Item], at: int) -> tuple[int, When] | None:
    length = length_at(items, at)
    if length is None:
        return None
    end = at + length[0]
    if word_at(items, end) == "ago":
        return length[0] + 1, When(_words(items, at, end + 1), ago=length[1])
    if word_at(items, end) == "from" and word_at(items, end + 1) == "now":
        return length[0] + 2, When(_words(items, at, end + 2), ahead=length[1])
    return None


def _grow(items: Sequence[Item], at: int, found: When) -> tuple[int, When] | None:
    """Add the next part, after at most one joining word, if it is of a kind not seen yet."""
    step = _part(items, at, found)
    if step is not None or found == When(""):
        return step
    for joiners in _JOINERS:
        width = len(joiners)
        if {word_at(items, at + offset) for offset in range(width)} == joiners:
            step = _part(items, at + width, found)
            if step is not None:
                return step
    return None


def _part(items: Sequence[Item], at: int, found: When) -> tuple[int, When] | None:  # noqa: PLR0911
    if at >= len(items):
        return None
    if found == When("") and (moment := split_moment(word_at(items, at).upper())):
        return _moment(items, at, moment)
    if found.part is None and (part := _part_of_day(items, at, found)):
        return part
    if found.clock is None and (clock := clock_at(items, at, found.part)):
        width, reading, zone_text = clock
        if zone_text:
            grown = replace(found, clock=reading, zone=zone_of_suffix(zone_text))
        else:
            grown = replace(found, clock=reading)
        return at + width, grown
    if found.day is None and (day := day_at(items, at)):
        return at + day[0], replace(found, day=day[1])
    # A zone belongs to a clock time; a word such as "local" means nothing on its own.
    if found.clock is not None and found.zone is None and (zone := zone_at(items, at)):
        return at + zone[0], replace(found, zone=zone[1])
    return None


def _moment(items: Sequence[Item], at: int, moment: tuple[str, str]) -> tuple[int, When] | None:
    """Read an ISO moment written as one word."""
    day, clock = (replace(items[at], text=text, symbol=text.lower()) for text in moment)
    found_day, found_clock = day_at((day,), 0), clock_at((clock,), 0)
    if found_day is None or found_clock is None:
        return at + 1, When("", doubt=f"`{items[at].text}` is no time of day")
    zone = zone_of_suffix(found_clock[2]) if found_clock[2] else None
    return at + 1, When("", day=found_day[1], clock=found_clock[1], zone=zone)


def _part_of_day(items: Sequence[Item], at: int, found: When) -> tuple[int, When] | None:  # noqa: PLR0911
    word, following = word_at(items, at), word_at(items, at + 1)
    if found.day is None and word == "tonight":
        return at + 1, replace(found, day=Day(offset=0), part="night")
    if found.day is None and word == "last" and following == "night":
        return at + 2, replace(found, day=Day(offset=-1), part="night")
    if found.day is None and word == "this" and following in _PARTS:
        return at + 2, replace(found, day=Day(offset=0), part=following)
    if found.day is not None and word in _PARTS:
        return at + 1, replace(found, part=word)
    if found.clock is not None and word == "in" and following == "the":
        part = word_at(items, at + 2)
        if part in _PARTS:
            return at + 3, replace(found, part=part)
    if found.clock is not None and word == "at" and following == "night":
        return at + 2, replace(found, part="night")
    return None


def clock_at(items: Sequence[Item], at: int, part: str | None = None) -> tuple[int, Clock, str] | None:
    """Read a clock time: how many items, the time, and a zone that clings to it ("02:00Z")."""
    word = word_at(items, at)
    if word in ("noon", "midday"):
        return 1, Clock(_NOON), ""
    if word == "midnight":
        return 1, Clock(_MIDNIGHT), ""
    text = items[at].text if items[at].value is None else ""
    if _MILITARY.fullmatch(text):
        return 1, _checked(int(text[:2]), int(text[2:]), 0), ""
    if _DOTTED.fullmatch(text) and (text[-1] in "mM" or word_at(items, at + 1) in _HALVES):
        width = 1 if text[-1] in "mM" else 2
        return width, Clock(0, doubt=f"`{text}` is not written as hours:minutes"), ""
    match = _TIME.fullmatch(text)
    return _digital(match, items, at, part) if match else _spoken(items, at)


def _spoken(items: Sequence[Item], at: int) -> tuple[int, Clock, str] | None:
    """Read "half past seven", "a quarter to 9 pm", "ten thirty pm"; without "am" or "pm" it is a bare hour."""
    first = at + 1 if word_at(items, at) == "a" and word_at(items, at + 1) == "quarter" else at
    minutes, link = _MINUTES.get(word_at(items, first)), word_at(items, first + 1)
    minute, width = 0, first - at
    if minutes is not None and (link == "past" or (link == "to" and minutes != 30)):  # noqa: PLR2004 (half past only)
        hour, minute, width = _hour(items, first + 2), minutes if link == "past" else -minutes, width + 3
    elif (hour := _HOURS.get(word_at(items, at))) is not None:
        minute = _MINUTES.get(link, 0) if link not in ("half", "quarter") else 0
        width = 2 if minute else 1
    if hour is None or (first == at and minute == 0 and word_at(items, at + width) not in (*_HALVES, "o'clock")):
        return None
    hour, minute = (hour, minute) if minute >= 0 else ((hour - 2) % _NOON + 1, 60 + minute)
    half = _HALVES.get(word_at(items, at + width))
    if half is not None:
        return width + 1, _twelve_hour(hour, minute, 0, half, ""), ""
    if word_at(items, at + width) in ("o'clock", "oclock"):
        return width + 1, Clock(hour, bare=True), ""
    # "five to ten" may be an amount.
    told = link == "past" or (link == "to" and word_at(items, first) == "quarter")
    return (width, Clock(hour, minute, bare=True), "") if told else None


def _hour(items: Sequence[Item], at: int) -> int | None:
    word = word_at(items, at)
    digits = int(word) if _BARE.fullmatch(word) else 0
    return _HOURS.get(word, digits if 1 <= digits <= _NOON else None)


def _digital(match: re.Match[str], items: Sequence[Item], at: int, part: str | None) -> tuple[int, Clock, str] | None:
    hour, minute, second = (int(match[name] or 0) for name in ("hour", "minute", "second"))
    half, width = _HALVES.get((match["half"] or "").lower()), 1
    if half is None and word_at(items, at + 1) in _HALVES:
        half, width = _HALVES[word_at(items, at + 1)], 2
    if half is not None:
        return width, _twelve_hour(hour, minute, second, half, match[0]), match["zone"] or ""
    if match["minute"] is None:
        if word_at(items, at + 1) in ("o'clock", "oclock"):
            return 2, Clock(hour, bare=True), ""
        following = [word_at(items, at + step) for step in range(1, 4)]
        settled = part is not None or (following[:2] == ["in", "the"] and following[2] in _PARTS)
        settled = settled or following[0] == "tonight"
        settled = settled or (following[0] in _DAYS_BEFORE_PART and following[1] in _PARTS)
        return (1, Clock(hour, bare=True), "") if settled else None
    clock = _checked(hour, minute, second)
    if len(match["hour"]) == 1 and 1 <= hour <= _NOON and match["zone"] is None:
        clock = replace(clock, bare=True)
    said = word_at(items, at + 1) in ("o'clock", "oclock")
    return 1 + said, clock, match["zone"] or ""


def _checked(hour: int, minute: int, second: int) -> Clock:
    if hour >= _MIDNIGHT or minute > 59 or second > 59:  # noqa: PLR2004 (minutes of an hour)
        return Clock(0, doubt=f"`{hour}:{minute:02}` is no time of day")
    return Clock(hour, minute, second)


def _twelve_hour(hour: int, minute: int, second: int, half: str, text: str) -> Clock:
    if not 1 <= hour <= _NOON or minute > 59 or second > 59:  # noqa: PLR2004 (minutes of an hour)
        return Clock(0, doubt=f"`{text}` is no time of day")
    return Clock(hour % _NOON + (_NOON if half == "pm" else 0), minute, second, half=True)


def _settled(when: When) -> When:
    """Settle a bare hour by the part of the day; doubt what still has two readings."""
    clock = when.clock
    if clock is None or clock.doubt:
        return when
    if when.part is not None:
        hours, add = _PARTS[when.part]
        if clock.bare and clock.hour in hours:
            return replace(when, clock=replace(clock, hour=clock.hour + add, bare=False))
        if clock.bare or (clock.hour not in _FITS[when.part] and clock.hour != _MIDNIGHT):
            doubt = f"`{when.words}` has more than one reading"
            return replace(when, clock=replace(clock, doubt=doubt))
    elif clock.bare:
        doubt = f"`{when.words}` can be morning or evening"
        return replace(when, clock=replace(clock, doubt=doubt))
    return when


def _words(items: Sequence[Item], at: int, end: int) -> str:
    return " ".join(item.text for item in items[at:end])
