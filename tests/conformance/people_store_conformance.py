"""What every `PeopleStore` does. Run each of `CHECKS` against an empty store:

@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_the_store_conforms(check: Check, ...) -> None:
    await check(an_empty_store)
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from headrace.auth import (
    MAX_TOKENS_A_PERSON,
    Grounds,
    InvitationRecord,
    NameTaken,
    PeopleStore,
    PersonRecord,
    Role,
    Scope,
    SessionRecord,
    TokenRecord,
    TooMany,
)

NOW = datetime(2026, 11, 25, 20, 30, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)

Check = Callable[[PeopleStore], Awaitable[None]]

ADA = PersonRecord(
    id="pn_ada",
    name="Ada Löwe",
    roles=frozenset({Role.REQUESTER, Role.APPROVER}),
    groups=frozenset({"lab", "stewards"}),
    granted_roles=frozenset({Role.REQUESTER, Role.APPROVER}),
    granted_groups=frozenset({"lab", "stewards"}),
    state="invited",
    created=NOW,
)
GRACE = PersonRecord(
    id="pn_grace",
    name="grace",
    roles=frozenset({Role.ADMIN}),
    granted_roles=frozenset({Role.ADMIN}),
    state="invited",
    created=LATER,
)
INVITATION = InvitationRecord(hash="1" * 64, person=ADA.id, created=NOW, expires=LATER)
SESSION = SessionRecord(
    hash="2" * 64,
    person=ADA.id,
    created=NOW,
    expires=LATER,
    last_used=NOW,
    authenticated=NOW - timedelta(minutes=3),
    method="oidc",
    factors=frozenset({"pwd", "otp"}),
    issuer="https://login.example.org",
    sid="of the provider",
)
TOKEN = TokenRecord(
    id="0123456789abcdef",
    hash="3" * 64,
    person=ADA.id,
    name="pipeline",
    scopes=frozenset({Scope.TRANSFER_READ, Scope.TRANSFER_PLAN}),
    created=NOW,
    expires=LATER,
    agent="assistant",
)
OF_GRACE = (
    replace(SESSION, hash="4" * 64, person=GRACE.id),
    replace(TOKEN, id="fedcba9876543210", person=GRACE.id, agent=None),
)


async def session_of(store: PeopleStore, hash_: str) -> SessionRecord | None:
    """Return the session with that hash, if there is one."""
    found = await store.whose_session(hash_)
    return found[0] if found else None


async def _fill(store: PeopleStore) -> None:
    await store.add_person(ADA, INVITATION)
    await store.add_person(GRACE)


async def _join(store: PeopleStore) -> None:
    """As `_fill`, when both have joined."""
    await store.add_person(replace(ADA, state="active"), INVITATION)
    await store.add_person(replace(GRACE, state="active"))


async def a_person_is_found_by_id_and_by_name_as_it_was_added(store: PeopleStore) -> None:
    await _fill(store)
    assert await store.person(ADA.id) == ADA
    for name in ("Ada Löwe", "ADA LÖWE", "ada lo\u0308we"):
        assert await store.person_named(name) == ADA
    assert await store.person("pn_nobody") is None
    assert await store.person_named("nobody") is None


async def people_are_listed_oldest_first(store: PeopleStore) -> None:
    await _fill(store)
    assert [person.id for person in await store.people()] == [ADA.id, GRACE.id]
    other = replace(GRACE, id="pn_other", name="other")
    await store.add_person(other)
    assert [person.id for person in await store.people(after=ADA.id)] == [GRACE.id, other.id]
    assert [person.id for person in await store.people(after=GRACE.id)] == [other.id]
    assert list(await store.people(after=other.id)) == []
    assert [person.id for person in await store.people(limit=1)] == [ADA.id]
    assert [person.id for person in await store.people(after=ADA.id, limit=1)] == [GRACE.id]


async def a_name_is_taken_once_whatever_its_case(store: PeopleStore) -> None:
    await _fill(store)
    other = replace(GRACE, id="pn_other", name="ADA löwe")
    with pytest.raises(NameTaken):
        await store.add_person(other, replace(INVITATION, hash="5" * 64, person=other.id))
    assert await store.person(other.id) is None
    assert await store.invitation("5" * 64) is None


async def redeeming_an_invitation_makes_its_person_active(store: PeopleStore) -> None:
    await _fill(store)
    assert await store.invitation(INVITATION.hash) == INVITATION
    active = await store.redeem(INVITATION.hash, "Ada", "hash", NOW)
    assert active == replace(ADA, name="Ada", state="active", password_hash="hash")  # noqa: S106 - no password
    assert await store.person(ADA.id) == active
    assert await store.person_named("ada") == active


async def an_invitation_is_redeemed_once(store: PeopleStore) -> None:
    await _fill(store)
    await store.redeem(INVITATION.hash, ADA.name, "first", NOW)
    assert await store.invitation(INVITATION.hash) is None
    assert await store.redeem(INVITATION.hash, ADA.name, "second", NOW) is None
    person = await store.person(ADA.id)
    assert person is not None
    assert person.password_hash == "first"  # noqa: S105 - no password


async def an_invitation_is_not_redeemed_after_its_time_nor_if_it_is_unknown(store: PeopleStore) -> None:
    await _fill(store)
    assert await store.redeem(INVITATION.hash, ADA.name, "hash", LATER) is None
    assert await store.redeem("9" * 64, ADA.name, "hash", NOW) is None
    assert await store.person(ADA.id) == ADA


async def redeeming_under_a_taken_name_changes_nothing(store: PeopleStore) -> None:
    await _fill(store)
    with pytest.raises(NameTaken):
        await store.redeem(INVITATION.hash, "Grace", "hash", NOW)
    assert await store.person(ADA.id) == ADA
    assert await store.invitation(INVITATION.hash) == INVITATION
    assert await store.redeem(INVITATION.hash, "Ada", "hash", NOW) is not None


async def only_an_active_persons_password_is_replaced(store: PeopleStore) -> None:
    await _fill(store)
    assert not await store.set_password_hash(ADA.id, "", "hash")
    assert await store.person(ADA.id) == ADA
    await store.redeem(INVITATION.hash, ADA.name, "first", NOW)
    assert not await store.set_password_hash(ADA.id, "what it was before", "older")
    assert await store.set_password_hash(ADA.id, "first", "second")
    person = await store.person(ADA.id)
    assert person is not None
    assert person.password_hash == "second"  # noqa: S105 - no password


async def a_new_invitation_replaces_the_older_and_lets_who_was_disabled_come_back(store: PeopleStore) -> None:
    await _fill(store)
    again = replace(INVITATION, hash="5" * 64)
    assert await store.renew_invitation(again) == ADA
    assert await store.invitation(INVITATION.hash) is None
    assert await store.redeem(INVITATION.hash, ADA.name, "hash", NOW) is None
    await store.disable(ADA.id)
    assert await store.renew_invitation(again) == ADA
    back = await store.redeem(again.hash, ADA.name, "hash", NOW)
    assert back == replace(ADA, state="active", password_hash="hash")  # noqa: S106 - no password
    assert await store.renew_invitation(replace(INVITATION, person="pn_nobody")) is None


async def a_new_invitation_of_somebody_active_changes_the_password_and_ends_the_sessions_when_redeemed(
    store: PeopleStore,
) -> None:
    await _join(store)
    await store.redeem(INVITATION.hash, ADA.name, "first", NOW)
    await store.add_session(SESSION)
    await store.add_session(OF_GRACE[0])
    person = await store.person(ADA.id)
    assert await store.renew_invitation(INVITATION) == person
    assert await session_of(store, SESSION.hash) == SESSION
    assert person is not None
    assert await store.redeem(INVITATION.hash, ADA.name, "second", NOW) == replace(person, password_hash="second")  # noqa: S106
    assert await session_of(store, SESSION.hash) is None
    assert await session_of(store, OF_GRACE[0].hash) == OF_GRACE[0]


async def another_password_ends_all_sessions_but_one_and_the_invitations(store: PeopleStore) -> None:
    await store.add_person(ADA, INVITATION)
    await store.add_person(replace(GRACE, state="active"))
    assert not await store.replace_password(ADA.id, "first", "hash", keep="")
    assert await store.person(ADA.id) == ADA
    await store.redeem(INVITATION.hash, ADA.name, "first", NOW)
    await store.renew_invitation(INVITATION)
    other = replace(SESSION, hash="5" * 64)
    for session in (SESSION, other, OF_GRACE[0]):
        await store.add_session(session)
    for former, keep in (("another", other.id), ("first", "se_0123456789abcdef")):
        assert not await store.replace_password(ADA.id, former, "second", keep=keep)
    assert await store.replace_password(ADA.id, "first", "second", keep=other.id)
    person = await store.person(ADA.id)
    assert person is not None
    assert person.password_hash == "second"  # noqa: S105 - no password
    assert list(await store.sessions_of(ADA.id)) == [other]
    assert await session_of(store, OF_GRACE[0].hash) == OF_GRACE[0]
    assert await store.invitation(INVITATION.hash) is None


async def nobody_has_more_tokens_than_one_may(store: PeopleStore) -> None:
    await _join(store)
    for number in range(MAX_TOKENS_A_PERSON):
        assert await store.add_token(replace(TOKEN, id=f"{number:016}", hash=f"{number:064}"))
    with pytest.raises(TooMany):
        await store.add_token(TOKEN)
    assert len(await store.tokens_of(ADA.id)) == MAX_TOKENS_A_PERSON
    assert await store.add_token(OF_GRACE[1])


async def the_tokens_of_all_are_listed(store: PeopleStore) -> None:
    await _join(store)
    for token in (TOKEN, OF_GRACE[1]):
        await store.add_token(token)
    assert list(await store.tokens_of_all()) == [TOKEN, OF_GRACE[1]]
    assert list(await store.tokens_of_all(limit=1)) == [TOKEN]
    assert list(await store.tokens_of_all(after=(TOKEN.created, TOKEN.id))) == [OF_GRACE[1]]
    await store.delete_token(TOKEN.id)
    assert list(await store.tokens_of_all(after=(TOKEN.created, TOKEN.id), limit=1)) == [OF_GRACE[1]]
    assert list(await store.tokens_of_all(after=(OF_GRACE[1].created, OF_GRACE[1].id))) == []


async def disabling_a_person_ends_sessions_tokens_and_invitations_of_that_person_alone(store: PeopleStore) -> None:
    await _join(store)
    await store.add_session(SESSION)
    await store.add_token(TOKEN)
    await store.add_session(OF_GRACE[0])
    await store.add_token(OF_GRACE[1])
    disabled = await store.disable(ADA.id)
    assert disabled is not None
    assert (disabled.state, disabled.password_hash) == ("disabled", None)
    assert await store.person(ADA.id) == disabled
    assert await session_of(store, SESSION.hash) is None
    assert await store.token(TOKEN.id) is None
    assert await store.invitation(INVITATION.hash) is None
    assert await session_of(store, OF_GRACE[0].hash) == OF_GRACE[0]
    assert await store.token(OF_GRACE[1].id) == OF_GRACE[1]


async def a_disabled_person_keeps_the_name_and_is_never_invited_back_by_an_old_link(store: PeopleStore) -> None:
    await _fill(store)
    await store.disable(ADA.id)
    assert await store.redeem(INVITATION.hash, ADA.name, "hash", NOW) is None
    with pytest.raises(NameTaken):
        await store.add_person(replace(ADA, id="pn_other"))


async def disabling_nobody_answers_nothing(store: PeopleStore) -> None:
    assert await store.disable("pn_nobody") is None


async def places_of_sign_ins_are_known_again_and_the_longest_unused_are_forgotten(store: PeopleStore) -> None:
    assert not await store.has_place("one", "two")
    for minutes, place in enumerate(("one", "two", "one", "three")):
        await store.keep_place(place, ADA.id, NOW + timedelta(minutes=minutes), of_one=9, of_all=2)
    assert [await store.has_place(place) for place in ("one", "two", "three")] == [True, False, True]
    assert await store.has_place("two", "three"), "either may be how it was hashed"
    assert not await store.has_place()


async def one_persons_places_push_out_that_persons_own_alone(store: PeopleStore) -> None:
    of = {"one": GRACE.id, "two": ADA.id, "three": ADA.id, "four": ADA.id}
    for minutes, (place, person) in enumerate(of.items()):
        await store.keep_place(place, person, NOW + timedelta(minutes=minutes), of_one=2, of_all=9)
    assert [await store.has_place(place) for place in of] == [True, False, True, True]
    await store.keep_place("one", ADA.id, NOW + timedelta(minutes=9), of_one=2, of_all=9)
    assert [await store.has_place(place) for place in of] == [True, False, False, True], "whose it is now"


async def a_session_is_kept_touched_and_deleted(store: PeopleStore) -> None:
    await _join(store)
    await store.add_session(SESSION)
    assert await session_of(store, SESSION.hash) == SESSION
    await store.touch_session(SESSION.hash, LATER)
    assert await session_of(store, SESSION.hash) == replace(SESSION, last_used=LATER)
    assert await store.add_factors(SESSION.hash, "password", frozenset({"pwd", "otp"}), None)
    more = SESSION.factors | {"pwd", "otp"}
    assert await session_of(store, SESSION.hash) == replace(SESSION, last_used=LATER, factors=more)
    await store.delete_session(SESSION.hash)
    await store.delete_session(SESSION.hash)
    assert not await store.add_factors(SESSION.hash, "password", frozenset({"otp"}), None)
    await store.touch_session(SESSION.hash, LATER)
    assert await session_of(store, SESSION.hash) is None


async def a_session_and_a_token_are_found_with_their_person(store: PeopleStore) -> None:
    await _join(store)
    await store.add_session(SESSION)
    await store.add_token(OF_GRACE[1])
    ada, grace = [await store.person(one.id) for one in (ADA, GRACE)]
    assert await store.whose_session(SESSION.hash) == (SESSION, ada)
    assert await store.whose_token(OF_GRACE[1].id) == (OF_GRACE[1], grace)
    assert await store.whose_session(OF_GRACE[0].hash) is None
    assert await store.whose_token(TOKEN.id) is None


async def nothing_is_begun_for_somebody_who_is_not_active_any_more(store: PeopleStore) -> None:
    await _join(store)
    assert await store.add_session(SESSION)
    assert await store.add_token(TOKEN)
    await store.disable(ADA.id)
    assert not await store.add_session(SESSION)
    assert not await store.add_token(TOKEN)
    await store.renew_invitation(INVITATION)
    assert not await store.add_token(TOKEN)
    await store.redeem(INVITATION.hash, ADA.name, "first", NOW)
    assert (await session_of(store, SESSION.hash), await store.token(TOKEN.id)) == (None, None)


async def a_password_that_was_replaced_meanwhile_begins_no_session(store: PeopleStore) -> None:
    await _fill(store)
    await store.redeem(INVITATION.hash, ADA.name, "first", NOW)
    assert await store.replace_password(ADA.id, "first", "second", keep="")
    assert not await store.add_session(SESSION, Grounds(password_hash="first"))  # noqa: S106 - no password
    assert await session_of(store, SESSION.hash) is None
    assert await store.add_session(SESSION, Grounds(password_hash="second"))  # noqa: S106 - no password


async def who_takes_an_account_back_by_a_link_ends_all_that_was_begun_with_it(store: PeopleStore) -> None:
    await _join(store)
    await store.add_session(SESSION)
    await store.add_token(TOKEN)
    await store.renew_invitation(INVITATION)
    theirs = replace(INVITATION, hash="6" * 64, person=GRACE.id, made_by=ADA.id)
    await store.renew_invitation(theirs)
    assert await store.redeem(INVITATION.hash, ADA.name, "second", NOW) is not None
    assert (await session_of(store, SESSION.hash), await store.token(TOKEN.id)) == (None, None)
    assert await store.invitation(theirs.hash) is None


async def links_that_somebody_made_for_others_end_when_they_are_disabled(store: PeopleStore) -> None:
    await _join(store)
    theirs = replace(INVITATION, hash="6" * 64, person=GRACE.id, made_by=ADA.id)
    await store.renew_invitation(theirs)
    assert await store.invitation(theirs.hash) == theirs
    await store.disable(ADA.id)
    assert await store.invitation(theirs.hash) is None


async def sessions_are_listed_newest_first(store: PeopleStore) -> None:
    await _join(store)
    newer = replace(SESSION, hash="5" * 64, created=NOW + timedelta(seconds=1))
    for session in (SESSION, newer, OF_GRACE[0]):
        await store.add_session(session)
    assert list(await store.sessions_of(ADA.id)) == [newer, SESSION]
    assert SESSION.id != newer.id


async def a_providers_session_ends_with_all_that_began_in_it_and_nothing_else(store: PeopleStore) -> None:
    await _join(store)
    assert SESSION.issuer is not None
    elsewhere = replace(SESSION, hash="5" * 64, issuer="https://other.example.org")
    local = replace(SESSION, hash="6" * 64, method="password", issuer=None, sid=None)
    for session in (SESSION, elsewhere, local, OF_GRACE[0]):
        await store.add_session(session)
    assert await store.delete_sessions_at(SESSION.issuer, sid="another", subject=None, now=NOW) == 0
    assert await store.delete_sessions_at(SESSION.issuer, sid=None, subject=None, now=NOW) == 0
    assert await store.delete_sessions_at(SESSION.issuer, sid=SESSION.sid, subject=None, now=NOW) == 2
    assert list(await store.sessions_of(ADA.id)) == [elsewhere, local]
    assert list(await store.sessions_of(GRACE.id)) == []


async def a_token_is_kept_listed_touched_and_deleted(store: PeopleStore) -> None:
    await _join(store)
    await store.add_token(TOKEN)
    await store.add_token(OF_GRACE[1])
    assert await store.token(TOKEN.id) == TOKEN
    assert list(await store.tokens_of(ADA.id)) == [TOKEN]
    await store.touch_token(TOKEN.id, LATER)
    assert await store.token(TOKEN.id) == replace(TOKEN, last_used=LATER)
    await store.delete_token(TOKEN.id)
    await store.delete_token(TOKEN.id)
    await store.touch_token(TOKEN.id, LATER)
    assert await store.token(TOKEN.id) is None
    assert list(await store.tokens_of(ADA.id)) == []


async def who_never_chose_a_name_is_forgotten_with_the_link_and_nobody_else_is(store: PeopleStore) -> None:
    await _fill(store)
    new, old, joined = (replace(ADA, id=one, name=one) for one in ("pn_new", "pn_old", "pn_joined"))
    await store.add_person(new, replace(INVITATION, hash="7" * 64, person=new.id))
    await store.add_person(old)
    await store.disable(old.id)
    await store.add_person(replace(joined, state="active"))
    assert await store.forget_nameless(new.id)
    assert await store.forget_nameless(old.id)
    assert await store.invitation("7" * 64) is None
    for kept in (joined.id, ADA.id, "pn_nobody", new.id):
        assert not await store.forget_nameless(kept), kept
    assert {one.id for one in await store.people()} == {ADA.id, GRACE.id, joined.id}


CHECKS: tuple[Check, ...] = (
    who_never_chose_a_name_is_forgotten_with_the_link_and_nobody_else_is,
    a_person_is_found_by_id_and_by_name_as_it_was_added,
    people_are_listed_oldest_first,
    a_name_is_taken_once_whatever_its_case,
    redeeming_an_invitation_makes_its_person_active,
    an_invitation_is_redeemed_once,
    an_invitation_is_not_redeemed_after_its_time_nor_if_it_is_unknown,
    redeeming_under_a_taken_name_changes_nothing,
    only_an_active_persons_password_is_replaced,
    a_new_invitation_replaces_the_older_and_lets_who_was_disabled_come_back,
    a_new_invitation_of_somebody_active_changes_the_password_and_ends_the_sessions_when_redeemed,
    another_password_ends_all_sessions_but_one_and_the_invitations,
    nobody_has_more_tokens_than_one_may,
    the_tokens_of_all_are_listed,
    disabling_a_person_ends_sessions_tokens_and_invitations_of_that_person_alone,
    a_disabled_person_keeps_the_name_and_is_never_invited_back_by_an_old_link,
    disabling_nobody_answers_nothing,
    places_of_sign_ins_are_known_again_and_the_longest_unused_are_forgotten,
    one_persons_places_push_out_that_persons_own_alone,
    a_session_is_kept_touched_and_deleted,
    a_session_and_a_token_are_found_with_their_person,
    nothing_is_begun_for_somebody_who_is_not_active_any_more,
    a_password_that_was_replaced_meanwhile_begins_no_session,
    who_takes_an_account_back_by_a_link_ends_all_that_was_begun_with_it,
    links_that_somebody_made_for_others_end_when_they_are_disabled,
    sessions_are_listed_newest_first,
    a_providers_session_ends_with_all_that_began_in_it_and_nothing_else,
    a_token_is_kept_listed_touched_and_deleted,
)
