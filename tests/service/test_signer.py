"""Invariant 1: the signer signs only sealed, decided, confirmed, approved, unexpired plans, checked anew each time."""

from datetime import timedelta

import pytest
from sqlalchemy import update
from tests.servers.site import Site, digest_of
from tests.service.test_consent import differing_files, plan_to_approve, publish

from headrace.api.data_folder import HALT
from headrace.api.errors import ServiceError
from headrace.api.store.tables_site import PersonRow, PolicyRow
from headrace.api.store.tables_work import ConfirmationRow, PlanRow, TransferRow
from headrace.client import models as m
from headrace.guardrails import GuardrailError, SigningKey, seal, verify


async def refusal_of(site: Site, transfer: str, *, search: bool = True) -> str:
    """Ask the signer for a ticket and return the code of its refusal; empty when it signs.

    `search`: as the product asks, with a search for the hours at which policy would allow it.
    """
    signer = site.use_cases.submissions.parts.signer

    async def ask() -> None:
        async with site.service.whole.core.database.write() as tx:
            row = await tx.get_one(TransferRow, transfer)
            document, _ = await signer.ticket(tx, row, row.attempt + 1, row.fence)
            assert verify(document.text, "ticket", [signer.public]).fields()["plan_digest"] == row.plan_digest
            await tx.rollback()

    try:
        await (signer.with_hours(ask) if search else ask())
    except (ServiceError, GuardrailError) as error:
        return str(error.code)
    return ""


async def stored_transfer(site: Site, *, confirmed: bool = True) -> tuple[m.Plan, str]:
    """A confirmed plan that overwrites, and a transfer row for it that nothing drives."""
    differing_files(site)
    plan = await site.ada.plan("lab:/set", "archive:/set", on_conflict="overwrite")
    if confirmed:
        await site.ada.confirm(plan)
    async with site.service.whole.core.database.write() as tx:
        row = await tx.get(PlanRow, plan.id)
        assert row is not None
        made = await site.use_cases.submissions.insert(tx, row)
        return plan, made.id


async def change(site: Site, table: type, **values: object) -> None:
    async with site.service.whole.core.database.write() as tx:
        await tx.execute(update(table).values(**values))


@pytest.mark.anyio
async def test_invariant_1_a_sealed_decided_confirmed_plan_in_time_gets_its_ticket(site: Site) -> None:
    _, transfer = await stored_transfer(site)
    assert await refusal_of(site, transfer) == ""


@pytest.mark.anyio
async def test_invariant_1_an_unconfirmed_plan_gets_no_ticket(site: Site) -> None:
    _, transfer = await stored_transfer(site, confirmed=False)
    assert await refusal_of(site, transfer) == "confirmation_missing"


@pytest.mark.anyio
async def test_invariant_1_each_thing_that_stands_against_a_ticket_stops_it(site: Site) -> None:
    plan, transfer = await stored_transfer(site)
    other = seal("plan", {"id": plan.id}, SigningKey.from_seed(bytes(32)))
    stored = (await site.ada.port.plan(plan.id, document=True)).document
    assert stored is not None
    sealed_by_another = other.text
    altered = stored.replace("archive", "archivf")
    cases: list[tuple[type, str, object, object, str]] = [
        (PlanRow, "document", stored, None, "plan_not_ready"),
        (PlanRow, "document", stored, sealed_by_another, "unknown_signer"),
        (PlanRow, "document", stored, altered, "bad_signature"),
        (TransferRow, "plan_digest", digest_of(plan), "0" * 64, "digest_mismatch"),
        (ConfirmationRow, "digest", digest_of(plan), "0" * 64, "confirmation_missing"),
        (ConfirmationRow, "verdict", "confirmed", "declined", "confirmation_missing"),
        (PersonRow, "state", "active", "disabled", "requester_inactive"),
        (PersonRow, "roles", ("admin", "requester"), ("admin",), "denied_by_policy"),
    ]
    for table, column, right, wrong, code in cases:
        await change(site, table, **{column: wrong})
        assert await refusal_of(site, transfer) == code, column
        await change(site, table, **{column: right})
        assert await refusal_of(site, transfer) == "", column


@pytest.mark.anyio
async def test_invariant_1_an_expired_plan_gets_no_ticket(site: Site) -> None:
    _, transfer = await stored_transfer(site)
    site.clock.shift = timedelta(hours=24)
    assert await refusal_of(site, transfer) == "plan_expired"


@pytest.mark.anyio
async def test_a_transfer_that_has_started_goes_on_after_its_plan_has_expired(site: Site) -> None:
    _, transfer = await stored_transfer(site)
    await change(site, TransferRow, started=site.clock())
    site.clock.shift = timedelta(days=7)
    assert await refusal_of(site, transfer) == ""


@pytest.mark.anyio
async def test_invariant_3_without_a_policy_nothing_is_signed(site: Site) -> None:
    _, transfer = await stored_transfer(site)
    async with site.service.whole.core.database.write() as tx:
        await tx.execute(update(PolicyRow).values(state="retired"))
    await site.use_cases.policies.load()
    assert await refusal_of(site, transfer) == "policy_changed"


@pytest.mark.anyio
async def test_invariant_1_the_kill_switch_stops_tickets_and_permits_and_says_why(site: Site) -> None:
    _, transfer = await stored_transfer(site)
    (site.settings.data / HALT).write_text("storage maintenance\n")
    assert await refusal_of(site, transfer) == "halted"
    plan = await site.ada.plan("lab:/set", "archive:/elsewhere")
    assert (plan.state, plan.refusals[0].rule) == (m.PlanState.FAILED, "halted")
    assert "storage maintenance" in plan.summary
    (site.settings.data / HALT).unlink()
    assert await refusal_of(site, transfer) == ""


@pytest.mark.anyio
async def test_somebody_who_is_no_approver_any_more_does_not_count_when_it_starts(site: Site) -> None:
    plan = await plan_to_approve(site)
    bea = await site.person("bea", "approver")
    await bea.approve(plan)
    async with site.service.whole.core.database.write() as tx:
        row = await tx.get(PlanRow, plan.id)
        assert row is not None
        transfer = (await site.use_cases.submissions.insert(tx, row)).id
    assert await refusal_of(site, transfer) == ""
    async with site.service.whole.core.database.write() as tx:
        await tx.execute(update(PersonRow).where(PersonRow.id == bea.principal.id).values(roles=("viewer",)))
    assert await refusal_of(site, transfer) == "approval_missing"
    await change(site, TransferRow, started=site.clock())
    assert await refusal_of(site, transfer) == "", "what runs by then goes on"


@pytest.mark.anyio
async def test_labels_of_today_decide_not_those_of_planning(site: Site) -> None:
    await publish(site, FROZEN)
    _, transfer = await stored_transfer(site, confirmed=False)
    await site.ada.port.update_endpoint("archive", m.EndpointUpdate(labels={"frozen": "yes"}))
    assert await refusal_of(site, transfer, search=False) == "outside_hours", "whether hours alone deny it is not known"
    assert await refusal_of(site, transfer) == "denied_by_policy"


FROZEN = """
@id("requesters")
@reason("requesters may work")
permit (principal in Role::"requester", action, resource);
@id("frozen")
@reason("frozen places are not written to")
forbid (principal, action in [Action::"copy", Action::"sync", Action::"move"], resource)
when { resource.destination.labels.contains("frozen=yes") };
"""


@pytest.mark.anyio
async def test_invariant_1_what_policy_asks_for_more_since_the_plan_stops_its_ticket(site: Site) -> None:
    await publish(site, GUARDED)
    _, transfer = await stored_transfer(site, confirmed=False)
    assert await refusal_of(site, transfer) == ""
    await site.ada.port.update_endpoint("archive", m.EndpointUpdate(labels={"guarded": "yes"}))
    assert await refusal_of(site, transfer) == "needs_confirmation"


GUARDED = """
@id("requesters")
@reason("requesters may work")
permit (principal in Role::"requester", action, resource);
@id("guarded")
@reason("guarded places take a second person")
@obligation("approval:approver:1")
forbid (principal, action in [Action::"copy", Action::"sync", Action::"move"], resource)
when { resource.destination.labels.contains("guarded=yes") };
"""
