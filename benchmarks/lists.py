"""How long each list, detail and inbox call takes among years of transfers; run by `make bench ARGS=--lists`.

The service runs in this process, its store is filled with copies of one real transfer, and each call goes through the
REST application, signing in, checking and writing JSON included, without a network.
"""

import asyncio
import json
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from functools import partial
from math import ceil
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, Final

import httpx2
from demo.stage import REPOSITORY, say
from tests.servers.filled import GROUP, Filling, fill
from tests.servers.postgres import Postgres, postgres_running
from tests.servers.site import Person, Site, started_site

from benchmarks.machine import moment
from benchmarks.processors import Processors
from benchmarks.watchers import WATCHERS, measure_watchers
from headrace.api.app.heap import keep_for_good
from headrace.api.app.web import create_app
from headrace.api.http.guard import Origins
from headrace.api.settings import Settings
from headrace.api.store.address import store_url
from headrace.client import each
from headrace.client import models as m

TARGET_MS: Final = 50
SELDOM: Final = 1_000
"""Endpoints with one label of which a million transfers use twenty."""
SITE: Final = {"idle": 19_000, "nodes": 256, "idle_people": 5_000, "tokens": 5_000}
"""What makes a large site beside them: endpoints of no transfer, nodes, people and API tokens."""
_FIGURES: Final = ("p50 ms", "p99 ms", "p99 ms unhindered", "processor p50 ms", "processor p99 ms")
"""Of each call; `unhindered` is without the time in which it was ready to run and had no processor."""
_Figures = dict[str, float]
_SERVER: Final = "-c wal_level=minimal -c max_wal_senders=0 -c max_wal_size=8GB -c shared_buffers=1GB"
"""PostgreSQL's defaults, but for what is written while the store is filled, and a memory that fits its size."""
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
    "transfers of a label of 1,000 seldom used endpoints": "transfers?label=site%3Dfar",
    "transfers of that label, two states": "transfers?label=site%3Dfar&states=failed,partial",
    "transfers of that label and a person": "transfers?label=site%3Dfar&person=person+1",
    "transfers of a person": "transfers?person=person+1",
    "transfers of a person, two states": "transfers?person=person+1&states=failed,partial",
    "transfers of an assistant": "transfers?agent=claude",
    "transfers of a person and an endpoint": "transfers?person=person+49&endpoint=e19",
    "transfers of a month": "transfers?since={since}&until={until}",
    "counts": "transfers/counts",
    "counts of an endpoint": "transfers/counts?endpoint=e0",
    "counts of a label of 1,000 seldom used endpoints": "transfers/counts?label=site%3Dfar",
    "plans of a person": "plans?person=person+1",
    "plans of a person and that label": "plans?person=person+1&label=site%3Dfar",
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
    "transfers by a word that one has": "transfers?search={rare}",
    "transfers by a word that none has": "transfers?search=abcdef",
    "transfers by two words, of which one is rare": "transfers?search=archive+{rare}",
    "transfers of a person by a word": "transfers?search={rare}&person=person+1",
    "counts of a word that one has": "transfers/counts?search={rare}",
    "plans of a person by a word that none has": "plans?person=person+1&search=abcdef",
}
"""Words, by the index and row after row."""
_SITES: Final[Mapping[str, str]] = {
    "endpoints": "endpoints",
    "endpoints, 1,000": "endpoints?limit=1000",
    "endpoints, a later page": "endpoints?after=i5",
    "endpoints of a label that 1,000 have": "endpoints?label=site%3Dfar",
    "endpoints of a label that 50 have": "endpoints?label=rack%3Drack+7",
    "endpoints of a label that none has": "endpoints?label=rack%3Dnowhere",
    "endpoints by a text that most have": "endpoints?q=node",
    "endpoints by a text that one has": "endpoints?q=i12345",
    "endpoints by a text that none has": "endpoints?q=abcdef",
    "endpoints of a node": "endpoints?node=node+7",
    "nodes": "nodes",
    "people": "people",
    "tokens of everybody": "tokens?everybody=true",
    "policies": "policies",
    "versions of links and classes": "qos/versions",
}
"""Lists of what the site consists of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Filled:
    """What is in a store, kept beside it."""

    transfers: int
    events: int
    until: str
    transfer: str
    plan: str
    database: str
    endpoints: int = 0
    people: int = 0
    nodes: int = 0
    tokens: int = 0


def measure_lists(home: Path, *, filling: Filling, calls: int, postgresql: bool, kept: Path | None) -> None:
    """Fill a store, call everything, print the table, and keep the figures beside those of the other store.

    In `kept` the store stays; one that is there already is measured again as it is.
    """
    store = "postgresql" if postgresql else "sqlite"
    with ExitStack() as stack:
        folder = kept or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="headrace-lists-", dir=home)))
        folder.mkdir(exist_ok=True)
        # PostgreSQL runs as an account of its own.
        folder.chmod(0o711)
        server = stack.enter_context(postgres_running(folder / "server", _SERVER)) if postgresql else None
        about = folder / "filled.json"
        if not about.exists():
            about.write_text(json.dumps(asdict(asyncio.run(_filled(folder, filling, server)))), encoding="utf-8")
        filled = _Filled(**json.loads(about.read_text(encoding="utf-8")))
        found, watchers = asyncio.run(_measure(folder, filled, calls, server))
    of_all = json.loads(_KEPT.read_text(encoding="utf-8")) if _KEPT.exists() else {}
    of_all[store] = {
        **moment(),
        "transfers": filled.transfers,
        "events": filled.events,
        "endpoints": filled.endpoints,
        "people": filled.people,
        "nodes": filled.nodes,
        "tokens": filled.tokens,
        "calls": calls,
        "ms": found,
        "watchers": watchers,
    }
    _KEPT.write_text(json.dumps(of_all, indent=1) + "\n", encoding="utf-8")
    _KEPT.with_suffix(".md").write_text(_page(of_all), encoding="utf-8")
    say(f"\n{store}: {filled.transfers:,} transfers, {filled.events:,} events, {calls} calls each\n")
    say(f"| call | {' | '.join(_FIGURES)} | |\n| --- |{' --- |' * (len(_FIGURES) + 1)}")
    for call, figures in found.items():
        over = ", ".join(name for name, figure in figures.items() if "p99" in name and figure > TARGET_MS)
        said = f"over {TARGET_MS}: {over}" if over else ""
        say(f"| {call} | {' | '.join(f'{figure:.1f}' for figure in figures.values())} | {said} |")
    say(json.dumps(watchers))


def _page(kept: Mapping[str, Any]) -> str:
    """Return the page with the figures of every store that was measured."""
    stores = sorted(kept, reverse=True)
    lines = [
        "# Lists among many transfers",
        "",
        "Written by `make bench ARGS=--lists`; [benchmarks.md](../benchmarks.md#lists) says what it means.",
    ]
    for store in stores:
        of = kept[store]
        kinds = ("transfers", "events", "endpoints", "people", "nodes", "tokens")
        # Figures of before have no sizes of what the site consists of.
        size = ", ".join(f"{of[kind]:,} {kind}" for kind in kinds if of.get(kind)) + f", {of['calls']} calls of each"
        lines += [
            "",
            f"{store}, {of['measured']}: {size}, load {of['load']} on {of['cores']} processors",
            "",
            f"| call | {' | '.join(_FIGURES)} |",
            "| --- |" + " --- |" * len(_FIGURES),
        ]
        lines += [f"| {call} | {' | '.join(map(str, figures.values()))} |" for call, figures in of["ms"].items()]
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


async def _filled(folder: Path, filling: Filling, server: Postgres | None) -> _Filled:
    """Let a site move one set, and fill its store with copies of that."""
    database = server.migrated() if server else ""
    (folder / "site").mkdir()
    async with started_site(folder / "site", _settings(database)) as site:
        await site.start_both()
        transfer = await _one(site)
    began = perf_counter()
    fill(store_url(database, site.settings.data), filling, lambda said: say(f"{perf_counter() - began:.0f} s: {said}"))
    say(f"filled in {perf_counter() - began:.0f} s")
    return _Filled(
        transfers=filling.transfers,
        events=filling.transfers * filling.events_each,
        until=filling.until.isoformat(),
        transfer=transfer.id,
        plan=transfer.plan,
        database=database,
        # Beside them, the two of the transfer that was copied.
        endpoints=filling.endpoints + filling.seldom + filling.idle + 2,
        people=filling.people + filling.idle_people + 1,
        nodes=filling.nodes + 2,
        tokens=filling.tokens,
    )


def _settings(database: str) -> Settings:
    return Settings(database=database, max_watchers=WATCHERS, max_watchers_of_one=WATCHERS)


async def _measure(
    folder: Path, filled: _Filled, calls: int, server: Postgres | None
) -> tuple[dict[str, _Figures], Mapping[str, object]]:
    async with started_site(folder / "site", _settings(filled.database)) as site:
        people = {one.name async for one in each(partial(site.ada.port.people, limit=1000))}
        olga = await _known(site, people, "olga", "operator", "auditor")
        stewart = await _known(site, people, "stewart", "requester", "approver")
        await site.ada.port.update_person(stewart.principal.id, m.PersonUpdate(groups=[GROUP]))
        until = datetime.fromisoformat(filled.until).replace(microsecond=0) - timedelta(days=180)
        oldest = (await olga.port.transfers(order="oldest", limit=1))[0]
        words = {
            "transfer": filled.transfer,
            "rare": oldest.id[3:9],
            "beginning": filled.transfer[:20],
            "plan": filled.plan,
            "since": (until - timedelta(days=30)).isoformat().replace("+", "%2B"),
            "until": until.isoformat().replace("+", "%2B"),
        }
        took = Processors(server.folder / "data" / "postmaster.pid" if server else None)
        found: dict[str, _Figures] = {}
        groups = ((olga, _EVERYBODYS), (site.ada, _OWN), (stewart, _APPROVERS), (olga, _SEARCHED), (site.ada, _SITES))
        for person, asked in groups:
            paths = {name: path.format_map(words) for name, path in asked.items()}
            found |= await _call(site, person, paths, calls, took)
        return found, await measure_watchers(site)


async def _known(site: Site, people: set[str], name: str, *roles: str) -> Person:
    return await site.signed_in(name) if name in people else await site.person(name, *roles)


async def _one(site: Site) -> m.Transfer:
    (site.lab / "set").mkdir()
    (site.lab / "set" / "a.bin").write_bytes(b"a" * 1_000_000)
    return await site.ada.end_of(await site.ada.submit(await site.ada.plan("lab:/set", "archive:/set")))


async def _call(
    site: Site, person: Person, asked: Mapping[str, str], calls: int, processors: Processors
) -> dict[str, _Figures]:
    """Return the times of each call; they take turns, so that a drift meets all."""
    application = create_app(site.service.gate, Origins.of(f"http://{_HOST}"))
    keep_for_good()  # as `headrace serve` does
    times: dict[str, list[tuple[float, float, float]]] = {name: [] for name in asked}
    async with httpx2.AsyncClient(
        transport=httpx2.ASGITransport(application),
        base_url=f"http://{_HOST}/api/v1",
        headers={"authorization": f"Bearer {person.secret}"},
    ) as client:
        for turn in range(_WARM_UP + calls):
            for name, path in asked.items():
                before, begin = processors.used(), perf_counter()
                answer = await client.get(path)
                wall_ms = (perf_counter() - begin) * 1000
                ran_ms, waited_ms = ((now - then) / 1e6 for now, then in zip(processors.used(), before, strict=True))
                answer.raise_for_status()
                if turn >= _WARM_UP:
                    # What waits beside the call counts, too: it has taken no less than it ran.
                    times[name].append((wall_ms, max(wall_ms - waited_ms, min(ran_ms, wall_ms)), ran_ms))
    return {name: _spread(took) for name, took in times.items()}


def _spread(took: Sequence[tuple[float, float, float]]) -> _Figures:
    walls, unhindered, ran = (sorted(column) for column in zip(*took, strict=True))
    figures = (median(walls), _most(walls), _most(unhindered), median(ran), _most(ran))
    return dict(zip(_FIGURES, (round(figure, 2) for figure in figures), strict=True))


def _most(sorted_: Sequence[float]) -> float:
    """Return the 99th percentile by nearest rank: of 100 times, one is longer."""
    return sorted_[ceil(len(sorted_) * 0.99) - 1]
