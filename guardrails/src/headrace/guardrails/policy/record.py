"""The record of what was asked: stored with every decision, and turned into Cedar's request and entities.

A record is canonical JSON: `action`, `caller`, `resource` (a folder, or a route of two), `context` with its counts as
decimal strings, and the `form` of all that. Deciding reads nothing else, so a record can be decided again.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, Literal

from headrace.guardrails.intents.origins import SLOTS, OriginKind, kinds_of
from headrace.guardrails.intents.text import ancestors
from headrace.guardrails.policy.facts import Caller, PolicyAction
from headrace.guardrails.rails.routes import ResolvedEndpoint, Route, place_before
from headrace.guardrails.seal.documents import Json, JsonObject, canonical, utc_text
from headrace.guardrails.seal.execution import Filters

FORM: Final = "7"
_FIRST_FORM: Final = ""
_TEXT_FACTS: Final = frozenset(
    {"now", "start", "deadline", "door", "credential", "verification", "on_conflict", "project"}
)
_TIME_FACTS: Final = ("now", "start", "deadline")
_NONE: Final = ""
"""What stands for a deadline or project where none was asked for; policies see no such fact then."""
_OPTIONAL: Final = ("deadline", "project")
_UNKNOWN: Final[JsonObject] = {
    "session": False,
    "largest_file_bytes": "0",
    "on_conflict": "fail",
    "rate_limit_bps": "0",
    "factors": [],
    "origins": kinds_of({}),
    "credential": "token",
    "deadline": "",
    "overwrite_share_percent": "0",
    "move_share_percent": "0",
}
"""Facts that records of earlier forms lack: what a rule that reads none of them is given in their place."""
_KNOWN_SINCE_MOMENTS: Final = frozenset({"session", "factors", "credential"})
"""Those of them that are about every request, and not only about a transfer."""
SINCE_FORM_2: Final = frozenset(
    {"session", "largest_file_bytes", "on_conflict", "rate_limit_bps", "start", "include", "exclude"}
)
SINCE_FORM_3: Final = frozenset({"factors"})
SINCE_FORM_4: Final = frozenset({"origins"})
SINCE_FORM_5: Final = frozenset({"credential", "deadline", "overwrite_share_percent", "move_share_percent"})
SINCE_FORM_6: Final = frozenset({"min_size_bytes", "max_size_bytes", "modified_after", "modified_before"})
_LACKING: Final[Mapping[object, frozenset[str]]] = {
    _FIRST_FORM: SINCE_FORM_2 | SINCE_FORM_3 | SINCE_FORM_4 | SINCE_FORM_5 | SINCE_FORM_6,
    "2": SINCE_FORM_3 | SINCE_FORM_4 | SINCE_FORM_5 | SINCE_FORM_6,
    "3": SINCE_FORM_4 | SINCE_FORM_5 | SINCE_FORM_6,
    "4": SINCE_FORM_5 | SINCE_FORM_6,
    "5": SINCE_FORM_6,
    "6": frozenset(),
    FORM: frozenset(),
}
"""What records of each form lack; those of the first have no `form`."""
_PROJECT: Final = "project"
"""Fact and slot since the seventh form: before it nobody could name a project, so that none was named."""

SIZE_LIMITS: Final = ("min_size_bytes", "max_size_bytes")
TIME_LIMITS: Final = ("modified_after", "modified_before")
LIMITS: Final = (*SIZE_LIMITS, *TIME_LIMITS)
"""Filters of a route that policies see only where they were asked for; a record holds `null` for others."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_NS_IN_MS: Final = 1_000_000
_LOOKS: Final = frozenset({"browse", "plan"})

Reach = Literal["below", "alone"]
"""Whether a folder is asked about with all that is below it, or as the one page that lists it."""


def record_of(action: PolicyAction, caller: Caller, resource: JsonObject, context: JsonObject) -> str:
    """Write the request as it is stored: canonical JSON, counts as decimal strings."""
    who: JsonObject = {
        "person": caller.person,
        "roles": sorted(caller.roles),
        "groups": sorted(caller.groups),
        "agent": caller.agent,
    }
    counts = {
        name: str(value) if isinstance(value, int) and not isinstance(value, bool) else value
        for name, value in context.items()
    }
    record: JsonObject = {"action": action, "caller": who, "resource": resource, "context": counts, "form": FORM}
    return canonical(record).decode()


def asks_only_to_look(context_json: str) -> bool:
    """Whether a record asks to list places alone, so that its decision says nothing of a transfer."""
    record = json.loads(context_json)
    return isinstance(record, Mapping) and record.get("action") in _LOOKS


def read_record(text: str) -> tuple[JsonObject, frozenset[str]]:
    """Read a record of any form, with the names of the facts that its form lacks; raises `ValueError` or `TypeError`.

    Records of earlier forms (before 2026-11-27) are in plans that still run.
    """
    record = json.loads(text)
    if not isinstance(record, Mapping):
        raise TypeError(record)
    form = record.get("form", _FIRST_FORM)
    if form not in _LACKING:
        raise TypeError(form)
    lacking = _LACKING[form]
    context, resource = _object(record["context"]), _object(record["resource"])
    if lacking & {*context, *resource}:
        raise TypeError(record)
    if form == FORM:
        return record, lacking
    if _PROJECT in context:
        raise TypeError(record)
    known = _KNOWN_SINCE_MOMENTS if "files" not in context else frozenset(_UNKNOWN)
    unknown = {name: value for name, value in _UNKNOWN.items() if name in lacking & known}
    if "files" in context:
        unknown |= {_PROJECT: _NONE}
    if "origins" in context:
        unknown |= {"origins": _without_project(_object(context["origins"]))}
    browses = record["action"] == "browse"
    added: JsonObject = {} if browses else dict.fromkeys(LIMITS)
    if form == _FIRST_FORM:
        added = {**added, "exclude": [], **({"below": True} if browses else {"include": []})}
        context = {name: value for name, value in context.items() if name != "approvals"} | {"start": context["now"]}
    if form == "6":
        added = {}
    # A record of the fifth form always says which folders have labels: without that it is none.
    kept = resource if form in {"5", "6"} else _with_labelled(resource)
    return {**record, "resource": {**kept, **added}, "context": {**context, **unknown}}, lacking


def in_this_form(record: JsonObject) -> JsonObject:
    """Write a record that `read_record` has filled as one of today, to decide it with something altered.

    Only where the policy reads nothing that its own form lacks: what was filled in is nobody's word.
    """
    return {**record, "form": FORM}


def _without_project(origins: JsonObject) -> JsonObject:
    """Give the origins of an earlier form that of the slot which they lack: nobody named a project."""
    if _PROJECT in origins:
        raise TypeError(origins)
    return {**origins, _PROJECT: OriginKind.ASSUMED.value}


def _with_labelled(resource: JsonObject) -> JsonObject:
    """Give each folder of an earlier form the labels below it: none, unless its service has looked since."""
    none: JsonObject = {"labelled": []}
    if "path" in resource:
        return {**none, **resource}
    return {name: {**none, **part} if isinstance(part, Mapping) else part for name, part in resource.items()}


def asked_folder(folder: ResolvedEndpoint, reach: Reach, exclude: tuple[str, ...] = ()) -> JsonObject:
    """Write what a browse asks for as it is stored in a record."""
    return {**folder_record(folder), "below": reach == "below", "exclude": exclude}


def folder_record(folder: ResolvedEndpoint) -> JsonObject:
    """Write a folder as it is stored in a record: what lies in a trash is decided as where it was deleted."""
    path = place_before(folder.path)
    labels = labels_record(path, folder.labels, folder.folder_labels)
    return {"endpoint": folder.endpoint, "kind": folder.kind, "path": path, **labels}


def labels_record(
    path: Sequence[str], labels: Mapping[str, str], folder_labels: Mapping[str, Mapping[str, str]]
) -> JsonObject:
    """Write the labels of a folder and of those below it as they are stored in a record."""
    own, below = labels_of(path, labels, folder_labels)
    return {"labels": sorted(own), "labelled": [{"path": rest, "labels": sorted(texts)} for rest, texts in below]}


def labels_of(
    path: Sequence[str], labels: Mapping[str, str], folder_labels: Mapping[str, Mapping[str, str]]
) -> tuple[frozenset[str], tuple[tuple[tuple[str, ...], frozenset[str]], ...]]:
    """Return a folder's labels (`name=value`) and those of folders below it, by their paths from there.

    It has its own, its endpoint's, and those of all that it lies in.
    """
    here, own, below = tuple(path), _label_texts(labels), []
    for where in sorted(folder_labels):
        components, texts = tuple(filter(None, where.split("/"))), _label_texts(folder_labels[where])
        if components == here[: len(components)]:
            own |= texts
        elif components[: len(here)] == here:
            below.append((components[len(here) :], texts))
    return own, tuple(below)


def _label_texts(labels: Mapping[str, str]) -> frozenset[str]:
    return frozenset(f"{name}={value}" for name, value in labels.items())


def route_record(route: Route) -> JsonObject:
    """Write a route as it is stored in a record."""
    return {
        "source": folder_record(route.source),
        "destination": folder_record(route.destination),
        **filters_record(route.filters),
    }


def filters_record(filters: Filters) -> JsonObject:
    """Write which files take part as it is stored in a record: sizes as decimal strings, times to the millisecond.

    Cedar knows no finer times, so what policies see begins and ends at full milliseconds around what was asked for.
    Raises `ValueError` for a time beyond the years that there are.
    """
    after, before = filters.modified_after_ns, filters.modified_before_ns
    return {
        "include": sorted(filters.include),
        "exclude": sorted(filters.exclude),
        "min_size_bytes": None if filters.min_size is None else str(filters.min_size),
        "max_size_bytes": None if filters.max_size is None else str(filters.max_size),
        "modified_after": None if after is None else _millisecond(after // _NS_IN_MS),
        "modified_before": None if before is None else _millisecond(-(-before // _NS_IN_MS)),
    }


def _millisecond(since_1970: int) -> str:
    try:
        return utc_text(_EPOCH + timedelta(milliseconds=since_1970))
    except OverflowError as error:
        raise ValueError(since_1970) from error


def cedar_request(record: Mapping[str, Json]) -> dict[str, object]:
    """Make the Cedar request of a record."""
    context = record["context"]
    if not isinstance(context, Mapping):
        raise TypeError(context)
    values = {
        name: int(value) if isinstance(value, str) and name not in _TEXT_FACTS else value
        for name, value in context.items()
    }
    if "origins" in context:
        values["origins"] = _slots_by_origin(_object(context["origins"]))
    times = {name: _datetime(context[name]) for name in _TIME_FACTS if name in context and context[name] != _NONE}
    if "files" in context:
        for name in _OPTIONAL:
            if context[name] == _NONE:
                del values[name]
    resource = "Folder" if record["action"] == "browse" else "Route"
    caller = record["caller"]
    if not isinstance(caller, Mapping):
        raise TypeError(caller)
    return {
        "principal": _uid("Person", caller["person"]),
        "action": _uid("Action", record["action"]),
        "resource": _uid(resource, "asked"),
        "context": {**values, **times},
    }


def cedar_entities(record: Mapping[str, Json]) -> list[JsonObject]:
    """Make the Cedar entities of a record: the person with groups, roles and agent, and the folders."""
    caller, resource = record["caller"], record["resource"]
    if not isinstance(caller, Mapping) or not isinstance(resource, Mapping):
        raise TypeError(record)
    parents = [_uid("Group", name) for name in _names(caller["groups"])]
    parents += [_uid("Role", name) for name in _names(caller["roles"])]
    agent = caller["agent"]
    acting: JsonObject = {} if agent is None else {"agent": {"__entity": _uid("Agent", agent)}}
    entities: list[JsonObject] = [_entity("Person", caller["person"], acting, parents)]
    if record["action"] == "browse":
        return [*entities, _folder_entity("asked", resource)]
    ends = ("source", "destination")
    for end in ends:
        folder = resource[end]
        if not isinstance(folder, Mapping):
            raise TypeError(folder)
        entities.append(_folder_entity(end, folder))
    route: JsonObject = {
        **{end: {"__entity": _uid("Folder", end)} for end in ends},
        "include": resource["include"],
        "exclude": resource["exclude"],
        **{name: int(_text(limit)) for name in SIZE_LIMITS if (limit := resource[name]) is not None},
        **{name: _datetime(_text(limit)) for name in TIME_LIMITS if (limit := resource[name]) is not None},
    }
    return [*entities, _entity("Route", "asked", route, [])]


def _slots_by_origin(origins: JsonObject) -> JsonObject:
    """Collect the slots of each origin, as Cedar's sets. A slot that is new needs a new form of the record."""
    if origins.keys() != set(SLOTS) or not set(origins.values()) <= set(OriginKind):
        raise ValueError(origins)
    return {
        kind.value: [{"__entity": _uid("Slot", slot)} for slot, known in origins.items() if known == kind.value]
        for kind in OriginKind
    }


def _folder_entity(name: str, folder: JsonObject) -> JsonObject:
    attributes: JsonObject = {
        "kind": folder["kind"],
        "labels": folder["labels"],
        "within": ancestors(_names(folder["path"])),
    }
    return _entity("Folder", name, attributes, [_uid("Endpoint", folder["endpoint"])])


def _entity(kind: str, name: Json, attributes: JsonObject, parents: list[JsonObject]) -> JsonObject:
    return {"uid": _uid(kind, name), "attrs": attributes, "parents": parents}


def _datetime(text: Json) -> JsonObject:
    return {"__extn": {"fn": "datetime", "arg": text}}


def _text(value: Json) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _uid(kind: str, name: Json) -> JsonObject:
    return {"type": kind, "id": name}


def _object(value: Json) -> JsonObject:
    if not isinstance(value, Mapping):
        raise TypeError(value)
    return value


def _names(value: Json) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, list | tuple):
        raise TypeError(value)
    return tuple(str(name) for name in value)
