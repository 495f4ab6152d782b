"""Whose turn it is: attempts that run at the same time are limited, and the others wait in line.

First come, first served within a priority. A slot that becomes free is for the first in line, and only that one is
woken.
"""

from bisect import insort
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """Where a transfer stands in line: higher priority first, then who came first."""

    rank: int
    """The negative priority."""
    created: datetime
    transfer: str


class Turns:
    """The line and the slots."""

    def __init__(self, slots: int) -> None:
        """Let `slots` attempts run at the same time."""
        self._slots = slots
        self._running: set[str] = set()
        self._line: list[Place] = []
        self._places: dict[str, Place] = {}

    def is_next(self, place: Place) -> bool:
        """Get in line (if not in it already); returns whether a slot is free for this one."""
        if place.transfer in self._running:
            return True
        if self._places.get(place.transfer) != place:
            self.leave(place.transfer)
            self._places[place.transfer] = place
            insort(self._line, place)
        return self._line.index(place) < self._slots - len(self._running)

    def take(self, transfer: str) -> None:
        """Take a slot (also one too many, for an attempt that runs already) and leave the line."""
        self.leave(transfer)
        self._running.add(transfer)

    def leave(self, transfer: str) -> None:
        """Leave the line."""
        place = self._places.pop(transfer, None)
        if place is not None:
            self._line.remove(place)

    def give_back(self, transfer: str) -> None:
        """Free the slot."""
        self._running.discard(transfer)

    @property
    def next(self) -> str | None:
        """Who may take a free slot now."""
        free = len(self._running) < self._slots
        return self._line[0].transfer if free and self._line else None

    def place_of(self, transfer: str) -> tuple[int, int] | None:
        """Return the place in line (from 1) and its length, of one that waits there."""
        place = self._places.get(transfer)
        return (self._line.index(place) + 1, len(self._line)) if place else None
