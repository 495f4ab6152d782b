"""The short form of `make many-files`: three times as many files as a process may have open."""

import json
import subprocess
import sys
from pathlib import Path

from demo.stage import REPOSITORY


def test_more_files_than_descriptors_arrive_whole_inside_a_node_and_between_two(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.slow.many_files", "--files", "3000", "--folder", str(tmp_path)]
    ran = subprocess.run(command, cwd=REPOSITORY, check=False, capture_output=True, text=True, timeout=80)
    report = json.loads(ran.stdout.splitlines()[-1])
    assert [(copied["copy"], copied["wrong"]) for copied in report["copies"]] == [
        ("inside one node", []),
        ("between two nodes", []),
    ]
    assert ran.returncode == 0
