"""Which of several service processes on one PostgreSQL database leads: whoever holds an advisory lock there.

The lock belongs to a connection of its own. It ends with its process, so nobody has to wait until a dead leader is
given up, as long as its host can still say so; of a host that is gone, after half a minute (`postgresql.LIMITS`).
"""

from typing import Any, Final, LiteralString

import psycopg
from sqlalchemy import URL

from headrace.api.store.postgresql import CONNECT_TIMEOUT_S, LEADER, LIMITS, LOCKS, SILENCE_MS
from headrace.api.store_trouble import Trouble, trouble_of_server

UNKNOWN: Final = (psycopg.Error, OSError, TimeoutError)
"""What `LeaderLock.lead` raises when nobody can say who leads."""


def trouble_of_asking(error: BaseException) -> Trouble:
    """Tell what is the matter when nobody can say who leads."""
    return trouble_of_server(error) or (Trouble.SILENT if isinstance(error, TimeoutError) else Trouble.AWAY)


_TRY: Final[LiteralString] = "SELECT pg_try_advisory_lock(%s, %s)"
_ALIVE: Final[LiteralString] = "SELECT 1"


class LeaderLock:
    """The lock, as one process sees it."""

    def __init__(self, url: URL) -> None:
        """Ask the database at `url`; nothing is connected yet."""
        self._url = url.set(drivername="postgresql").render_as_string(hide_password=False)
        self._connection: psycopg.AsyncConnection[tuple[Any, ...]] | None = None
        self._held = False

    async def lead(self) -> bool:
        """Take the lock, or see that it is still held; `False` while another process has it. Raises `UNKNOWN`."""
        try:
            connection = await self._connected()
            answer = await connection.execute(_ALIVE if self._held else _TRY, None if self._held else (LOCKS, LEADER))
            found = await answer.fetchone()
        except BaseException:
            await self.close()
            raise
        self._held = found is not None and bool(found[0])
        return self._held

    async def close(self) -> None:
        """Let another process lead."""
        connection, self._connection, self._held = self._connection, None, False
        if connection is not None:
            await connection.close()

    async def _connected(self) -> psycopg.AsyncConnection[tuple[Any, ...]]:
        if self._connection is None:
            self._connection = await psycopg.AsyncConnection.connect(
                self._url,
                autocommit=True,
                connect_timeout=CONNECT_TIMEOUT_S,
                tcp_user_timeout=SILENCE_MS,
                application_name="headrace leader",
            )
            for setting, value in LIMITS.items():
                await self._connection.execute("SELECT set_config(%s, %s, false)", (setting, str(value)))
        return self._connection
