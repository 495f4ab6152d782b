"""Probes measure the way between two places with the data plane of transfers, and leave nothing there."""

import asyncio
import os
from datetime import timedelta
from pathlib import Path

import pytest
from tests.pure.api.qos_texts import LINKED
from tests.servers.site import Person, Site, settled
from tests.service.refusals import refused
from tests.service.test_consent import publish
from tests.service.test_qos import put_in_force

from headrace.api.policy.budgets import day_of, used_today
from headrace.api.store.tables_work import ReservationRow
from headrace.client import models as m

MIB = 1 << 20
NO_COPIES = """
@id("requesters")
@reason("requesters may work")
permit (principal in Role::"requester", action, resource);
@id("no-copies")
@reason("nothing is copied today")
forbid (principal, action == Action::"copy", resource);
"""
LEGS = ("memory_to_memory", "storage_to_memory", "memory_to_storage", "storage_to_storage")


def files_at(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def places(site: Site) -> None:
    for number in range(6):
        path = site.lab / "set" / f"{number}.bin"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(os.urandom(4 * MIB))
    (site.archive / "copy").mkdir()


async def probe(
    person: Person, source: str = "lab:/set", destination: str = "archive:/copy", *, seconds: int = 5,
    max_bytes: int = 20 * MIB, **slots: object,
) -> m.Plan:  # fmt: skip
    intent = m.TransferIntent.model_validate({"action": "copy", "source": source, "destination": destination, **slots})
    bounds = m.ProbeBounds(max_seconds=seconds, max_bytes=max_bytes)
    return await settled(person.port, await person.port.create_plan(m.PlanRequest(intent=intent, probe=bounds)))


async def until_leg(site: Site, transfer: m.Transfer, leg: str) -> m.Probed:
    async with asyncio.timeout(30):
        async for _ in site.ada.port.watch(transfer.id):
            found = await site.ada.port.probed(transfer.id)
            if found.running == leg:
                return found
    raise AssertionError(leg)


@pytest.mark.anyio
async def test_a_probe_measures_four_legs_and_leaves_nothing(site: Site) -> None:
    places(site)
    before = files_at(site.archive), files_at(site.lab)
    plan = await probe(site.ada)
    assert plan.probe is not None
    assert "Nothing is kept" in plan.summary
    transfer = await site.ada.submit(plan)
    ended = await site.ada.end_of(transfer)
    found = await site.ada.port.probed(transfer.id)
    assert ended.state is m.TransferState.COMPLETE, ended.summary
    assert [leg.name for leg in found.legs] == list(LEGS)
    assert all(leg.rate_bps and leg.bytes == 20 * MIB for leg in found.legs), found.legs
    assert found.tightest
    assert found.said
    assert {one.name for one in found.evidence} >= {"memory to memory", "storage to storage"}
    assert (files_at(site.archive), files_at(site.lab)) == before
    assert ended.receipt is None
    assert ended.probe
    assert "memory to memory" in ended.summary


@pytest.mark.anyio
async def test_a_leg_stops_when_its_time_is_over(site: Site) -> None:
    places(site)
    plan = await probe(site.ada, seconds=1, max_bytes=1 << 40)
    transfer = await site.ada.submit(plan)
    found = await until_leg(site, transfer, "storage_to_memory")
    assert found.legs[0].rate_bps
    assert found.legs[0].seconds < 5
    await site.ada.port.control(transfer.id, m.ControlRequest(action="cancel"))
    await site.ada.end_of(transfer)


@pytest.mark.anyio
async def test_a_probe_keeps_its_ceiling_and_is_canceled_like_any_transfer(site: Site) -> None:
    places(site)
    plan = await probe(site.ada, seconds=60, max_bytes=1 << 30, rate_limit_bps=80_000_000)
    transfer = await site.ada.submit(plan)
    found = await until_leg(site, transfer, "memory_to_memory")
    assert found.legs == []
    async with asyncio.timeout(30):
        async for event in site.ada.port.watch(transfer.id):
            if event.transfer is not None and event.transfer.progress.bytes_received > MIB:
                break
    shown = await site.ada.port.transfers(states=[m.TransferState.RUNNING])
    assert [(one.id, one.probe) for one in shown] == [(transfer.id, True)]
    await site.ada.port.control(transfer.id, m.ControlRequest(action="cancel", reason="enough"))
    ended = await site.ada.end_of(transfer)
    assert ended.state is m.TransferState.CANCELED
    assert files_at(site.archive / "copy") == set()


@pytest.mark.anyio
async def test_what_can_not_be_read_is_not_measured_and_the_rest_is(site: Site) -> None:
    places(site)
    (site.lab / "empty").mkdir()
    transfer = await site.ada.submit(await probe(site.ada, "lab:/empty"))
    ended = await site.ada.end_of(transfer)
    assert ended.state is m.TransferState.COMPLETE, ended.summary
    found = await site.ada.port.probed(transfer.id)
    measured = {leg.name: leg.rate_bps is not None for leg in found.legs}
    assert measured == dict(zip(LEGS, (True, False, True, False), strict=True))
    assert found.legs[1].error == "there is no file to read at the source"


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("destination", "said"),
    [
        ("archive:/cop", "there is nothing at `archive:/cop`; near it: `archive:/copy`. Correct the path"),
        ("archive:/copy/deeper", "there is nothing at `archive:/copy/deeper`"),
        ("archive:/file", "`archive:/file` is not a folder"),
    ],
)
async def test_a_probe_to_no_folder_is_refused_when_it_is_planned(site: Site, destination: str, said: str) -> None:
    places(site)
    (site.archive / "file").write_bytes(b"x")
    plan = await probe(site.ada, destination=destination)
    assert plan.state is m.PlanState.DENIED
    assert said in plan.state_reason, plan.state_reason


@pytest.mark.anyio
async def test_a_folder_that_goes_after_the_plan_leaves_its_legs_unmeasured_at_once(site: Site) -> None:
    places(site)
    plan = await probe(site.ada, max_bytes=MIB)
    (site.archive / "copy").rmdir()
    transfer = await site.ada.submit(plan)
    ended = await site.ada.end_of(transfer)
    assert (ended.state, ended.attempt) == (m.TransferState.COMPLETE, len(LEGS)), "nothing is tried again"
    legs = (await site.ada.port.probed(transfer.id)).legs
    assert [leg.rate_bps is not None for leg in legs] == [True, True, False, False]
    assert "no folder is at" in legs[2].error


@pytest.mark.anyio
@pytest.mark.parametrize(("destination", "below"), [("archive:/", "archive:/"), ("archive:/copy/", "archive:/copy")])
async def test_a_probe_writes_below_the_folder_that_is_named_with_or_without_a_slash(
    site: Site, destination: str, below: str
) -> None:
    places(site)
    plan = await probe(site.ada, destination=destination, max_bytes=MIB)
    transfer = await site.ada.submit(plan)
    assert transfer.destination == below
    await site.ada.end_of(transfer)
    legs = (await site.ada.port.probed(transfer.id)).legs
    assert all(leg.rate_bps for leg in legs), legs


@pytest.mark.anyio
async def test_a_probe_needs_what_a_copy_needs(site: Site) -> None:
    places(site)
    bob = await site.person("bob", "requester")
    auditor = await site.person("carl", "auditor")
    with refused("forbidden"):
        await probe(auditor)
    for person in (site.ada, bob):
        measured, plain = await probe(person), await person.plan("lab:/set", "archive:/copy")
        assert measured.decision is not None
        assert plain.decision is not None
        assert (measured.decision.outcome, measured.decision.rules) == (plain.decision.outcome, plain.decision.rules)
    await publish(site, NO_COPIES)
    assert (await probe(site.ada)).state is m.PlanState.DENIED


@pytest.mark.anyio
async def test_a_probe_takes_no_option_that_changes_something(site: Site) -> None:
    for slots in ({"action": "move"}, {"on_conflict": "overwrite"}, {"exclude": ["*.tmp"]}, {"verify": "at-rest"}):
        with refused("invalid_request"):
            await probe(site.ada, **slots)
    bounds = m.ProbeBounds()
    with refused("invalid_request"):
        await site.ada.port.create_plan(m.PlanRequest(words="copy lab:/set to archive:/copy", probe=bounds))


@pytest.mark.anyio
async def test_no_copy_is_made_of_a_probe(site: Site) -> None:
    places(site)
    plan = await probe(site.ada, max_bytes=MIB)
    with refused("invalid_request"):
        await site.ada.port.create_plan(m.PlanRequest(words="no faster than 1 Gb/s", plan=plan.id))
    ended = await site.ada.end_of(await site.ada.submit(plan))
    [again] = [one for one in ended.allowed_actions if one.action == "run_again"]
    assert not again.allowed


@pytest.mark.anyio
async def test_a_probe_is_no_transfer_to_estimate_by(site: Site) -> None:
    places(site)
    await site.ada.end_of(await site.ada.submit(await probe(site.ada, max_bytes=MIB)))
    assert (await site.ada.plan("lab:/set", "archive:/copy")).estimate is None


@pytest.mark.anyio
async def test_a_probe_goes_on_where_the_service_left_off(site: Site) -> None:
    places(site)
    transfer = await site.ada.submit(await probe(site.ada, seconds=3, max_bytes=1 << 40))
    await until_leg(site, transfer, "storage_to_memory")
    await site.restart()
    async with asyncio.timeout(60):
        ended = await site.ada.end_of(transfer)
        while ended.state not in m.END_STATES:
            ended = await site.ada.end_of(transfer)
    found = await site.ada.port.probed(transfer.id)
    assert [leg.name for leg in found.legs] == list(LEGS)
    assert files_at(site.archive / "copy") == set()


@pytest.mark.anyio
async def test_budgets_count_all_legs_while_a_probe_runs_and_what_they_moved_afterwards(site: Site) -> None:
    places(site)
    transfer = await site.ada.submit(await probe(site.ada))
    async with site.service.whole.core.database.read() as tx:
        reserved = await tx.get_one(ReservationRow, transfer.id)
    assert reserved.bytes == len(LEGS) * 20 * MIB
    await site.ada.end_of(transfer)
    day = day_of(site.clock(), site.settings.timezone)
    async with site.service.whole.core.database.read() as tx:
        used = await used_today(tx, site.ada.principal.id, None, day)
    assert used.person_used_bytes == len(LEGS) * 20 * MIB


@pytest.mark.anyio
async def test_a_quota_of_files_counts_what_each_leg_of_a_probe_moved(site: Site) -> None:
    places(site)
    transfer = await site.ada.submit(await probe(site.ada))
    await site.ada.end_of(transfer)
    legs = (await site.ada.port.probed(transfer.id)).legs
    made, read = 1, 5
    assert [leg.files for leg in legs] == [made, read, made, read], "20 MiB are one file that is made, or five of 4 MiB"
    async with site.service.whole.core.database.read() as tx:
        kept = await tx.get_one(ReservationRow, transfer.id)
    assert (kept.settled, kept.files) == (True, 2 * made + 2 * read)


@pytest.mark.anyio
async def test_a_leg_whose_node_goes_begins_anew_when_it_is_back(site: Site) -> None:
    places(site)
    transfer = await site.ada.submit(await probe(site.ada, seconds=2, max_bytes=1 << 40))
    await until_leg(site, transfer, "memory_to_storage")
    await site.stop_node("right")
    assert files_at(site.archive / "copy") == set()
    await site.start_node("right", [("archive", str(site.archive), "delete")])
    async with asyncio.timeout(80):
        ended = await site.ada.end_of(transfer)
        while ended.state not in m.END_STATES:
            ended = await site.ada.end_of(transfer)
    assert ended.state is m.TransferState.COMPLETE, ended.summary
    assert ended.attempt > len(LEGS)
    found = await site.ada.port.probed(transfer.id)
    assert all(leg.rate_bps for leg in found.legs), found.legs
    assert files_at(site.archive / "copy") == set()


@pytest.mark.anyio
async def test_nobody_pauses_a_probe_and_so_moves_more_than_was_agreed_to(site: Site) -> None:
    places(site)
    transfer = await site.ada.submit(await probe(site.ada, seconds=60, max_bytes=1 << 30, rate_limit_bps=80_000_000))
    await until_leg(site, transfer, "memory_to_memory")
    with refused("transfer_state"):
        await site.ada.port.control(transfer.id, m.ControlRequest(action="pause"))
    shown = await site.ada.port.transfer(transfer.id)
    assert [one.allowed for one in shown.allowed_actions if one.action == "pause"] == [False]
    await site.ada.port.control(transfer.id, m.ControlRequest(action="cancel"))
    await site.ada.end_of(transfer)


@pytest.mark.anyio
async def test_a_leg_that_was_interrupted_counts_and_does_not_begin_anew_beyond_the_plan(site: Site) -> None:
    places(site)
    transfer = await site.ada.submit(await probe(site.ada, seconds=60, max_bytes=8 * MIB, rate_limit_bps=16_000_000))
    arrived = 0
    async with asyncio.timeout(60):
        async for event in site.ada.port.watch(transfer.id):
            arrived = event.transfer.progress.bytes_received if event.transfer is not None else 0
            if arrived >= MIB:
                break
    halted = await site.ada.port.halt(m.HaltRequest(scope="transfer", subject=transfer.id, reason="maintenance"))
    async with asyncio.timeout(60):
        async for _ in site.ada.port.watch(transfer.id):
            found = await site.ada.port.probed(transfer.id)
            if found.legs:
                break
    await site.ada.port.release_halt(halted.id)
    [first] = (await until_leg(site, transfer, "storage_to_memory")).legs
    assert first.rate_bps is None
    assert "interrupted" in first.error
    assert first.bytes >= arrived
    await site.ada.port.control(transfer.id, m.ControlRequest(action="cancel"))
    await site.ada.end_of(transfer)
    async with site.service.whole.core.database.read() as tx:
        kept = await tx.get_one(ReservationRow, transfer.id)
    assert kept.settled
    assert kept.bytes >= first.bytes


@pytest.mark.anyio
async def test_a_probe_takes_no_deadline_and_no_class_whose_hours_are_over(site: Site) -> None:
    places(site)
    opens = site.clock() + timedelta(hours=3)
    hours = f'opens = "{opens:%H:%M}"\ncloses = "{opens + timedelta(hours=1):%H:%M}"\n'
    days = 'days = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]\n'
    nights = f'\n[[calendar]]\nname = "nights"\nzone = "UTC"\n[[calendar.hours]]\n{days}{hours}'
    later = LINKED.replace('name = "background"\n', 'name = "background"\ncalendar = "nights"\n')
    await put_in_force(site, later + nights)
    transfer = await site.ada.submit(await probe(site.ada, seconds=60, max_bytes=1 << 30, rate_limit_bps=8_000_000))
    await until_leg(site, transfer, "memory_to_memory")
    with refused("transfer_state") as info:
        await site.ada.port.control(transfer.id, m.ControlRequest(action="set_class", qos_class="background"))
    assert "the hours of the class `background` are over now" in info.value.problem.detail
    due = m.ControlRequest(action="set_deadline", deadline=site.clock() + timedelta(hours=1))
    with refused("transfer_state"):
        await site.ada.port.control(transfer.id, due)
    shown = await site.ada.port.control(transfer.id, m.ControlRequest(action="set_class", qos_class="bulk"))
    assert (shown.deadline, shown.qos_class) == (None, "bulk")
    await site.ada.port.control(transfer.id, m.ControlRequest(action="cancel"))
    await site.ada.end_of(transfer)


@pytest.mark.anyio
async def test_an_error_of_a_leg_names_nothing_that_is_withheld_from_assistants(site: Site) -> None:
    places(site)
    for endpoint in ("lab", "archive"):
        await site.ada.port.update_endpoint(endpoint, m.EndpointUpdate(labels={"names": "restricted"}))
    plan = await probe(site.ada, source="lab:/patients/meier", max_bytes=MIB)
    transfer = await site.ada.submit(plan)
    await site.ada.end_of(transfer)
    _, bot = await site.ada.token("transfer:read", "transfer:read:all", agent="bot")
    mine, shown = await site.ada.port.probed(transfer.id), await bot.probed(transfer.id)
    assert "meier" in repr(mine.legs)
    assert "meier" not in repr(shown)
