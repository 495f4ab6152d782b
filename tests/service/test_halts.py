"""The kill switch: what is held stops and waits, and goes on when it is released."""

import asyncio
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from tests.conformance.identity_store_conformance import bind
from tests.servers.site import WAIT_S, Site, digest_of, started_site
from tests.service.refusals import refused
from tests.service.test_transfers import SLOW_BPS, large_set, small_set, until, until_durable

from headrace.api.app.answering import standing_halts
from headrace.api.data_folder import HALT, LAST_START
from headrace.api.errors import ServiceError
from headrace.api.people.sql_identities import SqlIdentityStore
from headrace.api.signing.signer import Signer
from headrace.api.sites.halts import LOOK_S, Work
from headrace.api.store import Tx
from headrace.api.store.tables_work import TransferRow
from headrace.api.transfers.attempts import Attempts
from headrace.api.transfers.run_state import Run
from headrace.api.transfers.state_machine import Standing
from headrace.auth import Arrival, GroupBinding, Role
from headrace.client import models as m


async def running(site: Site) -> m.Transfer:
    large_set(site)
    transfer = await site.ada.submit(await site.ada.plan("lab:/set", "archive:/copy", rate_limit_bps=4 * SLOW_BPS))
    return await until_durable(site, transfer)


def asked(scope: str, subject: str) -> m.HaltRequest:
    return m.HaltRequest.model_validate({"scope": scope, "subject": subject, "reason": "storage maintenance"})


@pytest.mark.anyio
@pytest.mark.parametrize("scope", ["everything", "transfer", "person", "endpoint", "node"])
async def test_what_is_held_waits_with_the_reason_and_goes_on_when_it_is_released(site: Site, scope: str) -> None:
    transfer = await running(site)
    subject = {"transfer": transfer.id, "person": "ada", "endpoint": "archive", "node": "left"}.get(scope, "")
    operator = await site.person("oli", "operator")
    held = await operator.port.halt(asked(scope, subject))
    waiting = await until(site, transfer, "waiting")
    assert "storage maintenance" in waiting.state_reason
    assert [one.id for one in await operator.port.halts()] == [held.id]
    await operator.port.release_halt(held.id)
    ended = await site.ada.end_of(transfer)
    assert ended.state is m.TransferState.COMPLETE, ended.summary
    [event] = await site.audited("halted")
    assert (event.person, event.detail["reason"]) == (operator.principal.id, "storage maintenance")
    assert len(await site.audited("halt_released")) == 1


@pytest.mark.anyio
async def test_what_waits_for_its_release_is_only_looked_at_and_begins_once_when_it_is_released(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    transfer = await running(site)
    operator = await site.person("oli", "operator")
    held = await operator.port.halt(asked("endpoint", "archive"))
    await until(site, transfer, "waiting")
    begin, halted, begun, looks = Attempts.begin, Signer.halted, list[str](), asyncio.Semaphore(0)

    async def begins(self: Attempts, run: Run, standing: Standing) -> bool:
        begun.append(run.transfer)
        return await begin(self, run, standing)

    async def looked(self: Signer, tx: Tx, row: TransferRow) -> str:
        looks.release()
        return await halted(self, tx, row)

    monkeypatch.setattr(Attempts, "begin", begins)
    monkeypatch.setattr(Signer, "halted", looked)
    for _ in range(3):
        site.use_cases.scheduler.wake(transfer.id)
        async with asyncio.timeout(WAIT_S):
            await looks.acquire()
    assert begun == []
    await operator.port.release_halt(held.id)
    assert (await site.ada.end_of(transfer)).state is m.TransferState.COMPLETE
    assert begun == [transfer.id]


@pytest.mark.anyio
async def test_what_an_assistant_runs_stops_when_it_is_halted_and_not_what_its_person_runs(site: Site) -> None:
    large_set(site)
    _, helper = await site.ada.token("transfer:read", "transfer:plan", "transfer:run", agent="helper")
    slots = {"action": "copy", "source": "lab:/set", "destination": "archive:/its", "rate_limit_bps": 4 * SLOW_BPS}
    asked_for = await helper.create_plan(m.PlanRequest(intent=m.TransferIntent.model_validate(slots)))
    plan = await helper.plan(asked_for.id, wait_s=30)
    its = await until_durable(site, await helper.submit(m.SubmitRequest(plan_digest=digest_of(plan))))
    own = await site.ada.submit(await site.ada.plan("lab:/set", "archive:/own", rate_limit_bps=4 * SLOW_BPS))
    await until_durable(site, own)
    halted = await site.ada.port.halt(asked("agent", "helper"))
    waiting = await until(site, its, "waiting")
    assert "the agent `helper`: “storage maintenance”" in waiting.state_reason
    assert (await site.ada.end_of(own)).state is m.TransferState.COMPLETE
    assert (await site.ada.port.transfer(its.id)).state is m.TransferState.WAITING
    await site.ada.port.release_halt(halted.id)
    assert (await site.ada.end_of(its)).state is m.TransferState.COMPLETE


@pytest.mark.anyio
async def test_the_file_is_noticed_by_the_next_look_of_the_running_service_itself(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    transfer = await running(site)
    stops = list[str]()
    stop = Attempts.stop

    async def told(self: Attempts, run: Run, reason: str) -> bool:
        stops.append(reason)
        return await stop(self, run, reason)

    monkeypatch.setattr(Attempts, "stop", told)
    (site.settings.data / HALT).write_text("storage maintenance")
    assert LOOK_S <= 1
    waiting = await until(site, transfer, "waiting")
    assert "storage maintenance" in waiting.state_reason
    # One word to the nodes, and not the end of a ticket's time: that would take minutes.
    assert ["storage maintenance" in reason for reason in stops] == [True]
    (site.settings.data / HALT).unlink()
    assert (await site.ada.end_of(transfer)).state is m.TransferState.COMPLETE


@pytest.mark.anyio
@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo, partial(Path.symlink_to, target=HALT)])
async def test_whatever_stands_in_the_place_of_the_file_halts_everything(
    quiet_site: Site, make: Callable[[Path], None]
) -> None:
    make(quiet_site.settings.data / HALT)
    reason = "the file `halt` in the data folder can't be read"
    await quiet_site.use_cases.halts.look()
    assert (await quiet_site.ada.port.health()).halted == reason
    [halted] = await quiet_site.ada.port.halts()
    assert (halted.scope, halted.reason) == ("everything", reason)
    async with quiet_site.service.whole.core.database.read() as tx:
        with pytest.raises(ServiceError) as refusal:
            await quiet_site.use_cases.halts.require_none(tx, Work("ada", None, ()))
    assert refusal.value.code == "halted"
    assert refusal.value.detail.startswith("everything is halted here: “the file")
    assert refusal.value.detail.endswith("until whoever runs the service removes the file `halt` in its data folder")


@pytest.mark.anyio
async def test_a_hold_of_others_stops_nobody_else(site: Site) -> None:
    operator, other = await site.person("oli", "operator"), await site.person("eve", "requester")
    await operator.port.halt(asked("person", "eve"))
    await operator.port.halt(asked("agent", "helper"))
    (site.lab / "set").mkdir()
    (site.lab / "set" / "a.txt").write_text("a")
    _, helper = await site.ada.token("transfer:read", "transfer:plan", agent="helper")
    with refused("halted"):
        await other.port.browse("lab", "/set")
    with refused("halted"):
        await helper.browse("lab", "/set")
    plan = await site.ada.plan("lab:/set", "archive:/set")
    assert (await site.ada.end_of(await site.ada.submit(plan))).state is m.TransferState.COMPLETE


@pytest.mark.anyio
async def test_a_halt_of_an_endpoint_stops_no_other_endpoint_of_its_node(tmp_path: Path) -> None:
    async with started_site(tmp_path) as site:
        (site.folder / "scratch").mkdir()
        roots = [("archive", str(site.archive), "delete"), ("scratch", str(site.folder / "scratch"), "delete")]
        await site.start_node("left", [("lab", str(site.lab), "delete")])
        await site.start_node("right", roots)
        small_set(site)
        halted = await site.ada.plan("lab:/set", "scratch:/set")
        await site.ada.port.halt(asked("endpoint", "scratch"))
        with refused("halted"):
            await site.ada.submit(halted)
        ended = await site.ada.end_of(await site.ada.submit(await site.ada.plan("lab:/set", "archive:/set")))
        assert ended.state is m.TransferState.COMPLETE, ended.summary


@pytest.mark.anyio
async def test_a_hold_is_an_operators_act_and_names_what_there_is(quiet_site: Site) -> None:
    operator, viewer = await quiet_site.person("oli", "operator"), await quiet_site.person("vic", "viewer")
    with refused("forbidden"):
        await viewer.port.halt(asked("everything", ""))
    _, token = await operator.token("node:write")
    with refused("session_needed"):
        await token.halt(asked("everything", ""))
    for scope, code in (
        ("transfer", "unknown_transfer"),
        ("person", "unknown_person"),
        ("endpoint", "unknown_endpoint"),
        ("node", "unknown_node"),
        ("everything", "invalid_request"),
    ):
        with refused(code):
            await operator.port.halt(asked(scope, "nothing"))
    held = await operator.port.halt(asked("everything", ""))
    with refused("halt_state"):
        await operator.port.halt(asked("everything", ""))
    await operator.port.release_halt(held.id)
    with refused("unknown_halt"):
        await operator.port.release_halt(held.id)


@pytest.mark.anyio
async def test_a_name_that_two_people_have_halts_neither(quiet_site: Site) -> None:
    core, operator = quiet_site.service.whole.core, await quiet_site.person("oli", "operator")
    store, now = SqlIdentityStore(core.database, core.audit, core.reactions), core.clock()
    await bind(store, GroupBinding(issuer="https://corp", group="staff", roles=frozenset({Role.REQUESTER})))
    for number in ("1", "2"):
        twin = Arrival(issuer="https://corp", subject=number, name="Alice (corp)", groups=frozenset({"staff"}))
        await store.arrive(twin, f"pn_{number}", now)
    with refused("invalid_request"):
        await operator.port.halt(asked("person", "Alice (corp)"))
    assert (await operator.port.halt(asked("person", "pn_2"))).subject_name == "Alice (corp) (https://corp)"
    auditor = await quiet_site.person("aud", "auditor")
    arrived = await auditor.port.audit(person="Alice (corp)", kind="person_arrived")
    assert [one.subject for one in arrived] == ["pn_1", "pn_2"]


@pytest.mark.anyio
async def test_an_id_halts_its_person_whoever_takes_it_for_a_name(quiet_site: Site) -> None:
    core, operator = quiet_site.service.whole.core, await quiet_site.person("oli", "operator")
    mal = await quiet_site.person("mal", "requester")
    store = SqlIdentityStore(core.database, core.audit, core.reactions)
    await bind(store, GroupBinding(issuer="https://corp", group="staff", roles=frozenset({Role.REQUESTER})))
    friend = Arrival(issuer="https://corp", subject="1", name=mal.principal.id, groups=frozenset({"staff"}))
    await store.arrive(friend, "pn_1", core.clock())
    halted = await operator.port.halt(asked("person", mal.principal.id))
    assert (halted.subject, halted.subject_name) == (mal.principal.id, "mal")


@pytest.mark.anyio
async def test_a_start_says_what_is_halted_from_before_and_how_it_goes_on(
    quiet_site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    data, ada = quiet_site.settings.data, quiet_site.ada
    assert await standing_halts(quiet_site.service) == []
    halt = await ada.port.halt(m.HaltRequest(scope="agent", subject="helper", reason="water\nin the hall"))
    (data / HALT).write_text("a copy was put back", encoding="utf-8")
    (data / LAST_START).unlink(missing_ok=True)
    (data / LAST_START).mkdir()
    await quiet_site.restart()
    said = await standing_halts(quiet_site.service)
    assert said[0].startswith("everything, and nothing of it is started or moved: a copy was put back")
    assert f"(to go on: remove the file `{data / HALT}`)" in said[0]
    assert said[1].startswith("the agent `helper`, and nothing of it is started or moved: water")
    assert f"(to go on: `headrace release {halt.id}`)" in said[1]
    assert "\n" not in said[1]
    assert f"halted: {said[1]}" in caplog.text
    # What can't be kept for the next start stops none.
    assert f"can't be kept for the next one: `{data / LAST_START}` on the host" in caplog.text
