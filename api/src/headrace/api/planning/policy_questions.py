"""Questions about policy: what a text would have said of earlier plans, and who may do what."""

import asyncio
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from difflib import get_close_matches
from typing import Literal

from sqlalchemy import select

from headrace.api.caller import Caller
from headrace.api.core import Core
from headrace.api.errors import Code, ServiceError
from headrace.api.planning.locations import Locations
from headrace.api.policy.versions import Policies
from headrace.api.sites.endpoints import Endpoints, Known
from headrace.api.store import Tx
from headrace.api.store.tables_site import PersonRow
from headrace.api.store.tables_work import PlanRow
from headrace.client import models as m
from headrace.guardrails import (
    NEEDS,
    Decision,
    Facts,
    GuideError,
    Moment,
    PolicySet,
    ResolvedEndpoint,
    asks_only_to_look,
    decide,
    guided_rules,
    may_browse,
    may_plan,
    redecide,
    settle,
    shown,
    why,
    without_places,
)
from headrace.guardrails import (
    Caller as Asker,
)

_ONLY_LISTED = "Its places may be listed; the transfer itself was not decided."
REPLAYED = 1000
"""Plans that a simulation decides again: the newest that were decided."""
LISTED = 200
PEOPLE = 500
"""People that one question is asked about."""
ANY_ENDPOINT = 20
"""Endpoints that are tried for an end that a question leaves open, in the order of their names."""
_ORDER = ("allowed", "confirm", "approve", "denied")
_DECIDED = (
    select(PlanRow.id, PlanRow.requester_name, PlanRow.created, PlanRow.card, PlanRow.decision_context)
    .where(PlanRow.decision_context.is_not(None), PlanRow.decision_context != "")
    .order_by(PlanRow.created.desc(), PlanRow.id.desc())
    .limit(REPLAYED)
)


class PolicyQuestions:
    """Answers what a policy text would do, and what the active one does."""

    def __init__(self, core: Core, policies: Policies, locations: Locations, endpoints: Endpoints) -> None:
        """Ask about one site."""
        self._core = core
        self._policies = policies
        self._locations = locations
        self._endpoints = endpoints

    async def simulate(self, caller: Caller, text: m.PolicyText) -> m.PolicySimulation:
        """Decide stored requests again, exactly as they were, under a text that could be published."""
        proposed = await self._policies.require_valid(text)
        async with self._core.database.read() as tx:
            rows = [_Stored(*row) for row in await tx.execute(_DECIDED)]
        flips = await asyncio.to_thread(_flips, proposed, rows, by_agent=caller.principal.agent is not None)
        return m.PolicySimulation(
            replayed=len(rows),
            flipped=len(flips),
            only_listed=sum(flip.only_listed for flip in flips),
            flips=flips[:LISTED],
        )

    def needs(self) -> list[m.PolicyNeed]:
        """List what the guide makes rules for."""
        return [
            m.PolicyNeed(
                name=need.name,
                title=need.title,
                asks=[
                    m.AskedValue(name=one.name, kind=one.kind, question=one.question, example=one.example)
                    for one in need.asks
                ],
            )
            for need in NEEDS
        ]

    async def guided(self, asked: m.GuidedRequest) -> m.GuidedRules:
        """Make the rules of a need, to be added to a text or to the active policy."""
        active = self._policies.active
        text = asked.text if asked.text is not None else active.text if active else None
        try:
            made = await asyncio.to_thread(guided_rules, asked.need, asked.values, text)
        except GuideError as error:
            raise ServiceError(Code.INVALID_REQUEST, str(error), fields=(error.name,)) from error
        async with self._core.database.read() as tx:
            known = await self._endpoints.registry(tx)
        warnings = [said for name in made.endpoints if (said := _unknown(name, known))]
        return m.GuidedRules(
            text=made.text, rules=list(made.rules), contradicts=list(made.contradicts), warnings=warnings
        )

    async def who_may(self, asked: m.WhoMayRequest) -> list[m.WhoMay]:
        """Ask the active policy about every active person; an end that is left open is the mildest endpoint."""
        if asked.source is None and (asked.destination is None or asked.action == "browse"):
            raise ServiceError(
                Code.INVALID_REQUEST, "name a source or a destination (for `browse` a source)", fields=("source",)
            )
        async with self._core.database.read() as tx:
            sources = await self._ends(tx, asked.source)
            destinations = [] if asked.action == "browse" else await self._ends(tx, asked.destination)
            people = select(PersonRow).where(PersonRow.state == "active").order_by(PersonRow.name).limit(PEOPLE)
            askers = [(row.shown_name, _asker(row)) for row in await tx.scalars(people)]
        moment = Moment(now=self._core.clock(), zone=self._core.settings.timezone, session=True, credential="session")
        question = _Question(self._policies.active, asked.action, sources, destinations, moment)
        return await asyncio.to_thread(question.answers, askers)

    async def _ends(self, tx: Tx, location: str | None) -> list[ResolvedEndpoint]:
        if location is not None:
            return [await self._locations.resolve(tx, location)]
        known = sorted(await self._endpoints.registry(tx), key=lambda one: one.id)[:ANY_ENDPOINT]
        return [await self._locations.resolve(tx, f"{one.id}:/") for one in known]


def _unknown(name: str, known: Sequence[Known]) -> str:
    """Say why a rule about this endpoint concerns nothing; policies know endpoints by their ids alone."""
    if any(one.id == name for one in known):
        return ""
    main = next((one.id for one in known if one.is_named(name)), None)
    if main is not None:
        return (
            f"`{shown(name)}` is another name of the endpoint `{shown(main)}`; policies know it as `{shown(main)}` only"
        )
    near = get_close_matches(name, [one.id for one in known], n=1)
    hint = f"; did you mean `{shown(near[0])}`?" if near else "; list them with `headrace endpoints`"
    return f"there is no endpoint `{shown(name)}`, so this rule concerns nothing{hint}"


class _Stored:
    """A plan with its decision."""

    def __init__(self, plan: str, requester: str | None, created: datetime, card: str, context: str | None) -> None:
        told = json.loads(card)
        self.plan, self.requester, self.created, self.context = plan, requester, created, context or ""
        self.sentence = str(told.get("canonical_sentence") or "")
        self.was = (told.get("decision") or {}).get("outcome")


def _flips(proposed: PolicySet, rows: Sequence[_Stored], *, by_agent: bool) -> list[m.PolicyFlip]:
    """List what would be decided otherwise; an assistant is told no names, which may be withheld from it."""
    flips = []
    for row in rows:
        found = redecide(proposed, row.context)
        if by_agent:
            found = without_places(found)
        if row.was in _ORDER and found.outcome != row.was:
            # It was denied before anything was listed: what policy would say of the transfer nobody knows.
            only_listed = found.outcome != "denied" and asks_only_to_look(row.context)
            flips.append(
                m.PolicyFlip(
                    plan=row.plan,
                    requester_name=row.requester,
                    sentence="" if by_agent else row.sentence,
                    created=row.created,
                    was=row.was,
                    now=found.outcome,
                    only_listed=only_listed,
                    why=f"{why(found)} {_ONLY_LISTED}" if only_listed else why(found),
                )
            )
    return flips


@dataclass(frozen=True, slots=True)
class _Question:
    """What is asked of each person: an action between any of these ends."""

    policies: PolicySet | None
    action: Literal["browse", "copy", "sync", "move"]
    sources: Sequence[ResolvedEndpoint]
    destinations: Sequence[ResolvedEndpoint]
    moment: Moment

    def answers(self, askers: Iterable[tuple[str, Asker]]) -> list[m.WhoMay]:
        """Answer for each person with the mildest decision."""
        answers = []
        for name, asker in askers:
            best = self._best(asker)
            rules = [m.Rule(id=rule.id, reason=rule.reason) for rule in best.rules]
            answers.append(m.WhoMay(person=asker.person, name=name, outcome=best.outcome, rules=rules))
        return sorted(answers, key=lambda one: (_ORDER.index(one.outcome), one.name))

    def _best(self, asker: Asker) -> Decision:
        best: Decision | None = None
        for decision in self._decisions(asker):
            if best is None or _ORDER.index(decision.outcome) < _ORDER.index(best.outcome):
                best = decision
            if best.outcome == "allowed":
                break
        return best or Decision("denied", (), (), "bulk", "", "")

    def _decisions(self, asker: Asker) -> Iterator[Decision]:
        if self.action == "browse":
            yield from (may_browse(self.policies, asker, source, self.moment) for source in self.sources)
            return
        moved = 1 if self.action == "move" else 0
        facts = Facts(moment=self.moment, files=1, bytes=1, max_files=1, max_bytes=1, moved_files=moved)
        for source in self.sources:
            for destination in self.destinations:
                route = settle(source, destination)
                found = may_plan(self.policies, asker, route, self.moment)
                yield found if found.outcome == "denied" else decide(self.policies, self.action, asker, route, facts)


def _asker(row: PersonRow) -> Asker:
    return Asker(person=row.id, roles=frozenset(row.roles), groups=frozenset(row.groups))
