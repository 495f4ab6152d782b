"""When policy would let a denied plan run: searched in a thread, outside of transactions, and remembered.

The search decides up to 341 times. Whoever meets a denial that is not known yet rolls back, lets it be searched, and
tries again; the same denial is then answered from memory until its hours open, or for an hour where they never do.
"""

import asyncio
import hashlib
import json
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from headrace.api.errors import Code, ServiceError
from headrace.guardrails import Decision, PolicySet, canonical, next_hours

_REMEMBERED: Final = 1024
_NEVER_HOLDS: Final = timedelta(hours=1)
_TIMES: Final = frozenset({"now", "start", "weekday", "minute"})


class Unsettled(ServiceError):  # noqa: N818 - says what is the case
    """Something is to be found out before this can be answered: outside of the transaction, which is tried again."""


class HoursUnknown(Unsettled):
    """Whether only the hours are against a plan is not known yet: search, and try again."""

    def __init__(self, denial: "Denial") -> None:
        """Keep what to search."""
        super().__init__(Code.OUTSIDE_HOURS, "policy denies this now; whether it does at other hours is being searched")
        self.denial = denial


@dataclass(frozen=True, slots=True)
class Denial:
    """A denial, and until when other hours would help."""

    key: str
    decision: Decision
    at: datetime
    until: datetime


@dataclass(frozen=True, slots=True)
class _Found:
    opens: datetime | None
    holds_until: datetime


class PolicyHours:
    """Remembers when denied plans may run."""

    def __init__(self, zone: str) -> None:
        """Hours are those of the site's `zone`."""
        self._zone = zone
        self._found: OrderedDict[str, _Found] = OrderedDict()

    def opening(self, decision: Decision, at: datetime, until: datetime) -> datetime | None:
        """Return when a denied plan may run before `until`, `None` if it may not; raises `HoursUnknown`."""
        key = _key(decision)
        found = self._found.get(key)
        if found is None or at >= found.holds_until:
            raise HoursUnknown(Denial(key, decision, at, until))
        return found.opens if found.opens is not None and found.opens < until else None

    async def search(self, policies: PolicySet | None, denial: Denial) -> None:
        """Search in a thread, and remember."""
        opens = await asyncio.to_thread(
            next_hours, policies, denial.decision, denial.at, self._zone, within=denial.until - denial.at
        )
        self._found[denial.key] = _Found(opens, opens or denial.at + _NEVER_HOLDS)
        while len(self._found) > _REMEMBERED:
            self._found.popitem(last=False)


def _key(decision: Decision) -> str:
    """Name a denial by policy and request; times are left out, which the search varies."""
    asked = without_times(decision.context_json)
    return hashlib.sha256(f"{decision.policy_version}\0{asked}".encode()).hexdigest()


def without_times(text: str) -> str:
    """Return a recorded request without the facts that are of the time at which it is decided."""
    record = json.loads(text)
    context = record.get("context")
    if isinstance(context, Mapping):
        record["context"] = {name: fact for name, fact in context.items() if name not in _TIMES}
    return canonical(record).decode()
