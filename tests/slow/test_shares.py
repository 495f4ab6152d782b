"""The short form of `make lab-shares`: transfers that compete for a link, on storages without a disk."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
PROFILE = os.environ.get("CARGO_PROFILE", "dev")
PROGRAM = REPOSITORY / "engine/target" / ("debug" if PROFILE == "dev" else PROFILE) / "examples/shares"


@pytest.mark.skipif(PROFILE != "ci" and not PROGRAM.exists(), reason="`tests/run.sh engine` builds the example")
def test_transfers_that_compete_are_measured_over_time_and_judged_by_what_each_was_to_get(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.shares", "--program", str(PROGRAM), "--out", str(tmp_path)]
    subprocess.run(
        [*command, "--seconds", "4", "--rate-mbps", "200", "--scenarios", "weights:3", "changes:2"],
        cwd=REPOSITORY,
        # Whether shares hold within 5 % is judged where the machine is quiet; here it may run out of processors.
        check=False,
        capture_output=True,
        timeout=60,
    )
    weights, changes = json.loads((tmp_path / "shares.json").read_text(encoding="utf-8"))["runs"]
    one, two, four = weights["got"]
    assert 0 < one < two < four
    assert len(changes["got"]) == 3
    assert changes["got"][2] > 3 * max(changes["got"][:2])
    assert "<polyline" in (tmp_path / "shares.svg").read_text(encoding="utf-8")
