"""How much transfers and nodes moved, second by second: noted in memory, rolled up when written, and bounded.

A short transfer costs the store nothing: what was noted is written by a periodic duty, of all together. A restart
forgets what was noted since. Samples are of 1 s for an hour, 10 s for a day and 5 min for a year; what moved between
two reports of a node is spread evenly over the time between them.
"""

import asyncio
import logging
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final, Literal

from sqlalchemy import BigInteger, cast, delete, func, select

from headrace.api.core import Core
from headrace.api.errors import Code, ServiceError
from headrace.api.store import Tx
from headrace.api.store.base import Base
from headrace.api.store.dialects import insert
from headrace.api.store.tables_work import ThroughputRow
from headrace.api.transfers.rollup import KEPT, MOST_POINTS, Amount, Seconds, rolled_up, spread, step_of
from headrace.api.transfers.run_state import Counted, Run
from headrace.client import models as m

_log = logging.getLogger(__name__)

WRITE_S: Final = 10
"""Time between writes."""
CLEAR_S: Final = 300
"""Time between looks for samples that are too old, or too many."""
_MOST_NOTED: Final = 100_000
"""Seconds that may wait to be written; while the store takes none, those that come after them are not noted."""
_MOST_REMOVED: Final = 10_000
"""Rows removed in one transaction, so that other writers have their turn."""
_SHORT: Final = timedelta(seconds=1)

Kind = Literal["transfer", "sent", "received"]
Subject = tuple[Kind, str]


@dataclass(slots=True)
class Throughput:
    """Notes what moves, writes it, and shows it."""

    core: Core
    most: int
    """Samples that are kept."""
    _noted: dict[Subject, Seconds] = field(default_factory=dict)
    _count: int = 0
    _one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Between a write and a reader: a second is either noted or written."""

    # -- notes --

    def begin(self, run: Run, now: datetime) -> None:
        """Begin to count an attempt."""
        run.counted = Counted(now, now, run.progress.bytes_durable, run.progress.files_done)

    def note(self, run: Run, now: datetime) -> None:
        """Count what an attempt moved since it was counted last. It asks nothing of the store."""
        progress, before = run.progress, run.counted
        if before is None:
            # What moved while the service was down is nobody's second.
            self.begin(run, now)
            return
        run.counted = Counted(before.began, now, progress.bytes_durable, progress.files_done)
        bytes_, files = max(0, progress.bytes_durable - before.bytes), max(0, progress.files_done - before.files)
        if bytes_ or files:
            shares = list(zip(spread(before.at, now, bytes_), spread(before.at, now, files), strict=True))
            for subject in _subjects(run):
                noted = self._noted.setdefault(subject, {})
                for (second, share), (_, count) in shares:
                    self._add(noted, second, share, count)

    def end(self, run: Run, now: datetime) -> None:
        """Count the rest of an attempt. One of less than a second has no samples of its own: its nodes' hold it."""
        self.note(run, now)
        if run.counted is not None and now - run.counted.began < _SHORT:
            noted, began = self._noted.get(("transfer", run.transfer), {}), _second(run.counted.began)
            for second in [second for second in noted if second >= began]:
                del noted[second]
                self._count -= 1
        run.counted = None

    def _add(self, noted: Seconds, second: int, bytes_: int, files: int) -> None:
        amount = noted.get(second)
        if amount is None:
            if self._count >= _MOST_NOTED:
                return
            amount = noted[second] = Amount()
            self._count += 1
        amount.add(bytes_, files)

    # -- the store --

    async def write(self) -> None:
        """Write what was noted, rolled up, in one transaction; what can't be written now stays noted."""
        async with self._one_at_a_time:
            if not self._noted:
                return
            noted, self._noted, self._count = self._noted, {}, 0
            try:
                rows = [
                    {
                        "kind": kind,
                        "subject": subject,
                        "step_s": step,
                        "at_s": at,
                        "bytes": one.bytes,
                        "files": one.files,
                    }
                    for (kind, subject), seconds in noted.items()
                    for step in KEPT
                    for at, one in rolled_up(seconds, step).items()
                ]
                async with self.core.database.write() as tx:
                    await tx.execute(_ADD, rows)
            except BaseException:
                for subject, seconds in noted.items():
                    back = self._noted.setdefault(subject, {})
                    for second, amount in seconds.items():
                        self._add(back, second, amount.bytes, amount.files)
                raise

    async def clear(self) -> None:
        """Remove samples that are too old, and the oldest, first of the finest, when there are too many."""
        now = self.core.clock()
        for step, kept in KEPT.items():
            await self._remove(step, _second(now - kept))
        async with self.core.database.read() as tx:
            too_many = (await tx.scalar(_COUNT) or 0) - self.most
        for step in KEPT if too_many > 0 else ():
            async with self.core.database.read() as tx:
                of_step = _ROWS.step_s == step
                last = await tx.scalar(select(_ROWS.at_s).where(of_step).order_by(_ROWS.at_s).offset(too_many).limit(1))
                there = await tx.scalar(select(func.count()).select_from(_TABLE).where(of_step)) or 0
            await self._remove(step, _second(now) + 1 if last is None else last + 1)
            too_many -= there
            if too_many <= 0:
                _log.warning("there were too many samples of throughput; the oldest were removed")
                return

    async def _remove(self, step: int, before_s: int) -> None:
        old = (_ROWS.step_s == step, _ROWS.at_s < before_s)
        batch = select(_ROWS.at_s).where(*old).order_by(_ROWS.at_s).limit(_MOST_REMOVED).subquery()
        while True:
            async with self.core.database.read() as tx:
                ends = await tx.scalar(select(func.max(batch.c.at_s)))
            if ends is None:
                return
            async with self.core.database.write() as tx:
                await tx.execute(delete(_TABLE).where(*old, _ROWS.at_s <= ends))

    # -- readers --

    async def show(self, kind: Kind, subject: str, since: datetime, until: datetime) -> m.Throughput:
        """Return the samples from `since` to `until`, one for each step; where nothing moved they are 0."""
        if until < since:
            raise ServiceError(
                Code.INVALID_REQUEST, f"the range ends ({until:%Y-%m-%dT%H:%M:%SZ}) before it begins", fields=("until",)
            )
        now = self.core.clock()
        until = min(until, now)
        since = min(since, until)
        step = step_of(since, until, now)
        first, last = (_second(at) - _second(at) % step for at in (since, until))
        first = max(first, last - (MOST_POINTS - 1) * step)
        async with self._one_at_a_time:
            async with self.core.database.read() as tx:
                found = await _read(tx, (kind, subject), step, first, last)
            for at, amount in rolled_up(self._noted.get((kind, subject), {}), step).items():
                found.setdefault(at, Amount()).add(amount.bytes, amount.files)
        return m.Throughput(
            step_s=step,
            samples=[_sample(at, step, found.get(at) or Amount()) for at in range(first, last + step, step)],
        )


def _subjects(run: Run) -> tuple[Subject, ...]:
    return ("transfer", run.transfer), ("sent", run.source_node), ("received", run.destination_node)


def _second(at: datetime) -> int:
    return int(at.timestamp())


def _sample(at: int, step: int, amount: Amount) -> m.ThroughputSample:
    return m.ThroughputSample(
        at=datetime.fromtimestamp(at, UTC), bytes=amount.bytes, files=amount.files, rate_bps=amount.bytes * 8 // step
    )


async def _read(tx: Tx, subject: Subject, step: int, first: int, last: int) -> Seconds:
    stored = max(kept for kept in KEPT if kept <= step)
    at = (_ROWS.at_s - _ROWS.at_s % step).label("at")
    bytes_, files = (cast(func.sum(column), BigInteger) for column in (_ROWS.bytes, _ROWS.files))
    query = (
        select(at, bytes_, files)
        .where(_ROWS.kind == subject[0], _ROWS.subject == subject[1], _ROWS.step_s == stored)
        .where(_ROWS.at_s >= first, _ROWS.at_s < last + step)
        .group_by(at)
    )
    return {second: Amount(moved, done) for second, moved, done in await tx.execute(query)}


_TABLE = Base.metadata.tables[ThroughputRow.__tablename__]
_ROWS = _TABLE.c
_MADE = insert(_TABLE)
_ADD = _MADE.on_conflict_do_update(
    index_elements=[_ROWS.kind, _ROWS.subject, _ROWS.step_s, _ROWS.at_s],
    set_={"bytes": _ROWS.bytes + _MADE.excluded.bytes, "files": _ROWS.files + _MADE.excluded.files},
)
_COUNT = select(func.count()).select_from(_TABLE)
