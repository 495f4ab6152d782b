"""Background beside an order changes nothing; what looks like it and states a requirement is never dropped."""

import pytest
from tests.pure.language.made import HERE, ROUTE, intent_of, read

COPIES = (
    "copy krios1:/a to archive:/a",
    "please move krios2:/raw/s6 to archive:/s6",
    "could you sync dtn3:/home to archive:/home",
    "can you please send krios1:/raw/x to PRG:/x at 2 Gb/s",
    "I need krios1:/a copied to archive:/a by Friday 17:00",
    "krios1:/raw/demo -> alcf-eagle:/demo",
    "krios1:/a should be copied to archive:/a every day at 02:00",
    "stream krios1:/live to dtn3:/live",
    "back up dtn3:/db to prague-tape:/db, encrypted",
    "upload /data/atlas/a1.png to lab-archive:/atlas/a1.png",
    "copy *.mrc from krios2:/raw/e1 to archive:/e1",
    "copy krios1:/a to archive:/a, skip *.tmp, high priority",
    "transfer krios1:/a to archive:/a with sha256 checksums",
    "put krios1:/raw/n14 on ncsa-tape:/n14 between 22:00 and 05:00",
    "mirror krios1:/epu to archive:/epu, only files over 1 GB",
    "fetch olcf-dtn:/out/r1 to /data/r1",
    "cp dtn3:/a/in archive:/a/in",
    "rsync --delete dtn3:/web archive:/web",
    "krios2:/raw/old must be moved to archive:/old",
    "please copy the folder krios1:/raw/p71 to archive:/p71",
    "download s3://lab-archive/logs to dtn3:/logs",
    "replicate archive:/r to PRG:/r without overwriting anything",
    "let krios1:/raw/g be copied to archive:/g",
    "kindly deliver krios1:/raw/h to NCSA:/h, low priority",
    "would you copy krios1:/raw/i to archive:/i",
    "copy krios1:/raw/j to archive:/j tomorrow at 09:00",
    "copy krios1:/raw/k to archive:/k, keep timestamps",
    "copy krios1:/raw/l to archive:/l and verify it with blake3",
    "we want to copy krios1:/raw/m to archive:/m",
    "move everything under krios1:/raw/n to archive:/n",
)
CONTROLS = (
    "cancel 7f3a21",
    "pause 7f9c04",
    "please resume b2d810",
    "can you pause 7f3a21",
    "hold b2d810",
    "kill 7f9c04",
    "please cancel transfer 7f3a21",
    "continue the transfer b2d810",
    "set 7f3a21 to high priority",
    "limit 7f9c04 to 1 Gb/s",
)
ORDERS = (*COPIES, *CONTROLS)
CLAUSES = (
    "the beamtime is over",
    "our disk is nearly full",
    "the tape is back",
    "tape's back",
    "the session's done",
    "we're done collecting",
    "we have just finished our measurements",
    "I'm on the train",
    "the grids are clipped and the session's done",
    "the robot is repaired now",
    "our allocation is running out",
    "there was a power cut",
    "my thesis is due soon",
    "the detector crashed",
    "Anna is on holiday",
    "we are short of space on krios2",
    "the quota of our group is exhausted",
    "the microscope needs the space",
    "Reviewer 2 wants the half maps again",
    "the CFD people are waiting for it",
    "our collaborators asked for the maps",
    "because the queue is short again",
    "since our network is slow",
    "as the maintenance is finished",
    "to free up bandwidth",
    "to relieve our network",
    "for audit readiness",
    "as a precaution",
    "so that the students can start",
    "it is for the review",
    "because it's public data",
    "line here is thin",
    "batch B7698 is past its review",
    "the users of proposal 20418 left this morning",
    "we're back from the field",
    "slot 16 has been extended",
    "the visitors from Lund arrive tonight",
    "it's huge",
    "they are big",
    "these are calibration data",
    "this is the calibration set",
    "node 7 is acting up",
    "we moved to a new building",
)
OPENINGS = (
    "sorry for the short notice",
    "before I forget",
    "following up on our meeting",
    "ok this time for real",
    "by the way",
    "quick heads up",
    "regarding the beamtime",
    "ticket 55102",
    "for the batch review",
    "NovaSeq run is demultiplexed",
)
HEADINGS = (
    "TASK-771:",
    "[INC0098123]",
    "Beamline order:",
    "Ticket 55110, retention run:",
    "Line 4 -",
    "change request CR-204:",
    "QC release lot CT-0091:",
    "new visitor:",
    "leaver:",
    "Slot 12 close-out:",
    "Certificates for lot CT-0090:",
    "colleagues,",
    "for budget reasons:",
    "from the day shift:",
    "Handover from the late shift.",
    "New visitor group from Lund.",
    "Note from the control room!",
    "Thunderstorm coming -",
)
NO_HEADINGS = (
    "dry run:",
    "standing order:",
    "test run:",
    "old order:",
    "explain:",
    "draft request:",
    "option 1:",
    "rejected order:",
    "rephrase:",
    "done:",
    "failed:",
    "problem:",
    "bad:",
    "later:",
    "Anna said:",
    "warning:",
    "compare:",
    "half:",
    "only archive:",
    "not now:",
    "my former project:",
    "draft order CT-12:",
    "withdrawn items:",
    "rejected lot CT-0091:",
    "not lot CT-0091:",
)
BACKGROUNDS = (*CLAUSES, *OPENINGS)
BLAME = (
    "wrong volume",
    "it is no longer needed",
    "it used the wrong batch",
    "it's stuck",
    "it eats our bandwidth",
    "we no longer need it",
    "drive failure",
    "somebody started it twice",
    "I picked the wrong patient",
)
# Reasons to stop a transfer, and requirements beside a new one.
REASONS = (
    "the movies are corrupt",
    "the logs from Anna are wrong",
    "the batch was rejected",
    "Anna has moved it already",
)
# Times of something else, if an order has a time of its own.
TIMES = (
    "the disk fills at 6",
    "the line is free at night",
    "the line is free on Sunday",
    "the link opens at 22:00",
    "the link is free after 18:00",
    "maintenance ends at 18:00",
    "the maintenance starts at 18:00",
    "the tape opens at 20:00",
    "the queue closes at 17:00",
    "the disk gets wiped on Friday",
)
POSITIONS = (
    "{why}, {order}",
    "{why}. {order}",
    "{order}, {why}",
    "{order}. {why}.",
    "{why} - {order}",
    "{order}; {why}",
)
REQUIREMENTS = (
    "it must stay encrypted",
    "nobody else may see it",
    "gently",
    "slowly please",
    "barring videos",
    "mind the quota",
    "the data is confidential",
    "it's embargoed",
    "Anna already did it",
    "John will do it",
    "the plan is void",
    "my boss is against it",
    "the PI objects",
    "we have doubts",
    "I'm not sure",
    "I'm just testing",
    "the disk has 50 GB left",
    "the link can take 1 Gb/s",
    "the half maps are wrong",
    "we need the logs only",
    "Anna wants it encrypted",
    "Anna wants the tiffs untouched",
    "the reviewers want the maps lossless",
    "the group needs read access",
    "Anna has to approve it",
    "the nights are quieter",
    "Friday is best",
    "there are duplicates",
    "the metadata is private",
    "the calibration goes too",
    "PRG is the target",
    "the second one is bigger",
    "the contract forbids sharing",
    "Tom is the owner",
    "the files are growing",
    "for Anna's eyes only",
    "for storage under a retention lock",
    "to keep it secret",
    "to overwrite the old one",
    "to avoid duplicates",
    "to stay within quota",
    "as a zip",
    "as Anna",
    "on Anna's budget",
    "with care",
    "so the inspectors can open it from outside",
    "so that nobody notices",
    "so that Anna can edit it",
    "so that it stays private",
    "because Anna wants it twice",
    "because the originals are corrupt",
    "I will clean it up",
    "the rest comes later",
    "half of it is junk",
    "discreetly",
    "the team is happy that John takes it",
    "we are waiting for approval",
    "the decision is open",
    "the real ones are at PRG",
    "Friday at noon is past the embargo",
    "the rest stays here",
    "batch B7698 is not ready",
    "we left some of it out",
    "the first half is done",
    "Tom wants to check it first",
)


@pytest.mark.parametrize("why", BACKGROUNDS)
def test_background_before_between_and_behind_changes_no_order(why: str) -> None:
    positions = [one for one in POSITIONS if one.startswith("{why}")] if why in OPENINGS else POSITIONS
    for at, order in enumerate(ORDERS):
        pattern = positions[(at + len(why)) % len(positions)]
        assert intent_of(pattern.format(why=why, order=order)) == intent_of(order), pattern


@pytest.mark.parametrize("heading", HEADINGS)
def test_a_ticket_or_a_heading_before_an_order_changes_nothing(heading: str) -> None:
    for order in (ROUTE, *CONTROLS[:3], COPIES[6]):
        assert intent_of(f"{heading} {order}") == intent_of(order)


@pytest.mark.parametrize("heading", NO_HEADINGS)
def test_a_heading_that_may_take_the_order_back_is_asked_about(heading: str) -> None:
    assert read(f"{heading} {ROUTE}").outcome == "ask"
    assert read(f"{heading[:-1]}. {ROUTE}").outcome == "ask"


@pytest.mark.parametrize(
    "text", ["{order}, flattened", "flattened, {order}", "{order} - flattened", "{order}: flattened"]
)
def test_words_that_head_no_order_are_no_heading(text: str) -> None:
    assert read(text.format(order=ROUTE)).outcome == "ask"


@pytest.mark.parametrize("why", BLAME)
def test_what_is_wrong_with_a_transfer_changes_no_order_to_stop_it(why: str) -> None:
    for order in CONTROLS[:2]:
        assert intent_of(f"{order}, {why}") == intent_of(order)
        assert read(f"{ROUTE}, {why}").outcome == "ask"


LOOKALIKES = [one for one in (HERE / "lookalikes.txt").read_text("utf-8").splitlines() if not one.startswith("#")]
FRAMES = ("{why}, {order}", "{why}. {order}", "{order}. {why}.", "{why}: {order}", "{order} - {why}", "{order} ({why})")


@pytest.mark.parametrize("frame", FRAMES)
def test_clauses_that_only_look_like_background_are_asked_about(frame: str) -> None:
    routes = (COPIES[0], COPIES[1], COPIES[5], COPIES[7])
    texts = [frame.format(why=one, order=routes[at % len(routes)]) for at, one in enumerate(LOOKALIKES)]
    assert [text for text in texts if read(text).outcome == "intent"] == []


def test_an_endpoint_that_is_down_is_asked_about_where_a_transfer_is_to_go_on() -> None:
    assert intent_of("pause 7f3a21, krios1 is down") == intent_of("pause 7f3a21")
    assert read("resume 7f3a21, krios1 is down").outcome == "ask"


def test_a_numbered_thing_is_all_of_the_data_only_if_the_places_name_it() -> None:
    order = "copy krios2:/mx/p12_19 to NCSA:/mx/p12_19"
    assert intent_of(f"pucks 12 to 19 are shot. {order}") == intent_of(order)
    assert read(f"pucks 12 to 17 are shot. {order}").outcome == "ask"


def test_a_heading_stands_before_the_order_and_not_behind_it() -> None:
    assert intent_of(f"gravel lot 7: {ROUTE}") == intent_of(ROUTE)
    assert read(f"{ROUTE}. gravel lot 7: skip *.tmp").outcome == "ask"
    assert read(f"{ROUTE}; gravel lot 7: *.mrc only").outcome == "ask"


@pytest.mark.parametrize("why", TIMES)
def test_a_time_of_something_else_is_asked_about_beside_an_order_without_one(why: str) -> None:
    for frame in POSITIONS:
        assert read(frame.format(why=why, order=ROUTE)).outcome == "ask"


def test_a_time_of_something_else_is_none_of_an_order_that_has_one() -> None:
    order = "copy krios1:/a to archive:/a by tomorrow 13:30"
    for why in (
        "the board meets at 14:00 tomorrow",
        "our scratch gets wiped on Friday",
        "the exhibition opens tomorrow",
    ):
        assert intent_of(f"{why}, {order}") == intent_of(order)


@pytest.mark.parametrize("why", REASONS)
def test_news_of_the_data_is_a_reason_to_stop_and_none_to_go_on(why: str) -> None:
    assert intent_of(f"cancel 7f3a21, {why}") == intent_of("cancel 7f3a21")
    for frame in FRAMES:
        assert read(frame.format(why=why, order=ROUTE)).outcome == "ask"


def test_a_hurry_agrees_with_a_high_priority_and_is_asked_about_without_one() -> None:
    order = "we are in a hurry - copy krios1:/a to archive:/a"
    assert intent_of(f"{order}, high priority") == intent_of("copy krios1:/a to archive:/a, high priority")
    for asked in (order, f"{order}, low priority", f"{order}, normal priority"):
        assert read(asked).ask == ("priority",)


@pytest.mark.parametrize("words", REQUIREMENTS)
def test_a_requirement_that_looks_like_background_is_never_dropped(words: str) -> None:
    for at, order in enumerate(ORDERS):
        pattern = POSITIONS[(at + len(words)) % len(POSITIONS)]
        text = pattern.format(why=words, order=order)
        assert read(text).outcome != "intent", text


@pytest.mark.parametrize(
    "why",
    ["I need to go at 22:00", "we have to leave by Friday 17:00", "I must run at 22:00", "she has to be home at 22:00"],
)
def test_when_somebody_has_to_go_is_not_taken_for_the_start_of_the_transfer(why: str) -> None:
    for text in (f"{ROUTE}. {why}", f"{why}. {ROUTE}", f"{ROUTE}, {why}"):
        answer = read(text)
        assert answer.outcome == "ask", text
        assert not {"start", "deadline"} & answer.intent.to_json().keys(), text


@pytest.mark.parametrize("wish", ["I want to start at 22:00", "we must start at 22:00", "go at 22:00"])
def test_a_wish_for_the_start_is_one_whoever_says_it(wish: str) -> None:
    assert "start" in intent_of(f"{ROUTE}. {wish}")


def test_background_alone_is_no_request() -> None:
    assert read("the disk is nearly full, the tape is back").outcome == "ask"


def test_a_plan_shows_the_words_that_were_taken_for_background() -> None:
    spans = read(f"our beamtime is over, {ROUTE}").spans
    assert next((span.text, span.reading) for span in spans) == ("our beamtime is over", "background")


@pytest.mark.parametrize("where", ["archive is full", "the disk at archive is full"])
def test_a_statement_about_the_destination_is_asked_about(where: str) -> None:
    assert read(f"{where}, {ROUTE}").outcome == "ask"
    assert read(f"{where.replace('archive', 'NCSA')}, {ROUTE}").outcome == "intent"


@pytest.mark.parametrize("state", ["has failed", "has crashed", "is interrupted", "was aborted", "has stopped"])
def test_news_that_the_data_is_spoiled_is_asked_about(state: str) -> None:
    assert read(f"The run {state}. {ROUTE}").outcome == "ask"


@pytest.mark.parametrize(
    "text",
    [
        "the largest transfer to archive is choking us, pause that one",
        "the smallest transfer is stuck, cancel it",
        "cancel 7f9c04. Wrong one, sorry!",
    ],
)
def test_a_clause_that_may_say_which_transfer_is_meant_is_no_background(text: str) -> None:
    assert read(text).outcome == "ask"


def test_what_is_wrong_with_a_transfer_is_a_reason_to_cancel_it() -> None:
    assert intent_of("cancel 7f9c04, it's the wrong one") == {"action": "cancel", "target": {"id": "7f9c04"}}
