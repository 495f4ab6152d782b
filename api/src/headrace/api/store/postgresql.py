"""A connection to PostgreSQL: every statement waits for the network, so all run in threads.

There is one writer at a time, as on SQLite: a writing transaction begins with an advisory lock that it holds until its
end, in whichever process it is. So what it reads stays as it is until it commits: the end of the audit chain, what a
budget has left, who has approved, the newest number of a policy. Reading transactions see one state (`REPEATABLE READ`)
and wait for nobody.

A service holds its database with a second lock, for as long as its writing connection lives. One that has lost it, by
a failure of network or server, and finds that another has it, can't write any more.
"""

import asyncio
import select
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from typing import Any, Final, TypeVar, cast

from sqlalchemy import URL, Engine, create_engine, event
from sqlalchemy.engine import Connection as SqlConnection
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.pool import ConnectionPoolEntry, NullPool

from headrace.api.errors import CannotStart
from headrace.api.store.pool import StoreConnection

LOCKS: Final = 0x48524143
"""Our advisory locks within a database; others that use some there take other numbers."""
_WRITER: Final = 1
_SERVICE: Final = 2
LEADER: Final = 3
_LOCK_THE_WRITER: Final = f"SELECT pg_advisory_xact_lock({LOCKS}, {_WRITER})"
_BE_ALONE: Final = f"SELECT pg_advisory_lock({LOCKS}, {_SERVICE})"
LIMITS: Final[dict[str, int | str]] = {
    # Our statements are short: compiling one that seems long takes some hundred milliseconds, and saves none.
    "jit": "off",
    "lock_timeout": 10_000,
    # A process that stands still in a writing transaction loses it after this time (ms), and others go on.
    "idle_in_transaction_session_timeout": 60_000,
    # The locks of a host that is gone are free after half a minute.
    "tcp_keepalives_idle": 10,
    "tcp_keepalives_interval": 5,
    "tcp_keepalives_count": 4,
}
CONNECT_TIMEOUT_S = 10
SILENCE_MS = 15_000
"""A connection on which nothing arrives any more is given up after this time."""
_LOCKED = "55P03"
_ROWS_AHEAD = 1000
_OLDEST = 130_000
_T = TypeVar("_T")


class PostgresConnection(StoreConnection):
    """A connection to a PostgreSQL database."""

    def __init__(self, sql: SqlConnection, threads: Executor, *, reads: bool) -> None:
        """As any connection to the store."""
        super().__init__(sql, threads, reads=reads)
        self._raw = cast("Any", sql.connection.dbapi_connection)
        self._interrupted = False
        self._in_its_thread = False
        """Whether a whole transaction runs in a thread: then its statements are not handed to another one."""

    async def run(self, work: Callable[[], _T]) -> _T:
        """Run statements in a thread."""
        return work() if self._in_its_thread else await self.in_thread(work)

    async def run_whole(self, work: Callable[[], Coroutine[None, None, _T]]) -> _T:
        """Run all statements of a transaction in one thread, and what comes between them."""

        def whole() -> _T:
            self._in_its_thread, running = True, work()
            try:
                running.send(None)
                running.close()
            except StopIteration as ended:
                return cast("_T", ended.value)
            finally:
                self._in_its_thread = False
            message = "what looks at the store waits for nothing else"
            raise RuntimeError(message)

        return await self.in_thread(whole)

    async def run_alone(self, work: Callable[[], _T]) -> _T:
        """Run a statement without BEGIN and COMMIT, each of which the server is waited for."""

        def alone() -> _T:
            self._raw.autocommit = True
            try:
                return work()
            finally:
                if not self._raw.closed:
                    self._raw.autocommit = False

        return await self.in_thread(alone)

    @property
    def usable(self) -> bool:
        """Whether it is open, and the server has not said meanwhile that it ends (it says nothing else unasked)."""
        if self._interrupted or self.sql.closed or self.sql.invalidated or self._raw.closed:
            return False
        says = select.poll()
        says.register(self._raw.fileno(), select.POLLIN)
        return not says.poll(0)

    async def interrupt(self) -> None:
        """As for any connection; it is not used again, because the interruption may come too late for its statement."""
        self._interrupted = True
        await asyncio.to_thread(self._raw.cancel_safe, timeout=CONNECT_TIMEOUT_S)


def connector(url: URL, threads: Executor, *, reads: bool, alone: bool) -> Callable[[], StoreConnection]:
    """Return what opens connections to the database of `url`, reading or writing ones."""
    engine = _reading(url) if reads else _writing(url, alone=alone)
    return lambda: PostgresConnection(engine.connect(), threads, reads=reads)


def whole_engine(url: URL) -> Engine:
    """Return an engine for work on the whole database (migrating, copying): its transactions keep other writers out."""
    return _writing(url, alone=True)


def reading_engine(url: URL) -> Engine:
    """Return an engine that only reads, row by row; its transactions see one state."""
    return _reading(url).execution_options(stream_results=True, max_row_buffer=_ROWS_AHEAD)


def require_fit(connection: SqlConnection) -> None:
    """Refuse a database in which texts would be ordered or kept otherwise than on SQLite."""
    version = int(connection.exec_driver_sql("SHOW server_version_num").scalar_one())
    encoding = connection.exec_driver_sql("SHOW server_encoding").scalar_one()
    by_bytes = connection.exec_driver_sql("SELECT 'B' < 'a' AND 'a-c' < 'ab'").scalar_one()
    if version < _OLDEST:
        message = f"the database is PostgreSQL {version // 10_000}; Headrace needs {_OLDEST // 10_000} or newer"
        raise CannotStart(message)
    if encoding != "UTF8" or not by_bytes:
        message = (
            f"the database orders or keeps texts otherwise than by the bytes of UTF-8 (its encoding is {encoding}); "
            "make one with `createdb --template template0 --encoding UTF8 --locale C`"
        )
        raise CannotStart(message)


def _engine(url: URL) -> Engine:
    defaults = {
        "client_encoding": "utf8",
        "connect_timeout": str(CONNECT_TIMEOUT_S),
        "tcp_user_timeout": str(SILENCE_MS),
    }
    engine = create_engine(
        url.set(query={**defaults, "application_name": "headrace", **url.query}),
        poolclass=NullPool,
        # Statements are short-lived text; values (words, names) never enter logs or error texts.
        hide_parameters=True,
    )

    @event.listens_for(engine, "connect")
    def _limit(connection: DBAPIConnection, _entry: ConnectionPoolEntry) -> None:
        cursor = connection.cursor()
        for setting, value in LIMITS.items():
            cursor.execute(f"SET {setting} = {value}")
        cursor.close()
        connection.commit()

    return engine


def _reading(url: URL) -> Engine:
    engine = _engine(url)
    # What only read has nothing to take back; after a ROLLBACK, every statement would be parsed and planned anew.
    engine.dialect.do_rollback = engine.dialect.do_commit  # type: ignore[method-assign]
    event.listen(engine, "connect", _only_read)
    return engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)


def _writing(url: URL, *, alone: bool) -> Engine:
    engine = _engine(url)
    if alone:
        event.listen(engine, "connect", _be_alone)
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql(_LOCK_THE_WRITER))
    return engine


def _only_read(connection: DBAPIConnection, _entry: ConnectionPoolEntry) -> None:
    """Refuse changes by a statement without a transaction, too: of transactions it is said as they begin."""
    cursor = connection.cursor()
    cursor.execute("SET default_transaction_read_only = on")
    cursor.close()
    connection.commit()


def _be_alone(connection: DBAPIConnection, _entry: ConnectionPoolEntry) -> None:
    """Hold the database for one service, as long as its writing connection lives: a second one can't write there."""
    cursor = connection.cursor()
    try:
        cursor.execute(_BE_ALONE)
    except Exception as error:
        connection.close()
        if getattr(error, "sqlstate", None) != _LOCKED:
            raise
        message = "another service works on this database"
        raise type(error)(message) from error
    cursor.close()
    connection.commit()
