"""When a transfer is expected to end: its work laid into its hours, as a range."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from headrace.api.policy.calendars import Together
from headrace.api.transfers.expected_end import Ahead, expected_end
from headrace.client import models as m
from headrace.guardrails import OpenHours

NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)
NIGHTS = Together((OpenHours.of(("20:00", "06:00"), "UTC"),))
ANY = Together(())
HOUR = 3600
EXPECTED = m.Estimate(low_s=HOUR, likely_s=2 * HOUR, high_s=14 * HOUR, said="")


def ahead(state: m.TransferState, *, hours: Together = ANY, begins: datetime | None = None, **said: Any) -> Ahead:  # noqa: ANN401 - counts
    progress = m.Progress(**said)
    return Ahead(state=state, progress=progress, expected=EXPECTED, begins=begins, hours=hours, now=NOW)


def at(hours: float) -> datetime:
    return NOW + timedelta(hours=hours)


def test_what_runs_ends_by_what_is_measured_of_it_and_waits_when_its_hours_close() -> None:
    said: dict[str, Any] = {"eta_low_s": HOUR, "eta_s": 4 * HOUR, "eta_high_s": 7 * HOUR}
    found = expected_end(ahead(m.TransferState.RUNNING, **said))
    assert found == m.ExpectedEnd(earliest=at(1), likely=at(4), latest=at(7))
    closing = Together((OpenHours.of(("06:00", "14:00"), "UTC"),))
    found = expected_end(ahead(m.TransferState.RUNNING, hours=closing, **said))
    assert found == m.ExpectedEnd(earliest=at(1), likely=at(20), latest=at(23)), "two hours today, the rest tomorrow"


def test_what_begins_later_ends_by_what_its_plan_expects_in_its_hours() -> None:
    found = expected_end(ahead(m.TransferState.QUEUED, begins=at(8), hours=NIGHTS))
    assert found is not None
    assert (found.earliest, found.likely, found.latest) == (at(9), at(10), at(36))
    assert found.said == "it begins or goes on at 2026-11-25 20:00 UTC, if nothing else holds it back then"


def test_of_what_is_done_already_only_the_rest_is_expected() -> None:
    done: dict[str, Any] = {"bytes_total": 100, "bytes_durable": 75}
    found = expected_end(ahead(m.TransferState.WAITING, begins=at(8), **done))
    assert found is not None
    assert (found.earliest, found.likely) == (at(8.25), at(8.5))


def test_of_what_waits_for_others_only_the_earliest_end_is_known() -> None:
    found = expected_end(ahead(m.TransferState.QUEUED))
    assert found is not None
    assert (found.earliest, found.likely, found.latest) == (at(1), None, None)
    assert found.said == "when it begins or goes on is not known; it takes about 2 h (1 h to 14 h) from then on"


@pytest.mark.parametrize("state", [m.TransferState.RUNNING, m.TransferState.PAUSED, m.TransferState.COMPLETE])
def test_nothing_is_said_of_what_does_not_move_is_held_or_has_ended(state: m.TransferState) -> None:
    assert expected_end(ahead(state)) is None


def test_hours_that_do_not_suffice_are_no_end() -> None:
    moment = Together((OpenHours.of(("12:00", "12:01"), "UTC"),))
    found = expected_end(ahead(m.TransferState.RUNNING, hours=moment, eta_low_s=1, eta_s=60, eta_high_s=5 * 86_400))
    assert found is not None
    assert (found.earliest, found.latest) == (NOW + timedelta(seconds=1), None)
