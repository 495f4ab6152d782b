"""Steering a transfer: pause, resume, cancel, retry, another rate. What people wish is stored with its audit event."""

from headrace.api.caller import Caller
from headrace.api.errors import Code, ServiceError
from headrace.api.planning.rates import require_rate
from headrace.api.policy.budgets import day_of_start, reserve
from headrace.api.policy.quota_rules import Used
from headrace.api.private_words import because
from headrace.api.store import Tx, after_commit
from headrace.api.store.tables_work import PlanRow, TransferRow
from headrace.api.transfers.attempts import ADVANCE
from headrace.api.transfers.parts import Parts
from headrace.api.transfers.queries import Transfers
from headrace.api.transfers.run_state import standing_of, write_standing
from headrace.api.transfers.scheduler import Scheduler
from headrace.api.transfers.state_machine import State, Wish, retried, wished
from headrace.api.transfers.transfer_steps import objection_to
from headrace.client import models as m
from headrace.client.text import bit_rate

_WISHES = {"pause": Wish.PAUSE, "resume": Wish.RUN, "cancel": Wish.CANCEL}
_VERBS = {Wish.RUN: "resumed", Wish.PAUSE: "paused", Wish.CANCEL: "canceled"}


class Control:
    """Steers transfers."""

    def __init__(self, parts: Parts, scheduler: Scheduler, transfers: Transfers) -> None:
        """Steer what `scheduler` runs."""
        self._parts = parts
        self._scheduler = scheduler
        self._transfers = transfers

    async def control(self, caller: Caller, transfer: str, request: m.ControlRequest) -> m.Transfer:
        """Pause, resume, cancel, retry, or change the rate: one's own transfers, and any for operators."""
        row = await self._transfers.row(caller, transfer)
        await self._parts.signer.with_hours(lambda: self._control(caller, row, request))
        return await self._transfers.view(caller, await self._transfers.row(caller, row.id))

    async def _control(self, caller: Caller, row: TransferRow, request: m.ControlRequest) -> None:
        stops = request.action in {"pause", "cancel"}
        async with self._parts.history.change(row.id, first=stops) as (tx, fresh):
            objection = objection_to(await self._transfers.status(tx, fresh), caller.principal, request.action)
            if objection is not None:
                raise objection
            if request.action == "retry":
                await self._retry(tx, caller, fresh, request.reason)
            elif request.action == "set_rate":
                await self._set_rate(tx, caller, fresh, request)
            else:
                await self._wish(tx, caller, fresh, _WISHES[request.action], request.reason)

    async def _wish(self, tx: Tx, caller: Caller, row: TransferRow, asked: Wish, reason: str) -> None:
        """Pause, resume or cancel a transfer that has not ended."""
        said = because(f"{_VERBS[asked]} by {caller.principal.name}", reason)
        clock = self._parts.core.steady()
        after = wished(standing_of(row), asked, said if asked is not Wish.RUN else "", clock)
        row.wish, row.wish_reason, row.paused_since = after.wish, after.wish_reason, after.paused_since
        await self._parts.history.record(tx, row, m.TransferEventKind(f"asked_{asked}"), said, caller=caller)
        await self._parts.core.jobs.defer(tx, ADVANCE, row.id)

    async def _set_rate(self, tx: Tx, caller: Caller, row: TransferRow, request: m.ControlRequest) -> None:
        """Change the rate ceiling; `None` lifts it to the plan's own."""
        rate_bps = request.rate_bps
        require_rate(rate_bps, self._parts.core.settings.min_rate_bps)
        ceiling_bps = await self._plan_ceiling(tx, row)
        if rate_bps is not None and ceiling_bps is not None and rate_bps > ceiling_bps:
            raise ServiceError(
                Code.RATE_ABOVE_PLAN,
                f"the plan allows at most {bit_rate(ceiling_bps)}, and {bit_rate(rate_bps)} was asked for; "
                "a new plan can allow more",
                fields=("rate_bps",),
            )
        row.rate_ceiling_bps = rate_bps or ceiling_bps
        limit = f"at most {bit_rate(row.rate_ceiling_bps)}" if row.rate_ceiling_bps else "without a limit"
        said = because(f"it runs {limit} from now on", request.reason)
        await self._parts.history.record(tx, row, m.TransferEventKind.RATE, said, caller=caller)
        after_commit(tx, lambda: self._scheduler.new_rate(row.id))

    async def _retry(self, tx: Tx, caller: Caller, row: TransferRow, reason: str) -> None:
        """Run the same plan again: what failed of a partial transfer, or a failed one (what arrived is skipped)."""
        only_failed = row.state == State.PARTIAL
        queued = retried(standing_of(row))
        core = self._parts.core
        await self._scheduler.require_room(tx, row.requester)
        plan = await self._parts.signer.released(tx, row, starts=True)
        max_bytes = int(str(plan.execution["max_bytes"]))
        day = day_of_start(row, core.clock(), core.settings.timezone)
        max_files = int(str(plan.execution["max_files"]))
        await self._parts.quotas.require_again(tx, row, Used(max_bytes, max_files, 1), day)
        reserve(tx, row, day=day, max_bytes=max_bytes, max_files=max_files)
        write_standing(row, queued)
        row.wish, row.wish_reason, row.fence = queued.wish, queued.wish_reason, row.fence + 1
        row.paused_since = None
        row.only_failed, row.error, row.ended = only_failed, None, None
        said = because(f"tried again by {caller.principal.name}", reason)
        await self._parts.history.record(tx, row, m.TransferEventKind.RETRY, said, caller=caller)
        await self._scheduler.admit(tx, row)

    async def _plan_ceiling(self, tx: Tx, row: TransferRow) -> int | None:
        plan = await tx.get(PlanRow, row.plan)
        card = m.Plan.model_validate_json(plan.card) if plan else None
        return card.intent.rate_limit_bps if card and card.intent else None
