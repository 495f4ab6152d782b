"""Which decisions that were made outside of a transaction stand for the next try."""

from datetime import UTC, datetime, timedelta

import pytest

from headrace.api.signing import slow_decisions
from headrace.api.signing.slow_decisions import HOLDS, SlowDecisions, Undecided
from headrace.guardrails import Budget, Decision, PolicySet, Spent, redecide

NOW = datetime(2026, 11, 26, 12, tzinfo=UTC)


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Return a clock; every decision takes more than a transaction has time for."""

    def slow(policies: PolicySet | None, record: str, budget: Budget | None = None) -> Decision:
        if budget is not None:
            raise Spent
        return redecide(policies, record)

    monkeypatch.setattr(slow_decisions, "redecide", slow)
    return Clock()


def record(start: str) -> str:
    return f'{{"context":{{"now":"{start}","start":"{start}"}}}}'


async def made(decisions: SlowDecisions, start: str, transfer: str | None) -> None:
    with pytest.raises(Undecided) as undecided:
        decisions.within(None, record(start), "ada", transfer=transfer)
    await decisions.make(undecided.value.wanted)
    decisions.within(None, record(start), "ada", transfer=transfer)


@pytest.mark.anyio
async def test_a_decision_of_now_stands_for_the_same_transfer_alone_and_for_a_while(clock: Clock) -> None:
    """Another transfer of the same person between the same places may have a start of its own."""
    decisions = SlowDecisions(clock)
    await made(decisions, "2026-11-27T03:00:00.000Z", "tr_night")
    with pytest.raises(Undecided):
        decisions.within(None, record("2026-11-27T15:00:00.000Z"), "ada", transfer="tr_day")
    clock.now += HOLDS
    with pytest.raises(Undecided):
        decisions.within(None, record("2026-11-27T03:00:00.000Z"), "ada", transfer="tr_night")


@pytest.mark.anyio
async def test_a_sealed_record_stays_decided_so_that_a_renewal_waits_for_one_decision_only(clock: Clock) -> None:
    decisions = SlowDecisions(clock)
    await made(decisions, "2026-11-27T03:00:00.000Z", None)
    clock.now += timedelta(hours=1)
    decisions.within(None, record("2026-11-27T03:00:00.000Z"), "ada", transfer=None)
    with pytest.raises(Undecided):
        decisions.within(None, record("2026-11-27T15:00:00.000Z"), "ada", transfer=None)
