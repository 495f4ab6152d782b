"""A service in one file, laid out again elsewhere, and its store moved to PostgreSQL."""

import subprocess
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest
from demo.stage import surroundings
from sqlalchemy import URL, select
from tests.servers.headrace import HEADRACE
from tests.servers.postgres import Postgres
from tests.servers.site import WAIT_S, Site, started_site
from tests.service.test_transfers import small_set

from headrace.api.app.service import Service
from headrace.api.settings import Settings
from headrace.api.store.address import dialect_of, store_url
from headrace.api.store.base import Base
from headrace.api.store.copy import copy_store
from headrace.api.store.migrate import migrate
from headrace.client import models as m

LIMIT_S = 100
pytestmark = [pytest.mark.anyio, pytest.mark.timeout(180)]


def run(*arguments: str | Path, database: str = "") -> tuple[int, str]:
    done = subprocess.run(
        [HEADRACE, *arguments],
        check=False, capture_output=True, text=True, timeout=LIMIT_S,
        env=surroundings() | {"HEADRACE_DATABASE": database},
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


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
        assert (code, "keep it safe" in said) == (0, True), said
        assert file.stat().st_mode & 0o777 == 0o600
        assert run("backup", file, "--data", site.settings.data, database=database)[0] == 1, "no file is replaced"
        await site.person("late", "requester")
        await site.use_cases.audit.export_head()

        target = given(store_url(postgres.database(), tmp_path)) if database else ""
        heads = site.settings.data / "audit-heads.jsonl"
        code, said = run("restore", file, "--data", other, "--heads", heads, database=target)
        assert (code, "later audit events are lost" in said) == (0, True), said
        assert " 0 later" not in said
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


def _person(url: URL) -> None:
    with dialect_of(url).whole_engine(url).begin() as connection:
        connection.exec_driver_sql(
            "INSERT INTO people (id, name, name_key, kind, state, roles, groups, created) "
            "VALUES ('pn_1', 'Ada', 'ada', 'person', 'active', '', '', '2026-11-25')"
        )


def test_what_is_no_backup_is_refused(tmp_path: Path) -> None:
    for content in (b"", b"no tar at all"):
        (tmp_path / "file").write_bytes(content)
        code, said = run("restore", tmp_path / "file", "--data", tmp_path / f"out{len(content)}")
        assert (code, "is no backup: it was not made by `headrace backup`" in said) == (1, True), said
    with tarfile.open(tmp_path / "other.tar.gz", "w:gz") as tar:
        tar.add(tmp_path / "file", "file")
    code, said = run("restore", tmp_path / "other.tar.gz", "--data", tmp_path / "third")
    assert (code, "no backup" in said) == (1, True), said
