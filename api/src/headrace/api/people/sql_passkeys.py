"""Passkeys in the store: `auth.PasskeyStore`, with an audit event for every change."""

from base64 import b64decode, b64encode
from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import delete, func, or_, select

from headrace.api.audit.chain import Audit
from headrace.api.caller import current_caller
from headrace.api.store import Database, Tx
from headrace.api.store.tables_site import PasskeyRow, PersonRow, SessionRow, UsedNonceRow
from headrace.auth import BY_PASSKEY, MAX_PASSKEYS, SIGNED_OUT_KEPT, PasskeyRecord, PasskeyUse, TooMany
from headrace.client import models as m


class SqlPasskeyStore:
    """The passkeys of one service's people; each method is one transaction."""

    def __init__(self, database: Database, audit: Audit) -> None:
        """Keep passkeys in `database`."""
        self._database = database
        self._audit = audit

    async def passkey(self, passkey: str) -> PasskeyRecord | None:
        """As in the port."""
        async with self._database.read() as tx:
            row = await tx.get(PasskeyRow, passkey)
            return _passkey(row) if row else None

    async def passkeys_of(self, person: str) -> Sequence[PasskeyRecord]:
        """As in the port."""
        query = select(PasskeyRow).where(PasskeyRow.person == person).order_by(PasskeyRow.created, PasskeyRow.id)
        async with self._database.read() as tx:
            return [_passkey(row) for row in await tx.scalars(query)]

    async def add_passkey(self, passkey: PasskeyRecord, nonce: str, until: datetime) -> bool:
        """As in the port."""
        async with self._database.write() as tx:
            person = await tx.get(PersonRow, passkey.person)
            if person is None or person.state != "active":
                return False
            if await tx.get(PasskeyRow, passkey.id) is not None or await tx.get(UsedNonceRow, nonce) is not None:
                return False
            # Counted in the transaction that adds one: nobody else writes until it ends.
            theirs = select(func.count()).select_from(PasskeyRow).where(PasskeyRow.person == passkey.person)
            if (await tx.scalar(theirs) or 0) >= MAX_PASSKEYS:
                raise TooMany
            tx.add(UsedNonceRow(nonce=nonce, until=until))
            tx.add(
                PasskeyRow(
                    id=passkey.id,
                    person=passkey.person,
                    name=passkey.name,
                    public_key=b64encode(passkey.public_key).decode("ascii"),
                    sign_count=passkey.sign_count,
                    seal=passkey.seal,
                    created=passkey.created,
                    last_used=passkey.last_used,
                )
            )
            await self._note(tx, m.AuditKind.PASSKEY_ADDED, passkey.person, passkey.id, passkey.name)
            return True

    async def use_passkey(self, passkey: str, count: int, nonce: str, now: datetime, until: datetime) -> PasskeyUse:
        """As in the port (what it was used for has an event of its own)."""
        async with self._database.write() as tx:
            # Nobody else writes until this transaction ends: of two uses at once, the second sees the first.
            await tx.execute(delete(UsedNonceRow).where(UsedNonceRow.until <= now))
            row = await tx.get(PasskeyRow, passkey)
            if row is None or await tx.get(UsedNonceRow, nonce) is not None:
                return "replayed"
            if count <= row.sign_count and (count, row.sign_count) != (0, 0):
                return "counter"
            tx.add(UsedNonceRow(nonce=nonce, until=until))
            row.sign_count, row.last_used = count, now
            return "good"

    async def use_nonce(self, nonce: str, now: datetime, until: datetime) -> bool:
        """As in the port."""
        async with self._database.write() as tx:
            await tx.execute(delete(UsedNonceRow).where(UsedNonceRow.until <= now))
            if await tx.get(UsedNonceRow, nonce) is not None:
                return False
            tx.add(UsedNonceRow(nonce=nonce, until=until))
            return True

    async def remove_passkey(self, person: str, passkey: str) -> bool:
        """As in the port."""
        async with self._database.write() as tx:
            row = await tx.get(PasskeyRow, passkey)
            if row is None or row.person != person:
                return False
            await self._note(tx, m.AuditKind.PASSKEY_REMOVED, person, passkey, row.name)
            await tx.delete(row)
            shown = select(SessionRow).where(SessionRow.person == person, SessionRow.passkey == passkey)
            for session in await tx.scalars(shown):
                if session.method == "passkey":
                    await tx.delete(session)
                else:
                    session.factors = tuple(sorted({*session.factors} - BY_PASSKEY.factors))
                    session.passkey = None
            return True

    async def _note(self, tx: Tx, kind: m.AuditKind, person: str, passkey: str, name: str) -> None:
        detail = {"passkey": passkey, "name": name}
        await self._audit.append(tx, kind, caller=current_caller(), subject=person, detail=detail)


async def note_signed_out(tx: Tx, keys: Sequence[str], now: datetime) -> None:
    """Keep beside used nonces that those of `keys` have signed out at their provider now."""
    await tx.execute(delete(UsedNonceRow).where(or_(UsedNonceRow.until <= now, UsedNonceRow.nonce.in_(keys))))
    tx.add_all(UsedNonceRow(nonce=key, until=now + SIGNED_OUT_KEPT) for key in keys)


async def signed_out_since(tx: Tx, keys: Sequence[str], begun: datetime) -> bool:
    """Whether one of those has signed out since then."""
    theirs = select(UsedNonceRow.nonce).where(UsedNonceRow.nonce.in_(keys))
    return await tx.scalar(theirs.where(UsedNonceRow.until >= begun + SIGNED_OUT_KEPT).limit(1)) is not None


def _passkey(row: PasskeyRow) -> PasskeyRecord:
    return PasskeyRecord(
        id=row.id,
        person=row.person,
        name=row.name,
        public_key=b64decode(row.public_key),
        sign_count=row.sign_count,
        seal=row.seal,
        created=row.created,
        last_used=row.last_used,
    )
