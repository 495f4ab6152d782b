"""Samples of throughput: what moved is spread over seconds and rolled up, and nothing of it is lost or made up."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as some

from headrace.api.transfers.rollup import MOST_POINTS, Amount, rolled_up, spread, step_of

NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)
SECOND = int(NOW.timestamp())


def at(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


@given(some.floats(-200_000, 200_000), some.floats(-10, 100_000), some.integers(0, 1 << 62))
def test_what_is_spread_adds_up_to_what_moved(begin: float, length: float, amount: int) -> None:
    shares = list(spread(at(begin), at(begin + length), amount))
    assert sum(share for _, share in shares) == amount
    assert all(share >= 0 for _, share in shares)
    assert [second for second, _ in shares] == list(range(shares[0][0], shares[-1][0] + 1))
    assert shares[-1][0] == int(at(begin + length).timestamp())
    assert len(shares) <= 61


def test_each_second_gets_as_much_as_it_lasted() -> None:
    assert list(spread(at(0.5), at(2.5), 80)) == [(SECOND, 20), (SECOND + 1, 40), (SECOND + 2, 20)]
    assert list(spread(at(0.25), at(0.5), 7)) == [(SECOND, 7)]


def test_a_clock_that_was_set_back_makes_no_second_of_its_own() -> None:
    assert list(spread(at(30), at(10.5), 9)) == [(SECOND + 10, 9)]


def test_what_came_after_a_long_silence_is_of_its_last_minute() -> None:
    shares = dict(spread(at(0), at(3600), 6000))
    assert (min(shares), shares[SECOND + 3540]) == (SECOND + 3540, 100)


@given(
    some.dictionaries(some.integers(0, 10**6), some.integers(0, 10**12), max_size=50), some.sampled_from([1, 10, 300])
)
def test_rolled_up_samples_add_up_to_the_same(seconds: dict[int, int], step: int) -> None:
    rolled = rolled_up({second: Amount(moved, 1) for second, moved in seconds.items()}, step)
    assert sum(one.bytes for one in rolled.values()) == sum(seconds.values())
    assert sum(one.files for one in rolled.values()) == len(seconds)
    assert all(second % step == 0 for second in rolled)


@pytest.mark.parametrize(
    ("ago", "length", "step"),
    [
        (60, 60, 1),
        (3600, 998, 1),
        (3601, 30, 10),
        (3600, 1000, 10),
        (86_400, 9_000, 10),
        (86_401, 30, 300),
        (86_400, 86_400, 300),
        (300 * 86_400, 3600, 300),
        (10 * 86_400, 10 * 86_400, 3600),
        (366 * 86_400, 366 * 86_400, 86_400),
    ],
)
def test_the_finest_samples_that_are_kept_and_fit_are_shown(ago: int, length: int, step: int) -> None:
    since = NOW - timedelta(seconds=ago)
    found = step_of(since, since + timedelta(seconds=length), NOW)
    assert found == step
    assert length / found < MOST_POINTS
