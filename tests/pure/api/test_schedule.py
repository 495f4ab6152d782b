"""When a plan may run, and whether its deadline can be kept: whatever figures people and nodes give."""

from datetime import UTC, datetime, timedelta

import pytest

from headrace.api.planning.schedule import Schedule, at_risk
from headrace.guardrails import OpenHours

NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)
MINUTE_A_DAY = OpenHours.of(("22:00", "22:01"), "Europe/Berlin")
DEADLINE = NOW + timedelta(days=300)


@pytest.mark.parametrize("hours", [None, MINUTE_A_DAY])
@pytest.mark.parametrize("left_s", [10**9, 10**12, 2**63 - 1])
def test_however_long_a_node_says_it_takes_there_is_an_answer(hours: OpenHours | None, left_s: int) -> None:
    assert at_risk(DEADLINE, hours, left_s, NOW)
    schedule = Schedule(begins=NOW, starts=None, hours=hours, deadline=DEADLINE)
    assert "at the earliest" in schedule.infeasible(2**63 - 1, 1)
    assert schedule.warning(left_s)


def test_a_deadline_is_at_risk_when_the_work_does_not_fit_into_the_hours_before_it() -> None:
    assert at_risk(DEADLINE, MINUTE_A_DAY, 301 * 60, NOW)
    assert not at_risk(DEADLINE, MINUTE_A_DAY, 298 * 60, NOW)
    assert not at_risk(DEADLINE, None, None, NOW)
    assert at_risk(DEADLINE, None, None, DEADLINE)
