"""Budgets: what people and their assistants have used today, reserved at submission and settled at the end.

A reservation holds the plan's byte ceiling while its transfer runs, and what was really moved afterwards.
"""

from datetime import datetime
from zoneinfo import ZoneInfo

from sqlalchemy import func, select, update

from headrace.api.store import Tx
from headrace.api.store.tables_work import ReservationRow, TransferRow
from headrace.guardrails import Budgets


def day_of(now: datetime, zone: str) -> str:
    """Return the site's day (`2026-11-25`) to which `now` belongs."""
    return now.astimezone(ZoneInfo(zone)).date().isoformat()


async def used_today(tx: Tx, person: str, agent: str | None, day: str, *, without: str = "") -> Budgets:
    """Return what the person (and the person's agent) has used on `day`; the transfer `without` is left out."""
    rows = ReservationRow
    of_person = select(func.coalesce(func.sum(rows.bytes), 0)).where(
        rows.person == person, rows.day == day, rows.transfer != without
    )
    running = select(func.count()).where(rows.person == person, rows.settled.is_(False), rows.transfer != without)
    agent_bytes = await tx.scalar(of_person.where(rows.agent == agent)) if agent is not None else 0
    return Budgets(
        person_used_bytes=await tx.scalar(of_person) or 0,
        agent_used_bytes=agent_bytes or 0,
        running_transfers=await tx.scalar(running) or 0,
    )


async def reserve(tx: Tx, transfer: TransferRow, *, day: str, max_bytes: int) -> None:
    """Count a transfer's byte ceiling as used; with the check before it in one transaction this is atomic."""
    row = await tx.get(ReservationRow, transfer.id)
    if row is None:
        tx.add(
            ReservationRow(
                transfer=transfer.id,
                person=transfer.requester,
                agent=transfer.agent,
                day=day,
                bytes=max_bytes,
                settled=False,
            )
        )
    else:
        row.day, row.bytes, row.settled = day, max_bytes, False
    await tx.flush()


async def settle(tx: Tx, transfer: str, moved_bytes: int) -> None:
    """Replace the reservation by what was moved."""
    query = update(ReservationRow).where(ReservationRow.transfer == transfer)
    await tx.execute(query.values(bytes=moved_bytes, settled=True))
