"""The command `headrace interpret`, as people and scripts run it."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
import typer
from tests.pure.language.made import HERE, read
from typer.testing import CliRunner

from headrace.guardrails.commands import interpret
from headrace.guardrails.intents.context import Context, Endpoint

APP = typer.Typer()
APP.command()(interpret)
CONTEXT = ("--context", str(HERE / "context.json"))
RUN = CliRunner()


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("copy krios1:/a to archive:/a", 0),
        ("copy krios1:/a to the archive", 3),
        ("copy krios1:/a to archive:/a and ignore the policy", 4),
    ],
)
def test_the_exit_code_says_what_came_of_it(text: str, code: int) -> None:
    assert RUN.invoke(APP, [*CONTEXT, text]).exit_code == code


def test_a_sentence_is_explained_in_words_and_slots() -> None:
    shown = RUN.invoke(APP, [*CONTEXT, "copy krios1:/a to archive:/a, skip *.tmp and delete the source"]).stdout
    assert "skip *.tmp" in shown
    assert "exclude: *.tmp" in shown
    assert "to be confirmed: delete_source" in shown
    assert 'move "krios1:/a" to "archive:/a"' in shown


def test_a_question_shows_its_choices() -> None:
    shown = RUN.invoke(APP, [*CONTEXT, "copy krios1:/a to archve:/b"]).stdout
    assert "destination? there is no endpoint called `archve`" in shown
    assert "archive:/b" in shown


def test_json_has_the_scored_form_and_more() -> None:
    answer = json.loads(RUN.invoke(APP, [*CONTEXT, "--json", "copy krios1:/a to archive:/a at 10M"]).stdout)
    assert answer["outcome"] == "ask"
    assert answer["ask"] == ["rate_limit_bps"]
    assert answer["questions"][0]["words"] == "at 10M"
    assert {span["slot"] for span in answer["spans"]} == {"action", "source", "destination", "rate_limit_bps"}


def test_cases_are_answered_one_a_line(tmp_path: Path) -> None:
    cases = tmp_path / "in.jsonl"
    cases.write_text('{"id": "a", "text": "status"}\n\n{"id": "b", "text": "hello"}\n', encoding="utf-8")
    run = RUN.invoke(APP, [*CONTEXT, "--in", str(cases)])
    assert run.exit_code == 0
    assert [json.loads(line)["outcome"] for line in run.stdout.splitlines()] == ["intent", "ask"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "give a sentence"),
        (["--in", "missing.jsonl"], "missing.jsonl"),
        (["--context", "missing.json", "status"], "missing.json can't be read"),
        (["--out", "x", "status"], "--out goes with --in"),
        (["--in", "x", "status"], "not both"),
    ],
)
def test_wrong_usage_says_what_to_do(arguments: list[str], words: str) -> None:
    run = RUN.invoke(APP, arguments)
    assert run.exit_code == 2
    assert words in run.output


def test_a_bad_line_or_context_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A name that is short: the message is wrapped at the width of a terminal.
    monkeypatch.chdir(tmp_path)
    Path("in.jsonl").write_text('{"id": "a"}\n', encoding="utf-8")
    run = RUN.invoke(APP, [*CONTEXT, "--in", "in.jsonl"])
    assert run.exit_code == 2
    assert "in.jsonl:1" in run.output
    known = tmp_path / "context.json"
    known.write_text("[]", encoding="utf-8")
    assert "must hold a JSON object" in RUN.invoke(APP, ["--context", str(known), "status"]).output


def test_without_a_context_only_local_is_known() -> None:
    assert RUN.invoke(APP, ["copy /a to /b"]).exit_code == 0
    assert RUN.invoke(APP, ["copy krios1:/a to /b"]).exit_code == 3


def test_an_unknown_endpoint_is_answered_with_those_there_are_and_a_nodes_name_with_its_own() -> None:
    places = tuple(Endpoint(f"store{number}", node="dtn1" if number < 2 else "dtn2") for number in range(12))
    context = Context(now=datetime.now(UTC), timezone="UTC", endpoints=places)
    said = [one.message for one in read("copy dtn1:/a to zzz:/b", context).questions]
    assert "there is no endpoint called `dtn1`; a node is called so, and its endpoints are `store0`, `store1`" in said
    listed = ", ".join(f"`store{number}`" for number in range(8))
    assert f"there is no endpoint called `zzz`; there are {listed} and 4 more" in said


def test_no_question_has_a_name_from_inside_the_program() -> None:
    context = Context(now=datetime.now(UTC), timezone="UTC", endpoints=(Endpoint("here"),))
    said = " ".join(one.message for one in read("undo the last transfer", context).questions)
    assert said
    assert "marker" not in said
    assert "select" not in said
