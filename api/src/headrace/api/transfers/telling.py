"""What one addressee is to know, told by a task of its own: the newest text alone, however long that one is silent."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable

from headrace.engine import EngineError

SHARES_INVALID = "shares_invalid"
"""A node can't read it; it keeps what it had."""

_log = logging.getLogger(__name__)


class Telling:
    """What a node, or the nodes of a transfer, are to know.

    Nobody waits for anybody else here, and an older text never comes after a newer one: while one is under way, what
    is wanted meanwhile waits for its answer, and of that only the newest is told.
    """

    def __init__(self, whose: str, send: Callable[[str], Awaitable[None]], known: str | None) -> None:
        """Tell over `send`; `known` is what is known there already, `None` when nobody can say."""
        self._whose = whose
        self._send = send
        self._task: asyncio.Task[None] | None = None
        self._refused: str | None = None
        self._failed = ""
        """Why it did not hear the last text, where that is in the log."""
        self.known = known
        """What was answered last; `None` while nobody can say."""
        self.wanted = known

    @property
    def is_settled(self) -> bool:
        """Whether it is known what is to be known."""
        return self.known == self.wanted

    def want(self, text: str) -> None:
        """Let this be known from now on; what failed before is tried again."""
        self.wanted = text
        if not self.is_settled and text != self._refused and self.under_way is None:
            self._task = asyncio.create_task(self._tell(), name=f"tell {self._whose}")

    def bring(self, text: str) -> None:
        """Note that this reaches the addressee by another way, such as the start of an attempt, or its end."""
        self.wanted = text
        if self.under_way is None:
            self.known = text

    def refuse(self, text: str) -> None:
        """Note that the addressee does not take this: it keeps what it had, and hears of it when it is another."""
        self._refused = text
        _log.warning("%s does not take what it gets of links, and keeps what it had: %s", self._whose, text)

    def doubt(self) -> None:
        """Forget what is known there: it is told again."""
        self.known = None

    async def _tell(self) -> None:
        while (text := self.wanted) is not None and text != self._refused and not self.is_settled:
            self.known = None
            try:
                await self._send(text)
            except EngineError as error:
                if error.code == SHARES_INVALID:
                    self.refuse(text)
                    continue
                if self._failed != (said := str(error)):
                    # Once: where a node is away, it is tried every few seconds for each transfer.
                    self._failed = said
                    _log.info(
                        "%s is told again and again what it gets of links, until it hears it: %s", self._whose, said
                    )
                return
            self.known, self._failed = text, ""

    @property
    def under_way(self) -> asyncio.Task[None] | None:
        """What waits for an answer now."""
        return None if self._task is None or self._task.done() else self._task


async def settle(tellings: Iterable[Telling], seconds: float) -> None:
    """Wait until these have answered, or so long."""
    tasks = [task for one in tellings if (task := one.under_way) is not None]
    if tasks:
        await asyncio.wait(tasks, timeout=seconds)
