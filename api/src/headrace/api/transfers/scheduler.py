"""Runs transfers: one driver each, fed with the hub's events and with what people ask for."""

import asyncio
import logging

from sqlalchemy import func, select

from headrace.api.caller import Caller
from headrace.api.errors import Code, ServiceError
from headrace.api.policy.budgets import day_of, reserve
from headrace.api.store import Tx
from headrace.api.store.tables_work import AttemptRow, TransferRow
from headrace.api.transfers.attempt_loop import Driver, Parts
from headrace.api.transfers.run_state import End, Run, Wish
from headrace.client import models as m
from headrace.engine import AttemptEnded, AttemptProgress

_log = logging.getLogger(__name__)


class Executor:
    """Everything that is under way."""

    def __init__(self, parts: Parts) -> None:
        """Run transfers with `parts`."""
        self._parts = parts
        self._runs: dict[str, Run] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._taken = 0

    # -- room for attempts --

    def take(self) -> bool:
        """Take one of the slots for running attempts if one is free."""
        if self._taken >= self._parts.core.settings.transfer_concurrency:
            return False
        self._taken += 1
        return True

    def give_back(self) -> None:
        """Give a slot back and wake those who may wait for it."""
        self._taken -= 1
        for run in self._runs.values():
            if not run.running:
                run.wake()

    # -- transfers come and go --

    async def require_room(self, tx: Tx) -> None:
        """Refuse another transfer when too many have not ended yet."""
        self._parts.core.broker.require_open()
        limit = self._parts.core.settings.transfer_queue
        query = select(func.count()).select_from(TransferRow).where(TransferRow.state.not_in(m.END_STATES))
        if (await tx.scalar(query) or 0) >= limit:
            raise ServiceError(Code.BUSY, f"{limit} transfers are queued or running already; submit again later")

    def admit(self, row: TransferRow, *, adopts: bool = False) -> None:
        """Take a stored transfer under way; `adopts` when an attempt of it may still be running on its nodes."""
        run = Run.of(row, adopts=adopts)
        self._runs[row.id] = run
        self._tasks[row.id] = asyncio.create_task(self._drive(run), name=f"transfer {row.id}")

    async def take_up(self) -> None:
        """After a start of the service: go on with every transfer that has not ended."""
        unended = select(AttemptRow.transfer).where(AttemptRow.ended.is_(None))
        query = select(TransferRow).where(TransferRow.state.not_in(m.END_STATES)).order_by(TransferRow.created)
        async with self._parts.core.database.write() as tx:
            rows = list(await tx.scalars(query))
            open_attempts = set(await tx.scalars(unended))
            for row in rows:
                if row.id in open_attempts:
                    row.state, row.state_reason = m.TransferState.WAITING, "the service was restarted"
                    await self._parts.ledger.record(tx, row, "waiting", row.state_reason)
        for row in rows:
            self.admit(row, adopts=row.id in open_attempts)

    async def _drive(self, run: Run) -> None:
        try:
            await Driver(self._parts, run, self).drive()
        except Exception:  # noqa: BLE001 - the driver's boundary: logged whole, and the transfer can be taken up again
            # The transfer stays as it is in the store; a restart of the service takes it up again.
            _log.exception("transfer %s is driven no more", run.transfer)
        finally:
            # A retry may have taken the place meanwhile.
            if self._runs.get(run.transfer) is run:
                del self._runs[run.transfer], self._tasks[run.transfer]

    async def close(self) -> None:
        """Stop driving; nodes go on until their tickets expire, and a restart takes up what has not ended."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # -- what the hub says --

    def on_progress(self, event: AttemptProgress) -> bool:
        """Take over an attempt's progress; `False` when it is not about the current attempt."""
        run = self._runs.get(event.transfer)
        if run is None or run.attempt != event.attempt or not run.running:
            return False
        run.note_progress(event, self._parts.core.clock())
        return True

    def on_ended(self, event: AttemptEnded) -> None:
        """Hand the end of the current attempt to its driver."""
        run = self._runs.get(event.transfer)
        if run is not None and run.attempt == event.attempt:
            run.end = End.of(event)
            run.wake()

    def on_nodes_changed(self) -> None:
        """Let every driver look at its nodes again."""
        for run in self._runs.values():
            run.wake()

    def recheck(self) -> None:
        """Check every running transfer's ticket now: a person, a policy or a node was changed."""
        for run in self._runs.values():
            run.recheck = True
            run.wake()

    # -- what people say --

    def progress(self, transfer: str) -> m.Progress | None:
        """Return the live progress of a transfer under way."""
        run = self._runs.get(transfer)
        return run.progress if run else None

    def running_by_node(self) -> dict[str, int]:
        """How many attempts run on each node (by key)."""
        counts: dict[str, int] = {}
        for run in self._runs.values():
            for key in run.nodes if run.running else ():
                counts[key] = counts.get(key, 0) + 1
        return counts

    async def ask(self, caller: Caller, row: TransferRow, wish: Wish, reason: str) -> None:
        """Pause, resume or cancel a transfer that has not ended."""
        run = self._require_run(row)
        if wish is Wish.RUN and run.wish is not Wish.PAUSE:
            raise ServiceError(Code.TRANSFER_STATE, f"transfer `{row.id}` is {row.state}; only a paused one is resumed")
        verb = {Wish.RUN: "resumed", Wish.PAUSE: "paused", Wish.CANCEL: "canceled"}[wish]
        said = f"{verb} by {caller.principal.name}" + (f": {reason}" if reason else "")
        async with self._parts.ledger.change(row.id) as (tx, fresh):
            await self._parts.ledger.record(tx, fresh, f"asked_{wish}", said, caller=caller)
        run.wish, run.wish_reason = wish, said if wish is not Wish.RUN else ""
        run.wake()

    async def set_rate(self, caller: Caller, row: TransferRow, rate_bps: int | None, ceiling_bps: int | None) -> None:
        """Change the rate ceiling; `None` lifts it to the plan's own (`ceiling_bps`)."""
        if rate_bps is not None and ceiling_bps is not None and rate_bps > ceiling_bps:
            raise ServiceError(
                Code.RATE_ABOVE_PLAN,
                f"the plan allows at most {ceiling_bps} bit/s, and {rate_bps} was asked for; a new plan can allow more",
                fields=("rate_bps",),
            )
        run = self._require_run(row)
        rate = rate_bps or ceiling_bps
        async with self._parts.ledger.change(row.id) as (tx, fresh):
            fresh.rate_ceiling_bps = rate
            limit = f"{rate} bit/s" if rate else "none"
            await self._parts.ledger.record(tx, fresh, "rate", f"the rate ceiling is now {limit}", caller=caller)
        run.new_rate = True
        run.wake()

    async def retry(self, caller: Caller, row: TransferRow) -> None:
        """Run the same plan again: what failed of a partial transfer, or a failed one (what arrived is skipped)."""
        if row.state not in {m.TransferState.PARTIAL, m.TransferState.FAILED}:
            raise ServiceError(
                Code.TRANSFER_STATE, f"transfer `{row.id}` is {row.state}; only a partial or failed one is tried again"
            )
        async with self._parts.ledger.change(row.id) as (tx, fresh):
            await self.require_room(tx)
            if fresh.state != row.state:
                raise ServiceError(Code.TRANSFER_STATE, f"transfer `{row.id}` is {fresh.state} by now")
            plan = await self._parts.signer.released(tx, fresh)
            day = day_of(self._parts.core.clock(), self._parts.core.settings.timezone)
            max_bytes = int(str(plan.execution["max_bytes"]))
            await reserve(tx, fresh, day=day, max_bytes=max_bytes)
            fresh.only_failed = fresh.state == m.TransferState.PARTIAL
            fresh.state, fresh.state_reason = m.TransferState.QUEUED, ""
            fresh.error, fresh.ended = None, None
            await self._parts.ledger.record(
                tx, fresh, "retry", f"tried again by {caller.principal.name}", caller=caller
            )
        self.admit(fresh)

    def _require_run(self, row: TransferRow) -> Run:
        run = self._runs.get(row.id)
        if run is None or row.state in m.END_STATES:
            raise ServiceError(
                Code.TRANSFER_STATE, f"transfer `{row.id}` has ended ({row.state}); nothing is left to steer"
            )
        return run
