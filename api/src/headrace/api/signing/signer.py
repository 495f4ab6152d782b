"""The signer: the only place that makes permits and tickets, signed with the authority key.

A ticket is signed only for a plan that is sealed, decided, confirmed, approved and in time (`guardrails.release`),
under a policy that allows it with today's facts, for a requester who is still active, while nothing is switched off.
All of it is checked anew from the stored bytes for every ticket, and renewals pass the same checks.
"""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import TypeVar, cast

from sqlalchemy import bindparam, select

from headrace.api.authority_key import KeyTrouble
from headrace.api.core import Core
from headrace.api.data_folder import POLICY_PUBLISHED
from headrace.api.errors import Code, Fenced, OutsideHours, ServiceError
from headrace.api.people.known_as import known_as
from headrace.api.people.lost_access import how_lost
from headrace.api.people.proofs import Proof
from headrace.api.policy.budgets import day_of_start, used_today
from headrace.api.policy.deciding import Deciding
from headrace.api.policy.last_published import LastPublished
from headrace.api.policy.versions import Policies
from headrace.api.signing.authority import Authority, Grounds
from headrace.api.signing.consents import Terms, adopted, approval_of, confirmation_of, says_policy
from headrace.api.signing.legs import leg_of
from headrace.api.signing.policy_hours import HoursUnknown, PolicyHours, Unsettled
from headrace.api.signing.slow_decisions import SlowDecisions, Undecided
from headrace.api.sites.endpoints import Endpoints, Labelled
from headrace.api.sites.halts import Halts, Work, roots_of
from headrace.api.store import Tx
from headrace.api.store.tables_site import PersonRow
from headrace.api.store.tables_work import ApprovalRow, ConfirmationRow, PlanRow, TransferRow
from headrace.client import models as m
from headrace.guardrails import (
    Approval,
    Attempt,
    Caller,
    Confirmation,
    Decision,
    Document,
    Ended,
    Json,
    JsonObject,
    Moment,
    PlanDraft,
    ReleasedPlan,
    ResolvedEndpoint,
    SealError,
    Submission,
    Unreleased,
    asks_no_more,
    canonical,
    digest,
    labels_record,
    missing_consent,
    permit_body,
    receipt_body,
    release,
    seal,
    seal_plan,
    utc_text,
    utc_time,
    why,
    written_obligations,
)

_USED_APPROVALS = (
    select(ApprovalRow, PersonRow)
    .join(PersonRow, PersonRow.id == ApprovalRow.approver)
    .where(ApprovalRow.used_by.in_(bindparam("transfers", expanding=True)), ApprovalRow.verdict == "approved")
)
_PLANS = select(PlanRow).where(PlanRow.id.in_(bindparam("plans", expanding=True)))
_CONFIRMATIONS = select(ConfirmationRow).where(ConfirmationRow.plan.in_(bindparam("plans", expanding=True)))
_SHUT = "hours of policy"
_DECIDED = "decision of now"
_SETTLED = 4
"""How often what ended a transaction is settled: the sealed facts, those of now, and its hours; once for a change."""
_WEEK = timedelta(days=7)
T = TypeVar("T")
_RELEASED = "released plan"
"""Where a writing transaction keeps what was checked in it."""


class Signer:
    """Signs plans, permits, tickets and receipts with the authority key."""

    def __init__(self, core: Core, key: Authority, policies: Policies, endpoints: Endpoints, halts: Halts) -> None:
        """Sign with `key`, here or in the process of `headrace signer`; nothing is signed for what is halted."""
        self._core = core
        self._key = key
        self._policies = policies
        self._endpoints = endpoints
        self._halts = halts
        self._hours = PolicyHours(core.settings.timezone)
        self._deciding = Deciding("policy of tickets")
        self._slow = SlowDecisions(core.clock)

    @property
    def public(self) -> str:
        """The public key that signs tickets and receipts."""
        return self._key.public

    @property
    def keys(self) -> tuple[str, ...]:
        """Every key that has signed here, the newest first."""
        return self._key.accepted(starts=False)

    @property
    def key_trouble(self) -> KeyTrouble | None:
        """Why nothing can be signed now."""
        return self._key.trouble

    @property
    def key_remedy(self) -> str:
        """What an operator does about that."""
        return self._key.remedy

    @property
    def unproven_policy(self) -> str | None:
        """The version that the store calls active and nobody is proven to have published: nothing is decided by it."""
        return self._policies.unproven

    @property
    def _undecidable(self) -> str:
        """Say that nobody knows by which policy to decide, which passes once one is proven; empty where one is."""
        if self.unproven_policy is None:
            return ""
        return (
            f"nobody is proven to have published policy version {self.unproven_policy}, so nothing runs; it goes on by "
            "itself once a proven one is in force: operators see in `headrace health` what to do"
        )

    @property
    def other_policy(self) -> str | None:
        """By which version a signer of its own decides, when that is not the active one."""
        theirs, active = self._key.policy, self._policies.active
        return theirs if theirs is not None and (active is None or theirs != active.version) else None

    def plan(self, draft: PlanDraft) -> Document:
        """Seal a decided plan."""
        return seal_plan(draft, self._key)

    def consent(self, proof: Proof, terms: Terms | None = None) -> Document:
        """Seal what a person has proven to agree to; an approval with the terms under which it is given."""
        return self._key.consent(proof, terms)

    def statement(self, proof: Proof) -> Document | None:
        """Seal what a person has proven to agree to; nothing where a signer of its own can't check such a proof."""
        return None if self._key.apart and proof.kind != "passkey" else self._key.consent(proof, None)

    def publish(self, proof: Proof, text: str) -> Document:
        """Let the authority know by which policy it decides from now on, and seal who published it."""
        return self._key.publish(proof, text)

    async def require_proven_policy(self) -> None:
        """Decide by the stored policy only if the last one that was published says so.

        Whoever writes to the database would otherwise choose by which policy the next start signs. A signer of its own
        has a policy of its own.
        """
        if not self._key.apart:
            last = LastPublished(self._core.settings.data / POLICY_PUBLISHED, self._core.folder.require)
            await self._policies.require_proven(self._policy_proof, last)

    def _policy_proof(self, version: str, text: str, statement: str, *, adopts: bool) -> str | None:
        """Return the statement by which a stored policy decides, or nothing when none does.

        `adopts`: nobody had to say so until now.
        """
        asked = version, digest(text.encode())
        if says_policy(statement, *asked, self._key.chain.keys):
            return statement
        return adopted(*asked, self._core.clock(), self._key).text if adopts else None

    async def permit(self, asker: Caller, folder: ResolvedEndpoint) -> Document:
        """Sign a permit for `asker` to list what is at and below `folder`; policy has been asked before."""
        person = asker.person
        async with self._core.database.read() as tx:
            await self._halts.require_none(tx, Work(person, asker.agent, ((folder.node, folder.root),)))
            known = await known_as(tx, person)
        limit, now = self._core.settings.survey_max_entries, self._core.clock()
        body = permit_body(person=person, folder=folder, now=now, max_entries=limit, known_as=known)
        return seal("permit", body, self._key)

    async def ticket(self, tx: Tx, transfer: TransferRow, attempt: int, fence: int) -> tuple[Document, ReleasedPlan]:
        """Check everything and sign a ticket for one attempt (or its renewal), with its audit event in `tx`.

        Who holds the transfer says so by its `fence`; a worker from before it was taken up anew gets nothing.
        """
        if transfer.fence != fence:
            raise Fenced(transfer.id)
        plan = await self.released(tx, transfer, starts=transfer.started is None)
        shut = self.shut(tx, transfer.id) or _shut_now(plan, self._core.clock())
        if shut is not None:
            raise shut
        asked = Attempt(
            transfer=transfer.id,
            number=attempt,
            only_failed=transfer.only_failed,
            rate_ceiling_bps=transfer.rate_ceiling_bps,
            leg=leg_of(transfer.probe),
        )
        ticket = self._key.ticket(plan, asked, await _grounds(tx, transfer) if self._key.apart else None)
        fields = ticket.fields()
        detail = {
            "ticket": str(fields["id"]),
            "attempt": str(attempt),
            "plan_digest": plan.digest,
            "expires": str(fields["expires"]),
        }
        await self._core.audit.append(tx, m.AuditKind.TICKETED, subject=transfer.id, detail=detail)
        return ticket, plan

    async def receipt(self, tx: Tx, transfer: TransferRow, plan: ReleasedPlan, ended: Ended) -> Document:
        """Sign the receipt of a transfer whose statements have been verified."""
        needs = _mapping(plan.fields["decision"])["obligations"]
        _, approvals = await self._consent(tx, transfer, starts=False) if needs else (None, ())
        return seal("receipt", receipt_body(plan, ended, approvals, self._core.clock()), self._key)

    async def released(self, tx: Tx, transfer: TransferRow, *, starts: bool) -> ReleasedPlan:
        """Check that this transfer's plan may run now; raises what stands against it.

        To start (and to start again) budgets are asked, and approvers count with the roles and groups that they have
        now; what runs by then goes on. What was found is good for the rest of the writing transaction `tx`: nobody else
        changes anything meanwhile.
        """
        asked = (_RELEASED, transfer.id, transfer.plan_digest, transfer.started, transfer.deadline, starts)
        if asked in tx.info:
            return cast("ReleasedPlan", tx.info[asked])
        row = await tx.get(PlanRow, transfer.plan)
        if row is None or row.document is None:
            raise ServiceError(Code.PLAN_NOT_READY, f"plan `{transfer.plan}` was never sealed; plan again")
        # Before everything that is final: a halt passes.
        await self._halts.require_none(tx, _work(transfer, row.document))
        if self._undecidable:
            raise ServiceError(Code.POLICY_UNPROVEN, self._undecidable)
        if starts:
            await self._core.audit.require_room(tx)
        # Were that column altered: a plan that needs consent is not released without.
        confirmation, approvals = await self._consent(tx, transfer, starts=starts) if row.obligations else (None, ())
        submission = Submission(
            document=row.document,
            digest=transfer.plan_digest,
            confirmation=confirmation,
            approvals=approvals,
            started=transfer.started,
        )
        keys, now = self._key.accepted(starts=starts), self._core.clock()
        policies, decided = self._policies.active, partial(self._slow.within, person=transfer.requester, transfer=None)
        plan = await self._deciding.run(
            transfer.requester, release, submission, keys=keys, policies=policies, now=now, decided=decided
        )
        if plan.requester != transfer.requester:
            raise ServiceError(Code.PLAN_ALTERED, "the plan's requester is not the transfer's; plan again")
        decision = await self._decide_again(tx, transfer, plan, starts=starts)
        if decision.outcome == "denied":
            # Where only the hours are against it, they are waited for: no ticket is signed until then.
            now = self._core.clock()
            until = now + _WEEK if transfer.started else min(now + _WEEK, utc_time(str(plan.fields["expires"])))
            opens = self._hours.opening(decision, now, until)
            if opens is None:
                how = await how_lost(tx, await tx.get_one(PersonRow, transfer.requester))
                lost = f" The person who asked is {how}." if how else ""
                raise ServiceError(Code.DENIED_BY_POLICY, f"{why(decision)}{lost}")
            tx.info[_SHUT, transfer.id] = OutsideHours(opens, f"the hours of policy: {why(decision)}")
        tx.info[_DECIDED, transfer.id] = decision
        asked_before = written_obligations(_mapping(plan.fields["decision"])["obligations"])
        if not asks_no_more(decision.obligations, asked_before):
            raise ServiceError(
                Code.NEEDS_CONFIRMATION, f"{why(decision)} That was not so when this was planned; plan again."
            )
        tx.info[asked] = plan
        return plan

    async def missing_consents(self, tx: Tx, transfers: Sequence[TransferRow]) -> dict[str, Unreleased]:
        """Return which consent of its plan counts no more, by transfer, of those that can't be started again."""
        if not transfers:
            return {}
        rows = await tx.scalars(_PLANS, {"plans": [transfer.plan for transfer in transfers]})
        plans = {row.id: row for row in rows if row.document is not None}
        consents = await self._consents(tx, transfers, starts=True)
        keys, now = self._key.accepted(starts=True), self._core.clock()
        found = {}
        for transfer in transfers:
            plan, (confirmation, approvals) = plans.get(transfer.plan), consents[transfer.id]
            if plan is None:
                continue
            submission = Submission(
                document=plan.document or "",
                digest=transfer.plan_digest,
                confirmation=confirmation,
                approvals=approvals,
                started=transfer.started,
            )
            try:
                missing = missing_consent(submission, keys=keys, now=now)
            except SealError:
                continue  # an altered plan is refused by that name
            if missing:
                found[transfer.id] = Unreleased(missing.code)
        return found

    async def settle(self, unsettled: Unsettled) -> None:
        """Find out, outside of any transaction, what ended one: it is remembered for the next."""
        if isinstance(unsettled, HoursUnknown):
            await self._hours.search(self._policies.active, unsettled.denial)
        elif isinstance(unsettled, Undecided):
            await self._slow.make(unsettled.wanted)

    async def with_hours(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """Do something that asks for a release, in transactions of its own; do it anew once that was settled.

        What changes again and again meanwhile is not settled, and whoever asks is told so.
        """
        for _ in range(_SETTLED):
            try:
                return await attempt()
            except Unsettled as unsettled:
                await self.settle(unsettled)
        return await attempt()

    def shut(self, tx: Tx, transfer: str) -> OutsideHours | None:
        """Return which hours of policy are over, as `released` found in `tx`."""
        return cast("OutsideHours | None", tx.info.get((_SHUT, transfer)))

    async def decided(self, tx: Tx, transfer: TransferRow) -> Decision:
        """Return what policy decides of a transfer now, which may run; raises what stands against it, hours, too."""
        await self.released(tx, transfer, starts=False)
        shut = self.shut(tx, transfer.id)
        if shut is not None:
            raise shut
        return cast("Decision", tx.info[_DECIDED, transfer.id])

    async def halted(self, tx: Tx, transfer: TransferRow) -> str:
        """Say why nothing of this transfer may run for a while (`released` says the same); empty when it may."""
        document = await tx.scalar(select(PlanRow.document).where(PlanRow.id == transfer.plan))
        try:
            await self._halts.require_none(tx, _work(transfer, document or ""))
            if transfer.started is None:
                await self._core.audit.require_room(tx)
        except ServiceError as error:
            return error.detail
        if self._key.trouble:
            return "the service's authority key can't be used; operators see why"
        return self._undecidable

    async def _consent(
        self, tx: Tx, transfer: TransferRow, *, starts: bool
    ) -> tuple[Confirmation | None, tuple[Approval, ...]]:
        """Read the consent of one transfer."""
        return (await self._consents(tx, [transfer], starts=starts))[transfer.id]

    async def _consents(
        self, tx: Tx, transfers: Sequence[TransferRow], *, starts: bool
    ) -> dict[str, tuple[Confirmation | None, tuple[Approval, ...]]]:
        """Read the signed statements of confirmations, and of the approvals that each transfer has used up.

        To start, those count whose givers kept their access since.
        """
        keys = self._key.accepted(starts=starts)
        said = {row.plan: row for row in await tx.scalars(_CONFIRMATIONS, {"plans": [row.plan for row in transfers]})}
        used: dict[str, list[Approval]] = {transfer.id: [] for transfer in transfers}
        for row, person in await tx.execute(_USED_APPROVALS, {"transfers": list(used)}):
            if row.used_by is not None and not (starts and (person.state != "active" or row.taken_back)):
                approval = approval_of(row, person, keys, starts=starts)
                used[row.used_by] += [approval] if approval else []
        found = {}
        for transfer in transfers:
            confirmed = said.get(transfer.plan)
            counts = confirmed is not None and not (starts and confirmed.taken_back)
            confirmation = confirmation_of(confirmed, keys) if confirmed is not None and counts else None
            found[transfer.id] = confirmation, tuple(used[transfer.id])
        return found

    async def _decide_again(self, tx: Tx, transfer: TransferRow, plan: ReleasedPlan, *, starts: bool) -> Decision:
        """Ask the active policy about the sealed facts, with requester, labels, time and (to start) budgets of now."""
        person = await tx.get(PersonRow, transfer.requester)
        if person is None or person.state != "active":
            how = await how_lost(tx, person) if person else ""
            said = "the person who asked for this transfer is no longer active"
            raise ServiceError(Code.REQUESTER_INACTIVE, f"{said}: {how}" if how else said)
        # Nodes act as the local account of the name in the plan: that may be somebody else's by now.
        sealed_name = str(plan.fields.get("local_account", ""))
        if sealed_name and sealed_name != await known_as(tx, transfer.requester):
            raise ServiceError(
                Code.REQUESTER_RENAMED,
                "the person who asked for this transfer has been renamed since, and nodes would act as the local "
                "account of the former name; plan again",
            )
        record = dict(_mapping(json.loads(str(_mapping(plan.fields["decision"])["context"]))))
        resource = _mapping(record["resource"])
        record["caller"] = {
            **_mapping(record["caller"]),
            "roles": sorted(person.roles),
            "groups": sorted(person.groups),
        }
        places = {end: _mapping(plan.execution[end]) for end in ("source", "destination")}
        endpoints = await self._endpoints.labels(tx, [str(place["node"]) for place in places.values()])
        ends = {end: _folder_now(endpoints, place, _mapping(resource[end])) for end, place in places.items()}
        record["resource"] = {**resource, **ends}
        sealed = _mapping(record["context"])
        now, zone = self._core.clock(), self._core.settings.timezone
        hours = plan.hours if transfer.started is None else None
        begins = hours.opening(max(now, transfer.starts or now)) if hours else transfer.starts
        facts = dict(Moment(now=now, zone=zone, start=begins).context())
        for name in {"door", "session", "credential", "factors"} | ({"start"} - set(sealed)):
            del facts[name]  # how the plan came stays, and a record of the first form stays one
        if starts:
            day = day_of_start(transfer, now, zone)
            used = await used_today(tx, transfer.requester, transfer.agent, day, without=transfer.id)
            facts |= {
                "person_used_bytes": used.person_used_bytes,
                "agent_used_bytes": used.agent_used_bytes,
                "running_transfers": used.running_transfers,
            }
        if "deadline" in sealed:
            # Another one may have been set since; a record of an earlier form stays one.
            facts["deadline"] = utc_text(transfer.deadline) if transfer.deadline else ""
        written = {name: str(fact) if isinstance(fact, int) else fact for name, fact in facts.items()}
        record["context"] = {**sealed, **written}
        asked, policies, person_id = canonical(record).decode(), self._policies.active, transfer.requester
        return await self._deciding.run(person_id, self._slow.within, policies, asked, person_id, transfer=transfer.id)


async def _grounds(tx: Tx, transfer: TransferRow) -> Grounds:
    """Collect what an authority in a process of its own checks itself."""
    plan, confirmation = await tx.get_one(PlanRow, transfer.plan), await tx.get(ConfirmationRow, transfer.plan)
    approvals = await tx.execute(_USED_APPROVALS, {"transfers": [transfer.id]})
    return Grounds(
        document=plan.document or "",
        confirmation=confirmation.statement if confirmation else "",
        approvals=tuple(row.statement for row, _ in approvals),
    )


def _shut_now(plan: ReleasedPlan, now: datetime) -> OutsideHours | None:
    """Return the plan's own hours, when they are over at `now`."""
    opens = plan.hours.opening(now) if plan.hours else now
    return OutsideHours(opens, f"its hours, {plan.hours}") if opens > now else None


def _work(transfer: TransferRow, document: str) -> Work:
    return Work(transfer.requester, transfer.agent, roots_of(document), transfer.id)


def _folder_now(endpoints: Mapping[tuple[str, str], Labelled], place: JsonObject, folder: JsonObject) -> JsonObject:
    """Return a recorded folder with the labels that its endpoint has now; a vanished endpoint is refused."""
    known = endpoints.get((str(place["node"]), str(place["root"])))
    if known is None:
        raise ServiceError(
            Code.UNKNOWN_ENDPOINT, f"endpoint `{folder['endpoint']}` is gone; list endpoints with `headrace endpoints`"
        )
    path = folder["path"]
    labels = labels_record(list(map(str, path)) if isinstance(path, list) else (), known.labels, known.folder_labels)
    return {**folder, "endpoint": known.id, **labels}


def _mapping(value: Json) -> JsonObject:
    if not isinstance(value, Mapping):
        raise ServiceError(Code.PLAN_ALTERED, "the sealed plan can't be read; plan again")
    return value
