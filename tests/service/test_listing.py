"""Lists: searching, counting, the newest first, and what a plan may take from what was moved before."""

from datetime import timedelta

import pytest
from sqlalchemy import update
from tests.pure.api.qos_texts import LINKED, ON_LINK
from tests.servers.site import Site
from tests.service.refusals import refused
from tests.service.test_qos import put_in_force

from headrace.api.planning import found
from headrace.api.store.tables_work import TransferRow
from headrace.client import models as m


async def moved(site: Site, name: str) -> m.Transfer:
    (site.lab / name).mkdir()
    (site.lab / name / "a.bin").write_bytes(b"a" * 1_000_000)
    return await site.ada.end_of(await site.ada.submit(await site.ada.plan(f"lab:/{name}", f"archive:/{name}")))


@pytest.mark.anyio
async def test_transfers_are_searched_filtered_and_counted_in_the_service(site: Site) -> None:
    port, first, second = site.ada.port, await moved(site, "run_41"), await moved(site, "run%42")
    assert [one.id for one in await port.transfers(search="RUN_41")] == [first.id]
    assert [one.id for one in await port.transfers(search="run%")] == [second.id], "no sign is a pattern"
    assert [one.id for one in await port.transfers(search="ada")] == [second.id, first.id]
    assert [one.id for one in await port.transfers(search="archive 41 ada")] == [first.id], "each word, in any order"
    assert (await port.transfers(search="41 42")).items == []
    assert [one.id for one in await port.transfers(since=second.created)] == [second.id]
    assert [one.id for one in await port.transfers(until=second.created)] == [first.id]
    assert (await port.transfer_counts(search="run", until=second.created)).total == 1
    assert [one.id for one in await port.transfers(states=["complete", "failed"])] == [second.id, first.id]
    assert (await port.transfers(states=["failed"])).items == []
    counted = await port.transfer_counts()
    assert (counted.by_state, counted.total, counted.exact) == ({m.TransferState.COMPLETE: 2}, 2, True)
    assert (await port.transfer_counts(search=first.id)).total == 1
    assert (await (await site.person("eve", "requester")).port.transfer_counts()).total == 0
    with refused("invalid_request"):
        await port.transfers(states=["nearly"])
    page = await port.transfers(limit=1)
    assert (page[0].id, page.next) == (second.id, second.id)
    rest = await port.transfers(limit=1, after=page.next)
    assert (rest[0].id, rest.next) == (first.id, None), "the last page says that it is the last, full or not"
    planned = await port.plans(limit=1)
    assert (await port.plans(limit=1, after=planned.next)).next is None


@pytest.mark.anyio
async def test_files_that_did_not_arrive_are_read_page_by_page_from_any_place(site: Site) -> None:
    (site.lab / "set").mkdir()
    for name in ("a", "b", "c"):
        (site.lab / "set" / name).write_text(name)
        (site.archive / "copy" / name).mkdir(parents=True)
    port = site.ada.port
    ended = await site.ada.end_of(await site.ada.submit(await site.ada.plan("lab:/set", "archive:/copy")))
    whole = await port.failed_files(ended.id)
    assert (sorted(one.path for one in whole), whole.next) == (["a", "b", "c"], None)
    page = await port.failed_files(ended.id, limit=2)
    rest = await port.failed_files(ended.id, limit=2, after=page.next)
    assert (page.items + rest.items, rest.next) == (whole.items, None)
    attempt, _, place = (page.next or "").partition(".b")
    inside = await port.failed_files(ended.id, after=f"{attempt}.b{int(place) - 5}")
    assert inside.items == rest.items, "a place that is not the beginning of an entry shows no half of one"
    assert (await port.failed_files(ended.id, after=f"{attempt}.b{10**17}")).items == []
    for made_up in ("-1", "x", "1.b٣", f"1.b{10**18}", f"{attempt}.e1", f"{int(attempt) + 1}.b{place}", place):
        with refused("invalid_request"):
            await port.failed_files(ended.id, after=made_up)


@pytest.mark.anyio
async def test_a_history_is_read_from_its_end(site: Site) -> None:
    transfer = await moved(site, "set")
    events = await site.ada.port.transfer_events(transfer.id)
    backwards = await site.ada.port.transfer_events(transfer.id, order="newest", limit=2)
    assert [one.sequence for one in backwards] == [one.sequence for one in reversed(events)][:2]
    earlier = await site.ada.port.transfer_events(transfer.id, order="newest", after=backwards.next)
    assert [one.sequence for one in (*backwards, *earlier)] == [one.sequence for one in reversed(events)]


@pytest.mark.anyio
async def test_a_plan_says_how_long_it_may_take_once_something_was_moved(site: Site) -> None:
    (site.lab / "first").mkdir()
    (site.lab / "first" / "a").write_text("a")
    assert (await site.ada.plan("lab:/first", "archive:/first")).eta_s is None, "no answer rather than a guess"
    done = await moved(site, "set")
    assert done.progress.average_bps
    (site.lab / "more").mkdir()
    (site.lab / "more" / "b.bin").write_bytes(b"b" * 1_000_000)
    asked = await site.ada.plan("lab:/more", "archive:/more", rate_limit_bps=100_000)
    assert asked.eta_s is not None
    assert asked.eta_s >= 80, "a megabyte at 12.5 kB/s takes no less"
    assert asked.estimate is not None
    assert 80 <= asked.estimate.low_s <= asked.estimate.likely_s == asked.eta_s <= asked.estimate.high_s
    assert asked.estimate.said.startswith("from the last transfer between these nodes")
    (site.archive / "more").mkdir()
    (site.archive / "more" / "c.bin").write_bytes(b"c")
    back = await site.ada.plan("archive:/more", "lab:/back")
    assert back.estimate is not None
    assert back.estimate.said == "from the last transfer of this site, none of them between these nodes"
    assert (await site.ada.port.plan_counts()).mine_open == 3


@pytest.mark.anyio
async def test_a_plan_says_what_its_deletes_take_once_some_were_measured_and_before_that_they_are_not_in(
    site: Site,
) -> None:
    await moved(site, "set")
    synced = await moved(site, "synced")
    (site.archive / "old").mkdir()
    for name in ("a", "b", "c"):
        (site.archive / "old" / name).touch()

    async def planned_after(**done: object) -> m.Estimate:
        progress = m.Progress(files_done=1, files_identical=1, deleted=1000).model_dump_json()
        change = update(TransferRow).where(TransferRow.id == synced.id)
        async with site.service.whole.core.database.write() as tx:
            await tx.execute(change.values(action="sync", progress=progress, **done))
        plan = await site.ada.plan("lab:/set", "archive:/old", action="sync", delete_extraneous=True)
        assert plan.survey is not None
        assert (plan.survey.deletes, plan.estimate is None) == (3, False), plan.summary
        return plan.estimate or m.Estimate(low_s=0, likely_s=0, high_s=0, said="")

    unknown = await planned_after()
    assert (
        unknown.said == "from the last transfer between these nodes; without its 3 deletes, which were not measured yet"
    )
    side = m.MeasuredSide(stages=[m.Stage(name="delete", busy_percent=50, threads=0.5)])
    measured = m.Measured(transfer=synced.id, live=False, seconds=400_000, destination=side)
    known = await planned_after(measured=measured.model_dump_json())
    assert known.said == "from the last transfer between these nodes"
    assert known.likely_s - unknown.likely_s == 600, "three names, at the 200 s that each of 1,000 took"


@pytest.mark.anyio
async def test_a_plan_takes_no_less_than_its_narrowest_link_lets_through_and_says_so(site: Site) -> None:
    await moved(site, "set")
    before = (await site.ada.plan("lab:/set", "archive:/again")).estimate
    await put_in_force(site, LINKED.replace("80_000_000", "2_000_000"))
    linked = (await site.ada.plan("lab:/set", "archive:/again")).estimate
    slower = (await site.ada.plan("lab:/set", "archive:/again", rate_limit_bps=1_000_000)).estimate
    assert before is not None
    assert linked is not None
    assert slower is not None
    assert (before.likely_s < 4, linked.low_s, slower.low_s) == (True, 4, 8)
    assert linked.said == f"{before.said}, at the 2.00 Mb/s that uplink lets through"
    assert slower.said == before.said
    ceiling = LINKED.replace("80_000_000", "2_000_000").replace(
        ON_LINK, ON_LINK.replace("}", ", ceiling_bps = 1_000_000 }")
    )
    await put_in_force(site, ceiling)
    capped = (await site.ada.plan("lab:/set", "archive:/again")).estimate
    assert capped is not None
    assert (capped.low_s, capped.said) == (8, f"{before.said}, at the 1.00 Mb/s that uplink lets through")


@pytest.mark.anyio
async def test_a_search_that_looks_at_no_more_says_how_far_it_came_and_how_to_go_on(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    port, transfers = site.ada.port, [await moved(site, f"run{number}") for number in range(3)]
    monkeypatch.setattr(found, "LOOKED_AT", 4)
    monkeypatch.setattr(found, "LOOKED_AT_FIRST", 1)
    monkeypatch.setattr(found, "FEW", 0)  # as where many rows hold each word: the index is of no help
    assert [one.id for one in await port.transfers(search="run0")] == [transfers[0].id], "one word: four rows"
    for search in ("run run0", "run run2"):
        with refused("search_too_wide") as refusal:
            await port.transfers(search=search)
        assert f"newest 2 were looked at, and {int('2' in search)} of them fit" in str(refusal.value)
        with refused("search_too_wide"):
            await port.plans(search=search)
        assert not (await port.transfer_counts(search=search)).exact
    assert [one.id for one in await port.transfers(search="run run2", limit=1)] == [transfers[2].id], "a full page"
    at = transfers[0].created + timedelta(milliseconds=1)
    assert [one.id for one in await port.transfers(search="run run2", since=at)] == [transfers[2].id]
    assert [one.id for one in await port.transfers(search="run run0", until=at)] == [transfers[0].id]


@pytest.mark.anyio
@pytest.mark.parametrize("search", ["a " * 11, "a" * 101])
async def test_a_search_of_too_many_words_or_letters_is_refused_by_name(quiet_site: Site, search: str) -> None:
    port = quiet_site.ada.port
    for call in (port.plans, port.transfers, port.transfer_counts):
        with refused("invalid_request"):
            await call(search=search)
    assert (await port.transfers(search="a " * 10)).items == []
