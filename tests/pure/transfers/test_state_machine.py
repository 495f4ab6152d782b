"""The state machine of transfers: a table of its rules, and what holds on every way through it."""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from headrace.api.transfers.advice import ADVICE, advice_on, told
from headrace.api.transfers.state_machine import (
    END_STATES,
    OBSTACLES,
    Cause,
    Effect,
    Ending,
    Limits,
    Seen,
    Shut,
    Standing,
    State,
    Wish,
    WishRefused,
    retried,
    step,
    wished,
)

DOCS = (Path(__file__).parents[3] / "docs" / "errors-engine.md").read_text(encoding="utf-8")
NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)
SOON = NOW + timedelta(seconds=5)
LIMITS = Limits(
    away=timedelta(days=7),
    stop=timedelta(seconds=30),
    halt=timedelta(seconds=2),
    pause=timedelta(days=30),
    backoff=timedelta(seconds=1),
    max_backoff=timedelta(seconds=60),
    failures=3,
)
GONE = Cause("node_away", "node `right` is not attached")
DENIED = Cause("denied_by_policy", "no")
BROKEN = Cause("protocol_violation", "the other node sent something it may not")
FULL = Cause("no_space", "the disk is full")
OVER = Cause("probe_over", "the leg of the probe took its 10 s")
EARLY = Cause("ticket_not_yet_valid", "the ticket is not valid before 12:00")

SHUT = Shut(NOW + timedelta(hours=10), "its hours, 22:00-05:00 (UTC)")

QUEUED = Standing(State.QUEUED)
BEGUN = Standing(State.QUEUED, attempt=1)
OPEN = Standing(State.RUNNING, attempt=1, open=True)
STOPPING = replace(OPEN, stopping=True)
FAILED_TWICE = replace(OPEN, failures=2)
PAUSED_LONG = replace(OPEN, wish=Wish.PAUSE, stopping=True, paused_since=NOW - LIMITS.pause)
BLOCKED = replace(OPEN, blocked_since=NOW - LIMITS.away)


def paused(now: Standing) -> Standing:
    return wished(now, Wish.PAUSE, "lunch", NOW)


def canceled(now: Standing) -> Standing:
    return replace(now, wish=Wish.CANCEL, wish_reason="wrong")


def ending(outcome: str, *, retryable: bool = False, moved: bool = False, cause: Cause = BROKEN) -> Ending:
    return Ending(outcome, cause, retryable, moved)  # type: ignore[arg-type] # one of the four


def obstacle(cause: Cause = FULL, *, moved: bool = False) -> Seen:
    return Seen(end=ending("failed", retryable=True, moved=moved, cause=cause))


def leg(outcome: str, left: int, cause: Cause = BROKEN, *, retryable: bool = False, spent: bool = False) -> Seen:
    return Seen(end=ending(outcome, retryable=retryable, cause=cause), legs_left=left, leg_spent=spent)


TABLE: list[tuple[str, Standing, Seen, State, Effect]] = [
    ("it begins", QUEUED, Seen(), State.RUNNING, Effect.BEGIN),
    ("cancel goes first", canceled(QUEUED), Seen(refusal=DENIED, halt="h"), State.CANCELED, Effect.END),
    ("refused for good", paused(QUEUED), Seen(refusal=DENIED), State.FAILED, Effect.END),
    ("paused", paused(QUEUED), Seen(halt="h", absent=GONE), State.PAUSED, Effect.NONE),
    ("paused too long", replace(PAUSED_LONG, open=False), Seen(), State.CANCELED, Effect.END),
    ("stopped for a pause that is over", PAUSED_LONG, Seen(end=ending("stopped")), State.CANCELED, Effect.CLOSE),
    ("halted", QUEUED, Seen(halt="h", absent=GONE), State.WAITING, Effect.NONE),
    ("too early", QUEUED, Seen(starts=SOON), State.QUEUED, Effect.NONE),
    ("waits for its hours", QUEUED, Seen(shut=SHUT, absent=GONE), State.QUEUED, Effect.NONE),
    ("waits for its hours again", BEGUN, Seen(shut=SHUT), State.WAITING, Effect.NONE),
    ("paused outside its hours", paused(QUEUED), Seen(shut=SHUT), State.PAUSED, Effect.NONE),
    ("a node is away", QUEUED, Seen(absent=GONE), State.WAITING, Effect.NONE),
    ("away too long", replace(QUEUED, away_since=NOW - LIMITS.away), Seen(absent=GONE), State.FAILED, Effect.END),
    ("backs off", replace(QUEUED, not_before=SOON), Seen(), State.WAITING, Effect.NONE),
    ("backed off long enough", replace(QUEUED, not_before=NOW), Seen(), State.RUNNING, Effect.BEGIN),
    ("waits for its turn", QUEUED, Seen(turn=False), State.QUEUED, Effect.NONE),
    ("goes on", OPEN, Seen(), State.RUNNING, Effect.NONE),
    ("goes on without a node", OPEN, Seen(absent=GONE, renew=True), State.WAITING, Effect.NONE),
    ("is renewed", OPEN, Seen(renew=True), State.RUNNING, Effect.RENEW),
    ("stops for a pause", paused(OPEN), Seen(renew=True), State.RUNNING, Effect.STOP),
    ("stops for a cancel", canceled(OPEN), Seen(absent=GONE), State.RUNNING, Effect.STOP),
    ("stops for a halt", OPEN, Seen(halt="h"), State.RUNNING, Effect.STOP),
    ("stops as its hours end", OPEN, Seen(shut=SHUT, renew=True), State.RUNNING, Effect.STOP),
    ("goes on in its hours", OPEN, Seen(shuts=SOON), State.RUNNING, Effect.NONE),
    ("stops when refused", OPEN, Seen(refusal=DENIED), State.RUNNING, Effect.STOP),
    ("is told to stop once", canceled(STOPPING), Seen(), State.RUNNING, Effect.NONE),
    ("says no word", canceled(STOPPING), Seen(lost=True), State.CANCELED, Effect.CLOSE),
    ("arrives", OPEN, Seen(end=ending("complete")), State.COMPLETE, Effect.CONCLUDE),
    ("arrives after a cancel", canceled(STOPPING), Seen(end=ending("complete")), State.COMPLETE, Effect.CONCLUDE),
    ("has no proof after a cancel", canceled(STOPPING), Seen(end=ending("failed")), State.CANCELED, Effect.CLOSE),
    ("arrives in part", OPEN, Seen(end=ending("partial")), State.PARTIAL, Effect.CONCLUDE),
    ("stopped for a cancel", canceled(STOPPING), Seen(end=ending("stopped")), State.CANCELED, Effect.CLOSE),
    ("stopped for a pause", paused(STOPPING), Seen(end=ending("stopped")), State.PAUSED, Effect.CLOSE),
    ("stopped for a halt", STOPPING, Seen(end=ending("stopped"), halt="h"), State.WAITING, Effect.CLOSE),
    ("stopped as its hours ended", STOPPING, Seen(end=ending("stopped"), shut=SHUT), State.WAITING, Effect.CLOSE),
    ("arrives as its hours end", STOPPING, Seen(end=ending("complete"), shut=SHUT), State.COMPLETE, Effect.CONCLUDE),
    ("fails for good as they end", STOPPING, Seen(end=ending("failed"), shut=SHUT), State.FAILED, Effect.CLOSE),
    ("stopped when refused", STOPPING, Seen(end=ending("stopped"), refusal=DENIED), State.FAILED, Effect.CLOSE),
    ("stopped for what has passed", STOPPING, Seen(end=ending("stopped")), State.QUEUED, Effect.CLOSE),
    ("fails for good", OPEN, Seen(end=ending("failed")), State.FAILED, Effect.CLOSE),
    ("fails and tries again", OPEN, Seen(end=ending("failed", retryable=True)), State.WAITING, Effect.CLOSE),
    ("moves nothing", FAILED_TWICE, Seen(end=ending("failed", retryable=True)), State.FAILED, Effect.CLOSE),
    (
        "moves something",
        replace(OPEN, failures=2),
        Seen(end=ending("failed", retryable=True, moved=True)),
        State.WAITING,
        Effect.CLOSE,
    ),
    ("an obstacle is waited out", replace(OPEN, failures=99), obstacle(), State.WAITING, Effect.CLOSE),
    ("a ticket is early by a node's clock", replace(OPEN, failures=99), obstacle(EARLY), State.WAITING, Effect.CLOSE),
    ("an obstacle for too long", BLOCKED, obstacle(), State.FAILED, Effect.CLOSE),
    ("moves past it", BLOCKED, obstacle(moved=True), State.WAITING, Effect.CLOSE),
    ("a leg of a probe is over", OPEN, leg("stopped", 2, OVER), State.QUEUED, Effect.CLOSE),
    ("a leg has moved all it may", OPEN, leg("complete", 3), State.QUEUED, Effect.CLOSE),
    ("a leg can not be measured", OPEN, leg("failed", 2), State.QUEUED, Effect.CLOSE),
    ("the first leg can not be measured", OPEN, leg("failed", 3), State.FAILED, Effect.CLOSE),
    ("the last leg is over", OPEN, leg("stopped", 0, OVER), State.COMPLETE, Effect.CLOSE),
    ("the last leg is over at a pause", paused(STOPPING), leg("stopped", 0, OVER), State.COMPLETE, Effect.CLOSE),
    ("a leg is stopped for a pause", paused(STOPPING), leg("stopped", 2), State.PAUSED, Effect.CLOSE),
    ("a leg is over at a cancel", canceled(STOPPING), leg("complete", 2), State.CANCELED, Effect.CLOSE),
    ("a leg that can't begin anew was stopped", STOPPING, leg("stopped", 2, spent=True), State.QUEUED, Effect.CLOSE),
    ("the last leg can't begin anew", STOPPING, leg("stopped", 0, spent=True), State.COMPLETE, Effect.CLOSE),
    ("the first leg fails and is spent", OPEN, leg("failed", 3, spent=True), State.FAILED, Effect.CLOSE),
    ("a spent leg is canceled", canceled(STOPPING), leg("stopped", 0, spent=True), State.CANCELED, Effect.CLOSE),
    ("a spent leg lost its node", OPEN, leg("failed", 2, FULL, retryable=True, spent=True), State.QUEUED, Effect.CLOSE),
    ("a leg lost its node", OPEN, leg("failed", 2, FULL, retryable=True), State.WAITING, Effect.CLOSE),
    ("has ended", Standing(State.CANCELED), Seen(), State.CANCELED, Effect.NONE),
]  # fmt: skip


@pytest.mark.parametrize(("now", "seen", "state", "effect"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_each_rule_leads_where_the_table_says(now: Standing, seen: Seen, state: State, effect: Effect) -> None:
    after = step(now, seen, NOW, LIMITS)
    assert (after.standing.state, after.effect) == (state, effect)
    assert after.standing.open == (
        effect is Effect.BEGIN or (now.open and effect not in {Effect.CLOSE, Effect.CONCLUDE})
    )
    assert (after.standing.error is not None) == (state is State.FAILED)


@pytest.mark.parametrize(
    ("now", "seen"),
    [
        (paused(QUEUED), Seen(absent=GONE)),
        (QUEUED, Seen(halt="h", absent=GONE)),
        (QUEUED, Seen(starts=SOON, absent=GONE)),
        (QUEUED, Seen(shut=SHUT, absent=GONE)),
        (QUEUED, Seen(turn=False)),
    ],
    ids=["paused", "halted", "too early", "outside its hours", "in line"],
)
def test_only_the_wait_for_a_node_counts_against_the_time_it_may_be_away(now: Standing, seen: Seen) -> None:
    waited = step(replace(now, away_since=NOW - LIMITS.away + timedelta(days=1)), seen, NOW, LIMITS).standing
    later = step(replace(waited, wish=Wish.RUN), Seen(absent=GONE), NOW + timedelta(days=2), LIMITS)
    assert later.standing.state is State.WAITING
    assert later.look_at == NOW + timedelta(days=2) + LIMITS.away


def test_what_waits_for_its_hours_says_when_it_goes_on_and_is_looked_at_then() -> None:
    # Waits are measured by another clock than the one that people set.
    seen = Seen(shut=SHUT, told=NOW + timedelta(hours=4))
    waiting = step(BEGUN, seen, NOW, LIMITS)
    assert waiting.look_at == NOW + timedelta(hours=6)
    assert waiting.standing.goes_on == SHUT.until
    assert waiting.standing.reason == "outside its hours, 22:00-05:00 (UTC); goes on at 2026-11-25 22:00 UTC"
    again = step(waiting.standing, Seen(), SHUT.until, LIMITS)
    assert (again.effect, again.standing.goes_on) == (Effect.BEGIN, None)


def test_what_runs_is_looked_at_when_its_hours_end_whatever_else_it_waits_for() -> None:
    for seen in (Seen(shuts=SOON), Seen(shuts=SOON, renew=True), Seen(shuts=SOON, absent=GONE)):
        assert step(OPEN, seen, NOW, LIMITS).look_at == SOON


def test_an_attempt_that_ends_with_its_hours_is_no_failure_and_makes_none_good() -> None:
    seen = Seen(end=ending("failed", retryable=True), shut=SHUT)
    assert step(FAILED_TWICE, seen, NOW, LIMITS).standing.failures == 2
    moved = Seen(end=ending("stopped", moved=True), shut=SHUT)
    assert step(FAILED_TWICE, moved, NOW, LIMITS).standing.failures == 0


def test_waits_double_and_are_bounded() -> None:
    waits = []
    for failures in range(40):
        now, seen = replace(OPEN, failures=failures), Seen(end=ending("failed", retryable=True))
        after = step(now, seen, NOW, replace(LIMITS, failures=100))
        assert after.look_at is not None
        waits.append(after.look_at - NOW)
    assert waits[:3] == [timedelta(seconds=2), timedelta(seconds=4), timedelta(seconds=8)]
    assert waits[-1] == LIMITS.max_backoff


def test_an_obstacle_is_tried_again_until_a_node_could_be_away_no_longer() -> None:
    now, clock, waits = OPEN, NOW, list[timedelta]()
    while now.state is not State.FAILED:
        after = step(replace(now, state=State.RUNNING, open=True, attempt=now.attempt + 1), obstacle(), clock, LIMITS)
        now = after.standing
        if after.look_at is not None:
            waits.append(after.look_at - clock)
            clock = after.look_at
    assert waits[:4] == [timedelta(seconds=s) for s in (1, 1, 2, 4)]
    assert waits[-1] == LIMITS.max_backoff
    assert LIMITS.away <= clock - NOW <= LIMITS.away + LIMITS.max_backoff
    assert now.error is not None
    assert (now.error.code, now.failures) == ("no_progress", 0)
    assert "the disk is full" in now.error.message


def test_another_failure_ends_the_wait_for_an_obstacle_and_an_obstacle_is_none_of_those_failures() -> None:
    blocked = step(FAILED_TWICE, obstacle(), NOW, LIMITS).standing
    assert (blocked.failures, blocked.blocked_since) == (2, NOW)
    seen = Seen(end=ending("failed", retryable=True))
    assert step(replace(blocked, state=State.RUNNING, open=True), seen, NOW, LIMITS).standing.state is State.FAILED
    again = step(replace(OPEN, blocked_since=NOW), seen, NOW, LIMITS).standing
    assert (again.failures, again.blocked_since) == (1, None)


def test_an_attempt_that_we_stopped_ourselves_is_no_failure_and_what_follows_does_not_wait() -> None:
    now = QUEUED
    for _ in range(2 * LIMITS.failures):
        stopping = step(paused(step(now, Seen(), NOW, LIMITS).standing), Seen(), NOW, LIMITS).standing
        resumed = wished(replace(stopping, stopping=True), Wish.RUN, "", NOW)
        now = step(resumed, Seen(end=ending("stopped", retryable=True)), NOW, LIMITS).standing
        assert (now.state, now.failures, now.not_before) == (State.QUEUED, 0, None)
    assert step(now, Seen(), NOW, LIMITS).effect is Effect.BEGIN
    # One that stopped of itself is a failure like any other.
    alone = step(OPEN, Seen(end=ending("stopped", retryable=True)), NOW, LIMITS).standing
    assert (alone.failures, alone.not_before) == (1, NOW + 2 * LIMITS.backoff)


@pytest.mark.parametrize("code", sorted(OBSTACLES))
def test_an_obstacle_is_a_code_of_the_engine_that_a_retry_may_help(code: str) -> None:
    retry = "change something first" if code == "attempt_unknown" else "may help"
    assert f"\n| `{code}` | {retry} | " in DOCS


@pytest.mark.parametrize("asked", Wish)
def test_a_wish_after_a_cancel_does_not_undo_it(asked: Wish) -> None:
    final = wished(OPEN, Wish.CANCEL, "wrong run", NOW)
    with pytest.raises(WishRefused, match="final"):
        wished(final, asked, "", NOW)


def test_only_what_is_paused_is_resumed_and_only_what_failed_is_tried_again() -> None:
    with pytest.raises(WishRefused, match="only a paused"):
        wished(OPEN, Wish.RUN, "", NOW)
    with pytest.raises(WishRefused, match="paused already"):
        wished(wished(OPEN, Wish.PAUSE, "lunch", NOW), Wish.PAUSE, "tea", NOW)
    with pytest.raises(WishRefused, match="only a partial or failed"):
        retried(Standing(State.CANCELED))
    with pytest.raises(WishRefused, match="has ended"):
        wished(Standing(State.COMPLETE), Wish.PAUSE, "", NOW)
    assert retried(Standing(State.FAILED, attempt=3, failures=2, wish=Wish.PAUSE)) == Standing(State.QUEUED, attempt=3)


@dataclass
class World:
    """What is around the transfer, and what was done for it."""

    clock: datetime = NOW
    standing: Standing = QUEUED
    fence: int = 1
    runs: bool = False
    """Whether nodes run an attempt."""
    begun: list[tuple[int, int]] = field(default_factory=list)
    canceled: bool = False
    done_after_cancel: list[Effect] = field(default_factory=list)

    def look(self, seen: Seen) -> Effect:
        """One step and its effect, as `advance` does them."""
        after = step(self.standing, seen, self.clock, LIMITS)
        self.standing = after.standing
        if after.effect is Effect.BEGIN:
            assert not self.runs, "an attempt was begun beside another"
            self.begun.append((self.fence, self.standing.attempt))
            self.runs = True
        if after.effect in {Effect.CLOSE, Effect.CONCLUDE}:
            self.runs = False
        if self.canceled:
            self.done_after_cancel.append(after.effect)
        return after.effect


CAUSES = st.sampled_from([None, GONE])
OUTCOMES = st.sampled_from(["complete", "partial", "failed", "stopped"])


def test_a_pause_is_looked_at_when_it_is_over_and_one_that_was_resumed_counts_anew() -> None:
    asleep = step(paused(QUEUED), Seen(), NOW, LIMITS)
    assert (asleep.standing.state, asleep.look_at) == (State.PAUSED, NOW + LIMITS.pause)
    later = NOW + LIMITS.pause
    again = wished(wished(asleep.standing, Wish.RUN, "", later), Wish.PAUSE, "tea", later)
    assert step(again, Seen(), later, LIMITS).standing.state is State.PAUSED
    assert step(asleep.standing, Seen(), later, LIMITS).standing.reason == (
        "canceled after 30 d of pause, the most that one may last"
    )


def test_a_start_ahead_is_told_by_the_clock_and_waited_for_however_that_is_set() -> None:
    told = NOW - timedelta(days=3)
    early = step(QUEUED, Seen(starts=SOON - timedelta(days=3), told=told), NOW, LIMITS)
    assert (early.standing.reason, early.look_at) == ("starts at 2026-11-22 12:00:05 UTC", SOON)
    assert step(QUEUED, Seen(starts=SOON, told=SOON), NOW, LIMITS).effect is Effect.BEGIN


SHUTS = st.sampled_from([None, None, SHUT])


class EveryWay(RuleBasedStateMachine):
    """Wishes, obstacles, ends, restarts and time in every order."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World()

    @rule(wish=st.sampled_from(list(Wish)))
    def people_wish(self, wish: Wish) -> None:
        try:
            self.world.standing = wished(self.world.standing, wish, "said so", self.world.clock)
        except WishRefused:
            return
        self.world.canceled = self.world.canceled or wish is Wish.CANCEL

    @rule(
        absent=CAUSES,
        halt=st.sampled_from(["", "maintenance"]),
        turn=st.booleans(),
        renew=st.booleans(),
        refusal=st.sampled_from([None, None, None, DENIED]),
        shut=SHUTS,
    )
    def look(  # noqa: PLR0913, PLR0917 - drawn
        self,
        absent: Cause | None,
        halt: str,
        turn: bool,  # noqa: FBT001 - drawn
        renew: bool,  # noqa: FBT001 - drawn
        refusal: Cause | None,
        shut: Shut | None,
    ) -> None:
        self.world.look(Seen(absent=absent, halt=halt, turn=turn, renew=renew, refusal=refusal, shut=shut))

    @precondition(lambda self: self.world.runs)
    @rule(
        outcome=OUTCOMES,
        retryable=st.booleans(),
        moved=st.booleans(),
        cause=st.sampled_from([BROKEN, FULL]),
        shut=SHUTS,
    )
    def the_attempt_ends(
        self,
        outcome: str,
        retryable: bool,  # noqa: FBT001 - drawn
        moved: bool,  # noqa: FBT001 - drawn
        cause: Cause,
        shut: Shut | None,
    ) -> None:
        self.world.look(Seen(end=ending(outcome, retryable=retryable, moved=moved, cause=cause), shut=shut))

    @rule(seconds=st.integers(-10, 100_000))
    def time_passes(self, seconds: int) -> None:
        self.world.clock += timedelta(seconds=seconds)

    @rule()
    def the_service_restarts(self) -> None:
        self.world.fence += 1
        self.world.standing = replace(self.world.standing, stopping=False)

    @precondition(lambda self: self.world.standing.state in {State.FAILED, State.PARTIAL})
    @rule()
    def it_is_retried(self) -> None:
        self.world.standing = retried(self.world.standing)
        self.world.canceled = False
        self.world.done_after_cancel.clear()

    @invariant()
    def nothing_happens_twice_for_one_fence(self) -> None:
        assert len(set(self.world.begun)) == len(self.world.begun)
        attempts = [attempt for _, attempt in self.world.begun]
        assert attempts == sorted(set(attempts))

    @invariant()
    def cancel_is_final(self) -> None:
        if self.world.canceled:
            assert self.world.standing.wish is Wish.CANCEL
            assert not {Effect.BEGIN, Effect.RENEW} & set(self.world.done_after_cancel)

    @invariant()
    def what_runs_is_known_and_what_has_ended_runs_not(self) -> None:
        assert self.world.runs == self.world.standing.open
        assert not (self.world.standing.state in END_STATES and self.world.runs)

    @invariant()
    def only_who_waits_counts_how_long_a_node_is_away(self) -> None:
        now = self.world.standing
        assert now.away_since is None or now.state is State.WAITING or now.state in END_STATES

    @invariant()
    def a_way_leads_to_an_end(self) -> None:
        """Whatever happened: a cancel ends it, and without obstacles it arrives."""
        for enough in (True, False):
            world = replace(self.world, begun=list(self.world.begun), done_after_cancel=[])
            if world.standing.state in END_STATES:
                return
            if enough and world.standing.wish is not Wish.CANCEL:
                world.standing, world.canceled = wished(world.standing, Wish.CANCEL, "enough", world.clock), True
            elif world.standing.wish is Wish.PAUSE:
                world.standing = wished(world.standing, Wish.RUN, "", world.clock)
            for _ in range(6):
                world.clock += timedelta(days=1)
                world.look(
                    Seen(end=ending("stopped" if world.standing.stopping else "complete") if world.runs else None)
                )
            assert world.standing.state in END_STATES, world.standing
            assert not world.canceled or not {Effect.BEGIN, Effect.RENEW} & set(world.done_after_cancel)


EveryWay.TestCase.settings = settings(max_examples=150, stateful_step_count=30, deadline=None)
TestEveryWay = EveryWay.TestCase


def test_each_code_of_a_file_has_the_advice_of_the_documentation() -> None:
    table = DOCS.partition("## One file; the others go on")[2].partition("\n## ")[0]
    documented = {code.strip(" `"): advice.strip() for code, _, advice in (
        line.strip("|").split("|") for line in table.splitlines() if line.startswith("| `")
    )}  # fmt: skip
    assert documented == ADVICE


def test_a_file_with_a_code_of_another_version_has_advice_too() -> None:
    assert "retry the failed files" in advice_on("not_known_yet", retry=True)
    assert "make a new plan" in advice_on("not_known_yet", retry=False)


def test_what_can_not_be_read_at_the_source_is_said_as_a_sentence() -> None:
    said = told("source_unreadable", "`a`b/c: d` in root `here`: Permission denied (os error 13)")
    assert said == "`a`b/c: d` in root `here` can't be read: Permission denied"
    other = "writing `x` in root `there`: Permission denied"
    assert (told("permission_denied", other), told("source_unreadable", "it is gone")) == (other, "it is gone")
    assert advice_on("no_space", retry=True) == ADVICE["no_space"]
