"""What was measured of an attempt at one moment, and what came to it between two: the input of `diagnosis`.

Counts of nodes may begin anew or be nonsense: a count that went back counts as nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal

Side = Literal["source", "destination"]

SHUT_PACKETS: Final = 8
"""Under memory pressure the kernel leaves 2 or 4 packets of a receive window, and lets it grow again after it."""
KERNEL: Final[Mapping[str, str]] = {
    "prune_called": "PruneCalled",
    "receive_pruned": "RcvPruned",
    "early_pruned": "OfoPruned",
    "receive_collapsed": "TCPRcvCollapsed",
    "receive_queue_drops": "TCPRcvQDrop",
    "memory_pressures": "TCPMemoryPressures",
    "aborts_on_memory": "TCPAbortOnMemory",
    "zero_window_drops": "TCPZeroWindowDrop",
    "backlog_drops": "TCPBacklogDrop",
}
"""What nodes tell of /proc/net/netstat, and its name there."""
STAGES: Final = ("read", "hash", "send", "receive", "verify", "write", "commit", "ceiling", "share", "delete")


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowSample:
    """A data connection as one end's kernel sees it; what it does not tell is 0. Times are microseconds."""

    age: int = 0
    rtt: int = 0
    min_rtt: int = 0
    mss: int = 0
    congestion_control: str = ""
    sent: int = 0
    retransmits: int = 0
    busy: int = 0
    rwnd_limited: int = 0
    sndbuf_limited: int = 0
    send_window: int = 0
    receive_window: int = 0
    cpu: int = 0
    """Of the thread that serves it: computing, and waiting for a processor."""
    cpu_wait: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SocketLimits:
    """What the kernel of a node gives sockets, and what they hold; nothing of what it does not tell."""

    tcp_mem: tuple[int, ...] = ()
    """The three figures of net.ipv4.tcp_mem, in pages."""
    tcp_held: int | None = None
    """What TCP sockets of the whole host hold, in pages."""
    page_bytes: int | None = None
    group_bytes: int | None = None
    """The tightest limit of its control groups, and what is held of it."""
    group_held: int | None = None
    group_setting: str = ""
    """The file of the group that sets it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SideSample:
    """What one node knows: its connections by number, and the microseconds that its threads spent in each stage."""

    flows: Mapping[int, FlowSample] = field(default_factory=dict)
    stages: Mapping[str, int] = field(default_factory=dict)
    deleted: int = 0
    looked_at: int = 0
    """Names that it listed, compared, checked or deleted."""
    kernel: Mapping[str, int] = field(default_factory=dict)
    """How much counters of its kernel rose, by the names of `KERNEL`: those of its whole network namespace."""
    sockets: SocketLimits = field(default_factory=SocketLimits)
    device_written: int = 0
    """Bytes that were written to the device that it synced last, by anybody; 0 where that is not told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """An attempt at one moment."""

    at: datetime
    files_done: int = 0
    files_total: int = 0
    bytes_received: int = 0
    bytes_durable: int = 0
    bytes_total: int = 0
    to_delete: int = 0
    """Names that it is to delete in all."""
    streams: int = 0
    windows_seen: int = 0
    """How many receive windows of its connections were told so far: pressure comes and goes between two samples."""
    windows_shut: int = 0
    """How many of these were shut."""
    source: SideSample = field(default_factory=SideSample)
    destination: SideSample = field(default_factory=SideSample)

    @property
    def arrived(self) -> int:
        """Bytes that are at the destination, durable or not."""
        return self.arrived_of(self.bytes_total)

    def arrived_of(self, bytes_total: int) -> int:
        """Return that where all are so many."""
        return max(self.bytes_durable, min(bytes_total, self.bytes_received))

    @property
    def deleted(self) -> int:
        """Names that were deleted: one side of a transfer deletes, and of a local copy both sides are one."""
        return max(self.source.deleted, self.destination.deleted)

    @property
    def windows(self) -> tuple[int, int]:
        """How many receive windows of the destination are known now, and how many of these are shut."""
        shut = SHUT_PACKETS * max((flow.mss for flow in self.source.flows.values()), default=0)
        known = [flow.receive_window for flow in self.destination.flows.values() if flow.receive_window]
        return len(known), sum(window <= shut for window in known)


@dataclass(frozen=True, slots=True)
class Between:
    """What came to an attempt between two samples."""

    before: Sample
    after: Sample

    @property
    def seconds(self) -> float:
        """How long it took."""
        return max(0.0, (self.after.at - self.before.at).total_seconds())

    @property
    def received(self) -> int:
        """Bytes that arrived."""
        return _grown(self.before.bytes_received, self.after.bytes_received)

    @property
    def durable(self) -> int:
        """Bytes that became durable."""
        return _grown(self.before.bytes_durable, self.after.bytes_durable)

    @property
    def arrived(self) -> int:
        """Bytes that came to what is at the destination."""
        total = self.after.bytes_total
        return _grown(self.before.arrived_of(total), self.after.arrived_of(total))

    @property
    def files(self) -> int:
        """Files that were done."""
        return _grown(self.before.files_done, self.after.files_done)

    @property
    def deleted(self) -> int:
        """Names that were deleted."""
        return _grown(self.before.deleted, self.after.deleted)

    def looked_at(self, side: str) -> int:
        """Return how many names a side worked on."""
        return _grown(_at(self.before, side).looked_at, _at(self.after, side).looked_at)

    @property
    def moved(self) -> bool:
        """Whether anything arrived or became durable."""
        return bool(self.received or self.durable or self.files)

    @property
    def worked(self) -> bool:
        """Whether its nodes did anything: what moves no bytes is work as well."""
        return self.moved or bool(self.deleted or self.looked_at("source") or self.looked_at("destination"))

    @property
    def shut_share(self) -> float:
        """Which share of the receive windows that the destination told of was shut, 0 to 1."""
        told = _grown(self.before.windows_seen, self.after.windows_seen)
        return min(1.0, _grown(self.before.windows_shut, self.after.windows_shut) / max(1, told))

    @property
    def rate_bps(self) -> int:
        """Bits a second that arrived."""
        return int(max(self.received, self.durable) * 8 / max(1e-3, self.seconds))

    def stage_share(self, side: str, *stages: str) -> float:
        """Return the share of a side's busy time that stages took, 0 to 1."""
        before, after = _stages(self.before, side), _stages(self.after, side)
        spent = {stage: _grown(before.get(stage, 0), after.get(stage, 0)) for stage in STAGES}
        return sum(spent[stage] for stage in stages) / max(1, sum(spent.values()))

    def busy_s(self, side: str) -> float:
        """Return the time that a side's threads spent in stages, in seconds."""
        return self.stage_s(side, *STAGES)

    def stage_s(self, side: str, *stages: str) -> float:
        """Return the time that a side's threads spent in these stages, in seconds."""
        before, after = _stages(self.before, side), _stages(self.after, side)
        return sum(_grown(before.get(stage, 0), after.get(stage, 0)) for stage in stages) / 1e6

    def flows(self, side: str) -> Mapping[int, FlowSample]:
        """Return the connections of a side as they were last seen."""
        return _flows(self.after, side)

    def flow_sum(self, name: str, side: str = "source") -> int:
        """Return what a count or time of a side's connections grew by, of all together."""
        before, after = _flows(self.before, side), _flows(self.after, side)
        none = FlowSample()
        return sum(
            _grown(getattr(before.get(stream, none), name), getattr(flow, name)) for stream, flow in after.items()
        )

    def flow_share(self, name: str, side: str = "source") -> float:
        """Return the share of the time that a time of a side's connections took, of 0 to 1."""
        flows = len(_flows(self.after, side))
        return min(1.0, self.flow_sum(name, side) / max(1.0, flows * self.seconds * 1e6)) if flows else 0.0

    def side(self, side: Side) -> SideSample:
        """Return a side as it was told of last."""
        return _at(self.after, side)

    def kernel(self, side: Side, *names: str) -> int:
        """Return how often the kernel of a side counted these, all together; what went back or was not told is 0."""
        before, after = _at(self.before, side).kernel, _at(self.after, side).kernel
        return sum(_grown(before.get(name, 0), after.get(name, 0)) for name in names)

    @property
    def device_bps(self) -> int:
        """Bits a second that the device of the destination wrote, for anybody; 0 where that is not told."""
        before, after = self.before.destination.device_written, self.after.destination.device_written
        return int(_grown(before, after) * 8 / max(1e-3, self.seconds)) if before else 0

    @property
    def queued(self) -> float:
        """How many times the shortest a round trip takes now, for what waits in queues; 1 where nothing is known.

        That of the connection with the least counts: a queue delays all of them, a busy host some.
        """
        now = min((flow.rtt for flow in self.after.source.flows.values() if flow.rtt), default=0)
        return max(1.0, now / 1000 / self.rtt_ms) if now and self.rtt_ms else 1.0

    @property
    def rtt_ms(self) -> float:
        """The shortest round trip that the sender saw."""
        seen = [flow.min_rtt or flow.rtt for flow in self.after.source.flows.values()]
        return min((one for one in seen if one), default=0) / 1000


def _at(sample: Sample, side: str) -> SideSample:
    return sample.source if side == "source" else sample.destination


def _flows(sample: Sample, side: str) -> Mapping[int, FlowSample]:
    return _at(sample, side).flows


def _stages(sample: Sample, side: str) -> Mapping[str, int]:
    return _at(sample, side).stages


def _grown(before: int, after: int) -> int:
    return max(0, after - before)
