"""What words say of each slot, and which words: kept beside the intent, which holds only what is not the default."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from headrace.guardrails.intents.origins import Quote, Said
from headrace.guardrails.intents.values import Slots

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headrace.guardrails.intents.draft import Fact, Step
    from headrace.guardrails.intents.values import Intent
    from headrace.guardrails.resolve.findings import Findings

_SLOTS = frozenset(field.name for field in fields(Slots))
_BOTH_DELETES = ("delete_source", "delete_extraneous")
_BOTH_ENDS = ("source", "destination")
_FILLS = {
    "purpose": ("include",),
    "since": ("modified_after",),
    "start": ("repeat",),
    "drop_exclude": ("exclude",),
    "cleanup": _BOTH_DELETES,
    "delete_nothing": _BOTH_DELETES,
    "keep_place": _BOTH_DELETES,
    "delete_place": ("delete_source",),
    "there": ("source",),
    "same": _BOTH_ENDS,
    "swap_from": _BOTH_ENDS,
    "swap_to": _BOTH_ENDS,
}
"""Facts that fill slots of other names, where these have a value."""


def said_of(intent: Intent, step: Step, found: Findings, place: Callable[[Fact], Quote | None]) -> tuple[Said, ...]:
    """Give what the words of a step say of each slot that they speak of and that nothing is asked about."""
    facts: dict[str, list[Fact]] = {}
    for fact in step.facts:
        for slot in _filled(fact, found):
            facts.setdefault(slot, []).append(fact)
    asked = found.asked()
    return tuple(
        Said(slot, intent.action if slot == "action" else found.values.get(slot), _quotes(known, place))
        for slot, known in facts.items()
        if slot not in asked
    )


def _quotes(facts: list[Fact], place: Callable[[Fact], Quote | None]) -> tuple[Quote, ...]:
    ordered = sorted(facts, key=lambda fact: fact.first)
    return tuple(dict.fromkeys(quote for fact in ordered if (quote := place(fact)) is not None))


def _filled(fact: Fact, found: Findings) -> Iterator[str]:
    yield from (slot for slot, facts in found.placed.items() if fact in facts)
    match fact.slot:
        case "action" | "weak_action":
            yield "action"
            if fact.value == "move" and "delete_source" in found.values:
                yield "delete_source"
        case "clear":
            yield str(fact.value)
        case slot if slot in _SLOTS and slot not in _BOTH_ENDS and (slot != "start" or "start" in found.values):
            yield slot
            if slot == "delete_source" and fact.value is True:
                yield "action"
        case other:
            yield from (slot for slot in _FILLS.get(other, ()) if slot in found.values)
