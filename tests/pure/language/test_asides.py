"""What was not understood beside a whole order is asked about once, and can be left out with one click."""

import pytest
from tests.pure.language.made import ROUTE, read

OFFERED = [
    (f"The new software is picky and wants its input in one spot. {ROUTE}", ROUTE),
    (f"{ROUTE}. Our users complained about slow home directories last time.", f"{ROUTE}."),
    (f"{ROUTE}, because the teaching rooms complained about the uplink.", f"{ROUTE}."),
    (f"The beamtime finished yesterday and everybody is tired. {ROUTE}", ROUTE),
    (f"The fan has been replaced (thanks Bill!), so please {ROUTE}", f"so please {ROUTE}"),
    (f"I should have asked you much earlier: {ROUTE}; the students love these recordings.", f"{ROUTE}."),
]

NOT_OFFERED = [
    # It turns the order round, or restricts it.
    f"{ROUTE}. Forget it, Karel told me that he did it this morning.",
    f"{ROUTE}, excluding the patients who have withdrawn their consent.",
    f"{ROUTE}, but only the good micrographs, Li has the list.",
    f"{ROUTE}. Perhaps we should delete the source afterwards, perhaps not.",
    # It is somebody else's order.
    f"Petr wrote in our chat: {ROUTE}. Does anybody know what he meant by that?",
    f"On the poster it says: {ROUTE}",
    # It is a condition.
    f"{ROUTE} as soon as the users have finished their breakfast.",
    f"If the quota increase has come through, {ROUTE}.",
    # It holds a value of a plan.
    f"{ROUTE}, the 40 TB of quota there are plenty.",
    f"{ROUTE}, somewhat like *.gain of last year.",
    # The rest is no whole request.
    "copy krios1:/raw/o22 somewhere nice. The students love these recordings.",
]


@pytest.mark.parametrize(("text", "rest"), OFFERED)
def test_what_is_not_understood_beside_a_whole_order_is_one_question_whose_choice_leaves_it_out(
    text: str, rest: str
) -> None:
    answer = read(text)
    (question,) = answer.questions
    assert answer.outcome == "ask"
    assert (question.slot, question.start, question.end) == ("action", 0, len(text))
    (choice,) = question.choices
    assert choice.value == rest
    assert read(choice.value).outcome == "intent"
    assert read(choice.value).intent == read(choice.label).intent == read(ROUTE).intent


@pytest.mark.parametrize("text", NOT_OFFERED)
def test_what_could_change_the_order_is_never_offered_to_be_left_out(text: str) -> None:
    answer = read(text)
    assert answer.outcome != "intent"
    assert not any(choice.label.startswith("copy") for question in answer.questions for choice in question.choices)
