"""Typed slots go through the same resolution, refusals and questions as words."""

import re
from dataclasses import fields, replace
from datetime import timedelta
from typing import Any

import pytest
from tests.pure.language.made import CONTEXT, read

from headrace.guardrails.intents.text import in_words
from headrace.guardrails.language import (
    Changes,
    Context,
    Endpoint,
    Intent,
    Location,
    Target,
    apply_changes,
    check_intent,
    disagreements,
)

NOW = CONTEXT.now
COPY = Intent(action="copy", source=Location("krios1", "/a"), destination=Location("archive", "/b"))


def test_a_typed_copy_is_taken_in_the_registrys_spelling() -> None:
    typed = replace(COPY, destination=Location("ncsa", "/b"))
    answer = check_intent(typed, CONTEXT)
    assert answer.outcome == "intent"
    assert str(answer.intent.destination) == "NCSA:/b"


def test_a_url_is_kept_as_written_and_finds_its_endpoint() -> None:
    typed = replace(COPY, destination=Location.parse("s3://lab-archive/run42"))
    answer = check_intent(typed, CONTEXT)
    assert answer.intent.destination == Location("lab-archive", "/run42", "s3://lab-archive/run42")


@pytest.mark.parametrize(
    ("location", "rule"),
    [
        (Location("krios1", "/a/../b"), "parent_path"),
        (Location("krios1", "/a\0"), "control_character"),
        (Location("krios1", "/a\u202eb"), "direction_mark"),
        (Location("NC\u0405A", "/a"), "deceptive_name"),
        (Location("krios1", "~root/x"), "home_of_user"),
        (Location.parse("https://me@data.example/x"), "user_in_url"),
    ],
)
def test_what_words_are_refused_for_typed_slots_are_refused_for_too(location: Location, rule: str) -> None:
    answer = check_intent(replace(COPY, source=location), CONTEXT)
    assert answer.outcome == "refuse"
    assert {refusal.rule for refusal in answer.refusals} == {rule}
    assert answer.intent == Intent()


@pytest.mark.parametrize(
    ("slot", "value"),
    [
        ("source", Location("krios9", "/a")),
        ("source", Location("krios1", "a")),
        ("source", None),
        ("destination", Location("krios1", "/a")),
        ("rate_limit_bps", 0),
        ("rate_limit_bps", 10**30),
        ("min_size", -1),
        ("start", NOW - timedelta(seconds=1)),
        ("deadline", NOW),
        ("window", ("22:00", "22:00")),
        ("window", ("25:00", "22:00")),
        ("repeat", "FREQ=DAILY"),
        ("repeat", "FREQ=DAILY;BYHOUR=2;COUNT=3"),
        ("repeat", "nonsense"),
        ("exclude", ("../x",)),
        ("include", ("",)),
        ("action", None),
    ],
)
def test_a_typed_slot_that_is_not_right_is_asked_about(slot: str, value: Any) -> None:  # noqa: ANN401
    answer = check_intent(replace(COPY, **{slot: value}), CONTEXT)
    assert answer.outcome == "ask"
    assert answer.ask == (slot,)
    assert slot not in answer.intent.to_json()


def test_in_typed_paths_shell_characters_stand_for_themselves() -> None:
    typed = replace(COPY, source=Location("krios1", "/$HOME/*.mrc"))
    assert check_intent(typed, CONTEXT).intent.source == Location("krios1", "/$HOME/*.mrc")


def test_a_bare_path_needs_an_endpoint_called_local() -> None:
    elsewhere = Context(now=NOW, timezone="UTC", endpoints=(Endpoint("archive"),))
    typed = replace(COPY, source=Location("local", "/a"))
    assert check_intent(typed, elsewhere).ask == ("source",)
    assert check_intent(typed, CONTEXT).outcome == "intent"


@pytest.mark.parametrize(
    ("text", "meant"),
    [("here/photos", "; if `here` is one, `here:/photos`"), ("photos", ""), ("./photos", ""), ("~/a", ""), (":/a", "")],
)
def test_what_is_no_location_is_answered_with_one_that_can_be_typed(text: str, meant: str) -> None:
    with pytest.raises(ValueError, match="is not a location") as error:
        Location.parse(text)
    said = f"`{text}` is not a location: write endpoint:/path, with one of `headrace endpoints`{meant}"
    assert str(error.value) == said


def test_a_bare_path_is_told_where_paths_begin() -> None:
    elsewhere = Context(now=NOW, timezone="UTC", endpoints=(Endpoint("archive"),))
    typed = replace(COPY, source=Location("local", "/home/ada/data/photos"))
    [question] = check_intent(typed, elsewhere).questions
    assert "a path begins at the folder that its endpoint exports, which `headrace browse" in question.message


def test_typed_dangers_are_named() -> None:
    typed = replace(
        COPY,
        action="sync",
        source=Location("krios1", "/"),
        delete_extraneous=True,
        on_conflict="overwrite",
        verify="none",
        encryption=False,
    )
    assert check_intent(typed, CONTEXT).danger == (
        "delete_extraneous",
        "encryption_off",
        "overwrite",
        "root_source",
        "verify_none",
    )


def test_a_typed_copy_that_deletes_its_source_is_a_move() -> None:
    answer = check_intent(replace(COPY, delete_source=True), CONTEXT)
    assert answer.intent.action == "move"
    assert answer.danger == ("delete_source",)
    assert check_intent(replace(COPY, action="move"), CONTEXT).intent.delete_source is True
    assert check_intent(replace(COPY, action="move", delete_source=False), CONTEXT).ask == ("action",)


@pytest.mark.parametrize(
    ("target", "slots"),
    [
        (Target(id="7f3a"), ()),
        (Target(id="7f"), ("target",)),
        (Target(ref="last"), ()),
        (Target(ref="other"), ("target",)),
        (Target(select="all", destination="ncsa"), ()),
        (Target(select="best"), ("target",)),
        (Target(state="broken"), ("target",)),
        (Target(destination="nowhere"), ("target",)),
        (Target(), ("target",)),
        (None, ("target",)),
    ],
)
def test_a_typed_target_is_checked(target: Target | None, slots: tuple[str, ...]) -> None:
    assert check_intent(Intent(action="cancel", target=target), CONTEXT).ask == slots


def test_typed_steps_are_checked_like_the_first() -> None:
    answer = check_intent(replace(COPY, then=(replace(COPY, source=None),)), CONTEXT)
    assert answer.ask == ("source",)
    assert check_intent(replace(COPY, then=(COPY,) * 40), CONTEXT).ask == ("then",)


def test_typed_changes_are_checked_too() -> None:
    changes = Changes(rate_limit_bps=-5, priority="high")
    answer = check_intent(Intent(action="modify", target=Target(ref="last"), changes=changes), CONTEXT)
    assert answer.ask == ("rate_limit_bps",)
    assert answer.intent.changes == Changes(priority="high")


def test_a_patch_adds_takes_away_and_clears() -> None:
    plan = replace(COPY, exclude=("*.tmp", "*.log"), rate_limit_bps=5)
    patch = Changes(add_exclude=("*.bak",), drop_exclude=("*.log",), cleared=("rate_limit_bps",))
    changed = apply_changes(plan, patch)
    assert changed.exclude == ("*.tmp", "*.bak")
    assert changed.rate_limit_bps is None
    assert apply_changes(COPY, Changes(delete_source=True)).action == "move"
    assert (
        apply_changes(replace(COPY, action="move", delete_source=True), Changes(delete_source=False)).action == "copy"
    )


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ({"action": "fly"}, "`action` must be one of"),
        ({"colour": "red"}, "no slot `colour`"),
        ({"min_size": "5"}, "`min_size` must be a whole number"),
        ({"start": "2026-11-28T02:00:00"}, "with an offset"),
        ({"source": "nowhere"}, "write endpoint:/path"),
        ({"window": ["22:00"]}, "two clock times"),
        ({"preserve": ["owner"]}, "`preserve` must be"),
        ({"encryption": "yes"}, "true or false"),
        ({"target": "7f3a"}, "`target` must be an object"),
        ({"changes": {"source": None}}, "cannot be cleared"),
    ],
)
def test_a_form_that_is_not_right_says_which_slot_and_why(form: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Intent.from_json(form)


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ({"timezone": "UTC"}, "needs `now`"),
        ({"now": "2026-11-25T14:30:00", "timezone": "UTC"}, "has no offset"),
        ({"now": "2026-11-25T14:30:00Z", "timezone": "Nowhere/Else"}, "not an IANA time zone"),
        ({"now": "2026-11-25T14:30:00Z", "timezone": "UTC", "week_starts": "friday"}, "monday or sunday"),
        ({"now": "2026-11-25T14:30:00Z", "timezone": "UTC", "endpoints": ["a"]}, "must be an object"),
        ({"now": "2026-11-25T14:30:00Z", "timezone": "UTC", "plans": {}}, "must be a list"),
    ],
)
def test_a_context_that_is_not_right_says_why(form: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Context.from_json(form)


RAW = re.compile(r"[a-z]+_[a-z_]+|`(?:start|window|since|state|select|ref|include|exclude|deadline)`")
"""How slots are called inside, which no sentence for people does."""


@pytest.mark.parametrize(
    "change",
    [
        {"rate_limit_bps": 0},
        {"min_size": -1},
        {"min_size": 9, "max_size": 3},
        {"start": NOW - timedelta(seconds=1)},
        {"start": NOW + timedelta(hours=2), "deadline": NOW + timedelta(hours=1)},
        {"modified_after": NOW, "modified_before": NOW},
        {"window": ("22:00", "22:00")},
        {"exclude": ("../x",)},
        {"action": "confirm", "target": Target(id="7f3a")},
        {"action": "cancel", "target": Target(select="tallest")},
        {"action": "cancel", "target": Target(state="asleep")},
        {"action": "cancel", "target": Target(since=NOW + timedelta(hours=1))},
    ],
)
def test_a_question_names_slots_in_words(change: dict[str, Any]) -> None:
    asked = check_intent(replace(COPY, **change), CONTEXT).questions
    assert asked
    assert [one.message for one in asked if RAW.search(one.message)] == []


def test_questions_about_words_name_slots_in_words_too() -> None:
    for words in (
        "cancel 7f3a9c every day at 2am",
        "pause it, no faster than 5 Gb/s",
        "copy krios1:/a to archive:/b, larger than 5 GB and smaller than 1 GB",
    ):
        asked = read(words).questions
        assert asked, words
        assert [one.message for one in asked if RAW.search(one.message)] == []
    typed = check_intent(COPY, CONTEXT).intent
    [unlike] = disagreements(read("copy krios1:/a to archive:/b no faster than 5 Gb/s"), typed)
    assert unlike.slot == "rate_limit_bps"
    assert "for the rate limit, and the fields beside them leave that out" in unlike.message


def test_each_slot_has_words() -> None:
    for slot in fields(Changes):
        if slot.name != "cleared":
            assert not RAW.search(in_words(slot.name))
