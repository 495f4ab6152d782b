"""What words say of each slot, and which words: kept beside the intent, which holds only what is not the default."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING

from headrace.guardrails.intents.origins import Quote, Said
from headrace.guardrails.intents.values import Intent, Slots, with_slots

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from headrace.guardrails.intents.answer import Interpretation
    from headrace.guardrails.intents.draft import Draft, Fact, Step
    from headrace.guardrails.resolve.findings import Findings

_SLOTS = frozenset(field.name for field in fields(Slots))
_BOTH_DELETES = ("delete_source", "delete_extraneous")
_BOTH_ENDS = ("source", "destination")
_NEVER_TURNED = frozenset({"action", "source", "destination", "target"})
_LISTS = frozenset({"include", "exclude"})
_NOTHING = Intent()
_FILLS = {
    "purpose": ("include",),
    "since": ("modified_after",),
    "start": ("repeat",),
    "drop_exclude": ("exclude",),
    "cleanup": _BOTH_DELETES,
    "delete_nothing": _BOTH_DELETES,
    "keep_place": _BOTH_DELETES,
    "delete_place": ("delete_source",),
    "prune_at": ("delete_extraneous",),
    "prune_from": ("delete_extraneous",),
    "there": ("source",),
    "same": _BOTH_ENDS,
    "swap_from": _BOTH_ENDS,
    "swap_to": _BOTH_ENDS,
}
"""Facts that fill slots of other names, where these have a value."""


def said_of(intent: Intent, step: Step, found: Findings, place: Callable[[Fact], Quote | None]) -> tuple[Said, ...]:
    """Give what the words of a step say of each slot that they speak of and that nothing is asked about."""
    facts: dict[str, list[Fact]] = {}
    placed = {slot: frozenset(known) for slot, known in found.placed.items()}
    for fact in step.facts:
        for slot in [*(slot for slot, known in placed.items() if fact in known), *_filled(fact, found)]:
            facts.setdefault(slot, []).append(fact)
    asked = found.asked()
    return tuple(
        Said(slot, intent.action if slot == "action" else found.values.get(slot), _quotes(known, place))
        for slot, known in facts.items()
        if slot not in asked
    )


def certain_of(
    answer: Interpretation, said: Sequence[tuple[Said, ...]], draft: Draft, unread_at: Sequence[tuple[int, int]]
) -> tuple[Interpretation, tuple[Said, ...]]:
    """Take out of what is shown with a question each option with an unread word in its clause, which may turn it round.

    An "except" that nothing follows may be about any list of names.
    """
    open_lists = any(one.slot == "exclude" and not one.cue for step in draft.steps for one in step.leftovers)

    def is_turned(one: Said) -> bool:
        beside = any(first < quote.end and quote.start < last for quote in one.quotes for first, last in unread_at)
        return (beside and one.slot not in _NEVER_TURNED) or (open_lists and one.slot in _LISTS)

    turned = [{one.slot: getattr(_NOTHING, one.slot) for one in of_step if is_turned(one)} for of_step in said]
    intents = [
        with_slots(replace(intent, changes=intent.changes and with_slots(intent.changes, slots)), slots)
        for intent, slots in zip((answer.intent, *answer.intent.then), turned, strict=False)
    ]
    first = replace(intents[0], then=tuple(intents[1:]))
    return replace(answer, intent=first), tuple(one for one in said[0] if one.slot not in turned[0])


def _quotes(facts: list[Fact], place: Callable[[Fact], Quote | None]) -> tuple[Quote, ...]:
    ordered = sorted(facts, key=lambda fact: fact.first)
    return tuple(dict.fromkeys(quote for fact in ordered if (quote := place(fact)) is not None))


def _filled(fact: Fact, found: Findings) -> Iterator[str]:
    match fact.slot:
        case "action" | "weak_action":
            yield "action"
            if fact.value == "move" and "delete_source" in found.values:
                yield "delete_source"
        case "clear":
            yield from (fact.value,) if isinstance(fact.value, str) else ()
        case slot if slot in _SLOTS and slot not in _BOTH_ENDS and (slot != "start" or "start" in found.values):
            yield slot
            if slot == "delete_source" and fact.value is True:
                yield "action"
        case other:
            yield from (slot for slot in _FILLS.get(other, ()) if slot in found.values)
