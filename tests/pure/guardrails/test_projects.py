"""The project that a plan is for: policy decides by it, the seal holds it, and plans of before have none."""

import json
from dataclasses import replace
from typing import Any

import pytest
from tests.pure.guardrails.made import KEY, MOMENT, NOW, REQUESTER, Asked, counts, draft, route

from headrace.guardrails import (
    Attempt,
    Decision,
    Ended,
    PlanDraft,
    PolicyProblems,
    PolicySet,
    Refused,
    ReleasedPlan,
    Submission,
    check_policy,
    decide,
    execution_of,
    explain,
    may_plan,
    receipt_body,
    redecide,
    release,
    seal_plan,
    ticket_body,
)
from headrace.guardrails.policy.facts import Facts

PERMIT_ALL = '@id("all") @reason("everybody may") permit (principal, action, resource);\n'
ONLY_ITS_GROUP = """
@id("cryo-em-is-its-groups")
@reason("transfers for cryo-em are its group's")
forbid (principal, action in [Action::"copy", Action::"sync", Action::"move"], resource)
when { context has project && context.project == "cryo-em" }
unless { principal in Group::"cryo-em" };
"""
FIRST = (
    '@id("cryo-first") @reason("cryo-em goes first") @qos("priority") permit (principal, action, resource) '
    'when { context has project && context.project == "cryo-em" };\n'
)
FOUND = counts(files=3, identical_files=0)
EXECUTION = execution_of(Asked(), route()).surveyed(FOUND)


def policy(text: str) -> PolicySet:
    policies = check_policy(text)
    assert isinstance(policies, PolicySet), policies
    return policies


def decided(policies: PolicySet, project: str = "", *groups: str) -> Decision:
    facts = replace(Facts.of(EXECUTION, FOUND, MOMENT), project=project)
    return decide(policies, "copy", replace(REQUESTER, groups=frozenset(groups)), route(), facts)


def planned(policies: PolicySet, project: str = "") -> PlanDraft:
    return replace(draft(Asked(), FOUND), decision=decided(policies, project), execution=EXECUTION, project=project)


def released(plan: PlanDraft, policies: PolicySet) -> ReleasedPlan:
    document = seal_plan(plan, KEY)
    submission = Submission(document=document.text, digest=document.digest)
    return release(submission, keys={KEY.public}, policies=policies, now=NOW)


def of_the_sixth_form(decision: Decision) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(decision.context_json)
    del record["context"]["project"], record["context"]["origins"]["project"]
    return {**record, "form": "6"}


def test_a_policy_decides_by_the_project_that_is_named() -> None:
    policies = policy(PERMIT_ALL + ONLY_ITS_GROUP)
    assert decided(policies, "cryo-em").rules[0].id == "cryo-em-is-its-groups"
    assert decided(policies, "cryo-em", "cryo-em").outcome == "allowed"
    assert decided(policies, "tomography").outcome == decided(policies).outcome == "allowed"
    assert may_plan(policies, REQUESTER, route(), MOMENT).outcome == "allowed", "nothing is listed for a project"


def test_a_rule_reads_a_project_only_where_one_is_named() -> None:
    named = policy(
        PERMIT_ALL
        + ONLY_ITS_GROUP.replace('context has project && context.project == "cryo-em"', "context has project")
    )
    assert (decided(named).outcome, decided(named, "x").outcome) == ("allowed", "denied")
    unsure = check_policy(PERMIT_ALL + ONLY_ITS_GROUP.replace("context has project && ", ""))
    assert isinstance(unsure, PolicyProblems)


def test_a_project_brings_its_class_of_service() -> None:
    policies = policy(PERMIT_ALL + FIRST)
    assert [decided(policies, name).qos_class for name in ("cryo-em", "", "other")] == ["priority", "bulk", "bulk"]


def test_an_example_names_a_project_and_why_says_it() -> None:
    examples = (
        '// example denied {"facts": {"project": "cryo-em"}}\n'
        '// example allowed {"groups": ["cryo-em"], "facts": {"project": "cryo-em"}}\n'
        "// example allowed {}\n"
    )
    policies = policy(PERMIT_ALL + ONLY_ITS_GROUP + examples)
    facts = {fact.name: fact.value for fact in explain(policies, decided(policies, "cryo-em")).facts}
    assert facts["project"] == "cryo-em"
    assert isinstance(check_policy(PERMIT_ALL + '// example allowed {"facts": {"project": 5}}'), PolicyProblems)


def test_what_was_planned_before_there_were_projects_is_for_none() -> None:
    policies = policy(PERMIT_ALL + ONLY_ITS_GROUP)
    record = of_the_sixth_form(decided(policies))
    assert redecide(policies, json.dumps(record)).outcome == "allowed"
    assumed = policy(
        PERMIT_ALL + '@id("f") @reason("f") forbid (principal, action == Action::"copy", resource) '
        'when { context.origins.assumed.contains(Slot::"project") };'
    )
    assert redecide(assumed, json.dumps(record)).rules[0].id == "f"


@pytest.mark.parametrize("where", [("context",), ("context", "origins")])
def test_a_record_of_before_that_names_a_project_is_denied(where: tuple[str, ...]) -> None:
    policies = policy(PERMIT_ALL)
    record = of_the_sixth_form(decided(policies))
    assert redecide(policies, json.dumps(record)).outcome == "allowed"
    part = record
    for name in where:
        part = part[name]
    part["project"] = "assumed"
    assert redecide(policies, json.dumps(record)).outcome == "denied"


def test_the_seal_and_the_receipt_hold_the_project_and_nodes_are_not_told_of_it() -> None:
    policies = policy(PERMIT_ALL)
    plan = planned(policies, "cryo-em")
    assert seal_plan(plan, KEY).fields()["project"] == "cryo-em"
    assert seal_plan(plan, KEY).digest != seal_plan(planned(policies), KEY).digest
    one = released(plan, policies)
    ended = Ended(
        transfer="tr_1", outcome="complete", files=3, bytes=1, seconds=1, verified="in-transit", statements=("{}",)
    )
    assert receipt_body(one, ended, (), NOW)["project"] == "cryo-em"
    assert ticket_body(one, Attempt(transfer="tr_1", number=1), NOW)["project"] == ""


@pytest.mark.parametrize(("decided_for", "sealed_for"), [("", "cryo-em"), ("cryo-em", ""), ("tomography", "cryo-em")])
def test_invariant_2_a_plan_for_another_project_than_policy_decided_about_is_not_released(
    decided_for: str, sealed_for: str
) -> None:
    policies = policy(PERMIT_ALL)
    assert released(planned(policies, decided_for), policies).project == decided_for
    with pytest.raises(Refused, match="another project than the one that policy decided about"):
        released(replace(planned(policies, decided_for), project=sealed_for), policies)


def test_a_plan_that_was_sealed_before_there_were_projects_is_released() -> None:
    policies = policy(PERMIT_ALL)
    plan = planned(policies)
    older = replace(plan.decision, context_json=json.dumps(of_the_sixth_form(plan.decision)))
    assert released(replace(plan, decision=older), policies).project == ""
