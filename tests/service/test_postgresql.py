"""A service on PostgreSQL: what may go wrong between it and its database."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import make_url, text
from sqlalchemy.exc import DataError, OperationalError
from tests.servers.postgres import Postgres
from tests.servers.site import PASSWORD, Site, started_site
from tests.service.refusals import refused
from tests.service.test_transfers import small_set

from headrace.api.access.health import FRESH
from headrace.api.app.service import Service
from headrace.api.errors import CannotStart
from headrace.api.problems import problem_of
from headrace.api.settings import SettingError, Settings
from headrace.api.store import Database, postgresql
from headrace.api.store.address import shown, store_url
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
    with refused("audit_unwritable"):
        await quiet_site.person("bob", "requester")
    quiet_site.clock.shift += FRESH
    causes = (await quiet_site.ada.port.health()).causes
    assert any("it takes no changes" in cause.sentence for cause in causes), causes
    await asyncio.to_thread(postgres.tell, f"ALTER DATABASE {name} RESET default_transaction_read_only")
    await asyncio.to_thread(postgres.cut, name_of(quiet_site))
    await quiet_site.person("bob", "requester")


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
