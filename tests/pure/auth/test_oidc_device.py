"""Signing in on another device: who may begin, how often the provider is asked, and what ends it."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from tests.conformance.identity_store_conformance import bind
from tests.pure.auth.documents import Documents, OwnClock, claims, issuer_at, signed

from headrace.auth import Authenticator, AuthError, GroupBinding, MemoryPeopleStore, Pepper, Role
from headrace.auth.oidc_device import BEGIN_LIMIT, OidcDevice

CODES = {
    "device_code": "secret of a device", "user_code": "ABCD-EFGH", "verification_uri": "https://corp.example/device",
    "expires_in": 300, "interval": 7,
}  # fmt: skip
PENDING = (400, {"error": "authorization_pending"})
pytestmark = pytest.mark.anyio


class Desk:
    """A service at which staff of a provider are viewers."""

    def __init__(self, documents: Documents, **issuer: Any) -> None:  # noqa: ANN401 - fields of an issuer
        self.documents, self.clock = documents, OwnClock()
        documents.changed = {"device_authorization_endpoint": f"{documents.url}/device"}
        documents.answers = {"/device": (200, CODES), "/token": PENDING}
        store = MemoryPeopleStore()
        self.bound = bind(store, GroupBinding(issuer=documents.url, group="staff", roles=frozenset({Role.VIEWER})))
        declared = replace(issuer_at(documents.url), **{"device_sign_in": True, **issuer})
        self.authenticator = Authenticator(store, store, store, self.clock, Pepper(b"p" * 32), issuers=[declared])

    @property
    def device(self) -> OidcDevice:
        return self.authenticator.oidc_device

    async def begin(self) -> str:
        return (await self.device.begin("corp", "192.0.2.1")).kept

    def asked(self) -> int:
        return self.documents.posted.count("/token")

    def finish(self, **changed: object) -> None:
        """Have the person sign in there."""
        token = signed(claims(self.documents, **({"nonce": None} | changed)))
        self.documents.answers["/token"] = (200, {"id_token": token, "access_token": "x", "token_type": "Bearer"})


@pytest.fixture
async def desk(anew: Documents) -> AsyncIterator[Desk]:
    found = Desk(anew)
    await found.bound
    yield found
    await found.authenticator.close()


async def refusal(desk: Desk, kept: str, issuer: str = "corp") -> str:
    with pytest.raises(AuthError) as refused:
        await desk.device.ask(issuer, kept)
    return refused.value.code


async def test_a_session_comes_once_the_person_has_signed_in_there(desk: Desk) -> None:
    begun = await desk.device.begin("corp", "192.0.2.1")
    assert (begun.uri, begun.user_code, begun.interval_s) == (CODES["verification_uri"], "ABCD-EFGH", 7)
    assert "secret of a device" not in repr(begun)
    assert await desk.device.ask("corp", begun.kept) is None
    desk.finish()
    desk.clock.now += timedelta(seconds=7)
    signed_in = await desk.device.ask("corp", begun.kept)
    assert signed_in is not None
    assert (signed_in.principal.name, signed_in.principal.method) == ("Pia", "oidc")


async def test_the_provider_is_asked_once_in_its_interval_however_often_the_service_is(desk: Desk) -> None:
    kept = await desk.begin()
    for _ in range(50):
        assert await desk.device.ask("corp", kept) is None
    assert desk.asked() == 1
    desk.clock.now += timedelta(seconds=7)
    assert await desk.device.ask("corp", kept) is None
    assert desk.asked() == 2


async def test_a_provider_that_says_slow_down_is_left_alone_for_longer_each_time(desk: Desk) -> None:
    kept = await desk.begin()
    desk.documents.answers["/token"] = (400, {"error": "slow_down"})
    for asked, interval_s in ((1, 12), (2, 17)):
        assert await desk.device.ask("corp", kept) is None
        desk.clock.now += timedelta(seconds=interval_s - 1)
        assert await desk.device.ask("corp", kept) is None
        assert desk.asked() == asked
        desk.clock.now += timedelta(seconds=1)
    desk.finish()
    assert await desk.device.ask("corp", kept) is not None
    assert desk.asked() == 3


async def test_a_sign_in_that_the_provider_ends_or_refuses_is_over(desk: Desk) -> None:
    kept = await desk.begin()
    for error, code in (("expired_token", "sign_in_expired"), ("access_denied", "sign_in_refused")):
        desk.documents.answers["/token"] = (400, {"error": error})
        desk.clock.now += timedelta(seconds=7)
        assert await refusal(desk, kept) == code
    desk.documents.answers["/token"] = (400, {"error": "slow_down"})
    desk.clock.now += timedelta(seconds=7)
    assert await desk.device.ask("corp", kept) is None
    desk.clock.now += timedelta(minutes=5)
    assert await refusal(desk, kept) == "sign_in_expired"


async def test_what_stands_for_a_sign_in_can_be_neither_made_nor_changed(desk: Desk) -> None:
    kept = await desk.begin()
    for changed in ("", "x", "x" + kept, kept.partition(".")[0], kept + "0", "." * 5000):
        assert await refusal(desk, changed) == "sign_in_expired"
    assert await refusal(desk, kept, "nowhere") == "not_found"
    assert desk.asked() == 0


async def test_an_id_token_for_another_client_signs_nobody_in(desk: Desk) -> None:
    kept = await desk.begin()
    desk.finish(aud="another")
    assert await refusal(desk, kept) == "sign_in_refused"


@pytest.mark.parametrize("given", [{}, {"id_token": None}, {"id_token": 7}, {"id_token": ""}])
async def test_a_provider_that_answers_without_an_id_token_signs_nobody_in(
    desk: Desk, given: dict[str, object]
) -> None:
    kept = await desk.begin()
    desk.documents.answers["/token"] = (200, {"access_token": "x", "token_type": "Bearer", **given})
    with pytest.raises(AuthError) as refused:
        await desk.device.ask("corp", kept)
    assert refused.value.code == "sign_in_refused"
    assert ("gave no ID token" in refused.value.reason) == (given.get("id_token") != "")


async def test_a_network_begins_thirty_sign_ins_in_fifteen_minutes(desk: Desk) -> None:
    for _ in range(BEGIN_LIMIT.attempts):
        await desk.begin()
    with pytest.raises(AuthError) as refused:
        await desk.begin()
    assert refused.value.code == "too_many_attempts"
    assert desk.documents.posted.count("/device") == BEGIN_LIMIT.attempts
    assert await desk.device.begin("corp", "192.0.2.2")


async def test_nobody_signs_in_on_another_device_where_the_site_has_not_turned_it_on(anew: Documents) -> None:
    desk = Desk(anew, device_sign_in=False)
    await desk.bound
    with pytest.raises(AuthError) as refused:
        await desk.begin()
    assert refused.value.code == "not_found"
    await desk.authenticator.close()


@pytest.mark.parametrize(
    "changed",
    [
        {"verification_uri": "http://corp.example"}, {"verification_uri": "javascript:alert(1)"}, {"user_code": None},
        {"verification_uri_complete": "file:///etc/passwd"}, {"device_code": 7}, {"user_code": "two\nlines"},
    ],
)  # fmt: skip
async def test_codes_that_cannot_be_shown_are_the_provider_s_fault(desk: Desk, changed: dict[str, object]) -> None:
    desk.documents.answers["/device"] = (200, {**CODES, **changed})
    with pytest.raises(AuthError) as refused:
        await desk.begin()
    assert refused.value.code == "provider_failed"
