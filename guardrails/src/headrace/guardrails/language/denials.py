"""Denials: words like "not", "or" and "forbidden" that no phrase owns are asked about with what they may turn round.

"don't you dare pause 7f3a21" is one question about the order, "priority high or low" one about the priority: a question
about `or low` alone would leave `priority high` standing, and an answer to it would make a plan.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from headrace.guardrails.intents.draft import Doubt, Fact
from headrace.guardrails.language.grammar import words_of
from headrace.guardrails.language.phrases import SENTENCE_ENDS, plain_word
from headrace.guardrails.language.scope import LIMITS, OPTIONS, opens_exclusion

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.guardrails.language.clauses import Make, Words
    from headrace.guardrails.language.lattice import Chosen
    from headrace.guardrails.language.phrases import Item

_TURNS_ROUND = frozenset(words_of("turns_round"))
_CARRYING = frozenset(words_of("carrying"))
# What such a word may also stand behind: "no encryption needed".
_CHECKED = frozenset({"encryption", "verify"})
_EITHER = frozenset(words_of("either"))
_PREDICATES = frozenset(words_of("predicate"))
_RESTRICTING = frozenset(words_of("restricting"))
_DENIABLE = OPTIONS | {"action", "clear", "delete_place", "delete_nothing"}
_PLACES = frozenset({"source", "destination", "place", "at", "for", "id", "it", "named", "all", "select"})


def denied(chosen: Sequence[Chosen], items: Sequence[Item], words: Words, make: Make) -> list[Chosen]:
    """Give the spans with each that unowned words may turn round as one question, together with these words."""
    spans = list(chosen)
    for cue, span in pairwise(chosen):
        # "skip those from Monday" does not take them.
        if opens_exclusion(cue) and cue.last == span.first and span.facts and _slots(span) <= LIMITS:
            spans = _merged(spans, [span], (cue.first, cue.last), words, make)
    for run in _runs(spans, items):
        if _carries(spans, run):
            first, last = run[0].first, run[-1].last
            carrying = make("little words", (), words(first, last), first, last)
            spans = sorted([*spans, carrying], key=lambda one: one.first)
            continue
        reached = _reached(spans, run)
        if reached is not None:
            spans = _merged(spans, reached, (run[0].first, run[-1].last), words, make)
    return spans


def _carries(spans: Sequence[Chosen], run: Sequence[Item]) -> bool:
    """Say whether unowned words only carry the option beside them: "please *make* the limit 2 Gb/s"."""
    left, right = _neighbours(spans, run[0].first, run[-1].last)
    options = _is_option(left, _CHECKED) or _is_option(right, OPTIONS)
    return options and _CARRYING.issuperset(plain_word(item) for item in run)


def _is_option(span: Chosen | None, slots: frozenset[str]) -> bool:
    """Say whether a span fills some slot of these, without a doubt."""
    if span is None or not _slots(span) & slots:
        return False
    return not any(isinstance(fact.value, Doubt) for fact in span.facts)


def _merged(
    spans: Sequence[Chosen], reached: Sequence[Chosen], run: tuple[int, int], words: Words, make: Make
) -> list[Chosen]:
    """Make one span that asks of unowned words and what they may turn round: the order before them, if nothing else."""
    first = min([run[0], *(one.first for one in reached)])
    last = max([run[1], *(one.last for one in reached)])
    said = words(first, last)
    doubt = Doubt(f"`{said}`: say what holds, and only that")
    heads = reached[:1] if len(reached) > 1 and _slots(reached[1]) <= _slots(reached[0]) | {"start"} else reached
    facts = [_asked(fact, doubt, said) for one in heads for fact in one.facts]
    made = make("denied", tuple(facts or [Fact("action", doubt, said, first, last)]), said, first, last)
    rest = (one for one in spans if one.last <= first or last <= one.first)
    return sorted([*rest, made], key=lambda one: one.first)


def _reached(spans: Sequence[Chosen], run: Sequence[Item]) -> list[Chosen] | None:
    """Give the spans that a run of unowned words may turn round; an empty list is the order before it, None nothing."""
    said = {plain_word(item) for item in run}
    left, right = _neighbours(spans, run[0].first, run[-1].last)
    after_order = left is not None and _ends_an_order(spans, left)
    if _TURNS_ROUND.isdisjoint(said) and _EITHER.isdisjoint(said):
        if left is not None and _slots(left) & OPTIONS and plain_word(run[0]) in _RESTRICTING:
            return [left]
        predicate = after_order and plain_word(run[0]) in _PREDICATES
        return ([left] if left is not None and "action" in _slots(left) else []) if predicate else None
    of_right = right is not None and _is_deniable(right) and plain_word(run[0]) not in _PREDICATES
    of_left = left is not None and _is_deniable(left) and not (of_right and _EITHER.isdisjoint(said))
    reached = [one for one, taken in ((left, of_left), (right, of_right)) if one is not None and taken]
    return reached or ([] if after_order else None)


def _asked(fact: Fact, doubt: Doubt, said: str) -> Fact:
    if fact.slot not in _DENIABLE or isinstance(fact.value, Doubt):
        return fact
    reading = fact.value if isinstance(fact.value, str | bool) else None
    return replace(fact, value=replace(doubt, reading=reading), words=said)


def _slots(span: Chosen) -> set[str]:
    return {fact.slot for fact in span.facts}


def _is_deniable(span: Chosen) -> bool:
    return any(fact.slot in _DENIABLE for fact in span.facts)


def _ends_an_order(spans: Sequence[Chosen], left: Chosen) -> bool:
    """Say whether a span is the last word of an order: what is said of it then is said of the order."""
    before = [span for span in spans if span.first <= left.first]
    ordered = any(fact.slot == "action" for span in before for fact in span.facts)
    return ordered and any(fact.slot in _PLACES for fact in left.facts)


def _runs(spans: Sequence[Chosen], items: Sequence[Item]) -> list[list[Item]]:
    owned = {token for span in spans for token in range(span.first, span.last)}
    runs: list[list[Item]] = []
    for item in items:
        if item.first in owned or item.symbol in SENTENCE_ENDS:
            continue
        if runs and runs[-1][-1].last == item.first:
            runs[-1].append(item)
        else:
            runs.append([item])
    return runs


def _neighbours(spans: Sequence[Chosen], first: int, last: int) -> tuple[Chosen | None, Chosen | None]:
    """Give the spans right before and right after some tokens; articles between are passed over."""
    left = next((span for span in spans if span.last == first), None)
    at = last
    while (right := next((span for span in spans if span.first == at and span.last > at), None)) is not None:
        if right.facts or right.name != "articles":
            break
        at = right.last
    return left, right
