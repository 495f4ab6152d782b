"""Whose turn it is: what runs at the same time is limited, and the others wait in line.

Higher priority goes first. Within one priority people take turns: whoever has the least running and in line before is
next, and of one person's, what came first. So nobody's hundred tasks stand before another's only one. One person holds
at most some of the slots. A slot that becomes free is for the first in line who may have it; only that one is woken.

What is promised by a time has a line of its own and as many slots again: the earliest time goes first, and no task
without one keeps it waiting.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class InLine:
    """What decides where somebody stands in line."""

    rank: int
    """The negative priority."""
    created: datetime
    subject: str
    """What waits: the id of a plan or transfer."""
    person: str
    """Whose it is."""
    promised: datetime | None = None
    """By when it is promised to be done."""

    @property
    def order(self) -> tuple[int, datetime, str]:
        """Who is first among those of one person, the lowest."""
        return self.rank, self.created, self.subject


class Turns:
    """The line and the slots."""

    def __init__(self, slots: int, slots_of_one: int) -> None:
        """Let `slots` of each line run at the same time, `slots_of_one` of them for the same person."""
        self._slots = slots
        self._slots_of_one = slots_of_one
        self._running: dict[str, InLine] = {}
        self._waiting: dict[str, InLine] = {}
        self._line: dict[str, tuple[int, int]] | None = None
        """Who waits, with the place from 1 and the length of that line; `None` when it has to be made anew."""
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
        self._running[place.subject] = place
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
        return self._arrange().get(subject)

    def is_held_back(self, subject: str) -> bool:
        """Whether it waits for others of the same person to end, and not for a free slot."""
        place = self._waiting.get(subject)
        return place is not None and self._held(place)[place.person] >= self._slots_of_one

    def _held(self, of: InLine) -> Counter[str]:
        """Count the slots of a line that each person holds."""
        return Counter(one.person for one in self._running.values() if _same_line(one, of))

    def _arrange(self) -> dict[str, tuple[int, int]]:
        """Put those who wait in order, if something has changed."""
        if self._line is not None:
            return self._line
        promised = sorted(
            (one for one in self._waiting.values() if one.promised), key=lambda one: (one.promised, one.order)
        )
        others = [one for one in self._waiting.values() if not one.promised]
        self._line, self._next = {}, []
        for order in (promised, self._in_turns(others)):
            self._line |= {place.subject: (number, len(order)) for number, place in enumerate(order, 1)}
            self._next += self._who_may(order)
        return self._line

    def _in_turns(self, waiting: Sequence[InLine]) -> list[InLine]:
        before, rounds = self._held(waiting[0]) if waiting else Counter[str](), dict[str, int]()
        for place in sorted(waiting, key=lambda one: one.order):
            rounds[place.subject] = before[place.person]
            before[place.person] += 1
        return sorted(waiting, key=lambda place: (place.rank, rounds[place.subject], place.order))

    def _who_may(self, order: Sequence[InLine]) -> list[str]:
        """Return for whom of a line there are free slots."""
        held = self._held(order[0]) if order else Counter[str]()
        found: list[str] = []
        for place in order:
            if held.total() >= self._slots:
                break
            if held[place.person] < self._slots_of_one:
                held[place.person] += 1
                found.append(place.subject)
        return found


def _same_line(one: InLine, other: InLine) -> bool:
    return (one.promised is None) == (other.promised is None)
