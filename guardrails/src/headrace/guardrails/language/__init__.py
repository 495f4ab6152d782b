"""A person's words to a typed intent: a span lattice with a coverage rule.

Every word belongs to exactly one recognised phrase or to a closed list of courtesies; anything left
over is quoted back as a question. Pure: no clock, no files, no network; `now` comes with the context.
"""

from headrace.guardrails.intents import (
    Changes,
    Choice,
    Context,
    Endpoint,
    Intent,
    Interpretation,
    Location,
    PlanRef,
    Question,
    Refusal,
    Registry,
    Span,
    Target,
    TransferRef,
)
from headrace.guardrails.intents.limits import MAX_CHARACTERS
from headrace.guardrails.language.canonical import canonical_sentence
from headrace.guardrails.language.interpret import asks_to_read_back, interpret
from headrace.guardrails.resolve import apply_changes, check_intent, disagreements

__all__ = [
    "MAX_CHARACTERS",
    "Changes",
    "Choice",
    "Context",
    "Endpoint",
    "Intent",
    "Interpretation",
    "Location",
    "PlanRef",
    "Question",
    "Refusal",
    "Registry",
    "Span",
    "Target",
    "TransferRef",
    "apply_changes",
    "asks_to_read_back",
    "canonical_sentence",
    "check_intent",
    "disagreements",
    "interpret",
]
