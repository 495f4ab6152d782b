"""Expressions that SQLite and PostgreSQL write differently, and those that both understand."""

from typing import Any

from sqlalchemy import JSON
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import GenericFunction, ReturnTypeFromArgs

__all__ = ["as_json", "insert", "least"]
# `insert ... on conflict` is written alike by both, and SQLAlchemy's of PostgreSQL compiles for either.


class least(ReturnTypeFromArgs[Any]):  # noqa: N801 - the name of the function
    """The smallest of its arguments."""

    inherit_cache = True


@compiles(least, "sqlite")
def _least_on_sqlite(element: least, compiler: SQLCompiler, **options: Any) -> str:  # noqa: ANN401 - SQLAlchemy's
    return f"min{compiler.process(element.clause_expr, **options)}"


class as_json(GenericFunction[Any]):  # noqa: N801 - as above
    """A text that holds a JSON document, so that its members can be asked for."""

    type = JSON()
    inherit_cache = True


@compiles(as_json, "sqlite")
def _as_json_on_sqlite(element: as_json, compiler: SQLCompiler, **options: Any) -> str:  # noqa: ANN401 - SQLAlchemy's
    return compiler.process(element.clause_expr, **options)


@compiles(as_json, "postgresql")
def _as_json_on_postgresql(element: as_json, compiler: SQLCompiler, **options: Any) -> str:  # noqa: ANN401 - SQLAlchemy's
    return f"{compiler.process(element.clause_expr, **options)}::json"
