"""What guardrails raise and return when something is not allowed.

Exception tree::

    GuardrailError                  base; `code` is stable and listed in docs/errors-guardrails.md
    ├── SealError                   a sealed document or key that can't be trusted
    └── Refused                     a request or plan that rules stopped; carries every `RailRefusal`
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class SealCode(StrEnum):
    """Why a document, a key or a value could not be sealed or trusted."""

    BAD_SIGNATURE = "bad_signature"
    BODY_TOO_LARGE = "body_too_large"
    KEY_FILE_UNREADABLE = "key_file_unreadable"
    KEY_FILE_UNSAFE = "key_file_unsafe"
    MALFORMED_DOCUMENT = "malformed_document"
    MALFORMED_KEY = "malformed_key"
    MALFORMED_TIME = "malformed_time"
    NOT_CANONICAL = "not_canonical"
    UNKNOWN_SIGNER = "unknown_signer"
    WRONG_TYPE = "wrong_type"


class Rail(StrEnum):
    """Rules nobody can switch off about what is asked for and what a survey finds: `rails/checks.py`."""

    ACCESS_TOO_LOW = "access_too_low"
    CASE_COLLISION = "case_collision"
    DELETE_EMPTY_SOURCE = "delete_empty_source"
    DELETE_NEEDS_SYNC = "delete_needs_sync"
    EMPTY_RANGE = "empty_range"
    ENDPOINT_NAME = "endpoint_name"
    HOME_PATH = "home_path"
    MALFORMED_GLOB = "malformed_glob"
    MALFORMED_PATH = "malformed_path"
    MOVE_OF_ROOT = "move_of_root"
    MOVE_NEEDS_AT_REST = "move_needs_at_rest"
    NOT_ENOUGH_SPACE = "not_enough_space"
    NUL_IN_PATH = "nul_in_path"
    NUMBER_OUT_OF_RANGE = "number_out_of_range"
    OVERLAPPING_PLACES = "overlapping_places"
    PARENT_COMPONENT = "parent_component"
    PATH_TOO_LONG = "path_too_long"
    RELATIVE_PATH = "relative_path"
    RESERVED_NAME = "reserved_name"
    SYNC_OF_FILE = "sync_of_file"
    TOO_MANY_GLOBS = "too_many_globs"
    UNC_PATH = "unc_path"
    UNSUPPORTED_CHECKSUM = "unsupported_checksum"
    UNSUPPORTED_PRESERVE = "unsupported_preserve"
    UNSUPPORTED_SLOT = "unsupported_slot"
    VERIFY_NONE = "verify_none"


class Unreleased(StrEnum):
    """Why a sealed plan is not released to the signer: `plan/release.py`."""

    APPROVAL_MISSING = "approval_missing"
    CONFIRMATION_MISSING = "confirmation_missing"
    DIGEST_MISMATCH = "digest_mismatch"
    NOT_RUNNABLE = "not_runnable"
    PLAN_EXPIRED = "plan_expired"
    POLICY_CHANGED = "policy_changed"


@dataclass(frozen=True, slots=True)
class RailRefusal:
    """A rule nobody can switch off that stopped a request or a release.

    `rule` is its stable id, `message` says what, where and what to do, `words` are the caller's
    own words that met the rule (empty when there are none). Names in both are escaped already.
    """

    rule: Rail | Unreleased
    message: str
    words: str = ""


class GuardrailError(Exception):
    """Base of every error of guardrails: `args[0]` is a sentence for people."""

    def __init__(self, code: str, message: str) -> None:
        """Keep the stable `code`; `message` becomes the text."""
        super().__init__(message)
        self.code = code


class SealError(GuardrailError):
    """A document, signature or key that can't be trusted; nothing of it may be used."""


class Refused(GuardrailError):  # noqa: N818 - the word of the design
    """A rail stopped the request, or its plan is not released; `refusals` holds at least one."""

    def __init__(self, refusals: Sequence[RailRefusal]) -> None:
        """Take the first refusal's rule and message as code and text."""
        super().__init__(refusals[0].rule, refusals[0].message)
        self.refusals = tuple(refusals)
