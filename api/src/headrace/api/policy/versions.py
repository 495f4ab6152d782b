"""The site's policy: versions, checking, proposing, publishing by a second person, rolling back."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Protocol

from sqlalchemy import select

from headrace.api.caller import Caller
from headrace.api.core import Core
from headrace.api.errors import Code, ServiceError
from headrace.api.policy.last_published import LastPublished
from headrace.api.policy.version_log import Called, VersionLog
from headrace.api.store import Tx
from headrace.api.store.tables_site import PolicyRow
from headrace.client import models as m
from headrace.guardrails import (
    Document,
    PolicyProblems,
    PolicySet,
    check_policy,
    default_policy_text,
    digest,
    run_examples,
    suggested_examples,
)


class PolicyProof(Protocol):
    """Returns the statement by which a stored policy decides, or nothing (`signing.signer`)."""

    def __call__(self, version: str, text: str, statement: str, *, adopts: bool) -> str | None: ...  # noqa: D102


class Policies(VersionLog[PolicyRow, PolicySet]):
    """Versions of the policy; while `active` is `None`, everything is denied."""

    _words = Called(
        what="policy",
        proposed=m.AuditKind.POLICY_PROPOSED,
        withdrawn=m.AuditKind.POLICY_WITHDRAWN,
        published=m.AuditKind.POLICY_PUBLISHED,
        change=m.ChangeKind.POLICY,
        unknown=Code.UNKNOWN_POLICY,
        state=Code.POLICY_STATE,
        own=Code.PUBLISH_OWN_POLICY,
        listed_by="headrace policy list",
        shown_by="headrace policy show",
        proposed_by="headrace policy propose",
    )

    def __init__(self, core: Core, classes: Callable[[], frozenset[str]]) -> None:
        """Keep versions in the store; `@qos` names one of `classes`, those in force."""
        super().__init__(core, PolicyRow)
        self._classes = classes
        self._last: LastPublished | None = None
        self._publishing = asyncio.Lock()
        self.unproven: str | None = None
        """The version that the store calls active, and that nobody is proven to have published: it does not decide."""

    async def require_proven(self, proof: PolicyProof, last: LastPublished) -> None:
        """Let the loaded version decide only if a signed statement says so, and none was published after it.

        What a service without statements left, and the first policy of a new site, is adopted where `last` knows
        nothing yet: that is no row which whoever writes to the database can change.
        """
        self._last, known = last, await asyncio.to_thread(last.read)
        async with self._core.database.write() as tx:
            row = await tx.scalar(select(PolicyRow).where(PolicyRow.state == "active"))
            if row is None:
                return
            found, told = proof(str(row.number), row.text, row.statement, adopts=known is None), _said(row)
            if found is None or (known is not None and not told.items() <= known.items()):
                self._active, self.unproven = None, str(row.number)
                return
            row.statement = found
            # What was verified decides: the text that was loaded before may have been another one.
            self._active = self._read(row.text)
        await self._note(told)

    def _first(self) -> tuple[str, str]:
        text = default_policy_text()
        if isinstance(PolicySet.parse(text), PolicyProblems):
            raise ServiceError(Code.POLICY_INVALID, "the packaged default policy can't be parsed; reinstall Headrace")
        return text, "the default policy"

    def _read(self, text: str) -> PolicySet | None:
        parsed = PolicySet.parse(text)
        return parsed if isinstance(parsed, PolicySet) else None

    async def versions(self, after: int) -> m.Page[m.PolicyVersion]:
        """List versions, newest first, from the newest (`after` 0) or the one before `after`; raises nothing."""
        rows, further = await self._page(after)
        return m.Page(items=[_view(row, against) for row, against in rows], next=further)

    async def check(self, text: m.PolicyText) -> m.PolicyCheck:
        """Say whether a text could be published."""
        parsed, ran = await asyncio.to_thread(self._checked_with_examples, text.text)
        if isinstance(parsed, PolicyProblems):
            return m.PolicyCheck(valid=False, problems=_problems(parsed), examples=ran)
        suggestions = await asyncio.to_thread(suggested_examples, parsed)
        lacking = [m.PolicySuggestion(rule=one.rule, lines=list(one.lines)) for one in suggestions]
        rules = [m.Rule(id=rule.id, reason=rule.reason) for rule in parsed.rules]
        return m.PolicyCheck(valid=True, problems=_problems(parsed), rules=rules, examples=ran, suggested=lacking)

    async def require_valid(self, text: m.PolicyText) -> PolicySet:
        """Check a text and refuse it with its first error."""
        parsed = await asyncio.to_thread(self._checked, text.text)
        if isinstance(parsed, PolicyProblems):
            raise ServiceError(
                Code.POLICY_INVALID,
                f"the policy has {len(parsed.problems)} problems; the first {_first_error(parsed)}; "
                "`headrace policy check FILE` lists them all",
                fields=("text",),
            )
        return parsed

    async def propose(self, caller: Caller, text: m.PolicyText) -> m.PolicyVersion:
        """Store a valid text as a version that a second person may publish."""
        await self.require_valid(text)
        async with self._core.database.write() as tx:
            row = await self._store(tx, caller, text.text, text.note)
            return _view(row, await self._against(tx, row))

    async def withdraw(self, caller: Caller, version: str) -> m.PolicyVersion:
        """Take a proposal of the caller's back."""
        async with self._core.database.write() as tx:
            row = await self._withdraw(tx, caller, version)
            return _view(row, await self._against(tx, row))

    async def check_publishing(self, caller: Caller, version: str, agreed: str) -> None:
        """Refuse what `publish` would refuse, before a proof is asked for."""
        text = await self._text(version)
        async with self._core.database.read() as tx:
            await self._to_publish(tx, caller, version, agreed, text)
        _require_sound(version, await asyncio.to_thread(self._checked, text))

    async def publish(
        self, caller: Caller, version: str, agreed: str, tell: Callable[[str], Document]
    ) -> m.PolicyVersion:
        """Make a proposed version active, whose text has the digest `agreed`; its author can't. Its examples run again.

        `tell` hears the text before that is stored, and returns the statement of who published it, or refuses.
        """
        text = await self._text(version)
        # Up to a thousand rules and two hundred examples: nobody's writing waits for them.
        parsed = await asyncio.to_thread(self._checked, text)
        async with self._publishing:
            async with self._core.database.write() as tx:
                row = await self._to_publish(tx, caller, version, agreed, text)
                parsed = _require_sound(version, self._with_known_classes(parsed))
                if row.state == "retired":
                    return _view(await self._store(tx, caller, row.text, f"back to version {version}"))
                statement = tell(row.text)
                row.statement = statement.text
                await self._announce(tx, row)
                await self._activate(tx, caller, row, parsed, {"statement": statement.digest}, self._decide_by)
            await self._note(_said(row))
        return _view(row)

    async def _announce(self, tx: Tx, row: PolicyRow) -> None:
        """Name in the file, before the commit, what decides and what comes next; after it the next alone is noted."""
        if self._last is None:
            return
        before = await tx.scalar(select(PolicyRow).where(PolicyRow.state == "active"))
        try:
            await asyncio.to_thread(self._last.write, ({} if before is None else _said(before)) | _said(row))
        except OSError as error:
            message = f"which version decides can't be noted in the data folder ({error.strerror}); nothing was changed"
            raise ServiceError(Code.AUDIT_UNWRITABLE, message) from error

    async def _note(self, versions: Mapping[int, str]) -> None:
        if self._last is not None:
            with suppress(OSError):  # the next start notes it
                await asyncio.to_thread(self._last.write, versions)

    def _decide_by(self, policies: PolicySet) -> None:
        """Let a policy decide from now on."""
        self._active, self.unproven = policies, None
        self._core.reactions.tell()

    def _checked(self, text: str) -> PolicySet | PolicyProblems:
        return self._with_known_classes(check_policy(text))

    def _with_known_classes(self, parsed: PolicySet | PolicyProblems) -> PolicySet | PolicyProblems:
        """Refuse a text whose rules name a class that is not in force."""
        if isinstance(parsed, PolicyProblems):
            return parsed
        unknown = parsed.unknown_classes(self._classes())
        return PolicyProblems((*parsed.warnings, *unknown)) if unknown else parsed

    def _checked_with_examples(self, text: str) -> tuple[PolicySet | PolicyProblems, list[m.PolicyExample]]:
        """Check a text, and say of each of its examples whether it holds."""
        policies = PolicySet.parse(text)
        ran = run_examples(policies) if isinstance(policies, PolicySet) else ()
        return self._checked(text), [m.PolicyExample(line=one.line, failure=one.failure) for one in ran]


def _require_sound(version: str, parsed: PolicySet | PolicyProblems) -> PolicySet:
    if isinstance(parsed, PolicyProblems):
        raise ServiceError(
            Code.POLICY_INVALID,
            f"version {version} no longer passes its checks; the first problem {_first_error(parsed)}; "
            "propose a mended text",
        )
    return parsed


def _first_error(parsed: PolicyProblems) -> str:
    """Name the first error, with its rule."""
    first = next(one for one in parsed.problems if one.severity == "error")
    where = f"(rule `{first.rule}`) " if first.rule else ""
    return f"{where}is: {first.message}"


def _problems(parsed: PolicyProblems | PolicySet) -> list[m.PolicyProblem]:
    found = parsed.problems if isinstance(parsed, PolicyProblems) else parsed.warnings
    return [
        m.PolicyProblem(message=one.message, rule=one.rule, start=one.start, end=one.end, severity=one.severity)
        for one in found
    ]


def _said(row: PolicyRow) -> dict[int, str]:
    return {row.number: digest(row.text.encode())}


def _view(row: PolicyRow, against: str = "") -> m.PolicyVersion:
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
        against=against,
    )
