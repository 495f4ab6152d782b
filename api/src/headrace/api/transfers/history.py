"""Writes what happens to a transfer: its row, its history and the audit chain change together or not at all."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sqlalchemy import select

from headrace.api.audit.chain import Kind
from headrace.api.caller import Caller
from headrace.api.core import Core
from headrace.api.errors import Code, ServiceError
from headrace.api.store import Tx
from headrace.api.store.tables_work import TransferEventRow, TransferRow
from headrace.client import models as m

_MAX_MESSAGE = 2000


class Ledger:
    """The history of transfers."""

    def __init__(self, core: Core) -> None:
        """Write to the store and wake those who watch."""
        self._core = core

    @asynccontextmanager
    async def change(self, transfer: str) -> AsyncIterator[tuple[Tx, TransferRow]]:
        """Give the writing transaction and the transfer's row; watchers are woken after the commit."""
        async with self._core.database.write() as tx:
            row = await tx.scalar(select(TransferRow).where(TransferRow.id == transfer))
            if row is None:
                raise ServiceError(Code.UNKNOWN_TRANSFER, f"no transfer `{transfer}`; list them with `headrace status`")
            yield tx, row
        self._core.broker.notify(transfer)

    async def record(self, tx: Tx, row: TransferRow, kind: str, message: str, *, caller: Caller | None = None) -> None:
        """Append one event to the transfer's history and to the audit chain."""
        row.events += 1
        text = message[:_MAX_MESSAGE]
        tx.add(TransferEventRow(transfer=row.id, sequence=row.events, at=self._core.clock(), kind=kind, message=text))
        detail = {"event": kind, "state": row.state, "attempt": str(row.attempt), "message": text}
        await self._core.audit.append(tx, Kind.TRANSFER_CHANGED, caller=caller, subject=row.id, detail=detail)

    async def move(self, transfer: str, state: m.TransferState, reason: str, *, caller: Caller | None = None) -> None:
        """Record a new state, unless the transfer is in it for the same reason already."""
        async with self.change(transfer) as (tx, row):
            if (row.state, row.state_reason) == (state, reason):
                return
            row.state, row.state_reason = state, reason
            await self.record(tx, row, state.value, reason or f"the transfer is {state}", caller=caller)
