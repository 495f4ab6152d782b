"""Decisions that take long are made outside of transactions: a writing one keeps everybody else's changes waiting.

A decision on a folder that many rules name evaluates the rules up to a thousand times. Within a transaction as many
evaluations are made as do not hold it up. Where more are needed, `Undecided` ends it; the decision is made in a thread,
remembered, and holds for the next try if that asks just the same: labels, rights and budgets are read anew there.
"""

from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime, timedelta
from threading import Lock
from typing import Final

from headrace.api.clock import Clock
from headrace.api.errors import Code
from headrace.api.policy.deciding import Deciding
from headrace.api.signing.policy_hours import Unsettled, without_times
from headrace.guardrails import Budget, Decision, PolicySet, Spent, redecide

AT_ONCE: Final = 16
"""Evaluations that are made within a transaction."""
HOLDS: Final = timedelta(seconds=15)
"""How long a decision of now stands, once it is made, for the same transfer a little later."""
_REMEMBERED: Final = 1024


class Undecided(Unsettled):
    """A decision takes long: make it, and try again."""

    def __init__(self, wanted: "ToDecide") -> None:
        """Keep what to decide."""
        super().__init__(Code.OUTSIDE_HOURS, "policy is being asked about this; try again")
        self.wanted = wanted


@dataclass(frozen=True, slots=True)
class ToDecide:
    """A request to be decided."""

    key: tuple[str, str]
    policies: PolicySet | None
    record: str
    person: str


class SlowDecisions:
    """Makes decisions outside of transactions, and remembers them for a while."""

    def __init__(self, clock: Clock) -> None:
        """Let them stand by this clock."""
        self._clock = clock
        self._deciding = Deciding("slow decisions")
        self._made: OrderedDict[tuple[str, str], tuple[Decision, datetime]] = OrderedDict()
        """Each decision, and when it was made."""
        self._lock = Lock()

    def within(self, policies: PolicySet | None, record: str, person: str, *, transfer: str | None) -> Decision:
        """Decide at once, or as was decided before; raises `Undecided`. For threads.

        A sealed record (no `transfer`) is decided alike for good. One of now holds times that pass: what was decided
        just before stands for the same transfer, which alone may have a start of its own.
        """
        try:
            return redecide(policies, record, Budget(AT_ONCE))
        except Spent:
            pass
        asked = f"sealed {record}" if transfer is None else f"{transfer} {without_times(record)}"
        key = policies.version if policies else "", asked
        with self._lock:
            made, at = self._made.get(key, (None, None))
        if made is None or (transfer is not None and (at is None or not at <= self._clock() < at + HOLDS)):
            raise Undecided(ToDecide(key, policies, record, person))
        return made

    async def make(self, wanted: ToDecide) -> None:
        """Decide in a thread, and remember."""
        made = await self._deciding.run(wanted.person, redecide, wanted.policies, wanted.record)
        with self._lock:
            self._made[wanted.key] = made, self._clock()
            self._made.move_to_end(wanted.key)
            while len(self._made) > _REMEMBERED:
                self._made.popitem(last=False)
