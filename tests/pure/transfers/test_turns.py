from datetime import UTC, datetime, timedelta

from headrace.api.transfers.turns import Place, Turns

NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)


def place(transfer: str, *, priority: int = 0, second: int = 0) -> Place:
    return Place(-priority, NOW + timedelta(seconds=second), transfer)


def test_who_came_first_is_first_within_a_priority() -> None:
    turns = Turns(1)
    turns.take("running")
    for one in (place("late", second=9), place("urgent", priority=1, second=8), place("early", second=1)):
        assert not turns.is_next(one)
    assert [turns.place_of(name) for name in ("urgent", "early", "late")] == [(1, 3), (2, 3), (3, 3)]
    order = []
    turns.give_back("running")
    while (first := turns.next) is not None:
        order.append(first)
        turns.take(first)
        assert turns.next is None
        turns.give_back(first)
    assert order == ["urgent", "early", "late"]


def test_a_free_slot_is_for_the_first_in_line_only() -> None:
    turns = Turns(2)
    turns.take("a")
    assert turns.is_next(place("b", second=1))
    assert not turns.is_next(place("c", second=2))
    assert turns.is_next(place("d", second=0)), "it came before b"
    assert not turns.is_next(place("b", second=1))
    turns.leave("d")
    assert turns.next == "b"
    assert turns.place_of("d") is None


def test_an_attempt_that_runs_already_keeps_its_slot() -> None:
    turns = Turns(1)
    turns.take("a")
    turns.take("b")
    turns.give_back("a")
    assert turns.next is None
    assert not turns.is_next(place("c"))
    turns.give_back("b")
    assert turns.next == "c"
