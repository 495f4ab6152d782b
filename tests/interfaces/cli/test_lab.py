"""`headrace lab` on this machine: hosts, the paths between them, and what is left when it ends."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from demo.stage import HEADRACE

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only the root account makes network namespaces")

SENDS = """
import socket, sys, time
with socket.create_server(("10.77.0.1", 5001)) as listener:
    print("ready", flush=True)
    other, _ = listener.accept()
    begin, count = time.monotonic(), 0
    while piece := other.recv(1 << 20):
        count += len(piece)
    print(count / (time.monotonic() - begin), flush=True)
"""
FILLS = """
import socket, sys, time
limit = time.monotonic() + float(sys.argv[1])
with socket.create_connection(("10.77.0.1", 5001)) as other:
    while time.monotonic() < limit:
        other.sendall(bytes(1 << 18))
"""
ECHOES = """
import socket, sys, time
trips = []
for _ in range(5):
    begin = time.monotonic()
    with socket.socket() as closed:
        closed.connect_ex((sys.argv[1], 9))
    trips.append(time.monotonic() - begin)
print(min(trips))
"""


@contextmanager
def lab(folder: Path, *hosts: str, name: str = "lab") -> Iterator[tuple[subprocess.Popen[str], dict[str, Any]]]:
    """Start a lab; end it when it is left, however it is left."""
    words: list[str | Path] = [
        HEADRACE,
        "lab",
        "start",
        "--folder",
        folder,
        "--lab",
        name,
        "--until-eof",
        "--json",
        *hosts,
    ]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        try:
            yield process, json.loads(process.stdout.readline())
        finally:
            process.stdin.close()
            process.wait(30)


def inside(folder: Path, host: str, *command: str | Path) -> list[str | Path]:
    return [HEADRACE, "lab", "run", "--folder", folder, host, "--", *command]


def said(words: list[str | Path], limit_s: float = 30) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True, timeout=limit_s).stdout.strip()


def trip_s(folder: Path, host: str, address: str) -> float:
    """Seconds from a packet that opens a connection to the answer that nobody listens there."""
    return float(said(inside(folder, host, sys.executable, "-c", ECHOES, address)))


def left_in(mark: str) -> list[int]:
    """Processes that carry the mark of this lab."""
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                variables = (process / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            if f"HEADRACE_LAB={mark}".encode() in variables:
                found.append(int(process.name))
    return found


def test_each_host_has_its_own_round_trip_and_two_add_up(tmp_path: Path) -> None:
    with lab(tmp_path, "here", "near:rtt=20ms", "far:rtt=100ms") as (_, state):
        assert [host["address"] for host in state["hosts"]] == ["10.77.0.1", "10.77.0.2", "10.77.0.3"]
        assert 0.020 <= trip_s(tmp_path, "here", "10.77.0.2") < 0.060
        assert 0.120 <= trip_s(tmp_path, "near", "10.77.0.3") < 0.160


@pytest.mark.parametrize("line", ["rate=80Mb/s,rtt=10ms", "rate=80Mb/s,rtt=10ms,loss=0.1%,queue=256KiB"])
def test_a_host_sends_at_the_rate_of_its_line_whatever_is_lost(tmp_path: Path, line: str) -> None:
    with (
        lab(tmp_path, "near", f"far:{line}"),
        subprocess.Popen(
            inside(tmp_path, "near", sys.executable, "-c", SENDS), stdout=subprocess.PIPE, text=True
        ) as listener,
    ):
        assert listener.stdout is not None
        assert listener.stdout.readline() == "ready\n"
        said(inside(tmp_path, "far", sys.executable, "-c", FILLS, "2"))
        rate = float(listener.stdout.readline())
        # Ten million bytes a second, headers included; slow start and losses take some of it.
        assert 4e6 < rate < 10e6


def test_what_runs_in_a_lab_ends_with_it(tmp_path: Path) -> None:
    with lab(tmp_path, "near", "far") as (_, state):
        sleeper = subprocess.Popen(inside(tmp_path, "far", "sleep", "600"))
        until(lambda: left_in(state["id"]) == [sleeper.pid])
        assert json.loads(said([HEADRACE, "lab", "list", "--folder", tmp_path, "--json"]))["labs"] == [state]
    assert sleeper.wait(5) == -signal.SIGTERM
    assert json.loads(said([HEADRACE, "lab", "list", "--folder", tmp_path, "--json"]))["labs"] == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("how", ["stop", "start"])
def test_what_a_killed_lab_leaves_is_ended_by_the_next_command(tmp_path: Path, how: str) -> None:
    with lab(tmp_path, "near", "far") as (process, state):
        sleeper = subprocess.Popen(inside(tmp_path, "near", "sleep", "600"))
        until(lambda: left_in(state["id"]) == [sleeper.pid])
        process.kill()
        process.wait(10)
        assert json.loads(said([HEADRACE, "lab", "list", "--folder", tmp_path, "--json"]))["labs"] == []
        if how == "stop":
            said([HEADRACE, "lab", "stop", "--folder", tmp_path])
            assert list(tmp_path.iterdir()) == []
        else:
            with lab(tmp_path, "near"):
                pass
        assert sleeper.wait(5) == -signal.SIGTERM


def test_a_lab_is_stopped_by_name_and_its_name_is_taken_once(tmp_path: Path) -> None:
    with lab(tmp_path, "near", name="one") as (process, _):
        second: list[str | Path] = [HEADRACE, "lab", "start", "--folder", tmp_path, "--lab", "one", "near"]
        refused = subprocess.run(second, check=False, capture_output=True, text=True, timeout=30)
        assert (refused.returncode, "lab `one` runs already" in refused.stderr) == (2, True)
        said([HEADRACE, "lab", "stop", "--folder", tmp_path, "--lab", "one"])
        assert process.wait(5) == 0
        nowhere: list[str | Path] = [HEADRACE, "lab", "run", "--folder", tmp_path, "--lab", "one", "near", "--", "true"]
        refused = subprocess.run(nowhere, check=False, capture_output=True, text=True, timeout=30)
        assert (refused.returncode, "no lab `one` runs here" in refused.stderr) == (2, True)


def test_a_machine_without_what_a_lab_needs_is_said_to_be(tmp_path: Path) -> None:
    words: list[str | Path] = [HEADRACE, "lab", "start", "--folder", tmp_path, "--json", "near"]
    # No `ip` in the PATH.
    done = subprocess.run(words, check=False, capture_output=True, text=True, timeout=30, env={"PATH": str(tmp_path)})
    assert done.returncode == 1
    assert json.loads(done.stdout)["code"] == "lab_failed"
    assert "iproute2" in done.stderr


def until(holds: Callable[[], bool]) -> None:
    limit = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < limit
        time.sleep(0.02)
