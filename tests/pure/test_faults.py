"""The faults themselves: each breaks one line that is there, and only a test that is named counts as having noticed."""

import re
from dataclasses import replace
from functools import cache

import pytest
from tests.faults.run import FAULTS, REPOSITORY, Fault, Ran, judge, load

ALL = list(load((REPOSITORY / FAULTS).read_text(encoding="utf-8")))
FAULT = Fault("name", "a promise", "api/x.py", "find", "replace", ("pytest", "tests/pure"))
CARGO = replace(FAULT, test=("cargo", "test"))
VITEST = replace(FAULT, test=("vitest", "src/x.test.ts"))


@cache
def text_of_tests() -> str:
    """What names and cases of tests are made of; a module may run the checks of another (tests/conformance)."""
    return " ".join(one.read_text(encoding="utf-8") for one in (REPOSITORY / "tests").rglob("*.py")).lower()


def test_no_two_faults_have_one_name() -> None:
    assert len({fault.name for fault in ALL}) == len(ALL)


@pytest.mark.parametrize("fault", ALL, ids=lambda fault: fault.name)
def test_a_fault_breaks_one_line_that_is_there_and_its_test_exists(fault: Fault) -> None:
    text = (REPOSITORY / fault.file).read_text(encoding="utf-8")
    assert text.count(fault.find) == 1, fault.file
    assert fault.replace != fault.find
    files = [word for word in fault.test[1:] if word.startswith(("tests/", "src/"))]
    for file in files:
        assert (REPOSITORY / ("web" if fault.test[0] == "vitest" else ".") / file.split("::")[0]).exists()
    assert files or fault.test[0] == "cargo"
    if fault.test[0] == "pytest" and "-k" in fault.test:
        wanted = fault.test[fault.test.index("-k") + 1]
        words = [word for word in re.findall(r"\w+", wanted) if word not in {"and", "or", "not"}]
        assert all(word.lower() in text_of_tests() for word in words), wanted
    # The native module is not built anew: a test in Python notices what is broken in Rust only by reading the source.
    if fault.file.endswith(".rs") and fault.test[0] == "pytest":
        assert any("crates" in (REPOSITORY / file).read_text(encoding="utf-8") for file in files)


TIMED_OUT = "FAILED tests/pure/test_x.py::test_it - Failed: Timeout (>60.0s) from pytest-timeout.\n"


@pytest.mark.parametrize(
    ("fault", "output", "caught", "word"),
    [
        (FAULT, "FAILED tests/pure/test_x.py::test_it - assert 1\n", True, "caught: tests/pure/test_x.py::test_it"),
        (
            CARGO,
            "failures:\n\n---- a::b stdout ----\n    x\n\nfailures:\n    a::b\n\ntest result",
            True,
            "caught: a::b",
        ),
        (VITEST, "\n FAIL  src/x.test.ts > a rate > is read\n", True, "caught: src/x.test.ts > a rate > is read"),
        (FAULT, "ERROR tests/pure/test_x.py - SyntaxError\n1 error during collection\n", False, "BROKEN"),
        (CARGO, "error: could not compile `headrace-core` (lib)\n", False, "BROKEN"),
        (CARGO, "error: test failed, to rerun pass `--lib`\n(signal: 9, SIGKILL: kill)\n", False, "BROKEN"),
        (FAULT, TIMED_OUT, False, "HUNG"),
        (VITEST, " FAIL  src/x.test.ts > a rate\nError: Test timed out in 5000ms.\n", False, "HUNG"),
    ],
)
def test_only_a_named_test_that_fails_in_time_has_caught_a_fault(
    fault: Fault, output: str, word: str, *, caught: bool
) -> None:
    verdict = judge(fault, Ran(1, output))
    assert verdict[0] == caught
    assert word in verdict[1]


def test_a_test_that_never_ends_is_hung_and_one_that_passes_has_missed_the_fault() -> None:
    assert judge(FAULT, Ran(None, "")) == (False, "HUNG: the test did not end in time\n")
    assert judge(FAULT, Ran(0, "1 passed")) == (False, "MISSED: no test noticed that a promise was broken")


def test_a_faults_package_is_its_crate_or_room() -> None:
    assert FAULT.package == "api"
    assert replace(FAULT, file="engine/crates/headrace-io/src/root.rs").package == "engine/crates/headrace-io"
