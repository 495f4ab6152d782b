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


def test_what_nothing_begins_with_stays_as_it_is_for_the_service_to_refuse() -> None:
    assert [begun_by(THINGS, text, "tokens") for text in ("tk_9999", "99", "")] == ["tk_9999", "99", ""]


def test_too_short_a_beginning_names_nothing_and_is_told_the_whole_id() -> None:
    for text in ("ef0", "tk_e"):
        with pytest.raises(HeadraceError, match=rf"`{text}` is only the beginning of an id: .* may be `tk_ef0033`"):
            begun_by(THINGS, text, "tokens")
    with pytest.raises(
        HeadraceError, match="`tk_` is the beginning of several tokens: tk_abcd11, tk_abcd22, tk_ef0033"
    ):
        begun_by(THINGS, "tk_", "tokens")


def test_an_id_that_was_cut_off_where_it_was_shown_is_a_beginning() -> None:
    assert [begun_by(THINGS, text, "tokens") for text in ("tk_ef00...", "tk_ef00…")] == ["tk_ef0033"] * 2


def test_a_beginning_of_several_is_refused_with_all_of_them() -> None:
    with pytest.raises(HeadraceError, match=r"`abcd` is the beginning of several tokens: tk_abcd11, tk_abcd22;"):
        begun_by(THINGS, "abcd", "tokens")
