"""Steering a transfer: pause, resume, cancel, retry, another rate, class or deadline; each with its audit event."""

import json

from headrace.api.caller import Caller
from headrace.api.errors import Code, ServiceError
from headrace.api.planning.admission import Admission
from headrace.api.planning.rates import require_rate
from headrace.api.planning.schedule import require_near
from headrace.api.policy.budgets import day_of_start, reserve
from headrace.api.private_words import because
from headrace.api.signing.legs import most_of
from headrace.api.store import Tx, after_commit
from headrace.api.store.tables_work import NOT_PROMISED, PlanRow, TransferRow
from headrace.api.transfers.attempts import ADVANCE
from headrace.api.transfers.deadlines import own_hours, require_deadline, why_late
from headrace.api.transfers.parts import Parts
from headrace.api.transfers.queries import Transfers
from headrace.api.transfers.run_state import standing_of, write_standing
from headrace.api.transfers.scheduler import Scheduler
from headrace.api.transfers.state_machine import State, Wish, retried, wished
from headrace.api.transfers.transfer_steps import Steerer, kept_of, objection_to, steerer
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
        """Pause, resume, cancel, retry, change rate, class or deadline: one's own transfers, and any for operators."""
        row = await self._transfers.row(caller, transfer)
        admission = Admission(self._parts.core)
        await self._parts.signer.with_hours(
            lambda: admission.run(lambda: self._control(caller, row, request, admission))
        )
        if request.action in {"set_class", "set_deadline"}:
            await self._parts.shares.renew()
        return await self._transfers.view(caller, await self._transfers.row(caller, row.id))

    async def _control(self, caller: Caller, row: TransferRow, request: m.ControlRequest, admission: Admission) -> None:
        stops = request.action in {"pause", "cancel"}
        async with self._parts.history.change(row.id, first=stops) as (tx, fresh):
            objection = objection_to(await self._transfers.status(tx, fresh), caller.principal, request.action)
            if objection is not None:
                raise objection
            if request.action == "retry":
                await self._retry(tx, caller, fresh, request.reason, admission)
            elif request.action == "set_rate":
                await self._set_rate(tx, caller, fresh, request, admission)
            elif request.action == "set_class":
                await self._set_class(tx, caller, fresh, request, admission)
            elif request.action == "set_deadline":
                await self._set_deadline(tx, caller, fresh, request, admission)
            else:
                again = await self._promise_anew(tx, fresh, admission) if request.action == "resume" else ""
                await self._wish(tx, caller, fresh, _WISHES[request.action], (request.reason, again))

    async def _promise_anew(self, tx: Tx, row: TransferRow, admission: Admission) -> str:
        """Promise a deadline anew, beside what was promised meanwhile; say when it can't be kept.

        Who paused, failed or had a lower ceiling has given its place up. It runs all the same, with what others leave.
        """
        now = self._parts.core.clock()
        if row.deadline is None or row.deadline <= now:
            return ""
        late = await why_late(tx, row.requester, admission, self._parts.shares.in_force, row, self._left(row), now)
        since = row.promised = NOT_PROMISED if late else now
        run, deadline = row.id, row.deadline
        after_commit(tx, lambda: self._scheduler.promised(run, since))
        return f". Its deadline, {deadline:%Y-%m-%d %H:%M} UTC, is not promised any more: {late}" if late else ""

    async def _wish(self, tx: Tx, caller: Caller, row: TransferRow, asked: Wish, why: tuple[str, str]) -> None:
        """Pause, resume or cancel a transfer that has not ended."""
        reason, again = why
        said = because(f"{_VERBS[asked]} by {caller.principal.shown_name}", reason) + again
        clock = self._parts.core.steady()
        after = wished(standing_of(row), asked, said if asked is not Wish.RUN else "", clock)
        row.wish, row.wish_reason, row.paused_since = after.wish, after.wish_reason, after.paused_since
        _keep(row, "pause", steerer(caller.principal, row.requester) if asked is Wish.PAUSE else None)
        await self._parts.history.record(tx, row, m.TransferEventKind(f"asked_{asked}"), said, caller=caller)
        await self._parts.core.jobs.defer(tx, ADVANCE, row.id)

    async def _set_rate(
        self, tx: Tx, caller: Caller, row: TransferRow, request: m.ControlRequest, admission: Admission
    ) -> None:
        """Change the rate ceiling; `None` lifts it to the plan's own.

        One that is lifted is promised anew: with the lower one, what it needs may have been promised to others.
        """
        rate_bps, before = request.rate_bps, row.rate_ceiling_bps
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
        _keep(row, "rate", _operator(caller, row))
        limit = f"at most {bit_rate(row.rate_ceiling_bps)}" if row.rate_ceiling_bps else "without a limit"
        now_bps = row.rate_ceiling_bps
        is_lifted = before is not None and (now_bps is None or now_bps > before)
        again = await self._promise_anew(tx, row, admission) if is_lifted else ""
        said = because(f"it runs {limit} from now on", request.reason) + again
        await self._parts.history.record(tx, row, m.TransferEventKind.RATE, said, caller=caller)
        after_commit(tx, lambda: self._scheduler.new_rate(row.id))

    async def _set_class(
        self, tx: Tx, caller: Caller, row: TransferRow, request: m.ControlRequest, admission: Admission
    ) -> None:
        """Give it another class, no higher than policy gives it now; its promise must hold in that one, too."""
        self._parts.shares.require_readable()
        held, name = self._parts.shares.in_force, request.qos_class
        may_have = held.gives(await self._parts.signer.decided(tx, row))
        if name is None or name not in held.classes:
            said = f"there is no class `{name}`" if name else "no class was named"
            classes = ", ".join(f"`{one}`" for one in may_have)
            raise ServiceError(Code.UNKNOWN_CLASS, f"{said}; it may have {classes}", fields=("qos_class",))
        if name not in may_have:
            raise ServiceError(
                Code.CLASS_ABOVE_POLICY,
                f"policy gives this transfer up to the class `{may_have[-1]}`, and `{name}` is higher; choose "
                f"`{may_have[-1]}` or a lower one, or have a policy published that gives `{name}`",
                fields=("qos_class",),
            )
        now = self._parts.core.clock()
        held.require_open(name, own_hours(row), max(now, row.starts or now))
        if row.probe is not None and held.hours_of(name, own_hours(row)).opening(now) != now:
            raise ServiceError(
                Code.TRANSFER_STATE,
                f"the hours of the class `{name}` are over now, and a probe is not interrupted: a leg would begin anew "
                "and move more than was agreed to; choose a class that may run now, or cancel it and measure later",
            )
        row.qos_class, row.priority = name, held.rank(name)
        _keep(row, "class", _operator(caller, row))
        await self._require_deadline(tx, caller, row, admission)
        said = because(f"its class is `{name}` from now on", request.reason)
        await self._parts.history.record(tx, row, m.TransferEventKind.CLASS, said, caller=caller)
        after_commit(tx, lambda: self._scheduler.changed(row))

    async def _set_deadline(
        self, tx: Tx, caller: Caller, row: TransferRow, request: m.ControlRequest, admission: Admission
    ) -> None:
        """Set another deadline that can be kept for what is left, or take it away, if policy does not deny it so."""
        require_near(request.deadline, self._parts.core.clock())
        # Another promise, of which nothing is told yet.
        row.deadline, row.deadline_told = request.deadline, ""
        _keep(row, "deadline", _operator(caller, row))
        await self._parts.signer.released(tx, row, starts=False)
        await self._require_deadline(tx, caller, row, admission)
        until = f"is to be done by {row.deadline:%Y-%m-%d %H:%M} UTC" if row.deadline else "has no deadline"
        said = because(f"it {until} from now on", request.reason)
        await self._parts.history.record(tx, row, m.TransferEventKind.DEADLINE, said, caller=caller)
        after_commit(tx, lambda: self._scheduler.changed(row))

    async def _require_deadline(self, tx: Tx, caller: Caller, row: TransferRow, admission: Admission) -> None:
        now = self._parts.core.clock()
        await require_deadline(tx, caller, admission, self._parts.shares.in_force, row, self._left(row), now)
        row.promised = now

    def _left(self, row: TransferRow) -> int:
        """Return what a deadline is judged by: at least what was surveyed, of which a node may tell less until then."""
        progress = self._scheduler.progress(row.id) or m.Progress.model_validate_json(row.progress)
        total = max(progress.bytes_total, self._scheduler.surveyed_bytes(row.id))
        return max(0, total - progress.bytes_durable)

    async def _retry(self, tx: Tx, caller: Caller, row: TransferRow, reason: str, admission: Admission) -> None:
        """Run the same plan again: what failed of a partial transfer, or a failed one (what arrived is skipped)."""
        only_failed = row.state == State.PARTIAL
        queued = retried(standing_of(row))
        core = self._parts.core
        await self._scheduler.require_room(tx, row.requester)
        plan = await self._parts.signer.released(tx, row, starts=True)
        day = day_of_start(row, core.clock(), core.settings.timezone)
        ceilings = int(str(plan.execution["max_bytes"])), int(str(plan.execution["max_files"]))
        most = most_of(*ceilings, probe=row.probe is not None)
        await self._parts.quotas.require_again(tx, row, most, day)
        reserve(tx, row, day=day, max_bytes=most.bytes, max_files=most.files)
        write_standing(row, queued)
        row.wish, row.wish_reason, row.fence = queued.wish, queued.wish_reason, row.fence + 1
        row.paused_since = None
        _keep(row, "pause", None)
        row.only_failed, row.error, row.ended = only_failed, None, None
        said = because(f"tried again by {caller.principal.shown_name}", reason)
        said += await self._promise_anew(tx, row, admission)
        await self._parts.history.record(tx, row, m.TransferEventKind.RETRY, said, caller=caller)
        await self._scheduler.admit(tx, row)

    async def _plan_ceiling(self, tx: Tx, row: TransferRow) -> int | None:
        plan = await tx.get(PlanRow, row.plan)
        card = m.Plan.model_validate_json(plan.card) if plan else None
        return card.intent.rate_limit_bps if card and card.intent else None


def _operator(caller: Caller, row: TransferRow) -> Steerer | None:
    """Return that an operator steers a transfer of another: what its requester sets, its assistants may set anew."""
    return "operator" if steerer(caller.principal, row.requester) == "operator" else None


def _keep(row: TransferRow, what: str, said: Steerer | None) -> None:
    """Keep whose word this of a transfer is; nobody's when it was taken back, or a program said it."""
    kept = {name: by for name, by in kept_of(row.kept).items() if name != what}
    row.kept = json.dumps(kept | ({what: said} if said else {}))
