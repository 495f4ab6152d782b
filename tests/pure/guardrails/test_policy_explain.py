"""Why a decision is not a plain yes, and what would be."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from tests.pure.guardrails.made import AGENT, MOMENT, REQUESTER, facts, route, source

from headrace.guardrails import (
    Budget,
    Caller,
    Credential,
    Decision,
    Explanation,
    PolicyAction,
    PolicySet,
    Spent,
    decide,
    default_policy,
    explain,
    next_hours,
    redecide,
    settle,
)
from headrace.guardrails.intents.origins import Origin, OriginKind
from headrace.guardrails.policy import decide as decide_module
from headrace.guardrails.policy.decide import MAX_NAMED
from headrace.guardrails.policy.explain import MAX_SEARCHED, MAX_TRIED
from headrace.guardrails.policy.record import cedar_entities
from headrace.guardrails.seal.documents import JsonObject

PERMIT = '@id("all") @reason("everybody may") permit (principal, action, resource);\n'
GB = 10**9


def forbid(condition: str, obligation: str = "", name: str = "f") -> str:
    asks = f'@obligation("{obligation}") ' if obligation else ""
    scope = 'principal, action in [Action::"copy", Action::"move", Action::"sync"], resource'
    return f'@id("{name}") @reason("r") {asks}forbid ({scope}) when {{ {condition} }};\n'


def policy(text: str) -> PolicySet:
    policies = PolicySet.parse(text)
    assert isinstance(policies, PolicySet), policies
    return policies


def explained(
    text: str, action: PolicyAction = "copy", caller: Caller = REQUESTER, **changes: int | bool
) -> Explanation:
    policies = policy(text)
    return explain(policies, decide(policies, action, caller, route(), facts(**changes)))


def instead(explanation: Explanation) -> list[tuple[str, str]]:
    return [(one.words, one.outcome) for one in explanation.alternatives]


def test_what_is_allowed_needs_no_alternative() -> None:
    assert explained(PERMIT) == Explanation()


def test_a_size_that_is_too_large_is_answered_with_the_largest_that_is_not() -> None:
    found = explained(PERMIT + forbid("context.bytes > 500000000000"), bytes=900 * GB)
    assert [(fact.name, fact.value) for fact in found.facts] == [("bytes", "900 GB")]
    assert instead(found) == [("with at most 500 GB", "allowed")]


def test_the_ceiling_of_a_plan_is_asked_about_as_its_size() -> None:
    found = explained(PERMIT + forbid("context.max_bytes > 105000000000"), bytes=900 * GB, max_bytes=945 * GB)
    assert instead(found) == [("with at most 100 GB", "allowed")]


def test_overwrites_deletes_and_moves_have_milder_forms() -> None:
    text = PERMIT + forbid("context.overwrites > 0", "confirmation")
    assert instead(explained(text, overwrites=3)) == [("leaving files that differ as they are", "allowed")]
    text = PERMIT + forbid("context.deletes > 0", "confirmation")
    assert instead(explained(text, "sync", deletes=3)) == [("without deleting at the destination", "allowed")]
    text = PERMIT + forbid("context.moved_files > 0", "approval:approver:1")
    assert instead(explained(text, "move", moved_files=3)) == [("as a copy, which leaves the source", "allowed")]


def test_a_place_that_is_in_the_way_is_named_and_no_other() -> None:
    text = PERMIT + forbid('resource.source.within.contains("/raw/phi/2026")')
    policies = policy(text + forbid('resource.source.within.contains("/raw/open") && context.files > 99', name="g"))
    whole = settle(source("raw", into=True), route().destination)
    assert instead(explain(policies, decide(policies, "copy", REQUESTER, whole, facts()))) == [
        ("without `phi/2026`", "allowed")
    ]


def test_an_hour_at_which_it_would_run_is_found() -> None:
    # The facts are those of Wednesday, 14:30 in Chicago.
    text = PERMIT + forbid("context.minute >= 360 && context.minute < 1200")
    assert instead(explained(text)) == [("if it starts on Wednesday at 20:00", "allowed")]
    assert instead(explained(PERMIT + forbid("context.weekday < 6"))) == [
        ("if it starts on Saturday at 00:00", "allowed")
    ]


def test_what_only_a_person_may_is_said_to_an_assistant() -> None:
    found = explained(PERMIT + forbid("principal has agent"), caller=AGENT)
    assert instead(found) == [("asked by the person, without an assistant", "allowed")]
    found = explained(PERMIT + forbid('!context.factors.contains("passkey")'))
    assert instead(found) == [("asked after a sign-in with a passkey", "allowed")]
    found = explained(PERMIT + forbid("!context.session"))
    assert instead(found) == [("asked in the person's own session", "allowed")]


def test_a_milder_answer_is_offered_where_none_is_allowed() -> None:
    text = PERMIT + forbid("context.bytes > 10", "approval:approver:1") + forbid("true", "confirmation", "g")
    assert instead(explained(text, bytes=50)) == [("with at most 10 B", "confirm")]


def test_two_changes_are_offered_together_where_no_single_one_helps() -> None:
    text = PERMIT + forbid("context.overwrites > 0") + forbid("context.deletes > 0", name="g")
    found = explained(text, "sync", overwrites=1, deletes=1, files=5)
    assert instead(found) == [
        ("leaving files that differ as they are and without deleting at the destination", "allowed")
    ]


@pytest.mark.parametrize("policies", [None, default_policy()])
def test_nothing_is_said_of_another_policys_decision(policies: PolicySet | None) -> None:
    other = policy(PERMIT + forbid("context.overwrites > 0"))
    assert explain(policies, decide(other, "copy", REQUESTER, route(), facts(overwrites=1))) == Explanation()


def test_a_record_that_can_not_be_read_is_not_explained() -> None:
    version = default_policy().version
    decision = Decision("denied", (), (), "bulk", version, "{}")
    assert explain(default_policy(), decision) == Explanation()


CHICAGO = ZoneInfo("America/Chicago")
WEDNESDAY = datetime(2026, 11, 25, 14, 30, 20, tzinfo=CHICAGO).astimezone(UTC)


def opening(text: str, within: timedelta = timedelta(days=7)) -> datetime | None:
    """Say when a request of Wednesday, 14:30 in Chicago is not denied any more."""
    policies = policy(text)
    denied = decide(policies, "copy", REQUESTER, route(), facts())
    assert denied.outcome == "denied"
    return next_hours(policies, denied, WEDNESDAY, "America/Chicago", within=within)


@pytest.mark.parametrize(
    ("condition", "opens"),
    [
        ("context.minute >= 360 && context.minute < 1200", "2026-11-25T20:00"),
        ("context.minute >= 360 && context.minute < 1207", "2026-11-25T20:07"),
        ("context.minute == 870", "2026-11-25T14:31"),
        ("context.weekday < 6", "2026-11-28T00:00"),
        ("context.weekday != 2", "2026-12-01T00:00"),
    ],
)
def test_hours_of_policy_are_found_to_the_minute_up_to_a_week_ahead(condition: str, opens: str) -> None:
    found = opening(PERMIT + forbid(condition))
    assert found is not None
    assert found.astimezone(CHICAGO).strftime("%Y-%m-%dT%H:%M") == opens


def test_hours_that_open_too_late_or_never_or_that_nothing_asks_about_are_none() -> None:
    weekend = PERMIT + forbid("context.weekday < 6")
    assert opening(weekend, timedelta(days=2)) is None
    assert opening(weekend, timedelta(days=3)) is not None
    assert opening(PERMIT + forbid("context.minute >= 0")) is None
    assert opening(PERMIT + forbid("context.files >= 0")) is None
    assert opening(PERMIT + forbid("context.weekday < 6 || context.files >= 0")) is None


def test_what_an_assistant_added_is_told_and_asked_by_the_person_instead() -> None:
    text = PERMIT + forbid('context.origins.assistant.contains(Slot::"rate_limit_bps")', "confirmation")
    origins = {"action": Origin(OriginKind.SAID), "rate_limit_bps": Origin(OriginKind.ASSISTANT)}
    policies = policy(text)
    decision = decide(policies, "copy", AGENT, route(), replace(facts(), origins=origins))
    found = explain(policies, decision)
    assert decision.outcome == "confirm"
    assert [(fact.name, fact.value) for fact in found.facts] == [("origins", "assistant: rate_limit_bps; said: action")]
    assert ("asked by the person, without an assistant", "allowed") in instead(found)


WHOLE = settle(source(into=True), route().destination)


def of_many(*further: str) -> PolicySet:
    """Make a policy that names forty places in the folder of the plan, and has further rules."""
    named = (
        forbid(f'resource.source.within.contains("/{n:03}") && context.files > 99', name=f"n{n}") for n in range(40)
    )
    return policy("".join([PERMIT, *named, *further]))


def evaluations(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Collect one entry for each time that the rules are evaluated from now on."""
    made: list[str] = []

    def counted(record: JsonObject) -> list[JsonObject]:
        made.append(str(record["action"]))
        return cedar_entities(record)

    monkeypatch.setattr(decide_module, "cedar_entities", counted)
    return made


def test_each_kind_of_alternative_is_looked_for_with_a_limited_number_of_evaluations(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    large = 'resource.source.within.contains("/zzz") && context.bytes > 5 && context.minute >= 0'
    policies = of_many(forbid(large, "confirmation"))
    asked = decide(policies, "copy", REQUESTER, WHOLE, facts(bytes=900 * GB, max_bytes=900 * GB))
    assert asked.outcome == "confirm"
    made = evaluations(monkeypatch)
    found = explain(policies, asked)
    # By places, bytes, hours, and once more what was found.
    assert 2 * MAX_TRIED <= len(made) <= 4 * MAX_TRIED
    assert instead(found) == [("without `zzz`", "allowed")]


def test_hours_of_one_of_many_places_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    day = 'resource.source.within.contains("/zzz") && context.minute >= 360 && context.minute < 1200'
    policies = of_many(forbid(day))
    denied = decide(policies, "copy", REQUESTER, WHOLE, facts())
    made = evaluations(monkeypatch)
    found = next_hours(policies, denied, WEDNESDAY, "America/Chicago")
    assert found is not None
    assert found.astimezone(CHICAGO).strftime("%Y-%m-%dT%H:%M") == "2026-11-25T20:00"
    # The place that denied is asked first, not after forty others each time.
    assert len(made) < 400


def test_hours_are_looked_for_with_a_limited_number_of_evaluations(monkeypatch: pytest.MonkeyPatch) -> None:
    # Two places deny by turns, so that the one that denied last doesn't deny the next try.
    by_turns = (
        forbid(
            f'resource.source.within.contains("/z{first}") && {list(range(first, 1440, 60))}.contains(context.minute)',
            name=f"z{first}",
        )
        for first in (0, 30)
    )
    policies = of_many(*by_turns)
    denied = decide(policies, "copy", REQUESTER, WHOLE, facts())
    assert denied.outcome == "denied"
    made = evaluations(monkeypatch)
    assert next_hours(policies, denied, WEDNESDAY, "America/Chicago") is None
    assert len(made) == MAX_SEARCHED


def asking_for(count: int) -> PolicySet:
    """Make a policy that asks for an approval because of each of many places in the folder of the plan."""
    named = (
        forbid(f'resource.source.within.contains("/{n:03}")', "approval:approver:1", name=f"n{n}") for n in range(count)
    )
    return policy("".join([PERMIT, *named]))


def test_which_places_an_assistant_may_be_told_of_is_found_out_with_a_limited_number_of_evaluations(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    places = MAX_NAMED + 50
    made = evaluations(monkeypatch)
    asked = decide(asking_for(places), "copy", AGENT, WHOLE, facts())
    assert len(made) == 1 + places + MAX_NAMED
    named = [rule for rule in asked.rules if "krios1:/" in rule.reason]
    assert (len(asked.rules), len(named)) == (places, MAX_NAMED)
    assert "a folder in it that a rule names is part of this" in asked.rules[-1].reason


def test_what_a_budget_leaves_counts_what_finds_out_of_which_places_one_may_be_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    policies = asking_for(20)
    asked = decide(policies, "copy", AGENT, WHOLE, facts())
    made = evaluations(monkeypatch)
    with pytest.raises(Spent):
        redecide(policies, asked.context_json, Budget(16))
    assert len(made) == 16
    made.clear()
    assert redecide(policies, asked.context_json, Budget(41)).rules == asked.rules
    assert len(made) == 41
    made.clear()
    explain(policies, asked)
    # By places, and once more what was found; no reason is worded for a try.
    assert "browse" in made
    assert len(made) <= 2 * MAX_TRIED


def test_what_is_allowed_is_offered_before_what_somebody_has_to_confirm() -> None:
    by_day = "context.minute >= 360 && context.minute < 1200"
    text = PERMIT + forbid(f"context.overwrites > 0 && {by_day}") + forbid(by_day, "confirmation", name="g")
    # Overwrites are looked at before hours, and without them it would still have to be confirmed.
    found = explained(text, overwrites=3)
    assert [one.outcome for one in found.alternatives] == ["allowed", "confirm"]
    assert found.alternatives[1].words == "leaving files that differ as they are"


@pytest.mark.parametrize(
    ("action", "condition", "loss", "words"),
    [
        ("sync", "context.overwrites > 0", {"overwrites": 20}, "leaving files that differ as they are"),
        ("sync", "context.overwritten_bytes > 5", {"overwrites": 1}, "leaving files that differ as they are"),
        ("sync", "context.overwrite_share_percent > 50", {"overwrites": 1}, "leaving files that differ as they are"),
        ("sync", 'context.on_conflict == "overwrite"', {}, "leaving files that differ as they are"),
        ("sync", "context.deletes > 0", {"deletes": 20}, "without deleting at the destination"),
        ("sync", "context.deleted_bytes > 5", {"deletes": 1}, "without deleting at the destination"),
        ("sync", "context.delete_share_percent > 50", {"deletes": 1}, "without deleting at the destination"),
        ("move", "context.moved_files > 0", {"moved_files": 20}, "as a copy, which leaves the source"),
        ("move", "context.move_share_percent > 50", {"moved_files": 1}, "as a copy, which leaves the source"),
    ],
)
def test_what_is_offered_instead_of_a_loss_takes_its_bytes_and_its_share_away_too(
    action: PolicyAction, condition: str, loss: dict[str, int], words: str
) -> None:
    told: dict[str, Any] = {
        "overwritten_bytes": 9,
        "overwrite_share_percent": 80,
        "deleted_bytes": 9,
        "delete_share_percent": 80,
        "move_share_percent": 80,
        "on_conflict": "overwrite",
    }
    policies = policy(PERMIT + forbid(condition))
    decided = decide(policies, action, REQUESTER, route(), facts(**told, **loss))
    assert decided.outcome == "denied"
    assert instead(explain(policies, decided)) == [(words, "allowed")]


def test_of_changes_that_help_together_those_are_left_away_that_are_not_needed() -> None:
    text = PERMIT + forbid("context.overwrites > 0") + forbid("context.deletes > 0", name="g")
    # An assistant asks, which could be changed and is not in the way.
    found = explained(text, "sync", AGENT, overwrites=1, deletes=1)
    assert instead(found) == [
        ("leaving files that differ as they are and without deleting at the destination", "allowed")
    ]
    text = PERMIT + forbid("context.deletes > 0") + forbid("principal has agent", name="g")
    assert instead(explained(text, "sync", AGENT, overwrites=1, deletes=1)) == [
        ("without deleting at the destination and asked by the person, without an assistant", "allowed")
    ]


def test_an_hour_at_which_it_would_run_is_also_the_moment_at_which_it_starts() -> None:
    text = PERMIT + forbid('context.start < datetime("2026-11-26T02:00:00Z")')
    assert instead(explained(text)) == [("if it starts on Wednesday at 20:00", "allowed")]
    both = 'context.start < datetime("2026-11-26T02:00:00Z") || context.minute < 1200 || context.weekday < 4'
    assert instead(explained(PERMIT + forbid(both))) == [("if it starts on Thursday at 20:00", "allowed")]


@pytest.mark.parametrize(
    "condition",
    ["!context.session", 'context.credential != "session"', '!context.session || context.credential != "session"'],
)
def test_a_persons_own_session_is_offered_with_all_that_comes_with_it(condition: str) -> None:
    assert instead(explained(PERMIT + forbid(condition))) == [("asked in the person's own session", "allowed")]


@pytest.mark.parametrize(
    "condition",
    [
        '!context.factors.contains("passkey")',
        '!context.factors.contains("mfa") || !context.factors.contains("pop")',
        '!context.factors.contains("passkey") || !context.session',
        '!context.factors.contains("passkey") || context.credential != "session"',
    ],
)
def test_a_sign_in_with_a_passkey_is_offered_with_the_session_that_it_begins(condition: str) -> None:
    assert instead(explained(PERMIT + forbid(condition))) == [("asked after a sign-in with a passkey", "allowed")]


@pytest.mark.parametrize(
    ("held", "forbidden", "helps"),
    [("assistant-token", "assistant-token", True), ("assistant-token", "token", False), ("token", "token", False)],
)
def test_a_person_who_asks_instead_of_an_assistant_does_not_bring_the_assistants_token(
    held: Credential, forbidden: str, *, helps: bool
) -> None:
    policies = policy(PERMIT + forbid(f'context.credential == "{forbidden}" || principal has agent'))
    asked = facts(moment=replace(MOMENT, credential=held))
    found = explain(policies, decide(policies, "copy", AGENT, route(), asked))
    assert (("asked by the person, without an assistant", "allowed") in instead(found)) is helps


def test_no_more_than_five_changes_are_offered() -> None:
    # Each of seven changes alone is enough.
    condition = "context.overwrites > 0 && context.deletes > 0 && context.bytes > 10 && context.files > 10"
    condition += " && principal has agent && !context.session && context.minute < 1200"
    found = explained(PERMIT + forbid(condition), "sync", AGENT, overwrites=1, deletes=1, bytes=50, files=50)
    assert [words for words, _ in instead(found)] == [
        "leaving files that differ as they are",
        "without deleting at the destination",
        "with at most 10 B",
        "with at most 10 files",
        "asked by the person, without an assistant",
    ]
