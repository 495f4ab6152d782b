"""What the service holds in memory of a transfer that it has taken up; the store has everything that must last."""

import asyncio
import json
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal, Self

from headrace.api.errors import ServiceError
from headrace.api.jobs.turns import InLine
from headrace.api.policy.calendars import Timeline
from headrace.api.policy.promises import aimed_at
from headrace.api.policy.qos import InForce
from headrace.api.signing.legs import NAMES
from headrace.api.store.tables_work import NOT_PROMISED, TransferRow
from headrace.api.transfers.advice import told
from headrace.api.transfers.diagnosis import Where, diagnose, stalled, stood_still
from headrace.api.transfers.measured import Measurements
from headrace.api.transfers.probe import legs_of
from headrace.api.transfers.remaining import Bounds, Remaining, remaining
from headrace.api.transfers.samples import KERNEL, STAGES, Between, FlowSample, Sample, SideSample, SocketLimits
from headrace.api.transfers.state_machine import Cause, Ending, Shut, Standing, State, Wish, leg_is_over
from headrace.api.transfers.telling import Telling
from headrace.client import models as m
from headrace.client.text import without_number
from headrace.engine import AttemptEnded, AttemptProgress, AttemptSide, EngineError, SocketMemory
from headrace.guardrails import GuardrailError, OpenHours, ReleasedPlan

ATTEMPT_UNKNOWN = "attempt_unknown"
STATE_FAILED = "state_failed"
"""The engine's code of a node that can't use its own state folder."""
_SAMPLES = 8
"""Samples that a verdict looks at: those of the last seconds."""
_SAMPLED_EVERY = timedelta(milliseconds=900)
_SURVEYED = ("files", "identical_files", "conflicts", "bytes", "deletes")

_LITTLE = 0.05
_GRACE = timedelta(seconds=10)
_A_MOMENT = timedelta(seconds=1)
_NO_DEADLINE = datetime.max.replace(tzinfo=UTC)
MAX_COUNT = (1 << 63) - 1
"""The largest count that the store takes."""

Refusal = ServiceError | GuardrailError


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
    def of(cls, event: AttemptEnded, names: Mapping[str, str]) -> Self:
        """Take over what the hub reports; `names` are those of nodes by their keys."""
        return cls(
            outcome=event.outcome,
            code=event.code,
            message=told(event.code, event.message, names),
            retryable=event.retryable,
            statements=tuple(event.statements),
            files_list=Path(event.files_list) if event.files_list else None,
            failed_list=Path(event.failed_list) if event.failed_list else None,
        )

    @classmethod
    def failed(cls, error: EngineError) -> Self:
        """Take over that the engine refused; an attempt that no node knows is begun anew."""
        return cls(
            "failed", error.code, without_number(str(error)), retryable=error.retryable or error.code == ATTEMPT_UNKNOWN
        )

    def ending(self, *, moved: bool) -> Ending:
        """Return what the state machine wants to know of it."""
        return Ending(self.outcome, Cause(self.code, self.message), self.retryable, moved)


@dataclass(frozen=True, slots=True)
class Begun:
    """An attempt that is recorded with its ticket, and that its nodes have not heard of."""

    ticket: str
    lists: Path
    tuning: m.EffectiveTuning


@dataclass(frozen=True, slots=True)
class Surveyed:
    """What its plan's survey counted: what is shown while the source is still being listed."""

    files: int
    bytes: int
    deletes: int
    """Names at the destination that are to be deleted."""

    @classmethod
    def of(cls, plan: ReleasedPlan) -> Self:
        """Read it from a sealed plan; names that stay as they are count, as nodes count them."""
        said = plan.fields["survey"]
        counts = {name: stored(int(str(said[name]))) for name in _SURVEYED} if isinstance(said, dict) else {}
        files = sum(counts.get(name, 0) for name in ("files", "identical_files", "conflicts"))
        return cls(stored(files), counts.get("bytes", 0), counts.get("deletes", 0))


@dataclass(frozen=True, slots=True)
class Counted:
    """What of an attempt's progress is in samples of throughput."""

    began: datetime
    at: datetime
    bytes: int
    files: int


@dataclass(slots=True)
class Standstill:
    """For how long an attempt stood still: times of less than some seconds are none."""

    before_s: float = 0
    """Those that are over."""
    now_s: float = 0
    where: Where = ""
    """Who was waited for last."""
    since: datetime | None = None
    """Since when it stands still; nothing while it does not."""
    began: datetime | None = None
    of_s: float = 0
    """All the time in which it was to move."""

    @property
    def seconds(self) -> float:
        """All of them together."""
        return self.before_s + self.now_s

    def note(self, found: m.Diagnosis, now: datetime) -> None:
        """Take over what was found now."""
        self.began = self.began or now
        self.of_s = (now - self.began).total_seconds()
        if found.limit is m.Limit.STALLED and found.since is not None:
            self.since, self.where = found.since, found.where
            self.now_s = (now - found.since).total_seconds()
        elif self.since is not None:
            # It lasted until now: nothing was heard since the last look.
            self.before_s += (now - self.since).total_seconds()
            self.since, self.now_s = None, 0


@dataclass(slots=True)
class Run:
    """One transfer that this process has taken up under `fence`."""

    transfer: str
    plan_digest: str
    source_node: str
    destination_node: str
    fence: int
    place: InLine
    starts: datetime | None = None
    hours: OpenHours | None = None
    """Hours in which alone it may run; those of its class come on top."""
    qos_class: str = "bulk"
    deadline: datetime | None = None
    promised: datetime | None = None
    """Since when that was promised; nothing: since it was submitted. `NOT_PROMISED`: it is not."""
    share: m.TransferShare | None = None
    """What it gets of links, while it runs over any."""
    telling: Telling | None = None
    """Lets its nodes know that; nothing while they were told nothing since the service started."""
    guarantee: tuple[datetime, float] | None = None
    """What its deadline needs, in bit/s, and when that was worked out, by the steady clock."""
    opened: tuple[tuple[InForce, str, datetime], Timeline] | None = None
    """Its open hours, as they were looked up for this class and deadline."""
    settles: datetime | None = None
    """From when on, by the steady clock, what its attempt takes says what it can use."""
    shut: Shut | None = None
    """The hours of policy that are over, as the signer found."""
    attempt: int = 0
    open: bool = False
    """Whether the end of that attempt is still to be recorded."""
    begun: Begun | None = None
    """That attempt until it is handed to its nodes."""
    handing: asyncio.Task[None] | None = None
    """Hands it over, however often the job is broken off that waits for it."""
    began: Standing | None = None
    """Where the transfer stands since that attempt began, until somebody looks again."""
    stopping_since: datetime | None = None
    unknown_since: datetime | None = None
    """When its nodes said that they don't know the attempt: its end may be on the way."""
    renew_at: datetime | None = None
    """When its ticket is renewed; `None`: at once."""
    ceiling_bps: int | None = None
    """Its own rate ceiling, as its last ticket has it."""
    new_rate: bool = False
    """The ceiling was changed, and its nodes are to be told."""
    end: End | None = None
    place_is_free: bool = False
    """Whether an attempt has ended that may have kept it from its destination."""
    refusal: Refusal | None = None
    halt: str = ""
    released: ReleasedPlan | None = None
    progress: m.Progress = field(default_factory=m.Progress)
    moves_sources: bool = False
    """Whether it deletes what has arrived at its source."""
    only_failed: bool = False
    """Whether it sends only what failed before, which no survey counted."""
    expected: m.Estimate | None = None
    """How long its plan said it may take; nothing where it said nothing, or sends something else."""
    durable_before: int = 0
    """Durable bytes when the attempt began."""
    durable_steps: int = 0
    """What the attempt made, deleted or made durable that no later one does again, as its nodes say."""
    resent_before: int = 0
    """Bytes that earlier attempts sent again."""
    counted: Counted | None = None
    """The progress that samples of throughput hold."""
    kept: m.Progress | None = None
    """The progress that is stored."""
    samples: deque[Sample] = field(default_factory=lambda: deque(maxlen=_SAMPLES))
    """What its attempt's nodes measured in the last seconds, about one a second."""
    measured: Measurements = field(default_factory=Measurements)
    """What they told of connections and stages."""
    first: Sample | None = None
    """The attempt as it began, or as it was when its ceiling or its class changed last."""
    judged_by: tuple[int | None, m.TransferShare | None] = (None, None)
    """The ceiling and the share by which what was measured last was judged."""
    under_others: m.Diagnosis | None = None
    """What limited it for the longest time under another ceiling or class."""
    windows_seen: int = 0
    """How many receive windows its nodes told of, one report after another, and how many of these were shut."""
    windows_shut: int = 0
    moved_at: datetime | None = None
    """When something arrived last."""
    diagnosis: m.Diagnosis | None = None
    """What limits it, over these seconds."""
    still: Standstill = field(default_factory=Standstill)
    """For how long it stood still."""
    legs: list[m.ProbeLeg] | None = None
    """What the legs of a probe measured so far; nothing for what is no probe."""

    @classmethod
    def of(cls, row: TransferRow, *, open_: bool = False) -> Self:
        """Take up a stored transfer; `open_` when the end of its last attempt is not recorded."""
        progress = m.Progress.model_validate_json(row.progress)
        if open_:
            progress = at_rest(progress)
        return cls(
            transfer=row.id,
            plan_digest=row.plan_digest,
            source_node=row.source_node,
            destination_node=row.destination_node,
            fence=row.fence,
            place=InLine(-row.priority, row.created, row.id, row.requester),
            starts=row.starts,
            hours=OpenHours.read(json.loads(row.hours)) if row.hours else None,
            qos_class=row.qos_class,
            ceiling_bps=row.rate_ceiling_bps,
            deadline=row.deadline,
            promised=row.promised,
            attempt=row.attempt,
            open=open_,
            moves_sources=row.action == "move",
            only_failed=row.only_failed,
            progress=progress,
            durable_before=row.durable_before if open_ else progress.bytes_durable,
            resent_before=row.resent_before,
            kept=progress,
            legs=legs_of(row.probe),
        )

    @property
    def nodes(self) -> tuple[str, ...]:
        """Keys of its nodes, each once."""
        return tuple(dict.fromkeys((self.source_node, self.destination_node)))

    @property
    def moved_bytes(self) -> int:
        """Bytes that its open attempt moved: a node that does not know those before it counts from nothing.

        Of a probe, what arrived: nothing of it is kept, and what is not durable has taken as much of the way.
        """
        if self.legs is not None:
            return max(self.progress.bytes_received, self.progress.bytes_durable) if self.open else 0
        durable, before = self.progress.bytes_durable, self.durable_before
        return (durable - before if durable >= before else durable) if self.open else 0

    @property
    def advanced(self) -> bool:
        """Whether its attempt did anything for good; of a node that counts no steps, whether it moved bytes."""
        return self.durable_steps > 0 or self.progress.bytes_durable > self.durable_before

    @property
    def surveyed(self) -> Surveyed | None:
        """What its plan's survey counted; nothing for a probe, and until the first ticket after a restart."""
        return None if self.released is None or self.legs is not None else Surveyed.of(self.released)

    @property
    def legs_left(self) -> int | None:
        """How many legs of a probe come after the one that is measured now."""
        return None if self.legs is None else len(NAMES) - 1 - len(self.legs)

    @property
    def leg_spent(self) -> bool:
        """Whether the open leg of a probe, begun anew, could move more than its plan allows for all legs.

        What legs moved that were interrupted (`resent_before`) is gone. Unknown bounds allow nothing.
        """
        if self.legs is None or not self.moved_bytes:
            return False
        if self.released is None:
            return True
        most, before = int(str(self.released.execution["max_bytes"])), sum(leg.bytes for leg in self.legs)
        to_come = (len(NAMES) - len(self.legs)) * most
        return before + self.resent_before + self.moved_bytes + to_come > len(NAMES) * most

    def leg_over(self, end: End, wish: str) -> bool:
        """Whether a leg of a probe is over with this end of its attempt."""
        spent = self.leg_spent and wish != "cancel" and self.refusal is None
        return self.legs is not None and leg_is_over(end.ending(moved=False), first=not self.legs, spent=spent)

    @property
    def is_promised(self) -> bool:
        """Whether its deadline, if it has one, could be kept when it was asked for last."""
        return self.promised != NOT_PROMISED

    @property
    def promised_bytes_left(self) -> int:
        """Return what is left of what its deadline was promised for: no more than was surveyed, whatever nodes say."""
        total = self.progress.bytes_total
        if self.surveyed is not None and not self.only_failed:
            total = min(total, self.surveyed.bytes)
        return max(0, total - self.progress.bytes_durable)

    def due(self, now: datetime) -> datetime | None:
        """Return by when its content is to be there; nothing where nothing is guaranteed for that any more.

        What is nearly done when its deadline passes keeps its guarantee for some seconds: it would wait for long.
        """
        if self.deadline is None:
            return None
        if now < self.deadline:
            return aimed_at(self.deadline, now)
        nearly = self.promised_bytes_left <= self.progress.bytes_total * _LITTLE
        return now + _A_MOMENT if self.is_promised and nearly and now < self.deadline + _GRACE else None

    def timeline(self, held: InForce, now: datetime) -> Timeline | None:
        """Return its open hours until its deadline, looked up once; nothing where it is due no more."""
        if self.deadline is None or self.due(now) is None:
            return None
        same = held, self.qos_class, self.deadline
        if self.opened is None or self.opened[0][0] is not held or self.opened[0][1:] != same[1:]:
            self.opened = same, Timeline(held.hours_of(self.qos_class, self.hours), now, self.deadline)
        return self.opened[1]

    @property
    def order(self) -> tuple[bool, datetime, str]:
        """Who is guaranteed what a deadline needs first, the lowest: the earliest deadline of those promised."""
        return not self.is_promised, self.deadline or _NO_DEADLINE, self.transfer

    @property
    def most_bytes(self) -> int:
        """How many bytes its plan lets it copy, whatever a node says: deadlines of others are judged by what is left.

        After a restart, until its ticket is renewed: what was counted before.
        """
        if self.released is not None:
            return int(str(self.released.execution["max_bytes"]))
        return self.kept.bytes_total if self.kept is not None else MAX_COUNT

    @property
    def moves(self) -> bool:
        """Whether its attempt may be moving data."""
        return self.open and self.end is None

    def whole(self) -> m.Diagnosis | None:
        """Say what limited the attempt, over the longest time that one ceiling and class held in it."""
        if self.first is None or not self.samples:
            return self.under_others
        last = diagnose(self.transfer, Between(self.first, self.samples[-1]), *self.judged_by, live=False)
        last = stood_still(last, self.still.seconds, self.still.of_s, self.still.where)
        others = self.under_others
        return others if others is not None and others.measured_s > last.measured_s else last

    def _judge_apart(self) -> None:
        """Judge by itself what comes under another ceiling or class: neither limited what came before."""
        ceiling_bps, share = self.judged_by
        of_class = share.qos_class if share is not None else None
        if (ceiling_bps, of_class) != (self.ceiling_bps, self.share.qos_class if self.share is not None else None):
            self.under_others, self.first = self.whole(), None
            self.still = Standstill()
            self.samples.clear()
        self.judged_by = self.ceiling_bps, self.share

    def _note_sample(self, sample: Sample, now: datetime) -> None:
        """Keep what was measured, about once a second, and judge it."""
        last = self.samples[-1] if self.samples else None
        if last is not None and now - last.at < _SAMPLED_EVERY:
            return
        self._judge_apart()
        if self.first is None and self.under_others is not None:
            # What came under others is no part of it.
            self.first = sample
        self.first = self.first or Sample(
            at=now,
            bytes_durable=sample.bytes_durable,
            files_done=sample.files_done,
            windows_seen=sample.windows_seen,
            windows_shut=sample.windows_shut,
        )
        if last is None or Between(last, sample).worked:
            self.moved_at = now
        self.samples.append(sample)
        found = diagnose(self.transfer, Between(self.samples[0], sample), self.ceiling_bps, self.share)
        self.diagnosis = stalled(found, self.moved_at or now, now)
        if self.stopping_since is None:
            # What is to stop need not move.
            self.still.note(self.diagnosis, now)

    def _remaining(self, event: AttemptProgress, sample: Sample) -> Remaining | None:
        """Say how long what is left takes: by the last seconds, by the whole attempt, and by what was expected."""
        since = [one for one in (self.samples[0] if self.samples else None, self.first) if one is not None]
        # What was there before the attempt is nothing that came to it.
        before = self.durable_before if sample.bytes_durable >= self.durable_before else 0
        since = [replace(one, bytes_durable=max(one.bytes_durable, before)) for one in since]
        return remaining(
            sample,
            event.rate_bps,
            event.files_failed,
            *(Between(one, sample) for one in since),
            expected=self.expected,
            bounds=self._bounds(sample.at),
        )

    def _bounds(self, now: datetime) -> Bounds:
        """Return what it may take of links, and within what time a promise that is kept later is kept."""
        share, kept_within_s = self.share, None
        if share is not None and share.kept_later and self.deadline is not None:
            kept_within_s = max(0.0, (self.deadline - now).total_seconds())
        return Bounds(self.ceiling_bps, share.entitled_bps if share is not None else None, kept_within_s)

    def expect(self, card: str) -> None:
        """Take over from its plan's card how long it may take."""
        said = None if self.only_failed or self.legs is not None else json.loads(card).get("estimate")
        self.expected = None if said is None else m.Estimate.model_validate(said)

    def note_progress(self, event: AttemptProgress, now: datetime) -> None:
        """Take over what the destination node counted."""
        before, surveyed = self.progress, self.surveyed
        # An attempt that has not read its lists yet has counted nothing: what was known before holds until then.
        counted = event.files_total > 0
        files_total = stored(event.files_total) if counted else before.files_total
        bytes_total = min(stored(event.bytes_total), self.most_bytes) if counted else before.bytes_total
        if event.listed is False and not self.only_failed:
            # What is listed so far is not the whole. A node that does not say how far it is shows what it has.
            files_total = max(files_total, surveyed.files if surveyed else before.files_total)
            bytes_total = max(bytes_total, surveyed.bytes if surveyed else before.bytes_total)
        deletes_total = surveyed.deletes if surveyed else before.deletes_total
        told = _sample_of(event, now)
        if not counted:
            # What earlier attempts brought is not what comes to this one once it has read its lists.
            there = before.bytes_durable
            told = replace(told, bytes_received=there, bytes_durable=there, files_done=before.files_done)
        windows, shut = told.windows
        self.windows_seen += windows
        self.windows_shut += shut
        sample = replace(
            told,
            windows_seen=self.windows_seen,
            windows_shut=self.windows_shut,
            files_total=files_total,
            bytes_total=bytes_total,
            to_delete=files_total if self.moves_sources else deletes_total,
        )
        self._note_sample(sample, now)
        self.measured.note(event, now)
        self.durable_steps = max(event.source.durable_steps, event.destination.durable_steps)
        left = self._remaining(event, sample)
        deleted = stored(sample.deleted)
        self.progress = m.Progress(
            files_total=files_total,
            files_done=stored(event.files_done) if counted else before.files_done,
            files_failed=stored(event.files_failed),
            deletes_total=deletes_total,
            # An attempt counts what earlier ones deleted when it comes there: what is gone stays gone until then.
            deleted=before.deleted if self.moves_sources else max(before.deleted, deleted),
            deleted_to_trash="trash" in self.released.execution if self.released else before.deleted_to_trash,
            sources_deleted=deleted if self.moves_sources else 0,
            bytes_total=bytes_total,
            bytes_received=stored(event.bytes_received),
            bytes_durable=stored(event.bytes_durable) if counted else before.bytes_durable,
            resent_bytes=stored(self.resent_before + event.resent_bytes),
            rate_bps=stored(event.rate_bps),
            streams=event.streams,
            limiter=self.diagnosis.said if self.diagnosis and self.diagnosis.limit is not m.Limit.UNKNOWN else "",
            eta_s=left.likely_s if left else None,
            eta_low_s=left.low_s if left else None,
            eta_high_s=left.high_s if left else None,
            share=self.share,
            at=now,
        )


def _sample_of(event: AttemptProgress, now: datetime) -> Sample:
    return Sample(
        at=now,
        files_done=event.files_done,
        files_total=event.files_total,
        bytes_received=event.bytes_received,
        bytes_durable=event.bytes_durable,
        bytes_total=event.bytes_total,
        streams=event.streams,
        source=_side(event.source),
        destination=_side(event.destination),
    )


def _side(side: AttemptSide) -> SideSample:
    return SideSample(
        flows={
            flow.stream: FlowSample(
                age=flow.age_us,
                rtt=flow.rtt_us,
                min_rtt=flow.min_rtt_us,
                mss=flow.mss_bytes,
                congestion_control=flow.congestion_control,
                sent=flow.sent_packets,
                retransmits=flow.retransmits,
                busy=flow.busy_us,
                rwnd_limited=flow.rwnd_limited_us,
                sndbuf_limited=flow.sndbuf_limited_us,
                send_window=flow.send_window_bytes,
                receive_window=flow.receive_window_bytes,
                cpu=flow.cpu_us,
                cpu_wait=flow.cpu_wait_us,
            )
            for flow in side.flows
        },
        stages={stage: getattr(side.stages, f"{stage}_us") for stage in STAGES},
        deleted=side.deleted,
        looked_at=side.looked_at,
        kernel=_rises(side.socket_memory),
        sockets=_limits(side.socket_memory),
        device_written=side.device_written_bytes or 0,
    )


def _rises(told: SocketMemory | None) -> Mapping[str, int]:
    """Return how much counters of a node's kernel rose; nothing of what it does not count or tell."""
    rises = {name: getattr(told, name, None) for name in KERNEL}
    return {name: rise for name, rise in rises.items() if rise is not None}


def _limits(told: SocketMemory | None) -> SocketLimits:
    if told is None:
        return SocketLimits()
    return SocketLimits(
        tcp_mem=tuple(told.tcp_mem_pages),
        tcp_held=told.tcp_held_pages,
        page_bytes=told.page_bytes,
        group_bytes=told.group_limit_bytes,
        group_held=told.group_held_bytes,
        group_setting=told.group_setting,
    )


def at_rest(progress: m.Progress) -> m.Progress:
    """Return what was counted so far, without what is only true while data moves."""
    return progress.model_copy(
        update={"rate_bps": 0, "streams": 0, "eta_s": None, "eta_low_s": None, "eta_high_s": None, "share": None}
    )


def stored(count: int) -> int:
    """Return a count as the store takes it, whatever a node says."""
    return min(count, MAX_COUNT)


def standing_of(row: TransferRow, run: Run | None = None) -> Standing:
    """Return where a stored transfer stands; `run` knows of its attempt."""
    return Standing(
        state=State(row.state),
        reason=row.state_reason,
        wish=Wish(row.wish),
        wish_reason=row.wish_reason,
        attempt=row.attempt,
        open=run is not None and run.open,
        stopping=run is not None and run.stopping_since is not None,
        failures=row.failures,
        not_before=row.not_before,
        last_error=row.last_error,
        away_since=row.away_since,
        blocked_since=row.blocked_since,
        paused_since=row.paused_since,
        goes_on=row.goes_on,
    )


def write_standing(row: TransferRow, standing: Standing) -> None:
    """Put a standing into the transfer's row; wishes are only written as people say them."""
    row.state, row.state_reason = standing.state, standing.reason
    row.attempt, row.failures = standing.attempt, standing.failures
    row.not_before, row.last_error = standing.not_before, standing.last_error
    row.away_since, row.blocked_since = standing.away_since, standing.blocked_since
    row.goes_on = standing.goes_on
