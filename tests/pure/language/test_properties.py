"""What holds for all requests: coverage, spans, round trips, and changes that must not change a reading."""

import os
import string
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import permutations
from types import FrameType
from typing import TYPE_CHECKING, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.pure.language.made import CONTEXT, HERE, ROUTE, intent_of, read
from tests.pure.language.test_gate import cases_of

from headrace.guardrails.intents.values import OnConflict, Preserve, Priority, Verify
from headrace.guardrails.language import (
    Changes,
    Intent,
    Location,
    Target,
    TransferRef,
    apply_changes,
    canonical_sentence,
    check_intent,
    interpret,
)
from headrace.guardrails.language.tokens import scan

if TYPE_CHECKING:
    from _typeshed import TraceFunction

QUICK = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
NOW = CONTEXT.now

WORDS = [
    "copy",
    "move",
    "sync",
    "mirror",
    "to",
    "from",
    "krios1:/a",
    "archive:/b",
    "ncsa",
    "NCSA:/x",
    "/data/x",
    "*.tmp",
    ".mrc",
    "only",
    "skip",
    "not",
    "don't",
    "no",
    "without",
    "delete",
    "the",
    "source",
    "encrypt",
    "encrypted",
    "verify",
    "sha256",
    "by",
    "at",
    "every",
    "night",
    "6am",
    "friday",
    "tomorrow",
    "17:00",
    "5",
    "10M",
    "2",
    "Gb/s",
    "500",
    "MB/s",
    "50",
    "GiB",
    "over",
    "under",
    "and",
    "or",
    "then",
    ",",
    ".",
    ";",
    "(",
    ")",
    '"',
    "->",
    "7f3a",
    "pause",
    "resume",
    "cancel",
    "all",
    "transfers",
    "yes",
    "instead",
    "also",
    "foo",
    "--delete",
    "overwrite",
    "keep",
    "timestamps",
    "limit",
    "between",
    "policy",
    "if",
    "unless",
    "because",
]


@QUICK
@given(st.text(max_size=200))
def test_no_text_makes_the_reader_fail(text: str) -> None:
    assert interpret(text, CONTEXT).outcome in ("intent", "ask", "refuse")


@QUICK
@given(st.lists(st.sampled_from(WORDS), max_size=16))
def test_no_mixture_of_known_words_makes_the_reader_fail(words: list[str]) -> None:
    answer = interpret(" ".join(words), CONTEXT)
    answer.to_json()
    assert answer.outcome == "refuse" or (answer.outcome == "intent") == (not answer.questions)


@QUICK
@given(st.lists(st.sampled_from(WORDS), max_size=16))
def test_spans_quote_the_text_and_every_word_of_an_intent_is_owned(words: list[str]) -> None:
    text = "  ".join(words)
    answer = interpret(text, CONTEXT)
    owned: set[int] = set()
    for span in answer.spans:
        assert text[span.start : span.end] == span.text
        owned.update(range(span.start, span.end))
    if answer.outcome == "intent":
        for token in scan(text):
            assert set(range(token.start, token.end)) <= owned, (text, token.text)


@QUICK
@given(
    form=st.sampled_from(["give {} {}", "copy {} {}", "copy {} to {}", "{} -> {}", "from {} to {}", "sync {} with {}"]),
    places=st.permutations(["krios1:/raw/run42", "archive:/raw", "dtn3:/home", "NCSA:/em"]),
    more=st.booleans(),
)
def test_the_reading_of_a_place_names_its_own_words(form: str, places: list[str], *, more: bool) -> None:
    text = form.format(*places) + (f", then {form.format(*places[2:])}" if more else "")
    answer = read(text)
    spans = [(place, span) for span in answer.spans for place in places if place in span.text]
    assert spans
    for place, span in spans:
        assert not [one for one in places if one != place and one in span.reading], (text, span)
        assert answer.outcome != "intent" or span.reading == place, (text, span)


@QUICK
@given(st.text(string.ascii_lowercase, min_size=5, max_size=9).map(lambda word: f"q{word}q"))
def test_a_word_that_is_not_understood_is_always_quoted_back(word: str) -> None:
    answer = read(f"{ROUTE}, {word}")
    assert answer.outcome == "ask"
    assert any(word in (question.words or "") and f"`{word}`" in question.message for question in answer.questions)


CLAUSES = ("encrypted", "at 2 Gb/s", "by friday 5pm", "skip *.tmp", "verify with sha256", "low priority")


def test_the_order_of_clauses_does_not_matter() -> None:
    expected = intent_of(f"{ROUTE}, {', '.join(CLAUSES)}")
    for order in list(permutations(CLAUSES))[::29]:
        assert intent_of(f"{ROUTE}, {', '.join(order)}") == expected


@pytest.mark.parametrize(
    "spellings",
    [
        ("2 Gb/s", "2Gb/s", "2 Gbit/s", "2 gigabits per second", "2000 Mb/s", "two gigabits per second", "2 Gbps"),
        ("500 MB/s", "500MB/s", "500 MBps", "500 megabytes per second", "0.5 GB/s", "4 Gb/s"),
        ("1 GiB/s", "1024 MiB/s", "1 gibibyte per second", "8 Gibit/s"),
    ],
)
def test_the_spelling_of_a_unit_does_not_matter(spellings: tuple[str, ...]) -> None:
    assert len({str(intent_of(f"{ROUTE} at {spelling}")) for spelling in spellings}) == 1


@QUICK
@given(st.sampled_from([endpoint.id for endpoint in CONTEXT.endpoints]), st.randoms())
def test_the_case_of_a_name_does_not_matter(name: str, random: object) -> None:
    del random
    for spelled in (name.upper(), name.lower(), name.title()):
        assert intent_of(f"copy /q to {spelled}:/x")["destination"] == f"{name}:/x"


@QUICK
@given(st.data())
def test_a_slip_never_silently_changes_a_value(data: st.DataObject) -> None:
    """Swap, drop or double one letter of an ordinary word: the same intent, a question, or a refusal."""
    words = data.draw(
        st.sampled_from(
            [
                f"{ROUTE} by friday 5pm, encrypted, skip *.tmp, don't overwrite",
                f"{ROUTE}, only files bigger than 1 GB, verify with sha256, high priority",
                "sync krios1:/a to archive:/a every weekday at 6am without deleting anything",
                "pause everything going to NCSA",
            ]
        )
    ).split(" ")
    long = [at for at, word in enumerate(words) if len(word) > 3 and word.isalpha() and word != "NCSA"]
    at = data.draw(st.sampled_from(long))
    word, spot = words[at], data.draw(st.integers(0, len(words[at]) - 2))
    slip = data.draw(st.sampled_from(["swap", "drop", "double"]))
    slipped = {
        "swap": word[:spot] + word[spot + 1] + word[spot] + word[spot + 2 :],
        "drop": word[:spot] + word[spot + 1 :],
        "double": word[:spot] + word[spot] + word[spot:],
    }[slip]
    meant = intent_of(" ".join(words))
    answer = read(" ".join([*words[:at], slipped, *words[at + 1 :]]))
    if answer.outcome == "intent":
        assert answer.intent.to_json() == meant, slipped


PATH = st.text(st.characters(blacklist_categories=["Cc", "Cs", "Cf", "Co", "Cn", "Zl", "Zp"]), min_size=1, max_size=12)


def _clean(path: str) -> bool:
    parts = path.split("/")
    try:
        canonical_sentence(
            Intent(action="copy", source=Location("krios1", f"/{path}"), destination=Location("PRG", "/x"))
        )
    except ValueError:
        return False
    return ".." not in path.replace("\\", "/").split("/") and all(parts) and not path.startswith(("/", "\\"))


LOCATION = st.builds(
    Location,
    st.sampled_from([endpoint.id for endpoint in CONTEXT.endpoints]),
    PATH.filter(_clean).map(lambda path: f"/{path}"),
)
AHEAD = st.integers(60, 10**7).map(lambda seconds: NOW + timedelta(seconds=seconds))
BEHIND = st.integers(60, 10**7).map(lambda seconds: NOW - timedelta(seconds=seconds))
GLOBS = st.lists(
    st.sampled_from(["*.mrc", "*.tmp", "my file.txt", "a/**/b", "checkpoints/", "?.log"]), max_size=2, unique=True
)
CLOCKS = st.tuples(st.integers(0, 23), st.integers(0, 59)).map(lambda clock: f"{clock[0]:02}:{clock[1]:02}")
RULES = st.sampled_from(
    [
        "FREQ=DAILY;BYHOUR=2;BYMINUTE=0",
        "FREQ=WEEKLY;BYDAY=MO;BYHOUR=9;BYMINUTE=30",
        "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR;BYHOUR=6;BYMINUTE=0",
        "FREQ=HOURLY;INTERVAL=6",
        "FREQ=MONTHLY;BYDAY=1MO;BYHOUR=6;BYMINUTE=0",
    ]
)


def _options(values: dict[str, object]) -> dict[str, object]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}


SLOTS = st.fixed_dictionaries(
    {},
    optional={
        "include": GLOBS,
        "exclude": GLOBS,
        "min_size": st.integers(1, 10**6),
        "max_size": st.integers(10**6, 2**50),
        "modified_after": BEHIND,
        "start": AHEAD,
        "window": st.tuples(CLOCKS, CLOCKS).filter(lambda window: window[0] != window[1]),
        "repeat": RULES,
        "rate_limit_bps": st.integers(1, 10**13),
        "priority": st.sampled_from(get_args(Priority)),
        "encryption": st.booleans(),
        "verify": st.sampled_from(get_args(Verify)),
        "on_conflict": st.sampled_from(get_args(OnConflict)),
        "preserve": st.sets(st.sampled_from(get_args(Preserve))).map(
            lambda kept: [name for name in get_args(Preserve) if name in kept]
        ),
    },
).map(_options)


@QUICK
@given(st.sampled_from(["copy", "sync", "move", "stream"]), LOCATION, LOCATION, SLOTS)
def test_the_canonical_sentence_is_read_as_the_same_intent(
    action: str, source: Location, destination: Location, slots: dict[str, object]
) -> None:
    intent = Intent(action=action, source=source, destination=destination, **slots)  # type: ignore[arg-type]
    checked = check_intent(intent, CONTEXT)
    if checked.outcome != "intent":
        return
    sentence = canonical_sentence(checked.intent)
    answer = read(sentence)
    assert answer.outcome == "intent", (sentence, answer.questions, answer.refusals)
    assert answer.intent.to_json() == checked.intent.to_json(), sentence
    assert answer.danger == checked.danger


@QUICK
@given(SLOTS)
def test_a_change_has_a_canonical_sentence_too(slots: dict[str, object]) -> None:
    slots.pop("include", None)
    slots.pop("exclude", None)
    slots = {name: value for name, value in slots.items() if value != ()}
    if not slots:
        return
    intent = Intent(action="modify", target=Target(ref="last"), changes=Changes(**slots))  # type: ignore[arg-type]
    sentence = canonical_sentence(intent)
    assert read(sentence).intent.to_json() == intent.to_json(), sentence


@QUICK
@given(SLOTS, SLOTS)
def test_a_patch_wins_over_what_it_patches(before: dict[str, object], patch: dict[str, object]) -> None:
    plan = Intent(action="copy", source=Location("krios1", "/a"), destination=Location("PRG", "/a"), **before)  # type: ignore[arg-type]
    changed = apply_changes(plan, Changes(**patch))  # type: ignore[arg-type]
    for name, value in before.items():
        if name not in patch:
            assert getattr(changed, name) == value
    for name, value in patch.items():
        assert getattr(changed, name) == (value if value != () else before.get(name, ()))


@QUICK
@given(LOCATION, LOCATION, SLOTS)
def test_the_json_form_goes_both_ways(source: Location, destination: Location, slots: dict[str, object]) -> None:
    intent = Intent(action="copy", source=source, destination=destination, **slots)  # type: ignore[arg-type]
    assert Intent.from_json(intent.to_json()) == intent


@QUICK
@given(st.datetimes(datetime(2026, 11, 26), datetime(2027, 12, 31)))  # noqa: DTZ001 - made aware below
def test_an_instant_is_taken_as_it_is(moment: datetime) -> None:
    ahead = moment.replace(microsecond=0, tzinfo=UTC)
    assert datetime.fromisoformat(intent_of(f"{ROUTE} by {ahead:%Y-%m-%dT%H:%M:%S}Z")["deadline"]) == ahead


def test_reading_takes_no_longer_than_its_limits_allow() -> None:
    for word in ("only ", "don't ", "( ", "every other ", "a b c ", '" '):
        assert interpret((word * 4000)[:4000], CONTEXT).outcome in ("ask", "refuse")


@pytest.mark.parametrize(
    "text",
    [
        f"{ROUTE} at 10 gig",
        f"{ROUTE} at 10 Gb/s by 6am tomorrow",
        f"{ROUTE} at 5G",
        "krios1:/a is to be copied to archive:/a",
        f"{ROUTE}, only files over 10 GB, and add sha256",
    ],
)
def test_the_reading_of_numbers_and_words_does_not_depend_on_the_ids_of_transfers(text: str) -> None:
    ids = ("10ab34cd", "6am1d2e3", "5g00aa11", "bede2233", "addf0011", "gb00ff11", "toff0099")
    known = replace(CONTEXT, transfers=tuple(TransferRef(one, mine=True) for one in ids))
    assert read(text, known).to_json() == read(text).to_json()
    assert read(text, known).questions == read(text).questions


@pytest.mark.parametrize("name", ["10", "at", "gig", "to", "files"])
def test_the_reading_of_numbers_and_words_does_not_depend_on_the_names_of_the_last_plan(name: str) -> None:
    assert CONTEXT.last is not None
    last = replace(CONTEXT.last, source=f"krios1:/raw/{name}", destination=f"archive:/{name}")
    known = replace(CONTEXT, plans=(last,))
    text = "copy the files in krios1:/a to archive:/a at 10 gig"
    assert read(text, known).to_json() == read(text).to_json()
    assert read(text, known).questions == read(text).questions


READ_ALL = """
import json, sys
from tests.pure.language.made import HERE, read
from tests.pure.language.test_gate import cases_of
for case in cases_of(HERE / "dev.jsonl"):
    answer = read(case["text"])
    print(json.dumps([answer.to_json(), [[one.slot, one.message, one.words] for one in answer.questions]]))
"""


def test_the_same_words_get_the_same_answer_in_every_process_and_thread() -> None:
    cases = [case["text"] for case in cases_of(HERE / "dev.jsonl")]
    answers = [read(text) for text in cases]
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(read, reversed(cases))) == answers[::-1]
    runs = [
        subprocess.run(
            [sys.executable, "-c", READ_ALL],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=HERE.parent.parent.parent,
            check=True,
            capture_output=True,
            timeout=60,
        ).stdout
        for seed in ("1", "2", "3")
    ]
    assert runs[0]
    assert runs[0] == runs[1] == runs[2]


@pytest.mark.parametrize("filler", ["um", "uh", "erm"])
@pytest.mark.parametrize(
    "words",
    ["skip *.tmp {} older than 2 days", "exclude {} all but *.mrc", "skip *.log {} except a.log", "at 2 {} Gb/s"],
)
def test_a_filler_changes_no_reading(words: str, filler: str) -> None:
    plain, filled = read(f"{ROUTE}, {words.replace('{} ', '')}"), read(f"{ROUTE}, {words.format(filler)}")
    assert (filled.outcome, filled.intent) == (plain.outcome, plain.intent)


def lines_for(text: str) -> int:
    """Count the lines of Python that a reading executes, a line of a loop each time."""
    lines = 0

    def count(_frame: FrameType | None, event: str, _of: object) -> "TraceFunction":
        nonlocal lines
        lines += event == "line"
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        interpret(text, CONTEXT)
    finally:
        sys.settrace(before)
    return lines


@pytest.mark.parametrize("piece", [",", "!", "(", ".", ";", " a:"])
def test_a_text_of_twice_the_length_takes_about_twice_as_much(piece: str) -> None:
    interpret(piece * 300, CONTEXT)
    assert lines_for(piece * 1200) < 2.3 * lines_for(piece * 600)
