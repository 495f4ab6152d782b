"""Access tokens of a real OpenID provider at the API and at /mcp of a real service."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.servers.headrace import PASSWORD, Service, serving
from tests.servers.provider import OpenIdProvider, walk

from headrace.auth import TOKEN_SCOPES
from headrace.mcp_server import SCOPE_OF_TOOL

NO_ARGUMENTS: dict[str, Any] = {}


@dataclass(frozen=True)
class Desk:
    """A service that takes the access tokens of a provider, and somebody whom both know."""

    service: Service
    provider: OpenIdProvider
    admin: str
    pia: str

    def api(self, method: str, path: str, secret: str | None, body: object = None) -> httpx2.Response:
        headers = {"authorization": f"Bearer {secret}"} if secret else {}
        return httpx2.request(method, f"{self.service.url}/api/v1{path}", headers=headers, json=body)

    def mcp(self, secret: str | None, method: str, **params: object) -> httpx2.Response:
        meta = {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        headers = {
            "accept": "application/json, text/event-stream", "mcp-protocol-version": "2026-07-28", "mcp-method": method,
        }  # fmt: skip
        headers |= {"mcp-name": str(params["name"])} if "name" in params else {}
        headers |= {"authorization": f"Bearer {secret}"} if secret else {}
        call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
        return httpx2.post(f"{self.service.url}/mcp", headers=headers, json=call)

    def token(self, scope: str, resource: str = "", user: str = "pia") -> str:
        return str(self.provider.token_for(f"{self.service.url}{resource}", scope, user)["access_token"])


@pytest.fixture(scope="module")
def desk(provider: OpenIdProvider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    folder = tmp_path_factory.mktemp("headrace")
    file = provider.declared(folder, access_tokens=True)
    with serving(folder, oidc_issuers=str(file)) as service:
        admin = httpx2.post(f"{service.url}/api/v1/sessions", json={"name": "admin", "password": PASSWORD}).json()
        opened = Desk(service, provider, str(admin["secret"]), "")
        proof = {"password": PASSWORD}
        binding = {"issuer": provider.url, "group": "staff", "roles": ["requester"]}
        proposed = opened.api("POST", "/group-bindings/proposals", opened.admin, {"bindings": [binding]}).json()
        invited = opened.api(
            "POST", "/people/invitations", opened.admin, proof | {"name": "zoe", "roles": ["admin"]}
        ).json()
        accepted = {"token": invited["link"].partition("#")[2], "password": PASSWORD}
        second = opened.api("POST", "/invitations/accept", None, accepted).json()["secret"]
        path = f"/group-bindings/proposals/{proposed['proposed']['id']}/publish"
        assert opened.api("POST", path, second, proof).status_code == 200
        provider.client("headrace", service.url, "corp")
        yield Desk(service, provider, opened.admin, arrived(opened, "pia"))


def arrived(desk: Desk, user: str) -> str:
    """Have somebody sign in at the provider once, and return who they are here."""
    desk.provider.person(user, name=user.title(), groups=["staff"])
    here = f"{desk.service.url}/api/v1/sign-in/corp"
    with httpx2.Client() as browser:
        at = browser.get(here).headers["location"]
        browser.get(f"{here}/callback", params=walk(at, f"{here}/callback", user))
        cookies = {"cookie": f"headrace={browser.cookies['headrace']}"}
    return str(httpx2.get(f"{desk.service.url}/api/v1/me", headers=cookies).json()["id"])


def test_every_tool_says_which_scope_it_needs() -> None:
    tools = json.loads((Path(__file__).parent / "golden_tools.json").read_text(encoding="utf-8"))
    assert {tool["name"] for tool in tools} == set(SCOPE_OF_TOOL)
    assert set(SCOPE_OF_TOOL.values()) <= TOKEN_SCOPES


def test_a_program_acts_at_the_api_for_the_person_who_signed_in_there_within_its_scopes(desk: Desk) -> None:
    token = desk.token("transfer:read")
    me = desk.api("GET", "/me", token).json()
    assert (me["id"], me["agent"], me["session"], me["scopes"]) == (desk.pia, "notebook", False, ["transfer:read"])
    assert desk.api("GET", "/transfers", token).status_code == 200
    refused = desk.api("POST", "/plans", token, {"words": "copy src:/a to dst:/b"})
    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
    challenge = refused.headers["www-authenticate"]
    assert 'error="insufficient_scope"' in challenge
    assert 'scope="transfer:plan"' in challenge
    assert (
        desk.api("POST", "/tokens", desk.token("transfer:read transfer:run"), {"name": "t", "scopes": ["x"]}).json()[
            "code"
        ]
        == "session_needed"
    )


def test_who_asks_without_a_token_learns_where_tokens_are_made(desk: Desk) -> None:
    url, provider = desk.service.url, desk.provider.url
    for answer, path in ((desk.api("GET", "/me", None), ""), (desk.mcp(None, "tools/list"), "/mcp")):
        assert answer.status_code == 401
        metadata = f"{url}/.well-known/oauth-protected-resource{path}"
        assert f'resource_metadata="{metadata}"' in answer.headers["www-authenticate"]
        found = httpx2.get(metadata).json()
        assert (found["resource"], found["authorization_servers"]) == (f"{url}{path}", [provider])
        assert "transfer:plan" in found["scopes_supported"]
        assert "admin" not in found["scopes_supported"]
    assert httpx2.get(f"{url}/.well-known/oauth-protected-resource/other").status_code == 404


def test_an_assistant_with_an_access_token_uses_the_tools_of_its_scopes_and_learns_which_it_lacks(desk: Desk) -> None:
    token = desk.token("transfer:read", "/mcp")
    assert desk.mcp(token, "tools/list").status_code == 200
    listed = desk.mcp(token, "tools/call", name="list_endpoints", arguments=NO_ARGUMENTS)
    assert listed.status_code == 200
    assert "dst" in listed.text
    for tool, scope in (("plan_transfer", "transfer:plan"), ("submit_plan", "transfer:run")):
        refused = desk.mcp(token, "tools/call", name=tool, arguments=NO_ARGUMENTS)
        assert refused.status_code == 403
        challenge = refused.headers["www-authenticate"]
        assert 'error="insufficient_scope"' in challenge
        assert f"{scope}" in challenge
        assert "resource_metadata=" in challenge


def test_a_token_for_something_else_is_refused_at_mcp_and_at_the_api(desk: Desk) -> None:
    given = desk.provider.token_for(desk.service.url, "transfer:read", "pia")
    other = desk.provider.token_for("https://other.example", "transfer:read", "pia")["access_token"]
    for_mcp = desk.token("transfer:read", "/mcp")
    for secret in (given["access_token"], given["id_token"], other, desk.admin):
        assert desk.mcp(str(secret), "tools/list").status_code == 401
    for secret in (given["id_token"], other, for_mcp):
        answer = desk.api("GET", "/me", str(secret))
        assert (answer.status_code, answer.json()["code"]) == (401, "not_signed_in")
        assert 'error="invalid_token"' in answer.headers["www-authenticate"]


def test_a_pipeline_with_credentials_of_its_own_acts_once_an_administrator_has_linked_it(desk: Desk) -> None:
    token = desk.provider.token_of("nightly", desk.service.url, "transfer:read transfer:plan")["access_token"]
    assert desk.api("GET", "/me", str(token)).status_code == 401
    link = {"issuer": desk.provider.url, "subject": "nightly"}
    assert (
        desk.api("POST", f"/people/{desk.pia}/identities", desk.admin, link | {"password": PASSWORD}).status_code == 200
    )
    me = desk.api("GET", "/me", str(token)).json()
    assert (me["id"], me["agent"], me["scopes"]) == (desk.pia, None, ["transfer:plan", "transfer:read"])


def test_a_pipeline_with_credentials_of_its_own_can_be_a_service_accounts(desk: Desk) -> None:
    token = str(desk.provider.token_of("weekly", desk.service.url, "transfer:read transfer:plan")["access_token"])
    proof = {"password": PASSWORD}
    made = desk.api("POST", "/people/service-accounts", desk.admin, proof | {"name": "weekly", "roles": ["requester"]})
    robot = made.json()["id"]
    link = proof | {"issuer": desk.provider.url, "subject": "weekly"}
    assert desk.api("POST", f"/people/{robot}/identities", desk.admin, link).status_code == 200
    me = desk.api("GET", "/me", token).json()
    assert (me["id"], me["name"], me["agent"], me["session"]) == (robot, "weekly", None, False)
    assert me["scopes"] == ["transfer:plan", "transfer:read"]
    # No token of a provider is a session of the account: nobody signs in as it.
    assert desk.api("POST", "/tokens", token, {"name": "t", "scopes": ["transfer:read"]}).status_code == 403
    audited = desk.api("GET", "/audit?kind=identity_linked", desk.admin).json()["items"]
    assert (audited[-1]["subject"], audited[-1]["detail"]["subject"]) == (robot, "weekly")
    assert desk.api("POST", f"/people/{robot}/identities/remove", desk.admin, link).status_code == 200
    assert desk.api("GET", "/me", token).status_code == 401, "it is nobody's any more"
    assert desk.api("POST", f"/people/{robot}/identities", desk.admin, link).status_code == 200
    assert desk.api("GET", "/me", token).status_code == 200
    assert desk.api("POST", f"/people/{robot}/disable", desk.admin).status_code == 200
    assert desk.api("GET", "/me", token).status_code == 401


def test_a_token_of_a_person_who_is_disabled_here_counts_no_longer(desk: Desk) -> None:
    rob = arrived(desk, "rob")
    token = desk.token("transfer:read", user="rob")
    assert desk.api("GET", "/me", token).json()["id"] == rob
    assert desk.api("POST", f"/people/{rob}/disable", desk.admin).status_code == 200
    assert desk.api("GET", "/me", token).status_code == 401
