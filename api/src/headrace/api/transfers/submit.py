"""Starting a transfer: a ready plan, submitted by the person who asked for it, becomes a queued transfer."""

from sqlalchemy import select, update

from headrace.api.audit.chain import Kind
from headrace.api.caller import Caller
from headrace.api.errors import Code, ServiceError
from headrace.api.planning.plan_queries import Plans
from headrace.api.policy.budgets import day_of, reserve
from headrace.api.store import Tx
from headrace.api.store.tables_work import ApprovalRow, ConfirmationRow, PlanRow, TransferRow
from headrace.api.transfers.attempt_loop import Parts
from headrace.api.transfers.queries import Transfers
from headrace.api.transfers.scheduler import Executor
from headrace.auth import Scope
from headrace.client import models as m
from headrace.guardrails import Rail, Refused, new_id


class Submissions:
    """Starts transfers."""

    def __init__(self, parts: Parts, executor: Executor, plans: Plans, transfers: Transfers) -> None:
        """Hand what was submitted to `executor`."""
        self.parts = parts
        self._executor = executor
        self._plans = plans
        self._transfers = transfers

    async def submit(self, caller: Caller, digest: str) -> m.Transfer:
        """Start the caller's own plan with this digest; a plan that was submitted before answers with its transfer."""
        async with self.parts.core.database.write() as tx:
            plan = await self._plans.row(tx, caller, digest)
            started = await tx.scalar(select(TransferRow).where(TransferRow.plan == plan.id))
            if started is not None:
                return self._transfers.view(started)
            await self._executor.require_room(tx)
            await self._check_submission(tx, caller, plan)
            row = await self.insert(tx, plan)
            try:
                released = await self.parts.signer.released(tx, row)
            except Refused as error:
                raise _what_is_missing(error, plan) from error
            execution = released.execution
            row.rate_ceiling_bps = _number(execution["rate_ceiling_bps"])
            day = day_of(self.parts.core.clock(), self.parts.core.settings.timezone)
            max_bytes = int(str(execution["max_bytes"]))
            await reserve(tx, row, day=day, max_bytes=max_bytes)
            detail = {"plan": plan.id, "digest": row.plan_digest}
            await self.parts.core.audit.append(tx, Kind.SUBMITTED, caller=caller, subject=row.id, detail=detail)
            await self.parts.ledger.record(tx, row, "queued", "the plan was submitted", caller=caller)
            await tx.refresh(row)
        self._executor.admit(row)
        self.parts.core.broker.notify(plan.id)
        return self._transfers.view(row)

    async def _check_submission(self, tx: Tx, caller: Caller, plan: PlanRow) -> None:
        principal = caller.principal
        if plan.requester != principal.id:
            raise ServiceError(Code.FORBIDDEN, "only the person who asked for a plan submits it")
        if principal.agent is not None and principal.agent != plan.agent:
            raise ServiceError(
                Code.FORBIDDEN, f"the assistant `{principal.agent}` may only submit what it planned itself; plan again"
            )
        if plan.state != m.PlanState.READY:
            raise ServiceError(
                Code.PLAN_NOT_READY, f"plan `{plan.id}` is {plan.state}, and only a ready plan is submitted"
            )
        if plan.deletes and not principal.may(Scope.TRANSFER_DELETE):
            raise ServiceError(
                Code.FORBIDDEN, f"this plan deletes files, and your token lacks the scope {Scope.TRANSFER_DELETE}"
            )
        declined = await tx.scalar(
            select(ConfirmationRow).where(ConfirmationRow.plan == plan.id, ConfirmationRow.verdict == "declined")
        )
        refused = await tx.scalar(
            select(ApprovalRow).where(ApprovalRow.plan == plan.id, ApprovalRow.verdict == "refused")
        )
        if declined is not None or refused is not None:
            why = f"refused by an approver ({refused.reason or 'no reason given'})" if refused else "declined"
            raise ServiceError(Code.PLAN_DECLINED, f"plan `{plan.id}` was {why}; plan again")

    async def insert(self, tx: Tx, plan: PlanRow) -> TransferRow:
        """Store a transfer of a plan, and use up the approvals for it; whether it may run is the signer's to say."""
        card, now = m.Plan.model_validate_json(plan.card), self.parts.core.clock()
        if plan.digest is None or card.intent is None or card.survey is None:
            raise ServiceError(Code.PLAN_NOT_READY, f"plan `{plan.id}` was never sealed; plan again")
        survey = card.survey
        progress = m.Progress(files_total=survey.files, bytes_total=survey.bytes)
        row = TransferRow(
            id=new_id("tr"),
            plan=plan.id,
            plan_digest=plan.digest,
            state=m.TransferState.QUEUED,
            state_reason="",
            requester=plan.requester,
            agent=plan.agent,
            action=card.intent.action,
            source=plan.source,
            destination=plan.destination,
            source_node=plan.source_node,
            destination_node=plan.destination_node,
            canonical_sentence=card.canonical_sentence or "",
            created=now,
            starts=plan.starts,
            attempt=0,
            only_failed=False,
            progress=progress.model_dump_json(),
            events=0,
        )
        tx.add(row)
        await tx.flush()
        # Single use, in one statement: what is used up for this transfer can never count for another.
        unused = update(ApprovalRow).where(
            ApprovalRow.plan == plan.id,
            ApprovalRow.digest == plan.digest,
            ApprovalRow.verdict == "approved",
            ApprovalRow.used_by.is_(None),
            ApprovalRow.expires > now,
        )
        await tx.execute(unused.values(used_by=row.id, used_at=now))
        return row


def _what_is_missing(error: Refused, plan: PlanRow) -> Exception:
    """Say where a missing yes is given."""
    if error.code == Rail.CONFIRMATION_MISSING:
        return ServiceError(
            Code.NEEDS_CONFIRMATION,
            f"plan `{plan.id}` needs your own confirmation first: in the console, or with `headrace confirm {plan.id}`",
        )
    if error.code == Rail.APPROVAL_MISSING:
        return ServiceError(
            Code.NEEDS_APPROVAL,
            f"plan `{plan.id}` needs another person's approval first: in the console or `headrace approve {plan.id}`. "
            f"{error.args[0]}",
        )
    return error


def _number(value: object) -> int | None:
    return None if value is None else int(str(value))
