"""What the legs of a probe measured, and what follows from it: pure."""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final

from pydantic import TypeAdapter

from headrace.api.signing.legs import NAMES
from headrace.api.transfers.diagnosis import LEAST_S
from headrace.api.transfers.state_machine import leg_is_over
from headrace.client import models as m
from headrace.client.text import bit_rate

if TYPE_CHECKING:
    from headrace.api.transfers.run_state import End, Run

_LEGS: Final[TypeAdapter[list[m.ProbeLeg]]] = TypeAdapter(list[m.ProbeLeg])
_MAX_COUNT: Final = (1 << 63) - 1
"""The largest count that the store takes."""
_SLOWER: Final = 0.8
"""A leg is slower than another when it reaches less than this part of its rate."""
SHOWN: Final[dict[m.LegName, str]] = {
    "memory_to_memory": "memory to memory",
    "storage_to_memory": "storage to memory",
    "memory_to_storage": "memory to storage",
    "storage_to_storage": "storage to storage",
}


def legs_of(probe: str | None) -> list[m.ProbeLeg] | None:
    """Read what is stored of a probe; nothing for what is none."""
    return None if probe is None else _LEGS.validate_json(probe)


def stored_legs(legs: Sequence[m.ProbeLeg]) -> str:
    """Return what is stored."""
    return _LEGS.dump_json(list(legs)).decode()


def measured_leg(
    run: "Run", end: "End", measured: m.Measured, diagnosis: m.Diagnosis | None, now: datetime
) -> m.ProbeLeg:
    """Say what the leg measured whose attempt has ended just now."""
    name = NAMES[len(run.legs or ())]
    moved, files = run.progress.bytes_durable, files_moved(run.progress)
    if not leg_is_over(end.ending(moved=False), first=not run.legs, spent=False):
        why = end.message or end.code
        said = f"it was interrupted{f' ({why})' if why else ''}, and begun anew it could move more than its plan allows"
        return m.ProbeLeg(name=name, bytes=run.moved_bytes, files=files, error=said)
    if end.outcome == "failed" or not moved:
        failed = end.message or end.code if end.outcome == "failed" else _NOTHING[name]
        return m.ProbeLeg(name=name, files=files, error=failed)
    seconds, rate_bps = measured.seconds, measured.rate_bps
    if measured.at is None or not rate_bps:
        # It was over before there were two reports.
        seconds = max(1e-3, (now - run.counted.began).total_seconds()) if run.counted else 1e-3
        rate_bps = int(moved * 8 / seconds)
    return m.ProbeLeg(
        name=name, bytes=moved, files=files, seconds=round(seconds, 3), rate_bps=rate_bps, diagnosis=diagnosis
    )


def lost_of(run: "Run", *, over: bool) -> int:
    """Count what the attempts of a probe moved that were interrupted, with the open one unless its leg is `over`."""
    return min(_MAX_COUNT, run.resent_before + (0 if over else run.moved_bytes))


def files_moved(progress: m.Progress) -> int:
    """Count what was copied: files that were there already, the same, are none of it."""
    return progress.files_done - progress.files_identical


def files_of_legs(legs: Sequence[m.ProbeLeg] | None) -> int:
    """Count what the legs that are over moved; a probe is reserved for all of them, and used what each of them took."""
    return sum(leg.files for leg in legs or ())


_NOTHING: Final[dict[m.LegName, str]] = {
    "memory_to_memory": "nothing arrived",
    "storage_to_memory": "there is no file to read at the source",
    "memory_to_storage": "nothing arrived",
    "storage_to_storage": "there is no file to read at the source",
}


def judged(transfer: str, state: m.TransferState, legs: list[m.ProbeLeg], bounds: m.ProbeBounds | None) -> m.Probed:
    """Say where the difference between the legs goes."""
    under_way = state not in m.END_STATES and len(legs) < len(NAMES)
    shown = m.Probed(
        transfer=transfer,
        state=state,
        bounds=bounds,
        running=NAMES[len(legs)] if under_way and state is m.TransferState.RUNNING else None,
        legs=legs,
    )
    rates = {leg.name: leg.rate_bps for leg in legs if leg.rate_bps}
    if len(legs) < len(NAMES) or "memory_to_memory" not in rates:
        return shown
    tightest, leg, said = _tightest(rates)
    by = next(one for one in legs if one.name == leg)
    evidence = [m.Evidence(name=SHOWN[name], value=rate, unit="b/s") for name, rate in rates.items()]
    if by.diagnosis is not None:
        evidence += by.diagnosis.evidence
        said += f" ({SHOWN[leg]}: {by.diagnosis.said})"
    if short := [one for one in legs if one.rate_bps and one.seconds < LEAST_S]:
        least = min(one.seconds for one in short)
        said += f"; the shortest leg took {least:.1f} s, so this may be chance: let each leg move more bytes"
    remedy = by.diagnosis.remedy if by.diagnosis else []
    return shown.model_copy(update={"tightest": tightest, "said": said, "evidence": evidence, "remedy": remedy})


def _tightest(rates: dict[m.LegName, int]) -> tuple[m.Tightest, m.LegName, str]:
    """Return the tightest stage, the leg that shows it, and the sentence that says it."""
    way = rates["memory_to_memory"]
    alone: list[tuple[int, m.Tightest, m.LegName, str]] = [
        (rates[name], stage, name, f"the storage of the {side}")
        for name, stage, side in _STORAGES
        if rates.get(name, way) < _SLOWER * way
    ]
    slowest = min((rate for rate, *_ in alone), default=way)
    both = rates.get("storage_to_storage")
    if both is not None and both < _SLOWER * slowest:
        said = (
            f"reading and writing at once takes {bit_rate(both)}, less than either alone ({bit_rate(slowest)}): the "
            "storages are one, or share processors with the way"
        )
        return "together", "storage_to_storage", said
    if alone:
        rate, stage, name, what = min(alone)
        return (
            stage,
            name,
            f"{what} is the tightest stage: {bit_rate(rate)} of the {bit_rate(way)} that the way carries",
        )
    missing = [what for name, _, what in _STORAGES if name not in rates]
    but = f"; the storage of the {' and of the '.join(missing)} was not measured" if missing else ""
    return "way", "memory_to_memory", f"the way between the nodes is the tightest stage: {bit_rate(way)}{but}"


_STORAGES: Final[tuple[tuple[m.LegName, m.Tightest, str], ...]] = (
    ("storage_to_memory", "source_storage", "source"),
    ("memory_to_storage", "destination_storage", "destination"),
)


def summary(source: str, destination: str, state: m.TransferState, legs: Sequence[m.ProbeLeg], reason: str) -> str:
    """Say what a probe does or did, in one sentence."""
    what = f"The probe from {source} to {destination} is {state}"
    measured = ", ".join(f"{SHOWN[leg.name]} {bit_rate(leg.rate_bps) if leg.rate_bps else 'not'}" for leg in legs)
    return f"{what}{f': {reason}' if reason else ''}.{f' Measured: {measured}.' if legs else ''}"
