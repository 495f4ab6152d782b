"""Whether this host's clock may be ahead of the time: nothing is removed or ended because of its age meanwhile.

What is removed by a clock that was ahead for one start is gone for good, and what has to go goes as well a day later.
The clock is compared with the newest time that was noted while nobody doubted it, and with the clocks of the nodes.
"""

import logging
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from headrace.api.clock import Clock
from headrace.api.data_folder import LAST_TIME, OwnFolder
from headrace.api.durable import place_in_words, replace_file
from headrace.client.text import duration, plural
from headrace.guardrails import SealError, utc_text, utc_time

DOUBTED_AHEAD: Final = timedelta(days=1)
"""How far after the newest time that is known the clock is doubted."""
TRUSTED_AFTER: Final = timedelta(days=1)
"""How long the service runs until a clock that no node confirms is believed: it may really have been off for weeks."""
KEEP_S: Final = 3600
"""How often the time is noted for the next start."""
_MOST_BYTES: Final = 100
_HELD: Final = "nothing is removed, and no paused or waiting transfer ended, because of its age"
_SEE: Final = (
    "see whether that time is right. If it is, because the service was off for so long, there is nothing to do. If "
    "not, set that host's clock right and keep it so (NTP, PTP), then restart the service"
)
_RESTART: Final = "restart the service once that host's clock is right"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Votes:
    """What the clocks of nodes say of this host's."""

    agree: int = 0
    """Nodes on other hosts that have the same time."""
    contradict: int = 0
    """Nodes that have another time, or were refused for it."""

    @property
    def against(self) -> bool:
        """Whether more nodes contradict than agree."""
        return self.contradict > self.agree


@dataclass(frozen=True, slots=True)
class Doubt:
    """Why something is held back, and what an operator does."""

    sentence: str
    what_to_do: str


class ClockDoubt:
    """Compares the clock with the time that is known."""

    def __init__(self, clock: Clock, steady: Clock, folder: OwnFolder) -> None:
        """Judge `clock`, and `steady` that began with it; the time is noted in `folder`."""
        self._clock, self._steady, self._folder = clock, steady, folder
        self._known, self._known_at = clock(), steady()
        """The newest time that nobody doubted, and when that was by the steady clock."""
        self._since: datetime | None = None
        """Since when the clock is doubted, by the steady one."""
        self._waits_wrong = False
        """Whether the steady clock began with a time that is doubted: it does not follow one that is set right."""
        self.votes: Callable[[], Votes] = Votes
        """Asks the nodes."""

    def begin(self, noted: datetime | None) -> None:
        """Compare the clock with the time that was noted before this start; `noted` is that of the newest event."""
        self._known = self._read() or noted or self._known
        self._waits_wrong = self._ahead > DOUBTED_AHEAD
        self.look()
        self._keep()

    def look(self) -> Doubt | None:
        """Say why the clock is doubted now; nothing when it is not."""
        votes = self.votes()
        several_against = votes.against and votes.contradict > 1
        if self._ahead <= DOUBTED_AHEAD and not several_against:
            self._believe()
            return None
        waited = self._steady()
        if not votes.against and (votes.agree or (self._since is not None and waited >= self._since + TRUSTED_AFTER)):
            self._confirm()
            return None
        first, self._since = self._since is None, self._since or waited
        doubt = self._doubt(votes, self._since + TRUSTED_AFTER - waited)
        if first:
            _log.warning("%s; %s", doubt.sentence, doubt.what_to_do)
        return doubt

    def of_waits(self) -> Doubt | None:
        """Say why what measures waits is doubted now, which no clock that is set right meanwhile mends."""
        doubt = self.look()
        if self._waits_wrong:
            return doubt or Doubt(
                f"the clock of the host `{os.uname().nodename}` was ahead when this process started, and waits are "
                "measured from then on: no paused or waiting transfer is ended because of its age until the service "
                "is restarted",
                _RESTART,
            )
        return doubt if doubt is not None and self.votes().against else None

    def unless(self, run: Callable[[], Awaitable[None]]) -> Callable[[], Awaitable[None]]:
        """Return a duty that does `run`, which removes something because of its age, unless the clock is doubted."""
        return partial(self._run_unless, run)

    async def keep(self) -> None:
        """Note the time for the next start, unless it is doubted: a periodic duty."""
        if self.look() is None:
            self._keep()

    async def _run_unless(self, run: Callable[[], Awaitable[None]]) -> None:
        if self.look() is None:
            await run()

    @property
    def _ahead(self) -> timedelta:
        """How far the clock is ahead of the time that is known."""
        return self._clock() - self._expected

    @property
    def _expected(self) -> datetime:
        return self._known + (self._steady() - self._known_at)

    def _believe(self) -> None:
        # A clock that is set back and forward again is not ahead for that.
        self._known, self._known_at = max(self._clock(), self._expected), self._steady()
        if self._since is not None:
            self._since = None
            _log.info("the clock of this host is no longer doubted; what was held back goes on")

    def _confirm(self) -> None:
        self._known, self._known_at = self._clock(), self._steady()
        if abs(self._clock() - self._steady()) <= DOUBTED_AHEAD:
            self._waits_wrong = False
        self._believe()
        self._keep()

    def _doubt(self, votes: Votes, left: timedelta) -> Doubt:
        now, host = self._clock(), os.uname().nodename
        against = (
            f"the clocks of {plural(votes.contradict, 'node')} contradict the one of the host `{host}`, and "
            f"{votes.agree} agree"
        )
        if self._ahead <= DOUBTED_AHEAD:
            return Doubt(f"{against}: {_HELD}, until fewer nodes contradict it than agree", _SEE)
        said = (
            f"it is {now:%Y-%m-%d %H:%M:%S} UTC by the clock of the host `{host}`, "
            f"{duration(self._ahead.total_seconds())} after what this service knows of the time"
        )
        if votes.against:
            return Doubt(f"{said}; {against}: {_HELD}, until more nodes agree than contradict", _SEE)
        until = now + max(left, timedelta())
        return Doubt(
            f"{said}, and no node on another host confirms it: {_HELD}, until one does or until {until:%Y-%m-%d %H:%M} "
            "UTC by this clock",
            _SEE,
        )

    def _keep(self) -> None:
        if self._since is not None:  # a doubted time is not noted
            return
        try:
            self._folder.require()
            replace_file(self._folder.path / LAST_TIME, f"{utc_text(self._clock())}\n".encode())
        except OSError as error:
            _log.warning("the time can't be noted for the next start: %s", place_in_words(error))

    def _read(self) -> datetime | None:
        """Read what was noted; a file that is missing or holds no time tells nothing."""
        try:
            with (self._folder.path / LAST_TIME).open(encoding="utf-8") as file:
                return utc_time(file.read(_MOST_BYTES).strip())
        except (OSError, ValueError, SealError):
            return None
