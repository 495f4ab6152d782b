"""`headrace auth`: trying how people sign in, before they do."""

import asyncio
import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from headrace.api.clock import utc_now
from headrace.api.command_end import USAGE, stop
from headrace.api.people.directory_file import read_directories
from headrace.api.people.secret_file import read_secret
from headrace.api.settings import ANY_HOST, SettingError, Settings
from headrace.auth import Issuer, IssuerError, read_issuers
from headrace.auth.directory import TypedName
from headrace.auth.directory_check import check_directory
from headrace.auth.findings import Finding
from headrace.auth.oidc_check import check_issuer
from headrace.client.text import visible

auth = typer.Typer(help="Try how people sign in.", no_args_is_help=True)

_BAD = 1


@auth.callback()
def root() -> None:
    """Try how people sign in."""


@auth.command()
def check(
    name: Annotated[
        str | None, typer.Argument(help="Also show who this is in a directory, and in which groups.")
    ] = None,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was found as JSON.")] = False,
) -> None:
    """Try the site's providers and directories as the service would; ends with 1 when something is wrong."""
    try:
        settings = Settings.from_environment(os.environ)
        issuers = read_issuers(Path(settings.oidc_issuers), read_secret) if settings.oidc_issuers else ()
        directories = read_directories(settings.directories)
        typed = TypedName.read(name) if name is not None else None
        if name is not None and not any(typed and typed.fits(config) for config in directories):
            said = f"`{name}` is not a name in a domain of this site; see `domain`, `netbios` and `suffixes`"
            stop("auth", said, USAGE, as_json=as_json)
        found = {issuer.url: asyncio.run(_try(issuer, _reached(settings), as_json=as_json)) for issuer in issuers}
        for config in directories:
            found[config.issuer] = []
            if not as_json:
                typer.echo(config.issuer)
            for finding in check_directory(config, utc_now, typed if typed and typed.fits(config) else None):
                found[config.issuer].append(finding)
                if not as_json:
                    _say(finding)
    except (SettingError, IssuerError, OSError) as error:
        stop("auth", error, USAGE, as_json=as_json)
    if as_json:
        typer.echo(json.dumps({issuer: list(map(asdict, findings)) for issuer, findings in found.items()}))
    elif not found:
        typer.echo(
            "no providers and no directories are set here, in this shell "
            "(HEADRACE_OIDC_ISSUERS, HEADRACE_DIRECTORIES); nothing was tried. "
            "The settings may be in the service's unit: run this with the service's settings."
        )
    if not all(finding.good for findings in found.values() for finding in findings):
        raise typer.Exit(_BAD)


def _reached(settings: Settings) -> str:
    """Return how browsers reach the service, as it would say itself; nothing where that is not known before it runs."""
    host, _, port = settings.listen.rpartition(":")
    if settings.public_url or host in ANY_HOST or port == "0":
        return settings.public_url.rstrip("/")
    return f"{'https' if settings.tls_cert else 'http'}://{host}:{port}"


async def _try(issuer: Issuer, public_url: str, *, as_json: bool) -> list[Finding]:
    found = []
    if not as_json:
        typer.echo(issuer.url)
    async for finding in check_issuer(issuer, public_url, utc_now):
        found.append(finding)
        if not as_json:
            _say(finding)
    return found


def _say(finding: Finding) -> None:
    typer.echo(f"  {'ok ' if finding.good else 'BAD'}  {visible(finding.said)}")
