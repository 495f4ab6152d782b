"""A real Prometheus with the configuration and the alerts of deploy/monitoring, as quick as a test wants it."""

import json
import select
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from demo.stage import REPOSITORY
from tests.servers.headrace import COMMAND_S, READY_S
from tests.servers.ports import free_port

FOLDER = REPOSITORY / "deploy" / "monitoring"
PROGRAMS = REPOSITORY / ".tools" / "prometheus" / "usr" / "bin"
_READY = b"Server is ready to receive web requests."
_AGAIN_S = 0.1


@dataclass(frozen=True)
class Prometheus:
    """A running Prometheus."""

    url: str
    process: "subprocess.Popen[bytes]"

    def ask(self, path: str, **query: str) -> Any:  # noqa: ANN401 - a JSON document
        """Return the data of an answer of its API."""
        url = f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(query)}"
        with urllib.request.urlopen(url, timeout=COMMAND_S) as answer:  # noqa: S310 - the server of this test
            found = json.load(answer)
        assert found["status"] == "success", found
        return found["data"]

    def samples(self, query: str) -> list[Any]:
        """Return what a query finds now."""
        found: list[Any] = self.ask("query", query=query)["result"]
        return found

    def until(self, query: str) -> None:
        """Wait until a query finds something."""
        limit = time.monotonic() + COMMAND_S
        while not self.samples(query):
            assert time.monotonic() < limit, f"nothing is found for {query}"
            self.pause()

    def pause(self) -> None:
        """Give it time for a round; it must not end."""
        try:
            code = self.process.wait(_AGAIN_S)
        except subprocess.TimeoutExpired:
            return
        message = f"prometheus ended with {code}"
        raise AssertionError(message)


@contextmanager
def watching(folder: Path, target: str) -> Iterator[Prometheus]:
    """Start Prometheus in `folder`; it reads the figures of `target` (host:port) five times a second."""
    assert (PROGRAMS / "prometheus").exists(), "there is no Prometheus; run `make tools`"
    # What waits for a minute waits for a second here: promtool tries the true times.
    alerts = (FOLDER / "alerts.yml").read_text(encoding="utf-8").replace("for: 1m\n", "for: 1s\n")
    (folder / "alerts.yml").write_text(alerts, encoding="utf-8")
    config = (FOLDER / "prometheus.yml").read_text(encoding="utf-8")
    config = config.replace("127.0.0.1:9470", target).replace("15s", "200ms")
    (folder / "prometheus.yml").write_text(config, encoding="utf-8")
    address = f"127.0.0.1:{free_port()}"
    command = [
        str(PROGRAMS / "prometheus"), f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'tsdb'}", f"--web.listen-address={address}",
    ]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, bufsize=0) as process:
        try:
            _until_ready(process)
            yield Prometheus(f"http://{address}", process)
        finally:
            process.terminate()
            process.wait(READY_S)


def _until_ready(process: "subprocess.Popen[bytes]") -> None:
    assert process.stderr is not None
    said: list[bytes] = []
    while not said or _READY not in said[-1]:
        ready, _, _ = select.select([process.stderr], [], [], READY_S)
        line = process.stderr.readline() if ready else b""
        assert line, b"".join(said).decode()
        said.append(line)
