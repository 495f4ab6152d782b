"""Where the site wants it, a session alone gives no yes: the password comes with each, for that one thing."""

from collections.abc import AsyncIterator, Awaitable
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import func, update
from tests.servers.device import Device
from tests.servers.site import PASSWORD, Person, Site, digest_of, started_site
from tests.service.refusals import refused
from tests.service.test_consent import APPROVED_OVERWRITES, differing_files, plan_to_approve, publish

from headrace.api.store.tables_site import GroupProposalRow, NodeRow, PersonRow, PolicyRow
from headrace.auth import AuthError
from headrace.client import HeadraceError
from headrace.client import models as m

WRONG = "not the password"


@pytest.fixture
async def strict(tmp_path: Path) -> AsyncIterator[Site]:
    async with started_site(tmp_path, proof="password") as site:
        await site.start_both()
        yield site


def yes(plan: m.Plan, password: str | None = None) -> m.Confirmation:
    return m.Confirmation(digest=digest_of(plan), password=password)


@pytest.mark.anyio
async def test_whoever_has_a_session_alone_confirms_nothing(strict: Site) -> None:
    differing_files(strict)
    plan = await strict.ada.plan("lab:/set", "archive:/set", on_conflict="overwrite")
    assert [(need.kind, need.proof) for need in plan.needs] == [("confirmation", "password")]
    with refused("proof_needed"):
        await strict.ada.port.confirm_plan(plan.id, yes(plan))
    with refused("proof_refused"):
        await strict.ada.port.confirm_plan(plan.id, yes(plan, WRONG))
    with refused("needs_confirmation"):
        await strict.ada.submit(plan)
    assert (await strict.ada.port.confirm_plan(plan.id, yes(plan, PASSWORD))).confirmed
    ended = await strict.ada.end_of(await strict.ada.submit(plan))
    assert ended.state is m.TransferState.COMPLETE, ended.summary
    [confirmed] = await strict.audited("confirmed")
    assert confirmed.detail["proof"] == "password"
    [failed] = await strict.audited("proof_failed")
    assert (failed.person, failed.detail["reason"]) == (strict.ada.principal.id, "The password is wrong.")


@pytest.mark.anyio
async def test_a_proof_is_for_one_yes(strict: Site) -> None:
    differing_files(strict)
    plan = await strict.ada.plan("lab:/set", "archive:/set", on_conflict="overwrite")
    other = await strict.ada.plan("lab:/set", "archive:/set", on_conflict="overwrite")
    await strict.ada.port.confirm_plan(plan.id, yes(plan, PASSWORD))
    with refused("proof_needed"):
        await strict.ada.port.confirm_plan(other.id, yes(other))
    with refused("proof_needed"):
        await strict.ada.port.confirm_plan(plan.id, yes(plan))


@pytest.mark.anyio
async def test_who_has_nothing_to_prove_it_with_hears_so(tmp_path: Path) -> None:
    async with started_site(tmp_path, proof="password") as site:
        async with site.service.whole.core.database.write() as tx:
            await tx.execute(update(PersonRow).values(password_hash=None))
        # The provider of this session is none of the site's any more.
        principal = replace(site.ada.principal, method="oidc", issuer="https://gone.example")
        with pytest.raises(HeadraceError, match="you have none to give") as told:
            await site.service.acting_for(principal).create_token(m.TokenRequest(name="t", scopes=["transfer:read"]))
        assert (told.value.problem.code, told.value.problem.proof) == ("proof_needed", None)


@pytest.mark.anyio
async def test_a_no_needs_no_proof(strict: Site) -> None:
    differing_files(strict)
    plan = await strict.ada.plan("lab:/set", "archive:/set", on_conflict="overwrite")
    await strict.ada.port.confirm_plan(plan.id, m.Confirmation(digest=digest_of(plan), verdict="declined"))
    with refused("plan_declined"):
        await strict.ada.submit(plan)


@pytest.mark.anyio
async def test_whoever_has_an_approvers_session_alone_approves_nothing(strict: Site) -> None:
    plan = await plan_to_approve(strict)
    bea = await strict.person("bea", "approver")
    word = m.Approval(digest=digest_of(plan), verdict="approved")
    with refused("proof_needed"):
        await bea.port.approve_plan(plan.id, word)
    with refused("proof_refused"):
        await bea.port.approve_plan(plan.id, word.model_copy(update={"password": WRONG}))
    with refused("needs_approval"):
        await strict.ada.submit(plan)
    await bea.port.approve_plan(plan.id, word.model_copy(update={"password": PASSWORD}))
    assert (await strict.ada.submit(plan)).plan == plan.id
    [approved] = await strict.audited("approved")
    assert approved.detail["proof"] == "password"


@pytest.mark.anyio
async def test_whoever_has_an_admins_session_alone_enables_nobody(strict: Site) -> None:
    wish = m.ServiceAccountRequest(name="nightly", roles=["viewer"], password=PASSWORD)
    robot = await strict.ada.port.create_service_account(wish)
    await strict.ada.port.disable_person(robot.id)
    with refused("proof_needed"):
        await strict.ada.port.enable_person(robot.id)
    with refused("proof_refused"):
        await strict.ada.port.enable_person(robot.id, m.Proven(password=WRONG))
    assert (await strict.ada.port.enable_person(robot.id, m.Proven(password=PASSWORD))).state == "active"


@pytest.mark.anyio
async def test_what_would_be_refused_with_a_proof_asks_for_none(strict: Site) -> None:
    bea = await strict.person("bea", "viewer")
    await strict.ada.port.disable_person(bea.principal.id)
    with refused("not_allowed") as error:
        await strict.ada.port.enable_person(bea.principal.id)
    assert f"`headrace people reinvite {bea.principal.id}`" in str(error.value)


@pytest.mark.anyio
async def test_a_policy_administrators_session_alone_changes_no_label_and_no_name_of_an_endpoint(strict: Site) -> None:
    await strict.start_both()
    pol = (await strict.person("pol", "policy_admin")).port
    restricted = m.EndpointUpdate(labels={"names": "restricted"}, password=PASSWORD)
    assert (await pol.update_endpoint("lab", restricted)).labels == {"names": "restricted"}
    for change in (m.EndpointUpdate(labels={}), m.EndpointUpdate(id="other"), m.EndpointUpdate(aliases=["other"])):
        with refused("proof_needed"):
            await pol.update_endpoint("lab", change)
        with refused("proof_refused"):
            await pol.update_endpoint("lab", change.model_copy(update={"password": WRONG}))
    [lab] = [one for one in await pol.endpoints() if one.id == "lab"]
    assert (lab.labels, lab.aliases) == ({"names": "restricted"}, [])
    changed = [one.detail for one in await strict.audited("endpoint_changed") if one.person is not None]
    assert [one.keys() for one in changed] == [{"endpoint", "labels"}]


@pytest.mark.anyio
async def test_whoever_has_an_admins_session_alone_makes_nobody_an_approver(strict: Site) -> None:
    bea = await strict.person("bea", "viewer")
    port, corp = strict.ada.port, "https://login.corp.example"
    binding = m.GroupBinding(issuer=corp, group="staff", roles=["approver"])
    with refused("proof_needed"):
        await port.invite(m.InvitationRequest(name="eve", roles=["approver"]))
    with refused("proof_needed"):
        await port.invite_again(bea.principal.id)
    with refused("proof_needed"):
        await port.update_person(bea.principal.id, m.PersonUpdate(roles=["approver"]))
    with refused("proof_needed"):
        await port.link_identity(bea.principal.id, m.IdentityLink(issuer=corp, subject="eve"))
    second = (await strict.person("zoe", "admin")).port
    proposed = (await second.propose_group_bindings(m.GroupBindingsRequest(bindings=[binding]))).proposed
    assert proposed is not None
    with refused("proof_needed"):
        await port.publish_group_bindings(proposed.id)
    assert (await port.group_bindings()).bindings == []
    assert {one.name: one.roles for one in await port.people()}["bea"] == ["viewer"]
    assert (await port.invite_again(bea.principal.id, m.Proven(password=PASSWORD))).name == "bea"


@pytest.mark.anyio
async def test_whoever_has_a_session_alone_publishes_no_policy_and_makes_no_token(strict: Site) -> None:
    proposed = await strict.ada.port.propose_policy(m.PolicyText(text=APPROVED_OVERWRITES))
    pia = await strict.person("pia", "policy_admin")
    with refused("proof_needed"):
        await pia.port.publish_policy(proposed.version)
    with refused("proof_refused"):
        await pia.port.publish_policy(proposed.version, m.Proven(password=WRONG))
    assert (await pia.port.publish_policy(proposed.version, m.Proven(password=PASSWORD))).state == "active"
    wish = m.TokenRequest(name="pipeline", scopes=["transfer:read"])
    with refused("proof_needed"):
        await pia.port.create_token(wish)
    assert (await pia.port.tokens()).items == []
    assert (await pia.port.create_token(wish.model_copy(update={"password": PASSWORD}))).secret


@pytest.mark.anyio
async def test_a_text_is_agreed_to_publish_and_no_other_under_its_number(strict: Site) -> None:
    proposed = await strict.ada.port.propose_policy(m.PolicyText(text=APPROVED_OVERWRITES))
    pia, device = await strict.person("pia", "policy_admin"), Device()
    await added(pia, device, m.Proven(password=PASSWORD))
    with refused("proof_needed") as told:
        await pia.port.publish_policy(proposed.version)
    asked = told.value.problem.proof
    assert asked is not None
    assert asked.passkey is not None
    answer = m.Proven(passkey=device.get(asked.passkey))
    for text, code in ((f"{APPROVED_OVERWRITES}\n", "passkey_refused"), (APPROVED_OVERWRITES, "")):
        async with strict.service.whole.core.database.write() as tx:
            await tx.execute(update(PolicyRow).where(PolicyRow.state == "proposed").values(text=text))
        if code:
            with refused(code):
                await pia.port.publish_policy(proposed.version, answer)
    assert (await pia.port.publish_policy(proposed.version, answer)).state == "active"


@pytest.mark.anyio
async def test_what_groups_give_is_agreed_to_and_nothing_else_under_its_id(strict: Site) -> None:
    binding = m.GroupBinding(issuer="https://login.corp.example", group="staff", roles=["viewer"])
    second = await strict.person("zoe", "admin")
    proposed = (await strict.ada.port.propose_group_bindings(m.GroupBindingsRequest(bindings=[binding]))).proposed
    assert proposed is not None
    device = Device()
    await added(second, device, m.Proven(password=PASSWORD))
    answer = m.Proven(passkey=device.get(await wanted(second.port.publish_group_bindings(proposed.id))))
    async with strict.service.whole.core.database.write() as tx:
        more = func.replace(GroupProposalRow.bindings, "viewer", "admin")
        await tx.execute(update(GroupProposalRow).values(bindings=more))
    with refused("passkey_refused"):
        await second.port.publish_group_bindings(proposed.id, answer)
    assert (await second.port.group_bindings()).bindings == []


@pytest.mark.anyio
async def test_a_yes_is_about_the_endpoint_and_the_node_that_had_the_name_then(strict: Site) -> None:
    device, ada = Device(), strict.ada.port
    await added(strict.ada, device, m.Proven(password=PASSWORD))
    labels = m.EndpointUpdate(labels={})
    of_lab = device.get(await wanted(ada.update_endpoint("lab", labels)))
    for was, becomes in (("lab", "former"), ("archive", "lab")):
        await ada.update_endpoint(was, m.EndpointUpdate(id=becomes, password=PASSWORD))
    for name in ("lab", "former"):
        with refused("passkey_refused"):
            await ada.update_endpoint(name, labels.model_copy(update={"passkey": of_lab}))

    first, other = [one.name for one in await ada.nodes()]
    of_first = m.Proven(passkey=device.get(await wanted(ada.revoke_node(first))))
    async with strict.service.whole.core.database.write() as tx:
        for was, becomes in ((first, "former"), (other, first)):
            await tx.execute(update(NodeRow).where(NodeRow.name == was).values(name=becomes))
    with refused("passkey_refused"):
        await ada.revoke_node(first, of_first)
    assert all(one.state == "attached" for one in await ada.nodes())


@pytest.mark.anyio
async def test_a_password_that_is_given_is_checked_also_where_none_is_wanted(quiet_site: Site) -> None:
    bea = await quiet_site.person("bea", "viewer")
    with refused("proof_refused"):
        await quiet_site.ada.port.update_person(bea.principal.id, m.PersonUpdate(roles=["approver"], password=WRONG))


@pytest.mark.anyio
async def test_guesses_at_a_password_or_a_link_leave_a_trace(quiet_site: Site) -> None:
    new = "tungsten marble orchard 77 lantern"
    for _ in range(3):
        with refused("proof_refused"):
            await quiet_site.ada.port.change_password(m.PasswordChange(password=WRONG, new_password=new))
    failed = await quiet_site.audited("proof_failed")
    assert [one.person for one in failed] == [quiet_site.ada.principal.id] * 3
    accepted = m.AcceptInvitation.model_validate({"token": "hri_nobody_has_this", "password": PASSWORD})
    for _ in range(12):
        with pytest.raises(AuthError):
            await quiet_site.use_cases.people.accept_invitation(accepted, "192.0.2.1")
    refusals = await quiet_site.audited("sign_in_failed")
    assert {one.detail["address"] for one in refusals} == {"192.0.2.1"}
    assert len(refusals) == 10, "what a stranger causes in the audit log is bounded"


@pytest.mark.anyio
async def test_who_knows_the_password_does_not_make_the_service_judge_new_ones_without_end(quiet_site: Site) -> None:
    # Each costs up to half a second of a processor; none of these is good enough, so nothing is changed.
    change = m.PasswordChange(password=PASSWORD, new_password="abcabcabcabc")  # noqa: S106
    for _ in range(10):
        with refused("password_refused"):
            await quiet_site.ada.port.change_password(change)
    with refused("too_many_attempts"):
        await quiet_site.ada.port.change_password(change)


def test_a_proof_is_shown_nowhere() -> None:
    for given in (m.Confirmation(digest="0" * 64, password=WRONG), m.Proven(password=WRONG)):
        assert WRONG not in repr(given)


async def added(person: Person, device: Device, proof: m.Proven | None = None) -> m.Passkey:
    return await person.port.add_passkey(device.create(await person.port.begin_passkey(proof)))


async def wanted(call: Awaitable[object]) -> m.PasskeyChallenge:
    """The challenge that comes with a refusal."""
    with refused("proof_needed") as told:
        await call
    proof = told.value.problem.proof
    assert proof is not None
    assert proof.passkey is not None, proof
    return proof.passkey


@pytest.mark.anyio
async def test_a_passkey_confirms_the_very_plan_that_it_was_asked_for(strict: Site) -> None:
    device = Device()
    with refused("proof_needed"):
        await added(strict.ada, device)
    assert (await added(strict.ada, device, m.Proven(password=PASSWORD))).name == "my laptop"
    differing_files(strict)
    plan = await strict.ada.plan("lab:/set", "archive:/set", on_conflict="overwrite")
    other = await strict.ada.plan("lab:/set", "archive:/set", on_conflict="overwrite")
    given = device.get(await wanted(strict.ada.port.confirm_plan(plan.id, yes(plan))))
    with refused("passkey_refused"):
        await strict.ada.port.confirm_plan(other.id, m.Confirmation(digest=digest_of(other), passkey=given))
    assert (
        await strict.ada.port.confirm_plan(plan.id, m.Confirmation(digest=digest_of(plan), passkey=given))
    ).confirmed
    with refused("passkey_refused"):
        await strict.ada.port.confirm_plan(plan.id, m.Confirmation(digest=digest_of(plan), passkey=given))
    [confirmed] = await strict.audited("confirmed")
    assert confirmed.detail["proof"] == "passkey"
    assert [one.detail["reason"] for one in await strict.audited("proof_failed")] == [
        "This proof was given for something else, or this service has not asked for it; begin again.",
        "This proof was used already; each is for one thing.",
    ]


@pytest.mark.anyio
async def test_a_passkey_makes_the_very_token_that_it_was_asked_for(strict: Site) -> None:
    device = Device()
    await added(strict.ada, device, m.Proven(password=PASSWORD))
    wish = m.TokenRequest(name="pipeline", scopes=["transfer:read"])
    given = device.get(await wanted(strict.ada.port.create_token(wish)))
    with refused("passkey_refused"):
        await strict.ada.port.create_token(wish.model_copy(update={"scopes": ["policy:write"], "passkey": given}))
    assert (await strict.ada.port.create_token(wish.model_copy(update={"passkey": given}))).secret


@pytest.mark.anyio
async def test_where_passkeys_are_wanted_a_password_gives_no_consent(tmp_path: Path) -> None:
    async with started_site(tmp_path, proof="passkey") as site:
        wish = m.TokenRequest(name="pipeline", scopes=["transfer:read"], password=PASSWORD)
        with refused("proof_needed") as told:
            await site.ada.port.create_token(wish)
        assert "add one on the page of your account" in told.value.problem.detail
        device = Device()
        await added(site.ada, device, m.Proven(password=PASSWORD))
        # A further passkey takes the one that there is.
        with refused("proof_needed"):
            await site.ada.port.begin_passkey(m.Proven(password=PASSWORD))
        challenge = await wanted(site.ada.port.create_token(wish))
        assert (await site.ada.port.create_token(wish.model_copy(update={"passkey": device.get(challenge)}))).secret


@pytest.mark.anyio
async def test_nobody_adds_or_removes_a_passkey_by_a_session_alone_or_anothers(quiet_site: Site) -> None:
    ada, device = quiet_site.ada, Device()
    bea = await quiet_site.person("bea", "viewer")
    with refused("proof_needed"):
        await ada.port.begin_passkey()
    mine = await added(ada, device, m.Proven(password=PASSWORD))
    with refused("not_found"):
        await bea.port.remove_passkey(mine.id)
    with refused("proof_needed"):
        await ada.port.remove_passkey(mine.id)
    with refused("not_found"):
        await bea.port.passkeys(person=ada.principal.id)
    theirs = await added(bea, Device(), m.Proven(password=PASSWORD))
    assert [one.id for one in await ada.port.passkeys(person=bea.principal.id)] == [theirs.id]
    with refused("proof_needed"):
        await ada.port.remove_passkey(theirs.id, person=bea.principal.id)
    given = device.get(await wanted(ada.port.remove_passkey(theirs.id, person=bea.principal.id)))
    with refused("passkey_refused"):
        await ada.port.remove_passkey(mine.id, m.Proven(passkey=given))
    await ada.port.remove_passkey(theirs.id, m.Proven(passkey=given), person=bea.principal.id)
    assert (await bea.port.passkeys()).items == []
    assert [one.id for one in await ada.port.passkeys()] == [mine.id]
    assert [one.detail["name"] for one in await quiet_site.audited("passkey_removed")] == ["my laptop"]


@pytest.mark.anyio
async def test_a_fresh_session_from_a_provider_adds_no_passkey_alone(quiet_site: Site) -> None:
    async with quiet_site.service.whole.core.database.write() as tx:
        await tx.execute(update(PersonRow).values(password_hash=None))
    fresh = replace(quiet_site.ada.principal, method="oidc", authenticated_at=quiet_site.clock())
    with refused("proof_needed"):
        await quiet_site.service.acting_for(fresh).begin_passkey()


@pytest.mark.anyio
async def test_a_passkey_signs_in(quiet_site: Site) -> None:
    device, people = Device(), quiet_site.use_cases.people
    await added(quiet_site.ada, device, m.Proven(password=PASSWORD))
    assert (people.ways().passkeys, people.ways().directory) == ("http://localhost", False)
    given = device.get(people.ask_passkey())
    session = await people.sign_in_by_passkey(given, "192.0.2.3")
    assert session.me.id == quiet_site.ada.principal.id
    signed_in = (await quiet_site.audited("signed_in"))[-1]
    assert (signed_in.person, signed_in.detail["method"]) == (session.me.id, "passkey")
    assert signed_in.detail["address"] == "192.0.2.3"
    with pytest.raises(AuthError, match="may not sign in"):
        await people.sign_in_by_passkey(given, "127.0.0.1")
    [failed] = await quiet_site.audited("sign_in_failed")
    assert (failed.subject, "used already" in failed.detail["reason"]) == (session.me.id, True)


PASSKEY_FOR_PHI = """
@id("requesters")
@reason("requesters may work")
permit (principal in Role::"requester", action, resource);
@id("phi-by-passkey")
@reason("patient data is copied after a sign-in with a passkey")
forbid (principal, action == Action::"copy", resource)
when { resource.source.labels.contains("class=phi") && !context.factors.contains("passkey") };
"""


@pytest.mark.anyio
async def test_a_policy_may_want_a_sign_in_with_a_passkey_for_a_label(site: Site) -> None:
    device, people = Device(), site.use_cases.people
    await added(site.ada, device, m.Proven(password=PASSWORD))
    (site.lab / "a.dat").write_text("a")
    await publish(site, PASSKEY_FOR_PHI)
    await site.ada.port.update_endpoint("lab", m.EndpointUpdate(labels={"class": "phi"}))
    refused_plan = await site.ada.plan("lab:/a.dat", "archive:/a.dat")
    assert refused_plan.state is m.PlanState.DENIED
    assert "after a sign-in with a passkey" in refused_plan.summary
    session = await people.sign_in_by_passkey(device.get(people.ask_passkey()), "127.0.0.1")
    ada = replace(site.ada, principal=await people.of_session(session.secret))
    plan = await ada.plan("lab:/a.dat", "archive:/a.dat")
    ended = await ada.end_of(await ada.submit(plan))
    assert ended.state is m.TransferState.COMPLETE, ended.summary
