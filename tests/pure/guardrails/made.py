"""What the tests of guardrails are made of: requests, routes, surveys and plans, ordinary unless told otherwise."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from headrace.guardrails import (
    Access,
    Caller,
    Decision,
    Document,
    Facts,
    Moment,
    PlanDraft,
    PolicySet,
    ResolvedEndpoint,
    Route,
    SigningKey,
    SurveyCounts,
    decide,
    default_policy,
    execution_of,
    seal_plan,
    settle,
)
from headrace.guardrails.seal.execution import Action, Compare, OnConflict

NOW = datetime(2026, 11, 25, 20, 30, tzinfo=UTC)
KEY = SigningKey.from_seed(bytes(range(32)))
OTHER_KEY = SigningKey.from_seed(bytes(32))
NODE_A = SigningKey.from_seed(b"a" * 32).public
NODE_B = SigningKey.from_seed(b"b" * 32).public
REQUESTER = Caller(person="pn_ada", roles=frozenset({"requester"}))
AGENT = Caller(person="pn_ada", roles=frozenset({"requester"}), agent="assistant")
MOMENT = Moment(now=NOW, zone="America/Chicago", door="cli")


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A request in typed slots; an ordinary copy unless told otherwise."""

    action: Action = "copy"
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    min_size_bytes: int | None = None
    max_size_bytes: int | None = None
    modified_after: datetime | None = None
    modified_before: datetime | None = None
    start: datetime | None = None
    deadline: datetime | None = None
    window: tuple[str, str] | None = None
    repeat: str | None = None
    rate_limit_bps: int | None = None
    priority: str = "normal"
    encryption: bool = True
    verify: str = "default"
    on_conflict: OnConflict | None = None
    compare: Compare = "size-mtime"
    delete_extraneous: bool = False
    preserve: tuple[str, ...] = ("timestamps", "permissions", "symlinks")


def source(*path: str, into: bool = False, access: Access = "delete", **labels: str) -> ResolvedEndpoint:
    return ResolvedEndpoint(
        endpoint="krios1", node=NODE_A, root="krios1", path=path, into=into, access=access, labels=labels
    )


def destination(*path: str, into: bool = False, access: Access = "delete", **labels: str) -> ResolvedEndpoint:
    return ResolvedEndpoint(
        endpoint="archive", node=NODE_B, root="archive", path=path, into=into, access=access, labels=labels
    )


def route(from_: ResolvedEndpoint | None = None, to: ResolvedEndpoint | None = None) -> Route:
    return settle(from_ or source("raw", "run42"), to or destination("run42"))


def counts(**changes: Any) -> SurveyCounts:  # noqa: ANN401 - any field of the counts
    ordinary: dict[str, Any] = {
        "source_kind": "dir",
        "files": 20_000,
        "bytes": 1_636_177_994,
        "source_entries": 20_900,
        "identical_files": 12,
        "destination_files": 12,
        "destination_free_bytes": 1 << 42,
    }
    return SurveyCounts(**{**ordinary, **changes})


def facts(**changes: Any) -> Facts:  # noqa: ANN401 - any field of the facts
    ordinary: dict[str, Any] = {"moment": MOMENT, "files": 1, "bytes": 1, "max_files": 17, "max_bytes": 1 << 26}
    return Facts(**{**ordinary, **changes})


def decision(
    asked: Asked, found: SurveyCounts, caller: Caller = REQUESTER, policies: PolicySet | None = None
) -> Decision:
    execution = execution_of(asked, route()).surveyed(found)
    return decide(policies or default_policy(), asked.action, caller, route(), Facts.of(execution, found, MOMENT))


def draft(asked: Asked | None = None, found: SurveyCounts | None = None, words: str | None = None) -> PlanDraft:
    asked, found = asked or Asked(), found or counts()
    execution = execution_of(asked, route()).surveyed(found)
    return PlanDraft(
        id="pl_" + "0" * 32,
        requester="pn_ada",
        agent=None,
        door="cli",
        words=words,
        canonical_sentence="copy krios1:/raw/run42 to archive:/run42",
        source="krios1:/raw/run42",
        destination="archive:/run42",
        execution=execution,
        counts=found,
        decision=decision(asked, found),
        notes=(),
        danger=(),
        created=NOW,
    )


def sealed(asked: Asked | None = None, found: SurveyCounts | None = None) -> Document:
    return seal_plan(draft(asked, found), KEY)
