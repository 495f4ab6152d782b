"""What is asked for once more keeps no times that have passed."""

from datetime import UTC, datetime, timedelta

from headrace.cli.moving import for_now
from headrace.client import models as m

NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)


def test_times_that_have_passed_are_left_out_and_named_and_those_to_come_are_kept() -> None:
    past, ahead = NOW - timedelta(seconds=1), NOW + timedelta(days=1)
    intent = m.TransferIntent(action="copy", source="lab:/a", destination="archive:/a", start=past, deadline=ahead)
    assert for_now(intent, NOW) == (intent.model_copy(update={"start": None}), ["start"])
    both = intent.model_copy(update={"deadline": past})
    assert for_now(both, NOW) == (intent.model_copy(update={"start": None, "deadline": None}), ["start", "deadline"])
    none = both.model_copy(update={"start": None, "deadline": None})
    assert for_now(none, NOW) == (none, [])
