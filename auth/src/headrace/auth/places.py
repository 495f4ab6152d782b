"""From which networks people have signed in: guesses from elsewhere do not shut them out of there."""

from collections.abc import Callable
from datetime import datetime
from typing import Final

from headrace.auth.secret_forms import Pepper
from headrace.auth.store import PeopleStore

MAX_PLACES: Final = 10_000
"""Pairs of a person and a network; the longest unused are forgotten first."""
MAX_OF_ONE: Final = 100
"""Of these, of one person: whoever signs in from everywhere pushes out their own."""


class Places:
    """Knows a person's networks again, after a restart too. The store holds keyed hashes, no addresses."""

    def __init__(self, store: PeopleStore, pepper: Pepper, clock: Callable[[], datetime]) -> None:
        """`clock` answers aware UTC times."""
        self._store = store
        self._pepper = pepper
        self._clock = clock

    async def known(self, who: str, network: str) -> bool:
        """Whether this person has signed in from this network."""
        return await self._store.has_place(*self._pepper.hashes(_place(who, network)))

    async def keep(self, who: str, network: str, person: str) -> None:
        """Note that a person (an id), who may have several names, has signed in as `who` from this network."""
        hashed = self._pepper.hash(_place(who, network))
        await self._store.keep_place(hashed, person, self._clock(), of_one=MAX_OF_ONE, of_all=MAX_PLACES)


def _place(who: str, network: str) -> str:
    """Join both so that no other pair gives the same: no network holds a blank."""
    return f"place:{network} {who}"
