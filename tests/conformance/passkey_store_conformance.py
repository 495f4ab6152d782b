"""What every `PasskeyStore` does, beside a `PeopleStore` on the same data. Run `CHECKS` against empty stores."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

import pytest
from tests.conformance.people_store_conformance import ADA, GRACE, INVITATION, LATER, NOW, SESSION, session_of

from headrace.auth import MAX_PASSKEYS, Grounds, PasskeyRecord, PasskeyStore, PeopleStore, TooMany

KEY = PasskeyRecord(
    id="a-key", person=ADA.id, name="laptop", public_key=b"\x00cose", sign_count=3, created=NOW, seal="5" * 64
)


@dataclass(frozen=True)
class Stores:
    """Both ports on the same data."""

    people: PeopleStore
    passkeys: PasskeyStore

    async def with_key(self) -> PasskeyStore:
        await self.people.add_person(replace(ADA, state="active"))
        assert await self.passkeys.add_passkey(KEY, "nonce of its making", LATER)
        return self.passkeys


Check = Callable[[Stores], Awaitable[None]]


async def a_passkey_is_found_as_it_was_kept(stores: Stores) -> None:
    store = await stores.with_key()
    assert await store.passkey(KEY.id) == KEY
    assert list(await store.passkeys_of(ADA.id)) == [KEY]
    assert await store.passkey("another") is None
    assert list(await store.passkeys_of(GRACE.id)) == []


async def a_known_passkey_is_nobody_elses(stores: Stores) -> None:
    store = await stores.with_key()
    await stores.people.add_person(replace(GRACE, state="active"))
    assert not await store.add_passkey(replace(KEY, person=GRACE.id), "fresh", LATER)
    assert not await store.add_passkey(replace(KEY, id="b-key"), "nonce of its making", LATER)
    assert await store.passkey(KEY.id) == KEY
    assert await store.passkey("b-key") is None


async def whoever_is_not_active_adds_none(stores: Stores) -> None:
    await stores.people.add_person(replace(ADA, state="disabled"))
    assert not await stores.passkeys.add_passkey(KEY, "nonce", LATER)


async def nobody_has_more_passkeys_than_one_may(stores: Stores) -> None:
    store = await stores.with_key()
    for number in range(MAX_PASSKEYS - 1):
        assert await store.add_passkey(replace(KEY, id=f"key {number}"), f"nonce of key {number}", LATER)
    with pytest.raises(TooMany):
        await store.add_passkey(replace(KEY, id="one more"), "nonce of one more", LATER)
    assert len(await store.passkeys_of(ADA.id)) == MAX_PASSKEYS
    assert await store.use_nonce("nonce of one more", NOW, LATER)


async def a_nonce_is_used_once(stores: Stores) -> None:
    store = await stores.with_key()
    assert await store.use_passkey(KEY.id, 4, "nonce", NOW, LATER) == "good"
    assert await store.use_passkey(KEY.id, 5, "nonce", NOW, LATER) == "replayed"
    assert await store.passkey(KEY.id) == replace(KEY, sign_count=4, last_used=NOW)


async def a_nonce_without_a_passkey_is_used_once_too(stores: Stores) -> None:
    store = await stores.with_key()
    assert await store.use_nonce("nonce", NOW, LATER)
    assert not await store.use_nonce("nonce", NOW, LATER)
    assert await store.use_passkey(KEY.id, 4, "nonce", NOW, LATER) == "replayed"
    assert await store.use_nonce("nonce", LATER, LATER)


async def a_counter_never_stays_or_falls(stores: Stores) -> None:
    store = await stores.with_key()
    for count in (3, 2, 0):
        assert await store.use_passkey(KEY.id, count, f"nonce {count}", NOW, LATER) == "counter"
    assert await store.passkey(KEY.id) == KEY
    assert await store.use_passkey(KEY.id, 4, "nonce 3", NOW, LATER) == "good"


async def a_device_that_does_not_count_is_used_again(stores: Stores) -> None:
    await stores.people.add_person(replace(ADA, state="active"))
    assert await stores.passkeys.add_passkey(replace(KEY, sign_count=0), "nonce of its making", LATER)
    for nonce in ("one", "two"):
        assert await stores.passkeys.use_passkey(KEY.id, 0, nonce, NOW, LATER) == "good"


async def a_passkey_is_removed_as_its_persons(stores: Stores) -> None:
    store = await stores.with_key()
    assert not await store.remove_passkey(GRACE.id, KEY.id)
    assert await store.remove_passkey(ADA.id, KEY.id)
    assert not await store.remove_passkey(ADA.id, KEY.id)
    assert await store.passkey(KEY.id) is None


async def what_a_passkey_began_ends_with_it_and_nothing_begins_without_it(stores: Stores) -> None:
    store, grounds = await stores.with_key(), Grounds(passkey=KEY.id)
    begun, other = replace(SESSION, method="passkey", passkey=KEY.id), replace(SESSION, hash="7" * 64)
    assert await stores.people.add_session(begun, grounds)
    assert await stores.people.add_session(other)
    assert await stores.people.add_factors(other.hash, "passkey", frozenset({"mfa", "passkey", "pop"}), KEY.id)
    assert await store.remove_passkey(ADA.id, KEY.id)
    assert list(await stores.people.sessions_of(ADA.id)) == [other]
    assert not await stores.people.add_session(begun, grounds)


async def a_session_ends_with_the_passkey_that_began_it_whatever_was_shown_in_it_later(stores: Stores) -> None:
    store, other = await stores.with_key(), replace(KEY, id="b-key")
    assert await store.add_passkey(other, "nonce of the other", LATER)
    begun = replace(SESSION, method="passkey", passkey=KEY.id, factors=frozenset({"mfa", "passkey", "pop"}))
    assert await stores.people.add_session(begun, Grounds(passkey=KEY.id))
    assert await stores.people.add_factors(begun.hash, "passkey", begun.factors, other.id)
    assert await store.remove_passkey(ADA.id, other.id)
    assert await session_of(stores.people, begun.hash) == begun
    assert await store.remove_passkey(ADA.id, KEY.id)
    assert await session_of(stores.people, begun.hash) is None


async def a_passkey_that_is_gone_or_anothers_shows_nothing(stores: Stores) -> None:
    store = await stores.with_key()
    await stores.people.add_person(replace(GRACE, state="active"))
    assert await store.add_passkey(replace(KEY, id="b-key", person=GRACE.id), "nonce of the other", LATER)
    assert await stores.people.add_session(SESSION)
    assert await store.remove_passkey(ADA.id, KEY.id)
    for passkey in (KEY.id, "b-key"):
        assert not await stores.people.add_factors(SESSION.hash, "passkey", frozenset({"passkey"}), passkey)
    assert await session_of(stores.people, SESSION.hash) == SESSION


async def who_is_disabled_or_begins_anew_has_none(stores: Stores) -> None:
    store = await stores.with_key()
    await stores.people.renew_invitation(INVITATION)
    assert await stores.people.redeem(INVITATION.hash, ADA.name, "a hash", NOW) is not None
    assert await store.passkey(KEY.id) is None
    assert await store.add_passkey(KEY, "again", LATER)
    await stores.people.disable(ADA.id)
    assert await store.passkey(KEY.id) is None


CHECKS: tuple[Check, ...] = (
    a_passkey_is_found_as_it_was_kept,
    a_known_passkey_is_nobody_elses,
    whoever_is_not_active_adds_none,
    nobody_has_more_passkeys_than_one_may,
    a_nonce_is_used_once,
    a_nonce_without_a_passkey_is_used_once_too,
    a_counter_never_stays_or_falls,
    a_device_that_does_not_count_is_used_again,
    a_passkey_is_removed_as_its_persons,
    what_a_passkey_began_ends_with_it_and_nothing_begins_without_it,
    a_session_ends_with_the_passkey_that_began_it_whatever_was_shown_in_it_later,
    a_passkey_that_is_gone_or_anothers_shows_nothing,
    who_is_disabled_or_begins_anew_has_none,
)
