"""What ends with somebody's access: what lets anybody in, and what this person asked for and agreed to.

Whoever had another's password may have asked for and confirmed anything before the account was taken back, to begin
long after that. So what waits is canceled here, for good, in the transaction that ends the access; and no consent of
before starts anything, or starts it again, however soon the person is back.
"""

from collections.abc import Iterable
from enum import StrEnum

from sqlalchemy import ColumnElement, delete, or_, select, update

from headrace.api.store import Tx
from headrace.api.store.tables_site import (
    GroupProposalRow,
    InvitationRow,
    JoinTokenRow,
    PersonRow,
    PolicyRow,
    QosRow,
    SessionRow,
    TokenRow,
)
from headrace.api.store.tables_work import ApprovalRow, AttemptRow, ConfirmationRow, PlanRow, TransferRow
from headrace.auth import Role, Scope, scopes_of
from headrace.client import models as m
from headrace.guardrails import NeedsApproval, parse_obligations

_OPEN = TransferRow.state.in_(m.OPEN_STATES), TransferRow.wish != "cancel"


class AccessEnd(StrEnum):
    """How somebody's access ended, in the words of the reason that a canceled transfer has."""

    DISABLED = "was disabled"
    SUSPENDED = "was suspended"
    WITHOUT_ROLE = "lost the last role"
    TAKEN_BACK = "chose another password by a one-time link"


async def end_all(tx: Tx, person: PersonRow, how: AccessEnd) -> None:
    """End what somebody has begun with: sessions, tokens, and what they asked for and agreed to that has not begun.

    So end links and join tokens that they made for others, and what they have proposed: what groups give, policies and
    links. Whoever calls this lets the transfers be looked at once `tx` is committed (`Reactions.tell`).
    """
    for table in (SessionRow, TokenRow):
        await tx.execute(delete(table).where(table.person == person.id))
    await end_handed_out(tx, person.id, frozenset())
    await _end_consent(tx, person.id)
    await _end_transfers(tx, person, how)


async def end_handed_out(tx: Tx, person: str, roles: frozenset[Role]) -> None:
    """End what somebody with these roles could not hand out (any more): links, join tokens, and what they proposed."""
    scopes = scopes_of(roles)
    if Scope.ADMIN not in scopes:
        await tx.execute(delete(InvitationRow).where(InvitationRow.made_by == person))
        await tx.execute(delete(GroupProposalRow).where(GroupProposalRow.author == person))
    if Scope.POLICY_WRITE not in scopes:
        for versions in (PolicyRow, QosRow):
            open_ = versions.author == person, versions.state == "proposed"
            await tx.execute(update(versions).where(*open_).values(state="withdrawn"))
    if Scope.NODE_WRITE not in scopes:
        unused = JoinTokenRow.made_by == person, JoinTokenRow.used_at.is_(None)
        await tx.execute(delete(JoinTokenRow).where(*unused))


async def _end_consent(tx: Tx, person: str) -> None:
    """Forget each yes that was not used yet; what was used counts for what runs alone."""
    await tx.execute(delete(ApprovalRow).where(ApprovalRow.approver == person, ApprovalRow.used_by.is_(None)))
    used = ApprovalRow.approver == person, ApprovalRow.used_by.is_not(None)
    await tx.execute(update(ApprovalRow).where(*used).values(taken_back=True))
    said_yes = ConfirmationRow.person == person, ConfirmationRow.verdict == "confirmed"
    submitted = select(TransferRow.plan).where(TransferRow.plan == ConfirmationRow.plan).exists()
    await tx.execute(delete(ConfirmationRow).where(*said_yes, ~submitted))
    await tx.execute(update(ConfirmationRow).where(*said_yes).values(taken_back=True))


async def _end_transfers(tx: Tx, person: PersonRow, how: AccessEnd) -> None:
    """Cancel what this person asked for and what waits for a yes that is gone.

    What runs is stopped because its requester may not ask for it any more; with a link alone it goes on.
    """
    waits: ColumnElement[bool] = TransferRow.started.is_(None)
    if how is not AccessEnd.TAKEN_BACK:
        running = select(AttemptRow.transfer).where(
            AttemptRow.transfer == TransferRow.id, AttemptRow.number == TransferRow.attempt, AttemptRow.ended.is_(None)
        )
        waits = or_(waits, ~running.exists())
    asked = select(TransferRow).where(TransferRow.requester == person.id, waits)
    _cancel(await tx.scalars(asked.where(*_OPEN)), f"{person.name}, who asked for it, {how}")
    used = select(ApprovalRow.used_by).where(ApprovalRow.approver == person.id, ApprovalRow.verdict == "approved")
    approved = select(TransferRow).where(TransferRow.started.is_(None), TransferRow.id.in_(used))
    left = [row for row in (await tx.scalars(approved.where(*_OPEN))).all() if not await _still_approved(tx, row)]
    _cancel(left, f"{person.name}, who approved it, {how}; it can be planned again")


def _cancel(rows: Iterable[TransferRow], why: str) -> None:
    """Wish that these end, which is final: whoever carries them on records it in their history and tells people."""
    for row in rows:
        row.wish, row.wish_reason, row.paused_since = "cancel", f"canceled because {why}", None


async def _still_approved(tx: Tx, transfer: TransferRow) -> bool:
    """Whether enough others have approved a transfer that has not begun; its signer asks again when it begins."""
    plan = await tx.get_one(PlanRow, transfer.plan)
    counted = select(ApprovalRow).where(
        ApprovalRow.used_by == transfer.id, ApprovalRow.verdict == "approved", ApprovalRow.taken_back.is_(False)
    )
    others = (await tx.scalars(counted)).all()
    return all(
        sum(need.may_be_given_by(frozenset(one.roles), frozenset(one.groups)) for one in others) >= need.count
        for need in parse_obligations(";".join(plan.obligations)) or ()
        if isinstance(need, NeedsApproval)
    )
