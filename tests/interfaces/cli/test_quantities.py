import contextlib
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.cli.quantities import moment, rate_bps, size_bytes, span_s

NOW = datetime(2026, 11, 25, 14, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0), ("512", 512), ("512B", 512), ("1 byte", 1), ("10kB", 10_000), ("10KB", 10_000), ("10MB", 10**7),
        ("1.5 GB", 1_500_000_000), ("1GiB", 2**30), ("2 TiB", 2**41), ("0.5kB", 500),
    ],
)  # fmt: skip
def test_sizes_are_bytes(text: str, value: int) -> None:
    assert size_bytes(text) == value


@pytest.mark.parametrize(
    "text", ["", "10M", "10G", "10 gig", "10,5MB", "1.5B", "-1", "10Mb", "1e9", "ten", "9" * 30, "0x10", "٣MB"]
)
def test_a_size_with_two_readings_or_none_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match=r"like 10MB|that can be counted"):
        size_bytes(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5Gb/s", 5 * 10**9), ("5 Gbit/s", 5 * 10**9), ("5Gbps", 5 * 10**9), ("600MB/s", 4_800_000_000),
        ("1.5 Gb/s", 1_500_000_000), ("1MiB/s", 8 * 2**20), ("8b/s", 8),
    ],
)  # fmt: skip
def test_rates_are_bits_and_a_large_b_is_bytes(text: str, value: int) -> None:
    assert rate_bps(text) == value


@pytest.mark.parametrize("text", ["", "10", "10M", "5Gb", "5G/s", "0Gb/s", "fast", "-5Gb/s", "10 gig/s"])
def test_a_rate_with_two_readings_or_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"like 5Gb/s|headrace pause"):
        rate_bps(text)


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
        ("2d", NOW - timedelta(days=2)),
        ("1w", NOW - timedelta(days=7)),
        ("2026-11-20T10:00:00+01:00", datetime(2026, 11, 20, 9, tzinfo=UTC)),
        ("2026-11-20T10:00Z", datetime(2026, 11, 20, 10, tzinfo=UTC)),
    ],
)
def test_times_are_ages_or_moments(text: str, value: datetime) -> None:
    assert moment(text, NOW) == value


def test_a_date_is_local_and_aware() -> None:
    assert moment("2026-11-20", NOW) == datetime(2026, 11, 20).astimezone()


@pytest.mark.parametrize("text", ["", "2m", "yesterday", "11/20/2026", "2026-13-01"])
def test_a_time_with_two_readings_or_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="write an age"):
        moment(text, NOW)
