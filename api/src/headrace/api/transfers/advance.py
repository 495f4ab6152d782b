"""Carries one transfer on: look at it, ask the state machine, do what it says; again and again until nothing is new.

The job `advance` of a transfer. It is short: whatever takes time (an attempt, a stop, a wait) wakes it when something
happens, or at the time that it asks for.
"""

import logging
from dataclasses import replace
from datetime import datetime, timedelta

from headrace.api.errors import Code, Fenced, ServiceError
from headrace.api.jobs.turns import Turns
from headrace.api.policy.qos import InForce
from headrace.api.store import Tx, unless_committed
from headrace.api.store.tables_work import TransferRow
from headrace.api.transfers.attempts import Attempts, WishChanged
from headrace.api.transfers.parts import Parts
from headrace.api.transfers.run_state import ATTEMPT_UNKNOWN, End, Run, standing_of
from headrace.api.transfers.state_machine import (
    END_STATES,
    Cause,
    Effect,
    Limits,
    Seen,
    Shut,
    Standing,
    Step,
    Wish,
    step,
)

_log = logging.getLogger(__name__)

_MOST_STEPS = 8
"""Steps in a row before others have their turn."""
_STOP = timedelta(seconds=30)
"""How long nodes may take to say that they stopped before the service goes on without that word."""
_ON_ITS_WAY = timedelta(seconds=5)
"""How long the end of an attempt that its nodes have closed may be on its way here."""
_HALT = timedelta(seconds=2)
_NEVER = timedelta(days=366)
"""Until when hours wait that do not open any more: another version of the calendar wakes them before."""
_PASSES = frozenset({Code.NODE_AWAY, Code.NODE_DRAINING, Code.NODE_CLOCK_SKEWED})
"""What may pass by waiting."""


class Advance:
    """Looks at runs and acts on them."""

    def __init__(self, parts: Parts, attempts: Attempts, turns: Turns) -> None:
        """Act by `attempts`."""
        self._parts = parts
        self._core = parts.core
        self._attempts = attempts
        self._turns = turns
        settings = parts.core.settings
        self._limits = Limits(
            away=timedelta(seconds=settings.away_limit_s),
            stop=_STOP,
            halt=_HALT,
            pause=timedelta(seconds=settings.pause_limit_s),
            backoff=timedelta(milliseconds=settings.backoff_ms),
            max_backoff=timedelta(milliseconds=settings.max_backoff_ms),
            failures=settings.attempts_without_progress,
        )

    async def carry_on(self, run: Run) -> datetime | None:
        """Do all that can be done now; returns when to look again, or nothing when the transfer has ended.

        Raises `Fenced` when this run does not hold the transfer any more.
        """
        if run.begun is not None and not await self._attempts.hand_over(run):
            return self._look_at(run, None)
        for _ in range(_MOST_STEPS):
            found = self._ended_at_once(run) or await self._read(run)
            if found is None:
                return None
            now, seen = found
            after = self._next(run, now, seen)
            if not await self._act(run, now, after):
                return None if after.standing.state in END_STATES else self._look_at(run, after.look_at)
        return self._core.clock()

    def _ended_at_once(self, run: Run) -> tuple[Standing, Seen] | None:
        """Return where a run stands whose attempt ended before anybody looked at it again.

        That is known without the store. What people wish and the fence are compared when its end is written.
        """
        began, run.began = run.began, None
        if began is None or run.end is None or run.stopping_since is not None:
            return None
        return began, self._seen_end(run, run.end)

    async def _read(self, run: Run) -> tuple[Standing, Seen] | None:
        """Return where a run stands, as the store says; nothing when the transfer has ended."""
        async with self._core.database.read() as tx:
            row = await tx.get(TransferRow, run.transfer)
            if row is None or (row.fence, row.attempt) != (run.fence, run.attempt):
                raise Fenced(run.transfer)
            now = standing_of(row, run)
            return None if now.state in END_STATES else (now, await self._look(tx, row, run))

    async def begin_at_once(self, tx: Tx, row: TransferRow, run: Run) -> None:
        """Begin in the transaction `tx` that admits a transfer, when nothing stands in its way."""
        unless_committed(tx, lambda: self._turns.leave(run.transfer))
        found = self._parts.signer.shut(tx, run.transfer)
        run.shut = Shut(found.opens, found.whose) if found else None
        shut, _ = self._hours(run)
        seen = Seen(absent=await self._absent(tx, run), starts=run.starts, shut=shut)
        after = self._next(run, standing_of(row, run), seen)
        if after.effect is Effect.BEGIN:
            await self._attempts.record(tx, row, run, after.standing)

    async def _look(self, tx: Tx, row: TransferRow, run: Run) -> Seen:
        """Say what is the case for this run."""
        clock = self._core.steady()
        shut, shuts = self._hours(run)
        if run.unknown_since is not None and run.end is None and clock >= run.unknown_since + _ON_ITS_WAY:
            run.end = End("failed", ATTEMPT_UNKNOWN, "no node knows the attempt any more", retryable=True)
        if run.open and run.end is not None:
            return self._seen_end(run, run.end)
        absent = await self._absent(tx, run)
        since = run.stopping_since
        gone = all(self._parts.nodes.attached(key) is None for key in run.nodes)
        if run.halt and not run.open:
            # What was halted is looked at here, and begins (which writes) once it is not.
            run.halt = self._parts.shares.unreadable or await self._parts.signer.halted(tx, row)
        return Seen(
            refusal=_cause(run.refusal),
            halt=run.halt,
            absent=absent,
            starts=run.starts,
            shut=shut,
            shuts=shuts,
            legs_left=run.legs_left,
            place_is_free=run.place_is_free,
            renew=run.new_rate or run.renew_at is None or clock >= run.renew_at,
            lost=since is not None and (gone or clock >= since + _STOP),
        )

    def _seen_end(self, run: Run, end: End) -> Seen:
        """Say what is the case for a run whose attempt has ended."""
        shut, _ = self._hours(run)
        return Seen(
            end=end.ending(moved=run.advanced),
            refusal=_cause(run.refusal),
            halt=run.halt,
            shut=shut,
            legs_left=run.legs_left,
            leg_spent=run.leg_spent,
        )

    def _hours(self, run: Run) -> tuple[Shut | None, datetime | None]:
        return _hours(run, self._parts.shares.in_force, self._core.clock())

    async def _absent(self, tx: Tx, run: Run) -> Cause | None:
        """Say which node can't work now; one that never will stands against the run for good."""
        try:
            if not run.open:
                await self._parts.nodes.require_usable(tx, *run.nodes)
                return None
            for key in run.nodes:
                away = await self._parts.nodes.absence(tx, key)
                if away:
                    return Cause(Code.NODE_AWAY, away)
        except ServiceError as error:
            if error.code in _PASSES:
                return Cause(error.code, error.detail)
            run.refusal = run.refusal or error
        return None

    def _next(self, run: Run, now: Standing, seen: Seen) -> Step:
        """Ask the state machine; who would begin gets in line first."""
        clock = self._core.steady()
        doubted = self._core.doubt.of_waits() is not None
        seen = replace(seen, refusal=_cause(run.refusal), told=self._core.clock(), doubted=doubted)
        after = step(now, seen, clock, self._limits)
        if after.effect is Effect.BEGIN:
            if not self._turns.is_next(self._parts.shares.place_of(run)):
                after = step(now, replace(seen, turn=False), clock, self._limits)
        elif not now.open:
            self._turns.leave(run.transfer)
        return after

    async def _act(self, run: Run, now: Standing, after: Step) -> bool:
        """Do the effect; returns whether to look at once again."""
        try:
            return await self._do(run, now, after)
        except WishChanged:
            return True

    async def _do(self, run: Run, now: Standing, after: Step) -> bool:
        standing, end = after.standing, run.end or End("stopped", message="its nodes did not say that they stopped")
        match after.effect:
            case Effect.NONE:
                if _shown(standing) != _shown(now):
                    await self._attempts.note(run, standing)
                return False
            case Effect.BEGIN:
                return await self._attempts.begin(run, standing)
            case Effect.RENEW:
                # What stood in its way before is over: the next look says so.
                return await self._attempts.renew(run) or _shown(standing) != _shown(now)
            case Effect.STOP:
                return await self._attempts.stop(run, _why_stop(run, standing))
            case Effect.CONCLUDE:
                return await self._attempts.conclude(run, end, standing)
            case Effect.CLOSE:
                await self._attempts.close(run, end, standing)
            case Effect.END:
                await self._attempts.end(run, standing)
        return standing.state not in END_STATES

    def _look_at(self, run: Run, look_at: datetime | None) -> datetime:
        """Return the time of the next look, by the clock: what the state machine says, or the next renewal."""
        unknown_until = run.unknown_since and run.unknown_since + _ON_ITS_WAY
        if run.open:
            look_at = _earliest(look_at, run.renew_at, unknown_until)
        # Whatever is waited for wakes the job; this is only how long a lost word may go unnoticed.
        clock = self._core.steady()
        wait = look_at - clock if look_at and look_at > clock else timedelta(seconds=self._core.settings.sweep_s)
        return self._core.clock() + wait


def _cause(refusal: Exception | None) -> Cause | None:
    return None if refusal is None else Cause(str(getattr(refusal, "code", "")), str(refusal.args[0]))


def _shown(standing: Standing) -> tuple[object, ...]:
    return standing.state, standing.reason, standing.away_since, standing.blocked_since, standing.goes_on


def _why_stop(run: Run, standing: Standing) -> str:
    if standing.wish is not Wish.RUN:
        return standing.wish_reason or f"{standing.wish} was asked for"
    return run.halt or ("its hours are over" if run.refusal is None else "its ticket may not be renewed")


def _hours(run: Run, held: InForce, now: datetime) -> tuple[Shut | None, datetime | None]:
    """Return the hours that are over now, of the transfer, its class or policy, or when its own are over."""
    if run.shut is not None and now >= run.shut.until:
        run.shut = None
    hours = held.hours_of(run.qos_class, run.hours)
    if not hours.parts:
        return run.shut, None
    opens = hours.opening(now)
    if opens is not None and opens <= now:
        return run.shut, hours.closing(now)
    own_over = run.hours is not None and run.hours.opening(now) > now
    whose = (
        f"its hours, {run.hours}"
        if own_over
        else f"the hours of its class `{run.qos_class}`, {held.calendar_of(run.qos_class)}"
    )
    never = "" if opens else ", which do not open any more"
    own = Shut(opens or now + _NEVER, whose + never)
    return run.shut if run.shut and run.shut.until > own.until else own, None


def _earliest(*times: datetime | None) -> datetime | None:
    return min((time for time in times if time is not None), default=None)
