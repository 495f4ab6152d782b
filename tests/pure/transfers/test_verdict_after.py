"""What is said of a transfer that has ended: one verdict, or plainly that it is not known, and what is known."""

import shlex
from datetime import UTC, datetime, timedelta

import pytest

from headrace.api.transfers.verdict_after import verdict_after
from headrace.client import models as m

NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)
MEASURED = m.Diagnosis(
    transfer="tr_1",
    limit=m.Limit.SOURCE_STORAGE,
    where="source",
    said="the source's storage gives 800 Mb/s",
    evidence=[m.Evidence(name="source reads", value=80, unit="%")],
    remedy=["look at it"],
    measured_s=9,
)


def ended(state: m.TransferState, *, took_s: float | None = 10, whole_s: float = 10, **more: object) -> m.Transfer:
    progress = m.Progress(files_total=4, files_done=4, bytes_total=10**9, bytes_durable=10**9, average_bps=8 * 10**8)
    started = NOW - timedelta(seconds=whole_s) if took_s is not None else None
    usual: dict[str, object] = {
        "id": "tr_1", "plan": "pl_1", "plan_digest": "0" * 64, "state": state, "requester": "pn_1", "action": "copy",
        "source": "lab:/it's", "destination": "archive:/b", "created": NOW, "started": started, "ended": NOW,
        "active_s": took_s, "progress": progress,
    }  # fmt: skip
    return m.Transfer.model_validate(usual | more)


def figures(found: m.Diagnosis) -> dict[str, float]:
    return {one.name: one.value for one in found.evidence}


def test_of_a_complete_transfer_the_verdict_of_its_last_attempt_is_kept_with_what_it_moved() -> None:
    found = verdict_after(ended(m.TransferState.COMPLETE), MEASURED)
    assert (found.limit, found.said, found.remedy) == (MEASURED.limit, MEASURED.said, MEASURED.remedy)
    assert figures(found) == {
        "source reads": 80, "its attempts took": 10, "safe at its destination": 10**9, "on average": 8 * 10**8
    }  # fmt: skip
    assert not found.live


def test_what_nobody_heard_is_called_unknown_and_a_probe_of_the_same_way_is_named() -> None:
    found = verdict_after(ended(m.TransferState.COMPLETE), None)
    assert found.limit is m.Limit.UNKNOWN
    assert found.said == (
        "what limited it is not known: its nodes told nothing of its last attempt, or the service was away while it ran"
    )
    command = found.remedy[0].split("`")[1]
    assert shlex.split(command) == ["headrace", "probe", "lab:/it's", "archive:/b"]
    assert figures(found)["on average"] == 8 * 10**8, "what is known is said all the same"
    hidden = verdict_after(ended(m.TransferState.COMPLETE, names_withheld=True), None)
    assert hidden.remedy == [], "no place is named that is withheld"


def test_a_moment_says_nothing_of_what_limited_it_and_nothing_to_move_is_no_limit() -> None:
    short = verdict_after(ended(m.TransferState.COMPLETE, took_s=0.4, whole_s=0.4), None)
    assert short.said == "it took 400 ms, too short a time to say what limited it"
    same = m.Progress(files_total=2, files_done=2, files_identical=2)
    nothing = verdict_after(ended(m.TransferState.COMPLETE, progress=same), None)
    assert nothing.said == "nothing held it back: there was nothing to move, 2 files were there already"


def test_waits_that_took_most_of_its_time_are_the_verdict() -> None:
    found = verdict_after(ended(m.TransferState.COMPLETE, took_s=600, whole_s=7200), MEASURED)
    assert (found.limit, found.where) == (m.Limit.NOT_RUNNING, "service")
    assert found.said == (
        "it waited for 1 h 50 min of the 2 h from its start to its end; its history says for what "
        "(`headrace watch tr_1`). While it ran: the source's storage gives 800 Mb/s"
    )
    assert figures(found)["from its start to its end"] == 7200
    assert verdict_after(ended(m.TransferState.COMPLETE, took_s=600, whole_s=1000), MEASURED).said == MEASURED.said


def test_a_failure_before_anything_moved_names_its_code_and_what_to_do() -> None:
    error = m.Problem(title="t", status=500, code="no_space", detail="no space")
    step = m.NextStep(kind="retry", message="Retry it until tomorrow.")
    found = verdict_after(ended(m.TransferState.FAILED, took_s=None, error=error, next_step=step), None)
    assert (found.limit, found.said) == (
        m.Limit.NOT_RUNNING,
        "it failed (`no_space`; its error says more) before it moved anything",
    )
    assert found.remedy == [
        "Free space or quota at the destination, then retry the failed files.",
        "Retry it until tomorrow.",
    ]
    assert found.evidence == [], "nothing of it is known"


@pytest.mark.parametrize(
    ("took_s", "measured", "said"),
    [
        (None, None, "it was canceled before it began"),
        (
            10,
            None,
            ("it was canceled: 4 of 4 files stay; what limited it until then was not measured"),
        ),
        (
            10,
            MEASURED,
            "the source's storage gives 800 Mb/s; it was canceled: 4 of 4 files stay",
        ),
    ],
)
def test_of_what_was_canceled_it_is_said_how_far_it_came(
    took_s: float | None, measured: m.Diagnosis | None, said: str
) -> None:
    assert verdict_after(ended(m.TransferState.CANCELED, took_s=took_s), measured).said == said
