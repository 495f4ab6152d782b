"""The command `headrace interpret`, as people and scripts run it."""

import json
from pathlib import Path

import pytest
import typer
from tests.pure.language.made import HERE
from typer.testing import CliRunner

from headrace.guardrails.commands import interpret

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


def test_a_bad_line_or_context_is_named(tmp_path: Path) -> None:
    cases = tmp_path / "in.jsonl"
    cases.write_text('{"id": "a"}\n', encoding="utf-8")
    run = RUN.invoke(APP, [*CONTEXT, "--in", str(cases)])
    assert run.exit_code == 2
    assert "in.jsonl:1" in run.output
    known = tmp_path / "context.json"
    known.write_text("[]", encoding="utf-8")
    assert "must hold a JSON object" in RUN.invoke(APP, ["--context", str(known), "status"]).output


def test_without_a_context_only_local_is_known() -> None:
    assert RUN.invoke(APP, ["copy /a to /b"]).exit_code == 0
    assert RUN.invoke(APP, ["copy krios1:/a to /b"]).exit_code == 3
