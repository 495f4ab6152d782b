"""The audit chain: append-only events, each holding the hash of the one before it.

An event is written in the same transaction as the change it speaks of, so neither exists without the other. The
chain's signed head is exported to `audit-heads.jsonl` (appended and synced), which shows when the end of the chain
was cut off or rewritten; ship that file to another machine to keep it out of the database owner's hands.
"""

import asyncio
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Row, Select, select
from sqlalchemy.exc import DataError, SQLAlchemyError

from headrace.api.audit.callers import still_calling
from headrace.api.audit.check import Checks
from headrace.api.audit.elsewhere import Elsewhere
from headrace.api.audit.heads import HeadsFile
from headrace.api.caller import Caller
from headrace.api.clock import Clock
from headrace.api.errors import AuditUnwritable, Code, ServiceError
from headrace.api.paging import page_of
from headrace.api.store import Database, Tx, after_commit
from headrace.api.store.base import Base
from headrace.api.store.names import people_named
from headrace.api.store.tables_site import AuditRow
from headrace.api.store.ways import Way, rows_of
from headrace.api.store_trouble import Trouble, trouble_of
from headrace.client import models as m
from headrace.guardrails import Link, link, utc_text, utc_time

_MAX_VALUE = 1000
_MAX_STATEMENT = 60_000
"""Of a signed statement, which proves nothing once it is cut; longer than any that people can give."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which events are asked for: of some kinds, of a person (id or name), about a subject (an id), of a time."""

    kinds: Sequence[str] = ()
    person: str | None = None
    subject: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    newest_first: bool = False

    @property
    def narrows(self) -> bool:
        """Whether it asks for a part of the chain."""
        return bool(self.kinds or self.person or self.subject or self.since or self.until)


_AUDIT = Base.metadata.tables[AuditRow.__tablename__]
_INSERT = _AUDIT.insert()
_SHOWN = select(AuditRow.body, AuditRow.hash, AuditRow.person_name)
"""What a list shows of an event: plain rows, as making objects of them takes longer than finding them."""
_NEWEST = select(_AUDIT.c.sequence, _AUDIT.c.body, _AUDIT.c.hash).order_by(_AUDIT.c.sequence.desc()).limit(1)


Observer = Callable[[datetime, m.AuditKind, str, Mapping[str, str]], None]
"""Takes when, which kind, about what (an id), and the details as they were given."""


class Audit:
    """Writes and checks the chain of one service."""

    def __init__(self, database: Database, clock: Clock, heads: HeadsFile, elsewhere: Elsewhere | None = None) -> None:
        """Append to the chain in `database`; export its head to `heads`, and all of it `elsewhere`."""
        self._database = database
        self._clock = clock
        self._heads = heads
        self.elsewhere = elsewhere
        self._checks = Checks(database.url, heads, clock)
        self.observer: Observer | None = None
        """Told of each event of a request once it is committed; it does not fail or wait."""
        self.unwritable_since: datetime | None = None
        """Set while the last event was refused."""
        self.trouble: Trouble | None = None
        """Why it was."""
        self.tried: datetime | None = None
        """When an event was last written or refused."""
        self.latest: datetime | None = None
        """The latest time that this process noted an event at, or of the newest event before it started."""

    async def append(  # noqa: PLR0913 - one parameter each field
        self,
        tx: Tx,
        kind: m.AuditKind,
        *,
        caller: Caller | None = None,
        person: str | None = None,
        subject: str = "",
        detail: Mapping[str, str] | None = None,
    ) -> None:
        """Add one event to the caller's transaction, which ends with `AuditUnwritable` when it can't be written.

        It ends, too, when `caller` is no longer who they were when the call began (`still_calling`).

        The events of a transaction are written last: what else it holds fails by its own name, not as an audit log that
        can't be written. `person` says who acted where that is known before there is a caller (signing in). `detail`
        must not hold secrets; its values are cut to 1,000 characters (not a statement), and the digest of the whole is
        kept beside what is cut.
        """
        unknown = (detail or {}).keys() - kind.fields
        if unknown:
            message = f"`{kind}` has no {sorted(unknown)}: declare them in headrace.client.models.events"
            raise ValueError(message)
        principal = caller.principal if caller else None
        if principal is not None:
            await still_calling(tx, principal)
        person = principal.id if principal else person
        at, observer = self._clock(), self.observer
        after_commit(tx, lambda: self._seen(at))  # one that was not stored shows nothing to anybody later
        if observer is not None:
            said = dict(detail or {})
            after_commit(tx, lambda: observer(at, kind, subject, said))
        event = {
            "at": utc_text(at),
            "kind": kind.value,
            "person": person,
            "agent": principal.agent if principal else None,
            "door": caller.door.value if caller else None,
            "subject": subject,
            "detail": _cut(detail or {}),
        }
        tx.gather(self._write, event)

    def _seen(self, at: datetime) -> None:
        self.latest = at if self.latest is None else max(at, self.latest)

    async def _write(self, tx: Tx, events: Sequence[Mapping[str, Any]]) -> None:
        """Write the events of a transaction, each linked to the one before it."""
        rows = []
        try:
            last = await _last(tx)
            for event in events:
                last = link(last, event)
                row = {
                    "sequence": last.sequence,
                    "at": utc_time(event["at"]),
                    "kind": event["kind"],
                    "person": event["person"],
                    "subject": event["subject"],
                    "body": last.record.decode(),
                    "hash": last.hash,
                }
                rows.append(row)
            await tx.execute(_INSERT, rows)
        except DataError:
            raise  # what was to be noted can't be kept; the log itself is well
        except (SQLAlchemyError, ValueError) as error:
            self.tried = self._clock()
            self.unwritable_since = self.unwritable_since or self.tried
            self.trouble = trouble_of(error) if isinstance(error, SQLAlchemyError) else Trouble.DAMAGED
            raise AuditUnwritable(self.trouble) from error
        self.tried = self._clock()
        self.unwritable_since = self.trouble = None

    async def measure(self, tx: Tx) -> None:
        """Find out whether an event could be appended, and append none; `tx` is for this alone.

        Where another session has locked the table, this waits for a moment only: other writers wait behind it.
        """
        await tx.be_impatient()
        await self.append(tx, m.AuditKind.SERVICE_STARTED)
        with suppress(AuditUnwritable):
            await tx.write_gathered()
        await tx.rollback()
        await tx.begin()

    async def events(self, wanted: Wanted, *, after: int, limit: int) -> m.Page[m.AuditEvent]:
        """One page of events; `after` is the last sequence of the page before, or 0.

        The whole chain comes in the order of the chain, a part of it in the order of time, which is the same unless the
        clock was set back: an index holds only one of them.
        """

        async def look(tx: Tx) -> Sequence[Row[str, str, str | None]]:
            if wanted.narrows:
                return (await tx.execute(await _narrowed(tx, wanted, after, limit + 1))).all()
            return (await tx.execute(_whole(after, limit + 1, newest=wanted.newest_first))).all()

        rows = await self._database.look(look)
        found = [m.AuditEvent(**json.loads(body), hash=hash_, person_name=name) for body, hash_, name in rows]
        return page_of(found, limit, lambda event: event.sequence)

    async def verify(self, *, full: bool = False) -> m.AuditVerdict:
        """Check the chain against itself and the last exported head; `full` trusts no earlier check."""
        return await self._checks.verdict(full=full)

    async def require_room(self, tx: Tx) -> None:
        """Refuse to start anything (`audit_unsent`) while too much of the chain is not on the other host."""
        if self.elsewhere is not None:
            await self.elsewhere.require_room(tx)

    def close(self) -> None:
        """End the checks that run, and the connection to the other host."""
        self._checks.close()
        if self.elsewhere is not None:
            self.elsewhere.close()

    async def require_whole(self) -> None:
        """Refuse to go on with a chain from which exported events are missing."""
        head = self._heads.last()
        async with self._database.read() as tx:
            row = await tx.get(AuditRow, head.sequence) if head is not None else None
            last = await _last(tx)
        if last is not None:
            self._seen(utc_time(json.loads(last.record)["at"]))
        if head is None:
            return
        if last is None:
            raise ServiceError(
                Code.AUDIT_UNWRITABLE,
                f"the store is empty, and {head.sequence} events of its audit chain were exported to audit-heads.jsonl "
                "in the data folder: HEADRACE_DATABASE or --data names another store than before. If an empty one is "
                "meant, move audit-heads.jsonl away",
            )
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


def _cut(detail: Mapping[str, str]) -> dict[str, str]:
    """Cut long values, and keep the digest (SHA-256) of each whole one."""
    most = {key: _MAX_STATEMENT if key == "statement" else _MAX_VALUE for key in detail}
    cut = {key: value[: most[key]] for key, value in detail.items()}
    for key, value in detail.items():
        if len(value) > most[key]:
            cut[f"{key}_sha256"] = hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()
    return cut


def _whole(after: int, limit: int, *, newest: bool) -> Select[str, str, str | None]:
    if newest:
        query = _SHOWN.order_by(AuditRow.sequence.desc())
        query = query.where(AuditRow.sequence < after) if after else query
    else:
        query = _SHOWN.order_by(AuditRow.sequence).where(AuditRow.sequence > after)
    return query.limit(limit)


async def _narrowed(tx: Tx, wanted: Wanted, after: int, limit: int) -> Select[str, str, str | None]:
    people: Sequence[str] | None = None
    if wanted.person:
        # Events also name who is no person here, such as a service's own parts.
        people = sorted({wanted.person, *await people_named(tx, wanted.person)})
    ways = list(_ways(wanted, people))
    if after:
        at = await tx.scalar(select(AuditRow.at).where(AuditRow.sequence == after))
        if at is not None:
            ways = [way.beyond(at, after, newest=wanted.newest_first) for way in ways]
        else:
            # Nothing was ever there, or it is kept no longer.
            beyond = AuditRow.sequence < after if wanted.newest_first else AuditRow.sequence > after
            ways = [way.where(beyond) for way in ways]
    return rows_of(_SHOWN, AuditRow.sequence, ways, limit, newest=wanted.newest_first)


def _ways(wanted: Wanted, people: Sequence[str] | None) -> Iterator[Way[int]]:
    """Yield the ways to the events that are wanted, each along an index in the order of time."""
    rest = [AuditRow.subject == wanted.subject] if wanted.subject else []
    if wanted.since:
        rest.append(AuditRow.at >= wanted.since)
    if wanted.until:
        rest.append(AuditRow.at < wanted.until)
    of_kinds = [[AuditRow.kind == kind] for kind in dict.fromkeys(wanted.kinds)] or [[]]
    of_people = [[]] if people is None else [[AuditRow.person == person] for person in people]
    for one in of_people:
        for kind in of_kinds:
            yield Way(select(AuditRow).where(*one, *kind, *rest), AuditRow.sequence, AuditRow.at)


async def _last(tx: Tx) -> Link | None:
    row = (await tx.execute(_NEWEST)).one_or_none()
    return Link(row.sequence, row.body.encode(), row.hash) if row else None
