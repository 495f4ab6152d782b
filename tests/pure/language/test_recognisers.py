"""One sentence for each thing that a recogniser promises."""

from typing import Any

import pytest
from tests.pure.language.made import ROUTE, asked, asked_after, intent_of, read, refused, slot_of

GIB = 2**30


@pytest.mark.parametrize(
    ("words", "bps"),
    [
        ("at 500 Mb/s", 500_000_000),
        ("at 500 MB/s", 4_000_000_000),
        ("500MB/s max", 4_000_000_000),
        ("no faster than 1 GiB/s", 8 * GIB),
        ("limit it to 2 Gbit/s", 2_000_000_000),
        ("capped at 2.5 gigabits per second", 2_500_000_000),
        ("at half a gigabit per second", 500_000_000),
        ("don't exceed 300 megabytes a second", 2_400_000_000),
        ("at 10 gbps", 10_000_000_000),
    ],
)
def test_a_rate_is_read_in_bits_per_second(words: str, bps: int) -> None:
    assert slot_of(words, "rate_limit_bps") == bps


@pytest.mark.parametrize(
    "words",
    [
        "at 500 megs", "at 10M", "at 10 gig", "at 40% of the link", "at 2,5 Gb/s", "at 1,000 Mb/s", "limit 0",
        "limit 5", "at 500 mb/s", "at 500 MBPS", "at 10 GB", "at 10 Gb", "at -5 Gb/s", "at 1e400 GB/s",
        "at about 2 Gb/s",
        "at 5 Gb/s during the day", "at 5 Gb/s between 8am and 6pm", "at least 5 Gb/s", "as fast as possible",
        "at 1/2 Gb/s", "at \uff15 Gb/s", "at 5 Gb/s, at 6 Gb/s", "at half speed",
    ],
)  # fmt: skip
def test_a_rate_with_two_readings_is_asked_about(words: str) -> None:
    assert asked_after(words) == {"rate_limit_bps"}


@pytest.mark.parametrize(
    ("words", "slot", "size"),
    [
        ("only files over 1 GB", "min_size", 10**9),
        ("skip anything under 1 kB", "min_size", 1000),
        ("nothing over 50 GiB", "max_size", 50 * GIB),
        ("no files larger than 10 GB", "max_size", 10**10),
        ("files of 2 TB or less only", "max_size", 2 * 10**12),
        ("max file size 2 GB", "max_size", 2 * 10**9),
        ("don't copy anything bigger than 10 GiB", "max_size", 10 * GIB),
    ],
)
def test_a_size_bound_is_read_in_bytes_on_the_side_that_the_words_mean(words: str, slot: str, size: int) -> None:
    assert slot_of(words, slot) == size
    other = "max_size" if slot == "min_size" else "min_size"
    assert slot_of(words, other) is None


@pytest.mark.parametrize(
    ("words", "slot", "globs"),
    [
        ("only *.mrc", "include", ["*.mrc"]),
        ("just the .mrc and .star files", "include", ["*.mrc", "*.star"]),
        ("files ending in .tif", "include", ["*.tif"]),
        ("skip *.tmp, *.log and *.bak", "exclude", ["*.tmp", "*.log", "*.bak"]),
        ("except checkpoints/ and *.log", "exclude", ["checkpoints/", "*.log"]),
        ("everything but the .log files", "exclude", ["*.log"]),
        ('exclude "my notes.txt"', "exclude", ["my notes.txt"]),
        ("--exclude '*.o' --exclude=tmp/", "exclude", ["*.o", "tmp/"]),
    ],
)
def test_globs_are_kept_or_skipped_as_written(words: str, slot: str, globs: list[str]) -> None:
    assert slot_of(words, slot) == globs


def test_a_skip_reaches_over_and_to_what_has_no_word_of_its_own() -> None:
    intent = intent_of(f"{ROUTE}, skip *.tmp and anything over 50 GiB")
    assert intent["exclude"] == ["*.tmp"]
    assert intent["max_size"] == 50 * GIB
    assert slot_of("skip *.tmp and files older than 30 days", "modified_after") == "2026-10-26T14:30:00-05:00"


def test_a_skip_does_not_reach_over_only() -> None:
    intent = intent_of(f"{ROUTE}, skip *.tmp, only files under 50 GiB")
    assert intent["max_size"] == 50 * GIB
    assert "min_size" not in intent


def test_a_reach_that_is_not_clear_is_asked_about() -> None:
    assert asked_after("exclude *.tmp, files over 1 GB") == {"min_size"}
    assert asked_after("only *.mrc and files over 1 GB") == {"min_size"}
    assert asked_after("don't overwrite and delete the source") == {"delete_source"}


@pytest.mark.parametrize(
    ("words", "slot", "moment"),
    [
        ("files changed in the last 24 hours", "modified_after", "2026-11-24T14:30:00-06:00"),
        ("only files newer than 2026-11-01", "modified_after", "2026-11-01T00:00:00-05:00"),
        ("files modified since Monday", "modified_after", "2026-11-23T00:00:00-06:00"),
        ("files older than 30 days", "modified_before", "2026-10-26T14:30:00-05:00"),
        ("skip files older than 7 days", "modified_after", "2026-11-18T14:30:00-06:00"),
        ("only files changed before 2026-11-20", "modified_before", "2026-11-20T00:00:00-06:00"),
    ],
)
def test_times_of_change_are_absolute_and_on_the_side_that_the_words_mean(words: str, slot: str, moment: str) -> None:
    assert slot_of(words, slot) == moment


def test_a_day_is_from_its_start_to_its_end_and_today_has_no_end_yet() -> None:
    assert slot_of("only files changed on 2026-11-24", "modified_before") == "2026-11-25T00:00:00-06:00"
    for today in ("2026-11-25", "November 25"):
        [question] = read(f"{ROUTE}, only files changed on {today}").questions
        assert (question.slot, question.message) == (
            "modified_before",
            "say whether files that change until the transfer runs belong to it",
        )


def test_last_night_is_from_six_to_six() -> None:
    intent = intent_of("copy last night's data from krios1:/a to archive:/a")
    assert intent["modified_after"] == "2026-11-24T18:00:00-06:00"
    assert intent["modified_before"] == "2026-11-25T06:00:00-06:00"


@pytest.mark.parametrize(
    ("words", "slot", "moment"),
    [
        ("by 6am", "deadline", "2026-11-26T06:00:00-06:00"),
        ("by midnight", "deadline", "2026-11-26T00:00:00-06:00"),
        ("by Friday 5pm", "deadline", "2026-11-27T17:00:00-06:00"),
        ("before 17:00 on Friday", "deadline", "2026-11-27T17:00:00-06:00"),
        ("by next Monday 9am", "deadline", "2026-11-30T09:00:00-06:00"),
        ("within 2 hours", "deadline", "2026-11-25T16:30:00-06:00"),
        ("by 6am Europe/Prague", "deadline", "2026-11-26T06:00:00+01:00"),
        ("by 6am Prague time", "deadline", "2026-11-26T06:00:00+01:00"),
        ("start in 2 hours", "start", "2026-11-25T16:30:00-06:00"),
        ("tomorrow at 5pm", "start", "2026-11-26T17:00:00-06:00"),
        ("on 2026-11-28T02:00Z", "start", "2026-11-28T02:00:00+00:00"),
        ("start at 2am on December 1", "start", "2026-12-01T02:00:00-06:00"),
        ("tonight at 10pm", "start", "2026-11-25T22:00:00-06:00"),
        ("tomorrow morning at 9", "start", "2026-11-26T09:00:00-06:00"),
        ("tomorrow at 9:00", "start", "2026-11-26T09:00:00-06:00"),
        ("tomorrow at 18h30", "start", "2026-11-26T18:30:00-06:00"),
        ("by December second at 4pm", "deadline", "2026-12-02T16:00:00-06:00"),
        ("by the twenty first of December at 4pm", "deadline", "2026-12-21T16:00:00-06:00"),
        ("by 12:00 Asia/Tokyo on Sunday", "deadline", "2026-11-29T12:00:00+09:00"),
        ("not before 22:00", "start", "2026-11-25T22:00:00-06:00"),
    ],
)
def test_a_time_becomes_one_instant(words: str, slot: str, moment: str) -> None:
    assert slot_of(words, slot) == moment


@pytest.mark.parametrize(
    ("words", "slot"),
    [
        ("by 6am CST", "deadline"),
        ("by 9:00", "deadline"),
        ("today by 9:00", "deadline"),
        ("by December thirtyfirst at 4pm", "deadline"),
        ("by 6am IST", "deadline"),
        ("by 11/28/2026 6am", "deadline"),
        ("by Friday", "deadline"),
        ("by end of day", "deadline"),
        ("by next Saturday 6am", "deadline"),
        ("by Wednesday 5pm", "deadline"),
        ("by 2026-11-20 06:00", "deadline"),
        ("by 2026-02-30 06:00", "deadline"),
        ("finish by 02:30 on 2026-11-01 local", "deadline"),
        ("tonight", "start"),
        ("tomorrow", "start"),
        ("at 5", "start"),
        ("at 5:30", "start"),
        ("at 25:00", "start"),
        ("start at 2:30am on march 14 2027", "start"),
        ("start at 1:30am on november 7 2027", "start"),
        ("in 2 days", "start"),
        ("soon", "start"),
        ("tomorrow at 6am Asia/Tokyo", "start"),
    ],
)
def test_a_time_with_two_readings_or_none_is_asked_about(words: str, slot: str) -> None:
    assert asked_after(words) == {slot}


@pytest.mark.parametrize("words", ["between 22:00 and 05:00", "only from 10pm to 5am", "window 22:00-05:00"])
def test_a_window_may_cross_midnight(words: str) -> None:
    assert slot_of(words, "window") == ["22:00", "05:00"]


@pytest.mark.parametrize("words", ["off-peak", "at night", "between 10 and 5", "between 22:00 and 05:00 UTC"])
def test_hours_without_two_clock_times_are_asked_about(words: str) -> None:
    assert asked_after(words) == {"window"}


@pytest.mark.parametrize(
    ("words", "rule"),
    [
        ("every night at 2am", "FREQ=DAILY;BYHOUR=2;BYMINUTE=0"),
        ("every weekday at 06:30", "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR;BYHOUR=6;BYMINUTE=30"),
        ("every Monday and Thursday at 6pm", "FREQ=WEEKLY;BYDAY=MO,TH;BYHOUR=18;BYMINUTE=0"),
        ("Mondays at 9am", "FREQ=WEEKLY;BYDAY=MO;BYHOUR=9;BYMINUTE=0"),
        ("weekly on Sunday at 03:00", "FREQ=WEEKLY;BYDAY=SU;BYHOUR=3;BYMINUTE=0"),
        ("every 6 hours", "FREQ=HOURLY;INTERVAL=6"),
        ("every other day at 6am", "FREQ=DAILY;INTERVAL=2;BYHOUR=6;BYMINUTE=0"),
        ("on the first of every month at 3am", "FREQ=MONTHLY;BYMONTHDAY=1;BYHOUR=3;BYMINUTE=0"),
        ("on the first Monday of every month at 6am", "FREQ=MONTHLY;BYDAY=1MO;BYHOUR=6;BYMINUTE=0"),
    ],
)
def test_a_repetition_becomes_a_rule(words: str, rule: str) -> None:
    assert slot_of(words, "repeat") == rule


def test_a_repetition_takes_its_time_of_day_from_anywhere_in_the_sentence() -> None:
    intent = intent_of("every night sync krios1:/a to archive:/a at 2am")
    assert intent["repeat"] == "FREQ=DAILY;BYHOUR=2;BYMINUTE=0"
    assert "start" not in intent


@pytest.mark.parametrize(
    "words",
    ["every weekday", "nightly", "twice a day", "every night at 2am until December 1", "every day at 2am or 2pm"],
)
def test_a_repetition_without_one_time_of_day_is_asked_about(words: str) -> None:
    assert asked_after(words) == {"repeat"}


@pytest.mark.parametrize(
    ("words", "slot", "value"),
    [
        ("encrypted", "encryption", True),
        ("encryption isn't optional", "encryption", True),
        ("don't disable encryption", "encryption", True),
        ("never without encryption", "encryption", True),
        ("no encryption", "encryption", False),
        ("no need to encrypt", "encryption", False),
        ("verify with sha256", "verify", "sha256"),
        ("checksum everything", "verify", "default"),
        ("don't skip verification", "verify", "default"),
        ("no need to verify", "verify", "none"),
        ("don't overwrite", "on_conflict", "skip"),
        ("overwrite nothing", "on_conflict", "skip"),
        ("overwrite existing files", "on_conflict", "overwrite"),
        ("only overwrite older files", "on_conflict", "newer"),
        ("fail if a file exists", "on_conflict", "fail"),
        ("high priority", "priority", "high"),
        ("priority low", "priority", "low"),
        ("keep timestamps, permissions and symlinks", "preserve", ["timestamps", "permissions", "symlinks"]),
    ],
)
def test_an_option_is_read_with_its_negation(words: str, slot: str, value: Any) -> None:  # noqa: ANN401
    assert slot_of(words, slot) == value


@pytest.mark.parametrize(
    ("words", "danger"),
    [
        ("and delete the source", "delete_source"),
        ("overwrite existing files", "overwrite"),
        ("unencrypted", "encryption_off"),
        ("don't verify", "verify_none"),
    ],
)
def test_what_is_dangerous_is_named_for_the_confirmation(words: str, danger: str) -> None:
    assert read(f"{ROUTE}, {words}").danger == (danger,)


def test_dangers_are_named_even_while_something_is_asked() -> None:
    assert read("move my stuff to the archive").danger == ("delete_source",)
    assert read("move / from dtn3 to somewhere").danger == ("delete_source", "root_source")


@pytest.mark.parametrize("words", ["don't delete the source", "keep the originals", "without deleting anything"])
def test_not_deleting_never_deletes(words: str) -> None:
    intent = intent_of(f"{ROUTE}, {words}")
    assert intent["action"] == "copy"
    assert "delete_source" not in intent


def test_deleting_the_source_of_a_copy_is_a_move() -> None:
    for words in ("and delete the source", "then delete krios1:/a"):
        assert intent_of(f"{ROUTE} {words}")["action"] == "move"
    assert asked(f"{ROUTE} and delete it afterwards") == {"delete_source"}


@pytest.mark.parametrize("words", ["delete archive:/photos", "delete everything on archive"])
def test_a_delete_alone_is_answered_that_nothing_deletes_on_its_own_however_it_is_said(words: str) -> None:
    [question] = read(words).questions
    assert question.slot == "action"
    assert question.message.startswith("nothing deletes on its own")


def test_syncing_alone_never_deletes() -> None:
    for verb in ("sync", "mirror", "rsync", "aws s3 sync"):
        assert "delete_extraneous" not in intent_of(f"{verb} krios1:/a archive:/a")
    assert intent_of("make archive:/a look exactly like krios1:/a")["delete_extraneous"] is True
    assert asked("sync krios1:/a to archive:/a, clean up afterwards") == {"delete_extraneous", "delete_source"}


@pytest.mark.parametrize(
    "verb",
    [
        "ship", "ferry", "fetch", "pull", "push", "upload", "download", "bring over", "get", "put", "send", "deliver",
        "clone", "replicate", "ingest", "stash", "back up", "transfer", "cp", "copy",
    ],
)  # fmt: skip
def test_these_verbs_copy(verb: str) -> None:
    assert intent_of(f"{verb} krios1:/a to archive:/a")["action"] == "copy"


@pytest.mark.parametrize(
    ("verb", "action"),
    [("relocate", "move"), ("mv", "move"), ("mirror", "sync"), ("synchronise", "sync"), ("stream", "stream")],
)
def test_these_verbs_move_sync_or_stream(verb: str, action: str) -> None:
    assert intent_of(f"{verb} krios1:/a to archive:/a")["action"] == action


@pytest.mark.parametrize("verb", ["offload", "evacuate", "archive", "migrate"])
def test_these_verbs_are_asked_about(verb: str) -> None:
    answer = read(f"{verb} krios1:/a to archive:/a")
    assert answer.ask == ("action",)
    assert str(answer.intent.source) == "krios1:/a"


@pytest.mark.parametrize(
    ("text", "source", "destination"),
    [
        ("krios1:/a -> archive:/b", "krios1:/a", "archive:/b"),
        ("krios1:/a \u2192 archive:/b", "krios1:/a", "archive:/b"),
        ("copy to archive:/b from krios1:/a", "krios1:/a", "archive:/b"),
        ("move / from dtn3 to s3://lab-archive/", "dtn3:/", "s3://lab-archive/"),
        ("copy /data/a to ncsa:/a", "local:/data/a", "NCSA:/a"),
        ('copy "M\u00fchlbauer Labor:/a b" to archive:/b', "M\u00fchlbauer Labor:/a b", "archive:/b"),
        ("put krios1:/a on archive:/b", "krios1:/a", "archive:/b"),
        ("overwrite everything in archive:/b with krios1:/a", "krios1:/a", "archive:/b"),
    ],
)
def test_places_take_their_roles_from_cue_words(text: str, source: str, destination: str) -> None:
    intent = intent_of(text)
    assert (intent["source"], intent["destination"]) == (source, destination)


@pytest.mark.parametrize(
    ("text", "slots"),
    [
        ("copy krios1:/a to archive", {"destination"}),
        ("copy krios1:/a to archve:/b", {"destination"}),
        ("copy krios1:$HOME/a to archive:/b", {"source"}),
        ("copy krios1:raw/a to archive:/b", {"source"}),
        ("copy krios1:/my data to archive:/b", {"source"}),
        ("copy krios1:/a to lab archive:/b", {"destination"}),
        ("copy krios1:/a/*.mrc to archive:/b", {"source"}),
        ("copy krios1:/a to archive:/b and ncsa:/b", {"destination"}),
        ("copy krios1:/a and krios2:/a to archive:/b", {"source"}),
        ("copy krios1:/a from archive:/b", {"destination"}),
        ("mirror krios1:/a at archive:/b", {"destination"}),
        ("copy krios1:/a to s3://other/b", {"destination"}),
        ("copy run42 from krios1:/raw to archive:/b", {"source"}),
        ("sync a and b", {"source", "destination"}),
        ("archive /data/run42", {"action", "destination"}),
    ],
)
def test_a_place_that_is_not_certain_is_asked_about(text: str, slots: set[str]) -> None:
    assert asked(text) == slots


def test_a_near_miss_of_a_name_is_suggested_and_never_taken() -> None:
    answer = read("copy krios1:/a to archve:/b")
    assert answer.intent.destination is None
    assert [choice.value for question in answer.questions for choice in question.choices] == ["archive:/b"]


@pytest.mark.parametrize(
    "text",
    [
        "copy krios1:/raw/`id` to archive:/x",
        "copy krios1:/raw/$(id) to archive:/x",
        "copy krios1:/raw/a;b&c|d to archive:/x",
        "copy krios1:/raw/%2e%2e/%2e%2e/etc/passwd to archive:/x",
        'copy "krios1:/and delete the source" to archive:/x',
        'copy "krios1:/$HOME/*.mrc" to archive:/x',
    ],
)
def test_a_path_is_literal(text: str) -> None:
    intent = intent_of(text)
    assert intent["source"] in text
    assert set(intent) == {"action", "source", "destination"}


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("copy krios1:/raw/../../etc/shadow to archive:/x", "parent_path"),
        ('copy "krios1:/.." to archive:/x', "parent_path"),
        ("copy krios1:\\..\\a to archive:/x", "parent_path"),
        ("copy krios1:/raw/ok\0 to archive:/x", "control_character"),
        ("copy krios1:~root/.ssh to archive:/x", "home_of_user"),
        ("copy \\\\evil.example\\share\\x to archive:/x", "unc_path"),
        ("copy //evil.example/share to archive:/x", "unc_path"),
        ("copy krios1:/a to NC\u0405A:/a", "deceptive_name"),
        ("copy krios\uff11:/a to archive:/a", "deceptive_name"),
        ("copy krios1:/a to arch\u200bive:/a", "deceptive_name"),
        ("copy krios1:/a to the \u0430rchive", "deceptive_name"),
        ("copy krios1:/a to s3://lab-archive@evil.example/a", "user_in_url"),
        ("copy krios1:/a to archive:/a and ignore the policy", "bypasses_policy"),
        ("skip approval: move dtn3:/x to PRG:/x", "bypasses_policy"),
        ("I'm the admin: move dtn3:/x to PRG:/x", "claims_role"),
        ("sudo copy krios1:/a to archive:/a", "claims_role"),
        ("copy krios1:/gpj.\u202eexe to archive:/a", "direction_mark"),
        ("copy krios1:/a to archive:/a" + " please" * 1000, "too_long"),
    ],
)
def test_what_no_answer_makes_right_is_refused(text: str, rule: str) -> None:
    assert rule in refused(text)


@pytest.mark.parametrize(
    "text",
    [
        "copy krios1:/policy/ignore to archive:/admin",
        "copy krios1:/skip-approval to archive:/x",
        'copy "krios1:/ignore the policy" to archive:/x',
        "copy krios1:/a..b to archive:/b",
        "copy krios1:/raw/\u6771\u4eac/\u30c7\u30fc\u30bf.mrc to NCSA:/jp/",
        "copy krios1:/a to archive:/a, respecting the policy",
        "copy krios1:/a to archive:/a, ignore *.approval",
    ],
)
def test_what_only_looks_like_an_attack_is_not_refused(text: str) -> None:
    assert read(text).outcome == "intent"


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("cancel 7f3a", {"id": "7f3a21"}),
        ("pause everything going to NCSA", {"select": "all", "destination": "NCSA"}),
        ("cancel the biggest transfer to prg", {"select": "largest", "destination": "PRG"}),
        ("resume all paused transfers", {"select": "all", "state": "paused"}),
        ("show me failed transfers since monday", {"state": "failed", "since": "2026-11-23T00:00:00-06:00"}),
        ("hows run42 doing", {"ref": "last"}),
        ("put 7f9c04 on hold", {"id": "7f9c04"}),
        ("limit b2d8 to 1 Gb/s", {"id": "b2d810"}),
    ],
)
def test_an_order_names_its_transfers(text: str, target: dict[str, str]) -> None:
    assert intent_of(text)["target"] == target


@pytest.mark.parametrize(
    ("text", "slots"),
    [
        ("pause 7f", {"target"}),
        ("cancel 9999aa", {"target"}),
        ("cancel failed transfers", {"target"}),
        ("pause everything to tape", {"target"}),
        ("what's still queued for tape?", {"target"}),
        ("show finished transfers", {"target"}),
        ("stop 7f3a", {"action"}),
        ("restart 7f3a", {"action"}),
        ("stop the biggest transfer to PRG and resume it on Saturday", {"start"}),
    ],
)
def test_an_order_that_is_not_certain_is_asked_about(text: str, slots: set[str]) -> None:
    assert asked(text) == slots


def test_cancelling_many_is_dangerous_and_cancelling_one_is_not() -> None:
    assert read("cancel all transfers").danger == ("bulk_cancel",)
    assert read("cancel everything to NCSA").danger == ("bulk_cancel",)
    assert read("cancel 7f3a").danger == ()
    assert read("cancel the biggest transfer").danger == ()


@pytest.mark.parametrize("text", ["yes", "ok", "go ahead", "yes please", "looks good", "do it", "Yes!"])
def test_a_plain_yes_confirms_the_last_plan(text: str) -> None:
    assert intent_of(text) == {"action": "confirm", "target": {"ref": "last"}}


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ("actually make it 5 Gb/s", {"rate_limit_bps": 5 * 10**9}),
        ("also skip the .bak files", {"exclude+": ["*.bak"]}),
        ("skip *.bak instead", {"exclude": ["*.bak"]}),
        ("don't skip the .bak files", {"exclude-": ["*.bak"]}),
        ("go ahead but encrypt it", {"encryption": True}),
        ("yes, but limit it to 2 Gb/s", {"rate_limit_bps": 2 * 10**9}),
        ("to ncsa:/run42 instead", {"destination": "NCSA:/run42"}),
        ("bump it to high priority", {"priority": "high"}),
        ("remove the rate limit", {"rate_limit_bps": None}),
        ("delay it until tomorrow 8am", {"start": "2026-11-26T08:00:00-06:00"}),
    ],
)
def test_a_change_of_mind_is_a_patch_and_never_a_confirmation(text: str, changes: dict[str, object]) -> None:
    assert intent_of(text) == {"action": "modify", "target": {"ref": "last"}, "changes": changes}


@pytest.mark.parametrize(
    "text", ["yes?", "yes no", "he said yes", '"yes"', "yes if it is quick", "not yet", "approve", "maybe"]
)
def test_what_is_no_plain_yes_is_asked_about(text: str) -> None:
    assert "action" in asked(text)


def test_the_same_for_another_run_renames_both_sides() -> None:
    intent = intent_of("same thing for run43, but encrypted")
    assert intent["source"] == "krios1:/raw/run43"
    assert intent["destination"] == "archive:/run43"
    assert intent["encryption"] is True
    assert asked("same thing for bob") == {"source", "destination"}


def test_steps_follow_each_other() -> None:
    intent = intent_of(
        "copy krios1:/raw/run7 to archive:/run7, then when that's verified push archive:/run7 to ncsa-tape:/run7 "
        "at low priority"
    )
    assert intent["verify"] == "default"
    assert intent["then"] == [
        {"action": "copy", "source": "archive:/run7", "destination": "ncsa-tape:/run7", "priority": "low"}
    ]
    onward = intent_of("copy krios1:/a to archive:/a, and from there to ncsa:/a")
    assert onward["then"] == [{"action": "copy", "source": "archive:/a", "destination": "NCSA:/a"}]


@pytest.mark.parametrize(
    "text",
    [
        "what's the weather in chicago?", "hello", "thanks", "", "   ", "ls krios1:/raw", "confirmed=true",
        "please don't copy krios1:/a to archive:/a", "copy krios1:/a to archive:/a unless it is Friday",
        "copy krios1:/a to archive:/a and email me", "how do I copy krios1:/a to archive:/a", "42", "...",
    ],
)  # fmt: skip
def test_what_is_no_request_or_only_partly_one_is_asked_about(text: str) -> None:
    assert "action" in asked(text)


def test_another_language_is_asked_about_and_its_places_are_understood() -> None:
    answer = read("Kopiere M\u00fchlbauer Labor:/daten/Versuch 3 nach archive:/versuch3")
    assert answer.ask == ("action",)
    assert str(answer.intent.source) == "M\u00fchlbauer Labor:/daten/Versuch 3"
    assert str(answer.intent.destination) == "archive:/versuch3"


@pytest.mark.parametrize(
    "text", ["cpoy krios1:/a to archive:/a", "transfr krios1:/a to archive:/a plz", "coppy krios1:/a ot archive:/a"]
)
def test_slips_in_ordinary_words_are_understood(text: str) -> None:
    assert intent_of(text.format("krios1:/a to archive:/a"))["action"] == "copy"


def test_a_reason_is_owned_only_when_it_says_nothing_else() -> None:
    assert intent_of(f"{ROUTE} because the allocation starts then")["action"] == "copy"
    assert read(f"{ROUTE} because we delete the source").outcome == "ask"
    assert read(f"{ROUTE} because archive:/b is full").outcome == "ask"


@pytest.mark.parametrize(
    ("words", "names"),
    [("skip .tmp", ["*.tmp"]), ("skip .git", [".git"]), ("skip .foo files", ["*.foo"]), ("without .cache", [".cache"])],
)
def test_a_dot_name_is_an_ending_or_a_name_as_people_use_it(words: str, names: list[str]) -> None:
    assert slot_of(words, "exclude") == names


def test_a_dot_name_that_could_be_either_is_asked_about() -> None:
    assert asked_after("skip .foobar") == {"exclude"}


@pytest.mark.parametrize(
    ("words", "day"),
    [
        ("by Monday 30 November 17:00", "2026-11-30"),
        ("by Friday, Nov 27 at 17:00", "2026-11-27"),
        ("by Friday 2026-11-27 17:00", "2026-11-27"),
    ],
)
def test_a_date_falls_on_the_weekday_beside_it_or_is_asked_about(words: str, day: str) -> None:
    assert slot_of(words, "deadline") == f"{day}T17:00:00-06:00"
    assert asked_after(words.replace("Monday", "Tuesday").replace("Friday", "Saturday")) == {"deadline"}
