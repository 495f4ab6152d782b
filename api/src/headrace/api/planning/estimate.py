"""How long a plan may take, from what was moved before: a range and where it comes from, or no answer."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import ColumnElement, and_, bindparam, case, select

from headrace.api.planning.time_model import Deleted, Moved, TimeModel, fit
from headrace.api.store import Tx
from headrace.api.store.dialects import as_json
from headrace.api.store.tables_work import AttemptRow, PlanRow, TransferRow
from headrace.client import models as m
from headrace.client.text import bit_rate
from headrace.guardrails import Route

LOOKED_AT: Final = 50
"""Finished transfers that the model is fitted to."""
_HELD_BACK: Final = 0.8
"""A transfer that was so near to its ceiling says nothing of what the nodes can do."""
_BITS: Final = 8
_MOST_S: Final = (1 << 53) - 1


_SAID = select(PlanRow.id, as_json(PlanRow.card)["estimate"].label("estimate")).where(
    PlanRow.id.in_(bindparam("of_plans", expanding=True))
)
_DELETES: Final = ("sync", "move")
"""Actions that may delete."""


async def estimate(
    tx: Tx, route: Route, survey: m.SurveyCounts, intent: m.TransferIntent, link: tuple[int, str] | None
) -> m.Estimate | None:
    """Return how long doing what was surveyed may take; `None` when nothing like it was moved before.

    `link`: what the narrowest link lets through, and its name.
    """
    pair = and_(TransferRow.source_node == route.source.node, TransferRow.destination_node == route.destination.node)
    where, model = "between these nodes", fit(*await _done(tx, pair, intent.action))
    if model is None:
        where = "of this site, none of them between these nodes"
        model = fit(*await _done(tx, TransferRow.id != "", intent.action))
    if model is None:
        return None
    deletes = survey.files + survey.identical_files if intent.action == "move" else survey.deletes
    asked = intent.rate_limit_bps
    held = link if link is not None and (asked is None or link[0] < asked) else None
    found = model.seconds(survey.bytes, survey.files, held[0] if held else asked, deletes)
    # Whole seconds, and a range always: what takes less than one may take none, and the next one too.
    low, likely = min(_MOST_S - 1, math.floor(found.low)), min(_MOST_S - 1, math.ceil(found.likely))
    high = min(_MOST_S, max(math.ceil(found.high), likely + 1))
    last = "transfer" if model.transfers == 1 else f"{model.transfers:,} transfers"
    said = f"from the last {last} {where}{_beyond(model, survey)}"
    if deletes and model.delete_s is None:
        its = "its delete, which was" if deletes == 1 else f"its {deletes:,} deletes, which were"
        said += f"; without {its} not measured yet"
    if held is not None and found.likely > model.seconds(survey.bytes, survey.files, asked, deletes).likely:
        said += f", at the {bit_rate(held[0])} that {held[1]} lets through"
    return m.Estimate(
        low_s=low,
        likely_s=likely,
        high_s=high,
        bytes_s=_kept(found.bytes),
        files_s=_kept(found.files),
        deletes_s=_kept(found.deletes),
        said=said,
    )


async def estimates_said(tx: Tx, plans: Sequence[str]) -> dict[str, m.Estimate]:
    """Return what these plans say of their time, by plan."""
    said = await tx.execute(_SAID, {"of_plans": plans}) if plans else ()
    return {plan: m.Estimate.model_validate(found) for plan, found in said if found}


def _kept(seconds: float) -> float:
    return round(min(float(_MOST_S), seconds), 3)


def _beyond(model: TimeModel, survey: m.SurveyCounts) -> str:
    return "" if model.reaches(survey.bytes, survey.files) else "; it is far larger than all of them"


async def _done(tx: Tx, which: ColumnElement[bool], action: str) -> tuple[list[Moved], list[Deleted]]:
    """Return what the last transfers moved that ended whole and were not held back by their ceiling.

    And what those of this `action` deleted: a sync at its destination, a move at its source.
    """
    measured = case((TransferRow.action.in_(_DELETES), TransferRow.measured), else_=None)
    last = (
        select(
            TransferRow.id,
            TransferRow.progress,
            TransferRow.rate_ceiling_bps,
            TransferRow.action,
            TransferRow.attempt,
            measured.label("measured"),
        )
        .where(which, TransferRow.state == m.TransferState.COMPLETE, TransferRow.probe.is_(None))
        .order_by(TransferRow.created.desc())
        .limit(LOOKED_AT)
        .subquery()
    )
    query = select(last, AttemptRow.started, AttemptRow.ended).join(AttemptRow, AttemptRow.transfer == last.c.id)
    seconds: dict[str, float] = {}
    counted: dict[str, _Row] = {}
    for row in await tx.execute(query):
        span = (row.ended - row.started).total_seconds() if row.ended else 0.0
        seconds[row.id] = seconds.get(row.id, 0.0) + max(0.0, span)
        counted[row.id] = _Row(row.progress, row.rate_ceiling_bps, row.action, row.attempt, row.measured)
    moved, deleted = [], []
    for transfer, one in counted.items():
        progress = m.Progress.model_validate_json(one.progress)
        deleting_s = _deleting_s(one.measured)
        # What nodes measured is that of the last attempt, and what was counted of all.
        if deleting_s and one.action == action and one.attempt == 1:
            deleted.append(Deleted(progress.deleted + progress.sources_deleted, deleting_s))
        took_s, ceiling_bps = max(0.0, seconds[transfer] - deleting_s), one.ceiling_bps
        held_back = ceiling_bps and progress.bytes_durable * _BITS >= _HELD_BACK * ceiling_bps * took_s
        # What was there already cost less than what was moved.
        if not held_back and not progress.files_identical:
            moved.append(Moved(progress.bytes_durable, progress.files_done, took_s))
    return moved, deleted


@dataclass(frozen=True, slots=True)
class _Row:
    progress: str
    ceiling_bps: int | None
    action: str
    attempt: int
    measured: str | None


def _deleting_s(measured: str | None) -> float:
    """Return how long checking and deleting took, as its nodes measured it."""
    if not measured:
        return 0.0
    found = m.Measured.model_validate_json(measured)
    stages = [*found.source.stages, *found.destination.stages]
    return found.seconds * sum(stage.threads for stage in stages if stage.name == "delete")
