"""Takes requests to plan: keeps them, reads their words, runs planning as a job, and stores what came out."""

import asyncio
import logging
from dataclasses import replace
from datetime import datetime, timedelta

from sqlalchemy import select

from headrace.api.caller import Caller
from headrace.api.core import Core
from headrace.api.errors import Code, ServiceError
from headrace.api.events.broker import wait_for
from headrace.api.jobs.port import Task
from headrace.api.jobs.turns import InLine, Turns
from headrace.api.planning.intents import sentence_of
from headrace.api.planning.pipeline import Asked, Pipeline, Planned, Stopped, probe_sentence
from headrace.api.planning.plan_queries import Plans, approvers_of
from headrace.api.planning.plan_steps import objection_to
from headrace.api.planning.requested import Requested
from headrace.api.planning.words import Reading, Words
from headrace.api.policy.tuning import of_transfer
from headrace.api.problems import KNOWN, problem_of
from headrace.api.store import Tx
from headrace.api.store.tables_site import EndpointRow
from headrace.api.store.tables_work import PlanApproverRow, PlanRow
from headrace.client import models as m
from headrace.client.text import plural
from headrace.guardrails import PERMIT_LIFETIME, ResolvedEndpoint, new_id, shown

_log = logging.getLogger(__name__)

_PLAN = "plan"
_CHANGED = ({"words"}, {"changes"}, {"words", "changes"})
_LIMIT_S = PERMIT_LIFETIME / timedelta(seconds=1) + 120
"""A survey takes as long as its permits are good; reading, deciding and storing come on top."""
_NODES_BACK = timedelta(seconds=30)
_LOOK_AGAIN = timedelta(seconds=0.5)
_OF_PROBES = frozenset({"rate_limit_bps", "priority", "start", "window", "encryption", "project"})
"""What a probe may be asked for besides its places."""
_INTERRUPTED = "The service was restarted while this was being surveyed; nothing was changed. Plan again."


class Intake:
    """Plans in the background, a few at a time; what a restart cut off is taken up again."""

    def __init__(self, core: Core, pipeline: Pipeline, plans: Plans, words: Words) -> None:
        """Plan by `pipeline` what `words` reads, and keep it in `plans`."""
        self._core = core
        self._pipeline = pipeline
        self._plans = plans
        self._words = words
        self._under_way: dict[str, str] = {}
        """Plans that are being made, and whose each is."""
        self._began = core.steady()
        settings = core.settings
        self._turns = Turns(settings.plan_concurrency, settings.plan_concurrency_of_one)
        # All of them may be looked at; those whose turn it is are made.
        core.jobs.add(Task(_PLAN, self._carry_out, at_once=settings.plan_queue, limit_s=_LIMIT_S))
        core.jobs.every("sweep plans", core.settings.sweep_s, self._sweep)

    async def create(self, caller: Caller, request: m.PlanRequest) -> m.Plan:
        """Store a request and begin planning; answers at once."""
        _check_form(request)
        self._core.broker.require_open()
        self._require_room(caller.principal.id)
        plan = new_id("pl")
        self._under_way[plan] = caller.principal.id
        try:
            await self._keep(caller, request, plan)
        except BaseException:
            self._under_way.pop(plan, None)
            raise
        return await self._plans.get(caller, plan, document=False)

    def _require_room(self, person: str) -> None:
        """Refuse another plan of a person when too many of this one's, or of all, are being made."""
        limit, limit_of_one = self._core.settings.plan_queue, self._core.settings.plan_queue_of_one
        if list(self._under_way.values()).count(person) >= limit_of_one:
            raise ServiceError(
                Code.TOO_MANY_PLANS,
                f"this person has {plural(limit_of_one, 'plan')} being made, the most for one; "
                "plan again when one of them is ready",
            )
        if len(self._under_way) >= limit:
            raise ServiceError(
                Code.BUSY,
                f"the service has {plural(len(self._under_way), 'plan')} being made already; try again in a moment",
            )

    async def _keep(self, caller: Caller, request: m.PlanRequest, plan: str) -> None:
        """Store the request as a plan being surveyed, and the job to survey it."""
        now = self._core.clock()
        async with self._core.database.write() as tx:
            base = await self._base(tx, caller, request.plan)
            answered = await self._drop_answered(tx, caller, request.answers)
            request = _with_project(request, answered)
            row = PlanRow(
                id=plan,
                state=m.PlanState.SURVEYING,
                requester=caller.principal.id,
                token_made_by=caller.principal.token_made_by,
                agent=caller.principal.agent,
                door=caller.door,
                words=request.words,
                timezone=request.timezone or self._core.settings.timezone,
                base=base.id if base else None,
                created=now,
                card="",
                obligations=(),
                project=request.project or (request.intent.project if request.intent else None),
                request=Requested.of(caller, request).text,
            )
            card = m.Plan(
                id=row.id,
                state=m.PlanState.SURVEYING,
                requester=row.requester,
                agent=row.agent,
                words=row.words,
                created=now,
                intent=m.PlannedIntent.of(request.intent) if request.intent else None,
                canonical_sentence=_title(request),
                probe=request.probe,
                tuning=_tuning(request, base or answered),
                summary="Being planned.",
            )
            row.card = card.model_dump_json()
            tx.add(row)
            await self._core.audit.append(tx, m.AuditKind.ASKED, caller=caller, subject=row.id, detail=_asked(request))
            await self._core.outbox.write(tx, m.ChangeKind.PLAN, row.id, row.state)
            await self._core.jobs.defer(tx, _PLAN, row.id)

    async def drop(self, caller: Caller, plan: str) -> m.Plan:
        """Give up the caller's own plan that has not started."""
        async with self._core.database.write() as tx:
            row = await self._plans.row(tx, caller, plan)
            objection = objection_to(await self._plans.status(tx, row), caller.principal, "drop")
            if objection is not None:
                raise objection
            await self._drop(tx, caller, row)
        return await self._plans.get(caller, plan, document=False)

    async def _drop_answered(self, tx: Tx, caller: Caller, plan: str | None) -> PlanRow | None:
        """Drop the plan whose questions a new request answers, if it still asks and the caller may; return it then."""
        if plan is None:
            return None
        row = await self._plans.row(tx, caller, plan)
        may = objection_to(await self._plans.status(tx, row), caller.principal, "drop") is None
        if row.state == m.PlanState.ASK and may:
            await self._drop(tx, caller, row)
            return row
        return None

    async def _drop(self, tx: Tx, caller: Caller, row: PlanRow) -> None:
        row.state = m.PlanState.DROPPED
        await self._core.audit.append(tx, m.AuditKind.DROPPED, caller=caller, subject=row.id)
        await self._core.outbox.write(tx, m.ChangeKind.PLAN, row.id, row.state)

    async def interpret(self, caller: Caller, request: m.InterpretRequest) -> m.Interpretation:
        """Read words without planning; nothing is listed or kept."""
        async with self._core.database.read() as tx:
            base = await self._base(tx, caller, request.plan)
        before = m.Plan.model_validate_json(base.card) if base else None
        return await self._words.interpret(caller, request, before)

    async def get(self, caller: Caller, plan: str, *, wait_s: float, document: bool) -> m.Plan:
        """Show a plan, at the latest after `wait_s` seconds, earlier when it has left `surveying`."""
        shown = await self._plans.get(caller, plan, document=document)
        loop = asyncio.get_running_loop()
        limit = loop.time() + min(wait_s, self._core.settings.max_wait_s)
        if shown.state is not m.PlanState.SURVEYING or wait_s <= 0:
            return shown
        with self._core.broker.subscribe(shown.id, principal=caller.principal) as woken:
            while not self._core.broker.closing:
                woken.clear()
                shown = await self._plans.get(caller, shown.id, document=document)
                if shown.state is not m.PlanState.SURVEYING or loop.time() >= limit:
                    break
                await wait_for(woken, limit - loop.time())
        return shown

    async def _base(self, tx: Tx, caller: Caller, plan: str | None) -> PlanRow | None:
        """Return the earlier plan that a follow-up is about: one's own, or nothing is there."""
        if plan is None:
            return None
        row = await self._plans.row(tx, caller, plan)
        if row.requester != caller.principal.id:
            raise ServiceError(
                Code.UNKNOWN_PLAN, f"there is no plan `{plan[:80]}` of yours to change; `headrace plans` lists yours"
            )
        if m.Plan.model_validate_json(row.card).probe is not None:
            # Its places alone would make a copy.
            raise ServiceError(
                Code.INVALID_REQUEST, f"plan `{row.id}` is a probe; ask for a probe anew", fields=("plan",)
            )
        return row

    async def _carry_out(self, plan: str) -> datetime | None:
        """Make a plan when it is its turn, unless that is done: the job of a plan."""
        async with self._core.database.read() as tx:
            row = await tx.get(PlanRow, plan)
        if row is None or row.state != m.PlanState.SURVEYING:
            self._under_way.pop(plan, None)
            self._turns.leave(plan)
            return None
        taken_up = plan not in self._under_way
        self._under_way[plan] = row.requester
        place = InLine(0, row.created, plan, row.requester)
        if not self._turns.is_next(place):
            # Who ends wakes the next; this is only how long a lost word may go unnoticed.
            return self._core.clock() + timedelta(seconds=self._core.settings.sweep_s)
        self._turns.take(place)
        try:
            return await self._make(plan, row, taken_up=taken_up)
        finally:
            self._turns.give_back(plan)
            if following := self._turns.next:
                self._core.jobs.wake(_PLAN, following)

    async def _make(self, plan: str, row: PlanRow, *, taken_up: bool) -> datetime | None:
        """Make a plan from what is stored of its request; returns when to look again, if its nodes are not back yet."""
        async with self._core.database.read() as tx:
            card, requested = m.Plan.model_validate_json(row.card), row.request and Requested.read(row.request)
            caller = await requested.caller(tx, row) if requested else None
            base = await tx.get(PlanRow, row.base) if row.base else None
        if requested and caller:
            before = m.Plan.model_validate_json(base.card) if base else None
            planned = await self._outcome(caller, requested.request, card, before, row.timezone)
        else:
            planned = Planned(_interrupted(card))
        if taken_up and _lacks_a_node(planned) and self._core.steady() < self._began + _NODES_BACK:
            # Nodes dial in anew after a start: a moment later they are there.
            self._under_way.pop(plan, None)
            return self._core.clock() + _LOOK_AGAIN
        await self._store(caller, planned)
        self._under_way.pop(plan, None)
        return None

    async def _sweep(self) -> None:
        """Find each plan that is being made and that nobody works on."""
        # What ends while this reads is read as it was.
        before = set(self._under_way)
        async with self._core.database.read() as tx:
            for plan in await tx.scalars(select(PlanRow.id).where(PlanRow.state == m.PlanState.SURVEYING)):
                if plan not in before and plan not in self._under_way:
                    _log.warning("plan %s was made by nobody; it is taken up", plan)
                    self._core.jobs.wake(_PLAN, plan)

    async def _outcome(
        self, caller: Caller, request: m.PlanRequest, card: m.Plan, before: m.Plan | None, timezone: str
    ) -> Planned:
        told = ""
        try:
            reading = await self._words.read(caller, request, before)
            told = reading.model
            if reading.intent is None:
                return Planned(_unread(card, reading), model=told)
            asked = Asked(
                card.id, caller, reading.intent, request.words, card.created, timezone, reading.origins,
                _notes(reading),
            )  # fmt: skip
            planned = await self._pipeline.run(asked, card)
        except Stopped as stopped:
            planned = stopped.planned
        except Exception as error:  # noqa: BLE001 - whatever went wrong, the plan says so; what is not public is logged
            planned = Planned(_failed(card, error))
        return replace(planned, model=told)

    async def _store(self, caller: Caller | None, planned: Planned) -> None:
        card, decision = planned.card, planned.decision
        async with self._core.database.write() as tx:
            row = await tx.get(PlanRow, card.id)
            if row is None or row.state != m.PlanState.SURVEYING:
                return
            row.state, row.card = card.state, card.model_dump_json()
            if card.intent is not None:
                row.project = card.intent.project
            if decision is not None:
                row.obligations = tuple(map(str, decision.asks))
                tx.add_all(
                    PlanApproverRow(name=name, requester=row.requester, created=row.created, plan=row.id)
                    for name in approvers_of(row)
                )
                row.policy_version = decision.policy_version
                row.decision_context = decision.context_json
                detail = {
                    "outcome": decision.outcome,
                    "rules": " ".join(rule.id for rule in decision.rules),
                    "policy_version": decision.policy_version,
                    "digest": card.digest or "",
                    "origins": _told(card.origins),
                }
                if row.project is not None:
                    detail["project"] = row.project
                await self._core.audit.append(tx, m.AuditKind.DECIDED, caller=caller, subject=row.id, detail=detail)
            if planned.document is not None and planned.route is not None and planned.execution is not None:
                row.digest, row.document, row.expires = card.digest, planned.document.text, card.expires
                row.starts, row.qos_class = card.starts, planned.execution.qos_class
                row.source, row.destination = planned.route.source.text, planned.route.destination.text
                row.source_node = planned.route.source.node
                row.destination_node = planned.route.destination.node
                row.source_endpoint = await _endpoint(tx, planned.route.source)
                row.destination_endpoint = await _endpoint(tx, planned.route.destination)
                row.deletes = planned.execution.delete_source or planned.execution.delete_extraneous
            detail = {"state": card.state.value, "summary": card.summary}
            if planned.model:
                detail["model"] = planned.model
            await self._core.audit.append(tx, m.AuditKind.PLANNING_ENDED, caller=caller, subject=row.id, detail=detail)
            await self._core.outbox.write(tx, m.ChangeKind.PLAN, row.id, row.state)
            await self._core.jobs.done(tx, _PLAN, row.id)


async def _endpoint(tx: Tx, place: ResolvedEndpoint) -> str:
    """Return the key of an endpoint; none when its node was removed meanwhile, and the plan can't start."""
    named = EndpointRow.node_key == place.node, EndpointRow.root == place.root
    return await tx.scalar(select(EndpointRow.pk).where(*named)) or ""


def _title(request: m.PlanRequest) -> str | None:
    """Say what was typed, for lists: what does not become a plan has no other sentence. Words are their own."""
    if request.intent is None or request.words is not None:
        return None
    try:
        return probe_sentence(request.intent) if request.probe is not None else sentence_of(request.intent) or None
    except ServiceError:  # a place that is none, which planning tells
        return None


def _check_form(request: m.PlanRequest) -> None:
    if request.probe is not None:
        _check_probe(request)
    given = {name for name in ("words", "intent", "plan", "changes") if getattr(request, name) is not None}
    if given not in ({"words"}, {"intent"}, {"words", "intent"}, *({"plan", *one} for one in _CHANGED)):
        raise ServiceError(
            Code.INVALID_REQUEST,
            "give `words`, `intent` or both; or `plan` with `words`, `changes` or both",
            fields=tuple(sorted(given)) or ("words",),
        )
    typed = request.intent or request.changes
    if request.project is not None and typed is not None and typed.project not in {None, request.project}:
        message = f"this names two projects, `{request.project}` and `{typed.project}`; name one"
        raise ServiceError(Code.INVALID_REQUEST, message, fields=("project",))


def _check_probe(request: m.PlanRequest) -> None:
    """Refuse a probe that asks for more than two places, and how fast and when it may be."""
    if request.intent is None or request.words is not None:
        raise ServiceError(
            Code.INVALID_REQUEST, "a probe takes an `intent` and no words: both places of it", fields=("probe",)
        )
    plain = m.TransferIntent(action="copy", source=request.intent.source, destination=request.intent.destination)
    said, default = request.intent.model_dump(), plain.model_dump()
    more = tuple(sorted(name for name in said if said[name] != default[name] and name not in _OF_PROBES))
    if more:
        message = f"a probe only measures, so it takes no `{'`, `'.join(more)}`; leave that out"
        raise ServiceError(Code.INVALID_REQUEST, message, fields=more)


def _tuning(request: m.PlanRequest, before: PlanRow | None) -> m.EffectiveTuning:
    """Return what is set with the plan itself: what the one before had unless a change or an answer says something."""
    if request.tuning is None and before is not None:
        return of_transfer(m.Plan.model_validate_json(before.card).tuning.own())
    return of_transfer(request.tuning)


def _with_project(request: m.PlanRequest, answered: PlanRow | None) -> m.PlanRequest:
    """Keep the project beside words that asked something back, in the request that answers it."""
    if answered is None or request.project is not None or request.intent is not None:
        return request
    earlier = Requested.read(answered.request or "")
    if earlier is None:
        return request
    typed = earlier.request.intent
    return request.model_copy(update={"project": earlier.request.project or (typed.project if typed else None)})


def _asked(request: m.PlanRequest) -> dict[str, str]:
    said = request.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
    if request.probe is not None:
        said["probe"] = request.probe.model_dump()
    return {name: value if isinstance(value, str) else str(value) for name, value in said.items()}


def _told(origins: list[m.SlotOrigin]) -> str:
    """Say for the record which slots come from where: `said: action source; assistant: rate_limit_bps`."""
    slots: dict[str, list[str]] = {}
    for one in origins:
        slots.setdefault(one.origin, []).append(one.slot)
    return "; ".join(f"{origin}: {' '.join(known)}" for origin, known in sorted(slots.items()) if origin != "assumed")


def _notes(reading: Reading) -> tuple[str, ...]:
    """Say under the seal which words a language model took for background."""
    words = ", ".join(f"“{shown(one)}”" for one in reading.left_out)
    return (f"Left out by the model, as background: {words}.",) if words else ()


def _unread(card: m.Plan, reading: Reading) -> m.Plan:
    """Return the plan of words that ask for no transfer: questions back, or refusals."""
    state = m.PlanState.DENIED if reading.refusals else m.PlanState.ASK
    messages = [one.message for one in reading.refusals] or [one.message for one in reading.questions]
    return card.model_copy(
        update={
            "state": state,
            "questions": list(reading.questions),
            "refusals": list(reading.refusals),
            "danger": list(reading.danger),
            "summary": " ".join(messages),
        }
    )


def _lacks_a_node(planned: Planned) -> bool:
    return any(refusal.rule == Code.NODE_AWAY for refusal in planned.card.refusals)


def _interrupted(card: m.Plan) -> m.Plan:
    """Return the plan of a request that was not kept whole, or whose requester has left meanwhile."""
    refusal = m.Refusal(rule=Code.INTERRUPTED, message=_INTERRUPTED)
    return card.model_copy(update={"state": m.PlanState.FAILED, "summary": _INTERRUPTED, "refusals": [refusal]})


def _failed(card: m.Plan, error: Exception) -> m.Plan:
    """Return the plan of a request that met an error: denied when the request is at fault, else failed."""
    problem = problem_of(error, instance=card.id)
    refused = isinstance(error, KNOWN) and problem.status < 500 and problem.status != 409  # noqa: PLR2004
    return card.model_copy(
        update={
            "state": m.PlanState.DENIED if refused else m.PlanState.FAILED,
            "refusals": [m.Refusal(rule=problem.code, message=problem.detail)],
            "summary": problem.detail,
        }
    )
