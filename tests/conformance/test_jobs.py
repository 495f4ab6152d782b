from contextlib import AbstractAsyncContextManager
from datetime import datetime

import pytest
from sqlalchemy import URL
from tests.conformance.jobs_conformance import CHECKS, Bench, Check

from headrace.api.clock import utc_now
from headrace.api.jobs.local import LocalJobs
from headrace.api.jobs.port import Jobs
from headrace.api.store import Database, Tx


class LocalBench(Bench):
    """Workers in this process on one store."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._workers: list[LocalJobs] = []

    def worker(self) -> Jobs:
        made = LocalJobs(self._database, utc_now)
        self._workers.append(made)
        return made

    async def kill(self, worker: Jobs) -> None:
        await worker.close()  # it writes nothing: what runs is cancelled where it stands

    def write(self) -> AbstractAsyncContextManager[Tx]:
        return self._database.write()

    def now(self) -> datetime:
        return utc_now()

    async def close(self) -> None:
        for worker in self._workers:
            await worker.close()


@pytest.mark.anyio
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_the_jobs_in_this_process_conform(check: Check, each_store: URL) -> None:
    database = Database(each_store)
    bench = LocalBench(database)
    try:
        await check(bench)
    finally:
        await bench.close()
        await database.close()
