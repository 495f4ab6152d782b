"""All that can be asked for, asked by every role in every way to say who one is: as `who_may.toml` says."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI
from fastapi.routing import iter_route_contexts
from tests.interfaces import rights
from tests.servers.calls import About, arguments
from tests.servers.site import Site, started_site

from headrace.api.app.web import PREFIX, create_app
from headrace.api.http.guard import Origins
from headrace.api.permissions import ACCESS
from headrace.auth import TOKEN_SCOPES, Role
from headrace.auth.principal import SERVICE_ROLES, scopes_of
from headrace.client import Headrace, HeadraceError, HttpHeadrace
from headrace.client import models as m
from headrace.mcp_server import SCOPE_OF_TOOL, make_server

URL = "http://127.0.0.1:8470"
REFUSED = frozenset({"forbidden", "session_needed"})
"""What somebody hears who may not ask for this at all; every other code is about what is asked for."""
MORE: dict[str, tuple[str, dict[str, Any]]] = {
    "undrain_node": ("drain_node", {"node": "nowhere", "drain": False}),
    "end_session_of": ("end_session", {"session": "se_nothing", "person": "pn_nobody"}),
    "remove_passkey_of": ("remove_passkey", {"passkey": "nothing", "person": "pn_nobody"}),
}
"""Routes that share a method of the port with another."""
DIGEST = "0" * 64
TOOLS: dict[str, dict[str, Any]] = {
    "list_endpoints": {},
    "browse_endpoint": {"endpoint": "lab"},
    "plan_transfer": {"request": "copy lab:/a to archive:/b"},
    "plan_probe": {"source": "lab:/a", "destination": "archive:/b"},
    "revise_plan": {"plan_id": "pl_nothing", "request": "skip *.tmp"},
    "explain_plan": {"plan_id": "pl_nothing"},
    "why_denied": {"plan_id": "pl_nothing"},
    "list_losses": {"plan_id": "pl_nothing"},
    "submit_plan": {"digest": DIGEST},
    "list_transfers": {},
    "transfer_status": {"transfer_id": "tr_nothing"},
    "diagnose_transfer": {"transfer_id": "tr_nothing"},
    "control_transfer": {"transfer_id": "tr_nothing", "action": "cancel"},
    "get_receipt": {"receipt_id": "tr_nothing"},
}
RESOURCES = {
    "headrace://endpoints": "headrace://endpoints",
    "headrace://plans/{plan_id}": "headrace://plans/pl_nothing",
    "headrace://transfers/{transfer_id}": "headrace://transfers/tr_nothing",
}
PROMPTS: dict[str, dict[str, str]] = {
    "move_data": {"request": "copy lab:/a to archive:/b"},
    "why_is_it_slow": {"transfer_id": "tr_nothing"},
    "what_can_i_do": {},
}


@dataclass(frozen=True)
class Asked:
    """A request as the client sends it."""

    method: str
    path: str
    body: bytes


@dataclass(frozen=True)
class House:
    """A service in this process, and everybody's right credentials by role, in each way to say who one is."""

    app: FastAPI
    http: httpx2.AsyncClient
    secrets: dict[tuple[str, Role], str]
    wrong: dict[str, str]


class _Recording(httpx2.AsyncBaseTransport):
    """Keeps the last request, and answers that it was refused."""

    asked: httpx2.Request | None = None

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        await request.aread()
        self.asked = request
        problem = m.Problem(title="x", status=403, code="x", detail="x")
        headers = {"content-type": "application/problem+json"}
        return httpx2.Response(403, headers=headers, content=problem.model_dump_json(), request=request)


async def sent(method: str, given: dict[str, Any]) -> Asked:
    """Say what the client sends for a call of the port."""
    recording = _Recording()
    async with HttpHeadrace(URL, "hrs_x", transport=recording) as client:
        answer = getattr(client, method)(**given)
        with pytest.raises(HeadraceError):
            await (anext(answer) if isinstance(answer, AsyncIterator) else answer)
    assert recording.asked is not None
    return Asked(recording.asked.method, recording.asked.url.raw_path.decode(), recording.asked.content)


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    async with started_site(tmp_path) as site:
        app = create_app(site.service.gate, Origins.of(URL))
        transport = httpx2.ASGITransport(app, raise_app_exceptions=False)
        async with (
            app.router.lifespan_context(app),
            httpx2.AsyncClient(transport=transport, base_url=URL) as http,
        ):
            yield House(app, http, await everybody(site), await wrong_ones(site))


async def everybody(site: Site) -> dict[tuple[str, Role], str]:
    """Make a person of each role, with a session, a token and an assistant, and a service account where one can be."""
    secrets: dict[tuple[str, Role], str] = {}
    for role in Role:
        person = await site.person(f"only {role}".replace("_", "-"), role)
        scopes = sorted(scopes_of([role]) & TOKEN_SCOPES)
        secrets["session", role] = person.secret
        secrets["token", role], _ = await person.token(*scopes)
        secrets["agent", role], _ = await person.token(*scopes, agent="helper")
        if role in SERVICE_ROLES:
            account = m.ServiceAccountRequest(name=f"runs as {role}", roles=[role])
            owner = await site.ada.port.create_service_account(account)
            for kind, agent in (("service", None), ("service_agent", "robot")):
                wish = m.TokenRequest(name="its", scopes=list(scopes), person=owner.id, agent=agent)
                made = await site.ada.port.create_token(wish)
                secrets[kind, role] = str(made.secret)
    return secrets


async def wrong_ones(site: Site) -> dict[str, str]:
    """Make what looks like a credential and is none, each of somebody who could do everything."""
    gone, quitting = await site.person("gone", *Role), await site.person("quitting", *Role)
    revoked, _ = await gone.token("transfer:read", agent="helper")
    good, _ = await quitting.token("transfer:read", agent="helper")
    ends = good[:-30] + ("A" if good[-30] != "A" else "B") + good[-29:]
    await site.ada.port.disable_person(gone.principal.id)
    await site.use_cases.people.sign_out(quitting.secret, "127.0.0.1")
    return {
        "a session of somebody who is disabled": gone.secret,
        "a session that was ended": quitting.secret,
        "a token that went with its owner": revoked,
        "a token with another secret": ends,
        "a session's secret of nobody": "hrs_" + "A" * 43,
        "an access token of no provider": "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZGEifQ.",
        "a name": "ada",
    }


async def code_of(house: House, asked: Asked, secret: str | None) -> str:
    """Send a request, and return the code of its refusal, or `ok`."""
    headers = {"content-type": "application/json"} | ({"authorization": f"Bearer {secret}"} if secret else {})
    if asked.path.startswith(f"{PREFIX}/events"):
        return await _first_of_stream(house.app, asked, headers)
    answer = await house.http.request(asked.method, asked.path, headers=headers, content=asked.body)
    return "ok" if answer.status_code < 400 else str(answer.json().get("code", answer.status_code))


async def _first_of_stream(app: FastAPI, asked: Asked, headers: dict[str, str]) -> str:
    """Ask for a stream without an end, and leave as soon as it has begun."""
    path, _, query = asked.path.partition("?")
    scope = {
        "type": "http", "asgi": {"version": "3.0", "spec_version": "2.0"}, "http_version": "1.1",
        "method": asked.method, "path": path, "raw_path": path.encode(), "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in ({"host": URL[7:]} | headers).items()],
        "scheme": "http", "server": ("127.0.0.1", 8470), "client": ("127.0.0.1", 1), "root_path": "",
    }  # fmt: skip
    told: list[dict[str, Any]] = []
    begun = asyncio.Event()

    async def receive() -> dict[str, Any]:
        await begun.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:  # noqa: ANN401 - a message of ASGI
        told.append(message)
        begun.set()

    await app(scope, receive, send)
    if told[0]["status"] < 400:
        return "ok"
    return str(json.loads(b"".join(one.get("body", b"") for one in told))["code"])


async def mcp_code(house: House, what: str, name: str, secret: str | None) -> str:
    """Call a tool, read a resource or get a prompt over HTTP, and return the code of its refusal, or `ok`."""
    method = {"tool": "tools/call", "resource": "resources/read", "prompt": "prompts/get"}[what]
    named = {"name": name, "arguments": {**TOOLS, **PROMPTS}.get(name)}
    params: dict[str, Any] = {"uri": RESOURCES[name]} if what == "resource" else named
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
    headers = {
        "accept": "application/json, text/event-stream", "mcp-protocol-version": "2026-07-28",
        "mcp-method": method, "mcp-name": RESOURCES.get(name, name),
    }  # fmt: skip
    headers |= {"authorization": f"Bearer {secret}"} if secret else {}
    call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
    answer = await house.http.post("/mcp", headers=headers, json=call)
    if answer.status_code == httpx2.codes.UNAUTHORIZED:
        return "not_signed_in"
    # A stream may begin with a comment, which keeps a slow connection open.
    streamed = re.search(r"^data: (.+)$", answer.text, re.MULTILINE)
    told = json.loads(streamed[1] if streamed else answer.text)
    if "result" in told and not told["result"].get("isError"):
        return "ok"
    text = told["error"]["message"] if "error" in told else told["result"]["content"][0]["text"]
    found = re.search(r"\(code: (\w+)\)", text)
    assert found is not None, told
    return found[1]


def routes_of(app: FastAPI) -> Iterator[tuple[str, str]]:
    """List the routes of the API that the service describes, with the names of their operations."""
    for path, operations in app.openapi()["paths"].items():
        for method, operation in operations.items():
            yield f"{method.upper()} {path.removeprefix(PREFIX)}", operation["operationId"]


UNDESCRIBED = {
    f"{PREFIX}/openapi.json": "what the API is, for everybody",
    "/mcp": "each tool, resource and prompt has a row",
    "/.well-known/oauth-protected-resource": "where access tokens are made, for everybody",
    "/.well-known/oauth-protected-resource{path}": "the same, for a part of the service",
    "/{path}": "the console's files, for everybody",
}
"""What the service answers at beside the API that it describes, and why it has no row."""


@pytest.mark.anyio
async def test_the_service_answers_nowhere_but_at_what_it_describes_and_what_is_named_here(house: House) -> None:
    described = set(house.app.openapi()["paths"])
    there = {re.sub(r":\w+}", "}", str(route.path)) for route in iter_route_contexts(house.app.routes)}
    assert there - described == set(UNDESCRIBED)
    assert described <= there


@pytest.mark.anyio
async def test_the_openapi_document_says_which_routes_want_credentials_and_which(house: House) -> None:
    document, table = house.app.openapi(), rights.read()
    assert set(document["components"]["securitySchemes"]) == {"bearer", "cookie"}
    either: list[dict[str, list[str]]] = [{"bearer": []}, {"cookie": []}]
    assert {
        f"{method.upper()} {path.removeprefix(PREFIX)}": operation.get("security")
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    } == dict.fromkeys(table.open) | dict.fromkeys([*table.any_secret, *table.routes], either)


@pytest.mark.anyio
@pytest.mark.timeout(180)
async def test_everything_that_can_be_asked_answers_each_role_and_each_credential_as_the_table_says(
    house: House,
) -> None:
    table = rights.read()
    assert set(table.tools) == set(SCOPE_OF_TOOL) == set(TOOLS), "each tool has a row"
    assert set(table.resources) == set(RESOURCES) == await shown_resources(), "each resource has a row"
    assert set(table.prompts) == set(PROMPTS) == await shown_prompts(), "each prompt has a row"
    assistants = [
        odd
        for what, rows in (("tool", table.tools), ("resource", table.resources), ("prompt", table.prompts))
        for odd in await odd_of_assistants(house, what, rows)
    ]
    assert [*await odd_routes(house, table), *assistants, *await odd_open_ones(house, table)] == []


async def nobody(_: object) -> Headrace:
    raise AssertionError


async def shown_resources() -> set[str]:
    server = make_server(nobody)
    templates = {one.uri_template for one in await server.list_resource_templates()}
    return {str(one.uri) for one in await server.list_resources()} | templates


async def shown_prompts() -> set[str]:
    return {one.name for one in await make_server(nobody).list_prompts()}


async def odd_routes(house: House, table: rights.Table) -> list[str]:
    routes = dict(routes_of(house.app))
    assert set(routes) == set(table.routes) | set(table.open) | set(table.any_secret), "each route has a row"
    assert set(routes.values()) >= set(ACCESS)
    odd: list[str] = []
    for route, row in table.routes.items():
        method, given = MORE.get(routes[route], (routes[route], arguments(routes[route], About())))
        asked = await sent(method, given)
        for (kind, role), secret in house.secrets.items():
            if kind == "service_agent":
                continue
            code = await code_of(house, asked, secret)
            if (code not in REFUSED) != (role in row.of[kind]):
                odd.append(f"{route}: {kind} of {role}: {code}")
        for name, wrong in {"no credential": None, **house.wrong}.items():
            if (code := await code_of(house, asked, wrong)) != "not_signed_in":
                odd.append(f"{route}: {name}: {code}")
    return odd


async def odd_of_assistants(house: House, what: str, rows: dict[str, rights.Rights]) -> list[str]:
    odd: list[str] = []
    for name, row in rows.items():
        for (kind, role), secret in house.secrets.items():
            column = "service" if kind == "service_agent" else kind
            if kind == "session" or (kind in {"token", "service"} and what != "prompt"):
                continue
            code = await mcp_code(house, what, name, secret)
            if (code not in REFUSED) != (role in row.of[column]):
                odd.append(f"{name}: {kind} of {role}: {code}")
        strangers = {"a person's session": house.secrets["session", Role.REQUESTER], "no credential": None}
        for whose, wrong in {**strangers, **house.wrong}.items():
            if (code := await mcp_code(house, what, name, wrong)) != "not_signed_in":
                odd.append(f"{name}: {whose}: {code}")
        if what != "prompt":  # a prompt is a text: what an assistant then calls is refused
            code = await mcp_code(house, what, name, house.secrets["token", Role.REQUESTER])
            if code != "agent_needed":
                odd.append(f"{name}: a token that names no assistant: {code}")
    return odd


async def odd_open_ones(house: House, table: rights.Table) -> list[str]:
    odd: list[str] = []
    for route in table.open | table.any_secret:
        method, path = route.split(" ")
        asked = Asked(method, PREFIX + path.replace("{provider}", "nowhere"), b"{}")
        refused = await code_of(house, asked, None) == "not_signed_in"
        refuses_any = await code_of(house, asked, house.wrong["a session's secret of nobody"]) == "not_signed_in"
        if refused != (route in table.any_secret) or refuses_any:
            odd.append(route)
    return odd
