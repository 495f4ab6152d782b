"""What a fresh sign-in at a provider must say before it proves anything."""

import base64
import hashlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

import pytest
from tests.conformance.identity_store_conformance import bind
from tests.pure.auth.documents import AT, Answer, Documents, OwnClock, claims, issuer_at, signed

from headrace.auth import (
    Arrived,
    Authenticator,
    AuthError,
    GroupBinding,
    Issuer,
    MemoryPeopleStore,
    Pepper,
    Principal,
    ProvenThere,
    Role,
)

WHAT = '{"action":"approve_plan"}'
HERE = "192.0.2.1"
FIRST, SECOND = "first", "second"
"""Refresh tokens."""
pytestmark = pytest.mark.anyio


class Desk:
    """A service at which staff of a provider are viewers."""

    def __init__(self, documents: Documents) -> None:
        self.documents, self.clock = documents, OwnClock()
        self.store = MemoryPeopleStore()
        self.auth = self.opened(issuer_at(documents.url))
        self.refresh_token: str | None = None
        """What the next sign-in brings."""

    def opened(self, issuer: Issuer) -> Authenticator:
        return Authenticator(self.store, self.store, self.store, self.clock, Pepper(b"p" * 32), issuers=[issuer])

    async def back(self, url: str, kept: str, **changed: object) -> Arrived | ProvenThere:
        """Come back from the provider's page at `url`, whose ID token says this."""
        query = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
        token = signed(claims(self.documents, **{"nonce": query["nonce"], **changed}))
        answer = {"id_token": token, "access_token": "x", "token_type": "Bearer", "refresh_token": self.refresh_token}
        self.documents.answers["/token"] = (200, {name: value for name, value in answer.items() if value})
        return await self.auth.come_back("corp", kept, {"code": "c", "state": query["state"]}, HERE)

    async def signed_in(self) -> Principal:
        await bind(self.store, GroupBinding(issuer=self.documents.url, group="staff", roles=frozenset({Role.VIEWER})))
        begun = await self.auth.oidc.begin("corp", "/")
        arrived = await self.back(begun.url, begun.kept)
        assert isinstance(arrived, Arrived)
        return arrived.signed_in.principal

    async def proof(self, by: Principal, **changed: object) -> str:
        """What a sign-in proves, if it is done right away."""
        asked = self.auth.oidc_proof.ask(by, WHAT)
        assert asked is not None
        begun = await self.auth.oidc_proof.begin(by, "corp", asked.kept)
        proven = await self.back(begun.url, begun.kept, **{"auth_time": AT, **changed})
        assert isinstance(proven, ProvenThere)
        return proven.answer


async def test_the_nonce_of_the_sign_in_is_the_digest_of_what_is_agreed_to(anew: Documents) -> None:
    desk = Desk(anew)
    pia = await desk.signed_in()
    asked = desk.auth.oidc_proof.ask(pia, WHAT)
    assert asked is not None
    begun = await desk.auth.oidc_proof.begin(pia, "corp", asked.kept)
    agreed = hashlib.sha256(f"agree {pia.id} {WHAT}".encode()).digest()
    nonce = hashlib.sha256(b"headrace/consent/v1" + agreed + asked.id.encode()).digest()
    assert parse_qs(urlsplit(begun.url).query)["nonce"] == [base64.urlsafe_b64encode(nonce).decode().rstrip("=")]
    with pytest.raises(AuthError, match="nonce"):
        await desk.back(begun.url, begun.kept, nonce="of another digest")
    shown = await desk.auth.oidc_proof.prove(pia, WHAT, await desk.proof(pia))
    assert (shown.factors, shown.evidence["subject"], shown.evidence["auth_time"]) == (
        frozenset({"pwd", "otp"}),
        "pia",
        str(AT),
    )
    await desk.auth.close()


async def test_a_provider_that_does_not_say_when_or_says_long_ago_proves_nothing(anew: Documents) -> None:
    desk = Desk(anew)
    pia = await desk.signed_in()
    for auth_time in (None, AT - 31, AT - 300):
        with pytest.raises(AuthError, match="did not ask you to sign in anew"):
            await desk.proof(pia, auth_time=auth_time)
    assert await desk.proof(pia, auth_time=AT - 30), "clocks may differ by half a minute"
    await desk.auth.close()


@pytest.mark.parametrize("seconds_ago", [0, 300])
async def test_who_signs_in_for_a_proof_is_asked_about_with_what_that_sign_in_brings(
    anew: Documents, seconds_ago: int
) -> None:
    desk = Desk(anew)
    await desk.auth.close()
    desk.auth, desk.refresh_token = desk.opened(replace(issuer_at(anew.url), watch_people=True)), FIRST
    pia = await desk.signed_in()
    desk.refresh_token = SECOND
    with suppress(AuthError):
        await desk.proof(pia, auth_time=AT - seconds_ago)

    def answer(fields: Mapping[str, str]) -> Answer:
        good = fields["refresh_token"] == SECOND
        return (200, {"access_token": "x", "token_type": "Bearer"}) if good else (400, {"error": "invalid_grant"})

    desk.documents.answers["/token"] = answer
    looked = await desk.auth.oidc_watch.look(desk.documents.url)
    assert (looked.changed, looked.troubles) == (False, ())
    desk.refresh_token = None
    assert await desk.proof(pia), "one without a token proves as much"
    await desk.auth.close()


async def test_an_identity_that_is_no_longer_or_nobodys_proves_nothing(anew: Documents) -> None:
    desk = Desk(anew)
    pia = await desk.signed_in()
    with pytest.raises(AuthError, match="Somebody else"):
        await desk.proof(pia, sub="nobody here")
    await desk.store.renew(anew.url, "pia", None, desk.clock())
    with pytest.raises(AuthError, match="Somebody else"):
        await desk.proof(pia)
    await desk.auth.close()


async def test_a_proof_is_good_for_five_minutes_and_nobody_makes_one_up(anew: Documents) -> None:
    desk = Desk(anew)
    pia = await desk.signed_in()
    answer = await desk.proof(pia)
    desk.clock.now += timedelta(minutes=5)
    with pytest.raises(AuthError, match="five minutes"):
        await desk.auth.oidc_proof.prove(pia, WHAT, answer)
    for forged in ("", "x", "x" + answer, answer + "0", "." * 4000):
        with pytest.raises(AuthError, match="not asked you"):
            await desk.auth.oidc_proof.prove(pia, WHAT, forged)
    await desk.auth.close()
