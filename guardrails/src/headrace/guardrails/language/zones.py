"""Time zones: UTC and GMT, offsets, IANA names, "Prague time", local. Bare abbreviations are asked."""

from __future__ import annotations

import re
from datetime import UTC, timedelta, timezone
from functools import cache
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, available_timezones

from headrace.guardrails.intents.draft import Zone
from headrace.guardrails.language.phrases import listed, phrase_at, word_at

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.guardrails.language.phrases import Item

_OFFSET = re.compile(r"(?:utc|gmt)?(?P<sign>[+-])(?P<hours>\d{1,2})(?::?(?P<minutes>\d{2}))?")
_NO_CITIES = ("Etc", "SystemV", "US", "posix", "right")


@cache
def _zone_names() -> dict[str, str]:
    return {name.lower(): name for name in available_timezones() if "/" in name}


@cache
def _cities() -> dict[str, str | None]:
    """Map the last part of each IANA name to it, or to None where two zones share it."""
    cities: dict[str, str | None] = {}
    for name in _zone_names().values():
        if not name.startswith(_NO_CITIES):
            key = name.rpartition("/")[2].lower().replace("_", " ")
            cities[key] = None if key in cities else name
    return cities


def zone_at(items: Sequence[Item], at: int) -> tuple[int, Zone] | None:
    """Read a zone that starts here; it only counts after a clock time. "Time" may follow it."""
    text, word = items[at].text, word_at(items, at)
    # After a clock time the word "local" is the zone, whatever endpoint has that name.
    local = items[at].symbol == "<ep>" and text.lower() in listed("zone_word.local")
    width, kind = (1, "local") if local else phrase_at(items, at, "zone_word")
    if width:
        zone = Zone() if kind == "local" else Zone(UTC)
    elif items[at].value is None and text.lower() in _zone_names():
        width, zone = 1, Zone(ZoneInfo(_zone_names()[text.lower()]))
    elif offset := _OFFSET.fullmatch(word):
        return 1, _offset(offset, text)
    elif word in listed("zone_abbreviation"):
        doubt = f"`{text}` stands for several time zones: write UTC or a name such as Europe/Prague"
        width, zone = 1, Zone(doubt=doubt)
    else:
        return _city(items, at)
    return width + phrase_at(items, at + width, "time_word")[0], zone


def _city(items: Sequence[Item], at: int) -> tuple[int, Zone] | None:
    for width in (1, 2, 3):
        name = _cities().get(" ".join(word_at(items, at + step) for step in range(width)))
        if name and (time := phrase_at(items, at + width, "time_word")[0]):
            return width + time, Zone(ZoneInfo(name))
    return None


def _offset(match: re.Match[str], text: str) -> Zone:
    span = timedelta(hours=int(match["hours"]), minutes=int(match["minutes"] or 0))
    if span > timedelta(hours=14):
        return Zone(doubt=f"`{text}` is not an offset from UTC")
    return Zone(timezone(-span if match["sign"] == "-" else span))


def zone_of_suffix(text: str) -> Zone:
    """Read the zone that clings to a clock time: "Z" or "+01:00"."""
    if text in ("z", "Z"):
        return Zone(UTC)
    match = _OFFSET.fullmatch(text)
    return Zone(doubt=f"`{text}` is not an offset from UTC") if match is None else _offset(match, text)


def is_zone_name(text: str) -> bool:
    """Say whether a word is an IANA name such as Europe/Prague."""
    return text.lower() in _zone_names()
