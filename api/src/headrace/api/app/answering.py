"""How a process of the service answers HTTP: under which names, within which limits, and what it says when it does."""

import json
import logging
import os
import resource
import socket
import ssl
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal
from urllib.parse import urlsplit

import typer
import uvicorn
from starlette.types import ASGIApp

from headrace.api.app.listening import Address, bracketed, listening
from headrace.api.app.service import Service
from headrace.api.data_folder import BOOTSTRAP_LINK, HALT
from headrace.api.http.connections import ConnectionLimits, counted
from headrace.api.http.guard import Origins
from headrace.api.settings import SettingError, Settings
from headrace.auth import RelyingParty
from headrace.client import models as m
from headrace.client.text import visible

_log = logging.getLogger(__name__)

SHUTDOWN_S: Final = 10
_OTHER_FILES = 512
"""Open files beside connections: the store, nodes, lists."""
_LEAST_CONNECTIONS = 64
_MOST_HALTS = 10
"""Halts that are said one by one."""


@dataclass(frozen=True, slots=True)
class Listeners:
    """Where a process answers, and under which names."""

    settings: Settings
    public_url: str
    origins: Origins
    listener: socket.socket
    for_monitoring: socket.socket | None

    def config(self, app: ASGIApp, *, lifespan: Literal["on", "off"] = "on") -> uvicorn.Config:
        """Return how `app` is served; `off`: its beginning and end are somebody else's."""
        settings = self.settings
        return uvicorn.Config(
            app,
            http=counted(_connection_limits(settings, self.origins), _tls(settings)),  # type: ignore[arg-type] # makes a protocol
            lifespan=lifespan,
            log_config=None,
            access_log=False,
            server_header=False,
            # Of whom it is believed, whoever else says it.
            proxy_headers=bool(settings.trusted_proxies),
            forwarded_allow_ips=settings.trusted_proxies,
            timeout_graceful_shutdown=SHUTDOWN_S,
        )


@contextmanager
def answering(settings: Settings) -> Iterator[Listeners]:
    """Take the addresses of the settings for as long as the block runs; raises `SettingError`."""
    address = Address.parse(settings.listen, "--listen (HEADRACE_LISTEN)")
    tls = bool(settings.tls_cert)
    if not tls and not address.loopback:
        message = (
            f"`{settings.listen}` can be reached from other hosts, and that needs TLS: give --tls-cert and --tls-key, "
            "or listen on 127.0.0.1"
        )
        raise SettingError(message)
    given = _public_url(settings.public_url, address)
    monitored = settings.metrics_listen and Address.parse(settings.metrics_listen, "HEADRACE_METRICS_LISTEN")
    with ExitStack() as opened:
        listener = opened.enter_context(listening(address))
        for_monitoring = opened.enter_context(listening(monitored)) if monitored else None
        scheme, port = "https" if tls else "http", listener.getsockname()[1]
        own_url = f"{scheme}://{bracketed(address.host)}:{port}"
        public_url = given or own_url
        origins = _origins(address, port, own_url, public_url)
        if settings.proxies:
            origins = replace(origins, proxied=True)
        yield Listeners(settings, public_url, origins, listener, for_monitoring)


@dataclass(frozen=True, slots=True)
class Ready:
    """What is said once requests are answered. The link itself goes to a terminal only, never into a log."""

    url: str
    hub: str | None
    """Nothing where another process leads, which nodes dial."""
    bootstrap: Path | None
    metrics: str | None = None
    recovers: bool = False
    """Whether the link was asked for (`--recover-admin`)."""
    halted: Sequence[str] = ()
    """What is halted, each with the reason and how it is released."""

    def say(self, *, as_json: bool) -> None:
        """Print it."""
        if as_json:
            file = str(self.bootstrap) if self.bootstrap else None
            facts = {"url": self.url, "hub": self.hub, "bootstrap_file": file, "metrics": self.metrics}
            typer.echo(json.dumps({**facts, "pid": os.getpid(), "halted": list(self.halted)}))
            return
        typer.echo(f"service    {self.url}")
        typer.echo(f"nodes dial {self.hub or 'the process that leads'}")
        if self.metrics is not None:
            typer.echo(f"metrics    {self.metrics}")
        for halted in self.halted:
            typer.echo(f"HALTED     {halted}")
        if self.bootstrap is None:
            return
        who = "another" if self.recovers else "the first"
        why = "" if self.recovers else "This service has no administrator yet. "
        typer.echo(f"{why}Whoever opens the one-time link in {self.bootstrap} becomes {who} administrator.")
        typer.echo(
            "Open it in a browser, or run `headrace login --link -` and paste it; then choose a name and a password."
        )
        if sys.stdout.isatty():
            typer.echo(f"The link: {self.bootstrap.read_text(encoding='utf-8').strip()}")


async def standing_halts(service: Service) -> list[str]:
    """Say what is halted from before, also in the log: nothing moves then, and a start is when people look."""
    halts = await service.whole.use_cases.halts.list()
    said = [_halted(halt, service.settings.data) for halt in halts[:_MOST_HALTS]]
    if len(halts) > _MOST_HALTS:
        said.append(f"{len(halts) - _MOST_HALTS:,} more: `headrace halts` lists them")
    for one in said:
        _log.warning("halted: %s", one)
    return said


def _halted(halt: m.Halt, data: Path) -> str:
    what = "everything" if halt.scope == "everything" else f"the {halt.scope} `{visible(halt.subject_name)}`"
    release = f"remove the file `{data / HALT}`" if halt.id == HALT else f"`headrace release {halt.id}`"
    return f"{what}, and nothing of it is started or moved: {visible(halt.reason)} (to go on: {release})"


async def bootstrap(service: Service, *, recover: bool) -> Path | None:
    """Write the one-time link of the first admin, or of another one who recovers, to a file of this account only.

    Without need of one, a file from before is removed.
    """
    path = service.settings.data / BOOTSTRAP_LINK
    path.unlink(missing_ok=True)
    link = await service.whole.use_cases.people.bootstrap_link(recover=recover)
    if link is None:
        return None
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(link + "\n")
    return path


def _public_url(given: str, address: Address) -> str:
    """Return how browsers reach the service (empty: as it listens); raises `SettingError` where nobody could know."""
    if not given:
        if address.any:
            message = (
                f"`{address.host}` is every address of this host, so nobody knows by which name browsers come: "
                "set HEADRACE_PUBLIC_URL, for example `https://headrace.example.org:8470`"
            )
            raise SettingError(message)
        return ""
    parts = urlsplit(given.rstrip("/"))
    local = parts.scheme == "http" and parts.hostname is not None and Address(parts.hostname, 0).loopback
    if not parts.hostname or parts.path or parts.query or not (parts.scheme == "https" or local):
        message = (
            f"`HEADRACE_PUBLIC_URL` is `{given}`; write `https://host[:port]` (or `http://` with a loopback address)"
        )
        raise SettingError(message)
    return f"{parts.scheme}://{parts.netloc}"


def _origins(address: Address, port: int, own_url: str, public_url: str) -> Origins:
    own = [own_url]
    if address.loopback:
        scheme = own_url.partition(":")[0]
        own += [f"{scheme}://{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")]
    party = RelyingParty.of(public_url)
    # Where only this host can connect, another name means a proxy that passes requests on.
    return Origins.of(
        public_url, *own, *([party.origin] if party else []), proxied=address.loopback and public_url not in own
    )


def _connection_limits(settings: Settings, origins: Origins) -> ConnectionLimits:
    """Return the limits, after this process was allowed as many open files as the host lets it have."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    room = max(_LEAST_CONNECTIONS, most - _OTHER_FILES) if most != resource.RLIM_INFINITY else settings.max_connections
    if room < settings.max_connections:
        _log.warning("at most %d connections, because this process may have %d open files", room, most)
    return ConnectionLimits(
        most=min(settings.max_connections, room),
        most_of_one=None if origins.proxied and not settings.proxies else settings.max_connections_of_one,
        proxies=settings.proxies,
        receive_s=settings.receive_timeout_s,
        take_s=settings.request_timeout_s,
    )


def _tls(settings: Settings) -> ssl.SSLContext | None:
    if not settings.tls_cert:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(settings.tls_cert, settings.tls_key)
    return context
