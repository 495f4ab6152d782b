"""Removes what is kept no longer: plans that were never started, histories and lists of files, then whole transfers.

Only what has ended, and what its nodes have tidied up after, is removed, and nothing as long as it may be tried again.
Files go before the rows that name them, so that a removal that breaks off is taken up by the next. The audit chain
stays, and says how much was removed.
"""

import asyncio
import shutil
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import ColumnElement, Row, Select, and_, delete, or_, select, update

from headrace.api.core import Core
from headrace.api.data_folder import lists_dir, results_dir
from headrace.api.store import Tx
from headrace.api.store.tables_work import (
    ApprovalRow,
    AttemptRow,
    ConfirmationRow,
    PlanApproverRow,
    PlanRow,
    QuotaKeyRow,
    ReceiptRow,
    ReservationRow,
    ThroughputRow,
    TransferApproverRow,
    TransferEventRow,
    TransferRow,
)
from headrace.client import models as m

AT_ONCE: Final = 100
"""Rows of which one writing transaction takes care, so that others have their turn."""
_UNUSED_KEPT: Final = timedelta(days=1)
"""For how long the lists of a plan stay that can't start any more: somebody may look why."""
_ENDED_PLANS: Final = (m.PlanState.DENIED, m.PlanState.FAILED, m.PlanState.EXPIRED, m.PlanState.DROPPED)
_OF_TRANSFERS: Final = (
    TransferEventRow.transfer,
    AttemptRow.transfer,
    ReceiptRow.transfer,
    ReservationRow.transfer,
    QuotaKeyRow.transfer,
    TransferApproverRow.transfer,
)
_OF_PLANS: Final = (ConfirmationRow.plan, ApprovalRow.plan, PlanApproverRow.plan)
_HISTORY = select(TransferEventRow.transfer).where(TransferEventRow.transfer == TransferRow.id).exists()


class Retention:
    """Removes what is older than the settings say."""

    def __init__(self, core: Core) -> None:
        """Remove from the store and the data folder."""
        self._core = core

    async def sweep(self) -> None:
        """Remove all that is kept no longer, unless the clock is doubted: a periodic duty."""
        if self._core.doubt.look() is not None:
            return
        settings = self._core.settings
        plans = await self._remove_plans(self._before(settings.plans_kept_s))
        lists = await self._remove_unused_lists(self._core.clock() - _UNUSED_KEPT)
        lists += await self._remove_lists(self._before(settings.lists_kept_s))
        transfers = await self._remove_transfers(self._before(settings.transfers_kept_s))
        if plans or lists or transfers:
            removed = {"plans": str(plans), "lists": str(lists), "transfers": str(transfers)}
            async with self._core.database.write() as tx:
                await self._core.audit.append(tx, m.AuditKind.REMOVED_OLD, detail=removed)

    def _before(self, kept_s: int) -> datetime:
        """Return when what is removed must have ended: what may be tried again is kept, whatever is set."""
        return self._core.clock() - timedelta(seconds=max(kept_s, self._core.settings.retry_valid_s))

    async def _remove_plans(self, before: datetime) -> int:
        """Remove plans that nobody started, and that nobody may start any more."""
        over = and_(PlanRow.state != m.PlanState.SURVEYING, or_(PlanRow.expires.is_(None), PlanRow.expires < before))
        query = select(PlanRow.id, PlanRow.created).where(PlanRow.unstarted.is_(True), PlanRow.created < before, over)
        count, last = 0, None
        while found := await self._next(query, PlanRow, last):
            ids, last = [row[0] for row in found], found[-1]
            await self._remove_folders(plans=ids)
            async with self._core.database.write() as tx:
                # Nobody can have started one meanwhile: all of them are too old for it.
                await _delete_plans(tx, ids)
            count += len(ids)
        return count

    async def _remove_unused_lists(self, before: datetime) -> int:
        """Remove the lists of plans that nobody started and that can't start any more; the plans stay."""
        over = or_(PlanRow.state.in_(_ENDED_PLANS), PlanRow.expires < before)
        known = PlanRow.unstarted.is_(True), PlanRow.created < before, PlanRow.state != m.PlanState.SURVEYING
        query = select(PlanRow.id, PlanRow.created).where(*known, over)
        count, last = 0, None
        while found := await self._next(query, PlanRow, last):
            last = found[-1]
            count += await self._remove_folders(plans=[row[0] for row in found])
        return count

    async def _remove_lists(self, before: datetime) -> int:
        """Remove the lists of files and the history of transfers; what is left says what was moved, and by whom."""
        query = select(TransferRow.id, TransferRow.created, TransferRow.plan).where(_ended(before), _HISTORY)
        count, last = 0, None
        while found := await self._next(query, TransferRow, last):
            ids, last = [row[0] for row in found], found[-1]
            await self._remove_folders(plans=[row[2] for row in found], transfers=ids)
            async with self._core.database.write() as tx:
                await tx.execute(delete(TransferEventRow).where(TransferEventRow.transfer.in_(ids)))
                # Whoever watches it waits for no event that was removed.
                await tx.execute(update(TransferRow).where(TransferRow.id.in_(ids)).values(events=0))
            count += len(ids)
        return count

    async def _remove_transfers(self, before: datetime) -> int:
        """Remove transfers with all that belongs to them: plan, consent, attempts, receipts."""
        query = select(TransferRow.id, TransferRow.created, TransferRow.plan).where(_ended(before))
        count, last = 0, None
        while found := await self._next(query, TransferRow, last):
            ids, plans, last = [row[0] for row in found], [row[2] for row in found], found[-1]
            await self._remove_folders(plans=plans, transfers=ids)
            async with self._core.database.write() as tx:
                for column in _OF_TRANSFERS:
                    await tx.execute(delete(column.class_).where(column.in_(ids)))
                of_them = ThroughputRow.kind == "transfer", ThroughputRow.subject.in_(ids)
                await tx.execute(delete(ThroughputRow).where(*of_them))
                await tx.execute(delete(TransferRow).where(TransferRow.id.in_(ids)))
                await _delete_plans(tx, plans)
            count += len(ids)
        return count

    async def _next(
        self, query: Select[*tuple[Any, ...]], row: type[PlanRow | TransferRow], last: Row[*tuple[Any, ...]] | None
    ) -> list[Row[*tuple[Any, ...]]]:
        """Return the next rows to remove, the oldest first; what can't be removed yet is passed over once a sweep."""
        if last is not None:
            later = or_(row.created > last.created, row.id > last.id)
            query = query.where(row.created >= last.created, later)
        async with self._core.database.read() as tx:
            return list(await tx.execute(query.order_by(row.created, row.id).limit(AT_ONCE)))

    async def _remove_folders(self, *, plans: Sequence[str] = (), transfers: Sequence[str] = ()) -> int:
        """Remove the folders of those that have one, and return how many had."""
        data = self._core.settings.data
        folders = [*(lists_dir(data, plan) for plan in plans), *(results_dir(data, one) for one in transfers)]

        def remove() -> int:
            there = [folder for folder in folders if folder.exists()]
            for folder in there:
                shutil.rmtree(folder)
            return len(there)

        return await asyncio.to_thread(remove)


def _ended(before: datetime) -> ColumnElement[bool]:
    """Which transfers ended before then, and have nothing left on their nodes."""
    return and_(
        TransferRow.created < before,
        TransferRow.ended < before,
        TransferRow.state.in_(m.END_STATES),
        TransferRow.tidied.is_(True),
    )


async def _delete_plans(tx: Tx, ids: Sequence[str]) -> None:
    for column in _OF_PLANS:
        await tx.execute(delete(column.class_).where(column.in_(ids)))
    await tx.execute(update(PlanRow).where(PlanRow.base.in_(ids)).values(base=None))
    await tx.execute(delete(PlanRow).where(PlanRow.id.in_(ids)))
