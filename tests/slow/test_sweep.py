"""The short form of `headrace sweep`: three sizes over one path."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from demo.stage import HEADRACE


@pytest.mark.skipif(os.geteuid() != 0, reason="only the root account makes network namespaces")
def test_a_sweep_measures_each_size_over_each_path_encrypted_and_plain(tmp_path: Path) -> None:
    command: list[str | Path] = [
        HEADRACE,
        "sweep",
        "--rtt",
        "20",
        "--least",
        "10",
        "--most",
        "18",
        "--step",
        "4",
        "--runs",
        "1",
    ]
    subprocess.run([*command, "--folder", tmp_path, "--out", tmp_path], check=True, capture_output=True, timeout=80)
    points = json.loads((tmp_path / "sweep.json").read_text(encoding="utf-8"))["points"]
    assert [(point["round_trip_ms"], point["size_bytes"]) for point in points] == [
        (20, 1 << 10),
        (20, 1 << 14),
        (20, 1 << 18),
    ]
    for point in points:
        # A connection and the first byte take two round trips, whoever asks.
        assert point["plain_s"][0] >= 0.040
        assert point["whole_s"][0] > point["headrace_s"][0] > 0.040
    assert (tmp_path / "sweep.svg").read_text(encoding="utf-8").count("<polyline") == 2
