"""Where each slot of a request comes from: its words, a typed slot, an earlier plan, or nobody."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from headrace.api.caller import Caller
from headrace.client import models as m
from headrace.guardrails.intents.origins import SLOTS, SPELLED, Origin, OriginKind, Origins, Quote
from headrace.guardrails.language import Interpretation

_DEFAULTS = {name: field.get_default() for name, field in m.TransferIntent.model_fields.items()}


def origins_of_words(
    intent: m.TransferIntent, caller: Caller, before: m.Plan | None, answer: Interpretation
) -> Origins:
    """Say where the slots of a request in words come from; `before` is the plan that the words change.

    What follows from the words without standing in them (two places are a copy) is assumed; what the words carry only
    because a language model took others for background is the model's.
    """
    found = _origins(intent, _said(answer), before, _giver(caller) if before else OriginKind.ASSUMED)
    rests = {SPELLED.get(slot, slot) for slot in answer.by_model}
    return {slot: replace(one, kind=OriginKind.MODEL) if slot in rests else one for slot, one in found.items()}


def origins_of_slots(
    intent: m.TransferIntent, caller: Caller, before: m.Plan | None, answer: Interpretation | None = None
) -> Origins:
    """Say where typed slots come from; `answer` is how the words beside them were read, which agree with them.

    Whatever the words do not carry is the assistant's own, if one asks.
    """
    return _origins(intent, _said(answer) if answer else {}, before, _giver(caller))


def origins_of_project(origins: Origins, caller: Caller) -> Origins:
    """Say who named the project that stands beside a request."""
    return {**origins, "project": Origin(_giver(caller))}


def origins_view(origins: Origins) -> list[m.SlotOrigin]:
    """Show the origin of every slot."""
    known = {slot: origins.get(slot, Origin(OriginKind.ASSUMED)) for slot in SLOTS}
    return [
        m.SlotOrigin(
            slot=slot,
            origin=one.kind.value,
            words=[m.Quote(start=quote.start, end=quote.end, text=quote.text) for quote in one.quotes],
            plan=one.plan,
        )
        for slot, one in known.items()
    ]


def _origins(
    intent: m.TransferIntent, said: Mapping[str, tuple[Quote, ...]], before: m.Plan | None, giver: OriginKind
) -> Origins:
    earlier = {one.slot: one for one in before.origins} if before else {}
    asked = before.intent if before else None
    found: dict[str, Origin] = {}
    for slot in SLOTS:
        value = _value(intent, slot)
        known = earlier.get(slot)
        if slot in said:
            found[slot] = Origin(OriginKind.SAID, said[slot])
        elif before and asked and known and _value(asked, slot) == value:
            found[slot] = _kept(known, before.id)
        # What the earlier plan asked for and this one leaves out is taken back by somebody.
        elif value == _default(slot) and (asked is None or _value(asked, slot) == value):
            found[slot] = Origin(OriginKind.ASSUMED)
        else:
            found[slot] = Origin(giver)
    return found


def _giver(caller: Caller) -> OriginKind:
    """Return whose a typed slot is: whoever made the token says so, not the caller."""
    return OriginKind.TYPED if caller.principal.agent is None else OriginKind.ASSISTANT


def _kept(known: m.SlotOrigin, plan: str) -> Origin:
    """Take over where a slot of an earlier plan came from; its words stay those of the plan that they stand in."""
    quotes = tuple(Quote(one.start, one.end, one.text) for one in known.words)
    return Origin(OriginKind(known.origin), quotes, (known.plan or plan) if quotes else None)


def _said(answer: Interpretation) -> dict[str, tuple[Quote, ...]]:
    return {SPELLED.get(one.slot, one.slot): one.quotes for one in answer.said}


def _value(intent: m.TransferIntent, slot: str) -> object:
    if slot == "delete_source":
        return intent.action == "move"
    value = getattr(intent, slot)
    return tuple(value) if isinstance(value, Sequence) and not isinstance(value, str) else value


def _default(slot: str) -> object:
    """Return what a slot is when nobody gives it; the action and the places have none."""
    if slot == "delete_source":
        return False
    default = _DEFAULTS[slot]
    return tuple(default) if isinstance(default, list) else default
