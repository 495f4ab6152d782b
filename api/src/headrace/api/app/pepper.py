"""`headrace secrets rotate`, and the file of the keys under which secrets are hashed and sealed.

The file holds keys of 32 bytes, the newest first. It is replaced as a whole, so a rotation that is cut off at any point
leaves the keys from before or the keys from after it.
"""

import json
import secrets as random
from pathlib import Path
from typing import Annotated, Final

import typer

from headrace.api.app.data_lock import DataLock
from headrace.api.command_end import stop
from headrace.api.data_folder import AUTHORITY_CHAIN, AUTHORITY_KEY, PEPPER
from headrace.api.durable import in_words, replace_file
from headrace.api.errors import CannotStart
from headrace.guardrails import SealError, read_private_file

_KEY_BYTES: Final = 32
_MAX_KEYS: Final = 16
_LATER: Final = (AUTHORITY_CHAIN, AUTHORITY_KEY)
"""Files that a first start makes after this one."""

secrets = typer.Typer(no_args_is_help=True, help="Replace the key under which secrets are hashed.")


def pepper_keys(data: Path) -> tuple[bytes, ...]:
    """Return the keys of an installation, the newest first; the first start makes one (0600, durable).

    To be asked for before the authority's key is made, which tells a first start from a file that was lost.

    Raises `CannotStart` for a file that is lost or none, `SealError` when others may read it, `OSError` as the system
    says.
    """
    path = data / PEPPER
    if not path.exists():
        if _was_started(data):
            message = (
                f"`{path}` is missing, and nobody's password, passkey, session or token counts without it; put it back "
                f"from a backup, or begin anew with `headrace secrets rotate --data {data} --end-former` and then "
                "`headrace serve --recover-admin`"
            )
            raise CannotStart(message)
        replace_file(path, random.token_bytes(_KEY_BYTES))
    whole = read_private_file(path)
    if not whole or len(whole) % _KEY_BYTES or len(whole) > _MAX_KEYS * _KEY_BYTES:
        message = f"`{path}` does not hold keys of {_KEY_BYTES} bytes; put it back from a backup"
        raise CannotStart(message)
    return tuple(whole[at : at + _KEY_BYTES] for at in range(0, len(whole), _KEY_BYTES))


def _was_started(data: Path) -> bool:
    return any((data / name).exists() for name in _LATER)


@secrets.callback()
def _group() -> None:
    """Replace the key under which secrets are hashed."""


@secrets.command("rotate")
def rotate(
    data: Annotated[Path, typer.Option(help="The service's data folder; the service is stopped.")],
    *,
    end_former: Annotated[
        bool, typer.Option("--end-former", help="End all that hangs on keys from before: everybody needs a new link.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON document.")] = False,
) -> None:
    """Hash new secrets with a new key; what was hashed before goes on, unless --end-former says otherwise."""
    try:
        kept = _rotate(data, end_former=end_former)
    except OSError as error:
        stop("secrets", in_words(error), as_json=as_json)
    except (SealError, CannotStart) as error:
        stop("secrets", error, as_json=as_json)
    if as_json:
        typer.echo(json.dumps({"former_keys": kept}))
        return
    ended = "all sessions, tokens, links, passwords and passkeys from before have ended"
    going_on = f"what was made under {kept} former {'key' if kept == 1 else 'keys'} goes on"
    typer.echo(f"A new key is in `{data / PEPPER}`; {ended if end_former else going_on}. Start the service.")


def _rotate(data: Path, *, end_former: bool) -> int:
    """Return how many keys from before still count."""
    if not (data / PEPPER).is_file() and not (end_former and _was_started(data)):
        message = f"`{data}` holds no service; --data is the folder that `headrace serve --data` was given"
        raise FileNotFoundError(message)
    lock = DataLock.take(data)
    try:
        former = () if end_former else pepper_keys(data)
        if len(former) >= _MAX_KEYS:
            message = f"{_MAX_KEYS} keys count already; --end-former ends what hangs on them"
            raise CannotStart(message)
        replace_file(data / PEPPER, b"".join((random.token_bytes(_KEY_BYTES), *former)))
    finally:
        lock.release()
    return len(former)
