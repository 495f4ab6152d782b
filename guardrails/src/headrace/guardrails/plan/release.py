"""Release: the one place where a sealed plan becomes something that may run.

`release` is the signer's gate (invariant 1). Only it makes a `ReleasedPlan`, and tickets are written from nothing else.
"""

import hmac
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal

from headrace.guardrails.errors import RailRefusal, Refused, Unreleased
from headrace.guardrails.intents.hours import OpenHours
from headrace.guardrails.intents.limits import MAX_CLOCK_SKEW_MS
from headrace.guardrails.plan.planning import RESERVED
from headrace.guardrails.policy.decide import redecide
from headrace.guardrails.policy.decision import (
    Decision,
    KeepsDeleted,
    NeedsApproval,
    NeedsConfirmation,
    Obligation,
    kept_days,
    parse_obligations,
)
from headrace.guardrails.policy.policy_set import PolicySet
from headrace.guardrails.seal.documents import JsonObject, new_id, utc_text, utc_time, verify

TICKET_LIFETIME: Final = timedelta(minutes=15)
_CLOCK_SKEW: Final = timedelta(milliseconds=MAX_CLOCK_SKEW_MS)
APPROVAL_LIFETIME: Final = timedelta(hours=24)
_MADE_HERE: Final = object()

Medium = Literal["memory", "storage"]
"""What is behind one end of a leg of a probe."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmation:
    """The requester's own yes to one digest. `session` says that it came from the person's interactive session."""

    person: str
    digest: str
    session: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """Another person's yes to one digest under one policy version, with the roles and groups the person has now."""

    person: str
    digest: str
    policy_version: str
    requester: str
    session: bool
    expires: datetime
    roles: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """One plan and what was said of it.

    `document` is the stored plan, `digest` the one that was submitted (and confirmed, and approved). `approvals` are
    only those that were consumed for this plan: which were used up before is the store's to know. For a renewal or a
    retry, `started` is when the plan was first released: time limits are held against that moment.
    """

    document: str
    digest: str
    confirmation: Confirmation | None = None
    approvals: tuple[Approval, ...] = ()
    started: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One attempt of a transfer; `rate_ceiling_bps` is the ceiling for now, on top of the plan's own."""

    transfer: str
    number: int
    only_failed: bool = False
    rate_ceiling_bps: int | None = None
    leg: tuple[Medium, Medium] | None = None
    """What a leg of a probe reads from and writes to; nothing for any other plan."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a transfer ended, from its nodes' statements (their documents, verbatim, the destination's first)."""

    transfer: str
    outcome: str
    files: int
    bytes: int
    seconds: int
    verified: str
    statements: tuple[str, ...]


class ReleasedPlan:
    """A plan that may run: sealed, decided, confirmed, approved, in time. Only `release` makes one."""

    __slots__ = ("digest", "fields")

    def __init__(self, made_here: object, digest: str, fields: JsonObject) -> None:
        """Refuse to be made by anything but `release`."""
        if made_here is not _MADE_HERE:
            raise TypeError("only `release` makes a released plan")  # noqa: EM101, TRY003 - said once, here
        self.digest = digest
        self.fields = fields

    @property
    def execution(self) -> JsonObject:
        """The execution part, verbatim."""
        return _mapping(self.fields, "execution")

    @property
    def hours(self) -> OpenHours | None:
        """Hours in which alone it may run."""
        try:
            return OpenHours.read(self.fields.get("hours"))
        except (ValueError, KeyError) as error:
            raise _refused(Unreleased.NOT_RUNNABLE, "the plan's hours can't be read; plan again") from error

    @property
    def project(self) -> str:
        """Which project it is for; empty where none was named."""
        return str(self.fields.get("project", ""))

    @property
    def requester(self) -> str:
        """Who asked for it."""
        return str(self.fields["requester"])


def release(
    submission: Submission,
    *,
    keys: Collection[str],
    policies: PolicySet | None,
    now: datetime,
    decided: Callable[[PolicySet | None, str], Decision] = redecide,
) -> ReleasedPlan:
    """Check everything that must hold before a ticket is signed.

    `keys` are the service's public keys, `policies` is the active policy. To start, the plan must have been decided by
    just that policy; to go on, it must not be denied by it now, as `decided` says. Raises `SealError`, or `Refused`
    with `digest_mismatch`, `not_runnable`, `plan_expired`, `policy_changed`, `confirmation_missing` or
    `approval_missing`.
    """
    sealed = verify(submission.document, "plan", keys)
    if not hmac.compare_digest(sealed.digest.encode(), submission.digest.encode()):
        raise _refused(Unreleased.DIGEST_MISMATCH, "the plan is not the one that was submitted; plan again")
    plan = ReleasedPlan(_MADE_HERE, sealed.digest, sealed.fields())
    begun = submission.started or now
    _check_time(plan.fields, begun)
    decision = _mapping(plan.fields, "decision")
    _check_policy(decision, policies, decided if submission.started is not None else None)
    _check_trash(plan, decision)
    _check_project(plan, decision)
    _check_consent(plan, submission, begun)
    return plan


def missing_consent(submission: Submission, *, keys: Collection[str], now: datetime) -> Refused | None:
    """Return with what `release` would refuse a sealed plan for want of consent, of which alone this is; `SealError`.

    Nothing is released.
    """
    sealed = verify(submission.document, "plan", keys)
    try:
        _check_consent(ReleasedPlan(_MADE_HERE, sealed.digest, sealed.fields()), submission, submission.started or now)
    except Refused as error:
        return error
    return None


def _check_consent(plan: ReleasedPlan, submission: Submission, begun: datetime) -> None:
    for need in _needs(_mapping(plan.fields, "decision")):
        if isinstance(need, NeedsApproval):
            _check_approvals(need, _valid_approvals(plan, submission.approvals, begun))
        elif isinstance(need, NeedsConfirmation) and not _is_confirmed(plan, submission.confirmation):
            raise _refused(
                Unreleased.CONFIRMATION_MISSING, "the requester has not confirmed this plan in their own session"
            )


def ticket_body(plan: ReleasedPlan, attempt: Attempt, now: datetime) -> JsonObject:
    """Write the body of a ticket for one attempt (15 minutes, renewed under the same attempt); seal as type `ticket`.

    The execution part is the plan's, verbatim; the ceiling is the lower of the plan's and the attempt's.
    """
    execution = plan.execution
    own = execution["rate_ceiling_bps"]
    ceilings = [
        value for value in (attempt.rate_ceiling_bps, None if own is None else int(str(own))) if value is not None
    ]
    if (attempt.leg is None) != ("probe" not in execution):
        raise _refused(Unreleased.NOT_RUNNABLE, "a leg goes with a plan that is a probe, and with no other; plan again")
    leg: JsonObject = {} if attempt.leg is None else {"leg": {"reads": attempt.leg[0], "writes": attempt.leg[1]}}
    return {
        **leg,
        "id": new_id("tk"),
        "plan_digest": plan.digest,
        "transfer": attempt.transfer,
        "attempt": str(attempt.number),
        # All of the plan; each attempt gives it out anew.
        "shard": {"fence": str(attempt.number), "number": "0"},
        "person": plan.requester,
        "source_node": _mapping(execution, "source")["node"],
        "destination_node": _mapping(execution, "destination")["node"],
        "execution": execution,
        "rate_ceiling_bps": str(min(ceilings)) if ceilings else None,
        "only_failed": attempt.only_failed,
        "not_before": utc_text(now),
        "expires": utc_text(now + TICKET_LIFETIME),
        **RESERVED,
        # Sealed with the plan, so that it is nobody else's by the time of the ticket.
        "local_account": plan.fields["local_account"],
    }


def receipt_body(plan: ReleasedPlan, ended: Ended, approvals: Sequence[Approval], now: datetime) -> JsonObject:
    """Write the body of a receipt: who asked, which rules allowed it, and the nodes' signed statements, verbatim."""
    decision = _mapping(plan.fields, "decision")
    return {
        "id": new_id("rc"),
        "transfer": ended.transfer,
        "plan_digest": plan.digest,
        "requester": plan.requester,
        "agent": plan.fields["agent"],
        "words": plan.fields["words"],
        "canonical_sentence": plan.fields["canonical_sentence"],
        "origins": plan.fields.get("origins"),
        "rules": decision["rules"],
        "permitted_by": decision["permitted_by"],
        "policy_version": decision["policy_version"],
        "approvals": [
            {"person": approval.person, "digest": approval.digest, "expires": utc_text(approval.expires)}
            for approval in approvals
        ],
        "statements": ended.statements,
        "outcome": ended.outcome,
        "files": str(ended.files),
        "bytes": str(ended.bytes),
        "seconds": str(ended.seconds),
        "verified": ended.verified,
        "created": utc_text(now),
        **RESERVED,
        "project": plan.project,
    }


def _check_time(fields: JsonObject, begun: datetime) -> None:
    """Hold a plan to its time limit; one from the future means that a clock is wrong."""
    created, expires = utc_time(str(fields["created"])), utc_time(str(fields["expires"]))
    if not created - _CLOCK_SKEW <= begun < expires:
        raise _refused(Unreleased.PLAN_EXPIRED, f"the plan could be started until {utc_text(expires)}; plan again")


def _check_policy(
    decision: JsonObject, policies: PolicySet | None, going_on: Callable[[PolicySet | None, str], Decision] | None
) -> None:
    """Hold a plan to the active policy: the very version to start, a decision that is no denial to go on."""
    if going_on is not None:
        holds = going_on(policies, str(decision["context"])).outcome != "denied"
    else:
        holds = policies is not None and policies.version == decision["policy_version"]
    if not holds:
        raise _refused(Unreleased.POLICY_CHANGED, "the policy has changed since this was planned; plan again")


def _check_trash(plan: ReleasedPlan, decision: JsonObject) -> None:
    """Hold a plan that deletes to what policy says of keeping: a node unlinks what a ticket does not let it keep."""
    execution, days = plan.execution, kept_days(_needs(decision))
    deletes = execution["delete_source"] or execution["delete_extraneous"]
    wanted = None if days is None or not deletes else {"keep_days": str(days)}
    if execution.get("trash") != wanted:
        message = "the plan does not keep what it deletes as the policy's decision says; plan again"
        raise _refused(Unreleased.NOT_RUNNABLE, message)


def _check_project(plan: ReleasedPlan, decision: JsonObject) -> None:
    """Hold a plan to the project that policy decided about; plans of before there were projects have none."""
    try:
        told = json.loads(str(decision["context"]))["context"].get("project", "")
    except (ValueError, TypeError, KeyError, AttributeError):
        # It names none, and whoever decides it again denies it.
        told = ""
    if told != plan.project:
        message = "the plan names another project than the one that policy decided about; plan again"
        raise _refused(Unreleased.NOT_RUNNABLE, message)


def _is_confirmed(plan: ReleasedPlan, confirmation: Confirmation | None) -> bool:
    """Whether the requester's own yes to this digest is there."""
    return (
        confirmation is not None
        and confirmation.session
        and (confirmation.person, confirmation.digest) == (plan.requester, plan.digest)
    )


def _valid_approvals(plan: ReleasedPlan, approvals: Sequence[Approval], begun: datetime) -> Sequence[Approval]:
    """Approvals that bind this plan, one a person, never the requester's own or of whoever made their token."""
    own = {plan.requester, plan.fields.get("token_made_by")}
    version = _mapping(plan.fields, "decision")["policy_version"]
    valid = {
        approval.person: approval
        for approval in approvals
        if approval.session
        and approval.person not in own
        and (approval.requester, approval.digest, approval.policy_version) == (plan.requester, plan.digest, version)
        and begun < approval.expires
    }
    return tuple(valid.values())


def _check_approvals(need: NeedsApproval, approvals: Sequence[Approval]) -> None:
    given = sum(need.may_be_given_by(approval.roles, approval.groups) for approval in approvals)
    if given < need.count:
        message = f"{need.count} of `{need.by}` must approve this plan, and {given} did; ask in the approvals inbox"
        raise _refused(Unreleased.APPROVAL_MISSING, message)


def _needs(decision: JsonObject) -> tuple[Obligation, ...]:
    """Read the sealed obligations: an allowed plan asks nobody, another one somebody, and nothing else can run."""
    outcome, written = decision["outcome"], decision["obligations"]
    if outcome == "allowed" and not written:
        return ()
    needs = parse_obligations(";".join(map(str, written))) if isinstance(written, list) and written else None
    asks = [need for need in needs or () if not isinstance(need, KeepsDeleted)]
    if not needs or outcome not in ({"confirm", "approve"} if asks else {"allowed"}):
        raise _refused(Unreleased.NOT_RUNNABLE, f"the policy's decision on this plan is `{outcome}`; it can't run")
    return needs


def _mapping(fields: JsonObject, name: str) -> JsonObject:
    value = fields[name]
    if not isinstance(value, Mapping):
        raise _refused(Unreleased.NOT_RUNNABLE, f"the plan's `{name}` can't be read; plan again")
    return value


def _refused(rule: Unreleased, message: str) -> Refused:
    return Refused([RailRefusal(rule, message)])
