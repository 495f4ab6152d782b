"""What was measured of a transfer: its data connections and the stages of its nodes."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from headrace.client.models.base import Count, Model

StageName = Literal["read", "hash", "send", "receive", "verify", "write", "commit", "ceiling", "share", "delete"]
NodeSide = Literal["source", "destination"]
Percent = Annotated[float, Field(ge=0, le=100)]


class Flow(Model):
    """A data connection as the kernel of one end saw it last; what it does not tell is 0."""

    stream: Count = Field(description="its number; both ends use the same")
    congestion_control: str = ""
    rtt_us: Count = Field(default=0, description="round trip; of what is received, as that end estimates it")
    min_rtt_us: Count = 0
    cwnd_bytes: Count = Field(default=0, description="congestion window")
    send_window_bytes: Count = Field(default=0, description="what the other end allows to be on its way")
    receive_window_bytes: Count = Field(default=0, description="most that this end would allow to be on its way to it")
    rate_bps: Count = Field(default=0, description="what went over it in the time that was measured")
    delivery_rate_bps: Count = Field(default=0, description="what the other end took when that was measured last")
    pacing_rate_bps: Count = Field(default=0, description="what the kernel paces it to; 0: no limit")
    sent_packets: Count = Field(default=0, description="in the time that was measured, as the counts below")
    retransmits: Count = 0
    reorderings: Count = 0
    rwnd_limited_percent: Percent = Field(default=0, description="of the time: held back by the receive window")
    sndbuf_limited_percent: Percent = Field(default=0, description="of the time: held back by the send buffer")
    app_limited_percent: Percent = Field(default=0, description="of the time: there was nothing to send")


class Stage(Model):
    """A stage of the work of one node."""

    name: StageName
    busy_percent: Percent = Field(description="of the time that this node's threads spent in all stages")
    threads: Annotated[float, Field(ge=0)] = Field(description="threads that were in it, on average")
    capacity_bps: Count | None = Field(
        default=None, description="what the same threads would carry if this stage were all they did"
    )


class MeasuredSide(Model):
    """What one node measured."""

    node: str = ""
    threads: Annotated[float, Field(ge=0)] = Field(default=0, description="threads at work, on average")
    stages: list[Stage] = Field(default=[], description="those that took any time, in the order of the work")
    flows: Annotated[list[Flow], Field(max_length=64)] = []


class Measured(Model):
    """What both nodes measured of a transfer: over the last seconds, or over its last attempt."""

    transfer: str
    live: bool = Field(default=False, description="over the last seconds; else over all of its last attempt")
    at: datetime | None = Field(default=None, description="when it was measured; null: nothing was")
    seconds: Annotated[float, Field(ge=0)] = Field(default=0, description="over how long")
    rate_bps: Count = Field(default=0, description="what arrived in that time")
    source: MeasuredSide = MeasuredSide()
    destination: MeasuredSide = MeasuredSide()
