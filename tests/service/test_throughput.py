"""What transfers and nodes moved is sampled, kept, rolled up and removed, and costs a transfer no statement."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from sqlalchemy import func, select
from tests.servers.site import Site
from tests.service.refusals import refused
from tests.service.test_transfers import SLOW_BPS, large_set

from headrace.api.jobs.turns import InLine
from headrace.api.store.tables_work import ThroughputRow
from headrace.api.transfers.run_state import Run
from headrace.api.transfers.throughput import Throughput
from headrace.client import models as m


def samples(site: Site) -> Throughput:
    return site.use_cases.submissions.parts.throughput


def moved(found: m.Throughput) -> int:
    return sum(one.bytes for one in found.samples)


async def some_seconds(site: Site) -> m.Transfer:
    """Let a transfer of two seconds run to its end."""
    large_set(site, files=16, each=128 << 10)
    plan = await site.ada.plan("lab:/set", "archive:/copy", rate_limit_bps=SLOW_BPS)
    return await site.ada.end_of(await site.ada.submit(plan))


async def stored(site: Site, step_s: int) -> int:
    async with site.service.whole.core.database.read() as tx:
        query = select(func.count()).select_from(ThroughputRow).where(ThroughputRow.step_s == step_s)
        return await tx.scalar(query) or 0


@pytest.mark.anyio
async def test_how_fast_a_transfer_was_is_shown_after_its_end_and_after_a_restart(site: Site) -> None:
    ended = await some_seconds(site)
    assert ended.state is m.TransferState.COMPLETE, ended.summary
    total, port = ended.progress.bytes_durable, site.ada.port
    before = await port.throughput(ended.id)
    assert (before.step_s, moved(before)) == (1, total)
    assert sum(one.files for one in before.samples) == ended.progress.files_done
    assert all(one.rate_bps == one.bytes * 8 for one in before.samples)
    assert sum(one.bytes > 0 for one in before.samples) > 1, "it is spread over its seconds"
    gaps = {later.at - one.at for one, later in pairwise(before.samples)}
    assert gaps == {timedelta(seconds=1)}

    await samples(site).write()
    assert await port.throughput(ended.id) == before, "what is noted and what is written are one"
    assert moved(await port.node_throughput("left", direction="sent")) == total
    assert moved(await port.node_throughput("right")) == total
    assert moved(await port.node_throughput("left")) == 0
    await site.restart()
    assert await site.ada.port.throughput(ended.id) == before

    # Later there are samples of 10 s, and of 5 minutes after a day; they hold the same.
    site.clock.shift = timedelta(hours=2)
    assert ((after := await site.ada.port.throughput(ended.id)).step_s, moved(after)) == (10, total)
    site.clock.shift = timedelta(days=2)
    assert ((after := await site.ada.port.throughput(ended.id)).step_s, moved(after)) == (300, total)
    week = await site.ada.port.node_throughput("right", since=site.clock() - timedelta(days=30))
    assert (week.step_s, moved(week)) == (3600, total)
    ever, never = site.clock() - timedelta(days=9000), datetime.max.replace(tzinfo=UTC)
    year = await site.ada.port.node_throughput("right", since=ever, until=never)
    assert (year.step_s, moved(year), len(year.samples)) == (86_400, total, 1000)


@pytest.mark.anyio
async def test_a_range_shows_what_moved_in_it_and_can_not_end_before_it_begins(site: Site) -> None:
    ended = await some_seconds(site)
    begins = next(one.at for one in (await site.ada.port.throughput(ended.id)).samples if one.bytes)
    first = await site.ada.port.throughput(ended.id, until=begins)
    rest = await site.ada.port.throughput(ended.id, since=first.samples[-1].at + timedelta(seconds=1))
    assert 0 < moved(first) < ended.progress.bytes_durable == moved(first) + moved(rest)
    with refused("invalid_request"):
        await site.ada.port.throughput(ended.id, since=ended.created, until=ended.created - timedelta(seconds=1))


@pytest.mark.anyio
async def test_old_samples_go_and_of_too_many_the_oldest_of_the_finest(site: Site) -> None:
    await some_seconds(site)
    await samples(site).write()
    assert await stored(site, 1) > 3
    tens, fives = await stored(site, 10), await stored(site, 300)
    kept = samples(site)
    kept.most = tens + fives + 1
    await kept.clear()
    assert await stored(site, 1) <= 1
    assert (await stored(site, 10), await stored(site, 300)) == (tens, fives)
    kept.most = fives
    await kept.clear()
    assert (await stored(site, 1), await stored(site, 10), await stored(site, 300)) == (0, 0, fives)
    site.clock.shift = timedelta(days=367)
    await kept.clear()
    assert await stored(site, 300) == 0


@pytest.mark.anyio
async def test_what_a_store_does_not_take_stays_noted(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = await some_seconds(site)
    before = await site.ada.port.throughput(ended.id)
    with monkeypatch.context() as broken:
        broken.setattr(site.service.whole.core.database, "write", _refuses)
        with pytest.raises(OSError, match="no space"):
            await samples(site).write()
    await samples(site).write()
    assert await site.ada.port.throughput(ended.id) == before


@pytest.mark.anyio
@pytest.mark.parametrize(("took_s", "own"), [(0.9, 0), (1.1, 100)])
async def test_a_transfer_of_less_than_a_second_has_no_samples_of_its_own(site: Site, took_s: float, own: int) -> None:
    kept, now = samples(site), site.clock()
    run = Run("tr_short", "", "left", "right", 1, InLine(0, now, "tr_short", "ada"))
    kept.begin(run, now)
    run.progress = m.Progress(bytes_durable=100, files_done=1)
    kept.end(run, now + timedelta(seconds=took_s))
    await kept.write()
    async with site.service.whole.core.database.read() as tx:
        query = select(ThroughputRow.kind, ThroughputRow.step_s, func.sum(ThroughputRow.bytes))
        rows = await tx.execute(query.group_by(ThroughputRow.kind, ThroughputRow.step_s))
        found = {(kind, step): int(moved) for kind, step, moved in rows}
    steps = (1, 10, 300)
    wanted = {("sent", step): 100 for step in steps} | {("received", step): 100 for step in steps}
    assert found == wanted | {("transfer", step): own for step in steps if own}


@pytest.mark.anyio
async def test_a_short_attempt_takes_nothing_of_the_one_before_it(site: Site) -> None:
    kept, now = samples(site), site.clock()
    run = Run("tr_twice", "", "left", "right", 1, InLine(0, now, "tr_twice", "ada"))
    for begins_s, took_s, durable in ((0, 3, 300), (5, 0.4, 350)):
        kept.begin(run, now + timedelta(seconds=begins_s))
        run.progress = m.Progress(bytes_durable=durable)
        kept.end(run, now + timedelta(seconds=begins_s + took_s))
    await kept.write()
    async with site.service.whole.core.database.read() as tx:
        row = ThroughputRow
        of_run = select(func.sum(row.bytes)).where(row.kind == "transfer", row.step_s == 1)
        assert await tx.scalar(of_run) == 300


@pytest.mark.anyio
async def test_a_count_that_goes_back_or_begins_unseen_is_not_counted(site: Site) -> None:
    kept, now = samples(site), site.clock()
    run = Run("tr_odd", "", "left", "right", 1, InLine(0, now, "tr_odd", "ada"))
    for seconds, durable in enumerate((1000, 1500, 200, 300)):
        run.progress = m.Progress(bytes_durable=durable)
        kept.note(run, now + timedelta(seconds=seconds))
    await kept.write()
    async with site.service.whole.core.database.read() as tx:
        row = ThroughputRow
        of_run = select(func.sum(row.bytes)).where(row.kind == "transfer", row.step_s == 1)
        assert await tx.scalar(of_run) == 500 + 100


@asynccontextmanager
async def _refuses() -> AsyncIterator[None]:
    message = "no space"
    raise OSError(message)
    yield
