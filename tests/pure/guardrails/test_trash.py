"""What a plan deletes goes to a trash where policy says so, and to a ticket that says the same."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from tests.pure.guardrails.made import (
    KEY,
    MOMENT,
    NOW,
    REQUESTER,
    Asked,
    counts,
    destination,
    draft,
    facts,
    route,
    source,
)

from headrace.guardrails import (
    Attempt,
    Confirmation,
    Decision,
    KeepsDeleted,
    PolicySet,
    Refused,
    ReleasedPlan,
    Route,
    Submission,
    asks_no_more,
    card_notes,
    decide,
    execution_of,
    may_browse,
    may_plan,
    parse_obligations,
    release,
    seal_plan,
    settle,
    spoken_summary,
    ticket_body,
)
from headrace.guardrails.plan.planning import PlanDraft
from headrace.guardrails.policy.facts import Facts

PERMIT_ALL = '@id("all") @reason("everybody may") permit (principal, action, resource);\n'
MIRROR = Asked(action="sync", delete_extraneous=True)
MOVE = Asked(action="move")


def keeps(obligation: str, name: str = "kept", scope: str = "action", where: str = "") -> str:
    about = f'@id("{name}") @reason("it is kept") @obligation("{obligation}")'
    return f"{about} forbid (principal, {scope}, resource) {where};\n"


def policy(text: str) -> PolicySet:
    policies = PolicySet.parse(text)
    assert isinstance(policies, PolicySet), policies
    return policies


KEPT = policy(PERMIT_ALL + keeps("trash:30d"))


def planned(asked: Asked, policies: PolicySet = KEPT) -> tuple[PlanDraft, Decision]:
    # Few enough that nobody has to agree to them, whatever the policy says.
    found = counts(files=3, identical_files=0, deletes=3 if asked.delete_extraneous else 0)
    execution = execution_of(asked, route()).surveyed(found)
    decision = decide(policies, asked.action, REQUESTER, route(), Facts.of(execution, found, MOMENT))
    kept = execution.keeping(decision.keep_days)
    return replace(draft(asked, found), execution=kept, decision=decision), decision


def released(plan: PlanDraft, policies: PolicySet = KEPT, *, confirmed: bool = False) -> ReleasedPlan:
    document = seal_plan(plan, KEY)
    said = Confirmation(person="pn_ada", digest=document.digest, session=True) if confirmed else None
    submission = Submission(document=document.text, digest=document.digest, confirmation=said)
    return release(submission, keys={KEY.public}, policies=policies, now=NOW)


@pytest.mark.parametrize("asked", [MIRROR, MOVE])
def test_a_plan_that_deletes_keeps_what_it_deletes_and_asks_nobody_for_that(asked: Asked) -> None:
    plan, decision = planned(asked)
    assert (decision.outcome, decision.obligations, decision.asks) == ("allowed", (KeepsDeleted(30),), ())
    assert [rule.id for rule in (*decision.rules, *decision.permitted_by)] == ["kept", "all"]
    body = ticket_body(released(plan), Attempt(transfer="tr_1", number=1), NOW)
    execution = body["execution"]
    assert isinstance(execution, Mapping)
    assert execution["trash"] == {"keep_days": "30"}


def test_where_nothing_is_deleted_nothing_is_kept_and_the_ticket_is_as_before() -> None:
    for asked in (Asked(), Asked(action="sync")):
        plan, decision = planned(asked)
        assert decision.outcome == "allowed"
        assert "trash" not in released(plan).execution
    assert planned(Asked())[1].obligations == ()


def test_listing_and_planning_need_no_trash() -> None:
    assert may_browse(KEPT, REQUESTER, source("a"), MOMENT).outcome == "allowed"
    assert may_plan(KEPT, REQUESTER, route(), MOMENT).outcome == "allowed"


def test_what_several_rules_ask_for_is_united_and_the_most_days_count() -> None:
    more = keeps("trash:90d", "longer") + keeps("confirmation;trash:7d", "sure")
    policies = policy(PERMIT_ALL + keeps("trash:30d") + more)
    plan, decision = planned(MIRROR, policies)
    assert (decision.outcome, decision.keep_days) == ("confirm", 90)
    assert [str(need) for need in decision.obligations] == ["confirmation", "trash:90d"]
    with pytest.raises(Refused, match="confirmed"):
        released(plan, policies)
    assert released(plan, policies, confirmed=True).execution["trash"] == {"keep_days": "90"}


def test_a_rule_about_a_place_keeps_what_a_sync_of_what_contains_it_deletes() -> None:
    inside = keeps(
        "trash:30d",
        scope='action == Action::"sync"',
        where='when { resource.destination.within.contains("/run42/raw") }',
    )
    assert planned(MIRROR, policy(PERMIT_ALL + inside))[1].keep_days == 30


@pytest.mark.parametrize("days", [None, 7, 31])
def test_invariant_2_a_plan_that_keeps_what_it_deletes_otherwise_than_decided_is_not_released(days: int | None) -> None:
    plan, _ = planned(MIRROR)
    altered = replace(plan.execution, trash=None).keeping(days)
    with pytest.raises(Refused, match="does not keep what it deletes"):
        released(replace(plan, execution=altered))


def test_a_plan_whose_deletes_nobody_wants_kept_has_no_trash() -> None:
    policies = policy(PERMIT_ALL)
    plan, _ = planned(MIRROR, policies)
    with pytest.raises(Refused, match="does not keep what it deletes"):
        released(replace(plan, execution=plan.execution.keeping(30)), policies)


@pytest.mark.parametrize("text", ["trash", "trash:d", "trash:0d", "trash:367d", "trash:30", "trash:030d", "trash:-1d"])
def test_a_number_of_days_that_no_trash_keeps_is_an_error_of_the_policy(text: str) -> None:
    assert parse_obligations(text) is None
    assert not isinstance(PolicySet.parse(PERMIT_ALL + keeps(text)), PolicySet)


def test_the_card_says_where_what_is_deleted_goes_and_for_how_long() -> None:
    plan, decision = planned(MIRROR)
    notes = " ".join(card_notes(plan.execution, plan.counts))
    assert "3 names are moved to the trash at the destination" in notes
    assert "the trash keeps it for 30 days, where it takes the space" in notes
    said = spoken_summary(plan.execution, plan.counts, decision, "krios1:/raw", "archive:/raw")
    assert "3 names will be moved to the trash, kept 30 days, at the destination" in said
    moved = " ".join(card_notes(planned(MOVE)[0].execution, counts()))
    assert "Each source file is moved to the trash of its endpoint only after its copy is verified" in moved


PHI = (
    '@id("phi") @reason("phi stays") forbid (principal, action == Action::"%s", resource) '
    'when { %s.within.contains("/raw/phi") };\n'
)
TRASHED = (".headrace-trash", "2026-12-27-tr_1")


@pytest.mark.parametrize("path", [(), TRASHED[:1], TRASHED, (*TRASHED, "raw"), (*TRASHED, "raw", "phi", "x")])
def test_what_lies_in_a_trash_is_decided_as_where_it_was_deleted(path: tuple[str, ...]) -> None:
    policies = policy(PERMIT_ALL + PHI % ("copy", "resource.source"))
    at: Route = settle(source(*path, into=True), destination("x", into=True))
    assert decide(policies, "copy", REQUESTER, at, facts()).outcome == "denied"
    beside = settle(source(*TRASHED, "raw", "run42"), destination("x"))
    decided = decide(policies, "copy", REQUESTER, beside, facts())
    assert decided.outcome == "allowed"
    assert json.loads(decided.context_json)["resource"]["source"]["path"] == ["raw", "run42"]


def test_a_trash_of_a_root_in_another_root_is_decided_so_too() -> None:
    policies = policy(PERMIT_ALL + PHI % ("browse", "resource"))
    folder = source("raw", *TRASHED, "phi")
    assert may_browse(policies, REQUESTER, folder, MOMENT).outcome == "denied"


def refusals(asked: Asked, at: Route) -> str:
    try:
        execution_of(asked, at)
    except Refused as error:
        return error.code
    return ""


@pytest.mark.parametrize(
    ("asked", "at", "code"),
    [
        (Asked(), settle(source("a"), destination(*TRASHED, "a")), "reserved_name"),
        (Asked(), settle(source("a"), destination("b", ".headrace-part-tr_1-0")), "reserved_name"),
        (MOVE, settle(source(*TRASHED, "a"), destination("a")), "reserved_name"),
        (Asked(), settle(source(*TRASHED, "a"), destination("a")), ""),
        # An exclude is held against what lies in the folder of a transfer, as the node holds it.
        (Asked(), settle(source(TRASHED[0], into=True), destination("a")), "reserved_name"),
        (Asked(), settle(source("raw", TRASHED[0]), destination("a")), "reserved_name"),
    ],
)
def test_a_trash_is_read_and_never_written_to_or_moved_from(asked: Asked, at: Route, code: str) -> None:
    assert refusals(asked, at) == code


def test_what_lies_in_a_trash_can_be_copied_back_to_the_root_that_it_lies_in() -> None:
    def same(*path: str) -> Any:  # noqa: ANN401 - an endpoint
        return replace(destination(*path, into=True), node=source().node, root=source().root)

    assert refusals(Asked(), settle(source(*TRASHED, into=True), same())) == ""
    assert refusals(Asked(), settle(source("a", into=True), same())) == "overlapping_places"


@pytest.mark.parametrize(
    ("now", "then", "asks_no_more_now"),
    [
        ("trash:7d", "trash:30d", True),
        ("trash:30d", "trash:30d;confirmation", True),
        ("trash:31d", "trash:30d", False),
        ("trash:7d", "confirmation", False),
        ("confirmation", "trash:30d", False),
        ("approval:physics:1", "approval:physics:2", True),
        ("approval:physics:2", "approval:physics:1", False),
        ("approval:approver:1", "approval:physics:2", False),
    ],
)
def test_a_policy_that_keeps_for_fewer_days_or_asks_fewer_people_ends_nothing_that_runs(
    now: str, then: str, *, asks_no_more_now: bool
) -> None:
    needs = [parse_obligations(text) or () for text in (now, then)]
    assert asks_no_more(*needs) is asks_no_more_now
