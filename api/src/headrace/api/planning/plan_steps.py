"""What a plan still needs, what comes next, and what its caller may do: the one home of these rules.

Pure functions of what is stored, the caller and the clock. The use cases refuse with the very objections that the
interfaces show as the reason of a disabled action.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from headrace.api.errors import Code, Objection, ServiceError
from headrace.api.permissions import allowed_action, lacking, missing
from headrace.api.private_words import because
from headrace.auth import Principal, Role, Scope
from headrace.client import models as m
from headrace.client.text import plural, sentence
from headrace.guardrails import NeedsApproval, Obligation, Unreleased

By = Literal["you", "others", "service", "nobody"]

_ROLES: Final = frozenset(map(str, Role))


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """What another person said of a plan, with the roles and groups that this person has now."""

    person: str
    name: str
    approved: bool
    reason: str
    digest: str
    policy_version: str
    at: datetime
    expires: datetime
    active: bool
    roles: frozenset[str]
    groups: frozenset[str]


@dataclass(frozen=True, slots=True)
class CarriedOut:
    """The transfer that carries a plan out."""

    id: str
    state: m.TransferState
    ended: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanStatus:
    """Everything that a plan's next step depends on, but the caller."""

    id: str
    state: m.PlanState
    """With `expired` for a ready plan that is too old and was never submitted, and for questions nobody answered."""
    summary: str
    requester: str
    requester_name: str
    token_made_by: str | None
    """Who made the service account's token that asked for it."""
    agent: str | None
    digest: str | None
    expires: datetime | None
    deletes: bool
    surveyed_entries: int
    failing: int = 0
    """Files that can't arrive because of what is in their place."""
    special: int = 0
    """Sockets, pipes and devices among what it takes, which are never copied."""
    transfer: CarriedOut | None
    obligations: tuple[Obligation, ...]
    policy_version: str
    policy_now: str
    own_word: Literal["confirmed", "declined"] | None
    own_word_at: datetime | None
    words: tuple[Word, ...]
    proof: m.ProofStrength = "session"
    """What comes with consent at least."""
    now: datetime

    @property
    def refusals(self) -> tuple[Word, ...]:
        """Other people's no."""
        return tuple(word for word in self.words if not word.approved)

    @property
    def policy_changed(self) -> bool:
        """Whether it was decided by another policy than the active one, so that it can't start."""
        return self.policy_version != self.policy_now

    def counts(self, word: Word, need: NeedsApproval) -> bool:
        """Whether a word counts for a need now; what was submitted was counted then."""
        if not word.approved or word.digest != self.digest or not need.may_be_given_by(word.roles, word.groups):
            return False
        if self.transfer is not None:
            return True
        return word.active and word.policy_version == self.policy_version and self.now < word.expires


def needs(plan: PlanStatus, caller: Principal) -> list[m.Need]:
    """Return each obligation with who has met it so far."""
    return [_need(plan, caller, need) for need in plan.obligations]


def awaits(plan: PlanStatus, caller: Principal) -> bool:
    """Whether an approval that the caller may give is still missing."""
    roles = frozenset(map(str, caller.roles))
    wanted = [need for need in plan.obligations if isinstance(need, NeedsApproval)]
    mine = (need for need in wanted if need.may_be_given_by(roles, caller.groups))
    return any(sum(plan.counts(word, need) for word in plan.words) < need.count for need in mine)


def state_reason(plan: PlanStatus) -> str:
    """Say why a plan can't start any more; empty while it could, or when it has started."""
    if plan.transfer is not None:
        return ""
    match plan.state:
        case m.PlanState.DENIED | m.PlanState.FAILED:
            return plan.summary
        case m.PlanState.EXPIRED:
            return _too_late(plan)
        case m.PlanState.DROPPED:
            return "It was dropped."
        case m.PlanState.READY:
            objection = _said_no(plan)
            changed = "The policy has changed since this was planned." if plan.policy_changed else ""
            return objection.detail if objection is not None else changed
        case m.PlanState.SURVEYING | m.PlanState.ASK:
            return ""


def allowed_actions(plan: PlanStatus, caller: Principal) -> list[m.AllowedAction]:
    """Return every action on a plan, and why the caller may not take it."""
    return [allowed_action(action, objection_to(plan, caller, action)) for action in _OBJECTIONS]


def objection_to(plan: PlanStatus, caller: Principal, action: m.PlanAction) -> Objection:
    """Return what stands against this caller taking this action on this plan now."""
    return _OBJECTIONS[action](plan, caller)


def next_step(plan: PlanStatus, caller: Principal) -> m.NextStep:
    """Say what happens next, and who does it."""
    mine: By = "you" if caller.id == plan.requester else "others"
    if plan.transfer is not None:
        return _step("follow", "service", _carried_out(plan.transfer))
    reason = sentence(state_reason(plan))
    match plan.state:
        case m.PlanState.SURVEYING:
            return _step(
                "wait", "service", f"The folders are being listed: {plural(plan.surveyed_entries, 'entry')} so far."
            )
        case m.PlanState.ASK:
            return _step(
                "answer", mine, "Nothing starts: it asks a question. Say the whole request again, with the answer."
            )
        case m.PlanState.DENIED:
            return _step("none", "nobody", _another_way(plan, reason))
        case m.PlanState.FAILED | m.PlanState.EXPIRED | m.PlanState.DROPPED:
            return _step("plan_again", mine, f"{reason} Plan it again.")
        case m.PlanState.READY:
            return _step("plan_again", mine, f"{reason} Plan it again.") if reason else _ready_step(plan, caller)


def _another_way(plan: PlanStatus, reason: str) -> str:
    """Say what a person can do about a denial."""
    if not plan.policy_version:  # refused before policy was asked
        return f"It can't run as it is. {reason}"
    return (
        f"It can't run as it is. {reason} Ask for what policy allows instead, where the plan names it, choose another "
        f"place, or ask whoever keeps the site's policy; `headrace why {plan.id}` says which rule."
    )


def warnings(plan: PlanStatus) -> list[str]:
    """Say what will not come about although the plan may start; empty once it has started."""
    if plan.state is not m.PlanState.READY or plan.transfer is not None:
        return []
    found = []
    if plan.failing:
        whose = "its name" if plan.failing == 1 else "their names"
        why = (
            f"the destination holds something else under {whose}. Plan again with `--on-conflict overwrite`, which "
            "replaces files, move that away, or choose another destination."
        )
        found.append(f"{plural(plan.failing, 'file')} will not arrive: {why}")
    if plan.special:
        those = "it" if plan.special == 1 else "them"
        found.append(
            f"{plural(plan.special, 'special file')} will not arrive: sockets, pipes and devices are never copied, and "
            f"the transfer will end as partial. Leave {those} out with an exclude to let it end as complete."
        )
    return found


_NOBODY_CONFIRMS: Final = (
    "It needs a confirmation, and nobody can confirm for a service account, so it does not run. Leave what differs at "
    "the destination as it is, let a person ask for it, or let policy allow it without."
)


def _ready_step(plan: PlanStatus, caller: Principal) -> m.NextStep:
    step = _before_start(plan, caller)
    return step.model_copy(update={"message": " ".join([step.message, *warnings(plan)])})


def _before_start(plan: PlanStatus, caller: Principal) -> m.NextStep:
    open_needs = [need for need in needs(plan, caller) if need.given < need.count]
    confirmation = any(need.kind == "confirmation" for need in open_needs)
    approvals = [need for need in open_needs if need.kind == "approval"]
    if approvals and objection_to(plan, caller, "approve") is None and not _has_approved(plan, caller):
        return _step("approve", "you", "It waits for your approval.")
    if confirmation:
        return _confirm_step(plan, caller, approvals)
    if approvals:
        return _step("approve", "others", f"It needs {_people(approvals)}. Then it can be submitted.")
    objection = objection_to(plan, caller, "submit")
    if objection is None:
        return _step("submit", "you", "It can be submitted.")
    mine = caller.id == plan.requester
    if mine:
        return _step("submit", "others", f"You can't submit it: {objection.detail.rstrip('.')}.")
    return _step("submit", "others", f"It can be submitted by the requester ({plan.requester_name}).")


def _confirm_step(plan: PlanStatus, caller: Principal, approvals: Sequence[m.Need]) -> m.NextStep:
    also = f" It also needs {_people(approvals)}." if approvals else ""
    if objection_to(plan, caller, "confirm") is None:
        return _step("confirm", "you", f"It waits for your confirmation.{also}")
    mine = caller.id == plan.requester
    if mine and caller.kind == "service":
        return _step("none", "nobody", _NOBODY_CONFIRMS)
    who = "you" if mine else f"the requester ({plan.requester_name})"
    return _step("confirm", "others", f"It waits for the confirmation by {who}, in a person's own session.{also}")


def _need(plan: PlanStatus, caller: Principal, need: Obligation) -> m.Need:
    if not isinstance(need, NeedsApproval):
        given = plan.own_word == "confirmed" and plan.own_word_at is not None
        mine = m.Given(
            person=plan.requester,
            person_name=plan.requester_name,
            at=plan.own_word_at or plan.now,
            expires=plan.expires,
        )
        return m.Need(
            kind="confirmation",
            proof=plan.proof,
            by="you" if caller.id == plan.requester else f"the requester ({plan.requester_name})",
            given=int(given),
            given_by=[mine] if given else [],
            until=plan.expires if given else None,
        )
    counted = [word for word in plan.words if plan.counts(word, need)]
    return m.Need(
        kind="approval",
        by=_whose(need),
        roles_or_groups=[need.by],
        count=need.count,
        proof=plan.proof,
        given=len(counted),
        given_by=[m.Given(person=w.person, person_name=w.name, at=w.at, expires=w.expires) for w in counted],
        until=min((word.expires for word in counted), default=None),
    )


# -- what stands against an action --


def _submit_objection(plan: PlanStatus, caller: Principal) -> Objection:
    return (
        missing(caller, "submit")
        or _not_ready(plan, "is submitted")
        or _not_the_requester(plan, caller, "submits")
        or _not_its_agent(plan, caller)
        or _no_delete_scope(plan, caller)
        or _said_no(plan)
        or _too_old(plan)
        or _other_policy(plan)
        or _unmet(plan, caller)
    )


def _decline_objection(plan: PlanStatus, caller: Principal) -> Objection:
    return missing(caller, "confirm_plan") or _not_open(plan) or _not_the_requester(plan, caller, "confirms")


def _confirm_objection(plan: PlanStatus, caller: Principal) -> Objection:
    return _decline_objection(plan, caller) or _not_needed(plan)


def _others_word_objection(plan: PlanStatus, caller: Principal) -> Objection:
    objection = missing(caller, "approve_plan") or _not_open(plan)
    if objection is not None:
        return objection
    if caller.id == plan.requester:
        return ServiceError(Code.APPROVE_OWN_PLAN, "you asked for this plan, so another person approves it")
    if caller.id == plan.token_made_by:
        return ServiceError(
            Code.APPROVE_OWN_PLAN,
            f"{plan.requester_name} asked for this plan with a token that you made, so another person approves it",
        )
    wanted = [need for need in plan.obligations if isinstance(need, NeedsApproval)]
    if not wanted:
        return ServiceError(Code.APPROVAL_NOT_NEEDED, f"plan `{plan.id}` needs no approval")
    roles = frozenset(map(str, caller.roles))
    if not any(need.may_be_given_by(roles, caller.groups) for need in wanted):
        people = ", ".join(need.by for need in wanted)
        return ServiceError(Code.NOT_AN_APPROVER, f"this plan is approved by {people}, which you are not")
    return _other_policy(plan)


def _revise_objection(plan: PlanStatus, caller: Principal) -> Objection:
    if caller.id != plan.requester:
        return ServiceError(Code.FORBIDDEN, "only the person who asked for a plan changes it; plan your own")
    return missing(caller, "create_plan")


def _drop_objection(plan: PlanStatus, caller: Principal) -> Objection:
    return (
        missing(caller, "drop_plan")
        or _not_the_requester(plan, caller, "drops")
        or _not_its_agent(plan, caller, "drop")
        or (
            None if plan.state is m.PlanState.ASK else _not_ready(plan, "or one that asks is dropped") or _too_old(plan)
        )
    )


_OBJECTIONS: Final[dict[m.PlanAction, Callable[[PlanStatus, Principal], Objection]]] = {
    "confirm": _confirm_objection,
    "decline": _decline_objection,
    "approve": _others_word_objection,
    "refuse": _others_word_objection,
    "submit": _submit_objection,
    "revise": _revise_objection,
    "drop": _drop_objection,
}


def _not_ready(plan: PlanStatus, done: str) -> Objection:
    if plan.transfer is not None:
        return ServiceError(Code.PLAN_NOT_READY, f"plan `{plan.id}` was submitted already; steer its transfer instead")
    if plan.state in {m.PlanState.READY, m.PlanState.EXPIRED} and plan.digest is not None:
        return None
    return ServiceError(Code.PLAN_NOT_READY, f"plan `{plan.id}` is {plan.state}, and only a ready plan {done}")


def _not_open(plan: PlanStatus) -> Objection:
    return _not_ready(plan, "is confirmed or approved") or _too_old(plan)


def _too_old(plan: PlanStatus) -> Objection:
    if plan.state is m.PlanState.EXPIRED:
        return ServiceError(Unreleased.PLAN_EXPIRED, f"plan `{plan.id}` is too old; plan again")
    return None


def _not_the_requester(plan: PlanStatus, caller: Principal, does: str) -> Objection:
    if caller.id != plan.requester:
        return ServiceError(Code.FORBIDDEN, f"only the person who asked for a plan {does} it")
    return None


def _not_its_agent(plan: PlanStatus, caller: Principal, does: str = "submit") -> Objection:
    if caller.agent is not None and caller.agent != plan.agent and not caller.may(Scope.TRANSFER_RUN_ALL):
        return ServiceError(
            Code.FORBIDDEN, f"the assistant `{caller.agent}` may only {does} what it planned itself; plan again"
        )
    return None


def _no_delete_scope(plan: PlanStatus, caller: Principal) -> Objection:
    if plan.deletes and not caller.may(Scope.TRANSFER_DELETE):
        return lacking(Scope.TRANSFER_DELETE, who="this plan may delete files, and this token may not")
    return None


def _said_no(plan: PlanStatus) -> Objection:
    for word in plan.refusals:
        return ServiceError(Code.PLAN_DECLINED, because(f"{word.name} refused this plan", word.reason) + ".")
    if plan.own_word == "declined":
        return ServiceError(Code.PLAN_DECLINED, f"The requester ({plan.requester_name}) declined this plan.")
    return None


def _other_policy(plan: PlanStatus) -> Objection:
    if plan.policy_changed:
        return ServiceError(
            Unreleased.POLICY_CHANGED, "the policy has changed since this was planned; its requester must plan again"
        )
    return None


def _not_needed(plan: PlanStatus) -> Objection:
    if all(isinstance(need, NeedsApproval) for need in plan.obligations):
        return ServiceError(Code.CONFIRMATION_NOT_NEEDED, f"plan `{plan.id}` needs no confirmation")
    return None


def _unmet(plan: PlanStatus, caller: Principal) -> Objection:
    for need in needs(plan, caller):
        if need.given >= need.count:
            continue
        if need.kind == "confirmation":
            return needs_confirmation(plan.id)
        return needs_approval(plan.id, f"It needs {_people([need])}.")
    return None


def needs_confirmation(plan: str) -> ServiceError:
    """Say where a missing confirmation is given."""
    return ServiceError(
        Code.NEEDS_CONFIRMATION,
        f"plan `{plan}` needs your own confirmation first: in the console, or with `headrace confirm {plan}`",
    )


def needs_approval(plan: str, detail: str) -> ServiceError:
    """Say where a missing approval is given."""
    return ServiceError(
        Code.NEEDS_APPROVAL,
        f"plan `{plan}` needs another person's approval first: in the console or `headrace approve {plan}`. {detail}",
    )


# -- words --


def _too_late(plan: PlanStatus) -> str:
    if plan.digest is None:
        return "Its questions were not answered in time."
    until = f" It could be started until {plan.expires:%Y-%m-%d %H:%M} UTC." if plan.expires else ""
    return f"It is too old.{until}"


def _carried_out(run: CarriedOut) -> str:
    if run.state in m.END_STATES:
        return f"It ended: {run.state} (transfer {run.id})."
    return f"It was submitted as transfer {run.id}, which is {run.state}."


def _step(
    kind: Literal["wait", "answer", "confirm", "approve", "submit", "follow", "plan_again", "none"],
    by: By,
    message: str,
) -> m.NextStep:
    return m.NextStep(kind=kind, by=by, message=message)


def _has_approved(plan: PlanStatus, caller: Principal) -> bool:
    wanted = [need for need in plan.obligations if isinstance(need, NeedsApproval)]
    return any(word.person == caller.id and plan.counts(word, need) for word in plan.words for need in wanted)


def _whose(need: NeedsApproval) -> str:
    whose = f"of the {'role' if need.by in _ROLES else 'group'} {need.by}"
    return f"someone {whose}" if need.count == 1 else f"{need.count} people {whose}"


def _people(needs: Sequence[m.Need]) -> str:
    return " and ".join(_still(need) for need in needs)


def _still(need: m.Need) -> str:
    if need.given:
        return f"the approval of {need.by} ({need.count - need.given} of {need.count} still missing)"
    return f"the approval of {need.by}"
