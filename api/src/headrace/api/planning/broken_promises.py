"""Which deadlines another text of links, classes and calendars would no longer let be kept."""

import asyncio
from datetime import datetime
from typing import Final

from headrace.api.core import Core
from headrace.api.planning.admission import Others, others_of, read_others
from headrace.api.policy.forecast import Outcome, Promise
from headrace.api.policy.promises import is_kept, links_of
from headrace.api.policy.qos import InForce
from headrace.client import models as m
from headrace.client.text import bit_rate, utc

_MOST_NAMED: Final = 20


async def broken_promises(core: Core, held: InForce, document: m.QosDocument, now: datetime) -> list[m.QosProblem]:
    """Find the deadlines that are kept by `held`, and would not be by `document`."""
    async with core.database.read() as tx:
        others = await read_others(tx, core.underway, but="")
    broken = await asyncio.to_thread(_broken, (held, InForce(document)), others, now)
    deadlines = {row.id: row.deadline for row in others.rows}
    found = [
        m.QosProblem(where=f"transfer `{one.transfer}`", message=_said(one, outcome, now, deadlines[one.transfer]))
        for one, outcome in broken[:_MOST_NAMED]
    ]
    if len(broken) > _MOST_NAMED:
        found.append(m.QosProblem(where="", message=f"{len(broken) - _MOST_NAMED} more deadlines could not be kept"))
    return found


def _broken(versions: tuple[InForce, InForce], beside: Others, now: datetime) -> list[tuple[Promise, Outcome]]:
    (before, kept), (after, would_be) = (_come_out(held, beside, now) for held in versions)
    was_kept = {one.transfer: is_kept(one, kept) for one in before}
    return [(one, would_be) for one in after if not is_kept(one, would_be) and was_kept.get(one.transfer, True)]


def _come_out(held: InForce, beside: Others, now: datetime) -> tuple[list[Promise], Outcome]:
    others = others_of(held, beside, now)
    promises = [one.promise for one in others if one.promise is not None]
    return promises, links_of(held.document, others, now).outcome(promises)


def _said(one: Promise, outcome: Outcome, now: datetime, deadline: datetime) -> str:
    would_get = one.left_bits - outcome.lacks[one.transfer]
    needs, left = (bit_rate(round(one.needs_bps(bits, now))) for bits in (one.left_bits, would_get))
    links = ", ".join(one.path.links)
    return f"its deadline, {utc(deadline)}, needs {needs}, and {left} of {links} would be left for it"
