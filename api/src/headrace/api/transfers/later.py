"""Which deadlines have less than they need now and are kept all the same: earlier ones go first."""

from collections.abc import Sequence
from datetime import datetime

from headrace.api.policy.calendars import Timeline
from headrace.api.policy.forecast import ENOUGH, Promise
from headrace.api.policy.links import Moving
from headrace.api.policy.promises import Other, is_kept, links_of
from headrace.api.policy.qos import InForce
from headrace.api.transfers.run_state import Run


def kept_later(held: InForce, runs: Sequence[Run], moving: Sequence[Moving], now: datetime) -> frozenset[str]:
    """Return which transfers are guaranteed too little now and will have enough before their deadlines."""
    short = [
        one.transfer
        for run, one in zip(runs, moving, strict=True)
        if run.guarantee is not None and one.guaranteed_bps < ENOUGH * run.guarantee[1]
    ]
    if not short:
        return frozenset()
    others = [_other(held, run, one, now) for run, one in zip(runs, moving, strict=True)]
    promises = {one.transfer: one.promise for one in others if one.promise is not None}
    outcome = links_of(held.document, others, now).outcome(promises.values())
    return frozenset(one for one in short if one in promises and is_kept(promises[one], outcome))


def _other(held: InForce, run: Run, one: Moving, now: datetime) -> Other:
    # Without what is promised above the content: what is just enough is enough.
    left = float(max(0, run.progress.bytes_total - run.progress.bytes_durable) * 8)
    promise = None
    if run.deadline is not None and run.deadline > now and run.is_promised:
        promise = Promise(
            transfer=run.transfer,
            qos_class=run.qos_class,
            path=one.path,
            left_bits=left,
            begins=now,
            deadline=run.deadline,
            hours=Timeline(held.hours_of(run.qos_class, run.hours), now, run.deadline),
        )
    return Other(run.transfer, "", run.qos_class, one.path, left, runs=True, promise=promise)
