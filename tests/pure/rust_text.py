"""Reads Rust files as far as these tests need it: texts, comments and the rest are told apart."""

import re
from collections.abc import Iterator
from typing import Final

TOKENS: Final = re.compile(
    r"""(?P<line>//[^\n]*)
    |(?P<block>/\*.*?\*/)
    |\b(?:b|c|br|cr)?r(?P<hashes>\#*)"(?P<raw>.*?)"(?P=hashes)
    |(?:\b[bc])?"(?P<text>(?:[^"\\]|\\.)*)"
    |b?'(?:[^'\\\n]|\\[^\n]{1,8}?)'""",
    re.DOTALL | re.VERBOSE,
)


def texts(source: str) -> Iterator[tuple[int, str]]:
    """Return what stands between quotes outside of comments, with its line."""
    for found in TOKENS.finditer(source):
        for name in ("text", "raw"):
            if (text := found.group(name)) is not None:
                yield source.count("\n", 0, found.start()) + 1, re.sub(r"\\\n\s*", "", text)


def code(source: str) -> str:
    """Return the file with blanks for comments and quoted texts; each line stays where it is."""
    return TOKENS.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), source)


def without_tests(source: str) -> str:
    """Return the file with blanks for the module of its own tests, which ends it."""
    beginning, marked, tests = source.partition("#[cfg(test)]\nmod tests {")
    return beginning + re.sub(r"[^\n]", " ", marked + tests)
