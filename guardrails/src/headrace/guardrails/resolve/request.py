"""From a draft to an interpretation: steps become intents, doubts become questions."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from headrace.guardrails.intents.answer import Interpretation, Refusal
from headrace.guardrails.intents.draft import Day, Doubt, Draft, Fact, Place, Step, When
from headrace.guardrails.intents.values import (
    TRANSFER_ACTIONS,
    Action,
    Changes,
    Intent,
    Location,
    Target,
    with_slots,
)
from headrace.guardrails.names import shown
from headrace.guardrails.resolve.findings import DANGERS, Findings
from headrace.guardrails.resolve.names import near_choices
from headrace.guardrails.resolve.options import resolve_options, resolve_places
from headrace.guardrails.resolve.places import resolve_place
from headrace.guardrails.resolve.targets import LAST, resolve_target
from headrace.guardrails.resolve.values import words_of

if TYPE_CHECKING:
    from headrace.guardrails.intents.context import Context, PlanRef

OPTION_SLOTS = (
    "include", "exclude", "min_size", "max_size", "modified_after", "modified_before", "start", "deadline",
    "window", "repeat", "rate_limit_bps", "priority", "encryption", "verify", "on_conflict", "delete_source",
    "delete_extraneous", "preserve",
)  # fmt: skip
_OPTION_FACTS = (*OPTION_SLOTS, "drop_exclude", "clear", "delete_nothing", "cleanup", "delete_place")
_PLACE_FACTS = ("source", "destination", "at", "place", "for", "more")
_CONTROL_OPTIONS = ("start", "modified_after")
# Said before a request these only mean that one listened; alone they are a yes.
_INTERJECTIONS = frozenset(
    {"ok", "okay", "right", "alright", "all right", "great", "sure", "fine", "good", "perfect", "very well"}
)
_UNCLEAR_ORDERS = ("stop", "unclear order")
_DANGEROUS: dict[str, tuple[object, ...]] = {slot: values for slot, values, _ in DANGERS}
_NO_ACTION = Doubt("say what to do: copy, sync, move or stream, or status, list, pause, resume, cancel")
_MISSING = {
    "source": "say where the data is: endpoint:/path",
    "destination": "say where the data goes: endpoint:/path",
    "target": "say which transfer: its id, or all",
}
_DIGITS = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class _Resolved:
    """A resolved step."""

    intent: Intent
    found: Findings


def resolve(draft: Draft, context: Context) -> Interpretation:
    """Resolve a draft against the registry, the clock and the zone."""
    resolved: list[_Resolved] = []
    for number, step in enumerate(draft.steps):
        following = draft.steps[number + 1] if number + 1 < len(draft.steps) else None
        before = resolved[-1].intent if resolved else None
        resolved.append(_Resolver(step, context, before, following).run())
    refusals = (*draft.refusals, *(one for step in resolved for one in step.found.refusals))
    if refusals:
        return Interpretation("refuse", Intent(), refusals=refusals)
    return _joined(resolved)


def _joined(resolved: list[_Resolved]) -> Interpretation:
    questions = tuple(question for step in resolved for question in step.found.questions)
    danger = tuple(sorted({name for step in resolved for name in step.found.danger}))
    if any(question.slot == "action" for question in questions):
        # What to do is not certain: nothing that deletes, overwrites or weakens is either.
        return Interpretation("ask", _harmless(resolved[0]), questions, danger)
    first = resolved[0].intent
    steps = tuple(step.intent for step in resolved[1:])
    intent = replace(first, then=steps)
    return Interpretation("ask" if questions else "intent", intent, questions, danger)


def _harmless(step: _Resolved) -> Intent:
    certain = step.found.certain()
    kept = {
        slot: value
        for slot, value in certain.items()
        if slot in (*OPTION_SLOTS, "source", "destination") and value not in _DANGEROUS.get(slot, ())
    }
    return with_slots(Intent(target=step.intent.target if step.intent.action is None else None), kept)


class _Resolver:
    """Resolves one step."""

    def __init__(self, step: Step, context: Context, before: Intent | None, following: Step | None) -> None:
        self.step = step
        self.context = context
        self.before = before
        self.following = following
        self.found = Findings()

    def run(self) -> _Resolved:
        """Find out what is to be done, then resolve what that needs."""
        self._foreign()
        if self.step.has("same"):
            intent = self._same()
        else:
            action = self._action()
            if action in TRANSFER_ACTIONS:
                intent = self._transfer(action)
            elif action == "confirm":
                intent = self._confirm()
            elif action == "modify":
                intent = self._modify()
            elif action is not None:
                intent = self._control(action)
            else:
                intent = self._unknown()
        return _Resolved(intent, self.found)

    def _foreign(self) -> None:
        for fact in self.step.of("foreign")[:1]:
            self.found.ask("action", cast("Doubt", fact.value), fact.words)

    # What to do.

    def _action(self) -> str | None:
        facts = self.step.of("action")
        if any(isinstance(fact.value, Doubt) for fact in facts):
            doubted = next(fact for fact in facts if isinstance(fact.value, Doubt))
            self.found.ask("action", cast("Doubt", doubted.value), doubted.words)
            return None
        actions = list(dict.fromkeys(str(fact.value) for fact in facts))
        if len(actions) == 1 and actions[0] in _UNCLEAR_ORDERS:
            return self._unclear_order(facts)
        if len(actions) > 1:
            self.found.ask("action", Doubt(f"`{words_of(facts)}` says two things to do"))
            return None
        if actions:
            return self._given(actions[0])
        return self._implied()

    def _unclear_order(self, facts: tuple[Fact, ...]) -> str | None:
        """Read "stop X and resume it later" as a pause; on its own, stop is two things."""
        resumes = self.following is not None and any(fact.value == "resume" for fact in self.following.of("action"))
        if resumes and facts[0].value == "stop":
            return "pause"
        doubt = Doubt("say pause (it can go on later), resume, or cancel (it can't go on)")
        self.found.ask("action", doubt, facts[0].words)
        return None

    def _given(self, action: str) -> str | None:
        answers = (*self.step.of("confirm"), *self.step.of("dismiss"))
        if any(fact.words.lower() not in _INTERJECTIONS for fact in answers):
            self.found.ask("action", Doubt("say whether this is an answer or a new request"))
            return None
        if action in TRANSFER_ACTIONS and self._redirects():
            return "modify"
        if self.step.has("live") and action != "stream":
            self.found.ask("action", Doubt("say whether to stream while it is written, or to copy"))
            return None
        return action

    def _redirects(self) -> bool:
        """Say whether "send it to ncsa:/run42 instead" changes the last plan."""
        said = {str(fact.value) for fact in self.step.of("marker")}
        return (
            "instead" in said
            and self.before is None
            and not self.step.has("source", "at")
            and len(self.step.of("place")) == 0
            and self.step.has("destination", "it")
            and self.step.has("it")
        )

    def _implied(self) -> str | None:
        """No verb: two places are a copy, an answer is a confirmation, options change the plan."""
        step = self.step
        places = [fact for fact in step.facts if fact.slot in _PLACE_FACTS]
        unread = any(leftover.slot in ("action", "target", "source", "destination") for leftover in step.leftovers)
        if step.has("destination", "place") and len(places) >= 2:  # noqa: PLR2004 (from and to)
            return None if unread else "copy"
        others = step.has(*_OPTION_FACTS, *_PLACE_FACTS)
        if step.has("noun", "state") and not step.has("all", "select", "marker", "confirm", "dismiss", *_OPTION_FACTS):
            nouns = [fact.words for fact in step.of("noun")]
            return "list" if any(words.lower().endswith("s") for words in nouns) and not step.leftovers else None
        if step.has("dismiss"):
            return None if others or step.leftovers or step.has("confirm") else "cancel"
        if step.has("confirm") and not others and not step.leftovers:
            told = step.has("marker", "id", "all", "select", "live", "noun", "since", "state")
            return None if told else "confirm"
        told_places = not places or step.has("marker")
        if (others or self._asks_slot()) and told_places and not step.has("all", "select", "live", "state", "since"):
            return "modify"
        return None

    def _asks_slot(self) -> bool:
        return any(leftover.slot not in ("action", "target") for leftover in self.step.leftovers)

    # What each kind needs.

    def _transfer(self, action: str) -> Intent:
        found = self.found
        resolve_places(self.step, self.context, found)
        resolve_options(self.step, self.context, found)
        self._deletions(action)
        if action == "copy" and found.values.get("delete_source") is True:
            action = "move"
        if action in ("sync", "stream") and found.values.get("delete_source") is True:
            found.ask("action", Doubt(f"say move to delete the source: {action} keeps it"))
        if action == "move":
            self._check_kept()
        self._inherit()
        lost = any(leftover.slot == "action" for leftover in self.step.leftovers) and not self.step.has(*_PLACE_FACTS)
        for slot in ("source", "destination"):
            if not lost and slot not in found.values and slot not in found.asked():
                found.ask(slot, Doubt(_MISSING[slot]))
        self._leftovers(source="source" if "source" in found.asked() else None, action="action")
        self._conflicting_clears()
        self._note_dangers()
        self._misplaced()
        found.values.pop("drop_exclude", None)
        certain = found.certain()
        for slot in ("delete_source", "delete_extraneous"):
            if certain.get(slot) is False:
                certain.pop(slot)
        return with_slots(Intent(action=cast("Action", action)), certain)

    def _misplaced(self) -> None:
        """Ask about words for transfers that exist, in a request for a new one."""
        for fact in self.step.facts:
            if fact.slot == "id":
                self.found.ask("action", Doubt("this names a transfer that exists, and a new one"), fact.words)
            elif fact.slot in ("select", "state", "noun", "named"):
                self.found.ask(
                    "source", Doubt(f"`{shown(fact.words)}` alone is no location: write endpoint:/path"), fact.words
                )

    def _check_kept(self) -> None:
        facts = self.step.of("delete_source")
        if any(fact.value is False for fact in facts):
            self.found.values.pop("delete_source", None)
            self.found.ask("action", Doubt("moving deletes the source: say copy to keep it"), words_of(facts))
        elif "delete_source" not in self.found.asked():
            self.found.values["delete_source"] = True
        else:
            self.found.danger.add("delete_source")

    def _inherit(self) -> None:
        """Take "from there" as where the step before went."""
        before = self.before
        if before is not None and before.destination is not None and self.step.has("there"):
            self.found.values.setdefault("source", before.destination)

    def _deletions(self, action: str | None) -> None:  # noqa: C901
        """Settle "delete X", "delete nothing", "clean up" by what else is said."""
        found, step = self.found, self.step
        for fact in step.of("delete_place"):
            place = resolve_place(fact.value, self.context) if isinstance(fact.value, Place) else None
            if isinstance(place, Refusal):
                found.refusals.append(place)
            elif isinstance(place, Location) and place == found.values.get("source") and action:
                found.values["delete_source"] = True
            elif action and found.values.get("source") is not None:
                found.ask("delete_source", Doubt("only the source of the copy can be deleted after it"), fact.words)
            else:
                found.ask("action", Doubt("deleting on its own is no transfer: say copy or move"), fact.words)
        for fact in step.of("cleanup"):
            slots = ("delete_extraneous", "delete_source") if action != "copy" else ("delete_source",)
            for slot in slots:
                found.ask(slot, cast("Doubt", fact.value), fact.words)
        if step.has("delete_nothing"):
            for slot in ("delete_source", "delete_extraneous"):
                if found.values.get(slot) is True:
                    found.ask(slot, Doubt("the words say to delete and not to delete"))
            if action == "move":
                found.ask("action", Doubt("moving deletes the source: say copy to keep it"))

    def _conflicting_clears(self) -> None:
        for fact in self.step.of("clear"):
            slot = str(fact.value)
            if slot in self.found.values:
                self.found.ask(slot, Doubt("the words say both to set it and to leave it out"), fact.words)

    def _control(self, action: str) -> Intent:
        found, step = self.found, self.step
        if action in ("status", "list") and self.before is not None and self.before.action in TRANSFER_ACTIONS:
            found.ask("action", Doubt(f"say the {action} request on its own"), words_of(step.of("action")))
        if step.has("dismiss"):
            target: Target | Doubt | Refusal | None = self._last()
        else:
            target = resolve_target(_told_today(step) if action in ("status", "list") else step, self.context, action)
        if isinstance(target, Target) and target.ref == LAST and self.before is not None:
            target = self.before.target if self.before.target is not None and target == Target(ref=LAST) else target
            target = None if target == self.before.target else target
        found.put("target", target, self._target_words())
        needs = action in ("cancel", "pause", "resume") and self.before is None
        if needs and target is None:
            found.ask("target", Doubt(_MISSING["target"]))
        self._leftovers(source="target", destination="target", action="target")
        resolve_options(step, self.context, found)
        self._extra_options(action)
        if action == "cancel" and isinstance(target, Target) and _is_bulk(target):
            found.danger.add("bulk_cancel")
        if action == "cancel" and step.has("all"):
            found.danger.add("bulk_cancel")
        certain = found.certain()
        kept: dict[str, object] = {slot: certain[slot] for slot in ("target", "start") if slot in certain}
        return with_slots(Intent(action=cast("Action", action)), kept)

    def _target_words(self) -> str | None:
        slots = ("id", "it", "named", "all", "select", "state", "since", *_PLACE_FACTS)
        facts = [fact for fact in self.step.facts if fact.slot in slots]
        return words_of(facts) or None

    def _extra_options(self, action: str) -> None:
        """Ask about everything but a time that stands with an order about a transfer."""
        if action == "pause" and self.step.has("deadline"):
            self.found.ask("start", Doubt("say when to pause; resuming later is a step of its own"))
        for fact in self.step.facts:
            if fact.slot == "deadline" and action == "pause":
                continue
            if fact.slot in _OPTION_FACTS and fact.slot not in _CONTROL_OPTIONS:
                self.found.ask("action", Doubt(f"`{fact.words}` does not go with {action}"), fact.words)
        self.found.questions = [
            question
            for question in self.found.questions
            if question.slot not in OPTION_SLOTS or (question.slot == "start" and action not in ("status", "list"))
        ]
        if self.step.has("same", "live"):
            self.found.ask("action", Doubt("say whether this is an answer or a new request"))

    def _last(self) -> Target | Doubt:
        if self.context.last is None:
            return Doubt("say which plan: there is none that this could be about")
        return Target(ref=LAST)

    def _confirm(self) -> Intent:
        self.found.put("target", self._last())
        self._leftovers(action="action")
        return Intent(action="confirm", target=cast("Target | None", self.found.certain().get("target")))

    def _modify(self) -> Intent:
        found, step = self.found, self.step
        target: Target | Doubt | Refusal | None
        named = step.has("id")
        target = resolve_target(Step(step.of("id")), self.context, "modify") if named else self._last()
        found.put("target", target, words_of(step.of("id")) or None)
        for slot in ("source", "destination"):
            resolved_step = Step(tuple(fact for fact in step.facts if fact.slot == slot))
            if resolved_step.facts:
                resolve_places(resolved_step, self.context, found)
        for fact in (*step.of("at"), *step.of("place"), *step.of("for"), *step.of("more")):
            found.ask("destination", Doubt("say to or from"), fact.words)
        resolve_options(step, self.context, found)
        self._deletions(None)
        self._leftovers(action="action")
        self._note_dangers()
        certain = found.certain()
        return Intent(
            action="modify",
            target=cast("Target | None", certain.pop("target", None)),
            changes=self._changes(certain),
        )

    def _changes(self, certain: dict[str, object]) -> Changes | None:
        """Make the patch: names are added to those the plan has, unless the words say instead."""
        said = {str(fact.value) for fact in self.step.of("marker")}
        words = {fact.words.lower() for fact in self.step.of("marker")}
        patch = dict(certain)
        if "exclude" in patch and "instead" not in words:
            patch["add_exclude"] = patch.pop("exclude")
        if "include" in patch and "also" in said:
            patch["add_include"] = patch.pop("include")
        cleared = tuple(dict.fromkeys(str(fact.value) for fact in self.step.of("clear")))
        for slot in cleared:
            if slot in patch or f"add_{slot}" in patch:
                self.found.ask(slot, Doubt("the words say both to set it and to leave it out"))
        if cleared:
            patch["cleared"] = cleared
        return with_slots(Changes(), patch) if patch else None

    def _same(self) -> Intent:
        """Copy as the last plan does, with the last name of its paths replaced."""
        found, last = self.found, self.context.last
        name = self.step.of("same")[0]
        swapped = None if last is None else _renamed(last, str(name.value))
        if swapped is None:
            found.ask("source", Doubt("say where the data is: endpoint:/path"), name.words)
            found.ask("destination", Doubt("say where the data goes: endpoint:/path"), name.words)
        else:
            found.values.update(swapped)
        if self.step.has("action", *_PLACE_FACTS, "confirm"):
            found.ask("action", Doubt("say the whole request again"), name.words)
        resolve_options(self.step, self.context, found)
        self._deletions("copy")
        self._leftovers(action="action")
        self._note_dangers()
        certain = found.certain()
        certain.pop("drop_exclude", None)
        action: Action = "move" if certain.get("delete_source") is True else "copy"
        return with_slots(Intent(action=action), certain)

    def _unknown(self) -> Intent:
        found, step = self.found, self.step
        if "action" not in found.asked():
            found.ask("action", _NO_ACTION)
        if any(fact.value in _UNCLEAR_ORDERS for fact in step.of("action")) or step.has("id"):
            # What is certain is which transfers are meant.
            found.put("target", resolve_target(step, self.context, "status"), self._target_words())
            self._leftovers(source="target", destination="target", action="action")
            return Intent(target=cast("Target | None", found.certain().get("target")))
        places = [fact for fact in step.facts if fact.slot in _PLACE_FACTS]
        if places:
            resolve_places(step, self.context, found)
        resolve_options(step, self.context, found)
        self._deletions(None)
        # Without a verb that was understood, words next to a location are more likely the verb.
        self._leftovers(action="action", source="action", destination="action")
        if not step.has("action"):
            # Without a verb, "delete" and "clean up" are no part of any transfer yet.
            found.questions = [one for one in found.questions if one.slot not in ("delete_source", "delete_extraneous")]
        if step.has("action") or (places and not step.leftovers and not step.has(*_OPTION_FACTS)):
            self._ask_missing_place()
        self._note_dangers()
        return Intent()

    def _ask_missing_place(self) -> None:
        for slot in ("source", "destination"):
            if slot not in self.found.values and slot not in self.found.asked():
                self.found.ask(slot, Doubt(_MISSING[slot]))

    # What is left.

    def _leftovers(self, **moved: str | None) -> None:
        """Ask about the words that no span owns; `moved` says which slot stands for another."""
        for leftover in self.step.leftovers:
            slot = moved.get(leftover.slot, leftover.slot) or leftover.slot
            if slot == "target" and leftover.slot == "target":
                slot = moved.get("action") or "action"
            message = f"`{shown(leftover.words)}` is not understood"
            choices = near_choices(leftover.words, self.context) if slot in ("source", "destination", "target") else ()
            self.found.ask(slot, Doubt(message, choices), leftover.words)

    def _note_dangers(self) -> None:
        source = self.found.values.get("source")
        self.found.note_dangers(source if isinstance(source, Location) else None)


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


def _is_bulk(target: Target) -> bool:
    return not (target.id or target.ref or target.select not in (None, "all"))


def _renamed(last: PlanRef, name: str) -> dict[str, Location] | None:
    """Replace the run's name at the end of both paths, when both end in it."""
    found: dict[str, Location] = {}
    for slot, text in (("source", last.source), ("destination", last.destination)):
        location = Location.parse(text)
        head, slash, old = location.path.rpartition("/")
        same_form = _DIGITS.sub("0", old) == _DIGITS.sub("0", name) and _DIGITS.search(old)
        if not slash or not same_form or location.url is not None:
            return None
        found[slot] = Location(location.endpoint, f"{head}/{name}")
    return found
