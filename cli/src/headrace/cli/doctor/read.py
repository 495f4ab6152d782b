"""Look at the host this runs on: /proc, /sys, `ip`, `tc` and `ss`. Nothing is changed; what can't be read is named."""

import json
import os
import resource
import socket
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final, TypeVar

from headrace.cli.doctor.host import (
    Clock,
    Descriptors,
    Folder,
    Host,
    Interface,
    Memory,
    Processors,
    Route,
    Sockets,
    Triple,
    Unread,
)
from headrace.cli.doctor.kernel import clock_is_synchronised, offloads_off, ring_sizes
from headrace.cli.doctor.storage import of_folder

T = TypeVar("T")

_SYSCTL: Final = Path("/proc/sys")
_CPUS: Final = Path("/sys/devices/system/cpu")
_NODES: Final = Path("/sys/devices/system/node")
_CGROUPS: Final = Path("/sys/fs/cgroup")
_TOOL_S: Final = 5
"""How long one look by `ip`, `tc` or `ss` may take."""
_MOST_CPUS: Final = 4096
_UNLIMITED: Final = 2**60
"""Control groups of version 1 say "no limit" by a number beyond all memory."""


@dataclass(frozen=True, slots=True)
class Connection:
    """An open TCP connection to another host."""

    peer: str
    rtt_ms: float
    mtu: int | None


class Reader:
    """Reads, and keeps what could not be read."""

    def __init__(self) -> None:
        """Begin with nothing unread."""
        self.unread: list[Unread] = []

    def tried(self, what: str, look: Callable[[], T]) -> T | None:
        """Return what a look finds; what goes wrong is noted."""
        try:
            return look()
        except (OSError, ValueError, KeyError, IndexError, TypeError, subprocess.SubprocessError) as error:
            why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            self.unread.append(Unread(what=what, why=why or type(error).__name__))
            return None

    def host(self, folders: list[Path], to: str | None) -> Host:
        """Look at everything; `to` is the address of the other end, when there is one."""
        route = self.tried("route", lambda: _route(to))
        return Host(
            sockets=self._sockets(),
            interface=self._interface(route.interface) if route else None,
            route=route,
            processors=self._processors(),
            memory=self._memory(),
            descriptors=self._descriptors(),
            clock=Clock(
                synchronised=self.tried("clock", clock_is_synchronised),
                source=self.tried("clocksource", _clock_source),
            ),
            folders=tuple(found for one in folders if (found := self._folder(one))),
            unread=tuple(self.unread),
        )

    def connections(self, to: str | None) -> list[Connection]:
        """Return open connections to other hosts, or to the one named."""
        found = self.tried("open connections", lambda: list(_connections())) or []
        return [one for one in found if to is None or ip_address(one.peer) == ip_address(to)]

    def _sysctl(self, name: str) -> str | None:
        return self.tried(name, lambda: _SYSCTL.joinpath(*name.split(".")).read_text(encoding="ascii").strip())

    def _number(self, name: str) -> int | None:
        found = self._sysctl(name)
        return int(found) if found is not None else None

    def _triple(self, name: str, unit: int = 1) -> Triple | None:
        found = self._sysctl(name)
        if found is None:
            return None
        least, middle, most = (int(part) * unit for part in found.split())
        return least, middle, most

    def _switch(self, name: str) -> bool | None:
        found = self._number(name)
        return None if found is None else found != 0

    def _sockets(self) -> Sockets:
        page = os.sysconf("SC_PAGESIZE")
        tracks = _SYSCTL.joinpath("net/netfilter/nf_conntrack_max").exists()
        return Sockets(
            tcp_rmem=self._triple("net.ipv4.tcp_rmem"),
            tcp_wmem=self._triple("net.ipv4.tcp_wmem"),
            rmem_max=self._number("net.core.rmem_max"),
            wmem_max=self._number("net.core.wmem_max"),
            tcp_mem=self._triple("net.ipv4.tcp_mem", page),
            in_use=self.tried("sockstat", lambda: _socket_pages() * page),
            page_bytes=page,
            window_scaling=self._switch("net.ipv4.tcp_window_scaling"),
            autotuning=self._switch("net.ipv4.tcp_moderate_rcvbuf"),
            sack=self._switch("net.ipv4.tcp_sack"),
            slow_start_after_idle=self._switch("net.ipv4.tcp_slow_start_after_idle"),
            congestion_control=self._sysctl("net.ipv4.tcp_congestion_control"),
            available_controls=tuple((self._sysctl("net.ipv4.tcp_available_congestion_control") or "").split()),
            tracked=self._number("net.netfilter.nf_conntrack_count") if tracks else None,
            max_tracked=self._number("net.netfilter.nf_conntrack_max") if tracks else None,
            backlog_drops=self.tried("softnet_stat", _backlog_drops),
        )

    def _interface(self, name: str) -> Interface:
        shown = self.tried(f"interface {name}", lambda: _tool("ip", "-s", "link", "show", "dev", name)[0]) or {}
        folder = Path("/sys/class/net", name)
        physical = folder.joinpath("device").exists()
        rings = self.tried(f"rings of {name}", lambda: ring_sizes(name)) if physical else None
        qdiscs = self.tried(f"queues of {name}", lambda: _tool("tc", "qdisc", "show", "dev", name)) or []
        received = shown.get("stats64", {}).get("rx", {})
        return Interface(
            name=name,
            mtu=shown.get("mtu"),
            speed_bps=_speed(folder),
            duplex=_quiet(folder / "duplex"),
            qdiscs=tuple(sorted({one["kind"] for one in qdiscs})),
            shaped_bps=_shaped(qdiscs),
            rx_ring=rings[0] if rings else None,
            max_rx_ring=rings[1] if rings else None,
            received=received.get("packets"),
            dropped=_lost(folder / "statistics"),
            offloads_off=(self.tried(f"offloads of {name}", lambda: offloads_off(name)) or ()) if name != "lo" else (),
            numa_node=int(_quiet(folder / "device/numa_node") or -1),
        )

    def _processors(self) -> Processors:
        flags, stat = self.tried("cpuinfo", _flags), self.tried("stat", _stolen)
        usable = os.sched_getaffinity(0)
        nodes = {
            int(node.name.removeprefix("node")): _cpu_list(_quiet(node / "cpulist") or "")
            for node in sorted(_NODES.glob("node[0-9]*"))
        }
        governors = {_quiet(one) for one in _CPUS.glob("cpu[0-9]*/cpufreq/scaling_governor")}
        return Processors(
            online=os.cpu_count(),
            usable=len(usable),
            quota=self.tried("cgroup cpu", _quota),
            throttled_share=self.tried("cgroup cpu.stat", _throttled),
            governors=frozenset(one for one in governors if one),
            flags=flags or frozenset(),
            hypervisor="hypervisor" in flags if flags else None,
            stolen_share=stat,
            usable_nodes=frozenset(node for node, cpus in nodes.items() if cpus & usable),
            numa_nodes=len(nodes) or None,
        )

    def _memory(self) -> Memory:
        limits = self.tried("cgroup memory", lambda: list(_memory_limits())) or []
        limit, used = min(limits, key=lambda one: one[0] - one[1], default=(None, None))
        return Memory(available=self.tried("meminfo", _available), limit=limit, used=used)

    def _descriptors(self) -> Descriptors:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        files = self.tried("file-nr", lambda: (_SYSCTL / "fs/file-nr").read_text(encoding="ascii").split())
        return Descriptors(
            soft=soft if soft != resource.RLIM_INFINITY else None,
            hard=hard if hard != resource.RLIM_INFINITY else None,
            open=int(files[0]) if files else None,
            most=int(files[2]) if files else None,
        )

    def _folder(self, path: Path) -> Folder | None:
        return self.tried(str(path), lambda: of_folder(path))


def with_path_mtu(host: Host, connections: list[Connection]) -> Host:
    """Add what open connections found out about the path."""
    found = min((one.mtu for one in connections if one.mtu), default=None)
    if host.interface is None or found is None:
        return host
    return replace(host, interface=replace(host.interface, path_mtu=found))


def address_of(name: str) -> str:
    """Return the address that a name stands for. Raises OSError."""
    return str(socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)[0][4][0])


def _tool(program: str, *arguments: str) -> list[dict[str, Any]]:
    """Run a tool of iproute2 that prints JSON."""
    command = [program, "-j", *arguments]
    done = subprocess.run(command, capture_output=True, timeout=_TOOL_S, check=True)  # noqa: S603 - fixed programs
    found = json.loads(done.stdout or b"[]")
    if not isinstance(found, list):
        message = f"{program} printed no list"
        raise ValueError(message)  # noqa: TRY004 - text from outside
    return found


def _route(to: str | None) -> Route:
    """Return the route to an address, or the default one."""
    if to is None:
        routes = _tool("ip", "route", "show", "default")
    elif ip_address(to).is_loopback:
        return Route(destination="local", interface="lo")
    else:
        family = "-6" if ip_address(to).version == 6 else "-4"  # noqa: PLR2004 - IPv6
        routes = _tool("ip", family, "route", "show", "to", "match", to)
    if not routes:
        message = "there is no route"
        raise ValueError(message)
    best = max(routes, key=lambda one: int(one["dst"].partition("/")[2] or 0) if one["dst"] != "default" else -1)
    metrics = {key: value for part in best.get("metrics", ()) for key, value in part.items()}
    window = metrics.get("initcwnd")
    return Route(
        destination=best["dst"],
        gateway=best.get("gateway"),
        interface=best["dev"],
        initial_window=int(window) if window is not None else None,
    )


def _connections() -> Iterator[Connection]:
    command = ["ss", "-Htin", "state", "established"]
    done = subprocess.run(command, capture_output=True, timeout=_TOOL_S, check=True)  # noqa: S603 - a fixed program
    peer = ""
    for line in done.stdout.decode("ascii", "replace").splitlines():
        if not line[:1].isspace():
            peer = line.split()[3].rpartition(":")[0].strip("[]").partition("%")[0].removeprefix("::ffff:")
            continue
        facts = dict(part.split(":", 1) for part in line.split() if ":" in part)
        if "minrtt" in facts and not ip_address(peer).is_loopback:
            yield Connection(peer, float(facts["minrtt"]), int(facts["pmtu"]) if "pmtu" in facts else None)


def _socket_pages() -> int:
    for line in Path("/proc/net/sockstat").read_text(encoding="ascii").splitlines():
        if line.startswith("TCP:"):
            return int(line.split()[line.split().index("mem") + 1])
    message = "it does not speak of TCP"
    raise ValueError(message)


def _backlog_drops() -> int:
    lines = Path("/proc/net/softnet_stat").read_text(encoding="ascii").splitlines()
    return sum(int(line.split()[1], 16) for line in lines)


def _speed(folder: Path) -> int | None:
    found = int(_quiet(folder / "speed") or -1)
    return found * 10**6 if found > 0 else None


def _lost(folder: Path) -> int | None:
    """Count what found no room; the kernel counts packets of protocols that nobody asked for as dropped, too."""
    found = [_quiet(folder / name) for name in ("rx_missed_errors", "rx_over_errors", "rx_fifo_errors")]
    return sum(int(one) for one in found if one) if any(found) else None


def _shaped(qdiscs: list[dict[str, Any]]) -> int | None:
    """Return the lowest rate, in bits per second, that a queue at the root lets through."""
    rates = [
        8 * int(options["rate"]["rate"] if isinstance(options["rate"], dict) else options["rate"])
        for one in qdiscs
        if one.get("root") and "rate" in (options := one.get("options", {}))
    ]
    return min((rate for rate in rates if rate > 0), default=None)


def _clock_source() -> str:
    folder = Path("/sys/devices/system/clocksource/clocksource0")
    return folder.joinpath("current_clocksource").read_text(encoding="ascii").strip()


def _flags() -> frozenset[str]:
    """Return the instruction sets that every CPU has in common with the first."""
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
        name, _, value = line.partition(":")
        if name.strip() in {"flags", "Features"}:
            return frozenset(value.split())
    message = "it names no instruction sets"
    raise ValueError(message)


def _stolen() -> float:
    numbers = [int(part) for part in Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()[1:9]]
    return numbers[7] / max(1, sum(numbers))


def _available() -> int:
    for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    message = "it does not say what is available"
    raise ValueError(message)


def _cpu_list(text: str) -> set[int]:
    """Read `0-3,8`."""
    cpus: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        cpus.update(range(int(first), min(int(last or first), _MOST_CPUS) + 1))
    return cpus


def _groups(controller: str) -> Iterator[Path]:
    """Return the folders of the control groups that this process is in, from its own up to the root."""
    for line in Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines():
        number, names, path = line.split(":", 2)
        if number != "0" and controller not in names.split(","):
            continue
        base = _CGROUPS if number == "0" else _CGROUPS / controller
        inner = base.joinpath(path.lstrip("/"))
        for folder in (inner, *inner.parents):
            if folder.is_relative_to(base) and folder.is_dir():
                yield folder


def _quota() -> float | None:
    quotas = []
    for folder in _groups("cpu"):
        words = (_quiet(folder / "cpu.max") or "max").split()
        if words[0] == "max":
            words = [_quiet(folder / "cpu.cfs_quota_us") or "-1", _quiet(folder / "cpu.cfs_period_us") or "100000"]
        if int(words[0]) > 0:
            quotas.append(int(words[0]) / int(words[1]))
    return min(quotas, default=None)


def _throttled() -> float | None:
    shares = []
    for folder in _groups("cpu"):
        stat = dict(line.split() for line in (_quiet(folder / "cpu.stat") or "").splitlines())
        if int(stat.get("nr_periods", 0)) > 0:
            shares.append(int(stat.get("nr_throttled", 0)) / int(stat["nr_periods"]))
    return max(shares, default=None)


def _memory_limits() -> Iterator[tuple[int, int]]:
    """Return limit and use of each control group with a limit; cached files, which the kernel drops, do not count."""
    for folder in _groups("memory"):
        limit = _quiet(folder / "memory.max") or _quiet(folder / "memory.limit_in_bytes") or "max"
        if limit == "max" or int(limit) >= _UNLIMITED:
            continue
        used = int(_quiet(folder / "memory.current") or _quiet(folder / "memory.usage_in_bytes") or 0)
        stat = dict(line.split() for line in (_quiet(folder / "memory.stat") or "").splitlines())
        yield int(limit), max(0, used - int(stat.get("inactive_file", 0)))


def _quiet(path: Path) -> str | None:
    """Read a file of /sys that not every host has."""
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return None
