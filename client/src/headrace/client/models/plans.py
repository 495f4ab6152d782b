"""Plans: what a request would touch, what policy says of it, and what people said of it."""

import re
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Final, Literal

from pydantic import Field

from headrace.client.models.base import (
    Count,
    Handle,
    Model,
    Page,
    ProjectName,
    ProofStrength,
    Proven,
    Reason,
    Sha256,
    Words,
    Zone,
)
from headrace.client.models.intents import (
    Changes,
    PlannedIntent,
    Question,
    Refusal,
    RunHours,
    SlotOrigin,
    TransferIntent,
)
from headrace.client.models.policy import Rule
from headrace.client.models.probe import ProbeBounds
from headrace.client.models.qos import EffectiveTuning, PlannedQuality, Tuning
from headrace.client.models.steps import AllowedAction, NextStep
from headrace.client.models.transfers import TransferState


class PlanState(StrEnum):
    """Where planning stands: surveying -> ready | ask | denied | failed; ready | ask -> expired | dropped."""

    SURVEYING = "surveying"
    READY = "ready"
    ASK = "ask"
    DENIED = "denied"
    FAILED = "failed"
    EXPIRED = "expired"
    DROPPED = "dropped"


class PlanRequest(Model):
    """`words`, `intent`, or both; or, to change an earlier plan, `plan` with `words`, `changes`, or both.

    Where words and typed slots come together, they must agree: what they say differently, what only the words say, and
    words that are not understood are questions. Slots that the words do not carry are marked as added.
    `answers` names the plan whose questions this request answers; that plan is dropped.
    """

    words: Words | None = None
    intent: TransferIntent | None = None
    plan: Handle | None = None
    changes: Changes | None = None
    answers: Handle | None = None
    timezone: Zone | None = None
    project: ProjectName | None = Field(
        default=None,
        description="the project that it is for, which words can't say: as `project` of the intent or the changes; "
        "of a change or an answer, null keeps what the earlier plan has",
    )
    probe: ProbeBounds | None = Field(
        default=None, description="only measure, with an `intent` that copies: its places, ceiling and priority count"
    )
    tuning: Tuning | None = Field(
        default=None,
        description="what is set for this transfer; of a change or an answer, null keeps what the earlier plan has",
    )


class SurveyCounts(Model):
    """What the plan would touch."""

    files: Count
    bytes: Count
    directories: Count
    symlinks: Count
    identical_files: Count
    excluded_files: Count
    skipped_special: Count
    conflicts: Count
    overwrites: Count
    overwritten_bytes: Count
    deletes: Count
    deleted_bytes: Count
    destination_free_bytes: Count
    sample: list[str] = []
    overwrites_sample: list[str] = []
    deletes_sample: list[str] = []
    conflicts_sample: list[str] = []


_KEPT: Final = re.compile(r"trash:([0-9]{1,3})d")

LossKind = Literal["replaced", "deleted"]


class Loss(Model):
    """One name at the destination that a plan replaces or deletes, as it was when it was surveyed."""

    how: LossKind
    path: str = Field(description="below the plan's destination")
    kind: Literal["file", "dir", "symlink"]
    bytes: Count
    modified: datetime | None = Field(default=None, description="last change of its content")


class LossPage(Page[Loss]):
    """One page of what a plan replaces and deletes at its destination. Sources of a move are in no list."""

    moved: Count = Field(
        default=0,
        description="source files that a move deletes, each once its copy is verified: all that the plan copies or "
        "finds there already; list them by browsing the plan's source",
    )


class DecidingFact(Model):
    """A fact that the deciding rules look at, and what it was."""

    name: str
    value: str


class Alternative(Model):
    """What the request would have to be for a milder answer: `with at most 500 GB`."""

    words: str
    outcome: Literal["allowed", "confirm", "approve"]


class Decision(Model):
    """What policy says of a plan."""

    outcome: Literal["allowed", "confirm", "approve", "denied"]
    rules: list[Rule] = []
    approvals_needed: Count = 0
    approver_groups: list[str] = []
    policy_version: str
    why: str
    qos_class: str = "bulk"
    obligations: list[str] = Field(
        default=[], description="`confirmation`, `approval:ROLE_OR_GROUP:COUNT`, or `trash:DAYSd`"
    )
    facts: list[DecidingFact] = Field(default=[], description="what the deciding rules look at, as it was")
    alternatives: list[Alternative] = Field(
        default=[], description="the smallest changes that the same policy decides more mildly, the mildest first"
    )

    @property
    def keep_days(self) -> int | None:
        """How many days a trash keeps what the plan deletes; nothing when it is gone at once."""
        kept = (_KEPT.fullmatch(need) for need in self.obligations)
        return max((int(need[1]) for need in kept if need), default=None)


class Given(Model):
    """One person's part of a need."""

    person: str
    person_name: str
    at: datetime
    expires: datetime | None = None


class Need(Model):
    """Something that people must give before a plan may start, and how much of it counts now."""

    kind: Literal["confirmation", "approval"]
    by: str = Field(description="for people: `you`, `the requester (ada)`, `2 people of the group stewards`")
    roles_or_groups: list[str] = []
    count: Count = 1
    proof: ProofStrength = Field(
        default="session", description="what must come with it at least; a passkey counts for a password"
    )
    given: Count = Field(default=0, description="how many count now: unexpired, for this digest, giver still entitled")
    given_by: list[Given] = []
    until: datetime | None = Field(default=None, description="when the first of those given expires")


class ApprovalView(Model):
    """Somebody's word on a plan."""

    person: str
    verdict: Literal["approved", "refused"]
    reason: str = ""
    at: datetime
    expires: datetime


class Estimate(Model):
    """How long something may take: a range that holds for about 9 of 10, and the likeliest."""

    low_s: Count
    likely_s: Count
    high_s: Count
    bytes_s: Annotated[float, Field(ge=0)] = Field(default=0, description="of the likeliest, what its bytes take")
    files_s: Annotated[float, Field(ge=0)] = Field(default=0, description="what its files take, whatever their sizes")
    deletes_s: Annotated[float, Field(ge=0)] = Field(default=0, description="what its deletes take, after all else")
    said: str = Field(description="where it comes from")


class QuotaUse(Model):
    """How much of a quota is used, in the site's day or at this moment; a limit that is null is none."""

    of: Literal["person", "group", "agent", "project", "endpoint", "destination"]
    subject: str = Field(description="whose it is: a person by id, a place as `endpoint:/path`")
    bytes_a_day: Count | None = None
    bytes_used: Count = 0
    files_a_day: Count | None = None
    files_used: Count = 0
    transfers: Count | None = Field(default=None, description="transfers that may be under way at once")
    transfers_used: Count = 0
    renews: datetime = Field(description="when the next day begins")


class Plan(Model):
    """A plan as people see it: the card and its state."""

    id: str
    state: PlanState
    state_reason: str = Field(
        default="", description="why it can't start any more: declined, refused, dropped, too old, denied"
    )
    requester: str
    requester_name: str | None = None
    agent: str | None = None
    words: str | None = None
    created: datetime
    expires: datetime | None = None
    digest: Sha256 | None = None
    intent: PlannedIntent | None = None
    canonical_sentence: str | None = None
    origins: list[SlotOrigin] = Field(
        default=[], description="where each slot of the intent comes from; none in plans of earlier versions"
    )
    probe: ProbeBounds | None = Field(default=None, description="set: it only measures, in legs of at most this")
    survey: SurveyCounts | None = None
    surveyed_entries: Count = 0
    decision: Decision | None = None
    danger: list[str] = []
    questions: list[Question] = []
    refusals: list[Refusal] = []
    notes: list[str] = Field(
        default=[], description="what this kind of plan does to identical, different, excluded and moved files"
    )
    starts: datetime | None = Field(default=None, description="when it starts at the earliest, if not at once")
    hours: RunHours | None = Field(default=None, description="hours in which alone it runs")
    eta_s: Count | None = Field(default=None, description="how long it may take, from what was moved there before")
    estimate: Estimate | None = Field(default=None, description="that as a range, and where it comes from")
    quality: PlannedQuality | None = Field(default=None, description="its class, links and hours")
    tuning: EffectiveTuning = Field(
        default=EffectiveTuning(), description="streams and units that are set for it, and at which level"
    )
    quotas: list[QuotaUse] = Field(default=[], description="of whom and what it concerns, this plan not included")
    confirmed: bool = False
    approvals: list[ApprovalView] = []
    needs: list[Need] = []
    next_step: NextStep = NextStep()
    allowed_actions: list[AllowedAction] = []
    names_withheld: bool = Field(default=False, description="names were left out: a folder is restricted for agents")
    warnings: list[str] = Field(default=[], description="what will not come about although the plan may start")
    transfer: str | None = None
    transfer_state: TransferState | None = None
    transfer_ended: datetime | None = None
    summary: str = Field(default="", description="one paragraph fit to be read aloud")
    document: str | None = Field(default=None, description="the sealed document, when asked for with `?document=true`")


class PlanCounts(Model):
    """How many plans wait for the caller."""

    awaiting_me: Count = Field(description="others' plans that wait for the caller's approval")
    mine_open: Count = Field(description="the caller's own plans that can still start or that ask something")


class Confirmation(Proven):
    """The requester's own yes (or no) to one digest; needs an interactive session, never a token."""

    digest: Sha256
    verdict: Literal["confirmed", "declined"] = "confirmed"


class Approval(Proven):
    """Another person's yes (or no) to one digest; needs an interactive session, never a token."""

    digest: Sha256
    verdict: Literal["approved", "refused"]
    reason: Reason = ""
