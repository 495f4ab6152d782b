"""What the log says when the store does not take that a session was used: one line, in which no error drowns."""

import logging
import sqlite3

import pytest
from sqlalchemy.exc import OperationalError
from tests.servers.site import Site

from headrace.auth.uses import TOUCH_EVERY

pytestmark = pytest.mark.anyio


async def test_a_use_that_a_full_disk_does_not_take_is_one_line_in_the_log(
    quiet_site: Site, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def full(*_: object, **__: object) -> None:
        raise OperationalError(*_SAID)

    people = quiet_site.use_cases.people
    sessions = people._auth.sessions  # noqa: SLF001 - the store under it, which is full
    monkeypatch.setattr(sessions._store, "touch_session", full)  # noqa: SLF001
    quiet_site.clock.shift += 2 * TOUCH_EVERY
    with caplog.at_level(logging.INFO):
        await people.of_session(quiet_site.ada.secret)
        await people._auth._uses.settle()  # noqa: SLF001
    [record] = [one for one in caplog.records if "could not be noted" in one.getMessage()]
    assert record.exc_info is None
    assert "The store: the disk is full; make room" in record.getMessage()
    assert "\n" not in record.getMessage()


_SAID = ("UPDATE sessions", None, sqlite3.OperationalError("database or disk is full"))
