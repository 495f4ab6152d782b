"""What a step is to do: its verb, or what follows from the words when there is none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.guardrails.intents.draft import Doubt
from headrace.guardrails.intents.values import CONTROL_ACTIONS, TRANSFER_ACTIONS
from headrace.guardrails.resolve.single_values import words_of
from headrace.guardrails.resolve.situation import OPTION_FACTS, PLACE_FACTS

if TYPE_CHECKING:
    from headrace.guardrails.intents.draft import Fact, Step
    from headrace.guardrails.resolve.situation import Situation

UNDOES = "undo"
UNCLEAR_ORDERS = ("stop", "unclear order", UNDOES)
UNCLEAR_VERB = "unsure"
_NO_UNDO = Doubt(
    "nothing undoes a transfer: to have files back where they were, copy or move them back, if they are still at its "
    "other end; `headrace losses PLAN` lists what a plan replaces and deletes; to end a transfer that runs, say cancel",
    leads=True,
)
# The value of a "great" or "right": before a request it only means that one listened; alone it is a yes.
_HEARD = "heard"
_OF_TRANSFERS = ("all", "select", "live", "state", "since")
_ANSWER_OR_REQUEST = Doubt("say whether this is an answer or a new request")


def action_of(situation: Situation) -> str | None:
    """Give the action of a step, or ask about it and give None."""
    step, found = situation.step, situation.found
    facts = step.of("action")
    if not facts and step.has("source", "destination"):
        # "only fetch *.mrc from A to B" is an order; "only fetch *.mrc" alone changes the last plan.
        facts = step.of("weak_action")
    for fact in facts:
        if isinstance(fact.value, Doubt):
            found.ask("action", fact.value, fact.words)
            return None
    actions = list(dict.fromkeys(str(fact.value) for fact in facts))
    if not actions:
        return _implied(step)
    if len(actions) > 1:
        found.ask("action", Doubt(f"`{words_of(facts)}` says two things to do"))
        return None
    if actions[0] == "stop" and _resumes(situation.following):
        return "pause"
    deletes = {fact.value for fact in step.of("delete_source")}
    if actions[0] == UNCLEAR_VERB and len(deletes) == 1 and deletes <= {True, False}:
        # "evacuate A to B and delete the originals" says which of both it is.
        actions = ["copy"]
    if actions[0] in (*UNCLEAR_ORDERS, UNCLEAR_VERB):
        found.ask("action", _unclear(actions[0]), facts[0].words)
        return None
    return _given(situation, actions[0])


def _resumes(following: Step | None) -> bool:
    """Say whether "stop X" is followed by "and resume it later"."""
    return following is not None and any(fact.value == "resume" for fact in following.of("action"))


def _unclear(action: str) -> Doubt:
    if action == UNDOES:
        return _NO_UNDO
    if action == UNCLEAR_VERB:
        return Doubt("say whether to copy (the source stays) or to move (the source is deleted)")
    done = "" if action == "stop" else "; what has been copied, replaced or deleted is not undone"
    return Doubt(f"say pause (it can go on later), resume, or cancel (it can't go on){done}")


def _given(situation: Situation, action: str) -> str | None:
    """Check a verb against answers and markers that stand with it."""
    step = situation.step
    # "yes, cancel it" is the order, whatever the yes was about.
    turned = any(fact.value == "but" for fact in step.of("turn"))
    answers = (
        step.of("dismiss") if action in CONTROL_ACTIONS and not turned else (*step.of("confirm"), *step.of("dismiss"))
    )
    if action in CONTROL_ACTIONS:
        answers = (*answers, *_agreed(step))
    # "Looks fine, but send it to ncsa:/run42": what is agreed to, with one change.
    changed = action == "copy" and turned and step.has("confirm") and not step.has("dismiss")
    if action in TRANSFER_ACTIONS and situation.before is None and _redirects(step, changed=changed):
        return "modify"
    if any(fact.value != _HEARD for fact in answers):
        situation.found.ask("action", _ANSWER_OR_REQUEST)
        return None
    if step.has("live") and action != "stream":
        situation.found.ask("action", Doubt("say whether to stream while it is written, or to copy"))
        return None
    return action


def _agreed(step: Step) -> list[Fact]:
    """Give what is agreed to beside an order about transfers, and is none of it.

    "Pause it, go ahead at 22:00" agrees to what may follow, and "yes, and cancel 7f3a21" to what was asked before.
    """
    ordered = max(fact.last for fact in step.of("action"))
    joins = [fact.first for fact in step.of("marker") if fact.value in ("and", "also") and fact.first < ordered]
    another = max(joins, default=0) if step.has("id", *_OF_TRANSFERS) else 0
    said = step.of("confirm")
    behind = [fact for fact in said if fact.first >= ordered and not fact.value]
    return [*behind, *(fact for fact in said if fact.value == "yes" and fact.first < another)]


def _redirects(step: Step, *, changed: bool) -> bool:
    """Say whether "send it to ncsa:/run42 instead" changes the last plan; `changed`: other words say so."""
    instead = any(fact.value in ("instead", "changed", "made", "opening") for fact in step.of("marker"))
    return (instead or changed) and step.has("it") and step.has("destination") and not step.has("source", "at", "place")


def _implied(step: Step) -> str | None:
    """Read a step without a verb: two places are a copy, an answer confirms, options change the plan."""
    places = [fact for fact in step.facts if fact.slot in PLACE_FACTS]
    others = step.has(*OPTION_FACTS) or bool(places)
    action: str | None = None
    if step.has("destination", "place") and len(places) >= 2:  # noqa: PLR2004 (from and to)
        action = None if _has_unread(step) else "copy"
    elif step.has("swap_from"):
        action = "modify"
    elif step.has("flag"):
        # A command's option without the command is no wish.
        action = None
    elif step.has("noun", "state") and not step.has("all", "select", "marker", "confirm", "dismiss", *OPTION_FACTS):
        action = _implied_list(step)
    elif step.has("dismiss"):
        action = None if others or step.leftovers or step.has("confirm") else "cancel"
    elif step.has("confirm") and not others and not step.leftovers:
        action = None if step.has("id", "noun", *_OF_TRANSFERS) else "confirm"
    elif _changes_something(step, others=others) and (not places or step.has("marker")):
        action = "modify"
    return action


def _has_unread(step: Step) -> bool:
    return any(leftover.slot in ("action", "target", "source", "destination") for leftover in step.leftovers)


def _implied_list(step: Step) -> str | None:
    """Read "failed transfers" as a list of them."""
    many = any(fact.value == "many" for fact in step.of("noun"))
    return "list" if many and not step.leftovers else None


def _changes_something(step: Step, *, others: bool) -> bool:
    asks = any(leftover.slot not in ("action", "target") for leftover in step.leftovers)
    return (others or asks) and not step.has(*_OF_TRANSFERS)
