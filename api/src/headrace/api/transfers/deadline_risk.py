"""Whether a transfer's deadline is kept, as far as anybody can say now: why not, and by how much it would come late."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from headrace.api.clock import full_minute
from headrace.api.planning.schedule import Schedule, at_risk
from headrace.api.policy.calendars import Together
from headrace.api.policy.qos import InForce
from headrace.api.store.tables_work import NOT_PROMISED, TransferRow
from headrace.api.transfers.deadlines import own_hours
from headrace.api.transfers.expected_end import Ahead
from headrace.api.transfers.outlook import Forecast
from headrace.api.transfers.promise_changes import MARGIN, Look
from headrace.client import models as m
from headrace.client.text import bit_rate, utc

_BITS: Final = 8
_MOST_S: Final = 10 * 366 * 86_400
"""What comes later than that has no figure."""
_WAITS: Final = (m.TransferState.QUEUED, m.TransferState.WAITING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Risk:
    """What is to be said of a deadline."""

    why: str = ""
    """Why it is not kept, or will hardly be; empty when it may be."""
    late_s: int | None = None
    """By how much it comes late at least; nothing where that is not known."""
    sure: bool = False
    """Whether that follows from what is set (times, hours, ceilings, promises), and not from what was measured."""
    kept: bool = False
    """Whether something says that it will be kept; neither late nor kept: nobody knows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Promised:
    """A transfer with a deadline, as it stands at a moment."""

    row: TransferRow
    held: InForce
    state: m.TransferState
    progress: m.Progress
    ends: m.ExpectedEnd | None
    """When it is expected to end; of one that is paused or does not move, if it goes on now."""
    forecast: Forecast
    now: datetime
    """Of one that has ended: when it did."""


def ahead_of(  # noqa: PLR0913, PLR0917 - what it is made of
    row: TransferRow,
    state: m.TransferState,
    progress: m.Progress,
    expected: m.Estimate | None,
    held: InForce,
    now: datetime,
) -> Ahead:
    """Look ahead of a stored transfer, in its own hours and those of its class."""
    return Ahead(
        state=state,
        progress=progress,
        expected=expected,
        begins=row.goes_on or (row.starts if row.starts is not None and row.starts > now else None),
        hours=held.hours_of(row.qos_class, own_hours(row)),
        now=now,
    )


def risk_of(of: Promised, margin: float = 0) -> Risk:
    """Say whether its deadline is kept; with a `margin` also when that part of its open time that is left is taken.

    A transfer without a deadline is at no risk.
    """
    row, now = of.row, of.now
    if row.deadline is None:
        return Risk()
    own = own_hours(row)
    hours, begins = of.held.hours_of(row.qos_class, own), _begins(of)
    if now >= row.deadline:
        ends = now if row.ended is not None else max(now, _expected(of, hours, begins) or now)
        return Risk(why="its deadline has passed", late_s=_seconds(ends - row.deadline), sure=True)
    if row.ended is not None:
        return Risk(kept=True)
    deadline = _sooner(hours, begins, row.deadline, margin) if margin else row.deadline
    schedule = Schedule(begins=begins, starts=None, hours=own, deadline=deadline)
    set_so = _why_set_so(of, schedule, hours)
    moves = of.state is m.TransferState.RUNNING and of.progress.eta_s is not None
    why = set_so or _why_too_slow(of, deadline, hours) or ("" if moves else of.forecast.why)
    if not why:
        return Risk(kept=_is_kept(of, deadline))
    expected = _expected(of, hours, begins)
    late_s = _seconds(expected - row.deadline) if expected is not None and expected > row.deadline else None
    if why == of.forecast.why:
        late_s = max((one for one in (late_s, of.forecast.late_s) if one is not None), default=None)
    return Risk(why=why, late_s=late_s, sure=bool(set_so))


def look_of(of: Promised, risk: Risk) -> Look:
    """Say what was found of a deadline at this `risk`, by which it is known whether a change of it is told."""
    if risk.why:
        return "set_late" if risk.sure else "late"
    # The margin is looked at only where it matters.
    return "safe" if of.row.deadline_told == "at_risk" and risk_of(of, MARGIN).kept else "unsure"


def _why_set_so(of: Promised, schedule: Schedule, hours: Together) -> str:
    """Say why it comes late by what is set; empty when it may not."""
    if of.row.promised == NOT_PROMISED:
        return "it is not promised any more: others were promised meanwhile what it needs, and go first"
    return schedule.infeasible(_left(of), of.row.rate_ceiling_bps, hours)


def _begins(of: Promised) -> datetime:
    """Return when it may run first: after its start, and after the hours that it waits for, those of policy too."""
    row = of.row
    goes_on = row.goes_on if of.state in _WAITS else None
    return max(one for one in (of.now, row.starts, goes_on) if one is not None)


def _left(of: Promised) -> int:
    return max(0, of.progress.bytes_total - of.progress.bytes_durable)


def _sooner(hours: Together, begins: datetime, deadline: datetime, margin: float) -> datetime:
    """Return the moment before a deadline at which that part of the open time until then is left."""
    open_s = hours.seconds(begins, deadline)
    return hours.after(begins, timedelta(seconds=open_s * (1 - margin))) or deadline


def _expected(of: Promised, hours: Together, begins: datetime) -> datetime | None:
    """Return when it ends at the earliest, by its rate or its plan's estimate, its start, hours and ceiling."""
    opens = hours.opening(begins)
    found = [opens] if opens is not None else []
    if of.ends is not None:
        found.append(of.ends.likely or of.ends.earliest)
    if of.row.rate_ceiling_bps:
        takes_s = min(_left(of) * _BITS / of.row.rate_ceiling_bps, _MOST_S)
        done = hours.after(begins, timedelta(seconds=takes_s))
        found += [done] if done is not None else []
    return max(found, default=None)


def _seconds(late: timedelta) -> int | None:
    return int(late.total_seconds()) if late.total_seconds() < _MOST_S else None


def _is_kept(of: Promised, deadline: datetime) -> bool:
    """Whether something says that it will be there in time: a rate, links, or an estimate from a known beginning on."""
    if of.state is m.TransferState.PAUSED:
        return False
    if of.state is m.TransferState.RUNNING:
        return of.progress.eta_s is not None
    if of.forecast.known:
        return True
    return of.ends is not None and of.ends.likely is not None and of.ends.likely <= deadline


def _why_too_slow(of: Promised, deadline: datetime, hours: Together) -> str:
    """Say why it ends too late by what is measured of it, or by its plan's estimate before it runs; empty if not."""
    progress, ends = of.progress, of.ends
    if progress.eta_s is None and ends is not None and ends.earliest > deadline:
        if_it_went_on = "" if of.state in _WAITS else ", if it goes on now"
        return f"by earlier transfers there it ends at {utc(full_minute(ends.earliest))} at the earliest{if_it_went_on}"
    # What is left of the time at the present rate says nothing of one whose turn comes later.
    later = progress.share is not None and progress.share.kept_later
    return _why_late(of.row, progress) if not later and at_risk(deadline, hours, progress.eta_s, of.now) else ""


def _why_late(row: TransferRow, progress: m.Progress) -> str:
    share = progress.share
    if share is None:
        return "at its present rate it ends later"
    needs, links = bit_rate(share.needed_bps), ", ".join(share.links)
    if row.rate_ceiling_bps is not None and row.rate_ceiling_bps < share.needed_bps:
        return f"it needs {needs}, and its own ceiling is {bit_rate(row.rate_ceiling_bps)}"
    gets = share.guaranteed_bps if share.entitled_bps is None else min(share.guaranteed_bps, share.entitled_bps)
    if gets < share.needed_bps:
        return (
            f"it needs {needs} and gets {bit_rate(gets)} of {links}: earlier deadlines, a higher priority, floors of "
            f"other classes or the ceiling of its class `{share.qos_class}` leave no more for it"
        )
    return (
        f"{links} keeps the {needs} that it needs, and it takes {bit_rate(progress.rate_bps)}: something else limits it"
    )
