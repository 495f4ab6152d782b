"""Each invariant of ARCHITECTURE.md is held by tests and faults that exist: tests/invariants.toml says which."""

import re
import tomllib
from fnmatch import fnmatchcase

from tests.faults.run import FAULTS, REPOSITORY, Fault, load

CLAIMS = tomllib.loads((REPOSITORY / "tests" / "invariants.toml").read_text(encoding="utf-8"))["claim"]
ARCHITECTURE = (REPOSITORY / "ARCHITECTURE.md").read_text(encoding="utf-8")
FAULTS_BY_NAME = {fault.name: fault for fault in load((REPOSITORY / FAULTS).read_text(encoding="utf-8"))}
DEFINED = {
    ".py": re.compile(r"^(?:async )?def (test_\w+)", re.MULTILINE),
    ".rs": re.compile(
        r"#\[(?:tokio::)?test[^\]]*\]\s+(?:#\[[^\]]*\]\s+)*(?:async )?fn (\w+)|^\s+fn (\w+)\(.*? in ", re.MULTILINE
    ),
}


def all_tests() -> set[str]:
    """Every test of pytest and cargo as `file::name` (those of proptest, too)."""
    files = [*REPOSITORY.glob("tests/**/*.py"), *REPOSITORY.glob("engine/crates/**/*.rs")]
    return {
        f"{path.relative_to(REPOSITORY).as_posix()}::{next(filter(None, found.groups()))}"
        for path in files
        for found in DEFINED[path.suffix].finditer(path.read_text(encoding="utf-8"))
    }


TESTS = all_tests()


def of(invariant: int, what: str) -> set[str]:
    return {name for claim in CLAIMS if claim["invariant"] == invariant for name in claim[what]}


def test_every_invariant_has_a_claim() -> None:
    section = ARCHITECTURE.partition("## Invariants")[2].partition("\n## ")[0]
    numbered = [int(number) for number in re.findall(r"^(\d+)\. \*\*", section, re.MULTILINE)]
    assert numbered == sorted({claim["invariant"] for claim in CLAIMS})


def test_every_claim_has_tests_and_faults_that_exist() -> None:
    for claim in CLAIMS:
        assert claim["tests"], claim["says"]
        assert claim["faults"], claim["says"]
        for pattern in claim["tests"]:
            assert any(fnmatchcase(test, pattern) for test in TESTS), pattern
        assert set(claim["faults"]) <= set(FAULTS_BY_NAME), claim["says"]


def chosen(fault: Fault) -> set[str]:
    """The tests that a fault's command runs, as far as their names tell."""
    words = fault.test[1:]
    if fault.test[0] == "pytest":
        files = [word for word in words if word.startswith("tests/")]
        found = {test for test in TESTS if any(test.startswith(file) for file in files)}
        asked = words[words.index("-k") + 1] if "-k" in words else ""
    else:
        crate = f"engine/crates/{words[words.index('-p') + 1]}/"
        crate += (
            f"tests/{words[words.index('--test') + 1]}" if "--test" in words else "src/" if "--lib" in words else ""
        )
        found = {test for test in TESTS if test.startswith(crate)}
        asked = words[-1] if not words[-1].startswith("-") and words[-2] not in {"-p", "--test"} else ""
    parts = [part.strip() for part in re.split(r" or |::", asked) if part.strip()]
    narrowed = {test for test in found if any(part in test for part in parts)}
    return narrowed or found


def test_every_fault_of_a_claim_is_noticed_by_a_test_of_that_claim() -> None:
    for claim in CLAIMS:
        for name in claim["faults"]:
            tests = chosen(FAULTS_BY_NAME[name])
            assert any(fnmatchcase(test, pattern) for test in tests for pattern in claim["tests"]), (
                claim["says"],
                name,
            )


def test_every_test_that_names_an_invariant_is_in_one_of_its_claims() -> None:
    for test in sorted(TESTS):
        for number in re.findall(r"::(?:test_)?invariant_(\d)_", test):
            assert any(fnmatchcase(test, pattern) for pattern in of(int(number), "tests")), test


def test_every_fault_that_names_an_invariant_is_in_one_of_its_claims() -> None:
    for fault in FAULTS_BY_NAME.values():
        for number in re.findall(r"^invariant (\d)", fault.promise):
            assert fault.name in of(int(number), "faults"), fault.name
