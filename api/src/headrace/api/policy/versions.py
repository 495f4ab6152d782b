"""The site's policy: versions, checking, proposing, publishing by a second person, rolling back."""

import asyncio
from collections.abc import Callable

from sqlalchemy import func, select

from headrace.api.caller import Caller
from headrace.api.core import Core
from headrace.api.errors import Code, ServiceError
from headrace.api.store import Tx, after_commit
from headrace.api.store.tables_site import PersonRow, PolicyRow
from headrace.client import models as m
from headrace.guardrails import (
    PolicyProblems,
    PolicySet,
    check_policy,
    default_policy_text,
    digest,
    run_examples,
    suggested_examples,
)

_SITE = "headrace"
"""Author of the version that a new site starts with."""
_MAX_LISTED = 200
_MAX_LISTED_CHARACTERS = 4_000_000
"""Of texts in one answer: with other signs than ASCII some four times as many bytes, which clients still take."""


class Policies:
    """Versions of the policy; the active one is kept parsed."""

    def __init__(self, core: Core) -> None:
        """Keep versions in the store."""
        self._core = core
        self._active: PolicySet | None = None

    @property
    def active(self) -> PolicySet | None:
        """The policy that decides now; `None` when there is none, so that everything is denied."""
        return self._active

    async def load(self) -> None:
        """Load the active version; a new site gets the default policy as version 1."""
        async with self._core.database.write() as tx:
            if await tx.scalar(select(func.count()).select_from(PolicyRow)) == 0:
                await self._install_default(tx)
            row = await tx.scalar(select(PolicyRow).where(PolicyRow.state == "active"))
        parsed = PolicySet.parse(row.text) if row else None
        self._active = parsed if isinstance(parsed, PolicySet) else None

    async def versions(self, after: int) -> m.Page[m.PolicyVersion]:
        """List versions, newest first, from the newest (`after` 0) or the one before `after`; raises nothing.

        A page ends after 200 versions, or when their texts fill an answer.
        """
        sizes = select(PolicyRow.number, func.length(PolicyRow.text)).order_by(PolicyRow.number.desc())
        if after:
            sizes = sizes.where(PolicyRow.number < after)
        async with self._core.database.read() as tx:
            listed, filled = list[int](), 0
            found = (await tx.execute(sizes.limit(_MAX_LISTED + 1))).all()
            for number, size in found[:_MAX_LISTED]:
                if listed and filled + size > _MAX_LISTED_CHARACTERS:
                    break
                listed.append(number)
                filled += size
            rows = await tx.scalars(
                select(PolicyRow).where(PolicyRow.number.in_(listed)).order_by(PolicyRow.number.desc())
            )
            left = len(found) > len(listed)
            return m.Page(items=[_view(row) for row in rows], next=str(listed[-1]) if left else None)

    async def check(self, text: m.PolicyText) -> m.PolicyCheck:
        """Say whether a text could be published."""
        parsed, ran = await asyncio.to_thread(_checked, text.text)
        if isinstance(parsed, PolicyProblems):
            return m.PolicyCheck(valid=False, problems=_problems(parsed), examples=ran)
        suggestions = await asyncio.to_thread(suggested_examples, parsed)
        lacking = [m.PolicySuggestion(rule=one.rule, lines=list(one.lines)) for one in suggestions]
        rules = [m.Rule(id=rule.id, reason=rule.reason) for rule in parsed.rules]
        return m.PolicyCheck(valid=True, problems=_problems(parsed), rules=rules, examples=ran, suggested=lacking)

    async def require_valid(self, text: m.PolicyText) -> PolicySet:
        """Check a text and refuse it with its first error."""
        parsed = await asyncio.to_thread(check_policy, text.text)
        if isinstance(parsed, PolicyProblems):
            raise ServiceError(
                Code.POLICY_INVALID,
                f"the policy has {len(parsed.problems)} problems; the first {_first(parsed)}; "
                "`headrace policy check FILE` lists them all",
                fields=("text",),
            )
        return parsed

    async def propose(self, caller: Caller, text: m.PolicyText) -> m.PolicyVersion:
        """Store a valid text as a version that a second person may publish."""
        parsed = await self.require_valid(text)
        async with self._core.database.write() as tx:
            return await self._store(tx, caller, text.text, parsed, text.note)

    async def _store(self, tx: Tx, caller: Caller, text: str, parsed: PolicySet, note: str) -> m.PolicyVersion:
        """Keep a text as a proposed version of the caller's."""
        number = (await tx.scalar(select(func.max(PolicyRow.number))) or 0) + 1
        row = PolicyRow(
            number=number,
            digest=parsed.version,
            state="proposed",
            author=caller.principal.id,
            note=note,
            created=self._core.clock(),
            text=text,
        )
        tx.add(row)
        await self._core.audit.append(
            tx, m.AuditKind.POLICY_PROPOSED, caller=caller, subject=str(number), detail={"digest": parsed.version}
        )
        await self._core.outbox.write(tx, m.ChangeKind.POLICY, str(number), row.state)
        await tx.refresh(row)
        return _view(row)

    async def digest(self, version: str) -> str:
        """Return the SHA-256 of a version's text, as it is stored now."""
        async with self._core.database.read() as tx:
            return digest((await _row(tx, version)).text.encode())

    async def publish(self, caller: Caller, version: str, agreed: str, tell: Callable[[str], None]) -> m.PolicyVersion:
        """Make a proposed version active, whose text has the digest `agreed`; its author can't. Its examples run again.

        `tell` hears the text before that is stored, and may refuse.

        Going back to a retired version takes two people, too: it is proposed again, for another person to publish.
        """
        async with self._core.database.read() as tx:
            text = (await _row(tx, version)).text
        # Up to a thousand rules and two hundred examples: nobody's writing waits for them.
        parsed = await asyncio.to_thread(check_policy, text)
        async with self._core.database.write() as tx:
            row = await _row(tx, version)
            if not digest(row.text.encode()) == digest(text.encode()) == agreed:
                raise ServiceError(
                    Code.WRONG_DIGEST, f"the text of version {version} has changed meanwhile; read it again"
                )
            if row.state == "active":
                raise ServiceError(Code.POLICY_STATE, f"version {version} is active already")
            going_back = row.state == "retired"
            if row.author == caller.principal.id and not going_back:
                raise ServiceError(Code.PUBLISH_OWN_POLICY, await self._second_person(tx, caller))
            if isinstance(parsed, PolicyProblems):
                raise ServiceError(
                    Code.POLICY_INVALID,
                    f"version {version} no longer passes its checks; the first problem {_first(parsed)}; "
                    "propose a mended text",
                )
            if going_back:
                return await self._store(tx, caller, row.text, parsed, f"back to version {version}")
            tell(row.text)
            for active in await tx.scalars(select(PolicyRow).where(PolicyRow.state == "active")):
                active.state = "retired"
            row.state, row.publisher, row.published = "active", caller.principal.id, self._core.clock()
            await self._core.audit.append(
                tx, m.AuditKind.POLICY_PUBLISHED, caller=caller, subject=version, detail={"digest": row.digest}
            )
            await self._core.outbox.write(tx, m.ChangeKind.POLICY, version, row.state)
            after_commit(tx, lambda: self._activate(parsed))
            await tx.refresh(row)
        return _view(row)

    def _activate(self, policies: PolicySet) -> None:
        """Let a policy decide from now on."""
        self._active = policies
        self._core.reactions.tell()

    async def _install_default(self, tx: Tx) -> None:
        text, now = default_policy_text(), self._core.clock()
        parsed = PolicySet.parse(text)
        if isinstance(parsed, PolicyProblems):
            raise ServiceError(Code.POLICY_INVALID, "the packaged default policy can't be parsed; reinstall Headrace")
        tx.add(
            PolicyRow(
                number=1,
                digest=parsed.version,
                state="active",
                author=_SITE,
                publisher=_SITE,
                note="the default policy",
                created=now,
                published=now,
                text=text,
            )
        )
        await self._core.audit.append(
            tx,
            m.AuditKind.POLICY_PUBLISHED,
            subject="1",
            detail={"digest": parsed.version, "note": "the default policy"},
        )

    async def _second_person(self, tx: Tx, caller: Caller) -> str:
        others = await tx.scalars(
            select(PersonRow).where(PersonRow.state == "active", PersonRow.id != caller.principal.id)
        )
        able = [person.name for person in others if {"policy_admin", "admin"} & set(person.roles)]
        if able:
            return f"you proposed this version, so another person publishes it: ask {', '.join(sorted(able)[:5])}"
        return (
            "you proposed this version, so another person publishes it, and nobody else here may: invite one with "
            "`headrace invite NAME --role policy_admin`"
        )


async def _row(tx: Tx, version: str) -> PolicyRow:
    row = await tx.get(PolicyRow, int(version)) if version.isascii() and version.isdigit() else None
    if row is None:
        raise ServiceError(
            Code.UNKNOWN_POLICY, f"there is no policy version `{version[:20]}`; list them with `headrace policy list`"
        )
    return row


def _first(parsed: PolicyProblems) -> str:
    """Name the first error, with its rule."""
    first = next(one for one in parsed.problems if one.severity == "error")
    where = f"(rule `{first.rule}`) " if first.rule else ""
    return f"{where}is: {first.message}"


def _checked(text: str) -> tuple[PolicySet | PolicyProblems, list[m.PolicyExample]]:
    """Check a text, and say of each of its examples whether it holds."""
    policies = PolicySet.parse(text)
    ran = run_examples(policies) if isinstance(policies, PolicySet) else ()
    return check_policy(text), [m.PolicyExample(line=one.line, failure=one.failure) for one in ran]


def _problems(parsed: PolicyProblems | PolicySet) -> list[m.PolicyProblem]:
    found = parsed.problems if isinstance(parsed, PolicyProblems) else parsed.warnings
    return [
        m.PolicyProblem(message=one.message, rule=one.rule, start=one.start, end=one.end, severity=one.severity)
        for one in found
    ]


def _view(row: PolicyRow) -> m.PolicyVersion:
    return m.PolicyVersion(
        version=str(row.number),
        state=row.state,
        author=row.author,
        author_name=row.author_name,
        publisher=row.publisher,
        publisher_name=row.publisher_name,
        note=row.note,
        created=row.created,
        published=row.published,
        text=row.text,
    )
