"""When and by what somebody lost what they had, as the audit log tells it."""

import json
from typing import Final

from sqlalchemy import select

from headrace.api.store import Tx
from headrace.api.store.tables_site import AuditRow, PersonRow
from headrace.client import models as m

_WHAT: Final = {
    m.AuditKind.PERSON_DISABLED: "disabled",
    m.AuditKind.PERSON_SUSPENDED: "suspended",
    m.AuditKind.RIGHTS_CHANGED: "without a role",
}


async def how_lost(tx: Tx, person: PersonRow) -> str:
    """Return how somebody who can do nothing any more came to that: `suspended since TIME, by CAUSE`.

    Empty for who is active with a role, or of whom the log tells nothing.
    """
    if person.state == "active" and person.roles:
        return ""
    kinds = {"disabled": m.AuditKind.PERSON_DISABLED, "suspended": m.AuditKind.PERSON_SUSPENDED}
    kind = kinds.get(person.state, m.AuditKind.RIGHTS_CHANGED)
    query = select(AuditRow).where(AuditRow.subject == person.id, AuditRow.kind == kind)
    last = await tx.scalar(query.order_by(AuditRow.sequence.desc()).limit(1))
    if last is None:
        return ""
    cause = str(json.loads(last.body)["detail"].get("cause", "an administrator"))
    return f"{_WHAT[kind]} since {last.at:%Y-%m-%d %H:%M:%S} UTC, by {cause}"
