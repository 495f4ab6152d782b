"""Connections to the store: any number of readers, one writer at a time, and every write with its audit event.

SQLite runs in WAL mode, so readers see a consistent state while the writer works. Reading connections are `query_only`.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlalchemy import URL, event
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, create_async_engine
from sqlalchemy.pool import ConnectionPoolEntry

from headrace.api.clock import Clock, utc_now
from headrace.api.store import driver
from headrace.api.store_trouble import Trouble, trouble_of

_BUSY_TIMEOUT_MS = 10_000
_READERS = 8
_POOL_TIMEOUT_S = 30

Tx = AsyncSession
"""A transaction; a writing one is committed when its block ends without an error."""

_AFTER_COMMIT = "after_commit"


def after_commit(tx: Tx, act: Callable[[], None]) -> None:
    """Do `act` once the writing transaction `tx` is committed, and never if it is not. `act` must not fail or wait."""
    tx.info.setdefault(_AFTER_COMMIT, []).append(act)


@dataclass(frozen=True, slots=True)
class Refused:
    """Writing transactions are refused by a lock, the disk or too many others."""

    trouble: Trouble
    since: datetime


class Database:
    """The store of one service."""

    def __init__(self, path: Path, clock: Clock = utc_now) -> None:
        """Open (without migrating) the SQLite file at `path`."""
        self.path = path
        self.refused: Refused | None = None
        """Set while the last writing transaction was refused."""
        self.tried: datetime | None = None
        """When a writing transaction last ended, either way."""
        self._clock = clock
        self._threads = ThreadPoolExecutor(_READERS + 1, thread_name_prefix="store")
        self._reader = _engine(path, "BEGIN", self._threads, readers=_READERS)
        self._writer = _engine(path, "BEGIN IMMEDIATE", self._threads, readers=0)

    @asynccontextmanager
    async def read(self) -> AsyncIterator[Tx]:
        """Give a read-only transaction with one consistent view."""
        async with AsyncSession(self._reader, expire_on_commit=False, autoflush=False) as session:
            yield session

    @asynccontextmanager
    async def write(self) -> AsyncIterator[Tx]:
        """Give the writing transaction: commits at the end of the block, rolls back on any error.

        Writers queue for the single writing connection (at most 30 s).
        """
        async with AsyncSession(self._writer, expire_on_commit=False) as session:
            try:
                yield session
                await _to_its_end(_commit(session))
            except (OperationalError, PoolTimeout) as error:
                self.tried = self._clock()
                since = self.refused.since if self.refused else self.tried
                self.refused = Refused(trouble_of(error), since)
                raise
            self.tried, self.refused = self._clock(), None

    async def close(self) -> None:
        """Close all connections."""
        await self._reader.dispose()
        await self._writer.dispose()
        self._threads.shutdown(wait=False)


async def _commit(session: AsyncSession) -> None:
    await session.commit()
    for act in session.info.get(_AFTER_COMMIT, ()):
        act()


async def _to_its_end(work: Coroutine[Any, Any, None]) -> None:
    """Do `work` whole, even when the caller is canceled meanwhile: what is committed is told to whoever must know."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        while not task.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait({task})
        task.exception()  # nobody is left to hear of it
        raise


def _engine(path: Path, begin: str, threads: Executor, *, readers: int) -> AsyncEngine:
    async def connect(*_arguments: object, **_options: object) -> driver.Connection:
        return await driver.Connection.open(threads, str(path), reads=readers > 0)

    engine = create_async_engine(
        URL.create("sqlite+aiosqlite", database=str(path)),
        pool_size=readers or 1,
        max_overflow=0,
        pool_timeout=_POOL_TIMEOUT_S,
        # Statements are short-lived text; values (words, names) never enter logs or error texts.
        hide_parameters=True,
        connect_args={"async_creator_fn": connect},
    )
    _begin_with(engine.sync_engine, begin)
    event.listen(engine.sync_engine, "connect", _prepare(read_only=readers > 0))
    return engine


def begin_with(engine: Engine, statement: str) -> None:
    """Let transactions of a SQLite engine start with `statement`, and never by the driver's own guess."""

    @event.listens_for(engine, "connect")
    def _leave_to_us(connection: DBAPIConnection, _entry: ConnectionPoolEntry) -> None:
        connection.isolation_level = None

    _begin_with(engine, statement)


def _begin_with(engine: Engine, statement: str) -> None:
    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        connection.exec_driver_sql(statement)


def _prepare(*, read_only: bool) -> Callable[[DBAPIConnection, ConnectionPoolEntry], None]:
    def prepare(connection: DBAPIConnection, _entry: ConnectionPoolEntry) -> None:
        cursor = connection.cursor()
        cursor.execute(f"PRAGMA busy_timeout = {_BUSY_TIMEOUT_MS}")
        cursor.execute("PRAGMA journal_mode = WAL")
        cursor.execute("PRAGMA synchronous = FULL")
        cursor.execute("PRAGMA foreign_keys = ON")
        if read_only:
            cursor.execute("PRAGMA query_only = ON")
        cursor.close()

    return prepare
