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
        ("don't limit anything but *.mrc", "rate_limit_bps"),
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


@pytest.mark.parametrize(
    ("words", "slot"),
    [
        ("delete nothing or everything", "delete_extraneous"),
        ("you can't delete nothing", "delete_extraneous"),
        ("you cannot avoid deleting anything", "delete_extraneous"),
        ("never no rate limit", "rate_limit_bps"),
        ("no rate limit or 2 Gb/s", "rate_limit_bps"),
    ],
)
def test_what_is_to_be_left_or_taken_away_and_may_be_turned_round_is_asked_about(words: str, slot: str) -> None:
    assert asked(f"sync krios1:/a to archive:/a, {words}") == {slot}


@pytest.mark.parametrize("words", ["never no deadline", "no deadline or by 6pm", "should not have no deadline"])
def test_a_change_that_may_not_be_meant_takes_nothing_away(words: str) -> None:
    assert asked(f"7f3a21: {words}") == {"deadline"}
    assert read(f"7f3a21: {words}").intent.changes is None
    assert intent_of("7f3a21: no deadline")["changes"] == {"deadline": None}


@pytest.mark.parametrize("who", ["they", "all jobs", "these transfers"])
@pytest.mark.parametrize("order", ["copy, not move,", "copy, don't move,", "move, don't just copy,"])
def test_what_others_do_and_do_not_do_is_no_order(who: str, order: str) -> None:
    assert "action" in asked(f"{who} {order} krios1:/a to archive:/a")


@pytest.mark.parametrize(
    "reminded", ["don't forget to", "do not forget to", "and don't forget to", "please don't forget to"]
)
def test_who_is_not_to_forget_something_is_to_do_it(reminded: str) -> None:
    assert intent_of(f"{reminded} copy krios1:/a to archive:/a")["action"] == "copy"
    assert slot_of(f"{reminded} encrypt it", "encryption") is True
    assert slot_of(f"{reminded} skip *.tmp", "exclude") == ["*.tmp"]
    assert intent_of(f"{ROUTE}, {reminded} delete the source")["action"] == "move"


@pytest.mark.parametrize(
    ("words", "slot", "value"),
    [
        ("don't forget the timestamps", "preserve", ["timestamps"]),
        ("don't forget about the encryption", "encryption", True),
    ],
)
def test_what_is_not_to_be_forgotten_is_wanted(words: str, slot: str, value: object) -> None:
    assert slot_of(words, slot) == value


@pytest.mark.parametrize(
    "words",
    [
        "I didn't forget to encrypt it",
        "we never forget to encrypt it",
        "forget to encrypt it",
        "don't forget not to encrypt it",
        "don't forget to ask Anna",
        "don't forget to encrypt the letter",
        "don't forget to encrypt it if it leaves the site",
        '"don\'t forget to encrypt it"',
        "don't forget the timestamps are wrong",
        "don't forget the encryption is off",
        "don't forget the *.mrc",
        "they don't forget to encrypt it",
    ],
)
def test_what_somebody_forgets_or_may_forget_is_asked_about(words: str) -> None:
    assert read(f"{ROUTE}, {words}").outcome == "ask"


@pytest.mark.parametrize(
    "text",
    [
        "delete the source once you have copied krios1:/a to archive:/a",
        "delete the original after copying krios1:/a to archive:/a",
        "don't forget to delete the source as soon as you've copied krios1:/a to archive:/a",
    ],
)
def test_the_source_of_a_copy_that_is_named_behind_it_is_deleted_after_it(text: str) -> None:
    assert intent_of(text) == intent_of("move krios1:/a to archive:/a")


@pytest.mark.parametrize(
    "text",
    [
        "don't delete the source once you have copied krios1:/a to archive:/a",
        "never delete the source after copying krios1:/a to archive:/a",
        "delete the source once Anna has copied krios1:/a to archive:/a",
        "should I delete the source after copying krios1:/a to archive:/a?",
        "delete the source once you have copied krios1:/a to archive:/a and checked it",
        "my boss says you delete the source after copying krios1:/a to archive:/a",
    ],
)
def test_a_source_that_may_stay_is_not_deleted_after_its_copy(text: str) -> None:
    assert read(text).outcome == "ask"


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("not a move, just a copy: krios1:/a to archive:/a", "copy"),
        ("just a copy, not a move: krios1:/a to archive:/a", "copy"),
        ("just a copy (not a move) of krios1:/a to archive:/a", "copy"),
        ("move, don't just copy, krios1:/a to archive:/a", "move"),
        ("don't just copy, move krios1:/a to archive:/a", "move"),
        ("not just a copy but a move of krios1:/a to archive:/a", "move"),
    ],
)
def test_what_is_to_be_done_rather_than_something_else_is_done(text: str, action: str) -> None:
    assert intent_of(text) == intent_of(f"{action} krios1:/a to archive:/a")


@pytest.mark.parametrize(
    "text",
    [
        "not a move, not a copy: krios1:/a to archive:/a",
        "not a move or a copy: krios1:/a to archive:/a",
        "it was not a move, just a copy: krios1:/a to archive:/a",
        "is it not a move, just a copy: krios1:/a to archive:/a",
        "don't just move krios1:/a to archive:/a",
        "don't move, don't just copy, krios1:/a to archive:/a",
        "move, don't copy, krios1:/a to archive:/a",
        "move, don't just copy and verify, krios1:/a to archive:/a",
        "move, don't just copy, krios1:/a to archive:/a, keep the source",
    ],
)
def test_an_order_whose_denial_is_not_whole_is_asked_about(text: str) -> None:
    assert "action" in asked(text)


@pytest.mark.parametrize(
    "words",
    [
        "neither encryption nor verification",
        "with neither checksums nor encryption",
        "without encryption or verification",
        "encrypt nothing, verify nothing",
    ],
)
def test_what_two_options_are_denied_at_once_is_said_of_both(words: str) -> None:
    intent = intent_of(f"{ROUTE}, {words}")
    assert (intent["encryption"], intent["verify"]) == (False, "none")


@pytest.mark.parametrize(
    "words",
    [
        "without verification and encryption",
        "either encryption or verification",
        "neither encryption nor compression",
        "neither encryption nor verification may be left out",
        "never without encryption or verification",
        "no encryption or verification required",
        "encrypt nothing but *.key",
        "encrypt nothing that is public",
        "don't encrypt nothing",
        "we encrypt nothing",
    ],
)
def test_a_denial_that_may_not_reach_both_or_all_is_asked_about(words: str) -> None:
    assert read(f"{ROUTE}, {words}").outcome == "ask"


@pytest.mark.parametrize(
    ("text", "slot", "value"),
    [
        ("avoid overwriting anything when you copy krios1:/a to archive:/a", "on_conflict", "skip"),
        (f"{ROUTE}, avoid overwriting existing files", "on_conflict", "skip"),
        (f"{ROUTE}, refrain from overwriting anything", "on_conflict", "skip"),
        (f"{ROUTE}, avoid deleting anything", "action", "copy"),
    ],
)
def test_what_is_to_be_avoided_is_not_done(text: str, slot: str, value: object) -> None:
    assert intent_of(text)[slot] == value


@pytest.mark.parametrize(
    "words",
    [
        "don't avoid overwriting",
        "no need to avoid overwriting",
        "we can't avoid overwriting files",
        "avoid overwriting newer files",
        "avoid overwriting anything but *.mrc",
        "avoid overwriting if possible",
        "avoid deleting anything that is new",
    ],
)
def test_what_may_not_have_to_be_avoided_is_asked_about(words: str) -> None:
    assert read(f"{ROUTE}, {words}").outcome == "ask"


@pytest.mark.parametrize(
    ("words", "slot"),
    [
        ("overwrite nothing more", "on_conflict"),
        ("encrypt nothing else", "encryption"),
        ("verify nothing further", "verify"),
    ],
)
def test_nothing_more_behind_an_option_may_deny_it(words: str, slot: str) -> None:
    assert asked_after(words) == {slot}
    assert slot_of(f"{words.partition(' ')[0]}, nothing more", slot)


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        ("keep timestamps but not permissions", ["timestamps"]),
        ("preserve the timestamps and symlinks, but not the permissions or xattrs", ["timestamps", "symlinks"]),
        ("keep permissions, not timestamps", ["permissions"]),
    ],
)
def test_attributes_behind_a_not_are_not_kept(words: str, kept: list[str]) -> None:
    assert slot_of(words, "preserve") == kept


@pytest.mark.parametrize(
    "words",
    [
        "keep timestamps but not timestamps",
        "keep timestamps but not of *.mrc",
        "keep timestamps but not ownership",
        "keep timestamps, not just permissions",
        "keep not only timestamps but permissions",
        "don't keep timestamps but not permissions",
        "keep timestamps but not permissions if that is quicker",
    ],
)
def test_a_not_that_does_not_say_which_attributes_are_kept_is_asked_about(words: str) -> None:
    assert read(f"{ROUTE}, {words}").outcome == "ask"


@pytest.mark.parametrize("words", ["no need to delete the source", "there's no need to delete anything"])
def test_what_need_not_be_deleted_is_not(words: str) -> None:
    assert intent_of(f"{ROUTE}, {words}") == intent_of(ROUTE)
    assert asked(f"move krios1:/a to archive:/a, {words}") == {"action"}


@pytest.mark.parametrize(
    "words", ["no need to keep the source", "there was no need to delete the source", "don't keep the source"]
)
def test_what_need_not_or_must_not_be_kept_is_not_deleted_without_a_question(words: str) -> None:
    assert read(f"{ROUTE}, {words}").outcome == "ask"


def test_this_time_says_no_more_than_the_order_that_it_ends() -> None:
    assert intent_of(f"{ROUTE}, encrypted this time") == intent_of(f"{ROUTE}, encrypted")
    assert intent_of(f"{ROUTE}, and please don't delete the source this time.") == intent_of(ROUTE)


@pytest.mark.parametrize("words", ["not this time", "but not this time", "never this time", "this time tomorrow"])
def test_this_time_behind_a_denial_or_before_a_day_is_asked_about(words: str) -> None:
    assert read(f"{ROUTE}, {words}").outcome == "ask"
