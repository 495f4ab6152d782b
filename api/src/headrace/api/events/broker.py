"""Wakes those who wait for a plan or transfer to change. It carries no data: woken, they read the store.

So nothing piles up behind a slow reader: however much happened meanwhile, it is one wake-up.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from headrace.api.errors import Code, ServiceError
from headrace.auth import Principal


class Broker:
    """Subscriptions by plan or transfer id."""

    def __init__(self, limit: int, limit_of_one: int, limit_of_token: int) -> None:
        """Allow at most `limit` subscriptions at the same time.

        Of the same person at most `limit_of_one`, of one of the person's tokens at most `limit_of_token`. One from a
        person's own session is always allowed.
        """
        self._limit = limit
        self._limit_of_one = limit_of_one
        self._limit_of_token = limit_of_token
        self._of_person: Counter[str] = Counter()
        self._of_credential: Counter[tuple[str, str | None]] = Counter()
        """By person and token; `None` stands for the person's own sessions."""
        self._subscribers: dict[str, set[asyncio.Event]] = {}
        self._count = 0
        self._told = 0
        self._closing = False

    @property
    def closing(self) -> bool:
        """Whether the service is shutting down, so that waits and watches should end."""
        return self._closing

    @property
    def told(self) -> int:
        """How often anything was told so far; whoever reads the store first gives it to `subscribe`."""
        return self._told

    def require_open(self) -> None:
        """Refuse to begin something new while the service is shutting down."""
        if self._closing:
            raise ServiceError(Code.SHUTTING_DOWN, "the service is shutting down; try again when it is back")

    @contextmanager
    def subscribe(
        self, *subjects: str, principal: Principal | None = None, told: int | None = None
    ) -> Iterator[asyncio.Event]:
        """Give an event that is set whenever one of `subjects` changes; clear it before reading the store.

        It is set at once when anything was told since the count was `told`. Raises `busy` when too many callers wait
        already, or too many of `principal` (`None`: the service itself).
        """
        person, token = (principal.id, principal.token) if principal else ("", None)
        if principal is not None:
            self._require_room(person, token)
        woken = asyncio.Event()
        if told not in {None, self._told}:
            woken.set()
        self._count += 1
        self._of_person[person] += 1
        self._of_credential[person, token] += 1
        for subject in subjects:
            self._subscribers.setdefault(subject, set()).add(woken)
        try:
            yield woken
        finally:
            self._count -= 1
            self._of_person[person] -= 1
            self._of_credential[person, token] -= 1
            if not self._of_person[person]:
                del self._of_person[person]
            if not self._of_credential[person, token]:
                del self._of_credential[person, token]
            for subject in subjects:
                others = self._subscribers[subject]
                others.discard(woken)
                if not others:
                    del self._subscribers[subject]

    def _require_room(self, person: str, token: str | None) -> None:
        own = self._of_credential[person, token]
        if token is None and not own:
            return  # whatever tokens and others hold, people in their own session see what happens
        if token is not None and own >= self._limit_of_token:
            message = f"this token waits for or watches {own} things already; end one, or try again later"
            raise ServiceError(Code.BUSY, message)
        if self._of_person[person] >= self._limit_of_one:
            raise ServiceError(
                Code.BUSY, f"you wait for or watch {self._limit_of_one} things already; end one, or try again later"
            )
        if self._count >= self._limit:
            raise ServiceError(Code.BUSY, f"{self._limit} callers wait or watch already; try again in a moment")

    def notify(self, subject: str) -> None:
        """Wake everybody who waits for `subject`."""
        self._told += 1
        for woken in self._subscribers.get(subject, ()):
            woken.set()

    def close(self) -> None:
        """Wake everybody; `closing` tells them to end."""
        self._closing = True
        for subject in list(self._subscribers):
            self.notify(subject)


def progress_of(transfer: str) -> str:
    """Return the subject of a transfer's progress, which is not kept; whoever waits for its end is not woken by it."""
    return f"{transfer} progress"


async def wait_for(woken: asyncio.Event, timeout_s: float | None) -> bool:
    """Wait for a wake-up at most `timeout_s` seconds (`None`: for as long as it takes); `False` when none came."""
    try:
        async with asyncio.timeout(timeout_s):
            await woken.wait()
    except TimeoutError:
        return False
    return True
