import asyncio
import hashlib
import json
import os
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from sqlalchemy import select, update
from tests.servers.site import Site, digest_of, settled, started_site
from tests.service.refusals import refused
from tests.service.test_consent import publish
from tests.service.test_signer import FROZEN

from headrace.api.clock import utc_now
from headrace.api.errors import ServiceError
from headrace.api.jobs.turns import InLine
from headrace.api.settings import Settings
from headrace.api.store.tables_work import AttemptRow, ReservationRow, TransferRow
from headrace.api.transfers.receipts import Totals, require_whole_move
from headrace.api.transfers.run_state import End, Run
from headrace.api.transfers.samples import KERNEL, STAGES
from headrace.client import models as m
from headrace.guardrails import JsonObject, SigningKey, seal, verify

SLOW_BPS = 8_000_000
"""A ceiling at which the files of `large_set` take many seconds, so that a test can act meanwhile."""


def small_set(site: Site) -> dict[str, bytes]:
    files = {"a.txt": b"alpha", "sub/b.bin": bytes(range(256)) * 300, "sub/empty": b""}
    for name, content in files.items():
        path = site.lab / "set" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return files


def large_set(site: Site, files: int = 64, each: int = 256 << 10) -> int:
    """Make 16 MiB that take 17 s at `SLOW_BPS`: long enough to be steered, and soon durable in part."""
    folder = site.lab / "set"
    folder.mkdir()
    for number in range(files):
        (folder / f"{number}.bin").write_bytes(os.urandom(each))
    return files * each


def arrived(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


async def until(site: Site, transfer: m.Transfer, *states: str, reason: str = "") -> m.Transfer:
    """Watch a transfer until it is in one of `states`, for a reason that holds `reason`."""
    async with asyncio.timeout(30):
        async for event in site.ada.port.watch(transfer.id):
            shown = event.transfer
            if shown is not None and shown.state in states and reason in shown.state_reason:
                return shown
    raise AssertionError(states)


async def until_durable(site: Site, transfer: m.Transfer) -> m.Transfer:
    """Watch a transfer until some of its bytes are durable."""
    async with asyncio.timeout(30):
        async for event in site.ada.port.watch(transfer.id):
            if event.transfer is not None and event.transfer.progress.bytes_durable:
                return event.transfer
    raise AssertionError


@pytest.mark.anyio
async def test_a_copy_between_two_nodes_arrives_and_has_a_receipt(site: Site) -> None:
    files = small_set(site)
    plan = await site.ada.plan("lab:/set", "archive:/copy")
    ended = await site.ada.end_of(await site.ada.submit(plan))
    assert ended.state is m.TransferState.COMPLETE, ended.summary
    assert arrived(site.archive / "copy") == files
    receipt = await site.ada.port.receipt(ended.id)
    key = (await site.ada.port.health()).key
    body = verify(receipt.document, "receipt", [key]).fields()
    assert (body["plan_digest"], body["requester"]) == (plan.digest, site.ada.principal.id)
    listed = b"".join([chunk async for chunk in site.ada.port.receipt_files(receipt.id)])
    statement = json.loads(json.loads(str(body["statements"][0]))["body"])  # type: ignore[index] # a list of texts
    assert statement["list_digest"] == hashlib.sha256(listed).hexdigest()
    assert len(listed.splitlines()) >= len(files)


@pytest.mark.anyio
async def test_a_copy_within_one_node_arrives(site: Site) -> None:
    files = small_set(site)
    ended = await site.ada.end_of(await site.ada.submit(await site.ada.plan("lab:/set", "lab:/copy")))
    assert ended.state is m.TransferState.COMPLETE, ended.summary
    assert arrived(site.lab / "copy") == files


@pytest.mark.anyio
async def test_every_change_has_one_event_and_one_audit_event(site: Site) -> None:
    small_set(site)
    ended = await site.ada.end_of(await site.ada.submit(await site.ada.plan("lab:/set", "archive:/copy")))
    events = await site.ada.port.transfer_events(ended.id)
    kinds = [event.kind for event in events]
    assert kinds == ["queued", "started", "attempt_ended", "complete"]
    assert [event.sequence for event in events] == [1, 2, 3, 4]
    audited = [event for event in await site.audited("transfer_changed") if event.subject == ended.id]
    assert [event.detail["event"] for event in audited] == kinds


@pytest.mark.anyio
async def test_a_plan_is_submitted_once(site: Site) -> None:
    small_set(site)
    plan = await site.ada.plan("lab:/set", "archive:/copy")
    first = await site.ada.submit(plan)
    await site.ada.end_of(first)
    assert (await site.ada.submit(plan)).id == first.id
    assert (await site.ada.port.plan(plan.id)).transfer == first.id
    oli = await site.person("oli", "operator", "requester")
    assert (await oli.submit(plan)).requester_name == "ada"


@pytest.mark.anyio
async def test_a_transfer_is_found_by_a_unique_prefix_and_only_by_those_who_may(site: Site) -> None:
    small_set(site)
    transfer = await site.ada.submit(await site.ada.plan("lab:/set", "archive:/copy"))
    assert (await site.ada.port.transfer(transfer.id[:10])).id == transfer.id
    assert (await site.ada.port.transfer(transfer.id.removeprefix("tr_")[:8])).id == transfer.id
    with refused("unknown_transfer"):
        await site.ada.port.transfer("tr_")
    stranger = await site.person("eve", "requester")
    for call in (stranger.port.transfer(transfer.id), stranger.port.transfer_events(transfer.id)):
        with refused("unknown_transfer"):
            await call
    with refused("unknown_receipt"):
        await stranger.port.receipt(transfer.id)
    assert (await stranger.port.transfers()).items == []
    auditor = await site.person("aud", "auditor")
    assert [one.id for one in await auditor.port.transfers()] == [transfer.id]
    await site.ada.end_of(transfer)


@pytest.mark.anyio
async def test_a_start_ahead_waits_for_its_time(site: Site) -> None:
    small_set(site)
    start = site.clock() + timedelta(seconds=8)
    transfer = await site.ada.submit(await site.ada.plan("lab:/set", "archive:/copy", start=start.isoformat()))
    queued = await site.ada.port.transfer(transfer.id)
    assert queued.state is m.TransferState.QUEUED
    assert not (site.archive / "copy").exists()
    ended = await site.ada.end_of(transfer)
    assert ended.state is m.TransferState.COMPLETE
    assert ended.started is not None
    assert ended.started >= start


@pytest.mark.anyio
async def test_pause_resume_rate_and_cancel(site: Site) -> None:
    large_set(site)
    plan = await site.ada.plan("lab:/set", "archive:/copy", rate_limit_bps=SLOW_BPS)
    transfer = await site.ada.submit(plan)
    await until(site, transfer, "running")
    port = site.ada.port
    with refused("rate_above_plan"):
        await port.control(transfer.id, m.ControlRequest(action="set_rate", rate_bps=SLOW_BPS + 1))
    slower = await port.control(
        transfer.id, m.ControlRequest(action="set_rate", rate_bps=SLOW_BPS // 2, reason="office hours")
    )
    assert slower.rate_ceiling_bps == SLOW_BPS // 2
    assert slower.plan_rate_ceiling_bps == SLOW_BPS
    assert (await port.transfer_events(transfer.id))[
        -1
    ].message == "it runs at most 4.00 Mb/s from now on: “office hours”"
    await port.control(transfer.id, m.ControlRequest(action="pause", reason="lunch"))
    paused = await until(site, transfer, "paused")
    assert "lunch" in paused.state_reason
    with refused("transfer_state"):
        await port.control(transfer.id, m.ControlRequest(action="retry"))
    await port.control(transfer.id, m.ControlRequest(action="resume"))
    await until(site, transfer, "running")
    await port.control(transfer.id, m.ControlRequest(action="cancel", reason="wrong run"))
    ended = await site.ada.end_of(transfer)
    assert ended.state is m.TransferState.CANCELED
    assert "wrong run" in ended.state_reason
    with refused("transfer_state"):
        await port.control(transfer.id, m.ControlRequest(action="resume"))


@pytest.mark.anyio
async def test_a_stranger_steers_nothing_and_an_operator_everything(site: Site) -> None:
    large_set(site)
    transfer = await site.ada.submit(await site.ada.plan("lab:/set", "archive:/copy", rate_limit_bps=SLOW_BPS))
    stranger, operator = await site.person("eve", "requester"), await site.person("otto", "operator")
    with refused("unknown_transfer"):
        await stranger.port.control(transfer.id, m.ControlRequest(action="cancel"))
    await operator.port.control(transfer.id, m.ControlRequest(action="cancel", reason="maintenance"))
    assert (await site.ada.end_of(transfer)).state is m.TransferState.CANCELED
    [asked] = [event for event in await site.audited("transfer_changed") if event.detail["event"] == "asked_cancel"]
    assert asked.person == operator.principal.id


@pytest.mark.anyio
async def test_a_node_that_goes_away_and_comes_back_continues_by_itself(site: Site) -> None:
    total = large_set(site)
    plan = await site.ada.plan("lab:/set", "archive:/copy", rate_limit_bps=4 * SLOW_BPS)
    transfer = await site.ada.submit(plan)
    await until_durable(site, transfer)
    await site.stop_node("right")
    # Its attempt's end may be heard before its absence is.
    await until(site, transfer, "waiting", reason="right")
    await site.start_node("right", [("archive", str(site.archive), "delete")])
    ended = await site.ada.end_of(transfer)
    assert ended.state is m.TransferState.COMPLETE, ended.summary
    assert ended.attempt >= 2
    assert arrived(site.archive / "copy") == arrived(site.lab / "set")
    assert ended.progress.bytes_durable == total


@pytest.mark.anyio
async def test_while_a_transfer_waits_or_is_paused_there_is_no_rate_no_time_left_and_no_limit(site: Site) -> None:
    large_set(site)
    transfer = await site.ada.submit(await site.ada.plan("lab:/set", "archive:/copy", rate_limit_bps=4 * SLOW_BPS))
    await until_durable(site, transfer)
    run = site.use_cases.submissions._scheduler._runs[transfer.id]  # noqa: SLF001 - what its nodes told last
    await site.stop_node("right")
    await until(site, transfer, "waiting", reason="right")
    moving = {"rate_bps": 101_000_000, "streams": 4, "eta_s": 26, "eta_low_s": 20, "eta_high_s": 40}
    # The end of an attempt may be heard only when its node is back: what was told of it stands until then.
    run.progress, run.open = run.progress.model_copy(update={**moving, "limiter": "its rate ceiling"}), True
    shown = [await site.ada.port.transfer(transfer.id), *(await site.ada.port.transfers())]
    run.open = False
    await site.ada.port.control(transfer.id, m.ControlRequest(action="pause", reason="later"))
    shown.append(await until(site, transfer, "paused"))
    for one in shown:
        told = one.progress
        assert (told.rate_bps, told.streams, told.eta_s, told.eta_low_s, told.eta_high_s) == (0, 0, None, None, None)
        assert (told.limiter, told.share) == ("", None), one.state
        assert told.bytes_durable > 0


@pytest.mark.anyio
async def test_without_a_folder_for_its_results_a_transfer_waits_with_the_reason_and_goes_on(site: Site) -> None:
    expected = small_set(site)
    in_the_way = site.settings.data / "transfers"
    in_the_way.touch()
    transfer = await site.ada.submit(await site.ada.plan("lab:/set", "archive:/copy"))
    waiting = await until(site, transfer, "waiting")
    assert "can't make the folder" in waiting.state_reason
    in_the_way.unlink()
    ended = await site.ada.end_of(transfer)
    assert ended.state is m.TransferState.COMPLETE, ended.summary
    assert arrived(site.archive / "copy") == expected


@pytest.mark.anyio
async def test_after_a_restart_of_the_service_running_transfers_are_taken_up(site: Site) -> None:
    large_set(site)
    transfer = await site.ada.submit(await site.ada.plan("lab:/set", "archive:/copy", rate_limit_bps=4 * SLOW_BPS))
    await until_durable(site, transfer)
    await site.restart()
    ended = await site.ada.end_of(transfer)
    assert ended.state is m.TransferState.COMPLETE, ended.summary
    assert arrived(site.archive / "copy") == arrived(site.lab / "set")
    assert "the service was restarted" in [event.message for event in await site.ada.port.transfer_events(transfer.id)]


@pytest.mark.anyio
async def test_disabling_a_person_stops_their_transfers_at_once(site: Site) -> None:
    large_set(site)
    carl = await site.person("carl", "requester")
    transfer = await carl.submit(await carl.plan("lab:/set", "archive:/copy", rate_limit_bps=SLOW_BPS))
    operator = await site.person("otto", "operator")
    site.ada, admin = operator, site.ada
    await until(site, transfer, "running")
    await admin.port.disable_person(carl.principal.id)
    ended = await operator.end_of(transfer)
    assert ended.state is m.TransferState.FAILED
    assert ended.error is not None
    assert ended.error.code == "requester_inactive"


@pytest.mark.anyio
async def test_a_policy_that_forbids_stops_running_transfers_at_once(site: Site) -> None:
    large_set(site)
    await site.ada.port.update_endpoint("archive", m.EndpointUpdate(labels={"frozen": "yes"}))
    transfer = await site.ada.submit(await site.ada.plan("lab:/set", "archive:/copy", rate_limit_bps=SLOW_BPS))
    await until(site, transfer, "running")
    await publish(site, FROZEN)
    ended = await site.ada.end_of(transfer)
    assert ended.state is m.TransferState.FAILED
    assert ended.error is not None
    assert ended.error.code in {"denied_by_policy", "policy_changed"}


async def failed_on_its_way(site: Site) -> m.Transfer:
    """Let a copy of four files fail once some of it is durable; without the label `frozen` it may go on."""
    large_set(site, files=4, each=4 << 20)
    await publish(site, FROZEN)
    transfer = await site.ada.submit(await site.ada.plan("lab:/set", "archive:/copy", rate_limit_bps=4 * SLOW_BPS))
    await until_durable(site, transfer)
    await site.ada.port.update_endpoint("archive", m.EndpointUpdate(labels={"frozen": "yes"}))
    ended = await site.ada.end_of(transfer)
    assert ended.state is m.TransferState.FAILED
    return ended


@pytest.mark.anyio
async def test_what_a_failed_transfer_left_stays_while_it_may_be_tried_again_and_no_longer(site: Site) -> None:
    transfer = await failed_on_its_way(site)

    def left() -> list[str]:
        """Temporaries at the destination, and what the nodes keep of the transfer."""
        found = [path.name for place in (site.archive, site.folder / "state") for path in place.rglob("*")]
        return sorted(name for name in found if "headrace-part" in name or transfer.id in name)

    kept = left()
    assert any("headrace-part" in name for name in kept), kept
    await site.use_cases.cleanup.tidy("")
    assert left() == kept
    await site.ada.port.update_endpoint("archive", m.EndpointUpdate(labels={}))
    site.clock.shift = timedelta(seconds=site.settings.retry_valid_s + 1)
    with refused("retry_too_late"):
        await site.ada.port.control(transfer.id, m.ControlRequest(action="retry"))
    await site.use_cases.cleanup.tidy("")
    assert left() == []


@pytest.mark.anyio
async def test_a_label_that_policy_forbids_stops_running_transfers_at_once(site: Site) -> None:
    large_set(site)
    await publish(site, FROZEN)
    transfer = await site.ada.submit(await site.ada.plan("lab:/set", "archive:/copy", rate_limit_bps=SLOW_BPS))
    await until(site, transfer, "running")
    await site.ada.port.update_endpoint("archive", m.EndpointUpdate(labels={"frozen": "yes"}))
    ended = await site.ada.end_of(transfer)
    assert (ended.state, ended.error and ended.error.code) == (m.TransferState.FAILED, "denied_by_policy")


@pytest.mark.anyio
async def test_revoking_a_node_ends_what_runs_there(site: Site) -> None:
    large_set(site)
    transfer = await site.ada.submit(await site.ada.plan("lab:/set", "archive:/copy", rate_limit_bps=SLOW_BPS))
    await until(site, transfer, "running")
    await site.ada.port.revoke_node("right")
    ended = await site.ada.end_of(transfer)
    assert (ended.state, ended.error and ended.error.code) == (m.TransferState.FAILED, "node_revoked")


@pytest.mark.anyio
@pytest.mark.parametrize("on_conflict", ["skip", "newer"])
async def test_what_is_skipped_and_what_fails_is_what_the_plan_says(site: Site, on_conflict: str) -> None:
    small_set(site)
    there = site.archive / "copy"
    (there / "a.txt").mkdir(parents=True)  # a folder stands where a file should go
    (there / "sub").write_bytes(b"a file where a folder should go")
    (site.lab / "set" / "kept.txt").write_bytes(b"short")
    (there / "kept.txt").write_bytes(b"another, and newer")
    plan = await site.ada.plan("lab:/set", "archive:/copy", on_conflict=on_conflict)
    assert "different at the destination and will be skipped, or reported as failed where one of" in plan.summary
    assert "a folder in the place of a file, is never replaced: it fails." in " ".join(plan.notes)
    ended = await site.ada.end_of(await site.ada.submit(plan))
    assert ended.state is m.TransferState.PARTIAL, ended.summary
    failed = {one.path.partition("/")[0] for one in await site.ada.port.failed_files(ended.id)}
    assert failed == {"a.txt", "sub"}
    assert (there / "kept.txt").read_bytes() == b"another, and newer"


@pytest.mark.anyio
async def test_a_file_whose_place_is_taken_fails_alone_and_is_tried_again(site: Site) -> None:
    files = small_set(site)
    (site.archive / "copy").mkdir()
    (site.archive / "copy" / "a.txt").mkdir()  # a folder stands where a file should go
    plan = await site.ada.plan("lab:/set", "archive:/copy")
    assert plan.state is m.PlanState.READY, plan.summary
    ended = await site.ada.end_of(await site.ada.submit(plan))
    assert ended.state is m.TransferState.PARTIAL, ended.summary
    [failed] = await site.ada.port.failed_files(ended.id)
    assert failed.path == "a.txt"
    assert ended.progress.bytes_durable == sum(len(files[name]) for name in ("sub/b.bin", "sub/empty"))
    assert (ended.progress.files_failed, ended.progress.files_failed_for_good) == (1, 1)
    assert ended.next_step.kind == "plan_again", "a retry alone does not help against a folder in the way"
    assert ended.next_step.message.startswith(
        "1 file did not arrive. Each says what stands in its way; trying again helps once that is gone."
    )
    assert "not help" not in ended.next_step.message, "below, a retry helps"
    assert (
        "a folder in the place of a file, or a file in the place of a folder, is never replaced"
        in ended.next_step.message
    )
    summary = (await site.ada.port.receipt(ended.id)).summary
    assert summary.startswith("partial: 2 files there (2 copied and verified in-transit,"), summary
    assert "; 1 did not arrive), in " in summary
    (site.archive / "copy" / "a.txt").rmdir()
    await site.ada.port.control(ended.id, m.ControlRequest(action="retry", reason="the folder is gone"))
    again = await site.ada.end_of(ended)
    assert again.state is m.TransferState.COMPLETE, again.summary
    said = [one.message for one in await site.ada.port.transfer_events(ended.id) if one.kind == "retry"]
    assert said == ["tried again by ada: “the folder is gone”"]
    assert " from its start to its end)." in (await site.ada.port.receipt(ended.id)).summary
    assert arrived(site.archive / "copy") == arrived(site.lab / "set")


@pytest.mark.anyio
async def test_the_signed_receipt_says_how_a_transfer_ended_what_was_verified_and_how_long_it_took(site: Site) -> None:
    small_set(site)
    (site.archive / "copy" / "a.txt").mkdir(parents=True)
    key = (await site.ada.port.health()).key

    async def signed(ended: m.Transfer) -> dict[str, object]:
        assert ended.started is not None
        assert ended.ended is not None
        body = verify((await site.ada.port.receipt(ended.id)).document, "receipt", [key]).fields()
        assert body["seconds"] == str(max(1, round((ended.ended - ended.started).total_seconds())))
        statements = body["statements"]
        assert isinstance(statements, list)
        bodies = [json.loads(json.loads(str(one))["body"]) for one in statements]
        [there] = [one for one in bodies if one["role"] == "destination"]
        assert {name: body[name] for name in ("outcome", "verified", "files", "bytes")} == {
            name: there[name] for name in ("outcome", "verified", "files", "bytes")
        }
        return dict(body)

    ended = await site.ada.end_of(await site.ada.submit(await site.ada.plan("lab:/set", "archive:/copy")))
    partial = await signed(ended)
    assert (partial["outcome"], partial["verified"], partial["transfer"]) == ("partial", "in-transit", ended.id)
    (site.archive / "copy" / "a.txt").rmdir()
    site.clock.shift += timedelta(seconds=30)
    await site.ada.port.control(ended.id, m.ControlRequest(action="retry"))
    whole = await signed(await site.ada.end_of(ended))
    assert (whole["outcome"], whole["verified"]) == ("complete", "in-transit")
    assert int(str(whole["seconds"])) >= 30


@pytest.mark.anyio
async def test_what_goes_on_after_a_restart_of_the_service_is_said_to_run(site: Site) -> None:
    large_set(site)
    transfer = await site.ada.submit(await site.ada.plan("lab:/set", "archive:/copy", rate_limit_bps=SLOW_BPS))
    await until_durable(site, transfer)
    await site.use_cases.scheduler.take_up()
    again = await until(site, transfer, "running")
    assert (again.attempt, again.state_reason) == (1, "")
    await site.ada.port.control(transfer.id, m.ControlRequest(action="cancel"))


@pytest.mark.anyio
async def test_the_receipt_of_a_move_that_was_tried_again_proves_every_source_that_is_gone(site: Site) -> None:
    files = small_set(site)
    (site.archive / "copy" / "a.txt").mkdir(parents=True)  # a folder stands where a file should go
    plan = await site.ada.plan("lab:/set", "archive:/copy", action="move")
    if plan.decision is not None and plan.decision.outcome == "confirm":
        plan = await site.ada.confirm(plan)
    ended = await site.ada.end_of(await site.ada.submit(plan))
    assert ended.state is m.TransferState.PARTIAL, ended.summary
    assert set(arrived(site.lab / "set")) == {"a.txt"}
    (site.archive / "copy" / "a.txt").rmdir()
    await site.ada.port.control(ended.id, m.ControlRequest(action="retry"))
    again = await site.ada.end_of(ended)
    assert again.state is m.TransferState.COMPLETE, again.summary
    receipt = await site.ada.port.receipt(ended.id)
    assert receipt.summary.startswith(f"complete: {len(files)} files there ({len(files)} copied and verified "), (
        receipt.summary
    )
    text = b"".join([chunk async for chunk in site.ada.port.receipt_files(receipt.id)])
    lines = [json.loads(line) for line in text.splitlines()]
    assert {"/".join(line["path"]) for line in lines if line["type"] == "file"} == set(files)


@pytest.mark.anyio
@pytest.mark.parametrize("late", ["a new file", "a file that grew", "an empty folder"])
async def test_invariant_2_a_move_whose_source_grew_after_its_survey_stops_and_deletes_nothing(
    site: Site, late: str
) -> None:
    (site.lab / "set" / "sub").mkdir(parents=True)
    (site.lab / "set" / "z").write_text("seen")
    plan = await site.ada.plan("lab:/set", "archive:/copy", action="move")
    if plan.decision is not None and plan.decision.outcome == "confirm":
        plan = await site.ada.confirm(plan)
    match late:
        case "a new file":
            (site.lab / "set" / "sub" / "a").write_text("")
        case "a file that grew":
            (site.lab / "set" / "z").write_text("seen, and more")
        case _:
            (site.lab / "set" / "more").mkdir()
    before = arrived(site.lab / "set")
    ended = await site.ada.end_of(await site.ada.submit(plan))
    assert ended.state is m.TransferState.FAILED, ended.summary
    assert ended.error is not None
    assert ended.error.code == "ceiling_exceeded"
    assert arrived(site.lab / "set") == before
    assert ended.next_step is not None
    assert (ended.next_step.kind, ended.next_step.by) == ("plan_again", "you")
    assert "deleted nothing at the source. Plan again" in ended.next_step.message
    again = await site.ada.plan("lab:/set", "archive:/copy", action="move")
    if again.decision is not None and again.decision.outcome == "confirm":
        again = await site.ada.confirm(again)
    ended = await site.ada.end_of(await site.ada.submit(again))
    assert ended.state is m.TransferState.COMPLETE, ended.summary
    assert arrived(site.lab / "set") == {}


@pytest.mark.anyio
async def test_a_source_that_changed_after_it_was_moved_stays_and_the_receipt_says_so(site: Site) -> None:
    large_set(site)
    plan = await site.ada.plan("lab:/set", "archive:/copy", action="move", rate_limit_bps=4 * SLOW_BPS)
    if plan.decision is not None and plan.decision.outcome == "confirm":
        plan = await site.ada.confirm(plan)
    transfer = await site.ada.submit(plan)
    async with asyncio.timeout(30):
        async for _ in site.ada.port.watch(transfer.id):
            if there := sorted((site.archive / "copy").glob("*.bin")):
                break
    (site.lab / "set" / there[0].name).write_bytes(b"new")
    ended = await site.ada.end_of(transfer)
    assert ended.state is m.TransferState.COMPLETE, ended.summary
    assert arrived(site.lab / "set") == {there[0].name: b"new"}
    assert ended.progress.sources_kept == 1
    assert ended.summary.endswith(" Sources that stay: 1; the receipt says why."), ended.summary
    receipt = await site.ada.port.receipt(ended.id)
    detail = "it changed after it was copied"
    assert receipt.sources_kept == [m.KeptSources(reason=m.KeptReason.CHANGED, count=1, detail=detail)]
    assert receipt.summary.endswith(" Sources that stay: 1 changed after the copy."), receipt.summary
    assert there[0].name in receipt.document


@pytest.mark.anyio
async def test_a_retry_may_begin_for_seven_days_from_the_end_however_long_the_transfer_ran(site: Site) -> None:
    small_set(site)
    (site.archive / "copy" / "a.txt").mkdir(parents=True)
    ended = await site.ada.end_of(await site.ada.submit(await site.ada.plan("lab:/set", "archive:/copy")))
    assert ended.state is m.TransferState.PARTIAL
    week = timedelta(seconds=site.settings.retry_valid_s)

    async def may_retry(ended_ago: timedelta) -> bool:
        async with site.service.whole.core.database.write() as tx:
            await tx.execute(
                update(TransferRow).values(started=site.clock() - 2 * week, ended=site.clock() - ended_ago)
            )
        shown = await site.ada.port.transfer(ended.id)
        return next(one.allowed for one in shown.allowed_actions if one.action == "retry")

    assert not await may_retry(week)
    with refused("retry_too_late"):
        await site.ada.port.control(ended.id, m.ControlRequest(action="retry"))
    assert await may_retry(week - timedelta(hours=1))


@pytest.mark.anyio
async def test_the_receipt_of_a_retry_names_those_that_hold_the_files_that_it_did_not_send(site: Site) -> None:
    files = small_set(site)
    (site.archive / "copy" / "a.txt").mkdir(parents=True)
    ended = await site.ada.end_of(await site.ada.submit(await site.ada.plan("lab:/set", "archive:/copy")))
    assert ended.state is m.TransferState.PARTIAL
    first = await site.ada.port.receipt(ended.id)
    assert first.earlier == []
    (site.archive / "copy" / "a.txt").rmdir()
    await site.ada.port.control(ended.id, m.ControlRequest(action="retry"))
    whole = await site.ada.end_of(ended)
    assert whole.state is m.TransferState.COMPLETE
    last = await site.ada.port.receipt(ended.id)
    assert last.earlier == [first.id]
    held = f" This receipt holds the 1 file of attempt 2; those of earlier attempts: {first.id}."
    assert last.summary.endswith(held), last.summary
    texts = [b"".join([part async for part in site.ada.port.receipt_files(one)]) for one in (first.id, last.id)]
    rows = [[json.loads(line) for line in text.splitlines()] for text in texts]
    names = [["/".join(row["path"]) for row in part if row.get("result") == "copied"] for part in rows]
    assert names[1] == ["a.txt"]
    assert sorted(names[0] + names[1]) == sorted(files)
    assert (await site.ada.port.receipt(first.id)).earlier == []


@pytest.mark.anyio
async def test_budgets_are_reserved_at_submission_and_settled_at_the_end(site: Site) -> None:
    files = small_set(site)
    plan = await site.ada.plan("lab:/set", "archive:/copy")
    transfer = await site.ada.submit(plan)
    async with site.service.whole.core.database.read() as tx:
        reserved = await tx.get(ReservationRow, transfer.id)
    assert reserved is not None
    assert reserved.bytes >= sum(map(len, files.values()))
    await site.ada.end_of(transfer)
    async with site.service.whole.core.database.read() as tx:
        settled = await tx.get(ReservationRow, transfer.id)
    assert settled is not None
    assert (settled.settled, settled.bytes) == (True, sum(map(len, files.values())))


@pytest.mark.anyio
async def test_beyond_the_budget_a_plan_needs_an_approval(site: Site) -> None:
    small_set(site)
    first = await site.ada.plan("lab:/set", "archive:/copy")
    await site.ada.end_of(await site.ada.submit(first))
    second = await site.ada.plan("lab:/set", "archive:/again")
    async with site.service.whole.core.database.write() as tx:
        await tx.execute(update(ReservationRow).values(bytes=11 << 40))
    with refused("needs_confirmation") as info:
        await site.ada.submit(second)
    assert "plan again" in info.value.problem.detail
    third = await site.ada.plan("lab:/set", "archive:/again")
    assert third.decision is not None
    assert third.decision.outcome == "approve"


@pytest.mark.anyio
async def test_invariant_6_no_more_transfers_run_at_once_than_the_setting_says(tmp_path: Path) -> None:
    async with started_site(tmp_path, Settings(transfer_concurrency=1, transfer_queue=3)) as site:
        await site.start_both()
        large_set(site)
        plans = [await site.ada.plan("lab:/set", f"archive:/{n}", rate_limit_bps=8 * SLOW_BPS) for n in range(3)]
        first, second = await site.ada.submit(plans[0]), await site.ada.submit(plans[1])
        with refused("too_many_transfers"):
            await site.ada.submit(plans[2])
        await until(site, first, "running")
        assert (await site.ada.port.transfer(second.id)).state is m.TransferState.QUEUED
        await site.ada.port.control(first.id, m.ControlRequest(action="cancel"))
        await until(site, second, "running")
        await site.ada.port.control(second.id, m.ControlRequest(action="cancel"))
        await site.ada.end_of(second)


@pytest.mark.anyio
async def test_a_statement_about_anything_else_makes_no_receipt(site: Site) -> None:
    small_set(site)
    plan = await site.ada.plan("lab:/set", "archive:/copy")
    transfer = await site.ada.submit(plan)
    ended = await site.ada.end_of(transfer)
    async with site.service.whole.core.database.write() as tx:
        row = await tx.scalar(select(TransferRow))
        attempt = await tx.scalar(select(AttemptRow))
        assert row is not None
        assert attempt is not None
        statements = tuple(attempt.statements.split("\n"))
    wrong = {"plan_digest": "0" * 64, "attempt": 7, "destination_node": row.source_node}
    listed = site.settings.data / "transfers" / ended.id / "1" / "files.jsonl"
    end = End("complete", statements=statements, files_list=listed)
    assert (await site.use_cases.receipts.check(Run.of(row), end)).count("files")
    for field, value in wrong.items():
        with pytest.raises(ServiceError, match="can't be trusted") as refusal:
            await site.use_cases.receipts.check(replace(Run.of(row), **{field: value}), end)
        assert refusal.value.code == "statement_invalid"
    longer = listed.with_name("longer.jsonl")
    longer.write_bytes(listed.read_bytes() + b"\n")
    for other in (longer, None):
        with pytest.raises(ServiceError, match="is not the one that was signed") as refusal:
            await site.use_cases.receipts.check(Run.of(row), replace(end, files_list=other))
        assert refusal.value.code == "statement_invalid"


@pytest.mark.anyio
async def test_a_node_speaks_for_itself_only(quiet_site: Site, tmp_path: Path) -> None:
    source, destination = SigningKey.from_seed(b"s" * 32), SigningKey.from_seed(b"d" * 32)
    place = InLine(0, quiet_site.clock(), "tr_1", "pn_1")
    run = Run("tr_1", "0" * 64, source.public, destination.public, 1, place, attempt=1)
    listed = tmp_path / "files.jsonl"
    listed.write_text("")
    about = {
        "transfer": "tr_1", "plan_digest": "0" * 64, "attempt": "1", "outcome": "complete",
        "list_digest": hashlib.sha256(b"").hexdigest(),
    }  # fmt: skip
    counts = dict.fromkeys(("files", "bytes", "identical", "failed", "deleted", "resent_bytes"), "0")
    word = {"role": "destination", "node": destination.public, **about, **counts}
    own = seal("statement", {"role": "source", "node": source.public, **about}, source).text
    check = quiet_site.use_cases.receipts.check
    good = End("complete", statements=(seal("statement", word, destination).text, own), files_list=listed)
    assert (await check(run, good)).destination["role"] == "destination"
    kept: JsonObject = {"reason": "stopped", "count": "2", "detail": "stopped on request", "names": ["a", "b"]}
    about_kept: JsonObject = {"role": "source", "node": source.public, "sources_kept": [kept], **about}
    said = seal("statement", about_kept, source).text
    checked = await check(run, replace(good, statements=(good.statements[0], said)))
    assert checked.kept == (m.KeptSources(reason=m.KeptReason.STOPPED, count=2, detail="stopped on request"),)
    altered = ({**kept, "reason": "else"}, {**kept, "count": "-1"}, {"reason": "stopped"}, "text")
    for wrong in ("no list", *([one] for one in altered)):
        text = seal("statement", {**about_kept, "sources_kept": wrong}, source).text
        with pytest.raises(ServiceError, match="`sources_kept`"):
            await check(run, replace(good, statements=(good.statements[0], text)))
    forged = End("complete", statements=(seal("statement", word, source).text, own), files_list=listed)
    with pytest.raises(ServiceError, match="another node than the one that signed it"):
        await check(run, forged)


@pytest.mark.anyio
async def test_what_was_there_already_is_counted_as_there_and_not_as_copied(site: Site) -> None:
    small_set(site)
    await site.ada.end_of(await site.ada.submit(await site.ada.plan("lab:/set", "archive:/copy")))
    again = await site.ada.end_of(await site.ada.submit(await site.ada.plan("lab:/set", "archive:/copy")))
    assert (again.progress.files_done, again.progress.files_identical) == (3, 3)
    said = (await site.ada.port.receipt(again.id)).summary
    unread = "3 taken as the same by size and time, not read"
    assert said.startswith(f"complete: 3 files there (0 copied, 0 bytes; {unread}), in "), said
    assert f"3 of 3 files are there (0 copied, 0 bytes; {unread})" in again.summary
    assert again.next_step.message == f"It is complete: {unread}."
    assert "verified" not in f"{said}{again.summary}{again.next_step.message}"


@pytest.mark.anyio
async def test_the_time_of_a_transfer_leaves_out_its_pauses(site: Site) -> None:
    large_set(site)
    plan = await site.ada.plan("lab:/set", "archive:/copy", rate_limit_bps=SLOW_BPS)
    transfer = await site.ada.submit(plan)
    await until_durable(site, transfer)
    port = site.ada.port
    await port.control(transfer.id, m.ControlRequest(action="pause"))
    paused = await until(site, transfer, "paused")
    site.clock.shift += timedelta(hours=1)
    later = await port.transfer(transfer.id)
    assert later.active_s == paused.active_s
    assert later.progress.average_bps == paused.progress.average_bps
    await port.control(transfer.id, m.ControlRequest(action="cancel"))


@pytest.mark.anyio
async def test_an_assistant_finds_what_it_planned_by_its_place_and_nothing_else(site: Site) -> None:
    small_set(site)
    _, agent = await site.ada.token(
        "transfer:read", "transfer:read:all", "transfer:plan", "transfer:run", agent="helper"
    )
    await site.ada.submit(await site.ada.plan("lab:/set", "archive:/copy-of-hers"))
    intent = m.TransferIntent(action="copy", source="lab:/set", destination="archive:/copy-of-its")
    plan = await settled(agent, await agent.create_plan(m.PlanRequest(intent=intent)))
    mine = await agent.submit(m.SubmitRequest(plan_digest=digest_of(plan)))
    assert [one.id for one in await agent.transfers(search="copy-of")] == [mine.id]


@pytest.mark.anyio
async def test_an_assistant_neither_finds_nor_steers_what_anothers_assistant_of_its_name_planned(site: Site) -> None:
    small_set(site)
    for endpoint in ("lab", "archive"):
        await site.ada.port.update_endpoint(endpoint, m.EndpointUpdate(labels={"names": "restricted"}))
    bob, otto = await site.person("bob", "requester"), await site.person("otto", "operator")
    _, of_bob = await bob.token("transfer:read", "transfer:plan", "transfer:run", agent="helper")
    _, of_otto = await otto.token("transfer:read", "transfer:read:all", "node:write", agent="helper")
    intent = m.TransferIntent(action="copy", source="lab:/set", destination="archive:/of-a-patient")
    plan = await settled(of_bob, await of_bob.create_plan(m.PlanRequest(intent=intent)))
    theirs = await of_bob.submit(m.SubmitRequest(plan_digest=digest_of(plan)))
    assert [one.id for one in await of_bob.transfers(search="patient")] == [theirs.id]
    assert [one.id for one in await of_otto.transfers()] == [theirs.id]
    assert list(await of_otto.transfers(search="patient")) == []
    assert (await of_otto.transfer_counts(search="patient")).total == 0
    with refused("forbidden"):
        await of_otto.control(theirs.id, m.ControlRequest(action="cancel"))


@pytest.mark.anyio
async def test_a_later_attempt_that_finds_nothing_left_makes_no_receipt_of_a_move(site: Site) -> None:
    files = small_set(site)
    plan = await site.ada.plan("lab:/set", "archive:/copy", action="move")
    if plan.decision is not None and plan.decision.outcome == "confirm":
        plan = await site.ada.confirm(plan)
    ended = await site.ada.end_of(await site.ada.submit(plan))
    assert ended.state is m.TransferState.COMPLETE, ended.summary
    async with site.service.whole.core.database.read() as tx:
        row = await tx.scalar(select(TransferRow))
        assert row is not None
        released = await site.use_cases.submissions.parts.signer.released(tx, row, starts=False)
    whole = Totals(files=len(files), bytes=1, identical=0, failed=0, resent=0)
    require_whole_move(row, released, replace(whole, files=0))
    row.attempt = 2
    require_whole_move(row, released, whole)
    with pytest.raises(ServiceError) as refusal:
        require_whole_move(row, released, replace(whole, files=0))
    assert refusal.value.code == "move_unproven"


@pytest.mark.anyio
async def test_a_move_that_goes_on_and_finds_less_than_its_plan_ends_without_a_receipt(site: Site) -> None:
    large_set(site)
    plan = await site.ada.plan("lab:/set", "archive:/copy", action="move", rate_limit_bps=4 * SLOW_BPS)
    if plan.decision is not None and plan.decision.outcome == "confirm":
        plan = await site.ada.confirm(plan)
    transfer = await site.ada.submit(plan)
    await until_durable(site, transfer)
    await site.ada.port.control(transfer.id, m.ControlRequest(action="pause"))
    await until(site, transfer, "paused")
    (site.lab / "set" / "0.bin").unlink()
    await site.ada.port.control(transfer.id, m.ControlRequest(action="resume"))
    ended = await site.ada.end_of(transfer)
    assert ended.error is not None, ended.summary
    assert ended.error.code == "move_unproven", ended.summary
    with refused("unknown_receipt"):
        await site.ada.port.receipt(ended.id)


@pytest.mark.anyio
@pytest.mark.parametrize("error", [OverflowError("too large"), ValueError("no number"), KeyError("retry")])
async def test_an_end_that_can_not_be_stored_ends_the_transfer_and_keeps_no_slot(
    site: Site, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    async def fails(*_: object) -> None:
        raise error

    monkeypatch.setattr(site.use_cases.receipts, "make", fails)
    small_set(site)
    ended = await site.ada.end_of(await site.ada.submit(await site.ada.plan("lab:/set", "archive:/copy")))
    assert ended.state is m.TransferState.FAILED, ended.state_reason
    assert ended.error is not None
    assert ended.error.code == "statement_invalid"
    assert site.use_cases.submissions._scheduler.running_by_node() == {}  # noqa: SLF001


def test_counts_that_the_store_does_not_take_are_cut_off() -> None:
    run = Run("tr_1", "0" * 64, "a", "b", 1, InLine(0, utc_now(), "tr_1", "pn_1"), attempt=1, resent_before=5)
    most = (1 << 64) - 1
    counts = (
        "files_total files_done files_failed bytes_total bytes_received bytes_durable resent_bytes rate_bps streams"
    )
    names = dict.fromkeys(("deleted", "looked_at", "durable_steps", "device_written_bytes"), most)
    memory = SimpleNamespace(
        **dict.fromkeys((*KERNEL, *["tcp_held_pages", "page_bytes", "group_limit_bytes", "group_held_bytes"]), most),
        tcp_mem_pages=[most] * 3,
        group_setting="x",
    )
    stages = SimpleNamespace(**{f"{stage}_us": most for stage in STAGES})
    side = SimpleNamespace(flows=[], stages=stages, socket_memory=memory, **names)
    told = dict.fromkeys(counts.split(), most)
    event = SimpleNamespace(**told, limiter="", listed=True, source=side, destination=side)
    run.note_progress(event, utc_now())  # type: ignore[arg-type]
    progress = run.progress
    assert {progress.bytes_durable, progress.resent_bytes, progress.rate_bps, progress.deleted} == {(1 << 63) - 1}


@pytest.mark.anyio
async def test_who_waits_for_a_place_begins_as_soon_as_it_is_free(tmp_path: Path) -> None:
    never = 3_600_000
    async with started_site(tmp_path, Settings(backoff_ms=never, max_backoff_ms=never)) as site:
        await site.start_both()
        large_set(site)
        first = await site.ada.submit(await site.ada.plan("lab:/set", "archive:/copy", rate_limit_bps=SLOW_BPS))
        await until_durable(site, first)
        second = await site.ada.submit(await site.ada.plan("lab:/set", "archive:/copy"))
        assert "another transfer writes to" in (await until(site, second, "waiting")).state_reason
        await site.ada.port.control(first.id, m.ControlRequest(action="cancel"))
        assert (await site.ada.end_of(second)).state is m.TransferState.COMPLETE
