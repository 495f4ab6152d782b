"""Days: dates, weekdays, today and tomorrow, weeks. What has no one reading carries a doubt."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING

from headrace.guardrails.intents.draft import Day

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.guardrails.language.phrases import Item

_WEEKDAY_SPELLINGS = (
    ("monday", "mon"),
    ("tuesday", "tue", "tues"),
    ("wednesday", "wed", "weds"),
    ("thursday", "thu", "thur", "thurs"),
    ("friday", "fri"),
    ("saturday", "sat"),
    ("sunday", "sun"),
)
WEEKDAYS = {name: day for day, names in enumerate(_WEEKDAY_SPELLINGS) for name in names}
PLURALS = {f"{names[0]}s": day for day, names in enumerate(_WEEKDAY_SPELLINGS)}
_MONTH_SPELLINGS = (
    ("january", "jan"),
    ("february", "feb"),
    ("march", "mar"),
    ("april", "apr"),
    ("may",),
    ("june", "jun"),
    ("july", "jul"),
    ("august", "aug"),
    ("september", "sep", "sept"),
    ("october", "oct"),
    ("november", "nov"),
    ("december", "dec"),
)
MONTHS = {name: month for month, names in enumerate(_MONTH_SPELLINGS, 1) for name in names}
DAY_WORDS = (
    frozenset(WEEKDAYS)
    | set(PLURALS)
    | set(MONTHS)
    | {"today", "tomorrow", "yesterday", "the", "day", "after", "before", "week", "month", "weekend"}
    | {"this", "next", "last", "coming", "following", "of", "year", "quarter"}
)

_ISO = re.compile(r"(\d{4})-(\d{2})-(\d{2})", re.ASCII)
_ISO_MOMENT = re.compile(r"(\d{4}-\d{2}-\d{2})[Tt_](?P<clock>\d{2}:\d{2}.*)", re.ASCII)
_SLASHED = re.compile(r"\d{1,4}/\d{1,2}(?:/\d{1,4})?|\d{1,2}\.\d{1,2}\.(?:\d{2,4})?", re.ASCII)
_DASHED = re.compile(r"\d{1,2}-\d{1,2}-\d{2,4}", re.ASCII)
_NUMBERED = re.compile(r"(\d{1,2})(?:st|nd|rd|th)", re.ASCII | re.IGNORECASE)
_BARE_DAY = re.compile(r"(\d{1,2})(?:st|nd|rd|th)?", re.ASCII | re.IGNORECASE)
_YEAR = re.compile(r"20\d{2}", re.ASCII)
_OFFSETS = {"today": 0, "tomorrow": 1, "yesterday": -1}
_WHICH = {"this": "this", "coming": "this", "next": "next", "last": "last", "past": "last"}


def word_at(items: Sequence[Item], at: int) -> str:
    """Give the plain word at a position, or nothing where a value or the end is."""
    return items[at].symbol if 0 <= at < len(items) and items[at].value is None else ""


def split_moment(text: str) -> tuple[str, str] | None:
    """Split "2026-11-28T02:00Z" into its day and its clock."""
    match = _ISO_MOMENT.fullmatch(text)
    return (match[1], match["clock"]) if match else None


def day_at(items: Sequence[Item], at: int) -> tuple[int, Day] | None:
    """Read a day that starts here."""
    if items[at].value is not None:
        return None
    return (
        _numeric(items[at].text)
        or _named(items, at)
        or _weekday(items, at)
        or _month_first(items, at)
        or _day_first(items, at)
    )


def _numeric(text: str) -> tuple[int, Day] | None:
    if match := _ISO.fullmatch(text):
        return 1, _exact(int(match[1]), int(match[2]), int(match[3]), text)
    if _SLASHED.fullmatch(text) or _DASHED.fullmatch(text):
        return 1, Day(doubt=f"`{text}` can be read with the day or the month first")
    return None


def _exact(year: int, month: int, day: int, words: str) -> Day:
    try:
        return Day(exact=date(year, month, day))
    except ValueError:
        return Day(doubt=f"`{words}` is no day of the calendar")


def _named(items: Sequence[Item], at: int) -> tuple[int, Day] | None:  # noqa: PLR0911
    words = [word_at(items, at + step) for step in range(4)]
    if words[0] in _OFFSETS:
        return 1, Day(offset=_OFFSETS[words[0]])
    skip = 1 if words[0] == "the" else 0
    if words[skip : skip + 3] == ["day", "after", "tomorrow"]:
        return skip + 3, Day(offset=2)
    if words[skip : skip + 3] == ["day", "before", "yesterday"]:
        return skip + 3, Day(offset=-2)
    if words[0] in ("this", "next", "last") and words[1] == "weekend":
        return 2, Day(doubt=f"`{words[0]} weekend` is two days")
    if words[0] in ("this", "last", "next") and words[1] == "week":
        return 2, Day(week={"this": 0, "last": -1, "next": 1}[words[0]])
    if words[0] in ("this", "last", "next") and words[1] in ("month", "year", "quarter"):
        return 2, Day(doubt=f"`{words[0]} {words[1]}` is not one day")
    return None


def _weekday(items: Sequence[Item], at: int) -> tuple[int, Day] | None:
    width, which = 0, None
    if word_at(items, at) == "this" and word_at(items, at + 1) == "coming":
        width, which = 2, "this"
    elif word_at(items, at) in _WHICH:
        width, which = 1, _WHICH[word_at(items, at)]
    name = word_at(items, at + width)
    if name in WEEKDAYS:
        skip = 1 if word_at(items, at + width + 1) == "," else 0
        dated = _date(items, at + width + 1 + skip)
        if dated is not None:
            return width + 1 + skip + dated[0], replace(dated[1], falls_on=WEEKDAYS[name])
        return width + 1, Day(weekday=WEEKDAYS[name], which=which)
    if name in PLURALS and which is None:
        return 1, Day(weekday=PLURALS[name], plural=True)
    return None


def _date(items: Sequence[Item], at: int) -> tuple[int, Day] | None:
    """Read a date of the calendar that stands behind its weekday: "Monday 30 November"."""
    if at >= len(items) or items[at].value is not None:
        return None
    found = _numeric(items[at].text) or _month_first(items, at) or _day_first(items, at)
    return found if found and (found[1].exact or found[1].yearless) else None


def _month_first(items: Sequence[Item], at: int) -> tuple[int, Day] | None:
    month = MONTHS.get(word_at(items, at))
    match = _BARE_DAY.fullmatch(word_at(items, at + 1))
    if month is None or match is None:
        return None
    return _with_year(items, at, at + 2, (month, int(match[1])))


def _day_first(items: Sequence[Item], at: int) -> tuple[int, Day] | None:
    start = at + 1 if word_at(items, at) == "the" else at
    match = _BARE_DAY.fullmatch(word_at(items, start))
    if match is None:
        return None
    end = start + 1
    if word_at(items, end) == "of":
        end += 1
    if (month := MONTHS.get(word_at(items, end))) is not None:
        return _with_year(items, at, end + 1, (month, int(match[1])))
    if numbered := _NUMBERED.fullmatch(word_at(items, start)):
        return start + 1 - at, Day(monthday=int(numbered[1]))
    return None


def _with_year(items: Sequence[Item], at: int, end: int, month_day: tuple[int, int]) -> tuple[int, Day]:
    skip = 1 if word_at(items, end) == "," else 0
    year = word_at(items, end + skip)
    if _YEAR.fullmatch(year):
        end += skip + 1
        words = " ".join(item.text for item in items[at:end])
        return end - at, _exact(int(year), *month_day, words)
    try:
        date(2024, *month_day)  # a leap year: 29 February is a day, if not of every year
    except ValueError:
        return end - at, Day(doubt="there is no such day of the month")
    return end - at, Day(yearless=month_day)
