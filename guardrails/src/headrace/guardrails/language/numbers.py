"""Numbers in digits and words, exactly; anything that could be read in two ways is a doubt."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from headrace.guardrails.language.phrases import phrase_at, text_of, word_at

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.guardrails.language.phrases import Item

_PLAIN = re.compile(r"\d{1,18}(?:\.\d{1,18})?", re.ASCII)
# Whatever starts like a number is one, if only to be asked about: -5, 2,5, 1e400, 0x10, 1/2.
_NUMBER_LIKE = re.compile(
    r"(?P<number>[+\u2212-]?(?:0x[0-9a-f]+|\.?\d(?:[\d.,_'\u2019/]*\d)?(?:e[+-]?\d+)?))"
    r"(?P<rest>%|[^\d\s].*)?",
    re.IGNORECASE | re.DOTALL,
)
_TWENTY, _TEN = 20, 10


@dataclass(frozen=True, slots=True)
class Number:
    """A number that starts at an item: how many items it takes and what follows in the last."""

    value: Fraction | None
    width: int
    rest: str = ""
    doubt: str | None = None
    in_digits: bool = False


def number_at(items: Sequence[Item], at: int) -> Number | None:
    """Read a number, if one starts here; "a" and "half a" count, for a unit follows."""
    if items[at].value is not None:
        return None
    if match := _NUMBER_LIKE.fullmatch(items[at].text):
        return _digits(match["number"], match["rest"] or "")
    return _in_words(items, at)


def _digits(number: str, rest: str) -> Number:
    if _PLAIN.fullmatch(number):
        return Number(Fraction(number), 1, rest, in_digits=True)
    if "," in number:
        doubt = f"`{number}` can be read with a decimal or a thousands comma"
    elif number[0] in "+-\u2212":
        doubt = f"`{number}` has a sign"
    elif not number.isascii():
        doubt = f"`{number}` is not written in the digits 0 to 9"
    else:
        doubt = f"`{number}` is not written as plain digits"
    return Number(None, 1, rest, doubt, in_digits=True)


def _in_words(items: Sequence[Item], at: int) -> Number | None:
    width, part = phrase_at(items, at, "part_of_one")
    if width:
        return Number(Fraction(part), width)
    if width := phrase_at(items, at, "no_number")[0]:
        return Number(None, width, doubt=f"`{text_of(items, at, at + width)}` is not a number")
    width, said = (1, "1") if word_at(items, at) in ("a", "an") else phrase_at(items, at, "number")
    if not width:
        return None
    value = int(said)
    unit, units = phrase_at(items, at + width, "number")
    scale, times = phrase_at(items, at + width, "scale")
    if unit and value >= _TWENTY and int(units) < _TEN:
        value, width = value + int(units), width + unit
    elif scale:
        value, width = value * int(times), width + scale
    half = phrase_at(items, at + width, "more_by_half")[0]
    return Number(value + Fraction(bool(half), 2), width + half)
