"""Who is next where a few things are done at once: fair among people and networks, known people before strangers."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Final, TypeAlias

from headrace.auth.errors import TooManyAttempts
from headrace.auth.throttle import site_of

OF_ONE: Final = 16
"""Those that wait for one person, or for one network of strangers."""
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
    """Gives turns: one at a time for each known person and each network of strangers, in turn among them.

    Known people come before strangers, who have some of the turns at most, whoever else waits. Of one person, the
    networks take turns; of strangers, first the sites and then the networks of each. Too many that wait are refused at
    once: a person who has more of the places than whoever comes gives way, and so does a network or a site.
    """

    def __init__(self, at_once: int, strangers: int) -> None:
        """Give `at_once` turns, `strangers` of them at most to strangers."""
        self._at_once = at_once
        self._known = _Lane(at_once, unit=0)
        self._strangers = _Lane(strangers, unit=1)

    def of_person(self, person: str, network: str | None = None) -> AbstractAsyncContextManager[None]:
        """Wait for a turn of a person, known in a network or by their session, and hold it.

        Raises `LineFull`.
        """
        return self._turn(self._known, (person, network or f"session of {person}"))

    def of_strangers(self, network: str) -> AbstractAsyncContextManager[None]:
        """Wait for a turn of a network of strangers, and hold it; raises `LineFull`."""
        return self._turn(self._strangers, (site_of(network), network))

    @asynccontextmanager
    async def _turn(self, lane: "_Lane", whose: "_Whose") -> AsyncIterator[None]:
        one = lane.join(whose)
        self._go_on()
        try:
            await one.turn
        except asyncio.CancelledError:
            if lane.leave(one):
                self._end(lane, whose)
            raise
        try:
            yield
        finally:
            self._end(lane, whose)

    def _end(self, lane: "_Lane", whose: "_Whose") -> None:
        lane.end(whose)
        self._go_on()

    def _go_on(self) -> None:
        for lane in (self._known, self._strangers):
            while self._known.running + self._strangers.running < self._at_once and lane.begin():
                pass


_Whose: TypeAlias = tuple[str, str]
"""A person and a network of theirs, or a site and a network of strangers there."""


@dataclass(frozen=True, slots=True, eq=False)
class _Waiting:
    whose: _Whose
    turn: asyncio.Future[None]


class _Lane:
    """Those who have a turn, and those who wait for one, in the order in which they came."""

    def __init__(self, at_once: int, *, unit: int) -> None:
        """Give one turn at a time to each `unit`, a part of `_Whose`: to a person, or to a network."""
        self._at_once = at_once
        self._unit = unit
        self._running: set[str] = set()
        self._waiting: list[_Waiting] = []
        self._since: dict[tuple[str, ...], int] = {}
        """When those who wait last had a turn, or else when they came, of the whole and of each first part."""
        self._now = 0

    @property
    def running(self) -> int:
        """How many have a turn."""
        return len(self._running)

    def join(self, whose: _Whose) -> _Waiting:
        """Wait at the end of the own line; raises `LineFull`."""
        for gone in [one for one in self._waiting if one.turn.done()]:
            self._remove(gone)
        of_unit = [one for one in self._waiting if one.whose[self._unit] == whose[self._unit]]
        if len(of_unit) >= OF_ONE:
            self._make_room(whose, of_unit, [1 - self._unit])
        elif len(self._waiting) >= OF_ALL:
            self._make_room(whose, self._waiting, [self._unit, 1 - self._unit])
        one = _Waiting(whose, asyncio.get_running_loop().create_future())
        self._waiting.append(one)
        for part in (whose[:1], whose):
            self._since.setdefault(part, self._tick())
        return one

    def leave(self, one: _Waiting) -> bool:
        """Wait no longer; answers whether the turn had come."""
        if one in self._waiting:
            self._remove(one)
            return False
        return not one.turn.cancelled() and one.turn.exception() is None

    def begin(self) -> bool:
        """Give the next turn, if there is one to give; whoever had it waits behind the others for the one after."""
        # Who has gone away may be in the list for a moment more.
        may = [one for one in self._waiting if not one.turn.done() and one.whose[self._unit] not in self._running]
        if not may or len(self._running) >= self._at_once:
            return False
        one = min(may, key=lambda one: (self._since[one.whose[:1]], self._since[one.whose]))
        for part in (one.whose[:1], one.whose):
            self._since[part] = self._tick()
        self._remove(one)
        self._running.add(one.whose[self._unit])
        one.turn.set_result(None)
        return True

    def end(self, whose: _Whose) -> None:
        """Take a turn back."""
        self._running.discard(whose[self._unit])

    def _make_room(self, whose: _Whose, among: Sequence[_Waiting], parts: Iterable[int]) -> None:
        """Refuse the newest of the longest line of who has more places than the newcomer would have.

        Raises `LineFull` if nobody has.
        """
        for part in parts:
            counts = Counter(one.whose[part] for one in among)
            most = max(counts, key=lambda one: counts[one])
            if counts[most] > counts[whose[part]] + 1:
                theirs = [one for one in among if one.whose[part] == most]
                lines = Counter(one.whose for one in theirs)
                longest = max(lines, key=lambda one: lines[one])
                refused = next(one for one in reversed(theirs) if one.whose == longest)
                self._remove(refused)
                refused.turn.set_exception(LineFull())
                return
        raise LineFull

    def _remove(self, one: _Waiting) -> None:
        self._waiting.remove(one)
        for part in (one.whose[:1], one.whose):
            if not any(other.whose[: len(part)] == part for other in self._waiting):
                del self._since[part]

    def _tick(self) -> int:
        self._now += 1
        return self._now
