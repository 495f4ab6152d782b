"""A real PostgreSQL server for tests: made in a folder of its own, run by an account without rights, on a socket."""

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from sqlalchemy import create_engine, make_url, text
from sqlalchemy.pool import NullPool

from headrace.api.store.address import store_url
from headrace.api.store.migrate import migrate

ACCOUNT = 65534
"""`nobody`: PostgreSQL refuses to run as root."""
LIMIT_S = 60
FORM = "TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C'"


@dataclass
class Postgres:
    """A running server; every test has a database of its own in it."""

    folder: Path
    programs: Path
    more: str = ""
    """Options of the server beside our own."""
    numbers: Iterator[int] = field(default_factory=count)
    _template: str = ""

    def migrated(self) -> str:
        """Make a database with our tables in it; returns its URL."""
        if not self._template:
            self._template = self.database()
            migrate(store_url(self._template, Path()))
        return self.database(f"TEMPLATE {make_url(self._template).database}")

    def database(self, form: str = FORM) -> str:
        """Make an empty database; returns its URL."""
        name = f"headrace_{next(self.numbers)}"
        self.tell(f"CREATE DATABASE {name} {form}")
        return self.url(name)

    def tell(self, statement: str, database: str = "postgres") -> None:
        """Run a statement as somebody who runs the server."""
        engine = create_engine(store_url(self.url(database), Path()), isolation_level="AUTOCOMMIT", poolclass=NullPool)
        with engine.connect() as connection:
            connection.execute(text(statement))

    @contextmanager
    def locking(self, table: str, database: str) -> Iterator[None]:
        """Let a session hold a table for itself for the block."""
        engine = create_engine(store_url(self.url(database), Path()), poolclass=NullPool)
        with engine.begin() as connection:
            connection.execute(text(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE"))
            yield

    def cut(self, database: str) -> None:
        """End every connection to a database."""
        self.tell(f"SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = '{database}'")  # noqa: S608

    def url(self, name: str) -> str:
        return f"postgresql://nobody@/{name}?host={self.folder}"

    def start(self) -> None:
        options = (
            f"-c unix_socket_directories={self.folder} -c listen_addresses= -c fsync=off -c max_connections=200 "
            f"-c log_statement=none {self.more}"
        )
        self._run("pg_ctl", "start", "--wait", "--silent", "--log", str(self.folder / "log"), "--options", options)

    def stop(self, mode: str = "immediate") -> None:
        """Stop the server: `immediate` as if its host had failed."""
        self._run("pg_ctl", "stop", "--silent", "--mode", mode)

    @contextmanager
    def standing_still(self) -> Iterator[None]:
        """Stop every process of the server for the block, so that it takes connections and answers nothing."""
        postmaster = int((self.folder / "data" / "postmaster.pid").read_text(encoding="utf-8").split()[0])
        children = Path(f"/proc/{postmaster}/task/{postmaster}/children")
        os.kill(postmaster, signal.SIGSTOP)  # first: it makes no more of them
        pids = [postmaster, *map(int, children.read_text(encoding="utf-8").split())]
        try:
            for pid in pids:
                os.kill(pid, signal.SIGSTOP)
            yield
        finally:
            for pid in reversed(pids):
                os.kill(pid, signal.SIGCONT)

    def make(self) -> None:
        self._run("initdb", "--no-sync", "--auth=trust", "--username=nobody", "--encoding=UTF8", "--locale=C.UTF-8")

    def _run(self, program: str, *arguments: str) -> None:
        account = ACCOUNT if os.geteuid() == 0 else None
        done = subprocess.run(
            [self.programs / program, "--pgdata", self.folder / "data", *arguments],
            check=False, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd=self.folder,
            timeout=LIMIT_S, env={"PATH": os.environ["PATH"]}, user=account, group=account,
            extra_groups=None if account is None else [],
        )  # fmt: skip
        assert done.returncode == 0, done.stderr


@contextmanager
def postgres_running(kept: Path | None = None, more: str = "") -> Iterator[Postgres]:
    """Run a server for the block; in `kept`, which stays, with the databases that it had."""
    programs = max(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name), default=None)
    assert programs is not None, "PostgreSQL is not installed: `make tools` installs it"
    folder = kept or Path(tempfile.mkdtemp(prefix="headrace-pg-"))
    server = Postgres(folder, programs, more)
    try:
        if not (folder / "data").exists():
            folder.mkdir(exist_ok=True)
            if os.geteuid() == 0:
                os.chown(folder, ACCOUNT, ACCOUNT)
            server.make()
        server.start()
        try:
            yield server
        finally:
            server.stop("fast" if kept else "immediate")
    finally:
        if kept is None:
            shutil.rmtree(folder)
