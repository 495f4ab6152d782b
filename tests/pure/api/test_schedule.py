"""When a plan may run, and whether its deadline can be kept: whatever figures people and nodes give."""

from datetime import UTC, datetime, timedelta

import pytest

from headrace.api.planning.schedule import Schedule, at_risk
from headrace.api.policy.calendars import Calendar, Together
from headrace.client import models as m
from headrace.guardrails import OpenHours

NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)
MINUTE_A_DAY = OpenHours.of(("22:00", "22:01"), "Europe/Berlin")
DEADLINE = NOW + timedelta(days=300)


@pytest.mark.parametrize("hours", [None, MINUTE_A_DAY])
@pytest.mark.parametrize("left_s", [10**9, 10**12, 2**63 - 1])
def test_however_long_a_node_says_it_takes_there_is_an_answer(hours: OpenHours | None, left_s: int) -> None:
    assert at_risk(DEADLINE, Together((hours,) if hours else ()), left_s, NOW)
    schedule = Schedule(begins=NOW, starts=None, hours=hours, deadline=DEADLINE)
    assert "at the earliest" in schedule.infeasible(2**63 - 1, 1)
    assert schedule.warning(left_s)


def test_a_deadline_is_at_risk_when_the_work_does_not_fit_into_the_hours_before_it() -> None:
    assert at_risk(DEADLINE, Together((MINUTE_A_DAY,)), 301 * 60, NOW)
    assert not at_risk(DEADLINE, Together((MINUTE_A_DAY,)), 298 * 60, NOW)
    assert not at_risk(DEADLINE, Together(()), None, NOW)
    assert at_risk(DEADLINE, Together(()), None, DEADLINE)


def test_at_its_present_rate_a_transfer_is_late_or_not() -> None:
    soon = NOW + timedelta(hours=2)
    assert at_risk(soon, Together(()), 2 * 3600, NOW)
    assert not at_risk(soon, Together(()), 2 * 3600 - 1, NOW)
    # In its hours alone: they open at 22:00 in Berlin, which is 21:00 UTC.
    night = OpenHours.of(("22:00", "05:00"), "Europe/Berlin")
    assert not at_risk(NOW + timedelta(hours=10), Together((night,)), 3600 - 1, NOW)
    assert at_risk(NOW + timedelta(hours=10), Together((night,)), 3600 + 1, NOW)


def test_a_deadline_before_it_may_run_at_all_is_infeasible() -> None:
    begins = NOW + timedelta(hours=9)
    for deadline in (begins - timedelta(seconds=1), begins):
        schedule = Schedule(begins=begins, starts=begins, hours=None, deadline=deadline)
        assert schedule.infeasible(1, None).startswith("it may not run before 2026-11-25 21:00 UTC")
    later = Schedule(begins=begins, starts=begins, hours=None, deadline=begins + timedelta(seconds=1))
    assert later.infeasible(1, None) == ""


@pytest.mark.parametrize("hours", [None, Together(()), Together((MINUTE_A_DAY,))])
def test_a_deadline_in_the_past_is_infeasible(hours: Together | None) -> None:
    schedule = Schedule(begins=NOW, starts=None, hours=None, deadline=NOW - timedelta(seconds=1))
    assert "is to be done by 2026-11-25 11:59:59 UTC; ask for a later deadline" in schedule.infeasible(1, None, hours)


@pytest.mark.parametrize("hours", [None, Together(())])
def test_a_deadline_below_the_physical_limit_is_infeasible_and_says_when_it_would_be_done(
    hours: Together | None,
) -> None:
    soon = Schedule(begins=NOW, starts=None, hours=None, deadline=NOW + timedelta(seconds=79))
    said = soon.infeasible(10_000_000, 1_000_000, hours)
    assert "done at 2026-11-25 12:02 UTC at the earliest" in said, "at 12:01:20: who asks for 12:01 would be refused"
    named = Schedule(begins=NOW, starts=None, hours=None, deadline=NOW + timedelta(minutes=2))
    assert named.infeasible(10_000_000, 1_000_000, hours) == ""
    enough = Schedule(begins=NOW, starts=None, hours=None, deadline=NOW + timedelta(seconds=80))
    assert enough.infeasible(10_000_000, 1_000_000, hours) == ""


def test_a_deadline_that_the_hours_of_a_class_are_too_short_for_is_infeasible() -> None:
    schedule = Schedule(begins=NOW, starts=None, hours=None, deadline=NOW + timedelta(days=1))
    assert "and not by" in schedule.infeasible(61 * 125_000, 1_000_000, Together((MINUTE_A_DAY,)))
    assert schedule.infeasible(60 * 125_000, 1_000_000, Together((MINUTE_A_DAY,))) == ""
    never = Together((Calendar("never", m.QosCalendar(name="never")),))
    assert schedule.infeasible(1, None, never).startswith("it may not run in any hours of its class")
