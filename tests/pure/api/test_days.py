"""The days of budgets and quotas are those of the site."""

from datetime import UTC, datetime

import pytest

from headrace.api.policy.budgets import day_of
from headrace.api.policy.quota_rules import renewal

LATE = datetime(2026, 11, 25, 23, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("zone", "day", "renews"),
    [
        ("UTC", "2026-11-25", datetime(2026, 11, 26, tzinfo=UTC)),
        ("Europe/Berlin", "2026-11-26", datetime(2026, 11, 26, 23, tzinfo=UTC)),
        ("America/Chicago", "2026-11-25", datetime(2026, 11, 26, 6, tzinfo=UTC)),
    ],
)
def test_a_day_begins_and_ends_at_midnight_of_the_sites_zone(zone: str, day: str, renews: datetime) -> None:
    assert day_of(LATE, zone) == day
    assert renewal(day, zone) == renews
