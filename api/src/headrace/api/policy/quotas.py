"""Quotas are checked and reserved in the transaction that starts a transfer: two at once never both take what is left.

What counts is the transfer's reservation (`budgets`): its ceilings while it runs, then what it moved.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Final

from sqlalchemy import BigInteger, and_, bindparam, case, cast, delete, func, or_, select, tuple_

from headrace.api.caller import Caller
from headrace.api.core import Core
from headrace.api.errors import Code, Retry, ServiceError
from headrace.api.paging import page_of
from headrace.api.policy.budgets import day_of
from headrace.api.policy.quota_rules import (
    EACH,
    Limit,
    Quota,
    Used,
    Whose,
    against,
    limit_of,
    limits_of,
    quota_use,
    renewal,
)
from headrace.api.store import Tx
from headrace.api.store.base import Base, Utc
from headrace.api.store.dialects import insert
from headrace.api.store.tables_site import ELSEWHERE, PersonRow
from headrace.api.store.tables_work import QuotaKeyRow, ReservationRow, TransferRow
from headrace.auth import Principal, Scope
from headrace.client import models as m

_MOST_REMOVED: Final = 500
_SEES_ALL = (Scope.NODE_WRITE, Scope.ADMIN, Scope.AUDIT_READ)


class Quotas:
    """The quotas of one site."""

    def __init__(self, core: Core, quotas: tuple[Quota, ...]) -> None:
        """Keep to `quotas`."""
        self._core = core
        self._quotas = quotas

    async def require(self, tx: Tx, row: TransferRow, principal: Principal, wanted: Used, day: str) -> None:
        """Refuse a transfer that would go over a quota, and count it under each that concerns it. See `budgets`."""
        if self._quotas:
            # Whoever submits what an assistant planned uses that assistant's quota, as the plan said.
            concerned = whose(principal, row.source, row.destination, row.project or "")
            limits = limits_of(self._quotas, replace(concerned, agent=row.agent))
            await self._require(tx, limits, wanted, day)
            for limit in limits:
                tx.gather(_count, {"key": limit.key, "transfer": row.id})

    async def require_again(self, tx: Tx, row: TransferRow, wanted: Used, day: str) -> None:
        """Refuse another try of a transfer that would go over a quota under which it counts."""
        if self._quotas:
            keys = set(await tx.scalars(select(QuotaKeyRow.key).where(QuotaKeyRow.transfer == row.id)))
            await self._require(tx, await self._limits(tx, keys), wanted, day)

    async def of_plan(self, concerned: Whose, wanted: Used, day: str) -> tuple[list[m.QuotaUse], list[str]]:
        """Return the quotas that concern a plan, and what will stand against it if nothing changes."""
        limits = limits_of(self._quotas, concerned)
        if not limits:
            return [], []
        renews = renewal(day, self._core.settings.timezone)
        async with self._core.database.read() as tx:
            used = await _used(tx, [limit.key for limit in limits], day)
        found = filter(None, (against(limit, used[limit.key], wanted, renews) for limit in limits))
        return [quota_use(limit, used[limit.key], renews) for limit in limits], [one.said for one in found]

    async def page(self, caller: Caller, *, after: str | None, limit: int) -> m.Page[m.QuotaUse]:
        """List the quotas of the caller, of places and of projects; operators, auditors and admins see all.

        They come by what each is of. Those in use are as many as have moved something today: what a page does not
        show is read by its key alone.
        """
        if not self._quotas:
            return m.Page(items=[])
        principal, zone = caller.principal, self._core.settings.timezone
        day = day_of(self._core.clock(), zone)
        mine = {limit.key: limit for limit in limits_of(self._quotas, whose(principal, "", ""))}
        # Anybody may go there, and name any project.
        anybodys = {"endpoint", "destination", "project"}
        places = (one for one in self._quotas if one.of in anybodys and one.subject != EACH)
        mine |= {(key := f"{one.of}:{one.subject}"): Limit(one, key) for one in places}
        async with self._core.database.read() as tx:
            in_use: Sequence[str] = ()
            if any(map(principal.may, _SEES_ALL)):
                in_use = list(await tx.scalars(_KEYS_IN_USE, {"day": day}))
            # Put in order here: a database has an order of its own.
            page = page_of(sorted(key for key in {*in_use, *mine} if key > (after or "")), limit, str)
            others = await self._limits(tx, [key for key in page if key not in mine])
            mine |= {limit.key: limit for limit in others}
            shown = [key for key in page if key in mine]
            used = await _used(tx, shown, day)
        return m.Page(items=[quota_use(mine[key], used[key], renewal(day, zone)) for key in shown], next=page.next)

    async def remove_old(self) -> None:
        """Forget under which quotas transfers counted that ended so long ago that nobody can try them again."""
        settings = self._core.settings
        now = self._core.clock()
        asked = {"today": day_of(now, settings.timezone), "before": now - timedelta(seconds=settings.retry_valid_s)}
        while True:
            async with self._core.database.read() as tx:
                old = [tuple(row) for row in await tx.execute(_OLD, asked)]
            if not old:
                return
            async with self._core.database.write() as tx:
                await tx.execute(delete(QuotaKeyRow).where(tuple_(_KEYS.key, _KEYS.transfer).in_(old)))

    async def _limits(self, tx: Tx, keys: Collection[str]) -> tuple[Limit, ...]:
        """Return the quotas that limit what counts under these keys, as far as there still are any."""
        people = [key.partition(":")[2] for key in keys if key.startswith("person:")]
        names = {}
        if people:
            known = (PersonRow.id.in_(people), PersonRow.name_key.not_like(f"{ELSEWHERE}%"))
            found = await tx.execute(select(PersonRow.id, PersonRow.name).where(*known))
            names = {row.id: row.name for row in found}
        limits = (limit_of(self._quotas, key, names.get(key.partition(":")[2], "")) for key in sorted(keys))
        return tuple(filter(None, limits))

    async def _require(self, tx: Tx, limits: Sequence[Limit], wanted: Used, day: str) -> None:
        if not limits:
            return
        used = await _used(tx, [limit.key for limit in limits], day)
        renews = renewal(day, self._core.settings.timezone)
        for limit in limits:
            refusal = against(limit, used[limit.key], wanted, renews)
            if refusal:
                passes_after_s = refusal.passes_after_s(self._core.clock()) or Retry.NOT_BY_ITSELF
                raise ServiceError(Code.QUOTA_EXCEEDED, refusal.said, retry_after_s=passes_after_s)


def whose(principal: Principal, source: str, destination: str, project: str = "") -> Whose:
    """Return whom and what a transfer concerns."""
    name = principal.name if principal.local else ""
    return Whose(principal.id, name, principal.agent, principal.groups, source, destination, project)


async def _used(tx: Tx, keys: Collection[str], day: str) -> Mapping[str, Used]:
    """Return what counts under each key."""
    rows = await tx.execute(_USED, {"keys": list(keys), "day": day})
    found = {key: Used(bytes_, files, transfers) for key, bytes_, files, transfers in rows}
    return {key: found.get(key, Used()) for key in keys}


async def _count(tx: Tx, rows: Sequence[Mapping[str, object]]) -> None:
    await tx.execute(_ADD, rows)


_KEYS = Base.metadata.tables[QuotaKeyRow.__tablename__].c
_TAKEN = Base.metadata.tables[ReservationRow.__tablename__].c
_ADD = insert(_KEYS.key.table).on_conflict_do_nothing()
_COUNTS = and_(_KEYS.transfer == _TAKEN.transfer, or_(_TAKEN.day == bindparam("day"), _TAKEN.settled.is_(False)))
_TODAY = _TAKEN.day == bindparam("day")
_USED = (
    select(
        _KEYS.key,
        cast(func.sum(case((_TODAY, _TAKEN.bytes), else_=0)), BigInteger),
        cast(func.sum(case((_TODAY, _TAKEN.files), else_=0)), BigInteger),
        cast(func.sum(case((_TAKEN.settled.is_(False), 1), else_=0)), BigInteger),
    )
    .where(_COUNTS, _KEYS.key.in_(bindparam("keys", expanding=True)))
    .group_by(_KEYS.key)
)
_OLD = (
    select(_KEYS.key, _KEYS.transfer)
    .join(_TAKEN.transfer.table, _TAKEN.transfer == _KEYS.transfer)
    .join(TransferRow, TransferRow.id == _KEYS.transfer)
    .where(_TAKEN.settled, _TAKEN.day < bindparam("today"), TransferRow.ended < bindparam("before", type_=Utc))
    .limit(_MOST_REMOVED)
)
_KEYS_IN_USE = select(_KEYS.key).where(_COUNTS).distinct()
