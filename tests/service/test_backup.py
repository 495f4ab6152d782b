"""A service in one file, laid out again elsewhere, and its store moved to PostgreSQL."""

import asyncio
import json
import os
import re
import sqlite3
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import typer
from demo.stage import HEADRACE, surroundings
from sqlalchemy import URL, Engine, event, select
from tests.servers.disk import mounted
from tests.servers.many import many
from tests.servers.postgres import Postgres
from tests.servers.site import WAIT_S, Site, started_site
from tests.service.test_transfers import SLOW_BPS, large_set, small_set, until, until_durable
from typer.testing import CliRunner

from headrace.api.app.backup import backup, move_store, restore
from headrace.api.app.service import Service
from headrace.api.audit.command import audit
from headrace.api.audit.heads import HeadsFile
from headrace.api.clock import utc_now
from headrace.api.errors import CannotStart
from headrace.api.key_chain import KeyChain
from headrace.api.settings import Settings
from headrace.api.store.address import dialect_of, store_url
from headrace.api.store.base import Base
from headrace.api.store.copy import copy_store
from headrace.api.store.migrate import migrate
from headrace.client import models as m
from headrace.guardrails import SigningKey

LIMIT_S = 100
pytestmark = [pytest.mark.anyio, pytest.mark.timeout(180)]


def run(*arguments: str | Path, database: str = "") -> tuple[int, str]:
    done = subprocess.run(
        [HEADRACE, *arguments],
        check=False, capture_output=True, text=True, timeout=LIMIT_S,
        env=surroundings() | {"HEADRACE_DATABASE": database},
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


HERE = typer.Typer()
HERE.command()(backup)
HERE.command()(restore)
HERE.command()(move_store)
HERE.add_typer(audit, name="audit")


def run_here(*arguments: str | Path, database: str = "") -> tuple[int, str]:
    """Run a command in this process, which takes a hundredth of the time."""
    done = CliRunner().invoke(HERE, [*map(str, arguments)], env={"HEADRACE_DATABASE": database})
    return done.exit_code, done.output


def given(url: URL) -> str:
    """What HEADRACE_DATABASE says of a store."""
    if url.get_backend_name() == "sqlite":
        return ""
    return url.set(drivername="postgresql").render_as_string(hide_password=False)


async def rows_of(site: Site) -> dict[str, list[object]]:
    async with site.service.whole.core.database.read() as tx:
        return {
            # Nodes are told meanwhile to forget what has ended, which is no change of it.
            table.name: sorted(
                map(tuple, await tx.execute(select(*(one for one in table.columns if one.name != "tidied")))), key=repr
            )
            for table in Base.metadata.sorted_tables
        }


async def moved(site: Site, data: Path, database: str) -> None:
    """Let the site's service go on in another folder or database, at the same address for its nodes."""
    address = site.service.whole.core.hub.address
    await site.service.close()
    site.settings = replace(site.settings, data=data, database=database, hub_listen=address)
    site.service = await Service.start(
        site.settings, public_url="http://127.0.0.1", clock=site.clock, waits=site.clock.waits
    )
    await site.until_nodes(lambda: site.use_cases.nodes.attached_count == len(site.nodes))


async def test_a_service_is_backed_up_while_it_runs_and_restored_halted(
    each_store: URL, tmp_path: Path, postgres: Postgres
) -> None:
    file, other = tmp_path / "service.backup", tmp_path / "other"
    database = given(each_store)
    async with started_site(tmp_path, Settings(database=database)) as site:
        await site.start_both()
        small_set(site)
        plan = await site.ada.plan("lab:/set", "archive:/set")
        ended = await site.ada.end_of(await site.ada.submit(plan))
        waiting = await site.ada.plan("lab:/set", "archive:/again")
        before = await rows_of(site)
        code, said = run("backup", file, "--data", site.settings.data, database=database)
        assert (code, "all keys: keep it safe" in said) == (0, True), said
        assert "Not in it" not in said, "what the service makes is known to it"
        assert file.stat().st_mode & 0o777 == 0o600
        assert run("backup", file, "--data", site.settings.data, database=database)[0] == 1, "no file is replaced"
        await site.person("late", "requester")
        await site.use_cases.audit.export_head()

        target = given(store_url(postgres.database(), tmp_path)) if database else ""
        heads = site.settings.data / "audit-heads.jsonl"
        code, said = run("restore", file, "--data", other, "--heads", heads, database=target)
        assert (code, "known to be lost up to " in said) == (0, True), said
        assert "no later" not in said
        assert other.stat().st_mode & 0o777 == 0o700
        lists = [path.relative_to(site.settings.data) for path in site.settings.data.glob("transfers/**/*")]
        assert lists
        assert all((other / path).exists() for path in lists)
        assert run("restore", file, "--data", other, database=target)[0] == 1, "what is there is not overwritten"
        await moved(site, other, target)
        restored = await rows_of(site)
        for name in ("people", "sessions", "plans", "transfers", "transfer_events", "receipts", "policies"):
            assert {*map(repr, before[name])} == {*map(repr, restored[name])}, name
        assert "restored from a backup" in (await site.ada.port.health()).halted
        assert (await site.ada.port.receipt(ended.receipt or "")).transfer == ended.id
        (other / "halt").unlink()
        site.use_cases.scheduler.recheck()
        again = await site.ada.submit(waiting)
        assert (await site.ada.end_of(again)).state is m.TransferState.COMPLETE
        assert (await site.use_cases.audit.verify(full=True)).intact


async def test_a_store_moves_to_postgresql_by_one_command(tmp_path: Path, postgres: Postgres) -> None:
    database = given(store_url(postgres.database(), tmp_path))
    async with started_site(tmp_path) as site:
        await site.start_both()
        small_set(site)
        await site.ada.end_of(await site.ada.submit(await site.ada.plan("lab:/set", "archive:/set")))
        data = site.settings.data
        code, said = run("move-store", "--data", data, database=database)
        assert (code, "has the data folder" in said) == (1, True), "a service that runs keeps its store"
        before = await rows_of(site)
        await site.service.close()
        code, said = run("move-store", "--data", data, database=database)
        assert code == 0, said
        assert not (data / "headrace.sqlite").exists()
        await moved(site, data, database)
        after = await rows_of(site)
        assert {*map(repr, before["transfers"])} == {*map(repr, after["transfers"])}
        assert {*map(repr, before["audit"])} <= {*map(repr, after["audit"])}
        again = await site.ada.submit(await site.ada.plan("lab:/set", "archive:/second"))
        assert (await site.ada.port.transfer(again.id, wait_s=WAIT_S)).state is m.TransferState.COMPLETE
        assert (await site.use_cases.audit.verify(full=True)).intact


def test_a_store_is_copied_whole_or_not_at_all(each_store: URL, tmp_path: Path) -> None:
    (folder := tmp_path / "source").mkdir()
    source = store_url("", folder)
    migrate(source)
    assert copy_store(source, each_store) == 0
    _person(source)
    assert copy_store(source, each_store) == 1
    with pytest.raises(Exception, match="holds rows"):
        copy_store(source, each_store)


def test_a_copy_takes_rows_as_they_lie_and_keeps_what_refers_to_a_later_one(each_store: URL, tmp_path: Path) -> None:
    (folder := tmp_path / "source").mkdir()
    source = store_url("", folder)
    migrate(source)
    _person(source)
    plans, common = Base.metadata.tables["plans"], {"state": "failed", "requester": "pn_1", "door": "api", "card": "{}"}
    rows = [
        {**common, "id": id_, "base": base, "timezone": "UTC", "created": utc_now()}
        for id_, base in (("pl_2", "pl_1"), ("pl_1", None))
    ]
    with dialect_of(source).whole_engine(source).begin() as connection:
        connection.execute(plans.insert(), rows)
    read: list[str] = []

    def note(*arguments: object) -> None:
        read.append(str(arguments[2]))

    event.listen(Engine, "before_cursor_execute", note)
    try:
        assert copy_store(source, each_store) == 1 + 2
    finally:
        event.remove(Engine, "before_cursor_execute", note)
    with dialect_of(each_store).reading_engine(each_store).connect() as connection:
        copied = connection.execute(select(plans.c.id, plans.c.base)).all()
    assert sorted(copied) == [("pl_1", None), ("pl_2", "pl_1")]
    assert not [one for one in read if one.startswith("SELECT plans") and "ORDER BY" in one], "nothing is sorted"


def _person(url: URL) -> None:
    with dialect_of(url).whole_engine(url).begin() as connection:
        connection.exec_driver_sql(
            "INSERT INTO people (id, name, name_key, kind, state, roles, groups, created) "
            "VALUES ('pn_1', 'Ada', 'ada', 'person', 'active', '', '', '2026-11-25')"
        )


def folder_of_service(data: Path, store: URL | None = None) -> SigningKey:
    """Make the folder of a service that ran and has said nothing yet, with its store."""
    data.mkdir()
    key = SigningKey.load_or_create(data / "authority.key")
    KeyChain(key.public).written(data)
    migrate(store or store_url("", data))
    return key


def names_in(file: Path) -> set[str]:
    with tarfile.open(file) as tar:
        return set(tar.getnames())


def packed_anew(file: Path, anew: Path, others: Iterable[str]) -> None:
    """Pack a backup as programs from before did: with other files of the folder."""
    with tarfile.open(file) as old, tarfile.open(anew, "w:gz") as tar:
        for member in old:
            tar.addfile(member, old.extractfile(member))
        for name in others:
            tar.add(file, name)


def altered(file: Path, anew: Path, statement: str) -> None:
    """Pack a backup with its store changed by a statement."""
    with tarfile.open(file) as old, tarfile.open(anew, "w:gz") as tar, tempfile.TemporaryDirectory() as folder:
        old.extract("headrace.sqlite", folder, filter="data")
        store = Path(folder, "headrace.sqlite")
        with closing(sqlite3.connect(store)) as connection, connection:
            assert connection.execute(statement).rowcount == 1
        for member in old:
            if member.name == store.name:
                tar.add(store, store.name)
            else:
                tar.addfile(member, old.extractfile(member))


@pytest.mark.parametrize("to_server", [False, True])
async def test_a_backup_with_an_event_that_was_altered_is_refused_and_nothing_of_it_is_laid_out(
    quiet_site: Site, tmp_path: Path, postgres: Postgres, *, to_server: bool
) -> None:
    await quiet_site.person("bob", "viewer")
    whole, changed, other = tmp_path / "whole.backup", tmp_path / "changed.backup", tmp_path / "other"
    assert run_here("backup", whole, "--data", quiet_site.settings.data)[0] == 0
    altered(whole, changed, "UPDATE audit SET person = 'pn_other' WHERE sequence = 3")
    other.mkdir()
    database = postgres.database() if to_server else ""
    code, said = run_here("restore", changed, "--data", other, database=database)
    assert (code, "the audit chain of the backup is broken at event 3: " in said) == (1, True), said
    assert list(other.iterdir()) == []
    code, said = run_here("restore", whole, "--data", other, database=database)
    assert code == 0, said


def test_a_backup_inside_its_folder_holds_no_backup_and_says_what_it_leaves_out(tmp_path: Path) -> None:
    folder_of_service(data := tmp_path / "data")
    others = ("yesterday.backup", "leader.json", ".headrace-backup-x/headrace.sqlite", "headrace.sqlite.moved")
    for name in others:
        (data / name).parent.mkdir(exist_ok=True)
        (data / name).write_bytes(b"secret")
    file = data / "today.backup"
    code, said = run_here("backup", file, "--data", data)
    assert code == 0, said
    assert names_in(file) == {"backup.json", "headrace.sqlite", "authority.key", "authority.pub"}
    assert "the service did not put it into" in said
    assert ("`yesterday.backup`" in said, "leader.json" in said) == (True, False), said
    packed_anew(file, tmp_path / "old", others)
    code, said = run_here("restore", tmp_path / "old", "--data", tmp_path / "again")
    assert code == 0, said
    laid_out = {path.name for path in (tmp_path / "again").iterdir()}
    assert laid_out == {"headrace.sqlite", "authority.key", "authority.pub", "halt"}


def test_a_backup_says_when_the_authority_key_is_not_in_it(tmp_path: Path) -> None:
    key = folder_of_service(data := tmp_path / "data")
    (data / "authority.key").rename(tmp_path / "elsewhere")
    for name in ("one", "two"):
        code, said = run_here("backup", tmp_path / name, "--data", data)
        assert (code, f"The authority key {key.public} is not there" in said) == (0, True), said
        SigningKey.load_or_create(data / "authority.key")  # another one is not it


def belongs_to_another(key: Path) -> None:
    key.chmod(0o644)  # what any account can do, and `SigningKey.load` refuses as well
    if os.geteuid() == 0:
        os.chown(key, 4242, 4242)


def lies_elsewhere(key: Path) -> None:
    key.symlink_to(key.rename(key.with_name("elsewhere")))


@pytest.mark.parametrize("change", [belongs_to_another, lies_elsewhere])
def test_a_backup_that_holds_the_authority_key_says_so_whoever_may_read_its_file(
    change: Callable[[Path], None], tmp_path: Path
) -> None:
    key = folder_of_service(data := tmp_path / "data")
    change(data / "authority.key")
    code, said = run_here("backup", file := tmp_path / "backup", "--data", data)
    assert (code, "all keys: keep it safe" in said, "is not there" in said) == (0, True, False), said
    with tarfile.open(file) as tar, tempfile.TemporaryDirectory() as folder:
        tar.extract("authority.key", folder, filter="data")
        held = Path(folder, "authority.key")
        assert SigningKey.from_pem(held.read_bytes(), held).public == key.public


def test_a_backup_names_a_key_in_it_that_it_cannot_read_or_that_came_before(tmp_path: Path) -> None:
    former = folder_of_service(data := tmp_path / "data")
    after = SigningKey.from_seed(b"a" * 32)
    now = datetime(2026, 11, 27, tzinfo=UTC)
    KeyChain(former.public).followed_by(after, former, now, timedelta(days=7)).written(data)
    code, said = run_here("backup", tmp_path / "one", "--data", data)
    assert (code, f"`authority.key` in the backup is {former.public}" in said) == (0, True), said
    (data / "authority.key").write_text("-----BEGIN ENCRYPTED PRIVATE KEY-----")
    code, said = run_here("backup", tmp_path / "two", "--data", data)
    assert (code, "can sign as the service" in said, "is not in the backup" in said) == (0, True, False), said


def test_a_store_of_an_earlier_version_is_neither_read_nor_changed(tmp_path: Path, postgres: Postgres) -> None:
    for data, database in ((tmp_path / "file", ""), (tmp_path / "server", postgres.database())):
        url = store_url(database, data)
        data.mkdir()
        migrate(url, "0033")
        KeyChain(SigningKey.load_or_create(data / "authority.key").public).written(data)
        code, said = run_here("backup", tmp_path / "backup", "--data", data, database=database)
        assert (code, "run this with the version that last ran the service" in said) == (1, True), said
        assert revision_of(url) == "0033"
        assert not (tmp_path / "backup").exists()
        with dialect_of(url).whole_engine(url).begin() as connection:
            connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
        with pytest.raises(CannotStart, match="written by a newer one"):
            copy_store(url, store_url("", tmp_path))


def revision_of(url: URL) -> str:
    with dialect_of(url).reading_engine(url).connect() as connection:
        return str(connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar_one())


def test_commands_on_a_folder_say_which_store_they_lack_instead_of_taking_another(
    tmp_path: Path, postgres: Postgres
) -> None:
    database, data, file = postgres.database(), tmp_path / "data", tmp_path / "backup"
    key = folder_of_service(data, store_url(database, data))
    assert run_here("backup", file, "--data", data, database=database)[0] == 0
    for command in (("backup", tmp_path / "other", "--data", data), ("audit", "verify", "--data", data)):
        code, said = run_here(*command)
        assert (code != 0, "set HEADRACE_DATABASE if that service kept its store" in said) == (True, True), said
    HeadsFile(data / "audit-heads.jsonl", key, [key.public]).append(3, "0" * 64, utc_now())
    migrate(store_url("", data))
    code, said = run_here("backup", tmp_path / "other", "--data", data)
    assert (code, "does not hold audit event 3" in said, "HEADRACE_DATABASE" in said) == (1, True, True), said
    assert not (tmp_path / "other").exists()
    code, said = run_here("move-store", "--data", data, database=postgres.database())
    assert (code, "does not hold audit event 3" in said) == (1, True), said
    assert (data / "headrace.sqlite").exists()


def test_a_restore_changes_nothing_of_a_database_that_is_in_use_not_even_its_schema(
    tmp_path: Path, postgres: Postgres
) -> None:
    folder_of_service(data := tmp_path / "data")
    assert run_here("backup", tmp_path / "backup", "--data", data)[0] == 0
    theirs, strange = postgres.database(), postgres.database()
    migrate(store_url(theirs, data), "0033")
    _person(store_url(theirs, data))
    with dialect_of(url := store_url(strange, data)).whole_engine(url).begin() as connection:
        connection.exec_driver_sql("CREATE TABLE books AS SELECT 1 AS number")
    for database, table in ((theirs, "people"), (strange, "books")):
        code, said = run_here("restore", tmp_path / "backup", "--data", tmp_path / "other", database=database)
        assert (code, f"is in use: its table `{table}` holds rows" in said) == (1, True), said
        assert "give an empty database" in said
        assert not (tmp_path / "other").exists()
        code, said = run_here("move-store", "--data", data, database=database)
        assert (code, f"its table `{table}` holds rows" in said) == (1, True), said
    with pytest.raises(CannotStart, match="holds rows"):
        copy_store(store_url("", data), store_url(theirs, data))
    assert revision_of(store_url(theirs, data)) == "0033"
    code, said = run_here("restore", tmp_path / "backup", "--data", tmp_path / "other", database=postgres.database())
    assert code == 0, said


async def test_a_backup_of_a_running_transfer_is_restored_twice_and_goes_on_once(tmp_path: Path) -> None:
    file, folders = tmp_path / "service.backup", (tmp_path / "first", tmp_path / "second")
    async with started_site(tmp_path) as site:
        await site.start_both()
        large_set(site, each=1 << 20)
        plan = await site.ada.plan("lab:/set", "archive:/copy", rate_limit_bps=4 * SLOW_BPS)
        transfer = await until_durable(site, await site.ada.submit(plan))
        code, said = await asyncio.to_thread(run_here, "backup", file, "--data", site.settings.data)
        assert code == 0, said
        assert (await site.ada.port.transfer(transfer.id)).state is m.TransferState.RUNNING
        await site.stop_node("right")
        for folder in folders:
            code, said = run_here("restore", file, "--data", folder)
            assert code == 0, said
        first, second = ({path.relative_to(folder) for path in folder.rglob("*")} for folder in folders)
        assert first == second
        await moved(site, folders[0], "")
        await site.start_node("right", [("archive", str(site.archive), "delete")])
        await until(site, transfer, "waiting", reason="restored from a backup")
        (folders[0] / "halt").unlink()
        site.use_cases.scheduler.recheck()
        await until(site, transfer, "complete")
        sent = {path.name: path.read_bytes() for path in (site.lab / "set").iterdir()}
        assert {path.name: path.read_bytes() for path in (site.archive / "copy").iterdir()} == sent
        assert (await site.use_cases.audit.verify(full=True)).intact


async def test_a_site_that_is_restored_elsewhere_does_not_know_who_led_it(tmp_path: Path, postgres: Postgres) -> None:
    (here := tmp_path / "here").mkdir()
    (there := tmp_path / "there").mkdir()
    async with many(here, postgres.database()) as site, many(there, postgres.database()) as copy:
        await asyncio.to_thread(site.start, "one")
        await site.first_admin("one")
        assert (here / "data" / "leader.json").exists()
        asked = (here / "backup", "--data", here / "data")
        code, said = await asyncio.to_thread(run, "backup", *asked, database=site.database)
        assert (code, "Not in it" in said) == (0, False), said
        code, said = await asyncio.to_thread(
            run, "restore", here / "backup", "--data", there / "data", database=copy.database
        )
        assert code == 0, said
        assert not (there / "data" / "leader.json").exists()
        started = await asyncio.to_thread(copy.start, "one")
        assert json.loads((there / "data" / "leader.json").read_text(encoding="utf-8"))["pid"] == started.popen.pid
        async with copy.port("one", site.secret) as admin:
            assert "restored from a backup" in (await admin.health()).halted


async def test_an_empty_folder_does_not_start_on_the_database_of_another_one(each_store: URL, tmp_path: Path) -> None:
    database = given(each_store)
    async with started_site(tmp_path, Settings(database=database)) as site:
        await site.service.close()
        empty = site.settings.data if not database else tmp_path / "not-mounted"
        if not database:
            for path in (*empty.glob("*.key"), *empty.glob("authority*")):
                path.unlink(missing_ok=True)
            (empty / "audit-heads.jsonl").unlink(missing_ok=True)
        with pytest.raises(CannotStart, match="is not the folder of this database"):
            await Service.start(replace(site.settings, data=empty), public_url="http://127.0.0.1")
        assert not [*empty.glob("*.key")], "no key is made"


def test_a_restore_that_fills_a_database_has_laid_out_its_halt_and_keys_before(
    tmp_path: Path, postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, file, other = tmp_path / "data", tmp_path / "service.backup", tmp_path / "other"
    folder_of_service(data)
    assert run_here("backup", file, "--data", data)[0] == 0
    seen: set[str] = set()

    def cut_off(_source: URL, _target: URL) -> int:
        seen.update(path.name for path in other.iterdir())
        message = "cut off"
        raise OSError(message)

    monkeypatch.setattr("headrace.api.app.backup.copy_store", cut_off)
    database = given(store_url(postgres.database(), tmp_path))
    code, said = run_here("restore", file, "--data", other, database=database)
    assert (code, "cut off" in said) == (1, True), said
    assert {"halt", "authority.key"} <= seen
    assert not other.exists(), "what fails leaves nothing"


def test_heads_that_say_nothing_of_the_service_are_refused_before_anything_is_laid_out(tmp_path: Path) -> None:
    data, file, other, heads = (tmp_path / name for name in ("data", "service.backup", "other", "heads.jsonl"))
    key = folder_of_service(data)
    assert run_here("backup", file, "--data", data)[0] == 0
    code, said = run_here("restore", file, "--data", other, "--heads", heads)
    assert (code, "there is no file" in said, other.exists()) == (1, True, False), said
    heads.write_text("{}\n")
    code, said = run_here("restore", file, "--data", other, "--heads", heads)
    assert (code, "holds no head" in said, other.exists()) == (1, True, False), said
    heads.unlink()
    written = utc_now()
    HeadsFile(heads, key).append(0, "0" * 64, written)
    code, said = run_here("restore", file, "--data", other, "--heads", heads)
    # Heads that are no newer than the backup know of nothing that came after it, and it is not said to be whole.
    known = re.search(
        r"; no later audit event is known to be lost up to (\S+), when the newest of these heads was", said
    )
    assert (code, known is not None) == (0, True), said
    assert known is not None
    assert abs(datetime.fromisoformat(known[1]) - written) < timedelta(seconds=1)
    assert "what came after it is not known" in said


def test_what_is_no_backup_is_refused(tmp_path: Path) -> None:
    for content in (b"", b"no tar at all"):
        (tmp_path / "file").write_bytes(content)
        code, said = run_here("restore", tmp_path / "file", "--data", tmp_path / f"out{len(content)}")
        assert (code, "is not a backup: `headrace backup` did not make it" in said) == (1, True), said
    with tarfile.open(tmp_path / "other.tar.gz", "w:gz") as tar:
        tar.add(tmp_path / "file", "file")
    code, said = run_here("restore", tmp_path / "other.tar.gz", "--data", tmp_path / "third")
    assert (code, "not a backup" in said) == (1, True), said
    folder_of_service(tmp_path / "data")
    assert run_here("backup", tmp_path / "backup", "--data", tmp_path / "data")[0] == 0
    (tmp_path / "cut").write_bytes((tmp_path / "backup").read_bytes()[:-1000])
    code, said = run_here("restore", tmp_path / "cut", "--data", tmp_path / "third")
    assert (code, "cut off" in said) == (1, True), said
    (tmp_path / "third").mkdir()
    code, said = run_here("restore", tmp_path / "backup", "--data", tmp_path / "third")
    assert code == 0, "a refused file leaves the folder empty"


async def test_a_backup_and_a_restore_onto_a_full_disk_name_what_needs_room(quiet_site: Site, tmp_path: Path) -> None:
    await quiet_site.use_cases.audit.export_head()
    whole = tmp_path / "whole.backup"
    assert run_here("backup", whole, "--data", quiet_site.settings.data)[0] == 0
    with mounted(tmp_path / "small", "64k") as small:
        code, said = run_here("backup", small / "x.backup", "--data", quiet_site.settings.data)
        assert (code, f"make room where `{small / 'x.backup'}` or" in said) == (1, True), said
        code, said = run_here("restore", whole, "--data", small / "restored")
        assert (code, "make room where" in said, f"`{small / 'restored'}`" in said) == (1, True, True), said
        assert "[Errno" not in said
        assert list(small.iterdir()) == []
