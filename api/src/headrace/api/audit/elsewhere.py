"""Sends the audit chain to another host as it grows, with a signed head after each batch.

The chain in the store is what waits to be sent: all that is kept beside it is the number of the last event that has
arrived (`syslog.py` says what that means). What is sent twice, after a broken connection, is the same twice. While too
much waits, nothing starts.
"""

import asyncio
import json
import logging
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Row, func, select

from headrace.api.audit.heads import HeadsFile
from headrace.api.audit.syslog import Message, SyslogLine
from headrace.api.clock import Clock
from headrace.api.errors import Code, ServiceError
from headrace.api.store import Database, Tx
from headrace.api.store.base import Base
from headrace.api.store.dialects import insert
from headrace.api.store.tables_site import AuditRow, AuditSentRow
from headrace.guardrails import utc_text

_log = logging.getLogger(__name__)

SEND_S: Final = 1
"""Between two looks for what is new."""
_BATCH: Final = 200
_ROWS = Base.metadata.tables[AuditRow.__tablename__].c
_SENT = Base.metadata.tables[AuditSentRow.__tablename__]
_POSITION = select(_SENT.c.sequence)
_LAST = select(func.max(_ROWS.sequence))
_NEXT = select(_ROWS.sequence, _ROWS.at, _ROWS.kind, _ROWS.body, _ROWS.hash).order_by(_ROWS.sequence).limit(_BATCH)
_NOTE = insert(_SENT)
_NOTED = _NOTE.on_conflict_do_update(index_elements=[_SENT.c.id], set_={"sequence": _NOTE.excluded.sequence})


@dataclass(frozen=True, slots=True)
class Away:
    """Why nothing can be sent, and since when."""

    since: datetime
    said: str


class Elsewhere:
    """The other host, and what it does not have yet."""

    def __init__(self, database: Database, heads: HeadsFile, clock: Clock, line: SyslogLine, most_unsent: int) -> None:
        """Send the chain of `database` over `line`."""
        self._database = database
        self._heads = heads
        self._clock = clock
        self._line = line
        self._most = most_unsent
        self._sending = asyncio.Lock()
        self._owed: Row[Any] | None = None
        """The last event that arrived, whose signed head has not."""
        self.away: Away | None = None
        self.unsent = 0
        """How many events were not sent when that was last looked at."""

    @property
    def name(self) -> str:
        """Where the other host is."""
        return f"{self._line.receiver.host}:{self._line.receiver.port}"

    async def send(self) -> None:
        """Send what is new; a receiver that is away is noted in `away`, and asked again the next time."""
        async with self._sending:
            await self._send()

    async def _send(self) -> None:
        try:
            while events := await self._next():
                await asyncio.to_thread(self._line.send, [_message(event) for event in events])
                self._owed = events[-1]
                await self._note(self._owed.sequence)
            await self._send_head()
        except OSError as error:
            said = str(error) or type(error).__name__
            if self.away is None:
                _log.warning("audit events can't be sent to %s: %s", self.name, said)
            self.away = Away(self.away.since if self.away else self._clock(), said)
            return
        if self.away is not None:
            _log.info("audit events are sent to %s again", self.name)
            self.away = None

    async def require_room(self, tx: Tx) -> None:
        """Refuse to start anything (`audit_unsent`) while more events than may wait are not sent."""
        position, last = await tx.scalar(_POSITION) or 0, await tx.scalar(_LAST) or 0
        if last - position > self._most:
            raise ServiceError(
                Code.AUDIT_UNSENT,
                f"{last - position:,} audit events wait to be sent to `{self.name}`, and no more than {self._most:,} "
                "may; nothing starts until they are sent",
            )

    def close(self) -> None:
        """End the connection."""
        self._line.close()

    async def _next(self) -> list[Row[Any]]:
        async with self._database.read() as tx:
            position, last = await tx.scalar(_POSITION) or 0, await tx.scalar(_LAST) or 0
            self.unsent = last - position
            return list(await tx.execute(_NEXT.where(_ROWS.sequence > position)))

    async def _note(self, sequence: int) -> None:
        async with self._database.write() as tx:
            await tx.execute(_NOTED, {"id": 1, "sequence": sequence})

    async def _send_head(self) -> None:
        """Send the signed head of what has arrived; while the key can't be used, what arrived is without one."""
        owed = self._owed
        if owed is None:
            return
        at = self._clock()
        try:
            head = await asyncio.to_thread(self._heads.signed, owed.sequence, owed.hash, at)
        except ServiceError:
            return
        await asyncio.to_thread(self._line.send, [Message(utc_text(at), "audit-head", head.encode())])
        self._owed = None


def _message(event: Row[Any]) -> Message:
    """Put the event's exact bytes, of which its hash is, into a JSON object."""
    text = b'{"event":%b,"hash":%b}' % (event.body.encode(), json.dumps(event.hash).encode())
    return Message(utc_text(event.at), event.kind, text)
