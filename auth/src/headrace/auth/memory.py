"""A `PeopleStore` in memory: for tests, and as the shortest statement of what a store does."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from headrace.auth.passwords import fold
from headrace.auth.store import InvitationRecord, NameTaken, PersonRecord, SessionRecord, TokenRecord

MAX_PEOPLE = 10_000
MAX_TOKENS = 1000


class MemoryPeopleStore:
    """Keeps everything in dictionaries. Its methods never wait, so each is one step for every other task."""

    def __init__(self) -> None:
        """Begin empty."""
        self._people: dict[str, PersonRecord] = {}
        self._invitations: dict[str, InvitationRecord] = {}
        self._sessions: dict[str, SessionRecord] = {}
        self._tokens: dict[str, TokenRecord] = {}

    async def add_person(self, person: PersonRecord, invitation: InvitationRecord | None = None) -> None:
        """See `PeopleStore`."""
        self._check_name(person.name, person.id)
        self._people[person.id] = person
        if invitation:
            self._invitations[invitation.hash] = invitation

    async def person(self, person: str) -> PersonRecord | None:
        """See `PeopleStore`."""
        return self._people.get(person)

    async def person_named(self, name: str) -> PersonRecord | None:
        """See `PeopleStore`."""
        return next((person for person in self._people.values() if fold(person.name) == fold(name)), None)

    async def people(self) -> Sequence[PersonRecord]:
        """See `PeopleStore`."""
        return tuple(self._people.values())[:MAX_PEOPLE]

    async def invitation(self, hash: str) -> InvitationRecord | None:  # noqa: A002 - the field's name
        """See `PeopleStore`."""
        return self._invitations.get(hash)

    async def redeem(self, hash: str, name: str, password_hash: str, now: datetime) -> PersonRecord | None:  # noqa: A002
        """See `PeopleStore`."""
        invitation = self._invitations.get(hash)
        person = self._people.get(invitation.person) if invitation else None
        if invitation is None or person is None or person.state != "invited" or now >= invitation.expires:
            return None
        self._check_name(name, person.id)
        del self._invitations[hash]
        self._people[person.id] = replace(person, name=name, state="active", password_hash=password_hash)
        return self._people[person.id]

    async def set_password_hash(self, person: str, password_hash: str) -> None:
        """See `PeopleStore`."""
        if self._people[person].state == "active":
            self._people[person] = replace(self._people[person], password_hash=password_hash)

    async def disable(self, person: str) -> PersonRecord | None:
        """See `PeopleStore`."""
        if person not in self._people:
            return None
        self._people[person] = replace(self._people[person], state="disabled", password_hash=None)
        self._sessions = {key: value for key, value in self._sessions.items() if value.person != person}
        self._tokens = {key: value for key, value in self._tokens.items() if value.person != person}
        self._invitations = {key: value for key, value in self._invitations.items() if value.person != person}
        return self._people[person]

    async def add_session(self, session: SessionRecord) -> None:
        """See `PeopleStore`."""
        self._sessions[session.hash] = session

    async def session(self, hash: str) -> SessionRecord | None:  # noqa: A002 - the field's name
        """See `PeopleStore`."""
        return self._sessions.get(hash)

    async def touch_session(self, hash: str, now: datetime) -> None:  # noqa: A002 - the field's name
        """See `PeopleStore`."""
        if hash in self._sessions:
            self._sessions[hash] = replace(self._sessions[hash], last_used=now)

    async def delete_session(self, hash: str) -> None:  # noqa: A002 - the field's name
        """See `PeopleStore`."""
        self._sessions.pop(hash, None)

    async def add_token(self, token: TokenRecord) -> None:
        """See `PeopleStore`."""
        self._tokens[token.id] = token

    async def token(self, token: str) -> TokenRecord | None:
        """See `PeopleStore`."""
        return self._tokens.get(token)

    async def tokens_of(self, person: str) -> Sequence[TokenRecord]:
        """See `PeopleStore`."""
        return tuple(token for token in self._tokens.values() if token.person == person)[:MAX_TOKENS]

    async def touch_token(self, token: str, now: datetime) -> None:
        """See `PeopleStore`."""
        if token in self._tokens:
            self._tokens[token] = replace(self._tokens[token], last_used=now)

    async def delete_token(self, token: str) -> None:
        """See `PeopleStore`."""
        self._tokens.pop(token, None)

    def _check_name(self, name: str, owner: str) -> None:
        if any(fold(other.name) == fold(name) for other in self._people.values() if other.id != owner):
            raise NameTaken(name)
