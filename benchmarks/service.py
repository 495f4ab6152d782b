"""What the service itself costs for one transfer, beyond what its nodes do."""

import asyncio
import statistics
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from demo.site import open_site
from demo.stage import DemoError, Stage

from benchmarks.peers import cpu_s_of
from headrace.client import HttpHeadrace, models

_WARM_UP = 10
"""Transfers that are not counted."""
_MS = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class Cost:
    """Of each transfer: wall milliseconds that the nodes did not work; of all: the service's CPU seconds."""

    wall_ms: Sequence[float]
    cpu_s: float

    def data(self) -> dict[str, object]:
        """Return the figures that are kept."""
        median, longest = statistics.median(self.wall_ms), max(self.wall_ms)
        return {
            "transfers": len(self.wall_ms),
            "wall_ms_each": {"median": round(median, 1), "longest": round(longest, 1)},
            "cpu_s_each": round(self.cpu_s / len(self.wall_ms), 4),
        }


def measure_service(home: Path, transfers: int) -> Cost:
    """Let a service carry out transfers of one small file each, one after another."""
    with tempfile.TemporaryDirectory(prefix="headrace-cost-", dir=home) as name, Stage(Path(name)) as stage:
        source = Path(name) / "from"
        (source / "set").mkdir(parents=True)
        (source / "set" / "a.txt").write_text("a")
        site = open_site(stage, source, Path(name) / "to")
        return asyncio.run(_measure(site.service, site.ada.session, stage.processes["service"].pid, transfers))


async def _measure(service: str, secret: str, process: int, transfers: int) -> Cost:
    async with HttpHeadrace(service, secret) as headrace:
        walls: list[float] = []
        before = 0.0
        # Plans first: planning is not what is measured.
        digests = [await _planned(headrace, number) for number in range(_WARM_UP + transfers)]
        for number, digest in enumerate(digests):
            if number == _WARM_UP:
                before = cpu_s_of(process)
            transfer = await headrace.submit(models.SubmitRequest(plan_digest=digest))
            ended = await headrace.transfer(transfer.id, wait_s=30)
            if ended.state is not models.TransferState.COMPLETE:
                message = f"a transfer that measures the service is {ended.state}: {ended.summary}"
                raise DemoError(message)
            if number >= _WARM_UP:
                walls.append(_without_nodes(await headrace.transfer_events(transfer.id)))
        return Cost(walls, cpu_s_of(process) - before)


async def _planned(headrace: HttpHeadrace, number: int) -> str:
    intent = models.TransferIntent(action="copy", source="from:/set", destination=f"to:/{number}")
    planned = await headrace.create_plan(models.PlanRequest(intent=intent))
    plan = await headrace.plan(planned.id, wait_s=30)
    if plan.digest is None:
        message = f"the plan is {plan.state}: {plan.summary}"
        raise DemoError(message)
    return plan.digest


def _without_nodes(events: Sequence[models.TransferEvent]) -> float:
    """Return the milliseconds from submission to the end, without those of the nodes' attempt."""
    at: dict[str, datetime] = {event.kind: event.at for event in events}
    return (at["complete"] - at["queued"] - (at["attempt_ended"] - at["started"])) / _MS
