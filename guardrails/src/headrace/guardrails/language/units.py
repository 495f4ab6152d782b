"""Sizes and rates: an exact table of units. b is a bit, B a byte, k/M/G/T/P decimal, Ki... binary.

What people also write but means two things (gig, 10M, mb, MBPS, 40%) is read as a doubt.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from headrace.guardrails.intents.draft import Amount
from headrace.guardrails.intents.limits import MAX_COUNT, MAX_RATE_BPS
from headrace.guardrails.language.numbers import Number, number_at

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.guardrails.language.phrases import Item

_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5}
_NAMES = ("kilo", "mega", "giga", "tera", "peta")
_BINARY_NAMES = ("kibi", "mebi", "gibi", "tebi", "pebi")
_BITS_PER_BYTE = 8
_SECONDS = {
    "s": 1,
    "sec": 1,
    "second": 1,
    "secs": 1,
    "m": None,
    "min": 60,
    "minute": 60,
    "h": 3600,
    "hr": 3600,
    "hour": 3600,
    "d": 86400,
    "day": 86400,
}
_SYMBOL = re.compile(
    r"(?P<prefix>[kKmMgGtTpP]?)(?P<binary>i?)(?P<base>b|B|[bB][iI][tT][sS]?|[bB][yY][tT][eE][sS]?)"
    r"(?P<per>/[A-Za-z]+|[pP][sS])?"
)
_LONG = re.compile(rf"(?P<name>{'|'.join((*_NAMES, *_BINARY_NAMES))})(?P<base>bits?|bytes?)(?P<per>/[a-z]+)?")
_VAGUE = re.compile(
    r"(?:gigs?|megs?|teras?|kilos?|[kmgtp]i?)(?:/[a-z]+|ps)?|[kmgtp]i?(?:b|bit|byte)s?p?(?:s|/s|/sec)", re.IGNORECASE
)
UNIT_WORDS = frozenset(
    [f"{name}{base}" for name in (*_NAMES, *_BINARY_NAMES) for base in ("bit", "bits", "byte", "bytes")]
    + ["bit", "bits", "byte", "bytes", "gig", "gigs", "meg", "megs", "percent", "per"]
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Unit:
    """How many bits one is; `seconds` is set for a rate."""

    bits: int = 0
    of_bytes: bool = False
    seconds: int | None = None
    doubt: str | None = None


def amount_at(items: Sequence[Item], at: int) -> tuple[int, Amount] | None:
    """Read a size or a rate that starts here: how many items it takes, and what it is."""
    number = number_at(items, at)
    if number is None:
        return None
    width = number.width
    unit_text = number.rest
    if not unit_text:
        if at + width >= len(items) or items[at + width].value is not None:
            return None
        unit_text = items[at + width].text
        width += 1
    if unit_text == "%" or unit_text.lower() in ("percent", "pct"):
        return width, _unsure(items, at, width, "a percentage has no fixed number of bits a second")
    unit = _unit(unit_text)
    if unit is None or (len(unit_text) == 1 and not items[at].text[0].isdigit()):
        return None
    if unit.seconds is None:
        seconds, extra = _per(items, at + width)
        width += extra
        if extra:
            unit = _Unit(unit.bits, unit.of_bytes, seconds, unit.doubt)
    return width, _amount(number, unit, items, at, width)


def is_rate_unit(text: str) -> bool:
    """Say whether a word is a unit of rate: an odd number before it was meant as one."""
    unit = _unit(text)
    return unit is not None and unit.seconds is not None


def is_unit(text: str) -> bool:
    """Say whether a word is a unit of size or rate, such as MB/s."""
    return _unit(text) is not None


def _words(items: Sequence[Item], at: int, width: int) -> str:
    return " ".join(item.text for item in items[at : at + width])


def _unsure(items: Sequence[Item], at: int, width: int, doubt: str) -> Amount:
    return Amount(_words(items, at, width), "unsure", None, doubt)


def _per(items: Sequence[Item], at: int) -> tuple[int | None, int]:
    """Read "per second", "a second" or a separate "/s" after a unit."""
    rest = [item.symbol if item.value is None else "" for item in items[at : at + 2]]
    if rest and rest[0].startswith("/") and rest[0][1:] in _SECONDS:
        return _SECONDS[rest[0][1:]], 1
    if len(rest) == 2 and rest[0] in ("per", "a", "each", "every") and rest[1] in _SECONDS:  # noqa: PLR2004
        return _SECONDS[rest[1]], 2
    return None, 0


def _unit(text: str) -> _Unit | None:
    if match := _LONG.fullmatch(text.lower()):
        return _long_unit(match)
    match = _SYMBOL.fullmatch(text)
    if match is None:
        if _VAGUE.fullmatch(text):
            seconds = 1 if "/" in text or text.lower().endswith(("ps", "bs")) else None
            return _Unit(seconds=seconds, doubt=f"`{text}` does not say bits or bytes")
        return None
    prefix, binary, base, per = match["prefix"], match["binary"], match["base"], match["per"]
    of_bytes = base == "B" or base.lower().startswith("byte")
    scale = (1024 if binary else 1000) ** _POWERS[prefix.lower()]
    doubt = _letter_doubt(text, prefix, base, per or "")
    if binary and not prefix:
        return None
    seconds = None
    if per:
        name = "s" if not per.startswith("/") else per[1:].lower()
        if name not in _SECONDS:
            return None
        seconds = _SECONDS[name]
        if seconds is None:
            doubt = f"`{text}` can be per minute or per month"
            seconds = 1
    return _Unit(scale * (_BITS_PER_BYTE if of_bytes else 1), of_bytes, seconds, doubt)


def _long_unit(match: re.Match[str]) -> _Unit | None:
    name = match["name"]
    scale = 1000 ** (_NAMES.index(name) + 1) if name in _NAMES else 1024 ** (_BINARY_NAMES.index(name) + 1)
    of_bytes = match["base"].startswith("byte")
    per = match["per"]
    if per and per[1:] not in _SECONDS:
        return None
    seconds = _SECONDS[per[1:]] if per else None
    return _Unit(scale * (_BITS_PER_BYTE if of_bytes else 1), of_bytes, seconds)


def _letter_doubt(text: str, prefix: str, base: str, per: str) -> str | None:
    """Doubt a unit whose letters don't tell bits from bytes: `mb`, `gib/s`, `MBPS`."""
    if len(base) > 1 or not prefix:
        return None
    if base == "B" and per == "PS":
        return f"`{text}` in capitals does not say bits or bytes"
    small = prefix.islower() and per.lower() != "ps"
    if small and (base == "b" or prefix != "k"):
        return f"`{text}` in small letters does not say bits or bytes"
    return None


def _amount(number: Number, unit: _Unit, items: Sequence[Item], at: int, width: int) -> Amount:
    words = _words(items, at, width)
    doubt = number.doubt or unit.doubt
    kind: str = "rate" if unit.seconds is not None else "size"
    if doubt is not None or number.value is None:
        return Amount(words, "unsure", None, doubt)
    if kind == "size" and not unit.of_bytes:
        return Amount(words, "unsure", None, f"`{words}` counts bits: a size is in bytes (B)")
    total = number.value * unit.bits
    total = total / (unit.seconds or 1) if kind == "rate" else total / _BITS_PER_BYTE
    if kind == "rate" and unit.seconds not in (None, 1):
        # A ceiling an hour or a day is rounded down to whole bits a second.
        total = Fraction(int(total)) or total
    doubt = _total_doubt(total, words, MAX_RATE_BPS if kind == "rate" else MAX_COUNT)
    if doubt is not None:
        return Amount(words, "rate" if kind == "rate" else "size", None, doubt)
    return Amount(words, "rate" if kind == "rate" else "size", int(total))


def _total_doubt(total: Fraction, words: str, most: int) -> str | None:
    if total <= 0:
        return f"`{words}` is nothing: give a number above zero"
    if total.denominator != 1:
        return f"`{words}` is not a whole number"
    if total > most:
        return f"`{words}` is more than can be"
    return None
