"""From a draft to an interpretation: steps become intents, doubts become questions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

from headrace.guardrails.intents.answer import Interpretation
from headrace.guardrails.intents.values import TRANSFER_ACTIONS, Intent, with_slots
from headrace.guardrails.resolve.chosen_action import action_of
from headrace.guardrails.resolve.control_requests import confirm, control, modify, unknown
from headrace.guardrails.resolve.findings import DANGERS
from headrace.guardrails.resolve.situation import OPTION_SLOTS, Situation
from headrace.guardrails.resolve.transfer_requests import same, transfer

if TYPE_CHECKING:
    from headrace.guardrails.intents.context import Context
    from headrace.guardrails.intents.draft import Doubt, Draft
    from headrace.guardrails.resolve.findings import Findings

_DANGEROUS: dict[str, tuple[object, ...]] = {slot: values for slot, values, _ in DANGERS}


def resolve(draft: Draft, context: Context) -> Interpretation:
    """Resolve a draft against the registry, the clock and the zone."""
    intents: list[Intent] = []
    findings: list[Findings] = []
    for number, step in enumerate(draft.steps):
        following = draft.steps[number + 1] if number + 1 < len(draft.steps) else None
        situation = Situation(step, context, intents[-1] if intents else None, following)
        intents.append(_resolved(situation))
        findings.append(situation.found)
    refusals = (*draft.refusals, *(refusal for found in findings for refusal in found.refusals))
    if refusals:
        return Interpretation("refuse", Intent(), refusals=refusals)
    questions = tuple(question for found in findings for question in found.questions)
    danger = tuple(sorted({name for found in findings for name in found.danger}))
    if any(question.slot == "action" for question in questions):
        # What to do is not certain: nothing that deletes, overwrites or weakens is either.
        return Interpretation("ask", _harmless(intents[0], findings[0]), questions, danger)
    intent = replace(intents[0], then=tuple(intents[1:]))
    return Interpretation("ask" if questions else "intent", intent, questions, danger)


def _resolved(situation: Situation) -> Intent:
    """Find out what a step is to do, then resolve what that needs."""
    for fact in situation.step.of("foreign")[:1]:
        situation.found.ask("action", cast("Doubt", fact.value), fact.words)
    if situation.step.has("same"):
        return same(situation)
    action = action_of(situation)
    if action is None:
        return unknown(situation)
    if action in TRANSFER_ACTIONS:
        return transfer(situation, action)
    if action == "confirm":
        return confirm(situation)
    return modify(situation) if action == "modify" else control(situation, action)


def _harmless(intent: Intent, found: Findings) -> Intent:
    """Keep the certain slots of a request whose action is asked about."""
    kept = {
        slot: value
        for slot, value in found.certain().items()
        if slot in (*OPTION_SLOTS, "source", "destination") and value not in _DANGEROUS.get(slot, ())
    }
    return with_slots(Intent(target=intent.target if intent.action is None else None), kept)
