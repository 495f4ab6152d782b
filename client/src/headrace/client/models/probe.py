"""Probes: plans that only measure how fast the way between two places is, and where the difference goes."""

from typing import Annotated, Literal

from pydantic import Field

from headrace.client.models.base import Count, Model
from headrace.client.models.transfers import Diagnosis, Evidence

LegName = Literal["memory_to_memory", "storage_to_memory", "memory_to_storage", "storage_to_storage"]
Tightest = Literal["way", "source_storage", "destination_storage", "together", ""]


class ProbeBounds(Model):
    """How much a leg of a probe may move, and for how long; four legs come one after the other."""

    max_seconds: Annotated[int, Field(ge=1, le=600)] = Field(
        default=10, description="time of a leg, from its first byte"
    )
    max_bytes: Annotated[int, Field(ge=1 << 20, le=1 << 40)] = Field(
        default=4 << 30, description="bytes of a leg, at its source and at its destination"
    )


class ProbeLeg(Model):
    """What a leg measured. At the destination nothing that it wrote is left."""

    name: LegName
    bytes: Count = Field(default=0, description="what arrived and, at a storage, was made durable")
    files: Count = Field(default=0, description="files that it moved, also when it failed; quotas count them")
    seconds: Annotated[float, Field(ge=0)] = 0
    rate_bps: Count | None = Field(
        default=None, description="null: it could not be measured, for the reason in `error`"
    )
    error: str = ""
    diagnosis: Diagnosis | None = Field(default=None, description="what limited it")


class Probed(Model):
    """What a probe has measured so far, and which stage is the tightest; no legs: the transfer is no probe."""

    transfer: str
    state: str
    bounds: ProbeBounds | None = None
    running: LegName | None = Field(default=None, description="the leg that is measured now")
    legs: list[ProbeLeg] = []
    tightest: Tightest = Field(default="", description="`way`: network and processors; empty: not known")
    said: str = Field(default="", description="where the difference goes, in a sentence")
    evidence: list[Evidence] = []
    remedy: list[str] = Field(default=[], description="what helps, of the leg that shows the tightest stage")
