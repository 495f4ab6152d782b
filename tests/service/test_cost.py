"""What a transfer costs the service, in what can be counted; `make bench` measures the time."""

from collections.abc import AsyncGenerator, Callable, Iterator
from inspect import iscoroutinefunction, isroutine
from pathlib import Path

import pytest
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from sqlalchemy import update
from tests.servers.counted import counted
from tests.servers.site import Site, started_site
from tests.service.test_consent import differing_files
from tests.service.test_transfers import small_set

from headrace.api.http import event_routes, people_routes, plan_routes, sign_in_routes, site_routes, transfer_routes
from headrace.api.store.tables_work import TransferRow
from headrace.client import models as m

TRANSFERS = 5
STATEMENTS = 36
"""One of them asks whether the caller is still who they were; one marks the plan as started, for the lists of plans."""
COMMITS = 2
PAGE = 2
"""The begin of its transaction, and one for all that it shows of what simply ran."""


@pytest.fixture
async def site(tmp_path: Path) -> AsyncGenerator[Site]:
    async with started_site(tmp_path) as site:
        await site.start_both()
        yield site


@pytest.mark.anyio
async def test_a_plain_copy_costs_few_statements_and_two_commits(site: Site) -> None:
    small_set(site)
    plans = [await site.ada.plan("lab:/set", f"archive:/{number}") for number in range(TRANSFERS)]
    statements, commits = [], []
    for plan in plans:
        with counted() as cost:
            ended = await site.ada.end_of(await site.ada.submit(plan))
        assert ended.state is m.TransferState.COMPLETE, ended.summary
        statements.append(cost.statements)
        commits.append(cost.commits)
    # What runs beside them now and then (looking for halts, tidying up) is not theirs: the cheapest counts.
    assert min(commits) == COMMITS
    assert min(statements) <= STATEMENTS, statements


@pytest.mark.anyio
async def test_a_page_of_transfers_takes_two_statements_however_many_there_are(site: Site) -> None:
    small_set(site)
    costs = []
    for number in range(2):
        await site.ada.end_of(await site.ada.submit(await site.ada.plan("lab:/set", f"archive:/{number}")))
        with counted() as cost:
            assert len(await site.ada.port.transfers()) == number + 1
        costs.append(cost.statements)
    assert min(costs) == PAGE


def test_nothing_that_a_call_over_http_depends_on_is_handed_to_a_thread() -> None:
    found = set[str]()
    for routes in (people_routes, sign_in_routes, plan_routes, transfer_routes, event_routes, site_routes):
        for route in routes.router.routes:
            assert isinstance(route, APIRoute)
            found |= {asked.__qualname__ for asked in _asked(route.dependant) if not iscoroutinefunction(asked)}
    assert found == set()


def _asked(dependant: Dependant) -> Iterator[Callable[..., object]]:
    if dependant.call is not None:
        yield dependant.call if isroutine(dependant.call) else type(dependant.call).__call__
    for one in dependant.dependencies:
        yield from _asked(one)


@pytest.mark.anyio
async def test_a_list_asks_for_the_consent_of_all_that_failed_at_once(site: Site) -> None:
    async def listed_at_cost() -> tuple[list[bool], int]:
        async with site.service.whole.core.database.write() as tx:
            await tx.execute(update(TransferRow).values(state="failed"))
        with counted() as cost:
            page = await site.ada.port.transfers()
        return [
            one.allowed for shown in page for one in shown.allowed_actions if one.action == "retry"
        ], cost.statements

    async def overwritten() -> None:
        differing_files(site)
        plan = await site.ada.plan("lab:/set", "archive:/set", on_conflict="overwrite")
        await site.ada.confirm(plan)
        await site.ada.end_of(await site.ada.submit(plan))

    await overwritten()
    may, cost = await listed_at_cost()
    assert may == [True]
    for _ in range(2):
        await overwritten()
    assert await listed_at_cost() == ([True] * 3, cost)
