"""What the service itself costs for one transfer, beyond what its nodes do.

The service runs in this process, so that its processor time and its statements can be counted; its nodes are processes
of their own, as on a site. Each transfer is one small file; they run one after another.
"""

import asyncio
import json
import resource
import statistics
import subprocess
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from time import perf_counter

from demo.stage import REPOSITORY, DemoError
from tests.servers.counted import counted
from tests.servers.site import Site, started_site

from headrace.api.settings import Settings
from headrace.client import models as m

_WARM_UP = 10
"""Transfers that are not counted."""
_ROOTS = (("left", "lab"), ("right", "archive"))
_NODE = REPOSITORY / "engine" / "target" / "release" / "headrace-node"
_MS = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class Cost:
    """Of each transfer, in the order in which they ran."""

    wall_ms: Sequence[float]
    """From the call that submits it to the answer that it has ended, without the time that its nodes signed for."""
    cpu_ms: Sequence[float]
    """Processor time of the service, all threads."""
    statements: Sequence[int]
    """Statements that reached the store."""

    def data(self) -> dict[str, object]:
        """Return the figures that are kept."""
        return {
            "transfers": len(self.wall_ms),
            "wall_ms_each": _spread(self.wall_ms),
            "cpu_ms_each": _spread(self.cpu_ms),
            "statements_each": _spread(self.statements),
        }


def measure_service(home: Path, transfers: int) -> Cost:
    """Let a service carry out transfers of one small file each, one after another."""
    with tempfile.TemporaryDirectory(prefix="headrace-cost-", dir=home) as name:
        return asyncio.run(_measure(Path(name), transfers))


async def _measure(folder: Path, transfers: int) -> Cost:
    walls, cpus, statements = [], [], []
    async with started_site(folder, Settings(changes_per_minute_of_one=10**6)) as site, _nodes(site, folder):
        (site.lab / "set").mkdir()
        (site.lab / "set" / "a.txt").write_text("a")
        # Plans first: planning is not what is measured.
        plans = [await site.ada.plan("lab:/set", f"archive:/{number}") for number in range(_WARM_UP + transfers)]
        for number, plan in enumerate(plans):
            with counted() as reached:
                cpu_s, begin = _cpu_s(), perf_counter()
                ended = await site.ada.end_of(await site.ada.submit(plan))
                wall_ms, cpu_ms = (perf_counter() - begin) * 1000, (_cpu_s() - cpu_s) * 1000
            if ended.state is not m.TransferState.COMPLETE:
                message = f"a transfer that measures the service is {ended.state}: {ended.summary}"
                raise DemoError(message)
            if number >= _WARM_UP:
                receipt = await site.ada.port.receipt(ended.id)
                walls.append(wall_ms - _nodes_ms(receipt.document))
                cpus.append(cpu_ms)
                statements.append(reached.statements)
    return Cost(walls, cpus, statements)


@asynccontextmanager
async def _nodes(site: Site, folder: Path) -> AsyncIterator[None]:
    """Run the site's two nodes as processes."""
    started: list[subprocess.Popen[bytes]] = []
    try:
        for (name, root), path in zip(_ROOTS, (site.lab, site.archive), strict=True):
            token = (await site.use_cases.nodes.create_join_token(None, m.JoinTokenRequest(name=name))).token
            command = [
                str(_NODE),
                "join",
                token,
                "--name",
                name,
                "--state",
                str(folder / f"state-{name}"),
                "--allow-root",
            ]
            roots = ["--root", f"{root}={path}:write", "--data-listen", "127.0.0.1:0"]
            started.append(
                subprocess.Popen(  # noqa: ASYNC220 - it returns at once
                    [*command, *roots], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
                )
            )
        await site.until_nodes(lambda: site.use_cases.nodes.attached_count == len(_ROOTS))
        yield
    finally:
        for process in started:
            process.terminate()
        for process in started:
            process.wait()


def _nodes_ms(receipt: str) -> float:
    """Return the milliseconds from the first node's start to the last one's end, by their signed statements."""
    statements = [
        json.loads(json.loads(text)["body"]) for text in json.loads(json.loads(receipt)["body"])["statements"]
    ]
    begin = min(datetime.fromisoformat(statement["started"]) for statement in statements)
    return (max(datetime.fromisoformat(statement["ended"]) for statement in statements) - begin) / _MS


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _spread(figures: Sequence[float]) -> dict[str, object]:
    low, median, high = statistics.quantiles(figures, n=4)
    return {
        "median": round(median, 1), "quartiles": [round(low, 1), round(high, 1)], "longest": round(max(figures), 1),
    }  # fmt: skip
