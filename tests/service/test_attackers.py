"""What whoever has a person's secrets, or can write to the whole database, still can't do: agree to anything."""

import hashlib
import json
import re
from collections.abc import AsyncIterator, Awaitable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import pytest
from sqlalchemy import select, update
from tests.servers.device import Device
from tests.servers.site import PASSWORD, Person, Site, digest_of, started_site
from tests.service.refusals import refused
from tests.service.test_consent import APPROVED_OVERWRITES, differing_files, plan_to_approve, publish
from tests.service.test_key_rotation import attached
from tests.service.test_transfers import SLOW_BPS, large_set, small_set, until, until_durable

from headrace.api.app.key_rotation import next_key
from headrace.api.data_folder import POLICY_PUBLISHED
from headrace.api.people.accounts import me
from headrace.api.policy.versions import Policies
from headrace.api.signing.consents import approval_of
from headrace.api.store.tables_site import InvitationRow, PasskeyRow, PersonRow, PolicyRow, SessionRow
from headrace.api.store.tables_work import ApprovalRow, ConfirmationRow, TransferRow
from headrace.api.transfers.attempts import Attempts
from headrace.api.transfers.run_state import End, Run
from headrace.api.transfers.state_machine import Standing
from headrace.auth import TOKEN_SCOPES, AuthError
from headrace.auth.passwords import hash_password
from headrace.auth.secret_forms import make_invitation
from headrace.client import HeadraceError
from headrace.client import models as m
from headrace.client.login import remember
from headrace.guardrails import SigningKey, digest, seal, utc_text, verify

GUESS = "correct horse battery stable"
SECRET = re.compile(r"hr[st]_\w+")
REFUSALS = {"proof_needed", "proof_refused", "passkey_refused", "session_needed", "forbidden", "unknown_plan"}


@pytest.fixture
async def strict(tmp_path: Path) -> AsyncIterator[Site]:
    async with started_site(tmp_path, proof="password") as site:
        await site.start_both()
        yield site


async def overwriting(site: Site) -> m.Plan:
    differing_files(site)
    return await site.ada.plan("lab:/set", "archive:/set", on_conflict="overwrite")


def yes(plan: m.Plan) -> m.Confirmation:
    return m.Confirmation(digest=digest_of(plan), password=PASSWORD)


async def statement(site: Site) -> str:
    async with site.service.whole.core.database.read() as tx:
        return (await tx.scalars(select(ConfirmationRow.statement))).one()


async def asked_of(call: Awaitable[object]) -> m.PasskeyChallenge:
    with refused("proof_needed") as told:
        await call
    proof = told.value.problem.proof
    assert proof is not None
    assert proof.passkey is not None
    return proof.passkey


@pytest.mark.anyio
async def test_a_consent_is_a_statement_that_the_signer_signed_of_the_very_request(strict: Site) -> None:
    plan = await overwriting(strict)
    await strict.ada.port.confirm_plan(plan.id, yes(plan))
    text, signer = await statement(strict), strict.use_cases.submissions.parts.signer
    document = verify(text, "consent", [signer.public])
    fields = document.fields()
    assert (fields["person"], fields["proof"]) == (strict.ada.principal.id, {"kind": "password"})
    assert fields["agreed"] == (
        f'{{"action":"confirm_plan","request":{{"digest":"{plan.digest}","verdict":"confirmed"}},"subject":"{plan.id}"}}'
    )
    assert PASSWORD not in text
    [confirmed] = await strict.audited("confirmed")
    assert confirmed.detail["statement"] == document.digest


@pytest.mark.anyio
async def test_whoever_writes_to_the_database_invents_moves_and_forges_no_confirmation(strict: Site) -> None:
    plan, other = await overwriting(strict), await overwriting(strict)
    await strict.ada.port.confirm_plan(other.id, yes(other))
    mine = await statement(strict)
    agreed = {"action": "confirm_plan", "subject": plan.id, "request": {"digest": plan.digest, "verdict": "confirmed"}}
    body = {"person": strict.ada.principal.id, "agreed": json.dumps(agreed)}
    forged = seal("consent", body, SigningKey.from_seed(bytes(32))).text
    altered = mine.replace(digest_of(other), digest_of(plan)).replace(other.id, plan.id)
    for told in ("", "{}", mine, forged, altered):
        async with strict.service.whole.core.database.write() as tx:
            row = ConfirmationRow(
                plan=plan.id,
                digest=digest_of(plan),
                person=strict.ada.principal.id,
                verdict="confirmed",
                at=strict.clock(),
                statement=told,
            )
            await tx.merge(row)
        with refused("needs_confirmation"):
            await strict.ada.submit(plan)
    assert (await strict.ada.submit(other)).plan == other.id


@pytest.mark.anyio
async def test_whoever_writes_to_the_database_turns_no_statement_into_an_approval(strict: Site) -> None:
    plan = await plan_to_approve(strict)
    other = await strict.ada.plan("lab:/set", "archive:/set", on_conflict="overwrite")
    bea, bob = await strict.person("bea", "approver"), await strict.person("bob", "approver")
    word = m.Approval(digest=digest_of(other), verdict="approved", password=PASSWORD)
    await bea.port.approve_plan(other.id, word)
    # Moved to another plan; given to somebody else; taken from a no.
    for values in (
        {"plan": plan.id, "digest": digest_of(plan)},
        {"plan": other.id, "digest": digest_of(other), "approver": bob.principal.id},
        {"approver": bea.principal.id, "statement": ""},
    ):
        async with strict.service.whole.core.database.write() as tx:
            await tx.execute(update(ApprovalRow).values(**values))
        for one in (plan, other):
            with refused("needs_approval"):
                await strict.ada.submit(one)
    await bea.port.approve_plan(other.id, word)
    assert (await strict.ada.submit(other)).plan == other.id


@pytest.mark.anyio
async def test_whoever_writes_to_the_database_puts_no_passkey_of_their_own_in_place_of_a_persons(
    strict: Site,
) -> None:
    theirs, own = Device(), Device()
    for person, device in ((strict.ada, theirs), (await strict.person("eve", "viewer"), own)):
        begun = await person.port.begin_passkey(m.Proven(password=PASSWORD))
        await person.port.add_passkey(device.create(begun))
    plan = await overwriting(strict)
    async with strict.service.whole.core.database.write() as tx:
        rows = {row.id: row for row in (await tx.scalars(select(PasskeyRow))).all()}
        rows[theirs.id].public_key = rows[own.id].public_key
        rows[own.id].person = strict.ada.principal.id
    for device in (replace(own, raw_id=theirs.raw_id), own):
        asked = await asked_of(strict.ada.port.confirm_plan(plan.id, m.Confirmation(digest=digest_of(plan))))
        answer = device.get(asked)
        with refused("passkey_refused"):
            await strict.ada.port.confirm_plan(plan.id, m.Confirmation(digest=digest_of(plan), passkey=answer))
    with refused("needs_confirmation"):
        await strict.ada.submit(plan)


@pytest.mark.anyio
async def test_whoever_writes_to_the_database_puts_no_password_of_their_own_in_place_of_a_persons(strict: Site) -> None:
    eve = await strict.person("eve", "viewer")
    plan = await overwriting(strict)
    async with strict.service.whole.core.database.write() as tx:
        sealed = (await tx.get_one(PersonRow, eve.principal.id)).password_hash
        mine = (await tx.get_one(PersonRow, strict.ada.principal.id)).password_hash
    assert sealed is not None
    for told in (sealed, sealed.partition(" ")[0], hash_password(GUESS), ""):
        async with strict.service.whole.core.database.write() as tx:
            row = await tx.get_one(PersonRow, strict.ada.principal.id)
            row.password_hash = told
        # Nor is it sealed by a restart.
        await strict.use_cases.people.seal_passwords_of_before(strict.settings.data / "passwords.sealed")
        for password in (PASSWORD, GUESS):
            with refused("proof_refused"):
                said = m.Confirmation(digest=digest_of(plan), password=password)
                await strict.ada.port.confirm_plan(plan.id, said)
            with pytest.raises(AuthError, match="wrong"):
                await strict.use_cases.people.sign_in(m.SignIn(name="ada", password=password), "127.0.0.1")
    async with strict.service.whole.core.database.write() as tx:
        (await tx.get_one(PersonRow, strict.ada.principal.id)).password_hash = mine
    assert (await strict.ada.port.confirm_plan(plan.id, yes(plan))).confirmed


@pytest.mark.anyio
async def test_whoever_writes_to_the_database_makes_no_session_or_link_of_their_own_anothers(strict: Site) -> None:
    eve, ada = await strict.person("eve", "viewer"), strict.ada.principal.id
    asked = m.InvitationRequest(name="mal", roles=["viewer"], password=PASSWORD)
    own = (await strict.ada.port.invite(asked)).link.partition("#")[2]
    forged = make_invitation(ada).text
    async with strict.service.whole.core.database.write() as tx:
        await tx.execute(update(SessionRow).where(SessionRow.person == eve.principal.id).values(person=ada))
        await tx.execute(update(InvitationRow).values(person=ada))
        hashed = hashlib.sha256(forged.encode()).hexdigest()
        tx.add(InvitationRow(hash=hashed, person=ada, created=strict.clock(), expires=strict.clock() + DAY))
    with pytest.raises(AuthError) as told:
        await strict.use_cases.people.of_session(eve.secret)
    assert told.value.reason == "unknown session"
    for link in (own, forged, own.replace(own.split("_")[2], ada.removeprefix("pn_"))):
        with pytest.raises(AuthError) as told:
            await strict.accept(f"#{link}", None)
        assert told.value.reason == "unknown, used or expired invitation"
    plan = await overwriting(strict)
    assert (await strict.ada.port.confirm_plan(plan.id, yes(plan))).confirmed


@pytest.mark.anyio
async def test_a_role_that_was_put_into_the_database_agrees_with_its_persons_own_proof_and_in_that_name(
    strict: Site,
) -> None:
    plan, eve = await plan_to_approve(strict), await strict.person("eve", "viewer")
    word = m.Approval(digest=digest_of(plan), verdict="approved")
    async with strict.service.whole.core.database.write() as tx:
        await tx.execute(update(PersonRow).values(roles=("approver",)).where(PersonRow.id == eve.principal.id))
        mallory = PersonRow(
            id="pn_mallory", name="mallory", name_key="mallory", kind="person", state="active", roles=("approver",),
            groups=(), granted_roles=("approver",), granted_groups=(), created=strict.clock(),
            password_hash=hash_password(GUESS),
        )  # fmt: skip
        tx.add(mallory)
    with pytest.raises(AuthError, match="wrong"):
        await strict.use_cases.people.sign_in(m.SignIn(name="mallory", password=GUESS), "127.0.0.1")
    again = Person(strict, await strict.use_cases.people.of_session(eve.secret), eve.secret)
    with refused("proof_needed"):
        await again.port.approve_plan(plan.id, word)
    await again.port.approve_plan(plan.id, word.model_copy(update={"password": PASSWORD}))
    [approved] = await strict.audited("approved")
    assert approved.person == eve.principal.id
    assert await strict.audited("rights_changed") == []


OPEN = """
@id("anybody")
@reason("anybody may do anything")
permit (principal, action, resource);
"""


async def unproven(site: Site) -> list[str]:
    """Start the service again, and return what it says of its policy."""
    await site.restart()
    await attached(site)
    causes = (await site.ada.port.health()).causes
    return [one.sentence.split(" ")[5] for one in causes if one.code is m.HealthCode.POLICY_UNPROVEN]


@pytest.mark.anyio
async def test_whoever_writes_to_the_database_chooses_no_policy_by_which_the_next_start_signs(strict: Site) -> None:
    for text in (OPEN, APPROVED_OVERWRITES):
        await publish(strict, text)
    assert await unproven(strict) == []
    database = strict.service.whole.core.database

    async def stored() -> dict[int, PolicyRow]:
        async with database.read() as tx:
            return {row.number: row for row in (await tx.scalars(select(PolicyRow))).all()}

    rows = await stored()
    said = json.dumps({"action": "publish_policy", "subject": f"3 {digest(OPEN.encode())}", "request": {}})
    forged = seal("consent", {"agreed": said}, SigningKey.from_seed(bytes(32))).text
    other = (await strict.audited("consented"))[-1].detail["statement"]
    adopted = seal("policy", {"version": "3", "digest": digest(OPEN.encode())}, KEY).text
    others = [(OPEN, told) for told in ("", "{}", forged, adopted, rows[2].statement, rows[3].statement, other)]
    # The text that was published, too, needs its statement.
    for text, told in [*others, *((APPROVED_OVERWRITES, told) for told in ("", forged, rows[2].statement))]:
        async with database.write() as tx:
            await tx.execute(update(PolicyRow).where(PolicyRow.number == 3).values(text=text, statement=told))
        assert await unproven(strict) == ["3"]
        denied = await overwriting(strict)
        assert (denied.state, "no policy is active" in denied.model_dump_json()) == (m.PlanState.DENIED, True)
        database = strict.service.whole.core.database
    # One that was published once, with all that was said then.
    async with database.write() as tx:
        await tx.execute(update(PolicyRow).where(PolicyRow.number == 3).values(state="retired"))
        await tx.execute(update(PolicyRow).where(PolicyRow.number == 2).values(state="active"))
    assert await unproven(strict) == ["2"]
    await publish(strict, APPROVED_OVERWRITES)
    assert await unproven(strict) == []
    assert (await overwriting(strict)).state is m.PlanState.READY


@pytest.mark.anyio
async def test_what_runs_waits_while_nobody_is_proven_to_have_published_the_policy_and_then_goes_on(
    strict: Site,
) -> None:
    await publish(strict, OPEN)
    large_set(strict)
    runs, waits = [
        await strict.ada.plan("lab:/set", f"archive:/{name}", rate_limit_bps=SLOW_BPS) for name in ("copy", "other")
    ]
    transfer = await strict.ada.submit(runs)
    await until_durable(strict, transfer)
    async with strict.service.whole.core.database.write() as tx:
        await tx.execute(update(PolicyRow).where(PolicyRow.number == 2).values(statement=""))
    assert await unproven(strict) == ["2"]
    waiting = await until(strict, transfer, "waiting", reason="nobody is proven to have published policy version 2")
    assert "`headrace health`" in waiting.state_reason
    assert waiting.error is None
    with refused("policy_changed"):
        await strict.ada.submit(waits)
    # Another start of the same changes nothing of that.
    assert await unproven(strict) == ["2"]
    await until(strict, transfer, "waiting", reason="nobody is proven to have published policy version 2")
    await publish(strict, OPEN)
    await until(strict, transfer, "running")


@pytest.mark.anyio
async def test_what_has_arrived_while_the_policy_was_not_proven_gets_its_receipt_once_one_is(
    strict: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_set(strict)
    conclude, tries = Attempts.conclude, count()
    policies = strict.use_cases.policies

    async def first_unproven(attempts: Attempts, run: Run, end: End, standing: Standing) -> bool:
        run.released = None  # as after a restart
        monkeypatch.setattr(policies, "unproven", None if next(tries) else "1")
        return await conclude(attempts, run, end, standing)

    monkeypatch.setattr(Attempts, "conclude", first_unproven)
    ended = await strict.ada.end_of(await strict.ada.submit(await strict.ada.plan("lab:/set", "archive:/copy")))
    assert next(tries) == 2
    assert (ended.state, ended.receipt is not None) == (m.TransferState.COMPLETE, True)


@pytest.mark.anyio
async def test_the_policy_that_is_verified_at_a_start_is_the_one_that_decides(
    strict: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    await publish(strict, APPROVED_OVERWRITES)
    load = Policies.load

    async def altered_while_it_loads(policies: Policies) -> None:
        async def say(text: str) -> None:
            async with policies._core.database.write() as tx:  # noqa: SLF001 - the same store
                await tx.execute(update(PolicyRow).where(PolicyRow.number == 2).values(text=text))

        await say(OPEN)
        await load(policies)
        await say(APPROVED_OVERWRITES)

    monkeypatch.setattr(Policies, "load", altered_while_it_loads)
    assert await unproven(strict) == []
    assert (await overwriting(strict)).needs


@pytest.mark.anyio
async def test_a_policy_with_a_higher_number_that_was_published_before_does_not_decide_again(strict: Site) -> None:
    pia, proof = await strict.person("pia", "policy_admin"), m.Proven(password=PASSWORD)
    await strict.ada.port.propose_policy(m.PolicyText(text=APPROVED_OVERWRITES))
    await strict.ada.port.propose_policy(m.PolicyText(text=OPEN))
    with refused("unknown_policy"):
        await pia.port.publish_policy("03", proof)
    await pia.port.publish_policy("3", proof)
    async with strict.service.whole.core.database.write() as tx:
        # No person publishes a lower number after a higher one: what was proposed on top of another version is not.
        await tx.execute(update(PolicyRow).where(PolicyRow.number == 2).values(base=3))
    await pia.port.publish_policy("2", proof)
    async with strict.service.whole.core.database.write() as tx:
        await tx.execute(update(PolicyRow).where(PolicyRow.number == 2).values(state="retired"))
        await tx.execute(update(PolicyRow).where(PolicyRow.number == 3).values(state="active"))
    assert await unproven(strict) == ["3"]


@pytest.mark.anyio
async def test_a_full_disk_publishes_no_policy(strict: Site) -> None:
    pia, proof = await strict.person("pia", "policy_admin"), m.Proven(password=PASSWORD)
    proposed = await strict.ada.port.propose_policy(m.PolicyText(text=OPEN))
    published = strict.settings.data / POLICY_PUBLISHED
    kept = published.rename(strict.settings.data / "kept")
    published.mkdir()
    with refused("audit_unwritable"):
        await pia.port.publish_policy(proposed.version, proof)
    published.rmdir()
    kept.rename(published)
    await pia.port.publish_policy(proposed.version, proof)


@pytest.mark.anyio
async def test_a_policy_of_a_version_without_statements_is_adopted_once_and_decides_after_a_rotation(
    strict: Site,
) -> None:
    await publish(strict, OPEN)
    assert "agreed" in await statement_of_policy(strict)
    (strict.settings.data / "policy.published").unlink()
    async with strict.service.whole.core.database.write() as tx:
        await tx.execute(update(PolicyRow).values(statement=""))
    assert await unproven(strict) == []
    assert "agreed" not in await statement_of_policy(strict)
    former = strict.use_cases.submissions.parts.signer.public
    await strict.service.close()
    next_key(strict.settings, "", DAY)
    assert await unproven(strict) == []
    assert strict.use_cases.submissions.parts.signer.public != former
    # After a theft nothing of the former key counts.
    await strict.service.close()
    next_key(strict.settings, "", DAY, new=True)
    assert await unproven(strict) == ["2"]
    await publish(strict, OPEN)
    assert await unproven(strict) == []


async def statement_of_policy(site: Site) -> str:
    async with site.service.whole.core.database.read() as tx:
        return (await tx.scalars(select(PolicyRow.statement).where(PolicyRow.state == "active"))).one()


@pytest.mark.anyio
async def test_every_consent_is_in_the_audit_chain_as_a_signed_statement_of_the_very_request(strict: Site) -> None:
    bea, ada, proof = await strict.person("bea", "viewer"), strict.ada.port, m.Proven(password=PASSWORD)
    told, signer = len(await strict.audited("consented")), strict.use_cases.submissions.parts.signer
    await ada.create_token(m.TokenRequest(name="night", scopes=["transfer:read"], password=PASSWORD))
    groups = [f"stewards of set {number:03} " + "x" * 90 for number in range(100)]
    await ada.update_person(bea.principal.id, m.PersonUpdate(roles=["approver"], groups=groups, password=PASSWORD))
    await strict.bind(m.GroupBinding(issuer="https://login.example.org", group="staff", roles=["requester"]))
    await ada.create_join_token(m.JoinTokenRequest(name="third", password=PASSWORD))
    await ada.rotate_node((await ada.nodes())[0].name, m.RotationRequest(password=PASSWORD))
    await ada.update_endpoint("lab", m.EndpointUpdate(labels={"site": "x"}, password=PASSWORD))
    await ada.begin_passkey(proof)
    found = (await strict.audited("consented"))[told:]
    wanted = ["create_token", "update_person", "invite", "publish_group_bindings", "create_join_token"]
    wanted += ["rotate_node", "update_endpoint", "begin_passkey"]
    assert [event.detail["action"] for event in found] == wanted
    for event in found:
        fields = verify(event.detail["statement"], "consent", [signer.public]).fields()
        agreed = json.loads(str(fields["agreed"]))
        assert (fields["person"], fields["proof"]) == (event.person, {"kind": "password"})
        assert agreed["action"] == event.detail["action"]
        assert PASSWORD not in event.detail["statement"]
    rights = json.loads(str(verify(found[1].detail["statement"], "consent", [signer.public]).fields()["agreed"]))
    assert rights["request"] == {"roles": ["approver"], "groups": groups}
    assert rights["subject"] == bea.principal.id
    proposed = await ada.propose_policy(m.PolicyText(text=OPEN))
    pia = await strict.person("pia", "policy_admin")
    await pia.port.publish_policy(proposed.version, proof)
    [_, published] = await strict.audited("policy_published")
    async with strict.service.whole.core.database.read() as tx:
        text = (await tx.scalars(select(PolicyRow.statement).where(PolicyRow.number == 2))).one()
    document = verify(text, "consent", [signer.public])
    assert (published.detail["statement"], document.fields()["person"]) == (document.digest, pia.principal.id)
    assert (await strict.use_cases.audit.verify(full=True)).intact


@pytest.mark.anyio
async def test_passwords_of_a_version_without_seals_are_sealed_once(strict: Site) -> None:
    marker = strict.settings.data / "passwords.sealed"
    assert marker.exists()
    marker.unlink()
    async with strict.service.whole.core.database.write() as tx:
        row = await tx.get_one(PersonRow, strict.ada.principal.id)
        row.password_hash = (row.password_hash or "").partition(" ")[0]
    await strict.use_cases.people.seal_passwords_of_before(marker)
    assert await strict.use_cases.people.sign_in(m.SignIn(name="ada", password=PASSWORD), "127.0.0.1")


@pytest.mark.anyio
async def test_whoever_has_a_persons_session_tokens_and_home_folder_agrees_to_nothing(
    strict: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await publish(strict, APPROVED_OVERWRITES.replace("approval:approver:1", "confirmation;approval:approver:1"))
    plan = await overwriting(strict)
    bea = await strict.person("bea", "approver")
    device = Device()
    await strict.ada.port.add_passkey(device.create(await strict.ada.port.begin_passkey(m.Proven(password=PASSWORD))))
    earlier = m.TokenRequest(name="earlier", scopes=["transfer:read"])
    used = device.get(await asked_of(strict.ada.port.create_token(earlier)))
    await strict.ada.port.create_token(earlier.model_copy(update={"passkey": used}))
    home = tmp_path / "home"
    monkeypatch.setenv("HEADRACE_CONFIG", str(home))
    for person in (strict.ada, bea):
        session = m.Session(secret=person.secret, expires=strict.clock(), me=me(person.principal))
        remember(f"http://{person.principal.name}.example", session)
        scopes = sorted(person.principal.scopes & TOKEN_SCOPES)
        wish = m.TokenRequest(name="all", scopes=list(map(str, scopes)), password=PASSWORD)
        (home / f"{person.principal.name}.token").write_text((await person.port.create_token(wish)).secret or "")
    found = {secret for file in home.rglob("*") for secret in SECRET.findall(file.read_text())}
    assert len(found) == 4
    for secret in found:
        people = strict.use_cases.people
        principal = await (people.of_session(secret) if secret.startswith("hrs_") else people.of_token(secret))
        port = strict.service.acting_for(principal)
        calls: list[Awaitable[object]] = [
            port.confirm_plan(plan.id, m.Confirmation(digest=digest_of(plan))),
            port.confirm_plan(plan.id, m.Confirmation(digest=digest_of(plan), passkey=used)),
            port.confirm_plan(plan.id, m.Confirmation(digest=digest_of(plan), password=GUESS)),
            port.begin_passkey(),
            port.change_password(m.PasswordChange(password=GUESS, new_password=f"{PASSWORD} of mine")),
            port.create_token(m.TokenRequest(name="more", scopes=["transfer:read"])),
            port.invite(m.InvitationRequest(name="mallory", roles=["approver"])),
            port.update_person(bea.principal.id, m.PersonUpdate(roles=["requester", "approver"])),
        ]
        for call in calls:
            with pytest.raises(HeadraceError) as refusal:
                await call
            assert refusal.value.problem.code in REFUSALS
        if principal.id != plan.requester:
            with refused("proof_needed" if principal.session else "session_needed"):
                await port.approve_plan(plan.id, m.Approval(digest=digest_of(plan), verdict="approved"))
    with refused("needs_confirmation"):
        await strict.ada.submit(plan)
    assert await strict.audited("confirmed") == await strict.audited("approved") == []
    await strict.ada.port.confirm_plan(plan.id, yes(plan))
    await bea.port.approve_plan(plan.id, m.Approval(digest=digest_of(plan), verdict="approved", password=PASSWORD))
    assert (await strict.ada.submit(plan)).plan == plan.id


@pytest.mark.anyio
async def test_a_transfer_whose_consent_has_no_statement_is_planned_again(strict: Site) -> None:
    plan = await overwriting(strict)
    await strict.ada.port.confirm_plan(plan.id, yes(plan))
    ended = await strict.ada.end_of(await strict.ada.submit(plan))
    async with strict.service.whole.core.database.write() as tx:
        await tx.execute(update(TransferRow).values(state="failed"))
        await tx.execute(update(ConfirmationRow).values(statement=""))
    shown = await strict.ada.port.transfer(ended.id)
    [retry] = [one for one in shown.allowed_actions if one.action == "retry"]
    assert (retry.allowed, shown.next_step.kind) == (False, "plan_again")
    with refused("confirmation_missing") as told:
        await strict.ada.port.control(ended.id, m.ControlRequest(action="retry"))
    assert told.value.problem.detail == retry.reason
    assert "plan again" in retry.reason


AT = datetime(2026, 11, 25, 20, 30, tzinfo=UTC)
DAY = timedelta(days=1)
KEY = SigningKey.from_seed(bytes(32))


def said(**others: object) -> str:
    """The statement of an approval."""
    agreed = {"action": "approve_plan", "subject": "pl_1", "request": {"digest": "d", "verdict": "approved"}}
    terms = {
        "requester": "pn_ada",
        "policy_version": "p1",
        "expires": utc_text(AT),
        "roles": ["approver"],
        "groups": [],
    }
    body = {"person": "pn_bea", "session": True, "agreed": json.dumps(agreed), "terms": terms}
    return seal("consent", {**body, **others}, KEY).text  # type: ignore[dict-item]  # what a test puts in


def row(statement: str) -> ApprovalRow:
    """A row that says more than its statement."""
    return ApprovalRow(
        approver="pn_bea",
        requester="pn_eve",
        digest="e",
        policy_version="p2",
        roles=("admin",),
        groups=("stewards",),
        expires=AT + DAY,
        statement=statement,
    )


def test_of_an_approval_the_terms_of_its_statement_count_and_not_those_of_the_row() -> None:
    bea = PersonRow(roles=("viewer",), groups=("lab",))
    found = approval_of(row(said()), bea, [KEY.public], starts=False)
    assert found is not None
    assert (found.digest, found.requester, found.policy_version, found.expires) == ("d", "pn_ada", "p1", AT)
    assert (set(found.roles), set(found.groups), found.session) == ({"approver"}, set(), True)
    started = approval_of(row(said()), bea, [KEY.public], starts=True)
    assert started is not None
    assert (set(started.roles), set(started.groups)) == ({"viewer"}, {"lab"})


@pytest.mark.parametrize(
    "others",
    [
        {"person": "pn_bob"},
        {"terms": None},
        {"agreed": '{"action":"confirm_plan","request":{"digest":"d","verdict":"approved"}}'},
        {"agreed": '{"action":"approve_plan","request":{"digest":"d","verdict":"refused"}}'},
    ],
    ids=["another person", "no terms", "another action", "a no"],
)
def test_a_statement_of_something_else_is_no_approval(others: dict[str, object]) -> None:
    assert approval_of(row(said(**others)), PersonRow(roles=(), groups=()), [KEY.public], starts=True) is None


def test_what_a_token_said_is_no_approval_of_a_session() -> None:
    found = approval_of(row(said(session=False)), PersonRow(roles=(), groups=()), [KEY.public], starts=True)
    assert found is not None
    assert not found.session
