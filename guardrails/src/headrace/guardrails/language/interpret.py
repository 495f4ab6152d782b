"""From a person's words to an interpretation."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace
from typing import TYPE_CHECKING

from headrace.guardrails.intents.answer import Interpretation, Question, Refusal, Span
from headrace.guardrails.intents.draft import Place
from headrace.guardrails.intents.limits import MAX_CHARACTERS
from headrace.guardrails.intents.origins import Quote
from headrace.guardrails.intents.text import shown
from headrace.guardrails.intents.values import Intent
from headrace.guardrails.language.asides import Heard, unread, with_offer
from headrace.guardrails.language.assemble import assemble
from headrace.guardrails.language.lattice import read
from headrace.guardrails.language.phrases import listed
from headrace.guardrails.language.restarts import settled
from headrace.guardrails.language.spans import Chosen, owners, runs_of
from headrace.guardrails.language.tokens import Token, scan
from headrace.guardrails.resolve.request import resolve
from headrace.guardrails.resolve.said import certain_of, said_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headrace.guardrails.intents.context import Context
    from headrace.guardrails.intents.draft import Fact
    from headrace.guardrails.resolve.request import Resolved

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_DIRECTION = re.compile("[\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]")


def interpret(text: str, context: Context) -> Interpretation:
    """Read a request. Never raises: what is not understood is a question or a refusal.

    Limits: 4,000 characters. Control characters (but tab and line ends) and marks that change the
    direction of writing are refused wherever they stand.
    """
    return _read(text, context, lambda shorter: _read(shorter, context, None))


def _read(text: str, context: Context, again: Callable[[str], Interpretation] | None) -> Interpretation:
    """Read a request; `again` reads it without what was not understood, to offer that."""
    if refusals := _screened(text):
        return Interpretation("refuse", Intent(), refusals=refusals)
    tokens = scan(text)

    def words_of(first: int, last: int) -> str:
        owned = tokens[first : min(last, len(tokens))]
        return text[owned[0].start : owned[-1].end] if owned else ""

    def quote(fact: Fact) -> Quote | None:
        owned = tokens[fact.first : fact.last]
        return Quote(owned[0].start, owned[-1].end, text[owned[0].start : owned[-1].end]) if owned else None

    chosen, line = read(tokens, context, words_of)
    owned = owners(chosen)
    leftover = [item for item in line.items if item.first not in owned and item.symbol != "<end>"]
    draft = assemble(chosen, leftover, words_of)
    resolved = resolve(draft, context)
    answer = settled(resolved, draft.steps, chosen, words_of)
    unowned = [words_of(number, number + 1) for number in range(len(tokens)) if number not in owned]
    answer = _end_checked(answer, [*unowned, *(fact.words for fact in resolved.unused)])
    said = [
        said_of(intent, step, found, quote)
        for intent, step, found in zip(resolved.intents, draft.steps, resolved.findings, strict=True)
    ]
    if answer.outcome == "ask":
        answer, said[0] = certain_of(answer, said, draft, unread(line, owned, tokens) if "action" in answer.ask else ())
    if again is not None:
        answer = with_offer(answer, Heard(text, tokens, line, chosen), again)
    stretches = [(one.first, one.last) for one in chosen] + [(run[0].first, run[-1].last) for run in runs_of(leftover)]
    spans = tuple(spans_of(answer, chosen, tokens, resolved))
    told = said[0] if not answer.intent.then else ()
    narrowed = replace(answer, questions=tuple(_narrowed(question, chosen) for question in answer.questions))
    return replace(_placed(narrowed, text, tokens, stretches), spans=spans, said=told)


def _narrowed(question: Question, chosen: Sequence[Chosen]) -> Question:
    """Ask about its own words alone where a phrase says something else as well: an answer takes the place of all."""
    phrases = [one for one in chosen if one.words == question.words and len({fact.slot for fact in one.facts}) > 1]
    if len(phrases) != 1 or question.choices or question.start is not None:
        return question
    said = [(fact.slot == question.slot, str(getattr(fact.value, "words", ""))) for fact in phrases[0].facts]
    own, others = ({words for is_own, words in said if is_own is wanted} for wanted in (True, False))
    words = own.pop() if len(own) == 1 else ""
    apart = words and words not in others and phrases[0].words.count(words) == 1
    return replace(question, words=words) if apart else question


def _placed(
    answer: Interpretation, text: str, tokens: Sequence[Token], owned: Sequence[tuple[int, int]]
) -> Interpretation:
    """Say where the words of each question stand, so that an answer can take their place and no other."""
    places: dict[str, list[tuple[int, int]]] = {}
    for first, last in owned:
        piece = tokens[first : min(last, len(tokens))]
        if piece:
            start, end = piece[0].start, piece[-1].end
            places.setdefault(text[start:end], []).append((start, end))
    placed = []
    for question in answer.questions:
        found = places.get(question.words or "", []) if question.start is None else []
        if question.words and not found and question.start is None and text.count(question.words) == 1:
            found = [(text.index(question.words), text.index(question.words) + len(question.words))]
        placed.append(replace(question, start=found[0][0], end=found[0][1]) if len(found) == 1 else question)
    return replace(answer, questions=tuple(placed))


def _end_checked(answer: Interpretation, lost: Sequence[str]) -> Interpretation:
    """Let an intent leave only if every word was understood, and everything that was understood reached it."""
    questions = tuple(
        Question("action", f"`{shown(words)}` does not go with the rest of the request", words)
        for words in dict.fromkeys(lost)
    )
    return replace(answer, outcome="ask", questions=questions) if questions and answer.outcome == "intent" else answer


def _screened(text: str) -> tuple[Refusal, ...]:
    if len(text) > MAX_CHARACTERS:
        message = f"a request may have {MAX_CHARACTERS} characters, this one has {len(text)}"
        return (Refusal("too_long", message, shown(text[:40])),)
    for pattern, rule, what in (
        (_CONTROL, "control_character", "a control character"),
        (_DIRECTION, "direction_mark", "a mark that reorders what is shown"),
    ):
        if match := pattern.search(text):
            around = text[max(0, match.start() - 20) : match.end() + 20]
            name = unicodedata.name(match[0], f"U+{ord(match[0]):04X}")
            message = f"the request holds {what} ({name}) at `{shown(around)}`: take it out"
            return (Refusal(rule, message, shown(around)),)
    return ()


def spans_of(
    answer: Interpretation, chosen: Sequence[Chosen], tokens: Sequence[Token], resolved: Resolved
) -> list[Span]:
    """Give each owned stretch of words with the slots that it fills; a place with the end that it became."""
    form = answer.intent.to_json()
    ends: dict[Fact, tuple[str, object]] = {}
    for found in resolved.findings:
        for slot, facts in found.placed.items():
            for fact in facts:
                ends.setdefault(fact, (slot, found.values.get(slot)))
    spans: list[Span] = []
    for one in chosen:
        first, last = tokens[one.first : one.first + 1], tokens[one.last - 1 : one.last]
        if not first:
            continue
        end = last[0].end if last else tokens[-1].end
        filled: dict[str, str] = {}
        for fact in one.facts:
            slot, value = ends.get(fact, (fact.slot, None))
            if isinstance(fact.value, Place):
                filled.setdefault(slot, str(value or fact.value.words))
            else:
                filled.setdefault(fact.slot, _told(form.get(fact.slot, one.name)))
        spans += [Span(first[0].start, end, one.words, *read) for read in (filled or {"-": one.name}).items()]
    return spans


def _told(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def asks_to_read_back(words: str) -> bool:
    """Say whether words for verification ask for it where the files lie ("verify afterwards"), not on their way."""
    said = f" {words.lower()} "
    return any(f" {one} " in said for one in listed("reads_back"))
