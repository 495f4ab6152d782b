"""The doctor's rules: a host that is set up well has no finding, and each planted fault is found by name."""

import pathlib
import re
from dataclasses import dataclass, replace
from typing import Any

import pytest
import typer
from tests.faults.run import REPOSITORY
from typer.testing import CliRunner

from headrace.cli.doctor.command import doctor
from headrace.cli.doctor.findings import Check, Finding, Weight
from headrace.cli.doctor.host import (
    Clock,
    Descriptors,
    Folder,
    Host,
    Interface,
    Memory,
    Path,
    Probe,
    Processors,
    Route,
    Sockets,
)
from headrace.cli.doctor.rules import examined

GIB = 2**30
PATH = Path(rate_bps=10**10, rtt_ms=50, streams=4, origin="as given")
GOOD = Host(
    sockets=Sockets(
        tcp_rmem=(4096, 131072, 2**27),
        tcp_wmem=(4096, 16384, 2**27),
        rmem_max=2**26,
        wmem_max=2**26,
        tcp_mem=(GIB, 2 * GIB, 3 * GIB),
        in_use=2**20,
        window_scaling=True,
        autotuning=True,
        sack=True,
        slow_start_after_idle=False,
        congestion_control="bbr",
        available_controls=("reno", "cubic", "bbr"),
        tracked=100,
        max_tracked=262144,
        backlog_drops=0,
    ),
    interface=Interface(
        name="eth0",
        mtu=9000,
        path_mtu=9000,
        speed_bps=10**11,
        duplex="full",
        qdiscs=("fq", "mq"),
        rx_ring=8192,
        max_rx_ring=8192,
        received=10**9,
        dropped=0,
        numa_node=0,
    ),
    route=Route(destination="default", gateway="192.0.2.1", interface="eth0", initial_window=64),
    processors=Processors(
        online=64,
        usable=64,
        governors=frozenset({"performance"}),
        flags=frozenset({"aes", "avx2", "vaes"}),
        hypervisor=False,
        stolen_share=0.0,
        usable_nodes=frozenset({0, 1}),
        numa_nodes=2,
    ),
    memory=Memory(available=200 * GIB, limit=64 * GIB, used=GIB),
    descriptors=Descriptors(soft=1024, hard=524288, open=5000, most=10**6),
    clock=Clock(synchronised=True, source="tsc"),
    folders=(
        Folder(
            path="/srv/raw",
            file_system="xfs",
            mount_point="/data",
            options=frozenset({"rw", "noatime"}),
            free=900 * GIB,
            size=1000 * GIB,
            free_inodes=10**8,
            inodes=10**8,
            probe=Probe(write_bytes_s=3e9, read_bytes_s=4e9, files_s=5000),
        ),
    ),
)


@dataclass(frozen=True)
class Planted:
    """One fault in an otherwise good host."""

    part: str
    changes: dict[str, Any]
    check: Check
    weight: Weight = Weight.FAULT
    remedy: str = ""
    path: Path | None = PATH


ADVICE = Weight.ADVICE
SMALL = (4096, 131072, 6 * 2**20)
PLANTED = [
    Planted("sockets", {"tcp_rmem": SMALL}, Check.RECEIVE_BUFFER, remedy="net.ipv4.tcp_rmem='4096 131072 134217728'"),
    Planted("sockets", {"tcp_rmem": (4096, 131072, 2**26)}, Check.RECEIVE_BUFFER, ADVICE, "134217728"),
    Planted("sockets", {"tcp_wmem": (4096, 16384, 2**22)}, Check.SEND_BUFFER, remedy="'4096 16384 134217728'"),
    Planted("sockets", {"rmem_max": 212992}, Check.ASKED_BUFFERS, ADVICE, "net.core.rmem_max=67108864"),
    Planted("sockets", {"wmem_max": 212992}, Check.ASKED_BUFFERS, ADVICE, "net.core.wmem_max=67108864"),
    Planted("sockets", {"tcp_mem": (2**24, 2**25, 2**26)}, Check.SOCKET_MEMORY, remedy="'45776 61035 91552'"),
    Planted("sockets", {"in_use": 2 * GIB}, Check.SOCKET_MEMORY, remedy="net.ipv4.tcp_mem=", path=None),
    Planted("sockets", {"window_scaling": False}, Check.WINDOW_SCALING, remedy="net.ipv4.tcp_window_scaling=1"),
    Planted("sockets", {"autotuning": False}, Check.AUTOTUNING, remedy="net.ipv4.tcp_moderate_rcvbuf=1"),
    Planted("sockets", {"sack": False}, Check.SACK, remedy="net.ipv4.tcp_sack=1", path=None),
    Planted("sockets", {"slow_start_after_idle": True}, Check.IDLE_RESTART, ADVICE, "after_idle=0"),
    Planted("sockets", {"congestion_control": "reno"}, Check.CONGESTION_CONTROL, remedy="control=bbr"),
    Planted("sockets", {"congestion_control": "vegas"}, Check.CONGESTION_CONTROL, ADVICE, "bbr", path=None),
    Planted("sockets", {"tracked": 260_000}, Check.TRACKED_CONNECTIONS, remedy="nf_conntrack_max=524288", path=None),
    Planted("sockets", {"backlog_drops": 12}, Check.BACKLOG, ADVICE, "netdev_max_backlog", path=None),
    Planted("route", {"initial_window": None}, Check.INITIAL_WINDOW, ADVICE, "default via 192.0.2.1 dev eth0 initcwnd"),
    Planted("interface", {"mtu": 1200, "path_mtu": None}, Check.MTU, remedy="ip link set dev eth0 mtu 1500"),
    Planted("interface", {"mtu": 1400, "path_mtu": None}, Check.MTU, ADVICE, "mtu 1500"),
    Planted("interface", {"mtu": 1500, "path_mtu": 1500}, Check.MTU, ADVICE, "mtu 9000"),
    Planted("interface", {"path_mtu": 1500}, Check.PATH_MTU, ADVICE, "net.ipv4.tcp_mtu_probing=1"),
    Planted("interface", {"duplex": "half"}, Check.DUPLEX, remedy="autoneg on", path=None),
    Planted("interface", {"speed_bps": 10**9}, Check.LINK_SPEED, remedy="cable"),
    Planted("interface", {"shaped_bps": 10**9}, Check.SHAPING, remedy="tc qdisc del dev eth0 root"),
    Planted("interface", {"qdiscs": ("netem",)}, Check.SHAPING, remedy="tc qdisc del dev eth0 root", path=None),
    Planted("interface", {"qdiscs": ("mq", "pfifo_fast")}, Check.QDISC, ADVICE, "dev eth0 root fq", path=None),
    Planted("interface", {"rx_ring": 512}, Check.RING_BUFFER, ADVICE, "ethtool -G eth0 rx 8192", path=None),
    Planted("interface", {"dropped": 10**6}, Check.DROPS, remedy="irqbalance", path=None),
    Planted("interface", {"offloads_off": ("tso", "gro")}, Check.OFFLOADS, remedy="tso on gro on", path=None),
    Planted("interface", {"numa_node": 2}, Check.NUMA, remedy="numactl --cpunodebind=2", path=None),
    Planted("processors", {"governors": frozenset({"powersave"})}, Check.GOVERNOR, ADVICE, "performance", path=None),
    Planted("processors", {"flags": frozenset({"sse2"})}, Check.CRYPTOGRAPHY, remedy="-cpu host", path=None),
    Planted("processors", {"stolen_share": 0.2}, Check.STOLEN_TIME, remedy="CPUs of its own", path=None),
    Planted("processors", {"quota": 0.5}, Check.CPU_LIMIT, remedy="raise it to 2 CPUs"),
    Planted("processors", {"usable": 0, "quota": 0.25}, Check.CPU_LIMIT, remedy="cpu.max"),
    Planted("processors", {"quota": 4.0, "throttled_share": 0.3}, Check.CPU_LIMIT, remedy="cpu.max", path=None),
    Planted("memory", {"limit": 2 * GIB, "used": 3 * GIB // 2}, Check.MEMORY, remedy="memory.max", path=None),
    Planted("memory", {"available": GIB // 2}, Check.MEMORY, remedy="give the host more", path=None),
    Planted("descriptors", {"hard": 1024}, Check.DESCRIPTORS, remedy="LimitNOFILE=65536", path=None),
    Planted("descriptors", {"hard": 20_000}, Check.DESCRIPTORS, ADVICE, "LimitNOFILE=65536", path=None),
    Planted("descriptors", {"open": 10**6 - 1}, Check.DESCRIPTORS, remedy="fs.file-max=2000000", path=None),
    Planted("clock", {"synchronised": False}, Check.CLOCK, ADVICE, "chronyd", path=None),
    Planted("clock", {"source": "hpet"}, Check.CLOCK_SOURCE, ADVICE, "clocksource", path=None),
    Planted("folders", {"free": 20 * GIB}, Check.SPACE, remedy="remove", path=None),
    Planted("folders", {"free_inodes": 5000}, Check.INODES, remedy="mkfs -N", path=None),
    Planted("folders", {"options": frozenset({"rw", "sync"})}, Check.MOUNT, remedy="remount,async /data", path=None),
    Planted("folders", {"options": frozenset({"ro"})}, Check.MOUNT, ADVICE, "remount,rw /data", path=None),
    Planted(
        "folders", {"probe": Probe(write_bytes_s=5e8, read_bytes_s=4e9, files_s=900)}, Check.STORAGE, remedy="faster"
    ),
    Planted(
        "folders", {"probe": Probe(write_bytes_s=3e9, read_bytes_s=4e8, files_s=900)}, Check.STORAGE, remedy="faster"
    ),
    Planted(
        "folders",
        {"probe": Probe(write_bytes_s=3e9, read_bytes_s=None, files_s=10)},
        Check.STORAGE,
        remedy="journal",
        path=None,
    ),
]


def with_fault(one: Planted) -> Host:
    """Return the good host with one thing changed."""
    if one.part == "folders":
        return replace(GOOD, folders=(replace(GOOD.folders[0], **one.changes),))
    return replace(GOOD, **{one.part: replace(getattr(GOOD, one.part), **one.changes)})


@pytest.mark.parametrize("path", [PATH, None], ids=["with a path", "without"])
def test_a_host_that_is_set_up_well_has_no_finding(path: Path | None) -> None:
    assert examined(GOOD, path) == []


@pytest.mark.parametrize("one", PLANTED, ids=lambda one: f"{one.check}: {', '.join(one.changes)}")
def test_a_planted_fault_is_found_alone_and_by_name(one: Planted) -> None:
    [found] = examined(with_fault(one), one.path)
    assert (found.check, found.weight) == (one.check, one.weight)
    assert one.remedy in " ".join(found.remedy)
    assert found.about
    assert not found.why.endswith(".")


def test_every_check_is_planted_and_described() -> None:
    page = (REPOSITORY / "docs" / "operations" / "doctor.md").read_text(encoding="utf-8")
    assert {one.check for one in PLANTED} == set(Check) == set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))


@pytest.mark.parametrize("path", [PATH, None], ids=["with a path", "without"])
def test_what_could_not_be_read_is_no_fault(path: Path | None) -> None:
    assert examined(Host(interface=Interface(name="eth0"), folders=(Folder(path="/data"),)), path) == []


def test_a_word_that_is_no_folder_is_wrong_usage_and_names_how_a_node_is_judged(tmp_path: pathlib.Path) -> None:
    """The fault-free end would be read as one of the node."""
    app = typer.Typer()
    app.command()(doctor)
    ended = CliRunner().invoke(app, ["dtn2"], env={"COLUMNS": "200"})
    assert ended.exit_code == 2, ended.output
    assert "`dtn2` is not a folder here; for a node: `headrace doctor --node dtn2`" in ended.output
    ended = CliRunner().invoke(app, [str(tmp_path / "gone")], env={"COLUMNS": "400"})
    assert (ended.exit_code, "is not a folder here" in ended.output, "--node" in ended.output) == (2, True, False)


def test_a_short_path_needs_no_large_buffers() -> None:
    usual = replace(GOOD.sockets, tcp_rmem=SMALL, tcp_wmem=(4096, 16384, 2**22), rmem_max=212992, wmem_max=212992)
    host = replace(GOOD, sockets=usual, route=Route(destination="default", interface="eth0"))
    assert examined(host, replace(PATH, rate_bps=10**9, rtt_ms=0.5)) == []


def test_faults_come_before_advice() -> None:
    sockets = replace(GOOD.sockets, tcp_rmem=SMALL, rmem_max=1000, congestion_control="reno")
    found = [one.weight for one in examined(replace(GOOD, sockets=sockets), PATH)]
    assert found == [Weight.FAULT, Weight.FAULT, Weight.ADVICE]


@pytest.mark.parametrize("one", PLANTED, ids=lambda one: f"{one.check}: {', '.join(one.changes)}")
def test_a_setting_in_a_remedy_is_one_command(one: Planted) -> None:
    findings: list[Finding] = examined(with_fault(one), one.path)
    commands = [line for found in findings for line in found.remedy if line.startswith(("sysctl", "ip ", "ethtool"))]
    assert [line for line in commands if "\n" in line or line.count("'") % 2] == []
