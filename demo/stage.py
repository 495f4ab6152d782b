"""The processes of the demo: the service, two nodes, and the commands a person types."""

import json
import os
import pty
import select
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

REPOSITORY = Path(__file__).resolve().parent.parent
HEADRACE = Path(sys.executable).parent / "headrace"
NODE_PROGRAM = REPOSITORY / os.environ.get("NODE_PROGRAM", "engine/target/release/headrace-node")
READY_LIMIT_S = 120
_ASKS = b"Your password: "


class DemoError(Exception):
    """A step of the demo did not do what it should."""


def surroundings() -> dict[str, str]:
    """Return this process's environment without settings of Headrace: nothing of the machine's own gets in."""
    return {name: value for name, value in os.environ.items() if not name.startswith("HEADRACE_")}


@dataclass(frozen=True, slots=True)
class Ran:
    """How one command ended."""

    code: int
    out: str
    err: str


def at_terminal(words: Sequence[str], environment: Mapping[str, str], password: str, limit_s: float) -> Ran:
    """Run `headrace WORDS` for a person at a terminal, who types the password where it is asked for."""
    mine, theirs = pty.openpty()
    shown, typed, limit = b"", 0, time.monotonic() + limit_s
    with tempfile.TemporaryFile("w+", encoding="utf-8") as output:
        process = subprocess.Popen(
            [HEADRACE, *words], stdin=theirs, stdout=output, stderr=theirs, start_new_session=True, env=environment
        )
        os.close(theirs)
        try:
            while select.select([mine], [], [], max(0, limit - time.monotonic()))[0]:
                try:
                    shown += os.read(mine, 65536)
                except OSError:  # nobody has the other side any more
                    break
                # Its last blank comes when nothing is echoed any more.
                if shown.count(_ASKS) > typed:
                    typed += 1
                    os.write(mine, password.encode() + b"\n")
            code = process.wait(max(0, limit - time.monotonic()))
        finally:
            process.kill()
            process.wait()
            os.close(mine)
        output.seek(0)
        return Ran(code, output.read(), shown.decode(errors="replace"))


@dataclass(frozen=True, slots=True)
class Person:
    """A person at their own terminal: a configuration folder holds their session."""

    name: str
    config: Path
    service: str
    password: str

    @property
    def environment(self) -> dict[str, str]:
        """What the command line reads; nothing of the machine's own configuration leaks in."""
        kept = surroundings()
        return kept | {"HEADRACE_CONFIG": str(self.config), "HEADRACE_SERVICE": self.service}

    @property
    def session(self) -> str:
        """The secret of the person's session at the service."""
        saved = json.loads((self.config / "session.json").read_text(encoding="utf-8"))
        return str(saved[self.service]["secret"])

    def run(self, *words: str, typed: str | None = None, expect: Sequence[int] = (0,), show: bool = False) -> str:
        """Run `headrace WORDS` and return what it printed on standard output."""
        if show:
            say(f"\n{self.name} $ headrace {shlex.join(words)}")
        done = subprocess.run(
            [HEADRACE, *words],
            env=self.environment,
            input=typed if typed is not None else "",
            text=True,
            stdout=subprocess.PIPE,
            stderr=None if show else subprocess.PIPE,
            check=False,
            timeout=600,
        )
        if show:
            say(done.stdout.rstrip())
        if done.returncode not in expect:
            detail = (done.stderr or "") + done.stdout
            message = f"`headrace {shlex.join(words)}` ended with {done.returncode}, not {list(expect)}:\n{detail}"
            raise DemoError(message)
        return done.stdout

    def facts(self, *words: str, typed: str | None = None) -> Mapping[str, object]:
        """Run `headrace WORDS --json` and return its one document."""
        answer = json.loads(self.run(*words, "--json", typed=typed))
        if not isinstance(answer, dict):
            message = f"`headrace {shlex.join(words)} --json` did not print one object"
            raise DemoError(message)
        return answer

    def proven(self, *words: str) -> Mapping[str, object]:
        """Run `headrace WORDS --json` at a terminal, and type the password that proves who this is."""
        done = at_terminal((*words, "--json"), self.environment, self.password, 120)
        if done.code != 0:
            message = f"`headrace {shlex.join(words)}` ended with {done.code}:\n{done.err}"
            raise DemoError(message)
        facts: dict[str, object] = json.loads(done.out)
        return facts

    def listed(self, *words: str) -> list[dict[str, Any]]:
        """Run `headrace WORDS --json` and return what the list holds; releases before `items` wrote a bare one."""
        answer: Any = json.loads(self.run(*words, "--json"))
        found: list[dict[str, Any]] = answer["items"] if isinstance(answer, dict) else answer
        return found


@dataclass(slots=True)
class Stage:
    """Owns every process of the demo and ends them, by process id, when it is left."""

    folder: Path
    processes: dict[str, subprocess.Popen[str]] = field(default_factory=dict)
    addresses: tuple[str, str] = ("127.0.0.1:0", "127.0.0.1:0")
    """Where the service listens, for people and for nodes: free ports at first, then always the same ones."""
    inside: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Words before the command of a node, by its name, for one that runs in another host of a lab."""
    programs: dict[str, Path] = field(default_factory=dict)
    """What a process of the service runs, by its name, where it is not today's `headrace`."""
    spawn: Callable[..., subprocess.Popen[Any]] = subprocess.Popen
    """What starts processes: called as `subprocess.Popen`."""

    def __enter__(self) -> Self:
        """Own nothing yet."""
        return self

    def __exit__(self, *_: object) -> None:
        """End what still runs: asked first, killed after ten seconds."""
        for process in self.processes.values():
            if process.poll() is None:
                process.terminate()
        for process in self.processes.values():
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            if process.stdout is not None:
                process.stdout.close()

    def service(self, **settings: str) -> Mapping[str, object]:
        """Start `headrace serve` (again, on the same addresses and data) with settings; return its ready line."""
        listen, hub = self.addresses
        ready = self.process("service", listen, hub, **settings)
        self.addresses = listen if "public_url" in settings else urlsplit(str(ready["url"])).netloc, str(ready["hub"])
        return ready

    def process(self, name: str, listen: str, hub: str, **settings: str) -> Mapping[str, object]:
        """Start a process of the service at these addresses; return its ready line."""
        data = self.folder / "service"
        ports = ("--listen", listen, "--hub-listen", hub)
        command = [str(self.programs.get(name, HEADRACE)), "serve", "--data", str(data), *ports, *_as_root(), "--json"]
        return self._start(name, command, {f"HEADRACE_{key.upper()}": value for key, value in settings.items()})

    def node(self, name: str, *words: str, program: Path = NODE_PROGRAM) -> Mapping[str, object]:
        """Start `headrace-node WORDS` for the node `name` and return its ready line."""
        state = ("--state", str(self.folder / "state" / name))
        return self._start(
            name, [*self.inside.get(name, ()), str(program), words[0], *_as_root(), *state, "--json", *words[1:]]
        )

    def kill(self, name: str) -> None:
        """`kill -9` one process: no chance to tidy up."""
        process = self.processes[name]
        process.send_signal(signal.SIGKILL)
        process.wait()
        if process.stdout is not None:
            process.stdout.close()

    def end(self, name: str) -> int:
        """Ask one process to end, and return with what it did."""
        process = self.processes[name]
        process.terminate()
        code = process.wait(READY_LIMIT_S)
        if process.stdout is not None:
            process.stdout.close()
        return code

    def _start(self, name: str, command: list[str], settings: Mapping[str, str] | None = None) -> Mapping[str, object]:
        environment = surroundings() | dict(settings or {})
        with (self.folder / f"{name}.log").open("a") as log:
            process = self.spawn(command, stdout=subprocess.PIPE, stderr=log, text=True, env=environment)
        self.processes[name] = process
        assert process.stdout is not None  # noqa: S101 (asked for above)
        limit = time.monotonic() + READY_LIMIT_S
        while time.monotonic() < limit:
            if select.select([process.stdout], [], [], 1)[0]:
                line = process.stdout.readline()
                if not line:
                    break
                if line.startswith("{"):
                    ready = json.loads(line)
                    if isinstance(ready, dict):
                        return ready
        message = f"{name} did not become ready:\n{(self.folder / f'{name}.log').read_text()[-2000:]}"
        raise DemoError(message)


def say(text: str) -> None:
    """Print for people."""
    print(text, flush=True)  # noqa: T201 (the demo talks to a person at a terminal)


def _as_root() -> list[str]:
    return ["--allow-root"] if os.geteuid() == 0 else []
