"""Brings the store to the current schema; runs at every start before anything else opens it."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import URL, create_engine

from headrace.api.store.database import begin_with

_MIGRATIONS = Path(__file__).parent / "migrations"


def migrate(path: Path) -> None:
    """Apply every migration that the SQLite file at `path` (made when absent) lacks: all of them or, failing, none."""
    engine = create_engine(URL.create("sqlite", database=str(path)))
    begin_with(engine, "BEGIN IMMEDIATE")
    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    try:
        with engine.begin() as connection:
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
    finally:
        engine.dispose()
