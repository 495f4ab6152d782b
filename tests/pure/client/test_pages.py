"""Lists read to their end by the client."""

from functools import partial

import pytest

from headrace.client import HeadraceError, each, whole_list
from headrace.client import models as m

pytestmark = pytest.mark.anyio


class Lists:
    """Lists the numbers below `count`, and keeps what it was asked for."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.asked: list[str | None] = []

    async def numbers(self, *, limit: int = 2, after: str | None = None) -> m.Page[int]:
        self.asked.append(after)
        begin = int(after or 0)
        end = begin + limit
        return m.Page(items=list(range(begin, min(end, self.count))), next=str(end) if end < self.count else None)


@pytest.mark.parametrize("count", range(6))
@pytest.mark.parametrize("limit", [1, 2, 3, 9])
async def test_a_list_is_read_whole_however_long_its_pages_are(count: int, limit: int) -> None:
    whole = await whole_list(partial(Lists(count).numbers, limit=limit))
    assert (whole.items, whole.next) == (list(range(count)), None)


async def test_a_page_is_read_when_what_it_holds_is_wanted_and_not_before() -> None:
    lists = Lists(6)
    async for number in each(lists.numbers):
        if number == 2:
            break
    assert lists.asked == [None, "2"]


async def test_a_list_that_does_not_go_on_is_not_read_for_ever() -> None:
    asked: list[str | None] = []

    async def stuck(*, after: str | None = None) -> m.Page[int]:
        asked.append(after)
        assert len(asked) < 5, "it would go on for ever"
        return m.Page(items=[1], next=after or "here")

    with pytest.raises(HeadraceError, match="the same place again") as caught:
        await whole_list(stuck)
    assert caught.value.problem.code == "unexpected_answer"


async def test_a_list_that_goes_round_in_a_circle_is_not_read_for_ever() -> None:
    asked: list[str | None] = []

    async def round_and_round(*, after: str | None = None) -> m.Page[int]:
        asked.append(after)
        assert len(asked) < 9, "it would go on for ever"
        return m.Page(items=[1, 2], next={"a": "b", "b": "c", "c": "a"}[after or "a"])

    with pytest.raises(HeadraceError, match="the same place again"):
        await whole_list(round_and_round)
