import inspect
import os
from collections.abc import AsyncGenerator, Awaitable
from contextlib import aclosing
from datetime import timedelta

import pytest
from tests.servers.calls import About, arguments
from tests.servers.site import Person, Site
from tests.service.refusals import refused

from headrace.api.access.acting import Acting
from headrace.api.app.web import create_app
from headrace.api.http.guard import Origins
from headrace.api.permissions import ACCESS
from headrace.auth import Scope
from headrace.client import Headrace
from headrace.client import models as m

AT_PROVIDERS = {
    "ways_to_sign_in", "begin_sign_in", "finish_sign_in", "back_channel_logout", "begin_device_sign_in",
    "ask_device_sign_in",
}  # fmt: skip
BY_PASSKEY = {"ask_passkey", "sign_in_by_passkey"}
PUBLIC = {"health", "sign_in", "accept_invitation", "look_at_invitation"} | AT_PROVIDERS | BY_PASSKEY
"""What may be called without being signed in."""
OWN = {"sign_out"}
"""What a session may do to itself."""
SAME_AS = {"undrain_node": "drain_node", "end_session_of": "end_session", "remove_passkey_of": "remove_passkey"}


def methods_of(kind: type) -> set[str]:
    return {name for name, _ in inspect.getmembers(kind, inspect.isfunction) if not name.startswith("_")}


async def call(port: Acting, method: str) -> None:
    answer = getattr(port, method)(**arguments(method, About()))
    if isinstance(answer, AsyncGenerator):
        async with aclosing(answer):
            await anext(answer, None)
    else:
        assert isinstance(answer, Awaitable)
        await answer


def test_every_method_of_the_port_has_one_entry_in_the_access_table() -> None:
    assert set(ACCESS) == methods_of(Headrace) == methods_of(Acting)


@pytest.mark.anyio
async def test_invariant_1_every_route_is_a_method_of_the_port(quiet_site: Site) -> None:
    app = create_app(quiet_site.service.gate, Origins.of("http://127.0.0.1:1"))
    operations = {one["operationId"] for path in app.openapi()["paths"].values() for one in path.values()}
    assert {SAME_AS.get(name, name) for name in operations} - PUBLIC - OWN == set(ACCESS) - PUBLIC


@pytest.mark.anyio
async def test_invariant_1_a_token_does_only_what_its_one_scope_says(quiet_site: Site) -> None:
    nobody = await person_with_token(quiet_site, "viewer", Scope.TRANSFER_READ)
    for method, access in ACCESS.items():
        if access.session:
            with refused("session_needed"):
                await call(nobody, method)
        elif access.scopes and Scope.TRANSFER_READ not in access.scopes:
            with refused("forbidden"):
                await call(nobody, method)


@pytest.mark.anyio
async def test_invariant_1_no_token_ever_confirms_approves_or_administers(quiet_site: Site) -> None:
    _, pipeline = await quiet_site.ada.token("transfer:read", "transfer:plan", "transfer:run", "policy:write")
    people_only = ("confirm_plan", "approve_plan", "publish_policy", "invite", "create_token", "create_join_token")
    for method in (*people_only, "update_endpoint", "halt", "release_halt"):
        with refused("session_needed"):
            await call(pipeline, method)


BEYOND = {
    "viewer": ("create_plan", "browse", "submit", "confirm_plan", "control"),
    "requester": ("audit", "propose_policy", "drain_node"),
    "approver": ("create_plan", "confirm_plan", "submit"),
    "auditor": ("control", "drain_node", "create_plan"),
    "operator": ("publish_policy", "people", "audit", "create_plan"),
    "policy_admin": ("create_join_token", "invite", "submit"),
}


@pytest.mark.anyio
async def test_invariant_1_a_role_reaches_no_further_than_it_says(quiet_site: Site) -> None:
    for number, (role, methods) in enumerate(BEYOND.items()):
        person = await quiet_site.person(f"person {number}", role)
        for method in methods:
            with refused("forbidden"):
                await call(person.port, method)


async def person_with_token(site: Site, role: str, scope: Scope) -> Acting:
    person: Person = await site.person("vic", role)
    _, port = await person.token(scope)
    return port


@pytest.mark.anyio
async def test_an_assistant_that_may_read_everything_reads_it_without_the_names_that_are_withheld(site: Site) -> None:
    (site.lab / "set").mkdir()
    for name in ("patient-7.dat", "another.dat"):
        (site.lab / "set" / name).write_text("7")
        (site.archive / "set" / name).mkdir(parents=True)
    plan = await site.ada.plan("lab:/set", "archive:/set")
    ended = await site.ada.end_of(await site.ada.submit(plan))
    assert ended.state is m.TransferState.PARTIAL
    await site.ada.port.update_endpoint("lab", m.EndpointUpdate(labels={"names": "restricted"}))
    await site.ada.port.update_endpoint("archive", m.EndpointUpdate(labels={"names": "restricted"}))
    _, agent = await site.ada.token("transfer:read", "transfer:read:all", agent="helper")

    async def seen(port: Acting) -> str:
        found = [await port.plan(plan.id), await port.transfer(ended.id), await port.why(plan.id)]
        found += [*await port.plans(), *await port.transfers(), *await port.failed_files(ended.id)]
        return "".join(one.model_dump_json() for one in found)

    assert "patient-7" in await seen(site.ada.port)
    told = await seen(agent)
    assert plan.id in told
    assert ended.id in told
    assert "patient-7" not in told
    page = await agent.failed_files(ended.id, limit=1)
    assert page.next == "1.e1", "where a page goes on does not tell how long a name is"
    assert (await agent.failed_files(ended.id, after=page.next)).next is None
    with refused("invalid_request"):
        await agent.failed_files(ended.id, after="1.b5")
    with refused("names_withheld"):
        _ = [chunk async for chunk in agent.receipt_files(ended.id)]


@pytest.mark.anyio
async def test_an_assistant_resumes_no_move_without_its_scope_and_nothing_that_a_person_paused(site: Site) -> None:
    (site.lab / "set").mkdir()
    (site.lab / "set" / "a").write_bytes(os.urandom(4 << 20))
    scopes = ("transfer:read", "transfer:read:all", "transfer:plan", "transfer:run", "transfer:run:all")
    _, bare = await site.ada.token(*scopes, agent="helper")
    _, whole = await site.ada.token(*scopes, "transfer:delete", agent="helper")
    plan = await site.ada.plan("lab:/set", "archive:/copy", "move", rate_limit_bps=1_000_000)
    if plan.decision is not None and plan.decision.outcome == "confirm":
        plan = await site.ada.confirm(plan)
    transfer = await site.ada.submit(plan)
    pause, resume = m.ControlRequest(action="pause"), m.ControlRequest(action="resume")
    await whole.control(transfer.id, pause)
    with refused("forbidden") as without:
        await bare.control(transfer.id, resume)
    assert "its plan may delete files" in without.value.problem.detail
    assert (await whole.control(transfer.id, resume)).wish == "run"
    await site.ada.port.control(transfer.id, pause)
    with refused("forbidden") as taken_back:
        await whole.control(transfer.id, resume)
    assert "A person paused it, and no assistant takes that back" in taken_back.value.problem.detail
    assert (await site.ada.port.control(transfer.id, resume)).wish == "run"
    await site.ada.port.control(transfer.id, m.ControlRequest(action="cancel"))
    await site.ada.end_of(transfer)


@pytest.mark.anyio
async def test_an_assistant_lifts_nothing_that_an_operator_set_for_its_requester(site: Site) -> None:
    (site.lab / "set").mkdir()
    (site.lab / "set" / "a").write_bytes(os.urandom(4 << 20))
    operator = await site.person("oli", "operator")
    scopes = ("transfer:read", "transfer:read:all", "transfer:plan", "transfer:run", "transfer:run:all")
    _, helper = await site.ada.token(*scopes, agent="helper")
    transfer = await site.ada.submit(await site.ada.plan("lab:/set", "archive:/copy", rate_limit_bps=1_000_000))
    lift, slow = (m.ControlRequest(action="set_rate", rate_bps=rate) for rate in (None, 200_000))
    await helper.control(transfer.id, slow)
    await helper.control(transfer.id, lift)
    await operator.port.control(transfer.id, slow)
    for asked in (lift, slow):
        with refused("forbidden") as kept:
            await helper.control(transfer.id, asked)
        assert "An operator set its rate, and no assistant takes that back" in kept.value.problem.detail
    await operator.port.control(transfer.id, m.ControlRequest(action="pause"))
    with refused("forbidden"):
        await helper.control(transfer.id, m.ControlRequest(action="resume"))
    await site.ada.port.control(transfer.id, m.ControlRequest(action="resume"))
    await site.ada.port.control(transfer.id, lift)
    await helper.control(transfer.id, slow)
    await helper.control(transfer.id, m.ControlRequest(action="cancel"))
    await site.ada.end_of(transfer)


@pytest.mark.anyio
@pytest.mark.parametrize("agent", ["helper", None])
async def test_what_an_operator_said_of_a_deadline_stands_until_its_requester_says_otherwise(
    site: Site, agent: str | None
) -> None:
    (site.lab / "set").mkdir()
    (site.lab / "set" / "a").write_bytes(os.urandom(4 << 20))
    operator = await site.person("oli", "operator")
    scopes = ("transfer:read", "transfer:read:all", "transfer:run", "transfer:run:all")
    _, program = await site.ada.token(*scopes, agent=agent)
    due = m.ControlRequest(action="set_deadline", deadline=site.clock() + timedelta(hours=2))
    none = m.ControlRequest(action="set_deadline", deadline=None, reason="others need the link")
    transfer = await site.ada.submit(await site.ada.plan("lab:/set", "archive:/copy", rate_limit_bps=1_000_000))
    assert (await program.control(transfer.id, due)).deadline is not None
    assert (await operator.port.control(transfer.id, none)).deadline is None
    with refused("forbidden") as kept:
        await program.control(transfer.id, due)
    assert "An operator set its deadline or took it away" in kept.value.problem.detail
    await site.ada.port.control(transfer.id, due)
    assert (await program.control(transfer.id, none)).deadline is None
    await site.ada.port.control(transfer.id, m.ControlRequest(action="cancel"))
    await site.ada.end_of(transfer)
