"""Rules of the guide hold whatever they are made of."""

import re
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.pure.guardrails.made import REQUESTER, destination, facts, source

from headrace.guardrails import (
    NEEDS,
    GuideError,
    Need,
    PolicySet,
    check_policy,
    decide,
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
