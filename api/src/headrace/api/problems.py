"""The one place where refusals become problem documents: status, stable code, public message. Details go to the log."""

import errno
import logging
from http import HTTPStatus as Status
from typing import Final

from sqlalchemy.exc import DataError, SQLAlchemyError

from headrace.api.durable import place_in_words
from headrace.api.errors import Code, ServiceError
from headrace.api.store_trouble import Trouble, log_trouble, trouble_of
from headrace.auth import AuthCode, AuthError
from headrace.client import HeadraceError
from headrace.client import models as m
from headrace.client.text import without_number
from headrace.engine import EngineError
from headrace.guardrails import GuardrailError, Unreleased

_log = logging.getLogger(__name__)

STATUS: dict[str, Status] = {
    Code.INVALID_REQUEST: Status.UNPROCESSABLE_ENTITY,
    Code.SEARCH_TOO_WIDE: Status.UNPROCESSABLE_ENTITY,
    Code.NOT_FOUND: Status.NOT_FOUND,
    Code.METHOD_NOT_ALLOWED: Status.METHOD_NOT_ALLOWED,
    Code.BODY_TOO_LARGE: Status.REQUEST_ENTITY_TOO_LARGE,
    Code.REQUEST_TIMEOUT: Status.SERVICE_UNAVAILABLE,
    Code.WRONG_HOST: Status.MISDIRECTED_REQUEST,
    Code.WRONG_ORIGIN: Status.FORBIDDEN,
    Code.FORBIDDEN: Status.FORBIDDEN,
    Code.PROOF_NEEDED: Status.FORBIDDEN,
    Code.SESSION_NEEDED: Status.FORBIDDEN,
    Code.NAMES_WITHHELD: Status.FORBIDDEN,
    Code.AGENT_NEEDED: Status.FORBIDDEN,
    Code.NAME_TAKEN: Status.CONFLICT,
    Code.ENDPOINT_CHANGED: Status.CONFLICT,
    Code.ENDPOINT_IN_USE: Status.CONFLICT,
    Code.AUDIT_UNSENT: Status.SERVICE_UNAVAILABLE,
    Code.AUDIT_UNWRITABLE: Status.SERVICE_UNAVAILABLE,
    Code.KEY_UNUSABLE: Status.SERVICE_UNAVAILABLE,
    Code.BUSY: Status.TOO_MANY_REQUESTS,
    Code.TOO_MANY_BROWSES: Status.TOO_MANY_REQUESTS,
    Code.TOO_MANY_CHANGES: Status.TOO_MANY_REQUESTS,
    Code.TOO_MANY_PLANS: Status.TOO_MANY_REQUESTS,
    Code.TOO_MANY_TRANSFERS: Status.TOO_MANY_REQUESTS,
    Code.QUOTA_EXCEEDED: Status.TOO_MANY_REQUESTS,
    Code.SHUTTING_DOWN: Status.SERVICE_UNAVAILABLE,
    Code.NO_LEADER: Status.SERVICE_UNAVAILABLE,
    Code.UNANSWERED: Status.SERVICE_UNAVAILABLE,
    Code.STORE_BUSY: Status.SERVICE_UNAVAILABLE,
    Code.STORE_FAILED: Status.SERVICE_UNAVAILABLE,
    Code.STORE_FULL: Status.SERVICE_UNAVAILABLE,
    Code.INTERNAL_ERROR: Status.INTERNAL_SERVER_ERROR,
    Code.UNKNOWN_ENDPOINT: Status.NOT_FOUND,
    Code.UNKNOWN_FOLDER: Status.NOT_FOUND,
    Code.UNKNOWN_PLAN: Status.NOT_FOUND,
    Code.UNKNOWN_TRANSFER: Status.NOT_FOUND,
    Code.AMBIGUOUS_TRANSFER: Status.CONFLICT,
    Code.AMBIGUOUS_ID: Status.CONFLICT,
    Code.UNKNOWN_RECEIPT: Status.NOT_FOUND,
    Code.UNKNOWN_NODE: Status.NOT_FOUND,
    Code.UNKNOWN_POLICY: Status.NOT_FOUND,
    Code.UNKNOWN_QOS: Status.NOT_FOUND,
    Code.UNKNOWN_CLASS: Status.UNPROCESSABLE_ENTITY,
    Code.UNKNOWN_HALT: Status.NOT_FOUND,
    Code.UNKNOWN_PERSON: Status.NOT_FOUND,
    Code.HALT_STATE: Status.CONFLICT,
    Code.NOT_SUPPORTED_YET: Status.UNPROCESSABLE_ENTITY,
    Code.NODE_AWAY: Status.SERVICE_UNAVAILABLE,
    Code.NODE_DRAINING: Status.CONFLICT,
    Code.NODE_REVOKED: Status.CONFLICT,
    Code.NODE_NOT_REVOKED: Status.CONFLICT,
    Code.NODE_CLOCK_SKEWED: Status.CONFLICT,
    Code.NODES_UNREACHABLE: Status.CONFLICT,
    Code.INTERRUPTED: Status.CONFLICT,
    Code.SURVEY_TIMEOUT: Status.GATEWAY_TIMEOUT,
    Code.PLAN_NOT_READY: Status.CONFLICT,
    Code.PLAN_ALTERED: Status.CONFLICT,
    Code.PLAN_DECLINED: Status.CONFLICT,
    Code.WRONG_DIGEST: Status.CONFLICT,
    Code.NEEDS_CONFIRMATION: Status.CONFLICT,
    Code.NEEDS_APPROVAL: Status.CONFLICT,
    Code.NOT_AN_APPROVER: Status.FORBIDDEN,
    Code.APPROVE_OWN_PLAN: Status.FORBIDDEN,
    Code.APPROVAL_NOT_NEEDED: Status.CONFLICT,
    Code.CONFIRMATION_NOT_NEEDED: Status.CONFLICT,
    Code.DENIED_BY_POLICY: Status.FORBIDDEN,
    Code.POLICY_UNPROVEN: Status.SERVICE_UNAVAILABLE,
    Code.HALTED: Status.SERVICE_UNAVAILABLE,
    Code.OUTSIDE_HOURS: Status.CONFLICT,
    Code.DEADLINE_INFEASIBLE: Status.UNPROCESSABLE_ENTITY,
    Code.HOURS_NEVER_OPEN: Status.UNPROCESSABLE_ENTITY,
    Code.QOS_UNREADABLE: Status.SERVICE_UNAVAILABLE,
    Code.REQUESTER_INACTIVE: Status.FORBIDDEN,
    Code.REQUESTER_RENAMED: Status.CONFLICT,
    Code.TRANSFER_STATE: Status.CONFLICT,
    Code.RETRY_TOO_LATE: Status.CONFLICT,
    Code.TAKEN_OVER: Status.CONFLICT,
    Code.RATE_ABOVE_PLAN: Status.UNPROCESSABLE_ENTITY,
    Code.CLASS_ABOVE_POLICY: Status.UNPROCESSABLE_ENTITY,
    Code.RATE_TOO_LOW: Status.UNPROCESSABLE_ENTITY,
    Code.NO_PROGRESS: Status.BAD_GATEWAY,
    Code.STATEMENT_INVALID: Status.BAD_GATEWAY,
    Code.MOVE_UNPROVEN: Status.BAD_GATEWAY,
    Code.NO_FILE_LIST: Status.NOT_FOUND,
    Code.POLICY_INVALID: Status.UNPROCESSABLE_ENTITY,
    Code.POLICY_STATE: Status.CONFLICT,
    Code.PUBLISH_OWN_POLICY: Status.FORBIDDEN,
    Code.QOS_INVALID: Status.UNPROCESSABLE_ENTITY,
    Code.QOS_STATE: Status.CONFLICT,
    Code.PUBLISH_OWN_QOS: Status.FORBIDDEN,
    AuthCode.DIRECTORY_AWAY: Status.SERVICE_UNAVAILABLE,
    AuthCode.INVITATION_REFUSED: Status.FORBIDDEN,
    AuthCode.NAME_REFUSED: Status.UNPROCESSABLE_ENTITY,
    AuthCode.NO_ROLE: Status.FORBIDDEN,
    AuthCode.NOT_ALLOWED: Status.FORBIDDEN,
    AuthCode.NOT_FOUND: Status.NOT_FOUND,
    AuthCode.NOT_SIGNED_IN: Status.UNAUTHORIZED,
    AuthCode.PASSKEY_REFUSED: Status.FORBIDDEN,
    AuthCode.PROOF_REFUSED: Status.FORBIDDEN,
    AuthCode.PASSWORD_EXPIRED: Status.UNAUTHORIZED,
    AuthCode.PROVIDER_FAILED: Status.SERVICE_UNAVAILABLE,
    AuthCode.PROVIDER_PROOF_REFUSED: Status.FORBIDDEN,
    AuthCode.PASSWORD_REFUSED: Status.UNPROCESSABLE_ENTITY,
    AuthCode.SIGN_IN_EXPIRED: Status.UNAUTHORIZED,
    AuthCode.SIGN_IN_REFUSED: Status.UNAUTHORIZED,
    AuthCode.TOO_MANY_ATTEMPTS: Status.TOO_MANY_REQUESTS,
    Unreleased.PLAN_EXPIRED: Status.CONFLICT,
    Unreleased.POLICY_CHANGED: Status.CONFLICT,
    Unreleased.DIGEST_MISMATCH: Status.CONFLICT,
    Unreleased.NOT_RUNNABLE: Status.CONFLICT,
    Unreleased.CONFIRMATION_MISSING: Status.CONFLICT,
    Unreleased.APPROVAL_MISSING: Status.CONFLICT,
}
"""The status of every code of service and auth. Rails are 422, the engine's own codes 502."""

_SOON_S = 5
_ONCE_MENDED_S = 60
PASSES_AFTER_S: dict[str, int] = {
    # What other work makes room for, or a moment changes.
    Code.BUSY: _SOON_S,
    Code.TOO_MANY_BROWSES: _SOON_S,
    Code.TOO_MANY_CHANGES: _SOON_S,
    Code.TOO_MANY_PLANS: _SOON_S,
    Code.TOO_MANY_TRANSFERS: _SOON_S,
    Code.REQUEST_TIMEOUT: _SOON_S,
    Code.SHUTTING_DOWN: _SOON_S,
    Code.NO_LEADER: _SOON_S,
    Code.UNANSWERED: _SOON_S,
    Code.STORE_BUSY: _SOON_S,
    Code.STORE_FAILED: _SOON_S,
    Code.STORE_FULL: _SOON_S,
    AuthCode.TOO_MANY_ATTEMPTS: _SOON_S,
    # What somebody has to mend or release, or what comes back by itself after a while.
    Code.QUOTA_EXCEEDED: _ONCE_MENDED_S,
    Code.HALTED: _ONCE_MENDED_S,
    Code.AUDIT_UNSENT: _ONCE_MENDED_S,
    Code.AUDIT_UNWRITABLE: _ONCE_MENDED_S,
    Code.KEY_UNUSABLE: _ONCE_MENDED_S,
    Code.NODE_AWAY: _ONCE_MENDED_S,
    Code.POLICY_UNPROVEN: _ONCE_MENDED_S,
    Code.QOS_UNREADABLE: _ONCE_MENDED_S,
    AuthCode.DIRECTORY_AWAY: _ONCE_MENDED_S,
    AuthCode.PROVIDER_FAILED: _ONCE_MENDED_S,
}
"""What passes without another request, and in how many seconds the same is worth another try: what `Retry-After` says.

Each code whose status is 429 or 503 has a row. An error that knows better when it passes says so itself.
"""

_BAD_ARGUMENT = "bad_argument"
"""The engine's word for an argument that can't be meant: the request is at fault, no node."""

Known = ServiceError | AuthError | GuardrailError | EngineError
KNOWN = (ServiceError, AuthError, GuardrailError, EngineError)
"""Errors whose messages are meant for callers; anything else is `internal_error` and only logged."""


def problem_of(error: BaseException, *, instance: str | None = None, changes: bool = True) -> m.Problem:
    """Return the problem document of an error; `changes`: whether the call was to change something."""
    if isinstance(error, HeadraceError):
        return error.problem
    if isinstance(error, DataError):
        return make(Code.INVALID_REQUEST, _NOT_KEPT, instance=instance)
    if isinstance(error, SQLAlchemyError | OSError) and (kept := _kept(error, changes=changes)):
        return make(*kept, instance=instance)
    if not isinstance(error, KNOWN):
        _log.error("an error that nobody expected", exc_info=error)
        return make(
            Code.INTERNAL_ERROR, "something went wrong inside the service; its log says what", instance=instance
        )
    if isinstance(error, AuthError):
        _log.info("turned away: %s: %s", error.code, error.reason)
    if isinstance(error, EngineError) and error.code == "state_failed":
        # Its message names folders of the service's or a node's host.
        _log.error("a folder for state can't be used: %s", error)
        return make(error.code, _STATE_FAILED, instance=instance, other=Status.BAD_GATEWAY)
    node = isinstance(error, EngineError) and error.code != _BAD_ARGUMENT
    other = Status.BAD_GATEWAY if node else Status.UNPROCESSABLE_ENTITY
    fields, proof = (error.fields, error.proof) if isinstance(error, ServiceError) else ((), None)
    said = without_number(str(error.args[0])) if isinstance(error, EngineError) else str(error.args[0])
    problem = make(error.code, said, fields=fields, instance=instance, other=other)
    return problem if proof is None else problem.model_copy(update={"proof": proof})


_STATE_FAILED = (
    "a file that the service or a node keeps its own state in can't be read or written; the log there says which, "
    "and an operator must look at that disk"
)


_NOT_KEPT = "a text of the request can't be kept: it holds a NUL character, or it is too long; send it without"

_LOOK = "see whether the change was made before you try again"
_FOLDER_FULL = (Code.STORE_FULL, "the disk of the service's data folder is full", "an operator must make room")
_FOLDER_AWAY = (
    Code.STORE_FAILED, "the service's data folder can't be read or written", "an operator must look at it",
)  # fmt: skip
_OF_DISK: Final = {
    errno.ENOSPC: _FOLDER_FULL,
    errno.EDQUOT: _FOLDER_FULL,
    errno.EROFS: _FOLDER_AWAY,
    errno.EIO: _FOLDER_AWAY,
    errno.ESTALE: _FOLDER_AWAY,
}
_UNKNOWN = (Code.INTERNAL_ERROR, "something went wrong inside the service; its log says what")
_OF_STORE = {
    Trouble.FULL: (Code.STORE_FULL, "the service's disk is full", "an operator must make room"),
    Trouble.DISK: (Code.STORE_FAILED, "the service's disk can't be read or written", "an operator must look at it"),
    Trouble.AWAY: (Code.STORE_FAILED, "the service's database can't be reached", "an operator must look at it"),
    Trouble.READ_ONLY: (
        Code.STORE_FAILED, "the service's database takes no changes", "an operator must look at it",
    ),
    Trouble.BUSY: (Code.STORE_BUSY, "the service's store is busy", "try again in a moment"),
}  # fmt: skip
"""By which code, what is the matter and what to do."""


def _kept(error: SQLAlchemyError | OSError, *, changes: bool) -> tuple[Code, str] | None:
    """Say what store or data folder could not do; an operator finds the details in the log. Nothing of other files.

    Whether something was changed is said where the call was to change something.
    """
    if isinstance(error, SQLAlchemyError):
        log_trouble(_log, "a request was not answered", error)
        trouble = trouble_of(error)
        if trouble not in _OF_STORE:
            return _UNKNOWN
        code, said, remedy = _OF_STORE[trouble]
        if not changes:
            return code, f"{said}; {remedy}"
        return code, f"{said}; {_LOOK}" if trouble is Trouble.AWAY else f"nothing was changed, because {said}; {remedy}"
    found = _OF_DISK.get(error.errno or 0)
    if found is None:
        return None
    _log.error("a file of the service can't be used: %s", place_in_words(error))
    _log.debug("a file of the service can't be used", exc_info=error)
    code, said, remedy = found
    return code, f"{said}; {remedy}, and {_LOOK}" if changes else f"{said}; {remedy}"


def make(
    code: str,
    detail: str,
    *,
    fields: tuple[str, ...] = (),
    instance: str | None = None,
    other: Status = Status.INTERNAL_SERVER_ERROR,
) -> m.Problem:
    """Make a problem document; `other` is the status of a code that is not in the table."""
    return m.Problem(
        title=str(code).replace("_", " "),
        status=int(STATUS.get(code, other)),
        code=str(code),
        detail=detail,
        instance=instance,
        fields=list(fields),
    )
