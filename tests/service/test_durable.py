"""Nothing is stranded: what was asked for is carried on by whoever runs the service, once, and to its end."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import select, update
from sqlalchemy.exc import OperationalError
from tests.servers.counted import counted
from tests.servers.site import WAIT_S, Person, Site, digest_of, started_site
from tests.service.refusals import refused
from tests.service.test_signer import FROZEN
from tests.service.test_transfers import SLOW_BPS, arrived, large_set, small_set, until, until_durable

from headrace.api.errors import Fenced
from headrace.api.events import outbox
from headrace.api.events.broker import wait_for
from headrace.api.events.outbox import EVENTS
from headrace.api.jobs.turns import Turns
from headrace.api.settings import Settings
from headrace.api.store.tables_work import JobRow, OutboxRow, PlanRow, ReservationRow, TransferRow
from headrace.api.transfers.attempts import Attempts
from headrace.api.transfers.run_state import Run, standing_of
from headrace.api.transfers.scheduler import Scheduler
from headrace.api.transfers.state_machine import WAITS_FOR_ITS_TURN
from headrace.client import models as m


async def stored(site: Site, plan: m.Plan) -> str:
    """What a client leaves that goes away between the commit and all that follows: a transfer, and nobody to run it."""
    async with site.service.whole.core.database.write() as tx:
        row = await tx.get(PlanRow, plan.id)
        assert row is not None
        return (await site.use_cases.submissions.insert(tx, row)).id


async def row_of(site: Site, transfer: str) -> TransferRow:
    async with site.service.whole.core.database.read() as tx:
        return await tx.get_one(TransferRow, transfer)


def stored_progress(row: TransferRow) -> m.Progress:
    return m.Progress.model_validate_json(row.progress)


async def until_in_line(site: Site, transfer: m.Transfer) -> None:
    """Wait until a transfer waits for its turn, and this is stored."""
    with site.service.whole.core.broker.subscribe(transfer.id) as woken:
        while (await row_of(site, transfer.id)).state_reason != WAITS_FOR_ITS_TURN:
            assert await wait_for(woken, WAIT_S)
            woken.clear()


def fails_once(error: Exception, call: Any) -> Any:  # noqa: ANN401 - any method
    """Let a method fail the first time."""
    failed: list[bool] = []

    async def once(*arguments: object, **options: object) -> object:
        if not failed:
            failed.append(True)
            raise error
        return await call(*arguments, **options)

    return once


@pytest.mark.anyio
async def test_a_transfer_that_nobody_holds_is_found_and_carried_on(site: Site) -> None:
    files = small_set(site)
    transfer = await stored(site, await site.ada.plan("lab:/set", "archive:/copy"))
    site.service.whole.core.jobs.wake("sweep transfers", "")
    ended = await site.ada.port.transfer(transfer, wait_s=WAIT_S)
    assert ended.state is m.TransferState.COMPLETE, ended.summary
    assert arrived(site.archive / "copy") == files


@pytest.mark.anyio
async def test_what_people_wish_outlives_a_restart_and_a_cancel_stays_final(site: Site) -> None:
    large_set(site)
    plans = [await site.ada.plan("lab:/set", f"archive:/{n}", rate_limit_bps=SLOW_BPS) for n in range(2)]
    canceled, paused = [await site.ada.submit(plan) for plan in plans]
    await until(site, canceled, "running")
    await until(site, paused, "running")
    await site.ada.port.control(paused.id, m.ControlRequest(action="pause", reason="lunch"))
    await site.ada.port.control(canceled.id, m.ControlRequest(action="cancel", reason="wrong run"))
    with refused("transfer_state"):
        await site.ada.port.control(canceled.id, m.ControlRequest(action="pause"))
    await site.restart()
    ended = await site.ada.end_of(canceled)
    assert (ended.state, "wrong run" in ended.state_reason) == (m.TransferState.CANCELED, True)
    still = await until(site, paused, "paused")
    assert "lunch" in still.state_reason


@pytest.mark.anyio
async def test_after_a_restart_what_had_arrived_is_shown_before_a_node_speaks_and_counts_as_moved(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = large_set(site)
    transfer = await site.ada.submit(await site.ada.plan("lab:/set", "archive:/copy", rate_limit_bps=4 * SLOW_BPS))
    await until_durable(site, transfer)
    site.service.whole.core.jobs.wake("keep progress", "")
    async with asyncio.timeout(WAIT_S):
        while not (kept := stored_progress(await row_of(site, transfer.id))).bytes_durable:
            pass  # nobody is told of that
    monkeypatch.setattr(Scheduler, "on_progress", lambda *_: False)
    assert kept.bytes_durable < whole
    await site.restart()
    shown = (await site.ada.port.transfer(transfer.id)).progress
    assert (shown.bytes_durable, shown.files_done, shown.rate_bps) == (kept.bytes_durable, kept.files_done, 0)
    assert (await site.ada.end_of(transfer)).state is m.TransferState.COMPLETE
    async with site.service.whole.core.database.read() as tx:
        assert await tx.scalar(select(ReservationRow.bytes)) == whole


@pytest.mark.anyio
async def test_progress_is_stored_for_all_that_moves_in_one_transaction_and_not_again_without_news(site: Site) -> None:
    large_set(site)
    plans = [await site.ada.plan("lab:/set", f"archive:/{n}", rate_limit_bps=SLOW_BPS) for n in range(2)]
    transfers = [await site.ada.submit(plan) for plan in plans]
    runs = []
    for transfer in transfers:
        run = Run.of(await row_of(site, transfer.id), open_=True)
        run.progress = run.progress.model_copy(update={"bytes_durable": 7})
        runs.append(run)
    attempts = Attempts(site.use_cases.submissions.parts, Turns(2, 2))
    with counted() as cost:
        await attempts.keep_progress(runs)
        await attempts.keep_progress(runs)
    assert cost.commits == 1
    assert [stored_progress(await row_of(site, run.transfer)).bytes_durable for run in runs] == [7, 7]


@pytest.mark.anyio
async def test_a_worker_from_before_gets_no_ticket_and_writes_nothing(site: Site) -> None:
    small_set(site)
    transfer = await stored(site, await site.ada.plan("lab:/set", "archive:/copy"))
    parts = site.use_cases.submissions.parts
    old = (await row_of(site, transfer)).fence
    await site.restart()
    parts = site.use_cases.submissions.parts
    async with site.service.whole.core.database.write() as tx:
        row = await tx.get_one(TransferRow, transfer)
        assert row.fence > old
        with pytest.raises(Fenced):
            await parts.signer.ticket(tx, row, 1, old)
    with pytest.raises(Fenced):
        async with parts.history.change(transfer, fence=old):
            pass


@pytest.mark.anyio
async def test_a_wish_that_comes_while_an_attempt_begins_is_not_lost(site: Site) -> None:
    small_set(site)
    transfer = await stored(site, await site.ada.plan("lab:/set", "archive:/copy"))
    row = await row_of(site, transfer)
    begun = replace(standing_of(row), state=m.TransferState.RUNNING, attempt=1, open=True)
    async with site.service.whole.core.database.write() as tx:
        await tx.execute(update(TransferRow).values(wish="cancel"))
    attempts = Attempts(site.use_cases.submissions.parts, Turns(1, 1))
    assert await attempts.begin(Run.of(row), begun)
    now = await row_of(site, transfer)
    assert (now.attempt, now.wish, now.state) == (0, "cancel", "queued")


@pytest.mark.anyio
@pytest.mark.parametrize(("action", "state"), [("pause", "paused"), ("cancel", "canceled")])
async def test_a_stop_while_an_attempt_is_handed_over_is_noted_at_once_and_acts_when_that_returns(
    site: Site, monkeypatch: pytest.MonkeyPatch, action: m.ControlAction, state: str
) -> None:
    large_set(site)
    plan = await site.ada.plan("lab:/set", "archive:/copy", rate_limit_bps=SLOW_BPS)
    hand_over, under_way, returns = Attempts.hand_over, asyncio.Event(), asyncio.Event()

    async def slowly(self: Attempts, run: Run) -> bool:
        under_way.set()
        await returns.wait()
        return await hand_over(self, run)

    monkeypatch.setattr(Attempts, "hand_over", slowly)
    transfer = await site.ada.submit(plan)
    async with asyncio.timeout(WAIT_S):
        await under_way.wait()
        shown = await site.ada.port.control(transfer.id, m.ControlRequest(action=action, reason="lunch"))
    assert (shown.wish, shown.state) == (action, m.TransferState.RUNNING)
    returns.set()
    stopped = await until(site, transfer, state)
    assert "lunch" in stopped.state_reason


@pytest.mark.anyio
async def test_an_error_that_nobody_foresaw_strands_no_transfer_and_shows_in_health(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_set(site)
    plan = await site.ada.plan("lab:/set", "archive:/copy")
    signer, tries, released = site.use_cases.submissions.parts.signer, asyncio.Semaphore(0), asyncio.Event()
    sign = signer.ticket

    async def ticket(*arguments: Any) -> Any:  # noqa: ANN401 - as it is called
        tries.release()
        if not released.is_set():
            raise RuntimeError
        return await sign(*arguments)

    await site.stop_node("right")  # so that its attempt begins later than it is submitted
    transfer = await site.ada.submit(plan)
    monkeypatch.setattr(signer, "ticket", ticket)
    await site.start_node("right", [("archive", str(site.archive), "delete")])
    async with asyncio.timeout(WAIT_S):
        for _ in range(2):
            await tries.acquire()
    [cause] = (await site.ada.port.health()).causes
    assert cause.code is m.HealthCode.WORK_FAILING
    assert f"`{transfer.id}`: RuntimeError" in cause.sentence
    assert cause.since is not None
    released.set()
    assert (await site.ada.end_of(transfer)).state is m.TransferState.COMPLETE
    assert (await site.ada.port.health()).status == "ok"


@pytest.mark.anyio
async def test_an_error_while_a_transfer_is_submitted_leaves_nothing_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with started_site(tmp_path, replace(Settings(), transfer_concurrency=1)) as site:
        await site.start_both()
        small_set(site)
        plan, other = [await site.ada.plan("lab:/set", f"archive:/{name}") for name in ("copy", "other")]
        jobs = site.service.whole.core.jobs
        monkeypatch.setattr(jobs, "defer", fails_once(RuntimeError(), jobs.defer))
        with refused("internal_error"):
            await site.ada.submit(plan)
        assert (await site.ada.port.transfers()).items == []
        # The one slot is free again.
        for one in (other, plan):
            ended = await site.ada.end_of(await site.ada.submit(one))
            assert (ended.state, ended.attempt) == (m.TransferState.COMPLETE, 1)


@pytest.mark.anyio
async def test_the_hub_is_heard_after_an_error_and_the_event_is_tried_again(
    quiet_site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site, nodes = quiet_site, quiet_site.use_cases.nodes
    full = OperationalError("UPDATE nodes", None, Exception("database or disk is full"))
    monkeypatch.setattr(nodes, "on_attached", fails_once(full, nodes.on_attached))
    monkeypatch.setattr(nodes, "on_join", fails_once(full, nodes.on_join))
    await site.start_both()
    small_set(site)
    ended = await site.ada.end_of(await site.ada.submit(await site.ada.plan("lab:/set", "archive:/copy")))
    assert ended.state is m.TransferState.COMPLETE, ended.summary


@pytest.mark.anyio
async def test_jobs_are_gone_when_their_transfer_and_plan_are_done(site: Site) -> None:
    small_set(site)
    ended = await site.ada.end_of(await site.ada.submit(await site.ada.plan("lab:/set", "archive:/copy")))
    assert ended.state is m.TransferState.COMPLETE
    async with site.service.whole.core.database.read() as tx:
        assert list(await tx.scalars(select(JobRow))) == []


@pytest.mark.anyio
async def test_who_waits_is_told_the_true_place_and_priority_goes_first(tmp_path: Any) -> None:  # noqa: ANN401 - pytest's
    async with started_site(tmp_path, Settings(transfer_concurrency=1)) as site:
        await site.start_both()
        large_set(site)
        first = await site.ada.submit(await site.ada.plan("lab:/set", "archive:/0", rate_limit_bps=SLOW_BPS))
        await until(site, first, "running")
        kinds = {"low": "1", "normal": "2", "high": "3"}
        plans = {
            kind: await site.ada.plan("lab:/set", f"archive:/{name}", rate_limit_bps=SLOW_BPS, priority=kind)
            for kind, name in kinds.items()
        }
        waiting = {kind: await site.ada.submit(plan) for kind, plan in plans.items()}
        for transfer in waiting.values():
            await until_in_line(site, transfer)
        shown_now = {kind: (await site.ada.port.transfer(one.id)).state_reason for kind, one in waiting.items()}
        assert shown_now == {
            "normal": "1st of 3 in the queue",
            "high": "2nd of 3 in the queue",  # policy gives it no higher class
            "low": "3rd of 3 in the queue",
        }
        await site.ada.port.control(first.id, m.ControlRequest(action="cancel"))
        await until(site, waiting["normal"], "running")
        assert (await site.ada.port.transfer(waiting["low"].id)).state_reason == "2nd of 2 in the queue"


@pytest.mark.anyio
async def test_a_freed_slot_writes_about_one_transfer_only(tmp_path: Any) -> None:  # noqa: ANN401 - pytest's
    async with started_site(tmp_path, Settings(transfer_concurrency=1)) as site:
        await site.start_both()
        large_set(site)
        plans = [await site.ada.plan("lab:/set", f"archive:/{n}", rate_limit_bps=SLOW_BPS) for n in range(6)]
        transfers = [await site.ada.submit(plan) for plan in plans]
        await until(site, transfers[0], "running")
        for transfer in transfers[1:]:
            await until_in_line(site, transfer)
        outbox = site.service.whole.core.outbox
        before = (await outbox.bounds())[1]
        await site.ada.port.control(transfers[0].id, m.ControlRequest(action="cancel"))
        await until(site, transfers[1], "running")
        changed = {change.subject for change in await outbox.after(before, 100)}
        assert changed == {transfers[0].id, transfers[1].id}


@pytest.mark.anyio
async def test_progress_of_another_attempt_or_after_the_end_is_not_shown(site: Site) -> None:
    large_set(site)
    transfer = await site.ada.submit(await site.ada.plan("lab:/set", "archive:/copy", rate_limit_bps=SLOW_BPS))
    await until_durable(site, transfer)
    wrong = dict.fromkeys(
        ("files_total", "files_done", "files_failed", "bytes_total", "bytes_received", "bytes_durable", "resent_bytes",
         "rate_bps", "streams"), 10**12,
    )  # fmt: skip
    scheduler = site.use_cases.scheduler
    for attempt in (0, 2):
        event: Any = SimpleNamespace(transfer=transfer.id, attempt=attempt, limiter="", **wrong)
        assert not scheduler.on_progress(event)
    assert (await site.ada.port.transfer(transfer.id)).progress.bytes_durable < 10**12
    await site.ada.port.control(transfer.id, m.ControlRequest(action="cancel"))
    await site.ada.end_of(transfer)
    late: Any = SimpleNamespace(transfer=transfer.id, attempt=1, limiter="", **wrong)
    assert not scheduler.on_progress(late)
    assert (await site.ada.port.transfer(transfer.id)).progress.bytes_durable < 10**12


@pytest.mark.anyio
async def test_the_end_tells_what_the_nodes_signed(site: Site) -> None:
    files = small_set(site)
    size = sum(map(len, files.values()))
    for moved in (size, 0):
        plan = await site.ada.plan("lab:/set", "archive:/copy")
        transfer = await site.ada.submit(plan)
        progress = (await site.ada.end_of(transfer)).progress
        told = (progress.files_total, progress.files_done, progress.bytes_total, progress.bytes_durable)
        assert told == (len(files), len(files), moved, moved)
        assert (progress.bytes_received, progress.resent_bytes, progress.bytes_failed) == (moved, 0, 0)


@pytest.mark.anyio
async def test_what_an_operator_holds_waits_and_goes_on_when_it_is_released(site: Site) -> None:
    large_set(site)
    transfer = await site.ada.submit(await site.ada.plan("lab:/set", "archive:/copy", rate_limit_bps=8 * SLOW_BPS))
    await until_durable(site, transfer)
    (site.settings.data / "halt").write_text("storage maintenance\n")
    site.use_cases.scheduler.recheck()
    held = await until(site, transfer, "waiting")
    assert "storage maintenance" in held.state_reason
    (site.settings.data / "halt").unlink()
    site.use_cases.scheduler.recheck()
    ended = await site.ada.end_of(transfer)
    assert ended.state is m.TransferState.COMPLETE, ended.summary


@pytest.mark.anyio
async def test_numbers_follow_the_order_of_commits_even_behind_a_slow_writer(quiet_site: Site) -> None:
    core = quiet_site.service.whole.core
    before = (await core.outbox.bounds())[1]
    seen: list[str] = []
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def slow() -> None:
        async with core.database.write() as tx:
            await core.outbox.write(tx, m.ChangeKind.NODE, "slow", "attached")
            begun.set()
            await go_on.wait()

    async def fast() -> None:
        async with core.database.write() as tx:
            await core.outbox.write(tx, m.ChangeKind.NODE, "fast", "attached")

    with core.broker.subscribe(EVENTS) as woken:
        writers = [asyncio.create_task(slow())]
        await begun.wait()
        assert not woken.is_set()  # it is not committed yet
        writers.append(asyncio.create_task(fast()))
        assert await core.outbox.after(before, 10) == []
        go_on.set()
        last = before
        while len(seen) < 2:
            found = await core.outbox.after(last, 10)
            seen += [change.subject for change in found]
            last = found[-1].sequence if found else last
            if not found:
                assert await wait_for(woken, WAIT_S)
                woken.clear()
        await asyncio.gather(*writers)
    assert seen == ["slow", "fast"]


@pytest.mark.anyio
async def test_old_changes_are_removed_and_numbers_go_on(quiet_site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox, "_MOST_REMOVED", 2)
    core = quiet_site.service.whole.core
    for _ in range(5):
        async with core.database.write() as tx:
            await core.outbox.write(tx, m.ChangeKind.NODE, "n", "attached")
    _, newest = await core.outbox.bounds()
    quiet_site.clock.shift = timedelta(days=8)
    await core.outbox.remove_old(core.settings.outbox_kept_s)
    assert await core.outbox.bounds() == (newest - 1, newest)
    async with core.database.write() as tx:
        await core.outbox.write(tx, m.ChangeKind.NODE, "n", "attached")
    assert (await core.outbox.bounds())[1] == newest + 1


@pytest.mark.anyio
async def test_submitting_again_after_a_client_went_away_shows_the_transfer_that_runs(site: Site) -> None:
    small_set(site)
    plan = await site.ada.plan("lab:/set", "archive:/copy")
    transfer = await stored(site, plan)
    again = await site.ada.port.submit(m.SubmitRequest(plan_digest=digest_of(plan)))
    assert again.id == transfer
    site.service.whole.core.jobs.wake("sweep transfers", "")
    assert (await site.ada.end_of(again)).state is m.TransferState.COMPLETE


async def next_of(changes: AsyncGenerator[m.Change], *kinds: str) -> m.Change:
    """The next change of one of these kinds."""
    async with asyncio.timeout(WAIT_S):
        async for change in changes:
            if change.kind in kinds:
                return change
    raise AssertionError(kinds)


@pytest.mark.anyio
async def test_changes_are_seen_in_order_from_any_number_and_only_by_those_who_may(site: Site) -> None:
    small_set(site)
    stranger = await site.person("eve", "requester")
    async with aclosing(site.ada.port.changes()) as live, aclosing(stranger.port.changes()) as foreign:
        begin = await next_of(live, "now")
        await next_of(foreign, "now")
        ended = await site.ada.end_of(await site.ada.submit(await site.ada.plan("lab:/set", "archive:/copy")))
        seen: list[m.Change] = []
        while not seen or (seen[-1].subject, seen[-1].state) != (ended.id, "complete"):
            seen.append(await next_of(live, "plan", "transfer"))
        assert [(one.kind, one.state) for one in seen[:3]] == [
            ("plan", "surveying"), ("plan", "ready"), ("transfer", "queued"),
        ]  # fmt: skip
        async with aclosing(site.ada.port.changes(after=begin.sequence)) as again:
            assert [await next_of(again, "plan", "transfer") for _ in seen] == seen
        mine = await stranger.port.create_plan(m.PlanRequest(words="copy lab:/set to archive:/other"))
        assert (await next_of(foreign, "plan", "transfer")).subject == mine.id


@pytest.mark.anyio
async def test_a_reader_who_is_too_far_behind_is_told_to_reload(quiet_site: Site) -> None:
    core = quiet_site.service.whole.core
    for _ in range(3):
        async with core.database.write() as tx:
            await core.outbox.write(tx, m.ChangeKind.NODE, "n", "attached")
    _, newest = await core.outbox.bounds()
    quiet_site.clock.shift = timedelta(days=8)
    await core.outbox.remove_old(core.settings.outbox_kept_s)
    for after in (newest - 2, newest + 7):
        async with aclosing(quiet_site.ada.port.changes(after=after)) as changes:
            assert (await next_of(changes, "reload", "node")).kind == "reload"


@pytest.mark.anyio
async def test_every_kind_of_change_is_told_to_whom_it_concerns(quiet_site: Site) -> None:
    site, admin = quiet_site, quiet_site.ada.port
    stranger = await site.person("eve", "requester")
    await site.start_both()
    await admin.drain_node("left", drain=True)
    await admin.update_endpoint("lab", m.EndpointUpdate(labels={"names": "restricted"}))
    await admin.update_endpoint("lab", m.EndpointUpdate(id="laboratory"))
    await admin.propose_policy(m.PolicyText(text=FROZEN))
    await admin.propose_qos(m.QosText(text=(await admin.qos_versions())[0].text))
    held = await admin.halt(m.HaltRequest(scope="everything", reason="maintenance"))
    await admin.release_halt(held.id)
    await site.ada.ask("list my transfers")

    def of(changes: list[m.Change], kind: str) -> list[tuple[str, str]]:
        return [(one.subject, one.state) for one in changes if one.kind == kind]

    newest = (await site.service.whole.core.outbox.bounds())[1]
    told = await changes_until(site.ada, newest)
    assert of(told, "endpoint") == [
        ("lab", "made"), ("archive", "made"), ("lab", "changed"), ("lab", "changed"), ("laboratory", "changed"),
    ]  # fmt: skip
    assert [state for _, state in of(told, "node")] == ["enrolled", "attached", "enrolled", "attached", "draining"]
    assert [state for _, state in of(told, "policy")][-1] == "proposed"
    assert [state for _, state in of(told, "qos")][-1] == "proposed"
    assert of(told, "halt") == [(held.id, "halted"), (held.id, "released")]
    assert {one.kind for one in told} | {"transfer"} == set(m.CHANGE_STATES)
    # A requester learns what a requester may list: nobody else's plan, and no halts.
    foreign = await changes_until(stranger, newest)
    assert foreign == [one for one in told if one.kind not in {"plan", "halt"}]


async def changes_until(person: Person, newest: int) -> list[m.Change]:
    """All that a person is told of the kept changes; the first one made after them ends the reading."""
    mine = await person.port.create_plan(m.PlanRequest(words="list my transfers"))
    told: list[m.Change] = []
    async with asyncio.timeout(WAIT_S), aclosing(person.port.changes(after=0)) as changes:
        async for one in changes:
            if one.subject == mine.id:
                break
            told.append(one)
    return [one for one in told if one.sequence <= newest and one.kind != "now"]


@pytest.mark.anyio
async def test_a_change_with_a_state_that_is_not_declared_is_not_written(quiet_site: Site) -> None:
    core = quiet_site.service.whole.core

    async def say() -> None:
        async with core.database.write() as tx:
            await core.outbox.write(tx, m.ChangeKind.NODE, "nd_1", "atached")

    before = await core.outbox.bounds()
    with pytest.raises(ValueError, match="no state `atached`"):
        await say()
    assert await core.outbox.bounds() == before


@pytest.mark.anyio
async def test_a_kind_of_change_that_nobody_thought_of_is_told_to_nobody(quiet_site: Site) -> None:
    core = quiet_site.service.whole.core
    async with core.database.write() as tx:
        # A kind of a later version.
        tx.add(OutboxRow(at=core.clock(), kind="secret", subject="x", state="y"))
    newest = (await core.outbox.bounds())[1]
    assert "secret" not in {one.kind for one in await changes_until(quiet_site.ada, newest)}
