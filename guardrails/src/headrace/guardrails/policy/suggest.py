"""Examples that a policy text lacks: that a place which a rule protects is denied, and so is what contains it."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from headrace.guardrails.policy.examples import decided_example, deciding_rules
from headrace.guardrails.policy.policy_set import PolicyRule, PolicySet
from headrace.guardrails.policy.slices import Term
from headrace.guardrails.seal.documents import Json

MAX_SUGGESTED: Final = 50
"""Rules that examples are suggested for; and places of one rule."""
_ENDS: Final = ("source", "destination")


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A rule about places that no example of the text shows to hold, and lines that would; none if none was found."""

    rule: str
    lines: tuple[str, ...]


def suggested_examples(policies: PolicySet) -> tuple[Suggestion, ...]:
    """Suggest examples for rules that deny, name places, and decide no example of the text."""
    shown = deciding_rules(policies)
    found = []
    for cedar_id, rule in policies.by_cedar_id.items():
        if rule.effect == "forbid" and not rule.asks and rule.places and rule.id not in shown:
            needs = policies.slices.needs[cedar_id]
            action = _action(policies.slices.rules[cedar_id].get("action"))
            found.append(Suggestion(rule.id, tuple(_lines(policies, rule, action, needs))))
    return tuple(found[:MAX_SUGGESTED])


def _lines(policies: PolicySet, rule: PolicyRule, action: str, needs: frozenset[Term]) -> Iterator[str]:
    """Try each place, and the folder that it lies in, at one end and then the other; keep what this rule denies."""
    for place in sorted(rule.places)[:MAX_SUGGESTED]:
        paths = dict.fromkeys((place, place.rpartition("/")[0] or "/")) if place.startswith("/") else ()
        for end in ("source",) if action == "browse" else _ENDS:
            tried = [{**_asked(action, needs), end: f"{_endpoint(end, action, needs)}:{path}"} for path in paths]
            held = [fields for fields in tried if _denies(policies, rule, fields)]
            yield from (f"// example denied {json.dumps(fields)}" for fields in held)
            if held:
                break


def _denies(policies: PolicySet, rule: PolicyRule, fields: Mapping[str, Json]) -> bool:
    decision = decided_example(policies, dict(fields))
    return decision.outcome == "denied" and rule.id in {one.id for one in decision.rules}


def _asked(action: str, needs: frozenset[Term]) -> dict[str, Json]:
    """Say what a request must be for the rule to concern it."""
    fields: dict[str, Json] = {"action": action}
    for kind, *rest in sorted(needs):
        match kind, rest:
            case "principal", ["Group", name]:
                fields["groups"] = [name]
            case "principal", ["Role", name]:
                fields["roles"] = sorted({"requester", name})
            case "principal", ["Person", name]:
                fields["person"] = name
            case _, ["labels", label] if "=" in label:
                name, _, value = label.partition("=")
                fields[f"{kind or 'source'}_labels"] = {name: value}
            case _, ["endpoint", name]:
                fields[kind or "source"] = f"{name}:/data/run"
            case _:
                pass
    return fields


def _endpoint(end: str, action: str, needs: frozenset[Term]) -> str:
    named = "" if action == "browse" else end
    return next((term[2] for term in needs if term[:2] == (named, "endpoint")), end)


def _action(scope: object) -> str:
    """Take the first action of a rule's scope."""
    if not isinstance(scope, Mapping):
        return "copy"
    entities = scope.get("entities") or [scope.get("entity")]
    first = entities[0]
    return str(first["id"]) if isinstance(first, Mapping) else "copy"
