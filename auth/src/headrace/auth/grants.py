"""What a person may be: what administrators granted, and what the groups of their identities give."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from headrace.auth.principal import SERVICE_ROLES, Role
from headrace.auth.store import GroupBinding, IdentityRecord, PersonRecord, PersonState

Bindings = Mapping[tuple[str, str], GroupBinding]
"""By issuer and group."""


def by_group(bindings: Iterable[GroupBinding]) -> Bindings:
    """Index bindings."""
    return {(one.issuer, one.group): one for one in bindings}


def with_rights(person: PersonRecord, identities: Iterable[IdentityRecord], bindings: Bindings) -> PersonRecord:
    """Return a person with the roles, the groups and the state that count now.

    A group of an issuer gives what an administrator bound to it under that issuer, and otherwise nothing: two issuers
    may mean different people by one name. No group gives a service account a role that is for people.
    """
    roles, groups = set[Role](person.granted_roles), set(person.granted_groups)
    state: PersonState = "active" if person.state == "suspended" else person.state
    for identity in identities:
        if identity.gone is not None:
            state = "suspended" if state == "active" else state
        for group in identity.groups:
            if bound := bindings.get((identity.issuer, group)):
                roles |= bound.roles
                groups |= bound.groups
    if person.kind == "service":
        roles &= SERVICE_ROLES
    return replace(person, roles=frozenset(roles), groups=frozenset(groups), state=state)
