"""Writes that no request waits for: that a session or token was used, that an old session is gone."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Final

MAX_WAITING: Final = 1000
TOUCH_EVERY: Final = timedelta(minutes=1)
"""Uses of a session or token are noted at most this often, so that reading does not write."""

_log = logging.getLogger(__name__)


class Uses:
    """Does small writes in the background, one after another.

    A store that can't be written makes nobody fail: the write is dropped and the next use tries again. At most 1,000
    wait; more are dropped.
    """

    def __init__(self, failed: Callable[[Exception], None] | None = None) -> None:
        """Begin with nothing to write; `failed` logs why something could not be written."""
        self._failed = failed or _log_whole
        self._waiting: dict[str, Callable[[], Awaitable[None]]] = {}
        self._task: asyncio.Task[None] | None = None

    def note(self, key: str, write: Callable[[], Awaitable[None]]) -> None:
        """Have `write` done soon, unless one with this key is waiting or under way."""
        if key in self._waiting or len(self._waiting) >= MAX_WAITING:
            return
        self._waiting[key] = write
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._work(), name="noting uses")

    async def settle(self) -> None:
        """Wait until everything noted so far was tried."""
        if self._task is not None:
            await asyncio.shield(self._task)

    async def _work(self) -> None:
        while self._waiting:
            key, write = next(iter(self._waiting.items()))
            try:
                await write()
            except Exception as error:  # noqa: BLE001 - whatever it is, nobody waits for it
                self._failed(error)
            finally:
                del self._waiting[key]


def _log_whole(error: Exception) -> None:
    _log.warning("a use could not be noted", exc_info=error)
