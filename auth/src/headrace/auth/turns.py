"""Who is next where a few things are done at once: fair among networks, and strangers hold up nobody who is known."""

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from headrace.auth.errors import TooManyAttempts

OF_ONE: Final = 16
"""Those that wait for one network or person."""
OF_ALL: Final = 128
"""Those that wait of strangers, and as many of known people."""
AGAIN_S: Final = 5
"""When somebody who was refused may try again."""


class LineFull(TooManyAttempts):
    """Too many wait already: nothing was checked, and nothing counts."""

    def __init__(self) -> None:
        """Say when to try again."""
        super().__init__(AGAIN_S)


class Turns:
    """Gives turns: one at a time for each network or person, in turn among them, known people before strangers.

    Strangers have some of the turns at most, whoever else waits. Too many that wait are refused at once; the network
    that has most of them gives way to others.
    """

    def __init__(self, at_once: int, strangers: int) -> None:
        """Give `at_once` turns, `strangers` of them at most to strangers."""
        self._at_once = at_once
        self._known = _Lane(at_once)
        self._strangers = _Lane(strangers)

    @asynccontextmanager
    async def turn(self, whose: str, *, known: bool) -> AsyncIterator[None]:
        """Wait for a turn of a person (`known`) or a network of strangers, and hold it; raises `too_many_attempts`."""
        lane = self._known if known else self._strangers
        turn = lane.join(whose)
        self._go_on()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                lane.leave(whose, turn)
            else:
                self._end(lane, whose)
            raise
        try:
            yield
        finally:
            self._end(lane, whose)

    def _end(self, lane: "_Lane", whose: str) -> None:
        lane.running.discard(whose)
        self._go_on()

    def _go_on(self) -> None:
        for lane in (self._known, self._strangers):
            while len(self._known.running) + len(self._strangers.running) < self._at_once and lane.begin():
                pass


class _Lane:
    """Those who have a turn, and those who wait for one."""

    def __init__(self, at_once: int) -> None:
        self._at_once = at_once
        self.running: set[str] = set()
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()

    def join(self, whose: str) -> asyncio.Future[None]:
        """Wait at the end of the own line; raises `too_many_attempts`."""
        mine = len(self._waiting.get(whose, ()))
        if mine >= OF_ONE or (sum(map(len, self._waiting.values())) >= OF_ALL and not self._make_room(mine)):
            raise LineFull
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(whose, deque()).append(turn)
        return turn

    def leave(self, whose: str, turn: asyncio.Future[None]) -> None:
        """Wait no longer."""
        line = self._waiting.get(whose)
        if line is not None and turn in line:
            line.remove(turn)
            if not line:
                del self._waiting[whose]

    def begin(self) -> bool:
        """Give the next turn, if there is one to give; whoever had it waits behind the others for the one after."""
        if len(self.running) >= self._at_once:
            return False
        whose = next((one for one in self._waiting if one not in self.running), None)
        if whose is None:
            return False
        line = self._waiting.pop(whose)
        line.popleft().set_result(None)
        if line:
            self._waiting[whose] = line
        self.running.add(whose)
        return True

    def _make_room(self, mine: int) -> bool:
        """Refuse the newest of the longest line, if that is longer than the own one would be."""
        whose = max(self._waiting, key=lambda one: len(self._waiting[one]))
        if len(self._waiting[whose]) <= mine + 1:
            return False
        self._waiting[whose].pop().set_exception(LineFull())
        return True
