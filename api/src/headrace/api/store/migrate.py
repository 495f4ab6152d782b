"""Brings the store to the current schema; runs at every start before anything else opens it."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.util.exc import CommandError
from sqlalchemy import URL, create_engine

from headrace.api.errors import CannotStart
from headrace.api.store.database import begin_with

_MIGRATIONS = Path(__file__).parent / "migrations"


def migrate(path: Path, to: str = "head") -> None:
    """Apply what the SQLite file at `path` (made when absent) lacks of the migrations up to `to`: all, or else none."""
    engine = create_engine(URL.create("sqlite", database=str(path)))
    begin_with(engine, "BEGIN IMMEDIATE")
    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    try:
        with engine.begin() as connection:
            config.attributes["connection"] = connection
            command.upgrade(config, to)
    except CommandError as error:
        message = (
            f"the store `{path}` has a schema that this program does not know ({error}): it was written by a newer "
            "one; start that one, or put back a backup from before it"
        )
        raise CannotStart(message) from error
    finally:
        engine.dispose()
