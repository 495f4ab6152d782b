"""Transfers as people see them: finding, listing, watching; and who may see which."""

import asyncio
import itertools
import json
from collections.abc import AsyncGenerator
from pathlib import Path

from sqlalchemy import ColumnElement, and_, or_, select

from headrace.api.caller import Caller
from headrace.api.errors import Code, ServiceError
from headrace.api.events.broker import wait_for
from headrace.api.planning.plan_queries import OVERSEERS, visible_to
from headrace.api.store.tables_work import AttemptRow, PlanRow, ReceiptRow, TransferEventRow, TransferRow
from headrace.api.transfers.attempt_loop import Parts
from headrace.api.transfers.receipts import unknown_receipt
from headrace.api.transfers.scheduler import Executor
from headrace.api.transfers.views import END_STATES, event_view, transfer_view
from headrace.client import models as m
from headrace.guardrails import path_text

_MIN_PREFIX = 4
_PAGE = 200


class Transfers:
    """Finds and shows transfers."""

    def __init__(self, parts: Parts, executor: Executor) -> None:
        """Show what is stored, and the live progress of what `executor` runs."""
        self._parts = parts
        self._executor = executor

    async def get(self, caller: Caller, transfer: str, *, wait_s: float = 0) -> m.Transfer:
        """Show a transfer by id, or by a prefix of at least four hexadecimal digits that fits just one.

        Waits up to `wait_s` seconds for it to end.
        """
        row = await self.row(caller, transfer)
        if wait_s <= 0:
            return self.view(row)
        loop = asyncio.get_running_loop()
        limit = loop.time() + min(wait_s, self._parts.core.settings.max_wait_s)
        with self._parts.core.broker.subscribe(row.id) as woken:
            while row.state not in END_STATES and not self._parts.core.broker.closing:
                woken.clear()
                row = await self.row(caller, row.id)
                if row.state in END_STATES or loop.time() >= limit:
                    break
                await wait_for(woken, limit - loop.time())
        return self.view(row)

    async def page(self, caller: Caller, *, state: str | None, limit: int, after: str | None) -> list[m.Transfer]:
        """List transfers that the caller may see, newest first."""
        query = select(TransferRow).where(_visible(caller))
        query = query.order_by(TransferRow.created.desc(), TransferRow.id.desc()).limit(limit)
        if state:
            query = query.where(TransferRow.state == state)
        if after:
            last = await self.row(caller, after)
            older = and_(TransferRow.created == last.created, TransferRow.id < last.id)
            query = query.where(or_(TransferRow.created < last.created, older))
        async with self._parts.core.database.read() as tx:
            return [self.view(row) for row in await tx.scalars(query)]

    async def events(self, caller: Caller, transfer: str, *, after: int, limit: int) -> list[m.TransferEvent]:
        """List the history of a transfer in order."""
        row = await self.row(caller, transfer)
        return [event_view(event) for event in await self._events(row.id, after, limit)]

    async def watch(self, caller: Caller, transfer: str, after: int) -> AsyncGenerator[m.TransferEvent]:
        """Yield the history after `after`, then what happens, until the transfer has ended.

        Progress comes as events of kind `progress` under the number of the last kept event; only the newest is sent.
        """
        row = await self.row(caller, transfer)
        sent: m.Progress | None = None
        with self._parts.core.broker.subscribe(row.id) as woken:
            while not self._parts.core.broker.closing:
                woken.clear()
                events = await self._events(row.id, after, _PAGE)
                # Read after the events, so that the state shown with them is never older than they are.
                row = await self.row(caller, row.id)
                view = self.view(row)
                for event in events:
                    after = event.sequence
                    yield event_view(event, view if event is events[-1] else None)
                if row.state in END_STATES and after >= row.events:
                    if not events:
                        yield m.TransferEvent(
                            sequence=after, at=self._parts.core.clock(), kind="progress", message="", transfer=view
                        )
                    return
                if not events and view.progress != sent and view.progress.at is not None:
                    yield m.TransferEvent(
                        sequence=after, at=view.progress.at, kind="progress", message="", transfer=view
                    )
                sent = view.progress
                if not events:
                    await woken.wait()

    async def failed(self, caller: Caller, transfer: str, *, after: int, limit: int) -> list[m.FailedFile]:
        """List the files that the newest attempt could not move, skipping the first `after`."""
        row = await self.row(caller, transfer)
        query = select(AttemptRow.failed_list).where(
            AttemptRow.transfer == row.id, AttemptRow.outcome.in_(("complete", "partial"))
        )
        async with self._parts.core.database.read() as tx:
            listed = await tx.scalar(query.order_by(AttemptRow.number.desc()).limit(1))
        return await asyncio.to_thread(_failed, self._parts.core.settings.data / listed, after, limit) if listed else []

    async def receipt(self, caller: Caller, receipt: str) -> ReceiptRow:
        """Return a receipt, by its id or its transfer's, of a transfer that the caller may see."""
        row = await self._parts.receipts.find(receipt)
        try:
            await self.row(caller, row.transfer)
        except ServiceError as error:
            raise unknown_receipt(receipt) from error
        return row

    async def row(self, caller: Caller, transfer: str) -> TransferRow:
        """Return a transfer that the caller may see, by id or unique prefix; anything else is `unknown_transfer`."""
        wanted = transfer if transfer.startswith("tr_") else f"tr_{transfer}"
        exact_or_prefix = (
            TransferRow.id.startswith(wanted, autoescape=True)
            if len(wanted) >= len("tr_") + _MIN_PREFIX
            else TransferRow.id == wanted
        )
        async with self._parts.core.database.read() as tx:
            rows = list(await tx.scalars(select(TransferRow).where(exact_or_prefix, _visible(caller)).limit(2)))
        exact = [row for row in rows if row.id == wanted]
        if not rows:
            raise ServiceError(
                Code.UNKNOWN_TRANSFER, f"there is no transfer `{transfer[:80]}`, or it is not yours to see"
            )
        if len(rows) > 1 and not exact:
            raise ServiceError(
                Code.AMBIGUOUS_TRANSFER, f"several transfers begin with `{wanted[:80]}`; give more of the id"
            )
        return exact[0] if exact else rows[0]

    async def _events(self, transfer: str, after: int, limit: int) -> list[TransferEventRow]:
        query = select(TransferEventRow).where(TransferEventRow.transfer == transfer, TransferEventRow.sequence > after)
        async with self._parts.core.database.read() as tx:
            return list(await tx.scalars(query.order_by(TransferEventRow.sequence).limit(limit)))

    def view(self, row: TransferRow) -> m.Transfer:
        """Show a transfer, with the live progress of one that is under way."""
        live = self._executor.progress(row.id) if row.state not in END_STATES else None
        return transfer_view(row, live)


def _visible(caller: Caller) -> ColumnElement[bool]:
    """Which transfers a caller may see: one's own, all for operators and auditors, and what one could approve."""
    if caller.principal.roles & OVERSEERS:
        return TransferRow.id.is_not(None)
    approvable = select(PlanRow.id).where(PlanRow.id == TransferRow.plan, visible_to(caller))
    return or_(TransferRow.requester == caller.principal.id, approvable.exists())


def _failed(path: Path, after: int, limit: int) -> list[m.FailedFile]:
    if not path.is_file():
        return []
    with path.open(encoding="utf-8") as lines:
        entries = map(json.loads, itertools.islice(lines, after, after + limit))
        return [
            m.FailedFile(
                path=path_text(entry["path"]).removeprefix("/"),
                error=entry["error"],
                message=entry["message"],
                retry=entry["retry"],
            )
            for entry in entries
        ]
