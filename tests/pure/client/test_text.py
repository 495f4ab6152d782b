import json

from hypothesis import given
from hypothesis import strategies as st

from headrace.client.text import plural, quoted, visible


@given(st.text(max_size=200), st.text(max_size=200))
def test_invariant_4_two_texts_are_never_quoted_alike(one: str, other: str) -> None:
    assert (quoted(one) == quoted(other)) == (one == other)


@given(st.text(max_size=200))
def test_invariant_4_the_end_of_a_quotation_cannot_be_forged(text: str) -> None:
    inner = quoted(text)[1:-1]
    assert '"' not in inner.replace("\\\\", "").replace('\\"', "")


def test_a_long_text_is_cut_and_says_so() -> None:
    assert visible("x" * 30, limit=10) == "x" * 10 + " (and 20 more characters)"
    assert quoted("x" * 30, limit=10) == '"' + "x" * 10 + '" (and 20 more characters)'


def test_plain_quotations_are_json() -> None:
    assert json.loads(quoted('say "hi" \\ bye')) == 'say "hi" \\ bye'


def test_numbers_agree_with_their_nouns() -> None:
    assert (plural(30, "day"), plural(2, "policy")) == ("30 days", "2 policies")
    assert (plural(1, "file"), plural(2000, "file"), plural(2, "entry")) == ("1 file", "2,000 files", "2 entries")
