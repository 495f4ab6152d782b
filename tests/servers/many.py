"""Several processes of `headrace serve` that are one site on one PostgreSQL database, and nodes of their own."""

import asyncio
import json
import select
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from demo.stage import HEADRACE, surroundings
from tests.servers import forked
from tests.servers.headrace import PASSWORD, READY_S
from tests.servers.ports import free_port

from headrace.client import HttpHeadrace
from headrace.client import models as m

HUB: Final = "hub.headrace.test"
PROGRAM: Final = (
    sys.executable,
    "-c",
    "import sys; from headrace.engine._native import main; sys.exit(main(sys.argv[1:]))",
)


@dataclass
class Process:
    """One process, at its own address."""

    url: str
    popen: subprocess.Popen[str]
    ready: dict[str, Any]

    def kill(self) -> None:
        """`kill -9`."""
        self.popen.kill()
        self.over()

    def end(self) -> int:
        """Ask it to end, and see it end."""
        self.popen.terminate()
        return self.over()

    def over(self, limit_s: float = 30) -> int:
        """Wait for its end."""
        code = self.popen.wait(limit_s)
        assert self.popen.stdout is not None
        self.popen.stdout.close()
        return code


@dataclass
class Many:
    """The site: processes by name, all at fixed addresses; nodes `left` (root `lab`) and `right` (root `archive`)."""

    folder: Path
    database: str
    settings: dict[str, str] = field(default_factory=dict)
    processes: dict[str, Process] = field(default_factory=dict)
    ports: dict[str, int] = field(default_factory=dict)
    hub_port: int = field(default_factory=free_port)
    secret: str = ""
    nodes: list[asyncio.subprocess.Process] = field(default_factory=list)

    def start(self, name: str, **settings: str) -> Process:
        """Start a process (again, at the same address) and wait until it answers."""
        port = self.ports.setdefault(name, free_port())
        own_host = f"127.0.0.{1 + list(self.ports).index(name)}"
        said = {
            "database": self.database, "listen": f"127.0.0.1:{port}", "peer_listen": "127.0.0.1:0",
            "hub_listen": f"{own_host}:{self.hub_port}", "hub_advertise": f"{HUB}:{self.hub_port}", "public_url": f"http://127.0.0.1:{next(iter(self.ports.values()))}",
        } | self.settings | settings  # fmt: skip
        kept = surroundings() | {f"HEADRACE_{key.upper()}": value for key, value in said.items()}
        command: list[str | Path] = [HEADRACE, "serve", "--data", self.folder / "data", "--allow-root", "--json"]
        with (self.folder / f"{name}.log").open("a") as log:
            popen = forked.start(command, stdout=subprocess.PIPE, stderr=log, text=True, env=kept)
        assert popen.stdout is not None
        process = Process(f"http://127.0.0.1:{port}", popen, {})
        self.processes[name] = process  # also one that never answers is ended with the site
        answers, _, _ = select.select([popen.stdout], [], [], 2 * READY_S)
        line = popen.stdout.readline() if answers else ""
        assert line, (self.folder / f"{name}.log").read_text(encoding="utf-8")
        process.ready |= json.loads(line)
        return process

    def roles(self) -> tuple[str, str]:
        """Return which process leads, and one that does not."""
        leader = json.loads((self.folder / "data" / "leader.json").read_text(encoding="utf-8"))
        of_pid = {process.popen.pid: name for name, process in self.processes.items() if process.popen.poll() is None}
        leads = of_pid.pop(leader["pid"])
        return leads, next(iter(of_pid.values()))

    def port(self, name: str, secret: str | None = None) -> HttpHeadrace:
        """The admin's port at a process."""
        return HttpHeadrace(self.processes[name].url, secret or self.secret)

    async def first_admin(self, name: str) -> None:
        """Accept the link of the first administrator."""
        link = await asyncio.to_thread((self.folder / "data" / "bootstrap-link").read_text, encoding="utf-8")
        accepted = m.AcceptInvitation(token=link.strip().partition("#")[2], password=PASSWORD, name="admin")
        async with HttpHeadrace(self.processes[name].url) as stranger:
            self.secret = (await stranger.accept_invitation(accepted)).secret

    async def start_nodes(self, name: str) -> None:
        """Let both nodes join by a process, and wait until they are attached.

        To them the hub is one name with an address of each process, as of hosts that are one site.
        """
        hosts = self.folder / "hosts"
        hosts.write_text("".join(f"127.0.0.{number} {HUB}\n" for number in (1, 2)), encoding="utf-8")
        within = (
            "unshare",
            "--mount",
            "--map-root-user",
            "sh",
            "-ec",
            f"mount --bind '{hosts}' /etc/hosts; exec \"$@\"",
        )
        async with self.port(name) as admin:
            for node, root in {"left": "lab", "right": "archive"}.items():
                (self.folder / root).mkdir()
                token = (await admin.create_join_token(m.JoinTokenRequest(name=node, password=PASSWORD))).token
                words = ("join", token, "--name", node, "--root", f"{root}={self.folder / root}:delete", "--allow-root")
                state = ("--state", self.folder / "state" / node)
                with (self.folder / f"{node}.log").open("a") as log:
                    started = await asyncio.create_subprocess_exec(
                        *within, "sh", *PROGRAM, *words, *state, stdout=log, stderr=log
                    )
                self.nodes.append(started)
        await self.attached(name)

    async def attached(self, name: str) -> None:
        """Wait until both nodes are attached, as a process says."""
        async with self.port(name) as admin, asyncio.timeout(READY_S):
            async for _ in admin.changes():
                if sum(node.state == "attached" for node in await admin.nodes()) == len(self.nodes):
                    return


@asynccontextmanager
async def many(folder: Path, database: str, **settings: str) -> AsyncIterator[Many]:
    """Give a site without processes; what runs of it is ended at the end."""
    site = Many(folder, database, settings)
    async with AsyncExitStack() as opened:
        try:
            yield site
        finally:
            for node in site.nodes:
                node.terminate()
                opened.push_async_callback(node.wait)
            for process in site.processes.values():
                if process.popen.poll() is None:
                    process.end()
