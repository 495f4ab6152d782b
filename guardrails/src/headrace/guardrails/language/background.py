"""Background: clauses beside a request that say how things are, why, or who wants it. They own their words, no more.

The phrases of `grammar/background.txt` say what such a clause looks like; one of them has to be all of a clause.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from headrace.guardrails.intents.draft import Place
from headrace.guardrails.language.grammar import BACKGROUND, BACKGROUND_WORDS, TRANSFERS, words_of
from headrace.guardrails.language.phrases import CAPITAL_MARK, UNKNOWN_MARK, plain_word

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.guardrails.intents.draft import Value
    from headrace.guardrails.language.clauses import Make, Words
    from headrace.guardrails.language.lattice import Chosen
    from headrace.guardrails.language.phrases import Item

_ENDS = frozenset({",", ".", ";", "!", "?", ":", "<open>", "<close>", "<end>", "-"})
_GOES_ON = frozenset(words_of("after_background"))
# What a span inside may fill without saying what is to be done; an endpoint may be named as the place of something.
_SAYS_NOTHING = frozenset({"step", "noun", "it", "marker", "cue", "turn", "start", "at", "place"})
_CONTROLS = frozenset({"cancel", "pause", "resume"})
_ACTIONS = _CONTROLS | {*TRANSFERS, "status", "list", "modify", "confirm"}
_MAX_ITEMS = 24
_MAX_NAMES = 10
_CLOSINGS = frozenset(words_of("closing_word"))
_TITLES = frozenset(words_of("title"))
_RUNS_ON = frozenset(words_of("runs_on"))
_OPENERS = _RUNS_ON | {*words_of("opens_background")}
_GREETINGS = frozenset(words_of("calls"))
_NAMES = ("background", "background before an order", "background heading", "background of a control")
_ANYWHERE, _BEFORE, _HEADING, _OF_A_CONTROL = (
    re.compile("|".join(rule.expression for rule in BACKGROUND if rule.name == name)) for name in _NAMES
)


def with_background(chosen: list[Chosen], items: Sequence[Item], words: Words, make: Make) -> list[Chosen]:
    """Give the spans with each clause of background as one that fills nothing, if anything else says what to do."""
    owners = {token: span for span in chosen for token in range(span.first, span.last)}
    said = [_said(owners.get(item.first)) for item in items]
    goals = {_name(fact.value) for span in chosen for fact in span.facts if fact.slot == "destination"} - {""}
    goals = goals if any(one & {*TRANSFERS} for one in said) else set()
    at, end = 0, None
    while at < len(items) and any(said):
        if end := _signature(items, at) or _end_of(items, at, said):
            # A mark that belongs to the last word's span goes with it: "so that we have a copy - ...".
            span = owners.get(items[end - 1].first)
            while end < len(items) and span and items[end].symbol in _ENDS and items[end].first < span.last:
                end += 1
            first, last = items[at].first, items[end - 1].last
            inside = [span for span in chosen if first <= span.first < last or first < span.last <= last]
            # "archive is full" beside a copy to archive is asked about.
            apart = goals.isdisjoint(_name(item.value) for item in items[at:end])
            if apart and all(first <= span.first and span.last <= last for span in inside):
                made = make(_NAMES[0], (), words(first, last), first, last)
                chosen = [*(span for span in chosen if span not in inside), made]
        at = end or at + 1
    return sorted(chosen, key=lambda span: span.first)


def _name(value: Value | None) -> str:
    return (value.name or "").lower() if isinstance(value, Place) else ""


def _said(span: Chosen | None) -> frozenset[Value]:
    """Give what a span says of the request: the action that it orders, or the slots that it fills."""
    facts = () if span is None else span.facts
    orders = {fact.value for fact in facts if fact.slot == "action" and isinstance(fact.value, str)}
    return frozenset(
        orders or {fact.slot for fact in facts if fact.slot not in _SAYS_NOTHING and fact.value != "heard"}
    )


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


def _end_of(items: Sequence[Item], at: int, said: Sequence[frozenset[Value]]) -> int | None:
    """Give the end of the longest clause of background that starts here."""
    opens = at == 0 or items[at - 1].symbol in _ENDS or plain_word(items[at - 1]) in _GREETINGS
    if not opens and plain_word(items[at]) not in _OPENERS:
        return None
    limit = next((n for n in range(at, len(items)) if said[n] - _ACTIONS or n == at + _MAX_ITEMS), len(items) - 1)
    runs_on = plain_word(items[at]) in _RUNS_ON or items[at].text.startswith("@")
    ends = [end for end in range(at + 1, limit + 1) if _goes_on(items[end]) or (runs_on and said[end] & _ACTIONS)]
    before = [one for one in said[:at] if one]
    patterns = [_ANYWHERE, *([] if before else [_BEFORE]), *([_OF_A_CONTROL] if _is_stopped(before) else [])]
    for end in reversed(ends):
        clause = "".join(f"{_symbol(item)} " for item in items[at:end])
        heads = not before and items[end].symbol in (":", "-") and _begins(items[end + 1], said[end + 1])
        if any(pattern.fullmatch(clause) for pattern in (*patterns, *([_HEADING] if heads else []))):
            return end
    return None


def _begins(item: Item, said: frozenset[Value]) -> bool:
    """Say whether an order begins here: with its verb, with a place, or with a polite word."""
    return bool(said & _ACTIONS) or isinstance(item.value, Place) or plain_word(item) in _GOES_ON


def _symbol(item: Item) -> str:
    """Give the symbol of an item for phrases of background, which know more words than those of a request."""
    return word if (word := plain_word(item)) in BACKGROUND_WORDS else item.symbol


def _goes_on(item: Item) -> bool:
    return item.symbol in _ENDS or plain_word(item) in _GOES_ON


def _is_stopped(before: Sequence[frozenset[Value]]) -> bool:
    """Say whether the last order is about a transfer that there is: then a clause may say what is wrong with it."""
    return bool(next((one & _CONTROLS for one in reversed(before) if one & _ACTIONS), None))
