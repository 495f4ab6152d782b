"""Clauses that are no request: a question, a condition or a statement becomes one question, not its fragments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.guardrails.intents.draft import Doubt, Fact, Place
from headrace.guardrails.language.grammar import words_of
from headrace.guardrails.language.phrases import SENTENCE_ENDS, Openings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headrace.guardrails.language.lattice import Chosen
    from headrace.guardrails.language.phrases import Item

    Words = Callable[[int, int], str]
    Make = Callable[[str, tuple[Fact, ...], str, int, int], Chosen]

_CLAUSE_ENDS = SENTENCE_ENDS | {",", "<close>"}
_SAYS_NOTHING = frozenset({"cue", "marker", "turn", "it", "noun"})
# Orders that are asked as questions, and what names a transfer: those sentences are requests.
_ASKABLE = frozenset({"status", "list"})
_NAMES_A_TRANSFER = frozenset({"id", "named", "select", "all", "state"})
_COURTESIES = frozenset({"greeting", "thanks", "asking", "wish", "little words", "background"})
_VERBS = frozenset({"is", "are", "was", "were", "has", "have", "had", "did", "does", "isn't", "aren't", "wasn't"})
_POINTS = frozenset({"place", "at", "for"})
_SPELLED_OUT = frozenset({"source", "destination", "place"})
_SLOT_OF = {
    **dict.fromkeys(words_of("opens_condition"), "action"),
    **dict.fromkeys(words_of("opens_wait"), "start"),
}
_CONDITIONS = Openings(_SLOT_OF)
# "what about 5 Gb/s?" proposes something: its words are read as any others.
_KIND_OF = {
    **dict.fromkeys(words_of("opens_statement"), "statement"),
    **dict.fromkeys(words_of("opens_question"), "question"),
    **dict.fromkeys(words_of("opens_suggestion"), ""),
}
_SENTENCES = Openings(_KIND_OF)
_NO_CONDITIONS = "a plan has no conditions: say what is to be done, and when it starts"
NO_REQUEST = {
    "condition": _NO_CONDITIONS,
    "wait": _NO_CONDITIONS,
    "question": "this reads as a question: say it as a request, such as copy, sync or move",
    "statement": "this reads as a statement: say what is to be done now",
}
"""What to say of a clause that is no request, by the group of words that open it."""


def heard_out(chosen: Sequence[Chosen], items: Sequence[Item], words_of_tokens: Words, make: Make) -> list[Chosen]:
    """Give the spans with each clause that is no request as one span that asks about it.

    Only a clause with words that no span owns is taken: what was understood in whole stays as it is.
    """
    clauses = _Clauses(list(chosen), items, words_of_tokens, make)
    for at in range(len(items)):
        clauses.take_condition(at)
    start = 0
    for at, item in enumerate(items):
        if item.symbol in SENTENCE_ENDS:
            clauses.take_sentence(start, at)
            start = at + 1
    return clauses.chosen


class _Clauses:
    """The spans, and how a stretch of items becomes one that asks."""

    def __init__(self, chosen: list[Chosen], items: Sequence[Item], words_of_tokens: Words, make: Make) -> None:
        self.chosen = chosen
        self._owners = _owners(chosen)
        self._items = items
        self._words = words_of_tokens
        self._make = make

    def take_condition(self, at: int) -> None:
        """Take the clause that a condition's word opens here, up to the next order or mark."""
        opener = _CONDITIONS.at(self._items, at)
        if not opener or (self._owner(at) is not None and not self._owner_says_nothing(at)):
            return
        end = at + 1
        while self._items[end].symbol not in _CLAUSE_ENDS and not self._orders(end):
            end += 1
        if end > at + opener.count(" ") + 1 and self._is_broken(at, end):
            self._ask(at, end, "condition", _SLOT_OF[opener], kept=())

    def take_sentence(self, start: int, end: int) -> None:
        """Take a sentence that asks or tells; places that it spells out stay certain."""
        while start < end and self._is_silent(start):
            start += 1
        if start >= end or not self._is_broken(start, end):
            return
        inside = self._inside(start, end)
        facts = [fact for span in inside for fact in span.facts]
        named = any(fact.slot in _NAMES_A_TRANSFER and not isinstance(fact.value, Doubt) for fact in facts)
        if named or any(fact.value in _ASKABLE for fact in facts):
            return
        free = self._owner(start) is None or self._owner_says_nothing(start)
        if free and (opener := _SENTENCES.at(self._items, start)):
            if kind := _KIND_OF[opener]:
                self._ask(start, end, kind, "action", kept=[span for span in inside if _is_spelled_out(span)])
            return
        told = any(self._owner(at) is None and self._items[at].symbol in _VERBS for at in range(start, end))
        if told and all(fact.slot in _SAYS_NOTHING | _POINTS and not _has_path(fact) for fact in facts):
            self._ask(start, end, "statement", "action", kept=())

    def _inside(self, start: int, end: int) -> list[Chosen]:
        first, last = self._items[start].first, self._items[end - 1].last
        return [span for span in self.chosen if first <= span.first and span.last <= last]

    def _owner(self, at: int) -> Chosen | None:
        return self._owners.get(self._items[at].first)

    def _owner_says_nothing(self, at: int) -> bool:
        owner = self._owner(at)
        return owner is not None and all(fact.slot in _SAYS_NOTHING for fact in owner.facts)

    def _is_silent(self, at: int) -> bool:
        owner = self._owner(at)
        return owner is not None and not owner.facts and owner.name in _COURTESIES

    def _orders(self, at: int) -> bool:
        owner = self._owner(at)
        return owner is not None and any(fact.slot == "action" for fact in owner.facts)

    def _is_broken(self, start: int, end: int) -> bool:
        """Say whether words in here are owned by nothing, and no span reaches over its ends."""
        first, last = self._items[start].first, self._items[end - 1].last
        straddles = any(span.first < first < span.last or span.first < last < span.last for span in self.chosen)
        return not straddles and any(self._owner(at) is None for at in range(start, end))

    def _ask(self, start: int, end: int, kind: str, slot: str, kept: Sequence[Chosen]) -> None:
        first, last = self._items[start].first, self._items[end - 1].last
        words = self._words(first, last)
        fact = Fact(slot, Doubt(f"`{words}`: {NO_REQUEST[kind]}"), words, first, last)
        gone = [span for span in self._inside(start, end) if span not in kept]
        self.chosen = [span for span in self.chosen if span not in gone]
        facts: tuple[Fact, ...] = (fact,)
        at = first
        for span in [*sorted(kept, key=lambda one: one.first), None]:
            stop = last if span is None else span.first
            if at < stop:
                self.chosen.append(self._make(kind, facts, self._words(at, stop), at, stop))
                facts = ()
            at = stop if span is None else span.last
        self.chosen.sort(key=lambda span: span.first)
        self._owners = _owners(self.chosen)


def _owners(chosen: Sequence[Chosen]) -> dict[int, Chosen]:
    """Give the span that owns each token."""
    return {token: span for span in chosen for token in range(span.first, span.last)}


def _has_path(fact: Fact) -> bool:
    return isinstance(fact.value, Place) and (fact.value.path is not None or fact.value.url is not None)


def _is_spelled_out(span: Chosen) -> bool:
    return bool(span.facts) and all(
        fact.slot in ("source", "destination", "place") and _has_path(fact) for fact in span.facts
    )
