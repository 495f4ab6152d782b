"""Headrace: two nodes and their service, encrypted, verified on both sides, durable before it is called done."""

import asyncio
import json
import time
from datetime import datetime

from demo.site import Site
from demo.stage import DemoError, Stage

from benchmarks.cases import Case
from benchmarks.measure import Run, Watch, cpu_s_of, forget_peak
from benchmarks.peers.ends import Ends
from headrace.client import HttpHeadrace, models

NEAR, FAR = "dtn-b", "dtn-a"


class Headrace:
    """Timed from submitting the plan to the end of the transfer, with the signed receipt made."""

    name = "headrace"
    programs = ("ip",)

    def __init__(self, ends: Ends, stage: Stage, site: Site) -> None:
        """Measure the nodes of `stage` while `site` works."""
        self._ends, self._stage, self._site = ends, stage, site

    def takes(self, case: Case) -> bool:
        """Everything."""
        return case.files > 0

    def copy(self, case: Case, folder: str, target: str) -> Run:
        """Plan first (not counted: a peer is told what to copy, too), then time submit to end."""
        del case
        return asyncio.run(self._copy(folder, target))

    async def _copy(self, folder: str, target: str) -> Run:
        processes = {name: process.pid for name, process in self._stage.processes.items()}
        async with HttpHeadrace(self._site.service, self._site.ada.session) as headrace:
            source, destination = self._site.source.name, self._site.destination.name
            intent = models.TransferIntent(
                action="copy", source=f"{source}:/{folder}", destination=f"{destination}:/{target}"
            )
            plan = await headrace.create_plan(models.PlanRequest(intent=intent))
            while plan.state is models.PlanState.SURVEYING:
                plan = await headrace.plan(plan.id, wait_s=30)
            if plan.digest is None or plan.state is not models.PlanState.READY:
                message = f"the plan is {plan.state}: {plan.summary}"
                raise DemoError(message)
            for node in (NEAR, FAR):
                forget_peak(processes[node])
            cpu_s = {name: cpu_s_of(process) for name, process in processes.items()}
            with Watch(self._ends.near, near=[processes[NEAR]], far=[processes[FAR]]) as watch:
                started = time.monotonic()
                transfer = await headrace.submit(models.SubmitRequest(plan_digest=plan.digest))
                while transfer.ended is None and time.monotonic() < started + self._ends.limit_s:
                    transfer = await headrace.transfer(transfer.id, wait_s=30)
                seconds = time.monotonic() - started
            if transfer.state is not models.TransferState.COMPLETE:
                message = f"the transfer is {transfer.state}: {transfer.summary}"
                raise DemoError(message)
            used = {name: cpu_s_of(process) - cpu_s[name] for name, process in processes.items()}
            receipt = await headrace.receipt(transfer.id)
        far_cpu_s = used.pop(FAR)
        return Run(
            seconds,
            sum(used.values()),
            far_cpu_s,
            watch.near_peak_bytes,
            watch.far_peak_bytes,
            tuple(watch.gbit_per_s),
            _engine_s(receipt.document),
        )


def _engine_s(receipt: str) -> float:
    """Seconds from the first node's start to the last one's end."""
    texts = json.loads(json.loads(receipt)["body"])["statements"]
    statements = [json.loads(json.loads(text)["body"]) for text in texts]
    begin = min(datetime.fromisoformat(statement["started"]) for statement in statements)
    return (max(datetime.fromisoformat(statement["ended"]) for statement in statements) - begin).total_seconds()
