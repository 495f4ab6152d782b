"""Whose turn it is: what runs at the same time is limited, and the others wait in line.

Higher priority goes first. Within one priority people take turns: whoever has the least running and in line before is
next, and of one person's, what came first. So nobody's hundred tasks stand before another's only one. One person holds
at most some of the slots. A slot that becomes free is for the first in line who may have it; only that one is woken.
"""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, order=True)
class InLine:
    """What decides where somebody stands in line."""

    rank: int
    """The negative priority."""
    created: datetime
    subject: str
    """What waits: the id of a plan or transfer."""
    person: str
    """Whose it is."""


class Turns:
    """The line and the slots."""

    def __init__(self, slots: int, slots_of_one: int) -> None:
        """Let `slots` run at the same time, `slots_of_one` of them for the same person."""
        self._slots = slots
        self._slots_of_one = slots_of_one
        self._running: dict[str, str] = {}
        """Whose each is that runs."""
        self._waiting: dict[str, InLine] = {}
        self._line: dict[str, int] | None = None
        """Who waits, in order, with the place from 1; `None` when it has to be made anew."""
        self._next: list[str] = []
        """For whom there are free slots."""

    def is_next(self, place: InLine) -> bool:
        """Get in line (if not in it already); returns whether a slot is free for this one."""
        if place.subject in self._running:
            return True
        if self._waiting.get(place.subject) != place:
            self._waiting[place.subject] = place
            self._line = None
        self._arrange()
        return place.subject in self._next

    def take(self, place: InLine) -> None:
        """Take a slot (also one too many, for what runs already) and leave the line."""
        self.leave(place.subject)
        self._running[place.subject] = place.person
        self._line = None

    def leave(self, subject: str) -> None:
        """Leave the line."""
        if self._waiting.pop(subject, None) is not None:
            self._line = None

    def give_back(self, subject: str) -> None:
        """Free the slot."""
        if self._running.pop(subject, None) is not None:
            self._line = None

    @property
    def next(self) -> str | None:
        """Who may take a free slot now."""
        self._arrange()
        return self._next[0] if self._next else None

    @property
    def waiting(self) -> int:
        """How many wait in line."""
        return len(self._waiting)

    def place_of(self, subject: str) -> tuple[int, int] | None:
        """Return the place in line (from 1) and its length, of one that waits there."""
        line = self._arrange()
        return (line[subject], len(line)) if subject in line else None

    def is_held_back(self, subject: str) -> bool:
        """Whether it waits for others of the same person to end, and not for a free slot."""
        place = self._waiting.get(subject)
        return place is not None and list(self._running.values()).count(place.person) >= self._slots_of_one

    def _arrange(self) -> dict[str, int]:
        """Put those who wait in order, if something has changed."""
        if self._line is not None:
            return self._line
        running = Counter(self._running.values())
        before, rounds = running.copy(), dict[str, int]()
        for place in sorted(self._waiting.values()):
            rounds[place.subject] = before[place.person]
            before[place.person] += 1
        order = sorted(self._waiting.values(), key=lambda place: (place.rank, rounds[place.subject], place))
        self._line = {place.subject: number for number, place in enumerate(order, 1)}
        self._next = []
        for place in order:
            if len(self._running) + len(self._next) >= self._slots:
                break
            if running[place.person] < self._slots_of_one:
                running[place.person] += 1
                self._next.append(place.subject)
        return self._line
