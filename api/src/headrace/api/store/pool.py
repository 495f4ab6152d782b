"""Connections to the store: each is used by one transaction at a time, and who finds none waits in line."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Coroutine
from concurrent.futures import Executor
from contextlib import asynccontextmanager, suppress
from typing import TypeVar

from sqlalchemy.engine import Connection as SqlConnection
from sqlalchemy.exc import TimeoutError as PoolTimeout

_POOL_TIMEOUT_S = 30
_INTERRUPT_S = 0.01

_T = TypeVar("_T")


class StoreConnection(ABC):
    """A connection that is used by one transaction at a time."""

    def __init__(self, sql: SqlConnection, threads: Executor, *, reads: bool) -> None:
        """Run what may take long on `threads`; `reads` for connections that only read."""
        self.sql = sql
        self._threads = threads
        self._reads = reads

    @abstractmethod
    async def run(self, work: Callable[[], _T]) -> _T:
        """Run statements without keeping others from working for long."""

    async def run_alone(self, work: Callable[[], _T]) -> _T:
        """Run one statement that needs no transaction around it, to its end."""
        return await self.run(work)

    async def run_whole(self, work: Callable[[], Coroutine[None, None, _T]]) -> _T:
        """Run a coroutine that waits for nothing but `run`."""
        return await work()

    async def begin(self, work: Callable[[], object]) -> None:
        """Begin a writing transaction by `work`, which waits while somebody else writes."""
        await self.in_thread(work)

    @property
    @abstractmethod
    def usable(self) -> bool:
        """Whether another transaction can use it, as far as that is known here."""

    @abstractmethod
    async def interrupt(self) -> None:
        """Interrupt the statement that runs in a thread, if any; it is called again until that has ended."""

    async def in_thread(self, work: Callable[[], _T]) -> _T:
        """Run `work` in a thread. Who is cancelled meanwhile waits for its end: the connection is free after that."""
        running = asyncio.get_running_loop().run_in_executor(self._threads, work)
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            while not running.done():
                with suppress(asyncio.CancelledError):
                    if self._reads:
                        await self.interrupt()  # only what has begun is interrupted, so it is said again
                    await asyncio.wait({running}, timeout=_INTERRUPT_S)
            running.exception()  # nobody is left to hear of it
            raise

    async def rest(self) -> None:
        """End a transaction that is still open: after a commit that failed, SQLAlchemy still sees one."""
        if self.sql.get_transaction() is not None:
            await self.run(self.sql.rollback)


class Pool:
    """At most so many connections; who comes when all are used waits in line."""

    def __init__(self, connect: Callable[[], StoreConnection], threads: Executor, size: int) -> None:
        """Open up to `size` connections by `connect`, which is called on `threads`."""
        self._connect = connect
        self._threads = threads
        self._room = asyncio.Semaphore(size)
        self._line = asyncio.Lock()
        """Only the first in line waits for `_room`, beside those who go before the line."""
        self._free: list[StoreConnection] = []

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
            connection = await self._take()
            try:
                yield connection
            finally:
                await self._give_back(connection)
        finally:
            self._room.release()

    async def close(self) -> None:
        """Close the connections that are free."""
        while self._free:
            self._free.pop().sql.close()

    async def _take(self) -> StoreConnection:
        while self._free:
            connection = self._free.pop()
            if connection.usable:
                return connection
            connection.sql.close()
        opening = asyncio.get_running_loop().run_in_executor(self._threads, self._connect)
        try:
            return await asyncio.shield(opening)
        except asyncio.CancelledError:
            opening.add_done_callback(_close)
            raise

    async def _give_back(self, connection: StoreConnection) -> None:
        try:
            await connection.rest()
        finally:
            if connection.usable:
                self._free.append(connection)
            else:
                connection.sql.close()


def _close(opened: asyncio.Future[StoreConnection]) -> None:
    if opened.exception() is None:
        opened.result().sql.close()
