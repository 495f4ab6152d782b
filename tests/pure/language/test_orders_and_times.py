"""What strangers order, change and schedule: verbs, changes, complaints, weekdays, rates, one of several places."""

from typing import Any

import pytest
from tests.pure.language.made import ROUTE, asked, intent_of, read, slot_of

ENDS = {"action": "copy", "source": "krios1:/a", "destination": "archive:/a"}
WEEK = "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR;BYHOUR=19;BYMINUTE=0"
NIGHT = ["20:00", "06:00"]
SEVEN, LATE = "2026-11-26T07:00:00-06:00", "2026-11-25T22:00:00-06:00"
GIGABIT = 1_000_000_000


def changes_of(text: str, target: dict[str, str]) -> dict[str, Any]:
    """Give what a sentence changes of a transfer that there is, or of the last plan."""
    intent = intent_of(text)
    assert (intent["action"], intent["target"]) == ("modify", target)
    changes: dict[str, Any] = intent["changes"]
    return changes


def certain_and_asked(text: str) -> tuple[object, object]:
    """Give what is certain of a sentence that is asked about, and the slots that it is asked about."""
    answer = read(text).to_json()
    assert answer["outcome"] == "ask"
    return answer["intent"], answer["ask"]


@pytest.mark.parametrize(
    "text",
    [
        "can krios1:/a be on archive:/a?",
        "could krios1:/a please go to archive:/a?",
        "krios1:/a is due at archive:/a",
        "krios1:/a needs to make its way over to archive:/a",
        "krios1:/a can go to archive:/a now",
        "the contents of krios1:/a need to be in archive:/a",
        "I'd like to see krios1:/a on archive:/a",
        "we'd love to have krios1:/a on archive:/a",
        "take what's in krios1:/a and put it in archive:/a",
        "copy /a (krios1) to /a (archive)",
        "give archive:/a a copy of krios1:/a",
        "we'd appreciate having krios1:/a copied to archive:/a",
        "shuttle krios1:/a over to archive:/a",
        "propagate krios1:/a to archive:/a",
    ],
)
def test_what_is_wanted_somewhere_is_copied_there(text: str) -> None:
    assert intent_of(text) == ENDS


@pytest.mark.parametrize(
    "text",
    [
        "will krios1:/a be on archive:/a?",
        "can't krios1:/a be on archive:/a?",
        "can krios1:/a be on archive:/a already?",
        "can krios1:/a be deleted on archive:/a?",
        "can krios1:/a and krios1:/b be on archive:/a?",
        "is krios1:/a due at archive:/a?",
        "krios1:/a is not due at archive:/a",
        "krios1:/a was due at archive:/a",
        "krios1:/a should not make its way to archive:/a",
        "krios1:/a can never go to archive:/a",
        "krios1:/a can go to archive:/a if it's empty",
        "krios1:/a may go to archive:/a",
        "move krios1:/a to archive:/a and bring it back on Friday 17:00",
        "don't give archive:/a a copy of krios1:/a",
        "archive:/a should not get a copy of krios1:/a",
        "we'd hate having krios1:/a copied to archive:/a",
        "copy /a (not krios1) to archive:/a",
        "copy /a (krios1 or krios2) to archive:/a",
        "copy krios1:/a (krios2) to archive:/a",
    ],
)
def test_what_is_asked_denied_or_on_condition_is_not_copied(text: str) -> None:
    assert read(text).outcome == "ask"


def test_the_data_of_a_day_that_is_needed_somewhere_is_copied_there() -> None:
    intent = intent_of("we need yesterday's plates from krios1:/a over at archive:/a by 7:00 tomorrow")
    days = {"modified_after": "2026-11-24T00:00:00-06:00", "modified_before": "2026-11-25T00:00:00-06:00"}
    assert intent == {**ENDS, **days, "deadline": SEVEN}


@pytest.mark.parametrize(
    "data",
    [
        "yesterday's thumbnails",
        "yesterday's gains",
        "yesterday's bad data",
        "half of yesterday's images",
        "all but yesterday's data",
    ],
)
def test_a_part_of_the_data_of_a_day_is_asked_about(data: str) -> None:
    assert read(f"we need {data} from krios1:/a on archive:/a").outcome == "ask"


@pytest.mark.parametrize(
    "words",
    [
        "let b2d810 run only between 20:00 and 06:00",
        "allow b2d810 to run only from 20:00 to 06:00",
        "only let b2d810 run between 20:00 and 06:00",
        "restrict b2d810 to 20:00-06:00",
        "confine b2d810 to the hours 20:00-06:00",
        "set b2d810's window to 20:00-06:00",
        "change the window of b2d810 to 20:00-06:00",
        "give b2d810 a window from 20:00 to 06:00",
        "switch b2d810 to the window 20:00-06:00",
        "don't let b2d810 run between 06:00 and 20:00",
        "b2d810 must not run between 06:00 and 20:00",
        "keep b2d810 out of 06:00-20:00",
        "keep b2d810 off the network between 06:00 and 20:00",
    ],
)
def test_a_transfer_is_restricted_to_hours(words: str) -> None:
    assert changes_of(words, {"id": "b2d810"}) == {"window": NIGHT}


@pytest.mark.parametrize(
    ("words", "changes"),
    [
        ("let b2d810 use at most 1 Gb/s", {"rate_limit_bps": GIGABIT}),
        ("allow b2d810 up to 1 Gb/s", {"rate_limit_bps": GIGABIT}),
        ("give b2d810 1 Gb/s", {"rate_limit_bps": GIGABIT}),
        ("throttle b2d810 back to 1 Gb/s", {"rate_limit_bps": GIGABIT}),
        ("change b2d810's rate limit to 1 Gb/s", {"rate_limit_bps": GIGABIT}),
        ("don't let b2d810 use more than 1 Gb/s", {"rate_limit_bps": GIGABIT}),
        ("b2d810 is too fast, limit it to 1 Gb/s", {"rate_limit_bps": GIGABIT}),
        ("b2d810 is hogging the link, cap it at 1 Gb/s", {"rate_limit_bps": GIGABIT}),
        ("b2d810 is urgent, give it high priority", {"priority": "high"}),
        ("start b2d810 at 22:00", {"start": LATE}),
        ("delay b2d810 until 22:00", {"start": LATE}),
        ("move b2d810 to 22:00", {"start": LATE}),
        ("let b2d810 start at 22:00", {"start": LATE}),
        ("bring b2d810 forward to 22:00", {"start": LATE}),
        ("finish b2d810 by 07:00 tomorrow", {"deadline": SEVEN}),
        ("push b2d810's deadline back to 07:00 tomorrow", {"deadline": SEVEN}),
        ("give b2d810 until 07:00 tomorrow", {"deadline": SEVEN}),
        ("can you make b2d810 finish by 07:00 tomorrow?", {"deadline": SEVEN}),
    ],
)
def test_one_transfer_gets_another_rate_start_or_deadline(words: str, changes: dict[str, Any]) -> None:
    assert changes_of(words, {"id": "b2d810"}) == changes


@pytest.mark.parametrize(
    "text",
    [
        "don't let b2d810 run only between 20:00 and 06:00",
        "don't restrict b2d810 to 20:00-06:00",
        "restrict b2d810 between 20:00 and 06:00",
        "let b2d810 and 7f3a21 run only between 20:00 and 06:00",
        "let b2d810 run between 20:00 and 06:00 except on Fridays",
        "let b2d810 run only between 20:00 and 06:00 on weekdays",
        "let b2d810 run only between 20:00 and 06:00 if the link is free",
        "let everything run only between 20:00 and 06:00",
        "limit it from 08:00 to 18:00",
        "change the window from 20:00-06:00 to 22:00-04:00",
        "don't keep b2d810 out of 08:00-18:00",
        "set b2d810's successor to 1 Gb/s",
        "cancel b2d810's copy",
        "don't set b2d810's limit to 1 Gb/s",
        "b2d810's limit is 1 Gb/s",
        "b2d810's limit should not be 1 Gb/s",
        "b2d810's deadline was 07:00 tomorrow",
        "give b2d810 at least 1 Gb/s",
        "let b2d810 use more than 1 Gb/s",
        "let b2d810 use 1 Gb/s per stream",
        "let nothing but b2d810 use 1 Gb/s",
        "don't start b2d810 at 22:00",
        "start b2d810 not at 22:00",
        "start b2d810 and 7f3a21 at 22:00",
        "let b2d810 not start at 22:00",
        "pull b2d810 at 22:00",
        "restart b2d810 at 22:00",
        "can b2d810 finish by 07:00 tomorrow?",
        "don't finish b2d810 by 07:00 tomorrow",
        "give b2d810 until 22:00 or cancel it",
        "let b2d810 go",
        "repeat b2d810",
        "b2d810 is too slow",
        "b2d810 is not too slow, limit it to 1 Gb/s",
        "b2d810 is too slow, pause 7f3a21",
        "b2d810 isn't late, limit 7f3a21 to 1 Gb/s",
        "b2d810 is too slow, copy krios1:/a to archive:/a",
    ],
)
def test_a_change_that_is_denied_narrowed_or_of_another_is_asked_about(text: str) -> None:
    assert read(text).outcome == "ask"


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ("that's too late, it needs to be there by 7:00 tomorrow", {"deadline": SEVEN}),
        ("the deadline is too late, make it 7:00 tomorrow", {"deadline": SEVEN}),
        ("not soon enough, it must be done by 7:00 tomorrow", {"deadline": SEVEN}),
        ("we need it earlier: by 7:00 tomorrow", {"deadline": SEVEN}),
        ("that's too early, start at 22:00", {"start": LATE}),
        ("the start is too early, make it 22:00", {"start": LATE}),
        ("start it later, at 22:00", {"start": LATE}),
        ("could it start at 22:00?", {"start": LATE}),
        ("make it 22:00 instead of 20:00", {"start": LATE}),
        ("too slow, make it 1 Gb/s", {"rate_limit_bps": GIGABIT}),
        ("hmm, that's rather slow; 1 Gb/s please", {"rate_limit_bps": GIGABIT}),
        ("2 Gb/s is too much, 1 Gb/s please", {"rate_limit_bps": GIGABIT}),
        ("the limit is too strict, raise it to 1 Gb/s", {"rate_limit_bps": GIGABIT}),
        ("that won't do, let's try 1 Gb/s", {"rate_limit_bps": GIGABIT}),
        ("it should be faster, 1 Gb/s", {"rate_limit_bps": GIGABIT}),
        ("the window is too short, make it 20:00 to 06:00", {"window": NIGHT}),
        ("repeat that every night at 02:00", {"repeat": "FREQ=DAILY;BYHOUR=2;BYMINUTE=0"}),
    ],
)
def test_a_complaint_about_the_plan_goes_before_its_change(text: str, changes: dict[str, Any]) -> None:
    assert changes_of(text, {"ref": "last"}) == changes


@pytest.mark.parametrize(
    "text",
    [
        "that's too late",
        "too slow!",
        "that's not too slow, 4 Gb/s",
        "that's not too late, by 7:00 tomorrow",
        "is that too late? by 7:00 tomorrow",
        "if that's too late, by 7:00 tomorrow",
        "that's too late, make it 7:00 tomorrow",
        "8:00 is too late, make it 7:00 tomorrow",
        "that's too late, go ahead",
        "the rate is too high, confirm",
        "too slow, yes",
        "that won't do, go ahead",
        "that's too slow, copy krios1:/a to archive:/a at 4 Gb/s",
        f"{ROUTE}, too slow, 4 Gb/s",
        "it can't start at 22:00",
        "it cannot wait until 22:00",
        "it's not due Friday 17:00",
        "don't repeat that every night at 02:00",
        "not only 1 Gb/s",
        "1 Gb/s is not better",
        "is 1 Gb/s better?",
    ],
)
def test_a_complaint_alone_changes_nothing_and_confirms_nothing(text: str) -> None:
    assert read(text).outcome == "ask"


@pytest.mark.parametrize(
    ("text", "slot"),
    [
        ("change the speed limit on it to something lower", "rate_limit_bps"),
        ("lower the limit a bit", "rate_limit_bps"),
        ("make the limit a bit higher", "rate_limit_bps"),
        ("cut the rate in half", "rate_limit_bps"),
        ("give it less bandwidth", "rate_limit_bps"),
        ("put a speed limit on it", "rate_limit_bps"),
        ("don't use so much bandwidth", "rate_limit_bps"),
        ("could the limit be higher?", "rate_limit_bps"),
        ("extend the deadline by an hour", "deadline"),
        ("change the deadline to something earlier", "deadline"),
        ("change the start time", "start"),
        ("reschedule it", "start"),
        ("change the window", "window"),
        ("change the schedule", "repeat"),
    ],
)
def test_a_change_without_a_value_asks_for_that_value_alone(text: str, slot: str) -> None:
    assert certain_and_asked(text) == ({"action": "modify", "target": {"ref": "last"}}, [slot])


@pytest.mark.parametrize(("text", "slot"), [("drop the deadline", "deadline"), ("lift the limit", "rate_limit_bps")])
def test_dropping_a_value_still_takes_it_away(text: str, slot: str) -> None:
    assert changes_of(text, {"ref": "last"}) == {slot: None}


@pytest.mark.parametrize(
    "words",
    [
        "Monday to Friday at 7 pm",
        "Monday through Friday, 19:00",
        "Mondays to Fridays at 19:00",
        "on Mondays to Fridays at 19:00",
        "Mon-Fri at 19:00",
        "Mon\u2013Fri at 7 pm",
        "(Mon-Fri, 19:00)",
        "at 19:00 on Mon-Fri",
        "at 19:00 Monday to Friday",
        "every Monday to Friday at 19:00",
        "daily Monday to Friday at 19:00",
        "on every weekday at 19:00",
    ],
)
def test_from_one_weekday_to_another_is_weekly_on_these_days(words: str) -> None:
    assert slot_of(words, "repeat") == WEEK


@pytest.mark.parametrize(
    ("words", "rule"),
    [
        ("Fri-Mon at 19:00", "FREQ=WEEKLY;BYDAY=FR,SA,SU,MO;BYHOUR=19;BYMINUTE=0"),
        ("Mon/Wed/Fri at 19:00", "FREQ=WEEKLY;BYDAY=MO,WE,FR;BYHOUR=19;BYMINUTE=0"),
        ("on weekends at 19:00", "FREQ=WEEKLY;BYDAY=SA,SU;BYHOUR=19;BYMINUTE=0"),
        ("on a weekly basis, Mondays at 19:00", "FREQ=WEEKLY;BYDAY=MO;BYHOUR=19;BYMINUTE=0"),
        ("at 06:00 and 18:00 every day", "FREQ=DAILY;BYHOUR=6,18;BYMINUTE=0"),
        ("every half hour", "FREQ=MINUTELY;INTERVAL=30"),
    ],
)
def test_days_and_hours_of_a_repetition_are_said_in_many_ways(words: str, rule: str) -> None:
    assert slot_of(words, "repeat") == rule


@pytest.mark.parametrize(
    "words",
    [
        "from Monday to Friday at 19:00",
        "between Monday and Friday at 19:00",
        "Monday to Friday 19:00",
        "Monday 19:00 to Friday",
        "from Monday 19:00 to Friday 19:00",
        "this Monday to Friday at 19:00",
        "starting Monday to Friday at 19:00",
        "by Monday to Friday at 19:00",
        "not Monday to Friday at 19:00",
        "except Mon-Fri at 19:00",
        "never on weekends at 19:00",
        "Mon-Fri",
        "Mon-Mon at 19:00",
        "Mon-Fri at 7",
        "Mon-Fri around 19:00",
        "Mon-Fri by 19:00",
        "Mon-Fri between 20:00 and 06:00",
        "Mon-Fri at 19:00 and Saturday at 10:00",
        "Mon-Fri at 19:00, Saturday at 10:00",
        "every weekday at 19:00 and Saturday at 10:00",
        "Mon-Fri at 19:00 but not Wed",
        "Mon-Fri at 19:00 tomorrow",
        "at 22:00 to 05:00",
        "daily 22:00 to 05:00",
        "not every half hour",
        "skip Mon/Wed",
    ],
)
def test_days_that_may_be_one_stretch_or_are_narrowed_are_asked_about(words: str) -> None:
    assert read(f"{ROUTE} {words}").outcome == "ask"


@pytest.mark.parametrize(
    "words",
    [
        "at somewhere between 2 and 4 Gbit/s",
        "at anything from 2 to 4 Gb/s",
        "at something like 2 Gb/s",
        "at a few hundred MB/s",
        "at 100 MB/s during office hours and as fast as it gets otherwise",
        "at 100 MB/s while people are working, flat out after that",
        "max infinity Gbit/s",
        "at most zero Gb/s",
        "at minus two Gb/s",
        "at NaN Gb/s",
        "at lightning speed",
        "at a moderate rate",
        "at half the line rate",
        "as quickly as possible",
        "as fast as the link allows",
        "with all the bandwidth there is",
        "with unlimited bandwidth",
        "with a sensible speed limit",
        "without choking the link",
        "leave 2 Gb/s free",
        "preferably at 200 MB/s",
    ],
)
def test_a_rate_that_is_not_exact_is_asked_about_alone(words: str) -> None:
    assert certain_and_asked(f"{ROUTE}, {words}") == (ENDS, ["rate_limit_bps"])


@pytest.mark.parametrize(
    "words",
    [
        "200 MB/s will do",
        "we only have 200 MB/s to spare",
        "at speeds up to 200 MB/s",
        "restrict the bandwidth use to 200 MB/s",
        "200 MB/s would be best",
        "only 200 MB/s",
    ],
)
def test_a_rate_that_is_said_to_be_enough_is_the_limit(words: str) -> None:
    assert slot_of(words, "rate_limit_bps") == 1_600_000_000


@pytest.mark.parametrize(
    "words",
    [
        "200 MB/s won't do",
        "200 MB/s would not be enough",
        "we don't have 200 MB/s to spare",
        "we only have 200 MB/s to spare at night",
        "let it use 200 MB/s more",
        "give the others 200 MB/s",
    ],
)
def test_a_rate_that_is_not_enough_or_of_others_is_no_limit(words: str) -> None:
    assert read(f"{ROUTE}, {words}").outcome == "ask"


@pytest.mark.parametrize(
    "words",
    [
        "Friday 17:00 latest",
        "in time for Friday 17:00",
        "with completion by Friday 17:00",
        "Friday 17:00 is the deadline",
    ],
)
def test_a_deadline_is_said_in_many_ways(words: str) -> None:
    assert slot_of(words, "deadline") == "2026-11-27T17:00:00-06:00"


@pytest.mark.parametrize(
    "words",
    [
        "Friday 17:00 is not the deadline",
        "is Friday 17:00 the deadline?",
        "not in time for Friday 17:00",
        "22:00 is the latest start",
        "22:00 is the earliest",
        "not pausing between 08:00 and 18:00",
        "don't stay out of 08:00-18:00",
    ],
)
def test_a_time_that_is_denied_or_of_something_else_is_asked_about(words: str) -> None:
    assert read(f"{ROUTE}, {words}").outcome == "ask"


@pytest.mark.parametrize(
    ("text", "slot"),
    [
        ("copy krios1:/a or krios2:/a to archive:/a, whichever has more files", "source"),
        ("copy krios1:/a or krios2:/a, whichever is newer, to archive:/a", "source"),
        ("copy whichever of krios1:/a and krios2:/a is newer to archive:/a", "source"),
        ("copy either krios1:/a or krios2:/a to archive:/a", "source"),
        ("copy krios1:/a or krios2:/a to archive:/a depending on which is newer", "source"),
        ("copy krios1:/a to archive:/a or dtn3:/a, whichever has more space", "destination"),
        ("copy krios1:/a to whichever of archive:/a and dtn3:/a has more space", "destination"),
    ],
)
def test_which_of_two_places_is_meant_is_asked_about_alone(text: str, slot: str) -> None:
    certain = {name: value for name, value in ENDS.items() if name != slot}
    assert certain_and_asked(text) == (certain, [slot])


def test_a_choice_without_two_places_is_asked_about() -> None:
    assert asked("copy krios1:/a to archive:/a, whichever is newer") == {"action"}


def test_a_run_that_a_number_names_says_no_time() -> None:
    assert certain_and_asked("transfer run 17") == ({"action": "copy"}, ["destination", "source"])
    assert certain_and_asked("sync run 17 to archive:/r17") == (
        {"action": "sync", "destination": "archive:/r17"},
        ["source"],
    )


@pytest.mark.parametrize(
    "words",
    [
        "avoid peak hours (20:00-06:00)",
        "not during the night (20:00-06:00)",
        "blackout 20:00-06:00",
        "keep off 20:00-06:00",
    ],
)
def test_hours_that_are_kept_out_of_are_none_in_which_it_runs(words: str) -> None:
    assert slot_of(words, "window") == ["06:00", "20:00"]


@pytest.mark.parametrize("hours", ["08:00-18:00", "18:00-08:00"])
def test_hours_in_brackets_behind_outside_may_be_of_either_and_are_asked_about(hours: str) -> None:
    assert certain_and_asked(f"{ROUTE} outside office hours ({hours})") == (ENDS, ["window"])


@pytest.mark.parametrize(
    ("words", "slot"),
    [
        ("Could this run between 20:00 and 06:00?", "window"),
        ("Could it go at 1 Gb/s max?", "rate_limit_bps"),
        ("Can it start at 22:00?", "start"),
        ("Could it be done by 7:00 tomorrow?", "deadline"),
        ("You have until 7:00 tomorrow.", "deadline"),
        ("It's allowed to run from 20:00 to 06:00.", "window"),
    ],
)
def test_an_option_is_asked_for_in_a_sentence_of_its_own(words: str, slot: str) -> None:
    values = {"window": NIGHT, "rate_limit_bps": GIGABIT, "start": LATE, "deadline": SEVEN}
    assert intent_of(f"{ROUTE}. {words}") == {**ENDS, slot: values[slot]}


@pytest.mark.parametrize(
    "words",
    [
        "Could it run?",
        "Could it not run at 22:00?",
        "Can it run without encryption?",
        "Can it be deleted afterwards?",
        "We don't have until 7:00 tomorrow.",
        "It's not allowed to run from 20:00 to 06:00.",
    ],
)
def test_a_question_about_the_transfer_is_no_option_of_it(words: str) -> None:
    assert read(f"{ROUTE}. {words}").outcome == "ask"
