"""`headrace serve`: the service as one process."""

import asyncio
import json
import logging
import os
import resource
import signal
import socket
import ssl
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, NoReturn
from urllib.parse import urlsplit

import typer
import uvicorn
from sqlalchemy.exc import SQLAlchemyError

from headrace.api.app.listening import (
    Address,
    Server,
    answering_monitoring,
    bracketed,
    listening,
    metrics_url,
)
from headrace.api.app.service import Service
from headrace.api.app.web import create_app
from headrace.api.errors import CannotStart, Code, ServiceError
from headrace.api.http.connections import ConnectionLimits, counted
from headrace.api.http.guard import Origins
from headrace.api.settings import SettingError, Settings
from headrace.api.store.address import shown, store_url
from headrace.api.store_trouble import said_by, trouble_of
from headrace.auth import RelyingParty
from headrace.client import models as m
from headrace.engine import EngineError, Node, log_to_stderr
from headrace.guardrails import SealError

_log = logging.getLogger(__name__)

_ACCESS = ("read", "write", "delete")
_USAGE = 2
_FAILED = 1
_OTHER_FILES = 512
"""Open files beside connections: the store, nodes, lists."""
_LEAST_CONNECTIONS = 64
_SHUTDOWN_S = 10
_JOIN_VALID_S = 300

Root = tuple[str, str, str]
"""Name, path, access."""


def serve(  # noqa: PLR0913, PLR0917 - one parameter each option
    data: Annotated[Path | None, typer.Option(help="Folder for the database, keys and lists.")] = None,
    listen: Annotated[str | None, typer.Option(help="host:port of API, console and MCP; port 0 picks one.")] = None,
    hub_listen: Annotated[str | None, typer.Option(help="host:port where nodes dial in; port 0 picks one.")] = None,
    hub_advertise: Annotated[str | None, typer.Option(help="host:port that join tokens tell nodes to dial.")] = None,
    root: Annotated[
        list[str] | None, typer.Option(help="Export a folder: NAME=PATH[:read|write|delete] (default read).")
    ] = None,
    node_name: Annotated[str | None, typer.Option(help="Name of the embedded node.")] = None,
    tls_cert: Annotated[str | None, typer.Option(help="Certificate chain (PEM).")] = None,
    tls_key: Annotated[str | None, typer.Option(help="Private key of the certificate (PEM).")] = None,
    *,
    allow_root: Annotated[bool, typer.Option("--allow-root", help="Run although this is the root account.")] = False,
    recover_admin: Annotated[
        bool, typer.Option("--recover-admin", help="Make a one-time link for another admin, as on the first start.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON line when ready.")] = False,
) -> None:
    """Run the service: API, MCP, signer, and an embedded node when a root is given."""
    options = {
        "data": data,
        "listen": listen,
        "hub_listen": hub_listen,
        "hub_advertise": hub_advertise,
        "node_name": node_name,
        "tls_cert": tls_cert,
        "tls_key": tls_key,
    }
    given = {name: value for name, value in options.items() if value is not None}
    try:
        settings = Settings.from_environment(os.environ).with_values(given)
        if os.geteuid() == 0 and not allow_root:
            _stop("this is the root account; run the service under its own account, or say --allow-root", _USAGE)
        roots = [parse_root(text) for text in root or ()]
        asyncio.run(run(settings, roots, as_json=as_json, recover_admin=recover_admin))
    except SettingError as error:
        _stop(str(error), _USAGE)
    except SQLAlchemyError as error:
        _stop(_store_said(settings, error), _FAILED)
    except (CannotStart, ServiceError, EngineError, SealError, OSError) as error:
        _stop(str(error), _FAILED)


def parse_root(text: str) -> Root:
    """Read `NAME=PATH[:read|write|delete]`; raises `SettingError`."""
    name, equals, rest = text.partition("=")
    path, colon, access = rest.rpartition(":")
    if not colon or access not in _ACCESS:
        if access and Path(path).is_dir() and not Path(rest).exists():
            message = (
                f"`--root {text}`: `{access}` is no access; write `:read`, `:write` or `:delete`, or nothing to read"
            )
            raise SettingError(message)
        path, access = rest, "read"
    if not equals or not name or not path:
        message = (
            f"`--root {text}` is not understood; write NAME=PATH, NAME=PATH:read, NAME=PATH:write or NAME=PATH:delete"
        )
        raise SettingError(message)
    return name, str(Path(path).resolve()), access


async def run(settings: Settings, roots: Sequence[Root], *, as_json: bool, recover_admin: bool = False) -> None:
    """Serve until SIGTERM or SIGINT, then close cleanly."""
    address = Address.parse(settings.listen, "--listen (HEADRACE_LISTEN)")
    tls = bool(settings.tls_cert)
    if not tls and not address.loopback:
        message = (
            f"`{settings.listen}` can be reached from other hosts, and that needs TLS: give --tls-cert and --tls-key, "
            "or listen on 127.0.0.1"
        )
        raise SettingError(message)
    given = _public_url(settings.public_url, address)
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    log_to_stderr(settings.engine_log)
    _say_missing(roots)
    monitored = settings.metrics_listen and Address.parse(settings.metrics_listen, "HEADRACE_METRICS_LISTEN")
    listener, for_monitoring = listening(address), listening(monitored) if monitored else None
    scheme, port = "https" if tls else "http", listener.getsockname()[1]
    own_url = f"{scheme}://{bracketed(address.host)}:{port}"
    public_url = given or own_url
    service = await Service.start(settings, public_url=public_url)
    node: Node | None = None
    try:
        if roots:
            node = await _embedded_node(service, roots)
        link = await _bootstrap(service, recover=recover_admin)
        origins = _origins(address, port, own_url, public_url)
        if settings.proxies:
            origins = replace(origins, proxied=True)
        config = _config(service, origins)
        ready = Ready(public_url, service.whole.core.hub.address, link, metrics_url(for_monitoring))
        async with answering_monitoring(service.whole.use_cases.metrics, for_monitoring):
            await _serve(service, Server(config, lambda: ready.say(as_json=as_json)), listener)
    finally:
        if node is not None:
            await node.close()
        await service.close()
        listener.close()
        if for_monitoring is not None:
            for_monitoring.close()


@dataclass(frozen=True, slots=True)
class Ready:
    """What is said once requests are answered. The link itself goes to a terminal only, never into a log."""

    url: str
    hub: str
    bootstrap: Path | None
    metrics: str | None = None

    def say(self, *, as_json: bool) -> None:
        """Print it."""
        if as_json:
            file = str(self.bootstrap) if self.bootstrap else None
            facts = {"url": self.url, "hub": self.hub, "bootstrap_file": file, "metrics": self.metrics}
            typer.echo(json.dumps({**facts, "pid": os.getpid()}))
            return
        typer.echo(f"service    {self.url}")
        typer.echo(f"nodes dial {self.hub}")
        if self.metrics is not None:
            typer.echo(f"metrics    {self.metrics}")
        if self.bootstrap is None:
            return
        typer.echo(f"new admin:   the link in {self.bootstrap} (`headrace login --link -`)")
        if sys.stdout.isatty():
            typer.echo(f"             {self.bootstrap.read_text(encoding='utf-8').strip()}")


async def _embedded_node(service: Service, roots: Sequence[Root]) -> Node:
    """Start the node of this process; it joins with a one-time token like any other, the first time."""
    settings = service.settings
    state = settings.data / "node"
    token: str | None = None
    if not _has_joined(state):
        request = m.JoinTokenRequest(name=settings.node_name, valid_s=_JOIN_VALID_S)
        try:
            token = (await service.whole.use_cases.nodes.create_join_token(None, request)).token
        except ServiceError as error:
            if error.code != Code.NAME_TAKEN:
                raise
            message = (
                f"a node `{settings.node_name}` has joined already, but not with the state in `{state}`; give this one "
                "another name with --node-name, or put its folder back from a backup"
            )
            raise CannotStart(message) from error
    return await Node.start(
        state_dir=str(state),
        name=settings.node_name,
        roots=list(roots),
        data_listen=settings.node_data_listen,
        join_token=token,
        hub_address=settings.hub_advertise or service.whole.core.hub.address,
    )


def _say_missing(roots: Sequence[Root]) -> None:
    """Say which folders are not there; the node exports each once it is."""
    for name, path, _ in roots:
        if not os.access(path, os.X_OK):
            _log.warning("the folder `%s` (root `%s`) can't be opened; make or mount it, or correct --root", path, name)


def _has_joined(state: Path) -> bool:
    """Whether the node of this state folder knows its hub; a first start that was cut off leaves only the folder."""
    try:
        return "hub" in tomllib.loads((state / "node.toml").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return False
    except ValueError as error:
        message = f"the node's settings `{state / 'node.toml'}` can't be read ({error}); put them back from a backup"
        raise CannotStart(message) from error


def _store_said(settings: Settings, error: SQLAlchemyError) -> str:
    _log.debug("the store could not be used", exc_info=error)
    store, trouble = shown(store_url(settings.database, settings.data)), trouble_of(error)
    return f"the store `{store}` can't be used: {trouble} ({said_by(error)}); {trouble.remedy}"


async def _bootstrap(service: Service, *, recover: bool) -> Path | None:
    """Write the one-time link of the first admin, or of another one who recovers, to a file of this account only.

    Without need of one, a file from before is removed.
    """
    path = service.settings.data / "bootstrap-link"
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


def _config(service: Service, origins: Origins) -> uvicorn.Config:
    settings = service.settings
    return uvicorn.Config(
        create_app(service.gate, origins),
        http=counted(_connection_limits(settings, origins), _tls(settings)),  # type: ignore[arg-type] # makes a protocol
        log_config=None,
        access_log=False,
        server_header=False,
        # Of whom it is believed, whoever else says it.
        proxy_headers=bool(settings.trusted_proxies),
        forwarded_allow_ips=settings.trusted_proxies,
        timeout_graceful_shutdown=_SHUTDOWN_S,
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


async def _serve(service: Service, server: uvicorn.Server, listener: socket.socket) -> None:
    """Answer requests until a signal asks to end; watchers are told first, or they would hold up the end."""

    def end() -> None:
        service.whole.core.broker.close()
        server.should_exit = True

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, end)
    await server.serve(sockets=[listener])


def _stop(message: str, code: int) -> NoReturn:
    typer.echo(f"headrace serve: {message}", err=True)
    raise typer.Exit(code)
