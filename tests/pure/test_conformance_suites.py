"""Suites that several implementations share leave nothing out."""

from importlib import import_module
from inspect import iscoroutinefunction, signature
from pathlib import Path

import pytest

SUITES = sorted(path.stem for path in Path(__file__).parents[1].glob("conformance/*_conformance.py"))


@pytest.mark.parametrize("name", SUITES)
def test_every_check_of_a_suite_is_among_those_that_are_run(name: str) -> None:
    suite = import_module(f"tests.conformance.{name}")
    written = {
        key
        for key, value in vars(suite).items()
        if iscoroutinefunction(value) and value.__module__ == suite.__name__ and not key.startswith("_")
        # A check is given what it checks, and nothing else.
        if len(signature(value).parameters) == 1
    }
    assert written == {check.__name__ for check in suite.CHECKS} != set()
