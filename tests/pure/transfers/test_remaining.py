"""How long a transfer still takes: by bytes or by files, whichever is slower, and as a range."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as some

from headrace.api.transfers.remaining import remaining
from headrace.api.transfers.samples import Between, Sample

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


@given(COUNTS, COUNTS, COUNTS, COUNTS, COUNTS, COUNTS, some.integers(1, (1 << 63) - 1), COUNTS)
def test_whatever_nodes_say_it_is_a_range(  # noqa: PLR0913, PLR0917 - one a count
    durable: int, more: int, total: int, files: int, more_files: int, files_total: int, rate: int, failed: int
) -> None:
    first, now = sample(0, durable, files), sample(5, more, more_files, files_total, total)
    found = remaining(now, rate, failed, Between(first, now))
    assert found is not None
    assert 0 <= found.low_s <= found.likely_s <= found.high_s < 1 << 53
