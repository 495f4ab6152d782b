"""Whether a deadline can be kept by what links guarantee."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta
from time import perf_counter, process_time

from hypothesis import event, given
from hypothesis import strategies as some

from headrace.api.policy.calendars import Timeline, Together
from headrace.api.policy.forecast import Promise
from headrace.api.policy.links import Path
from headrace.api.policy.promises import MOST_AHEAD, Other, judge, links_of
from headrace.client import models as m
from headrace.guardrails import OpenHours

NOW = datetime(2026, 11, 24, 12, tzinfo=UTC)
UPLINK = Path(("uplink",))
BITS = 100e6
"""Take 100 s at 1 Mb/s."""


def document(rate: int = 1_000_000, **classes: m.QosClass) -> m.QosDocument:
    link = m.QosLink(name="uplink", rate_bps=rate, rest_percent=10, nodes=["left"])
    return m.QosDocument(links=[link], classes=[m.QosClass(name="bulk"), *classes.values()])


def in_s(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def wanted(seconds: float, hours: OpenHours | None = None) -> Promise:
    return Promise(
        transfer="",
        qos_class="bulk",
        path=UPLINK,
        left_bits=BITS,
        begins=NOW,
        deadline=in_s(seconds),
        hours=Timeline(Together((hours,) if hours else ()), NOW, NOW + MOST_AHEAD),
    )


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


def needs(*asked: tuple[str, str, float]) -> list[tuple[Promise, float]]:
    """What is needed: who, as what class, bit/s."""
    [base] = [one for one in [promise("", 0, 100).promise] if one is not None]
    return [(replace(base, transfer=name, qos_class=qos_class), bps) for name, qos_class, bps in asked]


def test_a_link_guarantees_no_more_than_it_has_to_who_is_named_first() -> None:
    floor = m.QosClass(name="other", links=[m.QosClassLink(link="uplink", floor_bps=300_000)])
    ceiling = m.QosClass(name="slow", links=[m.QosClassLink(link="uplink", ceiling_bps=100_000)])
    held = document(other=floor, slow=ceiling)
    asked = needs(("a", "bulk", 600_000.0), ("b", "slow", 200_000.0), ("c", "bulk", 600_000.0))
    alone = links_of(held, (), NOW, {("uplink", "out"): {"bulk", "slow"}})
    assert alone.guarantees(asked, NOW) == {"a": 600_000, "b": 100_000, "c": 300_000}
    beside = links_of(held, (), NOW, {("uplink", "out"): {"bulk", "slow", "other"}})
    assert beside.guarantees(asked, NOW) == {"a": 600_000, "b": 100_000, "c": 0}
    into = [(replace(one, path=Path((), ("uplink",))), bps) for one, bps in asked[:1]]
    both = links_of(held, (), NOW).guarantees(
        [*asked[:1], *((replace(one, transfer="d"), bps) for one, bps in into)], NOW
    )
    assert both == {"a": 600_000, "d": 600_000}, "each direction has its own"


def test_an_empty_link_holds_what_it_carries_until_then_and_no_more() -> None:
    assert near(judge(document(), wanted(101), (), NOW).earliest, 100)
    verdict = judge(document(), wanted(99), (), NOW)
    assert near(verdict.earliest, 100)
    assert verdict.give_way == ()


def test_what_was_promised_to_others_is_done_by_their_deadlines() -> None:
    others = [promise("a", 30e6, 50), promise("b", 200e6, 1000)]
    # 30 Mb come before 50 s; what is due at 1000 s can wait.
    assert near(judge(document(), wanted(120), others, NOW).earliest, 130)
    assert near(judge(document(), wanted(129), others[:1], NOW).earliest, 130)
    assert judge(document(), wanted(131), others, NOW).give_way == ()
    # Up to 330 s there are 50 s left for others.
    full = [*others, promise("c", 250e6, 330)]
    late = judge(document(), wanted(140), full, NOW)
    assert near(late.earliest, 380)
    assert [one.transfer for one in late.give_way] == ["c"]


@dataclass
class Running:
    """A promise as it is carried out: what is left, from when on, by when."""

    other: Other
    left_bits: float
    begins_s: float
    due_s: float


class Scheduler:
    """Gives each promise what it is guaranteed, the earliest deadline first, worked out anew as they begin and end."""

    def __init__(self, links: m.QosDocument) -> None:
        self.links, self.now_s, self.running = links, 0.0, list[Running]()
        self.broken = list[Running]()

    def rates(self) -> dict[str, float]:
        running = [one for one in self.running if one.begins_s <= self.now_s]
        running.sort(key=lambda one: one.due_s)
        present = {at: {one.other.qos_class for one in running if at in one.other.path.ways} for at in WAYS}
        links = links_of(self.links, (), in_s(self.now_s), present)
        asked = [(one.other.promise, one.left_bits / (one.due_s - self.now_s)) for one in running if one.other.promise]
        return links.guarantees(asked, in_s(self.now_s))

    def others(self) -> list[Other]:
        return [
            replace(
                one.other,
                left_bits=one.left_bits,
                promise=one.other.promise
                and replace(one.other.promise, left_bits=one.left_bits, begins=in_s(max(self.now_s, one.begins_s))),
            )
            for one in self.running
        ]

    def go_on(self, until_s: float) -> None:
        while self.now_s < until_s:
            moments = [at for one in self.running for at in (one.begins_s, one.due_s) if at > self.now_s]
            step_s = min([until_s, *moments]) - self.now_s
            got = self.rates()
            for one in self.running:
                one.left_bits -= got.get(one.other.transfer, 0) * step_s
            self.now_s += step_s
            ended = [one for one in self.running if one.due_s <= self.now_s]
            # A promise has 5 % to spare (`AHEAD`), and a thousandth of it may be taken.
            self.broken += [one for one in ended if one.left_bits > 0.005 * one.other.left_bits]
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
        bits, due_s = alone_s * 1_000_000, begins_s + within_s
        more = Running(promise(str(number), bits, due_s, begins_s), bits, begins_s, due_s)
        request = replace(
            wanted(0),
            left_bits=more.left_bits,
            begins=in_s(begins_s),
            deadline=in_s(more.due_s),
        )
        earliest = judge(site.links, request, site.others(), in_s(site.now_s)).earliest
        assert earliest is not None
        if earliest <= request.deadline:
            site.running.append(more)
        else:
            # What begins later is not made room for before that: then a link could keep more.
            begun = all(one.begins_s <= site.now_s for one in [*site.running, more])
            assert not begun or not site.can_be_kept(replace(more, left_bits=more.left_bits * 1.002))
    site.go_on(site.now_s + 300)
    assert site.broken == []


CLASSES = ("bulk", "slow", "other")
PATHS = (UPLINK, Path(("uplink", "wan")), Path((), ("wan",)), Path(("wan",)))
WAYS = sorted({at for path in PATHS for at in path.ways})


@given(
    some.lists(
        some.tuples(
            some.floats(0.1, 60),
            some.floats(1, 120),
            some.floats(0, 20),
            some.sampled_from((0.0, 0.0, 30.0)),
            some.sampled_from(CLASSES),
            some.sampled_from(PATHS),
            some.sampled_from((None, 700_000)),
        ),
        min_size=2,
        max_size=20,
    )
)
def test_all_that_is_promised_is_kept_with_floors_ceilings_and_several_links(
    asked: list[tuple[float, float, float, float, str, Path, int | None]],
) -> None:
    held = document(
        other=m.QosClass(name="other", links=[m.QosClassLink(link="uplink", floor_bps=200_000)]),
        slow=m.QosClass(name="slow", links=[m.QosClassLink(link="wan", ceiling_bps=500_000)]),
    )
    held.links.append(m.QosLink(name="wan", rate_bps=800_000, rest_percent=10, nodes=["left"]))
    site, promised = Scheduler(held), 0
    for number, (alone_s, within_s, later_s, starts_s, qos_class, path, rate_bps) in enumerate(asked):
        site.go_on(site.now_s + later_s)
        begins_s = site.now_s + starts_s
        bits, due_s = alone_s * 1_000_000, begins_s + within_s
        other = promise(str(number), bits, due_s, begins_s)
        assert other.promise is not None
        kind = replace(other.promise, qos_class=qos_class, path=path, rate_bps=rate_bps)
        other = replace(other, qos_class=qos_class, path=path, promise=kind)
        request = replace(
            wanted(0),
            left_bits=bits,
            begins=in_s(begins_s),
            deadline=in_s(due_s),
            qos_class=qos_class,
            path=path,
            rate_bps=rate_bps,
        )
        earliest = judge(site.links, request, site.others(), in_s(site.now_s)).earliest
        if earliest is not None and earliest <= request.deadline:
            site.running.append(Running(other, bits, begins_s, due_s))
            promised += 1
    site.go_on(site.now_s + 300)
    event(f"{promised * 4 // len(asked)} quarters were promised")
    assert site.broken == []


def test_the_deadline_that_is_named_is_the_earliest_that_can_be_kept() -> None:
    others = [promise("a", 40e6, 50), promise("b", 60e6, 120), promise("c", 50e6, 300)]
    for seconds in (20, 60, 100):
        earliest = judge(document(), wanted(seconds), others, NOW).earliest
        assert earliest is not None
        again = replace(wanted(0), deadline=earliest)
        assert judge(document(), again, others, NOW).earliest == earliest
        sooner = replace(again, deadline=earliest - timedelta(seconds=2))
        found = judge(document(), sooner, others, NOW).earliest
        assert found is not None
        assert found > sooner.deadline


def test_no_more_would_have_to_give_way_than_is_needed() -> None:
    others = [promise(f"p{number}", 1e6 + 10 * number, 90 + number / 10) for number in range(90)]
    for seconds in (160, 140, 120, 101):
        gone = judge(document(), wanted(seconds), others, NOW).give_way
        assert 0 < len(gone) < len(others)
        kept = [one for one in others if one not in gone]
        assert judge(document(), wanted(seconds), kept, NOW).give_way == ()
        one_fewer = [*kept, gone[-1]]
        in_time = judge(document(), wanted(seconds), one_fewer, NOW).earliest
        assert in_time is None or in_time > in_s(seconds)
    assert judge(document(), wanted(99), others, NOW).give_way == ()


def at_its_time(bits: float, begins_s: float, due_s: float) -> Promise:
    return replace(wanted(due_s), left_bits=bits, begins=in_s(begins_s))


def test_promises_that_begin_later_count_in_their_own_time_and_not_now() -> None:
    later = promise("later", 900e6, 2000, begins_s=1000)
    for begins_s, due_s in ((0, 1000), (2000, 3000)):
        verdict = judge(document(), at_its_time(900e6, begins_s, due_s), [later], NOW)
        assert near(verdict.earliest, begins_s + 900), "the link is free then"
        assert verdict.give_way == ()
    both = judge(document(), at_its_time(900e6, 1000, 2000), [later], NOW)
    assert near(both.earliest, 2800), "not both of them fit into the same time"
    assert [one.transfer for one in both.give_way] == ["later"]


def test_who_runs_at_another_time_need_not_give_way_however_much_it_needs() -> None:
    others = [promise("same time", 700e6, 2000, begins_s=1000), promise("another time", 2900e6, 12000, begins_s=9000)]
    verdict = judge(document(), at_its_time(900e6, 1000, 2000), others, NOW)
    assert [one.transfer for one in verdict.give_way] == ["same time"]


def test_a_thousand_promises_in_nightly_hours_are_judged_in_a_moment() -> None:
    hours = OpenHours(time(12), time(13), "UTC")
    # Each needs more than is left by the time of its deadline: this takes longest.
    others = [promise(f"p{number}", 4e6, 2000 + number) for number in range(1000)]
    began = perf_counter()
    verdict = judge(document(), wanted(2500, hours), others, NOW)
    assert verdict.earliest is not None
    assert verdict.give_way
    # What walked over all promises at each change of each day took minutes.
    assert perf_counter() - began < 10


def nightly(number: int, bits: float) -> Other:
    """A promise in a year, in hours that nobody else has."""
    minute = number * 4
    hours = OpenHours(time(minute // 60, minute % 60), time((minute // 60 + 10) % 24, minute % 60 + 1), "UTC")
    other = promise(f"n{number}", bits, 365 * 86_400 - number)
    assert other.promise is not None
    timeline = Timeline(Together((hours,)), NOW, NOW + MOST_AHEAD)
    return replace(other, promise=replace(other.promise, hours=timeline))


def test_hundreds_of_promises_each_in_hours_of_its_own_are_judged_in_a_moment() -> None:
    others = [nightly(number, 8e6) for number in range(100)]
    began = process_time()
    assert judge(document(), wanted(90), others, NOW).earliest is not None
    # Looked at anew each time that anybody's hours open and close, it took most of a minute.
    assert process_time() - began < 10


def test_what_is_kept_for_promises_in_many_hours_is_kept_at_every_hour_and_is_enough() -> None:
    # 4 Gb in 365 nights of 10 h and a minute need 304 b/s each.
    other = nightly(0, 4e9)
    assert other.promise is not None
    links = links_of(document(1000), (), NOW)
    exact = links.outcome([other.promise])
    assert exact.lacks == {"n0": 0}
    reserved = links.outcome([other.promise], behind=wanted(100), most_steps=10)
    assert reserved.lacks == {"n0": 0}
    assert {round(rate) for rate in reserved.rates[:-1]} == {1000 - 304}
    assert links_of(document(300), (), NOW).outcome([other.promise], most_steps=10).lacks == {"n0": 4e9}


def test_floors_of_other_classes_and_the_ceiling_of_its_own_hold() -> None:
    floor = m.QosClass(name="other", links=[m.QosClassLink(link="uplink", floor_bps=500_000)])
    assert near(judge(document(other=floor), wanted(1000), (), NOW).earliest, 200)
    ceiling = m.QosClass(name="bulk", links=[m.QosClassLink(link="uplink", ceiling_bps=250_000)])
    held = document().model_copy(update={"classes": [ceiling]})
    assert near(judge(held, wanted(1000), (), NOW).earliest, 400)


def test_a_higher_priority_may_take_all_but_the_rest_until_it_is_done() -> None:
    urgent = m.QosClass(name="urgent", priority=1)
    other = Other("u", "pn_x", "urgent", UPLINK, 45_000_000, runs=True)
    # 45 Mb at 0.9 Mb/s take 50 s, in which a tenth is left.
    assert near(judge(document(urgent=urgent), wanted(1000), [other], NOW).earliest, 50 + 95)
    waits = replace(other, runs=False)
    assert near(judge(document(urgent=urgent), wanted(1000), [waits], NOW).earliest, 100)


def test_only_open_hours_count() -> None:
    hours = OpenHours(time(12), time(12, 1), "UTC")
    verdict = judge(document(), wanted(3600, hours), (), NOW)
    assert near(verdict.earliest, 24 * 3600 + 40)
    assert verdict.give_way == ()


def test_what_can_never_be_done_has_no_earliest_time() -> None:
    shut = m.QosClass(name="other", links=[m.QosClassLink(link="uplink", floor_bps=1_000_000)])
    assert judge(document(other=shut), wanted(1000), (), NOW).earliest is None


def test_what_is_not_done_as_far_as_was_looked_is_not_called_never() -> None:
    brief = OpenHours(time(12), time(12, 1), "UTC")
    slow = judge(document(10), wanted(1000, brief), (), NOW)
    assert slow.earliest is None
    assert slow.looked_until is not None
    assert slow.looked_until > NOW + timedelta(days=1999)
    shut = m.QosClass(name="other", links=[m.QosClassLink(link="uplink", floor_bps=1_000_000)])
    assert judge(document(other=shut), wanted(1000), (), NOW).looked_until is None
