"""Sentences that an attacker of the language found, by kind: each became a plan that is not what it says."""

import pytest
from tests.pure.language.made import asked, intent_of, read

from headrace.guardrails.language.phrases import listed

ORDER = "copy krios1:/a to archive:/a"
ONCE = "once krios1:/a is copied to archive:/a"


@pytest.mark.parametrize(
    "words",
    [
        f"{ORDER}, let nothing over 5 GB through unencrypted",
        f"{ORDER}, let nothing over 5 GB pass unverified",
        f"{ORDER}, let nothing over 5 GB through between 08:00 and 18:00",
        f"{ORDER}, let nothing bigger than 5 GB through except *.mrc",
        f"{ORDER}, let nothing over 5 GB through before Friday 18:00",
        f"{ONCE}, delete the originals except *.mrc",
        f"{ONCE}, delete the source *.tmp",
        f"{ONCE}, remove the originals, *.mrc only",
        f"{ONCE}, delete source files older than 30 days",
        f"{ONCE}, remove the originals on Friday at 18:00",
        f"{ONCE}, remove the originals, but not before Friday 18:00",
        "after copying krios1:/a to archive:/a, delete the originals except *.mrc",
    ],
)
def test_what_restricts_an_order_behind_it_is_not_taken_for_a_restriction_of_the_copy(words: str) -> None:
    assert read(words).outcome == "ask"


@pytest.mark.parametrize(
    "words",
    [
        "existing files should never be kept",
        "existing files must never be ignored",
        "existing files may never be skipped",
        "files that already exist must never be preserved",
        "whatever is there already must never stay",
    ],
)
def test_never_before_a_wish_is_its_opposite(words: str) -> None:
    assert read(f"{ORDER}, {words}").outcome == "ask"


@pytest.mark.parametrize(
    "words",
    [
        "files over 5 GB and *.log stay behind",
        "*.log stay behind only over 5 GB",
        "*.log over 5 GB stay behind",
        "*.tmp stay behind unless newer than 2026-11-01",
        "only *.mrc are required to be encrypted",
    ],
)
def test_names_beside_a_size_a_condition_or_a_wish_of_their_own_are_asked_about(words: str) -> None:
    answer = read(f"{ORDER}, {words}")
    assert answer.outcome == "ask"
    assert not answer.intent.include
    assert not answer.intent.exclude


@pytest.mark.parametrize(
    "end", ["Backwards", "Reverse", "Tape", "NO", "GZ", "Thanks, gzip", "Thanks, backwards", "Ta, flattened"]
)
def test_a_last_word_that_says_how_data_is_treated_signs_no_letter(end: str) -> None:
    assert read(f"Hello, {ORDER}. {end}").outcome == "ask"


def test_an_order_behind_a_correction_is_no_further_step() -> None:
    for words in ("cancel 7f3a21. Actually, resume 7f9c04", "cancel 7f3a21, actually pause it"):
        assert read(words).ask == ("action",)


def test_a_copy_that_is_to_be_no_move_deletes_nothing() -> None:
    assert read("never move krios1:/a; copy it to archive:/a then delete the originals").ask == ("delete_source",)


@pytest.mark.parametrize(
    "end",
    ["\nEagle", "\n- Prague", "\nEagle Scratch", " Thanks, Eagle", " Best, Eagle", " Regards, tape", "\nLustre"],
)
def test_a_word_of_a_places_name_signs_no_letter(end: str) -> None:
    assert read(f"Hello, {ORDER}.{end}").outcome == "ask"
    assert read(f"Hello, copy krios1:/Merlin to archive:/a.{end.replace('Eagle', 'Merlin')}").outcome == "ask"


@pytest.mark.parametrize("end", [" Erik", " JW", "\nDR", "\nMD", "\nRO"])
def test_a_word_that_no_closing_dash_or_line_of_its_own_makes_a_signature_is_asked_about(end: str) -> None:
    assert read(f"Hello, {ORDER}.{end}").outcome == "ask"


@pytest.mark.parametrize("end", ["\nErik", "\n- Erik", "\n/Erik", " Thanks, Erik", "\nAnna Novak", "\nJW", " Best, JW"])
def test_a_name_below_a_letter_or_behind_its_closing_signs_it(end: str) -> None:
    assert read(f"Hello, {ORDER}.{end}").outcome == "intent"


@pytest.mark.parametrize("joint", [", no wait, ", ", make that ", ", I meant ", " - scratch that, ", ". Oops, "])
def test_a_moment_behind_a_correction_is_of_the_kind_that_was_said_last(joint: str) -> None:
    for before in ("by", "deadline"):
        answer = read(f"{ORDER} {before} 5pm{joint}6pm")
        assert (answer.outcome, answer.intent.start) == ("intent", None)
        assert answer.intent.deadline is not None
        assert answer.intent.deadline.hour == 18


@pytest.mark.parametrize(
    "words",
    [
        "at 6pm, actually by 8pm",
        "starting at 6pm, actually by 8pm",
        "by 9pm at 2 Gb/s, actually 6pm",
        "by 9pm at 2 Gb/s, actually at 6pm",
        "by 9pm, hmm, 6pm rather",
        "by 9pm, uh, 6pm",
        "at 6pm and finish by 9pm, actually by 10pm",
        "start at 5pm, done by 9pm, make that 8pm",
        "between 22:00 and 05:00, actually tomorrow 23:00",
        "between 22:00 and 05:00, actually by 23:00",
        "every night at 02:00, actually 6pm",
        "files newer than 2026-11-01, actually 2026-11-10",
    ],
)
def test_a_correction_of_a_time_fills_no_other_slot_beside_the_one_it_may_correct(words: str) -> None:
    answer = read(f"{ORDER}, {words}")
    assert answer.outcome == "ask"
    assert (answer.intent.start, answer.intent.deadline) in ((None, None), (None, answer.intent.deadline))


@pytest.mark.parametrize(
    "words",
    [
        "let nothing under 5 GB through",
        "let nothing but *.mrc through",
        "2 Gb/s would be too much",
        "must exceed 2 Gb/s",
        "no symlinks as symlinks",
        "no encryption is on today",
        "there need be no overwriting",
        "with a limit of 2 Gb/s lifted",
        "leave everything behind except *.mrc",
        "with sha256 for this one, not the next, no wait, md5 is insecure",
    ],
)
def test_an_option_with_an_unread_word_in_its_clause_is_not_shown_as_certain(words: str) -> None:
    answer = read(f"{ORDER}, {words}")
    certain = answer.intent.to_json()
    assert answer.outcome == "ask"
    assert set(certain) - {"verify"} <= {"source", "destination"}
    assert certain.get("verify") != "md5"
    assert {said.slot for said in answer.said} - {"verify"} <= {"action", "source", "destination"}


def test_names_behind_an_except_that_nothing_follows_are_not_shown_as_taken() -> None:
    answer = read(f"To do:\n+ {ORDER}\n+ except:\n+ *.log\n+ *.tmp")
    assert (answer.outcome, answer.intent.include, answer.intent.exclude) == ("ask", (), ())


@pytest.mark.parametrize(
    "words",
    [
        "take everything from krios1:/a, {} archive:/a or PRG:/a",
        "take everything from krios1:/a, {} archive:/a if there is room",
        "copy krios1:/a to PRG:/a, {} archive:/a",
        "copy krios1:/a to PRG:/a, or {} archive:/a",
        "take everything from krios1:/a, never {} archive:/a",
        "take everything from krios1:/a, but don't {} archive:/a",
        "don't copy krios1:/a, {} archive:/a",
        "krios1:/a is broken, {} archive:/a",
        "delete krios1:/a, {} archive:/a",
        "pause 7f3a21, {} archive:/a",
        "{} archive:/a",
    ],
)
def test_putting_something_in_a_place_is_no_more_than_its_sentence_says(words: str) -> None:
    for put in ("put it in", "store them on", "save these under"):
        assert read(words.format(put)).outcome == "ask"


@pytest.mark.parametrize(
    "words",
    [
        "not each between 100 MB and 2 GB",
        "skip *.log, each between 100 MB and 2 GB",
        "each between 100 MB and 2 GB/s",
        "each between 22:00 and 05:00",
        "skip files between 100 MB and 2 GB each",
        "in chunks, each between 100 MB and 2 GB",
        "each between 100 MB and 2 GB or *.mrc",
    ],
)
def test_each_is_a_size_of_files_only_where_nothing_else_is_said_of_it(words: str) -> None:
    assert read(f"{ORDER}, {words}").outcome == "ask"


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("only files ending in _tmp.mrc", ["*_tmp.mrc"]),
        ("only files that end with report.pdf", ["*report.pdf"]),
        ("only files ending in _tmp.mrc or _raw.mrc", ["*_tmp.mrc", "*_raw.mrc"]),
        ("only files ending in .mrc", ["*.mrc"]),
        ("only files called _tmp.mrc", ["_tmp.mrc"]),
    ],
)
def test_what_names_end_in_is_no_name(words: str, names: list[str]) -> None:
    assert intent_of(f"{ORDER}, {words}")["include"] == names


@pytest.mark.parametrize(
    "behind",
    [
        "THANKS, KEEP SOURCE",
        "Thanks, TOMORROW",
        "Thanks, NOT YET",
        "Thanks, DRY RUN",
        "Thanks, ASK ME FIRST",
        "Thanks, tmw",
    ],
)
def test_words_in_capitals_behind_a_closing_sign_no_letter(behind: str) -> None:
    assert read(f"move krios1:/a to archive:/a. {behind}").outcome == "ask"


@pytest.mark.parametrize("name", ["Ada", "JRR", "JK", "Dr. A. Novak", "ADA"])
def test_names_and_initials_behind_a_closing_do(name: str) -> None:
    assert read(f"{ORDER}. Thanks, {name}").outcome == "intent"


@pytest.mark.parametrize(
    "text", ["cancel it. b2d810 is fine.", "cancel it, 7f9c04 is slow", "pause it, b2d810 needs the link"]
)
def test_a_transfer_that_news_behind_an_order_names_is_not_it(text: str) -> None:
    assert read(text).outcome == "ask"


@pytest.mark.parametrize(
    "text",
    [
        f"{ORDER}, anything but delete the source",
        f"{ORDER}, anything but unencrypted",
        f"{ORDER}, anything but at 18:00",
        "anything but cancel 7f3a21",
        "anything but confirm",
    ],
)
def test_anything_but_denies_what_follows(text: str) -> None:
    assert read(text).outcome == "ask"


def test_anything_but_some_names_leaves_these_out() -> None:
    assert intent_of("copy anything but *.tmp from krios1:/a to archive:/a")["exclude"] == ["*.tmp"]


@pytest.mark.parametrize("word", sorted(listed("reaches") - {"but", "backup", "copy", "duplicate", "first"}))  # orders
def test_a_word_that_may_reach_the_order_is_plain_nowhere(word: str) -> None:
    assert read(f"as you know it is {word}, {ORDER}").outcome != "intent"


MOVE = "move krios1:/a to archive:/a"


@pytest.mark.parametrize("words", ["no deletions", "no deletes", "without deletion"])
def test_no_deletions_beside_a_deletion_of_the_source_is_asked_about(words: str) -> None:
    assert read(f"{words}, {MOVE}").outcome == "ask"
    assert read(f"{ORDER}, {words}, delete the source").outcome == "ask"
    assert intent_of(f"{ORDER}, {words}")["action"] == "copy"


@pytest.mark.parametrize(
    "heading", ["Weekend job", "Night run", "Evening plan", "Friday's job", "Friday's list", "Excl. logs"]
)
def test_a_heading_that_may_say_when_or_what_is_asked_about(heading: str) -> None:
    assert read(f"{heading}: {MOVE}").outcome == "ask"


@pytest.mark.parametrize("noun", ["freeze", "pause", "stop", "cancel"])
def test_a_word_behind_an_article_is_no_order(noun: str) -> None:
    assert read(f"As per the {noun} plan, {MOVE}").outcome == "ask"


@pytest.mark.parametrize("often", ["", "still ", "already ", "usually ", "currently ", "regularly "])
def test_what_others_do_is_no_order(often: str) -> None:
    assert read(f"they {often}{MOVE}").outcome == "ask"


@pytest.mark.parametrize(
    "text",
    [
        f"{ORDER} as a sanitised copy",
        f"{ORDER} as a redacted backup",
        f"{MOVE} with permission",
        f"{MOVE} when it fits",
        "move 5 GB of logs from krios1:/a to archive:/a",
        "move another 5 GB of data from krios1:/a to archive:/a",
    ],
)
def test_what_a_copy_is_to_be_beside_a_copy_is_not_passed_over(text: str) -> None:
    assert read(text).outcome == "ask"


@pytest.mark.parametrize(("words", "meant"), [("with md5, not sha256", "md5"), ("with sha256, not md5", "sha256")])
def test_an_algorithm_that_is_denied_is_never_taken(words: str, meant: str) -> None:
    assert intent_of(f"{ORDER} {words}")["verify"] == meant
    assert read(f"{ORDER} not {meant}").outcome == "ask"


@pytest.mark.parametrize(
    ("words", "slot"),
    [
        ("they delete the source", "delete_source"),
        ("all jobs still delete the source", "delete_source"),
        ("these purge the originals", "delete_source"),
        ("all transfers overwrite existing files", "on_conflict"),
        ("they skip *.tmp", "exclude"),
        ("they preserve timestamps", "preserve"),
        ("they limit it to 1 Gb/s", "rate_limit_bps"),
    ],
)
def test_what_others_do_with_data_is_no_wish(words: str, slot: str) -> None:
    text = f"copy krios1:/a to archive:/a, {words}"
    assert slot in asked(text)
    assert slot not in read(text).intent.to_json()


@pytest.mark.parametrize(
    "text",
    [
        "the source will be deleted, so copy krios1:/a to archive:/a",
        "the originals are going to be wiped soon. Copy krios1:/a to archive:/a",
        "copy krios1:/a to archive:/a, the source gets deleted",
        "the source must be deleted, so copy krios1:/a to archive:/a",
    ],
)
def test_a_source_that_others_may_delete_is_not_deleted_without_a_question(text: str) -> None:
    assert "delete_source" in asked(text)
    assert read(text).intent.delete_source is None


@pytest.mark.parametrize(
    "words", ["the source gets deleted afterwards", "the source is to be deleted", "delete the source"]
)
def test_a_source_that_is_to_be_deleted_is(words: str) -> None:
    assert intent_of(f"copy krios1:/a to archive:/a, {words}")["action"] == "move"
