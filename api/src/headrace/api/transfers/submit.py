"""Starting a transfer: a ready plan, submitted by the person who asked for it, becomes a queued transfer."""

import asyncio

from sqlalchemy import bindparam
from sqlalchemy.orm.attributes import set_committed_value

from headrace.api.caller import Caller
from headrace.api.errors import Code, ServiceError
from headrace.api.planning.admission import Admission
from headrace.api.planning.plan_queries import Plans, approvers_of, needs_approval_of_others
from headrace.api.planning.plan_steps import needs_approval, needs_confirmation, objection_to
from headrace.api.policy.budgets import day_of_start, reserve
from headrace.api.signing.legs import most_of
from headrace.api.store import Tx
from headrace.api.store.base import Base
from headrace.api.store.tables_work import ApprovalRow, PlanRow, TransferApproverRow, TransferRow
from headrace.api.transfers.deadlines import own_hours, require_deadline
from headrace.api.transfers.parts import Parts
from headrace.api.transfers.queries import Transfers
from headrace.api.transfers.scheduler import Scheduler
from headrace.api.transfers.state_machine import Wish
from headrace.client import models as m
from headrace.guardrails import Refused, Unreleased

_APPROVALS = Base.metadata.tables[ApprovalRow.__tablename__]
_USE_UP = _APPROVALS.update().where(
    _APPROVALS.c.plan == bindparam("of_plan"),
    _APPROVALS.c.digest == bindparam("of_digest"),
    _APPROVALS.c.verdict == "approved",
    _APPROVALS.c.used_by.is_(None),
    _APPROVALS.c.expires > bindparam("now"),
)


class Submissions:
    """Starts transfers."""

    def __init__(self, parts: Parts, scheduler: Scheduler, plans: Plans, transfers: Transfers) -> None:
        """Hand what was submitted to `scheduler`."""
        self.parts = parts
        self._scheduler = scheduler
        self._plans = plans
        self._transfers = transfers

    async def submit(self, caller: Caller, digest: str) -> m.Transfer:
        """Start the caller's own plan with this digest; a plan that was submitted before answers with its transfer."""
        admission = Admission(self.parts.core)
        row = await self.parts.signer.with_hours(lambda: admission.run(lambda: self._submit(caller, digest, admission)))
        # Its nodes are told first; the answer is made while they begin.
        await asyncio.sleep(0)
        if row.requester == caller.principal.id:
            set_committed_value(row, "requester_name", caller.principal.shown_name)
        return await self._transfers.view(caller, row)

    async def _submit(self, caller: Caller, digest: str, admission: Admission) -> TransferRow:
        async with self.parts.core.database.write(autoflush=False) as tx:
            plan = await self._plans.row(tx, caller, digest)
            status = await self._plans.status(tx, plan)
            if status.transfer is not None:
                return await tx.get_one(TransferRow, status.transfer.id)
            await self._scheduler.require_room(tx, plan.requester)
            objection = objection_to(status, caller.principal, "submit")
            if objection is not None:
                raise objection
            self.parts.shares.require_readable()
            row = await self.insert(tx, plan)
            try:
                released = await self.parts.signer.released(tx, row, starts=True)
            except Refused as error:
                raise _what_is_missing(error, plan) from error
            row.project = released.project or None
            execution = released.execution
            row.rate_ceiling_bps = _number(execution["rate_ceiling_bps"])
            self.parts.shares.in_force.require_open(row.qos_class, own_hours(row), row.starts or row.created)
            await self._require_deadline(tx, caller, admission, row, plan)
            day = day_of_start(row, self.parts.core.clock(), self.parts.core.settings.timezone)
            ceilings = int(str(execution["max_bytes"])), int(str(execution["max_files"]))
            most = most_of(*ceilings, probe=row.probe is not None)
            await self.parts.quotas.require(tx, row, caller.principal, most, day)
            reserve(tx, row, day=day, max_bytes=most.bytes, max_files=most.files)
            detail = {"plan": plan.id, "digest": row.plan_digest}
            if row.project is not None:
                detail["project"] = row.project
            await self.parts.core.audit.append(tx, m.AuditKind.SUBMITTED, caller=caller, subject=row.id, detail=detail)
            await self.parts.history.record(
                tx, row, m.TransferEventKind.QUEUED, "the plan was submitted", caller=caller
            )
            await self._scheduler.admit(tx, row)
            await self.parts.core.outbox.write(tx, m.ChangeKind.PLAN, plan.id, plan.state)
            return row

    async def _require_deadline(
        self, tx: Tx, caller: Caller, admission: Admission, row: TransferRow, plan: PlanRow
    ) -> None:
        """Refuse a deadline that can't be kept any more; one that has passed meanwhile is told, not refused."""
        now = self.parts.core.clock()
        if row.deadline is not None and row.deadline > now:
            card = m.Plan.model_validate_json(plan.card)
            count = card.survey.bytes if card.survey else 0
            await require_deadline(tx, caller, admission, self.parts.shares.in_force, row, count, now)

    async def insert(self, tx: Tx, plan: PlanRow) -> TransferRow:
        """Store a transfer of a plan, and use up the approvals for it; whether it may run is the signer's to say."""
        card, now = m.Plan.model_validate_json(plan.card), self.parts.core.clock()
        if plan.digest is None or card.intent is None or card.survey is None or card.decision is None:
            raise ServiceError(Code.PLAN_NOT_READY, f"plan `{plan.id}` was never sealed; plan again")
        survey = card.survey
        progress = m.Progress(files_total=survey.files, bytes_total=survey.bytes)
        row = TransferRow(
            id=_transfer_of(plan),
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
            source_endpoint=plan.source_endpoint,
            destination_endpoint=plan.destination_endpoint,
            canonical_sentence=card.canonical_sentence or "",
            created=now,
            starts=plan.starts,
            hours=card.hours.model_dump_json() if card.hours else None,
            deadline=card.intent.deadline,
            attempt=0,
            only_failed=False,
            progress=progress.model_dump_json(),
            events=0,
            fence=1,
            wish=Wish.RUN,
            wish_reason="",
            priority=self.parts.shares.in_force.rank(card.decision.qos_class),
            qos_class=card.decision.qos_class,
            failures=0,
            resent_before=0,
            last_error="",
            probe=None if card.probe is None else "[]",
            tuning=card.tuning.model_dump_json(),
            kept="{}",
        )
        tx.add(row)
        plan.unstarted = False
        if needs_approval_of_others(plan):
            await tx.flush()
            tx.add_all(TransferApproverRow(name=name, created=now, transfer=row.id) for name in approvers_of(plan))
            # Single use, in one statement: what is used up for this transfer can never count for another.
            used = {"used_by": row.id, "used_at": now}
            await tx.execute(_USE_UP, {"of_plan": plan.id, "of_digest": plan.digest, "now": now, **used})
        return row


def _transfer_of(plan: PlanRow) -> str:
    """Return the id of a plan's only transfer: a submission that broke off and comes again makes the same one."""
    return f"tr_{plan.id.removeprefix('pl_')}"


def _what_is_missing(error: Refused, plan: PlanRow) -> Exception:
    """Say where a missing yes is given."""
    if error.code == Unreleased.CONFIRMATION_MISSING:
        return needs_confirmation(plan.id)
    if error.code == Unreleased.APPROVAL_MISSING:
        return needs_approval(plan.id, str(error.args[0]))
    return error


def _number(value: object) -> int | None:
    return None if value is None else int(str(value))
