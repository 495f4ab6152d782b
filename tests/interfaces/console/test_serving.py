"""How the service serves the console's built files."""

import re
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from headrace.api.http.answers import install
from headrace.api.http.console_files import PAGES, mount_console


@pytest.fixture
def build(tmp_path: Path) -> Path:
    (tmp_path / "assets").mkdir()
    for name, text in (("index.html", "<!doctype html>"), ("assets/main-1a2b.js", "main()"), ("secret.txt", "")):
        (tmp_path / name).write_text(text)
    (tmp_path / "assets/main-1a2b.js.br").write_bytes(b"small")
    (tmp_path / "assets/cedar.worker-9z.js").write_text("worker()")
    (tmp_path.parent / "outside.txt").write_text("not ours")
    return tmp_path


@pytest.fixture
def browser(build: Path) -> TestClient:
    app = FastAPI()
    install(app)
    mount_console(app, build)

    @app.get("/api/v1/health")
    def health() -> str:
        return "ok"

    @app.get("/mcp")
    def mcp() -> str:
        return "mcp"

    return TestClient(app)


@pytest.mark.parametrize("path", ["/", "/transfers", "/transfers/", "/transfers/tr_1?tab=events", "/plans/pl_1"])
def test_a_path_of_the_consoles_own_router_gets_the_page(browser: TestClient, path: str) -> None:
    answer = browser.get(path)
    assert (answer.status_code, answer.text) == (200, "<!doctype html>")
    assert answer.headers["cache-control"] == "no-cache"


@pytest.mark.parametrize("path", ["/v1/endpoints", "/apis", "/outside.txt", "/transfers/tr_1/events", "/nothing"])
def test_a_path_that_is_no_page_of_the_console_is_not_there(browser: TestClient, path: str) -> None:
    answer = browser.get(path)
    assert (answer.status_code, answer.headers["content-type"]) == (404, "application/problem+json")
    assert "/api/v1" in answer.json()["detail"]
    # A person is told so by the page, whose router knows no such path either.
    answer = browser.get(path, headers={"accept": "text/html,application/xhtml+xml,*/*;q=0.8"})
    assert (answer.status_code, answer.text) == (404, "<!doctype html>")


@pytest.mark.parametrize("path", ["/endpoints", "/transfers/tr_1", "/"])
def test_a_program_that_wants_no_page_gets_none(browser: TestClient, path: str) -> None:
    answer = browser.get(path, headers={"accept": "application/json"})
    assert (answer.status_code, answer.headers["content-type"]) == (404, "application/problem+json")
    assert "/api/v1" in answer.json()["detail"]


def test_hashed_files_are_kept_for_a_year_and_sent_in_their_smallest_form(browser: TestClient) -> None:
    with browser.stream("GET", "/assets/main-1a2b.js", headers={"accept-encoding": "gzip, br;q=0.9"}) as answer:
        assert answer.headers["content-encoding"] == "br"
        assert b"".join(answer.iter_raw()) == b"small"
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert answer.headers["vary"] == "Accept-Encoding"
    plain = browser.get("/assets/main-1a2b.js", headers={"accept-encoding": "identity"})
    assert plain.text == "main()"
    assert "content-encoding" not in plain.headers


def test_the_policy_allows_only_files_of_this_origin_and_nothing_inline(browser: TestClient) -> None:
    policy = browser.get("/").headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert "style-src 'self';" in policy
    assert "unsafe" not in policy
    assert "wasm-unsafe-eval" in browser.get("/assets/cedar.worker-9z.js").headers["content-security-policy"]


def test_a_missing_asset_is_not_found_rather_than_the_page(browser: TestClient) -> None:
    assert browser.get("/assets/old-0000.js").status_code == 404


def test_the_other_doors_keep_their_paths(browser: TestClient) -> None:
    assert browser.get("/api/v1/health").json() == "ok"
    assert browser.get("/mcp").json() == "mcp"
    for path in ("/api", "/api/v1/nothing", "/mcp/x", "/.well-known/oauth-protected-resource"):
        assert browser.get(path).status_code == 404


@pytest.mark.parametrize("path", ["/%2e%2e/outside.txt", "/assets/..%2f..%2foutside.txt", "//outside.txt"])
def test_no_path_leaves_the_build(browser: TestClient, path: str) -> None:
    answer = browser.get(path)
    assert "not ours" not in answer.text


def test_without_a_build_the_page_says_how_to_get_one(tmp_path: Path) -> None:
    app = FastAPI()
    mount_console(app, tmp_path / "none")
    browser = TestClient(app)
    answer = browser.get("/")
    assert answer.status_code == 200
    assert "make web" in answer.text
    assert browser.get("/transfers").status_code == 404


def test_the_pages_that_the_service_answers_are_those_of_the_consoles_router() -> None:
    router = (Path(__file__).parents[3] / "web" / "src" / "router.tsx").read_text(encoding="utf-8")
    paths = re.findall(r'^  path: "(/[^"]*)",$', router, re.MULTILINE)
    assert sorted(PAGES) == sorted(path.strip("/") for path in paths)
