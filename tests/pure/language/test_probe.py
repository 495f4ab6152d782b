"""Requests by people who had not seen the rules (probe.jsonl), and our own in the same form (heard.jsonl).

A case names the outcome that is right, others that are right as well (`also`), the intent that a complete
answer must equal, and `never`: a reading that drops or inverts what the words say.
"""

from typing import Any

import pytest
from tests.pure.language.made import HERE, read
from tests.pure.language.test_gate import cases_of, load_scorer

SCORE = load_scorer()
CASES = [*cases_of(HERE / "probe.jsonl"), *cases_of(HERE / "heard.jsonl")]


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
    assert verdict(case) == "right", (case["text"], read(case["text"]).to_json())
