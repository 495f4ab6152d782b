"""Deadlines of transfers that begin later: held against those of their own time, and told when they are at risk."""

from datetime import datetime, timedelta

import pytest
from tests.pure.api.qos_texts import LINKED
from tests.servers.site import Site
from tests.service.refusals import refused
from tests.service.test_qos import put_in_force
from tests.service.test_transfers import SLOW_BPS, large_set

from headrace.client import models as m
from headrace.client.text import utc

HOUR = timedelta(hours=1)
AT_TWICE = LINKED.replace("80_000_000", str(2 * SLOW_BPS))
"""Carries the set in half the time that a slow copy takes."""
NARROW_BPS = 200_000
"""Takes 11 min for the set."""


async def planned(site: Site, name: str, starts: datetime, within_s: float) -> m.Plan:
    deadline = starts + timedelta(seconds=within_s)
    return await site.ada.plan("lab:/set", f"archive:/{name}", start=starts, deadline=deadline)


@pytest.mark.anyio
async def test_of_promises_that_begin_later_those_of_one_time_must_fit_together_and_those_of_others_need_not(
    site: Site,
) -> None:
    slow_s = large_set(site) * 8 / SLOW_BPS
    await put_in_force(site, AT_TWICE)
    starts = (site.clock() + HOUR).replace(microsecond=0)
    same = await planned(site, "same", starts, 0.75 * slow_s)
    assert same.state is m.PlanState.READY, same.summary
    first = await site.ada.submit(await planned(site, "first", starts, 0.75 * slow_s))
    assert first.state is m.TransferState.QUEUED

    beside = await planned(site, "beside", starts + timedelta(seconds=5), 0.7 * slow_s)
    assert [one.rule for one in beside.refusals] == ["deadline_infeasible"]
    assert f"`{first.id}` would have to make room for it" in beside.summary
    assert f"it can be promised by {utc(starts.replace(second=0))[:13]}" in beside.summary, "then, and not now"
    with refused("deadline_infeasible"):
        await site.ada.submit(same)

    for name, at in (("now", site.clock()), ("before", starts - HOUR / 2), ("after", starts + HOUR)):
        plan = await planned(site, name, max(at, site.clock() + timedelta(seconds=1)), 0.75 * slow_s)
        assert plan.state is m.PlanState.READY, plan.summary
    after = await site.ada.submit(await planned(site, "after", starts + HOUR, 0.75 * slow_s))
    assert not after.deadline_at_risk


@pytest.mark.anyio
async def test_a_promise_that_begins_later_is_said_to_be_at_risk_before_it_begins(site: Site) -> None:
    slow_s = large_set(site) * 8 / SLOW_BPS
    await put_in_force(site, AT_TWICE)
    starts = (site.clock() + HOUR).replace(microsecond=0)
    transfer = await site.ada.submit(await planned(site, "later", starts, 0.75 * slow_s))
    await site.use_cases.outlook.look()
    assert not (await site.ada.port.transfer(transfer.id)).deadline_at_risk

    await put_in_force(site, AT_TWICE.replace(str(2 * SLOW_BPS), str(SLOW_BPS // 2)))
    await site.use_cases.outlook.look()
    told = await site.ada.port.transfer(transfer.id)
    assert (told.state, told.deadline_at_risk) == (m.TransferState.QUEUED, True)
    assert told.deadline_note.startswith("as things stand, uplink will have too little for it: of the 16.7 MB that are")

    await put_in_force(site, AT_TWICE)
    await site.use_cases.outlook.look()
    assert not (await site.ada.port.transfer(transfer.id)).deadline_at_risk


@pytest.mark.anyio
async def test_a_promise_that_waits_too_long_is_said_to_be_at_risk_while_it_waits(site: Site) -> None:
    takes_s = large_set(site) * 8 / NARROW_BPS
    await put_in_force(site, LINKED.replace("80_000_000", str(NARROW_BPS)))
    starts = (site.clock() + HOUR).replace(microsecond=0)
    transfer = await site.ada.submit(await planned(site, "later", starts, 1.5 * takes_s))
    await site.stop_node("right")
    # So long that what this takes on a busy machine is little of it.
    site.clock.shift += starts + timedelta(seconds=0.75 * takes_s) - site.clock()
    await site.use_cases.outlook.look()
    told = await site.ada.port.transfer(transfer.id)
    assert told.deadline_at_risk, "half of the time has passed, and nothing has moved"
    assert "it waits too long" in told.deadline_note


@pytest.mark.anyio
async def test_what_has_not_begun_says_when_it_is_expected_to_end(site: Site) -> None:
    large_set(site, files=1, each=1_000_000)
    done = await site.ada.end_of(await site.ada.submit(await site.ada.plan("lab:/set", "archive:/first")))
    assert (done.state, done.ends) == (m.TransferState.COMPLETE, None), done.summary
    starts = (site.clock() + HOUR).replace(microsecond=0)
    plan = await site.ada.plan("lab:/set", "archive:/later", start=starts, rate_limit_bps=100_000)
    queued = await site.ada.submit(plan)
    assert plan.estimate is not None
    assert queued.ends is not None
    assert queued.ends.likely == starts + timedelta(seconds=plan.estimate.likely_s)
    assert queued.ends.earliest >= starts + timedelta(seconds=80), "a megabyte at 12.5 kB/s"
    assert queued.ends.latest is not None
    assert queued.ends.likely < queued.ends.latest
    assert (await site.ada.port.transfers())[0].ends == queued.ends, "in lists, too"
