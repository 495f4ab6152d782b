"""One verdict on what limits a transfer: pure rules over what both nodes measured.

Stages wait for each other, so whoever is slow makes the others wait: storage is looked at before the network, because a
destination that writes slowly shuts its receive window, and a source that reads slowly leaves its connections idle.
A processor comes before storage: a thread that waits for storage neither computes nor waits for a processor.
The first rule that holds is the verdict; its evidence is what the nodes and their kernels said.
"""

import math
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Final, Literal

from headrace.api.transfers.advice import ADVICE
from headrace.api.transfers.samples import SHUT_PACKETS, Between
from headrace.api.transfers.socket_memory import (
    SOMETIMES,
    host_lacks_memory,
    lacks_memory,
    more_memory,
    said_by_kernels,
)
from headrace.client import models as m
from headrace.client.text import bit_rate, byte_size, duration, plural

Limit = m.Limit
Where = Literal["source", "destination", "network", "service", ""]

STALLED_S: Final = 10
"""How long nothing may arrive before a transfer counts as stalled."""
LEAST_S: Final = 1.0
"""The shortest time that says something."""
TOO_EARLY: Final = "too early to say what limits it; ask again in 2 s"
_TOO_LITTLE: Final = {True: TOO_EARLY, False: "it moved too short a time to say what limited it"}
"""What is said of less than that, by whether it moves now."""
_MOST: Final = 0.5
"""Share of time from which on a stage is the limit."""
_LIMITED: Final = 0.3
"""Share of a connection's busy time from which on a window or buffer is the limit."""
_LOSSY: Final = 5e-4
_LOSSY_FOR_BBR: Final = 0.1
"""From here on losses slow bbr down, which takes no loss for congestion."""
_QUEUED: Final = 1.5
"""A round trip that takes so many times the shortest waits in queues: what is lost then was too much for the path."""
_STOOD: Final = 0.2
"""Share of the time of a whole attempt from which on it is standstills that took it."""
_WRITES_BPS: Final = 1_000_000
"""A device that writes as much as this does not stand still, however long a sync takes."""
_LONG_MS: Final = 5.0
_SMALL_BYTES: Final = 256 * 1024
_MANY_FILES: Final = 20
_HELD: Final = 0.1
"""The same where windows are shut now and then: between, packets that the receiver dropped hold the sender."""
_SHUT: Final = 0.2
"""Share of shut ones of the receive windows that were told from which on that is memory pressure."""
_LEAST_WINDOW: Final = 32 * 1024
_FEW: Final = 4
_ROUND: Final = 10
"""From here on figures are said without a fraction."""
_SIDES: Final[tuple[Literal["source", "destination"], ...]] = ("source", "destination")
_MOST_CODES: Final = 4
"""So many codes of failed files are named."""
_WIDER: Final = 4
"""How much more rate a larger window is made for."""


def diagnose(
    transfer: str,
    seen: Between,
    ceiling_bps: int | None = None,
    share: m.TransferShare | None = None,
    *,
    live: bool = True,
) -> m.Diagnosis:
    """Say what limits an attempt, from what came to it between two samples; `share` is what it gets of links."""
    found = (
        _verdict(seen, ceiling_bps, share) if seen.seconds >= LEAST_S else _said(Limit.UNKNOWN, "", _TOO_LITTLE[live])
    )
    measured = max(0.0, seen.seconds)
    return found.model_copy(update={"transfer": transfer, "measured_s": round(measured, 1), "live": live})


def _verdict(seen: Between, ceiling_bps: int | None, share: m.TransferShare | None) -> m.Diagnosis:
    deletes = _deletes(seen)
    if deletes is not None:
        return deletes
    held_s = seen.stage_s("source", "ceiling", "share") + seen.stage_s("destination", "share")
    if not seen.moved and held_s < _MOST * seen.seconds:
        return _names(seen) or _idle(seen)
    # Until the destination's memory is full, a ceiling above what its storage takes holds the source back.
    if not _lags(seen):
        if seen.stage_share("source", "ceiling") >= _MOST:
            return _ceiling(seen, ceiling_bps)
        if max(_waits_for_share(seen).values()) >= _MOST:
            return _link_share(seen, share)
    found = next((found for rule in _RULES if (found := rule(seen)) is not None), _tightest(seen))
    return found.model_copy(update={"evidence": [*found.evidence, *said_by_kernels(seen)]})


def at_rest_diagnosis(transfer: str, state: str, reason: str, limit: Limit = Limit.UNKNOWN) -> m.Diagnosis:
    """Say why a transfer does not run, or that nothing was measured."""
    said = reason if limit is Limit.UNKNOWN else f"it is {state}: {reason}"
    return m.Diagnosis(transfer=transfer, limit=limit, where="service", said=said)


def after_failure(found: m.Diagnosis, code: str, last: str = "") -> m.Diagnosis:
    """Say first how a transfer ended, with the code of its last attempt; it advises nothing: no more speed helps.

    The code and not the message, which may name files.
    """
    codes = f"`{code}`, its last attempt by `{last}`" if last and last != code else f"`{code}`"
    said = f"it failed ({codes}; its error says more). Before that, {found.said}"
    return found.model_copy(update={"limit": Limit.NOT_RUNNING, "where": "", "said": said, "remedy": []})


def after_failed_files(found: m.Diagnosis | None, transfer: str, failed: Mapping[str, int]) -> m.Diagnosis:
    """Say first that files of a transfer did not arrive, how many by which code, and what to do about the most."""
    codes = sorted(failed, key=lambda code: (-failed[code], code))
    named = ", ".join(f"{failed[code]:,} `{code}`" for code in codes[:_MOST_CODES])
    more = ", and others" if len(codes) > _MOST_CODES else ""
    said = (
        f"{plural(sum(failed.values()), 'file')} did not arrive: {named}{more}; `headrace failed {transfer}` lists them"
    )
    found = found or m.Diagnosis(transfer=transfer, limit=Limit.UNKNOWN, said="")
    said = f"{said}. Of its speed: {found.said}" if found.said else said
    advice = [ADVICE[code] for code in codes[:1] if code in ADVICE]
    return found.model_copy(update={"said": said, "remedy": [*advice, *found.remedy]})


def stalled(found: m.Diagnosis, since: datetime, now: datetime) -> m.Diagnosis:
    """Say since when nothing moves, when that is long."""
    quiet_s = (now - since).total_seconds()
    if quiet_s >= STALLED_S and found.limit is Limit.DESTINATION_STORAGE:
        # Its device writes all the time: what it writes is not durable yet.
        return found.model_copy(update={"evidence": [*found.evidence, _seconds("nothing moved for", round(quiet_s))]})
    if quiet_s < STALLED_S:
        # Before that, who is waited for may only not have said so yet, such as a source that its ceiling holds.
        return found.model_copy(update={"said": _early(quiet_s), "where": ""}) if _is_guess(found) else found
    evidence = [*found.evidence, m.Evidence(name="nothing moved for", value=round(quiet_s), unit="s")]
    said = f"nothing has moved for {duration(quiet_s)}: {found.said}"
    return found.model_copy(update={"limit": Limit.STALLED, "said": said, "since": since, "evidence": evidence})


def stood_still(found: m.Diagnosis, still_s: float, of_s: float, where: Where) -> m.Diagnosis:
    """Say of a whole attempt that it stood still, where that took much of its time; `found` is what else limited it."""
    if still_s < STALLED_S or still_s < _STOOD * of_s:
        return found
    of = f"nothing moved for {duration(still_s)} of the {duration(of_s)} in which it was to move"
    why = (
        f"the {where}'s storage did not answer" if where in _SIDES else "no storage was waited for: look at the network"
    )
    evidence = [*found.evidence, _seconds("nothing moved for", round(still_s))]
    remedy = [_LOOK_AT_STORAGE] if where in _SIDES else []
    update = {"limit": Limit.STALLED, "where": where, "said": f"{of}: {why}", "evidence": evidence, "remedy": remedy}
    return found.model_copy(update=update)


def _is_guess(found: m.Diagnosis) -> bool:
    return found.limit is Limit.UNKNOWN and found.where == "network"


def _early(quiet_s: float) -> str:
    wait_s = max(1, math.ceil(STALLED_S - quiet_s))
    return f"too early to say: nothing has arrived for {duration(quiet_s)}; ask again in {duration(wait_s)}"


def _deletes(seen: Between) -> m.Diagnosis | None:
    """Say that it deletes, where that takes the time: no bytes move then, and nothing else limits it."""
    where = max(_SIDES, key=lambda side: seen.stage_s(side, "delete"))
    spent_s = seen.stage_s(where, "delete")
    if not seen.deleted or spent_s < _MOST * seen.seconds:
        return None
    each = seen.deleted / seen.seconds
    evidence = [
        m.Evidence(name="deleted", value=seen.deleted, unit=""),
        _share("of the time it deletes", spent_s / seen.seconds),
    ]
    return _said(Limit.NAMES, where, f"its time goes into deleting: {_a_second(each)} names a second", evidence)


def _names(seen: Between) -> m.Diagnosis | None:
    """Say that names are listed, compared or checked while no bytes move."""
    where = max(_SIDES, key=seen.looked_at)
    count = seen.looked_at(where)
    if not count:
        return None
    said = f"the {where} lists, compares or checks {_a_second(count / seen.seconds)} names a second; no bytes move"
    return _said(Limit.NAMES, where, said, [m.Evidence(name="names looked at", value=count, unit="")])


def _a_second(count: float) -> str:
    return f"{count:,.0f}" if count >= _ROUND else f"{count:.1f}"


def _idle(seen: Between) -> m.Diagnosis:
    """Name who is busy while nothing arrives: it is waited for."""
    busy: list[tuple[float, Where, str]] = [
        (seen.stage_s("source", "read", "delete"), "source", "the source's storage does not answer"),
        (
            seen.stage_s("destination", "write", "commit", "delete"),
            "destination",
            "the destination's storage does not answer",
        ),
    ]
    spent, where, said = max(busy)
    if spent < LEAST_S / 2:
        return _said(Limit.UNKNOWN, "network", "nothing arrives, and no storage is waited for: look at the network")
    evidence = [_seconds("waited for storage", spent)]
    if where == "destination" and seen.device_bps >= _WRITES_BPS:
        said = (
            f"the destination's storage takes {bit_rate(seen.device_bps)}: it syncs, and nothing of that is durable yet"
        )
        evidence.append(m.Evidence(name="its device writes", value=seen.device_bps, unit="b/s"))
        return _said(Limit.DESTINATION_STORAGE, where, said, evidence, _LOOK_AT_STORAGE)
    return _said(Limit.STALLED, where, said, evidence, _LOOK_AT_STORAGE)


def _ceiling(seen: Between, ceiling_bps: int | None) -> m.Diagnosis:
    share = seen.stage_share("source", "ceiling")
    of = f" of {bit_rate(ceiling_bps)}" if ceiling_bps else ""
    evidence = [_share("source waits for the ceiling", share), _rate(seen)]
    remedy = "raise it with `headrace rate TRANSFER RATE`, up to what its plan allows; a new plan can allow more"
    return _said(Limit.CEILING, "service", f"its rate ceiling{of} holds it back", evidence, remedy)


def _waits_for_share(seen: Between) -> dict[Where, float]:
    """Return which share of its time each side waits for its turn on a link."""
    return {"source": seen.stage_share("source", "share"), "destination": seen.stage_share("destination", "share")}


def _link_share(seen: Between, share: m.TransferShare | None) -> m.Diagnosis:
    where, waits = max(_waits_for_share(seen).items(), key=lambda one: one[1])
    evidence = [_share(f"{where} waits for its turn on a link", waits), _rate(seen)]
    if share is None:
        return _said(Limit.SHARE, where, "its share of a link holds it back", evidence, _SHOW_QOS)
    if share.ceiling_bps is not None:
        return _class_ceiling(share, share.ceiling_bps, evidence)
    links = ", ".join(f"`{link}`" for link in share.links)
    if share.entitled_bps is not None:
        evidence.append(m.Evidence(name="entitled to", value=share.entitled_bps, unit="b/s"))
    if share.guaranteed_bps:
        evidence.append(m.Evidence(name="guaranteed", value=share.guaranteed_bps, unit="b/s"))
    entitled = "" if share.entitled_bps is None else f" of {bit_rate(share.entitled_bps)}"
    said = f"its share{entitled} as class `{share.qos_class}` on {links} holds it back"
    return _said(Limit.SHARE, where, said, evidence, _SHOW_QOS, _more_of(seen, share, links))


def _more_of(seen: Between, share: m.TransferShare, links: str) -> str:
    """Say what gives a transfer more of its links."""
    of_class = "a class of a higher weight or priority (`headrace qos class`)"
    if share.needed_bps:
        goes_first = "earlier deadlines go first; " if share.guaranteed_bps < share.needed_bps else ""
        return f"{goes_first}{of_class} gets more of what deadlines leave"
    if not seen.rate_bps:
        return f"a deadline is guaranteed what it needs (`headrace qos deadline`), and {of_class} gets more of the rest"
    return (
        f"a deadline is guaranteed what it needs (`headrace qos deadline`); where other classes take what it lacks, "
        f"`floor_bps = {2 * seen.rate_bps}` for class `{share.qos_class}` on {links}, in links and classes, keeps the "
        "class twice what this transfer takes"
    )


def _class_ceiling(share: m.TransferShare, ceiling_bps: int, evidence: list[m.Evidence]) -> m.Diagnosis:
    """Name the ceiling: no floor and no deadline gives a transfer more than its class may take."""
    of = f"`{share.qos_class}` on `{share.ceiling_link}`"
    evidence = [*evidence, m.Evidence(name="ceiling of its class", value=ceiling_bps, unit="b/s")]
    said = f"the ceiling of its class {of}, {bit_rate(ceiling_bps)}, holds it back"
    more = f"raise `ceiling_bps` of class {of}, or let policy give it another class (`headrace qos class`)"
    return _said(Limit.CEILING, "service", said, evidence, _SHOW_QOS, more)


def _file_cost(seen: Between) -> m.Diagnosis | None:
    mean = max(seen.received, seen.durable) / max(1, seen.files)
    share = max(seen.stage_share("destination", "commit", "write"), _syncs(seen))
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
    lags = _lags(seen)
    if share < _MOST and not lags:
        return None
    takes_bps = (int(seen.durable * 8 / seen.seconds) or seen.device_bps) if lags else seen.rate_bps
    evidence = [_share("destination writes and syncs", share), _rate(seen)]
    if lags:
        evidence += [
            _share("of the time it syncs", _syncs(seen)),
            m.Evidence(name="made durable", value=takes_bps, unit="b/s"),
        ]
    said = f"the destination's storage takes {bit_rate(takes_bps)}"
    return _said(Limit.DESTINATION_STORAGE, "destination", said, evidence, _LOOK_AT_STORAGE)


def _source_storage(seen: Between) -> m.Diagnosis | None:
    share = seen.stage_share("source", "read")
    if share < _MOST:
        return None
    evidence = [_share("source reads", share), _rate(seen)]
    said = f"the source's storage gives {bit_rate(seen.rate_bps)}"
    return _said(Limit.SOURCE_STORAGE, "source", said, evidence, _LOOK_AT_STORAGE)


def _processor(seen: Between) -> m.Diagnosis | None:
    """Name the side whose threads compute, or wait for a processor, for most of the time."""
    side = max(_SIDES, key=lambda one: seen.flow_share("cpu", one) + seen.flow_share("cpu_wait", one))
    computing, waiting = seen.flow_share("cpu", side), seen.flow_share("cpu_wait", side)
    if computing + waiting < _MOST:
        return None
    limit = Limit.SOURCE_CPU if side == "source" else Limit.DESTINATION_CPU
    evidence = [
        _share(f"{side}'s threads compute", computing),
        _share("they wait for a processor", waiting),
        m.Evidence(name="streams", value=len(seen.flows(side)), unit=""),
        _rate(seen),
    ]
    if waiting > computing:
        said = f"the {side} has too little processor time: its threads wait for it longer than they compute"
        return _said(limit, side, said, evidence, _MORE_CPU)
    return _said(limit, side, f"the processor of the {side} is busy", evidence, _MORE_CPU)


def _hashing(seen: Between) -> m.Diagnosis | None:
    """Where the kernel does not count a thread's time, hashing tells."""
    if any(seen.flow_sum("cpu", side) for side in _SIDES):
        return None
    sides: tuple[tuple[Limit, Literal["source", "destination"], str], ...] = (
        (Limit.DESTINATION_CPU, "destination", "verify"),
        (Limit.SOURCE_CPU, "source", "hash"),
    )
    for limit, side, stage in sides:
        share = seen.stage_share(side, stage)
        if share >= _MOST:
            said = f"the processor of the {side} is busy hashing"
            return _said(limit, side, said, [_share(f"{side} hashes", share), _rate(seen)], _MORE_CPU)
    return None


def _encrypting(seen: Between) -> m.Diagnosis | None:
    """Name a source that is sending while its connections are idle: it computes, or may not.

    A thread that waits for the network leaves its connection busy. What the kernel counts of threads may hold less of
    a wait than a container's limit makes (a run of `source_cpu` in docs/benchmarks/verdicts.json, called `path`).
    """
    idle = 1 - _busy_share(seen)
    share = seen.stage_share("source", "send")
    if seen.flows("source") and share >= _MOST and idle >= _MOST:
        evidence = [_share("source encrypts and sends", share), _share("connections idle", idle), _rate(seen)]
        said = "the processor of the source is busy encrypting; its connections could carry more"
        return _said(Limit.SOURCE_CPU, "source", said, evidence, _MORE_CPU)
    return None


def _socket_memory(seen: Between) -> m.Diagnosis | None:
    """Say that windows are shut: less than any buffer allows, so that it is memory that all sockets share.

    Counters of the kernel are those of its whole network namespace: they say so together with windows of its own.
    """
    limited = _window_share(seen)
    known, shut = seen.after.windows
    window = max((flow.send_window for flow in seen.after.source.flows.values()), default=0)
    mss = max((flow.mss for flow in seen.after.source.flows.values()), default=0)
    all_shut = 0 < window <= SHUT_PACKETS * mss and 0 < known == shut
    by_windows = (all_shut and limited >= _LIMITED) or (seen.shut_share >= _SHUT and limited >= _HELD)
    if not by_windows and not (lacks_memory(seen, "destination") and _shows_in_own(seen, limited)):
        return None
    left = [flow.receive_window for flow in seen.after.destination.flows.values() if flow.receive_window]
    # Windows that open now and then are larger than what they carry: no measure of what is lacking.
    more = _window_needs(seen, _LEAST_WINDOW) * max(1, len(seen.after.source.flows))
    evidence = [
        _share("sender waits for the receive window", limited),
        _share("receive windows shut", max(seen.shut_share, shut / max(1, known))),
        m.Evidence(name="packets sent again", value=round(100 * _resent(seen), 3), unit="%"),
        m.Evidence(name="smallest receive window now", value=min(left, default=0), unit="B"),
        m.Evidence(name="round trip", value=round(seen.rtt_ms, 3), unit="ms"),
        _rate(seen),
    ]
    said = f"the kernel of the destination shuts receive windows to {SHUT_PACKETS} packets or less: TCP memory pressure"
    remedy = more_memory(seen, "destination", more)
    return _said(Limit.SOCKET_MEMORY, "destination", said, evidence, f"at the destination: {remedy}")


def _shows_in_own(seen: Between, limited: float) -> bool:
    """Say whether its own connections feel it: windows are shut, and its sender waits for them or sends again."""
    return seen.shut_share >= SOMETIMES and (limited >= SOMETIMES or _resent(seen) >= _LOSSY)


def _resent(seen: Between) -> float:
    """Return the share of packets that were sent again."""
    return seen.flow_sum("retransmits") / max(1, seen.flow_sum("sent"))


def _window_share(seen: Between) -> float:
    """Return for how much of its busy time the sender waited for the receive window."""
    return seen.flow_sum("rwnd_limited") / max(1, seen.flow_sum("busy"))


def _window_needs(seen: Between, window: int) -> int:
    """Return the buffer of each connection that carries some times more over this round trip, and twice this window."""
    each = seen.rate_bps / max(1, len(seen.after.source.flows))
    return _power_of_two(max(2 * window, int(2 * _WIDER * each / 8 * seen.rtt_ms / 1000)) * 2)


def _receive_window(seen: Between) -> m.Diagnosis | None:
    limited = _window_share(seen)
    if limited < _LIMITED:
        return None
    window = max((flow.send_window for flow in seen.after.source.flows.values()), default=0)
    evidence = [
        _share("sender waits for the receive window", limited),
        m.Evidence(name="receive window", value=window, unit="B"),
        m.Evidence(name="round trip", value=round(seen.rtt_ms, 3), unit="ms"),
        _rate(seen),
    ]
    needs = _window_needs(seen, window)
    said = f"a receive window of {byte_size(window)} over {seen.rtt_ms:.3g} ms carries no more than that in each stream"
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
    if host_lacks_memory(seen, "source"):
        more = _window_needs(seen, _LEAST_WINDOW) * max(1, len(seen.after.source.flows))
        remedy = more_memory(seen, "source", more)
        said = "the kernel of the source gives send buffers no more memory: TCP memory pressure"
        return _said(Limit.SOCKET_MEMORY, "source", said, evidence, f"at the source: {remedy}")
    remedy = f"at the source: sysctl -w net.ipv4.tcp_wmem='4096 16384 {needs}'"
    return _said(Limit.SEND_BUFFER, "source", "the send buffer of the source holds too little", evidence, remedy)


def _loss(seen: Between) -> m.Diagnosis | None:
    share = _resent(seen)
    if share < _LOSSY or _busy_share(seen) < _MOST or seen.queued >= _QUEUED or _is_one_far_stream(seen):
        return None
    controls = {flow.congestion_control for flow in seen.after.source.flows.values()}
    if "bbr" in controls and share < _LOSSY_FOR_BBR:
        return None
    evidence = [
        m.Evidence(name="packets sent again", value=round(100 * share, 3), unit="%"),
        m.Evidence(name="round trip", value=round(seen.rtt_ms, 3), unit="ms"),
        _queues(seen),
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
        _queues(seen),
        _rate(seen),
    ]
    if _is_one_far_stream(seen) and seen.flow_sum("retransmits") and seen.queued < _QUEUED:
        said = f"one stream over {seen.rtt_ms:.3g} ms grows slowly after each loss"
        return _said(
            Limit.FEW_STREAMS,
            "network",
            said,
            evidence,
            "let both nodes use more streams: `far_streams` in the table [data.limits] of node.toml",
        )
    said = f"the network carries {bit_rate(seen.rate_bps)}: it is as fast as the path between its nodes"
    remedy = f"compare with the link: `headrace doctor --rate LINK --rtt {max(0.01, seen.rtt_ms):.3g}` on both hosts"
    return _said(Limit.PATH, "network", said, evidence, remedy)


_Rule = Callable[[Between], m.Diagnosis | None]
_RULES: Final[tuple[_Rule, ...]] = (
    _file_cost,
    _processor,
    _destination_storage,
    _source_storage,
    _hashing,
    _encrypting,
    _socket_memory,
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
_SHOW_QOS: Final = "`headrace qos show` says what runs on its links, of which class, and what each is entitled to"
_MORE_CPU: Final = "give that host more or faster CPUs; `headrace doctor` there names limits of containers and AES"


def _said(limit: Limit, where: Where, said: str, evidence: list[m.Evidence] | None = None, *remedy: str) -> m.Diagnosis:
    return m.Diagnosis(transfer="", limit=limit, where=where, said=said, evidence=evidence or [], remedy=list(remedy))


def _share(name: str, share: float) -> m.Evidence:
    return m.Evidence(name=name, value=round(100 * min(1.0, share), 1), unit="%")


def _queues(seen: Between) -> m.Evidence:
    return m.Evidence(name="round trip now, of the shortest", value=round(100 * seen.queued), unit="%")


def _seconds(name: str, seconds: float) -> m.Evidence:
    return m.Evidence(name=name, value=round(seconds, 1), unit="s")


def _rate(seen: Between) -> m.Evidence:
    return m.Evidence(name="rate", value=seen.rate_bps, unit="b/s")


def _is_one_far_stream(seen: Between) -> bool:
    return len(seen.flows("source")) == 1 and seen.rtt_ms >= _LONG_MS


def _syncs(seen: Between) -> float:
    """Return the share of the time in which the destination syncs and names, which one thread does for all streams."""
    return min(1.0, seen.stage_s("destination", "commit") / seen.seconds)


def _lags(seen: Between) -> bool:
    """Say whether memory takes for a while what the destination's storage does not: then it syncs all the time."""
    return _syncs(seen) >= _MOST and seen.durable < _MOST * seen.received


def _busy_share(seen: Between) -> float:
    return seen.flow_share("busy")


def _power_of_two(wanted: int) -> int:
    return min(2**31 - 1, 1 << max(0, wanted - 1).bit_length())
