"""What both nodes measure of connections and stages is shown: live, and afterwards over the whole attempt."""

import asyncio

import pytest
from tests.servers.site import Site
from tests.service.test_transfers import SLOW_BPS, large_set

from headrace.client import models as m


@pytest.mark.anyio
async def test_connections_and_stages_of_both_nodes_are_shown_while_it_runs_and_afterwards(site: Site) -> None:
    large_set(site)
    transfer = await site.ada.submit(await site.ada.plan("lab:/set", "archive:/copy", rate_limit_bps=SLOW_BPS))
    found = await site.ada.port.measured(transfer.id)
    assert (found.at, found.source.flows) == (None, [])
    async with asyncio.timeout(30):
        async for _ in site.ada.port.watch(transfer.id):
            found = await site.ada.port.measured(transfer.id)
            if found.seconds >= 2 and found.source.flows:
                break
    assert (found.live, found.source.node, found.destination.node) == (True, "left", "right")
    assert {one.stream for one in found.source.flows} == {one.stream for one in found.destination.flows}
    flow = found.source.flows[0]
    assert flow.congestion_control
    assert min(flow.rtt_us, flow.cwnd_bytes, flow.sent_packets, flow.rate_bps) > 0
    stages = {stage.name: stage for stage in found.source.stages}
    # It waits for its ceiling most of the time, so that alone would carry little more.
    assert max(stages.values(), key=lambda one: one.busy_percent).name == "ceiling"
    assert {stage.name for stage in found.destination.stages} <= {"receive", "verify", "write", "commit"}
    assert all(stage.capacity_bps is None or stage.capacity_bps >= found.rate_bps for stage in stages.values())

    await site.ada.port.control(transfer.id, m.ControlRequest(action="cancel"))
    await site.ada.end_of(transfer)
    after = await site.ada.port.measured(transfer.id)
    assert (after.live, after.source.node) == (False, "left")
    assert after.seconds >= found.seconds
    await site.restart()
    assert await site.ada.port.measured(transfer.id) == after
