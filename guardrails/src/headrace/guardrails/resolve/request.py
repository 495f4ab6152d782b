"""From a draft to an interpretation: steps become intents, doubts become questions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from headrace.guardrails.intents.answer import Interpretation
from headrace.guardrails.intents.values import TRANSFER_ACTIONS, Intent, with_slots
from headrace.guardrails.resolve.chosen_action import action_of
from headrace.guardrails.resolve.control_requests import (
    CONFIRM_USES,
    CONTROL_USES,
    MODIFY_USES,
    confirm,
    control,
    modify,
    unknown,
)
from headrace.guardrails.resolve.findings import DANGERS
from headrace.guardrails.resolve.situation import ALWAYS_USED, OPTION_SLOTS, Situation
from headrace.guardrails.resolve.transfer_requests import SAME_USES, TRANSFER_USES, same, transfer

if TYPE_CHECKING:
    from headrace.guardrails.intents.context import Context
    from headrace.guardrails.intents.draft import Doubt, Draft, Fact
    from headrace.guardrails.resolve.findings import Findings

_DANGEROUS: dict[str, tuple[object, ...]] = {slot: values for slot, values, _ in DANGERS}


@dataclass(frozen=True, slots=True)
class Resolved:
    """The answer, the intent of each step with what was found for it, and the facts that did not reach them."""

    answer: Interpretation
    intents: tuple[Intent, ...]
    findings: tuple[Findings, ...]
    unused: tuple[Fact, ...]


def resolve(draft: Draft, context: Context) -> Resolved:
    """Resolve a draft against the registry, the clock and the zone."""
    intents: list[Intent] = []
    findings: list[Findings] = []
    unused: list[Fact] = []
    for number, step in enumerate(draft.steps):
        following = draft.steps[number + 1] if number + 1 < len(draft.steps) else None
        situation = Situation(step, context, intents[-1] if intents else None, following)
        intents.append(_resolved(situation))
        findings.append(situation.found)
        unused += [fact for fact in step.facts if not _is_used(fact, situation.used)]
    return Resolved(_answer(draft, intents, findings), tuple(intents), tuple(findings), tuple(unused))


def _is_used(fact: Fact, used: frozenset[str]) -> bool:
    """Say whether a fact's slot (with its value, for turns of the talk) is one that the request takes up."""
    said = f"{fact.slot}:{fact.value}" if fact.slot in ("marker", "confirm") and fact.value else fact.slot
    return said in used or fact.slot in ALWAYS_USED


def _answer(draft: Draft, intents: list[Intent], findings: list[Findings]) -> Interpretation:
    refusals = (*draft.refusals, *(refusal for found in findings for refusal in found.refusals))
    if refusals:
        return Interpretation("refuse", Intent(), refusals=refusals)
    leading = [question for found in findings for question in found.leading]
    asked = [question for found in findings for question in found.questions]
    questions = tuple(sorted(asked, key=lambda question: question not in leading))
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
        situation.used = SAME_USES
        return same(situation)
    action = action_of(situation)
    if action is None:
        return unknown(situation)
    if action in TRANSFER_ACTIONS:
        # "cancel it and copy A to B instead": instead of what the step before was about.
        situation.used = TRANSFER_USES | ({"marker:instead"} if situation.before else set())
        return transfer(situation, action)
    if action == "confirm":
        situation.used = CONFIRM_USES
        return confirm(situation)
    situation.used = MODIFY_USES if action == "modify" else CONTROL_USES
    return modify(situation) if action == "modify" else control(situation, action)


def _harmless(intent: Intent, found: Findings) -> Intent:
    """Keep the certain slots of a request whose action is asked about."""
    kept = {
        slot: value
        for slot, value in found.certain().items()
        if slot in (*OPTION_SLOTS, "source", "destination") and value not in _DANGEROUS.get(slot, ())
    }
    return with_slots(Intent(target=intent.target if intent.action is None else None), kept)
