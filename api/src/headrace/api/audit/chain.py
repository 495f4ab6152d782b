"""The audit chain: append-only events, each holding the hash of the one before it.

An event is written in the same transaction as the change it speaks of, so neither exists without the other. The
chain's signed head is exported to `audit-heads.jsonl` (appended and synced), which shows when the end of the chain
was cut off or rewritten; ship that file to another machine to keep it out of the database owner's hands.
"""

import asyncio
import json
from collections.abc import Mapping
from enum import StrEnum

from sqlalchemy import or_, select
from sqlalchemy.exc import SQLAlchemyError

from headrace.api.audit.heads import HeadsFile, verify_file
from headrace.api.caller import Caller
from headrace.api.clock import Clock
from headrace.api.errors import AuditUnwritable, Code, ServiceError
from headrace.api.store import Database, Tx
from headrace.api.store.tables_site import AuditRow, PersonRow
from headrace.auth import fold
from headrace.client import models as m
from headrace.guardrails import Link, link, utc_text

_MAX_VALUE = 1000


class Kind(StrEnum):
    """Everything the chain can say."""

    SERVICE_STARTED = "service_started"
    SIGNED_IN = "signed_in"
    SIGN_IN_FAILED = "sign_in_failed"
    SIGNED_OUT = "signed_out"
    INVITED = "invited"
    INVITATION_ACCEPTED = "invitation_accepted"
    PERSON_DISABLED = "person_disabled"
    TOKEN_MADE = "token_made"  # noqa: S105 - a kind, not a secret
    TOKEN_REVOKED = "token_revoked"  # noqa: S105 - a kind, not a secret
    JOIN_TOKEN_MADE = "join_token_made"  # noqa: S105 - a kind, not a secret
    NODE_JOINED = "node_joined"
    NODE_REFUSED = "node_refused"
    NODE_DRAINED = "node_drained"
    NODE_UNDRAINED = "node_undrained"
    NODE_REVOKED = "node_revoked"
    ENDPOINT_MADE = "endpoint_made"
    ENDPOINT_CHANGED = "endpoint_changed"
    BROWSED = "browsed"
    BROWSE_DENIED = "browse_denied"
    ASKED = "asked"
    DECIDED = "decided"
    PLANNING_ENDED = "planning_ended"
    CONFIRMED = "confirmed"
    DECLINED = "declined"
    APPROVED = "approved"
    APPROVAL_REFUSED = "approval_refused"
    SUBMITTED = "submitted"
    TICKETED = "ticketed"
    TICKET_REFUSED = "ticket_refused"
    TRANSFER_CHANGED = "transfer_changed"
    TRANSFER_CONTROLLED = "transfer_controlled"
    RECEIPT_MADE = "receipt_made"
    POLICY_PROPOSED = "policy_proposed"
    POLICY_PUBLISHED = "policy_published"


class Audit:
    """Writes and checks the chain of one service."""

    def __init__(self, database: Database, clock: Clock, heads: HeadsFile) -> None:
        """Append to the chain in `database`; export its head to `heads`."""
        self._database = database
        self._clock = clock
        self._heads = heads
        self.writable = True

    async def append(
        self,
        tx: Tx,
        kind: Kind,
        *,
        caller: Caller | None = None,
        subject: str = "",
        detail: Mapping[str, str] | None = None,
    ) -> None:
        """Add one event inside the caller's transaction; raises `AuditUnwritable`, which must end that transaction.

        `detail` values are cut to 1,000 characters and must not hold secrets.
        """
        principal = caller.principal if caller else None
        person = principal.id if principal else None
        event = {
            "at": utc_text(self._clock()),
            "kind": kind.value,
            "person": person,
            "agent": principal.agent if principal else None,
            "door": caller.door.value if caller else None,
            "subject": subject,
            "detail": {key: value[:_MAX_VALUE] for key, value in (detail or {}).items()},
        }
        try:
            added = link(await _last(tx), event)
            body = added.record.decode()
            tx.add(AuditRow(sequence=added.sequence, kind=kind, person=person, body=body, hash=added.hash))
            await tx.flush()
        except (SQLAlchemyError, ValueError) as error:
            self.writable = False
            raise AuditUnwritable from error
        self.writable = True

    async def events(self, *, after: int, limit: int, kind: str | None, person: str | None) -> list[m.AuditEvent]:
        """One page of the chain in order; `person` is an id or a name."""
        query = select(AuditRow).where(AuditRow.sequence > after).order_by(AuditRow.sequence).limit(limit)
        if kind:
            query = query.where(AuditRow.kind == kind)
        if person:
            named = select(PersonRow.id).where(PersonRow.name_key == fold(person))
            query = query.where(or_(AuditRow.person == person, AuditRow.person.in_(named)))
        async with self._database.read() as tx:
            return [
                m.AuditEvent(**json.loads(row.body), hash=row.hash, person_name=row.person_name)
                for row in await tx.scalars(query)
            ]

    async def verify(self) -> m.AuditVerdict:
        """Check the whole chain against itself and the last exported head."""
        return await asyncio.to_thread(verify_file, self._database.path, self._heads.last())

    async def require_whole(self) -> None:
        """Refuse to go on with a chain from which exported events are missing."""
        head = self._heads.last()
        if head is None:
            return
        async with self._database.read() as tx:
            row = await tx.get(AuditRow, head.sequence)
        if row is None or row.hash != head.hash:
            raise ServiceError(
                Code.AUDIT_UNWRITABLE,
                f"event {head.sequence} of the audit chain was exported to audit-heads.jsonl and is not in the store: "
                "the store was altered or is an old copy. Look into it (`headrace audit verify`); if the old copy is "
                "meant, move audit-heads.jsonl away",
            )

    async def export_head(self) -> None:
        """Append the chain's signed head to the heads file unless nothing happened since."""
        async with self._database.read() as tx:
            last = await _last(tx)
        if last is not None:
            await asyncio.to_thread(self._heads.append, last.sequence, last.hash, self._clock())


async def _last(tx: Tx) -> Link | None:
    row = await tx.scalar(select(AuditRow).order_by(AuditRow.sequence.desc()).limit(1))
    return Link(row.sequence, row.body.encode(), row.hash) if row else None
