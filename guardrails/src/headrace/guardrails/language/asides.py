"""Asides: clauses that were not understood, beside an order that is whole without them, are offered to be left out.

Such a clause may be why, or news, or it may change the order in words that nobody listed: so it is never passed over.
One question names all of them; its choice is the request without them, and says what that means.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from headrace.guardrails.intents.answer import Choice, Interpretation, Question
from headrace.guardrails.intents.draft import Doubt, Place
from headrace.guardrails.intents.text import shown
from headrace.guardrails.language.canonical import canonical_sentence
from headrace.guardrails.language.phrases import SENTENCE_ENDS, listed, phrase_at, plain_word
from headrace.guardrails.language.spans import owners
from headrace.guardrails.language.statements import PLAIN_NOUNS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headrace.guardrails.language.phrases import Item, Line
    from headrace.guardrails.language.spans import Chosen
    from headrace.guardrails.language.tokens import Token

MARKS = SENTENCE_ENDS | {",", ":", "-", "<open>", "<close>"}
"""Where a clause ends."""
_ENDS_A_SENTENCE = SENTENCE_ENDS - {";", "<end>"}
# Marks with nothing before them.
_LEFT_OVER = re.compile(r"^[\s,.;:!?-]+|(?<=[.!?])(?:[ \t]+[.,;:!?])+(?=\s|$)|(?<=[\s])[ \t]+")
# What a clause may hold, though it is left out: a moment of its own, a number, the name of an endpoint.
_VALUES = frozenset({"<when>", "<whens>", "<dur>", "<day>", "<clock>", "<num>", "<ep>", "<name>"})
# What a span of it may say for certain: where and when something was, nothing that a plan could lose.
_SLOTS = frozenset({"step", "noun", "it", "cue", "turn", "start", "at", "place", "purpose", "for"})
# And what only joins clauses, or says that one listened.
_SAY_NOTHING = frozenset({("marker", "and"), ("marker", "opening"), ("confirm", "heard")})
# Spans that say of a clause that it is no request.
_NO_REQUEST = frozenset({"statement", "question"})
_TURNS = listed("turns_round", "either", "denies", "replaces", "quotes", "holds_back")
_MOVES = frozenset({"source", "destination", "start", "deadline"})


@dataclass(frozen=True, slots=True)
class Heard:
    """A request as it was read: its text, its tokens, the items that these are, and the spans chosen from them."""

    text: str
    tokens: Sequence[Token]
    line: Line
    chosen: Sequence[Chosen]


def with_offer(answer: Interpretation, heard: Heard, read: Callable[[str], Interpretation]) -> Interpretation:
    """Give the answer, with one question in place of all if the request is whole without what was not understood.

    `read` reads the request without it. Offered is nothing that could turn the order round or hold a value of a plan.
    """
    line, owned = heard.line, owners(heard.chosen)
    clauses = _unread(line.items, owned) if answer.outcome == "ask" else []
    if not clauses or not all(_may_go(line.items[first:last], owned) for first, last in clauses):
        return answer
    shorter = _without(heard, clauses)
    rest = read(shorter)
    certain, whole = answer.intent.to_json(), rest.intent.to_json()
    if rest.outcome != "intent" or any(whole.get(slot) != value for slot, value in certain.items()):
        return answer
    words = (line.words(line.items[first].first, line.items[last - 1].last) for first, last in clauses)
    named = "; ".join(f"`{shown(one)}`" for one in words)
    message = f"{named}: not understood. If it changes nothing of the request, leave it out"
    choice = Choice(shorter, canonical_sentence(rest.intent))
    return replace(answer, questions=(Question("action", message, heard.text, (choice,), 0, len(heard.text)),))


def unread(line: Line, owned: dict[int, Chosen], tokens: Sequence[Token]) -> list[tuple[int, int]]:
    """Give where the clauses stand in the text that hold words which were not understood."""
    pieces = [line.items[first:last] for first, last in _unread(line.items, owned)]
    return [(tokens[one[0].first].start, tokens[one[-1].last - 1].end) for one in pieces]


def _unread(items: Sequence[Item], owned: dict[int, Chosen]) -> list[tuple[int, int]]:
    """Give the clauses, from mark to mark, in which no span owns a word, or one says that they are no request."""
    found, start = [], 0
    for at, item in enumerate(items):
        if item.symbol not in MARKS:
            continue
        inside = [owned.get(one.first) for one in items[start:at]]
        if any(one is None or one.name in _NO_REQUEST for one in inside):
            found.append((start, at))
        start = at + 1
    return found


def _may_go(clause: Sequence[Item], owned: dict[int, Chosen]) -> bool:
    """Say whether a clause may be offered to be left out."""
    words = [plain_word(item) for item in clause]
    if not _TURNS.isdisjoint(words) or any(phrase_at(clause, at, "clause")[0] for at in range(len(clause))):
        return False
    for item in clause:
        if item.symbol.startswith("<") and item.symbol not in _VALUES:
            return False
        span = owned.get(item.first)
        for fact in span.facts if span is not None and span.name not in _NO_REQUEST else ():
            noun = fact.slot == "action" and (fact.value == "copy" or plain_word(item) in PLAIN_NOUNS)
            doubted = isinstance(fact.value, Doubt) and fact.slot in _SLOTS | {"action", "deadline", "include"}
            silent = fact.slot in _SLOTS or (fact.slot, fact.value) in _SAY_NOTHING
            if (not silent and not noun and not doubted) or (fact.slot == "cue" and fact.value not in _MOVES):
                return False
            if isinstance(fact.value, Place) and (fact.value.path is not None or fact.value.url is not None):
                return False
    return True


def _without(heard: Heard, clauses: Sequence[tuple[int, int]]) -> str:
    """Give the text without some clauses, each with the mark that is left over without it."""
    text, items, tokens = heard.text, heard.line.items, heard.tokens
    kept, position = [], 0
    for first, last in clauses:
        begin, end = first, last
        before = items[first - 1].symbol if first else "."
        if before == "<open>":
            begin -= 1
            end = next((at + 1 for at in range(last, len(items)) if items[at].symbol == "<close>"), last)
        elif before in _ENDS_A_SENTENCE:
            end = last + (items[last].symbol != "<open>")
        else:
            begin -= 1
        kept.append(text[position : tokens[items[begin].first].start])
        last_token = min(items[end - 1].last, len(tokens)) - 1
        position = max(position, tokens[last_token].end)
    return _LEFT_OVER.sub("", "".join([*kept, text[position:]])).strip()
