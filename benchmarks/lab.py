"""Hosts of a lab (`headrace-node lab`) for what is measured, and this process inside one of them."""

import ctypes
import json
import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from demo.stage import NODE_PROGRAM

_NEW_NETWORK = 0x40000000
_MTU_BYTES = 1500
_LISTENS = "0A"
"""The state of a socket in `/proc/net/tcp`."""


@dataclass(frozen=True, slots=True)
class Host:
    """A host of a lab: the words that run a command there, and its address."""

    inside: tuple[str, ...]
    address: str
    network: Path

    def listens(self, port: int) -> bool:
        """Whether a program listens on this port there."""
        tables = [(self.network.parents[1] / "net" / table).read_text(encoding="ascii") for table in ("tcp", "tcp6")]
        fields = [line.split() for table in tables for line in table.splitlines()[1:]]
        return any(row[3] == _LISTENS and int(row[1].rsplit(":", 1)[1], 16) == port for row in fields)

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Be in this host: what this thread opens or starts meanwhile is there."""
        library = ctypes.CDLL(None, use_errno=True)

        def move(network: int) -> None:
            if library.setns(network, _NEW_NETWORK) != 0:
                raise OSError(ctypes.get_errno(), f"{self.network} could not be entered")

        with Path("/proc/thread-self/ns/net").open("rb") as outside, self.network.open("rb") as there:
            move(there.fileno())
            try:
                yield
            finally:
                move(outside.fileno())


@contextmanager
def lab(
    *hosts: str, name: str | None = None, mtu: int = _MTU_BYTES, program: Path = NODE_PROGRAM
) -> Iterator[Sequence[Host]]:
    """Start a lab with these hosts; it ends when it is left, and with this process."""
    name = name or f"bench-{os.getpid()}"
    command = [str(program), "lab", "start", "--lab", name, "--mtu", str(mtu), "--until-eof", "--json", *hosts]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None  # noqa: S101 (asked for above)
        assert process.stdout is not None  # noqa: S101
        try:
            state = json.loads(process.stdout.readline())
            yield [
                Host(
                    (str(program), "lab", "run", "--lab", name, host["name"], "--"),
                    host["address"],
                    Path(f"/proc/{state['process']}/task/{host['thread']}/ns/net"),
                )
                for host in state["hosts"]
            ]
        finally:
            process.stdin.close()
            process.wait(30)
