"""Plans as people see them: finding, listing, explaining; and who may see which. A handle proves nothing."""

from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, Final, TypeVar

from sqlalchemy import ColumnElement, Select, and_, bindparam, func, or_, select

from headrace.api.caller import Caller
from headrace.api.core import Core
from headrace.api.errors import Code, ServiceError
from headrace.api.paging import MAX_COUNTED
from headrace.api.people.proofs import strength_of
from headrace.api.planning.found import EVERYTHING, Columns, Found, Searched
from headrace.api.planning.plan_steps import (
    CarriedOut,
    PlanStatus,
    Word,
    allowed_actions,
    awaits,
    needs,
    next_step,
    state_reason,
    warnings,
)
from headrace.api.planning.plan_ways import KEPT, Rights, approvable_by, rights_of, visible_by, ways_to_plans
from headrace.api.planning.redaction import Redaction, is_own, redacted
from headrace.api.planning.whose import ANYBODYS, Narrowed, Narrowing
from headrace.api.policy.versions import Policies
from headrace.api.private_words import without_private_words
from headrace.api.store import Tx
from headrace.api.store.beginnings import begun_by
from headrace.api.store.dialects import as_json
from headrace.api.store.documents import stored
from headrace.api.store.tables_site import PersonRow
from headrace.api.store.tables_work import ApprovalRow, ConfirmationRow, PlanRow, TransferRow
from headrace.api.store.ways import Way, first_of, rows_of
from headrace.client import models as m
from headrace.guardrails import MAX_AHEAD, PLAN_LIFETIME, NeedsApproval, Obligation, parse_obligations

_READY = PlanRow.state == m.PlanState.READY
_UNSTARTED = PlanRow.unstarted.is_(True)
_REFUSED = select(ApprovalRow.id).where(ApprovalRow.plan == PlanRow.id, ApprovalRow.verdict == "refused").exists()
_APPROVED = select(ApprovalRow.id).where(ApprovalRow.plan == PlanRow.id, ApprovalRow.verdict == "approved").exists()
_DECLINED = (
    select(ConfirmationRow.plan)
    .where(ConfirmationRow.plan == PlanRow.id, ConfirmationRow.verdict == "declined")
    .exists()
)
_SENTENCE = as_json(PlanRow.card)["canonical_sentence"].as_string()
_SHOWN: Final[Select[*tuple[Any, ...]]] = select(
    *(PlanRow.id, PlanRow.digest, PlanRow.state, PlanRow.requester, PlanRow.requester_name, PlanRow.token_made_by),
    *(PlanRow.agent, PlanRow.created, PlanRow.expires, PlanRow.card, PlanRow.deletes, PlanRow.obligations),
    PlanRow.policy_version,
)
"""What a list shows of a plan, and none of the other long texts."""
_SHOWN_TO_AGENTS: Final = _SHOWN.add_columns(PlanRow.document)
"""With what says which folders it is about: whether their names are withheld is asked of each."""
_LONGEST_OPEN: Final = MAX_AHEAD + PLAN_LIFETIME
"""A plan made earlier can't be started any more."""
_SINCE = (
    select(
        PlanRow.id.label("plan"),
        ConfirmationRow.verdict,
        ConfirmationRow.at,
        TransferRow.id,
        TransferRow.state,
        TransferRow.ended,
    )
    .outerjoin(ConfirmationRow, ConfirmationRow.plan == PlanRow.id)
    .outerjoin(TransferRow, TransferRow.plan == PlanRow.id)
    .where(PlanRow.id.in_(bindparam("plans", expanding=True)))
)
"""What its requester said of each plan, and the transfer that carries it out, if any."""
_WORDS = (
    select(ApprovalRow, PersonRow)
    .join(PersonRow, PersonRow.id == ApprovalRow.approver)
    .where(ApprovalRow.plan.in_(bindparam("plans", expanding=True)))
    .order_by(ApprovalRow.at)
)
_T = TypeVar("_T")


class Plans:
    """Finds and shows plans."""

    def __init__(self, core: Core, policies: Policies, redaction: Redaction) -> None:
        """Read from the store; `policies` says which policy decides now, `redaction` what assistants are not told."""
        self._core = core
        self._policies = policies
        self._redaction = redaction

    async def row(self, tx: Tx, caller: Caller, plan: str) -> PlanRow:
        """Return a plan that the caller may see, by id, digest or unique beginning of its id, or `unknown_plan`."""
        row = await tx.scalar(_visible_plan(rights_of(caller)), {"named": plan})
        if row is None:
            query = select(PlanRow).where(visible_to(caller))
            row = await begun_by(tx, query, PlanRow.id, plan, prefix="pl_", things="plans", unknown=Code.UNKNOWN_PLAN)
        if row is None:
            raise ServiceError(
                Code.UNKNOWN_PLAN,
                f"there is no plan `{plan[:80]}`, or it is not yours to see; `headrace plans` lists yours",
            )
        return row

    async def get(self, caller: Caller, plan: str, *, document: bool) -> m.Plan:
        """Show a plan."""

        async def look(tx: Tx) -> m.Plan:
            return await self.view(tx, caller, await self.row(tx, caller, plan), document=document)

        return await self._core.database.look(look)

    async def counts(self, caller: Caller) -> m.PlanCounts:
        """Count the plans that wait for the caller: others' to approve, and the caller's own that could still start.

        Each exactly up to 1,000, which says `at least`.
        """
        startable = and_(self._startable(), self._decided_now(), ~_REFUSED, ~_DECLINED)
        is_open = [*self._states([m.PlanState.SURVEYING, m.PlanState.ASK]), startable]
        mine = ways_to_plans(rights_of(caller), (caller.principal.id,), Narrowed(), is_open)

        async def look(tx: Tx) -> m.PlanCounts:
            waiting = (await self._awaiting(tx, caller, select(PlanRow.id))).limit(MAX_COUNTED).subquery()
            own_open = first_of(mine, MAX_COUNTED, newest=True).subquery()
            return m.PlanCounts(
                awaiting_me=await tx.scalar(select(func.count()).select_from(waiting)) or 0,
                mine_open=await tx.scalar(select(func.count()).select_from(own_open)) or 0,
            )

        return await self._core.database.look(look)

    async def page(  # noqa: PLR0913 - each narrows the page
        self,
        caller: Caller,
        *,
        states: Sequence[m.PlanState] = (),
        awaiting_me: bool,
        whose: Narrowing = ANYBODYS,
        found: Found = EVERYTHING,
        newest: bool = True,
        limit: int,
        after: str | None,
    ) -> m.Page[m.Plan]:
        """List plans, newest (or oldest) first: the caller's, somebody's, or others' that wait for the caller."""
        # To an assistant, a hit would tell a name that may be withheld.
        looked_at: Columns = [] if caller.principal.agent else [PlanRow.words, PlanRow.requester_name, _SENTENCE]
        # A sentence is part of a text of some 10 KB.
        searched = Searched(PlanRow, "pl_", looked_at, indexed=caller.principal.agent is None, of_each=10)

        async def look(tx: Tx) -> m.Page[m.Plan]:
            known = await whose.known(tx)
            if awaiting_me:
                waiting = (await self._awaiting(tx, caller, select(PlanRow))).where(*known.conditions(PlanRow))
                ways = [Way(waiting, PlanRow.id, PlanRow.created)]
                if states:
                    ways = [way.where(or_(*self._states(states))) for way in ways]
            else:
                people = (caller.principal.id,) if known.people is None else known.people
                ways = ways_to_plans(rights_of(caller), people, known, self._states(states))
            ways = [found.made(way) for way in ways]
            if after:
                last = await self.row(tx, caller, after)
                ways = [way.beyond(last.created, last.id, newest=newest) for way in ways]
            shown = _SHOWN_TO_AGENTS if caller.principal.agent else _SHOWN

            # With what is shown of a `PlanRow`: making such objects takes longer than finding the rows.
            async def read(ways: Sequence[Way[str]]) -> Sequence[PlanRow]:
                return await tx.named(rows_of(shown, PlanRow.id, ways, limit + 1, newest=newest))

            rows, edge = await found.read(tx, searched, ways, read, lambda rows: len(rows) > limit, newest=newest)
            found.require_through(edge, len(rows), limit, newest=newest)
            items = await self._views(tx, caller, rows[:limit])
            more = len(rows) > limit or edge is not None
            return m.Page(items=items, next=items[-1].id if more else None)

        return await self._core.database.look(look)

    async def why(self, caller: Caller, plan: str) -> m.Decision:
        """Explain the decision on a plan; one without a decision is refused with where it stands."""
        shown = await self.get(caller, plan, document=False)
        if shown.decision is None:
            raise ServiceError(
                Code.PLAN_NOT_READY, f"no policy decision was made on plan `{shown.id}`: {shown.summary or shown.state}"
            )
        return shown.decision

    async def view(self, tx: Tx, caller: Caller, row: PlanRow, *, document: bool = False) -> m.Plan:
        """Show a plan with what was said of it since, what it needs, and what the caller may do."""
        [shown] = await self._views(tx, caller, [row])
        told = not shown.names_withheld or is_own(caller, row)
        return shown.model_copy(update={"document": row.document}) if document and told else shown

    async def status(self, tx: Tx, row: PlanRow) -> PlanStatus:
        """Return what the next step of a plan depends on."""
        [(_, status)] = await self._statuses(tx, [row])
        return status

    async def _views(self, tx: Tx, caller: Caller, rows: Sequence[PlanRow]) -> list[m.Plan]:
        found = await self._statuses(tx, rows)
        hidden = await self._redaction.withheld(tx, caller, rows)
        shown = [
            redacted(_shown(card, status, caller), own=is_own(caller, row))
            if withheld
            else _shown(card, status, caller)
            for (card, status), row, withheld in zip(found, rows, hidden, strict=True)
        ]
        return shown if caller.principal.agent is None else [without_private_words(plan) for plan in shown]

    async def _statuses(self, tx: Tx, rows: Sequence[PlanRow]) -> list[tuple[m.Plan, PlanStatus]]:
        since = {one.plan: one for one in await tx.execute(_SINCE, {"plans": [row.id for row in rows]})}
        # Only what needs an approval can have words of others.
        others = [row.id for row in rows if needs_approval_of_others(row)]
        words: dict[str, list[Word]] = {}
        for approval, person in await tx.execute(_WORDS, {"plans": others}) if others else ():
            words.setdefault(approval.plan, []).append(_word(approval, person))
        now, active = self._core.clock(), self._policies.active
        found = []
        for row in rows:
            card, said = stored(m.Plan, row.card), since[row.id]
            # Of what it may not find, an outer join's type says otherwise.
            transfer = CarriedOut(said.id, m.TransferState(said.state), said.ended) if said.id else None
            state = m.PlanState(row.state)
            if transfer is None and is_expired(row, now):
                state = m.PlanState.EXPIRED
            status = PlanStatus(
                id=row.id,
                state=state,
                summary=card.summary,
                requester=row.requester,
                requester_name=row.requester_name or row.requester,
                token_made_by=row.token_made_by,
                agent=row.agent,
                digest=row.digest,
                expires=row.expires,
                deletes=row.deletes,
                surveyed_entries=card.surveyed_entries,
                failing=_failing(card),
                special=card.survey.skipped_special if card.survey is not None else 0,
                transfer=transfer,
                obligations=needs_of(row),
                policy_version=row.policy_version or "",
                policy_now=active.version if active else "",
                own_word=said.verdict,
                own_word_at=said.at,
                words=tuple(words.get(row.id, ())),
                proof=strength_of(self._core.settings),
                now=now,
            )
            found.append((card, status))
        return found

    def _states(self, states: Sequence[m.PlanState]) -> list[ColumnElement[bool]]:
        """Return the conditions for some states, each along an index: what has expired is not noted."""
        asks = and_(PlanRow.state == m.PlanState.ASK, _UNSTARTED)
        too_long_ago = PlanRow.created <= self._core.clock() - PLAN_LIFETIME
        found: list[ColumnElement[bool]] = []
        for state in dict.fromkeys(states):
            match state:
                case m.PlanState.EXPIRED:
                    over = PlanRow.expires <= self._core.clock()
                    found += [and_(_READY, _UNSTARTED, over), and_(asks, too_long_ago)]
                case m.PlanState.READY:
                    found += [and_(_READY, PlanRow.unstarted.is_(False)), self._startable()]
                case m.PlanState.ASK:
                    found.append(and_(asks, ~too_long_ago))
                case _:
                    found.append(and_(PlanRow.state == state, _UNSTARTED))
        return found

    def _startable(self) -> ColumnElement[bool]:
        """Return the condition for what is ready, and neither started nor expired."""
        now = self._core.clock()
        return and_(_READY, _UNSTARTED, PlanRow.expires > now, PlanRow.created > now - _LONGEST_OPEN)

    def _decided_now(self) -> ColumnElement[bool]:
        return PlanRow.policy_version == (self._policies.active.version if self._policies.active else "")

    async def _awaiting(self, tx: Tx, caller: Caller, query: Select[_T]) -> Select[_T]:
        """Others' plans that are open, still miss an approval of the caller's, and that nobody refused."""
        query = self._approvable(caller, query)
        # Few have an approval, so that is asked first.
        begun = list(await tx.scalars(self._approvable(caller, select(PlanRow).where(_APPROVED))))
        statuses = [status for _, status in await self._statuses(tx, begun)] if begun else []
        enough = [status.id for status in statuses if not awaits(status, caller.principal)]
        return query.where(PlanRow.id.not_in(enough)) if enough else query

    def _approvable(self, caller: Caller, query: Select[_T]) -> Select[_T]:
        """Others' plans that are open, need approvals, and that nobody refused and the caller has not approved."""
        mine = select(ApprovalRow.id).where(ApprovalRow.plan == PlanRow.id, ApprovalRow.approver == caller.principal.id)
        mine = mine.where(ApprovalRow.expires > self._core.clock())
        # What one may approve, one may see: only an assistant that sees no more than its own work may not.
        seen = [visible_to(caller)] if rights_of(caller).only_planned_by is not None else []
        return query.where(
            *seen,
            approvable_by(rights_of(caller)),
            _READY,
            _UNSTARTED,
            PlanRow.expires > self._core.clock(),
            PlanRow.requester != caller.principal.id,
            func.coalesce(PlanRow.token_made_by, "") != caller.principal.id,
            self._decided_now(),
            ~mine.exists(),
            ~_REFUSED,
            ~_DECLINED,
        )


def visible_to(caller: Caller) -> ColumnElement[bool]:
    """Which plans a caller may see: one's own; all for operators and auditors; what one may approve.

    An assistant sees only what it planned itself, unless its token has the scope `transfer:read:all`.
    """
    return visible_by(rights_of(caller))


@lru_cache(KEPT)
def _visible_plan(rights: Rights) -> Select[PlanRow]:
    named = or_(PlanRow.id == bindparam("named"), PlanRow.digest == bindparam("named"))
    return select(PlanRow).where(named, visible_by(rights))


def is_expired(row: PlanRow, now: datetime) -> bool:
    """Whether a plan may no longer be started, or its questions were not answered in time."""
    if row.state == m.PlanState.ASK:
        return row.created <= now - PLAN_LIFETIME
    return row.state == m.PlanState.READY and row.expires is not None and row.expires <= now


def _failing(card: m.Plan) -> int:
    """Count the files that can't arrive because of what is in their place; those left alone on purpose don't count."""
    left_alone = card.intent is not None and card.intent.on_conflict in {"skip", "newer"}
    return card.survey.conflicts if card.survey is not None and not left_alone else 0


def needs_of(row: PlanRow) -> tuple[Obligation, ...]:
    """Return what must be given before a plan may start."""
    return (parse_obligations(";".join(row.obligations)) or ()) if row.obligations else ()


def needs_approval_of_others(row: PlanRow) -> bool:
    """Whether a plan needs an approval, by anybody."""
    return bool(approvers_of(row))


def approvers_of(row: PlanRow) -> frozenset[str]:
    """Return the roles and groups whose approvals a plan needs."""
    return frozenset(need.by for need in needs_of(row) if isinstance(need, NeedsApproval))


def _word(approval: ApprovalRow, person: PersonRow) -> Word:
    return Word(
        person=approval.approver,
        name=person.shown_name,
        approved=approval.verdict == "approved",
        reason=approval.reason,
        digest=approval.digest,
        policy_version=approval.policy_version,
        at=approval.at,
        expires=approval.expires,
        active=person.state == "active",
        roles=frozenset(person.roles),
        groups=frozenset(person.groups),
    )


def _shown(card: m.Plan, plan: PlanStatus, caller: Caller) -> m.Plan:
    principal = caller.principal
    return card.model_copy(
        update={
            "state": plan.state,
            "state_reason": state_reason(plan),
            "requester_name": plan.requester_name,
            "confirmed": plan.own_word == "confirmed",
            "approvals": [
                m.ApprovalView(
                    person=word.name,
                    verdict="approved" if word.approved else "refused",
                    reason=word.reason,
                    at=word.at,
                    expires=word.expires,
                )
                for word in plan.words
            ],
            "warnings": [*card.warnings, *warnings(plan)],
            "transfer": plan.transfer.id if plan.transfer else None,
            "transfer_state": plan.transfer.state if plan.transfer else None,
            "transfer_ended": plan.transfer.ended if plan.transfer else None,
            "needs": needs(plan, principal),
            "next_step": next_step(plan, principal),
            "allowed_actions": allowed_actions(plan, principal),
        }
    )
