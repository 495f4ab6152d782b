"""Tables of plans, consent, transfers and receipts."""

from datetime import UTC, datetime
from typing import Final, Literal

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Index, String, Text, UniqueConstraint, false, text
from sqlalchemy.orm import Mapped, column_property, mapped_column

from headrace.api.store.base import Base, Names, Sequence, Utc
from headrace.api.store.tables_site import name_of

_OPEN: Final = ("state", "unstarted", "expires")
_ENDS: Final = ("source_endpoint", "destination_endpoint")
_FOR_A_PROJECT: Final = text("project IS NOT NULL")
"""Most are for none, and cost these indexes nothing."""
NOT_PROMISED: Final = datetime(9999, 12, 31, tzinfo=UTC)
"""In place of since when a deadline was promised, of one that could not be kept: earlier services sort it last."""


class PlanRow(Base):
    """A plan: `document` is the sealed document's exact text; `card` what people see (JSON of `models.Plan`)."""

    __tablename__ = "plans"
    __table_args__ = (
        Index("ix_plans_requester_created", "requester", "created", "id"),
        Index("ix_plans_requester_state_unstarted_created", "requester", "state", "unstarted", "created", "id"),
        # Of the few that are open, with all that tells for whom they wait: a plan itself is some 10 KB.
        Index(
            "ix_plans_state_unstarted_expires",
            *_OPEN,
            *("created", "id", "requester", "token_made_by", "policy_version"),
            sqlite_where=text("unstarted IS 1"),
            postgresql_where=text("unstarted IS true"),
        ),
        Index("ix_plans_unstarted_created", "unstarted", "created", "id"),
        Index("ix_plans_base", "base"),
        # A person's by endpoint or assistant, with what else a list asks of them: no row is read that does not fit.
        Index("ix_plans_requester_source_endpoint", "requester", "source_endpoint", "created", "id", *_OPEN),
        Index("ix_plans_requester_destination_endpoint", "requester", "destination_endpoint", "created", "id", *_OPEN),
        Index("ix_plans_requester_agent", "requester", "agent", "created", "id", *_OPEN, *_ENDS),
        Index(
            "ix_plans_requester_project",
            *("requester", "project", "created", "id", *_OPEN, *_ENDS),
            sqlite_where=_FOR_A_PROJECT,
            postgresql_where=_FOR_A_PROJECT,
        ),
    )

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    digest: Mapped[str | None] = mapped_column(String(64), unique=True)
    state: Mapped[str] = mapped_column(String(16))
    requester: Mapped[str] = mapped_column(ForeignKey("people.id"))
    requester_name: Mapped[str | None] = column_property(name_of(requester))
    token_made_by: Mapped[str | None] = mapped_column(String(40))
    """Who made the service account's token that asked for it: nobody approves that either."""
    agent: Mapped[str | None] = mapped_column(String(120))
    door: Mapped[str] = mapped_column(String(16))
    words: Mapped[str | None] = mapped_column(Text)
    timezone: Mapped[str] = mapped_column(String(64))
    base: Mapped[str | None] = mapped_column(ForeignKey("plans.id"))
    created: Mapped[datetime] = mapped_column(Utc)
    expires: Mapped[datetime | None] = mapped_column(Utc)
    starts: Mapped[datetime | None] = mapped_column(Utc)
    document: Mapped[str | None] = mapped_column(Text)
    card: Mapped[str] = mapped_column(Text)
    source: Mapped[str] = mapped_column(Text, default="")
    destination: Mapped[str] = mapped_column(Text, default="")
    source_node: Mapped[str] = mapped_column(String(60), default="")
    destination_node: Mapped[str] = mapped_column(String(60), default="")
    deletes: Mapped[bool] = mapped_column(default=False)
    obligations: Mapped[tuple[str, ...]] = mapped_column(Names, default=())
    policy_version: Mapped[str | None] = mapped_column(String(80))
    decision_context: Mapped[str | None] = mapped_column(Text)
    request: Mapped[str | None] = mapped_column(Text)
    """What was asked and by whom (JSON), so that planning can be taken up again; none in stores older than that."""
    source_endpoint: Mapped[str] = mapped_column(String(40), default="", server_default="")
    """The endpoint of its source, whatever that is named now; empty before there is a survey."""
    destination_endpoint: Mapped[str] = mapped_column(String(40), default="", server_default="")
    qos_class: Mapped[str] = mapped_column(String(64), default="bulk", server_default="bulk")
    unstarted: Mapped[bool] = mapped_column(default=True, server_default=false())
    """Whether no transfer carries it out: few do not, and lists of what is open find them by it."""
    project: Mapped[str | None] = mapped_column(String(120))
    """For lists; what counts is in the sealed document."""


class PlanApproverRow(Base):
    """A role or group whose approval a plan needs, and which sees it therefore; the rest as of the plan."""

    __tablename__ = "plan_approvers"
    __table_args__ = (Index("ix_plan_approvers_plan", "plan"), {"sqlite_with_rowid": False})

    name: Mapped[str] = mapped_column(String(1100), primary_key=True)
    requester: Mapped[str] = mapped_column(String(40), primary_key=True)
    created: Mapped[datetime] = mapped_column(Utc, primary_key=True)
    plan: Mapped[str] = mapped_column(ForeignKey("plans.id"), primary_key=True)


class ConfirmationRow(Base):
    """The requester's own word on one digest."""

    __tablename__ = "confirmations"

    plan: Mapped[str] = mapped_column(ForeignKey("plans.id"), primary_key=True)
    digest: Mapped[str] = mapped_column(String(64))
    person: Mapped[str] = mapped_column(ForeignKey("people.id"))
    verdict: Mapped[Literal["confirmed", "declined"]] = mapped_column(String(16))
    at: Mapped[datetime] = mapped_column(Utc)
    statement: Mapped[str] = mapped_column(Text, default="", server_default="")
    """The signed statement of a yes: what the signer counts."""
    taken_back: Mapped[bool] = mapped_column(default=False, server_default=false())
    """Whether the access of whoever said it has ended since: what runs goes on, and nothing is started by it."""


class ApprovalRow(Base):
    """Another person's word on one digest; an approval is used at most once (`used_by`)."""

    __tablename__ = "approvals"
    __table_args__ = (
        UniqueConstraint("plan", "approver"),
        CheckConstraint("approver <> requester", name="never_the_requester"),
    )

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    plan: Mapped[str] = mapped_column(ForeignKey("plans.id"), index=True)
    digest: Mapped[str] = mapped_column(String(64))
    policy_version: Mapped[str] = mapped_column(String(80))
    requester: Mapped[str] = mapped_column(ForeignKey("people.id"))
    approver: Mapped[str] = mapped_column(ForeignKey("people.id"))
    roles: Mapped[tuple[str, ...]] = mapped_column(Names)
    groups: Mapped[tuple[str, ...]] = mapped_column(Names)
    verdict: Mapped[Literal["approved", "refused"]] = mapped_column(String(16))
    reason: Mapped[str] = mapped_column(Text)
    nonce: Mapped[str] = mapped_column(String(32), unique=True)
    at: Mapped[datetime] = mapped_column(Utc)
    expires: Mapped[datetime] = mapped_column(Utc)
    used_by: Mapped[str | None] = mapped_column(String(40))
    used_at: Mapped[datetime | None] = mapped_column(Utc)
    statement: Mapped[str] = mapped_column(Text, default="", server_default="")
    """The signed statement of a yes: what the signer counts."""
    taken_back: Mapped[bool] = mapped_column(default=False, server_default=false())
    """Whether the access of whoever said it has ended since: what runs goes on, and nothing is started by it."""


class TransferRow(Base):
    """The execution of a plan; a plan has at most one."""

    __tablename__ = "transfers"
    __table_args__ = (
        # One for each way in which a list is found (`transfers/ways.py`).
        Index("ix_transfers_created", "created", "id"),
        Index("ix_transfers_state_created", "state", "created", "id"),
        Index("ix_transfers_requester_created", "requester", "created", "id"),
        Index("ix_transfers_requester_state_created", "requester", "state", "created", "id"),
        Index("ix_transfers_agent_created", "agent", "created", "id", "state", *_ENDS, "requester"),
        Index("ix_transfers_source_endpoint_state_created", "source_endpoint", "state", "created", "id"),
        Index("ix_transfers_destination_endpoint_state_created", "destination_endpoint", "state", "created", "id"),
        # These end with what else a list asks of them: no row is read that does not fit, or to be counted.
        Index("ix_transfers_source_endpoint_created", "source_endpoint", "created", "id", "state"),
        Index("ix_transfers_destination_endpoint_created", "destination_endpoint", "created", "id", "state"),
        Index("ix_transfers_requester_source_endpoint", "requester", "source_endpoint", "created", "id", "state"),
        Index(
            "ix_transfers_requester_destination_endpoint", "requester", "destination_endpoint", "created", "id", "state"
        ),
        Index("ix_transfers_requester_agent", "requester", "agent", "created", "id", "state", *_ENDS),
        Index(
            "ix_transfers_project_created",
            *("project", "created", "id", "state", *_ENDS, "requester"),
            sqlite_where=_FOR_A_PROJECT,
            postgresql_where=_FOR_A_PROJECT,
        ),
        Index(
            "ix_transfers_requester_project",
            *("requester", "project", "created", "id", "state", *_ENDS),
            sqlite_where=_FOR_A_PROJECT,
            postgresql_where=_FOR_A_PROJECT,
        ),
        Index("ix_transfers_tidied_state", "tidied", "state"),
    )

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    plan: Mapped[str] = mapped_column(ForeignKey("plans.id"), unique=True)
    plan_digest: Mapped[str] = mapped_column(String(64))
    state: Mapped[str] = mapped_column(String(16))
    state_reason: Mapped[str] = mapped_column(Text, default="")
    requester: Mapped[str] = mapped_column(ForeignKey("people.id"))
    requester_name: Mapped[str | None] = column_property(name_of(requester))
    agent: Mapped[str | None] = mapped_column(String(120))
    action: Mapped[str] = mapped_column(String(16))
    source: Mapped[str] = mapped_column(Text)
    destination: Mapped[str] = mapped_column(Text)
    source_node: Mapped[str] = mapped_column(String(60))
    destination_node: Mapped[str] = mapped_column(String(60))
    canonical_sentence: Mapped[str] = mapped_column(Text)
    created: Mapped[datetime] = mapped_column(Utc)
    starts: Mapped[datetime | None] = mapped_column(Utc)
    started: Mapped[datetime | None] = mapped_column(Utc)
    ended: Mapped[datetime | None] = mapped_column(Utc)
    attempt: Mapped[int] = mapped_column(default=0)
    only_failed: Mapped[bool] = mapped_column(default=False)
    tidied: Mapped[bool] = mapped_column(default=False)
    rate_ceiling_bps: Mapped[int | None] = mapped_column(BigInteger)
    progress: Mapped[str] = mapped_column(Text, default="{}")
    error: Mapped[str | None] = mapped_column(Text)
    receipt: Mapped[str | None] = mapped_column(String(40))
    events: Mapped[int] = mapped_column(default=0)
    wish: Mapped[str] = mapped_column(String(8), default="run")
    wish_reason: Mapped[str] = mapped_column(Text, default="")
    fence: Mapped[int] = mapped_column(default=1)
    """Counts how often the transfer was taken up; who holds an older number gets no ticket."""
    priority: Mapped[int] = mapped_column(default=0)
    qos_class: Mapped[str] = mapped_column(String(64), default="bulk", server_default="bulk")
    failures: Mapped[int] = mapped_column(default=0)
    """Attempts in a row that moved nothing."""
    not_before: Mapped[datetime | None] = mapped_column(Utc)
    away_since: Mapped[datetime | None] = mapped_column(Utc)
    blocked_since: Mapped[datetime | None] = mapped_column(Utc)
    goes_on: Mapped[datetime | None] = mapped_column(Utc)
    """When its hours open, while it waits for them."""
    hours: Mapped[str | None] = mapped_column(Text)
    """Hours in which alone it runs (JSON of `models.RunHours`)."""
    deadline: Mapped[datetime | None] = mapped_column(Utc)
    promised: Mapped[datetime | None] = mapped_column(Utc)
    """Since when it was promised; nothing: since it was submitted. `NOT_PROMISED`: it is not."""
    deadline_told: Mapped[Literal["", "at_risk", "missed"]] = mapped_column(String(8), default="", server_default="")
    """What its history says last of its deadline."""
    diagnosis: Mapped[str | None] = mapped_column(Text)
    """What limited its last attempt (JSON of `models.Diagnosis`)."""
    measured: Mapped[str | None] = mapped_column(Text)
    """What was measured of its last attempt (JSON of `models.Measured`)."""
    probe: Mapped[str | None] = mapped_column(Text)
    """What the legs of a probe measured (JSON list of `models.ProbeLeg`); nothing for what is no probe."""
    tuning: Mapped[str] = mapped_column(Text, default="{}", server_default="{}")
    """Streams and units that are set for it (JSON of `models.EffectiveTuning`)."""
    paused_since: Mapped[datetime | None] = mapped_column(Utc)
    """Since when its pause is wished."""
    kept: Mapped[str] = mapped_column(Text, default="{}", server_default="{}")
    """Who paused it and who set its rate and class (JSON of `transfer_steps.Kept`)."""
    last_error: Mapped[str] = mapped_column(Text, default="")
    resent_before: Mapped[int] = mapped_column(BigInteger, default=0)
    """Bytes that earlier attempts sent again."""
    durable_before: Mapped[int] = mapped_column(BigInteger, default=0, server_default="0")
    """Durable bytes when the newest attempt began."""
    source_endpoint: Mapped[str] = mapped_column(String(40), default="", server_default="")
    """As of its plan."""
    destination_endpoint: Mapped[str] = mapped_column(String(40), default="", server_default="")
    project: Mapped[str | None] = mapped_column(String(120))
    """As its plan's sealed document says."""


class TransferApproverRow(Base):
    """A role or group whose approval a transfer's plan needed, and which sees it therefore; `created` as of it."""

    __tablename__ = "transfer_approvers"
    __table_args__ = (Index("ix_transfer_approvers_transfer", "transfer"), {"sqlite_with_rowid": False})

    name: Mapped[str] = mapped_column(String(1100), primary_key=True)
    created: Mapped[datetime] = mapped_column(Utc, primary_key=True)
    transfer: Mapped[str] = mapped_column(ForeignKey("transfers.id"), primary_key=True)


class AttemptRow(Base):
    """One run of a transfer on its nodes; `statements` are the nodes' documents, one a line."""

    __tablename__ = "attempts"

    transfer: Mapped[str] = mapped_column(ForeignKey("transfers.id"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True)
    started: Mapped[datetime] = mapped_column(Utc)
    ended: Mapped[datetime | None] = mapped_column(Utc)
    outcome: Mapped[str | None] = mapped_column(String(16))
    code: Mapped[str] = mapped_column(String(60), default="")
    message: Mapped[str] = mapped_column(Text, default="")
    statements: Mapped[str] = mapped_column(Text, default="")
    failed_list: Mapped[str | None] = mapped_column(Text)


class TransferEventRow(Base):
    """One entry of a transfer's history."""

    __tablename__ = "transfer_events"

    transfer: Mapped[str] = mapped_column(ForeignKey("transfers.id"), primary_key=True)
    sequence: Mapped[int] = mapped_column(primary_key=True)
    at: Mapped[datetime] = mapped_column(Utc)
    kind: Mapped[str] = mapped_column(String(40))
    message: Mapped[str] = mapped_column(Text)


class ReceiptRow(Base):
    """A signed receipt: the document's exact text, and where its list of files is (below the data folder)."""

    __tablename__ = "receipts"

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    transfer: Mapped[str] = mapped_column(ForeignKey("transfers.id"), index=True)
    plan_digest: Mapped[str] = mapped_column(String(64))
    created: Mapped[datetime] = mapped_column(Utc)
    document: Mapped[str] = mapped_column(Text)
    summary: Mapped[str] = mapped_column(Text)
    files_list: Mapped[str] = mapped_column(Text)


class ReservationRow(Base):
    """What a transfer takes of its requester's budget of a day: the plan's bytes while it runs, then what it moved."""

    __tablename__ = "reservations"
    __table_args__ = (
        Index("ix_reservations_person_day", "person", "day"),
        Index("ix_reservations_person_settled", "person", "settled"),
    )

    transfer: Mapped[str] = mapped_column(ForeignKey("transfers.id"), primary_key=True)
    person: Mapped[str] = mapped_column(ForeignKey("people.id"))
    agent: Mapped[str | None] = mapped_column(String(120))
    day: Mapped[str] = mapped_column(String(10))
    bytes: Mapped[int] = mapped_column(BigInteger)
    moved: Mapped[int] = mapped_column(BigInteger, default=0, server_default="0")
    """Bytes that ended attempts of that day moved; they are part of `bytes`, and never given back."""
    settled: Mapped[bool] = mapped_column(default=False)
    files: Mapped[int] = mapped_column(BigInteger, default=0, server_default="0")
    """As `bytes`: what its last attempt may move, then what all of that day moved."""


class QuotaKeyRow(Base):
    """A reservation counts under this key of a quota, such as `group:cryo`."""

    __tablename__ = "quota_keys"
    __table_args__ = (Index("ix_quota_keys_transfer", "transfer"),)

    key: Mapped[str] = mapped_column(String(1100), primary_key=True)
    transfer: Mapped[str] = mapped_column(ForeignKey("transfers.id"), primary_key=True)


class ThroughputRow(Base):
    """What a transfer or node moved in `step_s` seconds from `at_s` (since 1970); without a row it was nothing."""

    __tablename__ = "throughput"
    __table_args__ = (Index("ix_throughput_step_at", "step_s", "at_s"), {"sqlite_with_rowid": False})

    kind: Mapped[Literal["transfer", "sent", "received"]] = mapped_column(String(8), primary_key=True)
    subject: Mapped[str] = mapped_column(String(60), primary_key=True)
    """A transfer's id, or a node's key."""
    step_s: Mapped[int] = mapped_column(primary_key=True)
    at_s: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    bytes: Mapped[int] = mapped_column(BigInteger)
    files: Mapped[int] = mapped_column(BigInteger)


class JobRow(Base):
    """Work that is not done yet: one row for a task and its subject; `generation` counts how often it was asked for."""

    __tablename__ = "jobs"

    task: Mapped[str] = mapped_column(String(40), primary_key=True)
    subject: Mapped[str] = mapped_column(String(80), primary_key=True)
    due: Mapped[datetime] = mapped_column(Utc)
    generation: Mapped[int]


class OutboxRow(Base):
    """One change of something that people watch, numbered in the order of commits."""

    __tablename__ = "outbox"
    __table_args__ = ({"sqlite_autoincrement": True},)

    sequence: Mapped[int] = mapped_column(Sequence, primary_key=True, autoincrement=True)
    at: Mapped[datetime] = mapped_column(Utc, index=True)
    kind: Mapped[str] = mapped_column(String(16))
    subject: Mapped[str] = mapped_column(String(80))
    state: Mapped[str] = mapped_column(String(40))
