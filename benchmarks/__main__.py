"""Measure every case with every peer in turn, on a disk and in memory; print medians and spread, keep the data.

make bench                                 all cases, 5 counted runs each after one that is not counted
make bench ARGS=--lists                    lists among a million transfers (--rows, --events, --postgresql)
.venv/bin/python -m benchmarks --runs 3
"""

import argparse
import json
import os
import platform
import shutil
import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from demo.site import open_site
from demo.stage import REPOSITORY, DemoError, Stage, say

from benchmarks.cases import CASES, Case
from benchmarks.identity import Known, measure_identity
from benchmarks.lists import measure_lists
from benchmarks.peers import Headrace, Peer, RsyncDaemon, Run
from benchmarks.service import Cost, measure_service


@dataclass(frozen=True, slots=True)
class Result:
    """What one peer did with one case on one file system."""

    storage: str
    case: Case
    peer: str
    runs: Sequence[Run]

    @property
    def seconds(self) -> float:
        """Median wall seconds."""
        return statistics.median(run.seconds for run in self.runs)

    def row(self, reference: float) -> str:
        """One line of the table; `reference` is the plain rsync daemon's median seconds."""
        walls = sorted(run.seconds for run in self.runs)
        cpu = statistics.median(run.cpu_s for run in self.runs)
        speed = (
            f"{self.case.size_bytes * 8 / self.seconds / 1e9:.2f} Gb/s"
            if self.case.files == 1
            else f"{self.case.files / self.seconds:,.0f} files/s"
        )
        work = (
            f"{cpu / (self.case.size_bytes / 2**30):.2f} /GiB"
            if self.case.files == 1
            else f"{cpu / self.case.files * 1e6:.0f} us/file"
        )
        return (
            f"| {self.storage} | {self.case.name} | {self.peer} | {speed} "
            f"| {self.seconds:.3f} ({walls[0]:.3f}-{walls[-1]:.3f}) | {work} | {reference / self.seconds:.2f} |"
        )


def main() -> int:
    """Run the benchmark; 0 when every run succeeded."""
    parser = argparse.ArgumentParser(
        prog="make bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=5, help="counted runs of each peer and case (default 5)")
    parser.add_argument("--memory", type=Path, default=Path("/dev/shm"), help="a folder in memory (default /dev/shm)")  # noqa: S108
    parser.add_argument("--transfers", type=int, default=100, help="transfers that measure the service (default 100)")
    parser.add_argument("--service-only", action="store_true", help="measure the service alone; nothing is kept")
    parser.add_argument("--lists", action="store_true", help="measure lists among many transfers instead")
    parser.add_argument("--rows", type=int, default=1_000_000, help="with --lists: transfers (default 1,000,000)")
    parser.add_argument("--events", type=int, default=10, help="with --lists: events of each (default 10)")
    parser.add_argument("--calls", type=int, default=200, help="with --lists: counted calls of each (default 200)")
    parser.add_argument("--postgresql", action="store_true", help="with --lists: in PostgreSQL, not SQLite")
    arguments = parser.parse_args()
    disk = REPOSITORY / ".demo"
    disk.mkdir(exist_ok=True)
    if arguments.lists:
        measure_lists(
            disk,
            transfers=arguments.rows,
            events_each=arguments.events,
            calls=arguments.calls,
            postgresql=arguments.postgresql,
        )
        return 0
    try:
        places = {"memory": arguments.memory, "disk": disk}
        # In memory, too: on ext4 without a journal, files take longer to make for minutes after others were removed.
        costs = {storage: measure_service(home, arguments.transfers) for storage, home in places.items()}
        for storage, cost in costs.items():
            say(f"the service's own cost, {storage}: {json.dumps(cost.data())}")
        known = measure_identity(disk)
        say(f"who calls: {json.dumps(known.data())}")
        if arguments.service_only:
            return 0
        results = [result for storage, home in places.items() for result in measure(storage, home, arguments.runs)]
    except DemoError as error:
        say(f"The benchmark stopped: {error}")
        return 1
    report(results, costs, known)
    return 0


def measure(storage: str, home: Path, runs: int) -> list[Result]:
    """All cases and peers on one file system. Peers take turns, so that a drift of the machine meets them all."""
    results = []
    folder = Path(tempfile.mkdtemp(prefix="headrace-bench-", dir=home))
    try:
        source = folder / "from"
        for index, case in enumerate(CASES):
            (source / str(index)).mkdir(parents=True)
            case.lay_out(source / str(index))
        with Stage(folder) as stage:
            site = open_site(stage, source, folder / "to")
            peers: list[Peer] = [
                Headrace(stage, site, site.ada.session),
                RsyncDaemon(site, folder, fsync=False),
                RsyncDaemon(site, folder, fsync=True),
            ]
            for index, case in enumerate(CASES):
                measured: dict[str, list[Run]] = {peer.name: [] for peer in peers}
                for turn in range(runs + 1):
                    for number, peer in enumerate(peers):
                        # A new folder each time: deleting and creating again would measure ext4's memory of deletions.
                        target = f"{index}-{turn}-{number}"
                        os.sync()
                        run = peer.copy(str(index), target)
                        if turn:
                            measured[peer.name].append(run)
                        if case.files == 1:
                            shutil.rmtree(site.destination / target)
                        say(
                            f"{storage}: {case.name}: {peer.name}: {run.seconds:.3f} s"
                            + ("" if turn else " (not counted)")
                        )
                results += [Result(storage, case, name, counted) for name, counted in measured.items()]
    finally:
        shutil.rmtree(folder)
    return results


def report(results: Sequence[Result], costs: Mapping[str, Cost], known: Known) -> None:
    """Print the table and keep the data."""
    say(f"\n{platform.machine()}, {os.cpu_count()} cores, Linux {platform.release()}\n")
    say(
        "| storage | work | program | speed | seconds, median (min-max) | CPU seconds, both ends | times rsync daemon |"
    )
    say("| --- | --- | --- | --- | --- | --- | --- |")
    for result in results:
        plain = next(
            other
            for other in results
            if (other.storage, other.case, other.peer) == (result.storage, result.case, "rsync daemon")
        )
        say(result.row(plain.seconds))
    kept = REPOSITORY / "benchmarks" / "results"
    kept.mkdir(exist_ok=True)
    path = kept / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}.json"
    rows = [
        {"storage": result.storage, "work": result.case.name, "program": result.peer,
         "seconds": [run.seconds for run in result.runs], "cpu_s": [run.cpu_s for run in result.runs]}
        for result in results
    ]  # fmt: skip
    path.write_text(
        json.dumps(
            {
                "cores": os.cpu_count(),
                "kernel": platform.release(),
                "results": rows,
                "service": {storage: cost.data() for storage, cost in costs.items()},
                "identity": known.data(),
            },
            indent=1,
        )
        + "\n",
        encoding="utf-8",
    )
    say(f"\nData: {path.relative_to(REPOSITORY)}")


if __name__ == "__main__":
    sys.exit(main())
