"""Nodes behind one link never take more than the link together, whoever is away and whatever is on its way to them."""

import random
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import pytest

from headrace.api.policy.grants import Grants
from headrace.api.policy.links import WAYS, Moving, Path, Way, divide
from headrace.client import models as m
from headrace.guardrails import TICKET_LIFETIME

NOW = datetime(2026, 11, 24, 12, tzinfo=UTC)
RATE = 900
KEYS = {"left": "L", "other": "O", "third": "T", "right": "R"}
UPLINK = m.QosDocument(
    links=[m.QosLink(name="uplink", rate_bps=RATE, nodes=["left", "other", "third"])], classes=[m.QosClass(name="bulk")]
)


class World:
    """A service and nodes that go by what they heard last, and take all of it."""

    def __init__(self) -> None:
        self.grants, self.now = Grants(), NOW
        self.here = {"L", "O", "T"}
        self.running: dict[str, tuple[str, Way]] = {}
        self.on_its_way: dict[str, list[dict[tuple[str, Way], int | None]]] = {node: [] for node in self.here}
        self.goes_by: dict[str, dict[tuple[str, Way], int | None]] = {}

    def begin(self, transfer: str, node: str, way: Way = "out") -> None:
        """Begin as the service does: its node has said that it knows its part."""
        self.running[transfer] = node, way
        self.reckon()
        self.hear(node)

    def reckon(self) -> None:
        moving = [
            Moving(name, "bulk", node, "R", Path(("uplink",)))
            if way == "out"
            else Moving(name, "bulk", "R", node, Path((), ("uplink",)))
            for name, (node, way) in self.running.items()
        ]
        limited = self.grants.limit(divide(UPLINK, KEYS, moving), self.here.__contains__, self.now)
        for node, links in limited.nodes.items():
            rates = {("uplink", way): links["uplink"].of(way).rate_bps for way in WAYS}
            last = self.on_its_way[node][-1] if self.on_its_way[node] else self.goes_by.get(node)
            if rates != last:
                self.grants.told(node, rates)
                self.on_its_way[node].append(rates)

    def hear(self, node: str) -> None:
        """Let what is on its way to a node arrive, if it is here, and the service hear of it."""
        while self.on_its_way[node] and node in self.here:
            self.goes_by[node] = self.on_its_way[node].pop(0)
            if not self.on_its_way[node]:
                self.grants.heard(node, self.goes_by[node])

    def hear_all(self) -> None:
        for _ in range(3):
            for node in "LOT":
                self.hear(node)
            self.reckon()

    def taken(self, way: Way = "out") -> int:
        busy = {node for node, of in self.running.values() if of == way}
        return sum(self.goes_by[node]["uplink", way] or 0 for node in busy if node in self.goes_by)

    def rates(self, nodes: Iterable[str], way: Way = "out") -> list[int | None]:
        return [self.goes_by[node]["uplink", way] for node in nodes]


def test_who_begins_gets_what_others_have_given_up_and_not_before_they_said_so() -> None:
    world = World()
    world.begin("a", "L")
    assert world.rates("L") == [RATE]
    world.begin("b", "O")
    assert world.rates("LO") == [RATE, 1]
    world.hear("L")
    world.reckon()
    world.hear("O")
    assert world.rates("LO") == [450, 450]


def test_what_a_node_that_is_away_may_still_use_is_kept_for_it_until_its_last_ticket_is_over() -> None:
    world = World()
    world.begin("a", "L")
    world.here.discard("L")
    world.begin("b", "O")
    world.hear_all()
    assert world.rates("O") == [1]
    # The service gave its attempt up; nobody knows whether it has heard of that.
    del world.running["a"]
    world.now += TICKET_LIFETIME - timedelta(seconds=1)
    world.hear_all()
    assert world.rates("O") == [1]
    world.now += timedelta(seconds=1)
    world.hear_all()
    assert world.rates("O") == [RATE]


def test_a_node_that_is_here_and_runs_nothing_keeps_nothing() -> None:
    world = World()
    world.begin("a", "L")
    del world.running["a"]
    world.begin("b", "O")
    assert world.rates("O") == [RATE]


def test_each_direction_has_the_whole_link() -> None:
    world = World()
    world.begin("a", "L", "out")
    world.begin("b", "O", "in")
    world.hear_all()
    assert (world.rates("L", "out"), world.rates("O", "in")) == ([RATE], [RATE])


@pytest.mark.parametrize("seed", range(20))
def test_together_they_never_take_more_than_the_link_and_have_all_of_it_once_everybody_has_heard(seed: int) -> None:
    dice, world = random.Random(seed), World()  # noqa: S311 - no secret
    for step in range(120):
        node = dice.choice("LOT")
        match dice.randrange(6):
            case 0 if node in world.here:
                world.begin(f"t{step}", node, dice.choice(WAYS))
            case 1 if world.running:
                name = dice.choice(sorted(world.running))
                if world.running[name][0] in world.here:
                    del world.running[name]
            case 2:
                world.here.symmetric_difference_update({node})
            case 3:
                world.now += timedelta(seconds=dice.randrange(20))
            case _:
                world.hear(node)
        world.reckon()
        for way in WAYS:
            assert world.taken(way) <= RATE + 3, (step, way)
    world.here = {"L", "O", "T"}
    for name in ("x", "y"):
        world.begin(name, "L" if name == "x" else "O")
    world.hear_all()
    assert RATE - 3 <= world.taken() <= RATE
