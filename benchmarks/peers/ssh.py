"""Copies between own machines over ssh, with an ssh server of their own at the far host."""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from demo.stage import NODE_PROGRAM, DemoError

from benchmarks.cases import Case
from benchmarks.lab import Host
from benchmarks.measure import Run
from benchmarks.peers.ends import Ends, alone

PORT = 8722
_SSHD = "/usr/sbin/sshd"


class OverSsh:
    """A command that pulls from the host `far`, which ssh finds by a configuration of its own."""

    def __init__(self, name: str, program: str, ends: Ends, config: Path) -> None:
        """Pull with `headrace cp`, or with rsync."""
        self.name, self.programs = name, (program, "ssh", _SSHD)
        self._ends, self._config, self._program = ends, config, program

    def takes(self, case: Case) -> bool:
        """Everything but a million files."""
        return case.key != "tiny"

    def copy(self, case: Case, folder: str, target: str) -> Run:
        """Pull; processor time is the client's alone."""
        del case
        source, destination = f"far:{self._ends.source / folder}", str(self._ends.destination / target)
        if self._program == "rsync":
            command = ["rsync", "-a", "-e", f"ssh -F {self._config}", f"{source}/", f"{destination}/"]
            return alone(command, self._ends.limit_s)
        own = self._ends.work / "ssh-state"
        environment = os.environ | {
            "XDG_CONFIG_HOME": str(own),
            "XDG_STATE_HOME": str(own),
            "HEADRACE_NODE_STATE": str(own),
        }
        options = ["-F", str(self._config), "--remote-program", str(NODE_PROGRAM), "--json"]
        return alone([str(NODE_PROGRAM), "cp", *options, source, destination], self._ends.limit_s, environment)


@contextmanager
def over_ssh(ends: Ends) -> Iterator[list[OverSsh]]:
    """Run an ssh server at the far end."""
    names = (("headrace cp over ssh", str(NODE_PROGRAM)), ("rsync -e ssh", "rsync"))
    config = ends.work / "ssh_config"
    peers = [OverSsh(name, program, ends, config) for name, program in names]
    if shutil.which(_SSHD) is None:
        yield peers
        return
    keys = ends.work / "ssh"
    keys.mkdir(mode=0o700)
    for name in ("host", "person"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(keys / name)], check=True, timeout=30)
    (keys / "authorized").write_bytes((keys / "person.pub").read_bytes())
    (keys / "sshd_config").write_text(
        f"Port {PORT}\nHostKey {keys}/host\nAuthorizedKeysFile {keys}/authorized\nStrictModes no\n"
        "PermitRootLogin prohibit-password\nUsePAM no\nPidFile none\n",
        encoding="ascii",
    )
    config.write_text(
        f"Host far\n HostName {ends.far.address}\n Port {PORT}\n IdentityFile {keys}/person\n User root\n"
        f" StrictHostKeyChecking accept-new\n UserKnownHostsFile {keys}/known\n LogLevel ERROR\n",
        encoding="ascii",
    )
    Path("/run/sshd").mkdir(exist_ok=True)
    with (keys / "log").open("wb") as log:
        server = subprocess.Popen(
            [*ends.far.inside, _SSHD, "-D", "-e", "-f", str(keys / "sshd_config")], stdout=log, stderr=log
        )
    try:
        _wait_for(ends.far)
        yield peers
    finally:
        server.terminate()
        server.wait(10)


def _wait_for(far: Host) -> None:
    limit = time.monotonic() + 10
    while not far.listens(PORT):
        if time.monotonic() > limit:
            message = "the ssh server does not listen"
            raise DemoError(message)
        time.sleep(0.05)
