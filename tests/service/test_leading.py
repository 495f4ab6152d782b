"""A process of several that may lead and can't: it waits, says why, and leads when it can."""

import asyncio
import re
from pathlib import Path

import httpx2
import pytest
from sqlalchemy import make_url
from tests.servers.disk import fill, mounted
from tests.servers.ports import free_port
from tests.servers.postgres import Postgres

from headrace.api.app import many
from headrace.api.app.answering import answering
from headrace.api.app.many import OneOfMany
from headrace.api.settings import Settings


@pytest.mark.anyio
async def test_a_process_leads_once_there_is_room_and_the_database_takes_changes_and_says_until_then_what_is_missing(
    tmp_path: Path, postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(many, "_AGAIN_S", 0.1)
    database, port = postgres.migrated(), free_port()
    name = str(make_url(database).database)
    with mounted(tmp_path / "data", "24m") as data:
        settings = Settings(
            data=data,
            database=database,
            listen="127.0.0.1:0",
            peer_listen="127.0.0.1:0",
            hub_listen="127.0.0.1:0",
            public_url="http://127.0.0.1:8470",
            metrics_listen=f"127.0.0.1:{port}",
        )
        await asyncio.to_thread(fill, data / "ballast")
        await asyncio.to_thread(postgres.tell, f"ALTER DATABASE {name} SET default_transaction_read_only = on")
        with answering(settings) as place:
            process = OneOfMany(place, as_json=True, recover_admin=False)
            running = asyncio.create_task(process.run())
            try:
                async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}") as monitoring, asyncio.timeout(60):
                    await until_said(monitoring, f"`{data}.* on the host `.*No space left on device; make room")
                    (data / "ballast").unlink()
                    await until_said(monitoring, f"/{name}?.* it takes no changes .*not a standby")
                    reset = f"ALTER DATABASE {name} RESET default_transaction_read_only"
                    await asyncio.to_thread(postgres.tell, reset)
                    while (await monitoring.get("/ready")).status_code != 200:
                        assert not running.done()
            finally:
                process._ending.set()  # noqa: SLF001 - as SIGTERM does
                await running


async def until_said(monitoring: httpx2.AsyncClient, wanted: str) -> None:
    while not re.search(wanted, " ".join((await monitoring.get("/ready")).json()["said"])):
        pass
