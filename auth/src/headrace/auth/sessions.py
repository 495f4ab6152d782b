"""Interactive sessions: begun after somebody has signed in, in whatever way, and looked up at every call."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from headrace.auth.errors import AuthCode, AuthError
from headrace.auth.principal import Method, Principal, Scope, scopes_of
from headrace.auth.secret_forms import Pepper, make_session, session_person
from headrace.auth.store import Grounds, PeopleStore, PersonRecord, SessionRecord, require_active
from headrace.auth.uses import TOUCH_EVERY, Uses


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
class Shown:
    """How somebody has shown who they are: where (`issuer`, and `sid` of the session there), when, and with what."""

    method: Method
    factors: frozenset[str]
    at: datetime | None = None
    """Now, unless a provider says when."""
    issuer: str | None = None
    sid: str | None = None
    grounds: Grounds = field(default_factory=Grounds)
    """What must still hold when the session begins."""


BY_PASSWORD: Final = Shown(method="password", factors=frozenset({"pwd"}))


class Sessions:
    """Begins, knows and ends sessions."""

    def __init__(
        self, store: PeopleStore, clock: Callable[[], datetime], pepper: Pepper, lifetimes: Lifetimes, uses: Uses
    ) -> None:
        """`clock` answers aware UTC times."""
        self._store = store
        self._clock = clock
        self._pepper = pepper
        self._lifetimes = lifetimes
        self._uses = uses

    async def begin(self, person: PersonRecord, shown: Shown) -> SignedIn:
        """Begin a session of somebody who has just signed in.

        Raises `sign_in_refused` for a service account, and for who was disabled meanwhile or lost what they came with.
        """
        if person.kind == "service":
            raise AuthError(AuthCode.SIGN_IN_REFUSED, f"{person.id} is a service account", person=person.id)
        made, now = make_session(person.id), self._clock()
        record = SessionRecord(
            hash=self._pepper.hash(made.text),
            person=person.id,
            created=now,
            expires=now + self._lifetimes.session,
            last_used=now,
            authenticated=shown.at or now,
            method=shown.method,
            factors=shown.factors,
            issuer=shown.issuer,
            sid=shown.sid,
            passkey=shown.grounds.passkey,
        )
        if not await self._store.add_session(record, shown.grounds):
            raise AuthError(AuthCode.SIGN_IN_REFUSED, f"person {person.id} changed meanwhile", person=person.id)
        return SignedIn(secret=made.text, expires=record.expires, principal=_principal(person, record))

    async def principal(self, secret: str) -> Principal:
        """Answer whose session this is; raises `not_signed_in`."""
        if session_person(secret) is None:
            raise AuthError(AuthCode.NOT_SIGNED_IN, "malformed session secret")
        found, now = await self._found(secret), self._clock()
        if found is None:
            raise AuthError(AuthCode.NOT_SIGNED_IN, "unknown session")
        session, person = found
        hashed = session.hash
        if now >= session.expires or now >= session.last_used + self._lifetimes.idle:
            # It stays in the store: a clock that is wrong for a moment ends nobody's session for good.
            raise AuthError(AuthCode.NOT_SIGNED_IN, f"session of person {session.person} is too old")
        require_active(person)
        if now >= session.last_used + TOUCH_EVERY:
            self._uses.note(hashed, lambda: self._store.touch_session(hashed, now))
        return _principal(person, session)

    async def end(self, secret: str) -> SessionRecord | None:
        """End a session and return what it was; nothing happens if there is none, or it can't be one."""
        if session_person(secret) is None:
            return None
        found = await self._found(secret)
        if found is None:
            return None
        ended, _ = found
        await self._store.delete_session(ended.hash)
        return ended

    async def _found(self, secret: str) -> tuple[SessionRecord, PersonRecord] | None:
        """Find a session, if it is the person's to whom the secret was given."""
        for hashed in self._pepper.hashes(secret):
            found = await self._store.whose_session(hashed)
            if found is not None and found[0].person == session_person(secret):
                return found
        return None

    async def of(self, by: Principal, person: str | None = None) -> Sequence[SessionRecord]:
        """List one's own sessions that are still good, or as an admin somebody's; raises `not_found`."""
        found = await self._store.sessions_of(self._whose(by, person))
        now = self._clock()
        return [one for one in found if now < one.expires and now < one.last_used + self._lifetimes.idle]

    async def strengthen(self, by: Principal, shown: Shown) -> None:
        """Note what the person has shown in the session that calls, beside what they signed in with.

        Raises `not_allowed` when the session, or the passkey that was shown, is gone meanwhile.
        """
        kept = False
        for one in await self._store.sessions_of(by.id):
            if one.id == by.session_id:
                kept = await self._store.add_factors(one.hash, shown.method, shown.factors, shown.grounds.passkey)
        if not kept:
            raise AuthError(AuthCode.NOT_ALLOWED, "This session, or the passkey that you used, is gone meanwhile.")

    async def end_one(self, by: Principal, session: str, person: str | None = None) -> None:
        """End one's own session by its id, or as an admin somebody's; raises `not_found`."""
        for one in await self._store.sessions_of(self._whose(by, person)):
            if one.id == session:
                await self._store.delete_session(one.hash)
                return
        raise AuthError(AuthCode.NOT_FOUND, "There is no such session.")

    @staticmethod
    def _whose(by: Principal, person: str | None) -> str:
        if person is None or person == by.id:
            return by.id
        if Scope.ADMIN not in by.scopes:
            raise AuthError(AuthCode.NOT_FOUND, "There is no such person.")
        return person


def _principal(person: PersonRecord, session: SessionRecord) -> Principal:
    return Principal(
        id=person.id,
        name=person.name,
        kind=person.kind,
        local=person.local,
        roles=person.roles,
        scopes=scopes_of(person.roles),
        groups=person.groups,
        method=session.method,
        session=True,
        authenticated_at=session.authenticated,
        factors=session.factors,
        issuer=session.issuer,
        session_id=session.id,
    )
