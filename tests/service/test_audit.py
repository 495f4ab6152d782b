import json
import shutil
import sqlite3
from itertools import pairwise
from pathlib import Path

import pytest
from sqlalchemy import text
from tests.servers.site import Site, digest_of
from tests.service.refusals import refused
from typer.testing import CliRunner

from headrace.api.app.service import Service
from headrace.api.audit.command import audit
from headrace.api.errors import ServiceError
from headrace.client import models as m


async def break_the_audit(site: Site, *, broken: bool) -> None:
    """Make the database refuse audit events, or accept them again."""
    async with site.service.whole.core.database.write() as tx:
        if broken:
            await tx.execute(
                text("CREATE TRIGGER full BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'disk full'); END")
            )
        else:
            await tx.execute(text("DROP TRIGGER full"))


@pytest.mark.anyio
async def test_invariant_3_without_an_audit_log_nothing_is_transferred(site: Site) -> None:
    (site.lab / "set").mkdir()
    (site.lab / "set" / "a.txt").write_text("a")
    plan = await site.ada.plan("lab:/set", "archive:/set")
    await break_the_audit(site, broken=True)
    with refused("audit_unwritable"):
        await site.ada.submit(plan)
    with refused("audit_unwritable"):
        await site.ada.port.create_plan(m.PlanRequest(words="copy lab:/set to archive:/set"))
    with refused("audit_unwritable"):
        await site.ada.port.confirm_plan(plan.id, m.Confirmation(digest=digest_of(plan)))
    with refused("audit_unwritable"):
        await site.ada.port.browse("lab", "/set")
    assert (await site.ada.port.health()).status == "degraded"
    await break_the_audit(site, broken=False)
    assert await site.ada.port.transfers() == []
    assert not (await site.ada.port.plan(plan.id)).confirmed
    assert not (site.archive / "set").exists()
    ended = await site.ada.end_of(await site.ada.submit(plan))
    assert ended.state is m.TransferState.COMPLETE
    assert (await site.ada.port.health()).status == "ok"


@pytest.mark.anyio
async def test_the_chain_is_whole_and_says_who_did_what_by_which_door(quiet_site: Site) -> None:
    secret, port = await quiet_site.ada.token("transfer:read", "transfer:plan", agent="helper")
    plan = await port.create_plan(m.PlanRequest(words="copy a:/b to c:/d"))
    assert (await port.plan(plan.id, wait_s=20)).state is not m.PlanState.SURVEYING
    aud = await quiet_site.person("aud", "auditor")
    verdict = await aud.port.verify_audit()
    assert verdict.intact, verdict.detail
    events = await aud.port.audit(limit=1000)
    assert [event.sequence for event in events] == list(range(1, verdict.events + 1))
    assert all(after.previous == before.hash for before, after in pairwise(events))
    [asked] = await aud.port.audit(kind="asked")
    assert (asked.person, asked.agent, asked.door) == (quiet_site.ada.principal.id, "helper", "api")
    assert secret not in "".join(event.model_dump_json() for event in events)
    assert [event.kind for event in await aud.port.audit(after=verdict.events - 1)] == [events[-1].kind]
    assert {event.person for event in await aud.port.audit(person=aud.principal.id)} <= {aud.principal.id}


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("statement", "broken_at"),
    [
        ("UPDATE audit SET body = replace(body, 'service_started', 'service_stopped') WHERE sequence = 1", 1),
        ("UPDATE audit SET person = 'pn_other' WHERE sequence = 2", 2),
        ("UPDATE audit SET hash = replace(hash, 'a', 'b') WHERE sequence = 3", 3),
        ("DELETE FROM audit WHERE sequence = 2", 2),
        ("DELETE FROM audit WHERE sequence > 3", 4),
    ],
)
async def test_what_is_altered_removed_or_cut_off_is_noticed(
    quiet_site: Site, tmp_path: Path, statement: str, broken_at: int
) -> None:
    await quiet_site.person("bob", "viewer")
    await quiet_site.use_cases.audit.export_head()
    await quiet_site.service.close()
    copy = tmp_path / "copy"
    shutil.copytree(quiet_site.settings.data, copy)
    run = CliRunner().invoke(audit, ["verify", "--data", str(copy), "--json"])
    assert (run.exit_code, json.loads(run.stdout)["intact"]) == (0, True)
    connection = sqlite3.connect(copy / "headrace.sqlite")
    connection.execute(statement)
    connection.commit()
    connection.close()
    run = CliRunner().invoke(audit, ["verify", "--data", str(copy), "--json"])
    verdict = json.loads(run.stdout)
    assert (run.exit_code, verdict["intact"], verdict["broken_at"]) == (1, False, broken_at)


@pytest.mark.anyio
async def test_a_service_does_not_start_on_a_store_whose_events_were_cut_off(quiet_site: Site) -> None:
    await quiet_site.service.close()
    connection = sqlite3.connect(quiet_site.settings.data / "headrace.sqlite")
    connection.execute("DELETE FROM audit WHERE sequence > 1")
    connection.commit()
    connection.close()
    with pytest.raises(ServiceError, match=r"audit-heads\.jsonl"):
        await Service.start(quiet_site.settings, public_url="http://127.0.0.1")


@pytest.mark.anyio
async def test_a_torn_line_of_exported_heads_hides_nothing(quiet_site: Site) -> None:
    heads = quiet_site.settings.data / "audit-heads.jsonl"
    await quiet_site.use_cases.audit.export_head()
    with heads.open("a") as file:
        file.write('{"body": "torn')
    await quiet_site.person("bob", "viewer")
    await quiet_site.use_cases.audit.export_head()
    verdict = await quiet_site.use_cases.audit.verify()
    assert verdict.intact
    assert len(heads.read_text().splitlines()) == 3
