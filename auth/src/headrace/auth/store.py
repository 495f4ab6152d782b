"""What is kept about people, and the ports to wherever it is kept."""

import hashlib
import json
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal, Protocol

from headrace.auth.errors import AuthCode, AuthError
from headrace.auth.principal import Kind, Method, Role, Scope

MAX_TOKENS_A_PERSON: Final = 100
MAX_PASSKEYS: Final = 20
"""Of one person."""

PersonState = Literal["invited", "active", "suspended", "disabled"]
"""Suspended: an issuer says that one of a person's identities is no longer. Disabled: an administrator says so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonRecord:
    """A person or service account. `password_hash` is argon2id; who is invited or signs in elsewhere has none.

    `PasswordSignIn` seals it for its person.

    `roles` and `groups` are what counts: those that an administrator granted, and those that the groups of the person's
    identities give.
    """

    id: str
    name: str
    roles: frozenset[Role]
    state: PersonState
    created: datetime
    groups: frozenset[str] = frozenset()
    granted_roles: frozenset[Role] = frozenset()
    granted_groups: frozenset[str] = frozenset()
    kind: Kind = "person"
    local: bool = True
    """Whether the name is this person's alone, to sign in with; a name from elsewhere may be anybody's."""
    password_hash: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class InvitationRecord:
    """A one-time link for one invited person, stored by its hash."""

    hash: str = field(repr=False)
    person: str
    created: datetime
    expires: datetime
    made_by: str | None = None
    """Nobody: the link of a new site."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRecord:
    """An interactive session, stored by its hash; `expires` is the absolute limit.

    `authenticated` is when the person last showed who they are, `factors` with what. `issuer` and `sid` name the
    provider and its session, where the sign-in was at one.
    """

    hash: str = field(repr=False)
    person: str
    created: datetime
    expires: datetime
    last_used: datetime
    authenticated: datetime
    method: Method = "password"
    factors: frozenset[str] = frozenset()
    issuer: str | None = None
    sid: str | None = None
    passkey: str | None = None
    """With which it was begun, and ends; of one begun otherwise, with which it was strengthened last."""

    @property
    def id(self) -> str:
        """What people call it: enough of the hash to be one of a kind, and of no use to sign in with."""
        return f"se_{self.hash[:16]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Grounds:
    """What a sign-in stands on: the hash of a password, a passkey, or an identity (issuer, subject).

    A sign-in at an issuer that may say meanwhile that somebody has signed out there says when it `begun`.
    """

    password_hash: str | None = field(default=None, repr=False)
    passkey: str | None = None
    identity: tuple[str, str] | None = None
    begun: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRecord:
    """An API token: it acts as `person`, who made it unless `made_by` did; `agent` is the assistant it was made for."""

    id: str
    hash: str = field(repr=False)
    person: str
    name: str
    scopes: frozenset[Scope]
    created: datetime
    expires: datetime
    agent: str | None = None
    last_used: datetime | None = None
    made_by: str | None = None
    """Somebody else: the administrator who made it for a service account."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PasskeyRecord:
    """A key on a device of a person, who gave it its name; `id` is the device's, in base64url, as all browsers say it.

    `public_key` is a COSE key. `sign_count` is how often the device says that it has signed; many say 0 for good.
    """

    id: str
    person: str
    name: str
    public_key: bytes = field(repr=False)
    sign_count: int
    created: datetime
    seal: str = field(repr=False)
    """Made with the service's own key over person, id and public key: whoever only writes to the store adds none."""
    last_used: datetime | None = None


PasskeyUse = Literal["good", "replayed", "counter"]
"""What became of a proof: good, its nonce was used before, or its counter is not above the last one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityRecord:
    """Who a person is elsewhere: `subject` at `issuer`, with the name and groups that were said there last."""

    issuer: str
    subject: str
    person: str
    name: str
    groups: frozenset[str]
    created: datetime
    seen: datetime | None = None
    gone: datetime | None = None
    """Since when the issuer lets nobody in with it."""
    grant: str | None = field(default=None, repr=False)
    """With what the issuer is asked whether it still lets them in; encrypted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupBinding:
    """What a group of an issuer gives here: roles, and groups that policies speak of."""

    issuer: str
    group: str
    roles: frozenset[Role] = frozenset()
    groups: frozenset[str] = frozenset()


def digest_of(bindings: Iterable[GroupBinding]) -> str:
    """Return the SHA-256 of what groups give, in hexadecimal, in whatever order it is said."""
    given = sorted([one.issuer, one.group, sorted(one.roles), sorted(one.groups)] for one in bindings)
    return hashlib.sha256(json.dumps(given).encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupProposal:
    """What groups shall give: proposed by `author`, for another administrator to publish."""

    id: str
    author: str
    author_name: str = ""
    """As the store knows it; empty in what is given to it."""
    created: datetime
    bindings: tuple[GroupBinding, ...]

    @property
    def digest(self) -> str:
        """The digest of what it lets groups give: whoever publishes it agrees to exactly this."""
        return digest_of(self.bindings)


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """Somebody whom an issuer has just vouched for."""

    issuer: str
    subject: str
    name: str
    groups: frozenset[str]
    grant: str | None = field(default=None, repr=False)


class NameTaken(Exception):  # noqa: N818 - says what is the case
    """Another person has this name (compared with `passwords.fold`)."""


class TooMany(Exception):  # noqa: N818 - says what is the case
    """Its person has as many of these as one may have; nothing has changed."""


class LastAdmin(Exception):  # noqa: N818 - says what is the case
    """The change would take the last active administrator away; nothing has changed."""


class StaysOut(Exception):  # noqa: N818 - says what is the case
    """The change would let somebody disabled come back as somebody else; nothing has changed."""


class IdentityStore(Protocol):
    """Where identities are kept, and what their groups give. Each method is one transaction.

    What takes the last active administrator away raises `LastAdmin`, unless it is what an issuer says (`arrive`,
    `renew`). Links that somebody made for others, and what they have proposed, end when they administrate no more.

    `tests/conformance/identity_store_conformance.py` holds every implementation to this.
    """

    async def identity(self, issuer: str, subject: str) -> IdentityRecord | None:
        """Find an identity."""
        ...

    async def identities(self, *, after: tuple[str, str] | None = None) -> Sequence[IdentityRecord]:
        """List identities by issuer and subject, at most 10,000: from the beginning, or those after one of them."""
        ...

    async def identities_of(self, *people: str) -> Sequence[IdentityRecord]:
        """List the identities of these people, by issuer and subject."""
        ...

    async def arrive(self, arrival: Arrival, newcomer: str, now: datetime) -> PersonRecord:
        """Note who has arrived, with the groups of now, and return the person whose identity it is.

        Whoever is not known becomes a person with the id `newcomer`, unless no role would be theirs: then the answer
        has no roles, and nothing is stored.
        """
        ...

    async def renew(
        self, issuer: str, subject: str, groups: frozenset[str] | None, now: datetime, *, grant: str | None = None
    ) -> bool:
        """Note what an issuer says of an identity: its groups of now, or that it is no longer (`None`).

        A person with an identity that is no longer is suspended, until none is: sessions, tokens and approvals that are
        not used yet are deleted. Who is left without a role loses them, too. Nothing happens, and the answer is false,
        if there is no identity, or if what is kept of its last sign-in is not `grant`, where that is given.
        """
        ...

    async def rename(self, issuer: str, subject: str, name: str) -> None:
        """Note the name that an identity has at its issuer; it is its person's, unless that has a name here."""
        ...

    async def keep_grant(self, issuer: str, subject: str, former: str | None, grant: str) -> None:
        """Replace the grant of an identity, unless it is no longer `former`."""
        ...

    async def lapse(self, issuer: str, subject: str, grant: str, now: datetime) -> bool:
        """Note that an issuer lets nobody in with this grant any more, as `renew` with `None`, and forget the grant.

        Nothing happens, and the answer is false, if the identity has another grant by now, or none.
        """
        ...

    async def grant(
        self, person: str, roles: frozenset[Role] | None, groups: frozenset[str] | None
    ) -> PersonRecord | None:
        """Replace what was granted to a person (`None`: what is granted at that moment stays); `None` for nobody."""
        ...

    async def enable(self, person: str) -> PersonRecord | None:
        """Let a disabled person act again, or suspend them if an identity of theirs is no longer.

        Nothing that ended comes back. Who is not disabled stays as they are; `None` for nobody.
        """
        ...

    async def link(self, person: str, issuer: str, subject: str, now: datetime) -> PersonRecord | None:
        """Make an identity this person's, whosever it was (whose sessions end); `None` if there is no such person.

        Raises `StaysOut` if it is somebody's who is disabled.
        """
        ...

    async def unlink(self, issuer: str, subject: str) -> PersonRecord | None:
        """Forget an identity, and end its person's sessions; return that person, or `None` if there is none.

        Raises `StaysOut` if that person is disabled.
        """
        ...

    async def bindings(self) -> Sequence[GroupBinding]:
        """List what groups give, by issuer and group."""
        ...

    async def proposal(self) -> GroupProposal | None:
        """Return what is proposed: one thing at a time, or nothing."""
        ...

    async def propose(self, proposal: GroupProposal | None) -> None:
        """Replace what is proposed; `None` withdraws it."""
        ...

    async def publish(self, proposal: str) -> bool:
        """Replace what groups give, for everybody at once, by what is proposed under this id; false if nothing is."""
        ...


class PasskeyStore(Protocol):
    """Where passkeys are kept, and which challenges were used. Each method is one transaction.

    `tests/conformance/passkey_store_conformance.py` holds every implementation to this.
    """

    async def passkey(self, passkey: str) -> PasskeyRecord | None:
        """Find a passkey."""
        ...

    async def passkeys_of(self, person: str) -> Sequence[PasskeyRecord]:
        """List a person's passkeys, oldest first, at most 100."""
        ...

    async def add_passkey(self, passkey: PasskeyRecord, nonce: str, until: datetime) -> bool:
        """Keep a passkey of an active person, and its nonce as used; nothing changes and `False` if either is known.

        Raises `TooMany` when they have `MAX_PASSKEYS`.
        """
        ...

    async def use_passkey(self, passkey: str, count: int, nonce: str, now: datetime, until: datetime) -> PasskeyUse:
        """Note that a passkey signed, with its counter of then; only a `good` use changes it.

        A nonce is used once, until it is forgotten after `until`. Counters rise, or are 0 before and after.
        """
        ...

    async def use_nonce(self, nonce: str, now: datetime, until: datetime) -> bool:
        """Note that a proof without a passkey was used; false if it was before. It is forgotten after `until`."""
        ...

    async def remove_passkey(self, person: str, passkey: str) -> bool:
        """Forget a person's passkey; answers whether there was one. Sessions begun with it end.

        Those that were strengthened with it go on without what it showed.
        """
        ...


class PeopleStore(Protocol):
    """Where people, invitations, sessions and tokens are kept.

    Each method is one transaction. `tests/conformance/people_store_conformance.py` holds every implementation to this.
    """

    async def add_person(self, person: PersonRecord, invitation: InvitationRecord | None = None) -> None:
        """Add a local person, who has what is granted, with an invitation if there is one; raises `NameTaken`."""
        ...

    async def forget_nameless(self, person: str) -> bool:
        """Delete an invited or disabled local person who never chose a name, with their invitations.

        False, and nothing changes, when there is none such, or when something else is theirs.
        """
        ...

    async def person(self, person: str) -> PersonRecord | None:
        """Find a person by id."""
        ...

    async def person_named(self, name: str) -> PersonRecord | None:
        """Find a person by name, compared with `passwords.fold`."""
        ...

    async def people(self, *, after: str | None = None, limit: int = 10_000) -> Sequence[PersonRecord]:
        """List people, oldest first, at most `limit`: from the beginning, or those after one of them (by id)."""
        ...

    async def invitation(self, hash: str) -> InvitationRecord | None:  # noqa: A002 - the field's name
        """Find an invitation that was not redeemed."""
        ...

    async def renew_invitation(self, invitation: InvitationRecord) -> PersonRecord | None:
        """Replace a person's invitations by this one; who was disabled is invited. `None` if there is nobody."""
        ...

    async def redeem(self, hash: str, name: str, password_hash: str, now: datetime) -> PersonRecord | None:  # noqa: A002
        """Use up an invitation and make its person active, at once: once, before it expires, never while disabled.

        All from before ends, passkeys too: another password was behind it. Whoever an issuer has let go is suspended.

        Answers the person, or `None` when any of that does not hold (nothing changes then); raises `NameTaken`.
        """
        ...

    async def has_place(self, *hashes: str) -> bool:
        """Whether somebody has signed in from a place with one of these hashes."""
        ...

    async def keep_place(self, hash: str, person: str, now: datetime, *, of_one: int, of_all: int) -> None:  # noqa: A002
        """Note from where a person has signed in.

        Of more than `of_one` places of this person, and of more than `of_all`, the longest unused are forgotten.
        """
        ...

    async def set_password_hash(self, person: str, former: str, password_hash: str) -> bool:
        """Replace an active person's password hash, unless it is no longer `former`; answers whether it was."""
        ...

    async def replace_password(self, person: str, former: str, password_hash: str, *, keep: str) -> bool:
        """Give an active person another password; all their sessions but `keep` (an id) end, and invitations die.

        Nothing changes, and `False`, when their password hash is no longer `former` or the named session is gone.
        """
        ...

    async def disable(self, person: str) -> PersonRecord | None:
        """Disable a person, and delete sessions, tokens, invitations and passkeys, at once; `None` if there is none.

        Invitations that they made for others end, too, and what they have proposed that groups give.

        Raises `LastAdmin` when nobody active would administrate any more.
        """
        ...

    async def add_session(self, session: SessionRecord, grounds: Grounds | None = None) -> bool:
        """Keep a session of somebody active; false, and nothing is kept, if its person is not (any more).

        So it is, too, when what they have just signed in with is no longer theirs, or when its issuer has said since it
        began that the session or the subject there has signed out (`delete_sessions_at`).
        """
        ...

    async def whose_session(self, hash: str) -> tuple[SessionRecord, PersonRecord] | None:  # noqa: A002 - the field's name
        """Find a session and its person, in one look: every call of somebody who is signed in begins with it."""
        ...

    async def touch_session(self, hash: str, now: datetime) -> None:  # noqa: A002 - the field's name
        """Note that a session was used."""
        ...

    async def add_factors(self, hash: str, method: Method, factors: frozenset[str], passkey: str | None) -> bool:  # noqa: A002
        """Note by which `method` (and passkey) somebody has shown more in a session; a passkey that began it stays it.

        False, and nothing is noted, if the session is gone, or the passkey is not its person's (any more).
        """
        ...

    async def delete_session(self, hash: str) -> None:  # noqa: A002 - the field's name
        """Forget a session; nothing happens if there is none."""
        ...

    async def sessions_of(self, person: str) -> Sequence[SessionRecord]:
        """List a person's sessions, the newest first, at most 1,000."""
        ...

    async def delete_sessions_at(self, issuer: str, *, sid: str | None, subject: str | None, now: datetime) -> int:
        """Forget the sessions that `sid` or the identity `subject` of an issuer began; return how many.

        What they begin after `now` with a sign-in of before is refused, as long as a sign-in may be under way.
        """
        ...

    async def add_token(self, token: TokenRecord) -> bool:
        """Keep a token of somebody active; false, and nothing is kept, if its person is not (any more).

        Raises `TooMany` when they have `MAX_TOKENS_A_PERSON`.
        """
        ...

    async def token(self, token: str) -> TokenRecord | None:
        """Find a token by id."""
        ...

    async def whose_token(self, token: str) -> tuple[TokenRecord, PersonRecord] | None:
        """Find a token by id and its person, in one look."""
        ...

    async def tokens_of(self, person: str) -> Sequence[TokenRecord]:
        """List a person's tokens, oldest first, at most 1,000."""
        ...

    async def tokens_of_all(
        self, *, after: tuple[datetime, str] | None = None, limit: int = 10_000
    ) -> Sequence[TokenRecord]:
        """List everybody's tokens, oldest first, at most `limit`: those after a time and id, if these are given.

        What goes on after a token that is revoked meanwhile goes on where it was.
        """
        ...

    async def touch_token(self, token: str, now: datetime) -> None:
        """Note that a token was used."""
        ...

    async def delete_token(self, token: str) -> None:
        """Forget a token; nothing happens if there is none."""
        ...


def is_nameless(person: PersonRecord) -> bool:
    """Whether this is somebody for whom a first start made a link, and who never joined with it."""
    return person.local and person.name == person.id and person.state in {"invited", "disabled"}


async def everybody(store: PeopleStore) -> AsyncIterator[PersonRecord]:
    """Go through all people, however many there are."""
    page = await store.people()
    while page:
        for one in page:
            yield one
        page = await store.people(after=page[-1].id)


async def every_identity(store: IdentityStore) -> AsyncIterator[IdentityRecord]:
    """Go through all identities, however many there are."""
    page = await store.identities()
    while page:
        for one in page:
            yield one
        page = await store.identities(after=(page[-1].issuer, page[-1].subject))


async def active_person(store: PeopleStore, person: str) -> PersonRecord:
    """Return a person who may act now; raises `not_signed_in`."""
    record = await store.person(person)
    if record is None:
        raise AuthError(AuthCode.NOT_SIGNED_IN, f"person {person} is not there")
    require_active(record)
    return record


def require_active(person: PersonRecord) -> None:
    """Refuse who may not act now; raises `not_signed_in`."""
    if person.state != "active":
        raise AuthError(AuthCode.NOT_SIGNED_IN, f"person {person.id} is not active")
