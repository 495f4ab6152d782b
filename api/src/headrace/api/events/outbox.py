"""The outbox: every change of something that people watch is one numbered event, written with the change itself.

Numbers follow the order of commits, so a reader that has seen number n has seen everything up to n: a store has one
writer at a time (docs/decisions/0009-one-writer-on-postgresql.md), and a number is taken inside its transaction.
Events carry no data: who reads one looks into the store. They are kept for a time; a reader that is further behind
begins anew.
"""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Select, delete, func, select

from headrace.api.clock import Clock
from headrace.api.events.broker import Broker
from headrace.api.store import Database, Tx, after_commit
from headrace.api.store.base import Base
from headrace.api.store.tables_work import OutboxRow
from headrace.client import models as m

EVENTS = "events"
"""The broker's subject for every change."""

_SHARED_S = 1.0
_MOST_REMOVED = 10_000
"""Rows removed in one transaction, so that other writers have their turn."""
_INSERT = Base.metadata.tables[OutboxRow.__tablename__].insert()


async def _write(tx: Tx, events: Sequence[Mapping[str, Any]]) -> None:
    await tx.execute(_INSERT, events)


@dataclass(frozen=True, slots=True)
class OutboxEntry:
    """One event."""

    sequence: int
    at: datetime
    kind: str
    subject: str
    state: str


@dataclass(frozen=True, slots=True)
class _Shared:
    """A read that counts until anything is told after it began, and for `_SHARED_S` at most."""

    told: int
    until: float
    read: "asyncio.Task[list[OutboxEntry]]"


class Outbox:
    """Writes and reads the changes of one service."""

    def __init__(self, database: Database, broker: Broker, clock: Clock) -> None:
        """Keep changes in `database`; readers are woken by `broker`."""
        self._database = database
        self._broker = broker
        self._clock = clock
        self.written = Counter({(kind.value, state): 0 for kind, states in m.CHANGE_STATES.items() for state in states})
        """Changes that this process has made, by kind and state."""
        self._shared: dict[tuple[int, int], _Shared] = {}

    async def write(self, tx: Tx, kind: m.ChangeKind, subject: str, state: str) -> None:
        """Add a change to the transaction that makes it; who waits for the subject, or for any, is woken after it."""
        if state not in m.CHANGE_STATES.get(kind, ()):
            message = f"`{kind}` has no state `{state}`: declare it in headrace.client.models.events"
            raise ValueError(message)
        event = {"at": self._clock(), "kind": kind.value, "subject": subject, "state": state}
        tx.gather(_write, event)

        def committed() -> None:
            self.written[kind.value, state] += 1
            self._broker.notify(subject)
            self._broker.notify(EVENTS)

        after_commit(tx, committed)

    async def after(self, sequence: int, limit: int) -> list[OutboxEntry]:
        """Return the changes after `sequence` in order, at most `limit`.

        Those who ask for the same while nothing is told share one read: a change wakes all who watch at once.
        """
        now, told = asyncio.get_running_loop().time(), self._broker.told
        self._shared = {
            key: one
            for key, one in self._shared.items()
            if one.told == told and now < one.until and not (one.read.done() and one.read.exception())
        }
        if (shared := self._shared.get((sequence, limit))) is None:
            read = asyncio.create_task(self._after(sequence, limit), name="changes")
            shared = self._shared[sequence, limit] = _Shared(told, now + _SHARED_S, read)
        return await asyncio.shield(shared.read)

    async def _after(self, sequence: int, limit: int) -> list[OutboxEntry]:
        query = select(OutboxRow).where(OutboxRow.sequence > sequence).order_by(OutboxRow.sequence).limit(limit)
        async with self._database.read() as tx:
            return [
                OutboxEntry(row.sequence, row.at, row.kind, row.subject, row.state) for row in await tx.scalars(query)
            ]

    async def bounds(self) -> tuple[int, int]:
        """Return the numbers between which events are kept: of the newest that was removed, and of the newest."""
        query = select(func.min(OutboxRow.sequence), func.max(OutboxRow.sequence))
        async with self._database.read() as tx:
            oldest, newest = (await tx.execute(query)).one()
        return (0, 0) if oldest is None else (oldest - 1, newest)

    async def remove_old(self, kept_s: int) -> None:
        """Remove what is older than `kept_s` seconds, but never the newest: numbers go on from there."""
        limit = self._clock() - timedelta(seconds=kept_s)
        newest = select(func.max(OutboxRow.sequence)).scalar_subquery()
        old = select(OutboxRow.sequence).where(OutboxRow.at < limit, OutboxRow.sequence < newest)
        batch = old.order_by(OutboxRow.sequence).limit(_MOST_REMOVED)
        while await self._finds(old):
            async with self._database.write() as tx:
                await tx.execute(delete(OutboxRow).where(OutboxRow.sequence.in_(batch)))

    async def _finds(self, rows: Select[int]) -> bool:
        async with self._database.read() as tx:
            return await tx.scalar(rows.limit(1)) is not None
