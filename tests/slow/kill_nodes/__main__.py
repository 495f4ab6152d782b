"""Kill nodes under large copies: `python -m tests.slow.kill_nodes --kills 500 --seed 7`.

One tree with a large file and many small ones is copied again and again, and the node that sends, the one that
receives or both are killed (`kill -9`) at random moments. The last line is a JSON object; it ends with 1 when a copy is
not equal to its source or more was sent again than may be, and keeps its folders then.
"""

import argparse
import asyncio
import json
import random
import secrets
import shutil
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from demo.stage import REPOSITORY, Stage, say
from tests.slow.copies import MIB, differing, names_of, submitted
from tests.slow.kill_service.house import House

from headrace.client import END_STATES, HttpHeadrace
from headrace.client import models as m

VICTIMS = (("left",), ("right",), ("left", "right"))
LATEST_S = 4.0
"""A kill comes at most so long after both nodes are back."""
RESENT_LIMIT = 64 * MIB
"""Most that one kill may cost; docs/decisions/0007-what-is-sent-again.md says why."""


@dataclass
class Book:
    """What was counted, and what should not have happened."""

    killed: Counter[str] = field(default_factory=Counter)
    transfers: int = 0
    attempts: int = 0
    bytes_copied: int = 0
    wrong_bytes: int = 0
    resent: int = 0
    most_resent_per_kill: int = 0
    findings: list[str] = field(default_factory=list)


def main() -> int:
    """Run the campaign that the command line asks for."""
    parser = argparse.ArgumentParser(prog="make crashes", description=__doc__)
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--large-mib", type=int, default=2048)
    parser.add_argument("--small-files", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1 << 31))
    arguments = parser.parse_args()
    say(f"campaign of {arguments.kills} kills of nodes, seed {arguments.seed}")
    home = REPOSITORY / ".demo"
    home.mkdir(exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="crashes-", dir=home))
    chance = random.Random(arguments.seed)  # noqa: S311 - repeatable on purpose
    began, book = time.monotonic(), Book()
    with Stage(folder) as stage:
        campaign = Campaign(House(stage), chance, arguments.kills, book)
        asyncio.run(campaign.run(arguments.large_mib, arguments.small_files))
    report = {"seed": arguments.seed, "seconds": round(time.monotonic() - began, 1), **vars(book)}
    say(json.dumps(report))
    if book.findings:
        say(f"the folders are kept: {folder}")
        return 1
    shutil.rmtree(folder)
    return 0


@dataclass
class Campaign:
    """Copies of one tree, and what kills nodes under them."""

    house: House
    chance: random.Random
    kills: int
    book: Book

    async def run(self, large_mib: int, small_files: int) -> None:
        """Copy the same tree until enough kills have come."""
        house, book = self.house, self.book
        await house.open()
        source = house.lab / "set"
        await asyncio.to_thread(lay_out, source, self.chance, large_mib, small_files)
        async with house.person("ada") as ada:
            while book.killed.total() < self.kills and not book.findings:
                name = f"copy-{book.transfers}"
                before = book.killed.total()
                ended = await self.killed(ada, await submitted(ada, "lab:/set", f"archive:/{name}"))
                destination = house.archive / name
                await asyncio.to_thread(judge, source, destination, ended, book.killed.total() - before, book)
                if not book.findings:
                    await asyncio.to_thread(shutil.rmtree, destination)
                say(f"  {book.killed.total()} kills, {book.transfers} copies, {book.resent / MIB:.1f} MiB sent again")

    async def killed(self, ada: HttpHeadrace, transfer: m.Transfer) -> m.Transfer:
        """Kill nodes at random moments until a transfer has ended."""
        while True:
            limit = time.monotonic() + self.chance.uniform(0.1, LATEST_S)
            while transfer.state not in END_STATES and (left_s := limit - time.monotonic()) > 0:
                transfer = await ada.transfer(transfer.id, wait_s=max(0.1, left_s))
            if transfer.state in END_STATES:
                return transfer
            if self.book.killed.total() < self.kills:
                victims = self.chance.choice(VICTIMS)
                await self.house.kill(victims)
                self.book.killed["+".join(victims)] += 1


def lay_out(folder: Path, chance: random.Random, large_mib: int, small_files: int) -> None:
    """Make the large file and the small ones, in folders of a thousand."""
    folder.mkdir()
    with (folder / "large").open("wb") as file:
        for _ in range(large_mib):
            file.write(chance.randbytes(MIB))
    for number in range(small_files):
        path = folder / f"d{number // 1000}" / f"f{number}"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(chance.randbytes(chance.randrange(4096)))


def judge(source: Path, destination: Path, ended: m.Transfer, kills: int, book: Book) -> None:
    """Compare byte by byte, and what was sent again with what the kills may have cost."""
    book.transfers += 1
    book.attempts += ended.attempt
    if ended.state != "complete":
        book.findings.append(f"{ended.id} ended {ended.state}: {ended.summary}")
        return
    names = [names_of(place) for place in (source, destination)]
    if names[0] != names[1]:
        book.findings.append(f"{ended.id}: other names than at the source: {sorted(names[0] ^ names[1])[:5]}")
    for name in names[0] & names[1]:
        size, wrong = differing(source / name, destination / name)
        book.bytes_copied += size
        book.wrong_bytes += wrong
        if wrong:
            book.findings.append(f"{ended.id}: {wrong} bytes of {name} are wrong")
    resent = ended.progress.resent_bytes
    book.resent += resent
    if kills:
        book.most_resent_per_kill = max(book.most_resent_per_kill, resent // kills)
    if resent > kills * RESENT_LIMIT:
        book.findings.append(f"{ended.id}: {resent} bytes were sent again after {kills} kills")


if __name__ == "__main__":
    sys.exit(main())
