"""A real service in a process of its own, with an embedded node and two folders, and people who use it."""

import json
import select
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from demo.stage import HEADRACE, at_terminal, surroundings
from tests.servers import forked

PASSWORD = "correct horse battery staple"  # noqa: S105 - of a service that lives for one test run
READY_S = 60
COMMAND_S = 120
Spawn = Callable[..., subprocess.Popen[Any]]
"""Starts a process, as `subprocess.Popen` does."""


@dataclass(frozen=True)
class Ran:
    """How one command ended."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:  # noqa: ANN401 - a JSON document
        return json.loads(self.out)

    @property
    def items(self) -> Any:  # noqa: ANN401 - a JSON document
        """What a list that was written as JSON holds."""
        return self.document["items"]


@dataclass(frozen=True)
class Person:
    """Somebody with a login of their own."""

    name: str
    service: str
    config: Path

    @property
    def environment(self) -> dict[str, str]:
        return {"HEADRACE_SERVICE": self.service, "HEADRACE_CONFIG": str(self.config)}

    def run(self, *arguments: str, typed: str | None = None, **environment: str) -> Ran:
        """Run a command without a terminal."""
        kept = surroundings()
        own = {**kept, **self.environment, "NO_COLOR": "1", **environment}
        done = forked.run([HEADRACE, *arguments], typed=typed or "", environment=own, limit_s=COMMAND_S)
        return Ran(done.returncode, done.stdout, done.stderr)

    def prove(self, *arguments: str) -> Ran:
        """Run a command at a terminal, and type the password where it asks for it."""
        done = at_terminal(arguments, surroundings() | self.environment | {"NO_COLOR": "1"}, PASSWORD, COMMAND_S)
        return Ran(done.code, done.out, done.err)


@dataclass(frozen=True)
class Service:
    """A running service; `source` and `destination` are its endpoints' folders."""

    url: str
    folder: Path
    source: Path
    destination: Path
    admin: Person
    metrics: str | None
    """Where its figures are read, with the setting for that."""

    def person(self, name: str, *roles: str) -> Person:
        """Invite somebody, who accepts."""
        options = [option for role in roles for option in ("--role", role)]
        invited = self.admin.prove("invite", name, *options, "--json")
        assert invited.code == 0, invited.err
        return accepted(self, name, invited.document["link"])


def accepted(service: Service, name: str, link: str) -> Person:
    person = Person(name, service.url, service.folder / f"config-{name}")
    signed_in = person.run("login", "--link", link, "--name", name, "--password-stdin", typed=f"{PASSWORD}\n")
    assert signed_in.code == 0, signed_in.err
    return person


@contextmanager
def serving(folder: Path, *, spawn: Spawn = forked.start, **settings: int | str) -> Iterator[Service]:
    """Start `headrace serve` with the endpoints `src` (read) and `dst` (delete), other settings, and a first admin."""
    with started(folder, spawn, **settings) as facts:
        link = Path(facts["bootstrap_file"]).read_text(encoding="utf-8").strip()
        admin = Person("admin", facts["url"], folder / "config-admin")
        service = Service(facts["url"], folder, folder / "source", folder / "destination", admin, facts["metrics"])
        accepted(service, "admin", link)
        yield service


@contextmanager
def started(folder: Path, spawn: Spawn = forked.start, /, **settings: int | str) -> Iterator[dict[str, Any]]:
    """Start `headrace serve` on free ports, and give what it says when it is ready."""
    source, destination = folder / "source", folder / "destination"
    source.mkdir()
    destination.mkdir()
    listen = str(settings.pop("listen", "127.0.0.1:0"))
    options = [
        "--data", str(folder / "data"), "--listen", listen, "--hub-listen", "127.0.0.1:0", "--allow-root",
        "--root", f"src={source}:read", "--root", f"dst={destination}:delete", "--json",
    ]  # fmt: skip
    kept = surroundings()
    kept |= {f"HEADRACE_{name.upper()}": str(value) for name, value in settings.items()}
    log = (folder / "serve.log").open("wb")
    with log, spawn([HEADRACE, "serve", *options], stdout=subprocess.PIPE, stderr=log, env=kept) as process:
        try:
            assert process.stdout is not None
            ready, _, _ = select.select([process.stdout], [], [], READY_S)
            assert ready, f"not ready after {READY_S} s:\n{(folder / 'serve.log').read_text()}"
            line = process.stdout.readline()
            assert line, (folder / "serve.log").read_text()
            yield json.loads(line)
        finally:
            process.terminate()
            process.wait(30)
