"""What recognisers hand to resolution: facts with their words, not yet names, times or numbers.

A `Draft` is untrusted: it holds readings of words. Only `headrace.guardrails.resolve` turns one
into an `Intent`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from datetime import date, datetime, timedelta, tzinfo

    from headrace.guardrails.intents.answer import Choice, Refusal


@dataclass(frozen=True, slots=True)
class Doubt:
    """A reading that has no one value: why, and what it could be.

    `reading` is what the words say on their face; a confirmation shows its danger even so. What `leads` is asked before
    all else: it says that nothing carries out what is wanted, and other questions only follow from that.
    """

    message: str
    choices: tuple[Choice, ...] = ()
    reading: str | bool | None = None
    leads: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """A location as written: an endpoint's name, a path, both, or a URL.

    `literal` is set for quoted text, in which `$` and `*` stand for themselves.
    """

    words: str
    name: str | None = None
    path: str | None = None
    url: str | None = None
    literal: bool = False


@dataclass(frozen=True, slots=True)
class Amount:
    """A size in bytes or a rate in bits per second, or why it is neither."""

    words: str
    kind: Literal["size", "rate", "unsure"]
    value: int | None = None
    doubt: str | None = None


@dataclass(frozen=True, slots=True)
class Clock:
    """A time of day; hour 24 is the midnight that ends the day.

    `doubt` says why it could be another time; `bare` marks an hour that only a part of the day
    ("tomorrow morning at 9") can settle, or with its minutes a day to come ("tomorrow at 9:00", `dated`); `half`
    says that am or pm was written.
    """

    hour: int
    minute: int = 0
    second: int = 0
    bare: bool = False
    dated: bool = False
    half: bool = False
    doubt: str | None = None


@dataclass(frozen=True, slots=True)
class Day:
    """A day as written; exactly one of the first six says which.

    `weekday` counts from Monday = 0 and `which` is the word before it (this, next, last); `week` is
    a whole week, counted from this one; `falls_on` is the weekday that is written beside a date.
    """

    exact: date | None = None
    yearless: tuple[int, int] | None = None
    monthday: int | None = None
    offset: int | None = None
    weekday: int | None = None
    week: int | None = None
    which: str | None = None
    plural: bool = False
    falls_on: int | None = None
    doubt: str | None = None


@dataclass(frozen=True, slots=True)
class Zone:
    """A time zone as written, or why the words could be several."""

    tz: tzinfo | None = None
    doubt: str | None = None


@dataclass(frozen=True, slots=True)
class Length:
    """A stretch of time; days and weeks follow the wall clock, hours do not."""

    words: str
    days: int = 0
    exact: timedelta | None = None
    doubt: str | None = None
    unit: str = ""
    count: int = 0


@dataclass(frozen=True, slots=True)
class When:
    """A point in time as written: an instant, or a day, a clock, a zone, or a distance from now."""

    words: str
    instant: datetime | None = None
    day: Day | None = None
    clock: Clock | None = None
    part: str | None = None
    zone: Zone | None = None
    ahead: Length | None = None
    ago: Length | None = None
    doubt: str | None = None


@dataclass(frozen=True, slots=True)
class Hours:
    """Two clock times of a window."""

    words: str
    opens: When
    closes: When


@dataclass(frozen=True, slots=True)
class Repeat:
    """A repetition as written; its clock times (`times` of them) may still be named elsewhere in the sentence."""

    words: str
    freq: str
    interval: int = 1
    days: tuple[str, ...] = ()
    monthdays: tuple[int, ...] = ()
    part: str | None = None
    clock: When | None = None
    times: int = 1
    clocks: tuple[When, ...] = ()
    rule: str | None = None
    doubt: str | None = None


Value: TypeAlias = "str | int | bool | tuple[str, ...] | Doubt | Place | Amount | When | Length | Hours | Repeat"


@dataclass(frozen=True, slots=True)
class Fact:
    """One slot with a reading. `first` and `last` are the token range that it owns."""

    slot: str
    value: Value
    words: str
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Leftover:
    """Words that nothing owns, the slot to ask about because of where they stand, and why, if that is known."""

    slot: str
    words: str
    cue: str | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """One intent's worth of facts, in the order of the text."""

    facts: tuple[Fact, ...] = ()
    leftovers: tuple[Leftover, ...] = ()

    def of(self, slot: str) -> tuple[Fact, ...]:
        """Give the facts of one slot."""
        return tuple(fact for fact in self.facts if fact.slot == slot)

    def has(self, *slots: str) -> bool:
        """Say whether any of these slots is stated."""
        return any(fact.slot in slots for fact in self.facts)


@dataclass(frozen=True, slots=True)
class Draft:
    """A whole request: at least one step, and what can't be answered at all."""

    steps: tuple[Step, ...]
    refusals: tuple[Refusal, ...] = field(default=())
