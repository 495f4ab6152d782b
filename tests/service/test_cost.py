"""What a transfer costs the service, in what can be counted; `make bench` measures the time."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from sqlalchemy import update
from tests.servers.counted import counted
from tests.servers.site import Site, started_site
from tests.service.test_consent import differing_files
from tests.service.test_transfers import small_set

from headrace.api.store.tables_work import TransferRow
from headrace.client import models as m

TRANSFERS = 5
STATEMENTS = 36
"""One of them asks whether the caller is still who they were; one marks the plan as started, for the lists of plans."""
COMMITS = 2


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
