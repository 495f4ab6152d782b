"""What follows from the legs of a probe."""

import pytest

from headrace.api.signing.legs import LEGS, NAMES, leg_of
from headrace.api.transfers.probe import judged, stored_legs
from headrace.client import models as m

GBIT = 1_000_000_000


def legs(*gbit: float | None, seconds: float = 10) -> list[m.ProbeLeg]:
    """Legs in their order with these rates; nothing: not measured."""
    slow = m.Diagnosis(transfer="tr_1", limit=m.Limit.PATH, said="it is slow", remedy=["do more"])
    return [
        m.ProbeLeg(name=name, rate_bps=None if rate is None else int(rate * GBIT), seconds=seconds, diagnosis=slow)
        for name, rate in zip(NAMES, gbit, strict=False)
    ]


@pytest.mark.parametrize(
    ("rates", "tightest"),
    [
        ((10, 9.5, 9, 8.5), "way"),
        ((10, 4, 9, 4), "source_storage"),
        ((10, 9, 2, 2), "destination_storage"),
        ((10, 4, 3, 2.9), "destination_storage"),
        ((10, 3, 4, 2.9), "source_storage"),
        ((10, 9, 9, 4), "together"),
        ((10, 5, 5, 2), "together"),
        ((10, None, 3, None), "destination_storage"),
        ((10, None, 9, None), "way"),
    ],
)
def test_the_slowest_leg_says_which_stage_is_the_tightest(rates: tuple[float | None, ...], tightest: str) -> None:
    found = judged("tr_1", m.TransferState.COMPLETE, legs(*rates), m.ProbeBounds())
    assert found.tightest == tightest, found.said
    assert found.remedy == ["do more"]
    assert "it is slow" in found.said


def test_what_was_not_measured_is_said() -> None:
    found = judged("tr_1", m.TransferState.COMPLETE, legs(10, None, 9, None), m.ProbeBounds())
    assert "the storage of the source was not measured" in found.said


def test_what_follows_from_legs_that_were_short_is_said_to_be_chance() -> None:
    for seconds, chance in ((0.9, True), (1.0, False)):
        found = judged("tr_1", m.TransferState.COMPLETE, legs(10, 9, 9, 4, seconds=seconds), m.ProbeBounds())
        assert ("the shortest leg took 0.9 s, so this may be chance" in found.said) is chance


def test_nothing_is_said_before_all_legs_were_tried() -> None:
    found = judged("tr_1", m.TransferState.RUNNING, legs(10, 9), m.ProbeBounds())
    assert (found.said, found.tightest, found.running) == ("", "", "memory_to_storage")
    assert judged("tr_1", m.TransferState.CANCELED, legs(10, 9), m.ProbeBounds()).running is None


def test_the_next_attempt_measures_the_leg_after_those_that_are_stored() -> None:
    assert leg_of(None) is None
    for number, leg in enumerate(LEGS.values()):
        assert leg_of(stored_legs(legs(*[1.0] * number))) == leg
