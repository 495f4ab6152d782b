"""Whether what stands against a start may pass by itself: a store that is damaged does not."""

import logging
import socket
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import URL, text
from sqlalchemy.exc import OperationalError, SQLAlchemyError
from tests.servers.site import started_site

from headrace.api.app.serve import _is_no_word_of_one_server
from headrace.api.app.service import Service
from headrace.api.app.start_trouble import may_pass
from headrace.api.data_folder import STORE
from headrace.api.store.address import dialect_of, store_url


def failure(url: URL, statement: str = "SELECT * FROM transfers") -> SQLAlchemyError:
    """What the store says when it is asked."""
    with pytest.raises(SQLAlchemyError) as failed, dialect_of(url).reading_engine(url).connect() as connection:
        connection.execute(text(statement))
    return failed.value


def test_a_store_that_is_damaged_does_not_come_back_by_itself(tmp_path: Path) -> None:
    url = store_url("", tmp_path)
    Path(url.database or "").write_bytes(b"no database at all, and long enough to have a header" * 100)
    assert not may_pass(failure(url))


def test_a_store_that_lacks_a_table_does_not_come_back_by_itself(tmp_path: Path) -> None:
    url = store_url("", tmp_path)
    Path(url.database or "").write_bytes(b"")
    assert not may_pass(failure(url))


def test_a_store_that_cannot_be_reached_comes_back(tmp_path: Path) -> None:
    assert may_pass(failure(store_url("", tmp_path / "not mounted")))
    away = failure(store_url("postgresql://headrace@127.0.0.1:1/headrace", tmp_path))
    assert isinstance(away, OperationalError)
    assert may_pass(away)


def test_what_a_start_raised_from_a_trouble_of_the_store_is_told_by_that(tmp_path: Path) -> None:
    url = store_url("", tmp_path)
    Path(url.database or "").write_bytes(b"no database at all, and long enough to have a header" * 100)
    error = OSError("as if it were a matter of the disk")
    error.__cause__ = failure(url)
    assert not may_pass(error)


def test_a_process_with_three_servers_does_not_say_three_times_that_it_began() -> None:
    for said, kept in (("Started server process [%d]", False), ("Finished server process [%d]", False), ("no", True)):
        record = logging.LogRecord("uvicorn.error", logging.INFO, "", 0, said, (1,) if "%" in said else (), None)
        assert _is_no_word_of_one_server(record) is kept


@pytest.mark.anyio
async def test_no_node_is_listened_to_by_a_start_whose_store_takes_no_changes(tmp_path: Path) -> None:
    async with started_site(tmp_path) as site:
        settings = site.settings
    with closing(sqlite3.connect(settings.data / STORE, isolation_level=None)) as store:
        store.execute("CREATE TRIGGER no BEFORE UPDATE ON alembic_version BEGIN SELECT RAISE(ABORT, 'no changes'); END")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        # Who listened first would say that the address is in use.
        settings = replace(settings, hub_listen=f"127.0.0.1:{taken.getsockname()[1]}")
        with pytest.raises(SQLAlchemyError, match="no changes"):
            await Service.start(settings, public_url="http://127.0.0.1")
