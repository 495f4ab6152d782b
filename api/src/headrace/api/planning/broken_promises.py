"""Which deadlines another text of links, classes and calendars would no longer let be kept."""

import asyncio
from collections.abc import Mapping
from datetime import datetime
from typing import Final

from headrace.api.planning.admission import Rows, others_of, rows_of_others
from headrace.api.policy.promises import WHOLE, Other
from headrace.api.policy.qos import InForce, node_keys
from headrace.api.store import Database
from headrace.client import models as m
from headrace.client.text import bit_rate

_MOST_NAMED: Final = 20


async def broken_promises(
    database: Database, held: InForce, document: m.QosDocument, now: datetime
) -> list[m.QosProblem]:
    """Find the deadlines that are guaranteed all that they need by `held`, and would not be by `document`."""
    async with database.read() as tx:
        keys, rows = await node_keys(tx), await rows_of_others(tx, but="")
    broken = await asyncio.to_thread(_broken, (held, InForce(document)), keys, rows, now)
    found = [m.QosProblem(where=f"transfer `{one.transfer}`", message=_said(one)) for one in broken[:_MOST_NAMED]]
    if len(broken) > _MOST_NAMED:
        found.append(m.QosProblem(where="", message=f"{len(broken) - _MOST_NAMED} more deadlines could not be kept"))
    return found


def _broken(versions: tuple[InForce, InForce], keys: Mapping[str, str], rows: Rows, now: datetime) -> list[Other]:
    before, after = ({one.transfer: one for one in others_of(held, keys, rows, now)} for held in versions)
    return [
        one
        for one in after.values()
        if not _is_kept(one) and (one.transfer not in before or _is_kept(before[one.transfer]))
    ]


def _is_kept(one: Other) -> bool:
    return one.promised_bps >= WHOLE * one.needs_bps


def _said(one: Other) -> str:
    needs, left, links = bit_rate(int(one.needs_bps)), bit_rate(int(one.promised_bps)), ", ".join(one.path.links)
    by = f"{one.deadline:%Y-%m-%d %H:%M} UTC" if one.deadline else ""
    return f"its deadline, {by}, needs {needs}, and {left} of {links} would be left for it"
