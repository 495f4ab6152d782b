"""When a plan may run: its start, its hours, its deadline. Pure functions of what was asked for and of the clock."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Self

from headrace.api.clock import full_minute
from headrace.api.errors import Code, ServiceError
from headrace.api.policy.calendars import Together
from headrace.client import models as m
from headrace.client.text import bit_rate, byte_size, duration, utc
from headrace.guardrails import OpenHours

_BITS = 8
_LATEST_DEADLINE = timedelta(days=366)
_MOST_S = 10 * 366 * 86_400
"""A nodes' or a requester's figure that asks for longer counts as so long: no time can be made of more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """When a transfer may run."""

    begins: datetime
    """The first moment at which it may run."""
    starts: datetime | None
    """That moment, when it lies ahead."""
    hours: OpenHours | None
    deadline: datetime | None

    @classmethod
    def of(cls, intent: m.TransferIntent, zone: str, now: datetime) -> Self:
        """Read what was asked for at `now`; clock times are those of `zone`."""
        hours = OpenHours.of(intent.window, zone) if intent.window else None
        asked = max(now, intent.start or now)
        begins = hours.opening(asked) if hours else asked
        return cls(begins=begins, starts=begins if begins > now else None, hours=hours, deadline=intent.deadline)

    @property
    def hours_view(self) -> m.RunHours | None:
        """Its hours, for people and programs."""
        return m.RunHours(**self.hours.to_body()) if self.hours else None

    def done(self, seconds: float) -> datetime:
        """Return when so much work is done at the earliest."""
        work = timedelta(seconds=min(seconds, _MOST_S))
        return self.hours.after(self.begins, work) if self.hours else self.begins + work

    def infeasible(self, count: int, rate_limit_bps: int | None, hours: Together | None = None) -> str:
        """Say why its deadline can't be kept, whatever the network carries; empty when it may be.

        `hours`: those in which it runs, where its class has some, too.
        """
        if self.deadline is None:
            return ""
        begins = self.begins if hours is None else hours.opening(self.begins)
        if begins is None or self.deadline <= begins:
            opens = f"before {utc(begins)}" if begins else "in any hours of its class"
            return f"it may not run {opens}, and is to be done by {utc(self.deadline)}; {_ASK}"
        if rate_limit_bps is None:
            return ""
        seconds = count * _BITS / rate_limit_bps
        if hours is not None and hours.seconds(begins, self.deadline) >= seconds:
            return ""
        earliest = (
            self.done(seconds) if hours is None else hours.after(begins, timedelta(seconds=min(seconds, _MOST_S)))
        )
        if earliest is not None and earliest <= self.deadline:
            return ""
        when = f"at {utc(full_minute(earliest))} at the earliest" if earliest else "in more than ten years"
        return (
            f"{byte_size(count)} at {bit_rate(rate_limit_bps)} take {duration(seconds)}, so it is done {when}, and "
            f"not by {utc(self.deadline)}; ask for a higher rate, or {_ASK}"
        )

    def notes(self, links: Sequence[str] = ()) -> list[str]:
        """Say under the seal how its hours and its deadline are kept; `links` keep what it needs."""
        found = []
        if self.hours is not None:
            found.append(
                f"It runs only in its hours, {self.hours}: when they end it waits, and goes on when they return."
            )
        if self.deadline is not None:
            kept = f"what that needs of {', '.join(links)}" if links else "no rate"
            found.append(
                f"It is to be done by {utc(self.deadline)}. That is watched and told, and {kept} is set aside for it."
            )
        return found

    def warning(self, eta_s: int | None) -> str:
        """Say that its deadline will hardly be kept, by what was moved there before; empty when it may be."""
        if self.deadline is None or eta_s is None or (earliest := self.done(eta_s)) <= self.deadline:
            return ""
        return f"Judging by earlier transfers there, it will be done at about {utc(earliest)}, after its deadline."


def require_near(deadline: datetime | None, now: datetime) -> None:
    """Refuse a deadline so far ahead that nobody could mean it."""
    latest = now + _LATEST_DEADLINE
    if deadline is not None and deadline >= latest:
        raise ServiceError(
            Code.NOT_SUPPORTED_YET,
            f"a deadline may lie at most {_LATEST_DEADLINE.days} days ahead: before {latest:%Y-%m-%d %H:%M} UTC",
            fields=("deadline",),
        )


def at_risk(deadline: datetime, hours: Together, left_s: int | None, now: datetime) -> bool:
    """Whether a deadline has passed at `now`, or will have, at the present rate in its hours, before all is there."""
    if now >= deadline:
        return True
    if left_s is None:
        return False
    if left_s >= (deadline - now).total_seconds():
        return True
    return hours.seconds(now, deadline) < left_s


_ASK = "ask for a later deadline"
