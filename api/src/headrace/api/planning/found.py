"""What a list is narrowed to: words, and the time in which something was made.

Words are looked for in the text of row after row, the newest first. Where that does not soon fill a page, an index
gives the rows that hold rare words; those are looked at, however old they are. Words that many rows hold are looked for
further, up to a limit. A search that was not through by then is refused with how far it came.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, auto
from typing import Any, Final, TypeVar

from sqlalchemy import ColumnElement, Select, and_, func, or_, select
from sqlalchemy.orm import InstrumentedAttribute
from sqlalchemy.sql.elements import SQLCoreOperations

from headrace.api.errors import Code, ServiceError
from headrace.api.store import Tx
from headrace.api.store.tables_site import PersonRow
from headrace.api.store.tables_work import PlanRow, TransferRow
from headrace.api.store.text_index import is_indexed, rows_holding
from headrace.api.store.ways import Way, first_of
from headrace.guardrails import utc_text

Columns = Sequence[SQLCoreOperations[Any]]
_Row = TypeVar("_Row")


class Reach(Enum):
    """How far a search looks."""

    NEAR = auto()
    """At the first rows, which soon fill a page with words that many hold."""
    INDEX = auto()
    """At all rows that hold rare words."""
    FAR = auto()
    """At as many rows as a search may look at."""


@dataclass(frozen=True, slots=True)
class Searched:
    """What a search looks at: rows of `kind`, whose ids begin with `prefix`, and of each row its id and `texts`."""

    kind: type[TransferRow] | type[PlanRow]
    prefix: str
    texts: Columns
    indexed: bool
    """Whether the index is asked. It holds rows that the caller may not see, and how a search ends tells of them."""
    of_each: int = 1
    """How many rows of the quickest kind take as long to look at as one of this."""


MAX_WORDS: Final = 10
MAX_LETTERS: Final = 100
LOOKED_AT: Final = 200_000
"""Rows whose text a search for one word looks at: the newest that the caller may see; for two words half of them."""
LOOKED_AT_FIRST: Final = 2_000
"""Rows that it looks at before it asks the index."""
FEW: Final = 5_000
"""Rows that the index may give: where more hold a word, the newest of them come soon enough one by one."""
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

    def _words(self, identity: InstrumentedAttribute[str], looked_at: Columns) -> list[ColumnElement[bool]]:
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

    async def read(  # noqa: PLR0913 - what, where, how, and how much of it
        self,
        tx: Tx,
        searched: Searched,
        ways: Sequence[Way[str]],
        read: Callable[[Sequence[Way[str]]], Awaitable[Sequence[_Row]]],
        enough: Callable[[Sequence[_Row]], bool],
        *,
        newest: bool = True,
    ) -> tuple[Sequence[_Row], datetime | None]:
        """Read the rows of `ways` that hold the words, looking further until that is `enough`.

        Returns also the time at which that ended, if rows beyond it were not looked at.
        """
        rows: Sequence[_Row] = ()
        edge = None
        for reach in Reach if self.search and searched.indexed else (Reach.FAR,):
            narrowed = await self._narrowed(tx, searched, ways, reach, newest=newest)
            if narrowed is None:
                continue
            found, edge = narrowed
            rows = await read(found)
            if edge is None or enough(rows):
                break
        return rows, edge

    async def _narrowed(
        self, tx: Tx, searched: Searched, ways: Sequence[Way[str]], reach: Reach, *, newest: bool
    ) -> tuple[Sequence[Way[str]], datetime | None] | None:
        """Narrow ways to the rows that hold the words, as far as `reach` goes, and say where that ends if it does.

        `None`: the index is of no help, as the store has none, or many rows hold the words.
        """
        if not self.search:
            return ways, None
        edge = None
        if reach is Reach.INDEX:
            ids = await _rare(tx, searched, self.search.split())
            if ids is None:
                return None
            ways = [way.among(ids) for way in ways]
        else:
            most = self.most if reach is Reach.FAR else LOOKED_AT_FIRST // searched.of_each
            edge = await self._edge(tx, ways, most, newest=newest)
        ways = [way.where(*self._words(way.id, searched.texts)) for way in ways]
        if edge is None:
            return ways, None
        return [way.where(way.created > edge if newest else way.created < edge) for way in ways], edge

    async def _edge(self, tx: Tx, ways: Sequence[Way[str]], most: int, *, newest: bool) -> datetime | None:
        """Return the time up to which rows are looked at; `None` when all of `ways` (before the words) are few."""
        looked_at = first_of(ways, most + 1, newest=newest).subquery()
        edge = func.min(looked_at.c.created) if newest else func.max(looked_at.c.created)
        found = (await tx.execute(select(edge, func.count()).select_from(looked_at))).one()
        return found[0] if found[1] > most else None

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


async def _rare(tx: Tx, searched: Searched, words: Sequence[str]) -> list[str] | None:
    """Return the ids of all rows that may hold each of `words`, or one of them; `None`: too many, or no index."""
    kind, few = searched.kind, FEW // searched.of_each
    # What every id begins with is held by every row.
    words = [word for word in words if is_indexed(word) and not searched.prefix.startswith(word.lower())]
    beside = [word for word in words if await tx.scalar(select(_beside(searched, word).exists()))]
    in_texts = [word for word in words if word not in beside]
    for asked in [in_texts, *([word] for word in beside)] if in_texts else [[word] for word in beside]:
        ids = await rows_holding(tx, kind.__tablename__, asked, few + 1)
        if ids is None:
            return None
        if asked is not in_texts:
            ids += await tx.scalars(_beside(searched, *asked).limit(few + 1))
        if len(ids) <= few:
            return ids
    return None


def _beside(searched: Searched, word: str) -> Select[str]:
    """Select the rows that hold a word in their id or in their requester's name."""
    kind, begin = searched.kind, word.lower()
    named = select(PersonRow.id).where(PersonRow.shown_name.icontains(word, autoescape=True))
    query = select(kind.id).where(kind.requester.in_(named))
    if not begin.startswith(searched.prefix):
        return query
    # As a range, so that the index finds it.
    return select(kind.id).where(or_(and_(kind.id >= begin, kind.id < f"{begin}~"), kind.requester.in_(named)))
