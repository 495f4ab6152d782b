"""A real rsyslog that takes syslog over TLS and writes what it gets into a file."""

import select
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

PROGRAM: Final = "/usr/sbin/rsyslogd"
READY_S: Final = 30
# As docs/operations/audit.md shows it, on this host's loopback and with a file for the port that it was given.
CONFIGURATION: Final = """
global(
  workDirectory="{folder}" maxMessageSize="128k" defaultNetstreamDriver="gtls"
  defaultNetstreamDriverCAFile="{folder}/ca.pem"
  defaultNetstreamDriverCertFile="{folder}/server.pem" defaultNetstreamDriverKeyFile="{folder}/server.key"
)
module(load="imtcp" streamDriver.name="gtls" streamDriver.mode="1" {auth})
input(type="imtcp" address="127.0.0.1" port="{port}" listenPortFileName="{folder}/port")
template(name="text" type="string" string="%msgid% %msg%\\n")
action(type="omfile" file="{folder}/received" template="text" flushInterval="1" asyncWriting="off")
"""


@dataclass
class Syslog:
    """A receiver, running or not."""

    folder: Path
    auth: str = 'streamDriver.authMode="anon"'
    port: int = 0
    """As asked for; 0 until it was first started."""
    process: "subprocess.Popen[bytes] | None" = field(default=None, repr=False)

    @property
    def ca(self) -> Path:
        return self.folder / "ca.pem"

    @property
    def received(self) -> list[tuple[str, str]]:
        """What it has got: kind and text of each message."""
        file = self.folder / "received"
        lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
        return [(kind, text.strip()) for kind, _, text in (line.partition(" ") for line in lines)]

    def start(self) -> None:
        """Start it on the port that it had before, and wait until it listens."""
        text = CONFIGURATION.format(folder=self.folder, port=self.port, auth=self.auth)
        (self.folder / "rsyslog.conf").write_text(text, encoding="utf-8")
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [PROGRAM, "-n", "-f", str(self.folder / "rsyslog.conf"), "-i", str(self.folder / "pid")], stderr=log
            )
        for _ in range(READY_S * 20):
            assert self.process.poll() is None, (self.folder / "log").read_text(encoding="utf-8")
            if self._listens():
                return
            self.pause()
        message = "rsyslogd does not listen"
        raise AssertionError(message)

    @staticmethod
    def pause() -> None:
        """Give it a moment to write."""
        select.select([], [], [], 0.05)

    def _listens(self) -> bool:
        file = self.folder / "port"
        if not self.port and file.exists():
            self.port = int(file.read_text(encoding="ascii") or 0)
        if not self.port:
            return False
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
        except OSError:
            return False
        return True

    def kill(self) -> None:
        """End it at once."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


@contextmanager
def receiving(folder: Path, client: str = "") -> Iterator[Syslog]:
    """Run a receiver whose certificate is for `localhost`, and which takes messages of `client` alone, or of anybody.

    Beside it lie certificates of `service`, which it trusts, and of `nobody`, whom it does not.
    """
    folder.mkdir()
    request = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    for name, file in (("localhost", "server"), ("service", "service"), ("nobody", "nobody")):
        made = [*request, "-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}"]
        made += ["-out", str(folder / f"{file}.pem"), "-keyout", str(folder / f"{file}.key")]
        subprocess.run(made, check=True, capture_output=True, timeout=READY_S)
    (folder / "ca.pem").write_bytes((folder / "server.pem").read_bytes() + (folder / "service.pem").read_bytes())
    syslog = Syslog(folder)
    if client:
        syslog.auth = f'streamDriver.authMode="x509/name" permittedPeer=["{client}"]'
    syslog.start()
    try:
        yield syslog
    finally:
        syslog.kill()
