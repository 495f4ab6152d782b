"""What a process that does not lead passes on, and what it says when the leader ends in the middle."""

import asyncio
import os
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import Message, Receive, Scope, Send

from headrace.api.app.leader_file import Leader, begin_to_lead, seen
from headrace.api.http import relay
from headrace.api.http.guard import Guard, Origins
from headrace.api.http.operation import create_relay_operation_app
from headrace.api.http.relay import Peer, PeerDoor, Relay

pytestmark = pytest.mark.anyio

SITE = "https://headrace.example.org"
OWN = "http://127.0.0.1:8470"
NAME = "process 7 on the host `dtn1`"
Talk = Callable[[bytes, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def answering(serve: Callable[..., Awaitable[None]], tls: ssl.SSLContext) -> AsyncIterator[str]:
    """Serve connections on a free port, and give its address; each connection is over when this ends."""
    writers: list[asyncio.StreamWriter] = []

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        await serve(reader, writer)

    async with await asyncio.start_server(connected, "127.0.0.1", 0, ssl=tls) as server:
        yield f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    for writer in writers:
        writer.transport.abort()
    await asyncio.gather(*(writer.wait_closed() for writer in writers), return_exceptions=True)


@asynccontextmanager
async def relay_to(talk: Talk, pid: int | None = None) -> AsyncIterator[Relay]:
    """Give a relay whose leader reads each request whole, and then does as `talk` says; `pid` if on this host."""
    leader, tls = begin_to_lead("127.0.0.1", 0)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next((line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), b":0")
        await talk(head + await reader.readexactly(int(length.partition(b":")[2])), writer)
        writer.close()

    async with answering(serve, tls) as url:
        peer = Peer(url, leader.trust(), leader.secret, NAME, pid)
        passing_on = Relay(lambda: peer, SITE, [OWN], 60)
        yield passing_on
        await passing_on.close()


@asynccontextmanager
async def led_by(talk: Talk, max_body_bytes: int = 1000, pid: int | None = None) -> AsyncIterator[httpx2.AsyncClient]:
    """Give a client of such a relay, with the guard before it."""
    async with relay_to(talk, pid) as passing_on:
        origins = Origins.of(SITE, OWN)
        guard = Guard(
            passing_on, origins=origins, check_sender=None, max_body_bytes=max_body_bytes, receive_s=5, timeout_s=30
        )
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(guard), base_url=OWN) as client:
            yield client


async def reaches(leader: Peer) -> bool:
    asking = Relay(lambda: leader, SITE, [OWN], 60)
    try:
        return await asking.reaches_leader()
    finally:
        await asking.close()


async def test_what_may_have_been_done_is_not_asked_again() -> None:
    asked: list[bytes] = []

    async def end(request: bytes, _writer: asyncio.StreamWriter) -> None:
        asked.append(request)

    async with led_by(end) as client:
        answer = await client.post("/api/v1/plans", content=b"{}")
    assert (answer.status_code, answer.json()["code"], len(asked)) == (503, "unanswered", 1)
    assert answer.headers["retry-after"]


async def test_what_changes_nothing_is_asked_again() -> None:
    asked: list[bytes] = []

    async def answer_the_second(request: bytes, writer: asyncio.StreamWriter) -> None:
        asked.append(request)
        if len(asked) > 1:
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")

    async with led_by(answer_the_second) as client:
        answer = await client.get("/api/v1/me")
    assert (answer.status_code, answer.text, len(asked)) == (200, "ok", 2)


@pytest.mark.parametrize("code", ["shutting_down", "busy"])
async def test_what_a_leader_that_ends_refuses_waits_for_the_next_one(code: str) -> None:
    asked: list[bytes] = []

    async def refuse_the_first(request: bytes, writer: asyncio.StreamWriter) -> None:
        if request.startswith(b"GET /peer "):
            writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
            return
        asked.append(request)
        writer.write(refusal(code) if len(asked) == 1 else b"HTTP/1.1 201 Created\r\ncontent-length: 2\r\n\r\nok")

    async with led_by(refuse_the_first) as client:
        answer = await client.post("/api/v1/plans", content=b"{}")
    if code == "busy":  # of a leader that goes on
        assert (answer.status_code, answer.json()["code"], len(asked)) == (503, "busy", 1)
    else:
        assert (answer.status_code, answer.text, len(asked)) == (201, "ok", 2)
        assert all(request.endswith(b"{}") for request in asked)


async def test_a_leader_that_ends_does_not_wait_for_the_next_one_itself() -> None:
    async def refuse(_request: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(refusal("shutting_down"))

    async with led_by(refuse, pid=os.getpid()) as client:
        answer = await client.post("/api/v1/plans", content=b"{}")
    assert (answer.status_code, answer.json()["code"]) == (503, "shutting_down")


def refusal(code: str) -> bytes:
    body = b'{"code": "%s"}' % code.encode()
    head = b"HTTP/1.1 503 No\r\ncontent-type: application/problem+json\r\ncontent-length: %d\r\n\r\n" % len(body)
    return head + body


async def test_a_part_of_an_answer_is_not_taken_for_the_whole() -> None:
    async def begin(_request: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\npart\r\n")

    async with led_by(begin) as client:
        with pytest.raises(httpx2.RemoteProtocolError):
            await client.get("/api/v1/receipts/rc_1/files")


async def test_a_request_is_passed_on_as_it_is_under_the_name_of_the_site() -> None:
    heads: list[bytes] = []

    async def tell(request: bytes, writer: asyncio.StreamWriter) -> None:
        heads.append(request)
        writer.write(b"HTTP/1.1 201 Created\r\nset-cookie: a=1\r\nset-cookie: b=2\r\ncontent-length: 0\r\n\r\n")

    spoofed = {"headrace-client": "203.0.113.9", "headrace-peer": "x", "x-forwarded-for": "203.0.113.9", "te": "x"}
    async with led_by(tell) as client:
        answer = await client.put("/a%2Fb%25/c?q=%20&q=1", content=b"body", headers=spoofed | {"origin": OWN})
        await client.get("/", headers={"origin": "https://evil.example"})
    assert (answer.status_code, answer.headers.get_list("set-cookie")) == (201, ["a=1", "b=2"])
    head, foreign = (head.decode().lower() for head in heads)
    assert head.startswith("put /a%2fb%25/c?q=%20&q=1 http/1.1\r\n")
    assert head.endswith("\r\n\r\nbody")
    assert "host: headrace.example.org\r\n" in head
    assert f"origin: {SITE}\r\n" in head
    assert "origin: https://evil.example\r\n" in foreign
    assert "203.0.113.9" not in head
    assert head.count("headrace-client: 127.0.0.1\r\n") == head.count("headrace-peer:") == 1
    assert "\r\nte:" not in head


async def test_of_many_requests_that_wait_for_a_leader_one_looks_for_it() -> None:
    async def answer(request: bytes, writer: asyncio.StreamWriter) -> None:
        first = b"HTTP/1.1 204 No Content\r\n\r\n" if b"/peer " in request.splitlines()[0] else b""
        writer.write(first or b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")

    asked, loop = 0, asyncio.get_running_loop()
    async with relay_to(answer) as known:
        leads_from, leader = loop.time() + 1, known._leader  # noqa: SLF001 - whom it knows

        def later() -> Peer | None:
            nonlocal asked
            asked += 1
            return leader() if loop.time() >= leads_from else None

        waiting = Relay(later, SITE, [OWN], 60)
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(waiting), base_url=OWN) as client:
            answers = await asyncio.gather(*(client.post("/api/v1/plans") for _ in range(50)))
        await waiting.close()
    assert {answer.status_code for answer in answers} == {200}
    # Each before it waits and after it, and the one that looks: twice each time (who it is, and whether it answers).
    assert asked < 50 + 50 + 2 * 15, asked


async def test_a_process_that_passes_on_says_whom_it_can_not_reach_and_why_nobody_leads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(relay, "_PROBE_S", 0.1)
    monkeypatch.setattr(relay, "TAKEOVER_S", 0.0)
    asked, over = asyncio.Event(), asyncio.Event()

    async def stand_still(_request: bytes, _writer: asyncio.StreamWriter) -> None:
        asked.set()
        await over.wait()

    async with relay_to(stand_still) as silent:
        answer = await ready(silent, "")
        known = await ready(silent, "the database `postgresql:///site` can't be asked")
        over.set()
    assert asked.is_set()
    assert (answer.status_code, answer.json()["reasons"]) == (503, ["no_leader"])
    assert "process 7 on the host `dtn1` led the site last, and does not answer" in answer.json()["said"][0]
    assert "end it (`kill -9`), and another process takes over" in answer.json()["said"][0]
    assert known.json()["said"] == ["the database `postgresql:///site` can't be asked"], "which is the trouble"
    assert known.json()["reasons"] == ["no_leader"]

    alone = Relay(lambda: None, SITE, [OWN], 60, lambda: ", because its database can't be asked (it can't be reached)")
    assert "no process has led this site yet" in (await ready(alone, "")).json()["said"][0]
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(alone), base_url=OWN) as client:
        problem = (await client.get("/api/v1/me")).json()
    assert problem["code"] == "no_leader"
    assert "because its database can't be asked (it can't be reached), and nothing was done" in problem["detail"]


@pytest.mark.parametrize("of_whom", ["this", "ended", "lives", "elsewhere"])
async def test_nobody_is_told_to_end_a_process_that_asks_or_has_ended(of_whom: str) -> None:
    child = await asyncio.create_subprocess_exec("true")
    await child.wait()
    pid = {"this": os.getpid(), "ended": child.pid, "lives": os.getppid(), "elsewhere": None}[of_whom]
    with socket.create_server(("127.0.0.1", 0)) as free:
        url = f"https://127.0.0.1:{free.getsockname()[1]}"
    asked = Relay(lambda: Peer(url, ssl.create_default_context(), "", NAME, pid), SITE, [OWN], 60)
    [said] = (await ready(asked, "")).json()["said"]
    known = await ready(asked, "the database can't be asked")
    await asked.close()
    assert known.json()["said"] == ["the database can't be asked"], "what is known to be the trouble comes alone"
    assert ("kill -9" in said) is (of_whom in {"lives", "elsewhere"})
    assert (NAME in said) is (of_whom != "this")
    assert ("has ended" in said) is (of_whom == "ended")


async def ready(asked: Relay, obstacle: str) -> httpx2.Response:
    app = create_relay_operation_app(asked, lambda: obstacle)
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url=OWN) as monitoring:
        return await monitoring.get("/ready")


async def test_a_body_that_is_too_large_or_comes_too_slowly_is_refused_where_it_comes_in() -> None:
    async def never(_request: bytes, _writer: asyncio.StreamWriter) -> None:
        raise AssertionError

    async with led_by(never, max_body_bytes=10) as client:
        answer = await client.post("/api/v1/plans", content=b"x" * 11)
    assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")


async def test_a_body_whose_client_went_away_is_passed_to_nobody() -> None:
    async def never(_request: bytes, _writer: asyncio.StreamWriter) -> None:
        raise AssertionError

    half: Message = {"type": "http.request", "body": b"half", "more_body": True}
    said = iter((half, {"type": "http.disconnect"}))

    async def receive() -> Message:
        return next(said)

    async def send(message: Message) -> None:
        raise AssertionError(message)

    async with relay_to(never) as passing_on:
        await passing_on({"type": "http", "method": "POST", "path": "/", "headers": [], "client": None}, receive, send)


async def test_a_leader_lets_in_those_who_know_its_secret_and_nobody_else() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        seen_there = {"from": scope["client"][0] if scope["client"] else None, "names": sorted(request.headers)}
        await JSONResponse(seen_there)(scope, receive, send)

    door = httpx2.ASGITransport(PeerDoor(app, "the secret", "https"))
    async with httpx2.AsyncClient(transport=door, base_url=SITE) as client:
        client.headers.clear()
        for headers in ({}, {"headrace-peer": ""}, {"headrace-peer": "the secre"}):
            for path in ("/peer", "/api/v1/me"):
                assert (await client.get(path, headers=headers)).status_code == 403
        known = {"headrace-peer": "the secret"}
        assert (await client.get("/peer", headers=known)).status_code == 204
        came = await client.get("/api/v1/me", headers=known | {"headrace-client": "192.0.2.7"})
        assert came.json() == {"from": "192.0.2.7", "names": ["host"]}
        assert (await client.get("/api/v1/me", headers=known)).json()["from"] is None


async def test_only_the_leader_that_the_shared_folder_names_is_trusted(tmp_path: Path) -> None:
    look = seen(tmp_path)
    assert look() is None
    (tmp_path / "leader.json").write_text("no leader", encoding="utf-8")
    assert look() is None
    first, _ = begin_to_lead("127.0.0.1", 1)
    first.write(tmp_path)
    assert (tmp_path / "leader.json").stat().st_mode & 0o777 == 0o600
    found = look()
    assert found is not None
    assert found.leader == Leader.read(tmp_path) == first
    second, tls = begin_to_lead("127.0.0.1", 0)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n")
        writer.close()

    async with answering(serve, tls) as url:
        assert not await reaches(Peer(url, first.trust(), second.secret))
        assert await reaches(Peer(url, second.trust(), second.secret))


async def test_requests_that_see_a_new_leader_at_once_share_what_they_ask_it_by(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = list[httpx2.AsyncHTTPTransport]()

    class Counted(httpx2.AsyncHTTPTransport):
        def __init__(self, *said: Any, **options: Any) -> None:  # noqa: ANN401 - its parent's
            made.append(self)
            super().__init__(*said, **options)

    async def answer(_request: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")

    async with relay_to(answer) as first, relay_to(answer) as second:
        leaders = [first._leader(), second._leader()]  # noqa: SLF001 - whom they know
        asking = Relay(lambda: leaders[0], SITE, [OWN], 60)
        monkeypatch.setattr(httpx2, "AsyncHTTPTransport", Counted)
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(asking), base_url=OWN) as client:
            await client.get("/api/v1/me")
            leaders.reverse()
            answers = await asyncio.gather(*(client.get("/api/v1/me") for _ in range(20)))
        await asking.close()
    assert {one.status_code for one in answers} == {200}
    assert len(made) == 2
