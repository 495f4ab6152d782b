"""Hours are kept, not failed: a transfer waits for its own hours and for those of policy, and goes on when they return.

The site's clock is set back by minutes, which nodes accept, and moved to the moments at which hours end and begin.
"""

import asyncio
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import update
from tests.servers.site import Site
from tests.service.refusals import refused
from tests.service.test_consent import publish
from tests.service.test_policy_places import EVERYTHING, NO_PHI, patients
from tests.service.test_transfers import SLOW_BPS, arrived, large_set, small_set, until, until_durable

from headrace.api.errors import OutsideHours
from headrace.api.signing import policy_hours, slow_decisions
from headrace.api.store.tables_work import TransferRow
from headrace.client import models as m
from headrace.guardrails import Budget, Decision, PolicySet, next_hours, redecide

MINUTE = timedelta(minutes=1)


def at(moment: datetime) -> str:
    return f"{moment:%H:%M}"


def before_a_minute(site: Site) -> datetime:
    """Set the site's clock to a quarter of a minute before a full one, some minutes ago; returns that full minute."""
    now = site.clock.waits()
    full = now.replace(second=0, microsecond=0) - 4 * MINUTE
    site.clock.shift += full - timedelta(seconds=15) - now
    return full


def move_to(site: Site, moment: datetime, transfer: m.Transfer) -> None:
    """Let the time be a second after `moment`, and let the transfer be looked at."""
    site.clock.shift += moment + timedelta(seconds=1) - site.clock()
    site.use_cases.scheduler.wake(transfer.id)


@pytest.mark.anyio
async def test_a_transfer_waits_for_its_hours_pauses_as_they_end_and_goes_on_as_they_return(site: Site) -> None:
    total = large_set(site)
    shuts = before_a_minute(site)
    window = (at(shuts + MINUTE), at(shuts))
    plan = await site.ada.plan("lab:/set", "archive:/copy", window=window, rate_limit_bps=SLOW_BPS)
    assert plan.state is m.PlanState.READY, plan.summary
    assert (plan.starts, plan.hours) == (None, m.RunHours(opens=window[0], closes=window[1], zone="UTC"))
    assert f"It runs only in its hours, {window[0]}–{window[1]} (UTC)" in " ".join(plan.notes)  # noqa: RUF001 - a range
    transfer = await site.ada.submit(plan)
    await until_durable(site, transfer)

    move_to(site, shuts, transfer)
    waits = await until(site, transfer, "waiting", reason="outside its hours")
    assert waits.goes_on == shuts + MINUTE
    assert waits.state_reason.endswith(f"goes on at {shuts + MINUTE:%Y-%m-%d %H:%M} UTC")
    assert waits.wish == "run"
    assert 0 < waits.progress.bytes_durable < total

    # Nothing of it is lost over a restart, and nobody has to say that it shall go on.
    await site.restart()
    assert (await until(site, transfer, "waiting", reason="outside its hours")).goes_on == shuts + MINUTE
    move_to(site, shuts + MINUTE, transfer)
    await until(site, transfer, "running")
    await site.ada.port.control(transfer.id, m.ControlRequest(action="cancel"))
    ended = await site.ada.end_of(transfer)
    assert ended.attempt == 2
    assert [one.kind for one in await site.ada.port.transfer_events(transfer.id)].count("failed") == 0


@pytest.mark.anyio
async def test_a_transfer_that_is_submitted_outside_its_hours_starts_when_they_open(site: Site) -> None:
    files = small_set(site)
    opens = before_a_minute(site)
    plan = await site.ada.plan("lab:/set", "archive:/copy", window=(at(opens), at(opens - MINUTE)))
    assert plan.starts == opens
    transfer = await site.ada.submit(plan)
    assert (transfer.state, transfer.starts) == (m.TransferState.QUEUED, opens)
    found = await site.ada.port.diagnose(transfer.id)
    assert (found.limit, found.said) == (m.Limit.HOURS, f"it is queued: its hours open at {opens:%Y-%m-%d %H:%M} UTC")
    move_to(site, opens, transfer)
    ended = await site.ada.end_of(transfer)
    assert ended.state is m.TransferState.COMPLETE, ended.summary
    assert arrived(site.archive / "copy") == files


@pytest.mark.anyio
async def test_the_hours_of_policy_end_a_transfer_no_more_than_its_own(site: Site) -> None:
    large_set(site)
    shuts = before_a_minute(site)
    minute = shuts.hour * 60 + shuts.minute
    rule = '@id("quiet") @reason("quiet minute") forbid (principal, action == Action::"copy", resource) '
    await publish(site, EVERYTHING + rule + f"when {{ context.minute == {minute} }};")
    transfer = await site.ada.submit(await site.ada.plan("lab:/set", "archive:/copy", rate_limit_bps=SLOW_BPS))
    await until_durable(site, transfer)
    move_to(site, shuts, transfer)
    site.use_cases.scheduler.recheck()
    waits = await until(site, transfer, "waiting", reason="quiet minute")
    assert waits.goes_on == shuts + MINUTE
    move_to(site, shuts + MINUTE, transfer)
    await until(site, transfer, "running")
    await site.ada.port.control(transfer.id, m.ControlRequest(action="cancel"))
    await site.ada.end_of(transfer)


@pytest.mark.anyio
async def test_an_assistant_reads_no_place_in_why_a_transfer_waits_that_another_planned(site: Site) -> None:
    patients(site)
    shuts = before_a_minute(site)
    minute = shuts.hour * 60 + shuts.minute
    await publish(site, EVERYTHING + NO_PHI.replace("};", f"&& context.minute == {minute} }};"))
    plan = await site.ada.plan("lab:/set", "archive:/copy")
    site.clock.shift += shuts + timedelta(seconds=1) - site.clock()
    transfer = await site.ada.submit(plan)
    shown = await until(site, transfer, "queued", reason="the hours of policy")
    assert "lab:/set/phi is part of this" in shown.state_reason
    _, helper = await site.ada.token("transfer:read", "transfer:read:all", agent="helper")
    found = [await helper.transfer(transfer.id), *(await helper.transfers()).items]
    assert len(found) == 2
    assert not any("/phi" in one.model_dump_json() for one in found)
    assert {one.state for one in found} == {m.TransferState.QUEUED}


@pytest.mark.anyio
async def test_what_is_submitted_in_a_quiet_minute_of_policy_waits_for_its_end(site: Site) -> None:
    files = small_set(site)
    shuts = before_a_minute(site)
    minute = shuts.hour * 60 + shuts.minute
    rule = '@id("quiet") @reason("quiet minute") forbid (principal, action == Action::"copy", resource) '
    await publish(site, EVERYTHING + rule + f"when {{ context.minute == {minute} }};")
    plan = await site.ada.plan("lab:/set", "archive:/copy")
    site.clock.shift += shuts + timedelta(seconds=1) - site.clock()
    transfer = await site.ada.submit(plan)
    assert (await until(site, transfer, "queued", reason="quiet minute")).goes_on == shuts + MINUTE
    move_to(site, shuts + MINUTE, transfer)
    ended = await site.ada.end_of(transfer)
    assert ended.state is m.TransferState.COMPLETE, ended.summary
    assert arrived(site.archive / "copy") == files


@pytest.mark.anyio
async def test_hours_of_policy_are_searched_once_in_a_thread_and_outside_of_transactions(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_set(site)
    shuts = before_a_minute(site)
    minute = shuts.hour * 60 + shuts.minute
    rule = '@id("quiet") @reason("quiet minute") forbid (principal, action == Action::"copy", resource) '
    await publish(site, EVERYTHING + rule + f"when {{ context.minute == {minute} }};")
    plan = await site.ada.plan("lab:/set", "archive:/copy")
    site.clock.shift += shuts + timedelta(seconds=1) - site.clock()
    core, search = site.service.whole.core, next_hours
    free: list[bool] = []

    def searched(*asked: Any, **within: Any) -> datetime | None:  # noqa: ANN401 - as the real one
        # A transaction that writes gets its turn while this thread searches: the loop runs, and no other one is open.
        async def writes() -> bool:
            async with core.database.write():
                return True

        free.append(asyncio.run_coroutine_threadsafe(writes(), loop).result(10))
        return search(*asked, **within)

    loop = asyncio.get_running_loop()
    monkeypatch.setattr(policy_hours, "next_hours", searched)
    transfer = await site.ada.submit(plan)
    waits = await until(site, transfer, "queued", reason="quiet minute")
    for _ in range(3):
        site.use_cases.scheduler.recheck()
        waits = await site.ada.port.transfer(waits.id)
    assert (free, waits.goes_on) == ([True], shuts + MINUTE)


@pytest.mark.anyio
async def test_invariant_1_nothing_is_signed_outside_the_sealed_hours_whatever_the_store_says(site: Site) -> None:
    small_set(site)
    opens = before_a_minute(site)
    transfer = await site.ada.submit(
        await site.ada.plan("lab:/set", "archive:/copy", window=(at(opens + MINUTE), at(opens - MINUTE)))
    )
    core = site.service.whole.core
    async with core.database.write() as tx:
        await tx.execute(update(TransferRow).values(hours=None, starts=None))
    async with core.database.write() as tx:
        row = await tx.get(TransferRow, transfer.id)
        assert row is not None
        with pytest.raises(OutsideHours):
            await site.use_cases.submissions.parts.signer.ticket(tx, row, 1, row.fence)


@pytest.mark.anyio
async def test_a_deadline_that_cannot_be_kept_is_refused_with_the_earliest_that_can(site: Site) -> None:
    large_set(site)
    now = site.clock()
    plan = await site.ada.plan(
        "lab:/set", "archive:/copy", deadline=now + timedelta(seconds=10), rate_limit_bps=1_000_000
    )
    assert (plan.state, [one.rule for one in plan.refusals]) == (m.PlanState.DENIED, ["deadline_infeasible"])
    assert "16.7 MB at 1.00 Mb/s take 2 min 14 s" in plan.summary
    past = await site.ada.plan("lab:/set", "archive:/copy", deadline=now - MINUTE)
    assert past.state is m.PlanState.ASK
    early = await site.ada.plan("lab:/set", "archive:/copy", start=now + 9 * MINUTE, deadline=now + 8 * MINUTE)
    assert early.state is m.PlanState.ASK


@pytest.mark.anyio
async def test_a_transfer_says_that_its_deadline_is_at_risk_and_that_it_has_passed(site: Site) -> None:
    large_set(site)
    deadline = site.clock() + timedelta(seconds=20)
    plan = await site.ada.plan("lab:/set", "archive:/copy", deadline=deadline, rate_limit_bps=SLOW_BPS)
    assert plan.state is m.PlanState.READY, plan.summary
    transfer = await site.ada.submit(plan)
    assert (transfer.deadline, transfer.deadline_at_risk) == (deadline, False)
    await until_durable(site, transfer)
    site.clock.shift += timedelta(seconds=20)
    assert (await site.ada.port.transfer(transfer.id)).deadline_at_risk
    await site.ada.port.control(transfer.id, m.ControlRequest(action="cancel"))
    await site.ada.end_of(transfer)


@pytest.mark.anyio
async def test_words_name_hours_and_a_deadline_beyond_a_day(site: Site) -> None:
    small_set(site)
    opens = before_a_minute(site)
    by = site.clock() + timedelta(days=3)
    hours = f"only between {at(opens)} and {at(opens - MINUTE)}"
    words = f"copy lab:/set to archive:/copy {hours}; it must be done by {by:%Y-%m-%d 18:00} UTC"
    plan = await site.ada.ask(words)
    assert plan.state is m.PlanState.READY, plan.summary
    assert plan.intent is not None
    assert plan.intent.deadline == by.replace(hour=18, minute=0, second=0, microsecond=0)
    assert plan.hours is not None
    assert plan.starts == opens


SEVERAL_PLACES = "".join(
    f"""@id("p{number}") @reason("r") forbid (principal, action == Action::"copy", resource)
    when {{ resource.source.within.contains("/set/p{number}") && context.files > 10000 }};"""
    for number in range(slow_decisions.AT_ONCE)
)
"""Rules for which a request for the folder is evaluated more often than may be within a transaction."""
FROZEN = """@id("frozen") @reason("frozen") forbid (principal, action == Action::"copy", resource)
    when { resource.source.labels.contains("frozen=yes") };"""


@pytest.mark.anyio
@pytest.mark.parametrize("freezes", [False, True])
async def test_what_takes_long_to_decide_is_decided_outside_of_transactions_and_by_what_holds_within(
    site: Site, monkeypatch: pytest.MonkeyPatch, *, freezes: bool
) -> None:
    files = small_set(site)
    await publish(site, EVERYTHING + SEVERAL_PLACES + FROZEN)
    plan = await site.ada.plan("lab:/set", "archive:/copy")
    loop, core, made = asyncio.get_running_loop(), site.service.whole.core, list[str]()

    async def meanwhile() -> None:
        if freezes:
            await site.ada.port.update_endpoint("lab", m.EndpointUpdate(folder_labels={"/set/p9": {"frozen": "yes"}}))
        async with core.database.write():  # whose turn would not come while another one waits for policy
            pass

    def decided(policies: PolicySet | None, record: str, budget: Budget | None = None) -> Decision:
        found = redecide(policies, record, budget)
        if budget is None:
            asyncio.run_coroutine_threadsafe(meanwhile(), loop).result(30)
            made.append(found.outcome)
        return found

    monkeypatch.setattr(slow_decisions, "redecide", decided)
    if freezes:
        with refused("denied_by_policy"):
            await site.ada.submit(plan)
        assert made == ["allowed", "denied"]
    else:
        ended = await site.ada.end_of(await site.ada.submit(plan))
        assert ended.state is m.TransferState.COMPLETE, ended.summary
        assert arrived(site.archive / "copy") == files
        assert made[0] == "allowed"
