"""How long a plan may take, from what was moved before: a range and where it comes from, or no answer."""

import math
from typing import Final

from sqlalchemy import ColumnElement, and_, select

from headrace.api.planning.time_model import Moved, TimeModel, fit
from headrace.api.store import Tx
from headrace.api.store.tables_work import AttemptRow, TransferRow
from headrace.client import models as m
from headrace.client.text import plural
from headrace.guardrails import Route

LOOKED_AT: Final = 50
"""Finished transfers that the model is fitted to."""
_HELD_BACK: Final = 0.8
"""A transfer that was so near to its ceiling says nothing of what the nodes can do."""
_BITS: Final = 8
_MOST_S: Final = (1 << 53) - 1


async def estimate(tx: Tx, route: Route, survey: m.SurveyCounts, rate_limit_bps: int | None) -> m.Estimate | None:
    """Return how long moving what was surveyed may take; `None` when nothing like it was moved before."""
    pair = and_(TransferRow.source_node == route.source.node, TransferRow.destination_node == route.destination.node)
    where, model = "between these nodes", fit(await _moved(tx, pair))
    if model is None:
        where, model = "of this site, none of them between these nodes", fit(await _moved(tx, TransferRow.id != ""))
    if model is None:
        return None
    found = model.seconds(survey.bytes, survey.files, rate_limit_bps)
    low, likely, high = (min(_MOST_S, math.ceil(one)) for one in (found.low, found.likely, found.high))
    said = f"from the last {plural(model.transfers, 'transfer')} {where}{_beyond(model, survey)}"
    return m.Estimate(low_s=low, likely_s=likely, high_s=high, said=said)


def _beyond(model: TimeModel, survey: m.SurveyCounts) -> str:
    return "" if model.reaches(survey.bytes, survey.files) else "; it is far larger than all of them"


async def _moved(tx: Tx, which: ColumnElement[bool]) -> list[Moved]:
    """Return what the last transfers moved that ended whole and were not held back by their ceiling."""
    last = (
        select(TransferRow.id, TransferRow.progress, TransferRow.rate_ceiling_bps)
        .where(which, TransferRow.state == m.TransferState.COMPLETE, TransferRow.probe.is_(None))
        .order_by(TransferRow.created.desc())
        .limit(LOOKED_AT)
        .subquery()
    )
    query = select(last, AttemptRow.started, AttemptRow.ended).join(AttemptRow, AttemptRow.transfer == last.c.id)
    seconds: dict[str, float] = {}
    counted: dict[str, tuple[str, int | None]] = {}
    for row in await tx.execute(query):
        span = (row.ended - row.started).total_seconds() if row.ended else 0.0
        seconds[row.id] = seconds.get(row.id, 0.0) + max(0.0, span)
        counted[row.id] = row.progress, row.rate_ceiling_bps
    found = []
    for transfer, (said, ceiling_bps) in counted.items():
        progress = m.Progress.model_validate_json(said)
        held_back = ceiling_bps and progress.bytes_durable * _BITS >= _HELD_BACK * ceiling_bps * seconds[transfer]
        # What was there already cost less than what was moved.
        if not held_back and not progress.files_identical:
            found.append(Moved(progress.bytes_durable, progress.files_done, seconds[transfer]))
    return found
