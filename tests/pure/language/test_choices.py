"""Two readings of the same words are two choices, and each of them leaves no question."""

import pytest
from tests.pure.language.made import ROUTE, read


@pytest.mark.parametrize(
    ("words", "slot", "values"),
    [
        ("by 6", "deadline", ["2026-11-25 18:00", "2026-11-26 06:00"]),
        ("at 8:00", "start", ["2026-11-25 20:00", "2026-11-26 08:00"]),
        ("by 7:30", "deadline", ["2026-11-25 19:30", "2026-11-26 07:30"]),
        ("next Saturday at 08:00", "start", ["2026-11-28 08:00", "2026-12-05 08:00"]),
        ("by Wednesday 18:00", "deadline", ["2026-11-25 18:00", "2026-12-02 18:00"]),
    ],
)
def test_two_readings_of_a_time_are_two_choices_that_take_its_place(words: str, slot: str, values: list[str]) -> None:
    text = f"{ROUTE} {words}"
    (question,) = read(text).questions
    assert question.slot == slot
    assert [choice.value for choice in question.choices] == values
    assert question.start is not None
    cue = words.split(" ", maxsplit=1)[0] if words.split(" ", maxsplit=1)[0] in ("by", "at") else "at"
    for choice in question.choices:
        answered = f"{text[: question.start]}{cue} {choice.value}{text[question.end :]}"
        assert read(answered).outcome == "intent", answered


def test_an_hour_with_one_reading_left_or_a_zone_of_its_own_offers_no_guess() -> None:
    (question,) = read(f"{ROUTE} at 8:00 IST").questions
    assert question.choices == ()


@pytest.mark.parametrize("words", ["tonight, done by 6 tomorrow morning", "tonight by 6 tomorrow morning"])
def test_an_answer_takes_the_place_of_the_words_asked_about_and_of_nothing_said_beside_them(words: str) -> None:
    text = f"{ROUTE} {words}"
    (question,) = read(text).questions
    assert (question.slot, question.words) == ("start", "tonight")
    assert question.start is not None
    answered = read(f"{text[: question.start]}tonight at 22:00{text[question.end :]}")
    assert answered.outcome == "intent"
    assert {"start", "deadline"} <= answered.intent.to_json().keys()
