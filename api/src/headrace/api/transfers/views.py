"""From rows to the models that cross the doors."""

import json

from headrace.api.planning.schedule import at_risk
from headrace.api.store.tables_work import TransferEventRow, TransferRow
from headrace.api.transfers.transfer_steps import TransferStatus, allowed_actions, next_step
from headrace.auth import Principal
from headrace.client import models as m
from headrace.client.text import plural
from headrace.guardrails import OpenHours, sized

_MIN_AVERAGED_S = 0.001


def transfer_view(
    row: TransferRow, status: TransferStatus, caller: Principal, progress: m.Progress | None = None
) -> m.Transfer:
    """Show a transfer to a caller; `progress` replaces what was stored last."""
    shown = progress or m.Progress.model_validate_json(row.progress)
    shown = shown.model_copy(update={"average_bps": _average_bps(shown, status.active_s)})
    return m.Transfer(
        id=row.id,
        plan=row.plan,
        plan_digest=row.plan_digest,
        state=m.TransferState(row.state),
        state_reason=status.state_reason,
        wish=status.wish,
        requester=row.requester,
        requester_name=row.requester_name,
        agent=row.agent,
        action=row.action,
        source=row.source,
        destination=row.destination,
        canonical_sentence=row.canonical_sentence,
        created=row.created,
        starts=row.starts,
        hours=m.RunHours.model_validate_json(row.hours) if row.hours else None,
        goes_on=row.goes_on,
        deadline=row.deadline,
        deadline_at_risk=at_risk(
            row.deadline,
            OpenHours.read(json.loads(row.hours)) if row.hours else None,
            shown.eta_s,
            row.ended or status.now,
        ),
        started=row.started,
        active_s=status.active_s,
        ended=row.ended,
        attempt=row.attempt,
        rate_ceiling_bps=row.rate_ceiling_bps,
        plan_rate_ceiling_bps=status.plan_rate_ceiling_bps,
        progress=shown,
        error=m.Problem.model_validate_json(row.error) if row.error else None,
        receipt=row.receipt,
        summary=_summary(row, status.state_reason, shown),
        next_step=next_step(status, caller),
        allowed_actions=allowed_actions(status, caller),
    )


def event_view(row: TransferEventRow, transfer: m.Transfer | None = None) -> m.TransferEvent:
    """Show one entry of a transfer's history."""
    return m.TransferEvent(sequence=row.sequence, at=row.at, kind=row.kind, message=row.message, transfer=transfer)


def _average_bps(progress: m.Progress, active_s: float | None) -> int | None:
    """Return the durable bits over the time that the attempts took."""
    return None if active_s is None else int(progress.bytes_durable * 8 / max(_MIN_AVERAGED_S, active_s))


def _summary(row: TransferRow, reason: str, progress: m.Progress) -> str:  # noqa: PLR0911 - one a state
    what = f"{row.action} from {row.source} to {row.destination}"
    same = f", {progress.files_identical:,} the same already" if progress.files_identical else ""
    done = (
        f"{progress.files_done:,} of {plural(progress.files_total, 'file')} "
        f"({sized(progress.bytes_durable)} copied{same}) are safe there"
    )
    match m.TransferState(row.state):
        case m.TransferState.QUEUED:
            return f"The {what} is queued. {reason}".strip()
        case m.TransferState.RUNNING:
            return f"The {what} is running: {done}."
        case m.TransferState.WAITING:
            return f"The {what} is waiting: {reason}. So far {done}."
        case m.TransferState.PAUSED:
            return f"The {what} is {reason or 'paused'}. So far {done}."
        case m.TransferState.COMPLETE:
            return f"The {what} is complete: {done}, verified."
        case m.TransferState.PARTIAL:
            return f"The {what} ended in part: {done}, and {plural(progress.files_failed, 'file')} did not arrive."
        case m.TransferState.CANCELED:
            return f"The {what} was {reason or 'canceled'}. So far {done}."
        case m.TransferState.FAILED:
            return f"The {what} failed: {reason}"
