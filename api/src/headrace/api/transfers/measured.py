"""What both nodes measured of an attempt: connections and stages, over the last seconds or from its beginning.

Counts of nodes may begin anew or be nonsense: one that went back counts as nothing, and no share is above the whole.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from headrace.client import models as m

if TYPE_CHECKING:
    from headrace.engine import AttemptProgress, AttemptSide
    from headrace.engine import Flow as Seen

_EVERY: Final = timedelta(milliseconds=900)
_SECONDS: Final = 6
"""About so many seconds are what `live` is measured over."""
_STAGES: Final[dict[m.NodeSide, tuple[m.StageName, ...]]] = {
    "source": ("read", "hash", "ceiling", "share", "send", "delete"),
    "destination": ("share", "receive", "verify", "write", "commit", "delete"),
}
"""In the order of the work; one node that does all of a local copy is its destination."""
_LOCAL: Final[tuple[m.StageName, ...]] = (
    *("read", "hash", "ceiling", "send", "receive", "verify", "write", "commit", "delete"),
)
_LEAST: Final = 0.001
"""Part of the time that it takes to ask for a share where nobody waits for one, or for deletes where there are none."""
_ASKED: Final[frozenset[m.StageName]] = frozenset({"share", "delete"})
"""Stages that take a moment where there is nothing to do in them."""
_MOST_FLOWS: Final = 64
_MAX_COUNT: Final = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class _Moment:
    at: datetime
    event: "AttemptProgress"


@dataclass(slots=True)
class Measurements:
    """What an attempt's nodes told, about once a second."""

    first: _Moment | None = None
    recent: deque[_Moment] = field(default_factory=lambda: deque(maxlen=_SECONDS + 1))

    def note(self, event: "AttemptProgress", now: datetime) -> None:
        """Keep what was told; references only."""
        if self.recent and now - self.recent[-1].at < _EVERY:
            return
        told = _Moment(now, event)
        self.first = self.first or told
        self.recent.append(told)

    def clear(self) -> None:
        """Begin another attempt."""
        self.first = None
        self.recent.clear()

    def show(self, transfer: str, *, local: bool, live: bool) -> m.Measured:
        """Show what came to it over the last seconds, or since its beginning; `local`: one node does all of it."""
        before = (self.recent[0] if live else self.first) if self.recent else None
        if before is None or before is self.recent[-1]:
            return m.Measured(transfer=transfer, live=live)
        after = self.recent[-1]
        seconds = max(1e-3, (after.at - before.at).total_seconds())
        received = _grown(before.event.bytes_received, after.event.bytes_received)
        durable = _grown(before.event.bytes_durable, after.event.bytes_durable)
        rate_bps = _stored(max(received, durable) * 8 / seconds)
        return m.Measured(
            transfer=transfer,
            live=live,
            at=after.at,
            seconds=round(seconds, 1),
            rate_bps=rate_bps,
            source=_side(_STAGES["source"], (before.event.source, after.event.source), seconds, rate_bps),
            destination=_side(
                _LOCAL if local else _STAGES["destination"],
                (before.event.destination, after.event.destination),
                seconds,
                rate_bps,
            ),
        )


def _side(
    order: tuple[m.StageName, ...], seen: "tuple[AttemptSide, AttemptSide]", seconds: float, rate_bps: int
) -> m.MeasuredSide:
    before, after = seen
    spent = {
        name: _grown(getattr(before.stages, f"{name}_us"), getattr(after.stages, f"{name}_us")) / 1e6 for name in order
    }
    whole = sum(spent.values())
    stages = [
        m.Stage(
            name=name,
            busy_percent=round(100 * took / whole, 1),
            threads=round(took / seconds, 2),
            capacity_bps=_stored(rate_bps * whole / took) if rate_bps else None,
        )
        for name, took in spent.items()
        if took > 0 and (name not in _ASKED or took >= _LEAST * whole)
    ]
    flows = list(_flows(before, after, seconds))
    return m.MeasuredSide(threads=round(whole / seconds, 2), stages=stages, flows=flows)


def _flows(before: "AttemptSide", after: "AttemptSide", seconds: float) -> Iterator[m.Flow]:
    known = {flow.stream: flow for flow in before.flows}
    for flow in sorted(after.flows, key=lambda one: one.stream)[:_MOST_FLOWS]:
        yield _flow(known.get(flow.stream), flow, seconds)


def _flow(before: "Seen | None", after: "Seen", seconds: float) -> m.Flow:
    def grew(name: str) -> int:
        return _grown(getattr(before, name) if before is not None else 0, getattr(after, name))

    def percent(name: str) -> float:
        return round(min(100.0, 100 * grew(name) / max(1.0, age_us)), 1)

    # One that is younger than what was measured has its own age.
    age_us = min(seconds * 1e6, max(1, grew("age_us")))
    moved = max(grew("acknowledged_bytes"), grew("received_bytes"))
    return m.Flow(
        stream=after.stream,
        congestion_control=after.congestion_control,
        rtt_us=_stored(after.receive_rtt_us if after.received_bytes > after.acknowledged_bytes else after.rtt_us),
        min_rtt_us=_stored(after.min_rtt_us),
        cwnd_bytes=_stored(after.cwnd_packets * after.mss_bytes),
        send_window_bytes=_stored(after.send_window_bytes),
        receive_window_bytes=_stored(after.receive_window_bytes),
        rate_bps=_stored(moved * 8 / (age_us / 1e6)),
        delivery_rate_bps=_stored(after.delivery_rate_bps),
        pacing_rate_bps=_stored(after.pacing_rate_bps),
        sent_packets=_stored(grew("sent_packets")),
        retransmits=_stored(grew("retransmits")),
        reorderings=_stored(grew("reorderings")),
        rwnd_limited_percent=percent("rwnd_limited_us"),
        sndbuf_limited_percent=percent("sndbuf_limited_us"),
        app_limited_percent=percent("app_limited_us"),
    )


def _grown(before: int, after: int) -> int:
    return max(0, after - before)


def _stored(count: float) -> int:
    """Return a count that clients take, whatever a node says."""
    return int(min(count, _MAX_COUNT))
