"""What happens when two things happen at once: every answer is named, nothing is stranded, nothing is counted twice."""

import asyncio
import random
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import select, update
from tests.servers.disk import fill, mounted
from tests.servers.site import WAIT_S, Person, Site, digest_of, started_site
from tests.service.refusals import refused
from tests.service.test_consent import APPROVED_OVERWRITES, differing_files, plan_to_approve, publish
from tests.service.test_transfers import SLOW_BPS, arrived, large_set, small_set, until

from headrace.api.audit.chain import Audit
from headrace.api.sites.nodes import Nodes
from headrace.api.store import Database, Tx, after_commit, sqlite
from headrace.api.store.tables_work import ApprovalRow, ReservationRow, TransferRow
from headrace.auth import AuthError
from headrace.client import END_STATES, HeadraceError
from headrace.client import models as m
from headrace.engine import EngineError, Node, NodeAttached

pytestmark = pytest.mark.anyio


async def at_once(*calls: Awaitable[Any]) -> list[Any]:
    """Make calls at the same time; returns their answers, or the codes with which they were refused."""

    async def answer(call: Awaitable[Any]) -> Any:  # noqa: ANN401 - whatever was asked
        try:
            return await call
        except HeadraceError as error:
            return error.problem.code

    return await asyncio.gather(*map(answer, calls))


def retried_code(answer: object, *codes: str) -> bool:
    """Whether a call was answered with one of these codes (any other code fails the test)."""
    assert not isinstance(answer, str) or answer in codes, answer
    return isinstance(answer, str)


async def audited_once(site: Site, kind: str, subject: str) -> None:
    assert [event.subject for event in await site.audited(kind)].count(subject) == 1


async def test_two_approvers_at_once_and_one_of_them_twice(site: Site) -> None:
    plan = await plan_to_approve(site)
    bea, cyd = await site.person("bea", "approver"), await site.person("cyd", "approver")
    answers = await at_once(bea.approve(plan), cyd.approve(plan), bea.approve(plan))
    assert all(isinstance(answer, m.Plan) for answer in answers[:2]), answers
    ended = await site.ada.end_of(await site.ada.submit(plan))
    assert ended.state is m.TransferState.COMPLETE, ended.summary
    async with site.service.whole.core.database.read() as tx:
        approvals = list(await tx.scalars(select(ApprovalRow)))
    assert sorted(one.approver for one in approvals) == sorted([bea.principal.id, cyd.principal.id])


async def test_an_approval_and_the_submission_that_needs_it_at_once(site: Site) -> None:
    plan = await plan_to_approve(site)
    bea = await site.person("bea", "approver")
    approved, submitted = await at_once(bea.approve(plan), site.ada.submit(plan))
    assert isinstance(approved, m.Plan)
    if retried_code(submitted, "needs_approval"):
        submitted = await site.ada.submit(plan)
    assert (await site.ada.end_of(submitted)).state is m.TransferState.COMPLETE
    await audited_once(site, "submitted", submitted.id)


async def test_a_confirmation_and_a_refusal_at_once_leave_one_of_both(site: Site) -> None:
    differing_files(site)
    plan = await site.ada.plan("lab:/set", "archive:/set", on_conflict="overwrite")
    digest = digest_of(plan)
    answers = await at_once(
        site.ada.port.confirm_plan(plan.id, m.Confirmation(digest=digest)),
        site.ada.port.confirm_plan(plan.id, m.Confirmation(digest=digest, verdict="declined")),
    )
    for answer in answers:
        retried_code(answer, "plan_declined")
    [submitted] = await at_once(site.ada.submit(plan))
    if (await site.ada.port.plan(plan.id)).confirmed:
        assert (await site.ada.end_of(submitted)).state is m.TransferState.COMPLETE
    else:
        assert submitted == "plan_declined"
        assert (site.archive / "set" / "a.txt").read_text() == "old"


async def test_a_policy_published_while_plans_are_submitted(site: Site) -> None:
    small_set(site)
    plans = [await site.ada.plan("lab:/set", f"archive:/{number}") for number in range(3)]
    _, *answers = await at_once(publish(site, APPROVED_OVERWRITES), *map(site.ada.submit, plans))
    for answer in answers:
        if retried_code(answer, "policy_changed"):
            continue
        ended = await site.ada.end_of(answer)
        code = ended.error.code if ended.error else ""
        assert (ended.state, code) in {("complete", ""), ("failed", "policy_changed")}, ended.summary
    assert len(await site.ada.port.transfers()) == sum(isinstance(answer, m.Transfer) for answer in answers)


async def test_a_person_disabled_while_submitting_gets_nothing_further(site: Site) -> None:
    large_set(site)
    bob = await site.person("bob", "requester")
    plan = await bob.plan("lab:/set", "archive:/copy", rate_limit_bps=8 * SLOW_BPS)
    disabled, submitted = await at_once(site.ada.port.disable_person(bob.principal.id), bob.submit(plan))
    assert disabled.state == "disabled"
    if retried_code(submitted, "requester_inactive", "not_signed_in"):
        assert not list(site.archive.iterdir())
        return
    ended = await site.ada.end_of(submitted)
    assert ended.error is not None, ended.summary
    assert (ended.state, ended.error.code) == ("failed", "requester_inactive")


async def test_two_plans_for_one_budget_at_once_are_counted_one_after_the_other(site: Site) -> None:
    small_set(site)
    await publish(site, BUDGET_OF_ONE)
    plans = [await site.ada.plan("lab:/set", f"archive:/{number}") for number in range(4)]
    assert {plan.decision.outcome for plan in plans if plan.decision} == {"allowed"}
    answers = await at_once(*map(site.ada.submit, plans))
    ran = [answer for answer in answers if not retried_code(answer, "needs_confirmation")]
    assert len(ran) == 1, answers
    assert (await site.ada.end_of(ran[0])).state is m.TransferState.COMPLETE
    async with site.service.whole.core.database.read() as tx:
        assert len(list(await tx.scalars(select(ReservationRow)))) == 1


BUDGET_OF_ONE = """
@id("requesters")
@reason("requesters may work")
permit (principal in Role::"requester", action, resource);
@id("one-at-a-time")
@reason("one transfer at a time")
@obligation("approval:approver:1")
forbid (principal, action in [Action::"copy", Action::"sync", Action::"move"], resource)
when { context.running_transfers > 0 || context.person_used_bytes > 0 };
"""


@pytest.mark.parametrize("seed", range(4))
async def test_pause_resume_cancel_and_retry_at_once_leave_one_state_and_cancel_is_final(site: Site, seed: int) -> None:
    large_set(site)
    plan = await site.ada.plan("lab:/set", "archive:/copy", rate_limit_bps=SLOW_BPS)
    transfer = await site.ada.submit(plan)
    await until(site, transfer, "running")
    actions = ["pause", "resume", "cancel", "retry", "pause", "resume"]
    random.Random(seed).shuffle(actions)  # noqa: S311 - repeatable
    answers = await at_once(
        *(site.ada.port.control(transfer.id, m.ControlRequest.model_validate({"action": one})) for one in actions)
    )
    for action, answer in zip(actions, answers, strict=True):
        retried_code(answer, "transfer_state")
        assert action != "cancel" or isinstance(answer, m.Transfer), answer
    ended = await site.ada.end_of(transfer)
    assert ended.state is m.TransferState.CANCELED, ended.summary
    ends = [event for event in await site.audited("transfer_changed") if event.detail["event"] in END_STATES]
    assert [event.detail["state"] for event in ends] == ["canceled"]


@pytest.mark.parametrize(
    ("wish", "signed", "outcome"),
    [("cancel", 1, "canceled"), ("cancel", 2, "complete"), ("run", 1, "failed (statement_invalid)")],
)
async def test_a_cancel_that_meets_the_end_leaves_it_complete_if_both_nodes_signed_and_else_canceled(
    site: Site, monkeypatch: pytest.MonkeyPatch, wish: str, signed: int, outcome: str
) -> None:
    scheduler, heard = site.use_cases.scheduler, asyncio.Queue[Any]()
    hear = scheduler.on_ended
    monkeypatch.setattr(scheduler, "on_ended", heard.put_nowait)
    files = small_set(site)
    transfer = await site.ada.submit(await site.ada.plan("lab:/set", "archive:/copy"))
    end = await asyncio.wait_for(heard.get(), WAIT_S)
    assert (end.outcome, len(end.statements)) == ("complete", 2)
    async with site.service.whole.core.database.write() as tx:
        await tx.execute(update(TransferRow).values(wish=wish, wish_reason="canceled by ada"))
    # The destination signs first; a source that a cancel reaches before it has signed says nothing.
    said = {name: getattr(end, name) for name in dir(end) if not name.startswith("_")}
    told: Any = SimpleNamespace(**said | {"statements": end.statements[:signed]})
    hear(told)
    ended = await site.ada.end_of(transfer)
    assert outcome == ended.state + (f" ({ended.error.code})" if ended.error else ""), ended.summary
    assert (ended.receipt is not None) == (outcome == "complete")
    assert arrived(site.archive / "copy") == files


async def test_one_join_token_used_by_two_nodes_at_once_lets_one_in(quiet_site: Site) -> None:
    token = (await quiet_site.ada.port.create_join_token(m.JoinTokenRequest(name="dtn"))).token
    (quiet_site.folder / "state").mkdir()

    async def join(name: str) -> Node | EngineError:
        try:
            state = str(quiet_site.folder / "state" / name)
            return await Node.start(state_dir=state, name="dtn", roots=[], join_token=token)
        except EngineError as error:
            return error

    joined = await asyncio.gather(join("one"), join("two"))
    nodes = [one for one in joined if isinstance(one, Node)]
    [error] = [one for one in joined if isinstance(one, EngineError)]
    for number, node in enumerate(nodes):
        quiet_site.nodes[str(number)] = node
    assert len(nodes) == 1
    assert error.code == "join_refused", error
    assert len(await quiet_site.audited("node_joined")) == 1


async def test_a_client_that_goes_away_at_any_moment_strands_nothing(site: Site) -> None:
    small_set(site)
    digests = []
    for steps in range(0, 60, 5):
        plan = await site.ada.plan("lab:/set", f"archive:/{steps}")
        digests.append(digest_of(plan))
        leaving = asyncio.create_task(site.ada.submit(plan))
        for _ in range(steps):
            await asyncio.sleep(0)
        leaving.cancel()
        await asyncio.gather(leaving, return_exceptions=True)
    for transfer in await site.ada.port.transfers():
        assert (await site.ada.end_of(transfer)).state is m.TransferState.COMPLETE
    for digest in digests:
        again = await site.ada.port.submit(m.SubmitRequest(plan_digest=digest))
        assert (await site.ada.end_of(again)).state is m.TransferState.COMPLETE
    assert len(await site.audited("submitted")) == len(digests)
    assert all(arrived(folder) == arrived(site.lab / "set") for folder in site.archive.iterdir())


async def test_a_transfer_that_is_held_by_the_time_a_sweep_may_write_is_not_taken_up_anew(site: Site) -> None:
    large_set(site)
    transfer = await site.ada.submit(await site.ada.plan("lab:/set", "archive:/copy", rate_limit_bps=SLOW_BPS))
    await until(site, transfer, "running")
    scheduler = site.use_cases.scheduler
    assert await scheduler._take_one(transfer.id) is scheduler._runs[transfer.id]  # noqa: SLF001 - as a sweep does
    async with site.service.whole.core.database.read() as tx:
        assert (await tx.get_one(TransferRow, transfer.id)).fence == 1
    said = [event.kind for event in (await site.ada.port.transfer_events(transfer.id)).items]
    assert m.TransferEventKind.WAITING not in said, said
    await site.ada.port.control(transfer.id, m.ControlRequest(action="cancel"))
    await site.ada.end_of(transfer)


async def test_a_plan_that_ends_while_a_sweep_reads_is_not_called_made_by_nobody(
    quiet_site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    intake, woken = quiet_site.use_cases.intake, list[str]()
    intake._under_way["pl_1"] = "pn_1"  # noqa: SLF001 - as while it is made

    async def scalars(_: object) -> list[str]:
        intake._under_way.pop("pl_1", None)  # noqa: SLF001 - it ends; what is read is as of before
        return ["pl_1"]

    @asynccontextmanager
    async def read() -> AsyncIterator[SimpleNamespace]:
        yield SimpleNamespace(scalars=scalars)

    jobs = SimpleNamespace(wake=lambda _, plan: woken.append(plan))
    monkeypatch.setattr(intake, "_core", SimpleNamespace(database=SimpleNamespace(read=read), jobs=jobs))
    await intake._sweep()  # noqa: SLF001
    assert woken == []
    await intake._sweep()  # noqa: SLF001
    assert woken == ["pl_1"], "nobody makes it now"


async def test_a_clock_that_jumps_refuses_by_name_and_hurts_nothing_when_it_is_right_again(site: Site) -> None:
    small_set(site)
    plan = await site.ada.plan("lab:/set", "archive:/set")
    for shift in (timedelta(days=2), timedelta(days=-2), timedelta(hours=-3), timedelta(minutes=10)):
        site.clock.shift = shift
        [answer] = await at_once(site.ada.submit(plan))
        if retried_code(answer, "plan_expired"):
            continue
        moved = await site.ada.port.transfer(answer.id, wait_s=1)
        assert moved.state != "complete", "nodes and service disagree about the time, and something ran"
    site.clock.shift = timedelta()
    transfer = await site.ada.submit(plan)
    ended = await site.ada.end_of(transfer)
    if ended.state == "failed":
        assert ended.error is not None
        assert ended.error.code in {"node_clock_skewed", "not_yet_valid", "plan_expired"}, ended.error
        again = await site.ada.port.control(ended.id, m.ControlRequest(action="retry"))
        ended = await site.ada.end_of(again)
    assert ended.state is m.TransferState.COMPLETE, ended.summary
    assert (await site.use_cases.audit.verify(full=True)).intact


async def test_a_clock_that_is_set_ends_no_wait_for_a_node_and_prolongs_none(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_set(site)
    plans = [await site.ada.plan("lab:/set", f"archive:/{number}") for number in range(2)]
    await site.stop_node("right")
    waits, ends = [await site.ada.submit(plan) for plan in plans]
    for transfer in (waits, ends):
        await until(site, transfer, "waiting")
    looks, require_usable = asyncio.Semaphore(0), Nodes.require_usable

    async def looked(self: Nodes, tx: Tx, *keys: str) -> dict[str, NodeAttached]:
        looks.release()
        return await require_usable(self, tx, *keys)

    monkeypatch.setattr(Nodes, "require_usable", looked)
    for jump in (timedelta(days=8), timedelta(days=-8)):
        site.clock.jump = jump
        site.use_cases.scheduler.wake(waits.id)
        async with asyncio.timeout(WAIT_S):
            # The look before has ended when the next one begins.
            for _ in range(2):
                await looks.acquire()
                site.use_cases.scheduler.wake(waits.id)
        assert (await site.ada.port.transfer(waits.id)).state is m.TransferState.WAITING
    site.clock.shift = timedelta(seconds=site.settings.away_limit_s + 1)
    site.use_cases.scheduler.wake(ends.id)
    ended = await site.ada.end_of(ends)
    assert (ended.state, ended.error and ended.error.code) == (m.TransferState.FAILED, "node_away")


async def test_a_clock_that_is_set_neither_frees_nor_shuts_out_who_tried_too_often(quiet_site: Site) -> None:
    async def tries(count: int) -> set[str]:
        found = set()
        for _ in range(count):
            try:
                await quiet_site.use_cases.people.sign_in(m.SignIn(name="ada", password="wrong one"), "192.0.2.7")  # noqa: S106 - wrong
            except AuthError as error:
                found.add(str(error.code))
        return found

    assert await tries(10) == {"sign_in_refused"}
    quiet_site.clock.jump = timedelta(days=1)
    assert await tries(1) == {"too_many_attempts"}
    quiet_site.clock.jump, quiet_site.clock.shift = timedelta(days=-1), timedelta(minutes=16)
    assert await tries(1) == {"sign_in_refused"}


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let writers wait a short time only, so that the test need not."""
    monkeypatch.setattr(sqlite, "_BUSY_TIMEOUT_MS", 100)


@pytest.mark.usefixtures("impatient")
async def test_a_store_that_another_process_holds_is_named_and_may_be_tried_again(tmp_path: Path) -> None:
    async with started_site(tmp_path) as site:
        await site.start_both()
        small_set(site)
        plan = await site.ada.plan("lab:/set", "archive:/set")
        holder = sqlite3.connect(site.settings.data / "headrace.sqlite", isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        with refused("store_busy"):
            await site.ada.submit(plan)
        with refused("store_busy"):
            await site.ada.port.create_plan(m.PlanRequest(words="copy lab:/set to archive:/set"))
        # Reading goes on, and so does knowing who calls.
        site.clock.shift += timedelta(minutes=2)
        await who_is(site.ada)
        assert (await site.ada.port.transfers()).items == []
        site.clock.shift = timedelta()
        holder.execute("ROLLBACK")
        holder.close()
        assert (await site.ada.end_of(await site.ada.submit(plan))).state is m.TransferState.COMPLETE
        assert len(await site.audited("submitted")) == 1


async def who_is(person: Person) -> str:
    return (await person.site.use_cases.people.of_session(person.secret)).id


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 24 MB."""
    with mounted(tmp_path / "disk", "24m") as folder:
        yield folder


async def test_a_full_disk_is_named_and_nothing_is_lost_when_there_is_room_again(small_disk: Path) -> None:
    async with started_site(small_disk) as site:
        await site.start_both()
        small_set(site)
        running = await site.ada.submit(await site.ada.plan("lab:/set", "archive:/first"))
        plan = await site.ada.plan("lab:/set", "archive:/set")
        await site.ada.end_of(running)
        fill(small_disk / "ballast")
        codes = await at_once(*(site.ada.submit(plan) for _ in range(3)))
        codes += await at_once(site.ada.port.invite(m.InvitationRequest(name="bob", roles=["viewer"])))
        assert set(codes) <= {"store_full", "audit_unwritable"}, codes
        site.clock.shift += timedelta(minutes=2)
        assert await who_is(site.ada) == site.ada.principal.id
        assert (await site.ada.port.health()).status == "degraded"
        (small_disk / "ballast").unlink()
        site.clock.shift = timedelta()
        ended = await site.ada.end_of(await site.ada.submit(plan))
        assert ended.state is m.TransferState.COMPLETE, ended.summary
        await until_well(site)
        async with site.service.whole.core.database.read() as tx:
            assert len(list(await tx.scalars(select(TransferRow)))) == 2
        assert (await site.use_cases.audit.verify(full=True)).intact


async def until_well(site: Site) -> None:
    """Have what failed tried again at once, until health is good."""
    jobs = site.service.whole.core.jobs
    async with asyncio.timeout(WAIT_S):
        while (await site.ada.port.health()).status != "ok":
            for trouble in list(jobs.troubles):
                task, _, subject = trouble.rpartition(" ")
                jobs.wake(task, subject)
            await asyncio.sleep(0)


@pytest.mark.parametrize("change", ["publish", "disable", "label", "drain"])
async def test_a_change_whose_caller_goes_while_it_is_stored_counts_at_once(
    site: Site, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pia, vera = await site.person("pia", "policy_admin"), await site.person("vera", "viewer")
    proposed = await site.ada.port.propose_policy(m.PolicyText(text=APPROVED_OVERWRITES))
    node = (await site.ada.port.nodes())[0].id
    changes: dict[str, Callable[[], Coroutine[object, object, object]]] = {
        "publish": lambda: pia.port.publish_policy(proposed.version),
        "disable": lambda: site.ada.port.disable_person(vera.principal.id),
        "label": lambda: site.ada.port.update_endpoint("lab", m.EndpointUpdate(labels={"a": "b"})),
        "drain": lambda: site.ada.port.drain_node(node, drain=True),
    }
    core, told = site.service.whole.core, list[str]()
    core.reactions.listen(lambda: told.append(change))
    append = Audit.append

    async def and_then_leave(audit: Audit, tx: Tx, kind: m.AuditKind, **said: Any) -> None:  # noqa: ANN401 - as it is called
        await append(audit, tx, kind, **said)
        if kind is not m.AuditKind.CONSENTED:  # that is before the change
            after_commit(tx, leave)

    def leave() -> None:
        task.cancel()

    write = Database.write

    @asynccontextmanager
    async def and_notice(database: Database, **options: bool) -> AsyncIterator[Tx]:
        async with write(database, **options) as tx:
            yield tx
        # Who has left is noticed where the next thing is waited for: here, right after the transaction.
        await asyncio.sleep(0)

    monkeypatch.setattr(Audit, "append", and_then_leave)
    monkeypatch.setattr(Database, "write", and_notice)
    task = asyncio.ensure_future(changes[change]())
    with pytest.raises(asyncio.CancelledError):
        await task
    monkeypatch.undo()
    assert told == [change]
    if change == "publish":
        active = site.service.whole.use_cases.policies.active
        assert active is not None
        assert active.text == APPROVED_OVERWRITES
