"""Which words say which slot, and what is asked when words and typed slots are given together."""

from dataclasses import fields, replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.pure.language.made import CONTEXT, HERE, ROUTE, read
from tests.pure.language.test_gate import cases_of
from tests.pure.language.test_properties import LOCATION, SLOTS

from headrace.guardrails.intents import Slots
from headrace.guardrails.language import (
    Intent,
    Interpretation,
    Location,
    Question,
    apply_changes,
    canonical_sentence,
    check_intent,
    disagreements,
)

QUICK = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
TYPED = Intent(action="copy", source=Location("krios1", "/a"), destination=Location("archive", "/a"))
TRANSFERS = ("copy", "sync", "move")
OPTIONS = tuple(slot.name for slot in fields(Slots))


def against(words: str, **slots: Any) -> list[tuple[str, str | None]]:  # noqa: ANN401 - values of slots
    """Hold words against a plain copy in typed slots with some slots besides: what is asked, about which words."""
    return asked(disagreements(read(words), checked(replace(TYPED, **slots))))


def asked(questions: tuple[Question, ...]) -> list[tuple[str, str | None]]:
    return [(question.slot, question.words) for question in questions]


def checked(intent: Intent) -> Intent:
    answer = check_intent(intent, CONTEXT)
    assert answer.outcome == "intent", answer.questions
    return answer.intent


def quotes(answer: Interpretation) -> dict[str, list[str]]:
    return {one.slot: [quote.text for quote in one.quotes] for one in answer.said}


def stated(intent: Intent) -> set[str]:
    """Give the slots that an intent fills; two places without a verb are a copy, which no word says."""
    filled = {slot for slot in OPTIONS if getattr(intent, slot) not in (None, ())}
    return filled | ({"action"} if intent.action != "copy" else set())


# -- what is said, and where --


def test_each_slot_is_said_by_the_words_that_fill_it() -> None:
    answer = read("on krios1, copy /a to archive:/a, skip *.tmp and skip *.bak, after 18:00, at most 2 Gb/s")
    assert quotes(answer) == {
        "action": ["copy"],
        "source": ["on krios1", "/a"],
        "destination": ["to archive:/a"],
        "exclude": ["skip *.tmp", "skip *.bak"],
        "start": ["after 18:00"],
        "rate_limit_bps": ["at most 2 Gb/s"],
    }


def test_words_that_want_the_default_say_it_too() -> None:
    said = {one.slot: one.value for one in read(f"{ROUTE}, never delete anything, no rate limit").said}
    assert (said["delete_source"], said["delete_extraneous"], said["rate_limit_bps"]) == (False, False, None)


def test_words_that_delete_the_source_say_both_the_move_and_the_delete() -> None:
    for words in (f"{ROUTE}, delete the source afterwards", ROUTE.replace("copy", "move")):
        said = {one.slot: one.value for one in read(words).said}
        assert (said["action"], said["delete_source"]) == ("move", True)


@pytest.mark.parametrize("file", ["dev.jsonl", "probe.jsonl"])
def test_every_slot_of_the_corpus_is_said_by_words_of_the_sentence(file: str) -> None:
    for case in cases_of(HERE / file):
        answer = read(case["text"])
        if answer.outcome != "intent" or answer.intent.action not in TRANSFERS or answer.intent.then:
            continue
        said = {one.slot: one for one in answer.said}
        assert stated(answer.intent) <= said.keys(), case["text"]
        for one in said.values():
            assert one.quotes, (case["text"], one.slot)
            assert all(case["text"][quote.start : quote.end] == quote.text for quote in one.quotes)
            if one.slot != "action" and one.value not in (None, False, ()):
                assert getattr(answer.intent, one.slot) == one.value, (case["text"], one.slot)


# -- words and typed slots that agree --


@QUICK
@given(st.sampled_from(TRANSFERS), LOCATION, LOCATION, SLOTS)
def test_what_the_canonical_sentence_says_is_all_said_and_agrees(
    action: str, source: Location, destination: Location, slots: dict[str, object]
) -> None:
    answer = check_intent(Intent(action=action, source=source, destination=destination, **slots), CONTEXT)  # type: ignore[arg-type]
    if answer.outcome != "intent":
        return
    words = read(canonical_sentence(answer.intent))
    assert {"action", *stated(answer.intent)} <= {one.slot for one in words.said if one.quotes}
    assert disagreements(words, answer.intent) == ()


@pytest.mark.parametrize(
    ("words", "slots"),
    [
        (ROUTE, {"rate_limit_bps": 2_000_000_000}),
        (ROUTE, {"exclude": ("*.tmp",), "priority": "high"}),
        ("copy it please", {}),
        ("hello, please copy my data", {}),
        ("krios1:/a to archive:/a", {}),
        ("only *.mrc, no faster than 1 Gb/s", {"include": ("*.mrc",), "rate_limit_bps": 10**9}),
        (f"{ROUTE}, skip *.bak and *.tmp, encrypted", {"exclude": ("*.tmp", "*.bak")}),
        (f"{ROUTE}, fail if a file exists", {}),
        (f"{ROUTE}, never delete anything", {}),
    ],
)
def test_what_words_leave_out_typed_slots_may_add(words: str, slots: dict[str, Any]) -> None:
    assert against(words, **slots) == []


# -- contradictions, and words that the slots lose --


@pytest.mark.parametrize(
    ("words", "slots", "question"),
    [
        (f"{ROUTE}, never delete anything", {"action": "move"}, ("delete_source", "never delete anything")),
        (f"{ROUTE}, but do not delete the source", {"action": "move"}, ("delete_source", "do not delete the source")),
        (ROUTE, {"action": "move"}, ("action", "copy")),
        ("sync krios1:/a to archive:/a", {}, ("action", "sync")),
        (
            "sync krios1:/a to archive:/a, don't delete at the destination",
            {"action": "sync", "delete_extraneous": True},
            ("delete_extraneous", "don't delete at the destination"),
        ),
        (ROUTE, {"source": Location("krios1", "/b")}, ("source", "krios1:/a")),
        (ROUTE, {"destination": Location("archive", "/b")}, ("destination", "to archive:/a")),
        (f"{ROUTE}, at most 1 Gb/s", {"rate_limit_bps": 2 * 10**9}, ("rate_limit_bps", "at most 1 Gb/s")),
        (f"{ROUTE}, no rate limit", {"rate_limit_bps": 2 * 10**9}, ("rate_limit_bps", "no rate limit")),
        (f"{ROUTE}, skip *.tmp", {}, ("exclude", "skip *.tmp")),
        (f"{ROUTE}, skip *.tmp", {"exclude": ("*.tmp", "*.mrc")}, ("exclude", "skip *.tmp")),
        (f"{ROUTE}, start after 18:00", {}, ("start", "start after 18:00")),
        (f"{ROUTE}, without encryption", {}, ("encryption", "without encryption")),
        (f"{ROUTE}, verify with sha256", {}, ("verify", "verify with sha256")),
        (f"{ROUTE}, overwrite existing files", {}, ("on_conflict", "overwrite existing files")),
        (f"{ROUTE}, high priority", {}, ("priority", "high priority")),
        ("on krios1 delete the source", {}, ("delete_source", "delete the source")),
    ],
)
def test_what_words_and_slots_do_not_say_alike_is_asked(
    words: str, slots: dict[str, Any], question: tuple[str, str]
) -> None:
    assert question in against(words, **slots)


@pytest.mark.parametrize(
    ("words", "question"),
    [
        ("copy my lysozyme run to the vault", "lysozyme"),
        (f"{ROUTE} unless the beam is on", "unless the beam is on"),
        (f"{ROUTE}, kopiere nur die Bilder", "kopiere nur die Bilder"),
        ("archive it", "archive"),
    ],
)
def test_words_that_are_not_understood_are_asked_about_beside_typed_slots_too(words: str, question: str) -> None:
    assert any(question in (quoted or "") for _, quoted in against(words)), against(words)


@pytest.mark.parametrize(
    ("words", "slot"),
    [
        ("cancel it", "action"),
        ("list transfers", "action"),
        (f"{ROUTE}, then copy archive:/a to PRG:/a", "then"),
        ("krios1:/a to archive:/a, then move archive:/a to PRG:/a", "then"),
    ],
)
def test_words_that_ask_for_something_else_are_asked_about(words: str, slot: str) -> None:
    assert slot in {one for one, _ in against(words)}


def test_what_two_places_imply_is_not_what_a_move_asks_for() -> None:
    assert against("krios1:/a to archive:/a", action="move") != []


def test_a_question_says_where_its_words_stand() -> None:
    words = f"Hi 🙂 {ROUTE}, at most 1 Gb/s"
    [question] = disagreements(read(words), checked(replace(TYPED, rate_limit_bps=2 * 10**9)))
    assert words[question.start : question.end] == question.words == "at most 1 Gb/s"


CHANGED: dict[str, Any] = {
    "action": {"copy": "sync", "sync": "copy", "move": "copy"},
    "source": Location("krios1", "/somewhere else"),
    "destination": Location("archive", "/somewhere else"),
    "include": ("*.other",),
    "exclude": ("*.other",),
    "min_size": 3,
    "max_size": 2**55,
    "modified_after": CONTEXT.now - timedelta(days=400),
    "start": CONTEXT.now + timedelta(days=400),
    "window": ("03:17", "03:18"),
    "repeat": "FREQ=DAILY;BYHOUR=3;BYMINUTE=17",
    "rate_limit_bps": 12_345,
    "priority": {"low": "high", "normal": "high", "high": "low"},
    "encryption": {True: False, False: True},
    "verify": {"none": "sha1", "sha1": "md5"},
    "on_conflict": {"overwrite": "newer", "newer": "overwrite", "skip": "overwrite", "fail": "overwrite"},
    "preserve": {(): ("xattrs",), ("xattrs",): ("timestamps",)},
}


@QUICK
@given(st.sampled_from(TRANSFERS), LOCATION, LOCATION, SLOTS, st.data())
def test_for_each_slot_that_is_changed_there_is_a_question(
    action: str, source: Location, destination: Location, slots: dict[str, object], data: st.DataObject
) -> None:
    answer = check_intent(Intent(action=action, source=source, destination=destination, **slots), CONTEXT)  # type: ignore[arg-type]
    if answer.outcome != "intent":
        return
    words = read(canonical_sentence(answer.intent))
    slot = data.draw(st.sampled_from(sorted(stated(answer.intent) - {"delete_source"} | {"action"})))
    new = CHANGED[slot]
    if isinstance(new, dict):
        old = getattr(answer.intent, slot)
        new = new.get(old, next(iter(new.values())))
    typed = replace(answer.intent, **{slot: new})
    if slot == "action":
        typed = replace(typed, delete_source=None)
    assert slot in {question.slot for question in disagreements(words, typed)} | (
        {"action"} if slot == "action" and disagreements(words, typed) else set()
    ), (canonical_sentence(answer.intent), slot, new)


# -- changes to an earlier plan --


def test_a_change_in_words_is_held_against_the_whole_changed_request() -> None:
    before = replace(TYPED, exclude=("*.tmp",))
    answer = read("also skip *.bak")
    assert answer.intent.changes is not None
    whole = apply_changes(before, answer.intent.changes)
    assert disagreements(answer, replace(TYPED, exclude=("*.tmp", "*.bak")), whole) == ()
    assert asked(disagreements(answer, replace(TYPED, exclude=("*.bak",)), whole)) == [("exclude", "skip *.bak")]


def test_what_was_read_from_words_that_nobody_can_name_is_held_against_the_slots_too() -> None:
    unnamed = replace(read(f"{ROUTE}, skip *.tmp"), said=())
    assert asked(disagreements(unnamed, checked(TYPED))) == [("exclude", None)]
    assert disagreements(unnamed, checked(replace(TYPED, exclude=("*.tmp",)))) == ()


@QUICK
@given(LOCATION, LOCATION, SLOTS, st.data())
def test_for_each_slot_that_loses_what_the_words_say_there_is_a_question(
    source: Location, destination: Location, slots: dict[str, object], data: st.DataObject
) -> None:
    answer = check_intent(Intent(action="copy", source=source, destination=destination, **slots), CONTEXT)  # type: ignore[arg-type]
    losable = {
        slot for slot in stated(answer.intent) - {"source", "destination"} if not is_default(answer.intent, slot)
    }
    if answer.outcome != "intent" or not losable:
        return
    lost = data.draw(st.sampled_from(sorted(losable)))
    nothing: dict[str, Any] = {lost: getattr(Intent(), lost)}
    typed = replace(answer.intent, **nothing)
    words = canonical_sentence(answer.intent)
    assert lost in {question.slot for question in disagreements(read(words), typed)}, (words, lost)


def is_default(intent: Intent, slot: str) -> bool:
    defaults = {"priority": "normal", "encryption": True, "verify": "default", "on_conflict": "fail"}
    return slot in defaults and getattr(intent, slot) == defaults[slot]
