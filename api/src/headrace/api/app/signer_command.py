"""`headrace signer`: what holds the authority key, as a process and an account of its own."""

import json
import logging
import os
import pwd
import signal
import socket
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Final

import typer
from pydantic import ValidationError

from headrace.api.app.data_lock import DataLock
from headrace.api.app.key_rotation import OVERLAP_DAYS, AsJson, New, NextKey, Overlap, rotate_signer
from headrace.api.authority_key import AuthorityKey, authority_key, key_chain
from headrace.api.clock import utc_now
from headrace.api.command_end import USAGE, stop
from headrace.api.errors import CannotStart
from headrace.api.settings import SettingError, Settings
from headrace.api.signing.signer_process import SignerRules
from headrace.api.signing.signer_state import KnownPasskey, SignerState, StateUnusable, require_owner
from headrace.api.signing.signer_wire import REQUEST, receive, send
from headrace.auth import RelyingParty
from headrace.guardrails import PolicyProblems, SealError, check_policy, digest

_log = logging.getLogger(__name__)

_PATIENCE_S: Final = 2.0
"""How long a request may take to come in; others wait meanwhile."""
_WAITING: Final = 64
_PEER: Final = struct.Struct("3i")

signer = typer.Typer(no_args_is_help=True, help="Hold the authority key in a process of its own.")

State = Annotated[Path, typer.Option(help="Folder of the signer's own account (made 0700).")]
_STATE: Final = Path("/var/lib/headrace-signer")


@signer.callback()
def root() -> None:
    """Hold the authority key in a process of its own."""


@signer.command("run")
def run(  # noqa: PLR0913, PLR0917 - one parameter each option
    socket_path: Annotated[Path, typer.Option("--socket", help="Unix socket to answer at.")],
    service_account: Annotated[str, typer.Option(help="The account that may ask: of `headrace serve`.")],
    public_url: Annotated[str, typer.Option(help="The service's HEADRACE_PUBLIC_URL: passkeys belong to it.")],
    state: State = _STATE,
    key: Annotated[
        str, typer.Option(help="Place of the key, as HEADRACE_AUTHORITY_KEY; empty: made in the state folder.")
    ] = "",
    socket_mode: Annotated[str, typer.Option(help="Mode of the socket.")] = "0660",
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON line when ready.")] = False,
) -> None:
    """Answer the service until a signal ends it."""
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    try:
        account = pwd.getpwnam(service_account).pw_uid
        party = _party(public_url)
        kept = SignerState(state)
        with _listening(socket_path, int(socket_mode, 8)) as listener:
            DataLock.take(state)  # for the life of this process: nobody rotates its key meanwhile
            key_now = authority_key(Settings(data=state, authority_key=key), os.environ)
            held = AuthorityKey(key_now, utc_now, key_chain(state))
            rules = SignerRules(held, kept, party, utc_now)
            ready = {"socket": str(socket_path), "key": held.public, "pid": os.getpid()}
            typer.echo(json.dumps(ready) if as_json else f"The signer of {held.public} answers at `{socket_path}`.")
            sys.stdout.flush()
            _answer_until_a_signal(listener, rules, account)
    except KeyError:
        stop("signer", f"there is no account `{service_account}` on this host", USAGE, as_json=as_json)
    except (SettingError, ValueError) as error:
        stop("signer", error, USAGE, as_json=as_json)
    except (CannotStart, SealError, StateUnusable, OSError) as error:
        stop("signer", error, as_json=as_json)


@signer.command("rotate")
def rotate(  # noqa: PLR0913 - one parameter each option
    state: State = _STATE,
    key: NextKey = "",
    former: Annotated[str, typer.Option(help="Place of the key that signs now: `--key` of `signer run`.")] = "",
    overlap: Overlap = OVERLAP_DAYS,
    *,
    new: New = False,
    as_json: AsJson = False,
) -> None:
    """Let another key come after the one that signs now, while the signer is stopped; then start it and the service."""
    with _told(as_json=as_json):
        require_owner(state)
    rotate_signer(Settings(data=state, authority_key=former), key, overlap, new=new, as_json=as_json)


@signer.command("passkeys")
def passkeys(
    state: State = _STATE, *, as_json: Annotated[bool, typer.Option("--json", help="Print a JSON document.")] = False
) -> None:
    """List the passkeys that count here, and those that wait to be accepted."""
    with _told(as_json=as_json):
        found = SignerState.existing(state).passkeys()
    if as_json:
        typer.echo(json.dumps([_shown(one) for one in found]))
        return
    for one in found:
        said = ("counts, and publishes" if one.publishes else "counts") if one.accepted else "waits to be accepted"
        typer.echo(f"{one.id}  {one.person}  {said}")
    if not found:
        typer.echo("No passkey was used yet. One that is used for the first time waits here to be accepted.")


@signer.command("accept")
def accept(
    passkey: Annotated[str, typer.Argument(help="Its id, or how it begins.")],
    state: State = _STATE,
    *,
    publishes: Annotated[bool, typer.Option("--publishes", help="It may agree to a policy, too.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON document.")] = False,
) -> None:
    """Let a passkey count, after its person has said that it is theirs."""
    with _told(as_json=as_json):
        kept = SignerState.existing(state)
        done = kept.accept(_one(kept, passkey).id, publishes=publishes)
    if done is not None:
        typer.echo(json.dumps(_shown(done)) if as_json else f"The passkey {done.id} of {done.person} counts.")


@signer.command("remove")
def remove(
    passkey: Annotated[str, typer.Argument(help="Its id, or how it begins.")],
    state: State = _STATE,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON document.")] = False,
) -> None:
    """Let a passkey count no more: it is lost, or its person has left."""
    with _told(as_json=as_json):
        kept = SignerState.existing(state)
        gone = _one(kept, passkey)
        kept.remove(gone.id)
    typer.echo(json.dumps(_shown(gone)) if as_json else f"The passkey {gone.id} of {gone.person} no longer counts.")


@signer.command("policy")
def policy(
    file: Annotated[Path, typer.Argument(help="The policy's text, as `headrace policy` shows the active one.")],
    state: State = _STATE,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON document.")] = False,
) -> None:
    """Decide by this policy: once, when a service that has published one gets a signer."""
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        stop("signer", error, as_json=as_json)
    except UnicodeDecodeError:
        stop("signer", f"`{file}` is not a text in UTF-8; give the text of a policy", as_json=as_json)
    checked = check_policy(text)
    if isinstance(checked, PolicyProblems):
        said = f"`{file}` does not hold a policy; `headrace policy check {file}` says why"
        stop("signer", said, as_json=as_json)
    with _told(as_json=as_json):
        SignerState.existing(state).take_policy(text)
    version = digest(text.encode())
    typer.echo(json.dumps({"policy": version}) if as_json else f"The signer decides by policy {version} from now on.")


@contextmanager
def _listening(path: Path, mode: int) -> Iterator[socket.socket]:
    """Listen at a path where a signer that was killed may have left its socket; who else listens there goes on."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as other, suppress(OSError):
            other.settimeout(_PATIENCE_S)
            other.connect(str(path))
            message = f"something answers at `{path}` already"
            raise CannotStart(message)
        if path.is_socket():
            path.unlink()
        before = os.umask(0o777)
        try:
            listener.bind(str(path))
        finally:
            os.umask(before)
        path.chmod(mode)
        listener.listen(_WAITING)
        try:
            yield listener
        finally:
            path.unlink(missing_ok=True)


class _Ended(Exception):  # noqa: N818 - says what is the case
    """A signal asks to end."""


def _answer_until_a_signal(listener: socket.socket, rules: SignerRules, account: int) -> None:
    """Answer one connection after the other."""

    def end(_number: int, _frame: object) -> None:
        raise _Ended

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    with suppress(_Ended):
        while True:
            connection, _ = listener.accept()
            with connection:
                connection.settimeout(_PATIENCE_S)
                try:
                    if _is_of(connection, account):
                        send(connection, rules.answer(REQUEST.validate_json(receive(connection, _PATIENCE_S))))
                except (OSError, ValidationError) as error:
                    _log.warning("a request was not understood or cut off: %s", type(error).__name__)
                except _Ended:
                    raise
                except Exception:  # noqa: BLE001 - the boundary: logged whole, and the next one is answered
                    _log.exception("a request could not be answered")


def _party(public_url: str) -> RelyingParty:
    party = RelyingParty.of(public_url)
    if party is None:
        message = f"`{public_url}` has no passkeys; --public-url is the service's HEADRACE_PUBLIC_URL, with a name"
        raise SettingError(message)
    return party


def _is_of(connection: socket.socket, account: int) -> bool:
    """Whether the kernel says that the service's account asks; others hear nothing."""
    _, uid, _ = _PEER.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size))
    if uid != account:
        _log.warning("account %d asked, and only %d may", uid, account)
    return bool(uid == account)


def _one(kept: SignerState, begins: str) -> KnownPasskey:
    found = [one for one in kept.passkeys() if one.id.startswith(begins)]
    if len(found) != 1:
        several = f"{len(found)} passkeys begin with `{begins}`" if found else f"no passkey begins with `{begins}`"
        message = f"{several}; `headrace signer passkeys` lists them"
        raise StateUnusable(message)
    return found[0]


def _shown(one: KnownPasskey) -> dict[str, str | bool]:
    return {"id": one.id, "person": one.person, "accepted": one.accepted, "publishes": one.publishes}


@contextmanager
def _told(*, as_json: bool) -> Iterator[None]:
    """Say what is the matter with the state folder, and end with 1."""
    try:
        yield
    except StateUnusable as error:
        stop("signer", error, as_json=as_json)
