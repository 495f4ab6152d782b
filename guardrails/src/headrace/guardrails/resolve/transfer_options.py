"""The slots that a new transfer and a change have in common, resolved from a step's facts."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from headrace.guardrails.intents.draft import Doubt, Fact, Hours, Place, Repeat, Step, When
from headrace.guardrails.intents.text import in_words
from headrace.guardrails.resolve import moments
from headrace.guardrails.resolve.locations import resolve_place
from headrace.guardrails.resolve.recurrence import repeat_on, resolve_hours, resolve_repeat, with_day
from headrace.guardrails.resolve.single_values import amount, names, nothing_left, only, plain, verification, words_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from headrace.guardrails.intents.context import Context
    from headrace.guardrails.intents.draft import Value
    from headrace.guardrails.resolve.findings import Findings

_PLAIN = ("priority", "encryption", "on_conflict", "delete_source", "delete_extraneous")
_PLACED = ("source", "destination", "at", "place", "for")
_ANY = "any"
_AMOUNTS = {"min_size": "size", "max_size": "size", "rate_limit_bps": "rate"}


def resolve_options(step: Step, context: Context, found: Findings) -> None:
    """Resolve everything but the places."""
    for slot in _PLAIN:
        found.put(slot, only(_settled(step.of(slot)), plain), words_of(step.of(slot)))
    for slot, kind in _AMOUNTS.items():
        found.put(slot, only(step.of(slot), partial(amount, kind=kind)), words_of(step.of(slot)))
    for slot in ("include", "exclude", "preserve", "drop_exclude"):
        found.put(slot, names(step, slot) or None, words_of(step.of(slot)))
    found.put("verify", verification(step), words_of(step.of("verify")))
    found.put("window", only(step.of("window"), _hours), words_of(step.of("window")))
    _resolve_times(step, context, found)
    _resolve_changed(step, context, found)
    _check_order(found)
    if doubt := nothing_left(found.values.get("include"), found.values.get("exclude")):
        found.ask("exclude", doubt, words_of(step.of("exclude")))


def _settled(facts: tuple[Fact, ...]) -> tuple[Fact, ...]:
    """Leave out a vague word that an exact one beside it makes clear ("urgent ... high priority")."""
    said = {fact.value for fact in facts if not isinstance(fact.value, Doubt)}
    return tuple(
        fact
        for fact in facts
        if not (isinstance(fact.value, Doubt) and fact.value.reading in said and fact.slot == "priority")
    )


def _hours(value: Value) -> tuple[str, str] | Doubt:
    return (
        resolve_hours(value)
        if isinstance(value, Hours)
        else Doubt("these are not hours of the day: write two times, such as 22:00 to 05:00")
    )


def _resolve_times(step: Step, context: Context, found: Findings) -> None:
    starts, repeats = _repetitions(step)
    clock: When | None = None
    if repeats:
        # "every night ... at 2am": the start's time of day is the repetition's.
        named = [fact for fact in starts if isinstance(fact.value, When) and _clock_only(fact.value)]
        first = repeats[0].value
        if isinstance(first, Repeat) and first.times > 1 and not first.clocks and len(named) == len(starts):
            clocks = tuple(fact.value for fact in named if isinstance(fact.value, When))
            repeats[0] = replace(repeats[0], value=replace(first, clocks=clocks))
            starts = []
        elif len(named) == 1 and not any(_has_hours(fact.value) for fact in repeats):
            clock = named[0].value if isinstance(named[0].value, When) else None
            starts = [fact for fact in starts if fact is not named[0]]
        if any(isinstance(fact.value, When) and _clock_only(fact.value) for fact in starts):
            found.ask("repeat", Doubt("it has more than one time of day: say one"), words_of(starts))
    elif any(leftover.slot == "repeat" for leftover in step.leftovers):
        starts = [fact for fact in starts if not (isinstance(fact.value, When) and _clock_only(fact.value))]
    words = words_of(repeats)
    found.put("repeat", only(repeats, partial(_repeat, clock=clock)), words)
    found.put("start", only(starts, partial(_coming, context=context)), words_of(starts))
    deadlines = step.of("deadline")
    found.put("deadline", only(deadlines, partial(_until, context=context)), words_of(deadlines))


def _has_hours(value: Value) -> bool:
    return isinstance(value, Repeat) and bool(value.clock or value.clocks)


def _clock_only(when: When) -> bool:
    return when.clock is not None and when.day is None


def _repetitions(step: Step) -> tuple[list[Fact], list[Fact]]:
    """Tell starts from repetitions: "on Mondays at 9am" is one, "weekly ... on Friday" joins one."""
    starts = list(step.of("start"))
    repeats = list(step.of("repeat"))
    # "a recurring sync ... every night at 2": the times that are said are those of the recurring.
    said = [fact for fact in repeats if not (isinstance(fact.value, Doubt) and fact.value.reading == _ANY)]
    repeats = said if any(isinstance(fact.value, Repeat) for fact in said) else repeats
    for fact in list(starts):
        when = fact.value
        if isinstance(when, When) and when.day is not None and when.day.plural:
            starts.remove(fact)
            repeats.append(replace(fact, slot="repeat", value=repeat_on(fact.words, [when])))
    repeats = _merged(repeats)
    if len(repeats) == 1 and len(starts) == 1:
        joined = _joined(repeats[0].value, starts[0].value)
        if joined is not None:
            return [], [replace(repeats[0], value=joined)]
    return starts, repeats


def _is_bare(value: Value) -> bool:
    if not isinstance(value, Repeat) or value.interval != 1 or value.times != 1 or value.part is not None:
        return False
    return not (value.clock or value.days or value.monthdays or value.rule or value.doubt)


def _merged(repeats: list[Fact]) -> list[Fact]:
    """Leave out a bare "weekly" beside "on Sundays at 02:00": it says no more."""
    exact = {fact.value.freq for fact in repeats if isinstance(fact.value, Repeat) and not _is_bare(fact.value)}
    return [
        one
        for one in repeats
        if not (_is_bare(one.value) and isinstance(one.value, Repeat) and one.value.freq in exact)
    ]


def _joined(repeat: Value, when: Value) -> Repeat | None:
    """Join "weekly" with the weekday of a start, "monthly" with its day of the month."""
    if not isinstance(repeat, Repeat) or not isinstance(when, When) or when.day is None:
        return None
    if repeat.clock is not None or repeat.days or repeat.monthdays or repeat.doubt:
        return None
    joined = with_day(replace(repeat, words=f"{repeat.words} {when.words}"), when)
    return None if joined.doubt else joined


def _repeat(value: Value, clock: When | None) -> str | Doubt:
    if not isinstance(value, Repeat):
        return Doubt("this is not a repetition: write it as every day at 02:00")
    return resolve_repeat(value, clock)


def _coming(value: Value, context: Context) -> datetime | Doubt:
    return (
        moments.coming(value, context)
        if isinstance(value, When)
        else Doubt("this is not a time: write one, such as 2026-11-25 14:30")
    )


def _until(value: Value, context: Context) -> datetime | Doubt:
    if isinstance(value, When) and value.ahead is not None and not value.doubt:
        return moments.within(value.ahead, context)
    return _coming(value, context)


def _resolve_changed(step: Step, context: Context, found: Findings) -> None:
    """Resolve times of change; a bare day means all of it."""
    pairs = {
        (fact.first, fact.last)
        for fact in step.of("modified_after")
        if any((other.first, other.last) == (fact.first, fact.last) for other in step.of("modified_before"))
    }

    def bound(fact: Fact, side: int) -> datetime | Doubt:
        if isinstance(fact.value, Doubt):
            return fact.value
        if not isinstance(fact.value, When):
            return Doubt("this is not a time: write one, such as 2026-11-25 14:30")
        both = step.of(("modified_before", "modified_after")[side])
        # "Yesterday", "yesterday from 09:30": a day without a time of its own is from its start, or to its end.
        same = any(
            other.value == fact.value
            or (isinstance(other.value, When) and (other.value.day, None) == (fact.value.day, fact.value.clock))
            for other in both
        )
        if (fact.first, fact.last) in pairs and same:
            return moments.span_of(fact.value, context)[side]
        return moments.since(fact.value, context)

    for side, slot in enumerate(("modified_after", "modified_before")):
        facts = (*step.of(slot), *(step.of("since") if side == 0 else ()))
        found.put(slot, _agreed([bound(fact, side) for fact in facts], facts), words_of(facts))


def _agreed(values: Sequence[datetime | Doubt], facts: Sequence[Fact]) -> datetime | Doubt | None:
    doubts = [value for value in values if isinstance(value, Doubt)]
    if doubts:
        return doubts[0]
    if len(set(values)) > 1:
        return Doubt(f"`{words_of(facts)}` says two different things: say one of them")
    return values[0] if values else None


def _check_order(found: Findings) -> None:
    """Ask about bounds that leave nothing: a deadline before the start, a size range upside down."""
    orders: list[tuple[str, str, Callable[[object, object], bool]]] = [
        ("start", "deadline", _not_before),
        ("modified_after", "modified_before", _not_before),
        ("min_size", "max_size", lambda low, high: int(str(low)) > int(str(high))),
    ]
    for low, high, wrong in orders:
        first, last = found.values.get(low), found.values.get(high)
        if first is not None and last is not None and wrong(first, last):
            found.ask(high, Doubt(f"{in_words(high)} leaves nothing after {in_words(low)}"))


def _not_before(low: object, high: object) -> bool:
    return str(low) != str(high) and not low < high  # type: ignore[operator]  # both are times


def resolve_places(step: Step, context: Context, found: Findings) -> None:
    """Resolve where from and where to: cue words first, then the order of the text."""
    placed: dict[str, list[Fact]] = {
        "source": list(step.of("source")),
        "destination": list(step.of("destination")),
    }
    for fact in sorted((*step.of("at"), *step.of("place"), *step.of("for")), key=lambda fact: fact.first):
        alone = placed["source"][0] if len(placed["source"]) == 1 else None
        ahead = alone is not None and alone.slot == "at" and alone.first < fact.first
        if not placed["source"] or (ahead and fact.slot == "place" and _is_path(fact)):
            placed["source"].append(fact)
        elif fact.slot == "at":
            found.ask("destination", Doubt("say whether data goes to it or comes from it"), fact.words)
        elif not placed["destination"]:
            placed["destination"].append(fact)
        else:
            placed["source"].append(fact)
    _ask_of_objects(step, placed, found)
    found.placed |= {slot: tuple(facts) for slot, facts in placed.items() if facts}
    placed = {slot: _in_parts(facts) for slot, facts in placed.items()}
    bare = step.of("place")
    if bare and step.has("source") and bare[0].first < step.of("source")[0].first and not step.has("destination"):
        # "copy X from Y": X may be where it goes, or what is wanted from Y.
        found.ask("destination", Doubt("say where it goes, with to"), bare[0].words)
    opens = placed["source"][:1] if placed["destination"] == [*bare] else []
    if any(fact.slot in ("for", "at") and _has_path(fact) for fact in opens):
        # "for A: B", "on A place B": which of them is the source is open.
        found.ask("destination", Doubt("say what goes where, with from and to"), placed["source"][0].words)
    for fact in step.of("more"):
        # "to B and C", "A and B to C": one of each is all that a transfer takes.
        before = [one for one in step.facts if one.slot in _PLACED and one.first < fact.first]
        slot = "destination" if before and before[-1].slot == "destination" else "source"
        found.ask(slot, Doubt("a transfer has one source and one destination: say one"), fact.words)
    for slot, facts in placed.items():
        found.put(slot, only(facts, partial(_location, context=context)), words_of(facts))
    source, destination = found.values.get("source"), found.values.get("destination")
    if source is not None and source == destination:
        found.ask("destination", Doubt("the source and the destination are the same place: choose another destination"))


def _ask_of_objects(step: Step, placed: dict[str, list[Fact]], found: Findings) -> None:
    """Ask about a place behind the verb, if the source stands before it: "A is ready. Copy B there" copies B."""
    for place in placed["destination"]:
        verb = max((one.first for one in step.of("action") if one.first <= place.first), default=-1)
        if place.slot == "place" and verb >= 0 and all(one.first < verb for one in placed["source"]):
            found.ask("destination", Doubt("say what goes where, with from and to"), place.words)


def _has_path(fact: Fact) -> bool:
    return isinstance(fact.value, Place) and fact.value.path is not None


def _is_path(fact: Fact) -> bool:
    return isinstance(fact.value, Place) and fact.value.name is None and fact.value.url is None


def _in_parts(facts: list[Fact]) -> list[Fact]:
    """Join an endpoint alone and a path alone: "on krios1, copy /raw/run42", or two fields of a form."""
    alone = sorted((fact for fact in facts if not _has_path(fact) or _is_path(fact)), key=_has_path)
    if len(facts) != 2 or len(alone) != len(facts) or alone[0].slot == "place":  # noqa: PLR2004 (a pair)
        return facts
    first, second = (fact.value for fact in alone)
    if not isinstance(first, Place) or not isinstance(second, Place) or first.name is None:
        return facts
    if not (second.path or "").startswith("/"):
        return facts
    return [replace(alone[1], value=replace(second, name=first.name), words=f"{alone[0].words} {alone[1].words}")]


def _location(value: Value, context: Context) -> object:
    if not isinstance(value, Place):
        return Doubt("this is not a location: write `endpoint:/path`")
    return resolve_place(value, context)
