"""Rules about the interface that the path leaves by."""

from collections.abc import Iterator
from typing import Final

from headrace.cli.doctor.findings import Check, Finding, advice, fault
from headrace.cli.doctor.host import Host, Interface, Path
from headrace.client.text import bit_rate

_FAST_BPS: Final = 10**10
_LEAST_MTU: Final = 1280
_USUAL_MTU: Final = 1500
_JUMBO_MTU: Final = 9000
_SIMPLE_QUEUES: Final = frozenset({"pfifo_fast", "pfifo", "bfifo", "noqueue", "fifo"})
_MANY_DROPS: Final = 1e-5
"""Share of packets dropped from which a stream's rate suffers on long paths."""
_DELAYS: Final = frozenset({"netem"})


def packets(host: Host, path: Path | None) -> Iterator[Finding]:
    """Judge the size of packets."""
    link = host.interface
    if link is None or link.mtu is None:
        return
    set_mtu = f"ip link set dev {link.name} mtu"
    if link.mtu < _USUAL_MTU:
        said = f"packets hold {link.mtu} bytes"
        why = "each packet costs the same, and every network carries 1500; a tunnel may be the reason"
        make = fault if link.mtu < _LEAST_MTU else advice
        yield make(Check.MTU, link.name, said, why, f"{set_mtu} {_USUAL_MTU}")
    elif link.mtu < _JUMBO_MTU and _fast(link, path):
        said = f"packets hold {link.mtu} bytes on a link of {bit_rate(link.speed_bps or _rate(path))}"
        why = f"with {_JUMBO_MTU} there are six times fewer packets; only where every switch on the path carries them"
        yield advice(Check.MTU, link.name, said, why, f"{set_mtu} {_JUMBO_MTU}")
    if link.path_mtu is not None and link.path_mtu < min(link.mtu, _JUMBO_MTU) and link.mtu > _USUAL_MTU:
        said = f"the interface takes {link.mtu} bytes, and open connections found that the path carries {link.path_mtu}"
        why = "where routers do not tell so, connections stall as soon as they send a full packet"
        yield advice(Check.PATH_MTU, link.name, said, why, "sysctl -w net.ipv4.tcp_mtu_probing=1")


def speed(host: Host, path: Path | None) -> Iterator[Finding]:
    """Judge what the link can carry at all."""
    link = host.interface
    if link is None:
        return
    if link.duplex == "half":
        why = "it was not agreed with the switch; sending and receiving collide"
        remedy = f"ethtool -s {link.name} autoneg on"
        yield fault(Check.DUPLEX, link.name, "the link is half duplex", why, remedy)
    if path is not None and link.speed_bps is not None and link.speed_bps < path.rate_bps:
        said = f"the link carries {bit_rate(link.speed_bps)}, and the path is said to carry {bit_rate(path.rate_bps)}"
        why = "nothing on this host can make it faster than its link"
        yield fault(Check.LINK_SPEED, link.name, said, why, "look at the cable, the card and the port of the switch")
    if link.shaped_bps is not None and (path is None or link.shaped_bps < path.rate_bps):
        said = f"a queueing discipline lets {bit_rate(link.shaped_bps)} through"
        why = "all that leaves this interface shares it"
        remedy = f"tc qdisc show dev {link.name}; to lift it: tc qdisc del dev {link.name} root"
        yield fault(Check.SHAPING, link.name, said, why, remedy)


def queues(host: Host, path: Path | None) -> Iterator[Finding]:
    """Judge how packets wait."""
    link = host.interface
    if link is None:
        return
    if _DELAYS & set(link.qdiscs):
        why = "it delays, drops or reorders packets on purpose"
        remedy = f"tc qdisc del dev {link.name} root"
        yield fault(Check.SHAPING, link.name, "netem emulates another network here", why, remedy)
    simple = sorted(_SIMPLE_QUEUES & set(link.qdiscs))
    paced = host.sockets.congestion_control == "bbr"
    if simple and link.qdiscs != ("noqueue",) and (paced or _fast(link, path)):
        said = f"packets leave by {simple[0]}"
        why = "fq sends each stream at its own pace instead of in bursts, which small buffers of switches drop"
        now, always = f"tc qdisc replace dev {link.name} root fq", "sysctl -w net.core.default_qdisc=fq"
        yield advice(Check.QDISC, link.name, said, why, now, always)


def reception(host: Host, path: Path | None) -> Iterator[Finding]:
    """Judge what is lost between the card and the kernel, and what the card does for the CPU."""
    link = host.interface
    if link is None:
        return
    small = link.rx_ring is not None and link.max_rx_ring is not None and link.rx_ring < link.max_rx_ring
    lossy = bool(link.received and link.dropped and link.dropped > _MANY_DROPS * link.received)
    grow = f"ethtool -G {link.name} rx {link.max_rx_ring}"
    if lossy:
        said = f"{link.dropped:,} packets were lost at reception, {link.received:,} were received"
        why = "each drop halves the rate of a stream; the host takes packets slower than they come"
        mend = grow if small else "spread its interrupts over CPUs: `ethtool -L`, `irqbalance`"
        yield fault(Check.DROPS, link.name, said, why, mend)
    if small and (lossy or _fast(link, path)):
        said = f"the card's ring holds {link.rx_ring} packets and could hold {link.max_rx_ring}"
        yield advice(Check.RING_BUFFER, link.name, said, "a longer one outlasts bursts at this rate", grow)
    if link.offloads_off:
        said = f"{', '.join(link.offloads_off)} {'is' if len(link.offloads_off) == 1 else 'are'} off"
        why = "the CPU handles each packet instead of 64 KiB at once, which limits one stream to a few Gb/s"
        remedy = f"ethtool -K {link.name} {' '.join(f'{one} on' for one in link.offloads_off)}"
        yield fault(Check.OFFLOADS, link.name, said, why, remedy)


def _rate(path: Path | None) -> int:
    return path.rate_bps if path else 0


def _fast(link: Interface, path: Path | None) -> bool:
    return max(link.speed_bps or 0, _rate(path)) >= _FAST_BPS
