import difflib
import json
import os
import re
from collections.abc import AsyncIterator, Awaitable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from sqlalchemy import text, update
from tests.servers.site import PASSWORD, Site, started_site

from headrace.api.access.health import FRESH
from headrace.api.app.web import create_app
from headrace.api.http.guard import Origins
from headrace.api.settings import Settings
from headrace.api.store.tables_work import PlanRow
from headrace.client import HttpHeadrace
from headrace.client import models as m

HOST = "127.0.0.1:8470"
ORIGIN = f"http://{HOST}"
GOLDEN = Path(__file__).parent / "openapi.json"


@asynccontextmanager
async def browser(site: Site, scheme: str = "http", **headers: str) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of the application in this process, sending `headers` with every request."""
    app = create_app(site.service.gate, Origins.of(f"{scheme}://{HOST}"))
    transport = httpx2.ASGITransport(app, raise_app_exceptions=False)
    async with httpx2.AsyncClient(transport=transport, base_url=f"{scheme}://{HOST}/api/v1", headers=headers) as client:
        yield client


async def bearer(site: Site) -> dict[str, str]:
    return {"authorization": f"Bearer {site.ada.secret}"}


def code_of(answer: httpx2.Response) -> tuple[int, str]:
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    problem = m.Problem.model_validate_json(answer.text)
    assert problem.status == answer.status_code
    return answer.status_code, problem.code


@pytest.mark.anyio
async def test_the_openapi_document_is_the_golden_file(quiet_site: Site) -> None:
    document = create_app(quiet_site.service.gate, Origins.of(f"http://{HOST}")).openapi()
    fresh = json.dumps(document, indent=1, sort_keys=True) + "\n"
    if os.environ.get("HEADRACE_WRITE_GOLDEN"):
        GOLDEN.write_text(fresh, encoding="utf-8")
    kept = GOLDEN.read_text(encoding="utf-8")
    diff = difflib.unified_diff(kept.splitlines(), fresh.splitlines(), "openapi.json", "the service", lineterm="")
    shown = "\n".join(diff)
    assert fresh == kept, f"the API changed; if that is meant, write it with HEADRACE_WRITE_GOLDEN=1\n{shown}"


@pytest.mark.anyio
async def test_health_tells_the_causes_to_an_administrator_and_only_the_status_to_strangers(quiet_site: Site) -> None:
    async with quiet_site.service.whole.core.database.write() as tx:
        await tx.execute(text("CREATE TRIGGER full BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'full'); END"))
    quiet_site.clock.shift += FRESH
    async with browser(quiet_site) as client:
        for secret, told in (("", 0), ("hrs_nope", 0), (quiet_site.ada.secret, 1)):
            answer = await client.get("/health", headers={"authorization": f"Bearer {secret}"})
            health = m.Health.model_validate_json(answer.text)
            assert (health.status, len(health.causes)) == ("degraded", told)


@pytest.mark.anyio
async def test_health_needs_no_sign_in_and_everything_else_does(quiet_site: Site) -> None:
    async with browser(quiet_site) as client:
        assert m.Health.model_validate_json((await client.get("/health")).text).status == "ok"
        for secret in ("", "Bearer", "Bearer hrt_nope", "Bearer hrs_nope", f"Basic {quiet_site.ada.secret}"):
            answer = await client.get("/endpoints", headers={"authorization": secret})
            assert code_of(answer) == (401, "not_signed_in")
            assert answer.headers["www-authenticate"].startswith("Bearer")


@pytest.mark.anyio
async def test_a_person_signs_in_and_out_over_http(quiet_site: Site) -> None:
    async with browser(quiet_site) as client:
        wrong = await client.post("/sessions", json={"name": "ada", "password": "not this one at all"})
        assert code_of(wrong) == (401, "sign_in_refused")
        answer = await client.post("/sessions", json={"name": "Ada", "password": PASSWORD})
        session = m.Session.model_validate_json(answer.text)
        assert answer.status_code == 201
        assert "set-cookie" not in answer.headers
        headers = {"authorization": f"Bearer {session.secret}"}
        assert m.Me.model_validate_json((await client.get("/me", headers=headers)).text).name == "ada"
        assert (await client.delete("/sessions/current", headers=headers)).status_code == 200
        assert code_of(await client.get("/me", headers=headers)) == (401, "not_signed_in")
    assert [event.subject for event in await quiet_site.audited("sign_in_failed")] == [quiet_site.ada.principal.id]


@pytest.mark.anyio
async def test_a_proof_that_is_refused_is_audited_with_the_address_that_it_came_from(quiet_site: Site) -> None:
    async with browser(quiet_site, **await bearer(quiet_site)) as client:
        change = {"password": "not this one at all", "new_password": "tungsten marble orchard 77 lantern"}
        assert code_of(await client.post("/me/password", json=change)) == (403, "proof_refused")
    [failed] = await quiet_site.audited("proof_failed")
    assert failed.detail["address"] == "127.0.0.1"


@pytest.mark.anyio
@pytest.mark.parametrize(("scheme", "cookie"), [("http", "headrace"), ("https", "__Host-headrace")])
async def test_a_browser_gets_a_cookie_that_only_its_own_pages_can_use(
    quiet_site: Site, scheme: str, cookie: str
) -> None:
    origin = f"{scheme}://{HOST}"
    async with browser(quiet_site, scheme) as client:
        body = {"name": "ada", "password": PASSWORD}
        answer = await client.post("/sessions", json=body, headers={"origin": origin})
        assert m.Session.model_validate_json(answer.text).secret == ""
        parts = answer.headers["set-cookie"].lower().split("; ")
        assert parts[0].startswith(f"{cookie.lower()}=hrs_")
        assert {"httponly", "path=/", "samesite=strict"} <= set(parts)
        assert ("secure" in parts) == (scheme == "https")
        assert (await client.get("/me")).status_code == 200
        token = {"name": "t", "scopes": ["transfer:read"]}
        assert code_of(await client.post("/tokens", json=token)) == (403, "wrong_origin")
        foreign = await client.post("/tokens", json=token, headers={"origin": "https://evil.example"})
        assert code_of(foreign) == (403, "wrong_origin")
        assert (await client.post("/tokens", json=token, headers={"origin": origin})).status_code == 201


@pytest.mark.anyio
async def test_a_page_of_another_origin_changes_nothing_by_any_route(quiet_site: Site) -> None:
    """Whatever a browser would send along with it; a provider that says that a session has ended is no browser."""
    app = create_app(quiet_site.service.gate, Origins.of(ORIGIN))
    changing = [
        (method, re.sub(r"{\w+}", "x", path))
        for path, operations in app.openapi()["paths"].items()
        for method in operations
        if method != "get" and not path.endswith("/back-channel-logout")
    ]
    assert len(changing) > 40
    since = (await quiet_site.ada.port.audit(order="newest", limit=1)).items[0].sequence
    async with browser(quiet_site) as client:
        client.cookies.set("headrace", quiet_site.ada.secret, domain="127.0.0.1")
        for origin in ("https://evil.example", "null"):
            for method, path in changing:
                answer = await client.request(method, f"http://{HOST}{path}", content=b"{}", headers={"origin": origin})
                assert code_of(answer) == (403, "wrong_origin"), (method, path)
    assert (await quiet_site.ada.port.audit(order="newest", limit=1)).items[0].sequence == since


@pytest.mark.anyio
async def test_a_session_that_somebody_left_in_the_browser_is_not_the_one_that_a_sign_in_begins(
    quiet_site: Site,
) -> None:
    eve = await quiet_site.person("eve", "viewer")
    async with browser(quiet_site, origin=ORIGIN) as client:
        client.cookies.set("headrace", eve.secret, domain="127.0.0.1")
        assert (await client.post("/sessions", json={"name": "ada", "password": PASSWORD})).status_code == 201
        [kept] = [one.value for one in client.cookies.jar if one.name == "headrace"]
        assert kept not in {eve.secret, quiet_site.ada.secret}
        assert m.Me.model_validate_json((await client.get("/me")).text).name == "ada"
    assert (await quiet_site.use_cases.people.of_session(eve.secret)).name == "eve"


@pytest.mark.anyio
async def test_behind_a_tls_proxy_the_console_signs_in_under_the_public_name(quiet_site: Site) -> None:
    origins = Origins.of("https://headrace.example.org", ORIGIN, proxied=True)
    transport = httpx2.ASGITransport(create_app(quiet_site.service.gate, origins), client=("127.0.0.1", 1))
    body = {"name": "ada", "password": PASSWORD}
    async with httpx2.AsyncClient(transport=transport, base_url=f"{ORIGIN}/api/v1") as proxy:
        public = {"host": "headrace.example.org", "origin": "https://headrace.example.org"}
        answer = await proxy.post("/sessions", json=body, headers=public)
        assert answer.status_code == 201
        assert answer.headers["set-cookie"].startswith("__Host-headrace=hrs_")
        assert "; secure" in answer.headers["set-cookie"].lower()
        assert "strict-transport-security" in answer.headers
        # The same name without TLS is another site.
        plain = await proxy.post("/sessions", json=body, headers={**public, "origin": "http://headrace.example.org"})
        assert code_of(plain) == (403, "wrong_origin")


@pytest.mark.anyio
@pytest.mark.parametrize("proxied", [False, True])
async def test_behind_a_proxy_nobodys_bare_path_means_the_services_own_host(quiet_site: Site, *, proxied: bool) -> None:
    await quiet_site.start_node("here", [("local", str(quiet_site.lab), "delete")])
    origins = Origins.of(ORIGIN, proxied=proxied)
    transport = httpx2.ASGITransport(create_app(quiet_site.service.gate, origins), client=("127.0.0.1", 1))
    async with httpx2.AsyncClient(transport=transport, base_url=f"{ORIGIN}/api/v1") as client:
        read = await client.post("/interpretations", json={"text": "copy /a to /b"}, headers=await bearer(quiet_site))
    assert read.status_code == 200, read.text
    assert read.json()["outcome"] == ("ask" if proxied else "intent"), read.text


@pytest.mark.anyio
async def test_signing_out_empties_what_the_browser_keeps(quiet_site: Site) -> None:
    async with browser(quiet_site, origin=ORIGIN) as client:
        await client.post("/sessions", json={"name": "ada", "password": PASSWORD})
        answer = await client.delete("/sessions/current")
        assert (answer.status_code, answer.json()) == (200, {"elsewhere": None})
        assert answer.headers["clear-site-data"] == '"storage"'
        assert 'headrace=""' in answer.headers["set-cookie"]
        assert code_of(await client.get("/me")) == (401, "not_signed_in")


@pytest.mark.parametrize(
    ("url", "hosts"),
    [
        ("https://a.example", {"a.example", "a.example:443"}),
        ("https://A.example:443", {"a.example", "a.example:443"}),
        ("https://a.example:8470", {"a.example:8470"}),
        ("http://[::1]", {"[::1]", "[::1]:80"}),
        ("http://[::1]:8470", {"[::1]:8470"}),
    ],
)
def test_a_default_port_may_be_said_or_left_out(url: str, hosts: set[str]) -> None:
    assert Origins.of(url).hosts == hosts


@pytest.mark.anyio
async def test_guessing_passwords_is_slowed_down(quiet_site: Site) -> None:
    async with browser(quiet_site) as client:
        answers = [await client.post("/sessions", json={"name": "nobody", "password": "x"}) for _ in range(12)]
    assert code_of(answers[-1]) == (429, "too_many_attempts")
    assert int(answers[-1].headers["retry-after"]) > 0


@pytest.mark.anyio
async def test_a_watch_too_many_is_refused_before_the_stream_begins_and_told_when_to_come_again(tmp_path: Path) -> None:
    async with (
        started_site(tmp_path, Settings(max_watchers_of_one=1)) as site,
        browser(site, **await bearer(site)) as client,
        aclosing(site.ada.port.changes()) as held,
    ):
        await anext(held)
        answer = await client.get("/events")
        assert code_of(answer) == (429, "busy")
        assert int(answer.headers["retry-after"]) > 0
        assert code_of(await client.get("/transfers/tr_nothing/watch")) == (404, "unknown_transfer")


@pytest.mark.anyio
async def test_another_host_name_is_refused(quiet_site: Site) -> None:
    async with browser(quiet_site) as client:
        answer = await client.get("/health", headers={"host": "evil.example"})
        assert code_of(answer) == (421, "wrong_host")


@pytest.mark.anyio
async def test_every_answer_carries_security_headers(quiet_site: Site) -> None:
    async with browser(quiet_site) as client:
        for path in ("/health", "/me", "/nothing"):
            headers = (await client.get(path)).headers
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["cache-control"] == "no-store"
            assert "camera=()" in headers["permissions-policy"]
            assert "frame-ancestors 'none'" in headers["content-security-policy"]
            assert "strict-transport-security" not in headers
    async with browser(quiet_site, "https") as client:
        assert "strict-transport-security" in (await client.get("/health")).headers


@pytest.mark.anyio
async def test_what_is_not_there_or_not_allowed_is_a_problem_document(quiet_site: Site) -> None:
    async with browser(quiet_site, **await bearer(quiet_site)) as client:
        assert code_of(await client.get("/nothing")) == (404, "not_found")
        assert code_of(await client.get("http://127.0.0.1:8470/api/else")) == (404, "not_found")
        assert code_of(await client.put("/plans")) == (405, "method_not_allowed")
        assert code_of(await client.get("/plans/pl_1")) == (404, "unknown_plan")


@pytest.mark.anyio
async def test_invalid_input_is_named_and_not_repeated(quiet_site: Site) -> None:
    async with browser(quiet_site, **await bearer(quiet_site)) as client:
        typo = await client.post("/plans", json={"wrods": "secret words"})
        assert code_of(typo) == (422, "invalid_request")
        assert m.Problem.model_validate_json(typo.text).fields == ["wrods"]
        assert "secret words" not in typo.text
        assert code_of(await client.post("/plans", content=b"{")) == (422, "invalid_request")
        assert code_of(await client.get("/plans?limit=201")) == (422, "invalid_request")
        assert code_of(await client.get("/transfers/tr_1?wait_s=31")) == (422, "invalid_request")


@pytest.mark.anyio
async def test_what_is_wrong_with_a_request_is_said_in_words_with_what_to_send(quiet_site: Site) -> None:
    intent = {"action": "copy", "source": "lab:/a", "destination": "archive:/a"}
    async with browser(quiet_site, **await bearer(quiet_site)) as client:

        async def said(call: Awaitable[httpx2.Response]) -> str:
            answer = await call
            assert code_of(answer) == (422, "invalid_request")
            return m.Problem.model_validate_json(answer.text).detail

        json_header = {"content-type": "application/json"}
        assert "the body is not JSON" in await said(client.post("/plans", content=b"{", headers=json_header))
        plain = client.post("/plans", content=b'{"words": "x"}', headers={"content-type": "text/plain"})
        assert "`Content-Type: application/json`" in await said(plain)
        assert "this takes a body" in await said(client.post("/plans"))
        unknown = await said(client.post("/plans", json={"intent": {**intent, "rate": 5}}))
        assert unknown == "`intent.rate` is not known here; did you mean `rate_limit_bps`?"
        bare = (await said(client.post("/plans", json=intent))).split("; `")
        assert [one.split("`")[0] for one in bare[1:]] == ["source", "destination"]
        assert bare[0] == '`action` is not known here; put it into `intent`, as {"intent": {"action": ...}}'
        assert bare[1].endswith('put it into `intent`, as {"intent": {"source": ...}}')
        digest = await said(client.post("/transfers", json={"plan_digest": "pl_1"}))
        assert digest == "`plan_digest` must be a whole digest: 64 characters of 0-9 and a-f"


@pytest.mark.anyio
async def test_a_query_parameter_that_a_route_does_not_take_is_refused_and_the_nearest_named(quiet_site: Site) -> None:
    async with browser(quiet_site, **await bearer(quiet_site)) as client:
        answer = await client.get("/transfers?limt=3")
        assert code_of(answer) == (422, "invalid_request")
        problem = m.Problem.model_validate_json(answer.text)
        assert problem.detail.startswith("there is no query parameter `limt` here; did you mean `limit`? It takes ")
        assert problem.fields == ["limt"]
        assert (await client.get("/transfers?limit=3")).status_code == 200
        assert "It takes none." in (await client.get("/me?limit=3")).text


@pytest.mark.anyio
async def test_invariant_6_a_large_body_is_refused(quiet_site: Site) -> None:
    async with browser(quiet_site, **await bearer(quiet_site)) as client:
        answer = await client.post("/plans", json={"words": "x" * 1_100_000})
        assert code_of(answer) == (413, "body_too_large")

        async def endless() -> AsyncIterator[bytes]:
            while True:
                yield b" " * 65_536

        assert code_of(await client.post("/plans", content=endless())) == (413, "body_too_large")


@pytest.mark.anyio
async def test_invariant_6_a_request_that_takes_too_long_ends(tmp_path: Path) -> None:
    async with started_site(tmp_path, Settings(request_timeout_s=1)) as site:
        plan = await site.ada.ask("list transfers")
        async with site.service.whole.core.database.write() as tx:
            await tx.execute(update(PlanRow).values(state="surveying"))
        async with browser(site, **await bearer(site)) as client:
            answer = await client.get(f"/plans/{plan.id}?wait_s=30")
            assert code_of(answer) == (503, "request_timeout")


@pytest.mark.anyio
async def test_the_client_library_speaks_to_the_service(site: Site) -> None:
    (site.lab / "set").mkdir()
    (site.lab / "set" / "a.txt").write_text("a")
    transport = httpx2.ASGITransport(create_app(site.service.gate, Origins.of(f"http://{HOST}")))
    async with HttpHeadrace(ORIGIN, site.ada.secret, transport=transport) as headrace:
        plan = await headrace.create_plan(m.PlanRequest(words="copy lab:/set to archive:/set"))
        plan = await headrace.plan(plan.id, wait_s=20)
        assert plan.digest is not None, plan.summary
        transfer = await headrace.submit(m.SubmitRequest(plan_digest=plan.digest))
        kinds = [event.kind async for event in headrace.watch(transfer.id)]
        assert [kind for kind in kinds if kind != "progress"] == ["queued", "started", "attempt_ended", "complete"]
        receipt = await headrace.receipt(transfer.id)
        assert b"".join([chunk async for chunk in headrace.receipt_files(receipt.id)])
        assert (await headrace.why(plan.id)).outcome == "allowed"
        assert [one.id for one in await headrace.endpoints()] == ["archive", "lab"]
        assert (await headrace.verify_audit()).intact


@pytest.mark.anyio
async def test_a_watch_goes_on_after_the_last_event_that_was_seen_or_refuses_what_is_no_number_of_one(
    site: Site,
) -> None:
    (site.lab / "set").mkdir()
    transfer = await site.ada.submit(await site.ada.plan("lab:/set", "archive:/set"))
    await site.ada.end_of(transfer)
    async with browser(site, **await bearer(site)) as client:
        watch = f"/transfers/{transfer.id}/watch"
        answer = await client.get(watch, headers={"last-event-id": "2"})
        # The store could not be asked for these.
        for number in (2**63, 10**30, -1):
            assert code_of(await client.get(watch, headers={"last-event-id": str(number)})) == (422, "invalid_request")
            kept = await client.get(f"/transfers/{transfer.id}/events", params={"after": number})
            assert code_of(kept) == (422, "invalid_request")
    assert answer.headers["content-type"].startswith("text/event-stream")
    events = [block.split("\n") for block in answer.text.strip().split("\n\n")]
    assert [lines[:2] for lines in events] == [
        ["event: attempt_ended", "id: 3"],
        ["event: complete", "id: 4"],
    ]
    last = m.TransferEvent.model_validate_json(events[-1][2].removeprefix("data: "))
    assert last.transfer is not None
    assert last.transfer.state is m.TransferState.COMPLETE


@pytest.mark.anyio
async def test_a_method_that_an_address_does_not_take_is_answered_with_all_that_it_takes(quiet_site: Site) -> None:
    async with browser(quiet_site) as client:
        bearer = {"authorization": f"Bearer {quiet_site.ada.secret}"}
        for method, path, allowed in (
            ("DELETE", "/plans", "GET, POST"),
            ("PUT", "/transfers", "GET, POST"),
            ("PUT", "/endpoints/lab", "PATCH"),
        ):
            answered = await client.request(method, path, headers=bearer)
            assert (answered.status_code, answered.headers["allow"]) == (405, allowed), path


@pytest.mark.anyio
@pytest.mark.parametrize("after", ["x" * 256, "é" * 200, "a/b", "..", "\x00"])
async def test_a_place_in_a_folder_that_no_name_can_have_is_a_wrong_request(site: Site, after: str) -> None:
    async with browser(site) as client:
        bearer = {"authorization": f"Bearer {site.ada.secret}"}
        answered = await client.get("/endpoints/lab/browse", params={"after": after}, headers=bearer)
        assert (answered.status_code, answered.json()["code"]) == (422, "bad_argument")
