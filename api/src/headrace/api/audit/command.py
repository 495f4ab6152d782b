"""`headrace audit`: checking the audit chain, from the service or from its files."""

import asyncio
import os
import sys
from pathlib import Path
from typing import Annotated

import typer
from sqlalchemy.exc import SQLAlchemyError

from headrace.api.audit.check import verify_store
from headrace.api.audit.heads import last_head
from headrace.api.audit.received import verify_received
from headrace.api.authority_key import key_chain
from headrace.api.command_end import USAGE, stop
from headrace.api.data_folder import HEADS
from headrace.api.errors import CannotStart
from headrace.api.key_chain import KeyChain
from headrace.api.settings import SettingError
from headrace.api.store.address import missing_store, store_url
from headrace.api.store_trouble import said_by
from headrace.client import login
from headrace.client import models as m
from headrace.client.text import sentence
from headrace.guardrails import SealError, utc_text

audit = typer.Typer(help="Check the audit chain.", no_args_is_help=True)

_BROKEN = 1


@audit.callback()
def root() -> None:
    """Check the audit chain."""


@audit.command()
def verify(
    data: Annotated[
        Path | None, typer.Option(help="Check the files of a service in this folder instead of asking a service.")
    ] = None,
    heads: Annotated[
        Path | None, typer.Option(help="Exported heads (audit-heads.jsonl) that were kept elsewhere; with --data.")
    ] = None,
    key: Annotated[str | None, typer.Option(help="Public key of the heads (default: of the folder's own key).")] = None,
    *,
    full: Annotated[bool, typer.Option("--full", help="Read events again that the service checked lately.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the verdict as JSON.")] = False,
) -> None:
    """Check that no event of the audit chain was changed, removed, or cut off; ends with 1 when one was."""
    if data is None and (heads is not None or key is not None):
        stop("audit", "--heads and --key go with --data", USAGE, as_json=as_json)
    try:
        verdict = asyncio.run(_ask(full=full)) if data is None else _check(data, heads, key)
    except SQLAlchemyError as error:
        stop("audit", f"the store can't be read: {said_by(error)}", USAGE, as_json=as_json)
    except (SealError, SettingError, CannotStart, OSError) as error:
        stop("audit", error, USAGE, as_json=as_json)
    _say(verdict, as_json=as_json)


@audit.command("verify-received")
def check_received(
    file: Annotated[Path, typer.Argument(help="What a syslog server has received, one message a line.")],
    key: Annotated[str, typer.Option(help="Public key of the service's signed heads (`headrace health`).")],
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print the verdict as JSON.")] = False,
) -> None:
    """Check that no event is missing or altered in what another host has received; ends with 1 when one is."""
    try:
        with file.open("rb") as lines:
            verdict = verify_received(lines, key)
    except OSError as error:
        stop("audit", error, USAGE, as_json=as_json)
    _say(verdict, as_json=as_json)


def _say(verdict: m.AuditVerdict, *, as_json: bool) -> None:
    if as_json:
        typer.echo(verdict.model_dump_json())
    elif verdict.intact:
        typer.echo(f"intact: {verdict.events:,} events, head {verdict.head}. {sentence(verdict.detail)}")
        if verdict.checked_at is not None:
            at = utc_text(verdict.checked_at)
            typer.echo(f"the first {verdict.checked_before:,} were checked at {at}; --full reads them again")
    else:
        typer.echo(f"BROKEN at event {verdict.broken_at}: {verdict.detail}", file=sys.stderr)
    if not verdict.intact:
        raise typer.Exit(_BROKEN)


async def _ask(*, full: bool) -> m.AuditVerdict:
    async with login.connect() as headrace:
        return await headrace.verify_audit(full=full)


def _check(data: Path, heads: Path | None, key: str | None) -> m.AuditVerdict:
    url = store_url(os.environ.get("HEADRACE_DATABASE", ""), data)
    chain = KeyChain(key) if key else key_chain(data)
    if chain is None:
        message = f"`{data}` holds no service; --data is the folder that `headrace serve --data` was given"
        raise FileNotFoundError(message)
    if (missing := missing_store(url, data)) is not None:
        raise FileNotFoundError(missing)
    return verify_store(url, last_head(heads or data / HEADS, chain.keys))
