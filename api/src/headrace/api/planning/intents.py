"""Between the API's typed intent and guardrails' reading of one: each says what the other can't."""

from typing import get_args

from pydantic import ValidationError

from headrace.api.errors import Code, ServiceError
from headrace.client import models as m
from headrace.guardrails.language import Intent, Location, canonical_sentence

_TRANSFERS = frozenset({"copy", "sync", "move"})
_PRESERVABLE: tuple[m.Preserve, ...] = get_args(m.Preserve)
_DEFAULT_PRESERVE = tuple(m.TransferIntent.model_fields["preserve"].default)


def to_reading(intent: m.TransferIntent) -> Intent:
    """Say a typed intent in the terms of the language; `compare`, `project` and to preserve nothing have no words.

    Verification at rest is what people ask for by the name of BLAKE3; in transit is the default.
    Raises `invalid_request` for a location without a path.
    """
    verify = "blake3" if intent.verify == "at-rest" else "default" if intent.verify == "in-transit" else intent.verify
    preserve = tuple(kept for kept in _PRESERVABLE if kept in intent.preserve)
    return Intent(
        action=intent.action,
        source=_location(intent.source, "source"),
        destination=_location(intent.destination, "destination"),
        include=tuple(intent.include),
        exclude=tuple(intent.exclude),
        min_size=intent.min_size_bytes,
        max_size=intent.max_size_bytes,
        modified_after=intent.modified_after,
        modified_before=intent.modified_before,
        start=intent.start,
        deadline=intent.deadline,
        window=intent.window,
        repeat=intent.repeat,
        rate_limit_bps=intent.rate_limit_bps,
        priority=None if intent.priority == "normal" else intent.priority,
        encryption=None if intent.encryption else False,
        verify=None if verify == "default" else verify,
        on_conflict=intent.on_conflict,
        delete_source=True if intent.action == "move" else None,
        delete_extraneous=intent.delete_extraneous or None,
        # `()` says that nothing was said of it, so an empty list has no form of its own: `from_reading` keeps it.
        preserve=() if preserve == _DEFAULT_PRESERVE else preserve,
    )


def from_reading(reading: Intent, before: m.TransferIntent | None = None) -> m.TransferIntent:
    """Return a complete copy, sync or move as a typed intent; raises `invalid_request` when the API's limits refuse it.

    Of an earlier intent that it changes, it keeps what words can't say, unless that is what was changed.
    """
    if reading.action not in _TRANSFERS or reading.source is None or reading.destination is None:
        raise ServiceError(Code.INVALID_REQUEST, "say what to copy, sync or move, from where and to where")
    earlier = None if before is None else to_reading(before)
    kept = before if earlier is not None and earlier.verify == reading.verify else None
    unsaid = before.preserve if before is not None and earlier is not None and not earlier.preserve else None
    try:
        return m.TransferIntent.model_validate(
            {
                "action": reading.action,
                "source": str(reading.source),
                "destination": str(reading.destination),
                "include": list(reading.include),
                "exclude": list(reading.exclude),
                "min_size_bytes": reading.min_size,
                "max_size_bytes": reading.max_size,
                "modified_after": reading.modified_after,
                "modified_before": reading.modified_before,
                "start": reading.start,
                "deadline": reading.deadline,
                "window": reading.window,
                "repeat": reading.repeat,
                "rate_limit_bps": reading.rate_limit_bps,
                "priority": reading.priority or "normal",
                "encryption": reading.encryption is not False,
                "verify": kept.verify if kept else reading.verify or "default",
                "on_conflict": reading.on_conflict,
                "compare": before.compare if before else "size-mtime",
                "delete_extraneous": bool(reading.delete_extraneous),
                "preserve": list(reading.preserve or (_DEFAULT_PRESERVE if unsaid is None else unsaid)),
                "project": before.project if before else None,
            }
        )
    except ValidationError as error:
        raise invalid(error) from error


def is_transfer(reading: Intent) -> bool:
    """Whether a reading asks for a complete copy, sync or move and nothing after it."""
    complete = reading.source is not None and reading.destination is not None
    return reading.action in _TRANSFERS and complete and not reading.then


def changed(intent: m.TransferIntent, changes: m.Changes) -> m.TransferIntent:
    """Apply a patch to an intent: fields that are given replace, `_add` fields add; the result is checked anew."""
    given = changes.model_dump(exclude_none=True, exclude={"include_add", "exclude_add", "delete_source"})
    merged = intent.model_dump() | given
    merged["include"] = [*merged["include"], *changes.include_add]
    merged["exclude"] = [*merged["exclude"], *changes.exclude_add]
    if changes.delete_source is not None:
        merged["action"] = "move" if changes.delete_source else "copy" if intent.action == "move" else intent.action
    try:
        return m.TransferIntent.model_validate(merged)
    except ValidationError as error:
        raise invalid(error) from error


def sentence_of(intent: m.TransferIntent) -> str:
    """Write the intent as a sentence that reads back to the same intent, but for `compare` and `project`.

    These have no words. Empty where no sentence can: a name that fits in none, or nothing to be preserved.
    """
    if not intent.preserve:
        return ""
    try:
        return canonical_sentence(to_reading(intent))
    except ValueError:
        return ""


def invalid(error: ValidationError) -> ServiceError:
    """Say what is wrong with a field."""
    first = error.errors(include_input=False, include_url=False)[0]
    where = ".".join(map(str, first["loc"])) or "request"
    return ServiceError(Code.INVALID_REQUEST, f"`{where}` does not fit: {first['msg']}", fields=(where,))


def _location(text: str, field: str) -> Location:
    try:
        return Location.parse(text)
    except ValueError as error:
        raise ServiceError(Code.INVALID_REQUEST, str(error), fields=(field,)) from error
