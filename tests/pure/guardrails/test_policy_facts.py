"""The facts of a plan: each one arrives in the document that policies are given, under its own name."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.pure.guardrails.made import NODE_A, NODE_B, Asked, route

from headrace.guardrails import Budgets, Facts, Moment, SurveyCounts, execution_of
from headrace.guardrails.intents.origins import SLOTS, Origin, OriginKind
from headrace.guardrails.seal.execution import GROWTH_PERCENT

EVENING = datetime(2026, 11, 26, 3, 30, tzinfo=UTC)
"""Thursday in UTC, and still Wednesday, 21:30, in Chicago."""
START = EVENING + timedelta(days=1, minutes=7)
MOMENT = Moment(
    now=EVENING,
    zone="America/Chicago",
    door="console",
    session=True,
    credential="session",
    factors=frozenset({"pwd", "otp"}),
    start=START,
)
# No two of these numbers are alike, and none is a default: a fact that is taken from another shows.
COUNTS = SurveyCounts(
    source_kind="dir",
    files=10_000,
    bytes=20_000_000_000,
    source_entries=31_000,
    directories=41,
    symlinks=42,
    identical_files=3_000,
    excluded_files=5_000,
    skipped_special=43,
    conflicts=2_000,
    overwrites=1_700,
    overwritten_bytes=171_717,
    overwrites_digest="1" * 64,
    deletes=2_900,
    deleted_bytes=292_929,
    deletes_digest="2" * 64,
    destination_files=10_001,
    destination_free_bytes=1 << 50,
    case_collisions=44,
    largest_file_bytes=987_654_321,
    destination_exists=True,
)
BUDGETS = Budgets(
    person_used_bytes=101,
    person_budget_bytes=102,
    agent_used_bytes=103,
    agent_budget_bytes=104,
    plan_budget_bytes=105,
    plan_budget_files=106,
    running_transfers=107,
)
ORIGINS = {"action": Origin(OriginKind.SAID), "source": Origin(OriginKind.ASSISTANT)}
EXPECTED: dict[str, Any] = {
    "now": "2026-11-26T03:30:00.000Z",
    "start": "2026-11-27T03:37:00.000Z",
    "weekday": 4,
    "minute": 21 * 60 + 37,
    "door": "console",
    "session": True,
    "credential": "session",
    "factors": ["otp", "pwd"],
    "files": 10_000,
    "bytes": 20_000_000_000,
    "max_files": 10_000,
    "max_bytes": 20_000_000_000,
    "overwrites": 1_700,
    "overwritten_bytes": 171_717,
    "overwrite_share_percent": 17,
    "deletes": 2_900,
    "deleted_bytes": 292_929,
    "delete_share_percent": 29,
    "moved_files": 13_000,
    "move_share_percent": 65,
    "encrypted": False,
    "verification": "at-rest",
    "largest_file_bytes": 987_654_321,
    "on_conflict": "newer",
    "rate_limit_bps": 7_000_000,
    "deadline": "",
    "project": "",
    "person_used_bytes": 101,
    "person_budget_bytes": 102,
    "agent_used_bytes": 103,
    "agent_budget_bytes": 104,
    "plan_budget_bytes": 105,
    "plan_budget_files": 106,
    "running_transfers": 107,
    "origins": dict.fromkeys(SLOTS, "assumed") | {"action": "said", "source": "assistant"},
}
_FOLLOWING: dict[str, Any] = {"max_files": 10_500, "max_bytes": 21_000_000_000}
"""A source that stays may grow; that of a move may not."""
_STAYING: dict[str, Any] = _FOLLOWING | {"moved_files": 0, "move_share_percent": 0}


def facts(**changes: Any) -> Facts:  # noqa: ANN401 - as slots have
    unusual: dict[str, Any] = {
        "action": "move", "encryption": False, "on_conflict": "newer", "rate_limit_bps": 7_000_000,
    }  # fmt: skip
    asked = Asked(**unusual | changes)
    execution = execution_of(asked, route()).surveyed(COUNTS)
    assert (execution.source.node, execution.destination.node) == (NODE_A, NODE_B)
    return Facts.of(execution, COUNTS, MOMENT, BUDGETS, ORIGINS)


def test_every_fact_of_an_unusual_move_is_given_to_policies_as_it_was_found() -> None:
    assert GROWTH_PERCENT == 5, "the ceilings above are 5% more than what was found"
    assert facts().context() == EXPECTED


@pytest.mark.parametrize(
    ("asked", "differs"),
    [
        ({"encryption": True}, {"encrypted": True}),
        ({"on_conflict": "skip"}, {"on_conflict": "skip"}),
        ({"rate_limit_bps": None}, {"rate_limit_bps": 0}),
        ({"action": "sync", "verify": "in-transit"}, _STAYING | {"verification": "in-transit"}),
        ({"action": "sync", "verify": "at-rest"}, _STAYING),
    ],
)
def test_another_request_changes_its_own_facts_and_no_other(asked: dict[str, Any], differs: dict[str, Any]) -> None:
    assert facts(**asked).context() == EXPECTED | differs


def test_a_deadline_is_a_fact_if_it_was_asked_for() -> None:
    found = replace(facts(), deadline=START + timedelta(hours=1)).context()
    assert found == EXPECTED | {"deadline": "2026-11-27T04:37:00.000Z"}


def test_the_project_is_a_fact_if_one_was_named() -> None:
    assert replace(facts(), project="cryo-em").context() == EXPECTED | {"project": "cryo-em"}


@pytest.mark.parametrize(
    ("start", "runs", "weekday", "minute"),
    [
        (None, EVENING, 3, 21 * 60 + 30),
        (EVENING - timedelta(hours=5), EVENING, 3, 21 * 60 + 30),
        (EVENING + timedelta(hours=3), EVENING + timedelta(hours=3), 4, 30),
    ],
)
def test_weekday_and_minute_are_those_of_the_sites_zone_when_it_runs_and_never_before_now(
    start: datetime | None, runs: datetime, weekday: int, minute: int
) -> None:
    found = replace(MOMENT, start=start).context()
    assert datetime.fromisoformat(str(found["start"])) == runs
    assert (found["weekday"], found["minute"]) == (weekday, minute)
