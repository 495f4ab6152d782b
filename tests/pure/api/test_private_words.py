"""Whatever people write, and wherever a text with it is cut, assistants are told none of it."""

from hypothesis import given
from hypothesis import strategies as st

from headrace.api.clock import utc_now
from headrace.api.private_words import because, without_private_words
from headrace.client import models as m

SAID = st.text(alphabet="abc ()", max_size=8)
"""What the service says itself."""
WORDS = st.text(alphabet='XYZ“”":\n (', min_size=1, max_size=12)
"""What a person writes; no letter of it is the service's."""


def told(message: str) -> str:
    event = m.TransferEvent(sequence=1, at=utc_now(), kind="paused", message=message)
    return without_private_words(event).message


@given(SAID, WORDS, st.integers(0, 40), SAID)
def test_no_letter_of_a_reason_is_told_wherever_its_text_was_cut(said: str, words: str, cut: int, after: str) -> None:
    shown = told(because(said, words)[:cut] + after)
    assert not set(shown) & set("XYZ“”")


@given(SAID, WORDS, st.integers(0, 40), SAID, WORDS)
def test_a_reason_within_another_one_is_not_told_either(
    said: str, inner: str, cut: int, outer: str, words: str
) -> None:
    shown = told(because(f"{because(said, inner)[:cut]}) {outer}", words))
    assert not set(shown) & set("XYZ“”")


@given(SAID, WORDS, SAID)
def test_what_the_service_says_around_a_reason_is_told(said: str, words: str, after: str) -> None:
    assert told(because(said, words) + after) == said + after
