"""A yes or no to one plan digest: the requester's own confirmation, and other people's approvals."""

import secrets

from sqlalchemy import delete

from headrace.api.caller import Caller
from headrace.api.core import Core
from headrace.api.errors import Code, ServiceError
from headrace.api.people.proofs import Proof, Proofs
from headrace.api.planning.plan_queries import Plans
from headrace.api.planning.plan_steps import objection_to
from headrace.api.signing.consents import Terms
from headrace.api.signing.signer import Signer
from headrace.api.store import Tx
from headrace.api.store.tables_work import ApprovalRow, ConfirmationRow, PlanRow
from headrace.client import models as m
from headrace.guardrails import APPROVAL_LIFETIME, Document, new_id

_NONCE_BYTES = 16


class Consent:
    """Records what people say of plans. That the caller holds an interactive session was checked by `access`."""

    def __init__(self, core: Core, plans: Plans, proofs: Proofs, signer: Signer) -> None:
        """Record in the store; a yes wants the proof that the site wants, a no wants none."""
        self._proofs = proofs
        self._signer = signer
        self._core = core
        self._plans = plans

    async def confirm(self, caller: Caller, plan: str, confirmation: m.Confirmation) -> m.Plan:
        """Record the requester's own yes or no; the last word counts until the plan is submitted."""
        said_yes = confirmation.verdict == "confirmed"
        proof: Proof | None = None
        if said_yes:
            check = self._check(caller, plan, confirmation.digest, "confirm")
            proof = await self._proofs.unstated(caller, "confirm_plan", plan, confirmation, check)
        async with self._core.database.write() as tx:
            action: m.PlanAction = "confirm" if said_yes else "decline"
            row = await self._open_plan(tx, caller, plan, confirmation.digest, action)
            statement = self._signer.consent(proof) if proof else None
            said = ConfirmationRow(
                plan=row.id,
                digest=confirmation.digest,
                person=caller.principal.id,
                verdict=confirmation.verdict,
                at=self._core.clock(),
                statement=statement.text if statement else "",
            )
            await tx.merge(said)
            kind = m.AuditKind.CONFIRMED if said_yes else m.AuditKind.DECLINED
            detail = {"digest": confirmation.digest, **_proven(proof, statement)}
            await self._core.audit.append(tx, kind, caller=caller, subject=row.id, detail=detail)
            await self._core.outbox.write(tx, m.ChangeKind.PLAN, row.id, confirmation.verdict)
            return await self._plans.view(tx, caller, row)

    async def approve(self, caller: Caller, plan: str, approval: m.Approval) -> m.Plan:
        """Record another person's yes or no: bound to digest, policy version, requester, approver, expiry and nonce."""
        principal, said_yes = caller.principal, approval.verdict == "approved"
        proof: Proof | None = None
        if said_yes:
            check = self._check(caller, plan, approval.digest, "approve")
            proof = await self._proofs.unstated(caller, "approve_plan", plan, approval, check)
        now = self._core.clock()
        async with self._core.database.write() as tx:
            action: m.PlanAction = "approve" if said_yes else "refuse"
            row = await self._open_plan(tx, caller, plan, approval.digest, action)
            version = row.policy_version or ""
            await tx.execute(
                delete(ApprovalRow).where(ApprovalRow.plan == row.id, ApprovalRow.approver == principal.id)
            )
            expires = max(now, row.starts or now) + APPROVAL_LIFETIME
            expires = min(expires, row.expires) if row.expires else expires
            terms = Terms(
                requester=row.requester,
                policy_version=version,
                expires=expires,
                roles=tuple(map(str, principal.roles)),
                groups=principal.groups,
            )
            statement = self._signer.consent(proof, terms) if proof else None
            said = ApprovalRow(
                id=new_id("ap"),
                plan=row.id,
                digest=approval.digest,
                policy_version=version,
                requester=row.requester,
                approver=principal.id,
                roles=tuple(sorted(map(str, principal.roles))),
                groups=tuple(sorted(principal.groups)),
                verdict=approval.verdict,
                reason=approval.reason,
                nonce=secrets.token_hex(_NONCE_BYTES),
                at=now,
                expires=expires,
                statement=statement.text if statement else "",
            )
            tx.add(said)
            kind = m.AuditKind.APPROVED if said_yes else m.AuditKind.APPROVAL_REFUSED
            detail = {
                "digest": approval.digest,
                "policy_version": version,
                "requester": row.requester,
                "nonce": said.nonce,
                "reason": approval.reason,
                **_proven(proof, statement),
            }
            await self._core.audit.append(tx, kind, caller=caller, subject=row.id, detail=detail)
            await self._core.outbox.write(tx, m.ChangeKind.PLAN, row.id, approval.verdict)
            return await self._plans.view(tx, caller, row)

    async def _check(self, caller: Caller, plan: str, digest: str, action: m.PlanAction) -> None:
        """Refuse a yes that would be refused with a proof."""
        async with self._core.database.read() as tx:
            await self._open_plan(tx, caller, plan, digest, action)

    async def _open_plan(self, tx: Tx, caller: Caller, plan: str, digest: str, action: m.PlanAction) -> PlanRow:
        """Return a plan whose digest is the one that was read, and on which the caller may take this action."""
        row = await self._plans.row(tx, caller, plan)
        if plan not in {row.id, row.digest}:
            # What proves the yes names the plan as it was given.
            raise ServiceError(Code.INVALID_REQUEST, f"name the plan in full to decide on it: `{row.id}`")
        if row.digest is not None and row.digest != digest:
            raise ServiceError(
                Code.WRONG_DIGEST, f"that is not the digest of plan `{row.id}`; read the plan again and decide on that"
            )
        objection = objection_to(await self._plans.status(tx, row), caller.principal, action)
        if objection is not None:
            raise objection
        return row


def _proven(proof: Proof | None, statement: Document | None) -> dict[str, str]:
    """Say in the audit by what a yes was proven, and which statement says so."""
    return {"proof": proof.kind, "statement": statement.digest} if proof and statement else {}
