"""A node's key is its identity: who proves to be there replaces, revokes and removes it, and it never comes back."""

import base64
import hashlib
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from tests.servers.site import PASSWORD, Site, started_site
from tests.service.refusals import refused

from headrace.client import models as m
from headrace.engine import EngineError, Node


async def joined(site: Site, token: str, state: str, *roots: tuple[str, str, str], name: str = "x") -> Node:
    """Let a node join with a token, with the key in its state folder."""
    folder = site.folder / "state" / state
    return await Node.start(state_dir=str(folder), name=name, roots=list(roots), join_token=token)


async def replaced(site: Site) -> tuple[str, Node]:
    """Give node `right` another key; return the one from before, and the node."""
    before = site.nodes["right"].key
    token = (await site.ada.port.rotate_node("right", m.RotationRequest())).token
    node = await joined(site, token, "right-new", ("archive", str(site.archive), "delete"))
    await site.until_nodes(lambda: site.use_cases.nodes.attached(node.key) is not None)
    return before, node


async def key_of(site: Site, name: str) -> str:
    return next(node.key for node in await site.ada.port.nodes() if node.name == name)


@pytest.mark.anyio
async def test_a_node_takes_another_key_and_keeps_its_name_its_endpoints_and_its_halts(site: Site) -> None:
    await site.ada.port.update_endpoint("archive", m.EndpointUpdate(id="vault", labels={"class": "phi"}))
    halt = await site.ada.port.halt(m.HaltRequest(scope="node", subject="right", reason="looked at"))
    before, node = await replaced(site)
    site.nodes["new"] = node
    await site.until_nodes(lambda: site.use_cases.nodes.attached(before) is None)
    assert await key_of(site, "right") == node.key != before
    [vault] = [one for one in await site.ada.port.endpoints() if one.id == "vault"]
    assert (vault.node, vault.online, vault.labels) == ("right", True, {"class": "phi"})
    (site.lab / "set").mkdir()
    held = await site.ada.plan("lab:/set", "vault:/set")
    assert held.refusals[0].rule == "halted", held.summary
    await site.ada.port.release_halt(halt.id)
    moved = await site.ada.end_of(await site.ada.submit(await site.ada.plan("lab:/set", "vault:/set")))
    assert moved.state is m.TransferState.COMPLETE
    [event] = await site.audited("node_key_rotated")
    assert event.detail == {"name": "right", "key": node.key, "former_key": before}


@pytest.mark.anyio
async def test_what_runs_under_a_key_that_is_replaced_stops(site: Site) -> None:
    (site.lab / "set").mkdir()
    (site.lab / "set" / "large.bin").write_bytes(b"x" * 4_000_000)
    transfer = await site.ada.submit(await site.ada.plan("lab:/set", "archive:/copy", rate_limit_bps=8_000_000))
    async for event in site.ada.port.watch(transfer.id):
        if event.kind in {"running", "started"}:
            break
    _, site.nodes["new"] = await replaced(site)
    ended = await site.ada.end_of(transfer)
    assert ended.state is m.TransferState.FAILED
    assert "plan again" in ended.state_reason or "revoked" in ended.state_reason, ended.state_reason


@pytest.mark.anyio
async def test_a_key_that_was_replaced_never_joins_again(site: Site) -> None:
    _, site.nodes["new"] = await replaced(site)
    await site.nodes.pop("right").close()
    token = (await site.ada.port.create_join_token(m.JoinTokenRequest(name="another"))).token
    (site.folder / "state" / "right" / "node.toml").unlink()
    with pytest.raises(EngineError, match="taken from a node"):
        await joined(site, token, "right")


@pytest.mark.anyio
async def test_a_token_of_a_rotation_is_for_a_key_that_is_new(site: Site) -> None:
    token = (await site.ada.port.rotate_node("right", m.RotationRequest())).token
    await site.nodes.pop("left").close()
    (site.folder / "state" / "left" / "node.toml").unlink()
    with pytest.raises(EngineError, match="belongs to a node already"):
        await joined(site, token, "left")
    assert await key_of(site, "right") == site.nodes["right"].key
    await site.ada.port.revoke_node("right")
    with pytest.raises(EngineError, match="revoked or removed meanwhile"):
        await joined(site, token, "fresh")
    with refused("node_revoked"):
        await site.ada.port.rotate_node("right", m.RotationRequest())


@pytest.mark.anyio
async def test_a_revoked_node_is_removed_and_joins_anew_with_another_key(site: Site) -> None:
    with refused("node_not_revoked"):
        await site.ada.port.remove_node("right")
    await site.ada.port.revoke_node("right")
    assert (await site.ada.port.remove_node("right")).name == "right"
    assert [node.name for node in await site.ada.port.nodes()] == ["left"]
    await site.nodes.pop("right").close()
    token = (await site.ada.port.create_join_token(m.JoinTokenRequest(name="right"))).token
    (site.folder / "state" / "right" / "node.toml").unlink()
    with pytest.raises(EngineError, match="taken from a node"):
        await joined(site, token, "right")
    site.nodes["new"] = node = await joined(site, token, "anew", ("archive", str(site.archive), "read"), name="right")
    await site.until_nodes(lambda: site.use_cases.nodes.attached(node.key) is not None)
    endpoints = {one.id: (one.node, one.access) for one in await site.ada.port.endpoints()}
    assert endpoints == {"lab": ("left", "delete"), "archive": ("right", "read")}


@pytest.mark.anyio
async def test_who_runs_nodes_strips_no_endpoint_of_its_labels(site: Site) -> None:
    opa = await site.person("opa", "operator")
    await site.ada.port.update_endpoint("archive", m.EndpointUpdate(labels={"class": "phi"}))
    await opa.port.revoke_node("right")
    with refused("forbidden"):
        await opa.port.remove_node("right")
    await site.nodes.pop("right").close()
    token = (await opa.port.create_join_token(m.JoinTokenRequest(name="again"))).token
    site.nodes["again"] = node = await joined(
        site, token, "again", ("archive", str(site.archive), "delete"), name="again"
    )
    await site.until_nodes(lambda: site.use_cases.nodes.attached(node.key) is not None)
    assert {one.id for one in await site.ada.port.endpoints()} == {"lab", "again-archive"}


@pytest.mark.anyio
async def test_a_node_that_drains_drains_under_another_key(site: Site) -> None:
    await site.ada.port.drain_node("right", drain=True)
    _, site.nodes["new"] = await replaced(site)
    assert [node.state for node in await site.ada.port.nodes() if node.name == "right"] == ["draining"]


@pytest.mark.anyio
async def test_whoever_has_a_session_alone_changes_no_key(tmp_path: Path) -> None:
    async with started_site(tmp_path, proof="password") as site:
        await site.start_node("left", [])
        port = site.ada.port
        wanting = (
            lambda: port.create_join_token(m.JoinTokenRequest(name="x")),
            lambda: port.rotate_node("left", m.RotationRequest()),
            lambda: port.revoke_node("left"),
        )
        for call in wanting:
            with refused("proof_needed"):
                await call()
        proof = m.Proven(password=PASSWORD)
        assert (await port.rotate_node("left", m.RotationRequest(password=PASSWORD))).name == "left"
        assert (await port.revoke_node("left", proof)).state == "revoked"
        with refused("proof_needed"):
            await port.remove_node("left")
        await port.remove_node("left", proof)


@pytest.mark.anyio
async def test_a_pin_is_the_hash_of_the_key_as_other_tools_take_it(quiet_site: Site) -> None:
    await quiet_site.start_node("left", [])
    [node] = await quiet_site.ada.port.nodes()
    raw = base64.urlsafe_b64decode(node.key.removeprefix("ed25519:") + "=")
    spki = Ed25519PublicKey.from_public_bytes(raw).public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    assert node.pin == f"sha256//{base64.b64encode(hashlib.sha256(spki).digest()).decode()}"
