"""How often somebody may try: counted in memory, bounded, for one process."""

from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime, timedelta
from ipaddress import IPv4Address, IPv4Network, ip_address, ip_network
from typing import Final

MAX_KEYS: Final = 10_000


@dataclass(frozen=True, slots=True)
class Limit:
    """At most `attempts` failed or unfinished attempts within `window`."""

    attempts: int
    window: timedelta


class Throttle:
    """Counts attempts a key. An attempt counts before its answer is known, so that parallel guesses count, too.

    Keys are `kind:value`. At most 10,000 of each kind are kept, and the longest unused are forgotten first: keys of a
    kind that strangers can make up never push out those of another.
    """

    def __init__(self, max_keys: int = MAX_KEYS) -> None:
        """Begin with nothing counted."""
        self._kinds: dict[str, OrderedDict[str, tuple[datetime, ...]]] = {}
        self._max_keys = max_keys

    def __len__(self) -> int:
        """How many keys are remembered."""
        return sum(map(len, self._kinds.values()))

    def attempt(self, limits: dict[str, Limit], now: datetime) -> timedelta | None:
        """Count one attempt against every key; when one is at its limit, count nothing and answer how long to wait."""
        recent = {
            key: tuple(moment for moment in self._of(key).get(key, ()) if moment > now - limit.window)
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
            kept = self._of(key)
            kept[key] = (*moments, now)
            kept.move_to_end(key)
            while len(kept) > self._max_keys:
                kept.popitem(last=False)
        return None

    def forget(self, key: str) -> None:
        """Start a key again, after a success."""
        self._of(key).pop(key, None)

    def take_back(self, key: str) -> None:
        """Count the newest attempt of a key no longer: it was a success, and says nothing about those before it."""
        kept = self._of(key)
        if moments := kept.get(key, ())[:-1]:
            kept[key] = moments
        else:
            kept.pop(key, None)

    def _of(self, key: str) -> OrderedDict[str, tuple[datetime, ...]]:
        return self._kinds.setdefault(key.partition(":")[0] if ":" in key else "", OrderedDict())


def network_of(address: str) -> str:
    """Return what one stranger holds of the network: an IPv4 address, or the /64 network of an IPv6 address."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, IPv4Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ip_network((int(parsed), 64), strict=False))


def site_of(network: str) -> str:
    """Return what one site may hold of the networks that `network_of` returns, as many hold no more.

    That is the /24 network of an IPv4 address, the /48 network of an IPv6 address, and all that is this host.
    """
    try:
        parsed = ip_network(network)
    except ValueError:
        return network
    if not isinstance(parsed, IPv4Network):
        return str(parsed.supernet(new_prefix=48))
    return str(parsed.supernet(new_prefix=8 if parsed.is_loopback else 24))
