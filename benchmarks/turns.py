"""Programs take turns, so that a drift of the machine meets them all."""

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from demo.site import open_site
from demo.stage import DemoError, Stage, say

from benchmarks.cases import Case, Line
from benchmarks.lab import lab
from benchmarks.machine import missing
from benchmarks.peers import Ends, GridFtp, Headrace, Iperf, Peer, Rclone, RsyncDaemon, over_ssh
from benchmarks.peers.headrace import FAR
from benchmarks.peers.inside import LOCAL, Inside, copies
from benchmarks.results import REFERENCES, Result

if TYPE_CHECKING:
    from benchmarks.measure import Run

HUB = "10.77.0.1:0"


@dataclass(frozen=True, slots=True)
class Turns:
    """How often, and who."""

    runs: int
    patience_s: float
    words: Sequence[str] | None
    limit_s: float

    def wants(self, peer: Peer) -> bool:
        """Whether this program was asked for."""
        return peer.name in REFERENCES or self.words is None or any(word in peer.name for word in self.words)

    def measure(self, storage: str, path: str, case: Case, peers: Sequence[Peer], destination: Path) -> list[Result]:
        """One run of each that is not counted, then the counted ones."""
        taking = [peer for peer in peers if self.wants(peer) and peer.takes(case)]
        notes: dict[str, str] = {}
        for peer in taking:
            if lacking := missing(peer.programs):
                notes[peer.name] = f"not measured: {', '.join(lacking)} is not installed"
                say(f"{peer.name}: {notes[peer.name]}")
        able = [peer for peer in taking if peer.name not in notes]
        measured: dict[str, list[Run]] = {peer.name: [] for peer in taking}
        slow: set[str] = set()
        for turn in range(self.runs + 1):
            for number, peer in enumerate(able):
                if peer.name in slow or peer.name in notes:
                    continue
                # A new folder each time: deleting and creating again would measure ext4's memory of deletions.
                target = destination / f"{case.key}-{turn}-{number}"
                os.sync()
                try:
                    run = peer.copy(case, case.key, target.name)
                    _check(case, target, peer)
                except DemoError as error:
                    notes[peer.name] = f"failed: {error}"[:200]
                    say(f"{peer.name}: {notes[peer.name]}")
                    shutil.rmtree(target, ignore_errors=True)
                    continue
                if storage == "memory" or not case.counts_files:
                    shutil.rmtree(target)
                if not turn and run.seconds > self.patience_s:
                    slow.add(peer.name)
                counted = turn > 0 or peer.name in slow
                if counted:
                    measured[peer.name].append(run)
                engine = f", of which the nodes {run.engine_s:.3f}" if run.engine_s is not None else ""
                say(
                    f"{storage}: {path}: {case.name}: {peer.name}: {run.seconds:.3f} s{engine}"
                    + ("" if counted else " (not counted)")
                )
        return [Result(storage, path, case, name, runs, notes.get(name, "")) for name, runs in measured.items()]


def between_hosts(turns: Turns, storage: str, home: Path, line: Line, cases: Sequence[Case]) -> list[Result]:
    """Everybody who copies between two hosts."""
    with _work(home, cases) as folder, lab("near", line.host) as (near, far), near.entered():
        (folder / "work").mkdir()
        ends = Ends(near, far, folder / "from", folder / "to", folder / "work", turns.limit_s)
        stage = Stage(folder, addresses=("127.0.0.1:0", HUB), inside={FAR: far.inside})
        with stage:
            site = open_site(stage, ends.source, ends.destination)
            peers: list[Peer] = [
                Headrace(ends, stage, site),
                GridFtp(ends, private=False),
                GridFtp(ends, private=True),
                RsyncDaemon(ends),
                *([RsyncDaemon(ends, fsync=True)] if storage == "disk" else []),
                Rclone(ends),
                Iperf(ends, 1),
                Iperf(ends, 8),
            ]
            return [
                result
                for case in cases
                for result in turns.measure(storage, f"path of {line.name}", case, peers, ends.destination)
            ]


def inside_one(turns: Turns, storage: str, home: Path, cases: Sequence[Case]) -> list[Result]:
    """Everybody who copies inside one machine."""
    with _work(home, cases) as folder:
        destination = folder / "to"
        destination.mkdir()
        peers = copies(Inside(folder / "from", destination, folder, turns.limit_s))
        return [result for case in cases for result in turns.measure(storage, LOCAL, case, peers, destination)]


def over_ssh_between(turns: Turns, storage: str, home: Path, case: Case) -> list[Result]:
    """Everybody who copies over ssh between two hosts without delay."""
    with _work(home, [case]) as folder, lab("near", "far") as (near, far), near.entered():
        (folder / "work").mkdir()
        (folder / "to").mkdir()
        ends = Ends(near, far, folder / "from", folder / "to", folder / "work", turns.limit_s)
        with over_ssh(ends) as peers:
            return turns.measure(storage, "over ssh, 0 ms", case, peers, ends.destination)


@contextmanager
def _work(home: Path, cases: Sequence[Case]) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="headrace-bench-", dir=home))
    try:
        for case in cases:
            (folder / "from" / case.key).mkdir(parents=True)
            case.lay_out(folder / "from" / case.key)
        yield folder
    finally:
        shutil.rmtree(folder)


def _check(case: Case, target: Path, peer: Peer) -> None:
    if "no files" in peer.name:
        return
    files = [path for path in target.rglob("*") if path.is_file()]
    if (len(files), sum(path.stat().st_size for path in files)) != (case.files, case.size_bytes):
        message = f"{len(files)} files arrived, not {case.files}, or not all of their bytes"
        raise DemoError(message)
