"""Break the product one line at a time and demand that a test notices.

Each `[[fault]]` of faults.toml names a file, the text to find in it (which must occur exactly once), what to put there
instead, and the test that must fail then. The tree is copied, so nothing of the working tree is ever changed.
A fault that no test notices, a fault whose text is gone, and a test that fails without any fault all fail the run.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent.parent
MEMBERS = ("api", "auth", "cli", "client", "guardrails", "mcp-server")
TEST_LIMIT_S = 600
PYTEST_FAILED = 1


@dataclass(frozen=True, slots=True)
class Fault:
    """One line that breaks a promise, and the test that must catch it."""

    name: str
    promise: str
    file: str
    find: str
    replace: str
    test: tuple[str, ...]

    def apply(self, tree: Path) -> str | None:
        """Put the fault into `tree`; returns what is wrong with the fault itself, or None."""
        path = tree / self.file
        text = path.read_text(encoding="utf-8")
        if text.count(self.find) != 1:
            return f"its text occurs {text.count(self.find)} times in {self.file}, not once"
        path.write_text(text.replace(self.find, self.replace), encoding="utf-8")
        return None


def main() -> int:
    """Run every fault (or those named on the command line)."""
    faults = [fault for fault in load() if not sys.argv[1:] or fault.name in sys.argv[1:]]
    failures = 0
    with tempfile.TemporaryDirectory(prefix="headrace-faults-") as folder:
        tree = Path(folder) / "tree"
        copy_tree(tree)
        for test in dict.fromkeys(fault.test for fault in faults):
            code, output = run_test(tree, test)
            if code != 0:
                failures += 1
                say(f"FAILS WITHOUT A FAULT  {' '.join(test)}\n{output[-3000:]}")
        for fault in faults:
            started = time.monotonic()
            verdict = try_fault(tree, fault)
            failures += verdict is not None
            say(
                f"{'caught' if verdict is None else 'MISSED':7} {fault.name} ({time.monotonic() - started:.0f} s)"
                + (f": {verdict}" if verdict else "")
            )
    distrust_builds()
    say(f"faults: {len(faults) - failures} passed, {failures} failed")
    return 1 if failures or not faults else 0


def load() -> Iterator[Fault]:
    """Read faults.toml."""
    for row in tomllib.loads((Path(__file__).parent / "faults.toml").read_text(encoding="utf-8"))["fault"]:
        yield Fault(row["name"], row["promise"], row["file"], row["find"], row["replace"], tuple(row["test"]))


def copy_tree(tree: Path) -> None:
    """Copy what git tracks (and what is new but not ignored)."""
    names = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        check=True,
    ).stdout.split(b"\0")
    for name in map(os.fsdecode, filter(None, names)):
        if (REPOSITORY / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(REPOSITORY / name, tree / name)


def try_fault(tree: Path, fault: Fault) -> str | None:
    """Apply, test, restore; None when the test caught it."""
    path = tree / fault.file
    before = path.read_bytes()
    problem = fault.apply(tree)
    if problem is not None:
        return problem
    try:
        code, output = run_test(tree, fault.test)
    finally:
        path.write_bytes(before)
        os.utime(path)
    if code == 0:
        return f"no test noticed that {fault.promise} was broken"
    if "error: could not compile" in output or (fault.test[0] == "pytest" and code != PYTEST_FAILED):
        return f"the fault does not build or collect:\n{output[-2000:]}"
    return None


def distrust_builds() -> None:
    """Make cargo build the working tree again: it takes what was built from the broken copy for the tree's own."""
    for path in (REPOSITORY / "engine" / "crates").rglob("*.rs"):
        os.utime(path)


def run_test(tree: Path, test: tuple[str, ...]) -> tuple[int, str]:
    """Run one `pytest ...` or `cargo ...` in the copied tree; dependencies are the working tree's, already built."""
    environment = dict(os.environ)
    environment["CARGO_TARGET_DIR"] = str(REPOSITORY / "engine" / "target")
    # A folder on PYTHONPATH comes before the editable installs, so the copied rooms are the ones that are tested.
    environment["PYTHONPATH"] = os.pathsep.join(str(tree / member / "src") for member in MEMBERS)
    command = (
        [str(Path(sys.executable).parent / "pytest"), "-q", "-x", *test[1:]] if test[0] == "pytest" else list(test)
    )
    try:
        done = subprocess.run(
            command,
            cwd=tree if test[0] == "pytest" else tree / "engine",
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
            timeout=TEST_LIMIT_S,
        )
    except subprocess.TimeoutExpired:
        return PYTEST_FAILED, "the test did not end in time"
    return done.returncode, done.stdout


def say(text: str) -> None:
    """Print a line at once."""
    print(text, flush=True)  # noqa: T201 (a program for a terminal)


if __name__ == "__main__":
    sys.exit(main())
