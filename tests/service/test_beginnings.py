"""What somebody has seen in a list is named by the beginning of its id; one that fits several is refused with them."""

import pytest
from sqlalchemy import update
from tests.servers.site import Site
from tests.service.refusals import refused
from tests.service.test_transfers import small_set

from headrace.api.store.tables_work import PlanRow
from headrace.client import models as m

pytestmark = pytest.mark.anyio


async def test_a_plan_and_a_receipt_are_found_by_the_beginning_of_their_ids_or_of_the_transfers(site: Site) -> None:
    small_set(site)
    port = site.ada.port
    plan = await site.ada.plan("lab:/set", "archive:/set")
    ended = await site.ada.end_of(await site.ada.submit(plan))
    assert ended.receipt is not None
    for beginning in (plan.id[:11], plan.id[3:11]):
        assert (await port.plan(beginning)).id == plan.id
        assert (await port.why(beginning)).outcome == "allowed"
    for beginning in (ended.receipt[:11], ended.receipt[3:11], ended.id[:11], ended.id[3:11]):
        assert (await port.receipt(beginning)).id == ended.receipt
        assert b"".join([chunk async for chunk in port.receipt_files(beginning)])
    assert (await port.plan(f"{plan.id[:11]}...")).id == plan.id
    whole = {"plan": plan.id, "transfer": ended.id, "receipt": ended.receipt}

    async def find(kind: str, beginning: str) -> None:
        match kind:
            case "plan":
                await port.plan(beginning)
            case "transfer":
                await port.transfer(beginning)
            case _:
                await port.receipt(beginning)

    for kind, named in whole.items():
        for beginning in (named[:6], named[:3], named[3:6]):
            with refused(f"unknown_{kind}") as told:
                await find(kind, beginning)
            assert f"`{beginning}` is only the beginning of an id" in told.value.problem.detail
            assert named in told.value.problem.detail


async def test_what_the_ids_of_several_begin_with_is_said_to_be_that(site: Site) -> None:
    small_set(site)
    with refused("unknown_transfer") as told:
        await site.ada.port.transfer("tr_")
    assert "there is no transfer `tr_`" in told.value.problem.detail
    ran = [await site.ada.submit(await site.ada.plan("lab:/set", f"archive:/{number}")) for number in range(2)]
    with refused("ambiguous_transfer") as told:
        await site.ada.port.transfer("tr_")
    assert "`tr_` is the beginning of several transfers" in told.value.problem.detail
    for transfer in ran:
        assert transfer.id in told.value.problem.detail
        await site.ada.end_of(transfer)


async def test_a_beginning_of_several_is_refused_with_those_that_one_may_see(site: Site) -> None:
    small_set(site)
    bob = await site.person("bob", "requester")
    mine = [(await site.ada.plan("lab:/set", f"archive:/{number}")).id for number in range(2)]
    his = (await bob.plan("lab:/set", "archive:/bob")).id
    async with site.service.whole.core.database.write() as tx:
        for number, plan in enumerate((*mine, his)):
            await tx.execute(update(PlanRow).where(PlanRow.id == plan).values(id=f"pl_abcdef{number}" + 24 * "0"))
    with refused("ambiguous_id") as told:
        await site.ada.port.plan("pl_abcdef")
    listed = [f"pl_abcdef{number}" + 24 * "0" for number in range(3)]
    assert [plan in told.value.problem.detail for plan in listed] == [True, True, False]
    found = await bob.port.plan("abcdef")  # what others have makes nothing ambiguous
    assert found.intent is not None
    assert found.intent.destination == "archive:/bob"


async def test_a_plan_is_confirmed_by_its_whole_id_alone(site: Site) -> None:
    small_set(site)
    (site.archive / "set").mkdir()
    (site.archive / "set" / "a.txt").write_text("another")
    plan = await site.ada.plan("lab:/set", "archive:/set", on_conflict="overwrite")
    assert plan.digest is not None
    with refused("invalid_request") as told:
        await site.ada.port.confirm_plan(plan.id[:11], m.Confirmation(digest=plan.digest))
    assert plan.id in told.value.problem.detail
    await site.ada.port.confirm_plan(plan.id, m.Confirmation(digest=plan.digest))


async def test_a_halt_and_a_node_are_found_by_the_beginning_of_their_ids(site: Site) -> None:
    olga = await site.person("olga", "operator")
    halted = await olga.port.halt(m.HaltRequest(scope="everything", reason="a test"))
    await olga.port.release_halt(halted.id[:9])
    assert await olga.port.halts() == m.Page(items=[])
    [left, *_] = await olga.port.nodes()
    assert (await olga.port.drain_node(left.id[:9], drain=True)).name == left.name
    with refused("unknown_node"):
        await olga.port.drain_node(left.id[3:9], drain=True)
