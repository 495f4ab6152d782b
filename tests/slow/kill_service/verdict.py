"""What must hold when the killing is over: everything ended, once, and the papers say so."""

import asyncio
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

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
"""So many kills that each of these moments must have been hit."""
NODES_BACK_S = 2.0
QUIET_LOAD = 2.0
"""On a busier host (load average over a minute) a late node proves nothing."""


def missed(hit: Mapping[str, int], kills: int) -> list[str]:
    """Say which moments no kill hit, of a campaign that is long enough to hit all."""
    if kills < ENOUGH_KILLS:
        return []
    return [f"none of {kills} kills came at the moment `{moment}`" for moment in MUST_BE_HIT if not hit.get(moment)]


def late_nodes(back: Iterable[Back]) -> list[str]:
    """Say which restarts of the service left its nodes away for too long."""
    return [
        f"the nodes were back {one.seconds:.1f} s after a restart of the service, at a load of {one.load:.1f}; at most "
        f"{NODES_BACK_S:.0f} s are promised"
        for one in back
        if one.seconds > NODES_BACK_S and one.load < QUIET_LOAD
    ]


async def judge(house: House, book: Book) -> dict[str, int]:
    """Add what is wrong to the book's findings; return what was counted."""
    plans: list[m.Plan] = []
    transfers: list[m.Transfer] = []
    for name in ("ada", "ben"):
        async with house.person(name) as port:
            plans += await _all_plans(port)
            transfers += await _all_transfers(port)
    async with house.person("admin") as admin:
        events = await _all_events(admin)
        verdict = await admin.verify_audit()
    if not verdict.intact:
        book.findings.append(f"the audit chain is broken at event {verdict.broken_at}: {verdict.detail}")
    book.findings += _stranded(plans, transfers)
    book.findings += _ran_twice(transfers, events)
    book.findings += [
        f"{folder} appeared again after its transfer was over" for folder in book.settled if folder.exists()
    ]
    book.findings += await _orphans(house, transfers)
    return {"plans": len(plans), "transfers": len(transfers), "audit_events": len(events)}


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


def _stranded(plans: Iterable[m.Plan], transfers: Iterable[m.Transfer]) -> list[str]:
    return [f"{plan.id}: still {plan.state}" for plan in plans if plan.state == "surveying"] + [
        f"{one.id}: still {one.state} ({one.state_reason}) at attempt {one.attempt}"
        for one in transfers
        if one.state not in END_STATES
    ]


async def _orphans(house: House, transfers: Iterable[m.Transfer]) -> list[str]:
    """Find what the nodes keep of transfers that are over for good, after the time that tidying up may take."""
    over = {one.id for one in transfers if one.state in {"complete", "canceled"}}
    limit = time.monotonic() + TIDY_LIMIT_S
    while left := [path for path in (house.stage.folder / "state").rglob("tr_*") if path.name in over]:
        if time.monotonic() > limit:
            break
        await asyncio.sleep(0.2)
    return [f"{path.name} is over, and {path} is still there" for path in left]


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


def _ran_twice(transfers: Iterable[m.Transfer], events: Iterable[m.AuditEvent]) -> list[str]:
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
    while page := await port.audit(after=found[-1].sequence if found else 0, limit=LONG_PAGE):
        found += page
    return found
