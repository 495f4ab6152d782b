"""Waits for what may never come, such as a database that stands still, no longer than people and monitoring do."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

_T = TypeVar("_T")


class Patient(Generic[_T]):
    """Asks something at most once at a time: who asks meanwhile waits for the same answer, up to a limit.

    What takes longer is left to end by itself: a statement in a thread can't be given up. Until it has ended, nobody
    waits for it any more.
    """

    def __init__(self, ask: Callable[[], Awaitable[_T]], patience_s: float) -> None:
        """Ask by `ask`, which raises nothing that is expected, and wait `patience_s` at most."""
        self._ask = ask
        self._patience_s = patience_s
        self._asking: asyncio.Task[_T] | None = None
        self._until = 0.0

    @property
    def late(self) -> bool:
        """Whether the answer was waited for as long as it may take, and has not come."""
        return self._asking is not None and not self._asking.done() and self._left_s() <= 0

    async def value(self) -> _T | None:
        """Return the answer; nothing when it does not come in time."""
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._answer(), name="patient question")
            self._until = asyncio.get_running_loop().time() + self._patience_s
        asking = self._asking
        # Also without patience left, the others get a turn, or who asks again and again would keep the answer away.
        await asyncio.wait({asking}, timeout=max(0.0, self._left_s()))
        return asking.result() if asking.done() else None

    def _left_s(self) -> float:
        return self._until - asyncio.get_running_loop().time()

    async def _answer(self) -> _T:
        return await self._ask()
