"""Where the store is: a SQLite file in the data folder, or a PostgreSQL database that a URL names."""

from collections.abc import Callable
from concurrent.futures import Executor
from ipaddress import ip_address
from pathlib import Path
from typing import Final, Protocol

from sqlalchemy import URL, Engine, make_url
from sqlalchemy.engine import Connection as SqlConnection
from sqlalchemy.exc import ArgumentError

from headrace.api.data_folder import STORE
from headrace.api.settings import SettingError
from headrace.api.store import postgresql, sqlite
from headrace.api.store.pool import StoreConnection

_ENCRYPTED: Final = frozenset({"require", "verify-ca", "verify-full"})
_EXAMPLE: Final = "postgresql://headrace@db.example.org/headrace?sslmode=verify-full"


class Dialect(Protocol):
    """What each kind of store does in its own way; `sqlite` and `postgresql` are two."""

    def connector(self, url: URL, threads: Executor, *, reads: bool, alone: bool) -> Callable[[], StoreConnection]:
        """Return what opens connections, reading or writing ones; those that write wait for each other.

        `alone` is for a service: no second one gets a connection that writes.
        """
        ...

    def whole_engine(self, url: URL) -> Engine:
        """Return an engine for work on the whole store: its transactions keep other writers out."""
        ...

    def reading_engine(self, url: URL) -> Engine:
        """Return an engine that only reads, row by row; its transactions see one state."""
        ...

    def require_fit(self, connection: SqlConnection) -> None:
        """Refuse a database that would order or keep texts otherwise than by the bytes of UTF-8."""
        ...


def store_url(database: str, data: Path) -> URL:
    """Return the URL of the store: of `database`, or (empty) of the SQLite file in `data`; raises `SettingError`."""
    if not database:
        return URL.create("sqlite", database=str(data / STORE))
    try:
        url = make_url(database)
    except ArgumentError:
        url = URL.create("unknown")
    if url.drivername not in {"postgresql", "postgres"} or not url.database:
        # The value is not repeated: it may hold a password.
        message = f"`HEADRACE_DATABASE` is not understood; write a URL such as `{_EXAMPLE}`"
        raise SettingError(message)
    if not _is_near(url) and url.query.get("sslmode") not in _ENCRYPTED:
        message = (
            f"`HEADRACE_DATABASE` names another host (`{url.host}`), and that needs TLS: add `?sslmode=verify-full`"
        )
        raise SettingError(message)
    return url.set(drivername="postgresql+psycopg")


def missing_store(url: URL, data: Path) -> str | None:
    """Return what to say where the store of a service that ran in `data` is not at `url`; nothing where it is.

    Whether a database server has it shows when it is asked.
    """
    if url.database is None or url.get_backend_name() != "sqlite" or Path(url.database).is_file():
        return None
    return (
        f"`{data}` is the folder of a service that ran, and its store `{url.database}` is missing: set "
        "HEADRACE_DATABASE if that service kept its store in PostgreSQL, or put the file back from a backup"
    )


def dialect_of(url: URL) -> Dialect:
    """Return what works on the store at `url`."""
    return sqlite if url.get_backend_name() == "sqlite" else postgresql


def shown(url: URL) -> str:
    """Return how people read the address: a path, or a URL without its password."""
    if url.get_backend_name() == "sqlite":
        return url.database or ""
    return url.set(drivername="postgresql").render_as_string(hide_password=True)


def _is_near(url: URL) -> bool:
    """Whether the connection stays on this host: a socket's folder, or a loopback address."""
    host = url.host or str(url.query.get("host", ""))
    if not host or host.startswith("/") or host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
