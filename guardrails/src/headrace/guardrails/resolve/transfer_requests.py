"""New transfers: copy, sync, move, stream, and "the same for run43"."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast

from headrace.guardrails.intents.draft import Doubt
from headrace.guardrails.intents.text import shown
from headrace.guardrails.intents.values import Action, Intent, Location, with_slots
from headrace.guardrails.resolve.situation import MISSING, PLACE_FACTS
from headrace.guardrails.resolve.transfer_options import resolve_options, resolve_places

if TYPE_CHECKING:
    from headrace.guardrails.intents.context import PlanRef
    from headrace.guardrails.resolve.situation import Situation

_DIGITS = re.compile(r"\d+")


def transfer(situation: Situation, action: str) -> Intent:
    """Make the intent of a new transfer; what is missing is asked about."""
    found, step = situation.found, situation.step
    resolve_places(step, situation.context, found)
    resolve_options(step, situation.context, found)
    situation.settle_deletions(action)
    deletes = found.values.get("delete_source") is True
    if action == "copy" and deletes:
        action = "move"
    elif action in ("sync", "stream") and deletes:
        found.ask("action", Doubt(f"say move to delete the source: {action} keeps it"))
    if action != "sync" and found.values.get("delete_extraneous") is True:
        found.ask(
            "action", Doubt(f"say sync to delete at the destination what the source no longer has: {action} adds")
        )
    if action == "move":
        situation.settle_kept()
    if step.has("there") and situation.before is not None and situation.before.destination is not None:
        # "and from there to C": from where the step before went.
        found.values.setdefault("source", situation.before.destination)
    _ask_missing(situation)
    situation.ask_leftovers()
    situation.ask_cleared()
    situation.note_dangers()
    _ask_misplaced(situation)
    return _intent(situation, action)


def _ask_missing(situation: Situation) -> None:
    found, step = situation.found, situation.step
    lost = any(leftover.slot == "action" for leftover in step.leftovers) and not step.has(*PLACE_FACTS)
    if lost:
        # "what does sync do" is no transfer that lacks its places.
        return
    verbs = step.of("action") if situation.before is not None and not step.has(*PLACE_FACTS) else ()
    for slot in ("source", "destination"):
        if slot in found.values or slot in found.asked():
            continue
        if verbs:
            # What is missing is not of the transfer before: quote what began this one.
            verb = verbs[0].words
            doubt = Doubt(f"`{shown(verb)}` begins another transfer: say what goes where, or leave it out")
            found.ask(slot, doubt, verb)
        else:
            found.ask(slot, MISSING[slot])


def _ask_misplaced(situation: Situation) -> None:
    """Ask about words for transfers that exist, in a request for a new one."""
    for fact in situation.step.facts:
        if fact.slot == "id":
            situation.found.ask("action", Doubt("this names a transfer that exists, and a new one"), fact.words)
        elif fact.slot in ("select", "state", "noun", "named"):
            message = f"`{shown(fact.words)}` alone is no location: write endpoint:/path"
            situation.found.ask("source", Doubt(message), fact.words)


def _intent(situation: Situation, action: str) -> Intent:
    found = situation.found
    found.values.pop("drop_exclude", None)
    certain = found.certain()
    for slot in ("delete_source", "delete_extraneous"):
        if certain.get(slot) is False:
            # Not deleting is what happens anyway.
            certain.pop(slot)
    return with_slots(Intent(action=cast("Action", action)), certain)


def same(situation: Situation) -> Intent:
    """Copy as the last plan does, with the last name of its paths replaced ("the same for run43")."""
    found, step, last = situation.found, situation.step, situation.context.last
    name = step.of("same")[0]
    swapped = None if last is None else _renamed(last, str(name.value))
    if swapped is None:
        for slot in ("source", "destination"):
            found.ask(slot, MISSING[slot], name.words)
    else:
        found.values.update(swapped)
    if step.has("action", *PLACE_FACTS, "confirm"):
        found.ask("action", Doubt("say the whole request again"), name.words)
    resolve_options(step, situation.context, found)
    situation.settle_deletions("copy")
    situation.ask_leftovers()
    situation.note_dangers()
    return _intent(situation, "move" if found.values.get("delete_source") is True else "copy")


def _renamed(last: PlanRef, name: str) -> dict[str, Location] | None:
    """Replace the run's name at the end of both paths, when both end in one that only its number tells apart."""
    found: dict[str, Location] = {}
    for slot, text in (("source", last.source), ("destination", last.destination)):
        location = Location.parse(text)
        head, slash, old = location.path.rpartition("/")
        same_form = _DIGITS.sub("0", old) == _DIGITS.sub("0", name) and _DIGITS.search(old) is not None
        if not slash or not same_form or location.url is not None:
            return None
        found[slot] = Location(location.endpoint, f"{head}/{name}")
    return found
