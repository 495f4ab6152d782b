"""Brings the store to the current schema; runs at every start before anything else opens it."""

import logging
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util.exc import CommandError
from sqlalchemy import URL

from headrace.api.errors import CannotStart, StoreIsNewer
from headrace.api.store.address import dialect_of, shown

logging.getLogger("alembic").setLevel(logging.WARNING)
"""Which migrations run is of interest to nobody who starts the service; what goes wrong is raised."""
_MIGRATIONS = Path(__file__).parent / "migrations"


def require_current(url: URL) -> None:
    """Raise `CannotStart` when the store at `url`, which is only read, has another schema than this program's."""
    with dialect_of(url).reading_engine(url).connect() as connection:
        found = MigrationContext.configure(connection).get_current_revision()
    scripts = ScriptDirectory(str(_MIGRATIONS))
    if found == scripts.get_current_head():
        return
    if found is None:
        message = f"`{shown(url)}` holds no store of a service"
        raise CannotStart(message)
    try:
        scripts.get_revision(found)
    except CommandError as error:
        raise _newer(url, error) from error
    message = (
        f"the store `{shown(url)}` has the schema of an earlier version ({found}), and this program only reads its own "
        f"({scripts.get_current_head()}): run this with the version that last ran the service, or first start the "
        "service with this one, which brings the store up to date"
    )
    raise CannotStart(message)


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
        raise _newer(url, error) from error
    finally:
        engine.dispose()


def _newer(url: URL, error: CommandError) -> StoreIsNewer:
    message = (
        f"the store `{shown(url)}` has a schema that this program does not know ({error}): it was written by a "
        "newer one; start that one, or put back a backup from before it"
    )
    return StoreIsNewer(message)
