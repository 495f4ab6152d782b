"""Run a campaign: `python -m tests.slow.kill_service --kills 200 --seed 7`.

The last line but one is a JSON object; it ends with 1 when there are findings, and keeps its folders then.
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
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

from demo.stage import REPOSITORY, Stage, say
from tests.servers.postgres import postgres_running
from tests.slow.kill_service.front import front_of
from tests.slow.kill_service.house import House
from tests.slow.kill_service.verdict import (
    END_LIMIT_S,
    MUST_BE_HIT,
    judge,
    late_nodes,
    missed,
    nodes_back,
    service_kills,
    taken_over,
    until_ended,
)
from tests.slow.kill_service.work import Book, Moments, Mover, Publishers

MOMENTS = {
    "planning": 0.3,
    "submitting": 0.2,
    "running": 0.6,
    "ending": 0.3,
    "publishing": 0.1,
    "steering": 0.2,
    "anything": 1.5,
}
"""What begins before a kill, and within how many seconds after it the kill comes."""
VICTIMS = {("service",): 7, ("left",): 1, ("right",): 1, ("left", "right"): 1, ("service", "left", "right"): 1}
"""Who is killed, and how often of eleven times."""
MOMENT_LIMIT_S = 5.0

Killed = tuple[tuple[str, ...], str]
"""Who was killed, and at which moment."""


def main() -> int:
    """Run the campaign that the command line asks for."""
    parser = argparse.ArgumentParser(prog="make campaign", description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1 << 31))
    parser.add_argument("--store", choices=["sqlite", "postgresql"], default="sqlite")
    parser.add_argument("--processes", type=int, choices=[1, 2], default=1, help="of the service; 2 take PostgreSQL")
    arguments = parser.parse_args()
    if arguments.processes > 1 and arguments.store != "postgresql":
        parser.error("several processes are one site on PostgreSQL only: give --store postgresql, too")
    say(
        f"campaign of {arguments.kills} kills of the service ({arguments.processes} processes, {arguments.store}), "
        f"seed {arguments.seed}"
    )
    home = REPOSITORY / ".demo"
    home.mkdir(exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="campaign-", dir=home))
    with ExitStack() as opened:
        postgresql = arguments.store == "postgresql"
        database = opened.enter_context(postgres_running()).database() if postgresql else ""
        names = [f"service-{number + 1}" for number in range(arguments.processes)]
        front = opened.enter_context(front_of(folder, names)) if len(names) > 1 else None
        stage = opened.enter_context(Stage(folder))
        report = asyncio.run(campaign(House(stage, database=database, front=front), arguments.kills, arguments.seed))
    say(json.dumps(report))
    if report["findings"]:
        say(f"the folders are kept: {folder}")
        return 1
    shutil.rmtree(folder)
    return 0


async def campaign(house: House, kills: int, seed: int) -> dict[str, object]:
    """Let people work, kill processes under them, and return the report."""
    began, chance = time.monotonic(), _dice(seed)
    await house.open()
    moments, book, over = Moments(), Book(), asyncio.Event()
    workers: list[Mover | Publishers] = [
        Mover(name, house, moments, book, _dice(chance.getrandbits(32)), over) for name in ("ada", "ben")
    ]
    workers.append(Publishers(house, moments, book, _dice(chance.getrandbits(32)), over))
    tasks = [asyncio.create_task(one.work()) for one in workers]
    killed = await _kill(house, moments, chance, kills)
    over.set()
    await until_ended(house)
    _, late = await asyncio.wait(tasks, timeout=END_LIMIT_S)
    for task, worker in zip(tasks, workers, strict=True):
        if task in late:
            task.cancel()
            book.findings.append(f"{END_LIMIT_S:.0f} s after the last kill somebody still {worker.now}")
        elif error := task.exception():
            book.findings.append(f"while somebody {worker.now}: {error!r}")
    await asyncio.gather(*tasks, return_exceptions=True)
    counted = await judge(house, book)
    hit = service_kills(killed)
    book.findings += missed(hit) + late_nodes(house.back)
    return {
        "seed": seed,
        "kills": {"of_the_service": sum(hit.values()), "of_nodes_alone": killed.total() - hit.total()},
        "seconds": round(time.monotonic() - began, 1),
        "killed": {f"{'+'.join(victims)} at {moment}": count for (victims, moment), count in killed.items()},
        "moments": dict.fromkeys(MUST_BE_HIT, 0) | hit,
        "moments_missed": [moment for moment in MUST_BE_HIT if not hit[moment]],
        **counted,
        "planned": book.planned,
        "ended": book.ended,
        "policies_published": book.published,
        "unanswered": book.unanswered,
        "nodes_back_s": nodes_back(house.back),
        **({} if house.front is None else taken_over(house.taken_over_s, house.repeated)),
        "findings": book.findings,
    }


async def _kill(house: House, moments: Moments, chance: random.Random, kills: int) -> Counter[Killed]:
    """Kill until the service was killed so often; kills of nodes alone come on top."""
    killed: Counter[Killed] = Counter()
    while (number := service_kills(killed).total()) < kills:
        moment = chance.choice(list(MOMENTS))
        victims = chance.choices(list(VICTIMS), list(VICTIMS.values()))[0]
        if moment != "anything" and not await moments.next(moment, MOMENT_LIMIT_S):
            moment = "anything"
        # The point of a campaign: the kill comes at any moment from here on.
        await asyncio.sleep(chance.uniform(0, MOMENTS[moment]))
        await house.kill(_processes(house, victims, chance))
        killed[victims, moment] += 1
        if "service" in victims and (number + 1) % 10 == 0:
            say(f"  {number + 1} of {kills}")
    return killed


def _processes(house: House, victims: tuple[str, ...], chance: random.Random) -> tuple[str, ...]:
    """Say which processes die: of several processes of the service one, which leads or not."""
    if house.front is None:
        return victims
    one = chance.choice(list(house.front.behind))
    return tuple(one if name == "service" else name for name in victims)


def _dice(seed: int) -> random.Random:
    return random.Random(seed)  # noqa: S311 - repeatable on purpose


if __name__ == "__main__":
    sys.exit(main())
