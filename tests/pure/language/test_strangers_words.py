"""Constructions of strangers: places in parts, lists with a folder, deletes of what is gone, names below a letter."""

import pytest
from tests.pure.language.made import ROUTE, asked, asked_after, intent_of, read, slot_of

ENDS = ("krios1:/raw/a", "archive:/a")


def ends_of(text: str) -> tuple[str, str]:
    intent = intent_of(text)
    return intent["source"], intent["destination"]


@pytest.mark.parametrize(
    "text",
    [
        "get /raw/a off krios1 and put it into /a at archive",
        "From krios1, take /raw/a and copy it to archive under /a.",
        "copy the directory /raw/a, which lives on krios1, to archive, path /a",
        "on krios1 there is a folder /raw/a; please copy it to /a at archive",
        "Task: copy\nSource endpoint: krios1\nSource path: /raw/a\nDestination endpoint: archive\nDestination path: /a",
        "source_path=/raw/a source_endpoint=krios1 dest_endpoint=archive dest_path=/a action=copy",
    ],
)
def test_an_endpoint_and_a_path_that_are_told_apart_are_one_place(text: str) -> None:
    assert ends_of(text) == ENDS


@pytest.mark.parametrize(
    "text",
    [
        "copy krios1, /raw/a to archive:/a",
        "copy krios1:/raw/a krios1:/raw/b to archive:/a",
        "Action: copy\nSource endpoint: krios1\nSource path: /a\nSource path: /b\nDestination: archive:/a",
        "Action: copy\nSource: krios1:/a\nDestination endpoint: archive",
        "I need /raw/a at archive",
    ],
)
def test_parts_that_may_be_of_more_than_one_place_are_asked_about(text: str) -> None:
    assert read(text).outcome == "ask"


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("leave out *.lock and the scratch/ directory", ["*.lock", "scratch/"]),
        ("skip the folder old/ and *.lock", ["old/", "*.lock"]),
        ("skip tmp/ and raw/ folders", ["tmp/", "raw/"]),
        ("skip the *.zarr folders", ["*.zarr/"]),
        ("with the exception of *.tmp, *.swp and the cache/ folder", ["*.tmp", "*.swp", "cache/"]),
    ],
)
def test_folder_is_said_of_the_name_beside_it_and_folders_of_all(words: str, names: list[str]) -> None:
    assert slot_of(words, "exclude") == names


def test_a_pattern_in_a_list_of_folders_may_be_one_of_files() -> None:
    assert "exclude" in asked_after("skip *.lock and *.zarr folders")


@pytest.mark.parametrize(
    "words", ["skip gain references (*_gain.mrc)", "leave out thumbnails (*_thumb.png)", "skip previews (*.jpg)"]
)
def test_names_in_brackets_say_what_is_left_out(words: str) -> None:
    assert slot_of(words, "exclude") == [words.partition("(")[2].rstrip(")")]


@pytest.mark.parametrize(
    "words", ["skip dark frames (*.tif)", "skip bad images (*.tif)", "skip the first movies (*.tif)"]
)
def test_names_in_brackets_that_may_be_more_than_what_is_left_out_are_asked_about(words: str) -> None:
    assert read(f"{ROUTE}, {words}").outcome == "ask"


@pytest.mark.parametrize(
    "words",
    [
        "delete what is gone from the source",
        "purge anything over there that no longer exists at the source",
        "delete files not in the source",
        "remove files at the destination which are not present on the source",
    ],
)
def test_what_the_source_no_longer_has_is_deleted(words: str) -> None:
    assert intent_of(f"sync krios1:/a to archive:/a and {words}")["delete_extraneous"] is True


@pytest.mark.parametrize(
    "words",
    [
        "delete files that are present at the source",
        "delete everything that exists on the source",
        "delete whatever is not missing at the source",
        "delete all files that are in the source",
        "delete what is still at the source",
        "delete anything over there that is on the source",
        "delete what has not gone from the source",
    ],
)
def test_what_the_source_has_is_never_taken_for_what_it_no_longer_has(words: str) -> None:
    assert read(f"sync krios1:/a to archive:/a and {words}").outcome == "ask"


@pytest.mark.parametrize(
    "signed",
    [
        "Kind regards,\nJonas Weber\nBeamline 4",
        "Thanks a lot\n-- \nDr. L. Ortega | Structural Biology",
        "Best\nTom Jones\nHall 3, ext. 4471",
        "/Erik",
        "- Erik",
        "Erik",
        "Thanks for your help!\nErik",
        "Greetings from Brno, Petr",
    ],
)
def test_a_name_below_a_letter_says_nothing(signed: str) -> None:
    assert ends_of(f"Hi,\nplease copy krios1:/raw/a to archive:/a.\n{signed}") == ENDS


@pytest.mark.parametrize(
    "words",
    ["Losslessly", "Zipped", "Zstd", "- gzip", "- tarred", "- Incremental", "Verbatim", "/Backup", "Thanks, Delete"],
)
def test_a_last_line_that_may_be_a_wish_is_no_name(words: str) -> None:
    assert read(f"Hi,\nplease copy krios1:/raw/a to archive:/a.\n{words}").outcome == "ask"


@pytest.mark.parametrize(
    "words", ["one more time losslessly", "overwrite nothing else", "This is Confidential.", "skip logs (e.g. *.log)"]
)
def test_what_looks_like_a_closing_or_an_explanation_is_asked_about(words: str) -> None:
    assert read(f"{ROUTE}, {words}").outcome == "ask"


def test_a_bare_path_below_one_whole_place_is_no_name() -> None:
    assert intent_of("Hi,\ncopy krios1:/raw/a please.\n/Erik")["destination"] == "local:/Erik"


def test_a_bullet_opens_the_first_line_as_any_other() -> None:
    assert "include" not in intent_of("* from: krios1:/a\n* to: archive:/a\n* limit: 2 Gb/s")


@pytest.mark.parametrize(
    ("words", "slot", "value"),
    [
        ("SHA-256 verification required", "verify", "sha256"),
        ("encryption is compulsory", "encryption", True),
        ("timestamps are a must", "preserve", ["timestamps"]),
        ("files which already exist there must not be overwritten", "on_conflict", "skip"),
        ("slowly, 50 MB/s max", "rate_limit_bps", 400_000_000),
        ("max 200 MB/s so that live processing doesn't starve", "rate_limit_bps", 1_600_000_000),
    ],
)
def test_what_is_required_or_explained_is_read_as_what_it_is(words: str, slot: str, value: object) -> None:
    assert slot_of(words, slot) == value


@pytest.mark.parametrize(
    "words",
    [
        "no verification required",
        "no encryption required",
        "encryption is not mandatory",
        "timestamps are not required",
    ],
)
def test_what_is_not_required_is_asked_about(words: str) -> None:
    assert read(f"{ROUTE}, {words}").outcome == "ask"


def test_every_hour_on_the_hour_begins_with_the_hour() -> None:
    assert slot_of("every hour on the hour", "repeat") == "FREQ=HOURLY;BYMINUTE=0"


def test_an_hour_after_noon_has_one_reading() -> None:
    assert "T22:00:00" in slot_of("on Friday at 22 o'clock", "start")
    assert "start" in asked_after("on Friday at 9 o'clock")


def test_a_reason_in_its_field_is_none_of_the_request() -> None:
    form = "Action: copy\nSource: krios1:/raw/a\nDestination: archive:/a\nReason: "
    assert ends_of(f"{form}second copy for the audit") == ENDS
    assert read(f"{form}must be encrypted").outcome == "ask"
    assert read(f"{form}delete the source").outcome == "ask"


def test_sorry_behind_why_a_transfer_is_stopped_takes_nothing_back() -> None:
    assert intent_of("could you kill 7f9c? i picked the wrong folder, sorry")["action"] == "cancel"
    assert read("could you kill 7f9c? sorry, no").outcome == "ask"


@pytest.mark.parametrize("take", ["take everything from", "I want everything from", "move", "we need the files of"])
@pytest.mark.parametrize("put", ["put it in", "store them on", "save these under", "please drop all of it in"])
def test_a_place_in_which_something_is_put_is_where_it_goes(take: str, put: str) -> None:
    assert ends_of(f"{take} krios1:/raw/a, {put} archive:/a") == ENDS


@pytest.mark.parametrize(
    "words", ["each between 1 and 2 GB", "each file from 1 GB to 2 GB", "files from 1 to 2 GB each"]
)
def test_a_range_of_sizes_may_be_said_of_each_file(words: str) -> None:
    assert (slot_of(words, "min_size"), slot_of(words, "max_size")) == (10**9, 2 * 10**9)


@pytest.mark.parametrize(
    "words",
    ["nothing must be deleted on archive", "no file on archive may be deleted", "and don't you dare delete anything"],
)
def test_a_denied_delete_is_no_order_to_delete(words: str) -> None:
    intent = intent_of(f"sync krios1:/raw/a to archive:/a, {words}")
    assert not {"delete_source", "delete_extraneous"} & {slot for slot, value in intent.items() if value is True}


def test_originals_that_must_stay_deny_a_move() -> None:
    words = "the originals on krios1 must not be deleted"
    assert intent_of(f"copy krios1:/raw/a to archive:/a; {words}")["action"] == "copy"
    assert read(f"move krios1:/raw/a to archive:/a; {words}").outcome == "ask"


def test_a_value_behind_no_make_that_takes_the_place_of_the_one_before() -> None:
    assert slot_of("at 2 Gb/s, no, make that 3 Gb/s", "rate_limit_bps") == 3_000_000_000


@pytest.mark.parametrize("words", ["with top priority", "highest priority"])
def test_the_top_of_three_priorities_is_high(words: str) -> None:
    assert slot_of(words, "priority") == "high"


def test_a_start_before_a_deadline_is_none_of_its_day() -> None:
    intent = intent_of(f"{ROUTE} an hour from now, must be done by 20:00")
    assert (intent["start"], intent["deadline"]) == ("2026-11-25T15:30:00-06:00", "2026-11-25T20:00:00-06:00")
    assert asked_after("tomorrow morning, done by 20:00") == {"start"}


def test_an_order_behind_without_is_its_own_unless_it_deletes() -> None:
    assert slot_of("without verification and overwrite whatever is there", "on_conflict") == "overwrite"
    assert "delete_source" in asked_after("without overwriting and delete the source")
    assert "on_conflict" in asked_after("don't verify and overwrite whatever is there")


def test_what_is_done_when_you_copy_is_the_order_and_what_happens_then_a_question() -> None:
    assert intent_of("don't exceed 640 kbit/s when you copy krios1:/a to archive:/a")["rate_limit_bps"] == 640_000
    assert read("what happens when you copy krios1:/a to archive:/a").outcome == "ask"
    assert read("when you copy krios1:/a to archive:/a, things break").outcome == "ask"


@pytest.mark.parametrize("joined", [", go on", "; proceed", " now and carry on", ", start it again", " now, back on"])
def test_what_goes_on_behind_a_pause_is_a_step_of_its_own_with_its_own_time(joined: str) -> None:
    intent = intent_of(f"pause b2d810{joined} tomorrow at 08:00")
    assert (intent["action"], "start" in intent) == ("pause", False)
    assert intent["then"] == [{"action": "resume", "start": "2026-11-26T08:00:00-06:00"}]


@pytest.mark.parametrize("order", ["pause b2d810", "cancel b2d810", "cancel it"])
@pytest.mark.parametrize("agreed", ["go ahead", "submit it", "proceed", "go on"])
def test_an_answer_behind_an_order_to_stop_may_be_another_order(order: str, agreed: str) -> None:
    assert "action" in asked(f"{order}, {agreed}")
    assert intent_of(f"yes, {order}")["action"] == order.split(maxsplit=1)[0]


@pytest.mark.parametrize("order", ["cancel b2d810", ROUTE, "pause b2d810"])
@pytest.mark.parametrize("once", ["now,", "right now", "immediately"])
def test_an_order_is_of_now_or_of_a_time_and_not_of_both(order: str, once: str) -> None:
    assert "start" in asked(f"{order} {once} at 22:00")
    assert "start" not in intent_of(f"{order} {once.rstrip(',')}")


@pytest.mark.parametrize("order", ["cancel b2d810", "pause b2d810"])
def test_what_is_wanted_is_asked_about_where_it_is_to_be_stopped(order: str) -> None:
    action = order.split(maxsplit=1)[0]
    assert read(f"Anna needs b2d810, {action} it").outcome == "ask"
    assert read(f"{order}, Anna needs it").outcome == "ask"
    assert intent_of(f"{order}, nobody needs it")["action"] == action
    assert intent_of(f"{order}, we need the link")["action"] == action


def test_hold_it_pauses_where_it_stands_alone_and_is_asked_about_before_an_order() -> None:
    assert intent_of("hold it, please") == {"action": "pause", "target": {"ref": "last"}}
    assert asked(f"hold it, {ROUTE}") == {"action"}
    assert read(f"{ROUTE}. Hold it! Make that krios2:/in").outcome == "ask"


def test_hours_of_each_day_that_are_said_together_are_one_repetition() -> None:
    assert slot_of("every day at 01:00 and 13:00", "repeat") == "FREQ=DAILY;BYHOUR=1,13;BYMINUTE=0"
    assert "repeat" in asked_after("every day at 5am, uh, 6am")
    assert "repeat" in asked_after("every day at 01:00 and 13:30")
    assert "repeat" in asked_after("every day at 01:00 and 13:00 starting at 15:00")


@pytest.mark.parametrize(
    ("words", "slot", "value"),
    [
        ("hard limit of one gigabit per second", "rate_limit_bps", 10**9),
        ("bwlimit 80 MB/s", "rate_limit_bps", 640 * 10**6),
        ("do not overwrite an existing file", "on_conflict", "skip"),
    ],
)
def test_more_words_of_strangers_are_read(words: str, slot: str, value: object) -> None:
    assert slot_of(words, slot) == value


def test_what_is_only_a_joke_heads_no_order() -> None:
    assert asked("jk: cancel b2d810") == {"action"}


@pytest.mark.parametrize("joined", ["and also", ", and while you are at it", "and"])
def test_a_yes_and_an_order_about_another_transfer_are_two_things(joined: str) -> None:
    assert asked(f"yes {joined} cancel 7f3a21") == {"action"}
    assert intent_of(f"yes {joined} cancel it")["action"] == "cancel"
    assert intent_of("yes, cancel 7f3a21") == intent_of("go ahead and cancel 7f3a21")


@pytest.mark.parametrize("words", ["cut b2d810 by 500 Mb/s", "reduce it by 1 Gb/s", "limit it by 500 Mb/s"])
def test_how_much_a_limit_changes_is_no_limit(words: str) -> None:
    assert "rate_limit_bps" in asked(words)
    assert intent_of("cut b2d810 to 500 Mb/s")["changes"] == {"rate_limit_bps": 500 * 10**6}


@pytest.mark.parametrize("where", ["there", "on archive", "at the destination"])
def test_what_stays_encrypted_where_it_arrives_is_more_than_encrypted_on_the_way(where: str) -> None:
    assert "encryption" in asked_after(f"keep it encrypted {where}")
    assert slot_of("keep it encrypted", "encryption") is True


def test_more_orders_of_strangers_are_read() -> None:
    mirrored = intent_of("please make sure archive:/m looks exactly like krios1:/m")
    assert (mirrored["source"], mirrored["delete_extraneous"]) == ("krios1:/m", True)
    assert intent_of("let b2d810 run at 6 Gb/s")["changes"] == {"rate_limit_bps": 6 * 10**9}
    assert slot_of("with anything called *.old left out and the encryption switched on", "exclude") == ["*.old"]
    assert slot_of("transfers allowed from 23:00 to 04:30 only", "window") == ["23:00", "04:30"]
    assert intent_of("on reflection, please send it to ncsa-tape:/run42 instead")["action"] == "modify"


@pytest.mark.parametrize(
    "word",
    ["all", "everything", "backup", "results", "now", "copying", "first", "delete", "old", "transfers", "encrypt"],
)
@pytest.mark.parametrize("cue", ["from", "under", "on"])
def test_a_common_word_where_the_name_of_a_folder_stands_is_asked_about(word: str, cue: str) -> None:
    assert "source" in asked(f"copy the folder {word} {cue} dtn3:/work to archive:/all")


def test_a_folder_that_is_named_by_its_place_is_not_asked_about() -> None:
    assert intent_of("copy the whole folder at dtn3:/work to archive:/all")["source"] == "dtn3:/work"
    assert intent_of("copy the complete directory tree under dtn3:/work to archive:/all")["source"] == "dtn3:/work"


@pytest.mark.parametrize("text", ["I prefer dtn3:/x to archive:/x", "we'd prefer dtn3:/x over archive:/x"])
def test_what_somebody_prefers_is_no_order_to_copy(text: str) -> None:
    assert asked(text) == {"action"}


@pytest.mark.parametrize(
    ("words", "slots"),
    [
        ("only *.h5 files between 100 MB and 5 GB", {"include": ["*.h5"], "min_size": 10**8, "max_size": 5 * 10**9}),
        ("at most 500 MB per file", {"max_size": 5 * 10**8}),
        ("with no encryption whatsoever", {"encryption": False}),
        ("neither encrypted nor verified", {"encryption": False, "verify": "none"}),
        ("existing files get overwritten", {"on_conflict": "overwrite"}),
        ("nothing on the archive may be overwritten", {"on_conflict": "skip"}),
        ("ignoring whatever isn't *.tif", {"include": ["*.tif"]}),
        ("the only files I don't want are *.bak", {"exclude": ["*.bak"]}),
        ("at 400 MB/s instead of the usual 800 MB/s", {"rate_limit_bps": 3_200_000_000}),
        ("so that it is finished by 20:00", {"deadline": "2026-11-25T20:00:00-06:00"}),
        ("once, on Monday at 05:00", {"start": "2026-11-30T05:00:00-06:00"}),
        ("wait until Saturday 3am to start", {"start": "2026-11-28T03:00:00-06:00"}),
        ("the last 24 hours of microscope data", {"modified_after": "2026-11-24T14:30:00-06:00"}),
        ("once it's across, erase krios1:/a", {"action": "move", "delete_source": True}),
        ("about 12 TB", {}),
    ],
)
def test_what_strangers_say_behind_an_order(words: str, slots: dict[str, object]) -> None:
    plain = intent_of(ROUTE)
    assert intent_of(f"{ROUTE}, {words}.") == {**plain, **slots}


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("sync rather than copy dtn3:/x to archive:/x", "sync"),
        ("move dtn3:/x to archive:/x rather than copying it", "move"),
        ("copy dtn3:/x to archive:/x rather than moving it", "copy"),
    ],
)
def test_of_two_actions_the_one_that_is_preferred_is_planned(text: str, action: str) -> None:
    assert intent_of(text)["action"] == action


@pytest.mark.parametrize(
    ("text", "action", "target"),
    [
        ("pause 7f3a21, and not the others", "pause", "7f3a21"),
        ("cancel 7f3a21, not the other two", "cancel", "7f3a21"),
    ],
)
def test_one_transfer_is_stopped_and_no_other(text: str, action: str, target: str) -> None:
    assert intent_of(text) == {"action": action, "target": {"id": target}}


@pytest.mark.parametrize(
    "text", ["leave b2d810 alone", "leave b2d810 alone and cancel it", "keep 7f3a21 running at 5 Gb/s"]
)
def test_a_transfer_that_is_left_alone_is_asked_about(text: str) -> None:
    assert "action" in asked(text) or "target" in asked(text)


def test_a_plan_of_which_everything_is_to_be_left_alone_stops_nothing() -> None:
    assert "target" in asked("pause all transfers, not the other two")


@pytest.mark.parametrize(
    ("words", "slot"),
    [
        ("the unencrypted files", "encryption"),
        ("the encrypted folder", "encryption"),
        ("our verified data", "verify"),
        ("the high priority run", "priority"),
        ("the unlimited data", "rate_limit_bps"),
        ("the 5 Gb/s data", "rate_limit_bps"),
        ("the hourly data", "repeat"),
        ("the 14:00 run", "start"),
        ("my 8am data", "start"),
    ],
)
@pytest.mark.parametrize("place", ["krios1:/raw/x", "from krios1:/raw"])
def test_what_is_said_of_the_data_is_not_taken_for_a_wish_of_the_transfer(words: str, slot: str, place: str) -> None:
    assert slot in asked(f"copy {words} {place} to archive:/raw")


def test_a_transfer_that_is_named_behind_another_one_without_an_order_is_asked_about() -> None:
    assert asked("pause 7f3a21, then 7f9c04, and resume it at 18:00") == {"action"}
    assert intent_of("pause 7f3a21, then resume 7f9c04")["then"] == [{"action": "resume", "target": {"id": "7f9c04"}}]


def test_every_second_weekday_is_asked_about_and_every_second_day_is_not() -> None:
    assert asked_after("every second Tuesday at 06:00") == {"repeat"}
    assert slot_of("every second day at 06:00", "repeat") == "FREQ=DAILY;INTERVAL=2;BYHOUR=6;BYMINUTE=0"


@pytest.mark.parametrize(
    ("words", "slots"),
    [
        ("on the 1st and 15th of each month at 05:00", {"repeat": "FREQ=MONTHLY;BYMONTHDAY=1,15;BYHOUR=5;BYMINUTE=0"}),
        ("while preserving timestamps", {"preserve": ["timestamps"]}),
        ("dropping *.tmp", {"exclude": ["*.tmp"]}),
        ("only in the 01:00-04:30 slot", {"window": ["01:00", "04:30"]}),
        ("with no verification whatsoever", {"verify": "none"}),
        ("lowest priority please", {"priority": "low"}),
    ],
)
def test_what_more_strangers_say_behind_an_order(words: str, slots: dict[str, object]) -> None:
    assert intent_of(f"{ROUTE}, {words}") == {**intent_of(ROUTE), **slots}


@pytest.mark.parametrize(
    ("text", "slots"),
    [
        ("copy the FASTQ files (*.fastq.gz) in krios1:/a to archive:/a", {"include": ["*.fastq.gz"]}),
        ("krios1:/a is supposed to be pushed to archive:/a", {}),
        ("purge krios1:/a once it has been copied to archive:/a", {"action": "move", "delete_source": True}),
    ],
)
def test_whole_requests_of_more_strangers(text: str, slots: dict[str, object]) -> None:
    assert intent_of(text) == {**intent_of(ROUTE), **slots}


def test_the_source_that_was_wrong_is_changed() -> None:
    changes = {"source": "krios2:/raw/run42"}
    expected = {"action": "modify", "target": {"ref": "last"}, "changes": changes}
    for words in ("it should come from", "the source should be"):
        assert intent_of(f"wrong microscope, {words} krios2:/raw/run42") == expected


@pytest.mark.parametrize(
    "text",
    [
        "sync archive:/a from krios1:/raw/a",
        "please mirror the folder archive:/a from krios1:/raw/a",
        "archive:/a should be synced from krios1:/raw/a",
    ],
)
def test_a_place_that_is_synchronised_from_another_is_where_it_goes(text: str) -> None:
    assert ends_of(text) == ENDS


@pytest.mark.parametrize(
    "text",
    [
        "sync archive:/a from krios1:/raw/a to PRG:/a",
        "sync archive:/a from krios1:/raw/a or dtn3:/a",
        "sync archive:/a from krios1:/raw/a, from dtn3:/a",
        "don't sync archive:/a from krios1:/raw/a",
        "they sync archive:/a from krios1:/raw/a",
        "archive:/a should not be synced from krios1:/raw/a",
        "copy archive:/a from krios1:/raw/a",
    ],
)
def test_a_place_that_may_not_be_where_it_goes_is_asked_about(text: str) -> None:
    assert read(text).outcome == "ask"


@pytest.mark.parametrize(
    "words",
    [
        "*.tmp and all",
        "*.tmp and everything",
        "*.tmp and all the files",
        "no exclusions, *.tmp and all",
        "*.tmp and everything with high priority",
    ],
)
def test_names_and_all_the_rest_are_not_all_that_is_taken(words: str) -> None:
    assert "include" in asked_after(words)


def test_names_of_a_place_and_all_the_rest_of_it_are_not_all_that_is_taken() -> None:
    assert "include" in asked("copy *.tmp and everything else from krios1:/a to archive:/a")


@pytest.mark.parametrize(
    "signed",
    ["Thanks,\nJan", "Kind regards,\nJan Novak", "Best,\nMarta", "Thanks, Eva."],
    ids=lambda text: text.split()[-1],
)
@pytest.mark.parametrize("opens", ["PS: ", "P.S. ", "p.s.: ", "PPS: "])
def test_a_letter_may_go_on_behind_its_signature(signed: str, opens: str) -> None:
    text = f"Hi,\ncopy krios1:/raw/a to archive:/a\n\n{signed}\n\n{opens}encrypt it and skip *.tmp"
    assert intent_of(text) == intent_of("copy krios1:/raw/a to archive:/a, encrypt it and skip *.tmp")


@pytest.mark.parametrize(
    "behind",
    [
        "PS: forget it",
        "PS: cancel 7f3a21",
        "PS: I was joking",
        "PS: my boss says move it",
        "PS: Jan",
        "PS: encrypted\nBob",
        "ps, eps",
        "PS encrypted",
    ],
)
def test_what_stands_behind_a_signature_is_read_as_any_other_words(behind: str) -> None:
    assert read(f"copy krios1:/raw/a to archive:/a\n\nThanks,\nEva\n\n{behind}").outcome == "ask"


@pytest.mark.parametrize(
    "signed", ["Thanks, in Jan", "Thanks,\nJan 5", "Thanks,\nJune not July", "Thanks, may we cancel it"]
)
def test_a_month_that_is_nobodys_name_is_asked_about(signed: str) -> None:
    assert read(f"copy krios1:/raw/a to archive:/a\n\n{signed}").outcome == "ask"


@pytest.mark.parametrize(
    "text",
    [
        "The data is on archive:/a. Copy krios1:/b there.",
        "We have 12 TB of data on archive:/a. Copy krios1:/b there.",
        "archive:/a is ready. Please copy everything in krios1:/b there.",
        "archive:/a is ready. Don't move, just copy krios1:/b there.",
        "archive:/a is ready. I need krios1:/b there.",
        "The Okafor group left 12 TB on archive:/a. Copy krios1:/b there.",
        "From archive:/a, copy krios1:/b.",
    ],
)
def test_what_stands_behind_the_verb_is_not_where_what_was_told_before_goes(text: str) -> None:
    assert "destination" in asked(text)
    assert read(text).intent.destination is None


@pytest.mark.parametrize(
    "told",
    [
        "krios1:/raw/a is complete. Please",
        "Night shift handover: krios1:/raw/a is ready. Please",
        "krios1:/raw/a is done, please",
        "The Okafor group (beamtime MX-2291) left about 12 TB on krios1 in /raw/a. Could you please",
        "Our colleagues stored their movies in krios1:/raw/a. Please",
    ],
)
def test_what_is_told_to_be_there_is_what_it_copies(told: str) -> None:
    assert ends_of(f"{told} copy it to archive:/a") == ENDS


@pytest.mark.parametrize(
    "told",
    [
        "krios1:/raw/a is not complete. Please",
        "krios1:/raw/a is almost complete. Please",
        "Once krios1:/raw/a is complete, please",
        "Make sure krios1:/raw/a is complete. Please",
        "Anna says krios1:/raw/a is complete. Please",
        "krios1:/raw/a is done. krios2:/b is ready. Please",
        "The Okafor group left nothing on krios1:/raw/a. Please",
        "The Okafor group left 12 TB on krios1:/raw/a by mistake. Please",
        "The Okafor group (skip logs) left 12 TB on krios1:/raw/a. Please",
        "krios1:/raw/a is complete. Please don't",
    ],
)
def test_what_is_told_otherwise_is_asked_about(told: str) -> None:
    assert read(f"{told} copy it to archive:/a").outcome == "ask"


@pytest.mark.parametrize(
    "for_whom",
    [
        "For the reviewers of our paper I need",
        "For the audit of the lab we need",
        "For the meeting of the team, I need",
    ],
)
def test_for_whom_something_is_needed_says_nothing(for_whom: str) -> None:
    assert ends_of(f"{for_whom} krios1:/raw/a copied to archive:/a") == ENDS


@pytest.mark.parametrize(
    "for_whom",
    [
        "For the reviewers only I need",
        "For the samples of the reviewers I need",
        "For the reviewers of the *.mrc I need",
    ],
)
def test_for_whom_something_is_needed_may_say_what(for_whom: str) -> None:
    assert read(f"{for_whom} krios1:/raw/a copied to archive:/a").outcome == "ask"


@pytest.mark.parametrize(
    "words",
    [
        "10 Gb/s in daytime, unlimited after 20:00",
        "2 Gb/s until 20:00, then 10 Gb/s after 20:00",
        "by day at 2 Gb/s and after 20:00 with no limit",
        "2 Gb/s by day, otherwise unlimited",
        "unlimited after 20:00",
    ],
)
def test_a_time_of_a_rate_is_no_start(words: str) -> None:
    assert asked_after(words) == {"rate_limit_bps"}
    assert read(f"{ROUTE}, {words}").intent.start is None


def test_a_share_of_the_line_is_asked_about_and_the_places_are_understood() -> None:
    assert asked("use only half the bandwidth for krios1:/a -> archive:/a") == {"rate_limit_bps"}


def test_room_to_be_made_after_a_copy_is_asked_about_and_no_place_of_it() -> None:
    text = "copy krios1:/raw/a to archive:/a and then free up the space on krios1"
    assert asked(text) == {"delete_source"}
    assert (str(read(text).intent.source), str(read(text).intent.destination)) == ENDS


def test_a_start_that_waits_is_no_answer_to_a_plan() -> None:
    assert asked(f"{ROUTE}, and start it once the day crew has left") == {"start"}


@pytest.mark.parametrize("while_", ["while we're collecting", "while they are still recording"])
def test_a_stream_while_data_is_taken_is_one(while_: str) -> None:
    assert intent_of(f"stream krios1:/a to archive:/a {while_}")["action"] == "stream"
    assert read(f"{ROUTE} {while_}").outcome == "ask"


@pytest.mark.parametrize("words", ["same thing but run51", "the same but run51", "exactly the same thing, but run51"])
def test_the_same_but_for_a_name_is_the_same_for_it(words: str) -> None:
    assert intent_of(words) == intent_of("the same for run51")


@pytest.mark.parametrize("words", ["same thing but not run51", "same thing but faster", "same but sha256"])
def test_the_same_but_for_anything_else_is_asked_about(words: str) -> None:
    assert read(words).outcome == "ask"


def test_attributes_may_be_said_of_a_transfer() -> None:
    assert intent_of("keep the timestamps on that one")["changes"] == {"preserve": ["timestamps"]}
    assert "include" in asked_after("keep the timestamps on *.mrc")


def test_why_names_are_left_out_says_nothing_more() -> None:
    assert slot_of("skip *.tmp, they are not needed", "exclude") == ["*.tmp"]
    assert read(f"{ROUTE}, *.tmp, they are not needed").outcome == "ask"
    assert read(f"{ROUTE}, skip *.tmp, they are not needed unless empty").outcome == "ask"


@pytest.mark.parametrize(
    "words", ["excepto *.tmp", "ignora *.tmp", "sauf les fichiers *.tmp", "ohne *.tmp", "zonder *.tmp", "senza i *.tmp"]
)
def test_names_left_out_in_another_language_are_asked_about_and_never_taken(words: str) -> None:
    assert asked_after(words) == {"exclude"}
    assert not read(f"{ROUTE}, {words}").intent.include


@pytest.mark.parametrize("word", ["deplace", "synchroniser", "muove", "limita", "pausa"])
def test_a_word_of_another_language_is_no_slip(word: str) -> None:
    assert "action" in asked(f"{word} krios1:/a to archive:/a")


@pytest.mark.parametrize(
    "told",
    [
        "krios1:/a is unencrypted.",
        "The data on krios1:/a is not encrypted.",
        "The files in krios1:/a are all in plaintext.",
    ],
)
def test_how_data_is_says_not_how_it_travels(told: str) -> None:
    text = f"{told} Copy it to archive:/a."
    assert asked(text) == {"encryption"}
    assert read(text).intent.encryption is None


@pytest.mark.parametrize(
    "behind", ["leave krios1:/b there", "not krios1:/b", "encrypted please", "thanks", "at 2 Gb/s"]
)
def test_news_of_a_place_changes_no_plan(behind: str) -> None:
    assert read(f"archive:/a is ready. {behind}").outcome == "ask"


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("just the *.fastq.gz files and SampleSheet.csv", ["*.fastq.gz", "SampleSheet.csv"]),
        ("only the *.tif files, the *.xml files and manifest.json", ["*.tif", "*.xml", "manifest.json"]),
        ("only the files in maps/ and *.star", ["maps/", "*.star"]),
    ],
)
def test_a_list_of_names_goes_on_behind_a_noun(words: str, names: list[str]) -> None:
    assert slot_of(words, "include") == names


def test_a_folder_in_a_list_makes_no_folder_of_the_next_name() -> None:
    assert slot_of("skip the old/ folder and *.tmp", "exclude") == ["old/", "*.tmp"]


@pytest.mark.parametrize("words", ["skip *.tmp and include *.mrc", "skip *.tmp files and include the *.mrc files"])
def test_what_is_to_be_included_is_never_left_out_with_the_names_before_it(words: str) -> None:
    assert "include" in asked_after(words)


@pytest.mark.parametrize(
    "words",
    [
        "not everything from QC/",
        "don't copy everything in QC/",
        "every file over 1 GB must be verified",
        "only *.mrc need a checksum",
        "the *.mrc files modified this week should be verified",
        "only *.cif files must be copied before 18:00",
        "*.tmp files won't be needed after 18:00",
    ],
)
def test_what_is_said_of_some_files_or_some_time_alone_is_asked_about(words: str) -> None:
    assert asked_after(words)


@pytest.mark.parametrize(
    "words",
    [
        "delete files on PRG that aren't on dtn3 any more",
        "files deleted on dtn3 should be deleted on PRG as well",
        "remove from PRG:/web whatever is gone from dtn3:/web",
    ],
)
def test_what_the_source_has_lost_is_deleted_at_the_destination_that_is_named(words: str) -> None:
    assert intent_of(f"sync dtn3:/web to PRG:/web; {words}")["delete_extraneous"] is True


@pytest.mark.parametrize(
    "words",
    [
        "delete files on dtn3 that aren't on PRG any more",
        "delete files on NCSA that aren't on dtn3 any more",
        "files deleted on PRG should be deleted on dtn3 as well",
        "delete files on PRG:/old that aren't on dtn3",
    ],
)
def test_nothing_is_deleted_where_another_end_is_named(words: str) -> None:
    assert "delete_extraneous" in asked(f"sync dtn3:/web to PRG:/web; {words}")


def test_attributes_that_need_not_be_kept_are_not_wanted_and_contradict_those_that_are() -> None:
    assert slot_of("there's no need to preserve permissions", "preserve") is None
    assert slot_of("keep timestamps, there's no need to preserve permissions", "preserve") == ["timestamps"]
    assert asked_after("keep timestamps, there's no need to keep timestamps") == {"preserve"}
    assert read("yes, there's no need to preserve permissions").outcome == "ask"
