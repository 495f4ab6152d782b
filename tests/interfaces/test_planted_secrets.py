"""Secrets of a real run are looked for wherever a service speaks or writes: each is in its own place only."""

import base64
import json
import os
import re
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote_from_bytes

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from tests.servers.headrace import PASSWORD, Service, serving
from tests.servers.private import private

TYPED_WRONG = "Wrong-password-that-somebody-typed-77"
CLIENT_SECRET = "client-secret-of-a-provider-4711"  # noqa: S105 - of no provider
KEYS = ("authority.key", "pepper.key", "hub/hub.key", "node/node.key")
"""Files of the data folder that hold one secret each, and nothing else."""
ISSUER = """
[[issuer]]
id = "corp"
name = "Corporate account"
url = "http://127.0.0.1:9"
client_id = "headrace"
client_secret_file = "corp.secret"
"""


@dataclass
class Run:
    """What a run held secret, and all that it said."""

    secrets: dict[str, bytes] = field(default_factory=dict)
    said: dict[str, bytes] = field(default_factory=dict)
    transfer: str = ""

    def found(self) -> list[str]:
        """Name each secret that is somewhere, and where, in whatever form it is."""
        return [
            f"{name} in {place}"
            for name, secret in self.secrets.items()
            for place, said in self.said.items()
            if any(form in said for form in forms(secret))
        ]


def forms(secret: bytes) -> set[bytes]:
    """Return how a secret can be written."""
    encoded = {base64.b64encode(secret).rstrip(b"="), base64.urlsafe_b64encode(secret).rstrip(b"=")}
    return {secret, quote_from_bytes(secret).encode(), secret.hex().encode()} | encoded


class Door:
    """REST with somebody's secret; every answer is kept, but for those that show a secret once."""

    def __init__(self, run: Run, url: str, secret: bytes = b"") -> None:
        self._run, self._url = run, f"{url}/api/v1"
        self._headers = {"Authorization": f"Bearer {secret.decode()}"} if secret else {}

    def ask(self, method: str, path: str, *, shown_once: str = "", is_there: bool = False, **options: Any) -> Any:  # noqa: ANN401 - as asked
        answer = httpx2.request(method, f"{self._url}{path}", headers=self._headers, timeout=60, **options)
        assert not is_there or answer.is_success, (path, answer.text)
        found: Any = answer.json() if answer.content and "json" in answer.headers["content-type"] else None
        if shown_once:
            again = " again" if f"{shown_once} of {path}" in self._run.secrets else ""
            self._run.secrets[f"{shown_once} of {path}{again}"] = str(found[shown_once]).rpartition("#")[2].encode()
        else:
            self._run.said[f"the answer to {method} {path} ({len(self._run.said)})"] = answer.content
        return found


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """Use a service for all that it does with secrets, and look at all that it said."""
    folder, run = tmp_path_factory.mktemp("planted"), Run()
    (folder / "issuers.toml").write_text(ISSUER)
    private(folder / "corp.secret", CLIENT_SECRET)
    settings: dict[str, int | str] = {
        "oidc_issuers": str(folder / "issuers.toml"),
        "engine_log": "debug",
    }
    # The program itself, as it is the one whose command line and surroundings are looked at.
    with serving(folder, spawn=subprocess.Popen, **settings) as service:
        use(service, run)
        anyio.run(assist, service, run)
        look(service, run)
        yield run


def use(service: Service, run: Run) -> None:
    """Sign in, fail to, make every kind of secret, move data, and err with secrets in hand."""
    [saved] = json.loads((service.admin.config / "session.json").read_text()).values()
    run.secrets |= {"the password": PASSWORD.encode(), "a session": saved["secret"].encode()}
    run.secrets |= {"a client secret": CLIENT_SECRET.encode(), "a wrong password": TYPED_WRONG.encode()}
    ada, stranger = Door(run, service.url, run.secrets["a session"]), Door(run, service.url)
    proof = {"password": PASSWORD}
    token = ada.ask("POST", "/tokens", shown_once="secret", json=proof | {"name": "t", "scopes": ["transfer:read"]})
    ada.ask("POST", "/people/invitations", shown_once="link", json=proof | {"name": "ria", "roles": ["requester"]})
    join = ada.ask("POST", "/nodes/join-tokens", shown_once="token", json=proof | {"name": "dtn2"})["token"]
    ada.ask("PATCH", "/endpoints/src", is_there=True, json=proof | {"labels": {"site": "lab"}})
    held = json.loads(base64.urlsafe_b64decode(join.removeprefix("hrj_") + "=="))
    run.secrets["what a join token holds"] = held["s"].encode()
    for name in KEYS:
        text = (service.folder / "data" / name).read_bytes()
        pem = re.search(rb"-----\n(.*?)\n-----", text, re.DOTALL)
        run.secrets[f"the key in {name}"] = (pem[1] if pem else text).strip()
    # Whoever errs with a secret in hand hears, and leaves behind, none of it.
    stranger.ask("POST", "/sessions", json={"name": "admin", "password": TYPED_WRONG})
    stranger.ask("POST", "/sessions", json={"name": TYPED_WRONG, "password": TYPED_WRONG})
    stranger.ask("POST", "/sessions", json={"name": "admin", "password": [TYPED_WRONG]})
    stranger.ask("POST", "/sessions", content=f'{{"name": "admin", "password": "{TYPED_WRONG}')
    stranger.ask("GET", f"/plans?token={token['secret']}&limit={token['secret']}")
    ada.ask("POST", "/tokens", json={"name": "t", "scopes": ["transfer:read"], "password": TYPED_WRONG})
    Door(run, service.url, f"{token['secret'][:-1]}x".encode()).ask("GET", "/me")
    stranger.ask("GET", "/sign-in/corp")
    failed = service.admin.run("login", "--name", "x", "--password-stdin", typed=TYPED_WRONG)
    run.said["a command that fails"] = (failed.out + failed.err).encode()
    (service.source / "set").mkdir()
    (service.source / "set" / "a.dat").write_bytes(os.urandom(100_000))
    link = run.secrets["link of /people/invitations"].decode()
    accepted = {"token": link, "password": PASSWORD}
    stranger.ask("POST", "/invitations/accept", shown_once="secret", json=accepted)
    ria = Door(run, service.url, run.secrets["secret of /invitations/accept"])
    agent = {"name": "a", "agent": "helper", "scopes": ["transfer:read", "transfer:read:all"]}
    ria.ask("POST", "/tokens", shown_once="secret", json=proof | agent)
    intent = {"action": "copy", "source": "src:/set", "destination": "dst:/set"}
    plan = ria.ask("POST", "/plans", json={"intent": intent})
    plan = ria.ask("GET", f"/plans/{plan['id']}?wait_s=20")
    transfer = ria.ask("POST", "/transfers", json={"plan_digest": plan["digest"]})
    assert ria.ask("GET", f"/transfers/{transfer['id']}?wait_s=20")["state"] == "complete"
    run.transfer = transfer["id"]
    for path in ("", "/events", "/receipt", "/failed"):
        ria.ask("GET", f"/transfers/{run.transfer}{path}")
    for path in ("/audit?limit=1000", "/people", "/tokens", "/nodes", "/endpoints", "/health", "/me", "/sessions"):
        ada.ask("GET", path, is_there=True)


async def assist(service: Service, run: Run) -> None:
    """Call the tools of assistants that read."""
    headers = {"Authorization": f"Bearer {run.secrets['secret of /tokens again'].decode()}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        Client(streamable_http_client(f"{service.url}/mcp", http_client=http)) as client,
    ):
        for tool in (await client.list_tools()).tools:
            wanted = tool.input_schema.get("required", [])
            given = {name: run.transfer for name in wanted if name in {"transfer_id", "receipt_id"}}
            answer = await client.call_tool(tool.name, given)
            run.said[f"the answer of the tool {tool.name}"] = answer.model_dump_json().encode()


def look(service: Service, run: Run) -> None:
    """Read the log, the store, the data folder and what the system shows of the processes."""
    data = service.folder / "data"
    run.said["the log"] = (service.folder / "serve.log").read_bytes()
    with closing(sqlite3.connect(data / "headrace.sqlite")) as store:
        run.said["the store"] = "\n".join(store.iterdump()).encode()
    for path in filter(Path.is_file, data.rglob("*")):
        name = path.relative_to(data).as_posix()
        if name not in KEYS:
            run.said[f"the file {name}"] = path.read_bytes()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            line, around = (process / "cmdline").read_bytes(), (process / "environ").read_bytes()
        except OSError:  # it has ended, or is somebody else's
            continue
        if str(service.folder).encode() in line:
            run.said[f"the command line of {process.name}"] = line
            run.said[f"the environment of {process.name}"] = around


def test_no_secret_of_a_run_is_anywhere_but_in_its_own_place(run: Run) -> None:
    assert run.found() == []


def test_the_search_looks_where_things_are_written(run: Run) -> None:
    places = {place for place, said in run.said.items() if run.transfer.encode() in said}
    assert "the store" in places
    for kind in ("the answer to GET", "the answer to POST", "the answer of the tool"):
        assert any(place.startswith(kind) for place in places), kind
    assert b"attached to the service" in run.said["the log"]
    assert any(place.startswith("the command line of") for place in run.said)
    assert {"the key in node/node.key", "link of /people/invitations", "what a join token holds"} <= run.secrets.keys()
