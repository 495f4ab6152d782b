"""What every `IdentityStore` does, beside a `PeopleStore` on the same data. Run `CHECKS` against empty stores."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import pytest
from tests.conformance.people_store_conformance import ADA, GRACE, INVITATION, LATER, NOW, SESSION, TOKEN, session_of

from headrace.auth import (
    SIGNED_OUT_KEPT,
    Arrival,
    Grounds,
    GroupBinding,
    GroupProposal,
    IdentityStore,
    LastAdmin,
    PeopleStore,
    PersonRecord,
    Role,
    StaysOut,
)

CORP, PARTNER = "https://login.corp.example", "https://login.partner.example"
STAFF = GroupBinding(issuer=CORP, group="staff", roles=frozenset({Role.REQUESTER}), groups=frozenset({"lab"}))
STEWARDS = GroupBinding(issuer=CORP, group="data stewards", groups=frozenset({"stewards"}))
ALICE = Arrival(issuer=CORP, subject="alice", name="Alice T (corp)", groups=frozenset({"staff", "data stewards"}))

ADMIN = frozenset({Role.ADMIN})


async def bind(store: IdentityStore, *bindings: GroupBinding) -> None:
    """Let groups give this, as if one administrator had proposed it and another published it."""
    await store.propose(GroupProposal(id="gp_bound", author="pn_nobody", created=NOW, bindings=bindings))
    assert await store.publish("gp_bound")


@dataclass(frozen=True)
class Stores:
    """Both ports on the same data."""

    people: PeopleStore
    identities: IdentityStore

    async def bind(self, *bindings: GroupBinding) -> None:
        await bind(self.identities, *bindings)

    async def arrived(self, arrival: Arrival = ALICE) -> PersonRecord:
        await self.bind(STAFF, STEWARDS)
        return await self.identities.arrive(arrival, "pn_alice", NOW)


Check = Callable[[Stores], Awaitable[None]]


async def who_arrives_with_a_bound_group_is_a_person_with_what_it_gives(stores: Stores) -> None:
    alice = await stores.arrived()
    assert (alice.id, alice.name, alice.state, alice.local) == ("pn_alice", "Alice T (corp)", "active", False)
    assert (set(alice.roles), set(alice.groups)) == ({Role.REQUESTER}, {"lab", "stewards"})
    assert alice.granted_roles == alice.granted_groups == frozenset()
    assert await stores.people.person("pn_alice") == alice
    identity = await stores.identities.identity(CORP, "alice")
    assert identity is not None
    assert (identity.person, identity.groups, identity.created, identity.seen) == (alice.id, ALICE.groups, NOW, NOW)
    assert list(await stores.identities.identities()) == [identity]
    assert list(await stores.identities.identities_of(alice.id)) == [identity]
    assert list(await stores.identities.identities_of("pn_other")) == []
    assert list(await stores.identities.identities_of("pn_other", alice.id)) == [identity]
    assert list(await stores.identities.identities_of()) == []


async def who_arrives_without_a_role_is_not_kept(stores: Stores) -> None:
    nobody = await stores.arrived(replace(ALICE, groups=frozenset({"data stewards", "requester", "admin"})))
    assert nobody.roles == frozenset()
    assert await stores.people.person("pn_alice") is None
    assert list(await stores.identities.identities()) == []


async def the_same_group_of_another_issuer_gives_nothing(stores: Stores) -> None:
    assert (await stores.arrived(replace(ALICE, issuer=PARTNER))).roles == frozenset()


async def who_comes_again_is_the_same_person_with_the_groups_and_the_name_of_now(stores: Stores) -> None:
    await stores.arrived()
    later = replace(ALICE, name="Alice U (corp)", groups=frozenset({"staff"}))
    alice = await stores.identities.arrive(later, "pn_other", LATER)
    assert (alice.id, alice.name, set(alice.groups)) == ("pn_alice", "Alice U (corp)", {"lab"})
    assert await stores.people.person("pn_other") is None
    identity = await stores.identities.identity(CORP, "alice")
    assert identity is not None
    assert (identity.created, identity.seen) == (NOW, LATER)
    gone = await stores.identities.arrive(replace(ALICE, groups=frozenset()), "pn_other", LATER)
    assert (gone.id, gone.roles) == ("pn_alice", frozenset())
    assert await stores.people.person("pn_alice") == gone


async def a_name_from_elsewhere_is_nobodys_alone(stores: Stores) -> None:
    await stores.arrived(replace(ALICE, name=ADA.name))
    twin = await stores.identities.arrive(replace(ALICE, subject="other", name=ADA.name), "pn_twin", NOW)
    assert twin.name == ADA.name
    assert await stores.people.person_named(ADA.name) is None
    await stores.people.add_person(ADA)
    assert await stores.people.person_named(ADA.name) == ADA
    assert await stores.people.person_named("identity:pn_twin") is None


async def another_binding_holds_for_everybody_at_once(stores: Stores) -> None:
    await stores.arrived()
    await stores.people.add_person(GRACE)
    await stores.bind(replace(STAFF, roles=frozenset({Role.VIEWER, Role.AUDITOR})))
    alice = await stores.people.person("pn_alice")
    assert alice is not None
    assert (set(alice.roles), set(alice.groups)) == ({Role.VIEWER, Role.AUDITOR}, {"lab"})
    assert await stores.people.person(GRACE.id) == GRACE
    assert [one.group for one in await stores.identities.bindings()] == ["staff"]


async def what_is_granted_stays_whatever_the_groups_give(stores: Stores) -> None:
    await stores.arrived()
    await stores.identities.grant("pn_alice", frozenset({Role.APPROVER}), frozenset({"guests"}))
    alice = await stores.people.person("pn_alice")
    assert alice is not None
    assert (set(alice.roles), set(alice.groups)) == ({Role.REQUESTER, Role.APPROVER}, {"lab", "stewards", "guests"})
    await stores.bind()
    alice = await stores.people.person("pn_alice")
    assert alice is not None
    assert (set(alice.roles), set(alice.groups)) == ({Role.APPROVER}, {"guests"})
    other = await stores.identities.grant("pn_alice", None, frozenset({"lab"}))
    assert other is not None
    assert (set(other.granted_roles), set(other.granted_groups)) == ({Role.APPROVER}, {"lab"})
    other = await stores.identities.grant("pn_alice", frozenset({Role.VIEWER}), None)
    assert other is not None
    assert (set(other.granted_roles), set(other.granted_groups)) == ({Role.VIEWER}, {"lab"})
    taken = await stores.identities.grant("pn_alice", frozenset(), frozenset())
    assert taken is not None
    assert (set(taken.roles), set(taken.groups)) == (set(), set())
    assert await stores.identities.grant("pn_nobody", frozenset({Role.ADMIN}), frozenset()) is None


async def who_is_disabled_stays_out_until_enabled_and_comes_back_with_what_counts_now(stores: Stores) -> None:
    await stores.arrived()
    await stores.people.add_session(replace(SESSION, person="pn_alice"))
    await stores.people.disable("pn_alice")
    assert (await stores.identities.arrive(ALICE, "pn_other", LATER)).state == "disabled"
    back = await stores.identities.enable("pn_alice")
    assert back is not None
    assert (back.state, set(back.roles)) == ("active", {Role.REQUESTER})
    assert await stores.people.person("pn_alice") == back
    assert await session_of(stores.people, SESSION.hash) is None
    assert await stores.identities.enable("pn_alice") == back
    assert await stores.identities.enable("pn_nobody") is None
    await stores.people.disable("pn_alice")
    await stores.identities.renew(CORP, "alice", None, LATER)
    away = await stores.identities.enable("pn_alice")
    assert away is not None
    assert away.state == "suspended"


async def nobody_disabled_loses_the_identity_by_which_they_stay_out(stores: Stores) -> None:
    await stores.arrived()
    await stores.people.add_person(replace(ADA, state="active"))
    await stores.people.disable("pn_alice")
    with pytest.raises(StaysOut):
        await stores.identities.unlink(CORP, "alice")
    with pytest.raises(StaysOut):
        await stores.identities.link(ADA.id, CORP, "alice", LATER)
    assert (await stores.identities.arrive(ALICE, "pn_other", LATER)).id == "pn_alice"
    assert await stores.identities.link("pn_alice", CORP, "alice", LATER) is not None


async def no_group_makes_a_service_account_what_only_people_are(stores: Stores) -> None:
    await stores.arrived()
    await stores.bind(replace(STAFF, roles=frozenset({Role.APPROVER, Role.POLICY_ADMIN, Role.VIEWER})))
    robot = PersonRecord(id="pn_robot", name="nightly", roles=frozenset(), state="active", created=NOW, kind="service")
    await stores.people.add_person(robot)
    linked = await stores.identities.link("pn_robot", CORP, "alice", NOW)
    assert linked is not None
    assert linked.roles == {Role.VIEWER}
    assert linked.groups == STAFF.groups


async def a_linked_identity_gives_its_groups_to_its_new_person_alone(stores: Stores) -> None:
    await stores.arrived()
    await stores.people.add_person(ADA)
    await stores.people.add_session(replace(SESSION, person="pn_alice"))
    linked = await stores.identities.link(ADA.id, CORP, "alice", LATER)
    assert linked is not None
    assert linked.roles == {Role.REQUESTER, Role.APPROVER}
    assert linked.groups == {"lab", "stewards"}
    former = await stores.people.person("pn_alice")
    assert former is not None
    assert (set(former.roles), set(former.groups)) == (set(), set())
    assert list(await stores.people.sessions_of("pn_alice")) == []
    arrived = await stores.identities.arrive(ALICE, "pn_other", LATER)
    assert (arrived.id, arrived.name) == (ADA.id, ADA.name)
    assert await stores.identities.link("pn_nobody", CORP, "alice", LATER) is None


async def an_identity_can_be_linked_before_its_first_sign_in(stores: Stores) -> None:
    await stores.people.add_person(ADA)
    assert await stores.identities.link(ADA.id, CORP, "alice", NOW) == ADA
    identity = await stores.identities.identity(CORP, "alice")
    assert identity is not None
    assert (identity.person, identity.seen) == (ADA.id, None)
    assert (await stores.identities.arrive(ALICE, "pn_other", LATER)).id == ADA.id


async def an_identity_that_is_taken_away_gives_nothing_and_ends_the_sessions(stores: Stores) -> None:
    await stores.arrived()
    await stores.people.add_session(replace(SESSION, person="pn_alice"))
    former = await stores.identities.unlink(CORP, "alice")
    assert former is not None
    assert (former.id, set(former.roles), set(former.groups)) == ("pn_alice", set(), set())
    assert list(await stores.people.sessions_of("pn_alice")) == []
    assert await stores.identities.unlink(CORP, "alice") is None


async def who_arrived_begins_nothing_with_an_identity_that_is_theirs_no_longer(stores: Stores) -> None:
    alice, grounds = await stores.arrived(), Grounds(identity=(CORP, "alice"))
    session = replace(SESSION, person=alice.id, expires=NOW + timedelta(days=1))
    assert await stores.people.add_session(session, grounds)
    await stores.people.delete_session(session.hash)
    await stores.people.add_person(replace(ADA, state="active"))
    assert await stores.identities.link(ADA.id, CORP, "alice", NOW) is not None
    assert not await stores.people.add_session(session, grounds)
    assert await stores.identities.unlink(CORP, "alice") is not None
    assert not await stores.people.add_session(session, grounds)


async def who_is_gone_elsewhere_stays_suspended_when_they_take_a_link(stores: Stores) -> None:
    await stores.people.add_person(ADA, INVITATION)
    await stores.identities.link(ADA.id, CORP, "alice", NOW)
    await stores.identities.renew(CORP, "alice", None, LATER)
    redeemed = await stores.people.redeem(INVITATION.hash, ADA.name, "first", NOW)
    assert redeemed is not None
    assert redeemed.state == "suspended"


async def who_administrates_no_more_has_handed_out_nothing(stores: Stores) -> None:
    for person in (replace(ADA, state="active", roles=ADMIN, granted_roles=ADMIN), replace(GRACE, state="active")):
        await stores.people.add_person(person)
    theirs = replace(INVITATION, person=GRACE.id, made_by=ADA.id)
    await stores.people.renew_invitation(theirs)
    proposed = GroupProposal(id="gp_ada", author=ADA.id, author_name=ADA.name, created=NOW, bindings=(STAFF,))
    await stores.identities.propose(proposed)
    await stores.identities.grant(ADA.id, ADMIN | {Role.VIEWER}, None)
    assert await stores.people.invitation(theirs.hash) == theirs
    assert (await stores.identities.proposal()) is not None
    await stores.identities.grant(ADA.id, frozenset({Role.OPERATOR}), None)
    assert await stores.people.invitation(theirs.hash) is None
    assert await stores.people.redeem(theirs.hash, GRACE.name, "hash", NOW) is None
    assert (await stores.identities.proposal()) is None
    await stores.identities.grant(ADA.id, ADMIN, None)
    assert await stores.people.invitation(theirs.hash) is None


async def a_providers_word_about_a_subject_ends_what_that_subject_began_there(stores: Stores) -> None:
    await stores.arrived()
    began = replace(SESSION, person="pn_alice", issuer=CORP, sid=None)
    local = replace(SESSION, hash="6" * 64, person="pn_alice", method="password", issuer=None, sid=None)
    for session in (began, local):
        await stores.people.add_session(replace(session, expires=NOW + timedelta(days=1)))
    assert await stores.people.delete_sessions_at(CORP, sid=None, subject="bob", now=NOW) == 0
    assert await stores.people.delete_sessions_at(PARTNER, sid=None, subject="alice", now=NOW) == 0
    assert await stores.people.delete_sessions_at(CORP, sid=None, subject="alice", now=NOW) == 1
    assert [one.hash for one in await stores.people.sessions_of("pn_alice")] == [local.hash]


async def who_signed_out_there_meanwhile_begins_nothing_with_a_sign_in_of_before(stores: Stores) -> None:
    await stores.arrived()
    session = replace(SESSION, person="pn_alice", issuer=CORP, sid="s1", expires=NOW + timedelta(days=1))
    at, later = NOW + timedelta(minutes=1), NOW + timedelta(minutes=1, milliseconds=1)

    async def begins(sid: str | None, begun: datetime | None) -> bool:
        grounds = Grounds(identity=(CORP, "alice"), begun=begun)
        kept = await stores.people.add_session(replace(session, sid=sid), grounds)
        await stores.people.delete_session(session.hash)
        return kept

    await stores.people.delete_sessions_at(PARTNER, sid="s1", subject="alice", now=at)
    assert await begins("s1", NOW), "another issuer's"
    await stores.people.delete_sessions_at(CORP, sid="s1", subject=None, now=NOW)
    await stores.people.delete_sessions_at(CORP, sid="s1", subject=None, now=at)
    assert [await begins("s1", begun) for begun in (NOW, at, later, None)] == [False, False, True, True]
    assert [await begins(sid, NOW) for sid in ("s2", "alice", None)] == [True] * 3, "others"
    await stores.people.delete_sessions_at(CORP, sid=None, subject="alice", now=at)
    assert [await begins(sid, NOW) for sid in ("s1", "s2", None)] == [False] * 3
    assert await begins("s1", later)
    after = at + SIGNED_OUT_KEPT
    await stores.people.delete_sessions_at(CORP, sid="another", subject=None, now=after - timedelta(milliseconds=1))
    assert not await begins("s2", NOW), "it is kept for as long"
    await stores.people.delete_sessions_at(CORP, sid="another", subject=None, now=after)
    assert await begins("s2", NOW), "and no longer"


async def who_is_gone_elsewhere_is_suspended_until_they_are_back(stores: Stores) -> None:
    alice = await stores.arrived()
    await stores.people.add_session(replace(SESSION, person=alice.id, expires=NOW + timedelta(days=1)))
    await stores.people.add_token(replace(TOKEN, person=alice.id))
    await stores.identities.renew(CORP, "alice", None, LATER)
    suspended = await stores.people.person(alice.id)
    assert suspended is not None
    assert (suspended.state, suspended.roles) == ("suspended", alice.roles)
    assert (list(await stores.people.sessions_of(alice.id)), list(await stores.people.tokens_of(alice.id))) == ([], [])
    assert [one.gone for one in await stores.identities.identities()] == [LATER]
    await stores.identities.renew(CORP, "alice", ALICE.groups, LATER)
    assert await stores.people.person(alice.id) == alice
    assert [one.gone for one in await stores.identities.identities()] == [None]


async def who_is_renamed_elsewhere_has_the_new_name_here_unless_it_is_a_name_of_this_service(stores: Stores) -> None:
    alice = await stores.arrived()
    await stores.identities.rename(CORP, "alice", "alicia@corp.test")
    assert await stores.people.person(alice.id) == replace(alice, name="alicia@corp.test")
    assert [one.name for one in await stores.identities.identities()] == ["alicia@corp.test"]
    await stores.people.add_person(ADA)
    await stores.identities.link(ADA.id, PARTNER, "ada", NOW)
    await stores.identities.rename(PARTNER, "ada", "somebody")
    await stores.identities.rename(CORP, "nobody", "somebody")
    ada = await stores.people.person(ADA.id)
    assert ada is not None
    assert ada.name == ADA.name


async def who_signs_in_elsewhere_again_is_back(stores: Stores) -> None:
    alice = await stores.arrived()
    await stores.identities.renew(CORP, "alice", None, LATER)
    assert await stores.identities.arrive(ALICE, "pn_other", LATER) == alice


async def a_grant_that_counts_no_more_suspends_its_person_once(stores: Stores) -> None:
    alice = await stores.arrived(replace(ALICE, grant="one"))
    await stores.people.add_token(replace(TOKEN, person=alice.id))
    await stores.identities.keep_grant(CORP, "alice", "another", "stolen")
    await stores.identities.keep_grant(CORP, "alice", "one", "two")
    assert not await stores.identities.lapse(CORP, "alice", "one", LATER)
    assert not await stores.identities.lapse(CORP, "nobody", "two", LATER)
    assert await stores.people.person(alice.id) == alice
    assert await stores.identities.lapse(CORP, "alice", "two", LATER)
    suspended = await stores.people.person(alice.id)
    assert suspended is not None
    assert (suspended.state, list(await stores.people.tokens_of(alice.id))) == ("suspended", [])
    [identity] = await stores.identities.identities()
    assert (identity.gone, identity.grant) == (LATER, None)
    assert await stores.identities.arrive(replace(ALICE, grant="three"), "pn_other", LATER) == alice
    [identity] = await stores.identities.identities()
    assert (identity.gone, identity.grant) == (None, "three")


async def what_a_sign_in_of_before_says_changes_nothing(stores: Stores) -> None:
    alice = await stores.arrived(replace(ALICE, grant="one"))
    assert not await stores.identities.renew(CORP, "alice", frozenset(), LATER, grant="another")
    assert not await stores.identities.renew(CORP, "nobody", frozenset(), LATER, grant="one")
    assert await stores.people.person(alice.id) == alice
    assert await stores.identities.renew(CORP, "alice", frozenset(), LATER, grant="one")
    left = await stores.people.person(alice.id)
    assert left is not None
    assert not left.roles


async def one_identity_that_is_gone_suspends_whoever_has_it_until_it_is_taken_away(stores: Stores) -> None:
    alice = await stores.arrived()
    await stores.identities.link(alice.id, PARTNER, "al", NOW)
    await stores.identities.renew(PARTNER, "al", None, LATER)
    assert (await stores.identities.arrive(ALICE, "pn_other", LATER)).state == "suspended"
    left = await stores.identities.unlink(PARTNER, "al")
    assert left is not None
    assert left.state == "active"


async def who_loses_the_last_role_loses_sessions_and_tokens(stores: Stores) -> None:
    alice = await stores.arrived()
    await stores.people.add_session(replace(SESSION, person=alice.id, expires=NOW + timedelta(days=1)))
    await stores.people.add_token(replace(TOKEN, person=alice.id))
    await stores.identities.renew(CORP, "alice", frozenset({"staff"}), LATER)
    assert len(await stores.people.tokens_of(alice.id)) == 1
    await stores.identities.renew(CORP, "alice", frozenset({"data stewards"}), LATER)
    assert (list(await stores.people.sessions_of(alice.id)), list(await stores.people.tokens_of(alice.id))) == ([], [])
    await stores.identities.renew(CORP, "nobody", None, LATER)


async def who_is_disabled_here_stays_that_whatever_is_said_elsewhere(stores: Stores) -> None:
    alice = await stores.arrived()
    await stores.people.disable(alice.id)
    for groups in (None, ALICE.groups):
        await stores.identities.renew(CORP, "alice", groups, LATER)
        person = await stores.people.person(alice.id)
        assert person is not None
        assert person.state == "disabled"


async def the_last_administrator_is_not_taken_away_but_by_the_issuer(stores: Stores) -> None:
    people, identities = stores.people, stores.identities
    chiefs = GroupBinding(issuer=CORP, group="staff", roles=frozenset({Role.ADMIN}))
    await stores.bind(chiefs)
    alice = await identities.arrive(ALICE, "pn_alice", NOW)
    await people.add_person(replace(GRACE, state="invited"))
    await people.add_person(replace(ADA, state="active"))
    for change in (
        people.disable(alice.id),
        stores.bind(STAFF),
        identities.unlink(CORP, "alice"),
        identities.link(ADA.id, CORP, "alice", LATER),
    ):
        with pytest.raises(LastAdmin):
            await change
    assert await people.person(alice.id) == alice
    assert list(await identities.bindings()) == [chiefs]
    await identities.grant(ADA.id, frozenset({Role.ADMIN}), None)
    await people.disable(alice.id)
    with pytest.raises(LastAdmin):
        await identities.grant(ADA.id, frozenset({Role.VIEWER}), None)
    ada = await people.person(ADA.id)
    assert ada is not None
    assert ada.roles == {Role.ADMIN}
    await identities.link(ADA.id, CORP, "ada", NOW)
    await identities.renew(CORP, "ada", None, LATER)
    left = await people.person(ADA.id)
    assert left is not None
    assert left.state == "suspended"


async def one_thing_is_proposed_at_a_time_and_is_published_once(stores: Stores) -> None:
    identities = stores.identities
    await stores.people.add_person(ADA)
    assert await identities.proposal() is None
    first = GroupProposal(id="gp_1", author=ADA.id, created=NOW, bindings=(STAFF,))
    second = replace(first, id="gp_2", bindings=(STEWARDS, STAFF))
    await identities.propose(first)
    assert await identities.proposal() == replace(first, author_name=ADA.name)
    await identities.propose(second)
    assert not await identities.publish("gp_1")
    assert list(await identities.bindings()) == []
    assert await identities.publish("gp_2")
    assert list(await identities.bindings()) == [STEWARDS, STAFF]
    assert await identities.proposal() is None
    assert not await identities.publish("gp_2")
    await identities.propose(first)
    await identities.propose(None)
    assert await identities.proposal() is None


async def identities_are_listed_by_issuer_and_subject_from_any_of_them_on(stores: Stores) -> None:
    await stores.people.add_person(ADA)
    keys = [(CORP, "alice"), (CORP, "bob"), (PARTNER, "adam")]
    for issuer, subject in reversed(keys):
        await stores.identities.link(ADA.id, issuer, subject, NOW)
    for after in (None, *keys):
        found = await stores.identities.identities(after=after)
        assert [(one.issuer, one.subject) for one in found] == keys[0 if after is None else keys.index(after) + 1 :]


CHECKS: tuple[Check, ...] = (
    who_administrates_no_more_has_handed_out_nothing,
    identities_are_listed_by_issuer_and_subject_from_any_of_them_on,
    one_thing_is_proposed_at_a_time_and_is_published_once,
    the_last_administrator_is_not_taken_away_but_by_the_issuer,
    who_is_disabled_stays_out_until_enabled_and_comes_back_with_what_counts_now,
    nobody_disabled_loses_the_identity_by_which_they_stay_out,
    no_group_makes_a_service_account_what_only_people_are,
    who_signed_out_there_meanwhile_begins_nothing_with_a_sign_in_of_before,
    who_is_gone_elsewhere_is_suspended_until_they_are_back,
    who_is_renamed_elsewhere_has_the_new_name_here_unless_it_is_a_name_of_this_service,
    who_signs_in_elsewhere_again_is_back,
    one_identity_that_is_gone_suspends_whoever_has_it_until_it_is_taken_away,
    who_loses_the_last_role_loses_sessions_and_tokens,
    who_is_disabled_here_stays_that_whatever_is_said_elsewhere,
    who_arrives_with_a_bound_group_is_a_person_with_what_it_gives,
    who_arrives_without_a_role_is_not_kept,
    the_same_group_of_another_issuer_gives_nothing,
    who_comes_again_is_the_same_person_with_the_groups_and_the_name_of_now,
    a_name_from_elsewhere_is_nobodys_alone,
    another_binding_holds_for_everybody_at_once,
    what_is_granted_stays_whatever_the_groups_give,
    a_linked_identity_gives_its_groups_to_its_new_person_alone,
    an_identity_can_be_linked_before_its_first_sign_in,
    an_identity_that_is_taken_away_gives_nothing_and_ends_the_sessions,
    who_arrived_begins_nothing_with_an_identity_that_is_theirs_no_longer,
    who_is_gone_elsewhere_stays_suspended_when_they_take_a_link,
    a_providers_word_about_a_subject_ends_what_that_subject_began_there,
    a_grant_that_counts_no_more_suspends_its_person_once,
    what_a_sign_in_of_before_says_changes_nothing,
)
