"""A connection to SQLite: statements run in the event loop while they are short, in a thread when they may take long.

A statement on an indexed table takes some 20 microseconds, and handing it to a thread and back ten times as long. So a
reading statement begins in the event loop with a budget; beyond it, it is given up and begun again in a thread (it has
changed nothing). Of a writing transaction only its begin, when it has to wait for the lock, and its commit, which waits
for the disk, are done in a thread.
"""

import sqlite3
from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from typing import Any, Self, TypeVar, cast
from urllib.parse import quote

from sqlalchemy import URL, Engine, create_engine, event
from sqlalchemy.engine import Connection as SqlConnection
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import OperationalError
from sqlalchemy.pool import ConnectionPoolEntry, NullPool

from headrace.api.store.pool import StoreConnection

_BUDGET_STEPS = 20_000
"""Steps of SQLite's machine that a reading statement may do in the event loop: about a millisecond."""
_GIVEN_UP = "interrupted"
_BUSY_TIMEOUT_MS = 10_000

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


class SqliteConnection(StoreConnection):
    """A connection to a SQLite file."""

    def __init__(self, sql: SqlConnection, threads: Executor, *, reads: bool) -> None:
        """As any connection to the store."""
        super().__init__(sql, threads, reads=reads)
        self._raw = cast("_Raw", sql.connection.dbapi_connection)

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

    async def begin(self, work: Callable[[], object]) -> None:
        """Begin at once, as nearly always only this process writes; else wait for the lock in a thread."""
        self._raw.execute("PRAGMA busy_timeout = 0")
        try:
            work()
        except OperationalError as error:
            if getattr(error.orig, "sqlite_errorcode", None) != sqlite3.SQLITE_BUSY:
                raise
        else:
            return
        finally:
            self._raw.execute(f"PRAGMA busy_timeout = {_BUSY_TIMEOUT_MS}")
        await self.in_thread(work)

    @property
    def usable(self) -> bool:
        """A file does not go away."""
        return True

    async def interrupt(self) -> None:
        """As for any connection to the store."""
        self._raw.interrupt()


def connector(url: URL, threads: Executor, *, reads: bool, alone: bool) -> Callable[[], StoreConnection]:  # noqa: ARG001
    """Return what opens connections to the file of `url`; `alone` is the business of the lock on the data folder."""
    engine = create_engine(
        "sqlite://",
        creator=lambda: _connect(url.database or "", reads=reads),
        poolclass=NullPool,
        # Statements are short-lived text; values (words, names) never enter logs or error texts.
        hide_parameters=True,
    )
    begin = "BEGIN" if reads else "BEGIN IMMEDIATE"
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql(begin))
    return lambda: SqliteConnection(engine.connect(), threads, reads=reads)


def whole_engine(url: URL) -> Engine:
    """Return an engine for work on the whole file (migrating, copying): its transactions keep other writers out."""
    engine = create_engine(url, poolclass=NullPool, hide_parameters=True)

    @event.listens_for(engine, "connect")
    def _leave_to_us(connection: DBAPIConnection, _entry: ConnectionPoolEntry) -> None:
        connection.isolation_level = None

    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE"))
    return engine


def reading_engine(url: URL) -> Engine:
    """Return an engine that only reads, row by row, and makes no file; its transactions see one state."""

    def connect() -> sqlite3.Connection:
        file = f"file:{quote(url.database or '')}?mode=ro"
        return sqlite3.connect(file, uri=True, isolation_level=None, check_same_thread=False)

    engine = create_engine("sqlite://", creator=connect, poolclass=NullPool, hide_parameters=True)
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN"))
    return engine


def require_fit(_connection: SqlConnection) -> None:
    """Every SQLite file is fit: texts are ordered by bytes, and are UTF-8."""


def _connect(path: str, *, reads: bool) -> sqlite3.Connection:
    raw = sqlite3.connect(path, isolation_level=None, check_same_thread=False, factory=_Raw)
    raw.execute(f"PRAGMA busy_timeout = {_BUSY_TIMEOUT_MS}")
    raw.execute("PRAGMA journal_mode = WAL")
    raw.execute("PRAGMA synchronous = FULL")
    raw.execute("PRAGMA foreign_keys = ON")
    if reads:
        raw.execute("PRAGMA query_only = ON")
        raw.set_progress_handler(_give_up, _BUDGET_STEPS)
    return raw


class _Raw(sqlite3.Connection):
    def cursor(self, factory: Any = Cursor) -> Any:  # noqa: ANN401 - as sqlite3 has it
        return super().cursor(factory)


def _give_up() -> int:
    return 1
