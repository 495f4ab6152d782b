"""How a person is known where people have names, for nodes that act as people's local accounts.

It is `ISSUER NAME`. `local` is this service, whose names are unique and given by administrators. Of a directory it is
the sign-in name in small letters, which its administrators give; of a provider the subject, because people may choose
the names there themselves.
"""

from typing import Final

from sqlalchemy import select

from headrace.api.store import Tx
from headrace.api.store.tables_site import DIRECTORY, IdentityRow, PersonRow
from headrace.auth import fold

_LIMIT_BYTES: Final = 256
"""Longest text of this kind in a sealed document."""


async def known_as(tx: Tx, person: str) -> str:
    """Return how a person is known: by the name here, else by the identity that they came with. Empty if by neither."""
    row = await tx.get(PersonRow, person)
    if row is None:
        return ""
    if row.local:
        return _text("local", row.name)
    query = select(IdentityRow).where(IdentityRow.person == person, IdentityRow.gone.is_(None))
    order = (IdentityRow.created, IdentityRow.issuer, IdentityRow.subject)
    identity = await tx.scalar(query.order_by(*order).limit(1))
    if identity is None:
        return ""
    directory = identity.issuer.startswith(DIRECTORY)
    if directory and await _is_shared(tx, identity):
        return ""
    return _text(identity.issuer, identity.name.lower() if directory else identity.subject)


async def _is_shared(tx: Tx, identity: IdentityRow) -> bool:
    """Whether somebody else of a directory goes by this name, too: one's sign-in name may be another's account name."""
    # Compared here: SQLite knows small letters of ASCII only.
    others = (IdentityRow.issuer == identity.issuer, IdentityRow.subject != identity.subject)
    name = fold(identity.name)
    return any(fold(other) == name for other in await tx.scalars(select(IdentityRow.name).where(*others)))


def _text(issuer: str, name: str) -> str:
    """Put both together; what a document can't hold, or what could be read as another name, is nobody's."""
    text = f"{issuer} {name}"
    readable = bool(issuer) and bool(name) and " " not in issuer and text.isprintable()
    return text if readable and len(text.encode()) <= _LIMIT_BYTES else ""
