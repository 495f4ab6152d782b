"""The stores of people, identities and passkeys in memory: for tests, and the shortest statement of what each does."""

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime

from headrace.auth.grants import by_group, with_rights
from headrace.auth.passwords import fold
from headrace.auth.principal import BY_PASSKEY_FACTORS, Method, Role
from headrace.auth.signed_out import SIGNED_OUT_KEPT, signed_out_keys
from headrace.auth.store import (
    MAX_PASSKEYS,
    MAX_TOKENS_A_PERSON,
    Arrival,
    Grounds,
    GroupBinding,
    GroupProposal,
    IdentityRecord,
    InvitationRecord,
    LastAdmin,
    NameTaken,
    PasskeyRecord,
    PasskeyUse,
    PersonRecord,
    SessionRecord,
    StaysOut,
    TokenRecord,
    TooMany,
    is_nameless,
)

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
        self._identities: dict[tuple[str, str], IdentityRecord] = {}
        self._bindings: dict[tuple[str, str], GroupBinding] = {}
        self._passkeys: dict[str, PasskeyRecord] = {}
        self._used_nonces: dict[str, datetime] = {}
        self._proposals: dict[str, GroupProposal] = {}
        self._places: OrderedDict[str, str] = OrderedDict()

    async def add_person(self, person: PersonRecord, invitation: InvitationRecord | None = None) -> None:
        """See `PeopleStore`."""
        self._check_name(person.name, person.id)
        self._people[person.id] = person
        if invitation:
            self._invitations[invitation.hash] = invitation

    async def forget_nameless(self, person: str) -> bool:
        """See `PeopleStore`."""
        known = self._people.get(person)
        if known is None or not is_nameless(known) or any(one.person == person for one in self._identities.values()):
            return False
        self._drop_invitations(person)
        del self._people[person]
        return True

    async def person(self, person: str) -> PersonRecord | None:
        """See `PeopleStore`."""
        return self._people.get(person)

    async def person_named(self, name: str) -> PersonRecord | None:
        """See `PeopleStore`."""
        return next((one for one in self._people.values() if one.local and fold(one.name) == fold(name)), None)

    async def people(self, *, after: str | None = None, limit: int = MAX_PEOPLE) -> Sequence[PersonRecord]:
        """See `PeopleStore`."""
        found = sorted(self._people.values(), key=lambda one: (one.created, one.id))
        begin = next((at for at, one in enumerate(found, 1) if one.id == after), 0)
        return tuple(found[begin : begin + min(limit, MAX_PEOPLE)])

    async def invitation(self, hash: str) -> InvitationRecord | None:  # noqa: A002 - the field's name
        """See `PeopleStore`."""
        return self._invitations.get(hash)

    async def redeem(self, hash: str, name: str, password_hash: str, now: datetime) -> PersonRecord | None:  # noqa: A002
        """See `PeopleStore`."""
        invitation = self._invitations.get(hash)
        person = self._people.get(invitation.person) if invitation else None
        if (
            invitation is None
            or person is None
            or person.state not in {"invited", "active"}
            or now >= invitation.expires
        ):
            return None
        self._check_name(name, person.id)
        del self._invitations[hash]
        self._end_all(person.id)
        self._drop_passkeys(person.id)
        self._people[person.id] = replace(person, name=name, state="active", password_hash=password_hash)
        return self._refreshed(person.id)

    async def renew_invitation(self, invitation: InvitationRecord) -> PersonRecord | None:
        """See `PeopleStore`."""
        person = self._people.get(invitation.person)
        if person is None:
            return None
        self._drop_invitations(person.id)
        self._invitations[invitation.hash] = invitation
        if person.state == "disabled":
            self._people[person.id] = replace(person, state="invited")
        return self._people[person.id]

    async def replace_password(self, person: str, former: str, password_hash: str, *, keep: str) -> bool:
        """See `PeopleStore`."""
        known = self._people[person]
        kept = not keep or any(one.id == keep for one in self._sessions.values() if one.person == person)
        if known.state != "active" or known.password_hash != former or not kept:
            return False
        self._people[person] = replace(self._people[person], password_hash=password_hash)
        self._end_sessions(person, keep=keep)
        self._drop_invitations(person)
        return True

    async def has_place(self, *hashes: str) -> bool:
        """See `PeopleStore`."""
        return any(one in self._places for one in hashes)

    async def keep_place(self, hash: str, person: str, now: datetime, *, of_one: int, of_all: int) -> None:  # noqa: A002, ARG002
        """See `PeopleStore`."""
        self._places[hash] = person
        self._places.move_to_end(hash)
        mine = [key for key, whose in self._places.items() if whose == person]
        for key in mine[: max(0, len(mine) - of_one)]:
            del self._places[key]
        while len(self._places) > of_all:
            self._places.popitem(last=False)

    async def set_password_hash(self, person: str, former: str, password_hash: str) -> bool:
        """See `PeopleStore`."""
        known = self._people[person]
        if known.state != "active" or known.password_hash != former:
            return False
        self._people[person] = replace(known, password_hash=password_hash)
        return True

    async def disable(self, person: str) -> PersonRecord | None:
        """See `PeopleStore`."""
        if person not in self._people:
            return None
        with self._keeping_an_admin():
            self._people[person] = replace(self._people[person], state="disabled", password_hash=None)
        self._end_all(person)
        self._drop_invitations(person)
        self._drop_passkeys(person)
        return self._people[person]

    async def add_session(self, session: SessionRecord, grounds: Grounds | None = None) -> bool:
        """See `PeopleStore`."""
        person, grounds = self._people[session.person], grounds or Grounds()
        if person.state != "active" or grounds.password_hash not in {None, person.password_hash}:
            return False
        if grounds.passkey is not None and grounds.passkey not in self._passkeys:
            return False
        if grounds.identity is not None:
            identity = self._identities.get(grounds.identity)
            if identity is None or identity.person != person.id or identity.gone is not None:
                return False
            if grounds.begun is not None:
                keys = signed_out_keys(grounds.identity[0], sid=session.sid, subject=grounds.identity[1])
                kept = [self._used_nonces[one] for one in keys if one in self._used_nonces]
                if any(until >= grounds.begun + SIGNED_OUT_KEPT for until in kept):
                    return False
        self._sessions[session.hash] = session
        return True

    async def whose_session(self, hash: str) -> tuple[SessionRecord, PersonRecord] | None:  # noqa: A002 - the field's name
        """See `PeopleStore`."""
        known = self._sessions.get(hash)
        return (known, self._people[known.person]) if known else None

    async def touch_session(self, hash: str, now: datetime) -> None:  # noqa: A002 - the field's name
        """See `PeopleStore`."""
        if hash in self._sessions:
            self._sessions[hash] = replace(self._sessions[hash], last_used=now)

    async def add_factors(self, hash: str, method: Method, factors: frozenset[str], passkey: str | None) -> bool:  # noqa: A002, ARG002
        """See `PeopleStore`."""
        known = self._sessions.get(hash)
        if known is None:
            return False
        if passkey is not None and ((shown := self._passkeys.get(passkey)) is None or shown.person != known.person):
            return False
        lasting = known.passkey if known.method == "passkey" else passkey or known.passkey
        self._sessions[hash] = replace(known, factors=known.factors | factors, passkey=lasting)
        return True

    async def delete_session(self, hash: str) -> None:  # noqa: A002 - the field's name
        """See `PeopleStore`."""
        self._sessions.pop(hash, None)

    async def sessions_of(self, person: str) -> Sequence[SessionRecord]:
        """See `PeopleStore`."""
        return sorted((one for one in self._sessions.values() if one.person == person), key=_newest_first)[:MAX_TOKENS]

    async def delete_sessions_at(self, issuer: str, *, sid: str | None, subject: str | None, now: datetime) -> int:
        """See `PeopleStore`."""
        self._forget_nonces(now)
        keys = signed_out_keys(issuer, sid=sid, subject=subject)
        self._used_nonces.update(dict.fromkeys(keys, now + SIGNED_OUT_KEPT))
        known = self._identities.get((issuer, subject)) if subject is not None else None
        gone = [
            key
            for key, one in self._sessions.items()
            if one.issuer == issuer
            and ((sid is not None and one.sid == sid) or (known is not None and one.person == known.person))
        ]
        for key in gone:
            del self._sessions[key]
        return len(gone)

    async def add_token(self, token: TokenRecord) -> bool:
        """See `PeopleStore`."""
        if self._people[token.person].state != "active":
            return False
        if sum(one.person == token.person for one in self._tokens.values()) >= MAX_TOKENS_A_PERSON:
            raise TooMany
        self._tokens[token.id] = token
        return True

    async def token(self, token: str) -> TokenRecord | None:
        """See `PeopleStore`."""
        return self._tokens.get(token)

    async def whose_token(self, token: str) -> tuple[TokenRecord, PersonRecord] | None:
        """See `PeopleStore`."""
        known = self._tokens.get(token)
        return (known, self._people[known.person]) if known else None

    async def tokens_of(self, person: str) -> Sequence[TokenRecord]:
        """See `PeopleStore`."""
        return tuple(token for token in self._tokens.values() if token.person == person)[:MAX_TOKENS]

    async def tokens_of_all(
        self, *, after: tuple[datetime, str] | None = None, limit: int = MAX_PEOPLE
    ) -> Sequence[TokenRecord]:
        """See `PeopleStore`."""
        found = sorted(self._tokens.values(), key=lambda token: (token.created, token.id))
        return [one for one in found if after is None or (one.created, one.id) > after][: min(limit, MAX_PEOPLE)]

    async def touch_token(self, token: str, now: datetime) -> None:
        """See `PeopleStore`."""
        if token in self._tokens:
            self._tokens[token] = replace(self._tokens[token], last_used=now)

    async def delete_token(self, token: str) -> None:
        """See `PeopleStore`."""
        self._tokens.pop(token, None)

    async def identity(self, issuer: str, subject: str) -> IdentityRecord | None:
        """See `IdentityStore`."""
        return self._identities.get((issuer, subject))

    async def identities(self, *, after: tuple[str, str] | None = None) -> Sequence[IdentityRecord]:
        """See `IdentityStore`."""
        keys = sorted(key for key in self._identities if after is None or key > after)
        return tuple(self._identities[key] for key in keys[:MAX_PEOPLE])

    async def identities_of(self, *people: str) -> Sequence[IdentityRecord]:
        """See `IdentityStore`."""
        mine = (one for one in self._identities.values() if one.person in people)
        return sorted(mine, key=lambda one: (one.issuer, one.subject))

    async def arrive(self, arrival: Arrival, newcomer: str, now: datetime) -> PersonRecord:
        """See `IdentityStore`."""
        key = (arrival.issuer, arrival.subject)
        known = self._identities.get(key)
        seen = IdentityRecord(
            issuer=arrival.issuer,
            subject=arrival.subject,
            person=known.person if known else newcomer,
            name=arrival.name,
            groups=arrival.groups,
            created=known.created if known else now,
            seen=now,
            grant=arrival.grant,
        )
        if known is not None:
            self._identities[key] = seen
            self._rename(known.person, arrival.name)
            return self._refreshed(known.person)
        fresh = PersonRecord(
            id=newcomer, name=arrival.name, roles=frozenset(), state="active", created=now, local=False
        )
        person = with_rights(fresh, (seen,), self._bindings)
        if person.roles:
            self._people[newcomer], self._identities[key] = person, seen
        return person

    async def renew(
        self, issuer: str, subject: str, groups: frozenset[str] | None, now: datetime, *, grant: str | None = None
    ) -> bool:
        """See `IdentityStore`."""
        known = self._identities.get((issuer, subject))
        if known is None or grant not in {None, known.grant}:
            return False
        told = replace(known, gone=known.gone or now) if groups is None else replace(known, groups=groups, gone=None)
        self._identities[issuer, subject] = told
        if not self._refreshed(known.person).roles:
            self._end_all(known.person)
        return True

    async def rename(self, issuer: str, subject: str, name: str) -> None:
        """See `IdentityStore`."""
        known = self._identities.get((issuer, subject))
        if known is not None:
            self._identities[issuer, subject] = replace(known, name=name)
            self._rename(known.person, name)

    async def keep_grant(self, issuer: str, subject: str, former: str | None, grant: str) -> None:
        """See `IdentityStore`."""
        known = self._identities.get((issuer, subject))
        if known is not None and known.grant == former:
            self._identities[issuer, subject] = replace(known, grant=grant)

    async def lapse(self, issuer: str, subject: str, grant: str, now: datetime) -> bool:
        """See `IdentityStore`."""
        known = self._identities.get((issuer, subject))
        if known is None or known.grant != grant:
            return False
        self._identities[issuer, subject] = replace(known, grant=None)
        await self.renew(issuer, subject, None, now)
        return True

    async def grant(
        self, person: str, roles: frozenset[Role] | None, groups: frozenset[str] | None
    ) -> PersonRecord | None:
        """See `IdentityStore`."""
        known = self._people.get(person)
        if known is None:
            return None
        with self._keeping_an_admin():
            self._people[person] = replace(
                known,
                granted_roles=known.granted_roles if roles is None else roles,
                granted_groups=known.granted_groups if groups is None else groups,
            )
            return self._refreshed(person)

    async def enable(self, person: str) -> PersonRecord | None:
        """See `IdentityStore`."""
        known = self._people.get(person)
        if known is None or known.state != "disabled":
            return known
        self._end_all(person)
        self._people[person] = replace(known, state="active")
        return self._refreshed(person)

    async def link(self, person: str, issuer: str, subject: str, now: datetime) -> PersonRecord | None:
        """See `IdentityStore`."""
        if person not in self._people:
            return None
        known = self._identities.get((issuer, subject)) or IdentityRecord(
            issuer=issuer, subject=subject, person=person, name="", groups=frozenset(), created=now
        )
        if known.person != person and self._people[known.person].state == "disabled":
            raise StaysOut
        self._taken(issuer, subject)
        self._identities[issuer, subject] = replace(known, person=person)
        return self._refreshed(person)

    async def unlink(self, issuer: str, subject: str) -> PersonRecord | None:
        """See `IdentityStore`."""
        known = self._identities.get((issuer, subject))
        if known is not None and self._people[known.person].state == "disabled":
            raise StaysOut
        return self._taken(issuer, subject)

    def _taken(self, issuer: str, subject: str) -> PersonRecord | None:
        with self._keeping_an_admin():
            known = self._identities.pop((issuer, subject), None)
            if known is None:
                return None
            left = self._refreshed(known.person)
        self._end_sessions(known.person)
        return left

    async def bindings(self) -> Sequence[GroupBinding]:
        """See `IdentityStore`."""
        return tuple(self._bindings.values())

    async def proposal(self) -> GroupProposal | None:
        """See `IdentityStore`."""
        return next(iter(self._proposals.values()), None)

    async def propose(self, proposal: GroupProposal | None) -> None:
        """See `IdentityStore`."""
        self._proposals.clear()
        if proposal is not None:
            author = self._people.get(proposal.author)
            self._proposals[proposal.id] = replace(proposal, author_name=author.name if author else "")

    async def publish(self, proposal: str) -> bool:
        """See `IdentityStore`."""
        if proposal not in self._proposals:
            return False
        with self._keeping_an_admin():
            self._bindings = dict(sorted(by_group(self._proposals[proposal].bindings).items()))
            for person in tuple(self._people):
                self._refreshed(person)
        self._proposals.clear()
        return True

    @contextmanager
    def _keeping_an_admin(self) -> Iterator[None]:
        """Undo a change of people, identities and bindings that leaves nobody who administrates."""
        before = (self._people.copy(), self._identities.copy(), self._bindings.copy())
        had = self._has_admin()
        yield
        if had and not self._has_admin():
            self._people, self._identities, self._bindings = before
            raise LastAdmin

    def _has_admin(self) -> bool:
        return any(one.state == "active" and Role.ADMIN in one.roles for one in self._people.values())

    async def passkey(self, passkey: str) -> PasskeyRecord | None:
        """See `PasskeyStore`."""
        return self._passkeys.get(passkey)

    async def passkeys_of(self, person: str) -> Sequence[PasskeyRecord]:
        """See `PasskeyStore`."""
        return [one for one in self._passkeys.values() if one.person == person]

    async def add_passkey(self, passkey: PasskeyRecord, nonce: str, until: datetime) -> bool:
        """See `PasskeyStore`."""
        active = self._people[passkey.person].state == "active"
        if not active or passkey.id in self._passkeys or nonce in self._used_nonces:
            return False
        if sum(one.person == passkey.person for one in self._passkeys.values()) >= MAX_PASSKEYS:
            raise TooMany
        self._used_nonces[nonce] = until
        self._passkeys[passkey.id] = passkey
        return True

    async def use_passkey(self, passkey: str, count: int, nonce: str, now: datetime, until: datetime) -> PasskeyUse:
        """See `PasskeyStore`."""
        self._forget_nonces(now)
        before = self._passkeys.get(passkey)
        if before is None or nonce in self._used_nonces:
            return "replayed"
        if count <= before.sign_count and (count, before.sign_count) != (0, 0):
            return "counter"
        self._used_nonces[nonce] = until
        self._passkeys[passkey] = replace(before, sign_count=count, last_used=now)
        return "good"

    async def use_nonce(self, nonce: str, now: datetime, until: datetime) -> bool:
        """See `PasskeyStore`."""
        self._forget_nonces(now)
        fresh = nonce not in self._used_nonces
        self._used_nonces.setdefault(nonce, until)
        return fresh

    def _forget_nonces(self, now: datetime) -> None:
        self._used_nonces = {key: kept for key, kept in self._used_nonces.items() if kept > now}

    async def remove_passkey(self, person: str, passkey: str) -> bool:
        """See `PasskeyStore`."""
        known = self._passkeys.get(passkey)
        if known is None or known.person != person:
            return False
        del self._passkeys[passkey]
        for session in [one for one in self._sessions.values() if one.passkey == passkey]:
            if session.method == "passkey":
                del self._sessions[session.hash]
            else:
                factors = session.factors - BY_PASSKEY_FACTORS
                self._sessions[session.hash] = replace(session, factors=factors, passkey=None)
        return True

    def _drop_passkeys(self, person: str) -> None:
        self._passkeys = {key: one for key, one in self._passkeys.items() if one.person != person}

    def _end_sessions(self, person: str, *, keep: str = "") -> None:
        self._sessions = {key: one for key, one in self._sessions.items() if one.person != person or one.id == keep}

    def _drop_invitations(self, person: str) -> None:
        self._invitations = {key: one for key, one in self._invitations.items() if one.person != person}

    def _rename(self, person: str, name: str) -> None:
        if not self._people[person].local:
            self._people[person] = replace(self._people[person], name=name)

    def _refreshed(self, person: str) -> PersonRecord:
        identities = (one for one in self._identities.values() if one.person == person)
        self._people[person] = with_rights(self._people[person], identities, self._bindings)
        if self._people[person].state == "suspended":
            self._end_all(person)
        elif Role.ADMIN not in self._people[person].roles:
            self._end_handed_out(person)
        return self._people[person]

    def _end_all(self, person: str) -> None:
        self._end_sessions(person)
        self._tokens = {key: value for key, value in self._tokens.items() if value.person != person}
        self._end_handed_out(person)

    def _end_handed_out(self, person: str) -> None:
        self._invitations = {key: one for key, one in self._invitations.items() if one.made_by != person}
        if (proposed := next(iter(self._proposals.values()), None)) and proposed.author == person:
            self._proposals.clear()

    def _check_name(self, name: str, owner: str) -> None:
        others = (one for one in self._people.values() if one.id != owner and one.local)
        if any(fold(other.name) == fold(name) for other in others):
            raise NameTaken(name)


def _newest_first(session: SessionRecord) -> tuple[float, str]:
    return -session.created.timestamp(), session.hash
