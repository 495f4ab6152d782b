"""The verdict on a transfer that has ended: what limited it, or plainly that this is not known; and what is known.

What its last attempt measured is kept with the transfer for as long as that is: neither the age of samples nor a
restart of the service changes it. What a service that was away did not hear is not known, and is called that.
"""

import shlex
from typing import Final

from headrace.api.transfers.advice import ADVICE
from headrace.api.transfers.diagnosis import LEAST_S
from headrace.client import models as m
from headrace.client.text import duration, plural, stays

_MOSTLY: Final = 0.5
"""From this part of the time on, from its start to its end, it is the waits that took it."""
_LONG_S: Final = 60
"""Shorter waits are no verdict."""
_WHOLE: Final = 10
"""From so many seconds on fractions say nothing."""


def verdict_after(shown: m.Transfer, measured: m.Diagnosis | None) -> m.Diagnosis:
    """Return the verdict on a transfer as it is shown; `measured` is what its last attempt was judged by, if it was."""
    known = measured is not None and measured.measured_s >= LEAST_S
    match shown.state:
        case m.TransferState.FAILED:
            found = measured or _of(shown, m.Limit.NOT_RUNNING, f"it failed ({_code(shown)}) before it moved anything")
            found = _with_steps(shown, found)
        case m.TransferState.CANCELED:
            found = _canceled(shown, measured if known else None)
        case _:
            found = measured if measured is not None and (known or measured.remedy) else _unmeasured(shown)
            found = _waited(shown, found)
    return found.model_copy(update={"evidence": [*found.evidence, *_known(shown)], "live": False})


def _of(shown: m.Transfer, limit: m.Limit, said: str, *remedy: str) -> m.Diagnosis:
    return m.Diagnosis(transfer=shown.id, limit=limit, said=said, remedy=list(remedy))


def _code(shown: m.Transfer) -> str:
    return f"`{shown.error.code}`; its error says more" if shown.error else "its reason says more"


def _with_steps(shown: m.Transfer, found: m.Diagnosis) -> m.Diagnosis:
    """Say what to do about a failure: what its code advises, and its next step."""
    advice = ADVICE.get(shown.error.code, "") if shown.error else ""
    steps = [one for one in (advice, _next(shown)) if one and one not in found.remedy]
    return found.model_copy(update={"remedy": [*found.remedy, *steps]})


def _next(shown: m.Transfer) -> str:
    return shown.next_step.message if shown.next_step.kind in {"retry", "resume", "plan_again"} else ""


def _canceled(shown: m.Transfer, measured: m.Diagnosis | None) -> m.Diagnosis:
    """Say that somebody ended it, how far it had come, and what limited it until then."""
    if shown.started is None:
        return _of(shown, m.Limit.NOT_RUNNING, "it was canceled before it began")
    said = f"it was canceled: {stays(shown.progress)}"
    if measured is None:
        return _of(shown, m.Limit.NOT_RUNNING, f"{said}; what limited it until then was not measured")
    return measured.model_copy(update={"said": f"{measured.said}; {said}"})


def _unmeasured(shown: m.Transfer) -> m.Diagnosis:
    """Say why nothing says what limited it."""
    progress, took_s = shown.progress, shown.active_s or 0.0
    if progress.files_done and progress.files_done == progress.files_identical and not progress.bytes_durable:
        there = f"{plural(progress.files_identical, 'file')} {'was' if progress.files_identical == 1 else 'were'} there"
        return _of(shown, m.Limit.UNKNOWN, f"nothing held it back: there was nothing to move, {there} already")
    if took_s < 2 * LEAST_S:
        said = f"it took {duration(took_s)}, too short a time to say what limited it"
        return _of(shown, m.Limit.UNKNOWN, said)
    said = (
        "what limited it is not known: its nodes told nothing of its last attempt, or the service was away while it ran"
    )
    command = shlex.join(("headrace", "probe", shown.source, shown.destination))
    probe = f"`{command}` measures what limits this way now"
    return _of(shown, m.Limit.UNKNOWN, said, *(() if shown.names_withheld else (probe,)))


def _waited(shown: m.Transfer, found: m.Diagnosis) -> m.Diagnosis:
    """Say first that it was waits that took its time, where that is so: no more speed would have helped much."""
    if shown.started is None or shown.ended is None or shown.active_s is None:
        return found
    whole_s = (shown.ended - shown.started).total_seconds()
    waited_s = whole_s - shown.active_s
    if waited_s < _LONG_S or waited_s < _MOSTLY * whole_s:
        return found
    said = (
        f"it waited for {duration(waited_s)} of the {duration(whole_s)} from its start to its end; its history says "
        f"for what (`headrace watch {shown.id}`). While it ran: {found.said}"
    )
    return found.model_copy(update={"limit": m.Limit.NOT_RUNNING, "where": "service", "said": said})


def _known(shown: m.Transfer) -> list[m.Evidence]:
    """Return what is known of any transfer, however long ago: what it moved, in what time, how fast."""
    progress, found = shown.progress, list[m.Evidence]()
    if shown.active_s is None:
        return found
    found.append(m.Evidence(name="its attempts took", value=_rounded(shown.active_s), unit="s"))
    if shown.started is not None and shown.ended is not None:
        whole_s = (shown.ended - shown.started).total_seconds()
        if whole_s >= shown.active_s + LEAST_S:
            found.append(m.Evidence(name="from its start to its end", value=_rounded(whole_s), unit="s"))
    if shown.state is not m.TransferState.CANCELED:
        found.append(m.Evidence(name="safe at its destination", value=progress.bytes_durable, unit="B"))
    if progress.average_bps:
        found.append(m.Evidence(name="on average", value=progress.average_bps, unit="b/s"))
    return found


def _rounded(seconds: float) -> float:
    return round(seconds, 3) if seconds < _WHOLE else round(seconds)
