"""Which transfers a control request is about: ids and their prefixes, "it", selections."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from headrace.guardrails.intents.answer import Choice, Refusal
from headrace.guardrails.intents.context import Context, Endpoint
from headrace.guardrails.intents.draft import Doubt, Place, Step, When
from headrace.guardrails.intents.text import shown
from headrace.guardrails.intents.values import Target, with_slots
from headrace.guardrails.resolve import moments
from headrace.guardrails.resolve.endpoint_names import resolve_name
from headrace.guardrails.resolve.single_values import only, plain

if TYPE_CHECKING:
    from datetime import datetime

    from headrace.guardrails.intents.draft import Value

LAST = "last"
_WORDED = ("it", "named", "select")
"""The slots of words that stand for a transfer."""


def resolve_target(step: Step, context: Context, action: str) -> Target | Doubt | Refusal | None:
    """Give the target of a control step; None when the words name none."""
    found: dict[str, object] = {
        "id": only(step.of("id"), partial(_transfer, context=context)),
        "ref": _ref(step, context),
        "select": _selection(step),
        "state": only(step.of("state"), plain),
        "since": only((*step.of("since"), *step.of("modified_after")), partial(_since, context=context)),
        "source": only(step.of("source"), partial(_endpoint, context=context)),
        "destination": only((*step.of("destination"), *step.of("for")), partial(_endpoint, context=context)),
    }
    for value in found.values():
        if isinstance(value, Doubt | Refusal):
            return _by_id(step) or value
    for fact in (*step.of("at"), *step.of("place"), *step.of("more")):
        return Doubt(
            f"`{fact.words}`: say whether transfers to or from it are meant; what lies in a folder is listed by "
            f"`headrace browse ENDPOINT:/PATH`"
        )
    if found["ref"] is not None and (found["id"] is not None or found["select"] == "all"):
        # "cancel 7f3a21, stop it", "kill them all": the pronoun says no more.
        found["ref"] = None
    if found["id"] is not None and found["select"] is not None:
        return Doubt("say one transfer, or all of them: leaving one out is not possible")
    target = with_slots(Target(), found)
    if action in ("cancel", "pause", "resume", "modify") and _is_loose(step, target):
        return Doubt("say `all` of them, or name one by its id")
    return None if target == Target() else target


def _by_id(step: Step) -> Doubt | None:
    """Ask for an id where the words themselves can mean several transfers: other words could mean as many."""
    unsure = [fact.words for fact in step.facts if fact.slot in _WORDED and isinstance(fact.value, Doubt)]
    return Doubt(f"`{shown(unsure[0])}` can mean several transfers: name one by its id") if unsure else None


def _is_loose(step: Step, target: Target) -> bool:
    """Say whether many transfers could be meant without the word all."""
    if target.id or target.ref or target.select:
        return False
    many = any(fact.value == "many" for fact in step.of("noun"))
    return many or (
        target != Target() and target.destination is None and target.source is None and target.state is None
    )


def _transfer(value: Value, context: Context) -> str | Doubt:
    return resolve_transfer(str(value), context)


def resolve_transfer(prefix: str, context: Context) -> str | Doubt:
    """Give the id of the only transfer whose id starts so."""
    written = prefix.lower()
    exact = [known.id for known in context.transfers if known.id.lower() == written]
    fitting = exact or [known.id for known in context.transfers if known.id.lower().startswith(written)]
    if len(fitting) == 1:
        return fitting[0]
    if not fitting:
        return Doubt(f"no transfer's id starts with `{shown(prefix)}`")
    choices = tuple(Choice(found, f"the transfer {found}") for found in fitting[:8])
    return Doubt(f"several transfers' ids start with `{shown(prefix)}`", choices)


def _ref(step: Step, context: Context) -> str | Doubt | None:
    if not step.has("it", "named"):
        return None
    if context.last is None:
        return Doubt("say which transfer: there is no plan that `it` could stand for")
    return LAST


def _selection(step: Step) -> str | Doubt | None:
    selected = only(step.of("select"), plain)
    if step.has("all"):
        return "all" if selected is None else Doubt("say all of them, or which one")
    return selected if isinstance(selected, str | Doubt) else None


def _since(value: Value, context: Context) -> datetime | Doubt:
    return moments.since(value, context) if isinstance(value, When) else Doubt("this is not a time")


def _endpoint(value: Value, context: Context) -> object:
    if not isinstance(value, Place) or value.name is None or value.path is not None:
        return Doubt(f"`{getattr(value, 'words', '')}`: name the endpoint alone, or the transfer's id")
    known = resolve_name(value.name, context)
    return known.id if isinstance(known, Endpoint) else known
