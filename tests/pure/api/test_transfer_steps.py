from dataclasses import replace
from datetime import timedelta

import pytest
from tests.pure.api.people import NOW, assistant, person

from headrace.api.transfers import transfer_steps
from headrace.api.transfers.state_machine import Wish, against_wish
from headrace.api.transfers.transfer_steps import TransferStatus, allowed_actions, next_step, objection_to
from headrace.auth import Principal, Role, Scope
from headrace.client import models as m
from headrace.guardrails import Unreleased

ADA = person("ada", Role.REQUESTER)
OPERATOR = person("oli", Role.OPERATOR)
STRANGER = person("eve", Role.REQUESTER, Role.APPROVER)
HELPER = assistant(ADA, "helper", Scope.TRANSFER_READ, Scope.TRANSFER_PLAN, Scope.TRANSFER_RUN)
PIPELINE = assistant(ADA, None, Scope.TRANSFER_READ, Scope.TRANSFER_RUN)
ALL_OF_ADA = assistant(ADA, "helper", *HELPER.scopes, Scope.TRANSFER_RUN_ALL, Scope.TRANSFER_DELETE)
RUNNING = TransferStatus(
    id="tr_1",
    state=m.TransferState.RUNNING,
    state_reason="",
    wish="run",
    requester=ADA.id,
    requester_name="ada",
    agent=None,
    deletes=False,
    retry_until=NOW + timedelta(days=1),
    now=NOW,
)
PAUSED = replace(RUNNING, state=m.TransferState.PAUSED, wish="pause", state_reason="paused by ada")
FAILED = replace(RUNNING, state=m.TransferState.FAILED)


@pytest.mark.parametrize(
    ("transfer", "caller", "action", "code"),
    [
        (RUNNING, ADA, "pause", None),
        (RUNNING, OPERATOR, "pause", None),
        (RUNNING, OPERATOR, "cancel", None),
        (RUNNING, OPERATOR, "set_rate", None),
        (RUNNING, STRANGER, "cancel", "forbidden"),
        (RUNNING, HELPER, "cancel", "forbidden"),
        (replace(RUNNING, agent="helper"), HELPER, "cancel", None),
        (RUNNING, assistant(ADA, "helper", *HELPER.scopes, Scope.TRANSFER_RUN_ALL), "cancel", None),
        (RUNNING, assistant(OPERATOR, "helper", Scope.NODE_WRITE), "cancel", "forbidden"),
        (replace(RUNNING, agent="helper"), assistant(OPERATOR, "helper", Scope.NODE_WRITE), "cancel", "forbidden"),
        (replace(RUNNING, probe=True), ADA, "set_deadline", "transfer_state"),
        (replace(RUNNING, probe=True), ADA, "set_class", None),
        (RUNNING, ADA, "set_deadline", None),
        (RUNNING, ADA, "resume", "transfer_state"),
        (PAUSED, ADA, "resume", None),
        (PAUSED, ADA, "pause", "transfer_state"),
        (replace(RUNNING, wish="cancel"), ADA, "pause", "transfer_state"),
        (replace(RUNNING, wish="cancel"), ADA, "cancel", "transfer_state"),
        (replace(PAUSED, agent="helper"), HELPER, "resume", None),
        (replace(PAUSED, agent="helper", deletes=True), HELPER, "resume", "forbidden"),
        (replace(PAUSED, deletes=True), PIPELINE, "resume", "forbidden"),
        (replace(PAUSED, deletes=True), assistant(ADA, None, *PIPELINE.scopes, Scope.TRANSFER_DELETE), "resume", None),
        (replace(PAUSED, deletes=True), ADA, "resume", None),
        (replace(PAUSED, deletes=True), OPERATOR, "resume", None),
        (replace(PAUSED, agent="helper", kept={"pause": "person"}), HELPER, "resume", "forbidden"),
        (replace(PAUSED, kept={"pause": "person"}), ALL_OF_ADA, "resume", "forbidden"),
        (replace(PAUSED, kept={"pause": "person"}), PIPELINE, "resume", None),
        (replace(PAUSED, kept={"pause": "person"}), ADA, "resume", None),
        (replace(PAUSED, kept={"pause": "operator"}), PIPELINE, "resume", "forbidden"),
        (replace(PAUSED, kept={"pause": "operator"}), ADA, "resume", None),
        (replace(PAUSED, kept={"pause": "operator"}), assistant(OPERATOR, None, Scope.NODE_WRITE), "resume", None),
        (replace(RUNNING, kept={"rate": "operator"}), ALL_OF_ADA, "set_rate", "forbidden"),
        (replace(RUNNING, kept={"rate": "operator"}), ALL_OF_ADA, "set_class", None),
        (replace(RUNNING, kept={"class": "operator"}), ALL_OF_ADA, "set_class", "forbidden"),
        (replace(RUNNING, kept={"rate": "operator"}), PIPELINE, "set_rate", "forbidden"),
        (replace(RUNNING, kept={"rate": "operator"}), ADA, "set_rate", None),
        (replace(RUNNING, kept={"deadline": "operator"}), ALL_OF_ADA, "set_deadline", "forbidden"),
        (replace(RUNNING, kept={"deadline": "operator"}), PIPELINE, "set_deadline", "forbidden"),
        (replace(RUNNING, kept={"deadline": "operator"}), ADA, "set_deadline", None),
        (replace(RUNNING, kept={"deadline": "operator"}), ALL_OF_ADA, "set_class", None),
        (replace(RUNNING, kept={"rate": "operator", "class": "operator"}), ALL_OF_ADA, "cancel", None),
        (FAILED, ADA, "cancel", "transfer_state"),
        (RUNNING, ADA, "retry", "transfer_state"),
        (FAILED, ADA, "retry", None),
        (replace(FAILED, state=m.TransferState.PARTIAL), PIPELINE, "retry", None),
        (FAILED, HELPER, "retry", "forbidden"),
        (replace(FAILED, agent="helper"), HELPER, "retry", None),
        (replace(FAILED, agent="helper", deletes=True), HELPER, "retry", "forbidden"),
        (FAILED, OPERATOR, "retry", None),
        (replace(FAILED, deletes=True), OPERATOR, "retry", None),
        (replace(FAILED, deletes=True), assistant(OPERATOR, None, Scope.NODE_WRITE), "retry", "forbidden"),
        (FAILED, assistant(OPERATOR, "helper", Scope.NODE_WRITE), "retry", "forbidden"),
        (FAILED, STRANGER, "retry", "forbidden"),
        (replace(FAILED, retry_until=NOW), ADA, "retry", "retry_too_late"),
        (replace(FAILED, missing_consent=Unreleased.APPROVAL_MISSING), ADA, "retry", "approval_missing"),
        (RUNNING, OPERATOR, "halt", None),
        (RUNNING, ADA, "halt", "forbidden"),
        (RUNNING, assistant(OPERATOR, None, Scope.NODE_WRITE), "halt", "session_needed"),
        (FAILED, OPERATOR, "halt", "transfer_state"),
        (RUNNING, OPERATOR, "release", "transfer_state"),
        (replace(RUNNING, halted="maintenance"), OPERATOR, "halt", "transfer_state"),
        (replace(RUNNING, halted="maintenance"), OPERATOR, "release", None),
        (replace(RUNNING, halted="maintenance"), ADA, "release", "forbidden"),
        (FAILED, ADA, "run_again", None),
        (RUNNING, ADA, "run_again", "transfer_state"),
    ],
)
def test_each_caller_may_steer_what_is_theirs(
    transfer: TransferStatus, caller: Principal, action: str, code: str | None
) -> None:
    objection = objection_to(transfer, caller, action)  # type: ignore[arg-type]  # a `TransferAction`
    assert (objection.code if objection else None) == code
    [shown] = [one for one in allowed_actions(transfer, caller) if one.action == action]
    assert shown.allowed is (code is None)
    assert bool(shown.reason) is not shown.allowed


def test_what_may_be_done_asks_the_state_machine_once_for_each_wish(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Wish] = []

    def noted(state: m.TransferState, wish: Wish, wanted: Wish) -> str | None:
        asked.append(wanted)
        return against_wish(state, wish, wanted)

    monkeypatch.setattr(transfer_steps, "against_wish", noted)
    allowed_actions(replace(RUNNING, agent="one of whom nothing was asked yet"), ADA)
    assert sorted(asked) == sorted(Wish)


def test_a_retry_of_files_that_did_not_arrive_is_not_said_to_go_on_within_them() -> None:
    partial = replace(FAILED, state=m.TransferState.PARTIAL, failed=1)
    assert next_step(partial, ADA).message == "1 file did not arrive. A retry sends it again, whole."
    several = next_step(replace(partial, failed=2), ADA).message
    assert several == "2 files did not arrive. A retry sends them again, each whole."
    assert next_step(FAILED, ADA).message == "It failed. A retry goes on where it stopped."


@pytest.mark.parametrize(
    ("transfer", "caller", "kind", "by"),
    [
        (RUNNING, ADA, "wait", "service"),
        (PAUSED, ADA, "resume", "you"),
        (PAUSED, STRANGER, "resume", "others"),
        (FAILED, ADA, "retry", "you"),
        (FAILED, OPERATOR, "retry", "you"),
        (FAILED, STRANGER, "retry", "others"),
        (replace(FAILED, retry_until=NOW), ADA, "plan_again", "you"),
        (replace(FAILED, outgrown=True), ADA, "plan_again", "you"),
        (replace(FAILED, failed_with="policy_changed"), ADA, "plan_again", "you"),
        (replace(FAILED, failed_with="plan_altered"), ADA, "plan_again", "you"),
        (replace(FAILED, failed_with="node_timeout"), ADA, "retry", "you"),
        (replace(FAILED, state=m.TransferState.PARTIAL), ADA, "retry", "you"),
        (replace(FAILED, state=m.TransferState.PARTIAL, failed=1, for_good=1), ADA, "plan_again", "you"),
        (replace(RUNNING, state=m.TransferState.COMPLETE), ADA, "none", "nobody"),
        (replace(RUNNING, state=m.TransferState.CANCELED), ADA, "none", "nobody"),
    ],
)
def test_the_next_step_of_a_transfer_is_said_for_each_caller(
    transfer: TransferStatus, caller: Principal, kind: str, by: str
) -> None:
    step = next_step(transfer, caller)
    assert (step.kind, step.by) == (kind, by), step.message
    assert step.message


def test_a_retry_is_promised_for_those_files_alone_for_which_it_helps() -> None:
    partial = replace(FAILED, state=m.TransferState.PARTIAL, failed=3)
    assert "A retry sends them again, each whole." in next_step(partial, ADA).message
    some = next_step(replace(partial, for_good=1), ADA)
    assert some.kind == "retry"
    assert "A retry sends 2 of them again, each whole. For the other it does not help" in some.message


def test_what_is_halted_says_what_lets_it_go_on() -> None:
    halted = replace(RUNNING, state=m.TransferState.WAITING, halted="disk check")
    assert "`headrace halts`" in next_step(halted, ADA).message
    assert "`headrace halts`" not in next_step(replace(halted, halted=None), ADA).message


def test_what_was_canceled_or_is_complete_names_the_command_that_asks_for_the_same_again() -> None:
    canceled = replace(RUNNING, state=m.TransferState.CANCELED)
    assert next_step(canceled, ADA).message.endswith(f"`headrace again {canceled.id}`.")
    for ended in (canceled, replace(RUNNING, state=m.TransferState.COMPLETE)):
        objection = objection_to(ended, ADA, "retry")
        assert objection is not None
        assert "`headrace again` asks for the same once more" in objection.detail
    running = objection_to(RUNNING, ADA, "retry")
    assert running is not None
    assert "again`" not in running.detail


def test_what_a_token_may_not_do_is_said_in_words_with_the_scope_that_allows_it() -> None:
    other = objection_to(RUNNING, HELPER, "cancel")
    assert other is not None
    assert "its token may not run and steer what others planned" in other.detail
    assert "made with `--scope transfer:run:all`" in other.detail
    deletes = objection_to(replace(FAILED, deletes=True), PIPELINE, "retry")
    assert deletes is not None
    assert "this token may not run plans that delete files" in deletes.detail
    looks = objection_to(RUNNING, assistant(ADA, None, Scope.TRANSFER_READ), "cancel")
    assert looks is not None
    assert "this token may not" in looks.detail
    assert all(scope.in_words for scope in Scope)


@pytest.mark.parametrize(
    ("transfer", "action", "why"),
    [
        (replace(RUNNING, state=m.TransferState.COMPLETE), "cancel", " has ended (complete)"),
        (replace(FAILED, retry_until=NOW), "retry", " could be tried again until "),
        (RUNNING, "release", " is not halted itself"),
    ],
)
def test_a_refusal_names_its_transfer_and_what_is_shown_with_the_transfer_does_not(
    transfer: TransferStatus, action: m.TransferAction, why: str
) -> None:
    refusal = objection_to(transfer, OPERATOR, action)
    assert refusal is not None
    assert refusal.detail.startswith(f"transfer `{transfer.id}`{why}")
    [shown] = [one for one in allowed_actions(transfer, OPERATOR) if one.action == action]
    assert shown.reason == refusal.detail.replace(f"transfer `{transfer.id}`", "it")
