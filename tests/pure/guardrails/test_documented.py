import re
from pathlib import Path

import pytest

from headrace.auth import AuthCode, Role
from headrace.guardrails import (
    PolicySet,
    Rail,
    SealCode,
    Unreleased,
    check_policy,
    default_policy,
    default_policy_text,
    schema_text,
)
from headrace.guardrails.policy.decide import (
    LARGE_DELETES,
    LARGE_MOVES,
    LARGE_OVERWRITES,
    NO_POLICY,
    NO_RULE,
    NOT_ASKED,
    POLICY_ERROR,
    TOO_MANY_PLACES,
)
from headrace.guardrails.policy.decision import QOS_CLASSES, ROLES

DOCS = Path(__file__).parents[3] / "docs"
SOURCE = Path(__file__).parents[3] / "guardrails/src/headrace/guardrails"
ERRORS = (DOCS / "errors-guardrails.md").read_text("utf-8")
POLICY = (DOCS / "policy.md").read_text("utf-8")
OWN_RULES = {rule.id for rule in (NO_POLICY, NO_RULE, NOT_ASKED, POLICY_ERROR, TOO_MANY_PLACES)} | {
    LARGE_DELETES,
    LARGE_MOVES,
    LARGE_OVERWRITES,
}
CODES = {str(code) for codes in (Rail, Unreleased, SealCode, AuthCode) for code in codes} | OWN_RULES


def test_every_code_is_documented_and_every_documented_code_exists() -> None:
    assert set(re.findall(r"^\| `([^`]+)` \|", ERRORS, re.MULTILINE)) == CODES


@pytest.mark.parametrize(("codes", "module"), [(Rail, "rails/checks.py"), (Unreleased, "plan/release.py")])
def test_a_code_stands_where_it_is_decided(codes: type[Rail | Unreleased], module: str) -> None:
    text = (SOURCE / module).read_text("utf-8")
    assert [code for code in codes if f"{codes.__name__}.{code.name}" not in text] == []


def test_every_fact_of_the_schema_is_documented_and_every_documented_fact_exists() -> None:
    contexts = schema_text().partition("type Moment")[2]
    in_schema = set(
        re.findall(r"^  (\w+)\??: (?:datetime|Long|String|Bool|Set<String>|Origins),$", contexts, re.MULTILINE)
    )
    table = POLICY.partition("| fact | for | unit |")[2].partition("\n\n")[0]
    assert set(re.findall(r"`(\w+)`", "".join(row.split("|")[1] for row in table.splitlines()[2:]))) == in_schema


def test_every_attribute_of_a_route_is_documented_and_every_documented_one_exists() -> None:
    in_schema = re.findall(
        r"^  (\w+)\??:", schema_text().partition("entity Route {")[2].partition("}")[0], re.MULTILINE
    )
    table = POLICY.partition("Of a route:")[2].partition("| --- | --- |\n")[2].partition("\n\n")[0]
    documented = [name for row in table.splitlines() for name in re.findall(r"`(\w+)`", row.split("|")[1])]
    assert documented == in_schema


@pytest.mark.parametrize("word", sorted(ROLES | set(QOS_CLASSES) | {"names=restricted"}))
def test_every_known_word_is_documented(word: str) -> None:
    assert re.search(rf"\b{word}\b", POLICY)


def test_the_worked_examples_are_policies_whose_examples_hold() -> None:
    *additions, whole = re.findall(r"```cedar\n(.*?)```", POLICY, re.DOTALL)
    assert len(additions) == 6
    for addition in additions:
        before = default_policy_text()
        for rule in re.findall(r'^@id\("([^"]+)"\)', addition, re.MULTILINE):
            # One of the default policy's takes the place of it.
            before = re.sub(rf'^@id\("{rule}"\)\n.*?;\n', "", before, flags=re.MULTILINE | re.DOTALL)
        checked = check_policy(before + addition)
        assert isinstance(checked, PolicySet), checked
    assert isinstance(check_policy(whole), PolicySet)


def test_roles_are_the_same_in_policies_and_at_sign_in() -> None:
    assert {str(role) for role in Role} == ROLES
    assert default_policy().rules
