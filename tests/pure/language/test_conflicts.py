"""That a file is there already is the one condition that a plan has; any other is asked about."""

import pytest
from tests.pure.language.made import asked_after, slot_of

THERE = [
    "if present",
    "if there is one already",
    "if it already exists",
    "if it's there already",
    "where a file exists",
    "if any file already exists at the destination",
    "if there's an old one",
    "if a file with the same name is already there",
    "when the destination file exists",
]
WISHES = {"skip": "skip it", "overwrite": "overwrite it", "fail": "fail"}
OTHER = ["if it is large", "if the link is free", "if there is enough space", "if it is not there", "if somebody asks"]


@pytest.mark.parametrize("pattern", ["{wish} {there}", "{there}, {wish}", "{there} then {wish}"])
@pytest.mark.parametrize("there", THERE)
@pytest.mark.parametrize(("value", "wish"), WISHES.items())
def test_what_happens_to_a_file_that_is_there_may_stand_before_or_behind_that_it_is(
    value: str, wish: str, there: str, pattern: str
) -> None:
    assert slot_of(pattern.format(wish=wish, there=there), "on_conflict") == value


@pytest.mark.parametrize("pattern", ["{wish} {other}", "{other}, {wish}"])
@pytest.mark.parametrize("other", OTHER)
@pytest.mark.parametrize("wish", WISHES.values())
def test_any_other_condition_is_asked_about(wish: str, other: str, pattern: str) -> None:
    asked_after(pattern.format(wish=wish, other=other))


@pytest.mark.parametrize("replacing", ["replacing", "overwriting"])
@pytest.mark.parametrize("newer", ["if ours is newer", "when the source is newer", "if newer"])
@pytest.mark.parametrize("pattern", ["{replacing} a file only {newer}", "only {replacing} {newer}"])
def test_newer_files_alone_are_replaced(replacing: str, newer: str, pattern: str) -> None:
    assert slot_of(pattern.format(replacing=replacing, newer=newer), "on_conflict") == "newer"
