"""When a change of a promise is told: rates and estimates go up and down, and nobody is told of each of their turns.

* What is measured or expected puts a promise at risk when each look of `LATE_FOR` found it late. What is set (its own
  ceiling, its hours, that others were promised its place) does so at once, and so does everything in the last minute.
* A promise is safe again when each look of `SAFE_FOR` found that it will be kept, and would be with `MARGIN` of its
  open time less. What says neither (it has just begun, or waits for nobody knows how long) changes nothing.
* A promise that was missed stays so.

Pure: what was found and the times come in.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal

LATE_FOR: Final = timedelta(seconds=20)
"""How long a promise must look late before that is told."""
AT_ONCE: Final = timedelta(minutes=1)
"""How near its deadline nobody waits for that."""
SAFE_FOR: Final = timedelta(minutes=1)
"""How long it must look safe before that is told."""
MARGIN: Final = 0.05
"""The part of its open time until the deadline that it must not need for that."""

Told = Literal["", "at_risk", "missed"]
"""What is told of a promise: nothing, or that it is safe again; that it is at risk; that it was missed."""
Look = Literal["set_late", "late", "unsure", "safe"]
"""What a look finds: late by what is set, late by what is measured, neither, safe with a margin."""


@dataclass(frozen=True, slots=True)
class _Since:
    """Since when, by the steady clock, every look found the same of a deadline."""

    deadline: datetime
    late: bool
    at: datetime


class PromiseChanges:
    """Remembers what the last looks found."""

    def __init__(self) -> None:
        """Remember nothing yet: after a restart of the service it takes as long again."""
        self._since: dict[str, _Since] = {}

    def keep(self, transfers: Collection[str]) -> None:
        """Forget all but these."""
        self._since = {transfer: since for transfer, since in self._since.items() if transfer in transfers}

    def after(  # noqa: PLR0913 - what it depends on
        self, transfer: str, deadline: datetime, *, told: Told, found: Look, now: datetime, steady: datetime
    ) -> Told:
        """Return what is told from now on of a promise of which this was `told` and is `found`, by both clocks."""
        if told == "missed" or now >= deadline:
            return "missed"
        late = found in {"late", "set_late"}
        if late is (told == "at_risk") or found == "unsure":
            # As it was told, or not known any more.
            self._since.pop(transfer, None)
            return told
        since = self._since.get(transfer)
        if since is None or (since.deadline, since.late) != (deadline, late):
            since = self._since[transfer] = _Since(deadline, late, steady)
        at_once = late and (found == "set_late" or deadline - now <= AT_ONCE)
        if not at_once and steady - since.at < (LATE_FOR if late else SAFE_FOR):
            return told
        del self._since[transfer]
        return "at_risk" if late else ""
