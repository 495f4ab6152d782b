"""What a list is narrowed to: words, and the time in which something was made.

Words are looked for in the text of row after row, so both are limited: the words of a search, and the rows that it
looks at. A search that was not through by then is refused with how far it came.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import ColumnElement, Select, or_
from sqlalchemy.orm import InstrumentedAttribute
from sqlalchemy.sql.elements import SQLCoreOperations

from headrace.api.errors import Code, ServiceError
from headrace.api.store import Tx
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

    def made(self, made: InstrumentedAttribute[datetime]) -> list[ColumnElement[bool]]:
        """Return the conditions on when a row was made."""
        since = [] if self.since is None else [made >= self.since]
        return since if self.until is None else [*since, made < self.until]

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

    async def edge(self, tx: Tx, rows: Select[Any], made: InstrumentedAttribute[datetime]) -> datetime | None:
        """Return the time after which rows are looked at; `None` when all of `rows` (before the words) are few."""
        if not self.search:
            return None
        newest = rows.with_only_columns(made).order_by(None).order_by(made.desc())
        found: datetime | None = await tx.scalar(newest.offset(self.most).limit(1))
        return found

    @property
    def most(self) -> int:
        """How many rows are looked at."""
        return LOOKED_AT // max(1, len(self.search.split()))

    def require_through(self, edge: datetime | None, fit: int, limit: int) -> None:
        """Refuse a page that is not full because the search ended before the rows did, and say how far it came."""
        if edge is not None and fit < limit:
            at = utc_text(edge + _TICK)
            raise ServiceError(
                Code.SEARCH_TOO_WIDE,
                f"the newest {self.most:,} were looked at, and {fit} of them fit; `since` {at} lists these, "
                f"and `until` {at} looks further back",
                fields=("search", "since", "until"),
            )


EVERYTHING: Final = Found()
