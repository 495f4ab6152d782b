"""Promise deadlines on a link that others fill, and look whether each promise was kept.

make lab-deadlines                                 100 promises
.venv/bin/python -m benchmarks.deadlines --promises 8

A service and two nodes on loopback, in memory; the link is one of 200 Mb/s, which two transfers without a deadline fill
all the time. Requests come as fast as up to twelve promises at once allow, with sizes and deadlines drawn by `--seed`.
What is promised must be done by then. What is refused is judged by somebody else's rule: it counts as *refused without
need* where the whole link, given to the earliest deadline first, would keep it and all that is promised with a tenth of
the link to spare; and the deadline that the refusal names instead is asked for at once, and must be promised.
"""

import argparse
import asyncio
import json
import os
import random
import re
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from demo.stage import REPOSITORY, DemoError, say
from tests.servers.site import Person, Site, started_site

from benchmarks.machine import moment
from headrace.client import HeadraceError
from headrace.client import models as m

LINK_BPS: Final = 200_000_000
_QOS: Final = (
    f'[[link]]\nname = "uplink"\nrate_bps = {LINK_BPS}\nnodes = ["left"]\n'
    + "".join(f'[[class]]\nname = "{name}"\nlinks = [{{ link = "uplink" }}]\n' for name in ("background", "bulk"))
    + '[[class]]\nname = "priority"\nlinks = [{ link = "uplink" }]\n'
)
_AT_ONCE: Final = 12
_OTHERS: Final = 2
_OTHERS_BYTES: Final = 400_000_000
_LEAST_BYTES, _MOST_BYTES = 5_000_000, 200_000_000
_TIGHT, _LOOSE = 1.2, 6.0
"""How often a deadline leaves the time that the whole link needs, after `_ALWAYS_S`."""
_ALWAYS_S: Final = 10.0
"""What a deadline leaves at least. The service stores every 10 s how far a transfer is, and judges by that."""
_SPARE: Final = 0.9
_TO_END: Final = timedelta(seconds=2)
_EARLIEST: Final = re.compile(r"promised by (\d{4}-\d\d-\d\d \d\d:\d\d) UTC at the earliest")


@dataclass(frozen=True, slots=True)
class Promise:
    """A transfer whose deadline was promised, in seconds from when it was asked for."""

    bytes: int
    deadline_s: float
    took_s: float
    promises: int
    """Of others at that time."""
    instead: bool
    """The deadline is one that a refusal named."""

    @property
    def kept(self) -> bool:
        """Whether it was done by then."""
        return self.took_s <= self.deadline_s


@dataclass(frozen=True, slots=True)
class Refusal:
    """A deadline that could not be promised."""

    bytes: int
    deadline_s: float
    promises: int
    earliest_s: float | None
    instead: bool
    """The deadline is one that another refusal named."""
    needs_bps: int
    others_bps: int
    """What the promises of others need: what is left of each by the time that is left."""
    needed: bool
    """The link, given to the earliest deadline first, would not keep it either with a tenth to spare."""
    needed_to_end: bool
    """As that, when each is to be there 2 s before its deadline: a transfer begins and ends with messages."""


@dataclass(slots=True)
class _Running:
    bytes: int
    deadline: datetime
    transfer: str


class Requests:
    """People who ask for deadlines, and what came of it."""

    def __init__(self, site: Site, chance: random.Random, wanted: int) -> None:
        """Ask until so many are promised."""
        self._site, self._chance, self._wanted = site, chance, wanted
        self._running: dict[str, _Running] = {}
        self._asked = 0
        self.promises: list[Promise] = []
        self.refusals: list[Refusal] = []

    async def run(self) -> None:
        """Ask, and wait for the end of all that was promised."""
        async with asyncio.TaskGroup() as following:
            while len(self.promises) + len(self._running) < self._wanted:
                if len(self._running) >= _AT_ONCE:
                    await asyncio.sleep(0.1)
                    continue
                size = int(_LEAST_BYTES * (_MOST_BYTES / _LEAST_BYTES) ** self._chance.random())
                alone_s = size * 8 / LINK_BPS
                await self._ask(following, size, _ALWAYS_S + alone_s * self._chance.uniform(_TIGHT, _LOOSE))

    async def _ask(self, following: asyncio.TaskGroup, size: int, within_s: float, *, instead: bool = False) -> None:
        self._asked += 1
        name = f"d{self._asked}"
        _lay_out(self._site.lab / name, size)
        asked, others = self._site.clock(), len(self._running)
        deadline = asked + timedelta(seconds=within_s)
        left = await self._left()
        plan = await self._site.ada.plan(f"lab:/{name}", f"archive:/{name}", deadline=deadline)
        refused, transfer = _infeasible(plan), None
        if not refused:
            try:
                transfer = await self._site.ada.submit(plan)
            except HeadraceError as error:
                # What is left of the link changes while somebody reads the plan.
                if error.problem.code != "deadline_infeasible":
                    raise
                refused = error.problem.detail
        if transfer is not None:
            self._running[name] = _Running(size, deadline, transfer.id)
            following.create_task(self._follow(name, asked, others, instead=instead))
            return
        said = _EARLIEST.search(refused)
        earliest = datetime.fromisoformat(f"{said[1]}+00:00") if said else None
        earliest_s = (earliest - asked).total_seconds() if earliest else None
        self.refusals.append(
            Refusal(
                size,
                within_s,
                others,
                earliest_s,
                instead,
                needs_bps=_rate(size, deadline, asked),
                others_bps=sum(_rate(rest, due, asked) for due, rest in left),
                needed=not _kept_earliest_first([*left, (deadline, size)], asked),
                needed_to_end=not _kept_earliest_first(
                    [(due - _TO_END, rest) for due, rest in [*left, (deadline, size)]], asked
                ),
            )
        )
        shutil.rmtree(self._site.lab / name)
        if earliest is not None and not instead:
            # Planning takes time, in which the others go on.
            later_s = (earliest - self._site.clock()).total_seconds() + 2
            await self._ask(following, size, later_s, instead=True)

    async def _follow(self, name: str, asked: datetime, others: int, *, instead: bool) -> None:
        one = self._running[name]
        ended = await self._site.ada.end_of(await self._site.ada.port.transfer(one.transfer))
        while ended.state not in m.END_STATES:
            ended = await self._site.ada.end_of(ended)
        if ended.state is not m.TransferState.COMPLETE or ended.ended is None:
            message = f"a promised transfer ended as {ended.state}: {ended.state_reason}"
            raise DemoError(message)
        deadline_s, took_s = (one.deadline - asked).total_seconds(), (ended.ended - asked).total_seconds()
        self.promises.append(Promise(one.bytes, deadline_s, took_s, others, instead))
        del self._running[name]
        for root in (self._site.lab, self._site.archive):
            shutil.rmtree(root / name)
        kept = "kept" if took_s <= deadline_s else "BROKEN"
        if took_s > deadline_s:
            for event in (await self._site.ada.port.transfer_events(one.transfer, limit=100)).items:
                say(f"   {event.at:%H:%M:%S.%f} {event.kind}: {event.message}")
        say(f"{len(self.promises)}: {one.bytes / 1e6:.0f} MB by {deadline_s:.1f} s, done after {took_s:.1f} s: {kept}")

    async def _left(self) -> list[tuple[datetime, int]]:
        """Return by when how much of each promise is still to be done."""
        found = []
        for one in list(self._running.values()):
            progress = (await self._site.ada.port.transfer(one.transfer)).progress
            found.append((one.deadline, max(0, one.bytes - progress.bytes_durable)))
        return found


def _rate(left: int, due: datetime, now: datetime) -> int:
    return int(left * 8 / max(0.1, (due - now).total_seconds()))


def _kept_earliest_first(left: Sequence[tuple[datetime, int]], now: datetime) -> bool:
    """Whether the link would keep all promises, given to the earliest deadline first, with a tenth to spare."""
    sent = 0
    for due, rest in sorted(left):
        sent += rest
        if sent * 8 > LINK_BPS * _SPARE * (due - now).total_seconds():
            return False
    return True


async def _filled(site: Site, who: Person, number: int) -> None:
    """Fill the link without a deadline until this is canceled; `who` has places that those who ask do not need."""
    _lay_out(site.lab / f"other-{number}", _OTHERS_BYTES)
    while True:
        transfer = await who.submit(await who.plan(f"lab:/other-{number}", f"archive:/other-{number}"))
        try:
            while (await who.end_of(transfer)).state not in m.END_STATES:
                pass
        except asyncio.CancelledError:
            await who.port.control(transfer.id, m.ControlRequest(action="cancel"))
            raise
        shutil.rmtree(site.archive / f"other-{number}")


async def measure(folder: Path, chance: random.Random, wanted: int) -> Requests:
    """Run a service with two nodes and a link, and ask for deadlines until `wanted` were promised."""
    async with started_site(folder) as site:
        await site.start_both()
        proposed = await site.ada.port.propose_qos(m.QosText(text=_QOS))
        second = await site.person("linker", "policy_admin")
        await second.port.publish_qos(proposed.version)
        filler = await site.person("filler", "requester")
        others = [asyncio.create_task(_filled(site, filler, number)) for number in range(_OTHERS)]
        requests = Requests(site, chance, wanted)
        try:
            await requests.run()
        finally:
            for one in others:
                one.cancel()
            await asyncio.gather(*others, return_exceptions=True)
        return requests


def _infeasible(plan: m.Plan) -> str:
    """Return why the deadline of a plan can't be promised; raises `DemoError` for what stands against it else."""
    if plan.state is m.PlanState.READY:
        return ""
    if [one.rule for one in plan.refusals] != ["deadline_infeasible"]:
        message = f"the plan is {plan.state}: {plan.summary}"
        raise DemoError(message)
    return plan.refusals[0].message


def _lay_out(folder: Path, size: int) -> None:
    folder.mkdir()
    (folder / "file.bin").write_bytes(os.urandom(size))


def summary(promises: Sequence[Promise], refusals: Sequence[Refusal]) -> dict[str, object]:
    """Count what was promised, kept, refused, and refused without need."""
    spare = sorted((one.deadline_s - one.took_s) / one.deadline_s for one in promises)
    return {
        "promised": len(promises),
        "kept": sum(one.kept for one in promises),
        "promised in place of a refused one": sum(one.instead for one in promises),
        "left of the time, median": round(spare[len(spare) // 2], 3) if spare else None,
        "left of the time, least": round(spare[0], 3) if spare else None,
        "refused": len(refusals),
        "refused though a refusal named it": sum(one.instead for one in refusals),
        "refused without need": sum(not one.needed for one in refusals),
        "refused without need, with 2 s for messages": sum(not one.needed_to_end for one in refusals),
    }


def main() -> int:
    """Measure; 0 when every promise was kept, and every deadline promised that a refusal named."""
    parser = argparse.ArgumentParser(
        prog="make lab-deadlines", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", default="deadlines", help="chooses sizes and deadlines")
    parser.add_argument("--promises", type=int, default=100, help="how many are to be made (default 100)")
    parser.add_argument("--memory", type=Path, default=Path("/dev/shm"), help="a folder in memory (default /dev/shm)")  # noqa: S108
    parser.add_argument("--out", type=Path, default=REPOSITORY / "docs" / "benchmarks", help="folder for the data")
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="headrace-deadlines-", dir=arguments.memory))
    try:
        chance = random.Random(arguments.seed)  # noqa: S311 - no secret
        found = asyncio.run(measure(folder, chance, arguments.promises))
    finally:
        shutil.rmtree(folder)
    report = summary(found.promises, found.refusals)
    say(json.dumps(report, indent=1))
    arguments.out.mkdir(parents=True, exist_ok=True)
    data = {
        **moment(),
        "seed": arguments.seed,
        "link_bps": LINK_BPS,
        "summary": report,
        "promises": [asdict(one) for one in found.promises],
        "refusals": [asdict(one) for one in found.refusals],
    }
    (arguments.out / "deadlines.json").write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    return 0 if report["kept"] == report["promised"] and not report["refused though a refusal named it"] else 1


if __name__ == "__main__":
    sys.exit(main())
