"""What a reader of a request may know: the endpoints, the clock, the last plan, the transfers."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Literal
from zoneinfo import ZoneInfo

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LOCAL_ENDPOINT = "local"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A storage place by the names that people use for it."""

    id: str
    aliases: tuple[str, ...] = ()
    kind: str = "posix"
    url: str | None = None
    node: str = ""
    """The name of the node that has it, which people may say in its place."""
    access: str = ""
    """`read`, `write` or `delete`: what it allows at most; empty where that is not known."""

    @property
    def names(self) -> tuple[str, ...]:
        """The id, then the aliases."""
        return (self.id, *self.aliases)


class Registry(tuple[Endpoint, ...]):  # noqa: SLOT001 - keeps what it has sorted
    """Endpoints, with their names sorted once: a site may have 20,000, and a request names two."""

    @cached_property
    def named(self) -> Mapping[str, Sequence[tuple[str, Endpoint]]]:
        """Names as they are spelled, with their endpoints, by `key_of` the name."""
        found: dict[str, list[tuple[str, Endpoint]]] = defaultdict(list)
        for known in self:
            for spelled in known.names:
                found[key_of(spelled)].append((spelled, known))
        return dict(found)

    @cached_property
    def widths(self) -> Sequence[int]:
        """How many words names have, the fewest first."""
        return sorted({spelled.count(" ") + 1 for known in self for spelled in known.names})

    @cached_property
    def lowered(self) -> Mapping[str, str]:
        """Ids by each name in small letters."""
        return {spelled.lower(): known.id for known in self for spelled in known.names}

    @cached_property
    def by_part(self) -> Mapping[str, Sequence[str]]:
        """Names in small letters by each of their parts between `-` or `_`."""
        found: dict[str, list[str]] = defaultdict(list)
        for spelled in self.lowered:
            for part in dict.fromkeys(spelled.replace("_", "-").split("-")):
                found[part].append(spelled)
        return dict(found)

    @cached_property
    def turns(self) -> Mapping[str, int]:
        """Where each name in small letters stands among all of them."""
        return {spelled: turn for turn, spelled in enumerate(self.lowered)}

    @cached_property
    def all_names(self) -> str:
        """Every name, one after the other."""
        return " ".join(name for known in self for name in known.names)

    def find(self, endpoint_id: str) -> Endpoint | None:
        """Find an endpoint by its id, in the registry's spelling."""
        return next((known for _, known in self.having(endpoint_id) if known.id == endpoint_id), None)

    def having(self, name: str) -> Sequence[tuple[str, Endpoint]]:
        """Return the names that may be the same but for the case of letters, with their endpoints."""
        return self.named.get(key_of(name), ())


def key_of(name: str) -> str:
    """Return what two names share, if one has letters of the other, or these in capitals or small."""
    return "".join(character.upper().casefold() for character in name)


@dataclass(frozen=True, slots=True)
class PlanRef:
    """A plan that the caller holds a handle to; `ref` "last" is what "it" stands for."""

    ref: str
    source: str
    destination: str
    confirmed: bool


@dataclass(frozen=True, slots=True)
class TransferRef:
    """A transfer that the person may name by its id or a prefix of it."""

    id: str
    mine: bool


@dataclass(frozen=True, slots=True)
class Context:
    """Everything that words are resolved against. `now` is aware; nothing else reads a clock."""

    now: datetime
    timezone: str
    week_starts: Literal["monday", "sunday"] = "monday"
    endpoints: tuple[Endpoint, ...] = ()
    plans: tuple[PlanRef, ...] = ()
    transfers: tuple[TransferRef, ...] = ()

    def __post_init__(self) -> None:
        """Refuse a naive clock and an unknown zone: every time would be a guess."""
        if not isinstance(self.endpoints, Registry):
            object.__setattr__(self, "endpoints", Registry(self.endpoints))
        if self.now.tzinfo is None:
            message = "the context's `now` has no offset: give RFC 3339 with one"
            raise ValueError(message)
        try:
            ZoneInfo(self.timezone)
        except (KeyError, ValueError, OSError) as error:
            message = f"the context's zone `{self.timezone}` is not an IANA time zone"
            raise ValueError(message) from error

    @property
    def zone(self) -> ZoneInfo:
        """The person's time zone."""
        return ZoneInfo(self.timezone)

    @property
    def last(self) -> PlanRef | None:
        """The plan that "it" stands for, if the caller gave a handle to one."""
        return next((plan for plan in self.plans if plan.ref == "last"), None)

    def endpoint(self, endpoint_id: str) -> Endpoint | None:
        """Find an endpoint by its id, in the registry's spelling."""
        return self.registry.find(endpoint_id)

    @property
    def registry(self) -> Registry:
        """The endpoints by their names."""
        assert isinstance(self.endpoints, Registry)  # noqa: S101 - made one above
        return self.endpoints

    @classmethod
    def from_json(cls, form: Mapping[str, object]) -> Context:
        """Read the form of `context.json`. Raises ValueError naming what is missing or wrong."""
        week_starts = form.get("week_starts", "monday")
        if week_starts not in ("monday", "sunday"):
            message = f"`week_starts` is `{week_starts}`: it must be monday or sunday"
            raise ValueError(message)
        return cls(
            now=datetime.fromisoformat(_text(form, "now")),
            timezone=_text(form, "timezone"),
            week_starts="sunday" if week_starts == "sunday" else "monday",
            endpoints=tuple(
                Endpoint(
                    id=_text(row, "id"),
                    aliases=tuple(str(alias) for alias in _rows_of(row.get("aliases"), "aliases")),
                    kind=str(row.get("kind", "posix")),
                    url=None if row.get("url") is None else str(row["url"]),
                )
                for row in _mappings(form, "endpoints")
            ),
            plans=tuple(
                PlanRef(
                    ref=_text(row, "ref"),
                    source=_text(row, "source"),
                    destination=_text(row, "destination"),
                    confirmed=row.get("confirmed") is True,
                )
                for row in _mappings(form, "plans")
            ),
            transfers=tuple(
                TransferRef(id=_text(row, "id"), mine=row.get("mine") is True) for row in _mappings(form, "transfers")
            ),
        )


def _text(form: Mapping[str, object], key: str) -> str:
    value = form.get(key)
    if not isinstance(value, str) or not value:
        message = f"the context needs `{key}` as text"
        raise ValueError(message)
    return value


def _rows_of(value: object, key: str) -> list[object]:
    if value is None:
        return []
    if not isinstance(value, list):
        message = f"the context's `{key}` must be a list"
        raise ValueError(message)  # noqa: TRY004 (every bad form is one kind of error)
    return value


def _mappings(form: Mapping[str, object], key: str) -> list[dict[str, object]]:
    rows = _rows_of(form.get(key), key)
    if not all(isinstance(row, dict) for row in rows):
        message = f"every entry of the context's `{key}` must be an object"
        raise ValueError(message)
    return [row for row in rows if isinstance(row, dict)]
