"""Times that are days away, deadlines, hours, repetitions, amounts and ages, said as people say them."""

from typing import Any

import pytest
from tests.pure.language.made import ROUTE, asked, asked_after, intent_of, read, slot_of

SATURDAY = "2026-11-28T06:00:00-06:00"
MONDAY = "2026-12-02T10:00:00-06:00"
EVENING = "2026-11-25T20:00:00-06:00"
FRIDAY = "2026-11-27T17:00:00-06:00"
NIGHTLY = "FREQ=DAILY;BYHOUR=2;BYMINUTE=0"
NIGHT, OFF_HOURS = ["22:00", "05:00"], ["18:00", "08:00"]
AGED = {"action": "copy", "source": "dtn3:/n14", "destination": "NCSA:/n14"}
TWENTIETH = "2026-11-20T00:00:00-06:00"
GIGABYTE = 1_000_000_000


@pytest.mark.parametrize(
    ("words", "start"),
    [
        ("three days from now at 06:00", SATURDAY),
        ("three days hence at 06:00", SATURDAY),
        ("at 6am three days from now", SATURDAY),
        ("in three days' time at 06:00", SATURDAY),
        ("at 06:00 in three days", SATURDAY),
        ("three days from today at 6 in the morning", SATURDAY),
        ("two days after tomorrow at 06:00", SATURDAY),
        ("starting Sat. 28 Nov. at 06:00", SATURDAY),
        ("starting Nov. 28 at 6 a.m. local time", SATURDAY),
        ("a week from today at 10:00", MONDAY),
        ("one week from now at 10:00", MONDAY),
        ("tonight, say at 20:00", EVENING),
        ("at eight this evening", EVENING),
        ("at 20:00 (local)", EVENING),
        ("at 20:00 hrs", EVENING),
        ("at 8 p.m. today", EVENING),
        ("as from 20:00", EVENING),
        ("under no circumstances before 20:00", EVENING),
        ("firing at 20:00", EVENING),
        ("earliest start 20:00", EVENING),
        ("start date 25 November, 20:00", EVENING),
        ("in three quarters of an hour", "2026-11-25T15:15:00-06:00"),
        ("starting at 12 noon tomorrow", "2026-11-26T12:00:00-06:00"),
    ],
)
def test_a_start_is_a_day_that_is_so_far_away_with_its_time(words: str, start: str) -> None:
    assert slot_of(words, "start") == start


@pytest.mark.parametrize(
    "words",
    [
        "three days from now",
        "three days from now at 6",
        "about three days from now at 06:00",
        "not three days from now at 06:00",
        "a few days from now at 06:00",
        "a month from now at 06:00",
        "three days ago at 06:00",
        "three days after Friday at 06:00",
        "in three days at 06:00 or 07:00",
        "on Nov. 31 at 10:00",
        "at 18:00 (CST)",
        "at ~18:00",
    ],
)
def test_a_day_that_is_away_without_one_time_is_asked_about(words: str) -> None:
    assert "start" in asked_after(words) or "repeat" in asked_after(words)


@pytest.mark.parametrize("words", ["every three days from now at 06:00", "each three days hence at 18:00"])
def test_a_day_that_there_is_once_is_no_repetition(words: str) -> None:
    assert asked_after(words) == {"repeat"}


@pytest.mark.parametrize(
    "words",
    [
        "has to have been completed by Friday 17:00",
        "it must have arrived by Friday 17:00",
        "have everything across by Friday 17:00",
        "done and dusted by Friday 17:00",
        "so that it's there by Friday 17:00",
        "so we have it by Friday 17:00",
        "the users need it by Friday 17:00",
        "the latest it may finish is Friday 17:00",
        "the deadline being Friday 17:00",
        "cut-off Friday 17:00",
        "target completion Friday 17:00",
        "by 5 p.m. Friday",
        "by 17:00 in two days",
        "needed Friday 17:00",
        "must be finished on Friday by 17:00",
        "Friday 17:00 at the very latest",
        "it can't be later than Friday 17:00",
        "not a minute later than Friday 17:00",
        "due two days from now at 17:00",
    ],
)
def test_a_deadline_is_when_it_must_be_done(words: str) -> None:
    assert intent_of(f"{ROUTE}, {words}") == intent_of(f"{ROUTE}, by 2026-11-27 17:00")


@pytest.mark.parametrize(
    "words",
    [
        "ought to have been finished by Friday 17:00",
        "is to have been delivered by Friday 17:00",
        "has to have been secured by Friday 17:00",
        "has to have been received by Friday 17:00",
    ],
)
def test_what_is_wanted_is_never_told_as_news(words: str) -> None:
    answer = read(f"{ROUTE}, {words}")
    assert answer.outcome == "ask" or "deadline" in answer.intent.to_json()


@pytest.mark.parametrize(
    "words", ["it may take at most 3 hours", "done in 3 hours or less", "you have 3 hours", "within 3 hours from now"]
)
def test_a_deadline_is_as_far_away_as_it_may_take(words: str) -> None:
    assert slot_of(words, "deadline") == "2026-11-25T17:30:00-06:00"


def test_a_start_and_when_it_is_to_finish_are_both_heard() -> None:
    assert slot_of("start 20:00, finish 23:00", "deadline") == "2026-11-25T23:00:00-06:00"


@pytest.mark.parametrize(
    "words",
    [
        "no deadline at Friday 17:00",
        "not needed Friday 17:00",
        "it was needed Friday 17:00",
        "needed after Friday 17:00",
        "the node is needed Friday 17:00",
        "it could be later than Friday 17:00",
        "must not be finished on Friday by 17:00",
        "the deadline was Friday 17:00",
        "it need not have finished by Friday 17:00",
        "it must have started by Friday 17:00",
        "it would have finished by Friday 17:00",
        "the courier must have arrived by Friday 17:00",
        "have it checked by Friday 17:00",
        "so that it isn't there by Friday 17:00",
        "so that we can delete it by Friday 17:00",
        "no group needs it by Friday 17:00",
        "the group needed it by Friday 17:00",
        "the earliest it may finish is Friday 17:00",
        "it may take at least 3 hours",
        "done in 3 hours or so",
        "you have 3 hours of data",
        "you don't have 3 hours",
        "within 3 days at 06:00",
        "it started 20:00 and finished 23:00",
    ],
)
def test_what_only_looks_like_a_deadline_is_asked_about(words: str) -> None:
    assert read(f"{ROUTE}, {words}").outcome == "ask"


@pytest.mark.parametrize(
    ("words", "hours"),
    [
        ("run solely between 10pm and 5am", NIGHT),
        ("just between 10 p.m. and 5 a.m.", NIGHT),
        ("it should only be active from 22:00 till 05:00", NIGHT),
        ("with a nightly window from 22:00 until 05:00", NIGHT),
        ("steer clear of 08:00-18:00", OFF_HOURS),
        ("keep it paused from 08:00 to 18:00", OFF_HOURS),
        ("no activity from 08:00 to 18:00", OFF_HOURS),
        ("outside the hours of 08:00 to 18:00", OFF_HOURS),
    ],
)
def test_the_hours_are_those_in_which_it_runs(words: str, hours: list[str]) -> None:
    assert slot_of(words, "window") == hours


@pytest.mark.parametrize(
    "words",
    [
        "not exclusively between 22:00 and 05:00",
        "it was paused from 08:00 to 18:00",
        "the node should be quiet from 08:00 to 18:00",
        "no heavy traffic between 08:00 and 18:00",
        "with no window from 22:00 until 05:00",
    ],
)
def test_hours_of_something_else_are_asked_about(words: str) -> None:
    assert read(f"{ROUTE}, {words}").outcome == "ask"


@pytest.mark.parametrize(
    ("words", "rule"),
    [
        ("once daily at 02:00", NIGHTLY),
        ("as a nightly job, 02:00", NIGHTLY),
        ("set it up as a daily transfer at 02:00", NIGHTLY),
        ("night after night at 02:00", NIGHTLY),
        ("to run every day at 02:00", NIGHTLY),
        ("every day of the week at 02:00", NIGHTLY),
        ("at intervals of six hours", "FREQ=HOURLY;INTERVAL=6"),
        ("every 1.5 hours", "FREQ=MINUTELY;INTERVAL=90"),
        ("every quarter of an hour", "FREQ=MINUTELY;INTERVAL=15"),
        ("every Tuesday as well as every Thursday at 02:00", "FREQ=WEEKLY;BYDAY=TU,TH;BYHOUR=2;BYMINUTE=0"),
    ],
)
def test_a_repetition_is_as_often_as_it_says(words: str, rule: str) -> None:
    assert slot_of(words, "repeat") == rule


@pytest.mark.parametrize(
    "words",
    [
        "as a daily job",
        "not as a daily job at 02:00",
        "is it a daily job at 02:00?",
        "every day of the week but Sunday at 02:00",
        "every Tuesday but not Thursday at 02:00",
        "at irregular intervals of 6 hours",
        "anything but daily at 02:00",
        "not to run every day at 02:00",
    ],
)
def test_a_repetition_that_is_denied_or_open_is_asked_about(words: str) -> None:
    assert read(f"{ROUTE}, {words}").outcome == "ask"


@pytest.mark.parametrize(
    ("words", "slot", "value"),
    [
        ("nothing larger than ten megabytes", "max_size", GIGABYTE // 100),
        ("files up to and including 1 GB only", "max_size", GIGABYTE),
        ("only take files that weigh more than 1 GB", "min_size", GIGABYTE),
        ("each file at most 1 GB", "max_size", GIGABYTE),
        ("limit bandwidth usage to 2 Gb/s", "rate_limit_bps", 2_000_000_000),
        ("2 Gb/s and not a bit more", "rate_limit_bps", 2_000_000_000),
        ("consuming at most 2 Gb/s", "rate_limit_bps", 2_000_000_000),
    ],
)
def test_an_amount_holds_as_its_words_say(words: str, slot: str, value: int) -> None:
    assert slot_of(words, slot) == value


@pytest.mark.parametrize(
    "words",
    [
        "files that weigh about 10 MB",
        "each file over 10 MB must be verified",
        "each file under 10 MB first",
        "2 Gb/s and not less",
        "2 Gb/s and a bit more",
        "limit disk usage to 2 GB",
        "consuming about 2 Gb/s",
        "at ~2 Gb/s",
        "files over ~3 GB",
    ],
)
def test_an_amount_that_is_none_for_certain_is_asked_about(words: str) -> None:
    assert read(f"{ROUTE}, {words}").outcome == "ask"


@pytest.mark.parametrize("words", ["(~3 TB)", "(about 3 TB)", "(3 TB in total)", ", about 3 TB of data, please"])
def test_how_much_it_is_says_nothing_of_the_transfer(words: str) -> None:
    assert intent_of(f"{ROUTE} {words}") == intent_of(ROUTE)


@pytest.mark.parametrize(
    "text",
    ["copy up to 3 TB of data from krios1:/a to archive:/a", "copy the first 3 TB of krios1:/a to archive:/a"],
)
def test_so_much_of_the_data_is_asked_about(text: str) -> None:
    assert asked(text) == {"max_size"}


@pytest.mark.parametrize(
    ("text", "also"),
    [
        ("copy files from before 2026-11-20 in dtn3:/n14 to NCSA:/n14", {"modified_before": TWENTIETH}),
        ("copy all files dating from before 2026-11-20 in dtn3:/n14 to NCSA:/n14", {"modified_before": TWENTIETH}),
        ("copy all the data in dtn3:/n14 from after 2026-11-20 to NCSA:/n14", {"modified_after": TWENTIETH}),
        ("copy dtn3:/n14 to NCSA:/n14 but nothing from before 2026-11-20", {"modified_after": TWENTIETH}),
        ("copy what's new in dtn3:/n14 since 2026-11-20 to NCSA:/n14", {"modified_after": TWENTIETH}),
        (
            "copy the last 3 days' data from dtn3:/n14 to NCSA:/n14",
            {"modified_after": "2026-11-22T14:30:00-06:00"},
        ),
        (
            "copy files changed since 06:00 three days ago from dtn3:/n14 to NCSA:/n14",
            {"modified_after": "2026-11-22T06:00:00-06:00"},
        ),
    ],
)
def test_files_from_before_or_after_a_day_are_chosen_by_it(text: str, also: dict[str, Any]) -> None:
    assert intent_of(text) == {**AGED, **also}


@pytest.mark.parametrize(
    ("text", "slot"),
    [
        ("copy files from before 01/02/2026 in dtn3:/n14 to NCSA:/n14", "modified_before"),
        ("copy all data from since 01/02 in dtn3:/n14 to NCSA:/n14", "modified_after"),
        ("move files from before 02.11 in dtn3:/n14 to NCSA:/n14", "modified_before"),
    ],
)
def test_only_the_day_that_is_not_clear_is_asked_about(text: str, slot: str) -> None:
    assert asked(text) == {slot}


@pytest.mark.parametrize(
    "text",
    [
        "copy files from before in dtn3:/n14 to NCSA:/n14",
        "copy files from before the run in dtn3:/n14 to NCSA:/n14",
        "copy files not from before 2026-11-20 in dtn3:/n14 to NCSA:/n14",
        "copy files from before 2026-11-20 or after 2026-11-22 in dtn3:/n14 to NCSA:/n14",
        "copy files from long before 2026-11-20 in dtn3:/n14 to NCSA:/n14",
        "copy what's not changed in dtn3:/n14 since yesterday to NCSA:/n14",
        "copy the first 3 days' data from dtn3:/n14 to NCSA:/n14",
    ],
)
def test_files_of_no_certain_age_are_asked_about(text: str) -> None:
    assert read(text).outcome == "ask"


@pytest.mark.parametrize(
    ("text", "also"),
    [
        ("the imaging team needs the whole of dtn3:/n14 on NCSA:/n14", {}),
        ("our department needs dtn3:/n14 (roughly 800 GB in total) at NCSA:/n14", {}),
        ("Anna from the imaging team needs all of dtn3:/n14 on NCSA:/n14", {}),
        ("we need dtn3:/n14 (3 TB; no *.log) at NCSA:/n14", {"exclude": ["*.log"]}),
        (
            "the team needs dtn3:/n14 (3 TB, leave out *.tmp and the thumbs/ directory) on NCSA:/n14",
            {"exclude": ["*.tmp", "thumbs/"]},
        ),
        ("copy dtn3:/n14 (3 TB, verify with sha256) to NCSA:/n14", {"verify": "sha256"}),
    ],
)
def test_who_needs_data_somewhere_may_say_in_brackets_how_much_it_is(text: str, also: dict[str, Any]) -> None:
    assert intent_of(text) == {**AGED, **also}


@pytest.mark.parametrize(
    "text",
    [
        "the team no longer needs the whole of dtn3:/n14 on NCSA:/n14",
        "the team needs half of dtn3:/n14 on NCSA:/n14",
        "no team needs dtn3:/n14 (3 TB) at NCSA:/n14",
        "the team needed the whole of dtn3:/n14 on NCSA:/n14",
        "the team needs the whole of dtn3:/n14 removed on NCSA:/n14",
        "we need dtn3:/n14 (3 TB; no *.log unless small) at NCSA:/n14",
        "copy dtn3:/n14 (only 3 TB of it) to NCSA:/n14",
        "copy dtn3:/n14 (3 TB, but not all) to NCSA:/n14",
        "copy dtn3:/n14 (12 GB, each) to NCSA:/n14",
    ],
)
def test_a_need_that_is_denied_or_of_a_part_is_asked_about(text: str) -> None:
    assert read(text).outcome == "ask"


@pytest.mark.parametrize(
    "words",
    [
        "not urgent at all",
        "not at all urgent",
        "no urgency whatsoever",
        "nothing urgent",
        "far from urgent",
        "we're in no rush",
        "since it's not in the least pressing",
    ],
)
def test_no_urgency_goes_with_a_low_priority_and_sets_none(words: str) -> None:
    assert slot_of(f"low priority, {words}", "priority") == "low"
    assert asked_after(words) == {"priority"}
    assert asked_after(f"high priority, {words}") == {"priority"}


@pytest.mark.parametrize(
    "words", ["not at all low priority", "anything but low priority", "low priority won't do", "not only urgent"]
)
def test_a_priority_that_is_denied_is_asked_about(words: str) -> None:
    assert read(f"{ROUTE}, {words}").outcome == "ask"


def test_nothing_urgent_as_what_is_copied_is_asked_about() -> None:
    assert "include" in asked("copy nothing urgent from krios1:/a to archive:/a, low priority")


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ("I'd rather it started at 20:00", {"start": EVENING}),
        ("put it off until 20:00", {"start": EVENING}),
        ("delay the whole thing until 20:00", {"start": EVENING}),
        ("shift the start time to 20:00", {"start": EVENING}),
        ("sure, only let it begin at 20:00", {"start": EVENING}),
        ("extend the deadline until Friday 17:00", {"deadline": FRIDAY}),
        ("add a deadline of Friday 17:00", {"deadline": FRIDAY}),
        ("it has to have arrived by Friday 17:00", {"deadline": FRIDAY}),
        ("make it a nightly job at 02:00", {"repeat": NIGHTLY}),
        ("there's no rush, low priority will do", {"priority": "low"}),
    ],
)
def test_a_change_of_the_last_plan_is_what_its_words_say(text: str, changes: dict[str, Any]) -> None:
    assert intent_of(text) == {"action": "modify", "target": {"ref": "last"}, "changes": changes}


@pytest.mark.parametrize(
    "text",
    [
        "I'd rather it didn't start at 20:00",
        "don't put it off until 20:00",
        "the start time shifted to 20:00",
        "shift the start time by an hour",
        "don't extend the deadline until Friday 17:00",
        "who extended the deadline until Friday 17:00?",
        "don't make it a nightly job at 02:00",
        "let the group begin at 20:00",
        "7f3a21 has no time until Friday 17:00",
    ],
)
def test_a_change_that_is_denied_or_told_is_asked_about(text: str) -> None:
    assert read(text).outcome == "ask"


@pytest.mark.parametrize(
    ("text", "also"),
    [
        ("copy krios1:/a to archive:/a tonight, starting at 20:00", {"start": EVENING}),
        ("queue krios1:/a to archive:/a for 8pm tonight", {"start": EVENING}),
        ("krios1:/a needs to have been copied to archive:/a by Friday 17:00", {"deadline": FRIDAY}),
        ("copy krios1:/a to archive:/a some time before Friday 17:00", {"deadline": FRIDAY}),
        ("I want a daily copy of krios1:/a on archive:/a at 02:00", {"repeat": NIGHTLY}),
        ("copy krios1:/a to archive:/a without using more than 2 Gb/s", {"rate_limit_bps": 2_000_000_000}),
        ("copy krios1:/a to archive:/a and keep the rate at or below 2 Gb/s", {"rate_limit_bps": 2_000_000_000}),
        (
            "copy the files in krios1:/a between 1 and 2 GB to archive:/a",
            {"min_size": GIGABYTE, "max_size": 2 * GIGABYTE},
        ),
        ("copy krios1:/a to archive:/a without delay", {}),
    ],
)
def test_an_order_may_say_when_and_how_much_in_its_own_place(text: str, also: dict[str, Any]) -> None:
    assert intent_of(text) == {**intent_of(ROUTE), **also}


@pytest.mark.parametrize(
    "text",
    [
        "copy krios1:/a to archive:/a tonight, starting at 08:00",
        "copy krios1:/a to archive:/a by Friday, starting at 20:00",
        "copy krios1:/a to archive:/a tonight (not from 20:00)",
        "don't queue krios1:/a to archive:/a for 20:00",
        "krios1:/a must not have been copied to archive:/a",
        "I wanted a daily copy of krios1:/a on archive:/a at 02:00",
        "I want a daily copy of krios1:/a on archive:/a",
        "copy krios1:/a to archive:/a, keep the rate above 2 Gb/s",
        "copy krios1:/a to archive:/a, at or above 2 Gb/s",
        "copy krios1:/a to archive:/a without using less than 2 Gb/s",
        "copy the files in krios1:/a not between 1 and 2 GB to archive:/a",
        "copy krios1:/a to archive:/a some time before Friday",
    ],
)
def test_an_order_whose_time_or_amount_is_denied_or_open_is_asked_about(text: str) -> None:
    assert read(text).outcome == "ask"
