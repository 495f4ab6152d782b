"""Ids that are given by their beginning at the command line."""

from dataclasses import dataclass

import pytest

from headrace.cli.beginnings import begun_by
from headrace.client import HeadraceError


@dataclass(frozen=True)
class Thing:
    id: str


THINGS = [Thing("tk_abcd11"), Thing("tk_abcd22"), Thing("tk_ef0033")]


def test_a_beginning_that_one_has_names_it_with_or_without_its_prefix() -> None:
    assert [begun_by(THINGS, text, "tokens") for text in ("tk_ef00", "ef00")] == ["tk_ef0033"] * 2
    assert begun_by(THINGS, "tk_abcd11", "tokens") == "tk_abcd11"


def test_what_nothing_begins_with_and_what_is_too_short_stays_as_it_is_for_the_service_to_refuse() -> None:
    assert [begun_by(THINGS, text, "tokens") for text in ("tk_9999", "tk_", "ef0", "")] == ["tk_9999", "tk_", "ef0", ""]


def test_a_beginning_of_several_is_refused_with_all_of_them() -> None:
    with pytest.raises(HeadraceError, match=r"`abcd` is the beginning of several tokens: tk_abcd11, tk_abcd22;"):
        begun_by(THINGS, "abcd", "tokens")
