"""What a request says, once read: the types that language, resolution, rails and sealing share.

Nothing here reads words or clocks. `values` holds the intent itself, `context` what a reader may
know (endpoints, zone, last plan), `answer` what interpreting gives back, `draft` what recognisers
hand to resolution.
"""

from headrace.guardrails.intents.answer import (
    Choice,
    Interpretation,
    Question,
    Refusal,
    Span,
)
from headrace.guardrails.intents.context import Context, Endpoint, PlanRef, Registry, TransferRef
from headrace.guardrails.intents.forms import intent_from_json, intent_to_json
from headrace.guardrails.intents.hours import OpenHours
from headrace.guardrails.intents.values import Changes, Intent, Location, Slots, Target

__all__ = [
    "Changes",
    "Choice",
    "Context",
    "Endpoint",
    "Intent",
    "Interpretation",
    "Location",
    "OpenHours",
    "PlanRef",
    "Question",
    "Refusal",
    "Registry",
    "Slots",
    "Span",
    "Target",
    "TransferRef",
    "intent_from_json",
    "intent_to_json",
]
