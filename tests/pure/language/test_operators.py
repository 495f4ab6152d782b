"""No, yes, a question mark, "scratch that": each acts on what it is said of, or is asked about."""

import pytest
from tests.pure.language.made import ROUTE, asked, intent_of, read, slot_of

MOVE = "move krios1:/a to archive:/a"


@pytest.mark.parametrize(
    "words", [". Scratch that.", " - hold on", ", actually no", ". No.", ". I changed my mind.", ", oops, sorry"]
)
def test_what_is_taken_back_is_never_carried_out(words: str) -> None:
    assert "action" in asked(f"{MOVE}{words}")


def test_a_value_said_anew_takes_the_place_of_the_one_before_it() -> None:
    assert intent_of(f"{ROUTE} at 2 Gb/s, no wait, 3 Gb/s")["rate_limit_bps"] == 3 * 10**9
    assert intent_of("copy krios1:/a to PRG:/a - sorry, I meant to archive:/a")["destination"] == "archive:/a"
    assert slot_of("with high priority, actually with low priority", "priority") == "low"


def test_an_end_said_anew_leaves_the_options_between_as_they_are() -> None:
    intent = intent_of("copy krios1:/a to PRG:/a at 2 Gb/s, I mean to archive:/a")
    assert (intent["destination"], intent["rate_limit_bps"]) == ("archive:/a", 2 * 10**9)


@pytest.mark.parametrize(
    ("words", "slot"),
    [
        ("no wait, to NCSA:/a as well", "destination"),
        ("sorry, to NCSA:/a or to PRG:/a", "destination"),
        ("no wait, to NCSA:/a and to PRG:/a", "destination"),
        ("no wait, to ncsa", "destination"),
    ],
)
def test_a_second_value_that_does_not_clearly_replace_the_first_is_asked_about(words: str, slot: str) -> None:
    assert slot in asked(f"{ROUTE}, {words}")


@pytest.mark.parametrize(
    "words",
    [
        "and delete the source, no wait, to NCSA:/a",
        "overwrite existing files, sorry, to NCSA:/a",
        "at 2 Gb/s, or rather at 1 Gb/s",
        "at 2 Gb/s, no, 1 Gb/s",
        "skip *.tmp, no wait, skip *.log",
    ],
)
def test_what_else_may_be_taken_back_is_asked_about(words: str) -> None:
    assert read(f"{ROUTE}, {words}").outcome == "ask"


def test_an_order_that_is_denied_and_said_otherwise_is_the_other() -> None:
    assert intent_of("don't move krios1:/a, just copy it to archive:/a")["action"] == "copy"
    assert read("don't copy krios1:/a, just move it to archive:/a").outcome == "ask"
    assert read("don't move krios1:/a to archive:/a").outcome == "ask"


@pytest.mark.parametrize(("words", "action"), [("delete the originals", "move"), ("keep the source", "copy")])
def test_what_becomes_of_the_source_says_what_an_unclear_verb_means(words: str, action: str) -> None:
    assert intent_of(f"evacuate krios1:/a to archive:/a and {words}")["action"] == action


def test_an_unclear_verb_with_both_or_neither_is_asked_about() -> None:
    assert "action" in asked("evacuate krios1:/a to archive:/a")
    assert "action" in asked("evacuate krios1:/a to archive:/a, delete the source, keep the source")


@pytest.mark.parametrize(
    ("words", "algorithm"), [("sha256 isn't needed, use md5", "md5"), ("not md5 but sha-256", "sha256")]
)
def test_of_two_algorithms_the_one_that_is_not_denied_holds(words: str, algorithm: str) -> None:
    assert slot_of(words, "verify") == algorithm


def test_a_word_that_opens_a_correction_corrects_the_last_plan() -> None:
    assert intent_of("no wait, make it 3 Gb/s")["action"] == "modify"


@pytest.mark.parametrize("words", ["overwrite: no", "Overwrite? No."])
def test_an_overwrite_that_is_denied_is_none(words: str) -> None:
    assert slot_of(words, "on_conflict") == "skip"


@pytest.mark.parametrize("words", ["delete the source: no", "Delete the source? No!"])
def test_a_delete_that_is_denied_is_none(words: str) -> None:
    answer = read(f"{ROUTE}, {words}")
    assert answer.to_json()["intent"] == {"action": "copy", "source": "krios1:/a", "destination": "archive:/a"}
    assert answer.danger == ()


@pytest.mark.parametrize("words", ["*.tmp: no", "sha256? no.", "high priority: no"])
def test_another_option_that_is_denied_is_asked_about(words: str) -> None:
    assert read(f"{ROUTE}, {words}").outcome == "ask"


@pytest.mark.parametrize(
    "text", [f"{ROUTE}, delete the source?", f"{ROUTE}. Overwrite existing files?", "cancel 7f3a21?", f"{MOVE}?"]
)
def test_a_question_is_no_order(text: str) -> None:
    assert read(text).outcome == "ask"


@pytest.mark.parametrize(
    "text", [f"could you {ROUTE}?", f"{ROUTE}?", "would you mind copying krios1:/a to archive:/a?"]
)
def test_a_polite_question_is_a_request(text: str) -> None:
    assert intent_of(text)["action"] == "copy"


@pytest.mark.parametrize(
    "tail",
    ["by anna", "matching lyso", "except the cryo ones", "except b2d810", "during beamtime", "instead", "from now on"],
)
@pytest.mark.parametrize("verb", ["cancel", "pause", "resume"])
def test_a_word_that_does_not_reach_the_order_is_asked_about(verb: str, tail: str) -> None:
    assert read(f"{verb} all transfers {tail}").outcome == "ask"


def test_one_transfer_and_all_of_them_is_a_contradiction() -> None:
    assert asked("cancel all transfers, b2d810") == {"target"}


@pytest.mark.parametrize("words", ["but not krios1:/raw/phi", ", except /raw/phi", ", leave out krios1:/raw/phi"])
def test_a_place_below_the_source_that_is_left_out_becomes_a_question_about_names(words: str) -> None:
    answer = read(f"copy krios1:/raw to archive:/raw {words}")
    assert set(answer.ask) == {"exclude"}
    assert [choice.value for question in answer.questions for choice in question.choices] == ["exclude phi/"]


@pytest.mark.parametrize("text", [f"{ROUTE} once complete", f"once finished, {ROUTE}", f"when it's done, {ROUTE}"])
def test_a_condition_without_a_step_before_and_after_it_is_asked_about(text: str) -> None:
    assert asked(text) == {"start"}


def test_a_condition_between_two_steps_only_orders_them() -> None:
    assert intent_of(f"{ROUTE}, and once done delete the source")["action"] == "move"


def test_a_but_that_nothing_follows_is_asked_about() -> None:
    assert asked(f"{ROUTE}, but data") == {"exclude"}


def test_a_day_that_returns_does_not_vanish_from_an_order() -> None:
    assert asked("cancel b2d810 on Fridays") == {"repeat"}


def test_a_question_says_where_its_words_stand_and_not_where_the_same_words_stand_first() -> None:
    text = "sync dtn3:/zorp to archive:/b zorp *.tmp"
    question = next(one for one in read(text).questions if one.words == "zorp")
    assert (question.start, question.end) == (30, 34)


def test_a_question_about_words_that_stand_twice_names_no_place() -> None:
    question = read(f"{ROUTE} zorp, encrypted, zorp").questions[0]
    assert (question.words, question.start, question.end) == ("zorp", None, None)


@pytest.mark.parametrize("order", ["cancel", "Pause.", "kill"])
def test_an_order_about_transfers_right_after_a_new_one_is_asked_about(order: str) -> None:
    assert "action" in asked(f"{MOVE}. {order}")


@pytest.mark.parametrize(
    ("words", "slot"),
    [
        ("overwrite only *.log", "include"),
        ("overwriting nothing but *.log", "include"),
        ("overwrite existing files except *.log", "exclude"),
        ("verify only *.mrc", "include"),
        ("encrypt everything except *.log", "exclude"),
        ("delete the source but only *.tmp", "include"),
        ("delete extras older than 3 days", "modified_before"),
        ("verify it at 18:00", "start"),
        ("overwrite existing files between 22:00 and 05:00", "window"),
    ],
)
def test_what_is_said_of_an_option_alone_is_not_taken_for_the_whole_transfer(words: str, slot: str) -> None:
    assert slot in asked(f"sync krios1:/a to archive:/a, {words}")


@pytest.mark.parametrize(
    "words",
    ["overwrite existing files, skip *.tmp", "encrypted, only *.mrc", "encrypted at 18:00", "verify it by 18:00"],
)
def test_what_is_said_after_an_option_counts_for_the_whole_transfer(words: str) -> None:
    assert read(f"{ROUTE}, {words}").outcome == "intent"


def test_a_yes_with_another_order_after_but_is_asked_about() -> None:
    assert asked("yes but first cancel 7f3a21") == {"action"}


@pytest.mark.parametrize(
    "words",
    [
        "no files over 1 GB except *.h5",
        "skip *.log except run.log",
        "nothing over 1 GB, except *.h5",
        "all except *.tmp except keep.tmp",
    ],
)
def test_an_exception_from_what_is_left_out_is_asked_about(words: str) -> None:
    assert "exclude" in asked(f"{ROUTE}, {words}")


@pytest.mark.parametrize("words", ["must start by 18:00", "start it before 18:00", "not starting after 18:00"])
def test_a_latest_start_is_no_start_and_no_deadline(words: str) -> None:
    assert "start" in asked(f"{ROUTE}, {words}")
    assert read(f"{ROUTE}, {words}").intent.deadline is None


@pytest.mark.parametrize(
    "words",
    [
        "omit every file but *.mrc",
        "exclude all but *.mrc",
        "leave out all files other than *.mrc",
        "leave everything out except *.mrc",
        "don't copy anything but *.mrc",
    ],
)
@pytest.mark.parametrize("order", [f"{ROUTE}, ", f"{MOVE}, ", "yes, but ", ""])
def test_the_exception_of_an_exclusion_is_all_that_is_taken(order: str, words: str) -> None:
    assert intent_of(f"{order}{words}") == intent_of(f"{order}only *.mrc")


@pytest.mark.parametrize(
    "words", ["leave nothing out except *.tmp", "exclude nothing but *.tmp", "don't skip anything other than *.tmp"]
)
def test_what_is_excepted_from_leaving_nothing_out_is_left_out(words: str) -> None:
    assert intent_of(f"{ROUTE}, {words}") == intent_of(f"{ROUTE}, skip *.tmp")


@pytest.mark.parametrize(
    ("words", "slot"),
    [
        ("skip *.log, not a.log", "exclude"),
        ("don't exclude everything but *.mrc", "include"),
        ("never skip everything but *.mrc", "include"),
        ("exclude everything but *.mrc and files over 1 GB", "min_size"),
        ("don't send anything but *.mrc after 18:00", "include"),
        ("encrypt everything but *.mrc", "encryption"),
        ("don't overwrite anything but *.mrc", "on_conflict"),
    ],
)
def test_the_exception_of_an_exclusion_is_not_left_out_without_a_question(words: str, slot: str) -> None:
    assert slot in asked(f"{ROUTE}, {words}")


@pytest.mark.parametrize("skip", ["skip", "exclude", "without", "but not"])
@pytest.mark.parametrize("limit", ["older than 2 days", "larger than 1 GB", "which changed since yesterday"])
def test_an_age_or_size_of_names_that_are_left_out_is_not_said_of_all_files(skip: str, limit: str) -> None:
    assert read(f"{ROUTE}, {skip} *.tmp {limit}").outcome == "ask"


def test_an_exception_to_a_limit_is_asked_about() -> None:
    assert asked(f"{ROUTE}, max size 1 GB except for *.mrc") == {"exclude"}


@pytest.mark.parametrize("words", ["files over 1 GB, all *.log too", "files newer than 2 days and all *.log"])
def test_names_in_addition_to_a_size_or_an_age_are_asked_about(words: str) -> None:
    assert "include" in asked(f"{ROUTE}, {words}")


@pytest.mark.parametrize(
    ("words", "slot"),
    [
        ("*.mrc encrypted", "include"),
        ("*.mrc at 2 Gb/s", "include"),
        ("*.mrc with high priority", "include"),
    ],
)
def test_an_option_right_after_names_may_be_said_of_them_alone(words: str, slot: str) -> None:
    assert slot in asked(f"{ROUTE}, {words}")


@pytest.mark.parametrize("order", [ROUTE, MOVE, "pause 7f3a21", "cancel 7f3a21", "yes", f"{ROUTE} encrypted"])
@pytest.mark.parametrize(
    "end", [" and", " and then", ", then", " plus", " and also.", ", after that", " and please", " and then the"]
)
def test_a_sentence_that_ends_in_a_conjunction_is_cut_off(order: str, end: str) -> None:
    assert "action" in asked(f"{order}{end}")


@pytest.mark.parametrize("end", [", too", " as well", ", and thanks", " please", " right now"])
def test_a_sentence_that_ends_in_an_adverb_is_whole(end: str) -> None:
    assert read(f"{ROUTE}, encrypted{end}").outcome == "intent"


@pytest.mark.parametrize(
    "words", ["exclude *", "only a.h5, no *.h5", "only *.mrc except *.mrc", "include raw/x.mrc, exclude raw/"]
)
def test_names_that_are_taken_and_left_out_alike_are_asked_about(words: str) -> None:
    assert asked(f"{ROUTE}, {words}") == {"exclude"}


@pytest.mark.parametrize("words", ["next to", "beside", "near"])
def test_a_place_beside_another_is_asked_about(words: str) -> None:
    assert "destination" in asked(f"copy krios1:/a {words} archive:/a")


@pytest.mark.parametrize("words", ["a file", "another file", "one image", "a folder", "the first file"])
def test_one_of_the_files_is_not_the_whole_folder(words: str) -> None:
    assert read(f"copy {words} from krios1:/a to archive:/a").outcome == "ask"


@pytest.mark.parametrize("opening", ["thanks but no.", "hello but no.", "ok, but no!", "thank you, but no."])
def test_a_no_behind_a_but_is_never_passed_over(opening: str) -> None:
    assert "action" in asked(f"{opening} Copy krios1:/a to archive:/a")


@pytest.mark.parametrize("files", ["best micrographs", "final stacks", "good scans", "failed movies", "small files"])
@pytest.mark.parametrize("pattern", ["the {} (*.mrc)", "only the {} (*.mrc)", "the {}, *.mrc,"])
def test_a_pattern_does_not_say_which_files_are_the_best(files: str, pattern: str) -> None:
    answer = read(f"copy {pattern.format(files)} from krios1:/a to archive:/a")
    assert answer.outcome == "ask"
    assert any(files in (question.words or "") for question in answer.questions)


def test_a_size_says_which_files_are_small() -> None:
    assert slot_of("only small files (up to 64 KiB)", "max_size") == 65536


def test_a_word_that_closes_a_letter_says_which_files_inside_a_request() -> None:
    assert read("copy best *.mrc from krios1:/a to archive:/a").outcome == "ask"
    assert intent_of("Copy krios1:/a to archive:/a. Best, Anna")["action"] == "copy"


@pytest.mark.parametrize("words", ["the run starts at 22:00", "the data was taken on Tuesday"])
def test_what_is_told_of_the_data_is_no_option(words: str) -> None:
    assert read(f"{ROUTE}, {words}").outcome == "ask"
    assert read(f"{words}. {ROUTE}").outcome == "ask"


@pytest.mark.parametrize(
    "words",
    [
        "everything queued after noon",
        "everything paused at 18:00",
        "all transfers from 18:00",
        "all jobs that run at 20:00",
    ],
)
def test_a_time_that_may_say_which_transfers_are_meant_is_asked_about(words: str) -> None:
    assert "start" in asked(f"cancel {words}")


def test_a_time_to_stop_all_transfers_at_is_taken() -> None:
    assert intent_of("pause all transfers at 18:00")["start"] == "2026-11-25T18:00:00-06:00"
