"""What a list is narrowed to: words, and the time in which something was made."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, or_
from sqlalchemy.orm import InstrumentedAttribute
from sqlalchemy.sql.elements import SQLCoreOperations

Columns = Sequence[SQLCoreOperations[Any]]


@dataclass(frozen=True, slots=True)
class Found:
    """Every word of `search` occurs somewhere; made from `since` on and before `until`."""

    search: str = ""
    since: datetime | None = None
    until: datetime | None = None

    def conditions(
        self, identity: InstrumentedAttribute[str], made: InstrumentedAttribute[datetime], looked_at: Columns
    ) -> list[ColumnElement[bool]]:
        """Return the conditions on a query of rows that were made at `made`, with words in any of `looked_at`.

        An id is found by how it begins: figures of a name occur in many ids.
        """
        found = [
            or_(
                identity.istartswith(word, autoescape=True),
                *(one.icontains(word, autoescape=True) for one in looked_at),
            )
            for word in self.search.split()
        ]
        if self.since is not None:
            found.append(made >= self.since)
        if self.until is not None:
            found.append(made < self.until)
        return found


EVERYTHING: Final = Found()
