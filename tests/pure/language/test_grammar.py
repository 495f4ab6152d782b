"""The files of the grammar hold together: no group is missing, unused or defined twice, no phrase matches nothing."""

import re
from importlib import resources

import pytest

from headrace.guardrails.language import grammar
from headrace.guardrails.language.phrases import GROUPS

PACKAGE = resources.files("headrace.guardrails.language")
FOLDER = PACKAGE / "grammar"
TEXTS = {entry.name.removesuffix(".txt"): entry.read_text("utf-8") for entry in FOLDER.iterdir()}
CODE = "\n".join(entry.read_text("utf-8") for entry in PACKAGE.iterdir() if entry.name.endswith(".py"))


def test_every_file_of_the_grammar_is_read() -> None:
    assert set(TEXTS) == {*grammar.FILES, "background", "harmless"}


def test_every_group_is_used() -> None:
    labels = {group for group in GROUPS if group.startswith("label")}  # `fields` reads all of them
    in_phrases = re.findall(r"\{([a-z_.0-9]+)[?*]?\}(?! =)", "\n".join([*TEXTS.values(), CODE]))
    named = labels | {*in_phrases, *re.findall(r'"([a-z_.]+)"', CODE)}
    unused = {group for group in GROUPS if group not in named and group.partition(".")[0] not in named}
    assert unused == set()


def test_no_phrase_matches_nothing() -> None:
    assert [rule.name for rule in grammar.RULES if rule.pattern.fullmatch("")] == []


def test_no_line_of_the_grammar_is_longer_than_a_line_of_code() -> None:
    assert [line for text in TEXTS.values() for line in text.splitlines() if len(line) > 120] == []


def test_a_phrase_that_stands_too_far_in_is_refused_instead_of_read_as_a_part_of_the_line_above() -> None:
    with pytest.raises(ValueError, match="a phrase begins with two blanks"):
        list(grammar.lines_of("a limit -> rate_limit_bps=<rate>\n    - with <rate> as the roof\n"))
    whole = ["{most} = at most|no more than", "a limit -> rate_limit_bps=<rate>", "- {most} <rate>"]
    text = "{most} = at most|\n    no more than\na limit -> rate_limit_bps=<rate>\n  - {most} <rate>\n"
    assert list(grammar.lines_of(text)) == [whole[0].replace("|", "| "), *whole[1:]]
