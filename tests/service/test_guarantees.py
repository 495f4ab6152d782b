"""What deadlines of transfers that run are guaranteed of links, and which of them get enough later."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

from headrace.api.jobs.turns import InLine
from headrace.api.policy.links import Path
from headrace.api.policy.qos import InForce
from headrace.api.store.tables_work import NOT_PROMISED
from headrace.api.transfers.guarantees import guarantees, order_of
from headrace.api.transfers.run_state import Run
from headrace.client import models as m

if TYPE_CHECKING:
    from headrace.guardrails import ReleasedPlan

NOW = datetime(2026, 11, 27, 12, tzinfo=UTC)
MB = 1_000_000
UPLINK = Path(("uplink",))
HELD = InForce(
    m.QosDocument(
        links=[m.QosLink(name="uplink", rate_bps=100 * MB, rest_percent=10, nodes=["left"])],
        classes=[m.QosClass(name="bulk"), m.QosClass(name="urgent", priority=1)],
    )
)


def run(name: str, mbit: int, due_s: float | None = None, qos_class: str = "bulk") -> Run:
    one = Run(name, "", "L", "R", 1, InLine(0, NOW, name, "pn_x"), qos_class=qos_class)
    one.deadline = NOW + timedelta(seconds=due_s) if due_s is not None else None
    one.progress = m.Progress(bytes_total=mbit * MB // 8)
    return one


def found(*runs: Run) -> tuple[dict[str, float], set[str]]:
    """What each is guaranteed in Mb/s, and who gets enough later."""
    served = sorted(runs, key=lambda one: one.order)
    needs = {
        one.transfer: one.progress.bytes_total * 8 / (one.deadline - NOW).total_seconds()
        for one in served
        if one.deadline is not None
    }
    got = guarantees(HELD, [(one, UPLINK) for one in served], needs, NOW)
    return {name: round(bps / MB) for name, bps in got.bps.items()}, set(got.later)


def test_who_waits_for_an_earlier_deadline_and_is_kept_gets_enough_later() -> None:
    late, early = run("late", 6000, 100), run("early", 3000, 40)
    assert found(late, early) == ({"early": 75, "late": 25}, {"late"})
    assert found(run("late", 12000, 100), early) == ({"early": 75, "late": 25}, set()), "9,000 more Mbit do not fit"


def test_who_may_not_go_so_fast_later_does_not_get_enough_later() -> None:
    late, early = run("late", 6000, 100), run("early", 3000, 40)
    late.ceiling_bps = 80 * MB
    assert found(late, early)[1] == set(), "5,200 Mbit are left for 60 s"
    late.ceiling_bps = 88 * MB
    assert found(late, early)[1] == {"late"}


def test_who_was_not_promised_its_deadline_is_guaranteed_what_others_leave_however_early_it_is() -> None:
    late, early = run("late", 6000, 100), run("early", 3000, 40)
    early.promised = NOT_PROMISED
    assert found(late, early) == ({"late": 60, "early": 40}, set())


def test_who_runs_with_a_higher_priority_leaves_a_deadline_the_rest_until_it_is_done() -> None:
    late = run("late", 6000, 100)
    # 1,800 Mbit at 90 Mb/s take 20 s; 5,800 in the 80 s that are left then are enough.
    assert found(late, run("urgent", 1800, qos_class="urgent")) == ({"late": 10}, {"late"})
    assert found(late, run("urgent", 9000, qos_class="urgent")) == ({"late": 10}, set())


def test_nodes_keep_the_earliest_promised_deadline_first_and_what_was_not_promised_last() -> None:
    late, early, not_promised = run("late", 1, 100), run("early", 1, 40), run("not promised", 1, 10)
    not_promised.promised = NOT_PROMISED
    orders = [order_of(one) for one in (early, late, run("without", 1), not_promised)]
    assert orders == sorted(orders)


def test_no_more_is_guaranteed_than_was_surveyed_whatever_nodes_say() -> None:
    one = run("one", 800, 100)
    assert one.promised_bytes_left == 100 * MB
    counts = dict.fromkeys(("files", "identical_files", "conflicts", "deletes"), "0") | {"bytes": str(10 * MB)}
    one.released = cast("ReleasedPlan", SimpleNamespace(fields={"survey": counts}))
    assert one.promised_bytes_left == 10 * MB
    one.progress = m.Progress(bytes_total=100 * MB, bytes_durable=12 * MB)
    assert one.promised_bytes_left == 0
    one.only_failed = True
    assert one.promised_bytes_left == 88 * MB


def test_content_is_due_a_little_before_its_deadline_and_what_is_nearly_done_is_due_a_little_after_it() -> None:
    one = run("one", 800, 100)
    assert one.due(NOW) == NOW + timedelta(seconds=98)
    assert one.due(NOW + timedelta(seconds=96)) == NOW + timedelta(seconds=99)
    late = NOW + timedelta(seconds=101)
    assert one.due(late) is None, "all of it is left"
    one.progress = m.Progress(bytes_total=100 * MB, bytes_durable=96 * MB)
    assert one.due(late) == late + timedelta(seconds=1)
    assert one.due(NOW + timedelta(seconds=111)) is None
    one.promised = NOT_PROMISED
    assert one.due(late) is None
