"""Let a hostile client walk: `python -m tests.slow.hostile --steps 100000 --seed 7`.

The last line is a JSON object; it ends with 1 when there are findings, and keeps its folders then.
"""

import argparse
import asyncio
import json
import random
import secrets
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path

from demo.stage import REPOSITORY, Stage, say
from tests.slow.hostile import doors
from tests.slow.hostile.client import GOALS, Book, Hostile
from tests.slow.hostile.honest import Honest, prints, token
from tests.slow.hostile.verdict import in_logs, judge, missed, ran_in
from tests.slow.kill_service.house import PASSWORD, House

from headrace.api.data_folder import STORE

WALKERS = 6
AGREES_EVERY = 60
"""After so many steps people agree to a plan."""
PUBLISHES_EVERY = 1500
PEOPLE = {
    "ada": "requester", "mal": "requester", "eve": "requester", "apa": "approver", "pam": "policy_admin",
    "pia": "policy_admin",
}  # fmt: skip


def main() -> int:
    """Run the walk that the command line asks for."""
    parser = argparse.ArgumentParser(prog="make hostile", description=__doc__)
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--minutes", type=float, default=24 * 60, help="end after so long, if that is sooner")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1 << 31))
    parser.add_argument("--report", type=Path, help="write the report there, too")
    arguments = parser.parse_args()
    say(f"a hostile client of {arguments.steps} steps, seed {arguments.seed}")
    home = REPOSITORY / ".demo"
    home.mkdir(exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="hostile-", dir=home))
    began = time.monotonic()
    with Stage(folder) as stage:
        house = House(stage, PEOPLE)
        chance = random.Random(arguments.seed)  # noqa: S311 - repeatable on purpose
        book, honest, changed = asyncio.run(walk(house, chance, arguments.steps, arguments.minutes))
    report = _report(book, honest, changed, folder) | {
        "seed": arguments.seed,
        "seconds": round(time.monotonic() - began),
    }
    if arguments.report:
        arguments.report.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    say(json.dumps(report))
    if report["findings"]:
        say(f"the folders are kept: {folder}")
        return 1
    shutil.rmtree(folder)
    return 0


async def walk(house: House, chance: random.Random, steps: int, minutes: float) -> tuple[Book, Honest, list[str]]:
    """Let hostile clients walk among people; return what happened, and what changed of what never may."""
    await house.open()
    book = Book()
    honest = Honest(house, book, chance)
    await honest.begin()
    kept = (house.lab, house.archive / "precious")
    before = [prints(folder) for folder in kept]
    async with AsyncExitStack() as stack:
        opened = await _doors(house, stack)
        walkers = [Hostile(chance.getrandbits(32), opened, book) for _ in range(WALKERS)]
        over = time.monotonic() + minutes * 60
        goes_on = lambda: book.steps.total() < steps and time.monotonic() < over  # noqa: E731 - two lines of its own
        await asyncio.gather(*(_walks(walker, goes_on) for walker in walkers), _live(honest, book, goes_on))
    after = [prints(folder) for folder in kept]
    changed = [
        f"{folder.name}/{name}{'' if name in now else ' is gone'}"
        for folder, was, now in zip(kept, before, after, strict=True)
        for name in sorted(was.keys() | now.keys())
        if was.get(name) != now.get(name)
    ]
    return book, honest, changed


async def _walks(walker: Hostile, goes_on: Callable[[], bool]) -> None:
    while goes_on():
        await walker.step()


async def _live(honest: Honest, book: Book, goes_on: Callable[[], bool]) -> None:
    """Let people agree and publish as the steps go by."""
    agreed, published, said = 0, 0, time.monotonic()
    while goes_on():
        now = book.steps.total()
        if now - agreed >= AGREES_EVERY:
            agreed = now
            await honest.agree()
        if now - published >= PUBLISHES_EVERY:
            published = now
            await honest.publish()
        if time.monotonic() - said > 60:
            said = time.monotonic()
            say(f"  {now} steps, reached {dict(book.reached)}, {len(book.findings)} findings")
        await asyncio.sleep(0.05)


async def _doors(house: House, stack: AsyncExitStack) -> list[tuple[doors.Door, int]]:
    """Open every door: an assistant's tokens of somebody honest, a token that was revoked, and own sessions."""
    url = house.url
    async with house.person("ada") as ada:
        secret = {name: await token(ada, name) for name in ("rest", "modern", "older", "shell")}
        gone = await token(ada, "gone", revoked=True)
    enter = stack.enter_async_context
    return [
        (await enter(doors.rest("assistant by REST", url, secret["rest"])), 32),
        (doors.Assistant("assistant by mcp 2026-07-28", url, secret["modern"], "auto"), 15),
        (doors.Assistant("assistant by mcp 2025-11-25", url, secret["older"], "legacy"), 15),
        (await enter(doors.terminal("assistant by command", url, secret["shell"], house.stage.folder / "shell")), 4),
        (await enter(doors.rest("person mal", url, house.secrets["mal"], PASSWORD)), 18),
        (await enter(doors.rest("person eve", url, house.secrets["eve"], PASSWORD)), 14),
        (await enter(doors.rest("revoked token", url, gone)), 2),
    ]


def _report(book: Book, honest: Honest, changed: list[str], folder: Path) -> dict[str, object]:
    ran = ran_in(folder / "service" / STORE)
    verdict = judge(book, ran, honest.traps, changed, in_logs(folder))
    steps = book.steps.total()
    return {
        "steps": steps,
        "steps_by_door": dict(book.steps.most_common()),
        "reached": {goal: book.reached[goal] for goal in GOALS},
        "unapproved_bytes": verdict.unapproved_bytes,
        "unapproved_deletes": verdict.unapproved_deletes,
        "unhandled_errors": verdict.unhandled_errors,
        "transfers": len(ran),
        "transfers_with_a_yes": sum(bool(one.obligations) for one in ran),
        "plans_agreed_to": honest.agreed,
        "of_these_changed_before_the_yes": sum(trap.drifted and trap.agreed is not None for trap in honest.traps),
        "policies_published": honest.published,
        "answers": dict(book.codes.most_common()),
        "findings": [*verdict.findings, *missed(book.reached, steps)],
    }


if __name__ == "__main__":
    sys.exit(main())
