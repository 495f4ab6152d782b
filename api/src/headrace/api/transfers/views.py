"""From rows to the models that cross the doors."""

from dataclasses import dataclass

from headrace.api.policy.qos import InForce
from headrace.api.store.documents import stored
from headrace.api.store.tables_work import TransferEventRow, TransferRow
from headrace.api.transfers.deadline_risk import Promised, ahead_of, risk_of
from headrace.api.transfers.expected_end import expected_end, if_it_goes_on
from headrace.api.transfers.outlook import NO_FORECAST, Forecast
from headrace.api.transfers.probe import legs_of
from headrace.api.transfers.probe import summary as probe_summary
from headrace.api.transfers.run_state import at_rest
from headrace.api.transfers.transfer_steps import TransferStatus, allowed_actions, next_step
from headrace.auth import Principal
from headrace.client import models as m
from headrace.client.text import copied_and_same, deleting, deletions, plural, same_already, stays
from headrace.guardrails import sized

_MIN_AVERAGED_S = 0.001


@dataclass(frozen=True, slots=True)
class Live:
    """What is known of a transfer beyond the store."""

    progress: m.Progress | None = None
    """Replaces what was stored last."""
    forecast: Forecast = NO_FORECAST
    """What links say of its promise, of one that does not run."""


def transfer_view(row: TransferRow, status: TransferStatus, caller: Principal, held: InForce, live: Live) -> m.Transfer:
    """Show a transfer to a caller, whose class is in force in `held`."""
    shown = _of_now(status.state, live.progress or stored(m.Progress, row.progress))
    shown = shown.model_copy(update={"average_bps": _average_bps(shown, status.active_s)})
    ahead = None
    if status.state in m.OPEN_STATES and row.probe is None:
        ahead = ahead_of(row, status.state, shown, status.expected, held, status.now)
    risk = risk_of(
        Promised(
            row=row,
            held=held,
            state=status.state,
            progress=shown,
            ends=if_it_goes_on(ahead) if ahead and row.deadline is not None else None,
            forecast=live.forecast,
            now=row.ended or status.now,
        )
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
        deadline_at_risk=bool(risk.why),
        deadline_note=risk.why,
        deadline_told=row.deadline_told,
        deadline_late_s=risk.late_s,
        ends=expected_end(ahead) if ahead else None,
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
