import asyncio
import hashlib
import json
import re
import resource
import shutil
import sqlite3
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError
from tests.servers.site import PASSWORD, Site, digest_of
from tests.service.refusals import refused
from typer.testing import CliRunner

from headrace.api.app.service import Service
from headrace.api.audit import check, strangers
from headrace.api.audit.command import audit
from headrace.api.audit.heads import Head, HeadsFile, last_head
from headrace.api.clock import utc_now
from headrace.api.errors import AuditUnwritable, ServiceError
from headrace.api.store.tables_site import InvitationRow
from headrace.auth import AuthError, Limit
from headrace.client import models as m
from headrace.guardrails import SigningKey


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
    move = await site.ada.plan("lab:/set", "archive:/moved", "move")
    await break_the_audit(site, broken=True)
    with refused("audit_unwritable"):
        await site.ada.submit(plan)
    with refused("audit_unwritable"):
        await site.ada.port.create_plan(m.PlanRequest(words="copy lab:/set to archive:/set"))
    with refused("audit_unwritable"):
        await site.ada.port.confirm_plan(move.id, m.Confirmation(digest=digest_of(move)))
    with refused("audit_unwritable"):
        await site.ada.port.browse("lab", "/set")
    assert (await site.ada.port.health()).status == "degraded"
    await break_the_audit(site, broken=False)
    assert (await site.ada.port.transfers()).items == []
    assert not (await site.ada.port.plan(move.id)).confirmed
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
    assert (asked.person, asked.agent, asked.door) == (quiet_site.ada.principal.id, "helper", "mcp")
    assert secret not in "".join(event.model_dump_json() for event in events)
    assert [event.kind for event in await aud.port.audit(after=str(verdict.events - 1))] == [events[-1].kind]
    assert {event.person for event in await aud.port.audit(person=aud.principal.id)} <= {aud.principal.id}


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("statement", "broken_at"),
    [
        ("UPDATE audit SET body = replace(body, 'service_started', 'service_stopped') WHERE sequence = 1", 1),
        ("UPDATE audit SET person = 'pn_other' WHERE sequence = 2", 2),
        ("UPDATE audit SET hash = (SELECT hash FROM audit WHERE sequence = 2) WHERE sequence = 3", 3),
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
    assert re.search(
        r", head [0-9a-f]+\. Every link fits", CliRunner().invoke(audit, ["verify", "--data", str(copy)]).stdout
    )
    connection = sqlite3.connect(copy / "headrace.sqlite")
    connection.execute(statement)
    connection.commit()
    connection.close()
    run = CliRunner().invoke(audit, ["verify", "--data", str(copy), "--json"])
    verdict = json.loads(run.stdout)
    assert (run.exit_code, verdict["intact"], verdict["broken_at"]) == (1, False, broken_at)


@pytest.mark.anyio
async def test_an_intact_chain_without_an_exported_head_is_not_said_to_have_been_compared_with_one(
    quiet_site: Site, tmp_path: Path
) -> None:
    await quiet_site.use_cases.audit.export_head()
    await quiet_site.service.close()
    copy = tmp_path / "copy"
    shutil.copytree(quiet_site.settings.data, copy)

    def said() -> str:
        run = CliRunner().invoke(audit, ["verify", "--data", str(copy)])
        assert run.exit_code == 0, run.output
        return run.stdout

    assert "and the last exported head is on the chain" in said()
    (copy / "audit-heads.jsonl").unlink()
    assert "Every link fits; no exported head was there to compare with" in said()
    connection = sqlite3.connect(copy / "headrace.sqlite")
    connection.execute("DELETE FROM audit")
    connection.commit()
    connection.close()
    assert "intact: 0 events" in said()
    assert "There is no event, though each service writes some at its first start; no exported head" in said()


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
    whole = len(heads.read_text().splitlines())
    with heads.open("a") as file:
        file.write('{"body": "torn')
    await quiet_site.person("bob", "viewer")
    await quiet_site.use_cases.audit.export_head()
    verdict = await quiet_site.use_cases.audit.verify()
    assert verdict.intact
    assert len(heads.read_text().splitlines()) == whole + 2


@pytest.mark.anyio
async def test_everything_about_one_subject_and_time_can_be_asked_for_newest_first(quiet_site: Site) -> None:
    aud = (await quiet_site.person("aud", "auditor")).port
    before = quiet_site.clock()
    quiet_site.clock.shift += timedelta(hours=1)
    bob = await quiet_site.person("bob", "viewer")
    await quiet_site.ada.port.disable_person(bob.principal.id)
    about_bob = await aud.audit(subject=bob.principal.id, order="newest")
    assert [event.kind for event in about_bob] == ["person_disabled", "signed_in", "invitation_accepted", "invited"]
    rest = await aud.audit(subject=bob.principal.id, order="newest", after=str(about_bob[1].sequence))
    assert rest.items == about_bob.items[2:]
    assert (await aud.audit(subject=bob.principal.id, since=before)).items == about_bob.items[::-1]
    assert (await aud.audit(subject=bob.principal.id, until=before + timedelta(minutes=30))).items == []


@pytest.mark.anyio
async def test_words_that_are_cut_leave_the_digest_of_the_whole(quiet_site: Site) -> None:
    words = "copy a:/b to c:/d, skip " + ", ".join(f"*.{number}" for number in range(400))
    await quiet_site.ada.port.create_plan(m.PlanRequest(words=words))
    [asked] = await quiet_site.audited("asked")
    assert asked.detail["words"] == words[:1000]
    assert asked.detail["words_sha256"] == hashlib.sha256(words.encode()).hexdigest()


@pytest.mark.anyio
async def test_an_event_with_a_field_that_is_not_declared_is_not_recorded(quiet_site: Site) -> None:
    core, before = quiet_site.service.whole.core, await quiet_site.audited("invited")

    async def invite_misspelt() -> None:
        async with core.database.write() as tx:
            await core.audit.append(tx, m.AuditKind.INVITED, detail={"nmae": "ada"})

    with pytest.raises(ValueError, match="nmae"):
        await invite_misspelt()
    assert await quiet_site.audited("invited") == before


@pytest.mark.anyio
async def test_another_tables_refusal_is_not_called_an_unwritable_audit_log(quiet_site: Site) -> None:
    core = quiet_site.service.whole.core

    async def invite_a_stray() -> None:
        async with core.database.write() as tx:
            tx.add(InvitationRow(hash="1", person="nobody", created=utc_now(), expires=utc_now()))
            await core.audit.append(tx, m.AuditKind.INVITED)

    with pytest.raises(IntegrityError, match="FOREIGN KEY"):
        await invite_a_stray()
    assert core.audit.unwritable_since is None


@pytest.mark.anyio
async def test_a_short_check_reads_what_came_since_the_last_one_and_a_full_check_everything(quiet_site: Site) -> None:
    first = await quiet_site.use_cases.audit.verify()
    assert (first.intact, first.checked_before) == (True, 0)
    await quiet_site.person("bob", "viewer")
    connection = sqlite3.connect(quiet_site.settings.data / "headrace.sqlite")
    connection.execute("UPDATE audit SET body = replace(body, 'service_started', 'service_stopped') WHERE sequence = 1")
    connection.commit()
    short = await quiet_site.use_cases.audit.verify()
    assert (short.intact, short.checked_before, short.events > first.events) == (True, first.events, True)
    full = await quiet_site.use_cases.audit.verify(full=True)
    assert (full.intact, full.broken_at, full.checked_before) == (False, 1, 0)
    connection.close()


@pytest.mark.anyio
async def test_a_short_check_notices_what_is_gone_below_its_checkpoint(quiet_site: Site) -> None:
    await quiet_site.use_cases.audit.verify()
    connection = sqlite3.connect(quiet_site.settings.data / "headrace.sqlite")
    connection.execute("DELETE FROM audit WHERE sequence = 2")
    connection.commit()
    connection.close()
    assert (await quiet_site.use_cases.audit.verify()).broken_at == 2


@pytest.mark.anyio
async def test_short_checks_count_what_is_below_their_checkpoint_a_part_each_in_turn(
    quiet_site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check, "COUNTED", 2)
    whole = await quiet_site.use_cases.audit.verify()
    assert whole.events > 2 * 2
    connection = sqlite3.connect(quiet_site.settings.data / "headrace.sqlite")
    connection.execute("DELETE FROM audit WHERE sequence = 4")
    connection.commit()
    connection.close()
    first, second = [await quiet_site.use_cases.audit.verify() for _ in range(2)]
    assert (first.intact, first.checked_before) == (True, whole.events), "events 1 and 2"
    assert second.broken_at == 4, "events 3 and 4"
    later = [await quiet_site.use_cases.audit.verify() for _ in range(3)]
    assert [one.broken_at for one in later] == [4, 4, 4], "what was found once is not found whole by counting others"


@pytest.mark.anyio
async def test_a_checkpoint_counts_for_a_day(quiet_site: Site) -> None:
    await quiet_site.use_cases.audit.verify()
    quiet_site.clock.shift += timedelta(hours=23)
    assert (await quiet_site.use_cases.audit.verify()).checked_before
    quiet_site.clock.shift += timedelta(hours=2)
    assert not (await quiet_site.use_cases.audit.verify()).checked_before


@pytest.mark.anyio
async def test_checks_that_are_asked_for_at_once_are_one_check(quiet_site: Site) -> None:
    audit_log = quiet_site.use_cases.audit
    verdicts = await asyncio.gather(*(audit_log.verify(full=True) for _ in range(20)))
    assert verdicts[0].intact
    assert all(verdict is verdicts[0] for verdict in verdicts)


@pytest.mark.anyio
async def test_sign_ins_say_who_and_from_where_and_never_what_was_typed_as_a_name(quiet_site: Site) -> None:
    people = quiet_site.use_cases.people
    bob = await quiet_site.person("bob", "viewer")
    session = await people.sign_in(m.SignIn(name="Bob", password=PASSWORD), "192.0.2.7")
    await people.sign_out(session.secret, "192.0.2.8")
    for name in ("bob", "my own password"):
        with pytest.raises(AuthError, match="wrong"):
            await people.sign_in(m.SignIn(name=name, password="wrong"), "192.0.2.9")  # noqa: S106
    aud = (await quiet_site.person("aud", "auditor")).port
    own = await aud.audit(person="bob")
    assert [(event.kind, event.detail["address"]) for event in own] == [
        ("invitation_accepted", "127.0.0.1"),
        ("signed_in", "127.0.0.1"),
        ("signed_in", "192.0.2.7"),
        ("signed_out", "192.0.2.8"),
    ]
    assert own[2].detail["method"] == "password"
    failed, unknown = await aud.audit(kind="sign_in_failed")
    assert (failed.person, failed.subject, failed.detail["address"]) == (None, bob.principal.id, "192.0.2.9")
    assert (unknown.subject, "my own password" in unknown.model_dump_json()) == ("", False)


def test_a_head_of_which_only_a_part_was_written_is_not_taken_for_exported(tmp_path: Path) -> None:
    path, key = tmp_path / "audit-heads.jsonl", SigningKey.load_or_create(tmp_path / "key")
    heads = HeadsFile(path, key)
    heads.append(1, f"{1:064x}", utc_now())
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 10, limits[1]))
    try:
        with pytest.raises(OSError, match="too large"):
            heads.append(2, f"{2:064x}", utc_now())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert heads.last() == Head(1, f"{1:064x}")
    heads.append(2, f"{2:064x}", utc_now())
    assert last_head(path, [key.public]) == Head(2, f"{2:064x}")


def test_the_newest_head_is_found_from_the_end_behind_any_rubbish(tmp_path: Path) -> None:
    path, key = tmp_path / "audit-heads.jsonl", SigningKey.load_or_create(tmp_path / "key")
    heads = HeadsFile(path, key)
    for sequence in range(1, 400):
        heads.append(sequence, f"{sequence:064x}", utc_now())
    with path.open("ab") as file:
        file.write(b"\xff" * 100_000 + b"\n" + path.read_bytes()[:100] + b"\n\n")
    newest = last_head(path, [key.public])
    assert newest is not None
    assert newest.sequence == 399


@pytest.mark.anyio
async def test_one_network_writes_few_refused_sign_ins_an_hour_and_hides_no_other(quiet_site: Site) -> None:
    async def tries(name: str, address: str) -> None:
        with pytest.raises(AuthError):
            await quiet_site.use_cases.people.sign_in(m.SignIn(name=name, password=PASSWORD), address)

    for number in range(12):
        await tries(f"nobody{number}", f"2001:db8::{number}")
    await tries("somebody", "192.0.2.1")
    written = [event.detail.get("address", "") for event in await quiet_site.audited("sign_in_failed")]
    assert written == [f"2001:db8::{number}" for number in range(10)] + ["192.0.2.1"]
    core = quiet_site.service.whole.core
    await core.strangers.tell()
    quiet_site.clock.shift = timedelta(minutes=59)
    await tries("nobody", "2001:db8::1")
    await core.strangers.tell()
    said = [event.detail["reason"] for event in await quiet_site.audited("sign_in_failed")][11:]
    assert said == ["2 more were refused that have no line of their own"]
    quiet_site.clock.shift = timedelta(minutes=61)
    await core.strangers.tell()
    said = [event.detail["reason"] for event in await quiet_site.audited("sign_in_failed")][12:]
    assert said == ["1 more were refused that have no line of their own"]


@pytest.mark.anyio
async def test_what_strangers_were_refused_is_told_once_the_log_can_be_written_again(
    quiet_site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(strangers, "_OF_ALL", Limit(1, timedelta(hours=1)))
    told = quiet_site.service.whole.core.strangers
    for number in range(3):
        await told.refused(m.AuditKind.NODE_REFUSED, subject=f"key {number}", detail={"reason": "no"})
    await break_the_audit(quiet_site, broken=True)
    with pytest.raises(AuditUnwritable):
        await told.tell()
    await break_the_audit(quiet_site, broken=False)
    await told.tell()
    said = [event.detail["reason"] for event in await quiet_site.audited("node_refused")]
    assert said == ["no", "2 more were refused that have no line of their own"]
