"""Two processes write to one store at once: nothing is counted twice, nothing is lost, no number is given twice."""

import asyncio
import json
import sys
from pathlib import Path

import pytest
from sqlalchemy import URL, select
from tests.servers.site import WAIT_S, Site, digest_of, started_site
from tests.service.test_consent import differing_files, publish
from tests.service.test_races import BUDGET_OF_ONE
from tests.service.test_transfers import small_set

from headrace.api.audit.check import verify_store
from headrace.api.settings import Settings
from headrace.api.store import Database
from headrace.api.store.tables_site import AuditRow, PolicyRow
from headrace.api.store.tables_work import ApprovalRow, ReservationRow, TransferRow

PROPOSALS = 12
RULES = (
    BUDGET_OF_ONE
    + """
@id("overwrites")
@reason("overwriting needs a second person")
@obligation("approval:approver:1")
forbid (principal, action in [Action::"copy", Action::"sync", Action::"move"], resource)
when { context.overwrites > 0 };
"""
)
Call = tuple[str, str, list[str]]


async def at_once(site: Site, *calls: list[Call]) -> list[list[str]]:
    """Let processes make calls at the same time; returns what came of each."""
    processes = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.servers.writer",
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, cwd=Path(__file__).parents[2],
        )
        for _ in calls
    ]  # fmt: skip

    async def tell(process: asyncio.subprocess.Process, line: str) -> None:
        assert process.stdin is not None
        process.stdin.write(line.encode() + b"\n")
        await process.stdin.drain()

    async def hear(process: asyncio.subprocess.Process) -> str:
        assert process.stdout is not None
        return (await asyncio.wait_for(process.stdout.readline(), 3 * WAIT_S)).decode().strip()

    for process, asked in zip(processes, calls, strict=True):
        settings = site.settings
        await tell(process, json.dumps({"data": str(settings.data), "database": settings.database, "calls": asked}))
    assert [await hear(process) for process in processes] == ["ready"] * len(processes)
    for process in processes:
        await tell(process, "go")
    said = [json.loads(await hear(process)) for process in processes]
    for process in processes:
        assert await process.wait() == 0
    return said


@pytest.mark.anyio
@pytest.mark.timeout(180)
async def test_two_processes_that_write_at_once_take_turns(each_store: URL, tmp_path: Path) -> None:
    postgres = "" if each_store.get_backend_name() == "sqlite" else each_store.render_as_string(hide_password=False)
    async with started_site(tmp_path, Settings(database=postgres.replace("+psycopg", ""))) as site:
        await site.start_both()
        small_set(site)
        differing_files(site)
        await publish(site, RULES)
        bea = await site.person("bea", "approver")
        plans = [await site.ada.plan("lab:/set", f"archive:/{number}") for number in range(3)]
        overwriting = await site.ada.plan("lab:/set", "archive:/set", on_conflict="overwrite")
        await site.service.close()

        ada = site.ada.secret
        submit: list[Call] = [("submit", ada, [digest_of(plan)]) for plan in plans]
        propose: list[Call] = [("propose", ada, [BUDGET_OF_ONE])] * PROPOSALS
        approve: list[Call] = [("approve", bea.secret, [overwriting.id, digest_of(overwriting)])]
        ones, others = await at_once(site, submit + propose + approve, submit[::-1] + propose + approve)

        url = site.service.whole.core.database.url
        database = Database(url)
        async with database.read() as tx:
            transfers = list(await tx.scalars(select(TransferRow.id)))
            reserved = list(await tx.scalars(select(ReservationRow.transfer)))
            approvals = list(await tx.scalars(select(ApprovalRow.approver)))
            numbers = list(await tx.scalars(select(PolicyRow.number).order_by(PolicyRow.number)))
            proposed = list(await tx.scalars(select(AuditRow.subject).where(AuditRow.kind == "policy_proposed")))
        await database.close()
    # The budget has room for one transfer, and the same plan has one transfer, whoever asks.
    submitted = set(ones[:3] + others[:3])
    assert len(transfers) == 1
    assert submitted == {*transfers, "needs_confirmation"}
    assert reserved == transfers
    # Each proposal has its number and its event.
    given = ones[3:-1] + others[3:-1]
    assert sorted(map(int, given)) == numbers[-2 * PROPOSALS :]
    assert numbers == list(range(1, len(numbers) + 1))
    assert sorted(proposed, key=int)[-2 * PROPOSALS :] == sorted(given, key=int)
    # One approver approves once.
    assert approvals == [bea.principal.id]
    assert {ones[-1], others[-1]} <= {overwriting.id, "approval_not_needed"}
    verdict = verify_store(url, None)
    assert verdict.intact, verdict.detail
