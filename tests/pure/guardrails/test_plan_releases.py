from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.pure.guardrails.made import (
    KEY,
    NODE_A,
    NODE_B,
    NOW,
    OTHER_KEY,
    REQUESTER,
    Asked,
    counts,
    draft,
    facts,
    route,
    sealed,
)

from headrace.guardrails import (
    TICKET_LIFETIME,
    Approval,
    Attempt,
    Confirmation,
    Decision,
    Document,
    Ended,
    PolicySet,
    Refused,
    ReleasedPlan,
    SealError,
    Submission,
    Unreleased,
    decide,
    default_policy,
    receipt_body,
    release,
    seal,
    seal_plan,
    ticket_body,
    verify,
)
from headrace.guardrails.intents.origins import SLOTS, Origin, OriginKind, Quote

ATTEMPT = Attempt(transfer="tr_1", number=1)
ASKS = Asked(action="sync", delete_extraneous=True)
"""Overwrites and a large delete: under the default policy it needs both a confirmation and an approval."""
PLAIN = sealed()
CONFIRM = sealed(Asked(action="sync"), counts(overwrites=3))
APPROVE = sealed(ASKS, counts(overwrites=3, deletes=900, destination_files=1000))


def confirmation(plan: Document, **changes: Any) -> Confirmation:  # noqa: ANN401
    return replace(Confirmation(person="pn_ada", digest=plan.digest, session=True), **changes)


def approval(plan: Document, **changes: Any) -> Approval:  # noqa: ANN401
    ordinary = Approval(
        person="pn_grace",
        digest=plan.digest,
        policy_version=default_policy().version,
        requester="pn_ada",
        session=True,
        expires=NOW + timedelta(hours=1),
        roles=frozenset({"approver"}),
    )
    return replace(ordinary, **changes)


def submit(plan: Document, *, at: Any = NOW, policies: PolicySet | None = None, **changes: Any) -> ReleasedPlan:  # noqa: ANN401
    submission = replace(Submission(document=plan.text, digest=plan.digest), **changes)
    return release(submission, keys={KEY.public}, policies=policies or default_policy(), now=at)


def refusal(plan: Document, **changes: Any) -> str:  # noqa: ANN401
    with pytest.raises(Refused) as refused:
        submit(plan, **changes)
    return refused.value.code


def other_policy(text: str) -> PolicySet:
    policies = PolicySet.parse(text)
    assert isinstance(policies, PolicySet)
    return policies


def test_a_leg_goes_with_a_plan_that_is_a_probe_and_with_no_other() -> None:
    leg = replace(ATTEMPT, leg=("memory", "storage"))
    with pytest.raises(Refused):
        ticket_body(submit(PLAIN), leg, NOW)
    probe = seal_plan(replace(draft(), execution=draft().execution.probing(10, 1 << 30, 10)), KEY)
    with pytest.raises(Refused):
        ticket_body(submit(probe), ATTEMPT, NOW)
    body = ticket_body(submit(probe), leg, NOW)
    assert body["leg"] == {"reads": "memory", "writes": "storage"}
    execution = body["execution"]
    assert isinstance(execution, Mapping)
    assert execution["probe"] == {"max_seconds": "10"}
    assert "leg" not in ticket_body(submit(PLAIN), ATTEMPT, NOW)


def test_an_allowed_plan_is_released_as_it_is() -> None:
    released = submit(PLAIN)
    assert (released.digest, released.requester) == (PLAIN.digest, "pn_ada")
    assert released.execution == PLAIN.fields()["execution"]


def test_an_approval_of_whoever_made_the_token_that_asked_does_not_count() -> None:
    asked, grace = draft(ASKS, counts(overwrites=3, deletes=900, destination_files=1000)), "pn_grace"
    plan = seal_plan(replace(asked, token_made_by=grace), KEY)
    yes = confirmation(plan)
    assert refusal(plan, confirmation=yes, approvals=(approval(plan, person=grace),)) == Unreleased.APPROVAL_MISSING
    assert submit(plan, confirmation=yes, approvals=(approval(plan, person="pn_bea"),))


def test_invariant_1_only_release_makes_a_released_plan() -> None:
    with pytest.raises(TypeError):
        ReleasedPlan(object(), PLAIN.digest, PLAIN.fields())


def test_invariant_1_a_plan_that_the_service_did_not_seal_is_not_released() -> None:
    forged = seal_plan(draft(), OTHER_KEY)
    with pytest.raises(SealError):
        submit(forged)
    with pytest.raises(SealError):
        submit(seal("permit", draft().to_body(), KEY))


@given(st.data())
def test_invariant_1_no_mutation_of_a_denied_or_unapproved_plan_is_released(data: st.DataObject) -> None:
    plan = data.draw(st.sampled_from([CONFIRM, APPROVE, denied()]))
    start = data.draw(st.integers(0, len(plan.text)))
    end = data.draw(st.integers(start, min(len(plan.text), start + 20)))
    piece = data.draw(st.sampled_from(["", "allowed", "[]", '"', "\\", "{}", "9"]) | st.text(max_size=5))
    changed = plan.text[:start] + piece + plan.text[end:]
    with pytest.raises((SealError, Refused)):
        submit(plan, document=changed)


def denied() -> Document:
    stranger = replace(REQUESTER, roles=frozenset())
    return seal_plan(replace(draft(), decision=decide(default_policy(), "copy", stranger, route(), facts())), KEY)


def test_invariant_1_a_denied_plan_is_not_released() -> None:
    assert refusal(denied()) == Unreleased.NOT_RUNNABLE


@pytest.mark.parametrize(
    "broken",
    [
        {"outcome": "allowed", "obligations": ["confirmation"]},
        {"outcome": "confirm", "obligations": []},
        {"outcome": "approve", "obligations": ["nothing"]},
        {"outcome": "approve", "obligations": "confirmation"},
        {"outcome": "maybe", "obligations": []},
        {"outcome": None, "obligations": None},
    ],
    ids=str,
)
def test_invariant_3_a_decision_that_can_not_be_read_is_not_released(broken: dict[str, Any]) -> None:
    body = draft().to_body()
    sealed_decision = body["decision"]
    assert isinstance(sealed_decision, dict)
    assert refusal(seal("plan", {**body, "decision": {**sealed_decision, **broken}}, KEY)) == Unreleased.NOT_RUNNABLE


def test_invariant_2_another_digest_than_the_plans_is_not_released() -> None:
    assert refusal(PLAIN, digest=CONFIRM.digest) == Unreleased.DIGEST_MISMATCH
    assert refusal(PLAIN, digest="") == Unreleased.DIGEST_MISMATCH


def test_a_plan_past_its_time_limit_is_not_released() -> None:
    assert submit(PLAIN, at=NOW + timedelta(hours=24, milliseconds=-1))
    assert refusal(PLAIN, at=NOW + timedelta(hours=24)) == Unreleased.PLAN_EXPIRED


def test_invariant_3_a_plan_from_the_future_means_a_wrong_clock_and_is_not_released() -> None:
    assert submit(PLAIN, at=NOW - timedelta(seconds=60))
    assert refusal(PLAIN, at=NOW - timedelta(seconds=61)) == Unreleased.PLAN_EXPIRED


def test_a_plan_decided_by_another_policy_is_not_started() -> None:
    text = '@id("a") @reason("r") permit (principal, action, resource);'
    assert refusal(PLAIN, policies=other_policy(text)) == Unreleased.POLICY_CHANGED


def test_invariant_3_without_a_policy_nothing_is_released() -> None:
    submission = Submission(document=PLAIN.text, digest=PLAIN.digest)
    for started in (None, NOW):
        with pytest.raises(Refused) as refused:
            release(replace(submission, started=started), keys={KEY.public}, policies=None, now=NOW)
        assert refused.value.code == Unreleased.POLICY_CHANGED


def test_a_running_plan_goes_on_under_a_policy_that_still_allows_it_and_stops_under_one_that_denies_it() -> None:
    later = NOW + timedelta(days=3)
    permits = other_policy('@id("a") @reason("r") permit (principal, action, resource);')
    forbids = other_policy('@id("a") @reason("r") forbid (principal, action, resource);')
    assert submit(PLAIN, started=NOW, at=later, policies=permits)
    assert refusal(PLAIN, started=NOW, at=later, policies=forbids) == Unreleased.POLICY_CHANGED


@pytest.mark.parametrize("changes", [{"person": "pn_grace"}, {"digest": PLAIN.digest}, {"session": False}], ids=str)
def test_invariant_1_only_the_requesters_own_session_confirms_and_only_that_plan(changes: dict[str, Any]) -> None:
    assert submit(CONFIRM, confirmation=confirmation(CONFIRM))
    assert refusal(CONFIRM) == Unreleased.CONFIRMATION_MISSING
    assert refusal(CONFIRM, confirmation=confirmation(CONFIRM, **changes)) == Unreleased.CONFIRMATION_MISSING


@pytest.mark.parametrize(
    "changes",
    [
        {"person": "pn_ada"},
        {"digest": CONFIRM.digest},
        {"policy_version": "0" * 64},
        {"requester": "pn_eve"},
        {"session": False},
        {"expires": NOW},
        {"roles": frozenset({"admin", "requester"})},
        {"roles": frozenset(), "groups": frozenset({"approver"})},
    ],
    ids=",".join,
)
def test_invariant_1_an_approval_binds_plan_policy_requester_approver_and_time(changes: dict[str, Any]) -> None:
    yes = confirmation(APPROVE)
    assert submit(APPROVE, confirmation=yes, approvals=(approval(APPROVE),))
    assert refusal(APPROVE, confirmation=yes) == Unreleased.APPROVAL_MISSING
    assert refusal(APPROVE, confirmation=yes, approvals=(approval(APPROVE, **changes),)) == Unreleased.APPROVAL_MISSING


def test_an_approval_does_not_stand_for_the_confirmation() -> None:
    assert refusal(APPROVE, approvals=(approval(APPROVE),)) == Unreleased.CONFIRMATION_MISSING


def needs_two() -> Document:
    two = Decision("approve", (), _two(), "bulk", default_policy().version, "{}")
    return seal_plan(replace(draft(), decision=two), KEY)


def _two() -> Any:  # noqa: ANN401
    policies = other_policy(
        '@id("p") @reason("r") @obligation("approval:stewards:2") permit (principal, action, resource);'
    )
    return decide(policies, "copy", REQUESTER, route(), facts()).obligations


def test_two_approvals_are_two_different_people() -> None:
    plan = needs_two()
    first = approval(plan, groups=frozenset({"stewards"}))
    assert refusal(plan, approvals=(first, first)) == Unreleased.APPROVAL_MISSING
    assert refusal(plan, approvals=(first, replace(first, person="pn_ada"))) == Unreleased.APPROVAL_MISSING
    assert submit(plan, approvals=(first, replace(first, person="pn_hedy")))


def test_a_renewal_is_held_against_the_moment_the_plan_was_started() -> None:
    later = NOW + timedelta(days=2)
    yes, approvals = confirmation(APPROVE), (approval(APPROVE),)
    assert refusal(APPROVE, at=later, confirmation=yes, approvals=approvals) == Unreleased.PLAN_EXPIRED
    assert submit(APPROVE, at=later, started=NOW, confirmation=yes, approvals=approvals)
    assert refusal(APPROVE, at=later, started=NOW, confirmation=yes) == Unreleased.APPROVAL_MISSING


def test_invariant_2_a_ticket_carries_the_plans_execution_verbatim() -> None:
    body = ticket_body(submit(PLAIN), ATTEMPT, NOW)
    ticket = verify(seal("ticket", body, KEY).text, "ticket", {KEY.public}).fields()
    assert ticket["execution"] == PLAIN.fields()["execution"]
    assert ticket["plan_digest"] == PLAIN.digest
    assert (ticket["source_node"], ticket["destination_node"]) == (NODE_A, NODE_B)
    assert (ticket["transfer"], ticket["attempt"], ticket["person"]) == ("tr_1", "1", "pn_ada")
    assert ticket["shard"] == {"fence": "1", "number": "0"}
    assert (ticket["not_before"], ticket["expires"]) == ("2026-11-25T20:30:00.000Z", "2026-11-25T20:45:00.000Z")
    assert timedelta(minutes=15) == TICKET_LIFETIME


def test_a_ticket_says_how_the_requester_is_known_as_it_was_sealed_with_the_plan() -> None:
    plan = seal_plan(replace(draft(), known_as="ad:corp.example.org ada@corp.example.org"), KEY)
    body = ticket_body(submit(plan), ATTEMPT, NOW)
    assert body["local_account"] == "ad:corp.example.org ada@corp.example.org"
    assert ticket_body(submit(PLAIN), ATTEMPT, NOW)["local_account"] == "", "nodes that map people refuse it"


def test_a_renewed_ticket_has_a_new_id_and_a_later_end_and_differs_in_nothing_else() -> None:
    first = ticket_body(submit(PLAIN), ATTEMPT, NOW)
    second = ticket_body(submit(PLAIN), ATTEMPT, NOW + timedelta(minutes=5))
    assert {name for name in first if first[name] != second[name]} == {"id", "not_before", "expires"}


@pytest.mark.parametrize(
    ("own", "now_", "kept"), [(None, None, None), (5, None, "5"), (None, 7, "7"), (5, 7, "5"), (9, 7, "7")]
)
def test_a_ticket_never_goes_above_the_plans_rate(own: int | None, now_: int | None, kept: str | None) -> None:
    plan = sealed(Asked(rate_limit_bps=own))
    body = ticket_body(submit(plan), replace(ATTEMPT, rate_ceiling_bps=now_), NOW)
    assert body["rate_ceiling_bps"] == kept


def test_a_receipt_says_who_asked_what_allowed_it_and_what_the_nodes_signed() -> None:
    released = submit(APPROVE, confirmation=confirmation(APPROVE), approvals=(approval(APPROVE),))
    ended = Ended(
        transfer="tr_1", outcome="complete", files=3, bytes=4, seconds=5, verified="in-transit", statements=("{}", "{}")
    )
    body = receipt_body(released, ended, (approval(APPROVE),), NOW)
    receipt = verify(seal("receipt", body, KEY).text, "receipt", {KEY.public}).fields()
    assert receipt["statements"] == ["{}", "{}"]
    assert receipt["plan_digest"] == APPROVE.digest
    assert (receipt["requester"], receipt["files"], receipt["bytes"]) == ("pn_ada", "3", "4")
    decision = APPROVE.fields()["decision"]
    assert isinstance(decision, dict)
    assert (receipt["rules"], receipt["policy_version"]) == (decision["rules"], decision["policy_version"])
    assert receipt["approvals"] == [
        {"person": "pn_grace", "digest": APPROVE.digest, "expires": "2026-11-25T21:30:00.000Z"}
    ]


@pytest.mark.parametrize("agent", ["claude", None])
@pytest.mark.parametrize("words", ["copy run42 to the archive", None])
def test_a_receipt_repeats_under_its_seal_what_was_asked_who_asked_and_how_it_ended(
    agent: str | None, words: str | None
) -> None:
    plan = seal_plan(replace(draft(ASKS, counts(overwrites=3), words=words), agent=agent), KEY)
    ended = Ended(
        transfer="tr_7", outcome="partial", files=3, bytes=4, seconds=67, verified="in-transit", statements=("{}",)
    )
    body = receipt_body(submit(plan, confirmation=confirmation(plan)), ended, (), NOW)
    receipt = verify(seal("receipt", body, KEY).text, "receipt", {KEY.public}).fields()
    fields = plan.fields()
    decision = fields["decision"]
    assert isinstance(decision, dict)
    # A confirmation hides the rule that permits it: the receipt names both.
    assert [rule["id"] for rule in decision["permitted_by"]] == ["requesters-transfer"]
    assert receipt["permitted_by"] == decision["permitted_by"]
    for name in ("agent", "words", "canonical_sentence", "origins"):
        assert receipt[name] == fields[name]
    assert (receipt["agent"], receipt["words"]) == (agent, words)
    assert receipt["canonical_sentence"] == "copy krios1:/raw/run42 to archive:/run42"
    assert (receipt["transfer"], receipt["outcome"], receipt["seconds"]) == ("tr_7", "partial", "67")
    assert (receipt["verified"], receipt["created"]) == ("in-transit", "2026-11-25T20:30:00.000Z")


def test_a_plan_that_was_sealed_before_slots_had_origins_is_released_and_has_a_receipt() -> None:
    body = {name: value for name, value in PLAIN.fields().items() if name not in {"type", "origins"}}
    released = submit(seal("plan", body, KEY))
    ended = Ended(
        transfer="tr_1", outcome="complete", files=3, bytes=4, seconds=5, verified="in-transit", statements=("{}",)
    )
    assert receipt_body(released, ended, (), NOW)["origins"] is None


def test_a_plan_says_under_its_seal_which_words_carry_which_slot() -> None:
    said = Origin(OriginKind.SAID, (Quote(0, 4, "copy"),))
    body = seal_plan(replace(draft(), origins={"action": said}), KEY).fields()["origins"]
    assert isinstance(body, dict)
    assert list(body) == sorted(SLOTS)
    assert body["action"] == {"origin": "said", "words": [{"start": "0", "end": "4", "text": "copy"}], "plan": None}
    assert body["verify"] == {"origin": "assumed", "words": [], "plan": None}
