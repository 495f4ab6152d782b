"""Streams and units that were set hold on real nodes, and a plan and its transfer say which and where they were set."""

import asyncio

import pytest
from tests.pure.api.qos_texts import LINKED, PAIR
from tests.servers.site import Site, settled
from tests.service.test_qos import put_in_force
from tests.service.test_transfers import SLOW_BPS, large_set

from headrace.client import models as m

SET = LINKED + "[tuning]\nunit_bytes = 1_048_576\n" + PAIR + "streams = 3\n"


async def planned(site: Site, request: m.PlanRequest) -> m.Plan:
    return await settled(site.ada.port, await site.ada.port.create_plan(request))


async def until_streams(site: Site, transfer: m.Transfer, count: int) -> None:
    """Watch a transfer until it has so many data connections."""
    async with asyncio.timeout(30):
        async for event in site.ada.port.watch(transfer.id):
            if event.transfer is not None and event.transfer.progress.streams == count:
                return
    raise AssertionError(count)


@pytest.mark.anyio
async def test_streams_that_were_set_are_what_nodes_open_and_the_level_is_said(site: Site) -> None:
    large_set(site, files=64)
    await put_in_force(site, SET)
    plan = await site.ada.plan("lab:/set", "archive:/pair", rate_limit_bps=SLOW_BPS)
    assert plan.tuning.streams == m.Tuned(value=3, level="pair")
    assert plan.tuning.unit_bytes == m.Tuned(value=1 << 20, level="site")
    sent = await site.ada.submit(plan)
    assert sent.tuning == plan.tuning
    await until_streams(site, sent, 3)
    await site.ada.port.control(sent.id, m.ControlRequest(action="cancel"))

    intent = m.TransferIntent(action="copy", source="lab:/set", destination="archive:/own", rate_limit_bps=SLOW_BPS)
    own = await planned(site, m.PlanRequest(intent=intent, tuning=m.Tuning(streams=5)))
    assert own.tuning.streams == m.Tuned(value=5, level="transfer")
    changed = await planned(site, m.PlanRequest(plan=own.id, changes=m.Changes(priority="low")))
    assert changed.tuning == own.tuning
    sent = await site.ada.submit(changed)
    await put_in_force(site, LINKED)
    await until_streams(site, sent, 5)
    assert (await site.ada.port.transfer(sent.id)).tuning == own.tuning


@pytest.mark.anyio
async def test_who_answers_a_question_keeps_the_streams_that_were_set_with_it(site: Site) -> None:
    large_set(site, files=1)
    asks = await planned(site, m.PlanRequest(words="copy lab:/set to nowhere", tuning=m.Tuning(streams=5)))
    assert asks.state is m.PlanState.ASK
    for said, streams in ((None, 5), (m.Tuning(streams=2), 2)):
        answer = m.PlanRequest(words=f"copy lab:/set to archive:/{streams}", answers=asks.id, tuning=said)
        asks = await planned(site, answer)
        assert asks.tuning.streams == m.Tuned(value=streams, level="transfer")
