"""What must hold when the hostile client is done: nothing ran that nobody agreed to, and no answer was a fault."""

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.slow.hostile.client import GOALS, Book
from tests.slow.hostile.honest import SOURCE, THERE, Trap

ENOUGH = 5000
"""So often each goal is reached in a walk of 100,000 steps; shorter ones have bad luck: half of that, in proportion."""
FULL = 100_000
TROUBLE_IN_LOGS = ("Traceback (most recent call last)", "panicked at", "internal_error")


@dataclass(frozen=True)
class Ran:
    """A transfer as the store has it, with what its plan needed."""

    id: str
    digest: str
    obligations: Sequence[str]
    bytes: int
    deletes: bool


def ran_in(store: Path) -> list[Ran]:
    """Read every transfer from the store of a service that has ended."""
    query = (
        "select t.id, t.plan_digest, p.obligations, t.progress, p.deletes"
        " from transfers t join plans p on p.id = t.plan"
    )
    with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as rows:
        return [
            Ran(
                name,
                digest,
                needs.split(),
                int(json.loads(progress).get("bytes_durable", 0)),
                bool(deletes),
            )
            for name, digest, needs, progress, deletes in rows.execute(query)
        ]


def unagreed(ran: Iterable[Ran], yes: Mapping[str, set[str]]) -> list[Ran]:
    """Find what ran without each yes that its plan needed."""
    kinds = {"confirmation": "confirm", "approval": "approve"}
    return [
        one
        for one in ran
        if not {kinds[need.partition(":")[0]] for need in one.obligations} <= yes.get(one.digest, set())
    ]


def trap_findings(trap: Trap) -> list[str]:
    """Hold one folder against what was agreed to for it."""
    now = {path.name: path.read_bytes() for path in trap.folder.iterdir() if path.is_file()}
    found = []
    differs = now.get("differs.txt", b"")
    may_be = (
        {b"drifted"}
        if trap.drifted
        else {THERE["differs.txt"], SOURCE["differs.txt"]}
        if trap.agreed
        else {THERE["differs.txt"]}
    )
    if differs not in may_be:
        found.append(f"{trap.folder}: differs.txt holds {differs[:40]!r}")
    if now.get("keep.txt") != THERE["keep.txt"]:
        found.append(f"{trap.folder}: keep.txt is not what it was")
    if "only-there.txt" not in now and not trap.agreed:
        found.append(f"{trap.folder}: only-there.txt is gone")
    if now.get("only-there.txt", THERE["only-there.txt"]) != THERE["only-there.txt"]:
        found.append(f"{trap.folder}: only-there.txt is not what it was")
    strange = {name: content for name, content in now.items() if name not in THERE and SOURCE.get(name) != content}
    strange.pop("slow.dat", None)
    if strange:
        found.append(f"{trap.folder}: holds {sorted(strange)}")
    return found


def missed(reached: Mapping[str, int], steps: int) -> list[str]:
    """Find goals that a walk reached too seldom to prove anything."""
    least = ENOUGH * steps // FULL // (1 if steps >= FULL else 2)
    return [
        f"only {reached.get(goal, 0)} of {steps} steps reached a goal ({goal}); {least} are enough"
        for goal in GOALS
        if reached.get(goal, 0) < least
    ]


def in_logs(folder: Path) -> list[str]:
    """Find traces of unhandled errors in the logs of the service and its nodes."""
    found = []
    for log in sorted(folder.glob("*.log")):
        text = log.read_text(encoding="utf-8", errors="replace")
        found += [f"{log.name}: {word}" for word in TROUBLE_IN_LOGS if word in text]
    return found


@dataclass(frozen=True)
class Verdict:
    """The counts that must be 0, and what else was found."""

    unapproved_bytes: int
    unapproved_deletes: int
    unhandled_errors: int
    findings: Sequence[str]


def judge(
    book: Book, ran: Sequence[Ran], traps: Iterable[Trap], changed: Sequence[str], logs: Sequence[str]
) -> Verdict:
    """Bring everything together; `changed` are files that nothing may ever change and that did."""
    wrong = unagreed(ran, book.yes)
    traps_found = [finding for trap in traps for finding in trap_findings(trap)]
    findings = [
        *(
            f"{one.id} ran, needs {list(one.obligations)}, was given {sorted(book.yes.get(one.digest, ()))}"
            for one in wrong
        ),
        *traps_found,
        *(f"changed: {name}" for name in changed),
        *book.findings,
        *logs,
    ]
    return Verdict(
        unapproved_bytes=sum(one.bytes for one in wrong),
        unapproved_deletes=sum(one.deletes for one in wrong) + sum("gone" in one for one in (*traps_found, *changed)),
        unhandled_errors=len(logs) + sum("was taken" not in one for one in book.findings),
        findings=findings,
    )
