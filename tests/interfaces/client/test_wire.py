import asyncio
import json
import re
import ssl
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.interfaces.client.scripted import Script, answer, hang_up, problem, say_nothing
from tests.servers.nginx import Certificate, new_certificate

from headrace.client import Headrace, HeadraceError, HttpHeadrace, wire
from headrace.client import models as m

pytestmark = pytest.mark.anyio

ME = {"id": "pe_1", "name": "anna", "roles": ["requester"], "scopes": ["transfer:read"], "session": True, "agent": None}
DIGEST = "0" * 64


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "RETRY_DELAYS_S", (0.0, 0.0))


async def failed(call: Any) -> m.Problem:  # noqa: ANN401 - any call of the port
    with pytest.raises(HeadraceError) as caught:
        await call
    return caught.value.problem


async def test_the_http_client_is_the_port(script: Script) -> None:
    port: Headrace = HttpHeadrace(script.url)
    script.answers = [answer(ME)]
    assert (await port.me()).name == "anna"


async def test_the_secret_goes_along_as_a_bearer(script: Script) -> None:
    script.answers = [answer(ME)]
    async with HttpHeadrace(script.url, "s3cret") as port:
        await port.me()
    assert script.seen[0].headers["authorization"] == "Bearer s3cret"
    assert script.seen[0].path == "/api/v1/me"


async def test_a_problem_of_the_service_keeps_its_code_and_words(script: Script) -> None:
    script.answers = [problem("needs_confirmation", 409)]
    async with HttpHeadrace(script.url) as port:
        told = await failed(port.submit(m.SubmitRequest(plan_digest=DIGEST)))
    assert (told.code, told.status) == ("needs_confirmation", 409)
    assert told.detail == "said by the service: needs_confirmation"


async def test_nobody_there_is_said_with_the_address_and_what_to_do() -> None:
    async with HttpHeadrace("http://127.0.0.1:1") as port:
        told = await failed(port.me())
    assert told.code == "service_unreachable"
    assert re.search(r"http://127\.0\.0\.1:1.*connection refused.*headrace serve.*HEADRACE_SERVICE", told.detail)


async def test_a_question_is_asked_again_after_trouble_on_the_way(script: Script) -> None:
    script.answers = [hang_up, answer(b"<html>", "502 Bad Gateway", "text/html"), answer(ME)]
    async with HttpHeadrace(script.url) as port:
        assert (await port.me()).id == "pe_1"
    assert len(script.seen) == 3


async def test_a_question_is_asked_three_times_at_most(script: Script) -> None:
    script.answers = [hang_up] * 5
    async with HttpHeadrace(script.url) as port:
        assert (await failed(port.me())).code == "service_unreachable"
    assert len(script.seen) == 3


async def test_a_refusal_is_not_asked_again(script: Script) -> None:
    script.answers = [problem("busy", 503), answer(ME)]
    async with HttpHeadrace(script.url) as port:
        assert (await failed(port.me())).code == "busy"
    assert len(script.seen) == 1


async def test_what_changes_something_is_sent_once(script: Script) -> None:
    script.answers = [hang_up, answer(ME)]
    async with HttpHeadrace(script.url) as port:
        await failed(port.control("tr_1", m.ControlRequest(action="pause")))
    assert len(script.seen) == 1


async def test_silence_ends_and_says_that_the_request_may_have_been_carried_out(
    script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire, "READ_TIMEOUT_S", 0.05)
    script.answers = [say_nothing]
    async with HttpHeadrace(script.url) as port:
        told = await failed(port.submit(m.SubmitRequest(plan_digest=DIGEST)))
    assert told.code == "service_timeout"
    assert "may or may not have been carried out" in told.detail


async def test_a_page_that_is_no_answer_is_called_one(script: Script) -> None:
    script.answers = [answer(b"<html>hello</html>", kind="text/html")]
    async with HttpHeadrace(script.url) as port:
        told = await failed(port.me())
    assert told.code == "unexpected_answer"
    assert script.url in told.detail


async def test_a_redirect_is_not_followed_with_the_secret(script: Script) -> None:
    script.answers = [answer({}, "302 Found", more=("Location: http://127.0.0.1:1/",))]
    async with HttpHeadrace(script.url, "s3cret") as port:
        assert (await failed(port.me())).code == "unexpected_answer"


async def test_a_field_that_a_newer_service_adds_is_left_aside(script: Script) -> None:
    script.answers = [answer({**ME, "shoe_size": 43})]
    async with HttpHeadrace(script.url) as port:
        assert (await port.me()).name == "anna"


async def test_an_answer_has_a_limit(script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "MAX_ANSWER_BYTES", 50)
    script.answers = [answer(ME)]
    async with HttpHeadrace(script.url) as port:
        assert "more than 50 bytes" in (await failed(port.me())).detail


@pytest.mark.parametrize("name", ["", ".", ".."])
async def test_a_name_that_would_walk_the_path_is_refused(script: Script, name: str) -> None:
    async with HttpHeadrace(script.url) as port:
        assert (await failed(port.transfer(name))).code == "bad_name"
    assert script.seen == []


async def test_a_name_stays_one_segment_of_the_path(script: Script) -> None:
    script.answers = [problem("unknown_plan", 404)]
    async with HttpHeadrace(script.url) as port:
        await failed(port.plan("../transfers/x?y#z"))
    assert script.seen[0].path == "/api/v1/plans/..%2Ftransfers%2Fx%3Fy%23z"


async def test_only_what_was_said_is_sent(script: Script) -> None:
    script.answers = [problem("invalid_request", 422)]
    async with HttpHeadrace(script.url) as port:
        await failed(port.create_plan(m.PlanRequest(words="copy a to b", timezone=None)))
    assert json.loads(script.seen[0].body) == {"words": "copy a to b", "timezone": None}


async def test_questions_carry_their_filters(script: Script) -> None:
    script.answers = [answer({"items": []})]
    async with HttpHeadrace(script.url) as port:
        await port.plans(awaiting_me=True, limit=5)
    assert script.seen[0].path == "/api/v1/plans?awaiting_me=true&limit=5"


def test_no_secret_leaves_the_host_in_the_clear() -> None:
    with pytest.raises(HeadraceError) as caught:
        HttpHeadrace("http://service.example:8470", "s3cret")
    assert caught.value.problem.code == "service_insecure"


async def test_no_password_leaves_the_host_in_the_clear() -> None:
    port = HttpHeadrace("http://service.example:8470")
    told = await failed(port.sign_in(m.SignIn.model_validate({"name": "anna", "password": "-"})))
    assert told.code == "service_insecure"


@pytest.mark.parametrize("url", ["", "nonsense", "ftp://host", "http://"])
def test_an_address_that_is_none_is_said(url: str) -> None:
    with pytest.raises(HeadraceError) as caught:
        HttpHeadrace(url)
    assert caught.value.problem.code == "service_unreachable"


async def test_a_file_list_comes_in_chunks_however_long(script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "MAX_ANSWER_BYTES", 50)
    script.answers = [answer(b"x" * 100_000, kind="application/x-ndjson")]
    async with HttpHeadrace(script.url) as port:
        assert sum([len(chunk) async for chunk in port.receipt_files("rc_1")]) == 100_000


async def test_times_are_aware(script: Script) -> None:
    entry = {"name": "a", "kind": "file", "size_bytes": 1, "modified": "2026-11-25T14:30:00Z"}
    script.answers = [answer({"endpoint": "e", "path": "/", "items": [entry], "count": 1})]
    async with HttpHeadrace(script.url) as port:
        page = await port.browse("e", "/")
    assert page.items[0].modified == datetime(2026, 11, 25, 14, 30, tzinfo=UTC)


async def test_an_address_of_https_where_plain_http_is_spoken_is_told_to_be_http() -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(refuse, "127.0.0.1") as plain:
        host, number = plain.sockets[0].getsockname()
        async with HttpHeadrace(f"https://{host}:{number}") as port:
            told = await failed(port.me())
    assert told.code == "service_unreachable"
    assert re.search("does not speak TLS.*write http:// instead", told.detail), told.detail
    assert "not permitted" not in told.detail


def folder_of(certificate: Certificate) -> Path:
    """Make a folder of certificates, as SSL_CERT_DIR names it."""
    command = ["openssl", "x509", "-noout", "-hash", "-in", str(certificate.chain)]
    name = subprocess.run(command, check=True, capture_output=True, text=True, timeout=30).stdout.strip()
    folder = certificate.chain.with_name("folder")
    folder.mkdir()
    (folder / f"{name}.0").symlink_to(certificate.chain)
    return folder


async def test_the_certificate_that_the_environment_names_counts_for_this_host_and_its_proxy_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate = new_certificate(tmp_path)
    folder = folder_of(certificate)
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(certificate.chain, certificate.key)
    script = Script("", [answer(ME)] * 2)
    for proxy in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(proxy, "http://127.0.0.1:1")
    for variable in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(variable, raising=False)
    async with await asyncio.start_server(script.serve, "127.0.0.1", 0, ssl=tls) as server:
        url = f"https://localhost:{server.sockets[0].getsockname()[1]}"
        for variable, value in (("SSL_CERT_FILE", certificate.chain), ("SSL_CERT_DIR", folder)):
            with monkeypatch.context() as environment:
                environment.setenv(variable, str(value))
                async with HttpHeadrace(url) as port:
                    assert (await port.me()).name == "anna", variable
        async with HttpHeadrace(url) as port:
            assert (await failed(port.me())).code == "service_untrusted"


@pytest.mark.parametrize("content", [None, "no certificate"])
@pytest.mark.parametrize("host", ["localhost", "headrace.example.org"])
def test_a_file_of_certificates_that_cannot_be_used_is_named(
    host: str, content: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "authority.pem"
    if content is not None:
        file.write_text(content)
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    with pytest.raises(HeadraceError, match=rf"SSL_CERT_FILE names `{file}`.*PEM") as caught:
        HttpHeadrace(f"https://{host}")
    assert caught.value.problem.code == "service_untrusted"
    HttpHeadrace("http://localhost:8470")  # where nothing is encrypted it is not looked at
