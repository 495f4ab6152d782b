"""Which rules of a policy can concern a request: only those are evaluated.

Cedar evaluates every rule of a set for every request. A rule is left out here when its scope, or what its first
condition begins with (`resource.source in Endpoint::"a" && resource.source.within.contains("/b") && ...`), does not
hold. Cedar goes through these from left to right and stops there, too, and none of them can fail: a rule that is left
out would neither have decided anything nor failed.
"""

import json
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Final, TypeAlias

import cedarpy

from headrace.guardrails.intents.text import ancestors
from headrace.guardrails.policy.places import MAX_PLACES
from headrace.guardrails.seal.documents import Json, JsonObject

MAX_SLICES: Final = MAX_PLACES + 1
"""Slices that are kept parsed, the last used: those of a folder and of all places in it that are looked at."""

Term: TypeAlias = tuple[str, ...]
"""Something that holds of a request or does not: `("source", "within", "/raw")`, `("principal", "Group", "lab")`."""
Sets: TypeAlias = tuple[cedarpy.PolicySet, cedarpy.PolicySet]


@dataclass(slots=True)
class Slices:
    """The rules of one policy, by what they need. `asking` are the ids of rules that only ask."""

    rules: Mapping[str, Mapping[str, object]]
    asking: frozenset[str]
    everything: Sets
    needs: dict[str, frozenset[Term]] = field(init=False)
    by_term: dict[Term, list[str]] = field(init=False)
    always: list[str] = field(init=False)
    kept: OrderedDict[tuple[str, ...], Sets] = field(init=False)
    lock: Lock = field(init=False)

    def __post_init__(self) -> None:
        """File each rule under one of its terms."""
        self.needs = {name: frozenset(_terms(rule)) for name, rule in self.rules.items()}
        self.by_term, self.always = {}, []
        self.kept, self.lock = OrderedDict(), Lock()
        for name, terms in self.needs.items():
            if terms:
                # Places and people part requests from each other better than actions do.
                self.by_term.setdefault(max(terms, key=lambda term: (term[0] != "action", term)), []).append(name)
            else:
                self.always.append(name)

    def of(self, record: JsonObject) -> Sets:
        """Give the rules that can concern a request: all of these, and those that don't merely ask."""
        holding = frozenset(_holding(record))
        filed = [name for term in holding for name in self.by_term.get(term, ())]
        names = tuple(sorted([*self.always, *(name for name in filed if self.needs[name] <= holding)]))
        if len(names) == len(self.rules):
            return self.everything
        with self.lock:
            if names in self.kept:
                self.kept.move_to_end(names)
                return self.kept[names]
        made = _sets(self.rules, names), _sets(self.rules, [name for name in names if name not in self.asking])
        with self.lock:
            self.kept[names] = made
            while len(self.kept) > MAX_SLICES:
                self.kept.popitem(last=False)
        return made


def _sets(rules: Mapping[str, Mapping[str, object]], names: "tuple[str, ...] | list[str]") -> cedarpy.PolicySet:
    static = {name: rules[name] for name in names}
    return cedarpy.PolicySet.from_json_str(json.dumps({"templates": {}, "staticPolicies": static, "templateLinks": []}))


def _holding(record: JsonObject) -> Iterator[Term]:
    """Go through everything of a request that a term can be about."""
    caller, resource = _mapping(record["caller"]), _mapping(record["resource"])
    yield ("action", str(record["action"]))
    yield ("principal", "Person", str(caller["person"]))
    for kind, names in (("Group", caller["groups"]), ("Role", caller["roles"])):
        yield from (("principal", kind, name) for name in _texts(names))
    ends = {"": resource} if record["action"] == "browse" else {end: resource[end] for end in ("source", "destination")}
    for end, folder in ends.items():
        yield from _holding_of(end, _mapping(folder))


def _holding_of(end: str, folder: JsonObject) -> Iterator[Term]:
    yield (end, "endpoint", str(folder["endpoint"]))
    yield from ((end, "labels", label) for label in _texts(folder["labels"]))
    yield from ((end, "within", path) for path in ancestors(_texts(folder["path"])))


def _terms(rule: Mapping[str, object]) -> Iterator[Term]:
    """Find what must hold before anything else of a rule is looked at."""
    action, principal = _part(rule["action"]), _part(rule["principal"])
    if action.get("op") == "==":
        yield ("action", str(_part(action["entity"])["id"]))
    if principal.get("op") in {"==", "in"} and "entity" in principal:
        entity = _part(principal["entity"])
        if entity.get("type") in {"Person", "Group", "Role"}:
            yield ("principal", str(entity["type"]), str(entity["id"]))
    conditions = rule.get("conditions")
    first = _part(conditions[0]) if isinstance(conditions, list) and conditions else {}
    if first.get("kind") == "when":
        for part in _conjunction(first["body"]):
            term = _term(_part(part))
            if term is None:
                return
            yield term


def _conjunction(part: object) -> Iterator[object]:
    """Go through what is joined by `&&`, from left to right."""
    joined = _part(part).get("&&")
    if joined is None:
        yield part
        return
    both = _part(joined)
    yield from _conjunction(both["left"])
    yield from _conjunction(both["right"])


def _term(part: Mapping[str, object]) -> Term | None:
    """Read `END.within.contains("/a")`, `END.labels.contains("a=b")` or `END in Endpoint::"a"`."""
    if set(part) == {"contains"}:
        call = _part(part["contains"])
        attribute = _part(_part(call["left"]).get("."))
        name, value = attribute.get("attr"), _part(call["right"]).get("Value")
        end = _end(attribute.get("left"))
        if end is not None and name in {"within", "labels"} and isinstance(value, str):
            return (end, str(name), value)
    if set(part) == {"in"}:
        call = _part(part["in"])
        end, entity = _end(call["left"]), _part(_part(_part(call["right"]).get("Value")).get("__entity"))
        if end is not None and entity.get("type") == "Endpoint":
            return (end, "endpoint", str(entity["id"]))
    return None


def _end(part: object) -> str | None:
    """Read `resource`, `resource.source` or `resource.destination`."""
    found = _part(part)
    if found == {"Var": "resource"}:
        return ""
    attribute = _part(found.get("."))
    name = attribute.get("attr")
    if _part(attribute.get("left")) == {"Var": "resource"} and name in {"source", "destination"}:
        return str(name)
    return None


def _part(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _mapping(value: Json) -> JsonObject:
    if not isinstance(value, Mapping):
        raise TypeError(value)
    return value


def _texts(value: Json) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, list | tuple):
        raise TypeError(value)
    return tuple(map(str, value))
