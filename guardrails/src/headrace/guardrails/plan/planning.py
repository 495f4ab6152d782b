"""Plans: what a request becomes once it is exact. The draft that is surveyed, the sealed body, and permits."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from headrace.guardrails.errors import Refused
from headrace.guardrails.intents.hours import OpenHours
from headrace.guardrails.intents.origins import SLOTS, Origin, OriginKind, Origins
from headrace.guardrails.intents.values import default_conflict_rule
from headrace.guardrails.policy.decision import Decision
from headrace.guardrails.rails.checks import check_request, check_zones
from headrace.guardrails.rails.routes import ResolvedEndpoint, Route
from headrace.guardrails.rails.slots import TransferSlots
from headrace.guardrails.seal.documents import Document, Json, JsonObject, Signs, new_id, seal, utc_text
from headrace.guardrails.seal.execution import (
    Execution,
    Filters,
    SurveyCounts,
    TransferEnd,
    Verify,
    nanoseconds,
)

PLAN_LIFETIME: Final = timedelta(hours=24)
"""How long a plan may wait for its confirmation, approvals and submission; counted from its start, if it names one."""
MAX_AHEAD: Final = timedelta(days=7)
"""How far ahead a plan may start."""
PERMIT_LIFETIME: Final = timedelta(minutes=15)
PERMIT_MAX_SECONDS: Final = 600
_MODES: Final = {"permissions": "mode", "timestamps": "mtime"}


def execution_of(slots: TransferSlots, route: Route, kept: frozenset[str] = frozenset()) -> Execution:
    """Make the draft execution of a request: what a survey needs, without ceilings and lists.

    Defaults: a copy or move fails files that differ at the destination; a sync overwrites them. A move verifies at
    rest, everything else in transit unless told otherwise; asking for BLAKE3 by name means at rest, too. `kept` is for
    `check_request`. Raises `Refused` with every rail that the request meets.
    """
    refusals = check_request(slots, route, kept)
    if refusals:
        raise Refused(refusals)
    at_rest = slots.action == "move" or slots.verify in {"at-rest", "blake3"}
    verify: Verify = "at-rest" if at_rest else "in-transit"
    return Execution(
        action=slots.action,
        source=_place(route.source),
        destination=_place(route.destination),
        filters=filters_of(slots),
        on_conflict=slots.on_conflict or default_conflict_rule(slots.action),
        compare=slots.compare,
        preserve=tuple(sorted(_MODES[kept] for kept in slots.preserve if kept in _MODES)),
        verify=verify,
        encryption="required" if slots.encryption else "off",
        delete_source=slots.action == "move",
        delete_extraneous=slots.delete_extraneous,
        rate_ceiling_bps=slots.rate_limit_bps,
    )


def filters_of(slots: TransferSlots) -> Filters:
    """Say which files a request takes; raises `Refused` for a time without a zone, which is none."""
    after, before = slots.modified_after, slots.modified_before
    refusals = tuple(check_zones(after, before))
    if refusals:
        raise Refused(refusals)
    return Filters(
        include=tuple(slots.include),
        exclude=tuple(slots.exclude),
        min_size=slots.min_size_bytes,
        max_size=slots.max_size_bytes,
        modified_after_ns=None if after is None else nanoseconds(after),
        modified_before_ns=None if before is None else nanoseconds(before),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanDraft:
    """Everything a plan seals. `words` are the person's own, kept as data; `agent` is the token's, no claim."""

    id: str
    requester: str
    agent: str | None
    door: str
    words: str | None
    canonical_sentence: str
    source: str
    destination: str
    execution: Execution
    counts: SurveyCounts
    decision: Decision
    notes: tuple[str, ...]
    danger: tuple[str, ...]
    created: datetime
    starts: datetime | None = None
    """When it is to start, if that was asked for, or when its hours open first."""
    hours: OpenHours | None = None
    """Hours in which alone it may run."""
    deadline: datetime | None = None
    """When it is to be done."""
    project: str = ""
    """Which project it is for, if one was named."""
    origins: Origins = field(default_factory=dict)
    """Where each slot comes from."""
    known_as: str = ""
    """How the requester is known where people have names (`ISSUER NAME`), for nodes that act as local accounts."""
    token_made_by: str | None = None
    """Who made the token that asked, where that is somebody else, who approves it no more than the requester does."""

    @property
    def expires(self) -> datetime:
        """When it may no longer be started."""
        return max(self.created, self.starts or self.created) + PLAN_LIFETIME

    def to_body(self) -> JsonObject:
        """Its form under the seal."""
        return {
            "id": self.id,
            "requester": self.requester,
            "token_made_by": self.token_made_by,
            "agent": self.agent,
            "door": self.door,
            "words": self.words,
            "canonical_sentence": self.canonical_sentence,
            "source": self.source,
            "destination": self.destination,
            "execution": self.execution.to_body(),
            "survey": self.counts.to_body(),
            "decision": self.decision.to_body(),
            "notes": self.notes,
            "danger": self.danger,
            "hours": self.hours.to_body() if self.hours else None,
            "deadline": utc_text(self.deadline) if self.deadline else None,
            "origins": origins_body(self.origins),
            "created": utc_text(self.created),
            "expires": utc_text(self.expires),
            **RESERVED,
            "project": self.project,
            "local_account": self.known_as,
        }


RESERVED: Final[JsonObject] = {"site": "", "project": "", "local_account": ""}
"""Fields that every sealed document has, and their values where nothing is said."""


def seal_plan(draft: PlanDraft, *keys: Signs) -> Document:
    """Seal a plan; its digest is what people confirm and approve."""
    return seal("plan", draft.to_body(), *keys)


def origins_body(origins: Origins) -> JsonObject:
    """Write where each slot comes from, with the words that carry it; plans before 2026-11-24 have no such field."""
    body: dict[str, Json] = {}
    for slot in SLOTS:
        one = origins.get(slot, Origin(OriginKind.ASSUMED))
        words = [{"start": str(said.start), "end": str(said.end), "text": said.text} for said in one.quotes]
        body[slot] = {"origin": one.kind.value, "words": words, "plan": one.plan}
    return body


def danger_of(execution: Execution) -> tuple[str, ...]:
    """List what a confirmation must show, sorted, in the words of the language cases."""
    dangers = {
        "delete_extraneous": execution.delete_extraneous,
        "delete_source": execution.delete_source,
        "encryption_off": execution.encryption == "off",
        "overwrite": execution.overwrites.count > 0,
        "root_source": not execution.source.path,
    }
    return tuple(sorted(name for name, present in dangers.items() if present))


def permit_body(
    *, person: str, folder: ResolvedEndpoint, now: datetime, max_entries: int, known_as: str = ""
) -> JsonObject:
    """Write the body of a permit to list this folder and what is below it; seal it as type `permit`.

    `known_as` is how the person is known where people have names (`ISSUER NAME`), for nodes that act as local accounts.
    """
    return {
        "id": new_id("pm"),
        "person": person,
        "node": folder.node,
        "root": folder.root,
        "path": folder.path,
        "max_entries": str(max_entries),
        "max_seconds": str(PERMIT_MAX_SECONDS),
        "not_before": utc_text(now),
        "expires": utc_text(now + PERMIT_LIFETIME),
        **RESERVED,
        "local_account": known_as,
    }


def _place(end: ResolvedEndpoint) -> TransferEnd:
    return TransferEnd(end.node, end.root, end.path)
