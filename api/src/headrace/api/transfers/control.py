"""Steering a transfer: pause, resume, cancel, retry, another rate."""

from headrace.api.caller import Caller
from headrace.api.store.tables_work import PlanRow, TransferRow
from headrace.api.transfers.attempt_loop import Parts
from headrace.api.transfers.queries import Transfers
from headrace.api.transfers.run_state import Wish
from headrace.api.transfers.scheduler import Executor
from headrace.api.transfers.steps import fault_of
from headrace.client import models as m

_WISHES = {"pause": Wish.PAUSE, "resume": Wish.RUN, "cancel": Wish.CANCEL}


class Steering:
    """Steers transfers."""

    def __init__(self, parts: Parts, executor: Executor, transfers: Transfers) -> None:
        """Steer what `executor` runs."""
        self._parts = parts
        self._executor = executor
        self._transfers = transfers

    async def control(self, caller: Caller, transfer: str, request: m.ControlRequest) -> m.Transfer:
        """Pause, resume, cancel, retry, or change the rate: one's own transfers, and any for operators."""
        row = await self._transfers.row(caller, transfer)
        async with self._parts.core.database.read() as tx:
            fault = fault_of(await self._transfers.standing(tx, row), caller.principal, request.action)
        if fault is not None:
            raise fault
        if request.action == "retry":
            await self._executor.retry(caller, row)
        elif request.action == "set_rate":
            await self._executor.set_rate(caller, row, request.rate_bps, await self._plan_ceiling(row))
        else:
            await self._executor.ask(caller, row, _WISHES[request.action], request.reason)
        return await self._transfers.view(caller, await self._transfers.row(caller, row.id))

    async def _plan_ceiling(self, row: TransferRow) -> int | None:
        async with self._parts.core.database.read() as tx:
            plan = await tx.get(PlanRow, row.plan)
        card = m.Plan.model_validate_json(plan.card) if plan else None
        return card.intent.rate_limit_bps if card and card.intent else None
