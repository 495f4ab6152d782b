"""Which promises of transfers that do not run can't be kept as things stand: told before they are broken.

What runs is seen by what it gets. A promise that begins later was judged when it was made; since then links may have
another text, a higher priority may run, or it may wait longer than it was to.
"""

import asyncio
from datetime import datetime
from typing import Final

from headrace.api.core import Core
from headrace.api.planning.admission import Others, others_of, read_others
from headrace.api.policy.promises import AHEAD, is_kept, links_of
from headrace.api.policy.qos import InForce, QosVersions
from headrace.client import models as m
from headrace.client.text import byte_size

LOOK_S: Final = 30
"""Time between looks."""


class Outlook:
    """Looks ahead for what has a promise and does not run."""

    def __init__(self, core: Core, qos: QosVersions) -> None:
        """Look every half minute, by what is in force of `qos`."""
        self._core = core
        self._qos = qos
        self._late = dict[str, str]()
        core.jobs.every("look at promises", LOOK_S, self.look)

    def why_late(self, transfer: str) -> str:
        """Say why a promise would not be kept, as was found last; empty when it would."""
        return self._late.get(transfer, "")

    async def look(self) -> None:
        """Work out what comes of all promises, in a thread; nothing where none waits."""
        if self._qos.unreadable or not self._qos.in_force.document.links:
            self._late = {}
            return
        held, now = self._qos.in_force, self._core.clock()
        async with self._core.database.read() as tx:
            others = await read_others(tx, self._core.underway, but="")
        waiting = any(row.deadline is not None and row.state != m.TransferState.RUNNING for row in others.rows)
        self._late = await asyncio.to_thread(_late, held, others, now) if waiting else {}


def _late(held: InForce, beside: Others, now: datetime) -> dict[str, str]:
    others = others_of(held, beside, now)
    promises = [one.promise for one in others if one.promise is not None]
    outcome = links_of(held.document, others, now).outcome(promises)
    waiting = {one.transfer for one in others if not one.runs}
    return {
        one.transfer: _said(", ".join(one.path.links), one.left_bits, outcome.lacks[one.transfer])
        for one in promises
        if one.transfer in waiting and not is_kept(one, outcome)
    }


def _said(links: str, left_bits: float, lacks_bits: float) -> str:
    left, lacks = (byte_size(int(bits / 8 / AHEAD)) for bits in (left_bits, lacks_bits))
    return (
        f"as things stand, {links} will have too little for it: of the {left} that are left, {lacks} would be missing "
        "at its deadline. What goes first there or what the link carries has changed since it was promised, or it "
        "waits too long"
    )
