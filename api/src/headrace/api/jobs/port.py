"""The port `Jobs`: idempotent work, deferred in the transaction of the change that asks for it.

What an implementation promises (docs/decisions/0021-jobs-stay-with-the-lock.md says why there is one, on both stores):

* A job is a task and a subject, its key. At most one waits and at most one runs for a key.
  Deferring one that waits makes it due at the earlier time; deferring one that runs lets it run once more afterwards.
* At least once: a job is gone only when its handler has returned. What a worker that died had begun runs again.
* A handler that fails, or takes longer than its limit, is tried again, later and later, for ever: what can't succeed
  is the handler's to say, in the store.

One suite holds every implementation: tests/conformance/jobs_conformance.py.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from headrace.api.store import Tx

Handler = Callable[[str], Awaitable[datetime | None]]
"""Works on a subject. Returns when it wants to look at it again, or nothing when the job is done."""


@dataclass(frozen=True, slots=True)
class Task:
    """A kind of job: how many run at the same time, how long one may take, and how failures are tried again."""

    name: str
    run: Handler
    at_once: int = 16
    limit_s: float | None = 120
    retry_s: float = 0.5
    """First wait after a failure; doubles each time."""
    max_retry_s: float = 30


class Jobs(Protocol):
    """Runs jobs."""

    def add(self, task: Task) -> None:
        """Make a task known; before `start`."""
        ...

    def every(
        self, name: str, period_s: float, run: Callable[[], Awaitable[None]], *, limit_s: float | None = 120
    ) -> None:
        """Do `run` at the start and then every `period_s` seconds, never twice at the same time; before `start`.

        `limit_s` is for one run; `None` for work that has limits of its own and grows with the site.
        """
        ...

    async def defer(self, tx: Tx, task: str, subject: str, *, at: datetime | None = None) -> None:
        """Ask for a job in `tx`: it exists if and only if `tx` is committed. Due at once, or at `at`."""
        ...

    async def done(self, tx: Tx, task: str, subject: str) -> None:
        """Let the running job end with `tx`, unless it is asked for once more: its handler saves a write so."""
        ...

    def wake(self, task: str, subject: str) -> None:
        """Run a job now: a hint that a stopped process forgets."""
        ...

    async def start(self) -> None:
        """Take up what is stored, and begin the periodic duties."""
        ...

    async def close(self) -> None:
        """Stop working; what is stored is taken up by the next start."""
        ...

    @property
    def troubles(self) -> Mapping[str, "JobTrouble"]:
        """What failed when it was last tried, by `task subject`, at most 100."""
        ...


@dataclass(frozen=True, slots=True)
class JobTrouble:
    """A job that failed when it was last tried."""

    task: str
    subject: str
    said: str
    """The error of the last try."""
    since: datetime
    """When the first of these tries failed."""
    failures: int
    """How many tries in a row have failed."""
