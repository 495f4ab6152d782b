"""Numbers in digits and words, exactly; anything that could be read in two ways is a doubt."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

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

WORDS = {
    "one": 1,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "eleven": 11,
    "twelve": 12,
    "fifteen": 15,
    "twenty": 20,
    "thirty": 30,
    "forty": 40,
    "fifty": 50,
    "sixty": 60,
    "seventy": 70,
    "eighty": 80,
    "ninety": 90,
}
_TENS = {word: value for word, value in WORDS.items() if value >= 20 and value % 10 == 0}  # noqa: PLR2004
_UNITS = {word: value for word, value in WORDS.items() if value < 10}  # noqa: PLR2004
_SCALES = {"hundred": 100, "thousand": 1000}
_VAGUE = {"few", "couple", "several", "dozen", "some"}
NUMBER_WORDS = frozenset(WORDS) | set(_SCALES) | _VAGUE | {"half", "quarter", "a", "an"}


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
    item = items[at]
    if item.value is not None:
        return None
    if match := _NUMBER_LIKE.fullmatch(item.text):
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


def _word(items: Sequence[Item], at: int) -> str:
    return items[at].symbol if at < len(items) and items[at].value is None else ""


def _in_words(items: Sequence[Item], at: int) -> Number | None:
    word = _word(items, at)
    if word == "half" and _word(items, at + 1) in ("a", "an"):
        return Number(Fraction(1, 2), 2)
    if word in ("a", "an"):
        return _after_article(items, at)
    if word in _VAGUE:
        return Number(None, 1, "", f"`{word}` is no number")
    if word not in WORDS:
        return None
    value, width = WORDS[word], 1
    following = _word(items, at + 1)
    if word in _TENS and following in _UNITS:
        value, width = value + _UNITS[following], 2
    elif following in _SCALES:
        value, width = value * _SCALES[following], 2
    return _and_a_half(items, at, Number(Fraction(value), width))


def _after_article(items: Sequence[Item], at: int) -> Number:
    following = _word(items, at + 1)
    if following in _SCALES:
        return Number(Fraction(_SCALES[following]), 2)
    if following in _VAGUE:
        width = 3 if _word(items, at + 2) == "of" else 2
        return Number(None, width, "", f"`{following}` is no number")
    if following == "quarter" and _word(items, at + 2) == "of" and _word(items, at + 3) == "a":
        return Number(Fraction(1, 4), 4)
    if following == "half":
        return Number(Fraction(1, 2), 2)
    return Number(Fraction(1), 1)


def _and_a_half(items: Sequence[Item], at: int, number: Number) -> Number:
    end = at + number.width
    if [_word(items, end + step) for step in range(3)] == ["and", "a", "half"] and number.value:
        return Number(number.value + Fraction(1, 2), number.width + 3)
    return number
