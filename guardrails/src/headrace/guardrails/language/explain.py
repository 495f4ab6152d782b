"""An interpretation as plain text for people: which words fill which slot, and what is asked."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from headrace.guardrails.intents.text import shown
from headrace.guardrails.intents.values import Intent
from headrace.guardrails.language.canonical import canonical_sentence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.guardrails.intents.answer import Interpretation

_SLOTS = frozenset(field.name for field in fields(Intent))
_OPEN = "?"
"""How a slot is shown that is asked about: what its words mean is open."""
_PLURALS = {"intent": "Understood", "ask": "Not yet clear", "refuse": "Refused"}


def explain(answer: Interpretation) -> str:
    """Give the lines that `headrace interpret` prints for one sentence."""
    return "\n".join(_lines(answer))


def _lines(answer: Interpretation) -> Iterator[str]:
    yield f"{_PLURALS[answer.outcome]}."
    for refusal in answer.refusals:
        yield f"  refused: {refusal.message} [{refusal.rule}]"
    spans = [span for span in answer.spans if span.slot in _SLOTS]
    if spans and answer.outcome != "refuse":
        width = min(44, max(len(shown(span.text)) for span in spans))
        yield ""
        yield f"  {'words'.ljust(width)}  slot: reading"
        for span in spans:
            reading = _OPEN if span.slot in answer.ask else shown(span.reading)
            yield f"  {shown(span.text).ljust(width)}  {span.slot}: {reading}"
    if answer.questions:
        yield ""
        for question in answer.questions:
            yield f"  {question.slot}? {question.message}"
            for choice in question.choices:
                yield f"      {choice.value}  ({choice.label})"
    if answer.danger:
        yield ""
        yield f"  to be confirmed: {', '.join(answer.danger)}"
    if answer.outcome == "intent":
        yield ""
        yield f"  {_sentence(answer)}"


def _sentence(answer: Interpretation) -> str:
    try:
        return shown(canonical_sentence(answer.intent))
    except ValueError as error:
        return str(error)
