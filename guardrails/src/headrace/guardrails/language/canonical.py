"""The sentence that says an intent exactly: people read it on the plan card, and it parses back."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from headrace.guardrails.language.tokens import QUOTES, scan
from headrace.guardrails.resolve.recurrence import RRULE_DAYS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from headrace.guardrails.intents.values import Changes, Intent, Slots, Target

_SIZES = (
    ("PiB", 2**50), ("PB", 10**15), ("TiB", 2**40), ("TB", 10**12), ("GiB", 2**30), ("GB", 10**9),
    ("MiB", 2**20), ("MB", 10**6), ("KiB", 2**10), ("kB", 10**3), ("B", 1),
)  # fmt: skip
_RATES = (("Tb/s", 10**12), ("Gb/s", 10**9), ("Mb/s", 10**6), ("kbit/s", 10**3), ("b/s", 1))
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
        about = f"for {step.target.id}: " if step.target and step.target.id else "change it: "
        return about + ", ".join([] if step.changes is None else _changes(step.changes))
    if step.action in ("status", "list", "cancel", "pause", "resume"):
        return " ".join([_control(step.action, step.target), *_said(step, _START)])
    source = "" if step.source is None else f" {_place(step.source)}"
    destination = "" if step.destination is None else f" to {_place(step.destination)}"
    deletes = ["delete the source afterwards"] if step.delete_source and step.action != "move" else []
    return ", ".join([f"{step.action}{source}{destination}", *_said(step, _OPTIONS), *deletes])


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


def _said(slots: Slots, said: Sequence[tuple[str, str, Callable[[Any], str | None]]]) -> list[str]:
    """Say each slot that is filled; a value without words of its own is not said."""
    values = ((getattr(slots, slot), words, say) for slot, words, say in said)
    told = ((words, say(value)) for value, words, say in values if value not in (None, ()))
    return [words.format(value) for words, value in told if value is not None]


def _list(globs: tuple[str, ...]) -> str:
    return " and ".join(quoted(glob) for glob in globs)


def _place(place: object) -> str:
    return quoted(str(place))


def _moment(moment: datetime) -> str:
    return moment.isoformat()


def _amount(units: tuple[tuple[str, int], ...], value: int) -> str:
    """Write a number in the largest unit that gives it exactly."""
    exact = (f"{value // size} {unit}" for unit, size in units if value >= size and value % size == 0)
    return next(exact, str(value))


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


_VERIFIED = {"none": "without verification", "default": "verified"}
_START = (("start", "start at {}", _moment),)
_OPTIONS = (
    ("include", "only {}", _list),
    ("exclude", "skip {}", _list),
    ("min_size", "only files of at least {}", partial(_amount, _SIZES)),
    ("max_size", "only files of at most {}", partial(_amount, _SIZES)),
    ("modified_after", "only files changed since {}", _moment),
    ("modified_before", "only files changed before {}", _moment),
    *_START,
    ("deadline", "finish by {}", _moment),
    ("window", "only between {}", " and ".join),
    ("repeat", "{}", _repeat),
    ("rate_limit_bps", "limited to {}", partial(_amount, _RATES)),
    ("priority", "{} priority", str),
    ("encryption", "{}", {True: "encrypted", False: "without encryption"}.get),
    ("verify", "{}", lambda how: _VERIFIED.get(how, f"verify with {how}")),
    ("on_conflict", "{}", {
        "skip": "skip existing files",
        "overwrite": "overwrite existing files",
        "fail": "fail if a file exists",
        "newer": "overwrite only if newer",
    }.get),
    ("delete_extraneous", "{}", {True: "delete whatever is gone at the source"}.get),
    ("preserve", "preserve {}", " and ".join),
)  # fmt: skip
_PLACES = (("source", "from {}", _place), ("destination", "to {}", _place))
_MORE = (
    ("add_include", "also only {}", _list),
    ("add_exclude", "also skip {}", _list),
    ("drop_exclude", "stop skipping {}", _list),
)


def _changes(changes: Changes) -> list[str]:
    deletes = ["delete the source afterwards"] if changes.delete_source else []
    words = [*_said(changes, _PLACES), *_said(changes, _OPTIONS), *deletes, *_said(changes, _MORE)]
    words += [_CLEARED[slot] for slot in changes.cleared if slot in _CLEARED]
    return [*words, "instead"] if changes.exclude else words
