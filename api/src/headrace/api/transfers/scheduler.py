"""Everything that is under way: which transfers this process has taken up, and who wakes them."""

import logging
from dataclasses import replace
from datetime import datetime

from sqlalchemy import bindparam, case, exists, func, select, update

from headrace.api.errors import Code, Fenced, ServiceError
from headrace.api.jobs.port import Task
from headrace.api.jobs.turns import Turns
from headrace.api.store import Tx, after_commit
from headrace.api.store.tables_work import AttemptRow, TransferRow
from headrace.api.transfers.advance import Advance
from headrace.api.transfers.attempts import ADVANCE, Attempts
from headrace.api.transfers.cleanup import Cleanup
from headrace.api.transfers.diagnosis import TOO_EARLY
from headrace.api.transfers.parts import Parts
from headrace.api.transfers.run_state import STATE_FAILED, End, Run, at_rest
from headrace.api.transfers.state_machine import END_STATES, State
from headrace.api.transfers.throughput import CLEAR_S, WRITE_S
from headrace.client import models as m
from headrace.client.text import plural
from headrace.engine import AttemptEnded, AttemptProgress

_log = logging.getLogger(__name__)

_AT_ONCE = 64
_STORED = "stored"
"""The task that acknowledges ends which were told again."""
KEEP_S = 10
"""How old the stored progress of what runs may be: at a restart no more than that is forgotten."""
_RESTARTED = "the service was restarted"


class Scheduler:
    """Takes transfers up and carries them on."""

    def __init__(self, parts: Parts, cleanup: Cleanup) -> None:
        """Run transfers with `parts`; what is over is `cleanup`'s."""
        self._parts = parts
        self._core = parts.core
        self._cleanup = cleanup
        self._runs: dict[str, Run] = {}
        settings = parts.core.settings
        self._turns = Turns(settings.transfer_concurrency, settings.transfer_concurrency_of_one)
        self._attempts = Attempts(parts, self._turns)
        self._advance = Advance(parts, self._attempts, self._turns)
        self._told_again: dict[str, int] = {}
        parts.core.jobs.add(Task(ADVANCE, self._carry_on, at_once=_AT_ONCE))
        parts.core.jobs.add(Task(_STORED, self._acknowledge))
        parts.core.jobs.every("sweep transfers", parts.core.settings.sweep_s, self._sweep)
        parts.core.jobs.every("keep progress", KEEP_S, self._keep_progress)
        parts.shares.follow(self._runs)
        parts.core.underway.follow(self.progress)
        parts.core.jobs.every("write throughput", WRITE_S, parts.throughput.write)
        parts.core.jobs.every("remove old throughput", CLEAR_S, parts.core.doubt.unless(parts.throughput.clear))

    # -- transfers come and go --

    async def require_room(self, tx: Tx, person: str) -> None:
        """Refuse another transfer of a person when too many of this one's, or of all, have not ended yet.

        Nobody has more of them than there are places left: whoever has few finds one, however many others have taken
        all that they may.
        """
        self._core.broker.require_open()
        limit, limit_of_one = self._core.settings.transfer_queue, self._core.settings.transfer_queue_of_one
        of_all, of_one = (await tx.execute(_OPEN, {"person": person})).one()
        if of_all >= limit:
            raise ServiceError(
                Code.BUSY, f"the service has {plural(limit, 'transfer')} queued or running already; submit again later"
            )
        most = min(limit_of_one, limit - of_all)
        if (of_one or 0) >= most:
            raise ServiceError(
                Code.TOO_MANY_TRANSFERS,
                f"this person has {plural(of_one, 'transfer')} queued or running, and one may have {most} now; "
                "submit again when some have ended, or cancel some",
            )

    async def admit(self, tx: Tx, row: TransferRow) -> None:
        """Take a queued transfer under way with `tx`, which makes it or takes it up anew: it begins there if it may."""
        run = Run.of(row)
        after_commit(tx, lambda: self._hold(run))
        await self._advance.begin_at_once(tx, row, run)
        await self._core.jobs.defer(tx, ADVANCE, row.id)

    async def take_up(self) -> None:
        """After a start of the service: hold every transfer that has not ended, under a new fence."""
        query = select(TransferRow).where(TransferRow.state.in_(m.OPEN_STATES)).order_by(TransferRow.created)
        async with self._core.database.write() as tx:
            await tx.execute(
                update(TransferRow)
                .where(TransferRow.state.in_(m.OPEN_STATES))
                .values(fence=TransferRow.fence + 1)
                .execution_options(synchronize_session=False)
            )
            for row in list(await tx.scalars(query)):
                await self._take(tx, row)

    async def _take_one(self, transfer: str) -> Run | None:
        """Take up a transfer, unless it is held by the time that this may write: a submission may just have made it."""
        async with self._core.database.write() as tx:
            if transfer in self._runs:
                return self._runs[transfer]
            row = await tx.get(TransferRow, transfer)
            if row is None or row.state in END_STATES:
                return None
            _log.warning("transfer %s was held by nobody; it is taken up", transfer)
            row.fence += 1
            await self._take(tx, row)
        return self._runs.get(transfer)

    async def _take(self, tx: Tx, row: TransferRow) -> None:
        unended = exists().where(
            AttemptRow.transfer == row.id, AttemptRow.number == row.attempt, AttemptRow.ended.is_(None)
        )
        open_ = bool(row.attempt) and bool(await tx.scalar(select(unended)))
        if open_:
            row.state, row.state_reason = State.WAITING, _RESTARTED
            await self._parts.history.record(tx, row, m.TransferEventKind.WAITING, _RESTARTED)
        after_commit(tx, lambda: self._hold(Run.of(row, open_=open_)))
        await self._core.jobs.defer(tx, ADVANCE, row.id)

    def _hold(self, run: Run) -> None:
        self._runs[run.transfer] = run
        if run.open:
            self._turns.take(run.place)

    def _let_go(self, run: Run) -> None:
        if self._runs.get(run.transfer) is run:
            del self._runs[run.transfer]
            self._turns.leave(run.transfer)
            self._turns.give_back(run.transfer)

    async def _carry_on(self, transfer: str) -> datetime | None:
        """Carry a transfer on: its job."""
        run = self._runs.get(transfer) or await self._take_one(transfer)
        if run is None:
            return None
        try:
            look_at = await self._advance.carry_on(run)
        except Fenced:
            # Somebody took it up anew: what this run knows counts no more.
            _log.warning("transfer %s is not held here any more", transfer)
            self._let_go(run)
            return self._core.clock()
        finally:
            self._wake_next()
        if look_at is None:
            self._let_go(run)
            self._wake_next()
            self._cleanup.wake()
        return look_at

    def _wake_next(self) -> None:
        """Wake the first in line, and no other, when a slot is free."""
        first = self._turns.next
        if first is not None:
            self.wake(first)

    async def _sweep(self) -> None:
        """Find each transfer that has not ended and that nobody holds, or that is just being submitted."""
        async with self._core.database.read() as tx:
            for transfer in await tx.scalars(select(TransferRow.id).where(TransferRow.state.in_(m.OPEN_STATES))):
                if transfer not in self._runs:
                    self.wake(transfer)

    async def _keep_progress(self) -> None:
        """Store how far everything is that runs here."""
        await self._attempts.keep_progress(self._runs.values())

    # -- what wakes them --

    def wake(self, transfer: str) -> None:
        """Let a transfer be looked at now."""
        self._core.jobs.wake(ADVANCE, transfer)

    def on_progress(self, event: AttemptProgress) -> bool:
        """Take over an attempt's progress; `False` when it is not about the attempt that runs."""
        run = self._runs.get(event.transfer)
        if run is None or run.attempt != event.attempt or not run.moves:
            return False
        now = self._core.clock()
        run.note_progress(event, now)
        self._parts.throughput.note(run, now)
        if run.advanced:
            self._parts.nodes.on_worked(*run.nodes)
        return True

    def on_ended(self, event: AttemptEnded) -> None:
        """Note the end of the attempt that runs; the first word counts. One that is stored is acknowledged again."""
        run = self._runs.get(event.transfer)
        if run is None or run.attempt != event.attempt or not run.open:
            self._told_again[event.transfer] = event.attempt
            self._core.jobs.wake(_STORED, event.transfer)
        elif run.end is None:
            run.end = self._end_of(event, run)
            self.wake(run.transfer)

    def _end_of(self, event: AttemptEnded, run: Run) -> End:
        """Take over how an attempt ended; of a node that can't use its own state folder, which one that is."""
        nodes = self._parts.nodes
        end = End.of(event, nodes.names)
        if event.outcome in {"complete", "partial"}:
            nodes.on_worked(*run.nodes)
        if event.code != STATE_FAILED or not event.node:
            return end
        return replace(end, message=nodes.on_state_failed(event.node, end.message))

    async def _acknowledge(self, transfer: str) -> datetime | None:
        """Acknowledge an end that nobody waits for, if it is stored; whoever takes the transfer up asks for it else."""
        attempt = self._told_again.pop(transfer, None)
        if attempt is None:
            return None
        this = (AttemptRow.transfer == transfer, AttemptRow.number == attempt, AttemptRow.ended.is_(None))
        async with self._core.database.read() as tx:
            is_open = await tx.scalar(select(exists().where(*this)))
        if not is_open:
            await self._attempts.acknowledge(transfer, attempt)
        return None

    def on_nodes_changed(self, node: str | None = None) -> None:
        """Let the transfers of a node (or of all) look at it again."""
        for run in list(self._runs.values()):
            if node is None or node in run.nodes:
                self.wake(run.transfer)

    def recheck(self) -> None:
        """Check every running transfer's ticket now, and look at what is halted: something has changed."""
        for run in list(self._runs.values()):
            run.renew_at = run.shut = None
            self.wake(run.transfer)

    def new_rate(self, transfer: str) -> None:
        """Let a changed ceiling reach the nodes."""
        run = self._runs.get(transfer)
        if run is not None and run.open:
            run.new_rate = True
            self.wake(transfer)

    def changed(self, row: TransferRow) -> None:
        """Let another class or deadline of a transfer count: in line, in its hours, and for its share of links."""
        run = self._runs.get(row.id)
        if run is not None:
            run.qos_class, run.deadline, run.guarantee = row.qos_class, row.deadline, None
            run.promised = row.promised
            run.place = replace(run.place, rank=-row.priority)
            self.wake(run.transfer)

    def surveyed_bytes(self, transfer: str) -> int:
        """Return what the survey of a transfer's plan counted; 0 where that is not known or not what it sends."""
        run = self._runs.get(transfer)
        return run.surveyed.bytes if run is not None and run.surveyed is not None and not run.only_failed else 0

    def promised(self, transfer: str, since: datetime) -> None:
        """Note since when a transfer's deadline is promised, or that it is not."""
        run = self._runs.get(transfer)
        if run is not None:
            run.promised = since

    # -- what people see --

    def progress(self, transfer: str) -> m.Progress | None:
        """Return the live progress of a transfer under way, without a rate while no attempt of it moves."""
        run = self._runs.get(transfer)
        if run is None:
            return None
        return run.progress if run.moves else at_rest(run.progress)

    def diagnosis(self, transfer: str) -> m.Diagnosis | None:
        """Return what limits a transfer that moves now."""
        run = self._runs.get(transfer)
        if run is None or not run.moves:
            return None
        return run.diagnosis or m.Diagnosis(transfer=transfer, limit=m.Limit.UNKNOWN, said=TOO_EARLY, live=True)

    def measured(self, transfer: str) -> m.Measured | None:
        """Return what is measured of a transfer that moves now."""
        run = self._runs.get(transfer)
        if run is None or not run.moves:
            return None
        return run.measured.show(transfer, local=len(run.nodes) == 1, live=True)

    def place(self, transfer: str) -> str | None:
        """Say where a transfer stands in line, such as `3rd of 7 in the queue`; nothing when it does not wait there."""
        found = self._turns.place_of(transfer)
        if found is None:
            return None
        said = f"{_ordinal(found[0])} of {found[1]} in the queue"
        if self._turns.is_held_back(transfer):
            most = self._core.settings.transfer_concurrency_of_one
            return f"{said}; its requester has {most} running, the most for one person"
        return said

    @property
    def in_line(self) -> int:
        """How many wait for a free slot."""
        return self._turns.waiting

    @property
    def rate_bps(self) -> int:
        """How fast everything that runs here becomes durable, in bit/s, as its nodes said last."""
        return sum(run.progress.rate_bps or 0 for run in self._runs.values() if run.moves)

    @property
    def moved_bytes(self) -> int:
        """Bytes that became durable here since the start."""
        return self._attempts.moved_bytes + sum(run.moved_bytes for run in self._runs.values())

    def running_by_node(self) -> dict[str, int]:
        """How many attempts run on each node (by key)."""
        counts: dict[str, int] = {}
        for run in self._runs.values():
            for key in run.nodes if run.moves else ():
                counts[key] = counts.get(key, 0) + 1
        return counts


_OF_ONE = func.sum(case((TransferRow.requester == bindparam("person"), 1), else_=0))
_OPEN = select(func.count(), _OF_ONE).select_from(TransferRow).where(TransferRow.state.in_(m.OPEN_STATES))


def _ordinal(number: int) -> str:
    teen = 10 < number % 100 < 20  # noqa: PLR2004 - eleventh, twelfth, thirteenth
    return f"{number}{'th' if teen else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"
