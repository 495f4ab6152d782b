"""Who may call what: one table for every door, checked before a use case begins.

A scope says what kind of call it is; policy decides on top of it what may be looked at and moved. Some calls need a
person's own interactive session: a token, or a form answered inside a chat, is no proof of a person.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from headrace.api.errors import Code, Objection, ServiceError
from headrace.auth import SCOPES_OF_ROLE, TOKEN_SCOPES, Principal, Role, Scope
from headrace.client import models as m


@dataclass(frozen=True, slots=True)
class Access:
    """What a call needs: one of `scopes` (none: any signed-in caller), and perhaps the person's own session.

    `agents`: whether an assistant's token may make it at all.
    """

    scopes: frozenset[Scope] = frozenset()
    session: bool = False
    agents: bool = True


def _needs(*scopes: Scope, session: bool = False, agents: bool = True) -> Access:
    return Access(frozenset(scopes), session, agents)


ACCESS: Mapping[str, Access] = {
    "me": _needs(),
    "health": _needs(),
    "interpret": _needs(Scope.TRANSFER_PLAN),
    "create_plan": _needs(Scope.TRANSFER_PLAN),
    "plan": _needs(Scope.TRANSFER_READ),
    "plans": _needs(Scope.TRANSFER_READ),
    "plan_counts": _needs(Scope.TRANSFER_READ),
    "confirm_plan": _needs(Scope.TRANSFER_RUN, session=True),
    # By role or group: which of them counts is the plan's to say.
    "approve_plan": _needs(session=True),
    "drop_plan": _needs(Scope.TRANSFER_PLAN),
    "why": _needs(Scope.TRANSFER_READ),
    "losses": _needs(Scope.TRANSFER_READ),
    "submit": _needs(Scope.TRANSFER_RUN),
    "transfer": _needs(Scope.TRANSFER_READ),
    "transfers": _needs(Scope.TRANSFER_READ),
    "transfer_counts": _needs(Scope.TRANSFER_READ),
    "control": _needs(Scope.TRANSFER_RUN, Scope.NODE_WRITE),
    "watch": _needs(Scope.TRANSFER_READ),
    "changes": _needs(Scope.TRANSFER_READ),
    "transfer_events": _needs(Scope.TRANSFER_READ),
    "diagnose": _needs(Scope.TRANSFER_READ),
    "measured": _needs(Scope.TRANSFER_READ),
    "probed": _needs(Scope.TRANSFER_READ),
    "throughput": _needs(Scope.TRANSFER_READ),
    "failed_files": _needs(Scope.TRANSFER_READ),
    "receipt": _needs(Scope.TRANSFER_READ),
    "receipt_files": _needs(Scope.TRANSFER_READ),
    "endpoints": _needs(Scope.TRANSFER_READ),
    # Labels and names are what policy decides on.
    "update_endpoint": _needs(Scope.POLICY_WRITE, session=True),
    # It frees names, and with them labels: who runs nodes may take none of a label's rules away.
    "remove_endpoint": _needs(Scope.ADMIN, session=True),
    "browse": _needs(Scope.TRANSFER_PLAN),
    "nodes": _needs(Scope.TRANSFER_READ),
    # Who else the host talks to.
    "node_host": _needs(Scope.NODE_WRITE),
    # The sum of what everybody moves.
    "node_throughput": _needs(Scope.NODE_WRITE, Scope.ADMIN, Scope.AUDIT_READ),
    "create_join_token": _needs(Scope.NODE_WRITE, session=True),
    "drain_node": _needs(Scope.NODE_WRITE),
    "revoke_node": _needs(Scope.NODE_WRITE, session=True),
    "rotate_node": _needs(Scope.NODE_WRITE, session=True),
    # As an endpoint.
    "remove_node": _needs(Scope.ADMIN, session=True),
    "halt": _needs(Scope.NODE_WRITE, Scope.ADMIN, session=True),
    "release_halt": _needs(Scope.NODE_WRITE, Scope.ADMIN, session=True),
    "halts": _needs(Scope.NODE_WRITE, Scope.ADMIN, Scope.AUDIT_READ, agents=False),
    "quotas": _needs(Scope.TRANSFER_READ),
    "policies": _needs(Scope.TRANSFER_READ),
    "check_policy": _needs(Scope.POLICY_WRITE),
    "simulate_policy": _needs(Scope.POLICY_WRITE),
    "policy_needs": _needs(Scope.POLICY_WRITE),
    "guided_rules": _needs(Scope.POLICY_WRITE),
    "who_may": _needs(Scope.POLICY_WRITE),
    "propose_policy": _needs(Scope.POLICY_WRITE),
    "withdraw_policy": _needs(Scope.POLICY_WRITE, session=True),
    "publish_policy": _needs(Scope.POLICY_WRITE, session=True),
    "qos": _needs(Scope.TRANSFER_READ),
    "qos_versions": _needs(Scope.TRANSFER_READ),
    "check_qos": _needs(Scope.POLICY_WRITE),
    "propose_qos": _needs(Scope.POLICY_WRITE),
    "withdraw_qos": _needs(Scope.POLICY_WRITE, session=True),
    "publish_qos": _needs(Scope.POLICY_WRITE, session=True),
    # Its links name folders and words of everybody.
    "audit": _needs(Scope.AUDIT_READ, agents=False),
    "verify_audit": _needs(Scope.AUDIT_READ),
    "people": _needs(Scope.ADMIN),
    "invite": _needs(Scope.ADMIN, session=True),
    "create_service_account": _needs(Scope.ADMIN, session=True),
    "disable_person": _needs(Scope.ADMIN, session=True),
    "enable_person": _needs(Scope.ADMIN, session=True),
    "update_person": _needs(Scope.ADMIN, session=True),
    "link_identity": _needs(Scope.ADMIN, session=True),
    "unlink_identity": _needs(Scope.ADMIN, session=True),
    "group_bindings": _needs(Scope.ADMIN),
    "propose_group_bindings": _needs(Scope.ADMIN, session=True),
    "publish_group_bindings": _needs(Scope.ADMIN, session=True),
    "invite_again": _needs(Scope.ADMIN, session=True),
    "change_password": _needs(session=True),
    "passkeys": _needs(session=True),
    "begin_passkey": _needs(session=True),
    "add_passkey": _needs(session=True),
    "remove_passkey": _needs(session=True),
    "use_passkey": _needs(session=True),
    "sessions": _needs(session=True),
    "end_session": _needs(session=True),
    "tokens": _needs(agents=False),
    "create_token": _needs(session=True),
    "revoke_token": _needs(session=True),
}
"""By the port's method names."""

COUNTED: frozenset[str] = frozenset(
    {
        "create_plan", "confirm_plan", "approve_plan", "drop_plan", "submit", "control", "browse", "update_endpoint",
        "create_join_token", "drain_node", "rotate_node", "release_halt", "propose_policy", "publish_policy",
        "propose_qos", "publish_qos", "invite", "create_service_account", "enable_person", "update_person",
        "link_identity", "unlink_identity", "propose_group_bindings", "publish_group_bindings", "invite_again",
        "change_password", "begin_passkey", "add_passkey", "use_passkey", "create_token",
    }
)  # fmt: skip
"""Calls that change something or are noted in the audit log: nobody makes any number of them (`ChangeLimit`)."""

STOPS: frozenset[str] = frozenset(
    {
        "halt", "remove_node", "remove_endpoint", "revoke_node", "disable_person", "remove_passkey", "end_session",
        "revoke_token", "withdraw_policy", "withdraw_qos",
    }
)  # fmt: skip
"""Calls that stop something or take something away: they are always heard, and each can be made once."""

CHANGING: frozenset[str] = (COUNTED | STOPS) - {"browse"}
"""Calls that change something."""


def missing(principal: Principal, method: str) -> ServiceError | None:
    """Return what stands against calling this method of the port; an unknown method is refused to everybody."""
    access = ACCESS.get(method)
    if access is None:
        return ServiceError(Code.FORBIDDEN, f"nobody may call `{method}`")
    if access.session and not principal.session:
        return ServiceError(
            Code.SESSION_NEEDED,
            "this needs your own interactive session, not a token: use the console, or `headrace login` in a terminal",
        )
    if principal.agent is not None and not access.agents:
        return ServiceError(Code.FORBIDDEN, f"this is not for assistants such as `{principal.agent}`")
    if access.scopes and not access.scopes & principal.scopes:
        return out_of_reach(principal, access.scopes)
    return None


def allowed_action(action: m.PlanAction | m.TransferAction, objection: Objection) -> m.AllowedAction:
    """Say that an action is allowed, or why not."""
    return _action(action, objection.detail if objection else None)


@lru_cache(maxsize=4096)  # a page of 200 has 2,000, most of them alike
def _action(action: m.PlanAction | m.TransferAction, against: str | None) -> m.AllowedAction:
    return m.AllowedAction(action=action, allowed=against is None, reason=against or "")


def out_of_reach(principal: Principal, scopes: frozenset[Scope]) -> ServiceError:
    """Say that a caller has none of these scopes: to a person by roles, to a program by scopes."""
    detail, wanted = _out_of_reach(principal.session, principal.roles, scopes)
    return ServiceError(Code.FORBIDDEN, detail, scopes=wanted)


@lru_cache(maxsize=1024)
def _out_of_reach(
    session: bool,  # noqa: FBT001 - a part of what the words depend on
    own: frozenset[Role],
    scopes: frozenset[Scope],
) -> tuple[str, tuple[str, ...]]:
    """Return the words and the scopes that a program would need; a page of transfers asks for them 200 times."""
    able = [role for role in Role if scopes & SCOPES_OF_ROLE[role]]
    if session or not own & frozenset(able):
        of_whom = "you are" if session else "the person or account of this token is"
        theirs = ", ".join(role for role in Role if role in own) or "nothing yet"
        who, roles = listed([_MANY[role] for role in able], "and"), listed([f"`{role}`" for role in able], "or")
        detail = (
            f"only {who} may do this; {of_whom} {theirs}. An administrator can give the role {roles}: in the console "
            "under People, or with `headrace people set`"
        )
        return detail, () if session else tuple(sorted(scopes))
    error = lacking(*sorted(scopes))
    return error.detail, error.scopes


def lacking(*scopes: Scope, who: str = "this token may not") -> ServiceError:
    """Say what a token may not do, in words, and with which scope one may."""
    deeds = listed([scope.in_words for scope in scopes], "or")
    able = [scope for scope in scopes if scope in TOKEN_SCOPES]
    if not able:
        return ServiceError(
            Code.FORBIDDEN,
            f"{who} {deeds}, and no token ever may: `unset HEADRACE_TOKEN`, and sign in with `headrace login` or in "
            "the console",
            scopes=scopes,
        )
    wanted = listed([f"`--scope {scope}`" for scope in able], "or")
    return ServiceError(
        Code.FORBIDDEN, f"{who} {deeds}: use one that was made with {wanted} (`headrace token create`)", scopes=scopes
    )


_MANY = {
    Role.VIEWER: "viewers",
    Role.REQUESTER: "requesters",
    Role.APPROVER: "approvers",
    Role.POLICY_ADMIN: "policy administrators",
    Role.OPERATOR: "operators",
    Role.AUDITOR: "auditors",
    Role.ADMIN: "administrators",
}


def listed(words: Sequence[str], last: str) -> str:
    """Return `a`, `a and b` or `a, b and c`."""
    return f" {last} ".join([", ".join(words[:-1]), words[-1]] if words[1:] else list(words))


def require(principal: Principal, method: str) -> None:
    """Refuse unless the caller may call this method of the port."""
    refusal = missing(principal, method)
    if refusal is not None:
        raise refusal
