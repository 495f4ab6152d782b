"""Brings the store to the current schema; runs at every start before anything else opens it."""

import logging
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.util.exc import CommandError
from sqlalchemy import URL

from headrace.api.errors import StoreIsNewer
from headrace.api.store.address import dialect_of, shown

logging.getLogger("alembic").setLevel(logging.WARNING)
"""Which migrations run is of interest to nobody who starts the service; what goes wrong is raised."""
_MIGRATIONS = Path(__file__).parent / "migrations"


def migrate(url: URL, to: str = "head") -> None:
    """Apply what the store at `url` (a file is made) lacks of the migrations up to `to`: all, or else none."""
    dialect = dialect_of(url)
    engine = dialect.whole_engine(url)
    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    try:
        with engine.begin() as connection:
            dialect.require_fit(connection)
            config.attributes["connection"] = connection
            command.upgrade(config, to)
    except CommandError as error:
        message = (
            f"the store `{shown(url)}` has a schema that this program does not know ({error}): it was written by a "
            "newer one; start that one, or put back a backup from before it"
        )
        raise StoreIsNewer(message) from error
    finally:
        engine.dispose()
