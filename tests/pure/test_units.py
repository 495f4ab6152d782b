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
    here = _unit(unit.read_text(encoding="utf-8"), tmp_path / unit.name)
    understood = _analyze("verify", here)
    assert (understood.returncode, understood.stderr) == (0, ""), "what systemd passes over would protect nothing"
    exposed = _analyze("security", "--offline=true", f"--threshold={MOST_EXPOSED}", here)
    assert exposed.returncode == 0, exposed.stdout


@pytest.mark.skipif(not PROGRAM, reason="no systemd-analyze here")
def test_a_node_that_works_as_local_accounts_gets_two_capabilities_more(tmp_path: Path) -> None:
    folder = Path(__file__).parents[2] / "deploy" / "systemd"
    unit, more = (folder / f"headrace-node{end}" for end in (".service", "-accounts.conf"))
    # A drop-in is read as if it stood at the end of its section.
    before, section, after = unit.read_text(encoding="utf-8").partition("[Install]")
    added = more.read_text(encoding="utf-8").partition("[Service]\n")[2]
    here = _unit(before + added + section + after, tmp_path / "headrace-node.service")
    understood = _analyze("verify", here)
    assert (understood.returncode, understood.stderr) == (0, "")
    exposed = _analyze("security", "--offline=true", "--threshold=100", here).stdout
    shut = [line for line in exposed.splitlines() if "CapabilityBoundingSet=~CAP_" in line and line.startswith("✗")]
    assert [line.split()[1] for line in shut] == ["CapabilityBoundingSet=~CAP_SET(UID|GID|PCAP)"], exposed


def test_whoever_writes_to_roots_may_keep_that_a_folder_gives_its_group_to_what_is_made_in_it() -> None:
    forbids = [unit.stem for unit in UNITS if "RestrictSUIDSGID=yes" in unit.read_text(encoding="utf-8")]
    assert forbids == ["headrace-signer"], "a folder below a setgid folder could not be completed"


def test_there_is_a_unit_for_each_program_that_goes_on() -> None:
    assert [unit.stem for unit in UNITS] == ["headrace-node", "headrace-signer", "headrace"]


def _unit(text: str, here: Path) -> Path:
    """Write a unit as if its program were installed here."""
    program = here.with_name("program")
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    lines = text.splitlines()
    shown = (f"ExecStart={program}" if line.startswith("ExecStart=") else line for line in lines)
    here.write_text("\n".join(shown) + "\n")
    return here


def _analyze(*asked: str | Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([PROGRAM, "--no-pager", *asked], check=False, capture_output=True, text=True, timeout=60)


def test_no_unit_starts_without_its_settings() -> None:
    texts = [unit.read_text(encoding="utf-8") for unit in UNITS]
    assert any("\nEnvironmentFile=/etc/headrace/headrace.env\n" in text for text in texts)
    assert not any("EnvironmentFile=-" in text for text in texts)
