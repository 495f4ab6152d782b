"""Why a deadline is not kept, by how much it would come late, and when nobody knows."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from headrace.api.policy.qos import InForce
from headrace.api.store.tables_work import NOT_PROMISED, TransferRow
from headrace.api.transfers.deadline_risk import Promised, ahead_of, look_of, risk_of
from headrace.api.transfers.expected_end import if_it_goes_on
from headrace.api.transfers.outlook import NO_FORECAST, Forecast
from headrace.client import models as m

NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
HELD = InForce(m.QosDocument(links=[], classes=[]))
GIGABYTE = 10**9
RUNNING, PAUSED, QUEUED, WAITING = (m.TransferState(one) for one in ("running", "paused", "queued", "waiting"))


def promised(
    state: m.TransferState,
    *,
    expected: m.Estimate | None = None,
    forecast: Forecast = NO_FORECAST,
    eta_s: int | None = None,
    **said: Any,  # noqa: ANN401 - columns
) -> Promised:
    row = TransferRow(**{"qos_class": "bulk", "deadline": NOW + HOUR, "hours": None} | said)
    progress = m.Progress(bytes_total=GIGABYTE, eta_s=eta_s, eta_low_s=eta_s, eta_high_s=eta_s)
    ends = if_it_goes_on(ahead_of(row, state, progress, expected, HELD, NOW))
    return Promised(row=row, held=HELD, state=state, progress=progress, ends=ends, forecast=forecast, now=NOW)


def estimate(likely_s: int, low_s: int | None = None) -> m.Estimate:
    return m.Estimate(low_s=low_s if low_s is not None else likely_s, likely_s=likely_s, high_s=2 * likely_s, said="")


def test_what_runs_is_late_by_its_present_rate_by_the_difference() -> None:
    found = risk_of(promised(RUNNING, eta_s=2 * 3600))
    assert (found.why, found.late_s, found.sure) == ("at its present rate it ends later", 3600, False)


def test_one_whose_turn_comes_later_is_not_late_by_its_present_rate() -> None:
    slow = promised(RUNNING, eta_s=2 * 3600)
    share = m.TransferShare(qos_class="bulk", kept_later=True)
    later = replace(slow, progress=slow.progress.model_copy(update={"share": share}))
    assert (risk_of(slow).why != "", risk_of(later).why) == (True, "")


def test_what_runs_in_time_is_kept_and_with_a_margin_only_where_it_has_one() -> None:
    near = promised(RUNNING, eta_s=3500)
    assert risk_of(near).kept
    assert not risk_of(near, 0.05).kept
    assert risk_of(promised(RUNNING, eta_s=3400), 0.05).kept


def test_what_was_told_to_be_at_risk_is_found_safe_with_a_margin_alone() -> None:
    def found(eta_s: int, told: str = "at_risk") -> str:
        of = promised(RUNNING, eta_s=eta_s, deadline_told=told)
        return look_of(of, risk_of(of))

    assert [found(eta_s) for eta_s in (3700, 3500, 3400)] == ["late", "unsure", "safe"]
    assert found(60, told="") == "unsure", "what was at no risk is not told to be safe"
    set_late = promised(QUEUED, rate_ceiling_bps=1_000_000, deadline_told="")
    assert look_of(set_late, risk_of(set_late)) == "set_late"


def test_what_has_just_begun_is_neither_late_nor_kept() -> None:
    found = risk_of(promised(RUNNING))
    assert (found.why, found.kept) == ("", False)


def test_its_own_ceiling_makes_it_late_for_sure() -> None:
    found = risk_of(promised(QUEUED, rate_ceiling_bps=1_000_000))
    assert "1.00 GB at 1.00 Mb/s take 2 h 13 min" in found.why
    assert (found.late_s, found.sure) == (8000 - 3600, True)


def test_what_is_promised_no_more_is_late_for_sure_and_by_its_estimate() -> None:
    found = risk_of(promised(QUEUED, promised=NOT_PROMISED, expected=estimate(3 * 3600)))
    assert (found.why.startswith("it is not promised any more"), found.late_s, found.sure) == (True, 7200, True)
    assert risk_of(promised(QUEUED, promised=NOT_PROMISED)).late_s is None


@pytest.mark.parametrize("state", [PAUSED, QUEUED, WAITING, RUNNING])
def test_what_does_not_move_is_late_by_what_its_plan_expects(state: m.TransferState) -> None:
    found = risk_of(promised(state, expected=estimate(2 * 3600)))
    assert "by earlier transfers there it ends at 2026-11-25 14:00 UTC at the earliest" in found.why
    assert ("if it goes on now" in found.why) is (state in {PAUSED, RUNNING})
    assert (found.late_s, found.sure) == (3600, False)


@pytest.mark.parametrize("state", [PAUSED, QUEUED, WAITING])
def test_what_may_be_in_time_once_it_goes_on_is_not_kept_as_long_as_nobody_knows_when(state: m.TransferState) -> None:
    found = risk_of(promised(state, expected=estimate(60)))
    assert (found.why, found.kept) == ("", False)


def test_what_begins_at_a_known_time_is_kept_by_what_its_plan_expects() -> None:
    begins: dict[str, Any] = {"starts": NOW + HOUR / 2}
    assert risk_of(promised(QUEUED, expected=estimate(1700, 1), **begins), 0.05).kept
    assert not risk_of(promised(QUEUED, expected=estimate(1750, 1), **begins), 0.05).kept
    assert not risk_of(promised(PAUSED, expected=estimate(60, 1), **begins)).kept, "somebody holds it back"
    assert not risk_of(promised(PAUSED, forecast=Forecast(known=True))).kept, "it was just paused"


def test_what_links_say_counts_for_what_does_not_move_alone() -> None:
    late = Forecast("uplink will carry too little", 70, known=True)
    for state in (QUEUED, WAITING, PAUSED, RUNNING):
        found = risk_of(promised(state, forecast=late))
        assert (found.why, found.late_s, found.sure) == (late.why, 70, False)
    assert risk_of(promised(RUNNING, forecast=late, eta_s=60)).why == ""
    assert risk_of(promised(QUEUED, forecast=Forecast(known=True))).kept


def test_hours_that_open_after_the_deadline_make_it_late_for_sure() -> None:
    found = risk_of(promised(WAITING, goes_on=NOW + 3 * HOUR))
    assert found.why.startswith("it may not run before 2026-11-25 15:00 UTC")
    assert (found.late_s, found.sure) == (7200, True)
    assert risk_of(promised(RUNNING, goes_on=NOW + 3 * HOUR)).why == ""


def test_what_has_passed_is_late_by_when_it_is_expected_or_did_end() -> None:
    past: dict[str, Any] = {"deadline": NOW - HOUR}
    found = risk_of(promised(RUNNING, eta_s=60, **past))
    assert (found.why, found.late_s) == ("its deadline has passed", 3660)
    assert risk_of(promised(PAUSED, **past)).late_s == 3600
    assert risk_of(promised(m.TransferState.COMPLETE, ended=NOW, **past)).late_s == 3600
    assert risk_of(promised(m.TransferState.COMPLETE, ended=NOW)).why == ""


def test_without_a_deadline_nothing_is_at_risk() -> None:
    assert risk_of(promised(RUNNING, eta_s=10**9, deadline=None)).why == ""
