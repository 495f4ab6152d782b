import asyncio
import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import URL, create_engine, delete, func, literal_column, select, text, update
from sqlalchemy import table as sql_table
from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError, StatementError
from tests.conformance import identity_store_conformance as identities
from tests.conformance import passkey_store_conformance as passkeys
from tests.conformance.people_store_conformance import CHECKS, Check
from tests.servers.site import Site

from headrace.api.audit.chain import Audit
from headrace.api.audit.heads import HeadsFile
from headrace.api.clock import utc_now
from headrace.api.people.sql_identities import SqlIdentityStore
from headrace.api.people.sql_passkeys import SqlPasskeyStore
from headrace.api.people.sql_store import SqlPeopleStore
from headrace.api.store import Database, Tx
from headrace.api.store.address import store_url
from headrace.api.store.base import Base
from headrace.api.store.migrate import migrate
from headrace.api.store.tables_site import (
    InvitationRow,
    NodeRow,
    PasskeyRow,
    PersonRow,
    SessionRow,
    SignInPlaceRow,
    TokenRow,
    UsedNonceRow,
)
from headrace.api.store.text_index import is_of_the_index
from headrace.auth import LastAdmin, PersonRecord, Role
from headrace.client import models as m
from headrace.guardrails import SigningKey


def test_the_migrations_make_exactly_the_models(each_store: URL) -> None:
    engine = create_engine(each_store)
    with engine.connect() as connection:
        # The index of words in texts is the store's own; that it is there and right, searches show.
        opts = {"compare_type": False, "include_name": lambda name, *_: name is None or not is_of_the_index(name)}
        context = MigrationContext.configure(connection, opts=opts)
        assert compare_metadata(context, Base.metadata) == []
    engine.dispose()


def test_sessions_and_rights_from_before_identities_are_kept(tmp_path: Path) -> None:
    url, path = store_url("", tmp_path), tmp_path / "headrace.sqlite"
    migrate(url, "0009")
    with closing(sqlite3.connect(path)) as store, store:
        store.execute(
            "INSERT INTO people (id, name, name_key, kind, state, roles, groups, created) "
            "VALUES ('pn_1', 'Ada', 'ada', 'person', 'active', 'admin\nviewer', 'lab', '2026-11-25')"
        )
        store.execute(
            "INSERT INTO sessions (hash, person, created, expires, last_used) VALUES ('h', 'pn_1', '1', '2', '3')"
        )
    migrate(url)
    with closing(sqlite3.connect(path)) as store:
        assert store.execute("SELECT granted_roles, granted_groups FROM people").fetchall() == [
            ("admin\nviewer", "lab")
        ]
        kept = "SELECT hash, person, created, expires, last_used, authenticated, method, factors, issuer FROM sessions"
        assert store.execute(kept).fetchall() == [("h", "pn_1", "1", "2", "3", "1", "password", "pwd", None)]


def test_migrating_again_changes_nothing(tmp_path: Path) -> None:
    url = store_url("", folder := tmp_path / "odd %20 ?name")
    path = folder / "headrace.sqlite"
    folder.mkdir()
    migrate(url)
    with closing(sqlite3.connect(path)) as store, store:
        store.execute(
            "INSERT INTO people (id, name, name_key, kind, state, roles, groups, created) "
            "VALUES ('pn_1', 'Ada', 'ada', 'person', 'active', '[]', '[]', '2026-11-25')"
        )
        before = list(store.iterdump())
    migrate(url)
    with closing(sqlite3.connect(path)) as store:
        assert list(store.iterdump()) == before


@pytest.mark.anyio
async def test_readers_cannot_write(quiet_site: Site) -> None:
    database = quiet_site.service.whole.core.database
    change = delete(PersonRow).returning(PersonRow.id)

    async def look(tx: Tx) -> None:
        await tx.execute(change)

    async with database.read() as tx:
        with pytest.raises(DBAPIError, match=r"read-?only"):
            await look(tx)
    for reading in (database.look(look), database.ask(change)):
        with pytest.raises(DBAPIError, match=r"read-?only"):
            await reading


@pytest.mark.anyio
async def test_a_look_that_fails_or_waits_for_something_else_leaves_its_connection_usable(quiet_site: Site) -> None:
    database = quiet_site.service.whole.core.database
    people = text("SELECT count(*) FROM people")

    async def fails(tx: Tx) -> None:
        await tx.scalar(people)
        raise KeyError

    async def mistaken(tx: Tx) -> None:
        await tx.scalar(text("SELECT nothing FROM nowhere"))

    async def found(tx: Tx) -> object:
        return await tx.scalar(people)

    for _ in range(12):  # more than there are connections
        with pytest.raises(KeyError):
            await database.look(fails)
        with pytest.raises(DBAPIError):
            await database.look(mistaken)
        with pytest.raises(DBAPIError):
            await database.ask(select(literal_column("nothing")).select_from(sql_table("nowhere")))
    assert await database.look(found) == 1
    assert [number for (number,) in await database.ask(select(func.count()).select_from(PersonRow))] == [1]


@pytest.mark.anyio
async def test_foreign_keys_hold(quiet_site: Site) -> None:
    core = quiet_site.service.whole.core
    now = core.clock()

    async def orphan() -> None:
        async with core.database.write() as tx:
            times = {"created": now, "expires": now, "last_used": now, "authenticated": now}
            tx.add(SessionRow(hash="h", person="nobody", method="password", factors=(), **times))

    with pytest.raises(IntegrityError):
        await orphan()


@pytest.mark.anyio
async def test_what_fails_half_way_leaves_nothing(quiet_site: Site) -> None:
    core = quiet_site.service.whole.core

    async def half() -> None:
        async with core.database.write() as tx:
            tx.add(NodeRow(id="nd_1", name="n", key="k", state="enrolled", enrolled=core.clock()))
            await tx.flush()
            raise RuntimeError

    with pytest.raises(RuntimeError):
        await half()
    async with core.database.read() as tx:
        assert await tx.scalar(select(NodeRow)) is None


@pytest.mark.anyio
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_the_store_in_sql_conforms(check: Check, quiet_site: Site) -> None:
    core = quiet_site.service.whole.core
    async with core.database.write() as tx:
        for table in (SessionRow, SignInPlaceRow, TokenRow, InvitationRow, PersonRow):
            await tx.execute(delete(table))
    await check(SqlPeopleStore(core.database, core.audit))


@pytest.mark.anyio
@pytest.mark.parametrize("check", identities.CHECKS, ids=lambda check: check.__name__)
async def test_the_store_of_identities_in_sql_conforms(check: identities.Check, quiet_site: Site) -> None:
    core = quiet_site.service.whole.core
    async with core.database.write() as tx:
        for table in (SessionRow, TokenRow, InvitationRow, PersonRow):
            await tx.execute(delete(table))
    people = SqlPeopleStore(core.database, core.audit)
    await check(identities.Stores(people, SqlIdentityStore(core.database, core.audit, core.reactions)))


@pytest.mark.anyio
async def test_administrators_who_disable_each_other_at_once_leave_one(each_store: URL, tmp_path: Path) -> None:
    databases = [Database(each_store), Database(each_store)]
    heads = HeadsFile(tmp_path / "heads", SigningKey.from_seed(bytes(32)))
    stores = [SqlPeopleStore(one, Audit(one, utc_now, heads)) for one in databases]
    roles = frozenset({Role.ADMIN})
    for name in ("pn_ada", "pn_bea"):
        person = PersonRecord(id=name, name=name, roles=roles, granted_roles=roles, state="active", created=utc_now())
        await stores[0].add_person(person)
    ends = await asyncio.gather(stores[0].disable("pn_bea"), stores[1].disable("pn_ada"), return_exceptions=True)
    assert {type(one) for one in ends} == {PersonRecord, LastAdmin}
    assert sorted(one.state for one in await stores[0].people()) == ["active", "disabled"]
    for one in databases:
        await one.close()


@pytest.mark.anyio
@pytest.mark.parametrize("check", passkeys.CHECKS, ids=lambda check: check.__name__)
async def test_the_store_of_passkeys_in_sql_conforms(check: passkeys.Check, quiet_site: Site) -> None:
    core = quiet_site.service.whole.core
    async with core.database.write() as tx:
        for table in (SessionRow, TokenRow, InvitationRow, PasskeyRow, UsedNonceRow, PersonRow):
            await tx.execute(delete(table))
    people = SqlPeopleStore(core.database, core.audit)
    await check(passkeys.Stores(people, SqlPasskeyStore(core.database, core.audit)))


@pytest.mark.anyio
async def test_a_group_whose_name_is_two_lines_gives_no_second_group(quiet_site: Site) -> None:
    with pytest.raises(StatementError, match="line break"):
        async with quiet_site.service.whole.core.database.write() as tx:
            await tx.execute(update(PersonRow).values(groups=("guests\nstewards",)))


LONG = text("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :most) SELECT count(*) FROM n")


@pytest.mark.anyio
async def test_a_long_read_leaves_the_event_loop_to_others(quiet_site: Site) -> None:
    database = quiet_site.service.whole.core.database
    async with database.read() as tx:
        reading = asyncio.create_task(tx.scalar(LONG, {"most": 2_000_000}))
        async with database.read() as other:
            assert await other.scalar(text("SELECT count(*) FROM people")) == 1
        assert not reading.done()
        assert await reading == 2_000_000


@pytest.mark.anyio
async def test_who_gives_up_a_read_leaves_its_connection_usable(quiet_site: Site) -> None:
    database = quiet_site.service.whole.core.database
    for _ in range(12):  # more than there are connections
        async with database.read() as tx:
            reading = asyncio.create_task(tx.scalar(LONG, {"most": 10**12}))
            for _ in range(50):
                await asyncio.sleep(0)
            reading.cancel()
            with pytest.raises(asyncio.CancelledError):
                await reading
    async with database.read() as tx:
        assert await tx.scalar(text("SELECT count(*) FROM people")) == 1


@pytest.mark.anyio
async def test_a_commit_that_nobody_waits_for_is_whole_all_the_same(quiet_site: Site) -> None:
    core = quiet_site.service.whole.core

    async def write(number: int) -> None:
        async with core.database.write() as tx:
            key = str(number)
            tx.add(NodeRow(id=f"nd_{key}", name=key, key=key, state="enrolled", enrolled=core.clock()))
            await core.outbox.write(tx, m.ChangeKind.NODE, key, "attached")

    before = (await core.outbox.bounds())[1]
    for number in range(20):
        task = asyncio.create_task(write(number))
        for _ in range(number):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    async with core.database.read() as tx:
        nodes = set(await tx.scalars(select(NodeRow.key)))
    assert {change.subject for change in await core.outbox.after(before, 100)} == nodes


@pytest.mark.anyio
async def test_a_small_write_that_fits_proves_no_room_right_after_the_disk_was_full(tmp_path: Path) -> None:
    now = [utc_now()]
    url = store_url("", tmp_path)
    migrate(url)
    database = Database(url, lambda: now[0])
    full = OperationalError("INSERT", {}, Exception("database or disk is full"))
    small = text("UPDATE alembic_version SET version_num = version_num")
    try:
        with pytest.raises(OperationalError):
            async with database.write():
                raise full
        for later, refuses in ((1, True), (14, True), (15, False)):
            now[0] += timedelta(seconds=later)
            async with database.write() as tx:
                await tx.execute(small)
            assert (database.refused is not None) == refuses
            now[0] -= timedelta(seconds=later)
    finally:
        await database.close()
