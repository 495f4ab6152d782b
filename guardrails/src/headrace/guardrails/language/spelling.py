"""Understands slips in ordinary words. Names, numbers and units are never touched.

A word is only read as another one when it is unknown, no real word of its own, long enough, and
exactly one ordinary word is that near. Anything else stays as it is and is asked about.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import groupby

from rapidfuzz.distance import OSA
from rapidfuzz.process import extract

from headrace.guardrails.language.phrases import listed, table

ORDINARY = listed("ordinary")
_REAL_WORDS = listed("real_word", "foreign_word")
_SLIPS = table("slip")
_SHORTEST = 4
_LONG = 9


_BY_LENGTH = {length: [*words] for length, words in groupby(sorted(ORDINARY, key=len), key=len)}


def is_real_word(word: str) -> bool:
    """Say whether a word is no slip, though it looks like one."""
    return word in _REAL_WORDS


@lru_cache(maxsize=4096)
def corrected(word: str) -> str:
    """Give the ordinary word that an unknown word is a slip of, or the word itself."""
    if word in _SLIPS:
        return _SLIPS[word]
    if len(word) < _SHORTEST or not word.isascii() or not word.isalpha() or word in _REAL_WORDS:
        return word
    near = _within(word, 1)
    if not near and len(word) >= _LONG:
        near = _within(word, 2)
    return near[0] if len(near) == 1 else word


def _within(word: str, distance: int) -> list[str]:
    """Give the ordinary words that are so near; two of them, if there are more."""
    lengths = range(len(word) - distance, len(word) + distance + 1)
    alike = [ordinary for length in lengths for ordinary in _BY_LENGTH.get(length, ())]
    return [near for near, _, _ in extract(word, alike, scorer=OSA.distance, score_cutoff=distance, limit=2)]
