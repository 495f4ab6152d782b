"""How far "only", "skip" and "except" reach, over all ways that we know to say which files are taken or left out."""

import pytest
from tests.pure.language.made import ROUTE, asked_after, intent_of, read, slot_of
from tests.pure.language.test_combinations import TAILS

GIGABYTE = 10**9
TAKEN = [tail for tail, slots in TAILS if set(slots) == {"include"}]
LEFT_OUT = [tail for tail, slots in TAILS if set(slots) == {"exclude"}]


def test_there_are_ways_to_take_files_and_to_leave_them_out() -> None:
    assert len(TAKEN) > 15
    assert len(LEFT_OUT) > 25


@pytest.mark.parametrize(
    "tail", [*TAKEN, "keep only *.mrc", "we only want *.mrc", "with only *.mrc", "filter for *.mrc"]
)
@pytest.mark.parametrize(
    ("joined", "inverted"),
    [("files over 1 GB", "max_size"), ("files newer than 2 days", "modified_before"), ("files over 1 GB", "exclude")],
)
def test_a_limit_behind_what_is_taken_is_never_read_as_one_of_what_is_left_out(
    tail: str, joined: str, inverted: str
) -> None:
    answer = read(f"{ROUTE}, {tail} and {joined}")
    assert answer.outcome != "intent" or inverted not in answer.intent.to_json()


@pytest.mark.parametrize("tail", [*LEFT_OUT, "all except *.tmp", "everything but *.tmp", "keep out *.tmp"])
def test_a_limit_behind_what_is_left_out_is_never_read_as_one_of_what_is_taken(tail: str) -> None:
    answer = read(f"{ROUTE}, {tail} and files over 1 GB")
    assert answer.outcome != "intent" or "min_size" not in answer.intent.to_json()


@pytest.mark.parametrize("except_", ["except", "other than", "apart from", "but"])
@pytest.mark.parametrize("leaving", ["excluding anything", "leaving out everything", "skip all", "omit all files"])
def test_what_is_excepted_from_an_exclusion_is_all_that_is_taken(leaving: str, except_: str) -> None:
    assert intent_of(f"{ROUTE}, {leaving} {except_} *.mrc") == intent_of(f"{ROUTE}, only *.mrc")


@pytest.mark.parametrize("except_", ["except", "other than", "apart from", "but"])
def test_what_is_excepted_from_having_nothing_is_asked_about(except_: str) -> None:
    assert read(f"{ROUTE}, without anything {except_} *.mrc").outcome == "ask"


@pytest.mark.parametrize(
    ("words", "slot", "names"),
    [
        ("will you please sync krios1:/a to archive:/a, skipping *.lock?", "exclude", ["*.lock"]),
        ("can you copy krios1:/a to archive:/a, only *.tif??", "include", ["*.tif?"]),
        ("copy krios1:/a to archive:/a, only *.tif?", "include", ["*.tif?"]),
    ],
)
def test_the_mark_of_a_question_is_no_part_of_a_pattern(words: str, slot: str, names: list[str]) -> None:
    answer = read(words)
    assert answer.outcome == "intent"
    assert answer.intent.to_json()[slot] == names


@pytest.mark.parametrize(
    "told", ["I will look after it", "We will join", "The team will start on Friday", "The boss will think about it"]
)
def test_what_somebody_will_do_to_the_order_is_asked_about(told: str) -> None:
    assert read(f"{ROUTE}. {told}.").outcome == "ask"


DENIALS = ["please no", "better not", "rather not", "oh no", "no no", "not that", "better not please", "or no, no no"]


@pytest.mark.parametrize("denial", DENIALS)
@pytest.mark.parametrize("order", ["move krios1:/a to archive:/a", "overwrite, copy krios1:/a to archive:/a"])
def test_a_denial_right_before_an_order_is_never_passed_over(denial: str, order: str) -> None:
    for words in (f"{denial} {order}", f"Hi, {denial} {order}"):
        answer = read(words)
        # "no overwrite" is a wish of its own.
        assert answer.outcome == "ask" or answer.intent.on_conflict == "skip"


@pytest.mark.parametrize("taken_back", ["no, ", "no wait, ", "scratch that, ", "hold on. ", "no wait "])
def test_an_order_said_anew_is_the_order(taken_back: str) -> None:
    assert read(f"{taken_back}copy krios1:/a to archive:/a").outcome == "intent"


@pytest.mark.parametrize("mark", ["; ", ". ", ": ", "! ", " (", "\n", " - ", "; also ", ". Also "])
@pytest.mark.parametrize("leaving", ["except *.raw", "skip *.raw", "leave out *.raw", "don't copy *.raw"])
def test_names_behind_what_is_left_out_are_never_taken_without_a_question(leaving: str, mark: str) -> None:
    answer = read(f"{ROUTE}, {leaving}{mark}*.cfg{')' if '(' in mark else ''}")
    assert answer.outcome != "intent" or "include" not in answer.intent.to_json()


@pytest.mark.parametrize(
    "tail",
    [
        "files up to 10 GB in total",
        "only files up to 10 GB altogether",
        "between 08:00 and 18:00 at most 1 Gb/s",
        "from 08:00 to 18:00 no faster than 1 Gb/s",
        "low priority between 08:00 and 18:00",
        "also *.mrc",
        "*.mrc too",
        "*.mrc as well",
        "and *.mrc",
        "include *.mrc too",
        "delete extras (*.tmp)",
        "without overwriting; deleting the source",
        "excluding !*.mrc",
        "skip files over 5 GB; older than 2 days",
    ],
)
def test_what_may_be_said_of_a_part_alone_is_asked_about(tail: str) -> None:
    assert read(f"sync krios1:/a to archive:/a, {tail}").outcome == "ask"


@pytest.mark.parametrize(
    "tail",
    [
        "between 22:00 and 06:00, at most 1 Gb/s",
        "between 22:00 and 06:00 at 1 Gb/s",
        "*.mrc",
        "and only *.mrc",
        "and skip *.mrc too",
        "without temporary files (*.tmp)",
        "skip the logs, i.e. *.log",
        "skip *.tmp; modified since 2026-11-20",
        "with delete (encrypted)",
    ],
)
def test_what_is_said_of_the_whole_is_not(tail: str) -> None:
    assert read(f"sync krios1:/a to archive:/a, {tail}").outcome == "intent"


@pytest.mark.parametrize("denial", ["better not", "rather not", "please never", "I'd say no"])
@pytest.mark.parametrize("option", ["overwrite anything", "delete extras", "encrypt"])
def test_an_option_behind_a_denial_is_never_taken_as_said(denial: str, option: str) -> None:
    answer = read(f"{denial} {option}, sync krios1:/a to archive:/a")
    assert answer.outcome == "ask" or not (
        answer.intent.on_conflict == "overwrite" or answer.intent.delete_extraneous or answer.intent.encryption
    )


@pytest.mark.parametrize(
    ("words", "bounds"),
    [
        ("only what was recorded today after 09:30", ("2026-11-25T09:30:00-06:00", None)),
        ("only files changed yesterday before 10:00", ("2026-11-24T00:00:00-06:00", "2026-11-24T10:00:00-06:00")),
        ("only files from Monday from 18:00 on", ("2026-11-23T18:00:00-06:00", "2026-11-24T00:00:00-06:00")),
        ("yesterday's files after 18:00", ("2026-11-24T18:00:00-06:00", "2026-11-25T00:00:00-06:00")),
        (
            "only files changed yesterday between 10:00 and 12:00",
            ("2026-11-24T10:00:00-06:00", "2026-11-24T12:00:00-06:00"),
        ),
    ],
)
def test_hours_behind_the_day_of_some_files_are_of_that_day(words: str, bounds: tuple[str, str | None]) -> None:
    intent = intent_of(f"copy krios1:/a to archive:/a, {words}")
    assert (intent["modified_after"], intent.get("modified_before")) == bounds
    assert not intent.keys() & {"start", "deadline", "window"}


@pytest.mark.parametrize(
    "words",
    [
        "files modified since Monday until 18:00",
        "files changed yesterday before 5",
        "files newer than 2 days between 22:00 and 05:00",
        "files changed before Monday after 18:00",
    ],
)
def test_hours_behind_a_choice_of_files_by_time_are_asked_about_where_they_may_be_of_either(words: str) -> None:
    assert read(f"copy krios1:/a to archive:/a, {words}").outcome == "ask"


@pytest.mark.parametrize(
    ("words", "slots"),
    [
        ("don't delete the source before 18:00", {"delete_source", "deadline"}),
        ("no need to delete the source before 18:00", {"delete_source", "deadline"}),
        ("keep the source from 18:00 on", {"delete_source", "start"}),
        ("the originals must not be deleted before 18:00", {"delete_source", "deadline"}),
        ("the source can be deleted after 18:00", {"delete_source", "start"}),
        ("existing files must not be overwritten before 18:00", {"on_conflict", "deadline"}),
        ("avoid overwriting after 18:00", {"on_conflict", "start"}),
    ],
)
def test_the_time_of_what_is_to_stay_or_to_go_is_not_that_of_the_transfer(words: str, slots: set[str]) -> None:
    assert asked_after(words) == slots


@pytest.mark.parametrize(
    ("words", "slot"),
    [
        ("don't overwrite anything, at 18:00", "start"),
        ("without overwriting at 18:00", "start"),
        ("don't delete the source, by 18:00", "deadline"),
    ],
)
def test_a_time_behind_a_mark_or_a_noun_is_that_of_the_transfer(words: str, slot: str) -> None:
    assert slot_of(words, slot) == "2026-11-25T18:00:00-06:00"


@pytest.mark.parametrize("words", ["with deletions", "and delete what is gone at the source"])
def test_what_a_sync_deletes_is_deleted_when_it_runs(words: str) -> None:
    intent = intent_of(f"sync krios1:/a to archive:/a {words} every night at 2am")
    assert intent["delete_extraneous"] is True
    assert "repeat" in intent
