"""What happened: every kind of event that the service writes, shows and streams."""

from datetime import datetime
from enum import StrEnum

from headrace.client.models.base import Count, Model
from headrace.client.models.transfers import Transfer


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
    attached, detached, draining or revoked (node); made or changed (endpoint); halted or released (halt).
    """

    sequence: Count
    at: datetime
    kind: str
    subject: str = ""
    state: str = ""
