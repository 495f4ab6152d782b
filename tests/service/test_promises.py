"""A promise at risk is told before it is broken, and why: in the history, once, whatever its transfer does."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from tests.servers.site import Site, started_site
from tests.service.test_consent import publish
from tests.service.test_future_promises import AT_TWICE, HOUR, planned
from tests.service.test_hours import MINUTE, before_a_minute, move_to
from tests.service.test_metrics import figures
from tests.service.test_policy_places import EVERYTHING
from tests.service.test_qos import put_in_force, set_deadline
from tests.service.test_transfers import SLOW_BPS, large_set, until, until_durable

from headrace.api.transfers import promises
from headrace.api.transfers.history import History
from headrace.api.transfers.promise_changes import LATE_FOR, SAFE_FOR
from headrace.api.transfers.scheduler import Scheduler
from headrace.client import models as m
from headrace.client.text import utc

pytestmark = pytest.mark.anyio
NARROW = AT_TWICE.replace(str(2 * SLOW_BPS), str(SLOW_BPS // 2))
"""Takes four times as long."""


@pytest.fixture
async def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Site]:
    """A site whose promises are looked at when a test says so."""
    monkeypatch.setattr(promises, "LOOK_S", 86_400)
    async with started_site(tmp_path) as started:
        await started.start_both()
        yield started


async def look(site: Site, after: timedelta = timedelta()) -> None:
    site.clock.shift += after
    await site.use_cases.promises.look()


async def told(site: Site, transfer: m.Transfer) -> list[m.TransferEvent]:
    """What its history says of its deadline."""
    found = await site.ada.port.transfer_events(transfer.id)
    return [event for event in found if event.kind.startswith("deadline_")]


async def kinds(site: Site, transfer: m.Transfer) -> list[str]:
    return [event.kind for event in await told(site, transfer)]


async def control(site: Site, transfer: m.Transfer, action: m.ControlAction, rate_bps: int | None = None) -> None:
    await site.ada.port.control(transfer.id, m.ControlRequest(action=action, rate_bps=rate_bps))


async def later(site: Site, name: str = "later") -> m.Transfer:
    """What begins in an hour, and is promised by a link."""
    slow_s = large_set(site) * 8 / SLOW_BPS
    await put_in_force(site, AT_TWICE)
    starts = (site.clock() + HOUR).replace(microsecond=0)
    return await site.ada.submit(await planned(site, name, starts, 0.75 * slow_s))


async def narrowed(site: Site, text: str = NARROW) -> None:
    await put_in_force(site, text)
    await site.use_cases.outlook.look()


async def test_of_what_has_not_begun_it_is_told_when_it_becomes_at_risk_and_when_it_is_safe_again(site: Site) -> None:
    transfer = await later(site)
    await look(site, LATE_FOR)
    assert await told(site, transfer) == []
    await narrowed(site)
    await look(site)
    await look(site, LATE_FOR)
    [event] = await told(site, transfer)
    assert event.kind == "deadline_at_risk"
    assert transfer.deadline is not None
    assert event.message.startswith(
        f"its deadline, {utc(transfer.deadline)}, is at risk: as things stand, uplink will have too little for it"
    )
    assert "; it would come about 2" in event.message, "16.7 MB at 4 Mb/s take 33 s, and there are 13"
    assert event.message.endswith(" s late")
    for _ in range(3):
        await look(site, LATE_FOR)
    await narrowed(site, AT_TWICE)
    await look(site)
    assert await kinds(site, transfer) == ["deadline_at_risk"], "it has just become safe"
    await look(site, SAFE_FOR)
    await look(site, SAFE_FOR)
    [_, safe] = await told(site, transfer)
    assert (safe.kind, safe.message) == (
        "deadline_safe",
        f"its deadline, {utc(transfer.deadline)}, is safe again: what it needs is there for it",
    )
    audited = [one.detail["event"] for one in await site.audited("transfer_changed") if one.subject == transfer.id]
    assert audited.count("deadline_at_risk") == audited.count("deadline_safe") == 1


async def test_who_watches_is_told_at_once(site: Site) -> None:
    transfer = await later(site)
    await control(site, transfer, "set_rate", 1_000_000)
    heard = []
    async with asyncio.timeout(30):
        async for event in site.ada.port.watch(transfer.id):
            heard.append(event.kind)
            if event.kind == "deadline_at_risk":
                assert event.transfer is not None
                assert event.transfer.deadline_at_risk
                assert event.transfer.deadline_late_s == pytest.approx(134 - 13, abs=2), "16.7 MB at 1 Mb/s"
                break
            if len(heard) == 1:
                await look(site)


async def test_what_was_told_is_not_told_again_after_a_restart_and_its_end_of_risk_is(site: Site) -> None:
    transfer = await later(site)
    await narrowed(site)
    await look(site)
    await look(site, LATE_FOR)
    await site.restart()
    await site.use_cases.outlook.look()
    for _ in range(3):
        await look(site, LATE_FOR)
    assert await kinds(site, transfer) == ["deadline_at_risk"]
    await narrowed(site, AT_TWICE)
    await look(site)
    await look(site, SAFE_FOR)
    assert await kinds(site, transfer) == ["deadline_at_risk", "deadline_safe"]


async def test_what_two_look_at_in_the_same_moment_is_told_once(site: Site) -> None:
    transfer = await later(site)
    await control(site, transfer, "set_rate", 1_000_000)
    await asyncio.gather(look(site), look(site), look(site))
    assert await kinds(site, transfer) == ["deadline_at_risk"]


async def test_what_ends_or_gets_another_deadline_while_it_is_looked_at_is_told_nothing_of_the_former(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    transfer, change = await later(site), History.change
    await control(site, transfer, "set_rate", 1_000_000)

    def meanwhile(act: Callable[[], Awaitable[object]]) -> None:
        @asynccontextmanager
        async def after(self: History, *given: str) -> AsyncIterator[object]:
            monkeypatch.setattr(History, "change", change)
            await act()
            async with change(self, *given) as found:
                yield found

        monkeypatch.setattr(History, "change", after)

    meanwhile(lambda: set_deadline(site, transfer, site.clock() + 3 * HOUR))
    await look(site)
    assert await told(site, transfer) == []
    await set_deadline(site, transfer, site.clock() + HOUR + 3 * MINUTE)
    await narrowed(site)
    await control(site, transfer, "set_rate", 100_000)

    async def ends() -> None:
        await control(site, transfer, "cancel")
        await site.ada.end_of(transfer)

    meanwhile(ends)
    await look(site)
    assert await told(site, transfer) == []


async def test_what_is_paused_is_told_to_be_at_risk_by_what_its_links_carry_and_to_be_missed(site: Site) -> None:
    transfer = await later(site)
    await control(site, transfer, "pause")
    await until(site, transfer, "paused")
    await site.use_cases.outlook.look()
    await look(site)
    await look(site, LATE_FOR)
    assert await told(site, transfer) == []
    await narrowed(site)
    await look(site)
    await look(site, LATE_FOR)
    [event] = await told(site, transfer)
    assert "if it goes on now, uplink will carry too little for it: 16.7 MB at the 4.00 Mb/s" in event.message
    await narrowed(site, AT_TWICE)
    for _ in range(3):
        await look(site, SAFE_FOR)
    assert await kinds(site, transfer) == ["deadline_at_risk"], "nothing is kept for what is paused"
    await look(site, 2 * HOUR)
    await look(site, HOUR)
    [_, missed] = await told(site, transfer)
    assert (missed.kind, "has passed, and it has not ended: 0 B of 16.7 MB are safe" in missed.message) == (
        "deadline_missed",
        True,
    )
    await site.restart()
    await look(site)
    assert await kinds(site, transfer) == ["deadline_at_risk", "deadline_missed"]


async def test_what_runs_is_told_to_be_at_risk_with_the_reason_and_another_deadline_is_another_promise(
    site: Site,
) -> None:
    large_set(site)
    deadline = site.clock() + timedelta(minutes=10)
    plan = await site.ada.plan("lab:/set", "archive:/copy", deadline=deadline.isoformat(), rate_limit_bps=SLOW_BPS)
    transfer = await site.ada.submit(plan)
    await until_durable(site, transfer)
    await look(site)
    assert await told(site, transfer) == []
    await control(site, transfer, "set_rate", 100_000)
    await look(site)
    [event] = await told(site, transfer)
    assert f"its deadline, {utc(deadline)[:16]}" in event.message
    assert "at 100 kb/s take" in event.message
    assert "; it would come about 1" in event.message, "some 20 minutes, and 10 that there are"
    assert (await figures(site))["headrace_promises_at_risk"] == 1
    await set_deadline(site, transfer, site.clock() + 3 * HOUR)
    await look(site)
    assert await kinds(site, transfer) == ["deadline_at_risk"], "and not safe again: that is another one"
    assert (await figures(site))["headrace_promises_at_risk"] == 0
    await control(site, transfer, "set_rate", 400_000)
    await set_deadline(site, transfer, site.clock() + HOUR / 6)
    await control(site, transfer, "set_rate", 100_000)
    await look(site)
    assert await kinds(site, transfer) == ["deadline_at_risk"] * 2
    assert (await figures(site))["headrace_promises_missed_total"] == 0
    await control(site, transfer, "cancel")
    await site.ada.end_of(transfer)
    assert await kinds(site, transfer) == ["deadline_at_risk"] * 2
    assert (await figures(site))["headrace_promises_at_risk"] == 0


async def test_what_waits_for_hours_of_policy_that_open_after_its_deadline_is_at_risk(site: Site) -> None:
    large_set(site)
    shuts = before_a_minute(site)
    rule = '@id("quiet") @reason("quiet minutes") forbid (principal, action == Action::"copy", resource) '
    closed = [shuts + n * MINUTE for n in range(9)]
    quiet = " || ".join(f"context.minute == {one.hour * 60 + one.minute}" for one in closed)
    await publish(site, EVERYTHING + rule + f"when {{ {quiet} }};")
    deadline = (shuts + 5 * MINUTE).isoformat()
    plan = await site.ada.plan("lab:/set", "archive:/copy", deadline=deadline, rate_limit_bps=SLOW_BPS)
    transfer = await site.ada.submit(plan)
    await until_durable(site, transfer)
    await look(site)
    assert await told(site, transfer) == []
    move_to(site, shuts, transfer)
    site.use_cases.scheduler.recheck()
    waits = await until(site, transfer, "waiting", reason="quiet minutes")
    assert waits.goes_on == shuts + 9 * MINUTE
    await look(site)
    [event] = await told(site, transfer)
    assert f"is at risk: it may not run before {utc(shuts + 9 * MINUTE)}" in event.message
    assert "; it would come about 4 min " in event.message


async def test_a_promise_that_was_missed_before_anybody_looked_is_told_with_the_end_and_counted_once(
    site: Site,
) -> None:
    transfer = await later(site)
    await control(site, transfer, "pause")
    await until(site, transfer, "paused")
    site.clock.shift += 2 * HOUR
    await control(site, transfer, "cancel")
    await site.ada.end_of(transfer)
    found = [event.kind for event in await site.ada.port.transfer_events(transfer.id)]
    assert found[-2:] == ["deadline_missed", "canceled"]
    [event] = await told(site, transfer)
    assert re.search(r" passed (59 min|1 h).* before it ended$", event.message), event.message
    assert (await figures(site))["headrace_promises_missed_total"] == 1
    changes = await figures(site)
    assert changes['headrace_changes_total{kind="transfer",state="canceled"}'] == 1, "one change says that it ended"
    await look(site)
    assert (await figures(site))["headrace_promises_missed_total"] == 1
    shown = await site.ada.port.transfer(transfer.id)
    assert (shown.deadline_at_risk, shown.deadline_note) == (True, "its deadline has passed")
    assert 0 < (shown.deadline_late_s or 0) < 2 * HOUR.total_seconds()


async def test_what_was_missed_while_it_waited_is_not_told_again_when_it_ends(site: Site) -> None:
    transfer = await later(site)
    await control(site, transfer, "pause")
    await until(site, transfer, "paused")
    await look(site, 2 * HOUR)
    await control(site, transfer, "cancel")
    await site.ada.end_of(transfer)
    assert await kinds(site, transfer) == ["deadline_missed"]
    assert (await figures(site))["headrace_promises_missed_total"] == 1


async def test_what_ends_in_time_is_told_of_no_deadline(site: Site) -> None:
    large_set(site, files=2)
    deadline = (site.clock() + HOUR).isoformat()
    transfer = await site.ada.submit(await site.ada.plan("lab:/set", "archive:/copy", deadline=deadline))
    ended = await site.ada.end_of(transfer)
    await look(site, 2 * HOUR)
    assert (ended.state, await told(site, ended)) == (m.TransferState.COMPLETE, [])
    assert not (await site.ada.port.transfer(transfer.id)).deadline_at_risk


async def test_what_runs_and_does_not_move_is_at_risk_by_what_its_links_carry(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    total = large_set(site)
    await put_in_force(site, AT_TWICE)
    deadline = (site.clock() + HOUR).isoformat()
    plan = await site.ada.plan("lab:/set", "archive:/copy", deadline=deadline, rate_limit_bps=SLOW_BPS)
    transfer = await site.ada.submit(plan)
    await until_durable(site, transfer)
    monkeypatch.setattr(Scheduler, "progress", lambda *_: m.Progress(bytes_total=total, bytes_durable=1))
    site.service.whole.core.underway.follow(site.use_cases.scheduler.progress)
    await look(site)
    await look(site, LATE_FOR)
    assert await told(site, transfer) == []
    await narrowed(site, AT_TWICE.replace(str(2 * SLOW_BPS), "10_000"))
    await look(site)
    await look(site, LATE_FOR)
    [event] = await told(site, transfer)
    assert "if it goes on now, uplink will carry too little for it: 16.7 MB at the 10.0 kb/s" in event.message
    monkeypatch.undo()
    await control(site, transfer, "cancel")
    await site.ada.end_of(transfer)
