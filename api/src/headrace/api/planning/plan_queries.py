"""Plans as people see them: finding, listing, explaining; and who may see which. A handle proves nothing."""

from datetime import datetime

from sqlalchemy import ColumnElement, Select, and_, false, func, or_, select

from headrace.api.caller import Caller
from headrace.api.core import Core
from headrace.api.errors import Code, ServiceError
from headrace.api.store import Tx
from headrace.api.store.tables_site import PersonRow
from headrace.api.store.tables_work import ApprovalRow, ConfirmationRow, PlanRow, TransferRow
from headrace.auth import Role
from headrace.client import models as m
from headrace.guardrails import NeedsApproval, Obligation, parse_obligations

OVERSEERS = frozenset({Role.OPERATOR, Role.AUDITOR})
"""Roles that see every plan and transfer. An approver sees what may need an approval."""


class Plans:
    """Finds and shows plans."""

    def __init__(self, core: Core) -> None:
        """Read from the store."""
        self._core = core

    async def row(self, tx: Tx, caller: Caller, plan: str) -> PlanRow:
        """Return a plan that the caller may see, by id or digest; anything else is `unknown_plan`."""
        query = select(PlanRow).where(or_(PlanRow.id == plan, PlanRow.digest == plan), visible_to(caller))
        row = await tx.scalar(query)
        if row is None:
            raise ServiceError(Code.UNKNOWN_PLAN, f"there is no plan `{plan[:80]}`, or it is not yours to see")
        return row

    async def get(self, caller: Caller, plan: str, *, document: bool) -> m.Plan:
        """Show a plan."""
        async with self._core.database.read() as tx:
            row = await self.row(tx, caller, plan)
            return await self.view(tx, row, document=document)

    async def page(
        self, caller: Caller, *, state: str | None, awaiting_me: bool, limit: int, after: str | None
    ) -> list[m.Plan]:
        """List the caller's plans, newest first; or those of others that wait for the caller's approval."""
        query = select(PlanRow).order_by(PlanRow.created.desc(), PlanRow.id.desc()).limit(limit)
        query = self._awaiting(caller, query) if awaiting_me else query.where(PlanRow.requester == caller.principal.id)
        if state:
            query = query.where(self._in_state(state))
        async with self._core.database.read() as tx:
            if after:
                last = await self.row(tx, caller, after)
                query = query.where(
                    or_(PlanRow.created < last.created, and_(PlanRow.created == last.created, PlanRow.id < last.id))
                )
            return [await self.view(tx, row) for row in await tx.scalars(query)]

    async def why(self, caller: Caller, plan: str) -> m.Decision:
        """Explain the decision on a plan; one without a decision is refused with where it stands."""
        shown = await self.get(caller, plan, document=False)
        if shown.decision is None:
            raise ServiceError(
                Code.PLAN_NOT_READY, f"no policy decision was made on plan `{shown.id}`: {shown.summary or shown.state}"
            )
        return shown.decision

    async def view(self, tx: Tx, row: PlanRow, *, document: bool = False) -> m.Plan:
        """Show a plan with what was said of it since."""
        card = m.Plan.model_validate_json(row.card)
        confirmation = await tx.get(ConfirmationRow, row.id)
        approvals = await tx.execute(
            select(ApprovalRow, PersonRow.name)
            .join(PersonRow, PersonRow.id == ApprovalRow.approver)
            .where(ApprovalRow.plan == row.id)
            .order_by(ApprovalRow.at)
        )
        transfer = await tx.scalar(select(TransferRow.id).where(TransferRow.plan == row.id))
        state = m.PlanState(row.state)
        if state is m.PlanState.READY and transfer is None and is_expired(row, self._core.clock()):
            state = m.PlanState.EXPIRED
        return card.model_copy(
            update={
                "state": state,
                "requester_name": row.requester_name,
                "confirmed": confirmation is not None and confirmation.verdict == "confirmed",
                "approvals": [
                    m.ApprovalView(
                        person=name, verdict=said.verdict, reason=said.reason, at=said.at, expires=said.expires
                    )
                    for said, name in approvals
                ],
                "transfer": transfer,
                "document": row.document if document else None,
            }
        )

    def _in_state(self, state: str) -> ColumnElement[bool]:
        now = self._core.clock()
        submitted = select(TransferRow.id).where(TransferRow.plan == PlanRow.id).exists()
        ready = PlanRow.state == m.PlanState.READY
        if state == m.PlanState.EXPIRED:
            return and_(ready, PlanRow.expires <= now, ~submitted)
        if state == m.PlanState.READY:
            return and_(ready, or_(PlanRow.expires > now, submitted))
        return PlanRow.state == state

    def _awaiting(self, caller: Caller, query: Select[PlanRow]) -> Select[PlanRow]:
        """Others' plans that are open, need approvals, and that the caller has not approved or refused."""
        mine = select(ApprovalRow.id).where(ApprovalRow.plan == PlanRow.id, ApprovalRow.approver == caller.principal.id)
        submitted = select(TransferRow.id).where(TransferRow.plan == PlanRow.id)
        return query.where(
            approvable_by(caller),
            PlanRow.state == m.PlanState.READY,
            PlanRow.expires > self._core.clock(),
            PlanRow.requester != caller.principal.id,
            ~mine.exists(),
            ~submitted.exists(),
        )


def visible_to(caller: Caller) -> ColumnElement[bool]:
    """Which plans a caller may see: one's own; all for operators and auditors; what one may approve."""
    if caller.principal.roles & OVERSEERS:
        return PlanRow.id.is_not(None)
    return or_(PlanRow.requester == caller.principal.id, approvable_by(caller))


def approvable_by(caller: Caller) -> ColumnElement[bool]:
    """Which plans need an approval that somebody with the caller's roles and groups may give."""
    principal = caller.principal
    roles = {str(role) for role in principal.roles}
    # A group named like a role does not stand for it.
    names = roles | (principal.groups - {str(role) for role in Role})
    return or_(false(), *(func.instr(PlanRow.obligations, f"approval:{name}:") > 0 for name in sorted(names)))


def is_expired(row: PlanRow, now: datetime) -> bool:
    """Whether a plan may no longer be started."""
    return row.expires is not None and row.expires <= now


def needs_of(row: PlanRow) -> tuple[Obligation, ...]:
    """Return what must be given before a plan may start."""
    return (parse_obligations(";".join(row.obligations)) or ()) if row.obligations else ()


def may_approve(caller: Caller, row: PlanRow) -> bool:
    """Whether one of the approvals that this plan needs is the caller's to give."""
    roles = frozenset(map(str, caller.principal.roles))
    return any(
        isinstance(need, NeedsApproval) and need.may_be_given_by(roles, caller.principal.groups)
        for need in needs_of(row)
    )
