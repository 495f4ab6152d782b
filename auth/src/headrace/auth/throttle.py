"""How often somebody may try: counted in memory, bounded, for one process."""

from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

MAX_KEYS: Final = 10_000


@dataclass(frozen=True, slots=True)
class Limit:
    """At most `attempts` failed or unfinished attempts within `window`."""

    attempts: int
    window: timedelta


class Throttle:
    """Counts attempts a key. An attempt counts before its answer is known, so that parallel guesses count, too.

    At most 10,000 keys are kept; the longest unused are forgotten first.
    """

    def __init__(self, max_keys: int = MAX_KEYS) -> None:
        """Begin with nothing counted."""
        self._attempts: OrderedDict[str, tuple[datetime, ...]] = OrderedDict()
        self._max_keys = max_keys

    def __len__(self) -> int:
        """How many keys are remembered."""
        return len(self._attempts)

    def attempt(self, limits: dict[str, Limit], now: datetime) -> timedelta | None:
        """Count one attempt against every key; when one is at its limit, count nothing and answer how long to wait."""
        recent = {
            key: tuple(moment for moment in self._attempts.get(key, ()) if moment > now - limit.window)
            for key, limit in limits.items()
        }
        waits = [
            recent[key][-limit.attempts] + limit.window - now
            for key, limit in limits.items()
            if len(recent[key]) >= limit.attempts
        ]
        if waits:
            return max(waits)
        for key, moments in recent.items():
            self._attempts[key] = (*moments, now)
            self._attempts.move_to_end(key)
        while len(self._attempts) > self._max_keys:
            self._attempts.popitem(last=False)
        return None

    def forget(self, key: str) -> None:
        """Start a key again, after a success."""
        self._attempts.pop(key, None)
