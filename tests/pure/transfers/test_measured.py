"""Connections and stages between two moments, whatever figures nodes give."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from headrace.api.transfers.measured import Measurements
from headrace.client import models as m

NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)
S = 1_000_000
STAGES = ("read", "hash", "send", "receive", "verify", "write", "commit", "ceiling", "share", "delete")
FIELDS = (
    *("age_us", "rtt_us", "min_rtt_us", "receive_rtt_us", "cwnd_packets", "mss_bytes", "delivery_rate_bps"),
    *("pacing_rate_bps", "sent_packets", "retransmits", "reorderings", "busy_us", "rwnd_limited_us"),
    *("sndbuf_limited_us", "app_limited_us", "unsent_bytes", "send_window_bytes", "receive_window_bytes"),
    *("acknowledged_bytes", "received_bytes"),
)


def side(flows: list[Any] | None = None, **stages: int) -> Any:  # noqa: ANN401 - as the engine makes it
    times = {f"{name}_us": stages.get(name, 0) for name in STAGES}
    return SimpleNamespace(flows=flows or [], stages=SimpleNamespace(**times))


def flow(stream: int = 1, **seen: int) -> Any:  # noqa: ANN401
    return SimpleNamespace(stream=stream, congestion_control="cubic", **{name: seen.get(name, 0) for name in FIELDS})


def told(received: int, source: Any, destination: Any) -> Any:  # noqa: ANN401
    return SimpleNamespace(bytes_received=received, bytes_durable=0, source=source, destination=destination)


def show(*events: Any, live: bool = True, local: bool = False, every_s: float = 1) -> m.Measured:  # noqa: ANN401
    measured = Measurements()
    for number, event in enumerate(events):
        measured.note(event, NOW + timedelta(seconds=number * every_s))
    return measured.show("tr_1", local=local, live=live)


def test_a_stage_has_its_share_its_threads_and_what_it_would_carry_alone() -> None:
    found = show(
        told(0, side(), side()),
        told(10 * S, side(read=S // 2, send=3 * S // 2), side(receive=S, commit=S)),
    )
    assert (found.rate_bps, found.seconds, found.source.threads) == (80 * S, 1, 2)
    assert [(one.name, one.busy_percent, one.threads, one.capacity_bps) for one in found.source.stages] == [
        ("read", 25, 0.5, 320 * S),
        ("send", 75, 1.5, 80 * S * 4 // 3),
    ]
    assert [one.name for one in found.destination.stages] == ["receive", "commit"]
    local = show(told(0, side(), side()), told(1, side(), side(read=S, write=S)), local=True)
    assert [one.name for one in local.destination.stages] == ["read", "write"]


def test_the_wait_for_a_share_is_a_stage_where_anybody_waits() -> None:
    waits = show(told(0, side(), side()), told(1, side(send=S, share=3 * S), side(receive=S, share=100)))
    assert [(one.name, one.busy_percent) for one in waits.source.stages] == [("share", 75.0), ("send", 25.0)]
    assert [one.name for one in waits.destination.stages] == ["receive"], "asking for it takes some microseconds"


def test_deletes_are_a_stage_where_there_are_any() -> None:
    deletes = show(told(0, side(), side()), told(1, side(send=S, delete=100), side(receive=S, delete=3 * S)))
    assert [one.name for one in deletes.source.stages] == ["send"], "to look whether there are any is no stage"
    assert [(one.name, one.busy_percent) for one in deletes.destination.stages] == [("receive", 25.0), ("delete", 75.0)]


def test_counts_of_a_connection_are_those_of_the_time_and_what_went_back_is_nothing() -> None:
    before = flow(age_us=9 * S, retransmits=7, sent_packets=100, acknowledged_bytes=S, rwnd_limited_us=S)
    after = flow(
        age_us=10 * S, retransmits=9, sent_packets=50, acknowledged_bytes=3 * S, rwnd_limited_us=3 * S // 2, rtt_us=20
    )
    found = show(told(0, side([before]), side()), told(1, side([after, flow(2, age_us=S // 2, retransmits=4)]), side()))
    one, two = found.source.flows
    assert (one.retransmits, one.sent_packets, one.rate_bps, one.rwnd_limited_percent) == (2, 0, 16 * S, 50)
    # It began in between: all of it counts, over its own age.
    assert (two.retransmits, two.rwnd_limited_percent) == (4, 0)


def test_live_looks_back_some_seconds_and_afterwards_over_the_whole_attempt() -> None:
    events = [told(number * S, side(), side()) for number in range(30)]
    assert (show(*events).seconds, show(*events, live=False).seconds) == (6, 29)
    assert show(events[0]).at is None
    assert show(*events, every_s=0.25, live=False).seconds < 8


def test_a_node_whose_kernel_refuses_tcp_info_shows_its_stages_alone() -> None:
    found = show(told(0, side(), side()), told(S, side(read=S), side(receive=S)))
    assert (found.source.flows, found.destination.flows) == ([], [])
    assert [one.name for one in (*found.source.stages, *found.destination.stages)] == ["read", "receive"]


def test_counters_that_wrap_count_as_nothing() -> None:
    wrapped = flow(age_us=2 * S, sent_packets=3, acknowledged_bytes=5)
    found = show(
        told(0, side([flow(age_us=S, sent_packets=2**32 - 1, acknowledged_bytes=2**32)]), side()),
        told(1, side([wrapped]), side()),
    )
    assert [(one.sent_packets, one.rate_bps) for one in found.source.flows] == [(0, 0)]


@given(st.lists(st.integers(0, 2**64 - 1), min_size=2 * len(FIELDS), max_size=2 * len(FIELDS)), st.integers(0, 2**64))
def test_whatever_a_node_says_there_is_an_answer(counts: list[int], stage: int) -> None:
    flows = [flow(**dict(zip(FIELDS, counts[at : at + len(FIELDS)], strict=True))) for at in (0, len(FIELDS))]
    found = show(told(stage, side(flows[:1]), side()), told(2**64, side(flows[1:] * 80, read=stage, hash=1), side()))
    assert len(found.source.flows) <= 64
    assert m.Measured.model_validate_json(found.model_dump_json()) == found
