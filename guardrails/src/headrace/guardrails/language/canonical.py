"""The sentence that says an intent exactly: people read it on the plan card, and it parses back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.guardrails.language.tokens import QUOTES, scan
from headrace.guardrails.resolve.recurrence import RRULE_DAYS

if TYPE_CHECKING:
    from datetime import datetime

    from headrace.guardrails.intents.values import Changes, Intent, Slots, Target

_SIZES = (
    ("PiB", 2**50), ("PB", 10**15), ("TiB", 2**40), ("TB", 10**12), ("GiB", 2**30), ("GB", 10**9),
    ("MiB", 2**20), ("MB", 10**6), ("KiB", 2**10), ("kB", 10**3),
)  # fmt: skip
_RATES = (("Tb/s", 10**12), ("Gb/s", 10**9), ("Mb/s", 10**6), ("kbit/s", 10**3))
_FIXED: dict[str, dict[object, str]] = {
    "encryption": {True: "encrypted", False: "without encryption"},
    "verify": {"none": "without verification", "default": "verified"},
    "on_conflict": {
        "skip": "skip existing files",
        "overwrite": "overwrite existing files",
        "fail": "fail if a file exists",
        "newer": "overwrite only if newer",
    },
    "delete_extraneous": {True: "delete whatever is gone at the source"},
}
_CLEARED = {
    "rate_limit_bps": "no rate limit",
    "deadline": "no deadline",
    "start": "remove the start time",
    "window": "remove the window",
    "repeat": "remove the schedule",
    "exclude": "remove the exclusions",
    "include": "remove the inclusions",
}
_DAY_NAMES = dict(
    zip(RRULE_DAYS, ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"), strict=True)
)


def canonical_sentence(intent: Intent) -> str:
    """Say an intent in words that `interpret` reads as the same intent.

    Raises ValueError for an intent without an action, and for the rare name that holds every kind of
    quote before a space, which no sentence can carry.
    """
    return ", then ".join(_step(step) for step in (intent, *intent.then))


def _step(step: Intent) -> str:
    if step.action is None:
        message = "an intent without an action has no sentence"
        raise ValueError(message)
    if step.action == "confirm":
        return "yes"
    if step.action == "modify":
        changes = [] if step.changes is None else _changes(step.changes)
        about = f"for {step.target.id}: " if step.target and step.target.id else "change it: "
        return about + ", ".join(changes)
    if step.action in ("status", "list", "cancel", "pause", "resume"):
        return " ".join([_control(step.action, step.target), *_start(step.start)])
    source = "" if step.source is None else f" {quoted(str(step.source))}"
    destination = "" if step.destination is None else f" to {quoted(str(step.destination))}"
    return ", ".join([f"{step.action}{source}{destination}", *_options(step)])


def _control(action: str, target: Target | None) -> str:
    if target is None:
        return "list transfers" if action == "list" else action
    words = ["show" if action == "list" else action]
    state = [target.state] if target.state else []
    if target.id:
        words.append(target.id)
    elif target.ref:
        words.append("it")
    elif target.select == "all":
        words += ["all", *state, "transfers"]
    elif target.select:
        words += ["the", target.select, *state, "transfer"]
    elif action == "list":
        words += ["the", *state, "transfers"]
    else:
        words += ["the", *state, "transfer"]
    if target.source:
        words.append(f"from {quoted(target.source)}")
    if target.destination:
        words.append(f"to {quoted(target.destination)}")
    if target.since:
        words.append(f"since {_moment(target.since)}")
    return " ".join(words)


def quoted(text: str) -> str:
    """Quote a text so that the scanner reads exactly it. Raises ValueError when no quotes can."""
    for opening, closers in QUOTES.items():
        candidate = f"{opening}{text}{closers[0]}"
        tokens = scan(f"{candidate} to")
        if len(tokens) == 2 and tokens[0].value == text and tokens[0].kind == "quoted":  # noqa: PLR2004
            return candidate
    message = "this name holds every kind of quote: no sentence can carry it"
    raise ValueError(message)


def _options(slots: Slots) -> list[str]:  # noqa: C901
    words: list[str] = []
    if slots.include:
        words.append(f"only {_list(slots.include)}")
    if slots.exclude:
        words.append(f"skip {_list(slots.exclude)}")
    words += _bounds(slots)
    words += _start(slots.start)
    if slots.deadline is not None:
        words.append(f"finish by {_moment(slots.deadline)}")
    if slots.window is not None:
        words.append(f"only between {slots.window[0]} and {slots.window[1]}")
    if slots.repeat is not None:
        words.append(_repeat(slots.repeat))
    if slots.rate_limit_bps is not None:
        words.append(f"limited to {_amount(slots.rate_limit_bps, _RATES, 'b/s')}")
    if slots.priority is not None:
        words.append(f"{slots.priority} priority")
    for slot, phrases in _FIXED.items():
        value = getattr(slots, slot)
        if value is not None and value in phrases:
            words.append(phrases[value])
        elif slot == "verify" and value is not None:
            words.append(f"verify with {value}")
    if slots.preserve:
        words.append(f"preserve {' and '.join(slots.preserve)}")
    if slots.delete_source and getattr(slots, "action", None) != "move":
        words.append("delete the source afterwards")
    return words


def _bounds(slots: Slots) -> list[str]:
    words: list[str] = []
    if slots.min_size is not None:
        words.append(f"only files of at least {_amount(slots.min_size, _SIZES, 'B')}")
    if slots.max_size is not None:
        words.append(f"only files of at most {_amount(slots.max_size, _SIZES, 'B')}")
    if slots.modified_after is not None:
        words.append(f"only files changed since {_moment(slots.modified_after)}")
    if slots.modified_before is not None:
        words.append(f"only files changed before {_moment(slots.modified_before)}")
    return words


def _changes(changes: Changes) -> list[str]:
    words: list[str] = []
    if changes.source is not None:
        words.append(f"from {quoted(str(changes.source))}")
    if changes.destination is not None:
        words.append(f"to {quoted(str(changes.destination))}")
    words += _options(changes)
    if changes.add_include:
        words.append(f"also only {_list(changes.add_include)}")
    if changes.add_exclude:
        words.append(f"also skip {_list(changes.add_exclude)}")
    if changes.drop_exclude:
        words.append(f"stop skipping {_list(changes.drop_exclude)}")
    words += [_CLEARED[slot] for slot in changes.cleared if slot in _CLEARED]
    if changes.exclude:
        words.append("instead")
    return words


def _list(globs: tuple[str, ...]) -> str:
    return " and ".join(quoted(glob) for glob in globs)


def _start(start: datetime | None) -> list[str]:
    return [] if start is None else [f"start at {_moment(start)}"]


def _moment(moment: datetime) -> str:
    return moment.isoformat()


def _amount(value: int, units: tuple[tuple[str, int], ...], least: str) -> str:
    """Write a number in the largest unit that gives it exactly."""
    for unit, size in units:
        if value >= size and value % size == 0:
            return f"{value // size} {unit}"
    return f"{value} {least}"


def _repeat(rule: str) -> str:
    """Say the common repetitions in words; others as the RRULE itself."""
    parts = dict(part.split("=", 1) for part in rule.split(";"))
    clock = ""
    if parts.get("BYHOUR", "").isdigit():
        clock = f" at {int(parts['BYHOUR']):02}:{int(parts.get('BYMINUTE', '0')):02}"
    plain = {key for key in parts if key not in ("FREQ", "BYHOUR", "BYMINUTE")}
    if rule != _written(parts):
        return f"repeat {rule}"
    if parts["FREQ"] == "DAILY" and clock and not plain:
        return f"every day{clock}"
    if parts["FREQ"] == "WEEKLY" and clock and plain == {"BYDAY"}:
        days = parts["BYDAY"].split(",")
        if len(days) == 1 and days[0] in _DAY_NAMES:
            return f"every {_DAY_NAMES[days[0]]}{clock}"
        if tuple(days) == RRULE_DAYS[:5]:
            return f"every weekday{clock}"
    return f"repeat {rule}"


def _written(parts: dict[str, str]) -> str:
    """Write the parts the way resolution does, to be sure that words give the same rule."""
    order = [key for key in ("FREQ", "INTERVAL", "BYDAY", "BYMONTHDAY", "BYHOUR", "BYMINUTE") if key in parts]
    return ";".join(f"{key}={parts[key]}" for key in order)
