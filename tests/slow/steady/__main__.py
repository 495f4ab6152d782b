"""Watch the memory of the service under everyday work: `python -m tests.slow.steady --minutes 60`.

People copy, plan without starting, ask in sentences, look through lists, follow, and sign in and out. Every ten seconds
the service's resident memory, descriptors and threads are read. It ends with 1 when the last quarter of the run has
5 % more than the second one. The figures are kept in `docs/benchmarks/steady.json`, unless `--out` says where.
"""

import argparse
import asyncio
import json
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import ExitStack, aclosing
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from demo.stage import REPOSITORY, Stage, say
from tests.servers.postgres import postgres_running
from tests.slow.kill_service.house import PASSWORD, House
from tests.slow.steady.verdict import Sample, grown, quarters

from headrace.client import END_STATES, HeadraceError, HttpHeadrace, whole_list
from headrace.client import models as m

KEPT: Final = REPOSITORY / "docs" / "benchmarks" / "steady.json"
SAMPLE_S: Final = 10
PAUSES_S: Final = {"transfers": 0.5, "plans": 0.5, "sentences": 0.5, "lists": 0.5, "sign-ins": 5.0, "watches": 0.5}
"""Between two of each: one person's work, many times over, and not all that a machine can do."""

Step = Callable[[int], Awaitable[None]]


def main() -> int:
    """Work for as long as the command line says."""
    parser = argparse.ArgumentParser(
        prog="make steady", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--store", choices=["sqlite", "postgresql"], default="sqlite")
    parser.add_argument("--out", type=Path, default=KEPT)
    arguments = parser.parse_args()
    home = REPOSITORY / ".demo"
    home.mkdir(exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="steady-", dir=home))
    with ExitStack() as opened:
        database = opened.enter_context(postgres_running()).database() if arguments.store == "postgresql" else ""
        stage = opened.enter_context(Stage(folder))
        report = asyncio.run(_watched(House(stage, database=database), arguments.minutes * 60))
    kept = json.loads(arguments.out.read_text(encoding="utf-8")) if arguments.out.exists() else {}
    kept[arguments.store] = report
    arguments.out.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    say(json.dumps({name: value for name, value in report.items() if name != "samples"}))
    if report["findings"]:
        say(f"the folders are kept: {folder}")
        return 1
    shutil.rmtree(folder)
    return 0


async def _watched(house: House, seconds: float) -> dict[str, object]:
    await house.open()
    work = Work(house)
    tasks = [asyncio.create_task(work.go_on(name, step)) for name, step in work.steps().items()]
    samples, loads = [], []
    pid, began = house.stage.processes["service"].pid, time.monotonic()
    while (at_s := time.monotonic() - began) < seconds and not any(task.done() for task in tasks):
        samples.append(await asyncio.to_thread(_sample, pid, at_s))
        loads.append(os.getloadavg()[0])
        if len(samples) % 30 == 0:
            say(f"  {at_s / 60:.0f} min: {samples[-1].rss_bytes >> 20} MiB, {dict(work.done)}")
        await asyncio.sleep(SAMPLE_S)
    failed = [repr(task.exception()) for task in tasks if task.done()]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return {
        "measured": f"{datetime.now(UTC):%Y-%m-%dT%H:%MZ}",
        "minutes": round((time.monotonic() - began) / 60, 1),
        "load": {"lowest": round(min(loads), 1), "highest": round(max(loads), 1)},
        "processor_s": round(_processor_s(pid), 1),
        "done": dict(work.done),
        "median_mib_of_quarters": quarters(samples) if len(samples) >= 4 else [],
        "findings": failed + grown(samples),
        "samples": [[round(one.at_s), one.rss_bytes >> 10, one.descriptors, one.threads] for one in samples],
        "columns": ["s", "rss KiB", "descriptors", "threads"],
    }


class Work:
    """What people do, each kind on its own and again and again."""

    def __init__(self, house: House) -> None:
        self._house = house
        self.done: Counter[str] = Counter()
        """How often each was done."""
        folder = house.lab / "set"
        folder.mkdir()
        for number in range(20):
            (folder / f"{number}.bin").write_bytes(os.urandom(5000))

    def steps(self) -> dict[str, Step]:
        return {
            "transfers": self._transfer,
            "plans": self._plan,
            "sentences": self._sentence,
            "lists": self._lists,
            "sign-ins": self._sign_in,
            "watches": self._watch,
        }

    async def go_on(self, name: str, step: Step) -> None:
        """Do one thing for as long as it is let."""
        number = 0
        while True:
            await step(number)
            number += 1
            self.done[name] += 1
            await asyncio.sleep(PAUSES_S[name])

    async def _submitted(self, port: HttpHeadrace, name: str) -> m.Transfer:
        plan = await self._made(port, m.PlanRequest(intent=_copy(name)))
        assert plan.digest is not None, plan.summary
        if plan.decision is not None and plan.decision.outcome == "confirm":
            await port.confirm_plan(plan.id, m.Confirmation(digest=plan.digest, password=PASSWORD))
        return await port.submit(m.SubmitRequest(plan_digest=plan.digest))

    async def _made(self, port: HttpHeadrace, request: m.PlanRequest) -> m.Plan:
        plan = await port.create_plan(request)
        while plan.state == "surveying":
            plan = await port.plan(plan.id, wait_s=10)
        return plan

    async def _transfer(self, number: int) -> None:
        name = f"copied-{number}"
        async with self._house.person("ada") as port:
            transfer = await self._submitted(port, name)
            while transfer.state not in END_STATES:
                transfer = await port.transfer(transfer.id, wait_s=10)
            assert transfer.state == "complete", transfer.summary
            await port.receipt(transfer.id)
        await asyncio.to_thread(shutil.rmtree, self._house.archive / name)

    async def _watch(self, number: int) -> None:
        name = f"watched-{number}"
        async with self._house.person("ben") as port:
            transfer = await self._submitted(port, name)
            async with aclosing(port.watch(transfer.id)) as events:
                async for _ in events:
                    pass
        await asyncio.to_thread(shutil.rmtree, self._house.archive / name)

    async def _plan(self, number: int) -> None:
        async with self._house.person("ada") as port:
            plan = await self._made(port, m.PlanRequest(intent=_copy(f"never-{number}")))
            await port.why(plan.id)
            await port.drop_plan(plan.id)

    async def _sentence(self, number: int) -> None:
        async with self._house.person("ben") as port:
            text = f"copy lab:/set to archive:/asked-{number}, skip *.tmp, no faster than {1 + number % 9} Gb/s"
            await port.interpret(m.InterpretRequest(text=text))
            await port.interpret(m.InterpretRequest(text=f"tidy up thing {number} a bit"))

    async def _lists(self, _: int) -> None:
        async with self._house.person("admin") as port:
            await port.health()
            await port.transfers(limit=200)
            await port.transfer_counts()
            await port.plans(limit=200)
            await port.plan_counts()
            await whole_list(port.endpoints)
            await whole_list(port.nodes)
            await port.audit(order="newest", limit=200)
            await port.people()
            await port.browse("lab", "/")

    async def _sign_in(self, number: int) -> None:
        async with HttpHeadrace(self._house.url) as stranger:
            if number % 10 == 9:
                try:
                    await stranger.sign_in(m.SignIn(name=f"nobody {number}", password=f"{PASSWORD} no"))
                except HeadraceError as error:
                    if error.problem.status not in {401, 429}:
                        raise
                return
            session = await stranger.sign_in(m.SignIn(name="ada", password=PASSWORD))
        async with HttpHeadrace(self._house.url, session.secret) as port:
            await port.me()
            await port.sign_out()


def _copy(name: str) -> m.TransferIntent:
    return m.TransferIntent.model_validate({"action": "copy", "source": "lab:/set", "destination": f"archive:/{name}"})


def _sample(pid: int, at_s: float) -> Sample:
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    said = dict(line.split(":", 1) for line in status.splitlines())
    descriptors = sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())
    return Sample(at_s, int(said["VmRSS"].split()[0]) << 10, descriptors, int(said["Threads"]))


def _processor_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    sys.exit(main())
