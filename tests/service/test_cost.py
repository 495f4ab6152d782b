"""What a transfer costs the service, in what can be counted; `make bench` measures the time."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from tests.servers.counted import counted
from tests.servers.site import Site, started_site
from tests.service.test_transfers import small_set

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
