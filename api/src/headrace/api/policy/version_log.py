"""Versions of a text that a whole site goes by: proposed, published by a second person, rolled back by two.

What the text is (policy, links and classes) is its subclass's to know: how it is parsed, what stands against it, and
what is in force once it is published.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from sqlalchemy import func, select

from headrace.api.caller import Caller
from headrace.api.core import Core
from headrace.api.errors import Code, ServiceError
from headrace.api.store import Tx, after_commit
from headrace.api.store.tables_site import PersonRow, VersionRow
from headrace.auth import SCOPES_OF_ROLE, Role, Scope
from headrace.client import models as m
from headrace.client.text import sentence
from headrace.guardrails import digest

SITE = "headrace"
"""Author of the version that a new site starts with."""
_PROPOSERS = frozenset(role for role in Role if Scope.POLICY_WRITE in SCOPES_OF_ROLE[role])
_MAX_LISTED = 200
_MAX_LISTED_CHARACTERS = 4_000_000
"""Of texts in one answer: with other signs than ASCII some four times as many bytes, which clients still take."""

R = TypeVar("R", bound=VersionRow)
P = TypeVar("P")


@dataclass(frozen=True, slots=True)
class Called:
    """What the versions of one kind of text are called: in the audit, in changes, and in refusals."""

    what: str
    proposed: m.AuditKind
    withdrawn: m.AuditKind
    published: m.AuditKind
    change: m.ChangeKind
    unknown: Code
    state: Code
    own: Code
    listed_by: str
    shown_by: str
    proposed_by: str

    def propose_again(self, version: int) -> str:
        """Say how a version that nobody may publish as it is becomes one that a second person may."""
        return (
            f"read it (`{self.shown_by} {version} > FILE`), and propose it again in your own session (in the console, "
            f"or `{self.proposed_by} FILE`); then another person publishes it"
        )


class VersionLog(ABC, Generic[R, P]):
    """Versions of a text of kind `P` in rows `R`; the active one is kept parsed."""

    _words: Called

    def __init__(self, core: Core, rows: type[R]) -> None:
        """Keep versions in the store."""
        self._core = core
        self._rows = rows
        self._active: P | None = None

    @property
    def active(self) -> P | None:
        """What is in force now."""
        return self._active

    # -- what the text is --

    @abstractmethod
    def _first(self) -> tuple[str, str]:
        """Return the text that a new site starts with, and its note."""

    @abstractmethod
    def _read(self, text: str) -> P | None:
        """Parse a stored text that is in force; nothing when that can't be."""

    # -- what is kept --

    async def load(self) -> None:
        """Load the active version; a new site gets the first."""
        async with self._core.database.write() as tx:
            if await tx.scalar(select(func.count()).select_from(self._rows)) == 0:
                await self._install(tx)
            row = await tx.scalar(select(self._rows).where(self._rows.state == "active"))
        self._active = self._read(row.text) if row else None

    async def _page(self, after: int) -> tuple[list[tuple[R, str]], str | None]:
        """List versions, newest first, from the newest (`after` 0) or the one before `after`, and what is next.

        With each comes what stands against publishing it. A page ends after 200 versions, or when their texts fill an
        answer.
        """
        rows = self._rows
        sizes = select(rows.number, func.length(rows.text)).order_by(rows.number.desc())
        if after:
            sizes = sizes.where(rows.number < after)
        async with self._core.database.read() as tx:
            listed, filled = list[int](), 0
            found = (await tx.execute(sizes.limit(_MAX_LISTED + 1))).all()
            for number, size in found[:_MAX_LISTED]:
                if listed and filled + size > _MAX_LISTED_CHARACTERS:
                    break
                listed.append(number)
                filled += size
            query = select(rows).where(rows.number.in_(listed)).order_by(rows.number.desc())
            shown = (await tx.scalars(query)).all()
            against = await self._obstacles(tx, shown)
            page = [(row, sentence(against.get(row.number, ""))) for row in shown]
            return page, str(listed[-1]) if len(found) > len(listed) else None

    async def digest(self, version: str) -> str:
        """Return the SHA-256 of a version's text, as it is stored now."""
        return digest((await self._text(version)).encode())

    async def _text(self, version: str) -> str:
        async with self._core.database.read() as tx:
            return (await self._row(tx, version)).text

    async def _store(self, tx: Tx, caller: Caller, text: str, note: str) -> R:
        """Keep a text as a proposed version of the caller's, to replace what is in force now."""
        number = (await tx.scalar(select(func.max(self._rows.number))) or 0) + 1
        row = self._rows(
            number=number,
            digest=digest(text.encode()),
            state="proposed",
            author=caller.principal.id,
            note=note,
            created=self._core.clock(),
            text=text,
            in_person=caller.principal.session,
            base=await self._in_force(tx),
        )
        tx.add(row)
        detail = {"digest": row.digest}
        await self._core.audit.append(tx, self._words.proposed, caller=caller, subject=str(number), detail=detail)
        await self._core.outbox.write(tx, self._words.change, str(number), row.state)
        await tx.refresh(row)
        return row

    async def _to_publish(self, tx: Tx, caller: Caller, version: str, agreed: str, text: str) -> R:
        """Return the row of a version whose text is still `text`, with the digest `agreed`; its author gets none.

        Going back to a retired version takes two people, too: it is proposed again, for another person to publish.
        """
        row, words = await self._row(tx, version), self._words
        if not digest(row.text.encode()) == digest(text.encode()) == agreed:
            raise ServiceError(Code.WRONG_DIGEST, f"the text of version {version} has changed meanwhile; read it again")
        if row.state == "active":
            raise ServiceError(words.state, f"version {version} is active already")
        against = (await self._obstacles(tx, [row])).get(row.number)
        if against is not None:
            raise ServiceError(words.state, against)
        if row.author == caller.principal.id and row.state != "retired":
            raise ServiceError(words.own, await self._second_person(tx, caller))
        return row

    async def _withdraw(self, tx: Tx, caller: Caller, version: str) -> R:
        """Let a proposal of the caller's be published by nobody any more."""
        row, words = await self._row(tx, version), self._words
        if row.author != caller.principal.id:
            raise ServiceError(Code.FORBIDDEN, f"only the person who proposed version {version} withdraws it")
        if row.state != "proposed":
            raise ServiceError(words.state, f"version {version} is {row.state}, and only a proposal is withdrawn")
        row.state = "withdrawn"
        detail = {"digest": row.digest}
        await self._core.audit.append(tx, words.withdrawn, caller=caller, subject=version, detail=detail)
        await self._core.outbox.write(tx, words.change, version, row.state)
        await tx.refresh(row)
        return row

    async def _against(self, tx: Tx, row: R) -> str:
        """Say what stands against publishing a version; nothing when a second person may."""
        return sentence((await self._obstacles(tx, [row])).get(row.number, ""))

    async def _obstacles(self, tx: Tx, rows: Sequence[R]) -> Mapping[int, str]:
        """Say what stands against publishing versions as they are, by number; of those alone that have an obstacle.

        The author's word is the first of two people's: it counts while its author may still give it, said in person
        of what would change what is in force now. A token proves no person.
        """
        waiting = [row for row in rows if row.state in {"proposed", "withdrawn"}]
        if not waiting:
            return {}
        query = select(PersonRow).where(PersonRow.id.in_({row.author for row in waiting}))
        may = {one.id for one in await tx.scalars(query) if one.state == "active" and _PROPOSERS & set(one.roles)}
        in_force, found = await self._in_force(tx), dict[int, str]()
        for row in waiting:
            version = f"version {row.number}"
            if row.state == "withdrawn":
                why = f"{version} was withdrawn"
            elif row.base != in_force:
                why = f"{version} was not proposed as a change of version {in_force}, which is in force now"
            elif not row.in_person:
                why = f"{version} was proposed with a token, which does not prove a person"
            elif row.author not in may:
                why = f"the person who proposed {version} may not propose any more"
            else:
                continue
            found[row.number] = f"{why}; {self._words.propose_again(row.number)}"
        return found

    async def _in_force(self, tx: Tx) -> int:
        """Return the number of the version that is in force; 0 when none is."""
        return await tx.scalar(select(self._rows.number).where(self._rows.state == "active")) or 0

    async def _activate(  # noqa: PLR0913, PLR0917 - what is done and said of it
        self, tx: Tx, caller: Caller, row: R, parsed: P, detail: Mapping[str, str], tell: Callable[[P], None]
    ) -> None:
        """Put a version in force with `tx`; `tell` hears of it then."""
        for active in await tx.scalars(select(self._rows).where(self._rows.state == "active")):
            active.state = "retired"
        row.state, row.publisher, row.published = "active", caller.principal.id, self._core.clock()
        said = {"digest": row.digest, **detail}
        await self._core.audit.append(tx, self._words.published, caller=caller, subject=str(row.number), detail=said)
        await self._core.outbox.write(tx, self._words.change, str(row.number), row.state)
        after_commit(tx, lambda: tell(parsed))
        await tx.refresh(row)

    async def _install(self, tx: Tx) -> None:
        (text, note), now = self._first(), self._core.clock()
        row = self._rows(
            number=1,
            digest=digest(text.encode()),
            state="active",
            author=SITE,
            publisher=SITE,
            note=note,
            created=now,
            published=now,
            text=text,
        )
        tx.add(row)
        detail = {"digest": row.digest, "note": note}
        await self._core.audit.append(tx, self._words.published, subject="1", detail=detail)

    async def _second_person(self, tx: Tx, caller: Caller) -> str:
        others = await tx.scalars(
            select(PersonRow).where(PersonRow.state == "active", PersonRow.id != caller.principal.id)
        )
        able = [person.shown_name for person in others if {"policy_admin", "admin"} & set(person.roles)]
        if able:
            return f"you proposed this version, so another person publishes it: ask {', '.join(sorted(able)[:5])}"
        return (
            "you proposed this version, so another person publishes it, and nobody else here may: invite one with "
            "`headrace invite NAME --role policy_admin`"
        )

    async def _row(self, tx: Tx, version: str) -> R:
        # As it is written in lists and signed statements: `02` is none.
        written = version.isascii() and version.isdigit() and str(int(version)) == version
        row = await tx.get(self._rows, int(version)) if written else None
        if row is None:
            words = self._words
            raise ServiceError(
                words.unknown, f"there is no {words.what} version `{version[:20]}`; list them with `{words.listed_by}`"
            )
        return row
