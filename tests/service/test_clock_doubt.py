"""By a clock that is ahead for one start nothing is removed, and nothing that waits is ended."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.servers.site import WAIT_S, Site, started_site
from tests.service.refusals import refused
from tests.service.test_listing import moved
from tests.service.test_metrics import asked
from tests.service.test_transfers import until

from headrace.api.settings import Settings
from headrace.api.sites.other_hosts import elsewhere
from headrace.api.sites.trashes import Trashes
from headrace.api.transfers.retention import Retention
from headrace.client import models as m

pytestmark = pytest.mark.anyio

AHEAD = timedelta(seconds=400_000_000)
KEPT_S = 3600
SHORT = Settings(
    retry_valid_s=KEPT_S, plans_kept_s=KEPT_S, lists_kept_s=KEPT_S, transfers_kept_s=KEPT_S, pause_limit_s=KEPT_S
)
ELSEWHERE = "192.0.2.7:4000"


async def starts_ahead(site: Site, ahead: timedelta) -> None:
    """Restart with the clock ahead: a new process measures waits by it."""
    site.clock.shift += ahead
    await site.restart()


def attach(site: Site, name: str, skew_ms: int, *addresses: str) -> None:
    """Let a node be attached that has this time, at these addresses."""
    site.use_cases.nodes._attached[name] = SimpleNamespace(  # type: ignore[assignment] # noqa: SLF001 - as from elsewhere
        roots=[], missing_roots=[], clock_skew_ms=skew_ms, data_addresses=list(addresses)
    )


async def doubts(site: Site) -> list[m.HealthCause]:
    return [one for one in (await site.ada.port.health()).causes if one.code is m.HealthCode.CLOCK_DOUBTED]


async def sweep(site: Site) -> None:
    await Retention(site.service.whole.core).sweep()


async def test_one_start_with_the_clock_ahead_removes_nothing_and_the_next_one_finds_all(tmp_path: Path) -> None:
    async with started_site(tmp_path, SHORT) as site:
        await site.start_both()
        ended = await moved(site, "one")
        await site.use_cases.cleanup.tidy("")
        for name in list(site.nodes):
            await site.stop_node(name)
        await starts_ahead(site, AHEAD)
        site.ada = await site.signed_in("ada")
        for _ in range(2):  # what is noted by that clock makes it no righter, over restarts as well
            await sweep(site)
            assert (await site.ada.port.transfer(ended.id)).receipt
            [cause] = await doubts(site)
            assert "until one does or until" in cause.sentence
            assert "restart the service" in cause.what_to_do
            assert (await asked(site, "/ready")).json()["ready"]
            await site.restart()
        await starts_ahead(site, -AHEAD)
        site.ada = await site.signed_in("ada")
        assert await doubts(site) == []
        assert (await site.ada.port.transfer_events(ended.id)).items


@pytest.mark.parametrize(("hours", "removed"), [(25, False), (23, True)])
async def test_a_start_is_doubted_when_its_clock_is_over_a_day_ahead(
    tmp_path: Path, hours: int, *, removed: bool
) -> None:
    async with started_site(tmp_path, SHORT) as site:
        await site.start_both()
        ended = await moved(site, "one")
        await site.use_cases.cleanup.tidy("")
        for name in list(site.nodes):
            await site.stop_node(name)
        await starts_ahead(site, timedelta(hours=hours))
        site.ada = await site.signed_in("ada")
        await sweep(site)
        assert (await doubts(site) == []) is removed
        kept = [one.id for one in await site.ada.port.transfers()]
        assert kept == ([] if removed else [ended.id])


async def test_a_service_that_was_really_off_goes_on_when_a_node_elsewhere_has_the_same_time(tmp_path: Path) -> None:
    async with started_site(tmp_path, SHORT) as site:
        await site.start_both()
        ended = await moved(site, "one")
        await site.use_cases.cleanup.tidy("")
        await starts_ahead(site, timedelta(days=35))
        site.ada = await site.signed_in("ada")
        attach(site, "here", 0, "127.0.0.1:4000")
        attach(site, "unknown", 0)
        await sweep(site)
        assert await doubts(site), "what goes by the same clock confirms nothing"
        attach(site, "there", 59_000, ELSEWHERE)
        await sweep(site)
        assert await doubts(site) == []
        with refused("unknown_transfer"):
            await site.ada.port.transfer(ended.id)


@pytest.mark.parametrize("refusals", [0, 1])
async def test_a_service_that_was_really_off_goes_on_after_a_day_unless_nodes_contradict_it(
    tmp_path: Path, refusals: int
) -> None:
    async with started_site(tmp_path, SHORT) as site:
        await site.start_both()
        ended = await moved(site, "one")
        await site.use_cases.cleanup.tidy("")
        key = site.nodes["right"].key
        for name in list(site.nodes):
            await site.stop_node(name)
        await starts_ahead(site, timedelta(days=35))
        site.ada = await site.signed_in("ada")
        if refusals:
            await site.use_cases.nodes.on_refused(key, "clock_skew", "the clocks differ by 35 d")
        site.clock.shift += timedelta(hours=23)
        await sweep(site)
        site.ada = await site.signed_in("ada")
        assert (await site.ada.port.transfer(ended.id)).receipt
        site.clock.shift += timedelta(hours=1, minutes=1)
        await sweep(site)
        if refusals:
            assert "contradict the one of the host" in (await doubts(site))[0].sentence
            assert (await site.ada.port.transfer(ended.id)).receipt
        else:
            with refused("unknown_transfer"):
                await site.ada.port.transfer(ended.id)


async def test_a_clock_that_is_set_ahead_while_the_service_runs_removes_nothing(tmp_path: Path) -> None:
    async with started_site(tmp_path, SHORT) as site:
        await site.start_both()
        ended = await moved(site, "one")
        await site.use_cases.cleanup.tidy("")
        site.clock.jump = timedelta(hours=25)
        await sweep(site)
        site.clock.jump = timedelta()
        assert (await site.ada.port.transfer_events(ended.id)).items


async def test_a_node_that_goes_by_a_clock_that_is_doubted_empties_its_trash_only_once_it_is_confirmed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Trashes, "wake", lambda *_: None)  # only this test asks nodes
    async with started_site(tmp_path) as site:
        await site.start_both()
        await site.stop_node("right")
        kept = over_for_long(site)
        await starts_ahead(site, timedelta(days=35))
        site.ada = await site.signed_in("ada")
        await site.start_node("right", [("archive", str(site.archive), "delete")])
        trashes, key = site.use_cases.trashes, site.nodes["right"].key
        assert await doubts(site)
        again = await trashes.empty(key)
        assert again is not None, "the doubt may have ended by then"
        assert kept.exists()
        attach(site, "there", 0, ELSEWHERE)
        await trashes.empty(key)
        assert not kept.exists()
        await site.stop_node("right")
        assert await trashes.empty(key) is None


async def test_a_node_empties_its_trash_when_it_attaches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    emptied, empty = asyncio.Event(), Trashes.empty

    async def told(self: Trashes, key: str) -> datetime | None:
        again = await empty(self, key)
        if site.nodes.get("right") and not kept.exists():
            emptied.set()
        return again

    monkeypatch.setattr(Trashes, "empty", told)
    async with started_site(tmp_path) as site:
        kept = over_for_long(site)
        await site.start_both()
        async with asyncio.timeout(WAIT_S):
            await emptied.wait()


def over_for_long(site: Site) -> Path:
    """Put something into the trash of `archive` that was to be kept until a day of the past."""
    kept = site.archive / ".headrace-trash" / "2020-01-01-tr_1" / "run42"
    kept.mkdir(parents=True)
    (kept / "a").write_text("deleted")
    return kept


async def test_nodes_that_contradict_hold_back_what_is_removed_also_by_less_than_a_day(site: Site) -> None:
    look = site.service.whole.core.doubt.look
    for node in site.nodes.values():
        attach(site, node.key, -61_000, ELSEWHERE)
    assert look() is not None
    for name in ("a", "b"):
        attach(site, name, 0, ELSEWHERE)
    assert look() is None


async def waits(site: Site) -> m.Transfer:
    (site.lab / "set").mkdir()
    (site.lab / "set" / "a").write_text("a")
    plan = await site.ada.plan("lab:/set", "archive:/set")
    await site.stop_node("right")
    return await until_waiting(site, await site.ada.submit(plan))


async def until_waiting(site: Site, transfer: m.Transfer) -> m.Transfer:
    return await until(site, transfer, "waiting")


async def pauses(site: Site) -> m.Transfer:
    waiting = await waits(site)
    await site.ada.port.control(waiting.id, m.ControlRequest(action="pause"))
    return await until(site, waiting, "paused")


@pytest.mark.parametrize("begins", [waits, pauses])
async def test_no_paused_or_waiting_transfer_is_ended_by_a_start_with_the_clock_ahead(
    tmp_path: Path, begins: Callable[[Site], Awaitable[m.Transfer]]
) -> None:
    settings = Settings(pause_limit_s=KEPT_S, away_limit_s=KEPT_S)
    async with started_site(tmp_path, settings) as site:
        await site.start_both()
        transfer = await begins(site)
        await site.stop_node("left")
        await starts_ahead(site, AHEAD)
        site.ada = await site.signed_in("ada")
        scheduler = site.use_cases.scheduler
        assert (await looked(site, transfer)).state is transfer.state
        # What measures waits does not follow a clock that is set right.
        site.clock.jump = -AHEAD
        assert (await looked(site, transfer)).state is transfer.state
        assert "until the service is restarted" in (await doubts(site))[0].sentence
        site.clock.jump = timedelta()
        attach(site, "there", 0, ELSEWHERE)
        scheduler.wake(transfer.id)
        ended = await site.ada.end_of(transfer)
        assert ended.state in {m.TransferState.CANCELED, m.TransferState.FAILED}, "now its time is over"


async def looked(site: Site, transfer: m.Transfer) -> m.Transfer:
    """Return a transfer once its job has looked at it: as often as it takes to act."""
    await site.use_cases.scheduler._carry_on(transfer.id)  # noqa: SLF001 - the job itself, so that nothing is waited for
    return await site.ada.port.transfer(transfer.id)


async def test_the_log_says_once_what_is_held_back_and_until_when(
    quiet_site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "headrace.api.clock_doubt"):
        await starts_ahead(quiet_site, timedelta(days=400))
        for _ in range(3):
            await sweep(quiet_site)
    [line] = [record.getMessage() for record in caplog.records if "by the clock of the host" in record.getMessage()]
    assert "400 d after what this service knows of the time" in line
    assert "nothing is removed, and no paused or waiting transfer ended, because of its age" in line


@pytest.mark.parametrize(
    ("addresses", "found"),
    [
        (["192.0.2.7:4000"], True),
        (["[2001:db8::7]:4000"], True),
        (["mover.example.org:4000"], True),
        (["127.0.0.1:4000"], False),
        (["[::1]:4000"], False),
        (["localhost:4000"], False),
        (["192.0.2.7:4000", "127.0.0.1:4000"], False),
        ([], False),
    ],
)
def test_a_node_is_elsewhere_when_no_address_of_it_is_of_this_host(addresses: list[str], *, found: bool) -> None:
    assert elsewhere(addresses) is found
