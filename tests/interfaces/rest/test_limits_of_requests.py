"""What strangers send is not parsed before it is known to be small: the one thread that parses answers everybody."""

import base64
from pathlib import Path

import httpx2
import pytest
from tests.interfaces.rest.test_http import HOST, browser, code_of
from tests.servers.site import Site, started_site

from headrace.api.app.web import create_app
from headrace.api.http.guard import MAX_UNKNOWN_BODY, Origins
from headrace.api.http.heads import MAX_HEADER_BYTES, MAX_HEADERS, MAX_TARGET, with_own_cookies
from headrace.api.settings import Settings

ISSUERS = """
[[issuer]]
id = "corp"
name = "Corporation"
url = "http://127.0.0.1:9"
client_id = "headrace"
"""
FORM = {"content-type": "application/x-www-form-urlencoded"}
JSON = {"content-type": "application/json"}


@pytest.mark.anyio
async def test_a_request_with_a_long_address_is_refused_on_every_route(quiet_site: Site) -> None:
    long = "%41=%41&" * (MAX_TARGET // 8)
    async with browser(quiet_site) as client:
        for path in ("/health", "/me", "/sign-in/corp/callback", "/nothing/at/all"):
            assert code_of(await client.get(f"{path}?{long}")) == (414, "invalid_request")
        assert code_of(await client.get("/health" + "/a" * MAX_TARGET)) == (414, "invalid_request")
        assert code_of(await client.get(f"/health?{long[:4000]}")) == (422, "invalid_request")  # read, and not known


@pytest.mark.anyio
async def test_a_request_with_too_many_headers_or_too_much_in_them_is_refused(quiet_site: Site) -> None:
    async with browser(quiet_site) as client:
        many = [("a", "b")] * (MAX_HEADERS + 1)
        for headers in (many, [("a", "b" * MAX_HEADER_BYTES)]):
            answer = await client.get("/health", headers=headers)
            assert code_of(answer) == (431, "invalid_request")
        assert (await client.get("/health", headers=many[:50])).status_code == 200


@pytest.mark.anyio
async def test_cookies_of_other_services_are_not_even_read(quiet_site: Site) -> None:
    ours = f"headrace={quiet_site.ada.secret}"
    # Python unquotes such a value in a time that grows with the square of its length.
    quoted = '"' + '\\"' * 100 + '"'
    others = (f"theirs={quoted}", f"headrace-more={quoted}", "a=b; c", f"headrace={quoted}")
    for other in others:
        scope = with_own_cookies({"headers": [(b"cookie", f"{other}; {ours}".encode()), (b"accept", quoted.encode())]})
        assert scope["headers"] == [(b"cookie", ours.encode()), (b"accept", quoted.encode())]
    async with browser(quiet_site) as client:
        for other in others:
            assert (await client.get("/me", headers={"cookie": f"{other}; {ours}"})).status_code == 200
        assert code_of(await client.get("/me", headers={"cookie": f"headrace={quoted}"})) == (401, "not_signed_in")


@pytest.mark.anyio
async def test_a_large_body_is_read_of_somebody_who_is_signed_in_only(quiet_site: Site) -> None:
    large = b'{"text": "' + b"x" * MAX_UNKNOWN_BODY + b'"}'
    known = {"authorization": f"Bearer {quiet_site.ada.secret}"}
    async with browser(quiet_site, **JSON) as client:
        for path in ("/sessions", "/invitations/accept", "/plans", "/policies/check", "/sign-in/corp/device/session"):
            for headers in ({}, {"authorization": "Bearer hrs_nope"}, {"authorization": "Bearer hrt_nope"}):
                answer = await client.post(path, content=large, headers=headers)
                assert code_of(answer) == (401, "not_signed_in")
        assert (await client.post("/policies/check", content=large, headers=known)).status_code == 200
        small = await client.post("/sessions", content=large[:1000])
        assert code_of(small) == (422, "invalid_request"), "a small one is read"


@pytest.mark.anyio
async def test_a_large_call_of_an_assistant_is_refused_before_it_is_read(quiet_site: Site) -> None:
    secret, _ = await quiet_site.ada.token("transfer:read", agent="bot")
    app = create_app(quiet_site.service.gate, Origins.of(f"http://{HOST}"))
    transport = httpx2.ASGITransport(app, raise_app_exceptions=False)
    async with httpx2.AsyncClient(transport=transport, base_url=f"http://{HOST}") as client:
        for token, refused in (("hrt_nope", (401, "not_signed_in")), (secret, (413, "body_too_large"))):
            headers = {"authorization": f"Bearer {token}", **JSON}
            assert code_of(await client.post("/mcp", content=b"[" * 200_000, headers=headers)) == refused


@pytest.mark.anyio
async def test_what_is_nested_without_end_is_refused_and_no_failure_of_the_service(
    quiet_site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    payload = base64.urlsafe_b64encode(b"[" * 11_000).decode().rstrip("=")
    app = create_app(quiet_site.service.gate, Origins.of(f"http://{HOST}"))
    transport = httpx2.ASGITransport(app, raise_app_exceptions=False)
    async with httpx2.AsyncClient(transport=transport, base_url=f"http://{HOST}") as client:
        answer = await client.get("/api/v1/me", headers={"authorization": f"Bearer a.{payload}.c"})
        assert code_of(answer) == (401, "not_signed_in")
        answer = await client.post("/api/v1/sessions", content=b"[" * 30_000, headers=JSON)
        assert code_of(answer) == (400, "invalid_request")
        answer = await client.post("/mcp", content=b"[" * 30_000, headers={"authorization": "Bearer a.b.c", **JSON})
        assert answer.status_code == 401
    assert "nobody expected" not in caplog.text


@pytest.mark.anyio
async def test_a_form_for_a_provider_that_is_none_is_not_read_and_one_of_many_fields_is_refused(tmp_path: Path) -> None:
    (tmp_path / "issuers.toml").write_text(ISSUERS)
    async with (
        started_site(tmp_path, Settings(oidc_issuers=str(tmp_path / "issuers.toml"))) as site,
        browser(site) as client,
    ):
        many = b"%41=%41&" * 4_000
        assert len(many) < MAX_UNKNOWN_BODY
        nobody = await client.post("/sign-in/nobody/back-channel-logout", content=many, headers=FORM)
        assert code_of(nobody) == (404, "not_found")
        there = "/sign-in/corp/back-channel-logout"
        assert code_of(await client.post(there, content=many * 2, headers=FORM)) == (401, "not_signed_in")
        refused = await client.post(there, content=b"logout_token=a.b.c&" + many, headers=FORM)
        assert (refused.status_code, refused.json()) == (400, {"error": "invalid_request"})
