"""Jobs in this process, over the table `jobs`.

A row is the promise that a job runs; who runs it is known in memory only, because one process works on a store. So a
claim dies with its process, and the next start runs every row that is left. A job that ends deletes its row if nobody
asked for it again meanwhile (`generation`).
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from sqlalchemy import bindparam, delete, select
from sqlalchemy.exc import SQLAlchemyError

from headrace.api.clock import Clock
from headrace.api.durable import place_in_words
from headrace.api.jobs.port import JobTrouble, Task
from headrace.api.store import Database, Tx, after_commit
from headrace.api.store.base import Base
from headrace.api.store.dialects import insert, least
from headrace.api.store.tables_work import JobRow
from headrace.api.store.words import trouble_in_words
from headrace.api.store_trouble import log_trouble, trouble_of

_log = logging.getLogger(__name__)

_LONGEST_SLEEP_S = 30
"""A clock that is set forward is noticed after at most this time."""
_MAX_DOUBLINGS = 16
_MAX_TROUBLES = 100

Key = tuple[str, str]


_TABLE = Base.metadata.tables[JobRow.__tablename__]
_ROW = _TABLE.c
_ASKED = insert(_TABLE)
_ASK = _ASKED.on_conflict_do_update(
    index_elements=[_ROW.task, _ROW.subject],
    set_={"due": least(_ROW.due, _ASKED.excluded.due), "generation": _ROW.generation + 1},
).returning(_ROW.generation, _ROW.due)
_REMOVE = delete(_TABLE).where(
    _ROW.task == bindparam("of_task"),
    _ROW.subject == bindparam("of_subject"),
    _ROW.generation == bindparam("of_generation"),
)


@dataclass(slots=True)
class _Job:
    """What is known of one key: at most one timer or one run."""

    key: Key
    generation: int = 0
    """Of the stored row as far as it is known; 0 when there is none."""
    running: asyncio.Task[None] | None = None
    waits_for_room: bool = False
    again: bool = False
    due: datetime | None = None
    by: float | None = None
    """When the wait for `due` is over by the loop's own clock, which nobody sets back."""
    timer: asyncio.TimerHandle | None = None
    failures: int = 0


@dataclass(slots=True)
class _Room:
    """How many jobs of one task run, and which wait for one of them to end."""

    task: Task
    running: int = 0
    waiting: deque[_Job] = field(default_factory=deque)


class LocalJobs:
    """The port `Jobs` for one process."""

    def __init__(self, database: Database, clock: Clock) -> None:
        """Keep jobs in `database`."""
        self._database = database
        self._clock = clock
        self._rooms: dict[str, _Room] = {}
        self._jobs: dict[Key, _Job] = {}
        self._duties: list[str] = []
        self._open = False
        self._troubles: dict[str, JobTrouble] = {}

    @property
    def troubles(self) -> Mapping[str, JobTrouble]:
        """As in the port."""
        return self._troubles

    def add(self, task: Task) -> None:
        """As in the port."""
        self._rooms[task.name] = _Room(task)

    def every(
        self, name: str, period_s: float, run: Callable[[], Awaitable[None]], *, limit_s: float | None = 120
    ) -> None:
        """As in the port."""

        async def duty(_subject: str) -> datetime:
            await run()
            return self._clock() + timedelta(seconds=period_s)

        self.add(Task(name, duty, limit_s=limit_s))
        self._duties.append(name)

    async def defer(self, tx: Tx, task: str, subject: str, *, at: datetime | None = None) -> None:
        """As in the port."""
        due = at or self._clock()
        asked = {"task": task, "subject": subject, "due": due, "generation": 1}
        row = (await tx.execute(_ASK, asked)).one()

        def committed() -> None:
            job = self._job((task, subject))
            job.generation = row.generation
            self._look(job, None if at is None else row.due)

        after_commit(tx, committed)

    async def done(self, tx: Tx, task: str, subject: str) -> None:
        """As in the port."""
        job = self._jobs.get((task, subject))
        if job is None or not job.generation:
            return
        generation = job.generation
        await tx.execute(_REMOVE, _removal(job.key, generation))

        def committed() -> None:
            if job.generation == generation:
                job.generation = 0

        after_commit(tx, committed)

    def wake(self, task: str, subject: str) -> None:
        """As in the port."""
        self._look(self._job((task, subject)), None)

    async def start(self) -> None:
        """As in the port."""
        self._open = True
        async with self._database.read() as tx:
            rows = list(await tx.execute(select(JobRow.task, JobRow.subject, JobRow.due, JobRow.generation)))
        for row in rows:
            if row.task not in self._rooms:
                _log.error("a job of the unknown task %s is left alone", row.task)
                continue
            job = self._job((row.task, row.subject))
            job.generation = row.generation
            self._look(job, row.due)
        for name in self._duties:
            self.wake(name, "")
        for job in list(self._jobs.values()):
            if job.running is None and job.timer is None and not job.waits_for_room:
                self._look(job, job.due)

    async def close(self) -> None:
        """As in the port."""
        self._open = False
        running = [job.running for job in self._jobs.values() if job.running is not None]
        for job in self._jobs.values():
            if job.timer is not None:
                job.timer.cancel()
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        self._jobs.clear()

    # -- one job --

    def _job(self, key: Key) -> _Job:
        return self._jobs.setdefault(key, _Job(key))

    def _look(self, job: _Job, due: datetime | None) -> None:
        """Let a job run at `due` (`None`: now), once more if it runs already."""
        if job.running is not None:
            job.again = True
        elif not job.waits_for_room:
            job.due = due if job.due is None or due is None else min(job.due, due)
            job.by = None
            self._set_timer(job)

    def _set_timer(self, job: _Job) -> None:
        if job.timer is not None:
            job.timer.cancel()
            job.timer = None
        if not self._open:
            return
        loop = asyncio.get_running_loop()
        wait_s = 0.0 if job.due is None else (job.due - self._clock()) / timedelta(seconds=1)
        job.by = loop.time() + wait_s if job.by is None else job.by
        wait_s = min(wait_s, job.by - loop.time())
        if wait_s <= 0:
            self._begin(job)
        else:
            job.timer = loop.call_later(min(wait_s, _LONGEST_SLEEP_S), self._set_timer, job)

    def _begin(self, job: _Job) -> None:
        room = self._rooms[job.key[0]]
        if room.running >= room.task.at_once:
            job.waits_for_room = True
            room.waiting.append(job)
            return
        room.running += 1
        job.waits_for_room, job.again, job.due, job.by = False, False, None, None
        job.running = asyncio.create_task(self._run(job, room), name=" ".join(job.key))

    async def _run(self, job: _Job, room: _Room) -> None:
        look_at: datetime | None = None
        try:
            look_at = await self._work(job, room.task)
        finally:
            job.running = None
            room.running -= 1
            if self._open:
                if job.again:
                    self._look(job, None)
                elif look_at is not None:
                    self._look(job, look_at)
                else:
                    del self._jobs[job.key]
                if room.waiting:
                    self._begin(room.waiting.popleft())

    async def _work(self, job: _Job, task: Task) -> datetime | None:
        """Run the handler and remove the row of a job that is done; returns when to look again."""
        generation = job.generation
        try:
            async with asyncio.timeout(task.limit_s):
                look_at = await task.run(job.key[1])
                if look_at is None and generation and job.generation == generation:
                    await self._remove(job, generation)
        except (Exception, TimeoutError) as error:  # noqa: BLE001 - the job's boundary: logged whole, and tried again
            name, subject = job.key
            about = f" for `{subject}`" if subject else ""
            log_trouble(_log, f"the work `{name}`{about} failed; it is tried again", error)
            wait_s = min(task.max_retry_s, task.retry_s * 2 ** min(job.failures, _MAX_DOUBLINGS))
            job.failures += 1
            self._note(job, error)
            return self._clock() + timedelta(seconds=wait_s)
        job.failures = 0
        self._troubles.pop(" ".join(job.key), None)
        return look_at

    async def _remove(self, job: _Job, generation: int) -> None:
        async with self._database.write() as tx:
            await tx.execute(_REMOVE, _removal(job.key, generation))
        if job.generation == generation:
            job.generation = 0

    def _note(self, job: _Job, error: Exception) -> None:
        name = " ".join(job.key)
        before = self._troubles.get(name)
        if before is not None or len(self._troubles) < _MAX_TROUBLES:
            if isinstance(error, SQLAlchemyError):
                # What a database says may hold values; what is the matter is enough here, and the log has the rest.
                said = trouble_in_words(self._database.url, trouble_of(error))
            else:
                said = place_in_words(error) if isinstance(error, OSError) else str(error)
            since = before.since if before is not None else self._clock()
            self._troubles[name] = JobTrouble(*job.key, said or type(error).__name__, since, job.failures)


def _removal(key: Key, generation: int) -> dict[str, str | int]:
    return {"of_task": key[0], "of_subject": key[1], "of_generation": generation}
