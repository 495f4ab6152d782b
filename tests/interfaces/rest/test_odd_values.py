"""Odd values in every parameter of every route: each is answered, and none as a fault of the service.

What may be sent is read from the committed OpenAPI document, so that a new route is tried as well.
"""

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from fastapi import FastAPI
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from starlette.types import Message
from tests.servers.site import started_site

from headrace.api.app.web import create_app
from headrace.api.http.guard import Origins

HOST = "127.0.0.1:8470"
DOCUMENT = json.loads((Path(__file__).parent / "openapi.json").read_text(encoding="utf-8"))
NOT_TRIED = {("delete", "/api/v1/sessions/current")}
"""It would end the session that the other requests are made with."""
MEANT = {"halted", "node_away", "survey_timeout", "shutting_down"}
"""What a service without nodes, or halted by an earlier request, says with a status from 500."""
LIMIT_S = 20

Schema = dict[str, Any]

ODD_TEXTS = ["", "\0", "\ud800", "\udfff\ud800", "x" * 300, "x" * 6000, "..", "/", "%", "%ED%A0%80", "last", "tr_"]
ODD_TEXTS += ["é", "lab:/a"]
ODD_NUMBERS = [0, 1, -1, 200, 2**31, 2**63 - 1, 2**63, 2**64, 10**30, 10**400]
ODD_TIMES = ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "2026-11-25T12:00:00Z", "2026-11-25T12:00:00"]
ODD_TIMES += ["10000-01-01", "1e400", "0000-00-00T00:00:00Z", "-1", str(2**63)]
texts = st.sampled_from(ODD_TEXTS) | st.text(st.characters(), max_size=8)
numbers = st.sampled_from(ODD_NUMBERS)


def values(schema: Schema) -> st.SearchStrategy[Any]:
    """Values that nearly fit a schema."""
    if "$ref" in schema:
        return values(DOCUMENT["components"]["schemas"][schema["$ref"].rpartition("/")[2]])
    if "anyOf" in schema:
        return st.one_of(*map(values, schema["anyOf"]))
    if "enum" in schema:
        return st.sampled_from(schema["enum"]) | texts
    kind = schema.get("type", "string")
    if kind == "array":
        return st.lists(values(schema.get("items") or schema["prefixItems"][0]), max_size=3)
    return objects(schema) if kind == "object" else single(kind, schema)


def single(kind: str, schema: Schema) -> st.SearchStrategy[Any]:
    """Values that are no list and no object."""
    if schema.get("format") == "date-time":
        return st.sampled_from(ODD_TIMES)
    if "[0-9a-f]{64}" in schema.get("pattern", ""):
        return st.just("a" * 64) | texts
    known = {"integer": numbers, "number": numbers, "boolean": st.booleans(), "null": st.none()}
    return known.get(kind, texts)


def objects(schema: Schema) -> st.SearchStrategy[Any]:
    fields, needed = schema.get("properties", {}), set(schema.get("required", ()))
    known = {name: values(value) for name, value in fields.items()}
    if not known:
        return st.dictionaries(texts, texts, max_size=2)
    return st.fixed_dictionaries(
        {name: value for name, value in known.items() if name in needed},
        optional={name: value for name, value in known.items() if name not in needed},
    )


@dataclass(frozen=True)
class Sent:
    """One request."""

    method: str
    path: str
    query: str = ""
    headers: tuple[tuple[bytes, bytes], ...] = ()
    body: bytes = b""


def written(value: object) -> str:
    """Write a value into an address; a lone surrogate as the bytes that it would have."""
    return quote(str(value).encode("utf-8", "surrogatepass"), safe="")


@st.composite
def requests(draw: st.DrawFn) -> Sent:
    """A request to some route, each of its parameters nearly fitting."""
    method, path, operation = draw(st.sampled_from(OPERATIONS))
    query, headers = [], []
    for parameter in operation.get("parameters", ()):
        name, value = parameter["name"], values(parameter["schema"])
        if parameter["in"] == "path":
            path = path.replace(f"{{{name}}}", written(draw(value)))
        elif draw(st.booleans()):
            if parameter["in"] == "query":
                query.append(f"{name}={written(draw(value))}")
            else:
                headers.append((name.encode(), str(draw(value)).encode("utf-8", "replace")[:200]))
    body = b""
    for content in operation.get("requestBody", {}).get("content", {}).values():
        body = json.dumps(draw(values(content["schema"]))).encode()
        headers.append((b"content-type", b"application/json"))
    return Sent(method.upper(), path, "&".join(query), tuple(headers), body)


OPERATIONS = [
    (method, path, operation)
    for path, operations in DOCUMENT["paths"].items()
    for method, operation in operations.items()
    if (method, path) not in NOT_TRIED
]


@dataclass(frozen=True)
class Service:
    """The application in a loop of its own, and a session of its first admin."""

    portal: BlockingPortal
    app: FastAPI
    secret: str

    def status_of(self, sent: Sent) -> tuple[int, str]:
        """Send a request; returns its status, and the code of a problem."""
        return self.portal.call(self._answer, sent)

    async def _answer(self, sent: Sent) -> tuple[int, str]:
        begun: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        whole, got = asyncio.Event(), bytearray()

        async def receive() -> Message:
            if not received:
                received.append(True)
                return {"type": "http.request", "body": sent.body, "more_body": False}
            await asyncio.Event().wait()
            raise AssertionError

        async def send(message: Message) -> None:
            if message["type"] == "http.response.start":
                begun.set_result(message["status"])
            else:
                got.extend(message.get("body", b""))
                if not message.get("more_body"):
                    whole.set()

        received: list[bool] = []
        headers = [(b"host", HOST.encode()), (b"authorization", f"Bearer {self.secret}".encode()), *sent.headers]
        scope = {
            "type": "http", "method": sent.method, "path": _unquoted(sent.path), "raw_path": sent.path.encode(),
            "query_string": sent.query.encode(), "headers": headers, "client": ("127.0.0.1", 1), "scheme": "http",
            "http_version": "1.1", "root_path": "", "server": ("127.0.0.1", 8470), "asgi": {"version": "3.0"},
        }  # fmt: skip
        call = asyncio.ensure_future(self.app(scope, receive, send))
        async with asyncio.timeout(LIMIT_S):
            await begun
            if begun.result() >= 400:
                await whole.wait()
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        return begun.result(), json.loads(got)["code"] if begun.result() >= 400 else ""


def _unquoted(path: str) -> str:
    """As the server gives it to the application."""
    return unquote(path)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(started_site(tmp_path_factory.mktemp("odd"))) as site,
    ):
        app = create_app(site.service.gate, Origins.of(f"http://{HOST}"))
        yield Service(portal, app, site.ada.secret)


@given(sent=requests())
@example(sent=Sent("GET", "/api/v1/events", f"after={2**63}"))
@example(sent=Sent("GET", "/api/v1/events", headers=((b"last-event-id", str(2**64).encode()),)))
@example(sent=Sent("GET", "/api/v1/audit", "since=" + written(ODD_TIMES[0])))
@example(sent=Sent("GET", "/api/v1/audit", "until=" + written(ODD_TIMES[1])))
@example(sent=Sent("GET", "/api/v1/transfers", "search=%ED%A0%80&after=%00"))
@example(sent=Sent("GET", "/api/v1/plans/%ED%A0%80"))
@example(sent=Sent("GET", "/api/v1/endpoints/%00/browse", "path=%ED%A0%80"))
@example(sent=Sent("POST", "/api/v1/interpretations", body=b'{"text": "\\ud800"}'))
@example(sent=Sent("POST", "/api/v1/plans", body=b'{"words": "copy \\udfff to b:/"}'))
@settings(max_examples=400, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
def test_odd_values_are_answered_and_are_no_fault_of_the_service(service: Service, sent: Sent) -> None:
    status, code = service.status_of(sent)
    assert status < 500 or code in MEANT, (status, code)
