"""The threat model names what shows each of its rows, and that exists."""

import re

from tests.faults.run import REPOSITORY

PAGE = (REPOSITORY / "docs" / "security" / "threat-model.md").read_text(encoding="utf-8")
ROWS = [line.split(" | ") for line in PAGE.split("## Language")[0].splitlines() if line.startswith("| ")][2:]


def test_every_row_of_the_threat_model_names_what_shows_it_and_that_exists() -> None:
    assert len(ROWS) >= 14
    for row in ROWS:
        named = re.findall(r"`([\w/.-]+)`", row[-1])
        assert named, row[0]
        found = [(REPOSITORY / name).exists() or (REPOSITORY / "tests" / name).exists() for name in named]
        assert all(found), (row[0], named)
