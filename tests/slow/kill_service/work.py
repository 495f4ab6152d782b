"""What people do while processes die: copies and moves that are planned, submitted, steered, and policies published."""

import asyncio
import random
import shutil
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.slow.kill_service.house import AGAIN_S, AWAY, PASSWORD, House

from headrace.client import END_STATES, HeadraceError, HttpHeadrace
from headrace.client import models as m
from headrace.guardrails import default_policy_text

PLAN_AGAIN = frozenset({"policy_changed", "plan_expired", "interrupted", "node_away", "node_unreachable"})
"""Codes whose documented answer is a new plan; they end a transfer only before its first byte."""
POLL_S = 0.2

Tree = Mapping[str, bytes]


class Moments:
    """Tells the killer when somebody begins something that is worth a kill."""

    def __init__(self) -> None:
        self._waiting: dict[str, asyncio.Event] = {}

    def begins(self, moment: str) -> None:
        if event := self._waiting.pop(moment, None):
            event.set()

    async def next(self, moment: str, limit_s: float) -> bool:
        """Wait for the next beginning of `moment`; false when there is none in time."""
        event = self._waiting.setdefault(moment, asyncio.Event())
        try:
            async with asyncio.timeout(limit_s):
                await event.wait()
        except TimeoutError:
            return False
        return True


@dataclass
class Book:
    """What happened, and what should not have."""

    planned: Counter[str] = field(default_factory=Counter)
    ended: Counter[str] = field(default_factory=Counter)
    unanswered: Counter[str] = field(default_factory=Counter)
    published: int = 0
    findings: list[str] = field(default_factory=list)
    settled: list[Path] = field(default_factory=list)
    """Destinations that were compared and removed: nothing may appear there again."""


@dataclass
class Mover:
    """A person who makes one tree after another, has it copied or moved, and compares the result."""

    name: str
    house: House
    moments: Moments
    book: Book
    random: random.Random
    over: asyncio.Event
    now: str = "has not begun"

    async def work(self) -> None:
        async with self.house.person(self.name) as port:
            number = 0
            while not self.over.is_set():
                await self._carry_out(port, f"{self.name}-{number:05d}")
                number += 1
        self.now = "has finished"

    async def _carry_out(self, port: HttpHeadrace, name: str) -> None:
        action = self.random.choices(("copy", "move"), (4, 1))[0]
        wish = self.random.choices(("run", "cancel", "pause"), (8, 1, 1))[0]
        self.now = f"plans the {action} {name}"
        source, destination = self.house.lab / name, self.house.archive / name
        tree = await asyncio.to_thread(_lay_out, source, self.random)
        transfer = await self._submitted(port, name, action)
        self.now = f"waits for the {action} {name}, {transfer.id} (wish: {wish})"
        ended = await self._ended(port, transfer, wish)
        error = ended.error.code if ended.error else ""
        self.book.ended[f"{ended.state} {error}".strip()] += 1
        if ended.state == "complete":
            await asyncio.to_thread(self._compare, ended, source, destination, tree, wish)
        elif (ended.state, wish) != ("canceled", "cancel") and error not in PLAN_AGAIN:
            self.book.findings.append(f"{ended.id}: the {action} {name} ended {ended.state} ({error}): {ended.summary}")
            return
        # Room for more, and a trap: whatever writes there after the end is found by `judge`.
        for folder in (source, destination):
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
        self.book.settled.append(destination)

    async def _submitted(self, port: HttpHeadrace, name: str, action: str) -> m.Transfer:
        while True:
            plan = await self._ready(port, name, action)
            try:
                return await self._submit(port, plan)
            except HeadraceError as error:
                if error.problem.code not in PLAN_AGAIN:
                    raise
                self.book.planned[f"again: {error.problem.code}"] += 1

    async def _ready(self, port: HttpHeadrace, name: str, action: str) -> m.Plan:
        """Plan until a plan is ready; a request whose answer was lost may leave a plan that nobody asks for again."""
        rate = self.random.choice((40_000_000, 80_000_000, 400_000_000))
        slots = {"action": action, "source": f"lab:/{name}", "destination": f"archive:/{name}", "rate_limit_bps": rate}
        intent = m.TransferIntent.model_validate(slots)
        again = 0
        while True:
            await self.house.whole.wait()
            self.moments.begins("planning")
            try:
                plan = await port.create_plan(m.PlanRequest(intent=intent))
            except HeadraceError as error:
                if error.problem.code not in AWAY:
                    raise
                self.book.unanswered["plan"] += 1
                again += 1
                await asyncio.sleep(AGAIN_S)
                continue
            self.house.repeated[again] += again > 0
            again = 0
            while plan.state == "surveying":
                plan = await self.house.insist(port.plan, plan.id, wait_s=10)
            code = plan.refusals[0].rule if plan.refusals else ""
            self.book.planned[f"{plan.state} {code}".strip()] += 1
            if plan.state == "ready":
                return plan
            if code not in PLAN_AGAIN:
                self.book.findings.append(f"{plan.id}: the plan of {name} became {plan.state} ({code}): {plan.summary}")

    async def _submit(self, port: HttpHeadrace, plan: m.Plan) -> m.Transfer:
        assert plan.digest is not None
        digest = plan.digest
        if plan.decision is not None and plan.decision.outcome == "confirm":
            await self.house.insist(port.confirm_plan, plan.id, m.Confirmation(digest=digest, password=PASSWORD))
        self.moments.begins("submitting")
        return await self.house.insist(port.submit, m.SubmitRequest(plan_digest=digest))

    async def _ended(self, port: HttpHeadrace, transfer: m.Transfer, wish: str) -> m.Transfer:
        asked = wish == "run"
        while transfer.state not in END_STATES:
            progress = transfer.progress
            if transfer.state == "running":
                self.moments.begins("running")
            if progress.bytes_total and progress.bytes_durable > 0.8 * progress.bytes_total:
                self.moments.begins("ending")
            if not asked and progress.bytes_received:
                asked = True
                await self._steer(port, transfer.id, wish)
            transfer = await self.house.insist(port.transfer, transfer.id, wait_s=POLL_S)
        return transfer

    async def _steer(self, port: HttpHeadrace, transfer: str, wish: str) -> None:
        """Ask for a pause and go on, or cancel; a transfer that has ended meanwhile says so."""
        for action in ("pause", "resume") if wish == "pause" else ("cancel",):
            self.moments.begins("steering")
            request = m.ControlRequest.model_validate({"action": action})
            try:
                await self.house.insist(port.control, transfer, request)
            except HeadraceError as error:
                if error.problem.code != "transfer_state":
                    raise

    def _compare(self, ended: m.Transfer, source: Path, destination: Path, tree: Tree, wish: str) -> None:
        """Compare byte by byte what arrived, and what is left, with what was sent.

        A cancel that comes while a move deletes its sources ends that: everything has arrived, the rest stays, and the
        transfer says how many.
        """
        if _read(destination) != tree:
            self.book.findings.append(f"{ended.id}: what arrived in {destination} is not what was sent")
        left = _read(source)
        is_left = left.items() <= tree.items() and len(left) == ended.progress.sources_kept
        if (ended.action, wish) == ("move", "cancel") and is_left:
            return
        if left != ({} if ended.action == "move" else tree):
            self.book.findings.append(f"{ended.id}: the source {source} of a {ended.action} holds {sorted(left)}")


@dataclass
class Publishers:
    """Two policy admins: one proposes a version, the other publishes it."""

    house: House
    moments: Moments
    book: Book
    random: random.Random
    over: asyncio.Event
    now: str = "has not begun"

    async def work(self) -> None:
        async with self.house.person("pam") as pam, self.house.person("pia") as pia:
            while not self.over.is_set():
                self.now = "publishes a policy"
                await self._publish(pam, pia)
                await asyncio.sleep(self.random.uniform(1, 5))
        self.now = "has finished"

    async def _publish(self, author: HttpHeadrace, publisher: HttpHeadrace) -> None:
        text = f"// {self.random.random()}\n{default_policy_text()}"
        await self.house.up.wait()
        try:
            proposed = await author.propose_policy(m.PolicyText(text=text))
        except HeadraceError as error:
            if error.problem.code not in AWAY:
                raise
            self.book.unanswered["policy"] += 1
            return
        self.moments.begins("publishing")
        try:
            await self.house.insist(publisher.publish_policy, proposed.version, m.Proven(password=PASSWORD))
        except HeadraceError as error:
            # It was published, and the answer was lost.
            if error.problem.code != "policy_state":
                raise
        self.book.published += 1
        [active] = [one for one in await self.house.insist(publisher.policies) if one.state == "active"]
        if active.version != proposed.version:
            self.book.findings.append(f"policy {proposed.version} was published, and {active.version} is active")


def _lay_out(folder: Path, chance: random.Random) -> Tree:
    """Make some small files and one larger, all random."""
    sizes = [chance.randrange(20_000) for _ in range(chance.randrange(1, 12))] + [chance.randrange(100_000, 3_000_000)]
    tree = {f"d{number % 3}/f{number}": chance.randbytes(size) for number, size in enumerate(sizes)}
    for name, content in tree.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return tree


def _read(folder: Path) -> Tree:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }
