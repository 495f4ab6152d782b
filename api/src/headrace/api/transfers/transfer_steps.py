"""What comes next for a transfer, and what its caller may do to it: the one home of who may, and when.

Whether the state allows a wish or a retry is for the state machine to say.
Pure functions of what is stored, the caller and the clock. The use cases refuse with the very objections that the
interfaces show as the reason of a disabled action.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple

from headrace.api.errors import Code, Objection, ServiceError
from headrace.api.permissions import allowed_action, lacking, missing, out_of_reach
from headrace.api.private_words import because
from headrace.api.transfers.state_machine import RETRIED_STATES, Wish, against_retry, against_wish
from headrace.auth import Principal, Scope
from headrace.client import models as m
from headrace.client.text import plural, sentence
from headrace.guardrails import Unreleased

State = m.TransferState
Steerer = Literal["person", "operator"]
"""Whose word stands against programs: a person's in a session, or that of whoever steers a transfer of another."""
Kept = Mapping[str, Steerer]
"""What of a transfer (`pause`, `rate`, `class`, `deadline`) stands as one of these said."""


@lru_cache(maxsize=64)  # there are some ten texts of it
def kept_of(text: str) -> Kept:
    """Read what is stored of a transfer."""
    found: dict[str, Any] = json.loads(text)
    return MappingProxyType(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferStatus:
    """Everything that a transfer's next step depends on, but the caller."""

    id: str
    state: State
    state_reason: str
    wish: Literal["run", "pause", "cancel"]
    requester: str
    requester_name: str
    agent: str | None
    deletes: bool
    """Whether its plan deletes files."""
    probe: bool = False
    """Whether it only measures."""
    copied: int = 0
    """How many files it copied."""
    same: str = ""
    """What is to be said of files that were there already, if there were any."""
    failed: int = 0
    """How many files did not arrive, of one that ended in part."""
    failed_with: str = ""
    """The code of what it failed with."""
    outgrown: bool = False
    """Whether it failed because its source holds more than its plan allows."""
    for_good: int = 0
    """Of them, those for which a retry alone does not help."""
    active_s: float | None = None
    """How long its attempts took."""
    plan_rate_ceiling_bps: int | None = None
    """The most that its plan allows, of one that has not ended."""
    expected: m.Estimate | None = None
    """How long its plan said it may take, of one that waits."""
    retry_until: datetime | None
    """Until when a retry may begin; `None`: before it was started."""
    kept: Kept = field(default_factory=dict)
    missing_consent: Unreleased | None = None
    """Which consent of its plan counts no more, of one that may be tried again."""
    paused_until: datetime | None = None
    """When its pause has lasted too long, and it is canceled."""
    halted: str | None = None
    """The reason of a halt of this very transfer."""
    now: datetime

    def situation(self, named: str) -> "Situation":
        """Return what decides who may do what to it; objections call it `named`."""
        return Situation(
            named=named,
            state=self.state,
            wish=Wish(self.wish),
            requester=self.requester,
            agent=self.agent,
            deletes=self.deletes,
            probe=self.probe,
            kept=tuple(self.kept.items()),
            missing_consent=self.missing_consent,
            halted=self.halted,
        )


class Situation(NamedTuple):
    """What of a transfer decides who may do what to it, but the clock: the transfers of a page are in a few of them."""

    named: str
    state: State
    wish: Wish
    requester: str
    agent: str | None
    deletes: bool
    probe: bool
    kept: tuple[tuple[str, Steerer], ...]
    missing_consent: Unreleased | None
    halted: str | None

    @property
    def ended(self) -> bool:
        """Whether it is in an end state."""
        return self.state in m.END_STATES


_ITSELF: Final = "it"
"""What a transfer is called where it is shown itself."""


def allowed_actions(transfer: TransferStatus, caller: Principal) -> list[m.AllowedAction]:
    """Return every action on a transfer, and why the caller may not take it."""
    shown = _allowed(transfer.situation(_ITSELF), caller)
    late = _too_late(transfer, _ITSELF)
    if late is None:
        return list(shown)
    return [allowed_action(one.action, late) if one.action == "retry" and one.allowed else one for one in shown]


@lru_cache(maxsize=256)  # pure, of all that the caller may do: asking anew for each of 200 is much of what a page costs
def _allowed(situation: Situation, caller: Principal) -> tuple[m.AllowedAction, ...]:
    # Each question once.
    answers = {question: question(situation, caller) for question in _QUESTIONS}
    return tuple(
        allowed_action(action, answers[question] or _own_objection(situation, caller, action))
        for action, question in _OBJECTIONS.items()
    )


def objection_to(transfer: TransferStatus, caller: Principal, action: m.TransferAction) -> Objection:
    """Return what stands against this caller taking this action on this transfer now."""
    named = f"transfer `{transfer.id}`"
    situation = transfer.situation(named)
    objection = _OBJECTIONS[action](situation, caller) or _own_objection(situation, caller, action)
    return _too_late(transfer, named) if objection is None and action == "retry" else objection


def _may(transfer: TransferStatus, caller: Principal, action: m.TransferAction) -> bool:
    return any(one.allowed for one in allowed_actions(transfer, caller) if one.action == action)


def next_step(transfer: TransferStatus, caller: Principal) -> m.NextStep:
    """Say what happens next, and who does it."""
    reason = f" {sentence(transfer.state_reason)}" if transfer.state_reason else ""
    match transfer.state:
        case State.COMPLETE:
            return _MEASURED if transfer.probe else _complete(transfer.copied, transfer.same)
        case State.QUEUED | State.RUNNING | State.WAITING:
            said = {State.QUEUED: "It is queued.", State.RUNNING: "It is running.", State.WAITING: "It is waiting."}
            held = f" {_HALTED}" if transfer.halted is not None else ""
            return m.NextStep(kind="wait", by="service", message=f"{said[transfer.state]}{reason}{held}")
        case State.PAUSED:
            mine = _may(transfer, caller, "resume")
            return m.NextStep(
                kind="resume", by="you" if mine else "others", message=f"It is paused.{reason}{_until(transfer)}"
            )
        case State.PARTIAL | State.FAILED:
            return _after_failure(transfer, caller)
        case State.CANCELED:
            return m.NextStep(kind="none", by="nobody", message=f"It was canceled.{reason} {_anew(transfer)}")


@lru_cache(maxsize=256)
def _complete(copied: int, same: str) -> m.NextStep:
    """Say that all is there; only what was copied is called verified."""
    parts = (["what was copied is verified"] if copied else []) + ([same] if same else [])
    if copied and not same:
        message = "It is complete and verified."
    else:
        message = f"It is complete: {'; '.join(parts)}." if parts else "It is complete."
    return m.NextStep(kind="none", by="nobody", message=message)


_MEASURED: Final = m.NextStep(kind="none", by="nobody", message="It has measured what it can.")


def _anew(transfer: TransferStatus) -> str:
    return f"To ask for the same once more: `headrace again {transfer.id}`."


def _until(transfer: TransferStatus) -> str:
    until = transfer.paused_until
    return f" Unless it is resumed, it is canceled at {until:%Y-%m-%d %H:%M} UTC." if until else ""


_OUTGROWN: Final = (
    "Its source holds more than was surveyed and its plan allows. This attempt deleted nothing at the source. Plan "
    "again, so that what came meanwhile is seen and agreed to."
)
_NOT_ALLOWED: Final = (
    "The policy in force does not allow it any more. Plan it again. Where policy allows it by then as it did, a retry "
    "goes on where it stopped."
)
_NOT_SO: Final = (
    "What it was planned with no longer holds, and as long as that is so, a retry fails as well. Plan it again."
)
_PLANNED_WRONG: Final[Mapping[str, str]] = {
    Unreleased.POLICY_CHANGED: _NOT_ALLOWED,
    Code.DENIED_BY_POLICY: _NOT_ALLOWED,
    Code.NEEDS_CONFIRMATION: _NOT_SO,
    Code.PLAN_ALTERED: _NOT_SO,
    Code.REQUESTER_RENAMED: _NOT_SO,
}
"""What is said of a failure whose reason says to plan again: a retry alone does not help."""
_HALTED: Final = "It goes on once its halt is released: `headrace halts` names the halt."
_HOPELESS: Final = (
    "Each says what stands in its way; trying again helps once that is gone. Where it says `destination_exists`, move "
    "that away and try again, or plan again with `--on-conflict overwrite`, which replaces a file; a folder in the "
    "place of a file, or a file in the place of a folder, is never replaced. Sockets, pipes and devices are never "
    "copied: plan again and leave them out with an exclude."
)


def _after_failure(transfer: TransferStatus, caller: Principal) -> m.NextStep:
    by: Literal["you", "others"] = "you" if caller.id == transfer.requester else "others"
    in_vain = _no_consent(transfer.missing_consent) or _too_late(transfer, _ITSELF)
    if in_vain is not None:
        return m.NextStep(kind="plan_again", by=by, message=_IN_VAIN[in_vain.code])
    if transfer.outgrown:
        return m.NextStep(kind="plan_again", by=by, message=_OUTGROWN)
    if transfer.failed_with in _PLANNED_WRONG:
        return m.NextStep(kind="plan_again", by=by, message=_PLANNED_WRONG[transfer.failed_with])
    what = f"{plural(transfer.failed, 'file')} did not arrive." if transfer.failed else "It failed."
    if 0 < transfer.failed <= transfer.for_good:
        return m.NextStep(kind="plan_again", by=by, message=f"{what} {_HOPELESS}")
    retry = "A retry goes on where it stopped."
    if transfer.failed:
        # A node keeps nothing of a file that it gave up.
        again = transfer.failed - transfer.for_good
        those = "them" if again == transfer.failed else f"{again:,} of them"
        retry = f"A retry sends {'it again, whole' if transfer.failed == 1 else f'{those} again, each whole'}."
        if transfer.for_good:
            retry += (
                f" For the other{'s' if transfer.for_good > 1 else ''} it does not help: `headrace failed` says why."
            )
    may = _may(transfer, caller, "retry")
    return m.NextStep(kind="retry", by="you" if may else "others", message=f"{what} {retry}")


# -- what stands against an action --


def _steer_objection(transfer: Situation, caller: Principal) -> Objection:
    """Return what stands against steering: the requester may, its own assistant, and operators."""
    objection = missing(caller, "control")
    if objection is not None:
        return objection
    if caller.may(Scope.NODE_WRITE) and _not_its_agent(transfer, caller) is None:
        return None
    if caller.id != transfer.requester:
        return ServiceError(Code.FORBIDDEN, "only the requester or an operator steers a transfer")
    if not caller.may(Scope.TRANSFER_RUN):
        return out_of_reach(caller, frozenset({Scope.TRANSFER_RUN}))
    return _not_its_agent(transfer, caller)


def _not_its_agent(transfer: Situation, caller: Principal) -> Objection:
    """Return the objection of an assistant that steers what it did not plan, unless its token allows that.

    Assistants of two people may have one name.
    """
    own = (transfer.requester, transfer.agent) == (caller.id, caller.agent)
    if caller.agent is None or own or caller.may(Scope.TRANSFER_RUN_ALL):
        return None
    return lacking(
        Scope.TRANSFER_RUN_ALL, who=f"the assistant `{caller.agent}` steers what it planned itself; its token may not"
    )


def _state_objection(transfer: Situation, against: str | None) -> Objection:
    return None if against is None else ServiceError(Code.TRANSFER_STATE, f"{transfer.named} {against}")


def steerer(caller: Principal, requester: str) -> Steerer | None:
    """Return whose word it is when this caller steers a transfer of `requester`; nobody's: that of a program."""
    if caller.id != requester:
        return "operator"
    return "person" if caller.session else None


def _own_objection(transfer: Situation, caller: Principal, action: m.TransferAction) -> Objection:
    """Return what stands against this action alone, of those that ask the same question."""
    if transfer.probe and action == "set_deadline":
        # It is planned without one, and what is left of its leg is not all that it may move.
        return _state_objection(transfer, "is a probe, which only measures and has no deadline")
    return _kept_objection(transfer, caller, action)


def _kept_objection(transfer: Situation, caller: Principal, action: m.TransferAction) -> Objection:
    """Return what stands against a program that takes back what a person said.

    An assistant takes back nobody's word, and no token of the requester that of an operator.
    """
    what, deed = _TAKES_BACK.get(action, ("", ""))
    said = dict(transfer.kept).get(what)
    of_requester = said == "operator" and not caller.session and caller.id == transfer.requester
    if said is None or (caller.agent is None and not of_requester):
        return None
    who, program = ("An operator" if said == "operator" else "A person"), caller.agent is not None
    return ServiceError(
        Code.FORBIDDEN,
        f"{who} {deed}, and {'no assistant' if program else 'no token of its requester'} takes that back: do it in "
        "your own session, in the console or a terminal after `headrace login`",
    )


def _wish_objection(asked: Wish) -> Callable[[Situation, Principal], Objection]:
    def objection(transfer: Situation, caller: Principal) -> Objection:
        against = against_wish(transfer.state, transfer.wish, asked)
        return _steer_objection(transfer, caller) or _state_objection(transfer, against)

    return objection


def _pause_objection(transfer: Situation, caller: Principal) -> Objection:
    """Return what stands against a pause: a leg of a probe begins anew, so it would move more than was agreed to."""
    against = "is a probe, which is not paused: cancel it, and measure anew another time" if transfer.probe else None
    return _wish_objection(Wish.PAUSE)(transfer, caller) or _state_objection(transfer, against)


def _delete_objection(transfer: Situation, caller: Principal) -> Objection:
    """Return what stands against letting a plan that deletes run: what submitting takes, or an operator in person."""
    in_person = caller.session and caller.may(Scope.NODE_WRITE)
    if transfer.deletes and not in_person and not caller.may(Scope.TRANSFER_DELETE):
        return lacking(Scope.TRANSFER_DELETE, who="its plan may delete files, and this token may not")
    return None


def _resume_objection(transfer: Situation, caller: Principal) -> Objection:
    """Return what stands against a resume: it lets the plan run, as a submission does."""
    return _wish_objection(Wish.RUN)(transfer, caller) or _delete_objection(transfer, caller)


def _retry_objection(transfer: Situation, caller: Principal) -> Objection:
    """Return what stands against a retry: who may steer may try it again, as who asked for it.

    It starts the plan again: where that deletes, it takes what submitting takes, or an operator in person.
    """
    return (
        _steer_objection(transfer, caller)
        or _delete_objection(transfer, caller)
        or _state_objection(transfer, against_retry(transfer.state))
        or _no_consent(transfer.missing_consent)
    )


_NO_CONSENT: Final = (
    "the consent to this plan no longer counts: it expired, whoever gave it may not give it now, an earlier version "
    "took it, or it was altered; plan again"
)
_IN_VAIN: Final[dict[str, str]] = {
    Code.RETRY_TOO_LATE: "It is too old to be tried again. Plan it again.",
    Unreleased.CONFIRMATION_MISSING: "Its confirmation no longer counts. Plan it again.",
    Unreleased.APPROVAL_MISSING: "An approval of it no longer counts. Plan it again.",
}


def _no_consent(missing: Unreleased | None) -> ServiceError | None:
    return ServiceError(missing, _NO_CONSENT) if missing is not None else None


def _too_late(transfer: TransferStatus, named: str) -> ServiceError | None:
    """Return what stands against a retry of what else may be tried again."""
    until = transfer.retry_until if transfer.state in RETRIED_STATES else None
    if until is None or transfer.now < until:
        return None
    return ServiceError(
        Code.RETRY_TOO_LATE, f"{named} could be tried again until {until:%Y-%m-%d %H:%M} UTC; plan again"
    )


def _halt_objection(transfer: Situation, caller: Principal) -> Objection:
    if transfer.ended:
        return _state_objection(transfer, against_wish(transfer.state, transfer.wish, Wish.PAUSE))
    if transfer.halted is not None:
        return ServiceError(Code.TRANSFER_STATE, because(f"{transfer.named} is halted already", transfer.halted))
    return missing(caller, "halt")


def _release_objection(transfer: Situation, caller: Principal) -> Objection:
    if transfer.halted is None:
        return ServiceError(Code.TRANSFER_STATE, f"{transfer.named} is not halted itself")
    return missing(caller, "release_halt")


def _run_again_objection(transfer: Situation, caller: Principal) -> Objection:
    if not transfer.ended:
        return ServiceError(Code.TRANSFER_STATE, f"{transfer.named} is {transfer.state}, and has not ended")
    if transfer.probe:
        # Planned from its places alone it would copy.
        return ServiceError(Code.TRANSFER_STATE, f"{transfer.named} is a probe; ask for a probe anew")
    return missing(caller, "create_plan")


_cancel_objection: Final = _wish_objection(Wish.CANCEL)
_OBJECTIONS: Final[dict[m.TransferAction, Callable[[Situation, Principal], Objection]]] = {
    "pause": _pause_objection,
    "resume": _resume_objection,
    "cancel": _cancel_objection,
    "retry": _retry_objection,
    "set_rate": _cancel_objection,  # whatever can still be canceled
    "set_class": _cancel_objection,
    "set_deadline": _cancel_objection,
    "halt": _halt_objection,
    "release": _release_objection,
    "run_again": _run_again_objection,
}
_TAKES_BACK: Final[Mapping[m.TransferAction, tuple[str, str]]] = {
    "resume": ("pause", "paused it"),
    "set_rate": ("rate", "set its rate"),
    "set_class": ("class", "set its class"),
    "set_deadline": ("deadline", "set its deadline or took it away"),
}
"""What of `Kept` an action takes back, and in words."""
_QUESTIONS: Final = tuple(dict.fromkeys(_OBJECTIONS.values()))
