"""What is planted: one bottleneck, or two, with values drawn at random."""

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

ROOM_BPS: Final = 400_000_000
"""What the line carries where it is not the bottleneck: several times more than what is planted."""
LARGE, SMALL, DISK = "large", "small", "disk"
"""Folders of the source: large files in memory, many small ones, large ones on a device of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plant:
    """What differs from two hosts that have enough of everything."""

    name: str
    right: frozenset[str]
    """The verdicts that are right."""
    values: Mapping[str, float] = field(default_factory=dict)
    """What was drawn, for the record."""
    round_trip_ms: float = 20.0
    rate_bps: int = ROOM_BPS
    loss_percent: float = 0.0
    queue_bytes: int = 4 << 20
    folder: str = LARGE
    target: str = "memory"
    source_sysctls: Mapping[str, str] = field(default_factory=dict)
    destination_sysctls: Mapping[str, str] = field(default_factory=dict)
    read_bytes_s: int = 0
    """What the source's device gives; 0 for as much as it can."""
    write_bytes_s: int = 0
    source_cpus: float = 0.0
    """Processors that a node gets; 0 for all."""
    destination_cpus: float = 0.0
    destination_socket_bytes: int = 0
    """What all TCP sockets of the destination may hold; 0 for as much as they want."""
    streams: int = 0
    """Most data connections; 0 for the default."""
    ceiling_bps: int = 0
    freezes: bool = False
    """Whether the destination's file system stops answering while data moves."""
    shut: bool = False
    """Whether the transfer waits for hours that come later."""


Draw = random.Random


def _mixed(draw: Draw, low: float, high: float) -> float:
    """Any size between, each order of magnitude as likely as the next."""
    return math.exp(draw.uniform(math.log(low), math.log(high)))


def _plant(name: str, *right: str, **given: object) -> Plant:
    return Plant(name=name, right=frozenset(right or (name,)), **given)  # type: ignore[arg-type] # fields by name


def source_storage(draw: Draw, bps: float = 0) -> Plant:
    """Slow disk at the source."""
    rate = bps or _mixed(draw, 15e6, 80e6)
    return _plant("source_storage", folder=DISK, read_bytes_s=int(rate / 8), values={"bps": rate})


def destination_storage(draw: Draw, bps: float = 0) -> Plant:
    """Slow disk at the destination."""
    rate = bps or _mixed(draw, 15e6, 80e6)
    return _plant("destination_storage", target="disk", write_bytes_s=int(rate / 8), values={"bps": rate})


def receive_window(draw: Draw) -> Plant:
    """Small receive buffers over a long path."""
    size, rtt = int(_mixed(draw, 30_000, 120_000)), _mixed(draw, 40, 120)
    sysctls = {"net.ipv4.tcp_rmem": f"4096 {min(size, 131072)} {size}"}
    return _plant(
        "receive_window", round_trip_ms=rtt, destination_sysctls=sysctls, values={"tcp_rmem": size, "rtt_ms": rtt}
    )


def socket_memory(draw: Draw) -> Plant:
    """Let a control group hold less memory for the destination's sockets than a path takes, half for content."""
    rate, rtt = _mixed(draw, 15e6, 60e6), _mixed(draw, 40, 120)
    size = int(2 * rate / 8 * rtt / 1000)
    return _plant(
        "socket_memory",
        round_trip_ms=rtt,
        destination_socket_bytes=size,
        values={"bps": rate, "socket_bytes": size, "rtt_ms": rtt},
    )


def send_buffer(draw: Draw) -> Plant:
    """Small send buffers over a long path."""
    size, rtt = int(_mixed(draw, 30_000, 120_000)), _mixed(draw, 40, 120)
    sysctls = {"net.ipv4.tcp_wmem": f"4096 16384 {size}"}
    return _plant("send_buffer", round_trip_ms=rtt, source_sysctls=sysctls, values={"tcp_wmem": size, "rtt_ms": rtt})


def loss(draw: Draw) -> Plant:
    """Drop packets under a congestion control that takes it for congestion."""
    percent, rtt = _mixed(draw, 0.3, 2), _mixed(draw, 15, 60)
    return _plant(
        "loss",
        round_trip_ms=rtt,
        loss_percent=percent,
        source_sysctls=CUBIC,
        values={"loss_percent": percent, "rtt_ms": rtt},
    )


def path(draw: Draw, bps: float = 0) -> Plant:
    """Carry less than both ends could, with a queue of one to three round trips."""
    rate, rtt = bps or _mixed(draw, 15e6, 80e6), _mixed(draw, 8, 60)
    queue = int(rate / 8 * rtt / 1000 * draw.uniform(1, 3)) + 30_000
    sysctls = draw.choice((CUBIC, {}))
    return _plant(
        "path",
        rate_bps=int(rate),
        round_trip_ms=rtt,
        queue_bytes=queue,
        source_sysctls=sysctls,
        values={"bps": rate, "rtt_ms": rtt, "queue": queue, "cubic": float(sysctls is CUBIC)},
    )


def source_cpu(draw: Draw) -> Plant:
    """Give the source little processor time."""
    cpus = _mixed(draw, 0.004, 0.01)
    return _plant("source_cpu", source_cpus=cpus, values={"cpus": cpus})


def destination_cpu(draw: Draw) -> Plant:
    """Give the destination little processor time."""
    cpus = _mixed(draw, 0.004, 0.01)
    return _plant("destination_cpu", destination_cpus=cpus, values={"cpus": cpus})


def ceiling(draw: Draw, bps: float = 0) -> Plant:
    """Ask for a rate."""
    rate = bps or _mixed(draw, 10e6, 80e6)
    return _plant("ceiling", ceiling_bps=int(rate), values={"bps": rate})


def file_cost(draw: Draw) -> Plant:
    """Tiny files."""
    rtt = _mixed(draw, 1, 40)
    return _plant("file_cost", folder=SMALL, target="disk", round_trip_ms=rtt, values={"rtt_ms": rtt})


def few_streams(draw: Draw) -> Plant:
    """One stream on a long path that drops a packet now and then."""
    percent, rtt = _mixed(draw, 0.05, 0.3), _mixed(draw, 25, 80)
    return _plant(
        "few_streams",
        round_trip_ms=rtt,
        loss_percent=percent,
        streams=1,
        source_sysctls=CUBIC,
        values={"loss_percent": percent, "rtt_ms": rtt},
    )


def stalled(draw: Draw) -> Plant:
    """Let the storage stop answering."""
    rate = _mixed(draw, 30e6, 80e6)
    return _plant("stalled", target="disk", write_bytes_s=int(rate / 8), freezes=True, values={"bps_before": rate})


def hours(draw: Draw) -> Plant:
    """Hours that have not come yet."""
    del draw
    return _plant("hours", shut=True)


CUBIC: Final = {"net.ipv4.tcp_congestion_control": "cubic"}
SINGLE: Final[tuple[Callable[[Draw], Plant], ...]] = (
    source_storage,
    destination_storage,
    receive_window,
    send_buffer,
    loss,
    path,
    source_cpu,
    destination_cpu,
    ceiling,
    file_cost,
    few_streams,
    stalled,
    hours,
    socket_memory,
)
_RATED: Final = (source_storage, destination_storage, path, ceiling)
"""Bottlenecks whose rate is known: of two, the slower one is right."""
_OTHER: Final = (receive_window, send_buffer, loss, source_cpu, destination_cpu)
"""Of two of these either is right."""
_USUAL: Final = Plant(name="", right=frozenset())


def pair(draw: Draw) -> Plant:
    """Two bottlenecks. Of two with known rates, one is 1.6 to 4 times slower, and that is the right verdict."""
    if draw.random() < 0.6:  # noqa: PLR2004 - more often than not
        slow, fast = draw.sample(_RATED, 2)
        rate = _mixed(draw, 15e6, 60e6)
        tight, wide = slow(draw, bps=rate), fast(draw, bps=rate * draw.uniform(1.6, 4))
        return replace(_both(tight, wide), right=tight.right)
    one, other = draw.sample(_OTHER, 2)
    return _both(one(draw), other(draw))


def _both(one: Plant, other: Plant) -> Plant:
    changed = {
        name: getattr(other, name)
        for name in Plant.__dataclass_fields__
        if name not in {"name", "right", "values"} and getattr(other, name) != getattr(_USUAL, name)
    }
    for name in ("source_sysctls", "destination_sysctls"):
        changed[name] = {**getattr(one, name), **getattr(other, name)}
    if one.round_trip_ms != _USUAL.round_trip_ms:
        changed["round_trip_ms"] = one.round_trip_ms
    values = {f"{plant.name}.{key}": value for plant in (one, other) for key, value in plant.values.items()}
    return replace(one, name=f"{one.name}+{other.name}", right=one.right | other.right, values=values, **changed)


def drawn(seed: str, each: int, pairs: int, only: frozenset[str] = frozenset()) -> list[Plant]:
    """Draw each single bottleneck so often, and so many pairs."""
    draw = random.Random(seed)  # noqa: S311 - no secret
    plants = [plant(draw) for plant in SINGLE for _ in range(each)] + [pair(draw) for _ in range(pairs)]
    return [plant for plant in plants if not only or plant.name in only]
