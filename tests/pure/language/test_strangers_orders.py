"""Constructions of strangers: when a job starts, which transfers go on, what is wanted where, and which files of it."""

import pytest
from tests.pure.language.made import ROUTE, asked, asked_after, intent_of, read, refused, slot_of

A, B = "krios1:/raw/a", "archive:/a"
ENDS = {"source": A, "destination": B}
STARTS = "2026-11-25T18:45:00-06:00"


@pytest.mark.parametrize(
    "text",
    [
        "what's its status?",
        "its progress so far?",
        "how is its progress",
        "what's that one's status",
        "let me know its status",
        "could you check its status",
        "its eta?",
    ],
)
def test_the_status_of_it_is_that_of_the_last_transfer(text: str) -> None:
    assert intent_of(text) == {"action": "status", "target": {"ref": "last"}}


@pytest.mark.parametrize("text", ["its status is final", "don't show me its status", "what's its status if it failed?"])
def test_more_than_a_question_of_its_status_is_asked_about(text: str) -> None:
    assert read(text).outcome == "ask"


@pytest.mark.parametrize(
    "text",
    [
        f"18:45 start for {A} -> {B} pls",
        f"a 18:45 start please for {A} -> {B}",
        f"kick off {A} to {B} at 18:45",
        f"kick {A} to {B} off at 18:45",
        f"at 18:45 launch {A} -> {B}",
        f"could you start {A} to {B} at 18:45?",
        f"schedule {A} to {B} for 18:45",
        f"start for {A} -> {B}: 18:45",
        f"get {A} to {B} going at 18:45",
    ],
)
def test_a_job_that_is_set_going_at_a_time_is_a_copy_that_starts_then(text: str) -> None:
    assert intent_of(text) == {"action": "copy", **ENDS, "start": STARTS}


@pytest.mark.parametrize(
    "text",
    [
        f"don't kick off {A} to {B} at 18:45",
        f"never start {A} -> {B}",
        f"kick off {A} to {B} only if the link is free",
        f"did you kick off {A} to {B} at 18:45?",
        f"schedule {A} to {B}",
        f"set {A} to {B}",
        f"not an 18:45 start for {A} -> {B} but 19:45",
        f"18:45 or 19:45 start for {A} -> {B}",
        f"18:45 start for {A} -> {B} is too late",
        f"around 18:45 start for {A} -> {B}",
    ],
)
def test_a_job_that_is_not_set_going_or_at_no_time_is_asked_about(text: str) -> None:
    assert read(text).outcome == "ask"


def test_a_deadline_for_a_job_is_its_deadline() -> None:
    wanted = {"action": "copy", **ENDS, "deadline": "2026-11-27T18:00:00-06:00"}
    assert intent_of(f"Friday 18:00 deadline for {A} -> {B}") == wanted
    assert intent_of(f"deadline for {A} -> {B}: Friday 18:00") == wanted


@pytest.mark.parametrize(
    ("text", "action", "target"),
    [
        ("let everything bound for PRG continue", "resume", {"destination": "PRG"}),
        ("you can let everything coming from krios1 continue now", "resume", {"source": "krios1"}),
        ("everything bound for PRG can continue", "resume", {"destination": "PRG"}),
        ("let all paused transfers to PRG continue", "resume", {"destination": "PRG", "state": "paused"}),
        ("get all paused transfers going again", "resume", {"state": "paused"}),
        ("resume everything that was paused", "resume", {"state": "paused"}),
        ("everything going to PRG should be paused", "pause", {"destination": "PRG"}),
        ("all transfers from krios1 must be paused", "pause", {"source": "krios1"}),
        ("all my transfers must be paused", "pause", {}),
        ("put whatever is headed for PRG on hold", "pause", {"destination": "PRG"}),
        ("pause all transfers to PRG that are running", "pause", {"destination": "PRG", "state": "running"}),
        ("everything from krios1 should be cancelled", "cancel", {"source": "krios1"}),
        ("cancel whatever failed", "cancel", {"state": "failed"}),
    ],
)
def test_transfers_are_controlled_by_what_they_are(text: str, action: str, target: dict[str, str]) -> None:
    assert intent_of(text) == {"action": action, "target": {"select": "all", **target}}


@pytest.mark.parametrize(
    "text",
    [
        "don't let everything bound for PRG continue",
        "let nothing bound for PRG continue",
        "let everything not bound for PRG continue",
        "let everything bound for PRG continue but not 7f3a21",
        "let everything bound for PRG or NCSA continue",
        "let everything bound for PRG continue if the disk is back",
        "everything bound for PRG should continue as it is",
        "everything bound for PRG can't continue",
        "everything bound for PRG may not be paused",
        "everything going to PRG was paused",
        "everything going to PRG paused",
        "everything to PRG should be paused or cancelled",
        "should everything going to PRG be paused?",
        "all paused transfers to PRG must be cancelled",
        "pause all transfers to PRG that are not running",
        "resume everything that was not paused",
        "resume everything that was paused by Anna",
    ],
)
def test_transfers_that_are_not_all_of_a_kind_or_not_to_be_controlled_are_asked_about(text: str) -> None:
    assert read(text).outcome == "ask"


def test_one_transfer_that_must_be_stopped_is_stopped_unless_that_is_denied() -> None:
    assert intent_of("make sure 7f3a21 gets cancelled") == {"action": "cancel", "target": {"id": "7f3a21"}}
    assert read("make sure that 7f3a21 is not cancelled").outcome == "ask"
    assert read("see whether 7f3a21 is cancelled").outcome == "ask"


def test_what_goes_to_an_endpoint_is_listed() -> None:
    listed = {"action": "list", "target": {"destination": "PRG"}}
    assert intent_of("which of my transfers are going to PRG") == listed
    assert intent_of("is anything going to PRG") == listed
    assert read("what is going to be copied to PRG").outcome == "ask"


@pytest.mark.parametrize(
    ("words", "handling"),
    [
        ("if a file's already there, skip it", "skip"),
        ("skip it if a file's already there", "skip"),
        ("if there already is a file of that name, skip it", "skip"),
        ("if it exists already, then it can be skipped", "skip"),
        ("if any file's in the way, overwrite it", "overwrite"),
        ("if a file's already there, fail", "fail"),
        ("if a file's already there, keep the newer one", "newer"),
    ],
)
def test_a_file_that_is_already_there_is_handled_as_said(words: str, handling: str) -> None:
    assert slot_of(words, "on_conflict") == handling
    assert intent_of(words) == {"action": "modify", "target": {"ref": "last"}, "changes": {"on_conflict": handling}}


@pytest.mark.parametrize(
    "words",
    [
        "if a file's already there, skip the folder",
        "if a file's already there, overwrite the folder",
        "if it exists, skip the rest",
        "if a file's already there, don't skip it",
        "if a file's already there, skip it or overwrite it",
        "if a file's not there, skip it",
        "if a file's broken, skip it",
        "if a file's already there, ask me",
    ],
)
def test_more_than_the_file_that_is_there_is_asked_about(words: str) -> None:
    assert read(words).outcome == "ask"


@pytest.mark.parametrize(
    "text",
    [
        f"I'd be grateful to have {A} at {B}",
        f"we'd be happy to see {A} on {B}",
        f"it would be nice to have {A} in {B}",
        f"having a copy of {A} on {B} would help",
        f"it'd help to have {A} on {B}",
        f"{A}, wanted at {B}",
        f"needed on {B}: {A}",
        f"a copy of {A} belongs in {B}",
        f"{B} should hold a copy of {A}",
        f"{A} deserves a copy on {B}",
        f"{A} will have to go to {B}",
        f"{A} should find a home on {B}",
        f"can {A} be made available at {B}?",
        f"kindly arrange for {A} to be at {B}",
        f"take {A}, drop it in {B}",
        f"regarding {A}: copy it to {B}",
        f"what should go to {B} is {A}",
        f"with {A} as source and {B} as destination, copy",
        f"copy with source {A} and destination {B}",
        f"{A} (source), {B} (destination)",
        f"copy everything {A} holds to {B}",
        "the ensemble on krios1 under /raw/a has to be at archive:/a",
    ],
)
def test_what_is_wanted_somewhere_is_copied_there(text: str) -> None:
    assert intent_of(text) == {"action": "copy", **ENDS}


@pytest.mark.parametrize(
    "text",
    [
        f"I'd be happy not to have {A} at {B}",
        f"I'd be glad to have {A} deleted at {B}",
        f"I'd be glad to have had {A} at {B}",
        f"it wouldn't be nice to have {A} at {B}",
        f"would it be good to have {A} at {B}?",
        f"having {A} at {B} would be bad",
        f"not having {A} at {B} would be great",
        f"{A} no longer needed on {B}",
        f"{A} was needed at {B}",
        f"a copy of {A} is at {B}",
        f"a copy of {A} must not exist at {B}",
        f"{B} should hold no copy of {A}",
        f"{B} should already hold {A}",
        f"{A} would have to go to {B}",
        f"{A} will not have to go to {B}",
        f"can {A} be kept out of {B}?",
        f"take {A}, don't drop it in {B}",
        f"regarding {A}: don't copy it to {B}",
        f"about {A}: it should not go to {B}",
        f"what should go to {B} is not {A}",
        f"{B} <- {A}",
        f"{B} <-> {A}",
        f"copy everything {A} doesn't hold to {B}",
        "the ensemble on krios1 under /raw/a must not be at archive:/a",
        "the ensemble on krios1 under /raw/a should already be at archive:/a",
        "half of the ensemble on krios1 under /raw/a has to be at archive:/a",
    ],
)
def test_what_is_not_wanted_there_or_only_told_is_asked_about(text: str) -> None:
    assert read(text).outcome == "ask"


def test_each_end_is_what_its_brackets_call_it() -> None:
    assert intent_of(f"{A} (destination), {B} (source)") == {"action": "copy", "source": B, "destination": A}


@pytest.mark.parametrize(
    ("text", "slots"),
    [
        (f"Of {A} I need only the *.dm4 files in {B}", {"include": ["*.dm4"]}),
        (f"from {A} I only want the *.dm4 files, in {B} please", {"include": ["*.dm4"]}),
        (f"in {B} I need only the *.dm4 files of {A}", {"include": ["*.dm4"]}),
        (f"of {A} only the *.dm4 files are needed in {B}", {"include": ["*.dm4"]}),
        (f"Of {A} I need only the .dm4 files bigger than 1 GB in {B}", {"include": ["*.dm4"], "min_size": 10**9}),
        (f"of {A} only files under 10 MB are needed in {B}", {"max_size": 10**7}),
        (f"from {A} we want everything except *.tmp in {B}", {"exclude": ["*.tmp"]}),
        (f"bring just *.cbf and *.h5 over from {A} to {B}", {"include": ["*.cbf", "*.h5"]}),
        (f"*.json and *.yaml only: {A} -> {B}", {"include": ["*.json", "*.yaml"]}),
        (f"copy *.mrc (and only those) from {A} to {B}", {"include": ["*.mrc"]}),
        (f"copy {A} to {B}, of which only *.mrc", {"include": ["*.mrc"]}),
        (f"{A} to {B}; leave *.part behind, and files over 4 GB too", {"exclude": ["*.part"], "max_size": 4 * 10**9}),
        (f"{A} to {B}; leave *.part and files over 4 GB behind", {"exclude": ["*.part"], "max_size": 4 * 10**9}),
        (f"{A} to {B}; *.part stays behind, and so do files under 4 kB", {"exclude": ["*.part"], "min_size": 4000}),
        (f"{A} to {B}, skip *.tmp; the same goes for *.bak", {"exclude": ["*.tmp", "*.bak"]}),
        (f"{A} to {B}, *.tmp not needed", {"exclude": ["*.tmp"]}),
        (f"{A} to {B}, don't bother with *.tmp", {"exclude": ["*.tmp"]}),
    ],
)
def test_strangers_say_which_files_of_it_are_wanted(text: str, slots: dict[str, object]) -> None:
    assert intent_of(text) == {"action": "copy", **ENDS, **slots}


@pytest.mark.parametrize(
    "text",
    [
        f"Of {A} I don't need the .dm4 files in {B}",
        f"Of {A} I need only the .dm4 files that are not in {B}",
        f"of {A} I need the *.dm4 files in {B} deleted",
        f"of {A} I only needed *.dm4 in {B}",
        f"of {A} only the *.dm4 files are in {B}",
        f"from {A} everything except *.tmp is in {B}",
        f"not *.json only: {A} -> {B}",
        f"exclude *.json only: {A} -> {B}",
        f"copy *.mrc (and not only those) from {A} to {B}",
        f"copy {A} to {B}, of which not only *.mrc",
        f"{A} to {B}; leave *.part behind, and files over 4 GB",
        f"{A} to {B}; leave *.part behind, and take files over 4 GB too",
        f"{A} to {B}; don't leave *.part behind, and files over 4 GB too",
        f"{A} to {B}, skip *.tmp; the same doesn't go for *.bak",
        f"{A} to {B}, *.tmp not only needed but vital",
        f"{A} to {B}, never forget *.tmp",
    ],
)
def test_files_that_may_be_others_are_asked_about(text: str) -> None:
    assert read(text).outcome == "ask"


def test_an_include_list_in_a_form_stays_one() -> None:
    text = "copy dtn3:/cfg to archive:/cfg exclude: *.tmp only: *.json"
    assert intent_of(text)["include"] == ["*.json"]
    assert intent_of(text)["exclude"] == ["*.tmp"]


def test_both_alike_deletes_only_where_that_is_said_as_well() -> None:
    sync = "sync NCSA:/pool to PRG:/pool so that both look exactly alike"
    assert intent_of(f"{sync}, i.e. delete in PRG what is gone at the source")["delete_extraneous"] is True
    assert asked(sync) == {"delete_extraneous"}
    assert asked(f"{sync}, i.e. delete in NCSA what is gone at the source") == {"delete_extraneous"}
    assert "delete_extraneous" in asked(f"{sync}, i.e. don't delete in PRG what is gone at the source")


@pytest.mark.parametrize(
    "note",
    [
        "(PRG is production, do not remove anything there!)",
        "(PRG is production)",
        "(PRG is fast and reliable)",
        "(it's production, don't delete anything)",
        "(remember: PRG is production!)",
    ],
)
def test_a_note_that_praises_a_place_says_nothing_of_the_transfer(note: str) -> None:
    plain = {"action": "copy", "source": "PRG:/n5", "destination": "archive:/n5"}
    assert intent_of(f"PRG:/n5 -> archive:/n5 {note}") == plain


@pytest.mark.parametrize(
    "note",
    [
        "(PRG is not production, remove everything there!)",
        "(PRG is faster)",
        "(PRG is production only at night)",
        "if PRG is production",
    ],
)
def test_a_note_that_may_change_something_is_asked_about(note: str) -> None:
    assert read(f"PRG:/n5 -> archive:/n5 {note}").outcome == "ask"


@pytest.mark.parametrize(
    ("said", "slot", "value"),
    [
        ("bandwidth cap 450 Mbps for", "rate_limit_bps", 450_000_000),
        ("a cap of 450 Mb/s on", "rate_limit_bps", 450_000_000),
        ("low priority for", "priority", "low"),
        ("blake3 checksums for", "verify", "blake3"),
        ("encryption for", "encryption", True),
    ],
)
def test_an_option_may_be_said_for_copying(said: str, slot: str, value: object) -> None:
    assert intent_of(f"{said} copying {A} to {B}") == {"action": "copy", **ENDS, slot: value}


@pytest.mark.parametrize(
    "said",
    ["thanks for", "no rate limit for", "not 450 Mb/s for", "at least 450 Mb/s for", "450 GB for", "no encryption for"],
)
def test_what_is_no_option_for_copying_is_asked_about(said: str) -> None:
    assert read(f"{said} copying {A} to {B}").outcome == "ask"


@pytest.mark.parametrize(
    "told",
    [
        "I just have to close the files",
        "I still have to close some files",
        "let me just close the files",
        "we still need to unmount the stick",
        "I only have to log out of the microscope",
    ],
)
def test_what_somebody_does_before_a_start_is_told_beside_it(told: str) -> None:
    assert slot_of(f"start in 15 minutes, {told}", "start") == "2026-11-25T14:45:00-06:00"
    assert "action" in asked_after(told), "without a time it says when to start"
    assert "action" in asked_after(f"by 18:00, {told}")


@pytest.mark.parametrize(
    "told", ["I just have to delete the files", "you have to close the files", "close the files first"]
)
def test_what_may_be_an_order_before_a_start_is_asked_about(told: str) -> None:
    assert asked_after(f"start in 15 minutes, {told}")


def test_data_that_is_public_needs_no_encryption() -> None:
    assert intent_of(f"public data, so {A} can go to {B} with no encryption") == {
        "action": "copy",
        **ENDS,
        "encryption": False,
    }
    for text in (
        f"public data, {A} to {B}",
        f"public data only, {A} to {B} unencrypted",
        f"not public data, {A} to {B} unencrypted",
        f"open data: {A} to {B}, unencrypted",
        f"sensitive data, {A} to {B} unencrypted",
        f"copy {A} to {B} unencrypted, public data",
    ):
        assert read(text).outcome == "ask", text


def test_a_priority_that_will_do_is_the_priority() -> None:
    assert slot_of("low priority will do", "priority") == "low"
    assert slot_of("normal priority suffices", "priority") == "normal"
    assert intent_of(f"no hurry with {A} to {B}, low priority will do") == {"action": "copy", **ENDS, "priority": "low"}
    assert "priority" in asked_after("low priority will not do")


def test_off_peak_hours_are_asked_about_and_hours_in_brackets_are_not() -> None:
    assert asked("keep it to off-peak hours: PRG:/s to archive:/s") == {"window"}
    assert asked("off-peak hours only: PRG:/s to archive:/s") == {"window"}
    assert slot_of("keep it to off-peak hours (22:00-06:00)", "window") == ["22:00", "06:00"]


@pytest.mark.parametrize("word", ["governance", "policy", "compliance", "approval", "audit"])
def test_a_word_of_policy_may_name_a_folder(word: str) -> None:
    assert slot_of(f"don't bother with the {word} subfolder", "exclude") == [f"{word}/"]
    assert "exclude" in asked_after(f"bypass the {word} folder")
    assert refused(f"{ROUTE}, don't bother with {word}") == {"bypasses_policy"}
    assert refused(f"{ROUTE}, skip {word} for this folder") == {"bypasses_policy"}
