"""Watches: they end with the rights of who watches, and one person has only so many."""

import asyncio
from contextlib import AsyncExitStack, aclosing
from pathlib import Path

import pytest
from tests.servers.counted import counted
from tests.servers.site import Person, Site, started_site
from tests.service.refusals import refused
from tests.service.test_transfers import SLOW_BPS, large_set, until

from headrace.api.access.acting import Acting
from headrace.api.caller import Door
from headrace.api.settings import Settings
from headrace.client import models as m


def watching(site: Site, person: Person) -> Acting:
    """The port of somebody whose session is looked at again while a call lasts, as over HTTP."""
    people = site.use_cases.people
    return site.service.gate.acting_for(person.principal, Door.CLI, again=lambda: people.of_session(person.secret))


async def slow_transfer(site: Site, person: Person) -> m.Transfer:
    large_set(site)
    plan = await person.plan("lab:/set", "archive:/copy", rate_limit_bps=SLOW_BPS)
    return await until(site, await person.submit(plan), "running")


@pytest.mark.anyio
async def test_a_watch_ends_when_its_persons_rights_end(tmp_path: Path) -> None:
    async with started_site(tmp_path, Settings(heartbeat_s=1)) as site:
        await site.start_both()
        transfer = await slow_transfer(site, site.ada)
        auditor = await site.person("otto", "auditor")
        async with aclosing(watching(site, auditor).watch(transfer.id)) as events, asyncio.timeout(30):
            assert await anext(events)
            await site.ada.port.disable_person(auditor.principal.id)
            with refused("not_signed_in"):
                async for _ in events:
                    pass
        await site.ada.port.control(transfer.id, m.ControlRequest(action="cancel"))
        await site.ada.end_of(transfer)


@pytest.mark.anyio
async def test_one_person_takes_only_so_many_watches_and_others_still_get_theirs(tmp_path: Path) -> None:
    async with started_site(tmp_path, Settings(max_watchers_of_one=1)) as site:
        after = [site.ada.port.changes(), site.ada.port.changes()]
        other = await site.person("eve", "requester")
        async with aclosing(after[0]) as first, aclosing(after[1]) as second, aclosing(other.port.changes()) as theirs:
            await anext(first)
            with refused("busy"):
                await anext(second)
            assert (await anext(theirs)).kind == "now"


@pytest.mark.anyio
async def test_a_token_takes_only_so_many_watches_and_its_persons_session_always_gets_one(tmp_path: Path) -> None:
    limits = Settings(max_watchers=3, max_watchers_of_one=3, max_watchers_of_token=2)
    async with started_site(tmp_path, limits) as site, AsyncExitStack() as held:
        _, greedy = await site.ada.token("transfer:read")
        _, other = await site.ada.token("transfer:read")

        async def watch(port: Acting) -> None:
            changes = await held.enter_async_context(aclosing(port.changes()))
            assert (await anext(changes)).kind == "now"

        await watch(greedy)
        await watch(greedy)
        with refused("busy"):
            await watch(greedy)
        await watch(other)
        with refused("busy"):
            await watch(other)
        await watch(site.ada.port)
        with refused("busy"):
            await watch(site.ada.port)


@pytest.mark.anyio
async def test_however_many_watch_a_change_is_read_from_the_store_as_often_as_for_one(tmp_path: Path) -> None:
    limits = Settings(max_watchers=100, max_watchers_of_one=100)
    async with started_site(tmp_path, limits) as site, AsyncExitStack() as held:
        statements = []
        for count in (1, 60):
            watched = [await held.enter_async_context(aclosing(site.ada.port.changes())) for _ in range(count)]
            assert {(await anext(one)).kind for one in watched} == {"now"}
            waiting = [asyncio.create_task(anext(one)) for one in watched]
            with counted() as reached:
                made = await site.ada.port.halt(m.HaltRequest(scope="agent", subject="claude", reason="maintenance"))
                assert {(await one).subject for one in waiting} == {made.id}
            statements.append(reached.statements)
            await site.ada.port.release_halt(made.id)
            await held.aclose()
        assert statements[1] <= statements[0] + 10, statements


@pytest.mark.anyio
async def test_every_watcher_sees_each_change_as_it_comes(tmp_path: Path) -> None:
    async with started_site(tmp_path, Settings(max_watchers=100, max_watchers_of_one=100)) as site:
        heard: asyncio.Queue[str | None] = asyncio.Queue()

        async def listen() -> None:
            async with aclosing(site.ada.port.changes()) as changes:
                async for change in changes:
                    heard.put_nowait(change.subject)

        listeners = [asyncio.create_task(listen()) for _ in range(20)]
        for _ in listeners:
            await heard.get()
        for _ in range(5):
            halt = await site.ada.port.halt(m.HaltRequest(scope="agent", subject="claude", reason="maintenance"))
            # Long before the next heartbeat, which would find what was missed.
            async with asyncio.timeout(10):
                assert {await heard.get() for _ in listeners} == {halt.id}
                await site.ada.port.release_halt(halt.id)
                assert {await heard.get() for _ in listeners} == {halt.id}
        for one in listeners:
            one.cancel()
