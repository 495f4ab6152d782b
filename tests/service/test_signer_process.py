"""A signer in a process of its own: what the service's account can't get signed, and what goes on when it dies."""

import asyncio
import json
import os
import signal
import socket
import subprocess
from collections.abc import AsyncIterator, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import typer
from sqlalchemy import select
from tests.servers.device import Device
from tests.servers.signer import LIMIT_S, SignerOfTest, proven, running_signer
from tests.servers.site import PASSWORD, Person, Site, digest_of, started_site
from tests.service.refusals import refused
from tests.service.test_authority_key import key_causes
from tests.service.test_consent import APPROVED_OVERWRITES, differing_files
from tests.service.test_transfers import SLOW_BPS, large_set, until
from typer.testing import CliRunner

from headrace.api.app.key_rotation import rotate_authority, rotate_hub
from headrace.api.clock import utc_now
from headrace.api.errors import CannotStart, KeyUnusable, ServiceError
from headrace.api.settings import SettingError, Settings
from headrace.api.signing import signer_line
from headrace.api.signing.signer_line import Line
from headrace.api.signing.signer_state import KnownPasskey, SignerState
from headrace.api.signing.signer_wire import MakeConsent, MakeTicket, ProofOf, SignBody, TakePolicy
from headrace.api.store.tables_site import PasskeyRow
from headrace.api.store.tables_work import ConfirmationRow
from headrace.client import models as m
from headrace.guardrails import canonical, default_policy_text, digest, new_id, verify

NOBODY = 65534


@pytest.fixture(scope="module")
def signer() -> Iterator[SignerOfTest]:
    with running_signer() as running:
        yield running


@pytest.fixture
async def apart(tmp_path: Path, signer: SignerOfTest) -> AsyncIterator[Site]:
    """A site whose key is in the signer's process, where `ada` has no passkey yet."""
    if signer.process is None:
        signer.start()
    async with started_site(
        tmp_path, Settings(signer=str(signer.socket), consent_proof="passkey"), proof="passkey"
    ) as site:
        await site.start_both()
        yield site


async def with_passkey(person: Person, signer: SignerOfTest, *more: str) -> Device:
    """Give somebody a passkey that the signer counts."""
    device = Device()
    await person.port.add_passkey(device.create(await person.port.begin_passkey(m.Proven(password=PASSWORD))))
    wish = m.TokenRequest(name="first", scopes=["transfer:read"])
    with refused("passkey_refused"):
        await proven(lambda answer: person.port.create_token(wish.model_copy(update={"passkey": answer})), device)
    signed = Line(signer.socket)
    with pytest.raises(ServiceError, match="headrace signer accept"):
        signed.ask(MakeConsent(proved=await proved_by(person, device, "{}"), terms=None))
    accepted = signer.run("accept", *more, "--", device.id[:12])
    assert accepted.exit_code == 0, accepted.stderr
    return device


async def proved_by(person: Person, device: Device, agreed: str, answer: m.PasskeyAnswer | None = None) -> ProofOf:
    """What the service would say to the signer of a passkey's answer."""
    passkeys = person.site.use_cases.proofs._auth.passkeys  # noqa: SLF001 - what an attacker in the process has
    if answer is None:
        asked = await passkeys.ask(person.principal, agreed)
        assert asked is not None
        challenge = m.PasskeyChallenge(
            challenge=asked.challenge, kept=asked.kept, party=asked.party.id, origin=asked.party.origin,
            passkeys=list(asked.passkeys), expires=asked.until,
        )  # fmt: skip
        answer = device.get(challenge)
    async with person.site.service.whole.core.database.read() as tx:
        row = await tx.get_one(PasskeyRow, device.id)
    key = row.public_key.replace("+", "-").replace("/", "_")
    return ProofOf(person=person.principal.id, agreed=agreed, passkey=answer, public_key=key)


def ticket_of(plan: m.Plan, document: str = "", **others: Any) -> MakeTicket:  # noqa: ANN401 - checked by the model
    asked = MakeTicket(
        document=document or plan.document or "",
        digest=digest_of(plan),
        confirmation="",
        approvals=[],
        transfer=new_id("tr"),
        number=1,
        only_failed=False,
        rate_ceiling_bps=None,
    )
    return asked.model_copy(update=others)


def code_of(line: Line, request: MakeConsent | MakeTicket | SignBody | TakePolicy) -> str:
    """Ask the signer, and return why it refuses; empty when it signs."""
    try:
        line.ask(request)
    except ServiceError as error:
        return str(error.code)
    return ""


def forged(
    line: Line, plan: m.Plan, change: Mapping[str, Any], *, context: Mapping[str, Any], resource: Mapping[str, Any]
) -> MakeTicket:
    """Let the signer seal the plan with another decision, as whoever has the service's account can."""
    fields = verify(plan.document or "", "plan", [line.public]).fields()
    assert isinstance(fields["decision"], Mapping)
    decision: dict[str, Any] = {**fields["decision"], **change}
    record = json.loads(decision["context"])
    told = {"context": {**record["context"], **context}, "resource": {**record["resource"], **resource}}
    decision["context"] = canonical({**record, **told}).decode()
    body = canonical({**fields, "decision": decision})
    signature = line.sign("plan", body)
    signatures = [{"alg": "Ed25519", "key": line.public, "signature": signature}]
    document = verify(canonical({"body": body.decode(), "signatures": signatures}).decode(), "plan", [line.public])
    return ticket_of(plan, document.text).model_copy(update={"digest": document.digest})


@pytest.mark.anyio
async def test_transfers_wait_for_a_signer_that_was_killed_and_go_on_when_it_is_back(
    apart: Site, signer: SignerOfTest
) -> None:
    large_set(apart)
    slow = await apart.ada.submit(await apart.ada.plan("lab:/set", "archive:/slow", rate_limit_bps=4 * SLOW_BPS))
    ready = await apart.ada.plan("lab:/set", "archive:/ready")
    await until(apart, slow, "running")
    signer.kill()
    with refused("key_unusable"):
        await apart.ada.submit(ready)
    assert f"the signer at `{signer.socket}` can't be used" in (await key_causes(apart))[0]
    await apart.ada.port.control(slow.id, m.ControlRequest(action="pause"))
    await until(apart, slow, "paused")
    with refused("key_unusable"):
        await apart.ada.submit(ready)
    await apart.ada.port.control(slow.id, m.ControlRequest(action="resume"))
    await until(apart, slow, "waiting", reason="authority key")
    signer.start()
    assert await key_causes(apart) == []
    for transfer in (slow, await apart.ada.submit(ready)):
        ended = await apart.ada.end_of(transfer)
        assert ended.state is m.TransferState.COMPLETE, ended.state_reason
        assert verify((await apart.ada.port.receipt(ended.id)).document, "receipt", [signer.key])
    assert not (apart.settings.data / "authority.key").exists()


async def key_cause(site: Site) -> m.HealthCause:
    """The one that health names now, without trying a key that failed lately."""
    [found] = [one for one in (await site.ada.port.health()).causes if one.code is m.HealthCode.KEY_UNUSABLE]
    return found


@pytest.mark.anyio
async def test_health_names_a_signer_that_can_write_nothing_until_it_can(apart: Site, signer: SignerOfTest) -> None:
    large_set(apart, files=1)
    plan = await apart.ada.plan("lab:/set", "archive:/full")
    with signer.without_room():
        with refused("key_unusable"):
            await apart.ada.submit(plan)
        first = await key_cause(apart)
        assert f"`{signer.folder}/state` can't be read or written" in first.sentence
        assert "systemctl status headrace-signer" in first.what_to_do
        assert "token, its module" not in first.what_to_do
        # A plan is sealed without a write: it must not pass for the end of the trouble.
        unplanned = await apart.ada.plan("lab:/set", "archive:/other")
        assert [one.rule for one in unplanned.refusals] == ["key_unusable"]
        for _ in range(2):
            assert await key_causes(apart) == [first.sentence]
            assert (await key_cause(apart)).since == first.since
    assert await key_causes(apart) == []
    ended = await apart.ada.end_of(await apart.ada.submit(plan))
    assert ended.state is m.TransferState.COMPLETE, ended.state_reason


@pytest.mark.anyio
async def test_health_tries_the_disk_of_a_signer_before_a_ticket_needs_it(apart: Site, signer: SignerOfTest) -> None:
    assert await key_causes(apart) == []
    with signer.without_room():
        assert "can't be read or written" in (await key_causes(apart))[0]
    assert await key_causes(apart) == []


@pytest.mark.anyio
async def test_health_names_a_dead_signer_before_anything_is_to_be_signed_and_since_when(
    apart: Site, signer: SignerOfTest
) -> None:
    assert await key_causes(apart) == []
    signer.kill()
    assert len(await key_causes(apart)) == 1
    since = (await key_cause(apart)).since
    for _ in range(2):
        assert len(await key_causes(apart)) == 1
        assert (await key_cause(apart)).since == since
    signer.start()
    assert await key_causes(apart) == []


@pytest.mark.anyio
async def test_a_plan_that_a_late_signer_released_is_started_by_the_next_submission(
    apart: Site, signer: SignerOfTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    large_set(apart, files=1)
    plan = await apart.ada.plan("lab:/set", "archive:/late")
    assert signer.process is not None
    signer.process.send_signal(signal.SIGSTOP)
    try:
        with monkeypatch.context() as patient:
            patient.setattr(signer_line, "_PATIENCE_S", 0.2)
            patient.setattr(signer_line, "_LEFT_ALONE_S", 0)
            with refused("key_unusable"):
                await apart.ada.submit(plan)
    finally:
        signer.process.send_signal(signal.SIGCONT)
    # Asked in turn, it has answered the ticket to nobody by now.
    assert Line(signer.socket).sign("probe", b"{}")
    ended = await apart.ada.end_of(await apart.ada.submit(plan))
    assert ended.state is m.TransferState.COMPLETE, ended.state_reason


@pytest.mark.anyio
async def test_what_runs_goes_on_without_the_signer_and_has_its_receipt(apart: Site, signer: SignerOfTest) -> None:
    total = large_set(apart, files=16)
    plan = await apart.ada.plan("lab:/set", "archive:/on", rate_limit_bps=2 * SLOW_BPS)
    transfer = await apart.ada.submit(plan)
    await until(apart, transfer, "running")
    signer.kill()
    # It wants another ticket, which nobody signs.
    await apart.ada.port.control(transfer.id, m.ControlRequest(action="set_rate", rate_bps=SLOW_BPS))
    async with asyncio.timeout(LIMIT_S):
        async for event in apart.ada.port.watch(transfer.id):
            if event.transfer is not None and event.transfer.progress.bytes_durable == total:
                break
    signer.start()
    ended = await apart.ada.end_of(transfer)
    assert ended.state is m.TransferState.COMPLETE, ended.state_reason
    assert "waiting" not in {event.kind for event in await apart.ada.port.transfer_events(transfer.id)}


@pytest.mark.anyio
async def test_what_was_planned_goes_on_when_another_key_comes_after_the_signers(
    apart: Site, signer: SignerOfTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    large_set(apart, files=1)
    plan, former = await apart.ada.plan("lab:/set", "archive:/rotated"), signer.key
    assert "another service" in signer.run("rotate").output, "it runs"
    app = typer.Typer()
    app.command("hub")(rotate_hub)
    app.command("authority")(rotate_authority)
    of_service = ["--data", str(apart.settings.data)]
    await apart.service.close()
    for name, value in (("HEADRACE_SIGNER", str(signer.socket)), ("HEADRACE_CONSENT_PROOF", "passkey")):
        monkeypatch.setenv(name, value)
    assert CliRunner().invoke(app, ["hub", *of_service]).exit_code == 0
    refused_here = CliRunner().invoke(app, ["authority", *of_service])
    assert (refused_here.exit_code, "`headrace signer rotate`" in refused_here.output) == (1, True)
    signer.kill()
    rotated = signer.run("rotate", "--json")
    assert rotated.exit_code == 0, rotated.output
    signer.start()
    assert json.loads(rotated.stdout)["key"] == signer.key != former
    await apart.restart()
    [noted] = await apart.audited("authority_key_rotated")
    assert (noted.subject, noted.detail["former"]) == (signer.key, former)
    ended = await apart.ada.end_of(await apart.ada.submit(plan))
    assert ended.state is m.TransferState.COMPLETE, ended.state_reason
    assert verify((await apart.ada.port.receipt(ended.id)).document, "receipt", [signer.key])


@pytest.mark.anyio
async def test_a_yes_counts_once_the_owner_of_the_signer_has_accepted_its_passkey(
    apart: Site, signer: SignerOfTest
) -> None:
    differing_files(apart)
    plan = await apart.ada.plan("lab:/set", "archive:/set", on_conflict="overwrite")
    device = Device()
    await apart.ada.port.add_passkey(device.create(await apart.ada.port.begin_passkey(m.Proven(password=PASSWORD))))

    async def confirm() -> m.Plan:
        said = m.Confirmation(digest=digest_of(plan))
        return await proven(
            lambda answer: apart.ada.port.confirm_plan(plan.id, said.model_copy(update={"passkey": answer})), device
        )

    for _ in range(2):
        with refused("passkey_refused") as told:
            await confirm()
    assert f"headrace signer accept -- {device.id[:16]}" in told.value.problem.detail
    listed = signer.run("passkeys", "--json")
    waiting = {one["id"]: one for one in json.loads(listed.stdout)}[device.id]
    assert (waiting["person"], waiting["accepted"]) == (apart.ada.principal.id, False)
    assert signer.run("accept", "--", device.id[:12]).exit_code == 0
    assert (await confirm()).confirmed
    ended = await apart.ada.end_of(await apart.ada.submit(plan))
    assert ended.state is m.TransferState.COMPLETE, ended.state_reason
    assert signer.run("remove", "--", device.id[:12]).exit_code == 0
    assert device.id not in signer.run("passkeys").stdout


@pytest.mark.anyio
async def test_the_services_account_gets_no_ticket_signed_that_no_proof_covers(
    apart: Site, signer: SignerOfTest
) -> None:
    differing_files(apart)
    line, device = Line(signer.socket), await with_passkey(apart.ada, signer)
    plans = [await apart.ada.plan("lab:/set", "archive:/set", on_conflict="overwrite") for _ in range(2)]
    plan, other = [await apart.ada.port.plan(one.id, document=True) for one in plans]
    said = m.Confirmation(digest=digest_of(other))
    await proven(
        lambda answer: apart.ada.port.confirm_plan(other.id, said.model_copy(update={"passkey": answer})), device
    )
    async with apart.service.whole.core.database.read() as tx:
        of_other = (await tx.scalars(select(ConfirmationRow.statement))).one()
    body = json.loads(of_other)["body"]
    for type_ in ("ticket", "consent", "succession"):
        assert code_of(line, SignBody(type=type_, body=body)) == "forbidden"
    for statement in ("", "{}", of_other, of_other.replace(digest_of(other), digest_of(plan))):
        assert code_of(line, ticket_of(plan, confirmation=statement)) == "confirmation_missing"
    free: Mapping[str, Any] = {"outcome": "allowed", "obligations": []}
    for own, told, code in (
        (free, {}, "needs_confirmation"),
        (free, {"overwrites": "0", "overwritten_bytes": "0"}, "plan_altered"),
        (free, {"deletes": "1"}, "plan_altered"),
        ({"policy_version": "0" * 64}, {}, "policy_changed"),
        (free, {"overwrites": None}, "plan_altered"),
    ):
        assert code_of(line, forged(line, plan, own, context=told, resource={})) == code
    nothing = line.ask(MakeConsent(proved=await proved_by(apart.ada, device, "{}"), terms=None)).document
    assert code_of(line, ticket_of(plan, confirmation=nothing)) == "plan_altered"
    first = ticket_of(other, confirmation=of_other)
    assert verify(line.ask(first).document, "ticket", [signer.key]).fields()["plan_digest"] == other.digest
    assert code_of(line, first.model_copy(update={"number": 2})) == ""
    assert code_of(line, first.model_copy(update={"transfer": new_id("tr")})) == "plan_altered"


@pytest.mark.anyio
async def test_paths_and_globs_that_policy_was_told_are_those_that_the_nodes_are_told(
    apart: Site, signer: SignerOfTest
) -> None:
    (apart.lab / "set").mkdir()
    (apart.lab / "set" / "a.txt").write_text("text")
    line = Line(signer.socket)
    limits: dict[str, Any] = {"max_size_bytes": 1000, "modified_before": datetime(2100, 1, 1, tzinfo=UTC)}
    plan = await apart.ada.plan("lab:/set", "archive:/set", include=["b*", "*.txt"], exclude=["c*"], **limits)
    plan = await apart.ada.port.plan(plan.id, document=True)
    decision = verify(plan.document or "", "plan", [line.public]).fields()["decision"]
    assert isinstance(decision, Mapping)
    ends = json.loads(str(decision["context"]))["resource"]
    lies: list[dict[str, Any]] = [
        {"source": {**ends["source"], "path": ["open"]}},
        {"destination": {**ends["destination"], "path": ["open"]}},
        {"include": []},
        {"exclude": ["c*", "secret"]},
        {"min_size_bytes": "1"},
        {"max_size_bytes": "999"},
        {"max_size_bytes": None},
        {"modified_after": "2026-11-25T00:00:00.000Z"},
        {"modified_before": "2099-12-31T23:59:59.999Z"},
        {"modified_before": None},
    ]
    for told in lies:
        assert code_of(line, forged(line, plan, {}, context={}, resource=told)) == "plan_altered", told
    origins = json.loads(str(decision["context"]))["context"]["origins"]
    said = {"origins": {**origins, "source": "said"}}
    assert code_of(line, forged(line, plan, {}, context=said, resource={})) == "plan_altered"
    assert code_of(line, forged(line, plan, {}, context={}, resource={})) == ""


@pytest.mark.anyio
async def test_a_plan_gets_no_more_tickets_when_all_of_it_is_there_or_it_began_long_ago(
    apart: Site, signer: SignerOfTest
) -> None:
    (apart.lab / "set").mkdir()
    (apart.lab / "set" / "a.txt").write_text("text")
    line = Line(signer.socket)
    done, old, other = [await apart.ada.plan("lab:/set", f"archive:/set{number}") for number in range(3)]
    ended = await apart.ada.end_of(await apart.ada.submit(done))
    assert ended.state is m.TransferState.COMPLETE, ended.summary
    again = ticket_of(await apart.ada.port.plan(done.id, document=True), transfer=ended.id, number=2)
    with pytest.raises(ServiceError, match="all of it is there"):
        line.ask(again)
    plan = await apart.ada.port.plan(old.id, document=True)
    SignerState(signer.folder / "state").release(digest_of(plan), "tr_old", utc_now() - timedelta(days=90))
    with pytest.raises(ServiceError, match="began 90 days ago"):
        line.ask(ticket_of(plan, transfer="tr_old"))
    partial = {"outcome": "partial", "plan_digest": digest_of(other)}
    line.sign("receipt", canonical(partial))
    assert code_of(line, ticket_of(await apart.ada.port.plan(other.id, document=True))) == ""


@pytest.mark.anyio
async def test_the_services_account_gets_no_consent_signed_that_no_passkey_gave(
    apart: Site, signer: SignerOfTest
) -> None:
    line, device = Line(signer.socket), await with_passkey(apart.ada, signer)
    agreed = canonical({"action": "confirm_plan", "subject": "pl_1", "request": {"verdict": "confirmed"}}).decode()
    good = await proved_by(apart.ada, device, agreed)
    stranger = Device()
    wrong: dict[str, dict[str, Any]] = {
        "another request": {"agreed": agreed.replace("pl_1", "pl_2")},
        "another person": {"person": "pn_eve"},
        "another passkey": {"passkey": good.passkey.model_copy(update={"id": stranger.id})},
        "another time": {"passkey": good.passkey.model_copy(update={"kept": "a.4102444800.b"})},
    }
    for what, changed in wrong.items():
        asked = MakeConsent(proved=good.model_copy(update=changed), terms=None)
        assert code_of(line, asked) == "passkey_refused", what
    asked = MakeConsent(proved=good, terms=None)
    fields = verify(line.ask(asked).document, "consent", [signer.key]).fields()
    assert (fields["person"], fields["agreed"]) == (apart.ada.principal.id, agreed)
    assert code_of(line, asked) == "passkey_refused"
    signer.kill()
    signer.start()
    assert code_of(line, asked) == "passkey_refused"
    for minutes in (-6, 1):
        apart.clock.jump = timedelta(minutes=minutes)
        late = await proved_by(apart.ada, device, agreed)
        with pytest.raises(ServiceError, match="longer than five minutes"):
            line.ask(MakeConsent(proved=late, terms=None))


@pytest.mark.anyio
async def test_the_signer_takes_a_policy_from_whoever_may_publish_there_and_from_nobody_else(
    apart: Site, signer: SignerOfTest
) -> None:
    line, device = Line(signer.socket), await with_passkey(apart.ada, signer)
    before = line.policy

    async def take(text: str, agreed_to: str) -> str:
        agreed = canonical({"action": "publish_policy", "subject": f"2 {agreed_to}", "request": {}}).decode()
        return code_of(line, TakePolicy(proved=await proved_by(apart.ada, device, agreed), text=text))

    wanted = digest(APPROVED_OVERWRITES.encode())
    assert await take(APPROVED_OVERWRITES, wanted) == "passkey_refused"
    assert signer.run("accept", "--publishes", "--", device.id[:12]).exit_code == 0
    assert await take(APPROVED_OVERWRITES, before) == "passkey_refused"
    assert await take("permit (principal, action, resource);", wanted) == "policy_invalid"
    assert Line(signer.socket).policy == before
    assert await take(APPROVED_OVERWRITES, wanted) == ""
    assert Line(signer.socket).policy == wanted
    given = signer.folder / "default.cedar"
    given.write_text(default_policy_text())
    assert signer.run("policy", str(given)).exit_code == 0
    assert Line(signer.socket).policy == before
    assert "does not hold a policy" in signer.run("policy", str(signer.folder / "state" / "authority.pub")).stderr


@pytest.mark.anyio
async def test_health_says_when_service_and_signer_decide_by_different_policies(
    apart: Site, signer: SignerOfTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(signer_line, "_FRESH_S", 0.0)

    async def told() -> list[str]:
        found = (await apart.ada.port.health()).causes
        return [one.sentence for one in found if one.code is m.HealthCode.POLICY_DIFFERS]

    assert await told() == []
    for text in (APPROVED_OVERWRITES, default_policy_text()):
        (signer.folder / "other.cedar").write_text(text)
        assert signer.run("policy", str(signer.folder / "other.cedar")).exit_code == 0
        wanted = [] if text == default_policy_text() else [digest(text.encode())]
        assert [sentence.split(" ")[5].rstrip(",") for sentence in await told()] == wanted
    signer.kill()
    assert await told() == []
    signer.start()


@pytest.mark.anyio
async def test_a_policy_is_published_here_and_at_the_signer_or_at_neither(apart: Site, signer: SignerOfTest) -> None:
    device = await with_passkey(apart.ada, signer)
    pia = await invited(apart, device, "pia", "policy_admin")
    theirs = await with_passkey(pia, signer)
    proposed = await apart.ada.port.propose_policy(m.PolicyText(text=APPROVED_OVERWRITES))

    async def publish() -> m.PolicyVersion:
        return await proven(lambda answer: pia.port.publish_policy(proposed.version, m.Proven(passkey=answer)), theirs)

    with refused("passkey_refused"):
        await publish()
    assert [one.state for one in await pia.port.policies()] == ["proposed", "active"]
    assert signer.run("accept", "--publishes", "--", theirs.id[:12]).exit_code == 0
    await publish()
    assert Line(signer.socket).policy == digest(APPROVED_OVERWRITES.encode())
    differing_files(apart)
    plan = await apart.ada.plan("lab:/set", "archive:/set", on_conflict="overwrite")
    word = m.Approval(digest=digest_of(plan), verdict="approved")
    bea = await invited(apart, device, "bea", "approver")
    of_bea = await with_passkey(bea, signer)
    await proven(lambda answer: bea.port.approve_plan(plan.id, word.model_copy(update={"passkey": answer})), of_bea)
    assert (await apart.ada.end_of(await apart.ada.submit(plan))).state is m.TransferState.COMPLETE
    (signer.folder / "default.cedar").write_text(default_policy_text())
    assert signer.run("policy", str(signer.folder / "default.cedar")).exit_code == 0


async def invited(site: Site, device: Device, name: str, *roles: str) -> Person:
    """Invite somebody, which takes a proof."""
    wish = m.InvitationRequest(name=name, roles=list(roles))
    made = await proven(lambda answer: site.ada.port.invite(wish.model_copy(update={"passkey": answer})), device)
    return await site.accept(made.link, None)


ASKING = (
    "import socket, sys; asked = socket.socket(socket.AF_UNIX); asked.connect(sys.argv[1]);"
    'body = b\'{"ask":"hello"}\'; asked.sendall(len(body).to_bytes(4, "big") + body); print(len(asked.recv(100)))'
)


def done_as(account: int | str, script: str, path: Path) -> str:
    """What a program of an account says, without that account's groups."""
    done = subprocess.run(
        ["/usr/bin/env", "python3", "-c", script, str(path)],
        check=False, capture_output=True, text=True, timeout=30, user=account, extra_groups=[], cwd="/",
    )  # fmt: skip
    return done.stdout.strip() or done.stderr.strip().rpartition("\n")[2].partition(":")[0]


def hears(account: int | str, signer: SignerOfTest) -> bool:
    return done_as(account, ASKING, signer.socket) not in {"0", "ConnectionResetError", "BrokenPipeError"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root asks as another account")
def test_another_account_hears_nothing(signer: SignerOfTest) -> None:
    assert [hears(account, signer) for account in (0, NOBODY)] == [True, False]


@pytest.mark.skipif(os.geteuid() != 0, reason="only the superuser can run three accounts")
def test_a_signer_of_its_own_account_answers_the_services_account_which_reads_and_writes_nothing_of_it() -> None:
    with running_signer("nobody", "daemon") as signer:
        assert signer.process is not None
        assert Path(f"/proc/{signer.process.pid}").stat().st_uid == NOBODY
        assert hears("daemon", signer)
        assert [hears(account, signer) for account in (0, "games", NOBODY)] == [False] * 3
        state = signer.folder / "state"
        kept = [path for path in state.rglob("*") if path.is_file()]
        assert "authority.key" in {path.name for path in kept}
        assert done_as("daemon", "import os, sys; os.listdir(sys.argv[1])", state) == "PermissionError"
        for path in kept:
            assert done_as("daemon", "import sys; open(sys.argv[1]).read()", path) == "PermissionError", path
        for path in (state / "another", *kept):
            assert done_as("daemon", "import sys; open(sys.argv[1], 'a')", path) == "PermissionError", path
        # Its socket can't be taken away and made anew by who asks, either.
        assert done_as("daemon", "import os, sys; os.unlink(sys.argv[1])", signer.socket) == "PermissionError"


def test_one_person_takes_no_others_places_among_the_passkeys_that_wait(tmp_path: Path) -> None:
    state = SignerState(tmp_path / "state")

    def offered(person: str, number: int) -> bool:
        return state.offer(KnownPasskey(id=f"{person} {number}", person=person, public_key=""))

    assert [offered("eve", number) for number in range(7)] == [True] * 5 + [False] * 2
    assert offered("eve", 4)
    assert offered("ada", 0)
    assert len(state.passkeys()) == 6


def test_what_is_no_request_ends_its_own_connection_only(signer: SignerOfTest) -> None:
    for content in (b"", b"\x00", b"\xff\xff\xff\xff", (2).to_bytes(4, "big") + b"{}", (3).to_bytes(4, "big") + b"[["):
        with socket.socket(socket.AF_UNIX) as asking:
            asking.connect(str(signer.socket))
            asking.sendall(content)
            asking.shutdown(socket.SHUT_WR)
            assert asking.recv(100) == b""
    assert Line(signer.socket).public == signer.key


def test_a_signer_that_hangs_is_asked_once_and_then_left_alone(signer: SignerOfTest) -> None:
    line = Line(signer.socket)
    assert signer.process is not None
    signer.process.send_signal(signal.SIGSTOP)
    try:
        with pytest.raises(KeyUnusable) as waited:
            line.sign("probe", b"{}")
        with pytest.raises(KeyUnusable) as at_once:
            line.sign("probe", b"{}")
    finally:
        signer.process.send_signal(signal.SIGCONT)
    assert all("did not answer in time" in one.value.why for one in (waited, at_once))
    assert isinstance(waited.value.__context__, TimeoutError)
    assert at_once.value.__context__ is None
    assert Line(signer.socket).sign("probe", b"{}")


def test_a_service_does_not_start_without_its_signer_or_with_a_weaker_proof(tmp_path: Path) -> None:
    with pytest.raises(CannotStart, match="start it first"):
        Line(tmp_path / "nowhere.sock")
    for other in ({"consent_proof": "password"}, {"consent_proof": "passkey", "authority_key": "/key"}):
        with pytest.raises(SettingError, match="HEADRACE_SIGNER"):
            Settings(signer="/run/signer.sock", **other)  # type: ignore[arg-type]


def test_a_second_signer_does_not_take_the_socket_of_one_that_runs(signer: SignerOfTest) -> None:
    again = signer.run(
        "run", "--socket", str(signer.socket), "--service-account", "root", "--public-url", "http://localhost"
    )
    assert "something answers" in again.stderr
    assert Line(signer.socket).public == signer.key


def test_the_unit_for_systemd_gives_options_that_there_are(signer: SignerOfTest) -> None:
    unit = (Path(__file__).parents[2] / "deploy" / "systemd" / "headrace-signer.service").read_text(encoding="utf-8")
    started = next(line for line in unit.splitlines() if line.startswith("ExecStart=")).split()[3:]
    options = dict(zip(started[::2], started[1::2], strict=True))
    options |= {"--socket": str(signer.socket), "--service-account": "root"}
    del options["--state"]
    assert "something answers" in signer.run("run", *(part for pair in options.items() for part in pair)).stderr
