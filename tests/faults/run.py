"""Break the product one line at a time and demand that a test notices.

Each `[[fault]]` of faults.toml names a file, the text to find in it (which must occur exactly once), what to put there
instead, and the test that must fail then. The tree is copied, so nothing of the working tree is ever changed.
What fails the run: a fault that no test notices, one whose text is gone, one that does not build, one whose test hangs
or fails without naming a test, and a test that fails without any fault.

    tests/faults/run.py [NAME ...] [--touched [REV]] [--minutes N] [--after-green]
"""

import argparse
import math
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent.parent
FAULTS = Path("tests/faults/faults.toml")
MEMBERS = ("api", "auth", "cli", "client", "guardrails", "mcp-server")
TEST_LIMIT_S = 600
WHOLE_LIMIT_S = 7200
"""For all Python tests in one run."""
FEW = 20
"""So many Python tests are run one by one, when no fault is in the tree; more as whole files, in one run."""
EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
"""What git calls the tree before the first commit."""
PROFILE = os.environ.get("CARGO_PROFILE", "dev")
BUILDS = REPOSITORY / "engine" / "target"
"""Builds of the working tree. Those of broken trees are kept apart, in `faults` below it."""
NODE_PROGRAM = REPOSITORY / os.environ.get("NODE_PROGRAM", "engine/target/release/headrace-node")
"""What browser tests start as their nodes: no broken tree builds its own."""
FAILED = {
    "pytest": re.compile(r"^FAILED (\S+)", re.MULTILINE),
    "cargo": re.compile(r"^failures:\n    (\S+)$", re.MULTILINE),
    "vitest": re.compile(r"^\s*FAIL\s+(\S.*?)\s*$", re.MULTILINE),
}
"""How each kind of test names the tests that failed."""
DOES_NOT_BUILD = re.compile(r"error: could not compile|^ERROR |errors? during collection", re.MULTILINE)
HUNG = re.compile(r"Timeout \(>\d|Test timed out in")

_say = threading.Lock()


@dataclass(frozen=True, slots=True)
class Fault:
    """One line that breaks a promise, and the test that must catch it."""

    name: str
    promise: str
    file: str
    find: str
    replace: str
    test: tuple[str, ...]

    @property
    def package(self) -> str:
        """The crate or room that it is in."""
        parts = Path(self.file).parts
        return "/".join(parts[:3] if parts[0] == "engine" else parts[:1])

    def apply(self, tree: Path) -> str | None:
        """Put the fault into `tree`; returns what is wrong with the fault itself, or None."""
        path = tree / self.file
        text = path.read_text(encoding="utf-8")
        if text.count(self.find) != 1:
            return f"its text occurs {text.count(self.find)} times in {self.file}, not once"
        path.write_text(text.replace(self.find, self.replace), encoding="utf-8")
        return None


@dataclass(frozen=True, slots=True)
class Ran:
    """How a test ended. `code` is None when it did not."""

    code: int | None
    output: str


def main() -> int:
    """Run every fault, or those that were chosen."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("names", nargs="*", help="only these faults")
    parser.add_argument(
        "--touched",
        nargs="?",
        const="",
        metavar="REV",
        help="only new faults and those in packages changed since REV (default: half a day before the last commit)",
    )
    parser.add_argument(
        "--minutes", type=float, metavar="N", help="begin no fault after N minutes: new ones come first"
    )
    parser.add_argument("--after-green", action="store_true", help="all tests have just passed on this tree")
    asked = parser.parse_args()
    faults = list(load((REPOSITORY / FAULTS).read_text(encoding="utf-8")))
    unknown = set(asked.names) - {fault.name for fault in faults}
    if unknown:
        parser.error(f"no such fault: {', '.join(sorted(unknown))}")
    if asked.names:
        faults = [fault for fault in faults if fault.name in asked.names]
    new: set[Fault] = set()
    if asked.touched is not None:
        revision = asked.touched or half_a_day_before()
        new = new_since(faults, revision)
        faults = touched(faults, revision, new)
        if not faults:
            say(f"faults: no package with faults has changed since {revision}")
            return 0
    deadline = Deadline(asked.minutes)
    if asked.minutes is None:
        faults.sort(key=lambda fault: (fault.package, fault.test))
    else:
        # What is left out differs from commit to commit.
        random.Random(git("rev-parse", "HEAD")).shuffle(faults)  # noqa: S311 (no secret)
    faults.sort(key=lambda fault: fault not in new)
    # Side by side: a compiler of one crate keeps about one processor busy, and most Python tests wait.
    rust = [fault for fault in faults if fault.test[0] == "cargo"]
    rest = [fault for fault in faults if fault.test[0] != "cargo"]
    if rust:
        lend_dependencies()
    shares = [share for share in (rust, rest[::2], rest[1::2]) if share]
    failures = 0
    with tempfile.TemporaryDirectory(prefix="headrace-faults-") as folder, ThreadPoolExecutor(len(shares)) as lanes:
        trees = [Path(folder) / str(lane) for lane, _ in enumerate(shares)]
        for tree in trees:
            copy_tree(tree)
        if not asked.after_green:
            failures = sum(lanes.map(run_unbroken, trees, [share for share in (rust, rest) if share]))
        work = [lanes.submit(run_lane, tree, share, deadline) for tree, share in zip(trees, shares, strict=True)]
        caught, missed = (sum(counts) for counts in zip(*(one.result() for one in work), strict=True))
    left = len(faults) - caught - missed
    failures += missed
    say(f"faults: {caught} caught, {failures} failed" + (f", {left} not tried for lack of time" if left else ""))
    return 1 if failures or not faults else 0


class Deadline:
    """The end of a time that begins now; without an end when no minutes are given."""

    def __init__(self, minutes: float | None) -> None:
        self._end = math.inf if minutes is None else time.monotonic() + 60 * minutes

    def passed(self) -> bool:
        """Whether the time is up."""
        return time.monotonic() >= self._end


def load(text: str) -> Iterator[Fault]:
    """Read faults.toml."""
    for row in tomllib.loads(text).get("fault", []):
        yield Fault(row["name"], row["promise"], row["file"], row["find"], row["replace"], tuple(row["test"]))


def half_a_day_before() -> str:
    """The newest commit that is half a day older than the last one: what is since then is one stretch of work."""
    last = int(git("log", "-1", "--format=%ct"))
    return git("rev-list", "-1", f"--before={last - 43_200}", "HEAD").strip() or EMPTY_TREE


def new_since(faults: Sequence[Fault], revision: str) -> set[Fault]:
    """Choose the faults that are new, or changed themselves, since a revision."""
    return set(faults) - set(load(git("show", f"{revision}:{FAULTS}", missing="")))


def touched(faults: Sequence[Fault], revision: str, new: set[Fault]) -> list[Fault]:
    """Choose the new faults, and those in packages that changed since a revision."""
    changed = [Path(name) for name in git("diff", "--name-only", "-z", revision, "--").split("\0") if name]
    packages = {"/".join(path.parts[:3] if path.parts[0] == "engine" else path.parts[:1]) for path in changed}
    return [fault for fault in faults if fault.package in packages or fault in new]


def git(*words: str, missing: str | None = None) -> str:
    """Ask git."""
    done = subprocess.run(["git", *words], cwd=REPOSITORY, capture_output=True, text=True, check=missing is None)
    return done.stdout if done.returncode == 0 else missing or ""


def run_unbroken(tree: Path, faults: Sequence[Fault]) -> int:
    """Run the tests of these faults without any; returns how many failed."""
    failures = 0
    for test in unbroken(faults):
        ran = run_test(tree, test, WHOLE_LIMIT_S)
        if ran.code != 0:
            failures += 1
            say(f"FAILS   without a fault: {' '.join(test)}\n{ran.output[-3000:]}")
    return failures


def unbroken(faults: Sequence[Fault]) -> list[tuple[str, ...]]:
    """Return what to run: each test once, and of many Python tests their whole files, which starts everything once."""
    tests = list(dict.fromkeys(fault.test for fault in faults))
    python = [test for test in tests if test[0] == "pytest"]
    if len(python) <= FEW:
        return tests
    files = sorted({word for test in python for word in test if word.startswith("tests/")})
    return [("pytest", "-n", "2", "--dist", "loadgroup", *files), *(test for test in tests if test not in python)]


def run_lane(tree: Path, faults: Sequence[Fault], deadline: Deadline) -> tuple[int, int]:
    """Run faults one after another in a copy of the tree of their own; returns how many were caught, and not."""
    caught = failures = 0
    for fault in faults:
        if deadline.passed():
            break
        started = time.monotonic()
        noticed, word = try_fault(tree, fault)
        caught += noticed
        failures += not noticed
        say(f"{word.split(':', 1)[0]:7} {fault.name} ({time.monotonic() - started:.0f} s):{word.split(':', 1)[1]}")
    return caught, failures


def copy_tree(tree: Path) -> None:
    """Copy what git tracks (and what is new but not ignored), and lend what was built."""
    names = git("ls-files", "--cached", "--others", "--exclude-standard", "-z").split("\0")
    for name in filter(None, names):
        if (REPOSITORY / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(REPOSITORY / name, tree / name, follow_symlinks=False)
    for modules in (Path("web/node_modules"), Path("tests/servers/oidc/node_modules")):
        if (REPOSITORY / modules).is_dir():
            (tree / modules).symlink_to(REPOSITORY / modules)
    console = Path("api/src/headrace/api/console")
    if (REPOSITORY / console).is_dir():
        shutil.copytree(REPOSITORY / console, tree / console, dirs_exist_ok=True)


def lend_dependencies() -> None:
    """Lend builds of broken trees the dependencies that the working tree has built (libraries as hard links)."""
    profile = "debug" if PROFILE == "dev" else PROFILE
    theirs = BUILDS / "faults" / profile
    if theirs.exists() or not (BUILDS / profile).is_dir():
        return

    def unwanted(folder: str, names: list[str]) -> set[str]:
        if Path(folder).name != "deps":
            return {"incremental"} & set(names)
        return {
            name for name in names if "headrace" in name or Path(name).suffix not in {".rlib", ".rmeta", ".so", ".d"}
        }

    def lend(source: str, target: str) -> None:
        if Path(source).suffix in {".rlib", ".rmeta", ".so"}:
            os.link(source, target)
        else:
            shutil.copy2(source, target)

    shutil.copytree(BUILDS / profile, theirs, symlinks=True, ignore=unwanted, copy_function=lend)


def try_fault(tree: Path, fault: Fault) -> tuple[bool, str]:
    """Apply, test, restore; whether it was caught, and `verdict: what there is to say`."""
    path = tree / fault.file
    before = path.read_bytes()
    problem = fault.apply(tree)
    if problem is not None:
        return False, f"STALE: {problem}"
    try:
        problem = build_console(tree, fault)
        ran = Ran(1, problem) if problem else run_test(tree, fault.test)
    finally:
        path.write_bytes(before)
        os.utime(path)
    return judge(fault, ran)


def judge(fault: Fault, ran: Ran) -> tuple[bool, str]:
    """Say whether a test noticed: it must have ended, and must say which one failed."""
    if ran.code is None or HUNG.search(ran.output):
        return False, f"HUNG: the test did not end in time\n{ran.output[-2000:]}"
    if ran.code == 0:
        return False, f"MISSED: no test noticed that {fault.promise} was broken"
    failed = FAILED[fault.test[0]].search(ran.output)
    if failed is None:
        why = "it does not build or collect" if DOES_NOT_BUILD.search(ran.output) else "no failing test is named"
        return False, f"BROKEN: {why}\n{ran.output[-2000:]}"
    return True, f"caught: {failed[1]}"


def build_console(tree: Path, fault: Fault) -> str:
    """Build the console of a tree whose fault is in it, for tests in a browser; returns what went wrong."""
    if Path(fault.file).parts[0] != "web" or fault.test[0] != "pytest":
        return ""
    built = tree / "api/src/headrace/api/console"
    done = bounded(["npm", "run", "--silent", "build", "--", "--logLevel", "warn"], tree / "web", dict(os.environ))
    if done.code != 0:
        return f"error: could not compile the console\n{done.output}"
    shutil.rmtree(built, ignore_errors=True)
    shutil.copytree(tree / "web/dist", built)
    return ""


def run_test(tree: Path, test: tuple[str, ...], limit_s: float = TEST_LIMIT_S) -> Ran:
    """Run one `pytest ...`, `cargo ...` or `vitest ...` in the copied tree."""
    environment = dict(os.environ)
    # Only here: dependencies are built once for all faults, and never mixed with the working tree's builds.
    environment["CARGO_TARGET_DIR"] = str(BUILDS / "faults")
    # One line differs from build to build.
    environment["CARGO_INCREMENTAL"] = "1"
    # A folder on PYTHONPATH comes before the editable installs, so the copied rooms are the ones that are tested.
    environment["PYTHONPATH"] = os.pathsep.join(str(tree / member / "src") for member in MEMBERS)
    environment["NODE_PROGRAM"] = str(NODE_PROGRAM)
    environment["NO_COLOR"] = "1"
    kind, *words = test
    if kind == "pytest":
        # `--tb=short` keeps the summary, which names what failed, within what is printed.
        return bounded(
            [str(Path(sys.executable).parent / "pytest"), "-q", "-x", "--tb=short", *words], tree, environment, limit_s
        )
    if kind == "vitest":
        return bounded(["npx", "vitest", "run", *words], tree / "web", environment, limit_s)
    first, *words = words
    return bounded([kind, first, "--profile", PROFILE, *words], tree / "engine", environment, limit_s)


def bounded(command: Sequence[str], folder: Path, environment: dict[str, str], limit_s: float = TEST_LIMIT_S) -> Ran:
    """Run a command and end it, with all that it started, when it takes too long."""
    with subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            output, _ = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
            return Ran(None, output)
        return Ran(process.returncode, output)


def say(text: str) -> None:
    """Print a line at once."""
    with _say:
        print(text, flush=True)  # noqa: T201 (a program for a terminal)


if __name__ == "__main__":
    sys.exit(main())
