"""How often strangers may have a provider asked."""

from urllib.parse import parse_qs, urlsplit

import pytest
from tests.conformance.identity_store_conformance import bind
from tests.pure.auth.documents import Documents, OwnClock, claims, issuer_at, signed

from headrace.auth import Authenticator, AuthError, GroupBinding, MemoryPeopleStore, Pepper, Role
from headrace.auth.oidc_code_flow import FAILED_LIMIT

pytestmark = pytest.mark.anyio
STRANGER, OTHER = "192.0.2.1", "192.0.2.2"


async def test_made_up_codes_of_one_network_ask_the_provider_two_hundred_times_and_no_more(anew: Documents) -> None:
    store = MemoryPeopleStore()
    await bind(store, GroupBinding(issuer=anew.url, group="staff", roles=frozenset({Role.VIEWER})))
    authenticator = Authenticator(store, store, store, OwnClock(), Pepper(b"p" * 32), issuers=[issuer_at(anew.url)])
    sign_in = authenticator.oidc

    async def tried(address: str) -> str:
        begun = await sign_in.begin("corp", "/")
        query = parse_qs(urlsplit(begun.url).query)
        if address != STRANGER:
            token = signed(claims(anew, nonce=query["nonce"][0]))
            anew.answers["/token"] = (200, {"id_token": token, "access_token": "x", "token_type": "Bearer"})
        try:
            await authenticator.come_back("corp", begun.kept, {"code": "made up", "state": query["state"][0]}, address)
        except AuthError as error:
            return error.code
        return "signed in"

    anew.answers = {"/token": (400, {"error": "invalid_grant"})}
    assert {await tried(STRANGER) for _ in range(FAILED_LIMIT.attempts)} == {"sign_in_refused"}
    asked = anew.posted.count("/token")
    assert await tried(STRANGER) == "too_many_attempts"
    assert anew.posted.count("/token") == asked == FAILED_LIMIT.attempts
    assert {await tried(OTHER) for _ in range(FAILED_LIMIT.attempts + 1)} == {"signed in"}
    await authenticator.close()
