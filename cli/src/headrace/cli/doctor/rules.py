"""All rules: pure functions of a host and the path that it is judged for."""

from collections.abc import Callable, Iterator
from typing import Final

from headrace.cli.doctor import links, machine, sockets
from headrace.cli.doctor.findings import Finding, Weight
from headrace.cli.doctor.host import Host, Path

Rule = Callable[[Host, Path | None], Iterator[Finding]]

RULES: Final[tuple[Rule, ...]] = (
    sockets.buffers,
    sockets.asked_buffers,
    sockets.socket_memory,
    sockets.switches,
    sockets.congestion_control,
    sockets.initial_window,
    sockets.limits_of_the_kernel,
    links.packets,
    links.speed,
    links.queues,
    links.reception,
    machine.processors,
    machine.memory,
    machine.descriptors,
    machine.clock,
    machine.folders,
)


def examined(host: Host, path: Path | None) -> list[Finding]:
    """Return what should be otherwise, faults first; without a path, what depends on one is not judged."""
    found = [finding for rule in RULES for finding in rule(host, path)]
    return sorted(found, key=lambda finding: finding.weight is not Weight.FAULT)
