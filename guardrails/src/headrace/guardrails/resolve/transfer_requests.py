"""New transfers: copy, sync, move, stream, and "the same for run43"."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast

from headrace.guardrails.intents.answer import Choice
from headrace.guardrails.intents.context import Endpoint
from headrace.guardrails.intents.draft import Doubt, Place
from headrace.guardrails.intents.text import shown
from headrace.guardrails.intents.values import Action, Intent, Location, with_slots
from headrace.guardrails.resolve.endpoint_names import resolve_name
from headrace.guardrails.resolve.situation import MISSING, OPTION_FACTS, PLACE_FACTS
from headrace.guardrails.resolve.transfer_options import resolve_options, resolve_places

if TYPE_CHECKING:
    from headrace.guardrails.intents.context import Context, PlanRef
    from headrace.guardrails.intents.draft import Value
    from headrace.guardrails.resolve.situation import Situation

TRANSFER_USES = frozenset(
    {
        "action",
        "marker:also",
        "marker:and",
        "marker:made",
        "marker:opening",
        "confirm:heard",
        "it",
        "all",
        "live",
        "since",
        "not_place",
        "keep_place",
        "not_kept",
        *PLACE_FACTS,
        *OPTION_FACTS,
    }
)
"""The facts that a new transfer takes up; the end check of `interpret` asks about any other."""
SAME_USES = frozenset(
    {"same", "marker:also", "marker:made", "marker:opening", "confirm:heard", "it", "keep_place", *OPTION_FACTS}
)
_DIGITS = re.compile(r"\d+")


def transfer(situation: Situation, action: str) -> Intent:
    """Make the intent of a new transfer; what is missing is asked about."""
    found, step = situation.found, situation.step
    resolve_places(step, situation.context, found)
    resolve_options(step, situation.context, found)
    _ask_left_out_places(situation)
    for fact in step.of("purpose"):
        found.put("include", fact.value, fact.words)
    situation.settle_deletions(action)
    situation.ask_unkept()
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


def _ask_left_out_places(situation: Situation) -> None:
    """Ask about "but not krios1:/raw/phi": names are left out by pattern, not by their place alone."""
    found, context = situation.found, situation.context
    source = found.values.get("source")
    for fact in situation.step.of("not_place"):
        below = _below(fact.value, source, context) if isinstance(source, Location) else None
        if below is None:
            found.ask(
                "exclude", Doubt(f"`{shown(fact.words)}` is not below the source: say what to leave out"), fact.words
            )
            continue
        name = f"{below.rstrip('/')}/"
        choices = (Choice(f"exclude {name}", f"every folder {name} below the source"),)
        found.ask(
            "exclude",
            Doubt(f"write the name below the source that is left out, such as exclude {name}", choices),
            fact.words,
        )


def _below(value: Value, source: Location, context: Context) -> str | None:
    """Give the part of a place's path below the source; a bare path is on the source's endpoint."""
    if not isinstance(value, Place) or value.path is None or source.url is not None:
        return None
    endpoint = resolve_name(value.name, context) if value.name is not None else None
    if endpoint is not None and (not isinstance(endpoint, Endpoint) or endpoint.id != source.endpoint):
        return None
    head = source.path.rstrip("/") + "/"
    return value.path.removeprefix(head) if value.path.startswith(head) and value.path != head else None


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
            found, left = situation.found.values, situation.step.leftovers
            known = "source" in found and not left and fact.slot != "named"
            message = "names no files: say which, by name" if known else "alone is not a location: write endpoint:/path"
            doubt = Doubt(f"`{shown(fact.words)}` {message}")
            situation.found.ask("include" if known else "source", doubt, fact.words)


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
