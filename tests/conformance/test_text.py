"""Text and figures read the same everywhere: the shared cases of conformance/text, against each Python implementation.

The same cases are run by cargo (headrace-core) and vitest (web/src/format).
"""

import json
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.pure.language.made import ROUTE, read

from headrace.cli.quantities import rate_bps, size_bytes
from headrace.client.text import bit_rate, byte_size, duration, visible
from headrace.guardrails import human_bytes, shown

HOME = Path(__file__).parent.parent.parent / "conformance" / "text"
CASES = json.loads((HOME / "cases.json").read_text(encoding="utf-8"))
TABLE = json.loads((HOME / "characters.json").read_text(encoding="utf-8"))

VISIBLE = pytest.mark.parametrize("implementation", [visible, shown], ids=["client", "guardrails"])


def points(ranges: str) -> set[int]:
    bounds = [[int(point, 16) for point in part.split("-")] for part in ranges.split()]
    return {point for pair in bounds for point in range(pair[0], pair[-1] + 1)}


@VISIBLE
@pytest.mark.parametrize(("given", "answer"), CASES["visible"])
def test_invariant_4_text_from_outside_is_shown_as_everywhere(
    implementation: Callable[[str], str], given: str, answer: str
) -> None:
    assert implementation(given) == answer
    assert implementation(answer) == answer


@VISIBLE
def test_invariant_4_every_character_of_the_table_is_written_out(implementation: Callable[[str], str]) -> None:
    for point in points(TABLE["unseen"]):
        assert implementation(f"a{chr(point)}b") == f"a\\u{{{point:04X}}}b"


def test_invariant_4_the_table_leaves_out_nothing_that_unicode_calls_unseen() -> None:
    unseen, marks = points(TABLE["unseen"]), points(TABLE["marks"])
    for point in range(0x110000):
        category = unicodedata.category(chr(point))
        if category in {"Cc", "Cf", "Co", "Cs", "Zl", "Zp"} or (category == "Zs" and point != ord(" ")):
            assert point in unseen, f"U+{point:04X}"
        if category in {"Mn", "Me"}:
            assert point in unseen | marks, f"U+{point:04X}"


@pytest.mark.parametrize(
    ("cases", "implementation"),
    [("sizes", byte_size), ("sizes", human_bytes), ("rates", bit_rate), ("durations", duration)],
    ids=["client sizes", "guardrails sizes", "rates", "durations"],
)
def test_figures_are_written_as_everywhere(cases: str, implementation: Callable[[Any], str]) -> None:
    for given, answer in CASES[cases]:
        assert implementation(given) == answer


@pytest.mark.parametrize(("cases", "implementation"), [("read_sizes", size_bytes), ("read_rates", rate_bps)])
def test_figures_are_read_as_everywhere(cases: str, implementation: Callable[[str], int]) -> None:
    for given, answer in CASES[cases]:
        if answer is not None:
            assert implementation(given) == answer
            continue
        with pytest.raises(ValueError, match=r"like|that can be counted|headrace pause"):
            implementation(given)


@pytest.mark.parametrize("given", [given for given, answer in CASES["read_rates"] if answer is not None])
def test_a_rate_in_a_sentence_is_the_rate_of_the_flag(given: str) -> None:
    answer = read(f"{ROUTE}, no faster than {given.strip()}")
    if given.endswith("kb/s"):  # People who write everything small mean bytes by it, too: a sentence is asked about.
        assert answer.ask == ("rate_limit_bps",)
        return
    assert answer.outcome == "intent", answer.questions
    assert answer.intent.to_json()["rate_limit_bps"] == rate_bps(given)


@pytest.mark.parametrize("given", [given for given, answer in CASES["read_sizes"] if answer])
def test_a_size_in_a_sentence_is_the_size_of_the_flag(given: str) -> None:
    if given.strip().isdigit():
        given += " bytes"
    answer = read(f"{ROUTE}, only files bigger than {given.strip()}")
    assert answer.outcome == "intent", answer.questions
    assert answer.intent.to_json()["min_size"] == size_bytes(given)
