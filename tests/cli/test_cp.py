"""`headrace cp` through the binding; crates/headrace-node/tests/cp.rs has the rest."""

import json
import os
import subprocess
from pathlib import Path

from tests.cli.serving import HEADRACE


def test_cp_copies_a_folder_without_any_service(tmp_path: Path) -> None:
    source, destination = tmp_path / "from", tmp_path / "to"
    (source / "sub").mkdir(parents=True)
    (source / "sub" / "å %").write_bytes(b"x" * 100_000)
    environment = {
        **os.environ,
        "HEADRACE_NODE_STATE": str(tmp_path / "state"),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
    }

    def cp() -> subprocess.CompletedProcess[str]:
        command = [str(HEADRACE), "cp", str(source), str(destination), "--json"]
        return subprocess.run(command, check=False, capture_output=True, text=True, timeout=60, env=environment)

    done = cp()
    document = json.loads(done.stdout)
    assert (done.returncode, document["files"], document["bytes"]) == (0, 1, 100_000)
    assert (destination / "sub" / "å %").read_bytes() == b"x" * 100_000
    assert "made your personal key" in done.stderr

    (destination / "sub" / "å %").write_bytes(b"another")
    refused = cp()
    assert (refused.returncode, json.loads(refused.stdout)["code"]) == (4, "destination_exists")
