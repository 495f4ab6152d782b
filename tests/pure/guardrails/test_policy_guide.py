"""Rules of the guide hold whatever they are made of."""

import re
from dataclasses import dataclass, field
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.pure.guardrails.made import AGENT, REQUESTER, destination, facts, source

from headrace.guardrails import (
    NEEDS,
    Caller,
    GuideError,
    Need,
    PolicyAction,
    PolicySet,
    ResolvedEndpoint,
    check_policy,
    decide,
    default_policy,
    default_policy_text,
    guided_rules,
    run_examples,
    settle,
)

EXAMPLES: Final = {
    "no-writes": 4,
    "group-writes": 4,
    "group-reads": 4,
    "deletes-approved": 3,
    "keep-deletes": 2,
    "moves-approved": 3,
    "assistants-copy": 4,
    "assistants-not-at": 5,
    "only-in-hours": 2,
    "large-approved": 2,
    "label-for-group": 6,
    "largest-file": 2,
    "overwrites-by-person": 4,
}
"""How many examples the rules of each need have beside the default policy."""

_LETTERS = st.sampled_from(list("""aZ09 "'\\{}()[];/*%&|=@?!#$é中_-.,:<>"""))
_TEXTS = st.text(_LETTERS, min_size=1, max_size=40).map(str.strip).filter(bool)
_ENDPOINTS = st.from_regex(r"[a-z][a-z0-9\"\\'{};()_-]{0,20}", fullmatch=True)
_NAMES = st.text(_LETTERS, min_size=1, max_size=12).filter(lambda name: "/" not in name and name.strip("."))
_PLACES = st.tuples(_ENDPOINTS, st.lists(_NAMES, max_size=4)).map(lambda at: f"{at[0]}:/{'/'.join(at[1])}".strip())
_HALVES = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_.@ /-]{0,20}", fullmatch=True)
_TIMES = st.tuples(st.integers(0, 23), st.integers(0, 59)).map(lambda at: f"{at[0]:02}:{at[1]:02}")
_KINDS: Final = {
    "place": _PLACES,
    "group": _TEXTS,
    "approvers": st.from_regex(r"[a-z0-9.@-]{1,30}", fullmatch=True),
    "label": st.tuples(_HALVES, _HALVES).map(" = ".join),
    "time": _TIMES,
    "tebibytes": st.integers(1, 8_000_000).map(str),
    "gigabytes": st.integers(1, 9_000_000_000).map(str),
    "days": st.integers(1, 366).map(str),
}


@pytest.mark.parametrize("need", NEEDS, ids=lambda need: need.name)
@settings(max_examples=5)
@given(st.data())
def test_the_rules_of_a_need_pass_the_check_with_all_their_examples_whatever_the_values(
    need: Need, data: st.DataObject
) -> None:
    values = {asks.name: data.draw(_KINDS[asks.kind], asks.name) for asks in need.asks}
    if values.get("from") == values.get("until") != None:  # noqa: E711 - of those that ask for both
        return
    made = guided_rules(need.name, values)
    base = "\n".join(line for line in default_policy_text().splitlines() if line.strip() not in made.contradicts)
    whole = check_policy(f"{base}\n{made.text}")
    assert isinstance(whole, PolicySet), whole
    assert set(made.rules) <= {rule.id for rule in whole.rules}
    examples = re.findall(r"^// example (\w+) ", made.text, re.MULTILINE)
    assert len(examples) == EXAMPLES[need.name]
    assert {"allowed"} < set(examples)
    # Each shows the rule: without it, what is stricter than allowed is not.
    without = "\n".join(line for line in made.text.splitlines() if line.startswith("// example"))
    alone = PolicySet.parse(f"{default_policy_text()}\n{without}")
    assert isinstance(alone, PolicySet)
    stricter = [run.line for run in run_examples(alone) if run.failure] != []
    assert stricter is (need.name != "keep-deletes"), "a trash asks for nothing, and examples say what is asked for"


def test_a_rule_that_is_made_twice_gets_another_id() -> None:
    text = default_policy_text()
    # Each has a second rule, for what a move deletes.
    for number in ("", "-3", "-5"):
        made = guided_rules("no-writes", {"place": "krios1:/raw"}, text)
        assert made.rules[:1] == (f"no-writes{number}",)
        text += f"\n{made.text}"
    assert isinstance(check_policy(text), PolicySet)


def test_an_example_of_what_stays_allowed_is_left_out_where_the_text_does_not_allow_it() -> None:
    text = '@id("ops") @reason("operators work") permit (principal in Role::"operator", action, resource);\n'
    made = guided_rules("no-writes", {"place": "krios1:/raw"}, text)
    assert re.findall(r"example (\w+)", made.text) == ["denied", "denied", "denied"]
    assert isinstance(check_policy(text + made.text), PolicySet)


@pytest.mark.parametrize(
    ("need", "values", "name"),
    [
        ("nothing", {}, "need"),
        ("no-writes", {}, "place"),
        ("no-writes", {"place": "krios1"}, "place"),
        ("no-writes", {"place": "krios1:raw"}, "place"),
        ("no-writes", {"place": "krios1:/raw/../phi"}, "place"),
        ("no-writes", {"place": "kri/os:/raw"}, "place"),
        ("no-writes", {"place": "krios1:/raw\u202e"}, "place"),
        ("no-writes", {"place": "krios1:/raw", "group": "x"}, "group"),
        ("assistants-copy", {"place": "krios1:/raw"}, "place"),
        ("group-writes", {"place": "krios1:/raw", "group": " "}, "group"),
        ("group-writes", {"place": "krios1:/raw", "group": "g\n"}, ""),
        ("group-writes", {"place": "krios1:/raw", "group": "a\nb"}, "group"),
        ("deletes-approved", {"approvers": "the boss"}, "approvers"),
        ("only-in-hours", {"from": "8", "until": "20:00"}, "from"),
        ("only-in-hours", {"from": "08:00", "until": "24:00"}, "until"),
        ("only-in-hours", {"from": "08:00", "until": "08:00"}, "until"),
        ("large-approved", {"tebibytes": "1.5", "approvers": "approver"}, "tebibytes"),
        ("large-approved", {"tebibytes": "0", "approvers": "approver"}, "tebibytes"),
        ("keep-deletes", {"place": "krios1:/raw", "days": "367"}, "days"),
        ("largest-file", {"gigabytes": "9999999999999"}, "gigabytes"),
        ("label-for-group", {"label": "phi", "group": "g"}, "label"),
        ("label-for-group", {"label": "class=", "group": "g"}, "label"),
        ("label-for-group", {"label": "class=(phi)", "group": "g"}, "label"),
    ],
)
def test_a_value_that_makes_no_rule_is_refused_by_its_name(need: str, values: dict[str, str], name: str) -> None:
    if not name:
        assert guided_rules(need, values).rules
        return
    with pytest.raises(GuideError) as refused:
        guided_rules(need, values)
    assert refused.value.name == name


def test_a_label_is_written_as_endpoints_keep_it() -> None:
    made = guided_rules("label-for-group", {"label": " classification = phi ", "group": "g"})
    assert '"classification=phi"' in made.text
    assert " = phi" not in made.text


def test_examples_of_the_text_that_hold_no_longer_are_named() -> None:
    made = guided_rules("overwrites-by-person", {})
    assert made.contradicts == ('// example confirm {"action": "sync", "facts": {"overwrites": 1}}',)
    assert guided_rules("assistants-copy", {}).contradicts == ()


def test_a_text_that_is_no_policy_gets_no_rule() -> None:
    with pytest.raises(GuideError) as refused:
        guided_rules("assistants-copy", {}, "permit")
    assert refused.value.name == "text"


def test_a_name_that_would_end_the_string_stays_a_name() -> None:
    hostile = 'x"; permit (principal, action, resource); //\\'
    made = guided_rules("group-writes", {"place": "krios1:/raw", "group": hostile})
    found = PolicySet.parse(made.text)
    assert isinstance(found, PolicySet)
    assert [(rule.effect, rule.id) for rule in found.rules] == [
        ("forbid", "group-writes"),
        ("forbid", "group-writes-2"),
    ]


def test_a_need_that_is_not_known_is_answered_with_the_nearest_one() -> None:
    with pytest.raises(GuideError, match="there is no need called `no-write`; did you mean `no-writes`"):
        guided_rules("no-write", {})
    with pytest.raises(GuideError, match="there is no need called `zzz`; there are no-writes, "):
        guided_rules("zzz", {})


def test_deletes_at_a_place_are_kept_there_for_as_many_days_as_are_asked_for() -> None:
    made = guided_rules("keep-deletes", {"place": "krios1:/raw", "days": "030"})
    policies = PolicySet.parse(f"{default_policy_text()}\n{made.text}")
    assert isinstance(policies, PolicySet)
    for at, days in ((("raw", "run42"), 30), (("raw",), 30), (("home",), None)):
        moved = decide(policies, "move", REQUESTER, settle(source(*at), destination("x")), facts(moved_files=1))
        assert (moved.outcome, moved.keep_days) == ("confirm", days)
    assert made.endpoints == ("krios1",)


def guided(need: str, values: dict[str, str]) -> PolicySet:
    """Add the rules of a need to the default policy."""
    policies = PolicySet.parse(f"{default_policy_text()}\n{guided_rules(need, values).text}")
    assert isinstance(policies, PolicySet)
    return policies


@dataclass(frozen=True, kw_only=True)
class Broken:
    """A request that breaks the rule of a need, and what the rule makes of it when it is any of `actions`."""

    need: str
    values: dict[str, str] = field(default_factory=dict)
    caller: Caller = REQUESTER
    source: ResolvedEndpoint = field(default_factory=lambda: source("home", "run"))
    destination: ResolvedEndpoint = field(default_factory=lambda: destination("home", "run"))
    facts: dict[str, Any] = field(default_factory=dict)
    actions: frozenset[str] = frozenset({"copy", "sync", "move"})
    outcome: str = "denied"


_RAW, _IN = {"place": "krios1:/raw"}, {"place": "archive:/in"}
_INTO, _OUT_OF = destination("in", "run"), source("raw", "run")
_PHI = {"label": "kind=phi", "group": "em-lab"}
_BY: Final = {"approvers": "approver"}
BROKEN: Final = (
    Broken(need="no-writes", values=_IN, destination=_INTO),
    Broken(need="no-writes", values=_RAW, source=_OUT_OF, actions=frozenset({"move"})),
    Broken(need="group-writes", values={**_IN, "group": "em-lab"}, destination=_INTO),
    Broken(need="group-writes", values={**_RAW, "group": "em-lab"}, source=_OUT_OF, actions=frozenset({"move"})),
    Broken(need="group-reads", values={**_RAW, "group": "em-lab"}, source=_OUT_OF),
    Broken(need="deletes-approved", values=_BY, facts={"deletes": 1}, outcome="approve"),
    Broken(need="deletes-approved", values=_BY, facts={"moved_files": 1}, outcome="approve"),
    Broken(
        need="moves-approved",
        values={**_RAW, **_BY},
        source=_OUT_OF,
        actions=frozenset({"move"}),
        outcome="approve",
    ),
    Broken(need="assistants-copy", caller=AGENT, actions=frozenset({"sync", "move"})),
    Broken(need="assistants-not-at", values=_RAW, caller=AGENT, source=_OUT_OF),
    Broken(need="assistants-not-at", values=_IN, caller=AGENT, destination=_INTO),
    # The facts are those of 14:30.
    Broken(need="only-in-hours", values={"from": "20:00", "until": "06:00"}),
    Broken(need="large-approved", values={"tebibytes": "1", **_BY}, facts={"bytes": (1 << 40) + 1}, outcome="approve"),
    Broken(need="label-for-group", values=_PHI, source=source("home", kind="phi")),
    Broken(need="label-for-group", values=_PHI, destination=destination("home", kind="phi")),
    Broken(need="largest-file", values={"gigabytes": "1"}, facts={"largest_file_bytes": 10**9 + 1}),
    Broken(need="overwrites-by-person", facts={"overwrites": 1}),
)
"""Of each need but the one that only keeps what is deleted, requests that its rules are there for."""


@pytest.mark.parametrize("action", ["copy", "sync", "move"])
@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.need)
def test_the_rules_of_a_need_hold_for_each_action_that_it_is_about_and_for_no_other(
    broken: Broken, action: PolicyAction
) -> None:
    assert {one.need for one in BROKEN} == {need.name for need in NEEDS} - {"keep-deletes"}
    route = settle(broken.source, broken.destination)
    asked = facts(**broken.facts)
    without, within = (
        decide(policies, action, broken.caller, route, asked).outcome
        for policies in (default_policy(), guided(broken.need, broken.values))
    )
    assert without != broken.outcome
    assert within == (broken.outcome if action in broken.actions else without)


@pytest.mark.parametrize(
    ("at", "into", "kept"),
    [(("home",), ("in", "run"), 30), (("home",), ("in",), 30), (("home",), ("out",), None), (("in",), ("out",), None)],
)
def test_what_a_sync_deletes_at_a_place_is_kept_and_nothing_elsewhere(
    at: tuple[str, ...], into: tuple[str, ...], kept: int | None
) -> None:
    policies = guided("keep-deletes", {"place": "archive:/in", "days": "30"})
    for action in ("sync", "copy", "move"):
        decided = decide(policies, action, REQUESTER, settle(source(*at), destination(*into)), facts(deletes=1))
        assert decided.keep_days == (kept if action == "sync" else None)
    # What a sync reads is not deleted: the same place as its source keeps nothing.
    reads = guided("keep-deletes", {"place": "krios1:/in", "days": "30"})
    assert decide(reads, "sync", REQUESTER, settle(source("in"), destination("in")), facts(deletes=1)).keep_days is None
