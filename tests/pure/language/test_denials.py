"""What unowned words may turn round is neither stated nor planned, also when the question about it is answered."""

import pytest
from tests.pure.language.made import ROUTE, asked, asked_after, intent_of, read, slot_of

from headrace.guardrails.language import Question


def without(text: str, question: Question) -> str:
    """Give what is left when somebody leaves out what is asked about."""
    return text.replace(question.words or "", "", 1).strip(" ,")


@pytest.mark.parametrize(
    ("words", "slot"),
    [
        ("priority high or low", "priority"),
        ("high or low priority", "priority"),
        ("sha256 or md5", "verify"),
        ("encrypted or not", "encryption"),
        ("sha256 forbidden", "verify"),
        ("avoid sha256", "verify"),
        ("never sha256", "verify"),
        ("overwrite rarely", "on_conflict"),
        ("forbid overwriting", "on_conflict"),
        ("not those from Monday", "modified_after"),
        ("skip those from Monday", "modified_after"),
        ("without touching what was done there", "on_conflict"),
        ("by 6am or 7am", "deadline"),
    ],
)
def test_an_option_that_unowned_words_may_turn_round_is_asked_about_with_them(words: str, slot: str) -> None:
    text = f"{ROUTE}, {words}"
    assert slot in asked(text)
    assert slot not in read(text).to_json()["intent"]  # type: ignore[operator]
    for question in read(text).questions:
        assert slot not in read(without(text, question)).intent.to_json()


@pytest.mark.parametrize(
    "text",
    [
        "don't you dare pause 7f3a21",
        "never cancel 7f3a21",
        "cancelling 7f3a21 would be wrong",
        "copying krios1:/a to archive:/a is not allowed",
        f"{ROUTE} = bad idea",
        f"{ROUTE} must never happen",
        "moving krios1:/a to archive:/a is nonsense",
        "pause or cancel 7f3a21",
        "copy or move krios1:/a to archive:/a",
        "Action: copy / move\nFrom: krios1:/a\nTo: archive:/a",
        "Action: pause / cancel\nTransfer: 7f3a21",
    ],
)
def test_an_order_that_unowned_words_may_turn_round_is_no_order(text: str) -> None:
    assert asked(text) == {"action"}
    assert read(text).intent.action is None


@pytest.mark.parametrize(
    ("words", "slot"),
    [
        ("encrypt only the metadata", "encryption"),
        ("verify only some of it", "verify"),
        ("overwriting only when the size differs", "on_conflict"),
        ("encrypted only for the first part", "encryption"),
        ("overwrite only *.log", "on_conflict"),
    ],
)
def test_an_option_that_holds_for_a_part_is_not_stated_for_all(words: str, slot: str) -> None:
    assert slot in asked_after(words)


def test_an_option_said_instead_of_another_states_not_the_other() -> None:
    assert asked_after("encrypted instead of high priority") == {"priority"}


@pytest.mark.parametrize(
    ("words", "slot", "value"),
    [
        ("all of *.mrc, none of the *.tmp", "exclude", ["*.tmp"]),
        ("all of *.mrc, none of the *.tmp", "include", ["*.mrc"]),
        ("only *.mrc or *.star", "include", ["*.mrc", "*.star"]),
        ("not *.tmp or *.log", "exclude", ["*.tmp", "*.log"]),
        ("replacing only when the source is newer", "on_conflict", "newer"),
        ("without touching what is there", "on_conflict", "skip"),
        ("never overwrite", "on_conflict", "skip"),
    ],
)
def test_a_denial_that_a_phrase_owns_says_what_it_says(words: str, slot: str, value: object) -> None:
    assert slot_of(words, slot) == value


@pytest.mark.parametrize("word", ["wrong", "unwanted", "banned", "prohibited", "refused", "undesirable"])
@pytest.mark.parametrize("noun", ["folder", "lysozyme run", "series"])
def test_a_word_that_may_turn_an_order_round_describes_no_place(word: str, noun: str) -> None:
    asked(f"copy the {word} {noun} krios1:/raw/7 to archive:/raw/7")
    assert read(f"copy the anonymised {noun} krios1:/raw/7 to archive:/raw/7").outcome == "intent"


@pytest.mark.parametrize("word", ["good", "right", "fine", "great", "perfect", "ok", "okay"])
def test_a_word_of_assent_before_a_noun_says_which_files_are_meant(word: str) -> None:
    assert "include" in asked(f"please copy the {word} measurements from lab:/home/c to archive:/c")


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        (f"{ROUTE}, please make the speed limit 2 Gbit/s", f"{ROUTE}, speed limit 2 Gbit/s"),
        (f"{ROUTE}. No encryption needed.", f"{ROUTE}. No encryption."),
        (f"{ROUTE}, only need *.tiff and *.mdoc", f"{ROUTE}, only *.tiff and *.mdoc"),
    ],
)
def test_light_words_that_only_carry_an_option_change_nothing(text: str, plain: str) -> None:
    assert intent_of(text) == intent_of(plain)


@pytest.mark.parametrize("words", ["make encryption optional", "encrypted sporadically", "*.tmp needed"])
def test_words_beside_an_option_that_carry_more_are_asked_about(words: str) -> None:
    assert read(f"{ROUTE}, {words}").outcome == "ask"
