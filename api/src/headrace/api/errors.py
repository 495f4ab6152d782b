"""What the service refuses with. Domain code raises these; `problems` maps them to status, code and public message.

ServiceError            a stable `Code` and a sentence that says what, where and what to do
├── AuditUnwritable     the audit chain can't be written, so nothing was changed
├── KeyUnusable         the authority key can't be used now, so nothing was signed
├── OutsideHours        a plan may run at other hours only
├── TooManyChanges      a person or token has changed things too often within a minute
└── Fenced              another worker has taken the transfer up
CannotStart             what stands against a start of the service; a sentence for whoever starts it
└── StoreIsNewer        a later version has written the store
"""

from datetime import datetime
from enum import Enum, StrEnum

from headrace.client import models as m


class Code(StrEnum):
    """Stable codes of the service itself; docs/errors.md says what each means and what to do."""

    INVALID_REQUEST = "invalid_request"
    SEARCH_TOO_WIDE = "search_too_wide"
    NOT_FOUND = "not_found"
    METHOD_NOT_ALLOWED = "method_not_allowed"
    BODY_TOO_LARGE = "body_too_large"
    REQUEST_TIMEOUT = "request_timeout"
    WRONG_HOST = "wrong_host"
    WRONG_ORIGIN = "wrong_origin"
    FORBIDDEN = "forbidden"
    PROOF_NEEDED = "proof_needed"
    SESSION_NEEDED = "session_needed"
    NAMES_WITHHELD = "names_withheld"
    AGENT_NEEDED = "agent_needed"
    NAME_TAKEN = "name_taken"
    ENDPOINT_CHANGED = "endpoint_changed"
    ENDPOINT_IN_USE = "endpoint_in_use"
    AUDIT_UNSENT = "audit_unsent"
    AUDIT_UNWRITABLE = "audit_unwritable"
    KEY_UNUSABLE = "key_unusable"
    BUSY = "busy"
    TOO_MANY_BROWSES = "too_many_browses"
    TOO_MANY_CHANGES = "too_many_changes"
    TOO_MANY_PLANS = "too_many_plans"
    TOO_MANY_TRANSFERS = "too_many_transfers"
    QUOTA_EXCEEDED = "quota_exceeded"
    SHUTTING_DOWN = "shutting_down"
    NO_LEADER = "no_leader"
    UNANSWERED = "unanswered"
    STORE_BUSY = "store_busy"
    STORE_FAILED = "store_failed"
    STORE_FULL = "store_full"
    INTERNAL_ERROR = "internal_error"

    UNKNOWN_ENDPOINT = "unknown_endpoint"
    UNKNOWN_FOLDER = "unknown_folder"
    UNKNOWN_PLAN = "unknown_plan"
    UNKNOWN_TRANSFER = "unknown_transfer"
    AMBIGUOUS_TRANSFER = "ambiguous_transfer"
    AMBIGUOUS_ID = "ambiguous_id"
    UNKNOWN_RECEIPT = "unknown_receipt"
    UNKNOWN_NODE = "unknown_node"
    UNKNOWN_POLICY = "unknown_policy"
    UNKNOWN_QOS = "unknown_qos"
    UNKNOWN_CLASS = "unknown_class"
    UNKNOWN_HALT = "unknown_halt"
    UNKNOWN_PERSON = "unknown_person"
    HALT_STATE = "halt_state"

    NOT_SUPPORTED_YET = "not_supported_yet"
    NODE_AWAY = "node_away"
    NODE_DRAINING = "node_draining"
    NODE_REVOKED = "node_revoked"
    NODE_NOT_REVOKED = "node_not_revoked"
    NODE_CLOCK_SKEWED = "node_clock_skewed"
    NODES_UNREACHABLE = "nodes_unreachable"
    INTERRUPTED = "interrupted"
    SURVEY_TIMEOUT = "survey_timeout"

    PLAN_NOT_READY = "plan_not_ready"
    PLAN_ALTERED = "plan_altered"
    PLAN_DECLINED = "plan_declined"
    WRONG_DIGEST = "wrong_digest"
    NEEDS_CONFIRMATION = "needs_confirmation"
    NEEDS_APPROVAL = "needs_approval"
    NOT_AN_APPROVER = "not_an_approver"
    APPROVE_OWN_PLAN = "approve_own_plan"
    APPROVAL_NOT_NEEDED = "approval_not_needed"
    CONFIRMATION_NOT_NEEDED = "confirmation_not_needed"
    DENIED_BY_POLICY = "denied_by_policy"
    POLICY_UNPROVEN = "policy_unproven"
    HALTED = "halted"
    OUTSIDE_HOURS = "outside_hours"
    REQUESTER_INACTIVE = "requester_inactive"
    REQUESTER_RENAMED = "requester_renamed"
    DEADLINE_INFEASIBLE = "deadline_infeasible"
    HOURS_NEVER_OPEN = "hours_never_open"
    QOS_UNREADABLE = "qos_unreadable"

    TRANSFER_STATE = "transfer_state"
    RETRY_TOO_LATE = "retry_too_late"
    TAKEN_OVER = "taken_over"
    RATE_ABOVE_PLAN = "rate_above_plan"
    CLASS_ABOVE_POLICY = "class_above_policy"
    RATE_TOO_LOW = "rate_too_low"
    NO_PROGRESS = "no_progress"
    STATEMENT_INVALID = "statement_invalid"
    MOVE_UNPROVEN = "move_unproven"
    NO_FILE_LIST = "no_file_list"

    POLICY_INVALID = "policy_invalid"
    POLICY_STATE = "policy_state"
    PUBLISH_OWN_POLICY = "publish_own_policy"
    QOS_INVALID = "qos_invalid"
    QOS_STATE = "qos_state"
    PUBLISH_OWN_QOS = "publish_own_qos"


class Retry(Enum):
    """What else a refusal may know of when the same is heard than a number of seconds."""

    NOT_BY_ITSELF = "not by itself"
    """It does not pass without another request, or nobody knows when: no time is named."""


class ServiceError(Exception):
    """A refusal with a stable code; the message is fit for the caller."""

    def __init__(  # noqa: PLR0913 - what may be told beside the sentence
        self,
        code: Code | str,
        detail: str,
        *,
        fields: tuple[str, ...] = (),
        scopes: tuple[str, ...] = (),
        proof: m.ProofWanted | None = None,
        retry_after_s: int | Retry | None = None,
    ) -> None:
        """`code` is a `Code`, or a documented code of the engine, guardrails or auth; `fields` names inputs.

        `scopes`: what a token would need. `proof`: which proof of a person is wanted. `retry_after_s`: when the same is
        heard, if that is known better than `problems.PASSES_AFTER_S` says for the code.
        """
        super().__init__(detail)
        self.code = code
        self.detail = detail
        self.fields = fields
        self.scopes = scopes
        self.proof = proof
        self.retry_after_s = retry_after_s


Objection = ServiceError | None
"""What stands against an action; `None`: nothing does."""


class CannotStart(Exception):  # noqa: N818 - says what is the case
    """The service can't start; the message says which file, what happened and what to do."""


class StoreIsNewer(CannotStart):
    """A later version has written the store: this one can't work with it, however long it waits."""


class OutsideHours(ServiceError):  # noqa: N818 - says what is the case
    """The plan may run, and only at other hours; nothing is signed for it before they open."""

    def __init__(self, opens: datetime, whose: str) -> None:
        """`whose` hours they are, in words."""
        super().__init__(Code.OUTSIDE_HOURS, f"it is outside {whose}; they open at {opens:%Y-%m-%d %H:%M} UTC")
        self.opens = opens
        self.whose = whose


class TooManyChanges(ServiceError):  # noqa: N818 - says what is the case
    """Nothing was done: a person or token has made as many calls that change something as one may within a minute."""

    def __init__(self, whose: str, most: int, retry_after_s: int) -> None:
        """`whose` calls they are, in words; `retry_after_s` is when the next one is heard."""
        super().__init__(
            Code.TOO_MANY_CHANGES,
            f"{whose} made {most:,} calls within a minute that change something or are noted in the audit log, and no "
            f"more are taken. Nothing was done. Try again in {retry_after_s} s. Looking, pausing, canceling and "
            "halting are always heard; an operator can raise `HEADRACE_CHANGES_PER_MINUTE_OF_ONE`",
            retry_after_s=retry_after_s,
        )


class Fenced(ServiceError):  # noqa: N818 - says what is the case
    """Another worker has taken the transfer up meanwhile; this one writes and signs nothing more for it."""

    def __init__(self, transfer: str) -> None:
        """Say what happened."""
        super().__init__(Code.TAKEN_OVER, f"transfer `{transfer}` was taken up by another worker meanwhile; try again")


class AuditUnwritable(ServiceError):  # noqa: N818 - says what is the case
    """The audit chain can't be written, so nothing was changed."""

    def __init__(self, trouble: str) -> None:
        """`trouble`: what is the matter with the store that holds it, in words for everybody."""
        super().__init__(
            Code.AUDIT_UNWRITABLE,
            f"nothing was changed, because the audit log can't be written (the service's store: {trouble}); an "
            "operator must look at `headrace health`, and run `headrace audit verify` when that is mended",
        )


class KeyUnusable(ServiceError):  # noqa: N818 - says what is the case
    """The authority key can't be used now, so nothing was signed and nothing changed; it passes when the key is back.

    `why` is for operators: it names files and modules of the service's host.
    """

    def __init__(self, why: str) -> None:
        """Say what happened and what to do."""
        super().__init__(
            Code.KEY_UNUSABLE,
            "nothing was signed, because the service's authority key can't be used now; try again later, and let an "
            "operator look at `headrace health`",
        )
        self.why = why
