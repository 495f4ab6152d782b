"""The words that the reader knows: those of the grammar, and those of numbers, units and times."""

from __future__ import annotations

from headrace.guardrails.language.clock import CLOCK_WORDS
from headrace.guardrails.language.days import DAY_WORDS
from headrace.guardrails.language.grammar import KNOWN as WORDS_OF_PHRASES
from headrace.guardrails.language.grammar import RULES, words_of
from headrace.guardrails.language.lengths import LENGTH_WORDS
from headrace.guardrails.language.numbers import NUMBER_WORDS
from headrace.guardrails.language.units import UNIT_WORDS
from headrace.guardrails.language.zones import ZONE_WORDS

__all__ = ["KNOWN", "RULES"]

KNOWN = frozenset(
    set(words_of("turns_round"))
    | WORDS_OF_PHRASES
    | CLOCK_WORDS
    | DAY_WORDS
    | LENGTH_WORDS
    | NUMBER_WORDS
    | UNIT_WORDS
    | ZONE_WORDS
)
