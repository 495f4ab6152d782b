"""Requests by people who had not seen the rules (probe.jsonl), and our own in the same form (heard.jsonl).

A case names the outcome that is right, others that are right as well (`also`), the intent that a complete
answer must equal, the slots to ask about (`ask`), and `never`: a reading that drops or inverts what the words say.
Given cases that allow any intent are among our own as well, with the one that is right.
"""

from typing import Any

import pytest
from tests.pure.language.made import HERE, read
from tests.pure.language.test_gate import cases_of, load_scorer

SCORE = load_scorer()
CASES = [*cases_of(HERE / "probe.jsonl"), *cases_of(HERE / "heard.jsonl")]
OURS = [HERE / "heard.jsonl", *sorted((HERE / "outsider").glob("*.jsonl"))]
ASKED = {
    # The question of what is lacking settles the other slot as well.
    "p039": ["source"],
    "p069": ["window"],
    "p071": ["repeat"],
    "p079": ["action"],
    "p091": ["delete_source"],
    # More of the words is open: "once the checksums match", which transfers are meant.
    "p088": ["delete_source", "start"],
    "p094": ["action", "target"],
    # Which figure "no" is about is not said.
    "p118": ["action"],
}
"""What is asked about where `ask` of the given cases, which stay as they came, names other slots."""


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return bool(SCORE.norm(one) == SCORE.norm(other))


def verdict(case: dict[str, Any]) -> str:
    """Judge an answer: right, false_accept (the worst), over_ask or over_refuse."""
    expect, answer = case["expect"], read(case["text"]).to_json()
    fitting = {expect["outcome"], *expect.get("also", [])}
    if answer["outcome"] == "intent":
        got: Any = answer["intent"]
        if "never" in expect and same(expect["never"], got):
            return "false_accept"
        wanted = "intent" in fitting and ("intent" not in expect or same(expect["intent"], got))
        return "right" if wanted else "false_accept"
    if answer["outcome"] in fitting:
        return "right"
    return "over_ask" if answer["outcome"] == "ask" else "over_refuse"


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["id"]))
def test_no_word_of_a_request_is_dropped_inverted_or_asked_about_without_need(case: dict[str, Any]) -> None:
    answer = read(case["text"])
    assert verdict(case) == "right", (case["text"], answer.to_json())
    if answer.outcome == "ask" and "ask" in case["expect"]:
        assert list(answer.ask) == ASKED.get(case["id"], sorted(case["expect"]["ask"])), case["text"]


def test_a_case_that_allows_a_plan_says_which_one_or_which_it_must_not_be() -> None:
    expected = [(case["id"], case["expect"]) for path in OURS for case in cases_of(path)]
    allowing = [(name, one) for name, one in expected if "intent" in (one["outcome"], *one.get("also", ()))]
    assert [name for name, one in allowing if not {"intent", "never"} & one.keys()] == []
