"""The JSON form of an intent, in both directions."""

from __future__ import annotations

from dataclasses import fields
from datetime import datetime
from typing import TYPE_CHECKING, TypeAlias, cast

from headrace.guardrails.intents.values import (
    ACTIONS,
    ATTRIBUTES,
    CONFLICT_RULES,
    PRIORITIES,
    VERIFICATIONS,
    Action,
    Changes,
    Intent,
    Location,
    Slots,
    Target,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Form: TypeAlias = "Mapping[str, object]"

# How the changes that have no slot of their own are written.
_PATCH_KEYS = {
    "include+": "add_include",
    "exclude+": "add_exclude",
    "include-": "drop_include",
    "exclude-": "drop_exclude",
}
_SLOT_NAMES = tuple(field.name for field in fields(Slots))
_TARGET_NAMES = tuple(field.name for field in fields(Target))
_CLEARABLE = frozenset(_SLOT_NAMES) - {"source", "destination"}


def intent_to_json(intent: Intent) -> dict[str, object]:
    """Write an intent; what is not stated is left out."""
    form: dict[str, object] = {}
    if intent.action is not None:
        form["action"] = intent.action
    form.update(_slots_to_json(intent))
    if intent.target is not None:
        form["target"] = {
            name: value.isoformat() if isinstance(value, datetime) else value
            for name in _TARGET_NAMES
            if (value := getattr(intent.target, name)) is not None
        }
    if intent.changes is not None:
        form["changes"] = _changes_to_json(intent.changes)
    if intent.then:
        form["then"] = [intent_to_json(step) for step in intent.then]
    return form


def _slots_to_json(slots: Slots) -> dict[str, object]:
    form: dict[str, object] = {}
    for name in _SLOT_NAMES:
        value = getattr(slots, name)
        if isinstance(value, Location):
            form[name] = str(value)
        elif isinstance(value, datetime):
            form[name] = value.isoformat()
        elif isinstance(value, tuple):
            if value:
                form[name] = list(value)
        elif value is not None:
            form[name] = value
    return form


def _changes_to_json(changes: Changes) -> dict[str, object]:
    form = _slots_to_json(changes)
    for key, name in _PATCH_KEYS.items():
        if globs := getattr(changes, name):
            form[key] = list(globs)
    form.update(dict.fromkeys(changes.cleared))
    return form


def intent_from_json(form: Form) -> Intent:
    """Read an intent. Raises ValueError that names the slot and what it should hold."""
    _known(form, {"action", "target", "changes", "then", *_SLOT_NAMES}, "an intent")
    steps = form.get("then")
    return Intent(
        action=cast("Action | None", _one_of(form, "action", ACTIONS)),
        target=None if form.get("target") is None else _target(_object(form, "target")),
        changes=None if form.get("changes") is None else _changes(_object(form, "changes")),
        then=tuple(intent_from_json(_as_object(step, "then")) for step in _list(steps, "then")),
        **_slots(form),  # type: ignore[arg-type]  # one reader a slot, checked below
    )


def _changes(form: Form) -> Changes:
    _known(form, {*_SLOT_NAMES, *_PATCH_KEYS}, "`changes`")
    cleared = tuple(key for key, value in form.items() if value is None)
    if unclearable := set(cleared) - _CLEARABLE:
        message = f"`{min(unclearable)}` cannot be cleared, only changed"
        raise ValueError(message)
    return Changes(
        add_include=_texts(form, "include+"),
        add_exclude=_texts(form, "exclude+"),
        drop_include=_texts(form, "include-"),
        drop_exclude=_texts(form, "exclude-"),
        cleared=cleared,
        **_slots(form),  # type: ignore[arg-type]  # one reader a slot, checked below
    )


def _slots(form: Form) -> dict[str, object]:
    return {name: _READERS[name](form, name) for name in _SLOT_NAMES}


def _target(form: Form) -> Target:
    _known(form, set(_TARGET_NAMES), "`target`")
    read = {name: _optional_text(form, name) for name in _TARGET_NAMES if name != "since"}
    return Target(**read, since=_moment(form, "since"))


def _known(form: Form, names: set[str], where: str) -> None:
    if unknown := set(form) - names:
        message = f"{where} has no slot `{min(unknown)}`"
        raise ValueError(message)


def _bad(name: str, expected: str) -> ValueError:
    return ValueError(f"`{name}` must be {expected}")


def _as_object(value: object, name: str) -> Form:
    if not isinstance(value, dict):
        raise _bad(name, "an object")
    return value


def _object(form: Form, name: str) -> Form:
    return _as_object(form.get(name), name)


def _list(value: object, name: str) -> list[object]:
    if value is None:
        return []
    if not isinstance(value, list | tuple):
        raise _bad(name, "a list")
    return list(value)


def _optional_text(form: Form, name: str) -> str | None:
    value = form.get(name)
    if value is not None and (not isinstance(value, str) or not value):
        raise _bad(name, "text that is not empty")
    return value


def _texts(form: Form, name: str) -> tuple[str, ...]:
    values = _list(form.get(name), name)
    if not all(isinstance(value, str) and value for value in values):
        raise _bad(name, "a list of texts that are not empty")
    return tuple(str(value) for value in values)


def _attributes(form: Form, name: str) -> tuple[str, ...]:
    names = _texts(form, name)
    if set(names) - ATTRIBUTES:
        raise _bad(name, f"a list from {', '.join(sorted(ATTRIBUTES))}")
    return names


def _choice(allowed: frozenset[str]) -> Callable[[Form, str], str | None]:
    return lambda form, name: _one_of(form, name, allowed)


def _one_of(form: Form, name: str, allowed: frozenset[str]) -> str | None:
    value = form.get(name)
    if value is not None and (not isinstance(value, str) or value not in allowed):
        raise _bad(name, f"one of {', '.join(sorted(allowed))}")
    return value


def _integer(form: Form, name: str) -> int | None:
    value = form.get(name)
    if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
        raise _bad(name, "a whole number")
    return value


def _flag(form: Form, name: str) -> bool | None:
    value = form.get(name)
    if value is not None and not isinstance(value, bool):
        raise _bad(name, "true or false")
    return value


def _moment(form: Form, name: str) -> datetime | None:
    value = _optional_text(form, name)
    if value is None:
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise _bad(name, "a time as RFC 3339 with an offset")
    return moment


def _location(form: Form, name: str) -> Location | None:
    value = _optional_text(form, name)
    return None if value is None else Location.parse(value)


def _window(form: Form, name: str) -> tuple[str, str] | None:
    values = _texts(form, name)
    if not values:
        return None
    if len(values) != 2:  # noqa: PLR2004 (a window has two ends)
        raise _bad(name, "two clock times, such as 22:00 and 05:00")
    return values[0], values[1]


_READERS: Mapping[str, Callable[[Form, str], object]] = {
    "source": _location,
    "destination": _location,
    "include": _texts,
    "exclude": _texts,
    "min_size": _integer,
    "max_size": _integer,
    "modified_after": _moment,
    "modified_before": _moment,
    "start": _moment,
    "deadline": _moment,
    "window": _window,
    "repeat": _optional_text,
    "rate_limit_bps": _integer,
    "priority": _choice(PRIORITIES),
    "encryption": _flag,
    "verify": _choice(VERIFICATIONS),
    "on_conflict": _choice(CONFLICT_RULES),
    "delete_source": _flag,
    "delete_extraneous": _flag,
    "preserve": _attributes,
}
"""How each slot is read."""
