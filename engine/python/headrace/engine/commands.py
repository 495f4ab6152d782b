"""Subcommands of `headrace` that the engine brings: each is the `headrace-node` program's, in this process."""

import json
import re
from typing import Any, Final, NoReturn

import typer

from headrace.engine._native import main

_PASS_ON: Final[dict[str, Any]] = {
    "allow_extra_args": True,
    "ignore_unknown_options": True,
    # `--help` is the native command line's to answer, and `--`, too.
    "help_option_names": [],
    "allow_interspersed_args": False,
}


_USAGE: Final = 2
_UNREACHABLE: Final = 7
_PLACE: Final = re.compile(r"[\w.-]+:/")
"""How a place begins, at a service as well as at a host that `cp` asks over ssh."""


def _end(arguments: list[str]) -> NoReturn:
    """Run the native command line, and end as it does; wrong usage is one document, too, where `--json` is typed.

    What comes after `--` is another program's, and so may be its exit code.
    """
    code = main(arguments)
    if code == _USAGE and "--json" in arguments and "--" not in arguments:
        detail = "wrong usage: standard error says what is wrong and what is right"
        wrong = {"title": "Wrong usage", "status": 422, "code": "invalid_request", "detail": detail}
        typer.echo(json.dumps(wrong, indent=2))
    raise typer.Exit(code)


def node(ctx: typer.Context) -> None:
    """Run a node on this machine: join a service, export folders."""
    _end(ctx.args)


def cp(ctx: typer.Context) -> None:
    """Copy between your own machines over ssh, or on this one, without a service."""
    try:
        _end(["cp", *ctx.args])
    except typer.Exit as ended:
        if ended.exit_code in {_USAGE, _UNREACHABLE} and any(_PLACE.match(one) for one in ctx.args):
            typer.echo("headrace: for endpoints of a service: headrace copy SOURCE DESTINATION", err=True)
        raise


def keygen(ctx: typer.Context) -> None:
    """Make the personal key that `cp` signs with."""
    _end(["keygen", *ctx.args])


def receipt(ctx: typer.Context) -> None:
    """Check a transfer's receipt, without the service."""
    _end(["receipt", *ctx.args])


def lab(ctx: typer.Context) -> None:
    """Join hosts on this machine by long, slow and lossy paths, and run programs in them."""
    _end(["lab", *ctx.args])


for _command in (node, cp, keygen, receipt, lab):
    setattr(_command, "context_settings", _PASS_ON)  # noqa: B010 - functions have no such attribute that mypy knows
