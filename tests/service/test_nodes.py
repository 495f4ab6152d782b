import asyncio
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from pydantic import ValidationError
from sqlalchemy import delete
from tests.servers.counted import counted
from tests.servers.site import WAIT_S, Site, started_site
from tests.service.refusals import refused
from tests.service.test_transfers import small_set

from headrace.api.app.hub_events import HubEvents
from headrace.api.audit import strangers
from headrace.api.jobs.local import LocalJobs
from headrace.api.settings import Settings
from headrace.api.sites.nodes import Nodes
from headrace.api.store.tables_site import NodeRow
from headrace.auth import Limit
from headrace.client import models as m
from headrace.engine import EngineError, HubEvent, Node, NodeAttached, NodeDetached, NodeRefused, NodeSpace


async def join(site: Site, token: str, name: str, roots: list[tuple[str, str, str]]) -> Node:
    state = site.folder / "state" / f"{name}-{token[-6:]}"
    state.parent.mkdir(exist_ok=True)
    return await Node.start(state_dir=str(state), name=name, roots=roots, join_token=token)


@pytest.mark.anyio
async def test_a_node_joins_with_a_one_time_token_and_its_roots_become_endpoints(site: Site) -> None:
    nodes = await site.ada.port.nodes()
    assert [(node.name, node.state, node.roots) for node in nodes] == [
        ("left", "attached", ["lab"]),
        ("right", "attached", ["archive"]),
    ]
    endpoints = await site.ada.port.endpoints()
    assert [(one.id, one.node, one.online, one.access) for one in endpoints] == [
        ("archive", "right", True, "delete"),
        ("lab", "left", True, "delete"),
    ]
    assert [event.detail["name"] for event in await site.audited("node_joined")] == ["left", "right"]


async def free_at(site: Site, endpoint: str) -> datetime:
    [found] = [one.free_at for one in await site.ada.port.endpoints() if one.id == endpoint]
    assert found is not None
    return found


@pytest.mark.anyio
async def test_what_is_free_at_an_endpoint_is_as_of_the_last_transfer_there(site: Site) -> None:
    attached = await free_at(site, "archive")
    site.clock.shift += timedelta(seconds=20)
    small_set(site)
    ended = await site.ada.end_of(await site.ada.submit(await site.ada.plan("lab:/set", "archive:/copy")))
    assert ended.state is m.TransferState.COMPLETE
    nodes, key = site.use_cases.nodes, site.nodes["right"].key

    def told() -> bool:
        space = nodes.space(key, "archive")
        return space is not None and space.at >= attached + timedelta(seconds=20)

    await site.until_nodes(told)
    assert await free_at(site, "archive") >= attached + timedelta(seconds=20)
    [archive] = [one for one in await site.ada.port.endpoints() if one.id == "archive"]
    assert (archive.free_bytes or 0) <= (archive.total_bytes or 0) > 0


@pytest.mark.anyio
async def test_what_a_node_of_before_said_is_free_keeps_its_age_when_its_clock_is_told_anew(site: Site) -> None:
    nodes, key = site.use_cases.nodes, site.nodes["right"].key
    attached = await free_at(site, "archive")
    event = nodes.attached(key)
    assert event is not None
    site.clock.shift += timedelta(seconds=20)
    await nodes.on_attached(event)
    assert await free_at(site, "archive") == attached
    root = SimpleNamespace(name="archive", free_bytes=7, total_bytes=9)
    nodes.on_space(cast("NodeSpace", SimpleNamespace(node=key, roots=[root])))
    assert await free_at(site, "archive") >= attached + timedelta(seconds=20)
    root.total_bytes = 0
    nodes.on_space(cast("NodeSpace", SimpleNamespace(node=key, roots=[root])))
    [archive] = [one for one in await site.ada.port.endpoints() if one.id == "archive"]
    assert (archive.free_bytes, archive.online) == (None, True), "what can't be measured is not called full"
    await site.stop_node("right")
    root.total_bytes = 9
    nodes.on_space(cast("NodeSpace", SimpleNamespace(node=key, roots=[root])))
    assert nodes.space(key, "archive") is None


@pytest.mark.anyio
async def test_a_node_that_dials_before_the_next_service_has_begun_is_not_told_to_join_anew(
    quiet_site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = quiet_site
    await site.start_node("left", [])
    heard: list[HubEvent] = []
    learn_known = Nodes.learn_known

    async def learn_late(nodes: Nodes) -> None:
        async with asyncio.timeout(WAIT_S):
            heard.extend(await nodes._core.hub.next_events())  # noqa: SLF001 - what dials meanwhile
        await learn_known(nodes)

    monkeypatch.setattr(Nodes, "learn_known", learn_late)
    await site.restart()
    assert [type(event) for event in heard] == [NodeAttached]
    assert await site.audited("node_refused") == []


@pytest.mark.anyio
async def test_a_node_that_dies_with_the_service_was_there_within_the_last_minute(
    quiet_site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site, noted, note_present = quiet_site, asyncio.Event(), Nodes.note_present

    async def note(nodes: Nodes) -> None:
        await note_present(nodes)
        if nodes.attached_count:
            noted.set()

    def hear_no_end(events: HubEvents, event: HubEvent) -> None:
        if not isinstance(event, NodeDetached):
            take(events, event)

    take = HubEvents.take
    monkeypatch.setattr(Nodes, "note_present", note)
    monkeypatch.setattr(HubEvents, "take", hear_no_end)
    await site.start_node("left", [])
    await site.restart()
    await site.until_nodes(lambda: site.use_cases.nodes.attached_count == 1)
    noted.clear()
    site.clock.shift += timedelta(hours=1)
    there = site.clock()
    site.service.whole.core.jobs.wake("note which nodes are attached", "")
    async with asyncio.timeout(WAIT_S):
        await noted.wait()
    await site.nodes.pop("left").close()
    await site.restart()
    site.clock.shift += timedelta(hours=1)
    [away] = await site.ada.port.nodes()
    assert away.state == "detached"
    assert away.last_seen is not None
    assert there <= away.last_seen < there + timedelta(hours=1)


@pytest.mark.anyio
async def test_health_names_the_nodes_that_are_away_to_who_may_list_them(quiet_site: Site) -> None:
    made = await quiet_site.ada.port.create_join_token(m.JoinTokenRequest(name="dtn1"))
    node = await join(quiet_site, made.token, "dtn1", [])
    nodes = quiet_site.use_cases.nodes
    await quiet_site.until_nodes(lambda: nodes.attached_count == 1)
    assert (await quiet_site.ada.port.health()).nodes_away == []
    await node.close()
    await quiet_site.until_nodes(lambda: nodes.attached_count == 0)
    assert (await quiet_site.ada.port.health()).nodes_away == ["dtn1"]
    assert (await quiet_site.use_cases.health.report(None)).nodes_away == []
    await quiet_site.ada.port.revoke_node("dtn1")
    assert (await quiet_site.ada.port.health()).nodes_away == []


@pytest.mark.anyio
async def test_a_join_token_is_good_for_one_node(quiet_site: Site) -> None:
    made = await quiet_site.ada.port.create_join_token(m.JoinTokenRequest(name="dtn1"))
    assert any(made.token in command for command in made.commands)
    first = await join(quiet_site, made.token, "dtn1", [])
    quiet_site.nodes["dtn1"] = first
    with pytest.raises(EngineError):
        await join(quiet_site, made.token, "dtn2", [])
    [refusal] = await quiet_site.audited("node_refused")
    assert "used up" in refusal.detail["reason"]


@pytest.mark.anyio
async def test_a_node_that_calls_itself_otherwise_than_its_token_is_told_the_name(quiet_site: Site) -> None:
    made = await quiet_site.ada.port.create_join_token(m.JoinTokenRequest(name="dtn1"))
    with pytest.raises(EngineError, match="join with `--name dtn1`"):
        await join(quiet_site, made.token, "dtn2", [])
    quiet_site.nodes["dtn1"] = await join(quiet_site, made.token, "dtn1", [])


@pytest.mark.anyio
async def test_joins_of_strangers_are_written_up_to_a_limit_and_then_only_counted(
    quiet_site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(strangers, "_OF_ALL", Limit(2, timedelta(hours=1)))
    core = quiet_site.service.whole.core
    costs = []
    for number in range(4):
        with counted() as cost, pytest.raises(EngineError, match="unknown, used up or expired"):
            await join(quiet_site, core.hub.join_token(secret=f"made up {number}"), "dtn1", [])
        costs.append(cost.commits)
    assert costs == [1, 1, 0, 0]
    for _ in range(2):
        await core.strangers.tell()
    said = [event.detail["reason"] for event in await quiet_site.audited("node_refused")]
    assert (len(said), said[-1]) == (3, "2 more were refused that have no line of their own")


@pytest.mark.anyio
async def test_a_join_token_expires(quiet_site: Site) -> None:
    made = await quiet_site.ada.port.create_join_token(m.JoinTokenRequest(name="dtn1", valid_s=60))
    quiet_site.clock.shift = timedelta(seconds=61)
    with pytest.raises(EngineError):
        await join(quiet_site, made.token, "dtn1", [])


@pytest.mark.anyio
async def test_two_nodes_cannot_have_one_name(site: Site) -> None:
    with refused("name_taken") as told:
        await site.ada.port.create_join_token(m.JoinTokenRequest(name="left"))
    lost = "if that node has lost its state folder, make it a new token with `headrace ca rotate left`"
    assert lost in told.value.problem.detail
    assert (await site.ada.port.rotate_node("left", m.RotationRequest())).token, "that command does it"


@pytest.mark.anyio
async def test_another_node_can_never_take_over_an_endpoints_name(site: Site, tmp_path: Path) -> None:
    (tmp_path / "evil").mkdir()
    await site.start_node("evil", [("lab", str(tmp_path / "evil"), "delete")])
    endpoints = {one.id: one.node for one in await site.ada.port.endpoints()}
    assert endpoints == {"lab": "left", "archive": "right", "evil-lab": "evil"}
    await site.ada.port.revoke_node("left")
    with refused("name_taken"):
        await site.ada.port.update_endpoint("evil-lab", m.EndpointUpdate(id="LAB"))
    assert "lab" not in {one.id for one in await site.ada.port.endpoints()}


@pytest.mark.anyio
async def test_a_node_that_comes_back_keeps_its_endpoint(site: Site) -> None:
    await site.ada.port.update_endpoint("archive", m.EndpointUpdate(id="vault", aliases=["tape"]))
    await site.stop_node("right")
    offline = {one.id: one.online for one in await site.ada.port.endpoints()}
    assert offline == {"lab": True, "vault": False}
    await site.start_node("right", [("archive", str(site.archive), "read")])
    vault = next(one for one in await site.ada.port.endpoints() if one.id == "vault")
    assert (vault.online, vault.access, vault.aliases) == (True, "read", ["tape"])
    assert (await site.ada.port.browse("TAPE", "/")).endpoint == "vault"


@pytest.mark.anyio
@pytest.mark.parametrize("name", [" lab", "a:b", "a/b", "l\u0430b", "a\u200bb"])
async def test_a_name_that_misleads_names_no_endpoint(site: Site, name: str) -> None:
    with refused("invalid_request"):
        await site.ada.port.update_endpoint("lab", m.EndpointUpdate.model_construct(id=name))


@pytest.mark.anyio
async def test_labels_are_plain_words_and_few(site: Site) -> None:
    shown = await site.ada.port.update_endpoint("lab", m.EndpointUpdate(labels={"class": "internal data"}))
    assert shown.labels == {"class": "internal data"}
    for labels in ({"a": "=b"}, {"<b>": "x"}):
        with refused("invalid_request"):
            await site.ada.port.update_endpoint("lab", m.EndpointUpdate(labels=labels))
    with pytest.raises(ValidationError, match="at most 32"):
        m.EndpointUpdate(labels={f"k{number}": "v" for number in range(33)})


@pytest.mark.anyio
async def test_a_draining_node_gets_no_new_work(site: Site) -> None:
    (site.lab / "set").mkdir()
    plan = await site.ada.plan("lab:/set", "archive:/set")
    assert (await site.ada.port.drain_node("right", drain=True)).state == "draining"
    transfer = await site.ada.submit(plan)
    async for event in site.ada.port.watch(transfer.id):
        if event.kind == "waiting":
            break
    assert "draining" in (await site.ada.port.transfer(transfer.id)).state_reason
    refused_plan = await site.ada.plan("lab:/set", "archive:/other")
    assert refused_plan.refusals[0].rule == "node_draining"
    await site.ada.port.drain_node("right", drain=False)
    assert (await site.ada.end_of(transfer)).state is m.TransferState.COMPLETE


@pytest.mark.anyio
async def test_who_drains_or_revokes_a_node_is_told_what_runs_there(site: Site) -> None:
    (site.lab / "set").mkdir()
    (site.lab / "set" / "large.bin").write_bytes(b"x" * 4_000_000)
    transfer = await site.ada.submit(await site.ada.plan("lab:/set", "archive:/copy", rate_limit_bps=8_000_000))
    async for event in site.ada.port.watch(transfer.id):
        if event.kind in {"running", "started"}:
            break
    assert (await site.ada.port.drain_node("right", drain=True)).running_transfers == 1
    assert (await site.ada.port.drain_node("right", drain=False)).running_transfers == 1
    assert (await site.ada.port.revoke_node("right")).running_transfers == 1


@pytest.mark.anyio
async def test_a_revoked_node_stays_out(site: Site) -> None:
    assert (await site.ada.port.revoke_node("right")).state == "revoked"
    assert [one.id for one in await site.ada.port.endpoints()] == ["lab"]
    await site.restart()
    assert [node.state for node in await site.ada.port.nodes() if node.name == "right"] == ["revoked"]


@pytest.mark.anyio
async def test_a_node_that_was_refused_says_why_and_since_when(site: Site) -> None:
    key = site.nodes["right"].key
    await site.stop_node("right")
    for _ in range(3):
        await site.use_cases.nodes.on_refused(key, "clock_skew", "the clocks of node and service differ by 90 s")
    await site.use_cases.nodes.on_refused(key, "version_unsupported", "the node speaks version 9")
    [right] = [node for node in await site.ada.port.nodes() if node.name == "right"]
    assert right.detail.startswith("refused: the node speaks version 9, since ")
    said = [event.detail["reason"].partition(":")[0] for event in await site.audited("node_refused")]
    assert said == ["clock_skew", "version_unsupported"]


@pytest.mark.anyio
async def test_why_a_node_is_refused_reaches_the_service(site: Site) -> None:
    await site.ada.port.revoke_node("right")
    key = site.nodes["right"].key
    await site.until_nodes(lambda: site.use_cases.nodes.refused(key) is not None)
    [right] = [node for node in await site.ada.port.nodes() if node.name == "right"]
    assert (right.state, "not enrolled" in right.detail) == ("revoked", True), right.detail


@pytest.mark.anyio
async def test_the_refusal_of_a_key_that_never_joined_is_no_work_for_the_store(
    quiet_site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = quiet_site
    await site.start_node("left", [])
    key, refusal, woken = site.nodes["left"].key, asyncio.Event(), list[tuple[str, str]]()
    take, wake = HubEvents.take, LocalJobs.wake

    def taken(self: HubEvents, event: HubEvent) -> None:
        take(self, event)
        if isinstance(event, NodeRefused) and event.node == key:
            refusal.set()

    def told(self: LocalJobs, task: str, subject: str) -> None:
        woken.append((task, subject))
        wake(self, task, subject)

    # The next service never heard of this key, which dials it all the same.
    async with site.service.whole.core.database.write() as tx:
        await tx.execute(delete(NodeRow))
    monkeypatch.setattr(HubEvents, "take", taken)
    monkeypatch.setattr(LocalJobs, "wake", told)
    await site.restart()
    async with asyncio.timeout(WAIT_S):
        await refusal.wait()
    assert ("refused", key) not in woken


@pytest.mark.anyio
async def test_a_node_that_takes_data_where_no_node_elsewhere_can_bring_it_is_named_with_what_to_do(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with started_site(tmp_path, replace(Settings(), node_name="left")) as site:
        await site.start_both()
        nodes = site.use_cases.nodes
        assert [node.detail for node in await site.ada.port.nodes()] == ["", ""], "all are on one host"
        far = SimpleNamespace(
            node="far", roots=[], missing_roots=[], clock_skew_ms=0, data_addresses=["192.0.2.7:8472"], version="0.1.0"
        )
        nodes._note(far, "far")  # type: ignore[arg-type] # noqa: SLF001 - as from elsewhere
        left, right = [node.detail for node in await site.ada.port.nodes()]
        assert left.startswith("Node `left` takes data at 127.0.0.1:"), left
        assert "where only its own host reaches it: start the service with `--data-listen ADDRESS:8472`" in left
        assert "(a unit: `HEADRACE_NODE_DATA_LISTEN` in its settings)" in left
        assert "start it with `--data-listen ADDRESS:8472`, ADDRESS" in right
        assert [left, right] == [line for line in caplog.messages if "takes data at" in line]
        assert "for nodes on other hosts" in (await token_note(site)).lower(), "the hub comes first"
        site.settings = replace(site.settings, hub_advertise="192.0.2.1:8471")
        await site.restart()
        await site.until_nodes(lambda: site.use_cases.nodes.attached_count == len(site.nodes))
        site.ada = await site.signed_in("ada")
        assert await token_note(site) == left


async def token_note(site: Site) -> str:
    name = f"dtn{len(await site.audited('join_token_made'))}"
    return (await site.ada.port.create_join_token(m.JoinTokenRequest(name=name))).only_here
