"""Measure Headrace and others in turns on the same work; print tables, keep data, tables and plots.

make bench                                    everything (an hour or more)
make bench ARGS="--cases                      large --paths 0 50"
make bench ARGS="--local --ssh"               only copies inside one machine, and over ssh
make bench ARGS=--service-only                what the service itself costs a transfer
make bench ARGS=--lists                       lists among a million transfers (--rows, --events, --postgresql, --kept)
make bench ARGS=--passing-on                  a call through a process of a site that does not lead

A path is RTT_MS[:LOSS%][:RATE], for example 50, 50:0.1% or 100:1Gb/s.
"""

import argparse
import json
import os
import sys
from datetime import UTC, datetime
from pathlib import Path

from demo.stage import REPOSITORY, DemoError, say
from tests.servers.filled import Filling

from benchmarks.cases import CASES, MATRIX, Line
from benchmarks.identity import measure_identity
from benchmarks.lists import SELDOM, SITE, measure_lists
from benchmarks.machine import machine
from benchmarks.passing_on import measure_passing_on
from benchmarks.peers.ends import DEFAULT_LIMIT_S
from benchmarks.results import Result, keep, tables
from benchmarks.service import measure_service
from benchmarks.turns import Turns, between_hosts, inside_one, over_ssh_between

KEPT = REPOSITORY / "docs" / "benchmarks"


def main() -> int:
    """Run the benchmark; 0 when every run succeeded."""
    arguments = _arguments()
    disk = REPOSITORY / ".demo"
    disk.mkdir(exist_ok=True)
    if arguments.lists:
        measure_lists(
            disk,
            filling=Filling(
                transfers=arguments.rows,
                events_each=arguments.events,
                until=datetime.now(UTC),
                seldom=SELDOM,
                **SITE,
            ),
            calls=arguments.calls,
            postgresql=arguments.postgresql,
            kept=arguments.kept,
        )
        return 0
    if arguments.passing_on:
        measure_passing_on(arguments.calls)
        return 0
    homes = {"memory": arguments.memory, "disk": disk}
    try:
        if arguments.service_only:
            # In memory, too: on ext4 without a journal, files take longer to make after others went.
            for storage, home in homes.items():
                cost = measure_service(home, arguments.transfers)
                say(f"the service's own cost, {storage}: {json.dumps(cost.data())}")
            say(f"who calls: {json.dumps(measure_identity(disk).data())}")
            return 0
        if os.geteuid() != 0:
            say("The hosts of a lab need the root account.")
            return 1
        return _measured(arguments, homes)
    except DemoError as error:
        say(f"The benchmark stopped: {error}")
        return 1


def _measured(arguments: argparse.Namespace, homes: dict[str, Path]) -> int:
    found, results = machine(), list[Result]()
    turns = Turns(arguments.runs, arguments.patience, arguments.peers, arguments.limit)
    only_named = arguments.local or arguments.ssh
    others = not only_named and not arguments.paths
    storages = arguments.storages or ["memory", "disk"]
    cases = arguments.cases or ["large", "small", "set"]
    asked = MATRIX
    if arguments.paths:
        lines = [Line.read(text) for text in arguments.paths]
        asked = tuple((storage, line, CASES[case]) for storage in storages for line in lines for case in cases)
    chosen = [cell for cell in asked if cell[0] in storages and cell[2].key in cases]
    for storage, home in homes.items():
        if storage not in storages:
            continue
        if not only_named:
            cells: dict[Line, list[str]] = {}
            for _, line, case in (cell for cell in chosen if cell[0] == storage):
                cells.setdefault(line, []).append(case.key)
            for line, keys in cells.items():
                results += between_hosts(turns, storage, home, line, [CASES[key] for key in keys])
        if arguments.local or others:
            keys = [key for key in cases if key != "set"]
            results += inside_one(turns, storage, home, [CASES[key] for key in keys])
        if (arguments.ssh or others) and storage == "memory" and "small" in cases:
            results += over_ssh_between(turns, storage, home, CASES["small"])
    say(f"\n{json.dumps(found)}\n\n{tables(results)}")
    if not arguments.keep_nothing:
        keep(arguments.out, found, results)
        say(f"Kept in {arguments.out}")
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="make bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=7, help="counted runs of each program and work (default 7)")
    parser.add_argument("--cases", nargs="+", choices=list(CASES), help="which work (default large small set)")
    parser.add_argument("--paths", nargs="+", metavar="PATH", help="only these paths, with all the work chosen")
    parser.add_argument("--storages", nargs="+", choices=["memory", "disk"], help="where (default both)")
    parser.add_argument("--peers", nargs="+", metavar="WORD", help="only Headrace and those whose names hold a word")
    parser.add_argument("--local", action="store_true", help="only copies inside one machine")
    parser.add_argument("--ssh", action="store_true", help="only copies over ssh")
    patience = "a program whose first run takes longer gets only this one, which counts (default 20)"
    parser.add_argument("--patience", type=float, default=20, metavar="SECONDS", help=patience)
    limit = "who takes longer is ended, and said to be (default 120)"
    parser.add_argument("--limit", type=float, default=DEFAULT_LIMIT_S, metavar="SECONDS", help=limit)
    parser.add_argument("--out", type=Path, default=KEPT, help="where results are kept (default docs/benchmarks)")
    parser.add_argument("--keep-nothing", action="store_true", help="print only")
    parser.add_argument("--memory", type=Path, default=Path("/dev/shm"), help="a folder in memory (default /dev/shm)")  # noqa: S108
    parser.add_argument("--transfers", type=int, default=100, help="transfers that measure the service (default 100)")
    parser.add_argument("--service-only", action="store_true", help="measure the service alone; nothing is kept")
    parser.add_argument("--lists", action="store_true", help="measure lists among many transfers instead")
    parser.add_argument("--passing-on", action="store_true", help="measure calls that are passed on to the leader")
    parser.add_argument("--rows", type=int, default=1_000_000, help="with --lists: transfers (default 1,000,000)")
    parser.add_argument("--events", type=int, default=10, help="with --lists: events of each (default 10)")
    parser.add_argument("--calls", type=int, default=200, help="with --lists or --passing-on: counted calls of each")
    parser.add_argument("--postgresql", action="store_true", help="with --lists: in PostgreSQL, not SQLite")
    parser.add_argument("--kept", type=Path, help="with --lists: a folder whose filled store is made once and stays")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
