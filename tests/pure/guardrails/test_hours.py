"""Hours of the day: when they open and close, over midnight and over changes of clocks."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.guardrails.intents import OpenHours

BERLIN = "Europe/Berlin"
NIGHT = OpenHours.of(("22:00", "05:00"), BERLIN)
DAY = OpenHours.of(("08:00", "18:00"), BERLIN)


def local(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(BERLIN)).astimezone(UTC)


@pytest.mark.parametrize(
    ("hours", "at", "opens", "closes"),
    [
        (NIGHT, "2026-11-25T15:00", "2026-11-25T22:00", "2026-11-26T05:00"),
        (NIGHT, "2026-11-25T22:00", "2026-11-25T22:00", "2026-11-26T05:00"),
        (NIGHT, "2026-11-26T04:59", "2026-11-26T04:59", "2026-11-26T05:00"),
        (NIGHT, "2026-11-26T05:00", "2026-11-26T22:00", "2026-11-27T05:00"),
        (DAY, "2026-11-25T07:59", "2026-11-25T08:00", "2026-11-25T18:00"),
        (DAY, "2026-11-25T18:00", "2026-11-26T08:00", "2026-11-26T18:00"),
    ],
)
def test_they_open_at_their_first_time_and_are_closed_at_their_last(
    hours: OpenHours, at: str, opens: str, closes: str
) -> None:
    assert (hours.opening(local(at)), hours.closing(local(at))) == (local(opens), local(closes))


def test_a_night_in_which_clocks_change_is_an_hour_shorter_or_longer() -> None:
    spring, autumn = local("2027-03-27T22:00"), local("2026-10-24T22:00")
    assert NIGHT.closing(spring) - spring == timedelta(hours=6)
    assert NIGHT.closing(autumn) - autumn == timedelta(hours=8)


def test_hours_that_a_change_of_clocks_leaves_out_open_the_day_after() -> None:
    skipped = OpenHours.of(("02:00", "03:00"), BERLIN)
    assert skipped.opening(local("2027-03-28T00:30")) == local("2027-03-29T02:00")


def test_work_that_does_not_fit_into_one_night_ends_in_a_later_one() -> None:
    begins = local("2026-11-25T15:00")
    assert NIGHT.after(begins, timedelta(hours=2)) == local("2026-11-26T00:00")
    assert NIGHT.after(begins, timedelta(hours=7)) == local("2026-11-26T05:00")
    assert NIGHT.after(begins, timedelta(hours=8)) == local("2026-11-26T23:00")


@given(
    st.datetimes(datetime(2026, 1, 1), datetime(2030, 1, 1)),  # noqa: DTZ001 - made aware below
    st.times(),
    st.times(),
    st.sampled_from([BERLIN, "UTC", "America/Chicago", "Australia/Lord_Howe", "Asia/Kathmandu"]),
)
def test_whenever_they_open_it_is_between_their_two_times(
    at: datetime, opens: object, closes: object, zone: str
) -> None:
    first, last = f"{opens:%H:%M}", f"{closes:%H:%M}"
    if first == last:
        return
    hours, moment = OpenHours.of((first, last), zone), at.replace(tzinfo=UTC)
    opening, closing = hours.opening(moment), hours.closing(moment)
    assert moment <= opening < closing <= moment + timedelta(days=3)
    assert hours.opening(opening) == opening
    assert hours.opening(closing) >= closing
    assert hours.closing(opening) == closing
    assert OpenHours.read(hours.to_body()) == hours


@pytest.mark.parametrize("window", [("22:00", "22:00"), ("25:00", "05:00"), ("", "05:00")])
def test_what_are_no_hours_is_refused(window: tuple[str, str]) -> None:
    with pytest.raises(ValueError, match=r".+"):
        OpenHours.of(window, BERLIN)
