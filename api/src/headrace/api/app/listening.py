"""Where the service listens: addresses, their sockets, and the server that answers there."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass
from ipaddress import ip_address

import uvicorn
from starlette.types import ASGIApp

from headrace.api.http.connections import ConnectionLimits, counted
from headrace.api.settings import SettingError

_BACKLOG = 512
_MONITORING = ConnectionLimits(most=64, most_of_one=None, receive_s=5, take_s=5)
"""Connections of monitoring: of too many, those that say nothing give way."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where to listen."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str, what: str) -> "Address":
        """Read `host:port`; raises `SettingError`."""
        host, colon, port = text.rpartition(":")
        host = host.removeprefix("[").removesuffix("]")
        if not colon or not host or not port.isdigit() or int(port) > 65_535:  # noqa: PLR2004 - largest port
            message = f"{what} is `{text}`; write `host:port`, for example `127.0.0.1:8470`"
            raise SettingError(message)
        return cls(host, int(port))

    @property
    def any(self) -> bool:
        """Whether it stands for every address of this host."""
        try:
            return ip_address(self.host).is_unspecified
        except ValueError:
            return False

    @property
    def loopback(self) -> bool:
        """Whether only this host can reach it."""
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"


class Server(uvicorn.Server):
    """uvicorn, with our own signals (its own would end the process before the service is closed)."""

    def __init__(self, config: uvicorn.Config, say_ready: Callable[[], None]) -> None:
        """Call `say_ready` once requests are answered."""
        super().__init__(config)
        self._say_ready = say_ready

    def capture_signals(self) -> AbstractContextManager[None]:  # type: ignore[override] # uvicorn's is a generator
        """Leave signals to `serve`."""
        return nullcontext()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """As uvicorn does, and say when it is done."""
        await super().startup(sockets)
        if self.started:
            self._say_ready()


@asynccontextmanager
async def answering_monitoring(app: ASGIApp, listener: socket.socket | None) -> AsyncIterator[None]:
    """Answer what monitoring asks by `app` meanwhile, if there is an address for it."""
    if listener is None:
        yield
        return
    config = uvicorn.Config(
        app,
        http=counted(_MONITORING, None),  # type: ignore[arg-type] # makes a protocol
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=1,
    )
    server = Server(config, lambda: None)
    answering = asyncio.create_task(server.serve(sockets=[listener]), name="monitoring")
    try:
        yield
    finally:
        server.should_exit = True
        await answering


def metrics_url(listener: socket.socket | None) -> str | None:
    """Return where the figures are read."""
    if listener is None:
        return None
    host, port = listener.getsockname()[:2]
    return f"http://{bracketed(host)}:{port}/metrics"


def listening(address: Address) -> socket.socket:
    """Bind an address; raises `SettingError`."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((address.host, address.port))
    except OSError as error:
        listener.close()
        message = (
            f"can't listen on {address.host}:{address.port}: {error.strerror}; end the service that runs there, or "
            "take another address with --listen or --hub-listen"
        )
        raise SettingError(message) from error
    listener.listen(_BACKLOG)
    return listener


def bracketed(host: str) -> str:
    """Return a host as it stands in a URL."""
    return f"[{host}]" if ":" in host else host
