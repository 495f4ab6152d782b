"""How a command ends."""

from enum import IntEnum
from typing import Final

from headrace.client.models import Plan, PlanState, Problem, Transfer, TransferState


class Exit(IntEnum):
    """Exit codes; docs/cli.md lists them."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    ASKED_BACK = 3
    REFUSED = 4
    NEEDS_YES = 5
    PARTIAL = 6
    UNREACHABLE = 7
    NOT_SIGNED_IN = 8
    INTERRUPTED = 130


_OF_CODE: Final = {
    "invalid_request": Exit.USAGE,
    "denied_by_policy": Exit.REFUSED,
    "halted": Exit.REFUSED,
    "plan_declined": Exit.REFUSED,
    "deadline_infeasible": Exit.REFUSED,
    "outside_hours": Exit.REFUSED,
    "hours_never_open": Exit.REFUSED,
    "quota_exceeded": Exit.REFUSED,
    "rate_above_plan": Exit.REFUSED,
    "class_above_policy": Exit.REFUSED,
    "needs_confirmation": Exit.NEEDS_YES,
    "needs_approval": Exit.NEEDS_YES,
    "service_unreachable": Exit.UNREACHABLE,
    "service_untrusted": Exit.UNREACHABLE,
    "service_timeout": Exit.UNREACHABLE,
    "shutting_down": Exit.UNREACHABLE,
    "no_leader": Exit.UNREACHABLE,
    "unanswered": Exit.UNREACHABLE,
    "node_away": Exit.UNREACHABLE,
    "node_draining": Exit.UNREACHABLE,
    "nodes_unreachable": Exit.UNREACHABLE,
    "session_needed": Exit.NOT_SIGNED_IN,
}
_OF_STATUS: Final = {401: Exit.NOT_SIGNED_IN, 403: Exit.REFUSED}


def exit_of(problem: Problem) -> Exit:
    """Return the exit code of a problem: by its code, else by its status, else 1."""
    return _OF_CODE.get(problem.code) or _OF_STATUS.get(problem.status) or Exit.FAILED


def exit_of_failed(plan: Plan) -> Exit:
    """Return the exit code of a plan that can't run any more: 7 where a node or the service was away, else 1."""
    if plan.state != PlanState.FAILED:
        return Exit.FAILED
    codes = (_OF_CODE.get(refusal.rule) for refusal in plan.refusals)
    return Exit.UNREACHABLE if Exit.UNREACHABLE in codes else Exit.FAILED


def exit_of_end(transfer: Transfer) -> Exit:
    """Return the exit code of an ended transfer."""
    match transfer.state:
        case TransferState.COMPLETE:
            return Exit.DONE
        case TransferState.PARTIAL:
            return Exit.PARTIAL
        case TransferState.FAILED:
            return exit_of(transfer.error) if transfer.error else Exit.FAILED
        case TransferState.CANCELED:
            return Exit.FAILED
        case TransferState.QUEUED | TransferState.RUNNING | TransferState.WAITING | TransferState.PAUSED:
            return Exit.FAILED  # it was not followed to its end
