"""The units for systemd are read by systemd itself, and shut off what they can."""

import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

UNITS: Final = sorted((Path(__file__).parents[2] / "deploy" / "systemd").glob("*.service"))
PROGRAM: Final = shutil.which("systemd-analyze") or ""
MOST_EXPOSED: Final = 30
"""What `systemd-analyze security` may count at most, of 100."""


@pytest.mark.skipif(not PROGRAM, reason="no systemd-analyze here")
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_a_unit_is_understood_by_systemd_and_exposes_little(unit: Path, tmp_path: Path) -> None:
    here, program = tmp_path / unit.name, tmp_path / "program"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    lines = unit.read_text(encoding="utf-8").splitlines()
    # The program itself is not installed here.
    shown = (f"ExecStart={program}" if line.startswith("ExecStart=") else line for line in lines)
    here.write_text("\n".join(shown) + "\n")
    understood = _analyze("verify", here)
    assert (understood.returncode, understood.stderr) == (0, ""), "what systemd passes over would protect nothing"
    exposed = _analyze("security", "--offline=true", f"--threshold={MOST_EXPOSED}", here)
    assert exposed.returncode == 0, exposed.stdout


def test_there_is_a_unit_for_each_program_that_goes_on() -> None:
    assert [unit.stem for unit in UNITS] == ["headrace-node", "headrace-signer", "headrace"]


def _analyze(*asked: str | Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([PROGRAM, "--no-pager", *asked], check=False, capture_output=True, text=True, timeout=60)
