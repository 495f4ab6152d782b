"""Transfers: how far they are, steering them, and their receipts."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Final, Literal

from pydantic import Field

from headrace.client.models.base import AwareMoment, Count, Model, Problem, Rate, Reason, Sha256
from headrace.client.models.intents import RunHours
from headrace.client.models.qos import EffectiveTuning, QosName, TransferShare
from headrace.client.models.steps import AllowedAction, ControlAction, NextStep


class TransferState(StrEnum):
    """Where a transfer stands.

    It goes between queued (it has not begun, or it waits for its turn), running, waiting (a node is away, an operator
    has halted it, or it is tried again later) and paused, until it is complete, partial, failed or canceled; a retry
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


def _is_end(state: TransferState) -> bool:
    match state:
        case TransferState.QUEUED | TransferState.RUNNING | TransferState.WAITING | TransferState.PAUSED:
            return False
        case TransferState.COMPLETE | TransferState.PARTIAL | TransferState.FAILED | TransferState.CANCELED:
            return True


END_STATES: Final = frozenset(filter(_is_end, TransferState))
"""A transfer in one of these goes on only by a retry."""
OPEN_STATES: Final = tuple(state for state in TransferState if not _is_end(state))
"""The others, in which it has not ended."""


class SubmitRequest(Model):
    """Run one sealed plan, named by its digest."""

    plan_digest: Sha256


class Progress(Model):
    """Durable counts are what is safe at the destination; received counts are ahead of them.

    Of a canceled transfer, only files that are complete stay: `bytes_durable` counts what others had received, too.
    """

    files_total: Count = Field(
        default=0,
        description="while its source is still being listed: what its plan's survey counted, or what is more than that",
    )
    files_done: Count = 0
    files_identical: Count = Field(default=0, description="of the files done, those that were there already, the same")
    identical_by: Literal["size-mtime", "checksum"] | None = Field(
        default=None,
        description="how those are known to be the same: by size and time, and they were not read, or by checksum; "
        "missing where this is not known yet",
    )
    files_failed: Count = 0
    deletes_total: Count = Field(
        default=0, description="files and folders that a running sync is to delete at its destination, after all else"
    )
    deleted: Count = Field(
        default=0,
        description="files and folders that a sync deleted at its destination, or moved to the trash there; so far, "
        "while it runs",
    )
    sources_deleted: Count = Field(
        default=0,
        description="sources of a move that have arrived and were deleted, or moved to the trash there; while it runs, "
        "those of this attempt so far",
    )
    deleted_to_trash: bool = Field(
        default=False, description="what was deleted lies in the trash; its receipt says where"
    )
    files_failed_for_good: Count = Field(
        default=0, description="of the files that failed, those for which a retry alone does not help"
    )
    bytes_total: Count = Field(default=0, description="as for `files_total`")
    bytes_received: Count = 0
    bytes_durable: Count = 0
    bytes_failed: Count = Field(default=0, description="bytes of the files that did not arrive")
    resent_bytes: Count = 0
    sources_kept: Count = Field(
        default=0, description="of the sources of a move that have arrived, those that stay; its receipt says why"
    )
    rate_bps: Count = 0
    average_bps: Count | None = Field(default=None, description="durable bits over the time that its attempts took")
    streams: Count = 0
    limiter: str = ""
    eta_s: Count | None = Field(
        default=None,
        description="how long it still takes, by what is measured of it; deletes count from when they begin",
    )
    eta_low_s: Count | None = Field(default=None, description="the least that this may be")
    eta_high_s: Count | None = Field(default=None, description="the most")
    share: TransferShare | None = Field(default=None, description="what it gets of links, where it runs over any")
    at: datetime | None = None


class ExpectedEnd(Model):
    """When a transfer is expected to end, its hours counted; by what is measured of it, or by its plan's estimate."""

    earliest: datetime
    likely: datetime | None = Field(default=None, description="null: when it begins or goes on is not known")
    latest: datetime | None = Field(default=None, description="null: as for `likely`, or its hours do not suffice")
    said: str = Field(default="", description="what that depends on, where it does not run now")


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
    project: str | None = Field(default=None, description="the project that it is for, if one was named")
    action: str
    probe: bool = Field(default=False, description="it only measures, and leaves nothing at its destination")
    source: str
    destination: str
    canonical_sentence: str = ""
    created: datetime
    starts: datetime | None = Field(
        default=None, description="when it is to start, if that was asked for, or when its hours open first"
    )
    hours: RunHours | None = Field(default=None, description="hours in which alone it runs")
    goes_on: datetime | None = Field(
        default=None, description="when it goes on by itself, while it waits for its hours or those of policy"
    )
    qos_class: str = Field(default="", description="its class, by which it gets its share of links")
    tuning: EffectiveTuning = Field(
        default=EffectiveTuning(), description="streams and units that are set for it, and at which level"
    )
    deadline: datetime | None = Field(default=None, description="when it is to be done, if that was asked for")
    deadline_at_risk: bool = Field(
        default=False, description="its deadline passed before it ended, or will have at its present rate"
    )
    deadline_note: str = Field(default="", description="why its deadline is at risk")
    deadline_told: Literal["", "at_risk", "missed"] = Field(
        default="", description="what its history says last of its deadline, which does not go up and down with a rate"
    )
    deadline_late_s: Count | None = Field(
        default=None, description="by how much it would come late at least, or did; null: it would not, or nobody knows"
    )
    ends: ExpectedEnd | None = Field(
        default=None,
        description="when it is expected to end; null: it has ended, is paused, or nothing says how long it takes",
    )
    started: datetime | None = None
    active_s: Annotated[float, Field(ge=0)] | None = Field(
        default=None, description="how long its attempts took, without the pauses and waits between them"
    )
    ended: datetime | None = None
    attempt: Count = 0
    rate_ceiling_bps: Count | None = None
    plan_rate_ceiling_bps: Count | None = Field(
        default=None, description="the most its plan allows, which `set_rate` can't exceed; null: no limit, or it ended"
    )
    progress: Progress = Progress()
    error: Problem | None = None
    receipt: str | None = None
    summary: str = ""
    next_step: NextStep = NextStep()
    allowed_actions: list[AllowedAction] = []
    names_withheld: bool = Field(default=False, description="names were left out: a folder is restricted for agents")


class Limit(StrEnum):
    """What keeps a transfer from being faster, or from running."""

    UNKNOWN = "unknown"
    NOT_RUNNING = "not_running"
    HOURS = "hours"
    STALLED = "stalled"
    CEILING = "ceiling"
    SHARE = "share"
    NAMES = "names"
    FILE_COST = "file_cost"
    SOURCE_STORAGE = "source_storage"
    DESTINATION_STORAGE = "destination_storage"
    SOURCE_CPU = "source_cpu"
    DESTINATION_CPU = "destination_cpu"
    SOCKET_MEMORY = "socket_memory"
    RECEIVE_WINDOW = "receive_window"
    SEND_BUFFER = "send_buffer"
    LOSS = "loss"
    FEW_FILES = "few_files"
    FEW_STREAMS = "few_streams"
    PATH = "path"


class Evidence(Model):
    """One figure that a verdict stands on."""

    name: str
    value: float
    unit: str = Field(description="`%`, `b/s`, `ms`, `B`, `s`, `files/s`, or empty for a count")


class Diagnosis(Model):
    """One verdict on what limits a transfer, with its evidence and what to do."""

    transfer: str
    limit: Limit
    where: Literal["source", "destination", "network", "service", ""] = ""
    said: str = Field(description="the verdict in a sentence")
    evidence: list[Evidence] = []
    remedy: list[str] = Field(default=[], description="what to do, exact settings where there are any; may be empty")
    since: datetime | None = Field(default=None, description="since when nothing moved, or it does not run")
    measured_s: Annotated[float, Field(ge=0)] = Field(default=0, description="how long what was measured took")
    live: bool = Field(default=False, description="measured just now; else over the last attempt")


Direction = Literal["sent", "received"]
"""Of what a node moves: as the source, or as the destination."""


class ThroughputSample(Model):
    """What became durable in the seconds from `at`."""

    at: datetime
    bytes: Count = 0
    files: Count = 0
    rate_bps: Count = 0


class Throughput(Model):
    """How fast something was over time, a sample every `step_s` seconds; 0 where nothing moved or was measured."""

    step_s: Annotated[int, Field(ge=1)] = Field(description="seconds of a sample: 1, 10, 300, 3600 or 86400")
    samples: list[ThroughputSample] = Field(default=[], description="at most 1,000, in order")


class TransferCounts(Model):
    """How many transfers there are, by state."""

    by_state: dict[TransferState, Count]
    total: Count
    exact: bool = Field(description="whether `total` is exact; from 1,000 on it says `at least`")


class FailedFile(Model):
    """A file that did not arrive, and why."""

    path: str
    error: str
    message: str
    retry: bool
    advice: str = Field(default="", description="what to do about it, as one sentence; empty: no more than `message`")


class ControlRequest(Model):
    """Steer a running transfer."""

    action: ControlAction
    reason: Reason = ""
    rate_bps: Rate | None = Field(default=None, description="with `set_rate`: null lifts the ceiling to the plan's own")
    qos_class: QosName | None = Field(default=None, description="with `set_class`: no higher one than policy gives")
    deadline: AwareMoment | None = Field(default=None, description="with `set_deadline`: null takes it away")


class KeptReason(StrEnum):
    """Why a move left a source where it was, although the destination holds it."""

    CHANGED = "changed"
    DIFFERS = "differs"
    UNPROVEN = "unproven"
    STOPPED = "stopped"
    FAILED = "failed"


class KeptSources(Model):
    """Sources that a move left where they were, for one reason, as the source's node signed it."""

    reason: KeptReason
    count: Count
    detail: str = Field(description="why, in the node's words, for the first of them")


class Receipt(Model):
    """The signed proof of a finished transfer."""

    id: str
    transfer: str
    plan_digest: Sha256
    created: datetime
    document: str
    summary: str = ""
    key: str = Field(
        default="", description="the key of this service that signed the document; empty: no key that it has or had did"
    )
    key_replaced: bool = Field(default=False, description="whether that key was replaced by another one since")
    sources_kept: list[KeptSources] = Field(
        default=[], description="sources of a move that have arrived and stay; the signed document names the first 100"
    )
    earlier: list[str] = Field(
        default=[],
        description="ids of the receipts of earlier attempts, the oldest first, where this one and its list of files "
        "hold only the files that a retry sent: those that had arrived before are in these",
    )
