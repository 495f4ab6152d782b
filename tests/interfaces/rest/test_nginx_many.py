"""nginx with the file of deploy/nginx before two processes of one site: people's calls go on when one is killed."""

import asyncio
import json
import os
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import httpx2
import pytest
from tests.servers.headrace import PASSWORD
from tests.servers.many import Many, many
from tests.servers.nginx import new_certificate, nginx_running, written
from tests.servers.ports import free_port
from tests.servers.postgres import Postgres
from tests.servers.stores import postgres

from headrace.client import HttpHeadrace
from headrace.client import models as m

__all__ = ["postgres"]

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240, func_only=True), pytest.mark.xdist_group("many")]

PEOPLE: Final = 3
"""Who make calls of each kind, one after the other."""
AFTER_A_KILL: Final = 10
"""Calls that each of them makes from the kill on."""
OUTLASTS_CALLS_BYTES: Final = 64 << 20
"""Nine minutes at the rate that the calls set: nobody steers a transfer that has ended, however busy the machine is."""


@dataclass(frozen=True)
class Fronted:
    """A site of two processes and two nodes, and nginx before it at `url`."""

    site: Many
    url: str
    trusted: ssl.SSLContext

    def client(self) -> httpx2.AsyncClient:
        """The admin by way of nginx, who makes each call once, by a connection of its own."""
        limits = httpx2.Limits(max_keepalive_connections=0)
        transport = httpx2.AsyncHTTPTransport(verify=self.trusted, limits=limits)
        headers = {"authorization": f"Bearer {self.site.secret}"}
        return httpx2.AsyncClient(base_url=f"{self.url}/api/v1", headers=headers, transport=transport, timeout=60)

    def port(self) -> HttpHeadrace:
        """The admin's port, by way of nginx."""
        return HttpHeadrace(self.url, self.site.secret, transport=httpx2.AsyncHTTPTransport(verify=self.trusted))


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def running(tmp_path_factory: pytest.TempPathFactory, postgres: Postgres) -> AsyncIterator[Fronted]:
    folder = tmp_path_factory.mktemp("fronted")
    listen = f"127.0.0.1:{free_port()}"
    url = f"https://localhost:{listen.partition(':')[2]}"
    certificate = await asyncio.to_thread(new_certificate, folder)
    async with many(folder, postgres.database(), public_url=url, trusted_proxies="127.0.0.1") as site:
        site.ports |= {name: free_port() for name in ("one", "two")}
        behind = [f"127.0.0.1:{port}" for port in site.ports.values()]
        for name in ("one", "two"):
            await asyncio.to_thread(site.start, name)
        await site.first_admin("two")
        await site.start_nodes("two")
        with nginx_running(written(folder, listen, behind, certificate), listen):
            yield Fronted(site, url, ssl.create_default_context(cafile=str(certificate.chain)))


@dataclass
class Calls:
    """Calls of people, made again where they were not answered, and how often each was."""

    client: httpx2.AsyncClient
    killed: asyncio.Event = field(default_factory=asyncio.Event)
    answered: asyncio.Event = field(default_factory=asyncio.Event)
    tries: list[int] = field(default_factory=list)
    """Of calls that began before the kill."""
    tries_after: list[int] = field(default_factory=list)
    unanswered: set[str] = field(default_factory=set)

    async def make(self, method: str, path: str, body: dict[str, object] | None, wanted: int) -> None:
        """Make a call over and over, until it was made often enough after the kill."""
        left = AFTER_A_KILL
        while left:
            after = self.killed.is_set()
            left -= after
            tries = 1
            while (answer := await self.client.request(method, path, json=body)).status_code != wanted:
                code = answer.json()["code"] if "problem" in answer.headers["content-type"] else "502 of nginx"
                assert answer.status_code in {502, 503}, answer.text
                self.unanswered.add(code)
                tries += 1
            (self.tries_after if after else self.tries).append(tries)
            self.answered.set()


@pytest.mark.parametrize("leads", [False, True], ids=["one that passes on", "the one that leads"])
async def test_when_a_process_behind_nginx_is_killed_nobody_makes_a_call_again_more_than_once(
    running: Fronted, *, leads: bool
) -> None:
    site = running.site
    name = f"killed-{leads}.bin"
    (site.folder / "lab" / name).write_bytes(os.urandom(OUTLASTS_CALLS_BYTES))
    intent = {
        "action": "copy",
        "source": f"lab:/{name}",
        "destination": f"archive:/{name}",
        "rate_limit_bps": 8_000_000,
    }
    slowly = {"action": "set_rate", "rate_bps": 1_000_000}
    async with running.port() as port, running.client() as client:
        made = await port.create_plan(m.PlanRequest.model_validate({"intent": intent}))
        digest = (await port.plan(made.id, wait_s=20)).digest
        assert digest is not None
        transfer = await port.submit(m.SubmitRequest(plan_digest=digest))
        # Who watches goes on watching, by whichever process.
        watched = asyncio.create_task(_last_of(port, transfer))
        calls = Calls(client)
        async with asyncio.TaskGroup() as people:
            for _ in range(PEOPLE):
                people.create_task(calls.make("GET", "/me", None, 200))
                people.create_task(calls.make("GET", f"/transfers/{transfer.id}", None, 200))
                people.create_task(calls.make("POST", f"/transfers/{transfer.id}/control", slowly, 200))
            await calls.answered.wait()
            victim = site.roles()[0 if leads else 1]
            await asyncio.to_thread(site.processes[victim].kill)
            calls.killed.set()
        assert max(calls.tries) <= 2, (calls.tries, calls.unanswered)
        assert set(calls.tries_after) == {1}, (calls.tries_after, calls.unanswered)
        assert calls.unanswered <= {"unanswered", "502 of nginx"}
        await port.control(transfer.id, m.ControlRequest(action="set_rate", rate_bps=None))
        assert (await watched).state is m.TransferState.COMPLETE
        assert (site.folder / "archive" / name).stat().st_size == OUTLASTS_CALLS_BYTES
    await asyncio.to_thread(site.start, victim)
    await site.attached(victim)


async def _last_of(port: HttpHeadrace, transfer: m.Transfer) -> m.Transfer:
    shown = transfer
    async for event in port.watch(transfer.id):
        shown = event.transfer or shown
    return shown


async def test_a_call_that_nginx_would_give_to_a_process_that_is_gone_goes_to_the_other_one(running: Fronted) -> None:
    site = running.site
    gone = site.roles()[1]
    await asyncio.to_thread(site.processes[gone].kill)
    wrong = {"name": "admin", "password": "not the password"}
    async with running.client() as client:
        # nginx asks in turn: one of the two would go to the process that is gone, and both would change something.
        assert [(await client.post("/sessions", json=wrong)).status_code for _ in range(2)] == [401, 401]
    await asyncio.to_thread(site.start, gone)
    await site.attached(gone)


async def test_a_process_that_has_just_come_back_is_asked_when_the_other_one_is_killed(running: Fronted) -> None:
    site = running.site
    leader, other = site.roles()
    async with running.client() as client:
        await asyncio.to_thread(site.processes[other].kill)
        # nginx meets the process that is gone, again and again until it is back.
        back = asyncio.create_task(asyncio.to_thread(site.start, other))
        while not back.done():
            assert (await client.get("/me")).status_code == 200
        await back
        await asyncio.to_thread(site.processes[leader].kill)
        answers = await asyncio.gather(*(client.get("/me") for _ in range(8)))
        assert [answer.status_code for answer in answers] == [200] * 8
    await asyncio.to_thread(site.start, leader)
    await site.attached(leader)


async def test_changes_come_through_nginx_as_they_happen_from_either_process(running: Fronted, tmp_path: Path) -> None:
    site = running.site
    named = {"host": running.url.partition("://")[2]}
    for number, name in enumerate(site.roles()):
        secret = {"authorization": f"Bearer {site.secret}"}
        past = httpx2.AsyncClient(base_url=site.processes[name].url, headers=secret)
        async with past, past.stream("GET", "/api/v1/events") as answer:
            assert answer.headers["x-accel-buffering"] == "no", "what nginx obeys, however little it holds back"
        listen = f"127.0.0.1:{free_port()}"
        configuration = written(tmp_path, listen, [f"127.0.0.1:{site.ports[name]}"], None)
        with nginx_running(configuration, listen):
            async with running.client() as client:
                asked = client.stream("GET", f"http://{listen}/api/v1/events", headers=named)
                async with asked as answer:
                    lines = answer.aiter_lines()
                    assert answer.status_code == 200, await answer.aread()
                    assert await _next(lines) == "now"
                    change = {"aliases": [f"source{number}"], "password": PASSWORD}
                    assert (await client.patch("/endpoints/lab", json=change)).status_code == 200
                    assert await _next(lines) == "endpoint"


async def _next(lines: AsyncIterator[str]) -> str:
    """Return the kind of the next change."""
    async for line in lines:
        if line.startswith("data:"):
            return str(json.loads(line.removeprefix("data:"))["kind"])
    return "the end"
