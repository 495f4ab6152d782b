"""What a service does again and again: each duty that it schedules, how often, and what comes of one run of it."""

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import func, select, update
from tests.servers.site import WAIT_S, Site, settled, started_site
from tests.servers.syslog import Syslog, receiving
from tests.service.refusals import refused
from tests.service.test_durable import stored, stored_progress
from tests.service.test_key_rotation import MONTH, rotate
from tests.service.test_transfers import SLOW_BPS, large_set, small_set, until_durable

from headrace.api import clock_doubt
from headrace.api.audit import strangers
from headrace.api.audit.elsewhere import SEND_S
from headrace.api.audit.heads import last_head
from headrace.api.data_folder import HALT, HEADS, LAST_TIME
from headrace.api.jobs.local import LocalJobs, _Job
from headrace.api.jobs.port import Task
from headrace.api.settings import Settings
from headrace.api.sites import nodes
from headrace.api.sites.halts import LOOK_S
from headrace.api.store.tables_site import NodeRow
from headrace.api.store.tables_work import PlanRow, QuotaKeyRow, ThroughputRow, TransferRow
from headrace.api.transfers import outlook, promises
from headrace.api.transfers.scheduler import KEEP_S
from headrace.api.transfers.shares import RENEW_S
from headrace.api.transfers.throughput import CLEAR_S, WRITE_S
from headrace.client import models as m

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("syslog"), pytest.mark.timeout(300)]
Run = Callable[[], Awaitable[None]]

HOUR_S, DAY_S = 3600, 86_400
# Long enough that no duty with such a period comes round by itself while the test runs.
SETTINGS = Settings(
    audit_head_s=1111, sweep_s=3333, outbox_kept_s=22_222, plans_kept_s=9 * DAY_S, retry_valid_s=8 * DAY_S
)
QUOTA = '[[quota]]\nof = "person"\nsubject = "*"\ntransfers = 9\n'


async def count(site: Site, of: type[QuotaKeyRow | ThroughputRow]) -> int:
    async with site.service.whole.core.database.read() as tx:
        return await tx.scalar(select(func.count()).select_from(of)) or 0


async def newest(site: Site) -> int:
    return (await site.ada.port.audit(order="newest", limit=1)).items[0].sequence


async def plans_are_taken_up(site: Site, run: Run) -> None:
    plan = await site.ada.plan("lab:/set", "archive:/swept")
    async with site.service.whole.core.database.write() as tx:
        await tx.execute(update(PlanRow).where(PlanRow.id == plan.id).values(state="surveying"))
    await run()
    assert (await settled(site.ada.port, plan)).state is m.PlanState.READY


async def transfers_are_taken_up(site: Site, run: Run) -> None:
    transfer = await stored(site, await site.ada.plan("lab:/set", "archive:/copy"))
    await run()
    ended = await site.ada.port.transfer(transfer, wait_s=WAIT_S)
    assert ended.state is m.TransferState.COMPLETE, ended.summary


async def progress_is_stored(site: Site, run: Run) -> None:
    plan = await site.ada.plan("lab:/large", "archive:/large", rate_limit_bps=SLOW_BPS)
    transfer = await until_durable(site, await site.ada.submit(plan))
    await run()
    async with site.service.whole.core.database.read() as tx:
        assert stored_progress(await tx.get_one(TransferRow, transfer.id)).bytes_durable
    await site.ada.port.control(transfer.id, m.ControlRequest(action="cancel"))
    await site.ada.end_of(transfer)


async def throughput_is_written(site: Site, run: Run) -> None:
    await run()
    assert await count(site, ThroughputRow), "transfers of this test have moved something"


async def old_throughput_is_removed(site: Site, run: Run) -> None:
    async with site.service.whole.core.database.write() as tx:
        tx.add(ThroughputRow(kind="sent", subject="long ago", step_s=1, at_s=1, bytes=1, files=1))
    before = await count(site, ThroughputRow)
    await run()
    assert await count(site, ThroughputRow) == before - 1


async def halts_are_noticed(site: Site, run: Run) -> None:
    told: list[bool] = []
    site.service.whole.core.reactions.listen(lambda: told.append(True))
    file = site.settings.data / HALT
    file.write_text("maintenance")
    await run()
    assert told
    file.unlink()
    await run()


async def shares_are_renewed(site: Site, run: Run) -> None:
    assert run == site.use_cases.shares.renew, "tests/service/test_qos.py and test_fairness.py see what it does"


async def promises_are_looked_at(site: Site, run: Run) -> None:
    assert run == site.use_cases.outlook.look, "tests/service/test_future_promises.py sees what it does"


async def promises_at_risk_are_told(site: Site, run: Run) -> None:
    assert run == site.use_cases.promises.look, "tests/service/test_promises.py sees what it does"


async def the_head_is_exported(site: Site, run: Run) -> None:
    await site.ada.port.update_endpoint("lab", m.EndpointUpdate(aliases=["exported"]))
    heads, key = site.settings.data / HEADS, (await site.ada.port.health()).key
    last, before = await newest(site), last_head(heads, [key])
    assert before is None or before.sequence < last
    await run()
    after = last_head(heads, [key])
    assert after is not None
    assert after.sequence >= last


async def the_chain_is_sent(site: Site, run: Run) -> None:
    await site.ada.port.update_endpoint("lab", m.EndpointUpdate(aliases=["sent"]))
    last, elsewhere = await newest(site), site.service.whole.core.audit.elsewhere
    assert elsewhere is not None
    await run()
    assert elsewhere.away is None, elsewhere.away
    async with site.service.whole.core.database.read():
        assert (elsewhere._reached or 0) >= last  # noqa: SLF001 - what the other kernel has; test_audit_elsewhere reads it there


async def strangers_are_counted(site: Site, run: Run) -> None:
    for _ in range(12):
        await site.service.whole.core.strangers.refused(
            m.AuditKind.NODE_REFUSED, address="203.0.113.1", detail={"reason": "unknown"}
        )
    await run()
    said = [event.detail["reason"] for event in await site.audited(m.AuditKind.NODE_REFUSED)]
    assert any("more were refused" in one for one in said), said


async def the_time_is_noted(site: Site, run: Run) -> None:
    file = site.settings.data / LAST_TIME
    before = file.read_text()
    site.clock.shift += timedelta(seconds=1)
    await run()
    assert file.read_text() > before


async def old_changes_are_removed(site: Site, run: Run) -> None:
    outbox = site.service.whole.core.outbox
    before = await outbox.bounds()
    site.clock.shift += timedelta(seconds=SETTINGS.outbox_kept_s / 2)
    await run()
    assert (await outbox.bounds())[0] == before[0]
    site.clock.shift += timedelta(seconds=SETTINGS.outbox_kept_s)
    await run()
    removed, newest_ = await outbox.bounds()
    assert (before[0], before[1] - 1) < (removed, newest_), "all but the newest"


async def quotas_forget(site: Site, run: Run) -> None:
    assert await count(site, QuotaKeyRow)
    site.clock.shift += timedelta(seconds=SETTINGS.retry_valid_s + DAY_S)
    await run()
    assert not await count(site, QuotaKeyRow)


async def old_plans_vanish(site: Site, run: Run) -> None:
    plan = await site.ada.plan("lab:/nothing", "archive:/nothing")
    site.clock.shift += timedelta(seconds=SETTINGS.plans_kept_s + HOUR_S)
    await run()
    with refused("unknown_plan"):
        await site.ada.port.plan(plan.id)


async def it_is_noted_who_is_attached(site: Site, run: Run) -> None:
    site.clock.shift += timedelta(seconds=nodes.PRESENT_S)
    since = site.clock()
    await run()
    async with site.service.whole.core.database.read() as tx:
        seen = list(await tx.scalars(select(NodeRow.last_seen)))
    assert len(seen) == 2
    assert all(at is not None and at >= since for at in seen)


async def the_end_of_a_key_is_noted(site: Site, run: Run) -> None:
    site.clock.shift += MONTH
    await run()
    assert [event.detail["next"] for event in await site.audited(m.AuditKind.AUTHORITY_KEY_ENDED)] != []


DUTIES: dict[str, tuple[float, Callable[[Site, Run], Awaitable[None]]]] = {
    "sweep plans": (SETTINGS.sweep_s, plans_are_taken_up),
    "sweep transfers": (SETTINGS.sweep_s, transfers_are_taken_up),
    "keep progress": (KEEP_S, progress_is_stored),
    "write throughput": (WRITE_S, throughput_is_written),
    "remove old throughput": (CLEAR_S, old_throughput_is_removed),
    "look for halts": (LOOK_S, halts_are_noticed),
    "renew shares": (RENEW_S, shares_are_renewed),
    "look at promises": (outlook.LOOK_S, promises_are_looked_at),
    "tell promises at risk": (promises.LOOK_S, promises_at_risk_are_told),
    "export the audit head": (SETTINGS.audit_head_s, the_head_is_exported),
    "send the audit chain": (SEND_S, the_chain_is_sent),
    "count strangers": (strangers.LOOK_S, strangers_are_counted),
    "note which nodes are attached": (nodes.PRESENT_S, it_is_noted_who_is_attached),
    "note the time": (clock_doubt.KEEP_S, the_time_is_noted),
    # From here on the site's clock is set forward, by days: nodes take no work any more.
    "remove old changes": (HOUR_S, old_changes_are_removed),
    "forget old uses of quotas": (HOUR_S, quotas_forget),
    "remove what is kept no longer": (DAY_S, old_plans_vanish),
    "note which keys have ended": (HOUR_S, the_end_of_a_key_is_noted),
}
"""In the order in which they are tried: name, seconds between two runs, and what a run does."""


@pytest.fixture
def syslog(tmp_path: Path) -> Iterator[Syslog]:
    with receiving(tmp_path / "syslog") as running:
        yield running


async def test_every_duty_comes_round_as_often_as_it_shall_and_does_what_it_is_for(
    tmp_path: Path, syslog: Syslog, monkeypatch: pytest.MonkeyPatch
) -> None:
    scheduled: dict[str, tuple[float, Run]] = {}
    every = LocalJobs.every

    def told(self: LocalJobs, name: str, period_s: float, run: Run, *, limit_s: float | None = 120) -> None:
        scheduled[name] = period_s, run
        every(self, name, period_s, run, limit_s=limit_s)

    monkeypatch.setattr(LocalJobs, "every", told)
    (tmp_path / "quotas.toml").write_text(QUOTA)
    (tmp_path / "site").mkdir()
    settings = replace(
        SETTINGS,
        audit_syslog=f"localhost:{syslog.port}",
        audit_syslog_ca=str(syslog.ca),
        quotas=str(tmp_path / "quotas.toml"),
    )
    async with started_site(tmp_path / "site", settings) as site:
        assert {name: period_s for name, (period_s, _) in scheduled.items()} == {
            name: period_s for name, (period_s, _) in DUTIES.items()
        }
        await rotate(site)
        await site.start_both()
        large_set(site)
        (site.lab / "set").rename(site.lab / "large")
        small_set(site)
        for name, (_, does_what_it_is_for) in DUTIES.items():
            await does_what_it_is_for(site, scheduled[name][1])


@pytest.mark.anyio
@pytest.mark.parametrize(("subject", "about"), [("", ""), ("node1", " for `node1`")])
async def test_the_log_names_work_that_fails_and_what_for(
    quiet_site: Site, caplog: pytest.LogCaptureFixture, subject: str, about: str
) -> None:
    async def fails(_subject: str) -> None:
        message = "not today"
        raise ValueError(message)

    jobs = quiet_site.service.whole.core.jobs
    assert isinstance(jobs, LocalJobs)
    await jobs._work(_Job(("tidy up", subject)), Task("tidy up", fails))  # noqa: SLF001 - as when it is due
    assert f"the work `tidy up`{about} failed; it is tried again" in caplog.messages
