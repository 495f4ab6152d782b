"""Typed slots (REST, MCP, `headrace copy`) through the same resolution as words."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from typing import TYPE_CHECKING, TypeVar, cast

from headrace.guardrails.intents.answer import Interpretation, Refusal
from headrace.guardrails.intents.context import Endpoint
from headrace.guardrails.intents.draft import Doubt, Place
from headrace.guardrails.intents.limits import MAX_COUNT, MAX_GLOBS, MAX_RATE_BPS
from headrace.guardrails.intents.text import in_words, shown
from headrace.guardrails.intents.values import (
    TRANSFER_ACTIONS,
    Changes,
    Intent,
    Location,
    Slots,
    Target,
    with_slots,
)
from headrace.guardrails.resolve.endpoint_names import resolve_name
from headrace.guardrails.resolve.findings import Findings
from headrace.guardrails.resolve.locations import resolve_place
from headrace.guardrails.resolve.recurrence import check_rrule
from headrace.guardrails.resolve.single_values import is_odd_glob, nothing_left
from headrace.guardrails.resolve.targets import resolve_transfer

if TYPE_CHECKING:
    from datetime import datetime

    from headrace.guardrails.intents.context import Context

_Step = TypeVar("_Step", Intent, Changes)

MAX_STEPS = 16
_CLOCK = re.compile(r"(?:[01]\d|2[0-3]):[0-5]\d", re.ASCII)
_SELECTIONS = frozenset({"all", "largest", "smallest", "oldest", "newest", "slowest", "fastest"})
_STATES = frozenset({"failed", "running", "queued", "paused", "complete", "canceled"})
_GLOB_SLOTS = ("include", "exclude", "add_include", "add_exclude", "drop_include", "drop_exclude")


def check_intent(intent: Intent, context: Context) -> Interpretation:
    """Resolve and check an intent that was given as slots. Never raises.

    The same refusals and questions as for words; `$` and `*` in a typed path stand for themselves.
    """
    steps = (intent, *intent.then)
    found = Findings()
    if len(steps) > MAX_STEPS or any(step.then for step in intent.then):
        found.ask("then", Doubt(f"a request has {MAX_STEPS} steps at most, none inside another"))
        return Interpretation("ask", Intent(), tuple(found.questions))
    answers = [_check_step(step, context, first=number == 0) for number, step in enumerate(steps)]
    refusals = tuple(refusal for _, one in answers for refusal in one.refusals)
    if refusals:
        return Interpretation("refuse", Intent(), refusals=refusals)
    questions = tuple(question for _, one in answers for question in one.questions)
    danger = tuple(sorted({name for _, one in answers for name in one.danger}))
    resolved = replace(answers[0][0], then=tuple(step for step, _ in answers[1:]))
    return Interpretation("ask" if questions else "intent", resolved, questions, danger)


def _check_step(step: Intent, context: Context, *, first: bool) -> tuple[Intent, Findings]:
    found = Findings()
    _check_slots(step, context, found)
    if step.changes is not None:
        changes = Findings()
        _check_slots(step.changes, context, changes)
        found.questions += changes.questions
        found.refusals += changes.refusals
        found.danger |= changes.danger
        asked = changes.asked()
        step = replace(step, changes=_without(_with(step.changes, changes), asked))
    action = step.action
    if action is None:
        found.ask("action", Doubt("say what to do"))
    elif action in TRANSFER_ACTIONS:
        for slot in ("source", "destination"):
            if getattr(step, slot) is None:
                found.ask(slot, Doubt(f"a {action} needs a {slot}"))
    else:
        _check_control(step, context, found, first=first)
    if action == "copy" and step.delete_source:
        step = replace(step, action="move")
    if step.action == "move":
        found.danger.add("delete_source")
        if step.delete_source is False:
            found.ask("action", Doubt("moving deletes the source: say copy to keep it"))
        found.values["delete_source"] = True
    return _without(_with(step, found), found.asked()), found


def _with(step: _Step, found: Findings) -> _Step:
    """Take the resolved values over, in the registry's spelling."""
    known = {field.name for field in fields(step)}
    return with_slots(step, {name: value for name, value in found.values.items() if name in known})


def _without(step: _Step, asked: set[str]) -> _Step:
    """Leave out the slots that something is asked about."""
    empty = {field.name: field.default for field in fields(step) if field.name in asked}
    return with_slots(step, empty)


def _check_slots(slots: Slots, context: Context, found: Findings) -> None:
    for slot in ("source", "destination"):
        place = getattr(slots, slot)
        if place is not None:
            found.put(slot, _location(place, context), str(place))
    source, destination = found.values.get("source"), found.values.get("destination")
    if source is not None and source == destination:
        found.ask("destination", Doubt("the source and the destination are the same place: choose another destination"))
    for slot in _GLOB_SLOTS:
        globs = getattr(slots, slot, ())
        if len(globs) > MAX_GLOBS or any(is_odd_glob(glob) for glob in globs):
            name = slot.removeprefix("add_").removeprefix("drop_")
            found.ask(name, Doubt(f"{in_words(name)} must hold {MAX_GLOBS} patterns below the source at most"))
    if doubt := nothing_left(slots.include, slots.exclude):
        found.ask("exclude", doubt)
    _check_numbers(slots, found)
    _check_moments(slots, context, found)
    for name in ("delete_source", "delete_extraneous", "encryption", "verify", "on_conflict"):
        found.put(name, getattr(slots, name))
    where = found.values.get("source")
    found.note_dangers(where if isinstance(where, Location) else None)


def _location(place: Location, context: Context) -> Location | Doubt | Refusal:
    words = str(place)
    if place.url is not None:
        return resolve_place(Place(words, url=place.url, literal=True), context)
    return resolve_place(Place(words, place.endpoint, place.path, literal=True), context)


def _check_numbers(slots: Slots, found: Findings) -> None:
    limits = (
        ("min_size", MAX_COUNT, "bytes"),
        ("max_size", MAX_COUNT, "bytes"),
        ("rate_limit_bps", MAX_RATE_BPS, "bit/s"),
    )
    for slot, most, unit in limits:
        value = getattr(slots, slot)
        if value is not None and not 0 < value <= most:
            found.ask(slot, Doubt(f"{in_words(slot)} must be from 1 to {most:,} {unit}"))
    if slots.min_size and slots.max_size and slots.min_size > slots.max_size:
        found.ask("max_size", Doubt(f"{in_words('max_size')} leaves nothing after {in_words('min_size')}"))


def _check_moments(slots: Slots, context: Context, found: Findings) -> None:
    for slot in ("start", "deadline"):
        value: datetime | None = getattr(slots, slot)
        if value is not None and (value.tzinfo is None or value <= context.now):
            found.ask(slot, Doubt(f"{in_words(slot)} must be a time ahead, with its offset from UTC"))
    for low, high in (("start", "deadline"), ("modified_after", "modified_before")):
        first, last = getattr(slots, low), getattr(slots, high)
        if first is not None and last is not None and first.tzinfo and last.tzinfo and first >= last:
            found.ask(high, Doubt(f"{in_words(high)} leaves nothing after {in_words(low)}"))
    window = slots.window
    if window and (window[0] == window[1] or not all(_CLOCK.fullmatch(clock) for clock in window)):
        found.ask("window", Doubt(f"{in_words('window')} must be two different clock times, such as 22:00 and 05:00"))
    if slots.repeat is not None:
        found.put("repeat", check_rrule(slots.repeat), slots.repeat)


def _check_control(step: Intent, context: Context, found: Findings, *, first: bool) -> None:
    target = step.target
    if target is None:
        if first and step.action in ("cancel", "pause", "resume", "modify", "confirm"):
            found.ask("target", Doubt("say which transfer: its id, or all"))
        return
    found.put("target", _target(target, context))
    if step.action == "confirm" and target.ref is None:
        found.ask("target", Doubt("only a plan can be confirmed: say which plan"))
    if step.action == "modify" and step.changes is None:
        found.ask("changes", Doubt("say what to change"))
    bulk = not (target.id or target.ref or target.select not in (None, "all"))
    if step.action == "cancel" and bulk:
        found.danger.add("bulk_cancel")


def _target(target: Target, context: Context) -> Target | Doubt | Refusal:  # noqa: PLR0911
    if target.ref is not None and not any(plan.ref == target.ref for plan in context.plans):
        return Doubt(f"there is no plan `{shown(target.ref)}`")
    if target.select is not None and target.select not in _SELECTIONS:
        return Doubt(f"which of several transfers is meant must be one of {', '.join(sorted(_SELECTIONS))}")
    if target.state is not None and target.state not in _STATES:
        return Doubt(f"the state of the transfers must be one of {', '.join(sorted(_STATES))}")
    if target.since is not None and (target.since.tzinfo is None or target.since > context.now):
        return Doubt("the time since when must be past, with its offset from UTC")
    known: dict[str, str] = {}
    for side in ("source", "destination"):
        name = getattr(target, side)
        if name is None:
            continue
        endpoint = resolve_name(name, context)
        if not isinstance(endpoint, Endpoint):
            return endpoint
        known[side] = endpoint.id
    if target.id is not None:
        found = resolve_transfer(target.id, context)
        if isinstance(found, Doubt):
            return found
        known["id"] = found
    return with_slots(target, known) if target != Target() else Doubt("the target names nothing")


def apply_changes(intent: Intent, changes: Changes) -> Intent:
    """Apply a follow-up's patch to the intent of the last plan, giving a new intent.

    The result is not checked: give it to `check_intent`, since other endpoints or times may clash.
    """
    names = [field.name for field in fields(Slots)]
    patch: dict[str, object] = {
        name: value for name in names if (value := getattr(changes, name)) is not None and value != ()
    }
    for name in changes.cleared:
        default = next(field.default for field in fields(Slots) if field.name == name)
        patch[name] = default
    for slot in ("include", "exclude"):
        globs = cast("tuple[str, ...]", patch.get(slot, getattr(intent, slot)))
        added = (*globs, *getattr(changes, f"add_{slot}"))
        dropped = getattr(changes, f"drop_{slot}")
        patch[slot] = tuple(dict.fromkeys(glob for glob in added if glob not in dropped))
    changed = with_slots(intent, patch)
    if changed.action == "copy" and changed.delete_source:
        return replace(changed, action="move")
    if changed.action == "move" and not changed.delete_source:
        return replace(changed, action="copy", delete_source=None)
    return changed
