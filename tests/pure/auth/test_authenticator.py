import asyncio
import zlib
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from typing import Final

import pytest
from argon2 import PasswordHasher

from headrace.auth import (
    BOOTSTRAP_ROLES,
    BY_PASSWORD,
    TOKEN_SCOPES,
    AuthCode,
    Authenticator,
    AuthError,
    Grounds,
    Lifetimes,
    MemoryPeopleStore,
    Pepper,
    PersonRecord,
    Role,
    Scope,
    SessionRecord,
    SignedIn,
    TokenWish,
    TooManyAttempts,
    passwords,
    scopes_of,
)
from headrace.auth.errors import no_role
from headrace.auth.password_sign_in import KNOWN_LIMIT, NETWORK_LIMIT, PAIR_LIMIT, PERSON_LIMIT
from headrace.auth.secret_forms import make_token, token_id
from headrace.auth.throttle import Throttle

pytestmark = pytest.mark.anyio

PASSWORD: Final = "correct horse battery"  # noqa: S105 - of nobody
DAY = timedelta(days=1)
WISH = TokenWish(name="pipeline", scopes=frozenset({Scope.TRANSFER_READ, Scope.TRANSFER_PLAN}), valid=DAY)


class House:
    """An authenticator with its store, and a clock that tests turn."""

    def __init__(self) -> None:
        self.now = datetime(2026, 11, 25, 20, 30, tzinfo=UTC)
        self.open(MemoryPeopleStore())

    def open(self, store: MemoryPeopleStore) -> None:
        self.store = store
        self.door = Authenticator(store, store, store, lambda: self.now, Pepper(b"p" * 32))

    async def first_admin(self) -> SignedIn:
        secret = await self.door.accounts.bootstrap()
        assert secret is not None
        return await self.door.passwords.accept_invitation(secret, PASSWORD, "Ada", "10.0.0.1")

    async def join(self, admin: SignedIn, name: str, *roles: Role) -> SignedIn:
        _, secret = await self.door.accounts.invite(admin.principal, name, frozenset(roles), DAY)
        return await self.door.passwords.accept_invitation(secret, PASSWORD, None, "10.0.0.2")

    async def token(self, of: SignedIn, wish: TokenWish = WISH) -> str:
        _, secret = await self.door.tokens.make(of.principal, wish)
        return secret


class BusyStore(MemoryPeopleStore):
    """A store in which others come in between what is read and what is written."""

    async def person(self, person: str) -> PersonRecord | None:
        found = await super().person(person)
        await asyncio.sleep(0)
        return found


class FullStore(MemoryPeopleStore):
    """A store that can only be read."""

    def __init__(self, before: MemoryPeopleStore) -> None:
        vars(self).update(vars(before))

    async def touch_session(self, hash: str, now: datetime) -> None:  # noqa: A002 - the port's name
        raise OSError(hash, now)

    async def touch_token(self, token: str, now: datetime) -> None:
        raise OSError(token, now)

    async def delete_session(self, hash: str) -> None:  # noqa: A002 - the port's name
        raise OSError(hash)


@pytest.fixture
def house(monkeypatch: pytest.MonkeyPatch) -> House:
    # The same hash at the lowest cost: these tests sign in some hundred times.
    cheap = PasswordHasher(time_cost=2, memory_cost=8, parallelism=1)
    monkeypatch.setattr(passwords, "_hasher", cheap)
    monkeypatch.setattr(passwords, "_NOBODY", cheap.hash("nobody has this password"))
    return House()


class refused:  # noqa: N801 - reads as words in a with statement
    """Expects an `AuthError` with this code."""

    def __init__(self, code: AuthCode) -> None:
        self._expected = pytest.raises(AuthError)
        self._code = code

    def __enter__(self) -> None:
        self._error = self._expected.__enter__()

    def __exit__(self, *of: object) -> bool:
        caught = self._expected.__exit__(*of)  # type: ignore[arg-type]  # passed on as it came
        assert self._error.value.code == self._code
        return caught


async def test_the_bootstrap_link_makes_the_first_admin_once(house: House) -> None:
    secret = await house.door.accounts.bootstrap()
    assert secret is not None
    first = await house.door.passwords.accept_invitation(secret, PASSWORD, "Ada", "10.0.0.1")
    assert first.principal.roles == BOOTSTRAP_ROLES
    assert first.principal.session
    with refused(AuthCode.INVITATION_REFUSED):
        await house.door.passwords.accept_invitation(secret, PASSWORD, "Eve", "10.0.0.1")
    assert await house.door.accounts.bootstrap() is None


async def test_an_older_bootstrap_link_dies_with_the_next_one(house: House) -> None:
    old = await house.door.accounts.bootstrap()
    new = await house.door.accounts.bootstrap()
    assert old is not None
    assert new is not None
    with refused(AuthCode.INVITATION_REFUSED):
        await house.door.passwords.accept_invitation(old, PASSWORD, "Eve", "10.0.0.1")
    ada = await house.door.passwords.accept_invitation(new, PASSWORD, "Ada", "10.0.0.1")
    assert [one.name for one in await house.door.accounts.people(ada.principal)] == ["Ada"]


async def test_a_link_that_recovers_is_made_on_demand_and_dies_with_the_next_start(house: House) -> None:
    await house.first_admin()
    assert await house.door.accounts.bootstrap() is None
    lost = await house.door.accounts.bootstrap(recover=True)
    assert lost is not None
    assert await house.door.accounts.bootstrap() is None
    with refused(AuthCode.INVITATION_REFUSED):
        await house.door.passwords.accept_invitation(lost, PASSWORD, "Owner", "10.0.0.1")
    secret = await house.door.accounts.bootstrap(recover=True)
    assert secret is not None
    owner = await house.door.passwords.accept_invitation(secret, PASSWORD, "Owner", "10.0.0.1")
    assert owner.principal.roles == BOOTSTRAP_ROLES
    assert {one.name for one in await house.door.accounts.people(owner.principal)} == {"Ada", "Owner"}


async def test_the_bootstrap_link_needs_a_name(house: House) -> None:
    secret = await house.door.accounts.bootstrap()
    assert secret is not None
    with refused(AuthCode.NAME_REFUSED):
        await house.door.passwords.accept_invitation(secret, PASSWORD, None, "10.0.0.1")
    with refused(AuthCode.PASSWORD_REFUSED):
        await house.door.passwords.accept_invitation(secret, "short", "Ada", "10.0.0.1")
    assert (await house.door.passwords.accept_invitation(secret, PASSWORD, "Ada", "10.0.0.1")).principal.name == "Ada"


async def test_who_holds_a_link_hears_whom_it_invites_and_the_link_stays_good(house: House) -> None:
    first = await house.door.accounts.bootstrap()
    assert first is not None
    assert await house.door.passwords.invited(first, "10.0.0.1") is None
    admin = await house.door.passwords.accept_invitation(first, PASSWORD, "Ada", "10.0.0.1")
    _, secret = await house.door.accounts.invite(admin.principal, "Grace", frozenset({Role.VIEWER}), DAY)
    assert [await house.door.passwords.invited(secret, "10.0.0.1") for _ in range(30)] == ["Grace"] * 30
    await house.door.passwords.accept_invitation(secret, PASSWORD, None, "10.0.0.1")
    for spent in (first, secret, "made up"):
        with refused(AuthCode.INVITATION_REFUSED):
            await house.door.passwords.invited(spent, "10.0.0.1")


def test_of_whom_no_group_gives_a_role_the_log_says_which_groups_came_and_the_person_hears_none() -> None:
    error = no_role("https://corp", "5f1c", {f"group {number:02}\n" for number in range(30)})
    assert error.reason.startswith(
        "https://corp: no group of '5f1c' gives a role here; groups that came: 'group 00\\n', "
    )
    assert error.reason.endswith(" and 10 more")
    assert "group" not in str(error.args[0]).replace("one of your groups", "")


async def test_an_invited_person_joins_with_the_name_and_roles_of_the_invitation(house: House) -> None:
    admin = await house.first_admin()
    record, secret = await house.door.accounts.invite(admin.principal, "Grace", frozenset({Role.APPROVER}), DAY)
    assert (record.state, record.name) == ("invited", "Grace")
    with refused(AuthCode.SIGN_IN_REFUSED):
        await house.door.passwords.sign_in("Grace", PASSWORD, "10.0.0.1")
    joined = await house.door.passwords.accept_invitation(secret, PASSWORD, "Somebody Else", "10.0.0.1")
    assert (joined.principal.name, joined.principal.roles) == ("Grace", frozenset({Role.APPROVER}))
    assert joined.principal.scopes == scopes_of([Role.APPROVER])


async def test_an_invitation_is_good_for_its_time_only(house: House) -> None:
    admin = await house.first_admin()
    _, secret = await house.door.accounts.invite(admin.principal, "Grace", frozenset({Role.VIEWER}), DAY)
    house.now += DAY
    with refused(AuthCode.INVITATION_REFUSED):
        await house.door.passwords.accept_invitation(secret, PASSWORD, None, "10.0.0.1")


async def test_of_two_at_once_one_accepts_an_invitation(house: House) -> None:
    admin = await house.first_admin()
    _, secret = await house.door.accounts.invite(admin.principal, "Grace", frozenset({Role.VIEWER}), DAY)
    outcomes = await asyncio.gather(
        *(house.door.passwords.accept_invitation(secret, PASSWORD, None, f"10.0.0.{n}") for n in range(3)),
        return_exceptions=True,
    )
    assert sum(isinstance(outcome, SignedIn) for outcome in outcomes) == 1


async def test_only_an_admins_own_session_invites_disables_and_lists_people(house: House) -> None:
    admin = await house.first_admin()
    grace = await house.join(admin, "Grace", Role.REQUESTER, Role.OPERATOR, Role.POLICY_ADMIN)
    with_token = await house.door.tokens.principal(await house.token(admin))
    claimed = replace(with_token, scopes=frozenset(Scope))
    for by in (grace.principal, with_token, claimed):
        with refused(AuthCode.NOT_ALLOWED):
            await house.door.accounts.invite(by, "Eve", frozenset({Role.ADMIN}), DAY)
        with refused(AuthCode.NOT_ALLOWED):
            await house.door.accounts.disable(by, admin.principal.id)
    with refused(AuthCode.NOT_ALLOWED):
        await house.door.accounts.people(grace.principal)
    assert {person.name for person in await house.door.accounts.people(admin.principal)} == {"Ada", "Grace"}


async def test_a_name_is_given_once(house: House) -> None:
    admin = await house.first_admin()
    with refused(AuthCode.NAME_REFUSED):
        await house.door.accounts.invite(admin.principal, "ADA", frozenset({Role.VIEWER}), DAY)
    with refused(AuthCode.NOT_ALLOWED):
        await house.door.accounts.invite(admin.principal, "Grace", frozenset(), DAY)


async def test_signing_in_with_name_and_password_begins_a_session(house: House) -> None:
    admin = await house.first_admin()
    signed_in = await house.door.passwords.sign_in("ada", PASSWORD, "10.0.0.9")
    assert signed_in.principal.id == admin.principal.id
    assert await house.door.sessions.principal(signed_in.secret) == signed_in.principal
    assert signed_in.principal.method == "password"
    assert signed_in.expires == house.now + Lifetimes().session


async def test_people_hear_one_message_and_the_log_hears_why(house: House) -> None:
    admin = await house.first_admin()
    grace = await house.join(admin, "Grace", Role.VIEWER)
    await house.door.accounts.disable(admin.principal, grace.principal.id)
    errors = []
    for name, password in (("nobody", PASSWORD), ("Ada", "wrong password"), ("Grace", PASSWORD)):
        with pytest.raises(AuthError) as error:
            await house.door.passwords.sign_in(name, password, "10.0.0.1")
        errors.append(error.value)
    assert len({str(error) for error in errors}) == 1
    assert [error.code for error in errors] == ["sign_in_refused"] * 3
    assert [error.reason.split()[0] for error in errors] == ["unknown", "wrong", "person"]
    assert not any(PASSWORD in error.reason or error.reason == "wrong password" for error in errors)


async def test_guessing_is_throttled_even_in_parallel_and_even_with_the_right_password_then(house: House) -> None:
    await house.first_admin()
    guesses = [house.door.passwords.sign_in("Ada", f"guess number {n}", "10.0.0.3") for n in range(12)]
    outcomes = await asyncio.gather(*guesses, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [AuthError] * 10 + [TooManyAttempts] * 2
    with pytest.raises(TooManyAttempts) as throttled:
        await house.door.passwords.sign_in("Ada", PASSWORD, "10.0.0.3")
    assert 0 < throttled.value.retry_after_s <= 901
    assert await house.door.passwords.sign_in("Ada", PASSWORD, "10.0.0.2")
    house.now += timedelta(minutes=15)
    assert await house.door.passwords.sign_in("Ada", PASSWORD, "10.0.0.3")


async def test_a_few_wrong_tries_behind_one_proxy_shut_nobody_out_who_signed_in_there_before(house: House) -> None:
    await house.first_admin()
    for _ in range(4 * PAIR_LIMIT.attempts):
        with refused(AuthCode.SIGN_IN_REFUSED):
            await house.door.passwords.sign_in("Ada", "a wrong guess", "10.0.0.1")
    assert await house.door.passwords.sign_in("Ada", PASSWORD, "10.0.0.1")


async def test_a_network_that_holds_many_addresses_is_one_guesser(house: House) -> None:
    await house.first_admin()
    for number in range(10):
        with refused(AuthCode.SIGN_IN_REFUSED):
            await house.door.passwords.sign_in("Ada", "a wrong guess", f"2001:db8:0:7::{number:x}")
    with pytest.raises(TooManyAttempts):
        await house.door.passwords.sign_in("Ada", PASSWORD, "2001:db8:0:7:ffff::1")
    assert await house.door.passwords.sign_in("Ada", PASSWORD, "2001:db8:0:8::1")
    assert await house.door.passwords.sign_in("Ada", PASSWORD, "::ffff:10.0.0.9")


async def test_those_who_sign_in_rightly_shut_nobody_out_of_their_network(house: House) -> None:
    await house.first_admin()
    for _ in range(NETWORK_LIMIT.attempts + 1):
        await house.door.passwords.sign_in("Ada", PASSWORD, "10.0.0.1")


async def test_a_success_does_not_wipe_out_other_guesses_from_its_network(house: House) -> None:
    await house.first_admin()
    for number in range(NETWORK_LIMIT.attempts):
        if number == NETWORK_LIMIT.attempts // 2:  # for the first time from there: later ones count nothing
            await house.door.passwords.sign_in("Ada", PASSWORD, "10.9.0.1")
        with refused(AuthCode.SIGN_IN_REFUSED):
            await house.door.passwords.sign_in(f"name {number}", "a wrong guess", "10.9.0.1")
    with pytest.raises(TooManyAttempts):
        await house.door.passwords.sign_in("another name", "a wrong guess", "10.9.0.1")


async def test_a_stranger_shuts_nobody_out_of_the_network_that_they_share(house: House) -> None:
    await house.first_admin()
    for number in range(NETWORK_LIMIT.attempts):
        with refused(AuthCode.SIGN_IN_REFUSED):
            await house.door.passwords.sign_in(f"name {number}", "a wrong guess", "10.0.0.1")
    assert await house.door.passwords.sign_in("Ada", PASSWORD, "10.0.0.1"), "she signed in from there before"


async def test_strangers_everywhere_shut_nobody_out_of_where_they_signed_in_before(house: House) -> None:
    await house.first_admin()
    for number in range(PERSON_LIMIT.attempts):
        with refused(AuthCode.SIGN_IN_REFUSED):
            await house.door.passwords.sign_in("Ada", "a wrong guess", f"10.1.0.{number}")
    with pytest.raises(TooManyAttempts):
        await house.door.passwords.sign_in("Ada", PASSWORD, "10.2.0.1")
    assert await house.door.passwords.sign_in("Ada", PASSWORD, "10.0.0.1")
    for _ in range(KNOWN_LIMIT.attempts):
        with refused(AuthCode.SIGN_IN_REFUSED):
            await house.door.passwords.sign_in("Ada", "a wrong guess", "10.0.0.1")
    with pytest.raises(TooManyAttempts):
        await house.door.passwords.sign_in("Ada", "a wrong guess", "10.0.0.1")


async def test_a_restart_forgets_nobodys_network(house: House) -> None:
    await house.first_admin()
    house.open(house.store)
    for number in range(PERSON_LIMIT.attempts):
        with refused(AuthCode.SIGN_IN_REFUSED):
            await house.door.passwords.sign_in("Ada", "a wrong guess", f"10.1.0.{number}")
    assert await house.door.passwords.sign_in("Ada", PASSWORD, "10.0.0.1")
    with pytest.raises(TooManyAttempts):
        await house.door.passwords.sign_in("Ada", PASSWORD, "10.2.0.1")


async def test_made_up_links_do_not_hold_up_who_holds_one(house: House) -> None:
    secret = await house.door.accounts.bootstrap()
    assert secret is not None
    for number in range(NETWORK_LIMIT.attempts):
        with refused(AuthCode.INVITATION_REFUSED):
            await house.door.passwords.accept_invitation(f"hri_{number}", PASSWORD, "Ada", "10.0.0.1")
    with pytest.raises(TooManyAttempts):
        await house.door.passwords.accept_invitation("hri_more", PASSWORD, "Ada", "10.0.0.1")
    assert await house.door.passwords.accept_invitation(secret, PASSWORD, "Ada", "10.0.0.1")


async def test_made_up_names_from_everywhere_do_not_wipe_out_the_guesses_at_a_person(house: House) -> None:
    await house.first_admin()
    throttle = house.door.passwords._throttle = Throttle(max_keys=60)  # noqa: SLF001 - as 10,000 keys, but quicker
    for number in range(100):
        with refused(AuthCode.SIGN_IN_REFUSED):
            await house.door.passwords.sign_in("Ada", "a wrong guess", f"10.1.0.{number}")
    for number in range(100):
        throttle.attempt({f"pair:10.2.0.{number}:x": PAIR_LIMIT, f"network:10.2.0.{number}": NETWORK_LIMIT}, house.now)
    with pytest.raises(TooManyAttempts):
        await house.door.passwords.sign_in("Ada", PASSWORD, "10.3.0.1")


async def test_a_store_that_cannot_be_written_still_knows_who_is_calling(house: House) -> None:
    admin = await house.first_admin()
    secret = await house.token(admin)
    await house.door.close()
    house.open(FullStore(house.store))  # the disk fills up meanwhile
    house.now += timedelta(minutes=2)
    assert (await house.door.sessions.principal(admin.secret)).id == admin.principal.id
    assert (await house.door.tokens.principal(secret)).id == admin.principal.id
    house.now += timedelta(hours=9)
    with refused(AuthCode.NOT_SIGNED_IN):
        await house.door.sessions.principal(admin.secret)
    await house.door.settle()


async def test_a_session_ends_when_it_is_not_used_or_is_too_old(house: House) -> None:
    signed_in = await house.first_admin()
    limits = Lifetimes()
    while house.now + limits.idle - timedelta(hours=1) < signed_in.expires:
        house.now += limits.idle - timedelta(hours=1)
        await house.door.sessions.principal(signed_in.secret)
        await house.door.settle()
    house.now = signed_in.expires
    with refused(AuthCode.NOT_SIGNED_IN):
        await house.door.sessions.principal(signed_in.secret)
    other = await house.door.passwords.sign_in("Ada", PASSWORD, "10.0.0.1")
    house.now += limits.idle
    with refused(AuthCode.NOT_SIGNED_IN):
        await house.door.sessions.principal(other.secret)


async def test_a_clock_that_is_ahead_for_a_moment_ends_no_session_for_good(house: House) -> None:
    signed_in = await house.first_admin()
    right = house.now
    house.now += timedelta(days=400)
    with refused(AuthCode.NOT_SIGNED_IN):
        await house.door.sessions.principal(signed_in.secret)
    await house.door.settle()
    house.now = right
    assert (await house.door.sessions.principal(signed_in.secret)).id == signed_in.principal.id


async def test_signing_out_ends_the_session(house: House) -> None:
    signed_in = await house.first_admin()
    await house.door.sessions.end(signed_in.secret)
    await house.door.sessions.end(signed_in.secret)
    with refused(AuthCode.NOT_SIGNED_IN):
        await house.door.sessions.principal(signed_in.secret)


async def test_signing_out_looks_only_for_what_can_be_a_session(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []
    find = MemoryPeopleStore.whose_session

    async def whose_session(store: MemoryPeopleStore, hashed: str) -> tuple[SessionRecord, PersonRecord] | None:
        looked.append(hashed)
        return await find(store, hashed)

    signed_in = await house.first_admin()
    monkeypatch.setattr(MemoryPeopleStore, "whose_session", whose_session)
    for secret in ("", "x" * 100_000, "hrs_" + "a" * 60, signed_in.secret[:-1]):
        await house.door.sessions.end(secret)
    assert looked == []
    await house.door.sessions.end(signed_in.secret)
    assert len(looked) == 1


@pytest.mark.parametrize(
    "name", ["", " helper", "hel\u200bper", "h\u0435lper", "help\ner", "\u202ehelper", "\ud800", "x" * 65]
)
async def test_a_name_that_could_look_like_another_names_no_token_and_no_assistant(house: House, name: str) -> None:
    grace = await house.join(await house.first_admin(), "Grace", Role.REQUESTER)
    for wish in (replace(WISH, name=name), replace(WISH, agent=name)):
        with refused(AuthCode.NAME_REFUSED):
            await house.door.tokens.make(grace.principal, wish)
    assert not await house.door.tokens.of(grace.principal)


async def test_a_token_is_never_a_session_and_holds_only_what_it_was_given(house: House) -> None:
    admin = await house.first_admin()
    grace = await house.join(admin, "Grace", Role.REQUESTER)
    secret = await house.token(grace, replace(WISH, agent="assistant"))
    principal = await house.door.tokens.principal(secret)
    assert (principal.id, principal.agent, principal.method) == (grace.principal.id, "assistant", "token")
    assert principal.scopes == WISH.scopes
    assert not principal.session
    with refused(AuthCode.NOT_SIGNED_IN):
        await house.door.sessions.principal(secret)
    with refused(AuthCode.NOT_SIGNED_IN):
        await house.door.tokens.principal(grace.secret)


async def test_a_token_can_not_be_made_with_a_token_nor_beyond_its_makers_scopes(house: House) -> None:
    admin = await house.first_admin()
    viewer = await house.join(admin, "Grace", Role.VIEWER)
    with refused(AuthCode.NOT_ALLOWED):
        await house.door.tokens.make(viewer.principal, WISH)
    for scope in (Scope.ADMIN, Scope.TRANSFER_APPROVE):
        assert scope not in TOKEN_SCOPES
        with refused(AuthCode.NOT_ALLOWED):
            await house.door.tokens.make(admin.principal, replace(WISH, scopes=frozenset({scope})))
    with refused(AuthCode.NOT_ALLOWED):
        await house.door.tokens.make(admin.principal, replace(WISH, scopes=frozenset()))
    with refused(AuthCode.NOT_ALLOWED):
        await house.door.tokens.make(await house.door.tokens.principal(await house.token(admin)), WISH)


async def test_a_tokens_scopes_shrink_with_its_makers_roles(house: House) -> None:
    admin = await house.first_admin()
    secret = await house.token(admin)
    person = await house.store.person(admin.principal.id)
    assert person is not None
    house.store._people[person.id] = replace(person, roles=frozenset({Role.VIEWER}))  # noqa: SLF001 - a role was taken
    assert (await house.door.tokens.principal(secret)).scopes == {Scope.TRANSFER_READ}


async def test_a_token_expires_and_can_be_revoked_by_its_maker_and_by_an_admin_alone(house: House) -> None:
    admin = await house.first_admin()
    grace = await house.join(admin, "Grace", Role.REQUESTER)
    eve = await house.join(admin, "Eve", Role.REQUESTER)
    first, second, third = [await house.token(grace) for _ in range(3)]
    ids = [record.id for record in await house.door.tokens.of(grace.principal)]
    with refused(AuthCode.NOT_FOUND):
        await house.door.tokens.revoke(eve.principal, ids[0])
    await house.door.tokens.revoke(grace.principal, ids[0])
    await house.door.tokens.revoke(admin.principal, ids[1])
    for secret in (first, second):
        with refused(AuthCode.NOT_SIGNED_IN):
            await house.door.tokens.principal(secret)
    assert await house.door.tokens.principal(third)
    house.now += DAY
    with refused(AuthCode.NOT_SIGNED_IN):
        await house.door.tokens.principal(third)


async def test_the_id_of_a_token_with_another_secret_is_nobody(house: House) -> None:
    admin = await house.first_admin()
    secret = await house.token(admin)
    (record,) = await house.door.tokens.of(admin.principal)
    await house.store.add_token(replace(record, hash="0" * 64))
    with refused(AuthCode.NOT_SIGNED_IN):
        await house.door.tokens.principal(secret)


async def test_a_thousand_guesses_at_a_token_are_nobody_write_nothing_and_shut_nobody_out(house: House) -> None:
    admin = await house.first_admin()
    secret = await house.token(admin)
    [before] = await house.door.tokens.of(admin.principal)
    for _ in range(1000):
        body = f"hrt_{before.id}_{make_token().text.rpartition('_')[2][:52]}"
        guess = f"{body}{zlib.crc32(body.encode()):08x}"
        assert token_id(guess) == before.id, "it looks like a token"
        with refused(AuthCode.NOT_SIGNED_IN):
            await house.door.tokens.principal(guess)
    await house.door.settle()
    assert list(await house.door.tokens.of(admin.principal)) == [before]
    assert (await house.door.tokens.principal(secret)).id == admin.principal.id


async def test_a_disabled_person_is_nobody_at_once(house: House) -> None:
    admin = await house.first_admin()
    grace = await house.join(admin, "Grace", Role.REQUESTER)
    token = await house.token(grace)
    await house.door.accounts.disable(admin.principal, grace.principal.id)
    with refused(AuthCode.NOT_SIGNED_IN):
        await house.door.sessions.principal(grace.secret)
    with refused(AuthCode.NOT_SIGNED_IN):
        await house.door.tokens.principal(token)
    with refused(AuthCode.NOT_FOUND):
        await house.door.accounts.disable(admin.principal, "pn_nobody")
    with refused(AuthCode.NOT_ALLOWED):
        await house.door.accounts.disable(admin.principal, admin.principal.id)


async def test_a_session_that_survives_in_the_store_is_still_nobodys_once_the_person_is_disabled(house: House) -> None:
    admin = await house.first_admin()
    grace = await house.join(admin, "Grace", Role.REQUESTER)
    person = await house.store.person(grace.principal.id)
    assert person is not None
    house.store._people[person.id] = replace(person, state="disabled")  # noqa: SLF001 - a store that forgot its sessions
    with refused(AuthCode.NOT_SIGNED_IN):
        await house.door.sessions.principal(grace.secret)


async def test_uses_are_noted_but_reading_rarely_writes(house: House) -> None:
    admin = await house.first_admin()
    secret = await house.token(admin)
    await house.door.tokens.principal(secret)
    await house.door.settle()
    first = house.now
    house.now += timedelta(seconds=59)
    await house.door.tokens.principal(secret)
    assert [record.last_used for record in await house.door.tokens.of(admin.principal)] == [first]
    house.now += timedelta(seconds=1)
    await house.door.tokens.principal(secret)
    await house.door.settle()
    assert [record.last_used for record in await house.door.tokens.of(admin.principal)] == [house.now]


async def test_a_password_hashed_at_a_lower_cost_is_hashed_again_on_sign_in(house: House) -> None:
    admin = await house.first_admin()
    before = await house.store.person(admin.principal.id)
    assert before is not None
    cheaper = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash(PASSWORD)
    assert await house.store.set_password_hash(before.id, str(before.password_hash), cheaper)
    with pytest.raises(AuthError, match="wrong"):  # nobody has sealed it
        await house.door.passwords.sign_in("Ada", PASSWORD, "10.0.0.1")
    await house.door.passwords.seal_those_of_before()
    await house.door.passwords.sign_in("Ada", PASSWORD, "10.0.0.1")
    person = await house.store.person(admin.principal.id)
    assert person is not None
    assert person.password_hash is not None
    assert "t=2" in person.password_hash


async def test_a_sign_in_beside_a_change_of_the_password_begins_no_session(house: House) -> None:
    admin = await house.first_admin()

    class ChangedMeanwhile(MemoryPeopleStore):
        """A store in which the password is replaced right before a session is kept."""

        def __init__(self, before: MemoryPeopleStore) -> None:
            vars(self).update(vars(before))

        async def add_session(self, session: SessionRecord, grounds: Grounds | None = None) -> bool:
            former = await self.person(session.person)
            assert former is not None
            assert former.password_hash is not None
            assert await self.replace_password(session.person, former.password_hash, "another", keep="")
            return await super().add_session(session, grounds)

    house.open(ChangedMeanwhile(house.store))
    with refused(AuthCode.SIGN_IN_REFUSED):
        await house.door.passwords.sign_in("Ada", PASSWORD, "10.0.0.1")
    assert await house.store.sessions_of(admin.principal.id) in ([], ())


async def test_nothing_secret_is_kept_or_shown(house: House) -> None:
    signed_in = await house.first_admin()
    token = await house.token(signed_in)
    store = vars(house.store)
    places = repr(store.pop("_places"))
    kept = places + repr([asdict(record) for kind in store.values() for record in kind.values()])
    assert "$argon2id$" in kept
    for secret in (PASSWORD, token, signed_in.secret, "10.0.0."):
        assert secret not in kept
    assert signed_in.secret not in repr(signed_in)


@pytest.mark.parametrize("text", ["", "x", "hrs_", "hrt_", "Bearer", "\ud800", "a" * 100_000])
async def test_any_other_text_signs_nobody_in(house: House, text: str) -> None:
    with refused(AuthCode.NOT_SIGNED_IN):
        await house.door.sessions.principal(text)
    with refused(AuthCode.NOT_SIGNED_IN):
        await house.door.tokens.principal(text)
    with refused(AuthCode.INVITATION_REFUSED):
        await house.door.passwords.accept_invitation(text, PASSWORD, "Ada", "10.0.0.1")


async def test_of_two_admins_who_change_roles_and_groups_at_once_neither_undoes_what_the_other_did() -> None:
    house = House()
    house.open(BusyStore())
    ada = await house.first_admin()
    bob = (await house.join(ada, "Bob", Role.REQUESTER, Role.APPROVER)).principal.id
    rights = house.door.rights
    await asyncio.gather(
        rights.grant(ada.principal, bob, frozenset({Role.REQUESTER}), None),
        rights.grant(ada.principal, bob, None, frozenset({"lab"})),
    )
    changed = await house.store.person(bob)
    assert changed is not None
    assert (set(changed.roles), set(changed.groups)) == ({Role.REQUESTER}, {"lab"})


async def test_a_service_account_owns_tokens_that_outlive_whoever_made_them(house: House) -> None:
    admin = await house.first_admin()
    robot = await house.door.accounts.make_service(admin.principal, "nightly", frozenset({Role.REQUESTER}))
    _, secret = await house.door.tokens.make(admin.principal, replace(WISH, owner=robot.id))
    acts = await house.door.tokens.principal(secret)
    assert (acts.id, acts.name, acts.kind, acts.session) == (robot.id, "nightly", "service", False)
    assert acts.scopes == WISH.scopes
    other = await house.join(admin, "Grace", Role.ADMIN)
    await house.door.accounts.disable(other.principal, admin.principal.id)
    assert (await house.door.tokens.principal(secret)).id == robot.id
    await house.door.accounts.disable(other.principal, robot.id)
    with refused(AuthCode.NOT_SIGNED_IN):
        await house.door.tokens.principal(secret)
    with refused(AuthCode.NOT_FOUND):
        await house.door.tokens.make(other.principal, replace(WISH, owner=robot.id))


async def test_only_an_admins_own_session_makes_service_accounts_and_their_tokens(house: House) -> None:
    admin = await house.first_admin()
    robot = await house.door.accounts.make_service(admin.principal, "nightly", frozenset({Role.REQUESTER}))
    grace = await house.join(admin, "Grace", Role.REQUESTER, Role.OPERATOR, Role.POLICY_ADMIN)
    with_token = await house.door.tokens.principal(await house.token(admin))
    for by in (grace.principal, replace(with_token, scopes=frozenset(Scope))):
        with refused(AuthCode.NOT_ALLOWED):
            await house.door.accounts.make_service(by, "other", frozenset({Role.REQUESTER}))
        with refused(AuthCode.NOT_ALLOWED):
            await house.door.tokens.make(by, replace(WISH, owner=robot.id))
    for owner in (grace.principal.id, "pn_nobody"):
        with refused(AuthCode.NOT_FOUND):
            await house.door.tokens.make(admin.principal, replace(WISH, owner=owner))


async def test_a_token_of_a_service_account_holds_no_more_than_the_roles_of_the_account(house: House) -> None:
    admin = await house.first_admin()
    robot = await house.door.accounts.make_service(admin.principal, "watcher", frozenset({Role.VIEWER}))
    with refused(AuthCode.NOT_ALLOWED):
        await house.door.tokens.make(admin.principal, replace(WISH, owner=robot.id))


@pytest.mark.parametrize("role", [Role.APPROVER, Role.POLICY_ADMIN, Role.ADMIN])
async def test_a_service_account_has_no_role_whose_decisions_are_a_persons(house: House, role: Role) -> None:
    admin = await house.first_admin()
    with refused(AuthCode.NOT_ALLOWED):
        await house.door.accounts.make_service(admin.principal, "nightly", frozenset({Role.VIEWER, role}))
    robot = await house.door.accounts.make_service(admin.principal, "nightly", frozenset({Role.VIEWER}))
    with refused(AuthCode.NOT_ALLOWED):
        await house.door.rights.grant(admin.principal, robot.id, frozenset({role}), None)


async def test_nobody_signs_in_as_a_service_account(house: House) -> None:
    admin = await house.first_admin()
    robot = await house.door.accounts.make_service(admin.principal, "nightly", frozenset({Role.VIEWER}))
    with refused(AuthCode.NAME_REFUSED):
        await house.door.accounts.make_service(admin.principal, "ADA", frozenset({Role.VIEWER}))
    with refused(AuthCode.SIGN_IN_REFUSED):
        await house.door.passwords.sign_in("nightly", PASSWORD, "10.0.0.1")
    with refused(AuthCode.NOT_ALLOWED):
        await house.door.accounts.invite_again(admin.principal, robot.id, DAY)
    with refused(AuthCode.SIGN_IN_REFUSED):
        await house.door.sessions.begin(robot, BY_PASSWORD)
