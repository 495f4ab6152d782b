"""docs/security/bad-input.md names tests that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "security" / "bad-input.md"
TEST = re.compile(r"^(?:async )?def (test_\w+)", re.MULTILINE)


def test_each_line_of_bad_input_has_a_test_that_exists() -> None:
    known = {name for file in (ROOT / "tests").rglob("test_*.py") for name in TEST.findall(file.read_text("utf-8"))}
    rows = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| ") and "---" not in line]
    lines = [row for row in rows if row != "| what | test |"]
    named = [set(re.findall(r"`(test_\w+)`", line)) for line in lines]
    assert [line for line, tests in zip(lines, named, strict=True) if not tests] == []
    assert set().union(*named) - known == set()
