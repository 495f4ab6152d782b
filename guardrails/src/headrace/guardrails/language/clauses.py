"""Clauses that are no request: a question, a condition or a statement becomes one question, not its fragments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.guardrails.intents.draft import Doubt, Fact, Place
from headrace.guardrails.language.phrases import SENTENCE_ENDS, listed, phrase_at
from headrace.guardrails.language.spans import Chosen, in_order, owners, within

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.guardrails.language.phrases import Line

_CLAUSE_ENDS = SENTENCE_ENDS | {",", "<close>"}
_SAYS_NOTHING = frozenset({"cue", "marker", "turn", "it", "noun"})
# Orders that are asked as questions, and what names a transfer: those sentences are requests.
_ASKABLE = frozenset({"status", "list"})
_NAMES_A_TRANSFER = frozenset({"id", "named", "select", "all", "state"})
_COURTESIES = frozenset({"greeting", "thanks", "asking", "wish", "little words", "background"})
_SPELLED_OUT = frozenset({"source", "destination", "place"})
_POINTS = frozenset({"place", "at", "for"})
_SLOT_OF = {"condition": "action", "wait": "start"}
_NO_CONDITIONS = "a plan has no conditions: say what is to be done, and when it starts"
NO_REQUEST = {
    "condition": _NO_CONDITIONS,
    "wait": _NO_CONDITIONS,
    "question": "this reads as a question: say it as a request, such as copy, sync or move",
    "streams": "how many data connections a transfer has is an option: `--streams 4`, or the field `streams`",
    "statement": "this reads as a statement: say what is to be done now",
}
"""What to say of a clause that is no request, by the group of words that open it."""


def heard_out(chosen: Sequence[Chosen], line: Line) -> list[Chosen]:
    """Give the spans with each clause that is no request as one span that asks about it.

    Only a clause with words that no span owns is taken: what was understood in whole stays as it is.
    """
    clauses = _Clauses(chosen, line)
    for at in range(len(line.items)):
        clauses.take_condition(at)
    start = 0
    for at, item in enumerate(line.items):
        if item.symbol in SENTENCE_ENDS:
            clauses.take_sentence(start, at)
            start = at + 1
    return clauses.chosen()


class _Clauses:
    """The spans, and how a stretch of items becomes one that asks."""

    def __init__(self, chosen: Sequence[Chosen], line: Line) -> None:
        self._owners = owners(chosen)
        self._line = line
        self._items = line.items

    def chosen(self) -> list[Chosen]:
        """Give the spans in the order of the text."""
        return in_order({span.first: span for span in self._owners.values()}.values())

    def take_condition(self, at: int) -> None:
        """Take the clause that a condition's word opens here, up to the next order or mark."""
        width, kind = phrase_at(self._items, at, "clause")
        if not width or not self._is_free(at):
            return
        end = at + 1
        while self._items[end].symbol not in _CLAUSE_ENDS and not self._fills(end, {"action"}):
            end += 1
        inside = self._broken(at, end) if end > at + width else None
        if inside is not None:
            self._ask(self._launched(at) if kind == "wait" else at, end, kind, kept=())

    def _launched(self, at: int) -> int:
        """Give where a condition begins: "and start it once the crew has left" confirms no plan."""
        before = self._owner(at - 1) if at else None
        launches = before is not None and before.slots == {"confirm"} and before.first_word in listed("launch")
        if before is None or not launches or before.last != self._items[at].first:
            return at
        return next(start for start in range(at) if self._owner(start) is before)

    def take_sentence(self, start: int, end: int) -> None:
        """Take a sentence that asks or tells; places that it spells out stay certain."""
        while start < end and self._is_silent(start):
            start += 1
        inside = self._broken(start, end) if start < end else None
        if inside is None:
            return
        facts = [fact for span in inside for fact in span.facts]
        named = any(fact.slot in _NAMES_A_TRANSFER and not isinstance(fact.value, Doubt) for fact in facts)
        if named or any(fact.value in _ASKABLE for fact in facts):
            return
        # "what about 5 Gb/s?" proposes something: its words are read as any others.
        width, kind = phrase_at(self._items, start, "sentence") if self._is_free(start) else (0, "")
        if kind in NO_REQUEST:
            self._ask(start, end, kind, kept=[span for span in inside if _is_spelled_out(span)])
        told = {self._items[at].symbol for at in range(start, end) if self._owner(at) is None}
        silent = all(fact.slot in _SAYS_NOTHING | _POINTS and not _has_path(fact) for fact in facts)
        if not width and silent and not told.isdisjoint(listed("verb_in_clause")):
            self._ask(start, end, "statement", kept=())

    def _owner(self, at: int) -> Chosen | None:
        return self._owners.get(self._items[at].first)

    def _fills(self, at: int, slots: set[str]) -> bool:
        owner = self._owner(at)
        return owner is not None and not owner.slots.isdisjoint(slots)

    def _is_free(self, at: int) -> bool:
        owner = self._owner(at)
        return owner is None or owner.slots <= _SAYS_NOTHING

    def _is_silent(self, at: int) -> bool:
        owner = self._owner(at)
        return owner is not None and not owner.facts and owner.name in _COURTESIES

    def _broken(self, start: int, end: int) -> list[Chosen] | None:
        """Give the spans of a stretch in which words are owned by nothing, if no span reaches over its ends."""
        if all(self._owner(at) is not None for at in range(start, end)):
            return None
        first, last = self._items[start].first, self._items[end - 1].last
        here = (self._owners.get(token) for token in range(first, last))
        return within({span.first: span for span in here if span is not None}.values(), first, last)

    def _ask(self, start: int, end: int, kind: str, kept: Sequence[Chosen]) -> None:
        first, last = self._items[start].first, self._items[end - 1].last
        words = self._line.words(first, last)
        doubt = Doubt(f"`{words}`: {NO_REQUEST[kind]}")
        facts: tuple[Fact, ...] = (Fact(_SLOT_OF.get(kind, "action"), doubt, words, first, last),)
        gaps = zip([first, *(span.last for span in kept)], [*(span.first for span in kept), last], strict=True)
        asking = [Chosen(kind, (), self._line.words(*gap), *gap) for gap in gaps if gap[0] < gap[1]]
        asking[0] = Chosen(kind, facts, asking[0].words, asking[0].first, asking[0].last)
        self._owners |= owners(asking)


def _has_path(fact: Fact) -> bool:
    return isinstance(fact.value, Place) and (fact.value.path is not None or fact.value.url is not None)


def _is_spelled_out(span: Chosen) -> bool:
    return bool(span.facts) and all(fact.slot in _SPELLED_OUT and _has_path(fact) for fact in span.facts)
