"""What the walk of a hostile client (tests/slow/hostile) holds the service to, and itself: each finding can be made."""

from pathlib import Path

import pytest
from tests.slow.hostile.client import GOALS, Book
from tests.slow.hostile.honest import SOURCE, THERE, Trap, lay_out
from tests.slow.hostile.seen import Seen, seen_in
from tests.slow.hostile.verdict import Ran, in_logs, judge, missed, trap_findings, unagreed

NEEDS = ("confirmation", "approval:approver:1")


def ran(*obligations: str, deletes: bool = False) -> Ran:
    return Ran("tr_1", "d1", obligations, bytes=100, deletes=deletes)


@pytest.fixture
def trap(tmp_path: Path) -> Trap:
    lay_out(tmp_path / "k1", THERE)
    return Trap(tmp_path / "k1")


@pytest.mark.parametrize("goal", GOALS)
def test_a_walk_that_seldom_reached_a_goal_fails(goal: str) -> None:
    enough = dict.fromkeys(GOALS, 5000)
    assert missed(enough, 100_000) == []
    [finding] = missed(enough | {goal: 4999}, 100_000)
    assert f"({goal})" in finding
    assert missed(dict.fromkeys(GOALS, 25), 1000) == []
    assert missed(dict.fromkeys(GOALS, 24), 1000)


def test_what_ran_without_each_yes_is_found() -> None:
    assert unagreed([ran()], {}) == []
    assert unagreed([ran(*NEEDS)], {"d1": {"confirm", "approve"}}) == []
    for given in (set(), {"confirm"}, {"approve"}):
        assert unagreed([ran(*NEEDS)], {"d1": given})
    assert unagreed([ran("confirmation")], {"d2": {"confirm"}})


def test_its_bytes_and_deletes_are_counted() -> None:
    verdict = judge(Book(), [ran(*NEEDS, deletes=True), ran()], [], [], [])
    assert (verdict.unapproved_bytes, verdict.unapproved_deletes, verdict.unhandled_errors) == (100, 1, 0)
    assert len(verdict.findings) == 1


def test_a_folder_that_nobody_agreed_to_change_is_as_it_was(trap: Trap) -> None:
    assert trap_findings(trap) == []
    (trap.folder / "new.txt").write_bytes(SOURCE["new.txt"])
    assert trap_findings(trap) == [], "what a plain copy adds needs no yes"
    (trap.folder / "new.txt").write_bytes(b"something else")
    assert trap_findings(trap)


@pytest.mark.parametrize("name", THERE)
def test_a_file_that_vanished_or_changed_is_found(trap: Trap, name: str) -> None:
    (trap.folder / name).write_bytes(b"changed")
    assert trap_findings(trap)
    (trap.folder / name).unlink()
    assert trap_findings(trap)


def test_an_agreed_plan_may_replace_and_delete_and_no_more_if_the_file_had_changed(trap: Trap) -> None:
    trap.agreed = "d1"
    (trap.folder / "differs.txt").write_bytes(SOURCE["differs.txt"])
    (trap.folder / "only-there.txt").unlink()
    assert trap_findings(trap) == []
    trap.drifted = True
    assert trap_findings(trap), "it was replaced although it had changed since the survey"
    (trap.folder / "differs.txt").write_bytes(b"drifted")
    assert trap_findings(trap) == []


def test_a_yes_that_was_taken_from_a_token_is_a_finding_and_no_fault() -> None:
    book = Book(findings=["assistant by REST: a confirm of d1 was taken", "person mal odd: internal_error"])
    verdict = judge(book, [], [], ["precious/keep.txt is gone"], ["service.log: Traceback"])
    assert (verdict.unapproved_deletes, verdict.unhandled_errors, len(verdict.findings)) == (1, 2, 4)


def test_answers_are_searched_for_plans_transfers_and_faults() -> None:
    plan = {"id": "pl_1", "digest": "d1", "decision": {"outcome": "confirm"}, "intent": {"action": "copy"}}
    card = {"plan_id": "pl_2", "digest": None, "outcome": "allowed", "action": "move", "destination": "archive:/a"}
    seen = seen_in("ok", {"items": [plan, {"transfer_id": "tr_1", "state": "running"}], "plan": card})
    assert [(one.id, one.needs, one.action) for one in seen.plans] == [("pl_1", True, "copy"), ("pl_2", False, "move")]
    assert seen.transfers == {"tr_1": "running"}
    assert seen_in("internal_error", None, '{"code": "internal_error"}').fault
    assert seen_in("unknown_plan", None, '{"code": "unknown_plan"}').fault is None


def test_steps_are_counted_by_what_they_reached() -> None:
    book = Book()
    book.note("a", "plan", seen_in("ok", {"id": "pl_1", "digest": "d1", "decision": {"outcome": "approve"}}))
    book.note("a", "submit", Seen("needs_approval"))
    book.note("b", "submit", Seen("ok", transfers={"tr_1": "running"}))
    book.note("b", "look", Seen("ok", transfers={"tr_1": "complete"}))
    assert book.steps == {"a": 2, "b": 2}
    assert (book.reached["obligation"], book.reached["running"]) == (2, 1)


@pytest.mark.parametrize("text", ["Traceback (most recent call last):", "thread 'x' panicked at a.rs:1"])
def test_what_nobody_handled_is_found_in_the_logs(tmp_path: Path, text: str) -> None:
    (tmp_path / "service.log").write_text("all is well\n")
    assert in_logs(tmp_path) == []
    (tmp_path / "left.log").write_text(f"{text}\n")
    assert in_logs(tmp_path)
