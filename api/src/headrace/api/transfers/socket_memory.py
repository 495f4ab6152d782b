"""What kernels say of the memory of TCP sockets: whether it is scarce, what they counted, and which setting helps.

Counters of a kernel are those of its whole network namespace: other programs raise them as well. Alone they are no
verdict; together with shut windows of the attempt's own connections they are.
"""

from typing import Final

from headrace.api.transfers.samples import KERNEL, Between, Side, SocketLimits
from headrace.client import models as m
from headrace.client.text import byte_size, plural

SOMETIMES: Final = 0.05
"""Share of shut windows, or of the time that the sender waits, that bears out what the kernel says."""
_PRUNES_A_SECOND: Final = 2
"""From here on it is no single burst."""
_FIGURES: Final = 3
_PRUNED: Final = ("prune_called", "receive_pruned", "early_pruned", "receive_queue_drops")
_OF_THE_HOST: Final = ("memory_pressures", "aborts_on_memory")
_LIMITS_OF_GROUPS: Final = ("memory.kmem.tcp.limit_in_bytes", "memory.max")
"""What nodes name; a name that is none of these is not shown."""
_PAGES: Final = range(4096, (1 << 20) + 1)
_USUAL_PAGE: Final = 4096
_SIDES: Final[tuple[Side, ...]] = ("source", "destination")


def lacks_memory(seen: Between, side: Side) -> bool:
    """Say whether a kernel looked for socket memory, or threw packets away for lack of it, again and again."""
    return host_lacks_memory(seen, side) or seen.kernel(side, *_PRUNED) >= _PRUNES_A_SECOND * seen.seconds


def host_lacks_memory(seen: Between, side: Side) -> bool:
    """Say whether the memory of all sockets of a host became scarce, or is, or ended a connection."""
    sockets = seen.side(side).sockets
    return _pressure_begins(sockets) <= (sockets.tcp_held or 0) or seen.kernel(side, *_OF_THE_HOST) > 0


def said_by_kernels(seen: Between) -> list[m.Evidence]:
    """Return which counters rose, as /proc/net/netstat names them."""
    return [
        m.Evidence(name=f"{shown}, said the kernel of the {side}", value=count, unit="")
        for side in _SIDES
        for name, shown in KERNEL.items()
        if (count := seen.kernel(side, name))
    ]


def more_memory(seen: Between, side: Side, more: int) -> str:
    """Say which setting gives sockets so many bytes more: that of the host, or that of the node's control group."""
    sockets, streams = seen.side(side).sockets, len(seen.after.source.flows)
    needs = f"the path takes {byte_size(more)} in {plural(streams, 'stream')}"
    in_group = sockets.group_bytes is not None and sockets.group_setting in _LIMITS_OF_GROUPS
    if len(sockets.tcp_mem) == _FIGURES and (host_lacks_memory(seen, side) or not in_group):
        page = _page(sockets)
        now, then = (" ".join(str(pages + added) for pages in sockets.tcp_mem) for added in (0, -(-more // page)))
        held = f", and sockets of the host hold {sockets.tcp_held}" if sockets.tcp_held is not None else ""
        return (
            f"sysctl -w net.ipv4.tcp_mem='{then}'; it is '{now}' (pages of {page} bytes){held}; {needs}; or end what "
            "fills sockets"
        )
    if in_group and sockets.group_bytes is not None:
        # What is held rises and falls with each pressure: a moment at which it was little says nothing.
        full = sockets.group_held is not None and sockets.group_held >= sockets.group_bytes / 2
        held = f", of which {sockets.group_held} are held" if full else ""
        return (
            f"let `{sockets.group_setting}` of the node's control group be {sockets.group_bytes + more} bytes; it is "
            f"{sockets.group_bytes}{held}; {needs}"
        )
    return (
        f"give sockets {byte_size(more)} more: raise each figure of net.ipv4.tcp_mem by {more // _USUAL_PAGE} pages of "
        f"4 KiB, or the memory of its container by {more} bytes, or end what fills sockets; `headrace doctor` has the "
        "host's figures"
    )


def _pressure_begins(sockets: SocketLimits) -> float:
    """Return from how many pages on; endless where that is not told."""
    known = len(sockets.tcp_mem) == _FIGURES and sockets.tcp_mem[1] > 0
    return sockets.tcp_mem[1] if known else float("inf")


def _page(sockets: SocketLimits) -> int:
    told = sockets.page_bytes
    return told if told is not None and told in _PAGES else _USUAL_PAGE
