"""Several processes on one PostgreSQL database are one site: any of them is asked, and any may be killed."""

import asyncio
import json
import os
import re
import shutil
import ssl
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, aclosing, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from demo.stage import HEADRACE, surroundings
from sqlalchemy import make_url
from tests.servers.disk import fill, mounted
from tests.servers.many import Many, Process, many
from tests.servers.otlp import otlp_receiver
from tests.servers.postgres import Postgres, postgres_running
from tests.servers.stores import postgres

from headrace.client import HeadraceError, HttpHeadrace
from headrace.client import models as m

__all__ = ["postgres"]

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240, func_only=True), pytest.mark.xdist_group("many")]


LONGEST_END_S = 15
"""Below what a process waits for a leader that is still about to end."""
END_THE_LEADERS_LOCK = """
    SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted AND objid = 3
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def running(tmp_path_factory: pytest.TempPathFactory, postgres: Postgres) -> AsyncIterator[Many]:
    async with many(tmp_path_factory.mktemp("many"), postgres.database()) as site:
        await asyncio.to_thread(site.start, "one")
        await asyncio.to_thread(site.start, "two")
        await site.first_admin("two")
        await site.start_nodes("two")
        yield site


@pytest.fixture
async def pair(running: Many) -> Many:
    """A site of two processes that both run, with both nodes attached."""
    for name, process in list(running.processes.items()):
        if process.popen.poll() is not None:
            await asyncio.to_thread(running.start, name)
    await running.attached("two")
    return running


async def planned(port: HttpHeadrace, site: Many, name: str, rate_bps: int | None = None) -> m.Plan:
    (site.folder / "lab" / name).write_bytes(os.urandom(4 << 20))
    wish = {"action": "copy", "source": f"lab:/{name}", "destination": f"archive:/{name}", "rate_limit_bps": rate_bps}
    made = await port.create_plan(m.PlanRequest.model_validate({"intent": wish}))
    return await port.plan(made.id, wait_s=20)


async def submitted(port: HttpHeadrace, site: Many, name: str, rate_bps: int | None = None) -> m.Transfer:
    plan = await planned(port, site, name, rate_bps)
    assert plan.digest is not None, plan.summary
    return await port.submit(m.SubmitRequest(plan_digest=plan.digest))


async def until_moving(port: HttpHeadrace, transfer: m.Transfer) -> None:
    async with aclosing(port.watch(transfer.id)) as events:
        async for event in events:
            if event.transfer is not None and event.transfer.progress.bytes_received:
                return


async def end_of(port: HttpHeadrace, transfer: m.Transfer) -> m.Transfer:
    async with asyncio.timeout(60):
        while (shown := await port.transfer(transfer.id, wait_s=20)).state not in m.END_STATES:
            pass
    return shown


def arrived(site: Many, name: str) -> bool:
    return (site.folder / "archive" / name).read_bytes() == (site.folder / "lab" / name).read_bytes()


async def test_what_is_submitted_at_one_process_is_watched_at_the_other(pair: Many) -> None:
    async with pair.port("one") as one, pair.port("two") as two:
        for name, asked, other in (("a.bin", one, two), ("b.bin", two, one)):
            transfer = await submitted(asked, pair, name)
            async with aclosing(other.watch(transfer.id)) as events:
                last = [event async for event in events][-1]
            assert last.transfer is not None
            assert last.transfer.state is m.TransferState.COMPLETE
            assert arrived(pair, name)


async def test_a_halt_at_one_process_holds_at_the_other(pair: Many) -> None:
    async with pair.port("one") as one, pair.port("two") as two:
        for name, halts, asked in (("c.bin", one, two), ("d.bin", two, one)):
            plan = await planned(asked, pair, name)
            halt = await halts.halt(m.HaltRequest(scope="everything", reason="maintenance"))
            assert plan.digest is not None
            with pytest.raises(HeadraceError) as refused:
                await asked.submit(m.SubmitRequest(plan_digest=plan.digest))
            assert refused.value.problem.code == "halted"
            await asked.release_halt(halt.id)
            transfer = await halts.submit(m.SubmitRequest(plan_digest=plan.digest))
            assert (await end_of(asked, transfer)).state is m.TransferState.COMPLETE


@pytest.mark.parametrize("leads", [True, False], ids=["the one that leads", "one that passes on"])
async def test_a_process_that_is_killed_costs_what_runs_nothing(pair: Many, *, leads: bool) -> None:
    victim, other = pair.roles() if leads else pair.roles()[::-1]
    name = f"killed-{leads}.bin"
    async with pair.port(other) as port:
        transfer = await submitted(port, pair, name, rate_bps=16_000_000)
        await port.control(transfer.id, m.ControlRequest(action="set_rate", rate_bps=400_000))
        await until_moving(port, transfer)
        await asyncio.to_thread(pair.processes[victim].kill)
        # It still runs when the next one leads: at that rate it takes a minute.
        await port.control(transfer.id, m.ControlRequest(action="set_rate"))
        ended = await end_of(port, transfer)
        assert ended.state is m.TransferState.COMPLETE, ended.summary
        assert arrived(pair, name)
        # Each change of the rate signs a ticket, too.
        assert len(await port.audit(kind="ticketed", subject=transfer.id)) == 3 + leads
        assert (await port.verify_audit()).intact
    # It comes back as one that passes on, and takes work.
    await asyncio.to_thread(pair.start, victim)
    assert pair.roles() == (other, victim)
    async with pair.port(victim) as back:
        await pair.attached(victim)
        transfer = await submitted(back, pair, f"after-{name}")
        assert (await end_of(back, transfer)).state is m.TransferState.COMPLETE


async def test_a_process_that_ends_cleanly_hands_the_site_over_and_nobody_is_refused(pair: Many) -> None:
    leader, other = pair.roles()
    over = asyncio.Event()

    async def ask() -> int:
        asked = 0
        async with pair.port(other) as port:
            while not over.is_set():
                await port.me()
                asked += 1
        return asked

    asking = asyncio.create_task(ask())
    assert await asyncio.to_thread(pair.processes[leader].end) == 0
    await pair.attached(other)
    over.set()
    assert await asking > 0


async def test_when_the_database_ends_every_connection_one_process_leads_and_work_goes_on(
    pair: Many, postgres: Postgres
) -> None:
    async with pair.port("two") as port:
        transfer = await submitted(port, pair, "cut.bin", rate_bps=16_000_000)
        await until_moving(port, transfer)
        await asyncio.to_thread(postgres.cut, str(make_url(pair.database).database))
        assert (await end_of(port, transfer)).state is m.TransferState.COMPLETE
        assert arrived(pair, "cut.bin")
        assert (await port.verify_audit()).intact


async def test_a_leader_whose_lock_another_process_has_taken_passes_on_to_that_one(
    pair: Many, postgres: Postgres
) -> None:
    former, next_one = pair.roles()
    name = str(make_url(pair.database).database)
    await asyncio.to_thread(postgres.tell, END_THE_LEADERS_LOCK, name)
    async with asyncio.timeout(60):
        while pair.roles() != (next_one, former):
            await pair.attached(former)
    async with pair.port(former) as port:
        transfer = await submitted(port, pair, "taken-over.bin")
        assert (await end_of(port, transfer)).state is m.TransferState.COMPLETE


async def test_a_process_that_does_not_know_of_others_is_refused_on_their_database(pair: Many) -> None:
    kept = surroundings() | {"HEADRACE_DATABASE": pair.database}
    # Its keys are those of the database, or it would be refused for that.
    await asyncio.to_thread(shutil.copytree, pair.folder / "data", pair.folder / "own")
    command = [str(HEADRACE), "serve", "--data", str(pair.folder / "own"), "--listen", "127.0.0.1:0"]
    command += ["--hub-listen", "127.0.0.1:0", "--allow-root"]
    refused = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, timeout=90, env=kept)
    assert (refused.returncode, "another service works on this database" in refused.stderr) == (1, True), refused.stderr
    async with pair.port("one") as one:
        assert (await one.health()).status == "ok"


async def test_a_process_of_before_that_is_to_lead_an_upgraded_database_ends_at_once_and_says_why(
    tmp_path: Path, postgres: Postgres
) -> None:
    async with many(tmp_path, postgres.database()) as site:
        await asyncio.to_thread(site.start, "one")
        await asyncio.to_thread(site.start, "two")
        assert site.roles() == ("one", "two")
        name = str(make_url(site.database).database)
        await asyncio.to_thread(postgres.tell, "UPDATE alembic_version SET version_num = '9999'", name)
        assert await asyncio.to_thread(site.processes["one"].end) == 0
        assert await asyncio.to_thread(site.processes["two"].over, LONGEST_END_S) == 1
        said = await asyncio.to_thread((tmp_path / "two.log").read_text, encoding="utf-8")
        assert "written by a newer one" in said


@contextmanager
def database_read_only(site: Many, postgres: Postgres) -> Iterator[str]:
    """Let the database take no changes for the block; gives what is said of it."""
    name = str(make_url(site.database).database)
    postgres.tell(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    try:
        yield f"/{name}?.* it takes no changes .*not a standby"
    finally:
        postgres.tell(f"ALTER DATABASE {name} RESET default_transaction_read_only")


@contextmanager
def data_folder_full(site: Many, _postgres: Postgres) -> Iterator[str]:
    """Fill the disk of the data folder for the block; gives what is said of it."""
    # Used by now: where it stayed, a start would remove it, and have room for its own word then.
    assert not (site.folder / "data" / "bootstrap-link").exists()
    fill(site.folder / "data" / "ballast")
    try:
        yield f"`{site.folder}/data/.* on the host `.*`.* No space left on device; make room on that disk"
    finally:
        (site.folder / "data" / "ballast").unlink()


@pytest.mark.parametrize("trouble", [database_read_only, data_folder_full])
async def test_a_process_that_may_lead_and_can_not_waits_until_it_can_and_says_why(
    tmp_path: Path, postgres: Postgres, trouble: Callable[[Many, Postgres], AbstractContextManager[str]]
) -> None:
    with mounted(tmp_path / "data", "24m"):
        async with many(tmp_path, postgres.database(), metrics_listen="127.0.0.1:0") as site:
            for name in ("one", "two"):
                await asyncio.to_thread(site.start, name)
            await site.first_admin("one")
            other = site.processes["two"]
            async with site.port("two") as port:
                with trouble(site, postgres) as said:
                    await asyncio.to_thread(site.processes["one"].kill)
                    # It takes as long as a request waits for a leader, which is as long as a new one tried to start.
                    assert await codes_until(port, "no_leader") == {"no_leader"}
                    assert other.popen.poll() is None
                    [obstacle] = (await readiness(other))["said"]
                    assert re.search(said, obstacle), obstacle
                    log = await asyncio.to_thread((tmp_path / "two.log").read_text, encoding="utf-8")
                    assert obstacle in log
                assert await codes_until(port, "") <= {"no_leader"}
                assert (await port.verify_audit()).intact


async def test_a_leader_that_can_not_ask_the_database_leads_no_more_until_it_can(tmp_path: Path) -> None:
    with postgres_running() as own:
        async with many(tmp_path, own.database(), metrics_listen="127.0.0.1:0") as site:
            await asyncio.to_thread(site.start, "one")
            await site.first_admin("one")
            await asyncio.to_thread(own.stop)
            async with site.port("one") as port:
                codes = await codes_until(port, "no_leader")
                assert codes <= {"no_leader", "store_failed", "request_timeout", "service_timeout"}
                [why] = (await readiness(site.processes["one"]))["said"]
                assert "kill" not in why, "it would be this very process"
                assert "can't be asked who leads: it can't be reached; start the database server" in why
                await asyncio.to_thread(own.start)
                await codes_until(port, "")
                assert (await port.verify_audit()).intact


async def readiness(process: Process) -> dict[str, Any]:
    """What a process that passes on, and reaches nobody, says of it."""
    async with httpx2.AsyncClient() as monitoring:
        answer = await monitoring.get(process.ready["metrics"].replace("/metrics", "/ready"))
    said: dict[str, Any] = answer.json()
    assert (answer.status_code, said["ready"], said["reasons"]) == (503, False, ["no_leader"])
    return said


async def codes_until(port: HttpHeadrace, wanted: str) -> set[str]:
    """Ask until the answer has this code (or none); return all that came."""
    codes: set[str] = set()
    async with asyncio.timeout(150):
        while wanted not in codes:
            try:
                await port.me()
            except HeadraceError as error:
                codes.add(error.problem.code)
            else:
                codes.add("")
    return codes - {""}


async def test_who_asks_is_known_by_their_own_address_and_by_nothing_they_say(pair: Many) -> None:
    url = pair.processes[pair.roles()[1]].url
    spoofed = {"headrace-client": "203.0.113.9", "headrace-peer": "x", "x-forwarded-for": "203.0.113.9"}
    from_there = httpx2.AsyncHTTPTransport(local_address="127.0.0.9")
    async with httpx2.AsyncClient(base_url=f"{url}/api/v1", transport=from_there, headers=spoofed) as stranger:
        wrong = {"name": "admin", "password": "not the password"}
        assert (await stranger.post("/sessions", json=wrong)).status_code == 401
        assert (await stranger.get("/me", headers={"host": "evil.example"})).status_code == 421
        evil = {"origin": "https://evil.example"}
        assert (await stranger.post("/sessions", json=wrong, headers=evil)).status_code == 403
    async with pair.port("one") as one:
        [failed] = await one.audit(kind="sign_in_failed")
    assert failed.detail["address"] == "127.0.0.9"


async def test_a_leader_answers_strangers_at_its_address_for_other_processes_with_nothing(pair: Many) -> None:
    leader = json.loads(await asyncio.to_thread((pair.folder / "data" / "leader.json").read_text, encoding="utf-8"))
    context = ssl.create_default_context(cadata=leader["certificate"])
    context.check_hostname = False
    bearer = {"authorization": f"Bearer {pair.secret}"}
    async with httpx2.AsyncClient(base_url=f"https://127.0.0.1:{leader['port']}", verify=context) as stranger:
        for path in ("/peer", "/api/v1/me"):
            for headers in ({}, {"headrace-peer": "x"}):
                assert (await stranger.get(path, headers=bearer | headers)).status_code == 403
        known = await stranger.get("/api/v1/me", headers=bearer | {"headrace-peer": leader["secret"]})
        assert known.status_code == 421, "the site has one name"


async def test_a_call_that_is_passed_on_stays_in_the_trace_of_its_caller(
    tmp_path: Path, postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "50")
    trace, caller = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
    with otlp_receiver() as receiver:
        async with many(tmp_path, postgres.database(), otlp_traces=receiver.url) as site:
            await asyncio.to_thread(site.start, "one")
            await asyncio.to_thread(site.start, "two")
            _, passes_on = site.roles()
            await site.first_admin(passes_on)
            known = {"authorization": f"Bearer {site.secret}", "traceparent": f"00-{trace}-{caller}-01"}
            async with httpx2.AsyncClient(base_url=site.processes[passes_on].url, headers=known) as client:
                asked = await client.post("/api/v1/plans", json={"words": "copy the photos to archive:/x"})
                assert asked.status_code == 202, asked.text
            [call] = await asyncio.to_thread(receiver.wait_for, "POST /plans")
            [plan] = await asyncio.to_thread(receiver.wait_for, "plan")
    assert (call.trace_id.hex(), call.parent_span_id.hex()) == (trace, caller)
    assert [(link.trace_id, link.span_id) for link in plan.links] == [(call.trace_id, call.span_id)]
