"""Reasons: clauses that say why. They own their words only if nothing in them says what."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.guardrails.language.grammar import words_of
from headrace.guardrails.language.phrases import plain_word

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headrace.guardrails.language.phrases import Item

_ENDS = frozenset({",", ".", ";", "!", "?", ":", "<open>", "<close>", "<end>", "-"})
# What a span inside a reason may fill without being an order.
HARMLESS = frozenset({"step", "noun", "it", "marker", "cue", "turn"})
_MAX_ITEMS = 24
_REASONS = words_of("reason")
_NOT_IN_A_REASON = frozenset(words_of("wish_in_a_reason"))


def asides(items: Sequence[Item], filled: Mapping[int, frozenset[str]]) -> list[range]:
    """Find the reasons, as ranges of items.

    `filled` gives the slots that the chosen span of an item fills; items without one are unowned.
    """
    found: list[range] = []
    at = 0
    while at < len(items):
        end = _end_of(items, at)
        if end is not None and _harmless(items, range(at, end), filled):
            found.append(range(at, end))
            at = end
        else:
            at += 1
    return found


def _starts(items: Sequence[Item], at: int, phrases: Sequence[str]) -> int:
    for phrase in phrases:
        words = phrase.split(" ")
        if [plain_word(item) for item in items[at : at + len(words)]] == words:
            return len(words)
    return 0


def _end_of(items: Sequence[Item], at: int) -> int | None:
    """Give where the clause that starts here ends, if it starts like a reason."""
    if width := _starts(items, at, _REASONS):
        end = at + width
        while end < len(items) and items[end].symbol not in _ENDS:
            end += 1
        return end if at + width < end <= at + _MAX_ITEMS else None
    return None


def _harmless(items: Sequence[Item], clause: range, filled: Mapping[int, frozenset[str]]) -> bool:
    for number in clause:
        item = items[number]
        if item.value is not None or plain_word(item) in _NOT_IN_A_REASON:
            return False
        if not filled.get(number, frozenset()) <= HARMLESS:
            return False
    return True
