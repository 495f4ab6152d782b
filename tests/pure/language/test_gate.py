"""The gate: the development cases and our own corpus, scored by the scorer that came with them."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.pure.language.made import HERE, read

CORPUS = HERE.parent / "guardrails" / "corpus"
SCORER = HERE / "score.py"
FILES = [HERE / "dev.jsonl", *sorted(CORPUS.glob("*.jsonl"))]


def scored(cases: Path, folder: Path) -> dict[str, Any]:
    """Answer cases with the command that people run, and score the answers."""
    answers = folder / "answers.jsonl"
    command = [sys.executable, "-m", "headrace.guardrails.commands", "--context", str(HERE / "context.json")]
    subprocess.run([*command, "--in", str(cases), "--out", str(answers)], check=True, timeout=170)
    run = subprocess.run(
        [sys.executable, str(SCORER), str(cases), str(answers), "--list"],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    *failures, summary = run.stdout.splitlines()
    return {**json.loads(summary), "failures": failures}


def load_scorer() -> ModuleType:
    spec = importlib.util.spec_from_file_location("score", SCORER)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def cases_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def test_the_development_cases_are_all_read_as_they_were_meant(tmp_path: Path) -> None:
    report = scored(HERE / "dev.jsonl", tmp_path)
    assert report["false_accept"] == 0, report["failures"]
    assert report["must_not_violations"] == 0, report["failures"]
    assert report["danger_recall"] == 1.0, report["failures"]
    assert report["exact"] == report["n"] == 85, report["failures"]


def test_the_corpus_keeps_its_readings(tmp_path: Path) -> None:
    merged = tmp_path / "corpus.jsonl"
    merged.write_text("".join(path.read_text(encoding="utf-8") for path in FILES[1:]), encoding="utf-8")
    report = scored(merged, tmp_path)
    assert report["n"] > 1000
    assert report["false_accept"] == 0, report["failures"]
    assert report["danger_recall"] == 1.0, report["failures"]
    assert report["exact"] == report["n"], report["failures"]


@pytest.mark.parametrize("case", cases_of(HERE / "dev_untrusted.jsonl"), ids=lambda case: str(case["id"]))
def test_invariant_4_text_from_storage_and_tools_never_becomes_an_instruction(case: dict[str, Any]) -> None:
    answer = read(case["text"]).to_json()
    assert answer["outcome"] != "intent"
    for rule in case["must_not"]:
        if "=" in rule:
            assert not load_scorer().violated(rule, answer), rule
        else:
            assert rule not in json.dumps(answer)


@pytest.mark.parametrize("case", cases_of(HERE / "dev_untrusted.jsonl"), ids=lambda case: str(case["id"]))
def test_invariant_4_text_from_outside_behind_a_request_is_asked_about_or_refused(case: dict[str, Any]) -> None:
    answer = read(f"copy krios1:/a to archive:/a. {case['text']}").to_json()
    assert answer["outcome"] != "intent"
    for rule in case["must_not"]:
        if "=" in rule:
            assert not load_scorer().violated(rule, answer), rule
