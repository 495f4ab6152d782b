"""The processes under test, and the people who work there: one service, two nodes, sessions over REST."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import ParamSpec, TypeVar

from demo.stage import Stage

from headrace.client import HeadraceError, HttpHeadrace
from headrace.client import models as m

PASSWORD = "correct horse battery staple"  # noqa: S105 - of a service that lives for one campaign
NODES = {"left": "lab", "right": "archive"}
AWAY = frozenset({"service_unreachable", "service_timeout", "shutting_down", "unexpected_answer"})
"""Codes of a call that a dead or dying service did not answer: nobody knows whether it was done."""
ATTACH_LIMIT_S = 120.0

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
    url: str = ""
    up: asyncio.Event = field(default_factory=asyncio.Event)
    """Set while the service runs."""
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
        ready = await asyncio.to_thread(self.stage.service)
        self.url = str(ready["url"])
        link = await asyncio.to_thread(Path(str(ready["bootstrap_file"])).read_text, encoding="utf-8")
        await self._accept("admin", link.strip())
        async with self.person("admin") as admin:
            for name, role in (
                ("ada", "requester"),
                ("ben", "requester"),
                ("pam", "policy_admin"),
                ("pia", "policy_admin"),
            ):
                invited = await admin.invite(m.InvitationRequest(name=name, roles=[role], password=PASSWORD))
                await self._accept(name, invited.link)
            for node, root in NODES.items():
                folder = self.stage.folder / root
                folder.mkdir()
                token = (await admin.create_join_token(m.JoinTokenRequest(name=node, password=PASSWORD))).token
                words = ("join", token, "--name", node, "--root", f"{root}={folder}:delete")
                await asyncio.to_thread(self.stage.node, node, *words)
        self.up.set()
        await self._attached()

    async def _accept(self, name: str, link: str) -> None:
        async with HttpHeadrace(self.url) as stranger:
            accepted = m.AcceptInvitation(token=link.partition("#")[2], password=PASSWORD, name=name)
            self.secrets[name] = (await stranger.accept_invitation(accepted)).secret

    @asynccontextmanager
    async def person(self, name: str) -> AsyncIterator[HttpHeadrace]:
        async with HttpHeadrace(self.url, self.secrets[name]) as port:
            yield port

    async def kill(self, names: tuple[str, ...]) -> None:
        """`kill -9` these processes at once, start them again, and wait until the nodes are attached."""
        self.whole.clear()
        if "service" in names:
            self.up.clear()
        for name in names:
            self.stage.kill(name)
        for name in names:
            if name == "service":
                await asyncio.to_thread(self.stage.service)
                self.up.set()
            else:
                await asyncio.to_thread(self.stage.node, name, "run")
        ready = time.monotonic()
        await self._attached()
        if names == ("service",):
            self.back.append(Back(time.monotonic() - ready, os.getloadavg()[0]))

    async def _attached(self) -> None:
        limit = time.monotonic() + ATTACH_LIMIT_S
        async with self.person("admin") as admin:
            while sum(node.state == "attached" for node in await admin.nodes()) < len(NODES):
                if time.monotonic() > limit:
                    message = f"the nodes are not attached {ATTACH_LIMIT_S:.0f} s after the start"
                    raise TimeoutError(message)
                await asyncio.sleep(0.05)
        self.whole.set()

    async def insist(self, call: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """Make a call again until a living service answers it: only for calls that may be made twice."""
        while True:
            await self.up.wait()
            try:
                return await call(*args, **kwargs)
            except HeadraceError as error:
                if error.problem.code not in AWAY:
                    raise
                await asyncio.sleep(0.05)
