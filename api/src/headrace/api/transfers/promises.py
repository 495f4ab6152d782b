"""Tells that a promise is at risk, safe again or missed: in the transfer's history, and thereby to who watches it.

Once for each change (`promise_changes.py` says when one is told), whatever the transfer does meanwhile: it runs, waits,
is paused, or its hours are closed. What was told last is stored with the transfer, so that it is not told again after a
restart. Another deadline is another promise: the history says so (`deadline`), and when that one is at risk.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import select

from headrace.api.core import Core
from headrace.api.planning.estimate import estimates_said
from headrace.api.policy.qos import InForce, QosVersions
from headrace.api.store import Tx, after_commit
from headrace.api.store.tables_work import TransferRow
from headrace.api.transfers.deadline_risk import Promised, Risk, ahead_of, look_of, risk_of
from headrace.api.transfers.expected_end import if_it_goes_on
from headrace.api.transfers.history import History
from headrace.api.transfers.outlook import Forecast, Outlook
from headrace.api.transfers.promise_changes import Look, PromiseChanges, Told
from headrace.client import models as m
from headrace.client.text import byte_size, duration, utc

LOOK_S: Final = 10
"""Time between looks."""
_PROMISED: Final = select(TransferRow).where(
    TransferRow.state.in_(m.OPEN_STATES), TransferRow.deadline.is_not(None), TransferRow.deadline_told != "missed"
)


@dataclass(frozen=True, slots=True)
class _Seen:
    """A promise as a look found it."""

    row: TransferRow
    deadline: datetime
    progress: m.Progress
    ends: m.ExpectedEnd | None
    risk: Risk
    found: Look


class Promises:
    """Looks at promises of transfers that have not ended, and tells what becomes of them."""

    def __init__(self, core: Core, history: History, qos: QosVersions, outlook: Outlook) -> None:
        """Look every ten seconds; `outlook` knows what links say."""
        self._core = core
        self._history = history
        self._qos = qos
        self._outlook = outlook
        self._changes = PromiseChanges()
        self.missed = 0
        """How many were missed since the service started."""
        core.jobs.every("tell promises at risk", LOOK_S, self.look)

    async def look(self) -> None:
        """Look at every promise, and tell what has changed."""
        now, held = self._core.clock(), self._qos.in_force
        async with self._core.database.read() as tx:
            rows = list(await tx.scalars(_PROMISED))
            expected = await estimates_said(tx, [row.plan for row in rows if not row.only_failed])
        found = [
            (row, self._core.underway.progress(row.id, row.progress), expected.get(row.plan), self._outlook.of(row.id))
            for row in rows
        ]
        # Hours of months may lie before a deadline.
        seen = await asyncio.to_thread(_all_seen, held, found, now)
        self._changes.keep({one.row.id for one in seen})
        for one in seen:
            told, steady = one.row.deadline_told, self._core.steady()
            after = self._changes.after(one.row.id, one.deadline, told=told, found=one.found, now=now, steady=steady)
            if after != told:
                await self._tell(one, after)

    async def end(self, tx: Tx, row: TransferRow, now: datetime) -> None:
        """Tell of a transfer that ends with `tx` that its promise was missed, unless that was told when it happened."""
        if row.deadline is not None and now >= row.deadline and row.deadline_told != "missed":
            late = duration((now - row.deadline).total_seconds())
            await self._record(tx, row, "missed", f"{_its(row.deadline)}, passed {late} before it ended")

    async def _tell(self, one: _Seen, after: Told) -> None:
        """Write it into the history, unless the transfer has ended or has another deadline by then."""
        async with self._history.change(one.row.id) as (tx, row):
            as_seen = (row.deadline, row.deadline_told) == (one.deadline, one.row.deadline_told)
            if as_seen and row.state in m.OPEN_STATES:
                await self._record(tx, row, after, _SAID[after](one))

    async def _record(self, tx: Tx, row: TransferRow, told: Told, message: str) -> None:
        row.deadline_told = told
        await self._history.record(tx, row, _KINDS[told], message)
        if told == "missed":
            after_commit(tx, self._count)

    def _count(self) -> None:
        self.missed += 1


_KINDS: Final[Mapping[Told, m.TransferEventKind]] = {
    "": m.TransferEventKind.DEADLINE_SAFE,
    "at_risk": m.TransferEventKind.DEADLINE_AT_RISK,
    "missed": m.TransferEventKind.DEADLINE_MISSED,
}


def _all_seen(
    held: InForce, found: Sequence[tuple[TransferRow, m.Progress, m.Estimate | None, Forecast]], now: datetime
) -> list[_Seen]:
    return [
        _seen(held, row, row.deadline, progress, expected, forecast, now)
        for row, progress, expected, forecast in found
        if row.deadline is not None
    ]


def _seen(  # noqa: PLR0913, PLR0917 - what it is judged by
    held: InForce,
    row: TransferRow,
    deadline: datetime,
    progress: m.Progress,
    expected: m.Estimate | None,
    forecast: Forecast,
    now: datetime,
) -> _Seen:
    state = m.TransferState(row.state)
    ends = if_it_goes_on(ahead_of(row, state, progress, expected, held, now))
    promised = Promised(row=row, held=held, state=state, progress=progress, ends=ends, forecast=forecast, now=now)
    risk = risk_of(promised)
    return _Seen(row, deadline, progress, ends, risk, look_of(promised, risk))


def _its(deadline: datetime) -> str:
    return f"its deadline, {utc(deadline)}"


def _at_risk(one: _Seen) -> str:
    late = one.risk.late_s
    by = f"it would come about {duration(late)} late" if late else "by how much it would come late is not known yet"
    return f"{_its(one.deadline)}, is at risk: {one.risk.why}; {by}"


def _safe(one: _Seen) -> str:
    ends = one.ends and one.ends.likely
    how = f"it is expected to end at {utc(ends)}" if ends else "what it needs is there for it"
    return f"{_its(one.deadline)}, is safe again: {how}"


def _missed(one: _Seen) -> str:
    there, total = byte_size(one.progress.bytes_durable), byte_size(one.progress.bytes_total)
    return f"{_its(one.deadline)}, has passed, and it has not ended: {there} of {total} are safe at its destination"


_SAID: Final = {"": _safe, "at_risk": _at_risk, "missed": _missed}
