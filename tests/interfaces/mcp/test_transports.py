"""The server as clients reach it: over HTTP with a bearer token, and over a process's standard streams."""

import contextlib
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
import uvicorn
from demo.stage import surroundings
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.auth.provider import AccessToken
from mcp.types import TextContent
from starlette.applications import Starlette
from starlette.routing import Mount
from tests.interfaces.client.scripted import Script, answer, scripted_service
from tests.interfaces.mcp.shown import Port, as_port, endpoint

from headrace.client import Headrace
from headrace.client import models as m
from headrace.mcp_server import HttpAuth, http_app, make_server, running

pytestmark = pytest.mark.anyio

PEOPLE = {"hrt_anna": "anna", "hrt_ben": "ben"}


class Verifier:
    """Knows two people and one token that may not read."""

    async def verify_token(self, token: str) -> AccessToken | None:
        if token == "hrt_blind":  # noqa: S105 - no secret
            return AccessToken(token=token, client_id="x", subject="x", scopes=["policy:write"])
        if token not in PEOPLE:
            return None
        return AccessToken(token=token, client_id="assistant", subject=PEOPLE[token], scopes=["transfer:read"])


async def port_for(token: AccessToken | None) -> Headrace:
    assert token is not None
    return as_port(Port({"endpoints": m.Page(items=[endpoint(f"seen-by-{token.subject}")])}))


@pytest.fixture(scope="module")
def service() -> Iterator[str]:
    """A real HTTP server on a port of its own."""
    server = make_server(port_for, http_auth=HttpAuth(Verifier(), "http://127.0.0.1"))
    door = http_app(server, allowed_hosts=["127.0.0.1:*"], allowed_origins=["http://127.0.0.1:*"])

    @contextlib.asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with running(server):
            yield

    app = Starlette(routes=[Mount("/", app=door)], lifespan=lifespan)
    web = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="warning", ws="none"))
    started = threading.Event()
    original = web.startup

    async def startup(sockets: Any = None) -> None:  # noqa: ANN401 - uvicorn's
        await original(sockets)
        started.set()

    web.startup = startup  # type: ignore[method-assign]
    thread = threading.Thread(target=web.run)
    thread.start()
    assert started.wait(20)
    yield f"http://127.0.0.1:{web.servers[0].sockets[0].getsockname()[1]}/mcp"
    web.should_exit = True
    thread.join(20)


async def seen(url: str, token: str, era: str) -> str:
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}) as http,
        Client(streamable_http_client(url, http_client=http), mode=era) as client,
    ):
        result = await client.call_tool("list_endpoints", {})
        assert isinstance(result.structured_content, dict)
        return str(result.structured_content["endpoints"][0]["id"])


async def test_every_request_acts_for_the_person_of_its_own_token(service: str, era: str) -> None:
    assert await seen(service, "hrt_anna", era) == "seen-by-anna"
    assert await seen(service, "hrt_ben", era) == "seen-by-ben"


async def test_nothing_is_kept_between_requests_that_could_be_taken_over_or_fill_up(service: str) -> None:
    body = {
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
    }  # fmt: skip
    accept = {"accept": "application/json, text/event-stream"}
    async with httpx2.AsyncClient(headers=accept) as http:
        opened = await http.post(service, json=body, headers={"Authorization": "Bearer hrt_anna"})
        assert (opened.status_code, "mcp-session-id" in opened.headers) == (200, False)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"Authorization": "Bearer nonsense"}, 401),
        ({"Authorization": "Bearer hrt_blind"}, 403),
        ({"Authorization": "Bearer hrt_anna", "Host": "evil.example"}, 421),
        ({"Authorization": "Bearer hrt_anna", "Origin": "https://evil.example"}, 403),
    ],
    ids=["no token", "wrong token", "token without the scope", "foreign host", "foreign origin"],
)
async def test_a_request_that_may_not_enter_is_refused(service: str, headers: dict[str, str], status: int) -> None:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    sent = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2026-07-28",
            "mcp-method": "tools/list", **headers}  # fmt: skip
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}}
    async with httpx2.AsyncClient() as http:
        answered = await http.post(service, json=call, headers=sent)
    assert answered.status_code == status
    if status in (401, 403) and "Origin" not in headers:
        assert answered.headers["www-authenticate"].startswith("Bearer ")


async def test_an_assistant_starts_headrace_mcp_and_speaks_over_its_standard_streams(tmp_path: Path, era: str) -> None:
    program = str(Path(sys.executable).with_name("headrace"))
    environment = {
        "HEADRACE_CONFIG": str(tmp_path),
        "HEADRACE_SERVICE": "http://127.0.0.1:1",
        "HEADRACE_TOKEN": "hrt_x",
    }
    spawned = StdioServerParameters(command=program, args=["mcp"], env=environment)
    async with Client(stdio_client(spawned), mode=era) as client:
        assert len((await client.list_tools()).tools) == 14
        result = await client.call_tool("list_endpoints", {})
    assert result.is_error
    assert isinstance(result.content[0], TextContent)
    assert "(code: service_unreachable)" in result.content[0].text


@pytest.fixture
def script() -> Iterator[Script]:
    with scripted_service() as script:
        yield script


async def test_an_assistant_sends_people_to_the_address_that_the_service_is_known_by(
    tmp_path: Path, script: Script
) -> None:
    me = {"id": "pn_1", "name": "anna", "roles": [], "scopes": [], "session": False, "agent": "helper"}
    plan = {
        "id": "pl_1", "state": "ready", "requester": "anna", "created": "2026-11-25T14:30:00Z", "digest": "3f" * 32,
        "next_step": {"kind": "confirm", "by": "others", "message": "It waits."},
    }  # fmt: skip
    known = answer({**me, "console": "https://headrace.example"})
    script.answers = [known, known, answer(plan)]  # the start looks whether tools will work
    mine = {"HEADRACE_CONFIG": str(tmp_path), "HEADRACE_SERVICE": script.url, "HEADRACE_TOKEN": "hrt_x"}
    program = str(Path(sys.executable).with_name("headrace"))
    spawned = StdioServerParameters(command=program, args=["mcp"], env={**surroundings(), **mine})
    async with Client(stdio_client(spawned)) as client:
        result = await client.call_tool("explain_plan", {"plan_id": "pl_1"})
    assert "https://headrace.example/plans/pl_1" in str(result.structured_content), result
