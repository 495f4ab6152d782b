import errno
import os
import re
import sqlite3
from pathlib import Path

import pytest
from sqlalchemy.exc import OperationalError

from headrace.api.errors import Code, ServiceError
from headrace.api.problems import STATUS, problem_of

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


def test_a_refusal_names_code_fields_and_what_it_is_about() -> None:
    problem = problem_of(ServiceError(Code.NAME_TAKEN, "taken", fields=("name",)), instance="nd_1")
    assert (problem.status, problem.code, problem.fields, problem.instance) == (409, "name_taken", ["name"], "nd_1")
