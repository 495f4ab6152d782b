"""Pages of lists: one row more than a page holds is read, which tells whether there is a next page."""

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from headrace.api.errors import Code, ServiceError
from headrace.client import models as m

_T = TypeVar("_T")
_MOST: Final = 2**63 - 1
"""The largest number that a store keeps."""
_DIGITS: Final = 19
MAX_COUNTED: Final = 1000
"""Counts are exact up to this; above it they say `at least`."""


def page_of(found: Sequence[_T], limit: int, place: Callable[[_T], object]) -> m.Page[_T]:
    """Make a page of what was found with a limit of `limit + 1`; `place` is what to go on after."""
    items = list(found[:limit])
    return m.Page(items=items, next=str(place(items[-1])) if len(found) > limit else None)


def number_after(after: str | None) -> int:
    """Read where a page of a numbered list goes on, 0 without it; raises `invalid_request`."""
    if after is None:
        return 0
    if not (after.isascii() and after.isdigit() and len(after) <= _DIGITS and int(after) <= _MOST):
        raise ServiceError(
            Code.INVALID_REQUEST, f"`after` is `{after[:40]}`; give `next` of the page before", fields=("after",)
        )
    return int(after)
