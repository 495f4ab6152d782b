"""What is believed of an ID token, of a provider's documents, and of the file that declares providers."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from joserfc import jwt
from joserfc.jwk import KeySet, OctKey, RSAKey
from tests.pure.auth.documents import (
    AT,
    KEY,
    LATER_KEY,
    NOW,
    Documents,
    OwnClock,
    by_public_key,
    claims,
    issuer_at,
    signed,
)

from headrace.auth import IssuerError, read_issuers
from headrace.auth.oidc_claims import vouched
from headrace.auth.oidc_provider import (
    FRESH_FOR,
    LEAST_WAIT,
    MAX_ANSWER_BYTES,
    STALE_FOR,
    Provider,
    ProviderFailed,
    TokenRefused,
)


async def checked(documents: Documents, token: str, clock: Callable[[], datetime] = OwnClock()) -> Any:  # noqa: ANN401, B008
    provider = Provider(issuer_at(documents.url), clock)
    try:
        return vouched(await provider.verified(token), provider.issuer, "n", NOW)
    finally:
        await provider.close()


@pytest.mark.anyio
async def test_what_an_id_token_says_is_believed_when_everything_is_right(anew: Documents) -> None:
    found = await checked(anew, signed(claims(anew)))
    assert (found.issuer, found.subject, found.name, found.sid) == (anew.url, "pia", "Pia", "s1")
    assert (found.groups, found.factors) == ({"staff"}, {"pwd", "otp"})
    assert found.at == NOW - timedelta(seconds=60)


@pytest.mark.anyio
@pytest.mark.parametrize(
    "changed",
    [
        {"iss": "https://other.example"}, {"iss": None}, {"aud": "other"}, {"aud": None}, {"aud": ["other"]},
        {"aud": ["headrace", "other"]}, {"aud": ["headrace", "other"], "azp": "other"}, {"azp": "other"},
        {"sub": None}, {"sub": ""}, {"sub": 7}, {"sub": "x" * 301}, {"sub": "two\nlines"},
        {"nonce": "another"}, {"nonce": None}, {"exp": AT - 31}, {"exp": None}, {"exp": "soon"},
        {"iat": AT + 31}, {"iat": None}, {"nbf": AT + 31}, {"auth_time": AT + 31}, {"auth_time": "now"},
        {"groups": {"staff": True}}, {"groups": ["staff", 7]}, {"groups": ["a\nb"]}, {"groups": ["x"] * 1001},
        {"groups": None, "_claim_names": {"groups": "src1"}}, {"sid": 7}, {"sid": ""},
    ],
)  # fmt: skip
async def test_an_id_token_with_a_claim_that_is_not_right_is_refused(
    anew: Documents, changed: dict[str, object]
) -> None:
    token = signed(claims(anew, **changed))
    with pytest.raises(TokenRefused):
        await checked(anew, token)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("claim", "given", "found"),
    [
        ("roles", {"roles": ["mover"]}, {"mover"}),
        ("roles", {"roles": "mover"}, {"mover"}),
        ("realm_access.roles", {"realm_access": {"roles": ["mover", "x"]}}, {"mover", "x"}),
        ("resource_access.headrace.roles", {"resource_access": {"headrace": {"roles": ["mover"]}}}, {"mover"}),
        ("resource_access.headrace.roles", {"resource_access": {"other": {"roles": ["mover"]}}}, set()),
        ("realm_access.roles", {"realm_access": ["roles"]}, set()),
        ("https://corp.example/roles", {"https://corp.example/roles": ["mover"]}, {"mover"}),
        ("a.b", {"a.b": ["mine"], "a": {"b": ["other"]}}, {"mine"}),
    ],
)
async def test_groups_or_roles_come_from_the_claim_that_the_site_names(
    anew: Documents, claim: str, given: dict[str, object], found: set[str]
) -> None:
    provider = Provider(replace(issuer_at(anew.url), groups_claim=claim), OwnClock())
    token = await provider.verified(signed(claims(anew, **given)))
    assert vouched(token, provider.issuer, "n", NOW).groups == found
    await provider.close()


@pytest.mark.anyio
@pytest.mark.parametrize(
    "given",
    [
        {"realm_access": {"roles": {"mover": True}}},
        {"realm_access": {"roles": 7}},
        {"_claim_names": {"realm_access": "src1"}},
    ],
)
async def test_roles_that_nobody_can_read_or_that_were_left_out_are_refused(
    anew: Documents, given: dict[str, object]
) -> None:
    provider = Provider(replace(issuer_at(anew.url), groups_claim="realm_access.roles"), OwnClock())
    token = await provider.verified(signed(claims(anew, **given)))
    with pytest.raises(TokenRefused):
        vouched(token, provider.issuer, "n", NOW)
    await provider.close()


@pytest.mark.anyio
async def test_clocks_may_differ_by_thirty_seconds(anew: Documents) -> None:
    assert await checked(anew, signed(claims(anew, exp=AT - 29, iat=AT - 600)))
    assert (await checked(anew, signed(claims(anew, iat=AT + 29, auth_time=AT + 29)))).at == NOW


@pytest.mark.anyio
@pytest.mark.parametrize("typ", ["at+jwt", "application/at+jwt", "logout+jwt"])
async def test_another_kind_of_token_is_no_id_token(anew: Documents, typ: str) -> None:
    with pytest.raises(TokenRefused, match="no ID token"):
        await checked(anew, signed(claims(anew), typ=typ))


@pytest.mark.anyio
async def test_a_token_signed_with_what_everybody_can_read_is_refused(anew: Documents) -> None:
    body = claims(anew)
    head, payload, signature = signed(body).split(".")
    forged = [
        by_public_key(body),
        f"{jwt.encode({'alg': 'HS256'}, body, OctKey.import_key('x' * 40)).split('.')[0]}.{payload}.{signature}",
        f"eyJhbGciOiJub25lIn0.{payload}.",
        f"{head}.{payload}.",
        f"{head}.{signed(claims(anew, sub='ada')).split('.')[1]}.{signature}",
        signed(body, RSAKey.generate_key(2048)),
        "nothing",
        "",
        "x" * 20_000,
    ]
    for token in forged:
        with pytest.raises(TokenRefused):
            await checked(anew, token)


@pytest.mark.anyio
async def test_the_shown_name_is_one_that_no_other_looks_like(anew: Documents) -> None:
    for name, shown in (
        ("Pia Grün", "Pia Grün"),
        ("\u0420ia", "pia@corp"),
        ("admin\u202e", "pia@corp"),
        ("pn_0123456789abcdef", "pia@corp"),
        (None, "pia@corp"),
    ):
        token = signed(claims(anew, name=name, preferred_username="pia@corp"))
        assert (await checked(anew, token)).name == shown


@pytest.mark.anyio
async def test_unknown_keys_cost_one_request_in_ten_seconds(anew: Documents) -> None:
    clock = OwnClock()
    provider = Provider(issuer_at(anew.url), clock)
    await provider.verified(signed(claims(anew)))
    assert anew.asked == 1
    clock.now += LEAST_WAIT
    for number in range(1000):
        with pytest.raises(TokenRefused):
            await provider.verified(signed(claims(anew), KEY, kid=f"unknown-{number}"))
    assert anew.asked == 2
    anew.keys = KeySet([KEY, LATER_KEY]).as_dict(private=False)
    later = jwt.encode({"alg": "ES256", "kid": "two"}, claims(anew), LATER_KEY, algorithms=["ES256"])
    with pytest.raises(TokenRefused):
        await provider.verified(later)
    clock.now += LEAST_WAIT
    assert (await provider.verified(later)).claims["sub"] == "pia"
    assert anew.asked == 3
    await provider.close()


@pytest.mark.anyio
async def test_a_key_that_the_provider_took_back_is_believed_for_ten_minutes_at_most(anew: Documents) -> None:
    clock = OwnClock()
    provider = Provider(issuer_at(anew.url), clock)
    await provider.verified(signed(claims(anew)))
    anew.keys = KeySet([LATER_KEY]).as_dict(private=False)
    clock.now += FRESH_FOR
    with pytest.raises(TokenRefused):
        await provider.verified(signed(claims(anew)))
    await provider.close()


@pytest.mark.anyio
async def test_while_a_provider_is_away_its_keys_are_used_for_an_hour(anew: Documents) -> None:
    clock = OwnClock()
    provider = Provider(issuer_at(anew.url), clock)
    await provider.verified(signed(claims(anew)))
    anew.away = True
    clock.now += STALE_FOR - timedelta(seconds=1)
    assert await provider.verified(signed(claims(anew)))
    clock.now += timedelta(seconds=1)
    with pytest.raises(ProviderFailed):
        await provider.verified(signed(claims(anew)))
    anew.away = False
    clock.now += LEAST_WAIT
    assert await provider.verified(signed(claims(anew)))
    await provider.close()


@pytest.mark.anyio
@pytest.mark.parametrize(
    "changed",
    [
        {"issuer": "https://other.example"}, {"issuer": None}, {"token_endpoint": None},
        {"authorization_endpoint": "http://other.example/authorize"}, {"jwks_uri": "file:///etc/passwd"},
        {"end_session_endpoint": 7}, {"padding": "x" * MAX_ANSWER_BYTES},
    ],
)  # fmt: skip
async def test_a_discovery_document_that_cannot_be_used_is_refused(anew: Documents, changed: dict[str, object]) -> None:
    anew.changed = changed
    provider = Provider(issuer_at(anew.url), OwnClock())
    with pytest.raises(ProviderFailed):
        await provider.discovered()
    await provider.close()


@pytest.mark.anyio
@pytest.mark.parametrize("keys", [[], {}, {"keys": []}, {"keys": [{"kty": "RSA"}]}, {"keys": [7]}, {"keys": 7}])
async def test_keys_that_cannot_be_used_are_the_provider_s_fault(anew: Documents, keys: object) -> None:
    anew.keys = keys
    with pytest.raises(ProviderFailed):
        await checked(anew, signed(claims(anew)))


GOOD = '[[issuer]]\nid = "corp"\nname = "Corp"\nurl = "https://login.example.org"\nclient_id = "headrace"\n'


def test_issuers_are_read_with_their_secrets_from_files(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("s3cret\n")
    file = tmp_path / "issuers.toml"
    file.write_text(GOOD + 'client_secret_file = "secret"\nca_file = "ca.pem"\nscopes = ["openid", "groups"]\n')
    [issuer] = read_issuers(file, Path.read_bytes)
    assert (issuer.client_secret, issuer.ca_file) == ("s3cret", str(tmp_path / "ca.pem"))
    assert issuer.scopes == ("openid", "groups")
    assert "s3cret" not in repr(issuer)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "1 to 20"), ("x = 1", "1 to 20"), ("[issuer]", "1 to 20"), ("[[", "is not TOML"), (GOOD * 21, "1 to 20"),
        (GOOD + GOOD, "twice"), (GOOD.replace('"corp"', '"Corp/.."'), "`id`"), (GOOD.replace("https", "http"), "`url`"),
        (GOOD.replace("example.org", "example.org?x"), "`url`"), (GOOD + "client_secret = 's'", "unknown"),
        (GOOD.replace("client_id", "#"), "`client_id` is missing"), (GOOD + "scopes = ['email']", "`scopes`"),
        (GOOD + "access_token_max_s = 601", "`access_token_max_s` must be 1 to 600"),
        (GOOD + "client_secret_file = 'nowhere'", "can't be read"), (GOOD + "client_secret_file = 'empty'", "is empty"),
    ],
)  # fmt: skip
def test_a_file_of_issuers_that_cannot_be_used_says_what_is_wrong(tmp_path: Path, text: str, named: str) -> None:
    (tmp_path / "empty").touch()
    file = tmp_path / "issuers.toml"
    file.write_text(text)
    with pytest.raises(IssuerError, match=named):
        read_issuers(file, Path.read_bytes)
