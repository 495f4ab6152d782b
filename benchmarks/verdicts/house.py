"""A service and two nodes in hosts of a lab, and one transfer after another between them."""

import asyncio
import os
import re
import shlex
import shutil
import subprocess
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Final

from demo.stage import NODE_PROGRAM, DemoError
from tests.servers.site import Site, started_site

from benchmarks.lab import Host
from benchmarks.verdicts.hosts import Device, Group, device, group, run
from benchmarks.verdicts.plants import DISK, LARGE, SMALL, Plant
from headrace.client import models as m

SOURCE, DESTINATION = "left", "right"
PACKED: Final = "packed"
_ROOTS: Final = {SOURCE: "lab", DESTINATION: "archive"}
_MIB: Final = 1 << 20
_LARGE: Final = (6, 96 * _MIB)
_SMALL: Final = 40_000
_IMAGE_BYTES: Final = 1000 * _MIB
_LOOKS: Final = 8
_LOOKS_OF_A_STALL: Final = 16
_FROM_LOOK: Final = 3
_BEGINS_WITHIN_S: Final = 60
_ENDS_WITHIN_S: Final = 120
_SLOW_S: Final = 20
"""How long a disk stays slow for a transfer that is to end; a stop waits for what is being synced."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What the service said of one transfer."""

    live: m.Diagnosis
    """After some seconds."""
    after: m.Diagnosis
    """Once it had ended."""
    looks: tuple[str, ...]
    """The verdict of each second before."""
    bps: int
    """What arrived, from the third look to the last."""
    files_s: float


@dataclass
class House:
    """The running site."""

    folder: Path
    site: Site
    disks: Mapping[str, Device]
    groups: Mapping[str, Group]
    hosts: dict[str, Host] = field(default_factory=dict)
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    number: int = 0

    async def place(self, plant: Plant, hosts: Mapping[str, Host]) -> None:
        """Start the nodes in these hosts, with what is planted."""
        await self.leave()
        self.hosts = dict(hosts)
        self.disks[SOURCE].forget_cache()
        self.disks[SOURCE].limit("read", plant.read_bytes_s)
        self.disks[DESTINATION].limit("write", plant.write_bytes_s)
        for name, settings in ((SOURCE, plant.source_sysctls), (DESTINATION, plant.destination_sysctls)):
            for key, value in settings.items():
                run(*self.hosts[name].inside, "sysctl", "-qw", f"{key}={value}")
            self._set_streams(name, plant.streams)
            self._start(name, "run")
        await self._until_attached()
        # Only now: with little processor time they are slow to start.
        self.groups[SOURCE].cpus(plant.source_cpus)
        self.groups[DESTINATION].cpus(plant.destination_cpus)
        self.groups[DESTINATION].sockets(plant.destination_socket_bytes)

    async def leave(self) -> None:
        """End the nodes, and take back what was planted."""
        for group_ in self.groups.values():
            group_.cpus(0)
            group_.sockets(0)
        self.disks[SOURCE].limit("read", 0)
        self.disks[DESTINATION].limit("write", 0)
        for process in self.processes.values():
            process.terminate()
        for process in self.processes.values():
            await asyncio.to_thread(process.wait, 30)
        self.processes.clear()
        await self.site.until_nodes(lambda: self.site.use_cases.nodes.attached_count == 0)
        for target in (*self.site.archive.glob("run-*"), *self.disks[DESTINATION].folder.glob("run-*")):
            shutil.rmtree(target)

    async def join(self, hosts: Mapping[str, Host]) -> None:
        """Let both nodes join, once; afterwards they only run."""
        self.hosts = dict(hosts)
        for name, root in _ROOTS.items():
            token = (await self.site.use_cases.nodes.create_join_token(None, m.JoinTokenRequest(name=name))).token
            path = self.site.lab if name == SOURCE else self.site.archive
            self._start(name, "join", token, "--name", name, "--root", f"{root}={path}:write")
        await self._until_attached()
        await self.leave()

    async def move(self, plant: Plant) -> Seen:
        """Run one transfer until its verdict is known, and end it."""
        self.number += 1
        port = self.site.ada.port
        transfer = await self._submitted(plant)
        if plant.shut:
            found = await port.diagnose(transfer.id)
            await port.control(transfer.id, m.ControlRequest(action="cancel"))
            return Seen(found, found, (), 0, 0)
        limit = time.monotonic() + _BEGINS_WITHIN_S
        while not transfer.progress.bytes_received and transfer.ended is None and time.monotonic() < limit:
            await asyncio.sleep(0.1)
            transfer = await port.transfer(transfer.id)
        looks, live, first = [], await port.diagnose(transfer.id), transfer
        frozen, since = False, time.monotonic()
        try:
            for look in range(_LOOKS_OF_A_STALL if plant.freezes else _LOOKS):
                await asyncio.sleep(1)
                now = await port.transfer(transfer.id)
                if now.ended is not None:
                    break
                transfer, live = now, await port.diagnose(transfer.id)
                looks.append(live.limit)
                if look == _FROM_LOOK:
                    first, since = transfer, time.monotonic()
                    if plant.freezes:
                        run("fsfreeze", "--freeze", str(self.disks[DESTINATION].folder))
                        frozen = True
            seconds = max(0.1, time.monotonic() - since)
        finally:
            if frozen:
                run("fsfreeze", "--unfreeze", str(self.disks[DESTINATION].folder))
        if transfer.ended is None and (await port.transfer(transfer.id)).ended is None:
            await port.control(transfer.id, m.ControlRequest(action="cancel"))
        await self._until_ended(transfer.id)
        after = await port.diagnose(transfer.id)
        moved = transfer.progress.bytes_received - first.progress.bytes_received
        files = transfer.progress.files_done - first.progress.files_done
        return Seen(live, after, tuple(looks), int(moved * 8 / seconds), round(files / seconds, 1))

    async def _until_ended(self, transfer: str) -> None:
        """Wait until it is over: a slow disk first has to sync what memory took, and gets time for some of it."""
        limit, slow_until = time.monotonic() + _ENDS_WITHIN_S, time.monotonic() + _SLOW_S
        while (await self.site.ada.port.transfer(transfer, wait_s=5)).ended is None:
            if time.monotonic() > limit:
                message = f"{transfer} does not end"
                raise DemoError(message)
            if time.monotonic() > slow_until:
                self.disks[DESTINATION].limit("write", 0)

    async def _submitted(self, plant: Plant) -> m.Transfer:
        target = f"run-{self.number}" if plant.target == "memory" else f"disk/run-{self.number}"
        opens = self.site.clock() + timedelta(hours=2)
        plan = await self.site.ada.plan(
            f"lab:/{plant.folder}",
            f"archive:/{target}",
            rate_limit_bps=plant.ceiling_bps or None,
            window=(f"{opens:%H:%M}", f"{opens + timedelta(hours=1):%H:%M}") if plant.shut else None,
        )
        if plan.state is not m.PlanState.READY:
            message = f"the plan is {plan.state}: {plan.summary}"
            raise DemoError(message)
        return await self.site.ada.submit(plan)

    def _start(self, name: str, *words: str) -> None:
        host = self.hosts[name]
        command = [*self.groups[name].words, *host.inside, str(NODE_PROGRAM), words[0], "--allow-root"]
        command += ["--state", str(self._state(name)), *words[1:]]
        with (self.folder / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(command, stdout=log, stderr=log)

    async def _until_attached(self) -> None:
        try:
            await self.site.until_nodes(lambda: self.site.use_cases.nodes.attached_count == len(_ROOTS))
        except AssertionError as error:
            logs = "\n".join((self.folder / f"{name}.log").read_text(errors="replace")[-1500:] for name in _ROOTS)
            raise DemoError(logs) from error

    def _state(self, name: str) -> Path:
        return self.folder / f"state-{name}"

    def _set_streams(self, name: str, count: int) -> None:
        """Set how many data connections the node opens at most: what an operator writes into `node.toml`."""
        file = self._state(name) / "node.toml"
        kept = file.with_suffix(".kept")
        if not kept.exists():
            shutil.copy(file, kept)
        text = kept.read_text(encoding="utf-8")
        for key in ("near_streams", "far_streams") if count else ():
            text, replaced = re.subn(rf"(?m)^{key} = \d+$", f"{key} = {count}", text)
            if replaced != 1:
                message = f"node.toml says nothing of {key}"
                raise DemoError(message)
        file.write_text(text, encoding="utf-8")


@asynccontextmanager
async def opened(folder: Path, hub: Host, hosts: Mapping[str, Host]) -> AsyncIterator[House]:
    """Start the service in this process, which is in the hub's host, and let two nodes join."""
    with ExitStack() as stack:
        name = f"headrace-verdicts-{os.getpid()}"
        groups = {node: stack.enter_context(group(f"{name}-{node}")) for node in _ROOTS}
        async with started_site(folder, hub_listen=f"{hub.address}:0") as site:
            places = {SOURCE: site.lab / DISK, DESTINATION: site.archive / DISK}
            disks = {
                node: stack.enter_context(device(folder / f"{node}.img", _IMAGE_BYTES, place))
                for node, place in places.items()
            }
            _lay_out(site.lab)
            house = House(folder, site, disks, groups)
            try:
                await house.join(hosts)
                yield house
            finally:
                await house.leave()


def _lay_out(folder: Path) -> None:
    count, size = _LARGE
    for place in (LARGE, DISK):
        (folder / place).mkdir(exist_ok=True)
        for number in range(count):
            with (folder / place / f"{number:03}.bin").open("wb") as file:
                for _ in range(size // _MIB):
                    file.write(os.urandom(_MIB))
    (folder / DISK / "lost+found").rmdir()
    for number in range(_SMALL):
        part = folder / SMALL / f"{number // 1000:03}"
        if number % 1000 == 0:
            part.mkdir(parents=True)
        (part / f"{number:06}").write_bytes(os.urandom(500 + number * 37 % 7500))
    (folder / PACKED).mkdir()
    run("tar", "-C", str(folder), "-cf", str(folder / PACKED / "small.tar"), SMALL)
    run("sync", "--file-system", str(folder / DISK))


def sysctls_of(remedy: list[str]) -> list[list[str]]:
    """Return the commands `sysctl -w ...` that a remedy names, as words."""
    found = []
    for line in remedy:
        for piece in line.replace("`", "").split("; "):
            at = piece.find("sysctl -w ")
            if at >= 0:
                found.append(shlex.split(piece[at:].split(" and ")[0]))
    return found
