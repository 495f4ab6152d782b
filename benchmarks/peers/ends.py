"""The two ends of a copy, and how a server at one and a client at the other are measured."""

import resource
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from demo.stage import DemoError

from benchmarks.cases import Case
from benchmarks.lab import Host
from benchmarks.measure import Run, Watch

DEFAULT_LIMIT_S = 120
"""Whoever takes longer is ended, and said to be."""


@dataclass(frozen=True, slots=True)
class Ends:
    """Where files are, where they go, and a folder for what programs need besides."""

    near: Host
    far: Host
    source: Path
    destination: Path
    work: Path
    limit_s: float = DEFAULT_LIMIT_S


class Peer(Protocol):
    """Something that copies a folder of the source into a new folder of the destination."""

    @property
    def name(self) -> str:
        """What it is called in tables."""
        ...

    @property
    def programs(self) -> Sequence[str]:
        """Programs that must be installed."""
        ...

    def takes(self, case: Case) -> bool:
        """Whether it does this kind of work at all."""
        ...

    def copy(self, case: Case, folder: str, target: str) -> Run:
        """Copy `folder` to `target` (both relative; `target` does not exist yet)."""
        ...


def pull(
    ends: Ends, server: Sequence[str], port: int, client: Sequence[str], environment: Mapping[str, str] | None = None
) -> Run:
    """Start a server at the far end, time a client at this one (the near end), stop the server."""
    with Watch(ends.near) as watch:
        with _served(ends, server, port, environment) as process:
            watch.far.append(process.pid)
            before = _children_cpu_s()
            run = timed(client, watch, ends.limit_s, environment)
            near_cpu_s = _children_cpu_s() - before
        far_cpu_s = _children_cpu_s() - before - near_cpu_s
    return Run(run, near_cpu_s, far_cpu_s, watch.near_peak_bytes, watch.far_peak_bytes, tuple(watch.gbit_per_s))


def timed(command: Sequence[str], watch: Watch, limit_s: float, environment: Mapping[str, str] | None = None) -> float:
    """Run a command to its end; seconds."""
    started = time.monotonic()
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, env=environment
    ) as process:
        watch.near.append(process.pid)
        try:
            _, said = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired as error:
            process.kill()
            message = f"it did not end within {limit_s:g} s"
            raise DemoError(message) from error
    seconds = time.monotonic() - started
    if process.returncode != 0:
        message = f"`{' '.join(command)}` ended with {process.returncode}: {said.decode(errors='replace')[-500:]}"
        raise DemoError(message)
    return seconds


def alone(command: Sequence[str], limit_s: float, environment: Mapping[str, str] | None = None) -> Run:
    """Time a command that needs no server."""
    before = _children_cpu_s()
    with Watch(None) as watch:
        seconds = timed(command, watch, limit_s, environment)
    return Run(seconds, _children_cpu_s() - before, near_peak_bytes=watch.near_peak_bytes)


def _children_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@contextmanager
def _served(
    ends: Ends, command: Sequence[str], port: int, environment: Mapping[str, str] | None
) -> Iterator[subprocess.Popen[bytes]]:
    log = ends.work / f"server-{port}.log"
    with log.open("wb") as output:
        server = subprocess.Popen([*ends.far.inside, *command], stdout=output, stderr=output, env=environment)
    try:
        limit = time.monotonic() + 10
        while True:
            # Looked up, not tried: iperf3 takes the first connection for a client.
            if ends.far.listens(port):
                break
            if time.monotonic() > limit or server.poll() is not None:
                message = f"`{' '.join(command)}` does not listen: {log.read_text(errors='replace')[-500:]}"
                raise DemoError(message)
            time.sleep(0.05)
        yield server
    finally:
        server.terminate()
        server.wait(10)
