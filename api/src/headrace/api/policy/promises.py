"""Whether a deadline can be kept beside what was promised to others: pure arithmetic.

It can where all come out as promised when links are served as they are (`forecast`), with it as without it. What is
sure of a link is what it carries, without the floors of other classes and without what transfers of a higher priority
may take until they are done.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from headrace.api.policy.fair_share import OnLink, rules_on
from headrace.api.policy.forecast import ENOUGH, Links, LinkWay, Outcome, Promise
from headrace.api.policy.links import Path
from headrace.client import models as m

AHEAD: Final = 1.05
"""What is promised above the content, for what travels with it."""
MOST_AHEAD: Final = timedelta(days=3660)
"""How far is looked."""
BEFORE: Final = timedelta(seconds=2)
"""So long before its deadline content is to be there: a transfer begins and ends with messages, and with a receipt."""
_PART: Final = 4
"""And at most this part of the time that is left."""
_NEAR: Final = timedelta(seconds=1)
_PARTS: Final = 256
"""How exactly the earliest time is looked for: a second, or this part of the time until then."""


@dataclass(frozen=True, slots=True)
class Other:
    """A transfer that is under way or waits."""

    transfer: str
    person: str
    qos_class: str
    path: Path
    left_bits: float
    runs: bool = False
    promise: Promise | None = None
    """What was promised to it; nothing where it has no deadline that holds."""


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


def aimed_at(deadline: datetime, now: datetime) -> datetime:
    """Return by when content is to be there, so that all is done by a deadline."""
    return deadline - min(BEFORE, max(timedelta(), deadline - now) / _PART)


def judge(document: m.QosDocument, asked: Promise, others: Sequence[Other], now: datetime) -> Verdict:
    """Say when it can be done at the earliest, and who would have to give way where that is too late.

    Works out twice what comes of all promises where it can be kept, and some 20 times where it can't. What is left of
    others was counted at `now`.
    """
    return _Sure(document, asked, others, min(now, asked.begins)).verdict()


def links_of(
    document: m.QosDocument,
    others: Sequence[Other],
    now: datetime,
    present: Mapping[LinkWay, Collection[str]] | None = None,
) -> Links:
    """Return what links have for promises, while transfers of a higher priority than theirs take all but the rest.

    `present`: which classes run, where only their floors count.
    """
    rules = {link.name: rules_on(document, link.name) for link in document.links}
    rates = {link.name: (link.rate_bps or 0) * (1 - link.rest_percent / 100) for link in document.links}

    def free(at: LinkWay, priority: int) -> datetime:
        higher = [
            one.left_bits
            for one in others
            if one.runs and at in one.path.ways and rules[at[0]].get(one.qos_class, OnLink()).priority > priority
        ]
        bps = rates[at[0]]
        return now + timedelta(seconds=min(sum(higher) / bps if bps else 0, MOST_AHEAD.total_seconds()))

    return Links(document, free, now, present)


def is_kept(promise: Promise, outcome: Outcome) -> bool:
    """Whether a promise comes out as it should."""
    return outcome.lacks[promise.transfer] <= (1 - ENOUGH) * promise.left_bits


@dataclass(frozen=True, slots=True)
class _Found:
    """When it is done behind all promises, or up to when was looked; neither: it is never done."""

    at: datetime | None
    looked_until: datetime | None = None


class _Sure:
    """What is sure of a transfer's links, beside what was promised to others."""

    def __init__(self, document: m.QosDocument, asked: Promise, others: Sequence[Other], now: datetime) -> None:
        self._asked, self._now = asked, now
        self._links = links_of(document, others, now)
        self._others = [one for one in others if one.promise is not None]
        promises = [one.promise for one in self._others if one.promise is not None]
        self._without = self._links.outcome(promises, behind=asked)

    def verdict(self) -> Verdict:
        behind, by = self._behind(), self._asked.deadline
        verdict = Verdict(behind.at, needs_bps=self._asked.needs_bps(self._asked.left_bits, self._now))
        if self._can_be_done(by):
            return verdict if behind.at is not None and behind.at <= by else replace(verdict, earliest=by)
        verdict = replace(verdict, looked_until=behind.looked_until, give_way=self._give_way())
        return verdict if behind.at is None else replace(verdict, earliest=self._earliest(behind.at))

    def _can_be_done(self, by: datetime, without: Sequence[Other] = ()) -> bool:
        """Whether it is done by then, and whoever has a promise lacks no more than without it."""
        wanted = replace(self._asked, deadline=by)
        gone = {one.transfer for one in without}
        others = [one.promise for one in self._others if one.promise is not None and one.transfer not in gone]
        found = self._links.outcome([*others, wanted])
        lacked = self._without.lacks
        return is_kept(wanted, found) and all(
            is_kept(one, found) or found.lacks[one.transfer] <= lacked[one.transfer] + 1 for one in others
        )

    def _earliest(self, behind: datetime) -> datetime | None:
        """Return the earliest time after its deadline by which it can be done; it is done `behind` all promises then.

        That is found by halves from a time on that is late enough: behind the last deadline it takes nothing from
        anybody. `None` where that lies farther than is looked.
        """
        early = self._asked.deadline
        late = max(behind, early + _NEAR)
        while not self._can_be_done(late):
            late = max([late + (late - self._now), *(one.promise.deadline for one in self._others if one.promise)])
            if late > self._now + MOST_AHEAD:
                return None
        near = max(_NEAR, (late - self._now) / _PARTS)
        while late - early > near:
            middle = early + (late - early) / 2
            early, late = (early, middle) if self._can_be_done(middle) else (middle, late)
        return late

    def _give_way(self) -> tuple[Other, ...]:
        """Return who would have to give way, whoever needs most first; nobody when that all do is not enough."""
        ways, now = set(self._asked.path.ways), self._now
        found = [one for one in self._others if not ways.isdisjoint(one.path.ways)]
        # Who runs at other times is named only where that is not enough: it may have pushed somebody else into these.
        found.sort(
            key=lambda one: (
                (not self._meets(one.promise), -one.promise.needs_bps(one.left_bits, now)) if one.promise else (True, 0)
            )
        )

        def is_enough(count: int) -> bool:
            return self._can_be_done(self._asked.deadline, found[:count])

        if not found or not is_enough(len(found)):
            return ()
        # That more go never makes it later, so half of what is in question is left out each time.
        return tuple(found[: bisect_left(range(1, len(found)), True, key=is_enough) + 1])  # noqa: FBT003 - what is looked for

    def _meets(self, other: Promise) -> bool:
        """Whether there is a time at which both may run."""
        return other.begins < self._asked.deadline and self._asked.begins < other.deadline

    def _behind(self) -> _Found:
        """Return when everything is there behind all promises: one walk over open hours and over what changes."""
        left, room = self._asked.left_bits, self._without
        last = room.moments[-1] if room.moments else self._asked.begins
        for opens, closes in self._asked.hours.spans():
            at = max(opens, self._asked.begins)
            number = bisect_right(room.moments, at)
            while at < closes:
                until = min(room.moments[number], closes) if number < len(room.moments) else closes
                bps, seconds = room.rates[number], (until - at).total_seconds()
                if bps and bps * seconds >= left:
                    return _Found(at + timedelta(seconds=left / bps))
                if not bps and at >= last:
                    return _Found(None)
                left -= bps * seconds
                at, number = until, number + 1
        return _Found(None, self._asked.hours.looked_until)
