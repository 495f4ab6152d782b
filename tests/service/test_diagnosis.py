"""A real transfer says what limits it, from what its nodes and their kernels measured."""

import asyncio
from datetime import timedelta

import pytest
from tests.servers.site import Site
from tests.service.test_transfers import SLOW_BPS, large_set, small_set

from headrace.client import models as m


@pytest.mark.anyio
async def test_a_transfer_names_its_ceiling_while_it_runs_and_afterwards(site: Site) -> None:
    large_set(site)
    transfer = await site.ada.submit(await site.ada.plan("lab:/set", "archive:/copy", rate_limit_bps=SLOW_BPS))
    found, shown = await site.ada.port.diagnose(transfer.id), transfer
    async with asyncio.timeout(30):
        async for event in site.ada.port.watch(transfer.id):
            shown = event.transfer or shown
            found = await site.ada.port.diagnose(transfer.id)
            if found.limit is m.Limit.CEILING and shown.progress.limiter:
                break
    assert (found.where, found.live, found.transfer) == ("service", True, transfer.id)
    assert {one.name for one in found.evidence} == {"source waits for the ceiling", "rate"}
    assert "headrace rate" in found.remedy[0]
    assert shown.progress.limiter == "its rate ceiling of 8.00 Mb/s holds it back"

    await site.ada.port.control(transfer.id, m.ControlRequest(action="cancel"))
    await site.ada.end_of(transfer)
    after = await site.ada.port.diagnose(transfer.id)
    assert (after.limit, after.live) == (m.Limit.CEILING, False)
    assert after.measured_s >= 1


@pytest.mark.anyio
async def test_what_does_not_run_says_why(site: Site) -> None:
    small_set(site)
    later = site.clock() + timedelta(hours=3)
    queued = await site.ada.submit(await site.ada.plan("lab:/set", "archive:/copy", start=later))
    found = await site.ada.port.diagnose(queued.id)
    assert (found.limit, found.live) == (m.Limit.NOT_RUNNING, False)
    assert found.said.startswith("it is queued")

    ended = await site.ada.end_of(await site.ada.submit(await site.ada.plan("lab:/set", "archive:/other")))
    assert ended.state is m.TransferState.COMPLETE
    assert (await site.ada.port.diagnose(ended.id)).limit in set(m.Limit)
