"""What was measured, as table, data and plots."""

import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from benchmarks.cases import CASES, Case
from benchmarks.measure import STEP_S, Run
from headrace.engine.plots import Panel, drawn

REFERENCES = ("headrace", "headrace cp", "headrace cp over ssh")
HEADER = """\
| program | speed, median (slowest-fastest) | runs | CPU, arriving / sending | memory, the same | Headrace is |
| --- | --- | --- | --- | --- | --- |"""


@dataclass(frozen=True, slots=True)
class Result:
    """What one program did with one kind of work in one place."""

    storage: str
    path: str
    case: Case
    peer: str
    runs: Sequence[Run]
    note: str = ""
    """Why there is no run."""
    measured: str = ""
    """When, and what else the machine had to do."""

    @property
    def seconds(self) -> float:
        """Median wall seconds."""
        return statistics.median(run.seconds for run in self.runs)

    @property
    def group(self) -> tuple[str, str, str]:
        """What can be compared."""
        return self.storage, self.path, self.case.key

    def row(self, ours: float | None) -> str:
        """One line of the table; `ours` are the median seconds of Headrace for the same work."""
        if not self.runs:
            return f"| {self.peer} | {self.note} | 0 | | | |"
        walls = sorted((run.seconds for run in self.runs), reverse=True)
        near, far = (statistics.median(getattr(run, end) for run in self.runs) for end in ("near_cpu_s", "far_cpu_s"))
        peaks = [max(getattr(run, end) for run in self.runs) for end in ("near_peak_bytes", "far_peak_bytes")]
        times = "" if ours is None or self.peer in REFERENCES else f"{self.seconds / ours:.2f} x as fast"
        spread = f"{self._speed(walls[0])}-{self._speed(walls[-1])}"
        peer = f"{self.peer} ({self.note})" if self.note else self.peer
        return (
            f"| {peer} | {self._speed(self.seconds)} {self._unit} ({spread}) | {len(self.runs)} "
            f"| {self._work(near)} / {self._work(far)} | {peaks[0] >> 20} / {peaks[1] >> 20} MiB | {times} |"
        )

    @property
    def _unit(self) -> str:
        return "files/s" if self.case.counts_files else "Gb/s"

    def _speed(self, seconds: float) -> str:
        if self.case.counts_files:
            return f"{self.case.files / seconds:,.0f}"
        return f"{self.case.size_bytes * 8 / seconds / 1e9:.2f}"

    def _work(self, cpu_s: float) -> str:
        if self.case.counts_files:
            return f"{cpu_s / self.case.files * 1e6:.0f} us/file"
        return f"{cpu_s / (self.case.size_bytes / 2**30):.2f} s/GiB"

    def data(self) -> dict[str, object]:
        """Return what is kept."""
        runs = [asdict(run) for run in self.runs]
        place = {"storage": self.storage, "path": self.path, "case": self.case.key}
        return {**place, "program": self.peer, "note": self.note, "measured": self.measured, "runs": runs}

    @classmethod
    def read(cls, data: Mapping[str, object]) -> "Result":
        """Read what was kept."""
        kept = data["runs"]
        runs = (
            [Run(**(run | {"gbit_per_s": tuple(run["gbit_per_s"])})) for run in kept] if isinstance(kept, list) else []
        )
        texts = [str(data[name]) for name in ("storage", "path")]
        return cls(
            texts[0],
            texts[1],
            CASES[str(data["case"])],
            str(data["program"]),
            runs,
            str(data["note"]),
            str(data["measured"]),
        )


def tables(results: Sequence[Result]) -> str:
    """Markdown: a table for each kind of work in each place."""
    groups: dict[tuple[str, str, str], list[Result]] = {}
    for result in results:
        groups.setdefault(result.group, []).append(result)
    parts = []
    for (storage, path, _), members in groups.items():
        ours = next((member.seconds for member in members if member.peer in REFERENCES and member.runs), None)
        title = f"### {members[0].case.name}, {path}, {storage}"
        parts.append("\n".join([title, "", members[0].measured, "", HEADER, *(member.row(ours) for member in members)]))
    return "\n\n".join(parts) + "\n"


def rates(results: Sequence[Result]) -> str:
    """Plot what arrived over time, of the run in the middle of each program; bytes only."""
    panels: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for result in results:
        if result.runs and not result.case.counts_files and any(run.gbit_per_s for run in result.runs):
            middle = sorted(result.runs, key=lambda run: run.seconds)[len(result.runs) // 2]
            title = f"{result.case.name}, {result.path}, {result.storage}: Gb/s that arrived"
            line = [((at + 1) * STEP_S, rate) for at, rate in enumerate(middle.gbit_per_s)]
            panels.setdefault(title, {})[result.peer] = line
    return drawn([Panel(title, lines, "seconds") for title, lines in panels.items()])


def keep(folder: Path, machine: Mapping[str, object], results: Sequence[Result]) -> None:
    """Write data, tables and plots; results of the same work and program that were there are replaced."""
    folder.mkdir(parents=True, exist_ok=True)
    data = folder / "peers.json"
    kept: dict[str, object] = json.loads(data.read_text(encoding="utf-8")) if data.exists() else {}
    before, machines = kept.get("results"), kept.get("machines")
    old = [Result.read(row) for row in before] if isinstance(before, list) else []
    measured = str(machine["measured"])
    load = float(str(machine["load_before"]))
    when = f"Measured {measured}; load of the machine before: {load:.1f}."
    results = [replace(result, measured=when) for result in results]
    new = {(*result.group, result.peer) for result in results}
    groups = {result.group for result in results}
    merged = [
        *(result for result in old if (*result.group, result.peer) not in new and result.group not in groups),
        *results,
    ]
    known = {**machines} if isinstance(machines, dict) else {}
    known[measured] = machine
    told = {result.measured for result in merged}
    known = {at: one for at, one in known.items() if any(f"Measured {at};" in text for text in told)}
    rows = [result.data() for result in merged]
    data.write_text(json.dumps({"machines": known, "results": rows}, separators=(",", ":")) + "\n", encoding="utf-8")
    (folder / "peers.svg").write_text(rates(merged), encoding="utf-8")
    (folder / "peers.md").write_text(_page(known, merged), encoding="utf-8")


def _page(machines: Mapping[str, object], results: Sequence[Result]) -> str:
    described = "\n".join(f"* {measured}: {json.dumps(machine)}" for measured, machine in machines.items())
    return (
        "# Headrace and others, measured in turns\n\n"
        "Written by `make bench`; [benchmarks.md](../benchmarks.md) says what each program does.\n"
        "Only programs of one table are comparable: they took turns, on the same files, in the same run.\n"
        "Where the load was above the number of cores, speeds are what other work left: only ratios count.\n\n"
        f"{tables(results)}\n## Over time\n\n![What arrived over time](peers.svg)\n\n## The machine\n\n{described}\n"
    )
