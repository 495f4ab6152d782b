"""Who is entitled to how much of a link."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.faults.run import REPOSITORY

from headrace.api.policy.fair_share import Claim, OnLink, divided, entitlements

CASES: list[dict[str, Any]] = json.loads((REPOSITORY / "conformance/shares/cases.json").read_text(encoding="utf-8"))
WEIGHTS = {"one": OnLink(weight=1), "two": OnLink(weight=2), "four": OnLink(weight=4)}


def test_classes_share_by_weight_and_transfers_of_a_class_share_alike() -> None:
    claims = [Claim("a", "one"), Claim("b", "two"), Claim("c", "four"), Claim("d", "four")]
    assert entitlements(700, 10, WEIGHTS, claims) == pytest.approx({"a": 100, "b": 200, "c": 200, "d": 200})


def test_what_one_does_not_want_goes_to_the_others_by_weight() -> None:
    claims = [Claim("a", "one"), Claim("b", "two"), Claim("c", "four", wants_bps=100)]
    assert entitlements(700, 10, WEIGHTS, claims) == pytest.approx({"a": 200, "b": 400, "c": 100})


def test_a_higher_priority_takes_all_but_the_rest_which_lower_ones_share() -> None:
    rules = {**WEIGHTS, "urgent": OnLink(priority=1)}
    claims = [Claim("a", "one"), Claim("b", "two"), Claim("u", "urgent")]
    assert entitlements(900, 10, rules, claims) == pytest.approx({"a": 30, "b": 60, "u": 810})
    wants_little = [*claims[:2], Claim("u", "urgent", wants_bps=300)]
    assert entitlements(900, 10, rules, wants_little) == pytest.approx({"a": 200, "b": 400, "u": 300})
    assert entitlements(900, 10, rules, claims[2:]) == pytest.approx({"u": 900})


def test_of_three_priorities_each_leaves_those_below_it_the_rest_of_what_reaches_them() -> None:
    rules = {"low": OnLink(), "middle": OnLink(priority=1), "high": OnLink(priority=2)}
    claims = [Claim("l", "low"), Claim("m", "middle"), Claim("h", "high")]
    assert entitlements(1000, 10, rules, claims) == pytest.approx({"l": 10, "m": 90, "h": 900})


def test_a_priority_gets_what_a_lower_one_cannot_use_below_its_ceiling() -> None:
    rules = {"low": OnLink(ceiling_bps=20), "high": OnLink(priority=1)}
    claims = [Claim("l", "low"), Claim("h", "high")]
    assert entitlements(1000, 10, rules, claims) == pytest.approx({"l": 20, "h": 980})


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_nodes_are_held_to_the_same_arithmetic(case: dict[str, Any]) -> None:
    """`conformance/shares/cases.json`: what the scheduler of nodes gives in the long run, too (headrace-core)."""
    link = case["link"]
    rules = {
        one["name"]: OnLink(one["weight"], one["priority"], one["floor_bps"], one["ceiling_bps"])
        for one in link["classes"]
    }
    claims = [
        Claim(str(order), share["class"], share["weight"], share["guaranteed_bps"], claim["wants_bps"])
        for order, claim in enumerate(case["claims"])
        for share in [claim["share"]]
    ]
    found = entitlements(link["rate_bps"], link["rest_percent"], rules, claims)
    assert [found[str(order)] for order in range(len(claims))] == pytest.approx(case["entitled_bps"], abs=1)


def test_floors_come_first_then_guarantees_in_the_order_in_which_they_are_given_then_weights() -> None:
    rules = {"floor": OnLink(weight=1, floor_bps=300), "other": OnLink(weight=1)}
    claims = [Claim("f", "floor"), Claim("o", "other"), Claim("p", "other", guaranteed_bps=400)]
    found = entitlements(1000, 10, rules, claims)
    assert found == pytest.approx({"f": 300 + 150, "o": 75, "p": 400 + 75})
    first, second = Claim("x", "other", guaranteed_bps=900), Claim("y", "other", guaranteed_bps=900)
    assert entitlements(1000, 10, rules, [first, second]) == pytest.approx({"x": 900, "y": 100})
    assert entitlements(1000, 10, rules, [second, first]) == pytest.approx({"y": 900, "x": 100})


def test_nobody_gets_more_than_the_ceiling_of_the_class() -> None:
    rules = {"low": OnLink(weight=10, ceiling_bps=200), "other": OnLink(weight=1)}
    claims = [Claim("a", "low"), Claim("b", "low", guaranteed_bps=500), Claim("c", "other")]
    found = entitlements(1000, 10, rules, claims)
    assert found["a"] + found["b"] == pytest.approx(200)
    assert found["c"] == pytest.approx(800)


@given(
    st.floats(1e3, 1e12),
    st.lists(
        st.builds(
            Claim,
            st.uuids().map(str),
            st.sampled_from(("one", "two", "four", "urgent", "floor", "unknown")),
            guaranteed_bps=st.floats(0, 1e12),
            wants_bps=st.none() | st.floats(0, 1e12),
        ),
        max_size=12,
    ),
)
def test_a_link_is_never_given_away_twice_and_nothing_of_it_is_left_that_somebody_wants(
    rate: float, claims: list[Claim]
) -> None:
    rules = {**WEIGHTS, "urgent": OnLink(priority=1), "floor": OnLink(floor_bps=1e6)}
    found = entitlements(rate, 10, rules, claims)
    total = sum(found.values())
    assert total <= rate * 1.000001
    for claim in claims:
        assert claim.wants_bps is None or found[claim.transfer] <= claim.wants_bps * 1.000001 + 1
    wanted = sum(rate if claim.wants_bps is None else claim.wants_bps for claim in claims)
    assert total >= min(rate, wanted) * 0.999 - 10


def test_dividing_gives_everything_away_and_no_more_than_each_can_take() -> None:
    assert divided(100, [("a", 1, 10), ("b", 1, 1000), ("c", 2, 1000)]) == pytest.approx({"a": 10, "b": 30, "c": 60})
    assert divided(100, [("a", 0, 10), ("b", 1, 0)]) == {}
