"""Transactions on the store: any number of readers, one writer at a time, and every write with its audit event.

Readers see a consistent state while the writer works (SQLite in WAL mode, PostgreSQL at `REPEATABLE READ`), and can't
write.
"""

from collections import namedtuple
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache, partial
from typing import Any, Final, Never, TypeVar, TypeVarTuple, overload

from sqlalchemy import URL, Executable, Result, Row, ScalarResult, text
from sqlalchemy.exc import InterfaceError, InternalError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.orm import Session
from sqlalchemy.sql.selectable import TypedReturnsRows

from headrace.api.clock import Clock, utc_now
from headrace.api.store.address import dialect_of
from headrace.api.store.pool import Pool, StoreConnection
from headrace.api.store_trouble import Trouble, trouble_of

_READERS = 8
_IMPATIENT: Final = text("SET LOCAL lock_timeout = '1s'")
"""Less than those wait who ask how the service is."""

_T = TypeVar("_T")
_Ts = TypeVarTuple("_Ts")
Values = Mapping[str, Any] | Sequence[Mapping[str, Any]] | None
"""Values for the parameters of a statement; of several, it is run for each."""
Writer = Callable[["Tx", Sequence[Mapping[str, Any]]], Awaitable[None]]
"""Writes rows that a transaction has gathered."""


@cache  # there is one of a statement that is written in the code
def _named(columns: tuple[str, ...]) -> Callable[[Iterable[Any]], Any]:
    made: type[tuple[Any, ...]] = namedtuple("Named", columns)  # type: ignore[misc]  # noqa: PYI024 - the columns are those of a statement
    return made._make


class Tx:
    """A transaction; a writing one is committed when its block ends without an error.

    The calls are those of SQLAlchemy's `AsyncSession`, but nothing is handed to a greenlet or a thread that does not
    have to wait: that costs more than most statements here.
    """

    def __init__(self, connection: StoreConnection, session: Session) -> None:
        """Work in `session` on `connection`."""
        self._connection = connection
        self._session = session
        self._after_commit: list[Callable[[], None]] = []
        self._unless_committed: list[Callable[[], None]] = []
        self._gathered: dict[Writer, list[Mapping[str, Any]]] = {}
        self.info = session.info

    @property
    def dialect(self) -> str:
        """Which store it is: `sqlite` or `postgresql`."""
        return self._connection.sql.dialect.name

    @overload
    async def execute(self, statement: TypedReturnsRows[*_Ts], values: Values = None) -> Result[*_Ts]: ...

    @overload
    async def execute(self, statement: Executable, values: Values = None) -> Result[*tuple[Any, ...]]: ...

    async def execute(self, statement: Executable, values: Values = None) -> object:
        """Run a statement and return all that it found."""
        return await self._connection.run(lambda: self._session.execute(statement, values))

    @overload  # mypy would take any function's row for one that never is
    async def scalar(self, statement: TypedReturnsRows[Never], values: Values = None) -> Any: ...  # noqa: ANN401

    @overload
    async def scalar(self, statement: TypedReturnsRows[_T], values: Values = None) -> _T | None: ...

    @overload
    async def scalar(self, statement: Executable, values: Values = None) -> Any: ...  # noqa: ANN401 - untyped text of SQL

    async def scalar(self, statement: Executable, values: Values = None) -> object:
        """Run a statement and return the first column of the first row, if any."""
        return await self._connection.run(lambda: self._session.execute(statement, values).scalar())

    @overload
    async def scalars(self, statement: TypedReturnsRows[_T], values: Values = None) -> ScalarResult[_T]: ...

    @overload
    async def scalars(self, statement: Executable, values: Values = None) -> ScalarResult[Any]: ...

    async def scalars(self, statement: Executable, values: Values = None) -> object:
        """Run a statement and return the first column of all rows."""
        return await self._connection.run(lambda: self._session.execute(statement, values).scalars())

    async def named(self, statement: Executable, values: Values = None) -> Sequence[Any]:
        """Run a statement and return its rows as named tuples, which are read ten times as fast as SQLAlchemy's."""

        def named() -> Sequence[Any]:
            found = self._session.execute(statement, values)
            return [*map(_named(tuple(found.keys())), found)]

        return await self._connection.run(named)

    async def get(self, kind: type[_T], key: object) -> _T | None:
        """Return the row with this primary key, if there is one."""
        return await self._connection.run(lambda: self._session.get(kind, key))

    async def get_one(self, kind: type[_T], key: object) -> _T:
        """Return the row with this primary key, which must be there."""
        return await self._connection.run(lambda: self._session.get_one(kind, key))

    async def refresh(self, row: object) -> None:
        """Read a row again, whole, once it is written."""
        await self.flush()
        await self._connection.run(lambda: self._session.refresh(row))

    def add(self, row: object) -> None:
        """Store a new row with the next flush."""
        self._session.add(row)

    def add_all(self, rows: Iterable[object]) -> None:
        """Store new rows with the next flush."""
        self._session.add_all(rows)

    async def merge(self, row: _T) -> _T:
        """Store a row in place of the one with its key, if there is one."""
        return await self._connection.run(lambda: self._session.merge(row))

    async def delete(self, row: object) -> None:
        """Remove a row with the next flush."""
        self._session.delete(row)

    async def flush(self) -> None:
        """Write what was changed, so that what is wrong with it shows here."""
        await self._connection.run(self._session.flush)

    def gather(self, write: Writer, row: Mapping[str, Any]) -> None:
        """Keep a row for `write`, which writes all that it was given in one go once the rest is written."""
        self._gathered.setdefault(write, []).append(row)

    async def write_gathered(self) -> None:
        """Write what was changed, then the rows that were gathered."""
        await self.flush()
        gathered, self._gathered = self._gathered, {}
        for write, rows in gathered.items():
            await write(self, rows)

    async def be_impatient(self) -> None:
        """Wait for locks of others for a moment only until the transaction ends; on SQLite none is waited for."""
        if self.dialect == "postgresql":
            await self.execute(_IMPATIENT)

    async def rollback(self) -> None:
        """Undo what was not committed."""
        await self._connection.run(self._session.rollback)

    async def begin(self) -> None:
        """Wait for the lock of the one writer."""
        await self._connection.begin(self._session.connection)

    async def commit(self) -> None:
        """Commit whole, even when the caller is canceled meanwhile: whoever must know of it is told then, too."""
        await self.write_gathered()
        committed = False

        def commit() -> None:
            nonlocal committed
            self._session.commit()
            committed = True

        try:
            await self._connection.in_thread(commit)
        finally:
            if committed:
                self._unless_committed.clear()
                for act in self._after_commit:
                    act()

    def undo(self) -> None:
        """Do what was left for the case that the transaction is not committed."""
        for act in self._unless_committed:
            act()

    def after_commit(self, act: Callable[[], None]) -> None:
        """As the function `after_commit`."""
        self._after_commit.append(act)

    def unless_committed(self, act: Callable[[], None]) -> None:
        """As the function `unless_committed`."""
        self._unless_committed.append(act)


def after_commit(tx: Tx, act: Callable[[], None]) -> None:
    """Do `act` once the writing transaction `tx` is committed, and never if it is not. `act` must not fail or wait."""
    tx.after_commit(act)


def unless_committed(tx: Tx, act: Callable[[], None]) -> None:
    """Do `act` when the writing transaction `tx` turns out not to be committed. `act` must not fail or wait."""
    tx.unless_committed(act)


SMALL_WRITE: Final = text("UPDATE alembic_version SET version_num = version_num")
"""What shows whether a store takes changes, and changes nothing."""
_FULL_STAYS: Final = timedelta(seconds=15)
"""A full disk lets small writes through that fit into what the store has already: one of them proves no room."""


@dataclass(frozen=True, slots=True)
class RefusedWrites:
    """Writing transactions are refused by a lock, the disk or too many others."""

    trouble: Trouble
    since: datetime
    last: datetime


class Database:
    """The store of one service."""

    def __init__(self, url: URL, clock: Clock = utc_now, *, alone: bool = False) -> None:
        """Open (without migrating) the store at `url`; `alone` for a service, of which a store has one."""
        self.url = url
        self.refused: RefusedWrites | None = None
        """Set while the last writing transaction was refused."""
        self.tried: datetime | None = None
        """When a writing transaction last ended, either way."""
        self._clock = clock
        self._threads = ThreadPoolExecutor(_READERS + 1, thread_name_prefix="store")
        connector = partial(dialect_of(url).connector, url, self._threads, alone=alone)
        self._readers = Pool(connector(reads=True), self._threads, _READERS)
        self._writer = Pool(connector(reads=False), self._threads, 1)

    @asynccontextmanager
    async def read(self) -> AsyncIterator[Tx]:
        """Give a read-only transaction with one consistent view."""
        async with self._readers.connection() as connection:
            session = Session(connection.sql, expire_on_commit=False, autoflush=False)
            try:
                yield Tx(connection, session)
            finally:
                await connection.run(session.close)

    async def look(self, look: Callable[[Tx], Coroutine[None, None, _T]]) -> _T:
        """Return what `look` finds in a reading transaction; it waits for nothing but that, and reads only the store.

        Where statements run in threads, all of them run in one, and so does `look`: handing each of them there and back
        takes longer than most statements do.
        """
        async with self._readers.connection() as connection:

            async def whole() -> _T:
                session = Session(connection.sql, expire_on_commit=False, autoflush=False)
                try:
                    return await look(Tx(connection, session))
                finally:
                    await connection.run(session.close)

            return await connection.run_whole(whole)

    async def ask(self, statement: TypedReturnsRows[*_Ts], values: Values = None) -> Sequence[Row[*_Ts]]:
        """Return all rows of one reading statement, which sees one state without a transaction around it.

        That is one trip to the store, where a transaction takes three.
        """
        async with self._readers.connection() as connection:

            def asked() -> Sequence[Row[*_Ts]]:
                with Session(connection.sql, expire_on_commit=False, autoflush=False) as session:
                    return session.execute(statement, values).all()

            return await connection.run_alone(asked)

    @asynccontextmanager
    async def write(self, *, autoflush: bool = True, first: bool = False) -> AsyncIterator[Tx]:
        """Give the writing transaction: commits at the end of the block, rolls back on any error.

        Writers queue for the single writing connection (at most 30 s); `first` is for what stops others, and goes
        before all that are in line. Without `autoflush`, changed rows are written once, at the end (or by `flush`), and
        not before each statement: that is cheaper, and statements don't see them.
        """
        try:
            async with self._writer.connection(first=first) as connection:
                session = Session(connection.sql, expire_on_commit=False, autoflush=autoflush)
                tx = Tx(connection, session)
                try:
                    await tx.begin()
                    try:
                        yield tx
                        await tx.commit()
                    except BaseException:
                        tx.undo()
                        raise
                finally:
                    await connection.run(session.close)
        except (OperationalError, InternalError, InterfaceError, PoolTimeout) as error:
            self.tried = self._clock()
            since = self.refused.since if self.refused else self.tried
            self.refused = RefusedWrites(trouble_of(error), since, self.tried)
            raise
        self.tried = now = self._clock()
        full = self.refused is not None and self.refused.trouble is Trouble.FULL
        if not (self.refused and full and abs(now - self.refused.last) < _FULL_STAYS):
            self.refused = None

    async def close(self) -> None:
        """Close all connections."""
        await self._readers.close()
        await self._writer.close()
        self._threads.shutdown(wait=False)
