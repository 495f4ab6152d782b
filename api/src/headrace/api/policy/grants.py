"""What nodes may be using of a link that several stand behind: nobody gets what another may still use.

A node takes what it was told last, also while nobody reaches it. So what another node gave up counts as free when that
one has said that it goes by less, when it is known to run nothing there, or when the last ticket that it can have is
over.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Final

from headrace.api.policy.links import At, Divided, Way
from headrace.guardrails import TICKET_LIFETIME

_LEAST_BPS: Final = 1
Rates = Mapping[tuple[str, Way], int | None]
"""What a node was told: by link and direction."""


class Grants:
    """Who may be using how much."""

    def __init__(self) -> None:
        """Begin without knowing of anybody: who runs something then counts with what is due to it now."""
        self._held: dict[At, float] = {}
        self._ran: dict[At, datetime] = {}
        self._busy: frozenset[At] | None = None
        self.is_short = False
        """Whether somebody gets less than its part, because others may still use that."""

    def told(self, node: str, rates: Rates) -> None:
        """Note what a node is about to be told: it may hear that at any time, and go by what it knew until then."""
        for (link, way), rate in rates.items():
            if rate is not None:
                self._held[node, link, way] = max(rate, self._held.get((node, link, way), 0))

    def heard(self, node: str, rates: Rates) -> None:
        """Note that a node has said that it goes by this, while nothing else was on its way to it."""
        for (link, way), rate in rates.items():
            if rate is not None:
                self._held[node, link, way] = rate

    def limit(self, divided: Divided, is_here: Callable[[str], bool], now: datetime) -> Divided:
        """Return what nodes can be told now, so that together they never take more than a link has."""
        before = divided.busy if self._busy is None else self._busy
        for at in divided.busy:
            if is_here(at[0]) or at not in (self._busy or ()):
                self._ran[at] = now
        self._ran = {at: ran for at, ran in self._ran.items() if now < ran + TICKET_LIFETIME}
        self.is_short = False
        nodes = {node: dict(links) for node, links in divided.nodes.items()}
        for (link, way), rate in divided.shared.items():
            parts = {at[0]: divided.rate_of(at) for at in divided.busy if at[1:] == (link, way)}
            used = {
                at[0]: self._held.get(at, parts.get(at[0], 0.0))
                for at in self._ran
                if at[1:] == (link, way) and (at in before if at in divided.busy else not is_here(at[0]))
            }
            for node, granted in self._grant(rate, parts, used).items():
                nodes[node][link] = nodes[node][link].limited(way, granted)
        self._busy = divided.busy
        return replace(divided, nodes=nodes)

    def _grant(self, rate: int, parts: Mapping[str, float], used: Mapping[str, float]) -> dict[str, int]:
        """Return what each node gets of its part: all of what is less than it uses, else what nobody uses."""
        free = max(0.0, rate - sum(used.values()))
        granted = {}
        for node, part in sorted(parts.items()):
            have = used.get(node, 0.0)
            more = min(part - have, free)
            free -= max(0.0, more)
            granted[node] = max(_LEAST_BPS, int(have + more))
            self.is_short |= granted[node] < int(part)
        return granted
