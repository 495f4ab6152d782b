"""What crosses every door: request and answer models of the API, the Python client, the command line and MCP.

Units are in the names: `_bytes`, `_bps` (bits per second), `_s`, `_ms`. Times are aware UTC datetimes. Names that
come from storage are escaped text (`%XX` for bytes that are not UTF-8, control characters and `%`): data, never
instructions.
"""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

Words = Annotated[str, StringConstraints(min_length=1, max_length=4000)]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Name = Annotated[str, StringConstraints(min_length=1, max_length=120)]
Location = Annotated[str, StringConstraints(min_length=1, max_length=5000)]
Handle = Annotated[str, StringConstraints(max_length=120)]
Zone = Annotated[str, StringConstraints(max_length=64)]
Count = Annotated[int, Field(ge=0)]


class Model(BaseModel):
    """Base: frozen, unknown fields refused (a typing mistake in a request must not be ignored)."""

    model_config = ConfigDict(frozen=True, extra="forbid")


# -- words to intent -----------------------------------------------------------------------------------------------


class Changes(Model):
    """Slots of a follow-up: a patch to an earlier plan (`exclude_add` adds, `exclude` replaces)."""

    source: Location | None = None
    destination: Location | None = None
    include: list[str] | None = None
    exclude: list[str] | None = None
    include_add: list[str] = []
    exclude_add: list[str] = []
    min_size_bytes: Count | None = None
    max_size_bytes: Count | None = None
    modified_after: datetime | None = None
    modified_before: datetime | None = None
    start: datetime | None = None
    deadline: datetime | None = None
    window: tuple[str, str] | None = None
    repeat: str | None = None
    rate_limit_bps: Count | None = None
    priority: Literal["low", "normal", "high"] | None = None
    encryption: bool | None = None
    verify: str | None = None
    on_conflict: Literal["skip", "overwrite", "fail", "newer"] | None = None
    delete_source: bool | None = None
    delete_extraneous: bool | None = None
    preserve: list[str] | None = None


class TransferIntent(Model):
    """What somebody asked for, in typed slots; the API's form of a copy, sync or move."""

    action: Literal["copy", "sync", "move"]
    source: Location = Field(description="`endpoint:/path`")
    destination: Location = Field(description="`endpoint:/path`; a trailing slash means 'into this folder'")
    include: list[str] = Field(default=[], max_length=100)
    exclude: list[str] = Field(default=[], max_length=100)
    min_size_bytes: Count | None = None
    max_size_bytes: Count | None = None
    modified_after: datetime | None = None
    modified_before: datetime | None = None
    start: datetime | None = None
    deadline: datetime | None = None
    window: tuple[str, str] | None = None
    repeat: str | None = None
    rate_limit_bps: Annotated[int, Field(gt=0)] | None = None
    priority: Literal["low", "normal", "high"] = "normal"
    encryption: bool = True
    verify: Literal["default", "in-transit", "at-rest", "blake3", "sha256", "sha1", "md5", "crc32c", "none"] = "default"
    on_conflict: Literal["skip", "overwrite", "fail", "newer"] | None = None
    compare: Literal["size-mtime", "checksum"] = "size-mtime"
    delete_extraneous: bool = False
    preserve: list[Literal["timestamps", "permissions", "symlinks", "xattrs"]] = [
        "timestamps",
        "permissions",
        "symlinks",
    ]


class Choice(Model):
    """One answer that would settle a question."""

    value: str
    label: str


class Question(Model):
    """Something that was not understood, is missing, or has several readings."""

    slot: str
    message: str
    words: str | None = None
    start: int | None = None
    """Where these words stand in the text, in code points; None when they stand in several places or in none."""
    end: int | None = None
    choices: list[Choice] = []


class Refusal(Model):
    """A rule that stopped the request, and the words that met it."""

    rule: str
    message: str
    words: str = ""


class Span(Model):
    """Which words became what; offsets count code points of the person's text."""

    start: Count
    end: Count
    text: str
    slot: str
    reading: str


class InterpretRequest(Model):
    """Words to read, or an intent to put into words: exactly one. `plan` is the handle that "it" and "last" stand for.

    Nothing is listed or moved.
    """

    text: Words | None = None
    intent: TransferIntent | None = None
    plan: Handle | None = None
    timezone: Zone | None = Field(default=None, description="IANA zone of the person; default: the site's")


class Interpretation(Model):
    """How the words were read: `slots` say it to people, and `transfer` is the typed intent."""

    outcome: Literal["intent", "ask", "refuse"]
    action: str | None = None
    transfer: TransferIntent | None = Field(
        default=None, description="set when the words ask for a complete copy, sync or move"
    )
    slots: dict[str, str] = Field(default={}, description="slot -> reading, for people")
    questions: list[Question] = []
    refusals: list[Refusal] = []
    danger: list[str] = []
    spans: list[Span] = []
    canonical_sentence: str | None = None


# -- plans ---------------------------------------------------------------------------------------------------------


class PlanState(StrEnum):
    """Where planning stands: surveying -> ready | ask | denied | failed; ready -> expired."""

    SURVEYING = "surveying"
    READY = "ready"
    ASK = "ask"
    DENIED = "denied"
    FAILED = "failed"
    EXPIRED = "expired"


class PlanRequest(Model):
    """Exactly one of `words`, `intent`, or `plan` with `changes` (or with `words` as a follow-up)."""

    words: Words | None = None
    intent: TransferIntent | None = None
    plan: Handle | None = None
    changes: Changes | None = None
    timezone: Zone | None = None


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


class Rule(Model):
    """A policy rule that took part in a decision."""

    id: str
    reason: str


class Decision(Model):
    """What policy says of a plan."""

    outcome: Literal["allowed", "confirm", "approve", "denied"]
    rules: list[Rule] = []
    approvals_needed: Count = 0
    approver_groups: list[str] = []
    policy_version: str
    why: str
    qos_class: str = "bulk"
    obligations: list[str] = Field(default=[], description="`confirmation`, or `approval:ROLE_OR_GROUP:COUNT`")


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
    given: Count = Field(default=0, description="how many count now: unexpired, for this digest, giver still entitled")
    given_by: list[Given] = []
    until: datetime | None = Field(default=None, description="when the first of those given expires")


class NextStep(Model):
    """What happens next, and who does it. `you` is the caller."""

    kind: Literal[
        "wait", "answer", "confirm", "approve", "submit", "follow", "plan_again", "retry", "resume", "none"
    ] = "none"
    by: Literal["you", "others", "service", "nobody"] = "nobody"
    message: str = ""


class AllowedAction(Model):
    """Something that can be done to a plan or transfer, and why the caller may not."""

    action: Literal[
        "confirm", "decline", "approve", "refuse", "submit", "revise",
        "pause", "resume", "cancel", "retry", "set_rate", "hold", "release", "run_again",
    ]  # fmt: skip
    allowed: bool
    reason: str = ""


class Problem(Model):
    """RFC 9457 problem document. `code` is stable and listed in docs/errors.md."""

    type: str = "about:blank"
    title: str
    status: int
    code: str
    detail: str
    instance: str | None = None
    fields: list[str] = []


class ApprovalView(Model):
    """Somebody's word on a plan."""

    person: str
    verdict: Literal["approved", "refused"]
    reason: str = ""
    at: datetime
    expires: datetime


class Plan(Model):
    """A plan as people see it: the card and its state."""

    id: str
    state: PlanState
    state_reason: str = Field(default="", description="why it can't start any more: declined, refused, too old, denied")
    requester: str
    requester_name: str | None = None
    agent: str | None = None
    words: str | None = None
    created: datetime
    expires: datetime | None = None
    digest: Sha256 | None = None
    intent: TransferIntent | None = None
    canonical_sentence: str | None = None
    survey: SurveyCounts | None = None
    surveyed_entries: Count = 0
    decision: Decision | None = None
    danger: list[str] = []
    questions: list[Question] = []
    refusals: list[Refusal] = []
    notes: list[str] = Field(
        default=[], description="what this kind of plan does to identical, different, excluded and moved files"
    )
    eta_s: Count | None = Field(default=None, description="how long it may take, from what was moved there before")
    confirmed: bool = False
    approvals: list[ApprovalView] = []
    needs: list[Need] = []
    next_step: NextStep = NextStep()
    allowed_actions: list[AllowedAction] = []
    names_withheld: bool = Field(default=False, description="names were left out: a folder is restricted for agents")
    transfer: str | None = None
    summary: str = Field(default="", description="one paragraph fit to be read aloud")
    document: str | None = Field(default=None, description="the sealed document, when asked for with `?document=true`")


class PlanCounts(Model):
    """How many plans wait for the caller."""

    awaiting_me: Count = Field(description="others' plans that wait for the caller's approval")
    mine_open: Count = Field(description="the caller's own plans that have not started and still could")


class Confirmation(Model):
    """The requester's own yes (or no) to one digest; needs an interactive session, never a token."""

    digest: Sha256
    verdict: Literal["confirmed", "declined"] = "confirmed"


class Approval(Model):
    """Another person's yes (or no) to one digest; needs an interactive session, never a token."""

    digest: Sha256
    verdict: Literal["approved", "refused"]
    reason: Annotated[str, StringConstraints(max_length=1000)] = ""


# -- transfers -----------------------------------------------------------------------------------------------------


class TransferState(StrEnum):
    """Where a transfer stands.

    It goes between queued (it has not begun, or it waits for its turn), running, waiting (a node is away, an operator
    holds it, or it is tried again later) and paused, until it is complete, partial, failed or canceled; a retry
    queues a partial or failed one again.
    """

    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    PAUSED = "paused"
    COMPLETE = "complete"
    PARTIAL = "partial"
    FAILED = "failed"
    CANCELED = "canceled"


END_STATES: Final = frozenset(
    {TransferState.COMPLETE, TransferState.PARTIAL, TransferState.FAILED, TransferState.CANCELED}
)
"""A transfer in one of these goes on only by a retry."""


class SubmitRequest(Model):
    """Run one sealed plan, named by its digest."""

    plan_digest: Sha256


class Progress(Model):
    """Durable counts are what is safe at the destination; received counts are ahead of them."""

    files_total: Count = 0
    files_done: Count = 0
    files_failed: Count = 0
    bytes_total: Count = 0
    bytes_received: Count = 0
    bytes_durable: Count = 0
    bytes_failed: Count = Field(default=0, description="bytes of the files that did not arrive")
    resent_bytes: Count = 0
    rate_bps: Count = 0
    average_bps: Count | None = Field(default=None, description="durable bits over the time from start to end (or now)")
    streams: Count = 0
    limiter: str = ""
    eta_s: Count | None = None
    at: datetime | None = None


class Transfer(Model):
    """The execution of a plan."""

    id: str
    plan: str
    plan_digest: Sha256
    state: TransferState
    state_reason: str = ""
    wish: Literal["run", "pause", "cancel"] = Field(default="run", description="what people want of it")
    requester: str
    requester_name: str | None = None
    agent: str | None = None
    action: str
    source: str
    destination: str
    canonical_sentence: str = ""
    created: datetime
    started: datetime | None = None
    ended: datetime | None = None
    attempt: Count = 0
    rate_ceiling_bps: Count | None = None
    progress: Progress = Progress()
    error: Problem | None = None
    receipt: str | None = None
    summary: str = ""
    next_step: NextStep = NextStep()
    allowed_actions: list[AllowedAction] = []
    names_withheld: bool = Field(default=False, description="names were left out: a folder is restricted for agents")


class TransferCounts(Model):
    """How many transfers there are, by state."""

    by_state: dict[TransferState, Count]
    total: Count
    exact: bool = Field(description="whether `total` is exact; from 1,000 on it says `at least`")


class TransferEventKind(StrEnum):
    """What an entry of a transfer's history is about; a later service may know more kinds.

    Those that are named as a state say that the transfer has come into it, or stays in it for another reason.
    """

    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    PAUSED = "paused"
    COMPLETE = "complete"
    PARTIAL = "partial"
    FAILED = "failed"
    CANCELED = "canceled"
    STARTED = "started"
    ATTEMPT = "attempt"
    ATTEMPT_ENDED = "attempt_ended"
    ASKED_RUN = "asked_run"
    ASKED_PAUSE = "asked_pause"
    ASKED_CANCEL = "asked_cancel"
    RATE = "rate"
    RETRY = "retry"
    PROGRESS = "progress"
    """Only streamed, never kept."""


class TransferEvent(Model):
    """One entry of a transfer's history; also what `watch` streams (`kind` `progress` is not kept)."""

    sequence: Count
    at: datetime
    kind: str
    message: str
    transfer: Transfer | None = None


class Change(Model):
    """Something changed: a plan, transfer, node, endpoint, policy or halt. Read it for what it is now.

    Kind `now` begins a stream that has no past; `reload` says that changes were missed. `state` says what happened: a
    state of the plan, transfer or policy version, or confirmed, declined, approved or refused (plan); enrolled,
    attached, detached, draining or revoked (node); made or changed (endpoint); held or released (halt).
    """

    sequence: Count
    at: datetime
    kind: str
    subject: str = ""
    state: str = ""


class FailedFile(Model):
    """A file that did not arrive, and why."""

    path: str
    error: str
    message: str
    retry: bool


class ControlRequest(Model):
    """Steer a running transfer. `rate_bps` with `set_rate`: null lifts the ceiling to the plan's own."""

    action: Literal["pause", "resume", "cancel", "retry", "set_rate"]
    reason: Annotated[str, StringConstraints(max_length=500)] = ""
    rate_bps: Annotated[int, Field(gt=0)] | None = None


class Receipt(Model):
    """The signed proof of a finished transfer."""

    id: str
    transfer: str
    plan_digest: Sha256
    created: datetime
    document: str
    summary: str = ""


# -- endpoints, nodes ----------------------------------------------------------------------------------------------


class Endpoint(Model):
    """What people name. `online` says whether its node is attached."""

    id: str
    aliases: list[str] = []
    kind: str = "posix"
    node: str
    root: str
    access: Literal["read", "write", "delete"]
    labels: dict[str, str] = {}
    online: bool
    free_bytes: Count | None = None
    total_bytes: Count | None = None


class EndpointUpdate(Model):
    """Changes an operator may make to an endpoint; its root is declared on the node."""

    id: Name | None = None
    aliases: list[Name] | None = None
    labels: dict[Name, Name] | None = None


class Entry(Model):
    """One name in a folder."""

    name: str
    kind: Literal["file", "dir", "symlink", "other"]
    size_bytes: Count
    modified: datetime


class EntryPage(Model):
    """One page of a folder; pass `next_after` as `after` for the next.

    With restricted names, `entries` is empty and only `count` is given.
    """

    endpoint: str
    path: str
    entries: list[Entry]
    count: Count
    names_withheld: bool = False
    next_after: str | None = None


class Node(Model):
    """A mover process on a data transfer node."""

    id: str
    name: str
    key: str
    version: str = ""
    state: Literal["attached", "detached", "draining", "revoked"]
    detail: str = ""
    roots: list[str] = []
    data_addresses: list[str] = []
    accepts_connections: bool = True
    last_seen: datetime | None = None
    running_transfers: Count = 0


class JoinTokenRequest(Model):
    """A one-time token with which one node may join."""

    name: Name
    valid_s: Annotated[int, Field(ge=60, le=7 * 86400)] = 3600


class JoinToken(Model):
    """Shown once. `commands` are the lines to run on the other host."""

    token: Annotated[str, Field(repr=False)]
    name: str
    expires: datetime
    commands: Annotated[list[str], Field(repr=False)]


HaltScope = Literal["everything", "transfer", "person", "agent", "endpoint", "node"]


class HaltRequest(Model):
    """Hold something: what runs of it stops and waits until it is released."""

    scope: HaltScope
    subject: Annotated[str, StringConstraints(max_length=120)] = Field(
        default="", description="id or name of the transfer, person, assistant, endpoint or node; empty for everything"
    )
    reason: Annotated[str, StringConstraints(min_length=1, max_length=500)]


class Halt(Model):
    """Something that is held."""

    id: str
    scope: HaltScope
    subject: str = ""
    subject_name: str = ""
    reason: str
    person: str | None = None
    person_name: str | None = None
    at: datetime | None = None


# -- policy, audit -------------------------------------------------------------------------------------------------


class PolicyText(Model):
    """Cedar text and the examples that must hold before it may be published."""

    text: Annotated[str, StringConstraints(max_length=200_000)]
    note: Annotated[str, StringConstraints(max_length=500)] = ""


class PolicyProblem(Model):
    """One thing wrong with a policy text."""

    message: str
    rule: str | None = None
    start: Count | None = None
    end: Count | None = None
    severity: Literal["error", "warning"] = "error"


class PolicyCheck(Model):
    """Whether a policy text could be published."""

    valid: bool
    problems: list[PolicyProblem] = []
    rules: list[Rule] = []


class PolicyVersion(Model):
    """One version of the site's policy."""

    version: str
    state: Literal["proposed", "active", "retired"]
    author: str
    author_name: str | None = None
    publisher: str | None = None
    publisher_name: str | None = None
    note: str = ""
    created: datetime
    published: datetime | None = None
    text: str


class AuditEvent(Model):
    """One link of the audit chain."""

    sequence: Count
    at: datetime
    kind: str
    person: str | None = None
    person_name: str | None = Field(default=None, description="the name now; not part of the link")
    agent: str | None = None
    door: str | None = None
    subject: str | None = None
    detail: dict[str, str] = {}
    previous: str
    hash: str


class AuditVerdict(Model):
    """Result of checking the chain."""

    intact: bool
    events: Count
    head: str
    broken_at: Count | None = None
    checked_before: Count = Field(default=0, description="so many first events were checked earlier, and not again now")
    checked_at: datetime | None = Field(default=None, description="when those were checked")
    detail: str = ""


# -- people --------------------------------------------------------------------------------------------------------


class Me(Model):
    """Who is calling, and what that caller may do."""

    id: str
    name: str
    roles: list[str]
    scopes: list[str]
    session: bool
    agent: str | None = None


class SignIn(Model):
    """A local person's name and password."""

    name: Name
    password: Annotated[str, StringConstraints(min_length=1, max_length=1000), Field(repr=False)]


class Session(Model):
    """An interactive session; `secret` is shown once (browsers get it as a cookie instead)."""

    secret: Annotated[str, Field(repr=False)]
    expires: datetime
    me: Me


class InvitationRequest(Model):
    """Invite a person by a one-time link."""

    name: Name
    roles: Annotated[list[str], Field(min_length=1, max_length=10)]
    valid_s: Annotated[int, Field(ge=300, le=30 * 86400)] = 3 * 86400


class Invitation(Model):
    """Shown once."""

    link: Annotated[str, Field(repr=False)]
    name: str
    roles: list[str]
    expires: datetime


class AcceptInvitation(Model):
    """The invited person's choice of password."""

    token: Annotated[str, StringConstraints(max_length=200), Field(repr=False)]
    password: Annotated[str, StringConstraints(min_length=12, max_length=1000), Field(repr=False)]
    name: Name | None = Field(default=None, description="only for the bootstrap link, whose person has no name yet")


class Person(Model):
    """A local person."""

    id: str
    name: str
    roles: list[str]
    state: Literal["invited", "active", "disabled"]
    created: datetime


class TokenRequest(Model):
    """An API token for a pipeline or an assistant; never more than its maker's own scopes."""

    name: Name
    scopes: Annotated[list[str], Field(min_length=1, max_length=20)]
    valid_s: Annotated[int, Field(ge=300, le=366 * 86400)] = 30 * 86400
    agent: Name | None = Field(default=None, description="name of the assistant that will act with it")


class Token(Model):
    """`secret` is present only in the answer that makes the token."""

    id: str
    name: str
    scopes: list[str]
    agent: str | None = None
    created: datetime
    expires: datetime
    last_used: datetime | None = None
    secret: str | None = Field(default=None, repr=False)


class Health(Model):
    """Whether the service can work."""

    status: Literal["ok", "degraded"]
    version: str
    nodes_attached: Count
    audit: Literal["ok", "unwritable"]
    key: str = Field(description="public key that signs tickets and receipts")
