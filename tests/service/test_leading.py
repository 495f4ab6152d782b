"""A process of several that may lead and can't: it waits, says why, and leads when it can."""

import asyncio
import logging
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

import httpx2
import pytest
from sqlalchemy import make_url
from tests.servers.disk import fill, mounted
from tests.servers.ports import free_port
from tests.servers.postgres import Postgres

from headrace.api.app import many
from headrace.api.app.answering import answering
from headrace.api.app.leader_file import begin_to_lead
from headrace.api.app.many import OneOfMany
from headrace.api.errors import CannotStart
from headrace.api.http import relay
from headrace.api.settings import Settings
from headrace.api.store.address import store_url
from headrace.api.store.leader_lock import LeaderLock
from headrace.engine import EngineError

if TYPE_CHECKING:
    from headrace.api.app.service import Service


@pytest.mark.anyio
async def test_a_process_leads_once_there_is_room_and_the_database_takes_changes_and_says_until_then_what_is_missing(
    tmp_path: Path, postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(many, "_AGAIN_S", 0.1)
    database, port = postgres.migrated(), free_port()
    name = str(make_url(database).database)
    with mounted(tmp_path / "data", "24m") as data:
        settings = replace(one_of_many(data, database), metrics_listen=f"127.0.0.1:{port}")
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


def one_of_many(data: Path, database: str) -> Settings:
    return Settings(
        data=data,
        database=database,
        listen="127.0.0.1:0",
        peer_listen="127.0.0.1:0",
        hub_listen="127.0.0.1:0",
        public_url="http://127.0.0.1:8470",
    )


class Told(logging.Handler):
    """What a log says, line by line."""

    def __init__(self) -> None:
        super().__init__()
        self.lines = asyncio.Queue[str]()

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.put_nowait(record.getMessage())


@pytest.mark.anyio
async def test_the_log_of_a_process_that_follows_names_a_leader_that_stands_still_and_says_what_to_do(
    tmp_path: Path, postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(many, "_REMIND_S", 0.0)
    monkeypatch.setattr(relay, "_PROBE_S", 1.0)
    (tmp_path / "data").mkdir(mode=0o700)
    settings = one_of_many(tmp_path / "data", postgres.migrated())
    leader, tls = begin_to_lead("127.0.0.1", 0)
    leader = replace(leader, pid=os.getppid())  # another process, which lives
    over, told, asked = asyncio.Event(), Told(), list[None]()
    silent = "asked for the third time, and nothing was told"

    async def stand_still_once_it_was_reached(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        if process._announced:  # noqa: SLF001 - the process has said that it passes on
            asked.append(None)
            if len(asked) > 2:
                await told.lines.put(silent)
            await over.wait()
        writer.write(b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n")
        writer.close()

    holds = LeaderLock(store_url(settings.database, settings.data))
    assert await holds.lead()
    logging.getLogger(many.__name__).addHandler(told)
    with answering(settings) as place:
        process = OneOfMany(place, as_json=True, recover_admin=False)
        async with await asyncio.start_server(stand_still_once_it_was_reached, "127.0.0.1", 0, ssl=tls) as server:
            port = server.sockets[0].getsockname()[1]
            replace(leader, port=port).write(settings.data)
            running = asyncio.create_task(process.run())
            try:
                async with asyncio.timeout(60):
                    while "led the site last" not in (line := await told.lines.get()) and line != silent:
                        pass
            finally:
                logging.getLogger(many.__name__).removeHandler(told)
                over.set()
                process._ending.set()  # noqa: SLF001 - as SIGTERM does
                await running
                await holds.close()
    assert line == (
        f"process {leader.pid} on the host `{leader.on}` led the site last, and does not answer within 1 s at "
        f"https://127.0.0.1:{port}; if it stands still, end it (`kill -9`), and another process takes over"
    )


@pytest.mark.anyio
async def test_the_log_of_a_process_that_follows_says_once_whom(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "data").mkdir(mode=0o700)
    leader, _ = begin_to_lead("127.0.0.1", 4242)
    replace(leader, pid=os.getppid()).write(tmp_path / "data")
    with answering(one_of_many(tmp_path / "data", "postgresql:///nowhere")) as place, caplog.at_level(logging.INFO):
        process = OneOfMany(place, as_json=True, recover_admin=False)
        for _ in range(2):
            process._say_whom()  # noqa: SLF001 - as when the leader has answered
    said = f"process {os.getppid()} on the host `{leader.on}` leads the site; this one passes requests on to it"
    assert caplog.messages == [said]


@pytest.mark.anyio
async def test_what_stands_against_a_takeover_is_said_while_it_is_tried_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(many, "_LOOK_S", 0.0)
    (tmp_path / "data").mkdir(mode=0o700)
    said, service = list[str](), cast("Service", object())

    async def still_leads() -> bool:
        return True

    with answering(one_of_many(tmp_path / "data", "postgresql:///nowhere")) as place:
        process = OneOfMany(place, as_json=True, recover_admin=False)

        async def start(*_: object, **__: object) -> "Service":
            said.append(process._obstacle())  # noqa: SLF001 - what `/ready` says
            if len(said) > 1:
                return service
            full = "can't write `/data/hub/attempts.jsonl` on the host `vm`: No space left on device (os error 28)"
            raise EngineError(full)

        monkeypatch.setattr("headrace.api.app.many.Service.start", start)
        monkeypatch.setattr(process, "_still_leads", still_leads)
        with caplog.at_level(logging.INFO):
            assert await process._started() is service  # noqa: SLF001 - as when it may lead
        assert process._obstacle() == ""  # noqa: SLF001 - what `/ready` says
    before, meanwhile = said
    assert before == ""
    assert meanwhile.endswith("(os error 28); make room on that disk")
    assert "this process may lead the site, and can't start the service: can't write `/data/hub" in meanwhile
    assert f"{meanwhile}. It goes on trying" in caplog.text


@pytest.mark.anyio
async def test_a_leader_that_can_not_end_its_work_ends_and_claims_nothing_of_other_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Hangs:
        """A service whose database stands still."""

        async def close(self) -> None:
            await asyncio.Event().wait()

    monkeypatch.setattr(many, "_CLOSE_S", 0.0)
    (tmp_path / "data").mkdir(mode=0o700)
    with answering(one_of_many(tmp_path / "data", "postgresql:///nowhere")) as place:
        process = OneOfMany(place, as_json=True, recover_admin=False)
        with pytest.raises(CannotStart, match=r"could not end its work within 0 s .*does the database hang") as ended:
            await process._close(cast("Service", Hangs()))  # noqa: SLF001 - as when it leads no more
    assert "another process" not in str(ended.value)
    assert "start it again" in str(ended.value)


async def until_said(monitoring: httpx2.AsyncClient, wanted: str) -> None:
    while not re.search(wanted, " ".join((await monitoring.get("/ready")).json()["said"])):
        pass
