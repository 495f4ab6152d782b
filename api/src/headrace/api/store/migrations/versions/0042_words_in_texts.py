"""The texts that a search looks at get an index of their words, so that what few of a million rows hold is found.

SQLite: an FTS5 table of three-letter pieces beside a table of the texts; triggers keep both right, whoever writes.
PostgreSQL: an index of the extension `pg_trgm`, which its packages bring, where this account may make extensions or
somebody has made it. Without either, a search looks at row after row, as before.
"""

from typing import Final

import sqlalchemy as sa
from alembic import op

from headrace.api.store.text_index import MADE_ON_POSTGRESQL, TEXTS, pieces_are_there

revision = "0042"
down_revision = "0041"

_ON_SQLITE: Final = """
CREATE TABLE {table}_texts (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, text TEXT NOT NULL)

INSERT INTO {table}_texts (id, text) SELECT id, {text} FROM {table}

CREATE TRIGGER {table}_texts_new AFTER INSERT ON {table} BEGIN
  INSERT INTO {table}_texts (id, text) VALUES (new.id, {new});
END

CREATE TRIGGER {table}_texts_changed AFTER UPDATE ON {table} WHEN {old} <> {new} BEGIN
  UPDATE {table}_texts SET text = {new} WHERE id = old.id;
END

CREATE TRIGGER {table}_texts_gone AFTER DELETE ON {table} BEGIN
  DELETE FROM {table}_texts WHERE id = old.id;
END

CREATE VIRTUAL TABLE {table}_pieces
USING fts5(text, content='{table}_texts', content_rowid='number', tokenize='trigram')

INSERT INTO {table}_pieces ({table}_pieces) VALUES ('rebuild')

CREATE TRIGGER {table}_pieces_new AFTER INSERT ON {table}_texts BEGIN
  INSERT INTO {table}_pieces (rowid, text) VALUES (new.number, new.text);
END

CREATE TRIGGER {table}_pieces_changed AFTER UPDATE ON {table}_texts BEGIN
  INSERT INTO {table}_pieces ({table}_pieces, rowid, text) VALUES ('delete', old.number, old.text);
  INSERT INTO {table}_pieces (rowid, text) VALUES (new.number, new.text);
END

CREATE TRIGGER {table}_pieces_gone AFTER DELETE ON {table}_texts BEGIN
  INSERT INTO {table}_pieces ({table}_pieces, rowid, text) VALUES ('delete', old.number, old.text);
END
"""
"""The index of a table: its texts by number, and their pieces, which are told the text that they are to forget."""


def upgrade() -> None:
    """Make it of what is there."""
    connection = op.get_bind()
    if connection.dialect.name == "sqlite":
        for table, text in TEXTS.items() if pieces_are_there() else ():
            made = _ON_SQLITE.format(table=table, text=text.of(table), old=text.of("old"), new=text.of("new"))
            for statement in made.split("\n\n"):
                # As it is: a colon in it is no parameter.
                connection.exec_driver_sql(statement)
    elif _may_extend(connection):
        for statement in MADE_ON_POSTGRESQL:
            op.execute(statement)


def _may_extend(connection: sa.Connection) -> bool:
    """Whether the extension is there, or this account may make it: a trusted one, as it may make schemas."""
    query = (
        "SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'pg_trgm') OR "
        "EXISTS (SELECT FROM pg_available_extension_versions WHERE name = 'pg_trgm' AND trusted) "
        "AND has_database_privilege(current_database(), 'CREATE')"
    )
    return bool(connection.scalar(sa.text(query)))
