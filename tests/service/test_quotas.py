"""Quotas hold whatever comes at once, on both stores, and what was not used is given back."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import URL, func, select
from tests.servers.site import Site, started_site
from tests.service.refusals import refused
from tests.service.test_transfers import SLOW_BPS, large_set, small_set

from headrace.api.caller import Door
from headrace.api.errors import Retry, ServiceError
from headrace.api.settings import Settings
from headrace.api.store.tables_work import QuotaKeyRow
from headrace.client import HeadraceError, whole_list
from headrace.client import models as m

QUOTAS = """
[[quota]]
of = "person"
subject = "*"
transfers = 3
files_a_day = 1_000

[[quota]]
of = "destination"
subject = "archive:/small"
bytes_a_day = 1_000_000_000

[[quota]]
of = "destination"
subject = "archive:/one"
transfers = 1

[[quota]]
of = "person"
subject = "nia"
transfers = 1

[[quota]]
of = "agent"
subject = "*"
bytes_a_day = 1_000_000
"""


def settings(tmp_path: Path) -> Settings:
    file = tmp_path / "quotas.toml"
    file.write_text(QUOTAS)
    return Settings(quotas=str(file))


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with started_site(tmp_path, settings(tmp_path)) as site:
        await site.start_both()
        yield site


def use(found: Iterable[m.QuotaUse], of: str, subject: str = "") -> m.QuotaUse:
    return next(one for one in found if one.of == of and subject in one.subject)


@pytest.mark.anyio
async def test_of_two_at_once_one_takes_what_is_left(each_store: URL, tmp_path: Path) -> None:
    is_sqlite = each_store.drivername == "sqlite"
    database = "" if is_sqlite else each_store.set(drivername="postgresql").render_as_string(hide_password=False)
    folder = tmp_path / "site"
    folder.mkdir()
    async with started_site(folder, replace(settings(tmp_path), database=database)) as site:
        await site.start_both()
        large_set(site)
        plans = [
            await site.ada.plan("lab:/set", f"archive:/one/{number}", rate_limit_bps=SLOW_BPS) for number in range(4)
        ]
        answers = await asyncio.gather(*map(site.ada.submit, plans), return_exceptions=True)
        started = [one for one in answers if isinstance(one, m.Transfer)]
        over = [one for one in answers if isinstance(one, HeadraceError)]
        assert (len(started), {one.problem.code for one in over}) == (1, {"quota_exceeded"})
        assert (use(await site.ada.port.quotas(), "destination", "one")).transfers_used == 1
        await site.ada.port.control(started[0].id, m.ControlRequest(action="cancel"))
        await site.ada.end_of(started[0])
        again = next(plan for plan, one in zip(plans, answers, strict=True) if one in over)
        await site.ada.submit(again)


@pytest.mark.anyio
async def test_a_quota_is_shown_before_it_is_hit_and_what_was_not_used_is_given_back(site: Site) -> None:
    moved = sum(map(len, small_set(site).values()))
    first = await site.ada.plan("lab:/set", "archive:/small/first")
    shown = use(first.quotas, "destination")
    assert (shown.subject, shown.bytes_a_day, shown.bytes_used) == ("archive:/small", 10**9, 0)
    assert first.warnings == []
    assert (await site.ada.end_of(await site.ada.submit(first))).state is m.TransferState.COMPLETE
    used = await site.ada.port.quotas()
    assert use(used, "destination", "small").bytes_used == moved, "the ceiling was more"
    mine = use(used, "person", site.ada.principal.id)
    assert (mine.files_used, mine.transfers_used) == (3, 0)
    again = await site.ada.end_of(await site.ada.submit(await site.ada.plan("lab:/set", "archive:/small/first")))
    assert again.progress.files_identical == 3
    assert use(await site.ada.port.quotas(), "person", site.ada.principal.id).files_used == 3, "nothing was moved"

    helper = (await site.ada.token("transfer:read", "transfer:plan", "transfer:run", agent="helper"))[1]
    (site.lab / "big").mkdir()
    (site.lab / "big" / "a.bin").write_bytes(b"a" * 1_200_000)
    intent = m.TransferIntent(action="copy", source="lab:/big", destination="archive:/big")
    plan = await helper.create_plan(m.PlanRequest(intent=intent))
    plan = await helper.plan(plan.id, wait_s=20)
    assert "1.00 MB of 1.00 MB a day are left of the quota of agent `helper`" in plan.warnings[0]
    assert plan.digest is not None
    with refused("quota_exceeded") as refusal:
        await helper.submit(m.SubmitRequest(plan_digest=plan.digest))
    assert "Ask for less at a time" in str(refusal.value)
    # What is more than a whole day's quota passes at no time.
    cause = refusal.value.__cause__
    assert isinstance(cause, ServiceError)
    assert cause.retry_after_s is Retry.NOT_BY_ITSELF
    with refused("quota_exceeded"):
        await site.ada.submit(plan)


@pytest.mark.anyio
async def test_how_a_transfer_counted_is_kept_as_long_as_it_counts_or_may_be_tried_again(site: Site) -> None:
    async def kept() -> int:
        await site.use_cases.quotas.remove_old()
        async with site.service.whole.core.database.read() as tx:
            return await tx.scalar(select(func.count()).select_from(QuotaKeyRow)) or 0

    small_set(site)
    ended = await site.ada.end_of(await site.ada.submit(await site.ada.plan("lab:/set", "archive:/small/first")))
    assert ended.state is m.TransferState.COMPLETE
    assert await kept() == 2
    site.clock.shift += timedelta(seconds=Settings().retry_valid_s - 60)
    assert await kept() == 2
    site.clock.shift += timedelta(seconds=120)
    assert await kept() == 0


@pytest.mark.anyio
@pytest.mark.parametrize(("name", "of", "folder"), [("ada", "destination", "one"), ("nia", "person", "two")])
async def test_another_try_asks_the_quota_and_counts_once(site: Site, name: str, of: str, folder: str) -> None:
    person = site.ada if name == "ada" else await site.person(name, "requester")
    small_set(site)
    site.archive.joinpath(folder).mkdir()
    blocked = site.archive / folder / "copy" / "a.txt"
    blocked.mkdir(parents=True)
    partial = await person.end_of(await person.submit(await person.plan("lab:/set", f"archive:/{folder}/copy")))
    assert partial.state is m.TransferState.PARTIAL, partial.summary
    start = site.clock() + timedelta(hours=1)
    other = await person.submit(await person.plan("lab:/set", f"archive:/{folder}/other", start=start.isoformat()))
    with refused("quota_exceeded"):
        await person.port.control(partial.id, m.ControlRequest(action="retry"))
    await person.port.control(other.id, m.ControlRequest(action="cancel"))
    assert (await person.end_of(other)).state is m.TransferState.CANCELED
    blocked.rmdir()
    await person.port.control(partial.id, m.ControlRequest(action="retry"))
    assert (await person.end_of(partial)).state is m.TransferState.COMPLETE
    assert use(await person.port.quotas(), of, folder if of == "destination" else "").transfers_used == 0


@pytest.mark.anyio
async def test_people_see_their_own_quotas_and_those_of_places(site: Site) -> None:
    small_set(site)
    await site.ada.end_of(await site.ada.submit(await site.ada.plan("lab:/set", "archive:/copy")))
    eve = await site.person("eve", "requester")
    seen = {(one.of, one.subject) for one in await eve.port.quotas()}
    places = {("destination", "archive:/small"), ("destination", "archive:/one")}
    assert seen == places | {("person", eve.principal.id)}
    oli = await site.person("oli", "operator")
    everybody = {(one.of, one.subject) for one in await oli.port.quotas()}
    assert everybody == places | {("person", oli.principal.id), ("person", site.ada.principal.id)}
    whole = (await oli.port.quotas()).items
    for limit in range(1, len(whole) + 2):
        assert (await whole_list(partial(oli.port.quotas, limit=limit))).items == whole, limit
    own = (await eve.port.quotas()).items
    assert (await whole_list(partial(eve.port.quotas, limit=1))).items == own
    assert (await eve.port.quotas(after="q")).items == [], "behind all of them"


@pytest.mark.anyio
async def test_a_name_that_is_from_elsewhere_is_held_to_no_quota_of_a_person_here(tmp_path: Path) -> None:
    async with started_site(tmp_path, settings(tmp_path)) as site:
        nia = await site.person("nia", "requester")
        assert [one.transfers for one in await nia.port.quotas() if one.of == "person"] == [1]
        namesake = site.service.acting_for(replace(nia.principal, id="pn_other", local=False), Door.CLI)
        assert [one.transfers for one in await namesake.quotas() if one.of == "person"] == [3]
