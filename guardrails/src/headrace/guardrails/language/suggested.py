"""What a language model suggests of a request that was asked about: quotes, which the grammar confirms or drops.

A model gives no values. It says which stretches of the text say nothing of the transfer (background), and which words
carry which slot. A stretch is left out only if nothing in it could reach the order (`harmless.py`); what is left is
read by `interpret` with its end check, and every slot must be one that the model quoted. Otherwise the questions stand
as they were. A suggestion is trusted like a stranger's request: no value and no order comes from it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Final, cast

from headrace.guardrails.intents.answer import Span
from headrace.guardrails.intents.origins import Quote
from headrace.guardrails.intents.values import Slots
from headrace.guardrails.language.harmless import harmless_in
from headrace.guardrails.language.interpret import interpret

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from headrace.guardrails.intents.answer import Interpretation
    from headrace.guardrails.intents.context import Context
    from headrace.guardrails.intents.origins import Said

LEFT_OUT: Final = "left out by the model"
"""What the span of a stretch that the model called background reads."""
_PLANNED = frozenset({"copy", "sync", "move"})
_MAX_QUOTES: Final = 40
_MAX_BACKGROUND: Final = 8
_MAX_ROLE: Final = 40
ROLES: Final = ("action", *sorted({field.name for field in fields(Slots)}))
"""What a quote may be said to carry."""


class Unconfirmed(ValueError):  # noqa: N818 - says what is the case
    """A suggestion that breaks a rule or is not confirmed by the grammar; the message says which, without any words."""


@dataclass(frozen=True, slots=True)
class ModelMarkup:
    """What a model says of a request: quotes with the slot that each carries, and quotes of what is background."""

    slots: tuple[tuple[str, str], ...]
    background: tuple[str, ...]

    @classmethod
    def read(cls, answer: str) -> ModelMarkup:
        """Read a model's answer; raises `Unconfirmed` unless it has exactly the form of `SCHEMA`."""
        try:
            body = json.loads(answer)
        except (ValueError, RecursionError) as error:
            message = "the answer is not JSON"
            raise Unconfirmed(message) from error
        if not _is_form(body):
            message = "the answer does not have the form that was asked for"
            raise Unconfirmed(message)
        form = cast("dict[str, list[dict[str, str]]]", body)
        background = tuple(one["quote"] for one in form["background"])
        return cls(tuple((one["quote"], one["role"]) for one in form["slots"]), background)


def _form(required: dict[str, object]) -> dict[str, object]:
    return {"type": "object", "additionalProperties": False, "required": [*required], "properties": required}


SCHEMA: Final[dict[str, object]] = _form(
    {
        "slots": {
            "type": "array",
            "items": _form({"quote": {"type": "string"}, "role": {"type": "string", "enum": [*ROLES]}}),
        },
        "background": {"type": "array", "items": _form({"quote": {"type": "string"}})},
    }
)
"""The JSON schema of an answer, in the strict form of OpenAI-compatible endpoints."""


def _is_form(body: object) -> bool:
    if not isinstance(body, dict) or body.keys() != {"slots", "background"}:
        return False
    slots, background = body["slots"], body["background"]
    if not isinstance(slots, list) or not isinstance(background, list):
        return False
    if len(slots) > _MAX_QUOTES or len(background) > _MAX_BACKGROUND:
        return False
    return all(_is_quote(one, {"quote", "role"}) and one["role"] in ROLES for one in slots) and all(
        _is_quote(one, {"quote"}) for one in background
    )


def _is_quote(one: object, keys: set[str]) -> bool:
    return isinstance(one, dict) and one.keys() == keys and all(isinstance(text, str) and text for text in one.values())


def confirmed(text: str, context: Context, asked: Interpretation, suggestion: ModelMarkup) -> Interpretation:
    """Give the reading that the grammar confirms of what a model suggests; raises `Unconfirmed`.

    `asked` is what `interpret` made of the same text and context: questions. The reading is a whole copy, sync or
    move of the person's words without what was left out (`left_out`); `by_model` names its slots that rest on the
    model: the action always, for it holds only if the rest is background.
    """
    if asked.outcome != "ask":
        message = "only a question can become a reading"
        raise Unconfirmed(message)
    stretches = _stretches(text, context, suggestion)
    _require_questions_about(asked, text, stretches)
    rest = _without(text, stretches)
    answer = interpret(rest, context)
    if answer.outcome != "intent" or answer.intent.action not in _PLANNED or answer.intent.then:
        message = "without what was called background, it is not a complete transfer"
        raise Unconfirmed(message)
    _require_same_readings(asked, answer, stretches)
    _require_slots(text, answer.said, suggestion, stretches)
    known = {one.slot: one.value for one in asked.said}
    rests = {one.slot for one in answer.said if one.slot not in known or known[one.slot] != one.value}
    left_out = tuple(Quote(start, end, text[start:end]) for start, end, _, _ in stretches)
    spans = [Span(one.start, one.end, one.text, "-", LEFT_OUT) for one in left_out]
    return replace(
        answer,
        spans=tuple(sorted((*answer.spans, *spans), key=lambda span: span.start)),
        left_out=left_out,
        by_model=frozenset({*rests, "action"}),
    )


_Stretch = tuple[int, int, int, int]
"""Where a stretch stands, and where it does with the mark that goes with it."""


def _stretches(text: str, context: Context, suggestion: ModelMarkup) -> list[_Stretch]:
    """Give each stretch that the model calls background; raises if one is none, or could reach the order."""
    allowed = harmless_in(text, context)
    found: list[_Stretch] = []
    for quote in suggestion.background:
        places = list(_places(text, quote))
        if len(places) != 1:
            message = "a quote of background does not stand in the request exactly once"
            raise Unconfirmed(message)
        [(first, last)] = places
        inside = [one for one in allowed if first <= one[0] and one[1] <= last]
        held = {at for one in inside for at in range(one[2], one[3])}
        if not inside or any(at not in held and text[at].isalnum() for at in range(first, last)):
            message = "what was called background could say something of the transfer"
            raise Unconfirmed(message)
        found += inside
    if not found:
        message = "nothing was called background"
        raise Unconfirmed(message)
    return sorted(set(found))


def _places(text: str, quote: str) -> Iterator[tuple[int, int]]:
    at = text.find(quote)
    while at >= 0:
        yield at, at + len(quote)
        at = text.find(quote, at + 1)


def _without(text: str, stretches: Sequence[_Stretch]) -> str:
    """Give the text with blanks in place of the stretches, so that everything else stays where it stands."""
    for _, _, first, last in stretches:
        text = text[:first] + " " * (last - first) + text[last:]
    return text


def _meets(one: tuple[int, int], others: Iterable[tuple[int, int]]) -> bool:
    return any(one[0] < last and first < one[1] for first, last in others)


def _require_questions_about(asked: Interpretation, text: str, stretches: Sequence[_Stretch]) -> None:
    """Let no question go away that is asked about words which stay."""
    places = [(first, last) for first, last, _, _ in stretches]
    for question in asked.questions:
        words = question.words
        here = [(question.start or 0, question.end or 0)] if question.start is not None else None
        if words is None:
            continue
        if not all(_meets(one, places) for one in here or _places(text, words)):
            message = "a question is about other words than those called background"
            raise Unconfirmed(message)


def _require_same_readings(asked: Interpretation, answer: Interpretation, stretches: Sequence[_Stretch]) -> None:
    """Let no words that filled a slot fill another one, or none, once the background is gone."""
    places = [(first, last) for first, last, _, _ in stretches]
    now = {(span.start, span.end, span.slot) for span in answer.spans}
    filled = [span for span in asked.spans if span.slot != "-" and not _meets((span.start, span.end), places)]
    if any((span.start, span.end, span.slot) not in now for span in filled if span.slot != "place"):
        message = "without what was called background, other words are read otherwise"
        raise Unconfirmed(message)


def _require_slots(text: str, said: Sequence[Said], suggestion: ModelMarkup, stretches: Sequence[_Stretch]) -> None:
    """Let the model have quoted each slot of the reading, and no other."""
    places = [(first, last) for first, last, _, _ in stretches]
    quoted: dict[str, list[tuple[int, int]]] = {}
    for quote, role in suggestion.slots:
        found = list(_places(text, quote))
        if not found:
            message = "a quote does not stand in the request"
            raise Unconfirmed(message)
        if all(_meets(one, places) for one in found):
            message = "words are called both background and part of the transfer"
            raise Unconfirmed(message)
        quoted.setdefault(role, []).extend(found)
    carried = {one.slot: [(quote.start, quote.end) for quote in one.quotes] for one in said}
    if any(not _meets(one, carried.get(role, ())) for role, found in quoted.items() for one in found[:1]):
        message = "the model quotes a slot that the words do not carry"
        raise Unconfirmed(message)
    for slot, stands in carried.items():
        heard = quoted.get("action" if slot == "delete_source" else slot, [])
        if stands and not any(_meets(one, heard) for one in stands):
            message = "the words carry a slot that the model does not quote"
            raise Unconfirmed(message)
