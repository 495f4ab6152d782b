import json
from dataclasses import replace
from datetime import timedelta
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.pure.guardrails.made import (
    AGENT,
    MOMENT,
    NOW,
    REQUESTER,
    Asked,
    counts,
    decision,
    destination,
    facts,
    route,
    source,
)

from headrace.guardrails import (
    Budgets,
    Caller,
    Credential,
    Decision,
    Facts,
    NeedsApproval,
    NeedsConfirmation,
    PolicySet,
    decide,
    default_policy,
    execution_of,
    may_browse,
    may_plan,
    names_withheld,
    redecide,
    replay,
    settle,
    why,
)
from headrace.guardrails.policy.facts import TIB

PERMIT_ALL = '@id("all") @reason("everybody may") permit (principal, action, resource);\n'


def policy(text: str) -> PolicySet:
    policies = PolicySet.parse(text)
    assert isinstance(policies, PolicySet), policies
    return policies


def ids(decided: Decision) -> list[str]:
    return [rule.id for rule in decided.rules]


def copy(policies: PolicySet | None = None, caller: Caller = REQUESTER, at: Any = None, **changes: Any) -> Decision:  # noqa: ANN401
    return decide(policies or default_policy(), "copy", caller, at or route(), facts(**changes))


# -- the default policy -----------------------------------------------------------------------------------------------


def test_a_plain_copy_by_a_requester_is_allowed() -> None:
    decided = decision(Asked(), counts())
    assert (decided.outcome, ids(decided)) == ("allowed", ["requesters-transfer"])
    assert (decided.qos_class, decided.permitted_by) == ("bulk", ())
    assert why(decided) == "Allowed: requesters may copy, sync and move (requesters-transfer)."


@pytest.mark.parametrize("roles", [[], ["viewer"], ["admin"], ["approver", "auditor", "operator", "policy_admin"]])
def test_invariant_3_whoever_is_no_requester_may_do_nothing(roles: list[str]) -> None:
    caller = Caller(person="pn_eve", roles=frozenset(roles))
    for overwrites in (0, 1):
        assert ids(copy(caller=caller, overwrites=overwrites)) == ["headrace-no-rule"]
    assert may_browse(default_policy(), caller, source("a"), MOMENT).outcome == "denied"
    assert may_plan(default_policy(), caller, route(), MOMENT).outcome == "denied"


def test_a_sync_that_changes_nothing_at_the_destination_is_allowed() -> None:
    assert decision(Asked(action="sync"), counts()).outcome == "allowed"


def test_overwrites_need_the_requesters_confirmation() -> None:
    decided = decision(Asked(action="sync"), counts(overwrites=1, overwrites_digest="ab" * 32))
    assert (decided.outcome, ids(decided)) == ("confirm", ["overwrites-need-confirmation"])
    assert [rule.id for rule in decided.permitted_by] == ["requesters-transfer"]
    assert decided.needs_confirmation
    assert not decided.approvals
    assert why(decided).startswith("Needs the requester's confirmation: files at the destination would be overwritten")


def test_a_move_needs_the_requesters_confirmation() -> None:
    assert ids(decision(Asked(action="move"), counts())) == ["moves-need-confirmation"]


def test_a_few_deletes_need_confirmation_and_a_larger_share_an_approval() -> None:
    asked = Asked(action="sync", delete_extraneous=True)
    few = decision(asked, counts(deletes=5, destination_files=1000))
    assert (few.outcome, ids(few)) == ("confirm", ["deletes-need-confirmation"])
    many = decision(asked, counts(deletes=200, destination_files=1000))
    assert many.outcome == "approve"
    assert many.obligations == (NeedsConfirmation(), NeedsApproval("approver", 1))
    assert "an approval by the role approver and the requester's confirmation" in why(many)


def test_more_than_a_thousand_deletes_need_an_approval_however_small_their_share() -> None:
    asked = Asked(action="sync", delete_extraneous=True)
    assert decision(asked, counts(deletes=1000, destination_files=1_000_000)).outcome == "confirm"
    more = decision(asked, counts(deletes=1001, destination_files=1_000_000))
    assert (more.outcome, more.approvals) == ("approve", (NeedsApproval("approver", 1),))


@pytest.mark.parametrize(
    ("deletes", "percent", "outcome"),
    [(10, 100, "confirm"), (11, 10, "confirm"), (11, 11, "approve"), (1000, 10, "confirm"), (1001, 1, "approve")],
)
def test_more_than_ten_deletes_need_an_approval_when_they_are_over_a_tenth(
    deletes: int, percent: int, outcome: str
) -> None:
    assert copy(deletes=deletes, delete_share_percent=percent).outcome == outcome


@pytest.mark.parametrize(("files", "outcome"), [(110, "confirm"), (109, "approve"), (100, "approve")])
def test_eleven_of_a_hundred_and_ten_files_are_a_tenth_and_not_over_it(files: int, outcome: str) -> None:
    asked = Asked(action="sync", delete_extraneous=True)
    assert decision(asked, counts(deletes=11, destination_files=files)).outcome == outcome


@pytest.mark.parametrize(("encrypted", "verification"), [(False, "in-transit"), (True, "none")])
def test_without_encryption_or_verification_everything_is_denied(encrypted: bool, verification: Any) -> None:  # noqa: ANN401, FBT001
    decided = copy(encrypted=encrypted, verification=verification, overwrites=5)
    assert decided.outcome == "denied"
    assert ids(decided) in (["encrypted-only"], ["verified-only"])


def test_an_agent_may_spend_its_own_budget_and_then_the_person_confirms() -> None:
    assert copy(caller=AGENT, max_bytes=TIB).outcome == "allowed"
    over = copy(caller=AGENT, max_bytes=TIB, budgets=Budgets(agent_used_bytes=1))
    assert (over.outcome, ids(over)) == ("confirm", ["agent-budget-needs-confirmation"])
    assert copy(max_bytes=2 * TIB).outcome == "allowed"


def test_beyond_a_persons_budget_or_beyond_what_one_plan_may_move_an_approver_decides() -> None:
    spent = copy(max_bytes=TIB, budgets=Budgets(person_used_bytes=10 * TIB))
    assert (spent.outcome, ids(spent)) == ("approve", ["person-budget-needs-approval"])
    assert "large-plans-need-approval" in ids(copy(max_bytes=11 * TIB))
    assert ids(copy(max_files=10_000_001)) == ["large-plans-need-approval"]


# -- failing closed ---------------------------------------------------------------------------------------------------


def test_invariant_3_no_policy_means_no() -> None:
    decided = decide(None, "copy", REQUESTER, route(), facts())
    assert (decided.outcome, ids(decided)) == ("denied", ["headrace-no-policy"])
    assert may_browse(None, REQUESTER, source(), MOMENT).outcome == "denied"


def test_invariant_3_a_rule_that_fails_to_evaluate_means_no_even_if_another_permits() -> None:
    text = PERMIT_ALL + '@id("sum") @reason("r") forbid (principal, action == Action::"copy", resource) '
    text += "when { context.bytes + context.max_bytes < 0 };"
    assert copy(policy(text), bytes=1, max_bytes=1).outcome == "allowed"
    decided = copy(policy(text), bytes=2**62, max_bytes=2**62)
    assert (decided.outcome, ids(decided)) == ("denied", ["headrace-policy-error"])


@given(st.data())
def test_invariant_3_a_record_without_any_one_of_its_facts_means_no(data: st.DataObject) -> None:
    record = json.loads(copy().context_json)
    part = data.draw(st.sampled_from(["context", "caller", "resource", ""]))
    fields = record[part] if part else record
    del fields[data.draw(st.sampled_from(sorted(fields)))]
    assert redecide(policy(PERMIT_ALL), json.dumps(record)).outcome == "denied"


@given(st.data())
def test_invariant_3_a_record_with_any_one_fact_of_another_type_means_no(data: st.DataObject) -> None:
    record = json.loads(copy().context_json)
    name = data.draw(st.sampled_from(sorted(record["context"])))
    record["context"][name] = data.draw(st.sampled_from([None, [5], {}, 1.5]))
    assert redecide(policy(PERMIT_ALL), json.dumps(record)).outcome == "denied"


@given(st.text())
def test_invariant_3_anything_that_is_no_record_means_no(text: str) -> None:
    assert redecide(policy(PERMIT_ALL), text).outcome == "denied"


@pytest.mark.parametrize("place", [replace(source("a"), labels={"x": "\ud800"}), replace(source("a"), kind="\udfff")])
def test_invariant_3_a_request_that_can_not_be_written_down_means_no(place: Any) -> None:  # noqa: ANN401
    decided = may_browse(policy(PERMIT_ALL), REQUESTER, place, MOMENT)
    assert (decided.outcome, ids(decided)) == ("denied", ["headrace-policy-error"])


def test_invariant_3_a_zone_that_does_not_exist_means_no() -> None:
    decided = copy(policy(PERMIT_ALL), moment=replace(MOMENT, zone="Moon/Base"))
    assert (decided.outcome, ids(decided)) == ("denied", ["headrace-policy-error"])


def test_a_rule_that_asks_never_permits_by_itself() -> None:
    text = '@id("ask") @reason("r") @obligation("confirmation") forbid (principal, action, resource);'
    decided = copy(policy(text))
    assert (decided.outcome, ids(decided)) == ("denied", ["headrace-no-rule"])


def test_a_rule_that_denies_outweighs_every_rule_that_asks() -> None:
    text = PERMIT_ALL
    text += '@id("ask") @reason("r") @obligation("approval:approver:1") forbid (principal, action, resource);\n'
    text += '@id("never") @reason("r") forbid (principal, action == Action::"copy", resource);\n'
    decided = copy(policy(text))
    assert (decided.outcome, ids(decided)) == ("denied", ["never"])
    assert decided.obligations == ()


# -- merging ----------------------------------------------------------------------------------------------------------


def test_obligations_are_united_and_the_largest_count_holds() -> None:
    everything = "(principal, action, resource);"
    text = f'@id("p") @reason("r") @obligation("approval:stewards:1") @qos("priority") permit {everything}'
    text += f'@id("q") @reason("r") @qos("background") permit {everything}'
    text += f'@id("f") @reason("r") @obligation("approval:stewards:2; approval:approver:1") forbid {everything}'
    text += '@id("g") @reason("r") @obligation("confirmation") forbid (principal, action, resource);'
    decided = copy(policy(text))
    assert decided.outcome == "approve"
    assert list(map(str, decided.obligations)) == ["confirmation", "approval:approver:1", "approval:stewards:2"]
    assert decided.qos_class == "background"
    assert ids(decided) == ["f", "g", "p"]


def test_a_permit_may_ask_too() -> None:
    text = '@id("p") @reason("r") @obligation("confirmation") permit (principal, action, resource);'
    assert copy(policy(text)).outcome == "confirm"


def test_looking_into_folders_is_allowed_or_denied_and_never_asks() -> None:
    text = PERMIT_ALL + '@id("f") @reason("r") @obligation("confirmation") forbid (principal, action, resource);'
    decided = may_browse(policy(text), REQUESTER, source("a"), MOMENT)
    assert (decided.outcome, ids(decided)) == ("denied", ["headrace-must-be-allowed"])


@pytest.mark.parametrize("obligation", ["confirmation", "approval:approver:1"])
def test_a_survey_is_allowed_or_denied_and_never_asks(obligation: str) -> None:
    text = f'@id("f") @reason("r") @obligation("{obligation}") forbid (principal, action == Action::"plan", resource);'
    decided = may_plan(policy(PERMIT_ALL + text), REQUESTER, route(), MOMENT)
    assert (decided.outcome, ids(decided)) == ("denied", ["headrace-must-be-allowed"])


@pytest.mark.parametrize(
    ("deletes", "share", "outcome"),
    [(10_000, 1, "allowed"), (10_001, 1, "approve"), (10, 100, "allowed"), (11, 51, "approve"), (11, 50, "allowed")],
)
def test_no_policy_can_switch_off_the_approval_of_large_deletes(deletes: int, share: int, outcome: str) -> None:
    decided = copy(policy(PERMIT_ALL), deletes=deletes, delete_share_percent=share)
    assert decided.outcome == outcome
    if outcome == "approve":
        assert ids(decided) == ["headrace-large-deletes"]
        assert decided.approvals == (NeedsApproval("approver", 1),)


@pytest.mark.parametrize(
    ("count", "fact", "rule"),
    [(10_000, "overwrites", "headrace-large-overwrites"), (100_000, "moved_files", "headrace-large-moves")],
)
def test_no_policy_can_switch_off_the_approval_of_mass_overwrites_and_mass_moves(
    count: int, fact: str, rule: str
) -> None:
    few, many = (facts(**{fact: number}) for number in (count, count + 1))
    assert decide(policy(PERMIT_ALL), "copy", REQUESTER, route(), few).outcome == "allowed"
    decided = decide(policy(PERMIT_ALL), "copy", REQUESTER, route(), many)
    assert (decided.outcome, ids(decided)) == ("approve", [rule])
    assert decided.approvals == (NeedsApproval("approver", 1),)


@pytest.mark.parametrize(("fact", "part"), [("moved_files", "move"), ("overwrites", "overwrite")])
@pytest.mark.parametrize(
    ("count", "share", "outcome"),
    [(10, 100, "allowed"), (11, 50, "allowed"), (11, 51, "confirm"), (9_000, 100, "confirm")],
)
def test_no_policy_can_switch_off_the_requesters_yes_to_moving_or_overwriting_a_large_part(
    fact: str, part: str, count: int, share: int, outcome: str
) -> None:
    changes: dict[str, Any] = {fact: count, f"{part}_share_percent": share}
    decided = copy(policy(PERMIT_ALL), **changes)
    assert decided.outcome == outcome
    if outcome == "confirm":
        assert decided.obligations == (NeedsConfirmation(),)
        [rule] = decided.rules
        assert (rule.id, f"{share}% of the files" in rule.reason) == (f"headrace-large-{part}s", True)
    # Where the policy asks for it itself, its own reason is enough.
    text = PERMIT_ALL + '@id("f") @reason("r") @obligation("confirmation") forbid (principal, action, resource);'
    assert (copy(policy(text), **changes).obligations, ids(copy(policy(text), **changes))) == (
        (NeedsConfirmation(),),
        ["f"],
    )


@pytest.mark.parametrize(
    ("fact", "part", "most"), [("moved_files", "move", 100_000), ("overwrites", "overwrite", 10_000)]
)
def test_a_large_part_is_for_its_requester_up_to_the_count_from_which_another_person_agrees(
    fact: str, part: str, most: int
) -> None:
    for count, needs in ((most, NeedsConfirmation()), (most + 1, NeedsApproval("approver", 1))):
        changes: dict[str, Any] = {fact: count, f"{part}_share_percent": 100}
        assert copy(policy(PERMIT_ALL), **changes).obligations == (needs,)


def test_a_move_that_takes_many_and_deletes_that_are_a_large_part_are_both_said() -> None:
    decided = copy(policy(PERMIT_ALL), moved_files=20, move_share_percent=100, deletes=20, delete_share_percent=100)
    assert (decided.outcome, ids(decided)) == ("approve", ["headrace-large-deletes", "headrace-large-moves"])
    assert decided.obligations == (NeedsConfirmation(), NeedsApproval("approver", 1))


def test_a_policys_own_approval_of_large_deletes_is_enough() -> None:
    text = PERMIT_ALL + '@id("f") @reason("r") @obligation("approval:stewards:1") forbid (principal, action, resource);'
    decided = copy(policy(text), deletes=20_000, delete_share_percent=90)
    assert decided.approvals == (NeedsApproval("stewards", 1),)


def test_a_group_that_is_named_like_a_role_does_not_stand_for_it() -> None:
    need = NeedsApproval("approver", 1)
    assert need.may_be_given_by(frozenset({"approver"}), frozenset())
    assert not need.may_be_given_by(frozenset(), frozenset({"approver"}))
    assert NeedsApproval("stewards", 1).may_be_given_by(frozenset(), frozenset({"stewards"}))


# -- what policies can see --------------------------------------------------------------------------------------------


def permits(condition: str, **changes: Any) -> bool:  # noqa: ANN401
    text = f'@id("p") @reason("r") permit (principal, action == Action::"copy", resource) when {{ {condition} }};'
    return copy(policy(text), **changes).outcome == "allowed"


@pytest.mark.parametrize(
    "condition",
    [
        'resource.source.within.contains("/raw")',
        'resource.source.within.contains("/")',
        'resource.source.within.contains("/raw/run42")',
        'resource.destination in Endpoint::"archive"',
        'principal in Role::"requester"',
        'principal == Person::"pn_ada"',
        'context.now >= datetime("2026-11-25T20:30:00Z") && context.now < datetime("2026-11-25T20:30:01Z")',
        "context.weekday == 3 && context.minute == 870",
        'context.door == "cli"',
        'context.credential == "token"',
        "context.overwrite_share_percent == 0 && context.move_share_percent == 0",
        "!(context has deadline)",
    ],
)
def test_policies_see_places_people_and_times_in_the_sites_zone(condition: str) -> None:
    assert permits(condition)
    assert not permits(f"!({condition})")


def test_policies_see_a_deadline_that_was_asked_for() -> None:
    soon = 'context has deadline && context.deadline.durationSince(context.start) < duration("2h")'
    assert not permits(soon)
    assert permits(soon, deadline=NOW + timedelta(hours=1))
    assert not permits(soon, deadline=NOW + timedelta(hours=3))


@pytest.mark.parametrize("credential", get_args(Credential))
def test_policies_see_what_a_call_came_with(credential: Credential) -> None:
    moment = replace(MOMENT, credential=credential)
    assert permits(f'context.credential == "{credential}"', moment=moment)
    text = (
        PERMIT_ALL
        + f'@id("f") @reason("r") forbid (principal, action, resource) when {{ context.credential == "{credential}" }};'
    )
    assert may_browse(policy(text), REQUESTER, source("a"), moment).outcome == "denied"
    assert may_browse(policy(PERMIT_ALL), REQUESTER, source("a"), moment).outcome == "allowed"


def test_policies_see_the_share_that_overwrites_and_moves_take() -> None:
    found = counts(files=30, identical_files=10, conflicts=5, excluded_files=35, overwrites=3, destination_files=40)
    moved = Facts.of(execution_of(Asked(action="move"), route()).surveyed(found), found, MOMENT)
    assert (moved.moved_files, moved.move_share_percent, moved.overwrite_share_percent) == (40, 50, 8)
    copied = Facts.of(execution_of(Asked(), route()).surveyed(found), found, MOMENT)
    assert (copied.moved_files, copied.move_share_percent) == (0, 0)


@pytest.mark.parametrize("path", ["/ra", "/raw/", "/raw/run4", "raw", "/run42"])
def test_within_holds_whole_folders_only(path: str) -> None:
    assert not permits(f'resource.source.within.contains("{path}")')


def test_policies_see_labels_groups_and_agents() -> None:
    at = settle(source("a", classification="phi"), destination("b"))
    assert permits('resource.source.labels.contains("classification=phi")', at=at)
    assert not permits('resource.destination.labels.contains("classification=phi")', at=at)
    grouped = Caller(person="pn_x", groups=frozenset({"lab"}))
    assert permits('principal in Group::"lab"', caller=grouped)
    assert not permits('principal in Role::"lab"', caller=grouped)
    assert permits('principal has agent && principal.agent == Agent::"assistant"', caller=AGENT)
    assert not permits("principal has agent")


def test_invariant_4_names_are_data_to_a_policy_whatever_they_hold() -> None:
    hostile = 'x"}]};permit(principal,action,resource);//\n'
    at = settle(replace(source(hostile), endpoint=hostile, labels={hostile: hostile}), destination(hostile))
    caller = Caller(person=hostile, roles=frozenset({hostile}), groups=frozenset({hostile}), agent=hostile)
    decided = copy(caller=caller, at=at)
    assert (decided.outcome, ids(decided)) == ("denied", ["headrace-no-rule"])


def test_planning_needs_both_ends_and_the_route() -> None:
    text = '@id("b") @reason("r") permit (principal, action == Action::"browse", resource) '
    text += 'when { resource.within.contains("/raw") };'
    no_source = may_plan(policy(text), REQUESTER, settle(source("other"), destination("raw")), MOMENT)
    no_destination = may_plan(policy(text), REQUESTER, settle(source("raw"), destination("other")), MOMENT)
    no_plan = may_plan(policy(text), REQUESTER, settle(source("raw"), destination("raw")), MOMENT)
    for decided in (no_source, no_destination, no_plan):
        assert (decided.outcome, ids(decided)) == ("denied", ["headrace-no-rule"])
    text += '@id("p") @reason("r") permit (principal, action == Action::"plan", resource);'
    assert may_plan(policy(text), REQUESTER, settle(source("raw"), destination("raw")), MOMENT).outcome == "allowed"


def test_an_agent_gets_counts_instead_of_names_where_names_are_restricted() -> None:
    assert names_withheld(AGENT, source("a", names="restricted"))
    assert not names_withheld(REQUESTER, source("a", names="restricted"))
    assert not names_withheld(AGENT, source("a"))


# -- replaying --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes", [{}, {"overwrites": 2}, {"deletes": 2000, "delete_share_percent": 90}, {"encrypted": False}]
)
@pytest.mark.parametrize("caller", [REQUESTER, AGENT, Caller(person="pn_eve", groups=frozenset({"g"}))])
def test_every_decision_can_be_replayed(changes: dict[str, Any], caller: Caller) -> None:
    decided = copy(caller=caller, **changes)
    assert replay(default_policy(), decided) == decided
    browsed = may_browse(default_policy(), caller, source("a", x="y"), MOMENT)
    assert replay(default_policy(), browsed) == browsed


def test_a_decision_is_only_replayed_under_its_own_policy_and_simulated_under_others() -> None:
    decided = copy()
    with pytest.raises(ValueError, match=policy(PERMIT_ALL).version):
        replay(policy(PERMIT_ALL), decided)
    assert ids(redecide(policy(PERMIT_ALL), decided.context_json)) == ["all"]


def test_the_recorded_request_is_canonical_and_holds_no_floats_or_large_numbers() -> None:
    decided = copy(bytes=2**61)
    assert json.loads(decided.context_json)["context"]["bytes"] == str(2**61)
    assert json.dumps(json.loads(decided.context_json), sort_keys=True, separators=(",", ":")) == decided.context_json
    assert NOW.isoformat(timespec="milliseconds")[:23] in decided.context_json
