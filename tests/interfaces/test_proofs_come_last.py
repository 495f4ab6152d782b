"""Nobody is asked for a proof of what is refused anyhow, and a refusal tells nothing to those who may not ask."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import NamedTuple

import httpx2
import pytest
from sqlalchemy import update
from tests.pure.api.qos_texts import LINKED
from tests.servers.site import PASSWORD, Person, Site, digest_of, started_site
from tests.service.refusals import refused
from tests.service.test_consent import APPROVED_OVERWRITES, differing_files, plan_to_approve

from headrace.api.app.web import create_app
from headrace.api.http.guard import Origins
from headrace.api.store.tables_site import PasskeyRow, PolicyRow, TokenRow
from headrace.auth import MAX_PASSKEYS, MAX_TOKENS_A_PERSON
from headrace.client import Headrace, HeadraceError, HttpHeadrace
from headrace.client import models as m

URL = "http://127.0.0.1:8470"
CORP = "https://login.corp.example"
BINDING = m.GroupBinding(issuer=CORP, group="staff", roles=["viewer"])
YES = m.Proven(password=PASSWORD)

PortOf = Callable[[Person], Headrace]


class Case(NamedTuple):
    """A call without a proof, and the code with which it is refused."""

    code: str
    call: Awaitable[object]


@pytest.fixture
async def strict(tmp_path: Path) -> AsyncIterator[Site]:
    async with started_site(tmp_path, proof="password") as site:
        await site.start_both()
        yield site


@pytest.fixture(params=["port", "rest"])
async def port_of(strict: Site, request: pytest.FixtureRequest) -> AsyncIterator[PortOf]:
    """How somebody calls the service: in this process, or over HTTP as the command line and programs do."""
    if request.param == "port":
        yield lambda person: person.port
        return
    app = create_app(strict.service.gate, Origins.of(URL))
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(app.router.lifespan_context(app))
        made = {}

        def over_http(person: Person) -> Headrace:
            if person.secret not in made:
                transport = httpx2.ASGITransport(app, raise_app_exceptions=False)
                made[person.secret] = HttpHeadrace(URL, person.secret, transport=transport)
                stack.push_async_callback(made[person.secret].aclose)
            return made[person.secret]

        yield over_http


async def all_refused(cases: Sequence[Case]) -> None:
    for case in cases:
        with refused(case.code):
            await case.call


@pytest.mark.anyio
async def test_what_cant_be_published_asks_for_no_proof(strict: Site, port_of: PortOf) -> None:
    ada, pia = port_of(strict.ada), port_of(await strict.person("pia", "policy_admin"))
    broken = (await ada.propose_policy(m.PolicyText(text=APPROVED_OVERWRITES))).version
    async with strict.service.whole.core.database.write() as tx:
        spoilt = APPROVED_OVERWRITES + '// example denied {"action": "copy"}'
        await tx.execute(update(PolicyRow).where(PolicyRow.number == int(broken)).values(text=spoilt))
    links = (await ada.propose_qos(m.QosText(text=LINKED))).version
    proposed = (await ada.propose_group_bindings(m.GroupBindingsRequest(bindings=[BINDING]))).proposed
    assert proposed is not None
    cases = [
        Case("policy_invalid", pia.publish_policy(broken)),
        Case("publish_own_policy", ada.publish_policy(broken)),
        Case("policy_state", ada.publish_policy("1")),
        Case("unknown_policy", ada.publish_policy("site.cedar")),
        Case("publish_own_qos", ada.publish_qos(links)),
        Case("not_allowed", ada.publish_group_bindings(proposed.id)),
        Case("not_found", ada.publish_group_bindings("gp_none")),
    ]
    await all_refused(cases)


@pytest.mark.anyio
async def test_what_cant_become_of_a_node_or_an_endpoint_asks_for_no_proof(strict: Site, port_of: PortOf) -> None:
    ada = port_of(strict.ada)
    stale = next(one.version for one in await ada.endpoints() if one.id == "lab")
    await ada.update_endpoint("lab", m.EndpointUpdate(aliases=["bench"], password=PASSWORD))
    many = {f"/{number}": {"names": "restricted"} for number in range(m.MAX_LABELLED_FOLDERS)}
    await ada.update_endpoint("lab", m.EndpointUpdate(folder_labels=many, password=PASSWORD))
    await ada.revoke_node("right", YES)
    cases = [
        Case("name_taken", ada.create_join_token(m.JoinTokenRequest(name="left"))),
        Case("node_revoked", ada.rotate_node("right", m.RotationRequest())),
        Case("node_not_revoked", ada.remove_node("left")),
        Case("unknown_node", ada.remove_node("nowhere")),
        Case("unknown_node", ada.revoke_node("nowhere")),
        Case("unknown_endpoint", ada.update_endpoint("nowhere", m.EndpointUpdate(id="somewhere"))),
        Case("unknown_endpoint", ada.remove_endpoint("nowhere")),
        Case("endpoint_in_use", ada.remove_endpoint("lab")),
        Case("name_taken", ada.update_endpoint("lab", m.EndpointUpdate(aliases=["ARCHIVE"]))),
        Case("invalid_request", ada.update_endpoint("lab", m.EndpointUpdate(id="lab", aliases=["Lab"]))),
        Case("invalid_request", ada.update_endpoint("lab", m.EndpointUpdate(id="a:b"))),
        Case("invalid_request", ada.update_endpoint("lab", m.EndpointUpdate(labels={"class": "*"}))),
        Case("invalid_request", ada.update_endpoint("lab", m.EndpointUpdate(folder_labels={"/": {}}))),
        Case("invalid_request", ada.update_endpoint("lab", m.EndpointUpdate(folder_labels={"/more": {"a": "b"}}))),
        Case("endpoint_changed", ada.update_endpoint("lab", m.EndpointUpdate(labels={}, version=stale))),
    ]
    await all_refused(cases)
    assert (await ada.update_endpoint("BENCH", m.EndpointUpdate(aliases=["Bench"], password=PASSWORD))).aliases == [
        "Bench"
    ], "an endpoint's own names are no others'"


@pytest.mark.anyio
async def test_what_cant_become_of_a_person_asks_for_no_proof(strict: Site, port_of: PortOf) -> None:
    ada, bea = port_of(strict.ada), await strict.person("bea", "viewer")
    gone = await strict.person("gone", "viewer")
    of_gone = m.IdentityLink(issuer=CORP, subject="gone", password=PASSWORD)
    await ada.link_identity(gone.principal.id, of_gone)
    await ada.link_identity(strict.ada.principal.id, of_gone.model_copy(update={"subject": "ada"}))
    await ada.disable_person(gone.principal.id)
    taken, mine = of_gone.model_copy(update={"password": None}), strict.ada.principal.id
    cases = [
        Case("name_refused", ada.invite(m.InvitationRequest(name="BEA", roles=["viewer"]))),
        Case("name_refused", ada.invite(m.InvitationRequest(name="pn_1", roles=["viewer"]))),
        Case("invalid_request", ada.invite(m.InvitationRequest(name="cid", roles=["king"]))),
        Case("name_refused", ada.create_service_account(m.ServiceAccountRequest(name="bea", roles=["viewer"]))),
        Case("not_allowed", ada.create_service_account(m.ServiceAccountRequest(name="robot", roles=["approver"]))),
        Case("not_allowed", ada.invite_again(mine)),
        Case("not_found", ada.invite_again("pn_none")),
        Case("not_allowed", ada.enable_person(bea.principal.id)),
        Case("not_allowed", ada.enable_person(gone.principal.id)),
        Case("not_allowed", ada.update_person(mine, m.PersonUpdate(roles=["viewer"]))),
        Case("not_allowed", ada.update_person(bea.principal.id, m.PersonUpdate(groups=["approver"]))),
        Case("not_found", ada.update_person("pn_none", m.PersonUpdate(roles=["viewer"]))),
        Case("not_found", ada.link_identity("pn_none", m.IdentityLink(issuer=CORP, subject="new"))),
        Case("not_allowed", ada.link_identity(bea.principal.id, m.IdentityLink(issuer=CORP, subject="ada"))),
        Case("not_allowed", ada.link_identity(bea.principal.id, taken)),
    ]
    await all_refused(cases)


@pytest.mark.anyio
async def test_a_token_or_passkey_that_cant_be_made_asks_for_no_proof(strict: Site, port_of: PortOf) -> None:
    ada, bea = port_of(strict.ada), await strict.person("bea", "viewer")
    full, now = await strict.person("full", "viewer"), strict.clock()
    wish = m.TokenRequest(name="pipeline", scopes=["transfer:read"])
    async with strict.service.whole.core.database.write() as tx:
        whose = full.principal.id
        tx.add_all(
            TokenRow(id=f"tk_{n}", hash=f"{n}", person=whose, name="x", scopes=(), created=now, expires=now)
            for n in range(MAX_TOKENS_A_PERSON)
        )
        tx.add_all(
            PasskeyRow(id=f"{n}", person=whose, name="x", public_key=b"", sign_count=0, created=now, seal="")
            for n in range(MAX_PASSKEYS)
        )
    cases = [
        Case("not_allowed", port_of(bea).create_token(wish.model_copy(update={"scopes": ["transfer:run"]}))),
        Case("name_refused", port_of(bea).create_token(wish.model_copy(update={"name": "\u0430dmin"}))),
        Case("name_refused", port_of(bea).create_token(wish.model_copy(update={"agent": "pn_1"}))),
        Case("not_found", ada.create_token(wish.model_copy(update={"person": bea.principal.id}))),
        Case("not_allowed", port_of(full).create_token(wish)),
        Case("not_allowed", port_of(full).begin_passkey()),
        Case("not_found", port_of(bea).remove_passkey("none")),
    ]
    await all_refused(cases)


@pytest.mark.anyio
async def test_a_yes_that_counts_for_nothing_asks_for_no_proof(strict: Site, port_of: PortOf) -> None:
    differing_files(strict)
    ada, bea = port_of(strict.ada), port_of(await strict.person("bea", "approver"))
    confirmed = await strict.ada.plan("lab:/set", "archive:/set", on_conflict="overwrite")
    allowed = await strict.ada.plan("lab:/set", "archive:/elsewhere")
    approved = await plan_to_approve(strict)
    oz = port_of(await strict.person("oz", "operator", "requester"))

    def confirms(plan: m.Plan) -> m.Confirmation:
        return m.Confirmation(digest=digest_of(plan))

    def approves(plan: m.Plan) -> m.Approval:
        return m.Approval(digest=digest_of(plan), verdict="approved")

    cases = [
        Case("wrong_digest", ada.confirm_plan(confirmed.id, confirms(approved))),
        Case("invalid_request", ada.confirm_plan(confirmed.id[:-2], confirms(confirmed))),
        Case("forbidden", oz.confirm_plan(confirmed.id, confirms(confirmed))),
        Case("confirmation_not_needed", ada.confirm_plan(allowed.id, confirms(allowed))),
        Case("unknown_plan", ada.confirm_plan("pl_none", confirms(confirmed))),
        Case("wrong_digest", bea.approve_plan(approved.id, approves(confirmed))),
        Case("approve_own_plan", ada.approve_plan(approved.id, approves(approved))),
        Case("not_an_approver", oz.approve_plan(approved.id, approves(approved))),
        Case("approval_not_needed", oz.approve_plan(confirmed.id, approves(confirmed))),
        Case("unknown_plan", bea.approve_plan("pl_none", approves(approved))),
    ]
    await all_refused(cases)


@pytest.mark.anyio
async def test_who_may_not_do_it_hears_the_same_of_what_there_is_and_of_what_there_is_not(
    strict: Site, port_of: PortOf
) -> None:
    eve, bea = port_of(await strict.person("eve", "requester")), await strict.person("bea", "viewer")
    robot = await strict.ada.port.create_service_account(
        m.ServiceAccountRequest(name="robot", roles=["viewer"], password=PASSWORD)
    )
    plan = await plan_to_approve(strict)
    confirmation, approval = m.Confirmation(digest=digest_of(plan)), m.Approval(digest="0" * 64, verdict="approved")
    wish, roles = m.TokenRequest(name="x", scopes=["transfer:read"]), ["viewer"]
    link = m.IdentityLink(issuer=CORP, subject="x")
    asked: list[tuple[str, str, str, Callable[[str], Awaitable[object]]]] = [
        ("forbidden", "left", "nowhere", eve.revoke_node),
        ("forbidden", "left", "nowhere", eve.remove_node),
        ("forbidden", "left", "nowhere", lambda name: eve.rotate_node(name, m.RotationRequest())),
        ("forbidden", "left", "nowhere", lambda name: eve.create_join_token(m.JoinTokenRequest(name=name))),
        ("forbidden", "lab", "nowhere", lambda name: eve.update_endpoint(name, m.EndpointUpdate(id="archive"))),
        ("forbidden", "lab", "nowhere", eve.remove_endpoint),
        ("forbidden", "1", "2", eve.publish_policy),
        ("forbidden", "1", "2", eve.publish_qos),
        ("forbidden", "bea", "cid", lambda name: eve.invite(m.InvitationRequest(name=name, roles=roles))),
        ("forbidden", "bea", "cid", lambda n: eve.create_service_account(m.ServiceAccountRequest(name=n, roles=roles))),
        ("forbidden", bea.principal.id, "pn_none", lambda of: eve.update_person(of, m.PersonUpdate(roles=roles))),
        ("forbidden", bea.principal.id, "pn_none", lambda of: eve.link_identity(of, link)),
        ("forbidden", bea.principal.id, "pn_none", eve.invite_again),
        ("forbidden", bea.principal.id, "pn_none", eve.enable_person),
        ("not_allowed", robot.id, "pn_none", lambda of: eve.create_token(wish.model_copy(update={"person": of}))),
        ("unknown_plan", plan.id, "pl_none", lambda of: eve.confirm_plan(of, confirmation)),
        ("unknown_plan", plan.id, "pl_none", lambda of: eve.approve_plan(of, approval)),
    ]
    for code, is_there, is_not, call in asked:
        heard = []
        for name in (is_there, is_not):
            with pytest.raises(HeadraceError) as told:
                await call(name)
            # What was asked about may be said again: it is the caller's own word.
            heard.append((told.value.problem.code, told.value.problem.detail.replace(name, "?")))
        assert heard[0] == heard[1]
        assert heard[0][0] == code, heard
