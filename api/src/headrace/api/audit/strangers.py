"""What strangers cause in the audit log: as many lines as somebody can read, and then one that counts the rest.

Whoever reaches the service can be refused as often as they like, before anybody is known. Such a refusal is written as
a line of its own up to ten times an hour for one network and a hundred times an hour for all of a kind; what is beyond
is only counted, costs the store nothing, and stands in one line an hour. A count that is not written yet is lost when
the service ends.
"""

from collections import Counter
from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from typing import Final

from headrace.api.audit.chain import Audit
from headrace.api.clock import Clock
from headrace.api.store import Database, unless_committed
from headrace.auth import Limit, Throttle, network_of
from headrace.client import models as m

LOOK_S: Final = 60
_HOUR = timedelta(hours=1)
_OF_ALL: Final = Limit(100, _HOUR)
_OF_ONE: Final = Limit(10, _HOUR)
_COUNTED: Final = Limit(1, _HOUR)


class Strangers:
    """Writes what is refused before it is known who asks."""

    def __init__(self, database: Database, audit: Audit, clock: Clock) -> None:
        """Append to `audit`."""
        self._database = database
        self._audit = audit
        self._clock = clock
        self._throttle = Throttle()
        self._unwritten: Counter[m.AuditKind] = Counter()

    async def refused(
        self, kind: m.AuditKind, *, address: str = "", subject: str = "", detail: Mapping[str, str]
    ) -> None:
        """Write a refusal, or only count it; `address` is where it came from, if that is known."""
        limits = {f"all:{kind}": _OF_ALL}
        if address:
            limits[f"network:{kind}:{network_of(address)}"] = _OF_ONE
        if self._throttle.attempt(limits, self._clock()) is not None:
            self._unwritten[kind] += 1
            return
        async with self._database.write() as tx:
            await self._audit.append(tx, kind, subject=subject, detail=detail)

    async def tell(self) -> None:
        """Write how many were only counted since it was last told: one line of a kind, at most one an hour."""
        for kind, count in list(self._unwritten.items()):
            limit = f"counted:{kind}"
            if self._throttle.attempt({limit: _COUNTED}, self._clock()) is not None:
                continue
            async with self._database.write() as tx:
                # What can't be written now is told later.
                unless_committed(tx, partial(self._throttle.forget, limit))
                reason = f"{count} more were refused that have no line of their own"
                await self._audit.append(tx, kind, detail={"reason": reason})
            self._unwritten[kind] -= count
            if not self._unwritten[kind]:
                del self._unwritten[kind]
