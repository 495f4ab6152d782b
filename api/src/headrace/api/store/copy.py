"""Copies a whole store into an empty one of either kind: for a backup, a restore, and a move to PostgreSQL."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from sqlalchemy import URL, Column, Connection, MetaData, Table, bindparam, func, inspect, select, text
from sqlalchemy.exc import DataError
from sqlalchemy.types import TypeDecorator

from headrace.api.errors import CannotStart
from headrace.api.store import tables_site, tables_work
from headrace.api.store.address import dialect_of, shown
from headrace.api.store.base import Base
from headrace.api.store.migrate import migrate, require_current
from headrace.api.store.text_index import is_of_the_index

assert {tables_site.NodeRow, tables_work.PlanRow}  # noqa: S101 - importing the tables fills the metadata

_ROWS_AT_ONCE: Final = 1000
_OF_A_SERVICE: Final = frozenset({tables_site.PersonRow.__tablename__, tables_site.AuditRow.__tablename__})
"""A service that has started has rows in these."""
_REVISION: Final = "alembic_version"
"""The one table that holds a row in an empty store."""


def copy_store(source: URL, target: URL) -> int:
    """Copy every row of `source` as it was at one moment; returns how many.

    `source` has this program's schema. `target` is made when absent, and must hold no rows: nothing of it is changed
    before that is known. All is copied or, failing, none. Raises `CannotStart`.
    """
    require_current(source)
    require_empty(target)
    migrate(target)
    copied = 0
    reading, writing = dialect_of(source).reading_engine(source), dialect_of(target).whole_engine(target)
    with reading.connect() as old, old.begin(), writing.begin() as new:
        _refuse_rows(new, target)
        for table in _tables():
            copied += _copy_rows(table, old, new)
            _count_on(table, new)
    return copied


def require_empty(target: URL) -> None:
    """Raise `CannotStart` when a table at `target`, which is only read, holds rows, whosever table it is."""
    if target.get_backend_name() != "sqlite" or Path(target.database or "").exists():
        with dialect_of(target).reading_engine(target).connect() as connection:
            _refuse_rows(connection, target)


def in_use(url: URL) -> bool:
    """Whether the store at `url`, which is only read, holds people or audit events."""
    if url.get_backend_name() == "sqlite" and not Path(url.database or "").exists():
        return False
    with dialect_of(url).reading_engine(url).connect() as connection:
        there = set(inspect(connection).get_table_names())
        return any(
            connection.execute(select(text("1")).select_from(table).limit(1)).first() is not None
            for table in _tables()
            if table.name in _OF_A_SERVICE & there
        )


def _refuse_rows(connection: Connection, target: URL) -> None:
    names = set(inspect(connection).get_table_names()) - {_REVISION}
    for name in sorted(name for name in names if not is_of_the_index(name)):
        if connection.execute(select(text("1")).select_from(Table(name, MetaData())).limit(1)).first() is not None:
            message = f"`{shown(target)}` is in use: its table `{name}` holds rows; give an empty database"
            raise CannotStart(message)


def _tables() -> Iterator[Table]:
    """Yield each table after those that it refers to, with columns whose values are taken as they are stored."""
    plain = MetaData()
    for table in Base.metadata.sorted_tables:
        yield Table(table.name, plain, *map(_plain, table.columns), extend_existing=True)


def _plain(column: Column[object]) -> Column[object]:
    kind = column.type.impl if isinstance(column.type, TypeDecorator) else column.type
    return Column(column.name, kind, primary_key=column.primary_key)


def _copy_rows(table: Table, old: Connection, new: Connection) -> int:
    """Copy rows as they lie: in order, a store would sort gigabytes of plans first."""
    copied = 0
    later = _references_to_itself(table)
    for rows in old.execute(select(table)).mappings().partitions(_ROWS_AT_ONCE):
        try:
            new.execute(table.insert(), [{**row, **dict.fromkeys(later)} for row in rows])
        except DataError as error:
            message = f"a row of the table `{table.name}` can't be kept there: {error.orig}"
            raise CannotStart(message) from error
        copied += len(rows)
    for name in later:
        [key] = table.primary_key
        # What a row refers to in its own table may lie after it.
        refer = select(table.c[name].label("refers_to"), key.label("row")).where(table.c[name].is_not(None))
        point = table.update().where(key == bindparam("row")).values({name: bindparam("refers_to")})
        for rows in old.execute(refer).mappings().partitions(_ROWS_AT_ONCE):
            new.execute(point, [dict(row) for row in rows])
    return copied


def _references_to_itself(table: Table) -> list[str]:
    whole = Base.metadata.tables[table.name]
    return [column.name for column in whole.columns if any(key.references(whole) for key in column.foreign_keys)]


def _count_on(table: Table, new: Connection) -> None:
    """Let a PostgreSQL table that numbers its rows itself go on after the last one."""
    last = new.scalar(select(func.max(next(iter(table.primary_key)))))
    if new.dialect.name == "postgresql" and isinstance(last, int):
        counter = new.scalar(select(func.pg_get_serial_sequence(table.name, next(iter(table.primary_key)).name)))
        if counter is not None:
            new.execute(text("SELECT setval(:counter, :last)"), {"counter": counter, "last": last})
