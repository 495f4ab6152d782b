"""One verdict on what limits a transfer: each bottleneck planted in what both nodes measured is named."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.faults.run import REPOSITORY

from headrace.api.transfers.diagnosis import diagnose, stalled, stood_still
from headrace.api.transfers.samples import KERNEL, STAGES, Between, FlowSample, Sample, SideSample, SocketLimits
from headrace.client import models as m
from headrace.client.models import Limit

NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)
S = 1_000_000
"""A second in microseconds."""
MB = 1_000_000
BEFORE = Sample(at=NOW, streams=4, files_total=100)


def flow(**changes: int | str) -> FlowSample:
    """Make a connection that was busy for 5 s of 5, and lost nothing."""
    usual = FlowSample(
        age=5 * S,
        rtt=20_000,
        min_rtt=20_000,
        mss=1448,
        congestion_control="cubic",
        sent=100_000,
        busy=5 * S,
        send_window=8 * MB,
        receive_window=8 * MB,
    )
    return replace(usual, **changes)  # type: ignore[arg-type] # fields by name


def seen(
    source: dict[str, int],
    destination: dict[str, int],
    *,
    flows: int = 4,
    each: FlowSample | None = None,
    far: FlowSample | None = None,
    **counts: int,
) -> Between:
    """Return five seconds of an attempt; stages are microseconds."""
    own, other = each or flow(), far or each or flow()
    usual: dict[str, int] = {
        "files_done": 10,
        "files_total": 100,
        "bytes_received": 500 * MB,
        "bytes_durable": 490 * MB,
    }
    after = Sample(
        at=NOW + timedelta(seconds=5),
        streams=flows,
        source=SideSample(flows=dict.fromkeys(range(flows), own), stages=source),
        destination=SideSample(flows=dict.fromkeys(range(flows), other), stages=destination),
        **{**usual, **counts},
    )
    return Between(BEFORE, after)


def counted(one: Between, sockets: SocketLimits | None = None, **kernel: int) -> Between:
    """Return the same, with what the kernel of the destination counted and gives."""
    side = replace(one.after.destination, kernel=kernel, sockets=sockets or SocketLimits())
    return replace(one, after=replace(one.after, destination=side))


SENDS, RECEIVES = {"read": S, "hash": S, "send": 17 * S}, {"receive": 18 * S, "verify": S, "write": S}
IDLE = flow(busy=S)


@dataclass(frozen=True)
class Planted:
    """A bottleneck, the verdict on it, and a piece of the remedy."""

    what: str
    seen: Between
    limit: Limit
    where: str
    remedy: str = ""


PLANTED = [
    Planted(
        "a slow source", seen({"read": 15 * S, "send": 3 * S}, RECEIVES, each=IDLE), Limit.SOURCE_STORAGE, "source"
    ),
    Planted(
        "a slow destination, which shuts its window",
        seen(SENDS, {"receive": 4 * S, "write": 10 * S, "commit": 4 * S}, each=flow(rwnd_limited=4 * S)),
        Limit.DESTINATION_STORAGE,
        "destination",
        "headrace doctor --probe",
    ),
    Planted(
        "a slow destination whose memory still takes what arrives",
        seen(SENDS, {"receive": 15 * S, "write": S, "commit": 4 * S}, bytes_durable=40 * MB),
        Limit.DESTINATION_STORAGE,
        "destination",
    ),
    Planted(
        "small files",
        seen(
            SENDS, {"receive": 8 * S, "commit": 7 * S}, files_done=20_000, bytes_received=20 * MB, bytes_durable=20 * MB
        ),
        Limit.FILE_COST,
        "destination",
        "pack small files",
    ),
    Planted("a slow processor", seen({"hash": 12 * S, "send": 5 * S}, RECEIVES), Limit.SOURCE_CPU, "source"),
    Planted(
        "a processor that encrypts slowly",
        seen({"read": S, "send": 18 * S}, RECEIVES, each=IDLE),
        Limit.SOURCE_CPU,
        "source",
    ),
    Planted(
        "a destination that verifies slowly",
        seen(SENDS, {"receive": 4 * S, "verify": 12 * S}, each=flow(rwnd_limited=4 * S)),
        Limit.DESTINATION_CPU,
        "destination",
    ),
    Planted(
        "a small receive buffer",
        seen(SENDS, RECEIVES, each=flow(rwnd_limited=4 * S, send_window=250_000)),
        Limit.RECEIVE_WINDOW,
        "destination",
        "tcp_rmem='4096 131072 8388608'",
    ),
    Planted(
        "a receive buffer of 32 kB, which is no pressure",
        seen(SENDS, RECEIVES, each=flow(rwnd_limited=4 * S, send_window=16_000), far=flow(receive_window=16_000)),
        Limit.RECEIVE_WINDOW,
        "destination",
    ),
    Planted(
        "kernel memory pressure",
        seen(
            SENDS,
            RECEIVES,
            each=flow(rwnd_limited=4 * S, send_window=35_000, mss=8948),
            far=flow(receive_window=35_000),
        ),
        Limit.SOCKET_MEMORY,
        "destination",
        "tcp_mem",
    ),
    Planted(
        "kernel memory pressure that comes and goes, so that a window is open when it is looked at last",
        seen(SENDS, RECEIVES, each=flow(rwnd_limited=S, retransmits=200), windows_seen=100, windows_shut=40),
        Limit.SOCKET_MEMORY,
        "destination",
        "the memory of its container by",
    ),
    Planted(
        "a small receive buffer that once overflowed, which is no pressure",
        seen(SENDS, RECEIVES, each=flow(rwnd_limited=4 * S, send_window=250_000), windows_seen=100, windows_shut=10),
        Limit.RECEIVE_WINDOW,
        "destination",
        "tcp_rmem",
    ),
    Planted(
        "losses, while windows were shut that nobody waited for",
        seen(SENDS, RECEIVES, each=flow(rwnd_limited=S // 10, retransmits=200), windows_seen=100, windows_shut=40),
        Limit.LOSS,
        "network",
    ),
    Planted(
        "kernel memory pressure whose windows open again between two looks, which its counters tell",
        counted(
            seen(
                SENDS,
                RECEIVES,
                each=flow(rwnd_limited=S // 10, retransmits=18_000, congestion_control="bbr"),
                windows_seen=100,
                windows_shut=6,
            ),
            prune_called=700,
            receive_queue_drops=120,
        ),
        Limit.SOCKET_MEMORY,
        "destination",
        "net.ipv4.tcp_mem",
    ),
    Planted(
        "losses, while the kernel threw away packets of another program, and no window of this transfer was shut",
        counted(seen(SENDS, RECEIVES, each=flow(retransmits=200)), prune_called=10_000, receive_queue_drops=900),
        Limit.LOSS,
        "network",
    ),
    Planted(
        "a small receive buffer, while the kernel threw away packets of another program",
        counted(seen(SENDS, RECEIVES, each=flow(rwnd_limited=4 * S, send_window=250_000)), prune_called=10_000),
        Limit.RECEIVE_WINDOW,
        "destination",
        "tcp_rmem",
    ),
    Planted(
        "a flat cap, while another program fills the memory of all sockets",
        counted(seen(SENDS, RECEIVES), memory_pressures=3, prune_called=10_000),
        Limit.PATH,
        "network",
    ),
    Planted(
        "losses, and some windows shut by one burst, after which the kernel had enough",
        counted(seen(SENDS, RECEIVES, each=flow(retransmits=200), windows_seen=100, windows_shut=6), prune_called=9),
        Limit.LOSS,
        "network",
    ),
    Planted(
        "a small send buffer",
        seen(SENDS, RECEIVES, each=flow(sndbuf_limited=3 * S)),
        Limit.SEND_BUFFER,
        "source",
        "tcp_wmem",
    ),
    Planted("loss", seen(SENDS, RECEIVES, each=flow(retransmits=200)), Limit.LOSS, "network", "bbr"),
    Planted("a flat cap", seen(SENDS, RECEIVES), Limit.PATH, "network", "headrace doctor --rate LINK --rtt 20"),
    Planted(
        "one stream that loses packets",
        seen(SENDS, RECEIVES, flows=1, each=flow(retransmits=20)),
        Limit.FEW_STREAMS,
        "network",
        "more streams",
    ),
    Planted("one stream that fills its path", seen(SENDS, RECEIVES, flows=1), Limit.PATH, "network"),
    Planted(
        "losses while packets wait in a queue, which are the path's own",
        seen(SENDS, RECEIVES, each=flow(retransmits=2000, rtt=45_000)),
        Limit.PATH,
        "network",
    ),
    Planted(
        "losses that bbr passes over",
        seen(SENDS, RECEIVES, each=flow(retransmits=2000, congestion_control="bbr")),
        Limit.PATH,
        "network",
    ),
    Planted(
        "losses that are too many for bbr, too",
        seen(SENDS, RECEIVES, each=flow(retransmits=20_000, congestion_control="bbr")),
        Limit.LOSS,
        "network",
    ),
    Planted(
        "a source whose container gets little processor time, whatever it was doing when it had to wait",
        seen({"read": 12 * S, "hash": 3 * S, "send": 4 * S}, RECEIVES, each=replace(IDLE, cpu=S // 2, cpu_wait=4 * S)),
        Limit.SOURCE_CPU,
        "source",
        "limits of containers",
    ),
    Planted(
        "a destination whose threads compute all the time, though they are in the stage of receiving",
        seen(SENDS, {"receive": 19 * S}, each=flow(cpu=S, rwnd_limited=3 * S), far=flow(cpu=4 * S)),
        Limit.DESTINATION_CPU,
        "destination",
    ),
    Planted(
        "a slow source whose threads compute a little",
        seen({"read": 15 * S, "send": 3 * S}, RECEIVES, each=replace(IDLE, cpu=S, cpu_wait=S)),
        Limit.SOURCE_STORAGE,
        "source",
    ),
    Planted(
        "a source whose container gets little processor time, where the kernel does not count all of the wait",
        seen({"read": S, "hash": S, "send": 17 * S}, RECEIVES, each=replace(IDLE, cpu=S // 2, cpu_wait=S)),
        Limit.SOURCE_CPU,
        "source",
        "limits of containers",
    ),
    Planted(
        "a slow destination below a ceiling, whose memory still takes what the ceiling lets through",
        seen(
            {"send": 3 * S, "ceiling": 14 * S},
            {"receive": 15 * S, "write": S, "commit": 4 * S},
            each=IDLE,
            bytes_durable=40 * MB,
        ),
        Limit.DESTINATION_STORAGE,
        "destination",
    ),
    Planted(
        "a ceiling below what the destination's storage takes, which syncs now and then",
        seen(
            {"send": 3 * S, "ceiling": 14 * S},
            {"receive": 15 * S, "write": S, "commit": 2 * S},
            each=IDLE,
            bytes_durable=100 * MB,
        ),
        Limit.CEILING,
        "service",
    ),
    Planted(
        "a share of the link of its source",
        seen({"send": 3 * S, "share": 14 * S}, RECEIVES, each=IDLE),
        Limit.SHARE,
        "source",
        "headrace qos show",
    ),
    Planted(
        "a share of the link of its destination, which shuts its window",
        seen(SENDS, {"receive": 4 * S, "share": 14 * S}, each=flow(rwnd_limited=4 * S)),
        Limit.SHARE,
        "destination",
        "headrace qos show",
    ),
    Planted(
        "a ceiling", seen({"send": 3 * S, "ceiling": 14 * S}, RECEIVES, each=IDLE), Limit.CEILING, "service", "rate"
    ),
    Planted(
        "the last files",
        seen({"read": S, "hash": S, "send": S}, RECEIVES, each=IDLE, files_done=98),
        Limit.FEW_FILES,
        "service",
    ),
    Planted(
        "a storage that does not answer",
        seen({}, {"write": 5 * S}, files_done=0, bytes_received=0, bytes_durable=0),
        Limit.STALLED,
        "destination",
    ),
    Planted(
        "a network that does not answer",
        seen({"send": 5 * S}, {"receive": 5 * S}, files_done=0, bytes_received=0, bytes_durable=0),
        Limit.UNKNOWN,
        "network",
    ),
    Planted(
        "a local copy, whose stages are as busy as each other",
        seen({}, {"read": 2 * S, "hash": 2 * S, "write": 2 * S, "commit": S, "verify": 2 * S}, flows=0),
        Limit.DESTINATION_STORAGE,
        "destination",
    ),
]


@pytest.mark.parametrize("one", PLANTED, ids=lambda one: one.what)
def test_a_planted_bottleneck_is_named_with_its_evidence_and_its_remedy(one: Planted) -> None:
    found = diagnose("tr_1", one.seen)
    assert (found.limit, found.where) == (one.limit, one.where), found.said
    assert one.remedy in " ".join(found.remedy)
    assert found.evidence or found.limit is Limit.UNKNOWN
    assert (found.measured_s, found.live) == (5, True)


def pressed(
    kernel: Mapping[str, int] | None = None, sockets: SocketLimits | None = None, windows_shut: int = 8
) -> Between:
    """Return five seconds under memory pressure at the destination."""
    each = flow(rwnd_limited=S // 2, retransmits=900)
    one = seen(SENDS, RECEIVES, each=each, windows_seen=100, windows_shut=windows_shut)
    return counted(one, sockets, **({"prune_called": 700} if kernel is None else kernel))


def test_what_the_kernel_said_is_shown_by_the_names_that_it_has_there() -> None:
    found = diagnose("tr_1", pressed(kernel={"prune_called": 700, "receive_queue_drops": 12}))
    shown = {one.name: (one.value, one.unit) for one in found.evidence}
    assert shown["PruneCalled, said the kernel of the destination"] == (700, "")
    assert shown["TCPRcvQDrop, said the kernel of the destination"] == (12, "")
    assert not any("source" in name for name in shown)


def test_what_the_kernel_said_is_shown_beside_any_other_verdict_as_well() -> None:
    found = diagnose("tr_1", counted(seen(SENDS, RECEIVES), backlog_drops=4))
    assert found.limit is Limit.PATH
    assert "TCPBacklogDrop, said the kernel of the destination" in [one.name for one in found.evidence]


def test_a_control_group_that_lets_sockets_hold_too_little_is_named_with_what_it_is_to_be() -> None:
    group = SocketLimits(group_bytes=888_000, group_held=870_000, group_setting="memory.kmem.tcp.limit_in_bytes")
    found = diagnose("tr_1", pressed(sockets=group))
    assert found.limit is Limit.SOCKET_MEMORY
    said = re.search(r"`memory.kmem.tcp.limit_in_bytes` of the node's control group be (\d+) bytes", found.remedy[0])
    assert said is not None
    more = int(said[1]) - 888_000
    assert more >= 2 * found_rate(found) / 8 * 0.020, "twice what is on its way in a round trip"
    assert "it is 888000, of which 870000 are held" in found.remedy[0]


def found_rate(found: m.Diagnosis) -> float:
    return next(one.value for one in found.evidence if one.name == "rate")


def test_the_memory_of_all_sockets_of_a_host_is_named_with_its_three_figures_before_and_after() -> None:
    host = SocketLimits(tcp_mem=(1000, 2000, 3000), tcp_held=2100, page_bytes=4096)
    group = replace(host, group_bytes=2**36, group_held=2**35, group_setting="memory.max")
    for sockets in (host, group):
        remedy = diagnose("tr_1", pressed(sockets=sockets, kernel={})).remedy[0]
        said = re.search(r"sysctl -w net.ipv4.tcp_mem='(\d+) (\d+) (\d+)'; it is '1000 2000 3000'", remedy)
        assert said is not None, remedy
        added = {int(figure) - old for figure, old in zip(said.groups(), host.tcp_mem, strict=True)}
        assert len(added) == 1
        assert added.pop() * 4096 >= 2 * 800 * MB / 8 * 0.020
        assert "sockets of the host hold 2100" in remedy


def test_a_full_group_is_named_and_not_the_setting_of_a_host_that_has_enough() -> None:
    host = SocketLimits(tcp_mem=(1000, 2000, 3000), tcp_held=100, page_bytes=4096)
    group = replace(host, group_bytes=2**27, group_held=2**27, group_setting="memory.max")
    assert "`memory.max`" in diagnose("tr_1", pressed(sockets=group)).remedy[0]
    assert "tcp_mem" not in diagnose("tr_1", pressed(sockets=group)).remedy[0]


def test_a_source_whose_host_gives_sockets_no_memory_is_told_that_and_no_larger_send_buffer() -> None:
    waits = seen(SENDS, RECEIVES, each=flow(sndbuf_limited=3 * S))
    source = replace(waits.after.source, kernel={"memory_pressures": 2})
    found = diagnose("tr_1", replace(waits, after=replace(waits.after, source=source)))
    assert (found.limit, found.where) == (Limit.SOCKET_MEMORY, "source")
    assert "tcp_mem" in found.remedy[0]
    assert "tcp_wmem" not in found.remedy[0]


def test_a_counter_that_went_back_says_nothing() -> None:
    before = replace(BEFORE, destination=SideSample(kernel={"prune_called": 2**63 - 1}))
    found = diagnose("tr_1", Between(before, pressed().after))
    assert found.limit is Limit.LOSS
    assert not any("PruneCalled" in one.name for one in found.evidence)


@given(
    kernel=st.dictionaries(st.sampled_from(sorted(KERNEL)), st.integers(0, 2**63 - 1)),
    sockets=st.builds(
        SocketLimits,
        tcp_mem=st.lists(st.integers(0, 2**63 - 1), max_size=4).map(tuple),
        tcp_held=st.none() | st.integers(0, 2**63 - 1),
        page_bytes=st.none() | st.integers(0, 2**63 - 1),
        group_bytes=st.none() | st.integers(0, 2**63 - 1),
        group_held=st.none() | st.integers(0, 2**63 - 1),
        group_setting=st.text(max_size=40),
    ),
    shut=st.integers(0, 2**64),
    device=st.integers(0, 2**63 - 1),
)
def test_whatever_a_node_says_of_its_kernel_there_is_a_verdict_and_its_words_are_not_repeated(
    kernel: dict[str, int], sockets: SocketLimits, shut: int, device: int
) -> None:
    one = pressed(kernel=kernel, sockets=sockets, windows_shut=shut)
    side = replace(one.after.destination, device_written=device)
    found = diagnose("tr_1", replace(one, after=replace(one.after, source=side, destination=side)))
    assert m.Diagnosis.model_validate_json(found.model_dump_json()) == found
    named = set(re.findall(r"let `([^`]*)`", " ".join(found.remedy)))
    assert named <= {"memory.kmem.tcp.limit_in_bytes", "memory.max"}


def test_the_figures_shown_are_those_that_were_measured() -> None:
    found = diagnose("tr_1", seen(SENDS, RECEIVES, each=flow(rwnd_limited=4 * S, send_window=250_000)))
    shown = {one.name: (one.value, one.unit) for one in found.evidence}
    assert shown == {
        "sender waits for the receive window": (80, "%"),
        "receive window": (250_000, "B"),
        "round trip": (20, "ms"),
        "rate": (800_000_000, "b/s"),
    }


def test_a_transfer_that_waits_for_its_share_is_told_its_class_its_links_and_what_it_is_entitled_to() -> None:
    waits = seen({"send": 3 * S, "share": 14 * S}, RECEIVES, each=IDLE)
    share = m.TransferShare(
        transfer="tr_1", qos_class="bulk", links=["uplink"], guaranteed_bps=100 * MB, entitled_bps=800 * MB
    )
    found = diagnose("tr_1", waits, share=share)
    shown = {one.name: (one.value, one.unit) for one in found.evidence}
    assert shown["entitled to"] == (800 * MB, "b/s")
    assert shown["guaranteed"] == (100 * MB, "b/s")
    assert "as class `bulk` on `uplink`" in found.said
    assert "floor_bps = 1600000000" in " ".join(found.remedy), "twice of what it takes"


def test_what_is_advised_for_a_share_can_be_done_and_is_not_there_already() -> None:
    waits = seen({"send": 3 * S, "share": 14 * S}, RECEIVES, each=IDLE)
    share = m.TransferShare(
        transfer="tr_1", qos_class="bulk", links=["uplink"], needed_bps=9 * MB, guaranteed_bps=5 * MB
    )
    advice = " ".join(diagnose("tr_1", waits, share=share).remedy)
    assert "earlier deadlines go first" in advice
    assert "headrace qos deadline" not in advice, "it has one"
    assert "floor_bps" not in advice
    kept = " ".join(diagnose("tr_1", waits, share=share.model_copy(update={"guaranteed_bps": 9 * MB})).remedy)
    assert "earlier deadlines go first" not in kept


def test_a_transfer_that_its_classes_ceiling_holds_back_is_told_that_and_no_floor_is_advised() -> None:
    waits = seen({"send": 3 * S, "share": 14 * S}, RECEIVES, each=IDLE)
    share = m.TransferShare(
        transfer="tr_1", qos_class="background", links=["uplink", "wan"], entitled_bps=10 * MB,
        ceiling_link="wan", ceiling_bps=20 * MB,
    )  # fmt: skip
    found = diagnose("tr_1", waits, share=share)
    assert (found.limit, found.where) == (Limit.CEILING, "service")
    assert found.said == "the ceiling of its class `background` on `wan`, 20.0 Mb/s, holds it back"
    assert {one.name: one.value for one in found.evidence}["ceiling of its class"] == 20 * MB
    assert "raise `ceiling_bps` of class `background` on `wan`" in " ".join(found.remedy)
    assert "floor" not in " ".join(found.remedy)


def test_a_transfer_that_its_own_ceiling_holds_back_is_told_how_high_that_is() -> None:
    held = seen({"send": 3 * S, "ceiling": 14 * S}, RECEIVES, each=IDLE)
    assert diagnose("tr_1", held, 5_000_000_000).said == "its rate ceiling of 5.00 Gb/s holds it back"


def test_a_share_that_no_window_or_loss_explains_is_none_of_theirs() -> None:
    near = flow(rwnd_limited=S, sndbuf_limited=S, retransmits=40)
    assert diagnose("tr_1", seen(SENDS, RECEIVES, each=near)).limit is Limit.PATH


def test_a_count_that_begins_anew_counts_as_nothing() -> None:
    whole = seen(SENDS, RECEIVES)
    before = replace(BEFORE, bytes_received=900 * MB, bytes_durable=900 * MB, source=whole.after.source)
    found = Between(before, whole.after)
    assert (found.received, found.durable, found.rate_bps, found.flow_sum("busy")) == (0, 0, 0, 0)
    restarted = replace(whole.after, source=SideSample(flows={0: FlowSample(busy=S)}, stages={"send": S}))
    assert Between(replace(BEFORE, source=whole.after.source), restarted).busy_s("source") == 0


def test_a_count_that_wraps_counts_as_nothing_until_it_has_grown_again() -> None:
    near_the_end = flow(retransmits=2**32 - 10, sent=2**32 - 1000)
    before = replace(BEFORE, source=SideSample(flows=dict.fromkeys(range(4), near_the_end), stages={}))
    wrapped = seen(SENDS, RECEIVES, each=flow(busy=10 * S, retransmits=5, sent=500))
    found = Between(before, wrapped.after)
    assert (found.flow_sum("retransmits"), found.flow_sum("sent"), found.flow_sum("busy")) == (0, 0, 20 * S)
    assert diagnose("tr_1", found).limit is Limit.PATH


def test_where_the_kernel_refuses_tcp_info_stages_alone_are_judged() -> None:
    slow = {"receive": 4 * S, "write": 10 * S, "commit": 4 * S}
    assert diagnose("tr_1", seen(SENDS, slow, flows=0)).limit is Limit.DESTINATION_STORAGE
    assert diagnose("tr_1", seen({"hash": 12 * S, "send": 5 * S}, RECEIVES, flows=0)).limit is Limit.SOURCE_CPU
    network = diagnose("tr_1", seen(SENDS, RECEIVES, flows=0))
    assert (network.limit, network.where) == (Limit.PATH, "network")
    assert "encrypting and sending" in network.said


def test_too_little_says_nothing() -> None:
    whole = seen(SENDS, RECEIVES)
    short = Between(BEFORE, replace(whole.after, at=NOW + timedelta(milliseconds=900)))
    assert diagnose("tr_1", short).limit is Limit.UNKNOWN


def test_what_stands_still_says_since_when() -> None:
    found = diagnose("tr_1", seen({}, {"write": 5 * S}, files_done=0, bytes_received=0, bytes_durable=0))
    assert stalled(found, NOW, NOW + timedelta(seconds=9)) == found
    long = stalled(found, NOW, NOW + timedelta(seconds=75))
    assert (long.limit, long.since, long.where) == (Limit.STALLED, NOW, "destination")
    assert long.said.startswith("nothing has moved for 1 min 15 s")


def waits_for_storage(**sides: int) -> Between:
    """Return five seconds in which the destination syncs and nothing arrives."""
    quiet = seen({}, {"commit": 5 * S}, files_done=0, bytes_received=0, bytes_durable=0)
    before = replace(quiet.before, destination=SideSample(device_written=sides["before"]))
    after = replace(quiet.after, destination=replace(quiet.after.destination, device_written=sides["after"]))
    return Between(before, after)


def test_a_disk_that_writes_while_nothing_is_durable_is_slow_and_does_not_stand_still() -> None:
    found = stalled(diagnose("tr_1", waits_for_storage(before=MB, after=11 * MB)), NOW, NOW + timedelta(seconds=28))
    assert (found.limit, found.where) == (Limit.DESTINATION_STORAGE, "destination")
    assert "takes 16.0 Mb/s" in found.said
    shown = {one.name: one.value for one in found.evidence}
    assert (shown["its device writes"], shown["nothing moved for"]) == (16 * MB, 28)


@pytest.mark.parametrize("sides", [{"before": MB, "after": MB + 4096}, {"before": 0, "after": 11 * MB}])
def test_a_disk_that_writes_next_to_nothing_or_of_which_that_is_not_known_stands_still(sides: dict[str, int]) -> None:
    found = stalled(diagnose("tr_1", waits_for_storage(**sides)), NOW, NOW + timedelta(seconds=28))
    assert (found.limit, found.where) == (Limit.STALLED, "destination")


def test_an_attempt_that_stood_still_for_much_of_its_time_says_so_afterwards() -> None:
    moved = diagnose("tr_1", seen(SENDS, RECEIVES), live=False)
    found = stood_still(moved, 12, 30, "destination")
    assert (found.limit, found.where) == (Limit.STALLED, "destination")
    assert found.said == (
        "nothing moved for 12 s of the 30 s in which it was to move: the destination's storage did not answer"
    )
    assert "headrace doctor --probe" in found.remedy[0]
    assert stood_still(moved, 8, 10, "destination") == moved, "too short"
    assert stood_still(moved, 12, 3600, "destination") == moved
    assert "network" in stood_still(moved, 12, 30, "network").said


def test_every_limit_is_described() -> None:
    page = (REPOSITORY / "docs" / "operations" / "diagnosis.md").read_text(encoding="utf-8")
    rows = "".join(line.split("|")[1] for line in page.splitlines() if line.startswith("| `"))
    assert set(re.findall(r"`(\w+)`", rows)) - {"limit"} == set(Limit)


COUNT = st.integers(0, 2**64)


@given(
    before=st.fixed_dictionaries(dict.fromkeys(STAGES, COUNT)),
    after=st.fixed_dictionaries(dict.fromkeys(STAGES, COUNT)),
    flows=st.lists(
        st.builds(
            FlowSample,
            **dict.fromkeys(
                ("rtt", "min_rtt", "busy", "sent", "retransmits", "rwnd_limited", "cpu", "cpu_wait"), COUNT
            ),
        ),
        max_size=3,
    ),
    counts=st.fixed_dictionaries(
        dict.fromkeys(("bytes_received", "bytes_durable", "files_done", "files_total"), COUNT)
    ),
    seconds=st.integers(-100, 10**6),
)
def test_whatever_a_node_says_there_is_a_verdict(
    before: dict[str, int], after: dict[str, int], flows: list[FlowSample], counts: dict[str, Any], seconds: int
) -> None:
    first = replace(BEFORE, destination=SideSample(stages=before), source=SideSample(stages=after))
    side = SideSample(flows=dict(enumerate(flows)), stages=after)
    last = Sample(at=NOW + timedelta(seconds=seconds), source=side, destination=side, streams=3, **counts)
    found = diagnose("tr_1", Between(first, last))
    assert m.Diagnosis.model_validate_json(found.model_dump_json()) == found


def test_before_anything_has_arrived_for_a_while_no_cause_is_guessed() -> None:
    quiet = seen({"send": 4 * S}, {}, bytes_received=0, bytes_durable=0, files_done=0)
    found = diagnose("tr_1", quiet)
    early = stalled(found, NOW, NOW + timedelta(seconds=3))
    assert (early.limit, early.where) == (Limit.UNKNOWN, "")
    assert early.said == "too early to say: nothing has arrived for 3 s; ask again in 7 s"
    late = stalled(found, NOW, NOW + timedelta(seconds=10))
    assert (late.limit, "look at the network" in late.said) == (Limit.STALLED, True)


def test_a_source_that_its_ceiling_holds_is_named_before_anything_has_arrived() -> None:
    seen_nothing = partial(seen, bytes_received=0, bytes_durable=0, files_done=0)
    assert diagnose("tr_1", seen_nothing({"ceiling": 4 * S}, {})).limit is Limit.CEILING
    # A moment at the ceiling, and then nothing arrives: that is not what holds it.
    assert diagnose("tr_1", seen_nothing({"ceiling": S // 10}, {})).limit is not Limit.CEILING


def test_less_than_a_second_says_when_to_ask_again() -> None:
    short = Between(BEFORE, replace(BEFORE, at=NOW + timedelta(milliseconds=500)))
    assert diagnose("tr_1", short).said == "too early to say what limits it; ask again in 2 s"
    assert "ask again" not in diagnose("tr_1", short, live=False).said
