from dataclasses import replace
from datetime import UTC, datetime, timedelta

from headrace.api.jobs.turns import InLine, Turns

NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)


def place(subject: str, *, priority: int = 0, second: int = 0, person: str = "ada") -> InLine:
    return InLine(-priority, NOW + timedelta(seconds=second), subject, person)


def queued(turns: Turns, *places: InLine) -> None:
    for one in places:
        turns.is_next(one)


def served(turns: Turns, waiting: dict[str, InLine]) -> list[str]:
    """Let everybody have their turn, one after the other."""
    order = []
    while (first := turns.next) is not None:
        order.append(first)
        turns.take(waiting[first])
        turns.give_back(first)
    return order


def test_who_came_first_is_first_within_a_priority_of_one_person() -> None:
    turns = Turns(1, 1)
    turns.take(place("running", person="bob"))
    waiting = {
        one.subject: one
        for one in (place("late", second=9), place("urgent", priority=1, second=8), place("early", second=1))
    }
    for one in waiting.values():
        assert not turns.is_next(one)
    assert [turns.place_of(name) for name in ("urgent", "early", "late")] == [(1, 3), (2, 3), (3, 3)]
    turns.give_back("running")
    assert served(turns, waiting) == ["urgent", "early", "late"]


def test_people_take_turns_however_many_one_of_them_has_in_line() -> None:
    turns = Turns(1, 1)
    turns.take(place("running", person="ada"))
    queued(turns, *(place(f"a{number}", second=number) for number in range(100)))
    queued(turns, place("b0", second=200, person="bob"), place("b1", second=201, person="bob"))
    queued(turns, place("c0", second=300, person="cyd"))
    assert [turns.place_of(name) for name in ("b0", "c0", "a0", "b1", "a1")] == [
        (1, 103), (2, 103), (3, 103), (4, 103), (5, 103)
    ]  # fmt: skip


def test_a_higher_priority_goes_first_whoever_asks() -> None:
    turns = Turns(1, 1)
    turns.take(place("running", person="ada"))
    queued(turns, place("normal", person="bob"), place("high", priority=1, second=9, person="ada"))
    assert turns.place_of("high") == (1, 2)


def test_one_person_never_holds_all_slots() -> None:
    turns = Turns(3, 2)
    ada = [place(f"a{number}", second=number) for number in range(4)]
    for one in ada[:2]:
        assert turns.is_next(one)
        turns.take(one)
    assert not turns.is_next(ada[2])
    assert turns.is_held_back("a2")
    assert turns.next is None
    assert turns.is_next(place("b", second=9, person="bob"))
    assert turns.next == "b"
    turns.leave("b")
    turns.give_back("a0")
    assert turns.next == "a2", "a slot of ada's own is free again"


def test_a_free_slot_is_for_the_first_in_line_only() -> None:
    turns = Turns(2, 2)
    turns.take(place("a"))
    assert turns.is_next(place("b", second=1))
    assert not turns.is_next(place("c", second=2))
    assert turns.is_next(place("d", second=0)), "it came before b"
    assert not turns.is_next(place("b", second=1))
    turns.leave("d")
    assert turns.next == "b"
    assert turns.place_of("d") is None


def promised(subject: str, minutes: int, *, person: str = "ada") -> InLine:
    return replace(place(subject, person=person), promised=NOW + timedelta(minutes=minutes))


def test_what_is_promised_waits_for_no_slot_that_others_hold_and_the_earliest_goes_first() -> None:
    turns = Turns(2, 1)
    turns.take(place("a"))
    turns.take(place("b", person="bob"))
    waiting = [
        promised("late", 9),
        promised("soon", 1),
        promised("other", 5, person="bob"),
        place("plain", person="cyd"),
    ]
    queued(turns, *waiting)
    assert [turns.place_of(name) for name in ("soon", "other", "late", "plain")] == [(1, 3), (2, 3), (3, 3), (1, 1)]
    assert turns.is_next(waiting[1])
    assert turns.is_next(waiting[2])
    assert not turns.is_next(waiting[0])
    assert not turns.is_next(waiting[3])
    turns.take(waiting[1])
    assert not turns.is_next(waiting[0]), "nor does one person hold more of these slots than of the others"
    assert turns.is_held_back("late")
    turns.give_back("b")
    assert turns.is_next(waiting[3])
    turns.take(waiting[2])
    turns.give_back("soon")
    assert turns.is_next(waiting[0])


def test_who_is_promised_a_time_while_in_line_changes_the_line() -> None:
    turns = Turns(1, 1)
    turns.take(place("a"))
    assert not turns.is_next(place("b", person="bob"))
    assert turns.is_next(promised("b", 1, person="bob"))
    assert not turns.is_next(place("b", person="bob"))


def test_an_attempt_that_runs_already_keeps_its_slot() -> None:
    turns = Turns(1, 1)
    turns.take(place("a"))
    turns.take(place("b"))
    turns.give_back("a")
    assert turns.next is None
    assert not turns.is_next(place("c"))
    turns.give_back("b")
    assert turns.next == "c"
