"""Who is entitled to how much of a link: the rule by which nodes schedule, as arithmetic. Pure functions.

Priorities first (lower ones together keep the rest of what reaches them), in each the floors of classes, then
guarantees of transfers, the earliest deadline first, then what is left by weight: of classes, and of transfers within
a class. Nobody gets more than a ceiling or than is wanted, and what one leaves goes to the others.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar

from headrace.client import models as m

K = TypeVar("K", bound=Hashable)

_LEAST_BPS: Final = 1.0
"""What is less is nothing."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A transfer that runs over a link. `wants_bps`: what it can use at most; `None` when that is not known."""

    transfer: str
    qos_class: str
    weight: int = 1
    guaranteed_bps: float = 0
    wants_bps: float | None = None


@dataclass(frozen=True, slots=True)
class OnLink:
    """What a class has on one link."""

    weight: int = 1
    priority: int = 0
    floor_bps: float = 0
    ceiling_bps: float | None = None


@dataclass(slots=True)
class _Tier:
    """The transfers of one priority."""

    rules: Mapping[str, OnLink]
    claims: Sequence[Claim]
    got: dict[str, float] = field(default_factory=dict)

    def fill(self, budget: float) -> float:
        """Divide up to `budget` among them; returns what is left."""
        by_class: dict[str, list[Claim]] = {}
        for claim in self.claims:
            by_class.setdefault(claim.qos_class, []).append(claim)
        floors = ((name, self._rule(name).floor_bps, self._want(of, budget)) for name, of in by_class.items())
        for name, amount in divided(budget, [(name, floor, min(floor, want)) for name, floor, want in floors]).items():
            budget -= self._hand_out(amount, by_class[name])
        for claim in self.claims:
            room = self._want(by_class[claim.qos_class], budget)
            lacks = claim.guaranteed_bps - self.got.get(claim.transfer, 0)
            budget -= self._hand_out(max(0.0, min(budget, lacks, room)), [claim])
        wants = [(name, float(self._rule(name).weight), self._want(of, budget)) for name, of in by_class.items()]
        for name, amount in divided(budget, wants).items():
            budget -= self._hand_out(amount, by_class[name])
        return max(0.0, budget)

    def _rule(self, name: str) -> OnLink:
        return self.rules.get(name, OnLink())

    def _want(self, of: Sequence[Claim], budget: float) -> float:
        """Return what a class can still use: what its transfers lack, up to its ceiling."""
        want = sum(self._lack(claim, budget) for claim in of)
        ceiling = self._rule(of[0].qos_class).ceiling_bps
        if ceiling is not None:
            want = min(want, ceiling - sum(self.got.get(claim.transfer, 0) for claim in of))
        return max(0.0, want)

    def _lack(self, claim: Claim, budget: float) -> float:
        return budget if claim.wants_bps is None else max(0.0, claim.wants_bps - self.got.get(claim.transfer, 0))

    def _hand_out(self, amount: float, to: Sequence[Claim]) -> float:
        shares = divided(amount, [(claim.transfer, float(claim.weight), self._lack(claim, amount)) for claim in to])
        for transfer, share in shares.items():
            self.got[transfer] = self.got.get(transfer, 0) + share
        return sum(shares.values())


def divided(amount: float, claims: Iterable[tuple[K, float, float]]) -> dict[K, float]:
    """Divide an amount by weight among claims (key, weight, most); what one can't take goes to the others."""
    left = [(key, weight, most) for key, weight, most in claims if weight > 0 and most > 0]
    got = dict[K, float]()
    while left and amount > _LEAST_BPS:
        unit = amount / sum(weight for _, weight, _ in left)
        full = [(key, weight, most) for key, weight, most in left if most <= weight * unit]
        if not full:
            return got | {key: weight * unit for key, weight, _ in left}
        got |= {key: most for key, _, most in full}
        amount -= sum(most for _, _, most in full)
        left = [one for one in left if one[0] not in got]
    return got


def entitlements(
    rate_bps: float, rest_percent: float, rules: Mapping[str, OnLink], claims: Sequence[Claim]
) -> dict[str, float]:
    """Return what each transfer is entitled to of a link, by its id; `claims` in the order of their guarantees."""
    tiers: dict[int, list[Claim]] = {}
    for claim in claims:
        tiers.setdefault(rules.get(claim.qos_class, OnLink()).priority, []).append(claim)
    got, left = dict[str, float](), rate_bps
    order = sorted(tiers, reverse=True)
    for priority in order:
        lower = [claim for other in order if other < priority for claim in tiers[other]]
        kept = min(left * rest_percent / 100, _usable(rules, lower, left))
        tier = _Tier(rules, tiers[priority])
        left = kept + tier.fill(left - kept)
        got |= {claim.transfer: tier.got.get(claim.transfer, 0.0) for claim in tiers[priority]}
    return got


def _usable(rules: Mapping[str, OnLink], claims: Sequence[Claim], most: float) -> float:
    """Return what these can use together, each class up to its ceiling."""
    wants: dict[str, float] = {}
    for claim in claims:
        wants[claim.qos_class] = wants.get(claim.qos_class, 0) + (most if claim.wants_bps is None else claim.wants_bps)
    ceilings = {name: rules.get(name, OnLink()).ceiling_bps for name in wants}
    return sum(want if (cap := ceilings[name]) is None else min(want, cap) for name, want in wants.items())


def rules_on(document: m.QosDocument, link: str) -> dict[str, OnLink]:
    """Return what each class has on a link; one that does not name it has its weight and priority there."""
    found = {}
    for one in document.classes:
        own = next((entry for entry in one.links if entry.link == link), None)
        found[one.name] = OnLink(
            weight=one.weight,
            priority=one.priority,
            floor_bps=own.floor_bps if own else 0,
            ceiling_bps=own.ceiling_bps if own else None,
        )
    return found
