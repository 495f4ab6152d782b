"""People, invitations, sessions and tokens in the store: `auth.PeopleStore`, with an audit event for every change."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import Text, and_, bindparam, delete, false, func, or_, select, type_coerce, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import defer

from headrace.api.audit.chain import Audit
from headrace.api.caller import current_address, current_caller
from headrace.api.people.endings import AccessEnd, end_all
from headrace.api.people.sql_passkeys import note_signed_out, signed_out_since
from headrace.api.store import Database, Tx
from headrace.api.store.base import Base
from headrace.api.store.tables_site import (
    IdentityRow,
    InvitationRow,
    PasskeyRow,
    PersonRow,
    SessionRow,
    SignInPlaceRow,
    TokenRow,
)
from headrace.auth import (
    MAX_TOKENS_A_PERSON,
    Grounds,
    InvitationRecord,
    LastAdmin,
    Method,
    NameTaken,
    PersonRecord,
    Role,
    Scope,
    SessionRecord,
    TokenRecord,
    TooMany,
    fold,
    is_nameless,
    signed_out_keys,
)
from headrace.client import models as m

MAX_PEOPLE = 10_000
"""Of one page; what goes through all of them reads page after page."""
_MAX_TOKENS = 1000
SWEPT_AFTER: Final = timedelta(days=7)
"""For how long sessions that have ended by themselves are kept."""
_OF_PEOPLE: Final = [
    column
    for table in Base.metadata.sorted_tables
    for column in table.columns
    if column is not InvitationRow.__table__.c.person
    and any(key.column is PersonRow.__table__.c.id for key in column.foreign_keys)
]
"""Where something is somebody's, but for the link with which they join."""
_PERSON = defer(PersonRow.shown_name, raiseload=True)
_WHOSE_SESSION = (
    select(SessionRow, PersonRow)
    .join(PersonRow, PersonRow.id == SessionRow.person)
    .where(SessionRow.hash == bindparam("hash"))
    .options(_PERSON)
)
_WHOSE_TOKEN = (
    select(TokenRow, PersonRow)
    .join(PersonRow, PersonRow.id == TokenRow.person)
    .where(TokenRow.id == bindparam("token"))
    .options(_PERSON)
)
_SESSIONS_OF = select(SessionRow).where(SessionRow.person == bindparam("person"))


class SqlPeopleStore:
    """The people of one service; each method is one transaction."""

    def __init__(self, database: Database, audit: Audit) -> None:
        """Keep people in `database`."""
        self._database = database
        self._audit = audit

    async def add_person(self, person: PersonRecord, invitation: InvitationRecord | None = None) -> None:
        """As in the port."""
        async with self._database.write() as tx:
            tx.add(
                PersonRow(
                    id=person.id,
                    name=person.name,
                    name_key=fold(person.name),
                    kind=person.kind,
                    state=person.state,
                    roles=tuple(sorted(person.roles)),
                    groups=tuple(sorted(person.groups)),
                    granted_roles=tuple(sorted(person.granted_roles)),
                    granted_groups=tuple(sorted(person.granted_groups)),
                    password_hash=person.password_hash,
                    created=person.created,
                )
            )
            await _flush_named(tx)
            if invitation is not None:
                tx.add(
                    InvitationRow(
                        hash=invitation.hash,
                        person=invitation.person,
                        created=invitation.created,
                        expires=invitation.expires,
                        made_by=invitation.made_by,
                    )
                )
            detail = {"name": person.name, "roles": " ".join(sorted(person.roles))}
            service = person.kind == "service"
            kind = m.AuditKind.SERVICE_ACCOUNT_MADE if service else m.AuditKind.INVITED
            await self._note(tx, kind, person.id, detail)

    async def forget_nameless(self, person: str) -> bool:
        """As in the port."""
        async with self._database.write() as tx:
            row = await tx.get(PersonRow, person)
            if row is None or not is_nameless(person_of(row)):
                return False
            for column in _OF_PEOPLE:
                if await tx.scalar(select(column).where(column == person).limit(1)) is not None:
                    return False
            await tx.execute(delete(InvitationRow).where(InvitationRow.person == person))
            if row.state != "disabled":
                await self._note(tx, m.AuditKind.PERSON_DISABLED, person, {"name": row.name})
            await tx.delete(row)
            return True

    async def person(self, person: str) -> PersonRecord | None:
        """As in the port."""
        async with self._database.read() as tx:
            row = await tx.get(PersonRow, person)
            return person_of(row) if row else None

    async def person_named(self, name: str) -> PersonRecord | None:
        """As in the port."""
        async with self._database.read() as tx:
            row = await tx.scalar(select(PersonRow).where(PersonRow.name_key == fold(name)))
            return person_of(row) if row and row.local else None

    async def people(self, *, after: str | None = None, limit: int = MAX_PEOPLE) -> Sequence[PersonRecord]:
        """As in the port."""
        query = select(PersonRow).order_by(PersonRow.created, PersonRow.id).limit(min(limit, MAX_PEOPLE))
        async with self._database.read() as tx:
            last = await tx.get(PersonRow, after) if after is not None else None
            if last is not None:
                same = and_(PersonRow.created == last.created, PersonRow.id > last.id)
                query = query.where(or_(PersonRow.created > last.created, same))
            return [person_of(row) for row in await tx.scalars(query)]

    async def invitation(self, hash: str) -> InvitationRecord | None:  # noqa: A002 - the port's name
        """As in the port."""
        async with self._database.read() as tx:
            row = await tx.get(InvitationRow, hash)
            if row is None:
                return None
            return InvitationRecord(
                hash=row.hash, person=row.person, created=row.created, expires=row.expires, made_by=row.made_by
            )

    async def redeem(self, hash: str, name: str, password_hash: str, now: datetime) -> PersonRecord | None:  # noqa: A002
        """As in the port."""
        async with self._database.write() as tx:
            # Nobody else writes until this transaction ends, so what is read here still holds when it is used up.
            invitation = await tx.get(InvitationRow, hash)
            row = await tx.get(PersonRow, invitation.person) if invitation else None
            if invitation is None or row is None or row.state not in {"invited", "active"} or invitation.expires <= now:
                return None
            await tx.delete(invitation)
            await tx.execute(delete(PasskeyRow).where(PasskeyRow.person == row.id))
            await end_all(tx, row, AccessEnd.TAKEN_BACK)
            row.state, row.name, row.name_key, row.password_hash = "active", name, fold(name), password_hash
            await _flush_named(tx)
            await self._note_own(tx, m.AuditKind.INVITATION_ACCEPTED, row.id, {"name": name})
            gone = select(IdentityRow.subject).where(IdentityRow.person == row.id, IdentityRow.gone.is_not(None))
            if await tx.scalar(gone.limit(1)) is not None:
                row.state = "suspended"
                detail = {"name": name, "cause": "an identity that is no longer"}
                await self._note_own(tx, m.AuditKind.PERSON_SUSPENDED, row.id, detail)
            return person_of(row)

    async def renew_invitation(self, invitation: InvitationRecord) -> PersonRecord | None:
        """As in the port."""
        async with self._database.write() as tx:
            row = await tx.get(PersonRow, invitation.person)
            if row is None:
                return None
            await tx.execute(delete(InvitationRow).where(InvitationRow.person == row.id))
            tx.add(
                InvitationRow(
                    hash=invitation.hash,
                    person=row.id,
                    created=invitation.created,
                    expires=invitation.expires,
                    made_by=invitation.made_by,
                )
            )
            detail = {"name": row.name, "state": row.state}
            if row.state == "disabled":
                row.state = "invited"
            await self._note(tx, m.AuditKind.INVITED_AGAIN, row.id, detail)
            return person_of(row)

    async def replace_password(self, person: str, former: str, password_hash: str, *, keep: str) -> bool:
        """As in the port."""
        async with self._database.write() as tx:
            row = await tx.get_one(PersonRow, person)
            open_ = {_session(one).id: one for one in await tx.scalars(_SESSIONS_OF, {"person": person})}
            if row.state != "active" or row.password_hash != former or (keep and keep not in open_):
                return False
            row.password_hash = password_hash
            await tx.execute(delete(InvitationRow).where(InvitationRow.person == person))
            for name, session in open_.items():
                if name != keep:
                    await tx.delete(session)
            await self._note(tx, m.AuditKind.PASSWORD_CHANGED, person, {"name": row.name})
            return True

    async def has_place(self, *hashes: str) -> bool:
        """As in the port."""
        async with self._database.read() as tx:
            return (
                await tx.scalar(select(SignInPlaceRow.hash).where(SignInPlaceRow.hash.in_(hashes)).limit(1)) is not None
            )

    async def keep_place(self, hash: str, person: str, now: datetime, *, of_one: int, of_all: int) -> None:  # noqa: A002
        """As in the port."""
        async with self._database.write() as tx:
            row = await tx.get(SignInPlaceRow, hash)
            if row is not None:
                row.seen, row.person = now, person
            else:
                tx.add(SignInPlaceRow(hash=hash, seen=now, person=person))
            await tx.flush()
            newest = select(SignInPlaceRow.hash).order_by(SignInPlaceRow.seen.desc(), SignInPlaceRow.hash)
            mine = newest.where(SignInPlaceRow.person == person)
            for too_many in (mine.offset(of_one), newest.offset(of_all)):
                gone = (await tx.scalars(too_many)).all()
                await tx.execute(delete(SignInPlaceRow).where(SignInPlaceRow.hash.in_(gone)))

    async def set_password_hash(self, person: str, former: str, password_hash: str) -> bool:
        """As in the port (the same password under newer parameters: no event)."""
        async with self._database.write() as tx:
            row = await tx.get_one(PersonRow, person)
            if row.state != "active" or row.password_hash != former:
                return False
            row.password_hash = password_hash
            return True

    async def disable(self, person: str) -> PersonRecord | None:
        """As in the port."""
        async with self._database.write() as tx:
            row = await tx.get(PersonRow, person)
            if row is None:
                return None
            async with keeping_an_admin(tx):
                row.state, row.password_hash = "disabled", None
            for table in (InvitationRow, PasskeyRow):
                await tx.execute(delete(table).where(table.person == person))
            await end_all(tx, row, AccessEnd.DISABLED)
            await self._note(tx, m.AuditKind.PERSON_DISABLED, row.id, {"name": row.name})
            return person_of(row)

    async def add_session(self, session: SessionRecord, grounds: Grounds | None = None) -> bool:
        """As in the port."""
        async with self._database.write() as tx:
            # Asked in the transaction that keeps it: whoever disables the person ends what was kept before.
            person = await tx.get_one(PersonRow, session.person)
            if person.state != "active" or not await _holds(tx, person, session, grounds or Grounds()):
                return False
            tx.add(
                SessionRow(
                    hash=session.hash,
                    person=session.person,
                    created=session.created,
                    expires=session.expires,
                    last_used=session.last_used,
                    authenticated=session.authenticated,
                    method=session.method,
                    factors=tuple(sorted(session.factors)),
                    issuer=session.issuer,
                    sid=session.sid,
                    passkey=session.passkey,
                )
            )
            # Sessions that ended by themselves are of no use to anybody; sign-ins are when to sweep them out, long
            # after: by a clock that is wrong for a moment all of them may have ended.
            await tx.execute(delete(SessionRow).where(SessionRow.expires <= session.created - SWEPT_AFTER))
            how = {
                "method": session.method,
                "factors": " ".join(sorted(session.factors)),
                "issuer": session.issuer or "",
            }
            await self._note_own(tx, m.AuditKind.SIGNED_IN, session.person, how)
            return True

    async def whose_session(self, hash: str) -> tuple[SessionRecord, PersonRecord] | None:  # noqa: A002 - the port's name
        """As in the port."""
        for session, person in await self._database.ask(_WHOSE_SESSION, {"hash": hash}):
            return _session(session), person_of(person)
        return None

    async def touch_session(self, hash: str, now: datetime) -> None:  # noqa: A002 - the port's name
        """As in the port."""
        async with self._database.write() as tx:
            await tx.execute(update(SessionRow).where(SessionRow.hash == hash).values(last_used=now))

    async def add_factors(self, hash: str, method: Method, factors: frozenset[str], passkey: str | None) -> bool:  # noqa: A002
        """As in the port."""
        async with self._database.write() as tx:
            row = await tx.get(SessionRow, hash)
            if row is None:
                return False
            # Asked in the transaction that keeps it: whoever removes the passkey takes away what was kept before.
            person = await tx.get_one(PersonRow, row.person)
            if not await _holds(tx, person, _session(row), Grounds(passkey=passkey)):
                return False
            row.factors = tuple(sorted({*row.factors, *factors}))
            if row.method != "passkey":
                row.passkey = passkey or row.passkey
            how = {"method": method, "factors": " ".join(row.factors), "issuer": row.issuer or ""}
            await self._note(tx, m.AuditKind.SIGNED_IN, row.person, how)
            return True

    async def delete_session(self, hash: str) -> None:  # noqa: A002 - the port's name
        """As in the port."""
        async with self._database.write() as tx:
            session = await tx.get(SessionRow, hash)
            if session is None:
                return
            if current_caller() is not None:
                await self._note(tx, m.AuditKind.SIGNED_OUT, session.person, {})
            else:
                await self._note_own(tx, m.AuditKind.SIGNED_OUT, session.person)
            await tx.delete(session)

    async def sessions_of(self, person: str) -> Sequence[SessionRecord]:
        """As in the port."""
        query = select(SessionRow).where(SessionRow.person == person)
        async with self._database.read() as tx:
            rows = await tx.scalars(query.order_by(SessionRow.created.desc(), SessionRow.hash).limit(_MAX_TOKENS))
            return [_session(row) for row in rows]

    async def delete_sessions_at(self, issuer: str, *, sid: str | None, subject: str | None, now: datetime) -> int:
        """As in the port."""
        persons = select(IdentityRow.person).where(IdentityRow.issuer == issuer, IdentityRow.subject == subject)
        whose = SessionRow.person.in_(persons) if subject is not None else false()
        which = or_(SessionRow.sid == sid, whose) if sid is not None else whose
        async with self._database.write() as tx:
            await note_signed_out(tx, signed_out_keys(issuer, sid=sid, subject=subject), now)
            query = delete(SessionRow).where(SessionRow.issuer == issuer, which).returning(SessionRow.person)
            gone = (await tx.scalars(query)).all()
            for person in gone:
                detail = {"issuer": issuer}
                await self._audit.append(tx, m.AuditKind.SIGNED_OUT, person=person, subject=person, detail=detail)
            return len(gone)

    async def add_token(self, token: TokenRecord) -> bool:
        """As in the port."""
        async with self._database.write() as tx:
            if (await tx.get_one(PersonRow, token.person)).state != "active":
                return False
            # Counted in the transaction that adds one: nobody else writes until it ends.
            theirs = select(func.count()).select_from(TokenRow).where(TokenRow.person == token.person)
            if (await tx.scalar(theirs) or 0) >= MAX_TOKENS_A_PERSON:
                raise TooMany
            tx.add(
                TokenRow(
                    id=token.id,
                    hash=token.hash,
                    person=token.person,
                    name=token.name,
                    scopes=tuple(sorted(token.scopes)),
                    agent=token.agent,
                    created=token.created,
                    expires=token.expires,
                    last_used=token.last_used,
                    made_by=token.made_by,
                )
            )
            detail = {"name": token.name, "scopes": " ".join(sorted(token.scopes)), "agent": token.agent or ""}
            detail["owner"] = token.person
            await self._note(tx, m.AuditKind.TOKEN_MADE, token.id, detail)
            return True

    async def token(self, token: str) -> TokenRecord | None:
        """As in the port."""
        async with self._database.read() as tx:
            row = await tx.get(TokenRow, token)
            return _token(row) if row else None

    async def whose_token(self, token: str) -> tuple[TokenRecord, PersonRecord] | None:
        """As in the port."""
        for found, person in await self._database.ask(_WHOSE_TOKEN, {"token": token}):
            return _token(found), person_of(person)
        return None

    async def tokens_of(self, person: str) -> Sequence[TokenRecord]:
        """As in the port."""
        query = select(TokenRow).where(TokenRow.person == person).order_by(TokenRow.created, TokenRow.id)
        async with self._database.read() as tx:
            return [_token(row) for row in await tx.scalars(query.limit(_MAX_TOKENS))]

    async def tokens_of_all(
        self, *, after: tuple[datetime, str] | None = None, limit: int = MAX_PEOPLE
    ) -> Sequence[TokenRecord]:
        """As in the port."""
        query = select(TokenRow).order_by(TokenRow.created, TokenRow.id).limit(min(limit, MAX_PEOPLE))
        if after is not None:
            created, last = after
            # The first condition is what an index begins at: SQLite and PostgreSQL find no range in an `or`.
            same = or_(TokenRow.created > created, TokenRow.id > last)
            query = query.where(TokenRow.created >= created, same)
        async with self._database.read() as tx:
            return [_token(row) for row in await tx.scalars(query)]

    async def touch_token(self, token: str, now: datetime) -> None:
        """As in the port."""
        async with self._database.write() as tx:
            await tx.execute(update(TokenRow).where(TokenRow.id == token).values(last_used=now))

    async def delete_token(self, token: str) -> None:
        """As in the port."""
        async with self._database.write() as tx:
            row = await tx.get(TokenRow, token)
            if row is not None:
                await self._note(tx, m.AuditKind.TOKEN_REVOKED, token, {})
                await tx.delete(row)

    async def _note_own(self, tx: Tx, kind: m.AuditKind, person: str, detail: Mapping[str, str] | None = None) -> None:
        """Note what a person did for themselves, before or after there is a caller, and from where."""
        address = current_address()
        whence = {"address": address} if address else {}
        await self._audit.append(tx, kind, person=person, subject=person, detail={**(detail or {}), **whence})

    async def _note(self, tx: Tx, kind: m.AuditKind, subject: str, detail: Mapping[str, str]) -> None:
        await self._audit.append(tx, kind, caller=current_caller(), subject=subject, detail=detail)


@asynccontextmanager
async def keeping_an_admin(tx: Tx) -> AsyncIterator[None]:
    """Refuse a change that leaves nobody who administrates; raises `LastAdmin`.

    Nobody else writes until this transaction ends, so of two who disable each other one is first.
    """
    had = await _has_admin(tx)
    yield
    await tx.flush()
    if had and not await _has_admin(tx):
        raise LastAdmin


async def _has_admin(tx: Tx) -> bool:
    query = select(PersonRow.roles).where(
        PersonRow.state == "active", type_coerce(PersonRow.roles, Text).contains(Role.ADMIN)
    )
    return any(Role.ADMIN in roles for roles in await tx.scalars(query))


async def _holds(tx: Tx, person: PersonRow, session: SessionRecord, grounds: Grounds) -> bool:
    """Whether what somebody has just signed in with is theirs, and they have not signed out there meanwhile."""
    if grounds.password_hash not in {None, person.password_hash}:
        return False
    if grounds.passkey is not None:
        passkey = await tx.get(PasskeyRow, grounds.passkey)
        return passkey is not None and passkey.person == person.id
    if grounds.identity is not None:
        identity = await tx.get(IdentityRow, grounds.identity)
        if identity is None or identity.person != person.id or identity.gone is not None:
            return False
    if grounds.identity is not None and grounds.begun is not None:
        keys = signed_out_keys(grounds.identity[0], sid=session.sid, subject=grounds.identity[1])
        return not await signed_out_since(tx, keys, grounds.begun)
    return True


async def _flush_named(tx: Tx) -> None:
    try:
        await tx.flush()
    except IntegrityError as error:
        raise NameTaken from error


def _session(row: SessionRow) -> SessionRecord:
    return SessionRecord(
        hash=row.hash,
        person=row.person,
        created=row.created,
        expires=row.expires,
        last_used=row.last_used,
        authenticated=row.authenticated,
        method=row.method,
        factors=frozenset(row.factors),
        issuer=row.issuer,
        sid=row.sid,
        passkey=row.passkey,
    )


def person_of(row: PersonRow) -> PersonRecord:
    """Return the person of a row."""
    return PersonRecord(
        id=row.id,
        name=row.name,
        roles=frozenset(map(Role, row.roles)),
        state=row.state,
        created=row.created,
        groups=frozenset(row.groups),
        granted_roles=frozenset(map(Role, row.granted_roles)),
        granted_groups=frozenset(row.granted_groups),
        kind=row.kind,
        local=row.local,
        password_hash=row.password_hash,
    )


def _token(row: TokenRow) -> TokenRecord:
    return TokenRecord(
        id=row.id,
        hash=row.hash,
        person=row.person,
        name=row.name,
        scopes=frozenset(map(Scope, row.scopes)),
        created=row.created,
        expires=row.expires,
        agent=row.agent,
        last_used=row.last_used,
        made_by=row.made_by,
    )
