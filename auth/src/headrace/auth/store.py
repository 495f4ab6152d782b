"""What is kept about people, and the port to wherever it is kept."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, Protocol

from headrace.auth.errors import AuthCode, AuthError
from headrace.auth.principal import Kind, Role, Scope

PersonState = Literal["invited", "active", "disabled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonRecord:
    """A local person or service account. `password_hash` is argon2id; an invited person has none yet."""

    id: str
    name: str
    roles: frozenset[Role]
    state: PersonState
    created: datetime
    groups: frozenset[str] = frozenset()
    kind: Kind = "person"
    password_hash: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class InvitationRecord:
    """A one-time link for one invited person, stored by its hash."""

    hash: str = field(repr=False)
    person: str
    created: datetime
    expires: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRecord:
    """An interactive session, stored by its hash; `expires` is the absolute limit."""

    hash: str = field(repr=False)
    person: str
    created: datetime
    expires: datetime
    last_used: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRecord:
    """An API token: `person` made it, `agent` is the assistant it was made for."""

    id: str
    hash: str = field(repr=False)
    person: str
    name: str
    scopes: frozenset[Scope]
    created: datetime
    expires: datetime
    agent: str | None = None
    last_used: datetime | None = None


class NameTaken(Exception):  # noqa: N818 - says what is the case
    """Another person has this name (compared with `passwords.fold`)."""


class PeopleStore(Protocol):
    """Where people, invitations, sessions and tokens are kept.

    Each method is one transaction. `tests/conformance/people_store_conformance.py` holds every implementation to this.
    """

    async def add_person(self, person: PersonRecord, invitation: InvitationRecord | None = None) -> None:
        """Add a person, with an invitation if there is one; raises `NameTaken`."""
        ...

    async def person(self, person: str) -> PersonRecord | None:
        """Find a person by id."""
        ...

    async def person_named(self, name: str) -> PersonRecord | None:
        """Find a person by name, compared with `passwords.fold`."""
        ...

    async def people(self) -> Sequence[PersonRecord]:
        """List everybody, oldest first, at most 10,000."""
        ...

    async def invitation(self, hash: str) -> InvitationRecord | None:  # noqa: A002 - the field's name
        """Find an invitation that was not redeemed."""
        ...

    async def redeem(self, hash: str, name: str, password_hash: str, now: datetime) -> PersonRecord | None:  # noqa: A002
        """Use up an invitation and make its person active, at once: once, before it expires, only while invited.

        Answers the person, or `None` when any of that does not hold (nothing changes then); raises `NameTaken`.
        """
        ...

    async def set_password_hash(self, person: str, password_hash: str) -> None:
        """Replace an active person's password hash."""
        ...

    async def disable(self, person: str) -> PersonRecord | None:
        """Disable a person and delete their sessions, tokens and invitations, at once; `None` if there is none."""
        ...

    async def add_session(self, session: SessionRecord) -> None:
        """Keep a session."""
        ...

    async def session(self, hash: str) -> SessionRecord | None:  # noqa: A002 - the field's name
        """Find a session."""
        ...

    async def touch_session(self, hash: str, now: datetime) -> None:  # noqa: A002 - the field's name
        """Note that a session was used."""
        ...

    async def delete_session(self, hash: str) -> None:  # noqa: A002 - the field's name
        """Forget a session; nothing happens if there is none."""
        ...

    async def add_token(self, token: TokenRecord) -> None:
        """Keep a token."""
        ...

    async def token(self, token: str) -> TokenRecord | None:
        """Find a token by id."""
        ...

    async def tokens_of(self, person: str) -> Sequence[TokenRecord]:
        """List a person's tokens, oldest first, at most 1,000."""
        ...

    async def touch_token(self, token: str, now: datetime) -> None:
        """Note that a token was used."""
        ...

    async def delete_token(self, token: str) -> None:
        """Forget a token; nothing happens if there is none."""
        ...


async def active_person(store: PeopleStore, person: str) -> PersonRecord:
    """Return a person who may act now; raises `not_signed_in`."""
    record = await store.person(person)
    if record is None or record.state != "active":
        raise AuthError(AuthCode.NOT_SIGNED_IN, f"person {person} is not active")
    return record
