"""What happens to people here: they forget and change passwords, come back, and see who is signed in as them."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest
from tests.servers.device import Device
from tests.servers.site import PASSWORD, Person, Site, digest_of
from tests.service.refusals import refused
from tests.service.test_consent import differing_files, plan_to_approve
from tests.service.test_nodes import join

from headrace.auth import AuthCode, AuthError
from headrace.client import models as m
from headrace.engine import EngineError

OTHER = "another horse battery staple"
HERE = "127.0.0.1"


async def signed_in(site: Site, name: str, password: str) -> Person:
    session = await site.use_cases.people.sign_in(m.SignIn(name=name, password=password), HERE)
    return Person(site, await site.use_cases.people.of_session(session.secret), session.secret)


async def is_signed_in(person: Person) -> bool:
    try:
        await person.site.use_cases.people.of_session(person.secret)
    except AuthError as error:
        assert error.code is AuthCode.NOT_SIGNED_IN  # noqa: PT017 - answered as a word
        return False
    return True


async def redeemed(site: Site, link: str, password: str) -> Person:
    accepted = m.AcceptInvitation(token=link.partition("#")[2], password=password)
    session = await site.use_cases.people.accept_invitation(accepted, HERE)
    return Person(site, await site.use_cases.people.of_session(session.secret), session.secret)


@pytest.mark.anyio
async def test_another_password_ends_every_other_session(quiet_site: Site) -> None:
    bea = await quiet_site.person("bea", "requester")
    elsewhere = await signed_in(quiet_site, "bea", PASSWORD)
    with refused("proof_refused"):
        await bea.port.change_password(m.PasswordChange(password="not the password", new_password=OTHER))  # noqa: S106
    with refused("password_refused"):
        await bea.port.change_password(m.PasswordChange(password=PASSWORD, new_password="bea " * 4))
    assert await is_signed_in(elsewhere)
    await bea.port.change_password(m.PasswordChange(password=PASSWORD, new_password=OTHER))
    assert (await is_signed_in(bea), await is_signed_in(elsewhere)) == (True, False)
    with pytest.raises(AuthError):
        await signed_in(quiet_site, "bea", PASSWORD)
    assert await is_signed_in(await signed_in(quiet_site, "bea", OTHER))
    [event] = await quiet_site.audited("password_changed")
    assert (event.person, event.subject) == (bea.principal.id, bea.principal.id)


@pytest.mark.anyio
async def test_who_holds_a_session_guesses_no_password_with_it_and_shuts_nobody_out(quiet_site: Site) -> None:
    bea = await quiet_site.person("bea", "requester")
    wrong = m.PasswordChange(password="not the password", new_password=OTHER)  # noqa: S106
    for _ in range(10):
        with refused("proof_refused"):
            await bea.port.change_password(wrong)
    with refused("too_many_attempts"):
        await bea.port.change_password(m.PasswordChange(password=PASSWORD, new_password=OTHER))
    assert await is_signed_in(await signed_in(quiet_site, "bea", PASSWORD))
    # So it is with whatever else takes the password.
    cyd = await quiet_site.person("cyd", "requester")
    wish = m.TokenRequest(name="mine", scopes=["transfer:read"], password="not the password")  # noqa: S106
    for _ in range(10):
        with refused("proof_refused"):
            await cyd.port.create_token(wish)
    with refused("too_many_attempts"):
        await cyd.port.create_token(wish.model_copy(update={"password": PASSWORD}))


@pytest.mark.anyio
async def test_a_forgotten_password_is_replaced_by_a_new_link_and_not_before_it_is_used(quiet_site: Site) -> None:
    bea = await quiet_site.person("bea", "requester")
    token, _ = await bea.token("transfer:read")
    first = await quiet_site.ada.port.invite_again(bea.principal.id)
    again = await quiet_site.ada.port.invite_again(bea.principal.id)
    assert await is_signed_in(bea)
    with pytest.raises(AuthError):
        await redeemed(quiet_site, first.link, OTHER)
    back = await redeemed(quiet_site, again.link, OTHER)
    assert (back.principal.id, back.principal.name) == (bea.principal.id, "bea")
    assert not await is_signed_in(bea)
    with pytest.raises(AuthError):
        await quiet_site.use_cases.people.of_token(token)
    with pytest.raises(AuthError):
        await redeemed(quiet_site, again.link, PASSWORD)
    assert len(await quiet_site.audited("invited_again")) == 2


@pytest.mark.anyio
async def test_an_expired_link_and_a_disabled_person_burn_no_name(quiet_site: Site) -> None:
    site = quiet_site
    late = await site.ada.port.invite(m.InvitationRequest(name="lea", roles=["viewer"], valid_s=300))
    site.clock.shift += timedelta(minutes=6)
    lea = next(one for one in await site.ada.port.people() if one.name == "lea")
    with pytest.raises(AuthError):
        await redeemed(site, late.link, PASSWORD)
    joined = await redeemed(site, (await site.ada.port.invite_again(lea.id)).link, PASSWORD)
    assert (joined.principal.name, sorted(joined.principal.roles)) == ("lea", ["viewer"])
    await site.ada.port.disable_person(lea.id)
    back = await redeemed(site, (await site.ada.port.invite_again(lea.id)).link, OTHER)
    assert (back.principal.id, await is_signed_in(joined)) == (lea.id, False)


@pytest.mark.anyio
async def test_people_see_and_end_their_own_sessions_and_an_admin_anybodys(quiet_site: Site) -> None:
    bea, carl = await quiet_site.person("bea", "requester"), await quiet_site.person("carl", "requester")
    elsewhere = await signed_in(quiet_site, "bea", PASSWORD)
    mine = await bea.port.sessions()
    assert [one.current for one in mine] == [False, True]
    with refused("not_found"):
        await carl.port.sessions(person=bea.principal.id)
    with refused("not_found"):
        await carl.port.end_session(mine[0].id)
    with refused("not_found"):
        await carl.port.end_session(mine[0].id, person=bea.principal.id)
    await bea.port.end_session(mine[0].id)
    assert (await is_signed_in(bea), await is_signed_in(elsewhere)) == (True, False)
    [left] = await quiet_site.ada.port.sessions(person=bea.principal.id)
    await quiet_site.ada.port.end_session(left.id, person=bea.principal.id)
    assert not await is_signed_in(bea)
    ended = [(one.person, one.subject) for one in await quiet_site.audited("signed_out")]
    assert ended == [(bea.principal.id, bea.principal.id), (quiet_site.ada.principal.id, bea.principal.id)]


@pytest.mark.anyio
async def test_an_admin_sees_and_revokes_every_token(quiet_site: Site) -> None:
    bea = await quiet_site.person("bea", "requester")
    secret, pipeline = await bea.token("transfer:read")
    with refused("not_allowed"):
        await bea.port.tokens(everybody=True)
    with refused("not_allowed"):
        await pipeline.tokens(everybody=True)
    [token] = await quiet_site.ada.port.tokens(everybody=True)
    assert (token.person, token.name) == (bea.principal.id, "pipeline")
    assert (await quiet_site.ada.port.tokens()).items == []
    await quiet_site.ada.port.revoke_token(token.id)
    with pytest.raises(AuthError):
        await quiet_site.use_cases.people.of_token(secret)


@pytest.mark.anyio
async def test_a_pipeline_of_a_service_account_works_on_when_whoever_made_it_has_left(site: Site) -> None:
    boss = await site.person("boss", "admin")
    robot = await boss.port.create_service_account(m.ServiceAccountRequest(name="nightly", roles=["requester"]))
    assert (robot.kind, robot.roles, robot.state) == ("service", ["requester"], "active")
    scopes = ["transfer:read", "transfer:plan", "transfer:run"]
    made = await boss.port.create_token(m.TokenRequest(name="nightly copy", scopes=scopes, person=robot.id))
    assert (made.person, made.secret is not None) == (robot.id, True)
    await site.ada.port.disable_person(boss.principal.id)
    principal = await site.use_cases.people.of_token(made.secret or "")
    pipeline = Person(site, principal, made.secret or "")
    (site.lab / "set").mkdir()
    (site.lab / "set" / "a.bin").write_bytes(b"a" * 1000)
    ended = await pipeline.end_of(await pipeline.submit(await pipeline.plan("lab:/set", "archive:/copy")))
    assert ended.state is m.TransferState.COMPLETE, ended.summary
    (site.archive / "copy" / "a.bin").write_bytes(b"b")
    unconfirmed = await pipeline.plan("lab:/set", "archive:/copy", on_conflict="overwrite")
    step = unconfirmed.next_step
    assert (step.kind, step.by, "nobody can confirm for a service account" in step.message) == ("none", "nobody", True)
    [audited] = await site.audited("service_account_made")
    assert (audited.person, audited.subject) == (boss.principal.id, robot.id)
    assert (await site.audited("token_made"))[-1].detail["owner"] == robot.id
    with refused("not_allowed"):
        await site.ada.port.update_person(robot.id, m.PersonUpdate(roles=["approver"]))


@pytest.mark.anyio
async def test_an_admin_lets_who_was_disabled_back_in_and_what_ended_stays_ended(quiet_site: Site) -> None:
    robot = await quiet_site.ada.port.create_service_account(m.ServiceAccountRequest(name="nightly", roles=["viewer"]))
    wish = m.TokenRequest(name="its", scopes=["transfer:read"], person=robot.id)
    secret = str((await quiet_site.ada.port.create_token(wish)).secret)
    with refused("not_allowed") as error:
        await quiet_site.ada.port.enable_person(robot.id)
    assert "active, not disabled" in str(error.value)
    await quiet_site.ada.port.disable_person(robot.id)
    assert (await quiet_site.ada.port.enable_person(robot.id)).state == "active"
    with pytest.raises(AuthError):
        await quiet_site.use_cases.people.of_token(secret)
    assert (await quiet_site.ada.port.create_token(wish)).secret
    [said] = await quiet_site.ada.port.audit(kind="person_enabled")
    assert (said.person, said.subject) == (quiet_site.ada.principal.id, robot.id)
    bob = await quiet_site.person("bob", "viewer")
    await quiet_site.ada.port.disable_person(bob.principal.id)
    with refused("not_allowed") as error:
        await quiet_site.ada.port.enable_person(bob.principal.id)
    assert "one-time link" in str(error.value)
    with refused("not_found"):
        await quiet_site.ada.port.enable_person("pn_nobody")


@pytest.mark.anyio
async def test_who_is_disabled_does_not_come_back_as_somebody_new(quiet_site: Site) -> None:
    bob = await quiet_site.person("bob", "viewer")
    link = m.IdentityLink(issuer="https://corp.example", subject="bob")
    await quiet_site.ada.port.link_identity(bob.principal.id, link)
    await quiet_site.ada.port.disable_person(bob.principal.id)
    with refused("not_allowed") as error:
        await quiet_site.ada.port.unlink_identity(bob.principal.id, link)
    assert "stays out" in str(error.value)


@pytest.mark.anyio
async def test_who_comes_back_has_agreed_to_nothing_that_has_not_begun(site: Site) -> None:
    differing_files(site)
    bob = await site.person("bob", "requester")
    begun, waits, no = [await bob.plan("lab:/set", "archive:/set", on_conflict="overwrite") for _ in range(3)]
    for plan in (begun, waits):
        await bob.confirm(plan)
    await bob.port.confirm_plan(no.id, m.Confirmation(digest=digest_of(no), verdict="declined"))
    assert (await bob.end_of(await bob.submit(begun))).state is m.TransferState.COMPLETE
    await site.ada.port.disable_person(bob.principal.id)
    bob = await redeemed(site, (await site.ada.port.invite_again(bob.principal.id)).link, OTHER)
    assert [(await bob.port.plan(plan.id)).confirmed for plan in (begun, waits)] == [True, False]
    with refused("needs_confirmation"):
        await bob.submit(waits)
    with refused("plan_declined"):
        await bob.submit(no)


def asks(person: Person, plan: m.Plan) -> list[Callable[[], Awaitable[object]]]:
    """What changes something here, as a call that was let in while its person was still who they were."""
    port = person.port
    return [
        lambda: person.approve(plan),
        lambda: port.invite(m.InvitationRequest(name="eve", roles=["admin"])),
        lambda: port.invite_again(plan.requester),
        lambda: port.update_person(person.principal.id, m.PersonUpdate(roles=["admin", "approver", "requester"])),
        lambda: port.create_token(m.TokenRequest(name="mine", scopes=["transfer:read"])),
        lambda: port.create_join_token(m.JoinTokenRequest(name="dtn9")),
        lambda: port.update_endpoint("lab", m.EndpointUpdate(labels={"a": "b"})),
        lambda: port.halt(m.HaltRequest(scope="person", subject=plan.requester, reason="mine")),
    ]


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("ended", "of_password"),
    [("disabled", "not_signed_in"), ("signed out", "not_allowed"), ("taken back by a link", "not_signed_in")],
)
async def test_a_call_that_was_let_in_before_its_person_left_changes_nothing(
    site: Site, ended: str, of_password: str
) -> None:
    plan = await plan_to_approve(site)
    bea = await site.person("bea", "admin", "approver")
    match ended:
        case "disabled":
            await site.ada.port.disable_person(bea.principal.id)
        case "signed out":
            await site.ada.port.end_session(bea.principal.session_id or "", person=bea.principal.id)
        case _:
            await redeemed(site, (await site.ada.port.invite_again(bea.principal.id)).link, OTHER)
    since = (await site.ada.port.audit(order="newest", limit=1)).items[0].sequence
    for call in asks(bea, plan):
        with refused("not_signed_in"):
            await call()
    with refused(of_password):
        await bea.port.change_password(m.PasswordChange(password=PASSWORD, new_password=OTHER))
    later = [one for one in await site.ada.port.audit(after=str(since)) if one.person == bea.principal.id]
    assert {one.kind for one in later} <= {"proof_failed", "invitation_accepted", "signed_in"}
    with refused("needs_approval"):
        await site.ada.submit(plan)


@pytest.mark.anyio
async def test_a_call_that_was_let_in_with_a_role_that_is_gone_changes_nothing(site: Site) -> None:
    plan = await plan_to_approve(site)
    bea = await site.person("bea", "admin", "approver")
    await site.ada.port.update_person(bea.principal.id, m.PersonUpdate(roles=["viewer"]))
    for call in asks(bea, plan):
        with refused("not_allowed"):
            await call()


@pytest.mark.anyio
async def test_who_takes_an_account_back_ends_what_was_agreed_to_and_made_with_it(site: Site) -> None:
    plan = await plan_to_approve(site)
    bea = await site.person("bea", "admin", "approver")
    await bea.approve(plan)
    secret, _ = await bea.token("transfer:read")
    await redeemed(site, (await site.ada.port.invite_again(bea.principal.id)).link, OTHER)
    with refused("needs_approval"):
        await site.ada.submit(plan)
    with pytest.raises(AuthError):
        await site.use_cases.people.of_token(secret)


@pytest.mark.anyio
async def test_what_a_disabled_administrator_has_handed_out_lets_nobody_in(site: Site) -> None:
    bea = await site.person("bea", "admin")
    cyd = await site.person("cyd", "admin")
    invited = await bea.port.invite(m.InvitationRequest(name="eve", roles=["admin"]))
    other = await bea.port.invite_again(cyd.principal.id)
    joins = await bea.port.create_join_token(m.JoinTokenRequest(name="evil"))
    binding = m.GroupBinding(issuer="https://login.corp.example", group="staff", roles=["admin"])
    await bea.port.propose_group_bindings(m.GroupBindingsRequest(bindings=[binding]))
    await site.ada.port.disable_person(bea.principal.id)
    for link in (invited.link, other.link):
        with pytest.raises(AuthError, match="never good"):
            await redeemed(site, link, OTHER)
    with pytest.raises(EngineError):
        await join(site, joins.token, "evil", [])
    assert (await site.ada.port.group_bindings()).proposed is None


@pytest.mark.anyio
async def test_what_somebody_has_handed_out_ends_with_the_role_that_it_took(site: Site) -> None:
    bea = await site.person("bea", "admin")
    link = (await bea.port.invite(m.InvitationRequest(name="eve", roles=["admin"]))).link
    binding = m.GroupBinding(issuer="https://login.corp.example", group="staff", roles=["admin"])
    await bea.port.propose_group_bindings(m.GroupBindingsRequest(bindings=[binding]))
    joins = [(await bea.port.create_join_token(m.JoinTokenRequest(name=name))).token for name in ("one", "two")]
    await site.ada.port.update_person(bea.principal.id, m.PersonUpdate(roles=["operator"]))
    with pytest.raises(AuthError, match="never good"):
        await redeemed(site, link, OTHER)
    assert (await site.ada.port.group_bindings()).proposed is None
    node = await join(site, joins[0], "one", [])
    await node.close()
    await site.ada.port.update_person(bea.principal.id, m.PersonUpdate(roles=["viewer"]))
    with pytest.raises(EngineError):
        await join(site, joins[1], "two", [])


@pytest.mark.anyio
async def test_a_clock_that_is_ahead_while_others_sign_in_ends_no_session_for_good(quiet_site: Site) -> None:
    bea = await quiet_site.person("bea", "requester")
    quiet_site.clock.jump = timedelta(seconds=quiet_site.settings.session_valid_s) + timedelta(days=1)
    assert not await is_signed_in(bea)
    await signed_in(quiet_site, "ada", PASSWORD)
    assert not await is_signed_in(bea)
    quiet_site.clock.jump = timedelta()
    assert await is_signed_in(bea)


@pytest.mark.anyio
async def test_nobody_has_more_tokens_or_passkeys_than_one_may_however_many_ask_at_once(quiet_site: Site) -> None:
    ada, wish = quiet_site.ada, m.TokenRequest(name="t", scopes=["transfer:read"])
    for _ in range(95):
        await ada.port.create_token(wish)
    made = await asyncio.gather(*(ada.port.create_token(wish) for _ in range(20)), return_exceptions=True)
    assert len((await ada.port.tokens()).items) == 100
    said = {str(one) for one in made if isinstance(one, Exception)}
    assert said == {"There are 100 tokens already; revoke one first."}
    proof = m.Proven(password=PASSWORD)
    begun = [await ada.port.begin_passkey(proof) for _ in range(25)]
    given = [Device().create(one) for one in begun]
    keys = await asyncio.gather(*map(ada.port.add_passkey, given), return_exceptions=True)
    assert len((await ada.port.passkeys()).items) == 20
    said = {str(one) for one in keys if isinstance(one, Exception)}
    assert said == {"You have 20 passkeys; remove one first."}
