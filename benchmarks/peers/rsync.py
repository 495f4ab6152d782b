"""A plain rsync daemon: not encrypted; durable only with `fsync`."""

from benchmarks.cases import Case
from benchmarks.measure import Run
from benchmarks.peers.ends import Ends, pull

PORT = 8730


class RsyncDaemon:
    """`rsync -a` pulls from a daemon."""

    programs = ("rsync",)

    def __init__(self, ends: Ends, *, fsync: bool = False) -> None:
        """Write a configuration that exports the source; each copy has its own daemon, so that its CPU counts."""
        self.name = "rsync daemon --fsync" if fsync else "rsync daemon"
        self._ends, self._options = ends, ["--fsync"] if fsync else []
        self._config = ends.work / "rsyncd.conf"
        self._config.write_text(
            f"use chroot = no\nuid = root\n[source]\npath = {ends.source}\nread only = yes\n", encoding="utf-8"
        )

    def takes(self, case: Case) -> bool:
        """Everything."""
        return case.files > 0

    def copy(self, case: Case, folder: str, target: str) -> Run:
        """Pull with the client."""
        del case
        server = ["rsync", "--daemon", "--no-detach", f"--port={PORT}", f"--config={self._config}"]
        place = f"rsync://{self._ends.far.address}:{PORT}/source/{folder}/"
        client = ["rsync", "-a", *self._options, place, f"{self._ends.destination / target}/"]
        return pull(self._ends, server, PORT, client)
