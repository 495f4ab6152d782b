"""`headrace sweep`: how long a file of each size takes over paths of each length."""

import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final, Self

import typer

from headrace.engine.plots import Panel, drawn, size

_NATIVE: Final = "import sys; from headrace.engine._native import main; sys.exit(main(sys.argv[1:]))"
_NODE: Final = (sys.executable, "-c", _NATIVE)
_FAR: Final = "10.77.0.2"
_PORT, _PLAIN_PORT = 8473, 8475
_PIECE_BYTES: Final = 1 << 20
_LIMIT_S: Final = 600
_SERVES: Final = """
import os, socket, sys
with socket.create_server((sys.argv[1], int(sys.argv[2]))) as listener:
    print(flush=True)
    while True:
        with listener.accept()[0] as other:
            name = other.recv(4096).decode()
            with open(os.path.join(sys.argv[3], name), "rb") as file:
                other.sendfile(file)
"""
_TAKES: Final = """
import socket, sys, time
begin, count = time.monotonic(), 0
with socket.create_connection((sys.argv[1], int(sys.argv[2]))) as other, open(sys.argv[4], "wb") as file:
    other.sendall(sys.argv[3].encode())
    while piece := other.recv(1 << 20):
        file.write(piece)
print(time.monotonic() - begin)
"""


@dataclass(frozen=True, slots=True)
class Point:
    """One size over one path: seconds of each run."""

    round_trip_ms: float
    size_bytes: int
    headrace_s: tuple[float, ...]
    """Encrypted, hashed on both sides, durable: from the start of the attempt to its signed end."""
    whole_s: tuple[float, ...]
    """The whole command `headrace cp`: start of the program, greeting, plan, attempt, receipt."""
    plain_s: tuple[float, ...]
    """One plain TCP connection that asks for the file and writes what comes: not encrypted, verified or durable."""


def sweep(  # noqa: PLR0913, PLR0917 - options of a command
    out: Annotated[Path, typer.Option(help="Folder for data (sweep.json) and plot (sweep.svg).")] = Path(),
    round_trips_ms: Annotated[
        list[float] | None, typer.Option("--rtt", help="Round trips in ms; again for more.")
    ] = None,
    least: Annotated[int, typer.Option(help="The smallest file, as a power of two.", min=0, max=40)] = 10,
    most: Annotated[int, typer.Option(help="The largest file, as a power of two.", min=0, max=40)] = 28,
    step: Annotated[int, typer.Option(help="Powers of two from one size to the next.", min=1)] = 1,
    runs: Annotated[int, typer.Option(help="Runs of each.", min=1)] = 3,
    folder: Annotated[Path, typer.Option(help="Where files are made and written.")] = Path("/dev/shm"),  # noqa: S108
    rate: Annotated[str, typer.Option(help="What the path carries, for example 1Gb/s.")] = "",
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Write the data to standard output, too.")] = False,
) -> None:
    """Copy files of 1 KiB and up over paths of several lengths, encrypted, and beside it over plain TCP; needs root."""
    trips = round_trips_ms or [0, 10, 50, 100]
    sizes = [1 << power for power in range(least, most + 1, step)]
    points = []
    for trip in trips:
        with (
            tempfile.TemporaryDirectory(prefix="headrace-sweep-", dir=folder) as name,
            _Path(Path(name), trip, rate) as path,
        ):
            for size_bytes in sizes:
                point = path.measure(size_bytes, runs)
                points.append(point)
                typer.echo(
                    err=as_json,
                    message=f"{trip:g} ms, {size(size_bytes)}: {statistics.median(point.headrace_s):.3f} s, "
                    f"plain TCP {statistics.median(point.plain_s):.3f} s",
                )
    out.mkdir(parents=True, exist_ok=True)
    machine = {
        "measured": f"{datetime.now(UTC):%Y-%m-%dT%H:%MZ}", "kernel": platform.release(), "cores": os.cpu_count(),
        "load": os.getloadavg()[1], "folder": str(folder), "rate": rate,
    }  # fmt: skip
    data = {"machine": machine, "points": [asdict(point) for point in points]}
    (out / "sweep.json").write_text(json.dumps(data) + "\n", encoding="utf-8")
    (out / "sweep.svg").write_text(plot(points), encoding="utf-8")
    if as_json:
        typer.echo(json.dumps(data))


def plot(points: Sequence[Point]) -> str:
    """Draw speed over size for each path, encrypted and plain."""
    lines: dict[str, list[tuple[float, float]]] = {}
    for point in points:
        for name, seconds in (("headrace", point.headrace_s), ("plain TCP", point.plain_s)):
            speed = point.size_bytes * 8 / statistics.median(seconds) / 1e9
            lines.setdefault(f"{name}, {point.round_trip_ms:g} ms", []).append((point.size_bytes, speed))
    return drawn([Panel("Gb/s of one file, encrypted and plain", lines, "size of the file", powers_of_two=True)])


class _Path:
    """Two hosts of a lab, with a node and a plain server at the far one."""

    def __init__(self, folder: Path, round_trip_ms: float, rate: str) -> None:
        self._folder, self._trip = folder, round_trip_ms
        self._rate = f",rate={rate}" if rate else ""
        self._lab = f"sweep-{os.getpid()}"
        self._started: list[subprocess.Popen[str]] = []
        self._environment = os.environ | {
            "XDG_CONFIG_HOME": str(folder / "config"), "XDG_STATE_HOME": str(folder / "own"), "HEADRACE_LOG": "error",
        }  # fmt: skip
        self._pin = ""

    def __enter__(self) -> Self:
        source = self._folder / "from"
        source.mkdir()
        self._start(
            *_NODE, "lab", "start", "--lab", self._lab, "--until-eof", "near", f"far:rtt={self._trip}ms{self._rate}"
        )
        mine = json.loads(self._run(*_NODE, "keygen", "--json"))["key"]
        listen = ("listen", "--root", f"sweep={source}", "--accept", mine, "--state", str(self._folder / "far"))
        root = ("--allow-root",) if os.geteuid() == 0 else ()
        ready = self._start(*self._inside("far"), *_NODE, *listen, *root, "--json")
        self._pin = json.loads(ready)["node"]
        self._start(*self._inside("far"), sys.executable, "-c", _SERVES, _FAR, str(_PLAIN_PORT), str(source))
        return self

    def __exit__(self, *_: object) -> None:
        lab, *others = self._started
        for process in others:
            process.terminate()
        for process in (*others, lab):
            if process.stdin is not None:
                process.stdin.close()
            if process.stdout is not None:
                process.stdout.close()
            process.wait(30)

    def measure(self, size_bytes: int, runs: int) -> Point:
        """Copy one file of this size so often, in turns with plain TCP, after one copy of each that is not counted."""
        name = f"{size_bytes}.bin"
        with (self._folder / "from" / name).open("wb") as file:
            for at in range(0, size_bytes, _PIECE_BYTES):
                file.write(os.urandom(min(_PIECE_BYTES, size_bytes - at)))
        ours, whole, plain = [], [], []
        for turn in range(runs + 1):
            target = self._folder / "to" / str(turn)
            target.mkdir(parents=True)
            begin = time.monotonic()
            place = f"node://{_FAR}:{_PORT}/sweep/{name}"
            near = (*self._inside("near"), *_NODE, "cp", "--pin", self._pin, "--json", place, f"{target}/{name}")
            said = json.loads(self._run(*near))
            command_s = time.monotonic() - begin
            takes = (sys.executable, "-c", _TAKES, _FAR, str(_PLAIN_PORT), name, str(target / "plain"))
            plain_s = float(self._run(*self._inside("near"), *takes))
            if turn:
                ours.append(said["seconds"])
                whole.append(command_s)
                plain.append(plain_s)
            shutil.rmtree(target)
        (self._folder / "from" / name).unlink()
        return Point(self._trip, size_bytes, tuple(ours), tuple(whole), tuple(plain))

    def _inside(self, host: str) -> tuple[str, ...]:
        return (*_NODE, "lab", "run", "--lab", self._lab, host, "--")

    def _run(self, *command: str) -> str:
        done = subprocess.run(  # noqa: S603 - our own programs
            command, check=False, capture_output=True, text=True, timeout=_LIMIT_S, env=self._environment
        )
        if done.returncode != 0:
            typer.echo(f"`{' '.join(command[3:])}` ended with {done.returncode}: {done.stderr.strip()}", err=True)
            raise typer.Exit(1)
        return done.stdout

    def _start(self, *command: str) -> str:
        """Start a program that says when it is ready; what it says."""
        process = subprocess.Popen(  # noqa: S603 - our own programs
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=self._environment
        )
        self._started.append(process)
        line = process.stdout.readline() if process.stdout is not None else ""
        if not line:
            self.__exit__()
            raise typer.Exit(process.wait(30) or 1)
        return line
