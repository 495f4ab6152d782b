"""`headrace ca rotate-authority` and `rotate-hub`: another key comes after one, and nodes learn that."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Final, TypeVar

import typer

from headrace.api.app.data_lock import DataLock
from headrace.api.authority_key import begun_anew, key_chain, rotated
from headrace.api.clock import utc_now
from headrace.api.command_end import stop
from headrace.api.data_folder import HUB
from headrace.api.durable import in_words
from headrace.api.errors import CannotStart, ServiceError
from headrace.api.key_chain import MAX_OVERLAP, KeyChain
from headrace.api.settings import SettingError, Settings
from headrace.api.signing.signer_line import Line
from headrace.engine import EngineError, begin_hub_succession
from headrace.guardrails import SealError, utc_text

T = TypeVar("T")

OVERLAP_DAYS: Final = 30
"""How long both keys count unless told otherwise."""
_DAY_MS: Final = 86_400_000

NextKey = Annotated[
    str, typer.Option("--key", help="Place of the next key, as HEADRACE_AUTHORITY_KEY; empty: made in the folder.")
]
Overlap = Annotated[
    int,
    typer.Option(
        "--overlap",
        metavar="DAYS",
        min=1,
        max=MAX_OVERLAP.days,
        help="How long both keys count; a node that is away for longer joins anew.",
    ),
]
New = Annotated[
    bool, typer.Option("--new", help="The former key may be stolen: it no longer counts, and every node joins anew.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print a JSON document.")]


def rotate_authority(
    data: Annotated[Path, typer.Option(help="The service's data folder; the service is stopped.")],
    key: NextKey = "",
    overlap: Overlap = OVERLAP_DAYS,
    *,
    new: New = False,
    as_json: AsJson = False,
) -> None:
    """Let another authority key come after the one that signs now; run it with the service's settings."""
    with _told("ca rotate-authority", as_json=as_json):
        settings = Settings.from_environment(os.environ).with_values({"data": data})
        if not settings.signer:
            _say(next_key(settings, key, timedelta(days=overlap), new=new), key or str(data), as_json=as_json)
            return
        if not new:
            message = "the key is in a signer of its own: `headrace signer rotate` there, and start both again"
            raise CannotStart(message)
        # The signer has begun anew already.
        chain = _alone(settings.data, lambda: KeyChain(Line(Path(settings.signer)).public).written(settings.data))
        _say(chain, settings.signer, as_json=as_json)


def rotate_signer(former: Settings, key: str, overlap: int, *, new: bool, as_json: bool) -> None:
    """As `rotate_authority`, in the state folder of a signer, whose key is in the place that `former` says."""
    with _told("signer rotate", as_json=as_json):
        _say(next_key(former, key, timedelta(days=overlap), new=new), key or str(former.data), as_json=as_json)


def rotate_hub(
    data: Annotated[Path, typer.Option(help="The service's data folder; the service is stopped.")],
    overlap: Overlap = OVERLAP_DAYS,
    *,
    as_json: AsJson = False,
) -> None:
    """Let another key come after the one by which nodes know the service, which goes on with the former meanwhile."""
    with _told("ca rotate-hub", as_json=as_json):
        _require_started(data)
        overlap_ms = overlap * _DAY_MS
        begun = json.loads(_alone(data, lambda: begin_hub_succession(state_dir=str(data / HUB), overlap_ms=overlap_ms)))
        if as_json:
            typer.echo(json.dumps({"key": begun["next"], "former": begun["former"], "until": begun["until"]}))
            return
        typer.echo(f"{begun['next']} comes after {begun['former']}. Start the service: it answers with the former")
        typer.echo(f"key until {begun['until']}, and nodes that attach before that, or within a week after it, learn")
        typer.echo("the next one.")


def next_key(settings: Settings, place: str, overlap: timedelta, *, new: bool = False) -> KeyChain:
    """Let the key in `place` sign for a folder from now on."""
    data = settings.data
    _require_started(data)
    if new:
        return _alone(data, lambda: begun_anew(data, os.environ, place))
    return _alone(data, lambda: rotated(settings, os.environ, place, now=utc_now(), overlap=overlap))


def _require_started(data: Path) -> None:
    if key_chain(data) is None:
        message = f"`{data}` has no authority key; give the folder of a service (--data) or a signer (--state) that ran"
        raise FileNotFoundError(message)


def _alone(data: Path, act: Callable[[], T]) -> T:
    lock = DataLock.take(data)
    try:
        return act()
    finally:
        lock.release()


def _say(chain: KeyChain, place: str, *, as_json: bool) -> None:
    last = chain.successions[-1] if chain.successions else None
    if as_json:
        until = utc_text(last.until) if last else None
        typer.echo(json.dumps({"key": chain.public, "former": last.former if last else None, "until": until}))
        return
    typer.echo(f"{chain.public} signs from the next start on; its place is `{place}`.")
    if last is None:
        typer.echo("No node knows it: start the service, and let each node join anew (`headrace ca rotate NODE`).")
    else:
        typer.echo(
            f"Nodes that attach before {utc_text(last.until)} learn it from {last.former}, which no longer signs."
        )


@contextmanager
def _told(command: str, *, as_json: bool) -> Iterator[None]:
    """Say what stands against it, and end with 1."""
    try:
        yield
    except OSError as error:
        stop(command, in_words(error), as_json=as_json)
    except (SettingError, SealError, CannotStart, ServiceError, EngineError) as error:
        stop(command, error, as_json=as_json)
