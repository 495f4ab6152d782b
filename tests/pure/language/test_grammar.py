"""The files of the grammar hold together: no group is missing, unused or defined twice, no phrase matches nothing."""

import re
from importlib import resources

from headrace.guardrails.language import grammar
from headrace.guardrails.language.phrases import GROUPS

FOLDER = resources.files("headrace.guardrails.language") / "grammar"
TEXTS = {entry.name.removesuffix(".txt"): entry.read_text("utf-8") for entry in FOLDER.iterdir()}
# Named by code: what ends a reason, opens a clause that is no request, describes a folder, tells a skip from a wish.
BY_CODE = {
    "carrying",
    "opens_heading",
    "size_of_data",
    "place_by_number",
    "description",
    "named_by_id",
    "opens_condition",
    "doing_option",
    "excepting",
    "opens_question",
    "opens_suggestion",
    "opens_wait",
    "skipping",
    "opens_statement",
    "foreign_word",
    "conjunction",
    "filler",
    "reaches",
    "announces",
    "asked_for",
    "calls",
    "determiner",
    "person",
    "plain",
    "plain_of_one",
    "readiness",
    "opens_purpose",
    "speaker",
    "spoils",
    "stands_for_data",
    "verb_of",
    "of_the_request",
    "opens_background",
    "runs_on",
    "after_background",
    "turns_round",
    "either",
    "restricting",
    "predicate",
    "hesitation",
    "closing_word",
    "title",
    "ordinary",
    "real_word",
    "slip",
    "zone_abbreviation",
    "left_out",
    "several_endings",
    "describing",
    "folder_noun",
    "not",
    "skip",
    "only",
    "bigger",
    "smaller",
    "changed",
}


def test_every_file_of_the_grammar_is_read() -> None:
    assert set(TEXTS) == {*grammar.FILES, "background"}


def test_every_group_is_used() -> None:
    labels = {group for group in GROUPS if group.startswith("label")}  # `fields` reads all of them
    named = labels | set(re.findall(r"\{([a-z_.0-9]+)[?*]?\}(?! =)", "\n".join(TEXTS.values()))) | BY_CODE
    unused = {group for group in GROUPS if group not in named and group.partition(".")[0] not in named}
    assert unused == set()


def test_no_phrase_matches_nothing() -> None:
    assert [rule.name for rule in grammar.RULES if rule.pattern.fullmatch("")] == []


def test_no_line_of_the_grammar_is_longer_than_a_line_of_code() -> None:
    assert [line for text in TEXTS.values() for line in text.splitlines() if len(line) > 120] == []
