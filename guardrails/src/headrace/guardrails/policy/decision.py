"""What policy says of a request, in a form that can be stored, sealed, explained and replayed."""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from headrace.guardrails.seal.documents import JsonObject

Outcome = Literal["allowed", "confirm", "approve", "denied"]

ROLES: Final = frozenset({"viewer", "requester", "approver", "policy_admin", "operator", "auditor", "admin"})
"""Role names; any other name in an approval obligation is a group's."""
QOS_CLASSES: Final = ("background", "bulk", "priority")
"""Classes that every site has, lowest first: of several that rules name, the lowest is taken."""
QOS_CLASS: Final = re.compile(r"[a-z][a-z0-9-]{0,63}")
"""Names of classes; which others there are is the site's to say."""
DEFAULT_QOS_CLASS: Final = "bulk"

MAX_KEEP_DAYS: Final = 366
"""Most days that a trash keeps what was deleted."""
_TRASH: Final = re.compile(r"trash:([1-9][0-9]{0,2})d")
_APPROVAL: Final = re.compile(r"approval:([\w.@-]{1,64}):([1-9])")


@dataclass(frozen=True, slots=True)
class NeedsConfirmation:
    """The requester's own yes, in their own session."""

    def __str__(self) -> str:
        """Its form in policies and sealed plans."""
        return "confirmation"


@dataclass(frozen=True, slots=True)
class NeedsApproval:
    """A yes of `count` different other people who have the role, or are in the group, `by`."""

    by: str
    count: int

    def __str__(self) -> str:
        """Its form in policies and sealed plans."""
        return f"approval:{self.by}:{self.count}"

    def may_be_given_by(self, roles: frozenset[str], groups: frozenset[str]) -> bool:
        """Whether somebody with these roles and groups counts; a group named like a role does not stand for it."""
        return self.by in (roles if self.by in ROLES else groups)


@dataclass(frozen=True, slots=True)
class KeepsDeleted:
    """What is deleted goes to the trash of its root, and is kept there for at least `days`; it asks nobody."""

    days: int

    def __str__(self) -> str:
        """Its form in policies and sealed plans."""
        return f"trash:{self.days}d"


Obligation: TypeAlias = NeedsConfirmation | NeedsApproval | KeepsDeleted


@dataclass(frozen=True, slots=True)
class RuleReason:
    """A rule that took part in a decision, and its reason in words."""

    id: str
    reason: str
    advice: str | None = None
    """The reason as the rule has it, where `reason` says besides which place in the folder it is about."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What policy says of a request.

    `rules` made the outcome; where they ask, `permitted_by` are those that permit the request beneath them.
    `context_json` is the exact request that was decided (canonical JSON), `policy_version` the digest of the policy's
    text: with both, `replay` gives the same answer.
    """

    outcome: Outcome
    rules: tuple[RuleReason, ...]
    obligations: tuple[Obligation, ...]
    qos_class: str
    policy_version: str
    context_json: str
    permitted_by: tuple[RuleReason, ...] = ()
    qos_rules: tuple[tuple[str, str], ...] = ()
    """Classes that rules named, each with its rule; which is the lowest of a site's own is the site's to say."""

    @property
    def needs_confirmation(self) -> bool:
        """Whether the requester must confirm."""
        return any(isinstance(need, NeedsConfirmation) for need in self.obligations)

    @property
    def asks(self) -> tuple[NeedsConfirmation | NeedsApproval, ...]:
        """What people must say before it may run."""
        return tuple(need for need in self.obligations if not isinstance(need, KeepsDeleted))

    @property
    def keep_days(self) -> int | None:
        """How many days what it deletes is kept; nothing when it is gone at once."""
        return kept_days(self.obligations)

    @property
    def approvals(self) -> tuple[NeedsApproval, ...]:
        """Approvals that are needed, each on its own; one person's yes counts for every one that it fits."""
        return tuple(need for need in self.obligations if isinstance(need, NeedsApproval))

    def to_body(self) -> JsonObject:
        """Its form in sealed plans."""
        return {
            "outcome": self.outcome,
            "rules": [{"id": rule.id, "reason": rule.reason} for rule in self.rules],
            "permitted_by": [{"id": rule.id, "reason": rule.reason} for rule in self.permitted_by],
            "obligations": [str(need) for need in self.obligations],
            "qos_class": self.qos_class,
            "policy_version": self.policy_version,
            "context": self.context_json,
        }


def why(decision: Decision) -> str:
    """One sentence that says what was decided and by which rules."""
    reasons = "; ".join(f"{rule.reason} ({rule.id})" for rule in decision.rules)
    match decision.outcome:
        case "allowed":
            return f"Allowed: {reasons}."
        case "confirm":
            return f"Needs the requester's confirmation: {reasons}."
        case "approve":
            needs = " and ".join(_people(need) for need in decision.approvals)
            own = " and the requester's confirmation" if decision.needs_confirmation else ""
            return f"Needs {needs}{own}: {reasons}."
        case "denied":
            return f"Denied: {reasons}."


def without_places(decision: Decision) -> Decision:
    """Leave the places that are part of what was asked for out of a decision's reasons."""
    told = tuple(rule if rule.advice is None else RuleReason(rule.id, rule.advice) for rule in decision.rules)
    return replace(decision, rules=told)


def parse_obligations(text: str) -> tuple[Obligation, ...] | None:
    """Read `confirmation`, `approval:GROUP_OR_ROLE:N` (N 1 to 9), `trash:Nd` (N 1 to 366), or several with `;` between.

    `None` when one is unknown.
    """
    needs: list[Obligation] = []
    for part in map(str.strip, text.split(";")):
        match = _APPROVAL.fullmatch(part)
        if match:
            needs.append(NeedsApproval(match[1], int(match[2])))
        elif part == "confirmation":
            needs.append(NeedsConfirmation())
        elif (kept := _TRASH.fullmatch(part)) and int(kept[1]) <= MAX_KEEP_DAYS:
            needs.append(KeepsDeleted(int(kept[1])))
        else:
            return None
    return tuple(needs)


def asks_no_more(now: Iterable[Obligation], then: Collection[Obligation]) -> bool:
    """Whether all that is asked now was asked then; fewer approvals, or fewer days in a trash, are no more."""
    kept = kept_days(then) or 0
    approvals = {need.by: need.count for need in merge_obligations(set(then)) if isinstance(need, NeedsApproval)}

    def was_asked(need: Obligation) -> bool:
        if isinstance(need, KeepsDeleted):
            return need.days <= kept
        if isinstance(need, NeedsApproval):
            return need.count <= approvals.get(need.by, 0)
        return need in then

    return all(map(was_asked, now))


def written_obligations(sealed: object) -> tuple[Obligation, ...]:
    """Read the obligations of a sealed plan; none where they can't be read, so that whatever is asked now is more."""
    texts = ";".join(map(str, sealed)) if isinstance(sealed, list) else ""
    return (parse_obligations(texts) or ()) if texts else ()


def merge_obligations(needs: "frozenset[Obligation] | set[Obligation]") -> tuple[Obligation, ...]:
    """Union in a fixed order; of several counts for the same group or role, or of days, the largest."""
    counts: dict[str, int] = {}
    for need in needs:
        if isinstance(need, NeedsApproval):
            counts[need.by] = max(need.count, counts.get(need.by, 0))
    confirmation: tuple[Obligation, ...] = (NeedsConfirmation(),) if NeedsConfirmation() in needs else ()
    days = kept_days(needs)
    kept: tuple[Obligation, ...] = () if days is None else (KeepsDeleted(days),)
    return (*confirmation, *(NeedsApproval(by, counts[by]) for by in sorted(counts)), *kept)


def kept_days(needs: Collection[Obligation]) -> int | None:
    """Return how many days what is deleted is kept: the most of those that are asked for."""
    return max((need.days for need in needs if isinstance(need, KeepsDeleted)), default=None)


def lowest_qos(classes: Collection[str], order: Sequence[str] = QOS_CLASSES) -> str:
    """Pick the lowest by `order` of the classes that rules named, unknown ones last; `bulk` when none did."""
    ranks = {name: rank for rank, name in enumerate(order)}
    return min(sorted(classes), key=lambda name: ranks.get(name, len(ranks)), default=DEFAULT_QOS_CLASS)


def _people(need: NeedsApproval) -> str:
    whose = f"the role {need.by}" if need.by in ROLES else f"the group {need.by}"
    return f"an approval by {whose}" if need.count == 1 else f"{need.count} approvals by {whose}"
