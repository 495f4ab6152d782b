"""Which promises of transfers that do not run can't be kept as things stand: told before they are broken.

What runs is seen by what it gets. A promise that begins later was judged when it was made; since then links may have
another text, a higher priority may run, or it may wait longer than it was to. Of one that is paused, which has given
its place up, only what its links carry at most is looked at: whether it is promised again is judged when it goes on.
So it is of one that runs and does not move, whose rate says nothing.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from headrace.api.core import Core
from headrace.api.planning.admission import Others, others_of, read_others, read_paused
from headrace.api.policy.links import narrowest
from headrace.api.policy.promises import AHEAD, Other, is_kept, links_of
from headrace.api.policy.qos import InForce, QosVersions
from headrace.client import models as m
from headrace.client.text import bit_rate, byte_size, duration

LOOK_S: Final = 30
"""Time between looks."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """What links say of a promise that does not run, or does not move."""

    why: str = ""
    """Why it would not be kept; empty when it would, or when nobody knows."""
    late_s: int | None = None
    """By how much it would come late at least."""
    known: bool = False
    """Whether they say that it will be kept, or not."""


NO_FORECAST: Final = Forecast()
_KEPT: Final = Forecast(known=True)


class Outlook:
    """Looks ahead for what has a promise and does not run."""

    def __init__(self, core: Core, qos: QosVersions) -> None:
        """Look every half minute, by what is in force of `qos`."""
        self._core = core
        self._qos = qos
        self._found = dict[str, Forecast]()
        core.jobs.every("look at promises", LOOK_S, self.look)

    def of(self, transfer: str) -> Forecast:
        """Return what was found last of a promise."""
        return self._found.get(transfer, NO_FORECAST)

    async def look(self) -> None:
        """Work out what comes of all promises, in a thread; nothing where none waits."""
        if self._qos.unreadable or not self._qos.in_force.document.links:
            self._found = {}
            return
        held, now = self._qos.in_force, self._core.clock()
        async with self._core.database.read() as tx:
            others = await read_others(tx, self._core.underway, but="")
            paused = await read_paused(tx, self._core.underway)
        waiting = any(row.deadline is not None and row.state != m.TransferState.RUNNING for row in others.rows)
        found = await asyncio.to_thread(_forecasts, held, others, now) if waiting else {}
        self._found = _at_most(held, [*others_of(held, paused, now), *others_of(held, others, now)]) | found


def _forecasts(held: InForce, beside: Others, now: datetime) -> dict[str, Forecast]:
    others = others_of(held, beside, now)
    promises = [one.promise for one in others if one.promise is not None]
    outcome = links_of(held.document, others, now).outcome(promises)
    waiting = {one.transfer for one in others if not one.runs}
    found = {one.transfer: _KEPT for one in promises if one.transfer in waiting}
    for one in promises:
        if one.transfer in waiting and not is_kept(one, outcome):
            lacks_bits = outcome.lacks[one.transfer]
            most_bps = _most_bps(held, one.path.links, one.qos_class, one.rate_bps)
            late_s = int(lacks_bits / AHEAD / most_bps) if most_bps else None
            found[one.transfer] = Forecast(
                _said(", ".join(one.path.links), one.left_bits, lacks_bits), late_s, known=True
            )
    return found


def _at_most(held: InForce, promised: Sequence[Other]) -> dict[str, Forecast]:
    """Say which would come late if they went on now and had their links for themselves."""
    found = ((one.transfer, _too_much(held, one)) for one in promised)
    return {transfer: late for transfer, late in found if late is not None}


def _too_much(held: InForce, one: Other) -> Forecast | None:
    """Say that the narrowest of its links carries too little for what is left of a transfer; nothing if it may do."""
    promise = one.promise
    most_bps = _most_bps(held, one.path.links, one.qos_class, promise.rate_bps if promise else None)
    if promise is None or not most_bps:
        return None
    takes_s = promise.left_bits / AHEAD / most_bps
    open_s = promise.hours.seconds(promise.begins, promise.deadline)
    if takes_s <= open_s:
        return None
    left = byte_size(int(promise.left_bits / 8 / AHEAD))
    return Forecast(
        f"if it goes on now, {', '.join(one.path.links)} will carry too little for it: {left} at the "
        f"{bit_rate(most_bps)} that it may have there at most take {duration(takes_s)}",
        int(takes_s - open_s),
    )


def _most_bps(held: InForce, links: tuple[str, ...], qos_class: str, own_bps: float | None) -> int | None:
    """Return what a transfer may have of its links at most."""
    most = narrowest(held.document, links, qos_class)
    found = [int(bps) for bps in (most and most[0], own_bps) if bps]
    return min(found, default=None)


def _said(links: str, left_bits: float, lacks_bits: float) -> str:
    left, lacks = (byte_size(int(bits / 8 / AHEAD)) for bits in (left_bits, lacks_bits))
    return (
        f"as things stand, {links} will have too little for it: of the {left} that are left, {lacks} would be missing "
        "at its deadline. What goes first there or what the link carries has changed since it was promised, or it "
        "waits too long"
    )
