"""A person at a terminal: starts `headrace` on a pseudo-terminal, reads what it shows, types answers."""

import os
import pty
import re
import select
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from demo.stage import HEADRACE, surroundings

PATIENCE_S = 60
_COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")


class Terminal:
    """One run of the command; `shown` is everything it has shown, without colours."""

    def __init__(self, process: subprocess.Popen[bytes], screen: int) -> None:
        self._process = process
        self._screen = screen
        self._raw = b""
        self._read_up_to = 0

    @property
    def shown(self) -> str:
        return _COLOURS.sub("", self._raw.decode(errors="replace"))

    def wait_for(self, pattern: str) -> str:
        """Read until `pattern` shows up after what was found before; returns what it matched."""
        until = time.monotonic() + PATIENCE_S
        while (found := re.compile(pattern).search(self.shown, self._read_up_to)) is None:
            assert self._read_more(until), f"never showed {pattern!r}; showed:\n{self.shown}"
        self._read_up_to = found.end()
        return found.group()

    def type(self, text: str) -> None:
        """Type a line."""
        os.write(self._screen, text.encode() + b"\n")

    def press_ctrl_c(self) -> None:
        """Interrupt it as the terminal does, once it sleeps: a signal just before a read does not end that read."""
        until = time.monotonic() + PATIENCE_S
        status = Path(f"/proc/{self._process.pid}/stat")
        while status.read_text().rpartition(")")[2].split()[0] != "S":
            assert time.monotonic() < until, "it never waited"
        self._process.send_signal(signal.SIGINT)

    def ends_with(self) -> int:
        """Read to the end and return the exit code."""
        until = time.monotonic() + PATIENCE_S
        while self._read_more(until):
            pass
        return self._process.wait(PATIENCE_S)

    def _read_more(self, until: float) -> bool:
        ready, _, _ = select.select([self._screen], [], [], max(0, until - time.monotonic()))
        if not ready:
            return False
        try:
            read = os.read(self._screen, 65536)
        except OSError:  # the other side is closed
            return False
        self._raw += read
        return bool(read)


@contextmanager
def at_terminal(*arguments: str, **environment: str) -> Iterator[Terminal]:
    """Start `headrace` for a person who sits at a wide terminal."""
    kept = surroundings()
    mine, theirs = pty.openpty()
    process = subprocess.Popen(
        [HEADRACE, *arguments],
        stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
        env={**kept, "TERM": "xterm", "COLUMNS": "160", "LINES": "50", **environment},
    )  # fmt: skip
    os.close(theirs)
    try:
        yield Terminal(process, mine)
    finally:
        process.kill()
        process.wait(PATIENCE_S)
        os.close(mine)
