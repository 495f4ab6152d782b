from datetime import UTC, datetime, timedelta

from headrace.api.clock import steady

NOON = datetime(2026, 11, 25, 12, tzinfo=UTC)
DAY = timedelta(days=1)


def test_a_steady_clock_begins_at_the_time_and_follows_no_jump() -> None:
    told = [NOON]
    waits = steady(lambda: told[-1])
    for jump in (10 * DAY, -10 * DAY):
        before = waits()
        told.append(NOON + jump)
        assert before <= waits() < NOON + DAY
