"""Plant what limits transfers on real nodes, ask what limits them, and follow the advice.

make lab-verdicts                               each bottleneck and pairs of them, with values that were not used before
.venv/bin/python -m benchmarks.verdicts --seed tuning --each 1 --pairs 0 --only loss path

The hosts are those of `headrace lab`; disks are loop devices that the kernel limits (blk-throttle), processors and
socket memory are limited by control groups of version 1: of the node alone, never of the machine. Needs root. Data
and table are kept in `docs/benchmarks/`, unless `--out` says where. It shares its machine, so that only verdicts and
ratios count.
"""

import argparse
import asyncio
import json
import shutil
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from demo.stage import say

from benchmarks.lab import Host, lab
from benchmarks.machine import moment
from benchmarks.verdicts.hosts import every_congestion_control
from benchmarks.verdicts.house import DESTINATION, SOURCE, opened
from benchmarks.verdicts.plants import Plant, drawn
from benchmarks.verdicts.remedies import followed
from benchmarks.verdicts.report import Result, table, wrong

REPOSITORY = Path(__file__).parents[2]
AT_ONCE = 31
"""Runs of one lab that move data: each has two of its 64 hosts. The engine's threads stay where they began."""
LEAST_RIGHT = 0.95


def main() -> int:
    """Run them all; 0 when 95 % of the verdicts are right and every advice helped."""
    parser = argparse.ArgumentParser(
        prog="make lab-verdicts", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", default="", help="chooses the values (default: those of this moment)")
    parser.add_argument("--each", type=int, default=2, help="runs of each bottleneck (default 2)")
    parser.add_argument("--pairs", type=int, default=5, help="pairs of bottlenecks (default 5)")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="these bottlenecks alone")
    parser.add_argument("--no-remedies", action="store_true", help="do not follow the advice")
    parser.add_argument("--memory", type=Path, default=Path("/dev/shm"), help="a folder in memory (default /dev/shm)")  # noqa: S108
    parser.add_argument("--out", type=Path, default=REPOSITORY / "docs" / "benchmarks", help="folder for the data")
    arguments = parser.parse_args()
    # A run that is told to end takes back what it planted.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    seed = arguments.seed or f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
    plants = drawn(seed, arguments.each, arguments.pairs, frozenset(arguments.only))
    results: list[Result] = []
    if not plants or len(_moving(plants)) > AT_ONCE:
        parser.error(f"{len(_moving(plants))} runs; one lab takes 1 to {AT_ONCE}: use another seed for more")
    folder = Path(tempfile.mkdtemp(prefix="headrace-verdicts-", dir=arguments.memory))
    try:
        with every_congestion_control(), lab("hub", *_hosts(_moving(plants))) as (hub, *hosts), hub.entered():
            every = run_all(folder, plants, hub, hosts, remedies=not arguments.no_remedies)
            asyncio.run(_collected(every, results, lambda: keep(arguments.out, seed, results)))
    finally:
        shutil.rmtree(folder)
    say(f"\nSeed `{seed}`\n\n{table(results)}\n\n{wrong(results)}")
    right = sum(result.is_right for result in results) >= LEAST_RIGHT * len(results)
    return 0 if right and all(result.helped is not False for result in results) else 1


def keep(folder: Path, seed: str, results: list[Result]) -> None:
    """Write what is known so far: a run takes long, and may be ended."""
    folder.mkdir(parents=True, exist_ok=True)
    data = {
        **moment(),
        "seed": seed,
        "runs": [result.data() for result in results],
    }
    (folder / "verdicts.json").write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


async def _collected(every: AsyncIterator[Result], results: list[Result], told: Callable[[], None]) -> None:
    async for result in every:
        results.append(result)
        say(f"{datetime.now(UTC):%H:%M:%S} {result.line()}")
        told()


def _moving(plants: list[Plant]) -> list[Plant]:
    """Return those that need hosts of their own: what waits for its hours moves nothing, and has the first ones."""
    return [plant for plant in plants if not plant.shut] or plants[:1]


def _hosts(plants: list[Plant]) -> list[str]:
    """Of each run a source behind the line, then of each a destination."""
    sources = [
        f"s{number}:rtt={plant.round_trip_ms:.1f}ms,rate={plant.rate_bps // 1000}kb/s,loss={plant.loss_percent:.4f}%,"
        f"queue={max(64, plant.queue_bytes // 1024)}KiB"
        for number, plant in enumerate(plants)
    ]
    return sources + [f"d{number}" for number in range(len(plants))]


async def run_all(
    folder: Path, plants: list[Plant], hub: Host, hosts: Sequence[Host], *, remedies: bool
) -> AsyncIterator[Result]:
    """Run these, one after another, under one service."""
    half = len(hosts) // 2
    pairs = [
        {SOURCE: source, DESTINATION: destination}
        for source, destination in zip(hosts[:half], hosts[half:], strict=True)
    ]
    own = iter(pairs)
    async with opened(folder, hub, pairs[0]) as house:
        for plant in plants:
            pair = pairs[0] if plant.shut else next(own)
            await house.place(plant, pair)
            seen = await house.move(plant)
            now = await followed(house, plant, seen.live) if remedies and len(plant.right) == 1 else None
            result = Result(plant, seen, await house.move(now) if now else None)
            yield result


if __name__ == "__main__":
    sys.exit(main())
