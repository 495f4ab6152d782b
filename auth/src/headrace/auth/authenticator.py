"""Signing in and out, sessions, invitations and API tokens of local people, on top of a `PeopleStore`."""

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Final, ParamSpec, TypeVar

from headrace.auth.errors import AuthCode, AuthError, TooManyAttempts
from headrace.auth.passwords import check_name, check_password, fold, hash_password, needs_rehash, password_fits
from headrace.auth.principal import BOOTSTRAP_ROLES, TOKEN_SCOPES, Principal, Role, Scope, scopes_of
from headrace.auth.secret_forms import (
    Pepper,
    is_invitation,
    is_session,
    make_invitation,
    make_session,
    make_token,
    token_id,
)
from headrace.auth.store import (
    InvitationRecord,
    NameTaken,
    PeopleStore,
    PersonRecord,
    SessionRecord,
    TokenRecord,
)
from headrace.auth.throttle import Limit, Throttle, network_of
from headrace.auth.uses import Uses

MAX_TOKENS_A_PERSON: Final = 100
MAX_HASHES_AT_ONCE: Final = 4
TOUCH_EVERY: Final = timedelta(minutes=1)
"""Uses of a session or token are noted at most this often, so that reading does not write."""
PAIR_LIMIT: Final = Limit(10, timedelta(minutes=15))
"""A name from one network; an invitation's token from one network."""
KNOWN_LIMIT: Final = Limit(100, timedelta(minutes=15))
"""A name from a network where its person signed in before: others may share the address, as behind a proxy."""
NETWORK_LIMIT: Final = Limit(200, timedelta(minutes=15))
PERSON_LIMIT: Final = Limit(100, timedelta(minutes=15))
MAX_FAMILIAR: Final = 10_000
"""People and the networks from which they signed in rightly since the start; the longest unused are forgotten first."""
T = TypeVar("T")
P = ParamSpec("P")


@dataclass(frozen=True, slots=True, kw_only=True)
class Lifetimes:
    """How long things are good: a session without use, a session at most, the bootstrap link."""

    idle: timedelta = timedelta(hours=8)
    session: timedelta = timedelta(days=7)
    bootstrap: timedelta = timedelta(days=7)


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedIn:
    """A fresh session; `secret` is handed out once."""

    secret: str = field(repr=False)
    expires: datetime
    principal: Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenWish:
    """An API token to be made: good for `valid`, for the assistant `agent` if it is one's."""

    name: str
    scopes: frozenset[Scope]
    valid: timedelta
    agent: str | None = None


class Authenticator:
    """Answers who is calling. Every answer is made from the store's present state: a change holds at the next call."""

    def __init__(
        self,
        store: PeopleStore,
        clock: Callable[[], datetime],
        pepper: Pepper,
        lifetimes: Lifetimes | None = None,
        *,
        steady: Callable[[], datetime] | None = None,
    ) -> None:
        """`clock` answers aware UTC times; `steady` measures for how long tries count, however the clock is set."""
        self._steady = steady or clock
        self._store = store
        self._clock = clock
        self._pepper = pepper
        self._lifetimes = lifetimes or Lifetimes()
        self._throttle = Throttle()
        self._familiar: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._uses = Uses()
        self._hashing = ThreadPoolExecutor(MAX_HASHES_AT_ONCE, thread_name_prefix="passwords")

    async def settle(self) -> None:
        """Wait until the uses that were noted so far are written."""
        await self._uses.settle()

    async def close(self) -> None:
        """Write what is to be noted, and end."""
        await self._uses.settle()
        self._hashing.shutdown(wait=False, cancel_futures=True)

    async def sign_in(self, name: str, password: str, address: str) -> SignedIn:
        """Sign a local person in from a network address; raises `sign_in_refused`, `too_many_attempts`.

        What others try, at this name from elsewhere or at other names from this network, does not shut a person out of
        a network from which they signed in before.
        """
        network = network_of(address)
        person = await self._store.person_named(name)
        pair, whole = f"pair:{network}:{fold(name)}", f"network:{network}"
        known = person is not None and (network, person.id) in self._familiar
        limits = {pair: KNOWN_LIMIT if known else PAIR_LIMIT}
        if not known:
            limits[whole] = NETWORK_LIMIT
            if person is not None:
                # Only people who exist: names that strangers make up can't push them out.
                limits[f"person:{person.id}"] = PERSON_LIMIT
        self._count(limits)
        stored = person.password_hash if person and person.state == "active" else None
        fits = await self._in_thread(password_fits, password, stored)
        if person is None:
            raise AuthError(AuthCode.SIGN_IN_REFUSED, "unknown name")
        if stored is None:
            raise AuthError(AuthCode.SIGN_IN_REFUSED, f"person {person.id} is {person.state}", person=person.id)
        if not fits:
            raise AuthError(AuthCode.SIGN_IN_REFUSED, f"wrong password for person {person.id}", person=person.id)
        if needs_rehash(stored):
            await self._store.set_password_hash(person.id, await self._hash(password))
        self._throttle.forget(pair)
        # Many people may share an address, and all of them may sign in; a guesser's other attempts still count.
        for key in limits.keys() - {pair}:
            self._throttle.take_back(key)
        self._remember(network, person.id)
        return await self._begin(person)

    async def session(self, secret: str) -> Principal:
        """Answer whose session this is; raises `not_signed_in`."""
        if not is_session(secret):
            raise AuthError(AuthCode.NOT_SIGNED_IN, "malformed session secret")
        hashed, now = self._pepper.hash(secret), self._clock()
        session = await self._store.session(hashed)
        if session is None:
            raise AuthError(AuthCode.NOT_SIGNED_IN, "unknown session")
        if now >= session.expires or now >= session.last_used + self._lifetimes.idle:
            self._uses.note(f"end of {hashed}", lambda: self._store.delete_session(hashed))
            raise AuthError(AuthCode.NOT_SIGNED_IN, f"session of person {session.person} is too old")
        person = await self._active(session.person)
        if now >= session.last_used + TOUCH_EVERY:
            self._uses.note(hashed, lambda: self._store.touch_session(hashed, now))
        return _principal(person, session.created)

    async def sign_out(self, secret: str) -> None:
        """End a session; nothing happens if there is none, and what can't be a session is not looked for."""
        if not is_session(secret):
            return
        await self._store.delete_session(self._pepper.hash(secret))

    async def token(self, secret: str) -> Principal:
        """Answer whose API token this is and for which agent; raises `not_signed_in`. Never a session."""
        found, now = token_id(secret), self._clock()
        record = await self._store.token(found) if found else None
        if record is None:
            raise AuthError(AuthCode.NOT_SIGNED_IN, "malformed token" if found is None else f"unknown token {found}")
        if not self._pepper.fits(secret, record.hash):
            raise AuthError(AuthCode.NOT_SIGNED_IN, f"wrong secret for token {record.id}")
        if now >= record.expires:
            raise AuthError(AuthCode.NOT_SIGNED_IN, f"token {record.id} has expired")
        person = await self._active(record.person)
        if record.last_used is None or now >= record.last_used + TOUCH_EVERY:
            self._uses.note(record.id, lambda: self._store.touch_token(record.id, now))
        return Principal(
            id=person.id,
            name=person.name,
            kind=person.kind,
            roles=person.roles,
            scopes=record.scopes & scopes_of(person.roles) & TOKEN_SCOPES,
            groups=person.groups,
            method="token",
            session=False,
            authenticated_at=now,
            agent=record.agent,
            token=record.id,
        )

    async def bootstrap(self) -> str | None:
        """Make the one-time secret for the first admin, or `None` when there is an active one. Older links die."""
        people = await self._store.people()
        if any(person.state == "active" and Role.ADMIN in person.roles for person in people):
            return None
        for person in people:
            if person.state == "invited" and person.name == person.id:
                await self._store.disable(person.id)
        person_id = _new_id("pn")
        _, secret = await self._invite(person_id, person_id, BOOTSTRAP_ROLES, self._lifetimes.bootstrap)
        return secret

    async def invite(
        self, by: Principal, name: str, roles: frozenset[Role], valid: timedelta
    ) -> tuple[PersonRecord, str]:
        """Invite a person: the record and the one-time secret of the link. Raises `not_allowed`, `name_refused`."""
        _need(by, Scope.ADMIN)
        if not roles:
            raise AuthError(AuthCode.NOT_ALLOWED, "A person needs at least one role.")
        return await self._invite(_new_id("pn"), check_name(name), roles, valid)

    async def accept_invitation(self, token: str, password: str, name: str | None, address: str) -> SignedIn:
        """Accept an invitation with a password of one's own, and sign in.

        `name` is needed for the bootstrap link, whose person has none yet, and ignored otherwise. Raises
        `invitation_refused`, `name_refused`, `PasswordRefused`, `too_many_attempts`.
        """
        now, network, hashed = self._clock(), network_of(address), self._pepper.hash(token)
        invitation = await self._store.invitation(hashed) if is_invitation(token) else None
        # What strangers make up counts for their network; who holds a link is not held up by it.
        tried = f"invitation:{network}:{hashed}" if invitation else f"network:{network}"
        self._count({tried: PAIR_LIMIT if invitation else NETWORK_LIMIT})
        person = await self._store.person(invitation.person) if invitation else None
        if invitation is None or person is None or now >= invitation.expires:
            raise AuthError(AuthCode.INVITATION_REFUSED, "unknown, used or expired invitation")
        nameless = person.name == person.id
        if nameless and name is None:
            raise AuthError(AuthCode.NAME_REFUSED, "Choose the name that you will sign in with.")
        chosen = check_name(name) if nameless and name is not None else person.name
        check_password(password, chosen)
        try:
            active = await self._store.redeem(hashed, chosen, await self._hash(password), now)
        except NameTaken as error:
            raise AuthError(AuthCode.NAME_REFUSED, "Somebody has this name already; choose another.") from error
        if active is None:
            raise AuthError(AuthCode.INVITATION_REFUSED, f"the invitation of person {person.id} was used meanwhile")
        self._throttle.forget(tried)
        self._remember(network, active.id)
        return await self._begin(active)

    def _remember(self, network: str, person: str) -> None:
        """Note that a person is at home in a network."""
        self._familiar[network, person] = None
        self._familiar.move_to_end((network, person))
        while len(self._familiar) > MAX_FAMILIAR:
            self._familiar.popitem(last=False)

    async def people(self, by: Principal) -> Sequence[PersonRecord]:
        """List local people; raises `not_allowed`."""
        if Scope.ADMIN not in by.scopes:
            raise AuthError(AuthCode.NOT_ALLOWED, "Only an admin sees all people.")
        return await self._store.people()

    async def disable(self, by: Principal, person: str) -> PersonRecord:
        """Disable a person: their sessions and tokens die at once. Raises `not_allowed`, `not_found`."""
        _need(by, Scope.ADMIN)
        if by.id == person:
            raise AuthError(AuthCode.NOT_ALLOWED, "You can't disable yourself; ask another admin.")
        disabled = await self._store.disable(person)
        if disabled is None:
            raise AuthError(AuthCode.NOT_FOUND, "There is no such person.")
        return disabled

    async def make_token(self, by: Principal, wish: TokenWish) -> tuple[TokenRecord, str]:
        """Make an API token of at most one's own scopes: its record and secret. Raises `not_allowed`, `name_refused`.

        The names of tokens and assistants are held to the rule of people's names: they are shown where people decide.
        """
        if not by.session:
            raise AuthError(AuthCode.NOT_ALLOWED, "Tokens are made in a person's own session, never with a token.")
        if not wish.scopes or not wish.scopes <= by.scopes & TOKEN_SCOPES:
            beyond = ", ".join(sorted(wish.scopes - (by.scopes & TOKEN_SCOPES)))
            raise AuthError(
                AuthCode.NOT_ALLOWED, f"A token holds some of your own scopes, and never {beyond or 'none'}."
            )
        if len(await self._store.tokens_of(by.id)) >= MAX_TOKENS_A_PERSON:
            raise AuthError(AuthCode.NOT_ALLOWED, f"You have {MAX_TOKENS_A_PERSON} tokens already; revoke one first.")
        made, now = make_token(), self._clock()
        record = TokenRecord(
            id=made.id,
            hash=self._pepper.hash(made.text),
            person=by.id,
            name=check_name(wish.name),
            scopes=wish.scopes,
            created=now,
            expires=now + wish.valid,
            agent=None if wish.agent is None else check_name(wish.agent),
        )
        await self._store.add_token(record)
        return record, made.text

    async def tokens(self, by: Principal) -> Sequence[TokenRecord]:
        """List one's own tokens."""
        return await self._store.tokens_of(by.id)

    async def revoke_token(self, by: Principal, token: str) -> TokenRecord:
        """Revoke one's own token, or as an admin anybody's; raises `not_found`."""
        record = await self._store.token(token)
        if record is None or (record.person != by.id and Scope.ADMIN not in by.scopes):
            raise AuthError(AuthCode.NOT_FOUND, "There is no such token.")
        await self._store.delete_token(token)
        return record

    def _count(self, limits: dict[str, Limit]) -> None:
        wait = self._throttle.attempt(limits, self._steady())
        if wait is not None:
            raise TooManyAttempts(int(wait.total_seconds()) + 1)

    async def _hash(self, password: str) -> str:
        return await self._in_thread(hash_password, password)

    async def _in_thread(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Hash in threads that nothing else waits for, a few at a time."""
        return await asyncio.get_running_loop().run_in_executor(self._hashing, partial(work, *args, **kwargs))

    async def _invite(
        self, person: str, name: str, roles: frozenset[Role], valid: timedelta
    ) -> tuple[PersonRecord, str]:
        made, now = make_invitation(), self._clock()
        record = PersonRecord(id=person, name=name, roles=roles, state="invited", created=now)
        invitation = InvitationRecord(
            hash=self._pepper.hash(made.text), person=person, created=now, expires=now + valid
        )
        try:
            await self._store.add_person(record, invitation)
        except NameTaken as error:
            raise AuthError(AuthCode.NAME_REFUSED, "Somebody has this name already; choose another.") from error
        return record, made.text

    async def _begin(self, person: PersonRecord) -> SignedIn:
        made, now = make_session(), self._clock()
        expires = now + self._lifetimes.session
        await self._store.add_session(
            SessionRecord(
                hash=self._pepper.hash(made.text), person=person.id, created=now, expires=expires, last_used=now
            )
        )
        return SignedIn(secret=made.text, expires=expires, principal=_principal(person, now))

    async def _active(self, person: str) -> PersonRecord:
        record = await self._store.person(person)
        if record is None or record.state != "active":
            raise AuthError(AuthCode.NOT_SIGNED_IN, f"person {person} is not active")
        return record


def _principal(person: PersonRecord, since: datetime) -> Principal:
    return Principal(
        id=person.id,
        name=person.name,
        kind=person.kind,
        roles=person.roles,
        scopes=scopes_of(person.roles),
        groups=person.groups,
        method="password",
        session=True,
        authenticated_at=since,
    )


def _need(by: Principal, scope: Scope) -> None:
    """Demand a scope and a person's own session: administration is never done with a token."""
    if scope not in by.scopes or not by.session:
        raise AuthError(AuthCode.NOT_ALLOWED, f"This needs the scope `{scope}` in your own session.")


def _new_id(prefix: str) -> str:
    return f"{prefix}_{secrets.token_hex(16)}"
