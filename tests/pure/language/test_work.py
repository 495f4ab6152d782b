"""The work of reading a request grows with its length, whatever it is made of: it is counted, not timed."""

import re
import sys
from functools import cache
from types import FrameType
from typing import Any

import pytest
from tests.pure.language.made import ROUTE, read

from headrace.guardrails.language.phrases import Rule

_SHORT, _LONG = 500, 2000
_MOST_A_CHARACTER = 2500
"""Lines of Python that reading may run for each character; a line feed between single letters takes most: 2,010."""
_MAIL = (
    "Hi Anna,\nthe beam was back on Tuesday, and the disk is nearly full. Could you please copy krios1:/raw/run42 to "
    "archive:/run42? It's huge, so at most 2 Gb/s. Skip the *.tmp files, verify it with sha256, and don't delete "
    "anything at the source. The coffee machine is broken, by the way. Thanks a lot!\n\n"
)
# What a text is made of by being repeated; `{}` is a number that counts up.
_PIECES = {
    "short sentences": "Copy it. Stop. Go on. Thanks. Pause 7f3a21. ",
    "places": "krios1:/raw/run{}, ",
    "paths": "/raw/run{} and ",
    "patterns": "*.t{}, ",
    "names of files": "run{}.mrc ",
    "limits": "skip files over {} GiB, ",
    "a letter": _MAIL,
    "a letter in capitals": _MAIL.upper(),
    "unknown words": "blorp grimble fandango whelk ",
    "unknown clauses": "blorp grimble, fandango whelk, ",
    "verbs": "copy ",
    "joins": "and ",
    "marks": ".,;: !?-() []",
    "dashes": "- ",
    "brackets": "( a ",
    "line feeds": "a\n",
    "numbers of a list": "7. ",
    "quotes that nothing closes": "\u201ca ",
    "questions": "why blorp it? ",
    "questions of places": "a/b? ",
    "orders to steer": "how is it? ",
    "what somebody does": "they just copy it ",
    "denials": "or blorp, overwrite, ",
}


def text_of(piece: str, length: int) -> str:
    """Repeat a piece up to a length."""
    return "".join(piece.format(number) for number in range(length // min(len(piece), length) + 1))[:length]


def lines_of(text: str) -> int:
    """Count the lines of Python that reading a text runs; what is kept from an earlier request is there."""
    read(text)
    lines, before = 0, sys.gettrace()

    def count(_frame: FrameType, event: str, _value: Any) -> Any:  # noqa: ANN401 - as `sys.settrace` has it
        nonlocal lines
        lines += event == "line"
        return count

    sys.settrace(count)
    try:
        read(text)
    finally:
        sys.settrace(before)
    return lines


@pytest.mark.parametrize("piece", _PIECES.values(), ids=_PIECES.keys())
def test_a_text_four_times_as_long_takes_four_times_the_work(piece: str) -> None:
    short, long = (lines_of(text_of(piece, length)) for length in (_SHORT, _LONG))
    assert long <= short * 5
    assert long <= _LONG * _MOST_A_CHARACTER


def test_few_phrases_are_tried_for_each_character(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []
    compiled = cache(re.compile)

    def pattern(rule: Rule) -> re.Pattern[str]:
        tried.append(rule.name)
        return compiled(rule.phrase.text)

    monkeypatch.setattr(Rule, "pattern", property(pattern))
    text = f"{ROUTE}. {text_of(_MAIL, _LONG)}"
    read(text)
    assert 0 < len(tried) < 2 * len(text)
