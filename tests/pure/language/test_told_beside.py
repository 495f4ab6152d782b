"""What is told beside an order: how much is where, why, what comes after its time; and orders of another shape."""

import pytest
from tests.pure.language.made import HERE, ROUTE, asked, intent_of, read, slot_of

COPY = intent_of(ROUTE)
BEFORE = ("{why}, {order}", "{why}. {order}")
BEHIND = ("{order}, {why}", "{order}. {why}.")
COPIES = (ROUTE, "could you send krios1:/a to NCSA:/a at 2 Gb/s, skip *.tmp")
MOVES = ("please move dtn3:/scratch/x to ncsa-tape:/x", "krios2:/b must be moved to archive:/b")
SLOW = (f"{ROUTE} at 2 Gb/s", f"{ROUTE} between 22:00 and 05:00", f"{ROUTE}, low priority")
STOPS = ("pause all transfers out of dtn3", "cancel 7f3a21")


def told(section: str) -> list[str]:
    """Give what the table tells in a section."""
    return (HERE / "told.txt").read_text("utf-8").partition(f"\n# {section}\n")[2].partition("\n# ")[0].split("\n")


def changed(section: str, orders: tuple[str, ...], frames: tuple[str, ...]) -> list[str]:
    """Give each text of a section that does not mean what its order means alone."""
    alone = {order: intent_of(order) for order in orders}
    texts = {frame.format(why=why, order=order): order for why in told(section) for order in orders for frame in frames}
    answers = {text: read(text) for text in texts if text.strip()}
    return [
        text
        for text, answer in answers.items()
        if answer.outcome != "intent" or answer.intent.to_json() != alone[texts[text]]
    ]


def test_what_is_told_before_an_order_changes_nothing() -> None:
    assert changed("before an order", (*COPIES, *MOVES), BEFORE) == []


def test_what_is_told_before_or_behind_an_order_changes_nothing() -> None:
    assert changed("before or behind an order", (COPIES[1], MOVES[0]), (*BEFORE, *BEHIND)) == []


def test_what_is_told_behind_an_order_changes_nothing() -> None:
    assert changed("behind an order", (COPIES[1], MOVES[0]), BEHIND) == []


def test_news_of_machines_and_people_changes_no_order_to_stop_a_transfer() -> None:
    assert changed("beside an order to pause or cancel", STOPS, (*BEFORE, *BEHIND)) == []


def test_why_an_order_is_slow_late_or_low_says_nothing_if_it_is_and_is_asked_about_if_not() -> None:
    section = "beside an order with a limit, a time or a low priority, and a question beside one without"
    assert changed(section, SLOW, BEHIND) == []
    assert [why for why in told(section) if why and read(f"{ROUTE}, {why}").outcome == "intent"] == []


def test_that_data_is_not_needed_any_more_says_nothing_beside_a_move_and_is_asked_about_beside_a_copy() -> None:
    section = "beside a move, and a question beside a copy"
    assert changed(section, MOVES, BEHIND) == []
    assert [why for why in told(section) if why and read(f"{ROUTE}, {why}").outcome == "intent"] == []


@pytest.mark.parametrize(
    "letter",
    [
        "Hi storage team, {order}",
        "Hi Anna and Tom, {order}",
        "Dear Dr. Novak, {order}",
        "Dear Prof. Lindqvist, dear all, {order}. Best regards, Hanna",
        "Hello NCSA support, {order}",
        "Hi whoever is on shift, {order}",
        "{order}. Talk soon, Bob",
        "{order}. Thanks & best, Bob",
        "{order}. Thanks from the whole lab",
        "{order}. Have a nice weekend! Uwe",
        "{order}. Warmly, Bob",
        "Good afternoon,\n\nI am writing on behalf of the hydrology group. {order}.\n\nYours sincerely,\nInes Moreau",
        "Hey, sorry to bug you on a Friday afternoon. {order}. Thanks a million!",
        "Hello data services,\n\nOur group has used up its quota. {order}. We would be grateful for your help.",
        "Hi ops, {order}. Ping me on Slack if anything is unclear.",
        "Hey Sam! Long time no see. {order}. See you at lunch! Kim",
        "Hi, {order}. See you on Friday at 18:00. Kim",
    ],
)
def test_to_whom_and_from_whom_a_letter_is_says_nothing_of_its_order(letter: str) -> None:
    assert intent_of(letter.format(order=ROUTE)) == COPY


@pytest.mark.parametrize("path", ["/home/anna/x", "/scratch/anna"])
def test_who_signs_may_be_called_as_a_folder_is(path: str) -> None:
    order = f"copy krios1:{path} to archive:/a"
    assert intent_of(f"Hi, {order}? Thanks, Anna") == intent_of(order)


@pytest.mark.parametrize(
    "words",
    [
        "they are replacing the switch at 18:00",
        "if the switch is replaced",
        "unless the link is choking",
        "until the switch is replaced",
        "the firewall is not being updated",
        "or the link chokes at 18:00",
        "Anna told me not to",
        "nobody asked me to",
    ],
)
def test_news_beside_an_order_to_stop_that_may_say_when_or_whether_is_asked_about(words: str) -> None:
    for text in (f"{STOPS[0]}, {words}", f"{words}, {STOPS[1]}"):
        assert read(text).outcome == "ask"


@pytest.mark.parametrize(
    "end",
    [
        "Hi storage team but only *.mrc, {order}",
        "Hi storage team sneakily, {order}",
        "Hi team or not, {order}",
        "{order}. Warmly, not",
        "{order}. Thanks & move it",
        "{order}. Call me before you delete anything",
        "{order}. Please mail me if there are any errors",
        "{order}. If you have any questions, stop",
        "{order}. In case of problems, delete it",
        "{order}. Have a nice weekend! Backwards",
    ],
)
def test_a_letter_that_says_more_is_asked_about(end: str) -> None:
    assert read(end.format(order=ROUTE)).outcome == "ask"


@pytest.mark.parametrize(
    "words",
    [
        "skip the ones that already exist",
        "skip the ones that are already there",
        "skip the ones already present at the destination",
        "ignore those which are there already",
        "leave the ones that are already over there alone",
        "keep any that already exist",
        "leave out the ones that already exist",
        "omit those that exist already",
        "omit files which are already present",
    ],
)
def test_the_ones_that_are_there_are_left_as_they_are(words: str) -> None:
    assert slot_of(words, "on_conflict") == "skip"
    assert slot_of(words, "exclude") is None


@pytest.mark.parametrize(
    "words",
    [
        "skip the ones that don't already exist",
        "don't skip the ones that already exist",
        "never skip the ones that are already there",
        "skip the ones that already exist on krios1",
        "skip the ones that already exist and are older than 3 days",
        "skip the ones that already exist unless they are newer",
        "skip the ones that are already there but broken",
        "skip the ones",
        "leave out files there",
        "omit the destination files",
        "leave the ones already there for Tom",
        "skip the ones that already exist or are empty",
        "only the ones that already exist",
        "delete the ones that already exist",
        "encrypt everything except the ones already there",
    ],
)
def test_the_ones_that_may_be_others_are_asked_about(words: str) -> None:
    assert read(f"{ROUTE}, {words}").outcome == "ask"


@pytest.mark.parametrize(
    "told",
    [
        "About 12 TB of raw frames are on krios1 under /a. Please",
        "12 TB of movies sit on krios1:/a; please",
        "Our beamtime is over and roughly 12 TB of data are waiting on krios1 under /a; could you please",
        "There are roughly 3 TB of spectra in krios1:/a. Please",
        "We have about 500 GB of images on krios1:/a, please",
    ],
)
def test_how_much_is_where_says_what_is_copied_from_there(told: str) -> None:
    assert intent_of(f"{told} copy them to archive:/a") == COPY


@pytest.mark.parametrize(
    "text",
    [
        "about 12 TB of raw frames were on krios1:/a; copy them to archive:/a",
        "about 12 TB of raw frames are not on krios1:/a; copy them to archive:/a",
        "only 12 TB of raw frames are on krios1:/a; copy them to archive:/a",
        "about 12 TB of raw frames should be on krios1:/a; copy them to archive:/a",
        "Anna says about 12 TB of raw frames are on krios1:/a; copy them to archive:/a",
        "about 12 TB of raw frames are on krios1:/a and 3 TB on dtn3:/x; copy them to archive:/a",
        "about 12 TB of raw frames are on krios1:/a; copy 2 TB of them to archive:/a",
        "about 12 TB of raw frames are on archive:/a. Copy krios1:/a there.",
        "copy krios1:/a to archive:/a, about 12 TB of raw frames are on krios2:/raw",
    ],
)
def test_what_is_told_of_an_amount_may_not_be_what_is_copied(text: str) -> None:
    assert read(text).outcome == "ask"


@pytest.mark.parametrize(
    "told",
    [
        "the purge runs after that",
        "because the beamtime starts after that",
        "the maintenance begins right after that",
        "we lose access after that",
        "the review is right after",
    ],
)
def test_what_comes_after_the_time_of_an_order_is_no_order(told: str) -> None:
    assert intent_of(f"{ROUTE} by 18:00, {told}") == intent_of(f"{ROUTE} by 18:00")


@pytest.mark.parametrize(
    "words",
    [
        "the purge runs after that",
        "by 18:00, the backup runs after that",
        "by 18:00, the sync starts after that",
        "by 18:00, the purge must run after that",
        "by 18:00, no purge runs after that",
        "at 18:00; its purge runs after that",
        "at 18:00, the migration starts after that: move krios2:/b to archive:/b",
        "by 18:00, the deletion runs after that",
        "by 18:00, after that purge it",
        "at 18:00, the purge runs before that",
    ],
)
def test_what_may_be_an_order_for_afterwards_is_asked_about(words: str) -> None:
    assert read(f"{ROUTE}, {words}").outcome == "ask"


def test_an_order_after_a_time_that_was_told_waits_for_it() -> None:
    assert read("the purge runs at 20:00, start after that: copy krios1:/a to archive:/a").outcome == "ask"


@pytest.mark.parametrize(
    "why",
    [
        "for the new pipeline",
        "for our new website",
        "because other groups are working",
        "because many other users need the network",
        "since others are using it too",
        "as others now work on it",
        "as other people are on the link",
    ],
)
def test_why_an_order_is_as_it_is_says_nothing_of_it(why: str) -> None:
    expected = intent_of(f"{ROUTE} at 2 Gb/s; skip *.tmp")
    assert intent_of(f"{ROUTE} at 2 Gb/s {why}; skip *.tmp") == expected


@pytest.mark.parametrize(
    "words",
    [
        "for the new files",
        "for the new project files",
        "not for the new pipeline",
        "except for the new project",
        "skip data for the new project",
        "only what is for the new project",
        "unless other groups are working",
        "while other groups are working",
        "only because other groups are working",
        "because other groups are working on *.log",
        "because others need it unencrypted",
        "as others want",
        "as others do",
        "because other files are there",
        "since others changed it",
    ],
)
def test_a_reason_that_may_choose_or_forbid_is_asked_about(words: str) -> None:
    assert read(f"{ROUTE} {words}").outcome == "ask"


@pytest.mark.parametrize(
    ("text", "slots"),
    [
        ("we would like an encrypted copy of krios1:/a on archive:/a", {"encryption": True}),
        ("I need an encrypted backup of krios1:/a on archive:/a", {"encryption": True}),
        ("we want a verified copy of krios1:/a at archive:/a", {"verify": "default"}),
        ("could we have an encrypted copy of krios1:/a on archive:/a?", {"encryption": True}),
        ("please make a checksummed copy of krios1:/a on archive:/a", {"verify": "default"}),
    ],
)
def test_what_a_copy_is_to_be_like_is_an_option_of_it(text: str, slots: dict[str, object]) -> None:
    assert intent_of(text) == {**COPY, **slots}


@pytest.mark.parametrize(
    "text",
    [
        "we have an encrypted copy of krios1:/a on archive:/a",
        "there is an encrypted copy of krios1:/a on archive:/a",
        "they would like an encrypted copy of krios1:/a on archive:/a",
        "we wouldn't like an encrypted copy of krios1:/a on archive:/a",
        "we would have liked an encrypted copy of krios1:/a on archive:/a",
        "did you make an encrypted copy of krios1:/a on archive:/a?",
        "don't make an encrypted copy of krios1:/a on archive:/a",
        "we would like a partial copy of krios1:/a on archive:/a",
        "we would like an encrypted copy of krios1:/a on archive:/a, or not",
        "we would like an encrypted copy of krios1:/a on archive:/a deleted",
    ],
)
def test_a_copy_that_is_told_of_or_not_wanted_is_asked_about(text: str) -> None:
    assert read(text).outcome == "ask"


def test_a_time_behind_a_copy_with_an_option_is_that_of_the_transfer() -> None:
    text = "I need an encrypted copy of krios1:/a on archive:/a by Friday 18:00"
    assert intent_of(text)["deadline"] == "2026-11-27T18:00:00-06:00"
    assert asked("copy krios1:/a to archive:/a, encrypt it at 18:00") & {"start", "encryption"}


@pytest.mark.parametrize(
    "words",
    [
        "verify with blake3 and only then delete the original",
        "verify with blake3, and only after that remove the originals",
        "verify with blake3, only then may the source be deleted",
    ],
)
def test_only_then_says_when_the_source_is_deleted(words: str) -> None:
    assert intent_of(f"{ROUTE}, {words}") == {**COPY, "action": "move", "delete_source": True, "verify": "blake3"}


@pytest.mark.parametrize(
    "words",
    [
        "verify with blake3 and only then delete *.log",
        "verify with blake3 and only then delete archive:/a",
        "verify with blake3 and only then delete the original of run 3",
        "verify with blake3 and only then consider deleting the original",
        "verify with blake3 and only then don't delete the original",
        "ask Anna and only then delete the original",
        "wait three days and only then delete the original",
        "verify with blake3 and only then encrypt",
        "verify with blake3 and delete only the original",
    ],
)
def test_only_then_before_anything_else_is_asked_about(words: str) -> None:
    assert read(f"{ROUTE}, {words}").outcome == "ask"


@pytest.mark.parametrize("stops", ["cancel it", "cancel that one", "pause it"])
@pytest.mark.parametrize("joined", [". ", "; ", " and ", ", then ", ". The meeting is over. "])
def test_a_transfer_that_is_stopped_as_soon_as_it_is_ordered_is_asked_about(stops: str, joined: str) -> None:
    assert asked(f"{ROUTE}{joined}{stops}") == {"action"}


def test_a_transfer_that_is_stopped_later_is_planned() -> None:
    assert intent_of(f"{ROUTE}, and pause it at 18:00")["then"] == [
        {"action": "pause", "start": "2026-11-25T18:00:00-06:00"}
    ]


@pytest.mark.parametrize("words", ["and its *.log", "and the *.log", "plus all its *.log files"])
def test_names_with_an_article_that_are_added_may_not_be_all_that_is_taken(words: str) -> None:
    assert asked(f"{ROUTE} {words}") == {"include"}
    assert "include" in asked(f"copy krios1:/a {words} to archive:/a")


def test_a_list_of_names_with_articles_is_one_of_names() -> None:
    assert slot_of("only the *.log and the *.txt", "include") == ["*.log", "*.txt"]
