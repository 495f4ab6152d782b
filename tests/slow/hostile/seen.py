"""What an answer of any door tells a hostile client: plans, transfers, and whether it was a fault."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

FAULTS = ("internal_error", "Traceback (most recent call last)")
"""What no answer to whatever a client sends may hold."""


@dataclass(frozen=True)
class SeenPlan:
    """A plan that an answer showed."""

    id: str
    digest: str | None
    needs: bool
    action: str
    source: str
    destination: str


@dataclass(frozen=True)
class Seen:
    """One answer: its code (`ok`, or of the problem), what it showed, and what was wrong with it as an answer."""

    code: str
    plans: tuple[SeenPlan, ...] = ()
    transfers: Mapping[str, str] = field(default_factory=dict)
    """Ids to states."""
    fault: str | None = None


def seen_in(code: str, document: Any, text: str = "", fault: str | None = None) -> Seen:  # noqa: ANN401 - any JSON
    """Find plans and transfers anywhere in an answer, and what must not be in one."""
    plans, transfers = [], {}
    for one in _objects(document):
        name = str(one.get("id") or one.get("plan_id") or one.get("transfer_id") or "")
        if name.startswith("pl_") and "digest" in one:
            plans.append(_plan(name, one))
        elif name.startswith("tr_") and "state" in one:
            transfers[name] = str(one["state"])
    known = next((word for word in FAULTS if word in text), None)
    return Seen(code, tuple(plans), transfers, fault or (f"{known}: {text[:300]}" if known else None))


def read_json(text: str) -> Any:  # noqa: ANN401 - any JSON
    """Read JSON, or nothing when it is none."""
    try:
        return json.loads(text)
    except ValueError:
        return None


def _plan(name: str, one: Mapping[str, Any]) -> SeenPlan:
    slots = one.get("intent") or one
    decision = one.get("decision") or one
    outcome = str(decision.get("outcome") or "")
    said = [str(slots.get(slot) or "") for slot in ("action", "source", "destination")]
    return SeenPlan(name, one.get("digest"), outcome in {"confirm", "approve"}, *said)


def _objects(document: Any) -> Iterator[Mapping[str, Any]]:  # noqa: ANN401 - any JSON
    if isinstance(document, Mapping):
        yield document
        for value in document.values():
            yield from _objects(value)
    elif isinstance(document, list):
        for value in document:
            yield from _objects(value)
