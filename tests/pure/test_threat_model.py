"""The threat model names for each row the tests that show it, and they exist."""

import re

from tests.faults.run import REPOSITORY

PAGE = (REPOSITORY / "docs" / "security" / "threat-model.md").read_text(encoding="utf-8")
ROWS = [line.split(" | ") for line in PAGE.split("## Language")[0].splitlines() if line.startswith("| ")][2:]
PYTHON = re.compile(r"^ *(?:async )?def (test_\w+)", re.MULTILINE)
RUST = re.compile(
    r"#\[(?:tokio::)?test\b[^\n]*\n(?:\s*#\[[^\n]*\n)*\s*(?:async )?fn (\w+)|^\s*fn (\w+)\([^)]* in ", re.MULTILINE
)


def test_every_row_of_the_threat_model_names_tests_that_exist() -> None:
    known = {
        name for file in (REPOSITORY / "tests").rglob("test_*.py") for name in PYTHON.findall(file.read_text("utf-8"))
    }
    for file in (REPOSITORY / "engine" / "crates").rglob("*.rs"):
        known.update(one or other for one, other in RUST.findall(file.read_text("utf-8")))
    assert len(ROWS) >= 14
    for row in ROWS:
        named = re.findall(r"`(\w+)`", row[-1])
        assert named, row[0]
        assert set(named) <= known, row[0]
