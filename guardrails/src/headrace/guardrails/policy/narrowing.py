"""Filters of size and time that a request could have: for each, the widest that is decided more mildly."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from headrace.guardrails.intents.limits import MAX_COUNT
from headrace.guardrails.intents.text import sized
from headrace.guardrails.seal.documents import Json, JsonObject, utc_text, utc_time

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MINUTE: Final = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class _Limit:
    """A filter as a whole number: bytes, or minutes since 1970. `says` takes it as people read it."""

    says: str
    partner: str
    """The filter at the other end: beyond that no file is left."""
    apart: int
    """How far from its partner it is at least."""
    tightest: int | None
    """Without a partner; `None` is now."""
    loosest: int | None
    read: Callable[[str], int]
    written: Callable[[int], str]
    shown: Callable[[int], str]


def _minutes(text: str) -> int:
    return (utc_time(text) - _EPOCH) // _MINUTE


def _moment(minutes: int) -> str:
    return utc_text(_EPOCH + minutes * _MINUTE)


def _in_utc(minutes: int) -> str:
    return f"{_EPOCH + minutes * _MINUTE:%Y-%m-%d %H:%M} UTC"


def _size(says: str, partner: str, tightest: int, loosest: int) -> _Limit:
    return _Limit(f"taking only files of {says} {{}}", partner, 0, tightest, loosest, int, str, sized)


def _time(says: str, partner: str, apart: int, tightest: int | None, loosest: int | None) -> _Limit:
    words = f"taking only files last changed {says} {{}}"
    return _Limit(words, partner, apart, tightest, loosest, _minutes, _moment, _in_utc)


_LIMITS: Final[Mapping[str, _Limit]] = {
    "min_size_bytes": _size("at least", "max_size_bytes", MAX_COUNT, 1),
    "max_size_bytes": _size("at most", "min_size_bytes", 1, MAX_COUNT),
    "modified_after": _time("at or after", "modified_before", -1, None, 0),
    "modified_before": _time("before", "modified_after", 1, 0, None),
}


def halved(near: int, far: int, holds: Callable[[int], bool]) -> int:
    """Find the number next to `far` that still holds; `near` does, and `far` does not."""
    while abs(far - near) > 1:
        middle = (near + far) // 2
        near, far = (middle, far) if holds(middle) else (near, middle)
    return near


def narrowed(record: JsonObject, name: str, milder: Callable[[JsonObject], bool]) -> Iterator[tuple[str, JsonObject]]:
    """Find the widest filter of a route with which it is decided more mildly: in words, and as records hold it."""
    resource, limit = _mapping(record["resource"]), _LIMITS[name]
    if name not in resource:
        return
    now = _minutes(str(_mapping(record["context"])["now"]))
    given, partner = resource[name], resource[limit.partner]
    near = limit.tightest if partner is None else limit.read(str(partner)) + limit.apart
    far = limit.loosest if given is None else limit.read(str(given))
    near, far = now if near is None else near, now if far is None else far

    def holds(value: int) -> bool:
        return milder({**record, "resource": {**resource, name: limit.written(value)}})

    if not holds(near):
        return
    found = far if given is None and holds(far) else halved(near, far, holds)
    yield limit.says.format(limit.shown(found)), {name: limit.written(found)}


def _mapping(value: Json) -> JsonObject:
    if not isinstance(value, Mapping):
        raise TypeError(value)
    return value
