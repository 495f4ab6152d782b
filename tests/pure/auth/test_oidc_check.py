"""What `headrace auth check` says of a provider that is not as it was declared."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.pure.auth.documents import Documents, issuer_at

from headrace.auth.oidc_check import check_issuer

GOOD = {"id_token_signing_alg_values_supported": ["RS256"], "backchannel_logout_supported": True}
pytestmark = pytest.mark.anyio


async def said_of(documents: Documents, later: int = 0, **issuer: Any) -> tuple[list[str], list[str]]:  # noqa: ANN401
    """What is good, and what is bad."""
    documents.answers.setdefault("/token", (400, {"error": "invalid_grant"}))
    declared = replace(issuer_at(documents.url), **{"client_secret": "s", **issuer})
    findings = check_issuer(declared, "https://here.example", lambda: datetime.now(UTC) + timedelta(seconds=later))
    found = [finding async for finding in findings]
    return [one.said for one in found if one.good], [one.said for one in found if not one.good]


async def test_a_provider_as_declared_is_good_and_says_what_to_register(anew: Documents) -> None:
    anew.changed = GOOD
    good, bad = await said_of(anew)
    assert bad == []
    assert any("https://here.example/api/v1/sign-in/corp/callback" in one for one in good)
    assert "it knows the client `headrace`" in good
    assert "it says here when a session ends there" in good


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"issuer": "https://other.example"}, "`url` must be exactly"),
        ({"jwks_uri": None}, "no `jwks_uri`"),
        ({"id_token_signing_alg_values_supported": ["HS256", "none"]}, "signs ID tokens with none of"),
        ({"code_challenge_methods_supported": ["plain"]}, "PKCE"),
        ({"token_endpoint_auth_methods_supported": ["private_key_jwt"]}, "`client_secret_basic`"),
    ],
)
async def test_what_a_provider_lacks_is_said(anew: Documents, changed: dict[str, object], told: str) -> None:
    anew.changed = {**GOOD, **changed}
    _, bad = await said_of(anew)
    assert [told in one for one in bad] == [True]


async def test_a_wrong_secret_clock_or_device_grant_and_keys_that_cannot_be_used_are_said(anew: Documents) -> None:
    anew.changed = GOOD
    assert "set the wrong one right" in (await said_of(anew, later=40))[1][0]
    assert "signs nobody in on another device" in (await said_of(anew, device_sign_in=True))[1][0]
    anew.answers["/token"] = (401, {"error": "invalid_client"})
    assert "the secret is wrong" in (await said_of(anew))[1][0]
    anew.keys = {"keys": []}
    assert "the keys can't be used" in (await said_of(anew))[1][0]


async def test_what_to_register_is_said_first_also_without_an_answer_and_without_a_public_address() -> None:
    away = replace(issuer_at("http://127.0.0.1:9"), client_secret="s")  # noqa: S106 - no secret
    for public_url, told in (
        ("https://here.example", "https://here.example/api/v1/sign-in/corp/callback"),
        ("", "<HEADRACE_PUBLIC_URL>/api/v1/sign-in/corp/callback (set `HEADRACE_PUBLIC_URL`"),
    ):
        found = [one async for one in check_issuer(away, public_url, lambda: datetime.now(UTC))]
        assert (found[0].good, told in found[0].said, found[-1].good) == (True, True, False)


async def test_a_provider_that_is_not_there_is_said(anew: Documents) -> None:
    assert "nothing listens there" in (await said_of(anew, url="http://127.0.0.1:9"))[1][0]
    assert "`ca_file` can't be read" in (await said_of(anew, ca_file="/nowhere"))[1][0]
    anew.away = True
    assert "503" in (await said_of(anew))[1][0]
