"""Lists that are found in several ways, each along an index in the order of the list, and merged.

One index gives the rows of one state, or of one endpoint as a source, the newest first; a condition with `or` or `in`
over it would make the store read and sort all that fit before it shows the first fifty. So each alternative is a way of
its own, gives as many rows as the page needs, and the first of all of them are the page: what a page costs depends on
its length, not on how many rows fit.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Generic, TypeVar, TypeVarTuple, cast

from sqlalchemy import Column, ColumnElement, Select, literal, or_, select, union
from sqlalchemy.orm import InstrumentedAttribute
from sqlalchemy.sql.visitors import replacement_traverse

from headrace.api.store.dialects import by_value, texts_of

_Id = TypeVar("_Id", str, int)
_Shown = TypeVarTuple("_Shown")
MOST_WAYS: Final = 200
"""More than that are one way with all alternatives in one condition; SQLite merges at most 500."""


@dataclass(frozen=True, slots=True)
class Way(Generic[_Id]):
    """Rows that fit, by `id` and the time `created` by which they are ordered; both columns lead the same index."""

    rows: Select[Any]
    id: InstrumentedAttribute[_Id]
    created: InstrumentedAttribute[datetime]

    def where(self, *conditions: ColumnElement[bool]) -> "Way[_Id]":
        """Narrow it."""
        return Way(self.rows.where(*conditions), self.id, self.created)

    def among(self, ids: Sequence[_Id]) -> "Way[_Id]":
        """Narrow it to rows with these ids, by which they are looked for, and by nothing else."""
        table = self.id.class_.__table__

        def plain(element: Any, **_: Any) -> Any:  # noqa: ANN401 - SQLAlchemy's
            is_its = isinstance(element, Column) and element.table is table and element.key != self.id.key
            return by_value(element) if is_its else None

        rows = cast("Select[Any]", replacement_traverse(self.rows, {}, plain))
        listed = select(texts_of(literal(json.dumps(list(ids)))).table_valued("value").c.value)
        return Way(rows, self.id, self.created).where(self.id.in_(listed))

    def beyond(self, created: datetime, id_: _Id, *, newest: bool) -> "Way[_Id]":
        """Narrow it to what comes after one row."""
        if newest:
            return self.where(self.created <= created, or_(self.created < created, self.id < id_))
        return self.where(self.created >= created, or_(self.created > created, self.id > id_))


def first_of(ways: Sequence[Way[_Id]], limit: int, *, newest: bool, columns: Sequence[Any] = ()) -> Select[Any]:
    """Select `id`, `created` and `columns` of the first rows of all ways together; each row once."""
    parts = [_ordered(way, limit, newest=newest, columns=columns) for way in ways]
    if len(parts) == 1:
        return parts[0]
    every = union(*(select(part.subquery()) for part in parts)).subquery()
    found = select(every).limit(limit)
    if newest:
        return found.order_by(every.c.created.desc(), every.c.id.desc())
    return found.order_by(every.c.created, every.c.id)


def rows_of(
    shown: Select[*_Shown], identity: InstrumentedAttribute[_Id], ways: Sequence[Way[_Id]], limit: int, *, newest: bool
) -> Select[*_Shown]:
    """Select what is `shown` of the first rows of all ways together, by their `identity`."""
    first = first_of(ways, limit, newest=newest).subquery()
    order = (first.c.created.desc(), first.c.id.desc()) if newest else (first.c.created, first.c.id)
    return shown.join(first, first.c.id == identity).order_by(*order)


def _ordered(way: Way[_Id], limit: int, *, newest: bool, columns: Sequence[Any]) -> Select[Any]:
    rows = way.rows.with_only_columns(way.id.label("id"), way.created.label("created"), *columns)
    if newest:
        return rows.order_by(way.created.desc(), way.id.desc()).limit(limit)
    return rows.order_by(way.created, way.id).limit(limit)
