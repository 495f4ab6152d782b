"""What every implementation of the port `Jobs` does. Run each of `CHECKS` with a maker of workers on one empty store:

@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_the_jobs_conform(check: Check, ...) -> None:
    await check(bench)
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from datetime import datetime, timedelta

import pytest

from headrace.api.jobs.port import Jobs, Task
from headrace.api.store import Tx

LIMIT_S = 20
RETRY_S = 0.01


class Bench(ABC):
    """One store, and workers on it, one after the other."""

    @abstractmethod
    def worker(self) -> Jobs:
        """Make a worker that was not started yet."""

    @abstractmethod
    async def kill(self, worker: Jobs) -> None:
        """Let a worker vanish as with `kill -9`: nothing more is written by it."""

    @abstractmethod
    def write(self) -> AbstractAsyncContextManager[Tx]:
        """Give a writing transaction."""

    @abstractmethod
    def now(self) -> datetime:
        """Tell the time."""

    async def defer(self, worker: Jobs, subject: str = "a", *, at: datetime | None = None) -> None:
        async with self.write() as tx:
            await worker.defer(tx, "work", subject, at=at)


Check = Callable[[Bench], Awaitable[None]]


class Work:
    """A handler that tells what it did, and does what its test says."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.ended: list[str] = []
        self.most = 0
        self.gate = asyncio.Event()
        self.gate.set()
        self.fails = 0
        self.answer: datetime | None = None
        self.changed = asyncio.Condition()

    async def __call__(self, subject: str) -> datetime | None:
        self.begun.append(subject)
        self.most = max(self.most, len(self.begun) - len(self.ended))
        await self._tell()
        try:
            await self.gate.wait()
            if self.fails:
                self.fails -= 1
                raise RuntimeError
        finally:
            self.ended.append(subject)
        await self._tell()
        return self.answer

    async def _tell(self) -> None:
        async with self.changed:
            self.changed.notify_all()

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(LIMIT_S), self.changed:
            await self.changed.wait_for(holds)


async def started(bench: Bench, work: Work, *, at_once: int = 4, limit_s: float = LIMIT_S) -> Jobs:
    worker = bench.worker()
    worker.add(Task("work", work, at_once=at_once, limit_s=limit_s, retry_s=RETRY_S))
    await worker.start()
    return worker


async def marked(bench: Bench, worker: Jobs, work: Work) -> None:
    """Let another job pass: what was due before it has run by then."""
    await bench.defer(worker, "mark")
    await work.until(lambda: "mark" in work.ended)


async def a_job_exists_only_if_its_transaction_is_committed(bench: Bench) -> None:
    work = Work()
    worker = await started(bench, work)

    async def undone() -> None:
        async with bench.write() as tx:
            await worker.defer(tx, "work", "a")
            raise LookupError

    with pytest.raises(LookupError):
        await undone()
    await marked(bench, worker, work)
    assert work.begun == ["mark"]


async def a_job_runs_and_is_gone_for_the_next_worker(bench: Bench) -> None:
    work = Work()
    worker = await started(bench, work)
    await bench.defer(worker)
    await work.until(lambda: work.ended == ["a"])
    await marked(bench, worker, work)
    await worker.close()
    later = Work()
    await marked(bench, await started(bench, later), later)
    assert later.begun == ["mark"]


async def a_job_ends_with_its_own_transaction(bench: Bench) -> None:
    worker = bench.worker()
    work = Work()

    async def run(subject: str) -> None:
        async with bench.write() as tx:
            await worker.done(tx, "work", subject)
        work.gate.clear()
        await work(subject)

    worker.add(Task("work", run))
    await worker.start()
    await bench.defer(worker)
    await work.until(lambda: work.begun == ["a"])
    await bench.kill(worker)
    later = Work()
    await marked(bench, await started(bench, later), later)
    assert later.begun == ["mark"]


async def a_job_that_waits_is_not_doubled(bench: Bench) -> None:
    work = Work()
    worker = await started(bench, work, at_once=1)
    work.gate.clear()
    await bench.defer(worker, "first")
    await work.until(lambda: work.begun == ["first"])
    await bench.defer(worker)
    await bench.defer(worker)
    work.gate.set()
    await marked(bench, worker, work)
    assert work.ended == ["first", "a", "mark"]


async def a_job_asked_for_while_it_runs_runs_once_more_and_never_twice_at_a_time(bench: Bench) -> None:
    work = Work()
    worker = await started(bench, work)
    work.gate.clear()
    await bench.defer(worker)
    await work.until(lambda: work.begun == ["a"])
    await bench.defer(worker)
    await bench.defer(worker)
    worker.wake("work", "a")
    work.gate.set()
    await work.until(lambda: work.ended == ["a", "a"])
    assert work.most == 1
    await marked(bench, worker, work)
    assert work.ended == ["a", "a", "mark"]


async def a_job_asked_for_while_it_ends_is_not_forgotten(bench: Bench) -> None:
    work = Work()
    worker = await started(bench, work)
    work.gate.clear()
    await bench.defer(worker)
    await work.until(lambda: work.begun == ["a"])
    async with bench.write() as tx:
        await worker.defer(tx, "work", "a")
        work.gate.set()
        await work.until(lambda: work.ended == ["a"])
        work.gate.clear()
    await work.until(lambda: len(work.begun) == 2)
    await bench.kill(worker)
    later = Work()
    await started(bench, later)
    await later.until(lambda: later.ended == ["a"])


async def jobs_of_several_subjects_run_at_the_same_time_up_to_the_limit(bench: Bench) -> None:
    work = Work()
    worker = await started(bench, work, at_once=2)
    work.gate.clear()
    for subject in "abcd":
        await bench.defer(worker, subject)
    await work.until(lambda: work.begun == ["a", "b"])
    work.gate.set()
    await work.until(lambda: len(work.ended) == 4)
    assert work.begun == list("abcd")
    assert work.most == 2


async def a_job_that_fails_is_tried_again_until_it_succeeds(bench: Bench) -> None:
    work = Work()
    worker = await started(bench, work)
    work.gate.clear()
    work.fails = 3
    await bench.defer(worker)
    await work.until(lambda: work.begun == ["a"])
    work.gate.set()
    await work.until(lambda: len(work.ended) == 4)
    await marked(bench, worker, work)
    assert work.ended == [*"aaaa", "mark"]
    assert not worker.troubles


async def a_job_that_takes_too_long_is_ended_and_tried_again(bench: Bench) -> None:
    work = Work()
    worker = await started(bench, work, limit_s=0.05)
    work.gate.clear()
    await bench.defer(worker)
    await work.until(lambda: len(work.begun) == 2)
    assert list(worker.troubles) == ["work a"]
    work.gate.set()
    await work.until(lambda: work.begun == work.ended)


async def a_job_due_later_waits_and_can_be_asked_for_earlier(bench: Bench) -> None:
    work = Work()
    worker = await started(bench, work)
    await bench.defer(worker, at=bench.now() + timedelta(hours=1))
    await marked(bench, worker, work)
    assert work.begun == ["mark"]
    await bench.defer(worker)
    await work.until(lambda: work.ended == ["mark", "a"])


async def a_job_that_looks_again_stays_until_it_is_done(bench: Bench) -> None:
    work = Work()
    worker = await started(bench, work)
    work.answer = bench.now() + timedelta(hours=1)
    await bench.defer(worker)
    await work.until(lambda: work.ended == ["a"])
    await worker.close()
    later = Work()
    await started(bench, later)
    await later.until(lambda: later.ended == ["a"])


async def what_a_dead_worker_had_begun_is_run_by_the_next(bench: Bench) -> None:
    work = Work()
    worker = await started(bench, work)
    work.gate.clear()
    await bench.defer(worker)
    await work.until(lambda: work.begun == ["a"])
    await bench.kill(worker)
    later = Work()
    await started(bench, later)
    await later.until(lambda: later.ended == ["a"])


async def a_duty_runs_at_the_start_again_and_again_and_after_a_failure(bench: Bench) -> None:
    worker = bench.worker()
    work = Work()
    work.fails = 1

    async def run() -> None:
        await work("duty")

    worker.every("duty", 0.01, run)
    await worker.start()
    await work.until(lambda: len(work.ended) >= 4)
    assert work.most == 1


async def a_duty_that_takes_longer_than_its_limit_is_ended_and_done_again(bench: Bench) -> None:
    worker = bench.worker()
    work = Work()
    work.gate.clear()

    async def run() -> None:
        await work("duty")

    worker.every("duty", 0.01, run, limit_s=0.01)
    await worker.start()
    await work.until(lambda: len(work.begun) >= 2)


CHECKS: tuple[Check, ...] = (
    a_job_exists_only_if_its_transaction_is_committed,
    a_job_runs_and_is_gone_for_the_next_worker,
    a_job_ends_with_its_own_transaction,
    a_job_that_waits_is_not_doubled,
    a_job_asked_for_while_it_runs_runs_once_more_and_never_twice_at_a_time,
    a_job_asked_for_while_it_ends_is_not_forgotten,
    jobs_of_several_subjects_run_at_the_same_time_up_to_the_limit,
    a_job_that_fails_is_tried_again_until_it_succeeds,
    a_job_that_takes_too_long_is_ended_and_tried_again,
    a_job_due_later_waits_and_can_be_asked_for_earlier,
    a_job_that_looks_again_stays_until_it_is_done,
    what_a_dead_worker_had_begun_is_run_by_the_next,
    a_duty_runs_at_the_start_again_and_again_and_after_a_failure,
    a_duty_that_takes_longer_than_its_limit_is_ended_and_done_again,
)
