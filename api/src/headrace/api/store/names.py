"""Who is meant by a name."""

from sqlalchemy import or_, select

from headrace.api.store.database import Tx
from headrace.api.store.tables_site import PersonRow
from headrace.auth import fold


async def people_named(tx: Tx, person: str) -> tuple[str, ...]:
    """Return the ids of who has this id or name; several when directories know people of the same name.

    An id is nobody's name: names come from elsewhere, too, where somebody may choose another person's id.
    """
    asked = or_(PersonRow.id == person, PersonRow.name_key == fold(person), PersonRow.name == person)
    found = tuple(sorted(await tx.scalars(select(PersonRow.id).where(asked))))
    return (person,) if person in found else found
