"""How statements reach SQLite: in the event loop while they are short, in a thread when they may take long.

A statement on an indexed table takes some 20 microseconds, and handing it to a thread and back ten times as long. So a
reading statement begins in the event loop with a budget; beyond it, it is given up and begun again in a thread (it has
changed nothing). Of a writing transaction only its begin, which waits for the lock, and its commit, which waits for the
disk, are done in a thread.

These are the methods of `aiosqlite` that SQLAlchemy's asynchronous dialect calls.
"""

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from functools import partial
from typing import Any, Self, TypeVar

_BUDGET_STEPS = 20_000
"""Steps of SQLite's machine that a reading statement may do in the event loop: about a millisecond."""
_GIVEN_UP = "interrupted"
_INTERRUPT_S = 0.01
_WAITING = ("BEGIN", "PRAGMA")
"""Statements that may wait for a lock."""

_T = TypeVar("_T")
Row = tuple[Any, ...]


class Connection:
    """A connection to a SQLite file, used by one transaction at a time."""

    def __init__(self, raw: sqlite3.Connection, threads: Executor, *, reads: bool) -> None:
        """Run what may take long on `threads`; `reads` for connections that only read."""
        self._connection = raw
        self._threads = threads
        self._reads = reads

    @classmethod
    async def open(cls, threads: Executor, path: str, *, reads: bool) -> Self:
        """Open the file at `path`."""
        return cls(sqlite3.connect(path, isolation_level=None, check_same_thread=False), threads, reads=reads)

    def cursor(self) -> "Cursor":
        """Make a cursor."""
        return Cursor(self)

    async def run(self, statement: str, parameters: Sequence[Any]) -> tuple[sqlite3.Cursor, list[Row]]:
        """Run a statement to its end."""
        work = partial(_run, self._connection, statement, parameters)
        if not self._reads:
            return await self._in_thread(work) if statement.startswith(_WAITING) else work()
        self._connection.set_progress_handler(_give_up, _BUDGET_STEPS)
        try:
            return work()
        except sqlite3.OperationalError as error:
            if str(error) != _GIVEN_UP:
                raise
        finally:
            self._connection.set_progress_handler(None, 0)
        return await self._in_thread(work)

    async def run_many(self, statement: str, parameters: Sequence[Sequence[Any]]) -> sqlite3.Cursor:
        """Run a statement for each of `parameters`."""
        return self._connection.executemany(statement, parameters)

    async def commit(self) -> None:
        """Commit; waits for the disk."""
        if self._connection.in_transaction:
            await self._in_thread(self._connection.commit)

    async def rollback(self) -> None:
        """Undo what was not committed."""
        self._connection.rollback()

    async def create_function(self, *arguments: Any, **options: Any) -> None:  # noqa: ANN401 - as sqlite3 has it
        """Make a function known to SQL."""
        self._connection.create_function(*arguments, **options)

    async def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def stop(self) -> None:
        """Close the connection outside the event loop."""
        self._connection.close()

    async def _in_thread(self, work: Callable[[], _T]) -> _T:
        """Run `work` in a thread. Who is cancelled meanwhile waits for its end: the connection is free after that."""
        running = asyncio.get_running_loop().run_in_executor(self._threads, work)
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            while not running.done():
                if self._reads:
                    self._connection.interrupt()  # only what has begun is interrupted, so it is said again
                await asyncio.wait({running}, timeout=_INTERRUPT_S)
            running.exception()  # nobody is left to hear of it
            raise


class Cursor:
    """One statement and its rows."""

    arraysize = 1

    def __init__(self, connection: Connection) -> None:
        """Run on `connection`."""
        self._connection = connection
        self._done: sqlite3.Cursor | None = None
        self._rows: list[Row] = []

    async def __aenter__(self) -> Self:
        """Return this object."""
        return self

    @property
    def description(self) -> Any:  # noqa: ANN401 - as sqlite3 has it
        """Names of the columns of the rows."""
        return self._done.description if self._done else None

    @property
    def rowcount(self) -> int:
        """How many rows were changed."""
        return self._done.rowcount if self._done else -1

    @property
    def lastrowid(self) -> int | None:
        """The id of the last row that was made."""
        return self._done.lastrowid if self._done else None

    async def execute(self, statement: str, parameters: Sequence[Any] = ()) -> None:
        """Run a statement."""
        self._done, self._rows = await self._connection.run(statement, parameters)

    async def executemany(self, statement: str, parameters: Sequence[Sequence[Any]]) -> None:
        """Run a statement for each of `parameters`."""
        self._done = await self._connection.run_many(statement, parameters)

    async def fetchall(self) -> list[Row]:
        """Return the rows."""
        return self._rows

    async def close(self) -> None:
        """Forget the rows."""
        self._rows = []


def _run(raw: sqlite3.Connection, statement: str, parameters: Sequence[Any]) -> tuple[sqlite3.Cursor, list[Row]]:
    cursor = raw.execute(statement, parameters)
    return cursor, cursor.fetchall()


def _give_up() -> int:
    return 1
