"""The short form of `make lab-verdicts`: what is planted on two real nodes is what the service names."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
PROFILE = os.environ.get("CARGO_PROFILE", "dev")
PROGRAM = REPOSITORY / "engine/target" / ("debug" if PROFILE == "dev" else PROFILE) / "headrace-node"
GROUPS = Path("/sys/fs/cgroup")
LIMITS = (GROUPS / "memory/memory.kmem.tcp.limit_in_bytes", GROUPS / "blkio/blkio.throttle.read_bps_device")


@pytest.mark.skipif(os.geteuid() != 0, reason="only the root account makes network namespaces")
@pytest.mark.skipif(not all(file.exists() for file in LIMITS), reason="control groups of version 1 are not mounted")
@pytest.mark.skipif(PROFILE != "ci" and not PROGRAM.exists(), reason="`tests/run.sh engine` builds the node")
@pytest.mark.timeout(300)
def test_a_slow_disk_a_ceiling_and_short_socket_memory_are_named_and_no_longer_once_the_advice_is_followed(
    tmp_path: Path,
) -> None:
    command = [sys.executable, "-m", "benchmarks.verdicts", "--out", str(tmp_path), "--seed", "short"]
    done = subprocess.run(
        [*command, "--each", "1", "--pairs", "0", "--only", "source_storage", "ceiling", "socket_memory"],
        cwd=REPOSITORY,
        env={**os.environ, "NODE_PROGRAM": str(PROGRAM)},
        check=False,
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    runs = json.loads((tmp_path / "verdicts.json").read_text(encoding="utf-8"))["runs"]
    assert [(run["planted"], run["said"]) for run in runs] == [
        ("source_storage", "source_storage"),
        ("ceiling", "ceiling"),
        ("socket_memory", "socket_memory"),
    ]
    assert all(run["helped"] for run in runs)
    assert any(one["name"].startswith("PruneCalled, said the kernel") for one in runs[-1]["evidence"])
    assert all(run["evidence"] and run["remedy"] for run in runs)
