"""The short form of `make lab-long`: a transfer over a long path in network namespaces, on storages without a disk."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
PROFILE = os.environ.get("CARGO_PROFILE", "dev")
PROGRAM = REPOSITORY / "engine/target" / ("debug" if PROFILE == "dev" else PROFILE) / "examples/long"


@pytest.mark.skipif(os.geteuid() != 0, reason="only the root account makes network namespaces")
@pytest.mark.skipif(PROFILE != "ci" and not PROGRAM.exists(), reason="`tests/run.sh engine` builds the example `long`")
def test_a_transfer_runs_over_a_long_path_until_it_is_stopped(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.long", "--program", str(PROGRAM), "--out", str(tmp_path)]
    subprocess.run(
        [*command, "--seconds", "3", "--round-trips-ms", "50", "--buffers-mib", "4"],
        cwd=REPOSITORY,
        check=True,
        capture_output=True,
        timeout=70,
    )
    [run] = json.loads((tmp_path / "long.json").read_text(encoding="utf-8"))["runs"]
    assert run["end"] == "Stopped"
    assert sum(run["gbit_per_s"]) > 0
    assert run["streams"] >= 4
    assert "<polyline" in (tmp_path / "long.svg").read_text(encoding="utf-8")
