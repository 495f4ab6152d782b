"""The gate: the development cases, scored by the scorer that came with them."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
SCORER = HERE / "score.py"


def scored(cases: Path, folder: Path) -> dict[str, Any]:
    """Answer cases with the command that people run, and score the answers."""
    answers = folder / "answers.jsonl"
    subprocess.run(
        [
            sys.executable,
            "-m",
            "headrace.guardrails.commands",
            "--context",
            str(HERE / "context.json"),
            "--in",
            str(cases),
            "--out",
            str(answers),
        ],
        check=True,
        timeout=60,
    )
    run = subprocess.run(
        [sys.executable, str(SCORER), str(cases), str(answers), "--list"],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    *failures, summary = run.stdout.splitlines()
    report: dict[str, Any] = json.loads(summary)
    report["failures"] = failures
    return report


@pytest.mark.parametrize("name", ["dev"])
def test_no_request_is_accepted_with_another_meaning(name: str, tmp_path: Path) -> None:
    report = scored(HERE / f"{name}.jsonl", tmp_path)
    assert report["false_accept"] == 0, report["failures"]
    assert report["must_not_violations"] == 0, report["failures"]
    assert report["danger_recall"] == 1.0, report["failures"]
    assert report["exact"] == report["n"], report["failures"]
