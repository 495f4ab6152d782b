"""One step on its way to an intent, and what every kind of step settles the same way."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

from headrace.guardrails.intents.answer import Refusal
from headrace.guardrails.intents.context import Context, Endpoint
from headrace.guardrails.intents.draft import Doubt, Fact, Place
from headrace.guardrails.intents.text import shown
from headrace.guardrails.intents.values import Location, Slots, Target
from headrace.guardrails.resolve.endpoint_names import near_choices, resolve_name
from headrace.guardrails.resolve.findings import Findings
from headrace.guardrails.resolve.locations import resolve_place
from headrace.guardrails.resolve.targets import LAST

if TYPE_CHECKING:
    from headrace.guardrails.intents.draft import Step
    from headrace.guardrails.intents.values import Intent

_PRUNES = {"prune_at": "destination", "prune_from": "source"}
"""Where the words say that files are deleted, and where these are no longer: which end that must be."""
OPTION_SLOTS = tuple(slot.name for slot in fields(Slots) if slot.name not in ("source", "destination"))
OPTION_FACTS = (*OPTION_SLOTS, "drop_exclude", "clear", "delete_nothing", "cleanup", "delete_place", *_PRUNES)
ALWAYS_USED = frozenset({"weak_action", "turn", "step", "there", "flag", "cue", "foreign"})
"""Slots that carry no wish of their own: a turn of the talk, where a step ends, how an option was written."""
PLACE_FACTS = ("source", "destination", "at", "place", "for", "more")
MISSING = {
    "source": Doubt("say where the data is: endpoint:/path"),
    "destination": Doubt("say where the data goes: endpoint:/path"),
    "target": Doubt("say which transfer: its id, or all"),
}
NO_PLAN = Doubt("there is no plan that this could be about: for a new transfer, say the whole request")
_NOTHING_ELSE = "Headrace copies, syncs and moves files, and does nothing else with them"
_LISTED = "what is in a folder is listed by `headrace browse ENDPOINT:/PATH`"
_ENDS = ("source", "destination")
_BOTH_WAYS = Doubt("the words say both to set it and to leave it out")
_MOVE_KEEPS = Doubt("moving deletes the source: say copy to keep it")
_OTHER_END = Doubt("files can be deleted at the destination that its source no longer has: say so")
_NO_DELETE = Doubt(
    "nothing deletes on its own: what is at a destination and no longer at its source goes with `headrace sync SOURCE "
    "DESTINATION --delete`, once its plan is confirmed",
    leads=True,
)


@dataclass(slots=True)
class Situation:
    """A step, what came before and comes after it, and what has been found out."""

    step: Step
    context: Context
    before: Intent | None = None
    following: Step | None = None
    found: Findings = field(default_factory=Findings)
    used: frozenset[str] = frozenset()

    def last(self) -> Target | Doubt:
        """Give the plan that "it" stands for."""
        if self.context.last is None:
            return NO_PLAN
        return Target(ref=LAST)

    def ask_leftovers(self, **moved: str) -> None:
        """Ask about the words that no span owns; `moved` says which slot stands for another."""
        told = False
        for leftover in self.step.leftovers:
            slot = leftover.slot
            if slot == "which":
                slot = "include" if "source" in self.found.values else "source"
            slot = moved.get(slot, slot)
            if leftover.slot == "target" and "target" not in moved:
                slot = moved.get("action", "action")
            guessable = slot in ("source", "destination", "target")
            choices = near_choices(leftover.words, self.context) if guessable else ()
            message = f"`{shown(leftover.words)}` is not understood" + (f": {leftover.why}" if leftover.why else "")
            if not leftover.why and not choices and slot in ("source", "destination") and self.context.endpoints:
                named = [one for one in map(self.found.values.get, _ENDS) if isinstance(one, Location) and one.endpoint]
                endpoint = named[0].endpoint if named else self.context.endpoints[0].id
                place = f"{endpoint}:/{leftover.words}"
                message += f"; if it is a file or folder, write where it is, as `{shown(place)}`"
            leads = slot == "action" and not leftover.why and not told and not self.step.has("action")
            if leads:
                listed = (
                    f"; {_LISTED}" if len([fact for fact in self.step.facts if fact.slot in PLACE_FACTS]) == 1 else ""
                )
                message, told = f"{message}; {_NOTHING_ELSE}{listed}", True
            self.found.ask(slot, Doubt(message, choices, leads=leads), leftover.words)

    def settle_deletions(self, action: str | None) -> None:
        """Settle "delete X", "delete nothing" and "clean up" by what else is said."""
        for fact in self.step.of("delete_place"):
            self._delete_place(fact, action)
        for fact in self.step.of("cleanup"):
            slots = ("delete_source",) if action == "copy" else ("delete_extraneous", "delete_source")
            for slot in slots:
                self.found.put(slot, fact.value, fact.words)
        for fact in self.step.of("keep_place"):
            self._keep_place(fact, action)
        self._ask_other_ends()
        kept = self.step.of("delete_nothing")
        turned = [fact for fact in kept if isinstance(fact.value, Doubt)]
        for fact in turned:
            self.found.put("delete_extraneous" if action == "sync" else "delete_source", fact.value, fact.words)
        if kept and not turned:
            for slot in ("delete_source", "delete_extraneous"):
                if self.found.values.get(slot) is True:
                    self.found.ask(slot, _BOTH_WAYS)
                self.found.values.setdefault(slot, False)
            if action == "move":
                self.found.ask("action", _MOVE_KEEPS)

    def _delete_place(self, fact: Fact, action: str | None) -> None:
        place = resolve_place(fact.value, self.context) if isinstance(fact.value, Place) else None
        source = self.found.values.get("source")
        if isinstance(place, Refusal):
            self.found.refusals.append(place)
        elif isinstance(place, Location) and place == source and action:
            self.found.values["delete_source"] = True
        elif action and source is not None:
            self.found.ask("delete_source", Doubt("only the source of a copy can be deleted after it"), fact.words)
        else:
            # Nothing is copied, so it does not matter how the words could be read of the source of a copy.
            self.found.withdraw("delete_source", fact.words)
            self.found.ask("action", _NO_DELETE, fact.words)

    def _ask_other_ends(self) -> None:
        """Ask about a delete that names other ends than the destination, or than the source that has lost the files."""
        for slot, end in _PRUNES.items():
            for fact in self.step.of(slot):
                if not isinstance(fact.value, Place) or self._ends_at(fact.value) != [end]:
                    self.found.ask("delete_extraneous", _OTHER_END, fact.words)

    def _ends_at(self, place: Place) -> list[str]:
        """Give the ends of the transfer that a place is, or is the endpoint of."""
        ends = ((end, self.found.values.get(end)) for end in _ENDS)
        return [end for end, one in ends if isinstance(one, Location) and _is_at(place, one, self.context)]

    def _keep_place(self, fact: Fact, action: str | None) -> None:
        """Settle "never delete anything on archive": at whichever end that is."""
        place = fact.value if isinstance(fact.value, Place) else None
        deletes = {"source": "delete_source", "destination": "delete_extraneous"}
        ends = [deletes[end] for end in self._ends_at(place)] if place is not None else []
        if not ends:
            self.found.ask(
                "delete_source", Doubt("say what must not be deleted: the source or the destination"), fact.words
            )
        for slot in ends:
            if self.found.values.get(slot) is True:
                self.found.ask(slot, _BOTH_WAYS, fact.words)
            self.found.values.setdefault(slot, False)
            if action == "move" and slot == "delete_source":
                self.found.ask("action", _MOVE_KEEPS, fact.words)

    def ask_unkept(self) -> None:
        """Ask about attributes that the words want kept and need not be kept."""
        kept = self.found.values.get("preserve")
        for fact in self.step.of("not_kept"):
            both = isinstance(kept, tuple) and isinstance(fact.value, tuple) and {*kept} & {*fact.value}
            if both or isinstance(fact.value, Doubt):
                self.found.ask("preserve", _BOTH_WAYS, fact.words)

    def settle_kept(self) -> None:
        """Let a move delete its source, unless the words want the source kept."""
        facts = self.step.of("delete_source")
        if any(fact.value is False for fact in facts):
            self.found.values.pop("delete_source", None)
            self.found.ask("action", _MOVE_KEEPS, facts[0].words)
        elif "delete_source" in self.found.asked():
            self.found.danger.add("delete_source")
        else:
            self.found.values["delete_source"] = True

    def ask_cleared(self) -> None:
        """Ask about a slot that the words both set and clear, or that others may keep from being cleared."""
        for fact in self.step.of("clear"):
            if isinstance(fact.value, Doubt):
                self.found.ask(str(fact.value.reading), fact.value, fact.words)
            elif str(fact.value) in self.found.values:
                self.found.ask(str(fact.value), _BOTH_WAYS, fact.words)

    def note_dangers(self) -> None:
        """Note what a confirmation must show."""
        source = self.found.values.get("source")
        self.found.note_dangers(source if isinstance(source, Location) else None)


def _is_at(place: Place, location: Location, context: Context) -> bool:
    """Say whether a place is this location, or the endpoint of it."""
    if place.path is not None:
        return resolve_place(place, context) == location
    known = resolve_name(place.name or "", context)
    return isinstance(known, Endpoint) and known.id == location.endpoint
