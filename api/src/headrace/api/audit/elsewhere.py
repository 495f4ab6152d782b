"""Sends the audit chain to another host as it grows, with a signed head after each batch.

The chain in the store is what waits to be sent: all that is kept beside it is the number of the last event that has
arrived. Syslog has no answer that says so, and a server may look at who sends only after it has taken the first
messages, or hang while its kernel takes them: what a connection has brought counts as arrived when the server has left
it open for `CONFIRM_S` and has then answered its end, which it reads behind all of that. Else it is sent again, and is
the same twice. While too much waits, nothing starts.
"""

import asyncio
import json
import logging
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import Row, func, select
from sqlalchemy.exc import SQLAlchemyError

from headrace.api.audit.heads import HeadsFile
from headrace.api.audit.syslog import Message, SyslogLine
from headrace.api.clock import Clock
from headrace.api.errors import Code, ServiceError
from headrace.api.store import Database, Tx
from headrace.api.store.base import Base
from headrace.api.store.dialects import insert
from headrace.api.store.tables_site import AuditRow, AuditSentRow
from headrace.api.store_trouble import Trouble, trouble_of
from headrace.guardrails import utc_text

_log = logging.getLogger(__name__)

SEND_S: Final = 1
"""Between two looks for what is new."""
CONFIRM_S: Final = 5
"""For how long the server must leave a connection open before its end is asked for, and what it brought counts."""
HEAD_S: Final = 60
"""A head is sent at least so often, so that silence tells something."""
_TURN_S: Final = 30
"""For how long one look goes on sending."""
_BATCH: Final = 200
_ROWS = Base.metadata.tables[AuditRow.__tablename__].c
_SENT = Base.metadata.tables[AuditSentRow.__tablename__]
_POSITION = select(_SENT.c.sequence)
_LAST = select(func.max(_ROWS.sequence))
_NEXT = select(_ROWS.sequence, _ROWS.at, _ROWS.kind, _ROWS.body, _ROWS.hash).order_by(_ROWS.sequence).limit(_BATCH)
_NOTE = insert(_SENT)
_NOTED = _NOTE.on_conflict_do_update(index_elements=[_SENT.c.id], set_={"sequence": _NOTE.excluded.sequence})
_REFUSED: Final = (
    f"the server ended the connection within {CONFIRM_S} s; it may not take this service's certificate, or none"
)


@dataclass(frozen=True, slots=True)
class Away:
    """Why nothing can be sent, and since when."""

    since: datetime
    said: str
    store: Trouble | None = None
    """What is the matter with the service's own store, where it is that: the other host has nothing to do with it."""


class Elsewhere:
    """The other host, and what it does not have yet."""

    def __init__(  # noqa: PLR0913, PLR0917 - what it stands on
        self, database: Database, heads: HeadsFile, clock: Clock, steady: Clock, line: SyslogLine, most_unsent: int
    ) -> None:
        """Send the chain of `database` over `line`; `steady` measures waits."""
        self._database = database
        self._heads = heads
        self._clock = clock
        self._steady = steady
        self._line = line
        self._most = most_unsent
        self._sending = asyncio.Lock()
        self._reached: int | None = None
        """The last event that was sent; `None` where what is known to have arrived tells."""
        self._unconfirmed: datetime | None = None
        """Since when there is a connection that has brought what does not count yet."""
        self._read: int | None = None
        """Up to which event the server has read what is not noted yet."""
        self._last_head: datetime | None = None
        self.away: Away | None = None
        self.unsent = 0
        """How many events have not arrived, when that was last looked at."""
        self.standstill = ""
        """Why nothing starts, when that was last looked at; empty where nothing is the matter."""

    @property
    def name(self) -> str:
        """Where the other host is."""
        return f"{self._line.receiver.host}:{self._line.receiver.port}"

    async def send(self) -> None:
        """Send what is new; that it can't be is noted in `away`, and it is tried again the next time.

        Raises what the store does.
        """
        async with self._sending:
            try:
                await self._send()
            except (OSError, ValueError) as error:
                self._forget()
                self._note_away(str(error) or type(error).__name__)
            except SQLAlchemyError as error:
                self._note_away(f"the service's own store: {(trouble := trouble_of(error))}", trouble)
                raise
            except Exception as error:
                self._note_away(f"an error in the service itself, {type(error).__name__}")
                raise

    @property
    def is_ahead(self) -> bool:
        """Whether more is said to have arrived there than there is."""
        return bool(self.standstill) and not self.unsent

    async def require_room(self, tx: Tx) -> None:
        """Refuse to start anything (`audit_unsent`) while more events than may wait have not arrived."""
        standstill = self._standstill(*await _bounds(tx))
        if standstill:
            raise ServiceError(Code.AUDIT_UNSENT, standstill)

    def _standstill(self, position: int, last: int) -> str:
        if position > last:
            return f"{_ahead(position, last)}; nothing starts until that is put right"
        if last - position > self._most:
            return (
                f"{last - position:,} audit events wait to be sent to `{self.name}`, and no more than {self._most:,} "
                "(HEADRACE_AUDIT_MOST_UNSENT) may; nothing starts until they are sent"
            )
        return ""

    def close(self) -> None:
        """End the connection."""
        self._line.close()

    async def _send(self) -> None:
        if self._unconfirmed is not None and not await asyncio.to_thread(self._line.is_open):
            raise ConnectionError(_REFUSED)
        await self._confirm()
        until = self._steady() + timedelta(seconds=_TURN_S)
        while (events := await self._next()) and self._steady() < until:
            last = events[-1]
            await self._write([_message(event) for event in events], last)
        await self._send_head_again()
        if self._unconfirmed is None:
            self._note_back()

    def _forget(self) -> None:
        """Begin anew after what is known to have arrived."""
        self._reached = self._last_head = self._unconfirmed = None

    async def _write(self, messages: list[Message], last: Row[Any]) -> None:
        """Send messages, and the signed head of the last event; while the key can't be used, without it."""
        try:
            at = self._clock()
            head = await asyncio.to_thread(self._heads.signed, last.sequence, last.hash, at)
            messages = [*messages, Message(utc_text(at), "audit-head", head.encode())]
        except ServiceError:
            pass  # health tells it; the next head covers these events, too
        await asyncio.to_thread(self._line.send, messages)
        self._reached, self._last_head = last.sequence, self._steady()
        self._unconfirmed = self._unconfirmed or self._steady()

    async def _send_head_again(self) -> None:
        if self._last_head is not None and self._steady() >= self._last_head + timedelta(seconds=HEAD_S):
            async with self._database.read() as tx:
                reached: list[Row[Any]] = list(await tx.execute(_NEXT.where(_ROWS.sequence == self._reached)))
            await self._write([], reached[0])

    async def _confirm(self) -> None:
        """Have the server read what a connection brought that has been open for long enough, and note it."""
        before = self._steady() - timedelta(seconds=CONFIRM_S)
        if self._unconfirmed is not None and self._unconfirmed <= before:
            await asyncio.to_thread(self._line.finish)
            self._read, self._unconfirmed = self._reached, None
        if self._read is not None:
            async with self._database.write() as tx:
                await tx.execute(_NOTED, {"id": 1, "sequence": self._read})
            # Not before: what could not be noted is noted the next time.
            self._read = None
            # And not only once nothing is on its way: where something happens every second, that is never.
            self._note_back()

    async def _next(self) -> list[Row[Any]]:
        async with self._database.read() as tx:
            position, last = await _bounds(tx)
            self.unsent, self.standstill = max(0, last - position), self._standstill(position, last)
            if position > last:
                raise ValueError(_ahead(position, last))
            after = position if self._reached is None else self._reached
            return list(await tx.execute(_NEXT.where(_ROWS.sequence > after)))

    def _note_away(self, said: str, store: Trouble | None = None) -> None:
        if self.away is None:
            _log.warning("audit events can't be sent to %s: %s", self.name, said)
        self.away = Away(self.away.since if self.away else self._clock(), said, store)

    def _note_back(self) -> None:
        if self.away is not None:
            _log.info("audit events are sent to %s again", self.name)
            self.away = None


async def _bounds(tx: Tx) -> tuple[int, int]:
    """Return up to which event all has arrived, and the last one."""
    return await tx.scalar(_POSITION) or 0, await tx.scalar(_LAST) or 0


def _ahead(position: int, last: int) -> str:
    return (
        f"the store says that {position:,} audit events were sent, and there are {last:,}: its table `audit_sent` was "
        "altered, or the store is an old copy"
    )


def _message(event: Row[Any]) -> Message:
    """Put the event's exact bytes, of which its hash is, into a JSON object."""
    text = b'{"event":%b,"hash":%b}' % (event.body.encode(), json.dumps(event.hash).encode())
    return Message(utc_text(event.at), event.kind, text)
