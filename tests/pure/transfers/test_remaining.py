"""How long a transfer still takes: by bytes or by files, whichever is slower, and as a range."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as some

from headrace.api.transfers.remaining import Bounds, remaining
from headrace.api.transfers.samples import Between, Sample
from headrace.client import models as m

START = datetime(2026, 11, 25, 12, tzinfo=UTC)
MB = 10**6
COUNTS = some.integers(0, (1 << 63) - 1)


def sample(seconds: float, durable: int, files: int = 0, files_total: int = 0, total: int = 1000 * MB) -> Sample:
    at = START + timedelta(seconds=seconds)
    return Sample(at=at, bytes_durable=durable, bytes_total=total, files_done=files, files_total=files_total)


def test_what_is_left_takes_its_bytes_at_the_present_rate() -> None:
    first, before, now = sample(0, 0), sample(92, 400 * MB), sample(100, 480 * MB)
    found = remaining(now, 80 * MB, 0, Between(before, now), Between(first, now))
    assert found is not None
    assert found.likely_s == 52
    assert found.low_s == 41, "a quarter below it at least"
    assert found.high_s == 109, "at the rate of its whole attempt: 4.8 MB/s"


def test_small_files_that_are_left_count_by_their_number() -> None:
    first, now = sample(0, 990 * MB, 0, 10_000), sample(10, 999 * MB, 1000, 10_000)
    found = remaining(now, 8 * MB, 0, Between(first, now))
    assert found is not None
    assert (found.likely_s, found.high_s) == (90, 113)


def test_files_that_failed_are_not_waited_for() -> None:
    first, now = sample(0, 0, 0, 100), sample(10, 500 * MB, 50, 100)
    found = remaining(now, 400 * MB, 50, Between(first, now))
    assert found is not None
    assert found.likely_s == 10


def test_before_anything_was_measured_the_range_is_wide() -> None:
    now = sample(0, 0)
    found = remaining(now, 8 * MB, 0)
    assert found is not None
    assert (found.low_s, found.likely_s, found.high_s) == (400, 1000, 2500)


def test_nothing_is_said_while_nothing_moves() -> None:
    assert remaining(sample(0, 0), 0, 0) is None


def expected(low: int, likely: int, high: int, **parts: float) -> m.Estimate:
    return m.Estimate(low_s=low, likely_s=likely, high_s=high, said="", **parts)


def test_at_first_it_is_what_the_plan_expected_and_not_what_a_burst_promises() -> None:
    first, now = sample(0, 0), sample(0.3, 0)
    found = remaining(now, 8000 * MB, 0, Between(first, now), expected=expected(80, 100, 130, bytes_s=95))
    assert found is not None
    assert (found.low_s, found.likely_s, found.high_s) == (79, 100, 131)


def test_the_wait_and_the_burst_of_the_first_seconds_are_not_taken_for_its_speed() -> None:
    said = expected(80, 100, 130, bytes_s=95)
    for arrived, expects in ((MB, (78, 99, 131)), (200 * MB, (63, 80, 105))):
        first, now = sample(0, 0), sample(2, arrived)
        found = remaining(now, 8 * MB, 0, Between(first, now), expected=said)
        assert found is not None
        assert (found.low_s, found.likely_s, found.high_s) == expects


def test_what_was_expected_is_said_before_anything_arrives_but_not_for_long() -> None:
    first, soon, late = sample(0, 0), sample(2, 0), sample(11, 0)
    said = expected(80, 100, 130, bytes_s=95)
    begun = remaining(soon, 0, 0, Between(first, soon), expected=said)
    assert begun is not None
    assert begun.likely_s == 100
    assert remaining(late, 0, 0, Between(first, late), expected=said) is None, "nothing moves, so nobody knows"


def test_the_longer_it_runs_the_less_counts_what_was_expected() -> None:
    said = expected(90, 100, 110, bytes_s=100)
    likely = []
    for seconds in (10, 100, 400):
        first, before, now = sample(0, 0), sample(seconds - 5, (seconds - 5) * MB), sample(seconds, seconds * MB)
        found = remaining(now, 8 * MB, 0, Between(before, now), Between(first, now), expected=said)
        assert found is not None
        assert found.low_s <= 1000 - seconds <= found.high_s + 1, "a tenth as fast as was expected, all the time"
        likely.append(found.likely_s / (1000 - seconds))
    assert likely == sorted(likely)
    assert likely[0] < 0.5, "at first it is believed"
    assert 0.95 < likely[-1] <= 1


def test_what_was_expected_of_files_counts_the_small_ones_that_come_last() -> None:
    first, now = sample(0, 0, 0, 10_000), sample(100, 990 * MB, 10, 10_000)
    said = expected(900, 1100, 1300, bytes_s=100, files_s=1000)
    found = remaining(now, 80 * MB, 0, Between(first, now), Between(first, now), expected=said)
    assert found is not None
    assert 900 <= found.likely_s <= 1200, "10 MB are left, in 9,990 files that take a tenth of a second each"
    alone = remaining(now, 80 * MB, 0, Between(first, now), Between(first, now))
    assert alone is not None
    assert alone.likely_s <= 10, "ten files of 99 MB in 10 s each say nothing of small ones"


def test_what_is_on_its_way_to_the_disk_has_arrived() -> None:
    first = sample(0, 0)
    now = replace(sample(10, 0), bytes_received=500 * MB)
    found = remaining(now, 400 * MB, 0, Between(first, now), Between(first, now))
    assert found is not None
    assert (found.likely_s, found.high_s) == (10, 13)


def test_when_all_has_arrived_it_takes_until_that_is_durable() -> None:
    first, before = sample(0, 0), replace(sample(95, 800 * MB), bytes_received=1000 * MB)
    now = replace(sample(100, 900 * MB), bytes_received=1000 * MB)
    found = remaining(now, 0, 0, Between(before, now), Between(first, now))
    assert found is not None
    assert (found.low_s, found.likely_s) == (0, 11)
    assert remaining(now, 0, 0, Between(now, replace(now, at=now.at + timedelta(seconds=9)))) is None


def test_a_ceiling_is_kept_from_the_moment_at_which_it_is_set() -> None:
    first, before, now = sample(0, 0), sample(92, 400 * MB), sample(100, 480 * MB)
    seen = Between(before, now), Between(first, now)
    found = remaining(now, 80 * MB, 0, *seen, bounds=Bounds(ceiling_bps=4 * MB))
    assert found is not None
    assert (found.low_s, found.likely_s) == (1040, 1040)
    assert found.high_s > 1090, "and nothing runs at its ceiling to the second"


def test_others_may_take_back_what_it_takes_above_its_share_of_links() -> None:
    first, now = sample(0, 0), sample(100, 500 * MB)
    found = remaining(now, 40 * MB, 0, Between(first, now), bounds=Bounds(entitled_bps=4 * MB))
    assert found is not None
    assert (found.likely_s, found.high_s) == (100, 1000)


def test_a_promise_that_is_kept_later_ends_no_later_than_its_deadline() -> None:
    first, now = sample(0, 0), sample(100, 10 * MB)
    found = remaining(now, MB, 0, Between(first, now), bounds=Bounds(kept_within_s=600))
    assert found is not None
    assert (found.low_s, found.likely_s, found.high_s) == (600, 600, 601)


@given(COUNTS, COUNTS, COUNTS, COUNTS, COUNTS, COUNTS, some.integers(1, (1 << 63) - 1), COUNTS)
def test_whatever_nodes_say_it_is_a_range(  # noqa: PLR0913, PLR0917 - one a count
    durable: int, more: int, total: int, files: int, more_files: int, files_total: int, rate: int, failed: int
) -> None:
    first, now = sample(0, durable, files), sample(5, more, more_files, files_total, total)
    found = remaining(now, rate, failed, Between(first, now))
    assert found is not None
    assert 0 <= found.low_s <= found.likely_s <= found.high_s < 1 << 53
