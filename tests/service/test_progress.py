"""What moves no bytes is progress as well: names that are listed, checked, made and deleted."""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.servers.site import Site, started_site
from tests.service.test_transfers import SLOW_BPS, large_set, until

from headrace.api.errors import Code, ServiceError
from headrace.api.jobs.turns import InLine
from headrace.api.settings import Settings
from headrace.api.transfers.attempts import is_interrupted
from headrace.api.transfers.receipts import Checked
from headrace.api.transfers.run_state import End, Run
from headrace.api.transfers.samples import KERNEL, STAGES
from headrace.api.transfers.state_machine import Standing, State, Wish
from headrace.client import models as m

NOW = datetime(2026, 11, 27, 7, tzinfo=UTC)
S = 1_000_000
"""A second in microseconds."""


def run(action: str = "sync", *, trash: bool = False, **survey: int) -> Run:
    """Return a transfer whose attempt runs, by a plan whose survey counted so."""
    counts = {"files": 1000, "identical_files": 0, "conflicts": 0, "bytes": 8000, "deletes": 0} | survey
    execution = {"max_bytes": "1000000"} | ({"trash": {"keep_days": "7"}} if trash else {})
    made = Run("tr_1", "0" * 64, "a", "b", 1, InLine(0, NOW, "tr_1", "pn_1"), attempt=1, open=True)
    made.released = SimpleNamespace(fields={"survey": {k: str(v) for k, v in counts.items()}}, execution=execution)  # type: ignore[assignment]
    made.moves_sources = action == "move"
    return made


def side(*, deleted: int = 0, looked_at: int = 0, durable_steps: int = 0, delete_s: float = 0) -> SimpleNamespace:
    stages = SimpleNamespace(**{f"{stage}_us": 0 for stage in STAGES} | {"delete_us": int(delete_s * S)})
    counts = {"deleted": deleted, "looked_at": looked_at, "durable_steps": durable_steps}
    return SimpleNamespace(flows=[], stages=stages, socket_memory=None, device_written_bytes=None, **counts)


def told(source: SimpleNamespace | None = None, destination: SimpleNamespace | None = None, **counts: Any) -> Any:  # noqa: ANN401 - as the hub tells it
    """Return what the hub tells of an attempt."""
    names = "files_total files_done files_failed bytes_total bytes_received bytes_durable resent_bytes rate_bps streams"
    usual: dict[str, Any] = dict.fromkeys(names.split(), 0) | {"listed": True, "limiter": ""}
    return SimpleNamespace(source=source or side(), destination=destination or side(), **usual | counts)


def note(one: Run, events: Iterable[Any]) -> m.Progress:
    """Tell one event a second."""
    for second, event in enumerate(events):
        one.note_progress(event, NOW + timedelta(seconds=second))
    return one.progress


DONE: dict[str, Any] = {"files_total": 10, "files_done": 10}


@pytest.mark.parametrize("trash", [False, True])
def test_what_a_sync_deletes_is_shown_and_is_life_and_the_diagnosis_says_so(trash: bool) -> None:  # noqa: FBT001
    one = run(deletes=100_000, trash=trash)
    shown = note(
        one, (told(destination=side(deleted=2000 * s, looked_at=2000 * s, delete_s=s), **DONE) for s in range(31))
    )
    assert (shown.deleted, shown.deletes_total, shown.deleted_to_trash) == (60_000, 100_000, trash)
    assert (shown.eta_low_s, shown.eta_s, shown.eta_high_s) == (16, 20, 25)
    assert one.diagnosis is not None
    assert (one.diagnosis.limit, one.diagnosis.where) == (m.Limit.NAMES, "destination")
    assert shown.limiter == "its time goes into deleting: 2,000 names a second"
    assert (one.diagnosis.evidence[0].name, one.diagnosis.evidence[0].value) == ("deleted", 14_000)


def test_the_sources_that_a_move_deletes_are_counted_at_the_source() -> None:
    one = run("move", files=10)
    shown = note(one, (told(source=side(deleted=s // 2, delete_s=s), **DONE) for s in range(13)))
    assert (shown.sources_deleted, shown.deleted, shown.deletes_total) == (6, 0, 0)
    assert one.diagnosis is not None
    assert (one.diagnosis.limit, one.diagnosis.where) == (m.Limit.NAMES, "source")
    assert shown.eta_s == 7, "4 of 10 are left, and the last 4 took 7 s"


def test_names_that_are_only_looked_at_are_life() -> None:
    one = run(deletes=100_000)
    shown = note(one, (told(destination=side(looked_at=30 * s), **DONE) for s in range(31)))
    assert one.diagnosis is not None
    assert (one.diagnosis.limit, one.diagnosis.where) == (m.Limit.NAMES, "destination")
    assert shown.limiter == "the destination lists, compares or checks 30 names a second; no bytes move"
    assert (shown.deleted, shown.eta_s) == (0, None)


def test_a_storage_that_answers_no_delete_any_more_is_named_as_stalled() -> None:
    one = run(deletes=100_000)
    note(one, (told(destination=side(deleted=min(s, 5), looked_at=min(s, 5), delete_s=s), **DONE) for s in range(31)))
    assert one.diagnosis is not None
    assert (one.diagnosis.limit, one.diagnosis.where) == (m.Limit.STALLED, "destination")
    assert one.diagnosis.said == "nothing has moved for 25 s: the destination's storage does not answer"


def test_files_without_a_byte_are_life() -> None:
    one = run()
    note(one, (told(files_total=1000, files_done=10 * s) for s in range(31)))
    assert one.diagnosis is not None
    assert one.diagnosis.limit is not m.Limit.STALLED


def test_of_nodes_that_tell_no_names_all_is_as_it_was() -> None:
    """A node of the version before says nothing of names and of its list."""
    one = run(deletes=100_000)
    shown = note(one, (told(listed=None, files_total=7, files_done=7, bytes_total=70) for s in range(31)))
    assert (shown.files_total, shown.bytes_total, shown.deleted, shown.deletes_total) == (7, 70, 0, 100_000)
    assert one.diagnosis is not None
    assert one.diagnosis.limit is m.Limit.STALLED


def rate_in(found: m.Diagnosis | None) -> float:
    """Return the rate that a verdict shows."""
    assert found is not None
    return next(one.value for one in found.evidence if one.name == "rate")


def test_what_earlier_attempts_brought_is_no_rate_of_this_one() -> None:
    one = run()
    one.progress = m.Progress(files_total=10, files_done=3, bytes_total=10**9, bytes_durable=10**8)
    counted = [told(files_total=10, bytes_total=10**9, bytes_durable=10**8 + 10**6 * s) for s in range(1, 6)]
    note(one, [told(), *counted])
    assert rate_in(one.whole()) == 8 * 10**6
    assert rate_in(one.diagnosis) == 8 * 10**6


def test_a_ceiling_that_held_for_a_moment_at_the_end_is_not_what_limited_the_whole() -> None:
    one = run()
    one.ceiling_bps = 8 * 10**6
    moved = [told(files_total=10, bytes_total=10**9, bytes_durable=10**6 * s) for s in range(12)]
    note(one, moved)
    one.ceiling_bps = 8 * 10**8
    for second, event in enumerate(moved[:3], start=12):
        event.bytes_durable += 12 * 10**6
        one.note_progress(event, NOW + timedelta(seconds=second))
    whole = one.whole()
    assert whole is not None
    assert whole.measured_s == 11
    assert rate_in(whole) == 8 * 10**6


def test_what_an_earlier_attempt_deleted_stays_counted_until_the_next_one_comes_there() -> None:
    one = run(deletes=100)
    note(one, [told(destination=side(deleted=40), **DONE)])
    assert note(one, [told(destination=side(deleted=0), **DONE)]).deleted == 40
    assert note(one, [told(destination=side(deleted=70), **DONE)]).deleted == 70


def test_while_the_source_is_being_listed_totals_are_what_the_survey_counted() -> None:
    one = run(files=900, identical_files=90, conflicts=10, bytes=8000)
    listing = told(listed=False, files_total=40, files_done=20, bytes_total=400, bytes_durable=200, rate_bps=800)
    shown = note(one, [listing])
    assert (shown.files_total, shown.bytes_total) == (1000, 8000)
    assert shown.eta_s == 78, "of all that was surveyed: 7,800 bytes at 100 a second"
    grown = note(one, [told(listed=False, files_total=1001, bytes_total=9000)])
    assert (grown.files_total, grown.bytes_total) == (1001, 9000)
    whole = note(one, [told(listed=True, files_total=50, files_done=20, bytes_total=500)])
    assert (whole.files_total, whole.bytes_total) == (50, 500)


def test_before_anything_is_listed_the_survey_is_shown_and_a_retry_of_what_failed_shows_what_it_has() -> None:
    assert note(run(), [told(listed=False)]).files_total == 1000
    retried = run()
    retried.only_failed = True
    assert note(retried, [told(listed=False, files_total=3)]).files_total == 3


def test_after_a_restart_of_the_service_the_last_totals_hold_until_the_plan_is_read() -> None:
    one = run()
    one.released, one.progress = None, m.Progress(files_total=1000, bytes_total=8000, deletes_total=5)
    shown = note(one, [told(listed=False, files_total=40, bytes_total=400)])
    assert (shown.files_total, shown.bytes_total, shown.deletes_total) == (1000, 8000, 5)


@pytest.mark.parametrize(
    ("event", "advanced"),
    [
        (told(destination=side(durable_steps=1), **DONE), True),
        (told(source=side(durable_steps=1), **DONE), True),
        (told(**DONE), False),
        (told(bytes_durable=1, **DONE), True),
    ],
    ids=[
        "a name was made or deleted",
        "a source was deleted",
        "all was there",
        "a byte, of a node that counts no steps",
    ],
)
def test_an_attempt_that_did_anything_for_good_has_advanced(event: Any, advanced: bool) -> None:  # noqa: ANN401, FBT001
    one = run()
    note(one, [event])
    assert one.advanced is advanced


@pytest.mark.anyio
async def test_an_attempt_that_made_only_files_without_bytes_is_no_attempt_that_moved_nothing(tmp_path: Path) -> None:
    async with started_site(tmp_path, replace(Settings(), attempts_without_progress=1)) as site:
        await site.start_node("left", [("lab", str(site.lab), "delete"), ("archive", str(site.archive), "delete")])
        large_set(site, 1, 64 << 20)
        for number in range(20):
            (site.lab / "set" / f"{number}.empty").touch()
        transfer = await site.ada.submit(await site.ada.plan("lab:/set", "archive:/copy", rate_limit_bps=SLOW_BPS))
        async with asyncio.timeout(30):
            async for event in site.ada.port.watch(transfer.id):
                if event.transfer is not None and event.transfer.progress.files_done:
                    break
        # The first unit of the large file comes after 4 s: until then there are only names.
        await site.service.whole.core.hub.stop_attempt(transfer=transfer.id, reason="the test wants another attempt")
        shown = await until(site, transfer, "waiting", "failed")
        assert shown.state is m.TransferState.WAITING, shown.summary
        await site.ada.port.control(transfer.id, m.ControlRequest(action="cancel"))
        await site.ada.end_of(transfer)


@pytest.mark.anyio
async def test_a_move_ends_with_how_many_sources_it_deleted(site: Site) -> None:
    large_set(site, 3, 10)
    plan = await site.ada.plan("lab:/set", "archive:/copy", action="move")
    ended = await site.ada.end_of(await site.ada.submit(await site.ada.confirm(plan)))
    assert ended.state is m.TransferState.COMPLETE, ended.summary
    assert (ended.progress.sources_deleted, ended.progress.sources_kept, ended.progress.deleted) == (3, 0, 0)


def connection(**figures: int) -> SimpleNamespace:
    """Return a connection as the hub tells it: what is not said is 0."""
    counts = "stream mss_bytes sent_packets retransmits send_window_bytes receive_window_bytes"
    times = "age rtt min_rtt busy rwnd_limited sndbuf_limited cpu cpu_wait"
    usual = dict.fromkeys([*counts.split(), *(f"{name}_us" for name in times.split())], 0)
    return SimpleNamespace(congestion_control="bbr", **usual | figures)


def test_windows_that_are_shut_between_two_samples_are_told_as_memory_pressure_with_what_sockets_lack() -> None:
    one = run()
    for report in range(41):
        # Samples are a second apart: pressure shows in none of them.
        shut, micros = report % 4 in {1, 2}, report * S // 4
        sends = connection(
            mss_bytes=1448, min_rtt_us=50_000, busy_us=micros, rwnd_limited_us=micros // 5, send_window_bytes=400_000
        )
        source, destination = side(), side()
        source.flows = [sends]
        destination.flows = [connection(receive_window_bytes=5_792 if shut else 400_000)]
        event = told(source, destination, files_total=10, bytes_total=2**40, bytes_received=report * 10**6)
        one.note_progress(event, NOW + timedelta(seconds=report / 4))
    for found in (one.diagnosis, one.whole()):
        assert found is not None
        assert (found.limit, found.where) == (m.Limit.SOCKET_MEMORY, "destination"), found.said
        shown = {piece.name: (piece.value, piece.unit) for piece in found.evidence}
        assert shown["receive windows shut"] == (50, "%")
        assert "by 1024 pages of 4 KiB" in found.remedy[0]
        assert "by 4194304 bytes" in found.remedy[0]


@pytest.mark.anyio
@pytest.mark.parametrize("asked", ["nothing", "pause"])
async def test_a_move_that_is_stopped_while_it_deletes_sources_goes_on_with_the_rest(
    site: Site, monkeypatch: pytest.MonkeyPatch, asked: str
) -> None:
    large_set(site, 3, 10)
    left = site.lab / "set" / "0.bin"
    was = {path.name: path.read_bytes() for path in (site.lab / "set").iterdir()}
    also = site.lab / "also"
    also.hardlink_to(left)
    receipts = site.use_cases.receipts
    check, ends = receipts.check, list[str]()

    async def stopped_at_first(run: Run, end: End) -> Checked:
        checked = await check(run, end)
        ends.append(end.outcome)
        if len(ends) > 1:
            return checked
        # As the node would say and leave it, had it been stopped a moment earlier.
        left.parent.mkdir(exist_ok=True)
        left.hardlink_to(also)
        if asked == "pause":
            await site.ada.port.control(run.transfer, m.ControlRequest(action="pause"))
        stays = m.KeptSources(reason=m.KeptReason.STOPPED, count=1, detail="stopped on request")
        return replace(checked, kept=(stays,))

    monkeypatch.setattr(receipts, "check", stopped_at_first)
    plan = await site.ada.plan("lab:/set", "archive:/copy", action="move")
    transfer = await site.ada.submit(await site.ada.confirm(plan))
    if asked == "pause":
        shown = await until(site, transfer, "paused", "complete", "failed")
        assert (shown.state, left.exists()) == (m.TransferState.PAUSED, True), shown.summary
        await site.ada.port.control(transfer.id, m.ControlRequest(action="resume"))
    ended = await site.ada.end_of(transfer)
    assert (ended.state, ended.attempt) == (m.TransferState.COMPLETE, 2), ended.summary
    assert (ended.progress.files_total, ended.progress.sources_deleted, ended.progress.sources_kept) == (3, 3, 0)
    assert not left.exists()
    assert {path.name: path.read_bytes() for path in (site.archive / "copy").iterdir()} == was
    assert "Sources that stay" not in (await site.ada.port.receipt(ended.id)).summary


def test_a_cancel_or_a_refusal_ends_a_move_with_the_sources_that_stay() -> None:
    stays = m.KeptSources(reason=m.KeptReason.STOPPED, count=1, detail="stopped on request")
    changed = m.KeptSources(reason=m.KeptReason.CHANGED, count=1, detail="changed")
    moving, denied = run("move"), run("move")
    denied.refusal = ServiceError(Code.OUTSIDE_HOURS, "its hours are over")
    ends = [
        is_interrupted(Checked(End("complete"), {}, Path(), (kept,), ()), one, Standing(State.RUNNING, wish=wish))
        for kept, one, wish in (
            (stays, moving, Wish.RUN),
            (stays, moving, Wish.PAUSE),
            (stays, moving, Wish.CANCEL),
            (stays, denied, Wish.RUN),
            (changed, moving, Wish.PAUSE),
        )
    ]
    assert ends == [True, True, False, False, False]


def kernel(**rises: Any) -> SimpleNamespace:  # noqa: ANN401 - as a node tells it
    """Return what a node tells of its kernel: what is not said rose by nothing."""
    limits = dict.fromkeys(["tcp_held_pages", "page_bytes", "group_limit_bytes", "group_held_bytes"])
    usual: dict[str, Any] = dict.fromkeys(KERNEL, 0) | limits | {"tcp_mem_pages": [], "group_setting": ""}
    return SimpleNamespace(**usual | rises)


def pressed(seconds: int, told_of: Callable[[int], SimpleNamespace | None]) -> Run:
    """Return a run whose sender sends again all the time, and one of whose ten windows is shut."""
    one = run()
    for second in range(seconds):
        micros = second * S
        source, destination = side(), side()
        counts = {"sent_packets": 1000 * second, "retransmits": 200 * second, "send_window_bytes": 400_000}
        times = {"min_rtt_us": 50_000, "rtt_us": 50_000, "busy_us": micros, "rwnd_limited_us": micros // 20}
        source.flows = [connection(stream=number, mss_bytes=1448, **counts, **times) for number in range(2)]
        windows = [5_792] + [400_000] * 9
        destination.flows = [
            connection(stream=number, receive_window_bytes=size) for number, size in enumerate(windows)
        ]
        destination.socket_memory = told_of(second)
        event = told(source, destination, files_total=10, bytes_total=2**40, bytes_received=second * 10**6)
        one.note_progress(event, NOW + timedelta(seconds=second))
    return one


def test_what_the_kernel_counts_settles_it_while_it_runs_and_over_the_whole_attempt() -> None:
    one = pressed(30, lambda second: kernel(prune_called=100 * second))
    for found, rose in ((one.diagnosis, 700), (one.whole(), 2900)):
        assert found is not None
        assert (found.limit, found.where) == (m.Limit.SOCKET_MEMORY, "destination"), found.said
        shown = {piece.name: piece.value for piece in found.evidence}
        assert shown["PruneCalled, said the kernel of the destination"] == rose


@pytest.mark.parametrize(
    "told_of",
    [
        lambda _: None,
        lambda _: kernel(prune_called=None),
        lambda _: kernel(),
        lambda second: kernel(prune_called=2**63 - 1 - 100 * second),
    ],
    ids=["a node of the release before", "a counter that went back", "a kernel that has enough", "one that only falls"],
)
def test_where_the_kernel_says_nothing_the_verdict_is_that_of_windows_and_losses(
    told_of: Callable[[int], SimpleNamespace | None],
) -> None:
    one = pressed(8, told_of)
    assert one.diagnosis is not None
    assert one.diagnosis.limit is m.Limit.LOSS


def waits(until: int, *, moves: Callable[[int], bool], writes_bps: int = 0, stops_at: int = 10**6) -> Run:
    """Return a run that moves in some seconds alone, and whose destination syncs in the others."""
    one, moved, waited = run(), 0, 0.0
    for second in range(until):
        one.stopping_since = NOW if second >= stops_at else None
        moved, waited = moved + moves(second), waited + (not moves(second))
        destination = side()
        destination.stages.commit_us = int(waited * S)
        destination.device_written_bytes = 10**9 + second * writes_bps // 8
        event = told(destination=destination, files_total=10, bytes_total=2**40, bytes_received=moved * 10**6)
        one.note_progress(event, NOW + timedelta(seconds=second))
    return one


def test_a_storage_that_stood_still_and_came_back_is_what_limited_the_whole() -> None:
    one = waits(30, moves=lambda second: not 5 <= second < 20)
    assert one.diagnosis is not None
    assert one.diagnosis.limit is not m.Limit.STALLED
    whole = one.whole()
    assert whole is not None
    assert (whole.limit, whole.where) == (m.Limit.STALLED, "destination")
    said = "nothing moved for 16 s of the 29 s in which it was to move: the destination's storage did not answer"
    assert whole.said == said


def test_standstills_that_come_one_after_the_other_count_together() -> None:
    whole = waits(60, moves=lambda second: second % 15 == 0).whole()
    assert whole is not None
    assert whole.limit is m.Limit.STALLED
    assert whole.said.startswith("nothing moved for 59 s of the 59 s")


def test_a_disk_that_writes_all_the_time_does_not_stand_still_however_long_it_syncs() -> None:
    one = waits(40, moves=lambda second: second < 5, writes_bps=16 * 10**6)
    for found in (one.diagnosis, one.whole()):
        assert found is not None
        assert (found.limit, found.where) == (m.Limit.DESTINATION_STORAGE, "destination"), found.said


def test_the_time_that_a_stop_takes_does_not_make_a_standstill_before_it_small() -> None:
    whole = waits(90, moves=lambda second: second < 5 or second == 18, stops_at=19).whole()
    assert whole is not None
    assert whole.limit is m.Limit.STALLED
    assert whole.said.startswith("nothing moved for 14 s of the 18 s")


def test_that_nothing_moves_while_it_is_to_stop_is_no_standstill_of_the_whole() -> None:
    whole = waits(40, moves=lambda second: second < 5, stops_at=6).whole()
    assert whole is not None
    assert whole.limit is m.Limit.DESTINATION_STORAGE


def test_what_comes_after_another_ceiling_is_judged_by_what_came_since() -> None:
    one = run()
    for second in range(30):
        one.ceiling_bps = 8 * 10**6 if second < 5 else 8 * 10**9
        event = told(files_total=10, bytes_total=2**40, bytes_received=10**6 * second + 10**9 * (second > 2))
        one.note_progress(event, NOW + timedelta(seconds=second))
    assert rate_in(one.whole()) == 8 * 10**6


COUNT = st.none() | st.integers(0, (1 << 64) - 1)


@given(
    rises=st.fixed_dictionaries(dict.fromkeys([*KERNEL, "group_limit_bytes", "group_held_bytes", "page_bytes"], COUNT)),
    tcp_mem=st.lists(st.integers(0, (1 << 64) - 1), max_size=5),
    setting=st.text(),
    device=COUNT,
)
def test_whatever_a_node_tells_of_its_kernel_the_service_goes_on(
    rises: dict[str, int | None], tcp_mem: list[int], setting: str, device: int | None
) -> None:
    # The hub hands on less; what it lets through may change.
    one = pressed(3, lambda second: kernel(**{name: rise for name, rise in rises.items() if second}))
    last = side()
    last.socket_memory = kernel(tcp_mem_pages=tcp_mem, group_setting=setting, **rises)
    last.device_written_bytes = device
    shown = note(one, [told(source=last, destination=last, files_total=10), told(source=side(), destination=last)])
    assert m.Progress.model_validate_json(shown.model_dump_json()) == shown
    for found in (one.diagnosis, one.whole()):
        assert found is not None
        assert m.Diagnosis.model_validate_json(found.model_dump_json()) == found
