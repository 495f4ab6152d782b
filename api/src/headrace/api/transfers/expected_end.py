"""When a transfer is expected to end: what is left of its work, laid into the hours in which it may run."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice
from typing import Final

from headrace.api.policy.calendars import Together
from headrace.client import models as m
from headrace.client.text import about, utc

_MOST_S: Final = 10 * 366 * 86_400
"""What takes longer has no end that can be said."""
_MOST_SPANS: Final = 200
"""Spans of its hours that are looked at."""
_MOST_AHEAD: Final = timedelta(days=366)
_WAITS: Final = (m.TransferState.QUEUED, m.TransferState.WAITING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ahead:
    """What lies ahead of a transfer."""

    state: m.TransferState
    progress: m.Progress
    expected: m.Estimate | None
    """By its plan."""
    begins: datetime | None
    """When it begins or goes on, as far as a clock says so."""
    hours: Together
    now: datetime


def expected_end(ahead: Ahead) -> m.ExpectedEnd | None:
    """Say when it ends; nothing where nothing says how long it takes, or where somebody holds it back."""
    progress = ahead.progress
    if ahead.state is m.TransferState.RUNNING:
        if progress.eta_s is None or progress.eta_low_s is None or progress.eta_high_s is None:
            return None
        return _laid_out(ahead, progress.at or ahead.now, (progress.eta_low_s, progress.eta_s, progress.eta_high_s))
    if ahead.expected is None or ahead.state not in _WAITS:
        return None
    left = _part_left(progress)
    low, likely, high = (left * one for one in (ahead.expected.low_s, ahead.expected.likely_s, ahead.expected.high_s))
    if ahead.begins is not None:
        found = _laid_out(ahead, max(ahead.begins, ahead.now), (low, likely, high))
        said = f"it begins or goes on at {utc(ahead.begins)}, if nothing else holds it back then"
        return found and found.model_copy(update={"said": said})
    found = _laid_out(ahead, ahead.now, (low, likely, high))
    said = f"when it begins or goes on is not known; it takes {about(likely, low, high)} from then on"
    return found and found.model_copy(update={"likely": None, "latest": None, "said": said})


def if_it_goes_on(ahead: Ahead) -> m.ExpectedEnd | None:
    """Say when it ends, of one that is paused or does not move if it goes on now."""
    found = expected_end(ahead)
    if found is not None or ahead.state not in {m.TransferState.PAUSED, m.TransferState.RUNNING}:
        return found
    return expected_end(replace(ahead, state=m.TransferState.WAITING, begins=None))


def _part_left(progress: m.Progress) -> float:
    if progress.bytes_total:
        return max(0.0, 1 - progress.bytes_durable / progress.bytes_total)
    return max(0.0, 1 - progress.files_done / progress.files_total) if progress.files_total else 1.0


def _laid_out(ahead: Ahead, begins: datetime, seconds: tuple[float, float, float]) -> m.ExpectedEnd | None:
    """Lay a range of work into its hours: one walk over them, since lists and watchers ask for it often."""
    works = [timedelta(seconds=one) for one in seconds if one <= _MOST_S]
    if ahead.hours.parts:
        ends, done = list[datetime](), timedelta()
        for opens, closes in islice(ahead.hours.spans(begins, begins + _MOST_AHEAD), _MOST_SPANS):
            while len(ends) < len(works) and works[len(ends)] - done <= closes - opens:
                ends.append(opens + works[len(ends)] - done)
            done += closes - opens
            if len(ends) == len(works):
                break
    else:
        ends = [begins + work for work in works]
    earliest, likely, latest = (*(one.replace(microsecond=0) for one in ends), None, None, None)[:3]
    return m.ExpectedEnd(earliest=earliest, likely=likely, latest=latest) if earliest is not None else None
