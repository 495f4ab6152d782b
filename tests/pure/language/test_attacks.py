"""Sentences that an attacker of the language found, by kind: each became a plan that is not what it says."""

import pytest
from tests.pure.language.made import read

ORDER = "copy krios1:/a to archive:/a"
ONCE = "once krios1:/a is copied to archive:/a"


@pytest.mark.parametrize(
    "words",
    [
        f"{ORDER}, let nothing over 5 GB through unencrypted",
        f"{ORDER}, let nothing over 5 GB pass unverified",
        f"{ORDER}, let nothing over 5 GB through between 08:00 and 18:00",
        f"{ORDER}, let nothing bigger than 5 GB through except *.mrc",
        f"{ORDER}, let nothing over 5 GB through before Friday 18:00",
        f"{ONCE}, delete the originals except *.mrc",
        f"{ONCE}, delete the source *.tmp",
        f"{ONCE}, remove the originals, *.mrc only",
        f"{ONCE}, delete source files older than 30 days",
        f"{ONCE}, remove the originals on Friday at 18:00",
        f"{ONCE}, remove the originals, but not before Friday 18:00",
        "after copying krios1:/a to archive:/a, delete the originals except *.mrc",
    ],
)
def test_what_restricts_an_order_behind_it_is_not_taken_for_a_restriction_of_the_copy(words: str) -> None:
    assert read(words).outcome == "ask"


@pytest.mark.parametrize(
    "words",
    [
        "existing files should never be kept",
        "existing files must never be ignored",
        "existing files may never be skipped",
        "files that already exist must never be preserved",
        "whatever is there already must never stay",
    ],
)
def test_never_before_a_wish_is_its_opposite(words: str) -> None:
    assert read(f"{ORDER}, {words}").outcome == "ask"


@pytest.mark.parametrize(
    "words",
    [
        "files over 5 GB and *.log stay behind",
        "*.log stay behind only over 5 GB",
        "*.log over 5 GB stay behind",
        "*.tmp stay behind unless newer than 2026-11-01",
        "only *.mrc are required to be encrypted",
    ],
)
def test_names_beside_a_size_a_condition_or_a_wish_of_their_own_are_asked_about(words: str) -> None:
    answer = read(f"{ORDER}, {words}")
    assert answer.outcome == "ask"
    assert not answer.intent.include
    assert not answer.intent.exclude


@pytest.mark.parametrize(
    "end", ["Backwards", "Reverse", "Tape", "NO", "GZ", "Thanks, gzip", "Thanks, backwards", "Ta, flattened"]
)
def test_a_last_word_that_says_how_data_is_treated_signs_no_letter(end: str) -> None:
    assert read(f"Hello, {ORDER}. {end}").outcome == "ask"


def test_an_order_behind_a_correction_is_no_further_step() -> None:
    for words in ("cancel 7f3a21. Actually, resume 7f9c04", "cancel 7f3a21, actually pause it"):
        assert read(words).ask == ("action",)


def test_a_copy_that_is_to_be_no_move_deletes_nothing() -> None:
    assert read("never move krios1:/a; copy it to archive:/a then delete the originals").ask == ("delete_source",)
