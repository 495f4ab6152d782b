"""What the service remembers of a transfer while it is under way, and what has been asked of it."""

import asyncio
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Literal, Self

from headrace.api.store.tables_work import TransferRow
from headrace.client import models as m
from headrace.engine import AttemptEnded, AttemptProgress


class Wish(StrEnum):
    """What people want of a transfer now."""

    RUN = "run"
    PAUSE = "pause"
    CANCEL = "cancel"


@dataclass(frozen=True, slots=True)
class End:
    """How an attempt ended: as its nodes said, or as the service found out."""

    outcome: Literal["complete", "partial", "failed", "stopped"]
    code: str = ""
    message: str = ""
    retryable: bool = False
    statements: tuple[str, ...] = ()
    files_list: Path | None = None
    failed_list: Path | None = None

    @classmethod
    def of(cls, event: AttemptEnded) -> Self:
        """Take over what the hub reports."""
        return cls(
            outcome=event.outcome,
            code=event.code,
            message=event.message,
            retryable=event.retryable,
            statements=tuple(event.statements),
            files_list=Path(event.files_list) if event.files_list else None,
            failed_list=Path(event.failed_list) if event.failed_list else None,
        )


@dataclass(slots=True)
class Run:
    """One transfer under way; changed by its driver, and by events that then call `wake`."""

    transfer: str
    source_node: str
    destination_node: str
    starts: datetime | None = None
    attempt: int = 0
    wish: Wish = Wish.RUN
    wish_reason: str = ""
    end: End | None = None
    """Set when the current attempt has ended."""
    adopts: bool = False
    """Whether the current attempt was begun before a restart of the service, and may still run on its nodes."""
    running: bool = False
    recheck: bool = False
    """Set when something changed that may end it: its ticket is checked and renewed at once."""
    new_rate: bool = False
    """Set when the ceiling was changed: its ticket is renewed with it, and its nodes are told."""
    woken: asyncio.Event = field(default_factory=asyncio.Event)
    progress: m.Progress = field(default_factory=m.Progress)
    resent_before: int = 0
    """Bytes that earlier attempts sent again."""

    @classmethod
    def of(cls, row: TransferRow, *, adopts: bool = False) -> Self:
        """Take up a stored transfer; `adopts` when its last attempt has not ended."""
        return cls(
            transfer=row.id,
            source_node=row.source_node,
            destination_node=row.destination_node,
            starts=row.starts,
            attempt=row.attempt,
            adopts=adopts,
            wish=Wish.PAUSE if row.state == m.TransferState.PAUSED else Wish.RUN,
            wish_reason=row.state_reason if row.state == m.TransferState.PAUSED else "",
            progress=m.Progress.model_validate_json(row.progress),
        )

    @property
    def nodes(self) -> tuple[str, ...]:
        """Keys of its nodes, each once."""
        return tuple(dict.fromkeys((self.source_node, self.destination_node)))

    def wake(self) -> None:
        """Let the driver look again."""
        self.woken.set()

    def note_progress(self, event: AttemptProgress, now: datetime) -> None:
        """Take over what the destination node counted."""
        left_bits = max(0, event.bytes_total - event.bytes_durable) * 8
        self.progress = m.Progress(
            files_total=event.files_total,
            files_done=event.files_done,
            files_failed=event.files_failed,
            bytes_total=event.bytes_total,
            bytes_received=event.bytes_received,
            bytes_durable=event.bytes_durable,
            resent_bytes=self.resent_before + event.resent_bytes,
            rate_bps=event.rate_bps,
            streams=event.streams,
            limiter=event.limiter,
            eta_s=left_bits // event.rate_bps if event.rate_bps else None,
            at=now,
        )
