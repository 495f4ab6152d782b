"""Let real transfers compete for a link, and plot who got what over time; or measure what a link costs.

make lab-shares                                  2, 8 and 64 transfers: all scenarios (round trips: as root)
.venv/bin/python -m benchmarks.shares --scenarios equal:2 weights:3 --seconds 5
.venv/bin/python -m benchmarks.shares --scenarios equal:8:400:1,20,50    400 Mb/s, behind 1, 20 and 50 ms in turn
.venv/bin/python -m benchmarks.shares --cost 10    pairs of runs with and without a link that is never full
.venv/bin/python -m benchmarks.shares --telemetry 10    pairs that tell of connections and stages, and do not

Nodes are real (engine/crates/headrace-node/examples/shares.rs): TLS, the schedule, the journal; there is no disk. They
are on loopback; with round trips in hosts of a lab: the one whose link it is, and one behind each round trip. Shares
are judged after the first second, by bytes that arrived; a link that is not used says nothing of them. Data and plot
are kept in `docs/benchmarks/`, unless `--out` says where: `shares`, and `shares-paths` of those with round trips.
"""

import argparse
import itertools
import json
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.machine import machine
from headrace.engine.plots import Panel, drawn

REPOSITORY = Path(__file__).parents[1]
PROGRAM = REPOSITORY / "engine" / "target" / "release" / "examples" / "shares"
SCENARIOS = (
    "equal:2",
    "equal:8",
    "equal:64:400",
    "weights:3",
    "weights:9",
    "mixed:8",
    "changes:2",
    "ceiling:4",
    "inbound:4",
    "equal:2:100:1,100",
    "equal:8:100:1,20,50,100",
    "equal:64:100:1,20,50,100",
    "weights:12:100:1,20,50,100",
    "mixed:8:100:1,20,50,100",
    "inbound:8:100:1,20,50,100",
    "inbound-weights:12:100:1,20,50,100",
    "inbound-mixed:8:100:1,20,50,100",
)
SETTLED_S = 1.0
WITHIN, JAIN, CEILING = 0.05, 0.98, 0.02
USED = 0.9
"""Where less of the link is used, something else than its schedule divides what there is."""
MANY = 12


@dataclass(frozen=True, slots=True)
class Scenario:
    """What is run: who competes for a link of which rate, and over which round trips."""

    name: str
    transfers: int
    rate_bps: int
    round_trips_ms: tuple[int, ...] = ()
    """Of the hosts of a lab, which transfers take in turn; without any, nodes are on loopback."""

    @classmethod
    def read(cls, text: str, rate_mbps: int) -> "Scenario":
        """Read `NAME:TRANSFERS[:MBPS[:MS,MS,...]]`."""
        name, transfers, *more = text.split(":")
        trips = more[1].split(",") if more[1:] else []
        rate_bps = (int(more[0]) if more else rate_mbps) * 10**6
        return cls(name, int(transfers), rate_bps, tuple(int(trip) for trip in trips))


@dataclass(frozen=True, slots=True)
class Cost:
    """What is measured by pairs of runs."""

    name: str
    kept: str
    without: Scenario
    with_it: Scenario


LINK = Cost("a link", "shares-cost", Scenario("equal", 4, 0), Scenario("equal", 4, 10**12))
"""Of a link that is never full: asking for turns."""
TELEMETRY = Cost("telemetry", "telemetry-cost", Scenario("silent", 4, 0), Scenario("told", 4, 0))


@dataclass(frozen=True, slots=True)
class Contest:
    """One run: who had received how many bytes at which second, and what each was to get of what all got."""

    scenario: str
    transfers: int
    rate_bps: int
    seconds: tuple[float, ...]
    mbit_per_s: tuple[tuple[float, ...], ...]
    parts: tuple[float, ...]
    got: tuple[float, ...]
    used: float
    """Part of the link, or of the ceiling, that was used."""
    round_trips_ms: tuple[int, ...] = ()
    """Of each, in a lab."""

    @property
    def worst(self) -> float:
        """The largest distance of a transfer from its part, as a part of that."""
        return max(abs(got - part) / part for got, part in zip(self.got, self.parts, strict=True))

    @property
    def jain(self) -> float:
        """Jain's index of what each got for its part: 1 is fair."""
        each = [got / part for got, part in zip(self.got, self.parts, strict=True)]
        return sum(each) ** 2 / (len(each) * sum(one * one for one in each))

    @property
    def holds(self) -> bool:
        """Whether everybody got its part, of a link that was used, and the ceiling held."""
        return self.worst <= WITHIN and self.jain >= JAIN and USED <= self.used <= 1 + CEILING

    @property
    def path(self) -> str:
        """What lies between the nodes."""
        trips = [f"{trip}" for trip in dict.fromkeys(self.round_trips_ms)]
        return f"{', '.join(trips)} ms" if trips else "loopback"

    def row(self) -> str:
        """One line of the table."""
        return (
            f"| {self.scenario} | {self.path} | {self.transfers} | {self.rate_bps / 1e6:.0f} Mb/s "
            f"| {100 * self.worst:.1f} % | {self.jain:.4f} | {100 * self.used:.1f} % "
            f"| {'yes' if self.holds else 'NO'} |"
        )


def main() -> int:
    """Run each scenario; 0 when every share held."""
    parser = argparse.ArgumentParser(
        prog="make lab-shares", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=int, default=20, help="how long each scenario runs (default 20)")
    parser.add_argument("--rate-mbps", type=int, default=100, help="of the link (default 100)")
    parser.add_argument(
        "--scenarios", nargs="+", default=SCENARIOS, help="equal:8, equal:8:400 (Mb/s), equal:8:400:1,50 (ms)"
    )
    parser.add_argument("--cost", type=int, default=0, help="measure this many pairs with and without a link instead")
    parser.add_argument("--telemetry", type=int, default=0, help="measure this many pairs with and without telemetry")
    parser.add_argument("--program", type=Path, default=PROGRAM, help="the example `shares`, built")
    parser.add_argument("--out", type=Path, default=REPOSITORY / "docs" / "benchmarks", help="folder for data and plot")
    parser.add_argument("--name", default="shares", help="how the files of data and plot begin (default shares)")
    arguments = parser.parse_args()
    if arguments.cost:
        return cost(arguments.program, arguments.cost, arguments.seconds, arguments.out, LINK)
    if arguments.telemetry:
        return cost(arguments.program, arguments.telemetry, arguments.seconds, arguments.out, TELEMETRY)
    contests = []
    for scenario in arguments.scenarios:
        contest = run(arguments.program, Scenario.read(scenario, arguments.rate_mbps), arguments.seconds)
        print(contest.row(), flush=True)  # noqa: T201
        contests.append(contest)
    for name, paths in ((arguments.name, False), (f"{arguments.name}-paths", True)):
        if own := [one for one in contests if bool(one.round_trips_ms) is paths]:
            keep(arguments.out, name, [asdict(one) for one in own])
            (arguments.out / f"{name}.svg").write_text(plot(own), encoding="utf-8")
    return 0 if all(one.holds for one in contests) else 1


def keep(out: Path, name: str, runs: Sequence[object]) -> None:
    """Write data with what it was measured on."""
    out.mkdir(parents=True, exist_ok=True)
    data = {**machine(), "runs": runs}
    (out / f"{name}.json").write_text(json.dumps(data) + "\n", encoding="utf-8")


def lines_of(program: Path, scenario: Scenario, seconds: int) -> list[dict[str, object]]:
    """Run the program, and read what it says."""
    figures = (scenario.transfers, scenario.rate_bps, seconds, *scenario.round_trips_ms)
    said = subprocess.run([program, scenario.name, *map(str, figures)], stdout=subprocess.PIPE, text=True, check=True)
    return [json.loads(line) for line in said.stdout.splitlines()]


def run(program: Path, scenario: Scenario, seconds: int) -> Contest:
    """Run one scenario, and judge it."""
    lines = lines_of(program, scenario, seconds)
    samples = [
        (float(str(line["seconds"])), [float(one) for one in line["bytes"]])  # type: ignore[attr-defined] # of JSON
        for line in lines
        if "bytes" in line
    ]
    trips = next((line["round_trips_ms"] for line in lines if "round_trips_ms" in line), [])
    most = max(len(counts) for _, counts in samples)
    rates = []
    for (begin, before), (end, after) in itertools.pairwise(samples):
        grown = [
            max(0.0, (after[at] if at < len(after) else 0) - (before[at] if at < len(before) else 0))
            if at < len(after)
            else 0.0
            for at in range(most)
        ]
        rates.append(tuple(round(one * 8 / 1e6 / (end - begin), 2) for one in grown))
    # While somebody came and left, shares are judged by those moments: after it came and until it left.
    judged = [sample for sample in samples if len(sample[1]) == most]
    judged = [sample for sample in judged if sample[0] >= judged[0][0] + SETTLED_S]
    (begin, before), (end, after) = judged[0], judged[-1]
    got = [(now - then) * 8 / (end - begin) for then, now in zip(before, after, strict=True)]
    allowed = scenario.rate_bps / 2 if scenario.name == "ceiling" else scenario.rate_bps
    weights = weights_of(scenario.name, most)
    total = sum(got)
    return Contest(
        scenario=scenario.name,
        transfers=scenario.transfers,
        rate_bps=scenario.rate_bps,
        seconds=tuple(round(at, 2) for at, _ in samples[1:]),
        mbit_per_s=tuple(rates),
        parts=tuple(round(total * weight / sum(weights)) for weight in weights),
        got=tuple(round(one) for one in got),
        used=round(total / allowed, 4),
        round_trips_ms=tuple(trips),  # type: ignore[arg-type] # of JSON
    )


def weights_of(scenario: str, transfers: int) -> list[float]:
    """Return what each is to get, relative to the others."""
    if scenario.endswith("weights"):
        classes = [(1.0, 2.0, 4.0)[number % 3] for number in range(transfers)]
        return [weight / classes.count(weight) for weight in classes]
    if scenario == "changes":
        # The last one goes first, and leaves the others a tenth.
        return [*[0.1 / (transfers - 1)] * (transfers - 1), 0.9]
    return [1.0] * transfers


def cost(program: Path, pairs: int, seconds: int, out: Path, what: Cost) -> int:
    """Measure pairs of runs, in turn the one and the other first, and print what it costs with its interval."""
    found: list[dict[str, float]] = []
    for number in range(pairs):
        pair = {}
        both = (("without", what.without), ("with", what.with_it))
        for side, scenario in both if number % 2 else reversed(both):
            lines = lines_of(program, scenario, seconds)
            samples = [line for line in lines if "bytes" in line]
            moved = sum(samples[-1]["bytes"]) - sum(samples[0]["bytes"])  # type: ignore[call-overload] # of JSON
            wall, cpu = (float(str(lines[-1][name])) for name in ("wall_seconds", "cpu_seconds"))
            pair[f"rate_{side}"] = moved * 8 / wall / 1e9
            pair[f"cpu_{side}"] = cpu / moved * 1e9
        found.append(pair)
    for name in ("rate", "cpu"):
        ratios = [100 * (pair[f"{name}_with"] / pair[f"{name}_without"] - 1) for pair in found]
        mean = statistics.mean(ratios)
        half = 0.0 if pairs < 2 else 2.26 * statistics.stdev(ratios) / pairs**0.5  # noqa: PLR2004 # t of 10 pairs
        unit = "throughput" if name == "rate" else "processor time of a byte"
        print(f"{unit}: {mean:+.2f} % with {what.name}, 95 % interval {mean - half:+.2f} to {mean + half:+.2f} %")  # noqa: T201
    keep(out, what.kept, found)
    return 0


def plot(contests: Sequence[Contest]) -> str:
    """Draw what each got over time; of many the least, the median and the most."""
    panels = []
    for one in contests:
        # Mean of a second: single blocks are coarse at low rates.
        smooth = [
            [statistics.mean(column) for column in zip(*one.mbit_per_s[max(0, at - 9) : at + 1], strict=True)]
            for at in range(len(one.mbit_per_s))
        ]
        if one.transfers > MANY:
            smooth = [[min(rates), statistics.median(rates), max(rates)] for rates in smooth]
            names = ["least", "median", "most"]
        else:
            trips = [f", {trip} ms" for trip in one.round_trips_ms] or [""] * len(smooth[0])
            names = [f"transfer {number + 1}{trip}" for number, trip in enumerate(trips)]
        lines = {
            name: [(at, rates[number]) for at, rates in zip(one.seconds, smooth, strict=True)]
            for number, name in enumerate(names)
        }
        over = f", {one.path}" if one.round_trips_ms else ""
        title = f"{one.scenario}: Mb/s of {one.transfers} transfers on {one.rate_bps / 1e6:.0f} Mb/s{over}"
        panels.append(Panel(title, lines, "s"))
    return drawn(panels)


if __name__ == "__main__":
    sys.exit(main())
