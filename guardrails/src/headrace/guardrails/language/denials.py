"""Denials: words like "not", "or" and "forbidden" that no phrase owns are asked about with what they may turn round.

"don't you dare pause 7f3a21" is one question about the order, "priority high or low" one about the priority: a question
about `or low` alone would leave `priority high` standing, and an answer to it would make a plan.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from headrace.guardrails.intents.draft import Doubt, Fact
from headrace.guardrails.language.phrases import SENTENCE_ENDS, listed, plain_word
from headrace.guardrails.language.scope import LIMITS, OPTIONS
from headrace.guardrails.language.spans import Chosen, asked, in_order, owners, runs_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.guardrails.language.phrases import Item, Line

# What a word that carries an option may also stand behind: "no encryption needed".
_CHECKED = frozenset({"encryption", "verify"})
_DENIABLE = OPTIONS | {"action", "clear", "delete_place", "delete_nothing"}
_PLACES = frozenset({"source", "destination", "place", "at", "for", "id", "it", "named", "all", "select"})


def denied(chosen: Sequence[Chosen], line: Line) -> list[Chosen]:
    """Give the spans with each that unowned words may turn round as one question, together with these words."""
    spans = list(chosen)
    for cue, span in pairwise(chosen):
        # "skip those from Monday" does not take them.
        if cue.says("cue", "exclude") and cue.last == span.first and span.facts and span.slots <= LIMITS:
            spans = _merged(spans, [span], (cue.first, cue.last), line)
    owned = owners(spans)
    places = _Places(spans)
    for run in runs_of(one for one in line.items if one.first not in owned and one.symbol not in SENTENCE_ENDS):
        first, last = run[0].first, run[-1].last
        if _carries(places, run):
            spans = in_order(spans, Chosen("little words", (), line.words(first, last), first, last))
        elif (reached := _reached(places, run)) is not None:
            spans = _merged(spans, reached, (first, last), line)
        else:
            continue
        places = _Places(spans)
    return spans


class _Places:
    """Where spans begin and end, and where the first order does."""

    def __init__(self, spans: Sequence[Chosen]) -> None:
        self._starting = {span.first: span for span in spans}
        self._ending = {span.last: span for span in spans}
        self.first_order = min((span.first for span in spans if "action" in span.slots), default=None)

    def beside(self, run: Sequence[Item]) -> tuple[Chosen | None, Chosen | None]:
        """Give the spans right before and right after some words; articles between are passed over."""
        right = None
        at = run[-1].last
        while (span := self._starting.get(at)) and (right is None or (right.name == "articles" and not right.facts)):
            at, right = span.last, span
        return self._ending.get(run[0].first), right


def _carries(places: _Places, run: Sequence[Item]) -> bool:
    """Say whether unowned words only carry the option beside them: "please *make* the limit 2 Gb/s"."""
    beside = zip(places.beside(run), (_CHECKED, OPTIONS), strict=True)
    options = any(span is not None and span.is_certain and span.slots & slots for span, slots in beside)
    return options and listed("carrying").issuperset(plain_word(item) for item in run)


def _merged(spans: Sequence[Chosen], reached: Sequence[Chosen], run: tuple[int, int], line: Line) -> list[Chosen]:
    """Make one span that asks of unowned words and what they may turn round: the order before them, if nothing else."""
    first = min([run[0], *(one.first for one in reached)])
    last = max([run[1], *(one.last for one in reached)])
    said = line.words(first, last)
    doubt = Doubt(f"`{said}`: say what holds, and only that")
    heads = reached[:1] if len(reached) > 1 and reached[1].slots <= reached[0].slots | {"start"} else reached
    facts = [
        fact if fact.slot not in _DENIABLE or isinstance(fact.value, Doubt) else replace(asked(fact, doubt), words=said)
        for one in heads
        for fact in one.facts
    ]
    made = Chosen("denied", tuple(facts or [Fact("action", doubt, said, first, last)]), said, first, last)
    return in_order((one for one in spans if one.last <= first or last <= one.first), made)


def _reached(places: _Places, run: Sequence[Item]) -> list[Chosen] | None:
    """Give the spans that a run of unowned words may turn round; an empty list is the order before it, None nothing."""
    said, opens = {plain_word(item) for item in run}, plain_word(run[0])
    left, right = places.beside(run)
    predicate, either = opens in listed("predicate"), not listed("either").isdisjoint(said)
    after_order = left is not None and _ends_an_order(places, left)
    if not either and listed("turns_round").isdisjoint(said):
        if left is not None and left.slots & OPTIONS and opens in listed("restricting"):
            return [left]
        return ([left] if left and "action" in left.slots else []) if after_order and predicate else None
    of_right = right is not None and bool(right.slots & _DENIABLE) and not predicate
    of_left = left is not None and bool(left.slots & _DENIABLE) and (either or not of_right)
    reached = [one for one, taken in ((left, of_left), (right, of_right)) if one is not None and taken]
    return reached or ([] if after_order else None)


def _ends_an_order(places: _Places, left: Chosen) -> bool:
    """Say whether a span is the last word of an order: what is said of it then is said of the order."""
    ordered = places.first_order is not None and places.first_order <= left.first
    return ordered and bool(left.slots & _PLACES)
