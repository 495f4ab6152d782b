"""What policies see of the filters of size and time: what was asked for, which nodes hold to."""

import json
import logging
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.pure.guardrails.made import AGENT, MOMENT, NOW, REQUESTER, Asked, facts, route

from headrace.guardrails import (
    Caller,
    Decision,
    Filters,
    PolicyAction,
    PolicyProblems,
    PolicySet,
    Refused,
    check_policy,
    decide,
    execution_of,
    explain,
    filters_of,
    may_plan,
    next_hours,
    redecide,
    replay,
    suggested_examples,
)

GIB = 1 << 30
DAY = timedelta(days=1)
PERMIT = '@id("all") @reason("everybody may") permit (principal, action, resource);\n'
ON_ROUTES = '[Action::"plan", Action::"copy", Action::"sync", Action::"move"]'
LIMITS = ("min_size_bytes", "max_size_bytes", "modified_after", "modified_before")
AT_MOST_1_GIB = "resource has max_size_bytes && resource.max_size_bytes <= 1073741824"
A_DAY_OLD = 'resource has modified_before && context.now.durationSince(resource.modified_before) >= duration("1d")'


def policy(text: str) -> PolicySet:
    policies = PolicySet.parse(text)
    assert isinstance(policies, PolicySet), policies
    return policies


def only(condition: str, actions: str = '[Action::"copy", Action::"sync", Action::"move"]') -> str:
    """Forbid what does not meet a condition."""
    return f'@id("f") @reason("r") forbid (principal, action in {actions}, resource) unless {{ {condition} }};\n'


def asked(policies: PolicySet, caller: Caller = REQUESTER, action: PolicyAction = "copy", **filters: Any) -> Decision:  # noqa: ANN401 - any slot
    taking = route().taking(filters_of(Asked(**filters)))
    if action == "plan":
        return may_plan(policies, caller, taking, MOMENT)
    return decide(policies, action, caller, taking, facts())


def holds(condition: str, action: PolicyAction = "copy", **filters: Any) -> bool:  # noqa: ANN401 - any slot
    return asked(policy(PERMIT + only(condition, ON_ROUTES)), action=action, **filters).outcome == "allowed"


# -- what rules see --


@pytest.mark.parametrize("action", ["plan", "copy", "sync", "move"])
@pytest.mark.parametrize(
    ("condition", "meets", "misses"),
    [
        (AT_MOST_1_GIB, {"max_size_bytes": GIB}, {"max_size_bytes": GIB + 1}),
        (
            "resource has min_size_bytes && resource.min_size_bytes >= 1000000",
            {"min_size_bytes": 1_000_000},
            {"min_size_bytes": 999_999},
        ),
        (A_DAY_OLD, {"modified_before": NOW - DAY}, {"modified_before": NOW - DAY + timedelta(milliseconds=1)}),
        (
            'resource has modified_after && resource.modified_after >= datetime("2026-11-01")',
            {"modified_after": datetime(2026, 11, 1, tzinfo=UTC)},
            {"modified_after": datetime(2026, 10, 31, 23, 59, 59, 999_000, tzinfo=UTC)},
        ),
    ],
)
def test_rules_see_each_filter_of_size_and_time_that_was_asked_for(
    action: PolicyAction, condition: str, meets: dict[str, Any], misses: dict[str, Any]
) -> None:
    assert holds(condition, action, **meets)
    assert not holds(condition, action, **misses)
    assert not holds(condition, action)


@pytest.mark.parametrize("name", LIMITS)
def test_a_filter_that_nobody_asked_for_is_not_there(name: str) -> None:
    assert holds(f"!(resource has {name})")
    values: dict[str, Any] = {
        "min_size_bytes": 1,
        "max_size_bytes": 9,
        "modified_after": NOW - DAY,
        "modified_before": NOW,
    }
    others = {other: value for other, value in values.items() if other != name}
    assert holds(f"!(resource has {name})", **others)
    assert not holds(f"!(resource has {name})", **values)


@pytest.mark.parametrize(
    ("name", "compared"),
    [
        ("min_size_bytes", "> 1"),
        ("max_size_bytes", "> 1"),
        ("modified_after", "> context.now"),
        ("modified_before", "> context.now"),
    ],
)
def test_a_rule_that_reads_a_filter_without_asking_whether_it_is_there_is_refused(name: str, compared: str) -> None:
    checked = check_policy(PERMIT + only(f"resource.{name} {compared}"))
    assert isinstance(checked, PolicyProblems)
    [problem] = [one for one in checked.problems if one.severity == "error"]
    assert problem.rule == "f"
    assert f"optional attribute `{name}`" in problem.message
    assert isinstance(check_policy(PERMIT + only(f"resource has {name} && resource.{name} {compared}")), PolicySet)


def test_times_finer_than_policies_see_are_rounded_to_where_more_files_take_part() -> None:
    finer = timedelta(microseconds=1)
    record = asked(policy(PERMIT), modified_after=NOW - DAY + finer, modified_before=NOW + finer).context_json
    told = json.loads(record)["resource"]
    assert (told["modified_after"], told["modified_before"]) == ("2026-11-24T20:30:00.000Z", "2026-11-25T20:30:00.001Z")


def test_a_time_in_another_zone_is_the_same_moment_to_policies() -> None:
    there = datetime.fromisoformat("2026-11-25T02:00:00+05:30")
    assert holds(
        'resource has modified_after && resource.modified_after == datetime("2026-11-24T20:30:00Z")',
        modified_after=there,
    )


def test_a_filter_whose_time_has_no_zone_is_refused_before_policy_is_asked() -> None:
    with pytest.raises(Refused, match="has no zone"):
        filters_of(Asked(modified_before=datetime(2026, 11, 25)))  # noqa: DTZ001 - what is refused
    with pytest.raises(Refused, match="has no zone"):
        execution_of(Asked(modified_after=datetime(2026, 11, 25)), route())  # noqa: DTZ001 - what is refused


def test_policies_are_told_of_the_filters_that_the_nodes_are_told() -> None:
    slots = Asked(min_size_bytes=3, max_size_bytes=4, modified_after=NOW - DAY, modified_before=NOW, exclude=("*.tmp",))
    filters = execution_of(slots, route()).filters
    assert filters == filters_of(slots)
    assert Filters.read(filters.to_body()) == filters
    assert Filters.read(json.loads(json.dumps(filters.to_body()))) == filters
    assert Filters.read(Filters().to_body()) == Filters()


@pytest.mark.parametrize("limit", ["5", ["5"], 5.5])
def test_filters_of_a_sealed_plan_are_read_in_their_own_form_only(limit: object) -> None:
    body: dict[str, Any] = {**Filters().to_body(), "exclude": limit}
    if limit == ["5"]:
        assert Filters.read(body).exclude == ("5",)
        body["min_size"] = body.pop("exclude")
    with pytest.raises((TypeError, ValueError, LookupError)):
        Filters.read(body)


# -- records --


def record_of(**filters: Any) -> dict[str, Any]:  # noqa: ANN401 - any slot
    record: dict[str, Any] = json.loads(asked(policy(PERMIT), **filters).context_json)
    return record


@pytest.mark.parametrize("name", LIMITS)
@pytest.mark.parametrize("action", ["plan", "copy"])
def test_invariant_3_a_record_that_does_not_say_what_a_filter_was_is_denied(name: str, action: PolicyAction) -> None:
    record: dict[str, Any] = json.loads(asked(policy(PERMIT), action=action).context_json)
    assert record["resource"][name] is None
    assert redecide(policy(PERMIT), json.dumps(record)).outcome == "allowed"
    del record["resource"][name]
    assert redecide(policy(PERMIT), json.dumps(record)).outcome == "denied"


@pytest.mark.parametrize("name", LIMITS)
@pytest.mark.parametrize("value", [5, True, "", "soon", [], {}, "99999999999999999999"])
def test_invariant_3_a_record_with_a_filter_of_another_form_is_denied(name: str, value: object) -> None:
    record = record_of()
    record["resource"][name] = value
    decided = redecide(policy(PERMIT), json.dumps(record))
    assert (decided.outcome, decided.rules[0].id) == ("denied", "headrace-policy-error")


@pytest.mark.parametrize("action", ["plan", "copy"])
def test_a_decision_about_filters_can_be_replayed_and_simulated(action: PolicyAction) -> None:
    policies = policy(PERMIT + only(AT_MOST_1_GIB, ON_ROUTES))
    for size, outcome in ((GIB, "allowed"), (GIB + 1, "denied"), (None, "denied")):
        decided = asked(policies, action=action, max_size_bytes=size)
        assert decided.outcome == outcome
        assert replay(policies, decided) == decided
        assert redecide(policy(PERMIT), decided.context_json).outcome == "allowed"


FIFTH = (
    '{"action":"copy","caller":{"agent":null,"groups":[],"person":"pn_ada","roles":["requester"]},"context":{'
    '"agent_budget_bytes":"1099511627776","agent_used_bytes":"0","bytes":"1","credential":"token","deadline":"",'
    '"delete_share_percent":"0","deleted_bytes":"0","deletes":"0","door":"cli","encrypted":true,"factors":[],'
    '"files":"1","largest_file_bytes":"0","max_bytes":"67108864","max_files":"17","minute":"870",'
    '"move_share_percent":"0","moved_files":"0","now":"2026-11-25T20:30:00.000Z","on_conflict":"fail","origins":{'
    '"action":"assumed","compare":"assumed","deadline":"assumed","delete_extraneous":"assumed",'
    '"delete_source":"assumed","destination":"assumed","encryption":"assumed","exclude":"assumed",'
    '"include":"assumed","max_size_bytes":"assumed","min_size_bytes":"assumed","modified_after":"assumed",'
    '"modified_before":"assumed","on_conflict":"assumed","preserve":"assumed","priority":"assumed",'
    '"rate_limit_bps":"assumed","repeat":"assumed","source":"assumed","start":"assumed","verify":"assumed",'
    '"window":"assumed"},"overwrite_share_percent":"0","overwrites":"0","overwritten_bytes":"0",'
    '"person_budget_bytes":"10995116277760","person_used_bytes":"0","plan_budget_bytes":"10995116277760",'
    '"plan_budget_files":"10000000","rate_limit_bps":"0","running_transfers":"0","session":false,'
    '"start":"2026-11-25T20:30:00.000Z","verification":"in-transit","weekday":"3"},"form":"5","resource":{'
    '"destination":{"endpoint":"archive","kind":"posix","labelled":[],"labels":[],"path":["run42"]},"exclude":[],'
    '"include":[],"source":{"endpoint":"krios1","kind":"posix","labelled":[],"labels":[],"path":["raw","run42"]}}}'
)
"""A record as the release before wrote it."""
FIFTH_PLAN = (
    '{"action":"plan","caller":{"agent":null,"groups":[],"person":"pn_ada","roles":["requester"]},"context":{'
    '"credential":"token","door":"cli","factors":[],"minute":"870","now":"2026-11-25T20:30:00.000Z",'
    '"session":false,"start":"2026-11-25T20:30:00.000Z","weekday":"3"},"form":"5","resource":{"destination":{'
    '"endpoint":"archive","kind":"posix","labelled":[],"labels":[],"path":["run42"]},"exclude":[],"include":[],'
    '"source":{"endpoint":"krios1","kind":"posix","labelled":[],"labels":[],"path":["raw","run42"]}}}'
)


@pytest.mark.parametrize("record", [FIFTH, FIFTH_PLAN])
@pytest.mark.parametrize("name", LIMITS)
def test_a_record_of_the_fifth_form_is_denied_by_a_policy_that_reads_a_filter_and_no_other(
    record: str, name: str
) -> None:
    others = only('resource.exclude.isEmpty() && context.weekday == 3 && context.credential == "token"', ON_ROUTES)
    assert redecide(policy(PERMIT + others), record).outcome == "allowed"
    # Nobody knows what was asked for: that there was no filter would be a guess.
    for condition in (f"!(resource has {name})", f"resource has {name}"):
        decided = redecide(policy(PERMIT + others + only(condition).replace('"f"', '"g"')), record)
        assert (decided.outcome, decided.rules[0].id) == ("denied", "headrace-policy-error")


@pytest.mark.parametrize("name", LIMITS)
def test_a_record_of_the_fifth_form_with_a_filter_of_the_sixth_is_denied(name: str) -> None:
    record = json.loads(FIFTH)
    record["resource"][name] = None
    assert redecide(policy(PERMIT), json.dumps(record)).outcome == "denied"


@pytest.mark.parametrize("form", ["4", "5"])
def test_hours_and_milder_requests_are_found_for_a_record_of_an_earlier_form(form: str) -> None:
    record = json.loads(FIFTH)
    if form == "4":
        for name in ("credential", "deadline", "overwrite_share_percent", "move_share_percent"):
            del record["context"][name]
    policies = policy(PERMIT + only("context.weekday == 6"))
    denied = redecide(policies, json.dumps({**record, "form": form}))
    assert denied.rules[0].id == "f"
    assert next_hours(policies, denied, NOW, "America/Chicago") == datetime(2026, 11, 28, 6, tzinfo=UTC)
    [found] = explain(policies, denied).alternatives
    assert (found.words, found.outcome) == ("if it starts on Saturday at 00:00", "allowed")


def test_nothing_milder_is_offered_for_a_record_that_lacks_what_the_policy_reads(
    caplog: pytest.LogCaptureFixture,
) -> None:
    policies = policy(
        PERMIT + only("context.weekday == 6") + only("!(resource has max_size_bytes)").replace('"f"', '"g"')
    )
    denied = redecide(policies, FIFTH)
    assert denied.rules[0].id == "headrace-policy-error"
    with caplog.at_level(logging.ERROR):
        caplog.clear()
        assert explain(policies, denied).alternatives == ()
        assert next_hours(policies, denied, NOW, "America/Chicago") is None
    assert not caplog.records


# -- why, and what would be allowed --


def offered(text: str, action: PolicyAction = "copy", caller: Caller = REQUESTER, **filters: Any) -> list[str]:  # noqa: ANN401 - any slot
    policies = policy(text)
    decided = asked(policies, caller, action, **filters)
    assert decided.outcome == "denied"
    return [f"{one.words}: {one.outcome}" for one in explain(policies, decided).alternatives]


@pytest.mark.parametrize(
    ("condition", "filters", "words"),
    [
        (AT_MOST_1_GIB, {}, "taking only files of at most 1.07 GB (1,073,741,824 bytes)"),
        (AT_MOST_1_GIB, {"max_size_bytes": 5 * GIB}, "taking only files of at most 1.07 GB (1,073,741,824 bytes)"),
        (AT_MOST_1_GIB, {"min_size_bytes": 7}, "taking only files of at most 1.07 GB (1,073,741,824 bytes)"),
        (
            "resource has min_size_bytes && resource.min_size_bytes >= 1000001",
            {"min_size_bytes": 5},
            "taking only files of at least 1.00 MB (1,000,001 bytes)",
        ),
        (A_DAY_OLD, {}, "taking only files last changed before 2026-11-24 20:30 UTC"),
        (
            A_DAY_OLD,
            {"modified_after": NOW - 2 * DAY, "modified_before": NOW},
            "taking only files last changed before 2026-11-24 20:30 UTC",
        ),
        (
            'resource has modified_after && resource.modified_after >= datetime("2026-11-01")',
            {"modified_after": NOW - 300 * DAY},
            "taking only files last changed at or after 2026-11-01 00:00 UTC",
        ),
        ("resource has modified_before", {}, "taking only files last changed before 2026-11-25 20:30 UTC"),
    ],
)
def test_the_widest_filter_that_would_be_allowed_is_offered(
    condition: str, filters: dict[str, Any], words: str
) -> None:
    assert offered(PERMIT + only(condition), **filters) == [f"{words}: allowed"]
    before_listing = f"{words} (to be listed; the transfer itself was not decided): allowed"
    assert offered(PERMIT + only(condition, ON_ROUTES), "plan", **filters) == [before_listing]


@pytest.mark.parametrize(
    ("condition", "filters"),
    [
        # What is left beside the other filter would be no file.
        (AT_MOST_1_GIB, {"min_size_bytes": 2 * GIB}),
        (A_DAY_OLD, {"modified_after": NOW - DAY}),
        ("resource has max_size_bytes && context.files > 5", {}),
    ],
)
def test_no_filter_is_offered_that_leaves_nothing_or_does_not_help(condition: str, filters: dict[str, Any]) -> None:
    assert offered(PERMIT + only(condition), **filters) == []


def test_a_filter_is_offered_beside_what_helps_as_well() -> None:
    assistants = PERMIT + only(f"!(principal has agent) || ({AT_MOST_1_GIB})")
    assert offered(assistants, caller=AGENT) == [
        "taking only files of at most 1.07 GB (1,073,741,824 bytes): allowed",
        "asked by the person, without an assistant: allowed",
    ]
    at_start = A_DAY_OLD.replace("now", "start")
    assert offered(PERMIT + only(at_start), modified_before=NOW) == [
        "taking only files last changed before 2026-11-24 20:30 UTC: allowed",
        "if it starts on Thursday at 15:00: allowed",
    ]


def test_the_filters_that_decided_are_told_as_facts() -> None:
    policies = policy(PERMIT + only(f"{AT_MOST_1_GIB} && {A_DAY_OLD}"))
    for filters, told in (
        ({"max_size_bytes": 5 * GIB}, ["5.36 GB", "none"]),
        ({"modified_before": NOW}, ["none", "2026-11-25T20:30:00.000Z"]),
    ):
        found = explain(policies, asked(policies, **filters)).facts
        assert [(fact.name, fact.value) for fact in found if fact.name in LIMITS] == list(
            zip(("max_size_bytes", "modified_before"), told, strict=True)
        )


# -- places, examples, suggestions --


def test_a_place_in_the_folder_is_decided_with_the_filters_of_the_whole() -> None:
    named = only(f'!resource.source.within.contains("/raw/run42/phi") || ({AT_MOST_1_GIB})')
    assert asked(policy(PERMIT + named)).outcome == "denied"
    assert asked(policy(PERMIT + named), max_size_bytes=GIB).outcome == "allowed"


@pytest.mark.parametrize(
    ("condition", "fields"),
    [
        (AT_MOST_1_GIB, '"max_size_bytes": 1073741824'),
        ("resource has min_size_bytes && resource.min_size_bytes == 5", '"min_size_bytes": 5'),
        (A_DAY_OLD, '"now": "2026-11-25T12:00:00Z", "modified_before": "2026-11-24T13:00:00+01:00"'),
        (
            'resource has modified_after && resource.modified_after == datetime("2026-11-01T00:00:00Z")',
            '"modified_after": "2026-11-01T00:00:00Z"',
        ),
    ],
)
@pytest.mark.parametrize("action", ["plan", "copy", "sync"])
def test_examples_say_what_was_asked_for(condition: str, fields: str, action: str) -> None:
    text = PERMIT + only(condition, ON_ROUTES)
    assert isinstance(check_policy(f'{text}// example allowed {{"action": "{action}", {fields}}}'), PolicySet)
    assert isinstance(check_policy(f'{text}// example denied {{"action": "{action}"}}'), PolicySet)
    assert isinstance(check_policy(f'{text}// example allowed {{"action": "{action}"}}'), PolicyProblems)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ('"max_size_bytes": "1 GiB"', "`max_size_bytes` is a whole number of bytes, from 1 to"),
        ('"max_size_bytes": true', "`max_size_bytes` is a whole number of bytes, from 1 to"),
        ('"min_size_bytes": 0', "`min_size_bytes` is a whole number of bytes, from 1 to"),
        ('"min_size_bytes": 99999999999999999999', "`min_size_bytes` is a whole number of bytes, from 1 to"),
        ('"modified_after": "2026-11-25T12:00:00"', "`modified_after` has no zone"),
        ('"modified_before": "yesterday"', "can't be read"),
        ('"modified_before": 5', "`5` is not a text"),
        ('"action": "browse", "max_size_bytes": 5', "unknown: max_size_bytes"),
        ('"facts": {"max_size_bytes": 5}', "`max_size_bytes` is unknown"),
    ],
)
def test_an_example_with_a_filter_that_no_request_has_is_refused(fields: str, said: str) -> None:
    for outcome in ("allowed", "denied"):
        checked = check_policy(f"{PERMIT}// example {outcome} {{{fields}}}")
        assert isinstance(checked, PolicyProblems)
        assert any(said in problem.message for problem in checked.problems), checked


def test_examples_are_suggested_for_a_rule_that_reads_a_filter() -> None:
    named = '@id("f") @reason("r") forbid (principal, action == Action::"copy", resource) '
    named += 'when { resource.source.within.contains("/raw/phi") } '
    text = PERMIT + named + f"unless {{ {AT_MOST_1_GIB} }};"
    [found] = suggested_examples(policy(text))
    assert found.lines[0] == '// example denied {"action": "copy", "source": "source:/raw/phi"}'
    assert isinstance(check_policy("\n".join([text, *found.lines])), PolicySet)


def test_a_follow_up_that_changes_a_filter_is_decided_with_the_new_one() -> None:
    policies = policy(PERMIT + only(AT_MOST_1_GIB))
    first = Asked(max_size_bytes=GIB)
    taking = route().taking(filters_of(first))
    assert decide(policies, "copy", REQUESTER, taking, facts()).outcome == "allowed"
    wider = taking.taking(filters_of(replace(first, max_size_bytes=GIB + 1)))
    assert decide(policies, "copy", REQUESTER, wider, facts()).outcome == "denied"
