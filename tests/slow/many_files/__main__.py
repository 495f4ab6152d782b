"""Copy many small files with 1,024 descriptors: `python -m tests.slow.many_files --files 1000000`.

Two nodes and their service run under `ulimit -n 1024`. One tree is copied inside the first node, then to the second,
and each copy is compared with it, byte by byte. The last line is a JSON object; it ends with 1 when a copy is not
complete and equal.
"""

import argparse
import asyncio
import json
import resource
import shutil
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from demo.stage import REPOSITORY, Stage, say
from tests.slow.copies import differing, names_of, submitted
from tests.slow.kill_service.house import NODES, House

from headrace.client import END_STATES, HttpHeadrace
from headrace.client import models as m

DESCRIPTORS = 1024
IN_A_FOLDER = 1000
COPIES = {"inside one node": ("lab:/set", "lab:/copy"), "between two nodes": ("lab:/set", "archive:/copy")}


@dataclass
class Copied:
    """One copy: how long it took, what the nodes held at most since they started, and what is wrong with it."""

    copy: str
    seconds: float
    files_a_second: float
    memory_mib: dict[str, int]
    wrong: list[str]


def main() -> int:
    """Copy as many files as the command line asks for."""
    parser = argparse.ArgumentParser(prog="make many-files", description=__doc__)
    parser.add_argument("--files", type=int, default=1_000_000)
    parser.add_argument("--one-folder", action="store_true", help=f"all in one folder, not {IN_A_FOLDER} in each")
    parser.add_argument("--folder", type=Path, default=REPOSITORY / ".demo", help="where (default .demo)")
    arguments = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))
    arguments.folder.mkdir(exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="many-files-", dir=arguments.folder))
    try:
        with Stage(folder) as stage:
            in_a_folder = arguments.files if arguments.one_folder else IN_A_FOLDER
            copies = asyncio.run(_copy(House(stage), arguments.files, in_a_folder))
    finally:
        shutil.rmtree(folder)
    say(json.dumps({"files": arguments.files, "descriptors": DESCRIPTORS, "copies": [asdict(one) for one in copies]}))
    return int(any(one.wrong for one in copies))


async def _copy(house: House, files: int, in_a_folder: int) -> list[Copied]:
    await house.open()
    source = house.lab / "set"
    await asyncio.to_thread(_lay_out, source, files, in_a_folder)
    copies = []
    async with house.person("ada") as ada:
        for what, (from_, to) in COPIES.items():
            say(f"{files:,} files {what}")
            transfer = await _ended(ada, await submitted(ada, from_, to))
            endpoint, _, name = to.partition(":/")
            place = house.stage.folder / endpoint / name
            wrong = await asyncio.to_thread(_wrong, source, place, transfer)
            seconds = ((transfer.ended or transfer.created) - transfer.created).total_seconds()
            memory = {node: _peak_mib(house.stage.processes[node].pid) for node in NODES}
            copies.append(Copied(what, seconds, round(files / seconds), memory, wrong))
            await asyncio.to_thread(shutil.rmtree, place)
    return copies


async def _ended(ada: HttpHeadrace, transfer: m.Transfer) -> m.Transfer:
    while transfer.state not in END_STATES:
        transfer = await ada.transfer(transfer.id, wait_s=30)
    return transfer


def _lay_out(folder: Path, files: int, in_a_folder: int) -> None:
    for first in range(0, files, in_a_folder):
        place = folder / f"d{first // in_a_folder}"
        place.mkdir(parents=True)
        for number in range(first, min(files, first + in_a_folder)):
            (place / f"f{number}").write_bytes(number.to_bytes(4, "little"))


def _wrong(source: Path, copy: Path, transfer: m.Transfer) -> list[str]:
    """Say how a copy differs from its source; few of many."""
    if transfer.state != "complete":
        return [f"it ended {transfer.state}: {transfer.summary}"]
    wanted, found = names_of(source), names_of(copy)
    names = [f"{name} is missing or was made up" for name in sorted(wanted ^ found)[:5]]
    return names + [f"{name} differs" for name in wanted & found if differing(source / name, copy / name)[1]][:5]


def _peak_mib(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) // 1024


if __name__ == "__main__":
    sys.exit(main())
