"""TOML that a person sent: read only where it is shallow, because what is deep takes a reader very long."""

import re
import tomllib
from typing import Final

MOST_PARTS: Final = 8
"""Parts of a key (`a.b.c` has three)."""
MOST_DEPTH: Final = 16
"""Lists and tables within each other."""
_TOKEN: Final = re.compile(
    r"""
    "{3} (?: [^"\\] | \\. | "(?!"") )* (?: "{3} | \Z )
    | '{3} (?: [^'] | '(?!'') )* (?: '{3} | \Z )
    | " (?: [^"\\\n] | \\[^\n] )* "?
    | ' [^'\n]* '?
    | \# [^\n]*
    | [.\n=,{}\[\]]
    """,
    re.DOTALL | re.VERBOSE,
)
"""Strings (also one that is not closed) and comments, which are passed over, and the marks between them."""


def parse(text: str) -> dict[str, object] | str:
    """Return what a text says, or what is wrong with it and what to do."""
    wrong = _too_deep(text)
    if wrong:
        return wrong
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        return f"the text is not TOML: {error}; correct it there"
    except RecursionError:
        return _NESTED


_NESTED: Final = "the text is nested too deeply; use `[[link]]` and the like"


def _too_deep(text: str) -> str:
    """Say that keys have too many parts, or that it is nested too deeply: in one pass, however it is written."""
    dots = depth = 0
    for found in _TOKEN.finditer(text):
        mark = found[0]
        if mark == ".":
            dots += 1
            if dots >= MOST_PARTS:
                line = text.count("\n", 0, found.start()) + 1
                return f"a key in line {line} has more than {MOST_PARTS} parts; use `[[link]]` and the like"
        elif len(mark) == 1:
            dots = 0
            depth += (mark in "{[") - (mark in "}]")
            if depth > MOST_DEPTH:
                return _NESTED
    return ""
