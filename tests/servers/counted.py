"""Counts what reaches the store."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from sqlalchemy import Engine, event


@dataclass(slots=True)
class Counted:
    """Statements (the begins of transactions, too) and commits so far, of every store of this process."""

    statements: int = 0
    commits: int = 0


@contextmanager
def counted() -> Iterator[Counted]:
    """Count inside the block."""
    so_far = Counted()

    def statement(*_arguments: object) -> None:
        so_far.statements += 1

    def commit(_connection: object) -> None:
        so_far.commits += 1

    event.listen(Engine, "after_cursor_execute", statement)
    event.listen(Engine, "commit", commit)
    try:
        yield so_far
    finally:
        event.remove(Engine, "after_cursor_execute", statement)
        event.remove(Engine, "commit", commit)
