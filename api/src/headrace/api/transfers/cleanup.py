"""Letting nodes tidy up: once a transfer is over for good, they remove its temporaries, journal and lists.

A failed or partial transfer keeps them for as long as it may be tried again. A node
that is not attached hears of it when it is.
"""

import asyncio
import logging
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, and_, func, or_, select, update

from headrace.api.core import Core
from headrace.api.jobs.port import Task
from headrace.api.sites.nodes import Nodes
from headrace.api.store.tables_work import PlanRow, TransferRow
from headrace.api.transfers.state_machine import RETRIED_STATES, State
from headrace.engine import EngineError

_log = logging.getLogger(__name__)

_TIDY = "tidy"
_OVER = (State.COMPLETE, State.CANCELED)
_BATCH = 200
_GATHER_S = 1.0
"""What ends within this time is tidied up in one go."""
_PERIOD = timedelta(minutes=5)


class Cleanup:
    """Tells nodes to forget transfers, many at a time."""

    def __init__(self, core: Core, nodes: Nodes) -> None:
        """Tell the nodes of the hub that are attached."""
        self._core = core
        self._nodes = nodes
        self._timer: asyncio.TimerHandle | None = None
        core.jobs.add(Task(_TIDY, self.tidy, at_once=1))

    def wake(self) -> None:
        """Look, in a moment, for what is over: a transfer has ended, or a node is back."""
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_GATHER_S, self._look)

    def _look(self) -> None:
        self._timer = None
        self._core.jobs.wake(_TIDY, "")

    async def tidy(self, _subject: str) -> datetime:
        """Let the nodes that are attached forget what is over; says when to look again: the job."""
        attached = self._nodes.attached_keys
        over: ColumnElement[bool] = TransferRow.state.in_(_OVER)
        if self._core.doubt.look() is None:
            over = or_(over, self._too_late())
        reachable = TransferRow.source_node.in_(attached) & TransferRow.destination_node.in_(attached)
        query = (
            select(TransferRow.id, TransferRow.attempt, TransferRow.source_node, TransferRow.destination_node)
            .where(over, TransferRow.tidied.is_(False))
            # A transfer that never began an attempt left nothing.
            .where(or_(TransferRow.attempt == 0, reachable))
        )
        async with self._core.database.read() as tx:
            rows = list(await tx.execute(query.limit(_BATCH)))
        forgotten = [
            row.id
            for row in rows
            if not row.attempt or await self._forget(row.id, {row.source_node, row.destination_node})
        ]
        if forgotten:
            async with self._core.database.write() as tx:
                await tx.execute(update(TransferRow).where(TransferRow.id.in_(forgotten)).values(tidied=True))
        return self._core.clock() + (timedelta() if len(forgotten) == _BATCH else _PERIOD)

    def _too_late(self) -> ColumnElement[bool]:
        """Which transfers ended without all their files and may be tried again no more: see `retry_until`."""
        now, valid = self._core.clock(), timedelta(seconds=self._core.settings.retry_valid_s)
        consent_over = select(PlanRow.id).where(
            PlanRow.id == TransferRow.plan, PlanRow.obligations != (), PlanRow.expires <= now
        )
        # From its end, as a retry counts: it may have run, or waited for a node, for longer than that.
        time_over = func.coalesce(TransferRow.ended, TransferRow.started) <= now - valid
        never_again = or_(and_(TransferRow.started.is_not(None), time_over), consent_over.exists())
        return and_(TransferRow.state.in_(RETRIED_STATES), never_again)

    async def _forget(self, transfer: str, nodes: set[str]) -> bool:
        try:
            await self._core.hub.forget(transfer=transfer, nodes=sorted(nodes))
        except EngineError as error:
            _log.info("transfer %s is not forgotten by its nodes yet: %s", transfer, error)
            return False
        return True
