"""Copies inside one machine: `headrace cp` (hashed, durable, with a receipt), and `cp`."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from demo.stage import NODE_PROGRAM

from benchmarks.cases import Case
from benchmarks.measure import Run
from benchmarks.peers.ends import alone

LOCAL = "inside one machine"


@dataclass(frozen=True, slots=True)
class Inside:
    """Where files are, where they go, and a folder for what programs need besides."""

    source: Path
    destination: Path
    work: Path
    limit_s: float


class Copy:
    """A command that copies a folder."""

    def __init__(self, name: str, command: Sequence[str], ends: Inside) -> None:
        """Run `command` with the source, as `FOLDER/.`, and the new folder."""
        self.name, self.programs = name, (command[0],)
        self._command, self._ends = command, ends
        self._environment = os.environ | {
            "HEADRACE_NODE_STATE": str(ends.work / "state"),
            "XDG_CONFIG_HOME": str(ends.work / "config"),
            "XDG_STATE_HOME": str(ends.work / "own"),
        }

    def takes(self, case: Case) -> bool:
        """Everything."""
        return case.files > 0

    def copy(self, case: Case, folder: str, target: str) -> Run:
        """Copy to its end."""
        del case
        ends = self._ends
        places = [f"{ends.source / folder}/.", str(ends.destination / target)]
        return alone([*self._command, *places], ends.limit_s, self._environment)


def copies(ends: Inside) -> list[Copy]:
    """Everybody who copies inside one machine."""
    return [
        Copy("headrace cp", [str(NODE_PROGRAM), "cp", "--json"], ends),
        Copy("cp -r", ["cp", "-r"], ends),
        Copy("cp -r, sync", ["sh", "-ec", 'cp -r "$0" "$1"; sync -f "$1"'], ends),
    ]
