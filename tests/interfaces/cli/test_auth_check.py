"""`headrace auth check` against a real OpenID provider."""

import json
from pathlib import Path

from tests.servers.headrace import Person
from tests.servers.private import private
from tests.servers.provider import OpenIdProvider


def test_auth_check_ends_with_one_and_says_what_is_wrong_with_a_provider(
    provider: OpenIdProvider, tmp_path: Path
) -> None:
    operator = Person("operator", "", tmp_path)
    provider.client("checked", "http://127.0.0.1", "corp")
    file = str(provider.declared(tmp_path, client="checked"))
    checked = operator.run("auth", "check", HEADRACE_OIDC_ISSUERS=file)
    assert checked.code == 0, checked.out
    assert "it knows the client `checked`" in checked.out
    assert "and no other: http://127.0.0.1:8470/api/v1/sign-in/corp/callback" in checked.out
    elsewhere = {"HEADRACE_LISTEN": "0.0.0.0:8470", "HEADRACE_TLS_CERT": "x", "HEADRACE_TLS_KEY": "x"}
    unknown = operator.run("auth", "check", HEADRACE_OIDC_ISSUERS=file, **elsewhere).out
    assert "<HEADRACE_PUBLIC_URL>/api/v1/sign-in/corp/callback (set `HEADRACE_PUBLIC_URL`" in unknown
    private(tmp_path / "client.secret", "wrong")
    refused = operator.run("auth", "check", "--json", HEADRACE_OIDC_ISSUERS=file)
    assert refused.code == 1
    [told] = [one["said"] for one in json.loads(refused.out)[provider.url] if not one["good"]]
    assert "`client_id` or the secret is wrong" in told


def test_auth_check_without_settings_says_that_none_are_set_in_this_shell(tmp_path: Path) -> None:
    said = Person("operator", "", tmp_path).run("auth", "check").out
    assert "are set here, in this shell" in said
    assert "run this with the service's settings" in said
