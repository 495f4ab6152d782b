"""The store: SQLAlchemy models, migrations and the one-writer discipline on SQLite."""

from headrace.api.store.database import Database, Tx, after_commit, unless_committed

__all__ = ["Database", "Tx", "after_commit", "unless_committed"]
