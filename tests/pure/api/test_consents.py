"""A signed statement says that one policy decides: one text under one number, signed by this site."""

import json

import pytest

from headrace.api.signing.consents import says_policy
from headrace.guardrails import SigningKey, seal

KEY, OTHER = SigningKey.from_seed(bytes(range(32))), SigningKey.from_seed(bytes(32))
TEXT, ANOTHER = "b3:" + "1" * 64, "b3:" + "2" * 64


def _published(version: str, text: str, *, action: str = "publish_policy", key: SigningKey = KEY) -> str:
    agreed = json.dumps({"action": action, "subject": f"{version} {text}", "request": {}})
    return seal("consent", {"agreed": agreed}, key).text


def _adopted(version: str, text: str, *, key: SigningKey = KEY) -> str:
    return seal("policy", {"version": version, "digest": text}, key).text


def _says(statement: str) -> bool:
    return says_policy(statement, "3", TEXT, {KEY.public})


@pytest.mark.parametrize("statement", [_published("3", TEXT), _adopted("3", TEXT)])
def test_a_statement_lets_the_text_decide_that_it_names_under_its_number(statement: str) -> None:
    assert _says(statement)


@pytest.mark.parametrize(
    "statement",
    [
        "",
        "{}",
        *(kind(*told) for kind in (_published, _adopted) for told in (("3", ANOTHER), ("2", TEXT), ("30", TEXT))),
        _published("3", TEXT, action="confirm_plan"),
        _published("3", TEXT, action="publish_qos"),
        _published("3", TEXT, key=OTHER),
        _adopted("3", TEXT, key=OTHER),
    ],
)
def test_no_statement_covers_another_text_another_number_or_another_act(statement: str) -> None:
    assert not _says(statement)
