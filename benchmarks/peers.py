"""Who is measured: Headrace between two nodes, and the rsync daemon with and without syncing."""

import asyncio
import os
import resource
import shutil
import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from demo.site import Site
from demo.stage import DemoError, Stage

from headrace.client import HttpHeadrace, models

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
LIMIT_S = 300


@dataclass(frozen=True, slots=True)
class Run:
    """One measured run: wall seconds, and CPU seconds of every process that took part, both ends."""

    seconds: float
    cpu_s: float


def cpu_s_of(process: int) -> float:
    """Return the CPU seconds that a process has used, in user and system mode."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_S


class Peer(Protocol):
    """Something that copies a folder of the source root into a new folder of the destination root."""

    name: str

    def copy(self, folder: str, target: str) -> Run:
        """Copy `folder` to `target` (both relative to their roots; `target` does not exist yet)."""
        ...


class Headrace:
    """Two nodes and their service: encrypted, verified on both sides, durable before it is called done."""

    name = "headrace"

    def __init__(self, stage: Stage, site: Site, secret: str) -> None:
        """Measure the processes of `stage` while `site` works."""
        self._stage, self._site, self._secret = stage, site, secret

    def copy(self, folder: str, target: str) -> Run:
        """Plan first (not counted: a peer is told what to copy, too), then time submit to end."""
        return asyncio.run(self._copy(folder, target))

    async def _copy(self, folder: str, target: str) -> Run:
        source, destination = self._site.source.name, self._site.destination.name
        async with HttpHeadrace(self._site.service, self._secret) as headrace:
            intent = models.TransferIntent(
                action="copy", source=f"{source}:/{folder}", destination=f"{destination}:/{target}"
            )
            plan = await headrace.create_plan(models.PlanRequest(intent=intent))
            while plan.state is models.PlanState.SURVEYING:
                plan = await headrace.plan(plan.id, wait_s=30)
            if plan.digest is None or plan.state is not models.PlanState.READY:
                message = f"the plan is {plan.state}: {plan.summary}"
                raise DemoError(message)
            cpu, started = self._cpu_s(), time.monotonic()
            transfer = await headrace.submit(models.SubmitRequest(plan_digest=plan.digest))
            while transfer.ended is None and time.monotonic() < started + LIMIT_S:
                transfer = await headrace.transfer(transfer.id, wait_s=30)
            seconds = time.monotonic() - started
        if transfer.state is not models.TransferState.COMPLETE:
            message = f"the transfer is {transfer.state}: {transfer.summary}"
            raise DemoError(message)
        return Run(seconds, self._cpu_s() - cpu)

    def _cpu_s(self) -> float:
        return sum(cpu_s_of(process.pid) for process in self._stage.processes.values())


class RsyncDaemon:
    """A plain rsync daemon: not encrypted; durable only with `fsync`."""

    def __init__(self, site: Site, folder: Path, *, fsync: bool) -> None:
        """Write a configuration that exports the source root; each copy has its own daemon: its CPU counts."""
        self.name = "rsync daemon --fsync" if fsync else "rsync daemon"
        self._site, self._fsync = site, fsync
        self._config = folder / "rsyncd.conf"
        self._config.write_text(
            f"use chroot = no\nuid = root\n[source]\npath = {site.source}\nread only = yes\n", encoding="utf-8"
        )

    def copy(self, folder: str, target: str) -> Run:
        """Start a daemon, pull with the client, stop the daemon; only the pull is timed."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        program = shutil.which("rsync")
        if program is None:
            message = "rsync is not installed"
            raise DemoError(message)
        daemon = subprocess.Popen(
            [program, "--daemon", "--no-detach", f"--port={port}", "--address=127.0.0.1", f"--config={self._config}"]
        )
        try:
            _wait_for(port)
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            started = time.monotonic()
            options = ["--fsync"] if self._fsync else []
            subprocess.run(
                [
                    program,
                    "-a",
                    *options,
                    f"rsync://127.0.0.1:{port}/source/{folder}/",
                    f"{self._site.destination / target}/",
                ],
                check=True,
                timeout=LIMIT_S,
            )
            seconds = time.monotonic() - started
        finally:
            daemon.terminate()
            daemon.wait(10)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return Run(seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def _wait_for(port: int) -> None:
    limit = time.monotonic() + 10
    while time.monotonic() < limit:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
    message = f"nothing listens on port {port}"
    raise DemoError(message)
