"""Deadlines of transfers: whether one can be kept, by its own hours and ceiling, and by what links guarantee."""

import json
from datetime import datetime

from headrace.api.caller import Caller
from headrace.api.errors import Code, ServiceError
from headrace.api.planning.admission import Admission, WantedDeadline, sees
from headrace.api.planning.schedule import Schedule
from headrace.api.policy.qos import InForce
from headrace.api.store import Tx
from headrace.api.store.tables_work import TransferRow
from headrace.guardrails import OpenHours


def own_hours(row: TransferRow) -> OpenHours | None:
    """Return the hours that were asked for of a transfer."""
    return OpenHours.read(json.loads(row.hours)) if row.hours else None


async def require_deadline(  # noqa: PLR0913, PLR0917 - what is asked, and of what
    tx: Tx, caller: Caller, admission: Admission, held: InForce, row: TransferRow, left_bytes: int, now: datetime
) -> None:
    """Refuse a transfer's deadline that can't be kept for what is left, by what others were promised until now.

    Raises `Unjudged`, too (`Admission`).
    """
    late = await why_late(tx, sees(caller), admission, held, row, left_bytes, now)
    if late:
        raise ServiceError(Code.DEADLINE_INFEASIBLE, late, fields=("deadline",))


async def why_late(  # noqa: PLR0913, PLR0917 - what is asked, and of what
    tx: Tx, whose: str | None, admission: Admission, held: InForce, row: TransferRow, left_bytes: int, now: datetime
) -> str:
    """Say why a transfer's deadline can't be kept for what is left; empty if it can. Raises `Unjudged`.

    Other transfers are named of `whose` alone (a person), or of everybody.
    """
    if row.deadline is None:
        return ""
    own = own_hours(row)
    begins = max(now, row.starts or now)
    late = Schedule(begins=begins, starts=None, hours=own, deadline=row.deadline).infeasible(
        left_bytes, row.rate_ceiling_bps, held.hours_of(row.qos_class, own)
    )
    if late or not held.document.links:
        return late
    return await admission.why_not(tx, whose, held, wanted_of(row, left_bytes, begins), now)


def wanted_of(row: TransferRow, left_bytes: int, begins: datetime) -> WantedDeadline:
    """Return what is to be done by a transfer's deadline."""
    return WantedDeadline(
        transfer=row.id,
        bytes=left_bytes,
        begins=begins,
        deadline=row.deadline,
        hours=own_hours(row),
        qos_class=row.qos_class,
        source=row.source_node,
        destination=row.destination_node,
        rate_bps=row.rate_ceiling_bps,
    )
