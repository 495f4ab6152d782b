"""How long a plan may take, from what was moved before: a simple model, and no answer rather than a guess.

Of the last transfers between the same two nodes (or, without any, of the site) the best byte rate and the best file
rate are taken; bytes and files at these rates, one after the other, give the estimate.
"""

import math
from typing import Final

from sqlalchemy import ColumnElement, and_, select

from headrace.api.store import Tx
from headrace.api.store.tables_work import TransferRow
from headrace.client import models as m
from headrace.guardrails import Route

LOOKED_AT: Final = 20
"""Finished transfers that are looked at."""
_MIN_SECONDS: Final = 0.001
_BITS: Final = 8


async def estimated_s(tx: Tx, route: Route, survey: m.SurveyCounts, rate_limit_bps: int | None) -> int | None:
    """Return the seconds that moving what was surveyed may take; `None` when nothing like it was moved before."""
    pair = and_(TransferRow.source_node == route.source.node, TransferRow.destination_node == route.destination.node)
    rates = await _best_rates(tx, pair) or await _best_rates(tx, TransferRow.id.is_not(None))
    if rates is None:
        return None
    bytes_per_s, files_per_s = rates
    if rate_limit_bps is not None:
        bytes_per_s = min(bytes_per_s, rate_limit_bps / _BITS)
    return math.ceil(survey.bytes / bytes_per_s + survey.files / files_per_s)


async def _best_rates(tx: Tx, which: ColumnElement[bool]) -> tuple[float, float] | None:
    """Return the best bytes and files a second of the last finished transfers that moved anything."""
    query = select(TransferRow.progress, TransferRow.started, TransferRow.ended).where(
        which, TransferRow.state == m.TransferState.COMPLETE
    )
    bytes_per_s, files_per_s = 0.0, 0.0
    for row in await tx.execute(query.order_by(TransferRow.created.desc()).limit(LOOKED_AT)):
        if row.started is None or row.ended is None:
            continue
        progress = m.Progress.model_validate_json(row.progress)
        seconds = max(_MIN_SECONDS, (row.ended - row.started).total_seconds())
        bytes_per_s = max(bytes_per_s, progress.bytes_durable / seconds)
        files_per_s = max(files_per_s, progress.files_done / seconds)
    return (bytes_per_s, files_per_s) if bytes_per_s and files_per_s else None
