"""Let nodes of the last release work with today's: `python -m tests.slow.releases`.

The release is the last one of `releases.toml`; it is built from its commit (or given with `--node`). Each direction is
tried, and a node that is updated in the middle of a transfer. It ends with 1 when a transfer does not complete or the
trees differ.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

from demo.site import Site, open_site
from demo.stage import HEADRACE, NODE_PROGRAM, REPOSITORY, DemoError, Stage, say

HERE = Path(__file__).parent
BUILD_LIMIT_S = 3600
TRANSFER_LIMIT_S = 600
MIB = 1 << 20
SLOWLY = "80Mb/s"
"""So that the large file of the update takes seconds: 32 MiB, 3.4 s."""


def main() -> int:
    """Try every pair; 0 when all of them work together."""
    parser = argparse.ArgumentParser(
        prog="make releases", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--node", type=Path, help="the last release's headrace-node, if it is built")
    arguments = parser.parse_args()
    releases = tomllib.loads((HERE / "releases.toml").read_text(encoding="utf-8"))["release"]
    commit = str(releases[-1]["commit"])
    home = REPOSITORY / ".demo"
    home.mkdir(exist_ok=True)
    before = arguments.node or built(commit, home)
    say(f"nodes of {commit} and of today")
    try:
        for name, programs in {"to-before": (NODE_PROGRAM, before), "from-before": (before, NODE_PROGRAM)}.items():
            copies(home, name, programs)
        updated(home, before)
    except DemoError as error:
        say(f"They do not work together: {error}")
        return 1
    say(json.dumps({"release": commit, "pairs": 2, "updated": 1}))
    return 0


def built(commit: str, home: Path) -> Path:
    """Build the node of a commit in a work tree of its own, which is removed; the program is kept for the next time."""
    program = home / f"headrace-node-{commit}"
    if program.exists():
        return program
    tree = Path(tempfile.mkdtemp(prefix="release-", dir=home))
    git = ("git", "-C", str(REPOSITORY), "worktree")
    try:
        subprocess.run([*git, "add", "--quiet", "--detach", "--force", str(tree), commit], check=True, timeout=60)
        say(f"building headrace-node of {commit} (some minutes)")
        subprocess.run(
            ["cargo", "build", "--quiet", "--release", "--bin", "headrace-node"],
            cwd=tree / "engine",
            env={name: value for name, value in os.environ.items() if name != "CARGO_TARGET_DIR"},
            check=True,
            timeout=BUILD_LIMIT_S,
        )
        shutil.copy2(tree / "engine/target/release/headrace-node", program)
    finally:
        subprocess.run([*git, "remove", "--force", str(tree)], check=False, timeout=60)
    return program


def copies(home: Path, name: str, programs: tuple[Path, Path]) -> None:
    """One release sends, the other receives."""
    with tempfile.TemporaryDirectory(prefix=f"releases-{name}-", dir=home) as place:
        folder = Path(place)
        source, destination = folder / "krios1", folder / "archive"
        lay_out(source)
        with Stage(folder) as stage:
            site = open_site(stage, source, destination, programs)
            site.ada.run("copy", "krios1:/", "archive:/", "--yes", "--verify", "at-rest", show=True)
        compare(source, destination)


def updated(home: Path, before: Path) -> None:
    """The receiving node of the last release is killed in mid-transfer, and today's goes on with what it left."""
    with tempfile.TemporaryDirectory(prefix="releases-updated-", dir=home) as place:
        folder = Path(place)
        source, destination = folder / "krios1", folder / "archive"
        lay_out(source)
        with Stage(folder) as stage:
            site = open_site(stage, source, destination, (NODE_PROGRAM, before))
            command = subprocess.Popen(
                [HEADRACE, "copy", "krios1:/", "archive:/", "--yes", "--rate", SLOWLY],
                env=site.ada.environment,
                stdin=subprocess.DEVNULL,
            )
            try:
                durable = wait_for_durable(site)
                stage.kill("dtn-b")
                stage.node("dtn-b", "run", program=NODE_PROGRAM)
                say(f"   [updated with {durable} bytes durable]")
                code = command.wait(TRANSFER_LIMIT_S)
            finally:
                if command.poll() is None:
                    command.kill()
        if code != 0:
            message = f"after an update `headrace copy` ended with {code}"
            raise DemoError(message)
        compare(source, destination)


def lay_out(folder: Path) -> None:
    """Small files, a large one, odd names, an empty folder, a symlink."""
    numbers = random.Random(7)  # noqa: S311 (reproducible, nothing secret)
    (folder / "many").mkdir(parents=True)
    (folder / "empty").mkdir()
    for number in range(500):
        (folder / "many" / f"{number:03}").write_bytes(numbers.randbytes(number))
    (folder / "large").write_bytes(numbers.randbytes(32 * MIB + 12345))
    (folder / os.fsdecode(b"odd \xff %41")).write_bytes(b"bytes")
    (folder / "link").symlink_to("large")


def wait_for_durable(site: Site) -> int:
    """Return what is durable at the destination as soon as something of the large file is."""
    limit = time.monotonic() + TRANSFER_LIMIT_S
    while time.monotonic() < limit:
        for transfer in site.ada.listed("status"):
            progress = site.ada.facts("status", str(transfer["id"]))["progress"]
            durable = int(str(progress["bytes_durable"])) if isinstance(progress, dict) else 0
            if durable > MIB:
                return durable
    message = "nothing became durable"
    raise DemoError(message)


def compare(source: Path, destination: Path) -> None:
    """Both trees are the same."""
    done = subprocess.run(
        ["diff", "-r", "--no-dereference", str(source), str(destination)],
        text=True,
        errors="replace",
        stdout=subprocess.PIPE,
        check=False,
        timeout=TRANSFER_LIMIT_S,
    )
    if done.returncode != 0:
        message = f"the trees differ: {done.stdout[:1000]}"
        raise DemoError(message)


if __name__ == "__main__":
    sys.exit(main())
