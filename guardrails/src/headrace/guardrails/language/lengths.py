"""Stretches of time: "24 hours", "half an hour", "2h30m", "3 days"."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from fractions import Fraction
from typing import TYPE_CHECKING

from headrace.guardrails.intents.draft import Length
from headrace.guardrails.language.numbers import Number, number_at
from headrace.guardrails.language.phrases import phrase_at, table, text_of, word_at

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.guardrails.language.phrases import Item

MAX_DAYS = 3660
_SECONDS = {"second": 1, "minute": 60, "hour": 3600}
_DAYS = {"day": 1, "week": 7, "fortnight": 14}
_MIXED = re.compile(r"(\d{1,4})h(\d{1,2})(?:m|min)?", re.ASCII | re.IGNORECASE)


def length_at(items: Sequence[Item], at: int) -> tuple[int, Length] | None:
    """Read a stretch of time that starts here."""
    if items[at].value is None and (mixed := _MIXED.fullmatch(items[at].text)):
        spent = timedelta(hours=int(mixed[1]), minutes=int(mixed[2]))
        return 1, Length(items[at].text, exact=spent, unit="minute")
    found = _single(items, at)
    if found is None or found[1].unit != "hour" or found[1].exact is None:
        return found
    end, more = at + found[0], timedelta(minutes=30)
    if half := phrase_at(items, end, "more_by_half")[0]:
        end += half
    else:
        following = end + (word_at(items, end) == "and")
        minutes = _single(items, following) if following < len(items) else None
        if minutes is None or minutes[1].unit != "minute" or minutes[1].exact is None:
            return found
        end, more = following + minutes[0], minutes[1].exact
    return end - at, Length(text_of(items, at, end), exact=found[1].exact + more, unit="minute")


def _single(items: Sequence[Item], at: int) -> tuple[int, Length] | None:
    number = number_at(items, at)
    if number is None:
        return None
    spelled, width = number.rest.lower(), number.width
    if not spelled:
        spelled, width = word_at(items, at + width), width + 1
    unit = table("length").get(spelled)
    if unit is None or (len(spelled) == 1 and not items[at].text[0].isdigit()):
        return None
    return width, _length(number, Length(text_of(items, at, at + width), unit=unit))


def _length(number: Number, said: Length) -> Length:  # noqa: PLR0911
    if number.value is None:
        return replace(said, doubt=number.doubt)
    if number.value <= 0:
        return replace(said, doubt=f"`{said.words}` is not a length of time")
    counted = replace(said, count=int(number.value))
    if said.unit not in _SECONDS and said.unit not in _DAYS:
        return replace(counted, doubt=f"`{said.words}` has no fixed number of days")
    days = number.value * (_DAYS.get(said.unit) or Fraction(_SECONDS[said.unit], 86400))
    if days > MAX_DAYS:
        return replace(said, doubt=f"`{said.words}` is too long")
    if said.unit in _SECONDS:
        return replace(counted, exact=timedelta(seconds=float(number.value * _SECONDS[said.unit])))
    if days.denominator != 1:
        return replace(said, doubt=f"`{said.words}` is not a whole number of days")
    return replace(counted, days=int(days))
