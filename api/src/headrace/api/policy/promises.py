"""Whether a deadline can be kept by what links guarantee: pure arithmetic.

What is sure of a link is what it carries, without the floors of other classes, without what transfers of a higher
priority may take until they are done, and without what was promised to others until their deadlines.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from headrace.api.policy.calendars import Hours, Timeline
from headrace.api.policy.fair_share import OnLink, rules_on
from headrace.api.policy.links import Path, Way
from headrace.client import models as m

AHEAD: Final = 1.05
"""What is promised above the content, for what travels with it."""
MOST_AHEAD: Final = timedelta(days=3660)
"""How far is looked."""
_MOMENT: Final = timedelta(microseconds=1)
WHOLE: Final = 0.999
"""What is so near to what is needed is all of it."""

_Taken = tuple[datetime, float]
"""Until when, and how much of a link: bit/s."""


@dataclass(frozen=True, slots=True)
class Deadline:
    """A transfer that is to be done by a deadline."""

    bytes: int
    begins: datetime
    deadline: datetime
    hours: Hours
    qos_class: str
    path: Path
    rate_bps: int | None = None
    """Its own ceiling."""
    now: datetime | None = None
    """When what is left of others was counted; nothing: when it begins."""


@dataclass(frozen=True, slots=True)
class Other:
    """A transfer that is under way or waits: a promise, where it has a deadline."""

    transfer: str
    person: str
    qos_class: str
    path: Path
    left_bits: float
    promised_bps: float = 0
    deadline: datetime | None = None
    runs: bool = False
    needs_bps: float = 0
    """What its deadline needs."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What links say of a deadline."""

    earliest: datetime | None
    """When it can be done; `None` where that is not before `looked_until`."""
    give_way: tuple[Other, ...] = ()
    """Who would have to, so that it could be kept; nobody where that would not help."""
    needs_bps: float = 0
    looked_until: datetime | None = None
    """Up to when was looked, where nothing was found; `None`: it is never done."""


def judge(document: m.QosDocument, asked: Deadline, others: Sequence[Other]) -> Verdict:
    """Say when it can be done at the earliest, and who would have to give way where that is too late.

    Takes some n log n steps for n others, and log n times that where somebody would have to give way.
    """
    sure = _Sure(document, asked)
    found = sure.earliest(others)
    seconds = sure.hours.seconds(asked.begins, asked.deadline)
    verdict = Verdict(found.at, needs_bps=sure.bits / max(1.0, seconds), looked_until=found.looked_until)
    if found.at is not None and found.at <= asked.deadline:
        return verdict
    ways = set(asked.path.ways)
    promised = [one for one in others if one.promised_bps and not ways.isdisjoint(one.path.ways)]
    promised.sort(key=lambda one: -one.promised_bps)
    count = sure.must_go(promised, others)
    return verdict if count is None else replace(verdict, give_way=tuple(promised[:count]))


@dataclass(frozen=True, slots=True)
class _Found:
    at: datetime | None
    looked_until: datetime | None = None


@dataclass(frozen=True, slots=True)
class _Steps:
    """A rate that changes: from each moment on, in bit/s; the first from the beginning."""

    moments: Sequence[datetime]
    rates: Sequence[float]
    """One more than moments."""

    def at(self, moment: datetime) -> float:
        return self.rates[bisect_right(self.moments, moment)]


class _Sure:
    """What is sure of a transfer's links, over time."""

    def __init__(self, document: m.QosDocument, asked: Deadline) -> None:
        self.asked = asked
        self.bits = asked.bytes * 8 * AHEAD
        self.hours = Timeline(asked.hours, asked.begins, asked.begins + MOST_AHEAD)
        self._links = {link.name: link for link in document.links}
        self._rules = {link: rules_on(document, link) for link in self._links}

    def must_go(self, promised: Sequence[Other], others: Sequence[Other]) -> int | None:
        """Return how many of `promised`, from the first on, would have to give way; `None` when all is not enough.

        That more go never makes it later, so half of what is in question is left out each time.
        """

        def is_enough(count: int) -> bool:
            gone = {one.transfer for one in promised[:count]}
            at = self.earliest([one for one in others if one.transfer not in gone]).at
            return at is not None and at <= self.asked.deadline

        if not promised or not is_enough(len(promised)):
            return None
        return bisect_left(range(1, len(promised)), True, key=is_enough) + 1  # noqa: FBT003 - what is looked for

    def earliest(self, others: Sequence[Other]) -> _Found:
        """Return when everything is there at the earliest: one walk over open hours and over what changes in them."""
        left, sure = self.bits, self._over_time(others)
        last = sure.moments[-1] if sure.moments else self.asked.begins
        for opens, closes in self.hours.spans():
            at, number = opens, bisect_right(sure.moments, opens)
            while at < closes:
                until = min(sure.moments[number], closes) if number < len(sure.moments) else closes
                bps, seconds = sure.rates[number], (until - at).total_seconds()
                if bps and bps * seconds >= left:
                    return _Found(at + timedelta(seconds=left / bps))
                if not bps and at >= last:
                    return _Found(None)
                left -= bps * seconds
                at, number = until, number + 1
        return _Found(None, self.hours.looked_until)

    def _over_time(self, others: Sequence[Other]) -> _Steps:
        """Return what is sure of all links together: of each moment the least of them."""
        taken = self._taken(others)
        ways = [way for way in self.asked.path.ways if self._links[way[0]].rate_bps is not None]
        steps = [self._of(way, others, taken) for way in ways]
        moments = sorted({moment for one in steps for moment in one.moments})
        own = [] if self.asked.rate_bps is None else [float(self.asked.rate_bps)]
        firsts = [self.asked.begins - _MOMENT, *moments]
        return _Steps(moments, [min([*(one.at(moment) for one in steps), *own]) for moment in firsts])

    def _of(self, way: tuple[str, Way], others: Sequence[Other], taken: Mapping[str, Sequence[_Taken]]) -> _Steps:
        """Return what is sure of a link: what others take of it changes, and higher priorities are done."""
        link, rules = self._links[way[0]], self._rules[way[0]]
        own = rules.get(self.asked.qos_class, OnLink())
        floors = sum(rule.floor_bps for name, rule in rules.items() if name != self.asked.qos_class)
        ends: dict[datetime, tuple[float, float]] = {}
        for one in others:
            if way not in one.path.ways:
                continue
            is_same = one.qos_class == self.asked.qos_class
            after = 0.0
            for until, bps in reversed(taken.get(one.transfer, ())):
                every, same = ends.get(until, (0.0, 0.0))
                ends[until] = every + bps - after, same + (bps - after if is_same else 0)
                after = bps
        free = self._higher_until(way, others)
        moments = sorted({*ends, *([free] if free > self.asked.begins else [])})
        # From the last on, so that of what has ended nothing is left over in the sums.
        every, same, rates = 0.0, 0.0, list[float]()
        for begins in reversed([self.asked.begins, *moments]):
            rate = float(link.rate_bps or 0) * (link.rest_percent / 100 if begins < free else 1)
            most = rate - floors - every
            rates.append(max(0.0, most if own.ceiling_bps is None else min(most, own.ceiling_bps - same)))
            gone = ends.get(begins, (0.0, 0.0))
            every, same = every + gone[0], same + gone[1]
        return _Steps(moments, rates[::-1])

    def _taken(self, others: Sequence[Other]) -> dict[str, Sequence[_Taken]]:
        """Return what each promise takes of its links, until when.

        One that has all that it needs takes that until its deadline. One that has not takes what others leave, in the
        order of promises, as soon as they do: what becomes free is not free for who asks now.
        """
        begins = self.asked.now or self.asked.begins
        promised = [one for one in others if one.deadline is not None and one.deadline > begins]
        short = [one for one in promised if one.promised_bps < WHOLE * one.needs_bps]
        lacking = {one.transfer for one in short}
        whole = [one for one in promised if one.transfer not in lacking]
        found: dict[str, list[_Taken]] = {
            one.transfer: [(one.deadline, one.promised_bps)] for one in whole if one.deadline is not None
        }
        left = {one.transfer: one.needs_bps * _seconds(begins, one.deadline) for one in short}
        at, moments = begins, sorted({one.deadline for one in promised if one.deadline}) if short else []
        free, gone = self._free(whole, short), 0
        whole.sort(key=lambda one: one.deadline or begins)
        for until in moments:
            rest = dict(free)
            for one in short:
                if one.deadline is None or one.deadline <= at:
                    continue
                room = min((rest[way] for way in one.path.ways if way in rest), default=0.0)
                bps = max(0.0, min(left[one.transfer] / _seconds(at, one.deadline), room))
                for way in one.path.ways:
                    if way in rest:
                        rest[way] -= bps
                left[one.transfer] -= bps * _seconds(at, until)
                found.setdefault(one.transfer, []).append((until, bps))
            while gone < len(whole) and (whole[gone].deadline or begins) <= until:
                for way in whole[gone].path.ways:
                    if way in free:
                        free[way] += whole[gone].promised_bps
                gone += 1
            at = until
        return {name: [one for one in taken if one[0] > self.asked.begins] for name, taken in found.items()}

    def _free(self, whole: Sequence[Other], short: Sequence[Other]) -> dict[tuple[str, Way], float]:
        """Return what links leave to promises that lack something: without floors, and what the `whole` ones have."""
        free = dict[tuple[str, Way], float]()
        for one in short:
            for way in one.path.ways:
                rate = self._links[way[0]].rate_bps
                if rate is not None and way not in free:
                    floors = (rule.floor_bps for name, rule in self._rules[way[0]].items() if name != one.qos_class)
                    free[way] = rate - sum(floors)
        for one in whole:
            for way in one.path.ways:
                if way in free:
                    free[way] -= one.promised_bps
        return free

    def _higher_until(self, way: tuple[str, Way], others: Sequence[Other]) -> datetime:
        """Return until when transfers of a higher priority may take all but the rest, if nobody leaves them more."""
        link, rules = self._links[way[0]], self._rules[way[0]]
        priority = rules.get(self.asked.qos_class, OnLink()).priority
        bits = sum(
            one.left_bits
            for one in others
            if one.runs and way in one.path.ways and rules.get(one.qos_class, OnLink()).priority > priority
        )
        bps = (link.rate_bps or 0) * (1 - link.rest_percent / 100)
        seconds = min(bits / bps if bps else 0, MOST_AHEAD.total_seconds())
        return self.asked.begins + timedelta(seconds=seconds)


def _seconds(begins: datetime, ends: datetime | None) -> float:
    return (ends - begins).total_seconds() if ends is not None else 0.0
