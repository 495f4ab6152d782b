"""The span lattice: every reading of every stretch of words, and the choice of the longest.

The rule that makes a reading safe is coverage: each token belongs to exactly one chosen span.
What belongs to none comes out as `leftover` and is asked about.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.guardrails.intents.draft import Doubt, Fact
from headrace.guardrails.language.background import with_background
from headrace.guardrails.language.clauses import heard_out
from headrace.guardrails.language.denials import denied
from headrace.guardrails.language.fields import apart
from headrace.guardrails.language.grammar import ACTION_OF, RULES
from headrace.guardrails.language.items import build_items
from headrace.guardrails.language.operators import operated
from headrace.guardrails.language.phrases import Hit, Item, Line, Reading
from headrace.guardrails.language.scope import FILTERS, scoped
from headrace.guardrails.language.spans import Chosen, in_order

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from headrace.guardrails.intents.context import Context
    from headrace.guardrails.language.tokens import Token


def read(tokens: Sequence[Token], context: Context, words_of: Callable[[int, int], str]) -> tuple[list[Chosen], Line]:
    """Give the chosen spans in the order of the text, and the items that they were chosen from."""
    line = Line([*build_items(tokens, context), Item("<end>", len(tokens), len(tokens) + 1, "")], words_of)
    places = context.registry.all_names
    heard = heard_out(with_background(_choose(line), line, places), line)
    chosen = apart(operated(scoped(denied(heard, line))))
    return chosen, line


_Span = tuple[int, int]
_Found = tuple[str, Hit, tuple[Reading, ...]]


def _choose(line: Line) -> list[Chosen]:
    """Choose spans, longest first; where that leaves words unowned, the spans that own the most."""
    spans: dict[_Span, _Found] = {}
    for found in ((rule.name, hit, tuple(rule.make(hit))) for rule, hit in line.hits(RULES)):
        span = (found[1].first, found[1].last)
        # Equal spans that disagree become a doubt about their slots.
        name, hit, readings = spans.get(span, found)
        spans[span] = (name, hit, _both(readings, found[2], found[1].words))
    owner = _longest_first(spans)
    starting: dict[int, list[int]] = {}
    for opens, closes in spans:
        starting.setdefault(opens, []).append(closes)
    for first, last in line.sentences():
        straddles = any(at in owner and owner[at][0] < at for at in (first, last))
        unowned = [at for at in range(first, last) if at not in owner]
        if unowned and not straddles:
            better = _owners(_best_cover(starting, first, last))
            if len(better) > last - first - len(unowned):
                for at in range(first, last):
                    owner.pop(at, None)
                owner |= better
    return in_order(_facts(*spans[span]) for span in {*owner.values()})


def _owners(spans: Iterable[_Span]) -> dict[int, _Span]:
    return {at: (first, last) for first, last in spans for at in range(first, last)}


def _longest_first(spans: Iterable[_Span]) -> dict[int, _Span]:
    """Choose spans, longest first, and give the one that owns each token."""
    owner: dict[int, _Span] = {}
    for first, last in sorted(spans, key=lambda span: span[0] - span[1]):
        if owner.keys().isdisjoint(range(first, last)):
            owner |= _owners([(first, last)])
    return owner


def _best_cover(starting: Mapping[int, Sequence[int]], first: int, last: int) -> list[_Span]:
    """Choose the spans of a sentence that own the most words: few long ones, if several choices do.

    `starting` says where the spans end that start at a token.
    """
    # From the end: the cost of what is left, and where the chosen span ends; at its start, if none is.
    costs: dict[int, tuple[int, int, int]] = {last: (0, 0, 0)}
    chosen: dict[int, int] = {}
    for at in range(last - 1, first - 1, -1):
        unowned, count, squares = costs[at + 1]
        costs[at], chosen[at] = (unowned + 1, count, squares), at
        for closes in (one for one in starting.get(at, ()) if one <= last):
            unowned, count, squares = costs[closes]
            cost = (unowned, count + 1, squares - (closes - at) ** 2)
            if cost < costs[at]:
                costs[at], chosen[at] = cost, closes
    cover, at = [], first
    while at < last:
        if chosen[at] > at:
            cover.append((at, chosen[at]))
        at = max(chosen[at], at + 1)
    return cover


def _both(first: tuple[Reading, ...], second: tuple[Reading, ...], words: str) -> tuple[Reading, ...]:
    """Join two readings of one span: the same, or a doubt about every slot of either."""
    if first == second or not second or not first:
        return first
    slots = dict.fromkeys(slot for slot, _ in (*first, *second))
    return tuple((slot, Doubt(f"`{words}` can be read in two ways; say it in other words")) for slot in slots)


def _facts(name: str, hit: Hit, readings: tuple[Reading, ...]) -> Chosen:
    named = [str(item.value) for item in hit.items if item.symbol in ("<id>", "<idof>")]
    if named and readings and not any(slot in ("id", "same") for slot, _ in readings):
        # "limit 7f3a to 1 Gb/s": an option that names its transfer.
        readings = (*readings, ("id", named[0]))
    verbs = [ACTION_OF[item.symbol] for item in hit.items if item.symbol in ACTION_OF]
    if verbs and readings and all(slot in FILTERS for slot, _ in readings):
        # "only fetch *.mrc from A to B": a filter that names the verb.
        readings = (*readings, ("weak_action", verbs[0]))
    facts = tuple(Fact(slot, value, hit.words, hit.first, hit.last) for slot, value in readings)
    return Chosen(name, facts, hit.words, hit.first, hit.last, hit.line)
