"""What must hold when the killing is over: everything ended, once, and the papers say so."""

import asyncio
import statistics
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.slow.kill_service.house import Back, House
from tests.slow.kill_service.work import Book

from headrace.client import END_STATES, HttpHeadrace
from headrace.client import models as m

PAGE = 200
LONG_PAGE = 1000
TIDY_LIMIT_S = 10.0
END_LIMIT_S = 240.0
"""After the last kill, everything must end within this time without help (a busy machine takes a while)."""


MUST_BE_HIT = ("planning", "submitting", "running", "ending", "publishing")
"""`submitting` is between the commit of a submission and the start of its first attempt."""
ENOUGH_KILLS = 200
"""So many kills of the service that each of these moments must have been hit."""
NODES_BACK_S = 2.0
QUIET_LOAD = 2.0
"""On a busier host (load average over a minute) a late node proves nothing."""


@dataclass(frozen=True)
class Seen:
    """What the service shows when all is over."""

    plans: list[m.Plan]
    transfers: list[m.Transfer]
    events: list[m.AuditEvent]
    audit: m.AuditVerdict


def service_kills(killed: Mapping[tuple[tuple[str, ...], str], int]) -> Counter[str]:
    """Count the kills of the service by moment; what happened at a kill of nodes alone shows nothing of the service."""
    found: Counter[str] = Counter()
    for (victims, moment), count in killed.items():
        if "service" in victims:
            found[moment] += count
    return found


def missed(hit: Mapping[str, int]) -> list[str]:
    """Say which moments no kill of the service hit, of a campaign that is long enough to hit all."""
    kills = sum(hit.values())
    if kills < ENOUGH_KILLS:
        return []
    return [
        f"none of {kills} kills of the service came at the moment `{moment}`"
        for moment in MUST_BE_HIT
        if not hit.get(moment)
    ]


def late_nodes(back: Iterable[Back]) -> list[str]:
    """Say which restarts of the service left its nodes away for too long."""
    return [
        f"the nodes were back {one.seconds:.1f} s after a restart of the service, at a load of {one.load:.1f}; at most "
        f"{NODES_BACK_S:.0f} s are promised"
        for one in back
        if one.seconds > NODES_BACK_S and one.load < QUIET_LOAD
    ]


def nodes_back(back: Sequence[Back]) -> dict[str, float | str]:
    """Say how long the nodes were away, and how many restarts could show that they keep the promise."""
    times = sorted(one.seconds for one in back) or [0.0]
    judged = sum(one.load < QUIET_LOAD for one in back)
    return {
        "median": round(statistics.median(times), 2),
        "longest": round(times[-1], 2),
        "judged": f"{judged} of {len(back)} restarts" if judged else f"not shown: none of {len(back)} restarts",
    }


def taken_over(seconds: Sequence[float], repeated: Mapping[int, int]) -> dict[str, object]:
    """Say what the kills of the process that led cost: time without nodes, and calls that had to be made again."""
    times = sorted(seconds) or [0.0]
    return {
        "kills_of_the_leader_alone": len(seconds),
        "nodes_at_the_next_leader_s": {"median": round(statistics.median(times), 2), "longest": round(times[-1], 2)},
        "calls_made_again": {f"{times} times": count for times, count in sorted(repeated.items()) if times},
    }


async def judge(house: House, book: Book) -> dict[str, int]:
    """Add what is wrong to the book's findings; return what was counted."""
    plans: list[m.Plan] = []
    transfers: list[m.Transfer] = []
    for name in ("ada", "ben"):
        async with house.person(name) as port:
            plans += await _all_plans(port)
            transfers += await _all_transfers(port)
    async with house.person("admin") as admin:
        seen = Seen(plans, transfers, await _all_events(admin), await admin.verify_audit())
    book.findings += wrong(seen, book.settled, await kept(house.stage.folder / "state", transfers))
    return {"plans": len(plans), "transfers": len(transfers), "audit_events": len(seen.events)}


def wrong(seen: Seen, settled: Iterable[Path], left: Iterable[Path]) -> list[str]:
    """Say what is wrong with what is seen, the destinations that were `settled`, and what the nodes have `left`."""
    audit = seen.audit
    broken = [] if audit.intact else [f"the audit chain is broken at event {audit.broken_at}: {audit.detail}"]
    idle = [] if any(one.state == "complete" for one in seen.transfers) else ["no transfer completed: nothing is shown"]
    return [
        *broken,
        *idle,
        *stranded(seen.plans, seen.transfers),
        *ran_twice(seen.transfers, seen.events),
        *(f"{folder} appeared again after its transfer was over" for folder in settled if folder.exists()),
        *(f"{path.name} is over, and {path} is still there" for path in left),
    ]


async def until_ended(house: House) -> None:
    """Wait until no plan is surveyed and no transfer goes on, at most four minutes."""
    limit = time.monotonic() + END_LIMIT_S
    for name in ("ada", "ben"):
        async with house.person(name) as port:
            while time.monotonic() < limit:
                surveyed = await port.plans(state="surveying", limit=1)
                open_ones = [one for one in await _all_transfers(port) if one.state not in END_STATES]
                if not surveyed and not open_ones:
                    break
                await asyncio.sleep(0.2)


def stranded(plans: Iterable[m.Plan], transfers: Iterable[m.Transfer]) -> list[str]:
    """Say which plans and transfers have not ended."""
    return [f"{plan.id}: still {plan.state}" for plan in plans if plan.state == "surveying"] + [
        f"{one.id}: still {one.state} ({one.state_reason}) at attempt {one.attempt}"
        for one in transfers
        if one.state not in END_STATES
    ]


async def kept(state: Path, transfers: Iterable[m.Transfer], limit_s: float = TIDY_LIMIT_S) -> list[Path]:
    """Find what the nodes keep of transfers that are over for good, after the time that tidying up may take."""
    over = {one.id for one in transfers if one.state in {"complete", "canceled"}}
    limit = time.monotonic() + limit_s
    while left := await asyncio.to_thread(_named, state, over):
        if time.monotonic() > limit:
            break
        await asyncio.sleep(0.2)
    return left


def _named(state: Path, transfers: set[str]) -> list[Path]:
    return [path for path in state.rglob("tr_*") if path.name in transfers]


@dataclass
class _Papers:
    """What the audit chain says: one submission a plan and transfer, one end, one receipt, nothing after the end."""

    submitted: Counter[str] = field(default_factory=Counter)
    receipts: Counter[str] = field(default_factory=Counter)
    attempts: Counter[str] = field(default_factory=Counter)
    ended: dict[str, str] = field(default_factory=dict)
    found: list[str] = field(default_factory=list)

    def read(self, event: m.AuditEvent) -> None:
        """Take in the next event."""
        subject, detail = event.subject or "", event.detail
        match event.kind:
            case "submitted":
                self.submitted[subject] += 1
            case "receipt_made":
                self.receipts[detail["transfer"]] += 1
            case "ticketed":
                self._ticketed(subject, int(detail["attempt"]))
            case "transfer_changed" if detail["event"] == detail["state"]:
                self._changed(subject, detail["state"])

    def _ticketed(self, transfer: str, attempt: int) -> None:
        if attempt < self.attempts[transfer]:
            self.found.append(f"{transfer}: a ticket for attempt {attempt} after {self.attempts[transfer]}")
        self.attempts[transfer] = attempt
        if transfer in self.ended:
            self.found.append(f"{transfer}: ticketed after it was {self.ended[transfer]}")

    def _changed(self, transfer: str, state: str) -> None:
        if transfer in self.ended:
            self.found.append(f"{transfer}: {state} after it was {self.ended[transfer]}")
        if state in END_STATES:
            self.ended[transfer] = state

    def compare(self, one: m.Transfer) -> None:
        """Hold a transfer against them."""
        if self.submitted[one.id] != 1:
            self.found.append(f"{one.id}: submitted {self.submitted[one.id]} times in the audit chain")
        if one.state == "complete" and self.receipts[one.id] != 1:
            self.found.append(f"{one.id}: complete with {self.receipts[one.id]} receipts")
        if one.state in END_STATES and self.ended.get(one.id) != one.state:
            self.found.append(f"{one.id}: {one.state}, and the audit chain says {self.ended.get(one.id)}")


def ran_twice(transfers: Iterable[m.Transfer], events: Iterable[m.AuditEvent]) -> list[str]:
    """Say what was done twice, or after its end, by the audit chain and by the digests of plans."""
    papers = _Papers()
    for event in events:
        papers.read(event)
    for one in transfers:
        papers.compare(one)
    digests = Counter(one.plan_digest for one in transfers)
    return papers.found + [f"plan {digest}: {count} transfers" for digest, count in digests.items() if count > 1]


async def _all_plans(port: HttpHeadrace) -> list[m.Plan]:
    found: list[m.Plan] = []
    while page := await port.plans(limit=PAGE, after=found[-1].id if found else None):
        found += page
    return found


async def _all_transfers(port: HttpHeadrace) -> list[m.Transfer]:
    found: list[m.Transfer] = []
    while page := await port.transfers(limit=PAGE, after=found[-1].id if found else None):
        found += page
    return found


async def _all_events(port: HttpHeadrace) -> list[m.AuditEvent]:
    found: list[m.AuditEvent] = []
    while page := await port.audit(after=str(found[-1].sequence) if found else None, limit=LONG_PAGE):
        found += page
    return found
