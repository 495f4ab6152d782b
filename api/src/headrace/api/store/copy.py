"""Copies a whole store into an empty one of either kind: for a backup, a restore, and a move to PostgreSQL."""

from collections.abc import Iterator
from typing import Final

from sqlalchemy import URL, Column, Connection, MetaData, Table, func, select, text
from sqlalchemy.exc import DataError
from sqlalchemy.types import TypeDecorator

from headrace.api.errors import CannotStart
from headrace.api.store import tables_site, tables_work
from headrace.api.store.address import dialect_of, shown
from headrace.api.store.base import Base
from headrace.api.store.migrate import migrate

assert {tables_site.NodeRow, tables_work.PlanRow}  # noqa: S101 - importing the tables fills the metadata

_ROWS_AT_ONCE: Final = 1000


def copy_store(source: URL, target: URL) -> int:
    """Copy every row of `source` (its schema is the newest) as it was at one moment; returns how many.

    `target` is made when absent, and must hold no rows; all is copied or, failing, none. Raises `CannotStart`.
    """
    migrate(target)
    copied = 0
    reading, writing = dialect_of(source).reading_engine(source), dialect_of(target).whole_engine(target)
    with reading.connect() as old, old.begin(), writing.begin() as new:
        for table in _tables():
            if new.scalar(select(func.count()).select_from(table)):
                message = f"`{shown(target)}` is in use: its table `{table.name}` holds rows; give an empty database"
                raise CannotStart(message)
        for table in _tables():
            copied += _copy_rows(table, old, new)
            _count_on(table, new)
    return copied


def _tables() -> Iterator[Table]:
    """Yield each table after those that it refers to, with columns whose values are taken as they are stored."""
    plain = MetaData()
    for table in Base.metadata.sorted_tables:
        yield Table(table.name, plain, *map(_plain, table.columns), extend_existing=True)


def _plain(column: Column[object]) -> Column[object]:
    kind = column.type.impl if isinstance(column.type, TypeDecorator) else column.type
    return Column(column.name, kind, primary_key=column.primary_key)


def _copy_rows(table: Table, old: Connection, new: Connection) -> int:
    copied = 0
    # What a row refers to in its own table was made before it.
    order = table.c.created if "created" in table.c else next(iter(table.primary_key))
    for rows in old.execute(select(table).order_by(order)).mappings().partitions(_ROWS_AT_ONCE):
        try:
            new.execute(table.insert(), [dict(row) for row in rows])
        except DataError as error:
            message = f"a row of the table `{table.name}` can't be kept there: {error.orig}"
            raise CannotStart(message) from error
        copied += len(rows)
    return copied


def _count_on(table: Table, new: Connection) -> None:
    """Let a PostgreSQL table that numbers its rows itself go on after the last one."""
    last = new.scalar(select(func.max(next(iter(table.primary_key)))))
    if new.dialect.name == "postgresql" and isinstance(last, int):
        counter = new.scalar(select(func.pg_get_serial_sequence(table.name, next(iter(table.primary_key)).name)))
        if counter is not None:
            new.execute(text("SELECT setval(:counter, :last)"), {"counter": counter, "last": last})
