"""The intent: one field for each slot of a request, with names, times and units resolved."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast, get_args

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

Action = Literal[
    "copy",
    "sync",
    "move",
    "stream",
    "status",
    "list",
    "cancel",
    "pause",
    "resume",
    "modify",
    "confirm",
]
Priority = Literal["low", "normal", "high"]
Verify = Literal["none", "default", "blake3", "sha256", "sha1", "md5", "crc32c"]
OnConflict = Literal["skip", "overwrite", "fail", "newer"]
Preserve = Literal["timestamps", "permissions", "symlinks", "xattrs"]

ACTIONS: frozenset[str] = frozenset(get_args(Action))
PRIORITIES: frozenset[str] = frozenset(get_args(Priority))
VERIFICATIONS: frozenset[str] = frozenset(get_args(Verify))
CONFLICT_RULES: frozenset[str] = frozenset(get_args(OnConflict))
ATTRIBUTES: frozenset[str] = frozenset(get_args(Preserve))

TRANSFER_ACTIONS: frozenset[str] = frozenset({"copy", "sync", "move", "stream"})
CONTROL_ACTIONS: frozenset[str] = frozenset({"status", "list", "cancel", "pause", "resume", "modify", "confirm"})

_URL = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<authority>[^/]*)(?P<path>/.*)?", re.DOTALL)

_NO_NAME = ".:~"
"""Of these alone no endpoint's name is made."""


def default_conflict_rule(action: str | None) -> Literal["overwrite", "fail"]:
    """Return what an action does with a file that differs at the destination when nobody says."""
    return "overwrite" if action == "sync" else "fail"


@dataclass(frozen=True, slots=True)
class Location:
    """A place that data comes from or goes to.

    `endpoint` is the registry's id ("" where a typed request has not been resolved yet), `path` the
    absolute path as written, `url` the whole URL as written when the person wrote one.
    """

    endpoint: str
    path: str
    url: str | None = None

    def __str__(self) -> str:
        """Render as in the JSON form: `endpoint:/path`, or the URL."""
        return self.url if self.url is not None else f"{self.endpoint}:{self.path}"

    @classmethod
    def parse(cls, text: str) -> Location:
        """Split `endpoint:/path`, a URL or a bare `/path` (endpoint `local`); nothing is checked.

        Its error advises the first of them alone: few sites have an endpoint for the others.

        Raises ValueError when there is no absolute path.
        """
        if url := _URL.fullmatch(text):
            return cls("", url["path"] or "", text)
        if text.startswith("/"):
            return cls("local", text)
        name, colon, path = text.partition(":")
        if not colon or not name:
            first, slash, below = text.partition("/")
            meant = f"; if `{first}` is one, `{first}:/{below}`" if slash and first.strip(_NO_NAME) else ""
            message = f"`{text}` is not a location: write endpoint:/path, with one of `headrace endpoints`{meant}"
            raise ValueError(message)
        return cls(name, path)


@dataclass(frozen=True, slots=True)
class Target:
    """Which transfers or plans a control request is about; every field narrows.

    `ref` is a plan's handle ("last"), `select` one of all, largest, smallest, oldest, newest.
    """

    id: str | None = None
    ref: str | None = None
    select: str | None = None
    destination: str | None = None
    source: str | None = None
    state: str | None = None
    since: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Slots:
    """The slots that a new transfer and a change to one have in common.

    Sizes are bytes, the rate is bits per second, times are aware, `window` is two local clock times
    (it may cross midnight), `repeat` an RRULE. None and () mean that the words do not say.
    """

    source: Location | None = None
    destination: Location | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    min_size: int | None = None
    max_size: int | None = None
    modified_after: datetime | None = None
    modified_before: datetime | None = None
    start: datetime | None = None
    deadline: datetime | None = None
    window: tuple[str, str] | None = None
    repeat: str | None = None
    rate_limit_bps: int | None = None
    priority: Priority | None = None
    encryption: bool | None = None
    verify: Verify | None = None
    on_conflict: OnConflict | None = None
    delete_source: bool | None = None
    delete_extraneous: bool | None = None
    preserve: tuple[Preserve, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes(Slots):
    """A patch to a plan: slots that are set, globs added or taken away, slots cleared."""

    add_include: tuple[str, ...] = ()
    add_exclude: tuple[str, ...] = ()
    drop_include: tuple[str, ...] = ()
    drop_exclude: tuple[str, ...] = ()
    cleared: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent(Slots):
    """What somebody asked for. `action` is None only while it still has to be asked."""

    action: Action | None = None
    target: Target | None = None
    changes: Changes | None = None
    then: tuple[Intent, ...] = ()

    def to_json(self) -> dict[str, object]:
        """Give the JSON form: only what is stated, times as RFC 3339 with an offset."""
        from headrace.guardrails.intents.forms import intent_to_json  # noqa: PLC0415 (a cycle)

        return intent_to_json(self)

    @classmethod
    def from_json(cls, form: Mapping[str, object]) -> Intent:
        """Read the JSON form. Raises ValueError that names the slot and what it should hold."""
        from headrace.guardrails.intents.forms import intent_from_json  # noqa: PLC0415 (a cycle)

        return intent_from_json(form)


_Form = TypeVar("_Form", Intent, Changes, Target)


def with_slots(form: _Form, values: Mapping[str, object]) -> _Form:
    """Give a copy with some slots set; each value was checked where it was resolved."""
    return replace(form, **cast("dict[str, Any]", values))
