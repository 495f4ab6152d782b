"""Which access tokens of a provider count at this service, and for whom."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import pytest
from joserfc.jwk import KeySet, RSAKey
from tests.pure.auth.documents import (
    AT,
    KEY,
    NOW,
    Documents,
    OwnClock,
    by_public_key,
    claims,
    issuer_at,
    served,
    signed,
)

from headrace.auth import AuthCode, AuthError, MemoryPeopleStore, PersonRecord, Principal, Role, Scope
from headrace.auth.oidc_access import OidcTokens, agent_name
from headrace.auth.oidc_provider import LEAST_WAIT, Providers

HERE = "https://headrace.example"
PARTNER_KEY = RSAKey.generate_key(2048, {"kid": "one", "use": "sig"})
"""Of another provider, under the same name as the key of the first."""
pytestmark = pytest.mark.anyio


class Callers:
    """Somebody whom a provider knows, and what knows their tokens."""

    def __init__(self, documents: Documents, **issuer: object) -> None:
        self.documents = documents
        self.clock = OwnClock()
        self.store = MemoryPeopleStore()
        declared = replace(issuer_at(documents.url), **{"access_tokens": True, **issuer})  # type: ignore[arg-type]
        self.providers = Providers([declared], self.clock)
        self.tokens = OidcTokens(self.providers, HERE, self.store, self.store, self.clock)

    async def settle(self) -> None:
        roles = frozenset({Role.REQUESTER})
        pia = PersonRecord(id="pn_pia", name="pia", roles=roles, granted_roles=roles, state="active", created=NOW)
        await self.store.add_person(pia)
        await self.store.link("pn_pia", self.documents.url, "pia", NOW)

    async def principal(self, resource: str = "", **changed: object) -> Principal:
        return await self.tokens.principal(access_token(self.documents, **changed), resource)


def access_token(documents: Documents, **changed: object) -> str:
    given = {"aud": HERE, "client_id": "notebook", "scope": "openid transfer:read transfer:plan", "nonce": None}
    typ = str(changed.pop("typ", "at+jwt"))
    return signed(claims(documents, **(given | changed)), typ=typ)


@pytest.fixture
async def callers(anew: Documents) -> AsyncIterator[Callers]:
    found = Callers(anew)
    await found.settle()
    yield found
    await found.providers.close()


async def refused(callers: Callers, token: str, resource: str = "") -> bool:
    """Whether a token is nobody's here, and for no other reason."""
    try:
        await callers.tokens.principal(token, resource)
    except AuthError as error:
        return error.code is AuthCode.NOT_SIGNED_IN
    return False


async def test_a_token_for_this_service_is_its_person_s_with_its_scopes_and_the_client_as_agent(
    callers: Callers,
) -> None:
    found = await callers.principal()
    assert (found.id, found.session, found.method, found.agent) == ("pn_pia", False, "oidc", "notebook")
    assert found.scopes == {Scope.TRANSFER_READ, Scope.TRANSFER_PLAN}


async def test_a_client_that_is_its_own_subject_is_no_agent(callers: Callers) -> None:
    assert (await callers.principal(client_id="pia")).agent is None


async def test_no_scope_of_a_token_goes_beyond_its_person_s_roles_or_what_a_token_may_hold(callers: Callers) -> None:
    every = " ".join(Scope)
    found = await callers.principal(scope=every)
    assert not found.scopes & {Scope.TRANSFER_APPROVE, Scope.ADMIN, Scope.POLICY_WRITE, Scope.NODE_WRITE}
    assert (await callers.principal(scope=None)).scopes == frozenset()
    assert (await callers.principal(scope=None, scp=["transfer:read", 7])).scopes == {Scope.TRANSFER_READ}


async def test_a_token_counts_at_the_resource_that_it_was_made_for(callers: Callers) -> None:
    assert await callers.principal("/mcp", aud=f"{HERE}/mcp")
    assert await callers.principal("/mcp", aud=["https://other.example", f"{HERE}/mcp"])
    assert await refused(callers, access_token(callers.documents), "/mcp")
    assert await refused(callers, access_token(callers.documents, aud=f"{HERE}/mcp"))


async def test_a_token_of_another_service_is_refused(callers: Callers) -> None:
    for aud in ("https://other.example", f"{HERE}.evil.example", f"{HERE}/", "headrace", None, [], ["x"], 7):
        assert await refused(callers, access_token(callers.documents, aud=aud)), aud


async def test_an_id_token_is_no_access_token(anew: Documents) -> None:
    for untyped in (False, True):
        callers = Callers(anew, untyped_access_tokens=untyped, audience="api://headrace")
        await callers.settle()
        assert await refused(callers, signed(claims(anew)))
        assert await refused(callers, signed(claims(anew, aud="api://headrace", client_id="x")))
        await callers.providers.close()


async def test_where_the_client_is_called_like_the_service_an_id_token_is_no_access_token_either(
    anew: Documents,
) -> None:
    callers = Callers(anew, untyped_access_tokens=True, client_id=HERE)
    await callers.settle()
    # As a device's sign-in, or a refresh, brings one: without a nonce.
    id_token = signed(claims(anew, aud=HERE, azp="headrace", nonce=None, scope="transfer:read"), typ="JWT")
    assert await refused(callers, id_token)
    assert await callers.principal("/mcp", aud=f"{HERE}/mcp")
    await callers.providers.close()


async def test_a_token_that_one_provider_made_counts_for_nobody_of_another(callers: Callers, anew: Documents) -> None:
    """Each provider vouches for its own people only, whatever its tokens say."""
    assert await callers.principal()
    with served() as partner:
        partner.keys = KeySet([PARTNER_KEY]).as_dict(private=False)
        issuers = [
            replace(issuer_at(one.url), id=name, access_tokens=True)
            for name, one in (("corp", anew), ("partner", partner))
        ]
        callers.providers = Providers(issuers, callers.clock)
        callers.tokens = OidcTokens(callers.providers, HERE, callers.store, callers.store, callers.clock)
        body = claims(partner, aud=HERE, client_id="notebook", nonce=None)
        theirs = signed(body, PARTNER_KEY, typ="at+jwt")
        assert await refused(callers, theirs), "pia of the partner is nobody here"
        await callers.store.link("pn_pia", partner.url, "pia", NOW)
        assert (await callers.tokens.principal(theirs)).id == "pn_pia"
        for key, kid in ((PARTNER_KEY, "one"), (PARTNER_KEY, "theirs")):
            posing = signed({**body, "iss": anew.url}, key, typ="at+jwt", kid=kid)
            assert await refused(callers, posing), "the partner signs for corp"
        await callers.providers.close()


async def test_a_token_that_does_not_say_it_is_an_access_token_is_refused_unless_its_provider_never_says_so(
    anew: Documents,
) -> None:
    for untyped in (False, True):
        callers = Callers(anew, untyped_access_tokens=untyped)
        await callers.settle()
        for typ in ("", "JWT"):
            assert await refused(callers, access_token(anew, typ=typ)) is not untyped
        assert await refused(callers, access_token(anew, typ="logout+jwt"))
        await callers.providers.close()


async def test_a_token_that_nobody_could_have_signed_is_refused(callers: Callers) -> None:
    good = access_token(callers.documents)
    head, payload, signature = good.split(".")
    body = claims(callers.documents, aud=HERE, client_id="notebook", nonce=None)
    for token in (
        f"eyJhbGciOiJub25lIiwidHlwIjoiYXQrand0In0.{payload}.",
        by_public_key(body, typ="at+jwt"),
        f"{head}.{access_token(callers.documents, sub='ada').split('.')[1]}.{signature}",
        f"{head}.{payload}.",
        "a.b.c", "..", "", f"{head}.{payload}", f"{good}.x", "x" * 20_000,
    ):  # fmt: skip
        assert await refused(callers, token), token[:60]


async def test_a_token_of_an_issuer_that_makes_none_for_this_service_is_refused(anew: Documents) -> None:
    callers = Callers(anew, access_tokens=False)
    await callers.settle()
    assert await refused(callers, access_token(anew))
    assert await refused(callers, access_token(anew, iss="https://other.example"))
    assert anew.asked == 0


async def test_a_token_that_has_expired_is_not_good_yet_or_is_from_the_future_is_refused(callers: Callers) -> None:
    for changed in ({"exp": AT - 31}, {"exp": None}, {"nbf": AT + 31}, {"iat": AT + 31}, {"iat": None}, {"exp": "x"}):
        assert await refused(callers, access_token(callers.documents, **changed)), changed
    assert await callers.principal(exp=AT - 29, nbf=AT + 29)


async def test_a_token_counts_for_ten_minutes_however_long_its_provider_means_it_to(callers: Callers) -> None:
    assert await callers.principal(iat=AT - 600, exp=AT + 86_400)
    assert await refused(callers, access_token(callers.documents, iat=AT - 630, exp=AT + 86_400))


async def test_a_token_of_nobody_here_or_of_somebody_disabled_is_refused(callers: Callers) -> None:
    assert await refused(callers, access_token(callers.documents, sub="rob"))
    await callers.store.disable("pn_pia")
    assert await refused(callers, access_token(callers.documents))


async def test_a_token_without_a_client_or_with_a_client_that_has_no_name_to_show_is_refused(callers: Callers) -> None:
    for client in (None, "", 7, "two\nlines", "\u0420ia", "x" * 301, "<b>"):
        assert await refused(callers, access_token(callers.documents, client_id=client)), client
    assert agent_name("https://assistant.example/client.json") == "assistant.example"


async def test_a_thousand_tokens_with_unknown_keys_cost_one_request_for_keys_in_ten_seconds(callers: Callers) -> None:
    assert await callers.principal()
    callers.clock.now += LEAST_WAIT
    body = claims(callers.documents, aud=HERE, client_id="notebook", nonce=None)
    for number in range(1000):
        assert await refused(callers, signed(body, KEY, kid=f"unknown-{number}", typ="at+jwt"))
    assert callers.documents.asked == 2


async def test_tokens_that_come_at_once_share_one_request_for_keys(callers: Callers) -> None:
    found = await asyncio.gather(*(callers.principal() for _ in range(50)))
    assert {one.id for one in found} == {"pn_pia"}
    assert callers.documents.asked == 1
    callers.clock.now += LEAST_WAIT
    body = claims(callers.documents, aud=HERE, client_id="notebook", nonce=None)
    flood = [signed(body, KEY, kid=f"unknown-{number}", typ="at+jwt") for number in range(100)]
    assert all(await asyncio.gather(*(refused(callers, token) for token in flood)))
    assert callers.documents.asked == 2


async def test_who_calls_is_known_while_the_provider_is_away(callers: Callers) -> None:
    assert await callers.principal()
    callers.documents.away = True
    callers.clock.now += timedelta(minutes=15)
    assert await callers.principal(iat=AT + 900, exp=AT + 1200)
