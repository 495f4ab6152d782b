"""Sizes and rates: an exact table of units. b is a bit, B a byte, k/M/G/T/P decimal, Ki... binary.

What people also write but means two things (gig, 10M, mb, MBPS, 40%) is read as a doubt.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING

from headrace.guardrails.intents.draft import Amount
from headrace.guardrails.intents.limits import MAX_COUNT, MAX_RATE_BPS
from headrace.guardrails.language.numbers import Number, number_at
from headrace.guardrails.language.phrases import listed, table, text_of, word_at

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.guardrails.language.phrases import Item

_POWERS = " kmgtp"
_BITS_PER_BYTE = 8
_SYMBOL = re.compile(
    r"(?P<prefix>[kKmMgGtTpP]?)(?P<binary>i?)(?P<base>b|B|[bB][iI][tT][sS]?|[bB][yY][tT][eE][sS]?)"
    r"(?P<per>/[A-Za-z]+|[pP][sS])?"
)


@cache
def _long() -> re.Pattern[str]:
    return re.compile(f"({'|'.join(table('prefix'))})({'|'.join(table('unit'))})(/[a-z]+)?")


@cache
def _vague() -> re.Pattern[str]:
    names = "|".join(listed("vague_unit"))
    return re.compile(rf"(?:{names}|[kmgtp]i?)(?:/[a-z]+|ps)?|[kmgtp]i?(?:b|bit|byte)s?p?(?:s|/s|/sec)", re.IGNORECASE)


_LETTERS = "write b for bits or B for bytes, such as 5 Gb/s, 600 MB/s or 10 GB"


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
    width, said = number.width, number.rest
    if not said:
        if at + width >= len(items) or items[at + width].value is not None:
            return None
        said, width = items[at + width].text, width + 1
    if said.lower() in listed("percent"):
        doubt = "a percentage is not a fixed rate: write one in bits or bytes a second, such as 2 Gb/s"
        return width, Amount(text_of(items, at, at + width), "unsure", None, doubt)
    unit = _unit(said)
    if unit is None or (len(said) == 1 and not items[at].text[0].isdigit()):
        return None
    seconds, extra = _per(items, at + width) if unit.seconds is None else (None, 0)
    if seconds is not None:
        width, unit = width + extra, _Unit(unit.bits, unit.of_bytes, seconds, unit.doubt)
    return width, _amount(number, unit, text_of(items, at, at + width))


def is_rate_unit(text: str) -> bool:
    """Say whether a word is a unit of rate: an odd number before it was meant as one."""
    unit = _unit(text)
    return unit is not None and unit.seconds is not None


def is_unit(text: str) -> bool:
    """Say whether a word is a unit of size or rate, such as MB/s."""
    return _unit(text) is not None


def _per(items: Sequence[Item], at: int) -> tuple[int | None, int]:
    """Read "per second", "a second" or a separate "/s" after a unit."""
    word, following = word_at(items, at), word_at(items, at + 1)
    if word.startswith("/") and word[1:] in table("seconds"):
        return int(table("seconds")[word[1:]]), 1
    if word in listed("per") and following in table("seconds"):
        return int(table("seconds")[following]), 2
    return None, 0


def _unit(text: str) -> _Unit | None:
    if long := _long().fullmatch(text.lower()):
        prefix = table("prefix")[long[1]]
        text = f"{prefix[0].upper()}{prefix[1:]}{table('unit')[long[2]]}{long[3] or ''}"
    match = _SYMBOL.fullmatch(text)
    if match is None:
        seconds = 1 if "/" in text or text.lower().endswith(("ps", "bs")) else None
        doubt = f"`{text}` does not say bits or bytes: {_a_second(text) or _LETTERS}"
        return _Unit(seconds=seconds, doubt=doubt) if _vague().fullmatch(text) else None
    prefix, base, per = match["prefix"], match["base"], match["per"] or ""
    seconds_said = table("seconds").get(per[1:].lower() if per.startswith("/") else "s")
    if (match["binary"] and not prefix) or seconds_said is None:
        return None
    of_bytes = base == "B" or base.lower().startswith("byte")
    scale = (1024 if match["binary"] else 1000) ** _POWERS.index(prefix.lower() or " ")
    seconds = int(seconds_said) if per else None
    return _Unit(scale * (_BITS_PER_BYTE if of_bytes else 1), of_bytes, seconds, _letter_doubt(text, prefix, base, per))


def _a_second(text: str) -> str:
    """Say how to write `Gbs`, which lacks the stroke before its second."""
    prefix = text[:-2]
    return f"write {prefix}b/s for bits or {prefix}B/s for bytes" if prefix and text.endswith("bs") else ""


def _letter_doubt(text: str, prefix: str, base: str, per: str) -> str | None:
    """Doubt a unit whose letters don't tell bits from bytes: `mb`, `gib/s`, `MBPS`."""
    if len(base) > 1 or not prefix:
        return None
    if base == "B" and per == "PS":
        return f"`{text}` in capitals does not say bits or bytes: {_LETTERS}"
    if prefix.islower() and per.lower() != "ps" and (base == "b" or prefix != "k"):
        return f"`{text}` in small letters does not say bits or bytes: {_LETTERS}"
    return None


def _amount(number: Number, unit: _Unit, words: str) -> Amount:
    doubt = number.doubt or unit.doubt
    if unit.seconds == 0:
        doubt = doubt or f"`{words}` can be per minute or per month: write it out, such as 10 GB per minute"
    if doubt is not None or number.value is None:
        return Amount(words, "unsure", None, doubt)
    if unit.seconds is None and not unit.of_bytes:
        return Amount(
            words, "unsure", None, f"`{words}` counts bits, and a size is in bytes: write it with B, such as 10 GB"
        )
    total = number.value * unit.bits / (unit.seconds or _BITS_PER_BYTE)
    if unit.seconds not in (None, 1):
        # A ceiling an hour or a day is rounded down to whole bits a second.
        total = Fraction(int(total)) or total
    doubt = _total_doubt(total, words, MAX_COUNT if unit.seconds is None else MAX_RATE_BPS)
    return Amount(words, "size" if unit.seconds is None else "rate", None if doubt else int(total), doubt)


def _total_doubt(total: Fraction, words: str, most: int) -> str | None:
    if total <= 0:
        return f"`{words}` is nothing: give a number above zero, or leave it out"
    if total.denominator != 1:
        what, such = ("bits a second", "2 b/s") if most == MAX_RATE_BPS else ("bytes", "2 B")
        return f"`{words}` is not a whole number of {what}: round it, like `{such}`"
    return f"`{words}` is more than Headrace can count: give less, or leave the limit out" if total > most else None
