"""Orders about transfers and plans that exist: control, confirm, modify; and words that are neither."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

from headrace.guardrails.intents.draft import Day, Doubt, Place, Step, When
from headrace.guardrails.intents.text import in_words
from headrace.guardrails.intents.values import TRANSFER_ACTIONS, Action, Changes, Intent, Location, Target, with_slots
from headrace.guardrails.resolve.chosen_action import UNCLEAR_ORDERS, UNCLEAR_VERB
from headrace.guardrails.resolve.locations import resolve_place
from headrace.guardrails.resolve.single_values import words_of
from headrace.guardrails.resolve.situation import MISSING, OPTION_FACTS, OPTION_SLOTS, PLACE_FACTS
from headrace.guardrails.resolve.targets import resolve_target
from headrace.guardrails.resolve.transfer_options import resolve_options, resolve_places

if TYPE_CHECKING:
    from headrace.guardrails.intents.answer import Refusal
    from headrace.guardrails.resolve.situation import Situation

_CONTROL_OPTIONS = ("start", "modified_after")
_TARGET_FACTS = ("id", "it", "named", "all", "select", "state", "since", *PLACE_FACTS)
CONTROL_USES = frozenset(
    {
        "action",
        "marker:also",
        "marker:and",
        "marker:opening",
        "confirm",
        "confirm:heard",
        "confirm:yes",
        "dismiss",
        "noun",
        "start",
        "deadline",
        "modified_after",
        *_TARGET_FACTS,
    }
)
CONFIRM_USES = frozenset({"confirm", "confirm:heard", "confirm:yes", "marker:opening"})
MODIFY_USES = frozenset(
    {
        "marker:also",
        "marker:and",
        "marker:instead",
        "marker:changed",
        "marker:made",
        "marker:opening",
        "confirm:heard",
        "confirm:yes",
        "confirm",
        "action",
        "it",
        "all",
        "id",
        "swap_to",
        "swap_from",
        "not_place",
        "keep_place",
    }
    | {"source", "destination", *OPTION_FACTS}
)
"""The facts that these take up; the end check of `interpret` asks about any other."""
_LEFT_OVER = ("source", "destination", "action", "target")
NO_ACTION = Doubt(
    "say what to do: copy, sync or move; for transfers that there are, use `headrace status`, `pause`, `resume` or "
    "`cancel`, and to see what is in a folder `headrace browse ENDPOINT:/PATH`"
)


def control(situation: Situation, action: str) -> Intent:
    """Make the intent of status, list, cancel, pause or resume."""
    found, step, before = situation.found, situation.step, situation.before
    if action in ("status", "list") and before is not None and before.action in TRANSFER_ACTIONS:
        found.ask("action", Doubt(f"say the {action} request on its own"), words_of(step.of("action")))
    elif before is not None and before.action in TRANSFER_ACTIONS and not step.has(*_TARGET_FACTS):
        # "copy A to B. Cancel.": what is taken back is not planned.
        doubt = Doubt(f"say whether to plan it at all, or to {action} it later")
        found.ask("action", doubt, words_of(step.of("action")))
    target = _target_of(situation, action)
    if before is not None and target in (Target(ref="last"), before.target):
        # A later step is about what the step before it was about.
        target = None
    found.put("target", target, _target_words(step))
    if action in ("cancel", "pause", "resume") and before is None and target is None:
        found.ask("target", MISSING["target"])
    resolve_options(step, situation.context, found)
    _ask_extra_options(situation, action)
    for fact in step.of("purpose"):
        found.put("target", fact.value, fact.words)
    situation.ask_leftovers(**dict.fromkeys((*_LEFT_OVER, "include", "exclude"), "target"))
    if action == "cancel" and (step.has("all") or (isinstance(target, Target) and _is_bulk(target))):
        found.danger.add("bulk_cancel")
    certain = found.certain()
    kept: dict[str, object] = {slot: certain[slot] for slot in ("target", "start") if slot in certain}
    return with_slots(Intent(action=cast("Action", action)), kept)


def _target_of(situation: Situation, action: str) -> Target | Doubt | Refusal | None:
    if situation.step.has("dismiss"):
        return situation.last()
    step = _told_today(situation.step) if action in ("status", "list") else situation.step
    return resolve_target(step, situation.context, action)


def _target_words(step: Step) -> str | None:
    return words_of([fact for fact in step.facts if fact.slot in _TARGET_FACTS]) or None


def _is_bulk(target: Target) -> bool:
    return not (target.id or target.ref or target.select not in (None, "all"))


def _told_today(step: Step) -> Step:
    """Read a bare "today" with a list as since midnight; another time there has no one meaning."""
    facts = []
    for fact in step.facts:
        when = fact.value
        if fact.slot != "start":
            facts.append(fact)
        elif isinstance(when, When) and when.clock is None and when.day == Day(offset=0):
            facts.append(replace(fact, slot="since"))
        else:
            facts.append(replace(fact, slot="since", value=Doubt(f"`{fact.words}`: say since when")))
    return replace(step, facts=tuple(facts))


def _ask_extra_options(situation: Situation, action: str) -> None:
    """Ask about everything but a time that stands with an order about a transfer."""
    found, step = situation.found, situation.step
    starts = action not in ("status", "list")
    found.questions = [
        question
        for question in found.questions
        if question.slot not in OPTION_SLOTS
        or (question.slot == "start" and starts)
        or (question.slot == "repeat" and not step.has("repeat"))
    ]
    if action == "pause" and step.has("deadline"):
        found.ask("start", Doubt("say when to pause; resuming later is a step of its own"))
    allowed = (*_CONTROL_OPTIONS, "deadline") if action == "pause" else _CONTROL_OPTIONS
    for fact in step.facts:
        if fact.slot in OPTION_FACTS and fact.slot not in allowed:
            found.ask("action", Doubt(f"`{fact.words}` does not go with {action}"), fact.words)
    for slot in OPTION_SLOTS:
        # "cancel it on Fridays": what resolving made of a time.
        if slot in found.values and slot not in _CONTROL_OPTIONS:
            found.ask("action", Doubt(f"{in_words(slot)} does not go with {action}"))
    if step.has("same", "live"):
        found.ask("action", Doubt("say whether this is an answer or a new request"))


def confirm(situation: Situation) -> Intent:
    """Make the intent of a plain yes to the last plan."""
    situation.found.put("target", situation.last())
    situation.ask_leftovers()
    return Intent(action="confirm", target=cast("Target | None", situation.found.certain().get("target")))


def modify(situation: Situation) -> Intent:
    """Make the intent that patches the last plan, or the transfer that is named."""
    found, step = situation.found, situation.step
    named = Step(step.of("id"))
    target = resolve_target(named, situation.context, "modify") if named.facts else situation.last()
    found.put("target", target, words_of(named.facts) or None)
    _resolve_other_places(situation)
    resolve_options(step, situation.context, found)
    situation.settle_deletions(None)
    situation.ask_leftovers()
    situation.note_dangers()
    certain = found.certain()
    certain.pop("target", None)
    changes = _changes(situation, certain)
    if changes is None and not found.questions:
        found.ask("action", Doubt("say what to change"))
    kept = cast("Target | None", found.certain().get("target"))
    return Intent(action="modify", target=kept, changes=changes)


def _resolve_other_places(situation: Situation) -> None:
    found, step = situation.found, situation.step
    _swap(situation)
    for slot in ("source", "destination"):
        if step.has(slot):
            resolve_places(Step(step.of(slot)), situation.context, found)
    for fact in step.facts:
        if fact.slot in ("at", "place", "for", "more"):
            found.ask("destination", Doubt("say whether data goes to or from it"), fact.words)
    if any(fact.value == "also" for fact in step.of("marker")):
        for fact in (*step.of("source"), *step.of("destination")):
            doubt = Doubt(f"a transfer has one {fact.slot} alone: say instead, or ask for another transfer")
            found.ask(fact.slot, doubt, fact.words)


def _swap(situation: Situation) -> None:
    """Put one place for another: "use B instead of A" changes the end of the last plan that is A."""
    found, step, last = situation.found, situation.step, situation.context.last
    for fact in step.of("swap_from"):
        old = resolve_place(fact.value, situation.context) if isinstance(fact.value, Place) else None
        new = step.of("swap_to")[0].value
        ends = {"source": last.source, "destination": last.destination} if last is not None else {}
        slots = [slot for slot, text in ends.items() if old == Location.parse(text)]
        if len(slots) == 1 and isinstance(new, Place):
            found.put(slots[0], resolve_place(new, situation.context), fact.words)
        else:
            found.ask("destination", Doubt("say to or from: the plan has no such place"), fact.words)
    for fact in step.of("not_place"):
        if not step.has("source", "destination"):
            found.ask("destination", Doubt("say to or from"), fact.words)


def _changes(situation: Situation, certain: dict[str, object]) -> Changes | None:
    """Make the patch: names are added to those the plan has, unless the words say instead."""
    step = situation.step
    said = {str(fact.value) for fact in step.of("marker")}
    situation.ask_cleared()
    patch = {slot: value for slot, value in certain.items() if slot not in situation.found.asked()}
    if "exclude" in patch and "instead" not in said:
        patch["add_exclude"] = patch.pop("exclude")
    if "include" in patch and not said.isdisjoint(("also", "and")):
        patch["add_include"] = patch.pop("include")
    cleared = tuple(dict.fromkeys(fact.value for fact in step.of("clear") if isinstance(fact.value, str)))
    if cleared:
        patch["cleared"] = cleared
    return with_slots(Changes(), patch) if patch else None


def unknown(situation: Situation) -> Intent:
    """Ask what to do; keep what is certain nevertheless."""
    found, step = situation.found, situation.step
    if "action" not in found.asked():
        found.ask("action", NO_ACTION)
    if any(fact.value in UNCLEAR_ORDERS for fact in step.of("action")) or step.has("id"):
        # What is certain is which transfers are meant.
        found.put("target", resolve_target(step, situation.context, "status"), _target_words(step))
        situation.ask_leftovers(source="target", destination="target")
        return Intent(target=cast("Target | None", found.certain().get("target")))
    places = step.has(*PLACE_FACTS)
    if places:
        resolve_places(step, situation.context, found)
    resolve_options(step, situation.context, found)
    situation.settle_deletions(None)
    # Without a verb that was understood, words next to a location are more likely the verb.
    situation.ask_leftovers(source="action", destination="action")
    if not step.has("action"):
        # Without a verb, "delete" and "clean up" are no part of any transfer yet.
        found.questions = [one for one in found.questions if one.slot not in ("delete_source", "delete_extraneous")]
    verb = any(fact.value == UNCLEAR_VERB for fact in step.of("action"))
    told = any(isinstance(fact.value, Doubt) for fact in step.of("action"))
    if verb or (places and not told and not step.leftovers and not step.has(*OPTION_FACTS)):
        for slot in ("source", "destination"):
            if slot not in found.values and slot not in found.asked():
                found.ask(slot, MISSING[slot])
    situation.note_dangers()
    return Intent()
