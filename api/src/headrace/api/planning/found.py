"""What a list is narrowed to: words, and the time in which something was made.

Words are looked for in the text of row after row, so both are limited: the words of a search, and the rows that it
looks at. A search that was not through by then is refused with how far it came.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import ColumnElement, func, or_, select
from sqlalchemy.orm import InstrumentedAttribute
from sqlalchemy.sql.elements import SQLCoreOperations

from headrace.api.errors import Code, ServiceError
from headrace.api.store import Tx
from headrace.api.store.ways import Way, first_of
from headrace.guardrails import utc_text

Columns = Sequence[SQLCoreOperations[Any]]

MAX_WORDS: Final = 10
MAX_LETTERS: Final = 100
LOOKED_AT: Final = 200_000
"""Rows whose text a search for one word looks at: the newest that the caller may see; for two words half of them."""
_TICK: Final = timedelta(milliseconds=1)
"""The precision of times in the store."""


@dataclass(frozen=True, slots=True)
class Found:
    """Every word of `search` occurs somewhere; made from `since` on and before `until`."""

    search: str = ""
    since: datetime | None = None
    until: datetime | None = None

    def __post_init__(self) -> None:
        """Refuse more than a search may ask for."""
        words = self.search.split()
        if len(words) > MAX_WORDS or any(len(word) > MAX_LETTERS for word in words):
            raise ServiceError(
                Code.INVALID_REQUEST,
                f"a search has at most {MAX_WORDS} words of at most {MAX_LETTERS} letters; leave some out",
                fields=("search",),
            )

    def made(self, way: Way[str]) -> Way[str]:
        """Narrow a way by when rows were made."""
        way = way if self.since is None else way.where(way.created >= self.since)
        return way if self.until is None else way.where(way.created < self.until)

    def words(self, identity: InstrumentedAttribute[str], looked_at: Columns) -> list[ColumnElement[bool]]:
        """Return the conditions on a row's text: words in any of `looked_at`.

        An id is found by how it begins: figures of a name occur in many ids.
        """
        return [
            or_(
                identity.istartswith(word, autoescape=True),
                *(one.icontains(word, autoescape=True) for one in looked_at),
            )
            for word in self.search.split()
        ]

    async def edge(self, tx: Tx, ways: Sequence[Way[str]], *, newest: bool = True) -> datetime | None:
        """Return the time up to which rows are looked at; `None` when all of `ways` (before the words) are few."""
        if not self.search:
            return None
        looked_at = first_of(ways, self.most + 1, newest=newest).subquery()
        edge = func.min(looked_at.c.created) if newest else func.max(looked_at.c.created)
        found = (await tx.execute(select(edge, func.count()).select_from(looked_at))).one()
        return found[0] if found[1] > self.most else None

    @property
    def most(self) -> int:
        """How many rows are looked at."""
        return LOOKED_AT // max(1, len(self.search.split()))

    def require_through(self, edge: datetime | None, fit: int, limit: int, *, newest: bool = True) -> None:
        """Refuse a page that is not full because the search ended before the rows did, and say how far it came."""
        if edge is not None and fit < limit:
            at = utc_text(edge + _TICK if newest else edge)
            first, lists, looks = ("newest", "since", "until") if newest else ("oldest", "until", "since")
            raise ServiceError(
                Code.SEARCH_TOO_WIDE,
                f"the {first} {self.most:,} were looked at, and {fit} of them fit; `{lists}` {at} lists these, "
                f"and `{looks}` {at} looks further {'back' if newest else 'on'}",
                fields=("search", "since", "until"),
            )


EVERYTHING: Final = Found()
