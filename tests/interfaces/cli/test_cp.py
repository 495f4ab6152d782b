"""`headrace cp` through the binding; crates/headrace-node/tests/cp.rs has the rest."""

import json
import os
import subprocess
from pathlib import Path

from demo.stage import HEADRACE


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


def test_a_full_disk_fails_what_does_not_fit_by_name_and_the_same_command_goes_on(tmp_path: Path) -> None:
    """In a mount namespace of its own: a destination with room for 18 files, then for all."""
    source, disk = tmp_path / "from", tmp_path / "disk"
    source.mkdir()
    disk.mkdir()
    for number in range(40):
        (source / f"{number:02}").write_bytes(bytes([number]) * 1000)
    cp = f"{HEADRACE} cp {source} {disk}/out --json || test $? -eq 6"
    script = (
        f"mount -t tmpfs -o size=20m,nr_inodes=20 none {disk}; {cp}; ls -A {disk}/out | wc -l;"
        f"mount -o remount,nr_inodes=500 {disk}; {cp}; diff -r {source} {disk}/out"
    )
    done = subprocess.run(
        ["unshare", "--mount", "--map-root-user", "bash", "-ec", script],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "HEADRACE_NODE_STATE": str(tmp_path / "state"), "XDG_CONFIG_HOME": str(tmp_path / "config")},
    )
    assert done.returncode == 0, done.stderr
    first, there, second = done.stdout.splitlines()
    full, whole = json.loads(first), json.loads(second)
    assert {failure["error"] for failure in full["failed"]} == {"no_space"}
    assert full["files"] + full["failed_count"] == 40
    assert int(there) == full["files"]
    assert (whole["failed_count"], whole["files"]) == (0, 40)
