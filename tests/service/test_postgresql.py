"""A service on PostgreSQL: what may go wrong between it and its database."""

import asyncio
import json
import shutil
from collections.abc import AsyncIterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest
from sqlalchemy import make_url, text
from sqlalchemy.exc import DataError, OperationalError
from tests.servers.postgres import Postgres, postgres_running
from tests.servers.site import PASSWORD, Site, started_site
from tests.service.refusals import refused
from tests.service.test_transfers import small_set
from typer.testing import CliRunner

from headrace.api.access import health, metrics
from headrace.api.access.health import FRESH
from headrace.api.app.service import Service
from headrace.api.app.web import create_app
from headrace.api.audit.command import audit
from headrace.api.errors import CannotStart
from headrace.api.http import people_routes
from headrace.api.http.guard import Origins
from headrace.api.http.operation import create_operation_app
from headrace.api.problems import problem_of
from headrace.api.settings import SettingError, Settings
from headrace.api.store import Database, postgresql
from headrace.api.store.address import shown, store_url
from headrace.api.store.database import SMALL_WRITE
from headrace.api.store.migrate import migrate
from headrace.api.store_trouble import Trouble, trouble_of
from headrace.client import models as m

pytestmark = pytest.mark.anyio


@pytest.fixture
async def quiet_site(tmp_path: Path, postgres: Postgres) -> AsyncIterator[Site]:
    async with started_site(tmp_path, Settings(database=postgres.migrated())) as site:
        yield site


def name_of(site: Site) -> str:
    return str(make_url(site.settings.database).database)


async def test_a_second_service_on_the_database_is_refused_by_name(
    quiet_site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(postgresql.LIMITS, "lock_timeout", 100)
    # Its keys are those of the database, or it would be refused for that.
    second = replace(quiet_site.settings, data=tmp_path / "second")
    shutil.copytree(quiet_site.settings.data, second.data, ignore=shutil.ignore_patterns("*.lock"))
    with pytest.raises(OperationalError, match="another service works on this database") as found:
        await Service.start(second, public_url="http://127.0.0.1")
    assert trouble_of(found.value) is Trouble.BUSY
    await quiet_site.person("bob", "requester")


async def test_no_list_waits_for_its_statement_to_be_compiled(quiet_site: Site) -> None:
    async with quiet_site.service.whole.core.database.read() as tx:
        assert await tx.scalar(text("SHOW jit")) == "off"


async def test_what_is_asked_often_is_planned_once(postgres: Postgres) -> None:
    database = Database(store_url(postgres.migrated(), Path()))
    often, planned = text("SELECT 'often'"), text("SELECT statement FROM pg_prepared_statements")
    for _ in range(10):
        async with database.read() as tx:
            assert await tx.scalar(often) == "often"
    async with database.read() as tx:
        assert str(often) in list(await tx.scalars(planned))
    await database.close()


async def test_a_change_waits_until_the_one_of_another_process_has_ended(postgres: Postgres) -> None:
    url = store_url(postgres.migrated(), Path())
    first, other = Database(url), Database(url)
    ended = list[str]()
    waiting = text("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")

    async def change() -> None:
        async with other.write():
            ended.append("other")

    async with first.write() as tx, asyncio.timeout(30):
        changing = asyncio.create_task(change())
        while not changing.done() and not await tx.scalar(waiting):
            pass  # the other one has not come so far
        ended.append("first")
    await changing
    await asyncio.gather(first.close(), other.close())
    assert ended == ["first", "other"]


async def test_a_service_whose_connections_end_goes_on_by_itself(site: Site, postgres: Postgres) -> None:
    small_set(site)
    plan = await site.ada.plan("lab:/set", "archive:/set")
    await asyncio.to_thread(postgres.cut, name_of(site))
    ended_transfer = await site.ada.end_of(await site.ada.submit(plan))
    assert ended_transfer.state is m.TransferState.COMPLETE, ended_transfer.summary


async def test_a_connection_that_ends_in_the_middle_of_a_change_undoes_it_by_name(
    quiet_site: Site, postgres: Postgres
) -> None:
    core = quiet_site.service.whole.core

    async def change() -> None:
        async with core.database.write() as tx:
            await tx.execute(text("UPDATE people SET name = 'eve'"))
            await asyncio.to_thread(postgres.cut, name_of(quiet_site))
            await tx.execute(text("UPDATE people SET state = 'disabled'"))

    with pytest.raises(OperationalError) as found:
        await change()
    assert trouble_of(found.value) is Trouble.AWAY
    async with core.database.read() as tx:
        assert (await tx.execute(text("SELECT name, state FROM people"))).all() == [("ada", "active")]


async def test_a_database_that_takes_no_changes_is_told_from_one_that_is_full(
    quiet_site: Site, postgres: Postgres
) -> None:
    name = name_of(quiet_site)
    await asyncio.to_thread(postgres.tell, f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    await asyncio.to_thread(postgres.cut, name_of(quiet_site))
    with refused("audit_unwritable") as told:
        await quiet_site.person("bob", "requester")
    assert "it takes no changes" in told.value.problem.detail
    quiet_site.clock.shift += FRESH
    causes = {cause.code.value: cause for cause in (await quiet_site.ada.port.health()).causes}
    for code in ("store_failed", "audit_unwritable"):
        assert f"/{name}?" in causes[code].sentence, causes
        assert "it takes no changes" in causes[code].sentence, causes
    await asyncio.to_thread(postgres.tell, f"ALTER DATABASE {name} RESET default_transaction_read_only")
    await asyncio.to_thread(postgres.cut, name_of(quiet_site))
    await quiet_site.person("bob", "requester")


async def test_a_session_that_holds_the_audit_table_is_told_while_other_writes_go_on(
    quiet_site: Site, postgres: Postgres
) -> None:
    store, name = quiet_site.service.whole.core.database, name_of(quiet_site)
    quiet_site.clock.shift += FRESH
    with postgres.locking("audit", name):
        async with store.write() as tx:
            await tx.execute(SMALL_WRITE)
        monitored = httpx2.ASGITransport(create_operation_app(quiet_site.use_cases.metrics))
        async with httpx2.AsyncClient(transport=monitored, base_url="http://127.0.0.1") as client:
            ready = (await client.get("/ready")).json()
        assert ready["reasons"] == ["audit_unwritable"], ready
        assert "it is busy" in ready["said"][0]
        assert "`pg_locks`" in ready["said"][0]
        async with store.write() as tx:
            await tx.execute(SMALL_WRITE)
    quiet_site.clock.shift += FRESH
    await until_healthy(quiet_site)


async def test_who_asks_is_answered_in_time_while_the_database_stands_still_or_is_away_and_told_which_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (health, metrics, people_routes):
        monkeypatch.setattr(module, "PATIENCE_S", 0.3)
    with postgres_running() as own:
        async with started_site(tmp_path, Settings(database=own.migrated())) as site, asyncio.timeout(60):
            site.clock.shift += FRESH
            with own.standing_still():
                await tells(site, "does not answer", "store_busy")
            site.clock.shift += FRESH
            await until_healthy(site)
            await asyncio.to_thread(own.stop)
            site.clock.shift += FRESH
            await tells(site, "can't be reached", "store_failed")
            await asyncio.to_thread(own.start)
            await site.person("bob", "requester")


async def tells(site: Site, trouble: str, code: str) -> None:
    """See that monitoring is told which database it is, and others what is the matter."""
    monitored = httpx2.ASGITransport(create_operation_app(site.use_cases.metrics))
    async with httpx2.AsyncClient(transport=monitored, base_url="http://127.0.0.1") as client:
        assert (await client.get("/live")).status_code == 200
        ready = (await client.get("/ready")).json()
        assert (ready["ready"], ready["reasons"]) == (False, [code])
        assert f"/{name_of(site)}?" in ready["said"][0]
        assert trouble in ready["said"][0]
        assert "headrace_ready 0.0" in (await client.get("/metrics")).text
    app = httpx2.ASGITransport(create_app(site.service.gate, Origins.of("http://127.0.0.1")))
    known = {"authorization": f"Bearer {site.ada.secret}"}
    async with httpx2.AsyncClient(transport=app, base_url="http://127.0.0.1", headers=known) as client:
        told = (await client.get("/api/v1/health")).json()
        assert (told["status"], [cause["code"] for cause in told["causes"]]) == ("degraded", [code])
        assert trouble in told["causes"][0]["sentence"]
        assert name_of(site) not in told["causes"][0]["sentence"], "nobody knows who asks"


async def until_healthy(site: Site) -> None:
    while (await site.ada.port.health()).status != "ok":
        site.clock.shift += FRESH


async def test_a_text_that_can_not_be_kept_is_the_requests_fault(quiet_site: Site) -> None:
    port, text_ = quiet_site.ada.port, "a\0b"
    for call in (
        port.halt(m.HaltRequest(scope="agent", subject=text_, reason="tests")),
        port.create_join_token(m.JoinTokenRequest(name=text_)),
        port.disable_person(text_),
        port.transfer(text_),
    ):
        with refused("invalid_request"):
            await call
    with pytest.raises(DataError) as found:
        await quiet_site.use_cases.people.sign_in(m.SignIn(name=text_, password=PASSWORD), "127.0.0.1")
    assert problem_of(found.value).code == "invalid_request"
    core = quiet_site.service.whole.core
    with pytest.raises(DataError):
        async with core.database.write() as tx:
            await core.audit.append(tx, m.AuditKind.SERVICE_STARTED, subject=text_)
    assert core.audit.unwritable_since is None
    quiet_site.clock.shift += FRESH
    assert (await port.health()).status == "ok"


@pytest.mark.parametrize("form", ["ENCODING 'SQL_ASCII' LOCALE 'C'", "LOCALE_PROVIDER icu ICU_LOCALE 'en'"])
def test_a_database_that_orders_texts_in_another_way_is_refused(postgres: Postgres, form: str) -> None:
    with pytest.raises(CannotStart, match="createdb --template template0 --encoding UTF8 --locale C"):
        migrate(store_url(postgres.database(f"TEMPLATE template0 {form}"), Path()))


def test_a_database_of_a_newer_service_is_refused_by_name(postgres: Postgres) -> None:
    url = store_url(postgres.migrated(), Path())
    postgres.tell("UPDATE alembic_version SET version_num = '9999'", str(url.database))
    with pytest.raises(CannotStart, match=f"{url.database}.*written by a newer one"):
        migrate(url)


@pytest.mark.parametrize(
    "given",
    ["headrace", "mysql://db/headrace", "postgresql://db.example.org", "postgresql://ada:hunter2@db", "://hunter2"],
)
def test_an_address_that_is_not_understood_is_not_repeated(given: str) -> None:
    with pytest.raises(SettingError, match="HEADRACE_DATABASE") as found:
        store_url(given, Path())
    assert "hunter2" not in str(found.value)


def test_a_database_on_another_host_needs_tls() -> None:
    with pytest.raises(SettingError, match="needs TLS"):
        store_url("postgresql://ada:hunter2@db.example.org/headrace", Path())
    for near in ("", "localhost", "127.0.0.1", "[::1]"):
        assert store_url(f"postgresql://{near}/headrace", Path()).database == "headrace"
    url = store_url("postgresql://ada:hunter2@db.example.org/headrace?sslmode=verify-full", Path())
    assert "hunter2" not in shown(url)


@pytest.mark.parametrize(
    ("version", "encoding", "by_bytes", "said"),
    [
        (120_022, "UTF8", True, "PostgreSQL 12; Headrace needs 13"),
        (130_000, "LATIN1", True, "its encoding is LATIN1"),
        (130_000, "UTF8", False, "by the bytes of UTF-8"),
        (130_000, "UTF8", True, ""),
    ],
)
async def test_a_database_that_is_too_old_or_orders_texts_otherwise_is_refused(
    version: int,
    encoding: str,
    by_bytes: bool,  # noqa: FBT001 - what a database answers
    said: str,
) -> None:
    answers = {"SHOW server_version_num": str(version), "SHOW server_encoding": encoding}

    def asked(query: str) -> SimpleNamespace:
        return SimpleNamespace(scalar_one=lambda: answers.get(query, by_bytes))

    database: Any = SimpleNamespace(exec_driver_sql=asked)
    with pytest.raises(CannotStart, match=said) if said else nullcontext():
        postgresql.require_fit(database)


async def test_the_command_that_verifies_the_audit_chain_notices_what_was_altered_removed_or_cut_off(
    quiet_site: Site, postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    await quiet_site.person("bob", "viewer")
    await quiet_site.use_cases.audit.export_head()
    settings = quiet_site.settings
    await quiet_site.service.close()
    monkeypatch.setenv("HEADRACE_DATABASE", settings.database)

    def verdict(*altered: str) -> tuple[int, bool, int | None]:
        for statement in altered:
            postgres.tell(statement, name_of(quiet_site))
        run = CliRunner().invoke(audit, ["verify", "--data", str(settings.data), "--json"])
        found = json.loads(run.stdout)
        return run.exit_code, found["intact"], found["broken_at"]

    assert await asyncio.to_thread(verdict, "CREATE TABLE kept AS SELECT * FROM audit") == (0, True, None)
    for altered, broken_at in (
        ("UPDATE audit SET body = replace(body, 'service_started', 'service_stopped') WHERE sequence = 1", 1),
        ("UPDATE audit SET person = 'pn_other' WHERE sequence = 2", 2),
        ("UPDATE audit SET hash = (SELECT hash FROM audit WHERE sequence = 2) WHERE sequence = 3", 3),
        ("DELETE FROM audit WHERE sequence = 2", 2),
        ("DELETE FROM audit WHERE sequence > 3", 4),
    ):
        assert await asyncio.to_thread(verdict, altered) == (1, False, broken_at), altered
        put_back = ("DELETE FROM audit", "INSERT INTO audit SELECT * FROM kept")
        assert await asyncio.to_thread(verdict, *put_back) == (0, True, None)
