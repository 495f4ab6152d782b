"""What the tests of language are made of: the given context, and reading one sentence in it."""

import json
from pathlib import Path
from typing import Any

from headrace.guardrails.language import Context, Interpretation, interpret

HERE = Path(__file__).parent
CONTEXT = Context.from_json(json.loads((HERE / "context.json").read_text(encoding="utf-8")))
ROUTE = "copy krios1:/a to archive:/a"


def read(text: str, context: Context = CONTEXT) -> Interpretation:
    """Interpret a sentence."""
    return interpret(text, context)


def intent_of(text: str, context: Context = CONTEXT) -> dict[str, Any]:
    """Give the JSON form of a sentence that must be understood without a question."""
    answer = interpret(text, context)
    assert answer.outcome == "intent", (text, answer.questions, answer.refusals)
    return answer.intent.to_json()


def slot_of(words: str, slot: str) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Give one slot of a plain copy with some words after it."""
    return intent_of(f"{ROUTE}, {words}").get(slot)


def asked(text: str, context: Context = CONTEXT) -> set[str]:
    """Give the slots that a sentence is asked about."""
    answer = interpret(text, context)
    assert answer.outcome == "ask", (text, answer.to_json())
    return set(answer.ask)


def asked_after(words: str) -> set[str]:
    """Give the slots that a plain copy with some words after it is asked about."""
    return asked(f"{ROUTE}, {words}")


def refused(text: str, context: Context = CONTEXT) -> set[str]:
    """Give the rules that refuse a sentence."""
    answer = interpret(text, context)
    assert answer.outcome == "refuse", (text, answer.to_json())
    assert answer.to_json()["intent"] == {}
    return {refusal.rule for refusal in answer.refusals}
