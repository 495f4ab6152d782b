"""Reasons: clauses that say why. They own their words only if nothing in them says what."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.guardrails.language.grammar import words_of
from headrace.guardrails.language.phrases import CAPITAL_MARK, SENTENCE_ENDS, UNKNOWN_MARK, Openings, plain_word

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headrace.guardrails.language.phrases import Item

_ENDS = frozenset({",", ".", ";", "!", "?", ":", "<open>", "<close>", "<end>", "-"})
# What a span inside a reason may fill without being an order.
HARMLESS = frozenset({"step", "noun", "it", "marker", "cue", "turn"})
_SOON = frozenset({"start"})
_WHERE = frozenset({"at", "place"})
_WISHES = frozenset({"want", "wants", "need", "needs", "like", "prefer", "send", "go", "goes"})
_MAX_ITEMS = 24
_MAX_NAMES = 10
_CLOSINGS = frozenset(words_of("closing_word"))
_TITLES = frozenset(words_of("title"))
_REASONS = Openings(words_of("reason"))
_WITH_A_VERB = Openings(words_of("reason_with_verb"))
_PURPOSES = frozenset(words_of("purpose"))
_PEOPLE = frozenset(words_of("people"))
_VERBS = frozenset(words_of("verb_of_a_reason"))
# What a sentence that tells begins with, what makes it a condition or a wish, and what asks for something after it.
_TELLS = frozenset(words_of("tells"))
_NO_CONTEXT = frozenset(words_of("no_context"))
_ASKS = tuple(words_of("asks_then"))
_NOT_IN_A_REASON = frozenset(words_of("wish_in_a_reason"))


def asides(items: Sequence[Item], filled: Mapping[int, frozenset[str]]) -> list[range]:
    """Find the reasons, as ranges of items.

    `filled` gives the slots that the chosen span of an item fills; items without one are unowned.
    """
    found: list[range] = []
    at = 0
    while at < len(items):
        end = _signature(items, at)
        if end is None and (end := _end_of(items, at)) is not None and not _harmless(items, range(at, end), filled):
            end = None
        if end is not None:
            found.append(range(at, end))
            at = end
        else:
            at += 1
    return found


def _signature(items: Sequence[Item], at: int) -> int | None:
    """Give the end of the names below a closing, at the end of a letter: "Kind regards, Dr. A. Novak"."""
    if not at or plain_word(items[at - 1]) not in _CLOSINGS:
        return None
    names = [item.symbol.startswith(f"{UNKNOWN_MARK}{CAPITAL_MARK}") or item.text.isupper() for item in items[at:]]
    plain = [item.symbol in _ENDS or plain_word(item) in _TITLES for item in items[at:]]
    if sum(item.symbol.startswith(UNKNOWN_MARK) for item in items[at:]) == 1:
        names = [item.symbol.startswith(UNKNOWN_MARK) for item in items[at:]]
    signed = any(names) and len(names) <= _MAX_NAMES and all(map(max, names, plain))
    return len(items) if signed else None


def _end_of(items: Sequence[Item], at: int) -> int | None:
    """Give where the clause that starts here ends, if it starts like a reason."""
    if end := _before_so(items, at):
        return end
    opens = at == 0 or items[at - 1].symbol in _ENDS
    if opening := _REASONS.at(items, at) or (opens and _WITH_A_VERB.at(items, at)) or "":
        width = opening.count(" ") + 1
        end = at + width
        while end < len(items) and items[end].symbol not in _ENDS:
            end += 1
        if opening in _PURPOSES and not _of_people(items[at + width : end]):
            return None
        told = opening in _REASONS or any(plain_word(item) in _VERBS for item in items[at + width : end])
        return end if told and at + width < end <= at + _MAX_ITEMS else None
    return None


def _of_people(clause: Sequence[Item]) -> bool:
    """Say whether a clause begins with people: "we", "Anna", "the team"."""
    head = clause[:3]
    named = bool(head) and head[0].symbol.startswith(f"{UNKNOWN_MARK}{CAPITAL_MARK}")
    return named or any(plain_word(item) in _PEOPLE for item in head)


def _before_so(items: Sequence[Item], at: int) -> int | None:
    """Give the end of a clause that opens a sentence and says why: "the disk is full, please ..."."""
    if at and items[at - 1].symbol not in SENTENCE_ENDS:
        return None
    end = at
    while end < len(items) and items[end].symbol not in _ENDS:
        end += 1
    so = [plain_word(item) for item in items[end : end + 2]] == [",", "so"]
    clause, asks = {plain_word(item) for item in items[at:end]}, " ".join(map(plain_word, items[end + 1 : end + 3]))
    told = plain_word(items[at]) in _TELLS and not clause.isdisjoint(_VERBS) and clause.isdisjoint(_NO_CONTEXT)
    opens = told and end < len(items) and items[end].symbol in (",", ".") and asks.startswith(_ASKS)
    return end if (so or opens) and at < end <= at + _MAX_ITEMS else None


def _harmless(items: Sequence[Item], clause: range, filled: Mapping[int, frozenset[str]]) -> bool:
    words = {plain_word(items[number]) for number in clause}
    if "<ep>" in words and not words.isdisjoint(_WISHES):
        # "because I want it at NCSA" says where.
        return False
    for number in clause:
        item = items[number]
        if (item.value is not None and item.symbol != "<ep>") or plain_word(item) in _NOT_IN_A_REASON:
            return False
        if not filled.get(number, frozenset()) <= HARMLESS | _SOON | _WHERE:
            return False
    return True
