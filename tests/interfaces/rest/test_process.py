"""The service as people start it: a process, its files, its doors, its end."""

import asyncio
import json
import os
import re
import select
import signal
import sqlite3
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing, asynccontextmanager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
import typer
from anyio import to_thread
from demo.stage import HEADRACE, surroundings
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from tests.servers.headrace import READY_S
from tests.servers.site import PASSWORD
from typer.testing import CliRunner

from headrace.api.app.answering import Ready
from headrace.api.app.serve import serve
from headrace.api.store.address import store_url
from headrace.api.store.migrate import migrate
from headrace.client import HttpHeadrace
from headrace.client import models as m

AS_ROOT = ["--allow-root"] if os.geteuid() == 0 else []


@dataclass
class Running:
    process: subprocess.Popen[str]
    folder: Path
    ready: dict[str, Any]

    @property
    def url(self) -> str:
        return str(self.ready["url"])

    def link(self) -> str:
        return Path(str(self.ready["bootstrap_file"])).read_text(encoding="utf-8").strip()

    def end(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(20)


def environment() -> dict[str, str]:
    return surroundings()


def start(folder: Path, hub: str | None = None, *options: str, missing: str = "") -> Running:
    for name in {"lab", "archive"} - {missing}:
        (folder / name).mkdir(exist_ok=True)
    command = [str(HEADRACE), "serve", "--data", str(folder / "data"), "--listen", "127.0.0.1:0", "--json", *AS_ROOT]
    command += ["--hub-listen", hub or "127.0.0.1:0", "--root", f"lab={folder / 'lab'}:delete"]
    command += ["--root", f"archive={folder / 'archive'}:write", *options]
    log = (folder / "log").open("a")
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, env=environment())
    log.close()
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], READY_S)
    assert ready, (folder / "log").read_text(encoding="utf-8")
    line = process.stdout.readline()
    assert line, (folder / "log").read_text(encoding="utf-8")
    return Running(process, folder, json.loads(line))


@contextmanager
def restarted(running: Running, *options: str) -> Iterator[Running]:
    """Start it again in its folder, for the nodes at the same address, and see it end well."""
    again = start(running.folder, str(running.ready["hub"]), *options)
    assert again.process.stdout is not None
    with again.process.stdout:
        try:
            yield again
        finally:
            assert again.end() == 0


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    started = start(tmp_path)
    assert started.process.stdout is not None
    with started.process.stdout:
        yield started
        if started.process.poll() is None:
            started.process.kill()
            started.process.wait(20)


async def first_admin(running: Running) -> str:
    """Accept the bootstrap link, and return the session's secret."""
    async with HttpHeadrace(running.url) as headrace:
        token = running.link().partition("#")[2]
        session = await headrace.accept_invitation(m.AcceptInvitation(token=token, password=PASSWORD, name="ada"))
    return session.secret


@asynccontextmanager
async def assistant(running: Running, secret: str) -> AsyncIterator[Client]:
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {secret}"}, timeout=30) as http,
        Client(streamable_http_client(f"{running.url}/mcp", http_client=http)) as client,
    ):
        yield client


@pytest.mark.anyio
async def test_a_first_start_leaves_a_private_link_and_private_files(running: Running) -> None:
    data = running.folder / "data"
    assert data.stat().st_mode & 0o777 == 0o700
    for name in ("bootstrap-link", "authority.key", "pepper.key"):
        assert (data / name).stat().st_mode & 0o777 == 0o600, name
    assert running.link().startswith(f"{running.url}/accept#hri_")
    assert running.link().partition("#")[2] not in (running.folder / "log").read_text(encoding="utf-8")
    assert running.ready["pid"] == running.process.pid
    assert "alembic" not in (running.folder / "log").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("recovers", "says"), [(False, "no administrator yet. Whoever opens"), (True, "becomes another administrator")]
)
def test_the_start_says_what_the_link_of_an_administrator_is_and_what_to_do_with_it(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    recovers: bool,  # noqa: FBT001 - of the table
    says: str,
) -> None:
    link = tmp_path / "bootstrap-link"
    Ready("https://headrace.example", "dtn1.example:8471", link, recovers=recovers).say(as_json=False)
    said = " ".join(capsys.readouterr().out.split())
    for part in (
        says,
        f"one-time link in {link}",
        "Open it in a browser",
        "`headrace login --link -`",
        "dtn1.example:8471",
    ):
        assert part in said


@pytest.mark.anyio
async def test_the_owner_of_the_data_makes_another_admin_who_lets_the_first_one_in_again(running: Running) -> None:
    ada = await first_admin(running)
    assert running.end() == 0
    with restarted(running, "--recover-admin") as again:
        assert (running.folder / "data" / "bootstrap-link").stat().st_mode & 0o777 == 0o600
        accepted = m.AcceptInvitation(token=again.link().partition("#")[2], password=PASSWORD, name="owner")
        async with HttpHeadrace(again.url) as headrace:
            owner = await headrace.accept_invitation(accepted)
        async with HttpHeadrace(again.url, ada) as headrace:
            person = (await headrace.me()).id
        async with HttpHeadrace(again.url, owner.secret) as headrace:
            link = (await headrace.invite_again(person, m.Proven(password=PASSWORD))).link
            back = m.AcceptInvitation(token=link.partition("#")[2], password=f"{PASSWORD} anew")
            assert (await headrace.accept_invitation(back)).me.id == person


@pytest.mark.anyio
async def test_the_embedded_node_serves_its_roots_and_a_restart_keeps_them(running: Running) -> None:
    secret = await first_admin(running)
    (running.folder / "lab" / "a.txt").write_text("a")
    async with HttpHeadrace(running.url, secret) as headrace:
        plan = await headrace.create_plan(m.PlanRequest(words="copy lab:/a.txt to archive:/b.txt"))
        plan = await headrace.plan(plan.id, wait_s=20)
        assert plan.digest is not None, plan.summary
        transfer = await headrace.submit(m.SubmitRequest(plan_digest=plan.digest))
        ended = await headrace.transfer(transfer.id, wait_s=20)
        assert ended.state is m.TransferState.COMPLETE, ended.summary
    assert (running.folder / "archive" / "b.txt").read_text() == "a"
    assert running.end() == 0
    with restarted(running) as again:
        assert again.ready["bootstrap_file"] is None
        assert not (running.folder / "data" / "bootstrap-link").exists()
        async with HttpHeadrace(again.url, secret) as headrace:
            assert (await headrace.transfer(transfer.id)).state is m.TransferState.COMPLETE
            assert {one.id for one in await headrace.endpoints()} == {"lab", "archive"}


def test_a_start_says_what_is_halted_from_before_and_is_not_stopped_by_a_note_that_it_can_not_keep(
    tmp_path: Path,
) -> None:
    (tmp_path / "data").mkdir(mode=0o700)
    (tmp_path / "data" / "halt").write_text("a copy was put back", encoding="utf-8")
    (tmp_path / "data" / "last-start.json").mkdir()
    started = start(tmp_path)
    assert started.process.stdout is not None
    with started.process.stdout:
        started.process.kill()
        started.process.wait(20)
    [halted] = started.ready["halted"]
    assert halted.startswith("everything, and nothing of it is started or moved: a copy was put back (to go on: remove")
    log = (tmp_path / "log").read_text(encoding="utf-8")
    assert f"halted: {halted}" in log
    assert re.search("can't be kept for the next one: `.*/last-start.json` on the host `", log)


def test_the_words_of_a_start_name_what_is_halted(capsys: pytest.CaptureFixture[str]) -> None:
    Ready("http://127.0.0.1:8470", None, None, halted=["everything: water in the hall"]).say(as_json=False)
    assert "HALTED     everything: water in the hall" in capsys.readouterr().out


@pytest.mark.anyio
async def test_a_service_that_was_killed_ends_its_transfers_without_help_when_it_is_back(running: Running) -> None:
    secret = await first_admin(running)
    content = os.urandom(8 << 20)
    (running.folder / "lab" / "a.bin").write_bytes(content)
    wish = {"action": "copy", "source": "lab:/a.bin", "destination": "archive:/a.bin", "rate_limit_bps": 16_000_000}
    async with HttpHeadrace(running.url, secret) as headrace:
        planned = await headrace.create_plan(m.PlanRequest.model_validate({"intent": wish}))
        plan = await headrace.plan(planned.id, wait_s=20)
        assert plan.digest is not None, plan.summary
        transfer = await headrace.submit(m.SubmitRequest(plan_digest=plan.digest))
        async with aclosing(headrace.watch(transfer.id)) as events:
            async for event in events:
                if event.transfer is not None and event.transfer.progress.bytes_received:
                    break
    running.process.kill()
    running.process.wait(20)
    with restarted(running) as again:
        async with HttpHeadrace(again.url, secret) as headrace:
            ended = await headrace.transfer(transfer.id, wait_s=30)
            assert ended.state is m.TransferState.COMPLETE, ended.summary
            assert (await headrace.verify_audit()).intact
            about = await headrace.audit(subject=transfer.id)
        assert [event.kind for event in about].count("submitted") == 1
        assert (running.folder / "archive" / "a.bin").read_bytes() == content


def is_over_for_the_hub(running: Running, transfer: str) -> bool:
    """Whether the hub has the end of a transfer's attempt on disk."""
    journal = (running.folder / "data" / "hub" / "attempts.jsonl").read_text(encoding="utf-8")
    records = [json.loads(line)["record"] for line in journal.splitlines(keepends=True) if line.endswith("\n")]
    mine = [record for record in records if record is not None and record["transfer"] == transfer]
    return mine[-1]["over"] is True


@pytest.mark.anyio
async def test_a_kill_after_the_nodes_end_and_before_it_is_stored_loses_no_end(running: Running) -> None:
    secret = await first_admin(running)
    (running.folder / "lab" / "set").mkdir()
    for name in ("a.bin", "b.bin"):
        (running.folder / "lab" / "set" / name).write_bytes(os.urandom(2 << 20))
    wish = {"action": "move", "source": "lab:/set", "destination": "archive:/moved", "rate_limit_bps": 32_000_000}
    store = running.folder / "data" / "headrace.sqlite"
    async with HttpHeadrace(running.url, secret) as headrace:
        planned = await headrace.create_plan(m.PlanRequest.model_validate({"intent": wish}))
        plan = await headrace.plan(planned.id, wait_s=20)
        assert plan.digest is not None, plan.summary
        if plan.decision is not None and plan.decision.outcome == "confirm":
            await headrace.confirm_plan(plan.id, m.Confirmation(digest=plan.digest, password=PASSWORD))
        transfer = await headrace.submit(m.SubmitRequest(plan_digest=plan.digest))
        async with aclosing(headrace.watch(transfer.id)) as events:
            async for event in events:
                if event.transfer is not None and event.transfer.progress.bytes_received:
                    break
        # From now on the service can store nothing, so the node's end reaches the hub and no further.
        with closing(sqlite3.connect(store, isolation_level=None, timeout=20)) as other:
            other.execute("BEGIN IMMEDIATE")
            async with asyncio.timeout(30):
                while not is_over_for_the_hub(running, transfer.id):
                    await headrace.transfer(transfer.id)
            running.process.kill()
            running.process.wait(20)
    with restarted(running) as again:
        async with HttpHeadrace(again.url, secret) as headrace:
            ended = await headrace.transfer(transfer.id, wait_s=30)
            assert (ended.state, ended.attempt) == (m.TransferState.COMPLETE, 1), ended.summary
            assert (await headrace.receipt(transfer.id)).summary.startswith("complete: 2 files")
        assert {path.name for path in (running.folder / "archive" / "moved").iterdir()} == {"a.bin", "b.bin"}
        assert not list((running.folder / "lab" / "set").iterdir())


@pytest.mark.anyio
async def test_an_assistant_plans_and_submits_over_mcp_as_itself(running: Running) -> None:
    secret = await first_admin(running)
    (running.folder / "lab" / "a.txt").write_text("a")
    scopes = ["transfer:read", "transfer:plan", "transfer:run"]
    wish = m.TokenRequest(name="helper", scopes=scopes, agent="helper", password=PASSWORD)
    async with HttpHeadrace(running.url, secret) as headrace:
        token = (await headrace.create_token(wish)).secret
        assert token is not None
        async with assistant(running, token) as client:
            planned = await client.call_tool("plan_transfer", {"request": "copy lab:/a.txt to archive:/c.txt"})
            assert planned.structured_content is not None
            submitted = await client.call_tool("submit_plan", {"digest": planned.structured_content["digest"]})
            assert submitted.structured_content is not None, submitted
        [transfer] = await headrace.transfers()
        assert (transfer.agent, (await headrace.transfer(transfer.id, wait_s=20)).state) == ("helper", "complete")
        [asked] = await headrace.audit(kind="asked")
        assert (asked.agent, asked.door) == ("helper", "mcp")


@pytest.mark.anyio
async def test_a_persons_session_does_not_pass_mcp(running: Running) -> None:
    secret = await first_admin(running)
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {secret}"}) as http:
        answer = await http.post(f"{running.url}/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    assert answer.status_code == 401


@pytest.mark.anyio
async def test_a_watcher_does_not_hold_up_the_end(running: Running) -> None:
    secret = await first_admin(running)
    (running.folder / "lab" / "a.txt").write_text("a")
    async with HttpHeadrace(running.url, secret) as headrace:
        request = m.PlanRequest.model_validate(
            {"intent": {"action": "copy", "source": "lab:/a.txt", "destination": "archive:/d.txt"}}
        )
        plan = await headrace.plan((await headrace.create_plan(request)).id, wait_s=20)
        assert plan.digest is not None
        [node] = await headrace.nodes()
        await headrace.drain_node(node.id, drain=True)
        transfer = await headrace.submit(m.SubmitRequest(plan_digest=plan.digest))
        async with aclosing(headrace.watch(transfer.id)) as events:
            while (await anext(events)).kind != "waiting":
                pass
            assert await to_thread.run_sync(running.end) == 0


def second_start(folder: Path) -> subprocess.CompletedProcess[str]:
    """`headrace serve` on the same data, on ports of its own."""
    command = [str(HEADRACE), "serve", "--data", str(folder / "data"), "--listen", "127.0.0.1:0", *AS_ROOT]
    command += ["--hub-listen", "127.0.0.1:0"]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=READY_S, env=environment())


def test_a_second_service_on_the_same_data_is_refused_by_name_until_the_first_is_gone(running: Running) -> None:
    refused = second_start(running.folder)
    assert (refused.returncode, f"process {running.process.pid}" in refused.stderr) == (1, True), refused.stderr
    running.process.kill()
    running.process.wait(20)
    with restarted(running):
        pass


def test_a_first_start_that_was_cut_off_while_the_node_joined_does_not_stand_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "data" / "node").mkdir(parents=True)
    (tmp_path / "data" / "node" / "node.toml").write_text('name = "local"\n', encoding="utf-8")
    started = start(tmp_path)
    assert started.end() == 0
    assert started.process.stdout is not None
    started.process.stdout.close()


@pytest.mark.anyio
async def test_a_root_whose_folder_is_not_there_is_named_and_exported_once_it_is(tmp_path: Path) -> None:
    joined = start(tmp_path)
    secret = await first_admin(joined)
    assert joined.end() == 0
    assert joined.process.stdout is not None
    joined.process.stdout.close()
    (tmp_path / "archive").rmdir()
    running = start(tmp_path, missing="archive")
    try:
        async with HttpHeadrace(running.url, secret) as headrace:
            await until(headrace, {"lab"})
            [cause] = (await headrace.health()).causes
            assert (cause.code, f"`{tmp_path / 'archive'}`" in cause.sentence) == ("root_missing", True), cause
            [node] = await headrace.nodes()
            assert "`archive` can't be opened" in node.detail
            # What the engine logs stands in the service's log.
            assert "a root is not exported" in (tmp_path / "log").read_text(encoding="utf-8")
            (tmp_path / "archive").mkdir()
            await until(headrace, {"lab", "archive"})
            assert (await headrace.health()).causes == []
    finally:
        assert running.end() == 0
        assert running.process.stdout is not None
        running.process.stdout.close()


@pytest.mark.anyio
async def test_the_embedded_node_finds_the_hub_where_it_listens_now(running: Running) -> None:
    secret = await first_admin(running)
    assert running.end() == 0
    elsewhere = start(running.folder)
    try:
        assert elsewhere.ready["hub"] != running.ready["hub"]
        async with HttpHeadrace(elsewhere.url, secret) as headrace:
            await until(headrace, {"lab", "archive"})
    finally:
        assert elsewhere.end() == 0
        assert elsewhere.process.stdout is not None
        elsewhere.process.stdout.close()


async def until(headrace: HttpHeadrace, online: set[str]) -> None:
    """Ask until these endpoints are online, and no others."""
    async with asyncio.timeout(30):
        while {one.id for one in await headrace.endpoints() if one.online} != online:
            pass


def damaged(store: Path) -> None:
    store.write_bytes(b"no database at all" * 1000)


def newer(store: Path) -> None:
    migrate(store_url("", store.parent))
    with closing(sqlite3.connect(store)) as database:
        database.execute("UPDATE alembic_version SET version_num = '9999'")
        database.commit()


@pytest.mark.parametrize(("make", "says"), [(damaged, "it is damaged"), (newer, "written by a newer one")])
def test_a_store_that_cannot_be_used_is_named_with_what_to_do(
    tmp_path: Path, make: Callable[[Path], None], says: str
) -> None:
    store = tmp_path / "data" / "headrace.sqlite"
    store.parent.mkdir()
    make(store)
    before = store.read_bytes()
    refused = second_start(tmp_path)
    assert (refused.returncode, str(store) in refused.stderr, says in refused.stderr) == (1, True, True), refused.stderr
    assert "backup" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert store.read_bytes() == before


def refusal_of(*arguments: str) -> tuple[int, str]:
    app = typer.Typer()
    app.command()(serve)
    done = CliRunner().invoke(app, list(arguments))
    return done.exit_code, done.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--listen", "0.0.0.0:0"], "needs TLS"),
        (["--listen", "nowhere"], "host:port"),
        (["--listen", "0.0.0.0:0", "--tls-cert", "a.pem", "--tls-key", "a.pem"], "HEADRACE_PUBLIC_URL"),
        (["--root", "lab"], "NAME=PATH"),
        (["--root", "lab=/tmp:rw"], "`rw` is not an access; write `:read`, `:write` or `:delete`"),
        (["--tls-cert", "only.pem"], "belong together"),
    ],
)
def test_a_mistake_at_the_start_is_named(tmp_path: Path, arguments: list[str], says: str) -> None:
    code, said = refusal_of("--data", str(tmp_path / "data"), *AS_ROOT, *arguments)
    assert (code, says in said) == (2, True), said


@pytest.mark.parametrize(
    "url",
    ["headrace.example.org", "http://headrace.example.org", "https://headrace.example.org/path", "ftp://x", "https://"],
)
def test_a_public_address_without_tls_or_with_a_path_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.setenv("HEADRACE_PUBLIC_URL", url)
    code, said = refusal_of("--data", str(tmp_path / "data"), *AS_ROOT, "--listen", "127.0.0.1:0")
    assert (code, "HEADRACE_PUBLIC_URL" in said) == (2, True), said


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "HEADRACE_DATABASE"),
        ({"database": "postgresql:///headrace"}, "HEADRACE_PUBLIC_URL"),
        (
            {"database": "postgresql:///headrace", "public_url": "https://h.example.org", "peer_listen": "nowhere"},
            "host:",
        ),
        ({"database": "postgresql:///headrace", "public_url": "https://h.example.org"}, "one address of this host"),
    ],
)
def test_what_one_of_several_processes_lacks_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: dict[str, str], says: str
) -> None:
    for name, value in ({"peer_listen": "0.0.0.0:0"} | given).items():
        monkeypatch.setenv(f"HEADRACE_{name.upper()}", value)
    code, said = refusal_of("--data", str(tmp_path / "data"), *AS_ROOT, "--listen", "127.0.0.1:0")
    assert (code, says in said) == (2, True), said


def test_nodes_outlive_one_of_several_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_DATABASE", "postgresql:///headrace")
    monkeypatch.setenv("HEADRACE_PUBLIC_URL", "https://headrace.example.org")
    monkeypatch.setenv("HEADRACE_PEER_LISTEN", "127.0.0.1:0")
    code, said = refusal_of("--data", str(tmp_path / "data"), *AS_ROOT, "--root", f"lab={tmp_path}")
    assert (code, "headrace-node" in said) == (2, True), said


@pytest.mark.skipif(os.geteuid() != 0, reason="only the root account can see this")
def test_the_root_account_must_say_so(tmp_path: Path) -> None:
    code, said = refusal_of("--data", str(tmp_path / "data"))
    assert (code, "--allow-root" in said) == (2, True), said


def test_a_service_for_nodes_elsewhere_says_at_its_start_that_they_bring_its_own_node_no_data(tmp_path: Path) -> None:
    # It is refused after that, because it has no certificate for such an address.
    command = [str(HEADRACE), "serve", "--data", str(tmp_path / "data"), "--listen", "192.0.2.1:8470", *AS_ROOT]
    command += ["--root", f"lab={tmp_path}"]
    told = ["--hub-advertise", "dtn1.example.org:8471"]
    for options, found in (told, True), ([*told, "--data-listen", "192.0.2.1:8472"], False):
        ended = subprocess.run([*command, *options], check=False, capture_output=True, text=True, env=environment())
        assert "that needs TLS" in ended.stderr
        said = "this service's node takes data at 127.0.0.1:0, where only this host reaches it"
        assert (said in ended.stderr) is found, ended.stderr
