from dataclasses import replace
from datetime import timedelta
from typing import get_args

import pytest
from tests.pure.api.people import NOW, assistant, person

from headrace.api.planning.plan_steps import (
    CarriedOut,
    PlanStatus,
    Word,
    allowed_actions,
    needs,
    next_step,
    objection_to,
    state_reason,
    warnings,
)
from headrace.auth import Principal, Role, Scope
from headrace.client import models as m
from headrace.guardrails import NeedsApproval, NeedsConfirmation

DIGEST = "3f" * 32
ADA = person("ada", Role.REQUESTER)
BEA = person("bea", Role.APPROVER)
BOB = person("bob", Role.APPROVER)
STU = person("stu", Role.VIEWER, groups=("stewards",))
HELPER = assistant(ADA, "helper", Scope.TRANSFER_READ, Scope.TRANSFER_PLAN, Scope.TRANSFER_RUN)
ONE = NeedsApproval("approver", 1)
OWN = NeedsConfirmation()

READY = PlanStatus(
    id="pl_1",
    state=m.PlanState.READY,
    summary="",
    requester=ADA.id,
    requester_name="ada",
    token_made_by=None,
    agent=None,
    digest=DIGEST,
    expires=NOW + timedelta(hours=2),
    deletes=False,
    surveyed_entries=0,
    transfer=None,
    obligations=(),
    policy_version="v1",
    policy_now="v1",
    own_word=None,
    own_word_at=None,
    words=(),
    now=NOW,
)
YES = Word(
    person=BEA.id,
    name="bea",
    approved=True,
    reason="",
    digest=DIGEST,
    policy_version="v1",
    at=NOW - timedelta(hours=1),
    expires=NOW + timedelta(hours=1),
    active=True,
    roles=frozenset({"approver"}),
    groups=frozenset(),
)
RUNNING = CarriedOut("tr_1", m.TransferState.RUNNING)
ASKING = replace(READY, state=m.PlanState.ASK, digest=None, expires=None)
CONFIRMED = replace(READY, obligations=(OWN,), own_word="confirmed", own_word_at=NOW)


def given(plan: PlanStatus) -> list[int]:
    return [need.given for need in needs(plan, ADA)]


@pytest.mark.parametrize(
    ("plan", "caller", "kind", "by"),
    [
        (READY, ADA, "submit", "you"),
        (READY, BEA, "submit", "others"),
        (replace(READY, agent="helper"), HELPER, "submit", "you"),
        (READY, HELPER, "submit", "others"),
        (replace(READY, obligations=(OWN,)), ADA, "confirm", "you"),
        (replace(READY, obligations=(OWN,), agent="helper"), HELPER, "confirm", "others"),
        (CONFIRMED, ADA, "submit", "you"),
        (replace(READY, obligations=(ONE,)), ADA, "approve", "others"),
        (replace(READY, obligations=(ONE,)), BEA, "approve", "you"),
        (replace(READY, obligations=(ONE,), words=(YES,)), ADA, "submit", "you"),
        (replace(READY, obligations=(OWN, ONE), words=(YES,)), ADA, "confirm", "you"),
        (replace(CONFIRMED, obligations=(OWN, ONE)), ADA, "approve", "others"),
        (replace(READY, obligations=(NeedsApproval("stewards", 1),)), STU, "approve", "you"),
        (replace(READY, obligations=(NeedsApproval("approver", 2),), words=(YES,)), BEA, "approve", "others"),
        (replace(READY, transfer=RUNNING), ADA, "follow", "service"),
        (replace(READY, own_word="declined"), ADA, "plan_again", "you"),
        (replace(READY, obligations=(ONE,), words=(replace(YES, approved=False),)), ADA, "plan_again", "you"),
        (replace(READY, obligations=(ONE,), words=(replace(YES, approved=False),)), BOB, "plan_again", "others"),
        (replace(READY, policy_now="v2"), ADA, "plan_again", "you"),
        (replace(READY, state=m.PlanState.EXPIRED), ADA, "plan_again", "you"),
        (replace(READY, state=m.PlanState.SURVEYING, digest=None), ADA, "wait", "service"),
        (replace(READY, state=m.PlanState.ASK, digest=None), ADA, "answer", "you"),
        (replace(READY, state=m.PlanState.DENIED, digest=None), ADA, "none", "nobody"),
        (replace(READY, state=m.PlanState.FAILED, digest=None), ADA, "plan_again", "you"),
    ],
)
def test_the_next_step_of_a_plan_is_said_for_each_caller(
    plan: PlanStatus, caller: Principal, kind: str, by: str
) -> None:
    step = next_step(plan, caller)
    assert (step.kind, step.by) == (kind, by), step.message
    assert step.message
    assert "endpoints are" not in step.message, "folders are listed"


@pytest.mark.parametrize(
    "word",
    [
        replace(YES, expires=NOW),
        replace(YES, digest="0" * 64),
        replace(YES, policy_version="v0"),
        replace(YES, active=False),
        replace(YES, roles=frozenset({"viewer"})),
        replace(YES, approved=False),
    ],
    ids=["expired", "another digest", "another policy", "approver left", "no approver any more", "a no"],
)
def test_an_approval_that_does_not_count_now_is_not_given(word: Word) -> None:
    asked = replace(READY, obligations=(ONE,))
    assert given(replace(asked, words=(YES,))) == [1]
    assert given(replace(asked, words=(word,))) == [0]


def test_one_persons_approval_counts_for_every_need_that_it_fits() -> None:
    both = replace(YES, groups=frozenset({"stewards"}))
    plan = replace(READY, obligations=(ONE, NeedsApproval("stewards", 1)), words=(both,))
    assert given(plan) == [1, 1]


def test_a_need_says_by_whom_how_many_and_until_when() -> None:
    plan = replace(READY, obligations=(OWN, NeedsApproval("stewards", 2)))
    own, others = needs(plan, BEA)
    assert (own.by, needs(plan, ADA)[0].by) == ("the requester (ada)", "you")
    assert (others.by, others.roles_or_groups, others.count) == ("2 people of the group stewards", ["stewards"], 2)
    [met] = needs(replace(READY, obligations=(ONE,), words=(YES,)), ADA)
    assert (met.given_by[0].person_name, met.until) == ("bea", YES.expires)


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        (replace(READY, own_word="declined"), "ada"),
        (replace(READY, words=(replace(YES, approved=False, reason="wrong run"),)), "bea refused this plan: “wrong"),
        (replace(READY, state=m.PlanState.EXPIRED), "too old"),
        (replace(READY, policy_now="v2"), "policy has changed"),
        (replace(READY, state=m.PlanState.DENIED, summary="Denied: no."), "Denied: no."),
    ],
)
def test_a_plan_that_can_start_no_more_says_why(plan: PlanStatus, said: str) -> None:
    assert said in state_reason(plan)
    assert objection_to(plan, ADA, "submit") is not None


@pytest.mark.parametrize(
    ("plan", "caller", "action", "code"),
    [
        (READY, ADA, "submit", None),
        (READY, BEA, "submit", "forbidden"),
        (READY, HELPER, "submit", "forbidden"),
        (replace(READY, agent="another"), HELPER, "submit", "forbidden"),
        (replace(READY, agent="helper"), HELPER, "submit", None),
        (replace(READY, agent="helper", deletes=True), HELPER, "submit", "forbidden"),
        (READY, assistant(ADA, "helper", *HELPER.scopes, Scope.TRANSFER_RUN_ALL), "submit", None),
        (replace(READY, obligations=(OWN,)), ADA, "submit", "needs_confirmation"),
        (replace(READY, obligations=(ONE,)), ADA, "submit", "needs_approval"),
        (replace(READY, obligations=(ONE,), words=(YES,)), ADA, "submit", None),
        (replace(READY, state=m.PlanState.EXPIRED), ADA, "submit", "plan_expired"),
        (replace(READY, transfer=RUNNING), ADA, "submit", "plan_not_ready"),
        (READY, ADA, "confirm", "confirmation_not_needed"),
        (replace(READY, obligations=(OWN,)), HELPER, "confirm", "session_needed"),
        (replace(READY, obligations=(OWN,)), BEA, "confirm", "forbidden"),
        (READY, ADA, "drop", None),
        (ASKING, ADA, "drop", None),
        (ASKING, BEA, "drop", "forbidden"),
        (ASKING, HELPER, "drop", "forbidden"),
        (replace(ASKING, agent="helper"), HELPER, "drop", None),
        (replace(ASKING, state=m.PlanState.EXPIRED), ADA, "drop", "plan_not_ready"),
        (replace(READY, state=m.PlanState.DROPPED), ADA, "submit", "plan_not_ready"),
        (replace(READY, transfer=RUNNING), ADA, "drop", "plan_not_ready"),
        (READY, ADA, "decline", None),
        (replace(READY, obligations=(ONE,)), ADA, "approve", "approve_own_plan"),
        (replace(READY, obligations=(ONE,), token_made_by=BEA.id), BEA, "approve", "approve_own_plan"),
        (replace(READY, obligations=(ONE,)), STU, "approve", "not_an_approver"),
        (replace(READY, obligations=(ONE,)), BEA, "approve", None),
        (READY, BEA, "approve", "approval_not_needed"),
        (replace(READY, obligations=(ONE,), policy_now="v2"), BEA, "approve", "policy_changed"),
        (READY, ADA, "revise", None),
        (READY, BEA, "revise", "forbidden"),
    ],
)
def test_each_caller_may_take_the_actions_that_are_theirs(
    plan: PlanStatus, caller: Principal, action: str, code: str | None
) -> None:
    objection = objection_to(plan, caller, action)  # type: ignore[arg-type]  # a `PlanAction`
    assert (objection.code if objection else None) == code
    [shown] = [one for one in allowed_actions(plan, caller) if one.action == action]
    assert shown.allowed is (code is None)
    assert bool(shown.reason) is not shown.allowed


def test_every_action_is_shown_whatever_the_state() -> None:
    for state in m.PlanState:
        assert [one.action for one in allowed_actions(replace(READY, state=state), ADA)] == list(get_args(m.PlanAction))


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (m.TransferState.RUNNING, "It was submitted as transfer tr_1, which is running."),
        (m.TransferState.COMPLETE, "It ended: complete (transfer tr_1)."),
        (m.TransferState.CANCELED, "It ended: canceled (transfer tr_1)."),
    ],
)
def test_a_plan_says_where_its_transfer_stands(state: m.TransferState, said: str) -> None:
    assert next_step(replace(READY, transfer=CarriedOut("tr_1", state)), ADA).message == said


def test_what_will_not_arrive_is_said_before_the_start_and_not_after_it() -> None:
    plan = replace(READY, failing=2)
    [warning] = warnings(plan)
    assert warning == (
        "2 files will not arrive: the destination holds something else under their names. "
        "Plan again with `--on-conflict overwrite`, which replaces files, move that away, or choose another "
        "destination."
    )
    assert next_step(plan, ADA).message == f"It can be submitted. {warning}"
    assert warnings(replace(plan, transfer=RUNNING)) == []


def test_what_is_never_copied_is_told_before_the_plan_starts() -> None:
    plan = replace(READY, special=1)
    [warning] = warnings(plan)
    assert warning.startswith("1 special file will not arrive: sockets, pipes and devices are never copied")
    assert "will end as partial. Leave it out with an exclude" in warning
    assert warning in next_step(plan, ADA).message
    assert warnings(replace(plan, transfer=RUNNING)) == []


def test_a_denied_plan_says_what_can_be_done_about_it() -> None:
    step = next_step(replace(READY, state=m.PlanState.DENIED, summary="Denied: no."), ADA)
    assert step.message.startswith("It can't run as it is. Denied: no. Ask for what policy allows instead")
    assert f"`headrace why {READY.id}` says which rule." in step.message
    refused = replace(READY, state=m.PlanState.DENIED, summary="No.", policy_version="")
    assert next_step(refused, ADA).message == "It can't run as it is. No."


def test_a_token_that_may_not_delete_is_told_so_on_the_card_before_it_submits() -> None:
    token = replace(ADA, session=False, scopes=ADA.scopes - {Scope.TRANSFER_DELETE})
    step = next_step(replace(READY, deletes=True), token)
    assert (step.kind, step.by) == ("submit", "others")
    assert "this plan may delete files, and this token may not run plans that delete files" in step.message
    assert "It can be submitted." not in step.message
    assert next_step(replace(READY, deletes=True), ADA).by == "you"
