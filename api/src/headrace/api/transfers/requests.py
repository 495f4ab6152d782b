"""Transfers as people start, see and steer them."""

import asyncio
import itertools
import json
from collections.abc import AsyncGenerator
from pathlib import Path

from sqlalchemy import ColumnElement, and_, or_, select, update

from headrace.api.audit.chain import Kind
from headrace.api.caller import Caller
from headrace.api.errors import Code, ServiceError
from headrace.api.events.broker import wait_for
from headrace.api.planning.plan_queries import OVERSEERS, Plans, visible_to
from headrace.api.policy.budgets import day_of, reserve
from headrace.api.store import Tx
from headrace.api.store.tables_work import (
    ApprovalRow,
    AttemptRow,
    ConfirmationRow,
    PlanRow,
    ReceiptRow,
    TransferEventRow,
    TransferRow,
)
from headrace.api.transfers.attempt_loop import Parts
from headrace.api.transfers.receipts import unknown_receipt
from headrace.api.transfers.run_state import Wish
from headrace.api.transfers.scheduler import Executor
from headrace.api.transfers.views import END_STATES, event_view, transfer_view
from headrace.auth import Scope
from headrace.client import models as m
from headrace.guardrails import Rail, Refused, new_id, path_text

_MIN_PREFIX = 4
_PAGE = 200
_WISHES = {"pause": Wish.PAUSE, "resume": Wish.RUN, "cancel": Wish.CANCEL}


class Transfers:
    """The transfers of one service."""

    def __init__(self, parts: Parts, executor: Executor, plans: Plans) -> None:
        """Work on what `executor` runs."""
        self.parts = parts
        self._executor = executor
        self._plans = plans

    # -- starting --

    async def submit(self, caller: Caller, digest: str) -> m.Transfer:
        """Start the caller's own plan with this digest; a plan that was submitted before answers with its transfer."""
        async with self.parts.core.database.write() as tx:
            plan = await self._plans.row(tx, caller, digest)
            started = await tx.scalar(select(TransferRow).where(TransferRow.plan == plan.id))
            if started is not None:
                return self._view(started)
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
        return self._view(row)

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

    # -- seeing --

    async def get(self, caller: Caller, transfer: str, *, wait_s: float = 0) -> m.Transfer:
        """Show a transfer by id, or by a prefix of at least four hexadecimal digits that fits just one.

        Waits up to `wait_s` seconds for it to end.
        """
        row = await self._row(caller, transfer)
        if wait_s <= 0:
            return self._view(row)
        loop = asyncio.get_running_loop()
        limit = loop.time() + min(wait_s, self.parts.core.settings.max_wait_s)
        with self.parts.core.broker.subscribe(row.id) as woken:
            while row.state not in END_STATES and not self.parts.core.broker.closing:
                woken.clear()
                row = await self._row(caller, row.id)
                if row.state in END_STATES or loop.time() >= limit:
                    break
                await wait_for(woken, limit - loop.time())
        return self._view(row)

    async def page(self, caller: Caller, *, state: str | None, limit: int, after: str | None) -> list[m.Transfer]:
        """List transfers that the caller may see, newest first."""
        query = select(TransferRow).where(_visible(caller))
        query = query.order_by(TransferRow.created.desc(), TransferRow.id.desc()).limit(limit)
        if state:
            query = query.where(TransferRow.state == state)
        if after:
            last = await self._row(caller, after)
            older = and_(TransferRow.created == last.created, TransferRow.id < last.id)
            query = query.where(or_(TransferRow.created < last.created, older))
        async with self.parts.core.database.read() as tx:
            return [self._view(row) for row in await tx.scalars(query)]

    async def events(self, caller: Caller, transfer: str, *, after: int, limit: int) -> list[m.TransferEvent]:
        """List the history of a transfer in order."""
        row = await self._row(caller, transfer)
        return [event_view(event) for event in await self._events(row.id, after, limit)]

    async def watch(self, caller: Caller, transfer: str, after: int) -> AsyncGenerator[m.TransferEvent]:
        """Yield the history after `after`, then what happens, until the transfer has ended.

        Progress comes as events of kind `progress` under the number of the last kept event; only the newest is sent.
        """
        row = await self._row(caller, transfer)
        sent: m.Progress | None = None
        with self.parts.core.broker.subscribe(row.id) as woken:
            while not self.parts.core.broker.closing:
                woken.clear()
                events = await self._events(row.id, after, _PAGE)
                # Read after the events, so that the state shown with them is never older than they are.
                row = await self._row(caller, row.id)
                view = self._view(row)
                for event in events:
                    after = event.sequence
                    yield event_view(event, view if event is events[-1] else None)
                if row.state in END_STATES and after >= row.events:
                    if not events:
                        yield m.TransferEvent(
                            sequence=after, at=self.parts.core.clock(), kind="progress", message="", transfer=view
                        )
                    return
                if not events and view.progress != sent and view.progress.at is not None:
                    yield m.TransferEvent(
                        sequence=after, at=view.progress.at, kind="progress", message="", transfer=view
                    )
                sent = view.progress
                if not events:
                    await woken.wait()

    async def failed(self, caller: Caller, transfer: str, *, after: int, limit: int) -> list[m.FailedFile]:
        """List the files that the newest attempt could not move, skipping the first `after`."""
        row = await self._row(caller, transfer)
        query = select(AttemptRow.failed_list).where(
            AttemptRow.transfer == row.id, AttemptRow.outcome.in_(("complete", "partial"))
        )
        async with self.parts.core.database.read() as tx:
            listed = await tx.scalar(query.order_by(AttemptRow.number.desc()).limit(1))
        return await asyncio.to_thread(_failed, self.parts.core.settings.data / listed, after, limit) if listed else []

    async def receipt(self, caller: Caller, receipt: str) -> ReceiptRow:
        """Return a receipt, by its id or its transfer's, of a transfer that the caller may see."""
        row = await self.parts.receipts.find(receipt)
        try:
            await self._row(caller, row.transfer)
        except ServiceError as error:
            raise unknown_receipt(receipt) from error
        return row

    # -- steering --

    async def control(self, caller: Caller, transfer: str, request: m.ControlRequest) -> m.Transfer:
        """Pause, resume, cancel, retry, or change the rate: one's own transfers, and any for operators."""
        row = await self._row(caller, transfer)
        principal = caller.principal
        if row.requester != principal.id and not principal.may(Scope.NODE_WRITE):
            raise ServiceError(Code.FORBIDDEN, "only the requester or an operator steers a transfer")
        if row.requester == principal.id and not principal.may(Scope.TRANSFER_RUN):
            raise ServiceError(Code.FORBIDDEN, f"this needs the scope {Scope.TRANSFER_RUN}")
        if request.action == "retry":
            await self._executor.retry(caller, row)
        elif request.action == "set_rate":
            await self._executor.set_rate(caller, row, request.rate_bps, await self._plan_ceiling(row))
        else:
            await self._executor.ask(caller, row, _WISHES[request.action], request.reason)
        return self._view(await self._row(caller, row.id))

    async def _plan_ceiling(self, row: TransferRow) -> int | None:
        async with self.parts.core.database.read() as tx:
            plan = await tx.get(PlanRow, row.plan)
        card = m.Plan.model_validate_json(plan.card) if plan else None
        return card.intent.rate_limit_bps if card and card.intent else None

    async def _row(self, caller: Caller, transfer: str) -> TransferRow:
        wanted = transfer if transfer.startswith("tr_") else f"tr_{transfer}"
        exact_or_prefix = (
            TransferRow.id.startswith(wanted, autoescape=True)
            if len(wanted) >= len("tr_") + _MIN_PREFIX
            else TransferRow.id == wanted
        )
        async with self.parts.core.database.read() as tx:
            rows = list(await tx.scalars(select(TransferRow).where(exact_or_prefix, _visible(caller)).limit(2)))
        exact = [row for row in rows if row.id == wanted]
        if not rows:
            raise ServiceError(
                Code.UNKNOWN_TRANSFER, f"there is no transfer `{transfer[:80]}`, or it is not yours to see"
            )
        if len(rows) > 1 and not exact:
            raise ServiceError(
                Code.AMBIGUOUS_TRANSFER, f"several transfers begin with `{wanted[:80]}`; give more of the id"
            )
        return exact[0] if exact else rows[0]

    async def _events(self, transfer: str, after: int, limit: int) -> list[TransferEventRow]:
        query = select(TransferEventRow).where(TransferEventRow.transfer == transfer, TransferEventRow.sequence > after)
        async with self.parts.core.database.read() as tx:
            return list(await tx.scalars(query.order_by(TransferEventRow.sequence).limit(limit)))

    def _view(self, row: TransferRow) -> m.Transfer:
        live = self._executor.progress(row.id) if row.state not in END_STATES else None
        return transfer_view(row, live)


def _visible(caller: Caller) -> ColumnElement[bool]:
    """Which transfers a caller may see: one's own, all for operators and auditors, and what one could approve."""
    if caller.principal.roles & OVERSEERS:
        return TransferRow.id.is_not(None)
    approvable = select(PlanRow.id).where(PlanRow.id == TransferRow.plan, visible_to(caller))
    return or_(TransferRow.requester == caller.principal.id, approvable.exists())


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


def _failed(path: Path, after: int, limit: int) -> list[m.FailedFile]:
    if not path.is_file():
        return []
    with path.open(encoding="utf-8") as lines:
        entries = map(json.loads, itertools.islice(lines, after, after + limit))
        return [
            m.FailedFile(
                path=path_text(entry["path"]).removeprefix("/"),
                error=entry["error"],
                message=entry["message"],
                retry=entry["retry"],
            )
            for entry in entries
        ]
