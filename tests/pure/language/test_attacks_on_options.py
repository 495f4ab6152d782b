"""Words that say of what an option holds, since when, or that it does not: none of them is dropped."""

import pytest
from tests.pure.language.made import ROUTE, asked, asked_after, intent_of, read, slot_of


@pytest.mark.parametrize(
    ("words", "slot"),
    [
        ("only the *.mrc encrypted", "include"),
        ("just the *.mrc unencrypted", "include"),
        ("only *.mrc verified with sha256", "include"),
        ("files over 1 GB encrypted", "min_size"),
        ("only files newer than Monday verified", "modified_after"),
    ],
)
def test_an_option_right_behind_the_choice_of_files_may_hold_for_them_alone(words: str, slot: str) -> None:
    assert slot in asked_after(words)


@pytest.mark.parametrize("words", ["only the *.mrc, encrypted", "encrypted, only the *.mrc", "skip *.mrc, encrypted"])
def test_an_option_apart_from_the_choice_of_files_holds_for_all(words: str) -> None:
    assert slot_of(words, "encryption") is True


@pytest.mark.parametrize(
    "words", ["anything but 2 Gb/s", "everything but 2 Gb/s", "anything but sha256", "whatever but at 2 Gb/s"]
)
def test_anything_but_denies_what_follows(words: str) -> None:
    assert read(f"{ROUTE}, {words}").outcome == "ask"


@pytest.mark.parametrize(
    "words",
    [
        "the md5 files too",
        "md5 files",
        "and the md5",
        "the sha256 sums too",
        "take the sha256 sums along",
        "and all the md5 checksum files",
    ],
)
def test_files_of_checksums_are_not_how_to_verify(words: str) -> None:
    assert "verify" in asked_after(words)


@pytest.mark.parametrize(
    "words",
    [
        "sha256 checksums",
        "with sha256 sums",
        "verify the files with md5",
        "md5, please",
        "encrypted and sha256",
        "sha256 too",
    ],
)
def test_checksums_say_how_to_verify(words: str) -> None:
    assert slot_of(words, "verify") in ("sha256", "md5")


@pytest.mark.parametrize(
    "words",
    [
        "limited to 2 Gb/s from 18:00",
        "not faster than 2 Gb/s after 18:00",
        "cap it at 2 Gb/s starting at 18:00",
        "at most 2 Gb/s as of 18:00",
        "with low priority from 18:00",
    ],
)
def test_a_limit_from_some_time_on_starts_nothing_then(words: str) -> None:
    assert asked_after(words) == {"start"}


@pytest.mark.parametrize("words", ["at 2 Gb/s starting at 18:00", "from 18:00 at 2 Gb/s", "at 18:00 with low priority"])
def test_a_start_beside_a_limit_is_one(words: str) -> None:
    assert slot_of(words, "start") == "2026-11-25T18:00:00-06:00"


@pytest.mark.parametrize(
    "text",
    ["limit 7f3a21 to 2 Gb/s from 18:00", "set 7f3a21 to 2 Gb/s at 18:00", "set 7f3a21 to high priority after 18:00"],
)
def test_when_a_transfer_is_changed_is_not_when_it_starts(text: str) -> None:
    assert asked(text) == {"start"}


@pytest.mark.parametrize("text", ["no, go ahead", "no wait, go ahead", "nope, confirmed", "no, yes", "no. Yes."])
def test_a_yes_behind_a_no_confirms_nothing(text: str) -> None:
    assert asked(text) == {"action"}


def test_a_no_behind_nothing_else_than_a_change_is_one_to_the_plan() -> None:
    assert intent_of("no, make it 2 Gb/s")["changes"] == {"rate_limit_bps": 2_000_000_000}


@pytest.mark.parametrize(
    "words",
    ["I wish", "we would like", "I want", "I should", "we must", "you should", "we are planning to", "I was about to"],
)
def test_a_wish_without_what_is_wished_is_asked_about(words: str) -> None:
    assert "action" in asked_after(words)


@pytest.mark.parametrize(
    "words", ["please", "could you please?", "if you would", "I would appreciate it", "if it's not too much trouble"]
)
def test_a_polite_end_says_nothing_more(words: str) -> None:
    assert intent_of(f"{ROUTE}, {words}") == intent_of(ROUTE)


@pytest.mark.parametrize("words", ["Tom shook his head", "Tom laughed", "so went the story"])
def test_a_gesture_or_a_tale_behind_an_order_is_asked_about(words: str) -> None:
    assert read(f"{ROUTE}, {words}").outcome == "ask"
