"""From rows to the models that cross the doors."""

from dataclasses import dataclass
from datetime import datetime

from headrace.api.clock import full_minute
from headrace.api.planning.schedule import Schedule, at_risk
from headrace.api.policy.calendars import Together
from headrace.api.policy.qos import InForce
from headrace.api.store.documents import stored
from headrace.api.store.tables_work import NOT_PROMISED, TransferEventRow, TransferRow
from headrace.api.transfers.deadlines import own_hours
from headrace.api.transfers.expected_end import Ahead, expected_end
from headrace.api.transfers.probe import legs_of
from headrace.api.transfers.probe import summary as probe_summary
from headrace.api.transfers.run_state import at_rest
from headrace.api.transfers.transfer_steps import TransferStatus, allowed_actions, next_step
from headrace.auth import Principal
from headrace.client import models as m
from headrace.client.text import bit_rate, copied_and_same, deleting, deletions, plural, same_already, stays, utc
from headrace.guardrails import sized

_MIN_AVERAGED_S = 0.001


@dataclass(frozen=True, slots=True)
class Live:
    """What is known of a transfer beyond the store."""

    progress: m.Progress | None = None
    """Replaces what was stored last."""
    late: str = ""
    """Why its promise would not be kept, of one that does not run."""


def transfer_view(row: TransferRow, status: TransferStatus, caller: Principal, held: InForce, live: Live) -> m.Transfer:
    """Show a transfer to a caller, whose class is in force in `held`."""
    shown = _of_now(status.state, live.progress or stored(m.Progress, row.progress))
    shown = shown.model_copy(update={"average_bps": _average_bps(shown, status.active_s)})
    ends = _ends(row, status, held, shown)
    at_risk_because = _why_at_risk(row, held, shown, ends, row.ended or status.now) or (
        live.late if status.state in m.OPEN_STATES and status.state is not m.TransferState.RUNNING else ""
    )
    return m.Transfer(
        id=row.id,
        plan=row.plan,
        plan_digest=row.plan_digest,
        state=status.state,
        state_reason=status.state_reason,
        wish=status.wish,
        requester=row.requester,
        requester_name=row.requester_name,
        agent=row.agent,
        project=row.project,
        action=row.action,
        probe=row.probe is not None,
        source=row.source,
        destination=row.destination,
        canonical_sentence=row.canonical_sentence,
        created=row.created,
        starts=row.starts,
        hours=stored(m.RunHours, row.hours) if row.hours else None,
        goes_on=row.goes_on,
        qos_class=row.qos_class,
        tuning=stored(m.EffectiveTuning, row.tuning),
        deadline=row.deadline,
        deadline_at_risk=bool(at_risk_because),
        deadline_note=at_risk_because,
        ends=ends,
        started=row.started,
        active_s=status.active_s,
        ended=row.ended,
        attempt=row.attempt,
        rate_ceiling_bps=row.rate_ceiling_bps,
        plan_rate_ceiling_bps=status.plan_rate_ceiling_bps,
        progress=shown,
        error=stored(m.Problem, row.error) if row.error else None,
        receipt=row.receipt,
        summary=_summary(row, status, shown),
        next_step=next_step(status, caller),
        allowed_actions=allowed_actions(status, caller),
    )


def event_view(row: TransferEventRow, transfer: m.Transfer | None = None) -> m.TransferEvent:
    """Show one entry of a transfer's history."""
    return m.TransferEvent(sequence=row.sequence, at=row.at, kind=row.kind, message=row.message, transfer=transfer)


def _of_now(state: m.TransferState, progress: m.Progress) -> m.Progress:
    """Leave out how fast it is and what limits it where it has not ended and does not run: what was true is not now."""
    if state is m.TransferState.RUNNING or state in m.END_STATES:
        return progress
    return at_rest(progress).model_copy(update={"limiter": ""})


def _ends(row: TransferRow, status: TransferStatus, held: InForce, progress: m.Progress) -> m.ExpectedEnd | None:
    """Say when it is expected to end, by its own hours and those of its class."""
    if status.state in m.END_STATES or status.state is m.TransferState.PAUSED or row.probe is not None:
        return None
    return expected_end(
        Ahead(
            state=status.state,
            progress=progress,
            expected=status.expected,
            begins=row.goes_on or (row.starts if row.starts is not None and row.starts > status.now else None),
            hours=held.hours_of(row.qos_class, own_hours(row)),
            now=status.now,
        )
    )


def _why_at_risk(
    row: TransferRow, held: InForce, progress: m.Progress, ends: m.ExpectedEnd | None, now: datetime
) -> str:
    """Say why a deadline is not kept, or will hardly be; empty when it may be."""
    if row.deadline is None:
        return ""
    if now >= row.deadline:
        return "its deadline has passed"
    if row.ended is not None:
        return ""
    if row.promised == NOT_PROMISED:
        return "it is not promised any more: others were promised meanwhile what it needs, and go first"
    own = own_hours(row)
    hours = held.hours_of(row.qos_class, own)
    left = max(0, progress.bytes_total - progress.bytes_durable)
    schedule = Schedule(begins=max(now, row.starts or now), starts=None, hours=own, deadline=row.deadline)
    infeasible = schedule.infeasible(left, row.rate_ceiling_bps, hours)
    if infeasible:
        return infeasible
    return _why_too_slow(row, row.deadline, hours, progress, ends, now)


def _why_too_slow(  # noqa: PLR0913, PLR0917 - what it is judged by
    row: TransferRow,
    deadline: datetime,
    hours: Together,
    progress: m.Progress,
    ends: m.ExpectedEnd | None,
    now: datetime,
) -> str:
    """Say why it ends too late by what is measured of it, or by its plan's estimate before it runs; empty if not."""
    if progress.eta_s is None and ends is not None and ends.earliest > deadline:
        return f"by earlier transfers there it ends at {utc(full_minute(ends.earliest))} at the earliest"
    # What is left of the time at the present rate says nothing of one whose turn comes later.
    later = progress.share is not None and progress.share.kept_later
    return _why_late(row, progress) if not later and at_risk(deadline, hours, progress.eta_s, now) else ""


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


def _average_bps(progress: m.Progress, active_s: float | None) -> int | None:
    """Return the durable bits over the time that the attempts took."""
    return None if active_s is None else int(progress.bytes_durable * 8 / max(_MIN_AVERAGED_S, active_s))


def _stay(progress: m.Progress) -> str:
    """Say how many sources of a move stay, if any."""
    kept = progress.sources_kept
    return f" Sources that stay: {kept:,}; the receipt says why." if kept else ""


def _summary(row: TransferRow, status: TransferStatus, progress: m.Progress) -> str:  # noqa: PLR0911 - one a state
    reason = status.state_reason
    legs = legs_of(row.probe)
    if legs is not None:
        return probe_summary(row.source, row.destination, status.state, legs, reason)
    what = f"{row.action} from {row.source} to {row.destination}"
    same = same_already(progress.files_identical, progress.identical_by)
    same = f"; {same}" if same else ""
    done = (
        f"{progress.files_done:,} of {plural(progress.files_total, 'file')} "
        f"({sized(progress.bytes_durable)} copied{same}) are safe there"
    )
    gone = deletions(progress.deleted, to_trash=progress.deleted_to_trash)
    gone = f", {gone}" if gone else ""
    so_far = f"{done}, {deletes}" if (deletes := deleting(progress)) else done
    match status.state:  # most are complete, and each case costs a look
        case m.TransferState.COMPLETE:
            copied = progress.files_done - progress.files_identical
            parts = copied_and_same(copied, sized(progress.bytes_durable), same.removeprefix("; "))
            there = f"{progress.files_done:,} of {plural(progress.files_total, 'file')} are there ({'; '.join(parts)})"
            return f"The {what} is complete: {there}{gone}.{_stay(progress)}"
        case m.TransferState.QUEUED:
            return f"The {what} is queued. {reason}".strip()
        case m.TransferState.RUNNING:
            return f"The {what} is running: {so_far}."
        case m.TransferState.WAITING:
            return f"The {what} is waiting: {reason}. So far {so_far}."
        case m.TransferState.PAUSED:
            return f"The {what} is {reason or 'paused'}. So far {so_far}."
        case m.TransferState.PARTIAL:
            failed = f"{plural(progress.files_failed, 'file')} did not arrive.{_stay(progress)}"
            return f"The {what} ended in part: {done}{gone}, and {failed}"
        case m.TransferState.CANCELED:
            return f"The {what} was {reason or 'canceled'}: {stays(progress)}{gone}."
        case m.TransferState.FAILED:
            return f"The {what} failed: {reason}"
