"""Drives one transfer from queued to its end: waits for what stands in the way, runs attempts, renews their tickets.

Each round of `drive` is: is there an obstacle? wait for it - begin an attempt - watch over it - judge its end.
"""

import asyncio
import logging
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from headrace.api.audit.chain import Kind
from headrace.api.core import Core
from headrace.api.data_folder import lists_dir, result_dir
from headrace.api.errors import AuditUnwritable, Code, ServiceError
from headrace.api.events.broker import wait_for
from headrace.api.policy.budgets import settle
from headrace.api.problems import problem_of
from headrace.api.signing.signer import Signer
from headrace.api.sites.nodes import Nodes
from headrace.api.store import Tx
from headrace.api.store.tables_work import AttemptRow, TransferRow
from headrace.api.transfers.cleanup import Tidying
from headrace.api.transfers.history import Ledger
from headrace.api.transfers.receipts import Made, Receipts
from headrace.api.transfers.run_state import End, Run, Wish
from headrace.client import models as m
from headrace.engine import EngineError
from headrace.guardrails import GuardrailError, ReleasedPlan

_log = logging.getLogger(__name__)

_STOP_LIMIT_S = 30
"""How long nodes may take to say that they stopped before the service goes on without that word."""
_END_LIMIT_S = 5
"""How long the end of an attempt that the hub has closed may be on its way here."""
_ATTEMPT_UNKNOWN = "attempt_unknown"
_WAITS = frozenset({Code.NODE_AWAY, Code.NODE_DRAINING, Code.NODE_CLOCK_SKEWED})
"""What may pass by waiting."""

Refusal = ServiceError | GuardrailError


@dataclass(frozen=True, slots=True)
class Parts:
    """What every driver works with."""

    core: Core
    nodes: Nodes
    signer: Signer
    ledger: Ledger
    receipts: Receipts
    tidying: Tidying


class Slots(Protocol):
    """Room for attempts that run at the same time."""

    def take(self) -> bool:
        """Take a slot if one is free."""
        ...

    def give_back(self) -> None:
        """Give it back and wake those who wait for one."""
        ...


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why no attempt can begin now; woken early or after `wait_s`, the driver looks again."""

    state: m.TransferState
    reason: str
    wait_s: float | None = None


class Driver:
    """Drives one run."""

    def __init__(self, parts: Parts, run: Run, slots: Slots) -> None:
        """Drive `run` with a slot of `slots`."""
        self._parts = parts
        self._run = run
        self._slots = slots
        self._failures = 0
        self._not_before = 0.0
        self._away_since: float | None = None
        self._last_error = ""
        self._refusal: Refusal | None = None
        self._fatal: Refusal | None = None
        self._released: ReleasedPlan | None = None

    async def drive(self) -> None:
        """Go on until the transfer has ended."""
        while True:
            try:
                if not await self._round():
                    return
            except AuditUnwritable:
                # Nothing may happen that can't be written down: hold still and look again.
                _log.exception("transfer %s holds still", self._run.transfer)
                await wait_for(self._run.woken, self._backoff_s())
            except (ServiceError, GuardrailError) as error:
                self._fatal = error

    async def _round(self) -> bool:
        """Do one round; `False` when the transfer has ended."""
        self._run.woken.clear()
        if self._fatal is not None:
            # What was moved stays, and `retry` goes on from there.
            await self._finish(m.TransferState.FAILED, str(self._fatal), self._fatal)
            return False
        if self._run.wish is Wish.CANCEL:
            await self._finish(m.TransferState.CANCELED, self._run.wish_reason)
            return False
        obstacle = None if self._run.adopts else await self._obstacle()
        if obstacle is not None:
            await self._parts.ledger.move(self._run.transfer, obstacle.state, obstacle.reason)
            await wait_for(self._run.woken, obstacle.wait_s)
            return True
        if not self._slots.take():
            limit = self._parts.core.settings.transfer_concurrency
            reason = f"{limit} transfers are running; this one is next in turn"
            await self._parts.ledger.move(self._run.transfer, m.TransferState.QUEUED, reason)
            await wait_for(self._run.woken, None)
            return True
        try:
            end = await self._attempt()
        finally:
            self._slots.give_back()
        return await self._judge(end)

    # -- before an attempt --

    async def _obstacle(self) -> Obstacle | None:
        run, now = self._run, self._parts.core.clock()
        if run.wish is Wish.PAUSE:
            return Obstacle(m.TransferState.PAUSED, run.wish_reason)
        if run.starts is not None and run.starts > now:
            wait_s = (run.starts - now) / timedelta(seconds=1)
            return Obstacle(m.TransferState.QUEUED, f"starts at {run.starts:%Y-%m-%d %H:%M:%S} UTC", wait_s)
        away = await self._away()
        if away is not None:
            return away
        wait_s = self._not_before - asyncio.get_running_loop().time()
        if wait_s > 0:
            return Obstacle(m.TransferState.WAITING, f"tries again after: {self._last_error}", wait_s)
        return None

    async def _away(self) -> Obstacle | None:
        """Say which node can't work now; refuses when it never will, or has been waited for too long."""
        now = asyncio.get_running_loop().time()
        try:
            async with self._parts.core.database.read() as tx:
                for key in self._run.nodes:
                    await self._parts.nodes.require_usable(tx, key)
        except ServiceError as error:
            if error.code not in _WAITS:
                raise
            self._away_since = self._away_since or now
            left_s = self._away_since + self._parts.core.settings.away_limit_s - now
            if left_s <= 0:
                raise
            return Obstacle(m.TransferState.WAITING, error.detail, left_s)
        self._away_since = None
        return None

    # -- an attempt --

    async def _attempt(self) -> End:
        """Run one attempt to its end: a new one, or the one that outlived a restart of the service."""
        run, self._refusal = self._run, None
        try:
            if run.adopts:
                run.adopts, run.running = False, True
                self._refusal = await self._renew()
            else:
                run.end = None
                await self._begin()
                run.running = True
            if self._refusal is not None:
                return await self._stop("its ticket may not be renewed")
            return await self._watch_over()
        except EngineError as error:
            return End("failed", error.code, str(error), error.retryable or error.code == _ATTEMPT_UNKNOWN)
        finally:
            run.running = False

    async def _begin(self) -> None:
        """Sign the ticket of a new attempt and hand it to its nodes."""
        run, parts = self._run, self._parts
        data = parts.core.settings.data
        async with parts.ledger.change(run.transfer) as (tx, row):
            number = row.attempt + 1
            ticket, self._released = await parts.signer.ticket(tx, row, number)
            row.attempt, row.state, row.state_reason = number, m.TransferState.RUNNING, ""
            row.started = row.started or parts.core.clock()
            tx.add(AttemptRow(transfer=row.id, number=number, started=parts.core.clock()))
            lists, results = lists_dir(data, row.plan), result_dir(data, row.id, number)
            await parts.ledger.record(tx, row, "started" if number == 1 else "attempt", f"attempt {number} started")
        run.attempt = number
        results.mkdir(parents=True, exist_ok=True)
        await parts.core.hub.start_attempt(ticket=ticket.text, lists_dir=str(lists), result_dir=str(results))

    async def _watch_over(self) -> End:
        """Renew the ticket, pass on what people want, and return the attempt's end.

        An attempt outlives a node's absence: the other nodes and the hub hold its place until its ticket expires.
        """
        run, loop = self._run, asyncio.get_running_loop()
        renew_s = self._parts.core.settings.ticket_renew_s
        renew_at = loop.time() + renew_s
        while True:
            run.woken.clear()
            if run.end is not None:
                return run.end
            if run.wish is not Wish.RUN:
                return await self._stop(run.wish_reason or f"{run.wish} was asked for")
            complete = await self._note_absence()
            if run.recheck or run.new_rate or (complete and loop.time() >= renew_at):
                run.recheck, renew_at = False, loop.time() + renew_s
                self._refusal = await self._renew()
                if self._refusal is not None:
                    return await self._stop("its ticket may not be renewed")
            await wait_for(run.woken, renew_at - loop.time() if complete else None)

    async def _note_absence(self) -> bool:
        """Record which of the nodes is away, or that none is any more; returns whether all are there."""
        run, parts = self._run, self._parts
        away: str = ""
        async with parts.core.database.read() as tx:
            for key in run.nodes:
                away = away or await parts.nodes.absence(tx, key)
        state = m.TransferState.WAITING if away else m.TransferState.RUNNING
        await parts.ledger.move(run.transfer, state, away)
        return not away

    async def _renew(self) -> Refusal | None:
        """Check everything again and hand a fresh ticket to the nodes; returns what stands against it."""
        run, parts = self._run, self._parts
        try:
            async with parts.ledger.change(run.transfer) as (tx, row):
                ticket, self._released = await parts.signer.ticket(tx, row, run.attempt)
                rate = row.rate_ceiling_bps
        except AuditUnwritable:
            # Unrenewed, the nodes stop by themselves; until then a later renewal may succeed.
            _log.exception("the ticket of transfer %s was not renewed", run.transfer)
            return None
        except (ServiceError, GuardrailError) as error:
            return error
        new_rate, run.new_rate = run.new_rate, False
        try:
            await parts.core.hub.renew(ticket=ticket.text)
            if new_rate:
                await parts.core.hub.set_rate(transfer=run.transfer, rate_bps=rate)
        except EngineError as error:
            # An attempt that is not known any more may just have ended: its end is on the way then.
            if error.code == _ATTEMPT_UNKNOWN and await self._end_within(_END_LIMIT_S, on_its_way=True) is None:
                raise
            if error.code != _ATTEMPT_UNKNOWN and not error.retryable:
                raise
            # A node that is away gets the ticket, and with it the rate, when it is back.
            _log.info("a node of transfer %s was not told: %s", run.transfer, error)
        return None

    async def _end_within(self, seconds: float, *, on_its_way: bool) -> End | None:
        """Wait for the end of the attempt; unless it is on its way already, only while a node is there to tell it."""
        run, loop = self._run, asyncio.get_running_loop()
        limit = loop.time() + seconds
        while run.end is None and loop.time() < limit:
            if not on_its_way and all(self._parts.nodes.attached(key) is None for key in run.nodes):
                break
            run.woken.clear()
            if run.end is None:
                await wait_for(run.woken, limit - loop.time())
        return run.end

    async def _stop(self, reason: str) -> End:
        """Stop the attempt and wait (bounded) for its end."""
        await self._parts.core.hub.stop_attempt(transfer=self._run.transfer, reason=reason)
        return await self._end_within(_STOP_LIMIT_S, on_its_way=False) or End("stopped", message=reason)

    # -- after an attempt --

    async def _judge(self, end: End) -> bool:
        """Record how the attempt ended; `False` when the transfer has ended with it."""
        run, parts = self._run, self._parts
        moved = run.progress.bytes_durable
        async with parts.ledger.change(run.transfer) as (tx, row):
            before = m.Progress.model_validate_json(row.progress).bytes_durable
            await self._close_attempt(tx, row, end)
        run.resent_before = run.progress.resent_bytes
        run.progress = run.progress.model_copy(update={"rate_bps": 0, "streams": 0, "eta_s": None})
        self._failures = 0 if moved > before else self._failures + 1
        if end.outcome in {"complete", "partial"}:
            await self._conclude(end)
            return False
        if self._refusal is not None:
            raise self._refusal
        if run.wish is not Wish.RUN:
            return True
        if end.outcome == "failed" and not end.retryable:
            raise ServiceError(end.code, end.message)
        if self._failures >= parts.core.settings.attempts_without_progress:
            raise ServiceError(
                Code.NO_PROGRESS,
                f"{self._failures} attempts in a row moved nothing; the last one ended: {end.message} ({end.code}). "
                f"When that is mended, `headrace retry {run.transfer}` goes on where it stopped",
            )
        self._last_error = end.message or end.code
        self._not_before = asyncio.get_running_loop().time() + self._backoff_s()
        return True

    async def _close_attempt(self, tx: Tx, row: TransferRow, end: End) -> None:
        row.progress = self._run.progress.model_dump_json()
        attempt = await tx.get(AttemptRow, (row.id, row.attempt))
        if attempt is not None:
            attempt.ended, attempt.outcome = self._parts.core.clock(), end.outcome
            attempt.code, attempt.message, attempt.statements = end.code, end.message, "\n".join(end.statements)
            if end.failed_list is not None:
                attempt.failed_list = str(end.failed_list.relative_to(self._parts.core.settings.data))
        message = f"attempt {row.attempt} ended: {end.outcome}" + (f" ({end.message})" if end.message else "")
        await self._parts.ledger.record(tx, row, "attempt_ended", message)

    async def _conclude(self, end: End) -> None:
        """Verify the nodes' statements, make the receipt, and end the transfer with it."""
        run, parts = self._run, self._parts
        state = m.TransferState(end.outcome)
        async with parts.ledger.change(run.transfer) as (tx, row):
            row.ended = parts.core.clock()
            receipt = await parts.receipts.make(tx, row, self._released, end)
            row.receipt, row.state, row.state_reason = receipt.id, state, ""
            run.progress = _final(run.progress, receipt, state)
            row.progress = run.progress.model_dump_json()
            await settle(tx, row.id, run.progress.bytes_durable)
            await parts.core.audit.append(tx, Kind.RECEIPT_MADE, subject=receipt.id, detail={"transfer": row.id})
            await parts.ledger.record(tx, row, state.value, receipt.summary)
        await self._parts.tidying.begin(run.transfer)

    async def _finish(self, state: m.TransferState, reason: str, error: Refusal | None = None) -> None:
        run, parts = self._run, self._parts
        async with parts.ledger.change(run.transfer) as (tx, row):
            row.state, row.state_reason, row.ended = state, reason, parts.core.clock()
            row.error = problem_of(error, instance=run.transfer).model_dump_json() if error else None
            await settle(tx, row.id, run.progress.bytes_durable)
            await parts.ledger.record(tx, row, state.value, reason or f"the transfer is {state}")
        await self._parts.tidying.begin(run.transfer)

    def _backoff_s(self) -> float:
        settings = self._parts.core.settings
        return min(settings.max_backoff_ms, settings.backoff_ms << min(self._failures, 20)) / 1000


def _final(progress: m.Progress, signed: Made, state: m.TransferState) -> m.Progress:
    """Correct the last progress that was reported by what was signed in the end."""
    done = max(progress.files_done, signed.files + signed.identical)
    final = {"files_done": done, "files_failed": signed.failed, "files_total": done + signed.failed, "limiter": ""}
    # The last report may be older than what arrived last.
    for name in ("bytes_received", "bytes_durable"):
        final[name] = max(getattr(progress, name), signed.bytes)
    if state is m.TransferState.COMPLETE:
        size = max(progress.bytes_total, signed.bytes)
        final |= dict.fromkeys(("bytes_total", "bytes_received", "bytes_durable"), size)
    return progress.model_copy(update=final)
