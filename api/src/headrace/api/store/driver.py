"""A connection to SQLite: statements run in the event loop while they are short, in a thread when they may take long.

A statement on an indexed table takes some 20 microseconds, and handing it to a thread and back ten times as long. So a
reading statement begins in the event loop with a budget; beyond it, it is given up and begun again in a thread (it has
changed nothing). Of a writing transaction only its begin, which waits for the lock, and its commit, which waits for the
disk, are done in a thread.
"""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterable
from concurrent.futures import Executor
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Self, TypeVar, cast

from sqlalchemy import create_engine, event
from sqlalchemy.engine import Connection as SqlConnection
from sqlalchemy.exc import OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import NullPool

_BUDGET_STEPS = 20_000
"""Steps of SQLite's machine that a reading statement may do in the event loop: about a millisecond."""
_GIVEN_UP = "interrupted"
_INTERRUPT_S = 0.01
_BUSY_TIMEOUT_MS = 10_000
_POOL_TIMEOUT_S = 30

_T = TypeVar("_T")


class Cursor(sqlite3.Cursor):
    """A cursor that has all rows of its statement once that has run; none is fetched from the store later."""

    _rows: list[Any]

    def execute(self, statement: str, parameters: Any = (), /) -> Self:  # noqa: ANN401 - as sqlite3 has it
        """Run a statement to its end."""
        super().execute(statement, parameters)
        self._rows = super().fetchall()
        return self

    def executemany(self, statement: str, parameters: Iterable[Any], /) -> Self:
        """Run a statement that returns no rows for each of `parameters`."""
        super().executemany(statement, parameters)
        self._rows = []
        return self

    def fetchall(self) -> list[Any]:
        """Return the rows that are left."""
        rows, self._rows = self._rows, []
        return rows

    def fetchone(self) -> Any:  # noqa: ANN401 - as sqlite3 has it
        """Return the next row."""
        return self._rows.pop(0) if self._rows else None

    def fetchmany(self, size: int | None = 1) -> list[Any]:
        """Return the next rows."""
        rows, self._rows = self._rows[:size], self._rows[size:]
        return rows


class StoreConnection:
    """A connection that is used by one transaction at a time."""

    def __init__(self, sql: SqlConnection, threads: Executor, *, reads: bool) -> None:
        """Run what may take long on `threads`; `reads` for connections that only read."""
        self.sql = sql
        self._raw = cast("_Raw", sql.connection.dbapi_connection)
        self._threads = threads
        self._reads = reads

    async def run(self, work: Callable[[], _T]) -> _T:
        """Run statements: here, or in a thread when they turn out to take long."""
        if not self._reads:
            return work()
        try:
            return work()
        except OperationalError as error:
            if str(error.orig) != _GIVEN_UP:
                raise
        self._raw.set_progress_handler(None, 0)
        try:
            return await self.in_thread(work)
        finally:
            self._raw.set_progress_handler(_give_up, _BUDGET_STEPS)

    async def in_thread(self, work: Callable[[], _T]) -> _T:
        """Run `work` in a thread. Who is cancelled meanwhile waits for its end: the connection is free after that."""
        running = asyncio.get_running_loop().run_in_executor(self._threads, work)
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            while not running.done():
                if self._reads:
                    self._raw.interrupt()  # only what has begun is interrupted, so it is said again
                with suppress(asyncio.CancelledError):
                    await asyncio.wait({running}, timeout=_INTERRUPT_S)
            running.exception()  # nobody is left to hear of it
            raise


class Pool:
    """At most so many connections to one file; who comes when all are used waits in line."""

    def __init__(self, path: Path, threads: Executor, *, readers: int) -> None:
        """Open up to `readers` reading connections to `path`, or (0) the one that writes."""
        self._path = path
        self._threads = threads
        self._reads = readers > 0
        self._room = asyncio.Semaphore(readers or 1)
        self._line = asyncio.Lock()
        """Only the first in line waits for `_room`, beside those who go before the line."""
        self._free: list[StoreConnection] = []
        self._engine = create_engine(
            "sqlite://",
            creator=self._connect,
            poolclass=NullPool,
            # Statements are short-lived text; values (words, names) never enter logs or error texts.
            hide_parameters=True,
        )
        begin = "BEGIN" if self._reads else "BEGIN IMMEDIATE"
        event.listen(self._engine, "begin", lambda connection: connection.exec_driver_sql(begin))

    @asynccontextmanager
    async def connection(self, *, first: bool = False) -> AsyncIterator[StoreConnection]:
        """Give a connection, `first` before all who are in line; raises `TimeoutError` when none is free for 30 s."""
        try:
            waits = self._room.locked() or self._line.locked()
            async with asyncio.timeout(_POOL_TIMEOUT_S if waits else None):
                if first:
                    await self._room.acquire()
                else:
                    async with self._line:
                        await self._room.acquire()
        except TimeoutError as error:
            message = f"no connection to the store was free for {_POOL_TIMEOUT_S} s"
            raise PoolTimeout(message) from error
        try:
            connection = self._free.pop() if self._free else await self._open()
            try:
                yield connection
            finally:
                connection.sql.rollback()  # after a commit that failed, SQLAlchemy still sees a transaction
                self._free.append(connection)
        finally:
            self._room.release()

    async def close(self) -> None:
        """Close the connections that are free."""
        while self._free:
            self._free.pop().sql.close()
        self._engine.dispose()

    async def _open(self) -> StoreConnection:
        sql = await asyncio.get_running_loop().run_in_executor(self._threads, self._engine.connect)
        return StoreConnection(sql, self._threads, reads=self._reads)

    def _connect(self) -> sqlite3.Connection:
        raw = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False, factory=_Raw)
        raw.execute(f"PRAGMA busy_timeout = {_BUSY_TIMEOUT_MS}")
        raw.execute("PRAGMA journal_mode = WAL")
        raw.execute("PRAGMA synchronous = FULL")
        raw.execute("PRAGMA foreign_keys = ON")
        if self._reads:
            raw.execute("PRAGMA query_only = ON")
            raw.set_progress_handler(_give_up, _BUDGET_STEPS)
        return raw


class _Raw(sqlite3.Connection):
    def cursor(self, factory: Any = Cursor) -> Any:  # noqa: ANN401 - as sqlite3 has it
        return super().cursor(factory)


def _give_up() -> int:
    return 1
