"""What deadlines of transfers that run are guaranteed of links now, and which of them get enough later."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from headrace.api.policy.forecast import ENOUGH, LinkWay, Promise
from headrace.api.policy.links import Path
from headrace.api.policy.promises import Other, is_kept, links_of
from headrace.api.policy.qos import InForce
from headrace.api.transfers.run_state import Run

_BEHIND: Final = 10**15
"""More than the milliseconds of any deadline."""
_MOST_STEPS: Final = 5_000
"""Of one look at what comes later, every two seconds, while nothing else is done: some milliseconds."""


@dataclass(frozen=True, slots=True)
class Guarantees:
    """What deadlines are guaranteed."""

    bps: Mapping[str, float]
    """By transfer; nothing for those without a deadline that can still be kept."""
    later: Collection[str]
    """Transfers that are guaranteed too little now and will have enough before their deadlines."""


def guarantees(
    held: InForce, runs: Sequence[tuple[Run, Path]], needs_bps: Mapping[str, float], now: datetime
) -> Guarantees:
    """Divide what links have among deadlines that need it; `runs` in the order in which they are served."""
    others = [_other(held, run, path, now) for run, path in runs]
    present: dict[LinkWay, set[str]] = {}
    for one in others:
        for at in one.path.ways:
            present.setdefault(at, set()).add(one.qos_class)
    links = links_of(held.document, others, now, present)
    needs = [(one.promise, needs_bps[one.transfer]) for one in others if one.promise and one.transfer in needs_bps]
    bps = links.guarantees(needs, now)
    promised = {run.transfer for run, _ in runs if run.is_promised}
    short = [one for one, need in needs if bps[one.transfer] < ENOUGH * need and one.transfer in promised]
    if not short:
        return Guarantees(bps, ())
    outcome = links.outcome((one for one, _ in needs if one.transfer in promised), most_steps=_MOST_STEPS)
    return Guarantees(bps, {one.transfer for one in short if is_kept(one, outcome)})


def order_of(run: Run) -> int:
    """Return whose guarantee nodes keep first where they can't keep all: the lowest."""
    behind, deadline, _ = run.order
    return int(deadline.timestamp() * 1000) + (_BEHIND if behind else 0)


def _other(held: InForce, run: Run, path: Path, now: datetime) -> Other:
    # Without what is promised above the content: what is just enough is enough.
    left, promise = float(run.promised_bytes_left * 8), None
    timeline, due = run.timeline(held, now), run.due(now)
    if timeline is not None and due is not None and path.links:
        promise = Promise(
            transfer=run.transfer,
            qos_class=run.qos_class,
            path=path,
            left_bits=left,
            begins=now,
            deadline=due,
            hours=timeline,
            rate_bps=run.ceiling_bps,
        )
    return Other(run.transfer, "", run.qos_class, path, left, runs=True, promise=promise)
