"""Pages of lists: one row more than a page holds is read, which tells whether there is a next page.

Lists that are files of JSON lines go on at `LIST.bBYTE`, so that a list of ten million names takes no longer at its end
than at its start. Whoever may not see the names gets `LIST.eENTRY`: from bytes they would learn how long each name is.
"""

import itertools
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO, Final, TypeVar

from headrace.api.errors import Code, ServiceError
from headrace.client import models as m
from headrace.guardrails import SealError, utc_text, utc_time

_T = TypeVar("_T")
_MOST: Final = 2**63 - 1
"""The largest number that a store keeps."""
_DIGITS: Final = 19
MAX_PAGE: Final = 200
"""The most rows of a page."""
MAX_LONG_PAGE: Final = 1000
"""The most entries of a page of events, files, names or people."""
AFTER_NUMBER: Final = f"^[0-9]{{1,{_DIGITS}}}$"
"""How `after` of a numbered list is written."""
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


@dataclass(frozen=True, slots=True)
class Moment:
    """Where a page of a list by time goes on: after what was made then with this id, which may be gone by now."""

    at: datetime
    id: str

    def __str__(self) -> str:
        """Write it as `next`."""
        return f"{utc_text(self.at)}.{self.id}"

    @classmethod
    def read(cls, after: str | None) -> "Moment | None":
        """Read what a page before named; raises `invalid_request`."""
        if after is None:
            return None
        at, _, id_ = after.rpartition(".")
        try:
            return cls(utc_time(at), id_)
        except SealError as error:
            raise made_up(after) from error


AFTER_PLACE: Final = r"^([0-9]{1,18})\.([be])([0-9]{1,18})$"
"""How `after` of a list that is a file is written."""
_PLACE: Final = re.compile(AFTER_PLACE, re.ASCII)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a page of a list that is a file goes on: which list, and the byte or entry there."""

    number: int
    unit: str
    offset: int

    @classmethod
    def read(cls, after: str) -> "Place":
        """Read a place that a page before named; raises `invalid_request`."""
        found = _PLACE.fullmatch(after)
        if found is None:
            raise made_up(after)
        return cls(int(found[1]), found[2], int(found[3]))


def made_up(after: str) -> ServiceError:
    """Make the error of a place that no page named."""
    message = f"`after` is `{after[:40]}`; give `next` of the page before"
    return ServiceError(Code.INVALID_REQUEST, message, fields=("after",))


@dataclass(frozen=True, slots=True)
class ListFile:
    """A list in a file, one JSON document a line, by its number; `withheld`: its names are, so places count entries."""

    path: Path
    number: int
    withheld: bool = False

    def page(self, offset: int, limit: int) -> tuple[list[dict[str, Any]], str | None]:
        """Read up to `limit` entries, and where the next page goes on."""
        with self.path.open("rb") as lines:
            self._skip(lines, offset)
            entries = [json.loads(line) for line in itertools.islice(lines, limit)]
            place = offset + len(entries) if self.withheld else lines.tell()
            more = bool(lines.readline())
        return entries, f"{self.number}.{self.unit}{place}" if more else None

    @property
    def unit(self) -> str:
        """What places of it count: bytes or entries."""
        return "e" if self.withheld else "b"

    def _skip(self, lines: BinaryIO, number: int) -> None:
        if self.withheld:
            next(itertools.islice(lines, number, number), None)
        elif number := min(number, self.path.stat().st_size):
            # Of the line that holds the byte before, whoever made up a place sees nothing.
            lines.seek(number - 1)
            lines.readline()
