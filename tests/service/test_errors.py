import errno
import os
import re
import sqlite3
from pathlib import Path

import httpx2
import pytest
from fastapi import FastAPI
from sqlalchemy.exc import OperationalError
from tests.servers.site import Site

from headrace.api.errors import Code, Retry, ServiceError, TooManyChanges
from headrace.api.http.answers import install
from headrace.api.problems import STATUS, problem_of
from headrace.auth import TooManyAttempts
from headrace.client import HeadraceError
from headrace.client import models as m

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "errors.md").read_text(encoding="utf-8")


def test_every_code_of_the_service_is_documented_with_its_status() -> None:
    documented = dict(re.findall(r"^\| `(\w+)` \| (\d+) \|", PAGE, re.MULTILINE))
    assert documented == {str(code): str(int(STATUS[code])) for code in Code}


def test_the_pages_of_the_other_packages_exist_and_list_codes() -> None:
    for name in ("errors-guardrails.md", "errors-engine.md"):
        assert f"]({name})" in PAGE
        assert re.findall(r"^\| `\w+` \|", (DOCS / name).read_text(encoding="utf-8"), re.MULTILINE)


def test_what_nobody_expected_tells_strangers_nothing(caplog: pytest.LogCaptureFixture) -> None:
    problem = problem_of(RuntimeError("password=hunter2 in /etc/headrace"))
    assert (problem.status, problem.code) == (500, "internal_error")
    assert "hunter2" not in problem.model_dump_json()
    assert "hunter2" in caplog.text


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("database or disk is full", "store_full"),
        ("disk I/O error", "store_failed"),
        ("attempt to write a readonly database", "store_failed"),
        ("database is locked", "store_busy"),
        ("database disk image is malformed", "internal_error"),
    ],
)
def test_what_is_the_matter_with_the_store_is_told_apart(said: str, code: str) -> None:
    problem = problem_of(OperationalError("UPDATE nodes", None, sqlite3.OperationalError(said)))
    assert problem.code == code
    assert ("full" in problem.detail) == (code == "store_full")


@pytest.mark.parametrize(("number", "code"), [(errno.ENOSPC, "store_full"), (errno.EROFS, "store_failed")])
def test_a_data_folder_that_can_not_be_written_is_named_in_the_log_with_its_host_and_to_nobody_else(
    number: int, code: str, caplog: pytest.LogCaptureFixture
) -> None:
    problem = problem_of(OSError(number, os.strerror(number), "/srv/headrace/policy.published"))
    assert (problem.status, problem.code) == (503, code)
    assert "/srv" not in problem.model_dump_json()
    assert f"`/srv/headrace/policy.published` on the host `{os.uname().nodename}`" in caplog.text


@pytest.mark.parametrize("changes", [True, False])
@pytest.mark.parametrize("said", ["database or disk is full", "database is locked", "the server is gone"])
def test_whether_something_was_changed_is_said_where_something_was_to_be_changed(said: str, *, changes: bool) -> None:
    cause: Exception = sqlite3.OperationalError(said)
    if "server" in said:
        cause.sqlstate = None  # type: ignore[attr-defined] # as PostgreSQL's driver when the server does not answer
    detail = problem_of(OperationalError("SELECT", None, cause), changes=changes).detail
    assert ("nothing was changed" in detail or "see whether the change was made" in detail) is changes
    assert "an operator must" in detail or "try again" in detail, "and what to do in any case"


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS])
def test_of_a_data_folder_the_same_holds(number: int) -> None:
    for changes in (True, False):
        detail = problem_of(OSError(number, os.strerror(number)), changes=changes).detail
        assert ("see whether the change was made" in detail) is changes


@pytest.mark.anyio
async def test_a_call_that_reads_says_nothing_of_changes_when_the_store_is_away(
    quiet_site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(*_: object, **__: object) -> None:
        cause = sqlite3.OperationalError("gone")
        cause.sqlstate = None  # type: ignore[attr-defined] # as PostgreSQL's driver when the server does not answer
        raise OperationalError(asked, None, cause)

    asked, do, port = "SELECT", quiet_site.use_cases, quiet_site.ada.port
    monkeypatch.setattr(do.nodes, "create_join_token", away)
    monkeypatch.setattr(do.quotas, "page", away)
    with pytest.raises(HeadraceError) as read:
        await port.quotas()
    assert "the change" not in read.value.problem.detail
    with pytest.raises(HeadraceError) as changed:
        await port.create_join_token(m.JoinTokenRequest(name="one"))
    assert "see whether the change was made" in changed.value.problem.detail


def test_a_refusal_names_code_fields_and_what_it_is_about() -> None:
    problem = problem_of(ServiceError(Code.NAME_TAKEN, "taken", fields=("name",)), instance="nd_1")
    assert (problem.status, problem.code, problem.fields, problem.instance) == (409, "name_taken", ["name"], "nd_1")


SOON = (
    "busy", "no_leader", "request_timeout", "shutting_down", "store_busy", "store_failed", "store_full",
    "too_many_attempts", "too_many_browses", "too_many_changes", "too_many_plans", "too_many_transfers", "unanswered",
)  # fmt: skip
ONCE_MENDED = (
    "audit_unsent", "audit_unwritable", "directory_away", "halted", "key_unusable", "node_away", "provider_failed",
    "policy_unproven", "qos_unreadable", "quota_exceeded",
)  # fmt: skip


async def answered(*errors: Exception) -> list[httpx2.Response]:
    """What a caller gets for each error."""
    app, raised = FastAPI(), iter(errors)
    app.state.token_resource = "http://127.0.0.1/api/v1"  # noqa: S105 - an address
    install(app)

    @app.get("/")
    async def fails() -> None:
        raise next(raised)

    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://127.0.0.1") as client:
        return [await client.get("/") for _ in errors]


@pytest.mark.anyio
async def test_whatever_passes_by_itself_says_when_to_try_again_and_nothing_else_does() -> None:
    answers = await answered(*(ServiceError(code, "said") for code in STATUS))
    found = {answer.json()["code"]: answer.headers.get("retry-after") for answer in answers}
    wanted = dict.fromkeys(STATUS) | dict.fromkeys(SOON, "5") | dict.fromkeys(ONCE_MENDED, "60")
    assert found == {str(code): after for code, after in wanted.items()}
    assert {answer.json()["code"] for answer in answers if answer.status_code in {429, 503}} == {*SOON, *ONCE_MENDED}


@pytest.mark.anyio
async def test_an_error_that_knows_when_it_passes_says_that() -> None:
    answers = await answered(
        TooManyChanges("ada", 600, 17),
        TooManyAttempts(18),
        ServiceError(Code.QUOTA_EXCEEDED, "said", retry_after_s=3601),
        ServiceError(Code.QUOTA_EXCEEDED, "said"),
        ServiceError(Code.QUOTA_EXCEEDED, "said", retry_after_s=0),
        ServiceError(Code.QUOTA_EXCEEDED, "said", retry_after_s=Retry.NOT_BY_ITSELF),
    )
    assert [answer.headers.get("retry-after") for answer in answers] == ["17", "18", "3601", "60", "0", None]
