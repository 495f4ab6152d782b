"""What is done for a transfer: attempts begin, are renewed, stop and end; every change under the run's fence."""

import asyncio
import json
import logging
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from http import HTTPStatus
from pathlib import Path

from sqlalchemy import bindparam, select
from sqlalchemy.exc import DataError

from headrace.api.data_folder import lists_dir, result_dir
from headrace.api.errors import AuditUnwritable, Code, Fenced, KeyUnusable, OutsideHours, ServiceError
from headrace.api.jobs.turns import Turns
from headrace.api.policy.budgets import begin_on, day_of, day_of_start, keep, settle
from headrace.api.problems import make, problem_of
from headrace.api.signing.policy_hours import Unsettled
from headrace.api.store import Tx, after_commit, unless_committed
from headrace.api.store.base import Base
from headrace.api.store.tables_work import AttemptRow, PlanRow, TransferRow
from headrace.api.store_trouble import log_trouble
from headrace.api.transfers.diagnosis import after_failed_files, after_failure
from headrace.api.transfers.parts import Parts
from headrace.api.transfers.probe import files_moved, files_of_legs, lost_of, measured_leg, stored_legs
from headrace.api.transfers.receipts import Checked, require_whole_move, totals_of
from headrace.api.transfers.run_state import (
    ATTEMPT_UNKNOWN,
    STATE_FAILED,
    Begun,
    End,
    Refusal,
    Run,
    Standstill,
    at_rest,
    standing_of,
    write_standing,
)
from headrace.api.transfers.state_machine import END_STATES, Shut, Standing, State, Wish
from headrace.api.transfers.telling import SHARES_INVALID
from headrace.client import models as m
from headrace.engine import EngineError
from headrace.guardrails import GuardrailError

_log = logging.getLogger(__name__)

ADVANCE = "advance"
"""The task that carries transfers on."""
_DESTINATION_BUSY = "destination_busy"
"""The engine's code of a node that writes for another transfer there."""
_ATTEMPTS = Base.metadata.tables[AttemptRow.__tablename__]
_BEGIN = _ATTEMPTS.insert()
_END = _ATTEMPTS.update().where(
    _ATTEMPTS.c.transfer == bindparam("of_transfer"), _ATTEMPTS.c.number == bindparam("of_number")
)
_NO_END = {"code": "", "message": "", "statements": ""}
_RENEW_AGAIN = timedelta(seconds=5)
_PASSES = frozenset({Code.AUDIT_UNSENT, Code.HALTED, Code.KEY_UNUSABLE, Code.POLICY_UNPROVEN, Code.QOS_UNREADABLE})
"""What is waited for until `Signer.halted`, or what is in force of links, says that it is over."""
_OF_NODE = re.compile(r"node (?P<node>ed25519:[\w-]+): (?P<said>.*)", re.DOTALL)
"""How the hub names the node that could not use its state folder."""
_CODE = re.compile(r"[a-z][a-z0-9_]{0,63}")
_MOST_CODES = 64
"""Codes of failed files that are told apart; an engine has fewer."""
_NOT_STORED = (
    "what the nodes say of the end of this transfer can't be stored, so there is no receipt; look at the nodes before "
    "you use the data"
)
_SOURCES_STAY = "it was stopped while it deleted sources; those that stay are deleted when it goes on"
_NO_FOLDER = "the service can't make the folder for what the nodes report ({}); an operator must look at its disk"


async def _begin(tx: Tx, rows: Sequence[Mapping[str, object]]) -> None:
    await tx.execute(_BEGIN, rows)


class WishChanged(Exception):  # noqa: N818 - says what is the case
    """People wished something else after the standing was read; nothing was written."""


class TurnPassed(WishChanged):
    """The free slot was taken by another meanwhile; nothing was written."""


class Attempts:
    """Does the effects of the state machine. Each method returns whether there is something new to look at."""

    def __init__(self, parts: Parts, turns: Turns) -> None:
        """Begin attempts as there are slots in `turns`."""
        self._parts = parts
        self._core = parts.core
        self._turns = turns
        self._waits_for_place: dict[str, Run] = {}
        """Whose last attempt found another transfer at its destination."""
        self.moved_bytes = 0
        """What the attempts that were closed here moved."""

    async def note(self, run: Run, standing: Standing) -> None:
        """Record a new state or reason."""
        async with self._parts.history.change(run.transfer, fence=run.fence) as (tx, row):
            # People may have wished something meanwhile: that is theirs to change.
            standing_now = (row.state, row.state_reason)
            row.state, row.state_reason = standing.state, standing.reason
            row.away_since, row.blocked_since = standing.away_since, standing.blocked_since
            row.goes_on = standing.goes_on
            _keep_progress(tx, row, run)
            if standing_now != (standing.state, standing.reason):
                message = standing.reason or f"the transfer is {standing.state}"
                await self._parts.history.record(tx, row, m.TransferEventKind(standing.state), message)

    async def keep_progress(self, runs: Iterable[Run]) -> None:
        """Store how far attempts are, all in one transaction; after a restart that is shown until their nodes speak."""
        news = {run.transfer: run for run in runs if run.moves and run.progress is not run.kept}
        if not news:
            return
        async with self._core.database.write(autoflush=False) as tx:
            for row in await tx.scalars(select(TransferRow).where(TransferRow.id.in_(news))):
                run = news[row.id]
                if (row.fence, row.attempt) == (run.fence, run.attempt) and run.moves:
                    _keep_progress(tx, row, run)

    async def begin(self, run: Run, standing: Standing) -> bool:
        """Sign the ticket of a new attempt and hand it to its nodes."""
        try:
            async with self._parts.history.change(run.transfer, fence=run.fence) as (tx, row):
                await self.record(tx, row, run, standing)
        except Unsettled as unsettled:
            await self._parts.signer.settle(unsettled)
            return True
        except (ServiceError, GuardrailError, WishChanged) as error:
            return self._stands_against(run, error)
        return await self.hand_over(run)

    async def record(self, tx: Tx, row: TransferRow, run: Run, standing: Standing) -> None:
        """Take a slot and record an attempt with its ticket, to be handed over once `tx` is committed."""
        parts, number, renew_at = self._parts, standing.attempt, run.renew_at
        # Asked again: others may have taken the slot while this waited for the store.
        place = parts.shares.place_of(run)
        if not self._turns.is_next(place):
            raise TurnPassed
        # Before the checks: what changes after them asks for a renewal at once, and that must not be forgotten.
        run.renew_at = self._next_renewal()
        self._turns.take(place)

        def undo() -> None:
            run.renew_at = renew_at
            self._turns.give_back(run.transfer)

        unless_committed(tx, undo)
        _require_wish(row, standing)
        parts.shares.require_readable()
        ticket, run.released = await parts.signer.ticket(tx, row, number, run.fence)
        run.expect((await tx.get_one(PlanRow, row.plan)).card)
        write_standing(row, standing)
        row.durable_before, run.ceiling_bps = run.progress.bytes_durable, row.rate_ceiling_bps
        now, zone = self._core.clock(), self._core.settings.timezone
        if row.attempt > 1 or day_of_start(row, row.created, zone) != day_of(now, zone):
            begin_on(tx, row.id, day_of(now, zone))
        row.started = row.started or now
        begun = {"transfer": row.id, "number": number, "started": now}
        tx.gather(_begin, _NO_END | begun)
        kind = m.TransferEventKind.STARTED if number == 1 else m.TransferEventKind.ATTEMPT
        await parts.history.record(tx, row, kind, f"attempt {number} started")
        lists = lists_dir(self._core.settings.data, row.plan)
        tuning = m.EffectiveTuning.model_validate_json(row.tuning)

        def committed() -> None:
            run.attempt, run.open, run.end, run.place_is_free = number, True, None, False
            run.stopping_since, run.unknown_since = None, None
            run.durable_before, run.durable_steps = run.progress.bytes_durable, 0
            run.samples.clear()
            run.measured.clear()
            run.first = run.moved_at = run.diagnosis = run.under_others = None
            run.still = Standstill()
            parts.throughput.begin(run, now)
            run.begun, run.began = Begun(ticket.text, lists, tuning), standing_of(row, run)

        after_commit(tx, committed)

    async def hand_over(self, run: Run) -> bool:
        """Hand the attempt that was recorded to its nodes; returns whether it has ended already.

        A job that is broken off meanwhile breaks nothing off here: the next one waits for the same.
        """
        if run.begun is None:
            return False
        if run.handing is None:
            run.handing = asyncio.create_task(self._hand_over(run, run.begun), name=f"hand over {run.transfer}")
        await asyncio.shield(run.handing)
        return run.end is not None

    async def _hand_over(self, run: Run, begun: Begun) -> None:
        results = result_dir(self._core.settings.data, run.transfer, run.attempt)
        try:
            self._core.folder.make(results)
            share = await self._parts.shares.begin(run)
            await self._start(run, begun, results, share)
        except OSError as error:
            run.end = run.end or End("failed", STATE_FAILED, _NO_FOLDER.format(error.strerror), retryable=True)
        except EngineError as error:
            run.end = run.end or self._refused_start(error)
        finally:
            run.handing = None
        run.begun = None

    def _refused_start(self, error: EngineError) -> End:
        """Take over that a node did not take an attempt up; one that can't use its own state folder has its name."""
        end = End.failed(error)
        found = _OF_NODE.fullmatch(end.message) if end.code == STATE_FAILED else None
        if found is None:
            return end
        return replace(end, message=self._parts.nodes.on_state_failed(found["node"], found["said"]))

    async def _start(self, run: Run, begun: Begun, results: Path, share: str) -> None:
        tuning = begun.tuning
        start = partial(
            self._core.hub.start_attempt,
            ticket=begun.ticket,
            lists_dir=str(begun.lists),
            result_dir=str(results),
            streams=tuning.streams.value if tuning.streams else None,
            unit_bytes=tuning.unit_bytes.value if tuning.unit_bytes else None,
        )
        try:
            await start(share=share)
        except EngineError as error:
            if error.code != SHARES_INVALID or not share:
                raise
            # What is wrong with a share is no fault of the transfer.
            self._parts.shares.refused(run, share)
            await start(share="")

    async def renew(self, run: Run) -> bool:
        """Check everything again and hand a fresh ticket to the nodes."""
        new_rate, run.new_rate = run.new_rate, False
        run.renew_at = self._next_renewal()
        try:
            async with self._parts.history.change(run.transfer, fence=run.fence) as (tx, row):
                ticket, run.released = await self._parts.signer.ticket(tx, row, run.attempt, run.fence)
                if run.expected is None:
                    run.expect((await tx.get_one(PlanRow, row.plan)).card)
                rate = run.ceiling_bps = row.rate_ceiling_bps
        except Unsettled as unsettled:
            run.renew_at, run.new_rate = None, new_rate
            await self._parts.signer.settle(unsettled)
            return True
        except (AuditUnwritable, KeyUnusable) as error:
            # Unrenewed, the nodes stop by themselves; until then a later renewal may succeed.
            log_trouble(_log, f"the ticket of transfer {run.transfer} was not renewed", error)
            run.renew_at, run.new_rate = self._core.steady() + _RENEW_AGAIN, new_rate
            return False
        except (ServiceError, GuardrailError) as error:
            return self._stands_against(run, error)
        try:
            await self._core.hub.renew(ticket=ticket.text)
            if new_rate:
                await self._core.hub.set_rate(transfer=run.transfer, rate_bps=rate)
        except EngineError as error:
            if error.code == ATTEMPT_UNKNOWN:
                # It may just have ended: its end is on the way then.
                run.unknown_since = run.unknown_since or self._core.steady()
                return True
            if not error.retryable:
                run.end = run.end or End.failed(error)
                return True
            # A node that is away gets the ticket, and with it the rate, when it is back.
            _log.info("a node of transfer %s was not told: %s", run.transfer, error)
        return False

    async def stop(self, run: Run, reason: str) -> bool:
        """Let the nodes stop; how that ended comes as an event."""
        run.stopping_since = self._core.steady()
        try:
            await self._core.hub.stop_attempt(transfer=run.transfer, reason=reason)
        except EngineError as error:
            if error.code == ATTEMPT_UNKNOWN:
                # It may just have ended: its end is on the way then, and says what arrived.
                run.unknown_since = run.unknown_since or self._core.steady()
                return True
            # The attempt goes on until its nodes say that it ended; the hub repeats the stop until then.
            _log.warning("the stop of transfer %s is repeated: %s", run.transfer, error)
        return False

    async def close(self, run: Run, end: End, standing: Standing) -> None:
        """Record how the attempt ended, and the transfer with it when that is its end."""
        async with self._parts.history.change(run.transfer, fence=run.fence) as (tx, row):
            legs = await self._close_attempt(tx, row, run, end)
            await self._settle(tx, row, run, standing)
            if run.legs is not None and standing.state not in END_STATES:
                # The next attempt of a probe begins its leg anew, and is counted whole.
                row.progress, row.durable_before = m.Progress(resent_bytes=row.resent_before).model_dump_json(), 0
            after_commit(tx, lambda: self._closed(run, legs))
        await self.acknowledge(run.transfer, run.attempt)

    async def acknowledge(self, transfer: str, attempt: int) -> None:
        """Let the hub know that the end of an attempt is stored; until then it tells it again, also after a restart."""
        # Whoever waits for this end is told first.
        await asyncio.sleep(0)
        try:
            await self._core.hub.acknowledge(transfer=transfer, attempt=attempt)
        except EngineError as error:
            _log.warning("the hub was not told that the end of transfer %s is stored: %s", transfer, error)

    async def conclude(self, run: Run, end: End, standing: Standing) -> bool:
        """Verify the nodes' statements, make the receipt, and end the transfer with it."""
        try:
            checked = await self._parts.receipts.check(run, end)
            if is_interrupted(checked, run, standing):
                # All has arrived, but sources stay that nobody wanted to keep: they are deleted when it goes on.
                run.end = End("stopped", message=_SOURCES_STAY)
                return True
            failed, for_good = await asyncio.to_thread(_failed_in, end.failed_list) if end.failed_list else ({}, 0)
            async with self._parts.history.change(run.transfer, fence=run.fence) as (tx, row):
                plan = run.released or await self._parts.signer.released(tx, row, starts=False)
                row.ended = self._core.clock()
                totals = await totals_of(tx, row, plan, checked)
                require_whole_move(row, plan, totals)
                run.progress = totals.final(run.progress, run.resent_before, for_good)
                await self._close_attempt(tx, row, run, end)
                if failed and totals.failed:
                    before = m.Diagnosis.model_validate_json(row.diagnosis) if row.diagnosis else None
                    row.diagnosis = after_failed_files(before, row.id, failed).model_dump_json()
                receipt = await self._parts.receipts.make(tx, row, plan, checked, totals)
                row.receipt = receipt.id
                await self._core.audit.append(
                    tx, m.AuditKind.RECEIPT_MADE, subject=receipt.id, detail={"transfer": row.id}
                )
                await self._settle(tx, row, run, standing, said=receipt.summary)
                after_commit(tx, lambda: self._closed(run))
        except (AuditUnwritable, Fenced, KeyUnusable):
            raise
        except Unsettled as unsettled:
            await self._parts.signer.settle(unsettled)
            return True
        except (ServiceError, GuardrailError) as error:
            if error.code in _PASSES:
                raise  # its end is kept at the hub, and looked at again
            # What arrived stays; who can't be trusted, or must not run any more, gets no receipt.
            run.end = End("failed", str(error.code), str(error.args[0]), retryable=False)
            return True
        except (ArithmeticError, LookupError, TypeError, ValueError, DataError):
            # What can't be stored today can't be tomorrow: nobody's slot is taken for it.
            _log.exception("the end of transfer %s can't be stored", run.transfer)
            run.end = End("failed", Code.STATEMENT_INVALID, _NOT_STORED, retryable=False)
            return True
        await self.acknowledge(run.transfer, run.attempt)
        return False

    async def end(self, run: Run, standing: Standing) -> None:
        """Record the end of a transfer that has no open attempt."""
        async with self._parts.history.change(run.transfer, fence=run.fence) as (tx, row):
            await self._settle(tx, row, run, standing)
            after_commit(tx, lambda: self._closed(run))

    async def _close_attempt(self, tx: Tx, row: TransferRow, run: Run, end: End) -> list[m.ProbeLeg] | None:
        """Record how an attempt ended; returns the legs of a probe with the one that is over now, if one is."""
        run.progress = at_rest(run.progress)
        row.resent_before = run.progress.resent_bytes
        found = run.whole()
        if found is not None:
            row.diagnosis = found.model_dump_json()
        measured = run.measured.show(row.id, local=len(run.nodes) == 1, live=False)
        if measured.at is not None:
            row.measured = measured.model_dump_json()
        legs = None
        if run.leg_over(end, row.wish):
            legs = [*(run.legs or ()), measured_leg(run, end, measured, found, self._core.clock())]
            row.probe = stored_legs(legs)
        if run.legs is not None:
            row.resent_before = lost_of(run, over=legs is not None)
        _keep_progress(tx, row, run)
        ended = {
            "ended": self._core.clock(), "outcome": end.outcome, "code": end.code, "message": end.message,
            "statements": "\n".join(end.statements),
            "failed_list": end.failed_list and str(end.failed_list.relative_to(self._core.settings.data)),
        }  # fmt: skip
        await tx.execute(_END, ended | {"of_transfer": row.id, "of_number": run.attempt})
        message = f"attempt {run.attempt} ended: {end.outcome}" + (f" ({end.message})" if end.message else "")
        await self._parts.history.record(tx, row, m.TransferEventKind.ATTEMPT_ENDED, message)
        return legs

    async def _settle(self, tx: Tx, row: TransferRow, run: Run, standing: Standing, *, said: str = "") -> None:
        """Write the standing after an attempt; at the transfer's end also its error and what it used of a budget."""
        _require_wish(row, standing)
        if standing.state in END_STATES:
            row.ended = row.ended or self._core.clock()
            # Before the state is written: only one change says that it has ended.
            await self._parts.promises.end(tx, row, row.ended)
        write_standing(row, standing)
        if standing.state in END_STATES:
            row.error = self._problem(run, standing)
            if row.error is not None and row.diagnosis:
                found, problem = (
                    m.Diagnosis.model_validate_json(row.diagnosis),
                    m.Problem.model_validate_json(row.error),
                )
                last = run.end.code if run.end is not None else ""
                row.diagnosis = after_failure(found, problem.code, last).model_dump_json()
            await settle(tx, row.id, run.moved_bytes, files_of_legs(run.legs) + files_moved(run.progress))
            await self._core.jobs.done(tx, ADVANCE, row.id)
        elif run.moved_bytes:
            await keep(tx, row.id, run.moved_bytes)
        message = said or standing.reason or f"the transfer is {standing.state}"
        await self._parts.history.record(tx, row, m.TransferEventKind(standing.state), message)

    def _closed(self, run: Run, legs: list[m.ProbeLeg] | None = None) -> None:
        self._note_place(run)
        self.moved_bytes += run.moved_bytes
        self._parts.throughput.end(run, self._core.clock())
        if run.legs is not None:
            lost = lost_of(run, over=legs is not None)
            run.legs, run.progress = run.legs if legs is None else legs, m.Progress(resent_bytes=lost)
        run.open, run.end, run.stopping_since, run.unknown_since = False, None, None, None
        self._parts.shares.end(run)
        run.resent_before, run.durable_before = run.progress.resent_bytes, run.progress.bytes_durable
        self._turns.give_back(run.transfer)

    def _note_place(self, run: Run) -> None:
        """Let who waits for a place at this destination try again when an attempt there has ended."""
        if run.end is not None and run.end.code == _DESTINATION_BUSY:
            self._waits_for_place[run.transfer] = run
            return
        self._waits_for_place.pop(run.transfer, None)
        for other in list(self._waits_for_place.values()):
            if other.destination_node == run.destination_node:
                del self._waits_for_place[other.transfer]
                other.place_is_free = True
                self._core.jobs.wake(ADVANCE, other.transfer)

    def _problem(self, run: Run, standing: Standing) -> str | None:
        if standing.state is not State.FAILED or standing.error is None:
            return None
        if run.refusal is not None:
            problem = problem_of(run.refusal, instance=run.transfer)
        else:
            cause = standing.error
            problem = make(cause.code, cause.message, instance=run.transfer, other=HTTPStatus.BAD_GATEWAY)
        return problem.model_dump_json()

    def _stands_against(self, run: Run, error: Refusal | WishChanged) -> bool:
        """Keep what the signer refused: halts and a key or policy that can't be used pass, the rest is for good.

        The audit log's trouble is the job's.
        """
        if isinstance(error, AuditUnwritable | Fenced):
            raise error
        if isinstance(error, WishChanged):
            return True
        if error.code in _PASSES:
            run.halt = str(error.args[0])
        elif isinstance(error, OutsideHours):
            run.shut = Shut(error.opens, error.whose)
        else:
            run.refusal = error
        return True

    def _next_renewal(self) -> datetime:
        return self._core.steady() + timedelta(seconds=self._core.settings.ticket_renew_s)


def _keep_progress(tx: Tx, row: TransferRow, run: Run) -> None:
    progress = run.progress
    row.progress = progress.model_dump_json()

    def committed() -> None:
        run.kept = progress

    after_commit(tx, committed)


def is_interrupted(checked: Checked, run: Run, standing: Standing) -> bool:
    """Whether a move was stopped while it deleted its sources, by what it goes on after.

    A cancel ends it there, and so does a refusal: what has arrived gets its receipt, which names what stays.
    """
    stopped = any(kept.reason is m.KeptReason.STOPPED for kept in checked.kept)
    return stopped and standing.wish is not Wish.CANCEL and run.refusal is None


def _require_wish(row: TransferRow, standing: Standing) -> None:
    if row.wish != standing.wish:
        raise WishChanged


def _failed_in(failed_list: Path) -> tuple[Mapping[str, int], int]:
    """Count the failed files by their code, and those for which a retry alone does not help."""
    codes, for_good = Counter[str](), 0
    if not failed_list.is_file():
        return codes, 0
    with failed_list.open(encoding="utf-8") as lines:
        for line in lines:
            entry = json.loads(line)
            # A node wrote it: what is no code may be a name.
            code = entry["error"] if _CODE.fullmatch(entry["error"]) else "unknown"
            codes[code if code in codes or len(codes) < _MOST_CODES else "other"] += 1
            for_good += not entry["retry"]
    return codes, for_good
