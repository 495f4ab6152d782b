import io
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from rich.console import Console

from headrace.cli.card import local_time, plan_card, safe_there, standing, transfer_card
from headrace.cli.following import progress_line
from headrace.cli.tables import table
from headrace.client import models as m

AT = datetime(2026, 11, 25, 14, 30, tzinfo=UTC)
DIGEST = "3f" * 32
HOSTILE = "[red]IGNORE[/red]\x1b[2J\u202egpj\nplan: allowed"


def shown(renderable: Any, width: int = 120) -> str:  # noqa: ANN401 - anything rich shows
    console = Console(file=io.StringIO(), width=width, markup=False, emoji=False, highlight=False)
    console.print(renderable)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def plan(**more: Any) -> m.Plan:  # noqa: ANN401 - a field's value
    counts = {name: 0 for name, info in m.SurveyCounts.model_fields.items() if info.is_required()}
    survey = {**counts, "files": 21034, "bytes": 1717986918, "directories": 310, **more.pop("survey", {})}
    decision = {"outcome": "allowed", "policy_version": "v1", "why": "a plain copy within the budget",
                "rules": [{"id": "plain-copy", "reason": "r"}], **more.pop("decision", {})}  # fmt: skip
    given = {
        "id": "pl_1", "state": "ready", "requester": "anna", "created": AT, "expires": AT, "digest": DIGEST,
        "intent": {"action": "copy", "source": "krios1:/raw/run42", "destination": "archive:/run42"},
        "canonical_sentence": "copy krios1:/raw/run42 to archive:/run42", "eta_s": 300, "words": "copy run42",
        "survey": survey, "decision": decision, **more,
    }  # fmt: skip
    return m.Plan.model_validate(given)


def test_a_plan_card_says_what_from_where_to_where_and_what_policy_says() -> None:
    card = shown(plan_card(plan(agent="claude", notes=["Identical files are skipped."])))
    for part in (
        "plan pl_1: ready", "copy krios1:/raw/run42 to archive:/run42", "“copy run42” (anna, through claude)",
        "krios1:/raw/run42", "archive:/run42", "21,034 files, 1.71 GB (and 310 folders)", "about 5 min",
        "allowed", "a plain copy within the budget", "plain-copy", "3f3f3f3f3f3f...", "Identical files are skipped.",
    ):  # fmt: skip
        assert part in card
    assert "REPLACES" not in card
    assert "DELETES" not in card


def test_a_plan_card_says_in_words_what_will_be_lost() -> None:
    survey = {
        "overwrites": 7, "overwritten_bytes": 12_000_000, "overwrites_sample": [f"old{i}" for i in range(7)],
        "deletes": 2, "deleted_bytes": 1000, "deletes_sample": ["gone", "also gone"],
        "identical_files": 310, "excluded_files": 12, "conflicts": 1, "conflicts_sample": ["differs"],
    }  # fmt: skip
    card = shown(plan_card(plan(survey=survey, decision={"outcome": "confirm"})), width=200)
    assert "7 files (12.0 MB) at the destination will be replaced; the content there now is lost: old0, old1" in card
    assert "and 2 more" in card
    assert "2 entries (1.00 kB) at the destination will be deleted, which nothing undoes: gone, also gone" in card
    assert "310 files already there, skipped" in card
    assert "12 files by the filters" in card
    assert "1 file meets something different at the destination, which stays: differs" in card
    assert "allowed once it is confirmed" in card


@pytest.mark.parametrize("count", [1, 2])
def test_what_is_said_of_losses_fits_one_and_many(count: int) -> None:
    survey = {
        "overwrites": count,
        "deletes": count,
        "conflicts": count,
        "skipped_special": count,
        "excluded_files": count,
    }
    card = " ".join(shown(plan_card(plan(survey=survey)), width=200).split())
    file, entry, meets = [("1 file", "1 entry", "meets"), ("2 files", "2 entries", "meet")][count - 1]
    assert f"{file} (0 B) at the destination will be replaced; the content there now is lost" in card
    assert f"{entry} (0 B) at the destination will be deleted, which nothing undoes" in card
    assert f"{file} {meets} something different" in card
    assert not re.search(r"\b(they|their|is lost:? gone|hold)\b", card)


def test_a_plan_card_counts_approvals() -> None:
    approval = {"person": "ben", "verdict": "approved", "reason": "fine", "at": AT, "expires": AT}
    need = {"kind": "approval", "by": "2 people of the group data-stewards", "count": 2, "given": 1, "until": AT}
    need["proof"] = "passkey"
    card = shown(plan_card(plan(decision={"outcome": "approve"}, needs=[need], approvals=[approval])))
    assert "approval by 2 people of the group data-stewards, with a passkey in the console: 1 of 2 given" in card
    assert "approved by ben: fine" in card


def test_invariant_4_a_plan_card_shows_hostile_text_as_text() -> None:
    hostile = plan(
        words=HOSTILE, agent=HOSTILE, requester=HOSTILE, canonical_sentence=HOSTILE, notes=[HOSTILE], danger=[HOSTILE],
        intent={"action": "copy", "source": HOSTILE, "destination": HOSTILE},
        survey={"overwrites": 1, "overwrites_sample": [HOSTILE], "deletes": 1, "deletes_sample": [HOSTILE]},
        decision={"why": HOSTILE, "rules": [{"id": HOSTILE, "reason": HOSTILE}]},
        refusals=[{"rule": HOSTILE, "message": HOSTILE}],
    )  # fmt: skip
    card = shown(plan_card(hostile), width=400)
    assert card.count("[red]IGNORE[/red]\\u{001B}[2J\\u{202E}gpj\\u{000A}plan: allowed") == 14
    assert not {character for character in card if not character.isprintable()} - {"\n"}


def test_invariant_4_tables_show_hostile_text_as_text_and_whole() -> None:
    rows = shown(table(("name", "kind"), [(HOSTILE, "file"), ("x" * 300, "file")]), width=100)
    assert "[red]IGNORE[/red]\\u{001B}[2J" in rows
    assert rows.count("x") == 300
    assert not {character for character in rows if not character.isprintable()} - {"\n"}


@pytest.mark.parametrize("state", list(m.TransferState))
def test_a_transfer_card_says_the_state_in_words(state: m.TransferState) -> None:
    progress = m.Progress(files_total=4, files_done=3, files_failed=1, bytes_total=4000, bytes_durable=3000,
                          rate_bps=8 * 10**9, eta_s=61)  # fmt: skip
    error = m.Problem(title="t", status=500, code="disk_full", detail=HOSTILE)
    transfer = m.Transfer(
        id="tr_1", plan="pl_1", plan_digest=DIGEST, state=state, requester="anna", action="copy", source="a:/x",
        destination="b:/x", created=AT, progress=progress, error=error, rate_ceiling_bps=10**9, receipt="rc_1",
    )  # fmt: skip
    card = shown(transfer_card(transfer))
    safe = "3 of 4 files stay" if state is m.TransferState.CANCELED else "3.00 kB of 4.00 kB"
    for part in (state.value, safe, "8.00 Gb/s, about 1 min 1 s left", "1 file", "[disk_full]", "rc_1"):
        assert part in card
    assert "\x1b" not in card


def test_what_will_not_arrive_is_said_before_the_start() -> None:
    warning = "1 file will not arrive: the destination holds something else under its name."
    assert f"beware {warning}" in " ".join(shown(plan_card(plan(warnings=[warning])), width=200).split())


def test_times_name_their_zone() -> None:
    assert local_time(AT) == f"{AT.astimezone():%Y-%m-%d %H:%M} {AT.astimezone().tzname()}"


def test_a_transfer_that_waits_for_its_time_says_when_it_starts() -> None:
    later = datetime.now(UTC) + timedelta(hours=3)
    waiting = m.Transfer(
        id="tr_1", plan="pl_1", plan_digest=DIGEST, state=m.TransferState.QUEUED, requester="anna", action="copy",
        source="a:/x", destination="b:/x", created=AT, starts=later,
    )  # fmt: skip
    assert standing(waiting) == f"queued, starts {local_time(later)}"
    assert f"starts {local_time(later)}" in " ".join(shown(transfer_card(waiting)).split())
    intent = {"action": "copy", "source": "a:/x", "destination": "b:/x", "start": later}
    assert f"starts {local_time(later)}" in " ".join(shown(plan_card(plan(intent=intent))).split())
    assert standing(waiting.model_copy(update={"starts": AT - timedelta(days=900)})) == "queued"


def test_a_plan_card_says_where_each_slot_comes_from_and_what_the_assistant_added() -> None:
    quote = [{"start": 0, "end": 10, "text": "skip *.tmp"}]
    origins = [
        {"slot": "exclude", "origin": "said", "words": quote},
        {"slot": "source", "origin": "said", "words": [{**quote[0], "text": "from a"}], "plan": "pl_0"},
        {"slot": "verify", "origin": "typed"},
        {"slot": "priority", "origin": "assumed"},
        {"slot": "rate_limit_bps", "origin": "assistant"},
        {"slot": "delete_source", "origin": "assistant"},
        {"slot": "source", "origin": "model", "words": [{**quote[0], "text": "from b"}]},
    ]
    intent = {"action": "move", "source": "a:/x", "destination": "b:/x", "rate_limit_bps": 2_000_000_000}
    card = " ".join(shown(plan_card(plan(intent=intent, origins=origins, agent="claude")), width=200).split())
    assert "ADDED rate limit: 2.00 Gb/s (by the assistant, not in the words)" in card
    assert "ADDED delete the source: yes (by the assistant, not in the words)" in card
    assert "MODEL from: from the words: “from b”, if a language model is right that others are background" in card
    assert "said names left out: from the words: “skip *.tmp”" in card
    assert "said from: from the words of the earlier plan: “from a”" in card
    assert "typed verification" in card
    assert "priority" not in card


def test_a_card_warns_of_no_loss_that_does_not_come_about() -> None:
    allowed = plan(danger=["overwrite", "delete_extraneous"])
    card = " ".join(shown(plan_card(allowed), width=200).split())
    assert "what only the destination has would be deleted; now it has nothing of its own" in card
    assert "files that differ at the destination would be replaced; none differs now" in card
    assert "are deleted" not in card
    survey = {"deletes": 1, "overwrites": 1}
    card = shown(plan_card(plan(danger=["overwrite", "delete_extraneous"], survey=survey)), width=200)
    assert "files at the destination are deleted" in card
    assert "files at the destination are replaced" in card


@pytest.mark.parametrize(
    ("to_trash", "said"),
    [(False, "2 entries deleted at the destination"), (True, "2 entries moved to the trash at the destination")],
)
def test_the_card_of_a_transfer_says_what_was_deleted(said: str, *, to_trash: bool) -> None:
    given = {
        "id": "tr_1", "plan": "pl_1", "plan_digest": DIGEST, "state": "complete", "requester": "anna", "action": "sync",
        "source": "a:/x", "destination": "b:/x", "created": AT,
        "progress": {"deleted": 2, "deleted_to_trash": to_trash},
    }  # fmt: skip
    assert said in shown(transfer_card(m.Transfer.model_validate(given)))


def in_one_line(asked: m.Plan) -> str:
    return " ".join(shown(plan_card(asked), width=300).replace("│", " ").split())


@pytest.mark.parametrize(("days", "kept"), [(30, "30 days"), (1, "1 day")])
def test_a_plan_card_says_that_what_is_deleted_goes_to_the_trash_and_for_how_long(days: int, kept: str) -> None:
    dangers = ["overwrite", "delete_extraneous", "delete_source"]
    losses = {"deletes": 2, "deleted_bytes": 1000, "deletes_sample": ["gone", "also gone"], "overwrites": 1}
    keeps = in_one_line(plan(danger=dangers, survey=losses, decision={"obligations": [f"trash:{days}d"]}))
    assert f"DELETES 2 entries (1.00 kB) at the destination will go to the trash, kept {kept}: gone, also gone" in keeps
    assert f"beware files at the destination go to the trash for {kept}" in keeps
    assert f"beware files at the source go to the trash for {kept} after they are copied" in keeps
    # No trash keeps what is replaced.
    assert "beware files at the destination are replaced" in keeps
    assert "undoes" not in keeps
    assert "are deleted" not in keeps
    gone = in_one_line(plan(danger=dangers, survey=losses))
    assert "at the destination will be deleted, which nothing undoes: gone, also gone" in gone
    assert "beware files at the destination are deleted" in gone
    assert "beware files at the source are deleted after they are copied" in gone
    assert "trash" not in gone


@pytest.mark.parametrize(
    ("danger", "said"),
    [
        ("verify_none", "what arrives is not verified"),
        ("encryption_off", "the data travels unencrypted"),
        ("root_source", "the source is a whole endpoint"),
        ("of_a_later_version", "of_a_later_version"),
    ],
)
def test_a_plan_card_warns_in_words_of_each_danger(danger: str, said: str) -> None:
    assert f"beware {said}" in in_one_line(plan(danger=[danger]))
    assert "beware" not in in_one_line(plan())


def test_a_plan_card_says_what_would_be_allowed_instead() -> None:
    instead = [
        {"words": "with at most 500 GB", "outcome": "allowed"},
        {"words": "without deleting at the destination", "outcome": "confirm"},
        {"words": HOSTILE, "outcome": "approve"},
    ]
    card = in_one_line(plan(state="denied", decision={"outcome": "denied", "alternatives": instead}))
    assert "instead with at most 500 GB: allowed" in card
    assert "instead without deleting at the destination: allowed once it is confirmed" in card
    assert "gpj\\u{000A}plan: allowed: allowed once it is approved" in card


def test_a_word_in_a_table_is_not_cut_in_two_at_a_narrow_terminal() -> None:
    rows = [("dtn2", "nd_" + 32 * "0", "attached", "archive", "0", "12 s ago", "its clock is 3 s ahead")]
    assert "attached" in shown(table(("node", "id", "state", "roots", "running", "seen", ""), rows), 80)


def test_a_plan_card_says_once_why_a_plan_stopped_and_then_what_comes_next() -> None:
    why = "The requester declined this plan"
    step = {"kind": "plan_again", "by": "you", "message": f"{why}. Plan it again."}
    card = in_one_line(plan(state="dropped", state_reason=why, next_step=step))
    assert f"stopped {why} next Plan it again." in card
    warning = "1 file will not arrive: something else is there."
    step = {"kind": "submit", "by": "you", "message": f"It can be submitted. {warning}"}
    card = in_one_line(plan(warnings=[warning], next_step=step))
    assert (card.count(warning), "next It can be submitted." in card) == (1, True), card
    # What a refusal says already is not said again.
    refused = {"rule": "access", "message": "The source may not be read."}
    card = in_one_line(plan(state="denied", state_reason=why, refusals=[refused], next_step=step))
    assert "refused The source may not be read. (access)" in card
    assert "stopped" not in card


def test_what_an_assistant_asked_for_without_words_is_marked_as_that() -> None:
    origins = [{"slot": "delete_source", "origin": "assistant"}]
    intent = {"action": "move", "source": "a:/x", "destination": "b:/x"}
    typed = plan(intent=intent, origins=origins, agent="claude", words=None)
    assert "ADDED delete the source: yes (by the assistant, without words of the person)" in in_one_line(typed)


@pytest.mark.parametrize(
    ("counts", "line", "row"),
    [
        (
            {"deletes_total": 9000, "eta_s": 61},
            "about 1 min 1 s left before it deletes, 0 of 9,000 entries deleted at the destination",
            "left before it deletes",
        ),
        (
            {"deletes_total": 9000, "deleted": 500, "eta_s": 61, "deleted_to_trash": True},
            "0 b/s, about 1 min 1 s left, 500 of 9,000 entries moved to the trash at the destination",
            "0 b/s, about 1 min 1 s left",
        ),
        ({"sources_deleted": 2}, "0 b/s, 2 of 4 sources deleted", "2 of 4 sources deleted"),
        ({"eta_s": 61, "action": "move"}, "left before it deletes its sources", "left before it deletes its sources"),
    ],
    ids=["before", "while", "of a move", "before those of a move"],
)
def test_what_a_running_transfer_deletes_is_on_its_line_and_its_card(
    counts: dict[str, Any], line: str, row: str
) -> None:
    counts = dict(counts)
    action = counts.pop("action", "sync")
    running = m.Transfer(
        id="tr_1", plan="pl_1", plan_digest=DIGEST, state=m.TransferState.RUNNING, requester="anna", action=action,
        source="a:/x", destination="b:/x", created=AT, progress=m.Progress(files_total=4, files_done=4, **counts),
    )  # fmt: skip
    assert progress_line(running).endswith(line)
    assert row in shown(transfer_card(running), width=200)


def test_of_a_canceled_transfer_only_whole_files_are_called_safe() -> None:
    canceled = m.Transfer(
        id="tr_1", plan="pl_1", plan_digest=DIGEST, state=m.TransferState.CANCELED, requester="anna", action="copy",
        source="a:/x", destination="b:/x", created=AT,
        progress=m.Progress(files_total=3, files_done=1, bytes_total=629, bytes_durable=364),
    )  # fmt: skip
    left = "1 of 3 files stay, what had come of others is removed"
    assert progress_line(canceled) == f"canceled, {left}"
    card = shown(transfer_card(canceled), width=200)
    assert left in card
    assert "364 B" not in card
    assert safe_there(canceled) == "1 of 3 files"


def test_a_line_of_progress_names_no_rate_of_what_does_not_run() -> None:
    waiting = m.Transfer(
        id="tr_1", plan="pl_1", plan_digest=DIGEST, state=m.TransferState.WAITING, requester="anna", action="copy",
        source="a:/x", destination="b:/x", created=AT, progress=m.Progress(files_total=4, files_done=1),
    )  # fmt: skip
    assert progress_line(waiting) == "waiting, 0 B of 0 B safe, 1 of 4 files"


def running(**progress: Any) -> m.Transfer:  # noqa: ANN401 - counts and texts
    return m.Transfer(
        id="tr_1", plan="pl_1", plan_digest=DIGEST, state=m.TransferState.RUNNING, requester="anna", action="copy",
        source="a:/x", destination="b:/x", created=AT, progress=m.Progress(files_total=4, files_done=1, **progress),
    )  # fmt: skip


def test_what_is_left_is_a_range_on_each_line_of_a_transfer_that_is_watched() -> None:
    left = running(rate_bps=8_000_000, eta_s=300, eta_low_s=240, eta_high_s=420)
    assert progress_line(left).endswith("8.00 Mb/s, about 5 min (4 min to 7 min) left")
    last = running(rate_bps=8_000_000, eta_s=0, eta_low_s=0, eta_high_s=1)
    assert progress_line(last).endswith("under 1 s (under 1 s to 1 s) left"), "never from none to none"
    stands = running(limiter="nothing has moved for 25 s: the destination's storage does not answer")
    assert progress_line(stands).endswith("nothing has moved for 25 s: the destination's storage does not answer")


def test_a_card_says_when_a_transfer_is_expected_to_end_and_what_that_depends_on() -> None:
    soon, later, last = (AT + timedelta(hours=hours) for hours in (1, 2, 14))
    known = running().model_copy(update={"ends": m.ExpectedEnd(earliest=soon, likely=later, latest=last)})
    text = f"about {local_time(later)} ({local_time(soon)} to {local_time(last)})"
    assert text in shown(transfer_card(known), width=200)
    waits = m.ExpectedEnd(earliest=soon, said="when it begins is not known")
    text = f"{local_time(soon)} at the earliest; when it begins is not known"
    assert text in shown(transfer_card(running().model_copy(update={"ends": waits})), width=200)


def test_a_card_says_that_a_time_is_not_known_and_of_a_probe_the_most() -> None:
    assert "not known yet" in shown(plan_card(plan(eta_s=None)))
    bounds = m.ProbeBounds(max_bytes=10**9, max_seconds=20)
    assert "at most 1 min 20 s" in shown(plan_card(plan(eta_s=80, probe=bounds)))
    estimate = m.Estimate(low_s=0, likely_s=1, high_s=2, said="from the last transfer")
    assert "about 1 s (under 1 s to 2 s), from the last transfer" in shown(plan_card(plan(eta_s=1, estimate=estimate)))


def test_a_table_has_no_column_that_no_row_fills_and_no_headings_without_rows() -> None:
    rows = [("here", "", "online", ""), ("there", "", "offline", "site=north")]
    heading, *lines = shown(table(("endpoint", "also", "state", "labels"), rows)).splitlines()
    assert heading.split() == ["endpoint", "state", "labels"]
    assert [line.split() for line in lines] == [["here", "online"], ["there", "offline", "site=north"]]
    assert shown(table(("name", "kind"), [])).strip() == ""


@pytest.mark.parametrize(("action", "does"), [("copy", "copies"), ("sync", "copies"), ("move", "moves")])
def test_a_plan_card_says_of_files_what_is_done_with_them(action: str, does: str) -> None:
    intent = {"action": action, "source": "krios1:/raw/run42", "destination": "archive:/run42"}
    card = shown(plan_card(plan(intent=intent, canonical_sentence=None)))
    assert re.search(rf" {does} +21,034 files", card), card


@pytest.mark.parametrize(
    ("state", "more", "said"),
    [
        ("running", {"deadline_at_risk": True, "deadline_late_s": 300}, "(at risk: it would come about 5 min late)"),
        ("paused", {"deadline_at_risk": True}, "(at risk)"),
        ("complete", {"deadline_at_risk": True, "deadline_late_s": 3600, "ended": AT}, "(it ended about 1 h later)"),
        ("running", {}, ""),
    ],
)
def test_a_card_says_by_how_much_a_transfer_comes_late(state: str, more: dict[str, Any], said: str) -> None:
    given = {
        "id": "tr_1", "plan": "pl_1", "plan_digest": DIGEST, "state": state, "requester": "anna", "action": "copy",
        "source": "a:/x", "destination": "b:/x", "created": AT, "deadline": datetime(2200, 1, 1, tzinfo=UTC), **more,
    }  # fmt: skip
    [line] = [one for one in shown(transfer_card(m.Transfer.model_validate(given))).splitlines() if "done by" in one]
    assert said in line
    assert ("(" in line) is bool(said)
