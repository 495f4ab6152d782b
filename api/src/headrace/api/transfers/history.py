"""Writes what happens to a transfer: row, history, outbox and audit chain change together or not at all."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from sqlalchemy import bindparam, select

from headrace.api.caller import Caller
from headrace.api.core import Core
from headrace.api.errors import Code, Fenced, ServiceError
from headrace.api.store import Tx
from headrace.api.store.base import Base
from headrace.api.store.tables_work import TransferEventRow, TransferRow
from headrace.client import models as m

_MAX_MESSAGE = 2000
_INSERT = Base.metadata.tables[TransferEventRow.__tablename__].insert()
_ROW = select(TransferRow).where(TransferRow.id == bindparam("transfer"))


async def _write(tx: Tx, events: Sequence[Mapping[str, Any]]) -> None:
    await tx.execute(_INSERT, events)


class History:
    """The history of transfers."""

    def __init__(self, core: Core) -> None:
        """Write to the store."""
        self._core = core

    @asynccontextmanager
    async def change(
        self, transfer: str, *, fence: int | None = None, first: bool = False
    ) -> AsyncIterator[tuple[Tx, TransferRow]]:
        """Give the writing transaction and the transfer's row; `Fenced` when it was taken up anew since `fence`.

        The row is written once, at the end. `first` as in `Database.write`.
        """
        async with self._core.database.write(autoflush=False, first=first) as tx:
            row = await tx.scalar(_ROW, {"transfer": transfer})
            if row is None:
                raise ServiceError(Code.UNKNOWN_TRANSFER, f"no transfer `{transfer}`; list them with `headrace status`")
            if fence is not None and row.fence != fence:
                raise Fenced(transfer)
            yield tx, row

    async def record(
        self, tx: Tx, row: TransferRow, kind: m.TransferEventKind, message: str, *, caller: Caller | None = None
    ) -> None:
        """Append one event to the transfer's history, the outbox and the audit chain; watchers are woken after it."""
        row.events += 1
        text = message[:_MAX_MESSAGE]
        event = {
            "transfer": row.id, "sequence": row.events, "at": self._core.clock(), "kind": kind.value, "message": text,
        }  # fmt: skip
        tx.gather(_write, event)
        await self._core.outbox.write(tx, m.ChangeKind.TRANSFER, row.id, row.state)
        detail = {"event": kind.value, "state": row.state, "attempt": str(row.attempt), "message": text}
        await self._core.audit.append(tx, m.AuditKind.TRANSFER_CHANGED, caller=caller, subject=row.id, detail=detail)
