"""iperf3: what TCP alone carries over this path, without files; the limit for all others."""

from benchmarks.cases import Case
from benchmarks.measure import Run
from benchmarks.peers.ends import Ends, pull

PORT = 5201


class Iperf:
    """`iperf3 -R` moves as many bytes as the case has."""

    programs = ("iperf3",)

    def __init__(self, ends: Ends, streams: int) -> None:
        """Measure between these ends with so many streams."""
        self.name = f"iperf3, {streams} stream{'s' if streams > 1 else ''} (no files)"
        self._ends, self._streams = ends, streams

    def takes(self, case: Case) -> bool:
        """Bytes only."""
        return not case.counts_files

    def copy(self, case: Case, folder: str, target: str) -> Run:
        """Receive the bytes, and drop them."""
        del folder
        (self._ends.destination / target).mkdir()
        size = ["-n", str(case.size_bytes), "-P", str(self._streams)]
        client = ["iperf3", "-c", self._ends.far.address, "-p", str(PORT), "-R", *size]
        return pull(self._ends, ["iperf3", "-s", "-p", str(PORT)], PORT, client)
