"""What the log says of a store that can't be used."""

import logging
import sqlite3

import pytest
from sqlalchemy.exc import OperationalError

from headrace.api.store_trouble import log_trouble

LOG = logging.getLogger("headrace.test")


def failed(said: str) -> OperationalError:
    """What SQLAlchemy raises for an error of the store."""
    return OperationalError("INSERT INTO audit", {}, sqlite3.OperationalError(said))


def test_a_known_trouble_is_one_line_that_says_what_to_do(caplog: pytest.LogCaptureFixture) -> None:
    log_trouble(LOG, "tidy up failed; it is tried again", failed("database or disk is full"))
    assert caplog.messages == [
        "tidy up failed; it is tried again. The store: the disk is full; make room (database or disk is full)"
    ]
    assert caplog.records[0].exc_info is None


def test_the_reason_of_another_error_is_known_too(caplog: pytest.LogCaptureFixture) -> None:
    error = ValueError("no end")
    error.__cause__ = failed("disk I/O error")
    log_trouble(LOG, "tidy up failed", error)
    assert "look at the disk" in caplog.text


@pytest.mark.parametrize("error", [failed("no such column: x"), ValueError("no end")])
def test_what_nobody_knows_is_logged_whole(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    log_trouble(LOG, "tidy up failed", error)
    [record] = caplog.records
    assert record.exc_info is not None
    assert record.exc_info[1] is error
