"""How long each list, detail and inbox call takes among years of transfers; run by `make bench ARGS=--lists`.

The service runs in this process, its store is filled with copies of one real transfer, and each call goes through the
REST application, signing in, checking and writing JSON included, without a network.
"""

import asyncio
import json
import os
import platform
import statistics
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, Final

import httpx2
from demo.stage import REPOSITORY, say
from tests.servers.filled import GROUP, Filling, fill
from tests.servers.postgres import postgres_running
from tests.servers.site import Person, Site, started_site

from benchmarks.watchers import WATCHERS, measure_watchers
from headrace.api.app.web import create_app
from headrace.api.http.guard import Origins
from headrace.api.settings import Settings
from headrace.api.store.address import store_url
from headrace.client import models as m

TARGET_MS: Final = 50
_Times = tuple[float, float, float]
"""Of one call in ms: median, 99th percentile, and the median of the service's processor time (all its threads)."""
_HOST: Final = "127.0.0.1:8470"
_WARM_UP: Final = 5
_KEPT: Final = REPOSITORY / "docs" / "benchmarks" / "lists.json"

_EVERYBODYS: Final[Mapping[str, str]] = {
    "transfers": "transfers",
    "transfers, oldest first": "transfers?order=oldest",
    "transfers, 200": "transfers?limit=200",
    "transfers of one state": "transfers?states=failed",
    "transfers of three states": "transfers?states=failed,partial,complete",
    "transfers of an endpoint": "transfers?endpoint=e0",
    "transfers of a seldom used endpoint, one state": "transfers?endpoint=e19&states=canceled",
    "transfers of a label": "transfers?label=site%3Dnorth",
    "transfers of a person": "transfers?person=person+1",
    "transfers of a person, two states": "transfers?person=person+1&states=failed,partial",
    "transfers of an assistant": "transfers?agent=claude",
    "transfers of a person and an endpoint": "transfers?person=person+49&endpoint=e19",
    "transfers of a month": "transfers?since={since}&until={until}",
    "counts": "transfers/counts",
    "counts of an endpoint": "transfers/counts?endpoint=e0",
    "plans of a person": "plans?person=person+1",
    "events": "audit?order=newest",
    "events of a kind": "audit?kind=submitted&order=newest",
    "events of a person and a month": "audit?person=person+1&since={since}&until={until}",
    "events about a transfer": "audit?subject={transfer}",
    "transfer": "transfers/{transfer}",
    "transfer by the beginning of its id": "transfers/{beginning}",
    "history": "transfers/{transfer}/events?order=newest",
    "plan": "plans/{plan}",
}
_OWN: Final[Mapping[str, str]] = {
    "own transfers": "transfers",
    "own transfers of one state": "transfers?states=failed",
    "own counts": "transfers/counts",
    "own plans": "plans",
    "own plans of two states": "plans?states=ready,expired",
    "plan counts": "plans/counts",
}
_APPROVERS: Final[Mapping[str, str]] = {
    "inbox": "plans?awaiting_me=true",
    "counts of the inbox": "plans/counts",
    "transfers that needed the group": "transfers",
    "counts of them": "transfers/counts",
}
_SEARCHED: Final[Mapping[str, str]] = {
    "transfers by a word that most have": "transfers?search=data",
    "transfers by a word that few have": "transfers?search=abcdef&limit=1",
}
"""A search looks at the newest 200,000 rows, one by one: it is shown, and has no target."""


def measure_lists(home: Path, *, transfers: int, events_each: int, calls: int, postgresql: bool) -> None:
    """Fill a store, call everything, print the table, and keep the figures beside those of the other store."""
    with tempfile.TemporaryDirectory(prefix="headrace-lists-", dir=home) as name:
        found, watchers = asyncio.run(_measure(Path(name), Filling(
            transfers=transfers, events_each=events_each, until=datetime.now(UTC)
        ), calls, postgresql=postgresql))  # fmt: skip
    store = "postgresql" if postgresql else "sqlite"
    kept = json.loads(_KEPT.read_text(encoding="utf-8")) if _KEPT.exists() else {}
    kept[store] = {
        "measured": f"{datetime.now(UTC):%Y-%m-%dT%H:%MZ}",
        "kernel": platform.release(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "transfers": transfers,
        "events": transfers * events_each,
        "calls": calls,
        "ms": found,
        "watchers": watchers,
    }
    _KEPT.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    _KEPT.with_suffix(".md").write_text(_page(kept), encoding="utf-8")
    say(f"\n{store}: {transfers:,} transfers, {transfers * events_each:,} events, {calls} calls each\n")
    say("| call | p50 ms | p99 ms | processor ms | |\n| --- | --- | --- | --- | --- |")
    for call, (half, most, cpu) in found.items():
        said = "" if call in _SEARCHED or most <= TARGET_MS else f"over {TARGET_MS}"
        say(f"| {call} | {half:.1f} | {most:.1f} | {cpu:.1f} | {said} |")
    say(json.dumps(watchers))


def _page(kept: Mapping[str, Any]) -> str:
    """Return the page with the figures of every store that was measured."""
    stores = sorted(kept, reverse=True)
    lines = [
        "# Lists among many transfers",
        "",
        "Written by `make bench ARGS=--lists`; [benchmarks.md](../benchmarks.md#lists) says what it means.",
        "",
    ]
    for store in stores:
        of = kept[store]
        size = f"{of['transfers']:,} transfers, {of['events']:,} events, {of['calls']} calls of each"
        lines.append(f"* {store}: {of['measured']}, {size}, load {of['load']} on {of['cores']} processors")
    titles = " | ".join(f"{store}: p50 ms | p99 ms | processor ms" for store in stores)
    lines += ["", f"| call | {titles} |", "| --- |" + " --- |" * (3 * len(stores))]
    for call in dict.fromkeys(call for store in stores for call in kept[store]["ms"]):
        figures = [figure for store in stores for figure in kept[store]["ms"].get(call, ["", "", ""])]
        lines.append(f"| {call} | {' | '.join(map(str, figures))} |")
    lines += [
        "",
        "| people who watch | store | all told after, ms | processor ms of a change | statements of a change |",
    ]
    lines.append("| --- |" + " --- |" * 4)
    for store in stores:
        for count, of in kept[store]["watchers"].items():
            figures = [of["all_told_ms"], of["processor_ms_a_change"], of["statements_a_change"]]
            lines.append(f"| {count} | {store} | {' | '.join(map(str, figures))} |")
    return "\n".join(lines) + "\n"


async def _measure(
    folder: Path, filling: Filling, calls: int, *, postgresql: bool
) -> tuple[dict[str, _Times], Mapping[str, object]]:
    async with AsyncExitStack() as stack:
        database = stack.enter_context(postgres_running()).migrated() if postgresql else ""
        settings = Settings(database=database, max_watchers=WATCHERS, max_watchers_of_one=WATCHERS)
        site = await stack.enter_async_context(started_site(folder, settings))
        await site.start_both()
        transfer = await _one(site)
        await site.service.close()
        began = perf_counter()
        await asyncio.to_thread(fill, store_url(site.settings.database, site.settings.data), filling)
        say(f"filled in {perf_counter() - began:.0f} s")
        await site.restart()
        olga = await site.person("olga", "operator", "auditor")
        stewart = await site.person("stewart", "requester", "approver")
        await site.ada.port.update_person(stewart.principal.id, m.PersonUpdate(groups=[GROUP]))
        until = filling.until.replace(microsecond=0) - timedelta(days=180)
        words = {
            "transfer": transfer.id,
            "beginning": transfer.id[:20],
            "plan": transfer.plan,
            "since": (until - timedelta(days=30)).isoformat().replace("+", "%2B"),
            "until": until.isoformat().replace("+", "%2B"),
        }
        found: dict[str, _Times] = {}
        for person, asked in ((olga, _EVERYBODYS), (site.ada, _OWN), (stewart, _APPROVERS), (olga, _SEARCHED)):
            found |= await _call(site, person, {name: path.format_map(words) for name, path in asked.items()}, calls)
        return found, await measure_watchers(site)


async def _one(site: Site) -> m.Transfer:
    (site.lab / "set").mkdir()
    (site.lab / "set" / "a.bin").write_bytes(b"a" * 1_000_000)
    return await site.ada.end_of(await site.ada.submit(await site.ada.plan("lab:/set", "archive:/set")))


async def _call(site: Site, person: Person, asked: Mapping[str, str], calls: int) -> dict[str, _Times]:
    """Return the times of each call; they take turns, so that a drift meets all."""
    application = create_app(site.service.gate, Origins.of(f"http://{_HOST}"))
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in asked}
    async with httpx2.AsyncClient(
        transport=httpx2.ASGITransport(application),
        base_url=f"http://{_HOST}/api/v1",
        headers={"authorization": f"Bearer {person.secret}"},
    ) as client:
        for turn in range(_WARM_UP + calls):
            for name, path in asked.items():
                begin, cpu_begin = perf_counter(), process_time()
                answer = await client.get(path)
                took_ms = (perf_counter() - begin) * 1000, (process_time() - cpu_begin) * 1000
                answer.raise_for_status()
                if turn >= _WARM_UP:
                    times[name].append(took_ms)
    return {name: _spread(took) for name, took in times.items()}


def _spread(took: Sequence[tuple[float, float]]) -> _Times:
    walls = sorted(wall for wall, _ in took)
    most = walls[min(len(walls) - 1, int(len(walls) * 0.99))]
    return round(statistics.median(walls), 2), round(most, 2), round(statistics.median(cpu for _, cpu in took), 2)
