"""Each finding of the console's review is held by browser tests that exist: tests/browser/findings.toml says which."""

import re
import tomllib
from pathlib import Path

BROWSER = Path(__file__).parents[1] / "browser"
FINDINGS = tomllib.loads((BROWSER / "findings.toml").read_text(encoding="utf-8"))["finding"]
HOW_MANY = 23


def test_every_finding_has_a_browser_test_that_exists() -> None:
    tests = {
        f"{path.name}::{name}"
        for path in BROWSER.glob("test_*.py")
        for name in re.findall(r"^def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert [finding["number"] for finding in FINDINGS] == list(range(1, HOW_MANY + 1))
    assert [finding["says"] for finding in FINDINGS if not finding["tests"]] == []
    assert [test for finding in FINDINGS for test in finding["tests"] if test not in tests] == []
