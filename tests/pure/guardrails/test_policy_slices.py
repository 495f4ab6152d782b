"""Only rules that can concern a request are evaluated, and that changes no decision."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.pure.guardrails.made import MOMENT, REQUESTER, destination, facts, source

from headrace.guardrails import Caller, Decision, PolicySet, decide, may_browse, settle
from headrace.guardrails.policy.slices import MAX_SLICES, Sets, Slices
from headrace.guardrails.seal.documents import Json  # noqa: TC001 - beside what it is the type of

PERMIT = '@id("all") @reason("r") permit (principal, action, resource);\n'


def policy(text: str) -> PolicySet:
    policies = PolicySet.parse(text)
    assert isinstance(policies, PolicySet), policies
    return policies


class Whole(Slices):
    """Every rule, whatever is asked."""

    def of(self, record: object) -> Sets:  # noqa: ARG002 - the same for every one
        return self.everything


def whole(policies: PolicySet) -> PolicySet:
    sliced = policies.slices
    return replace(policies, slices=Whole(sliced.rules, sliced.asking, sliced.everything))


_END = st.sampled_from(["resource.source", "resource.destination"])
_PART = st.one_of(
    st.builds('{}.within.contains("/{}")'.format, _END, st.sampled_from(["a", "b", "a/b"])),
    st.builds('{}.labels.contains("x={}")'.format, _END, st.sampled_from("12")),
    st.builds('{} in Endpoint::"{}"'.format, _END, st.sampled_from(["krios1", "archive"])),
    st.sampled_from(["context.files > 3", "context.bytes + context.max_bytes > 0", "principal has agent", "false"]),
)
_PRINCIPAL = st.sampled_from(
    ["principal", 'principal == Person::"pn_a"', 'principal in Group::"g"', 'principal in Role::"viewer"']
)
_ACTION = st.sampled_from(
    ['action == Action::"copy"', 'action == Action::"sync"', 'action in [Action::"copy", Action::"move"]']
)
_HEAD = st.sampled_from(
    [
        "permit",
        "forbid",
        '@obligation("confirmation") forbid',
        '@qos("background") permit',
        '@obligation("approval:g:1") forbid',
    ]
)
_RULE = st.builds(
    "{} ({}, {}, resource) {} {{ {} }};\n".format,
    _HEAD,
    _PRINCIPAL,
    _ACTION,
    st.sampled_from(["when", "unless"]),
    st.lists(_PART, min_size=1, max_size=3).flatmap(
        lambda parts: st.sampled_from([" && ", " || "]).map(lambda joined: joined.join(parts))
    ),
)
_PATH = st.sampled_from([(), ("a",), ("b",), ("a", "b"), ("c",)])


@given(
    rules=st.lists(_RULE, min_size=1, max_size=6),
    paths=st.tuples(_PATH, _PATH),
    label=st.sampled_from("123"),
    caller=st.sampled_from([Caller(person="pn_a"), Caller(person="pn_b", groups=frozenset("g"), agent="x")]),
    huge=st.booleans(),
)
def test_leaving_out_what_can_not_concern_a_request_changes_no_decision(
    rules: list[str], paths: tuple[tuple[str, ...], tuple[str, ...]], label: str, caller: Caller, *, huge: bool
) -> None:
    named = "".join(f'@id("r{number}") @reason("r") {rule}' for number, rule in enumerate(rules))
    policies = policy(PERMIT + named)
    route = settle(source(*paths[0], into=True, x=label), destination(*paths[1], into=True))
    size = 2**62 if huge else 1  # two of these overflow: a rule that adds them fails

    def decided(by: PolicySet) -> Decision:
        return decide(by, "copy", caller, route, facts(bytes=size, max_bytes=size))

    assert decided(policies) == decided(whole(policies))
    assert may_browse(policies, caller, route.source, MOMENT) == may_browse(
        whole(policies), caller, route.source, MOMENT
    )


@pytest.mark.parametrize(
    ("condition", "evaluated"),
    [
        ('resource.source.within.contains("/a")', True),
        ('resource.source.within.contains("/b")', False),
        ('resource.destination.within.contains("/b")', True),
        ('resource.source in Endpoint::"archive"', False),
        ('resource.source.labels.contains("x=1")', False),
        ('context.files > 1 && resource.source.within.contains("/b")', True),
        ('resource.source.within.contains("/b") || context.files > 1', True),
        ('!resource.source.within.contains("/b")', True),
    ],
)
def test_a_rule_is_left_out_only_for_what_its_condition_begins_with(condition: str, evaluated: bool) -> None:  # noqa: FBT001
    text = f'@id("r") @reason("r") forbid (principal, action == Action::"copy", resource) when {{ {condition} }};'
    slices = policy(PERMIT + text).slices
    record: dict[str, Json] = {
        "action": "copy",
        "caller": {"person": "pn_a", "groups": [], "roles": []},
        "resource": {
            "source": {"endpoint": "krios1", "labels": [], "path": ["a"]},
            "destination": {"endpoint": "archive", "labels": [], "path": ["b"]},
        },
    }
    assert (slices.of(record) is slices.everything) == evaluated


def test_no_more_slices_are_kept_than_the_last_used() -> None:
    named = (f'@id("r{n}") @reason("r") permit (principal in Group::"g{n}", action, resource);' for n in range(500))
    policies = policy("".join(named))
    for number in range(MAX_SLICES + 10):
        caller = Caller(person="pn_a", groups=frozenset({f"g{number % 500}", f"g{(number + number // 500) % 500}"}))
        assert may_browse(policies, caller, source("a"), MOMENT).outcome == "allowed"
    assert len(policies.slices.kept) == MAX_SLICES


def test_a_folder_with_as_many_places_as_are_looked_at_is_parsed_once() -> None:
    rules = (
        f'@id("r{n}") @reason("r") forbid (principal, action == Action::"copy", resource) when '
        f'{{ resource.source.within.contains("/raw/{n}") && context.bytes > 5 }};\n'
        for n in range(300)
    )
    policies = policy('@id("all") @reason("r") permit (principal, action, resource);\n' + "".join(rules))
    whole = settle(source("raw", into=True), destination("raw", into=True))
    assert decide(policies, "copy", REQUESTER, whole, facts(bytes=1, max_bytes=1)).outcome == "allowed"
    kept = dict(policies.slices.kept)
    assert len(kept) == 301
    assert decide(policies, "copy", REQUESTER, whole, facts(bytes=1, max_bytes=1)).outcome == "allowed"
    assert {name: id(sets) for name, sets in policies.slices.kept.items()} == {n: id(s) for n, s in kept.items()}
