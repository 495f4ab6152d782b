"""Whether a deadline can be kept by what links guarantee."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta
from time import perf_counter

from hypothesis import given
from hypothesis import strategies as some

from headrace.api.policy.calendars import Timeline, Together
from headrace.api.policy.forecast import Promise
from headrace.api.policy.links import Path, guarantees
from headrace.api.policy.promises import AHEAD, Deadline, Other, judge
from headrace.client import models as m
from headrace.guardrails import OpenHours

NOW = datetime(2026, 11, 24, 12, tzinfo=UTC)
UPLINK = Path(("uplink",))
BYTES = int(100 * 1_000_000 / 8 / AHEAD)
"""Take 100 s at 1 Mb/s, with what travels with them."""


def document(rate: int = 1_000_000, **classes: m.QosClass) -> m.QosDocument:
    link = m.QosLink(name="uplink", rate_bps=rate, rest_percent=10, nodes=["left"])
    return m.QosDocument(links=[link], classes=[m.QosClass(name="bulk"), *classes.values()])


def in_s(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def wanted(seconds: float) -> Deadline:
    return Deadline(BYTES, NOW, in_s(seconds), Together(()), "bulk", UPLINK)


def promise(name: str, bits: float, seconds: float, begins_s: float = 0) -> Other:
    hours = Timeline(Together(()), NOW, in_s(10_000_000))
    promised = Promise(
        transfer=name,
        qos_class="bulk",
        path=UPLINK,
        left_bits=bits,
        begins=in_s(begins_s),
        deadline=in_s(seconds),
        hours=hours,
    )
    return Other(name, "pn_x", "bulk", UPLINK, bits, runs=True, promise=promised)


def near(found: datetime | None, expected: float) -> bool:
    return found is not None and abs((found - in_s(expected)).total_seconds()) < 1.1


def test_an_empty_link_holds_what_it_carries_until_then_and_no_more() -> None:
    assert near(judge(document(), wanted(101), ()).earliest, 100)
    verdict = judge(document(), wanted(99), ())
    assert near(verdict.earliest, 100)
    assert verdict.give_way == ()


def test_what_was_promised_to_others_is_done_by_their_deadlines() -> None:
    others = [promise("a", 30e6, 50), promise("b", 200e6, 1000)]
    # 30 Mb come before 50 s; what is due at 1000 s can wait.
    assert near(judge(document(), wanted(120), others).earliest, 130)
    assert near(judge(document(), wanted(129), [others[0]]).earliest, 130)
    assert judge(document(), wanted(131), others).give_way == ()
    # Up to 330 s there are 50 s left for others.
    full = [*others, promise("c", 250e6, 330)]
    late = judge(document(), wanted(140), full)
    assert near(late.earliest, 380)
    assert [one.transfer for one in late.give_way] == ["c"]


@dataclass
class Running:
    """A promise as it is carried out: what is left, from when on, by when."""

    name: str
    left_bits: float
    begins_s: float
    due_s: float


class Scheduler:
    """Gives each promise what `guarantees` says, the earliest deadline first, worked out anew as they begin and end."""

    def __init__(self, links: m.QosDocument) -> None:
        self.links, self.now_s, self.running = links, 0.0, list[Running]()
        self.broken = list[Running]()

    def rates(self) -> dict[str, float]:
        running = [one for one in self.running if one.begins_s <= self.now_s]
        running.sort(key=lambda one: one.due_s)
        needs = [(one.name, "bulk", UPLINK, one.left_bits / (one.due_s - self.now_s)) for one in running]
        return guarantees(self.links, needs)

    def others(self) -> list[Other]:
        return [promise(one.name, one.left_bits, one.due_s, max(self.now_s, one.begins_s)) for one in self.running]

    def go_on(self, until_s: float) -> None:
        while self.now_s < until_s:
            moments = [at for one in self.running for at in (one.begins_s, one.due_s) if at > self.now_s]
            step_s = min([until_s, *moments]) - self.now_s
            got = self.rates()
            for one in self.running:
                one.left_bits -= got.get(one.name, 0) * step_s
            self.now_s += step_s
            ended = [one for one in self.running if one.due_s <= self.now_s]
            self.broken += [one for one in ended if one.left_bits > 1000]
            self.running = [one for one in self.running if one.due_s > self.now_s]

    def can_be_kept(self, more: Running) -> bool:
        """Whether a link of 1 Mb/s can do all of it in time, whoever has it when: no stretch of time holds too much."""
        all_of = [*self.running, more]
        begins = {max(self.now_s, one.begins_s) for one in all_of}
        return all(
            sum(one.left_bits for one in all_of if one.due_s <= due and max(self.now_s, one.begins_s) >= begin)
            <= 1_000_000 * (due - begin)
            for begin in begins
            for due in {one.due_s for one in all_of}
        )


@given(
    some.lists(
        some.tuples(some.floats(0.1, 60), some.floats(1, 120), some.floats(0, 20), some.sampled_from((0.0, 0.0, 30.0))),
        min_size=2,
        max_size=25,
    )
)
def test_what_a_link_can_keep_is_promised_and_all_that_is_promised_is_kept(
    asked: list[tuple[float, float, float, float]],
) -> None:
    site = Scheduler(document())
    for number, (alone_s, within_s, later_s, starts_s) in enumerate(asked):
        site.go_on(site.now_s + later_s)
        begins_s = site.now_s + starts_s
        more = Running(str(number), alone_s * 1_000_000, begins_s, begins_s + within_s)
        request = replace(
            wanted(0),
            bytes=int(more.left_bits / 8 / AHEAD),
            begins=in_s(begins_s),
            deadline=in_s(more.due_s),
            now=in_s(site.now_s),
        )
        earliest = judge(site.links, request, site.others()).earliest
        assert earliest is not None
        if earliest <= request.deadline:
            site.running.append(more)
        else:
            # What begins later is not made room for before that: then a link could keep more.
            begun = all(one.begins_s <= site.now_s for one in [*site.running, more])
            assert not begun or not site.can_be_kept(replace(more, left_bits=more.left_bits * 1.002))
    site.go_on(site.now_s + 300)
    assert site.broken == []


def test_the_deadline_that_is_named_is_the_earliest_that_can_be_kept() -> None:
    others = [promise("a", 40e6, 50), promise("b", 60e6, 120), promise("c", 50e6, 300)]
    for seconds in (20, 60, 100):
        earliest = judge(document(), wanted(seconds), others).earliest
        assert earliest is not None
        again = replace(wanted(0), deadline=earliest)
        assert judge(document(), again, others).earliest == earliest
        sooner = replace(again, deadline=earliest - timedelta(seconds=2))
        found = judge(document(), sooner, others).earliest
        assert found is not None
        assert found > sooner.deadline


def test_no_more_would_have_to_give_way_than_is_needed() -> None:
    others = [promise(f"p{number}", 1e6 + 10 * number, 90 + number / 10) for number in range(90)]
    for seconds in (160, 140, 120, 101):
        gone = judge(document(), wanted(seconds), others).give_way
        assert 0 < len(gone) < len(others)
        kept = [one for one in others if one not in gone]
        assert judge(document(), wanted(seconds), kept).give_way == ()
        one_fewer = [*kept, gone[-1]]
        in_time = judge(document(), wanted(seconds), one_fewer).earliest
        assert in_time is None or in_time > in_s(seconds)
    assert judge(document(), wanted(99), others).give_way == ()


def test_a_thousand_promises_in_nightly_hours_are_judged_in_a_moment() -> None:
    hours = OpenHours(time(12), time(13), "UTC")
    # Each needs more than is left by the time of its deadline: this takes longest.
    others = [promise(f"p{number}", 4e6, 2000 + number) for number in range(1000)]
    began = perf_counter()
    verdict = judge(document(), replace(wanted(2500), hours=hours), others)
    assert verdict.earliest is not None
    assert verdict.give_way
    # What walked over all promises at each change of each day took minutes.
    assert perf_counter() - began < 10


def test_floors_of_other_classes_and_the_ceiling_of_its_own_hold() -> None:
    floor = m.QosClass(name="other", links=[m.QosClassLink(link="uplink", floor_bps=500_000)])
    assert near(judge(document(other=floor), wanted(1000), ()).earliest, 200)
    ceiling = m.QosClass(name="bulk", links=[m.QosClassLink(link="uplink", ceiling_bps=250_000)])
    held = document().model_copy(update={"classes": [ceiling]})
    assert near(judge(held, wanted(1000), ()).earliest, 400)


def test_a_higher_priority_may_take_all_but_the_rest_until_it_is_done() -> None:
    urgent = m.QosClass(name="urgent", priority=1)
    other = Other("u", "pn_x", "urgent", UPLINK, 45_000_000, runs=True)
    # 45 Mb at 0.9 Mb/s take 50 s, in which a tenth is left.
    assert near(judge(document(urgent=urgent), wanted(1000), [other]).earliest, 50 + 95)
    waits = replace(other, runs=False)
    assert near(judge(document(urgent=urgent), wanted(1000), [waits]).earliest, 100)


def test_only_open_hours_count() -> None:
    hours = OpenHours(time(12), time(12, 1), "UTC")
    verdict = judge(document(), replace(wanted(3600), hours=hours), ())
    assert near(verdict.earliest, 24 * 3600 + 40)
    assert verdict.give_way == ()


def test_what_can_never_be_done_has_no_earliest_time() -> None:
    shut = m.QosClass(name="other", links=[m.QosClassLink(link="uplink", floor_bps=1_000_000)])
    assert judge(document(other=shut), wanted(1000), ()).earliest is None


def test_what_is_not_done_as_far_as_was_looked_is_not_called_never() -> None:
    brief = OpenHours(time(12), time(12, 1), "UTC")
    slow = judge(document(10), replace(wanted(1000), hours=brief), ())
    assert slow.earliest is None
    assert slow.looked_until is not None
    assert slow.looked_until > NOW + timedelta(days=1999)
    shut = m.QosClass(name="other", links=[m.QosClassLink(link="uplink", floor_bps=1_000_000)])
    assert judge(document(other=shut), wanted(1000), ()).looked_until is None
