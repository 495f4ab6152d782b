"""One verdict on what limits a transfer: pure rules over what both nodes measured.

Stages wait for each other, so whoever is slow makes the others wait: storage is looked at before the network, because a
destination that writes slowly shuts its receive window, and a source that reads slowly leaves its connections idle.
The first rule that holds is the verdict; its evidence is what the nodes and their kernels said.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Final, Literal

from headrace.api.transfers.samples import Between
from headrace.client import models as m
from headrace.client.text import bit_rate, byte_size, duration, plural

Limit = m.Limit
Where = Literal["source", "destination", "network", "service", ""]

STALLED_S: Final = 10
"""How long nothing may arrive before a transfer counts as stalled."""
_LEAST_S: Final = 1.0
"""The shortest time that says something."""
_MOST: Final = 0.5
"""Share of time from which on a stage is the limit."""
_LIMITED: Final = 0.3
"""Share of a connection's busy time from which on a window or buffer is the limit."""
_LOSSY: Final = 5e-4
_LONG_MS: Final = 5.0
_SMALL_BYTES: Final = 256 * 1024
_MANY_FILES: Final = 20
_SHUT_PACKETS: Final = 8
"""A receive window of so few packets is what the kernel leaves under memory pressure."""
_SHUT_BYTES: Final = 64 * 1024
_FEW: Final = 4
_WIDER: Final = 4
"""How much more rate a larger window is made for."""


def diagnose(transfer: str, seen: Between, ceiling_bps: int | None = None, *, live: bool = True) -> m.Diagnosis:
    """Say what limits an attempt, from what came to it between two samples."""
    found = _verdict(seen, ceiling_bps)
    measured = max(0.0, seen.seconds)
    return found.model_copy(update={"transfer": transfer, "measured_s": round(measured, 1), "live": live})


def _verdict(seen: Between, ceiling_bps: int | None) -> m.Diagnosis:
    if seen.seconds < _LEAST_S:
        return _said(Limit.UNKNOWN, "", "too little was measured to say what limits it")
    if not seen.received and not seen.durable and not seen.files:
        return _idle(seen)
    if seen.stage_share("source", "ceiling") >= _MOST:
        return _ceiling(seen, ceiling_bps)
    return next((found for rule in _RULES if (found := rule(seen)) is not None), _tightest(seen))


def at_rest_diagnosis(transfer: str, state: str, reason: str, limit: Limit = Limit.UNKNOWN) -> m.Diagnosis:
    """Say why a transfer does not run, or that nothing was measured."""
    said = reason if limit is Limit.UNKNOWN else f"it is {state}: {reason}"
    return m.Diagnosis(transfer=transfer, limit=limit, where="service", said=said)


def stalled(found: m.Diagnosis, since: datetime, now: datetime) -> m.Diagnosis:
    """Say since when nothing moves, when that is long."""
    quiet_s = (now - since).total_seconds()
    if quiet_s < STALLED_S:
        return found
    evidence = [*found.evidence, m.Evidence(name="nothing moved for", value=round(quiet_s), unit="s")]
    said = f"nothing has moved for {duration(quiet_s)}: {found.said}"
    return found.model_copy(update={"limit": Limit.STALLED, "said": said, "since": since, "evidence": evidence})


def _idle(seen: Between) -> m.Diagnosis:
    """Name who is busy while nothing arrives: it is waited for."""
    busy: list[tuple[float, Where, str]] = [
        (seen.stage_share("source", "read") * seen.busy_s("source"), "source", "the source's storage does not answer"),
        (
            seen.stage_share("destination", "write", "commit") * seen.busy_s("destination"),
            "destination",
            "the destination's storage does not answer",
        ),
    ]
    spent, where, said = max(busy)
    if spent < _LEAST_S / 2:
        return _said(Limit.UNKNOWN, "network", "nothing arrives, and no storage is waited for: look at the network")
    return _said(Limit.STALLED, where, said, [_seconds("waited for storage", spent)], _LOOK_AT_STORAGE)


def _ceiling(seen: Between, ceiling_bps: int | None) -> m.Diagnosis:
    share = seen.stage_share("source", "ceiling")
    of = f" of {bit_rate(ceiling_bps)}" if ceiling_bps else ""
    evidence = [_share("source waits for the ceiling", share), _rate(seen)]
    remedy = "raise it with `headrace rate TRANSFER RATE`, up to what its plan allows; a new plan can allow more"
    return _said(Limit.CEILING, "service", f"its rate ceiling{of} holds it back", evidence, remedy)


def _file_cost(seen: Between) -> m.Diagnosis | None:
    mean = max(seen.received, seen.durable) / max(1, seen.files)
    share = seen.stage_share("destination", "commit", "write")
    if seen.files < _MANY_FILES or mean >= _SMALL_BYTES or share < _LIMITED:
        return None
    evidence = [
        m.Evidence(name="files made durable", value=round(seen.files / seen.seconds, 1), unit="files/s"),
        m.Evidence(name="mean size of a file", value=round(mean), unit="B"),
        _share("destination creates and syncs", share),
    ]
    said = (
        f"each small file costs the destination its creation and sync: {seen.files / seen.seconds:,.0f} files a second"
    )
    remedy = (
        "pack small files before (tar), or use storage with a faster journal; `headrace doctor --probe` measures it"
    )
    return _said(Limit.FILE_COST, "destination", said, evidence, remedy)


def _destination_storage(seen: Between) -> m.Diagnosis | None:
    share = seen.stage_share("destination", "write", "commit")
    if share < _MOST:
        return None
    evidence = [_share("destination writes and syncs", share), _rate(seen)]
    said = f"the destination's storage takes {bit_rate(seen.rate_bps)}"
    return _said(Limit.DESTINATION_STORAGE, "destination", said, evidence, _LOOK_AT_STORAGE)


def _source_storage(seen: Between) -> m.Diagnosis | None:
    share = seen.stage_share("source", "read")
    if share < _MOST:
        return None
    evidence = [_share("source reads", share), _rate(seen)]
    said = f"the source's storage gives {bit_rate(seen.rate_bps)}"
    return _said(Limit.SOURCE_STORAGE, "source", said, evidence, _LOOK_AT_STORAGE)


def _processor(seen: Between) -> m.Diagnosis | None:
    sides: tuple[tuple[Limit, Literal["source", "destination"], str], ...] = (
        (Limit.DESTINATION_CPU, "destination", "verify"),
        (Limit.SOURCE_CPU, "source", "hash"),
    )
    for limit, side, stage in sides:
        share = seen.stage_share(side, stage)
        if share >= _MOST:
            said = f"the processor of the {side} is busy hashing"
            return _said(limit, side, said, [_share(f"{side} hashes", share), _rate(seen)], _MORE_CPU)
    flows = len(seen.after.source.flows)
    idle = 1 - seen.flow_sum("busy") / max(1.0, flows * seen.seconds * 1e6)
    share = seen.stage_share("source", "send")
    if flows and share >= _MOST and idle >= _MOST:
        evidence = [_share("source encrypts and sends", share), _share("connections idle", idle), _rate(seen)]
        said = "the processor of the source is busy encrypting; its connections could carry more"
        return _said(Limit.SOURCE_CPU, "source", said, evidence, _MORE_CPU)
    return None


def _receive_window(seen: Between) -> m.Diagnosis | None:
    limited = seen.flow_sum("rwnd_limited") / max(1, seen.flow_sum("busy"))
    if limited < _LIMITED:
        return None
    flows = seen.after.source.flows.values()
    window = max((flow.send_window for flow in flows), default=0)
    mss = max((flow.mss for flow in flows), default=0)
    allowed = max((flow.receive_window for flow in seen.after.destination.flows.values()), default=0)
    evidence = [
        _share("sender waits for the receive window", limited),
        m.Evidence(name="receive window", value=window, unit="B"),
        m.Evidence(name="round trip", value=round(seen.rtt_ms, 3), unit="ms"),
        _rate(seen),
    ]
    shut = max(_SHUT_BYTES, _SHUT_PACKETS * mss)
    if 0 < window <= shut and 0 < allowed <= shut:
        said = f"the kernel of the destination shut the receive window to {byte_size(window)}: TCP memory pressure"
        remedy = (
            "at the destination: compare `mem` in /proc/net/sockstat with /proc/sys/net/ipv4/tcp_mem (pages), raise "
            "net.ipv4.tcp_mem, and end what fills sockets; `headrace doctor` gives the figures"
        )
        return _said(Limit.SOCKET_MEMORY, "destination", said, evidence, remedy)
    each = seen.rate_bps / max(1, len(flows))
    needs = _power_of_two(max(2 * window, int(2 * _WIDER * each / 8 * seen.rtt_ms / 1000)) * 2)
    said = f"a receive window of {byte_size(window)} over {seen.rtt_ms:.3g} ms carries no more a stream"
    remedy = f"at the destination: sysctl -w net.ipv4.tcp_rmem='4096 131072 {needs}'; or more streams"
    return _said(Limit.RECEIVE_WINDOW, "destination", said, evidence, remedy)


def _send_buffer(seen: Between) -> m.Diagnosis | None:
    limited = seen.flow_sum("sndbuf_limited") / max(1, seen.flow_sum("busy"))
    if limited < _LIMITED:
        return None
    each = seen.rate_bps / max(1, len(seen.after.source.flows))
    needs = _power_of_two(max(2**22, int(2 * _WIDER * each / 8 * seen.rtt_ms / 1000)) * 2)
    evidence = [
        _share("sender waits for its own buffer", limited),
        m.Evidence(name="round trip", value=round(seen.rtt_ms, 3), unit="ms"),
        _rate(seen),
    ]
    remedy = f"at the source: sysctl -w net.ipv4.tcp_wmem='4096 16384 {needs}'"
    return _said(Limit.SEND_BUFFER, "source", "the send buffer of the source holds too little", evidence, remedy)


def _loss(seen: Between) -> m.Diagnosis | None:
    share = seen.flow_sum("retransmits") / max(1, seen.flow_sum("sent"))
    if share < _LOSSY or _busy_share(seen) < _MOST:
        return None
    controls = {flow.congestion_control for flow in seen.after.source.flows.values()}
    evidence = [
        m.Evidence(name="packets sent again", value=round(100 * share, 3), unit="%"),
        m.Evidence(name="round trip", value=round(seen.rtt_ms, 3), unit="ms"),
        _rate(seen),
    ]
    pace = "pace at the source: `tc qdisc replace dev INTERFACE root fq`"
    slow = "" if "bbr" in controls else " and `sysctl -w net.ipv4.tcp_congestion_control=bbr`"
    said = f"the network loses packets: {share:.2%} were sent again"
    return _said(Limit.LOSS, "network", said, evidence, f"{pace}{slow}; look for the link that drops")


def _few_files(seen: Between) -> m.Diagnosis | None:
    left = seen.after.files_total - seen.after.files_done
    idle = 1 - _busy_share(seen)
    if not 0 < left < min(_FEW, seen.after.streams) or idle < _MOST:
        return None
    said = f"{plural(left, 'file')} {'is' if left == 1 else 'are'} left, fewer than its streams"
    return _said(Limit.FEW_FILES, "service", said, [_share("connections idle", idle), _rate(seen)])


def _network(seen: Between) -> m.Diagnosis | None:
    busy = _busy_share(seen)
    if busy < _MOST:
        return None
    streams = len(seen.after.source.flows)
    evidence = [
        _share("connections busy", busy),
        m.Evidence(name="streams", value=streams, unit=""),
        m.Evidence(name="round trip", value=round(seen.rtt_ms, 3), unit="ms"),
        _rate(seen),
    ]
    if streams == 1 and seen.rtt_ms >= _LONG_MS:
        said = f"one stream over {seen.rtt_ms:.3g} ms grows slowly after each loss"
        return _said(Limit.FEW_STREAMS, "network", said, evidence, "let the node use more streams")
    said = f"the network carries {bit_rate(seen.rate_bps)}: it is as fast as the path between its nodes"
    remedy = f"compare with the link: `headrace doctor --rate LINK --rtt {max(0.01, seen.rtt_ms):.3g}` on both hosts"
    return _said(Limit.PATH, "network", said, evidence, remedy)


_Rule = Callable[[Between], m.Diagnosis | None]
_RULES: Final[tuple[_Rule, ...]] = (
    _file_cost,
    _destination_storage,
    _source_storage,
    _processor,
    _receive_window,
    _send_buffer,
    _loss,
    _few_files,
    _network,
)


def _tightest(seen: Between) -> m.Diagnosis:
    """Name the stage that takes most, when none takes nearly all."""
    stages: list[tuple[float, Limit, Where, str]] = [
        (seen.stage_share("source", "read"), Limit.SOURCE_STORAGE, "source", "reading at the source"),
        (seen.stage_share("source", "hash"), Limit.SOURCE_CPU, "source", "hashing at the source"),
        (seen.stage_share("source", "send"), Limit.PATH, "network", "encrypting and sending"),
        (seen.stage_share("destination", "verify"), Limit.DESTINATION_CPU, "destination", "verifying"),
        (
            seen.stage_share("destination", "write", "commit"),
            Limit.DESTINATION_STORAGE,
            "destination",
            "writing at the destination",
        ),
    ]
    share, limit, where, what = max(stages)
    if not share:
        return _said(Limit.UNKNOWN, "", "its nodes do not tell what they wait for", [_rate(seen)])
    said = f"it is as fast as its tightest stage, {what}, and the others are nearly as busy"
    return _said(limit, where, said, [_share(what, share), _rate(seen)])


_LOOK_AT_STORAGE: Final = (
    "try that folder's storage on its host: `headrace doctor --probe FOLDER`; use faster storage, or more disks"
)
_MORE_CPU: Final = "give that host more or faster CPUs; `headrace doctor` there names limits of containers and AES"


def _said(limit: Limit, where: Where, said: str, evidence: list[m.Evidence] | None = None, *remedy: str) -> m.Diagnosis:
    return m.Diagnosis(transfer="", limit=limit, where=where, said=said, evidence=evidence or [], remedy=list(remedy))


def _share(name: str, share: float) -> m.Evidence:
    return m.Evidence(name=name, value=round(100 * min(1.0, share), 1), unit="%")


def _seconds(name: str, seconds: float) -> m.Evidence:
    return m.Evidence(name=name, value=round(seconds, 1), unit="s")


def _rate(seen: Between) -> m.Evidence:
    return m.Evidence(name="rate", value=seen.rate_bps, unit="b/s")


def _busy_share(seen: Between) -> float:
    flows = len(seen.after.source.flows)
    return min(1.0, seen.flow_sum("busy") / max(1.0, flows * seen.seconds * 1e6)) if flows else 0.0


def _power_of_two(wanted: int) -> int:
    return min(2**31 - 1, 1 << max(0, wanted - 1).bit_length())
