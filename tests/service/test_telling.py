"""Nodes hear what they get of links each for itself: a silent one holds up nobody, a restart forgets nothing."""

import asyncio
import logging
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path

import pytest
from sqlalchemy import update
from tests.pure.api.qos_texts import LINKED, STANDING
from tests.servers.site import WAIT_S, Site, started_site
from tests.service.test_local_accounts import PROGRAM
from tests.service.test_qos import put_in_force
from tests.service.test_transfers import large_set, small_set, until_durable

from headrace.api.jobs.port import Task
from headrace.api.store.tables_site import QosRow
from headrace.api.transfers import scheduler, shares
from headrace.api.transfers.shares import PATIENCE_S
from headrace.api.transfers.telling import SHARES_INVALID, Telling, settle
from headrace.client import models as m
from headrace.engine import EngineError

BOTH = LINKED.replace('["left"]', '["left", "mute"]')


@asynccontextmanager
async def a_third_node(site: Site, folder: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run a node `mute` as a program of its own, with an endpoint `mute`, which a signal can silence."""
    made = await site.ada.port.create_join_token(m.JoinTokenRequest(name="mute"))
    root, state = folder / "mute", folder / "mute-state"
    root.mkdir()
    where = ("--root", f"mute={root}:delete", "--data-listen", "127.0.0.1:0", "--state", str(state), "--allow-root")
    process = await asyncio.create_subprocess_exec(*PROGRAM, "join", made.token, "--name", "mute", *where)
    try:
        await site.until_nodes(lambda: site.use_cases.nodes.attached_count == len(site.nodes) + 1)
        yield process
    finally:
        process.send_signal(signal.SIGCONT)
        process.terminate()
        await process.wait()


@pytest.mark.anyio
async def test_a_node_that_does_not_answer_holds_up_neither_a_version_nor_what_begins(
    site: Site, tmp_path: Path
) -> None:
    files = small_set(site)
    plan = await site.ada.plan("lab:/set", "archive:/copy")
    async with a_third_node(site, tmp_path) as mute:
        mute.send_signal(signal.SIGSTOP)
        # A call to a node that is silent takes 30 s.
        async with asyncio.timeout(WAIT_S):
            await put_in_force(site, BOTH)
            await put_in_force(site, BOTH.replace("80_000_000", "90_000_000"))
            ended = await site.ada.end_of(await site.ada.submit(plan))
    assert (ended.state, ended.progress.files_done) == (m.TransferState.COMPLETE, len(files))


@pytest.mark.anyio
async def test_an_attempt_whose_job_is_broken_off_as_it_begins_begins_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken_off = asyncio.Event()

    def short(name: str, run: Callable[[str], Awaitable[datetime | None]], *, at_once: int = 1) -> Task:
        async def seen(subject: str) -> datetime | None:
            try:
                return await run(subject)
            except asyncio.CancelledError:
                broken_off.set()
                raise

        return Task(name, seen, at_once=at_once, limit_s=PATIENCE_S / 2)

    monkeypatch.setattr(scheduler, "Task", short)
    async with started_site(tmp_path) as site:
        await site.start_both()
        small_set(site)
        async with a_third_node(site, tmp_path) as mute:
            plan = await site.ada.plan("lab:/set", "mute:/copy")
            mute.send_signal(signal.SIGSTOP)
            await put_in_force(site, BOTH)
            transfer = await site.ada.submit(plan)
            async with asyncio.timeout(WAIT_S):
                await broken_off.wait()
            mute.send_signal(signal.SIGCONT)
            ended = await site.ada.end_of(transfer)
            assert (ended.state, ended.attempt) == (m.TransferState.COMPLETE, 1), ended.summary


@pytest.mark.anyio
async def test_a_transfer_whose_share_its_nodes_do_not_take_runs_without_one(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = small_set(site)
    await put_in_force(site, LINKED)
    monkeypatch.setattr(shares, "share_text", lambda *_: '{"class": "", "weight": 1}')
    ended = await site.ada.end_of(await site.ada.submit(await site.ada.plan("lab:/set", "archive:/copy")))
    assert (ended.state, ended.attempt) == (m.TransferState.COMPLETE, 1), ended.summary
    assert ended.progress.files_done == len(files)


NARROW = LINKED.replace("80_000_000", "2_000_000")
TEXTS = {
    "no links any more": STANDING.format(""),
    "a link that it does not take": NARROW.replace('["left"]\n', '["left"]\npeers = ["other"]\n'),
}


@pytest.mark.anyio
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
async def test_what_a_version_took_away_is_taken_away_after_a_restart_too(site: Site, text: str) -> None:
    large_set(site)
    await put_in_force(site, NARROW)
    transfer = await site.ada.submit(await site.ada.plan("lab:/set", "archive:/copy"))
    await until_durable(site, transfer)
    # As a version that came in force just before the service ended, of which no node heard.
    async with site.service.whole.core.database.write() as tx:
        await tx.execute(update(QosRow).where(QosRow.state == "active").values(text=text))
    await site.restart()
    # What is left takes a minute at the former rate.
    assert (await site.ada.end_of(transfer)).state is m.TransferState.COMPLETE


def engine_error(code: str) -> EngineError:
    error = EngineError("as a node says it")
    error.code, error.retryable = code, False
    return error


class Addressee:
    """Somebody who answers when a test says so."""

    def __init__(self) -> None:
        self.heard = list[str]()
        self.answers = asyncio.Queue[EngineError | None]()

    async def send(self, text: str) -> None:
        self.heard.append(text)
        answer = await self.answers.get()
        if answer is not None:
            raise answer

    async def answer(self, telling: Telling, error: EngineError | None = None) -> None:
        self.answers.put_nowait(error)
        await settle([telling], 0.1)


@pytest.mark.anyio
async def test_what_is_newer_comes_after_what_is_older_and_nothing_in_between_is_told() -> None:
    whom = Addressee()
    telling = Telling("node x", whom.send, "")
    for text in ("first", "second", "third"):
        telling.want(text)
        await settle([telling], 0.01)
    assert whom.heard == ["first"]
    await whom.answer(telling)
    await whom.answer(telling)
    assert (whom.heard, telling.known) == (["first", "third"], "third")
    telling.want("third")
    assert telling.under_way is None


@pytest.mark.anyio
async def test_what_failed_is_told_again_and_what_is_refused_is_not() -> None:
    whom = Addressee()
    telling = Telling("node x", whom.send, "")
    telling.want("first")
    await whom.answer(telling, engine_error("node_timeout"))
    assert (telling.known, telling.is_settled) == (None, False)
    telling.want("first")
    await whom.answer(telling, engine_error(SHARES_INVALID))
    telling.want("first")
    assert (whom.heard, telling.under_way) == (["first", "first"], None)
    telling.want("second")
    await whom.answer(telling)
    assert telling.known == "second"


@pytest.mark.anyio
async def test_the_log_says_once_that_nobody_hears_and_again_after_it_was_heard(
    caplog: pytest.LogCaptureFixture,
) -> None:
    whom = Addressee()
    telling = Telling("transfer x", whom.send, None)
    with caplog.at_level(logging.INFO):
        for text, answer in (("first", True), ("first", True), ("first", False), ("second", True), ("second", True)):
            telling.want(text)
            await whom.answer(telling, engine_error("node_away") if answer else None)
    assert len(whom.heard) == 5
    assert len(caplog.messages) == 2, caplog.messages


@pytest.mark.anyio
async def test_what_an_attempt_begins_with_is_told_once_more_where_something_older_was_under_way() -> None:
    whom = Addressee()
    telling = Telling("transfer x", whom.send, "")
    telling.bring("first")
    assert (telling.known, whom.heard) == ("first", [])
    telling.want("second")
    await settle([telling], 0.01)
    telling.bring("third")
    await whom.answer(telling)
    await whom.answer(telling)
    assert (whom.heard, telling.known) == (["second", "third"], "third")
