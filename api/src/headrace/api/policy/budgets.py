"""Budgets: what people and their assistants use in a day, reserved at submission and settled at the end.

A reservation holds the plan's byte ceiling while its transfer runs, and what was really moved afterwards. It counts on
the day when the transfer is to start, and an attempt that begins on another day takes what is left of it there. What an
attempt moved stays counted, whatever becomes of the transfer.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

from sqlalchemy import BigInteger, bindparam, case, cast, func, select, update

from headrace.api.store import Tx
from headrace.api.store.base import Base
from headrace.api.store.dialects import insert, least
from headrace.api.store.tables_work import ReservationRow, TransferRow
from headrace.guardrails import Budgets


def day_of(now: datetime, zone: str) -> str:
    """Return the site's day (`2026-11-25`) to which `now` belongs."""
    return now.astimezone(ZoneInfo(zone)).date().isoformat()


def day_of_start(transfer: TransferRow, now: datetime, zone: str) -> str:
    """Return the site's day on which a transfer that may start now is to start."""
    return day_of(max(now, transfer.starts or now), zone)


async def used_today(tx: Tx, person: str, agent: str | None, day: str, *, without: str = "") -> Budgets:
    """Return what the person (and the person's agent) has used on `day`; the transfer `without` is left out."""
    asked = {"person": person, "agent": agent, "day": day, "without": without}
    person_bytes, agent_bytes, running = (await tx.execute(_USED, asked)).one()
    return Budgets(person_used_bytes=person_bytes, agent_used_bytes=agent_bytes, running_transfers=running)


def reserve(tx: Tx, transfer: TransferRow, *, day: str, max_bytes: int, max_files: int = 0) -> None:
    """Count a transfer's ceilings as used; with the check before it in one transaction this is atomic."""
    row = {
        "transfer": transfer.id, "person": transfer.requester, "agent": transfer.agent,
        "day": day, "bytes": max_bytes, "moved": 0, "settled": False, "files": max_files,
    }  # fmt: skip
    tx.gather(_reserve, row)


def begin_on(tx: Tx, transfer: str, day: str) -> None:
    """Let what is left of a reservation count on the day when an attempt begins."""
    tx.gather(_move, {"of": transfer, "on": day})


async def _reserve(tx: Tx, rows: Sequence[Mapping[str, object]]) -> None:
    await tx.execute(_RESERVE, rows)


async def _move(tx: Tx, rows: Sequence[Mapping[str, object]]) -> None:
    await tx.execute(_MOVE, rows)


async def keep(tx: Tx, transfer: str, moved_bytes: int) -> None:
    """Note what an attempt moved, when another one may follow."""
    await tx.execute(_KEEP, {"of": transfer, "moved_now": moved_bytes})


async def settle(tx: Tx, transfer: str, moved_bytes: int, files: int = 0) -> None:
    """Replace the reservation by what the last attempt and those before it moved."""
    await tx.execute(_SETTLE, {"of": transfer, "moved_now": moved_bytes, "files_now": files})


_TABLE = Base.metadata.tables[ReservationRow.__tablename__]
_ROWS = _TABLE.c
_OTHERS = (_ROWS.person == bindparam("person"), _ROWS.transfer != bindparam("without"))
_SUM = cast(func.coalesce(func.sum(_ROWS.bytes), 0), BigInteger)  # PostgreSQL adds up to a number with decimals
_OF_PERSON = select(_SUM).where(*_OTHERS, _ROWS.day == bindparam("day"))
_USED = select(
    _OF_PERSON.scalar_subquery(),
    _OF_PERSON.where(_ROWS.agent == bindparam("agent")).scalar_subquery(),
    select(func.count()).where(*_OTHERS, _ROWS.settled.is_(False)).scalar_subquery(),
)
_MADE = insert(_TABLE)
_MOVED_THAT_DAY = case((_ROWS.day == _MADE.excluded.day, _ROWS.moved), else_=0)
_RESERVE = _MADE.on_conflict_do_update(
    index_elements=[_ROWS.transfer],
    set_={
        "day": _MADE.excluded.day,
        "bytes": _MADE.excluded.bytes + _MOVED_THAT_DAY,
        "moved": _MOVED_THAT_DAY,
        "settled": _MADE.excluded.settled,
        "files": _MADE.excluded.files + case((_ROWS.day == _MADE.excluded.day, _ROWS.files), else_=0),
    },
)
_OF = update(_TABLE).where(_ROWS.transfer == bindparam("of"))
_MOVE = _OF.where(_ROWS.day != bindparam("on")).values(day=bindparam("on"), bytes=_ROWS.bytes - _ROWS.moved, moved=0)
# Never more than was reserved: an attempt may count again what one before it moved.
_MOVED = least(_ROWS.bytes, _ROWS.moved + bindparam("moved_now"))
_KEEP = _OF.values(moved=_MOVED)
_SETTLE = _OF.values(bytes=_MOVED, moved=_MOVED, settled=True, files=least(_ROWS.files, bindparam("files_now")))
