"""Who is calling: the one form in which every way in ends."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final, Literal

Kind = Literal["person", "service"]
Method = Literal["password", "passkey", "directory", "oidc", "token"]
"""How somebody has shown who they are."""


class Role(StrEnum):
    """What somebody is here; a table says what each may do."""

    VIEWER = "viewer"
    REQUESTER = "requester"
    APPROVER = "approver"
    POLICY_ADMIN = "policy_admin"
    OPERATOR = "operator"
    AUDITOR = "auditor"
    ADMIN = "admin"


class Scope(StrEnum):
    """What a call may do at most; policy decides on top of it."""

    TRANSFER_READ = "transfer:read"
    TRANSFER_PLAN = "transfer:plan"
    TRANSFER_RUN = "transfer:run"
    TRANSFER_DELETE = "transfer:delete"
    TRANSFER_READ_ALL = "transfer:read:all"
    """An assistant also sees what its person or another assistant planned."""
    TRANSFER_RUN_ALL = "transfer:run:all"
    """An assistant also submits and steers what its person or another assistant planned."""
    TRANSFER_APPROVE = "transfer:approve"
    POLICY_WRITE = "policy:write"
    NODE_WRITE = "node:write"
    AUDIT_READ = "audit:read"
    ADMIN = "admin"

    @property
    def in_words(self) -> str:
        """What a call with this scope may do, as the end of a sentence."""
        return _IN_WORDS[self]


_IN_WORDS: Final = {
    Scope.TRANSFER_READ: "look at transfers",
    Scope.TRANSFER_PLAN: "plan transfers",
    Scope.TRANSFER_RUN: "run and steer transfers",
    Scope.TRANSFER_DELETE: "run plans that delete files",
    Scope.TRANSFER_READ_ALL: "look at what others planned",
    Scope.TRANSFER_RUN_ALL: "run and steer what others planned",
    Scope.TRANSFER_APPROVE: "approve plans of others",
    Scope.POLICY_WRITE: "change the policy",
    Scope.NODE_WRITE: "change nodes and halt work",
    Scope.AUDIT_READ: "read the audit log",
    Scope.ADMIN: "administrate people",
}
_READ: Final = frozenset({Scope.TRANSFER_READ, Scope.TRANSFER_READ_ALL})
_RUN: Final = frozenset({Scope.TRANSFER_RUN, Scope.TRANSFER_RUN_ALL})

SCOPES_OF_ROLE: Final[dict[Role, frozenset[Scope]]] = {
    Role.VIEWER: _READ,
    Role.REQUESTER: _READ | _RUN | {Scope.TRANSFER_PLAN, Scope.TRANSFER_DELETE},
    Role.APPROVER: _READ | {Scope.TRANSFER_APPROVE},
    Role.POLICY_ADMIN: _READ | {Scope.POLICY_WRITE},
    Role.OPERATOR: _READ | {Scope.NODE_WRITE},
    Role.AUDITOR: _READ | {Scope.AUDIT_READ},
    Role.ADMIN: _READ | {Scope.POLICY_WRITE, Scope.NODE_WRITE, Scope.AUDIT_READ, Scope.ADMIN},
}
"""An admin administrates: to ask for transfers or to approve them takes the role of a requester or an approver."""

TOKEN_SCOPES: Final = frozenset(Scope) - {Scope.TRANSFER_APPROVE, Scope.ADMIN}
"""What a token may hold at most: it never approves, and never makes people."""

SERVICE_ROLES: Final = frozenset(Role) - {Role.APPROVER, Role.POLICY_ADMIN, Role.ADMIN}
"""Roles of a service account: none whose decisions are a person's."""

BOOTSTRAP_ROLES: Final = frozenset({Role.ADMIN, Role.REQUESTER, Role.APPROVER})
"""Roles of the first person, who must be able to try everything and to invite others."""


BY_PASSKEY_FACTORS: Final = frozenset({"mfa", "passkey", "pop"})
"""The device holds the key and has verified its user: two factors. `passkey` is our own word beside RFC 8176."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """Who is calling. `session` is true only for a person's own interactive session: only such may confirm or approve.

    `agent` is the assistant that the token was made for, never what a client says of itself.
    """

    id: str
    name: str
    kind: Kind
    roles: frozenset[Role]
    scopes: frozenset[Scope]
    groups: frozenset[str]
    method: Method
    session: bool
    authenticated_at: datetime
    factors: frozenset[str] = frozenset()
    """What was shown at the sign-in, in the words of RFC 8176 (`pwd`, `otp`, `hwk`, ...)."""
    issuer: str | None = None
    """Where a session was begun, unless here."""
    agent: str | None = None
    token: str | None = None
    """The id of the token, if it is one."""
    token_made_by: str | None = None
    """The administrator who made that token for a service account: what it asks for counts as theirs, too."""
    local: bool = False
    """Whether the name is of this service, where nobody else has it; others may be anybody's."""
    session_id: str | None = None
    """The id of the session, if it is one; nobody signs in with it."""

    @property
    def shown_name(self) -> str:
        """The name as others read it: one that its owner may have chosen at a provider stands with that provider."""
        elsewhere = self.issuer if not self.local and self.issuer and "://" in self.issuer else None
        return f"{self.name} ({elsewhere})" if elsewhere else self.name

    def may(self, scope: Scope) -> bool:
        """Whether this call holds the scope."""
        return scope in self.scopes


def scopes_of(roles: Iterable[Role]) -> frozenset[Scope]:
    """Every scope that some of the roles give."""
    return frozenset().union(*(SCOPES_OF_ROLE[role] for role in roles))
