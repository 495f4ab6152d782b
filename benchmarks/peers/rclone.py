"""rclone from an rclone that serves WebDAV: not encrypted, nothing synced."""

from benchmarks.cases import Case
from benchmarks.measure import Run
from benchmarks.peers.ends import Ends, pull

PORT = 8731
TRANSFERS = 8


class Rclone:
    """`rclone copy` with eight transfers and eight streams a file."""

    name = "rclone webdav"
    programs = ("rclone",)

    def __init__(self, ends: Ends) -> None:
        """Measure between these ends."""
        self._ends = ends

    def takes(self, case: Case) -> bool:
        """Everything but a million files: each is a request of its own."""
        return case.key != "tiny"

    def copy(self, case: Case, folder: str, target: str) -> Run:
        """Pull with the client."""
        del case
        ends = self._ends
        config = f"--config={ends.work / 'rclone.conf'}"
        server = [
            "rclone",
            config,
            "serve",
            "webdav",
            "--addr",
            f"{ends.far.address}:{PORT}",
            str(ends.source / folder),
        ]
        remote = f":webdav,url='http://{ends.far.address}:{PORT}':"
        streams = [f"--transfers={TRANSFERS}", f"--multi-thread-streams={TRANSFERS}", f"--checkers={TRANSFERS}"]
        client = ["rclone", config, "copy", *streams, remote, str(ends.destination / target)]
        return pull(ends, server, PORT, client)
