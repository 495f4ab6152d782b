"""Who runs over which links, and what each node and transfer is told of them. Pure functions.

A link is scheduled by the nodes behind it: the source's for what it sends, the destination's for what it receives. A
link that several nodes stand behind is divided among them here, by what their transfers are entitled to and use.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from headrace.api.policy.fair_share import Claim, OnLink, entitlements, rules_on
from headrace.client import models as m

Way = Literal["out", "in"]
At = tuple[str, str, Way]
"""A node (by key), a link, and a direction."""
WAYS: Final[tuple[Way, ...]] = ("out", "in")
_FULL: Final = 0.8
"""Who takes so much of what it is entitled to may want more; what others leave is theirs."""
_ROOM: Final = 1.25
"""Who takes less keeps room above that."""
_LEAST_BPS: Final = 1_000_000
_CAPPED: Final = 0.98
"""A class that gets so much of its ceiling is held back by that."""


@dataclass(frozen=True, slots=True)
class Path:
    """Over which links a transfer runs, in the order of the document."""

    source: tuple[str, ...] = ()
    destination: tuple[str, ...] = ()

    @property
    def links(self) -> tuple[str, ...]:
        """All of them."""
        return tuple(dict.fromkeys((*self.source, *self.destination)))

    @property
    def ways(self) -> tuple[tuple[str, Way], ...]:
        """All of them, each with the direction in which it is taken."""
        return (*((link, "out") for link in self.source), *((link, "in") for link in self.destination))


def narrowest(document: m.QosDocument, links: Collection[str], qos_class: str) -> tuple[int, str] | None:
    """Return the least (bits/s) that one of `links`, or the ceiling of a class there, lets through, and of which."""
    found = []
    for link in document.links:
        if link.name in links:
            ceiling = rules_on(document, link.name).get(qos_class, OnLink()).ceiling_bps
            found += [(int(bps), link.name) for bps in (link.rate_bps, ceiling) if bps]
    return min(found, default=None)


@dataclass(frozen=True, slots=True)
class Moving:
    """A transfer that runs, as links see it."""

    transfer: str
    qos_class: str
    source: str
    destination: str
    path: Path
    order: int = 0
    """Whose guarantee comes first where nodes can't keep all: the lowest."""
    guaranteed_bps: float = 0
    took_bps: float | None = None
    """What it took of late; `None` while that says nothing."""
    entitled_bps: float | None = None
    """What it was entitled to then."""

    @property
    def wants_bps(self) -> float | None:
        """What it can use at most, by what it took: nobody knows of one that takes what it may."""
        if self.took_bps is None or self.entitled_bps is None or self.took_bps >= _FULL * self.entitled_bps:
            return None
        return self.took_bps * _ROOM + _LEAST_BPS


@dataclass(frozen=True, slots=True)
class NodeLink:
    """What one node is told of a link."""

    rate_bps: int | None
    rest_percent: int
    classes: Mapping[str, OnLink]
    receive: "NodeLink | None" = None
    """What holds instead for what it receives."""

    def of(self, way: Way) -> "NodeLink":
        """Return what holds in one direction."""
        return self.receive if way == "in" and self.receive is not None else self

    def limited(self, way: Way, rate_bps: int) -> "NodeLink":
        """Return this with another rate in one direction; no floor there is above it."""
        of = self.of(way)
        floors = {name: replace(rule, floor_bps=min(rule.floor_bps, rate_bps)) for name, rule in of.classes.items()}
        new = replace(of, rate_bps=rate_bps, classes=floors, receive=None)
        return replace(self, receive=new) if way == "in" else replace(new, receive=self.of("in"))


@dataclass(frozen=True, slots=True)
class Divided:
    """What everybody gets: nodes (by key) of links, and transfers of their tightest link."""

    nodes: Mapping[str, Mapping[str, NodeLink]]
    entitled_bps: Mapping[str, float]
    busy: frozenset[At] = frozenset()
    """Where something runs."""
    shared: Mapping[tuple[str, Way], int] = field(default_factory=dict)
    """The rates of links that several nodes stand behind."""
    capped: Mapping[str, tuple[str, float]] = field(default_factory=dict)
    """Transfers that the ceiling of their class holds back on their tightest link: that link, and the ceiling."""

    def rate_of(self, at: At) -> float:
        """Return the rate of a node's part of a link that is shared."""
        return float(self.nodes[at[0]][at[1]].of(at[2]).rate_bps or 0)


def path_of(document: m.QosDocument, keys: Mapping[str, str], source: str, destination: str) -> Path:
    """Return over which links it goes from one node (by key) to another; `keys` are those of nodes by name."""
    out, into = list[str](), list[str]()
    for link in document.links:
        behind = {keys[name] for name in link.nodes if name in keys}
        peers = {keys[name] for name in link.peers if name in keys} if link.peers else None
        if source in behind and destination not in behind and (peers is None or destination in peers):
            out.append(link.name)
        if destination in behind and source not in behind and (peers is None or source in peers):
            into.append(link.name)
    return Path(tuple(out), tuple(into))


def divide(document: m.QosDocument, keys: Mapping[str, str], moving: Sequence[Moving]) -> Divided:
    """Divide links among nodes, and say what transfers are entitled to; `moving` in the order of their guarantees."""
    nodes: dict[str, dict[str, NodeLink]] = {}
    entitled: dict[str, float] = {}
    busy: set[At] = set()
    shared: dict[tuple[str, Way], int] = {}
    held: dict[str, tuple[float, str, float | None]] = {}
    for link in document.links:
        behind = tuple(dict.fromkeys(keys[name] for name in link.nodes if name in keys))
        rules = rules_on(document, link.name)
        ways = {way: _Way(link, rules, [one for one in moving if link.name in _links(one, way)]) for way in WAYS}
        for one in ways.values():
            for transfer, bps in one.gets.items():
                entitled[transfer] = min(bps, entitled.get(transfer, bps))
            for transfer, (bps, ceiling) in one.holds().items():
                if transfer not in held or bps < held[transfer][0]:
                    held[transfer] = bps, link.name, ceiling
        for node in behind:
            told = _alone(link, rules) if len(behind) == 1 else _parts(link, rules, ways, node, len(behind))
            nodes.setdefault(node, {})[link.name] = told
        if len(behind) > 1 and link.rate_bps is not None:
            shared |= {(link.name, way): link.rate_bps for way in WAYS}
            busy |= {(_node(one, way), link.name, way) for way, of in ways.items() for one in of.moving}
    capped = {transfer: (link, ceiling) for transfer, (_, link, ceiling) in held.items() if ceiling is not None}
    return Divided(nodes, entitled, frozenset(busy), shared, capped)


def _links(one: Moving, way: Way) -> tuple[str, ...]:
    return one.path.source if way == "out" else one.path.destination


def _node(one: Moving, way: Way) -> str:
    return one.source if way == "out" else one.destination


class _Way:
    """What runs over a link in one direction, and who gets what."""

    def __init__(self, link: m.QosLink, rules: Mapping[str, OnLink], moving: Sequence[Moving]) -> None:
        self.moving = moving
        self._rate, self._rules = link.rate_bps, rules
        self.gets: Mapping[str, float] = {}
        self.ought: Mapping[str, float] = {}
        if link.rate_bps is not None:
            self.ought = entitlements(link.rate_bps, link.rest_percent, rules, [_claim(one, None) for one in moving])
            wanted = [_claim(one, one.wants_bps) for one in moving]
            self.gets = entitlements(link.rate_bps, link.rest_percent, rules, wanted)

    def holds(self) -> dict[str, tuple[float, float | None]]:
        """Return to what each transfer is held here, and the ceiling of its class where it is that."""
        found: dict[str, tuple[float, float | None]] = {}
        for name in {one.qos_class for one in self.moving}:
            of = [one.transfer for one in self.moving if one.qos_class == name]
            ceiling = self._rules.get(name, OnLink()).ceiling_bps
            if self._rate is not None:
                gets = [self.gets.get(transfer, 0.0) for transfer in of]
                if ceiling is not None and (ceiling >= self._rate or sum(gets) < _CAPPED * ceiling):
                    ceiling = None
                found |= {transfer: (bps, ceiling) for transfer, bps in zip(of, gets, strict=True)}
            elif ceiling is not None:
                # Without a rate nothing else is shared there, and ceilings hold all the same.
                found |= {transfer: (ceiling / len(of), ceiling) for transfer in of}
        return found

    def rate_at(self, way: Way, node: str, rate_bps: int) -> float | None:
        """Return the part of a node: what its transfers get, and its part of what nobody takes; `None` without any."""
        here = {one.transfer for one in self.moving if _node(one, way) == node}
        if not here:
            return None
        left, ought = max(0.0, rate_bps - sum(self.gets.values())), sum(self.ought.values())
        own = sum(bps for transfer, bps in self.ought.items() if transfer in here)
        gets = sum(bps for transfer, bps in self.gets.items() if transfer in here)
        return gets + (left * own / ought if ought else 0)

    def part_of_class(self, way: Way, node: str, name: str) -> float | None:
        """Return which part of a class runs at a node; `None` when nothing of it runs at all."""
        of = {one.transfer: _node(one, way) for one in self.moving if one.qos_class == name}
        all_of = sum(self.ought.get(transfer, 0) for transfer in of)
        here = sum(self.ought.get(transfer, 0) for transfer, at in of.items() if at == node)
        return here / all_of if all_of else None


def _claim(one: Moving, wants_bps: float | None) -> Claim:
    return Claim(one.transfer, one.qos_class, guaranteed_bps=one.guaranteed_bps, wants_bps=wants_bps)


def _alone(link: m.QosLink, rules: Mapping[str, OnLink]) -> NodeLink:
    return NodeLink(link.rate_bps, link.rest_percent, rules)


def _parts(link: m.QosLink, rules: Mapping[str, OnLink], ways: Mapping[Way, _Way], node: str, behind: int) -> NodeLink:
    """Return one node's part of a link, in each direction."""
    if link.rate_bps is None:
        return NodeLink(None, link.rest_percent, rules)
    sends, receives = (_part(link, rules, (way, ways[way]), node, behind) for way in WAYS)
    return replace(sends, receive=receives)


def _part(link: m.QosLink, rules: Mapping[str, OnLink], of: tuple[Way, _Way], node: str, behind: int) -> NodeLink:
    """Return one node's part of a link in one direction; where nothing runs there, one of as many as are behind it."""
    (way, runs), most = of, link.rate_bps or 0
    found = runs.rate_at(way, node, most)
    rate = most / behind if found is None else found
    classes = {}
    for name, rule in rules.items():
        known = runs.part_of_class(way, node, name)
        own = rate / most if known is None else known
        ceiling = None if rule.ceiling_bps is None else max(1, rule.ceiling_bps * own)
        classes[name] = replace(rule, floor_bps=min(rule.floor_bps * own, rate), ceiling_bps=ceiling)
    return NodeLink(max(1, int(rate)), link.rest_percent, classes)
