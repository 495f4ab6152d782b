"""Processes of `headrace` that need not import it anew: each is forked from one that has.

A start of the service took 9.7 s of processor time on a slow host, of which most were imports; forked, it takes 2. What
runs is the same code in a process of its own, with pipes, environment, signals and an end of its own. The program
itself, as a person starts it, runs in `make demo`, in tests of terminals and processes, and wherever an interpreter
reads settings when it starts.
"""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from multiprocessing.process import BaseProcess
from multiprocessing.reduction import DupFd
from pathlib import Path
from typing import Any, AnyStr, Final, cast

from demo.stage import HEADRACE

_READ_AT_THE_START: Final = ("PYTHON", "LC_", "LANG", "LD_")
_FORKING: Final = multiprocessing.get_context("forkserver")
_FORKING.set_forkserver_preload(["tests.servers.preloaded"])


def start(command: Sequence[str | Path], **options: Any) -> subprocess.Popen[Any]:  # noqa: ANN401 - as Popen
    """Start a command as `subprocess.Popen` does; `headrace` of this environment is forked where that is the same."""
    environment = options.get("env") or os.environ
    if Path(command[0]) != HEADRACE or _interpreter(environment) != _interpreter(os.environ):
        return subprocess.Popen(command, **options)
    return _Forked(command, **options)


def run(
    command: Sequence[str | Path], *, typed: str, environment: Mapping[str, str], limit_s: float
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, without a terminal; raises `subprocess.TimeoutExpired`."""
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with start(command, **pipes, text=True, env=environment) as process:
        try:
            out, err = process.communicate(typed, limit_s)
        except BaseException:
            process.kill()
            raise
        return subprocess.CompletedProcess(command, process.returncode, out, err)


def _interpreter(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(_READ_AT_THE_START)}


class _Forked(subprocess.Popen[AnyStr]):
    """A process that a server forked. Pipes and waiting are `subprocess`'s; start and end are `multiprocessing`'s."""

    _process: BaseProcess

    def _execute_child(self, args: Any, *rest: Any) -> None:  # noqa: ANN401 - as its parent has it
        folder, environment = rest[4:6]
        in_read, in_write, out_read, out_write, error_read, error_write = rest[9:15]
        streams = {0: in_read, 1: out_write, 2: error_write}
        self._process = _FORKING.Process(
            target=_become,
            args=(
                [str(word) for word in args],
                dict(os.environ if environment is None else environment),
                str(folder or Path.cwd()),
                # Handed over only while the process is made.
                _Handed({number: stream for number, stream in streams.items() if stream != -1}),
            ),
            daemon=True,
        )
        try:
            self._process.start()
            self.pid = cast("int", self._process.pid)
            self._child_created = True
        finally:
            self._close_pipe_fds(in_read, in_write, out_read, out_write, error_read, error_write)  # type: ignore[attr-defined]

    def _try_wait(self, wait_flags: int) -> tuple[int, int]:
        self._process.join(0 if wait_flags & os.WNOHANG else None)
        code = self._process.exitcode
        if code is None:
            return 0, 0
        return self.pid, -code if code < 0 else code << 8

    def _internal_poll(self, *_: Any, **__: Any) -> int | None:  # noqa: ANN401 - as its parent has it
        if self.returncode is None and self._waitpid_lock.acquire(blocking=False):  # type: ignore[attr-defined]
            try:
                pid, status = self._try_wait(os.WNOHANG)
                if pid == self.pid:
                    self._handle_exitstatus(status)  # type: ignore[attr-defined]
            finally:
                self._waitpid_lock.release()  # type: ignore[attr-defined]
        return self.returncode


class _Handed:
    """Descriptors by the number that they get; travels to a process that is made now."""

    def __init__(self, streams: Mapping[int, int]) -> None:
        self._streams = streams

    def __getstate__(self) -> dict[int, Any]:
        return {number: DupFd(stream) for number, stream in self._streams.items()}

    def __setstate__(self, handed: dict[int, Any]) -> None:
        self._streams = {number: one.detach() for number, one in handed.items()}

    def take_up(self) -> None:
        for number, stream in self._streams.items():
            os.dup2(stream, number)
        for stream in self._streams.values():
            os.close(stream)


def _become(command: list[str], environment: dict[str, str], folder: str, streams: _Handed) -> None:
    """Be what the command says: its streams, environment and folder, then its program."""
    streams.take_up()
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    os.chdir(folder)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.argv = command
    for name, number, mode in (("stdin", 0, "r"), ("stdout", 1, "w"), ("stderr", 2, "w")):
        was = getattr(sys, f"__{name}__")
        setattr(sys, name, open(number, mode, closefd=False, encoding=was.encoding, errors=was.errors))  # noqa: SIM115
    from headrace.cli.main import main  # noqa: PLC0415 - what is imported before must not read the environment

    main()
