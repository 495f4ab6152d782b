"""The record of what was asked: stored with every decision, and turned into Cedar's request and entities.

A record is canonical JSON: `action`, `caller`, `resource` (a folder, or a route of two) and `context` with its counts
as decimal strings. Deciding reads nothing else, so a record can be decided again.
"""

from collections.abc import Mapping
from typing import Final

from headrace.guardrails.intents.text import ancestors
from headrace.guardrails.policy.facts import Caller, PolicyAction
from headrace.guardrails.rails.routes import ResolvedEndpoint, Route
from headrace.guardrails.seal.documents import Json, JsonObject, canonical

_TEXT_FACTS: Final = frozenset({"now", "door", "verification"})


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
    return canonical({"action": action, "caller": who, "resource": resource, "context": counts}).decode()


def folder_record(folder: ResolvedEndpoint) -> JsonObject:
    """Write a folder as it is stored in a record."""
    labels = sorted(f"{name}={value}" for name, value in folder.labels.items())
    return {"endpoint": folder.endpoint, "kind": folder.kind, "labels": labels, "path": folder.path}


def route_record(route: Route) -> JsonObject:
    """Write a route as it is stored in a record."""
    return {"source": folder_record(route.source), "destination": folder_record(route.destination)}


def cedar_request(record: Mapping[str, Json]) -> dict[str, object]:
    """Make the Cedar request of a record."""
    context = record["context"]
    if not isinstance(context, Mapping):
        raise TypeError(context)
    values = {
        name: int(value) if isinstance(value, str) and name not in _TEXT_FACTS else value
        for name, value in context.items()
    }
    now = {"__extn": {"fn": "datetime", "arg": context["now"]}}
    resource = "Folder" if record["action"] == "browse" else "Route"
    caller = record["caller"]
    if not isinstance(caller, Mapping):
        raise TypeError(caller)
    return {
        "principal": _uid("Person", caller["person"]),
        "action": _uid("Action", record["action"]),
        "resource": _uid(resource, "asked"),
        "context": {**values, "now": now},
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
    route = {end: {"__entity": _uid("Folder", end)} for end in ends}
    return [*entities, _entity("Route", "asked", route, [])]


def _folder_entity(name: str, folder: JsonObject) -> JsonObject:
    attributes: JsonObject = {
        "kind": folder["kind"],
        "labels": folder["labels"],
        "within": ancestors(_names(folder["path"])),
    }
    return _entity("Folder", name, attributes, [_uid("Endpoint", folder["endpoint"])])


def _entity(kind: str, name: Json, attributes: JsonObject, parents: list[JsonObject]) -> JsonObject:
    return {"uid": _uid(kind, name), "attrs": attributes, "parents": parents}


def _uid(kind: str, name: Json) -> JsonObject:
    return {"type": kind, "id": name}


def _names(value: Json) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, list | tuple):
        raise TypeError(value)
    return tuple(str(name) for name in value)
