import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import select, update
from tests.servers.site import PASSWORD, Person, Site, digest_of
from tests.service.refusals import refused

from headrace.api.store.tables_site import PersonRow
from headrace.api.store.tables_work import ApprovalRow, PlanRow, TransferRow
from headrace.client import models as m

APPROVED_OVERWRITES = """
@id("requesters")
@reason("requesters may work")
permit (principal in Role::"requester", action, resource);
@id("overwrites")
@reason("overwriting needs a second person")
@obligation("approval:approver:1")
forbid (principal, action in [Action::"copy", Action::"sync", Action::"move"], resource)
when { context.overwrites > 0 };
"""


async def publish(site: Site, text: str) -> str:
    """Let another policy admin publish a policy that ada proposed."""
    proposed = await site.ada.port.propose_policy(m.PolicyText(text=text))
    others = await site.ada.port.people()
    name = f"publisher {len(others)}"
    second = await site.person(name, "policy_admin")
    proof = PASSWORD if site.settings.consent_proof == "password" else None
    await second.port.publish_policy(proposed.version, m.Proven(password=proof))
    return proposed.version


def differing_files(site: Site) -> None:
    for root, text in ((site.lab, "new and longer"), (site.archive, "old")):
        (root / "set").mkdir(exist_ok=True)
        (root / "set" / "a.txt").write_text(text)


async def plan_to_approve(site: Site) -> m.Plan:
    """A plan that overwrites one file and so needs an approval."""
    differing_files(site)
    await publish(site, APPROVED_OVERWRITES)
    plan = await site.ada.plan("lab:/set", "archive:/set", on_conflict="overwrite")
    assert plan.decision is not None, plan.summary
    assert plan.decision.outcome == "approve", plan.summary
    return plan


@pytest.mark.anyio
async def test_an_overwrite_waits_for_the_requesters_own_yes(site: Site) -> None:
    differing_files(site)
    plan = await site.ada.plan("lab:/set", "archive:/set", on_conflict="overwrite")
    with refused("needs_confirmation"):
        await site.ada.submit(plan)
    assert (await site.ada.confirm(plan)).confirmed
    ended = await site.ada.end_of(await site.ada.submit(plan))
    assert ended.state is m.TransferState.COMPLETE, ended.summary
    assert (site.archive / "set" / "a.txt").read_text() == "new and longer"


@pytest.mark.anyio
async def test_a_yes_to_one_digest_is_no_yes_to_another(site: Site) -> None:
    differing_files(site)
    plan = await site.ada.plan("lab:/set", "archive:/set", on_conflict="overwrite")
    other = await site.ada.plan("lab:/set", "archive:/set", on_conflict="overwrite")
    assert plan.digest != other.digest
    await site.ada.confirm(plan)
    with refused("needs_confirmation"):
        await site.ada.submit(other)
    with refused("wrong_digest"):
        await site.ada.port.confirm_plan(other.id, m.Confirmation(digest=digest_of(plan)))


@pytest.mark.anyio
async def test_a_declined_plan_does_not_run(site: Site) -> None:
    differing_files(site)
    plan = await site.ada.plan("lab:/set", "archive:/set", on_conflict="overwrite")
    await site.ada.port.confirm_plan(plan.id, m.Confirmation(digest=digest_of(plan), verdict="declined"))
    with refused("plan_declined"):
        await site.ada.submit(plan)


@pytest.mark.anyio
async def test_an_approval_is_another_persons_and_an_approvers(site: Site) -> None:
    plan = await plan_to_approve(site)
    with refused("needs_approval"):
        await site.ada.submit(plan)
    with refused("approve_own_plan"):
        await site.ada.approve(plan)
    colleague = await site.person("carl", "requester")
    with refused("unknown_plan"):
        await colleague.approve(plan)
    approver = await site.person("bea", "approver")
    [waiting] = await approver.port.plans(awaiting_me=True)
    assert (waiting.id, waiting.requester_name) == (plan.id, "ada")
    assert [one.person for one in (await approver.approve(plan)).approvals] == ["bea"]
    assert (await approver.port.plans(awaiting_me=True)).items == []
    started = await site.ada.submit(plan)
    ended = await site.ada.end_of(started)
    assert ended.state is m.TransferState.COMPLETE, ended.summary
    assert (started.requester_name, ended.requester_name) == ("ada", "ada")


@pytest.mark.anyio
async def test_a_plan_waits_for_an_approver_only_while_an_approval_is_missing(site: Site) -> None:
    plan = await plan_to_approve(site)
    bea, bob = await site.person("bea", "approver"), await site.person("bob", "approver")
    assert [one.id for one in await bob.port.plans(awaiting_me=True)] == [plan.id]
    await bea.approve(plan)
    assert (await bob.port.plans(awaiting_me=True)).items == []
    assert (await bob.port.plan_counts()).awaiting_me == 0
    # One that does not count any more is missing again.
    async with site.service.whole.core.database.write() as tx:
        await tx.execute(update(PersonRow).where(PersonRow.id == bea.principal.id).values(roles=("viewer",)))
    assert [one.id for one in await bob.port.plans(awaiting_me=True)] == [plan.id]
    assert (await bob.port.plan_counts()).awaiting_me == 1


@pytest.mark.anyio
async def test_what_waits_for_an_approver_is_told_to_an_assistant_of_theirs_that_may_read_everything_alone(
    site: Site,
) -> None:
    plan = await plan_to_approve(site)
    bea = await site.person("bea", "approver")
    _, helper = await bea.token("transfer:read", agent="helper")
    _, reader = await bea.token("transfer:read", "transfer:read:all", agent="reader")
    for port, waiting in ((bea.port, [plan.id]), (helper, []), (reader, [plan.id])):
        assert [one.id for one in await port.plans(awaiting_me=True)] == waiting
        assert (await port.plan_counts()).awaiting_me == len(waiting)


@pytest.mark.anyio
async def test_those_who_may_approve_may_see_their_plans_of_a_person(site: Site) -> None:
    plan = await plan_to_approve(site)
    bea, vera = await site.person("bea", "approver"), await site.person("vera", "viewer")
    assert [one.id for one in await bea.port.plans(person="ada")] == [plan.id]
    assert (await vera.port.plans(person="ada")).items == []


@pytest.mark.anyio
async def test_of_two_missing_approvals_the_second_still_waits(site: Site) -> None:
    differing_files(site)
    await publish(site, APPROVED_OVERWRITES.replace("approval:approver:1", "approval:approver:2"))
    plan = await site.ada.plan("lab:/set", "archive:/set", on_conflict="overwrite")
    bea, bob = await site.person("bea", "approver"), await site.person("bob", "approver")
    await bea.approve(plan)
    assert [one.id for one in await bob.port.plans(awaiting_me=True)] == [plan.id]


@pytest.mark.anyio
async def test_a_refusal_by_an_approver_holds_until_taken_back(site: Site) -> None:
    plan = await plan_to_approve(site)
    bea, bob = await site.person("bea", "approver"), await site.person("bob", "approver")
    await bob.approve(plan)
    said = m.Approval(digest=digest_of(plan), verdict="refused", reason="wrong run")
    await bea.port.approve_plan(plan.id, said)
    with refused("plan_declined") as info:
        await site.ada.submit(plan)
    assert "wrong run" in info.value.problem.detail
    await bea.approve(plan)
    await site.ada.submit(plan)


@pytest.mark.anyio
async def test_an_approval_lives_for_24_hours_and_never_longer_than_its_plan(site: Site) -> None:
    plan = await plan_to_approve(site)
    bea, bob = await site.person("bea", "approver"), await site.person("bob", "approver")
    [given] = (await bea.approve(plan)).approvals
    assert given.expires == plan.expires
    async with site.service.whole.core.database.write() as tx:
        await tx.execute(update(PlanRow).values(expires=site.clock() + timedelta(days=9)))
    [_, later] = (await bob.approve(plan)).approvals
    assert later.expires - later.at == timedelta(hours=24)


@pytest.mark.anyio
async def test_an_approval_of_a_later_start_still_counts_then(site: Site) -> None:
    differing_files(site)
    await publish(site, APPROVED_OVERWRITES)
    start = site.clock() + timedelta(days=3)
    plan = await site.ada.plan("lab:/set", "archive:/set", on_conflict="overwrite", start=start)
    bea = await site.person("bea", "approver")
    async with site.service.whole.core.database.write() as tx:
        await tx.execute(update(PlanRow).values(expires=start + timedelta(days=9)))
    [given] = (await bea.approve(plan)).approvals
    assert given.expires == start + timedelta(hours=24)


@pytest.mark.anyio
@pytest.mark.parametrize("labels", [{"names": "restricted"}, {}])
async def test_why_a_plan_was_refused_is_withheld_from_an_assistant(site: Site, labels: dict[str, str]) -> None:
    differing_files(site)
    await publish(site, APPROVED_OVERWRITES)
    await site.ada.port.update_endpoint("archive", m.EndpointUpdate(labels=labels))
    _, agent = await site.ada.token("transfer:read", "transfer:plan", "transfer:run", agent="helper")
    intent = m.TransferIntent(action="copy", source="lab:/set", destination="archive:/set", on_conflict="overwrite")
    asked = await agent.create_plan(m.PlanRequest(intent=intent))
    plan = await agent.plan(asked.id, wait_s=30)
    grace = await site.person("grace", "approver")
    reason = "it overwrites smith-biopsy.tif"
    await grace.port.approve_plan(plan.id, m.Approval(digest=digest_of(plan), verdict="refused", reason=reason))
    seen = [await agent.plan(plan.id), *await agent.plans()]
    assert "grace refused this plan." in seen[0].state_reason
    assert not any("biopsy" in one.model_dump_json() for one in seen)
    with refused("plan_declined") as info:
        await agent.submit(m.SubmitRequest(plan_digest=digest_of(plan)))
    assert "biopsy" not in info.value.problem.model_dump_json()
    assert "biopsy" in (await site.ada.port.plan(plan.id)).state_reason


@pytest.mark.anyio
async def test_the_approval_of_somebody_who_is_no_approver_any_more_does_not_count(site: Site) -> None:
    plan = await plan_to_approve(site)
    bea = await site.person("bea", "approver")
    assert (await bea.approve(plan)).needs[0].given == 1
    async with site.service.whole.core.database.write() as tx:
        await tx.execute(update(PersonRow).where(PersonRow.id == bea.principal.id).values(roles=("viewer",)))
    shown = await site.ada.port.plan(plan.id)
    assert (shown.needs[0].given, shown.next_step.kind) == (0, "approve")
    with refused("needs_approval"):
        await site.ada.submit(plan)


@pytest.mark.anyio
async def test_somebody_of_the_group_that_a_rule_names_approves_without_the_role(site: Site) -> None:
    differing_files(site)
    await publish(site, APPROVED_OVERWRITES.replace("approval:approver:1", "approval:stewards:1"))
    plan = await site.ada.plan("lab:/set", "archive:/set", on_conflict="overwrite")
    stu = await site.person("stu", "viewer")
    with refused("unknown_plan"):
        await stu.approve(plan)
    async with site.service.whole.core.database.write() as tx:
        await tx.execute(update(PersonRow).where(PersonRow.id == stu.principal.id).values(groups=("stewards",)))
    stu = replace(stu, principal=await site.use_cases.people.of_session(stu.secret))
    assert (await stu.port.plan_counts()).awaiting_me == 1
    assert (await stu.approve(plan)).needs[0].given == 1
    assert (await site.ada.end_of(await site.ada.submit(plan))).state is m.TransferState.COMPLETE


@pytest.mark.anyio
async def test_an_approval_swapped_to_another_plan_is_not_counted(site: Site) -> None:
    plan = await plan_to_approve(site)
    other = await site.ada.plan("lab:/set", "archive:/set", on_conflict="overwrite")
    await (await site.person("bea", "approver")).approve(plan)
    # Somebody who can write to the database moves the approval over; the digest in it still names the other plan.
    async with site.service.whole.core.database.write() as tx:
        await tx.execute(update(ApprovalRow).values(plan=other.id))
    with refused("needs_approval"):
        await site.ada.submit(other)


@pytest.mark.anyio
async def test_an_expired_approval_starts_nothing(site: Site) -> None:
    plan = await plan_to_approve(site)
    await (await site.person("bea", "approver")).approve(plan)
    async with site.service.whole.core.database.write() as tx:
        await tx.execute(update(ApprovalRow).values(expires=site.clock() - timedelta(seconds=1)))
    with refused("needs_approval"):
        await site.ada.submit(plan)


@pytest.mark.anyio
async def test_an_approval_under_another_policy_starts_nothing(site: Site) -> None:
    plan = await plan_to_approve(site)
    await (await site.person("bea", "approver")).approve(plan)
    await publish(site, APPROVED_OVERWRITES + "\n// stricter\n")
    with refused("policy_changed"):
        await site.ada.submit(plan)


@pytest.mark.anyio
async def test_an_approver_who_was_disabled_counts_no_more(site: Site) -> None:
    plan = await plan_to_approve(site)
    bea = await site.person("bea", "approver")
    await bea.approve(plan)
    await site.ada.port.disable_person(bea.principal.id)
    with refused("needs_approval"):
        await site.ada.submit(plan)


@pytest.mark.anyio
async def test_of_concurrent_submissions_one_uses_the_approval_up(site: Site) -> None:
    plan = await plan_to_approve(site)
    await (await site.person("bea", "approver")).approve(plan)
    submitted = await asyncio.gather(*(site.ada.submit(plan) for _ in range(5)))
    assert len({transfer.id for transfer in submitted}) == 1
    async with site.service.whole.core.database.read() as tx:
        [transfer] = await tx.scalars(select(TransferRow))
        [approval] = await tx.scalars(select(ApprovalRow))
    assert approval.used_by == transfer.id
    assert len(await site.audited("submitted")) == 1


@pytest.mark.anyio
async def test_handles_prove_nothing(site: Site) -> None:
    plan = await plan_to_approve(site)
    stranger = await site.person("eve", "requester")
    for handle in (plan.id, digest_of(plan)):
        with refused("unknown_plan"):
            await stranger.port.plan(handle)
        with refused("unknown_plan"):
            await stranger.port.create_plan(m.PlanRequest(plan=handle, changes=m.Changes()))
    with refused("unknown_plan"):
        await stranger.submit(plan)
    with refused("unknown_plan"):
        await stranger.confirm(plan)
    await seen_by(site, plan, "operator", "auditor", "approver")


async def seen_by(site: Site, plan: m.Plan, *roles: str) -> None:
    for role in roles:
        person: Person = await site.person(f"an {role}", role)
        assert (await person.port.plan(plan.id)).digest == plan.digest
        with refused("forbidden"):
            await person.submit(plan)


@pytest.mark.anyio
async def test_an_assistant_submits_only_what_it_planned_itself(site: Site) -> None:
    (site.lab / "set").mkdir()
    (site.lab / "set" / "a.txt").write_text("a")
    plan = await site.ada.plan("lab:/set", "archive:/set")
    _, agent = await site.ada.token(
        "transfer:read", "transfer:read:all", "transfer:plan", "transfer:run", agent="helper"
    )
    with refused("forbidden"):
        await agent.submit(m.SubmitRequest(plan_digest=digest_of(plan)))


@pytest.mark.anyio
async def test_a_token_without_the_scope_to_delete_submits_no_deletes(site: Site) -> None:
    (site.lab / "set").mkdir()
    (site.lab / "set" / "a.txt").write_text("a")
    plan = await site.ada.plan("lab:/set", "archive:/set", action="move")
    await site.ada.confirm(plan)
    _, pipeline = await site.ada.token("transfer:read", "transfer:plan", "transfer:run")
    with refused("forbidden"):
        await pipeline.submit(m.SubmitRequest(plan_digest=digest_of(plan)))


@pytest.mark.anyio
async def test_nobody_approves_what_their_own_token_of_a_service_account_asked_for(site: Site) -> None:
    differing_files(site)
    await publish(site, APPROVED_OVERWRITES)
    robot = await site.ada.port.create_service_account(m.ServiceAccountRequest(name="nightly", roles=["requester"]))
    scopes = ["transfer:read", "transfer:plan", "transfer:run"]
    made = await site.ada.port.create_token(m.TokenRequest(name="nightly", scopes=scopes, person=robot.id))
    pipeline = Person(site, await site.use_cases.people.of_token(made.secret or ""), made.secret or "")
    plan = await pipeline.plan("lab:/set", "archive:/set", on_conflict="overwrite")
    with refused("approve_own_plan") as told:
        await site.ada.approve(plan)
    assert "with a token that you made" in str(told.value)
    assert (await site.ada.port.plan_counts()).awaiting_me == 0
    with refused("needs_approval"):
        await pipeline.submit(plan)
    bea = await site.person("bea", "approver")
    assert (await bea.port.plan_counts()).awaiting_me == 1
    await bea.approve(plan)
    ended = await pipeline.end_of(await pipeline.submit(plan))
    assert ended.state is m.TransferState.COMPLETE, ended.summary
