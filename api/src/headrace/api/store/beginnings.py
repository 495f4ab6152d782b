"""What is named by the beginning of its id: whoever types one types as much of it as it takes."""

from typing import Any, Final, TypeVar

from sqlalchemy import Select
from sqlalchemy.orm import InstrumentedAttribute

from headrace.api.errors import Code, ServiceError
from headrace.api.store.database import Tx
from headrace.guardrails import shown

_LEAST: Final = 4
"""Characters of an id, beside its prefix, that name something: fewer would soon name something else."""
_LISTED: Final = 5
_CUT_OFF: Final = ".\N{HORIZONTAL ELLIPSIS}"
"""What stands behind an id that was cut off where it was shown."""
_T = TypeVar("_T")


async def begun_by(  # noqa: PLR0913 - what, where, and how its refusal is written
    tx: Tx,
    query: Select[_T],
    ids: InstrumentedAttribute[str],
    named: str,
    *,
    prefix: str,
    things: str,
    unknown: Code,
    code: Code = Code.AMBIGUOUS_ID,
) -> _T | None:
    """Return the only row of `query` whose id begins with `named`, with or without the `prefix` of such ids.

    `query` must hold only what the caller may see. Several are refused with `code`, and listed; `things` says what they
    are. Too short a beginning of one is refused with `unknown`, and the id told. One that is named in full is found
    before.
    """
    named = named.rstrip(_CUT_OFF)
    if not named:
        return None
    wanted = named if named.startswith(prefix) else f"{prefix}{named}"
    # As a range, so that the index finds it.
    begins_so = query.where(ids >= wanted, ids < f"{wanted}~").order_by(ids).limit(_LISTED + 1)
    rows = list(await tx.scalars(begins_so))
    if len(rows) > 1:
        found: list[Any] = [getattr(row, ids.key) for row in rows]
        listed = ", ".join(f"`{one}`" for one in found[:_LISTED])
        more = " and more" if len(found) > _LISTED else ""
        raise ServiceError(
            code, f"`{shown(named[:80])}` is the beginning of several {things}: {listed}{more}; give more of the id"
        )
    if rows and len(wanted) < len(prefix) + _LEAST:
        [found] = (getattr(row, ids.key) for row in rows)
        raise ServiceError(
            unknown, f"`{shown(named)}` is only the beginning of an id: give the whole id, which may be `{found}`"
        )
    return rows[0] if rows else None
