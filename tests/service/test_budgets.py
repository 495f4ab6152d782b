"""What a person may move in a day: counted on the day when it runs, and never given back once it was moved."""

from datetime import timedelta

import pytest
from sqlalchemy import update
from tests.servers.site import Site, digest_of, settled
from tests.service.refusals import refused
from tests.service.test_transfers import SLOW_BPS, large_set, small_set, until, until_durable

from headrace.api.access.acting import Acting
from headrace.api.policy.budgets import day_of, keep, reserve, settle, used_today
from headrace.api.store.tables_work import ReservationRow, TransferRow
from headrace.api.transfers.scheduler import Scheduler
from headrace.client import models as m


async def reservation(site: Site, transfer: m.Transfer) -> ReservationRow:
    async with site.service.whole.core.database.read() as tx:
        return await tx.get_one(ReservationRow, transfer.id)


def day(site: Site, days: int = 0) -> str:
    return day_of(site.clock() + timedelta(days=days), site.settings.timezone)


def scheduler(site: Site) -> Scheduler:
    return site.use_cases.submissions._scheduler  # noqa: SLF001 - to let it look now


@pytest.mark.anyio
async def test_what_was_moved_stays_counted_when_it_is_tried_again_and_canceled(site: Site) -> None:
    moved = sum(map(len, small_set(site).values()))
    ended = await site.ada.end_of(await site.ada.submit(await site.ada.plan("lab:/set", "archive:/copy")))
    database, today, ada = site.service.whole.core.database, day(site), site.ada.principal.id

    async def used(on: str) -> int:
        async with database.read() as tx:
            return (await used_today(tx, ada, None, on)).person_used_bytes

    async def again(on: str, *attempts: int, last: int = 0) -> None:
        async with database.write() as tx:
            reserve(tx, await tx.get_one(TransferRow, ended.id), day=on, max_bytes=1000)
        for bytes_ in attempts:
            async with database.write() as tx:
                await keep(tx, ended.id, bytes_)
        assert await used(on) >= 1000, "while it runs, its ceiling is counted"
        async with database.write() as tx:
            await settle(tx, ended.id, last)

    assert await used(today) == moved
    await again(today)
    assert await used(today) == moved, "a retry that was canceled at once"
    await again(today, 300, last=200)
    assert await used(today) == moved + 500, "all attempts count"
    await again(today, 900, last=900)
    assert await used(today) == moved + 1500, "no more than was reserved"
    await again(day(site, 1), last=70)
    assert await used(day(site, 1)) == 70


@pytest.mark.anyio
async def test_what_a_canceled_transfer_moved_before_its_node_was_lost_is_counted(site: Site) -> None:
    large_set(site)
    plan = await site.ada.plan("lab:/set", "archive:/copy", rate_limit_bps=4 * SLOW_BPS)
    transfer = await until_durable(site, await site.ada.submit(plan))
    await site.ada.port.control(transfer.id, m.ControlRequest(action="pause"))
    paused = await until(site, transfer, "paused")
    run = scheduler(site)._runs[transfer.id]  # noqa: SLF001 - as after an attempt of a node that has lost its state
    run.progress = run.progress.model_copy(update={"bytes_durable": 0})
    await site.ada.port.control(transfer.id, m.ControlRequest(action="cancel"))
    await site.ada.end_of(transfer)
    row = await reservation(site, transfer)
    assert (row.settled, row.bytes) == (True, paused.progress.bytes_durable)


@pytest.mark.anyio
async def test_a_scheduled_start_counts_on_its_day_and_not_on_that_of_its_submission(site: Site) -> None:
    small_set(site)
    tomorrow = (site.clock() + timedelta(days=1)).isoformat()
    late = await site.ada.submit(await site.ada.plan("lab:/set", "archive:/late", start=tomorrow))
    assert (await reservation(site, late)).day == day(site, 1)
    planned = await site.ada.plan("lab:/set", "archive:/too-much", start=tomorrow)
    async with site.service.whole.core.database.write() as tx:
        await tx.execute(update(ReservationRow).values(bytes=11 << 40))
    today = await site.ada.submit(await site.ada.plan("lab:/set", "archive:/today"))
    assert (await site.ada.end_of(today)).state is m.TransferState.COMPLETE
    with refused("needs_confirmation"):
        await site.ada.submit(planned)
    asked = await site.ada.plan("lab:/set", "archive:/too-much", start=tomorrow)
    assert asked.decision is not None
    assert asked.decision.outcome == "approve", "tomorrow's budget is used up"


@pytest.mark.anyio
async def test_an_assistants_budget_is_asked_again_when_its_plan_is_to_start(site: Site) -> None:
    small_set(site)

    async def planned(agent: str, destination: str) -> tuple[Acting, m.SubmitRequest]:
        _, port = await site.ada.token("transfer:read", "transfer:plan", "transfer:run", agent=agent)
        slots = {"action": "copy", "source": "lab:/set", "destination": destination}
        asked = await port.create_plan(m.PlanRequest(intent=m.TransferIntent.model_validate(slots)))
        plan = await settled(port, asked)
        assert plan.decision is not None
        assert plan.decision.outcome == "allowed"
        return port, m.SubmitRequest(plan_digest=digest_of(plan))

    (helper, first), (_, second), (other, third) = [
        await planned(agent, f"archive:/{number}") for number, agent in enumerate(("helper", "helper", "other"))
    ]
    await site.ada.end_of(await helper.submit(first))
    async with site.service.whole.core.database.write() as tx:
        await tx.execute(update(ReservationRow).values(bytes=1 << 40))
    with refused("needs_confirmation") as info:
        await helper.submit(second)
    assert "this would go over the assistant's daily budget" in info.value.problem.detail
    # Another assistant of the same person has a budget of its own, and the person's is far from used up.
    assert (await site.ada.end_of(await other.submit(third))).state is m.TransferState.COMPLETE


@pytest.mark.anyio
async def test_an_attempt_takes_the_reservation_to_the_day_on_which_it_begins(site: Site) -> None:
    small_set(site)
    start = site.clock() + timedelta(days=1)
    late = await site.ada.submit(await site.ada.plan("lab:/set", "archive:/late", start=start.isoformat()))
    await site.ada.port.control(late.id, m.ControlRequest(action="pause"))
    await until(site, late, "paused")
    midnight = (start + timedelta(days=1)).replace(hour=0, minute=0, second=1)
    site.clock.shift = midnight - site.clock()
    await site.ada.port.control(late.id, m.ControlRequest(action="resume"))
    scheduler(site).wake(late.id)
    async for event in site.ada.port.watch(late.id):
        if event.kind == "started":
            break
    assert (await reservation(site, late)).day == day(site) == midnight.date().isoformat()
