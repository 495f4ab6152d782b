# ruff: noqa: RUF001 - look-alike letters are what is tested here
import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.guardrails import (
    Refused,
    endpoint_name_fault,
    escape_component,
    path_text,
    read_path,
    shown,
    sized,
    unescape_component,
)
from headrace.guardrails.intents.text import folded
from headrace.guardrails.rails.routes import PART_PREFIX, TRASH, is_disguised

ENDS = "․‥…︙︰﹒．"
"""Of these, Unicode's compatibility makes dots alone."""
RESERVED = Path(__file__).parents[3] / "conformance" / "text" / "reserved.json"


@given(st.text(), st.integers(3, 50))
def test_what_is_shown_has_a_limit_and_showing_twice_changes_nothing(text: str, limit: int) -> None:
    once = shown(text, limit)
    assert len(once) <= limit
    assert shown(once, limit) == once


@given(st.binary(max_size=255))
def test_every_byte_string_has_one_escaped_spelling(raw: bytes) -> None:
    text = escape_component(raw)
    assert unescape_component(text) == raw
    assert text.isascii() or text.encode()


@given(st.text(max_size=50))
def test_only_the_one_spelling_is_read_back(text: str) -> None:
    try:
        raw = unescape_component(text)
    except ValueError:
        return
    assert escape_component(raw) == text


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"run42", "run42"),
        ("café".encode(), "café"),
        (b"100%", "100%25"),
        (b"a\nb", "a%0Ab"),
        (b"\xff\xfe", "%FF%FE"),
        ("\u0085".encode(), "%C2%85"),
        (b"caf\xc3\xa9 100%\n\xff", "café 100%25%0A%FF"),
    ],
)
def test_components_are_escaped_as_the_nodes_do(raw: bytes, text: str) -> None:
    assert escape_component(raw) == text


@pytest.mark.parametrize("text", ["100%", "%0a", "%41", "%C3%A9", "a\nb"])
def test_another_spelling_of_a_component_is_no_component(text: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        unescape_component(text)


@given(st.integers(0, 2**63))
def test_a_size_is_always_said_exactly_too(count: int) -> None:
    assert f"{count:,} byte" in sized(count)


@pytest.mark.parametrize(
    ("text", "components"),
    [
        ("/", ()),
        ("/raw/run42", ("raw", "run42")),
        ("/raw/run42/", ("raw", "run42")),
        ("/raw//./run42", ("raw", "run42")),
        ("/100%/a b/$HOME;rm -rf *", ("100%25", "a b", "$HOME;rm -rf *")),
        ("/%2e%2e/x", ("%252e%252e", "x")),
        ("/Mühlbauer/データ", ("Mühlbauer", "データ")),
        ("/a\nb", ("a%0Ab",)),
    ],
)
def test_a_written_path_is_read_literally(text: str, components: tuple[str, ...]) -> None:
    assert read_path(text) == components


@pytest.mark.parametrize("text", ["/a..b/..c/d..", "/...", "/x~", "/~ada", "/back\\slash", "/a:b", "/.hidden"])
def test_look_alikes_of_dangerous_paths_are_not_refused(text: str) -> None:
    assert path_text(read_path(text)) == text


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("/a/../b", "parent_component"),
        ("/..", "parent_component"),
        ("../x", "parent_component"),
        ("/a\0b", "nul_in_path"),
        ("~ada/data", "home_path"),
        ("~", "home_path"),
        ("\\\\server\\share", "unc_path"),
        ("//server/share", "unc_path"),
        ("raw/run42", "relative_path"),
        ("", "relative_path"),
        ("/" + "x" * 256, "path_too_long"),
        ("/x" * 257, "path_too_long"),
        (("/" + "y" * 200) * 21, "path_too_long"),
        ("/\ud8ff", "malformed_path"),
    ],
)
def test_a_dangerous_path_is_refused_by_its_rule(text: str, rule: str) -> None:
    with pytest.raises(Refused) as refused:
        read_path(text)
    assert refused.value.code == rule


def test_no_path_names_what_nodes_keep_for_themselves_in_another_spelling() -> None:
    cases = json.loads(RESERVED.read_text("utf-8"))
    assert {name for name, reserved in cases.items() if reserved} > {".Headrace-Trash", ".HEADRACE-PART-tr_1"}
    for name, reserved in cases.items():
        path = f"/raw/{name}/2026-12-27-tr_1/phi"
        if reserved and name != TRASH and not name.startswith(PART_PREFIX):
            with pytest.raises(Refused) as refused:
                read_path(path)
            assert refused.value.code == "reserved_name", name
        else:
            assert read_path(path)[1] == name


def test_the_cases_of_reserved_names_hold_every_character_that_unicode_folds_into_them() -> None:
    cases = json.loads(RESERVED.read_text("utf-8"))
    folds = {one: folded(one) for one in map(chr, range(0x80, sys.maxunicode + 1)) if not "\ud800" <= one <= "\udfff"}
    parts = {one for one, plain in folds.items() if plain and (plain in TRASH or plain in PART_PREFIX)}
    assert parts <= set("".join(name for name, reserved in cases.items() if reserved))


def test_the_cases_of_reserved_names_hold_every_end_that_unicode_folds_away() -> None:
    """Dots in other forms, and what is not seen: storage passes over both at the end of a name, or before it."""
    cases = {name for name, reserved in json.loads(RESERVED.read_text("utf-8")).items() if reserved}
    every = (one for one in map(chr, range(0x80, sys.maxunicode + 1)) if not "\ud800" <= one <= "\udfff")
    seen = {one for one in every if folded(f"x{one}") == "x" and folded(f"x{one}x") != "xx"}
    assert seen == set(ENDS)
    assert {f"{TRASH}{one}" for one in seen} <= cases


@given(
    st.sampled_from([TRASH, PART_PREFIX]),
    st.lists(st.tuples(st.integers(0, 15), st.sampled_from("\x01\x7f\u200b\u3000\u00ad")), max_size=3),
    st.text(f". {ENDS}", max_size=3),
    st.booleans(),
)
def test_what_is_not_seen_the_case_and_dots_at_the_end_make_no_other_name(
    kept: str,
    unseen: list[tuple[int, str]],
    end: str,
    upper: bool,  # noqa: FBT001 - hypothesis gives it
) -> None:
    name = kept.upper() if upper else kept
    for at, one in unseen:
        name = name[:at] + one + name[at:]
    assert is_disguised(name + end) == (name + end != TRASH and not (name + end).startswith(PART_PREFIX))


def test_a_refusal_shows_odd_names_escaped() -> None:
    with pytest.raises(Refused) as refused:
        read_path("/\u202etxt/../x")
    (refusal,) = refused.value.refusals
    assert "\u202e" not in refusal.message + refusal.words
    assert "\\u{202E}" in refusal.words


@given(st.text())
def test_a_path_is_read_or_refused_and_never_climbs(text: str) -> None:
    try:
        components = read_path(text)
    except Refused:
        return
    raw = [unescape_component(component) for component in components]
    assert not any(name in {b"", b".", b".."} or b"/" in name or b"\0" in name for name in raw)


@pytest.mark.parametrize(
    "name", ["krios1", "NCSA", "lab-archive", "Mühlbauer Labor", "データ置き場", "архив", "αρχείο"]
)
def test_an_endpoint_may_be_named_in_any_one_script(name: str) -> None:
    assert endpoint_name_fault(name) is None


@pytest.mark.parametrize(
    "name",
    ["\u0430rchive", "archive\u200b", "\uff4bрios1", "ｋｒｉｏｓ", "arch\u0456ve", "a\u202eb", "krios\u00b9", "ﬁle"],
)
def test_an_endpoint_name_that_only_looks_like_another_is_refused(name: str) -> None:
    assert endpoint_name_fault(name)
