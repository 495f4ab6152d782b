"""What health says: measured when it is asked for, with the causes for those who can mend them."""

import asyncio
import os
import re
import shutil
import sqlite3
from contextlib import closing
from datetime import timedelta
from http import HTTPStatus
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import delete, text
from tests.servers.disk import fill, mounted
from tests.servers.site import WAIT_S, Site, started_site
from tests.service.test_metrics import asked
from tests.service.test_transfers import SLOW_BPS, small_set, until

from headrace.api.access.health import FRESH
from headrace.api.app.hub_events import HubEvents
from headrace.api.data_folder import HALT
from headrace.api.sites.strange_nodes import SHOWN
from headrace.api.store import sqlite
from headrace.api.store.database import SMALL_WRITE
from headrace.api.store.tables_site import NodeRow
from headrace.client import models as m
from headrace.engine import HubEvent, NodeRefused

DOCS = (Path(__file__).parents[2] / "docs" / "errors.md").read_text(encoding="utf-8")


async def causes(site: Site) -> list[m.HealthCause]:
    health = await site.ada.port.health()
    assert (health.status == "degraded") == bool(codes(health.causes) - {"root_missing", "node_strange"})
    return health.causes


def codes(found: list[m.HealthCause]) -> set[str]:
    assert all(cause.sentence and cause.what_to_do for cause in found)
    return {cause.code.value for cause in found}


@pytest.mark.anyio
async def test_health_finds_a_store_that_nobody_has_written_to_meanwhile_locked_and_free_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "_BUSY_TIMEOUT_MS", 100)
    async with started_site(tmp_path) as site:
        with closing(sqlite3.connect(site.settings.data / "headrace.sqlite", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            site.clock.shift += FRESH
            # What the service does at its start may have found the lock, too.
            [cause] = [one for one in await causes(site) if one.code is not m.HealthCode.WORK_FAILING]
            assert cause.code is m.HealthCode.STORE_BUSY
            assert cause.since is not None
            assert cause.since <= site.clock()
            other.execute("ROLLBACK")
        site.clock.shift += FRESH
        assert codes(await causes(site)) <= {"work_failing"}


@pytest.mark.anyio
@pytest.mark.parametrize(("free_blocks", "found"), [(255, {"store_full"}), (256, set[str]())])
async def test_a_disk_is_called_full_before_a_write_fails(
    quiet_site: Site, monkeypatch: pytest.MonkeyPatch, free_blocks: int, found: set[str]
) -> None:
    measured = SimpleNamespace(f_bavail=free_blocks, f_frsize=4096)
    monkeypatch.setattr(os, "statvfs", lambda _: measured)
    told, now = await causes(quiet_site), quiet_site.clock()
    assert codes(told) == found
    quiet_site.clock.shift += timedelta(hours=1)
    assert [(one.code, one.since) for one in await causes(quiet_site)] == [(one.code, one.since) for one in told]
    assert all(one.since is not None and one.since <= now for one in told)


@pytest.mark.anyio
async def test_health_finds_an_audit_log_that_takes_no_event_and_adds_none_itself(quiet_site: Site) -> None:
    path = quiet_site.settings.data / "headrace.sqlite"
    events = (await quiet_site.use_cases.audit.verify()).events
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("CREATE TRIGGER full BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'disk full'); END")
        quiet_site.clock.shift += FRESH
        assert codes(await causes(quiet_site)) == {"audit_unwritable"}
        other.execute("DROP TRIGGER full")
    quiet_site.clock.shift += FRESH
    assert await causes(quiet_site) == []
    verdict = await quiet_site.use_cases.audit.verify(full=True)
    assert (verdict.intact, verdict.events) == (True, events)


@pytest.mark.anyio
async def test_writes_that_are_no_events_do_not_hide_an_audit_log_that_takes_none(quiet_site: Site) -> None:
    store = quiet_site.service.whole.core.database
    async with store.write() as tx:
        await tx.execute(text("CREATE TRIGGER full BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'disk full'); END"))
    quiet_site.clock.shift += FRESH
    async with store.write() as tx:
        await tx.execute(SMALL_WRITE)
    assert (await asked(quiet_site, "/ready")).json()["reasons"] == ["audit_unwritable"]
    assert codes(await causes(quiet_site)) == {"audit_unwritable"}
    async with store.write() as tx:
        await tx.execute(text("DROP TRIGGER full"))
    quiet_site.clock.shift += FRESH
    async with store.write() as tx:
        await tx.execute(SMALL_WRITE)
    assert (await asked(quiet_site, "/ready")).json()["ready"]


@pytest.mark.anyio
@pytest.mark.parametrize(("back_s", "found"), [(59, set[str]()), (62, {"clock_wrong"})])
async def test_a_clock_that_went_back_behind_the_audit_log_is_told_over_restarts_until_it_is_right(
    quiet_site: Site, back_s: int, found: set[str]
) -> None:
    site = quiet_site
    await site.ada.port.create_join_token(m.JoinTokenRequest(name="noted"))
    site.clock.jump -= timedelta(seconds=back_s)
    assert codes(await causes(site)) == found
    ready = await asked(site, "/ready")
    assert (ready.status_code == HTTPStatus.OK, set(ready.json()["reasons"])) == (not found, found)
    assert all("set that host's clock right" in said for said in ready.json()["said"])
    # What is noted by that clock makes it no righter.
    await site.ada.port.create_join_token(m.JoinTokenRequest(name="noted later"))
    assert codes(await causes(site)) == found
    site.clock.jump += timedelta(seconds=back_s)
    assert codes(await causes(site)) == set()


@pytest.mark.anyio
async def test_a_clock_that_was_ahead_before_counts_as_right_after_a_restart(quiet_site: Site) -> None:
    site = quiet_site
    site.clock.jump += timedelta(hours=1)
    await site.ada.port.create_join_token(m.JoinTokenRequest(name="noted"))
    site.clock.jump -= timedelta(hours=1)
    await site.restart()
    assert set((await asked(site, "/ready")).json()["reasons"]) == {"clock_wrong"}
    await site.restart()
    assert (await asked(site, "/ready")).json()["ready"]


@pytest.mark.anyio
async def test_nodes_that_all_have_another_time_show_that_the_services_clock_is_wrong(site: Site) -> None:
    nodes = site.use_cases.nodes
    for skews_ms, found in (((61_000, 90_000), True), ((-61_000, -90_000), True), ((61_000, -61_000), False)):
        for node, skew_ms in zip(site.nodes.values(), skews_ms, strict=True):
            nodes._attached[node.key] = SimpleNamespace(  # type: ignore[assignment] # noqa: SLF001
                roots=[], missing_roots=[], clock_skew_ms=skew_ms
            )
        told = (await asked(site, "/ready")).json()
        assert (told["reasons"] == ["clock_wrong"]) is found
        assert ("all 2 attached nodes are at least 61 s" in " ".join(told["said"])) is found


@pytest.mark.anyio
async def test_a_node_whose_clock_is_off_and_a_root_that_is_gone_are_named(site: Site) -> None:
    assert await causes(site) == []
    await site.stop_node("right")
    assert await causes(site) == []
    await site.start_node("right", [("other", str(site.archive), "read")])
    [gone] = await causes(site)
    assert gone.code is m.HealthCode.ROOT_MISSING
    assert "`right`" in gone.sentence
    assert "`archive`" in gone.sentence
    nodes, key = site.use_cases.nodes, site.nodes["left"].key
    site.clock.shift += timedelta(hours=1)
    await nodes.note_present()
    assert [one.since for one in await causes(site)] == [gone.since], "that the node is there says nothing of its root"
    live = nodes.attached(key)
    assert live is not None
    nodes._attached[key] = SimpleNamespace(  # type: ignore[assignment] # noqa: SLF001
        roots=live.roots, missing_roots=[], clock_skew_ms=-61_000
    )
    skewed = next(cause for cause in await causes(site) if cause.code is m.HealthCode.NODE_CLOCK_SKEWED)
    assert "-61 s" in skewed.sentence


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("refusal", "code"), [("clock_skew", "node_clock_skewed"), ("version_unsupported", "node_refused")]
)
async def test_a_node_that_is_refused_is_named_with_the_reason(site: Site, refusal: str, code: str) -> None:
    key = site.nodes["right"].key
    await site.stop_node("right")
    await site.use_cases.nodes.on_refused(
        key, refusal, "the clocks of node and service differ by 90 s", "10.0.0.7:4242"
    )
    [cause] = await causes(site)
    assert cause.code == code
    assert "node `right` at `10.0.0.7:4242`" in cause.sentence
    assert "90 s" in cause.sentence


@pytest.mark.anyio
async def test_a_node_whose_state_disk_is_full_is_named_until_it_works_again(quiet_site: Site) -> None:
    site, archive = quiet_site, [("archive", str(quiet_site.archive), "delete")]
    await site.start_node("left", [("lab", str(site.lab), "delete")])
    await site.start_node("right", archive)
    await site.stop_node("right")
    state = site.folder / "state" / "right"
    kept = state.rename(site.folder / "kept")
    with mounted(state, "4m"):
        shutil.copytree(kept, state, dirs_exist_ok=True)
        await site.start_node("right", archive)
        small_set(site)
        plan = await site.ada.plan("lab:/set", "archive:/copy")
        fill(state / "filler")
        transfer = await site.ada.submit(plan)
        waiting = await until(site, transfer, "waiting", reason="state folder")
        assert "node `right`" in waiting.state_reason
        [cause] = await causes(site)
        assert (cause.code, "node `right` can't use its state folder" in cause.sentence) == ("node_state_failed", True)
        assert "No space left" in cause.sentence
        told = {node.name: node.detail for node in await site.ada.port.nodes()}
        assert (told["left"], "can't use its state folder, since" in told["right"]) == ("", True), told
        (state / "filler").unlink()
        assert (await site.ada.end_of(transfer)).state is m.TransferState.COMPLETE
        assert await causes(site) == []
        assert [node.detail for node in await site.ada.port.nodes()] == ["", ""]
        await site.stop_node("right")


@pytest.mark.anyio
async def test_the_last_word_of_a_node_about_its_state_folder_stands_until_a_later_one(site: Site) -> None:
    small_set(site)
    transfer = await site.ada.submit(await site.ada.plan("lab:/set", "archive:/copy", rate_limit_bps=SLOW_BPS))
    await until(site, transfer, "running")
    words = "the node's state folder cannot be used: No space left on device (os error 28)"
    event: Any = SimpleNamespace(
        transfer=transfer.id, attempt=1, outcome="failed", code="state_failed", message=words, retryable=True,
        node=site.nodes["right"].key, statements=[], files_list=None, failed_list=None,
    )  # fmt: skip
    site.use_cases.submissions._scheduler.on_ended(event)  # noqa: SLF001 - as the hub tells it
    nodes = site.use_cases.nodes
    [cause] = await causes(site)
    assert (cause.code, "node `right` can't use its state folder" in cause.sentence) == ("node_state_failed", True)
    assert "since" in {node.name: node.detail for node in await site.ada.port.nodes()}["right"]
    nodes.on_worked(site.nodes["left"].key)
    assert nodes.state_trouble(site.nodes["right"].key) is not None
    nodes.on_worked(site.nodes["right"].key)
    assert await causes(site) == []
    named = "node `right`: the node's state folder cannot be used: No space left on device"
    async with asyncio.timeout(WAIT_S):
        async for told in site.ada.port.watch(transfer.id):
            if named in told.message:
                break
        else:
            pytest.fail("nothing names the node")


@pytest.mark.anyio
async def test_who_is_refused_and_is_no_node_of_the_site_is_told_for_a_while_and_degrades_nothing(
    quiet_site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = quiet_site
    await site.start_node("left", [])
    key = site.nodes["left"].key
    await site.ada.port.revoke_node("left")
    nodes = site.use_cases.nodes
    await site.until_nodes(lambda: bool(nodes.strange.recent()))
    [cause] = [one for one in await causes(site) if one.code is m.HealthCode.NODE_STRANGE]
    assert "the revoked node `left` at `127.0.0.1:" in cause.sentence
    assert "not enrolled" in cause.sentence
    # The next service never heard of it.
    async with site.service.whole.core.database.write() as tx:
        await tx.execute(delete(NodeRow))
    refusal, take = asyncio.Event(), HubEvents.take

    def taken(self: HubEvents, event: HubEvent) -> None:
        take(self, event)
        if isinstance(event, NodeRefused):
            refusal.set()

    monkeypatch.setattr(HubEvents, "take", taken)
    await site.restart()
    async with asyncio.timeout(WAIT_S):
        await refusal.wait()
    [cause] = [one for one in await causes(site) if one.code is m.HealthCode.NODE_STRANGE]
    assert f"a node with the key `{key}` at `127.0.0.1:" in cause.sentence
    assert "ca rotate NODE" in cause.what_to_do
    await site.stop_node("left")
    site.clock.shift += SHOWN
    assert "node_strange" not in codes(await causes(site))


@pytest.mark.anyio
async def test_causes_are_told_to_those_who_can_mend_them_in_person(site: Site) -> None:
    await site.stop_node("right")
    await site.start_node("right", [("other", str(site.archive), "read")])
    operator, requester = await site.person("oli", "operator"), await site.person("eve", "requester")
    _, pipeline = await operator.token("node:write")
    _, assistant = await operator.token("node:write", agent="helper")
    told = {
        "operator": operator.port,
        "pipeline": pipeline,
        "assistant": assistant,
        "requester": requester.port,
    }
    found = {name: await port.health() for name, port in told.items()}
    assert {health.status for health in found.values()} == {"ok"}, "a root may be gone on purpose"
    assert {name for name, health in found.items() if health.causes} == {"operator", "pipeline"}
    assert (await site.use_cases.health.report(None)).causes == []


@pytest.mark.anyio
async def test_everybody_is_told_that_everything_is_halted_and_only_those_who_are_signed_in_why(
    quiet_site: Site,
) -> None:
    requester, health = await quiet_site.person("eve", "requester"), quiet_site.use_cases.health
    halted = await quiet_site.ada.port.halt(m.HaltRequest(scope="everything", reason="water in the hall"))
    assert (await requester.port.health()).halted == "water in the hall"
    assert (await health.report(None)).halted == "the reason is shown to those who are signed in"
    await quiet_site.ada.port.release_halt(halted.id)
    assert (await health.report(None)).halted == ""
    (quiet_site.settings.data / HALT).write_text("by hand")
    assert (await requester.port.health()).halted == "by hand"
    assert "by hand" not in (await health.report(None)).halted != ""


@pytest.mark.parametrize("code", list(m.HealthCode))
def test_each_cause_is_in_the_docs_with_what_to_do(code: m.HealthCode) -> None:
    section = DOCS.partition("## What health can say")[2]
    assert re.search(rf"\n\| `{code}` \| [^|]+ \| [^|]+ \|", section)
