"""Connections: how many there may be, and how long each may wait for its client. uvicorn limits neither.

A connection *waits for its client* while no whole request has come in (TLS handshake, head, body), and while the
client does not take the answer. Those that wait give way, the oldest first, when there are too many: whoever sends a
request at once gets in, however many silent connections somebody holds.
"""

import asyncio
import logging
import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from ipaddress import IPv4Network, IPv6Network, ip_address
from typing import Any, Final, Protocol

import h11
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from headrace.api.errors import Code
from headrace.api.http.answers import PROBLEM_TYPE
from headrace.api.problems import make
from headrace.auth import network_of

_log = logging.getLogger(__name__)

_UNKNOWN: Final = "unknown"


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """How many connections there may be, and of one address (`None`: all come through a proxy); and how long."""

    most: int
    most_of_one: int | None
    receive_s: float
    """For a TLS handshake and a request's head."""
    take_s: float
    """For a client to take some of an answer."""
    proxies: Sequence[IPv4Network | IPv6Network] = ()
    """Addresses that many clients share: `most_of_one` is not for them."""

    def of_one(self, address: str) -> int | None:
        """Return how many connections this address may have; `None`: as many as there may be."""
        try:
            shared = any(ip_address(address) in proxy for proxy in self.proxies)
        except ValueError:
            shared = False
        return None if shared else self.most_of_one


class Closable(Protocol):
    """What the ledger counts."""

    def give_way(self) -> None:
        """End at once."""


@dataclass(slots=True)
class _Of:
    """The connections of one address; those that wait for their client, the oldest first."""

    count: int = 0
    waiting: dict[Closable, None] = field(default_factory=dict)


class Connections:
    """The ledger of connections."""

    def __init__(self, limits: ConnectionLimits) -> None:
        """Count none yet."""
        self.limits = limits
        self._networks: dict[Closable, str] = {}
        self._of: dict[str, _Of] = {}
        self._waiting: dict[Closable, None] = {}

    def __len__(self) -> int:
        """How many there are."""
        return len(self._networks)

    def admit(self, connection: Closable, address: str) -> bool:
        """Count a new connection, which waits for its client; returns whether there was or could be made room."""
        most_of_one = self.limits.of_one(address)
        # A proxy does not share its count with its neighbours in an IPv6 network.
        network = network_of(address) if most_of_one is not None else f"proxy {address}"
        of = self._of.get(network)
        if of is not None and most_of_one is not None and of.count >= most_of_one and not self._make_room(of.waiting):
            return False
        if len(self._networks) >= self.limits.most and not self._make_room(self._waiting):
            return False
        self._networks[connection] = network
        self._of.setdefault(network, _Of()).count += 1
        self.waits(connection)
        return True

    def waits(self, connection: Closable) -> None:
        """Note that a connection waits for its client from now on."""
        network = self._networks.get(connection)
        if network is not None:
            self._waiting[connection] = self._of[network].waiting[connection] = None

    def works(self, connection: Closable) -> None:
        """Note that a connection has brought a request, which is the service's to answer."""
        network = self._networks.get(connection)
        if network is not None:
            self._waiting.pop(connection, None)
            self._of[network].waiting.pop(connection, None)

    def gone(self, connection: Closable) -> None:
        """Count a connection no longer; again, nothing happens."""
        self.works(connection)
        network = self._networks.pop(connection, None)
        if network is not None:
            self._of[network].count -= 1
            if not self._of[network].count:
                del self._of[network]

    def _make_room(self, waiting: dict[Closable, None]) -> bool:
        oldest = next(iter(waiting), None)
        if oldest is None:
            return False
        self.gone(oldest)
        oldest.give_way()
        return True


class Connection(H11Protocol):
    """uvicorn's connection, counted and limited in time; it makes TLS itself, so that handshakes are, too."""

    def __init__(
        self,
        connections: Connections,
        tls: ssl.SSLContext | None,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        """Count in `connections`; `tls` is the context of a service that serves https itself."""
        super().__init__(config, server_state, app_state, _loop)
        self._ledger = connections
        self._tls = tls
        self._raw: asyncio.Transport | None = None
        self._securing: asyncio.Task[None] | None = None
        self._early = b""
        self._idle_limit: asyncio.TimerHandle | None = None
        self._take_limit: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as in uvicorn
        """Begin, if there is room."""
        self._raw = transport
        peer = transport.get_extra_info("peername")
        if not self._ledger.admit(self, str(peer[0]) if peer else _UNKNOWN):
            transport.abort()
            return
        self._limit_idle()
        if self._tls is None:
            super().connection_made(transport)
        else:
            self._securing = self.loop.create_task(self._secure(transport, self._tls))

    async def _secure(self, transport: asyncio.Transport, tls: ssl.SSLContext) -> None:
        secured: asyncio.Transport | None = None
        try:
            secured = await self.loop.start_tls(
                transport, self, tls, server_side=True, ssl_handshake_timeout=self._ledger.limits.receive_s
            )
        except OSError as error:
            _log.debug("no TLS connection came about: %s", error)
        if secured is None or secured.is_closing():
            transport.abort()
            self._end()
            return
        super().connection_made(secured)
        if self._early:
            early, self._early = self._early, b""
            self.data_received(early)

    def data_received(self, data: bytes) -> None:
        """Read on."""
        if self.transport is None:
            self._early += data  # it came with the end of the handshake
            return
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        """Wait for the next request, for no longer than for the first."""
        self._limit_idle()
        super().on_response_complete()
        self._look()

    def pause_writing(self) -> None:
        """Wait for the client to take what was written, for a while."""
        super().pause_writing()
        if self._take_limit is None:
            self._take_limit = self.loop.call_later(self._ledger.limits.take_s, self.give_way)
        self._look()

    def resume_writing(self) -> None:
        """Go on."""
        super().resume_writing()
        _end_timer(self._take_limit)
        self._take_limit = None
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        self._end()
        if self.transport is not None:
            super().connection_lost(exc)

    def give_way(self) -> None:
        """End at once."""
        if self._raw is not None:
            (self.transport or self._raw).abort()

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP with a problem document, if an answer can still begin."""
        if self.conn.our_state not in {h11.IDLE, h11.SEND_RESPONSE}:
            self.transport.close()
            return
        body = make(Code.INVALID_REQUEST, f"{msg} Send HTTP/1.1.").model_copy(update={"status": 400})
        headers = [("content-type", PROBLEM_TYPE), ("connection", "close")]
        parts = (h11.Response(status_code=400, headers=headers), h11.Data(data=body.model_dump_json().encode()))
        for part in (*parts, h11.EndOfMessage()):
            self.transport.write(self.conn.send(part) or b"")
        self.transport.close()

    def _look(self) -> None:
        """Note for whom this connection waits now."""
        answers = self.cycle is not None and not self.cycle.response_complete
        if answers:
            _end_timer(self._idle_limit)
        if answers and not self.cycle.more_body and self._take_limit is None:
            self._ledger.works(self)
        else:
            self._ledger.waits(self)

    def _limit_idle(self) -> None:
        _end_timer(self._idle_limit)
        self._idle_limit = self.loop.call_later(self._ledger.limits.receive_s, self.give_way)

    def _end(self) -> None:
        self._ledger.gone(self)
        _end_timer(self._idle_limit)
        _end_timer(self._take_limit)


def counted(limits: ConnectionLimits, tls: ssl.SSLContext | None) -> Callable[..., asyncio.Protocol]:
    """Return what makes uvicorn's connections within `limits`."""
    return partial(Connection, Connections(limits), tls)


def _end_timer(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
