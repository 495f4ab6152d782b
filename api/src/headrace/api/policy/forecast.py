"""How promised deadlines come out, when links are served as they are: pure arithmetic.

At each moment promises get what they need, which is what is left of them over the open time that is left, in the order
of their deadlines, as far as their links have it. On one link this keeps all promises that any order could keep.

What is kept for promises whose hours open and close very often is kept for them at every hour: else everybody would
have to be looked at anew each time.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from headrace.api.policy.calendars import Timeline
from headrace.api.policy.fair_share import OnLink, rules_on
from headrace.api.policy.links import Path, Way
from headrace.client import models as m

MOST_STEPS: Final = 100_000
"""How often promises are looked at, for the changes of their hours: some tenths of a second of processor time."""
_LEAST_S: Final = 0.001
"""Time that is left at least: what needs more than any link in it is late by no more."""
ENOUGH: Final = 0.999
"""What is so near to what is needed is all of it."""

LinkWay = tuple[str, Way]
"""A link, and a direction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """What is to be done by a deadline."""

    transfer: str
    qos_class: str
    path: Path
    left_bits: float
    begins: datetime
    """Not before."""
    deadline: datetime
    hours: Timeline
    rate_bps: float | None = None
    """Its own ceiling."""

    def needs_bps(self, left_bits: float, at: datetime) -> float:
        """Return what it needs from a moment on, when so much is left then."""
        return left_bits / max(_LEAST_S, self.hours.seconds(max(at, self.begins), self.deadline))


@dataclass(frozen=True, slots=True)
class Outcome:
    """How promises come out, and what is left behind them."""

    lacks: Mapping[str, float]
    """What each lacks at its deadline, in bits, by transfer."""
    moments: Sequence[datetime]
    rates: Sequence[float]
    """What a transfer behind all of them may have: from each moment on, the first from the beginning; one more."""


@dataclass(frozen=True, slots=True)
class _Limit:
    """What a class may have of a link in one direction."""

    at: LinkWay
    rate_bps: float
    """Without the floors of others."""
    busy_bps: float
    """As long as transfers of a higher priority may take all but the rest."""
    free: datetime
    """From when on they do not."""
    ceiling_bps: float | None

    def rate(self, moment: datetime) -> float:
        return self.rate_bps if moment >= self.free else self.busy_bps


class Links:
    """What the links of a document have for promises."""

    def __init__(
        self,
        document: m.QosDocument,
        free: Callable[[LinkWay, int], datetime],
        now: datetime,
        present: Mapping[LinkWay, Collection[str]] | None = None,
    ) -> None:
        """`free`: from when on transfers of a higher priority than this do not take all but the rest of a link.

        `present`: which classes run; floors of others are kept free where it is not said.
        """
        self._present = present
        self._links = {link.name: link for link in document.links}
        self._rules = {link: rules_on(document, link) for link in self._links}
        self._free = free
        self._now = now
        self._limits: dict[tuple[str, Path], tuple[_Limit, ...]] = {}

    def outcome(
        self, promises: Iterable[Promise], behind: Promise | None = None, most_steps: int = MOST_STEPS
    ) -> Outcome:
        """Return how promises come out, and what is left for `behind`, whose deadline does not count.

        Takes some n log n steps for n promises while all have what they need, n times n where few have, and not more
        than `most_steps` for their hours.
        """
        last = None if behind is None else (behind, self._limits_of(behind))
        ordered = sorted(promises, key=lambda one: (one.deadline, one.transfer))
        opened, reserved = self._changes_of_hours(ordered, most_steps // max(1, len(ordered)))
        anew = {at for one in ordered for at in (one.begins, *(limit.free for limit in self._limits_of(one)))}
        anew |= opened | {one.deadline for one in reserved} | ({limit.free for limit in last[1]} if last else set())
        changes = {one.deadline: False for one in ordered} | dict.fromkeys(anew, True)
        moments, rates = sorted(at for at in changes if at > self._now), list[float]()
        kept = {one.transfer for one in reserved}
        forecast = _Forecast(
            [(one, self._limits_of(one)) for one in ordered if one.transfer not in kept],
            [(one, self._limits_of(one)) for one in reserved],
            self._now,
        )
        for number, at in enumerate([self._now, *moments]):
            forecast.divide(at, anew=changes.get(at, True))
            if last is not None:
                rates.append(forecast.room(*last, at))
            if number < len(moments):
                forecast.go_on(moments[number])
        return Outcome(forecast.lacks, moments, rates)

    def _changes_of_hours(self, promises: Iterable[Promise], most: int) -> tuple[set[datetime], list[Promise]]:
        """Return when hours of promises open and close, `most` of these moments, and whose hours are not looked at."""
        found, reserved = set[datetime](), list[Promise]()
        for one in promises:
            moments = one.hours.changes(self._now, one.deadline, most)
            if moments is None or len(found | moments) > most:
                reserved.append(one)
            else:
                found |= moments
        return found, reserved

    def guarantees(self, needs: Iterable[tuple[Promise, float]], at: datetime) -> dict[str, float]:
        """Return what promises get of what they need (bit/s) at a moment, in the order in which they are given."""
        taken, got = _Taken(), dict[str, float]()
        for one, bps in needs:
            limits = self._limits_of(one)
            got[one.transfer] = min(bps, taken.room(one, limits, at))
            taken.add(one, limits, got[one.transfer])
        return got

    def _limits_of(self, promise: Promise) -> tuple[_Limit, ...]:
        key = promise.qos_class, promise.path
        found = self._limits.get(key)
        if found is None:
            ways = (at for at in promise.path.ways if self._links[at[0]].rate_bps is not None)
            found = self._limits[key] = tuple(self._limit(promise.qos_class, at) for at in ways)
        return found

    def _limit(self, qos_class: str, at: LinkWay) -> _Limit:
        link, rules = self._links[at[0]], self._rules[at[0]]
        own, rate = rules.get(qos_class, OnLink()), float(link.rate_bps or 0)
        others = rules.keys() if self._present is None else rules.keys() & set(self._present.get(at, ()))
        floors = sum(rules[name].floor_bps for name in others if name != qos_class)
        busy = rate * link.rest_percent / 100
        return _Limit(at, rate - floors, busy - floors, self._free(at, own.priority), own.ceiling_bps)


@dataclass(slots=True)
class _Taken:
    """What is taken of links, in all and by each class."""

    of_all: defaultdict[LinkWay, float] = field(default_factory=lambda: defaultdict(float))
    of_class: defaultdict[tuple[LinkWay, str], float] = field(default_factory=lambda: defaultdict(float))

    def copy(self) -> "_Taken":
        return _Taken(self.of_all.copy(), self.of_class.copy())

    def room(self, promise: Promise, limits: Sequence[_Limit], at: datetime) -> float:
        """Return what a promise may have beside that."""
        most = float("inf") if promise.rate_bps is None else float(promise.rate_bps)
        for limit in limits:
            most = min(most, limit.rate(at) - self.of_all[limit.at])
            if limit.ceiling_bps is not None:
                most = min(most, limit.ceiling_bps - self.of_class[limit.at, promise.qos_class])
        return max(0.0, most)

    def add(self, promise: Promise, limits: Sequence[_Limit], bps: float) -> None:
        for limit in limits:
            self.of_all[limit.at] += bps
            self.of_class[limit.at, promise.qos_class] += bps


class _Forecast:
    """Promises in the order of their deadlines, as time goes on.

    The first ones that have all that they need keep it until something begins, opens, closes, or their deadline comes:
    only those behind them are looked at again when a deadline has passed.
    """

    def __init__(
        self,
        promises: Sequence[tuple[Promise, Sequence[_Limit]]],
        reserved: Sequence[tuple[Promise, Sequence[_Limit]]],
        now: datetime,
    ) -> None:
        self._promises = promises
        self._reserved = [(one, limits, one.needs_bps(one.left_bits, now)) for one, limits in reserved]
        self._left = [one.left_bits for one, _ in promises]
        self._rates = [0.0] * len(promises)
        self._since = [now] * len(promises)
        self._first = 0
        """The first whose deadline has not passed."""
        self._settled = 0
        """The first that may get something else when a deadline has passed."""
        self._kept = _Taken()
        """What those before it take."""
        self._taken = _Taken()
        self.lacks: dict[str, float] = {one.transfer: 0.0 for one, _ in reserved}

    def divide(self, at: datetime, *, anew: bool) -> None:
        """Give each promise its share from a moment on."""
        if anew:
            self._settled, self._kept = self._first, _Taken()
            self._keep_reserved(at)
        settled, self._taken, full = True, self._kept.copy(), set[int]()
        for number in range(self._settled, len(self._promises)):
            one, limits = self._promises[number]
            if id(limits) in full and not self._rates[number]:
                continue  # Behind who needs something on these links and gets nothing.
            self._go_on_to(number, at)
            needs = room = 0.0
            if one.begins <= at and one.hours.is_open(at):
                needs, room = one.needs_bps(self._left[number], at), self._taken.room(one, limits, at)
                if needs and not room:
                    full.add(id(limits))
            bps = self._rates[number] = min(needs, room)
            self._taken.add(one, limits, bps)
            settled = settled and bps >= ENOUGH * needs
            if settled:
                self._kept.add(one, limits, bps)
                self._settled = number + 1

    def _keep_reserved(self, at: datetime) -> None:
        for one, limits, needs in self._reserved:
            if one.begins <= at < one.deadline:
                bps = min(needs, self._kept.room(one, limits, at))
                self._kept.add(one, limits, bps)
                if bps < ENOUGH * needs:
                    self.lacks[one.transfer] = one.left_bits

    def room(self, behind: Promise, limits: Sequence[_Limit], at: datetime) -> float:
        """Return what is left for somebody behind all of them."""
        return self._taken.room(behind, limits, at)

    def go_on(self, until: datetime) -> None:
        """Let time pass with these shares, and take away whose deadline has come."""
        while self._first < len(self._promises) and self._promises[self._first][0].deadline <= until:
            number = self._first
            self._go_on_to(number, until)
            if number < self._settled:
                self._kept.add(*self._promises[number], -self._rates[number])
            self.lacks[self._promises[number][0].transfer] = self._left[number]
            self._first += 1
        self._settled = max(self._settled, self._first)

    def _go_on_to(self, number: int, at: datetime) -> None:
        """Take away what one has got at its rate, up to a moment."""
        got = self._rates[number] * (at - self._since[number]).total_seconds()
        self._left[number], self._since[number] = max(0.0, self._left[number] - got), at
