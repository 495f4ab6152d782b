"""A change of a promise is told once, and not each turn of a rate or an estimate."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from headrace.api.transfers.promise_changes import AT_ONCE, LATE_FOR, SAFE_FOR, Look, PromiseChanges, Told

NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)
DEADLINE = NOW + timedelta(hours=1)
LOOK = timedelta(seconds=10)


class Looks:
    """Looks every ten seconds at one promise, and remembers what was told."""

    def __init__(self, told: Told = "") -> None:
        self.changes = PromiseChanges()
        self.told: Told = told
        self.now = NOW

    def at(self, found: Look, deadline: datetime = DEADLINE, after: timedelta = LOOK) -> Told:
        self.now += after
        self.told = self.changes.after(
            "tr_1", deadline, told=self.told, found=found, now=self.now, steady=self.now - timedelta(days=99)
        )
        return self.told

    def all(self, found: Sequence[Look]) -> list[Told]:
        return [self.at(one) for one in found]


def test_what_is_measured_late_is_told_when_every_look_of_some_time_found_it_so() -> None:
    assert Looks().all(["late", "late", "late", "late"]) == ["", "", "at_risk", "at_risk"]
    looks = Looks()
    looks.at("late")
    assert looks.at("late", after=LATE_FOR - timedelta(milliseconds=1)) == ""
    assert looks.at("late", after=timedelta(milliseconds=1)) == "at_risk"


def test_what_goes_up_and_down_is_told_of_neither_way() -> None:
    assert set(Looks().all(["late", "late", "unsure"] * 9)) == {""}
    assert set(Looks().all(["late", "unsure"] * 9)) == {""}
    a_minute = int(SAFE_FOR / LOOK)
    for other in ("unsure", "late", "set_late"):
        found: list[Look] = [*["safe"] * a_minute, other]  # type: ignore[list-item] # the three that there are
        assert set(Looks("at_risk").all(found * 4)) == {"at_risk"}


def test_what_is_set_so_is_told_at_once() -> None:
    assert Looks().at("set_late") == "at_risk"


def test_in_the_last_minute_nobody_waits() -> None:
    looks = Looks()
    assert looks.at("late", NOW + LOOK + AT_ONCE + timedelta(seconds=1)) == ""
    assert Looks().at("late", NOW + LOOK + AT_ONCE) == "at_risk"


def test_it_is_safe_again_when_every_look_of_a_minute_found_it_so() -> None:
    assert Looks("at_risk").all(["safe"] * 8) == [*["at_risk"] * 6, "", ""]


def test_what_nobody_knows_changes_nothing() -> None:
    assert set(Looks().all(["unsure"] * 20)) == {""}
    assert set(Looks("at_risk").all(["unsure"] * 20)) == {"at_risk"}


@pytest.mark.parametrize("found", ["set_late", "late", "unsure", "safe"])
def test_a_deadline_that_passes_is_missed_and_stays_so(found: Look) -> None:
    for told in ("", "at_risk"):
        looks = Looks(told)
        assert looks.at(found, NOW + LOOK) == "missed"
        assert set(looks.all([found] * 20)) == {"missed"}


def test_another_deadline_is_another_promise_that_must_look_late_for_as_long() -> None:
    looks = Looks()
    looks.all(["late", "late"])
    assert looks.at("late", DEADLINE + timedelta(hours=1)) == ""


def test_a_promise_that_is_not_looked_at_any_more_is_forgotten() -> None:
    looks = Looks()
    looks.all(["late", "late"])
    looks.changes.keep({"tr_1"})
    looks.changes.keep({"tr_2"})
    assert looks.at("late") == ""
