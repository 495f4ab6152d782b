"""Fixtures: stores of both kinds, and where the sites of tests keep their data."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import URL
from tests.servers import site
from tests.servers.postgres import Postgres, postgres_running

from headrace.api.store.address import store_url
from headrace.api.store.migrate import migrate

__all__ = ["each_store", "postgres", "store_of_sites"]


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL server, started when the first test of a worker needs it."""
    with postgres_running() as server:
        yield server


@pytest.fixture(scope="session", autouse=True)
def store_of_sites(request: pytest.FixtureRequest) -> None:
    """Let sites keep their data where `--store` says."""
    if request.config.getoption("store") == "postgresql":
        server: Postgres = request.getfixturevalue("postgres")
        site.new_database = server.migrated


@pytest.fixture(params=["sqlite", "postgresql"])
def each_store(request: pytest.FixtureRequest, tmp_path: Path) -> URL:
    """The address of a migrated store, once of each kind."""
    if request.param == "postgresql":
        server: Postgres = request.getfixturevalue("postgres")
        return store_url(server.migrated(), tmp_path)
    url = store_url("", tmp_path)
    migrate(url)
    return url
