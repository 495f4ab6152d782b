import contextlib
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.cli.quantities import moment, moment_ahead, rate_bps, size_bytes, span_s

NOW = datetime(2026, 11, 25, 14, 30, tzinfo=UTC)


@given(st.integers(0, 10**6), st.sampled_from(["kB", "MB", "GB", "KiB", "MiB"]))
def test_a_unit_multiplies_exactly(count: int, unit: str) -> None:
    assert size_bytes(f"{count}{unit}") == count * size_bytes(f"1{unit}")


@given(st.text(max_size=30))
def test_any_text_is_a_number_or_a_value_error(text: str) -> None:
    for read in (size_bytes, rate_bps, span_s):
        with contextlib.suppress(ValueError):
            assert read(text) >= 0


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("90min", NOW - timedelta(minutes=90)),
        ("90 minutes", NOW - timedelta(minutes=90)),
        ("1hour", NOW - timedelta(hours=1)),
        ("2 days", NOW - timedelta(days=2)),
        ("2d", NOW - timedelta(days=2)),
        ("1w", NOW - timedelta(days=7)),
        ("2026-11-20T10:00:00+01:00", datetime(2026, 11, 20, 9, tzinfo=UTC)),
        ("2026-11-20T10:00Z", datetime(2026, 11, 20, 10, tzinfo=UTC)),
    ],
)
def test_times_are_ages_or_moments(text: str, value: datetime) -> None:
    assert moment(text, NOW) == value


def test_the_refusal_of_a_time_shows_how_minutes_are_written() -> None:
    for read in (moment, moment_ahead):
        with pytest.raises(ValueError, match="30min"):
            read("5m", NOW)


def test_a_date_is_local_and_aware() -> None:
    assert moment("2026-11-20", NOW) == datetime(2026, 11, 20).astimezone()


@pytest.mark.parametrize("text", ["", "2m", "yesterday", "11/20/2026", "2026-13-01"])
def test_a_time_with_two_readings_or_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="write an age"):
        moment(text, NOW)


def test_a_length_of_time_leads_to_a_whole_second_that_people_can_read() -> None:
    now = NOW.replace(microsecond=476_000)
    assert moment_ahead("12h", now) == NOW + timedelta(hours=12)
    assert moment("12h", now) == NOW - timedelta(hours=12)
