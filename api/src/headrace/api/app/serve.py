"""`headrace serve`: the service as one process, or as one of several that are one site."""

import asyncio
import logging
import os
import signal
import socket
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
import uvicorn
from sqlalchemy.exc import SQLAlchemyError

from headrace.api.app.answering import Listeners, Ready, answering, bootstrap, standing_halts
from headrace.api.app.heap import keep_for_good
from headrace.api.app.listening import Server, answering_monitoring, metrics_url
from headrace.api.app.many import OneOfMany
from headrace.api.app.service import Service
from headrace.api.app.start_trouble import in_words
from headrace.api.app.web import create_app
from headrace.api.command_end import USAGE, stop
from headrace.api.data_folder import NODE
from headrace.api.errors import CannotStart, Code, ServiceError
from headrace.api.http.operation import create_operation_app
from headrace.api.settings import SettingError, Settings
from headrace.api.sites.other_hosts import is_loopback, only_there
from headrace.client import models as m
from headrace.engine import EngineError, Node, log_to_stderr
from headrace.guardrails import SealError

_log = logging.getLogger(__name__)

_ACCESS = ("read", "write", "delete")
_JOIN_VALID_S = 300

Root = tuple[str, str, str]
"""Name, path, access."""


def _default(setting: str) -> str:
    """Say what an option is unless it, or its environment variable, says something else."""
    return f"[default: {getattr(_DEFAULTS, setting)}]"


_DEFAULTS = Settings()


def serve(  # noqa: PLR0913, PLR0917 - one parameter each option
    data: Annotated[
        Path | None, typer.Option(help=f"Folder for the database, keys and lists. {_default('data')}")
    ] = None,
    listen: Annotated[
        str | None, typer.Option(help=f"host:port of API, console and MCP; port 0 picks one. {_default('listen')}")
    ] = None,
    hub_listen: Annotated[
        str | None, typer.Option(help=f"host:port where nodes dial in; port 0 picks one. {_default('hub_listen')}")
    ] = None,
    hub_advertise: Annotated[str | None, typer.Option(help="host:port that join tokens tell nodes to dial.")] = None,
    root: Annotated[
        list[str] | None, typer.Option(help="Export a folder: NAME=PATH[:read|write|delete] (default read).")
    ] = None,
    node_name: Annotated[str | None, typer.Option(help=f"Name of the embedded node. {_default('node_name')}")] = None,
    data_listen: Annotated[
        str | None,
        typer.Option(
            help="host:port where the embedded node takes data from other nodes; port 0 picks one. "
            f"{_default('node_data_listen')}"
        ),
    ] = None,
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
        "node_data_listen": data_listen,
        "tls_cert": tls_cert,
        "tls_key": tls_key,
    }
    given = {name: value for name, value in options.items() if value is not None}
    try:
        settings = Settings.from_environment(os.environ).with_values(given)
        if os.geteuid() == 0 and not allow_root:
            said = "this is the root account; run the service under its own account, or give --allow-root"
            stop("serve", said, USAGE, as_json=as_json)
        roots = [parse_root(text) for text in root or ()]
        asyncio.run(run(settings, roots, as_json=as_json, recover_admin=recover_admin))
    except SettingError as error:
        stop("serve", error, USAGE, as_json=as_json)
    except (CannotStart, ServiceError, EngineError, SealError, OSError, SQLAlchemyError) as error:
        stop("serve", in_words(settings, error), as_json=as_json)


def parse_root(text: str) -> Root:
    """Read `NAME=PATH[:read|write|delete]`; raises `SettingError`."""
    name, equals, rest = text.partition("=")
    path, colon, access = rest.rpartition(":")
    if not colon or access not in _ACCESS:
        if access and Path(path).is_dir() and not Path(rest).exists():
            message = (
                f"`--root {text}`: `{access}` is not an access; write `:read`, `:write` or `:delete`, or nothing "
                "(which means `:read`)"
            )
            raise SettingError(message)
        path, access = rest, "read"
    if not equals or not name or not path:
        message = (
            f"`--root {text}` is not understood; write NAME=PATH, NAME=PATH:read, NAME=PATH:write or NAME=PATH:delete"
        )
        raise SettingError(message)
    return name, str(Path(path).resolve()), access


def _is_no_word_of_one_server(record: logging.LogRecord) -> bool:
    """Leave out that a server begins and ends: one process has up to three, and each says it of the process."""
    return not str(record.msg).startswith(("Started server process", "Finished server process"))


async def run(settings: Settings, roots: Sequence[Root], *, as_json: bool, recover_admin: bool = False) -> None:
    """Serve until SIGTERM or SIGINT, then close cleanly."""
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("uvicorn.error").addFilter(_is_no_word_of_one_server)
    log_to_stderr(settings.engine_log)
    if settings.peer_listen:
        _require_fit_for_many(settings, roots)
    _say_missing(roots)
    _say_unreached(settings, roots)
    with answering(settings) as place:
        if settings.peer_listen:
            await OneOfMany(place, as_json=as_json, recover_admin=recover_admin).run()
        else:
            await _alone(place, roots, as_json=as_json, recover_admin=recover_admin)


async def _alone(place: Listeners, roots: Sequence[Root], *, as_json: bool, recover_admin: bool) -> None:
    """Serve as the only process of the site."""
    settings = place.settings
    service = await Service.start(settings, public_url=place.public_url)
    node: Node | None = None
    try:
        if roots:
            node = await _embedded_node(service, roots)
        link = await bootstrap(service, recover=recover_admin)
        config = place.config(create_app(service.gate, place.origins))
        hub = settings.hub_told(service.whole.core.hub.address)
        metrics, halted = metrics_url(place.for_monitoring), await standing_halts(service)
        ready = Ready(place.public_url, hub, link, metrics, recovers=recover_admin, halted=halted)
        monitoring = create_operation_app(service.whole.use_cases.metrics)
        keep_for_good()
        async with answering_monitoring(monitoring, place.for_monitoring):
            await _serve(service, Server(config, lambda: ready.say(as_json=as_json)), place.listener)
    finally:
        if node is not None:
            await node.close()
        await service.close()


def _require_fit_for_many(settings: Settings, roots: Sequence[Root]) -> None:
    """Refuse what can't be, or can't be known, where several processes are one site."""
    if not settings.database:
        message = "`HEADRACE_PEER_LISTEN` is for several processes on PostgreSQL: set `HEADRACE_DATABASE`, too"
    elif not settings.public_url:
        message = (
            "`HEADRACE_PEER_LISTEN` is set, and people reach several processes under one name: set "
            "`HEADRACE_PUBLIC_URL`, the same one for each"
        )
    elif roots:
        message = "`HEADRACE_PEER_LISTEN` is set, and nodes outlive one process: run `headrace-node` instead of --root"
    else:
        return
    raise SettingError(message)


async def _embedded_node(service: Service, roots: Sequence[Root]) -> Node:
    """Start the node of this process; it joins with a one-time token like any other, the first time."""
    settings = service.settings
    state = settings.data / NODE
    token: str | None = None
    if not _has_joined(state):
        _require_folders(roots)
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


def _require_folders(roots: Sequence[Root]) -> None:
    """Refuse, before the node joins, a folder that is not there: most likely it is mistyped.

    Later one may be missing for a while, such as a disk that is not mounted: then the node waits for it, and health
    says so.
    """
    for name, path, _ in roots:
        if not Path(path).is_dir():
            message = f"there is no folder `{path}` (root `{name}`): make or mount it, or correct --root"
            raise CannotStart(message)


def _say_missing(roots: Sequence[Root]) -> None:
    """Say which folders are not there; the node exports each once it is."""
    for name, path, _ in roots:
        if not os.access(path, os.X_OK):
            _log.warning("the folder `%s` (root `%s`) can't be opened; make or mount it, or correct --root", path, name)


def _say_unreached(settings: Settings, roots: Sequence[Root]) -> None:
    """Say that nodes on other hosts are told where the hub is, and can bring no data to the node of this process."""
    hub = settings.hub_told(settings.hub_listen).rpartition(":")[0]
    if roots and not is_loopback(hub) and only_there([settings.node_data_listen]):
        _log.warning(
            "this service's node takes data at %s, where only this host reaches it; for nodes on other hosts, start it "
            "with `--data-listen ADDRESS:8472` (`HEADRACE_NODE_DATA_LISTEN`), ADDRESS being one of this host that they "
            "reach",
            settings.node_data_listen,
        )


def _has_joined(state: Path) -> bool:
    """Whether the node of this state folder knows its hub; a first start that was cut off leaves only the folder."""
    try:
        return "hub" in tomllib.loads((state / "node.toml").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return False
    except ValueError as error:
        message = f"the node's settings `{state / 'node.toml'}` can't be read ({error}); put them back from a backup"
        raise CannotStart(message) from error


async def _serve(service: Service, server: uvicorn.Server, listener: socket.socket) -> None:
    """Answer requests until a signal asks to end; watchers are told first, or they would hold up the end."""

    def end() -> None:
        service.whole.core.broker.close()
        server.should_exit = True

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, end)
    await server.serve(sockets=[listener])
