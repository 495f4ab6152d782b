"""Decisions: a policy, a caller, a place and facts go in; allowed, confirm, approve or denied comes out.

Everything fails closed: a missing policy, a missing fact, an error of any rule, anything but a clear Allow is a deny.
What is asked for a folder is decided for each place in it that a rule names, too, and the strictest answer holds.
"""

import json
import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import cedarpy

from headrace.guardrails.intents.text import counted, shown
from headrace.guardrails.policy.decision import (
    DEFAULT_QOS_CLASS,
    Decision,
    KeepsDeleted,
    NeedsApproval,
    NeedsConfirmation,
    Obligation,
    Outcome,
    RuleReason,
    lowest_qos,
    merge_obligations,
)
from headrace.guardrails.policy.facts import MOMENT_FACTS, Caller, Facts, Moment, PolicyAction
from headrace.guardrails.policy.places import MAX_PLACES, Inside, inside
from headrace.guardrails.policy.policy_set import PolicyRule, PolicySet, schema
from headrace.guardrails.policy.record import (
    asked_folder,
    cedar_entities,
    cedar_request,
    labels_of,
    read_record,
    record_of,
    route_record,
)
from headrace.guardrails.rails.routes import TRASH, ResolvedEndpoint, Route, place_before
from headrace.guardrails.seal.documents import Json, JsonObject, canonical

LARGE_DELETES: Final = "headrace-large-deletes"
LARGE_OVERWRITES: Final = "headrace-large-overwrites"
LARGE_MOVES: Final = "headrace-large-moves"
MAX_UNAPPROVED_DELETES: Final = 10_000
MAX_UNAPPROVED_OVERWRITES: Final = 10_000
MAX_UNAPPROVED_MOVED: Final = 100_000
MAX_UNAPPROVED_SHARE_PERCENT: Final = 50
FEW_DELETES: Final = 10
"""So many files go without a look at their share, be they deleted, moved or overwritten."""
_BY_ANOTHER: Final = NeedsApproval("approver", 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Loss:
    """Files that a transfer takes away, and from when on somebody has to agree, whatever the policy says.

    More than `most` need another person. More than a few that are more than half of what stands there (`of`) need what
    `share_needs` says.
    """

    rule: str
    fact: str
    share: str
    most: int
    share_needs: Obligation
    noun: str
    fate: str
    of: str

    def asked(self, context: Mapping[str, Json]) -> tuple[Obligation, RuleReason] | None:
        """Say who has to agree and why; `None` if nobody has."""
        count, share = int(str(context[self.fact])), int(str(context[self.share]))
        in_large_part = count > FEW_DELETES and share > MAX_UNAPPROVED_SHARE_PERCENT
        if count <= self.most and not in_large_part:
            return None
        reason = RuleReason(
            self.rule, f"{counted(count, self.noun)} would be {self.fate}, {share}% of the files at the {self.of}"
        )
        return (_BY_ANOTHER if count > self.most else self.share_needs), reason


_LOSSES: Final = (
    _Loss(
        rule=LARGE_DELETES,
        fact="deletes",
        share="delete_share_percent",
        most=MAX_UNAPPROVED_DELETES,
        share_needs=_BY_ANOTHER,
        noun="name",
        fate="deleted",
        of="destination",
    ),
    # A move takes all that it was asked to move, and a sync replaces all that has changed: the requester agrees to it.
    _Loss(
        rule=LARGE_MOVES,
        fact="moved_files",
        share="move_share_percent",
        most=MAX_UNAPPROVED_MOVED,
        share_needs=NeedsConfirmation(),
        noun="source file",
        fate="deleted once copied and verified",
        of="source",
    ),
    _Loss(
        rule=LARGE_OVERWRITES,
        fact="overwrites",
        share="overwrite_share_percent",
        most=MAX_UNAPPROVED_OVERWRITES,
        share_needs=NeedsConfirmation(),
        noun="file",
        fate="overwritten",
        of="destination",
    ),
)

NO_POLICY: Final = RuleReason("headrace-no-policy", "no policy is active, so nothing is allowed")
NO_RULE: Final = RuleReason("headrace-no-rule", "no rule of the policy permits this")
POLICY_ERROR: Final = RuleReason("headrace-policy-error", "the policy could not be evaluated for this request")
NOT_ASKED: Final = RuleReason(
    "headrace-must-be-allowed", "looking into folders can't wait for a confirmation or approval"
)
TOO_MANY_PLACES: Final = RuleReason(
    "headrace-too-many-places",
    f"the folder holds more than {MAX_PLACES:,} places that rules name; ask for folders in it one by one",
)
_DELETING: Final = frozenset({"sync", "move"})
"""Actions that may delete."""
_NO_CLASS: Final = ((DEFAULT_QOS_CLASS, ""),)
"""What stands in `qos_rules` where no rule names a class."""

MAX_NAMED: Final = 100
"""Places of which one decision finds out for an assistant whether it may be told of them; of more it is told none."""
IS_PART: Final = " is part of this"
"""How a reason ends that names a place in the folder that was asked for."""
_RESTRICTED: Final = "names=restricted"


class Spent(Exception):  # noqa: N818 - says what is the case
    """Nothing more is tried: as many requests were evaluated as may be."""


@dataclass(slots=True)
class Budget:
    """How many evaluations are left to those who only look for what would be decided otherwise.

    Whether a place may be named is an evaluation as well; it is made where reasons are `worded` at all.
    """

    left: int
    worded: bool = True
    denied: tuple[str, ...] | None = None
    """The place that denied last: it likely denies the next try, too, and is asked first."""
    places: tuple[bytes, list[Inside]] | None = None
    """The places in what was asked for last."""

    def take(self) -> None:
        """Count one evaluation; raises `Spent` when none is left."""
        if self.left <= 0:
            raise Spent
        self.left -= 1

    def inside(self, policies: PolicySet, record: JsonObject) -> list[Inside]:
        """Return the places in what is asked for; tries that differ in facts alone have the same."""
        asked = canonical([record["resource"], record["action"] == "browse"])
        if self.places is None or self.places[0] != asked:
            self.places = asked, _inside(policies, record)
        return self.places[1]

    def first(self, places: list[Inside]) -> list[Inside]:
        """Order places so that the one that denied last comes first."""
        return sorted(places, key=lambda place: place.rest != self.denied)


_log = logging.getLogger(__name__)


def decide(policies: PolicySet | None, action: PolicyAction, caller: Caller, route: Route, facts: Facts) -> Decision:
    """Decide on a surveyed copy, sync or move. `policies` is the active policy, `None` when there is none."""
    return _decided(policies, action, caller, route_record(route), facts)


def may_browse(policies: PolicySet | None, caller: Caller, folder: ResolvedEndpoint, moment: Moment) -> Decision:
    """Decide whether the caller may have the names in this folder listed, and none below: allowed or denied."""
    return _decided(policies, "browse", caller, asked_folder(folder, "alone"), moment)


def may_plan(policies: PolicySet | None, caller: Caller, route: Route, moment: Moment) -> Decision:
    """Decide whether this route may be surveyed for the caller; allowed or denied.

    That is `browse` on both ends with all that is below them, and `plan`.
    """
    for folder in (route.source, route.destination):
        decision = _decided(policies, "browse", caller, asked_folder(folder, "below", route.filters.exclude), moment)
        if decision.outcome == "denied":
            return decision
    return _decided(policies, "plan", caller, route_record(route), moment)


def redecide(policies: PolicySet | None, context_json: str, budget: Budget | None = None) -> Decision:
    """Decide a recorded request under a policy.

    So is every request decided, again before each ticket and renewal, and to simulate what another policy would say.
    With a `budget`, places are evaluated in another order, and `Spent` is raised when it is used up.
    """
    version = policies.version if policies else ""
    if policies is None:
        return _denied((NO_POLICY,), version, context_json)
    try:
        record, lacking = read_record(context_json)
        if lacking & policies.attributes:
            _log.error("policy %s reads facts that an old record lacks", policies.version)
            return _denied((POLICY_ERROR,), version, context_json)
        return _everywhere(policies, record, context_json, budget)
    except Spent:
        raise
    except Exception:  # noqa: BLE001 - whatever goes wrong in here, the answer is no
        _log.exception("the policy could not be evaluated")
        return _denied((POLICY_ERROR,), version, context_json)


def replay(policies: PolicySet, decision: Decision) -> Decision:
    """Decide again exactly what `decision` decided; raises `ValueError` unless it is the same version of the policy."""
    if policies.version != decision.policy_version:
        raise ValueError(policies.version)
    return redecide(policies, decision.context_json)


def names_withheld(caller: Caller, folder: ResolvedEndpoint, *, below: bool = False) -> bool:
    """Whether the caller gets counts instead of names there (label `names` is `restricted`, and an agent asks).

    With `below`, what lies below the folder counts as well. The names in a trash tell of the transfers of others.
    """
    if caller.agent is None:
        return False
    if folder.path[-1:] == (TRASH,):
        return True
    own, under = labels_of(place_before(folder.path), folder.labels, folder.folder_labels)
    return _RESTRICTED in own or (below and any(_RESTRICTED in labels for _, labels in under))


def _decided(
    policies: PolicySet | None, action: PolicyAction, caller: Caller, resource: JsonObject, facts: Facts | Moment
) -> Decision:
    """Write the request down, and decide what was written."""
    try:
        context_json = record_of(action, caller, resource, facts.context())
    except Exception:  # noqa: BLE001 - what can't be written down can't be decided: no
        _log.exception("the request could not be recorded")
        return _denied((POLICY_ERROR,), policies.version if policies else "", "")
    return redecide(policies, context_json)


def _everywhere(policies: PolicySet, record: JsonObject, context_json: str, budget: Budget | None) -> Decision:
    """Decide a request for the folder it names, and for every place in it that a rule names."""
    if budget:
        budget.take()
    decision = _evaluate(policies, record, context_json)
    if decision.outcome == "denied":
        return decision
    places, naming = budget.inside(policies, record) if budget else _inside(policies, record), Budget(MAX_NAMED)
    if len(places) > MAX_PLACES:
        return _denied((TOO_MANY_PLACES,), policies.version, context_json)
    for place in budget.first(places) if budget else places:
        if budget:
            budget.take()
        # Only the folder differs, and entities are held against the schema in any case.
        part = _evaluate(policies, {**record, "resource": place.resource}, context_json, checked=True)
        decision = _stricter(decision, part, partial(_said, policies, record, place, budget, naming))
        if decision.outcome == "denied":
            if budget:
                budget.denied = place.rest
            return decision
    return decision


def may_be_told(policies: PolicySet, record: JsonObject, place: Inside, budget: Budget) -> bool:
    """Whether who asks may know of a place in the folder that is asked for.

    Nobody is told which folders have labels. An assistant is told only of places that it may list: rules name folders
    that the person knows of and the assistant need not. Raises `Spent` where the budget has no evaluation left for it.
    """
    caller = record["caller"]
    if not place.is_told or not isinstance(caller, Mapping):
        return False
    if caller["agent"] is None:
        return True
    labels = place.folder.get("labels")
    if isinstance(labels, Sequence) and _RESTRICTED in labels:
        return False
    budget.take()
    context = record["context"]
    facts = {name: context[name] for name in MOMENT_FACTS} if isinstance(context, Mapping) else {}
    folder: JsonObject = {**place.folder, "below": False, "exclude": []}
    listing: JsonObject = {**record, "action": "browse", "resource": folder, "context": facts}
    return _evaluate(policies, listing, "").outcome == "allowed"


def _said(policies: PolicySet, record: JsonObject, place: Inside, budget: Budget | None, naming: Budget) -> str:
    """Say which place in the folder is meant, or only what there is about it.

    Without a `budget`, `naming` bounds how many evaluations find out which places may be named.
    """
    if budget and not budget.worded:
        return ""
    try:
        told = may_be_told(policies, record, place, budget or naming)
    except Spent:
        if budget:
            raise
        told = False
    if told:
        return shown(place.text)
    return "a folder in it that a rule names" if place.is_told else "a folder in it that has a label"


def _inside(policies: PolicySet, record: JsonObject) -> list[Inside]:
    return inside(record, policies.places, labels=policies.reads_labels)


def _stricter(whole: Decision, part: Decision, place: Callable[[], str]) -> Decision:
    """Unite the decision on a folder with the one on a place in it; rules that only the place meets say so."""
    known = {rule.id for rule in whole.rules} if whole.obligations else set()
    new = [rule for rule in part.rules if rule.id not in known]
    said = place() if new else ""
    added = tuple(RuleReason(rule.id, f"{rule.reason}, and {said}{IS_PART}", rule.reason) for rule in new)
    if part.outcome == "denied":
        return replace(part, rules=added)
    qos_rules = tuple(sorted({*whole.qos_rules, *part.qos_rules}))
    qos_class = lowest_qos({name for name, _ in qos_rules})
    if not part.obligations:
        return replace(whole, qos_class=qos_class, qos_rules=qos_rules)
    obligations = merge_obligations({*whole.obligations, *part.obligations})
    return replace(
        whole,
        outcome=_outcome(obligations),
        rules=(*(whole.rules if whole.obligations else ()), *added),
        obligations=obligations,
        qos_class=qos_class,
        qos_rules=qos_rules,
        permitted_by=whole.permitted_by if whole.obligations else whole.rules,
    )


def _evaluate(policies: PolicySet, record: JsonObject, context_json: str, *, checked: bool = False) -> Decision:
    """Ask Cedar. `checked`: a request with this action, principal and context has been held against the schema.

    To hold it against the schema takes a quarter of an evaluation, and a folder may hold a thousand places.
    """
    request = cedar_request(record)
    # What the rules without those that only ask don't allow, no confirmation or approval allows.
    every, without_asking = policies.slices.of(record)
    entities = cedarpy.Entities.from_json_str(json.dumps(cedar_entities(record)), schema())
    answer = cedarpy.is_authorized(request, every, entities, None if checked else schema())
    deciding = [policies.by_cedar_id[reason] for reason in answer.diagnostics.reasons]
    if answer.diagnostics.errors or answer.decision is cedarpy.Decision.NoDecision:
        _log.error("policy %s: %s", policies.version, answer.diagnostics.errors)
        return _denied((POLICY_ERROR,), policies.version, context_json)
    if not answer.allowed:
        if not deciding or not all(rule.asks for rule in deciding):
            hard = [rule for rule in deciding if not rule.asks]
            return _denied(_reasons(hard) or (NO_RULE,), policies.version, context_json)
        # Rules that ask have hidden whether anything permits this at all: ask once more without them.
        strict = cedarpy.is_authorized(request, without_asking, entities)
        if not strict.allowed or strict.diagnostics.errors:
            return _denied((NO_RULE,), policies.version, context_json)
        deciding += [policies.by_cedar_id[reason] for reason in strict.diagnostics.reasons]
    return _granted(record, deciding, policies.version, context_json)


def _granted(record: Mapping[str, Json], deciding: list[PolicyRule], version: str, context_json: str) -> Decision:
    """Merge what the deciding rules ask for, and the approval that many losses need in any case."""
    needs: set[Obligation] = {need for rule in deciding for need in rule.obligations}
    if record["action"] not in _DELETING:
        # Where nothing is deleted nothing is kept.
        needs = {need for need in needs if not isinstance(need, KeepsDeleted)}
    asking = [rule for rule in deciding if needs & set(rule.obligations)]
    reasons = _reasons(asking or deciding)
    large = tuple(_large(record["context"], needs))
    if large:
        needs |= {need for need, _ in large}
        reasons = (*(reason for _, reason in large), *_reasons(asking))
    obligations = merge_obligations(needs)
    if obligations and record["action"] in {"browse", "plan"}:
        return _denied((NOT_ASKED,), version, context_json)
    named = tuple(sorted((rule.qos_class, rule.id) for rule in deciding if rule.qos_class is not None)) or _NO_CLASS
    beneath = _reasons([rule for rule in deciding if rule.effect == "permit" and not rule.obligations])
    permitted_by = beneath if obligations else ()
    qos_class = lowest_qos({name for name, _ in named})
    return Decision(_outcome(obligations), reasons, obligations, qos_class, version, context_json, permitted_by, named)


def _outcome(obligations: tuple[Obligation, ...]) -> Outcome:
    if any(isinstance(need, NeedsApproval) for need in obligations):
        return "approve"
    return "confirm" if NeedsConfirmation() in obligations else "allowed"


def _large(context: Json, asked: Collection[Obligation]) -> Iterator[tuple[Obligation, RuleReason]]:
    """Give who has to agree to losing many files, and why, where no rule asks for as much."""
    if not isinstance(context, Mapping) or "deletes" not in context:
        return
    people = [need for need in asked if not isinstance(need, KeepsDeleted)]
    approved = any(isinstance(need, NeedsApproval) for need in people)
    for loss in _LOSSES:
        found = loss.asked(context)
        if found and not (approved if isinstance(found[0], NeedsApproval) else people):
            yield found


def _denied(rules: tuple[RuleReason, ...], version: str, context_json: str) -> Decision:
    return Decision("denied", rules, (), DEFAULT_QOS_CLASS, version, context_json)


def _reasons(rules: list[PolicyRule]) -> tuple[RuleReason, ...]:
    """Deciding rules by id, so that the same request always gets the same answer."""
    return tuple(RuleReason(rule.id, rule.reason) for rule in sorted(rules, key=lambda rule: rule.id))
