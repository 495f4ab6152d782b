"""What the host of a node says of itself."""

import asyncio
from ipaddress import ip_address
from typing import Final

from pydantic import ValidationError

from headrace.api.errors import Code, ServiceError
from headrace.api.store.tables_site import NodeRow
from headrace.client import models as m
from headrace.engine import Hub
from headrace.guardrails import shown

_NONSENSE: Final = "protocol_violation"
"""The engine's word for an answer that is none."""


async def host_of(hub: Hub, node: NodeRow, to: str | None) -> m.NodeHost:
    """Ask a node what its host is like, and for its route to the IP address `to`.

    Raises `ServiceError`: `invalid_request` for what is no address, `protocol_violation` for an answer that is none;
    and `EngineError` as `Hub.look_at_host`.
    """
    if to is not None:
        try:
            to = str(ip_address(to))
        except ValueError as error:
            raise ServiceError(Code.INVALID_REQUEST, f"`{shown(to)}` is not an IP address", fields=("to",)) from error
    told = await hub.look_at_host(node=node.key, to=to)
    try:
        # A node of the next release may say more.
        return await asyncio.to_thread(m.NodeHost.model_validate_json, told, extra="ignore")
    except ValidationError as error:
        message = (
            f"node `{node.name}` answers about its host in a form that this service does not know; its program may be "
            "of another release"
        )
        raise ServiceError(_NONSENSE, message) from error
