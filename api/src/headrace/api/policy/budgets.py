"""Budgets: what people and their assistants have used today, reserved at submission and settled at the end.

A reservation holds the plan's byte ceiling while its transfer runs, and what was really moved afterwards.
"""

from datetime import datetime
from zoneinfo import ZoneInfo

from sqlalchemy import bindparam, func, select, update
from sqlalchemy.dialects.sqlite import insert

from headrace.api.store import Tx
from headrace.api.store.base import Base
from headrace.api.store.tables_work import ReservationRow, TransferRow
from headrace.guardrails import Budgets


def day_of(now: datetime, zone: str) -> str:
    """Return the site's day (`2026-11-25`) to which `now` belongs."""
    return now.astimezone(ZoneInfo(zone)).date().isoformat()


async def used_today(tx: Tx, person: str, agent: str | None, day: str, *, without: str = "") -> Budgets:
    """Return what the person (and the person's agent) has used on `day`; the transfer `without` is left out."""
    asked = {"person": person, "agent": agent, "day": day, "without": without}
    person_bytes, agent_bytes, running = (await tx.execute(_USED, asked)).one()
    return Budgets(person_used_bytes=person_bytes, agent_used_bytes=agent_bytes, running_transfers=running)


async def reserve(tx: Tx, transfer: TransferRow, *, day: str, max_bytes: int) -> None:
    """Count a transfer's byte ceiling as used; with the check before it in one transaction this is atomic."""
    row = {
        "transfer": transfer.id, "person": transfer.requester, "agent": transfer.agent,
        "day": day, "bytes": max_bytes, "settled": False,
    }  # fmt: skip
    await tx.execute(_RESERVE, row)


async def settle(tx: Tx, transfer: str, moved_bytes: int) -> None:
    """Replace the reservation by what was moved."""
    await tx.execute(_SETTLE, {"of": transfer, "moved": moved_bytes})


_TABLE = Base.metadata.tables[ReservationRow.__tablename__]
_ROWS = _TABLE.c
_OTHERS = (_ROWS.person == bindparam("person"), _ROWS.transfer != bindparam("without"))
_OF_PERSON = select(func.coalesce(func.sum(_ROWS.bytes), 0)).where(*_OTHERS, _ROWS.day == bindparam("day"))
_USED = select(
    _OF_PERSON.scalar_subquery(),
    _OF_PERSON.where(_ROWS.agent == bindparam("agent")).scalar_subquery(),
    select(func.count()).where(*_OTHERS, _ROWS.settled.is_(False)).scalar_subquery(),
)
_MADE = insert(_TABLE)
_RESERVE = _MADE.on_conflict_do_update(
    index_elements=[_ROWS.transfer],
    set_={"day": _MADE.excluded.day, "bytes": _MADE.excluded.bytes, "settled": _MADE.excluded.settled},
)
_SETTLE = update(_TABLE).where(_ROWS.transfer == bindparam("of")).values(bytes=bindparam("moved"), settled=True)
