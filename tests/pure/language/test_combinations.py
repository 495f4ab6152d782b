"""Changes that must not change a reading: options said together, courtesy around them, a wish denied twice."""

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from tests.pure.language.made import ROUTE, intent_of, read
from tests.pure.language.test_gate import CORPUS, cases_of, load_scorer

SCORE = load_scorer()
MORE = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
ROUTE_SLOTS = frozenset({"action", "source", "destination"})
# Slots whose values have a say in each other's.
TOGETHER = ({"start", "deadline", "repeat", "window"}, {"min_size", "max_size"}, {"modified_after", "modified_before"})


def tails() -> list[tuple[str, dict[str, object]]]:
    """Give what follows the places in our sentences, with the slots that it fills."""
    found = []
    for case in cases_of(CORPUS / "constructions.jsonl"):
        intent = case["expect"]["intent"]
        if case["expect"]["outcome"] != "intent" or intent["action"] not in ("copy", "move") or "then" in intent:
            continue
        opening = f"copy {intent['source']} to {intent['destination']}"
        if case["text"].startswith(opening) and len(case["text"]) < len(opening) + 60:
            tail = case["text"][len(opening) :].lstrip(" ,;").rstrip(". ")
            slots = {slot: value for slot, value in intent.items() if slot not in ROUTE_SLOTS}
            if tail:
                found.append((tail, slots))
    return found


TAILS = tails()


def test_there_are_many_tails_to_combine() -> None:
    assert len(TAILS) > 250


@MORE
@given(st.lists(st.sampled_from(TAILS), min_size=2, max_size=3), st.sampled_from([", ", "; ", ". ", " and ", " "]))
@example([("also skip *.log", {"exclude": ["*.log"]}), ("files larger than 10 GB only", {"min_size": 10**10})], " and ")
@example([("without *.tmp", {"exclude": ["*.tmp"]}), ("*.h5 only", {"include": ["*.h5"]})], ", ")
def test_options_said_together_mean_what_they_mean_apart_or_are_asked_about(
    picked: list[tuple[str, dict[str, object]]], joiner: str
) -> None:
    slots = [slot for _, said in picked for slot in said]
    assume(len(set(slots)) == len(slots))
    assume(not any(len(group.intersection(slots)) > 1 for group in TOGETHER))
    answer = read(f"{ROUTE}, {joiner.join(tail for tail, _ in picked)}")
    if answer.outcome == "intent":
        wanted: dict[str, object] = {"action": "copy", "source": "krios1:/a", "destination": "archive:/a"}
        for _, said in picked:
            wanted.update(said)
        assert SCORE.norm(answer.intent.to_json()) == SCORE.norm(wanted)


WHENS = {
    "start": [
        "an hour from now",
        "in two hours",
        "at 22:00",
        "tomorrow at 5pm",
        "not before 22:00",
        "begin Monday 08:00",
    ],
    "deadline": ["by 6am tomorrow", "must be done by Sunday 20:00", "within 3 days", "deadline 2026-11-29 12:00"],
    "window": ["only between 22:00 and 05:00", "window 22:00-05:00"],
    "repeat": ["every day at 02:00", "every Monday at 08:00", "on the 1st of every month at 03:00", "every 6 hours"],
    "age": ["only files newer than 2 days", "changed since Monday", "modified before 2026-11-01"],
}


@MORE
@given(
    st.lists(st.sampled_from(sorted(WHENS)), min_size=2, max_size=2, unique=True).flatmap(
        lambda kinds: st.tuples(*(st.sampled_from(WHENS[kind]) for kind in kinds))
    ),
    st.sampled_from([", ", "; ", " and ", " "]),
)
@example(("an hour from now", "must be done by Sunday 20:00"), ", ")
@example(("only between 22:00 and 05:00", "every day at 02:00"), " ")
@example(("changed since Monday", "at 22:00"), ", ")
def test_two_times_mean_what_they_mean_apart_or_are_asked_about(said: tuple[str, str], joiner: str) -> None:
    # Without a mark, "since Monday at 22:00" is one time.
    assume(not (joiner == " " and said[0] in WHENS["age"] and said[1].startswith("at ")))
    together, (first, second) = read(f"{ROUTE}, {joiner.join(said)}"), (intent_of(f"{ROUTE}, {one}") for one in said)
    if together.outcome == "intent":
        assert SCORE.norm(together.intent.to_json()) == SCORE.norm(first | second)


@MORE
@given(
    st.sampled_from(TAILS),
    st.sampled_from(["please ", "Hi, ", "could you please ", "Hello Anna, ", "we would like you to ", "go ahead and "]),
    st.sampled_from(["", " please", ", thanks!", ". Thank you very much.", ". Best regards, Eva"]),
)
def test_courtesy_does_not_change_a_reading(tail: tuple[str, dict[str, object]], before: str, after: str) -> None:
    words = f"{ROUTE}, {tail[0]}"
    plain, polite = read(words), read(f"{before}{words}{after}")
    assert polite.outcome == plain.outcome
    assert polite.intent == plain.intent


@pytest.mark.parametrize(
    ("words", "slot", "value"),
    [
        ("don't skip verification", "verify", "default"),
        ("never without encryption", "encryption", True),
        ("do not leave out the checksums", "verify", "default"),
        ("not unencrypted", "encryption", True),
        ("don't disable encryption", "encryption", True),
    ],
)
def test_a_wish_that_is_denied_twice_is_the_wish(words: str, slot: str, value: object) -> None:
    assert intent_of(f"{ROUTE}, {words}")[slot] == value
