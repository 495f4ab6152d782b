"""Halts: operators halt one transfer, person, assistant, endpoint or node, or everything (the kill switch).

A halt is a row of the store, or the file `halt` in the data folder (everything; its text is the reason, and what
can't be read there halts, too). Nothing that
is halted gets a ticket or a permit; what runs is stopped and waits, with the reason, until the halt is released. Halts
made here are acted on at once, others (the file, another process) within `LOOK_S`.
"""

import json
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, get_args

from sqlalchemy import bindparam, func, select
from sqlalchemy.exc import IntegrityError

from headrace.api.caller import Caller
from headrace.api.core import Core
from headrace.api.data_folder import HALT
from headrace.api.errors import Code, ServiceError
from headrace.api.private_words import because
from headrace.api.sites.endpoints import Endpoints
from headrace.api.sites.nodes import Nodes
from headrace.api.store import Tx
from headrace.api.store.beginnings import begun_by
from headrace.api.store.names import people_named
from headrace.api.store.tables_site import EndpointRow, HaltRow, PersonRow
from headrace.api.store.tables_work import TransferRow
from headrace.client import models as m
from headrace.guardrails import new_id, shown

LOOK_S: Final = 1
_BYTES_OF_ONE: Final = 4
"""The most that a character takes in UTF-8."""
_NO_FOLDER: Final = "the service's data folder is gone, or another one lies in its place"
_BY_DISK: Final = "; nothing is planned or started until whoever runs the service mounts its disk again"
_UNREADABLE: Final = f"the file `{HALT}` in the data folder can't be read"

_BY_FILE: Final = (
    f"; nothing is planned or started until whoever runs the service removes the file `{HALT}` in its data folder"
)

Root = tuple[str, str]
"""Node key and name of a root."""


@dataclass(frozen=True, slots=True)
class Work:
    """Who and what a piece of work is about."""

    person: str
    agent: str | None
    roots: tuple[Root, ...]
    transfer: str = ""


_ALL = select(HaltRow)
_OF_TRANSFERS = select(HaltRow.subject, HaltRow.reason).where(
    HaltRow.scope == "transfer", HaltRow.subject.in_(bindparam("transfers", expanding=True))
)
_NONE = "no halts"
"""Where a writing transaction keeps that nothing is halted: nobody else halts anything meanwhile."""


class Halts:
    """What is halted."""

    def __init__(self, core: Core, nodes: Nodes, endpoints: Endpoints) -> None:
        """Keep halts in the store, and look for others."""
        self._core = core
        self._nodes = nodes
        self._endpoints = endpoints
        self._seen: tuple[str, ...] = ("",)
        core.jobs.every("look for halts", LOOK_S, self.look)

    async def look(self) -> None:
        """Notice what was halted or released by other ways than this service's."""
        async with self._core.database.read() as tx:
            halted = await tx.scalars(select(HaltRow.id).order_by(HaltRow.id))
            seen = (self._file_reason(), *halted)
        if seen != self._seen:
            self._seen = seen
            self._core.reactions.tell()

    async def require_none(self, tx: Tx, work: Work) -> None:
        """Refuse work that is halted, with `halted`."""
        reason = self._file_reason()
        if reason:
            until = _BY_DISK if reason == _NO_FOLDER else _BY_FILE
            raise ServiceError(Code.HALTED, because("everything is halted here", reason) + until)
        rows = list(await tx.scalars(_ALL))
        if not rows:
            tx.info[_NONE] = True
            return
        own = {("everything", ""), ("person", work.person), ("transfer", work.transfer)}
        own |= await self._subjects(tx, work) | ({("agent", work.agent)} if work.agent is not None else set())
        for row in rows:
            if (row.scope, row.subject) in own:
                raise ServiceError(Code.HALTED, because(f"an operator has halted {_what(row)}", row.reason))

    async def of_everything(self) -> str:
        """Return the reason for which everything is halted; empty when it is not."""
        reason = self._file_reason()
        if reason:
            return reason
        async with self._core.database.read() as tx:
            found = await tx.scalar(select(HaltRow.reason).where(HaltRow.scope == "everything"))
        return found or ""

    async def counts(self, tx: Tx) -> dict[str, int]:
        """Count what is halted by its scope, every scope named; `everything` counts the file, too."""
        found = await tx.execute(select(HaltRow.scope, func.count()).group_by(HaltRow.scope))
        counts = dict.fromkeys(get_args(m.HaltScope), 0)
        for scope, number in found:
            counts[scope] = number
        counts["everything"] += bool(self._file_reason())
        return counts

    async def list(self) -> list[m.Halt]:
        """Everything that is halted, the newest first."""
        async with self._core.database.read() as tx:
            rows = await tx.scalars(select(HaltRow).order_by(HaltRow.at.desc()))
            found = [_view(row) for row in rows]
        reason = self._file_reason()
        file = m.Halt(id=HALT, scope="everything", reason=reason, person_name="the file `halt`") if reason else None
        return [file, *found] if file else found

    async def halt(self, caller: Caller, request: m.HaltRequest) -> m.Halt:
        """Halt something: what runs of it stops and waits."""
        async with self._core.database.write(first=True) as tx:
            subject, name = await self._subject(tx, request.scope, request.subject)
            row = HaltRow(
                id=new_id("ht"),
                scope=request.scope,
                subject=subject,
                subject_name=name,
                reason=request.reason,
                person=caller.principal.id,
                at=self._core.clock(),
            )
            tx.add(row)
            try:
                await tx.flush()
            except IntegrityError as error:
                raise ServiceError(Code.HALT_STATE, f"{_what(row)} is halted already") from error
            detail = {"scope": row.scope, "subject": subject, "name": name, "reason": row.reason}
            await self._core.audit.append(tx, m.AuditKind.HALTED, caller=caller, subject=row.id, detail=detail)
            await self._core.outbox.write(tx, m.ChangeKind.HALT, row.id, "halted")
            await tx.refresh(row)
        await self.look()
        return _view(row)

    async def release(self, caller: Caller, halt: str) -> None:
        """Release a halt; what waited for it goes on."""
        if halt == HALT or (halt == "everything" and self._file_reason()):
            raise ServiceError(
                Code.HALT_STATE,
                f"the file `{HALT}` in the service's data folder halts everything; whoever runs the service removes it",
            )
        async with self._core.database.write(first=True) as tx:
            row = await tx.get(HaltRow, halt)
            row = row or await begun_by(
                tx, _ALL, HaltRow.id, halt, prefix="ht_", things="halts", unknown=Code.UNKNOWN_HALT
            )
            if row is None:
                raise ServiceError(
                    Code.UNKNOWN_HALT, f"there is no halt `{shown(halt[:80])}`: `headrace halts` lists them"
                )
            detail = {"scope": row.scope, "subject": row.subject, "name": row.subject_name}
            await self._core.audit.append(tx, m.AuditKind.HALT_RELEASED, caller=caller, subject=row.id, detail=detail)
            await self._core.outbox.write(tx, m.ChangeKind.HALT, row.id, "released")
            await tx.delete(row)
        await self.look()

    async def of_transfers(self, tx: Tx, transfers: Sequence[str]) -> dict[str, str]:
        """Return the reason of each of these transfers that is halted itself."""
        if not transfers or _NONE in tx.info:
            return {}
        return {row.subject: row.reason for row in await tx.execute(_OF_TRANSFERS, {"transfers": transfers})}

    async def _subjects(self, tx: Tx, work: Work) -> set[tuple[str, str]]:
        """Return the endpoints and nodes of a piece of work, as halts name them."""
        found = {("node", key) for key, _ in work.roots}
        rows = await tx.scalars(select(EndpointRow).where(EndpointRow.node_key.in_([key for key, _ in work.roots])))
        return found | {("endpoint", row.pk) for row in rows if (row.node_key, row.root) in work.roots}

    async def _subject(self, tx: Tx, scope: str, named: str) -> tuple[str, str]:
        """Return the subject of a halt as it is stored, and its name for people."""
        match scope:
            case "everything":
                if named:
                    raise ServiceError(
                        Code.INVALID_REQUEST, "everything is halted as a whole; give no subject", fields=("subject",)
                    )
                return "", ""
            case "transfer":
                row = await tx.get(TransferRow, named)
                row = row or await begun_by(
                    tx,
                    select(TransferRow),
                    TransferRow.id,
                    named,
                    prefix="tr_",
                    things="transfers",
                    unknown=Code.UNKNOWN_TRANSFER,
                )
                if row is None:
                    raise ServiceError(
                        Code.UNKNOWN_TRANSFER, f"there is no transfer `{shown(named)}`: `headrace status` lists them"
                    )
                return row.id, row.id
            case "person":
                return await _person(tx, named)
            case "endpoint":
                known = await self._endpoints.find(tx, named)
                return await self._endpoints.pk(tx, known), known.id
            case "node":
                return await self._nodes.key_of(tx, named)
            case _:
                if not named:
                    raise ServiceError(Code.INVALID_REQUEST, "name the assistant", fields=("subject",))
                return named, named

    def _file_reason(self) -> str:
        """Return the reason in the file, `""` when there is none; where its folder is gone, nobody knows of a file."""
        if not self._core.folder.is_here:
            return _NO_FOLDER
        file = self._core.settings.data / HALT
        try:
            # Whatever stands there halts, also what can't be read: never open what may wait for a writer.
            if not stat.S_ISREG(file.stat().st_mode):
                return _UNREADABLE
            with file.open("rb") as opened:
                text = opened.read(m.MAX_REASON * _BYTES_OF_ONE).decode(errors="replace").strip()
        except FileNotFoundError:
            return _UNREADABLE if file.is_symlink() else ""
        except OSError:
            return _UNREADABLE
        return text[: m.MAX_REASON] or "no reason is given"


@dataclass(frozen=True, slots=True)
class PlanEnd:
    """A folder or file that a sealed plan is about."""

    node: str
    root: str
    path: tuple[str, ...]


def ends_of(document: str) -> tuple[PlanEnd, ...]:
    """Return the source and destination of a sealed plan; none of a document that can't be read."""
    try:
        execution = json.loads(json.loads(document)["body"])["execution"]
        ends = (execution["source"], execution["destination"])
        return tuple(PlanEnd(end["node"], end["root"], tuple(end["path"])) for end in ends)
    except (ValueError, KeyError, TypeError):
        return ()


def roots_of(document: str) -> tuple[Root, ...]:
    """Return the roots that a sealed plan is about, each once; none of a document that can't be read."""
    return tuple(dict.fromkeys((end.node, end.root) for end in ends_of(document)))


def _what(row: HaltRow) -> str:
    return "everything" if row.scope == "everything" else f"the {row.scope} `{row.subject_name}`"


def _view(row: HaltRow) -> m.Halt:
    return m.Halt(
        id=row.id,
        scope=row.scope,
        subject=row.subject,
        subject_name=row.subject_name,
        reason=row.reason,
        person=row.person,
        person_name=row.person_name,
        at=row.at,
    )


async def _person(tx: Tx, named: str) -> tuple[str, str]:
    people = await people_named(tx, named)
    if not people:
        raise ServiceError(Code.UNKNOWN_PERSON, f"there is nobody `{shown(named)}` here")
    if len(people) > 1:
        # Names from elsewhere may be several people's.
        message = f"more than one person has the name `{shown(named)}`; give the id"
        raise ServiceError(Code.INVALID_REQUEST, message, fields=("subject",))
    row = await tx.get_one(PersonRow, people[0])
    return row.id, row.shown_name
