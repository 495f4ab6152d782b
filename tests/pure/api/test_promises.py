"""Whether a deadline can be kept by what links guarantee."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta
from time import perf_counter

from hypothesis import given
from hypothesis import strategies as some

from headrace.api.policy.calendars import Together
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


def promise(name: str, bps: float, seconds: float) -> Other:
    return Other(name, "pn_x", "bulk", UPLINK, bps * seconds, bps, in_s(seconds), runs=True)


def near(found: datetime | None, expected: float) -> bool:
    return found is not None and abs((found - in_s(expected)).total_seconds()) < 0.1


def test_an_empty_link_holds_what_it_carries_until_then_and_no_more() -> None:
    assert near(judge(document(), wanted(101), ()).earliest, 100)
    verdict = judge(document(), wanted(99), ())
    assert near(verdict.earliest, 100)
    assert verdict.give_way == ()


def test_what_was_promised_to_others_is_theirs_until_their_deadlines() -> None:
    others = [promise("a", 600_000, 50), promise("b", 200_000, 1000)]
    # 0.2 Mb/s for 50 s, then 0.8 Mb/s.
    verdict = judge(document(), wanted(150), others)
    assert near(verdict.earliest, 50 + 90 / 0.8)
    assert [one.transfer for one in verdict.give_way] == ["a"]
    assert near(judge(document(), wanted(170), others).earliest, 50 + 90 / 0.8)


@dataclass
class Running:
    """A promise as it is carried out: what is left, by when."""

    name: str
    left_bits: float
    due_s: float


class Scheduler:
    """Gives each promise, in their order, what `guarantees` says, worked out anew whenever a deadline passes."""

    def __init__(self, links: m.QosDocument) -> None:
        self.links, self.now_s, self.running = links, 0.0, list[Running]()
        self.broken = list[Running]()

    def rates(self) -> dict[str, float]:
        needs = [(one.name, "bulk", UPLINK, one.left_bits / (one.due_s - self.now_s)) for one in self.running]
        return guarantees(self.links, needs)

    def others(self) -> list[Other]:
        got = self.rates()
        return [
            Other(
                one.name,
                "pn_x",
                "bulk",
                UPLINK,
                one.left_bits,
                got[one.name],
                in_s(one.due_s),
                runs=True,
                needs_bps=one.left_bits / (one.due_s - self.now_s),
            )
            for one in self.running
        ]

    def go_on(self, until_s: float) -> None:
        while self.now_s < until_s:
            step_s = min([until_s, *(one.due_s for one in self.running)]) - self.now_s
            got = self.rates()
            for one in self.running:
                one.left_bits -= got[one.name] * step_s
            self.now_s += step_s
            ended = [one for one in self.running if one.due_s <= self.now_s]
            self.broken += [one for one in ended if one.left_bits > 1000]
            self.running = [one for one in self.running if one.due_s > self.now_s]


@given(some.lists(some.tuples(some.floats(0.1, 60), some.floats(1, 120), some.floats(0, 20)), min_size=2, max_size=25))
def test_all_that_is_promised_one_after_another_is_kept(asked: list[tuple[float, float, float]]) -> None:
    site = Scheduler(document())
    for number, (alone_s, within_s, later_s) in enumerate(asked):
        site.go_on(site.now_s + later_s)
        bits = alone_s * 1_000_000
        request = replace(
            wanted(0), bytes=int(bits / 8 / AHEAD), begins=in_s(site.now_s), deadline=in_s(site.now_s + within_s)
        )
        earliest = judge(site.links, request, site.others()).earliest
        if earliest is not None and earliest <= request.deadline:
            site.running.append(Running(str(number), bits, site.now_s + within_s))
    site.go_on(site.now_s + 200)
    assert site.broken == []


def test_what_becomes_free_is_first_for_promises_that_lack_it() -> None:
    first = Other("a", "pn_x", "bulk", UPLINK, 40e6, 0.8e6, in_s(50), needs_bps=0.8e6)
    # It needs 0.5 Mb/s and has 0.2 of them until the first one is done; all of the rest is needed then.
    second = Other("b", "pn_x", "bulk", UPLINK, 60e6, 0.2e6, in_s(120), needs_bps=0.5e6)
    found = judge(document(), replace(wanted(200), bytes=BYTES // 10), [first, second]).earliest
    # From 50 s on the second one takes 50 Mbit in 70 s, which leaves 0.286 Mb/s.
    assert near(found, 50 + 10 / (1 - 50 / 70))


def test_no_more_would_have_to_give_way_than_is_needed() -> None:
    others = [promise(f"p{number}", 10_000 + number, 1000 + number) for number in range(90)]
    for seconds in (400, 250, 150, 110):
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
    others = [promise(f"p{number}", 1_000, 3600 + 60 * number) for number in range(1000)]
    began = perf_counter()
    verdict = judge(document(), replace(wanted(3000), hours=hours), others)
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
