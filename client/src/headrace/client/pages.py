"""Lists that come in pages, read to their end: each call of the port that takes `after` is one.

async for endpoint in each(headrace.endpoints): ...
people = await whole_list(partial(headrace.people, limit=1000))
"""

from collections.abc import AsyncGenerator, Awaitable
from typing import Protocol, TypeVar

from headrace.client.models import Page
from headrace.client.wire import Code, failure

T = TypeVar("T")


class Reads(Protocol[T]):
    """Reads the page of a list after a place, `next` of the page before, or the first."""

    def __call__(self, *, after: str | None = None) -> Awaitable[Page[T]]:
        """Read it."""
        ...


async def each(read: Reads[T]) -> AsyncGenerator[T]:
    """Go through all that a list holds, reading a page when it is needed; raises what `read` does.

    A list that does not go on ends with `unexpected_answer`.
    """
    page, places = await read(), set[str]()
    while True:
        for one in page:
            yield one
        if page.next is None:
            return
        if page.next in places:
            raise failure(Code.UNEXPECTED_ANSWER, f"the service named the same place again: `{page.next[:80]}`.")
        places.add(page.next)
        page = await read(after=page.next)


async def whole_list(read: Reads[T]) -> Page[T]:
    """Read a list to its end, as one page."""
    return Page(items=[one async for one in each(read)])
