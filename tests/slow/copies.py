"""Copies of campaigns: start one, and compare what arrived with its source, byte by byte."""

import os
from pathlib import Path

from tests.slow.kill_service.house import PASSWORD

from headrace.client import HttpHeadrace
from headrace.client import models as m

MIB = 1 << 20
CHUNK = 4 * MIB


async def submitted(ada: HttpHeadrace, source: str, destination: str) -> m.Transfer:
    """Plan a copy and start it."""
    slots = {"action": "copy", "source": source, "destination": destination}
    plan = await ada.create_plan(m.PlanRequest(intent=m.TransferIntent.model_validate(slots)))
    while plan.state == "surveying":
        plan = await ada.plan(plan.id, wait_s=10)
    assert plan.digest is not None, plan.summary
    if plan.decision is not None and plan.decision.outcome == "confirm":
        await ada.confirm_plan(plan.id, m.Confirmation(digest=plan.digest, password=PASSWORD))
    return await ada.submit(m.SubmitRequest(plan_digest=plan.digest))


def names_of(folder: Path) -> set[str]:
    """Every file below a folder, temporaries included."""
    return {str(Path(place, name).relative_to(folder)) for place, _, names in os.walk(folder) for name in names}


def differing(left: Path, right: Path) -> tuple[int, int]:
    """Return the size of a file, and how many bytes of it the other one does not have."""
    size = wrong = 0
    with left.open("rb") as ours, right.open("rb") as theirs:
        while True:
            one, other = ours.read(CHUNK), theirs.read(CHUNK)
            if not one and not other:
                return size, wrong
            size += len(one)
            if one != other:
                wrong += abs(len(one) - len(other)) + sum(a != b for a, b in zip(one, other, strict=False))
