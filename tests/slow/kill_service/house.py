"""The processes under test, and the people who work there: one service or several, two nodes, sessions over REST."""

import asyncio
import json
import os
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import ParamSpec, TypeVar

from demo.stage import Stage
from tests.slow.kill_service.front import Front

from headrace.client import HeadraceError, HttpHeadrace
from headrace.client import models as m

PASSWORD = "correct horse battery staple"  # noqa: S105 - of a service that lives for one campaign
NODES = {"left": "lab", "right": "archive"}
PEOPLE = {"ada": "requester", "ben": "requester", "pam": "policy_admin", "pia": "policy_admin"}
AWAY = frozenset(
    {"service_unreachable", "service_timeout", "shutting_down", "unexpected_answer", "unanswered", "no_leader"}
)
"""Codes of a call that a dead or dying service did not answer: nobody knows whether it was done."""
MANY = "1000000"
"""People here do in an hour what others do in a month: no limit on it is what is tried."""
ATTACH_LIMIT_S = 120.0
AGAIN_S = 0.05
"""How long somebody waits before a call is made again."""

T = TypeVar("T")
P = ParamSpec("P")


@dataclass(frozen=True)
class Back:
    """How long after a restarted service was ready its nodes were attached again, and how busy the host was."""

    seconds: float
    load: float


@dataclass
class House:
    """The service `service`, the nodes `left` (endpoint `lab`) and `right` (endpoint `archive`), and their folders."""

    stage: Stage
    people: Mapping[str, str] = field(default_factory=lambda: dict(PEOPLE))
    """Who is invited, beside `admin`, and each one's role."""
    database: str = ""
    """The URL of its PostgreSQL database; empty: SQLite."""
    front: Front | None = None
    """What is in front of several processes of the service."""
    url: str = ""
    up: asyncio.Event = field(default_factory=asyncio.Event)
    """Set while the service runs; of several processes, always."""
    taken_over_s: list[float] = field(default_factory=list)
    """For each kill of the process that led: how long after it both nodes were attached to the next one."""
    repeated: Counter[int] = field(default_factory=Counter)
    """How often each of the calls was made again that were not answered at once."""
    whole: asyncio.Event = field(default_factory=asyncio.Event)
    """Set while both nodes are attached, too."""
    back: list[Back] = field(default_factory=list)
    """For each restart of the service alone."""
    secrets: dict[str, str] = field(default_factory=dict)

    @property
    def lab(self) -> Path:
        return self.stage.folder / "lab"

    @property
    def archive(self) -> Path:
        return self.stage.folder / "archive"

    async def open(self) -> None:
        """Start everything for the first time: people sign in, nodes join."""
        if self.front is None:
            self.url = str((await asyncio.to_thread(self.start, "service"))["url"])
        else:
            self.url = self.front.url
            for name in self.front.behind:
                await asyncio.to_thread(self.start, name)
        written = self.stage.folder / "service" / "bootstrap-link"
        link = await asyncio.to_thread(written.read_text, encoding="utf-8")
        await self._accept("admin", link.strip())
        async with self.person("admin") as admin:
            for name, role in self.people.items():
                invited = await admin.invite(m.InvitationRequest(name=name, roles=[role], password=PASSWORD))
                await self._accept(name, invited.link)
            for node, root in NODES.items():
                folder = self.stage.folder / root
                folder.mkdir()
                token = (await admin.create_join_token(m.JoinTokenRequest(name=node, password=PASSWORD))).token
                words = ("join", token, "--name", node, "--root", f"{root}={folder}:delete")
                await asyncio.to_thread(self.stage.node, node, *words)
        self.up.set()
        await self.attached()
        self.whole.set()

    async def _accept(self, name: str, link: str) -> None:
        async with HttpHeadrace(self.url) as stranger:
            accepted = m.AcceptInvitation(token=link.partition("#")[2], password=PASSWORD, name=name)
            self.secrets[name] = (await stranger.accept_invitation(accepted)).secret

    @asynccontextmanager
    async def person(self, name: str) -> AsyncIterator[HttpHeadrace]:
        async with HttpHeadrace(self.url, self.secrets[name]) as port:
            yield port

    def leader(self) -> str:
        """Return which process of the service leads."""
        if self.front is None:
            return "service"
        said = json.loads((self.stage.folder / "service" / "leader.json").read_text(encoding="utf-8"))
        return next(name for name in self.front.behind if self.stage.processes[name].pid == said["pid"])

    def start(self, name: str) -> Mapping[str, object]:
        """Start a process of the service, or a node, again."""
        if name in NODES:
            return self.stage.node(name, "run")
        settings = {"changes_per_minute_of_one": MANY} | ({"database": self.database} if self.database else {})
        if self.front is None:
            return self.stage.service(**settings)
        together = {"peer_listen": "127.0.0.1:0", "public_url": self.front.url, "trusted_proxies": "127.0.0.1"}
        return self.stage.process(name, self.front.behind[name], self.front.hub, **settings, **together)

    async def kill(self, names: tuple[str, ...]) -> None:
        """`kill -9` these processes at once, start them again, and wait until the nodes are attached."""
        self.whole.clear()
        alone = names == ("service",)
        led = self.front is not None and self.leader() in names
        if "service" in names:
            self.up.clear()
        for name in names:
            self.stage.kill(name)
        killed = time.monotonic()
        if led and not NODES.keys() & set(names):
            await self.attached()
            self.taken_over_s.append(time.monotonic() - killed)
        for name in names:
            await asyncio.to_thread(self.start, name)
            self.up.set()
        ready = time.monotonic()
        await self.attached()
        self.whole.set()
        if alone:
            self.back.append(Back(time.monotonic() - ready, os.getloadavg()[0]))

    async def attached(self) -> None:
        """Wait until both nodes are attached."""
        limit = time.monotonic() + ATTACH_LIMIT_S
        async with self.person("admin") as admin:
            while sum(node.state == "attached" for node in await self.insist(admin.nodes)) < len(NODES):
                if time.monotonic() > limit:
                    message = f"the nodes are not attached {ATTACH_LIMIT_S:.0f} s after the start"
                    raise TimeoutError(message)
                await asyncio.sleep(0.05)

    async def insist(self, call: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """Make a call again until a living service answers it: only for calls that may be made twice."""
        again = 0
        while True:
            await self.up.wait()
            try:
                done = await call(*args, **kwargs)
            except HeadraceError as error:
                if error.problem.code not in AWAY:
                    raise
                again += 1
                await asyncio.sleep(AGAIN_S)
            else:
                self.repeated[again] += again > 0
                return done
