"""A yes or no to one plan digest: the requester's own confirmation, and other people's approvals."""

import secrets

from sqlalchemy import delete, select

from headrace.api.audit.chain import Kind
from headrace.api.caller import Caller
from headrace.api.core import Core
from headrace.api.errors import Code, ServiceError
from headrace.api.planning.plan_queries import Plans, is_expired, may_approve, needs_of
from headrace.api.policy.versions import Policies
from headrace.api.store import Tx
from headrace.api.store.tables_work import ApprovalRow, ConfirmationRow, PlanRow, TransferRow
from headrace.client import models as m
from headrace.guardrails import APPROVAL_LIFETIME, NeedsApproval, Rail, new_id

_NONCE_BYTES = 16


class Consent:
    """Records what people say of plans. That the caller holds an interactive session was checked by `access`."""

    def __init__(self, core: Core, plans: Plans, policies: Policies) -> None:
        """Record in the store."""
        self._core = core
        self._plans = plans
        self._policies = policies

    async def confirm(self, caller: Caller, plan: str, confirmation: m.Confirmation) -> m.Plan:
        """Record the requester's own yes or no; the last word counts until the plan is submitted."""
        async with self._core.database.write() as tx:
            row = await self._open_plan(tx, caller, plan, confirmation.digest)
            if row.requester != caller.principal.id:
                raise ServiceError(Code.FORBIDDEN, "only the person who asked for a plan confirms it")
            said = ConfirmationRow(
                plan=row.id,
                digest=confirmation.digest,
                person=caller.principal.id,
                verdict=confirmation.verdict,
                at=self._core.clock(),
            )
            await tx.merge(said)
            kind = Kind.CONFIRMED if confirmation.verdict == "confirmed" else Kind.DECLINED
            await self._core.audit.append(
                tx, kind, caller=caller, subject=row.id, detail={"digest": confirmation.digest}
            )
            await tx.flush()
            shown = await self._plans.view(tx, row)
        self._core.broker.notify(row.id)
        return shown

    async def approve(self, caller: Caller, plan: str, approval: m.Approval) -> m.Plan:
        """Record another person's yes or no: bound to digest, policy version, requester, approver, expiry and nonce."""
        principal, now = caller.principal, self._core.clock()
        async with self._core.database.write() as tx:
            row = await self._open_plan(tx, caller, plan, approval.digest)
            if row.requester == principal.id:
                raise ServiceError(Code.APPROVE_OWN_PLAN, "you asked for this plan, so another person approves it")
            if not any(isinstance(need, NeedsApproval) for need in needs_of(row)):
                raise ServiceError(Code.APPROVAL_NOT_NEEDED, f"plan `{row.id}` needs no approval")
            if not may_approve(caller, row):
                wanted = ", ".join(need.by for need in needs_of(row) if isinstance(need, NeedsApproval))
                raise ServiceError(Code.NOT_AN_APPROVER, f"this plan is approved by {wanted}, which you are not")
            version = self._policies.active.version if self._policies.active else ""
            if version != row.policy_version:
                raise ServiceError(
                    Rail.POLICY_CHANGED, "the policy has changed since this was planned; its requester must plan again"
                )
            await tx.execute(
                delete(ApprovalRow).where(ApprovalRow.plan == row.id, ApprovalRow.approver == principal.id)
            )
            expires = now + APPROVAL_LIFETIME
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
                expires=min(expires, row.expires) if row.expires else expires,
            )
            tx.add(said)
            kind = Kind.APPROVED if approval.verdict == "approved" else Kind.APPROVAL_REFUSED
            detail = {
                "digest": approval.digest,
                "policy_version": version,
                "requester": row.requester,
                "nonce": said.nonce,
                "reason": approval.reason,
            }
            await self._core.audit.append(tx, kind, caller=caller, subject=row.id, detail=detail)
            shown = await self._plans.view(tx, row)
        self._core.broker.notify(row.id)
        return shown

    async def _open_plan(self, tx: Tx, caller: Caller, plan: str, digest: str) -> PlanRow:
        """Return a sealed plan that can still be said yes or no to, and whose digest is the one that was read."""
        row = await self._plans.row(tx, caller, plan)
        if row.state != m.PlanState.READY or row.digest is None:
            raise ServiceError(
                Code.PLAN_NOT_READY, f"plan `{row.id}` is {row.state}; only a ready plan takes a yes or no"
            )
        if row.digest != digest:
            raise ServiceError(
                Code.WRONG_DIGEST, f"that is not the digest of plan `{row.id}`; read the plan again and decide on that"
            )
        if is_expired(row, self._core.clock()):
            raise ServiceError(Rail.PLAN_EXPIRED, f"plan `{row.id}` is too old; plan again")
        if await tx.scalar(select(TransferRow.id).where(TransferRow.plan == row.id)):
            raise ServiceError(
                Code.PLAN_NOT_READY, f"plan `{row.id}` was submitted already; steer its transfer instead"
            )
        return row
