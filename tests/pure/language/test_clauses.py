"""A clause that is no request is one question, and what it says is not certain."""

import pytest
from tests.pure.language.made import ROUTE, intent_of, read

CONDITION = "a plan has no conditions"
QUESTION = "this reads as a question"
STATEMENT = "this reads as a statement"


def questions(text: str) -> list[tuple[str, str]]:
    """Give what a request is asked: the slot, and the message."""
    answer = read(text)
    assert answer.outcome == "ask", (text, answer.to_json())
    return [(question.slot, question.message) for question in answer.questions]


@pytest.mark.parametrize(
    "clause",
    [
        "if there are at least 10 TB free",
        "unless the link is busy",
        "provided that the disk has room",
        "only if the quota holds",
        "in case the detector is idle",
    ],
)
@pytest.mark.parametrize("pattern", ["{route} {clause}", "{clause}, {route}"])
def test_a_condition_is_one_question_about_what_to_do(clause: str, pattern: str) -> None:
    ((slot, message),) = questions(pattern.format(route=ROUTE, clause=clause))
    assert slot == "action"
    assert CONDITION in message
    assert clause in message


@pytest.mark.parametrize(
    "clause", ["as soon as the beamtime is over", "when 7f3a21 is done", "once the disk is mounted"]
)
def test_a_wait_for_something_is_one_question_about_the_start(clause: str) -> None:
    ((slot, message),) = questions(f"{ROUTE} {clause}")
    assert slot == "start"
    assert CONDITION in message


@pytest.mark.parametrize(
    "text",
    [
        "how much space is left on archive?",
        "what endpoints are there?",
        "did you copy the new runs?",
        "why is the network so slow",
    ],
)
def test_a_question_is_asked_about_once_and_nothing_of_it_is_certain(text: str) -> None:
    ((slot, message),) = questions(text)
    assert slot == "action"
    assert QUESTION in message
    assert read(text).intent.to_json() == {}


@pytest.mark.parametrize(
    "text", ["has krios1:/a been copied to archive:/b yet?", "how do I copy krios1:/a to archive:/b"]
)
def test_the_places_that_a_question_spells_out_stay_certain_and_its_verb_does_not(text: str) -> None:
    ((slot, _),) = questions(text)
    assert slot == "action"
    assert read(text).intent.to_json() == {"source": "krios1:/a", "destination": "archive:/b"}


def test_a_statement_about_an_endpoint_is_no_request() -> None:
    ((slot, message),) = questions("krios1 is broken")
    assert slot == "action"
    assert STATEMENT in message


@pytest.mark.parametrize("text", ["is 7f3a21 finished yet?", "which transfers failed?", "any failed transfers today?"])
def test_a_question_about_transfers_is_a_request(text: str) -> None:
    assert read(text).intent.action in ("status", "list")
    assert read(text).outcome == "intent"


@pytest.mark.parametrize("kind", ["recurring", "regular", "scheduled", "ongoing"])
def test_a_repeated_job_without_its_times_is_asked_about(kind: str) -> None:
    assert [slot for slot, _ in questions(f"set up a {kind} sync of krios1:/a to archive:/a")] == ["repeat"]


@pytest.mark.parametrize(
    "text", ["hi Anna Nováková, {route}", "{route}. Thanks, Petr Novák", "hey team, {route}. cheers, petr"]
)
def test_a_greeting_and_a_signature_own_their_names(text: str) -> None:
    assert read(text.format(route=ROUTE)).outcome == "intent"


@pytest.mark.parametrize(
    "text", ["hi anna sneakily, {route}", "{route}. thanks petr sneakily", "the unprocessed data {route}"]
)
def test_what_is_no_name_beside_a_greeting_is_asked_about(text: str) -> None:
    assert read(text.format(route=ROUTE)).outcome == "ask"


def test_a_clause_that_ends_in_so_says_why() -> None:
    assert read(f"the scratch quota runs out soon, so {ROUTE}").outcome == "intent"


@pytest.mark.parametrize("why", ["krios1:/b is old", "nothing but *.tmp is junk", "the disk fills tomorrow at 6"])
def test_a_clause_that_ends_in_so_and_says_more_than_why_is_asked_about(why: str) -> None:
    assert read(f"{why}, so {ROUTE}").outcome == "ask"


@pytest.mark.parametrize("text", ["ok go ahead", "that is correct", "yes, do that", "sounds right, go ahead"])
def test_the_reading_that_owns_every_word_wins_over_the_longest_phrase(text: str) -> None:
    assert read(text).intent.action == "confirm"
    assert read(text).outcome == "intent"


@pytest.mark.parametrize("why", ["because NCSA is nearly full", "because the quota at NCSA is nearly exhausted"])
def test_a_reason_may_name_an_endpoint(why: str) -> None:
    assert read(f"{ROUTE} {why}").outcome == "intent"


def test_as_our_opens_a_reason_only_with_a_verb() -> None:
    assert read(f"as our quota is nearly full, {ROUTE}").outcome == "intent"
    assert read(f"as our robot account, {ROUTE}").outcome == "ask"


def test_a_name_after_a_bare_but_is_not_taken_for_the_only_one() -> None:
    assert read(f"{ROUTE} but *.bak").outcome == "ask"
    assert read(f"{ROUTE}, all files but *.bak").intent.exclude == ("*.bak",)


def test_a_repeated_job_takes_the_times_that_are_said_of_it() -> None:
    answer = read("set up a recurring sync of krios1:/a to archive:/a every night at 2am")
    assert answer.outcome == "intent"
    assert answer.intent.repeat == "FREQ=DAILY;BYHOUR=2;BYMINUTE=0"


@pytest.mark.parametrize("words", ["afterwards only *.log", "then skip *.tmp"])
def test_a_choice_of_files_that_comes_later_is_asked_about(words: str) -> None:
    assert read(f"{ROUTE}, {words}").outcome == "ask"


@pytest.mark.parametrize("text", ["we have a copy of krios1:/a on archive:/a", "I needed krios1:/a on archive:/a"])
def test_what_is_there_or_was_wanted_is_no_request(text: str) -> None:
    assert read(text).outcome == "ask"


@pytest.mark.parametrize(
    "words",
    [
        "so that nobody else can see the result",
        "so that the old version stays",
        "so that PRG is free again",
        "because Anna wants it twice",
        "because encryption is pointless",
        "because the destination is stale",
        "so we have it twice",
    ],
)
def test_a_reason_that_states_a_wish_is_asked_about(words: str) -> None:
    assert read(f"{ROUTE} {words}").outcome == "ask"


@pytest.mark.parametrize(
    "words",
    [
        "so that Anna can work on it",
        "so we can analyse it",
        "because the beamtime starts",
        "so that our team can use it",
    ],
)
def test_a_reason_that_only_says_why_is_none_of_the_request(words: str) -> None:
    assert intent_of(f"{ROUTE} {words}") == intent_of(ROUTE)


@pytest.mark.parametrize("names", ["Dr. A. Novak", "J", "QA", "Prof. Jana K."])
def test_names_below_the_end_of_a_letter_are_no_request(names: str) -> None:
    assert intent_of(f"{ROUTE}.\nKind regards,\n{names}") == intent_of(ROUTE)


@pytest.mark.parametrize("words", ["Eva, delete the source", "Move it", "Tom, not to archive"])
def test_a_wish_below_the_end_of_a_letter_is_no_name(words: str) -> None:
    assert read(f"{ROUTE}.\nKind regards,\n{words}").to_json()["intent"] != intent_of(ROUTE)
