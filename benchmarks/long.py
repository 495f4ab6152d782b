"""Run long transfers over long paths and plot their rate over time: it must not fall.

make lab-long                          ten minutes each: 50 and 100 ms, socket buffers of 256 and 4 MiB
.venv/bin/python -m benchmarks.long --seconds 5 --round-trips-ms 50 --buffers-mib 4

Both ends run in network namespaces without a disk (`engine/crates/headrace-node/tests/lab_support`): what is
sent is made, what arrives is verified and dropped; the journal is real. Needs root. Data and plot are kept in
`docs/benchmarks/`, unless `--out` says where.
"""

import argparse
import itertools
import json
import statistics
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.lab import lab
from benchmarks.machine import moment

REPOSITORY = Path(__file__).parents[1]
PROGRAM = REPOSITORY / "engine" / "target" / "release" / "examples" / "long"
PORT = 8472
GRACE_S = 60
MINUTE_S = 60
WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 860, 150, 50, 24, 22


@dataclass(frozen=True, slots=True)
class LongRun:
    """One transfer: its path, and the rate of each second."""

    round_trip_ms: int
    buffer_mib: int
    gbit_per_s: tuple[float, ...]
    streams: int
    limiter: str
    end: str
    lowered_bytes: int
    stop_ms: int

    @property
    def minutes(self) -> tuple[float, ...]:
        """The rate of each whole minute (of each second in a run of less), without the first, in which it grows."""
        steps = MINUTE_S if len(self.gbit_per_s) >= 2 * MINUTE_S else 1
        whole = range(steps, len(self.gbit_per_s) - steps + 1, steps)
        return tuple(statistics.mean(self.gbit_per_s[at : at + steps]) for at in whole)

    def row(self) -> str:
        """One line of the table."""
        median = statistics.median(self.minutes)
        return (
            f"| {self.round_trip_ms} ms | {self.buffer_mib} MiB | {median:.2f} Gb/s "
            f"| {min(self.minutes):.2f} | {min(self.minutes) / median:.2f} | {self.streams} "
            f"| {self.lowered_bytes / 1e6:.2f} MB | {self.stop_ms} ms |"
        )


def main() -> int:
    """Measure each path; 0 when every transfer ran to its end."""
    parser = argparse.ArgumentParser(
        prog="make lab-long", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=int, default=600, help="how long each transfer runs (default 600)")
    parser.add_argument("--round-trips-ms", type=int, nargs="+", default=[50, 100], help="default 50 100")
    parser.add_argument("--buffers-mib", type=int, nargs="+", default=[256, 4], help="default 256 4")
    parser.add_argument("--program", type=Path, default=PROGRAM, help="the example `long`, built")
    parser.add_argument("--out", type=Path, default=REPOSITORY / "docs" / "benchmarks", help="folder for data and plot")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    runs = list[LongRun]()
    for round_trip_ms in arguments.round_trips_ms:
        for buffer_mib in arguments.buffers_mib:
            run = run_long(arguments.program, round_trip_ms, buffer_mib, arguments.seconds)
            print(run.row(), flush=True)  # noqa: T201
            runs.append(run)
            # After each: the next takes ten minutes, and may be ended.
            data = {**moment(), "runs": [asdict(run) for run in runs]}
            (arguments.out / "long.json").write_text(json.dumps(data) + "\n", encoding="utf-8")
            (arguments.out / "long.svg").write_text(plot(runs), encoding="utf-8")
    return 0 if all(run.end == "Stopped" for run in runs) else 1


def run_long(program: Path, round_trip_ms: int, buffer_mib: int, seconds: int) -> LongRun:
    """Run one transfer for so long, and read what its destination says each second."""
    buffers = f"buffers={buffer_mib}MiB"
    with lab(f"near:{buffers}", f"far:rtt={round_trip_ms}ms,{buffers}", mtu=9000) as (near, far):
        address = f"{far.address}:{PORT}"
        # The destination lasts longer: the source's end is the end.
        with (
            # A file: a pipe that nobody reads until the end is full after some minutes.
            tempfile.TemporaryFile("w+") as heard,
            subprocess.Popen(
                [*far.inside, program, "destination", address, str(seconds + GRACE_S)], stdout=heard
            ) as destination,
            subprocess.Popen(
                [*near.inside, program, "source", address, str(seconds)], stdout=subprocess.PIPE, text=True
            ) as source,
        ):
            try:
                said, _ = source.communicate(timeout=seconds + GRACE_S)
                destination.wait(GRACE_S)
            finally:
                source.kill()
                destination.kill()
            heard.seek(0)
            lines = [json.loads(line) for line in heard]
    last = json.loads(said.splitlines()[-1])
    samples = [line for line in lines if "second" in line]
    totals = [0, *(sample["bytes"] for sample in samples)]
    rates = [(now - before) * 8 / 1e9 for before, now in itertools.pairwise(totals)]
    return LongRun(
        round_trip_ms=round_trip_ms,
        buffer_mib=buffer_mib,
        gbit_per_s=tuple(round(rate, 3) for rate in rates[:seconds]),
        streams=max((sample["streams"] for sample in samples), default=0),
        limiter=next((sample["limiter"] for sample in reversed(samples) if sample["limiter"]), ""),
        end=last["end"],
        lowered_bytes=last["lowered_bytes"],
        stop_ms=last["stop_ms"],
    )


def plot(runs: list[LongRun]) -> str:
    """Draw the rate over time of each run, one below the other, on one scale."""
    top = max((max(run.gbit_per_s, default=0) for run in runs), default=0) or 1
    step = HEIGHT + TOP + BOTTOM
    size = f"0 0 {WIDTH} {step * len(runs)}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{size}" font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="#fff"/>',
    ]
    for number, run in enumerate(runs):
        base = number * step + TOP + HEIGHT
        wide = (WIDTH - LEFT - 10) / max(len(run.gbit_per_s), 1)
        points = " ".join(
            f"{LEFT + second * wide:.1f},{base - rate / top * HEIGHT:.1f}" for second, rate in enumerate(run.gbit_per_s)
        )
        path = f"{run.round_trip_ms} ms, socket buffers of at most {run.buffer_mib} MiB"
        parts += [
            f'<text x="{LEFT}" y="{base - HEIGHT - 8}">{path}: Gb/s over {len(run.gbit_per_s)} s</text>',
            f'<path d="M{LEFT} {base - HEIGHT}V{base}H{WIDTH - 10}" fill="none" stroke="#868e96"/>',
            f'<text x="{LEFT - 6}" y="{base}" text-anchor="end">0</text>',
            f'<text x="{LEFT - 6}" y="{base - HEIGHT + 10}" text-anchor="end">{top:.1f}</text>',
            f'<polyline points="{points}" fill="none" stroke="#1c7ed6"/>',
        ]
    return "\n".join([*parts, "</svg>"]) + "\n"


if __name__ == "__main__":
    sys.exit(main())
