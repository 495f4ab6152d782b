"""Watches: they end with the rights of who watches, and one person has only so many."""

import asyncio
from contextlib import AsyncExitStack, aclosing
from pathlib import Path

import pytest
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
