"""The keys of nodes: a node's key is its identity, so a key is taken over, or retired for good, in one place."""

import base64
import hashlib

from sqlalchemy import delete, select, update

from headrace.api.core import Core
from headrace.api.store import Tx
from headrace.api.store.tables_site import EndpointNameRow, EndpointRow, HaltRow, NodeRow, RetiredKeyRow
from headrace.guardrails import new_id

_SPKI = bytes.fromhex("302a300506032b6570032100")
"""What stands before the 32 bytes of an Ed25519 key in a SubjectPublicKeyInfo (RFC 8410)."""


def pin_of(key: str) -> str:
    """Return the SPKI pin of a key `ed25519:...`, as `curl --pinnedpubkey` and others take it."""
    raw = base64.urlsafe_b64decode(key.removeprefix("ed25519:") + "=")
    return f"sha256//{base64.b64encode(hashlib.sha256(_SPKI + raw).digest()).decode()}"


async def retired(tx: Tx, key: str) -> RetiredKeyRow | None:
    """Return how a key ended that belonged to a node once."""
    return await tx.scalar(select(RetiredKeyRow).where(RetiredKeyRow.key == key))


async def take_over(tx: Tx, core: Core, node: NodeRow, key: str) -> None:
    """Give a node another key: its name, id, endpoints and halts stay; the key from before is retired."""
    node_id, name, old = node.id, node.name, node.key
    # Endpoints refer to the key, so both keys stand there until the endpoints have moved.
    fresh = NodeRow(id=new_id("nd"), name=f"{name}\n", key=key, state=node.state, enrolled=core.clock())
    tx.add(fresh)
    await tx.flush()
    await tx.execute(update(EndpointRow).where(EndpointRow.node_key == old).values(node_key=key))
    await tx.execute(update(HaltRow).where(HaltRow.scope == "node", HaltRow.subject == old).values(subject=key))
    await tx.delete(node)
    tx.add(RetiredKeyRow(key=old, node_name=name, reason="rotated", at=core.clock()))
    await tx.flush()
    fresh.id, fresh.name = node_id, name
    await tx.flush()


async def remove(tx: Tx, core: Core, node: NodeRow) -> None:
    """Remove a node and its endpoints, so that both names are free again; its key is not."""
    theirs = select(EndpointRow.pk).where(EndpointRow.node_key == node.key)
    await tx.execute(delete(EndpointNameRow).where(EndpointNameRow.endpoint.in_(theirs)))
    await tx.execute(delete(EndpointRow).where(EndpointRow.node_key == node.key))
    await tx.delete(node)
    tx.add(RetiredKeyRow(key=node.key, node_name=node.name, reason="removed", at=core.clock()))
    await tx.flush()
