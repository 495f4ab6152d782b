"""An order said anew replaces the first one, or is one more: which of the two is asked, never guessed."""

import pytest
from tests.pure.language.made import ROUTE, asked, intent_of, read

from headrace.guardrails.intents.values import Target

HESITATIONS = ["uh", ", er,", "hmm", ", okay,", "yes", "yeah", "well", ", so", "please", ","]


@pytest.mark.parametrize(
    ("first", "between", "second"),
    [
        *[("resume 7f3a21", between, "cancel it") for between in HESITATIONS],
        *[("cancel 7f3a21", between, "pause 7f3a21") for between in HESITATIONS],
        *[(ROUTE, between, "move krios1:/a to archive:/a") for between in HESITATIONS if between[0] != "y"],
    ],
)
def test_another_order_over_the_same_is_offered_beside_the_first(first: str, between: str, second: str) -> None:
    text = f"{first} {between} {second}"
    assert asked(text) == {"action"}
    (question,) = read(text).questions
    answers = [text.replace(question.words or text, choice.value) for choice in question.choices]
    assert [intent_of(one)["action"] for one in answers] == [first.split(maxsplit=1)[0], second.split(maxsplit=1)[0]]


@pytest.mark.parametrize("between", ["uh", "okay", "well,", "yeah", "actually"])
@pytest.mark.parametrize("second", ["resume b2d810", "copy krios1:/b to PRG:/b"])
def test_a_word_that_turns_between_two_orders_does_not_vanish(between: str, second: str) -> None:
    assert read(f"cancel 7f3a21 {between} {second}").outcome == "ask"


@pytest.mark.parametrize("between", ["uh", "please", ",", "okay"])
@pytest.mark.parametrize("order", ["cancel 7f3a21", ROUTE])
def test_the_same_order_twice_is_one(order: str, between: str) -> None:
    assert intent_of(f"{order} {between} {order}") == intent_of(order)


@pytest.mark.parametrize("between", [" and", ", then", ". Then", ", and resume b2d810, and"])
@pytest.mark.parametrize("verb", ["pause", "resume"])
def test_nothing_follows_on_what_is_cancelled(between: str, verb: str) -> None:
    assert asked(f"cancel 7f3a21{between} {verb} 7f3a21") == {"action"}


@pytest.mark.parametrize(
    ("text", "second"),
    [
        ("pause 7f3a21 and then cancel it", "cancel"),
        ("pause 7f3a21, resume it at 18:00", "resume"),
        ("pause 7f3a21. Resume b2d810.", "resume"),
        ("cancel 7f3a21, resume b2d810", "resume"),
        (f"cancel 7f3a21 and {ROUTE}", "copy"),
        (f"{ROUTE}, copy krios1:/a to PRG:/a", "copy"),
        (f"{ROUTE}, please copy krios1:/b to PRG:/b", "copy"),
    ],
)
def test_two_orders_in_a_row_or_over_two_things_stay_two(text: str, second: str) -> None:
    assert [step["action"] for step in intent_of(text)["then"]] == [second]


def test_a_pause_until_a_time_is_two_steps() -> None:
    answer = read("pause 7f3a21 until tomorrow 07:00")
    assert answer.outcome == "intent"
    assert answer.intent.target == Target(id="7f3a21")
    [resumed] = answer.intent.then
    assert (answer.intent.action, resumed.action) == ("pause", "resume")
    assert resumed.start is not None
    assert f"{resumed.start:%d %H:%M}" == "26 07:00"


def test_a_yes_with_an_order_behind_it_is_asked_about_unless_it_only_says_where_to() -> None:
    assert read("looks fine, but send it to archive:/b").intent.action == "modify"
    assert read("yes, but move it to archive:/b").outcome == "ask"
    assert read("looks good but copy krios1:/x to archive:/b").outcome == "ask"
