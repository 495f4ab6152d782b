"""A node's owner chooses its roots, and makes neither endpoints nor events without end. What is gone is removed."""

from datetime import timedelta
from pathlib import Path

import pytest
from tests.servers.site import Site
from tests.service.refusals import refused
from tests.service.test_transfers import until

from headrace.api.sites import endpoints
from headrace.client import HeadraceError
from headrace.client import models as m

pytestmark = pytest.mark.anyio


async def exports(site: Site, *roots: str, access: str = "read") -> str:
    """Let the node `dtn1` attach anew with these roots; return its key."""
    folder = site.folder / "dtn1"
    folder.mkdir(exist_ok=True)
    if "dtn1" in site.nodes:
        await site.stop_node("dtn1")
    await site.start_node("dtn1", [(root, str(folder), access) for root in roots])
    return site.nodes["dtn1"].key


async def accesses(site: Site) -> dict[str, str]:
    return {one.id: one.access for one in await site.ada.port.endpoints() if one.node == "dtn1"}


async def left_out(site: Site) -> list[m.HealthCause]:
    health = await site.ada.port.health()
    assert health.status == "ok", "one node's roots are no trouble of the others"
    return [one for one in health.causes if one.code is m.HealthCode.ROOTS_LEFT_OUT]


async def look_again(site: Site, key: str) -> bool:
    """Let the service look at a node as it does by itself later on; return whether it wants to look once more."""
    return await site.service.whole.hub_events._on_node(key) is not None  # noqa: SLF001 - the job itself


async def test_a_node_that_names_other_roots_each_time_has_no_more_endpoints_than_it_may(
    quiet_site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoints, "MOST_OF_NODE", 3)
    site = quiet_site
    await exports(site, "a", "b")
    assert await left_out(site) == []
    key = await exports(site, "c", "d", "e")
    assert set(await accesses(site)) == {"a", "b", "c"}
    [cause] = await left_out(site)
    assert cause.sentence.startswith("node `dtn1`: 2 roots of it have no endpoint: a node has at most 3")
    assert "headrace endpoints remove" in cause.what_to_do
    [node] = await site.ada.port.nodes()
    assert cause.sentence.removeprefix("node `dtn1`: ") in node.detail
    assert await look_again(site, key), "an administrator may make room"
    await site.ada.port.remove_endpoint("a")
    await site.ada.port.remove_endpoint("b")
    assert not await look_again(site, key)
    assert set(await accesses(site)) == {"c", "d", "e"}
    assert await left_out(site) == []


async def test_a_node_that_changes_access_each_time_makes_no_more_audit_events_an_hour_than_it_may(
    quiet_site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoints, "MOST_AN_HOUR", 3)
    site = quiet_site
    await exports(site, "a", "b")
    key = await exports(site, "a", "b", access="write")
    assert await accesses(site) == {"a": "write", "b": "read"}
    for access in ("read", "write", "read", "write"):
        key = await exports(site, "a", "b", access=access)
    assert await accesses(site) == {"a": "write", "b": "read"}, "what the audit log does not say is not so"
    assert len(await site.audited("endpoint_changed")) == 1
    [cause] = await left_out(site)
    assert "1 root of it waits for an endpoint or a changed access: at most 3" in cause.sentence
    assert await look_again(site, key)
    site.clock.shift += timedelta(hours=1)
    assert not await look_again(site, key)
    site.ada = await site.signed_in("ada")
    assert await accesses(site) == {"a": "write", "b": "write"}
    assert len(await site.audited("endpoint_changed")) == 2
    assert await left_out(site) == []


async def test_of_many_roots_that_a_node_does_not_offer_the_health_names_a_few(quiet_site: Site) -> None:
    await exports(quiet_site, *"abcdefg")
    await exports(quiet_site)
    causes = [one.sentence for one in (await quiet_site.ada.port.health()).causes]
    assert len(causes) == 5
    assert causes[-1].endswith("(endpoint `e`), and 2 more")


async def why_not(site: Site, endpoint: str) -> str:
    with pytest.raises(HeadraceError) as refusal:
        await site.ada.port.remove_endpoint(endpoint)
    assert (refusal.value.problem.code, refusal.value.problem.status) == ("endpoint_in_use", 409)
    return refusal.value.problem.detail


async def test_an_endpoint_that_its_node_has_no_longer_is_removed_once_nothing_can_start_there(site: Site) -> None:
    (site.lab / "set").mkdir()
    (site.lab / "set" / "a").write_text("a")
    assert "`left` still exports the root `lab`" in await why_not(site, "lab")
    plan = await site.ada.plan("lab:/set", "archive:/set")
    later = await site.ada.submit(
        await site.ada.plan("lab:/set", "archive:/later", start=site.clock() + timedelta(days=1))
    )
    await site.ada.port.update_endpoint("archive", m.EndpointUpdate(aliases=["vault"], labels={"class": "phi"}))
    held = await site.ada.port.halt(m.HaltRequest(scope="endpoint", subject="archive", reason="it is gone"))
    await site.stop_node("right")
    assert "not attached, so nobody knows" in await why_not(site, "vault")
    await site.start_node("right", [("other", str(site.archive), "read")])
    assert f"the transfer `{later.id}` may still start there" in await why_not(site, "archive")
    await site.ada.port.control(later.id, m.ControlRequest(action="cancel"))
    await until(site, later, "canceled")
    assert f"the plan `{plan.id}` may still start there" in await why_not(site, "archive")
    await site.ada.port.drop_plan(plan.id)
    assert "it is halted" in await why_not(site, "archive")
    await site.ada.port.release_halt(held.id)
    opa = await site.person("opa", "operator")
    with refused("forbidden"):  # it frees names, by which policy decides, and takes labels away
        await opa.port.remove_endpoint("archive")
    removed = await site.ada.port.remove_endpoint("vault")
    assert (removed.id, removed.online, removed.labels) == ("archive", False, {"class": "phi"})
    assert {one.id for one in await site.ada.port.endpoints()} == {"lab", "other"}
    [event] = await site.audited("endpoint_removed")
    assert (event.person, event.detail["endpoint"], event.detail["root"]) == (
        site.ada.principal.id,
        "archive",
        "archive",
    )
    assert event.detail["labels"] == '{"class": "phi"}'
    assert (await site.ada.port.update_endpoint("other", m.EndpointUpdate(aliases=["archive"]))).aliases == ["archive"]


async def test_an_endpoint_is_kept_while_a_transfer_that_failed_there_may_be_tried_again(site: Site) -> None:
    (site.lab / "set").mkdir()
    (site.lab / "set" / "a").write_text("a")
    (site.archive / "set" / "a").mkdir(parents=True)
    ended = await site.ada.end_of(await site.ada.submit(await site.ada.plan("lab:/set", "archive:/set")))
    assert ended.state is m.TransferState.PARTIAL, ended.summary
    await site.stop_node("right")
    await site.start_node("right", [("other", str(site.archive), "read")])
    assert f"the transfer `{ended.id}` may still start there" in await why_not(site, "archive")
    site.clock.shift += timedelta(seconds=site.settings.retry_valid_s + 3600)
    site.ada = await site.signed_in("ada")
    assert (await site.ada.port.remove_endpoint("archive")).id == "archive"


async def test_a_root_that_can_not_be_opened_now_is_still_its_nodes(site: Site, tmp_path: Path) -> None:
    await site.stop_node("right")
    await site.start_node("right", [("archive", str(tmp_path / "unmounted"), "delete")])
    assert "`right` still exports the root `archive`" in await why_not(site, "archive")
