"""What the service itself puts into the facts: the site's zone, the door, and how bytes travel and are verified."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from tests.servers.site import Site, started_site
from tests.service.refusals import refused
from tests.service.test_consent import publish
from tests.service.test_policy_places import EVERYTHING
from tests.service.test_transfers import small_set

from headrace.api.caller import Door
from headrace.api.settings import Settings
from headrace.api.store.tables_work import ReservationRow
from headrace.client import models as m

ODD_ZONE = "Asia/Kathmandu"
"""Five hours and three quarters from UTC: half an hour of the day there is never the same half hour in UTC."""
QUOTA = '[[quota]]\nof = "person"\nsubject = "*"\ntransfers = 3\n'
BY_DOOR = "".join(
    f'@id("by-{door}") @reason("r") permit (principal, action == Action::"browse", resource) '
    f'when {{ context.door == "{door}" }};\n'
    for door in Door
)


def zone_of_another_day(now: datetime) -> str:
    """A zone in which it is another day than in UTC."""
    return "Etc/GMT-14" if now.hour >= 10 else "Etc/GMT+12"


def within_half_an_hour_of(moment: datetime, action: str) -> str:
    """A rule that denies an action at other times of the day; it is given in the site's zone."""
    minutes = ", ".join(str((moment.hour * 60 + moment.minute + more) % 1440) for more in range(-30, 31))
    return (
        f'@id("nights-only") @reason("only at that time of the day") forbid (principal, action == Action::"{action}", '
        f"resource) unless {{ [{minutes}].contains(context.minute) }};"
    )


@pytest.fixture
async def far_site(tmp_path: Path) -> AsyncIterator[Site]:
    async with started_site(tmp_path, Settings(timezone=ODD_ZONE)) as site:
        await site.start_both()
        small_set(site)
        yield site


async def rules_of_last(site: Site, kind: m.AuditKind) -> str:
    return (await site.audited(kind))[-1].detail["rules"]


def ids(plan: m.Plan) -> list[str]:
    assert plan.decision is not None, plan.summary
    return [rule.id for rule in plan.decision.rules]


@pytest.mark.anyio
async def test_the_minute_of_a_policy_is_that_of_the_sites_zone(far_site: Site) -> None:
    here = far_site.clock().astimezone(ZoneInfo(ODD_ZONE))
    await publish(far_site, EVERYTHING + within_half_an_hour_of(here, "browse"))
    assert (await far_site.ada.port.browse("lab", "/")).count == 1
    await publish(far_site, EVERYTHING + within_half_an_hour_of(far_site.clock().astimezone(UTC), "browse"))
    with refused("denied_by_policy"):
        await far_site.ada.port.browse("lab", "/")


@pytest.mark.anyio
async def test_a_plan_that_may_run_at_night_only_is_decided_for_the_time_of_its_start(far_site: Site) -> None:
    night = far_site.clock() + timedelta(hours=3)
    await publish(far_site, EVERYTHING + within_half_an_hour_of(night.astimezone(ZoneInfo(ODD_ZONE)), "copy"))
    now = await far_site.ada.plan("lab:/set", "archive:/now")
    assert (now.state, ids(now)) == (m.PlanState.DENIED, ["nights-only"])
    later = await far_site.ada.plan("lab:/set", "archive:/later", start=night.isoformat())
    assert later.state is m.PlanState.READY, later.summary
    # It is decided once more as it is submitted, by the same clock.
    queued = await far_site.ada.submit(later)
    assert queued.state is m.TransferState.QUEUED
    assert "only at that time" not in queued.state_reason


@pytest.mark.anyio
async def test_what_is_moved_counts_on_the_sites_day_and_quotas_renew_at_its_midnight(tmp_path: Path) -> None:
    zone = zone_of_another_day(datetime.now(UTC))
    (tmp_path / "quotas.toml").write_text(QUOTA)
    settings = Settings(timezone=zone, quotas=str(tmp_path / "quotas.toml"))
    async with started_site(tmp_path, settings) as site:
        await site.start_both()
        small_set(site)
        before = site.clock().astimezone(ZoneInfo(zone)).date()
        plan = await site.ada.plan("lab:/set", "archive:/copy")
        ended = await site.ada.end_of(await site.ada.submit(plan))
        # A midnight may pass meanwhile.
        days = {before, site.clock().astimezone(ZoneInfo(zone)).date()}
        async with site.service.whole.core.database.read() as tx:
            row = await tx.get_one(ReservationRow, ended.id)
        assert row.day in {one.isoformat() for one in days}
        midnights = {datetime(one.year, one.month, one.day, tzinfo=ZoneInfo(zone)) + timedelta(days=1) for one in days}
        assert {one.renews for one in (*plan.quotas, *await site.ada.port.quotas())} <= midnights


@pytest.mark.anyio
async def test_policies_see_each_door(site: Site) -> None:
    await publish(site, BY_DOOR)
    for door in Door:
        await site.service.acting_for(site.ada.principal, door).browse("lab", "/")
        assert await rules_of_last(site, m.AuditKind.BROWSED) == f"by-{door}"


@pytest.mark.anyio
async def test_without_encryption_a_plan_is_denied(site: Site) -> None:
    small_set(site)
    plan = await site.ada.plan("lab:/set", "archive:/copy", encryption=False)
    assert (plan.state, ids(plan)) == (m.PlanState.DENIED, ["encrypted-only"])
    assert (await site.ada.plan("lab:/set", "archive:/copy")).state is m.PlanState.READY


@pytest.mark.anyio
async def test_nobody_can_ask_for_a_plan_without_verification_and_policies_see_which_there_is(site: Site) -> None:
    small_set(site)
    none = await site.ada.plan("lab:/set", "archive:/copy", verify="none")
    assert (none.digest, [one.rule for one in none.refusals]) == (None, ["verify_none"]), none.summary
    at_rest = '@id("at-rest") @reason("r") forbid (principal, action == Action::"copy", resource) '
    await publish(site, EVERYTHING + at_rest + 'unless { context.verification == "at-rest" };')
    plan = await site.ada.plan("lab:/set", "archive:/copy")
    assert (plan.state, ids(plan)) == (m.PlanState.DENIED, ["at-rest"])
    assert (await site.ada.plan("lab:/set", "archive:/copy", verify="at-rest")).state is m.PlanState.READY
