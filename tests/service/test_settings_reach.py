"""Each setting of time reaches the limit that it is for; tests/service/test_duties.py holds those of duties."""

import asyncio
import os
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import update
from tests.servers.site import Site, started_site
from tests.service.refusals import refused
from tests.service.test_transfers import SLOW_BPS

from headrace.api.settings import Settings
from headrace.api.store.tables_work import PlanRow
from headrace.auth import AuthError
from headrace.client import models as m

SETTINGS = Settings(
    sweep_s=33, ticket_renew_s=1, retry_valid_s=4444, session_idle_s=5555,
    session_valid_s=66_666, max_wait_s=1,
)  # fmt: skip
MUCH_LONGER_S = 600
LIMIT_S = 30


@pytest.mark.anyio
async def test_a_session_ends_when_its_settings_say(tmp_path: Path) -> None:
    async with started_site(tmp_path, SETTINGS) as site:
        people, secret = site.use_cases.people, site.ada.secret
        site.clock.shift += timedelta(seconds=SETTINGS.session_idle_s - 100)
        await people.of_session(secret)
        site.clock.shift += timedelta(seconds=SETTINGS.session_idle_s + 1)
        with pytest.raises(AuthError):
            await people.of_session(secret)


async def small(site: Site, content: bytes = b"a", rate_limit_bps: int | None = None) -> m.Transfer:
    (site.lab / "set").mkdir()
    (site.lab / "set" / "a.bin").write_bytes(content)
    return await site.ada.submit(await site.ada.plan("lab:/set", "archive:/copy", rate_limit_bps=rate_limit_bps))


@pytest.mark.anyio
async def test_a_ticket_is_renewed_and_a_wait_ends_as_often_as_their_settings_say(tmp_path: Path) -> None:
    # No sweep may finish the plan that is waited for below.
    async with started_site(tmp_path, replace(SETTINGS, sweep_s=3333)) as site:
        await site.start_both()
        # It goes on for longer than a test may last, and each wait for its end is over after a second. Holes would
        # be held back by no rate.
        transfer = await small(site, os.urandom(16 << 20), rate_limit_bps=SLOW_BPS // 8)
        async with asyncio.timeout(2 * LIMIT_S):
            while len(await site.audited("ticketed")) <= 1:
                assert (await site.ada.end_of(transfer)).state not in m.END_STATES
        await site.ada.port.control(transfer.id, m.ControlRequest(action="cancel"))
        later = await site.ada.plan("lab:/set", "archive:/later", start=site.clock() + timedelta(days=3))
        waits = await site.ada.submit(later)
        async with asyncio.timeout(LIMIT_S):
            await site.ada.port.transfer(waits.id, wait_s=MUCH_LONGER_S)
        async with site.service.whole.core.database.write() as tx:
            await tx.execute(update(PlanRow).where(PlanRow.id == later.id).values(state="surveying"))
        async with asyncio.timeout(LIMIT_S):
            await site.ada.port.plan(later.id, wait_s=MUCH_LONGER_S)


@pytest.mark.anyio
async def test_a_transfer_may_be_tried_again_as_long_as_its_setting_says(tmp_path: Path) -> None:
    async with started_site(tmp_path, SETTINGS) as site:
        await site.start_both()
        (site.archive / "copy" / "a.bin").mkdir(parents=True)
        transfer = await site.ada.end_of(await small(site))
        assert transfer.state is m.TransferState.PARTIAL, transfer.summary
        retry = m.ControlRequest(action="retry")
        site.clock.shift += timedelta(seconds=SETTINGS.retry_valid_s - MUCH_LONGER_S)
        [offered] = [
            one for one in (await site.ada.port.transfer(transfer.id)).allowed_actions if one.action == "retry"
        ]
        assert offered.allowed, offered.reason
        site.clock.shift += timedelta(seconds=MUCH_LONGER_S + LIMIT_S)
        with refused("retry_too_late"):
            await site.ada.port.control(transfer.id, retry)
