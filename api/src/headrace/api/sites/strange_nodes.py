"""Who wanted to attach as a node and is none of this site's: kept in memory, the newest of each reason."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from headrace.api.clock import Clock

SHOWN = timedelta(minutes=10)
"""How long after the last time it is told."""
_MOST = 16
"""Reasons that are kept; there are fewer codes of refusals."""


@dataclass(frozen=True, slots=True)
class StrangeNode:
    """Who was refused, from where and why."""

    key: str
    """Empty when it broke off before it showed one."""
    address: str
    reason: str
    name: str = ""
    """Of a node that was revoked."""

    def __str__(self) -> str:
        """Say it as people see it."""
        who = f"the revoked node `{self.name}`" if self.name else f"a node with the key `{self.key}`"
        who = who if self.key else "a node that showed no key"
        return f"{who}{at(self.address)} can't attach: it is refused, because {self.reason}"


@dataclass(frozen=True, slots=True)
class _Seen:
    node: StrangeNode
    since: datetime
    last: datetime


class StrangeNodes:
    """Remembers them for the health. Anybody can make keys: a reason has one place, whoever comes with it."""

    def __init__(self, clock: Clock) -> None:
        """Begin with none."""
        self._clock = clock
        self._of_code: dict[str, _Seen] = {}

    def note(self, code: str, node: StrangeNode) -> None:
        """Take a refusal of a key that never joined, or of a node that was revoked."""
        now, before = self._clock(), self._of_code.pop(code, None)
        since = before.since if before is not None and now - before.last < SHOWN else now
        if len(self._of_code) < _MOST:
            self._of_code[code] = _Seen(node, since, now)

    def forget(self, key: str) -> None:
        """Forget this key, which has attached."""
        for code, seen in list(self._of_code.items()):
            if seen.node.key == key:
                del self._of_code[code]

    def recent(self) -> list[tuple[StrangeNode, datetime]]:
        """Return those of the last ten minutes, each with since when its reason comes up."""
        now = self._clock()
        return [(seen.node, seen.since) for seen in self._of_code.values() if now - seen.last < SHOWN]


def at(address: str) -> str:
    """Say where a node is; nothing of one in this process."""
    return f" at `{address}`" if address else ""
