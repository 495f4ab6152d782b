"""`headrace doctor` on a real host: in namespaces with faults planted in its kernel, its interface, its disks."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from demo.stage import HEADRACE

PLANTED = """
sysctl -q -w net.ipv4.tcp_rmem='4096 8192 65536' net.ipv4.tcp_wmem='4096 8192 65536'
sysctl -q -w net.ipv4.tcp_window_scaling=0 net.ipv4.tcp_moderate_rcvbuf=0 net.ipv4.tcp_sack=0
sysctl -q -w net.ipv4.tcp_slow_start_after_idle=1 net.ipv4.tcp_congestion_control=reno
ip link set dev out mtu 1200
"""
FOUND = {
    ("receive_buffer", "net.ipv4.tcp_rmem"),
    ("send_buffer", "net.ipv4.tcp_wmem"),
    ("window_scaling", "net.ipv4.tcp_window_scaling"),
    ("autotuning", "net.ipv4.tcp_moderate_rcvbuf"),
    ("sack", "net.ipv4.tcp_sack"),
    ("idle_restart", "net.ipv4.tcp_slow_start_after_idle"),
    ("congestion_control", "net.ipv4.tcp_congestion_control"),
    ("initial_window", "default"),
    ("mtu", "out"),
    ("offloads", "out"),
    ("cpu_limit", "CPUs of this process"),
    ("descriptors", "RLIMIT_NOFILE"),
}
OFFLOAD_OFF = """
import ctypes, fcntl, socket, struct
value = ctypes.create_string_buffer(struct.pack("2I", 0x1F, 0))
with socket.socket() as opened:
    fcntl.ioctl(opened, 0x8946, struct.pack("16sQ16x", b"out", ctypes.addressof(value)))
"""
CONNECTED = """
import os, socket, subprocess, sys
with socket.create_server(("10.99.0.1", 0)) as listener:
    # The other end is this host's neighbour in the other namespace.
    line = "import socket,sys; s = socket.create_connection(sys.argv[1:]); s.recv(1); s.send(b'x'); s.recv(1)"
    port = str(listener.getsockname()[1])
    with subprocess.Popen(["ip", "netns", "exec", sys.argv[1], sys.executable, "-c", line, "10.99.0.1", port]) as far:
        near, _ = listener.accept()
        near.sendall(b"x")
        near.recv(1)
        done = subprocess.run(sys.argv[2:], check=False)
        near.close()
sys.exit(done.returncode)
"""


@contextmanager
def joined() -> Iterator[tuple[str, str]]:
    """Two network namespaces joined by a pair of interfaces, `out` in the first."""
    near, far = (f"headrace-doctor-{os.getpid()}-{end}" for end in ("near", "far"))
    try:
        for name in (near, far):
            shell(f"ip netns add {name}; ip -n {name} link set lo up")
        shell(f"ip -n {near} link add out type veth peer name out netns {far}")
        for name, address in ((near, "10.99.0.1"), (far, "10.99.0.2")):
            shell(f"ip -n {name} addr add {address}/24 dev out; ip -n {name} link set out up")
        shell(f"ip -n {near} route add default via 10.99.0.2")
        yield near, far
    finally:
        for name in (near, far):
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True, timeout=20)


def shell(script: str) -> None:
    subprocess.run(["sh", "-ec", script], check=True, capture_output=True, timeout=20)


def doctor(*before: str | Path, flags: tuple[str | Path, ...]) -> tuple[int, dict[str, Any]]:
    command = [*before, HEADRACE, "doctor", "--json", *flags]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert done.stdout, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return done.returncode, document


def findings(document: dict[str, Any]) -> set[tuple[str, str]]:
    return {(one["check"], one["about"]) for one in document["findings"]}


@pytest.mark.timeout(120)
def test_faults_planted_in_a_host_are_found_and_gone_once_the_remedies_are_applied() -> None:
    flags = ("--rate", "100Gb/s", "--rtt", "40")
    with joined() as (near, _):
        inside = ("ip", "netns", "exec", near)
        subprocess.run([*inside, "sh", "-ec", PLANTED], check=True, timeout=20)
        subprocess.run([*inside, sys.executable, "-c", OFFLOAD_OFF], check=True, timeout=20)
        code, before = doctor(*inside, "prlimit", "--nofile=1000:1000", flags=flags)
        assert code == 1
        assert FOUND - findings(before) == set()

        own = {"net.ipv4", "net.core.rmem_max", "net.core.wmem_max"}
        remedies = [
            line
            for one in before["findings"]
            for line in one["remedy"]
            if line.startswith("ip ") or any(line.startswith(f"sysctl -w {name}") for name in own)
        ]
        for line in remedies:
            if "tcp_mem" not in line:  # the whole host's
                subprocess.run([*inside, "sh", "-ec", line], check=True, timeout=20, capture_output=True)
        _, after = doctor(*inside, flags=flags)
        mended = {"receive_buffer", "send_buffer", "window_scaling", "autotuning", "sack"}
        mended |= {"idle_restart", "congestion_control", "initial_window"}
        assert {check for check, _ in findings(after)} & mended == set()


@pytest.mark.timeout(120)
def test_faults_of_a_folder_are_found_and_a_trial_leaves_nothing_behind(tmp_path: Path) -> None:
    small, full = tmp_path / "few inodes", tmp_path / "nearly full"
    small.mkdir()
    full.mkdir()
    script = (
        'mount -t tmpfs -o size=600m,nr_inodes=600 none "$1"; mount -t tmpfs -o size=100m none "$2";'
        'head -c 97M /dev/zero > "$2/taken"; small="$1"; shift 2; code=0; "$@" || code=$?;'
        'test -z "$(ls -A "$small")" || exit 99; exit $code'
    )
    inside = ("unshare", "--mount", "sh", "-ec", script, "sh", small, full)
    flags = ("--probe", small, full, "--rate", "900Gb/s", "--rtt", "0.1")
    code, document = doctor(*inside, flags=flags)
    assert code == 1
    assert {("inodes", str(small)), ("storage", str(small)), ("space", str(full))} <= findings(document)
    assert [one["probe"]["files_s"] > 0 for one in document["host"]["folders"][:1]] == [True]
    assert [one["what"] for one in document["host"]["unread"] if "trial" in one["what"]] == [f"trial of {full}"]


@pytest.mark.timeout(120)
def test_the_round_trip_is_that_of_the_open_connection() -> None:
    with joined() as (near, far):
        connected = ("ip", "netns", "exec", near, sys.executable, "-c", CONNECTED, far)
        _, document = doctor(*connected, flags=("--to", "10.99.0.2", "--rate", "10Gb/s"))
        assert document["path"]["origin"] == "rate as given, shortest round trip to 10.99.0.2"
        assert 0 < document["path"]["rtt_ms"] < 20
        assert document["host"]["route"]["interface"] == "out"


def test_a_host_that_has_no_address_is_a_usage_mistake() -> None:
    done = subprocess.run(
        [HEADRACE, "doctor", "--to", "no.such.host.invalid"], check=False, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 2
    assert "has no address" in done.stderr
