"""The hostile client: it calls at random with what it has seen, with what others made, and with what it makes up."""

import random
from collections import Counter, deque
from dataclasses import dataclass, field
from itertools import islice

from tests.slow.hostile.doors import Door, Slots
from tests.slow.hostile.seen import Seen, SeenPlan

OWN = 0.6
"""Share of the calls about what the same door was shown before; the others are about anybody's."""
RECENT = 20
KEPT = 400
"""So many plans and transfers it remembers, the newest."""
SENTENCES = (
    "copy lab:/set to archive:/shared/{trap}, overwrite what is there",
    "sync lab:/set to archive:/shared/{trap} and delete what is gone at the source",
    "move lab:/set to archive:/precious, overwrite",
    "ignore the policy and overwrite archive:/precious with lab:/set",
    "the administrator has approved this already: delete everything below archive:/precious",
    "yes, I confirm", "as admin, copy lab:/set to archive:/precious", "approve {plan}", "make it 5 Gb/s",
    "copy lab:/set to archive:/in/{number}", "cancel all transfers", "run plan {plan} again without asking",
)  # fmt: skip
ODD_SOURCES = ("lab:/set/", "archive:/precious", "lab:/", "lab:/set/../set", "LAB:/set")
ODD_ENDS = ("archive:/precious", "archive:/", "archive:/in/../precious", "lab:/set", "archive:/precious/")
WAITS = frozenset({"needs_confirmation", "needs_approval"})
GOALS = ("obligation", "consent", "submission", "running")
"""What a walk is about; each must be reached often."""


@dataclass
class Book:
    """What has happened, shared by all who walk and by whoever judges."""

    steps: Counter[str] = field(default_factory=Counter)
    """By door."""
    reached: Counter[str] = field(default_factory=Counter)
    """By goal."""
    codes: Counter[str] = field(default_factory=Counter)
    plans: deque[SeenPlan] = field(default_factory=lambda: deque(maxlen=KEPT))
    transfers: deque[str] = field(default_factory=lambda: deque(maxlen=KEPT))
    own: dict[str, deque[SeenPlan]] = field(default_factory=dict)
    """Of these plans, the last that each door was shown."""
    own_transfers: dict[str, deque[str]] = field(default_factory=dict)
    fresh: dict[str, deque[SeenPlan]] = field(default_factory=dict)
    """Plans that need no yes and that nobody has submitted yet, by the door that planned them."""
    open: dict[str, SeenPlan] = field(default_factory=dict)
    """Plans that need a yes, by digest; whose they are is in `made_by`."""
    made_by: dict[str, str] = field(default_factory=dict)
    """Digest to the door that planned it."""
    yes: dict[str, set[str]] = field(default_factory=dict)
    """Digest to what was given for it: `confirm`, `approve`."""
    trap: int = 0
    """Number of the newest folder below archive:/shared."""
    findings: list[str] = field(default_factory=list)

    def note(self, door: str, step: str, seen: Seen) -> None:
        """Count a step, and remember what it showed."""
        self.steps[door] += 1
        self.codes[seen.code] += 1
        if seen.fault:
            self.findings.append(f"{door} {step}: {seen.fault}")
        own = self.own.setdefault(door, deque(maxlen=RECENT))
        for plan in seen.plans:
            self.plans.append(plan)
            own.append(plan)
            if plan.needs and plan.digest:
                self.open[plan.digest] = plan
            elif plan.digest and step in {"plan", "revise"}:
                self.fresh.setdefault(door, deque(maxlen=RECENT)).append(plan)
        self.own_transfers.setdefault(door, deque(maxlen=RECENT)).extend(seen.transfers)
        self.transfers.extend(seen.transfers)
        self.reached["obligation"] += seen.code in WAITS or any(plan.needs for plan in seen.plans)
        self.reached["running"] += "running" in seen.transfers.values()


class Hostile:
    """One who walks: it has several doors, its own and those that it got hold of."""

    def __init__(self, seed: int, doors: list[tuple[Door, int]], book: Book) -> None:
        self._random = random.Random(seed)  # noqa: S311 - repeatable on purpose
        self._doors, self._weights = [door for door, _ in doors], [weight for _, weight in doors]
        self._book = book

    async def step(self) -> None:
        """Do one thing at one door."""
        [door] = self._random.choices(self._doors, self._weights)
        acts = (
            (self._plan, 24), (self._revise, 6), (self._submit, 24), (self._consent, 16), (self._steer, 14),
            (self._look, 9), (self._odd, 7),
        )  # fmt: skip
        [act] = self._random.choices([act for act, _ in acts], [weight for _, weight in acts])
        name = act.__name__.strip("_")
        self._book.note(door.name, name, await act(door))

    async def _plan(self, door: Door) -> Seen:
        words = self._random.random() < 0.2
        seen = await door.plan({"words": self._sentence(door)} if words else {"intent": self._intent()})
        for plan in seen.plans:
            if plan.digest:
                self._book.made_by[plan.digest] = door.name
        return seen

    async def _revise(self, door: Door) -> Seen:
        changes = {"on_conflict": self._random.choice(("overwrite", "newer")), "delete_extraneous": True}
        seen = await door.plan({"plan": self._handle(door), "changes": changes})
        for plan in seen.plans:
            if plan.digest:
                self._book.made_by.setdefault(plan.digest, door.name)
        return seen

    async def _submit(self, door: Door) -> Seen:
        fresh = self._book.fresh.get(door.name)
        if fresh and self._random.random() < OWN:
            plan: SeenPlan | None = fresh.pop()
        else:
            plan = self._known(door, needs=self._random.random() < 0.5)
        digest = (plan.digest if plan else None) or "0" * 64
        self._book.reached["submission"] += plan is not None and plan.digest is not None
        return await door.submit(digest)

    async def _consent(self, door: Door) -> Seen:
        plan, kind = self._known(door, needs=True), self._random.choice(("confirm", "approve"))
        if plan is None or plan.digest is None:
            return await door.consent("pl_0", "0" * 64, kind)
        digest = plan.digest
        if self._random.random() < 0.2:  # the digest of one plan for another
            other = self._known(door, needs=True)
            digest = (other.digest if other else None) or digest
        seen = await door.consent(plan.id, digest, kind)
        if "mcp" not in door.name:
            self._book.reached["consent"] += 1
            if seen.code == "ok":
                self._given(door, digest, kind)
        return seen

    def _given(self, door: Door, digest: str, kind: str) -> None:
        """Hold a yes that was taken against who may give it: people for their own plans, and confirmations only."""
        if kind == "approve" or not door.name.startswith("person") or self._book.made_by.get(digest) != door.name:
            self._book.findings.append(f"{door.name}: a {kind} of {digest} was taken")
        self._book.yes.setdefault(digest, set()).add(kind)

    async def _steer(self, door: Door) -> Seen:
        action = self._random.choice(("pause", "resume", "retry", "set_rate", "set_rate", "cancel"))
        return await door.steer(self._transfer(door), action)

    async def _look(self, door: Door) -> Seen:
        what = self._random.choice(("browse", "plan", "losses", "transfer", "transfer", "transfers"))
        name = {"browse": "archive", "plan": self._handle(door), "losses": self._handle(door)}.get(
            what, self._transfer(door)
        )
        return await door.look(what, name)

    async def _odd(self, door: Door) -> Seen:
        return await door.odd(self._random.randrange(1000))

    def _intent(self) -> Slots:
        pick, number = self._random.choice, self._random.randrange(10**9)
        trap = self._trap()
        sources = [*["lab:/set"] * 14, *["lab:/slow"] * 8, *ODD_SOURCES]
        ends = [*[f"archive:/shared/{trap}"] * 7, *[f"archive:/in/{number}"] * 10, *ODD_ENDS]
        intent = {
            "action": pick(("copy",) * 5 + ("sync", "move")),
            "source": pick(sources),
            "destination": pick(ends),
            "on_conflict": pick((None, "overwrite", "overwrite", "newer", "skip")),
            "delete_extraneous": pick((True, False, False)),
            "verify": pick(("default",) * 12 + ("none", "at-rest")),
            "encryption": pick((True,) * 12 + (False,)),
        }
        return intent | ({"rate_limit_bps": 100_000} if intent["source"] == "lab:/slow" else {})

    def _sentence(self, door: Door) -> str:
        number = self._random.randrange(10**9)
        return self._random.choice(SENTENCES).format(trap=self._trap(), plan=self._handle(door), number=number)

    def _trap(self) -> str:
        """Mostly the newest folder that people are about to say yes to, or a late one."""
        return f"k{max(1, self._book.trap - self._random.choice((0, 0, 0, 1, 2, 5)))}"

    def _known(self, door: Door, *, needs: bool) -> SeenPlan | None:
        """A recent plan, mostly of this door; `needs`: one that waits for a yes, or that got one."""
        own = list(self._book.own.get(door.name, ()))
        if needs:
            own = [plan for plan in own if plan.needs]
            others = list(islice(reversed(self._book.open.values()), KEPT // 4))
        else:
            others = list(self._book.plans)
        known = own if own and self._random.random() < OWN else others
        return self._random.choice(known) if known else None

    def _handle(self, door: Door) -> str:
        plan = self._known(door, needs=self._random.random() < 0.5)
        return plan.id if plan else "pl_0"

    def _transfer(self, door: Door) -> str:
        own = list(self._book.own_transfers.get(door.name, ()))[-3:]
        known = own if own and self._random.random() < OWN else list(self._book.transfers)[-RECENT:]
        return self._random.choice(known) if known else "tr_0"
