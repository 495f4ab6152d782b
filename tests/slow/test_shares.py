"""The short form of `make lab-shares`: transfers that compete for a link, on storages without a disk."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).parents[2]
PROFILE = os.environ.get("CARGO_PROFILE", "dev")
PROGRAM = REPOSITORY / "engine/target" / ("debug" if PROFILE == "dev" else PROFILE) / "examples/shares"


BUILT = pytest.mark.skipif(PROFILE != "ci" and not PROGRAM.exists(), reason="`tests/run.sh engine` builds the example")


@BUILT
def test_transfers_that_compete_are_measured_over_time_and_judged_by_what_each_was_to_get(tmp_path: Path) -> None:
    arguments = ["--rate-mbps", "200", "--scenarios", "weights:3", "changes:2"]
    weights, changes = measured(tmp_path, "shares", *arguments)
    one, two, four = weights["got"]
    assert 0 < one < two < four
    assert len(changes["got"]) == 3
    assert changes["got"][2] > 3 * max(changes["got"][:2])
    assert "<polyline" in (tmp_path / "shares.svg").read_text(encoding="utf-8")


@BUILT
@pytest.mark.skipif(os.geteuid() != 0, reason="only the root account makes network namespaces")
def test_weights_hold_against_round_trips_out_of_one_node_and_into_one(tmp_path: Path) -> None:
    # The heaviest has the longest way. A rate that a busy machine carries, too: else its processors divide the link.
    scenarios = [f"{name}:3:20:1,20,100" for name in ("weights", "inbound-weights")]
    for run in measured(tmp_path, "shares-paths", "--scenarios", *scenarios):
        one, two, four = run["got"]
        assert 0 < one < two < four
        assert run["round_trips_ms"] == [1, 20, 100]


def measured(folder: Path, kept: str, *arguments: str) -> list[dict[str, Any]]:
    """Run contests of four seconds, and return what was kept of each."""
    command = [sys.executable, "-m", "benchmarks.shares", "--program", str(PROGRAM), "--out", str(folder)]
    # Whether shares hold within 5 % is judged where the machine is quiet; here it may run out of processors.
    subprocess.run(
        [*command, "--seconds", "4", *arguments], cwd=REPOSITORY, check=False, capture_output=True, timeout=60
    )
    runs: list[dict[str, Any]] = json.loads((folder / f"{kept}.json").read_text(encoding="utf-8"))["runs"]
    return runs
