"""Look at a host: /proc, /sys, `ip`, `tc` and `ss`. Nothing is changed; what can't be read is named."""

import json
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
from headrace.cli.doctor.sight import Sight

T = TypeVar("T")

_SYSCTL: Final = Path("/proc/sys")
_CPUS: Final = Path("/sys/devices/system/cpu")
_NODES: Final = Path("/sys/devices/system/node")
_CGROUPS: Final = Path("/sys/fs/cgroup")
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

    def __init__(self, sight: Sight) -> None:
        """Begin with nothing unread."""
        self._sight = sight
        self.unread: list[Unread] = []

    def tried(self, what: str, look: Callable[[], T]) -> T | None:
        """Return what a look finds; what goes wrong is noted."""
        try:
            return look()
        except (OSError, ValueError, LookupError, TypeError, AttributeError, subprocess.SubprocessError) as error:
            why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            self.unread.append(Unread(what=what, why=why or type(error).__name__))
            return None

    def host(self, folders: list[Path], to: str | None) -> Host:
        """Look at everything; `to` is the address of the other end, when there is one."""
        route = self.tried("route", lambda: _route(self._sight, to))
        return Host(
            sockets=self._sockets(),
            interface=self.tried(f"interface {route.interface}", lambda: self._interface(route.interface))
            if route
            else None,
            route=route,
            processors=self.tried("processors", self._processors) or Processors(),
            memory=self._memory(),
            descriptors=self.tried("descriptors", self._descriptors) or Descriptors(),
            clock=Clock(
                synchronised=self.tried("clock", self._sight.clock_is_synchronised),
                source=self.tried("clocksource", lambda: _clock_source(self._sight)),
            ),
            folders=tuple(found for one in folders if (found := self._folder(one))),
            unread=tuple(self.unread),
        )

    def connections(self, to: str | None) -> list[Connection]:
        """Return open connections to other hosts, or to the one named."""
        found = self.tried("open connections", lambda: list(_connections(self._sight))) or []
        return [one for one in found if to is None or ip_address(one.peer) == ip_address(to)]

    def _text(self, name: str) -> str:
        return self._sight.text(_SYSCTL.joinpath(*name.split("."))).strip()

    def _sysctl(self, name: str) -> str | None:
        return self.tried(name, lambda: self._text(name))

    def _number(self, name: str) -> int | None:
        return self.tried(name, lambda: int(self._text(name)))

    def _triple(self, name: str, unit: int = 1) -> Triple | None:
        def read() -> Triple:
            least, middle, most = (int(part) * unit for part in self._text(name).split())
            return least, middle, most

        return self.tried(name, read)

    def _switch(self, name: str) -> bool | None:
        found = self._number(name)
        return None if found is None else found != 0

    def _sockets(self) -> Sockets:
        page = self._sight.page_bytes
        tracks = self._sight.exists(_SYSCTL / "net/netfilter/nf_conntrack_max")
        return Sockets(
            tcp_rmem=self._triple("net.ipv4.tcp_rmem"),
            tcp_wmem=self._triple("net.ipv4.tcp_wmem"),
            rmem_max=self._number("net.core.rmem_max"),
            wmem_max=self._number("net.core.wmem_max"),
            tcp_mem=self._triple("net.ipv4.tcp_mem", page),
            in_use=self.tried("sockstat", lambda: _socket_pages(self._sight) * page),
            page_bytes=page,
            window_scaling=self._switch("net.ipv4.tcp_window_scaling"),
            autotuning=self._switch("net.ipv4.tcp_moderate_rcvbuf"),
            sack=self._switch("net.ipv4.tcp_sack"),
            slow_start_after_idle=self._switch("net.ipv4.tcp_slow_start_after_idle"),
            congestion_control=self._sysctl("net.ipv4.tcp_congestion_control"),
            available_controls=tuple((self._sysctl("net.ipv4.tcp_available_congestion_control") or "").split()),
            tracked=self._number("net.netfilter.nf_conntrack_count") if tracks else None,
            max_tracked=self._number("net.netfilter.nf_conntrack_max") if tracks else None,
            backlog_drops=self.tried("softnet_stat", lambda: _backlog_drops(self._sight)),
        )

    def _interface(self, name: str) -> Interface:
        sight = self._sight
        links = self.tried(f"interface {name}", lambda: _tool(sight, "ip", "-s", "link", "show")) or []
        shown = next((one for one in links if one["ifname"] == name), {})
        folder = Path("/sys/class/net", name)
        physical = sight.exists(folder / "device")
        rings = self.tried(f"rings of {name}", lambda: sight.ring_sizes(name)) if physical else None
        offloads = self.tried(f"offloads of {name}", lambda: sight.offloads_off(name)) if name != "lo" else None
        queues = self.tried(f"queues of {name}", lambda: _tool(sight, "tc", "qdisc", "show")) or []
        qdiscs = [one for one in queues if one.get("dev") == name]
        received = shown.get("stats64", {}).get("rx", {})
        return Interface(
            name=name,
            mtu=shown.get("mtu"),
            speed_bps=_speed(sight, folder),
            duplex=_quiet(sight, folder / "duplex"),
            qdiscs=tuple(sorted({one["kind"] for one in qdiscs})),
            shaped_bps=_shaped(qdiscs),
            rx_ring=rings[0] if rings else None,
            max_rx_ring=rings[1] if rings else None,
            received=received.get("packets"),
            dropped=_lost(sight, folder / "statistics"),
            offloads_off=offloads or (),
            numa_node=int(_quiet(sight, folder / "device/numa_node") or -1),
        )

    def _processors(self) -> Processors:
        sight = self._sight
        flags = self.tried("cpuinfo", lambda: _flags(sight))
        usable = sight.usable_processors
        online = self.tried("online CPUs", lambda: len(_cpu_list(sight.text(_CPUS / "online").strip())))
        nodes = {
            int(node.name.removeprefix("node")): _cpu_list(_quiet(sight, node / "cpulist") or "")
            for node in sight.each(_NODES, "node")
        }
        governors = {_quiet(sight, one / "cpufreq/scaling_governor") for one in sight.each(_CPUS, "cpu")}
        return Processors(
            online=online,
            usable=len(usable),
            quota=self.tried("cgroup cpu", lambda: _quota(sight)),
            throttled_share=self.tried("cgroup cpu.stat", lambda: _throttled(sight)),
            governors=frozenset(one for one in governors if one),
            flags=flags or frozenset(),
            hypervisor="hypervisor" in flags if flags else None,
            stolen_share=self.tried("stat", lambda: _stolen(sight)),
            usable_nodes=frozenset(node for node, cpus in nodes.items() if cpus & usable),
            numa_nodes=len(nodes) or None,
        )

    def _memory(self) -> Memory:
        limits = self.tried("cgroup memory", lambda: list(_memory_limits(self._sight))) or []
        limit, used = min(limits, key=lambda one: one[0] - one[1], default=(None, None))
        return Memory(available=self.tried("meminfo", lambda: _available(self._sight)), limit=limit, used=used)

    def _descriptors(self) -> Descriptors:
        soft, hard = self._sight.descriptors
        files = self.tried("file-nr", lambda: self._sight.text(_SYSCTL / "fs/file-nr").split())
        return Descriptors(
            soft=soft,
            hard=hard,
            open=int(files[0]) if files else None,
            most=int(files[2]) if files else None,
        )

    def _folder(self, path: Path) -> Folder | None:
        return self.tried(str(path), lambda: self._sight.folder(path))


def with_path_mtu(host: Host, connections: list[Connection]) -> Host:
    """Add what open connections found out about the path."""
    found = min((one.mtu for one in connections if one.mtu), default=None)
    if host.interface is None or found is None:
        return host
    return replace(host, interface=replace(host.interface, path_mtu=found))


def address_of(name: str) -> str:
    """Return the address that a name stands for. Raises OSError."""
    return str(socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)[0][4][0])


def _tool(sight: Sight, program: str, *arguments: str) -> list[dict[str, Any]]:
    """Run a tool of iproute2 that prints JSON."""
    found = json.loads(sight.tool((program, "-j", *arguments)) or "[]")
    if not isinstance(found, list):
        message = f"{program} printed no list"
        raise ValueError(message)  # noqa: TRY004 - text from outside
    return found


def _route(sight: Sight, to: str | None) -> Route:
    """Return the route to an address, or the default one."""
    if to is None:
        routes = _tool(sight, "ip", "route", "show", "default")
    elif ip_address(to).is_loopback:
        return Route(destination="local", interface="lo")
    else:
        family = "-6" if ip_address(to).version == 6 else "-4"  # noqa: PLR2004 - IPv6
        routes = _tool(sight, "ip", family, "route", "show", "to", "match", to)
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


def _connections(sight: Sight) -> Iterator[Connection]:
    printed = sight.tool(("ss", "-Htin", "state", "established"))
    peer = ""
    for line in printed.splitlines():
        if not line[:1].isspace():
            peer = line.split()[3].rpartition(":")[0].strip("[]").partition("%")[0].removeprefix("::ffff:")
            continue
        facts = dict(part.split(":", 1) for part in line.split() if ":" in part)
        if "minrtt" in facts and not ip_address(peer).is_loopback:
            yield Connection(peer, float(facts["minrtt"]), int(facts["pmtu"]) if "pmtu" in facts else None)


def _socket_pages(sight: Sight) -> int:
    for line in sight.text(Path("/proc/net/sockstat")).splitlines():
        if line.startswith("TCP:"):
            return int(line.split()[line.split().index("mem") + 1])
    message = "it does not speak of TCP"
    raise ValueError(message)


def _backlog_drops(sight: Sight) -> int:
    lines = sight.text(Path("/proc/net/softnet_stat")).splitlines()
    return sum(int(line.split()[1], 16) for line in lines)


def _speed(sight: Sight, folder: Path) -> int | None:
    found = int(_quiet(sight, folder / "speed") or -1)
    return found * 10**6 if found > 0 else None


def _lost(sight: Sight, folder: Path) -> int | None:
    """Count what found no room; the kernel counts packets of protocols that nobody asked for as dropped, too."""
    found = [_quiet(sight, folder / name) for name in ("rx_missed_errors", "rx_over_errors", "rx_fifo_errors")]
    return sum(int(one) for one in found if one) if any(found) else None


def _shaped(qdiscs: list[dict[str, Any]]) -> int | None:
    """Return the lowest rate, in bits per second, that a queue at the root lets through."""
    rates = [
        8 * int(options["rate"]["rate"] if isinstance(options["rate"], dict) else options["rate"])
        for one in qdiscs
        if one.get("root") and "rate" in (options := one.get("options", {}))
    ]
    return min((rate for rate in rates if rate > 0), default=None)


def _clock_source(sight: Sight) -> str:
    folder = Path("/sys/devices/system/clocksource/clocksource0")
    return sight.text(folder / "current_clocksource").strip()


def _flags(sight: Sight) -> frozenset[str]:
    """Return the instruction sets that every CPU has in common with the first."""
    for line in sight.text(Path("/proc/cpuinfo")).splitlines():
        name, _, value = line.partition(":")
        if name.strip() in {"flags", "Features"}:
            return frozenset(value.split())
    message = "it names no instruction sets"
    raise ValueError(message)


def _stolen(sight: Sight) -> float:
    numbers = [int(part) for part in sight.text(Path("/proc/stat")).split("\n", 1)[0].split()[1:9]]
    return numbers[7] / max(1, sum(numbers))


def _available(sight: Sight) -> int:
    for line in sight.text(Path("/proc/meminfo")).splitlines():
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


def _groups(sight: Sight, controller: str) -> Iterator[Path]:
    """Return the folders of the control groups that this process is in, from its own up to the root."""
    for line in sight.text(Path("/proc/self/cgroup")).splitlines():
        number, names, path = line.split(":", 2)
        if number != "0" and controller not in names.split(","):
            continue
        base = _CGROUPS if number == "0" else _CGROUPS / controller
        inner = base.joinpath(path.lstrip("/"))
        for folder in (inner, *inner.parents):
            if folder.is_relative_to(base) and sight.exists(folder):
                yield folder


def _quota(sight: Sight) -> float | None:
    quotas = []
    for folder in _groups(sight, "cpu"):
        words = (_quiet(sight, folder / "cpu.max") or "max").split()
        if words[0] == "max":
            words = [
                _quiet(sight, folder / "cpu.cfs_quota_us") or "-1",
                _quiet(sight, folder / "cpu.cfs_period_us") or "100000",
            ]
        if int(words[0]) > 0:
            quotas.append(int(words[0]) / int(words[1]))
    return min(quotas, default=None)


def _throttled(sight: Sight) -> float | None:
    shares = []
    for folder in _groups(sight, "cpu"):
        stat = dict(line.split() for line in (_quiet(sight, folder / "cpu.stat") or "").splitlines())
        if int(stat.get("nr_periods", 0)) > 0:
            shares.append(int(stat.get("nr_throttled", 0)) / int(stat["nr_periods"]))
    return max(shares, default=None)


def _memory_limits(sight: Sight) -> Iterator[tuple[int, int]]:
    """Return limit and use of each control group with a limit; cached files, which the kernel drops, do not count."""
    for folder in _groups(sight, "memory"):
        limit = _quiet(sight, folder / "memory.max") or _quiet(sight, folder / "memory.limit_in_bytes") or "max"
        if limit == "max" or int(limit) >= _UNLIMITED:
            continue
        used = int(_quiet(sight, folder / "memory.current") or _quiet(sight, folder / "memory.usage_in_bytes") or 0)
        stat = dict(line.split() for line in (_quiet(sight, folder / "memory.stat") or "").splitlines())
        yield int(limit), max(0, used - int(stat.get("inactive_file", 0)))


def _quiet(sight: Sight, path: Path) -> str | None:
    """Read a file of /sys that not every host has."""
    try:
        return sight.text(path).strip()
    except OSError:
        return None
