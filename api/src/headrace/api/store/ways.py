"""Lists that are found in several ways, each along an index in the order of the list, and merged.

One index gives the rows of one state, or of one endpoint as a source, the newest first; a condition with `or` or `in`
over it would make the store read and sort all that fit before it shows the first fifty. So each alternative is a way of
its own, gives as many rows as the page needs, and the first of all of them are the page: what a page costs depends on
its length, not on how many rows fit.

Hundreds of alternatives of one kind are too many ways for a statement: they are one way that is `of_each` of the values
of a column. It looks for the first row of each value, which tells how far back the page can reach at most, and then
reads of each value what lies within that.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from math import ceil
from typing import Any, Final, Generic, TypeVar, TypeVarTuple, cast

from sqlalchemy import (
    Column,
    ColumnElement,
    Select,
    SQLColumnExpression,
    and_,
    func,
    literal,
    or_,
    select,
    union,
    union_all,
)
from sqlalchemy.orm import InstrumentedAttribute
from sqlalchemy.sql.visitors import replacement_traverse

from headrace.api.store.base import Utc
from headrace.api.store.dialects import among_rows, by_value, texts_of

_Id = TypeVar("_Id", str, int)
_Shown = TypeVarTuple("_Shown")
MOST_WAYS: Final = 200
"""More than that are one way with all alternatives; SQLite merges at most 500."""
_EVER: Final = literal(datetime(1, 1, 1, tzinfo=UTC), Utc), literal(datetime(9999, 12, 31, tzinfo=UTC), Utc)


@dataclass(frozen=True, slots=True)
class _Each:
    """A column that leads the index of a way, and the values that it may have."""

    column: InstrumentedAttribute[str]
    values: Sequence[str]


@dataclass(frozen=True, slots=True)
class Way(Generic[_Id]):
    """Rows that fit, by `id` and the time `created` by which they are ordered; both columns lead the same index."""

    rows: Select[Any]
    id: InstrumentedAttribute[_Id]
    created: InstrumentedAttribute[datetime]

    each: _Each | None = None

    def where(self, *conditions: ColumnElement[bool]) -> "Way[_Id]":
        """Narrow it."""
        return replace(self, rows=self.rows.where(*conditions))

    def of_each(self, column: InstrumentedAttribute[str], values: Sequence[str]) -> "Way[_Id]":
        """Narrow it to any of many values of a column that leads the index, of which each is looked for by itself."""
        return replace(self, each=_Each(column, values))

    def among(self, ids: Sequence[_Id]) -> "Way[_Id]":
        """Narrow it to rows with these ids, by which they are looked for, and by nothing else."""
        table = self.id.class_.__table__

        def plain(element: Any, **_: Any) -> Any:  # noqa: ANN401 - SQLAlchemy's
            is_its = isinstance(element, Column) and element.table is table and element.key != self.id.key
            return by_value(element) if is_its else None

        rows = self.rows.where(self.each.column.in_(any_of(self.each.values))) if self.each else self.rows
        rows = cast("Select[Any]", replacement_traverse(rows, {}, plain))
        return Way(rows.where(self.id.in_(any_of(ids))), self.id, self.created)

    def beyond(self, created: datetime, id_: _Id, *, newest: bool) -> "Way[_Id]":
        """Narrow it to what comes after one row."""
        if newest:
            return self.where(self.created <= created, or_(self.created < created, self.id < id_))
        return self.where(self.created >= created, or_(self.created > created, self.id > id_))


def any_of(values: Sequence[str | int]) -> Select[Any]:
    """Select values of a list: one parameter, however many there are."""
    return select(texts_of(literal(json.dumps(list(values)))).table_valued("value").c.value)


def each_of(rows: Way[_Id], column: InstrumentedAttribute[str], values: Sequence[str], most: int) -> Sequence[Way[_Id]]:
    """Return the ways to the rows with any of some values: at most `most`, and one where these would be more."""
    if len(values) > most:
        return [rows.of_each(column, values)]
    return [rows.where(column == value) for value in values]


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
    rows = way.rows if way.each is None else _within_reach(way, way.each, limit, newest=newest)
    rows = rows.with_only_columns(way.id.label("id"), way.created.label("created"), *columns)
    return rows.order_by(*_order(way, newest=newest)).limit(limit)


def _order(way: Way[_Id], *, newest: bool) -> Sequence[ColumnElement[Any]]:
    return (way.created.desc(), way.id.desc()) if newest else (way.created.asc(), way.id.asc())


def _within_reach(way: Way[_Id], each: _Each, limit: int, *, newest: bool) -> Select[Any]:
    """Select the first rows of each value as far as the first `limit` of all values can reach."""
    listed = any_of(each.values).subquery()
    order = _order(way, newest=newest)
    of_value = way.rows.where(each.column == listed.c.value).with_only_columns(way.created).order_by(*order).limit(1)
    # The first row of as many values as there are rows on the page; the second of half as many; and so on. Each is as
    # far as the page can reach: the one is near where many values have few rows, the other where few have many.
    ranks = dict.fromkeys(int(limit ** (power / 4)) for power in range(4))
    at = {rank: of_value.offset(rank - 1).correlate(listed).scalar_subquery().label(f"at_{rank}") for rank in ranks}
    marks = select(listed.c.value, *at.values()).cte()
    reaches = [_reach(marks.alias().c[f"at_{rank}"], ceil(limit / rank), newest=newest) for rank in ranks]
    every = union_all(*(select(reach.subquery()) for reach in reaches)).subquery()
    nearest, ever = (func.max, _EVER[0]) if newest else (func.min, _EVER[1])
    reach = select(func.coalesce(nearest(every.c.at), ever)).scalar_subquery()

    def within(created: SQLColumnExpression[Any]) -> ColumnElement[bool]:
        return created >= reach if newest else created <= reach

    own = way.rows.where(each.column == marks.c.value, within(way.created)).with_only_columns(way.id)
    these = own.order_by(*order).limit(limit).correlate(marks).scalar_subquery()
    return select(way.id).join_from(
        marks, way.id.class_, and_(way.id.bool_op("")(among_rows(these)), within(marks.c.at_1))
    )


def _reach(at: ColumnElement[Any], rank: int, *, newest: bool) -> Select[Any]:
    """Select the time that comes at a rank, if there are so many."""
    order = at.desc() if newest else at.asc()
    return select(at.label("at")).where(at.is_not(None)).order_by(order).limit(1).offset(rank - 1)
