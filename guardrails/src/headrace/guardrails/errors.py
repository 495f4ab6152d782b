"""What guardrails raise and return when something is not allowed.

Exception tree::

    GuardrailError                  base; `code` is stable and listed in docs/errors-guardrails.md
    ├── SealError                   a sealed document or key that can't be trusted
    └── Refused                     a request that a rail stopped; carries every `RailRefusal`
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


@dataclass(frozen=True, slots=True)
class RailRefusal:
    """A rule nobody can switch off that stopped a request.

    `rule` is a stable snake_case id, `message` says what, where and what to do, `words` are the caller's
    own words that met the rule (empty when there are none). Names in both are escaped already.
    """

    rule: str
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
    """A rail stopped the request; `refusals` holds at least one."""

    def __init__(self, refusals: Sequence[RailRefusal]) -> None:
        """Take the first refusal's rule and message as code and text."""
        super().__init__(refusals[0].rule, refusals[0].message)
        self.refusals = tuple(refusals)
