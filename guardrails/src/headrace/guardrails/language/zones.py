"""Time zones: UTC and GMT, offsets, IANA names, "Prague time", local. Bare abbreviations are asked."""

from __future__ import annotations

import re
from datetime import UTC, timedelta, timezone
from functools import cache
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, available_timezones

from headrace.guardrails.intents.draft import Zone
from headrace.guardrails.language.days import word_at
from headrace.guardrails.language.grammar import words_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.guardrails.language.phrases import Item

_ABBREVIATIONS = frozenset(words_of("zone_abbreviation"))
_OFFSET = re.compile(r"(?:utc|gmt)?(?P<sign>[+-])(?P<hours>\d{1,2})(?::?(?P<minutes>\d{2}))?")
_PLAIN = frozenset({"utc", "gmt", "zulu", "z"})
ZONE_WORDS = frozenset({"utc", "gmt", "zulu", "local", "time", "our", "my"}) | _ABBREVIATIONS


@cache
def _zone_names() -> dict[str, str]:
    return {name.lower(): name for name in available_timezones() if "/" in name}


@cache
def _cities() -> dict[str, str | None]:
    """Map the last part of each IANA name to it, or to None where two zones share it."""
    cities: dict[str, str | None] = {}
    for name in available_timezones():
        area, slash, city = name.partition("/")
        if slash and area not in ("Etc", "SystemV", "US", "posix", "right"):
            key = city.rpartition("/")[2].lower().replace("_", " ")
            cities[key] = None if key in cities else name
    return cities


def zone_at(items: Sequence[Item], at: int) -> tuple[int, Zone] | None:  # noqa: PLR0911
    """Read a zone that starts here; it only counts after a clock time."""
    if items[at].symbol == "<ep>" and items[at].text.lower() == "local":
        # After a clock time the word is the zone, whatever endpoint has that name.
        return _with_time(items, at, 1, Zone())
    if items[at].value is not None:
        return None
    text, word = items[at].text, word_at(items, at)
    if word in _PLAIN:
        return _with_time(items, at, 1, Zone(UTC))
    if "/" in text:
        name = _zone_names().get(text.lower())
        return None if name is None else _with_time(items, at, 1, Zone(ZoneInfo(name)))
    if offset := _OFFSET.fullmatch(word):
        return 1, _offset(offset, text)
    if word in ("our", "my") and word_at(items, at + 1) == "time":
        return 2, Zone()
    if word == "local":
        return _with_time(items, at, 1, Zone())
    if word in _ABBREVIATIONS:
        doubt = f"`{text}` stands for several time zones: write UTC or a name such as Europe/Prague"
        return _with_time(items, at, 1, Zone(doubt=doubt))
    return _city(items, at)


def _with_time(items: Sequence[Item], at: int, width: int, zone: Zone) -> tuple[int, Zone]:
    return width + (1 if word_at(items, at + width) == "time" else 0), zone


def _city(items: Sequence[Item], at: int) -> tuple[int, Zone] | None:
    for width in (1, 2, 3):
        if word_at(items, at + width) == "time":
            city = " ".join(word_at(items, at + step) for step in range(width))
            name = _cities().get(city)
            return None if name is None else (width + 1, Zone(ZoneInfo(name)))
    return None


def _offset(match: re.Match[str], text: str) -> Zone:
    span = timedelta(hours=int(match["hours"]), minutes=int(match["minutes"] or 0))
    if span > timedelta(hours=14):
        return Zone(doubt=f"`{text}` is no offset from UTC")
    return Zone(timezone(-span if match["sign"] == "-" else span))


def zone_of_suffix(text: str) -> Zone:
    """Read the zone that clings to a clock time: "Z" or "+01:00"."""
    if text in ("z", "Z"):
        return Zone(UTC)
    match = _OFFSET.fullmatch(text)
    return Zone(doubt=f"`{text}` is no offset from UTC") if match is None else _offset(match, text)


def is_zone_name(text: str) -> bool:
    """Say whether a word is an IANA name such as Europe/Prague."""
    return text.lower() in _zone_names()
