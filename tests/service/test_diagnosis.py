"""A real transfer says what limits it, from what its nodes and their kernels measured."""

import asyncio
import os
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import delete
from tests.servers.disk import mounted
from tests.servers.site import Site
from tests.service.test_transfers import SLOW_BPS, large_set, small_set

from headrace.api.store.tables_work import ThroughputRow
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


@pytest.mark.anyio
async def test_after_a_full_disk_totals_are_those_of_the_plan_and_the_diagnosis_names_its_code(
    quiet_site: Site, tmp_path: Path
) -> None:
    site = quiet_site
    await site.start_node("left", [("lab", str(site.lab), "delete")])
    with mounted(tmp_path / "small", "96m") as small:
        await site.start_node("right", [("small", str(small), "delete")])
        (site.lab / "set").mkdir()
        (site.lab / "set" / "a").write_bytes(b"a" * 1_000_000)
        (site.lab / "set" / "b").write_bytes(os.urandom(80_000_000))
        plan = await site.ada.plan("lab:/set", "small:/copy", rate_limit_bps=400_000_000)
        (small / "others").write_bytes(bytes(60_000_000))  # what fitted when it was planned fits no more
        ended = await site.ada.end_of(await site.ada.submit(plan))
        assert ended.state is m.TransferState.PARTIAL, ended.summary
        told = ended.progress
        assert (told.bytes_total, told.bytes_durable, told.bytes_failed) == (81_000_000, 1_000_000, 80_000_000)
        assert "A retry sends it again, whole." in ended.next_step.message
        found = await site.ada.port.diagnose(ended.id)
        assert "1 file did not arrive: 1 `no_space`" in found.said
        assert "Free space" in found.remedy[0]
        await site.stop_node("right")


@pytest.mark.anyio
async def test_the_verdict_on_what_has_ended_outlasts_its_samples_and_a_restart_of_the_service(site: Site) -> None:
    small_set(site)
    ended = await site.ada.end_of(await site.ada.submit(await site.ada.plan("lab:/set", "archive:/copy")))
    assert ended.state is m.TransferState.COMPLETE, ended.summary
    found = await site.ada.port.diagnose(ended.id)
    figures = {one.name: one.value for one in found.evidence}
    assert figures["safe at its destination"] == ended.progress.bytes_durable > 0
    assert figures["on average"] == ended.progress.average_bps
    assert ended.active_s is not None
    assert figures["its attempts took"] == pytest.approx(ended.active_s, abs=0.5)

    queued = await site.ada.plan("lab:/set", "archive:/late", start=site.clock() + timedelta(hours=1))
    never = await site.ada.submit(queued)
    await site.ada.port.control(never.id, m.ControlRequest(action="cancel"))
    await site.ada.end_of(never)
    assert (await site.ada.port.diagnose(never.id)).said == "it was canceled before it began"

    site.clock.shift += timedelta(days=9)
    async with site.service.whole.core.database.write() as tx:
        await tx.execute(delete(ThroughputRow))
    await site.restart()
    assert await site.ada.port.diagnose(ended.id) == found
    assert (await site.ada.port.diagnose(never.id)).said == "it was canceled before it began"
