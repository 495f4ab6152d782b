"""The files of the grammar hold together: no group is missing, unused or defined twice, no phrase matches nothing."""

import re
from importlib import resources

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
