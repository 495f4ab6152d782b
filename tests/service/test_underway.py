"""How far others are is what those know who run them, and not what the store heard some seconds ago."""

from datetime import timedelta
from pathlib import Path

import pytest
from tests.pure.api.qos_texts import LINKED
from tests.servers.site import Site, started_site
from tests.service.test_qos import put_in_force
from tests.service.test_transfers import SLOW_BPS, large_set, until_durable

from headrace.api.settings import Settings
from headrace.api.store.tables_work import TransferRow
from headrace.client import models as m

pytestmark = pytest.mark.anyio


async def test_a_deadline_is_judged_by_what_is_left_of_others_now(site: Site) -> None:
    # So long that what planning takes on a busy machine is little of it.
    slow_s = large_set(site, files=256) * 8 / SLOW_BPS
    await put_in_force(site, LINKED.replace("80_000_000", str(2 * SLOW_BPS)))

    async def planned(name: str, slow: float, rate: int | None = None) -> m.Plan:
        deadline = (site.clock() + timedelta(seconds=slow * slow_s)).isoformat()
        return await site.ada.plan("lab:/set", f"archive:/{name}", deadline=deadline, rate_limit_bps=rate)

    first = await site.ada.submit(await planned("one", 1.2, SLOW_BPS))
    assert (await planned("two", 0.65)).state is m.PlanState.DENIED
    size = (await site.ada.port.transfer(first.id)).progress.bytes_total
    site.service.whole.core.underway.follow(
        lambda one: m.Progress(bytes_total=size, bytes_durable=size - 1) if one == first.id else None
    )
    assert (await planned("three", 0.65)).state is m.PlanState.READY, "the other is nearly done, as its nodes say"
    await site.ada.port.control(first.id, m.ControlRequest(action="cancel"))
    await site.ada.end_of(first)


async def test_a_promised_deadline_waits_for_no_place_that_others_hold(tmp_path: Path) -> None:
    async with started_site(tmp_path, Settings(transfer_concurrency=1)) as site:
        await site.start_both()
        large_set(site)
        await put_in_force(site, LINKED)
        others = [
            await site.ada.submit(await site.ada.plan("lab:/set", f"archive:/{name}", rate_limit_bps=SLOW_BPS))
            for name in ("one", "two")
        ]
        await until_durable(site, others[0])
        deadline = (site.clock() + timedelta(hours=1)).isoformat()
        plan = await site.ada.plan("lab:/set", "archive:/three", deadline=deadline)
        assert (await site.ada.end_of(await site.ada.submit(plan))).state is m.TransferState.COMPLETE
        assert [(await site.ada.port.transfer(one.id)).state for one in others] == ["running", "queued"]
        for one in reversed(others):
            await site.ada.port.control(one.id, m.ControlRequest(action="cancel"))
            await site.ada.end_of(one)


async def test_who_runs_a_transfer_says_how_far_it_is_before_the_store_hears_of_it(site: Site) -> None:
    large_set(site)
    transfer = await site.ada.submit(await site.ada.plan("lab:/set", "archive:/copy", rate_limit_bps=SLOW_BPS))
    await until_durable(site, transfer)
    underway = site.service.whole.core.underway
    shown = (await site.ada.port.transfer(transfer.id)).progress
    left = underway.bytes_left(transfer.id, m.Progress().model_dump_json())
    assert 0 < left <= shown.bytes_total - shown.bytes_durable
    await site.ada.port.control(transfer.id, m.ControlRequest(action="cancel"))
    await site.ada.end_of(transfer)
    async with site.service.whole.core.database.read() as tx:
        kept = (await tx.get_one(TransferRow, transfer.id)).progress
    progress = m.Progress.model_validate_json(kept)
    assert underway.bytes_left(transfer.id, kept) == progress.bytes_total - progress.bytes_durable
