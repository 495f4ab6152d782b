"""What a call costs through a process that passes it on to the one that leads; `make bench ARGS=--passing-on`.

Two processes of one site on PostgreSQL run as on a site. The same calls go to the leader and to the other process in
turns, by connections that are kept. Wall times depend on what else the machine does; the ratio and the processor time
of both processes do so less. Figures are kept in `docs/benchmarks/passing_on.json`.
"""

import asyncio
import json
import os
import statistics
import tempfile
from collections.abc import Mapping
from pathlib import Path
from time import perf_counter
from typing import Final

import httpx2
from demo.stage import REPOSITORY, say
from tests.servers.many import Many, many
from tests.servers.postgres import postgres_running

from benchmarks.machine import moment

KEPT: Final = REPOSITORY / "docs" / "benchmarks" / "passing_on.json"
_CALLS: Final[Mapping[str, str]] = {"me": "/me", "transfers": "/transfers", "audit, 200": "/audit?limit=200"}
_WARM_UP: Final = 10
_TICK_MS: Final = 1000 / os.sysconf("SC_CLK_TCK")


def measure_passing_on(calls: int) -> None:
    """Measure, print, and keep the figures."""
    with tempfile.TemporaryDirectory(prefix="headrace-passing-") as name, postgres_running() as postgres:
        found = asyncio.run(_measure(Path(name), postgres.database(), calls))
    kept = {
        **moment(),
        "calls": calls,
        "of": found,
    }
    KEPT.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    say(json.dumps(kept))


async def _measure(folder: Path, database: str, calls: int) -> Mapping[str, object]:
    async with many(folder, database) as site:
        for name in ("one", "two"):
            await asyncio.to_thread(site.start, name)
        await site.first_admin("two")
        leader, other = site.roles()
        return {name: await _call(site, (leader, other), path, calls) for name, path in _CALLS.items()}


async def _call(site: Many, names: tuple[str, str], path: str, calls: int) -> Mapping[str, object]:
    """Return wall and processor times of a call, at the leader and at the other one."""
    walls: dict[str, list[float]] = {name: [] for name in names}
    spent: dict[str, float] = dict.fromkeys(names, 0.0)
    headers = {"authorization": f"Bearer {site.secret}"}
    async with httpx2.AsyncClient(headers=headers, timeout=60) as client:
        for turn in range(_WARM_UP + calls):
            for name in names:
                before, begin = sum(_processor_ms(site, one) for one in names), perf_counter()
                answer = await client.get(f"{site.processes[name].url}/api/v1{path}")
                took_ms = (perf_counter() - begin) * 1000
                answer.raise_for_status()
                if turn >= _WARM_UP:
                    walls[name].append(took_ms)
                    spent[name] += sum(_processor_ms(site, one) for one in names) - before
    leader, other = names
    return {
        "at the leader": _spread(walls[leader], spent[leader]),
        "passed on": _spread(walls[other], spent[other]),
        "times": round(statistics.median(walls[other]) / statistics.median(walls[leader]), 2),
    }


def _spread(walls: list[float], spent_ms: float) -> Mapping[str, float]:
    return {
        "p50_ms": round(statistics.median(walls), 2),
        "p99_ms": round(sorted(walls)[min(len(walls) - 1, int(len(walls) * 0.99))], 2),
        "processor_ms": round(spent_ms / len(walls), 2),
    }


def _processor_ms(site: Many, name: str) -> float:
    """Return the processor time of a process so far; its ticks are coarse, and add up over many calls."""
    fields = Path(f"/proc/{site.processes[name].popen.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * _TICK_MS
