"""Letting nodes tidy up: once a transfer is over for good, they remove its temporaries, journal and lists.

A failed or partial transfer may be tried again and keeps them. Who was away is told when it attaches.
"""

import asyncio
import logging

from sqlalchemy import or_, select, update

from headrace.api.core import Core
from headrace.api.store.tables_work import TransferRow
from headrace.engine import EngineError

_log = logging.getLogger(__name__)

_OVER = ("complete", "canceled")
_BATCH = 100


class Tidying:
    """Tells nodes to forget transfers."""

    def __init__(self, core: Core) -> None:
        """Tell the nodes of the hub."""
        self._core = core
        self._tasks: set[asyncio.Task[None]] = set()

    async def begin(self, transfer: str) -> None:
        """Let the nodes of a transfer forget it if it is over for good; failing that, it is tried again later."""
        async with self._core.database.read() as tx:
            row = await tx.get(TransferRow, transfer)
        if row is not None and row.state in _OVER and not row.tidied:
            await self._forget(row)

    def on_attached(self, node: str) -> None:
        """Let a node that is back forget what it missed, in the background."""
        task = asyncio.create_task(self._catch_up(node), name=f"tidying of {node}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Stop; what is left is done when its nodes attach again."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _catch_up(self, node: str) -> None:
        query = select(TransferRow).where(
            TransferRow.state.in_(_OVER),
            TransferRow.tidied.is_(False),
            or_(TransferRow.source_node == node, TransferRow.destination_node == node),
        )
        async with self._core.database.read() as tx:
            rows = list(await tx.scalars(query.limit(_BATCH)))
        for row in rows:
            await self._forget(row)

    async def _forget(self, row: TransferRow) -> None:
        # A transfer that never began an attempt left nothing.
        if row.attempt:
            try:
                await self._core.hub.forget(transfer=row.id)
            except EngineError as error:
                _log.info("transfer %s is not forgotten by its nodes yet: %s", row.id, error)
                if error.code != "attempt_unknown":
                    return
        async with self._core.database.write() as tx:
            await tx.execute(update(TransferRow).where(TransferRow.id == row.id).values(tidied=True))
