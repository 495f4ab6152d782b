"""What it costs that many people watch for changes at the same time; part of `make bench ARGS=--lists`."""

import asyncio
import statistics
from collections import Counter, defaultdict
from collections.abc import Mapping
from contextlib import aclosing
from time import perf_counter, process_time
from typing import Final

from tests.servers.counted import counted
from tests.servers.site import Site

from headrace.client import models as m

WATCHERS: Final = 1000
_CHANGES: Final = 10
_LIMIT_S: Final = 120.0
_QUIET_S: Final = 30.0
"""Two heartbeats, at which each watcher's rights are looked at again."""


class _Heard:
    """Which changes how many of the watchers have heard of."""

    def __init__(self, watchers: int) -> None:
        self._watchers = watchers
        self._counts: Counter[tuple[str, str]] = Counter()
        self._all: defaultdict[tuple[str, str], asyncio.Event] = defaultdict(asyncio.Event)

    async def listen(self, site: Site) -> None:
        """Watch until it is ended."""
        async with aclosing(site.ada.port.changes()) as changes:
            async for change in changes:
                key = (change.subject or "", change.kind)
                self._counts[key] += 1
                if self._counts[key] % self._watchers == 0:
                    self._all[key].set()

    async def by_all(self, subject: str, kind: m.ChangeKind) -> None:
        """Wait until each watcher has heard once more of this."""
        key = (subject, kind.value)
        async with asyncio.timeout(_LIMIT_S):
            await self._all[key].wait()
        self._all[key].clear()


async def measure_watchers(site: Site) -> Mapping[str, object]:
    """Let one and then many watch, make changes that each of them sees, and wait without any."""
    alone = await _told(site, 1)
    together = await _told(site, WATCHERS)
    return {"1": alone, f"{WATCHERS}": together}


async def _told(site: Site, count: int) -> dict[str, object]:
    heard = _Heard(count)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(heard.listen(site)) for _ in range(count)]
        await heard.by_all("", m.ChangeKind.NOW)
        with counted() as quiet:
            cpu_s, began = process_time(), perf_counter()
            await asyncio.sleep(_QUIET_S)
            quiet_cpu_s, quiet_s, quiet_statements = process_time() - cpu_s, perf_counter() - began, quiet.statements
        told_ms, cpu_ms, statements = [], [], []
        for _ in range(_CHANGES):
            with counted() as reached:
                cpu_s, began = process_time(), perf_counter()
                halt = await site.ada.port.halt(m.HaltRequest(scope="agent", subject="nobody", reason="measured"))
                await heard.by_all(halt.id, m.ChangeKind.HALT)
                told_ms.append((perf_counter() - began) * 1000)
                cpu_ms.append((process_time() - cpu_s) * 1000)
                statements.append(reached.statements)
            await site.ada.port.release_halt(halt.id)
            await heard.by_all(halt.id, m.ChangeKind.HALT)
        for task in tasks:
            task.cancel()
    return {
        "all_told_ms": round(statistics.median(told_ms), 1),
        "processor_ms_a_change": round(statistics.median(cpu_ms), 1),
        "statements_a_change": statistics.median(statements),
        "quiet_statements_a_second": round(quiet_statements / quiet_s, 1),
        "quiet_processor_percent": round(100 * quiet_cpu_s / quiet_s, 1),
    }
