"""Stretches of time: "24 hours", "half an hour", "2h30m", "3 days"."""

from __future__ import annotations

import re
from datetime import timedelta
from fractions import Fraction
from typing import TYPE_CHECKING

from headrace.guardrails.intents.draft import Length
from headrace.guardrails.language.numbers import Number, number_at

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.guardrails.language.phrases import Item

MAX_DAYS = 3660

_SECONDS = {"second": 1, "minute": 60, "hour": 3600}
_DAYS = {"day": 1, "week": 7, "fortnight": 14}
_SPELLINGS = {
    "second": ("s", "sec", "secs", "second", "seconds"),
    "minute": ("min", "mins", "minute", "minutes"),
    "hour": ("h", "hr", "hrs", "hour", "hours"),
    "day": ("d", "day", "days"),
    "week": ("w", "wk", "wks", "week", "weeks"),
    "fortnight": ("fortnight", "fortnights"),
    "month": ("month", "months"),
    "year": ("year", "years", "yr", "yrs"),
}
_UNITS = {spelling: unit for unit, spellings in _SPELLINGS.items() for spelling in spellings}
_MIXED = re.compile(r"(\d{1,4})h(\d{1,2})(?:m|min)?", re.ASCII | re.IGNORECASE)
LENGTH_WORDS = frozenset(spelling for spelling in _UNITS if len(spelling) > 1)


def length_at(items: Sequence[Item], at: int) -> tuple[int, Length] | None:
    """Read a stretch of time that starts here."""
    if items[at].value is None and (mixed := _MIXED.fullmatch(items[at].text)):
        spent = timedelta(hours=int(mixed[1]), minutes=int(mixed[2]))
        return 1, Length(items[at].text, exact=spent, unit="minute")
    found = _single(items, at)
    if found is None:
        return None
    width, length = found
    following = at + width + (1 if _word(items, at + width) == "and" else 0)
    if length.unit == "hour" and following < len(items):
        if [_word(items, following + step) for step in range(2)] == ["a", "half"]:
            return _joined(items, at, following + 2, length, timedelta(minutes=30))
        minutes = _single(items, following)
        if minutes and minutes[1].unit == "minute" and minutes[1].exact:
            return _joined(items, at, following + minutes[0], length, minutes[1].exact)
    return found


def _joined(items: Sequence[Item], at: int, end: int, length: Length, more: timedelta) -> tuple[int, Length]:
    total = None if length.exact is None else length.exact + more
    return end - at, Length(_words(items, at, end), exact=total, doubt=length.doubt, unit="minute")


def _single(items: Sequence[Item], at: int) -> tuple[int, Length] | None:
    number = number_at(items, at)
    if number is None:
        return None
    unit_text, width = number.rest.lower(), number.width
    if not unit_text:
        unit_text = _word(items, at + width)
        width += 1
    unit = _UNITS.get(unit_text)
    if unit is None or (len(unit_text) == 1 and not items[at].text[0].isdigit()):
        return None
    return width, _length(number, unit, _words(items, at, at + width))


def _length(number: Number, unit: str, words: str) -> Length:  # noqa: PLR0911
    if number.value is None:
        return Length(words, doubt=number.doubt, unit=unit)
    count = int(number.value)
    if number.value <= 0:
        return Length(words, doubt=f"`{words}` is no time at all", unit=unit)
    if unit in _SECONDS:
        seconds = number.value * _SECONDS[unit]
        if seconds > MAX_DAYS * 86400:
            return Length(words, doubt=f"`{words}` is too long", unit=unit)
        return Length(words, exact=timedelta(seconds=float(seconds)), unit=unit, count=count)
    if unit not in _DAYS:
        return Length(words, doubt=f"`{words}` has no fixed number of days", unit=unit, count=count)
    days = number.value * _DAYS[unit]
    if days > MAX_DAYS or days != Fraction(int(days)):
        return Length(words, doubt=f"`{words}` is no whole number of days", unit=unit)
    return Length(words, days=int(days), unit=unit, count=count)


def _word(items: Sequence[Item], at: int) -> str:
    return items[at].symbol if at < len(items) and items[at].value is None else ""


def _words(items: Sequence[Item], at: int, end: int) -> str:
    return " ".join(item.text for item in items[at:end])
