"""Identities and what their groups give in the store: `auth.IdentityStore`, with an audit event for every change."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import and_, delete, or_, select

from headrace.api.audit.chain import Audit
from headrace.api.caller import current_caller
from headrace.api.events.reactions import Reactions
from headrace.api.people.endings import AccessEnd, end_all, end_handed_out
from headrace.api.people.sql_store import MAX_PEOPLE, keeping_an_admin, person_of
from headrace.api.store import Database, Tx, after_commit
from headrace.api.store.tables_site import (
    ELSEWHERE,
    GroupBindingRow,
    GroupProposalRow,
    IdentityRow,
    PersonRow,
    SessionRow,
)
from headrace.auth import (
    Arrival,
    Bindings,
    GroupBinding,
    GroupProposal,
    IdentityRecord,
    PersonRecord,
    Role,
    StaysOut,
    by_group,
    digest_of,
    with_rights,
)
from headrace.client import models as m

LOST_FOR: Final = timedelta(days=1)
"""For how long health counts who has lost the last role by signing in."""


class SqlIdentityStore:
    """The identities of one service's people; each method is one transaction."""

    def __init__(self, database: Database, audit: Audit, reactions: Reactions) -> None:
        """Keep identities in `database`; `reactions` hears when somebody's rights or state have changed."""
        self._database = database
        self._audit = audit
        self._reactions = reactions

    async def lost_at_sign_in(self, now: datetime) -> Mapping[str, Mapping[str, datetime]]:
        """By issuer, who has lost the last role by signing in there since yesterday, and has none yet; and when."""
        query = select(IdentityRow, PersonRow.roles).join(PersonRow, PersonRow.id == IdentityRow.person)
        found: dict[str, dict[str, datetime]] = {}
        async with self._database.read() as tx:
            for row, roles in await tx.execute(query.where(IdentityRow.lost_role > now - LOST_FOR)):
                if row.lost_role is not None and not roles:
                    found.setdefault(row.issuer, {})[row.person] = row.lost_role
        return found

    async def identity(self, issuer: str, subject: str) -> IdentityRecord | None:
        """As in the port."""
        async with self._database.read() as tx:
            row = await tx.get(IdentityRow, (issuer, subject))
            return _identity(row) if row else None

    async def identities(self, *, after: tuple[str, str] | None = None) -> Sequence[IdentityRecord]:
        """As in the port."""
        query = select(IdentityRow).order_by(IdentityRow.issuer, IdentityRow.subject)
        if after is not None:
            issuer, subject = after
            same = and_(IdentityRow.issuer == issuer, IdentityRow.subject > subject)
            query = query.where(or_(IdentityRow.issuer > issuer, same))
        async with self._database.read() as tx:
            return [_identity(row) for row in await tx.scalars(query.limit(MAX_PEOPLE))]

    async def identities_of(self, *people: str) -> Sequence[IdentityRecord]:
        """As in the port."""
        query = select(IdentityRow).where(IdentityRow.person.in_(people))
        async with self._database.read() as tx:
            rows = await tx.scalars(query.order_by(IdentityRow.issuer, IdentityRow.subject))
            return [_identity(row) for row in rows]

    async def arrive(self, arrival: Arrival, newcomer: str, now: datetime) -> PersonRecord:
        """As in the port."""
        groups = tuple(sorted(arrival.groups))
        async with self._database.write() as tx:
            row = await tx.get(IdentityRow, (arrival.issuer, arrival.subject))
            if row is not None:
                row.groups, row.seen, row.gone = groups, now, None
                row.grant_hidden = arrival.grant
                person = await tx.get_one(PersonRow, row.person)
                await self._rename(tx, row, person, arrival.name)
                had = bool(person.roles)
                record = await self._refresh(tx, person, f"the groups that {arrival.issuer} named at a sign-in")
                if had and not record.roles:
                    row.lost_role = now
                return record
            person = PersonRow(
                id=newcomer, name=arrival.name, name_key=f"{ELSEWHERE}{newcomer}", kind="person", state="active",
                roles=(), groups=(), granted_roles=(), granted_groups=(), created=now,
            )  # fmt: skip
            row = IdentityRow(
                issuer=arrival.issuer, subject=arrival.subject, person=newcomer, name=arrival.name, groups=groups,
                created=now, seen=now, grant_hidden=arrival.grant,
            )  # fmt: skip
            record = with_rights(person_of(person), (_identity(row),), by_group(await _bindings(tx)))
            if not record.roles:
                return record
            person.roles, person.groups = tuple(sorted(record.roles)), tuple(sorted(record.groups))
            tx.add(person)
            await tx.flush()
            tx.add(row)
            detail = {**_rights(person), "issuer": arrival.issuer, "subject": arrival.subject}
            await self._note(tx, m.AuditKind.PERSON_ARRIVED, newcomer, detail, person=newcomer)
            return record

    async def _rename(self, tx: Tx, row: IdentityRow, person: PersonRow, name: str) -> None:
        """Note a name that an identity has elsewhere; it is its person's, unless that has a name here."""
        former, row.name = person.name, name
        if person.local or former == name:
            return
        person.name = name
        detail = {"issuer": row.issuer, "subject": row.subject, "name_before": former, "name": name}
        await self._note(tx, m.AuditKind.PERSON_RENAMED, person.id, detail, person=person.id)

    async def renew(
        self, issuer: str, subject: str, groups: frozenset[str] | None, now: datetime, *, grant: str | None = None
    ) -> bool:
        """As in the port."""
        async with self._database.write() as tx:
            row = await tx.get(IdentityRow, (issuer, subject))
            if row is None or grant not in {None, row.grant_hidden}:
                return False
            await self._renew(tx, row, groups, now)
            return True

    async def _renew(self, tx: Tx, row: IdentityRow, groups: frozenset[str] | None, now: datetime) -> None:
        if groups is None:
            row.gone = row.gone or now
        else:
            row.groups, row.gone = tuple(sorted(groups)), None
        person = await tx.get_one(PersonRow, row.person)
        if not (await self._refresh(tx, person, f"what {row.issuer} says")).roles:
            await end_all(tx, person, AccessEnd.WITHOUT_ROLE)

    async def rename(self, issuer: str, subject: str, name: str) -> None:
        """As in the port."""
        async with self._database.write() as tx:
            row = await tx.get(IdentityRow, (issuer, subject))
            if row is not None:
                await self._rename(tx, row, await tx.get_one(PersonRow, row.person), name)

    async def keep_grant(self, issuer: str, subject: str, former: str | None, grant: str) -> None:
        """As in the port."""
        async with self._database.write() as tx:
            row = await tx.get(IdentityRow, (issuer, subject))
            if row is not None and row.grant_hidden == former:
                row.grant_hidden = grant

    async def lapse(self, issuer: str, subject: str, grant: str, now: datetime) -> bool:
        """As in the port."""
        async with self._database.write() as tx:
            row = await tx.get(IdentityRow, (issuer, subject))
            if row is None or row.grant_hidden != grant:
                return False
            row.grant_hidden = None
            await self._renew(tx, row, None, now)
            return True

    async def grant(
        self, person: str, roles: frozenset[Role] | None, groups: frozenset[str] | None
    ) -> PersonRecord | None:
        """As in the port."""
        async with self._database.write() as tx:
            row = await tx.get(PersonRow, person)
            if row is None:
                return None
            if roles is not None:
                row.granted_roles = tuple(sorted(roles))
            if groups is not None:
                row.granted_groups = tuple(sorted(groups))
            async with keeping_an_admin(tx):
                return await self._refresh(tx, row, "an administrator")

    async def enable(self, person: str) -> PersonRecord | None:
        """As in the port."""
        async with self._database.write() as tx:
            row = await tx.get(PersonRow, person)
            if row is None or row.state != "disabled":
                return person_of(row) if row else None
            await end_all(tx, row, AccessEnd.DISABLED)
            row.state = "active"
            await self._note(tx, m.AuditKind.PERSON_ENABLED, person, {"name": row.name})
            after_commit(tx, self._reactions.tell)
            return await self._refresh(tx, row, "an administrator")

    async def link(self, person: str, issuer: str, subject: str, now: datetime) -> PersonRecord | None:
        """As in the port."""
        async with self._database.write() as tx:
            owner = await tx.get(PersonRow, person)
            if owner is None:
                return None
            row = await tx.get(IdentityRow, (issuer, subject))
            if row is None:
                row = IdentityRow(issuer=issuer, subject=subject, person=person, name="", groups=(), created=now)
                tx.add(row)
            else:
                former = await tx.get_one(PersonRow, row.person)
                if former.state == "disabled" and former.id != person:
                    raise StaysOut
                row.person = person
                async with keeping_an_admin(tx):
                    await self._left(tx, former)
            await self._note(
                tx, m.AuditKind.IDENTITY_LINKED, person, {"name": owner.name, "issuer": issuer, "subject": subject}
            )
            return await self._refresh(tx, owner, "a linked identity")

    async def unlink(self, issuer: str, subject: str) -> PersonRecord | None:
        """As in the port."""
        async with self._database.write() as tx:
            row = await tx.get(IdentityRow, (issuer, subject))
            if row is None:
                return None
            former = await tx.get_one(PersonRow, row.person)
            if former.state == "disabled":
                raise StaysOut
            await tx.delete(row)
            detail = {"name": former.name, "issuer": issuer, "subject": subject}
            await self._note(tx, m.AuditKind.IDENTITY_UNLINKED, former.id, detail)
            async with keeping_an_admin(tx):
                return await self._left(tx, former)

    async def bindings(self) -> Sequence[GroupBinding]:
        """As in the port."""
        async with self._database.read() as tx:
            return await _bindings(tx)

    async def proposal(self) -> GroupProposal | None:
        """As in the port."""
        async with self._database.read() as tx:
            row = await tx.scalar(select(GroupProposalRow))
            if row is None:
                return None
            author = await tx.get(PersonRow, row.author)
            return GroupProposal(
                id=row.id,
                author=row.author,
                author_name=author.shown_name if author else "",
                created=row.created,
                bindings=_proposed(row.bindings),
            )

    async def propose(self, proposal: GroupProposal | None) -> None:
        """As in the port."""
        async with self._database.write() as tx:
            withdrawn = await tx.scalar(select(GroupProposalRow.id))
            await tx.execute(delete(GroupProposalRow))
            if proposal is None:
                if withdrawn is not None:
                    await self._note(tx, m.AuditKind.GROUPS_WITHDRAWN, withdrawn, {})
                return
            text = json.dumps([[b.issuer, b.group, sorted(b.roles), sorted(b.groups)] for b in proposal.bindings])
            tx.add(GroupProposalRow(id=proposal.id, author=proposal.author, created=proposal.created, bindings=text))
            detail = {"bindings": str(len(proposal.bindings)), "digest": proposal.digest}
            await self._note(tx, m.AuditKind.GROUPS_PROPOSED, proposal.id, detail)

    async def publish(self, proposal: str) -> bool:
        """As in the port."""
        async with self._database.write() as tx:
            row = await tx.get(GroupProposalRow, proposal)
            if row is None:
                return False
            bindings = _proposed(row.bindings)
            detail = {"author": row.author, "digest": digest_of(bindings)}
            await tx.delete(row)
            await self._note(tx, m.AuditKind.GROUPS_PUBLISHED, proposal, detail)
            before, after = by_group(await _bindings(tx)), by_group(bindings)
            await tx.execute(delete(GroupBindingRow))
            for one in bindings:
                tx.add(
                    GroupBindingRow(
                        issuer=one.issuer,
                        group_name=one.group,
                        roles=tuple(sorted(one.roles)),
                        groups=tuple(sorted(one.groups)),
                    )
                )
            changed = (key for key in before.keys() | after.keys() if before.get(key) != after.get(key))
            for issuer, group in sorted(changed):
                bound = after.get((issuer, group))
                detail = {
                    "issuer": issuer,
                    "group": group,
                    "roles": " ".join(sorted(bound.roles)) if bound else "",
                    "groups": " ".join(sorted(bound.groups)) if bound else "",
                }
                await self._note(tx, m.AuditKind.GROUP_BOUND, group, detail)
            theirs = select(PersonRow).where(PersonRow.id.in_(select(IdentityRow.person))).order_by(PersonRow.id)
            async with keeping_an_admin(tx):
                for person in (await tx.scalars(theirs)).all():
                    await self._refresh(tx, person, "what groups give", after)
            return True

    async def _left(self, tx: Tx, person: PersonRow) -> PersonRecord:
        """End the sessions of somebody who has lost an identity."""
        await tx.execute(delete(SessionRow).where(SessionRow.person == person.id))
        return await self._refresh(tx, person, "a lost identity")

    async def _refresh(self, tx: Tx, row: PersonRow, cause: str, bindings: Bindings | None = None) -> PersonRecord:
        """Give a person what now counts (by `bindings`, unless given those of the store); a change is audited."""
        await tx.flush()
        mine = await tx.scalars(select(IdentityRow).where(IdentityRow.person == row.id))
        bound = by_group(await _bindings(tx)) if bindings is None else bindings
        record = with_rights(person_of(row), map(_identity, mine), bound)
        roles, groups = tuple(sorted(record.roles)), tuple(sorted(record.groups))
        if (tuple(sorted(row.roles)), tuple(sorted(row.groups))) != (roles, groups):
            row.roles, row.groups = roles, groups
            await end_handed_out(tx, row.id, record.roles)
            await self._note(tx, m.AuditKind.RIGHTS_CHANGED, row.id, {**_rights(row), "cause": cause})
            after_commit(tx, self._reactions.tell)
        if row.state != record.state:
            row.state = record.state
            suspended = record.state == "suspended"
            kind = m.AuditKind.PERSON_SUSPENDED if suspended else m.AuditKind.PERSON_BACK
            await self._note(tx, kind, row.id, {"name": row.name, "cause": cause})
            after_commit(tx, self._reactions.tell)
            if suspended:
                await end_all(tx, row, AccessEnd.SUSPENDED)
        return record

    async def _note(
        self, tx: Tx, kind: m.AuditKind, subject: str, detail: Mapping[str, str], *, person: str | None = None
    ) -> None:
        caller = current_caller()
        if caller is None:
            await self._audit.append(tx, kind, person=person or subject, subject=subject, detail=detail)
        else:
            await self._audit.append(tx, kind, caller=caller, subject=subject, detail=detail)


async def _bindings(tx: Tx) -> list[GroupBinding]:
    query = select(GroupBindingRow).order_by(GroupBindingRow.issuer, GroupBindingRow.group_name)
    return [
        GroupBinding(
            issuer=row.issuer,
            group=row.group_name,
            roles=frozenset(map(Role, row.roles)),
            groups=frozenset(row.groups),
        )
        for row in await tx.scalars(query)
    ]


def _proposed(text: str) -> tuple[GroupBinding, ...]:
    return tuple(
        GroupBinding(issuer=issuer, group=group, roles=frozenset(map(Role, roles)), groups=frozenset(groups))
        for issuer, group, roles, groups in json.loads(text)
    )


def _identity(row: IdentityRow) -> IdentityRecord:
    return IdentityRecord(
        issuer=row.issuer,
        subject=row.subject,
        person=row.person,
        name=row.name,
        groups=frozenset(row.groups),
        created=row.created,
        seen=row.seen,
        gone=row.gone,
        grant=row.grant_hidden,
    )


def _rights(row: PersonRow) -> dict[str, str]:
    return {"name": row.name, "roles": " ".join(row.roles), "groups": " ".join(row.groups)}
