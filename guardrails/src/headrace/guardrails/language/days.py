"""Days: dates, weekdays, today and tomorrow, weeks. What has no one reading carries a doubt."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING

from headrace.guardrails.intents.draft import Day
from headrace.guardrails.language.phrases import listed, phrase_at, table, text_of, word_at

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.guardrails.language.phrases import Item

_ISO = re.compile(r"(\d{4})-(\d{2})-(\d{2})", re.ASCII)
_SLASHED = re.compile(r"\d{1,4}/\d{1,2}(?:/\d{1,4})?|\d{1,2}\.\d{1,2}\.(?:\d{2,4})?|\d{1,2}-\d{1,2}-\d{2,4}", re.ASCII)
_BARE_DAY = re.compile(r"(\d{1,2})(st|nd|rd|th)?", re.ASCII | re.IGNORECASE)
_YEAR = re.compile(r"20\d{2}", re.ASCII)


def day_at(items: Sequence[Item], at: int) -> tuple[int, Day] | None:
    """Read a day that starts here."""
    if at >= len(items) or items[at].value is not None:
        return None
    return _named(items, at) or _weekday(items, at) or _date(items, at)


def goes_on_behind_a_stop(items: Sequence[Item], at: int) -> bool:
    """Say whether a full stop here ends a shortened word, and no sentence: "5 p.m. Friday", "Nov. 28"."""
    if not 0 < at < len(items) - 1 or items[at].symbol != "." or word_at(items, at - 1) not in listed("abbreviation"):
        return False
    following = items[at + 1].text
    return not following[:1].isupper() or word_at(items, at + 1) in table("weekday") | table("month")


def _named(items: Sequence[Item], at: int) -> tuple[int, Day] | None:
    width, offset = phrase_at(items, at, "named_day")
    if width:
        return width, Day(offset=int(offset))
    width, week = phrase_at(items, at, "whole_week")
    if width:
        return width, Day(week=int(week))
    width, _ = phrase_at(items, at, "no_one_day")
    return (width, Day(doubt=f"`{text_of(items, at, at + width)}` is not one day")) if width else None


def _weekday(items: Sequence[Item], at: int) -> tuple[int, Day] | None:
    width, which = phrase_at(items, at, "which_day")
    name = word_at(items, at + width)
    if name in table("weekday"):
        weekday, width = int(table("weekday")[name]), width + 1
        comma = word_at(items, at + width) == "," or goes_on_behind_a_stop(items, at + width)
        dated = _date(items, at + width + comma)
        if dated and (dated[1].exact or dated[1].yearless):
            return width + comma + dated[0], replace(dated[1], falls_on=weekday)
        return width, Day(weekday=weekday, which=which or None)
    return (
        (1, Day(weekday=int(table("weekdays")[name]), plural=True)) if not width and name in table("weekdays") else None
    )


def _date(items: Sequence[Item], at: int) -> tuple[int, Day] | None:
    """Read a date of the calendar: "2026-11-30", "3 November", "the 3rd of November 2026", "November 3", "the 3rd"."""
    text = items[at].text if at < len(items) and items[at].value is None else ""
    if match := _ISO.fullmatch(text):
        return 1, _exact(int(match[1]), int(match[2]), int(match[3]), text)
    if _SLASHED.fullmatch(text):
        return 1, Day(doubt=f"`{text}` can be read with the day or the month first")
    if month := table("month").get(word_at(items, at)):
        start = at + 1 + (word_at(items, at + 1) == "the" or goes_on_behind_a_stop(items, at + 1))
        width, number, _ = _day_of_month(items, start)
        return _with_year(items, at, start + width, (int(month), number)) if width else None
    start = at + (word_at(items, at) == "the")
    width, number, ordinal = _day_of_month(items, start)
    end = start + width + (word_at(items, start + width) == "of")
    if width and (month := table("month").get(word_at(items, end))):
        return _with_year(items, at, end + 1, (int(month), number))
    return (start + width - at, Day(monthday=number)) if ordinal else None


def _day_of_month(items: Sequence[Item], at: int) -> tuple[int, int, bool]:
    """Read "3", "3rd", "third": how many items it takes (0: none), the day, and whether it alone says a day."""
    if number := _BARE_DAY.fullmatch(word_at(items, at)):
        return 1, int(number[1]), bool(number[2])
    width, spoken = phrase_at(items, at, "day_of_month")
    return (width, int(spoken), False) if width else (0, 0, False)


def _with_year(items: Sequence[Item], at: int, end: int, month_day: tuple[int, int]) -> tuple[int, Day]:
    year = end + (word_at(items, end) == "," or goes_on_behind_a_stop(items, end))
    if _YEAR.fullmatch(word_at(items, year)):
        words = text_of(items, at, year + 1)
        return year + 1 - at, _exact(int(word_at(items, year)), *month_day, words)
    try:
        date(2024, *month_day)  # a leap year: 29 February is a day, if not of every year
    except ValueError:
        return end - at, Day(doubt="there is no such day of the month")
    return end - at, Day(yearless=month_day)


def _exact(year: int, month: int, day: int, words: str) -> Day:
    try:
        return Day(exact=date(year, month, day))
    except ValueError:
        return Day(doubt=f"`{words}` is not a day of the calendar")
