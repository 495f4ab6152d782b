"""Callers of the pure rules: people with roles, and assistants with scopes."""

from datetime import UTC, datetime

from headrace.auth import Principal, Role, Scope
from headrace.auth.principal import scopes_of

NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)


def person(name: str, *roles: Role, groups: tuple[str, ...] = ()) -> Principal:
    """Somebody with an interactive session."""
    held = frozenset(roles)
    return Principal(
        id=f"pn_{name}",
        name=name,
        kind="person",
        roles=held,
        scopes=scopes_of(held),
        groups=frozenset(groups),
        method="password",
        session=True,
        authenticated_at=NOW,
    )


def assistant(of: Principal, agent: str | None, *scopes: Scope) -> Principal:
    """What acts for somebody by an API token with these scopes; without an `agent` it is a pipeline."""
    return Principal(
        id=of.id,
        name=of.name,
        kind="person",
        roles=of.roles,
        scopes=frozenset(scopes) & of.scopes,
        groups=of.groups,
        method="token",
        session=False,
        authenticated_at=NOW,
        agent=agent,
    )
