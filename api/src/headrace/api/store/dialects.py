"""Expressions that SQLite and PostgreSQL write differently, and those that both understand."""

from typing import Any

from sqlalchemy import JSON, Integer
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import GenericFunction, ReturnTypeFromArgs

__all__ = ["among_rows", "as_json", "by_value", "insert", "least", "place_in", "texts_of"]
# `insert ... on conflict` is written alike by both, and SQLAlchemy's of PostgreSQL compiles for either.


class least(ReturnTypeFromArgs[Any]):  # noqa: N801 - the name of the function
    """The smallest of its arguments."""

    inherit_cache = True


@compiles(least, "sqlite")
def _least_on_sqlite(element: least, compiler: SQLCompiler, **options: Any) -> str:  # noqa: ANN401 - SQLAlchemy's
    return f"min{compiler.process(element.clause_expr, **options)}"


class by_value(ReturnTypeFromArgs[Any]):  # noqa: N801 - as above
    """A column as it is, by whose indexes SQLite looks for nothing: it has no figures that tell which is the best."""

    inherit_cache = True


@compiles(by_value, "sqlite")
def _by_value_on_sqlite(element: by_value, compiler: SQLCompiler, **options: Any) -> str:  # noqa: ANN401 - SQLAlchemy's
    return f"+{compiler.process(element.clauses, **options)}"


@compiles(by_value, "postgresql")
def _by_value_on_postgresql(element: by_value, compiler: SQLCompiler, **options: Any) -> str:  # noqa: ANN401 - SQLAlchemy's
    return compiler.process(element.clauses, **options)


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


class place_in(GenericFunction[int]):  # noqa: N801 - as above
    """Where in a text another begins, letter by letter, counted from 1; 0: nowhere."""

    type = Integer()
    inherit_cache = True


@compiles(place_in, "sqlite")
def _place_in_on_sqlite(element: place_in, compiler: SQLCompiler, **options: Any) -> str:  # noqa: ANN401 - SQLAlchemy's
    return f"instr{compiler.process(element.clause_expr, **options)}"


@compiles(place_in, "postgresql")
def _place_in_on_postgresql(element: place_in, compiler: SQLCompiler, **options: Any) -> str:  # noqa: ANN401 - SQLAlchemy's
    return f"strpos{compiler.process(element.clause_expr, **options)}"


class texts_of(GenericFunction[Any]):  # noqa: N801 - as above
    """The rows `value` of a JSON list of texts: one parameter, whatever the number of texts."""

    inherit_cache = True


@compiles(texts_of, "sqlite")
def _texts_of_on_sqlite(element: texts_of, compiler: SQLCompiler, **options: Any) -> str:  # noqa: ANN401 - SQLAlchemy's
    return f"json_each{compiler.process(element.clause_expr, **options)}"


@compiles(texts_of, "postgresql")
def _texts_of_on_postgresql(element: texts_of, compiler: SQLCompiler, **options: Any) -> str:  # noqa: ANN401 - SQLAlchemy's
    return f"json_array_elements_text(CAST({compiler.process(element.clauses, **options)} AS json))"


class among_rows(GenericFunction[Any]):  # noqa: N801 - as above
    """What follows a column that is one of the few that a query finds, which the store asks first."""

    inherit_cache = True


@compiles(among_rows, "sqlite")
def _among_rows_on_sqlite(element: among_rows, compiler: SQLCompiler, **options: Any) -> str:  # noqa: ANN401 - SQLAlchemy's
    return f"IN {compiler.process(element.clauses, **options)}"


@compiles(among_rows, "postgresql")
def _among_rows_on_postgresql(element: among_rows, compiler: SQLCompiler, **options: Any) -> str:  # noqa: ANN401 - SQLAlchemy's
    return f"= ANY (ARRAY{compiler.process(element.clauses, **options)})"
