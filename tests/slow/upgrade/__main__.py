"""Upgrade a site of two processes, one after the other, while people work: `python -m tests.slow.upgrade`.

The earlier release is the last `service` of `tests/slow/releases/releases.toml`, built from its commit in a work tree
below `.demo` that is kept for the next time (or given with `--before`). The site is PostgreSQL, nginx, two processes
and two nodes. It ends with 1 when a transfer is lost or runs twice, when a call had to be made again more than once,
when a node's process ended, or when an earlier process leads on the upgraded database instead of refusing it by name.
"""

import argparse
import asyncio
import json
import os
import random
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from demo.stage import HEADRACE, REPOSITORY, DemoError, Stage, say
from tests.servers.postgres import postgres_running
from tests.slow.kill_service.front import front_of
from tests.slow.kill_service.house import AWAY, NODES, House
from tests.slow.kill_service.verdict import END_LIMIT_S, judge, until_ended
from tests.slow.kill_service.work import Book, Moments, Mover, Publishers

from headrace.client import HeadraceError

RELEASES: Final = REPOSITORY / "tests" / "slow" / "releases" / "releases.toml"
BUILD_LIMIT_S: Final = 7200
STEP_LIMIT_S: Final = 300.0
ENDED_EACH_STEP: Final = 4
"""Transfers that end in each state of the site, before it changes."""
REFUSES: Final = "a newer one"
"""What an earlier process says of a database that a later one has upgraded."""


def main() -> int:
    """Upgrade once; 0 when nobody noticed more than one call that had to be made again."""
    parser = argparse.ArgumentParser(
        prog="make upgrade", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--before", type=Path, help="`headrace` of the earlier release, if it is built")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1 << 31))
    arguments = parser.parse_args()
    home = REPOSITORY / ".demo"
    home.mkdir(exist_ok=True)
    commit = str(tomllib.loads(RELEASES.read_text(encoding="utf-8"))["service"][-1]["commit"])
    before = arguments.before or built(commit, home)
    say(f"two processes of {commit} become today's, seed {arguments.seed}")
    folder = Path(tempfile.mkdtemp(prefix="upgrade-", dir=home))
    with ExitStack() as opened:
        database = opened.enter_context(postgres_running()).database()
        front = opened.enter_context(front_of(folder, ["one", "two"]))
        stage = opened.enter_context(Stage(folder, programs=dict.fromkeys(front.behind, before)))
        house = House(stage, database=database, front=front)
        report = asyncio.run(Upgrade(house, before, arguments.seed).run())
    say(json.dumps({"release": commit, **report}))
    if report["findings"]:
        say(f"the folders are kept: {folder}")
        return 1
    shutil.rmtree(folder)
    return 0


def built(commit: str, home: Path) -> Path:
    """Build the service of a commit with its own environment and engine, below `home`; built once."""
    tree = home / f"service-{commit}"
    program = tree / ".venv" / "bin" / "headrace"
    ready = tree / ".venv" / ".ready-to-serve"
    if ready.exists():
        return program
    profile = os.environ.get("PROFILE", "release")
    engine = ".venv/.engine" + ("" if profile == "release" else f"-{profile}")
    if not tree.exists():
        git = ("git", "-C", str(REPOSITORY), "worktree", "add", "--quiet", "--detach", "--force", str(tree), commit)
        subprocess.run(git, check=True, timeout=60)
    say(f"building the service of {commit} (some minutes)")
    (tree / "engine" / "target").mkdir(exist_ok=True)  # its log is written there, also when cargo builds elsewhere
    command = ("make", f"PROFILE={profile}", ".venv/.members", engine)
    subprocess.run(command, cwd=tree, check=True, timeout=BUILD_LIMIT_S)
    ready.parent.mkdir(exist_ok=True)
    ready.touch()
    return program


@dataclass
class Caller:
    """Somebody who looks through lists all the time, whichever process answers."""

    house: House
    over: asyncio.Event
    calls: int = 0
    longest_s: float = 0.0
    now: str = "has not begun"

    async def work(self) -> None:
        self.now = "looks through lists"
        async with self.house.person("admin") as port:
            while not self.over.is_set():
                for call in (port.me, port.nodes, port.transfer_counts, port.plan_counts, port.health):
                    began = time.monotonic()
                    await self.house.insist(call)
                    self.calls += 1
                    self.longest_s = max(self.longest_s, time.monotonic() - began)
                await asyncio.sleep(0.05)
        self.now = "has finished"


@dataclass
class Upgrade:
    """One upgrade, and what was found."""

    house: House
    before: Path
    """`headrace` of the earlier release, with which the site begins."""
    seed: int
    book: Book = field(default_factory=Book)
    without_nodes_s: float = 0.0

    async def run(self) -> dict[str, object]:
        """Upgrade first whoever passes on, then whoever leads, while people work; then see that nobody goes back."""
        began = time.monotonic()
        await self.house.open()
        nodes = {name: self.house.stage.processes[name].pid for name in NODES}
        chance, over = random.Random(self.seed), asyncio.Event()  # noqa: S311 - repeatable on purpose
        moments = Moments()
        caller = Caller(self.house, over)
        workers: list[Mover | Publishers | Caller] = [
            Mover(name, self.house, moments, self.book, random.Random(chance.getrandbits(32)), over)  # noqa: S311
            for name in ("ada", "ben")
        ]
        workers.append(Publishers(self.house, moments, self.book, random.Random(chance.getrandbits(32)), over))  # noqa: S311
        workers.append(caller)
        tasks = [asyncio.create_task(one.work()) for one in workers]
        states = [await self._worked("both are of before", tasks)]
        first = self.house.leader()
        other = next(name for name in self._names() if name != first)
        await self._becomes_todays(other)
        self._leads(first, "the other one was upgraded")
        states.append(await self._worked("one of today passes on to one of before", tasks))
        await self._ended(first)
        upgraded = time.monotonic()
        await self.house.attached()
        self.without_nodes_s = time.monotonic() - upgraded
        self._leads(other, f"{first} ended")
        states.append(await self._worked("one of today leads alone", tasks))
        await self._started(first, HEADRACE)
        states.append(await self._worked("both are of today", tasks))
        over.set()
        await until_ended(self.house)
        _, late = await asyncio.wait(tasks, timeout=END_LIMIT_S)
        for task, worker in zip(tasks, workers, strict=True):
            if task in late:
                task.cancel()
                self.book.findings.append(f"{END_LIMIT_S:.0f} s after the upgrade somebody still {worker.now}")
            elif error := task.exception():
                self.book.findings.append(f"while somebody {worker.now}: {error!r}")
        self._often()
        for name, pid in nodes.items():
            if self.house.stage.processes[name].poll() is not None or self.house.stage.processes[name].pid != pid:
                self.book.findings.append(f"the node {name} did not live through the upgrade")
        refused = await self._no_way_back(first, other)
        counted = await judge(self.house, self.book)
        again = {f"{often} times": count for often, count in sorted(self.house.repeated.items()) if often}
        return {
            "seed": self.seed,
            "seconds": round(time.monotonic() - began, 1),
            "transfers_ended_while": dict(states),
            **counted,
            "ended": self.book.ended,
            "policies_published": self.book.published,
            "lists_looked_at": caller.calls,
            "longest_call_s": round(caller.longest_s, 1),
            "calls_made_again": again,
            "without_nodes_s": round(self.without_nodes_s, 1),
            "earlier_process_refuses_after_s": round(refused, 1),
            "load": round(os.getloadavg()[0], 1),
            "findings": self.book.findings,
        }

    def _names(self) -> list[str]:
        assert self.house.front is not None
        return list(self.house.front.behind)

    def _leads(self, name: str, after: str) -> None:
        if (leader := self.house.leader()) != name:
            self.book.findings.append(f"after {after}, {leader} leads and not {name}")

    async def _worked(self, state: str, tasks: Sequence["asyncio.Task[None]"]) -> tuple[str, int]:
        """Let people work until some transfers have ended, and say how many."""
        before = self.book.ended.total()
        limit = time.monotonic() + STEP_LIMIT_S
        while (ended := self.book.ended.total() - before) < ENDED_EACH_STEP:
            if time.monotonic() > limit or any(task.done() for task in tasks):
                self.book.findings.append(f"while {state}, {ended} transfers ended in {STEP_LIMIT_S:.0f} s")
                break
            await asyncio.sleep(0.1)
        say(f"  {state}: {ended} transfers ended")
        return state, ended

    async def _ended(self, name: str) -> None:
        if (code := await asyncio.to_thread(self.house.stage.end, name)) != 0:
            self.book.findings.append(f"{name} was asked to end, and ended with {code}")

    async def _started(self, name: str, program: Path) -> None:
        self.house.stage.programs[name] = program
        await asyncio.to_thread(self.house.start, name)

    async def _becomes_todays(self, name: str) -> None:
        await self._ended(name)
        await self._started(name, HEADRACE)

    def _often(self) -> None:
        for often, count in self.house.repeated.items():
            if often > 1:
                self.book.findings.append(f"{count} calls had to be made again {often} times")

    async def _no_way_back(self, one: str, leads: str) -> float:
        """Start `one` in the earlier release: it may pass on, and ends by itself when it is to lead.

        Returns how many seconds after the leader's end it ended.
        """
        stage, today = self.house.stage, HEADRACE
        await self._ended(one)
        await self._started(one, self.before)
        async with self.house.person("admin") as port:
            await self.house.insist(port.me)
        await self._ended(leads)
        began = time.monotonic()
        try:
            code = await asyncio.to_thread(stage.processes[one].wait, STEP_LIMIT_S)
        except subprocess.TimeoutExpired as error:
            message = f"{one}, of before, did not end on a database of today"
            raise DemoError(message) from error
        took_s = time.monotonic() - began
        said = await asyncio.to_thread((stage.folder / f"{one}.log").read_text, encoding="utf-8")
        if code == 0 or REFUSES not in said:
            self.book.findings.append(f"{one}, of before, ended with {code} and said: {said[-500:]}")
        async with self.house.person("admin") as port:
            try:
                await port.me()
                self.book.findings.append("somebody answered without a process of today")
            except HeadraceError as error:
                if error.problem.code not in AWAY:
                    raise
        for name in (one, leads):
            await self._started(name, today)
        await self.house.attached()
        return took_s


if __name__ == "__main__":
    sys.exit(main())
