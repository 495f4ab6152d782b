"""What administrators grant, and what groups give, is what counts: at once, everywhere, and in the audit log."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.servers.site import Person, Site, started_site
from tests.service.refusals import refused
from tests.service.test_consent import differing_files, publish
from tests.service.test_transfers import SLOW_BPS, large_set, until

from headrace.api.errors import ServiceError
from headrace.api.people.issuers import check_bindings, check_link
from headrace.api.people.sql_identities import SqlIdentityStore
from headrace.api.settings import Settings
from headrace.auth import Arrival, AuthError, GroupBinding, Role
from headrace.client import models as m

CORP = "https://login.corp.example"
GROUPS = """
@id("lab-works")
@reason("people of the lab may work")
permit (principal in Group::"lab", action, resource);
@id("stewarded")
@reason("overwriting needs a steward")
@obligation("approval:stewards:1")
forbid (principal, action in [Action::"copy", Action::"sync", Action::"move"], resource)
when { context.overwrites > 0 };
"""


async def updated(
    site: Site, person: Person, *, roles: list[str] | None = None, groups: list[str] | None = None
) -> m.Person:
    return await site.ada.port.update_person(person.principal.id, m.PersonUpdate(roles=roles, groups=groups))


async def again(site: Site, person: Person) -> Person:
    """The person at the next call."""
    return Person(site, await site.use_cases.people.of_session(person.secret), person.secret)


def binding(group: str, *roles: str, groups: tuple[str, ...] = (), issuer: str = CORP) -> m.GroupBinding:
    return m.GroupBinding(issuer=issuer, group=group, roles=list(roles), groups=list(groups))


async def bound(site: Site, *bindings: m.GroupBinding, dry_run: bool = False) -> list[m.RightsChange]:
    if not dry_run:
        return await site.bind(*bindings)
    request = m.GroupBindingsRequest(bindings=list(bindings), dry_run=True)
    return (await site.ada.port.propose_group_bindings(request)).changes


async def arrived(site: Site, subject: str, *groups: str) -> str:
    core = site.service.whole.core
    arrival = Arrival(issuer=CORP, subject=subject, name=f"{subject} (corp)", groups=frozenset(groups))
    person = await SqlIdentityStore(core.database, core.audit, core.reactions).arrive(
        arrival, f"pn_{subject}", core.clock()
    )
    return person.id


@pytest.mark.anyio
async def test_a_granted_group_decides_what_policy_allows_and_who_approves(site: Site) -> None:
    differing_files(site)
    await publish(site, GROUPS)
    lea, stu = await site.person("lea", "requester"), await site.person("stu", "viewer")
    denied = await lea.plan("lab:/set", "archive:/set", on_conflict="overwrite")
    assert denied.state is m.PlanState.DENIED
    assert (await updated(site, lea, groups=["lab"])).groups == ["lab"]
    lea = await again(site, lea)
    plan = await lea.plan("lab:/set", "archive:/set", on_conflict="overwrite")
    assert plan.state is m.PlanState.READY, plan.summary
    with refused("unknown_plan"):
        await stu.approve(plan)
    await updated(site, stu, groups=["stewards"])
    stu = await again(site, stu)
    assert [one.id for one in await stu.port.plans(awaiting_me=True)] == [plan.id]
    await stu.approve(plan)
    ended = await lea.end_of(await lea.submit(plan))
    assert ended.state is m.TransferState.COMPLETE, ended.summary


@pytest.mark.anyio
async def test_a_role_that_is_taken_stops_what_runs_by_it(site: Site) -> None:
    carl = await site.person("carl", "requester")
    large_set(site)
    running = await carl.submit(await carl.plan("lab:/set", "archive:/copy", rate_limit_bps=SLOW_BPS))
    operator = await site.person("otto", "operator")
    site.ada, admin = operator, site.ada
    await until(site, running, "running")
    await admin.port.update_person(carl.principal.id, m.PersonUpdate(roles=["viewer"]))
    ended = await operator.end_of(running)
    assert ended.error is not None
    assert ended.error.code == "denied_by_policy"


@pytest.mark.anyio
async def test_what_groups_would_give_is_shown_before_and_holds_for_everybody_after(quiet_site: Site) -> None:
    site = quiet_site
    assert await bound(site, binding("staff", "requester"), binding("data stewards", groups=("stewards",))) == []
    alice, carol = await arrived(site, "alice", "staff"), await arrived(site, "carol", "staff", "data stewards")
    wider = (binding("staff", "viewer", "requester"), binding("data stewards", "approver", groups=("stewards",)))
    shown = await bound(site, *wider, dry_run=True)
    assert {one.person: (one.roles_before, one.roles) for one in shown} == {
        alice: (["requester"], ["requester", "viewer"]),
        carol: (["requester"], ["approver", "requester", "viewer"]),
    }
    assert {one.id: one.roles for one in await site.ada.port.people()}[alice] == ["requester"]
    assert (await site.ada.port.group_bindings()).proposed is None
    assert await bound(site, *wider) == shown
    people = {one.id: one for one in await site.ada.port.people()}
    assert (people[carol].roles, people[carol].groups) == (["approver", "requester", "viewer"], ["stewards"])
    assert (people[carol].granted_roles, people[carol].identities[0].groups) == ([], ["data stewards", "staff"])
    events = await site.audited("group_bound")
    assert [(one.detail["group"], one.detail["roles"]) for one in events][-2:] == [
        ("data stewards", "approver"),
        ("staff", "requester viewer"),
    ]
    changed = {one.subject: one for one in await site.audited("rights_changed")}
    assert changed[alice].detail["cause"] == "what groups give"
    [*_, published] = await site.audited("groups_published")
    assert changed[alice].person == published.person != site.ada.principal.id
    assert published.detail["author"] == site.ada.principal.id


@pytest.mark.anyio
async def test_what_groups_give_is_proposed_by_one_administrator_and_published_by_another(quiet_site: Site) -> None:
    ada, bea = quiet_site.ada.port, (await quiet_site.person("bea", "admin")).port
    alice = await with_staff(quiet_site)
    chosen = [binding("staff", "viewer")]
    shown = (await ada.propose_group_bindings(m.GroupBindingsRequest(bindings=chosen))).proposed
    assert shown is not None
    assert (shown.author_name, shown.bindings) == ("ada", chosen)
    assert [(one.person, one.roles_before, one.roles) for one in shown.changes] == [(alice, ["requester"], ["viewer"])]
    with refused("not_allowed") as told:
        await ada.publish_group_bindings(shown.id)
    assert "ask bea" in told.value.problem.detail
    assert (await bea.group_bindings()).proposed == shown
    other = (await bea.propose_group_bindings(m.GroupBindingsRequest(bindings=[]))).proposed
    with refused("not_found"):
        await bea.publish_group_bindings(shown.id)
    assert other is not None
    assert (await bea.propose_group_bindings(m.GroupBindingsRequest(bindings=chosen))).proposed is not None
    kept = await bea.group_bindings()
    assert (await bea.propose_group_bindings(m.GroupBindingsRequest(bindings=kept.bindings))).proposed is None
    with refused("not_found"):
        await ada.publish_group_bindings(other.id)
    assert {one.id: one.roles for one in await ada.people()}[alice] == ["requester"]
    assert len(await quiet_site.audited("groups_withdrawn")) == 1
    again = (await ada.propose_group_bindings(m.GroupBindingsRequest(bindings=chosen))).proposed
    assert again is not None
    published = await bea.publish_group_bindings(again.id)
    assert (published.bindings, published.proposed, published.changes) == (chosen, None, shown.changes)
    proposals, publications = await quiet_site.audited("groups_proposed"), await quiet_site.audited("groups_published")
    assert proposals[-1].detail["digest"] == publications[-1].detail["digest"]
    agreed = [one.detail["statement"] for one in await quiet_site.audited("consented")]
    assert publications[-1].detail["digest"] in agreed[-1], "what was agreed to is what was published"


async def with_staff(site: Site) -> str:
    await site.bind(binding("staff", "requester"))
    return await arrived(site, "alice", "staff")


@pytest.mark.anyio
async def test_running_transfers_are_looked_at_when_somebodys_rights_change_and_not_when_a_stranger_knocks(
    quiet_site: Site,
) -> None:
    core, told = quiet_site.service.whole.core, list[str]()
    await bound(quiet_site, binding("lab-staff", "requester"))
    person = await arrived(quiet_site, "cara", "lab-staff")
    core.reactions.listen(lambda: told.append("told"))
    with pytest.raises(AuthError, match="no such provider: this site has none"):
        await quiet_site.use_cases.people.come_back("nobody", "", {}, "203.0.113.9")
    with pytest.raises(AuthError, match="no such provider"):
        await quiet_site.use_cases.people.ask_device("nobody", "", "203.0.113.9")
    assert await arrived(quiet_site, "cara", "lab-staff") == person
    assert told == [], "nothing has changed"
    assert await arrived(quiet_site, "cara") == person
    assert told == ["told"], "she is in no group any more"


@pytest.mark.anyio
async def test_people_are_listed_page_by_page_each_with_their_identities(quiet_site: Site) -> None:
    await bound(quiet_site, binding("lab-staff", "requester"))
    arrivals = [await arrived(quiet_site, name, "lab-staff") for name in ("cara", "dora", "elsa")]
    port, found, after = quiet_site.ada.port, list[m.Person](), None
    while page := await port.people(limit=2, after=after):
        assert len(page) <= 2
        found, after = [*found, *page], page[-1].id
    assert [one.id for one in found] == [one.id for one in await port.people()]
    assert {one.id: [who.subject for who in one.identities] for one in found if one.id in arrivals} == dict(
        zip(arrivals, (["cara"], ["dora"], ["elsa"]), strict=True)
    )
    with refused("invalid_request"):
        await port.people(limit=1001)


@pytest.mark.anyio
async def test_nobody_takes_the_role_of_an_admin_from_themselves(quiet_site: Site) -> None:
    site = quiet_site
    second = await site.person("bob", "admin")
    with refused("not_allowed"):
        await updated(site, site.ada, roles=["requester"])
    assert "admin" in (await updated(site, site.ada, roles=["admin", "auditor"])).roles
    taken = await second.port.update_person(site.ada.principal.id, m.PersonUpdate(roles=["auditor"]))
    assert taken.roles == ["auditor"]


@pytest.mark.anyio
async def test_an_admin_by_a_group_does_not_unbind_or_unlink_it_themselves(quiet_site: Site) -> None:
    site = quiet_site
    await bound(site, binding("root", "admin"))
    them = await arrived(site, "carol", "root")
    carol = Person(site, replace(site.ada.principal, id=them, roles=frozenset({Role.ADMIN}), session_id=None), "")
    proposed = (await site.ada.port.propose_group_bindings(m.GroupBindingsRequest(bindings=[]))).proposed
    assert proposed is not None
    with refused("not_allowed"):
        await carol.port.publish_group_bindings(proposed.id)
    link = m.IdentityLink(issuer=CORP, subject="carol")
    with refused("not_allowed"):
        await carol.port.unlink_identity(carol.principal.id, link)
    with refused("not_allowed"):
        await carol.port.link_identity(site.ada.principal.id, link)


@pytest.mark.anyio
async def test_a_group_is_not_called_like_a_role_and_is_bound_once(quiet_site: Site) -> None:
    bob = await quiet_site.person("bob", "viewer")
    with refused("not_allowed"):
        await updated(quiet_site, bob, groups=["approver"])
    with refused("not_allowed"):
        await bound(quiet_site, binding("staff", groups=("admin",)))
    with refused("not_allowed"):
        await bound(quiet_site, binding("staff", "viewer"), binding("staff", "requester"))
    with refused("invalid_request"):
        await updated(quiet_site, bob, roles=["king"])
    with refused("not_found"):
        await quiet_site.ada.port.update_person("pn_nobody", m.PersonUpdate(roles=["viewer"]))
    assert await bound(quiet_site, binding("staff", "viewer"), binding("staff", "requester", issuer="https://b")) == []


@pytest.mark.anyio
async def test_who_takes_another_persons_name_elsewhere_is_taken_for_nobody_else(quiet_site: Site) -> None:
    core, corp = quiet_site.service.whole.core, "https://corp.example.org"
    store = SqlIdentityStore(core.database, core.audit, core.reactions)
    await quiet_site.bind(m.GroupBinding(issuer=corp, group="staff", roles=["requester"]))
    eve = Arrival(issuer=corp, subject="77", name="eve", groups=frozenset({"staff"}))
    for name in ("eve", "ada", "ada"):
        await store.arrive(replace(eve, name=name), "pn_eve", core.clock())
    [renamed] = await quiet_site.audited("person_renamed")
    assert renamed.subject == "pn_eve"
    assert renamed.detail == {"issuer": corp, "subject": "77", "name_before": "eve", "name": "ada"}
    assert renamed.person_name == f"ada ({corp})", "a name that its owner chose stands with where it is from"
    [accepted, *_] = await quiet_site.audited("invitation_accepted")
    assert accepted.person_name == "ada"
    await store.rename(corp, "77", "Eve")
    assert len(await quiet_site.audited("person_renamed")) == 2


@pytest.mark.anyio
async def test_nothing_is_bound_or_linked_at_an_issuer_that_is_not_here(tmp_path: Path) -> None:
    file = tmp_path / "providers.toml"
    file.write_text(f'[[issuer]]\nid = "corp"\nname = "Corporate"\nurl = "{CORP}"\nclient_id = "headrace"\n')
    async with started_site(tmp_path, Settings(oidc_issuers=str(file))) as site:
        port = site.ada.port
        assert (await port.group_bindings()).issuers == [m.IssuerHere(id="corp", issuer=CORP)]
        with refused("invalid_request") as info:
            await bound(site, binding("staff", "viewer", issuer="corp"))
        assert f"is called `corp`; there is `{CORP}` (corp)" in info.value.problem.detail
        with refused("invalid_request"):
            await bound(site, binding("staff", "viewer", issuer="https://login.corp.exmaple"), dry_run=True)
        with refused("invalid_request"):
            await port.link_identity(site.ada.principal.id, m.IdentityLink(issuer="corp", subject="x"))
        await bound(site, binding("staff", "viewer"))


@pytest.mark.anyio
async def test_what_is_bound_at_a_provider_that_was_taken_out_stays_beside_what_is_proposed(tmp_path: Path) -> None:
    file = tmp_path / "providers.toml"
    async with started_site(tmp_path, Settings(oidc_issuers="")) as site:
        await bound(site, binding("staff", "viewer", issuer="https://gone.example"))
        file.write_text(f'[[issuer]]\nid = "corp"\nname = "Corporate"\nurl = "{CORP}"\nclient_id = "headrace"\n')
        site.settings = replace(site.settings, oidc_issuers=str(file))
        await site.restart()
        kept = (await site.ada.port.group_bindings()).bindings
        proposal = m.GroupBindingsRequest(bindings=[*kept, binding("staff", "requester")])
        assert (await site.ada.port.propose_group_bindings(proposal)).proposed is not None


@pytest.mark.parametrize(("group", "good"), [("S-1-5-21-1-2-3-1104", True), ("xfer-users", False), ("S-1-5", False)])
def test_a_group_of_a_directory_is_bound_by_its_sid(group: str, good: bool) -> None:  # noqa: FBT001 - a table
    here = [m.IssuerHere(id="corp.test", issuer="ad:corp.test")]
    bindings = [GroupBinding(issuer="ad:corp.test", group=group, roles=frozenset(), groups=frozenset({"lab"}))]
    if good:
        check_bindings(bindings, set(), here)
        return
    with pytest.raises(ServiceError, match=r"headrace auth check NAME@corp\.test"):
        check_bindings(bindings, set(), here)


def test_a_person_of_a_directory_is_linked_by_the_object_guid() -> None:
    here = [m.IssuerHere(id="corp.test", issuer="ad:corp.test")]
    check_link(m.IdentityLink(issuer="ad:corp.test", subject="0b6a4f2e-8a4e-4f0e-9d6a-1b7c1f7e2d10"), here)
    with pytest.raises(ServiceError, match="`alice` is not an objectGUID"):
        check_link(m.IdentityLink(issuer="ad:corp.test", subject="alice"), here)
