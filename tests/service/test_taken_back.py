"""What somebody asked for and agreed to, once their account is taken back: nothing of it begins, or begins again."""

from datetime import timedelta

import pytest
from tests.servers.site import Person, Site
from tests.service.refusals import refused
from tests.service.test_consent import APPROVED_OVERWRITES, differing_files, publish
from tests.service.test_lives import OTHER, redeemed
from tests.service.test_transfers import SLOW_BPS, large_set, until

from headrace.api.people.sql_identities import SqlIdentityStore
from headrace.client import models as m

TWO_APPROVE = APPROVED_OVERWRITES.replace("approval:approver:1", "approval:approver:2")


async def taken_back(admin: Person, person: Person, how: str) -> Person:
    """Take an account back: it is disabled and gets a link, or a link alone."""
    if how == "disabled":
        await admin.port.disable_person(person.principal.id)
    return await redeemed(admin.site, (await admin.port.invite_again(person.principal.id)).link, OTHER)


async def watched_by_an_operator(site: Site) -> Person:
    """Let an operator, who sees every transfer, look for the tests; answers who administrates."""
    admin, site.ada = site.ada, await site.person("otto", "operator")
    return admin


async def overwrite_later(site: Site, person: Person) -> m.Plan:
    differing_files(site)
    start = (site.clock() + timedelta(hours=1)).isoformat()
    return await person.plan("lab:/set", "archive:/set", on_conflict="overwrite", start=start)


async def slow_overwrite(site: Site, person: Person) -> m.Plan:
    """A plan that overwrites one of many files, for as long as the test looks."""
    large_set(site)
    (site.archive / "copy").mkdir()
    name = min(one.name for one in (site.lab / "set").iterdir())
    (site.archive / "copy" / name).write_text("old")
    return await person.plan("lab:/set", "archive:/copy", on_conflict="overwrite", rate_limit_bps=SLOW_BPS)


def untouched(site: Site) -> bool:
    return (site.archive / "set" / "a.txt").read_text() == "old"


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("how", "why"), [("disabled", "was disabled"), ("link", "chose another password by a one-time link")]
)
async def test_what_somebody_else_confirmed_never_begins_once_the_account_is_taken_back(
    site: Site, how: str, why: str
) -> None:
    bob = await site.person("bob", "requester")
    plan = await overwrite_later(site, bob)
    await bob.confirm(plan)
    transfer = await bob.submit(plan)
    assert transfer.state == "queued"
    bob = await taken_back(site.ada, bob, how)
    ended = await bob.end_of(transfer)
    assert (ended.state, ended.state_reason) == ("canceled", f"canceled because bob, who asked for it, {why}")
    assert (await bob.port.transfer_events(transfer.id)).items[-1].message == ended.state_reason
    assert [one.detail["message"] for one in await site.audited("transfer_changed")][-1] == ended.state_reason
    site.clock.shift += timedelta(hours=2)
    for act in ("resume", "retry"):
        with refused("transfer_state"):
            await bob.port.control(transfer.id, m.ControlRequest.model_validate({"action": act}))
    assert untouched(site)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("how", "why"), [("disabled", "was disabled"), ("link", "chose another password by a one-time link")]
)
async def test_what_somebody_else_approved_never_begins_once_the_account_is_taken_back(
    site: Site, how: str, why: str
) -> None:
    await publish(site, APPROVED_OVERWRITES)
    plan = await overwrite_later(site, site.ada)
    bea = await site.person("bea", "approver")
    await bea.approve(plan)
    transfer = await site.ada.submit(plan)
    await taken_back(site.ada, bea, how)
    ended = await site.ada.end_of(transfer)
    said = f"canceled because bea, who approved it, {why}; it can be planned again"
    assert (ended.state, ended.state_reason) == ("canceled", said)
    assert untouched(site)


@pytest.mark.anyio
async def test_what_enough_others_approved_waits_on(site: Site) -> None:
    await publish(site, TWO_APPROVE)
    plan = await overwrite_later(site, site.ada)
    approvers = [await site.person(name, "approver") for name in ("bea", "cyd", "dan")]
    for one in approvers:
        await one.approve(plan)
    transfer = await site.ada.submit(plan)
    await taken_back(site.ada, approvers[0], "disabled")
    assert (await site.ada.port.transfer(transfer.id)).state == "queued"
    await taken_back(site.ada, approvers[1], "link")
    assert (await site.ada.end_of(transfer)).state == "canceled"


@pytest.mark.anyio
async def test_nobody_tries_again_what_was_confirmed_before_the_account_was_taken_back(site: Site) -> None:
    bob, admin = await site.person("bob", "requester"), await watched_by_an_operator(site)
    plan = await slow_overwrite(site, bob)
    await bob.confirm(plan)
    transfer = await bob.submit(plan)
    await until(site, transfer, "running")
    await admin.port.disable_person(bob.principal.id)
    assert (await site.ada.end_of(transfer)).state == "failed"
    bob = await redeemed(site, (await admin.port.invite_again(bob.principal.id)).link, OTHER)
    for person in (bob, site.ada):
        with refused("confirmation_missing"):
            await person.port.control(transfer.id, m.ControlRequest(action="retry"))


@pytest.mark.anyio
async def test_nobody_tries_again_what_was_approved_before_the_account_was_taken_back(site: Site) -> None:
    await publish(site, APPROVED_OVERWRITES)
    plan = await slow_overwrite(site, site.ada)
    bea, operator = await site.person("bea", "approver"), await site.person("otto", "operator")
    await bea.approve(plan)
    transfer = await site.ada.submit(plan)
    await until(site, transfer, "running")
    await taken_back(site.ada, bea, "disabled")
    # What runs goes on; whoever doubts it halts it.
    assert (await site.ada.port.transfer(transfer.id)).state == "running"
    (site.lab / "set").rename(site.lab / "away")
    await until(site, transfer, "failed", "partial")
    for person in (site.ada, operator):
        with refused("approval_missing"):
            await person.port.control(transfer.id, m.ControlRequest(action="retry"))


@pytest.mark.anyio
@pytest.mark.parametrize(("how", "after"), [("disabled", "canceled"), ("link", "running")])
async def test_what_has_begun_and_waits_ends_with_whoever_is_disabled_and_can_be_resumed_after_a_link(
    site: Site, how: str, after: str
) -> None:
    bob, admin = await site.person("bob", "requester"), await watched_by_an_operator(site)
    plan = await slow_overwrite(site, bob)
    await bob.confirm(plan)
    transfer = await bob.submit(plan)
    await until(site, transfer, "running")
    await bob.port.control(transfer.id, m.ControlRequest(action="pause"))
    await until(site, transfer, "paused")
    bob = await taken_back(admin, bob, how)
    resume = m.ControlRequest(action="resume")
    if after == "running":
        await bob.port.control(transfer.id, resume)
    else:
        with refused("transfer_state"):
            await bob.port.control(transfer.id, resume)
    await until(site, transfer, after)


@pytest.mark.anyio
async def test_what_waits_of_somebody_whom_a_directory_suspends_is_over_when_they_come_back(site: Site) -> None:
    core, bob = site.service.whole.core, await site.person("bob", "requester")
    await watched_by_an_operator(site)
    plan = await overwrite_later(site, bob)
    await bob.confirm(plan)
    transfer = await bob.submit(plan)
    store = SqlIdentityStore(core.database, core.audit, core.reactions)
    await store.link(bob.principal.id, "https://corp", "1", site.clock())
    assert await store.renew("https://corp", "1", None, site.clock())
    assert await store.renew("https://corp", "1", frozenset(), site.clock())
    ended = await site.ada.end_of(transfer)
    assert (ended.state, ended.state_reason) == (
        "canceled",
        "canceled because bob, who asked for it, was suspended",
    )
