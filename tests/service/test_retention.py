"""What is kept no longer is removed, with its files; what has not ended, or may be tried again, is kept."""

from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import update
from tests.servers.site import Site, digest_of, started_site
from tests.service.refusals import refused
from tests.service.test_listing import moved
from tests.service.test_transfers import arrived, failed_on_its_way

from headrace.api.data_folder import lists_dir, results_dir
from headrace.api.settings import Settings
from headrace.api.store.tables_work import TransferRow
from headrace.api.transfers.retention import Retention
from headrace.client import models as m

pytestmark = pytest.mark.anyio


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    settings = Settings(retry_valid_s=100, plans_kept_s=200, lists_kept_s=300, transfers_kept_s=400)
    async with started_site(tmp_path, settings) as site:
        await site.start_both()
        yield site


async def sweep(site: Site, after_s: float) -> None:
    site.clock.shift = timedelta(seconds=after_s)
    await Retention(site.service.whole.core).sweep()


async def tidied(site: Site, transfer: m.Transfer) -> m.Transfer:
    await site.use_cases.cleanup.tidy("")
    return transfer


async def test_each_thing_is_removed_when_its_setting_says_and_nothing_that_has_not_ended(site: Site) -> None:
    port, data = site.ada.port, site.settings.data
    ended = await tidied(site, await moved(site, "one"))
    files = [lists_dir(data, ended.plan), results_dir(data, ended.id)]
    assert all(folder.is_dir() for folder in files)
    refused_plan = await site.ada.plan("lab:/nothing", "archive:/nothing")
    assert refused_plan.state is m.PlanState.FAILED
    ready = await site.ada.plan("lab:/one", "archive:/later")
    (site.lab / "six").mkdir()
    (site.lab / "six" / "a").write_text("a")
    later = await site.ada.plan("lab:/six", "archive:/six", start=site.clock() + timedelta(days=6))
    waiting = await site.ada.submit(later)
    await sweep(site, 190)
    assert (await port.plan(refused_plan.id)).state is m.PlanState.FAILED
    await sweep(site, 250)
    with refused("unknown_plan"):
        await port.plan(refused_plan.id)
    assert (await port.transfer_events(ended.id)).items
    await sweep(site, 350)
    assert (await port.transfer_events(ended.id)).items == []
    assert [folder for folder in files if folder.exists()] == []
    receipt = await port.receipt(ended.id)
    assert receipt.document, "what was moved, and by whom, is still told"
    with refused("no_file_list"):
        await anext(port.receipt_files(receipt.id))
    assert [one.transfer.state async for one in port.watch(ended.id) if one.transfer] == [ended.state]
    await sweep(site, 450)
    for call in (port.transfer, port.receipt):
        with refused("unknown_transfer" if call == port.transfer else "unknown_receipt"):
            await call(ended.id)
    with refused("unknown_plan"):
        await port.plan(ended.plan)
    assert (await port.transfer(waiting.id)).state not in m.END_STATES
    assert (await port.transfer_events(waiting.id)).items
    assert lists_dir(data, waiting.plan).is_dir()
    assert (await port.plan(digest_of(ready))).state is m.PlanState.READY, "it can still be started"
    removed = [event.detail for event in await site.audited(m.AuditKind.REMOVED_OLD)]
    assert removed == [
        {"plans": "1", "lists": "0", "transfers": "0"},
        {"plans": "0", "lists": "1", "transfers": "0"},
        {"plans": "0", "lists": "0", "transfers": "1"},
    ]
    assert (await site.use_cases.audit.verify(full=True)).intact


async def test_the_lists_of_a_plan_that_can_not_start_any_more_are_removed_after_a_day_and_the_plan_stays(
    tmp_path: Path,
) -> None:
    async with started_site(tmp_path, Settings()) as site:
        await site.start_both()
        port, data = site.ada.port, site.settings.data
        started = await moved(site, "one")
        (site.lab / "one" / "a.bin").write_bytes(b"b" * 1_000_001)
        dropped = await site.ada.plan("lab:/one", "archive:/one", on_conflict="overwrite")
        ready = await site.ada.plan("lab:/one", "archive:/one", on_conflict="overwrite")
        assert ready.expires is not None
        assert (await port.losses(dropped.id)).items
        await port.drop_plan(dropped.id)
        valid_s = (ready.expires - site.clock()).total_seconds()
        day_s = timedelta(days=1).total_seconds()
        await sweep(site, day_s - 60)
        assert (await port.losses(dropped.id)).items
        await sweep(site, day_s + 60)
        assert not lists_dir(data, dropped.id).exists()
        with refused("no_file_list"):
            await port.losses(dropped.id)
        assert (await port.plan(dropped.id)).state is m.PlanState.DROPPED
        await sweep(site, valid_s + day_s - 60)
        assert lists_dir(data, ready.id).is_dir()
        await sweep(site, valid_s + day_s + 60)
        assert not lists_dir(data, ready.id).exists()
        assert (await port.plan(ready.id)).state is m.PlanState.EXPIRED
        assert lists_dir(data, started.plan).is_dir()
        removed = [event.detail for event in await site.audited(m.AuditKind.REMOVED_OLD)]
        assert removed == 2 * [{"plans": "0", "lists": "1", "transfers": "0"}]


async def test_what_nodes_have_not_tidied_up_after_is_kept(site: Site) -> None:
    ended = await tidied(site, await moved(site, "one"))
    await site.stop_node("left")
    async with site.service.whole.core.database.write() as tx:
        await tx.execute(update(TransferRow).where(TransferRow.id == ended.id).values(tidied=False))
    await sweep(site, 1000)
    assert (await site.ada.port.transfer_events(ended.id)).items


async def test_what_may_be_tried_again_is_kept_whatever_is_set(tmp_path: Path) -> None:
    settings = Settings(retry_valid_s=1000, plans_kept_s=1, lists_kept_s=1, transfers_kept_s=1)
    async with started_site(tmp_path, settings) as site:
        await site.start_both()
        ended = await tidied(site, await moved(site, "one"))
        await sweep(site, 900)
        assert (await site.ada.port.transfer_events(ended.id)).items
        await sweep(site, 1100)
        with refused("unknown_transfer"):
            await site.ada.port.transfer(ended.id)


async def test_what_was_created_long_ago_and_has_just_ended_stays(site: Site) -> None:
    ended = await tidied(site, await moved(site, "one"))
    long_ago = site.clock() - timedelta(days=4000)
    async with site.service.whole.core.database.write() as tx:
        await tx.execute(update(TransferRow).where(TransferRow.id == ended.id).values(created=long_ago))
    await sweep(site, 290)
    assert (await site.ada.port.transfer(ended.id)).created == long_ago
    assert (await site.ada.port.transfer_events(ended.id)).items
    await sweep(site, 450)
    with refused("unknown_transfer"):
        await site.ada.port.transfer(ended.id)


async def test_nodes_keep_what_a_retry_goes_on_from_for_seven_days_from_the_end(site: Site) -> None:
    ended = await failed_on_its_way(site)
    partial = [*site.archive.rglob(".headrace-part-*")]
    assert partial

    async def begun(at: datetime | None) -> None:
        async with site.service.whole.core.database.write() as tx:
            await tx.execute(update(TransferRow).values(started=at))

    # As of one that ran or waited for a week and a day.
    await begun(site.clock() - timedelta(days=8))
    await site.use_cases.cleanup.tidy("")
    await begun(ended.started)
    assert [path for path in partial if not path.exists()] == []
    await site.ada.port.update_endpoint("archive", m.EndpointUpdate(labels={}))
    await site.ada.port.control(ended.id, m.ControlRequest(action="retry"))
    again = await site.ada.end_of(ended)
    assert again.state is m.TransferState.COMPLETE, again.summary
    assert arrived(site.archive / "copy") == arrived(site.lab / "set")
    # What was durable is not sent again, and the rest once.
    assert again.progress.resent_bytes <= (16 << 20) - ended.progress.bytes_durable


async def test_a_plan_that_others_were_made_from_is_removed_without_them(site: Site) -> None:
    first = await site.ada.plan("lab:/nothing", "archive:/nothing")
    await sweep(site, 150)
    again = m.PlanRequest(plan=first.id, changes=m.Changes(include=["*.bin"]))
    second = await site.ada.port.plan((await site.ada.port.create_plan(again)).id, wait_s=20)
    await sweep(site, 250)
    with refused("unknown_plan"):
        await site.ada.port.plan(first.id)
    assert (await site.ada.port.plan(second.id)).id == second.id
