"""What one account, one link or one stranger does, however often and from wherever, holds up nobody else."""

import asyncio
import threading
from datetime import timedelta

import pytest
from tests.pure.auth.test_authenticator import DAY, PASSWORD, House, house, refused

from headrace.auth import AuthCode, Role, SignedIn, TooManyAttempts, password_sign_in, places
from headrace.auth.password_sign_in import LINK_LIMIT, PAIR_LIMIT, PERSON_LIMIT
from headrace.auth.passwords import password_fits
from headrace.auth.turns import OF_ALL, OF_ONE, LineFull

__all__ = ["house"]

pytestmark = pytest.mark.anyio


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def network(number: int) -> str:
    """An address in one of the /64 networks of a /48, which many providers give a customer."""
    return f"2001:db8:1:{number:x}::1"


async def test_one_account_of_many_networks_keeps_nobody_from_signing_in_and_proving(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "MAX_OF_ONE", 2 * OF_ALL)  # more lines than there are places, were each a network
    admin = await house.first_admin()
    await house.join(admin, "eve", Role.VIEWER)
    bob = await house.join(admin, "bob", Role.APPROVER)
    passwords = house.door.passwords
    for number in range(OF_ALL + 12):
        await passwords.sign_in("eve", PASSWORD, network(number))
    go = threading.Event()

    def slow(password: str, stored: str | None) -> bool:
        assert go.wait(20)
        return password_fits(password, stored)

    monkeypatch.setattr(password_sign_in, "password_fits", slow)
    flood = [asyncio.create_task(passwords.sign_in("eve", PASSWORD, network(n))) for n in range(OF_ALL + 12)]
    await settle()
    bobs = [
        asyncio.create_task(passwords.sign_in("bob", PASSWORD, "10.0.0.2")),
        asyncio.create_task(passwords.prove(bob.principal, PASSWORD)),
    ]
    await settle()
    go.set()
    assert isinstance((await asyncio.gather(*bobs))[0], SignedIn)
    ended = await asyncio.gather(*flood, return_exceptions=True)
    assert sum(isinstance(one, SignedIn) for one in ended) == 1 + OF_ONE


async def test_one_account_of_many_networks_takes_no_other_persons_places(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "MAX_PLACES", places.MAX_OF_ONE + 20)
    admin = await house.first_admin()
    await house.join(admin, "eve", Role.VIEWER)
    await house.join(admin, "bob", Role.APPROVER)
    passwords = house.door.passwords
    for number in range(places.MAX_PLACES):
        await passwords.sign_in("eve", PASSWORD, network(number))
    for number in range(PERSON_LIMIT.attempts):
        with refused(AuthCode.SIGN_IN_REFUSED):
            await passwords.sign_in("bob", "a guess", network(number))
    with pytest.raises(TooManyAttempts):
        await passwords.sign_in("bob", PASSWORD, network(0))
    await passwords.sign_in("bob", PASSWORD, "10.0.0.2")


async def test_who_gets_no_turn_has_not_tried(house: House) -> None:
    admin = await house.first_admin()
    person, link = await house.door.accounts.invite(admin.principal, "grace", frozenset({Role.VIEWER}), DAY)
    passwords, may_end = house.door.passwords, asyncio.Event()

    async def hold(whose: str) -> None:
        async with passwords._turns.of_person(whose):  # noqa: SLF001 - what is slow there
            await may_end.wait()

    holding = [asyncio.create_task(hold(one)) for one in (admin.principal.id, person.id) for _ in range(1 + OF_ONE)]
    await settle()
    for _ in range(2 * PAIR_LIMIT.attempts):
        with pytest.raises(LineFull):
            await passwords.prove(admin.principal, PASSWORD)
        with pytest.raises(LineFull):
            await passwords.change(admin.principal, PASSWORD, "tungsten marble orchard 77 lantern")
        with pytest.raises(LineFull):
            await passwords.accept_invitation(link, PASSWORD, None, "10.0.0.2")
    may_end.set()
    await asyncio.gather(*holding)
    await passwords.prove(admin.principal, PASSWORD)
    await passwords.change(admin.principal, PASSWORD, "tungsten marble orchard 77 lantern")
    await passwords.accept_invitation(link, PASSWORD, None, "10.0.0.2")


async def test_who_holds_a_link_does_not_make_the_service_judge_passwords_without_end(house: House) -> None:
    admin = await house.first_admin()
    _, link = await house.door.accounts.invite(admin.principal, "eve", frozenset({Role.VIEWER}), DAY)
    passwords = house.door.passwords
    for number in range(LINK_LIMIT.attempts):
        with refused(AuthCode.PASSWORD_REFUSED):
            await passwords.accept_invitation(link, "eve eve eve eve", None, f"10.0.0.{number}")
        assert await passwords.invited(link, f"10.0.0.{number}") == "eve"
    with pytest.raises(TooManyAttempts):
        await passwords.accept_invitation(link, "eve eve eve eve", None, "10.0.0.1")
    house.now += timedelta(minutes=15)
    with refused(AuthCode.PASSWORD_REFUSED):
        await passwords.accept_invitation(link, "eve eve eve eve", None, "10.0.0.1")
