"""Whether a deadline can be kept beside what was promised to others, as the store knows them."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final, TypeVar

from sqlalchemy import Row, select

from headrace.api.caller import Caller
from headrace.api.clock import full_minute
from headrace.api.core import Core
from headrace.api.errors import Code, ServiceError
from headrace.api.policy.calendars import Hours, Timeline
from headrace.api.policy.forecast import Promise
from headrace.api.policy.links import Path, path_of
from headrace.api.policy.promises import AHEAD, BEFORE, MOST_AHEAD, Other, Verdict, aimed_at, judge
from headrace.api.policy.qos import InForce, node_keys
from headrace.api.store import Tx
from headrace.api.store.tables_work import NOT_PROMISED, TransferRow
from headrace.api.underway import Underway
from headrace.auth import Scope
from headrace.client import models as m
from headrace.client.text import bit_rate, byte_size, plural, utc
from headrace.guardrails import OpenHours

_MOST_NAMED: Final = 5
_COUNTS: Final = (TransferRow.state.in_(m.OPEN_STATES), TransferRow.wish == "run")
"""Which transfers count: what is paused has given its place up."""
_OF_OTHERS: Final = (
    TransferRow.id,
    TransferRow.requester,
    TransferRow.qos_class,
    TransferRow.state,
    TransferRow.source_node,
    TransferRow.destination_node,
    TransferRow.progress,
    TransferRow.starts,
    TransferRow.deadline,
    TransferRow.promised,
    TransferRow.hours,
    TransferRow.rate_ceiling_bps,
)
_TRIES: Final = 5
_HOLDS: Final = timedelta(seconds=10)
"""For how long a verdict holds, while promises are the same."""

Promises = tuple[tuple[object, ...], ...]
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedDeadline:
    """A transfer of which it is asked whether its deadline can be kept."""

    transfer: str = ""
    """Its id, where it is one already: its own promise does not stand against it."""
    bytes: int
    begins: datetime
    deadline: datetime | None
    hours: Hours | None
    """Its own."""
    qos_class: str
    source: str
    destination: str
    """Keys of its nodes."""
    rate_bps: int | None


@dataclass(frozen=True, slots=True)
class Others:
    """What stands beside a deadline: what runs, and what has one."""

    keys: Mapping[str, str]
    """Names of nodes by their keys."""
    rows: Sequence[Row[*tuple[Any, ...]]]
    bytes_left: Mapping[str, int]
    """Of each row, by its id."""


class Unjudged(Exception):  # noqa: N818 - says what is the case
    """A deadline is to be judged before the transaction that needs it; nothing was written."""

    def __init__(self, held: InForce, wanted: WantedDeadline, now: datetime) -> None:
        """Keep what is to be judged."""
        super().__init__(wanted.transfer)
        self.asked = held, wanted, now


@dataclass(frozen=True, slots=True)
class _Judgement:
    """What was found of a deadline beside these promises."""

    held: InForce
    wanted: WantedDeadline
    promises: Promises
    verdict: Verdict

    def covers(self, held: InForce, wanted: WantedDeadline) -> bool:
        """Whether it holds for this as well: moments later, when no more is left to do."""
        mine = self.wanted
        same = replace(wanted, bytes=mine.bytes, begins=mine.begins) == mine
        late = wanted.begins - mine.begins
        return held is self.held and same and wanted.bytes <= mine.bytes and timedelta() <= late <= _HOLDS


class Admission:
    """Whether deadlines can be kept beside what was promised to others: asked anew for each request.

    Who changes promises does so in a transaction in which nobody else writes. What takes long, with many promises, is
    done before it, in a thread: the transaction only looks whether the promises are still those.
    """

    def __init__(self, core: Core) -> None:
        """Ask the store for promises, and whoever runs transfers for how far they are."""
        self._core = core
        self._judgement: _Judgement | None = None

    async def run(self, change: Callable[[], Awaitable[T]]) -> T:
        """Do what asks for verdicts within its transaction: again when it had to be judged first.

        Refuses it (`busy`) where promises change all the time: judged within the transaction, it would keep everybody
        else from writing.
        """
        for _ in range(_TRIES):
            try:
                return await change()
            except Unjudged as unjudged:
                self._judgement = await self._judge(*unjudged.asked)
        message = "what is promised to others changes all the time, so this deadline can't be judged; try again"
        raise ServiceError(Code.BUSY, message)

    async def _judge(self, held: InForce, wanted: WantedDeadline, now: datetime) -> _Judgement:
        """Judge outside of any transaction."""
        async with self._core.database.read() as tx:
            promises = await _promises(tx, wanted.transfer)
            others = await read_others(tx, self._core.underway, but=wanted.transfer)
        verdict = await asyncio.to_thread(_judge, held, others, wanted, now)
        return _Judgement(held, wanted, promises, verdict)

    async def verdict(self, tx: Tx, held: InForce, wanted: WantedDeadline, now: datetime) -> Verdict | None:
        """Return what links say of a deadline within `tx`; nothing where they say nothing. Raises `Unjudged`."""
        path = path_of(held.document, await node_keys(tx), wanted.source, wanted.destination)
        if wanted.deadline is None or not _caps(held, path):
            return None
        found = self._judgement
        if found is not None and found.covers(held, wanted) and found.promises == await _promises(tx, wanted.transfer):
            return found.verdict
        raise Unjudged(held, wanted, now)

    async def why_not(self, tx: Tx, whose: str | None, held: InForce, wanted: WantedDeadline, now: datetime) -> str:
        """Say why links can't guarantee a deadline, when it is done, and who would have to give way; empty if they can.

        Transfers are named of `whose` alone (a person), or of everybody. Raises `Unjudged`.
        """
        verdict = await self.verdict(tx, held, wanted, now)
        return "" if verdict is None else await _not_kept(tx, whose, held, wanted, verdict)

    async def require_kept(self, tx: Tx, caller: Caller, held: InForce, wanted: WantedDeadline, now: datetime) -> None:
        """Refuse a deadline that links can't guarantee, with `deadline_infeasible`; raises `Unjudged`, too.

        Others' transfers are named to operators alone.
        """
        said = await self.why_not(tx, sees(caller), held, wanted, now)
        if said:
            raise ServiceError(Code.DEADLINE_INFEASIBLE, said, fields=("deadline",))


def sees(caller: Caller) -> str | None:
    """Return whose transfers a caller may hear of; nothing: everybody's."""
    return None if caller.principal.may(Scope.NODE_WRITE) else caller.principal.id


async def _not_kept(tx: Tx, whose: str | None, held: InForce, wanted: WantedDeadline, verdict: Verdict) -> str:
    deadline = wanted.deadline
    if deadline is None or (verdict.earliest is not None and verdict.earliest <= deadline):
        return ""
    path = path_of(held.document, await node_keys(tx), wanted.source, wanted.destination)
    over = ", ".join(f"`{name}`" for name in _caps(held, path))
    needs = f"{byte_size(wanted.bytes)} by {utc(deadline)} need {bit_rate(int(verdict.needs_bps))} of {over}"
    if wanted.rate_bps is not None and wanted.rate_bps < verdict.needs_bps:
        why = f"and its own ceiling is {bit_rate(wanted.rate_bps)}"
    elif verdict.give_way:
        why = "which is not left beside what was promised to others"
    else:
        why = "which is not there for it, also without what was promised to others"
    return f"{needs}, {why}: {_done(verdict)}. {_way_out(verdict, whose)}"


def _done(verdict: Verdict) -> str:
    if verdict.earliest is not None:
        return f"it can be promised by {utc(full_minute(verdict.earliest))} at the earliest"
    return f"it is not done by {utc(verdict.looked_until)}" if verdict.looked_until else "it is never done"


def _caps(held: InForce, path: Path) -> list[str]:
    return [link.name for link in held.document.links if link.rate_bps is not None and link.name in path.links]


def _way_out(verdict: Verdict, whose: str | None) -> str:
    if not verdict.give_way:
        return "Ask for a later deadline"
    own = [one.transfer for one in verdict.give_way if whose is None or one.person == whose]
    others = len(verdict.give_way) - len(own)
    named = [f"`{one}`" for one in own[:_MOST_NAMED]]
    if len(own) > _MOST_NAMED:
        named.append(f"{len(own) - _MOST_NAMED} more of yours")
    if others:
        named.append(f"{plural(others, 'transfer')} of others")
    return f"{', '.join(named)} would have to make room for it; ask for a later deadline, or cancel what may wait"


async def _promises(tx: Tx, but: str) -> Promises:
    """Return what was promised to others: who, by when, since when, as what, in which hours."""
    query = (
        select(
            TransferRow.id,
            TransferRow.deadline,
            TransferRow.promised,
            TransferRow.qos_class,
            TransferRow.starts,
            TransferRow.hours,
        )
        .where(*_COUNTS, TransferRow.deadline.is_not(None), TransferRow.id != but)
        .order_by(TransferRow.id)
    )
    return tuple(tuple(row) for row in await tx.execute(query))


async def read_others(tx: Tx, underway: Underway, but: str) -> Others:
    """Read what runs, and what has a deadline."""
    query = (
        select(*_OF_OTHERS)
        .where(*_COUNTS, TransferRow.id != but)
        .where(TransferRow.deadline.is_not(None) | (TransferRow.state == m.TransferState.RUNNING))
        .order_by(TransferRow.id)
    )
    return await _others(tx, underway, (await tx.execute(query)).all())


async def read_paused(tx: Tx, underway: Underway) -> Others:
    """Read what has a deadline and is paused."""
    query = select(*_OF_OTHERS).where(
        TransferRow.state.in_(m.OPEN_STATES), TransferRow.wish == "pause", TransferRow.deadline.is_not(None)
    )
    return await _others(tx, underway, (await tx.execute(query)).all())


async def _others(tx: Tx, underway: Underway, rows: Sequence[Row[*tuple[Any, ...]]]) -> Others:
    return Others(await node_keys(tx), rows, {row.id: underway.bytes_left(row.id, row.progress) for row in rows})


def _judge(held: InForce, others: Others, wanted: WantedDeadline, now: datetime) -> Verdict:
    deadline = wanted.deadline or wanted.begins
    aimed = aimed_at(deadline, wanted.begins)
    asked = Promise(
        transfer=wanted.transfer,
        qos_class=wanted.qos_class,
        path=path_of(held.document, others.keys, wanted.source, wanted.destination),
        left_bits=wanted.bytes * 8 * AHEAD,
        begins=wanted.begins,
        deadline=aimed,
        hours=Timeline(held.hours_of(wanted.qos_class, wanted.hours), wanted.begins, wanted.begins + MOST_AHEAD),
        rate_bps=wanted.rate_bps,
    )
    found = judge(held.document, asked, others_of(held, others, now), now)
    if found.earliest is None:
        return found
    return replace(found, earliest=deadline if found.earliest <= aimed else found.earliest + BEFORE)


def others_of(held: InForce, others: Others, now: datetime) -> list[Other]:
    """Return what runs over links, and what has a promise there."""
    found = list[Other]()
    timelines: dict[tuple[str, str | None], Timeline] = {}
    for row in others.rows:
        path = path_of(held.document, others.keys, row.source_node, row.destination_node)
        if not path.links:
            continue
        left, promise = others.bytes_left[row.id] * 8 * AHEAD, None
        if row.deadline is not None and row.deadline > now and row.promised != NOT_PROMISED:
            same = row.qos_class, row.hours
            if same not in timelines:
                own = OpenHours.read(json.loads(row.hours)) if row.hours else None
                timelines[same] = Timeline(held.hours_of(row.qos_class, own), now, now + MOST_AHEAD)
            promise = Promise(
                transfer=row.id,
                qos_class=row.qos_class,
                path=path,
                left_bits=left,
                begins=max(now, row.starts or now),
                deadline=aimed_at(row.deadline, now),
                hours=timelines[same],
                rate_bps=row.rate_ceiling_bps,
            )
        runs = row.state == m.TransferState.RUNNING
        found.append(Other(row.id, row.requester, row.qos_class, path, left, runs, promise))
    return found
