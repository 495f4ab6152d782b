"""What changes, as a caller may know of it: the outbox, without what is not theirs to see."""

import asyncio
from collections.abc import AsyncGenerator, Mapping

from sqlalchemy import select

from headrace.api.caller import Caller
from headrace.api.core import Core
from headrace.api.events.broker import wait_for
from headrace.api.events.outbox import EVENTS, OutboxEntry
from headrace.api.permissions import missing
from headrace.api.planning.plan_queries import visible_to
from headrace.api.store.tables_work import PlanRow, TransferRow
from headrace.api.transfers.queries import visible_transfers
from headrace.client import models as m

_PAGE = 200
_LISTED_BY: Mapping[str, str] = {
    m.ChangeKind.NODE: "nodes",
    m.ChangeKind.ENDPOINT: "endpoints",
    m.ChangeKind.POLICY: "policies",
    m.ChangeKind.QOS: "qos_versions",
    m.ChangeKind.HALT: "halts",
}
"""Kind of change -> the call whose answer it is a change of: who may make the call may know of the change."""
_BY_SUBJECT = frozenset[str]({m.ChangeKind.PLAN, m.ChangeKind.TRANSFER})
"""Kinds of which the store says whose each is."""


class ChangeFeed:
    """Shows changes as they come."""

    def __init__(self, core: Core) -> None:
        """Read the outbox."""
        self._core = core

    async def watch(self, caller: Caller, after: int | None) -> AsyncGenerator[m.Change]:
        """Yield the changes after number `after` (`None`: from now on) in order, while the caller's rights last.

        The first message comes at once: `now` with the number to begin after, or `reload`.
        """
        outbox, broker = self._core.outbox, self._core.broker
        loop, heartbeat_s = asyncio.get_running_loop(), self._core.settings.heartbeat_s
        look_again = loop.time() + heartbeat_s
        with broker.subscribe(EVENTS, principal=caller.principal) as woken:
            removed, newest = await outbox.bounds()
            if after is None or after > newest:
                # A number from the future is of another store.
                yield m.Change(
                    sequence=newest,
                    at=self._core.clock(),
                    kind=m.ChangeKind.NOW if after is None else m.ChangeKind.RELOAD,
                )
                after = newest
            elif after < removed:
                yield m.Change(sequence=newest, at=self._core.clock(), kind=m.ChangeKind.RELOAD)
                after = newest
            else:
                yield m.Change(sequence=after, at=self._core.clock(), kind=m.ChangeKind.NOW)
            while not broker.closing:
                woken.clear()
                if loop.time() >= look_again:
                    caller, look_again = await caller.renewed("changes"), loop.time() + heartbeat_s
                found = await outbox.after(after, _PAGE)
                for change in await self._visible(caller, found):
                    yield m.Change(
                        sequence=change.sequence,
                        at=change.at,
                        kind=change.kind,
                        subject=change.subject,
                        state=change.state,
                    )
                after = found[-1].sequence if found else after
                if not found:
                    await wait_for(woken, look_again - loop.time())

    async def _visible(self, caller: Caller, changes: list[OutboxEntry]) -> list[OutboxEntry]:
        """Leave out others' plans and transfers, changes of lists that the caller may not read, and unknown kinds."""
        listed = {kind for kind, method in _LISTED_BY.items() if missing(caller.principal, method) is None}
        subjects = {kind: {one.subject for one in changes if one.kind == kind} for kind in _BY_SUBJECT}
        plans = select(PlanRow.id).where(PlanRow.id.in_(subjects["plan"]), visible_to(caller))
        transfers = select(TransferRow.id).where(TransferRow.id.in_(subjects["transfer"]), visible_transfers(caller))
        async with self._core.database.read() as tx:
            seen = set(await tx.scalars(plans)) if subjects["plan"] else set()
            seen |= set(await tx.scalars(transfers)) if subjects["transfer"] else set()
        return [one for one in changes if one.kind in listed or (one.kind in subjects and one.subject in seen)]
