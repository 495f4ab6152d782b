"""What is believed of a logout token, and which sessions it ends."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from tests.conformance.identity_store_conformance import bind
from tests.conformance.people_store_conformance import session_of
from tests.pure.auth.documents import AT, NOW, Documents, OwnClock, claims, issuer_at, signed

from headrace.auth import (
    SIGN_IN_LIMIT,
    SIGNED_OUT_KEPT,
    Authenticator,
    AuthError,
    Grounds,
    GroupBinding,
    MemoryPeopleStore,
    Pepper,
    PersonRecord,
    Role,
    SessionRecord,
)
from headrace.auth.oidc_provider import Providers
from headrace.auth.oidc_sign_out import LOGOUT_EVENT, MAX_AGE, MAX_USED, OidcSignOut

pytestmark = pytest.mark.anyio


class Ending:
    """Sessions of one provider, and what ends them."""

    def __init__(self, documents: Documents) -> None:
        self.documents = documents
        self.clock = OwnClock()
        self.store = MemoryPeopleStore()
        self.providers = Providers([issuer_at(documents.url)], self.clock)
        self.sign_out = OidcSignOut(self.providers, "https://headrace.example", self.store, self.clock)

    async def begin(self, subject: str, sid: str, issuer: str | None = None) -> None:
        """Have somebody sign in at the provider."""
        person = f"pn_{subject}"
        if await self.store.person(person) is None:
            roles = frozenset({Role.VIEWER})
            await self.store.add_person(PersonRecord(id=person, name=subject, roles=roles, state="active", created=NOW))
            await self.store.link(person, self.documents.url, subject, NOW)
        record = SessionRecord(
            hash=f"{subject}-{sid}-{issuer}", person=person, created=NOW,
            expires=NOW + timedelta(days=1), last_used=NOW, authenticated=NOW, method="oidc",
            issuer=issuer or self.documents.url, sid=sid,
        )  # fmt: skip
        await self.store.add_session(record)

    async def told(self, **changed: object) -> int:
        return await self.sign_out.told("corp", logout_token(self.documents, **changed))


def logout_token(documents: Documents, **changed: object) -> str:
    given: dict[str, Any] = {"events": {LOGOUT_EVENT: {}}, "nonce": None, "jti": "one", "sub": None, "sid": "s1"}
    typ = str(changed.pop("typ", "logout+jwt"))
    return signed(claims(documents, **(given | changed)), typ=typ)


@pytest.fixture
async def ending(anew: Documents) -> AsyncIterator[Ending]:
    found = Ending(anew)
    for sid in ("s1", "s2"):
        await found.begin("pia", sid)
    await found.begin("rob", "s1", "https://other.example")
    yield found
    await found.providers.close()


async def test_a_session_that_ends_at_the_provider_ends_here_and_no_other(ending: Ending) -> None:
    assert await ending.told(sub="pia") == 1
    assert await session_of(ending.store, "pia-s1-None") is None
    assert await session_of(ending.store, "pia-s2-None") is not None
    assert await session_of(ending.store, "rob-s1-https://other.example") is not None


async def test_a_subject_that_signs_out_at_the_provider_loses_all_sessions_of_that_provider(ending: Ending) -> None:
    await ending.begin("rob", "s1")
    assert await ending.told(sid=None, sub="pia") == 2
    assert await session_of(ending.store, "rob-s1-None") is not None


async def test_a_logout_that_could_not_be_stored_counts_when_it_is_told_again(
    ending: Ending, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def full(*_: object, **__: object) -> int:
        message = "the store is full"
        raise OSError(message)

    with monkeypatch.context() as patch:
        patch.setattr(ending.store, "delete_sessions_at", full)
        with pytest.raises(OSError, match="is full"):
            await ending.told()
    assert await ending.told() == 1
    with pytest.raises(AuthError, match="sign"):
        await ending.told()


class SignedOutMeanwhile(MemoryPeopleStore):
    """A store to which somebody's provider says that they have signed out, right before their session is kept."""

    logout: Callable[[], Awaitable[int]] | None = None

    async def add_session(self, session: SessionRecord, grounds: Grounds | None = None) -> bool:
        if self.logout is not None:
            await self.logout()
        return await super().add_session(session, grounds)


@pytest.fixture
async def service(anew: Documents) -> AsyncIterator[tuple[Authenticator, SignedOutMeanwhile, OwnClock]]:
    store, clock = SignedOutMeanwhile(), OwnClock()
    await bind(store, GroupBinding(issuer=anew.url, group="staff", roles=frozenset({Role.VIEWER})))
    issuer = replace(issuer_at(anew.url), device_sign_in=True)
    found = Authenticator(store, store, store, clock, Pepper(b"p" * 32), issuers=[issuer])
    yield found, store, clock
    await found.close()


@pytest.mark.parametrize("named", [{"sid": "s1"}, {"sid": None, "sub": "pia"}], ids=["the session", "the subject"])
@pytest.mark.parametrize("says_when", [AT - 60, None], ids=["says when", "does not say when"])
async def test_who_signs_out_there_while_they_sign_in_here_is_not_signed_in(
    anew: Documents,
    service: tuple[Authenticator, SignedOutMeanwhile, OwnClock],
    named: dict[str, Any],
    says_when: int | None,
) -> None:
    door, store, clock = service

    async def sign_in() -> None:
        begun = await door.oidc.begin("corp", "/")
        query = parse_qs(urlsplit(begun.url).query)
        given = claims(anew, nonce=query["nonce"][0], auth_time=says_when)
        anew.answers["/token"] = (200, {"id_token": signed(given), "access_token": "x", "token_type": "Bearer"})
        clock.now += timedelta(seconds=1)
        await door.come_back("corp", begun.kept, {"code": "c", "state": query["state"][0]}, "192.0.2.1")

    await sign_in()
    store.logout = lambda: door.oidc_sign_out.told("corp", logout_token(anew, **named))
    with pytest.raises(AuthError) as refused:
        await sign_in()
    assert refused.value.code == "sign_in_refused"
    store.logout = None
    clock.now += timedelta(seconds=1)
    await sign_in()


async def test_who_signs_out_there_while_they_sign_in_on_another_device_is_not_signed_in(
    anew: Documents, service: tuple[Authenticator, SignedOutMeanwhile, OwnClock]
) -> None:
    door, store, clock = service
    anew.changed = {"device_authorization_endpoint": f"{anew.url}/device"}
    codes = {"device_code": "secret", "user_code": "ABCD", "verification_uri": "https://corp.example/device"}
    token = {"id_token": signed(claims(anew, nonce=None)), "access_token": "x", "token_type": "Bearer"}
    anew.answers = {"/device": (200, codes), "/token": (200, token)}
    kept = [(await door.oidc_device.begin("corp", "192.0.2.1")).kept]
    store.logout = lambda: door.oidc_sign_out.told("corp", logout_token(anew, sid="s1"))
    with pytest.raises(AuthError) as refused:
        await door.oidc_device.ask("corp", kept[0])
    assert refused.value.code == "sign_in_refused"
    store.logout = None
    clock.now += timedelta(seconds=60)
    kept.append((await door.oidc_device.begin("corp", "192.0.2.1")).kept)
    assert await door.oidc_device.ask("corp", kept[1]) is not None


def test_a_sign_out_is_kept_for_longer_than_a_sign_in_may_be_under_way() -> None:
    assert SIGN_IN_LIMIT + timedelta(minutes=5) < SIGNED_OUT_KEPT


async def test_a_logout_token_counts_once_and_for_five_minutes(ending: Ending) -> None:
    assert await ending.told() == 1
    await ending.begin("pia", "s1")
    with pytest.raises(AuthError, match="sign"):
        await ending.told()
    assert await ending.told(jti="two") == 1
    await ending.begin("pia", "s1")
    ending.clock.now += MAX_AGE - timedelta(seconds=6)
    for late in ("one", "two"):
        with pytest.raises(AuthError):
            await ending.told(jti=late)
    ending.clock.now += timedelta(seconds=1)
    with pytest.raises(AuthError):
        await ending.told(jti="three")
    assert await session_of(ending.store, "pia-s1-None") is not None


@pytest.mark.parametrize(
    "changed",
    [
        {"iss": "https://other.example"}, {"aud": "other"}, {"aud": None}, {"events": None}, {"events": {}},
        {"events": {"http://schemas.openid.net/event/other": {}}}, {"events": [LOGOUT_EVENT]}, {"nonce": "n"},
        {"jti": None}, {"jti": ""}, {"jti": 7}, {"sid": None}, {"sid": 7}, {"exp": None}, {"exp": AT - 31},
        {"iat": None}, {"iat": AT + 31}, {"iat": AT - 300}, {"iat": -1}, {"typ": "at+jwt"}, {"typ": "id+jwt"},
    ],
)  # fmt: skip
async def test_a_logout_token_that_is_not_right_ends_nothing(ending: Ending, changed: dict[str, Any]) -> None:
    with pytest.raises(AuthError) as refused:
        await ending.told(**changed)
    assert refused.value.code == "sign_in_refused"
    assert await session_of(ending.store, "pia-s1-None") is not None


async def test_an_id_token_is_no_logout_token(ending: Ending) -> None:
    with pytest.raises(AuthError):
        await ending.sign_out.told("corp", signed(claims(ending.documents)))


async def test_an_unknown_provider_tells_nothing(ending: Ending) -> None:
    with pytest.raises(AuthError) as refused:
        await ending.sign_out.told("nowhere", logout_token(ending.documents))
    assert refused.value.code == "not_found"


async def test_at_most_ten_thousand_logout_tokens_are_remembered(ending: Ending) -> None:
    later = ending.clock.now + timedelta(minutes=1)
    ending.sign_out._used.update({("x", str(number)): later for number in range(MAX_USED)})  # noqa: SLF001
    with pytest.raises(AuthError):
        await ending.told()
    ending.clock.now = later
    assert await ending.told() == 1


async def test_a_browser_ends_its_session_at_the_provider_that_says_where(ending: Ending) -> None:
    assert await ending.sign_out.url(ending.documents.url) is None
    ending.documents.changed = {"end_session_endpoint": "https://corp.example/end"}
    ending.clock.now += timedelta(minutes=10)
    to = await ending.sign_out.url(ending.documents.url)
    assert to is not None
    query = {name: value for name, [value] in parse_qs(urlsplit(to).query).items()}
    assert query == {"client_id": "headrace", "post_logout_redirect_uri": "https://headrace.example/sign-in"}
    assert await ending.sign_out.url(None) is None
    assert await ending.sign_out.url("https://other.example") is None
