"""What one account, one link or one stranger does, however often and from wherever, holds up nobody else."""

from datetime import timedelta

import pytest
from tests.pure.auth.test_authenticator import DAY, House, house, refused

from headrace.auth import AuthCode, Role, TooManyAttempts
from headrace.auth.password_sign_in import LINK_LIMIT

__all__ = ["house"]

pytestmark = pytest.mark.anyio


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
