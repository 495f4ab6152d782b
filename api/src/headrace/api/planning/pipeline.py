"""Planning: from a request to a sealed plan, in the order that keeps every promise.

words or slots -> places -> may this caller look there (policy, before anything is listed) -> rails -> permits -> survey
-> rails -> policy -> seal. Nothing is written at the endpoints. Each stop leaves a plan that says why.
"""

import asyncio
import logging
import re
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial

from headrace.api.caller import Caller
from headrace.api.core import Core
from headrace.api.data_folder import lists_dir
from headrace.api.errors import Code, ServiceError
from headrace.api.people.known_as import known_as
from headrace.api.planning.admission import Admission, WantedDeadline
from headrace.api.planning.estimate import estimate
from headrace.api.planning.intents import sentence_of
from headrace.api.planning.locations import Locations, as_typed, asker_of
from headrace.api.planning.origins import origins_view
from headrace.api.planning.probes import probing, survey_view
from headrace.api.planning.schedule import Schedule
from headrace.api.planning.words import KEPT
from headrace.api.policy.budgets import day_of, used_today
from headrace.api.policy.deciding import Deciding
from headrace.api.policy.links import narrowest
from headrace.api.policy.qos import InForce, QosVersions
from headrace.api.policy.quota_rules import Whose
from headrace.api.policy.quotas import Quotas, whose
from headrace.api.policy.tuning import effective
from headrace.api.policy.versions import Policies
from headrace.api.signing.legs import LEGS, most_of
from headrace.api.signing.signer import Signer
from headrace.api.sites.nodes import Nodes
from headrace.client import models as m
from headrace.client.text import sentence
from headrace.engine import EngineError, Survey
from headrace.guardrails import (
    PERMIT_LIFETIME,
    Decision,
    Document,
    Execution,
    Explanation,
    Facts,
    NeedsApproval,
    PlanDraft,
    Refused,
    Route,
    SurveyCounts,
    canonical,
    card_notes,
    check_survey,
    danger_of,
    decide,
    execution_of,
    explain,
    filters_of,
    may_plan,
    settle,
    shown,
    spoken_summary,
    why,
)
from headrace.guardrails.intents.origins import Origins

_log = logging.getLogger(__name__)

_SOURCE_MISSING = "source_missing"
_SURVEY_LIMIT_S = PERMIT_LIFETIME / timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Asked:
    """A request to plan, once its words are read."""

    plan: str
    caller: Caller
    intent: m.TransferIntent
    words: str | None
    created: datetime
    timezone: str
    """Whose clock times are meant."""
    origins: Origins
    """Where each slot of the intent comes from."""
    notes: tuple[str, ...] = ()
    """What the card says of how the words were read."""


@dataclass(frozen=True, slots=True)
class Planned:
    """What planning found out: the card, and the sealed document when the plan is ready."""

    card: m.Plan
    document: Document | None = None
    decision: Decision | None = None
    route: Route | None = None
    execution: Execution | None = None
    model: str = ""
    """Which language model was asked about the words, and what came of it."""


class Stopped(Exception):  # noqa: N818 - says what is the case
    """Planning ends here with this plan."""

    def __init__(self, planned: Planned) -> None:
        """Keep what people will see."""
        super().__init__(planned.card.summary)
        self.planned = planned


class Pipeline:
    """Carries one request through to a sealed plan."""

    def __init__(  # noqa: PLR0913, PLR0917 - what it plans with
        self,
        core: Core,
        nodes: Nodes,
        locations: Locations,
        policies: Policies,
        signer: Signer,
        quotas: Quotas,
        qos: QosVersions,
    ) -> None:
        """Plan for one site."""
        self._core = core
        self._nodes = nodes
        self._locations = locations
        self._policies = policies
        self._signer = signer
        self._quotas = quotas
        self._qos = qos
        self._deciding = Deciding("policy of plans")

    async def run(self, asked: Asked, card: m.Plan) -> Planned:
        """Plan what was asked; raises `Stopped` with a denied plan, and domain errors for what failed."""
        intent, asker = asked.intent, asker_of(asked.caller.principal)
        self._qos.require_readable()
        schedule = Schedule.of(intent, asked.timezone, self._core.clock())
        read = {"intent": m.PlannedIntent.of(intent), "origins": origins_view(asked.origins)}
        said = sentence_of(intent) if card.probe is None else probe_sentence(intent)
        card = card.model_copy(update={**read, "canonical_sentence": said})
        route = await self._route(intent, card)
        moment = self._locations.moment(asked.caller)
        decision = await self._deciding.run(asker.person, may_plan, self._policies.active, asker, route, moment)
        if decision.outcome != "allowed":
            raise Stopped(_denied(card, decision, await self._explained(asker.person, decision)))
        try:
            draft = execution_of(intent, route, KEPT)
        except Refused as error:
            raise Stopped(_refused(card, error)) from error
        execution, counts, shown_counts = await self._counted(asked, route, draft, card.probe)
        card = card.model_copy(
            update={
                "survey": shown_counts,
                "surveyed_entries": counts.files + counts.directories + counts.identical_files + counts.excluded_files,
                "danger": list(danger_of(execution)),
            }
        )
        refusals = () if card.probe else check_survey(execution, counts, route)
        if refusals:
            raise Stopped(_refused(card, Refused(refusals)))
        late = schedule.infeasible(counts.bytes, intent.rate_limit_bps)
        if late:
            raise ServiceError(Code.DEADLINE_INFEASIBLE, late, fields=("deadline",))
        decision = await self._decide(asked, route, execution, counts, schedule)
        explained = await self._explained(asker.person, decision)
        if decision.outcome == "denied":
            raise Stopped(_denied(card, decision, explained))
        held = self._qos.in_force
        qos_class, qos_why = held.class_of(decision, intent.priority)
        execution = replace(execution, qos_class=qos_class).keeping(decision.keep_days)
        quality = await self._quality(held, qos_class, qos_why, route)
        link = narrowest(held.document, quality.links, qos_class)
        async with self._core.database.read() as tx:
            may_take = await estimate(tx, route, shown_counts, intent, link) if card.probe is None else None
            known = await known_as(tx, asked.caller.principal.id)
        eta_s = may_take.likely_s if may_take else None
        if card.probe is not None:
            eta_s = len(LEGS) * card.probe.max_seconds
        timing = {"eta_s": eta_s, "estimate": may_take, "starts": schedule.starts, "hours": schedule.hours_view}
        day = day_of(schedule.starts or self._core.clock(), self._core.settings.timezone)
        most = most_of(execution.max_bytes, execution.max_files, probe=card.probe is not None)
        quotas, over = await self._quotas.of_plan(_concerned(asked, route), most, day)
        tuning = effective(held.document, card.tuning.own(), route.source.endpoint, route.destination.endpoint)
        warnings = [*filter(None, [schedule.warning(eta_s)]), *map(sentence, over)]
        card = card.model_copy(update=timing | {"warnings": warnings, "quotas": quotas, "tuning": tuning})
        if quality.calendar is not None:
            _require_hours(held, qos_class, schedule, counts.bytes, intent.rate_limit_bps)
        await self._require_kept(asked, held, quality, schedule, counts.bytes, route)
        settled = _Settled(route, execution, counts, decision, explained, schedule, known, quality)
        return self._seal(asked, card, settled)

    async def _require_kept(  # noqa: PLR0913, PLR0917 - what is asked, and of what
        self, asked: Asked, held: InForce, quality: m.PlannedQuality, schedule: Schedule, count: int, route: Route
    ) -> None:
        """Refuse a deadline that links can't guarantee."""
        if schedule.deadline is None or not quality.links:
            return
        wanted = WantedDeadline(
            bytes=count,
            begins=schedule.begins,
            deadline=schedule.deadline,
            hours=schedule.hours,
            qos_class=quality.qos_class,
            source=route.source.node,
            destination=route.destination.node,
            rate_bps=asked.intent.rate_limit_bps,
        )
        admission, now = Admission(self._core), self._core.clock()

        async def ask() -> None:
            async with self._core.database.read() as tx:
                await admission.require_kept(tx, asked.caller, held, wanted, now)

        await admission.run(ask)

    async def _quality(self, held: InForce, qos_class: str, qos_why: str, route: Route) -> m.PlannedQuality:
        """Say of which class a plan is and why, which links it takes, and in whose hours it runs."""
        async with self._core.database.read() as tx:
            path = await self._qos.path(tx, route.source.node, route.destination.node)
        calendar = held.calendar_of(qos_class)
        return m.PlannedQuality(
            qos_class=qos_class,
            why=qos_why,
            links=list(path.links),
            calendar=calendar.name if calendar else None,
            opens=calendar.opening(self._core.clock()) if calendar else None,
        )

    async def _route(self, intent: m.TransferIntent, card: m.Plan) -> Route:
        probes = card.probe is not None
        try:
            filters = filters_of(intent)
        except Refused as error:
            raise Stopped(_refused(card, error)) from error
        async with self._core.database.read() as tx:
            source = await self._locations.resolve(tx, intent.source)
            destination = await self._locations.resolve(tx, intent.destination)
            # A probe writes below the folder that is named, where a copy may make one of its source's name.
            route = settle(replace(source, into=source.into or probes), destination).taking(filters)
            lives = await self._nodes.require_usable(tx, source.node, destination.node)
        if len(lives) > 1 and not any(live.accepts_connections for live in lives.values()):
            raise ServiceError(
                Code.NODES_UNREACHABLE,
                f"the nodes of `{source.endpoint}` and `{destination.endpoint}` can't reach each other: neither takes "
                "connections; let one of them listen (its `--data-listen`) where the other can connect",
            )
        return route

    async def _counted(
        self, asked: Asked, route: Route, draft: Execution, probe: m.ProbeBounds | None
    ) -> tuple[Execution, SurveyCounts, m.SurveyCounts]:
        """Find out what would move: by a survey, or by the bounds of a probe."""
        if probe is not None:
            permit = await self._signer.permit(asker_of(asked.caller.principal), route.destination)
            await self._locations.require_folder(asked.caller, route.destination, permit.text)
            execution, counts = probing(draft, probe)
            return execution, counts, survey_view(counts)
        survey = await self._survey(asked, route, draft)
        counts = SurveyCounts.of(survey)
        return draft.surveyed(counts), counts, _survey_view(survey)

    async def _survey(self, asked: Asked, route: Route, draft: Execution) -> Survey:
        folder = lists_dir(self._core.settings.data, asked.plan)
        self._core.folder.make(folder)
        asker = asker_of(asked.caller.principal)
        source = await self._signer.permit(asker, route.source)
        destination = await self._signer.permit(asker, route.destination)
        try:
            async with asyncio.timeout(_SURVEY_LIMIT_S):
                return await self._core.hub.survey(
                    source_permit=source.text,
                    destination_permit=destination.text,
                    execution=canonical(draft.to_body()).decode(),
                    lists_dir=str(folder),
                )
        except EngineError as error:
            said = in_places(str(error), route)
            if error.code == _SOURCE_MISSING:
                said += await self._locations.near(asked.caller, route.source)
            error.args = (said,)
            raise
        except TimeoutError as error:
            raise ServiceError(
                Code.SURVEY_TIMEOUT,
                f"listing `{shown(route.source.text)}` and `{shown(route.destination.text)}` took more than "
                f"{_SURVEY_LIMIT_S:.0f} s; plan smaller folders one by one",
            ) from error

    async def _decide(
        self, asked: Asked, route: Route, execution: Execution, counts: SurveyCounts, schedule: Schedule
    ) -> Decision:
        principal = asked.caller.principal
        day = day_of(schedule.starts or self._core.clock(), self._core.settings.timezone)
        async with self._core.database.read() as tx:
            budgets = await used_today(tx, principal.id, principal.agent, day)
        moment = replace(self._locations.moment(asked.caller), start=schedule.starts)
        facts = Facts.of(execution, counts, moment, budgets, asked.origins)
        facts = replace(facts, deadline=schedule.deadline, project=asked.intent.project or "")
        asker = asker_of(principal)
        policies, action = self._policies.active, execution.action
        return await self._deciding.run(asker.person, decide, policies, action, asker, route, facts)

    async def _explained(self, person: str, decision: Decision) -> Explanation:
        """Say which facts decided, and what would be decided more mildly: many decisions, so in a thread."""
        return await self._deciding.run(person, explain, self._policies.active, decision)

    def _seal(self, asked: Asked, card: m.Plan, settled: "_Settled") -> Planned:
        route, execution, counts, decision = settled.route, settled.execution, settled.counts, settled.decision
        notes = [*asked.notes, *card_notes(execution, counts), *settled.schedule.notes(settled.quality.links)]
        notes += _quality_notes(settled.quality)
        draft = PlanDraft(
            id=asked.plan,
            requester=asked.caller.principal.id,
            token_made_by=asked.caller.principal.token_made_by,
            agent=asked.caller.principal.agent,
            door=asked.caller.door,
            words=asked.words,
            canonical_sentence=card.canonical_sentence or "",
            source=route.source.text,
            destination=route.destination.text,
            execution=execution,
            counts=counts,
            decision=decision,
            notes=tuple(notes),
            danger=tuple(card.danger),
            created=asked.created,
            starts=settled.schedule.starts,
            hours=settled.schedule.hours,
            deadline=settled.schedule.deadline,
            project=asked.intent.project or "",
            origins=asked.origins,
            known_as=settled.known_as,
        )
        document = self._signer.plan(draft)
        summary = spoken_summary(execution, counts, decision, route.source.text, route.destination.text)
        ready = card.model_copy(
            update={
                "state": m.PlanState.READY,
                "digest": document.digest,
                "expires": draft.expires,
                "decision": decision_view(decision, execution.qos_class, settled.explained),
                "notes": notes,
                "quality": settled.quality,
                "summary": summary,
            }
        )
        return Planned(ready, document, decision, route, execution)


def _concerned(asked: Asked, route: Route) -> Whose:
    return whose(asked.caller.principal, route.source.text, route.destination.text, asked.intent.project or "")


def _require_hours(held: InForce, qos_class: str, schedule: Schedule, count: int, rate_limit_bps: int | None) -> None:
    """Refuse hours that are never open together with those of the class, and a deadline that they can't keep."""
    held.require_open(qos_class, schedule.hours, schedule.begins)
    late = schedule.infeasible(count, rate_limit_bps, held.hours_of(qos_class, schedule.hours))
    if late:
        raise ServiceError(Code.DEADLINE_INFEASIBLE, late, fields=("deadline",))


def _quality_notes(quality: m.PlannedQuality) -> list[str]:
    """Say under the seal of which class it is; nothing where that is what every plan without links is."""
    if quality.qos_class == "bulk" and not quality.links and "priority" not in quality.why and not quality.calendar:
        return []
    over = f", over {', '.join(quality.links)}" if quality.links else ""
    when = f" It runs only while the calendar {quality.calendar} is open." if quality.calendar else ""
    return [f"Its class is {quality.qos_class}{over}: {quality.why}.{when}"]


def in_places(said: str, route: Route) -> str:
    """Say in the names of endpoints what a node said of its roots."""
    for end in (route.source, route.destination):
        there = rf"`{re.escape(end.root)}(/[^`]*)` on node {re.escape(end.node)}"
        said = re.sub(there, partial(_in_place, end.endpoint), said)
    return said


def _in_place(endpoint: str, found: re.Match[str]) -> str:
    return f"`{endpoint}:{as_typed(found[1])}`"


@dataclass(frozen=True, slots=True)
class _Settled:
    route: Route
    execution: Execution
    counts: SurveyCounts
    decision: Decision
    explained: Explanation
    schedule: Schedule
    known_as: str
    quality: m.PlannedQuality


def decision_view(decision: Decision, qos_class: str, explained: Explanation) -> m.Decision:
    """Show a decision."""
    approvals = [need for need in decision.obligations if isinstance(need, NeedsApproval)]
    return m.Decision(
        outcome=decision.outcome,
        rules=[m.Rule(id=rule.id, reason=rule.reason) for rule in decision.rules],
        approvals_needed=sum(need.count for need in approvals),
        approver_groups=[need.by for need in approvals],
        policy_version=decision.policy_version,
        why=why(decision),
        qos_class=qos_class,
        obligations=[str(need) for need in decision.obligations],
        facts=[m.DecidingFact(name=fact.name, value=fact.value) for fact in explained.facts],
        alternatives=[
            m.Alternative(words=one.words, outcome=one.outcome)
            for one in explained.alternatives
            if one.outcome != "denied"
        ],
    )


def probe_sentence(intent: m.TransferIntent) -> str:
    """Say what a probe is for; the language of requests has no words for one."""
    return f"probe the way from {intent.source} to {intent.destination}"


def _denied(card: m.Plan, decision: Decision, explained: Explanation) -> Planned:
    view = decision_view(decision, decision.qos_class, explained)
    denied = card.model_copy(update={"state": m.PlanState.DENIED, "decision": view, "summary": view.why})
    return Planned(denied, decision=decision)


def _refused(card: m.Plan, error: Refused) -> Planned:
    refusals = [m.Refusal(rule=one.rule, message=one.message, words=one.words) for one in error.refusals]
    summary = " ".join(sentence(one.message) for one in refusals)
    return Planned(card.model_copy(update={"state": m.PlanState.DENIED, "refusals": refusals, "summary": summary}))


def _survey_view(survey: Survey) -> m.SurveyCounts:
    return m.SurveyCounts(**{name: getattr(survey, name) for name in m.SurveyCounts.model_fields})
