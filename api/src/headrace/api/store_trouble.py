"""What is the matter when the store can't be used, told from what SQLite or PostgreSQL says."""

import logging
from enum import StrEnum

from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout


class Trouble(StrEnum):
    """What is the matter, in words for people."""

    FULL = "the disk is full"
    DISK = "the disk can't be read or written"
    BUSY = "it is busy"
    AWAY = "it can't be reached"
    SILENT = "it does not answer"
    READ_ONLY = "it takes no changes"
    DAMAGED = "it is damaged, or not a database"
    OTHER = "something else is the matter"

    @property
    def remedy(self) -> str:
        """What an operator does."""
        return _REMEDY[self]


_REMEDY = {
    Trouble.FULL: "make room",
    Trouble.DISK: "look at the disk, and whether this account may write there",
    Trouble.BUSY: "end the program that has it open, or the session of the database server that holds a lock",
    Trouble.AWAY: "start the database server, and see that HEADRACE_DATABASE names it and an account that it lets in",
    Trouble.SILENT: "look at its host: it stands still, has too much to do, or waits for its disk",
    Trouble.READ_ONLY: "see that HEADRACE_DATABASE names the server that takes changes, not a standby",
    Trouble.DAMAGED: "put it back from a backup, then run `headrace audit verify --data`",
    Trouble.OTHER: "look at the store, or put it back from a backup",
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
_STATES = (
    ("53100", Trouble.FULL),
    ("53", Trouble.BUSY),  # too many connections, out of memory
    ("55P03", Trouble.BUSY),  # another one holds the lock of the one writer
    ("57014", Trouble.BUSY),
    ("25P03", Trouble.BUSY),  # the transaction stood still for too long
    ("40", Trouble.BUSY),
    ("25006", Trouble.READ_ONLY),
    ("57P", Trouble.AWAY),
    ("08", Trouble.AWAY),
    ("28", Trouble.AWAY),
    ("3D000", Trouble.AWAY),
    ("58", Trouble.DISK),
    ("XX", Trouble.DAMAGED),
)
"""How PostgreSQL's codes of errors begin."""


def trouble_of(error: SQLAlchemyError) -> Trouble:
    """Tell what is the matter."""
    if isinstance(error, PoolTimeout):
        return Trouble.BUSY
    found = trouble_of_server(getattr(error, "orig", None))
    if found is not None:
        return found
    said = said_by(error)
    return next((trouble for words, trouble in _SAID if words in said), Trouble.OTHER)


def trouble_of_server(error: BaseException | None) -> Trouble | None:
    """Tell what is the matter by an error of PostgreSQL's driver; nothing where it is none."""
    state = getattr(error, "sqlstate", "")
    if state is None:
        return Trouble.AWAY  # said by the client's side: the server did not answer
    return next((trouble for begin, trouble in _STATES if state.startswith(begin)), Trouble.OTHER) if state else None


def store_error(error: BaseException) -> SQLAlchemyError | None:
    """Return what the store said, where that is the reason of `error` or of what it was raised from."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, SQLAlchemyError):
        cause = cause.__cause__
    return cause


def said_by(error: SQLAlchemyError) -> str:
    """Return the database's own words in one line, without the statement."""
    return " ".join(str(getattr(error, "orig", None) or error).split())


def log_trouble(log: logging.Logger, what: str, error: BaseException) -> None:
    """Log an error: what is the matter with the store in one line that says what to do, anything else whole."""
    of_store = store_error(error)
    trouble = Trouble.OTHER if of_store is None else trouble_of(of_store)
    if of_store is None or trouble is Trouble.OTHER:
        log.error("%s", what, exc_info=error)
        return
    log.error("%s. The store: %s; %s (%s)", what, trouble, trouble.remedy, said_by(of_store))
    log.debug("%s", what, exc_info=error)
