"""Column types that every table shares."""

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, Integer, MetaData, String, Text
from sqlalchemy.engine import Dialect
from sqlalchemy.orm import DeclarativeBase
from sqlalchemy.types import TypeDecorator

from headrace.guardrails import utc_text, utc_time


class Base(DeclarativeBase):
    """Base of all tables; constraints get predictable names so that migrations can speak of them."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s",
            "pk": "pk_%(table_name)s",
        }
    )


Sequence = BigInteger().with_variant(Integer(), "sqlite")
"""A number that may pass 2^31; SQLite counts rows by its `INTEGER` alone, which is as large."""


class Utc(TypeDecorator[datetime]):
    """An aware time, kept as text that sorts (`2026-11-25T14:30:00.123Z`)."""

    impl = String(24)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> str | None:  # noqa: ARG002 - SQLAlchemy's signature
        """Write a time as text."""
        return None if value is None else utc_text(value)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> datetime | None:  # noqa: ANN401, ARG002 - SQLAlchemy's signature
        """Read it back."""
        return None if value is None else utc_time(str(value))


class Names(TypeDecorator[tuple[str, ...]]):
    """A short list of names without line breaks, kept as lines."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: tuple[str, ...] | None, dialect: Dialect) -> str | None:  # noqa: ARG002 - SQLAlchemy's signature
        """Write one name a line; raises `ValueError` for a name that would be two."""
        if value is not None and any("\n" in name for name in value):
            message = "a name in a list can't hold a line break"
            raise ValueError(message)
        return None if value is None else "\n".join(value)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> tuple[str, ...] | None:  # noqa: ANN401, ARG002 - SQLAlchemy's signature
        """Read the lines back."""
        return None if value is None else tuple(str(value).split("\n")) if value else ()
