"""Rules about TCP: what one stream, and all of them together, may have under way."""

from collections.abc import Iterator
from typing import Final

from headrace.cli.doctor.findings import Check, Finding, advice, fault
from headrace.cli.doctor.host import Host, Path, Triple
from headrace.client.text import bit_rate, byte_size, duration

MOST_BUFFER: Final = 2**31 - 1
"""The kernel takes no more for a buffer."""
_LONG_MS: Final = 10
"""A round trip from which the first window shows in the time of a transfer."""
_SHORT_WINDOW: Final = 2**16
_GOOD_WINDOW: Final = 64
_BURST: Final = 2**20
_NEARLY_FULL: Final = 0.9
_GOOD_CONTROLS: Final = ("bbr", "cubic", "htcp", "bbr3", "scalable", "illinois", "westwood")


def buffers(host: Host, path: Path | None) -> Iterator[Finding]:
    """Judge the buffers of one socket: half of a buffer carries data, the rest is the kernel's own."""
    if path is None:
        return
    pairs = (
        (Check.RECEIVE_BUFFER, "net.ipv4.tcp_rmem", host.sockets.tcp_rmem, "receive"),
        (Check.SEND_BUFFER, "net.ipv4.tcp_wmem", host.sockets.tcp_wmem, "send"),
    )
    for check, name, found, way in pairs:
        if found is None or found[2] // 2 >= path.bdp:
            continue
        carries = int(found[2] / 2 * 8 * 1000 / path.rtt_ms)
        said = (
            f"one stream can {way} {bit_rate(carries)} at most: its buffer grows to {byte_size(found[2])}, and "
            f"{_of(path)} has {byte_size(path.bdp)} under way"
        )
        remedy = _sysctl(name, _raised(found, 2 * path.bdp))
        if carries * path.streams < path.rate_bps:
            why = f"{path.streams} streams together reach {bit_rate(carries * path.streams)}"
            yield fault(check, name, said, why, remedy)
        else:
            why = f"{path.streams} streams fill the path together, one alone does not"
            yield advice(check, name, said, why, remedy)


def asked_buffers(host: Host, path: Path | None) -> Iterator[Finding]:
    """Judge what programs may ask for themselves; Headrace leaves it to the kernel."""
    if path is None:
        return
    small = [
        (name, found)
        for name, found in (("net.core.rmem_max", host.sockets.rmem_max), ("net.core.wmem_max", host.sockets.wmem_max))
        if found is not None and found < path.bdp
    ]
    for name, found in small:
        said = f"a program that sets its own buffers gets {byte_size(found)}; the path needs {byte_size(path.bdp)}"
        why = "Headrace lets the kernel grow them; GridFTP, iperf3 and others that set them are slower on this path"
        yield advice(Check.ASKED_BUFFERS, name, said, why, _sysctl(name, str(_rounded(path.bdp))))


def socket_memory(host: Host, path: Path | None) -> Iterator[Finding]:
    """Judge the memory of all sockets: under pressure the kernel shuts every window of the host."""
    limits, used = host.sockets.tcp_mem, host.sockets.in_use
    if limits is None:
        return
    name = "net.ipv4.tcp_mem"
    wanted = max(2 * limits[1], 4 * path.bdp if path else 0, 2 * (used or 0))
    remedy = _sysctl(
        name, " ".join(str(part // host.sockets.page_bytes) for part in (wanted * 3 // 4, wanted, wanted * 3 // 2))
    )
    why = "under TCP memory pressure the kernel shrinks the windows of all connections, and keeps them so"
    if used is not None and used >= limits[1]:
        said = f"sockets hold {byte_size(used)}, and pressure begins at {byte_size(limits[1])}"
        yield fault(Check.SOCKET_MEMORY, name, said, why, remedy)
    elif path is not None and limits[1] < 2 * path.bdp:
        said = f"pressure begins at {byte_size(limits[1])}, and {_of(path)} takes {byte_size(2 * path.bdp)} of buffers"
        yield fault(Check.SOCKET_MEMORY, name, said, why, remedy)


def switches(host: Host, path: Path | None) -> Iterator[Finding]:
    """Judge what is turned off, and should not be."""
    sockets = host.sockets
    if sockets.window_scaling is False:
        name = "net.ipv4.tcp_window_scaling"
        said = "windows end at 64 KiB"
        if path is not None:
            said += f": one stream carries {bit_rate(int(_SHORT_WINDOW * 8 * 1000 / path.rtt_ms))} on this path"
        yield fault(Check.WINDOW_SCALING, name, said, "connections never grow beyond it", _sysctl(name, "1"))
    if sockets.autotuning is False:
        name = "net.ipv4.tcp_moderate_rcvbuf"
        first = f"{byte_size(sockets.tcp_rmem[1])}, " if sockets.tcp_rmem else ""
        said = f"receive buffers stay at their first size ({first}the middle figure of tcp_rmem)"
        yield fault(Check.AUTOTUNING, name, said, "Headrace leaves their size to the kernel", _sysctl(name, "1"))
    if sockets.sack is False:
        name = "net.ipv4.tcp_sack"
        why = "after a loss the sender does not know what arrived, and sends a whole window again"
        yield fault(Check.SACK, name, "selective acknowledgements are off", why, _sysctl(name, "1"))
    if sockets.slow_start_after_idle and path is not None and path.rtt_ms >= _LONG_MS:
        name = "net.ipv4.tcp_slow_start_after_idle"
        why = f"a stream that waited for storage for a moment begins again with 10 packets a {path.rtt_ms:g} ms"
        yield advice(Check.IDLE_RESTART, name, "windows are forgotten when idle", why, _sysctl(name, "0"))


def congestion_control(host: Host, path: Path | None) -> Iterator[Finding]:
    """Judge how rates recover after a loss."""
    used, available = host.sockets.congestion_control, host.sockets.available_controls
    if used is None or used in _GOOD_CONTROLS:
        return
    name = "net.ipv4.tcp_congestion_control"
    better = next((one for one in ("bbr", "cubic") if one in available), "cubic")
    said = f"it is {used}"
    if path is not None:
        lost = path.bdp / 2 / 1448 * path.rtt_ms / 1000
        why = f"{used} adds one packet a round trip: after one loss a full path takes {duration(lost)} to be full again"
    else:
        why = f"{used} recovers slowly after a loss on long paths"
    first = () if better in available else (f"modprobe tcp_{better}",)
    remedy = (*first, _sysctl(name, better))
    yield (fault if path is not None and path.rtt_ms >= _LONG_MS else advice)(
        Check.CONGESTION_CONTROL, name, said, why, *remedy
    )


def initial_window(host: Host, path: Path | None) -> Iterator[Finding]:
    """Judge the first window on long paths."""
    route = host.route
    if path is None or route is None or path.rtt_ms < _LONG_MS or path.bdp < _BURST:
        return
    first = route.initial_window or 10
    if first >= _GOOD_WINDOW // 2:
        return
    said = f"a connection begins with {first} packets; this path takes {byte_size(path.bdp)}"
    via = f" via {route.gateway}" if route.gateway else ""
    command = f"ip route change {route.destination}{via} dev {route.interface} initcwnd {_GOOD_WINDOW} initrwnd "
    why = "both ends with a larger one reach full rate two to three round trips earlier"
    yield advice(Check.INITIAL_WINDOW, route.destination, said, why, f"{command}{_GOOD_WINDOW}")


def limits_of_the_kernel(host: Host, path: Path | None) -> Iterator[Finding]:  # noqa: ARG001 - as every rule
    """Judge tables and queues that run full."""
    tracked, most = host.sockets.tracked, host.sockets.max_tracked
    if tracked is not None and most and tracked >= _NEARLY_FULL * most:
        name = "net.netfilter.nf_conntrack_max"
        said = f"the firewall tracks {tracked:,} of at most {most:,} connections"
        why = "when its table is full, it drops new connections, and their nodes cannot be reached"
        yield fault(Check.TRACKED_CONNECTIONS, name, said, why, _sysctl(name, str(2 * most)))
    drops = host.sockets.backlog_drops
    if drops:
        name = "net.core.netdev_max_backlog"
        said = f"{drops:,} packets were dropped since boot before TCP saw them"
        why = "a CPU takes packets slower than the card gives them; each drop halves the rate of a stream"
        yield advice(Check.BACKLOG, name, said, why, _sysctl(name, "250000"))


def _of(path: Path) -> str:
    return f"a path of {bit_rate(path.rate_bps)} and {path.rtt_ms:g} ms"


def _sysctl(name: str, value: str) -> str:
    return f"sysctl -w {name}={value}" if " " not in value else f"sysctl -w {name}='{value}'"


def _raised(found: Triple, wanted: int) -> str:
    return f"{found[0]} {found[1]} {max(found[2], _rounded(wanted))}"


def _rounded(wanted: int) -> int:
    """Round up to a power of two that the kernel takes."""
    return min(MOST_BUFFER, 1 << max(0, wanted - 1).bit_length())
