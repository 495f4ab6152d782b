"""What the campaign of kills (tests/slow) holds against itself and against the service: each finding can be made."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.slow.kill_service.house import Back
from tests.slow.kill_service.verdict import (
    MUST_BE_HIT,
    Seen,
    kept,
    late_nodes,
    missed,
    nodes_back,
    ran_twice,
    service_kills,
    stranded,
    taken_over,
    wrong,
)

from headrace.client import models as m

ALL = dict.fromkeys(MUST_BE_HIT, 40)
NOW = datetime(2026, 11, 22, tzinfo=UTC)
INTACT = m.AuditVerdict(intact=True, events=3, head="")


def transfer(state: str = "complete", number: int = 1, digest: str = "0") -> m.Transfer:
    return m.Transfer.model_validate(
        {
            "id": f"tr_{number}", "plan": f"pl_{number}", "plan_digest": digest * 64, "state": state, "action": "copy",
            "requester": "ada", "source": "lab:/a", "destination": "archive:/a", "created": NOW,
        }
    )  # fmt: skip


def plan(state: str) -> m.Plan:
    return m.Plan.model_validate({"id": "pl_1", "state": state, "requester": "ada", "created": NOW})


def event(kind: str, subject: str = "tr_1", **detail: str) -> m.AuditEvent:
    return m.AuditEvent(sequence=1, at=NOW, kind=kind, subject=subject, detail=detail, previous="", hash="")


SUBMITTED = event("submitted")
TICKETED = event("ticketed", attempt="1")
RECEIPT = event("receipt_made", "rc_1", transfer="tr_1")
ENDED = event("transfer_changed", event="complete", state="complete")
STORY = [SUBMITTED, TICKETED, RECEIPT, ENDED]


@pytest.mark.parametrize("moment", MUST_BE_HIT)
def test_a_long_campaign_that_never_hit_a_moment_fails(moment: str) -> None:
    assert missed(ALL) == []
    [finding] = missed(ALL | {moment: 0, "anything": 40})
    assert f"`{moment}`" in finding
    assert missed(ALL | {moment: 0, "anything": 39}) == []


def test_only_kills_of_the_service_count() -> None:
    killed = {(("left",), "running"): 5, (("service",), "running"): 2, (("service", "left", "right"), "ending"): 1}
    assert service_kills(killed) == {"running": 2, "ending": 1}


def test_nodes_that_come_back_late_fail_it_on_a_quiet_host_only() -> None:
    assert late_nodes([Back(2.0, 0.1), Back(30.0, 2.0)]) == []
    [finding] = late_nodes([Back(0.2, 0.1), Back(2.1, 1.9)])
    assert "2.1 s" in finding


def test_it_says_how_many_restarts_could_show_that_the_nodes_come_back_in_time() -> None:
    assert nodes_back([Back(0.2, 0.1), Back(0.4, 1.9), Back(30.0, 2.0)])["judged"] == "2 of 3 restarts"
    assert nodes_back([Back(0.2, 2.0)])["judged"] == "not shown: none of 1 restarts"


def test_it_says_what_kills_of_the_process_that_led_cost() -> None:
    said = taken_over([4.0, 1.0, 2.0], {1: 7, 3: 1, 0: 90})
    assert said["nodes_at_the_next_leader_s"] == {"median": 2.0, "longest": 4.0}
    assert said["calls_made_again"] == {"1 times": 7, "3 times": 1}
    assert taken_over([], {})["kills_of_the_leader_alone"] == 0


def test_a_whole_story_is_found_right() -> None:
    assert wrong(Seen([plan("ready")], [transfer()], STORY, INTACT), [], []) == []


def test_everything_that_is_wrong_is_found(tmp_path: Path) -> None:
    seen = Seen(
        [plan("surveying")], [transfer("running")], [], m.AuditVerdict(intact=False, events=3, head="", broken_at=2)
    )
    found = wrong(seen, [tmp_path, tmp_path / "not there"], [Path("state/tr_9")])
    for said in ("broken at event 2", "no transfer completed", "pl_1: still surveying", "tr_1: submitted 0 times"):
        assert sum(said in one for one in found) == 1, found
    assert [one for one in found if "appeared again" in one] == [
        f"{tmp_path} appeared again after its transfer was over"
    ]
    assert "tr_9 is over, and state/tr_9 is still there" in found


def test_what_has_not_ended_is_stranded() -> None:
    assert stranded([plan("ready")], [transfer("complete"), transfer("partial"), transfer("failed")]) == []
    found = stranded([plan("surveying")], [transfer("waiting"), transfer("canceled")])
    assert [one.partition(" (")[0] for one in found] == ["pl_1: still surveying", "tr_1: still waiting"]


@pytest.mark.parametrize(
    ("events", "said"),
    [
        ([SUBMITTED, *STORY], "submitted 2 times"),
        ([SUBMITTED, TICKETED, ENDED], "complete with 0 receipts"),
        ([*STORY, RECEIPT], "complete with 2 receipts"),
        ([*STORY, TICKETED], "ticketed after it was complete"),
        ([*STORY, ENDED], "complete after it was complete"),
        ([SUBMITTED, TICKETED, RECEIPT], "the audit chain says None"),
        ([SUBMITTED, event("ticketed", attempt="2"), TICKETED, RECEIPT, ENDED], "a ticket for attempt 1 after 2"),
    ],
)
def test_papers_that_contradict_a_transfer_are_found(events: list[m.AuditEvent], said: str) -> None:
    [finding] = ran_twice([transfer()], events)
    assert said in finding


def test_two_transfers_of_one_plan_are_found() -> None:
    others = [event("submitted", "tr_2"), event("transfer_changed", "tr_2", event="failed", state="failed")]
    assert ran_twice([transfer(), transfer("failed", 2, "1")], STORY + others) == []
    [finding] = ran_twice([transfer(), transfer("failed", 2)], STORY + others)
    assert finding.endswith("2 transfers")


@pytest.mark.anyio
async def test_what_nodes_keep_of_a_transfer_that_is_over_is_found(tmp_path: Path) -> None:
    for number in (1, 2, 3):
        (tmp_path / "left" / f"tr_{number}").mkdir(parents=True)
    transfers = [transfer("complete", 1), transfer("canceled", 2), transfer("failed", 3)]
    left = await kept(tmp_path, transfers, limit_s=0)
    assert sorted(path.name for path in left) == ["tr_1", "tr_2"]
