"""What happens to a transfer next: one pure function of where it stands, what people wish, what is seen, and the time.

    step(standing, seen, clock, limits) -> the standing after it, one effect, and when to look again

The caller (`advance`) writes the new standing and does the effect; it calls again whenever something may have changed.
A transfer has at most one open attempt: begun, and its end not recorded.

    no attempt is open  cancel > refused > paused > halted > too early > outside its hours > node away > backs off
                        > its turn > begin
    an attempt is open  wait for its stop > stop it > go on without a node > renew its ticket > go on
    its end is known    it arrived > a probe's last leg is over > canceled > refused > paused > halted
                        > a leg is over > failed for good > outside its hours > stopped by us > obstacle
                        > no progress > try again

Cancel is final: no later wish undoes it, and nothing is begun or renewed after it. A pause that lasts too long ends in
it.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Literal

from headrace.api.errors import Code
from headrace.api.signing.legs import NAMES
from headrace.client import models as m
from headrace.client.text import duration, utc

State = m.TransferState

END_STATES = m.END_STATES
RETRIED_STATES = frozenset({State.PARTIAL, State.FAILED})
OBSTACLES = frozenset(
    {
        "account_unknown_now",
        "already_running",
        "attempt_unknown",
        "clock_skew",
        "destination_busy",
        "hub_busy",
        "hub_unreachable",
        "no_space",
        "node_busy",
        "node_lost",
        "node_restarted",
        "node_timeout",
        "node_unreachable",
        "not_enrolled",
        "peer_unreachable",
        "read_only",
        "root_missing",
        "state_failed",
        "ticket_expired",
        "ticket_not_yet_valid",
        "too_busy",
    }
)
"""How attempts end that nothing is wrong with: what stood in their way is mended by itself or by an operator, in its
own time. They are tried again for as long as a node may be away; other failures only a few times in a row."""
WAITS_FOR_ITS_TURN = "waits for its turn"

PROBE_OVER = "probe_over"
"""The engine's code of an attempt whose leg of a probe took its time."""
_MAX_DOUBLINGS = 20


class Wish(StrEnum):
    """What people want of a transfer; stored with it."""

    RUN = "run"
    PAUSE = "pause"
    CANCEL = "cancel"


class Effect(StrEnum):
    """What the caller does besides writing the new standing."""

    NONE = "none"
    BEGIN = "begin"
    """Sign a ticket for the next attempt and hand it to the nodes."""
    RENEW = "renew"
    """Check everything again and hand a fresh ticket to the nodes."""
    STOP = "stop"
    """Let the nodes stop the attempt."""
    CLOSE = "close"
    """Record how the attempt ended; the transfer may end with it."""
    CONCLUDE = "conclude"
    """Record it, verify what the nodes signed, and make the receipt."""
    END = "end"
    """Record that the transfer has ended."""


@dataclass(frozen=True, slots=True)
class Cause:
    """Why something does not go on: a stable code, and a sentence for people."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Ending:
    """How the open attempt ended, and whether it made more bytes durable."""

    outcome: Literal["complete", "partial", "failed", "stopped"]
    cause: Cause
    retryable: bool
    moved: bool


@dataclass(frozen=True, slots=True)
class Shut:
    """Hours that are over: until when, and whose they are."""

    until: datetime
    why: str


_LOST = Ending("stopped", Cause("", "its nodes did not say that they stopped"), retryable=True, moved=False)


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a transfer stands."""

    state: State
    reason: str = ""
    wish: Wish = Wish.RUN
    wish_reason: str = ""
    attempt: int = 0
    """Number of the newest attempt."""
    open: bool = False
    """Whether that attempt's end is still to be recorded."""
    stopping: bool = False
    """Whether its nodes were told to stop."""
    failures: int = 0
    """Attempts in a row that moved nothing."""
    not_before: datetime | None = None
    last_error: str = ""
    away_since: datetime | None = None
    """Since when it waits for a node; a pause or a halt ends that wait."""
    blocked_since: datetime | None = None
    """Since when obstacles end its attempts and nothing moves; a pause or a halt ends that wait."""
    paused_since: datetime | None = None
    """Since when its pause is wished."""
    goes_on: datetime | None = None
    """When its hours open, while it waits for them."""
    error: Cause | None = None
    """Why it failed."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What is the case now."""

    end: Ending | None = None
    refusal: Cause | None = None
    """What stands against it for good."""
    halt: str = ""
    """Why an operator lets nothing run."""
    absent: Cause | None = None
    """Which node can't work now."""
    starts: datetime | None = None
    shut: Shut | None = None
    """The hours that it waits for, as they are over now."""
    shuts: datetime | None = None
    """When the hours that it is in are over."""
    told: datetime | None = None
    """What the clock says that `starts`, `shut` and `shuts` are about, where another one measures waits."""
    doubted: bool = False
    """Whether the clock that measures waits may be ahead: nothing ends because it has waited for so long."""
    turn: bool = True
    place_is_free: bool = False
    """Whether what its last attempt met may be over, so that there is nothing to wait for."""
    renew: bool = False
    lost: bool = False
    """The nodes did not say in time that they stopped."""
    legs_left: int | None = None
    """How many legs of a probe come after the one whose attempt this is; nothing for what is no probe."""
    leg_spent: bool = False
    """Whether that leg, begun anew, could move more than its plan allows."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How long and how often."""

    away: timedelta
    stop: timedelta
    halt: timedelta
    pause: timedelta
    backoff: timedelta
    max_backoff: timedelta
    failures: int


@dataclass(frozen=True, slots=True)
class Step:
    """The standing from now on, what to do, and when to look again if nothing happens before."""

    standing: Standing
    effect: Effect = Effect.NONE
    look_at: datetime | None = None


class WishRefused(Exception):  # noqa: N818 - says what is the case
    """Where a transfer stands does not allow this wish; the message says why."""


@dataclass(frozen=True, slots=True)
class _Case:
    now: Standing
    seen: Seen
    clock: datetime
    limits: Limits

    def to(self, state: State, reason: str = "", **changes: object) -> Standing:
        """Return the standing with another state and reason."""
        fields: dict[str, object] = {"goes_on": None} | changes
        return replace(self.now, state=state, reason=reason, **fields)  # type: ignore[arg-type] # fields by name

    @property
    def shuts(self) -> datetime | None:
        """When its hours are over, by the clock that measures waits."""
        return self.seen.shuts and self.ahead(self.seen.shuts)

    def ahead(self, moment: datetime) -> datetime:
        """Return when a time of the clock that people read comes, by the clock that measures waits."""
        return self.clock + (moment - (self.seen.told or self.clock))

    @property
    def end(self) -> Ending:
        """How the attempt ended; one that was lost just stopped."""
        return self.seen.end or _LOST


def step(now: Standing, seen: Seen, clock: datetime, limits: Limits) -> Step:
    """Say what happens next; `clock` measures waits, and every time but `starts`, `shut` and `shuts` is by it."""
    case = _Case(now, seen, clock, limits)
    if now.state in END_STATES:
        return Step(now)
    goes_on = seen.end is None and not (now.stopping and seen.lost)
    after_begin = _MEANWHILE if goes_on else _AFTER
    rules = after_begin if now.open else _BEFORE
    return next(found for rule in rules if (found := rule(case)) is not None)


def against_wish(state: State, wish: Wish, asked: Wish) -> str | None:
    """Say what stands against a wish, of a transfer in this state for which `wish` was the last one."""
    if state in END_STATES:
        return f"has ended ({state}); nothing is left to steer"
    if wish is Wish.CANCEL:
        return "is being canceled, which is final"
    if asked is wish is Wish.PAUSE:
        return "is paused already"
    if asked is Wish.RUN and wish is not Wish.PAUSE:
        return f"is {state}; only a paused one is resumed"
    return None


def against_retry(state: State) -> str | None:
    """Say what stands against trying a transfer in this state again."""
    if state in RETRIED_STATES:
        return None
    anew = "; `headrace again` asks for the same once more" if state in END_STATES else ""
    return f"is {state}; only a partial or failed one is tried again{anew}"


def wished(now: Standing, asked: Wish, reason: str, clock: datetime) -> Standing:
    """Take over what people want; raises `WishRefused`."""
    against = against_wish(now.state, now.wish, asked)
    if against is not None:
        raise WishRefused(against)
    return replace(now, wish=asked, wish_reason=reason, paused_since=clock if asked is Wish.PAUSE else None)


def retried(now: Standing) -> Standing:
    """Queue a failed or partial transfer again; raises `WishRefused`."""
    against = against_retry(now.state)
    if against is not None:
        raise WishRefused(against)
    return Standing(State.QUEUED, attempt=now.attempt)


# -- no attempt is open --


def _canceled(case: _Case) -> Step | None:
    if case.now.wish is not Wish.CANCEL:
        return None
    return Step(case.to(State.CANCELED, case.now.wish_reason), Effect.END)


def _refused(case: _Case) -> Step | None:
    return _fail(case, case.seen.refusal, Effect.END) if case.seen.refusal else None


def _paused(case: _Case) -> Step | None:
    if case.now.wish is not Wish.PAUSE:
        return None
    until = case.now.paused_since and case.now.paused_since + case.limits.pause
    if until is not None and case.clock >= until and not case.seen.doubted:
        most = duration(case.limits.pause.total_seconds())
        return Step(case.to(State.CANCELED, f"canceled after {most} of pause, the most that one may last"), Effect.END)
    return Step(case.to(State.PAUSED, case.now.wish_reason, away_since=None, blocked_since=None), look_at=until)


def _held(case: _Case) -> Step | None:
    if not case.seen.halt:
        return None
    return Step(
        case.to(State.WAITING, case.seen.halt, away_since=None, blocked_since=None),
        look_at=case.clock + case.limits.halt,
    )


def _too_early(case: _Case) -> Step | None:
    starts, told = case.seen.starts, case.seen.told or case.clock
    if starts is None or starts <= told:
        return None
    return Step(case.to(State.QUEUED, f"starts at {utc(starts)}", away_since=None), look_at=case.ahead(starts))


def _outside_its_hours(case: _Case) -> Step | None:
    shut = case.seen.shut
    if shut is None:
        return None
    begun = case.now.attempt > 0
    reason = f"outside {shut.why}; {'goes on' if begun else 'starts'} at {utc(shut.until)}"
    state = State.WAITING if begun else State.QUEUED
    waits = case.to(state, reason, away_since=None, blocked_since=None, goes_on=shut.until)
    return Step(waits, look_at=case.ahead(shut.until))


def _away(case: _Case) -> Step | None:
    if case.seen.absent is None:
        return None
    since = case.now.away_since or case.clock
    until = since + case.limits.away
    if case.clock >= until and not case.seen.doubted:
        return _fail(case, case.seen.absent, Effect.END)
    return Step(case.to(State.WAITING, case.seen.absent.message, away_since=since), look_at=until)


def _backs_off(case: _Case) -> Step | None:
    again = None if case.seen.place_is_free else case.now.not_before
    # Further away than any wait: the clock was ahead when this was written, and was set back.
    if again is None or not case.clock < again <= case.clock + case.limits.max_backoff:
        return None
    reason = f"tries again by itself, after: {case.now.last_error}"
    return Step(case.to(State.WAITING, reason, away_since=None), look_at=again)


def _not_its_turn(case: _Case) -> Step | None:
    return None if case.seen.turn else Step(case.to(State.QUEUED, WAITS_FOR_ITS_TURN, away_since=None))


def _begins(case: _Case) -> Step:
    number = case.now.attempt + 1
    begun = case.to(State.RUNNING, attempt=number, open=True, stopping=False, not_before=None, away_since=None)
    return Step(begun, Effect.BEGIN)


# -- an attempt is open --


def _is_stopping(case: _Case) -> Step | None:
    return Step(case.now, look_at=case.clock + case.limits.stop) if case.now.stopping else None


def _must_stop(case: _Case) -> Step | None:
    seen = case.seen
    if case.now.wish is Wish.RUN and not seen.halt and seen.refusal is None and seen.shut is None:
        return None
    return Step(replace(case.now, stopping=True), Effect.STOP, case.clock + case.limits.stop)


def _goes_on_without(case: _Case) -> Step | None:
    if case.seen.absent is None:
        return None
    return Step(case.to(State.WAITING, case.seen.absent.message), look_at=case.shuts)


def _renews(case: _Case) -> Step | None:
    return Step(case.to(State.RUNNING), Effect.RENEW, case.shuts) if case.seen.renew else None


def _goes_on(case: _Case) -> Step:
    return Step(case.to(State.RUNNING), look_at=case.shuts)


# -- its end is known --


def _closed(case: _Case) -> _Case:
    return replace(case, now=replace(case.now, open=False, stopping=False))


def leg_is_over(end: Ending, *, first: bool, spent: bool) -> bool:
    """Say whether an attempt of a probe ended with its leg measured, or known to be impossible.

    Without its first leg, which needs no storage, nothing of a probe is possible: that is a failure like any other.
    One that was interrupted begins anew, unless it is `spent`: it could move more than its plan allows then.
    """
    if end.outcome in {"complete", "partial"} or end.cause.code == PROBE_OVER:
        return True
    if end.outcome == "failed" and not end.retryable:
        return not first
    return spent


def _leg_over(case: _Case) -> bool:
    left = case.seen.legs_left
    spent = case.seen.leg_spent and case.now.wish is not Wish.CANCEL and case.seen.refusal is None
    return left is not None and leg_is_over(case.end, first=left == len(NAMES) - 1, spent=spent)


def _probed(case: _Case) -> Step | None:
    if case.seen.legs_left != 0 or not _leg_over(case):
        return None
    return Step(_closed(case).to(State.COMPLETE, failures=0), Effect.CLOSE)


def _next_leg(case: _Case) -> Step | None:
    if not _leg_over(case):
        return None
    return Step(_closed(case).to(State.QUEUED, WAITS_FOR_ITS_TURN, failures=0, blocked_since=None), Effect.CLOSE)


def _arrived(case: _Case) -> Step | None:
    if case.end.outcome not in {"complete", "partial"} or case.seen.legs_left is not None:
        return None
    return Step(_closed(case).to(State(case.end.outcome), failures=0), Effect.CONCLUDE)


def _canceled_after(case: _Case) -> Step | None:
    found = _canceled(_closed(case))
    return found and replace(found, effect=Effect.CLOSE)


def _refused_after(case: _Case) -> Step | None:
    return _fail(_closed(case), case.seen.refusal, Effect.CLOSE) if case.seen.refusal else None


def _paused_after(case: _Case) -> Step | None:
    found = _paused(_closed(case))
    return found and replace(found, effect=Effect.CLOSE)


def _held_after(case: _Case) -> Step | None:
    found = _held(_closed(case))
    return found and replace(found, effect=Effect.CLOSE)


def _outside_its_hours_after(case: _Case) -> Step | None:
    found = _outside_its_hours(_closed(case))
    if found is None:
        return None
    failures = 0 if case.end.moved else case.now.failures
    return replace(found, effect=Effect.CLOSE, standing=replace(found.standing, failures=failures))


def _stopped_by_us(case: _Case) -> Step | None:
    """Go on at once: the pause or halt that we stopped it for has passed meanwhile, and that is no failure."""
    if case.end.outcome != "stopped" or not case.now.stopping:
        return None
    failures = 0 if case.end.moved else case.now.failures
    queued = _closed(case).to(State.QUEUED, WAITS_FOR_ITS_TURN, failures=failures, blocked_since=None)
    return Step(queued, Effect.CLOSE)


def _failed_for_good(case: _Case) -> Step | None:
    if case.end.outcome != "failed" or case.end.retryable:
        return None
    return _fail(_closed(case), case.end.cause, Effect.CLOSE)


def _blocked(case: _Case) -> Step | None:
    """Wait out an obstacle: as long again as it has lasted, so that no more than half of an outage is lost."""
    cause = case.end.cause
    if cause.code not in OBSTACLES:
        return None
    since = (None if case.end.moved else case.now.blocked_since) or case.clock
    if case.clock >= since + case.limits.away and not case.seen.doubted:
        message = (
            f"since {since:%Y-%m-%d %H:%M} UTC nothing moved; the last attempt ended: {cause.message} ({cause.code}). "
            "When that is mended, a retry goes on where it stopped"
        )
        return _fail(_closed(case), Cause(Code.NO_PROGRESS, message), Effect.CLOSE)
    wait = min(case.limits.max_backoff, max(case.limits.backoff, case.clock - since))
    waiting = _again(case, wait)
    kept = replace(waiting.standing, failures=0 if case.end.moved else case.now.failures, blocked_since=since)
    return replace(waiting, standing=kept)


def _no_progress(case: _Case) -> Step | None:
    failures = _failures(case)
    if failures < case.limits.failures:
        return None
    message = (
        f"{failures} attempts in a row moved nothing; the last one ended: {case.end.cause.message} "
        f"({case.end.cause.code or case.end.outcome}). When that is mended, a retry goes on where it stopped"
    )
    return _fail(_closed(case), Cause(Code.NO_PROGRESS, message), Effect.CLOSE)


def _tries_again(case: _Case) -> Step:
    failures = _failures(case)
    waiting = _again(case, min(case.limits.max_backoff, case.limits.backoff * 2 ** min(failures, _MAX_DOUBLINGS)))
    return replace(waiting, standing=replace(waiting.standing, failures=failures, blocked_since=None))


def _again(case: _Case, wait: timedelta) -> Step:
    """Try again after `wait`."""
    again, why = case.clock + wait, case.end.cause.message or case.end.cause.code or case.end.outcome
    waiting = _closed(case).to(State.WAITING, f"tries again by itself, after: {why}", not_before=again, last_error=why)
    return Step(waiting, Effect.CLOSE, again)


def _failures(case: _Case) -> int:
    return 0 if case.end.moved else case.now.failures + 1


def _fail(case: _Case, cause: Cause | None, effect: Effect) -> Step:
    return Step(case.to(State.FAILED, cause.message if cause else "", error=cause), effect)


_Rule = Callable[[_Case], Step | None]
_BEFORE: tuple[_Rule, ...] = (
    _canceled,
    _refused,
    _paused,
    _held,
    _too_early,
    _outside_its_hours,
    _away,
    _backs_off,
    _not_its_turn,
    _begins,
)
_MEANWHILE: tuple[_Rule, ...] = (_is_stopping, _must_stop, _goes_on_without, _renews, _goes_on)
_AFTER: tuple[_Rule, ...] = (
    _arrived,
    _probed,
    _canceled_after,
    _refused_after,
    _paused_after,
    _held_after,
    _next_leg,
    _failed_for_good,
    _outside_its_hours_after,
    _stopped_by_us,
    _blocked,
    _no_progress,
    _tries_again,
)
