"""Between typed intents and words: neither way, and no change by words, alters what was asked for."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Literal, get_args

from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.api.planning.intents import from_reading, sentence_of, to_reading
from headrace.client import models as m
from headrace.guardrails.language import Changes, Context, Endpoint, apply_changes, check_intent, interpret

NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)
CONTEXT = Context(now=NOW, timezone="UTC", endpoints=(Endpoint(id="lab"), Endpoint(id="archive")))
PRESERVE: tuple[Literal["timestamps", "permissions", "symlinks", "xattrs"], ...] = (
    "timestamps", "permissions", "symlinks", "xattrs",
)  # fmt: skip


def choices(field: str) -> st.SearchStrategy[object]:
    """Every value of a field that is one of a list."""
    return st.sampled_from([value for value in get_args(m.TransferIntent.model_fields[field].annotation) if value])


def only_a_sync_deletes(slots: dict[str, object]) -> dict[str, object]:
    return slots if slots["action"] == "sync" else slots | {"delete_extraneous": False}


GLOBS = st.lists(st.sampled_from(["*.tmp", "*.bak", "raw/*", "a b*"]), max_size=3, unique=True)
MINUTES = st.integers(1, 400 * 24 * 60).map(lambda minutes: NOW + timedelta(minutes=minutes))
INTENTS = st.fixed_dictionaries(
    {
        "action": choices("action"),
        "source": st.sampled_from(["lab:/set", "lab:/a b/c"]),
        "destination": st.sampled_from(["archive:/set", "archive:/set/"]),
    },
    optional={
        "include": GLOBS,
        "exclude": GLOBS,
        "min_size_bytes": st.integers(1, 10**6),
        "max_size_bytes": st.integers(10**6, 2**50),
        "modified_after": MINUTES.map(lambda moment: NOW - (moment - NOW) - timedelta(days=400)),
        "modified_before": MINUTES.map(lambda moment: NOW - (moment - NOW)),
        "start": MINUTES,
        "window": st.just(("22:00", "05:00")),
        "rate_limit_bps": st.integers(1, 10**13),
        "priority": choices("priority"),
        "encryption": st.booleans(),
        "verify": st.sampled_from(["default", "at-rest", "in-transit", "blake3", "none"]),
        "on_conflict": st.sampled_from(["skip", "overwrite", "fail", "newer"]),
        "compare": choices("compare"),
        "delete_extraneous": st.booleans(),
        "project": st.sampled_from(["cryo-em", "a b"]),
        "preserve": st.sets(st.sampled_from(PRESERVE)).map(lambda kept: [one for one in PRESERVE if one in kept]),
    },
).map(lambda slots: m.TransferIntent.model_validate(only_a_sync_deletes(slots)))


def alike(intent: m.TransferIntent) -> m.TransferIntent:
    """The intent, with one name for each way to verify: at rest is asked for as BLAKE3, in transit is the default."""
    verify = {"at-rest": "blake3", "in-transit": "default"}.get(intent.verify, intent.verify)
    return intent.model_copy(update={"verify": verify})


@settings(max_examples=150, deadline=None)
@given(INTENTS)
def test_a_sentence_reads_back_to_the_intent_or_there_is_none(intent: m.TransferIntent) -> None:
    sentence = sentence_of(intent)
    if not sentence:
        assert intent.preserve == []
        return
    if check_intent(to_reading(intent), CONTEXT).outcome != "intent":
        return  # such as a copy that deletes: no plan is made of it
    answer = interpret(sentence, CONTEXT)
    assert answer.outcome == "intent", (sentence, answer.questions)
    read = from_reading(answer.intent)
    assert alike(read) == alike(intent).model_copy(update={"compare": "size-mtime", "project": None}), sentence


@settings(max_examples=150, deadline=None)
@given(INTENTS)
def test_a_change_by_words_changes_what_it_names_and_nothing_else(before: m.TransferIntent) -> None:
    reading = apply_changes(to_reading(before), Changes(add_exclude=("*.new",)))
    after = from_reading(reading, before)
    assert after == before.model_copy(update={"exclude": [*before.exclude, "*.new"]})


def test_nothing_to_be_preserved_stays_nothing_until_words_say_what_to_keep() -> None:
    nothing = m.TransferIntent(action="copy", source="lab:/set", destination="archive:/set", preserve=[])
    assert sentence_of(nothing) == ""
    assert from_reading(to_reading(nothing), nothing).preserve == []
    kept = replace(to_reading(nothing), preserve=("timestamps",))
    assert from_reading(kept, nothing).preserve == ["timestamps"]
    assert from_reading(to_reading(nothing)).preserve == ["timestamps", "permissions", "symlinks"]
