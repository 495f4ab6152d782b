import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.client.text import bit_rate, byte_size, duration, plural, quoted, visible


@given(st.text())
def test_invariant_4_no_unseen_character_is_ever_shown(text: str) -> None:
    shown = visible(text)
    assert all(c == " " or unicodedata.category(c)[0] not in "CZ" for c in shown)


@given(st.text(max_size=200), st.text(max_size=200))
def test_invariant_4_two_texts_are_never_quoted_alike(one: str, other: str) -> None:
    assert (quoted(one) == quoted(other)) == (one == other)


@given(st.text(max_size=200))
def test_invariant_4_the_end_of_a_quotation_cannot_be_forged(text: str) -> None:
    inner = quoted(text)[1:-1]
    assert '"' not in inner.replace("\\\\", "").replace('\\"', "")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain name.txt", "plain name.txt"),
        ("naïve 数据 \N{GRINNING FACE}", "naïve 数据 \N{GRINNING FACE}"),
        ("\x1b[31m", "\\u{001B}[31m"),
        ("a\nb\r\t", "a\\u{000A}b\\u{000D}\\u{0009}"),
        ("a\u202eb\u2066", "a\\u{202E}b\\u{2066}"),
        ("zero\u200bwidth\ufeff", "zero\\u{200B}width\\u{FEFF}"),
        ("no\u00a0break", "no\\u{00A0}break"),
        ("back\\slash", "back\\slash"),
        ("back\\slash\n", "back\\\\slash\\u{000A}"),
        ("[red]loud[/red]", "[red]loud[/red]"),
    ],
)
def test_odd_characters_become_visible(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_a_long_text_is_cut_and_says_so() -> None:
    assert visible("x" * 30, limit=10) == "x" * 10 + " (and 20 more characters)"
    assert quoted("x" * 30, limit=10) == '"' + "x" * 10 + '" (and 20 more characters)'


def test_plain_quotations_are_json() -> None:
    assert json.loads(quoted('say "hi" \\ bye')) == 'say "hi" \\ bye'


@pytest.mark.parametrize(
    ("count", "shown"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.00 kB"), (1717986918, "1.72 GB"), (99_960, "100 kB"), (999_600, "1.00 MB")],
)
def test_sizes_have_three_digits_and_a_unit(count: int, shown: str) -> None:
    assert byte_size(count) == shown


def test_rates_are_bits() -> None:
    assert bit_rate(9_410_000_000) == "9.41 Gb/s"


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0, "0 s"), (59.4, "59 s"), (59.6, "1 min"), (3905, "1 h 5 min"), (90061, "1 d 1 h"), (86400, "1 d"), (-3, "0 s")],
)
def test_lengths_of_time_have_at_most_two_units(seconds: float, shown: str) -> None:
    assert duration(seconds) == shown


def test_numbers_agree_with_their_nouns() -> None:
    assert (plural(1, "file"), plural(2000, "file"), plural(2, "entry")) == ("1 file", "2,000 files", "2 entries")
