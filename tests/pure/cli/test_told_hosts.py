"""The host of a node is judged by what the node says of it."""

from pathlib import Path

import pytest

from headrace.cli.doctor.findings import Check
from headrace.cli.doctor.host import Path as NetworkPath
from headrace.cli.doctor.read import Reader
from headrace.cli.doctor.rules import examined
from headrace.cli.doctor.sight import Told
from headrace.client import models as m

ROUTE = '[{"dst": "default", "gateway": "10.0.0.1", "dev": "out", "metrics": [{"initcwnd": 10}]}]'
LINKS = '[{"ifname": "lo", "mtu": 65536}, {"ifname": "out", "mtu": 1200, "stats64": {"rx": {"packets": 7}}}]'
QUEUES = '[{"kind": "tbf", "dev": "lo"}, {"kind": "fq", "dev": "out", "root": true}]'
OPEN = "0 0 10.0.0.2:50000 10.9.0.7:443\n\t cubic rtt:41.5/3 minrtt:40.25 pmtu:1200\n"
TOLD = m.NodeHost(
    files={
        "/proc/sys/net/ipv4/tcp_rmem": "4096\t8192\t65536\n",
        "/proc/sys/net/ipv4/tcp_sack": "0\n",
        "/proc/sys/fs/file-nr": "100\t0\t1000000\n",
        "/sys/devices/system/cpu/online": "0-3\n",
        "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave\n",
        "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor": "nothing\n",
        "/sys/devices/system/node/node0/cpulist": "0-1\n",
        "/sys/devices/system/node/node1/cpulist": "2-3\n",
        "/sys/class/net/out/device/numa_node": "1\n",
        "/proc/self/cgroup": "0::/a.slice/b.service\n",
        "/sys/fs/cgroup/a.slice/cpu.max": "50000 100000\n",
    },
    tools={
        "ip -j route show default": ROUTE,
        "ip -j -s link show": LINKS,
        "tc -j qdisc show": QUEUES,
        "ss -Htin state established": OPEN,
    },
    unread={"/proc/meminfo": "Permission denied (os error 13)"},
    page_bytes=4096,
    usable_processors=[0, 1],
    descriptors=m.Descriptors(soft=1024, hard=2048),
    roots=[m.HostRoot(name="raw", file_system="xfs", options=["ro"], free_bytes=1, total_bytes=100, inodes=0)],
)


def test_faults_of_a_nodes_host_are_found_from_what_it_says() -> None:
    reader = Reader(Told(TOLD))
    host = reader.host([Path("raw")], None)
    assert host.interface is not None
    assert (host.interface.mtu, host.interface.qdiscs, host.interface.received) == (1200, ("fq",), 7)
    found = {(one.check, one.about) for one in examined(host, NetworkPath(10**10, 40, 4, "given"))}
    assert {
        (Check.RECEIVE_BUFFER, "net.ipv4.tcp_rmem"),
        (Check.SACK, "net.ipv4.tcp_sack"),
        (Check.DESCRIPTORS, "RLIMIT_NOFILE"),
        (Check.MTU, "out"),
        (Check.SPACE, "raw"),
        (Check.MOUNT, "raw"),
    } <= found
    mounted = next(one for one in examined(host, None) if one.check is Check.MOUNT)
    assert "findmnt" in mounted.remedy[0], "the name of a root is no place to mount"
    assert {Check.GOVERNOR, Check.NUMA, Check.CPU_LIMIT} <= {check for check, _ in found}
    assert [(one.peer, one.rtt_ms, one.mtu) for one in reader.connections(None)] == [("10.9.0.7", 40.25, 1200)]


def test_what_a_node_does_not_tell_is_named_and_no_finding() -> None:
    gone = m.HostRoot(name="gone")
    told = TOLD.model_copy(update={"roots": [*TOLD.roots, gone]})
    host = Reader(Told(told)).host([Path("raw"), Path("elsewhere"), Path("gone")], None)
    why = {one.what: one.why for one in host.unread}
    assert why["meminfo"] == "Permission denied (os error 13)"
    assert why["elsewhere"] == "the node exports no such root"
    assert why["gone"] == "the node can't look at its file system"
    assert {why[one] for one in ("clock", "rings of out", "offloads of out")} == {
        "the node is of a release that does not tell it: run `headrace doctor` on its host"
    }
    checks = {one.check for one in examined(host, None)}
    assert not checks & {Check.MEMORY, Check.CLOCK, Check.RING_BUFFER, Check.OFFLOADS}


def test_what_only_system_calls_tell_a_node_makes_and_its_faults_are_found() -> None:
    link = m.HostInterface(card=True, rx_ring=256, max_rx_ring=4096, offloads_off=["tso", "gro"])
    told = TOLD.model_copy(update={"interfaces": {"out": link}, "clock_synchronised": False})
    host = Reader(Told(told)).host([], None)
    found = {one.check: one for one in examined(host, NetworkPath(10**10, 40, 4, "given"))}
    assert "tso, gro are off" in found[Check.OFFLOADS].found
    assert "256 packets and could hold 4096" in found[Check.RING_BUFFER].found
    assert Check.CLOCK in found
    assert {"clock", "rings of out", "offloads of out"}.isdisjoint(one.what for one in host.unread)


def test_what_the_kernel_did_not_answer_a_node_is_said_with_why_and_is_no_finding() -> None:
    refused = {"rings of out": "Operation not supported (os error 95)", "clock": "Operation not permitted (os error 1)"}
    told = TOLD.model_copy(update={"interfaces": {"out": m.HostInterface(card=True)}, "unread": refused})
    host = Reader(Told(told)).host([], None)
    why = {one.what: one.why for one in host.unread}
    assert why["rings of out"] == "not readable here: Operation not supported (os error 95)"
    assert why["clock"] == "not readable here: Operation not permitted (os error 1)"
    assert why["offloads of out"] == "not readable here: the node does not say why"
    checks = {one.check for one in examined(host, NetworkPath(10**10, 40, 4, "given"))}
    assert not checks & {Check.CLOCK, Check.RING_BUFFER, Check.OFFLOADS}


def test_an_interface_that_a_node_does_not_name_is_said() -> None:
    told = TOLD.model_copy(update={"interfaces": {}, "clock_synchronised": True})
    why = {one.what: one.why for one in Reader(Told(told)).host([], None).unread}
    assert why["offloads of out"] == "the node names no such interface"
    assert "clock" not in why


@pytest.mark.parametrize("text", ["", "nonsense", "{}", "[1]", '[{"dst": 7}]', '[{"dst": "default"}]', "[[]]"])
def test_nonsense_of_a_nodes_programs_is_named_and_no_finding(text: str) -> None:
    nonsense = TOLD.model_copy(
        update={"tools": dict.fromkeys(TOLD.tools, text), "files": dict.fromkeys(TOLD.files, text)}
    )
    reader = Reader(Told(nonsense))
    host = reader.host([], None)
    reader.connections(None)
    examined(host, NetworkPath(10**10, 40, 4, "given"))
    assert host.unread
