"""Finds the rows whose texts hold some words, where few do, by an index of three-letter pieces.

SQLite's is an FTS5 table, PostgreSQL's an index of `pg_trgm`; migration 0042 makes them, and says who keeps them right.
A store that could not make one has none, and a search looks at row after row.
"""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from typing import Final

from sqlalchemy import text

from headrace.api.store.database import Tx


@dataclass(frozen=True, slots=True)
class _Text:
    """The text of a row as each store writes it."""

    _sqlite: str
    """With `{row}` for the table or, in a trigger, for the row before or after."""
    postgresql: str

    def of(self, row: str) -> str:
        """Return SQLite's text of `row`."""
        return self._sqlite.replace("{row}", row)


TEXTS: Final = {
    "transfers": _Text("{row}.source || char(10) || {row}.destination", "source || chr(10) || destination"),
    "plans": _Text(
        "coalesce({row}.words, '') || char(10) || coalesce(json_extract({row}.card, '$.canonical_sentence'), '')",
        "coalesce(words, '') || chr(10) || coalesce(card::json ->> 'canonical_sentence', '')",
    ),
}
"""What is indexed of each table; another text needs a migration that makes the index anew."""
MADE_ON_POSTGRESQL: Final = (
    "CREATE EXTENSION IF NOT EXISTS pg_trgm",
    *(
        f"CREATE INDEX IF NOT EXISTS ix_{table}_texts ON {table} USING gin (({text.postgresql}) gin_trgm_ops)"
        for table, text in TEXTS.items()
    ),
)
_THERE: Final = {
    "sqlite": text("SELECT count(*) FROM sqlite_master WHERE name = :table || '_pieces'"),
    "postgresql": text("SELECT count(to_regclass('ix_' || :table || '_texts'))"),
}
_HELD_ON_SQLITE: Final = (
    "SELECT id FROM {table}_pieces JOIN {table}_texts ON number = {table}_pieces.rowid "
    "WHERE {table}_pieces MATCH :words LIMIT :most"
)
_HELD_ON_POSTGRESQL: Final = (
    # Planned for all rows that fit: for the first ones alone, it would read the table.
    "WITH held AS MATERIALIZED (SELECT id FROM {table} WHERE {held}) SELECT id FROM held LIMIT :most"
)
_PARTS: Final = ("texts", "pieces")
_PIECE: Final = 3


@cache
def pieces_are_there() -> bool:
    """Whether this program's SQLite can index pieces of three letters: from 3.34 on, if it was built with FTS5."""
    with closing(sqlite3.connect(":memory:")) as connection:
        try:
            connection.execute("CREATE VIRTUAL TABLE pieces USING fts5(text, content='', tokenize='trigram')")
        except sqlite3.OperationalError:
            return False
    return True


def is_of_the_index(name: str) -> bool:
    """Whether a table or index of the store is part of this one: no model knows it, and the store fills it itself."""
    return name.startswith(
        tuple(f"{begin}{table}_{part}" for begin in ("", "ix_") for table in TEXTS for part in _PARTS)
    )


def is_indexed(word: str) -> bool:
    """Whether the index finds `word`: one with three letters or digits in a row, of those that each store takes."""
    run = 0
    for letter in word:
        run = run + 1 if letter.isascii() and letter.isalnum() else 0
        if run == _PIECE:
            return "\0" not in word
    return False


async def rows_holding(tx: Tx, table: str, words: Sequence[str], most: int) -> list[str] | None:
    """Return the ids of up to `most` rows whose texts may hold all `words`, each of which `is_indexed`.

    Capitals count as small letters, and on SQLite also beyond ASCII, so whoever asks looks at the texts themselves.
    `None`: the store has no index.
    """
    if not await tx.scalar(_THERE[tx.dialect], {"table": table}):
        return None
    values: dict[str, object] = {"most": most}
    if tx.dialect == "sqlite":
        query = _HELD_ON_SQLITE.format(table=table)
        values["words"] = " ".join('"' + word.replace('"', '""') + '"' for word in words)
    else:
        held = [f"({TEXTS[table].postgresql}) ILIKE :word_{at}" for at in range(len(words))]
        query = _HELD_ON_POSTGRESQL.format(table=table, held=" AND ".join(held))
        values |= {f"word_{at}": f"%{_literal(word)}%" for at, word in enumerate(words)}
    # A cast is written with colons, which are no parameter.
    return list(await tx.scalars(text(query.replace("::", r"\:\:")), values))


def _literal(word: str) -> str:
    return word.replace("\\", r"\\").replace("%", r"\%").replace("_", r"\_")
