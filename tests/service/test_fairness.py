"""Nobody's work stands in the way of everybody else's: turns, and what one person may have under way."""

import asyncio
from contextlib import aclosing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.servers.site import WAIT_S, Person, Site, settled, started_site
from tests.service.refusals import refused
from tests.service.test_durable import until_in_line
from tests.service.test_transfers import SLOW_BPS, large_set, small_set, until

from headrace.api.settings import Settings
from headrace.api.store.tables_work import TransferRow
from headrace.api.transfers.run_state import standing_of
from headrace.client import HeadraceError
from headrace.client import models as m


async def running(person: Person, transfer: m.Transfer) -> None:
    """Watch a transfer until it runs."""
    async with asyncio.timeout(WAIT_S), aclosing(person.port.watch(transfer.id)) as events:
        async for event in events:
            if event.transfer is not None and event.transfer.state is m.TransferState.RUNNING:
                return


@pytest.mark.anyio
async def test_who_comes_last_runs_before_the_rest_of_what_another_has_in_line(tmp_path: Path) -> None:
    async with started_site(tmp_path, Settings(transfer_concurrency=2, transfer_concurrency_of_one=1)) as site:
        await site.start_both()
        large_set(site)
        bob = await site.person("bob", "requester")
        adas = [
            await site.ada.submit(await site.ada.plan("lab:/set", f"archive:/{number}", rate_limit_bps=SLOW_BPS))
            for number in range(3)
        ]
        await running(site.ada, adas[0])
        for one in adas[1:]:
            await until_in_line(site, one)
        held = (await site.ada.port.transfer(adas[1].id)).state_reason
        assert held == "1st of 2 in the queue; its requester has 1 running, the most for one person"
        bobs = await bob.submit(await bob.plan("lab:/set", "archive:/bob", rate_limit_bps=SLOW_BPS))
        await running(bob, bobs)
        assert (await site.ada.port.transfer(adas[1].id)).state is m.TransferState.QUEUED


@pytest.mark.anyio
async def test_one_person_has_only_so_many_transfers_that_have_not_ended(tmp_path: Path) -> None:
    async with started_site(tmp_path, Settings(transfer_queue_of_one=1)) as site:
        await site.start_both()
        large_set(site)
        bob = await site.person("bob", "requester")
        first = await site.ada.submit(await site.ada.plan("lab:/set", "archive:/1", rate_limit_bps=SLOW_BPS))
        second = await site.ada.plan("lab:/set", "archive:/2")
        with refused("too_many_transfers") as found:
            await site.ada.submit(second)
        assert "this person has 1 transfer queued or running, and one may have 1 now" in str(found.value)
        await bob.submit(await bob.plan("lab:/set", "archive:/bob"))
        await site.ada.port.control(first.id, m.ControlRequest(action="cancel"))
        await site.ada.end_of(first)
        assert (await site.ada.end_of(await site.ada.submit(second))).state is m.TransferState.COMPLETE


@pytest.mark.anyio
async def test_nobody_has_more_in_the_queue_than_is_left_so_that_others_find_a_place(tmp_path: Path) -> None:
    async with started_site(tmp_path, Settings(transfer_queue=6)) as site:
        await site.start_both()
        small_set(site)
        bob, eve = await site.person("bob", "requester"), await site.person("eve", "requester")
        took = []
        plans = {
            person.principal.name: [await person.plan("lab:/set", f"archive:/{n}{i}") for i in range(4)]
            for n, person in enumerate((site.ada, bob, eve))
        }
        await site.stop_node("right")
        for person in (site.ada, bob, eve):
            for number, plan in enumerate(plans[person.principal.name]):
                try:
                    await person.submit(plan)
                except HeadraceError as error:
                    took.append((number, error.problem.code))
                    break
        assert took == [(3, "too_many_transfers"), (2, "too_many_transfers"), (1, "busy")]


@pytest.mark.anyio
async def test_a_pause_says_when_it_ends_and_ends_in_a_cancel(tmp_path: Path) -> None:
    async with started_site(tmp_path, Settings(pause_limit_s=7200)) as site:
        await site.start_both()
        large_set(site)
        transfer = await site.ada.submit(await site.ada.plan("lab:/set", "archive:/0", rate_limit_bps=SLOW_BPS))
        at = site.clock()
        await site.ada.port.control(transfer.id, m.ControlRequest(action="pause"))
        said = (await until(site, transfer, "paused")).next_step.message
        assert any(f"it is canceled at {at + timedelta(seconds=7200 + s):%Y-%m-%d %H:%M} UTC" in said for s in (0, 60))
        site.clock.shift = timedelta(seconds=7201)
        site.use_cases.scheduler.wake(transfer.id)
        ended = await site.ada.end_of(transfer)
        assert (ended.state, ended.state_reason) == (
            m.TransferState.CANCELED, "canceled after 2 h of pause, the most that one may last",
        )  # fmt: skip
        assert "most that one may last" in ended.summary


@pytest.mark.anyio
async def test_planning_takes_turns_between_people_and_one_has_only_so_many_plans_being_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = Settings(plan_concurrency=2, plan_concurrency_of_one=1, plan_queue_of_one=2)
    async with started_site(tmp_path, limits) as site:
        await site.start_both()
        small_set(site)
        bob = await site.person("bob", "requester")
        planning = site.use_cases.intake._pipeline  # noqa: SLF001 - so that planning takes as long as the test says
        run, begun, go_on = planning.run, asyncio.Queue[str](), asyncio.Event()

        async def slow(asked: Any, card: m.Plan) -> Any:  # noqa: ANN401 - as it is called
            begun.put_nowait(card.id)
            await go_on.wait()
            return await run(asked, card)

        monkeypatch.setattr(planning, "run", slow)

        def asked(number: int) -> m.PlanRequest:
            return m.PlanRequest(words=f"copy lab:/set to archive:/{number}")

        adas = [await site.ada.port.create_plan(asked(number)) for number in range(2)]
        with refused("too_many_plans"):
            await site.ada.port.create_plan(asked(2))
        bobs = await bob.port.create_plan(asked(3))
        async with asyncio.timeout(WAIT_S):
            assert {await begun.get(), await begun.get()} == {adas[0].id, bobs.id}
        go_on.set()
        for person, plan in ((site.ada, adas[0]), (site.ada, adas[1]), (bob, bobs)):
            assert (await settled(person.port, plan)).state is m.PlanState.READY


@pytest.mark.anyio
async def test_a_rate_that_would_hold_a_slot_for_years_is_refused_however_it_is_asked_for(tmp_path: Path) -> None:
    async with started_site(tmp_path, Settings(min_rate_bps=1_000_000)) as site:
        await site.start_both()
        large_set(site)
        typed = await site.ada.plan("lab:/set", "archive:/1", rate_limit_bps=1)
        said = await site.ada.ask("copy lab:/set to archive:/1, no faster than 0.9 Mb/s")
        for plan in (typed, said):
            assert (plan.state, [one.rule for one in plan.refusals]) == (m.PlanState.DENIED, ["rate_too_low"])
            assert "below the lowest here, 1.00 Mb/s" in plan.summary
        read = await site.ada.port.interpret(m.InterpretRequest(text="copy lab:/set to archive:/1 at 0.1 Mb/s"))
        assert (read.outcome, [one.rule for one in read.refusals]) == ("refuse", ["rate_too_low"])
        running = await site.ada.submit(await site.ada.plan("lab:/set", "archive:/1", rate_limit_bps=SLOW_BPS))
        with refused("rate_too_low"):
            await site.ada.port.control(running.id, m.ControlRequest(action="set_rate", rate_bps=999_999))


@pytest.mark.anyio
async def test_one_person_lists_only_so_many_folders_at_once(site: Site) -> None:
    bob = await site.person("bob", "requester")
    async with site.service.whole.core.database.write():
        # The writer is held, so each waits to note itself in the audit log.
        adas = [asyncio.create_task(site.ada.port.browse("lab", "/")) for _ in range(8)]
        bobs = asyncio.create_task(bob.port.browse("lab", "/"))
        browsing = site.use_cases.locations._browsing  # noqa: SLF001 - until all of them have begun
        async with asyncio.timeout(WAIT_S):
            while browsing.total() < len(adas) + 1:  # noqa: ASYNC110 - there is no event of it
                await asyncio.sleep(0)
        with refused("too_many_browses"):
            await site.ada.port.browse("lab", "/")
    await asyncio.gather(*adas, bobs)
    assert browsing.total() == 0
    assert (await site.ada.port.browse("lab", "/")).items == []


@pytest.mark.anyio
async def test_what_stops_others_does_not_wait_behind_all_that_write(quiet_site: Site) -> None:
    database, order = quiet_site.service.whole.core.database, list[str]()

    async def write(name: str, *, first: bool) -> None:
        async with database.write(first=first):
            order.append(name)

    async with asyncio.timeout(WAIT_S), database.write():
        waiting = [asyncio.create_task(write(f"{number}", first=False)) for number in range(20)]
        for _ in range(50):
            await asyncio.sleep(0)
        waiting.append(asyncio.create_task(write("halt", first=True)))
        for _ in range(50):
            await asyncio.sleep(0)
    await asyncio.gather(*waiting)
    assert order.index("halt") <= 1, order
    assert [one for one in order if one != "halt"] == [f"{number}" for number in range(20)]


@pytest.mark.anyio
async def test_the_rank_in_line_is_what_policy_gave_and_not_what_was_asked_for(site: Site) -> None:
    small_set(site)
    start = (site.clock() + timedelta(days=1)).isoformat()
    ranks = {}
    for asked in ("low", "normal", "high"):
        plan = await site.ada.plan("lab:/set", f"archive:/{asked}", priority=asked, start=start)
        assert plan.decision is not None
        transfer = await site.ada.submit(plan)
        async with site.service.whole.core.database.read() as tx:
            ranks[plan.decision.qos_class, asked] = (await tx.get_one(TransferRow, transfer.id)).priority
    assert ranks == {("background", "low"): -1, ("bulk", "normal"): 0, ("bulk", "high"): 0}


@pytest.mark.anyio
async def test_a_slot_that_was_taken_while_the_store_was_waited_for_is_not_taken_twice(tmp_path: Path) -> None:
    async with started_site(tmp_path, Settings(transfer_concurrency=1)) as site:
        await site.start_both()
        small_set(site)
        start = (site.clock() + timedelta(days=1)).isoformat()
        late = await site.ada.submit(await site.ada.plan("lab:/set", "archive:/late", start=start))
        scheduler = site.use_cases.submissions._scheduler  # noqa: SLF001 - between the question and the answer
        run, turns, attempts = scheduler._runs[late.id], scheduler._turns, scheduler._attempts  # noqa: SLF001
        async with site.service.whole.core.database.read() as tx:
            standing = standing_of(await tx.get_one(TransferRow, late.id), run)
        assert turns.is_next(run.place)
        turns.take(replace(run.place, subject="tr_other", person="bob"))
        assert await attempts.begin(run, replace(standing, attempt=1)), "it looks again"
        assert turns.place_of(late.id) == (1, 1)
        assert (await site.ada.port.transfer(late.id)).started is None
