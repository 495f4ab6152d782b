"""Each code of the service that no other test meets, produced by what leads to it; and no code is without a test."""

import ast
import asyncio
import re
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from demo.stage import HEADRACE, surroundings
from sqlalchemy import select, text, update
from tests.servers.site import WAIT_S, Site, started_site
from tests.service.refusals import refused
from tests.service.test_signer import refusal_of, stored_transfer
from tests.service.test_transfers import small_set

from headrace.api.errors import Code
from headrace.api.planning import pipeline
from headrace.api.settings import Settings
from headrace.api.store import sqlite
from headrace.api.store.tables_work import ReceiptRow, TransferRow
from headrace.api.transfers.attempts import Attempts
from headrace.client import models as m

TESTS = Path(__file__).parents[1]
LAYERS = ("pure/api", "service", "interfaces/rest", "interfaces/mcp")
"""Where the service itself is asked, and not a script that plays it."""
EXPECTING = {"refused", "pytest.raises", "pytest.mark.parametrize"}
RAISED = {"Fenced": Code.TAKEN_OVER, "AuditUnwritable": Code.AUDIT_UNWRITABLE}
"""Errors that are one code each."""


def expecting(node: ast.AST) -> bool:
    """Whether a piece of a test says what is expected: an assertion, a refusal, or a table of cases."""
    match node:
        case ast.Assert():
            return True
        case ast.Call():
            return ast.unparse(node.func) in EXPECTING
        case ast.AnnAssign():
            return ast.unparse(node.target) == "cases"
        case _:
            return False


def expected_in(tree: ast.Module) -> Iterator[str]:
    """The codes that a module expects."""
    pieces = [node for node in ast.walk(tree) if expecting(node)]
    pieces += [node.iter for node in ast.walk(tree) if isinstance(node, ast.For)]
    for part in (part for piece in pieces for part in ast.walk(piece)):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield from (part.value, *re.findall(r"code: (\w+)", part.value))
        elif isinstance(part, ast.Attribute) and ast.unparse(part.value) == "Code":
            yield part.attr.lower()
        elif isinstance(part, ast.Name) and part.id in RAISED:
            yield RAISED[part.id]


def test_no_code_of_the_service_is_without_a_test() -> None:
    modules = [path for layer in LAYERS for path in sorted((TESTS / layer).rglob("test_*.py"))]
    met = {code for path in modules for code in expected_in(ast.parse(path.read_text(encoding="utf-8")))}
    met |= set(re.findall(r"refused: (\w+)", (TESTS / "interfaces" / "access_table.toml").read_text(encoding="utf-8")))
    assert [str(code) for code in Code if code not in met] == []


@pytest.mark.anyio
async def test_names_of_what_is_not_there_are_refused(quiet_site: Site) -> None:
    port = quiet_site.ada.port
    with refused("unknown_endpoint"):
        await port.update_endpoint("nowhere", m.EndpointUpdate(aliases=["here"]))
    with refused("unknown_endpoint"):
        await port.browse("nowhere", "/")
    for ask in (port.revoke_node("nobody"), port.drain_node("nobody", drain=True)):
        with refused("unknown_node"):
            await ask


@pytest.mark.anyio
async def test_a_beginning_that_two_transfers_share_names_neither(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = iter(["tr_aaaaaaaa1", "tr_aaaaaaaa2"])
    monkeypatch.setitem(type(site.use_cases.submissions).insert.__globals__, "_transfer_of", lambda _plan: next(ids))
    for _ in range(2):
        await stored_transfer(site, confirmed=False)
    with refused("ambiguous_transfer"):
        await site.ada.port.transfer("tr_aaaaaaaa")
    assert (await site.ada.port.transfer("tr_aaaaaaaa1")).id == "tr_aaaaaaaa1"


@pytest.mark.anyio
async def test_a_start_lies_ahead_by_at_most_a_week_and_its_plan_lasts_a_day_longer(site: Site) -> None:
    small_set(site)
    plan = await site.ada.plan("lab:/set", "archive:/copy", start=site.clock() + timedelta(days=8))
    assert (plan.state, [refusal.rule for refusal in plan.refusals]) == (m.PlanState.DENIED, ["not_supported_yet"])
    latest = site.clock() + timedelta(days=7)
    assert f"at most 7 days ahead: before {latest:%Y-%m-%d %H:}" in plan.next_step.message
    start = site.clock() + timedelta(days=3)
    later = await site.ada.plan("lab:/set", "archive:/copy", start=start)
    assert (later.state, later.expires) == (m.PlanState.READY, start + timedelta(days=1)), later.summary
    transfer = await site.ada.submit(later)
    assert (transfer.state, transfer.starts) == (m.TransferState.QUEUED, start)
    site.clock.shift += timedelta(days=3, hours=23)
    assert await refusal_of(site, transfer.id) == ""
    site.clock.shift += timedelta(hours=1)
    assert await refusal_of(site, transfer.id) == "plan_expired"


@pytest.mark.anyio
async def test_a_node_whose_clock_is_wrong_gets_no_work(site: Site) -> None:
    small_set(site)
    nodes, key = site.use_cases.nodes, site.nodes["left"].key
    live = nodes.attached(key)
    assert live is not None
    # What the hub would tell of such a node: no clock of this machine can be wrong for one process alone.
    names = ("node", "version", "roots", "missing_roots", "data_addresses", "accepts_connections")
    skewed = SimpleNamespace(**{name: getattr(live, name) for name in names}, clock_skew_ms=-61_000)
    nodes._attached[key] = skewed  # type: ignore[assignment] # noqa: SLF001
    plan = await site.ada.plan("lab:/set", "archive:/copy")
    assert (plan.state, plan.refusals[0].rule) == (m.PlanState.FAILED, "node_clock_skewed")
    assert "`left` is 61 s behind" in plan.refusals[0].message


@pytest.mark.anyio
async def test_two_nodes_of_which_neither_takes_connections_are_told_at_planning(quiet_site: Site) -> None:
    site = quiet_site
    await site.start_node("left", [("lab", str(site.lab), "delete")], data_listen="")
    await site.start_node("right", [("archive", str(site.archive), "delete")], data_listen="")
    small_set(site)
    plan = await site.ada.plan("lab:/set", "archive:/copy")
    assert (plan.state, plan.refusals[0].rule) == (m.PlanState.FAILED, "nodes_unreachable")
    within_one = await site.ada.plan("lab:/set", "lab:/copy")
    assert within_one.state is m.PlanState.READY, within_one.summary


@pytest.mark.anyio
async def test_a_listing_that_takes_too_long_ends_the_planning(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    small_set(site)
    monkeypatch.setattr(pipeline, "_SURVEY_LIMIT_S", 0)
    plan = await site.ada.plan("lab:/set", "archive:/copy")
    assert (plan.state, plan.refusals[0].rule) == (m.PlanState.FAILED, "survey_timeout")


@pytest.mark.anyio
async def test_a_transfer_whose_requester_was_altered_gets_no_ticket(site: Site) -> None:
    bob = await site.person("bob", "requester")
    _, transfer = await stored_transfer(site)
    async with site.service.whole.core.database.write() as tx:
        await tx.execute(update(TransferRow).values(requester=bob.principal.id))
    assert await refusal_of(site, transfer) == "plan_altered"


@pytest.mark.anyio
async def test_attempts_that_move_nothing_end_the_transfer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hand_over, begun = Attempts.hand_over, asyncio.Event()

    async def told(*arguments: Any) -> bool:  # noqa: ANN401 - as it is called
        again = await hand_over(*arguments)
        begun.set()
        return again

    monkeypatch.setattr(Attempts, "hand_over", told)
    settings = replace(Settings(), attempts_without_progress=1)
    async with started_site(tmp_path, settings) as site:
        await site.start_node("left", [("lab", str(site.lab), "delete")], data_listen="")
        small_set(site)
        made = await site.use_cases.nodes.create_join_token(None, m.JoinTokenRequest(name="right"))
        # A node that names an address at which nobody listens.
        command = [str(HEADRACE), "node", "join", made.token, "--name", "right", "--allow-root"]
        places = ["--state", str(tmp_path / "right"), "--root", f"archive={site.archive}:write"]
        data = ["--data-listen", "127.0.0.1:0", "--data-advertise", "127.0.0.1:9"]
        kept = surroundings()
        with subprocess.Popen(  # noqa: ASYNC220 - it returns at once
            [*command, *places, *data], stdout=subprocess.DEVNULL, env=kept
        ) as right:
            try:
                await site.until_nodes(lambda: site.use_cases.nodes.attached_count == len(("left", "right")))
                transfer = await site.ada.submit(await site.ada.plan("lab:/set", "archive:/copy"))
                # Both nodes know of the attempt now: a stop between their two starts would reach only one of them.
                await asyncio.wait_for(begun.wait(), WAIT_S)
                # Sooner than the nodes give up looking for each other.
                await site.service.whole.core.hub.stop_attempt(transfer=transfer.id, reason="nobody answers")
                ended = await site.ada.end_of(transfer)
            finally:
                right.terminate()
        assert ended.state is m.TransferState.FAILED, ended.summary
        assert ended.error is not None
        assert ended.error.code == "no_progress"


@pytest.mark.anyio
async def test_a_receipt_outlives_its_list_of_files_and_says_so(site: Site) -> None:
    small_set(site)
    ended = await site.ada.end_of(await site.ada.submit(await site.ada.plan("lab:/set", "archive:/copy")))
    assert ended.receipt is not None
    async with site.service.whole.core.database.read() as tx:
        row = await tx.scalar(select(ReceiptRow))
        assert row is not None
        (site.settings.data / row.files_list).unlink()
    assert (await site.ada.port.receipt(ended.receipt)).transfer == ended.id
    with refused("no_file_list"):
        async for _ in site.ada.port.receipt_files(ended.receipt):
            pass


@pytest.mark.anyio
async def test_who_waits_while_the_service_ends_is_told(site: Site) -> None:
    site.service.whole.core.broker.close()
    with refused("shutting_down"):
        await site.ada.plan("lab:/set", "archive:/copy")


@pytest.mark.anyio
async def test_a_store_that_another_process_holds_is_busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "_BUSY_TIMEOUT_MS", 100)
    async with started_site(tmp_path) as site:
        with closing(sqlite3.connect(site.settings.data / "headrace.sqlite", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with refused("store_busy"):
                await site.person("bob", "requester")
            assert (await site.ada.port.health()).status == "degraded"
            other.execute("ROLLBACK")
        assert (await site.person("bob", "requester")).principal.name == "bob"
        assert (await site.ada.port.health()).status == "ok"


@pytest.mark.anyio
async def test_a_store_without_room_is_full_and_goes_on_when_there_is(quiet_site: Site) -> None:
    async def grow_to(pages: str) -> None:
        async with quiet_site.service.whole.core.database.write() as tx:
            await tx.execute(text(f"PRAGMA max_page_count = {pages}"))

    await grow_to("1")  # SQLite takes that for what it has now.
    policy = m.PolicyText(text=(await quiet_site.ada.port.policies())[0].text + "\n// " + "x" * 50_000, note="more")
    with refused("store_full"):
        await quiet_site.ada.port.propose_policy(policy)
    assert (await quiet_site.ada.port.health()).status == "degraded"
    await grow_to("1000000")
    assert (await quiet_site.ada.port.propose_policy(policy)).state == "proposed"
