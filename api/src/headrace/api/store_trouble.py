"""What is the matter when the store can't be used, told from what SQLite says."""

from enum import StrEnum

from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout


class Trouble(StrEnum):
    """What is the matter, in words for people."""

    FULL = "the disk is full"
    DISK = "the disk can't be read or written"
    BUSY = "it is busy"
    DAMAGED = "it is damaged, or no database"
    OTHER = "something else is the matter"

    @property
    def remedy(self) -> str:
        """What an operator does."""
        return _REMEDY[self]


_REMEDY = {
    Trouble.FULL: "make room",
    Trouble.DISK: "look at the disk, and whether this account may write there",
    Trouble.BUSY: "end the program that has it open",
    Trouble.DAMAGED: "put it back from a backup, then run `headrace audit verify --data`",
    Trouble.OTHER: "look at the file, or put it back from a backup",
}
_SAID = (
    ("full", Trouble.FULL),
    ("disk I/O", Trouble.DISK),
    ("readonly", Trouble.DISK),
    ("unable to open", Trouble.DISK),
    ("locked", Trouble.BUSY),
    ("busy", Trouble.BUSY),
    ("malformed", Trouble.DAMAGED),
    ("not a database", Trouble.DAMAGED),
)


def trouble_of(error: SQLAlchemyError) -> Trouble:
    """Tell what is the matter."""
    if isinstance(error, PoolTimeout):
        return Trouble.BUSY
    said = said_by(error)
    return next((trouble for words, trouble in _SAID if words in said), Trouble.OTHER)


def said_by(error: SQLAlchemyError) -> str:
    """Return SQLite's own words, without the statement."""
    return str(getattr(error, "orig", None) or error)
