"""Places that rules name, and what a request for a folder means for those that lie in it.

`within` holds a folder and what it lies in. So a rule about `/raw/phi` says nothing of a request for `/raw`, although
that takes `/raw/phi` along. A request for a folder is therefore decided once for the folder, and once more for each
place in it that a rule names; the strictest answer holds. Policies tell places apart by these names only, so nothing in
the folder can be decided otherwise than one of these.

The same holds for folders with labels of their own: what a request takes along of them is decided with their labels.
"""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, TypeAlias

from headrace.guardrails.intents.text import escape_component, path_text, unescape_component
from headrace.guardrails.rails.routes import place_before
from headrace.guardrails.seal.documents import Json, JsonObject

MAX_PLACES: Final = 1000
"""Places in one folder that are looked at; a request for a folder that holds more is denied."""

Places: TypeAlias = tuple[tuple[str, ...], ...]
"""Paths that rules name, as names from the root, sorted."""

_WITHIN: Final = "within"
_NOT_PLAIN: Final = frozenset("*?[]{}!\\%")
"""What a glob gives a meaning to; and `%`, which recorded paths write otherwise."""
_ENDS: Final = ("source", "destination")


def named_in(rule: object) -> frozenset[str]:
    """Find the paths that a rule (Cedar's JSON form) may hold against `within`: all its texts, if it mentions that."""
    values = tuple(_values(rule))
    return frozenset(values) if _WITHIN in attributes(rule) else frozenset()


def malformed(paths: frozenset[str]) -> list[tuple[str, str]]:
    """List those of a rule's paths that no folder ever lies within, each with what to write instead."""
    return [(path, own) for path in sorted(paths) if path.startswith("/") and path != (own := _as_recorded(path))]


def _as_recorded(path: str) -> str:
    """Write a path of a rule as records write the folder that is most likely meant."""
    kept: list[str] = []
    for part in place_before(_components(path)):
        if part == "..":
            del kept[-1:]
        else:
            kept.append(part if _is_escaped(part) else escape_component(part.encode()))
    return path_text(kept)


def _is_escaped(part: str) -> bool:
    try:
        unescape_component(part)
    except ValueError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class Inside:
    """A place that a request takes along: its path below the folder, `endpoint:/path`, and what is asked for it alone.

    `is_told` unless it is known by a label alone: which folders have labels is for those who give them.
    """

    rest: tuple[str, ...]
    text: str
    resource: JsonObject
    is_told: bool
    folder: JsonObject
    """The folder that `text` names, as it is stored in a record."""


def sorted_places(paths: frozenset[str]) -> Places:
    """Split paths into names, in an order in which what lies in a folder follows it."""
    return tuple(sorted({components for path in paths if (components := _components(path))}))


def inside(record: JsonObject, named: Places, *, labels: bool) -> list[Inside]:
    """Find the places that the request takes along and a rule names; with `labels` those that have labels, too.

    Contents keep their path below the folder, so a place inside one end is a place inside the other, too. What an
    exclude pattern certainly leaves out is not taken along.
    """
    resource = _mapping(record["resource"])
    exclude = [str(pattern) for pattern in _sequence(resource["exclude"])]
    if record["action"] == "browse":
        told = set(_rests(resource, named))
        below = sorted({*told, *_labelled(resource, wanted=labels)}) if resource["below"] else []
        kept = [rest for rest in below if not left_out(rest, exclude)]
        moved = [(rest, _moved(resource, rest)) for rest in kept]
        return [Inside(rest, _text(resource, rest), folder, rest in told, folder) for rest, folder in moved]
    ends = {end: _mapping(resource[end]) for end in _ENDS}
    told = {rest for end in ends.values() for rest in _rests(end, named)}
    found = {
        rest: end
        for end in reversed(_ENDS)
        for rest in (*_rests(ends[end], named), *_labelled(ends[end], wanted=labels))
    }
    both = [(rest, _both(ends, rest)) for rest in sorted(found) if not left_out(rest, exclude)]
    return [
        Inside(
            rest,
            _text(ends[found[rest]], rest),
            {**resource, **moved},
            rest in told,
            _mapping(moved[found[rest]]),
        )
        for rest, moved in both
    ]


def left_out(rest: Sequence[str], exclude: Sequence[str]) -> bool:
    """Whether the patterns certainly leave out what lies at `rest` below the source, be it a file or a folder.

    Only patterns that are plain names or paths count: what a pattern with `*` leaves out is not computed here.
    """
    for pattern in exclude:
        body, folder = pattern.removesuffix("/"), pattern.endswith("/")
        if _NOT_PLAIN & set(body):
            continue
        # A pattern for folders only says nothing of a file: it counts for what lies in the folder.
        reach = rest[:-1] if folder else rest
        if "/" not in body and body in reach:
            return True
        whole = tuple(body.removeprefix("/").split("/"))
        if "/" in body and tuple(reach[: len(whole)]) == whole:
            return True
    return False


def _rests(folder: JsonObject, named: Places) -> Iterator[tuple[str, ...]]:
    """Find the named paths that lie below a folder, as what follows its own path."""
    path = tuple(map(str, _sequence(folder["path"])))
    for components in islice(named, bisect_right(named, path), None):
        if components[: len(path)] != path:
            return
        yield components[len(path) :]


def _labelled(folder: JsonObject, *, wanted: bool) -> list[tuple[str, ...]]:
    """Find the folders below one that have labels of their own, as what follows its path."""
    found = [tuple(map(str, _sequence(_mapping(one)["path"]))) for one in _sequence(folder["labelled"])]
    return found if wanted else []


def _both(ends: Mapping[str, JsonObject], rest: Sequence[str]) -> JsonObject:
    return {end: _moved(folder, rest) for end, folder in ends.items()}


def _moved(folder: JsonObject, rest: Sequence[str]) -> JsonObject:
    """Write the folder at `rest` below one: it has the labels of all that it lies in."""
    labels = {str(label) for label in _sequence(folder["labels"])}
    for one in map(_mapping, _sequence(folder["labelled"])):
        path = list(map(str, _sequence(one["path"])))
        if path == list(rest[: len(path)]):
            labels |= {str(label) for label in _sequence(one["labels"])}
    return {**folder, "path": [*_sequence(folder["path"]), *rest], "labels": sorted(labels), "labelled": []}


def _text(folder: JsonObject, rest: Sequence[str]) -> str:
    return f"{folder['endpoint']}:{path_text([*map(str, _sequence(folder['path'])), *rest])}"


def _components(path: str) -> tuple[str, ...]:
    return tuple(part for part in path.split("/") if part not in {"", "."}) if path.startswith("/") else ()


def _values(part: object) -> Iterator[str]:
    """Go through all texts that a rule compares with."""
    if isinstance(part, Mapping):
        value = part.get("Value")
        if isinstance(value, str):
            yield value
        for inner in part.values():
            yield from _values(inner)
    elif isinstance(part, list):
        for inner in part:
            yield from _values(inner)


def attributes(part: object) -> frozenset[str]:
    """Collect the attributes that a rule mentions."""
    if isinstance(part, Mapping):
        own = {part["attr"]} if isinstance(part.get("attr"), str) else set()
        return frozenset(own).union(*map(attributes, part.values()))
    return frozenset().union(*map(attributes, part)) if isinstance(part, list) else frozenset()


def _mapping(value: Json) -> JsonObject:
    if not isinstance(value, Mapping):
        raise TypeError(value)
    return value


def _sequence(value: Json) -> Sequence[Json]:
    if isinstance(value, str) or not isinstance(value, list | tuple):
        raise TypeError(value)
    return value
